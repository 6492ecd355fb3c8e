"""Columns as factors: whatever holds the values, the same rows are the same."""

from __future__ import annotations

import datetime
import decimal
from collections import defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from mialeak._columns import (
    Factor,
    FactorBuilder,
    choose_columns,
    each_factor,
    factor_from_arrow,
    factor_from_values,
)

DAY = datetime.date(2024, 2, 29)


def decoded(factor):
    return [factor.value(int(code)) for code in factor.codes]


def partition(values):
    """Rows by value: what a factor must reproduce."""
    rows = defaultdict(list)
    for row, value in enumerate(values):
        rows[value].append(row)
    return sorted(rows.values())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([True, False, True]), [True, False, True]),
        (np.array([3, -2, 3], np.int8), [3, -2, 3]),
        (np.array([-128, 127], np.int8), [-128, 127]),
        (np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], np.uint64), [2**64 - 1, 2**64 - 2, 2**64 - 1]),
        (np.array([-(2**63), 2**63 - 1, -(2**63)]), [-(2**63), 2**63 - 1, -(2**63)]),
        (np.array([0, 2**64 - 1], np.uint64), [0, 2**64 - 1]),
        (np.array([1.5, np.nan, -0.0, 0.0, np.inf]), [1.5, None, 0.0, 0.0, float("inf")]),
        (np.array([1.5, np.nan], np.float32), [1.5, None]),
        (np.array(["b", "a", ""]), ["b", "a", ""]),
        (np.array([b"caf\xe9", b"a"]), ["caf\\xe9", "a"]),
        (np.array(["b", "a"], np.dtypes.StringDType()), ["b", "a"]),
        (np.array(["2024-02-29", "NaT"], "M8[D]"), ["2024-02-29", None]),
        (np.array(["2024-02-29T01", "NaT"], "M8[ns]"), ["2024-02-29T01:00:00.000000000", None]),
        (np.array([1, 2], "m8[h]"), ["1:00:00", "2:00:00"]),
        (np.array(["a", None, np.nan, pd.NA, pd.NaT], object), ["a", None, None, None, None]),
        (["b", None, "a", "b"], ["b", None, "a", "b"]),
        ([1, 2.5, 1.0], [1, 2.5, 1]),
        ((DAY, None), ["2024-02-29", None]),
        ([decimal.Decimal("1.5")], ["1.5"]),
        (pd.Series([1, None, 3], dtype="Int64"), [1, None, 3]),
        (pd.Categorical(["x", None, "y"]), ["x", None, "y"]),
        (pl.Series(["x", None, "y"]), ["x", None, "y"]),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), [1, None, 3]),
        (np.array([], np.int64), []),
        ([], []),
    ],
)
def test_values_survive_the_way_to_codes_and_back(values, expected):
    assert decoded(factor_from_values(values, "x")) == expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1, None, 1]), [1, None, 1]),
        (pa.array([7, 5, 7], pa.uint8()), [7, 5, 7]),
        (pa.array([True, None, False]), [True, None, False]),
        (pa.array([0.0, -0.0, None, float("nan")]), [0.0, 0.0, None, None]),
        (pa.array(["a", None, "b"]), ["a", None, "b"]),
        (pa.array(["a", "b", None]).dictionary_encode(), ["a", "b", None]),
        (
            pa.DictionaryArray.from_arrays([0, 1, 2, 3], ["a", "b", "a", None]),
            ["a", "b", "a", None],
        ),
        (pa.DictionaryArray.from_arrays([0, 1, 2], [0.0, -0.0, float("nan")]), [0.0, 0.0, None]),
        (pa.DictionaryArray.from_arrays([1, None, 0], [7, 5]), [5, None, 7]),
        (pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode(), ["a", "b", "a"]),
        (pa.chunked_array([], pa.string()), []),
        (pa.nulls(2), [None, None]),
        (pa.array([DAY, None]), ["2024-02-29", None]),
        (pa.array([10**18 + 1], pa.timestamp("ns")), ["2001-09-09 01:46:40.000000001"]),
        (pa.array([decimal.Decimal("1.50")]), ["1.50"]),
        (pa.array([b"a"]), ["a"]),
        (pa.array(pd.period_range("2024-01", periods=2, freq="M")), [648, 649]),
    ],
)
def test_arrow_values_survive_the_way_to_codes_and_back(array, expected):
    assert decoded(factor_from_arrow(array, "x")) == expected


scalars = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)),
    st.lists(st.floats(allow_nan=False)),
    st.lists(st.text(max_size=3)),
    st.lists(st.booleans()),
)


@given(scalars)
def test_equal_values_share_a_code_and_others_do_not(values):
    array = np.array(values) if values and not isinstance(values[0], str) else values
    for factor in (factor_from_values(array, "x"), factor_from_arrow(pa.array(values), "x")):
        assert partition(factor.codes.tolist()) == partition(values)
        assert factor.n_missing == 0
        assert decoded(factor) == values


def test_blocks_share_their_codes():
    builder = FactorBuilder(missing=("",))
    for block in (["a", "b"], ["", "c"], ["b"]):
        builder.add(block)
    factor = builder.finish()
    assert decoded(factor) == ["a", "b", None, "c", "b"]
    assert factor.n_missing == 1


def test_long_string_columns_are_taken_in_blocks():
    values = np.array(["a", "b", "c"])[np.arange(150_001) % 3]
    factor = factor_from_values(values, "x")
    assert np.array_equal(np.asarray(factor.levels)[factor.codes], values)


def test_a_factor_passes_unchanged():
    factor = Factor(np.array([0, -1]), ["a"])
    assert factor_from_values(factor, "x") is factor


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ("abc", TypeError, "column 'x' must be a one-dimensional array or a list, not str"),
        (3, TypeError, "column 'x' must be a one-dimensional array or a list, not int"),
        (np.zeros((2, 3)), ValueError, "column 'x' must have one dimension; its shape is (2, 3)"),
        (np.array(1), ValueError, "column 'x' must have one dimension; its shape is ()"),
        (
            np.array([2**31], np.uint32).view("U1"),
            ValueError,
            "column 'x' must hold text; some of its characters do not exist",
        ),
        (
            np.array([1j]),
            TypeError,
            "column 'x' must hold numbers, strings, dates or categories, not complex128",
        ),
        (
            ["a", 1, None],
            TypeError,
            "column 'x' must hold values of one type, not int and str. Convert it to strings first",
        ),
        (
            [True, 1],
            TypeError,
            "column 'x' must hold values of one type, not bool and int. Convert it to "
            "strings first",
        ),
        (
            ["a", 1.5, float("nan")],
            TypeError,
            "column 'x' must hold values of one type, not float and str. Convert it to "
            "strings first",
        ),
        (
            [None, [1], [2]],
            TypeError,
            "column 'x' must hold single values; row 1 holds a list. Convert it to strings first",
        ),
    ],
)
def test_columns_that_cannot_be_counted_are_refused(values, error, message):
    with pytest.raises(error) as caught:
        factor_from_values(values, "x")
    assert str(caught.value) == message


@pytest.mark.parametrize("array", [pa.array([[1], None]), pa.array([{"a": 1}])])
def test_nested_arrow_columns_are_refused(array):
    with pytest.raises(TypeError, match=r"must hold single values, not (list|struct)"):
        factor_from_arrow(array, "x")


NAMES = ["age", "education", "marital_status", "Race"]


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [(None, NAMES), ("age", ["age"]), (("Race", "age"), ["Race", "age"])],
)
def test_columns_are_chosen_in_the_order_asked_for(columns, chosen):
    assert choose_columns(NAMES, columns) == chosen


@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        (
            NAMES,
            ["age", "maritalstatus"],
            "columns must be columns of the table; got columns[1] = 'maritalstatus'. Did "
            "you mean 'marital_status'?",
        ),
        (
            NAMES,
            ["race"],
            "columns must be columns of the table; got columns[0] = 'race'. Did you mean 'Race'?",
        ),
        (
            NAMES,
            "zzz",
            "columns must be columns of the table; got columns[0] = 'zzz'. The table has "
            "'age', 'education', 'marital_status', 'Race'",
        ),
        (
            [0, 1],
            ["0"],
            "columns must be columns of the table; got columns[0] = '0'. Did you mean 0?",
        ),
        (
            [f"{i:02}" for i in range(40)],
            ["x"],
            "columns must be columns of the table; got columns[0] = 'x'. The table has "
            "'00', '01', '02', '03', '04', '05', '06', '07' and 32 more",
        ),
        (
            NAMES,
            ["age", "Race", "age"],
            "columns must name each column once; got columns[2] = 'age'",
        ),
        (NAMES, [], "columns must name at least one column"),
        ([], None, "table must have at least one column"),
    ],
)
def test_wrong_columns_are_refused_and_the_near_ones_named(names, columns, message):
    with pytest.raises(ValueError, match=r"^(columns|table) must") as caught:
        choose_columns(names, columns)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["i1", "i2", "u1", "i8", "u8", "f4", "f8", ">i8", "bool"])
def test_a_numeric_column_of_pandas_is_that_of_a_dict(kind):
    """Numbers are taken from pandas as they are: by values, not by the type of the column."""
    values = np.array([100, 3, -7 if kind[0] == "i" else 7, 3, 0, 100]).astype(kind)
    if kind[0] == "f":
        values[4] = np.nan
    taken = dict(each_factor(pd.DataFrame({"a": values, "b": list("xyzxyz")}), ["a"]))["a"]
    plain = factor_from_values(values, "a")
    assert [taken.value(k) for k in taken.codes] == [plain.value(k) for k in plain.codes]
    assert taken.n_missing == plain.n_missing == (kind[0] == "f")
