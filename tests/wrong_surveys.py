"""More wrong inputs of a statistical office: cross-tabulations, totals, samples by strata."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
from wrong_inputs import Call, Shell, csv

from mialeak.tables import table_leakage

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
        ["column 1 is called ''", "if it labels the rows of a cross-tabulation, name it"],
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
]

#: Answers of persons, whole numbers all.
ANSWERS = pd.DataFrame(RNG.integers(1, 6, (60, 3)), columns=["q1", "q2", "q3"])
ORDINARY_SURVEYS = [
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
    "columns from 0": (10 * ANSWERS).set_axis(range(3), axis=1),
    "measures": (ANSWERS / 8).set_axis([f"p{k}" for k in range(60)]),
}
