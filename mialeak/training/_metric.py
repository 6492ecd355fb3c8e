"""Inner products in units of a covariance, with the noise of DP-SGD added to it.

For a linear layer's gradients, what repeats from step to step, their inputs, is solved with once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtr

from mialeak._arrays import FloatArray, invalid
from mialeak._labels import labels_of, require_same_columns
from mialeak._warnings import warn
from mialeak.covariance import StreamingCovariance
from mialeak.training._gradients import LayerGradients

__all__ = [
    "LayerPlan",
    "Metric",
    "laws_of",
    "mean_square",
    "metric_of",
    "require_clipped",
    "warn_of_scale",
    "warn_of_short_reference",
    "warn_of_small_steps",
]

#: By how much the mean square of clipped norms may be above the square of the norm: rounding of
#: single precision.
_CLIPPED = 1e-5
#: The same for sketches, in inverse roots of their columns: six standard deviations of one norm.
_SKETCHED = 6.0 / np.sqrt(2.0)
#: Squared distances of batch gradients, in those of a mean, that are too far or too near; the
#: probability with which the latter occur at most; and the targets that are looked at.
_FAR, _NEAR, _CHANCE, _TARGETS = 100.0, 0.1, 1e-6, 4096
#: Deviations by which a batch gradient is more likely with the other sign, and the share by which
#: its squared distance is then smaller.
_DEVIATIONS, _NEARER = 4.0, 0.5
#: Rows from which a variance is known well enough.
_ROWS = 100
#: Means of fewer gradients are not distinguished from their sum.
_LEAST_BATCH = 8


class Metric:
    """The mean of a reference, and products of rows that deviate from it."""

    def __init__(self, reference: StreamingCovariance, labels: Any = None):
        self.mean = reference.mean_
        #: What is taken from a target: its row replaces a fresh one, which has this mean.
        self.centre = self.mean
        self.columns = self.mean.size
        #: The names of the columns, where the reference was fitted to some.
        self._labels = labels
        self._factor = reference.whitening_
        self._factor.squared(np.zeros((0, self.columns)))  # a singular one refuses

    def width_of(self, **rows: Any) -> int:
        """The number of columns; those of the reference and of `rows` must have the same names."""
        require_same_columns(reference=self, **rows)
        return self.columns

    def squared(self, rows: FloatArray) -> FloatArray:
        """``v^T C^-1 v`` for each row v, which may be overwritten."""
        return self._factor.squared(rows)

    def solve(self, rows: FloatArray) -> FloatArray:
        """``C^-1 v`` for each row v."""
        return self._factor.weights(rows)

    def products(self, rows: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``v^T C^-1 v`` of rows (S, k, d), and ``v^T C^-1 w`` with the rows w (S, d).

        The rows may be overwritten.
        """
        inner = np.vecdot(rows, self.solve(others)[:, None])
        squared = self.squared(rows.reshape(-1, self.columns))
        return squared.reshape(rows.shape[:2]), np.asarray(inner)


class AddedMetric(Metric):
    """Of rows that are added to a Poisson batch: ``S = C + mu mu^T``, and targets not centred."""

    def __init__(self, reference: StreamingCovariance, labels: Any = None):
        super().__init__(reference, labels)
        self.centre = np.zeros(self.columns)
        self._solved_mean = super().solve(self.mean[None])[0]
        self._share = 1.0 / (1.0 + float(self.mean @ self._solved_mean))

    def squared(self, rows: FloatArray) -> FloatArray:
        """``v^T S^-1 v`` for each row v, which may be overwritten."""
        along = rows @ self._solved_mean
        return np.asarray(super().squared(rows) - self._share * along**2)

    def solve(self, rows: FloatArray) -> FloatArray:
        """``S^-1 v`` for each row v."""
        along = self._share * (rows @ self._solved_mean)
        return np.asarray(super().solve(rows) - along[:, None] * self._solved_mean)


def metric_of(reference: Any, variance: float = 0.0, *, added: bool = False) -> Metric:
    """The metric of a fitted covariance, with `variance` added to that of every coordinate."""
    if not isinstance(reference, StreamingCovariance):
        invalid(
            "reference",
            f"be a fitted StreamingCovariance, not {type(reference).__name__}",
            remedy="StreamingCovariance().fit(gradients) is one",
            error=TypeError,
        )
    labels = labels_of(reference)
    if variance > 0.0:
        parameters = reference.get_params()
        parameters["ridge"] += variance
        reference = StreamingCovariance(**parameters).merge(reference)
    return (AddedMetric if added else Metric)(reference, labels)


class LayerPlan:
    """Products in units of C of gradients that move in C dimensions only.

    The gradient of a target is ``B e``: e its errors and B, columns x C, made of its inputs.  So

        |B e - mu|^2   = e^T (B^T C^-1 B) e - 2 e^T (B^T C^-1 mu) + mu^T C^-1 mu
        (B e - mu) . v = e^T (B^T C^-1 v) - mu^T C^-1 v

    with the matrices in brackets made once.
    """

    def __init__(self, metric: Metric, gradients: LayerGradients):
        inputs = gradients.inputs
        targets, outputs = gradients.errors.shape[-2:]
        # A copy: a caller may write the next inputs where these stood.
        self._inputs, self._bias, self._outputs = inputs.copy(), gradients.bias, outputs
        self._mean, centre = metric.mean, metric.centre
        unit = np.broadcast_to(np.eye(outputs)[:, None], (outputs, targets, outputs))
        basis = LayerGradients(unit, inputs, bias=gradients.bias).dense()
        basis = basis.transpose(1, 0, 2)  # (k, C, d)
        self._solved: FloatArray = metric.solve(basis.reshape(-1, metric.columns)).reshape(
            basis.shape
        )
        self._gram = self._solved @ basis.transpose(0, 2, 1)
        self._solved_mean = metric.solve(centre[None])[0]
        self._linear = self._solved @ centre
        self._constant = float(centre @ self._solved_mean)

    def serves(self, gradients: LayerGradients) -> bool:
        """Whether the plan was made for targets with these inputs."""
        same = np.array_equal(gradients.inputs, self._inputs)
        fits = gradients.errors.shape[-1] == self._outputs and gradients.bias == self._bias
        return same and fits

    def products(self, errors: FloatArray, batches: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``|g|^2`` and ``g . g_batch``, deviations in units of C, both (S, k)."""
        deviations = batches - self._mean
        count, outputs, columns = self._solved.shape
        by_step = errors.transpose(1, 0, 2)  # (k, S, C)
        squared = np.vecdot(by_step @ self._gram - 2.0 * self._linear[:, None], by_step)
        fed = deviations @ self._solved.reshape(-1, columns).T
        fed = fed.reshape(len(batches), count, outputs)
        inner = np.vecdot(errors, fed) - (deviations @ self._solved_mean)[:, None]
        return np.asarray(squared.T) + self._constant, np.asarray(inner)


def warn_of_short_reference(reference: Any) -> None:
    """Warn where the inverse of the covariance is off by a factor of two or more.

    The mean of the inverse of a covariance of n normal rows in d columns is (n - 1)/(n - d - 2)
    times the inverse.
    """
    given = reference.get_params()
    rows, columns = int(reference.n_samples_seen_), reference.mean_.size
    plain = given["structure"] == "full" and not given["shrinkage"] and not given["ridge"]
    if plain and rows < 2 * (columns + 2):
        warn(
            f"the reference has {rows} rows for {columns} coordinates: scores are too large by a "
            f"factor of about {(rows - 1) / max(rows - columns - 2, 1):.3g}. Fit it to more rows, "
            'or pass shrinkage="ledoit-wolf", ridge= or structure="diagonal"',
        )


def laws_of(reference: Any, is_plain: bool) -> tuple[bool, tuple[float, float] | None]:
    """Whether squared distances have their mean at most, and the law by which they are too small.

    A covariance of too few rows has not the mean.  A ridge makes distances smaller, and shrinkage
    to a multiple m of the identity, m the mean of the eigenvalues, makes their mean smaller: it is
    the sum over eigenvalues of ``a / ((1 - s) a + s m)``, which is concave in a and d at a = m.

    The law is a trace and degrees of freedom: where the covariance stands for the gradients as it
    is (`is_plain`), 0 and those of squared distances.  Otherwise it is that of squared norms, by
    the trace of the covariance that was fitted, and ``tr(C)^2 / tr(C^2)``: at least these, as noise
    and sampling add to them.
    """
    given = reference.get_params()
    if given["structure"] not in ("full", "diagonal"):
        return False, None
    rows, columns, is_full = (
        int(reference.n_samples_seen_),
        reference.mean_.size,
        given["structure"] == "full",
    )
    is_enough = rows >= (2 * (columns + 2) if is_full else _ROWS)
    if not is_full or rows < _ROWS:
        return is_enough, None
    if is_plain and is_enough and not given["shrinkage"] and not given["ridge"]:
        return is_enough, (0.0, float(columns))
    products = reference._seen().moments.products.T.reshape(-1)  # of one triangle, the other is 0
    diagonal = products[:: columns + 1]
    trace, squares = float(diagonal.sum()), float(2.0 * products @ products - diagonal @ diagonal)
    return is_enough, (trace / rows, trace**2 / squares) if squares > 0.0 else None


def require_clipped(mean_square: float, clip_norm: float, columns: int | None = None) -> None:
    """Refuse a reference whose gradients are longer than `clip_norm` in the mean square.

    A squared norm of a sketch with so many columns has a relative deviation of sqrt(2 / columns).
    """
    size = float(np.sqrt(mean_square))
    share = _CLIPPED if columns is None else _SKETCHED / np.sqrt(columns)
    if size > clip_norm * (1.0 + share):
        rule = f"be fitted to gradients clipped to clip_norm={clip_norm:g}"
        invalid(
            "reference",
            f"{rule}; the root mean square of their norms is {size:.3g}",
            remedy="Fit it to rows * np.minimum(1, clip_norm / norms), as DP-SGD uses them, "
            "norms those of whole gradients, all layers together",
        )


def mean_square(reference: StreamingCovariance) -> float:
    """Mean square of the norms of the gradients that a covariance was fitted to."""
    moments = reference._seen().moments
    centre = moments.centre + moments.low
    return float(centre @ centre + moments.variances().sum())


def warn_of_scale(
    metric: Metric,
    batch: FloatArray,
    batch_size: int,
    targets: FloatArray | None,
    has_mean: bool,
) -> None:
    """Warn if a batch gradient is too far from the reference for the mean of a batch.

    The squared distance of a mean of b gradients is about d/b; that of a sum is larger by b^2 at
    least, and a wrong learning rate counts squared.  A target in the batch adds its own squared
    distance over b^2 at most.  `has_mean` is the first
    of :func:`laws_of`.
    """
    if batch_size < _LEAST_BATCH:
        return
    columns = metric.columns
    if not batch.any():
        warn(
            "the first batch_gradient is 0 in all entries, as gradients are after zero_grad(), and "
            "as that of an empty batch: read it after the backward pass",
        )
        return
    _warn_of_sign(metric, batch, batch_size, targets)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = float(metric.squared(batch - metric.mean)[0])
        ratio = squared * batch_size / columns
        if np.isfinite(ratio) and ratio > _FAR:
            rows = np.empty((0, columns)) if targets is None else targets.reshape(-1, columns)
            theirs = metric.squared(rows[:_TARGETS] - metric.mean).max(initial=0.0)
            ratio -= float(theirs) / (batch_size * columns)
    if np.isfinite(ratio) and ratio > batch_size**2 / 2:
        cause = "it may be their sum (reduction='sum', or gradients that were accumulated)"
    elif has_mean and np.isfinite(ratio) and ratio > _FAR:
        cause = "the learning rate given may be too small, or batch_size too large"
    else:
        return
    warn(
        f"the first batch_gradient is {np.sqrt(ratio):.3g} times as far from the mean of "
        f"reference as the mean of batch_size={batch_size} gradients is: {cause}, or reference is "
        "of another layer, loss or model",
    )


def _warn_of_sign(
    metric: Metric, batch: FloatArray, batch_size: int, targets: FloatArray | None
) -> None:
    """Warn if minus a batch gradient is far more likely to be the mean of a batch.

    The logarithm of that ratio is ``-2 b g^T C^-1 mu``: below 0 on average, of the deviation ``2
    |mu| sqrt(b)`` in units of the covariance; a target in the batch adds ``-2 g^T C^-1 mu``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        solved = metric.solve(metric.mean[None])[0]
        log_ratio = -2.0 * batch_size * float(batch[0] @ solved)
        if targets is not None:
            theirs = targets.reshape(-1, metric.columns)[:_TARGETS] @ solved
            log_ratio -= 2.0 * float(np.maximum(-theirs, 0.0).sum())
        length = float(np.sqrt(max(metric.mean @ solved, 0.0) * batch_size))
        turned = float(metric.squared(-batch - metric.mean)[0]) * batch_size
    least = max(-np.log(_CHANCE), 2.0 * _DEVIATIONS * length, 0.5 * _NEARER * turned)
    if log_ratio > least:
        warn(
            "the first batch_gradient points away from the mean of reference: minus it is "
            f"e^{log_ratio:.0f} times as likely to be the mean of a batch. Of parameters before "
            "and after a step pass (before - after) / learning_rate, as "
            "mialeak.training.batch_gradient does, and a reference of the same loss",
        )


def warn_of_small_steps(
    metric: Metric, batches: FloatArray, batch_size: int, law: tuple[float, float]
) -> None:
    """Warn if two batch gradients differ too little for means of different examples.

    Half of their squared distance, b times, has the law of chi-squared, whatever the mean.  `law`
    is the second of :func:`laws_of`.
    """
    trace, free = law
    gap = (batches[1:2] - batches[:1]) / np.sqrt(2.0)
    squared = float(np.square(gap).sum()) / trace * free if trace else float(metric.squared(gap)[0])
    half = squared * batch_size
    if 0.0 < half < _NEAR * free and float(chdtr(free, half)) < _CHANCE:
        warn(
            f"the first two batch gradients differ {np.sqrt(half / free):.2g} times as much as "
            f"means of batch_size={batch_size} gradients of reference do: the learning rate given "
            "may be too large, batch_size too small, reference fitted to other gradients, or the "
            "batches the same rows",
        )
