"""What the corpus of wrong inputs is made of, and its cases of the shell on means.

A case is data: what someone has (files by name), what that person types or calls, and the words
that must come back.  :mod:`test_wrong_inputs` runs all cases; those on tables are in
:mod:`wrong_tables`, :mod:`wrong_counts` and :mod:`wrong_layouts`, on audits in :mod:`wrong_audits`,
calls in Python in :mod:`wrong_calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Shell:
    """A line that someone types, in a folder with `files`."""

    title: str
    line: str
    says: list[str]
    files: dict[str, str | bytes] = field(default_factory=dict)
    cautioned: bool = False


@dataclass(frozen=True)
class Call:
    """A call that someone makes in Python."""

    title: str
    call: Callable[[], Any]
    says: list[str]
    cautioned: bool = False


def csv(header, *columns, comma=","):
    """The text of a CSV; without a header if that is None."""
    lines = [comma.join(header)] if header else []
    lines += [comma.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join(lines) + "\n"


#: Names of 30 sites, their frequencies, and the genotypes of 30 persons at each.
RS = [f"rs{100 + k}" for k in range(30)]
FREQUENCIES = [(1 + k) / 40 for k in range(30)]
GENOTYPES = [[(k * k + j * j + k * j) % 7 % 3 for j in range(30)] for k in range(30)]
#: Genotypes of 40 persons, each a column: a site is rare, or common, in all.
BY_SITE = [[min(2, (k + j) % 4 * (j % 3) // 2) for j in range(30)] for k in range(40)]


#: The same as PLINK writes them.
RAW_GENOTYPES = "FID IID PAT MAT SEX PHENOTYPE " + " ".join(f"{name}_A" for name in RS) + "\n"
RAW_GENOTYPES += "".join(
    f"f{k} p{k} 0 0 0 -9 {' '.join(map(str, row))}\n" for k, row in enumerate(GENOTYPES)
)


def coded(code):
    """Genotypes of 30 persons at 12 sites, one of each missing."""
    return [
        [code if j == k else value for j, value in enumerate(g)]
        for k, g in enumerate(GENOTYPES[:12])
    ]


#: Ages, incomes, and a number for each of 40 persons, who have three rows each.
AGES = [20 + k * 7 % 50 for k in range(120)]
INCOMES = [20_000 + k * k * 37 % 40_000 for k in range(120)]
PERSONS = [1000 + k // 3 for k in range(120)]
FILLED = ["9.969209968386869e36"] * 2

#: The repeats that 40 persons have at six loci, and their alleles of three genes.
LOCI = ["D8S1179", "D21S11", "vWA", "TH01", "FGA", "Penta D"]
REPEATS = [[8 + (k * k + j) % 7 for k in range(40)] for j in range(12)]
TYPES = [[f"{gene}*{1 + (k * j) % 9:02}" for k in range(40)] for j, gene in enumerate("AABBCC", 2)]

MEANS = [
    Shell(
        "a last line with the sum of the incomes and the mean of the ages",
        "mean t.csv",
        ["The last row is the sum (in some columns) of the others, not a person. Take it out."],
        {
            "t.csv": csv(
                ["income", "age"],
                [*INCOMES, sum(INCOMES)],
                [*AGES, round(sum(AGES) / len(AGES), 1)],
            )
        },
        cautioned=True,
    ),
    Shell(
        "durations, which are counted as categories",
        "mean t.csv --max-leakage 0.99",
        ["Numbers like '1 days, 2:00:00' in column 'stay' are taken for names of categories"],
        {"t.csv": csv(["age", "stay"], AGES, ['"1 days, 2:00:00"', "0:45:00", "21:00:00"] * 40)},
        cautioned=True,
    ),
    *(
        Shell(
            f"both alleles of a person at each of some loci, {title}",
            "mean t.csv --max-leakage 0.99",
            [f"Columns '{names[0]}'", "of a microsatellite or of an HLA gene", "not allele freq"],
            {"t.csv": csv(names, *columns)},
            cautioned=True,
        )
        for title, names, columns in (
            ("in two columns of repeats", [f"{x}_{k}" for x in LOCI for k in (1, 2)], REPEATS),
            ("as text", LOCI, [[f"{a}/{a + 1}" for a in x] for x in REPEATS[:6]]),
            ("of HLA", [f"HLA-{x}_{k}" for x in "ABC" for k in (1, 2)], TYPES),
        )
    ),
    *(
        Shell(
            f"a cross-tabulation of shares of {of}",
            "table t.csv",
            ["cross-tabulation: no two rows agree in 'dept'", "shares that sum to 1 or to 100"],
            {"t.csv": csv(["dept", "f", "m"], "ABCD", *shares)},
        )
        for of, shares in (
            ("each row", ([0.47, 0.51, 0.25, 0.5], [0.53, 0.49, 0.75, 0.5])),
            ("the whole", ([11.2, 14.1, 9.0, 20.4], [8.3, 12.5, 19.3, 5.2])),
        )
    ),
    Shell(
        "NA of R's whole numbers, as bridges pass it on",
        "table t.csv",
        ["'-2147483648' is counted", "in 2 rows of column 'age'", "--missing -2147483648"],
        {"t.csv": csv(["age", "job"], [*AGES[2:], *["-2147483648"] * 2], "ab" * 60)},
        cautioned=True,
    ),
    Shell(
        "the fill value of netCDF beside measures below zero",
        "mean t.csv",
        ["'9.969209968386869e36' is counted", "in 2 rows of column 'change'", "--missing 9.96"],
        {"t.csv": csv(["age", "change"], AGES, [*(40 - x for x in AGES[2:]), *FILLED])},
        cautioned=True,
    ),
    Shell(
        "noise in dollars, which counts standard deviations",
        "mean t.csv --noise-std 500 --max-leakage 0.01",
        [
            "Caution: --noise-std counts standard deviations of each column",
            "hides nearly all that a mean shows. Divide noise",
        ],
        {"t.csv": csv(["age", "income"], AGES, INCOMES)},
        cautioned=True,
    ),
    Shell(
        "a panel with three rows for each person, who has a number",
        "mean t.csv --max-leakage 0.5",
        [
            "Column 'person' seems to name the person of a row, and 120 rows have 40",
            "take one row for each",
        ],
        {"t.csv": csv(["person", "age", "income"], PERSONS, AGES, INCOMES)},
        cautioned=True,
    ),
    Shell(
        "means of groups, with the number of persons in each",
        "mean t.csv --max-leakage 0.5",
        [
            "Column 'n' seems to count the persons of each row",
            "mean_tradeoff(target, mean, cov, n)",
        ],
        {
            "t.csv": csv(
                ["region", "n", "mean_income"],
                [f"region {k}" for k in range(30)],
                [100 + k * k for k in range(30)],
                [value + 0.25 for value in INCOMES[:30]],
            )
        },
        cautioned=True,
    ),
    Shell(
        "means of groups, without the number of persons in each",
        "mean t.csv --max-leakage 0.9",
        [
            "Column 'avg_income' seems to hold means of the groups that column 'region' names",
            "mean_tradeoff(target, mean, cov, n)",
        ],
        {
            "t.csv": csv(
                ["region", "avg_income", "age"],
                [f"region {k}" for k in range(30)],
                [value + 0.25 for value in INCOMES[:30]],
                AGES[:30],
            )
        },
        cautioned=True,
    ),
    Shell(
        "9999999 for a missing income",
        "mean t.csv",
        ["'9999999' is counted as a value like any other, in 2 rows of column 'income'"],
        {"t.csv": csv(["age", "income"], AGES, [*INCOMES[:-2], 9_999_999, 9_999_999])},
        cautioned=True,
    ),
    Shell(
        "'?' for missing among numbers, which become a category",
        "mean t.csv --na drop",
        ["'?' is counted", "in 2 rows of column 'age'", "--missing '?'"],
        {"t.csv": csv(["age", "hours"], [39, "?", 38, 50] * 2, [40, 38, 40, 20, 38, 20, 40, 38])},
        cautioned=True,
    ),
    Shell(
        "frequencies of sites, named by their rs numbers",
        "mean f.csv --max-leakage 0.5",
        ["f.csv must have a row for each person", "by column 'snp' ('rs100')", "mean_tradeoff("],
        {"f.csv": csv(["snp", "freq"], RS, FREQUENCIES)},
    ),
    Shell(
        "the same without their names",
        "mean f.csv --columns freq",
        ["Column 'freq' seems to hold frequencies", "cov=2*p*(1-p)"],
        {"f.csv": csv(["snp", "freq"], RS, FREQUENCIES)},
        cautioned=True,
    ),
    Shell(
        "the body of a VCF",
        "mean v.tsv",
        ["v.tsv must have a row for each person", "'#CHROM', 'POS' describe variants"],
        {
            "v.tsv": csv(
                ["#CHROM", "POS", "REF", "ALT", "ann", "bob"],
                [1] * 30,
                range(5000, 8000, 100),
                "A" * 30,
                "G" * 30,
                GENOTYPES[0],
                GENOTYPES[1],
                comma="\t",
            )
        },
    ),
    Shell(
        "genotypes with sites as rows and persons as columns",
        "mean t.csv",
        ["The 30 rows differ as sites do, and the 40 columns as persons do", "Transpose"],
        {"t.csv": csv([f"person{k}" for k in range(40)], *BY_SITE)},
        cautioned=True,
    ),
    Shell(
        "frequencies of populations as rows, in per cent",
        "mean f.csv",
        ["'rs100', 'rs101', 'rs102' and 9 more seem to hold frequencies"],
        {
            "f.csv": csv(
                ["population", *RS[:12]],
                ["AFR", "EUR", "EAS", "SAS", "AMR"],
                *([12.5 + k, 20.25, 31, 40.5, 7.75 + k] for k in range(12)),
            )
        },
        cautioned=True,
    ),
    Shell(
        "genotypes in letters, of which one is written in two orders",
        "mean t.csv",
        ["Genotypes are text in column 'rs1', 'rs2'", "'AG' and 'GA' apart", "0, 1 or 2"],
        {"t.csv": csv(["rs1", "rs2"], ["AG", "GA", "AA", "GG"] * 9, ["CC", "CT", "TT"] * 12)},
        cautioned=True,
    ),
    Shell(
        "genotypes as a VCF writes them",
        "mean t.csv",
        ["Genotypes are text in column 'rs1', 'rs2'", "leaks more than allele frequencies"],
        {"t.csv": csv(["rs1", "rs2"], ["0|1", "0|0", "1|1"] * 9, ["0/0", "0/1", "./."] * 9)},
        cautioned=True,
    ),
    Shell(
        "3 for a missing genotype",
        "mean t.csv",
        ["'3' is counted as a value like 0, 1 and 2, in 1 row of column 'g0'", "--missing 3"],
        {"t.csv": csv([f"g{k}" for k in range(12)], *coded(3))},
        cautioned=True,
    ),
    Shell(
        "9 for a missing genotype",
        "mean t.csv",
        ["'9' is counted as a value like 0, 1 and 2, in 1 row of column 'g0'", "--missing 9"],
        {"t.csv": csv([f"g{k}" for k in range(12)], *coded(9))},
        cautioned=True,
    ),
    Shell(
        "labels of persons beside genotypes",
        "mean t.csv",
        ["beside 12 columns of genotypes: column 'group'", "--exclude group"],
        {"t.csv": csv(["group", *RS[:12]], "ABC" * 10, *GENOTYPES[:12])},
        cautioned=True,
    ),
    Shell(
        "two haplotypes of each person as rows, with the person's name",
        "mean t.csv",
        ["Column 'person' has 30 values in 60 rows", "--exclude person"],
        {
            "t.csv": csv(
                ["person", "a", "b"],
                [f"NA{k // 2}" for k in range(60)],
                [k % 3 % 2 for k in range(60)],
                [k % 5 % 2 for k in range(60)],
            )
        },
        cautioned=True,
    ),
    Shell(
        "genotypes with a space between the alleles",
        "mean t.csv",
        ["Genotypes are text in column 'a'"],
        {"t.csv": csv(["a", "b"], ["A A", "A G", "G G"] * 9, range(0, 54, 2))},
        cautioned=True,
    ),
    Shell(
        "genotypes with a slash, and '--' for a missing one",
        "mean t.csv",
        ["Genotypes are text in column 'a'", "pass --missing=--"],
        {"t.csv": csv(["a", "b"], ["A/A", "A/G", "--"] * 9, range(0, 54, 2))},
        cautioned=True,
    ),
    Shell(
        "haplotypes in letters, N for a missing base",
        "mean t.csv",
        ["'N' is counted as a value like A, C, G and T, in 1 row of column 'g0'", "--missing N"],
        {
            "t.csv": csv(
                [f"g{k}" for k in range(12)],
                *(
                    "".join("N" if j == k else "AG"[v > 0] for j, v in enumerate(GENOTYPES[k]))
                    for k in range(12)
                ),
            )
        },
        cautioned=True,
    ),
    Shell(
        "allele counts of sites",
        "mean t.csv",
        ["columns 'AC', 'AN' describe variants", "mean_tradeoff("],
        {"t.csv": csv(["AC", "AN"], range(30), [60] * 30)},
    ),
    Shell(
        "minor allele frequencies in per cent",
        "mean t.csv",
        ["Column 'MAF (%)' seems to hold frequencies"],
        {"t.csv": csv(["MAF (%)"], [100 * p / 2 for p in FREQUENCIES])},
        cautioned=True,
    ),
    Shell(
        "dosages with a decimal comma",
        "mean t.csv --delimiter ;",
        ["Numbers like '0,5' in column 'a'", "decimal point"],
        {"t.csv": csv(["a", "b"], ["0,5", "1", "0"] * 9, range(0, 54, 2), comma=";")},
        cautioned=True,
    ),
    Shell(
        "genotypes, whose combinations nobody publishes",
        "table t.csv",
        ["Columns 'rs100', 'rs101', 'rs102' and 27 more have names of sites", "mialeak mean"],
        {"t.csv": csv(RS, *zip(*GENOTYPES, strict=True))},
        cautioned=True,
    ),
    Shell(
        "the same from a file of PLINK",
        "table t.raw",
        ["t.raw holds genotypes, of which mialeak mean reports", "name their sites with --columns"],
        {"t.raw": RAW_GENOTYPES},
    ),
    *(
        Shell(
            f"a column of numbers with {what}",
            "mean t.csv --delimiter ;",
            [f"Numbers like '{words[0]}' in column 'a'", "decimal point and no other sign"],
            {"t.csv": csv("ab", [words[k % 3] for k in range(40)], AGES[:40], comma=";")},
            cautioned=True,
        )
        for what, words in (
            ("the sign of a currency", ["$1,200", "$75.50", "$80"]),
            ("a currency after them", ["1.200 EUR", "75,5 EUR", "80 EUR"]),
            ("signs between thousands", ["1 200", "75.5", "80"]),
            ("parentheses for a minus", ["(12.5)", "75.5", "80"]),
            ("a unit", ["68 kg", "71 kg", "80 kg"]),
        )
    ),
    Shell(
        "255 for a missing genotype, as -1 is in uint8",
        "mean t.csv",
        ["255' is counted as a value like any other, in 1 row of column 'g0'"],
        {"t.csv": csv([f"g{k}" for k in range(12)], *coded(255))},
        cautioned=True,
    ),
    Shell(
        "haplotypes with sites as rows",
        "mean t.csv",
        ["The 30 rows differ as sites do, and the 40 columns as persons do"],
        {
            "t.csv": csv(
                [f"h{k}" for k in range(40)],
                *(
                    [int(j % 5 > 1) if (j + k) % 40 else int(j % 5 < 2) for j in range(30)]
                    for k in range(40)
                ),
            )
        },
        cautioned=True,
    ),
    Shell(
        "a row for each person and variant",
        "mean t.csv",
        ["it has one for each variant, by column 'snp' ('rs100')", "a column for each variant"],
        {
            "t.csv": csv(
                ["who", "snp", "g"], [f"P{k // 30}" for k in range(90)], RS * 3, [0, 1, 2] * 30
            )
        },
    ),
    Shell(
        "carriers of each gene",
        "mean t.csv",
        ["it has one for each variant, by column 'gene' ('G0')"],
        {"t.csv": csv(["gene", "carriers"], [f"G{k}" for k in range(30)], range(30))},
    ),
    Shell(
        "fifteen incomes, each three times",
        "mean t.csv",
        ["Each of 15 different rows occurs 3 times", "15 rows leak more than 45"],
        {"t.csv": csv(["income"], [20_011 + 1_313 * (k % 15) ** 2 for k in range(45)])},
        cautioned=True,
    ),
]
