"""Wrong inputs for ``mialeak table``, ``table_leakage`` and the reader of files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
from wrong_inputs import Call, Shell, csv

from mialeak.tables import table_leakage

# --- what people have -------------------------------------------------------------------------

RNG = np.random.default_rng(8)
AGES = RNG.integers(18, 80, 200).tolist()
SEXES = ["Male" if x else "Female" for x in RNG.integers(0, 2, 200)]
WORK = RNG.choice(["Private", "State-gov", "Self-emp", "?"], 200, p=[0.6, 0.2, 0.1, 0.1]).tolist()
HOURS = RNG.choice([20, 38, 40, 60], 200).tolist()


def with_marker(values, marker):
    return [marker if place % 20 == 7 else value for place, value in enumerate(values)]


PEOPLE = csv(["age", "sex", "hours"], AGES, SEXES, HOURS)
RAW = csv(None, AGES, WORK, SEXES, HOURS, comma=", ") + "\n"  # as UCI's adult.data is
NAMED = csv(["id", "age", "sex"], [f"p{k}" for k in range(200)], AGES, SEXES)

#: The same people by age band and sex, as an office publishes them.
BANDS = ["18-29", "30-44", "45-59", "60+"]
CELLS = [(band, sex) for band in BANDS for sex in ("Female", "Male")]
COUNTED = csv(["age", "sex", "n"], *zip(*CELLS, strict=True), [310, 290, 411, 3, 280, 305, 120, 99])
CROSSED = csv(["age", "Female", "Male"], BANDS, [310, 411, 280, 120], [290, 3, 305, 99])


def counted(counts):
    return csv(["age", "sex", "n"], *zip(*CELLS, strict=True), [*counts, *[50] * 8][:8])


def lazily(argument):
    """A table of counts as a lazy table of people, or as their register."""
    cells = pl.LazyFrame({"age": BANDS * 2, "sex": ["f"] * 4 + ["m"] * 4, "n": range(20, 28)})
    if argument:
        return table_leakage({"sex": ["f", "m"]}, population=cells)
    return table_leakage(cells, ["sex"])


# --- the tables and the files -----------------------------------------------------------------

TABLES = [
    Shell(
        "a file without a header: the first person would be the names",
        "table raw.csv",
        ["raw.csv", "line 1", "looks like data", "--no-header", "--names A,B,..."],
        {"raw.csv": RAW},
    ),
    Shell(
        "the same for means",
        "mean raw.csv",
        ["line 1", "looks like data", "--no-header"],
        {"raw.csv": RAW},
    ),
    Shell(
        "numbers alone, as numpy.savetxt writes them",
        "table t.csv",
        ["looks like data", "--no-header"],
        {"t.csv": csv(None, RNG.random(20), RNG.random(20))},
    ),
    Shell(
        "one column of words without a name",
        "table t.csv",
        ["looks like data: 1 of its 1 fields occur again below", "--header if these are the names"],
        {"t.csv": "a\nb\na\nc\nb\n"},
    ),
    Shell(
        "--no-header for a file that has one",
        "table t.csv --no-header",
        ["looks like names", "'age' stands above numbers", "--header"],
        {"t.csv": PEOPLE},
    ),
    Shell(
        "--names for a file that has names",
        "table t.csv --names age,sex,hours",
        ["looks like names", "--header"],
        {"t.csv": PEOPLE},
    ),
    Shell(
        "too few names",
        "table raw.csv --names age,work,sex",
        ["--names must name each of the 4 columns", "not 3"],
        {"raw.csv": RAW},
    ),
    Shell(
        "'?' for missing, which --na drop does not know",
        "table raw.csv --names age,work,sex,hours --na drop",
        ["'?' is counted as a value", "rows of column 'work'", "--missing '?'"],
        {"raw.csv": RAW},
        cautioned=True,
    ),
    Shell(
        "NA, as R writes it",
        "table t.csv --na drop",
        ["'NA' is counted", "in 10 rows of column 'sex'", "--missing NA"],
        {"t.csv": csv(["age", "sex"], AGES, with_marker(SEXES, "NA"))},
        cautioned=True,
    ),
    Shell(
        "a dot, as SAS writes it",
        "table t.csv",
        ["'.' is counted", "in 10 rows of column 'hours'", "--missing '.'"],
        {"t.csv": csv(["age", "hours"], AGES, with_marker(HOURS, "."))},
        cautioned=True,
    ),
    Shell(
        "-9, as surveys code it",
        "table t.csv",
        ["'-9' is counted", "column 'hours'", "--missing -9"],
        {"t.csv": csv(["sex", "hours"], SEXES, with_marker(HOURS, -9))},
        cautioned=True,
    ),
    Shell(
        "999, as surveys code it",
        "table t.csv",
        ["'999' is counted", "column 'age'", "--missing 999"],
        {"t.csv": csv(["age", "sex"], with_marker(AGES, 999), SEXES)},
        cautioned=True,
    ),
    Shell(
        "two codes for missing, below all numbers",
        "table t.csv",
        ["'-9' is counted", "'-8' is counted", "--missing -8"],
        {"t.csv": csv(["sex", "hours"], SEXES, with_marker([-8, *HOURS[1:]], -9))},
        cautioned=True,
    ),
    Shell(
        "two codes for missing, above all numbers",
        "table t.csv",
        ["'999' is counted", "'998' is counted", "--missing 998"],
        {"t.csv": csv(["sex", "hours"], SEXES, with_marker([998, *HOURS[1:]], 999))},
        cautioned=True,
    ),
    Shell(
        "'*' for what ARX suppressed",
        "table t.csv",
        ["'*' is counted", "column 'sex'", "--missing '*'"],
        {"t.csv": csv(["age", "sex"], AGES, with_marker(SEXES, "*"))},
        cautioned=True,
    ),
    Shell(
        "the published table in place of its persons",
        "table counts.csv",
        ["it looks like a table of counts", "column 'n'", "--counts n"],
        {"counts.csv": COUNTED},
    ),
    Shell(
        "the same with a limit, which it must not pass or fail",
        "table counts.csv --max-leakage 1",
        ["--counts n"],
        {"counts.csv": COUNTED},
    ),
    Shell(
        "the same in German",
        "table counts.csv",
        ["column 'Anzahl'", "--counts Anzahl"],
        {"counts.csv": COUNTED.replace("n\n", "Anzahl\n", 1)},
    ),
    Shell(
        "the same, some of it suppressed",
        "table counts.csv",
        ["column 'n'", "--counts n"],
        {"counts.csv": counted([310, "<5", 17])},
    ),
    Shell(
        "a cross-tabulation",
        "table crossed.csv",
        ["cross-tabulation", "melt('age', value_name='n')", "--counts n", "--exclude age"],
        {"crossed.csv": CROSSED},
    ),
    Shell(
        "the same, some of it suppressed, with commas in large counts",
        "table crossed.csv",
        ["cross-tabulation", "--counts n"],
        {"crossed.csv": CROSSED.replace(",3\n", ",<5\n").replace("411", '"1,411"')},
    ),
    Shell(
        "a table of percentages",
        "table shares.csv",
        ["table of shares", "column 'percent' sums to 1 or to 100", "--counts n"],
        {"shares.csv": "sex,smokes,percent\nf,no,41.2\nf,yes,10.1\nm,no,33.3\nm,yes,15.4\n"},
    ),
    Shell(
        "several rows a person",
        "table t.csv",
        ["'patient_id' has the name of an identifier", "rows, not persons", "--exclude patient_id"],
        {"t.csv": csv(["patient_id", "age"], [k // 3 for k in range(200)], AGES)},
        cautioned=True,
    ),
    Shell(
        "the survey weight among the columns",
        "table t.csv",
        ["'fnlwgt' has the name of a survey weight", "--exclude fnlwgt"],
        {"t.csv": csv(["age", "fnlwgt"], AGES, RNG.integers(10**4, 10**6, 200))},
        cautioned=True,
    ),
    Shell(
        "numbers with spaces between them, as numpy.savetxt writes them",
        "table t.csv",
        ["single column", "if ' ' divides its columns", "--delimiter"],
        {"t.csv": csv(None, RNG.random(20), RNG.random(20), comma=" ")},
    ),
    Shell(
        "a table of counts with its totals",
        "table counts.csv --counts n",
        ["column 'sex' must hold no totals", "row 1 holds 'Total'", "Leave out"],
        {"counts.csv": "sex,n\nFemale,410\nTotal,800\nMale,390\n"},
    ),
    *(
        Shell(
            f"a count of {mark}",
            "table counts.csv --counts n",
            [f"row 2 holds '{mark}'", "suppressed", "pass the table before suppression"],
            {"counts.csv": counted([310, 4, mark])},
        )
        for mark in ("<5", "c", ":", "*")
    ),
    Shell(
        "a count below 0",
        "table counts.csv --counts n",
        ["row 1 holds '-9'", "not a count"],
        {"counts.csv": counted([310, -9])},
    ),
    Shell(
        "a weighted count",
        "table counts.csv --counts n",
        ["row 0 holds '310.7'", "weighted"],
        {"counts.csv": counted([310.7])},
    ),
    Shell(
        "no count",
        "table counts.csv --counts n",
        ["row 1 holds no value", "Write 0 where the cell is empty"],
        {"counts.csv": counted([310, ""])},
    ),
    Shell(
        "counts with commas in them",
        "table counts.csv --counts n",
        ["row 0 holds '1,310'", "without separators: 1310"],
        {"counts.csv": counted(['"1,310"'])},
    ),
    Shell(
        "--counts for another column",
        "table counts.csv --counts N",
        ["got 'N'", "Did you mean 'n'?"],
        {"counts.csv": COUNTED},
    ),
    Shell(
        "an identifier among the columns",
        "table t.csv",
        ["Every row has a value of its own in column 'id'", "--exclude id"],
        {"t.csv": NAMED},
        cautioned=True,
    ),
    Shell(
        "--exclude misspelt",
        "table t.csv --exclude Id",
        ["--exclude must be columns", "got 'Id'", "Did you mean 'id'?"],
        {"t.csv": NAMED},
    ),
    Shell(
        "a column asked for and left out",
        "table t.csv --columns age,sex --exclude age",
        ["--exclude must name none of the columns", "'age'"],
        {"t.csv": NAMED},
    ),
    Shell(
        "row numbers that pandas wrote",
        "table t.csv",
        ["row numbers", "index=False", "--columns"],
        {"t.csv": pd.DataFrame({"age": AGES, "sex": SEXES}).to_csv()},
    ),
    Shell(
        "semicolons, as a German Excel writes them",
        "table t.csv",
        ["single column", "';'", "--delimiter"],
        {"t.csv": PEOPLE.replace(",", ";")},
    ),
    Shell(
        "the same without a header, whose line 1 is a person",
        "table t.csv",
        ["has a single column; if ';' divides its columns", "--delimiter"],
        {"t.csv": RAW.replace(",", ";")},
    ),
    Shell(
        "Latin letters",
        "table t.csv",
        ["UTF-8", "line 2", "iconv -f CP1252"],
        {"t.csv": "town\nKöln\nUlm\n".encode("latin-1")},
    ),
    Shell(
        "a workbook that is called .csv",
        "table t.csv",
        ["t.csv", ".xlsx"],
        {"t.csv": b"PK\x03\x04rest"},
    ),
    Shell(
        "a line cut short",
        "table t.csv",
        ["line 3 has 1 field where the header has 2"],
        {"t.csv": "a,b\n1,2\n3\n"},
    ),
    Shell(
        "a limit in per cent",
        "table t.csv --max-leakage 5",
        ["--max-leakage must be between 0 and 1", "got 5"],
        {"t.csv": PEOPLE},
    ),
    Shell(
        "the size of a sample as a fraction",
        "table t.csv --n 0.01",
        ["--n must be a whole number", "'0.01'"],
        {"t.csv": PEOPLE},
    ),
    *(
        Shell(
            f"a line that is no person: {line}",
            f"table t.csv --na category{limit}",
            [f"Row {row}, the {'last' if row else 'first'}, seems to be no person", "'age'"],
            {"t.csv": PEOPLE.replace("\n", f"\n{line}\n", 1) if not row else PEOPLE + line},
            cautioned=True,
        )
        for row, line, limit in (
            (0, "years,m/f,per week", " --max-leakage 1"),
            (200, "Total,200,", ""),
            (200, "Source: Labour Force Survey 2024,,", ""),
        )
    ),
    Shell(
        "merged cells of a workbook, of which the first holds the value",
        "table t.csv --na category --max-leakage 1",
        ["In column 'sex' 198 of 200 rows have no value", "merged cells"],
        {"t.csv": csv(["sex", "age"], ["f", *[""] * 99, "m", *[""] * 99], AGES)},
        cautioned=True,
    ),
    *(
        Shell(
            f"{marker} for missing, which {rule} hides",
            f"table t.csv {rule} --max-leakage 1",
            [f"'{marker}' is counted as a value", "'hours'", f"--missing {marker}"],
            {"t.csv": csv(["sex", "hours"], SEXES, with_marker(HOURS, marker))},
            cautioned=True,
        )
        for marker, rule in (
            (999, "--top-code hours:60"),
            (999, "--bin hours:10"),
            (-9, "--bottom-code hours:20"),
        )
    ),
    *(
        Shell(
            f"a code for another column: {rule}",
            f"table t.csv {rule} --max-leakage 1",
            ["Recoding makes all values of column", "in the unit of the column"],
            {"t.csv": csv(["born", "sex"], [2024 - age for age in AGES], SEXES)},
            cautioned=True,
        )
        for rule in ("--top-code born:80", "--bin born:100000", "--group-rare born:150")
    ),
    *(
        Shell(
            f"counts that are {name}",
            f"table counts.csv --counts {name}",
            ["not that of shares, means or amounts", f"got '{name}'"],
            {"counts.csv": COUNTED.replace(",n\n", f",{name}\n", 1)},
        )
        for name in ("weighted_n", "cum_n", "estimate", "index")
    ),
    Shell(
        "a significance level in place of the confidence, for a table",
        "table t.csv --confidence 0.05 --max-leakage 1",
        ["--confidence must be at least 0.5", "pass 0.95"],
        {"t.csv": PEOPLE},
    ),
    Shell(
        "a certificate of a table of which the report has a caution",
        "table t.csv --exclude age --certificate report.json",
        ["--certificate must be of a report without cautions", "'?'", "--accept-cautions"],
        {"t.csv": csv(["age", "work", "sex"], AGES, WORK, SEXES)},
    ),
    Shell(
        "sizes of households as counts, of some columns",
        "table t.csv --counts size --columns sex --max-leakage 1",
        ["rows of the table of counts are", "If each row is one person, leave out --counts"],
        {"t.csv": csv(["age", "sex", "size"], AGES, SEXES, [k % 5 + 1 for k in range(200)])},
        cautioned=True,
    ),
    *(
        Shell(
            f"two spellings: {other!r} beside {value!r}",
            "table t.csv --max-leakage 1",
            ["or differ in capitals, spaces, hyphens", "column 'x' (rows 0, 1 for 'x')"],
            {"t.csv": csv(["x", "sex"], [(value, other, "b")[k % 3] for k in range(200)], SEXES)},
            cautioned=True,
        )
        for value, other in (
            ("<=50K", "<=50K."),
            ("State-gov", "State gov"),
            ("Am\u00e9rica", "Ame\u0301rica"),
        )
    ),
    Shell(
        "thousands of columns with missing values",
        "table t.csv",
        ["in column 'c0'", "and 1,997 more", "--na drop"],
        {"t.csv": csv([f"c{k}" for k in range(2000)], *[["1", "", "2"]] * 2000)},
    ),
    Shell(
        "the same for means",
        "mean t.csv",
        ["in column 'c0'", "and 1,997 more", "--na drop"],
        {"t.csv": csv([f"c{k}" for k in range(2000)], *[["1", "", "2"]] * 2000)},
    ),
]

# --- Python -----------------------------------------------------------------------------------

FRAME = pd.DataFrame({"age": AGES, "sex": SEXES, "hours": HOURS})

TABLE_CALLS = [
    *(
        Call(
            f"a lazy table of counts {how}, by one of its columns",
            lambda how=how: lazily(how),
            [f"{how or 'table'} must have one row a person", "column 'n'"],
        )
        for how in ("", "population")
    ),
    Call(
        "the name of a file of another kind",
        lambda: table_leakage("adult.xlsx"),
        ["adult.xlsx must be a table of a format", "Convert it first: save the sheet as CSV"],
    ),
    Call(
        "a matrix",
        lambda: table_leakage(FRAME[["age", "hours"]].to_numpy()),
        ["not a ndarray", "dict of its columns"],
    ),
    Call(
        "a list of records",
        lambda: table_leakage(FRAME.to_dict("records")),
        ["not a list", "dict of its columns"],
    ),
    Call(
        "value_counts, a Series",
        lambda: table_leakage(FRAME.value_counts(["age", "sex"])),
        ["not a Series", "reset_index(name='n')", "counts='n'"],
    ),
    Call(
        "value_counts as a frame",
        lambda: table_leakage(FRAME.value_counts(["age", "sex"]).reset_index()),
        ["table of counts", "counts='count'"],
    ),
    Call(
        "groupby and size",
        lambda: table_leakage(FRAME.groupby(["age", "sex"]).size().to_frame("n"), counts="n"),
        ["its index has the name 'age', 'sex'", "reset_index()"],
    ),
    Call(
        "pandas.crosstab, whose categories are its index",
        lambda: table_leakage(pd.crosstab(FRAME["age"], FRAME["sex"])),
        ["its index has the name 'age'", "reset_index()"],
    ),
    Call(
        "the same with the index as a column",
        lambda: table_leakage(pd.crosstab(FRAME["age"], FRAME["sex"]).reset_index()),
        ["cross-tabulation", "melt('age', value_name='n')", "counts='n'"],
    ),
    Call(
        "-9 among numbers",
        lambda: table_leakage(FRAME.assign(hours=with_marker(HOURS, -9))),
        ["-9 is counted", "10 rows of column 'hours'", "missing=['-9']"],
        cautioned=True,
    ),
    Call(
        "an identifier",
        lambda: table_leakage(FRAME.assign(id=range(1000, 1200))),
        ["column 'id'", "exclude=['id']"],
        cautioned=True,
    ),
    Call(
        "categories in an index that repeats",
        lambda: table_leakage(FRAME.set_index("age")),
        ["index of the frame, 'age', is not counted", "reset_index()"],
        cautioned=True,
    ),
]
