"""The population as a reference panel has it: people, or frequencies of sites, beside a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, listed, unsupported
from mialeak._checks.means.matrices import are_genotypes, common_rows, share_of_twins
from mialeak._checks.means.relatives import are_too_near, same_rows
from mialeak._checks.names import columns_that
from mialeak._checks.persons import Rows, cautions_of_same_names
from mialeak._files.genotypes import GenotypeTable
from mialeak._files.plink_text import Frequencies, Site, bare_chromosome, identifier, same_alleles
from mialeak.means._panel_checks import other_population_cautions, other_spread_cautions
from mialeak.means._reading import Gaps, as_table, release_of
from mialeak.means._release import Column, Release
from mialeak.means._rows import basis_of, copies_of
from mialeak.means._tradeoff import score_by_moments

__all__ = ["ReferencePanel", "is_panel", "reference_panel"]

#: How a report names a column that the panel, or what is published, cannot judge.
_ABSENT = "absent in the {}"
_OTHER = "with other alleles in the {}"
_CONSTANT = "without variation in the {}"
_STRAND = "swapped in the {}, with alleles A and T or C and G, whose strand is unknown"
#: What the arguments are called in a report.
_NOUNS = {"panel": "panel", "published": "release"}
#: What a report states of a panel of frequencies.
_HARDY_WEINBERG = (
    "The variances of the panel's genotypes are computed from its frequencies, by Hardy-Weinberg "
    "proportions. In a panel of several populations the true variances are larger, and the leakage "
    "is smaller than stated."
)
#: Mean squared distance of a table's means from a panel's, in their variance, from which on the two
#: are taken for different populations; columns for that (of chi-square over 20, 1e-6 is 3.3); and
#: the same of fewer columns, which may all depend on one (of chi-square over 1, 1e-6 is 23.9).
_FAR, _COLUMNS, _FAR_DEPENDENT = 3.5, 20, 24.0
#: The same below which the panel is the table itself, rounded.
_SAME = 1e-4
#: Squared distance of a mean in its variance from which on a site seems to count the other allele
#: in the panel, if 2 less the mean is nearer than the second (normal: 1e-12 and 2e-3).
_SWAPPED, _FITS = 50.0, 10.0
#: Rows that equal one of the panel are of the same people, where so many times as many as rows that
#: are equal within the panel.
_BEYOND = 3.0
#: Share of the columns from which on those left out are a caution.
_LARGE = 0.1
#: Alleles that the two strands of a site share.
_BOTH_STRANDS = ({"A", "T"}, {"C", "G"})


@dataclass(frozen=True, eq=False)
class ReferencePanel:
    """Mean and covariance of a table's columns in a panel of other people.

    Attributes
    ----------
    mean, variance : (columns of numbers,) ndarray
    rows : (columns of numbers,) ndarray
        People from whom each mean is known.
    rounding : (columns of numbers,) ndarray
        The most by which each frequency was rounded; 0 for people.
    release : Release or None
        The people of the panel, with the columns of the table; None for frequencies alone.
    """

    mean: FloatArray
    variance: FloatArray
    rows: FloatArray
    rounding: FloatArray
    release: Release | None

    @property
    def size(self) -> int:
        """People of the panel, of the site with the most."""
        return int(self.rows.max())

    def cautions(self, table: Release) -> list[str]:
        """A caution where the means of the table are further from the panel's than chance."""
        distances, copies = self._distances(table), self._copies(table)
        ratio = float(np.mean(distances))
        if self.mean.size < _COLUMNS:
            far = other_population_cautions(distances, table, self.mean, _FAR_DEPENDENT)
            return copies + (far or other_spread_cautions(table, self.release))
        if ratio < _SAME:
            return [
                "The panel seems to be the table itself: their means are equal but for rounding. "
                "Take a panel of other people: what it states of the population includes these."
            ]
        if names := self._swapped(table):
            return [
                f"{columns_that(names, 'seems')} to count the other allele in the panel: the mean "
                "is near 2 less that of the table. Count the same allele in both.",
                *copies,
            ]
        if ratio < _FAR:
            return copies or other_spread_cautions(table, self.release) or self._near(table)
        return copies + other_population_cautions(distances, table, self.mean, _FAR)

    def _distances(self, table: Release, *, other: bool = False) -> FloatArray:
        """Squared distance of each mean of the table, in its variance; of the other allele."""
        error = self.variance * (1.0 / table.rows + 1.0 / self.rows)
        means = 2.0 - table.means if other else table.means
        return np.asarray((means - self.mean) ** 2 / error)

    def _swapped(self, table: Release) -> list[Any]:
        """The columns that seem to count the other allele, where the others fit."""
        far, back = self._distances(table), self._distances(table, other=True)
        other = (far > _SWAPPED) & (back < _FITS)
        if other.all() or not are_genotypes(table.numbers) or np.mean(far[~other]) >= _FAR:
            return []
        return [table.columns[k].name for k in np.flatnonzero(other).tolist()]

    def _refuse_swapped(self, table: Release) -> None:
        """Refuse columns that count the other allele, by which rows would seem to be no people."""
        if names := self._swapped(table):
            rule = f"count the same allele as the table in each column; not in {listed(names)}"
            remedy = (
                "Take 2 less its counts there, or leave out A/T and C/G sites of unknown strand"
            )
            invalid("panel", rule, remedy=remedy)

    def require_same_alleles(self, table: Release) -> None:
        """Refuse a panel most of whose columns count the other allele."""
        far, back = (float(np.mean(self._distances(table, other=k))) for k in (False, True))
        is_other = self.mean.size >= _COLUMNS and far > _SWAPPED * max(back, 1.0)
        if is_other and are_genotypes(table.numbers):
            rule = "count the same alleles as the table; its means are near 2 less those"
            invalid("panel", f"{rule} of the table", remedy="Take 2 less its counts")

    def _copies(self, table: Release) -> list[str]:
        """A caution where people of the panel have the values of people of the table."""
        if self.release is None:
            return []
        count, which = common_rows(table.numbers, self.release.numbers), "all"
        if count:
            # Different people of few or linked columns are alike: within the panel as across.
            alike = share_of_twins(self.release.numbers) * table.rows
            count = count if count > _BEYOND * max(alike, 1.0) else 0
        elif table.kin is not None and table.kin.is_linked:
            return []
        elif are_genotypes(table.numbers) and are_genotypes(self.release.numbers):
            count, which = same_rows(table.numbers, self.release.numbers), "nearly all"
        if not count:
            return []
        return [
            f"{count:,} of {table.rows:,} rows equal a row of the panel in {which} columns, as the "
            "same person would. Take a panel of other people: what it states of the population "
            "includes these."
        ]

    def _near(self, table: Release) -> list[str]:
        """A caution where the panel includes people of the table, whose means it then shares."""
        distances = self._distances(table)
        if not are_genotypes(table.numbers):
            return []
        if not are_too_near(distances, self.mean / 2.0, table.numbers):
            return []
        return [
            "The panel seems to include people of the table: of their means at common sites, "
            "squared distances are smaller than chance gives between different people. Take a "
            "panel of other people: what it states of the population includes these."
        ]

    def scores(
        self, table: Release, covariance: str, noise_std: float, rows_used: int
    ) -> FloatArray:
        """Leakage score of each row of the table, by the moments of the panel.

        Parameters
        ----------
        table : Release
        covariance : {"full", "shrunk", "diagonal"}
        noise_std : float
            In standard deviations of the columns in the panel.
        rows_used : int
            Rows of the released mean.
        """
        # (V C + k R)^-1 / k, from (C + k R / V)^-1 / k.
        inflated = 1.0 + rows_used / self.size
        cov = self.variance * ((1.0 + rows_used / self.rows) / inflated)
        numbers, added = table.numbers, self.variance * (noise_std**2 / inflated)
        if covariance == "diagonal":
            self._refuse_swapped(table)
            noise = added if noise_std else None
            scores = score_by_moments(numbers, self.mean, cov, rows_used, noise)
            return np.asarray(scores) / inflated
        assert self.release is not None
        people, share = self.release.numbers, 0.0
        parts = [(np.arange(self.mean.size), added)]
        if covariance == "shrunk":
            share = self.release.shrinkage
            first, added, basis = self._shared_columns(table, added)
            parts = [(first, added)] if noise_std else []
            # Without noise, columns that others determine add nothing.
            parts += [(basis, np.zeros(basis.size))] if basis.size < first.size or not parts else []
        scores = np.full(table.rows, np.inf)
        for kept, variance in parts:
            cov = np.atleast_2d(np.cov(people[:, kept].T))
            cov = (1.0 - share) * cov + share * np.diag(np.diag(cov))
            noise = np.diag(variance) if variance.any() else None
            each = score_by_moments(numbers[:, kept], self.mean[kept], cov, rows_used, noise)
            scores = np.minimum(scores, each)
        return np.asarray(scores) / inflated

    def _shared_columns(self, table: Release, noise: FloatArray) -> tuple[Any, FloatArray, Any]:
        """Columns that copy no other in panel and table, their noise, and a basis of these."""
        assert self.release is not None
        rows = np.concatenate([self.release.numbers, table.numbers]).astype(np.float64)
        rows -= rows.mean(axis=0)
        rows /= rows.std(axis=0)
        first, groups = copies_of(rows)
        return first, noise[first] / np.bincount(groups), first[basis_of(rows[:, first])]


def is_panel(panel: Any) -> bool:
    """Whether a panel is more than the number of its rows."""
    return isinstance(panel, (str, PathLike, Frequencies)) or (
        panel is not None and (hasattr(panel, "__len__") or hasattr(panel, "columns"))
    )


def reference_panel(
    panel: Any,
    table: Any,
    release: Release,
    *,
    gaps: Gaps,
    omit: bool,
    argument: str = "panel",
    constant: bool = False,
) -> tuple[ReferencePanel, Release]:
    """The panel's moments of the columns of a release, and the release without other columns.

    Sites are matched by chromosome, position and alleles, else by name and alleles, where both
    sides know these; other columns by their names.  Sites whose other allele the panel counts are
    counted as the table does.

    Parameters
    ----------
    panel : Frequencies, table or path
    table : table
        Of the release.
    release : Release
    gaps : Gaps
        Whether people of the panel with a missing value are left out; else they are refused.
    omit : bool
        Whether columns that the panel cannot judge are left out, and swapped alleles counted as in
        the table; else both are refused.
    argument : {"panel", "published"}
        What errors and notes name.
    constant : bool
        Whether columns without variation are kept.

    Raises
    ------
    ValueError
        If the table has categories, the panel shares people with it, or a column cannot be judged
        and `omit` is False.
    """
    panel = as_table(panel, frequencies=True)
    if release.categories:
        words = listed([column.name for column in release.categories])
        unsupported(
            "panel", f"for categories ({words})", "a panel judges numbers", "Exclude these columns"
        )
    columns = [column.name for column in release.columns]
    if isinstance(table, GenotypeTable) and isinstance(panel, GenotypeTable):
        both = sorted(set(table.people) & set(panel.people))
        if both:
            rule = f"hold other people than the table; it shares {len(both):,}, {listed(both)}"
            remedy = "Leave them out of the panel: what it states of the population includes them"
            invalid("panel", rule, remedy=remedy)
    matched, swapped, problems = _matched(columns, table, panel, argument)
    kept = [name for name in columns if name in matched]
    if isinstance(panel, Frequencies):
        at = np.array([matched[name] for name in kept], np.intp)
        flip = np.array([name in swapped for name in kept], np.bool_)
        p = np.where(flip, 1.0 - panel.frequency[at], panel.frequency[at])
        made = ReferencePanel(
            2 * p, 2 * p * (1 - p), panel.haplotypes[at] / 2.0, panel.rounding[at], None
        )
    elif kept:
        place = {column.name: column.place for column in release.columns}
        numbers = release.numbers[:, [place[name] for name in kept]]
        rows = Rows(table, release.places, numbers)
        made = _of_people(panel, [matched[name] for name in kept], kept, swapped, rows, gaps)
    else:
        made = ReferencePanel(np.zeros(0), np.zeros(0), np.ones(0), np.zeros(0), None)
    varied = (made.variance > 0.0) | constant
    moving = {c.name for c in release.columns if release.stds[c.place] > 0.0}
    if not varied.all():
        problems[_CONSTANT] = [name for name, good in zip(kept, varied, strict=True) if not good]
    problems = {kind.format(_NOUNS[argument]): names for kind, names in problems.items()}
    _require_judged(problems, swapped, omit, bool(varied.any()), argument)
    without = set(chain.from_iterable(problems.values()))
    names = [name for name in kept if name not in without]
    swapped &= set(names)
    omitted, is_large = _omitted_columns(problems, len(names), moving, argument)
    notes = [] if is_large else omitted
    if swapped:
        notes.append(
            f"Swapped alleles: {len(swapped):,} sites of the {_NOUNS[argument]}, counted as in the "
            f"table: {listed(sorted(map(str, swapped)))}."
        )
    made = _subset(made, varied)
    if made.release is None and argument == "panel":
        notes.append(_HARDY_WEINBERG)
    release = _without(release, names, notes, omitted if is_large else ())
    if argument == "panel":
        made.require_same_alleles(release)
    return made, release


def _of_people(
    panel: Any,
    matched: Sequence[Any],
    kept: Sequence[Any],
    swapped: set[Any],
    rows: Rows,
    gaps: Gaps,
) -> ReferencePanel:
    """Moments of people, whose columns are put in the order of the table and counted as in it."""
    people = release_of(panel, list(dict.fromkeys(matched)), gaps=gaps, argument="panel")
    if people.categories:
        names = listed([column.name for column in people.categories])
        rule = f"hold numbers in the columns of the table; it holds text in {names}"
        invalid("panel", rule)
    if people.rows < 3:
        invalid("panel", f"have at least 3 rows; it has {people.rows}")
    place = {column.name: column.place for column in people.columns}
    matrix = people.numbers[:, [place[name] for name in matched]]
    flip = np.array([name in swapped for name in kept])
    matrix[:, flip] = 2.0 - matrix[:, flip]
    columns = [Column(name, None, k) for k, name in enumerate(kept)]
    cautions = cautions_of_same_names(rows, Rows(panel, people.places, matrix), {*matched, *kept})
    cautions = [*people.cautions, *cautions]
    people = replace(people, columns=columns, numbers=matrix, cautions=cautions)
    if np.array_equal(matrix, rows.numbers):
        remedy = "Pass the number of its rows, to take the population from the other rows of each"
        invalid("panel", "hold other people than the table; it is the table", remedy=remedy)
    variance = people.stds**2 * (people.rows / (people.rows - 1.0))
    number = np.full(len(kept), float(people.rows))
    return ReferencePanel(people.means, variance, number, np.zeros(len(kept)), people)


def _subset(panel: ReferencePanel, kept: npt.NDArray[np.bool_]) -> ReferencePanel:
    """The panel with some of its columns."""
    if kept.all():
        return panel
    release = panel.release
    if release is not None:
        columns = [
            Column(column.name, None, place)
            for place, column in enumerate(np.array(release.columns, dtype=object)[kept])
        ]
        release = replace(release, columns=columns, numbers=release.numbers[:, kept])
    mean, variance, rows, rounding = (
        each[kept] for each in (panel.mean, panel.variance, panel.rows, panel.rounding)
    )
    return ReferencePanel(mean, variance, rows, rounding, release)


def _without(
    release: Release, names: Sequence[Any], notes: Sequence[str], cautions: Sequence[str]
) -> Release:
    """The release with the columns of these names alone."""
    notes, cautions = (*release.notes, *notes), (*release.cautions, *cautions)
    release = replace(release, notes=notes, cautions=cautions)
    if len(names) == len(release.columns):
        return release
    place = {column.name: column.place for column in release.columns}
    numbers = release.numbers[:, [place[name] for name in names]]
    columns = [Column(name, None, k) for k, name in enumerate(names)]
    return replace(release, columns=columns, numbers=numbers)


# --- matching -------------------------------------------------------------------------------------


def _matched(
    columns: Sequence[Any], table: Any, panel: Any, argument: str
) -> tuple[dict[Any, Any], set[Any], dict[str, list[Any]]]:
    """For each column its place or name in the panel, the swapped ones, and what has no place."""
    if isinstance(panel, Frequencies) and not _sites(table):
        remedy = "Pass the genotypes as VCF, .bed or .raw"
        rule = "come with genotypes whose alleles are known"
        if argument == "panel":
            rule = "hold people, for a table that states no alleles"
        invalid(argument, rule, remedy=remedy)
    sites = _sites(table)
    if isinstance(panel, Frequencies):
        described: Mapping[Any, Site] = dict(enumerate(panel.sites))
    else:
        described = _sites(panel)
    matched: dict[Any, Any] = {}
    swapped: set[Any] = set()
    problems: dict[str, list[Any]] = {}
    if not (sites and described):
        known = _names(panel)
        for name in columns:
            if name in known:
                matched[name] = name
            else:
                problems.setdefault(_ABSENT, []).append(name)
        return matched, swapped, problems
    at_place: dict[tuple[str, int], list[Any]] = {}
    by_name: dict[str, list[Any]] = {}
    for key, site in described.items():
        if site.is_placed:
            at_place.setdefault((bare_chromosome(site), site.position), []).append(key)
        by_name.setdefault(identifier(site), []).append(key)
    for name in columns:
        if name not in sites:
            problems.setdefault(_ABSENT, []).append(name)
            continue
        site = sites[name]
        near = at_place.get((bare_chromosome(site), site.position), []) if site.is_placed else []
        if not near and identifier(site):
            near = [
                key
                for key in by_name.get(identifier(site), [])
                if not (site.is_placed and described[key].is_placed)
            ]
        fits = {key: same_alleles(site, described[key]) for key in near}
        good = [key for key, same in fits.items() if same is not None]
        if not good:
            problems.setdefault(_OTHER if near else _ABSENT, []).append(name)
            continue
        if fits[good[0]] is False:
            other = described[good[0]]
            if {other.counted.upper(), other.other.upper()} in _BOTH_STRANDS:
                problems.setdefault(_STRAND, []).append(name)
                continue
            swapped.add(name)
        matched[name] = good[0]
    return matched, swapped, problems


def _sites(table: Any) -> Mapping[str, Site]:
    return table.sites if isinstance(table, GenotypeTable) else {}


def _names(panel: Any) -> set[Any]:
    columns = panel.keys() if isinstance(panel, Mapping) else getattr(panel, "columns", ())
    return set(getattr(panel, "column_names", columns))


def _require_judged(
    problems: Mapping[str, list[Any]],
    swapped: set[Any],
    omit: bool,
    varied: bool,
    argument: str,
) -> None:
    """Refuse columns that the panel cannot judge, unless they may be omitted."""
    parts = [f"{len(names):,} {kind} ({listed(names)})" for kind, names in problems.items()]
    if not omit:
        if swapped:
            names = sorted(map(str, swapped))
            parts.append(f"{len(names):,} with swapped alleles ({listed(names)})")
        if parts:
            remedy = (
                "Pass unmatched='omit' to leave out the columns that it cannot judge and to count "
                "swapped alleles as the table does"
            )
            rule = (
                f"have each column of the table, with its alleles and variation; {'; '.join(parts)}"
            )
            invalid(argument, rule, remedy=remedy)
    elif not varied:
        rule = f"have a column of the table that varies; {'; '.join(parts)}"
        invalid(argument, rule)


def _omitted_columns(
    problems: Mapping[str, list[Any]], used: int, moving: set[Any], argument: str
) -> tuple[list[str], bool]:
    """What a report states about columns left out, and whether they are a large share."""
    if not problems:
        return [], False
    kinds = ", ".join(
        f"{len(names):,} {kind} ({listed(names)})" for kind, names in problems.items()
    )
    out = [name for names in problems.values() for name in names]
    vary = sum(name in moving for name in out)
    note = (
        f"Columns of the table beside the panel: {used:,} used, {len(out):,} left out ({kinds}), "
        f"of which {vary:,} vary in the table. If these are published too, the release leaks more."
    )
    return [note], vary > _LARGE * (used + vary)
