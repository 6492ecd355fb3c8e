"""Wrong inputs for ``mialeak table`` whose rows count the same persons several times.

No word of a known language marks them: only sums, and how alike tables are, betray them.
"""

from __future__ import annotations

import numpy as np
from wrong_inputs import Call, Shell, csv

from mialeak.tables import table_leakage

RNG = np.random.default_rng(23)

#: Counts by 3 x 9 x 6 values.
FIRST, PLACES, LAST = "pqr", [f"w{k}" for k in RNG.permutation(40)[:9]], "uvwxyz"
CELLS = [(a, b, c) for a in FIRST for b in PLACES for c in LAST]
COUNTED = RNG.integers(1, 90, len(CELLS)).tolist()


def shuffled(cells):
    """The cells, of a name and a count each, in random order."""
    order = RNG.permutation(len(cells))
    return csv(["a", "b", "c", "stk"], *zip(*(cells[k] for k in order), strict=True))


def summed(by, word, of=lambda cell: True):
    """The cells `of` the cube summed over the columns that `by` lacks, with these words there."""
    sums = {}
    for cell, count in zip(CELLS, COUNTED, strict=True):
        if of(cell):
            key = tuple(
                value if name in by else word[name] for name, value in zip("abc", cell, strict=True)
            )
            sums[key] = sums.get(key, 0) + count
    return [(*key, count) for key, count in sums.items()]


DETAIL = [(*cell, count) for cell, count in zip(CELLS, COUNTED, strict=True)]
#: Two sums of parts of the places, by other words, that do not stand together.
PARTS = [
    each
    for word, part in (("Harz", PLACES[::2]), ("N5", PLACES[1:6:2]))
    for each in summed("ac", {"b": word}, lambda cell, part=part: cell[1] in part)
]

#: Of 40 places the counts of 60 jobs, the sums of three parts of the places, and of two of these.
MANY = RNG.poisson(RNG.gamma(1.0, 30.0, (40, 1)) * np.ones((1, 60))) + 1
GROUPS = np.split(RNG.permutation(40), [13, 30])
SUMS = [MANY[part].sum(axis=0) for part in GROUPS]
LARGE = np.vstack([MANY, *SUMS, SUMS[0] + SUMS[1]])
ORDER = RNG.permutation(LARGE.size)
LONG = csv(
    ["place", "job", "stk"],
    *(x[ORDER] for x in (*(place.ravel() for place in np.indices(LARGE.shape)), LARGE.ravel())),
)

WORDS = {"a": "beide", "b": "Bund", "c": "99"}

#: 900 people, and the same in four years, of whom a tenth move each year and all grow older.
PEOPLE = {"age": RNG.integers(16, 60, 900), "sex": RNG.choice(list("fm"), 900),
          "town": RNG.choice(list("NSEW"), 900, p=[0.4, 0.3, 0.2, 0.1]),
          "job": RNG.integers(5, size=900)}  # fmt: skip


#: The first 600 of them, and the last 450; and five times all, with a tenth of the jobs imputed.
OVERLAPPING = np.r_[0:600, 450:900]
_JOBS = np.where(np.arange(900) % 10, np.tile(PEOPLE["job"], (5, 1)),
                 np.random.default_rng(31).integers(5, size=(5, 900)))  # fmt: skip
IMPUTED = [np.repeat(np.arange(1, 6), 900), *(np.tile(v, 5) for v in list(PEOPLE.values())[:3]),
           _JOBS.ravel()]  # fmt: skip


def asked_again(name, years):
    table = {key: [] for key in (*PEOPLE, name)}
    town = PEOPLE["town"].copy()
    for year in range(years):
        moved = RNG.random(900) < 0.1
        town[moved] = RNG.choice(list("NSEW"), moved.sum(), p=[0.4, 0.3, 0.2, 0.1])
        for key, values in PEOPLE.items():
            now = values + year if key == "age" else town if key == "town" else values
            table[key] += now.tolist()
        table[name] += [2018 + year] * 900
    return table


def counted(table):
    cells = {}
    for row in zip(*table.values(), strict=True):
        cells[row] = cells.get(row, 0) + 1
    return csv([*table, "stk"], *zip(*cells, strict=True), cells.values())


#: Shares of each of three towns, in per cent.
SHARED = [41.44, 22.64, 20.31, 15.61, 33.33, 33.33, 21.73, 11.61, 60.24, 20.43, 9.82, 9.51]


#: The household of each person.
HOMES = np.repeat(np.arange(200), RNG.integers(1, 5, 200))


def cells_of_large(columns):
    """More cells than are looked at in full, with counts under a name that is none."""
    place = RNG.permutation(400 * 400)[:140_000]
    table = {"a": place % 400, "b": place // 400, "stk": RNG.poisson(3.0, place.size)}
    return table_leakage(table, columns)


#: A file of 3,600 persons, three times.
JOINED = 3 * csv([*PEOPLE], *(each.tolist() * 4 for each in PEOPLE.values()))

LAYOUTS = [
    *(
        Shell(
            f"files that were joined with their lines of names, for {command}",
            f"{command} t.csv --max-leakage 0.99",
            ["Row 3,600, 7,201 repeats the names of the columns", "nobody is in two files"],
            {"t.csv": JOINED},
            cautioned=True,
        )
        for command in ("table", "mean")
    ),
    Shell(
        "sums of parts of the others, in random order",
        "table t.csv --counts stk",
        ["column 'b' must hold no totals", "'Harz'", "'N5'", "are the sums of others"],
        {"t.csv": shuffled(DETAIL + PARTS)},
    ),
    Shell(
        "sums of parts of many others, and of these sums",
        "table t.csv --counts stk",
        ["column 'place' must hold no totals", "are the sums of others"],
        {"t.csv": LONG},
    ),
    *(
        Shell(
            f"tables below each other, by {' and '.join(tables)}, with a word of each column",
            "table t.csv --counts stk --max-leakage 1",
            [
                f"{len(tables)} tables of {sum(COUNTED):,} persons each",
                "with 'beide', 'Bund', '99'",
                "--margins A,B",
            ],
            {"t.csv": shuffled([cell for by in tables for cell in summed(by, WORDS)])},
            cautioned=True,
        )
        for tables in (("a", "b", "c"), ("ab", "ac", "bc"), ("a", "bc"))
    ),
    *(
        Shell(
            f"the same by {' and '.join(tables)}, rounded to multiples of 3",
            "table t.csv --counts stk --max-leakage 1",
            [f"{len(tables)} tables of", "with 'beide', 'Bund', '99'", "--margins A,B"],
            {"t.csv": shuffled([(*key, 3 * round(count / 3)) for by in tables
                                for *key, count in summed(by, WORDS) if count > 1])},
            cautioned=True,
        )
        for tables in (("a", "b", "c"), ("ab", "ac", "bc"))
    ),
    *(
        Shell(
            f"the same people in several years, {how}",
            f"table t.csv {how} --max-leakage 1",
            [f"values of column {name!r} are too alike", "--person ID"],
            {"t.csv": text},
            cautioned=True,
        )
        for how, name, text in (
            ("--exclude x", "year", csv([*PEOPLE, "year", "x"], *asked_again("year", 4).values(),
                                        [1] * 3600)),
            ("--counts stk", "Welle", counted(asked_again("Welle", 3))),
        )
    ),
]  # fmt: skip

HOMES = np.repeat(np.arange(300), RNG.integers(1, 5, 300))
LAYOUTS += [
    *(
        Shell(
            f"persons of households, with the number of each in {name!r}",
            "table t.csv --max-leakage 1",
            [f"Column {name!r} has the name of an identifier", f"--person {name}"],
            {"t.csv": csv([name, "age"], HOMES, RNG.integers(0, 90, HOMES.size))},
            cautioned=True,
        )
        for name in ("hhnr", "Haushaltsnummer")
    ),
    Shell(
        "an export of a survey, with two lines of questions below that of the names",
        "table t.csv",
        ["Rows 0 and 1, the first, seem to be no persons"],
        {
            "t.csv": csv(
                ["Q1", "Q2"],
                ["What is your sex?", '"{""ImportId"":""QID1""}"', *RNG.integers(1, 3, 90)],
                ["How old are you?", '"{""ImportId"":""QID2""}"', *RNG.integers(1, 7, 90)],
            )
        },
        cautioned=True,
    ),
    Shell(
        "counts of thousands with a point between, in German",
        "table t.csv --counts n --delimiter ;",
        ["All counts end in '.000'", "thousands"],
        {"t.csv": csv(["sex", "town", "n"], "mwmw", "KKBB", ["22.000", "31.000", "7.000", "9.000"],
                      comma=";")},
        cautioned=True,
    ),
    *(
        Shell(
            f"shares of {whole} by town, as whole numbers",
            "table t.csv --counts stk",
            [f"each value of 'town' sum to {whole:,}", f"shares in {unit}", "counts of persons"],
            {"t.csv": csv(["town", "job", "stk"], [*"NNNNSSSSEEEE"], [*"abcd" * 3],
                          [round(whole / 100 * share) for share in SHARED])},
            cautioned=True,
        )
        for whole, unit in ((100, "per cent"), (1000, "per mille"))
    ),
    *(
        Shell(
            f"Unicode text of Excel, {how}",
            f"table {name}",
            ["must be UTF-8; it holds UTF-16 text", "Convert it (iconv -f UTF-16 -t UTF-8)"],
            {name.split()[0]: csv(PEOPLE, *PEOPLE.values(), comma="\t").encode("utf-16")},
        )
        for how, name in (("whose format is named", "t.txt --format tsv"), ("as .csv", "t.csv"))
    ),
    Shell(
        "a measurement among the categories, which nearly every row has for itself",
        "table t.csv",
        ["Column 'f17' holds numbers with decimals that few persons share", "--exclude f17"],
        {"t.csv": csv([*PEOPLE, "f17"], *PEOPLE.values(), RNG.gamma(20, 0.5, 900).round(2))},
        cautioned=True,
    ),
    Shell(
        "expansion factors, which are whole numbers",
        "table t.csv",
        ["Column 'Faktor' has the name of a survey weight", "--exclude Faktor"],
        {"t.csv": csv([*PEOPLE, "Faktor"], *PEOPLE.values(), RNG.integers(5, 15, 900))},
        cautioned=True,
    ),
    Shell(
        "households under an unknown name",
        "table t.csv",
        ["Rows of one value of column 'dwelling' agree in column 'rooms'", "--exclude dwelling"],
        {"t.csv": csv(["dwelling", "rooms", "sex"], HOMES, (HOMES * 7 + HOMES // 5) % 5 + 1,
                      RNG.choice(list("fm"), HOMES.size))},
        cautioned=True,
    ),
    Shell(
        "means of three regions",
        "mean t.csv",
        ["The table has 3 rows", "If its rows are groups with means of their own"],
        {"t.csv": csv(["region", "income"], [*"NSE"], [31_020, 28_114, 30_977])},
        cautioned=True,
    ),
]  # fmt: skip

#: Counts of overlapping classes, the second of which holds the first, in four towns.
WHOLE = RNG.integers(400, 900, 4)
PART = WHOLE - RNG.integers(100, 300, 4)
#: Some parts of two branches.
BRANCHES = {"C": 810, "C10": 120, "C11": 44, "C13": 65, "F": 400, "F41": 99, "F43": 201}
#: The population of 3 x 16 cells, and those employed.
PEOPLED = RNG.integers(40, 90, 48)
STOCK = [PEOPLED + RNG.integers(-3, 4, 48) for _ in range(3)]

LAYOUTS += [
    *(
        Shell(
            f"{one!r} beside {other!r}",
            "table t.csv --counts n --max-leakage 1",
            [repr(one), repr(other), "of column 'age' overlap", "share nobody"],
            {"t.csv": csv(["age", "town", "n"], [a for a in (other, one, third) for _ in "NSEW"],
                          [*"NSEW"] * 3, [*WHOLE, *PART, *(WHOLE[::-1] // 3 + 7)])},
            cautioned=True,
        )
        for other, one, third in (
            ("65+", "75+", "18-64"),
            ("Y20-64", "Y15-24", "Y_GE65"),
            ("15 til 29 år", "15 til 24 år", "30 til 99 år"),
            ("65 und mehr", "75 und mehr", "18 bis 64"),
        )
    ),
    Shell(
        "codes of branches beside some of their parts",
        "table t.csv --counts n --max-leakage 1",
        ["The code 'C10' of column 'nace' seems to be a part of 'C'", "codes of one level"],
        {"t.csv": csv(["nace", "sex", "n"], [code for code in BRANCHES for _ in "fm"],
                      "fm" * len(BRANCHES),
                      [n // 2 + k for n in BRANCHES.values() for k in (0, n % 7)])},
        cautioned=True,
    ),
    *(
        Shell(
            f"two numbers of each cell, by {name!r}",
            "table t.csv --counts v --max-leakage 1",
            [f"Column {name!r} has the name of one that states what a number counts"],
            {"t.csv": csv(["sex", "town", name, "v"], [*"fmd" * 16] * 2,
                          [k // 3 for k in range(48)] * 2, ["N"] * 48 + ["E"] * 48,
                          [*PEOPLED, *(PEOPLED * 3 // 5)])},
            cautioned=True,
        )
        for name in ("INDICATOR", "UNIT_MEASURE", "Statistic Label")
    ),
    *(
        Shell(
            f"the same people on several days, in {name!r}",
            "table t.csv --counts v --max-leakage 1",
            [f"values of column {name!r} are too alike"],
            {"t.csv": csv(["sex", "town", name, "v"], [*"fmd" * 16] * 3,
                          [k // 3 for k in range(48)] * 3,
                          [day for day in days for _ in range(48)], np.concatenate(STOCK))},
            cautioned=True,
        )
        for name, days in (("x", ["31.12.2021", "31.12.2022", "31.12.2023"]),
                           ("Stichtag", ["first", "second", "third"]), ("d", [2019, 2020, 2021]))
    ),
    Shell(
        "one thousand with a point, among counts without",
        "table t.csv --counts n --delimiter ;",
        ["row 1 holds '1.000'", "Write it without separators: 1000"],
        {"t.csv": csv(["sex", "town", "n"], "mwmw", "KKBB", [812, "1.000", 655, 790], comma=";")},
    ),
    *(
        Shell(
            f"a value that is written in two ways, with {what}",
            "table t.csv --max-leakage 1",
            ["the script of a letter alone are counted apart", "'town'"],
            {"t.csv": csv(["town", "sex"], ["North", "South", twice, "West"] * 30, "mf" * 60)},
            cautioned=True,
        )
        for what, twice in (
            ("a footnote", "South 1)"),
            ("a raised number", "South\u00b2"),
            ("no width", "South\u200b"),
            ("a Cyrillic letter", "S\u043euth"),
        )
    ),
    *(
        Shell(
            f"a value {word!r} beside some of its parts",
            "table t.csv --counts n --max-leakage 1",
            [f"The value {word!r} of column 'x' has the words of a {what}"],
            {"t.csv": csv(["x", "town", "n"], [x for x in (word, "p", "q") for _ in "NSEW"],
                          [*"NSEW"] * 3, [*size, 31, 42, 53, 61, 75, 83, 91, 87])},
            cautioned=True,
        )
        for word, what, size in (
            ("Total population", "total", [610, 740, 811, 702]),
            ("All causes", "total", [610, 740, 811, 702]),
            ("EU27_2020", "total", [610, 740, 811, 702]),
            ("Alder i alt", "total", [610, 740, 811, 702]),
            ("of which long-term", "part", [6, 7, 11, 9]),
        )
    ),
    Shell(
        "two questions to the same persons in one column",
        "table t.csv --counts n --max-leakage 1",
        ["in column 'x' sum to 1/2 of those of all values", "Keep the values of one"],
        {"t.csv": csv(["x", "town", "n"], [x for x in ("job", "idle", "smokes", "never") for _ in
                                           range(8)], [*"NSEWABCD"] * 4,
                      [k for share in (0.6, 0.25) for part in (
                          [int(share * (500 + 37 * t)) for t in range(8)],
                          [500 + 37 * t - int(share * (500 + 37 * t)) for t in range(8)])
                       for k in part])},
        cautioned=True,
    ),
    Shell(
        "visits of persons whose number is left out",
        "table t.csv --exclude LopNr --max-leakage 1",
        ["Column 'LopNr', which is left out, has the name of an identifier"],
        {"t.csv": csv(["LopNr", "sex"], np.arange(90) // 3, "mfm" * 30)},
        cautioned=True,
    ),
    Shell(
        "two files that share 150 persons",
        "table t.csv",
        ["150 rows one after another are there again, in the same order", "Pass each person once"],
        {"t.csv": csv(PEOPLE, *(values[OVERLAPPING] for values in PEOPLE.values()))},
        cautioned=True,
    ),
    Shell(
        "two files that share 150 persons, in 40 cells",
        "table t.csv --exclude age",
        ["150 rows one after another are there again, in the same order"],
        {"t.csv": csv(PEOPLE, *(values[OVERLAPPING] for values in PEOPLE.values()))},
        cautioned=True,
    ),
    Shell(
        "means over two files that share 150 persons",
        "mean t.csv",
        ["150 rows one after another are there again", "take each person once"],
        {"t.csv": csv("uvwxyz", *RNG.integers(0, 6, (6, 900))[:, OVERLAPPING])},
        cautioned=True,
    ),
    Shell(
        "a long table, with a row for each person and variable",
        "table t.csv",
        ["Each of the 300 values of column 'nr' has one row for each of the 3 values of 'variable'",
         "as in a long table", "pivot"],
        {"t.csv": csv(["nr", "variable", "value"], np.arange(900) // 3, ["age", "sex", "job"] * 300,
                      RNG.choice(["low", "high"], 900))},
        cautioned=True,
    ),
    Shell(
        "persons by the number that multiple imputation gives them",
        "table t.csv",
        ["Column '.id' has the name of an identifier", "--person .id"],
        {"t.csv": csv([".id", *PEOPLE], np.arange(900) % 300, *PEOPLE.values())},
        cautioned=True,
    ),
    Shell(
        "five imputations of the same persons",
        "table t.csv",
        ["values of column '.imp' are too alike"],
        {"t.csv": csv([".imp", *PEOPLE], *IMPUTED)},
        cautioned=True,
    ),
    Shell(
        "frequency weights",
        "table t.csv",
        ["Column 'fw' has the name of a survey weight", "--exclude fw"],
        {"t.csv": csv([*PEOPLE, "fw"], *PEOPLE.values(), RNG.integers(1, 6, 900))},
        cautioned=True,
    ),
]  # fmt: skip

LARGE_CALLS = [
    Call(
        f"cells above the number that is looked at in full, by {columns}",
        lambda columns=columns: cells_of_large(columns),
        ["No two rows agree in", "If 'stk' holds their counts"],
        cautioned=True,
    )
    for columns in (["a"], ["b"])
]
