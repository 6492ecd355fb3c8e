"""Discrete Gaussian noise, and synthetic rows drawn from the table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
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
#: Probabilities of the noise that are laid out for all counts of a window at once: 8 MB.
_LARGEST_KERNEL = 2**20
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
    outcomes = width + len(noise) - 1
    if width * outcomes > _LARGEST_KERNEL:
        return np.array([np.convolve(row, noise) for row in measure])
    kernel = np.zeros((width, outcomes + 1))
    kernel[:, : len(noise)] = noise
    # A row more is one element less: each copy of the noise begins a column later.
    kernel = kernel.ravel()[: width * outcomes].reshape(width, outcomes)
    return np.asarray(measure @ kernel)


@dataclass(frozen=True)
class DiscreteGaussian(CellMechanism):
    """Add discrete Gaussian noise to each count: ``P(Z = z)`` is as ``exp(-z^2 / (2 sigma^2))``.

    Parameters
    ----------
    sigma : float
        Above 0 and at most 100,000; approximately the standard deviation of the noise.

    Raises
    ------
    ValueError
        If sigma is out of range.

    Notes
    -----
    The noise of [CKS20]_; the 2020 census of the United States added sums of such noise.  Noise
    beyond 9.3 sigma, of mass 2e-20, is left out.

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
        with np.errstate(over="ignore", under="ignore"):  # a sigma of 1e-300 is that of no noise
            steps = np.arange(-reach, reach + 1) / self.sigma
            mass = np.exp(-0.5 * steps * steps)
        return np.asarray(mass / math.fsum(mass.tolist()))

    def _outcomes(self, last: IntArray, widths: IntArray) -> IntArray:
        return widths + 2 * math.ceil(_REACH * self.sigma)

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
    _ratio: float | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        as_count(self.rows, "rows", least=1)

    def _of_release(self, n: float) -> CellMechanism:
        return Synthetic(self.rows, self.rows / n)

    def _outcomes(self, last: IntArray, widths: IntArray) -> IntArray:
        return self._most(last) + 1

    def _most(self, last: IntArray) -> IntArray:
        """The last synthetic count that matters to windows that end at these counts."""
        mean = self._per_row() * last
        return np.asarray(np.ceil(mean + _WIDTH * np.sqrt(mean) + _MORE), np.int64)

    def _least(self, first: IntArray) -> IntArray:
        """The first that matters to windows that begin at these counts."""
        mean = self._per_row() * np.maximum(first, 0)
        return np.maximum(np.floor(mean - _WIDTH * np.sqrt(mean) - _MORE), 0.0).astype(np.int64)

    def _per_row(self) -> float:
        """Synthetic rows for each true one, of a mechanism of :meth:`_of_release`."""
        if self._ratio is None:
            why = "it depends on the number of true rows"
            unsupported("push", f"for {self!r}", why, "Call mechanism_leakage with their number")
        return self._ratio

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The mass of each synthetic count, from the first that matters on."""
        return self._window(measure, first)[0]

    def _window(self, measure: FloatArray, first: IntArray) -> tuple[FloatArray, IntArray]:
        """The same, and which count that is in each row.

        Rows whose windows overlap by half or more are products with one matrix.
        """
        width = measure.shape[1]
        starts = [0]
        for row, begin in enumerate(first.tolist()):
            if not 0 <= 2 * (begin - int(first[starts[-1]])) <= width:
                starts.append(row)
        groups = [slice(*ends) for ends in pairwise([*starts, len(first)])]
        low = np.empty(len(first), np.int64)
        shown = []
        for group in groups:
            begin, end = int(first[group.start]), int(first[group].max()) + width
            aligned = np.zeros((group.stop - group.start, end - begin))
            place = first[group, None] - begin + np.arange(width)
            np.put_along_axis(aligned, place, measure[group], axis=1)
            counts = np.maximum(np.arange(begin, end), 0)  # below 0 a window has no mass
            low[group] = self._least(counts[0])
            shown.append(self._drawn(aligned, counts, int(low[group.start])))
        out = np.zeros((len(first), max(part.shape[1] for part in shown)))
        for group, part in zip(groups, shown, strict=True):
            out[group, : part.shape[1]] = part
        return out, low

    def _drawn(self, measure: FloatArray, counts: IntArray, low: int) -> FloatArray:
        """Measures over `counts` as measures over the synthetic counts from `low` on."""
        size = int(self._most(counts[-1])) + 1 - low
        if size * len(counts) > _MOST_PRODUCTS:
            why = f"a cell of about {counts[0]:,} rows has too many synthetic counts"
            remedy = "Leave the columns out that make it, or ask about fewer synthetic rows"
            unsupported("The leakage of synthetic rows", "for this table", why, remedy)
        means = np.asarray(self._per_row() * counts, np.float64)
        out = np.empty((len(measure), size))
        for start in range(0, size, _STRIDE):
            shown = np.arange(low + start, low + min(start + _STRIDE, size), dtype=np.float64)
            chance = np.empty((len(shown), len(means)))
            chance[0] = poisson_pmf(shown[0], means)
            for step in range(1, len(shown)):
                chance[step] = chance[step - 1] * (means / shown[step])
            out[:, start : start + len(shown)] = measure @ chance.T
        return out

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """The counts of synthetic rows."""
        values = as_counts(counts, "counts")
        per_row = self.rows / max(int(values.sum()), 1) if self._ratio is None else self._ratio
        return np.asarray(as_rng(rng).poisson(values * per_row), np.int64)
