"""Points that visit every corner of the domain of the binomial functions.

A sampler takes a generator and a size and gives columns of float64.  Domain: integers ``n`` in
[1, 2**53], ``p`` in [1e-300, 1 - 2**-53], so every sampler ends in :func:`_clipped`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from case import Family

__all__ = [
    "BINOMIAL",
    "EXCESS_SEAMS",
    "LOGPMF_SEAMS",
    "MAD_SEAMS",
    "SHORTFALL_SEAMS",
    "excess",
    "logpmf",
    "mad",
    "moderate",
    "shortfall",
]

Array = np.ndarray
Columns = tuple[Array, ...]
Sampler = Callable[[np.random.Generator, int], Columns]

LARGEST_P = 1 - 2.0**-53
SMALLEST_P = 1e-300

#: Below this log-probability the tails underflow 1e-290 and no bound is asked for.
LOG_SMALLEST = -660.0


def _log_uniform(rng: np.random.Generator, low: float, high: float, size: int) -> Array:
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def _counts(rng: np.random.Generator, size: int) -> Array:
    """Integers log-uniform in [1, 2**53], the ends and powers of two a little more often."""
    n = np.floor(np.exp2(rng.uniform(0, 53, size)))
    special = 2.0 ** rng.integers(0, 54, size) + rng.integers(-1, 2, size)
    return np.clip(np.where(rng.random(size) < 0.1, special, n), 1, 2.0**53)


def _clipped(n: Array, p: Array) -> Columns:
    return n, np.clip(p, SMALLEST_P, LARGEST_P)


def _neighbour(rng: np.random.Generator, x: Array) -> Array:
    """`x`, or the float64 just below or above it."""
    which = rng.integers(-1, 2, x.shape)
    return np.where(which == 0, x, np.nextafter(x, np.where(which < 0, -np.inf, np.inf)))


def _mixed(rng: np.random.Generator, choices: list[tuple[float, Array]]) -> Array:
    """Row by row one of the columns, with the given weights."""
    weights = np.array([weight for weight, _ in choices])
    which = rng.choice(len(choices), choices[0][1].size, p=weights / weights.sum())
    return np.choose(which, [column for _, column in choices])


def _laws(rng: np.random.Generator, size: int) -> Columns:
    """Pairs (n, p): a mixture over the sizes of n p that call for different methods."""
    n = _counts(rng, size)
    p = _mixed(
        rng,
        [
            (10, _log_uniform(rng, SMALLEST_P, 1, size)),
            (20, _log_uniform(rng, 1e-3, 1e3, size) / n),
            (15, rng.uniform(0, 40, size) / n),
            (20, rng.random(size)),
            (8, 0.5 + rng.choice([-1, 1], size) * np.exp2(-rng.uniform(2, 54, size))),
            (12, 1 - _log_uniform(rng, 1e-3, 1e3, size) / n),
            # n p an integer but for rounding, and the neighbours on both sides
            (10, _neighbour(rng, np.floor(_log_uniform(rng, 1, 2.0**53, size) % n) / n)),
            (5, 16 / n * (1 + rng.normal(size) * 10.0 ** -rng.uniform(1, 16, size))),
        ],
    )
    return _clipped(n, np.where(rng.random(size) < 0.15, 1 - p, p))


def mad(rng: np.random.Generator, size: int) -> Columns:
    """Columns (n, p)."""
    return _laws(rng, size)


def _cuts(rng: np.random.Generator, n: Array, p: Array) -> Array:
    """Columns of c in [0, n]: around the mean, far out, at integers, between them, at the ends."""
    size = n.size
    mean = n * p
    sd = np.sqrt(mean * (1 - p))
    wide = mean + rng.uniform(-40, 40, size) * sd
    close = mean + rng.uniform(-4, 4, size) * sd
    near_1 = 1 + rng.choice([-1, 1], size) * 10.0 ** -rng.uniform(0.5, 15, size)
    c = _mixed(
        rng,
        [
            (30, wide),
            (20, close),
            (10, np.rint(wide)),
            (5, np.rint(close)),
            (5, np.floor(close) + 0.5),
            (4, np.floor(close) + 2.0 ** -rng.uniform(1, 40, size)),
            (4, rng.random(size)),
            (4, n - rng.random(size)),
            (5, mean * _log_uniform(rng, 0.1, 10, size)),
            (5, mean * near_1),
            (5, np.floor(_log_uniform(rng, 1, 2.0**53, size) % n)),
            (3, _log_uniform(rng, 1, 1e3, size)),
        ],
    )
    return np.clip(c, 0, n)


def _log_tail(c: Array, n: Array, p: Array) -> Array:
    """Chernoff's bound on the log of P(B >= c) above the mean, of P(B <= c) below it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x = c / n
        upper = np.where(x > 0, x * np.log(x / p), 0.0)
        lower = np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - p)), 0.0)
    exact = -n * (upper + lower)
    # Close to the mean the two terms cancel; there the tail is not small anyway.
    return np.where(np.abs(c - n * p) < 8 * np.sqrt(n * p * (1 - p)), 0.0, exact)


def _kept(draw: Sampler, keep: Callable[..., Array]) -> Sampler:
    """`draw` again and again until `size` rows pass `keep`."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        parts: list[Columns] = []
        while sum(part[0].size for part in parts) < size:
            columns = draw(rng, size)
            good = keep(*columns)
            parts.append(tuple(column[good] for column in columns))
        return tuple(np.concatenate(column)[:size] for column in zip(*parts, strict=True))

    return sampler


def _cut_laws(rng: np.random.Generator, size: int) -> Columns:
    n, p = _laws(rng, size)
    return _cuts(rng, n, p), n, p


def _excess_is_normal(c: Array, n: Array, p: Array) -> Array:
    """The excess is above 1e-290 but for a few rows that the truth sorts out."""
    return (n * p > 1e-280) & ((c <= n * p) | (_log_tail(c, n, p) > LOG_SMALLEST)) & (c < n)


def _shortfall_is_normal(c: Array, n: Array, p: Array) -> Array:
    return ((c >= n * p) | (_log_tail(c, n, p) > LOG_SMALLEST)) & (c > 0)


excess = _kept(_cut_laws, _excess_is_normal)
shortfall = _kept(_cut_laws, _shortfall_is_normal)


def logpmf(rng: np.random.Generator, size: int) -> Columns:
    """Columns (k, n, p), k an integer in [0, n]."""
    n, p = _laws(rng, size)
    k = np.rint(_cuts(rng, n, p))
    ends = np.choose(rng.integers(0, 4, size), [np.zeros(size), np.ones(size), n - 1, n])
    k = np.where(rng.random(size) < 0.08, ends, k)
    return np.clip(k, 0, n), n, p


# --- both sides of every change of method ------------------------------------------------------


def _around(value: float, rng: np.random.Generator, size: int) -> Array:
    """Both sides of `value`, from a fraction 1e-16 to 1e-2 away."""
    return value * (1 + rng.choice([-1, 1], size) * 10.0 ** -rng.uniform(2, 16, size))


def mean_seam(value: float, *, upper: bool = False) -> Sampler:
    """Pairs (n, p) with n p (with `upper`: n (1-p)) on both sides of `value`."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        n = np.maximum(_counts(rng, size), np.ceil(2 * value))
        p = _around(value, rng, size) / n
        return _clipped(n, 1 - p if upper else p)

    return sampler


def larger_mean_seam(value: float) -> Sampler:
    """Pairs (n, p) with n (1-p) on both sides of `value`, and n p smaller but not below 1."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        p = _log_uniform(rng, 1 / value, 0.5, size)
        return _clipped(np.rint(_around(value, rng, size) / (1 - p)), p)

    return sampler


def count_seam(value: float) -> Sampler:
    """Pairs (n, p) with n at `value` and within 2 of it."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        n = np.clip(value + rng.integers(-2, 3, size), 1, 2.0**53)
        _, p = _laws(rng, size)
        return _clipped(n, p)

    return sampler


def small_mean_seam(rng: np.random.Generator, size: int) -> Columns:
    """Pairs (n, p) with n up to 130 and n p on both sides of 1.4."""
    n = rng.integers(3, 131, size).astype(float)
    return _clipped(n, _around(1.4, rng, size) / n)


def half_seam(rng: np.random.Generator, size: int) -> Columns:
    """Pairs (n, p) with p around one half, where the smaller of p and 1-p changes."""
    return _clipped(_counts(rng, size), _around(0.5, rng, size))


def integer_mean_seam(rng: np.random.Generator, size: int) -> Columns:
    """Pairs (n, p) with n p exactly an integer, or one rounding away from it."""
    exponent = rng.integers(0, 27, size)
    j = np.floor(_log_uniform(rng, 1, 2.0**26, size))
    n = np.minimum(j * 2.0**exponent, 2.0**53)
    p = np.floor(rng.random(size) * 2.0**exponent) / 2.0**exponent
    return _clipped(n, _neighbour(rng, p))


def _with_cuts(draw: Sampler, keep: Callable[..., Array]) -> Sampler:
    def sampler(rng: np.random.Generator, size: int) -> Columns:
        n, p = draw(rng, size)
        return _cuts(rng, n, p), n, p

    return _kept(sampler, keep)


def _mean_cut(keep: Callable[..., Array]) -> Sampler:
    """Triples with c at the mean and a few roundings beside it."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        n, p = _laws(rng, size)
        c = n * p
        for _ in range(2):
            c = _neighbour(rng, c)
        return np.clip(c, 0, n), n, p

    return _kept(sampler, keep)


def _integer_cut(keep: Callable[..., Array]) -> Sampler:
    """Triples with c an integer, or its neighbour on either side."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        c, n, p = _cut_laws(rng, size)
        return np.clip(_neighbour(rng, np.rint(c)), 0, n), n, p

    return _kept(sampler, keep)


def _first_cell(keep: Callable[..., Array]) -> Sampler:
    """Triples with c within [0, 2] and around 0 and 1, for small n p, down to 2**-600."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        n = _counts(rng, size)
        deep = _around(2.0**-600, rng, size)
        mean = np.where(rng.random(size) < 0.3, deep, _log_uniform(rng, 1e-20, 10, size))
        n, p = _clipped(n, np.minimum(mean / n, 0.5))
        close = np.where(rng.random(size) < 0.5, _around(1.0, rng, size), 2 * rng.random(size))
        tiny = _log_uniform(rng, 1e-300, 1e-3, size)
        return np.clip(np.where(rng.random(size) < 0.2, tiny, close), 0, n), n, p

    return _kept(sampler, keep)


def _near_deviance(rng: np.random.Generator, size: int) -> Columns:
    """Triples with n p, or n (1-p) beside n - k, where the deviance takes another power of two.

    There the leading bits of k and of the mean differ by an odd multiple of one half.
    """
    n = np.maximum(_counts(rng, size), 4)
    k = np.clip(np.floor(_log_uniform(rng, 1, 2.0**53, size) % n), 1, n - 1)
    halves = 2 * rng.integers(-2, 3, size) + 1
    near = rng.choice([-1, 1], size) * np.exp2(rng.uniform(0, 40, size)).astype(np.int64)
    mean = (k.view(np.int64) - (halves << 51) + near).view(np.float64)
    n, p = _clipped(n, np.minimum(mean / n, LARGEST_P))
    mirrored = rng.random(size) < 0.5
    return np.where(mirrored, n - k, k), *_clipped(n, np.where(mirrored, 1 - p, p))


def _small_counts(keep: Callable[..., Array]) -> Sampler:
    """Triples with c or n - c around the table of Stirling remainders and the fraction's length."""

    def sampler(rng: np.random.Generator, size: int) -> Columns:
        n = np.maximum(_counts(rng, size), 2)
        c = np.clip(rng.choice([16.0, 19.0, 22.0], size) + rng.integers(-2, 3, size), 0, n)
        c = c + np.where((c < n) & (rng.random(size) < 0.3), rng.random(size), 0)
        mean = np.clip(c + rng.normal(size) * 4 * np.sqrt(c), 0.1, n * LARGEST_P)
        n, p = _clipped(n, mean / n)
        mirrored = rng.random(size) < 0.5
        return np.where(mirrored, n - c, c), n, np.where(mirrored, 1 - p, p)

    return _kept(sampler, keep)


_LAW_SEAMS: dict[str, Sampler] = {
    "n p = 16": mean_seam(16),
    "n (1-p) = 16": mean_seam(16, upper=True),
    "n p = 1": mean_seam(1),
    "n (1-p) = 1": mean_seam(1, upper=True),
    "p = 1/2": half_seam,
    "n p an integer": integer_mean_seam,
    "n at 32": count_seam(32),
    "n at 2^53": count_seam(2.0**53),
}

MAD_SEAMS = {
    **_LAW_SEAMS,
    "n p = 1024": mean_seam(1024),
    "n (1-p) = 1024": mean_seam(1024, upper=True),
    "larger mean at 2^19": larger_mean_seam(2.0**19),
}

_TAIL_SEAMS = {**_LAW_SEAMS, "n at 128": count_seam(128), "n up to 130, n p = 1.4": small_mean_seam}

EXCESS_SEAMS = {
    **{name: _with_cuts(draw, _excess_is_normal) for name, draw in _TAIL_SEAMS.items()},
    "c at the mean": _mean_cut(_excess_is_normal),
    "c an integer": _integer_cut(_excess_is_normal),
    "c at 0 and 1": _first_cell(_excess_is_normal),
    "a power of two of the deviance": _kept(_near_deviance, _excess_is_normal),
    "c and n - c at 16 and 22": _small_counts(_excess_is_normal),
}

SHORTFALL_SEAMS = {
    **{name: _with_cuts(draw, _shortfall_is_normal) for name, draw in _TAIL_SEAMS.items()},
    "c at the mean": _mean_cut(_shortfall_is_normal),
    "c an integer": _integer_cut(_shortfall_is_normal),
    "c at 0 and 1": _first_cell(_shortfall_is_normal),
    "a power of two of the deviance": _kept(_near_deviance, _shortfall_is_normal),
    "c and n - c at 16 and 22": _small_counts(_shortfall_is_normal),
}


def _with_integers(draw: Sampler) -> Sampler:
    def sampler(rng: np.random.Generator, size: int) -> Columns:
        n, p = draw(rng, size)
        return np.clip(np.rint(_cuts(rng, n, p)), 0, n), n, p

    return sampler


LOGPMF_SEAMS = {
    **{name: _with_integers(draw) for name, draw in _LAW_SEAMS.items()},
    "a power of two of the deviance": _near_deviance,
}


def moderate(rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Points within 2 standard deviations of the mean, n below 10,000."""
    n = np.floor(10 ** rng.uniform(0, 4, size))
    p = rng.uniform(0.001, 0.999, size)
    c = np.clip(n * p + rng.uniform(-2, 2, size) * np.sqrt(n * p * (1 - p)), 0.01, n - 0.01)
    return {"n": n, "p": p, "c": c, "k": np.rint(c)}


def _contains(at: dict[str, np.ndarray]) -> np.ndarray:
    inside = (at["p"] >= 1e-300) & (at["p"] <= 1 - 2.0**-53)
    for name in set(at) & {"c", "k"}:
        inside &= (at[name] >= 0) & (at[name] <= at["n"])
    return inside


_COUNTS = np.arange(1.0, 24.0)
BINOMIAL = Family(
    "binomial",
    "n",
    {"n": 9, "p": 0.25, "c": 3.0, "k": 3},
    {
        "n": _COUNTS,
        "p": np.linspace(0.02, 0.97, 23),
        "c": np.floor(_COUNTS / 3),
        "k": np.floor(_COUNTS / 3),
    },
    moderate,
    _contains,
)
