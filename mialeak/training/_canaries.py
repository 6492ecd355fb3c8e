"""Canaries: chosen among candidates, by distance at one model or rank over many, or made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import (
    FloatArray,
    as_count,
    as_counts,
    as_float,
    as_floats,
    first_index,
    invalid,
    require,
)
from mialeak._blocks import as_rng
from mialeak._labels import require_same_columns
from mialeak._results import Kind, Result
from mialeak.training._gradients import as_clip_norm, as_norm, clipped, norms
from mialeak.training._metric import Metric, metric_of

__all__ = [
    "Canaries",
    "blank_canaries",
    "canife_loss",
    "dirac_canary",
    "mislabelled_canaries",
    "select_canaries",
]

IntArray = npt.NDArray[np.int64]

#: Candidates scored at once: enough to keep matrix kernels busy, and at most 16 MB of them.
_ROWS, _ENTRIES = 1024, 1 << 21


@dataclass(frozen=True, repr=False)
class Canaries(Result):
    """The candidates that are easiest to find, best first.

    Attributes
    ----------
    indices : ndarray of int, shape (k,)
        Their places among the candidates.
    scores : ndarray, shape (k,)
        Their squared Mahalanobis distances, or over several steps the sums of their ranks.
    kind : str
        "estimate": the covariance is one.

    Examples
    --------
    >>> from mialeak import StreamingCovariance, select_canaries
    >>> reference = StreamingCovariance().fit([[1.0], [-1.0]])
    >>> select_canaries([[0.5], [3.0]], reference).to_dict()
    {'indices': [1], 'scores': [9.0], 'kind': 'estimate'}
    """

    indices: IntArray
    scores: FloatArray
    kind: Kind = "estimate"


def select_canaries(
    candidates: Any = None,
    reference: Any = None,
    k: int = 1,
    *,
    steps: Iterable[tuple[Any, Any]] | None = None,
    clip_norm: float | None = None,
    noise_variance: float = 0.0,
) -> Canaries:
    """Candidates whose gradients are furthest from those of the reference.

    At one model, or with `steps` over a whole training.

    Parameters
    ----------
    candidates : array_like, shape (N, d), or iterator of such blocks
        Gradient of each candidate.  A memory map is read in pieces.
    reference : StreamingCovariance
        Fitted to gradients of reference examples, as for :class:`CovarianceAttack`.
    k : int
        Canaries to choose, at most N.
    steps : iterable of (candidates, reference), optional
        In place of the first two arguments: for each step of a training, the gradients of the same
        N candidates at the model before the step, and the reference there.
    clip_norm : float, optional
        Cap on the norm: longer gradients count as scaled down to it, as DP-SGD uses them.
    noise_variance : float, default 0.0
        Added to every variance: ``(noise_multiplier clip_norm)^2 / batch_size`` for DP-SGD.

    Returns
    -------
    Canaries
        Indices and squared Mahalanobis distances of the k furthest candidates, furthest first; of
        equal distances the first candidate.  With `steps` the sums of ranks (1 for the nearest, N
        for the furthest, the mean rank for equal distances) of the k highest.

    Raises
    ------
    TypeError
        If `steps` are not pairs, or are given beside candidates and reference.
    ValueError
        If there are fewer than k candidates, they have other columns than the reference, anything
        is NaN or infinite, the number of candidates changes between steps, or there is no step.

    See Also
    --------
    dirac_canary : one that need not be the gradient of any example.

    Notes
    -----
    [AB25] Algorithm 3 and, with `steps`, [AB24] Algorithm 6, with the centred covariance.  Ranks do
    not depend on how large a distance is, so that no single step decides.  The distance divided by
    the batch size is the leakage score of one step.  Without a cap, long gradients win: those of
    examples that the model gets wrong.

    **Cost.**  One pass over the candidates, with one block and k candidates in memory; one product
    with the factor of the covariance for each candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import StreamingCovariance, select_canaries
    >>> rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> reference = StreamingCovariance().fit(rows)
    >>> candidates = [[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]]
    >>> select_canaries(candidates, reference, 2)
    Canaries(indices=[0, 1], scores=[8. , 4.5], kind='estimate')

    A candidate that is far at every step comes before one that is very far at a single step:

    >>> steps = [([[3.0, 3.0], [0.1, 0.1], [1.0, 1.0]], reference)] * 3
    >>> steps.append(([[3.0, 3.0], [90.0, 90.0], [1.0, 1.0]], reference))
    >>> select_canaries(steps=steps)
    Canaries(indices=[0], scores=[11.], kind='estimate')
    """
    k = as_count(k, "k", least=1)
    if steps is None:
        if candidates is None or reference is None:
            rule = "be given with a reference"
            remedy = "Or pass steps, pairs of candidates and reference"
            invalid("candidates", rule, remedy=remedy, error=TypeError)
        return _furthest(_distances(candidates, reference, clip_norm, noise_variance), k)
    if candidates is not None or reference is not None:
        rule = "be given without candidates and reference: each step has its own"
        invalid("steps", rule, error=TypeError)
    pieces = (_distances(*pair, clip_norm, noise_variance) for pair in _pairs(steps))
    return _highest_ranked(pieces, k)


def _furthest(pieces: Iterable[FloatArray], k: int) -> Canaries:
    """The candidates of the k largest distances, from distances a piece at a time."""
    best, places, start = np.empty(0), np.empty(0, np.int64), 0
    for scores in pieces:
        best = np.concatenate([best, scores])
        places = np.concatenate([places, np.arange(start, start + scores.size)])
        order = np.lexsort([places, -best])[:k]
        best, places, start = best[order], places[order], start + scores.size
    if start < k:
        invalid("k", f"be at most the number of candidates, {start}", value=k)
    return Canaries(places, best)


def _highest_ranked(pieces: Iterable[Iterable[FloatArray]], k: int) -> Canaries:
    """The candidates of the k largest sums of ranks, from the distances of each step."""
    from scipy.stats import rankdata

    total: FloatArray | None = None
    for step, distances in enumerate(pieces):
        ranks: FloatArray = rankdata(np.concatenate([np.empty(0), *distances]))
        if total is None:
            total = ranks
        elif total.size != ranks.size:
            rule = f"have {total.size} candidates at every step; got {ranks.size} at step {step}"
            invalid("steps", rule)
        else:
            total = total + ranks
    if total is None:
        invalid("steps", "hold at least one step")
    if total.size < k:
        invalid("k", f"be at most the number of candidates, {total.size}", value=k)
    order = np.argsort(-total, kind="stable")[:k]
    return Canaries(order.astype(np.int64), total[order])


def _pairs(steps: Any) -> Iterator[tuple[Any, Any]]:
    rule = "be pairs of candidates and reference, one for each step"
    if not isinstance(steps, Iterable):
        invalid("steps", rule, value=steps, error=TypeError)
    for place, pair in enumerate(steps):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            invalid("steps", rule, index=place, value=pair, error=TypeError)
        yield pair[0], pair[1]


def _distances(
    candidates: Any, reference: Any, clip_norm: Any, noise_variance: Any
) -> Iterator[FloatArray]:
    """Squared distances of the candidates, a piece at a time."""
    cap = as_clip_norm(clip_norm)
    variance = as_float(noise_variance, "noise_variance")
    require(variance >= 0.0, variance, "noise_variance", "be at least 0")
    metric = metric_of(reference, variance)
    start = 0
    for rows in _blocks(candidates, metric):
        yield _distances_of(rows, metric, cap, start)
        start += len(rows)


def _blocks(candidates: Any, metric: Metric) -> Iterator[npt.NDArray[Any]]:
    """The candidates in pieces, of any dtype: a memory map is not read at once."""
    whole = candidates if hasattr(candidates, "__next__") else iter([candidates])
    rows = max(1, min(_ROWS, _ENTRIES // metric.columns))
    for block in whole:
        columns = metric.width_of(candidates=block)
        array = block if isinstance(block, np.ndarray) else as_floats(block, "candidates")
        if array.ndim != 2 or array.shape[1] != columns:
            invalid(
                "candidates",
                f"have {columns} columns, as reference has, and a row for each; its shape is "
                f"{array.shape}",
            )
        yield from (array[first : first + rows] for first in range(0, len(array), rows))


def _distances_of(
    rows: npt.NDArray[Any], metric: Metric, cap: float | None, start: int
) -> FloatArray:
    """Those of some rows, the first of which is candidate `start`."""
    values = as_floats(rows, "candidates")
    finite = np.isfinite(values)
    if not finite.all():
        row, column = first_index(~finite)
        place = (start + row, column)
        invalid("candidates", "be finite", index=place, value=values[row, column])
    with np.errstate(over="ignore", invalid="ignore"):
        distances = metric.squared(clipped(values, cap) - metric.mean)
    if not np.isfinite(distances).all():
        row = start + int(np.argmin(np.isfinite(distances)))
        rule = (
            f"be near enough to the reference for squared distances to be numbers; row {row} is not"
        )
        invalid("candidates", rule)
    return distances


#: Rows of multiples of the identity made at once.
_DIRACS = 256


def dirac_canary(reference: Any, norm: float, *, index: int | None = None) -> FloatArray:
    """Gradient that is zero but in one coordinate.

    Parameters
    ----------
    reference : StreamingCovariance
        Fitted to gradients of reference examples.
    norm : float
        The value there, the norm that DP-SGD clips to; above 0.
    index : int, optional
        The coordinate; by default the one that makes it furthest from the reference.

    Returns
    -------
    ndarray, shape (d,)

    Raises
    ------
    ValueError
        If norm or index is outside its range.

    Notes
    -----
    Nasr et al. (2023), Section C.2.  It is the gradient of no example: an auditor who is a client
    of federated learning can send it all the same.

    **Cost.**  The distances of d candidates, unless the index is given.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import StreamingCovariance
    >>> from mialeak.training import dirac_canary
    >>> rows = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> dirac_canary(StreamingCovariance().fit(rows), norm=1.0)
    array([0., 1.])
    """
    norm = as_norm(norm, "norm")
    columns = metric_of(reference).columns
    if index is None:
        index = int(select_canaries(_diracs(columns, norm), reference).indices[0])
    canary = np.zeros(columns)
    canary[as_count(index, "index", most=columns - 1)] = norm
    return canary


def _diracs(columns: int, norm: float) -> Iterator[FloatArray]:
    for start in range(0, columns, _DIRACS):
        rows = min(_DIRACS, columns - start)
        block = np.zeros((rows, columns))
        block[np.arange(rows), start + np.arange(rows)] = norm
        yield block


def mislabelled_canaries(y: Any, n_classes: int, *, rng: Any = None) -> npt.NDArray[np.int64]:
    """Wrong labels for examples, each uniform among the other classes.

    Parameters
    ----------
    y : array_like of int, shape (k,)
        The right labels, in [0, n_classes).
    n_classes : int
        At least 2.
    rng : seed or numpy.random.Generator, optional

    Returns
    -------
    ndarray of int, shape (k,)

    Raises
    ------
    TypeError
        If labels are not integers.
    ValueError
        If a label is outside its range.

    Examples
    --------
    >>> from mialeak.training import mislabelled_canaries
    >>> mislabelled_canaries([0, 1, 0], 2)
    array([1, 0, 1])
    """
    n_classes = as_count(n_classes, "n_classes", least=2)
    labels = as_counts(y, "y", most=n_classes - 1)
    shift = as_rng(rng).integers(1, n_classes, labels.shape)
    return np.asarray((labels + shift) % n_classes)


def blank_canaries(
    count: int, shape: Sequence[int] | int, n_classes: int, *, rng: Any = None
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Examples that are all zeros, with labels drawn uniformly.

    Parameters
    ----------
    count : int
        How many.
    shape : int or sequence of int
        Shape of one input.
    n_classes : int
        Labels are in [0, n_classes).
    rng : seed or numpy.random.Generator, optional

    Returns
    -------
    x : ndarray, shape (count, ...)
    y : ndarray of int, shape (count,)

    Raises
    ------
    TypeError
        If a count is not an integer.
    ValueError
        If a count is below 1.

    Examples
    --------
    >>> from mialeak.training import blank_canaries
    >>> x, y = blank_canaries(2, (1, 2), n_classes=10, rng=1)
    >>> x
    array([[[0., 0.]],
    <BLANKLINE>
           [[0., 0.]]])
    >>> y
    array([4, 5])
    """
    count = as_count(count, "count", least=1)
    n_classes = as_count(n_classes, "n_classes", least=1)
    sides = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    sides = tuple(as_count(side, "shape", least=1) for side in sides)
    labels = as_rng(rng).integers(0, n_classes, count)
    return np.zeros((count, *sides)), labels


def canife_loss(gradient: Any, reference_gradients: Any, clip_norm: float) -> float | FloatArray:
    """Loss that CANIFE minimises over canaries.

    Parameters
    ----------
    gradient : array_like, shape (d,) or (k, d)
        Gradient of one canary, or of each of k.
    reference_gradients : array_like, shape (r, d)
        Gradients of reference examples, not centred.
    clip_norm : float
        Norm below which a canary is too short; above 0.

    Returns
    -------
    float or ndarray, shape (k,)
        ``sum_i <u_i, g>^2 + max(clip_norm - |g|, 0)^2``.

    Raises
    ------
    ValueError
        If shapes do not match, or anything is NaN or infinite.

    See Also
    --------
    select_canaries : by the distance that this loss stands for.
    mialeak.training.torch.canife_loss : the same, differentiable.

    Notes
    -----
    Maddock et al. (2022), as in [AB25] equation 26.  They state that to make it small is
    to make ``g^T C^-1 g`` large.  On the unit sphere the two have the same extreme point,
    but they order others differently: with C = diag(0.01, 1, 100), (1/2, 0, 0.866) has the larger
    distance, 25 against 1, and the larger loss, 75 against 1, than (0, 1, 0).

    **Cost.**  k r d products: 0.5 s for 1,000 canaries and references of 7,850 entries, one core.

    Examples
    --------
    >>> from mialeak.training import canife_loss
    >>> float(canife_loss([0.0, 3.0], [[1.0, 0.0], [0.0, 2.0]], clip_norm=5.0))
    40.0
    """
    require_same_columns(reference_gradients=reference_gradients, gradient=gradient)
    gradients = as_floats(gradient, "gradient", finite=True)
    rows = as_floats(reference_gradients, "reference_gradients", ndim=2, finite=True)
    if gradients.ndim not in (1, 2) or gradients.shape[-1] != rows.shape[1]:
        invalid(
            "gradient",
            f"have {rows.shape[1]} columns (its last axis), as reference_gradients has; its shape "
            f"is {gradients.shape}",
        )
    norm = as_norm(clip_norm, "clip_norm")
    with np.errstate(over="ignore", invalid="ignore"):
        overlap = gradients @ rows.T
        short = np.maximum(norm - norms(gradients), 0.0)
        loss = np.vecdot(overlap, overlap) + np.square(short)
    require(np.isfinite(loss), loss, "gradient", "be small enough for its loss to be a number")
    return np.asarray(loss)[()]
