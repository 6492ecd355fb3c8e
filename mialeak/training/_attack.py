"""The covariance attack: step scores of many targets, combined as they take part in training."""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np

from mialeak._arrays import FloatArray, as_choice, as_count, as_float, as_floats, invalid, require
from mialeak._numerics.noncentral import log_tails
from mialeak.scores import mixture_score
from mialeak.training._gradients import LayerGradients, as_clip_norm, clipped
from mialeak.training._metric import LayerPlan, Metric, metric_of

__all__ = ["CovarianceAttack", "Participation", "Score"]

Score = Literal["covariance", "scalar-product", "glir"]
Participation = Literal["every-step", "one-step", "poisson"]

#: Entries of deviations worked on at once: 32 MB, enough rows to keep matrix kernels busy.
_BLOCK = 1 << 22


#: By how much the mean square of clipped norms may be above the square of the norm: rounding of
#: single precision.
_CLIPPED = 1e-5
#: Means of fewer gradients are not distinguished from their sum.
_LEAST_BATCH = 8


class CovarianceAttack:
    """Scores for whether the gradients of targets are among those of the batches.

    Parameters
    ----------
    reference : StreamingCovariance
        Fitted to gradients of reference examples, one a row: its mean and covariance stand for
        those of a fresh example's gradient.
    batch_size : int
        Gradients that a batch gradient is the mean of, the target's included; at least 1.
    score : {"covariance", "scalar-product", "glir"}
        Score of a step: the log likelihood ratio of [AB25] (the default), the scalar product
        ``g^T g_batch``, or minus the log p-value of GLiR.
    participation : {"every-step", "one-step", "poisson"}
        When a target that is in takes part: in the batch of every step, of one step that is not
        known (one pass over the data), or of each step with probability `sampling_rate`.
    sampling_rate : float, optional
        That probability, for "poisson".
    noise_multiplier : float, default 0.0
        Noise of DP-SGD on the sum of a batch, in units of `clip_norm`.
    clip_norm : float, optional
        Norm that DP-SGD clips gradients to.  Targets are clipped here; the reference has to be
        fitted to clipped gradients, and one whose rows are longer in the mean square is refused.

    Attributes
    ----------
    n_steps_seen_ : int

    Raises
    ------
    TypeError
        If the batch size is not an integer.
    ValueError
        If anything is outside its range, the covariance is singular, or "poisson" is asked for
        with a score that is no likelihood ratio.

    See Also
    --------
    batch_gradient : the batch gradient, from the models before and after a step.
    select_canaries : the targets that are easiest to find.
    mialeak.scores.covariance_score : one step and one target.

    Notes
    -----
    With g the target's gradient, mu and C the mean and covariance of gradients and b the batch
    size, the covariance score of a step is ``s = (g - mu)^T C^-1 (g_batch - mu) - (g - mu)^T C^-1
    (g - mu) / (2b)``, [AB25] Algorithm 4 with the right sign and the centred covariance (the
    uncentred one that Algorithm 3 prints demotes the best canary of a test case from rank 1 to
    rank 200 of 200).  DP-SGD adds noise of variance ``(noise_multiplier clip_norm / b)^2`` to the
    batch gradient, and so ``(noise_multiplier clip_norm)^2 / b`` to C.

    Steps combine into a log likelihood ratio of the whole training:

    =============  =========================================================================
    every-step     sum of s
    one-step       log of the mean of exp(s) over the steps
    poisson        sum of log(1 - q + q exp(s)), q the sampling rate
    =============  =========================================================================

    [AB25] sums and [AB24] Algorithm 7 takes the largest, whatever the participation.  In one
    unknown step of 20 where that step alone would give an advantage of 0.87, the sum reaches
    0.27, the largest and the log mean 0.62.  The scalar product and GLiR are no likelihood ratios:
    they are summed for "every-step" and their largest is taken for "one-step".

    The scores are asymptotic: exact for Gaussian gradients with known mean and covariance, which
    gradients are not.  A fixed reference of r gradients in d dimensions shifts the score of a step
    by about ``d / r``: calibrate thresholds on targets known to be out.  [AB25] fits one at the
    start of an epoch; [AB24] fits one at each step, which :meth:`update` takes.

    **Accuracy.**  A few eps of the sum of absolute terms, times the condition of the covariance.

    **Cost.**  Dense gradients: one product with the factor of the covariance for each target and
    step (d^2 operations with a full one, 2 d r with one of rank r).  :class:`LayerGradients`: that
    once a target and output, and then C^2 a target and step besides the product of the batch
    gradients with C inverse; give many steps to an update.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import CovarianceAttack, StreamingCovariance
    >>> rng = np.random.default_rng(1)
    >>> reference = StreamingCovariance().fit(rng.normal(size=(1000, 3)))
    >>> attack = CovarianceAttack(reference, batch_size=16)
    >>> targets = np.array([[4.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    >>> for _ in range(10):  # the first target is in every batch
    ...     batch = rng.normal(size=(16, 3))
    ...     batch[0] = targets[0]
    ...     step = attack.update(targets, batch.mean(axis=0))
    >>> attack.scores() > 0
    array([ True, False])
    """

    _metric: Metric
    _plan: LayerPlan | None

    def __init__(
        self,
        reference: Any,
        batch_size: int,
        *,
        score: Score = "covariance",
        participation: Participation = "every-step",
        sampling_rate: float | None = None,
        noise_multiplier: float = 0.0,
        clip_norm: float | None = None,
    ):
        self.batch_size = as_count(batch_size, "batch_size", least=1)
        self.score = as_choice(score, "score", get_args(Score))
        self.participation = as_choice(participation, "participation", get_args(Participation))
        self.sampling_rate = _as_sampling_rate(sampling_rate, participation, score)
        self.clip_norm = as_clip_norm(clip_norm)
        self.noise_multiplier = _as_noise(noise_multiplier, self.clip_norm)
        self._metric, self._plan = self._metric_of(reference), None
        if self.noise_multiplier == 0.0:
            _warn_of_short_reference(reference)
        self._single = False
        self._combined: FloatArray | None = None
        self.n_steps_seen_ = 0

    def __repr__(self) -> str:
        return (
            f"CovarianceAttack(batch_size={self.batch_size}, score={self.score!r}, "
            f"participation={self.participation!r}, n_steps_seen_={self.n_steps_seen_})"
        )

    def update(
        self, target_gradients: Any, batch_gradient: Any, *, reference: Any = None
    ) -> FloatArray:
        """Take in one step, or several.

        Parameters
        ----------
        target_gradients : array_like or LayerGradients, shape (d,), (k, d) or (S, k, d)
            Gradients of one target or of k, at the model before the step; of S steps at once with
            three axes.
        batch_gradient : array_like, shape (d,) or (S, d)
            The mean gradient of the batch, with the noise if there is any; one a row for S steps.
        reference : StreamingCovariance, optional
            Fitted to gradients at the model before these steps, as in [AB24] Algorithm 7; it takes
            the place of the one before.

        Returns
        -------
        ndarray, shape (), (k,) or (S, k)
            The scores of these steps by themselves.

        Raises
        ------
        ValueError
            If shapes do not match the reference, each other or earlier steps, or anything is NaN
            or infinite.

        Warns
        -----
        UserWarning
            If the first batch gradient is as far from the reference as the sum of a batch.
        """
        metric = self._metric if reference is None else self._metric_of(reference)
        batch = as_floats(batch_gradient, "batch_gradient", finite=True)
        columns = metric.columns
        if isinstance(target_gradients, LayerGradients):
            targets, shape = None, target_gradients.errors.shape
            width = target_gradients.columns
        else:
            targets = as_floats(target_gradients, "target_gradients", finite=True)
            shape, width = targets.shape, targets.shape[-1] if targets.ndim else 0
        if len(shape) not in (1, 2, 3) or width != columns:
            invalid(
                "target_gradients",
                f"have {columns} columns (its last axis), as reference has, and at most 3 axes; "
                f"got {width} columns, and its shape is {shape}",
            )
        steps = shape[:1] if len(shape) == 3 else ()
        if batch.shape != (*steps, columns):
            invalid(
                "batch_gradient",
                f"have the shape {(*steps, columns)}, one gradient for each step of "
                f"target_gradients; its shape is {batch.shape}",
            )
        self._check_targets(shape)
        if metric is not self._metric:
            self._metric, self._plan = metric, None
        table = batch.reshape(-1, columns)
        if not self.n_steps_seen_ and len(table):
            self._compare(table[:1])
        with np.errstate(over="ignore", invalid="ignore"):
            if targets is None:
                scores = self._score_factors(target_gradients, table)
            else:
                count = shape[-2] if len(shape) > 1 else 1
                scores = self._score_dense(targets.reshape(len(table), count, columns), table)
        shaped = scores.reshape(shape[:-1])
        if not np.isfinite(scores).all():
            rule = "be near enough to the reference for squared distances to be numbers"
            invalid("target_gradients", rule)
        self._combine(scores)
        return shaped

    def _compare(self, batch: FloatArray) -> None:
        """Warn if a batch gradient is too far from the reference for a mean of `batch_size`.

        Its squared distance is then about d/b; that of a sum is larger by b^2 at least.
        """
        if self.batch_size < _LEAST_BATCH:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            squared = float(self._metric.squared(batch - self._metric.mean)[0])
        ratio = squared * self.batch_size / self._metric.columns
        if np.isfinite(ratio) and ratio > self.batch_size**2 / 2:
            warnings.warn(
                f"the first batch_gradient is {np.sqrt(ratio):.3g} times as far from the mean of "
                f"reference as the mean of batch_size={self.batch_size} gradients is: it may be "
                "their sum (reduction='sum', or gradients that were accumulated), or reference is "
                "of another layer, loss or model",
                stacklevel=3,
            )

    def scores(self) -> float | FloatArray:
        """Score of each target over all steps so far: larger means more likely in.

        Returns
        -------
        float or ndarray, shape (k,)

        Raises
        ------
        ValueError
            Before any step.
        """
        if self._combined is None:
            raise ValueError("scores() must come after update(): no step has been seen")
        combined = self._combined
        if self.participation == "one-step" and self.score == "covariance":
            combined = combined - np.log(self.n_steps_seen_)
        return combined[0] if self._single else combined.copy()

    def reset(self) -> None:
        """Forget all steps, for another training; what was made of the reference is kept."""
        self._combined = None
        self.n_steps_seen_ = 0

    def _metric_of(self, reference: Any) -> Metric:
        noise = self.noise_multiplier * (self.clip_norm or 0.0)
        metric = metric_of(reference, noise * noise / self.batch_size)
        if self.clip_norm is not None:
            _require_clipped(reference, self.clip_norm)
        return metric

    def _check_targets(self, shape: tuple[int, ...]) -> None:
        count = shape[-2] if len(shape) > 1 else 1
        if self._combined is None:
            self._single = len(shape) == 1
        elif count != self._combined.size:
            invalid(
                "target_gradients",
                f"be of {self._combined.size} targets, as at the first step; got {count}",
            )

    def _score_dense(self, targets: FloatArray, batches: FloatArray) -> FloatArray:
        """Scores (S, k) of gradients (S, k, d) against batches (S, d), in blocks."""
        if self.score == "scalar-product":
            return np.asarray(np.einsum("skd,sd->sk", self._clip(targets), batches))
        steps, count, columns = targets.shape
        deviations, scores = batches - self._metric.mean, np.empty((steps, count))
        released = self._released(deviations)
        rows = max(1, _BLOCK // columns)
        block = max(1, rows // max(count, 1))
        for first in range(0, steps, block):
            chunk = slice(first, first + block)
            for start in range(0, count, rows):
                part = slice(start, start + rows)
                deviations_of_targets = self._clip(targets[chunk, part]) - self._metric.mean
                squared, inner = self._metric.products(deviations_of_targets, deviations[chunk])
                scores[chunk, part] = self._step_scores(squared, inner, released[chunk])
        return scores

    def _score_factors(self, gradients: LayerGradients, batches: FloatArray) -> FloatArray:
        """Scores (S, k) of a layer's gradients, their inputs the same in all S steps."""
        if self.clip_norm is not None:
            gradients = gradients.clip(self.clip_norm)
        errors = gradients.errors.reshape(len(batches), *gradients.errors.shape[-2:])
        if self.score == "scalar-product":
            return gradients_dot(errors, gradients, batches)
        if self._plan is None or not self._plan.serves(gradients):
            self._plan = LayerPlan(self._metric, gradients)
        squared, inner = self._plan.products(errors, batches)
        released = self._released(batches - self._metric.mean)
        return self._step_scores(squared, inner, released)

    def _released(self, deviations: FloatArray) -> FloatArray:
        """``|g_batch|^2`` (S,), which only GLiR asks for."""
        if self.score != "glir":
            return np.zeros(len(deviations))
        return self._metric.squared(deviations.copy())

    def _clip(self, rows: FloatArray) -> FloatArray:
        return clipped(rows, self.clip_norm)

    def _step_scores(
        self, squared: FloatArray, inner: FloatArray, released: FloatArray
    ) -> FloatArray:
        """From ``|g|^2``, ``g . g_batch`` (S, k) and ``|g_batch|^2`` (S,), deviations all."""
        b = self.batch_size
        if self.score == "covariance":
            return inner - squared / (2 * b)
        distance = b * np.maximum(squared - 2.0 * inner + released[:, None], 0.0)
        tails = log_tails(distance, float(self._metric.columns), b * squared)
        return np.asarray(-tails[0])

    def _combine(self, scores: FloatArray) -> None:
        """Take the scores (S, k) of S steps into the running result."""
        if not len(scores):
            return
        self.n_steps_seen_ += scores.shape[0]
        function: Any = np.add
        if self.participation == "poisson":
            scores = np.asarray(mixture_score(scores, self.sampling_rate or 0.0))
        elif self.participation == "one-step":
            function = np.logaddexp if self.score == "covariance" else np.maximum
        total = function.reduce(scores, axis=0)
        self._combined = total if self._combined is None else function(self._combined, total)


def gradients_dot(errors: FloatArray, factors: LayerGradients, batches: FloatArray) -> FloatArray:
    """Scalar product of each of the gradients, errors (S, k, C), with its step's batch (S, d)."""
    steps, outputs = len(batches), errors.shape[-1]
    inputs = factors.inputs
    weights = batches[:, : outputs * inputs.shape[1]].reshape(steps, outputs, -1)
    fed = np.matmul(inputs, weights.transpose(0, 2, 1))
    if factors.bias:
        fed += batches[:, None, -outputs:]
    return np.asarray(np.vecdot(errors, fed))


def _require_clipped(reference: Any, clip_norm: float) -> None:
    """Refuse a reference whose gradients are longer than `clip_norm` in the mean square."""
    moments = reference._seen().moments
    centre = moments.centre + moments.rest
    size = float(np.sqrt(centre @ centre + moments.variances().sum()))
    if size > clip_norm * (1.0 + _CLIPPED):
        rule = f"be fitted to gradients clipped to clip_norm={clip_norm:g}"
        invalid(
            "reference",
            f"{rule}; the root mean square of their norms is {size:.3g}",
            remedy="Fit it to rows * np.minimum(1, clip_norm / norms), as DP-SGD uses them, "
            "norms those of whole gradients, all layers together",
        )


def _warn_of_short_reference(reference: Any) -> None:
    """Warn where the inverse of the covariance is off by a factor of two or more.

    The mean of the inverse of a covariance of n normal rows in d columns is (n - 1)/(n - d - 2)
    times the inverse.
    """
    given = reference.get_params()
    rows, columns = int(reference.n_samples_seen_), reference.mean_.size
    plain = given["structure"] == "full" and not given["shrinkage"] and not given["ridge"]
    if plain and rows < 2 * (columns + 2):
        warnings.warn(
            f"the reference has {rows} rows for {columns} coordinates: scores are too large by a "
            f"factor of about {(rows - 1) / max(rows - columns - 2, 1):.3g}. Fit it to more rows, "
            'or pass shrinkage="ledoit-wolf", ridge= or structure="diagonal"',
            stacklevel=3,
        )


def _as_sampling_rate(rate: Any, participation: str, score: str) -> float | None:
    if participation != "poisson":
        if rate is not None:
            invalid("sampling_rate", "be given with participation 'poisson' only", value=rate)
        return None
    if score != "covariance":
        remedy = "Only the likelihood ratio knows what a step without the target weighs"
        invalid("score", "be 'covariance' with participation 'poisson'", value=score, remedy=remedy)
    if rate is None:
        invalid("sampling_rate", "be given with participation 'poisson'")
    probability = as_float(rate, "sampling_rate")
    if not 0.0 < probability <= 1.0:
        invalid("sampling_rate", "be above 0 and at most 1", value=probability)
    return probability


def _as_noise(noise_multiplier: Any, clip_norm: float | None) -> float:
    noise = as_float(noise_multiplier, "noise_multiplier")
    require(noise >= 0.0, noise, "noise_multiplier", "be at least 0")
    if noise > 0.0 and clip_norm is None:
        invalid("clip_norm", "be given with a noise_multiplier: the noise is in units of it")
    return noise
