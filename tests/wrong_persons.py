"""Wrong inputs of statistical offices: cells and visits passed as persons, classes that nest."""

from __future__ import annotations

import numpy as np
from wrong_inputs import Shell, csv
from wrong_releases import LIMIT, plan

RNG = np.random.default_rng(11)

#: Cells by education, origin and sex; the last two rows of each education lack one, at random.
CELLS = [(e, o, s) for e in range(16) for o in "abcde" for s in "fm" if (e, o, s) != (3, "e", "m")]
PEOPLE = [max(1, int(3000 * 0.8**e * 0.25 ** "abcde".index(o))) for e, o, _ in CELLS]
PEOPLE = RNG.poisson(PEOPLE).clip(1).tolist()


def hidden(name):
    """The table without the origin, with the counts under a name."""
    return csv(["education", "sex", name], [e for e, _, _ in CELLS], [s for *_, s in CELLS], PEOPLE)


#: Visits in random order: number, sex, age and ward.
OWNER = RNG.permutation(np.repeat(np.arange(300), RNG.integers(1, 7, 300)))
SEX, AGE = RNG.choice(["f", "m"], 300), RNG.integers(18, 90, 300)
WARD = RNG.choice(list("ABCD"), OWNER.size)


def visits(name):
    columns = 10_000 + 7 * OWNER, SEX[OWNER], AGE[OWNER], WARD
    return csv([name, "sex", "age", "ward"], *columns)


def nested(*words):
    """Counts by region, sex and classes, each a part of the one before."""
    rows = [(r, s, w) for r in "NOSW" for s in "fm" for w in words]
    shares = (0.9, 0.5, 0.2, 0.05)
    counts = [int((2000 + 500 * "NOSW".index(r)) * shares[words.index(w)]) + (s == "f")
              for r, s, w in rows]  # fmt: skip
    return csv(["region", "sex", "class", "n"], *zip(*rows, strict=True), counts)


#: Persons with the first letter of a word in place of the word.
SHORT = [word if k % 5 else word[0] for k, word in enumerate(RNG.choice(["Male", "Female"], 300))]
ANSWERS = [word if k % 3 else word[0] for k, word in enumerate(RNG.choice(["Yes", "No"], 300))]
AGED = RNG.integers(1, 9, 300) * 10

#: Numbers of several things by school and sex.
THINGS = ["enrolled", "tested", "passed"]
SCHOOLS = [(k, s, t) for k in range(20) for s in "fm" for t in THINGS]
SCHOOL = csv(["school", "sex", "indicator", "n"], *zip(*SCHOOLS, strict=True),
             RNG.integers(50, 300, len(SCHOOLS)))  # fmt: skip

#: Genotypes of three sites of 211 persons, one of them not called for three; girls and boys.
SITES = csv(["snp", "genotype", "n"], ["rs1"] * 3 + ["rs2"] * 3 + ["rs3"] * 3,
            ["AA", "AG", "GG"] * 3, [101, 82, 28, 54, 92, 62, 140, 60, 11])  # fmt: skip
TRACKS = [(grade, track) for grade in (5, 6, 7) for track in ("academic", "vocational")]
YEARS = csv(["year", "sex", "n"], [2019, 2019, 2020, 2020], list("fmfm"), [110, 98, 115, 101])
GIRLS, BOYS = [31, 12, 27, 18, 22, 15], [28, 19, 33, 11, 25, 14]

PERSONS = [
    Shell(
        "genotypes of several sites below each other, some missing",
        "table t.csv --counts n",
        ["Column 'snp' has the name of one that lists variables", "mean_leakage"],
        {"t.csv": SITES},
        cautioned=True,
    ),
    Shell(
        "the characteristics of one cohort below each other",
        "table t.csv --counts n",
        ["Column 'Variable' has the name of one that lists variables", "margins"],
        {"t.csv": SITES.replace("snp", "Variable")},
        cautioned=True,
    ),
    Shell(
        "alleles of one locus",
        "table t.csv --counts n",
        ["Column 'allele' has the name of alleles, of which each person has two"],
        {"t.csv": csv(["allele", "n"], ["B*07", "B*08", "B*44"], [211, 174, 93])},
        cautioned=True,
    ),
    Shell(
        "three questions to as many persons, under a name that says nothing",
        "table t.csv --counts n",
        ["The counts of each value of column 'k' sum to 214, or nearly"],
        {
            "t.csv": csv(
                ["k", "answer", "n"], list("aabbcc"), ["no", "yes"] * 3, [120, 94, 31, 183, 64, 150]
            )
        },
        cautioned=True,
    ),
    Shell(
        "girls and boys beside their sum, by a grade in numbers",
        "table t.csv --counts pupils",
        ["Columns 'girls', 'boys' hold numbers, without which the cells are as distinct"],
        {
            "t.csv": csv(
                ["grade", "track", "girls", "boys", "pupils"],
                *zip(*TRACKS, strict=True),
                GIRLS,
                BOYS,
                [g + b for g, b in zip(GIRLS, BOYS, strict=True)],
            )
        },
        cautioned=True,
    ),
    Shell(
        "a mean mark beside the counts",
        "table t.csv --counts pupils",
        ["Column 'mark' holds numbers, without which", "means of the cells leak more"],
        {
            "t.csv": csv(
                ["grade", "track", "mark", "pupils"],
                *zip(*TRACKS, strict=True),
                [2.1, 1.9, 2.5, 2.7, 2.0, 2.2],
                GIRLS,
            )
        },
        cautioned=True,
    ),
    *(
        Shell(
            f"cells without one of their categories, with counts named {name}",
            "table t.csv" + columns,
            [f"'{name}' has the name of a count", f"pass --counts {name}"],
            {"t.csv": hidden(name)},
            cautioned=True,
        )
        for name in ("n", "Freq", "deaths", "headcount", "OBS_VALUE")
        for columns in ("", f" --exclude {name}")
    ),
    *(
        Shell(
            f"the same under a name that nobody knows{columns}",
            "table t.csv" + columns,
            ["numbers too even for rows of persons", "pass --counts X2019"],
            {"t.csv": hidden("X2019")},
            cautioned=True,
        )
        for columns in ("", " --exclude X2019")
    ),
    Shell(
        "frequencies of which some are quarters",
        "table t.csv --columns child,parent",
        ["'frequency' has the name of a count", "pass --counts frequency"],
        {"t.csv": csv(["child", "parent", "frequency"], *np.divmod(np.arange(400), 20),
                      np.round(RNG.gamma(0.5, 30.0, 400)) / 4)},
        cautioned=True,
    ),
    *(
        Shell(
            f"visits by {name}{columns}",
            "table t.csv" + columns,
            [f"'{name}'", "The report is about rows", f"pass --person {name}"],
            {"t.csv": visits(name)},
            cautioned=True,
        )
        for name in ("patient_no", "UPN", "pupil", "case", "zaehler")
        for columns in ("", " --columns sex,age")
    ),
    *(
        Shell(
            f"a release of visits by {name}",
            LIMIT,
            [f"Column '{name}' has", "pass one row for each person"],
            {
                "people.csv": visits(name),
                "plan.toml": plan('table = ["sex", "ward"]', 'table = ["sex", "age"]'),
            },
            cautioned=True,
        )
        for name in ("patient_no", "zaehler")
    ),
    Shell(
        "several indicators that are added up",
        "table t.csv --counts n --columns school,sex",
        ["'indicator', which is left out, has the name of one that states what a number counts"],
        {"t.csv": SCHOOL},
        cautioned=True,
    ),
    Shell(
        "a footnote below the counts",
        "table t.csv --counts n",
        ["row 2 holds no value. If it is a source or a footnote, take the line out"],
        {"t.csv": "sex,smokes,n\nf,no,310\nm,no,290\nSource: Census,,\n"},
    ),
    Shell(
        "lines of a title above the names",
        "table t.csv --counts n",
        ["two columns of one name", "If lines of a title stand above the names, take them out"],
        {"t.csv": "Table 3. Persons,,\n,,\nsex,smokes,n\nf,no,310\nm,no,290\n"},
    ),
    *(
        Shell(
            f"a count that is not shown: {mark}",
            "table t.csv --counts n",
            [f"row 1 holds '{mark}'", says],
            {"t.csv": f"sex,smokes,n\nf,no,310\nm,no,{mark}\nm,yes,31\n"},
        )
        for mark, says in (
            ("[c]", "--suppressed 1"),
            ("np", "--suppressed 1"),
            ("fewer than 5", "--suppressed 1"),
            ("1 to 4", "--suppressed 1"),
            ("295 p", "write the count alone: 295"),
        )
    ),
    Shell(
        "fewer than 5, taken to be 5",
        "table t.csv --counts n --suppressed 5",
        ["suppressed must be at most 4"],
        {"t.csv": "sex,smokes,n\nf,no,310\nm,no,fewer than 5\nm,yes,31\n"},
    ),
    *(
        Shell(
            f"a published table {how}",
            "release plan.toml",
            ["published must have the counts of the people", says],
            {
                "people.csv": "sex,town\n" + "f,a\n" * 12 + "m,a\n" * 3 + "f,b\n" * 21,
                "t.csv": f"sex,town,n\n{rows}",
                "plan.toml": plan('table = ["sex", "town"]\npublished = "t.csv"'),
            },
        )
        for how, rows, says in (
            ("with totals as 'ab'", "f,a,12\nm,a,3\nf,b,21\nf,ab,33\n", "write Total for such"),
            ("with zeros", "f,a,12\nm,a,0\nf,b,21\n", "leave the field of a hidden count empty"),
            ("rounded", "f,a,10\nm,a,5\nf,b,20\n", "pass protect='round:5'"),
            ("of others", "f,a,12\nm,a,4\nf,b,21\n", "Pass the people it was made from"),
        )
    ),
    *(
        Shell(
            f"a condition with an end {end} on ages of which one is a word",
            "release plan.toml",
            ["'min'", "list the values that belong, or pass a column of numbers"],
            {
                "people.csv": csv(["sex", "age"], ["f", "m", "m"] * 20, ["9", "17", "80+"] * 20),
                "plan.toml": plan(
                    'table = ["sex"]', f'table = ["sex"]\nwhere = {{ age = {{ min = {end} }} }}'
                ),
            },
        )
        for end in ("18", "'18'")
    ),
    *(
        Shell(
            f"nested classes in words: {words[1]}",
            "table t.csv --counts n",
            ["The classes of column 'class' are parts of one another"],
            {"t.csv": nested(*words)},
            cautioned=True,
        )
        for words in (
            ("at least 1 dose", "at least 2 doses", "3 doses"),
            ("High school or higher", "Bachelor's or higher", "Master's or higher"),
        )
    ),
    *(
        Shell(
            f"the first letter of a word in its place: {words[0]}",
            "table t.csv",
            ["Values that are the first letter of another", "column 'word'"],
            {"t.csv": csv(["age", "word"], AGED, words)},
            cautioned=True,
        )
        for words in (SHORT, ANSWERS)
    ),
    *(
        Shell(
            f"two waves of a table of counts, by a column {name!r} that is left out",
            f"table t.csv --counts n --exclude {name}",
            [f"The table has rows of different values of column {name!r}"],
            {"t.csv": YEARS.replace("year", name).replace("2019", one).replace("2020", other)},
            cautioned=True,
        )
        for name, one, other in [
            ("Datum", "31.12.1984", "31.12.1985"),
            ("Erhebung", "2019", "2020"),
            ("survey", "W1", "W2"),
        ]
    ),
]  # fmt: skip

#: The same shapes where nothing is wrong: no caution comes.
ORDINARY = [
    Shell("classes that share nobody", "table t.csv --counts n", [],
          {"t.csv": csv(["sex", "class", "n"], *zip(*[(s, w) for s in "fm" for w in
           ("High school or less", "Some college", "Bachelor's or higher")], strict=True),
           [310, 290, 411, 37, 280, 305])}),
    Shell("blood groups, of which A begins AB", "table t.csv", [],
          {"t.csv": csv(["age", "group"], AGED, RNG.choice(["A", "B", "AB", "O"], 300))}),
    Shell("a date with its month and weekday", "table t.csv --columns month,day,sex", [],
          {"t.csv": csv(["date", "month", "day", "sex"],
           *zip(*[(f"2023-{1 + k % 12:02}-{1 + k % 25:02}", k % 12, k % 25 % 7) for k in
           RNG.integers(0, 300, 900).tolist()], strict=True), RNG.choice(["f", "m"], 900))}),
    Shell("a cell of a postcode in a county and a state", "table t.csv --columns state,sex", [],
          {"t.csv": csv(["code", "county", "state", "sex"],
           *zip(*[(f"x{7 * k % 211}", k % 211 % 30, k % 211 % 30 % 6) for k in
           RNG.integers(0, 211, 900).tolist()], strict=True), RNG.choice(["f", "m"], 900))}),
    Shell("the sex and the size of the town of persons", "table t.csv --columns sex,population", [],
          {"t.csv": csv(["sex", "population", "score"], RNG.choice(["f", "m"], 900),
           RNG.choice([3750, 8750, 25000, 87500, 175000], 900), RNG.normal(size=900).round(5))}),
]  # fmt: skip
