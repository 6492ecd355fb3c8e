"""What ``decades.py`` times: functions at the sizes users have, their rivals and their limits."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Row", "all_rows"]

#: Decades of n, and elements of the rows of a decade; the rivals take fewer.
DECADES, COUNT, FEW = (1, 3, 6, 9), 20_000, 2_000
#: Atoms of a law, columns of a score, scores of an audit.
ATOMS, COLUMNS, SCORES = 20_000, (10, 1000, 10**6), (1000, 10**6)
#: SciPy's hypergeometric law takes minutes for a call at larger populations.
SCIPY_HYPERGEOMETRIC = 3

Call = Callable[[], object]


class Row(NamedTuple):
    """What is timed; `elements` of each call.  The rival may take fewer."""

    name: str
    elements: int
    ours: Call
    rival: Call | None = None
    rival_elements: int = 0
    limit: Call | None = None
    limit_name: str = "np.add"


def binomial(low: int, size: int, least: float = 0, most: float = 6) -> tuple[np.ndarray, ...]:
    """Columns c, n, p: n in the decade, c up to 6 standard deviations on both sides of the mean."""
    rng = np.random.default_rng(1)
    n, p = np.floor(10 ** rng.uniform(low, low + 1, size)), rng.uniform(0.001, 0.5, size)
    z = rng.choice([-1, 1], size) * rng.uniform(least, most, size)
    return np.clip(n * p + z * np.sqrt(n * p * (1 - p)), 0, n), n, p


def hypergeometric(low: int, size: int) -> tuple[np.ndarray, ...]:
    """Columns h, N, K, n: N in the decade, h up to 6 standard deviations from the mean."""
    rng = np.random.default_rng(2)
    rows = np.floor(10 ** rng.uniform(low, low + 1, size))
    marked, drawn = (np.maximum(np.floor(rows * rng.random(size)), 1) for _ in range(2))
    mean = marked * drawn / rows
    spread = np.sqrt(mean * (1 - marked / rows) * (1 - drawn / rows))
    least, most = np.maximum(0, marked + drawn - rows), np.minimum(marked, drawn)
    return (
        np.clip(np.rint(mean + rng.uniform(-6, 6, size) * spread), least, most),
        rows,
        marked,
        drawn,
    )


def deviation(N: np.ndarray, K: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The mean absolute deviation by the closed form and SciPy's probability."""
    from scipy import stats

    m = np.floor(n * K / N) + 1
    return 2 * m * (N - K - n + m) / N * stats.hypergeom.pmf(m, N, K, n)


def added(*columns: np.ndarray) -> object:
    return np.add(columns[-2], columns[-1])


def kernel_rows() -> Iterator[Row]:
    """Functions of `mialeak.special`, a decade and a call at a time."""
    import rivals
    from scipy import stats

    from mialeak import special

    for name in ("binom_mad", "binom_logpmf", "binom_sf", "binom_excess", "binom_shortfall"):
        ours, other = getattr(special, name), getattr(rivals, name)
        for decade in DECADES:
            columns = list(binomial(decade, COUNT))
            if name == "binom_logpmf":
                columns[0] = np.rint(columns[0])
            columns = columns[1:] if name == "binom_mad" else columns
            few = [column[:FEW] for column in columns]
            label = f"`{name}`, n = 1e{decade}"
            yield Row(label, COUNT, partial(ours, *columns), partial(other, *few), FEW,
                      partial(added, *columns))  # fmt: skip
        one = [column[0] for column in columns]
        yield Row(f"`{name}`, one call", 1, partial(ours, *one), partial(other, *one), 1,
                  partial(np.add, *one[-2:]))  # fmt: skip
    for name in ("hypergeom_mad", "hypergeom_logpmf", "hypergeom_sf"):
        ours = getattr(special, name)
        for decade in DECADES:
            h, *law = hypergeometric(decade, COUNT)
            columns = law if name == "hypergeom_mad" else [h, *law]
            other = None
            if decade <= SCIPY_HYPERGEOMETRIC:
                few = [column[:FEW] for column in columns]
                quantity = name.split("_")[1]
                form = deviation if quantity == "mad" else getattr(stats.hypergeom, quantity)
                other = partial(form, *few)
            label = f"`{name}`, N = 1e{decade}"
            yield Row(label, COUNT, partial(ours, *columns), other, FEW, partial(added, *columns))


def discrete_rows() -> Iterator[Row]:
    """Sums over the atoms of a law of n rows."""
    import rivals

    import mialeak

    p = np.random.default_rng(4).exponential(size=ATOMS)
    p /= p.sum()
    few = p[:FEW]
    for gamma in (1.0, 1.25):
        for decade in DECADES:
            n = 10**decade
            if gamma == 1.0:
                other = partial(rivals.max_leakage, few, n)
            else:
                other = partial(rivals.binom_excess, gamma * n * few, n, few)
            ours = partial(mialeak.max_leakage, p, n, gamma=gamma)
            label = f"`max_leakage`, gamma = {gamma:g}, n = 1e{decade}, an atom"
            yield Row(label, ATOMS, ours, other, FEW, partial(np.add, p, p))
    for decade in range(4):
        n = ATOMS * 10**decade
        ours = partial(mialeak.max_leakage, p, n, gamma=1.25)
        other = partial(rivals.binom_excess, 1.25 * n * few, n, few)
        label = f"`max_leakage`, gamma = 1.25, n p = 1e{decade}, an atom"
        yield Row(label, ATOMS, ours, other, FEW, partial(np.add, p, p))
    two = np.array([0.3, 0.7])
    yield Row("`max_leakage`, one call", 1, partial(mialeak.max_leakage, two, 100),
              partial(rivals.max_leakage, two, 100), 1, partial(np.add, two, two))  # fmt: skip
    from mialeak.discrete import discrete_tradeoff

    for decade in DECADES:
        law = p[:1000] / p[:1000].sum()
        call = partial(discrete_tradeoff, law, 10**decade)
        yield Row(f"`discrete_tradeoff`, K = 1000, n = 1e{decade}", 1, call)


def score_rows() -> Iterator[Row]:
    """Scores of one release, a column at a time, and of one column."""
    from scipy import stats

    from mialeak import scores
    from mialeak.reference import scores as twins

    for d in (*COLUMNS, 1):
        rng = np.random.default_rng(5)
        p = rng.uniform(0.25, 0.75, d)
        r, z = rng.binomial(1000, p) / 1000, rng.binomial(1, p) * 1.0
        variance = p * (1 - p)
        std = np.sqrt(variance)
        moments = p, std, (1 - 2 * p) / std, (1 - 6 * variance) / variance

        def edgeworth(r: Any, z: Any, *rest: Any) -> float:
            return twins.edgeworth_terms(r, z, *rest).sum()

        def covariance(r: Any, z: Any, p: Any, variance: Any, n: int) -> float:
            w = (z - p) / variance
            return w @ (r - p) - 0.5 * (w @ (z - p)) / n

        def glir(r: Any, z: Any, p: Any, variance: Any, n: int) -> float:
            far = (r - z) ** 2 / variance, (z - p) ** 2 / variance
            return -stats.ncx2.logcdf(n * far[0].sum(), p.size, n * far[1].sum())

        label = "one call" if d == 1 else f"d = 1e{round(np.log10(d))}, a column"
        for name, other, rest in (
            ("bernoulli_score", twins.bernoulli_score, (p, 1000)),
            ("edgeworth_score", edgeworth, (*moments, 1000)),
            ("covariance_score", covariance, (p, variance, 1000)),
            ("glir_score", glir, (p, variance, 1000)),
        ):
            given = (r[None], z) if name == "bernoulli_score" else (r, z)
            ours, theirs = (
                partial(getattr(scores, name), r, z, *rest),
                partial(other, *given, *rest),
            )
            limit = partial(np.matmul, r, p)
            yield Row(f"`{name}`, {label}", d, ours, theirs, d, limit, "release @ p")


def curve_rows() -> Iterator[Row]:
    """Curves of released means, and audits."""
    from mialeak.reference import mean as twins

    try:
        from mialeak.auditing import audit
        from mialeak.exact import exact_mean_tradeoff
        from mialeak.laws import Bernoulli
        from mialeak.means import GaussianMeanTradeOff
    except ImportError:  # the names of 0.1.0
        from mialeak.audit import audit
        from mialeak.marginals import Bernoulli
        from mialeak.mean import GaussianMeanTradeOff

        from mialeak.exact import exact_tradeoff as exact_mean_tradeoff

    fpr = np.random.default_rng(5).random(1000)
    for n in (10, 1000, 10**6):
        curve = GaussianMeanTradeOff(5.0, n=n, columns=5000)
        # SciPy takes 3 ms a point at n = 1000, and minutes at n = 1e6.
        few = fpr[:10]
        other = partial(twins.gaussian_mean_power, few, 5.0, n, 5000) if n <= 1000 else None
        label = f"`GaussianMeanTradeOff.power`, n = 1e{round(np.log10(n))}, a point"
        yield Row(label, fpr.size, partial(curve.power, fpr), other, few.size)
    yield Row("`GaussianMeanTradeOff.epsilon`, one call", 1, partial(curve.epsilon, 1e-5))
    for d in (1000, 100_000):
        p = np.linspace(0.25, 0.75, d)
        target = (p <= 0.5) * 1.0

        def advantage(target: Any = target, p: Any = p) -> float:
            return exact_mean_tradeoff(target, Bernoulli(p), 1000).advantage

        yield Row(f"`exact_mean_tradeoff`, d = 1e{round(np.log10(d))}, a column", d, advantage)
    curve = exact_mean_tradeoff(target[::20], Bernoulli(p[::20]), 1000)
    yield Row("`ExactTradeOff.enclosure`, d = 5000, the first call", 1,
              lambda: dataclasses.replace(curve).enclosure(0.01))  # fmt: skip
    for size in SCORES:
        rng = np.random.default_rng(11)
        inside, outside = rng.normal(1.0, 1.0, size), rng.normal(0.0, 1.0, size)
        call, limit = partial(audit, inside, outside, delta=1e-5), np.append(inside, outside)
        label = f"`audit`, 1e{round(np.log10(size))} scores in each world, a score"
        yield Row(label, 2 * size, call, None, 0, partial(np.sort, limit), "np.sort")


def table_rows() -> Iterator[Row]:
    """Reports on tables of four categorical columns, beside pandas and SciPy's form."""
    import pandas
    import rivals

    from mialeak.tables import table_leakage

    for decade in (3, 5, 6):
        size = 10**decade
        rng = np.random.default_rng(6)
        frame = pandas.DataFrame(
            {f"c{k}": (k * rng.exponential(1.0, size)).astype(int) for k in range(1, 5)}
        )

        def counts(frame: Any = frame) -> Any:
            return frame.groupby(list(frame.columns)).size().to_numpy()

        def other(frame: Any = frame, counts: Any = counts) -> float:
            return rivals.max_leakage(counts() / len(frame), len(frame))

        label = f"`table_leakage`, 1e{decade} rows, a row"
        call = partial(table_leakage, frame)
        yield Row(label, size, call, other, size, counts, "pandas.groupby")


def covariance_rows() -> Iterator[Row]:
    """Means and covariances of 4 d rows learnt and as many scored, beside NumPy and one product."""
    from mialeak.covariance import StreamingCovariance

    for d in (10, 100, 1000):
        rows = np.random.default_rng(7).standard_normal((4 * d, d))

        def ours(rows: Any = rows) -> Any:
            return StreamingCovariance().fit(rows).mahalanobis(rows)

        def other(rows: Any = rows) -> Any:
            away = rows - rows.mean(axis=0)
            solved = np.linalg.solve(away.T @ away / len(rows), away.T)
            return np.einsum("ij,ji->i", away, solved)

        label, size = f"`StreamingCovariance`, d = {d}, an entry", rows.size
        yield Row(label, size, ours, other, size, partial(np.matmul, rows.T, rows), "rows.T @ rows")


def mechanism_rows() -> Iterator[Row]:
    """Tables with noise, and labels of small tables."""
    from mialeak.mechanisms import Geometric, mechanism_leakage

    for decade in (1, 3, 5):
        p = np.random.default_rng(8).exponential(size=10**decade)
        p /= p.sum()
        call = partial(mechanism_leakage, Geometric(1.0), p, 10**5, rows="poisson")
        yield Row(f"`mechanism_leakage(Geometric)`, 1e{decade} cells, a cell", p.size, call)
    for n in (10, 50, 200):
        size = (n + 3) * (n + 2) * (n + 1) // 6
        labels = np.random.default_rng(8).integers(0, 8, size)
        call = partial(mechanism_leakage, labels, np.full(4, 0.25), n)
        yield Row(f"`mechanism_leakage`, labels, n = {n} in 4 cells, a table", size, call)


def game_rows() -> Iterator[Row]:
    """A hundred rounds of a game, played and scored, beside draws of the means by NumPy."""
    from mialeak.games import FixedTargetGame
    from mialeak.reference import scores as twins
    from mialeak.scores import bernoulli_score

    try:
        from mialeak.laws import Bernoulli
    except ImportError:  # 0.1.0
        from mialeak.marginals import Bernoulli

    rounds, n = 100, 1000
    for decade in (1, 3, 5):
        p = np.random.default_rng(9).uniform(0.25, 0.75, 10**decade)
        z = (p <= 0.5) * 1.0

        def ours(p: Any = p, z: Any = z) -> Any:
            game = FixedTargetGame(z, Bernoulli(p), n)
            return game.play(rounds, score=lambda r: bernoulli_score(r, z, p, n), rng=1)

        def other(p: Any = p, z: Any = z) -> Any:
            rng = np.random.default_rng(1)
            inside = rng.random(rounds) < 0.5
            counts = rng.binomial(np.where(inside, n - 1, n)[:, None], p)
            return twins.bernoulli_score((counts + inside[:, None] * z) / n, z, p, n)

        limit = partial(np.random.default_rng(1).random, (rounds, p.size))
        label, size = f"`FixedTargetGame`, d = 1e{decade}, an entry", rounds * p.size
        yield Row(label, size, ours, other, size, limit, "rng.random")


FAMILIES = (
    kernel_rows,
    discrete_rows,
    score_rows,
    curve_rows,
    table_rows,
    covariance_rows,
    mechanism_rows,
    game_rows,
)


def all_rows() -> dict[str, Row]:
    """The rows that this build has, by name."""
    rows: dict[str, Row] = {}
    for family in FAMILIES:
        try:
            for row in family():
                rows[row.name] = row
        except (ImportError, AttributeError, TypeError) as error:  # an older checkout
            print(f"{family.__name__} ends here: {error}", file=sys.stderr)
    return rows
