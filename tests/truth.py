"""The truth: what every kernel is held against, and how close it has to come.

:data:`CASES` is the one table that the accuracy tests, the tables stored in ``tests/data``,
``tests/accuracy.py`` and the benchmarks read; a new kernel adds a row here, and its truth to
``referee.py``.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Sequence

import hypergeometric
import numpy as np
import referee
import samplers
from case import Case, Region
from referee import EPS, max_leakage, max_leakage_by_enumeration, rounded

__all__ = [
    "CASES",
    "EPS",
    "Case",
    "Region",
    "describe",
    "errors",
    "max_leakage",
    "max_leakage_by_enumeration",
    "truths",
]


def truths(
    case: Case, columns: Sequence[np.ndarray], processes: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The truth at each point, :func:`rounded`: columns (truth, rest)."""
    points = list(zip(*(column.tolist() for column in columns), strict=True))
    jobs = [(case.name, points[i : i + 100]) for i in range(0, len(points), 100)]
    if processes == 1:
        parts = map(_truths_of, jobs)
        rows = [row for part in parts for row in part]
    else:
        with multiprocessing.Pool(processes) as pool:
            rows = [row for part in pool.imap(_truths_of, jobs) for row in part]
    truth, rest = np.array(rows, np.float64).reshape(-1, 2).T
    return truth, rest


def _truths_of(job: tuple[str, list[tuple[float, ...]]]) -> list[tuple[float, float]]:
    name, points = job
    truth = next(case.truth for case in CASES if case.name == name)
    return [rounded(truth(*point)) for point in points]


def errors(case: Case, got: np.ndarray, truth: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Error of `got` in eps, `truth` and `rest` being what :func:`rounded` gave.

    The difference of neighbouring float64 is exact, and `rest` restores what rounding the truth
    took away: an error of 2.4 eps reads 2.4, not 2 or 3.  NaN counts as an infinite error.
    """
    size = np.abs(truth)
    scale = np.maximum(size, case.floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        taken = np.where(size > 0, rest * (size / scale), 0.0)
        error = np.where(got == truth, np.abs(taken), np.abs((got - truth) / scale / EPS - taken))
    return np.where(np.isnan(error), np.inf, error)


def describe(
    case: Case,
    columns: Sequence[np.ndarray],
    got: np.ndarray,
    truth: np.ndarray,
    error: np.ndarray,
    count: int = 5,
) -> str:
    """The worst points, in hexadecimal, to paste into a bug report."""
    lines = []
    for i in np.argsort(-error)[:count]:
        values = ", ".join(
            f"{name}={float(column[i]).hex()}"
            for name, column in zip(case.arguments, columns, strict=True)
        )
        lines.append(
            f"{case.name}({values}) = {float(got[i]).hex()}, truth {float(truth[i]).hex()}: "
            f"{error[i]:.4g} eps"
        )
    return "\n".join(lines)


def _everywhere(*columns: np.ndarray) -> np.ndarray:
    return np.ones(columns[0].shape, bool)


def _smaller_mean(n: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.minimum(n * p, n * (1 - p))


def _sds(c: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    return (c - n * p) / np.sqrt(n * p * (1 - p))


def _saddle(n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Where the saddle-point form stands; a hair above 16, for the product here is rounded."""
    return _smaller_mean(n, p) >= 16 * (1 + 4 * EPS)


_MAD_REGIONS = (
    Region("n p, n(1-p) >= 16 and n >= 2^32", lambda n, p: _saddle(n, p) & (n >= 2**32), 2.5),
    Region("n p, n(1-p) >= 16 and n < 2^32", lambda n, p: _saddle(n, p), 2.5),
    Region("n p or n(1-p) in [1, 16)", lambda n, p: _smaller_mean(n, p) >= 1, 4.0),
    Region("n p or n(1-p) < 1", _everywhere, 4.0),
)

#: 4e-15 relative, in eps.
_TAIL_BOUND = 4e-15 / EPS

#: 2e-14: far into a tail P(B = 0) is the exponential of n log(1-p), which errs by 2^-57 of itself.
_DEEP_BOUND = 2e-14 / EPS


def _tail_regions(sign: int) -> tuple[Region, ...]:
    """Regions by the distance of c from the mean, into the tail where `sign` points."""

    def beyond(sds: float) -> Callable[..., np.ndarray]:
        return lambda c, n, p: sign * _sds(c, n, p) >= sds

    return (
        Region("n p or n(1-p) < 16", lambda c, n, p: _smaller_mean(n, p) < 16, _DEEP_BOUND),
        Region("20 sd or more into the tail", beyond(20), _DEEP_BOUND),
        Region("6 to 20 sd into the tail", beyond(6), _TAIL_BOUND),
        Region("1 to 6 sd into the tail", beyond(1), _TAIL_BOUND),
        Region("within 1 sd of the mean", beyond(-1), _TAIL_BOUND),
        Region("beyond the mean", _everywhere, _TAIL_BOUND),
    )


_LOGPMF_REGIONS = (
    Region("k = 0 or k = n", lambda k, n, p: (k == 0) | (k == n), 6.0),
    Region("n p or n(1-p) < 16", lambda k, n, p: _smaller_mean(n, p) < 16, 6.0),
    Region("within 6 sd of the mean", lambda k, n, p: np.abs(_sds(k, n, p)) < 6, 6.0),
    Region("further out", _everywhere, 6.0),
)

_TOP = 2.0**53

_MAD_EDGES = (
    ((0, 0.5), 0.0),
    ((0, 0.0), 0.0),
    ((7, 0.0), 0.0),
    ((7, 1.0), 0.0),
    ((_TOP, 0.0), 0.0),
    ((_TOP, 1.0), 0.0),
    ((1, 0.5), 0.5),
    ((2, 0.5), 0.5),
    ((4, 0.5), 0.75),
    ((1, 0.25), 0.375),
    ((1, 0.75), 0.375),
)

_INF = math.inf

_EXCESS_EDGES = (
    ((0, 0, 0.5), 0.0),
    ((-1, 0, 0.5), 1.0),
    ((1, 0, 0.5), 0.0),
    ((-2.5, 4, 0.5), 4.5),
    ((0, 4, 0.5), 2.0),
    ((-0.0, 4, 0.5), 2.0),
    ((4, 4, 0.5), 0.0),
    ((4.5, 4, 0.5), 0.0),
    ((1, 4, 0.0), 0.0),
    ((-1, 4, 0.0), 1.0),
    ((1.5, 4, 1.0), 2.5),
    ((4, 4, 1.0), 0.0),
    ((0.5, 1, 0.5), 0.25),
    ((_INF, 4, 0.5), 0.0),
    ((-_INF, 4, 0.5), _INF),
    ((_INF, _TOP, 1.0), 0.0),
    ((_TOP, _TOP, 0.5), 0.0),
    ((0, _TOP, 0.5), 2.0**52),
    ((0, _TOP, 1.0), _TOP),
)

_SHORTFALL_EDGES = (
    ((0, 0, 0.5), 0.0),
    ((1, 0, 0.5), 1.0),
    ((-1, 0, 0.5), 0.0),
    ((-2.5, 4, 0.5), 0.0),
    ((0, 4, 0.5), 0.0),
    ((4, 4, 0.5), 2.0),
    ((4.5, 4, 0.5), 2.5),
    ((1, 4, 0.0), 1.0),
    ((1.5, 4, 1.0), 0.0),
    ((4.5, 4, 1.0), 0.5),
    ((0.5, 1, 0.5), 0.25),
    ((_INF, 4, 0.5), _INF),
    ((-_INF, 4, 0.5), 0.0),
    ((_TOP, _TOP, 0.5), 2.0**52),
    ((_TOP, _TOP, 0.0), _TOP),
)

_SF_EDGES = (
    ((0, 0, 0.5), 0.0),
    ((-1, 0, 0.5), 1.0),
    ((-0.5, 4, 0.5), 1.0),
    ((-1, 4, 0.0), 1.0),
    ((0, 4, 0.0), 0.0),
    ((3, 4, 1.0), 1.0),
    ((3.5, 4, 1.0), 1.0),
    ((4, 4, 1.0), 0.0),
    ((4, 4, 0.5), 0.0),
    ((_TOP, _TOP, 0.5), 0.0),
    ((_INF, 4, 0.5), 0.0),
    ((-_INF, 4, 0.5), 1.0),
)

_LOGPMF_EDGES = (
    ((0, 0, 0.5), 0.0),
    ((0, 0, 0.0), 0.0),
    ((0, 0, 1.0), 0.0),
    ((0, 9, 0.0), 0.0),
    ((1, 9, 0.0), -_INF),
    ((9, 9, 1.0), 0.0),
    ((8, 9, 1.0), -_INF),
    ((-1, 9, 0.5), -_INF),
    ((10, 9, 0.5), -_INF),
    ((1, 0, 0.5), -_INF),
    ((_TOP, _TOP, 1.0), 0.0),
    ((0, _TOP, 0.0), 0.0),
)

_SPECIAL = "mialeak.special"

CASES = (
    Case(
        "binom_mad",
        _SPECIAL,
        ("n", "p"),
        referee.binom_mad,
        samplers.mad,
        _MAD_REGIONS,
        0.0,
        2.0**-1021,
        samplers.MAD_SEAMS,
        _MAD_EDGES,
        samplers.BINOMIAL,
    ),
    Case(
        "binom_excess",
        _SPECIAL,
        ("c", "n", "p"),
        referee.binom_excess,
        samplers.excess,
        _tail_regions(+1),
        0.0,
        1e-290,
        samplers.EXCESS_SEAMS,
        _EXCESS_EDGES,
        samplers.BINOMIAL,
    ),
    Case(
        "binom_shortfall",
        _SPECIAL,
        ("c", "n", "p"),
        referee.binom_shortfall,
        samplers.shortfall,
        _tail_regions(-1),
        0.0,
        1e-290,
        samplers.SHORTFALL_SEAMS,
        _SHORTFALL_EDGES,
        samplers.BINOMIAL,
    ),
    Case(
        "binom_sf",
        _SPECIAL,
        ("c", "n", "p"),
        referee.binom_sf,
        samplers.excess,
        _tail_regions(+1),
        0.0,
        1e-290,
        samplers.EXCESS_SEAMS,
        _SF_EDGES,
        samplers.BINOMIAL,
        stored=5_000,
    ),
    Case(
        "binom_logpmf",
        _SPECIAL,
        ("k", "n", "p"),
        referee.binom_logpmf,
        samplers.logpmf,
        _LOGPMF_REGIONS,
        1.0,
        0.0,
        samplers.LOGPMF_SEAMS,
        _LOGPMF_EDGES,
        samplers.BINOMIAL,
    ),
    *hypergeometric.CASES,
)
