"""Published frequencies of a cohort, and what they show about targets whose genotypes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from mialeak._arrays import FloatArray, as_count, invalid, listed
from mialeak._checks.means.relatives import excess_correlation
from mialeak._files.plink_text import Frequencies
from mialeak._numerics.distances import kernel_blocks
from mialeak._report.document import Document, Notes, Section, Table
from mialeak._report.text import number, percent, printable, significant
from mialeak.means._panel import ReferencePanel, is_panel, reference_panel
from mialeak.means._panel_checks import (
    BASES,
    CORRELATED,
    INFLATED,
    close_sites,
    other_targets_cautions,
    possible_copies,
    rarer_allele_cautions,
    repeated_sites_cautions,
    require_same_alleles,
    require_whole_alleles,
    shared_people_cautions,
)
from mialeak.means._reading import Gaps, as_table
from mialeak.means._release import Release
from mialeak.means._report import MeanReport

__all__ = ["PublishedFrequencies", "PublishedReport", "published_frequencies"]

#: How a note of a file begins on sites at which its people agree: here the targets.
_MONOMORPHIC = "Monomorphic sites"
#: Names of columns listed.
_NAMED = 12
#: Numbers of copies that are looked at where several are possible.
_POINTS = 101
#: With fewer people of known genotypes linkage is taken from the places of the sites: the share of
#: close ones.
_PEOPLE, _LINKED = 100, 0.1
#: Mean squared distance of the release's frequencies from the panel's, in their variance, from
#: which on the two are taken for different populations: six standard deviations of the mean for
#: independent sites, and at least the first, as linked sites vary more; that of the same
#: frequencies, rounded; and sites for either.
_FAR, _DEVIATIONS, _SAME, _SITES = 1.25, 6.0, 1e-4, 20


@dataclass(frozen=True, eq=False)
class PublishedFrequencies(ReferencePanel):
    """The population of a panel, or of the release itself, and the frequencies of the release.

    Attributes
    ----------
    frequency : (sites,) ndarray
        Of the counted allele, in the release.
    haplotypes : (sites,) ndarray
        Over which each frequency is taken.
    is_known : bool
        Whether a panel of people or frequencies states the population.
    digits : (sites,) ndarray
        The most by which each frequency of the release was rounded.
    close : float
        Share of the sites that are next to another.
    """

    frequency: FloatArray
    haplotypes: FloatArray
    is_known: bool
    digits: FloatArray
    close: float

    @property
    def people(self) -> int:
        """People of the release, at the site with the most."""
        return int(self.haplotypes.max()) // 2

    def cautions(self, table: Release) -> list[str]:
        """A caution where frequencies are of other alleles, linked sites or other people."""
        others = rarer_allele_cautions(self.frequency, table)
        if others or not self.is_known:
            return (
                others
                or repeated_sites_cautions(table.numbers)
                or other_targets_cautions(self.frequency, self.variance, self._error, table)
            )
        return self._copies(table) + (self._linked(table) or self._far(table))

    def _known_genotypes(self, table: Release) -> Any:
        """Those of the targets, or of the people of the panel, whichever are more."""
        panel = [] if self.release is None else [self.release.numbers]
        return max([table.numbers, *panel], key=len)

    def _linked(self, table: Release) -> list[str]:
        """A caution where sites are correlated, so that evidence is counted several times."""
        people = self.haplotypes / 2.0
        variance = float(np.sum(1.0 / (people * (1.0 + people / self.rows))))
        genotypes = self._known_genotypes(table)
        inflation, deviations = excess_correlation(genotypes)
        least = 2.0 * np.log(INFLATED) / variance
        if deviations >= CORRELATED and inflation >= least:
            why = (
                f"the genotypes of {len(genotypes):,} people are correlated between sites, by "
                "linkage or since they are of several populations"
            )
        elif len(genotypes) < _PEOPLE and self.close >= _LINKED and least < 1.0:
            why = f"{percent(self.close)} of the sites are within {BASES:,} bases of the one before"
        else:
            return []
        return [
            f"The sites are not independent: {why}. Likelihood ratios take them as independent and "
            "are too large, for people outside the release as well; no false-positive rate is "
            "stated. Take sites that are not linked, and a panel of the same population."
        ]

    def _far(self, table: Release) -> list[str]:
        """A caution where the release is further from the panel than chance, or the panel."""
        if self.mean.size < _SITES:
            return []
        error = self._error + self.variance / self.rows
        error += (4.0 / 3.0) * (self._rounded(self.rounding, 2.0 * self.rows) ** 2)
        distances = (2.0 * self.frequency - self.mean) ** 2 / error
        ratio = float(np.mean(distances))
        if ratio < _SAME:
            return [
                "The panel seems to be the release itself: their frequencies are equal but for "
                "rounding. Take a panel of other people."
            ]
        if ratio < max(_FAR, 1.0 + _DEVIATIONS * np.sqrt(2.0 / self.mean.size)):
            share, known = self.mean / 2.0, self._known_genotypes(table)
            return shared_people_cautions(distances, share, known, self.close < _LINKED)
        return [
            "The panel seems to be of another population than the release: squared distances of "
            f"their frequencies are {ratio:.3g} times what chance gives, so that people of the "
            "population of the release seem to be in it, in or not. Take a panel of the same "
            "population."
        ]

    @property
    def _error(self) -> FloatArray:
        """Variance of the mean counts of the release, by its people and by rounding."""
        rounded = self._rounded(self.digits, self.haplotypes)
        return self.variance * (2.0 / self.haplotypes) + (4.0 / 3.0) * rounded**2

    @staticmethod
    def _rounded(digits: FloatArray, alleles: FloatArray) -> FloatArray:
        """By how much frequencies were rounded, where that hides numbers of copies."""
        return np.where(digits * alleles >= 0.5, digits, 0.0)

    @property
    def hidden(self) -> int:
        """Sites of the release at which its rounded frequency is that of several numbers."""
        low, high = possible_copies(self.frequency, self.haplotypes, self.digits)
        return int(np.count_nonzero(high > low))

    @property
    def is_panel_rounded(self) -> bool:
        """Whether a frequency of the panel is that of several numbers of copies."""
        low, high = possible_copies(self.mean / 2.0, 2.0 * self.rows, self.rounding)
        return bool(np.any(high > low))

    def scores(
        self, table: Release, covariance: str, noise_std: float, rows_used: int
    ) -> FloatArray:
        """Leakage score of each target, with sites taken as independent.

        The release and the panel have variances over their people, which may differ by site.
        """
        people = self.haplotypes / 2.0
        weight = self.variance * (1.0 / people + 1.0 / self.rows + noise_std**2) * people**2
        scores = np.empty(table.rows)
        for block in kernel_blocks(table.numbers, matrix=False):
            scores[block] = np.square(table.numbers[block] - self.mean) @ (1.0 / weight)
        return scores

    def log_ratios(self, table: Release) -> FloatArray:
        """Log likelihood ratio of each target: in the release against not, -inf where it cannot be.

        The population's frequencies are known by the panel alone, so that the ratio is that of the
        copies in the release given those in both.  Of c copies among the m of the release and t
        among the N of both, that of x copies of the target is r(c, m) / r(t, N) with
        ``r(c, m) = c (c - 1) / (m (m - 1))`` for x = 2, ``c (m - c) / (m (m - 1))`` for 1 and
        ``(m - c) (m - c - 1) / (m (m - 1))`` for 0.  Where a rounded frequency is that of several
        c, the average over these, in their probabilities by the panel (Beta-binomial, Jeffreys).
        """
        low, high = possible_copies(self.frequency, self.haplotypes, self.digits)
        others = np.rint(self.mean * self.rows)
        terms = _averaged_terms(low, high, self.haplotypes, others, 2.0 * self.rows)
        first = np.arange(self.mean.size)
        ratios = np.empty(table.rows)
        for block in kernel_blocks(table.numbers, matrix=False):
            ratios[block] = terms[table.numbers[block].astype(np.intp), first].sum(axis=1)
        return ratios


def _averaged_terms(
    low: FloatArray, high: FloatArray, alleles: FloatArray, others: FloatArray, beside: FloatArray
) -> FloatArray:
    """:func:`_log_terms`, for copies between `low` and `high` their average."""
    count = np.minimum(high - low + 1.0, _POINTS)
    total, weight = np.full((3, low.size), -np.inf), np.full(low.size, -np.inf)
    for k in range(int(count.max())):
        copies = low + np.rint(k * (high - low) / np.maximum(count - 1.0, 1.0))
        copies = np.minimum(copies, high)
        zeros = alleles - copies
        chance = special.betaln(copies + others + 0.5, zeros + beside - others + 0.5)
        chance -= special.betaln(copies + 1.0, zeros + 1.0)
        chance = np.where(k < count, chance, -np.inf)
        weight = np.logaddexp(weight, chance)
        total = np.logaddexp(total, chance + _log_terms(copies, alleles, others, beside))
    return np.asarray(total - weight)


def _log_terms(
    copies: FloatArray, alleles: FloatArray, others: FloatArray, beside: FloatArray
) -> FloatArray:
    """Log likelihood ratio of 0, 1 and 2 copies of a target, by the copies in release and panel."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = _log_shares(copies, alleles)
        terms = shares - _log_shares(copies + others, alleles + beside)
    # Copies that the release lacks may be lacking in both.
    return np.where(np.isneginf(shares), -np.inf, terms)


def _log_shares(copies: FloatArray, alleles: FloatArray) -> FloatArray:
    """Log share of the ordered pairs of alleles with 0, 1 and 2 copies, of a given order."""
    zeros = alleles - copies
    pairs = np.stack([zeros * (zeros - 1.0), copies * zeros, copies * (copies - 1.0)])
    return np.asarray(np.log(pairs) - np.log(alleles * (alleles - 1.0)))


class PublishedReport(MeanReport):
    """How much the published frequencies of a cohort leak about each of the rows, the targets."""

    _title = "What these published frequencies leak about targets"
    _reference: PublishedFrequencies

    @property
    def rows_used(self) -> int:
        """People of the release, at the site with the most."""
        return self._reference.people

    @property
    def free_columns(self) -> int:
        """Sites of the release that are used."""
        return len(self.columns)

    @cached_property
    def log_likelihood_ratios(self) -> FloatArray | None:
        """Of each row, in the release against not; None if no panel states the population."""
        return self._reference.log_ratios(self._release) if self._reference.is_known else None

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """Why the release, the panel or noise is probably not what was meant."""
        table, known = self._release, self._reference
        return (*table.cautions, *known.cautions(table), *table.cautions_beside(None, known))

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the answer takes for granted of the targets, the release and the panel."""
        drawn = "The people of the panel are of the same population, and none is in the release."
        if self.panel is None:
            drawn = (
                "The release is of one population, which its own frequencies describe. If a sample "
                "of the population is known: option panel."
            )
        return (
            "Each target is a different person.",
            drawn,
            "No other numbers about these people are published.",
        )

    @cached_property
    def warnings(self) -> list[str]:
        """What was omitted of the files, and what rounding hides."""
        notes = [note for note in self._release.notes if not note.startswith(_MONOMORPHIC)]
        if self._reference.hidden:
            notes.append(
                f"The frequencies are rounded: at {self._reference.hidden:,} sites they are those "
                "of several numbers of copies. The leakage is that of frequencies that are not "
                "rounded, which is more."
            )
        return notes

    @cached_property
    def caveats(self) -> list[str]:
        """What the numbers rest on, :attr:`cautions` and :attr:`warnings` first."""
        of = "the panel, and by its number of people"
        if not self._reference.is_known:
            of = "the release, as if these were those of the population"
        return [
            *self.cautions,
            *self.warnings,
            "Asymptotic: the limit for many people. Each row is judged by the frequencies of "
            f"{of}; sites are taken as independent, in Hardy-Weinberg proportions.",
        ]

    def document(
        self, *, leakage: float = 0.01, top: int = 20, show_rows: bool = False
    ) -> Document:
        """The content of the report, without a layout; as for :class:`MeanReport`."""
        base = super().document(leakage=leakage, top=top, show_rows=show_rows)
        names = listed(self.columns, show=printable, most=_NAMED)
        lines = [
            f"{self.rows:,} target{'s' * (self.rows > 1)}",
            f"{len(self.columns):,} sites: {names}",
        ]
        if self.rows_dropped:
            lines[0] += f"; {self.rows_dropped:,} more dropped: a genotype is missing"
        sections = [
            Section("Targets", [Notes(lines)]) if section.title == "Table" else section
            for section in base.sections
        ]
        return replace(base, answer=self._answer, sections=[self._evidence(top), *sections])

    @property
    def _answer(self) -> str:
        known = "the population"
        if self.panel is not None:
            known += f" by a sample of {self.panel:,} people"
        noise = ""
        if self.noise_std:
            noise = f", with noise of {self.noise_std:g} standard deviations on each,"
        leaks = f"{number(self.highest)} about the target"
        if self.rows > 1:
            leaks = f"{number(self.average)} on average and {number(self.highest)} about the "
            leaks += f"riskiest of {self.rows:,} targets"
        answer = (
            f"The published frequencies of these {len(self.columns):,} sites over "
            f"{self.rows_used:,} people{noise} leak {leaks}: an attacker who "
            f"knows {known} and sees the frequencies can tell with "
            f"{percent((1 + self.highest) / 2)} accuracy whether that target is among these people "
            "(guessing: 50%)."
        )
        return " ".join([answer, *self.warnings])

    def _evidence(self, top: int) -> Section:
        """Whom the release points at."""
        title = "Evidence that a target is among the people of the release"
        ratios = self.log_likelihood_ratios
        if ratios is None:
            why = (
                "Not computed: it compares the frequencies of the release with those of the "
                "population, which a panel of other people states."
            )
            return Section(title, [Notes([why])])
        rows = np.argsort(-ratios, kind="stable")[:top]
        known = self._reference
        is_doubtful = bool(known.cautions(self._release)) or known.is_panel_rounded
        rates = np.exp(-np.maximum(ratios, 0.0))
        header = ("row", "log likelihood ratio", "false-positive rate at most", "leakage")
        body = [
            (
                f"{self._release.places[row]}",
                f"{ratios[row]:.2f}",
                "not stated" if is_doubtful else significant(float(rates[row]), 3),
                number(float(self.leakage[row])),
            )
            for row in rows
        ]
        impossible = int(np.isneginf(ratios).sum())
        notes = [
            f"Above 0, as in {np.count_nonzero(ratios > 0.0):,} of {self.rows:,} rows, it is "
            "evidence that the target is among them. If release, panel and targets are of one "
            "population, and its sites are independent and in Hardy-Weinberg proportions, at most "
            "the share e^-x of the others reaches x. The ratio is that given the copies in release "
            "and panel together, so that the panel need not be large."
        ]
        if known.hidden:
            notes.append(
                f"At {known.hidden:,} sites with rounded frequencies the ratio is the average over "
                "the numbers of copies that are possible."
            )
        if known.is_panel_rounded:
            notes.append(
                "No false-positive rate is stated, since the panel's frequencies are rounded."
            )
        if impossible:
            notes.append(
                f"Certainly not among them, by genotypes that the release excludes: {impossible:,}."
            )
        return Section(title, [Table(header, body), Notes(notes)])

    def _row(self, row: int) -> dict[str, Any]:
        content, ratios = super()._row(row), self.log_likelihood_ratios
        known, numbers = self._reference, self._release.numbers[row]
        deviations = (numbers - known.mean) / np.sqrt(known.variance)
        furthest = np.argsort(-np.abs(deviations), kind="stable")[: len(content["furthest"])]
        content["furthest"] = [
            {
                "column": str(self.columns[k]),
                "value": int(numbers[k]),
                "deviations": float(deviations[k]),
            }
            for k in furthest
        ]
        content["log_likelihood_ratio"] = None if ratios is None else float(ratios[row])
        return content

    def to_dict(
        self, *, leakage: float = 0.01, top: int = 20, show_rows: bool = False
    ) -> dict[str, Any]:
        """The report as plain values; as for :class:`MeanReport`, with what is `published`."""
        content = super().to_dict(leakage=leakage, top=top, show_rows=show_rows)
        known = self._reference
        means, stds = 2.0 * known.frequency, np.sqrt(known.variance)
        for column, mean, std in zip(content["columns"], means, stds, strict=True):
            column.update(mean=float(mean), std=float(std))
        ratios = self.log_likelihood_ratios
        content["published"] = {
            "people": known.people,
            "sites": len(self.columns),
            "above_zero": None if ratios is None else int(np.count_nonzero(ratios > 0.0)),
        }
        return content

    def _table(self) -> dict[str, Any]:
        """The targets: their place in the table, labels, score, leakage and likelihood ratio."""
        ratios = self.log_likelihood_ratios
        return super()._table() | ({} if ratios is None else {"log_likelihood_ratio": ratios})


def published_frequencies(
    published: Any, panel: Any, table: Any, release: Release, *, gaps: Gaps, omit: bool
) -> tuple[PublishedFrequencies, Release]:
    """The frequencies of a release with the population of its sites, and the targets with them.

    Parameters
    ----------
    published : Frequencies or path
    panel : int, Frequencies, table or None
    table : table
        Of the targets.
    release : Release
        The genotypes of the targets.
    gaps : Gaps
    omit : bool
        As for :func:`reference_panel`.
    """
    frequencies = as_table(published, frequencies=True)
    if not isinstance(frequencies, Frequencies):
        remedy = "plink2 --freq writes it; of people, pass the table of them in place of targets"
        invalid("published", "be the frequencies of sites, an .afreq file", remedy=remedy)
    is_known = is_panel(panel)
    options: dict[str, Any] = {"gaps": gaps, "omit": omit}
    released, release = reference_panel(
        frequencies, table, release, argument="published", constant=is_known, **options
    )
    names = [column.name for column in release.columns]
    known = released
    if is_known:
        known, release = reference_panel(
            as_table(panel, frequencies=True), table, release, **options
        )
        place = {name: k for k, name in enumerate(names)}
        at = np.array([place[column.name] for column in release.columns], np.intp)
    else:
        at = np.arange(len(names))
        rows = np.full(
            len(names), np.inf if panel is None else float(as_count(panel, "panel", least=1))
        )
        known = replace(released, rows=rows)
    made = PublishedFrequencies(
        known.mean,
        known.variance,
        known.rows,
        known.rounding,
        known.release,
        released.mean[at] / 2.0,
        2.0 * released.rows[at],
        is_known,
        released.rounding[at],
        close_sites(release, table),
    )
    require_same_alleles(made.frequency, release)
    unused = len(frequencies.sites) - at.size
    if unused:
        note = (
            f"Sites of the release: {len(frequencies.sites):,}, of which {at.size:,} are used. The "
            "others leak too, to whoever has the genotypes of the targets there."
        )
        release = replace(release, notes=(*release.notes, note))
    if is_known:
        for frequency, alleles, digits, argument in (
            (made.frequency, made.haplotypes, made.digits, "published"),
            (made.mean / 2.0, 2.0 * made.rows, made.rounding, "panel"),
        ):
            require_whole_alleles(frequency, alleles, digits, release, argument)
    return made, release
