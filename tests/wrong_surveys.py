"""More wrong inputs of a statistical office: cross-tabulations, totals, samples by strata."""

from __future__ import annotations

import io
import re
from itertools import combinations

import numpy as np
import pandas as pd
from wrong_inputs import Call, Shell, csv
from wrong_releases import plan

from mialeak.tables import estimate_max_leakage, table_leakage

RNG = np.random.default_rng(31)

#: Counts by 40 ages (or finger lengths, or towns) and sex, and the same without labels.
BY_SEX = {"m": RNG.poisson(12, 40), "w": RNG.poisson(14, 40)}
TOWNS = [f"town {chr(97 + k)}" for k in range(20)]


def saved(labels, columns, name=""):
    """A cross-tabulation with labels of its rows, as programs write it."""
    return csv([name, *columns], labels, *columns.values())


def read(labels, columns):
    return pd.read_csv(io.StringIO(saved(labels, columns)), index_col=0)


REGIONS = {name: 3 + RNG.poisson(30, 20) for name in ("North", "East", "South")}
YEARS = ("2019", "2020", "2021")
#: Counts with their sums.
CROSSED = pd.crosstab(REGIONS["North"] % 7, REGIONS["East"] % 3, margins=True)
SURVEYS = [
    *(
        Shell(
            f"a cross-tabulation by sex{how}",
            f"table t.csv{how}",
            ["cross-tabulation: its columns are called 'm', 'w'", "--counts n"],
            {"t.csv": text},
        )
        for how, text in (
            ("", csv(BY_SEX, *BY_SEX.values())),
            (" --columns m,w", saved(range(40), BY_SEX)),
        )
    ),
    Shell(
        "the same with labels without a name",
        "table t.csv",
        ["column 1 is called ''", "if it labels the rows of a cross-tabulation"],
        {"t.csv": saved(range(40), BY_SEX)},
    ),
    *(
        Shell(
            f"columns of a cross-tabulation with labels without a name, {labels[0]} first",
            "table t.csv --columns North,South --max-leakage 1",
            [f"column '', which is left out, labels rows {labels[0]}, {labels[1]} ..."],
            {"t.csv": saved(labels, REGIONS)},
            cautioned=True,
        )
        for labels in (TOWNS, range(15, 35), [9.4 + k / 10 for k in range(20)])
    ),
]

#: A sample of 1,500 of 30,000 people, half of the women and 2 % of the men, with their weights.
SEX = RNG.permutation(np.repeat(["f", "m"], [1200, 300]))
TIMES = 1 + RNG.poisson(6, 1500)
DRAWN = [RNG.integers(1, 17, 1500), RNG.integers(0, 9, 1500), SEX]
WEIGHTS = np.where(SEX == "f", 2.5, 90.0)
#: The same with other codes for the sex from row 900 on.
CODED = np.where(np.arange(1500) < 900, SEX, np.where(SEX == "f", "2", "1"))


def sample(name, weights):
    return csv(["region", "age", "sex", name], *DRAWN, weights)


SURVEYS += [
    *(
        Shell(
            f"a sample of unequal probabilities, with the weights in {name!r}",
            "table t.csv --columns region,age,sex --population 30000 --max-leakage 1",
            [f"Column {name!r} has the name of a survey weight, from 2.5 to 90", "--strata"],
            {"t.csv": sample(name, WEIGHTS)},
            cautioned=True,
        )
        for name in ("weight", "wgt_pers")
    ),
    Shell(
        "a plan that no recoding reaches",
        "table t.csv --exclude n --plan 0.0001 --keep region,age,sex",
        ["--plan must be reached with every column dropped that may be"],
        {"t.csv": sample("n", SEX)},
    ),
    Shell(
        "two widths of the bands of one column",
        "table t.csv --columns age,sex --bin age:5 --bin age:10",
        ["--bin must be given once for a column; 'age' has 5 and 10"],
        {"t.csv": sample("x", SEX)},
    ),
    Shell(
        "a recode table with two codes for a value",
        "table t.csv --columns age,sex --recode r.csv",
        ["--recode must have one code for each value; line 4 has another for '1'"],
        {"t.csv": sample("x", SEX), "r.csv": "column,value,code\nage,1,a\nage,2,a\nage,1,b\n"},
    ),
]
SURVEY_CALLS = [
    *(
        Call(
            f"a cross-tabulation with an index without a name, {labels[0]} first",
            lambda labels=labels: table_leakage(read(labels, REGIONS)),
            [f"its index has '{labels[0]}'", "rename_axis('row')", "reset_index(drop=True)"],
        )
        for labels in (TOWNS, [9.5 + k / 2 for k in range(20)])
    ),
    *(
        Call(
            f"the same with whole numbers, {labels[0]} first",
            lambda labels=labels: table_leakage(read(labels, REGIONS)),
            [f"its rows are labelled {labels[0]}, {labels[1]} ...", "write one row a cell"],
            cautioned=True,
        )
        for labels in (range(15, 35), range(0, 100, 5))
    ),
    Call(
        "a cross-tabulation by years",
        lambda: table_leakage(pd.DataFrame(dict(zip(YEARS, REGIONS.values(), strict=True)))),
        ["its columns are called '2019', '2020', '2021'", "counts='n'"],
    ),
    *(
        Call(
            f"{what} with the sums of its counts",
            lambda counts=counts: estimate_max_leakage(counts),
            ["counts must count each person once", "without margins=True"],
        )
        for what, counts in (
            ("a cross-tabulation", CROSSED),
            ("an array", CROSSED.to_numpy()),
            ("a cross-tabulation of which the last row was left out", CROSSED.iloc[:-1]),
            ("a series", CROSSED["All"]),
        )
    ),
]

SURVEYS += [
    *(
        Shell(
            f"a cross-tabulation of numbers{how}",
            "table t.csv",
            ["cross-tabulation: no two rows agree in 'born'", "--counts n"],
            {"t.csv": saved(born, REGIONS, "born")},
        )
        for how, born in (
            (" that fall", range(2020, 2000, -1)),
            (" in the order of words", sorted(map(str, range(1, 21)))),
            (" with decimals", [9.4 + k / 2 for k in range(20)]),
        )
    ),
    *(
        Shell(
            f"files with different codes, {columns} counted",
            f"table t.csv --columns {columns} --max-leakage 1",
            ["'sex' holds other values from row 900 on than in the rows before it"],
            {"t.csv": csv(["region", "age", "sex"], *DRAWN[:2], CODED)},
            cautioned=True,
        )
        for columns in ("region,age,sex", "sex,age")
    ),
    *(
        Shell(
            f"a column of weights called {name!r}",
            "table t.csv --max-leakage 1",
            [f"Column {name!r} has the name of a survey weight", f"--exclude {name}"],
            {"t.csv": sample(name, RNG.integers(30, 900, 1500))},
            cautioned=True,
        )
        for name in ("PONDERA", "fac_tri", "RB050", "waga")
    ),
]


def wages(values):
    return csv(["region", "sex", "wage"], DRAWN[0], SEX, values)


#: Wages with a point between thousands.
WAGES = RNG.integers(300, 8000, 1500)
POINTED = [f"{x // 1000}.{x % 1000:03}" if x >= 1000 else x for x in WAGES.tolist()]
SURVEYS += [
    Shell(
        f"a point between thousands, {line.split()[0]}",
        f"{line} --max-leakage 1",
        ["Numbers like '", "in column 'wage' are read as decimals", "write them without it"],
        {"t.csv": wages(POINTED)},
        cautioned=True,
    )
    for line in ("table t.csv --bin wage:500", "mean t.csv --columns wage")
]
SURVEYS += [
    Shell(
        "a point between thousands of a condition",
        "release plan.toml --max-row-leakage 1 --max-determined 4000",
        ["Numbers like '", "in column 'wage' are read as decimals"],
        {
            "people.csv": wages(POINTED),
            "plan.toml": plan(
                'table = ["region"]', 'table = ["sex"]\nwhere = { wage = { min = 500 } }'
            ),
        },
        cautioned=True,
    )
]
SURVEYS += [
    Shell(
        "persons repeated by their weights",
        "table t.csv --max-leakage 1",
        ["blocks of equal rows, as where each person is there as many times as a survey weight"],
        {"t.csv": csv(["region", "age", "sex"], *(np.repeat(each, TIMES) for each in DRAWN))},
        cautioned=True,
    ),
    *(
        Shell(
            f"{mark} for a suppressed count",
            "table t.csv --counts n",
            [f"holds '{mark}'. If it marks a suppressed count, pass --suppressed={shown}=1"],
            {"t.csv": csv(["town", "n"], TOWNS, [mark, *range(1, 20)])},
        )
        for mark, shown in (("/", "/"), ("geheim", "geheim"))
    ),
]  #: The languages of persons, one row each, and the same as a frame makes them.
SPOKEN = pd.DataFrame({"age": DRAWN[1], "sex": SEX}).assign(n=TIMES % 3 + 1)
LANGUAGES = SPOKEN.assign(lang=[["de", "en", "tr"][:n] for n in SPOKEN["n"]]).explode("lang")
SURVEY_CALLS += [
    Call(
        "several rows of a person by explode",
        lambda: table_leakage(LANGUAGES[["age", "sex", "lang"]]),
        ["the same label in the index", "reset_index() and pass person='index'"],
        cautioned=True,
    )
]  #: A register of which every fourth person is in the sample.
PEOPLE = csv(["region", "sex"], *(np.repeat(each, 4) for each in (DRAWN[0], SEX)))
SURVEYS += [
    Shell(
        "protections of a stratified sample",
        "table t.csv --population r.csv --strata sex --protect round:5",
        ["--protect must be left out with strata", "Leave out one of the two"],
        {"t.csv": csv(["region", "sex"], DRAWN[0], SEX), "r.csv": PEOPLE},
    ),
    Shell(
        "keys with a decimal comma",
        "table t.csv --protect cell-key:k.csv",
        ["decimal point", "'1,0'"],
        {
            "t.csv": csv(["region", "sex"], DRAWN[0], SEX),
            "k.csv": "i;j;p;v\n0;0;1,0;0\n1;0;0,5;-1\n1;2;0,5;1\n",
        },
    ),
]  #: Counts by three columns, with their totals, marked by T, or without.
OF_THREE = pd.DataFrame(dict(zip(["region", "age", "sex"], map(list, DRAWN), strict=True)))
EVERY = [OF_THREE.assign(**dict.fromkeys(left_out, "T")).astype(str).value_counts()
         for k in range(4) for left_out in combinations(OF_THREE, k)]  # fmt: skip


def suppressed(tables, below=5):
    counts = pd.concat(tables).reset_index(name="n")
    return counts.assign(n=counts["n"].where(counts["n"] >= below, f"<{below}")).to_csv(index=False)


SURVEYS += [
    Shell(
        f"totals of counts of which small ones are {how}",
        f"table t.csv --counts n{line}",
        ["must hold no totals; the counts of 'T' are the sums of others", "--total"],
        {"t.csv": text},
    )
    for how, line, text in (
        ("suppressed", " --suppressed 1", suppressed(EVERY)),
        ("left out", "", re.sub(r".*,<5\n", "", suppressed(EVERY))),
    )
]
#: Answers of persons, whole numbers all.
ANSWERS = pd.DataFrame(RNG.integers(1, 6, (60, 3)), columns=["q1", "q2", "q3"])
ORDINARY_SURVEYS = [
    Shell("counts without totals", "table t.csv --counts n", [],
          {"t.csv": suppressed(EVERY[:1], 0)}),
    *(
        Shell(f"persons of a table of counts, {how}", "table t.csv", [],
              {"t.csv": csv(["region", "age", "sex"], *np.array(DRAWN)[:, order])})
        for how, order in (
            ("sorted", np.lexsort(DRAWN)),
            ("sorted by region", np.argsort(DRAWN[0], kind="stable")),
            ("as they came", np.arange(1500)),
        )
    ),
    *(
        Shell(title, f"table t.csv --bin wage:{width}", [], {"t.csv": wages(values)})
        for title, width, values in (
            ("wages without a point", 500, WAGES),
            ("wages with three decimals", 500, [f"{x / 9:.3f}" for x in WAGES.tolist()]),
            ("wages in thousands", 1, [x / 1000 for x in WAGES.tolist()]),
        )
    ),
    Shell("towns of two regions, one below the other", "table t.csv --columns region,town", [],
          {"t.csv": csv(["region", "town"], np.repeat([*"NS"], (700, 800)),
                        [f"{'NS'[k > 699]}{k * k % 7}" for k in range(1500)])}),
    Shell("the durations of a study, left out", "table t.csv --columns region,age", [],
          {"t.csv": csv(["region", "age", "time"], *DRAWN[:2], RNG.integers(1, 900, 1500))}),
    Shell("kinds of households", "table t.csv", [],
          {"t.csv": csv(["region", "household"], DRAWN[0], RNG.choice(["one", "two"], 1500))}),
    *(
        Shell(title, f"table t.csv --columns region,age,sex --population {people}", [],
              {"t.csv": sample("weight", weights)})
        for title, people, weights in (
            ("weights of bodies", 30_000, 40 + RNG.integers(0, 80, 1500)),
            ("weights that are nearly equal", 30_000, 20 + RNG.normal(0, 2, 1500).round(2)),
        )
    ),
    Shell("bands of a table of counts", "table t.csv --counts n --bin age:5", [],
          {"t.csv": csv(["age", "sex", "n"], np.repeat(range(18, 78), 2), [*"fm"] * 60,
                        np.arange(120) * 37 % 101 + 20)}),
    Shell("answers with the numbers of rows without a name", "table t.csv --columns q1,q2", [],
          {"t.csv": ANSWERS.assign(q2=ANSWERS["q2"] * 10).to_csv()}),
    Shell("answers with names of persons without a name", "table t.csv --columns q1,q2", [],
          {"t.csv": ANSWERS.set_axis([f"p{k}" for k in range(60)]).to_csv()}),
]  # fmt: skip
#: Frames of persons with an index that holds no labels of a cross-tabulation.
FRAMES = {
    "names": ANSWERS.set_axis([f"p{k}" for k in range(60)]),
    "some rows": (10 * ANSWERS)[ANSWERS["q1"] > 2],
    "rows from 0": 10 * ANSWERS,
    "rows from 1": (10 * ANSWERS).set_axis(range(1, 61)),
    "in random order": (10 * ANSWERS).sample(frac=1.0, random_state=1),
    "cells repeated by their counts": (cells := SPOKEN.value_counts().reset_index(name="k")).loc[
        cells.index.repeat(cells["k"])
    ][["age", "sex", "n"]],
    "files below each other": pd.concat([SPOKEN[:700], SPOKEN[700:].reset_index(drop=True)]),
    "columns from 0": (10 * ANSWERS).set_axis(range(3), axis=1),
    "measures": (ANSWERS / 8).set_axis([f"p{k}" for k in range(60)]),
}
