"""The attack of an auditor, who knows all rows but which canaries are in, and which are sampled.

A step of DP-SGD releases ``y = sum of the sampled rows + noise``, a batch gradient times the batch
size.  The auditor knows the gradients of the base rows and of the canaries.  What is random is the
sampling, the coins of the canaries and the noise:

    res = y - q sum_base g - q/2 sum_canaries g
    V   = v I + (q/2)(1 - q/2) G_c^T G_c + q(1 - q) G_b^T G_b

The variance v of the noise is not believed but estimated, by maximum likelihood at each step, and
so is whether the gradients were clipped at all: a training whose noise was forgotten is attacked
as the training that it is.  Neither estimate uses a coin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from mialeak._arrays import FloatArray, as_float, invalid, require
from mialeak.scores import mixture_score
from mialeak.training._rows import DenseRows, FactorRows, Rows, rows_of

__all__ = ["KnownRun", "as_noise", "as_sampling_rate", "require_alone"]

#: Eigenvalues of the covariance below this share of the largest are rounding of the Gram matrix.
_RANK = 1e-10
#: Standard deviations of the noise that are tried, in units of the longest row, and refined once.
_GRID, _FINER = np.geomspace(1e-6, 1e4, 161), 41
#: Nodes of the mean over a Gaussian score.
_NODES = 40
#: Deviation of the Gram matrix from a multiple of one up to which canaries count as orthogonal.
_ORTHOGONAL = 1e-6


class _Step(NamedTuple):
    """A released sum under one hypothesis on clipping, in the eigenvectors of its covariance."""

    targets: Rows
    excess: FloatArray  # y - q sum_base: what canaries and noise add
    values: FloatArray  # eigenvalues of V - v I
    loads: FloatArray  # of each canary along each eigenvector
    along: FloatArray  # of the residual
    inner: FloatArray  # canaries times residual
    variance: float  # v, the most likely one
    likelihood: float


class KnownRun:
    """Sums over the steps of a training of which all but coins, sampling and noise is known."""

    def __init__(self, known: Any, clip_norm: float | None, rate: float | None):
        self._known, self._clip = rows_of(known, "known"), clip_norm
        #: Sampling rate of Poisson batches; None where every batch holds all rows.
        self._rate = rate
        self.columns = self._known.columns
        self.forget()

    def forget(self) -> None:
        """Drop all steps."""
        self.deviations: list[float] = []
        self.choices: list[bool] = []
        self._precision: FloatArray | None = None
        self._linear = self._score = np.zeros(0)
        self._gap = self._spread = np.zeros(0)
        self.plain: FloatArray | None = None
        self._first: FloatArray | None = None

    def step(self, targets: Any, batch_sum: FloatArray, known: Any) -> FloatArray:
        """Scores (k,) of one step by itself."""
        base = self._known if known is None else rows_of(known, "known", self._known)
        rows = rows_of(targets, "target_gradients", base)
        if self._score.size not in (0, rows.count):
            rule = f"be of {self._score.size} targets, as at the first step; got {rows.count}"
            invalid("target_gradients", rule)
        for name, one in (("known", base), ("target_gradients", rows)):
            with np.errstate(over="ignore", invalid="ignore"):
                is_finite = np.isfinite(one.squares().sum() * one.count)
            if not is_finite:
                invalid(name, "be small enough for products of its rows to be numbers")
        self._known = base
        step = self._fitted(rows, batch_sum, self._clip)
        is_clipped = self._clip is not None
        if self._clip is not None and self._changes(rows, self._clip):
            free = self._fitted(rows, batch_sum, None)
            if free.likelihood > step.likelihood:
                step, is_clipped = free, False
        self.deviations.append(float(np.sqrt(step.variance)))
        self.choices.append(is_clipped)
        scores, distances = self._ratio(step)
        self._add(step, scores, distances)
        return scores

    def scores(self) -> FloatArray:
        """Score of each canary over all steps."""
        if self._precision is None:
            return self._score.copy()
        # Coins have mean 1/2 and variance 1/4; given the others' law, the ratio of one coin.
        size = len(self._precision)
        inverse = np.linalg.inv(self._precision + 4.0 * np.eye(size))
        mean = inverse @ (self._linear + 2.0)
        return np.asarray((mean - 0.5) / np.diag(inverse))

    def areas(self) -> tuple[float, float | None]:
        """Areas under the curve that the gradients and the noise allow: of all canaries, of one.

        For full batches, where the ratio of a coin is Gaussian, also that of a canary that were
        alone.  Of Poisson batches the scores of many steps are taken as Gaussian.
        """
        if self._precision is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                mu = np.nan_to_num(self._gap / np.sqrt(self._spread / 2.0))
            return float(ndtr(mu / np.sqrt(2.0)).mean()), None
        size = len(self._precision)
        inverse = np.linalg.inv(self._precision + 4.0 * np.eye(size))
        together = np.sqrt(np.maximum(1.0 / np.diag(inverse) - 4.0, 0.0))
        alone = np.sqrt(np.diag(self._precision))
        areas = [float(ndtr(mu / np.sqrt(2.0)).mean()) for mu in (together, alone)]
        return areas[0], areas[1]

    def _changes(self, targets: Rows, clip_norm: float) -> bool:
        longest = max(np.max(rows.squares(), initial=0.0) for rows in (targets, self._known))
        return bool(longest > (clip_norm * (1.0 + 1e-6)) ** 2)

    def _fitted(self, targets: Rows, batch_sum: FloatArray, clip_norm: float | None) -> _Step:
        """The step under a hypothesis on clipping, with its most likely noise."""
        rate = self._rate or 1.0
        targets, known = targets.clipped(clip_norm), self._known.clipped(clip_norm)
        excess = batch_sum - known.total(np.full(known.count, rate))
        residual = excess - targets.total(np.full(targets.count, 0.5 * rate))
        coin, sampling = 0.5 * rate * (1.0 - 0.5 * rate), rate * (1.0 - rate)
        parts = [targets.scaled(np.full(targets.count, np.sqrt(coin)))]
        if sampling > 0.0:
            parts.append(known.scaled(np.full(known.count, np.sqrt(sampling))))
        values, loads, along = _spectrum(_joined(parts), residual, targets.count)
        loads /= np.sqrt(coin)
        longest = np.sqrt(max(np.max(r.squares(), initial=0.0) for r in (targets, known)))
        beyond = max(float(residual @ residual - along @ along), 0.0)
        variance, likelihood = _most_likely(
            values, along**2, beyond, self.columns, float(longest) or 1.0
        )
        inner = targets.dot(residual)
        return _Step(targets, excess, values, loads, along, inner, variance, likelihood)

    def _ratio(self, step: _Step) -> tuple[FloatArray, FloatArray]:
        """Log likelihood ratio of each canary by this step alone, without its own coin in V.

        And its variance: the squared distance of a batch with the canary from one without.
        """
        rate, v = self._rate or 1.0, step.variance
        weight = 1.0 / (step.values + v) - 1.0 / v
        inner = step.inner / v + step.loads @ (weight * step.along)
        squared = step.targets.squares() / v + (step.loads**2) @ weight
        coin = 0.5 * rate * (1.0 - 0.5 * rate)
        others = np.maximum(1.0 - coin * squared, np.finfo(np.float64).eps)
        scores = (inner + 0.5 * (rate - 1.0) * squared) / others
        return np.asarray(scores), np.asarray(squared / others)

    def _add(self, step: _Step, scores: FloatArray, distances: FloatArray) -> None:
        """Take a step into the sums."""
        first = self._score.size == 0
        if self._rate is not None and self._rate < 1.0:
            scores = np.asarray(mixture_score(scores, self._rate))
            self._score = scores if first else self._score + scores
            gap, spread = _mixture_moments(distances, self._rate)
            self._gap = gap if first else self._gap + gap
            self._spread = spread if first else self._spread + spread
            return
        self._score = scores if first else self._score + scores
        gram = step.targets.gram(step.targets)
        seen = step.targets.dot(step.excess)
        if first or self._precision is None:
            self._precision, self._linear = np.zeros_like(gram), np.zeros(len(gram))
            self.plain = np.zeros(len(gram))
        self._precision = self._precision + gram / step.variance
        self._linear = self._linear + seen / step.variance
        if self.plain is not None:
            self.plain = self.plain + seen if self._is_fixed(step.targets, gram) else None

    def _is_fixed(self, targets: Rows, gram: FloatArray) -> bool:
        """Whether canaries are orthogonal, of one length, and at every step the same."""
        length = float(np.mean(np.diag(gram)))
        away = float(np.abs(gram - length * np.eye(len(gram))).max(initial=0.0))
        if not isinstance(targets, DenseRows) or not away <= _ORTHOGONAL * length:
            return False
        if self._first is None:
            self._first = targets.rows.copy()
        scale = float(np.abs(self._first).max(initial=0.0))
        return bool(np.abs(targets.rows - self._first).max(initial=0.0) <= _ORTHOGONAL * scale)


def _mixture_moments(distances: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """Of the ratio ``log(1 - q + q e^s)``: its mean in less that out, and the sum of variances.

    s has the law N(-m/2, m) in batches without the canary and N(m/2, m) in those with it.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    moved = np.sqrt(distances)[:, None] * nodes
    half = 0.5 * distances[:, None]
    out, taken = (np.logaddexp(np.log1p(-rate), np.log(rate) + moved + z) for z in (-half, half))
    means = [ratio @ weights for ratio in (out, taken)]
    squares = [ratio**2 @ weights for ratio in (out, taken)]
    gap = rate * (means[1] - means[0])
    inside = rate * squares[1] + (1.0 - rate) * squares[0] - (means[0] + gap) ** 2
    return gap, np.maximum(inside + squares[0] - means[0] ** 2, 0.0)


def _joined(parts: list[Rows]) -> Rows:
    """Rows of the same kind, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], DenseRows):
        return DenseRows(np.concatenate([one.rows for one in parts if isinstance(one, DenseRows)]))
    tables = [one.layers for one in parts if isinstance(one, FactorRows)]
    return FactorRows([_stacked(column) for column in zip(*tables, strict=True)])


def _stacked(layers: Any) -> Any:
    errors = np.concatenate([one.errors for one in layers])
    inputs = np.concatenate([one.inputs for one in layers])
    return type(layers[0])(errors, inputs, bias=layers[0].bias)


def _spectrum(
    rows: Rows, residual: FloatArray, count: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eigenvalues of ``G^T G``; products of the first `count` rows and the residual with its
    eigenvectors.  By the Gram matrix, or by G^T G itself where that is smaller.
    """
    if isinstance(rows, DenseRows) and rows.columns < rows.count:
        values, vectors = np.linalg.eigh(rows.rows.T @ rows.rows)
        kept = values > _RANK * values[-1]
        vectors = vectors[:, kept]
        return values[kept], rows.rows[:count] @ vectors, residual @ vectors
    gram = rows.gram(rows)
    values, vectors = np.linalg.eigh(gram)
    kept = values > _RANK * values[-1]
    values, vectors = values[kept], vectors[:, kept] / np.sqrt(values[kept])
    return values, gram[:count] @ vectors, rows.dot(residual) @ vectors


def _most_likely(
    values: FloatArray, along: FloatArray, beyond: float, columns: int, scale: float
) -> tuple[float, float]:
    """The variance of the noise under which the residual is the most likely, and its logarithm."""
    floor = _RANK * float(np.max(values, initial=0.0))
    free = columns - values.size

    def likelihood(variances: FloatArray) -> FloatArray:
        total = values + variances[:, None]
        inside = (np.log(total) + along / total).sum(axis=1)
        return np.asarray(-0.5 * (inside + free * np.log(variances) + beyond / variances))

    grid = np.maximum((_GRID * scale) ** 2, floor)
    best = grid[np.argmax(likelihood(grid))]
    step = (_GRID[1] / _GRID[0]) ** 2
    finer = np.maximum(best * step ** np.linspace(-1.0, 1.0, _FINER), floor)
    heights = likelihood(finer)
    place = int(np.argmax(heights))
    return float(finer[place]), float(heights[place])


def as_sampling_rate(rate: Any, participation: str, score: str) -> float | None:
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


def as_noise(noise_multiplier: Any, clip_norm: float | None) -> float:
    noise = as_float(noise_multiplier, "noise_multiplier")
    require(noise >= 0.0, noise, "noise_multiplier", "be at least 0")
    if noise > 0.0 and clip_norm is None:
        invalid("clip_norm", "be given with a noise_multiplier: the noise is in units of it")
    return noise


def require_alone(reference: Any, participation: str, score: str) -> None:
    """Refuse what has no meaning beside known rows."""
    if reference is not None:
        remedy = "An auditor knows the rows, and needs no reference"
        invalid("reference", "be given without known", remedy=remedy, error=TypeError)
    if score != "covariance":
        remedy = "The others are no likelihood ratios"
        invalid("score", "be 'covariance' beside known", value=score, remedy=remedy)
    if participation == "one-step":
        remedy = "Of one unknown step of an epoch the law of the other rows is not that of coins"
        rule = "be 'every-step' or 'poisson' beside known"
        invalid("participation", rule, value=participation, remedy=remedy)
