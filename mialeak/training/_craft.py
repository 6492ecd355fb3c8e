"""Canaries that are made rather than chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_counts, as_floats, invalid, require
from mialeak._blocks import as_rng
from mialeak.training._canaries import select_canaries
from mialeak.training._gradients import as_norm, norms
from mialeak.training._metric import metric_of

__all__ = ["blank_canaries", "canife_loss", "dirac_canary", "mislabelled_canaries"]

#: Rows of multiples of the identity made at once.
_ROWS = 256


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
    for start in range(0, columns, _ROWS):
        rows = min(_ROWS, columns - start)
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
