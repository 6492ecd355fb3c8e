"""Laws of normal coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, invalid, require
from mialeak.laws._base import Marginal, as_parameter, as_rows, with_labels

__all__ = ["Normal"]


@dataclass(frozen=True, eq=False)
class Normal(Marginal):
    """Independent normal coordinates.

    Parameters
    ----------
    mean : array_like, shape (d,)
        Means.
    std : array_like, shape (d,) or a number
        Standard deviations, greater than 0.

    Attributes
    ----------
    skewness, excess_kurtosis : ndarray, shape (d,)
        Zeros.

    Raises
    ------
    ValueError
        If shapes do not match, anything is NaN or infinite, or std is not greater than 0.

    Notes
    -----
    With y and v the released mean and the target in standard deviations, the likelihood ratio of a
    coordinate is ``log(n/(n-1))/2 + v^2/2 - n (y - v)^2 / (2(n-1))``: the mean has variance 1/n
    out and (n-1)/n^2 in.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Normal
    >>> law = Normal([0.0, 10.0], [1.0, 2.0])
    >>> np.round(law.log_likelihood_ratio([0.1, 10.4], target=[1.0, 14.0], n=10), 4)
    array([0.1027, 0.2527])
    """

    mean: Any
    std: Any

    def __post_init__(self) -> None:
        mean, std = as_parameter(self.mean, "mean"), as_parameter(self.std, "std")
        if std.size == 1:
            std = np.broadcast_to(std, mean.shape)
        if std.shape != mean.shape:
            invalid("std", f"have {mean.size} entries, as mean has; its shape is {std.shape}")
        require(std > 0.0, std, "std", "be greater than 0")
        given = {"mean": self.mean, "std": self.std}
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)
        with_labels(self, **given)

    @classmethod
    def from_data(cls, rows: Any) -> Normal:
        """Normal laws with the means and standard deviations of `rows`, shape (n0, d), n0 >= 2.

        Results that are exact for the true law hold for the estimated law only as n0 grows, and
        only if the columns are normal: scores shift by about d/n0.  The rows must not be those of
        the release.
        """
        data = as_rows(rows, 2)
        return with_labels(cls(data.mean(axis=0), data.std(axis=0, ddof=1)), rows=rows)

    @property
    def skewness(self) -> FloatArray:  # type: ignore[override]
        """Zeros."""
        return np.zeros(self.size)

    @property
    def excess_kurtosis(self) -> FloatArray:  # type: ignore[override]
        """Zeros."""
        return np.zeros(self.size)

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            y = (releases.rows - self.mean) / self.std
            v = (target - self.mean) / self.std
            # v^2 - n (y - v)^2/(n - 1) without the cancellation of nearly equal squares
            squares = (2.0 * n * v - n * y) * y - v * v
        releases.require(
            np.isfinite(squares), "be near enough to mean, with target, for a ratio to be a number"
        )
        return np.asarray(0.5 * np.log1p(1.0 / (n - 1.0)) + squares / (2.0 * (n - 1.0)))

    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        out[...] = self.mean + self.std * rng.standard_normal(out.shape)
