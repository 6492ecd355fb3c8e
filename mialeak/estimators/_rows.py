"""What the rows of a fitted regression stand for, and what its columns were computed from.

An influence function is that of one row.  It is no person's where a row is a group or a person has
several rows, and it is not the whole influence where the columns were computed from all rows.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid
from mialeak._checks.samples import common_copies
from mialeak._numerics.whitening import Outside
from mialeak._warnings import warn
from mialeak.estimators._cells import sentence_on_cells

__all__ = [
    "refuse_computed_columns",
    "refuse_groups",
    "refusing_the_row",
    "times_of_rows",
    "warn_of_labels",
    "warn_of_repeats",
    "warn_of_times",
]

IntArray = npt.NDArray[np.int64]

#: Functions of formulas that compute a number from all rows, as methods or of NumPy.
_SUMMARY = re.compile(r"\.(mean|median|std|var|min|max|ptp|sum|quantile|percentile|average|rank)\(")
#: Functions of formulas whose columns are computed from all rows.
_LEARNED = re.compile(r"(?<![\w.])(center|standardize|scale|poly|bs|cs|cr|cc|te)\(")
#: Splines, and what fixes them: then nothing is computed from the rows.
_SPLINES = re.compile(r"(bs|cr|cc|cs)\(")
_FIXED = ("knots", "lower_bound", "upper_bound")
#: By how much of its largest entry a column may differ where it is computed again, by rounding.
_AGAIN = 1e-9


def times_of_rows(rows: FloatArray) -> IntArray:
    """How often each different row occurs."""
    numbers: dict[bytes, int] = {}
    one_zero = rows + 0.0
    places = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in one_zero])
    return np.bincount(places)


def warn_of_repeats(rows: FloatArray, argument: str) -> None:
    """Warn if each row of a public function's argument occurs several times."""
    if any(np.gcd.reduce(np.unique(each, return_counts=True)[1]) == 1 for each in rows.T):
        return  # so they are not copies; most columns of numbers show it
    times = times_of_rows(rows)
    warn_of_times(times, common_copies(times), argument)


def warn_of_times(times: IntArray, copies: int, argument: str) -> None:
    """Warn of rows that occur so many times, `copies` of them being those of a person; not of 1."""
    if copies == 1:
        return
    n = int(times.sum())
    warn(
        f"{n - times.size:,} of {n:,} rows of {argument} are equal to another one: each counts as "
        f"a person of its own. The leakage of a person with {copies} rows is {copies} to "
        f"{copies**2} times that of one. Fit and pass each person once",
    )


def refuse_groups(model: Any) -> None:
    """Refuse rows of which each stands for several, by their trials, frequencies or variances.

    Raises
    ------
    ValueError
        For rows with frequencies, and for numbers of successes in several trials, as such or as
        proportions that are weighted.

    Warns
    -----
    UserWarning
        For whole numbers above 1 as weights, exposures or exponents of offsets; for counts of the
        cells of a table; and for few rows of very different weights, as of studies.
    """
    counts = getattr(model, "freq_weights", None)
    if counts is not None and not np.all(np.asarray(counts) == 1.0):
        rule = "be made of single rows, not of rows with frequencies"
        invalid("result", rule, remedy="Repeat each row as often as it stands for")
    endog = np.asarray(model.endog, dtype=np.float64)
    trials = np.asarray(getattr(model, "n_trials", 1.0), dtype=np.float64)
    weights = np.asarray(getattr(model, "var_weights", 1.0), dtype=np.float64)
    family = type(getattr(model, "family", None)).__name__
    several = float(max(np.max(trials), np.max(weights) if family == "Binomial" else 0.0))
    if several > 1.0 or endog.ndim > 1:
        rule = (
            "be made of single rows; its rows are groups: their responses are successes in as "
            f"many as {several:,.6g} trials"
        )
        remedy = "Fit a row for each trial, with a response of 0 or 1: the coefficients are equal"
        invalid("result", rule, remedy=remedy)
    if family == "Binomial" and np.any((endog > 0.0) & (endog < 1.0)):
        warn(
            "responses lie between 0 and 1: where they are proportions of groups, a row is no "
            "person. Fit a row for each person, with a response of 0 or 1"
        )
    for what, numbers in _sizes(model, weights):
        if np.all(numbers >= 1.0) and np.all(numbers == np.rint(numbers)) and numbers.max() > 1.0:
            warn(
                f"{what} are whole numbers up to {numbers.max():,.6g}: where a row is the mean, or "
                "the count, of so many persons, the influence of a row is that of all of them "
                "together. Fit a row for each person"
            )
            return
    if sentence := sentence_on_cells(model):
        warn(sentence)


def _sizes(model: Any, weights: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """What may be numbers of persons in a row."""
    yield "var_weights", np.atleast_1d(weights)
    if hasattr(model, "wexog"):
        yield "weights", np.atleast_1d(np.asarray(getattr(model, "weights", 1.0), dtype=np.float64))
    for name in ("exposure", "offset"):  # the models keep their logarithms
        logs = getattr(model, name, None)
        if logs is not None and np.ndim(logs) == 1 and np.ptp(np.asarray(logs)) > 0.0:
            sizes = np.exp(np.asarray(logs, dtype=np.float64))
            whole = np.rint(sizes)
            yield name + "s", np.where(np.abs(sizes - whole) <= 1e-9 * sizes, whole, sizes)


def refuse_computed_columns(model: Any) -> None:
    """Refuse columns that a formula computed from all rows, as ``center(x)`` is.

    Functions of all rows are known by their names.  Other code is run again on halves of the rows:
    ``pd.qcut(x, 4)``, ``x.map(x.value_counts())`` and ``x.diff()`` have other entries there.
    """
    data = getattr(model, "data", None)
    design = getattr(data, "model_spec", None) or getattr(data, "design_info", None)
    if design is None:
        return
    codes = [str(name) for name in np.ravel(getattr(model, "endog_names", ""))]
    if hasattr(design, "factor_infos"):  # patsy
        codes += [factor.name() for factor in design.factor_infos]
    else:  # formulaic
        codes += [str(factor) for term in design.terms for factor in term.factors]
    for code in codes:
        is_spline = bool(_SPLINES.match(code)) and "constraints" not in code
        if is_spline and all(f"{name}=" in code.replace(" ", "") for name in _FIXED):
            continue
        if _LEARNED.search(code) or _SUMMARY.search(code):
            _refuse_computed(code, is_spline=is_spline)
    frame = getattr(data, "frame", None)
    if hasattr(frame, "iloc"):
        for code, column in _code_of(data, design):
            if _differs_on_halves(column, frame):
                _refuse_computed(code, is_spline=False)


def _refuse_computed(code: str, *, is_spline: bool) -> NoReturn:
    remedy = (
        "Put the column in as it is, or computed with edges and constants that do not come from "
        "the rows; where its mean and variance are published as well, pass joint_influence the "
        "fit, mean_influence and variance_influence"
    )
    if is_spline:
        remedy = "Pass knots, lower_bound and upper_bound that do not come from the rows"
    rule = f"have columns that are computed row by row; {code!r} is computed from all rows, so"
    invalid("result", f"{rule} that a row moves the others' entries too", remedy=remedy)


def _code_of(data: Any, design: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Each piece of code of a formula, and the function that runs it on rows of a table."""
    if hasattr(design, "factor_infos"):
        for side in (getattr(data.orig_endog, "design_info", None), design):
            for factor, info in getattr(side, "factor_infos", {}).items():

                def column(rows: Any, factor: Any = factor, state: Any = info.state) -> Any:
                    entries = factor.eval(state, rows)
                    return getattr(entries, "data", entries) if _is_box(entries) else entries

                yield factor.name(), column
        return
    # Formulaic does not keep the names around a formula.
    context = {short: sys.modules.get(name) for short, name in (("np", "numpy"), ("pd", "pandas"))}
    for term in design.terms:
        yield str(term), partial(design.subset([term]).get_model_matrix, context=context)


def _is_box(entries: Any) -> bool:
    """Whether these are the entries of ``C()``, beside its levels and contrasts."""
    return hasattr(entries, "contrast") and hasattr(entries, "levels")


def _differs_on_halves(column: Callable[[Any], Any], frame: Any) -> bool:
    """Whether entries of a column are others where it is computed from half of the rows.

    The halves are every second row, which splits groups, and the smaller and the larger entries,
    which have other quantiles and extremes.  Code that does not run on a half, or takes arrays of
    all rows from outside of the table, is not judged by it.
    """
    n = len(frame)
    whole = _entries(column, frame)
    if whole is None or len(whole) != n or n < 4:
        return False
    order = np.argsort(np.unique(whole[:, 0].astype(str), return_inverse=True)[1], kind="stable")
    if whole.dtype != object:
        order = np.argsort(whole[:, 0], kind="stable")
    for half in (order[: n // 2], order[n // 2 :], np.arange(0, n, 2), np.arange(1, n, 2)):
        rows = np.sort(half)
        again = _entries(column, frame.iloc[rows])
        is_known = again is not None and again.shape == whole[rows].shape
        if is_known and not _are_equal(again, whole[rows]):
            return True
    return False


def _errors_of_code() -> tuple[type[Exception], ...]:
    """What code that a formula holds may raise on other rows; patsy wraps it in its own error."""
    usual = ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError
    patsy = sys.modules.get("patsy")
    return (*usual, NameError, TypeError, ValueError, *([patsy.PatsyError] if patsy else []))


def _entries(column: Callable[[Any], Any], rows: Any) -> Any:
    """The entries of code that is run on rows, (n, k): floats or objects; None if it cannot be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has given them
        try:
            entries = np.asarray(column(rows))
        except _errors_of_code():
            return None
    if entries.ndim == 0:
        return None
    entries = entries.reshape(len(entries), -1)
    return entries.astype(np.float64 if entries.dtype.kind in "biuf" else object)


def _are_equal(first: Any, second: Any) -> bool:
    """Whether entries agree, but for rounding; missing ones are equal."""
    if first.dtype == second.dtype == np.float64:
        largest = np.abs(second[np.isfinite(second)]).max(initial=0.0)
        return bool(np.allclose(first, second, rtol=0.0, atol=_AGAIN * largest, equal_nan=True))
    missing = (first != first) & (second != second)
    return bool(np.all((first == second) | missing))


def warn_of_labels(model: Any) -> None:
    """Warn where rows have other numbers in their table."""
    n = len(model.exog)
    labels = getattr(getattr(model, "data", None), "row_labels", None)
    numbers = np.asarray(labels if labels is not None else [])
    if numbers.dtype.kind not in "iu" or numbers.size != n or n < 2:
        return
    steps = np.diff(numbers)
    # A first label beyond the rows is that of a year, or a number of people of another list.
    if np.all(steps > 0) and (np.any(steps > 1) or 1 < numbers[0] < n):
        place = int(np.flatnonzero(numbers != np.arange(n))[0])
        warn(
            f"rows are numbered from 0 as they stand in the fit, which left out rows of its table: "
            f"row {place} here is the one with the label {numbers[place]}"
        )


@contextmanager
def refusing_the_row(row: int) -> Iterator[None]:
    """Refuse a row that moves the estimates where no other does, in these words."""
    try:
        yield
    except ValueError as error:
        outside = error.__context__
        if not isinstance(outside, Outside):
            raise
        rule = f"move the estimates within the span of the others, of rank {outside.rank:,} in "
        remedy = "It leaks 1 by these rows: estimate less, or estimate from more rows"
        invalid("row", f"{rule}{outside.columns:,} estimates", value=row, remedy=remedy)
