"""Wrong inputs for ``mialeak table`` that only their numbers betray; see :mod:`wrong_inputs`."""

from __future__ import annotations

import numpy as np
from wrong_inputs import Shell, csv
from wrong_tables import AGES, COUNTED, PEOPLE, SEXES

RNG = np.random.default_rng(9)

#: Counts of 3 x 5 x 4 cells, by columns whose names say nothing.
CUBE = [(a, b, c) for a in "pqr" for b in "klmno" for c in "wxyz"]
CUBED = RNG.integers(1, 90, 60).tolist()
BY_SEX = [count % 37 + 1 for count in CUBED]


def cube(counts, *more, name="stk", names=()):
    return csv(["a", "b", "c", name, *names], *zip(*CUBE, strict=True), counts, *more)


#: The same summed over b, which its name does not say.
SUMMED = {(a, c): sum(n for k, n in zip(CUBE, CUBED, strict=True) if k[::2] == (a, c))
          for a in "pqr" for c in "wxyz"}  # fmt: skip
TOTALS = cube(CUBED) + "".join(f"{a},Danmark,{c},{n}\n" for (a, c), n in SUMMED.items())
PARTLY = {(a, c): sum(n for k, n in zip(CUBE, CUBED, strict=True) if (*k[::2], k[1] in "lmn") ==
          (a, c, True)) for a in "pqr" for c in "wxyz"}  # fmt: skip


def margin(names):
    """The cube summed over all columns but these, "=" for the others."""
    sums = {}
    for cell, count in zip(CUBE, CUBED, strict=True):
        key = tuple(each if name in names else "=" for name, each in zip("abc", cell, strict=True))
        sums[key] = sums.get(key, 0) + count
    return "".join(f"{a},{b},{c},{count}\n" for (a, b, c), count in sums.items())


#: Single years, and the sums of each ten.
YOUNG = RNG.integers(200, 900, 20).tolist()
DECADES = [sum(YOUNG[:10]), sum(YOUNG[10:])]
#: Codes "1" and "2", and their parts, in the order of their counts.
PREFIXES = sorted(
    [(f"{1 + k % 2}{k:02d}", count) for k, count in enumerate(YOUNG)]
    + [("1", sum(YOUNG[::2])), ("2", sum(YOUNG[1::2]))],
    key=lambda cell: -cell[1],
)
RELATED = ["wife" if sex == "Female" else "husband" for sex in SEXES]

#: The women of `PEOPLE`.
WOMEN = "".join(line for line in PEOPLE.splitlines(True) if "Male" not in line)

#: Two years of a table of counts.
YEARS = csv(["year", "sex", "n"], [2019, 2019, 2020, 2020], list("fmfm"), [110, 98, 115, 101])

#: Counts without those below 5.
LARGE = [5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 9, 9, 12, 14, 17, 19, 23, 30, 41, 67, 90, 130, 201, 577]

#: A sample by four categories, another of the same law, and one of a part of the population.
DRAWN = [csv(["age", "sex", "town"], RNG.integers(20, 70, rows), RNG.choice(list("fm"), rows),
             RNG.choice(towns, rows)) for rows, towns in ((600, list("NSEW")), (900, list("NSEW")),
                                                          (600, list("N")))]  # fmt: skip
SAMPLE, OTHER, NORTH = DRAWN

#: Visits of 80 persons, and the same with one number for all who are not known.
VISITS = [k // 3 for k in range(240)]
UNKNOWN = [900 if k % 6 == 0 else person for k, person in enumerate(VISITS)]
WARDS = RNG.choice(list("ABCDE"), 240)

#: By sex and town in codes, of which 0 is that of both sexes, and of the town that comes first.
CODED = RNG.integers(20, 900, (2, 12))
CODES = csv(["sex", "town", "n"], [k // 12 for k in range(36)], [k % 12 for k in range(36)],
            [*CODED.sum(axis=0), *CODED.ravel()])  # fmt: skip

#: Each of the counts by sex and town, and those of both sexes, with noise of its own.
NOISE = RNG.integers(-2, 3, (3, 12))
NOISY = csv(["sex", "town", "flag", "n"], [k // 12 for k in range(36)], [k % 12 for k in range(36)],
            ["pe"[k % 5 == 0] for k in range(36)],
            [*(CODED.sum(axis=0) + NOISE[0]), *(CODED + NOISE[1:]).ravel()])  # fmt: skip

COUNTS = [
    *(
        Shell(
            f"cumulative age classes, as {classes[0]!r}",
            "table t.csv --counts n --max-leakage 1",
            ["The classes of column 'age' are parts of one another", "the differences"],
            {
                "t.csv": csv(
                    ["age", "sex", "n"],
                    [age for age in classes for _ in "fm"],
                    "fm" * 4,
                    [31, 25, 88, 71, 140, 133, 201, 187][::step],
                )
            },
            cautioned=True,
        )
        for classes, step in (
            (["<20", "<40", "<60", "all ages known"], 1),
            (["up to 20", "up to 40", "up to 60", "up to 80"], 1),
            (["18+", "40+", "65+", "80+"], -1),
        )
    ),
    Shell(
        "counts in thousands",
        "table t.csv --counts n",
        ["All counts are multiples of 1,000", "counts of persons if these are thousands"],
        {"t.csv": cube([1000 * count for count in CUBED], name="n")},
        cautioned=True,
    ),
    Shell(
        "counts in thousands, by name",
        "table t.csv --counts n_1000",
        ["--counts must be the column of counts"],
        {"t.csv": cube(CUBED, name="n_1000")},
    ),
    Shell(
        "counts in thousands, with a decimal",
        "table t.csv --counts n",
        ["row 0 holds '31.1'", "or one of thousands", "write whole persons"],
        {"t.csv": cube([31.1, *CUBED[1:]], name="n")},
    ),
    Shell(
        "a survey weight that is called weight",
        "table t.csv",
        ["'weight' has the name of a survey weight", "--exclude weight"],
        {"t.csv": csv(["age", "weight"], AGES, RNG.integers(10**4, 10**6, 200))},
        cautioned=True,
    ),
    Shell(
        "the survey weight for the count, which a limit would pass",
        "table t.csv --counts weight --max-leakage 0.5",
        ["--counts must be the column of counts", "not that of survey weights", "--exclude weight"],
        {"t.csv": csv(["sex", "weight"], SEXES, RNG.integers(10**4, 10**6, 200))},
    ),
    Shell(
        "another number of persons for the count",
        "table t.csv --counts visits",
        ["200 rows of the table of counts are", "cells", "leave out --counts"],
        {"t.csv": PEOPLE.replace("hours", "visits")},
        cautioned=True,
    ),
    Shell(
        "a table of counts whose column of counts has a name of its own",
        "table t.csv",
        ["No two rows agree in 'a', 'b', 'c'", "already counted", "--counts stk"],
        {"t.csv": cube(CUBED)},
        cautioned=True,
    ),
    Shell(
        "a cross-tabulation of three columns",
        "table t.csv",
        ["No two rows agree", "If 'm', 'f' hold their counts", "melt", "--counts n"],
        {"t.csv": cube(CUBED, BY_SEX, name="m", names=["f"])},
        cautioned=True,
    ),
    Shell(
        "one of its columns for the count",
        "table t.csv --counts m",
        ["Column 'f' holds numbers, without which the cells", "melt"],
        {"t.csv": cube(CUBED, BY_SEX, name="m", names=["f"])},
        cautioned=True,
    ),
    Shell(
        "totals that no word names",
        "table t.csv --counts stk",
        ["column 'b' must hold no totals", "'Danmark' are the sums of others", "Leave out"],
        {"t.csv": TOTALS},
    ),
    Shell(
        "one total that no word names",
        "table t.csv --counts stk",
        ["counts of 'Danmark' in column 'sex'", "If these are totals, leave out their rows"],
        {"t.csv": "sex,stk\nf,410\nm,395\nDanmark,805\n"},
        cautioned=True,
    ),
    Shell(
        "the same, of missing values, as ROLLUP writes them",
        "table t.csv --counts stk --na category",
        ["column 'b' must hold no totals; the counts of rows without a value", "--na drop"],
        {"t.csv": TOTALS.replace("Danmark", "")},
    ),
    Shell(
        "totals that do not quite add up, as with noise",
        "table t.csv --counts stk",
        ["column 'b' must hold no totals", "'Danmark' are the sums of others"],
        {
            "t.csv": cube([count + k % 2 for k, count in enumerate(CUBED)])
            + TOTALS[TOTALS.index("p,Danmark") :]
        },
    ),
    *(
        Shell(
            f"a table of counts as persons, with {how}",
            f"table counts.csv {how}",
            ["looks like a table of counts: column 'n'", "Pass --counts n"],
            {"counts.csv": COUNTED},
        )
        for how in ("--columns age,sex", "--exclude n", "--columns sex", "--margins age,sex")
    ),
    *(
        Shell(
            f"a table of counts as {name}, of which one column is counted",
            f"table t.csv --columns sex --{name} counts.csv",
            [f"--{name} must have one row a person", "column 'n'", "Pass --counts n"],
            {"t.csv": "sex\nMale\nFemale\nMale\n", "counts.csv": COUNTED},
        )
        for name in ("population", "panel")
    ),
    Shell(
        "a column of a few cells, whose counts are left out",
        "table counts.csv --columns sex --max-leakage 1",
        ["Column 'n', which is left out, has the name of a count", "pass --counts n"],
        {"counts.csv": COUNTED.replace("30-44,Male,3\n", "")},
        cautioned=True,
    ),
    *(
        Shell(
            f"one column of cells whose counts have an unknown name, by {how}",
            f"table t.csv {how} --max-leakage 1",
            ["No two rows agree in", "If 'stk' holds their counts, pass --counts stk"],
            {"t.csv": cube(CUBED)},
            cautioned=True,
        )
        for how in ("--columns a", "--columns b,c", "--exclude stk")
    ),
    Shell(
        "one column of a cross-tabulation of two",
        "table t.csv --columns a --max-leakage 1",
        ["No two rows agree in 'a', 'b', 'c'", "If 'f', 'm' hold their counts"],
        {"t.csv": cube(CUBED, BY_SEX, name="f", names=["m"])},
        cautioned=True,
    ),
    *(
        Shell(
            f"the total {word}",
            "table t.csv --counts n",
            ["column 'sex' must hold no totals", f"row 2 holds {word!r}"],
            {"t.csv": csv(["sex", "n"], ["f", "m", word], [31, 9, 41])},
        )
        for word in (
            "Zusammen",
            "Gesamtergebnis",
            "Total g\u00e9n\u00e9ral",
            "Celkem",
            "_T",
            "(all)",
        )
    ),
    Shell(
        "a total of two at the end",
        "table t.csv --counts n",
        ["The counts of 'Both' in column 'sex' are the sums of others"],
        {"t.csv": csv(["sex", "n"], ["f", "m", "Both"], [31, 9, 40])},
        cautioned=True,
    ),
    *(
        Shell(
            f"a table beside its own margins, {how}, as {word}",
            "table t.csv --counts stk",
            ["must hold no totals", f"the counts of {word!r} are the sums of others"],
            {"t.csv": cube(CUBED) + text.replace("=", word)},
        )
        for word in ("=", "hele")
        for how, text in (("of two columns", margin("ac") + margin("bc")), ("of one", margin("b")))
    ),
    Shell(
        "codes and the codes that these begin with, the largest first",
        "table t.csv --counts n",
        ["The counts of '1', '2' in column 'code' are the sums of others"],
        {"t.csv": csv(["code", "n"], *zip(*PREFIXES, strict=True))},
        cautioned=True,
    ),
    Shell(
        "single years and bands of them",
        "table t.csv --counts n",
        ["column 'age' must hold no totals", "the counts of '20-29', '30-39' are the sums"],
        {
            "t.csv": csv(
                ["sex", "age", "n"],
                [*"f" * 22, *"m" * 22],
                2 * [*range(20, 40), "20-29", "30-39"],
                [*YOUNG, *DECADES, *YOUNG[::-1], *DECADES[::-1]],
            )
        },
    ),
    Shell(
        "the same, with noise of its own",
        "table t.csv --counts n",
        ["The class '20-29' of column 'age' holds others, such as '20'"],
        {"t.csv": csv(["age", "n"], [*range(20, 40), "20-29"], [*YOUNG, DECADES[0] + 9])},
        cautioned=True,
    ),
    Shell(
        "totals of a part of the others",
        "table t.csv --counts stk",
        ["column 'b' must hold no totals", "the counts of 'Øst' are the sums of others"],
        {"t.csv": cube(CUBED) + "".join(f"{a},Øst,{c},{n}\n" for (a, c), n in PARTLY.items())},
    ),
    Shell(
        "one-way tables below each other",
        "table t.csv --counts n",
        ["each value of column 'of' sum to 200", "--margins A,B"],
        {"t.csv": csv(["of", "is", "n"], [*"aabbb"], [*"uvxyz"], [120, 80, 51, 48, 101])},
        cautioned=True,
    ),
    Shell(
        "several rows a person, one for each property",
        "table t.csv",
        ["each value of column 'what' sum to 200", "--margins A,B"],
        {
            "t.csv": csv(
                ["what", "is"],
                ["age", "sex"] * 200,
                [x for p in zip(AGES, SEXES, strict=True) for x in p],
            )
        },
        cautioned=True,
    ),
    Shell(
        "counts rounded to 5, in which no row is alone",
        "table t.csv --counts stk",
        ["All counts are multiples of 5", "pass the counts before rounding"],
        {"t.csv": cube([5 * round(count / 5) for count in CUBED])},
        cautioned=True,
    ),
    Shell(
        "a table without its small cells",
        "table t.csv --counts n",
        ["No count is between 1 and 4, and 12 are between 5 and 9", "left out"],
        {"t.csv": csv(["cell", "n"], range(24), LARGE)},
        cautioned=True,
    ),
    Shell(
        "the same file twice, in which no row is alone",
        "table t.csv",
        ["Each combination of values is there 2 times", "Pass each person once"],
        {"t.csv": PEOPLE + PEOPLE.partition("\n")[2]},
        cautioned=True,
    ),
    Shell(
        "columns called independent that are not",
        "table t.csv --margins sex,role --independent",
        ["depend on each other, 'sex' on 'role'", "leave out --independent"],
        {"t.csv": csv(["sex", "role"], SEXES, RELATED)},
        cautioned=True,
    ),
    Shell(
        "a margin by the counts",
        "table counts.csv --counts n --margins age,n",
        ["--margins must name categories", "'n'"],
        {"counts.csv": COUNTED},
    ),
    Shell(
        "the same with the columns chosen",
        "table counts.csv --counts n --columns age,n --margins age,n",
        ["--margins must name categories", "'n'"],
        {"counts.csv": COUNTED},
    ),
    Shell(
        "a table of women beside a register of all",
        "table women.csv --population register.csv --max-leakage 1",
        ["no simple random sample of the register", "column 'sex'", "pass --strata, the column"],
        {"women.csv": WOMEN, "register.csv": PEOPLE},
        cautioned=True,
    ),
    Shell(
        "a register that lacks somebody, whose values are personal data",
        "table t.csv --population register.csv",
        ["--population must have at least as many people", "in that of row 0 of the table"],
        {"t.csv": "age,sex\n99,Female\n", "register.csv": csv(["age", "sex"], AGES, SEXES)},
    ),
    Shell(
        "one category in capitals and in small letters",
        "table t.csv",
        ["differ in capitals", "in column 'sex' (rows 0, 5 for 'sex')"],
        {"t.csv": csv(["sex"], ["Male", "Female"] * 2 + ["Male", "male"] + ["female"] * 9)},
        cautioned=True,
    ),
    Shell(
        "numbers of districts that lost their zeros",
        "table t.csv --counts n",
        ["leading zeros", "in column 'district' (rows 0, 3 for 'district')"],
        {"t.csv": csv(["district", "n"], ["01", "02", "10", "1"], [7, 31, 22, 4])},
        cautioned=True,
    ),
    *(
        Shell(
            f"shares, means or amounts for the count, in column {name!r}",
            f"table t.csv --counts {name}",
            ["--counts must be the column of counts", "not that of shares, means or amounts"],
            {"t.csv": csv(["sex", name], ["f", "m"], [52, 48])},
        )
        for name in ("pct", "Share_of_sex", "%", "mean_age", "Turnover_EUR", "PY", "Personenjahre")
    ),
    Shell(
        "a column of flags, most of them empty, with the rows without one dropped",
        "table t.csv --counts n --na drop --max-leakage 1",
        ["152 of 210 persons are dropped", "in column 'flag'", "--exclude flag"],
        {"t.csv": csv(["sex", "flag", "n"], ["f", "m", "x"], ["", "e", ""], [112, 58, 40])},
        cautioned=True,
    ),
    Shell(
        "two years of a table of counts, of which the column is left out",
        "table t.csv --counts n --exclude year",
        ["The table has rows of different values of column 'year'", "keep the rows of one value"],
        {"t.csv": YEARS},
        cautioned=True,
    ),
    Shell(
        "a register of two years",
        "table t.csv --counts n --population years.csv",
        ["The register has rows of different values of column 'year'"],
        {"t.csv": "sex,n\nf,11\nm,12\n", "years.csv": YEARS},
        cautioned=True,
    ),
    *(
        Shell(
            f"as the panel {title}",
            "table t.csv --panel panel.csv --max-leakage 1",
            says,
            {"t.csv": SAMPLE, "panel.csv": panel},
            cautioned=True,
        )
        for title, says, panel in (
            ("a part of the population", ["shares differ in column 'town'"], NORTH),
            ("other codes", ["shares differ in column 'sex'"], OTHER.replace(",f,", ",2,")),
            ("the table itself", ["has the same counts as the table"], SAMPLE),
            (
                "another sample twice",
                ["a multiple of 2 rows", "Pass each row once"],
                OTHER + OTHER.partition("\n")[2],
            ),
            (
                "the register",
                ["no cell with fewer rows", "pass it as --population"],
                SAMPLE + OTHER.partition("\n")[2],
            ),
        )
    ),
    *(
        Shell(
            f"visits, of whose persons nothing is said, {how}",
            f"table t.csv {how} --max-leakage 1",
            ["Column 'pid'", "those of several rows", "pass --person pid"],
            {"t.csv": csv(["pid", "ward"], VISITS, WARDS)},
            cautioned=True,
        )
        for how in ("--columns ward", "--exclude pid", "--exclude ward")
    ),
    *(
        Shell(
            f"visits of persons who are not known, as {value!r}",
            "table t.csv --person pid --max-leakage 1",
            ["One person by column 'pid' has 4", "rows, the first 0", "stand for all"],
            {"t.csv": csv(["pid", "ward"], [value if x == 900 else x for x in UNKNOWN], WARDS)},
            cautioned=True,
        )
        for value in (900, 999, "?", 0)
    ),
    Shell(
        "totals in a column that is left out",
        "table t.csv --counts stk --columns a,c",
        ["column 'b' must hold no totals", "'Danmark' are the sums", "--total b=Danmark"],
        {"t.csv": TOTALS},
    ),
    Shell(
        "the same in the register",
        "table t.csv --counts stk --population register.csv",
        ["column 'b' must hold no totals"],
        {"t.csv": "a,c,stk\np,w,3\nq,x,2\n", "register.csv": TOTALS},
    ),
    Shell(
        "totals named by a code that another column has for a category",
        "table t.csv --counts n --total 0",
        ["--total must name the column", "'sex', 'town'", "Pass 'sex=0'"],
        {"t.csv": CODES},
    ),
    *(
        Shell(
            f"totals with noise, beside a column of flags, {how}",
            f"table t.csv --counts n {how}",
            ["column 'sex' must hold no totals", "'0' are the sums of others", "--total sex=0"],
            {"t.csv": NOISY},
        )
        for how in ("--exclude flag", "--columns town", "--columns sex,town")
    ),
    Shell(
        "thousands with a decimal comma",
        "table t.csv --counts n --delimiter ;",
        ["row 0 holds '0,5'", "one of thousands"],
        {"t.csv": "sex;n\nf;0,5\nm;1,2\n"},
    ),
]
