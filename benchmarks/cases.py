"""What is timed, against what, and what it must give first.

:data:`CASES` is the one table that ``test_speed.py`` (pytest-benchmark) and ``table.py`` (the table
of docs/benchmarks.md) run.  A contender's result is asserted before it is timed, for a fast wrong
function is no news.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

# One core for each contender; must be set before NumPy and SciPy load their BLAS.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import mpmath
import numpy as np
import referee
import rivals
import truth
from audit_cases import AUDIT_CASES
from covariance_cases import COVARIANCE_CASES
from curve_cases import CURVE_CASES
from estimator_cases import ESTIMATOR_CASES
from exact_cases import EXACT_CASES
from game_cases import GAME_CASES
from mechanism_cases import MECHANISM_CASES
from single_cases import SINGLE_CASES
from speed_case import EPS, SpeedCase
from whitebox_cases import WHITEBOX_CASES

from mialeak import datasets, discrete, reference, scores, special, tables
from mialeak.laws import Bernoulli
from mialeak.reference import scores as score_twins

__all__ = ["ACCURACY_POINTS", "CASES", "SpeedCase"]

#: Points on which a function is held against ball arithmetic before it is timed.
ACCURACY_POINTS = 1000

QUASI_IDENTIFIERS = ("age", "education", "marital_status", "race", "sex")


#: SciPy's tail probabilities take tens of microseconds each at large n.
_FEW = 10_000

# --- binomial functions ------------------------------------------------------------------------


def wide_laws(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, p): n log-uniform in [2, 2**53] where n p and n (1-p) are at least 16."""
    rng = np.random.default_rng(1)
    n, p = np.empty(0), np.empty(0)
    while n.size < size:
        more_n, more_p = np.floor(np.exp2(rng.uniform(1, 53, size))), rng.random(size)
        kept = np.minimum(more_n * more_p, more_n * (1 - more_p)) >= 17
        n, p = np.append(n, more_n[kept]), np.append(p, more_p[kept])
    return n[:size], p[:size]


def mixed_laws(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The same n, and n p log-uniform in [1/1000, 1000] for half of them."""
    rng = np.random.default_rng(2)
    n = np.floor(np.exp2(rng.uniform(1, 53, size)))
    small = np.minimum(10 ** rng.uniform(-3, 3, size) / n, 0.5)
    return n, np.where(rng.random(size) < 0.5, small, rng.random(size))


def small_laws(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, p): n log-uniform in [10, 1000], p in [1/1000, 1/2]."""
    rng = np.random.default_rng(6)
    return np.floor(10 ** rng.uniform(1, 3, size)), rng.uniform(0.001, 0.5, size)


def with_cut(laws: Callable[[int], tuple[np.ndarray, np.ndarray]], size: int):
    """Columns (c, n, p) with c up to 6 standard deviations on either side of the mean."""
    n, p = laws(size)
    z = np.random.default_rng(3).uniform(-6, 6, size)
    return np.clip(n * p + z * np.sqrt(n * p * (1 - p)), 0, n), n, p


def with_count(laws: Callable[[int], tuple[np.ndarray, np.ndarray]], size: int):
    """Columns (k, n, p), k an integer."""
    c, n, p = with_cut(laws, size)
    return np.rint(c), n, p


def elementwise(
    label: str, name: str, setup: Callable[[int], tuple[Any, ...]], bound: float, **more: Any
) -> SpeedCase:
    """The row of a ufunc; truth, rivals and the scale of errors come from ``truth.CASES``."""
    case = next(case for case in truth.CASES if case.name == name)

    @cache
    def points(size: int) -> tuple[Any, ...]:
        columns = setup(size)
        return columns, *truth.truths(case, columns)

    def error(function: Callable[..., Any], size: int) -> float:
        columns, true, rest = points(size)
        with np.errstate(all="ignore"):
            error = truth.errors(case, function(*columns), true, rest)
        kept = np.maximum(np.abs(true), case.floor) >= case.least
        return float(error[kept].max())

    return SpeedCase(
        name=label,
        size=1_000_000,
        quick_size=1000,
        setup=setup,
        ours=getattr(special, name),
        rivals=case.rivals,
        error=error,
        bound=bound,
        floor=lambda *columns: np.add(columns[-2], columns[-1]),
        **more,
    )


#: Functions with rows of their own above, by the sizes that users have.
_SEVERAL_ROWS = {"binom_mad", "binom_excess", "binom_shortfall", "binom_sf", "binom_logpmf"}


def further(case: truth.Case) -> SpeedCase:
    """The row of any other function, on the points that its accuracy is measured on."""

    @cache
    def setup(size: int) -> tuple[Any, ...]:
        rng, most = np.random.default_rng(3), 100_000  # more are the same again
        columns = [np.empty(0) for _ in case.arguments]
        while columns[0].size < min(size, most):
            more = case.sampler(rng, most)
            can = case.rivals_can(more)
            columns = [np.append(a, b[can]) for a, b in zip(columns, more, strict=True)]
        return tuple(np.resize(column[:most], size) for column in columns)

    bound = max(region.bound for region in case.regions)
    return elementwise(f"`{case.name}`", case.name, setup, bound, rival_size=_FEW)


# --- leakage -----------------------------------------------------------------------------------


def dirichlet(size: int) -> tuple[np.ndarray]:
    """A law drawn from Dirichlet(1, ..., 1)."""
    weights = np.random.default_rng(4).exponential(size=size)
    return (weights / weights.sum(),)


def scipy_leakage(p: np.ndarray, n: int, gamma: float) -> float:
    """The vectorised SciPy form: one array expression over all atoms."""
    if gamma == 1:
        return rivals.max_leakage(p, n)
    return float(np.sum(rivals.binom_excess(gamma * n * p, n, p)) / n)


def leakage(label: str, n: int, gamma: float, size: int) -> SpeedCase:
    """The row of a largest leakage; its error is taken on fewer atoms, as rare as those timed."""
    few = 300

    def error(function: Callable[..., Any], size_timed: int) -> float:
        (p,) = dirichlet(few)
        fewer = max(n * few // size, 1)
        true, rest = referee.rounded(referee.max_leakage(p, fewer, gamma))
        with np.errstate(all="ignore"):
            return abs((function(p, n=fewer) - true) / true / EPS - rest)

    return SpeedCase(
        name=label,
        size=size,
        quick_size=1000,
        setup=dirichlet,
        ours=partial(discrete.max_leakage, n=n, gamma=gamma),
        rivals={
            "SciPy": partial(scipy_leakage, n=n, gamma=gamma),
            "NumPy twin": partial(reference.leakage_sum, n=n, gamma=gamma),
        },
        error=error,
        bound=1e-13 / EPS,
    )


def two_workers(n: int) -> SpeedCase:
    """One worker is the rival of two; they must agree to the last bit."""
    one, two = (partial(discrete.max_leakage, n=n, workers=workers) for workers in (1, 2))

    def error(function: Callable[..., Any], size: int) -> float:
        (p,) = dirichlet(size)
        return 0.0 if function(p) == one(p) else np.inf

    return SpeedCase(
        name=f"`max_leakage`, K = 10^7, n = {n:,}, two workers",
        size=10_000_000,
        quick_size=1000,
        setup=dirichlet,
        ours=two,
        rivals={"one worker": one},
        error=error,
    )


# --- scores ------------------------------------------------------------------------------------

#: Rows of each mean: a square, so that the truth needs no root of it.
ROWS = 1024


def released_means(size: int, *, draws: int = 1) -> tuple[Any, ...]:
    """``size`` entries of means in 5000 columns (one row if fewer), a target, probabilities."""
    rng = np.random.default_rng(5)
    columns = min(5000, size)
    p = rng.uniform(0.25, 0.75, columns)
    releases = rng.binomial(draws * ROWS, p, (size // columns, columns)) / ROWS
    return releases, rng.binomial(draws, p) * 1.0, p


def edgeworth(function: Callable[..., Any], releases: Any, target: Any, p: Any) -> Any:
    """`function` with the moments of bits."""
    law = Bernoulli(p)
    moments = law.mean, law.std, law.skewness, law.excess_kurtosis
    return function(releases, target, *moments, ROWS)


def exact(array: Any) -> Any:
    """The same numbers, to be computed with at 40 digits."""
    return np.array([mpmath.mpf(float(x)) for x in np.ravel(array)]).reshape(np.shape(array))


def edgeworth_terms_at_40_digits(releases: Any, target: Any, p: Any) -> Any:
    """The terms of the first release."""
    law = Bernoulli(p)
    moments = law.mean, law.std, law.skewness, law.excess_kurtosis
    given = map(exact, (releases[0], target, *moments))
    return score_twins.edgeworth_terms(*given, ROWS)


def bernoulli_terms_at_40_digits(releases: Any, target: Any, p: Any) -> Any:
    """The terms of the first release."""
    r, p = exact(releases[0]), exact(p)
    ratio = np.where(target == 1, r / p, (1 - r) / (1 - p))
    return np.array([mpmath.log(x) for x in ratio])


def genotype_terms_at_40_digits(releases: Any, target: Any, p: Any) -> Any:
    """The terms of the first release."""
    k, p, draws = exact(releases[0]) * ROWS, exact(p), 2 * ROWS
    first = np.where(target > 0, k / p, (draws - k) / (1 - p))
    left = np.where(target == 0, draws - k - 1, np.where(target == 1, draws - k, k - 1))
    ratio = first * left / np.where(target > 1, p, 1 - p) / (draws * (draws - 1))
    return np.array([mpmath.log(x) for x in ratio])


def score(
    label: str, ours: Any, twin: Any, exact_terms: Callable[..., Any], bound: float, draws: int = 1
) -> SpeedCase:
    """The row of a score; its error is that of the first sum, in eps a column."""
    setup = partial(released_means, draws=draws)

    def error(function: Callable[..., Any], size: int) -> float:
        arguments = setup(size)
        with mpmath.workdps(40):
            terms = exact_terms(*arguments)
            off = abs(mpmath.mpf(float(function(*arguments)[0])) - mpmath.fsum(terms))
            return float(off) / len(terms) / EPS

    return SpeedCase(
        name=label,
        size=5_000_000,
        quick_size=10_000,
        setup=setup,
        ours=ours,
        rivals={"NumPy twin": twin},
        error=error,
        bound=bound,
        floor=lambda releases, target, p: releases @ p,
        floor_name="releases @ w",
    )


# --- tables and imports ------------------------------------------------------------------------


def adult(size: int) -> tuple[Any]:
    """The quasi-identifiers of the Adult table, a pandas frame."""
    import pandas

    columns = datasets.load_adult().columns
    return (pandas.DataFrame({name: columns[name] for name in QUASI_IDENTIFIERS}),)


def table_plug_in(frame: Any) -> float:
    """The whole report, and from it the number that the rival gives."""
    return tables.table_leakage(frame).plug_in


def pandas_plug_in(frame: Any) -> float:
    """The plug-in value alone: joint counts by groupby, then the vectorised SciPy form."""
    counts = frame.groupby(list(frame.columns), observed=True).size().to_numpy()
    return rivals.max_leakage(counts / len(frame), len(frame))


def table_error(function: Callable[..., Any], size: int) -> float:
    """Error of the plug-in value, in eps."""
    (frame,) = adult(size)
    counts = frame.value_counts(sort=False).to_numpy()
    true, rest = referee.rounded(referee.max_leakage(counts / len(frame), len(frame)))
    return abs((function(frame) - true) / true / EPS - rest)


def run_python(code: str) -> None:
    """Run `code` in a fresh interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True)


#: 4e-15 relative, in eps.
_TAIL = 4e-15 / EPS

CASES = (
    elementwise("`binom_mad`, n p and n(1-p) >= 16", "binom_mad", wide_laws, 2.5),
    elementwise("`binom_mad`, half with small n p", "binom_mad", mixed_laws, 4.0),
    elementwise(
        "`binom_excess`", "binom_excess", partial(with_cut, wide_laws), _TAIL, rival_size=_FEW
    ),
    elementwise(
        "`binom_shortfall`", "binom_shortfall", partial(with_cut, wide_laws), _TAIL, rival_size=_FEW
    ),
    elementwise("`binom_sf`", "binom_sf", partial(with_cut, wide_laws), _TAIL, rival_size=_FEW),
    elementwise(
        "`binom_sf`, n from 10 to 1000",
        "binom_sf",
        partial(with_cut, small_laws),
        _TAIL,
        rival_size=_FEW,
    ),
    elementwise(
        "`binom_excess`, n from 10 to 1000",
        "binom_excess",
        partial(with_cut, small_laws),
        _TAIL,
        rival_size=_FEW,
    ),
    elementwise("`binom_logpmf`", "binom_logpmf", partial(with_count, wide_laws), 6.0),
    *(further(case) for case in truth.CASES if case.name not in _SEVERAL_ROWS),
    leakage("`max_leakage`, K = 10^7, n = 10^6", 10**6, 1.0, 10**7),
    leakage("`max_leakage`, K = 10^7, n = 10^9", 10**9, 1.0, 10**7),
    leakage("`max_leakage`, K = 10^6, n = 10^9, gamma = 1.25", 10**9, 1.25, 10**6),
    two_workers(10**6),
    score(
        "`edgeworth_score`, T = 1000, d = 5000, order 3",
        partial(edgeworth, scores.edgeworth_score),
        lambda *given: edgeworth(score_twins.edgeworth_terms, *given).sum(axis=1),
        edgeworth_terms_at_40_digits,
        2.0,
    ),
    score(
        "`bernoulli_score`, T = 1000, d = 5000",
        partial(scores.bernoulli_score, n=ROWS),
        partial(score_twins.bernoulli_score, n=ROWS),
        bernoulli_terms_at_40_digits,
        2.0,
    ),
    score(
        "`genotype_score`, T = 1000, d = 5000",
        partial(scores.genotype_score, n=ROWS),
        partial(score_twins.genotype_score, n=ROWS),
        genotype_terms_at_40_digits,
        2.0,
        draws=2,
    ),
    *COVARIANCE_CASES,
    *CURVE_CASES,
    *AUDIT_CASES,
    *ESTIMATOR_CASES,
    *EXACT_CASES,
    *GAME_CASES,
    *WHITEBOX_CASES,
    *MECHANISM_CASES,
    *SINGLE_CASES,
    SpeedCase(
        name="`table_leakage`, Adult: 32,561 rows, 6,493 cells",
        size=32_561,
        quick_size=32_561,
        setup=adult,
        ours=table_plug_in,
        rivals={"pandas and SciPy": pandas_plug_in},
        error=table_error,
        bound=1e-13 / EPS,
        unit="call",
    ),
    SpeedCase(
        name="`import mialeak` and NumPy",
        size=1,
        quick_size=1,
        setup=lambda size: (),
        ours=partial(run_python, "import numpy, mialeak"),
        rivals={"import numpy": partial(run_python, "import numpy")},
        unit="call",
    ),
)
