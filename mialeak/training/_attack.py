"""The covariance attack: step scores of many targets, combined as they take part in training."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_float,
    as_floats,
    invalid,
    require,
    unsupported,
)
from mialeak._numerics.noncentral import log_tails
from mialeak.scores import mixture_score
from mialeak.training._gradients import LayerGradients, as_clip_norm, clipped, gradients_dot
from mialeak.training._known import KnownRun, as_noise, as_sampling_rate, require_alone
from mialeak.training._metric import (
    LayerPlan,
    Metric,
    laws_of,
    mean_square,
    metric_of,
    require_clipped,
    warn_of_scale,
    warn_of_short_reference,
    warn_of_small_steps,
)
from mialeak.training._rows import DualMetric, is_factors
from mialeak.training._sketch import GradientSketch, as_sketch, sketched

__all__ = ["CovarianceAttack", "Participation", "Score"]

Score = Literal["covariance", "scalar-product", "glir"]
Participation = Literal["every-step", "one-step", "poisson"]

#: Entries of deviations worked on at once: 32 MB, enough rows to keep matrix kernels busy.
_BLOCK = 1 << 22


class CovarianceAttack:
    """Scores for whether the gradients of targets are among those of the batches.

    Parameters
    ----------
    reference : StreamingCovariance, LayerGradients or list of LayerGradients, optional
        Fitted to gradients of reference examples, one a row: its mean and covariance stand for
        those of a fresh example's gradient.  Or the factors of these gradients, a layer each: the
        attack then takes products of factors only, and no row of the length of the model is made.
    batch_size : int
        Gradients that a batch gradient is the mean of, the target's included; at least 1.  Of
        DP-SGD the fixed number that the sum is divided by.
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
        Norm that DP-SGD clips gradients to.  Targets are clipped here, and `known`; the reference
        has to be fitted to clipped gradients, and one whose rows are longer in the mean square is
        refused.
    known : array_like (n, d), LayerGradients or list of LayerGradients, optional
        In place of `reference`, for an auditor: gradients of all rows that are in the training
        whatever the coins, the canaries not among them.  Each canary is in by a fair coin.
        `participation` is "every-step" (each batch holds all rows that are in) or "poisson", with
        a fixed divisor, as Opacus trains.  See Notes.
    ridge : float, default 0.0
        With factors, where it is above 0, or a sketch: added to the variance of each parameter.
    sketch : GradientSketch, optional
        With a `reference` fitted to sketches; batch gradients, and targets that are no sketches (of
        clipped gradients), are sketched here.  Refused beside `known`: noise varies in all
        directions, of which a sketch keeps ``size / columns`` of the squared distance.

    Attributes
    ----------
    n_steps_seen_ : int
    noise_multiplier_ : float
        With `known`: the noise that the steps show, in units of `clip_norm` (without one, the
        standard deviation of the sum of a batch); the median over steps of the most likely values.
    clipped_ : bool
        With `known`: whether most steps are more likely with gradients clipped to `clip_norm` than
        with gradients as they are.

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

    A batch by Poisson sampling is divided by a fixed number, and the target is *added* to it: for
    "poisson" the score is ``g^T S^-1 (g_batch - mu) - g^T S^-1 g / (2b)`` with S the uncentred
    second moment ``C + mu mu^T``.  Where the mean of gradients is as large as their deviation, the
    area under the curve is 0.767 with it and 0.672 with the centred form.

    **With known rows.**  All that is random for an auditor are sampling, noise and the coins of the
    canaries.  With y the sum of the batch, q the sampling rate (1 for "every-step") and rows
    clipped, ``res = y - q sum_base g - q/2 sum_canaries g`` has the covariance ``V = v I + (q/2)(1
    - q/2) G_c^T G_c + q (1 - q) G_b^T G_b``.  The score of a step is the log likelihood ratio of
    one coin given the law of the others.  The coins stay the same from step to step: for
    "every-step" all steps together are one regression on the coins, and the score is the ratio of
    that.  The variance v of the noise is not the one that is claimed but the most likely one, and
    so is the choice between clipped and unclipped rows: an attack that believes the claim is weak
    against a training without noise.  No estimate uses a coin, so that
    :func:`mialeak.auditing.one_run_audit` takes the scores.

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
    gradients with C inverse; give many steps to an update.  A reference of factors: the Gram matrix
    of its r rows once, and for a step the product of each row with the batch gradient; with 1e6
    parameters, 1,500 reference rows and 300 targets 0.7 s, 49 MB and 0.09 s on one core.  Known
    rows: the eigenvectors of the Gram matrix of canaries (and of base rows, for "poisson": the cube
    of their number, or of that of columns), twice a step if a row is longer than `clip_norm`.

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
    _dual: DualMetric | None
    _run: KnownRun | None

    def __init__(
        self,
        reference: Any = None,
        batch_size: int | None = None,
        *,
        score: Score = "covariance",
        participation: Participation = "every-step",
        sampling_rate: float | None = None,
        noise_multiplier: float = 0.0,
        clip_norm: float | None = None,
        known: Any = None,
        ridge: float = 0.0,
        sketch: GradientSketch | None = None,
    ):
        self.batch_size = as_count(batch_size, "batch_size", least=1)
        self.score = as_choice(score, "score", get_args(Score))
        self.participation = as_choice(participation, "participation", get_args(Participation))
        self.sampling_rate = as_sampling_rate(sampling_rate, participation, score)
        self.clip_norm = as_clip_norm(clip_norm)
        self.noise_multiplier = as_noise(noise_multiplier, self.clip_norm)
        self.ridge = as_float(ridge, "ridge")
        require(self.ridge >= 0.0, self.ridge, "ridge", "be at least 0")
        self.sketch = as_sketch(sketch, reference, known)
        self._run, self._dual, self._plan = None, None, None
        self._laws: tuple[bool, Any] = False, None  # nothing is known of distances
        if known is not None:
            require_alone(reference, self.participation, self.score)
            self._run = KnownRun(known, self.clip_norm, self.sampling_rate)
        if self._run is None:
            self._set_reference(reference)
            if self.noise_multiplier == self.ridge == 0.0 and self._dual is None:
                warn_of_short_reference(reference)
        self._single = False
        self._combined: FloatArray | None = None
        self.n_steps_seen_ = 0

    def __repr__(self) -> str:
        return (
            f"CovarianceAttack(batch_size={self.batch_size}, score={self.score!r}, "
            f"participation={self.participation!r}, n_steps_seen_={self.n_steps_seen_})"
        )

    def update(
        self,
        target_gradients: Any,
        batch_gradient: Any,
        *,
        reference: Any = None,
        known: Any = None,
    ) -> FloatArray:
        """Take in one step, or several.

        Parameters
        ----------
        target_gradients : array_like or LayerGradients, shape (d,), (k, d) or (S, k, d)
            Gradients of one target or of k, at the model before the step; of S steps at once with
            three axes.  With `known`, or a reference of factors, one step: k rows, or the factors
            of each layer in a list, as those are.
        batch_gradient : array_like, shape (d,) or (S, d)
            The mean gradient of the batch, with the noise if there is any; one a row for S steps.
        reference : StreamingCovariance, optional
            Fitted to gradients at the model before these steps, as in [AB24] Algorithm 7; it takes
            the place of the one before.
        known : array_like, LayerGradients or list of LayerGradients, optional
            The known rows at the model before this step, in place of those before.

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
            If the first batch gradient is 0, points away from the mean of the reference, or is too
            far from it for the mean of a batch, or the first two differ too little: a sum, a wrong
            learning rate or batch size, or another reference.
        """
        batch = as_floats(batch_gradient, "batch_gradient", finite=True)
        if self._run is not None or known is not None or self._dual is not None:
            if (known is not None and self._run is None) or (reference is not None and self._run):
                name = "reference" if self._run else "known"
                invalid(name, "be given where the attack was made with one", error=TypeError)
            if reference is not None:
                self._set_reference(reference)
            if self._run is not None or self._dual is not None:
                return self._update_rows(target_gradients, batch, known)
        metric = self._metric if reference is None else self._metric_of(reference)
        columns = metric.width_of(target_gradients=target_gradients, batch_gradient=batch_gradient)
        if self.sketch is not None:
            target_gradients, batch = sketched(self.sketch, target_gradients, batch, self.clip_norm)
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
            warn_of_scale(self._metric, table[:1], self.batch_size, targets, self._laws[0])
            self._first = table[:1].copy()
        if self._laws[1] is not None and self.n_steps_seen_ < 2 and len(table):
            pair = np.concatenate([self._first, table[1 - self.n_steps_seen_ :]])[:2]
            if len(pair) == 2:
                warn_of_small_steps(self._metric, pair, self.batch_size, self._laws[1])
                self._laws = self._laws[0], None
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

    def _update_rows(self, targets: Any, batch: FloatArray, known: Any) -> FloatArray:
        """One step against known rows, or against a reference of factors."""
        columns = (self._run or self._dual or self._metric).columns
        if batch.shape != (columns,):
            rule = f"be one step of {columns} columns; its shape is {batch.shape}"
            invalid("batch_gradient", rule)
        if self._run is not None:
            scores = self._run.step(targets, self.batch_size * batch, known)
            self.n_steps_seen_ += 1
            return scores
        assert self._dual is not None
        squared, inner, released = self._dual.products(targets, batch, self.clip_norm)
        self._check_targets((squared.size, columns))
        scores = self._step_scores(squared[None], inner[None], np.array([released]))
        self._combine(scores)
        return np.asarray(scores[0])

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
        if self._run is not None and self.n_steps_seen_:
            return self._run.scores()
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
        if self._run is not None:
            self._run.forget()

    @property
    def _independent_scores(self) -> FloatArray | None:
        """Sums over the steps of which no canary changes another's, where there are such."""
        return None if self._run is None or not self.n_steps_seen_ else self._run.plain

    @property
    def noise_multiplier_(self) -> float:
        """The noise that the steps show."""
        return float(np.median(self._seen().deviations)) / (self.clip_norm or 1.0)

    @property
    def clipped_(self) -> bool:
        """Whether the steps show clipped gradients."""
        return float(np.mean(self._seen().choices)) > 0.5

    def _seen(self) -> KnownRun:
        if self._run is None or not self.n_steps_seen_:
            raise AttributeError("the noise is known with known= and after update()")
        return self._run

    def _set_reference(self, reference: Any) -> None:
        self._plan = None
        if is_factors(reference):
            if self.participation == "poisson":
                what = "participation='poisson'"
                unsupported(
                    what,
                    "with a reference of factors",
                    "the mean is not removed",
                    remedy="Pass known rows, or a fitted StreamingCovariance",
                )
            noise = (self.noise_multiplier * (self.clip_norm or 0.0)) ** 2 / self.batch_size
            self._dual = DualMetric(reference, self.ridge + noise)
            if self.clip_norm is not None:
                require_clipped(float(self._dual.rows.squares().mean()), self.clip_norm)
            return
        if self.ridge and self.sketch is None:
            rule, remedy = "be given with a reference of factors", "StreamingCovariance(ridge=...)"
            invalid("ridge", rule, value=self.ridge, remedy=f"{remedy} has its own")
        self._metric = self._metric_of(reference)

    def _metric_of(self, reference: Any) -> Metric:
        noise = self.noise_multiplier * (self.clip_norm or 0.0)
        variance, columns = noise * noise / self.batch_size + self.ridge, None
        if self.sketch is not None:  # of each sum of so many entries
            variance, columns = variance * self.sketch.columns / self.sketch.size, self.sketch.size
        metric = metric_of(reference, variance, added=self.participation == "poisson")
        if columns not in (None, metric.columns):
            rule = f"be fitted to sketches of {columns} columns; it has {metric.columns}"
            invalid("reference", rule)
        if self.clip_norm is not None:
            require_clipped(mean_square(reference), self.clip_norm, columns)
        # Noise that is less than stated, and sampled batches of another size, are no mistake.
        is_plain = self.noise_multiplier == self.ridge == 0.0 and self.participation != "poisson"
        far, near = laws_of(reference, is_plain)
        self._laws = far and not self.ridge, near
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
                shifted = self._clip(targets[chunk, part]) - self._metric.centre
                squared, inner = self._metric.products(shifted, deviations[chunk])
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
        return clipped(rows, None if self.sketch else self.clip_norm)

    def _step_scores(
        self, squared: FloatArray, inner: FloatArray, released: FloatArray
    ) -> FloatArray:
        """From ``|g|^2``, ``g . g_batch`` (S, k) and ``|g_batch|^2`` (S,), deviations all."""
        b = self.batch_size
        if self.score == "covariance":
            return inner - squared / (2 * b)
        distance = b * np.maximum(squared - 2.0 * inner + released[:, None], 0.0)
        columns = (self._dual or self._metric).columns
        tails = log_tails(distance, float(columns), b * squared)
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
