"""Discrete Gaussian noise, and synthetic rows drawn from the table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_counts, as_float, invalid, unsupported
from mialeak._blocks import as_rng
from mialeak.mechanisms._builtin import CellMechanism, IntArray
from mialeak.mechanisms._cellwise import poisson_pmf

__all__ = ["DiscreteGaussian", "Synthetic", "convolved"]

#: Standard deviations beyond which discrete Gaussian noise has a mass of 2e-20.
_REACH = 9.3
#: Largest standard deviation: 2 million values of the noise.
_LARGEST_SIGMA = 1e5
#: Products of counts and synthetic counts of one cell, at most: seconds.
_MOST_PRODUCTS = 2**33
#: Synthetic counts from one evaluation of probabilities to the next; between them each follows
#: from the one before by a product.
_STRIDE = 64
#: A Poisson count is outside its mean +- (WIDTH sqrt(mean) + MORE) with probability below 1e-20.
_WIDTH, _MORE = 9.7, 31.0


def convolved(measure: FloatArray, noise: FloatArray) -> FloatArray:
    """Each row convolved with `noise`: as many values more, less one."""
    width = measure.shape[1]
    out = np.zeros((len(measure), width + len(noise) - 1))
    if len(noise) <= width:
        for shift, chance in enumerate(noise.tolist()):
            out[:, shift : shift + width] += chance * measure
    else:
        for shift in range(width):
            out[:, shift : shift + len(noise)] += measure[:, shift, None] * noise
    return out


@dataclass(frozen=True)
class DiscreteGaussian(CellMechanism):
    """Add discrete Gaussian noise to each count: ``P(Z = z)`` is as ``exp(-z^2 / (2 sigma^2))``.

    Parameters
    ----------
    sigma : float
        Above 0 and at most 100,000; the standard deviation of the noise, nearly.

    Raises
    ------
    ValueError
        If sigma is out of range.

    Notes
    -----
    The noise of [CKS20]_, of which the 2020 census of the United States added sums.  Noise beyond
    9.3 sigma, of mass 2e-20, is left out.

    References
    ----------
    .. [CKS20] C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential
       Privacy", NeurIPS, 2020.

    Examples
    --------
    >>> from mialeak.mechanisms import DiscreteGaussian
    >>> noisy = DiscreteGaussian(2.0).release([10, 10, 10, 10], rng=0)
    >>> noisy.tolist()
    [11, 9, 7, 6]
    >>> print(f"{DiscreteGaussian(2.0).atom_leakage(0.01, 100):.3f}")
    0.178
    """

    sigma: float
    random = True

    def __post_init__(self) -> None:
        if not 0.0 < as_float(self.sigma, "sigma") <= _LARGEST_SIGMA:
            rule = f"be above 0 and at most {_LARGEST_SIGMA:,.0f}"
            invalid("sigma", rule, value=self.sigma)

    def _noise(self) -> FloatArray:
        """Probabilities of the noise from -reach to reach."""
        reach = math.ceil(_REACH * self.sigma)
        steps = np.arange(-reach, reach + 1) / self.sigma
        mass = np.exp(-0.5 * steps * steps)
        return np.asarray(mass / math.fsum(mass.tolist()))

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The noisy measure."""
        return convolved(measure, self._noise())

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The counts with noise; they may be negative."""
        values = as_counts(counts, "counts")
        edges = np.cumsum(self._noise())
        noise = np.searchsorted(edges, as_rng(rng).random(values.shape), side="right")
        return np.asarray(values + np.minimum(noise, len(edges) - 1) - len(edges) // 2)


@dataclass(frozen=True)
class Synthetic(CellMechanism):
    """Publish counts of synthetic rows, drawn with replacement from those of the table.

    The number of synthetic rows is Poisson with mean `rows`, so that of c rows among n in a cell
    come a Poisson number of synthetic ones with mean ``rows c / n``, whatever the other cells hold.

    Parameters
    ----------
    rows : int
        Synthetic rows on average, at least 1.

    Raises
    ------
    ValueError
        If `rows` is below 1; TypeError if it is not an integer.

    Notes
    -----
    Synthetic rows alone hardly protect: in a cell that expects one row a target leaks 0.368 by its
    count, 0.336 by as many synthetic rows as there are true ones, and 0.364 by twice as many.  Few
    synthetic rows do: a tenth leaks 0.087.

    A release of a number of rows that is not fixed is taken to have its mean.

    Examples
    --------
    >>> from mialeak.mechanisms import Synthetic
    >>> for rows in (10_000, 100_000, 200_000):
    ...     print(f"{Synthetic(rows).atom_leakage(1e-5, 100_000):.3f}")
    0.087
    0.336
    0.364
    """

    rows: int
    random = True
    _ratio: float = field(default=1.0, repr=False, compare=False)

    def __post_init__(self) -> None:
        as_count(self.rows, "rows", least=1)

    def _of_release(self, n: float) -> CellMechanism:
        return Synthetic(self.rows, self.rows / n)

    def _least(self, first: IntArray) -> IntArray:
        """The first synthetic count that matters to windows that begin at these counts."""
        mean = self._ratio * np.maximum(first, 0)
        return np.maximum(np.floor(mean - _WIDTH * np.sqrt(mean) - _MORE), 0.0).astype(np.int64)

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The mass of each synthetic count, from the first that matters on."""
        # A window may begin below 0, where it has no mass.
        counts = np.maximum(first[:, None] + np.arange(measure.shape[1]), 0)
        means = self._ratio * counts
        low, most = self._least(first), means[:, -1]
        high = np.ceil(most + _WIDTH * np.sqrt(most) + _MORE).astype(np.int64)
        width = int((high - low).max()) + 1
        if width * measure.shape[1] > _MOST_PRODUCTS:
            why = f"a cell of about {first.max():,} rows has too many synthetic counts"
            remedy = "Leave the columns out that make it, or ask about fewer synthetic rows"
            unsupported("The leakage of synthetic rows", "for this table", why, remedy)
        out, chance = np.empty((len(measure), width)), means
        for shift in range(width):
            shown = (low + shift)[:, None].astype(np.float64)
            fresh = shift % _STRIDE == 0
            chance = poisson_pmf(shown, means) if fresh else chance * (means / shown)
            out[:, shift] = np.vecdot(measure, chance)
        return out

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The counts of synthetic rows."""
        values = as_counts(counts, "counts")
        rows = int(values.sum())
        if not rows:
            return np.zeros_like(values)
        return np.asarray(as_rng(rng).poisson(values * (self.rows / rows)), np.int64)
