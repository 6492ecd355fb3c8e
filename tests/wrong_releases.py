"""Wrong inputs for ``mialeak release``; see :mod:`wrong_inputs`."""

from __future__ import annotations

import numpy as np
from wrong_inputs import Shell, csv

RNG = np.random.default_rng(24)
ROWS = 240
SEXES = RNG.choice(["f", "m"], ROWS).tolist()
TOWNS = RNG.choice(list("pqrst"), ROWS, p=[0.4, 0.3, 0.2, 0.07, 0.03]).tolist()
AGES = RNG.integers(18, 90, ROWS).tolist()

COLUMNS = ["sex", "town", "age"]
PEOPLE = csv(COLUMNS, SEXES, TOWNS, AGES)

#: The same people by sex and town, with their counts.
CELLS = sorted(set(zip(SEXES, TOWNS, strict=True)))
COUNTS = [sum(pair == cell for pair in zip(SEXES, TOWNS, strict=True)) for cell in CELLS]


def plan(*outputs, people="people.csv", more=""):
    """A plan of outputs, each a line of TOML or several."""
    head = f'schema = "mialeak.release-plan/1"\npeople = "{people}"\n{more}\n'
    return head + "".join(f"[[outputs]]\n{each}\n" for each in outputs)


BY_SEX, BY_TOWN = 'table = ["sex"]', 'table = ["sex", "town"]'
LIMIT = "release plan.toml --max-row-leakage 1 --max-determined 240"


def cautioned(title, people, says, *outputs, more="", register=None):
    files = {"people.csv": people}
    if register is not None:
        files["register.csv"], more = register, 'population = "register.csv"'
    files["plan.toml"] = plan(*(outputs or (BY_SEX, BY_TOWN)), more=more)
    return Shell(title, LIMIT, says, files, cautioned=True)


def marked(values, code):
    return [code if place % 20 == 7 else value for place, value in enumerate(values)]


#: The women, and the people with each row eleven times.
WOMEN = "".join(line for line in PEOPLE.splitlines(True) if not line.startswith("m,"))
WEIGHTED = PEOPLE + PEOPLE.partition("\n")[2] * 10

#: Days of birth of these people with the year last, and their education.
DAYS = [f"{1 + k * 7 % 28:02}.{1 + k * 5 % 12:02}.{2024 - age}" for k, age in enumerate(AGES)]
SCHOOLS = ["none", "primary", "lower secondary", "upper secondary", "bachelor"]
LEVELS = [SCHOOLS[age % 5] for age in AGES]

PLANS = [
    *(
        Shell(
            f"an end {end!r} of {what}",
            "release plan.toml",
            [f"'max'] = {end!r}", "which are words", says],
            {
                "people.csv": csv(["sex", "of"], SEXES, values),
                "plan.toml": plan(f'table = ["sex"]\nwhere = {{ of = {{ max = "{end}" }} }}'),
            },
        )
        for what, end, values, says in (
            ("days with the year last", "31.12.1960", DAYS, "write dates as 1990-01-02"),
            ("days with two digits of it", "31.12.60", [x[:6] + x[8:] for x in DAYS], "1990-01-02"),
            ("months first", "12/31/1960", [x.replace(".", "/") for x in DAYS], "1990-01-02"),
            ("quarters", "Q4 1960", [f"Q{1 + k % 4} {x[6:]}" for k, x in enumerate(DAYS)], "1990"),
            ("ordered words", "primary", LEVELS, "in the order of letters: list the values"),
        )
    ),
    cautioned(
        "the women of a register of all",
        WOMEN,
        ["no simple random sample of the register", "differ in column 'sex'"],
        register=PEOPLE,
    ),
    cautioned(
        "a register made from the people and their weights",
        PEOPLE,
        ["Each cell of the register holds a multiple of 11 people", "Pass each person once"],
        BY_TOWN,
        'table = ["age", "sex"]',
        register=WEIGHTED,
    ),
    cautioned(
        "visits in place of persons",
        csv(["patient_id", *COLUMNS], [k // 2 for k in range(ROWS)], SEXES, TOWNS, AGES),
        ["Column 'patient_id' has the name of an identifier", "pass one row for each person"],
    ),
    cautioned(
        "a file with each person twice",
        PEOPLE + PEOPLE.partition("\n")[2],
        ["Each combination of values is there 2 times", "Pass each person once"],
    ),
    cautioned(
        "three waves of each person, whose age changes",
        csv(
            [*COLUMNS, "born"],
            SEXES * 3,
            TOWNS * 3,
            [age + wave for wave in range(3) for age in AGES],
            [2020 - age for age in AGES] * 3,
        ),
        ["column 'born', 'town' is there 3 times", "as if each person had 3 rows"],
    ),
    cautioned(
        "two files that share 100 persons",
        PEOPLE + "".join(PEOPLE.splitlines(True)[61:161]),
        ["100 rows one after another are there again", "Pass each person once"],
    ),
    cautioned(
        "a long table",
        csv(
            ["nr", "variable", "value"],
            [k // 3 for k in range(3 * ROWS)],
            COLUMNS * ROWS,
            [word for row in zip(SEXES, TOWNS, AGES, strict=True) for word in row],
        ),
        ["Each of the 240 values of column 'nr' has one row", "as in a long table"],
        'table = ["variable"]',
        'table = ["variable", "value"]',
    ),
    cautioned(
        "'?' for missing among towns",
        csv(COLUMNS, SEXES, marked(TOWNS, "?"), AGES),
        ["'?' is counted as a value", "column 'town'", "list it in `missing`: ['?']"],
    ),
    cautioned(
        "999 for missing among the oldest",
        csv(COLUMNS, SEXES, TOWNS, marked(AGES, 999)),
        ["'999' is counted as a value", "column 'age'", "list it in `missing`: ['999']"],
        BY_TOWN,
        BY_SEX + "\nwhere = { age = { min = 65 } }",
    ),
    cautioned(
        "a value in two spellings",
        csv(
            COLUMNS,
            ["F" if k % 9 == 1 and x == "f" else x for k, x in enumerate(SEXES)],
            TOWNS,
            AGES,
        ),
        ["or differ in capitals", "column 'sex'"],
    ),
    cautioned(
        "the mean of ages of which some are 999",
        csv(COLUMNS, SEXES, TOWNS, marked(AGES, 999)),
        ["'999' is counted as a value", "column 'age'"],
        BY_TOWN,
        'mean = ["age"]',
    ),
    cautioned(
        "counts by survey weights",
        csv([*COLUMNS, "weight"], SEXES, TOWNS, AGES, [k % 97 for k in range(ROWS)]),
        ["Column 'weight' has the name of a survey weight"],
        BY_SEX,
        'table = ["weight"]',
    ),
    cautioned(
        "a sample with unequal weights, which no output uses",
        csv([*COLUMNS, "fnlwgt"], SEXES, TOWNS, AGES, [50 + k % 97 for k in range(ROWS)]),
        ["'fnlwgt' has the name of a survey weight, from 5", "not everyone", "one stratum"],
    ),
    cautioned(
        "counts by a number of persons",
        csv([*COLUMNS, "nr"], SEXES, TOWNS, AGES, range(ROWS)),
        ["Every row has a value of its own in column 'nr'"],
        BY_SEX,
        'table = ["nr"]',
    ),
    cautioned(
        "several years below each other",
        csv(["year", *COLUMNS], [2019 + k % 2 for k in range(ROWS)], SEXES, TOWNS, AGES),
        ["different values of column 'year'", "keep the rows of one value"],
    ),
    cautioned(
        "several surveys below each other",
        csv(["survey", *COLUMNS], [f"W{1 + k % 2}" for k in range(ROWS)], SEXES, TOWNS, AGES),
        ["different values of column 'survey'", "keep the rows of one value"],
    ),
    cautioned(
        "the table of counts in place of its people",
        csv(["sex", "town", "n"], *zip(*CELLS, strict=True), COUNTS),
        ["look like a table of counts: column 'n'", "Pass one row for each person"],
    ),
    cautioned(
        "a last line of totals",
        PEOPLE + "Total,,240\n",
        ["Row 240, the last, seems to be no person", "take it out of the file"],
        more='na = "category"',
    ),
    cautioned(
        "towns in merged cells",
        csv(COLUMNS, SEXES, [TOWNS[0], *[""] * 200, "v", *[""] * 37, "w"], AGES),
        ["In column 'town' 237 of 240 rows have no value", "write the value into each row"],
        more='na = "category"',
    ),
    *(
        Shell(
            f"a published table: {title}",
            "release plan.toml",
            ["output 1 of plan.toml: published must", *says],
            {
                "plan.toml": plan(f'{BY_TOWN}\npublished = "table.csv"\n{protect}'),
                "people.csv": PEOPLE,
                "table.csv": csv(["sex", "town", "n"], *zip(*CELLS, strict=True), counts),
            },
        )
        for title, protect, counts, says in (
            (
                "words for hidden counts",
                "",
                ["few" if count < 10 else count for count in COUNTS],
                ["hold counts; row", "holds 'few'", "Leave the field of a hidden count empty"],
            ),
            (
                "marks of hidden counts that are larger",
                "",
                ["<10" if count < 20 else count for count in COUNTS],
                ["have the counts of the people; row", "holds '<10' for 1"],
            ),
            (
                "counts that no rounding to 3 gives",
                'protect = "random-round:3"',
                COUNTS,
                ["counts of the people after RandomRound(base=3)", "cannot be"],
            ),
            (
                "multiples of 3 that are those of other people",
                'protect = "random-round:3"',
                [count - count % 3 + 30 for count in COUNTS],
                ["counts of the people after RandomRound(base=3)"],
            ),
            (
                "far from the counts for this noise",
                'protect = "geometric:1"',
                [count + 100 for count in COUNTS],
                ["counts of the people after Geometric(epsilon=1.0)"],
            ),
            (
                "no noise where the plan has it",
                'protect = "geometric:0.1"',
                COUNTS,
                ["have noise", "Leave protect out"],
            ),
        )
    ),
    Shell(
        "a threshold below which no group is",
        "release plan.toml",
        ["threshold of plan.toml must be a whole number of at least 2", "with 2, those of one"],
        {"plan.toml": plan(BY_SEX, more="threshold = 1"), "people.csv": PEOPLE},
    ),
]
