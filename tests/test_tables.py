"""Tables in, reports out: every container counts alike, and the two numbers are told apart."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from mialeak import _cells
from mialeak._cells import count_cells
from mialeak.datasets import load_adult
from mialeak.tables import table_leakage

QUASI_IDENTIFIERS = ["age", "education", "marital_status", "race", "sex"]

SMALL = {
    "sex": ["f", "m", "f", "f", "m", "f", "m"],
    "age": [30, 30, 30, 41, 41, 30, 30],
}


@pytest.fixture(scope="module")
def adult():
    return table_leakage(load_adult().columns, QUASI_IDENTIFIERS)


def brute_cells(rows):
    """Cells numbered by first appearance, as (cell of each row, counts, first rows)."""
    number = {}
    for row in rows:
        number.setdefault(row, len(number))
    counts = Counter(rows)
    return (
        [number[row] for row in rows],
        [counts[row] for row in number],
        [*map(rows.index, number)],
    )


# --- counting ---------------------------------------------------------------------------------


@st.composite
def coded_tables(draw):
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 50, 2**31, 2**61]), min_size=1, max_size=6))
    rows = draw(st.integers(0, 30))
    few = st.integers(0, 3)
    columns = [
        draw(st.lists(few.map(lambda c, s=size: c * (s - 1) // 3), min_size=rows, max_size=rows))
        for size in sizes
    ]
    return sizes, columns, rows


@given(coded_tables(), st.sampled_from([1, 8, 2**20]))
def test_cells_are_those_of_a_counter(table, direct):
    sizes, columns, rows = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cells, "_DIRECT", direct)
        cells = count_cells(
            [(np.array(c, np.int64), size) for c, size in zip(columns, sizes, strict=True)], rows
        )
    of_row, counts, first_row = brute_cells(list(zip(*columns, strict=True)))
    assert cells.of_row.tolist() == of_row
    assert cells.counts.tolist() == counts
    assert cells.first_row.tolist() == first_row


@pytest.mark.parametrize("size", [2**21 - 1, 2**21, 2**21 + 1])
def test_counting_and_sorting_give_the_same_cells(size):
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 9, 1000) * ((size - 1) // 8)
    other = rng.integers(0, 3, 1000)
    cells = count_cells([(codes, size), (other, 3)], 1000)
    of_row, counts, first_row = brute_cells(list(zip(codes.tolist(), other.tolist(), strict=True)))
    assert cells.of_row.tolist() == of_row
    assert cells.counts.tolist() == counts
    assert cells.first_row.tolist() == first_row


def test_narrow_codes_do_not_overflow():
    codes = np.arange(100, dtype=np.int8)
    cells = count_cells([(codes, 100), (codes, 100), (codes, 100)], 100)
    assert cells.counts.tolist() == [1] * 100


def test_adult_has_its_known_cells(adult):
    assert adult.rows == 32_561
    assert adult.n_cells == 6_493
    columns = load_adult().columns
    rows = list(zip(*(columns[name].tolist() for name in QUASI_IDENTIFIERS), strict=True))
    counts = Counter(rows)
    assert adult.n_unique == sum(count == 1 for count in counts.values())
    for row in (0, 1, 15, 32_560):
        cell = adult.row_cells[row]
        assert adult.cell_counts[cell] == counts[rows[row]]
        assert tuple(adult.cell_values(cell).values()) == rows[row]


# --- containers -------------------------------------------------------------------------------


def everything(report):
    """All that a report says."""
    return (
        str(report),
        repr(report),
        json.dumps(report.to_dict(top=50)),
        report.row_cells.tobytes(),
        report.cell_counts.tobytes(),
        np.asarray(report.row_leakage.upper).tobytes(),
    )


def containers(columns):
    frame = pd.DataFrame(columns)
    yield "lists", {name: values.tolist() for name, values in columns.items()}
    yield "objects", {name: values.astype(object) for name, values in columns.items()}
    yield "strided", {name: np.repeat(values, 2)[::2] for name, values in columns.items()}
    yield "pandas", frame
    yield "pandas, object", frame.astype(object)
    yield "pandas, category", frame.astype("category")
    yield "pandas, arrow", frame.convert_dtypes(dtype_backend="pyarrow")
    yield "pandas, odd index", frame.set_index(np.arange(len(frame)) % 3)
    yield "polars", pl.DataFrame(columns)
    yield (
        "polars, category",
        pl.DataFrame(columns).with_columns(pl.col("word").cast(pl.Categorical)),
    )
    yield (
        "polars, chunked",
        pl.concat([pl.DataFrame(frame[:5]), pl.DataFrame(frame[5:])], rechunk=False),
    )
    yield "pyarrow", pa.table(columns)
    chunks = [
        pa.table({k: v[:7] for k, v in columns.items()}),
        pa.table({k: v[7:] for k, v in columns.items()}),
    ]
    yield "pyarrow, chunked", pa.concat_tables(chunks)
    encoded = [
        pa.table({k: pa.array(v[s]).dictionary_encode() for k, v in columns.items()})
        for s in (slice(9), slice(9, None))
    ]
    yield "pyarrow, dictionaries that differ", pa.concat_tables(encoded)


def test_every_container_gives_the_same_report():
    rng = np.random.default_rng(20)
    rows = 200_000
    columns = {
        "word": np.array(["alpha", "beta", "gamma", "delta"])[rng.integers(0, 4, rows)],
        "whole": rng.geometric(0.02, rows),
        "yes": rng.random(rows) < 0.3,
        "half": rng.integers(-3, 4, rows) / 2,
    }
    expected = everything(table_leakage(columns))
    for name, frame in containers(columns):
        assert everything(table_leakage(frame)) == expected, name


MISSING = {
    "a": ["x", None, "x", "y", "y", "x", None],
    "b": [1.0, 2.0, np.nan, 2.0, 2.0, 1.0, 2.0],
}


@pytest.mark.parametrize(
    "frame",
    [MISSING, pd.DataFrame(MISSING), pl.DataFrame(MISSING), pa.table(MISSING)],
    ids=["dict", "pandas", "polars", "pyarrow"],
)
def test_missing_values_are_refused_counted_or_dropped(frame):
    message = (
        "table must have no missing values; there are 2 in column 'a', 1 in column 'b'. "
        "Pass na='category' to count missing as a value, or na='drop' to leave such rows out"
    )
    with pytest.raises(ValueError, match="missing") as caught:
        table_leakage(frame)
    assert str(caught.value) == message

    counted = table_leakage(frame, na="category")
    assert counted.row_cells.tolist() == [0, 1, 2, 3, 3, 0, 1]
    assert (counted.rows, counted.rows_missing, counted.rows_dropped) == (7, 3, 0)
    assert counted.cell_values(1) == {"a": None, "b": 2.0}
    assert counted.cell_values(2) == {"a": "x", "b": None}
    assert "3 rows have a missing value, counted as a category" in str(counted)

    dropped = table_leakage(frame, na="drop")
    assert dropped.row_cells.tolist() == [0, -1, -1, 1, 1, 0, -1]
    assert (dropped.rows, dropped.rows_missing, dropped.rows_dropped) == (4, 0, 3)
    assert dropped.n == 4
    assert dropped.cell_values(1) == {"a": "y", "b": 2.0}
    assert np.isnan(dropped.row_leakage.upper).tolist() == [
        False,
        True,
        True,
        False,
        False,
        False,
        True,
    ]
    assert [row.row for row in dropped.riskiest(None)] == [0, 3, 4, 5]
    assert "3 more rows dropped: a value is missing" in str(dropped)


def test_without_missing_values_the_three_ways_agree():
    first, *others = (
        everything(table_leakage(SMALL, na=na)) for na in ("error", "drop", "category")
    )
    assert others == [first, first]


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "arguments", "error", "message"),
    [
        (
            SMALL,
            {"columns": ["sex", "agee"]},
            ValueError,
            "columns must be columns of the table; got columns[1] = 'agee'. Did you mean 'age'?",
        ),
        (
            SMALL,
            {"columns": ["sex", "sex"]},
            ValueError,
            "columns must name each column once; got columns[1] = 'sex'",
        ),
        (SMALL, {"columns": []}, ValueError, "columns must name at least one column"),
        (SMALL, {"columns": 5}, TypeError, "columns must be a sequence of names; got columns = 5"),
        (
            SMALL,
            {"margins": 5},
            TypeError,
            "margins must be a sequence of columns and tuples of columns; got margins = 5",
        ),
        (
            {"a": [1, 2]},
            {"margins": ["a"]},
            ValueError,
            "table must have at least 3 rows for margins, not 2",
        ),
        (
            pl.DataFrame({"a": [{"left": 1.0, "right": 2.0}] * 4}),
            {},
            TypeError,
            "column 'a' must hold single values, not struct<left: double, right: double>. "
            "Convert it to strings first",
        ),
        ({}, {}, ValueError, "table must have at least one column"),
        ({"a": []}, {}, ValueError, "table must have at least one row"),
        (pd.DataFrame({"a": []}), {}, ValueError, "table must have at least one row"),
        (
            {"a": [None]},
            {"na": "drop"},
            ValueError,
            "table must have at least one row without a missing value",
        ),
        (
            {"a": [1, 2], "b": [1, 2, 3]},
            {},
            ValueError,
            "column 'b' must have as many rows as column 'a' (2), not 3",
        ),
        (
            {"a": [[1], [2]]},
            {},
            TypeError,
            "column 'a' must hold single values; row 0 holds a list. Convert it to strings first",
        ),
        (
            pl.DataFrame({"a": [[1], [2]]}),
            {},
            TypeError,
            "column 'a' must hold single values, not large_list<item: int64>. Convert it "
            "to strings first",
        ),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            {},
            ValueError,
            "table must have no two columns of one name (Expected unique column names, "
            "got: - 'a' 2 times)",
        ),
        (
            [1, 2],
            {},
            TypeError,
            "table must be a pandas, polars or pyarrow table or a dict, not a list. "
            "Pass a dict of its columns",
        ),
        (
            np.zeros((2, 2)),
            {},
            TypeError,
            "table must be a pandas, polars or pyarrow table or a dict, not a ndarray. "
            "Pass a dict of its columns",
        ),
        (
            pd.Series([1, 2]),
            {},
            TypeError,
            "table must be a pandas, polars or pyarrow table or a dict, not a Series. "
            "Of a Series of counts call reset_index(name='n'), and pass counts='n'",
        ),
        (
            SMALL,
            {"na": "ignore"},
            ValueError,
            'na must be "error", "category" or "drop"; got na = \'ignore\'',
        ),
        (SMALL, {"n": 0}, ValueError, "n must be between 1 and 2**53; got n = 0"),
        (SMALL, {"n": 3.5}, TypeError, "n must be an integer; got n = 3.5"),
        (
            SMALL,
            {"confidence": 1.0},
            ValueError,
            "confidence must be strictly between 0 and 1; got confidence = 1.0",
        ),
        (
            SMALL,
            {"confidence": "high"},
            TypeError,
            "confidence must be an array of real numbers, not of dtype <U4",
        ),
    ],
)
def test_bad_tables_are_refused(frame, arguments, error, message):
    with pytest.raises(error) as caught:
        table_leakage(frame, **arguments)
    assert str(caught.value) == message


def test_mixed_types_in_a_data_frame_are_refused_without_their_values():
    for values, types in (([40, "Jane Doe", None], "int and str"), ([10**30, 10**30 + 1], "int")):
        with pytest.raises(TypeError) as caught:
            table_leakage(pd.DataFrame({"a": values}))
        assert str(caught.value) == (
            f"column 'a' must hold values of one type that pyarrow takes, not {types}. Convert it "
            "to strings first"
        )
        assert caught.value.__context__ is None


@pytest.mark.parametrize("package", ["narwhals", "pyarrow"])
def test_a_missing_extra_is_named_with_its_command(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        table_leakage(pd.DataFrame(SMALL))
    assert str(caught.value) == (
        "table is a DataFrame, which takes narwhals and pyarrow "
        '(pip install "mialeak[dataframe]"); a plain dict of columns takes neither'
    )


def test_a_dict_needs_no_data_frame_library():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pyarrow', 'narwhals', 'pandas', "
        "'polars']));"
        "from mialeak.tables import table_leakage;"
        "print(table_leakage({'a': ['x', 'y', 'x']}).n_cells)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr
