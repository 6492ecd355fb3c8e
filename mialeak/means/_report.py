"""The report on a table's means: the leakage of every row, and the noise that lowers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_share, listed
from mialeak._checks.means.cautions import noise_cautions, size_cautions
from mialeak._checks.means.relatives import lone_alleles
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report
from mialeak._results import Kind
from mialeak.means._panel import ReferencePanel
from mialeak.means._register import InRegister
from mialeak.means._release import Release
from mialeak.means._report_document import assumed, column_of, document, panels, power_of, warned
from mialeak.means._sites import sites_within
from mialeak.means._yardsticks import homer_scores, yardsticks
from mialeak.tradeoff import GaussianTradeOff

if TYPE_CHECKING:
    from mialeak.means._exact_rows import ExactRows

__all__ = ["MeanReport"]

#: Noise whose effect is reported, in units of the sampling error of the means.
LADDER = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
#: Shares of the rows at which the distribution is reported, riskiest first.
_SHARES = (0.01, 0.1, 0.5, 0.9)
#: Columns reported for a row at risk.
_FURTHEST = 2
#: Relative error of the noise needed.
_TOLERANCE = 1e-7
#: A category of fewer rows is too rare for the limit for large n.
_RARE = 10


@dataclass(frozen=True, repr=False, eq=False)
class MeanReport(Report):
    """How much publishing the means of a table leaks about each of its rows.

    ``print(report)`` writes it out for people, :meth:`to_dict` for machines; a notebook shows it,
    :meth:`plot` draws it, :meth:`to_html` writes a page, :meth:`to_frame` lists the rows.

    Attributes
    ----------
    covariance : {"full", "shrunk", "diagonal"}
        How rows are judged: by the covariance of the columns, by their shrunk correlations, or
        column by column.
    noise_std : float
        Of the noise on each mean, in standard deviations of its column.
    rate : float
        Share of the rows that the means are taken over.
    exact : bool
        Whether the rows most at risk are reported once more by the exact law of independent
        columns.
    people : int or None
        Of the population that the rows were drawn from without replacement; None if it is infinite.
    panel : int or None
        Rows of the sample by which alone the attacker knows the population; None if it is known.
        Of a panel that was passed as a table or as frequencies, the people of it.
    kind : str
        "asymptotic".

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import mean_leakage
    >>> report = mean_leakage({"income": np.arange(10.0), "owner": [0, 1] * 5})
    >>> f"{report.average:.3f} on average, {report.highest:.3f} about the riskiest row"
    '0.186 on average, 0.261 about the riskiest row'
    """

    covariance: str
    noise_std: float
    rate: float
    exact: bool
    _release: Release = field(repr=False)
    people: int | None = None
    panel: int | None = None
    _register: InRegister | None = field(default=None, repr=False)
    _reference: ReferencePanel | None = field(default=None, repr=False)
    _summaries: dict[float, tuple[float, float]] = field(default_factory=dict, repr=False)
    _exact_rows: dict[int, ExactRows] = field(default_factory=dict, repr=False)
    kind: Kind = "asymptotic"

    _title = "What publishing these means leaks"

    @property
    def columns(self) -> tuple[Any, ...]:
        """Names of the columns published."""
        return tuple(column.name for column in self._release.columns)

    @property
    def names(self) -> tuple[Any, ...]:
        """Columns of text that are not published: every row has its own value."""
        return self._release.names

    @property
    def identifiers(self) -> tuple[Any, ...]:
        """Columns published that look like the number of a row."""
        return tuple(self._release.identifiers)

    @property
    def rows(self) -> int:
        """Rows of the table, without those dropped."""
        return self._release.rows

    @property
    def rows_dropped(self) -> int:
        """Rows left out because a value is missing."""
        return self._release.rows_dropped

    @property
    def rows_used(self) -> int:
        """Rows that the means are taken over."""
        return round(self.rate * self.rows)

    @property
    def free_columns(self) -> int:
        """Numbers published, not counting those that follow from others."""
        return self._known.free

    @property
    def has_register(self) -> bool:
        """Whether the population is a register at hand, all of whose people are known.

        Standard deviations of columns are then those of its people.
        """
        return self._register is not None

    @property
    def has_reference(self) -> bool:
        """Whether the panel is at hand, so that its means and covariance stand for the population.

        Standard deviations of columns are then those of its people.
        """
        return self._reference is not None

    @property
    def _known(self) -> Release:
        """The rows that stand for the population: of a register, of a panel, or the table's own."""
        if self._reference is not None and self._reference.release is not None:
            return self._reference.release
        return self._release if self._register is None else self._register.release

    @property
    def shrinkage(self) -> float | None:
        """The intensity of a shrunk covariance; None for another."""
        return self._known.shrinkage if self.covariance == "shrunk" else None

    @cached_property
    def scores(self) -> FloatArray:
        """Leakage score of each row that is not dropped."""
        return self._scores(self.noise_std)

    @cached_property
    def leakage(self) -> FloatArray:
        """Advantage of the best attack on each row that is not dropped."""
        return self._advantage(self.scores)

    def power(self, fpr: float = 0.001) -> FloatArray:
        """Power of the best attack on each row at a false-positive rate."""
        fpr = as_share(fpr, "fpr")
        curve = GaussianTradeOff(np.sqrt(self.scores))
        return self.rate * np.asarray(curve.power(fpr)) + (1.0 - self.rate) * fpr

    @property
    def average(self) -> float:
        """Leakage of a row on average."""
        return float(self.leakage.mean())

    @property
    def highest(self) -> float:
        """Leakage of the riskiest row."""
        return float(self.leakage.max())

    def leakage_with(self, noise_std: float) -> FloatArray:
        """`leakage` with other noise."""
        same = noise_std == self.noise_std
        return self.leakage if same else self._advantage(self._scores(noise_std))

    @property
    def _variance(self) -> float:
        """Variance of the means as the attacker sees them, in that of independent rows."""
        if self.panel is not None:
            return 1.0 + self.rows_used / self.panel
        return 1.0 if self.people is None else 1.0 - self.rows_used / self.people

    def _scores(self, noise_std: float) -> FloatArray:
        # (V C + k R)^-1 / k, from (C + k R')^-1 / k with R' = R / V.
        if self._reference is not None:
            used = self._release, self.covariance, noise_std, self.rows_used
            return self._reference.scores(*used)
        variance, known = self._variance, self._known
        noise, rate = noise_std / np.sqrt(variance), self.rows_used / known.rows
        scores = known.scores(self.covariance, noise, rate) / variance
        return scores if self._register is None else scores[self._register.places]

    def _advantage(self, scores: FloatArray) -> FloatArray:
        return self.rate * np.asarray(GaussianTradeOff(np.sqrt(scores)).advantage)

    def _summary(self, noise_std: float) -> tuple[float, float]:
        """The riskiest row and the average."""
        if noise_std not in self._summaries:
            leakage = self.leakage_with(noise_std)
            self._summaries[noise_std] = float(leakage.max()), float(leakage.mean())
        return self._summaries[noise_std]

    @property
    def sampling_error(self) -> float:
        """Standard deviation of the means themselves, in those of the columns.

        With a panel, of their distance from those of the panel.
        """
        return float(np.sqrt(self._variance / self.rows_used))

    @property
    def noise_effect(self) -> list[dict[str, float]]:
        """Noise, and the leakage of the riskiest row and on average with it."""
        stds = {step * self.sampling_error for step in LADDER} | {self.noise_std}
        return [
            dict(zip(("noise_std", "riskiest", "average"), (std, *self._summary(std)), strict=True))
            for std in sorted(stds)
        ]

    def noise_needed(self, leakage: float) -> dict[str, float]:
        """Least noise with which the riskiest row, and the average one, leak at most `leakage`."""
        leakage = as_share(leakage, "leakage")
        return {
            "leakage": leakage,
            "riskiest": self._least_noise(leakage, 0),
            "average": self._least_noise(leakage, 1),
        }

    def _least_noise(self, leakage: float, which: int) -> float:
        from scipy.optimize import brentq

        def excess(log_std: float) -> float:
            return float(np.log(self._summary(float(np.exp(log_std)))[which] / leakage))

        if self._summary(0.0)[which] <= leakage:
            return 0.0
        known = [point["noise_std"] for point in self.noise_effect if point["noise_std"] > 0.0]
        above = [std for std in known if self._summary(std)[which] > leakage]
        low = float(np.log(max(above, default=min(known))))
        high = float(np.log(min((std for std in known if std not in above), default=max(known))))
        while excess(high) > 0.0:
            low, high = high, high + 1.0
        while excess(low) <= 0.0:
            low, high = low - 1.0, low
        root = brentq(excess, low, high, xtol=_TOLERANCE)
        return float(np.exp(root + 2.0 * _TOLERANCE))  # on the safe side

    def sites_within(self, leakage: float) -> dict[str, Any] | None:
        """How many sites leak at most `leakage`, if the most common are published and no others.

        Returns
        -------
        dict or None
            `riskiest` and `average`: the largest numbers of sites, in the order of their
            minor-allele frequency, with which the riskiest row, and a row on average, leak at most
            that; `riskiest_frequency` and `average_frequency`: of the last such site, None if there
            is none.  None for other columns than genotypes, a shrunk covariance, a register or a
            panel at hand.

        Notes
        -----
        **Cost.**  Sites are added until the average is above `leakage`: for 2,504 people 0.3 s for
        4,553 sites, 8 s for 100,000.
        """
        return sites_within(self, self._release, as_share(leakage, "leakage"))

    @cached_property
    def _homer_scores(self) -> FloatArray:
        """Squared shift of the statistic of Homer et al. (2008) about each row."""
        return homer_scores(self, self._release)

    def yardsticks(self, fpr: float = 0.001) -> dict[str, dict[str, float]] | None:
        """Leakage and power of earlier attacks on frequencies of sites, beside the best one.

        Returns
        -------
        dict or None
            Of `homer`, the statistic of Homer et al. (2008), and `sankararaman`, the bound of
            Sankararaman et al. (2009) that SecureGenome computes: the leakage on `average` and
            about the `riskiest` row, and the power at `fpr`, `power_average` and `power_riskiest`;
            asymptotic.  None unless all columns are genotypes and their means are taken over all
            rows without noise, and for a shrunk covariance, a population or a panel.
        """
        return yardsticks(self, self._release, as_share(fpr, "fpr"))

    def distribution(self) -> list[dict[str, float]]:
        """Shares of the rows and the leakage that these reach at least."""
        falling = np.sort(self.leakage)[::-1]
        places = [max(1, round(share * falling.size)) for share in _SHARES]
        return [
            {"share": share, "leakage": float(falling[place - 1])}
            for share, place in zip(_SHARES, places, strict=True)
        ]

    def riskiest(self, top: int = 20) -> list[dict[str, Any]]:
        """The rows that leak most, and the columns in which they are furthest from the mean."""
        top = as_count(top, "top")
        return [self._row(int(row)) for row in np.argsort(-self.scores, kind="stable")[:top]]

    def _row(self, row: int) -> dict[str, Any]:
        release = self._release
        place, deviations = int(release.places[row]), release.deviations(row)
        furthest = np.argsort(-np.abs(deviations), kind="stable")[:_FURTHEST]
        return {
            "row": place,
            "score": float(self.scores[row]),
            "leakage": float(self.leakage[row]),
            "labels": {name: str(values[place]) for name, values in release.labels.items()},
            "furthest": [
                {
                    "column": str(release.columns[k].name),
                    "value": release.value(row, release.columns[k]),
                    "deviations": float(deviations[k]),
                }
                for k in furthest
            ],
            "log_likelihood_ratio": None,
        }

    def exact_rows(self, top: int = 20) -> ExactRows:
        """The riskiest rows by the exact law of the means, if columns are independent.

        Raises
        ------
        ValueError
            If a column has neither two values nor the counts 0, 1 and 2, or there is noise, a
            finite population or a panel.
        """
        from mialeak.means._exact_rows import ExactRows

        top = as_count(top, "top")
        if top not in self._exact_rows:
            self._exact_rows[top] = ExactRows(self, self._release, top)
        return self._exact_rows[top]

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """Why the table or noise is probably not what was meant, with the cure; often none."""
        independent = self.covariance == "diagonal" or self.exact
        repeats = self._release.repeats if independent else []
        drawn = [] if self._register is None else self._register.cautions(self._release)
        return (
            *self._release.cautions,
            *([] if self._reference is None else self._reference.cautions(self._release)),
            *self._release.row_cautions,
            *repeats,
            *self._release.cautions_beside(self._register, self._reference),
            *drawn,
            *size_cautions(self.rows),
            *noise_cautions(self.noise_std),
        )

    @cached_property
    def _lone_alleles(self) -> list[str]:
        if self._release.kin is None or self.has_register:
            return []
        return lone_alleles(self._release.numbers, self.scores)

    @cached_property
    def warnings(self) -> list[str]:
        """What changes the meaning of the answer, and belongs beside it."""
        return [*self._lone_alleles, *warned(self, self._release, self._known)]

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the answer takes for granted, each with the cure for a table that differs."""
        return assumed(self)

    @cached_property
    def caveats(self) -> list[str]:
        """What the numbers rest on, :attr:`cautions` and :attr:`warnings` first."""
        law = "the others, as if these were known."
        if self.has_register:
            law = "all other people of the register."
        if self._reference is not None:
            law = "the panel alone, and by its number of people."
        caveats = [
            *self.cautions,
            *self.warnings,
            "Asymptotic: the limit for many rows. Each row is judged by the mean and covariance of "
            + law,
        ]
        columns = self._release.categories
        rare = sum(int(np.count_nonzero((c.counts > 0) & (c.counts < _RARE))) for c in columns)
        if rare:
            caveats.append(
                f"Values of categories that fewer than {_RARE} rows have, here {rare:,}, are too "
                "rare for that limit: what their rows leak is known roughly."
            )
        alone = int(np.isinf(self.scores).sum())
        if alone and not self._lone_alleles:
            caveats.append(
                f"Unlike all others in some respect, such as a value of a category that no other "
                f"row has, {alone:,} of the rows: judged by the others they leak 1"
                + (
                    "."
                    if self.has_register
                    else "; less, if the population has more of their kind."
                )
            )
        strays = [(c.name, stray) for c in columns if (stray := c.stray) is not None]
        if strays:
            caveats.append(
                f"Column {listed(name for name, _ in strays)} is taken as a category: not all of "
                f"its values are numbers, {strays[0][1]!r} is none."
            )
        return caveats

    def document(
        self, *, leakage: float = 0.01, top: int = 20, show_rows: bool = False
    ) -> Document:
        """The content of the report, without a layout.

        Parameters
        ----------
        leakage : float
            The leakage for which :meth:`noise_needed` is reported.
        top : int
            Rows at risk to list.
        show_rows : bool
            Whether to show the labels of these rows and the columns in which they are furthest from
            the mean, with the values, which are those of persons.
        """
        return document(self, self._release, leakage=leakage, top=top, show_rows=show_rows)

    def panels(self, *, leakage: float = 0.01) -> Sequence[Panel]:
        """What :meth:`plot` draws, with a line at a `leakage`."""
        return panels(self, leakage)

    def _table(self) -> dict[str, Any]:
        """The rows that are not dropped: their place in the table, labels, score and leakage."""
        places = self._release.places
        labels = {
            name: [values[place] for place in places.tolist()]
            for name, values in self._release.labels.items()
        }
        return {"row": places, **labels, "score": self.scores, "leakage": self.leakage}

    def to_dict(
        self, *, leakage: float = 0.01, top: int = 20, show_rows: bool = False
    ) -> dict[str, Any]:
        """The report as plain values; the score of a row that is alone in its kind is infinite.

        The labels and values of the rows at risk are None unless `show_rows`.
        """
        release = self._release
        riskiest = self.riskiest(top)
        if not show_rows:
            for row in riskiest:
                row["labels"] = row["furthest"] = None
        return {
            "kind": self.kind,
            "rows": self.rows,
            "rows_dropped": self.rows_dropped,
            "rows_used": self.rows_used,
            "people": self.people,
            "has_register": self.has_register,
            "has_reference": self.has_reference,
            "panel": self.panel,
            "rate": self.rate,
            "noise_std": self.noise_std,
            "covariance": self.covariance,
            "shrinkage": self.shrinkage,
            "free_columns": self.free_columns,
            "columns": [column_of(column, release) for column in release.columns],
            "names": [str(name) for name in self.names],
            "average": self.average,
            "highest": self.highest,
            "distribution": self.distribution(),
            "power": power_of(self, release),
            "published": None,
            "yardsticks": self.yardsticks(),
            "noise_effect": self.noise_effect,
            "noise_needed": self.noise_needed(leakage),
            "sites_within": self.sites_within(leakage),
            "riskiest": riskiest,
            "assumed": list(self.assumed),
            "caveats": list(self.caveats),
            "exact": self.exact_rows(top).to_dict() if self.exact else None,
        }

    def __repr__(self) -> str:
        return (
            f"MeanReport(average={self.average:.4g}, highest={self.highest:.4g}, rows={self.rows}, "
            f"free_columns={self.free_columns}, covariance={self.covariance!r}, "
            f"noise_std={self.noise_std:g}, rate={self.rate:g})"
        )
