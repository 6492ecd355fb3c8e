"""``mialeak mean --exact``: rows against the exact law of the means of independent columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak._report.document import Notes, Section, Table
from mialeak._report.text import significant
from mialeak.exact import exact_mean_tradeoff
from mialeak.laws import Bernoulli, Genotype
from mialeak.means import mean_tradeoff

if TYPE_CHECKING:
    from mialeak.cli._mean_report import MeanReport
    from mialeak.cli._released import Column

__all__ = ["ExactRows"]

#: False-positive rates at which the power is told.
_FPR = (1e-2, 1e-3, 1e-6)


@dataclass(frozen=True)
class ExactRows:
    """The riskiest rows, each against the release with the others' frequencies as the population.

    Parameters
    ----------
    report : MeanReport
    top : int
        How many rows.

    Raises
    ------
    ValueError
        If a column has neither two values nor the counts 0, 1 and 2, or there is noise.
    """

    report: MeanReport
    top: int

    def __post_init__(self) -> None:
        if self.report.noise_std > 0.0:
            rule = "go without noise: the law of a noisy mean is not known exactly"
            invalid("exact", rule, remedy="Leave out --noise-std")
        for column in self.report.released.columns:
            if column.present > 2 and not _is_genotype(column):
                rule = "find two values, or genotype counts 0, 1 and 2, in every column"
                found = f"{rule}; {str(column.name)!r} has {column.present:,} values"
                invalid("exact", found, remedy="Choose others with --columns")

    @cached_property
    def _bits(self) -> FloatArray:
        """(rows, b): which of the two values each row has."""
        columns = [c for c in self.report.released.columns if c.present <= 2]
        bits = [c.factor.codes == np.flatnonzero(c.counts)[-1] for c in columns]
        shape = (self.report.released.rows, 0)
        return np.stack(bits, axis=1).astype(np.float64) if bits else np.empty(shape)

    @cached_property
    def _genotypes(self) -> FloatArray:
        """(rows, g): counts of the allele."""
        columns = [c.values for c in self.report.released.columns if c.present > 2]
        counts = [values for values in columns if values is not None]
        return np.stack(counts, axis=1) if counts else np.empty((self.report.released.rows, 0))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """What is told about each row."""
        order = np.argsort(-self.report.scores, kind="stable")[: self.top]
        totals = self._bits.sum(axis=0), self._genotypes.sum(axis=0)
        return [self._row(int(row), *totals) for row in order]

    def _row(self, row: int, ones: FloatArray, alleles: FloatArray) -> dict[str, Any]:
        report, n = self.report, self.report.released.rows
        bits, genotypes = self._bits[row], self._genotypes[row]
        p, q = (ones - bits) / (n - 1.0), (alleles - genotypes) / (2.0 * n - 2.0)
        target = np.concatenate([bits, genotypes])
        mean = np.concatenate([p, 2.0 * q])
        variance = np.concatenate([p * (1.0 - p), 2.0 * q * (1.0 - q)])
        fpr, place = np.array(_FPR), int(report.released.places[row])
        if np.any((variance == 0.0) & (target != mean)):
            power = report.rate + (1.0 - report.rate) * fpr
            return _told(place, report.rate, report.rate, 0.0, power)
        free = variance > 0.0
        if not free.any():
            return _told(place, 0.0, 0.0, 0.0, fpr)
        limit = mean_tradeoff(
            target[free], mean[free], variance[free], n, sampling_rate=report.rate
        )
        laws = [law(shares) for law, shares in ((Bernoulli, p), (Genotype, q)) if shares.size]
        curve = exact_mean_tradeoff(target, laws, n, sampling_rate=report.rate)
        try:
            advantage, power = curve.advantage, np.asarray(curve.power(fpr))
        except ValueError as error:  # its own error is too large
            rule = f"have more columns, or less rare values: of these row {place} has no sure curve"
            raise ValueError(f"exact must {rule}. Leave out --exact, or list fewer rows") from error
        return _told(place, float(advantage), float(limit.advantage), curve.error, power)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "kind": "exact",
            "bits": self._bits.shape[1],
            "genotypes": self._genotypes.shape[1],
            "rows": self.rows,
        }

    def section(self) -> Section:
        """For people."""
        header = ("row", "exact leakage", "for many rows", *(f"power at {x:g}" for x in _FPR))
        body = [
            (
                f"{row['row']}",
                significant(row["leakage"]),
                significant(row["limit"]),
                *(significant(point["power"], 3) for point in row["power"]),
            )
            for row in self.rows
        ]
        kinds = [(self._bits.shape[1], "of two values"), (self._genotypes.shape[1], "genotypes")]
        columns = " and ".join(f"{count:,} {kind}" for count, kind in kinds if count)
        notes = Notes(
            [
                f"Columns ({columns}) are taken as independent, and the frequencies among the "
                "other rows as those of the population; for that the numbers are exact at this "
                "number of rows. Powers are at false-positive rates.",
            ]
        )
        return Section(
            "The rows most at risk, if columns are independent", [Table(header, body), notes]
        )


def _told(
    place: int, leakage: float, limit: float, error: float, power: FloatArray
) -> dict[str, Any]:
    points = [{"fpr": x, "power": float(y)} for x, y in zip(_FPR, power, strict=True)]
    return {"row": place, "leakage": leakage, "limit": limit, "error": error, "power": points}


def _is_genotype(column: Column) -> bool:
    return column.values is not None and bool(np.isin(column.values, (0.0, 1.0, 2.0)).all())
