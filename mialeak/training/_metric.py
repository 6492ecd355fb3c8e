"""Inner products in units of a covariance, with the noise of DP-SGD added to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak.covariance import StreamingCovariance

__all__ = ["Metric", "metric_of"]


class Metric:
    """The mean of a reference, and products of rows that deviate from it."""

    def __init__(self, reference: StreamingCovariance):
        self.mean = reference.mean_
        self.columns = self.mean.size
        self._factor = reference.whitening_
        self._factor.squared(np.zeros((0, self.columns)))  # a singular one refuses

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


def metric_of(reference: Any, variance: float = 0.0) -> Metric:
    """The metric of a fitted covariance, with `variance` added to that of every coordinate."""
    if not isinstance(reference, StreamingCovariance):
        invalid(
            "reference",
            f"be a fitted StreamingCovariance, not {type(reference).__name__}",
            remedy="StreamingCovariance().fit(gradients) is one",
            error=TypeError,
        )
    if variance > 0.0:
        parameters = reference.get_params()
        parameters["ridge"] += variance
        reference = StreamingCovariance(**parameters).merge(reference)
    return Metric(reference)
