"""Wrong inputs of means: persons of several rows, survey weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
from wrong_inputs import Call, Shell, csv

from mialeak import leakage_score, mean_leakage, mean_tradeoff
from mialeak.laws import Chain, Presence
from mialeak.scores import bernoulli_score, covariance_score, likelihood_ratio_score

RNG = np.random.default_rng(29)

#: Three visits of each of 60 persons.
OWNER = np.repeat(np.arange(60), 3)
VISIT = np.tile(["baseline", "month 6", "month 12"], 60)
SYSTOLIC = (RNG.normal(130.0, 15.0, 60)[OWNER] + RNG.normal(0.0, 6.0, 180)).round(1)
BMI = (RNG.normal(27.0, 4.0, 60)[OWNER] + RNG.normal(0.0, 0.4, 180)).round(1)
SEX, AGE = RNG.choice(["f", "m"], 60), RNG.integers(18, 90, 60)


def visits(name):
    """The visits, with the persons named by a column."""
    columns = [f"p{7 * k}" for k in OWNER], VISIT, SYSTOLIC, BMI, SEX[OWNER], AGE[OWNER]
    return csv([name, "visit", "sbp", "bmi", "sex", "age"], *columns)


def weighted(name):
    """Persons of one row each, with a number of that name."""
    return csv(["sbp", "bmi", name], SYSTOLIC, BMI, RNG.lognormal(9.0, 0.7, 180).round(1))


LABELLED = ["The index has 60 values in 180 rows", "take one row for each person"]
ALIKE = ["Rows of one value of column", "are alike in column 'sbp', 'bmi'", "take one row for each"]

#: The same with the persons in the index.
INDEXED = pd.DataFrame({"pid": OWNER, "visit": VISIT, "sbp": SYSTOLIC, "bmi": BMI})

MEANS_OF_PERSONS = [
    Shell(
        "visits of persons who are named by a column without a name",
        "mean t.csv --columns sbp,bmi --max-leakage 0.99",
        LABELLED,
        {"t.csv": csv(["", "sbp", "bmi"], [f"p{7 * k}" for k in OWNER], SYSTOLIC, BMI)},
        cautioned=True,
    ),
    *(
        Shell(
            f"visits of persons, {name} left out by{columns}",
            f"mean t.csv{columns} --max-leakage 0.99",
            [f"'{name}', which is left out, ", "take one row for each person"],
            {"t.csv": visits(name)},
            cautioned=True,
        )
        for name in ("pid", "patient", "zaehler")
        for columns in (" --columns sbp,bmi", f" --exclude {name},visit")
    ),
    *(
        Shell(
            f"means of each visit of the same persons, named by {name}{columns}",
            f"mean t.csv --by visit{columns} --max-leakage 0.99",
            [f"60 of 60 values of column '{name}' are in several groups of visit", "pivot"],
            {"t.csv": visits(name)},
            cautioned=True,
        )
        for name in ("pid", "zaehler")
        for columns in ("", " --columns sbp", f" --exclude {name}")
    ),
    *(
        Shell(
            f"a survey weight among the columns, as {name}",
            "mean t.csv --max-leakage 0.99",
            [f"'{name}' has the name of a survey weight", "z_estimator", f"--exclude {name}"],
            {"t.csv": weighted(name)},
            cautioned=True,
        )
        for name in ("WTMEC2YR", "sampling_weight", "ipw", "design_weight", "_LLCPWT")
    ),
]  # fmt: skip

CALLS_OF_PERSONS = [
    Call(
        f"visits of persons who are named by the index: {index}",
        lambda index=index: mean_leakage(INDEXED.set_index(index), columns=["sbp", "bmi"]),
        ["Column 'pid', which is left out, has the name of an identifier"],
        cautioned=True,
    )
    for index in ("pid", ["pid", "visit"])
] + [
    Call(
        f"visits of persons who are named by {title}",
        lambda frame=frame, options=options: mean_leakage(frame, **options),
        says,
        cautioned=True,
    )
    for names in ([f"p{7 * k}" for k in OWNER],)
    for title, frame, options, says in (
        ("an index without a name", INDEXED[["sbp", "bmi"]].set_axis(names), {}, LABELLED),
        ("an index of two levels", INDEXED[["sbp", "bmi"]].set_axis([names, list(VISIT)]), {},
         LABELLED),
        ("the column of such an index", INDEXED.set_axis(names).reset_index(),
         {"columns": ["sbp", "bmi"]}, LABELLED),
        ("an index called proband",
         INDEXED[["sbp", "bmi"]].set_axis(pd.Index(names, name="proband")), {}, ALIKE),
        ("a number called barcode", INDEXED.rename(columns={"pid": "barcode"}),
         {"columns": ["sbp", "bmi"]}, ALIKE),
    )
]  # fmt: skip

#: Measures less their means, in their standard deviations, with four decimals; and components.
CENTRED = np.stack([SYSTOLIC, BMI], axis=1)
SCORES = ((CENTRED - CENTRED.mean(axis=0)) / CENTRED.std(axis=0)).round(4)
DRAWN = RNG.normal(size=(300, 5)) @ np.diag([3.0, 2.0, 1.0, 0.5, 0.2])
COMPONENTS = (DRAWN - DRAWN.mean(axis=0)) @ np.linalg.svd(DRAWN - DRAWN.mean(axis=0))[2][:3].T
CALLS_OF_PERSONS += [
    Call(
        f"{name} of the rows",
        lambda rows=rows: mean_leakage(rows),
        [f"{rows.shape[1]} columns have the mean 0 over these rows", "leak nothing"],
        cautioned=True,
    )
    for name, rows in (("z-scores", SCORES), ("principal components", COMPONENTS))
]

#: Both alleles of 180 persons at three sites, the smaller one first at one of them; and both
#: answers of 180 persons to three questions.
FIRST, SECOND = RNG.binomial(4, 0.4, (2, 180, 3))
FIRST[:, 0], SECOND[:, 0] = np.sort([FIRST[:, 0], SECOND[:, 0]], axis=0)
FIRST[:20, 1] = SECOND[:20, 1] = 9


def in_pairs(first, second, form):
    """A column for each site and each of its two values."""
    sites = ("DQA", "DQB", "apoe")
    return pd.DataFrame(
        {
            form.format(site, place): values[:, k]
            for k, site in enumerate(sites)
            for place, values in enumerate((first, second), 1)
        }
    )


LETTERS = np.array(list("ACGTNXXXXZ"))
CALLS_OF_PERSONS += [
    Call(
        f"both alleles of persons in columns {form} {kind}",
        lambda frame=frame, options=options: mean_leakage(frame, **options),
        [f"'{form.format('DQA', 1)}'", "2 pairs more", "two alleles of a person", *says],
        cautioned=True,
    )
    for form, kind, frame, options, says in (
        ("{}.a{}", "as numbers", in_pairs(FIRST, SECOND, "{}.a{}"), {}, []),
        ("{}_A{}", "as categories", in_pairs(FIRST, SECOND, "{}_A{}"),
         {"categories": ["DQB_A1"]}, ["'9' stands in both", "missing=['9']"]),
        ("{}_allele_{}", "in letters", in_pairs(LETTERS[FIRST], LETTERS[SECOND], "{}_allele_{}"),
         {}, ["'Z' stands in both columns", "missing=['Z']"]),
    )
]  # fmt: skip

#: Genes, or sites, in rows; the index of a frame names them.
READS = pd.DataFrame(RNG.lognormal(2.0, 1.0, (40, 12)).round(3))
CALLS_OF_PERSONS += [
    Call(
        f"rows of genes in the index {name}, {title}",
        lambda frame=frame, options=options: mean_leakage(frame, **options),
        [f"rows seem to be genes or probes, by column '{name or 'index'}' ('{first}')"],
        cautioned=True,
    )
    for name, first, names in (
        ("gene_id", "GN0", [f"GN{k}" for k in range(40)]),
        (None, "ENSG00000000000", [f"ENSG{k:011}" for k in range(40)]),
    )
    for frame in (READS.set_axis(pd.Index(names, name=name)),)
    for title, frame, options in (
        ("as they are", frame, {}),
        ("in a column that is left out", frame.reset_index(), {"columns": list(READS)}),
    )
] + [
    Call(
        f"rows of sites in the index, {title}",
        lambda index=index: mean_leakage((READS > 8.0).astype(int).set_axis(index)),
        ["must have a row for each person", *says],
    )
    for title, index, says in (
        ("by name", [f"rs{k}" for k in range(1, 41)], ["variant, by column 'index' ('rs1')"]),
        ("by place", pd.MultiIndex.from_product([["1"], range(40)], names=["chrom", "pos"]),
         ["columns 'chrom', 'pos' describe variants"]),
    )
]  # fmt: skip

#: A pressure of 0 for a missing one, and the hours of persons some of whom do not work.
MISSED = np.where(np.arange(180) % 40 == 7, 0.0, SYSTOLIC)
HOURS = np.where(np.arange(180) % 5 == 0, 0, RNG.integers(8, 60, 180))
CALLS_OF_PERSONS += [
    Call(
        "a pressure of 0 for a missing one",
        lambda: mean_leakage({"sbp": MISSED, "bmi": BMI}),
        ["0.0 is counted as a value like any other, in 5 rows of column 'sbp'"],
        cautioned=True,
    )
]

#: Genotypes of 90 persons at 30 sites, in the codes of several programs; and reads of genes.
GENES = RNG.binomial(2, RNG.uniform(0.05, 0.95, 30), (90, 30))
CODED = {
    "cyvcf2": np.array([0, 1, 3])[GENES],
    "snpStats": GENES + 1,
    "rrBLUP": GENES - 1,
    "shares": GENES / 2.0,
    "marks of carriers": GENES > 0,
    "counts, -1 for a missing one": np.where(RNG.random(GENES.shape) < 0.02, -1, GENES),
}
CALLS_OF_PERSONS += [
    Call(
        f"a row for each site in the codes of {name}",
        lambda matrix=matrix: mean_leakage(matrix.T),
        ["The 30 rows differ as sites do, and the 90 columns as persons do"],
        cautioned=True,
    )
    for name, matrix in CODED.items()
] + [
    Call(
        "3 for two copies of an allele",
        lambda: mean_leakage(CODED["cyvcf2"]),
        ["hold 0, 1 and 3, and 3 is taken for three copies", "write 2 for two copies"],
        cautioned=True,
    )
]
READS_OF_PERSONS = RNG.negative_binomial(2, 0.5 ** RNG.uniform(0.2, 6.0, 60), (90, 60))

#: Rows of persons, and groups whose rows are counted from 0 on.
ONE_EACH = csv(["pid", "sbp", "bmi"], np.arange(180) * 3, SYSTOLIC, BMI)
COUNTED = csv(["site", "row", "bmi"], np.repeat(list("abc"), 60), np.tile(np.arange(60), 3), BMI)

#: Frequencies of 100 sites, the genotypes of 60 persons, and the shares of carriers.
SHARES = RNG.uniform(0.05, 0.5, 100)
ALLELES = RNG.binomial(2, SHARES, (60, 100))
HAVE = (ALLELES > 0).mean(axis=0)
CALLS_OF_PERSONS += [
    Call(title, call, ["be means of rows with the mean m", f"seem to be {given}", "Presence(p)"])
    for title, call, given in (
        ("shares of carriers beside frequencies",
         lambda: bernoulli_score(HAVE, ALLELES[0] > 0, SHARES, 60), "shares of carriers"),
        ("shares of carriers beside frequencies and variances",
         lambda: covariance_score(HAVE, ALLELES[0] > 0, SHARES, SHARES * (1 - SHARES), 60),
         "shares of carriers"),
        ("frequencies beside the law of carriers",
         lambda: likelihood_ratio_score(
             ALLELES.mean(axis=0) / 2, ALLELES[0] > 0, Presence(SHARES), 60),
         "frequencies, where m are shares of carriers"),
        ("shares of homozygotes beside frequencies",
         lambda: bernoulli_score((ALLELES == 2).mean(axis=0), ALLELES[0] == 2, SHARES, 60),
         "shares of homozygotes"),
    )
] + [
    Call(
        "answers of a beacon as means of a chain",
        lambda: Chain.from_correlation(SHARES, 0.0, ploidy=2).log_likelihood_ratio(
            (HAVE > 0.0) * 1.0, ALLELES[0], 60),
        ["be means of rows; all 100 are 0 or 1", "log_likelihood_ratio(until=)"],
    )
]  # fmt: skip

#: Smokers, and an allele, among 80 persons: with standard deviations in place of variances.
HABITS = RNG.binomial(1, [0.2, 0.4], (80, 2)), RNG.binomial(2, 0.3, (80, 2))
CALLS_OF_PERSONS += [
    Call(
        f"standard deviations of two columns of {kind} for variances, {title}",
        call,
        [f"cov must be that of the {kind}", "the standard deviation. Pass variances"],
    )
    for kind, moments in (
        ("bits 0 and 1", (HABITS[0].mean(axis=0), HABITS[0].std(axis=0, ddof=1))),
        ("genotypes 0, 1 and 2", (np.array([0.3, 0.8]), np.array([0.255, 0.48]) ** 0.5)),
    )
    for title, call in (
        ("of a curve", lambda moments=moments: mean_tradeoff([0, 1], *moments, 80)),
        ("of a score", lambda moments=moments: leakage_score([[0, 1], [1, 1]], *moments, 80)),
    )
]

ORDINARY_MEANS = [
    Shell("persons of a row each, named by a number that is left out",
          "mean t.csv --columns sbp,bmi", [], {"t.csv": ONE_EACH}),
    *(Shell(f"a number called {name}", f"mean t.csv{option}", [], {"t.csv": weighted(name)})
      for name, option in (("weight", ""), ("wt", ""), ("repwt", ""), ("ipw", " --exclude ipw"))),
    Shell("groups of sites whose rows are counted", "mean t.csv --by site --columns bmi", [],
          {"t.csv": COUNTED}),
    *(Shell(f"two measures of persons, {title}", "mean t.csv", [],
            {"t.csv": csv(list(frame), *frame.to_numpy().T)})
      for title, frame in (
          ("called 1 and 2", in_pairs(FIRST[20:], SECOND[20:], "{}_{}")),
          ("a before and an after", in_pairs(FIRST[20:], 7 + SECOND[20:], "{}.a{}")),
      )),
    Shell("hours of work, 0 for some", "mean t.csv", [],
          {"t.csv": csv(["sbp", "hours"], SYSTOLIC, HOURS)}),
    *(Shell(f"{title} of persons", "mean t.csv", [],
            {"t.csv": csv([f"v{k}" for k in range(rows.shape[1])], *rows.T)})
      for title, rows in (("reads of genes", READS_OF_PERSONS), ("genotypes 1, 2, 3", GENES + 1))),
    Shell("remarks on variants in few of the rows", "mean t.csv --columns sbp,remark", [],
          {"t.csv": csv(["sbp", "remark"], SYSTOLIC, ["rs7: A", "rs9: C"] + ["none"] * 178)}),
    *(Shell(f"measures of persons beside {title}", "mean t.csv --columns sbp,bmi", [],
            {"t.csv": csv([name, "sbp", "bmi"], values, SYSTOLIC, BMI)})
      for title, name, values in (
          ("a town that is left out", "town", RNG.choice([f"t{k}" for k in range(40)], 180)),
          ("a rounded measure that is left out", "stone", (BMI / 0.7).round()),
          ("the numbers of the rows of two files", "", np.tile(np.arange(90), 2)),
      )),
    Shell("an age, which persons share, left out", "mean t.csv --columns sbp,bmi", [],
          {"t.csv": csv(["age", "sbp", "bmi"], RNG.integers(18, 90, 180), SYSTOLIC, BMI)}),
]  # fmt: skip

#: Means of 20 groups of persons.
GROUPED = pd.DataFrame({"sbp": SYSTOLIC, "bmi": BMI}).groupby(np.arange(180) % 20).mean()
OF_GROUPS = ["seem to be groups: each has its own value of", "Take the table of their persons"]
MEANS_OF_PERSONS += [
    Shell(f"means of groups by {name}", f"mean t.csv{option}", OF_GROUPS,
          {"t.csv": csv([name, "sbp", "bmi"], values, *GROUPED.to_numpy().T)}, cautioned=True)
    for name, values, option in (
        ("population", [f"P{k}" for k in range(20)], ""),
        ("Age group", [f"{k} to {k + 4}" for k in range(0, 100, 5)], ""),
        ("hospital", [f"H{k}" for k in range(20)], " --exclude hospital"),
        ("centre_id", range(1, 21), ""),
        ("site", range(1, 21), ""),
    )
] + [
    Shell("means of groups beside n_samples", "mean t.csv", ["to count the persons of each row"],
          {"t.csv": csv(["k", "n_samples", "bmi"], [f"g{k}" for k in range(20)],
                        range(60, 80), GROUPED["bmi"])}, cautioned=True),
    *(Shell(f"{title} with a row for each site", "mean t.csv", ["one for each variant", "'site'"],
            {"t.csv": csv(["site", *names], range(1, 21), *values)})
      for title, names, values in (
          ("frequencies", ["EUR_AF", "AFR_AF"], GROUPED.to_numpy().T / 200),
          ("genotypes", ["P1", "P2"], RNG.binomial(2, 0.5, (2, 20))),
      )),
]  # fmt: skip
CALLS_OF_PERSONS += [
    Call(
        "means of groups as groupby returns them",
        lambda: mean_leakage(GROUPED.rename_axis("region")),
        OF_GROUPS,
        cautioned=True,
    )
]
ORDINARY_MEANS += [
    Shell(f"persons of one {name} each, beside {who}", "mean t.csv", [],
          {"t.csv": csv([who, name, "sbp"], [f"p{k}" for k in range(180)],
                        [f"s{k}" for k in range(180)], SYSTOLIC)})
    for name, who in (("town", "person_id"), ("site", "patient"))
]  # fmt: skip

#: Persons, and a panel or a register of others: the checks of a table are those of both.
PEOPLE = pd.DataFrame(
    {
        "patient_id": [f"Q{k}" for k in range(600)],
        "sbp": RNG.normal(130.0, 15.0, 600).round(),
        "bmi": RNG.normal(27.0, 4.0, 600).round(1),
        "chol": RNG.normal(5.2, 1.0, 600).round(2),
    }
)
MEASURED = ["sbp", "bmi", "chol"]
VISITED = PEOPLE.assign(bmi=(PEOPLE["bmi"] + RNG.normal(0.0, 1.0, 600)).round(1))
VISITED = pd.concat([PEOPLE, VISITED], ignore_index=True)
OTHERS = PEOPLE[300:].reset_index(drop=True)
GENOTYPED = pd.DataFrame(RNG.binomial(2, 0.3, (400, 30))).add_prefix("rs")
UNKNOWN = GENOTYPED[200:].mask(RNG.random((200, 30)) < 0.03, 9)
SUMMED_UP = OTHERS[MEASURED].agg(["mean", "std", "count"])
CALLS_OF_PERSONS += [
    Call(
        f"{argument} {title}",
        lambda options=options, table=table: mean_leakage(table, **options),
        says,
        cautioned=True,
    )
    for argument, title, table, beside, says in (
        ("panel", "with a pressure of 999", PEOPLE[:300],
         OTHERS.assign(sbp=OTHERS["sbp"].where(np.arange(300) % 40 != 7, 999.0)),
         ["Of panel: 999.0 is counted as a value like any other, in 8 rows of column 'sbp'"]),
        ("panel", "with 9 for a missing genotype", GENOTYPED[:200], UNKNOWN,
         ["Of panel: '9' is counted as a value like 0, 1 and 2"]),
        ("panel", "of visits", PEOPLE[:300], VISITED.iloc[[*range(300, 600), *range(900, 1200)]],
         ["Of panel: column 'patient_id'", "600 rows have 300 of its values", "one row for each"]),
        ("population", "of visits", PEOPLE[:300], VISITED,
         ["Of population: column 'patient_id'", "1,200 rows have 600 of its values"]),
        ("panel", "with each row five times", PEOPLE[:300], pd.concat([OTHERS[:80]] * 5),
         ["Of panel: each of 80 different rows occurs 5 times"]),
        ("panel", "that is a summary", PEOPLE[:300], SUMMED_UP,
         ["Of panel: the rows seem to be no persons but a summary", "('count', 'mean', 'std')"]),
        ("panel", "that is a summary with its names in a column", PEOPLE[:300],
         OTHERS[MEASURED].describe(percentiles=[0.1, 0.2]).rename_axis("stat").reset_index(),
         ["Of panel: the rows seem to be no persons but a summary", "by column 'stat'"]),
        ("panel", "of quantiles", PEOPLE[:300], OTHERS[MEASURED].quantile(np.arange(1, 100) / 100),
         ["Of panel: in all of the 3 columns no row has a smaller value than the row before"]),
        ("panel", "of the same persons, rounded", PEOPLE[:300],
         PEOPLE[100:].assign(chol=PEOPLE["chol"].round(1), bmi=PEOPLE["bmi"].round()),
         ["200 of the 300 names in column 'patient_id' of the table are in it as well"]),
        ("panel", "with the labels of the same persons", PEOPLE[MEASURED][:100],
         PEOPLE[MEASURED][50:250] + 0.01,
         ["50 of the 100 names in column 'index' of the table are in it as well"]),
    )
    for options in [{argument: beside, "columns": [c for c in table if c != "patient_id"]}]
]  # fmt: skip

#: Genotypes of few sites, with the ends of a byte for a missing one.
CALLS_OF_PERSONS += [
    Call(
        f"{code} for a missing genotype at three sites",
        lambda code=code: mean_leakage(np.where(RNG.random((200, 3)) < 0.05, code, GENES_OF_FEW)),
        [f"{code} is counted as a value like any other", f"missing=['{code}']"],
        cautioned=True,
    )
    for code in (255, 127, -127, -128)
]
GENES_OF_FEW = RNG.binomial(2, 0.3, (200, 3))
