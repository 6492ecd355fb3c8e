"""What the release of a table's means leaks about its rows, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

from mialeak._arrays import FloatArray, as_count, as_float, invalid, sampled_rows
from mialeak.cli._released import Column, Released
from mialeak.tables._document import caveat_of_names
from mialeak.tradeoff import GaussianTradeOff

__all__ = ["MeanReport"]

#: Noise whose effect is told, in units of the sampling error of the means.
LADDER = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
#: Shares of the rows at which the distribution is told, riskiest first.
_SHARES = (0.01, 0.1, 0.5, 0.9)
#: Columns told for a row at risk.
_FURTHEST = 2
#: Relative error of the noise needed.
_TOLERANCE = 1e-7
#: A category of fewer rows is too rare for the limit for large n.
_RARE = 10


@dataclass(frozen=True)
class MeanReport:
    """The leakage of every row of a table when its means are published.

    Parameters
    ----------
    released : Released
    noise_std : float
        Of the noise on each mean, in standard deviations of its column.
    rate : float
        Share of the rows that the means are taken over.
    labels : mapping of str to array
        What else to tell about a row at risk.
    """

    released: Released
    noise_std: float = 0.0
    rate: float = 1.0
    labels: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        noise = as_float(self.noise_std, "noise_std")
        if noise < 0.0:
            invalid("noise_std", "be at least 0", value=noise)
        if self.released.rows < 3:
            invalid("frame", f"have at least 3 rows; it has {self.released.rows}")
        sampled_rows(self.rate, self.released.rows)  # for its check

    @property
    def rows_used(self) -> int:
        """Rows that the means are taken over."""
        return round(self.rate * self.released.rows)

    @cached_property
    def scores(self) -> FloatArray:
        """Leakage score of each row."""
        return self.released.scores(self.noise_std, self.rate)

    @cached_property
    def leakage(self) -> FloatArray:
        """Advantage of the best attack on each row."""
        return self._advantage(self.scores)

    def leakage_with(self, noise_std: float) -> FloatArray:
        """`leakage` with other noise."""
        if noise_std == 0.0:
            return self._bare
        return self._advantage(self.released.scores(noise_std, self.rate))

    @cached_property
    def _bare(self) -> FloatArray:
        return self._advantage(self.released.scores(0.0, self.rate))

    def _advantage(self, scores: FloatArray) -> FloatArray:
        return self.rate * np.asarray(GaussianTradeOff(np.sqrt(scores)).advantage)

    @property
    def sampling_error(self) -> float:
        """Standard deviation of the means themselves, in those of the columns."""
        return float(1.0 / np.sqrt(self.rows_used))

    @cached_property
    def noise_effect(self) -> list[dict[str, float]]:
        """Noise, and the leakage of the riskiest row and on average with it."""
        stds = {step * self.sampling_error for step in LADDER} | {self.noise_std}
        found = []
        for std in sorted(stds):
            leakage = self.leakage_with(std)
            found.append(
                {
                    "noise_std": std,
                    "riskiest": float(leakage.max()),
                    "average": float(leakage.mean()),
                }
            )
        return found

    def noise_needed(self, target: float) -> dict[str, float]:
        """Least noise with which the riskiest row, and the average one, leak at most `target`."""
        target = as_float(target, "target")
        if not 0.0 < target < 1.0:
            invalid("target", "be strictly between 0 and 1", value=target)
        return {
            "leakage": target,
            "riskiest": self._least_noise(target, np.max),
            "average": self._least_noise(target, np.mean),
        }

    def _least_noise(self, target: float, summary: Any) -> float:
        def excess(log_std: float) -> float:
            return float(np.log(summary(self.leakage_with(np.exp(log_std))) / target))

        if float(summary(self.leakage_with(0.0))) <= target:
            return 0.0
        low = high = float(np.log(self.sampling_error))
        while excess(high) > 0.0:
            low, high = high, high + 1.0
        while excess(low) <= 0.0:
            low, high = low - 1.0, low
        root = optimize.brentq(excess, low, high, xtol=_TOLERANCE)
        return float(np.exp(root + 2.0 * _TOLERANCE))  # on the safe side

    def distribution(self) -> list[dict[str, float]]:
        """Shares of the rows and the leakage that these reach at least."""
        falling = np.sort(self.leakage)[::-1]
        places = [max(1, round(share * falling.size)) for share in _SHARES]
        return [
            {"share": share, "leakage": float(falling[place - 1])}
            for share, place in zip(_SHARES, places, strict=True)
        ]

    def riskiest(self, top: int) -> list[dict[str, Any]]:
        """The rows that leak most, and the columns in which they are furthest from the mean."""
        top = as_count(top, "top")
        return [self._row(int(row)) for row in np.argsort(-self.scores, kind="stable")[:top]]

    def _row(self, row: int) -> dict[str, Any]:
        place = int(self.released.places[row])
        deviations = [(column.deviation(row), column) for column in self.released.columns]
        deviations.sort(key=lambda each: -abs(each[0]))
        return {
            "row": place,
            "score": float(self.scores[row]),
            "leakage": float(self.leakage[row]),
            "labels": {name: str(values[place]) for name, values in self.labels.items()},
            "furthest": [
                {
                    "column": str(column.name),
                    "value": column.value(row),
                    "deviations": deviation,
                }
                for deviation, column in deviations[:_FURTHEST]
            ],
        }

    @property
    def caveats(self) -> list[str]:
        """What the numbers rest on."""
        found = [
            "Asymptotic: the limit for many rows. Each row is judged by the mean and covariance of "
            "the others, as if these were known."
        ]
        rare = sum(
            int(np.count_nonzero((column.counts > 0) & (column.counts < _RARE)))
            for column in self.released.columns
            if column.is_category
        )
        if rare:
            found.append(
                f"Values of categories that fewer than {_RARE} rows have, here {rare:,}, are too "
                "rare for that limit: what their rows leak is known roughly."
            )
        alone = int(np.isinf(self.scores).sum())
        if alone:
            found.append(
                f"Unlike all others in some respect, such as a value of a category that no other "
                f"row has, {alone:,} of the rows: judged by the others they leak 1; less, if the "
                "population has more of their kind."
            )
        columns = [column for column in self.released.columns if column.is_category]
        found += caveat_of_names(c.name for c in columns if c.present == self.released.rows)
        found += [
            f"Column {column.name!r} is taken as a category: not all of its values are numbers, "
            f"{column.stray!r} is none."
            for column in columns
            if column.stray is not None
        ]
        return found

    def to_dict(self, *, target: float, top: int) -> dict[str, Any]:
        """The report as plain values; the score of a row that is alone in its kind is infinite."""
        released = self.released
        return {
            "kind": "asymptotic",
            "rows": released.rows,
            "rows_dropped": released.rows_dropped,
            "rows_used": self.rows_used,
            "rate": self.rate,
            "noise_std": self.noise_std,
            "covariance": "full" if released.is_full else "diagonal",
            "free_columns": released.free,
            "columns": [_column(column) for column in released.columns],
            "average": float(self.leakage.mean()),
            "highest": float(self.leakage.max()),
            "distribution": self.distribution(),
            "noise_effect": self.noise_effect,
            "noise_needed": self.noise_needed(target),
            "riskiest": self.riskiest(top),
            "caveats": self.caveats,
        }


def _column(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {"name": str(column.name)}
    if column.is_category:
        return {**found, "kind": "category", "values": column.free + 1}
    return {**found, "kind": "number", "mean": column.mean, "std": column.std}
