"""Wrong registers for ``mialeak table --population``; see :mod:`wrong_inputs`."""

from __future__ import annotations

import numpy as np
from wrong_inputs import Shell, csv

RNG = np.random.default_rng(20)

#: A register of three regions, and the places of samples: of one region; of all, but half of North
#: and a twentieth of the others.
NUMBERS = np.arange(3000)
REGIONS = np.array(["North", "East", "South"])[NUMBERS % 3]
AGES, SEXES = RNG.integers(20, 60, 3000), RNG.choice(["f", "m"], 3000)
REGISTER = (REGIONS, AGES, SEXES)
NAMES = ["region", "age", "sex"]
OF_NORTH = RNG.permutation(np.flatnonzero(REGIONS == "North"))[:500]
UNEVEN = np.flatnonzero(RNG.random(3000) < np.where(REGIONS == "North", 0.5, 0.05))
#: A sample, and all people but 25 of those in it, one of them in row 3.
OF_NOW = np.random.default_rng(21).permutation(3000)[:500]
NEXT = np.setdiff1d(NUMBERS, OF_NOW[3::20])
#: The jobs of each person, one to three.
JOBS = np.repeat(NUMBERS, RNG.integers(1, 4, 3000))


def rows_of(places, columns=REGISTER):
    return csv(NAMES, *(column[places] for column in columns))


REGISTER_INPUTS = [
    *(
        Shell(
            f"a sample {how}, {rule}",
            f"table t.csv --population register.csv {rule} --max-leakage 1",
            ["no simple random sample", "column 'region', which is not counted", "--strata"],
            {"t.csv": rows_of(places), "register.csv": rows_of(NUMBERS)},
            cautioned=True,
        )
        for how, places in (("of one region", OF_NORTH), ("of uneven shares", UNEVEN))
        for rule in ("--columns age,sex", "--exclude region")
    ),
    Shell(
        "the same beside a register that is counted",
        "table t.csv --population register.csv --counts n --exclude region --max-leakage 1",
        ["no simple random sample", "column 'region', which is not counted"],
        {
            "t.csv": rows_of(OF_NORTH),
            "register.csv": csv([*NAMES, "n"], *REGISTER, np.full(3000, 7)),
        },
        cautioned=True,
    ),
    Shell(
        "the register of the next year, without some of the people",
        "table t.csv --population register.csv --columns age,sex --max-leakage 1",
        [
            "25 of the 500 values of column 'person_nr' in the table, the first of them in row 3,",
            "pass the register that the table was drawn from",
        ],
        {
            "t.csv": csv(["person_nr", *NAMES], OF_NOW, *(each[OF_NOW] for each in REGISTER)),
            "register.csv": csv(["person_nr", *NAMES], NEXT, *(each[NEXT] for each in REGISTER)),
        },
        cautioned=True,
    ),
    Shell(
        "a register of jobs",
        "table t.csv --population register.csv --columns age,sex --max-leakage 1",
        ["Of the register: column 'person_nr'", "those of several rows", "Pass each person once"],
        {
            "t.csv": csv(["age", "sex"], AGES[::5], SEXES[::5]),
            "register.csv": csv(["person_nr", "age", "sex"], JOBS, AGES[JOBS], SEXES[JOBS]),
        },
        cautioned=True,
    ),
    *(
        Shell(
            f"--missing {code}, which nobody has",
            f"{command} t.csv --missing {code} --na drop",
            ["--missing must be values of the columns", f"got '{first}'", "column=value"],
            {"t.csv": csv(["age", "size"], AGES, AGES % 7)},
        )
        for command in ("table", "mean")
        for code, first in (
            ("99", "99"),
            ("98,99", "98"),
            ("size=9", "size=9"),
            ("3,size=9", "size=9"),
        )
    ),
]
