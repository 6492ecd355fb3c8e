"""A certified lower bound for procedures that cannot be enumerated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_gamma, as_share, invalid
from mialeak._blocks import map_blocks, progress_bar, resolve_workers, row_blocks, spawn_streams
from mialeak.discrete import max_leakage
from mialeak.mechanisms._leakage import as_law
from mialeak.mechanisms._outcomes import Outcomes, as_outcomes
from mialeak.mechanisms._result import MechanismLeakage

__all__ = ["sampled_mechanism_leakage"]


def sampled_mechanism_leakage(
    mechanism: Any,
    p: Any,
    n: int,
    *,
    samples: int = 100_000,
    gamma: float = 1.0,
    confidence: float = 0.95,
    rng: Any = None,
    workers: int = 1,
    progress: bool = False,
) -> MechanismLeakage:
    r"""Certified lower bound on the leakage of a procedure that cannot be enumerated.

    Half of the samples find an attack, the other half tell how good that attack is.  No sample can
    bound the leakage of a black box from above, except by that of the raw counts.

    Parameters
    ----------
    mechanism : callable
        As for :func:`mechanism_leakage`: count vectors (M, K) to labels (M,), which may be random,
        or to probabilities (M, L).
    p, n
        As for :func:`mechanism_leakage`.
    samples : int, default 100,000
        Count vectors drawn, half for each purpose; at least 4.
    gamma : float, default 1.0
        As for :func:`mechanism_leakage`.
    confidence : float, default 0.95
        Probability with which `lower` is at most the leakage.
    rng : optional
        Seed or generator, for ``np.random.default_rng``.
    workers : int, default 1
        Threads; the result is the same for any number if `mechanism` is a function of the counts.
    progress : bool, default False
        Show a bar on stderr.

    Returns
    -------
    MechanismLeakage
        `kind` is "estimate": `lower` is a confidence bound, `upper` :func:`~mialeak.max_leakage`.

    Raises
    ------
    ValueError, TypeError
        As :func:`mechanism_leakage` does; if `samples` or `confidence` is out of range.

    Notes
    -----
    The attack says "in" to target k and outcome l if the first half's average of
    :math:`(N_k/n - \gamma p_k) 1\{l\}` is positive.  For gamma >= 1 the leakage of a fixed attack A
    is the mean of :math:`Y = \sum_k (N_k/n - \gamma p_k) A(k, l)` with counts N from the law "out",
    bounded by -gamma and 1, so that the empirical Bernstein bound [MP09]_ holds at any sample size.

    **Cost**: 0.7 s for 100,000 samples of 40 cells, and what `mechanism` takes.

    References
    ----------
    .. [MP09] A. Maurer, M. Pontil, "Empirical Bernstein Bounds and Sample Variance Penalization",
       COLT, 2009.

    Examples
    --------
    How many rows are in the first ten of 40 cells:

    >>> import numpy as np
    >>> from mialeak.mechanisms import sampled_mechanism_leakage
    >>> law = np.full(40, 1 / 40)
    >>> found = sampled_mechanism_leakage(lambda c: c[:, :10].sum(axis=1), law, 60, rng=0)
    >>> print(f"{found.lower:.4f} to {found.upper:.4f}")
    0.0437 to 0.3312
    """
    law, size, weight = as_law(p), as_count(n, "n", least=1), as_gamma(gamma)
    level = as_share(confidence, "confidence")
    half = as_count(samples, "samples", least=4) // 2
    if not callable(mechanism):
        invalid("mechanism", "be a function of count vectors", value=mechanism, error=TypeError)
    streams = spawn_streams(rng)
    threads = resolve_workers(workers)

    def draw(job: Any) -> tuple[FloatArray, Any]:
        block, stream = job
        counts = stream.multinomial(size, law, size=block.stop - block.start).astype(np.int64)
        counts.flags.writeable = False
        return counts / size - weight * law, as_outcomes(mechanism, counts, 0)

    def drawn() -> Iterator[tuple[FloatArray, Any]]:
        """Half of the samples, from streams that go on where they were."""
        return map_blocks(draw, zip(row_blocks(half, len(law)), streams, strict=False), threads)

    attack: dict[int, FloatArray] = {}
    mean, square, seen = 0.0, 0.0, 0
    with progress_bar(progress, 2 * half, "sample") as done:
        for x, found in drawn():
            for name, part in _by_outcome(found, x):
                attack[name] = attack.get(name, 0.0) + part
            done(len(x))
        for x, found in drawn():
            y = _scores(found, x, attack, weight)
            gap = float(y.mean()) - mean
            square += float(((y - y.mean()) ** 2).sum()) + gap * gap * seen * len(y) / (
                seen + len(y)
            )
            mean += gap * len(y) / (seen + len(y))
            seen += len(y)
            done(len(x))
    span = 1.0 + weight
    log = math.log(2.0 / (1.0 - level))
    error = math.sqrt(2.0 * square / (seen - 1) * log / seen) + 7.0 * span * log / (3 * (seen - 1))
    high = float(max_leakage(law, size, gamma=weight))
    low = min(max(mean - error, 0.0) / min(weight, 1.0), high)
    return MechanismLeakage(low, high, "estimate", "fixed", "split sample")


def _by_outcome(found: Any, x: FloatArray) -> list[tuple[int, FloatArray]]:
    """The sum of x for each outcome."""
    if isinstance(found, Outcomes):
        order = np.argsort(found.labels, kind="stable")
        present, first = np.unique(found.labels[order], return_index=True)
        sums = np.add.reduceat(x[order], first, axis=0)
        return list(zip(found.names[present].tolist(), sums, strict=True))
    return list(zip(found.names.tolist(), found.chances.T @ x, strict=True))


def _scores(found: Any, x: FloatArray, attack: dict[int, FloatArray], gamma: float) -> FloatArray:
    """Y for each sample, times gamma where that is below 1."""
    sign = 1.0 if gamma >= 1.0 else -1.0
    nothing = np.zeros(x.shape[1])
    said = np.array([attack.get(name, nothing) for name in found.names.tolist()])
    said = (sign * said > 0.0).astype(np.float64)
    if isinstance(found, Outcomes):
        return np.asarray(sign * np.vecdot(x, said[found.labels]))
    return np.asarray(sign * np.vecdot(x, found.chances @ said))
