"""Laws of coordinates with a finite number of values on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_floats, check_mass, first_index, invalid, require
from mialeak._checks.means.genotypes import MISSING
from mialeak._numerics.draws import draw_means, lattice_draw
from mialeak._numerics.lattice import lattice_steps, sum_law
from mialeak.laws._base import Marginal, as_rows, with_labels

__all__ = [
    "Lattice",
]

#: Tolerance for a value of the target, in steps.
_OFF = 1e-9
#: Largest distance of a released mean from the lattice, in steps over n.
_STRAY = 1e-6
#: Probabilities below this are computed from the law tilted towards the release.
_RARE = 1e-250
#: A tilted probability below this has lost digits: the release takes values between others that are
#: themselves next to impossible.
_LEAST = 1e-290
#: Largest tilt, in exponents a step: beyond it only the outermost value has mass, since no two
#: probabilities differ by more than e^745.
_MOST_TILT = 800.0


@dataclass(frozen=True, eq=False)
class Lattice(Marginal):
    """Independent coordinates with values on a lattice, given with their probabilities.

    Parameters
    ----------
    values : array_like, shape (K,) or (d, K)
        Increasing values; the same for all coordinates, or a row for each.
    probabilities : array_like, shape (K,) or (d, K)
        Their probabilities, in rows that sum to 1.

    Attributes
    ----------
    mean, std, skewness, excess_kurtosis : ndarray, shape (d,)
        Moments; the last two are NaN where one value has all the probability.

    Raises
    ------
    ValueError
        If shapes do not match, values do not increase or lie on no lattice (gaps in ratios with
        denominators up to 10,000), or probabilities are negative or do not sum to 1.

    Notes
    -----
    The likelihood ratio is that of two probabilities of sums, by convolution with positive terms
    only: the law of the sum of n - 1 rows by repeated squaring, once for each coordinate.

    **Accuracy.**  Relative error about n eps, however small the probabilities of far releases; one
    that takes several values of probability below 1e-50 or so between likely ones may be refused.

    **Cost.**  ``(n s)^2/3`` multiplications a coordinate, s steps from the least to the largest
    value: 1 ms for n s = 1000, 1 s for 30,000.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Lattice
    >>> dice = Lattice([1, 2, 3, 4, 5, 6], np.full(6, 1 / 6))
    >>> dice.mean, np.round(dice.excess_kurtosis, 4)
    (array([3.5]), array([-1.2686]))
    >>> np.round(dice.log_likelihood_ratio([5.0], target=[6], n=2), 4)
    array([0.6931])
    """

    values: Any
    probabilities: Any
    _steps: npt.NDArray[np.int64] = field(init=False, repr=False)
    _unit: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_coordinate = {
            name: given.T
            for name, given in (("values", self.values), ("probabilities", self.probabilities))
            if getattr(given, "ndim", 1) == 2
        }
        values = as_floats(self.values, "values", finite=True)
        weights = as_floats(self.probabilities, "probabilities", finite=True)
        for array, name in ((values, "values"), (weights, "probabilities")):
            if array.ndim not in (1, 2) or not array.size:
                rule = "have shape (K,) or (d, K), not empty"
                invalid(name, f"{rule}; its shape is {array.shape}")
        try:
            values, weights = np.broadcast_arrays(np.atleast_2d(values), np.atleast_2d(weights))
        except ValueError:
            shapes = f"the shapes are {values.shape} and {weights.shape}"
            invalid("probabilities", f"go with values: one for each; {shapes}")
        require(weights >= 0.0, weights, "probabilities", "be at least 0")
        total = weights.sum(axis=1)
        for mass in total.tolist():
            check_mass(mass, "probabilities", "Divide by the sum")
        require(
            np.diff(values, axis=1, prepend=-np.inf) > 0.0, values, "values", "increase in each row"
        )
        grids = [lattice_steps(row) for row in values]
        object.__setattr__(self, "values", _frozen(values))
        object.__setattr__(self, "probabilities", _frozen(weights / total[:, None]))
        object.__setattr__(self, "_steps", np.stack([steps for steps, _ in grids]))
        object.__setattr__(self, "_unit", np.array([unit for _, unit in grids]))
        with_labels(self, **by_coordinate)

    @classmethod
    def from_data(cls, rows: Any) -> Lattice:
        """The law with the values and frequencies of `rows`, shape (n0, d).

        Results that are exact for the true law hold for the estimated law only as n0 grows: scores
        shift by about d/n0, and values that do not occur in a column count as impossible.  The rows
        must not be those of the release.
        """
        data = as_rows(rows, 1)
        values = np.unique(data)
        codes = values[~np.isin(values, (0.0, 1.0, 2.0))]
        if codes.size == 1 < values.size - 1 and codes[0] in MISSING and abs(codes[0]) >= 9.0:
            row, column = first_index(data == codes[0])
            invalid(
                "rows",
                "be genotypes 0, 1 and 2 without a code of a missing one",
                index=(row, column),
                value=codes[0],
                remedy="Leave out its rows. If it is a value, pass values and probabilities",
            )
        return with_labels(cls(values, (data[:, :, None] == values).mean(axis=0)), rows=rows)

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """Steps from the least value to each, shape (d, K)."""
        return self._steps

    @property
    def unit(self) -> FloatArray:
        """The step of each coordinate, shape (d,)."""
        return self._unit

    @property
    def mean(self) -> FloatArray:  # type: ignore[override]
        """Means."""
        return np.asarray(np.vecdot(self.values, self.probabilities))

    @property
    def std(self) -> FloatArray:  # type: ignore[override]
        """Standard deviations."""
        return np.asarray(self._unit * np.sqrt(self._central()[0]))

    @property
    def skewness(self) -> FloatArray:  # type: ignore[override]
        """Standardised third cumulants."""
        variance, third, _ = self._central()
        with np.errstate(invalid="ignore"):
            return np.asarray(third / variance / np.sqrt(variance))

    @property
    def excess_kurtosis(self) -> FloatArray:  # type: ignore[override]
        """Standardised fourth cumulants."""
        variance, _, fourth = self._central()
        with np.errstate(invalid="ignore"):
            return np.asarray(fourth / variance / variance - 3.0)

    def _central(self) -> list[FloatArray]:
        """Second to fourth central moment in steps, computed from the least value."""
        places = (self.values - self.values[:, :1]) / self._unit[:, None]
        places -= np.vecdot(places, self.probabilities)[:, None]
        return [np.vecdot(places**power, self.probabilities) for power in (2, 3, 4)]

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        least = self.values[:, 0]
        place = np.rint((target - least) / self._unit)
        near = np.abs((target - least) / self._unit - place) <= _OFF * (1.0 + np.abs(place))
        rows = np.asarray(releases.rows, np.float64)
        sums = n * ((rows - least) / self._unit)
        counts = np.rint(sums)
        most = n * self._steps[:, -1]
        off = np.abs(sums - counts) > _STRAY + 8.0 * np.finfo(releases.rows.dtype).eps * (
            n * np.maximum(np.abs(rows), np.abs(least)) / self._unit
        )
        good = ~off & (counts >= 0.0) & (counts <= most)
        releases.require(good, f"be the mean of {n} of the values")
        result = np.empty(rows.shape)
        for j in range(self.size):
            at = np.flatnonzero(self._steps[j] == place[j]) if near[j] else np.empty(0, int)
            if not at.size or self.probabilities[j, at[0]] == 0.0:
                rule = "be one of the values with positive probability"
                invalid("target", rule, index=j, value=target[j])
            dense = np.zeros(int(self._steps[j, -1]) + 1)
            dense[self._steps[j]] = self.probabilities[j]
            k, where = np.unique(counts[:, j].astype(np.int64), return_inverse=True)
            ratio = _ratios(dense, k, int(place[j]), n)
            possible = ~np.isnan(ratio)[where]
            matches = np.ones(rows.shape, bool)
            matches[:, j] = possible
            rule = f"be the mean of {n} of the values, with a probability that float64 holds"
            releases.require(matches, rule)
            result[:, j] = ratio[where]
        return result

    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        least = np.ascontiguousarray(self.values[:, 0])
        sums = lattice_draw(1, self.steps, self.probabilities)
        draw_means(rng, sums, least, self.unit, 1, out)


def _frozen(array: FloatArray) -> FloatArray:
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def _ratios(law: FloatArray, counts: npt.NDArray[np.int64], place: int, n: int) -> FloatArray:
    """Log of P(S_{n-1} = k - place)/P(S_n = k) for each k; NaN where k is impossible."""
    before = sum_law(law, n - 1)
    whole = np.convolve(before, law)
    result = np.full(counts.size, np.nan)
    for i, k in enumerate(counts):
        if whole[k] > _RARE:
            result[i] = _log(_at(before, k - place) / whole[k])
            continue
        tilt = _tilt(law, float(k) / n)
        with np.errstate(divide="ignore"):
            exponent = np.log(law) + tilt * np.arange(law.size)
        shift = float(exponent.max())
        tilted = np.exp(exponent - shift)
        mass = float(tilted.sum())
        tilted /= mass
        partial = sum_law(tilted, n - 1)
        chance = _at(np.convolve(partial, tilted), k)
        if chance > _LEAST:
            scale = tilt * place - shift - math.log(mass)
            result[i] = _log(_at(partial, k - place) / chance) + scale
    return result


def _at(law: FloatArray, k: Any) -> float:
    return float(law[k]) if 0 <= k < law.size else 0.0


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def _tilt(law: FloatArray, mean: float) -> float:
    """The t for which the law tilted by e^(t k) has nearly this mean, by bisection."""
    k = np.arange(law.size)
    low, high = -_MOST_TILT, _MOST_TILT
    for _ in range(80):
        t = 0.5 * (low + high)
        exponent = np.where(law > 0.0, t * k, -np.inf)
        weights = law * np.exp(exponent - exponent.max())
        if weights @ k < mean * weights.sum():
            low = t
        else:
            high = t
    return 0.5 * (low + high)
