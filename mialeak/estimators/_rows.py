"""What the rows of a fitted regression stand for, and what its columns were computed from.

An influence function is that of one row.  It is no person's where a row is a group or a person has
several rows, and it is not the whole influence where the columns were computed from all rows.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, invalid

__all__ = ["refuse_computed_columns", "refuse_groups", "warn_of_rows", "warn_of_standard_columns"]

#: Functions of formulas that compute a number from all rows, as methods or of NumPy.
_SUMMARY = re.compile(r"\.(mean|median|std|var|min|max|ptp|sum|quantile|percentile|average|rank)\(")
#: Functions of formulas whose columns are computed from all rows.
_LEARNED = re.compile(r"(?<![\w.])(center|standardize|scale|poly|bs|cs|cr|cc|te)\(")
#: Splines, and what fixes them: then nothing is computed from the rows.
_SPLINES = re.compile(r"(bs|cr|cc|cs)\(")
_FIXED = ("knots", "lower_bound", "upper_bound")

#: Rounding of a mean of 0 and a standard deviation of 1, for each row's share.
_ROUNDING = 1e-13
#: Columns of so few different values may be a design that has this mean by plan.
_LEVELS = 6


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
        For whole numbers above 1 as weights, exposures or exponents of offsets.
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
        _warn(
            "responses lie between 0 and 1: where they are proportions of groups, a row is no "
            "person. Fit a row for each person, with a response of 0 or 1"
        )
    for what, numbers in _sizes(model, weights):
        if np.all(numbers >= 1.0) and np.all(numbers == np.rint(numbers)) and numbers.max() > 1.0:
            _warn(
                f"{what} are whole numbers up to {numbers.max():,.6g}: where a row is the mean, or "
                "the count, of so many persons, the influence of a row is that of all of them "
                "together. Fit a row for each person"
            )
            return


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
    """Refuse columns that a formula computed from all rows, as ``center(x)`` is."""
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
        if not (_LEARNED.search(code) or _SUMMARY.search(code)):
            continue
        remedy = (
            "Put the column in as it is; where its mean and variance are published as well, pass "
            "joint_influence the fit, mean_influence and variance_influence"
        )
        if is_spline:
            remedy = "Pass knots, lower_bound and upper_bound that do not come from the rows"
        rule = f"have columns that are computed row by row; {code!r} is computed from all rows, so"
        invalid("result", f"{rule} that a row moves the others' entries too", remedy=remedy)


def warn_of_rows(result: Any) -> None:
    """Warn where persons have several rows, and where rows have other numbers in their table."""
    groups = (getattr(result, "cov_kwds", None) or {}).get("groups")
    n = len(result.model.exog)
    if groups is not None and len(groups) == n:
        for column in np.asarray(groups).reshape(n, -1).T:
            size = len(set(column.tolist()))
            if size < n:
                _warn(
                    f"the standard errors are those of {size:,} groups, and each of {n:,} rows "
                    "counts as a person of its own. If a group is a person, sum the rows of "
                    f"influence by group, times {size:,} / {n:,}, and pass theta and these sums to "
                    "InfluenceFunctions"
                )
                break
    labels = getattr(getattr(result.model, "data", None), "row_labels", None)
    numbers = np.asarray(labels if labels is not None else [])
    if numbers.dtype.kind not in "iu" or numbers.size != n or n < 2:
        return
    steps = np.diff(numbers)
    # A first label beyond the rows is that of a year, or a number of people of another list.
    if np.all(steps > 0) and (np.any(steps > 1) or 1 < numbers[0] < n):
        place = int(np.flatnonzero(numbers != np.arange(n))[0])
        _warn(
            f"rows are numbered from 0 as they stand in the fit, which left out rows of its table: "
            f"row {place} here is the one with the label {numbers[place]}"
        )


def warn_of_standard_columns(X: Any) -> None:
    """Warn of columns with mean 0 and standard deviation 1, as those standardised by themselves."""
    table = as_floats(X, "X")
    n = len(table)
    places = []
    for place, column in enumerate(table.T):
        size = float(np.abs(column).sum())
        if not size or abs(float(column.sum())) > _ROUNDING * n * size:
            continue
        square = float(column @ column)
        is_one = any(abs(square - one) <= 1e-9 * one for one in (n, n - 1.0, 1.0))
        if is_one and np.unique(column).size >= min(_LEVELS, n):
            places.append(place)
    if places:
        shown = ", ".join(map(str, places[:3])) + (", ..." if len(places) > 3 else "")
        _warn(
            f"{len(places)} of {table.shape[1]} columns of X (column {shown}) have mean 0 and "
            "standard deviation 1, as where they were standardised by these rows: each row moves "
            "these two as well, and coefficients with them. Fit the columns as they were; where "
            "means and deviations are published as well, take joint_influence of the fit, "
            "mean_influence and variance_influence (of columns with at least three values)"
        )


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=5)
