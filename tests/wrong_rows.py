"""Wrong tables of rows: samples of unequal probabilities, rows that are there several times."""

from __future__ import annotations

import numpy as np
from wrong_inputs import Shell, csv

RNG = np.random.default_rng(53)

#: A sample of 1,500 people, most of them women, and weights by sex, with a mean of 1, of bodies.
N = 1500
SEX = RNG.permutation(np.repeat(["f", "m"], [1200, 300]))
TABLE = {"region": RNG.integers(1, 17, N), "age": RNG.integers(0, 9, N), "sex": SEX}
BY_SEX = np.where(SEX == "f", 2.5, 90.0)
OF_MEAN_1 = np.exp(RNG.normal(0, 0.7, N))
OF_BODIES = 40 + RNG.integers(0, 80, N)


def written(columns):
    return csv([*columns], *columns.values())


def sample(**others):
    return {"t.csv": written({**TABLE, **others})}


ROWS = [
    *(
        Shell(
            f"unequal weights in {name!r}, {how}",
            f"table t.csv --columns {columns} --max-leakage 1",
            [f"Column {name!r} has the name of a survey weight", "rows of one stratum at a time"],
            sample(**{name: weights}),
            cautioned=True,
        )
        for name, how, weights, columns in (
            ("weight", "by strata", BY_SEX, "region,age,sex"),
            ("weight", "by strata that are left out", BY_SEX, "region,age"),
            ("weight", "of mean 1", (OF_MEAN_1 / OF_MEAN_1.mean()).round(4), "region,age,sex"),
            ("wgt_pers", "as of a frame", OF_BODIES * 10 - 390, "region,age,sex"),
        )
    ),
    Shell(
        "unequal weights beside a register without strata",
        "table t.csv --columns region,age --population r.csv",
        ["Column 'weight' has the name of a survey weight", "not each of the 6,000 people"],
        {
            **sample(weight=np.where(SEX == "f", 2.5, 10.0)),
            "r.csv": written({key: np.tile(x, 4) for key, x in TABLE.items()}),
        },
        cautioned=True,
    ),
]

ORDINARY_ROWS = [
    Shell(title, "table t.csv --columns region,age,sex", [], sample(weight=weights))
    for title, weights in (
        ("weights of bodies, without a population", OF_BODIES),
        ("weights that are nearly equal, without a population", 20 + RNG.normal(0, 2, N).round(2)),
    )
]
