"""Rows of the benchmark for attacks on gradient steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas
from speed_case import EPS, SpeedCase

from mialeak import CovarianceAttack, StreamingCovariance, select_canaries
from mialeak.training import LayerGradients

__all__ = ["WHITEBOX_CASES"]

BATCH, TARGETS, OUTPUTS = 64, 100, 10


def as_large(size: int, full: int, columns: int) -> int:
    """Columns of the full row, or few where only the running is tested."""
    return columns if size >= full else 64


# --- one step, a full covariance ---------------------------------------------------------------


@cache
def step(size: int) -> tuple[Any, ...]:
    """An attack, gradients of `size` targets, a batch gradient, and a factor to solve with."""
    rng = np.random.default_rng(11)
    d = as_large(size, 1000, 4080)
    reference = StreamingCovariance().fit(rng.normal(size=(2 * d + 4, d)))
    targets, batch = rng.normal(size=(size, d)), rng.normal(size=d)
    factor = np.linalg.cholesky(reference.covariance_).T
    return CovarianceAttack(reference, BATCH), targets, batch, np.asfortranarray(factor.T)


def attacked(attack: Any, targets: np.ndarray, batch: np.ndarray, _: Any) -> np.ndarray:
    return attack.update(targets, batch)


def solved(attack: Any, targets: np.ndarray, batch: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return blas.dtrsm(1.0, factor, targets.T, lower=1)


def step_error(function: Callable[..., Any], size: int) -> float:
    """Largest error relative to the largest score, in eps, against the formula by an inverse."""
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(300, 64))
    reference = StreamingCovariance().fit(rows)
    targets, batch = rng.normal(size=(size, 64)), rng.normal(size=64)
    inverse = np.linalg.inv(np.cov(rows.T, bias=True))
    deviations = targets - rows.mean(axis=0)
    squared = np.vecdot(deviations @ inverse, deviations)
    want = deviations @ inverse @ (batch - rows.mean(axis=0)) - squared / (2 * BATCH)
    got = function(CovarianceAttack(reference, BATCH), targets, batch, None)
    return float(np.max(np.abs(got - want)) / np.max(np.abs(want)) / EPS)


# --- an epoch of the linear layer, a low-rank covariance ---------------------------------------


@cache
def epoch(size: int) -> tuple[Any, ...]:
    """An attack, the layer's gradients of 100 targets in size/100 steps, the batch gradients."""
    rng = np.random.default_rng(13)
    steps = max(size // TARGETS, 1)
    inputs = as_large(size, 1000, 784)
    rows = LayerGradients(rng.normal(size=(1000, OUTPUTS)), rng.random((1000, inputs))).dense()
    reference = StreamingCovariance(structure="low-rank", shrinkage=0.1)
    reference.fit(rows if rows.shape[1] > 1000 else rows[:500])
    targets = LayerGradients(
        rng.normal(size=(steps, TARGETS, OUTPUTS)), rng.random((TARGETS, inputs))
    )
    return reference, targets, rng.normal(size=(steps, targets.columns))


def by_factors(reference: Any, targets: LayerGradients, batches: np.ndarray) -> np.ndarray:
    attack = CovarianceAttack(reference, BATCH, participation="one-step")
    attack.update(targets, batches)
    return attack.scores()


def by_gradients(reference: Any, targets: LayerGradients, batches: np.ndarray) -> np.ndarray:
    attack = CovarianceAttack(reference, BATCH, participation="one-step")
    for errors, batch in zip(targets.errors, batches, strict=True):
        attack.update(LayerGradients(errors, targets.inputs).dense(), batch)
    return attack.scores()


def epoch_error(function: Callable[..., Any], size: int) -> float:
    """Largest error relative to the largest score, in eps, against dense gradients."""
    arguments = epoch(500)
    want = by_gradients(*arguments)
    return float(np.max(np.abs(function(*arguments) - want)) / np.max(np.abs(want)) / EPS)


# --- canaries, a low-rank covariance -----------------------------------------------------------


@cache
def candidates(size: int) -> tuple[Any, ...]:
    """A reference of 1000 gradients, and `size` candidates in single precision."""
    rng = np.random.default_rng(14)
    d = as_large(size, 1000, 7850)
    reference = StreamingCovariance(structure="low-rank", shrinkage=0.1)
    reference.fit(rng.normal(size=(min(1000, d // 2), d)))
    return reference, rng.normal(size=(size, d)).astype(np.float32)


def chosen(reference: Any, rows: np.ndarray) -> np.ndarray:
    return select_canaries(iter([rows]), reference, 10).indices


def sorted_distances(reference: Any, rows: np.ndarray) -> np.ndarray:
    return np.argsort(-reference.mahalanobis(rows))[:10]


def chosen_error(function: Callable[..., Any], size: int) -> float:
    arguments = candidates(500)
    return 0.0 if np.array_equal(function(*arguments), sorted_distances(*arguments)) else np.inf


WHITEBOX_CASES = (
    SpeedCase(
        name="`CovarianceAttack.update`, 1000 targets, d = 4080",
        size=1000,
        quick_size=20,
        setup=step,
        ours=attacked,
        rivals={},
        error=step_error,
        bound=1e-12 / EPS,
        floor=solved,
        floor_name="dtrsm",
    ),
    SpeedCase(
        name="`CovarianceAttack`, 937 steps, 100 targets, d = 7850, factors, low rank",
        size=937 * TARGETS,
        quick_size=500,
        setup=epoch,
        ours=by_factors,
        rivals={"dense gradients": by_gradients},
        error=epoch_error,
        bound=1e-12 / EPS,
        rival_size=1000,
    ),
    SpeedCase(
        name="`select_canaries`, d = 7850, low rank",
        size=2048,
        quick_size=100,
        setup=candidates,
        ours=chosen,
        rivals={"mahalanobis and argsort": sorted_distances},
        error=chosen_error,
    ),
)
