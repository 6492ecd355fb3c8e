"""Wrong tables of rows: samples of unequal probabilities, persons with several rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from wrong_inputs import Call, Shell, csv

from mialeak.tables import table_leakage

RNG = np.random.default_rng(53)

#: A sample of 1,500 people, most of them women, and weights by sex, with a mean of 1, of bodies.
N = 1500
SEX = RNG.permutation(np.repeat(["f", "m"], [1200, 300]))
TABLE = {"region": RNG.integers(1, 17, N), "age": RNG.integers(0, 9, N), "sex": SEX}
BY_SEX = np.where(SEX == "f", 2.5, 90.0)
OF_MEAN_1 = np.exp(RNG.normal(0, 0.7, N))
OF_BODIES = 40 + RNG.integers(0, 80, N)


AGES = RNG.integers(0, 30, N)


def written(columns):
    return csv([*columns], *columns.values())


def sample(**others):
    return {"t.csv": written({**TABLE, **others})}


#: The people of the sample with incomes; a few times each, and in languages; pupils of classes.
PEOPLE = {**TABLE, "income": np.exp(RNG.normal(4, 0.5, N)).astype(int)}
TIMES = 1 + RNG.poisson(3, N)
MIXED = RNG.permutation(TIMES.sum())
SPEAKS = 1 + RNG.integers(0, 3, N)
CLASS = RNG.integers(0, 150, N)
PUPILS = {
    "school": CLASS // 5, "years": (7 * CLASS * CLASS) % 31, "room": (11 * CLASS) % 17,
    "sex": SEX, "born": RNG.integers(2010, 2013, N), "lunch": RNG.integers(0, 2, N),
}  # fmt: skip


#: A cross-tabulation of two columns by ages from 20, its rows in order and in another.
BY_AGE = pd.DataFrame({"age": range(20, 80), "single": RNG.poisson(9, 60),
                       "married": RNG.poisson(14, 60)})  # fmt: skip
MIXED_AGES = BY_AGE.sample(frac=1, random_state=1).reset_index(drop=True)


#: Seven years of the people, in the order of persons and mixed; the job is that of the year.
OF_YEAR = np.random.default_rng(54)
YEARS = {
    **{name: np.repeat(TABLE[name], 7) for name in ("region", "sex")},
    "job": OF_YEAR.integers(0, 9, 7 * N), "wage": OF_YEAR.integers(100, 999, 7 * N),
}  # fmt: skip
MIXED_YEARS = OF_YEAR.permutation(7 * N)


def repeated(times, order=slice(None), **others):
    columns = {name: np.repeat(values, times)[order] for name, values in PEOPLE.items()}
    return {"t.csv": written({**columns, **others})}


ROWS = [
    *(
        Shell(
            f"seven years of each person, {how}",
            f"table t.csv --columns {columns} --max-leakage 1",
            ["column 'region', 'sex' is there 7 times", "as if each person had 7 rows"],
            {"t.csv": written({name: values[order] for name, values in YEARS.items()})},
            cautioned=True,
        )
        for how, columns, order in (
            ("whose job changes", "region,sex,job", slice(None)),
            ("in mixed order", "sex,job", MIXED_YEARS),
        )
    ),
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
            ("wt", "more different than bodies", (1.3 * OF_MEAN_1**2).round(4), "region,age"),
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
    *(
        Shell(
            f"persons repeated by their weights, in random order, by {columns}",
            f"table t.csv --columns {columns} --max-leakage 1",
            ["rows equal no other row", "as by survey weights or by a merge"],
            repeated(TIMES, MIXED),
            cautioned=True,
        )
        for columns in ("region,age", "region,age,sex,income")
    ),
    *(
        Shell(
            f"several rows of a person for languages, {how}",
            "table t.csv --columns region,language --max-leakage 1",
            ["Without column 'language' only", "with different values of 'language', as explode"],
            repeated(
                SPEAKS, order, language=np.array([f"l{j}" for k in SPEAKS for j in range(k)])[order]
            ),
            cautioned=True,
        )
        for how, order in (
            ("one after another", slice(None)),
            ("in random order", RNG.permutation(SPEAKS.sum())),
        )
    ),
]
ROWS += [
    Shell(
        f"a second count in a table of {rows.count(' ') + 1} rows, {how}",
        f"table t.csv --counts {columns.split(',')[1]}",
        [f"Column '{columns.split(',')[2]}' holds numbers", "If these are counts too"],
        {"t.csv": "\n".join([columns, *rows.split()])},
        cautioned=True,
    )
    for columns, how, rows in (
        ("group,carriers,noncarriers", "of groups of one size", "case,31,969 control,20,980"),
        ("group,carriers,noncarriers", "of other groups", "case,31,969 control,20,1480"),
        ("county,positive,negative", "of groups of one size", "A,30,970 B,20,980 C,12,988 D,4,996"),
    )
]
ROWS += [
    Shell(
        f"a target that nothing is computed for, {option}",
        f"table t.csv --columns region,age,sex --target 0.1 {option.removesuffix('N')} {more}",
        [f"--target is not available with {option}", "Leave it out, and try several --n"],
        {
            "t.csv": written({**TABLE, "id": np.arange(N) // 2}),
            "r.csv": written({key: np.tile(x, 4) for key, x in TABLE.items()}),
        },
    )
    for option, more in (
        ("--population N", "9000"),
        ("--strata", "sex --population r.csv"),
        ("--person", "id"),
    )
]
ROWS.append(
    Shell(
        "strata of two columns",
        "table t.csv --strata region,sex --population r.csv",
        ["--strata must name one of the columns", "Make one column of several"],
        {"t.csv": written(TABLE), "r.csv": written({k: np.tile(x, 4) for k, x in TABLE.items()})},
    )
)
ROWS.append(
    Shell(
        "a mark of missing values that is the age of others",
        "table t.csv --missing 9 --na drop --max-leakage 1",
        ["Column 'age' has all numbers beside 9 but not 9", "--missing sex=9"],
        {"t.csv": written({"age": AGES, "sex": RNG.choice([*"129"], N, p=[0.5, 0.49, 0.01])})},
        cautioned=True,
    )
)

ROW_CALLS = [
    Call(f"a cross-tabulation, {how}", call, ["as in a cross-tabulation", *says], cautioned=True)
    for how, call, says in (
        ("in another order", lambda: table_leakage(MIXED_AGES), ["no two rows agree in 'age'"]),
        (
            "without its labels, in another order",
            lambda: table_leakage(MIXED_AGES, exclude=["age"]),
            ["column 'age', which is left out, labels rows"],
        ),
        (
            "without its labels",
            lambda: table_leakage(BY_AGE, exclude=["age"]),
            ["column 'age', which is left out, labels rows 20, 21"],
        ),
    )
]

ORDINARY_ROWS = [
    Shell("measures of persons with numbers", "table t.csv --exclude patient_nr", [],
          {"t.csv": MIXED_AGES.rename(columns={"age": "patient_nr"}).to_csv(index=False)}),
    Shell("a mark of missing values of one column", "table t.csv --missing sex=9 --na drop", [],
          {"t.csv": written({"age": AGES, "sex": RNG.choice([*"129"], N, p=[0.5, 0.49, 0.01])})}),
    Shell("codes of municipalities that rise", "table t.csv --counts n", [],
          {"t.csv": "code,town,n\n101,Aby,970\n147,Bro,980\n151,Cul,912\n153,Dal,704\n"}),
    *(
        Shell(title, "table t.csv --columns region,age,sex", [], sample(weight=weights))
        for title, weights in (
            ("weights of bodies, without a population", OF_BODIES),
            ("weights that are nearly equal, and no population", 20 + RNG.normal(0, 2, N).round(2)),
        )
    ),
    Shell("the same people once", "table t.csv --columns region,age", [], repeated(1)),
    Shell("more people in a coarse table", "table t.csv", [], {"t.csv": written({
        "region": RNG.integers(1, 17, 9000), "age": RNG.integers(0, 9, 9000),
        "sex": RNG.choice([*"fm"], 9000), "kind": RNG.choice([*"abcd"], 9000),
    })}),
    Shell("pupils of classes", "table t.csv", [], {"t.csv": written(PUPILS)}),
    Shell("indicators of a value", "table t.csv", [], {"t.csv": written({
        **{f"region is {k}": 1 * (TABLE["region"] == k) for k in range(1, 16)},
        **{f"age is {k}": 1 * (TABLE["age"] == k) for k in range(8)}, "sex": SEX,
    })}),
]  # fmt: skip
