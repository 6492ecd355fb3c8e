"""The special functions are ufuncs: shapes, dtypes, layouts, ``out=``, ``where=``, containers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import zoo
from scipy import special as scipy_special
from truth import CASES

from mialeak import special

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

COUNTS = np.arange(1.0, 24.0)
PROBABILITIES = np.linspace(0.02, 0.97, 23)


def points(case) -> list[np.ndarray]:
    """23 good points in the order of the arguments."""
    return [case.family.points[name] for name in case.arguments]


def analogue(case):
    """A function of scipy.special with as many real arguments."""
    several = [scipy_special.betaln, scipy_special.betainc, scipy_special.ncfdtr]
    return several[len(case.arguments) - 2]


# --- ufuncs ------------------------------------------------------------------------------------


@each_case
def test_it_is_a_ufunc_that_explains_itself(case):
    function = case.function
    assert isinstance(function, np.ufunc)
    assert function.__name__ == case.name
    assert (function.nin, function.nout) == (len(case.arguments), 1)
    assert "Examples" in function.__doc__
    assert case.name in special.__all__


@each_case
def test_scalars_give_scalars_and_arrays_arrays(case):
    numbers = [float(column[4]) for column in points(case)]
    assert isinstance(case.function(*numbers), np.float64)
    assert isinstance(case.function(*map(np.float64, numbers)), np.float64)
    one = case.function(*(np.array([number]) for number in numbers))
    assert one.shape == (1,)
    assert one.dtype == np.float64
    assert isinstance(case.function(*(np.array(number) for number in numbers)), np.float64)


@each_case
def test_arguments_broadcast(case):
    columns = points(case)
    expected = case.function(*np.broadcast_arrays(columns[0][:, None], *columns[1:]))
    assert expected.shape == (23, 23)
    assert np.array_equal(case.function(columns[0][:, None], *columns[1:]), expected)
    one_row = case.function(columns[0][0], *columns[1:])
    assert np.array_equal(one_row, expected[0])
    spread = [np.broadcast_to(column[5], (4, 5)) for column in columns]
    assert np.all(case.function(*spread) == case.function(*(column[5] for column in columns)))
    with pytest.raises(ValueError, match="broadcast"):
        case.function(columns[0][:3], *(column[:4] for column in columns[1:]))


@each_case
@pytest.mark.parametrize("shape", zoo.EMPTY)
def test_empty_in_empty_out(case, shape):
    result = case.function(*(np.empty(shape) for _ in case.arguments))
    assert result.shape == shape
    assert result.dtype == np.float64


@each_case
@pytest.mark.parametrize(
    "size", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1025]
)
def test_every_length_is_filled_to_its_end_and_no_further(case, size):
    columns = [np.resize(column, size) for column in points(case)]
    room = np.full(size + 2, 77.0)
    case.function(*columns, out=room[1:-1])
    expected = np.resize(case.function(*points(case)), size)
    assert room[0] == room[-1] == 77
    assert np.array_equal(room[1:-1], expected)
    # Strides and integers go through buffers of their own.
    spaced = np.full(2 * size + 2, 77.0)
    case.function(*(np.repeat(column, 2)[::2] for column in columns), out=spaced[1:-1:2])
    assert np.array_equal(spaced[1:-1:2], expected)
    assert np.all(spaced[::2] == 77)
    integers = [
        c if name in "cp" else c.astype(int)
        for name, c in zip(case.arguments, columns, strict=True)
    ]
    assert np.array_equal(case.function(*integers), expected)


@each_case
def test_any_layout_gives_the_same_bits(case):
    columns = points(case)
    expected = case.function(*columns)
    for i in range(len(columns)):
        for name, array in zoo.layouts(columns[i]):
            before = array.copy()
            arguments = [*columns[:i], array, *columns[i + 1 :]]
            assert np.array_equal(case.function(*arguments), expected), name
            assert zoo.is_untouched(before, array), name
    for layouts in zip(*(zoo.layouts(column) for column in columns), strict=True):
        result = case.function(*(array for _, array in layouts))
        assert np.array_equal(result, expected), layouts[0][0]


@each_case
def test_matrices_of_any_order_give_the_same_bits(case):
    columns = [np.resize(column, (6, 10)) for column in points(case)]
    expected = case.function(*columns)
    for change in (np.asfortranarray, lambda x: x[::1].copy(order="F"), lambda x: x + 0):
        assert np.array_equal(case.function(*map(change, columns)), expected)
    assert np.array_equal(case.function(*(x.T for x in columns)), expected.T)
    assert np.array_equal(case.function(*(x[::-2, ::3] for x in columns)), expected[::-2, ::3])


@each_case
def test_out_may_be_anything_that_can_take_the_values(case):
    columns = points(case)
    expected = case.function(*columns)
    for name, out in zoo.layouts(np.zeros(23)):
        if name == "read-only":
            with pytest.raises(ValueError, match="read-only"):
                case.function(*columns, out=out)
            continue
        assert case.function(*columns, out=out) is out
        assert np.array_equal(out, expected), name
    single = np.zeros(23, np.float32)
    case.function(*columns, out=single, casting="same_kind")
    assert np.array_equal(single, expected.astype(np.float32))
    with pytest.raises(TypeError, match="Cannot cast"):
        case.function(*columns, out=np.zeros(23, int))
    with pytest.raises(ValueError, match="broadcast"):
        case.function(*columns, out=np.zeros(22))


@each_case
def test_out_may_be_an_argument_or_overlap_one(case):
    expected = case.function(*points(case))
    for i in range(len(case.arguments)):
        columns = [column.copy() for column in points(case)]
        assert np.array_equal(case.function(*columns, out=columns[i]), expected)
        columns = [column.copy() for column in points(case)]
        backing = np.concatenate([columns[i], [0.0]])
        columns[i] = backing[:-1]
        assert np.array_equal(case.function(*columns, out=backing[1:]), expected)


@each_case
def test_where_leaves_the_rest_alone(case):
    columns = points(case)
    expected = case.function(*columns)
    mask = np.arange(23) % 3 == 0
    out = np.full(23, 77.0)
    # What is masked out is not computed: bad points there go without a warning.
    bad = [np.where(mask, column, -0.5) for column in columns]
    case.function(*bad, out=out, where=mask)
    assert np.array_equal(out, np.where(mask, expected, 77.0))


@each_case
def test_methods_of_a_ufunc_work(case):
    columns = points(case)
    if len(columns) == 2:
        outer = case.function.outer(columns[0], columns[1])
        assert np.array_equal(outer, case.function(columns[0][:, None], columns[1]))
    assert pickle.loads(pickle.dumps(case.function)) is case.function
    assert copy.deepcopy(case.function) is case.function


# --- numbers -----------------------------------------------------------------------------------


@each_case
def test_whole_numbers_of_any_dtype_are_taken_exactly(case):
    columns = points(case)
    expected = case.function(*columns)
    for i, name in enumerate(case.arguments):
        if name == "p":
            continue
        for dtype, array in zoo.number_types(columns[i]):
            arguments = [*columns[:i], array, *columns[i + 1 :]]
            if dtype == np.dtype("g").name:
                with pytest.raises(TypeError, match="not supported"):
                    case.function(*arguments)
                continue
            result = case.function(*arguments)
            assert result.dtype == np.float64, dtype
            assert np.array_equal(result, expected), dtype


@each_case
def test_float32_numbers_are_widened_not_rounded_further(case):
    columns = points(case)
    single = columns[-1].astype(np.float32)
    result = case.function(*columns[:-1], single)
    assert result.dtype == np.float64
    assert np.array_equal(result, case.function(*columns[:-1], single.astype(np.float64)))


@each_case
def test_booleans_are_zero_and_one(case):
    columns = [np.zeros(2) if name in "ckh" else np.array([0, 1]) for name in case.arguments]
    if case.arguments[-1] == "p":
        columns[-1] = np.array([0.25, 0.25])
    as_bool = [c.astype(bool) if c.dtype != float else c for c in columns]
    assert np.array_equal(case.function(*as_bool), case.function(*columns))


@each_case
@pytest.mark.parametrize(("count", "inside"), zoo.EXTREME_COUNTS)
def test_integers_are_never_rounded_into_the_domain(case, count, inside):
    """2**53 + 1 would be 2**53 as a float64, and would pass."""
    good = [1 if name in "ck" else 0.5 if name == "p" else 0 for name in case.arguments]
    place = case.arguments.index(case.family.largest)
    for dtype in (np.int64, np.uint64):
        if not np.iinfo(dtype).min <= count <= np.iinfo(dtype).max:
            continue
        for n in (dtype(count), np.full(9, count, dtype)):
            arguments = [*good[:place], n, *good[place + 1 :]]
            if inside:
                expected = case.function(*good[:place], float(count), *good[place + 1 :])
                assert np.all(case.function(*arguments) == expected)
            else:
                with pytest.warns(RuntimeWarning, match="invalid value"):
                    result = case.function(*arguments)
                assert np.all(np.isnan(result))


@each_case
def test_integers_are_exact_beside_arguments_of_any_dtype(case):
    """No other argument may choose a loop in which an integer is rounded."""
    too_many = np.array([2**53 + 1])
    place = case.arguments.index(case.family.largest)
    for dtype in (np.float64, np.float32, np.int8, np.int64, np.uint64, bool):
        others = [np.ones(1, dtype) for _ in case.arguments]
        for count in (too_many, too_many.astype(np.uint64)):
            arguments = [*others[:place], count, *others[place + 1 :]]
            with pytest.warns(RuntimeWarning, match="invalid value"):
                assert np.isnan(case.function(*arguments)), dtype


def test_an_integer_k_is_exact_too():
    for k in (np.array([2**53 + 1]), np.array([2**53 + 1], np.uint64)):
        for n in (2**53, 2.0**53, np.array([2**53], np.uint64)):
            assert special.binom_logpmf(k, n, 1.0) == -np.inf, (k.dtype, n)


def test_python_integers_are_exact_too():
    assert special.binom_mad(2**53, 0.5) == special.binom_mad(2.0**53, 0.5)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(special.binom_mad(2**53 + 1, 0.5))


@each_case
@pytest.mark.parametrize(
    "wrong",
    [
        np.array([1 + 0j]),
        np.array(["1"]),
        np.array([None]),
        np.array([1], object),
        np.array(["2024-01-01"], "M8[D]"),
    ],
    ids=["complex", "string", "None", "object", "date"],
)
def test_what_is_no_real_number_is_a_type_error_as_in_scipy(case, wrong):
    for i in range(len(case.arguments)):
        arguments = [column[:1] for column in points(case)]
        arguments[i] = wrong
        with pytest.raises(TypeError):
            case.function(*arguments)
        with pytest.raises(TypeError):
            analogue(case)(*arguments)


def test_the_number_of_arguments_is_checked():
    with pytest.raises(TypeError):
        special.binom_mad(3)
    with pytest.raises(TypeError):
        special.binom_mad(3, 0.5, 0.5, 0.5)
    with pytest.raises(TypeError):
        special.binom_mad(n=3, p=0.5)


# --- containers --------------------------------------------------------------------------------


@each_case
def test_containers_are_taken_as_scipy_takes_them(case):
    columns = points(case)
    expected = case.function(*columns)
    for name, container in zoo.containers(columns[-1]):
        result = case.function(*columns[:-1], container)
        like = analogue(case)(*columns[:-1], container)
        assert type(result) is type(like), name
        assert np.array_equal(np.asarray(result), expected), name


def test_subclasses_keep_what_they_carry():
    p = PROBABILITIES.view(zoo.Tagged)
    p.tag = "kept"
    assert special.binom_mad(COUNTS, p).tag == "kept"


def test_masked_elements_stay_masked():
    p = np.ma.masked_array(PROBABILITIES, mask=np.arange(23) % 4 == 0)
    result = special.binom_mad(COUNTS, p)
    assert np.array_equal(result.mask, p.mask)
    assert np.array_equal(result.compressed(), special.binom_mad(COUNTS, PROBABILITIES)[~p.mask])


@each_case
def test_pandas_keeps_index_and_name(case):
    pandas = pytest.importorskip("pandas")
    columns = points(case)
    expected = case.function(*columns)
    index = [f"row {i}" for i in range(23)]
    series = [pandas.Series(column, index=index, name="x") for column in columns]
    result = case.function(*series)
    pandas.testing.assert_series_equal(result, pandas.Series(expected, index=index, name="x"))
    frame = pandas.DataFrame({"a": columns[-1], "b": columns[-1][::-1]})
    others = [column[:, None] for column in columns[:-1]]
    result = case.function(*others, frame)
    assert isinstance(result, pandas.DataFrame)
    assert np.array_equal(result["a"], expected)


def test_pandas_aligns_as_for_any_ufunc():
    pandas = pytest.importorskip("pandas")
    n = pandas.Series([5, 6, 7], index=["a", "b", "c"])
    p = pandas.Series([0.5, 0.25, 0.125], index=["c", "b", "a"])
    result = special.binom_mad(n, p)
    assert result["a"] == special.binom_mad(5, 0.125)
    assert result["c"] == special.binom_mad(7, 0.5)


@each_case
def test_polars_series_give_series(case):
    polars = pytest.importorskip("polars")
    columns = points(case)
    series = [polars.Series("x", column) for column in columns]
    result = case.function(*series)
    assert type(result) is type(analogue(case)(*series)) is polars.Series
    assert np.array_equal(result.to_numpy(), case.function(*columns))


@each_case
def test_dask_arrays_stay_lazy(case):
    dask_array = pytest.importorskip("dask.array")
    columns = points(case)
    lazy = [dask_array.from_array(column, chunks=5) for column in columns]
    result = case.function(*lazy)
    assert isinstance(result, dask_array.Array)
    assert result.dtype == np.float64
    assert np.array_equal(result.compute(scheduler="sync"), case.function(*columns))


# Any ufunc of NumPy 2 warns so: the tensor's own method takes the arguments of NumPy 1.
@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")
@each_case
def test_torch_tensors_on_the_cpu_are_taken(case):
    torch = pytest.importorskip("torch")
    columns = points(case)
    result = case.function(*(torch.from_numpy(column.copy()) for column in columns))
    assert np.array_equal(np.asarray(result), case.function(*columns))
