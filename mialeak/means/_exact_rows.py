"""Rows at risk by the exact law of the means of independent columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import (
    FloatArray,
    unsupported,
)
from mialeak._checks.means.frequencies import hardy_weinberg_ratio
from mialeak._report.document import Notes, Section, Table
from mialeak._report.text import significant
from mialeak.exact import exact_mean_tradeoff
from mialeak.laws import Bernoulli, Genotype
from mialeak.means._release import Column, Release
from mialeak.means._tradeoff import mean_tradeoff

if TYPE_CHECKING:
    from mialeak.means._report import MeanReport

__all__ = ["ExactRows", "refuse_without_exact_law"]

#: False-positive rates at which the power is reported.
_FPR = (1e-2, 1e-3, 1e-6)


def refuse_without_exact_law(
    release: Release, noise_std: float, people: int | None, panel: int | None
) -> None:
    """Raise ValueError where the law of the means is not known exactly."""
    if people is not None or panel is not None:
        name = "population" if panel is None else "panel"
        why = "the exact law is that of independent rows of a known population"
        unsupported(name, "with exact", why, "Leave out one of the two")
    if noise_std > 0.0:
        why = "the law of a noisy mean is not known exactly"
        unsupported("exact", "with noise", why, "Leave out the noise")
    for column in release.columns:
        values = _values(column, release)
        if values.size > 2 and not _is_genotype(column, values):
            case = f"for column {str(column.name)!r}, which has {values.size:,} values"
            why = "every column must have two values, or genotype counts 0, 1 and 2"
            unsupported("exact", case, why, "Choose other columns")


def _values(column: Column, release: Release) -> Any:
    """The distinct values among the rows: numbers, or codes of a category."""
    if column.factor is not None:
        return np.flatnonzero(column.counts)
    return np.unique(release.numbers[:, column.place])


def _is_genotype(column: Column, values: Any) -> bool:
    return column.factor is None and bool(np.isin(values, (0.0, 1.0, 2.0)).all())


@dataclass(frozen=True)
class ExactRows:
    """The riskiest rows, each against the release with the others' frequencies as the population.

    Parameters
    ----------
    report : MeanReport
    release : Release
    top : int
        How many rows.

    Raises
    ------
    ValueError
        If a column has neither two values nor the counts 0, 1 and 2, or there is noise, a finite
        population or a panel.
    """

    report: MeanReport
    release: Release
    top: int

    def __post_init__(self) -> None:
        report = self.report
        refuse_without_exact_law(self.release, report.noise_std, report.people, report.panel)

    @cached_property
    def _bits(self) -> FloatArray:
        """(rows, b): which of the two values each row has."""
        bits = [codes == values[-1] for codes, values in self._parts if values.size <= 2]
        return self._stacked(bits)

    @cached_property
    def _genotypes(self) -> FloatArray:
        """(rows, g): counts of the allele."""
        return self._stacked([codes for codes, values in self._parts if values.size > 2])

    @property
    def _parts(self) -> list[tuple[Any, Any]]:
        """Of each column its values, or codes, and the distinct ones of these."""
        release = self.release
        return [
            (
                release.numbers[:, c.place] if c.factor is None else c.factor.codes,
                _values(c, release),
            )
            for c in release.columns
        ]

    def _stacked(self, columns: list[Any]) -> FloatArray:
        if not columns:
            return np.empty((self.release.rows, 0))
        return np.stack(columns, axis=1).astype(np.float64)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """What is reported of each row."""
        order = np.argsort(-self.report.scores, kind="stable")[: self.top]
        totals = self._bits.sum(axis=0), self._genotypes.sum(axis=0)
        return [self._row(int(row), *totals) for row in order]

    def _row(self, row: int, ones: FloatArray, alleles: FloatArray) -> dict[str, Any]:
        report, n = self.report, self.release.rows
        bits, genotypes = self._bits[row], self._genotypes[row]
        p, q = (ones - bits) / (n - 1.0), (alleles - genotypes) / (2.0 * n - 2.0)
        target = np.concatenate([bits, genotypes])
        mean = np.concatenate([p, 2.0 * q])
        variance = np.concatenate([p * (1.0 - p), 2.0 * q * (1.0 - q)])
        fpr, place = np.array(_FPR), int(self.release.places[row])
        if np.any((variance == 0.0) & (target != mean)):
            power = report.rate + (1.0 - report.rate) * fpr
            return _reported(place, report.rate, report.rate, 0.0, power)
        free = variance > 0.0
        if not free.any():
            return _reported(place, 0.0, 0.0, 0.0, fpr)
        limit = mean_tradeoff(
            target[free], mean[free], variance[free], n, sampling_rate=report.rate
        )
        laws = [law(shares) for law, shares in ((Bernoulli, p), (Genotype, q)) if shares.size]
        curve = exact_mean_tradeoff(target, laws, n, sampling_rate=report.rate)
        try:
            advantage, power = curve.advantage, np.asarray(curve.power(fpr))
        except ValueError:  # its own error is too large
            why = "with so few columns, or values so rare, the error of its curve is too large"
            unsupported("exact", f"for row {place}", why, "Leave out exact, or list fewer rows")
        return _reported(place, float(advantage), float(limit.advantage), curve.error, power)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "kind": "exact",
            "bits": self._bits.shape[1],
            "genotypes": self._genotypes.shape[1],
            "rows": self.rows,
        }

    @property
    def cautions(self) -> list[str]:
        """A caution where genotypes are not in Hardy-Weinberg proportions."""
        ratio = hardy_weinberg_ratio(self._genotypes) if self._genotypes.size else None
        if ratio is None:
            return []
        return [
            f"Caution: the genotypes have {ratio:.2f} times the variance of Hardy-Weinberg "
            "proportions, as of inbred people or of several populations. The exact law is not "
            "theirs, and these numbers are not exact; the leakage above is by the variance "
            "of the genotypes."
        ]

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
        law = ", genotypes as in Hardy-Weinberg proportions" if self._genotypes.size else ""
        notes = Notes(
            [
                *self.cautions,
                f"Columns ({columns}) are taken as independent{law}, and the frequencies among the "
                "other rows as those of the population; for that the numbers are exact at this "
                "number of rows. Powers are at false-positive rates.",
            ]
        )
        return Section(
            "The rows most at risk, if columns are independent", [Table(header, body), notes]
        )


def _reported(
    place: int, leakage: float, limit: float, error: float, power: FloatArray
) -> dict[str, Any]:
    points = [{"fpr": x, "power": float(y)} for x, y in zip(_FPR, power, strict=True)]
    return {"row": place, "leakage": leakage, "limit": limit, "error": error, "power": points}
