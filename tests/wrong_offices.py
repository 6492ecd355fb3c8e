"""Wrong inputs of a statistical office's clerk, and the right ones beside them."""

from __future__ import annotations

import numpy as np
from wrong_inputs import Shell, csv
from wrong_releases import plan

RNG = np.random.default_rng(26)

#: Counts by region, education and sex, of which 21 are below 5.
CELLS = [(f"{r:02}", e, s) for r in range(1, 13) for e in range(6) for s in (1, 2)]
COUNTS = (1 + (np.arange(len(CELLS)) * 37) % 200).tolist()
SMALL = sorted(COUNTS)[:12:2]


def cells(counts, name="n"):
    return csv(["region", "edu", "sex", name], *zip(*CELLS, strict=True), counts)


def replaced(mark, small=SMALL, other=None):
    """The counts with a mark in place of small ones, and another one of the next."""
    second = [] if other is None else sorted(COUNTS)[1:12:2]
    return [mark if n in small else other if n in second else n for n in COUNTS]


#: Wages, which may as well be weights, and areas.
WAGES = [300 + (k * 1237) % 7700 for k in range(400)]
AREAS = [k % 8 for k in range(400)]

OFFICES = [
    *(
        Shell(
            f"whole weights of a survey, called {name}",
            "table t.csv --max-leakage 1",
            [f"Column '{name}' has the name of a survey weight"],
            {"t.csv": csv(["area", name], AREAS, WAGES)},
            cautioned=True,
        )
        for name in ("PONDERA", "FEX_C", "A_FNLWGT", "fac_tri")
    ),
    *(
        Shell(
            f"{code} for a count that is not published",
            "table t.csv --counts n --max-leakage 1",
            [f"Column 'n' holds {code} in 6 rows, and 200 at most", f"--suppressed={code}=1"],
            {"t.csv": cells(replaced(code))},
            cautioned=True,
        )
        for code in (999, 99999, 99999999, 32767, 5000)
    ),
    Shell(
        "a cross-tabulation with a column of totals",
        "table t.csv",
        [
            "looks like a cross-tabulation",
            "Leave out column 'Total', which has the sums of the others",
            "frame.drop(columns='Total').melt('region', value_name='n')",
        ],
        {"t.csv": "region,Male,Female,Total\nN,52,48,100\nS,51,49,100\nE,48,52,100\n"},
    ),
    Shell(
        "a table of counts whose column of counts is no sum",
        "table t.csv",
        ["looks like a table of counts", "--counts Total"],
        {"t.csv": "region,wave,grade,Total\nN,1,4,100\nS,1,2,90\nE,2,4,70\n"},
    ),
    Shell(
        "merged cells of a spreadsheet, in a table of counts",
        "table t.csv --counts n",
        [
            "there are 2 in column 'region', of 233 persons",
            "frame['region'].ffill()",
            "--na category",
        ],
        {"t.csv": "region,sex,n\nNorth,M,120\n,F,141\nSouth,M,83\n,F,92\n"},
    ),
    Shell(
        "a first value that is missing, which is none of a merged cell",
        "table t.csv --counts n",
        ["there are 1 in column 'region', of 141 persons. Pass --na category"],
        {"t.csv": "region,sex,n\n,F,141\nNorth,M,120\nSouth,M,83\nSouth,F,92\n"},
    ),
    Shell(
        "the same for one count",
        "table t.csv --counts n --max-leakage 1",
        ["Column 'n' holds 9999 in 1 row, and 200 at most"],
        {"t.csv": cells(replaced(9999, SMALL[:1]))},
        cautioned=True,
    ),
    Shell(
        "two codes for counts that are not published",
        "table t.csv --counts n --max-leakage 1",
        ["holds 9998, 9999 in 6, 6 rows", "pass --suppressed=9998=1,9999=1"],
        {"t.csv": cells(replaced(9998, other=9999))},
        cautioned=True,
    ),
    Shell(
        "the same in the register",
        "table t.csv --counts n --population register.csv --max-leakage 1",
        ["Of the register: column 'n' holds 9999", "Pass the register before suppression"],
        {"t.csv": cells([1] * 144), "register.csv": cells(replaced(9999))},
        cautioned=True,
    ),
    Shell(
        "a count for codes that are not named",
        "table t.csv --counts n --suppressed 1",
        ["no count of the table is suppressed", "pass --suppressed=9999=1"],
        {"t.csv": cells(replaced(9999))},
    ),
    Shell(
        "a code below 0",
        "table t.csv --counts n",
        ["holds '-9'", "If it marks a suppressed count, pass --suppressed=-9=1"],
        {"t.csv": cells(replaced(-9))},
    ),
    Shell(
        "empty fields beside another mark",
        "table t.csv --counts n --suppressed 1",
        ["holds no value", "name it with the others: pass --suppressed='=1,<5=1'"],
        {"t.csv": cells(replaced("", other="<5"))},
    ),
]

#: The cures of these, with the persons that are then counted.
CURED = [
    (f"table t.csv --counts n {how}", cells(counts), sum(COUNTS) - sum(ones) + len(ones))
    for how, counts, ones in (
        ("--suppressed=99999=1", replaced(99999), SMALL),
        ("--suppressed=-9=1", replaced(-9), SMALL),
        ("--suppressed 1", replaced(""), SMALL),
        ("--suppressed==1", replaced(""), SMALL),
        ("--suppressed 1 --missing n=9999", replaced(9999), SMALL),
        ("--suppressed==1,<5=1", replaced("", other="<5"), sorted(COUNTS)[:12]),
    )
]
ORDINARY_OFFICES = [
    Shell(title, "table t.csv --counts n", [], {"t.csv": cells(counts)})
    for title, counts in (
        ("a count of 999 among large ones", [5 * n for n in COUNTS[:-2]] + [999, 998]),
        ("two large counts that differ", [*COUNTS[:-2], 20_117, 19_880]),
        ("one large count of nines in two digits", [1 + n % 20 for n in COUNTS[:-1]] + [99]),
    )
]

#: Persons of 400 households of one to five, numbered in each; their region, age and sex.
HOME = np.repeat(np.arange(400), RNG.choice(5, 400, p=[0.4, 0.3, 0.12, 0.12, 0.06]) + 1)
NUMBER = np.arange(HOME.size) - np.searchsorted(HOME, HOME) + 1
PERSONS = {
    "hhid": 7000 + HOME,
    "pnr": NUMBER,
    "region": RNG.choice(list("NESW"), 400)[HOME],
    "age": RNG.integers(0, 9, HOME.size),
    "sex": RNG.choice(["f", "m"], HOME.size),
    "edu": RNG.integers(0, 5, HOME.size),
}


def people(*left_out):
    """The persons without some columns."""
    kept = {name: values for name, values in PERSONS.items() if name not in left_out}
    return csv(kept, *kept.values())


OFFICES += [
    *(
        Shell(
            f"the number of a person in the household for the person{how}",
            "table t.csv --columns region,age,sex --person pnr --max-leakage 1",
            [f"Column 'pnr' {says}", "leave out --person"],
            {"t.csv": people(*left_out)},
            cautioned=True,
        )
        for how, left_out, says in (
            ("", (), "numbers the rows of each value of column 'hhid'"),
            (", without the household", ("hhid",), "holds few numbers, each in many rows"),
        )
    ),
    Shell(
        "that number among the categories",
        "table t.csv",
        ["Column 'pnr' numbers the rows of each value of column 'hhid'", "--exclude pnr,hhid"],
        {"t.csv": people()},
        cautioned=True,
    ),
    Shell(
        "visits, numbered within those who pay them",
        "table t.csv --columns region,sex --max-leakage 1",
        ["Column 'patient_no', which is left out, has the name of an identifier"],
        {"t.csv": people().replace("hhid,pnr", "patient_no,visit_no")},
        cautioned=True,
    ),
]
ORDINARY_OFFICES += [
    Shell(title, f"table t.csv --columns {columns}", [], {"t.csv": people(*left_out)})
    for title, columns, left_out in (
        ("persons of households, numbered in each", "region,age,sex", ()),
        ("the same without the household", "region,age,sex", ("hhid",)),
        ("the same by other columns", "age,edu", ("region",)),
    )
]

#: The answers of these persons below each other, by region, and trials with as many in each arm.
ASKED = ("age", "sex", "edu")
ANSWERS = {
    "region": np.tile(PERSONS["region"], 3),
    "variable": np.repeat(ASKED, HOME.size),
    "value": np.concatenate([PERSONS[name].astype(str) for name in ASKED]),
}
TRIAL = {
    "site": np.repeat(np.arange(9), 4 * (40 + np.arange(9))),
    "arm": np.concatenate([np.tile([*"ABCD"], 40 + k) for k in range(9)]),
}
TRIAL["cured"] = RNG.choice(["yes", "no"], TRIAL["site"].size)


def answers(name):
    return csv(["region", name, "value"], *ANSWERS.values())


OFFICES += [
    *(
        Shell(
            f"the answers of persons below each other, by {name!r}{how}",
            f"table t.csv{how} --max-leakage 1",
            [f"Each of the 3 values of column {name!r}", "'region'", "--margins A,B"],
            {"t.csv": answers(name)},
            cautioned=True,
        )
        for name in ("variable", "Thema")
        for how in ("", " --columns region,value")
    ),
    Shell(
        "the same without other columns",
        "table t.csv --max-leakage 1",
        [f"Each of the 2 values of column 'question' has {HOME.size:,} rows, as where each"],
        {
            "t.csv": csv(
                ["question", "answer"],
                np.repeat(["sex", "employed"], HOME.size),
                np.append(PERSONS["sex"], np.where(PERSONS["age"] > 3, "f", "m")),
            )
        },
        cautioned=True,
    ),
]
ORDINARY_OFFICES += [
    Shell("as many of each arm of a trial at each site", "table t.csv", [],
          {"t.csv": csv(TRIAL, *TRIAL.values())}),
    Shell("variants of a page of which nothing is equal", "table t.csv", [],
          {"t.csv": csv(["variant", "sex"], *RNG.choice(["f", "m"], (2, 701)))}),
]  # fmt: skip

#: Every seventh household of these persons, and every seventh person.
DRAWN = {"households": HOME % 7 == 0, "persons": RNG.permutation(HOME.size) % 7 == 0}


def sample(of):
    """The persons drawn, and the register of all."""
    kept = {name: values for name, values in PERSONS.items() if name not in ("pnr", "region")}
    return {
        "t.csv": csv(kept, *(values[DRAWN[of]] for values in kept.values())),
        "register.csv": csv(kept, *kept.values()),
    }


def of_register(files, name):
    return {file: text.replace("hhid", name, 1) for file, text in files.items()}


OFFICES += [
    Shell(
        f"a sample of whole households, by {name!r}",
        "table t.csv --columns age,sex,edu --population register.csv --max-leakage 1",
        [f"all people of 58 of 400 values of column {name!r}", "were drawn one by one"],
        of_register(sample("households"), name),
        cautioned=True,
    )
    for name in ("hhid", "HNR", "group")
]
ORDINARY_OFFICES += [
    Shell(
        "a sample of persons, with their household",
        "table t.csv --columns age,sex,edu --population register.csv",
        [],
        sample("persons"),
    )
]

#: Ages up to an oldest one, of which every 25th is a code; and incomes that go up to 146,700.
AGED = RNG.integers(0, 91, 1000)
EARNED = (np.exp(RNG.normal(10, 0.6, 1000)) / 100).round().astype(int) * 100
EARNED[0] = 146_700


def coded(values, code, oldest=None):
    every = np.array([code if k % 25 == 24 else value for k, value in enumerate(values)])
    every[0] = every[0] if oldest is None else oldest
    return csv(["x", "sex"], every, np.arange(1000) % 2)


OFFICES += [
    *(
        Shell(
            f"{code} for a missing age, where the oldest is {oldest}{rule}",
            f"{line} --max-leakage 1",
            [f"'{code}' is counted as a value like any other, in 40 rows", f"--missing {code}"],
            {"t.csv": coded(AGED, code, oldest)},
            cautioned=True,
        )
        for code in (999, 888)
        for oldest in (96, 97, 99, 103)
        for rule, line in (("", "mean t.csv"), (", top-coded", "table t.csv --top-code x:80"))
    ),
    Shell(
        "99999 for a missing income, among larger ones",
        "mean t.csv --max-leakage 1",
        ["'99999' is counted as a value like any other, in 40 rows of column 'x'"],
        {"t.csv": coded(EARNED, 99999)},
        cautioned=True,
    ),
]
ORDINARY_OFFICES += [
    Shell("an income of 99999 that a few have", "mean t.csv", [],
          {"t.csv": csv(["x", "sex"], [*EARNED[:995], *[99999] * 5], np.arange(1000) % 2)}),
    Shell("prices that end in nines", "mean t.csv", [],
          {"t.csv": csv(["x", "sex"], RNG.choice([399, 499, 799, 999, 1299, 1599], 1000),
                        np.arange(1000) % 2)}),
    Shell("ages with a few of the oldest", "mean t.csv", [],
          {"t.csv": csv(["x", "sex"], [*AGED[:990], *range(91, 101)], np.arange(1000) % 2)}),
]  # fmt: skip

#: The cells of these persons by sex, class of age and education, in place of the persons.
BY_CELL, OF_CELL = np.unique(
    np.stack([PERSONS["sex"] == "f", PERSONS["age"], PERSONS["edu"]]), axis=1, return_counts=True
)

OFFICES += [
    Shell(
        f"means of cells, whose counts in {name!r} are left out",
        "mean t.csv --columns age,sex --categories sex --max-leakage 1",
        [
            f"Column {name!r}, which is left out, has the name of a count",
            f"repeat(frame['{name}'])",
        ],
        {"t.csv": csv(["sex", "age", "edu", name], *(BY_CELL + 1), OF_CELL)},
        cautioned=True,
    )
    for name in ("n", "Anzahl", "freq")
]
ORDINARY_OFFICES += [
    Shell("means by a sex of 1 and 2", "mean t.csv --columns age,sex --categories sex", [],
          {"t.csv": csv(["region", "age", "sex", "size"], PERSONS["region"], PERSONS["age"],
                        1 + (PERSONS["sex"] == "f"), np.bincount(HOME)[HOME])}),
]  # fmt: skip

#: These persons, and 4,000 lines of blank fields below.
BLANK = people("hhid", "pnr") + ",,,\n" * 4000

OFFICES += [
    Shell(
        "blank lines of a spreadsheet, counted as persons",
        "table t.csv --na category --max-leakage 1",
        ["4,000 rows have no value in any column, as blank lines", "take these lines out"],
        {"t.csv": BLANK},
        cautioned=True,
    ),
    Shell(
        "blank lines of a spreadsheet",
        "table t.csv",
        ["4,000 rows have no value in any column", "take them out of the file", "--na drop"],
        {"t.csv": BLANK},
    ),
    *(
        Shell(
            f"the delimiter for Excel in line 1{how}",
            f"table t.csv{how}",
            ["line 1, which names the delimiter for Excel. Take the line out"],
            {"t.csv": "sep=;\n" + people().replace(",", ";")},
        )
        for how in ("", " --delimiter ;")
    ),
]
ORDINARY_OFFICES += [
    Shell("blank lines that are dropped", "table t.csv --na drop", [], {"t.csv": BLANK}),
    Shell("a person of whom nothing is known", "table t.csv --na category", [],
          {"t.csv": people("hhid", "pnr").replace("\n", "\n,,,\n", 1)}),
]  # fmt: skip

OFFICES += [
    Shell(
        "blank lines of a spreadsheet among the people of a release",
        "release plan.toml --max-row-leakage 1 --max-determined 4000",
        ["4,000 rows have no value in any column", "take these lines out"],
        {
            "people.csv": BLANK,
            "plan.toml": plan('table = ["region"]', 'table = ["sex"]', more='na = "category"'),
        },
        cautioned=True,
    ),
]
