"""Gradients of examples as rows of which only products are taken, and so need not be written out.

The gradient of a linear layer is an outer product ``e x^T``: rows of several layers have the Gram
matrix ``sum over layers of (E E^T) * (X X^T)``, and the product with a vector of weights W is
``sum((E W) * X)``.  No row of full length is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mialeak._arrays import FloatArray, as_floats, invalid
from mialeak._labels import labels_of, require_same_columns
from mialeak.training._gradients import LayerGradients

__all__ = ["DenseRows", "DualMetric", "FactorRows", "Rows", "is_factors", "rows_of"]

#: Rows whose products with all others are made at once.
_BLOCK = 256


class Rows(ABC):
    """Gradients, one an example: products with one another and with vectors."""

    count: int
    columns: int

    @abstractmethod
    def gram(self, other: Rows) -> FloatArray:
        """Products of each row with each row of `other` of the same kind."""

    @abstractmethod
    def dot(self, vector: FloatArray) -> FloatArray:
        """Product of each row with a vector (d,)."""

    @abstractmethod
    def total(self, weights: FloatArray) -> FloatArray:
        """Sum of the rows with these weights, (d,)."""

    @abstractmethod
    def squares(self) -> FloatArray:
        """Squared norm of each row."""

    @abstractmethod
    def scaled(self, factors: FloatArray) -> Rows:
        """The rows times a factor each."""

    def clipped(self, clip_norm: float | None) -> Rows:
        """Rows scaled down to a norm where they are longer, as DP-SGD does."""
        if clip_norm is None:
            return self
        with np.errstate(divide="ignore"):
            return self.scaled(np.minimum(1.0, clip_norm / np.sqrt(self.squares())))


class DenseRows(Rows):
    """Gradients that are written out."""

    def __init__(self, rows: FloatArray, labels: Any = None):
        self.rows = rows
        self.count, self.columns = rows.shape
        self._labels = labels

    def gram(self, other: Rows) -> FloatArray:
        """Products with the rows of `other`."""
        assert isinstance(other, DenseRows)
        return np.asarray(self.rows @ other.rows.T)

    def dot(self, vector: FloatArray) -> FloatArray:
        """Products with a vector."""
        return np.asarray(self.rows @ vector)

    def total(self, weights: FloatArray) -> FloatArray:
        """Weighted sum."""
        return np.asarray(weights @ self.rows)

    def squares(self) -> FloatArray:
        """Squared norms."""
        return np.asarray(np.vecdot(self.rows, self.rows))

    def scaled(self, factors: FloatArray) -> DenseRows:
        """Rows times a factor each."""
        return DenseRows(self.rows * factors[:, None], self._labels)


class FactorRows(Rows):
    """Gradients of linear layers, one after the other, as factors."""

    def __init__(self, layers: Sequence[LayerGradients]):
        self.layers = tuple(layers)
        self.count = len(self.layers[0].inputs)
        self.columns = sum(layer.columns for layer in self.layers)

    def gram(self, other: Rows) -> FloatArray:
        """Products with the rows of `other`."""
        assert isinstance(other, FactorRows)
        total = np.zeros((self.count, other.count))
        for start in range(0, self.count, _BLOCK):
            part = slice(start, start + _BLOCK)
            for one, two in zip(self.layers, other.layers, strict=True):
                fed = one.inputs[part] @ two.inputs.T
                fed += float(one.bias)
                fed *= one.errors[part] @ two.errors.T
                total[part] += fed
        return total

    def dot(self, vector: FloatArray) -> FloatArray:
        """Products with a vector."""
        total, start = np.zeros(self.count), 0
        for layer in self.layers:
            outputs, inputs = layer.errors.shape[1], layer.inputs.shape[1]
            weights = vector[start : start + outputs * inputs].reshape(outputs, inputs)
            for first in range(0, self.count, _BLOCK):
                part = slice(first, first + _BLOCK)
                total[part] += np.vecdot(layer.errors[part], layer.inputs[part] @ weights.T)
            if layer.bias:
                total += layer.errors @ vector[start + weights.size : start + layer.columns]
            start += layer.columns
        return total

    def total(self, weights: FloatArray) -> FloatArray:
        """Weighted sum."""
        total, start = np.empty(self.columns), 0
        for layer in self.layers:
            errors = layer.errors * weights[:, None]
            outputs, inputs = errors.shape[1], layer.inputs.shape[1]
            place = total[start : start + outputs * inputs].reshape(outputs, inputs)
            np.matmul(errors.T, layer.inputs, out=place)
            if layer.bias:
                total[start + place.size : start + layer.columns] = errors.sum(axis=0)
            start += layer.columns
        return total

    def squares(self) -> FloatArray:
        """Squared norms."""
        total = np.zeros(self.count)
        for layer in self.layers:
            fed = np.vecdot(layer.inputs, layer.inputs) + float(layer.bias)
            total += np.vecdot(layer.errors, layer.errors) * fed
        return total

    def scaled(self, factors: FloatArray) -> FactorRows:
        """Rows times a factor each."""
        return FactorRows(
            [
                LayerGradients(one.errors * factors[:, None], one.inputs, bias=one.bias)
                for one in self.layers
            ]
        )


def is_factors(gradients: Any) -> bool:
    """Whether gradients are those of layers, as factors."""
    if isinstance(gradients, (list, tuple)):
        return bool(gradients) and all(isinstance(one, LayerGradients) for one in gradients)
    return isinstance(gradients, LayerGradients)


def rows_of(gradients: Any, name: str, like: Rows | None = None, argument: str = "known") -> Rows:
    """Gradients of n examples at one model: a matrix, a layer's factors, or a list of layers.

    They must have the parameters of `like`, which is an `argument` that was given before.
    """
    rows: Rows
    if is_factors(gradients):
        layers = _layers(gradients)
        for place, layer in enumerate(layers):
            if layer.errors.ndim != 2 or len(layer.inputs) != len(layers[0].inputs):
                rule = "hold the same examples in each layer, of one step"
                invalid(name, rule, index=place, value=layer)
        rows = FactorRows(layers)
    else:
        rows = DenseRows(as_floats(gradients, name, ndim=2, finite=True), labels_of(gradients))
    if like is not None:
        before = argument if argument != name else f"the first {name}"
        require_same_columns(**{before: like, name: rows})
        same = type(rows) is type(like) and rows.columns == like.columns
        if isinstance(rows, FactorRows) and isinstance(like, FactorRows):
            same = same and _shapes(rows) == _shapes(like)
        if not same:
            invalid(
                name,
                f"be gradients of the same parameters, in the same form, {like.columns} columns; "
                f"it has {rows.columns} columns as {type(rows).__name__}",
            )
    return rows


def _shapes(rows: FactorRows) -> list[tuple[int, int, bool]]:
    return [(one.errors.shape[1], one.inputs.shape[1], one.bias) for one in rows.layers]


class DualMetric:
    """Products in units of a ridge-regularised covariance, from Gram matrices of its n rows.

    With R the centred rows, ``C = R^T R / n + ridge I`` has the inverse
    ``(I - R^T (n ridge I + R R^T)^-1 R) / ridge``.
    """

    def __init__(self, reference: Any, ridge: float):
        rows = rows_of(reference, "reference")
        if rows.count < 2:
            invalid("reference", f"have at least 2 rows; it has {rows.count}")
        if not ridge > 0.0:
            remedy = "Its share is the variance that the covariance does not know; noise adds to it"
            invalid("ridge", "be above 0 with a reference of factors", value=ridge, remedy=remedy)
        self.rows, self.columns, self._ridge = rows, rows.columns, ridge
        self.mean = rows.total(np.full(rows.count, 1.0 / rows.count))
        products = rows.dot(self.mean)
        self._to_mean = products
        self._mean_square = float(self.mean @ self.mean)
        # Products of centred rows, from those of rows.
        centred = rows.gram(rows)
        centred += self._mean_square - products[:, None]
        centred -= products
        centred[np.diag_indices_from(centred)] += rows.count * ridge
        # The transpose of a symmetric matrix is in the order that LAPACK overwrites.
        self._factor = cho_factor(centred.T, lower=True, overwrite_a=True, check_finite=False)
        self._targets: Rows | None = None
        self._given: Any = None
        self._solved = self._squares = np.zeros(0)

    def products(
        self, gradients: Any, batch: FloatArray, clip_norm: float | None
    ) -> tuple[FloatArray, FloatArray, float]:
        """``|g|^2`` and ``g . g_batch`` (k,), and ``|g_batch|^2``: deviations, in units of C."""
        if self._targets is None or not _is_same(gradients, self._given):
            targets = rows_of(gradients, "target_gradients", self.rows, "reference")
            self._given = _copy(gradients)
            self._prepare(targets.clipped(clip_norm))
        assert self._targets is not None
        deviation = batch - self.mean
        of_mean = float(self.mean @ deviation)
        fed = self.rows.dot(deviation) - of_mean
        inner = self._targets.dot(deviation) - of_mean - self._solved.T @ fed
        released = float(deviation @ deviation - fed @ self._solve(fed))
        return self._squares, inner / self._ridge, released / self._ridge

    def _prepare(self, targets: Rows) -> None:
        """What does not depend on the batch: solved products with the rows, and squares."""
        to_mean = targets.dot(self.mean) - self._mean_square
        cross = self.rows.gram(targets)
        cross -= self._to_mean[:, None]
        cross -= to_mean
        self._solved = self._solve(cross)
        squares = targets.squares() - 2.0 * to_mean - self._mean_square
        self._squares = (squares - np.vecdot(cross.T, self._solved.T)) / self._ridge
        self._targets = targets

    def _solve(self, right: FloatArray) -> FloatArray:
        return np.asarray(cho_solve(self._factor, right, check_finite=False))


def _layers(gradients: Any) -> list[LayerGradients]:
    return [gradients] if isinstance(gradients, LayerGradients) else list(gradients)


def _copy(gradients: Any) -> list[LayerGradients]:
    """Factors apart from the caller's, who may write the next ones where these stood."""
    return [
        LayerGradients(one.errors.copy(), one.inputs.copy(), bias=one.bias)
        for one in _layers(gradients)
    ]


def _is_same(gradients: Any, others: list[LayerGradients]) -> bool:
    """Whether factors are those of which products were made."""
    layers = _layers(gradients) if is_factors(gradients) else []
    return len(layers) == len(others) and all(
        one.bias == two.bias
        and np.array_equal(one.errors, two.errors)
        and np.array_equal(one.inputs, two.inputs)
        for one, two in zip(layers, others, strict=True)
    )
