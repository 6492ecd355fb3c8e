"""The means of each group of people, published apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid, listed, unsupported
from mialeak._checks.markers import lone_markers
from mialeak._checks.persons import cautions_of_names_beside, cautions_of_shared_persons
from mialeak._checks.spellings import cautions_of_spellings
from mialeak._columns import Factor, each_factor
from mialeak._labels import require_same_rows
from mialeak._report.document import Document, Notes, Section, Table
from mialeak._report.report import Panel, Report
from mialeak._report.text import at_least, number, percent, printable
from mialeak._results import Kind
from mialeak.means._report import MeanReport

__all__ = ["GroupedMeanReport", "report_by_group"]

#: The column that names the people of a file of genotypes, and of a table of samples.
_PERSON = "sample"
#: Least rows of a group, and a number in a sentence.
_LEAST = 3
_NUMBER = re.compile(r"\d[\d,.]*(?<=\d)")


def report_by_group(
    judge: Callable[..., MeanReport],
    table: Any,
    by: Any,
    samples: Any,
    settings: Mapping[str, Any],
) -> GroupedMeanReport:
    """The reports on the rows of each group.

    Parameters
    ----------
    judge : function
        Of the rows of a group and `settings`.
    table : table
    by : str or sequence
        The column of `samples`, or else of `table`, that names the groups; or their names, one for
        each row of `table`.
    samples : table or None
        With the column "sample" of the people of `table`.
    settings : mapping
        The arguments of ``mean_leakage``.

    Raises
    ------
    ValueError
        If `by` is published, a row has no group and `na` is not "drop", a person is not in
        `samples` or twice, a group has fewer than 3 rows, or a setting belongs to one release.
    """
    if by is None:
        invalid("samples", "come with by, the column of it that names the groups")
    given = {name: settings[name] for name in ("exact", "panel", "population")}
    alone = [name for name, value in given.items() if value is not None and value is not False]
    if alone:
        remedy = "Select the rows of a group into a table of their own"
        unsupported(alone[0], "with by", "it belongs to one release", remedy)
    by, groups = (by, None) if _is_name(by) else _given(by, table, samples)
    groups = _groups(table, by, samples, settings["missing"]) if groups is None else groups
    places = _places(groups, settings["na"])
    absent = sum(group is None for group in groups)
    notes = [f"{absent:,} row{'s' * (absent != 1)} without a group of {by}: left out."] * (
        absent > 0
    )
    columns, excluded = settings["columns"], list(settings["exclude"])
    if columns is not None and by in list(columns):
        invalid("by", "be no column that is published", value=by)
    if columns is None:
        described = {by} if samples is None else {by, _PERSON}
        known = _names(table) & (described - {*excluded, *settings["labels"]})
        excluded += sorted(known, key=str)
    settings = {**settings, "exclude": excluded}
    reports = {group: judge(_rows_of(table, rows), **settings) for group, rows in places.items()}
    beside = (
        *getattr(table, "cautions", ()),
        *_cautions_of_groups(by, places, len(groups)),
        *cautions_of_shared_persons(table, by, places),
        *cautions_of_names_beside(_described(table, by, samples)),
    )
    return GroupedMeanReport(by, places, reports, (*notes, *getattr(table, "notes", ())), beside)


def _cautions_of_groups(
    by: Any, places: Mapping[Any, npt.NDArray[np.intp]], rows: int
) -> list[str]:
    """Cautions for names of groups that mark a missing value, or are spelt in two ways."""
    codes = np.full(rows, -1)
    for k, members in enumerate(places.values()):
        codes[members] = k
    groups = Factor(codes, list(places))
    return [
        f"{value!r} is taken for the name of a group of {by}, of {count:,} rows. If it marks a "
        "missing value, and no means of this group are published, leave these rows out."
        for value, count in lone_markers(groups)
    ] + cautions_of_spellings({by: groups})


def _described(table: Any, by: Any, samples: Any) -> dict[Any, Factor]:
    """The other columns of `samples`, in the rows of the table."""
    if samples is None:
        return {}
    place = {str(name): k for k, name in enumerate(_values(samples, _PERSON))}
    rows = np.array([place[str(name)] for name in _values(table, _PERSON)], np.intp)
    others = [name for name in _names(samples) if name not in (by, _PERSON)]
    columns = each_factor(samples, sorted(others, key=str)) if others else ()
    return {name: Factor(each.codes[rows], each.levels) for name, each in columns}


def _is_name(by: Any) -> bool:
    """Whether it is the name of a column, not a value for each row."""
    return isinstance(by, (str, tuple)) or not hasattr(by, "__len__")


def _given(by: Any, table: Any, samples: Any) -> tuple[Any, list[Any]]:
    """The name of the groups, and that of each row, of which a Series or a sequence is passed.

    The name is that of a column of the table where the two are equal.
    """
    rule = "be the name of a column, or have a group for each row of table"
    remedy = "Groups of several columns go into one, such as the texts of the values joined"
    if samples is not None:
        invalid("by", "be the name of a column of samples", error=TypeError)
    require_same_rows(table=table, by=by)
    name = getattr(by, "name", None)
    name = "by" if name is None else name
    is_series = hasattr(by, "to_frame") and not hasattr(by, "nlevels")  # an index has its levels
    groups = _values(by.to_frame(name) if is_series else {name: by}, name)
    rows = len(next(iter(dict(each_factor(table, [next(iter(_names(table)))])).values())).codes)
    if len(groups) != rows:
        invalid("by", f"{rule}; it has {len(groups):,} of {rows:,}", remedy=remedy)
    if name in _names(table) and _values(table, name) != groups:
        name = f"{name} (by)"
    return name, groups


def _groups(table: Any, by: Any, samples: Any, missing: Any) -> list[Any]:
    """The group of each row, by the column of the table or of the samples."""
    if samples is None:
        return _values(table, by, missing)
    people = [str(name) for name in _values(samples, _PERSON)]
    twice = [name for name, times in Counter(people).items() if times > 1]
    if twice:
        invalid("samples", f"name each person once; {twice[0]!r} occurs twice")
    group_of = dict(zip(people, _values(samples, by, missing), strict=True))
    rows = [str(name) for name in _values(table, _PERSON)]
    absent = [name for name in rows if name not in group_of]
    if absent:
        rule = f"have each person of the table; {len(absent):,} are absent"
        invalid("samples", f"{rule}, such as {absent[0]!r}")
    return [group_of[name] for name in rows]


def _places(groups: Sequence[Any], na: Any = "error") -> dict[Any, npt.NDArray[np.intp]]:
    """The rows of each group, groups by their names; with na="drop" some rows have none."""
    places: dict[Any, list[int]] = {}
    for row, group in enumerate(groups):
        if group is None and na == "drop":
            continue
        if group is None:
            remedy = "Pass na='drop' to leave such rows out"
            invalid("by", f"give each row a group; row {row} has none", remedy=remedy)
        places.setdefault(group, []).append(row)
    if not places:
        remedy = "Pass another column, or judge the table without by"
        invalid("by", "give rows a group; all values are missing", remedy=remedy)
    for group, members in places.items():
        if len(members) < _LEAST:
            rule = f"make groups of at least {_LEAST} rows; {group!r} has {len(members)}"
            remedy = "Publish no means of such a group, and leave its rows out"
            invalid("by", rule, remedy=remedy)
    return {group: np.array(places[group]) for group in sorted(places, key=str)}


def _values(table: Any, column: Any, missing: Any = ()) -> list[Any]:
    """The values of a column as plain Python objects."""
    factor = dict(each_factor(table, [column], missing=missing))[column]
    known = [factor.value(code) for code in range(len(factor.levels))]
    return [known[code] if code >= 0 else None for code in factor.codes.tolist()]


def _names(table: Any) -> set[Any]:
    if isinstance(table, Mapping):
        return set(table)
    return set(getattr(table, "column_names", None) or table.columns)


def _rows_of(table: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Some rows of a table."""
    if not isinstance(table, Mapping):
        import narwhals as nw

        return nw.from_native(table, eager_only=True)[rows].to_native()
    return {name: _chosen(values, rows) for name, values in table.items()}


def _chosen(values: Any, rows: npt.NDArray[np.intp]) -> Any:
    if isinstance(values, Factor):
        return Factor(values.codes[rows], values.levels)
    if isinstance(values, np.ndarray):
        return values[rows]
    if hasattr(values, "take") and not isinstance(values, Collection):
        return values.take(rows)
    values = list(values)
    return [values[row] for row in rows.tolist()]


def _of_groups(sentences: Mapping[Any, Sequence[str]], of_all: str) -> list[str]:
    """The sentences on each group; one for all groups where they differ in numbers at most.

    Those that are the same of every group begin with `of_all`.
    """
    met: dict[str, dict[Any, str]] = {}
    for group, each in sentences.items():
        for sentence in each:
            met.setdefault(_NUMBER.sub("#", sentence), {}).setdefault(group, sentence)
    merged = []
    for members in met.values():
        first, *others = members.values()
        if len(members) == len(sentences) and set(others) == {first}:
            start = f"{of_all}{first[0].lower()}" if of_all else first[0]
            merged.append(f"{start}{first[1:]}")
            continue
        which = f"In group {listed(members)}"
        if others and set(others) != {first}:
            shown, *beside = members
            also = f"{len(beside):,} more" if len(beside) > 1 else repr(beside[0])
            which = f"In group {shown!r}, and with other numbers in {also}"
        merged.append(f"{which}: {first[0].lower()}{first[1:]}")
    return merged


@dataclass(frozen=True, repr=False, eq=False)
class GroupedMeanReport(Report):
    """How much publishing the means of each group of a table leaks about each of its rows.

    Each row is judged within its group.  ``print(report)`` writes the report out for people,
    :meth:`to_dict` for machines.

    Attributes
    ----------
    by : str
        The column that names the groups.
    places : dict of ndarray
        The rows of each group in the table.
    reports : dict of MeanReport
        Of each group, by its name.
    notes, file_cautions : tuple of str
        What was omitted of the file, and what of the file or the groups is probably not meant.
    kind : str
        "asymptotic".

    Examples
    --------
    >>> from mialeak import mean_leakage
    >>> table = {"age": [31, 45, 29, 60, 52, 38, 41], "sex": list("fmfmfmf")}
    >>> report = mean_leakage(table, by="sex")
    >>> {group: f"{each.highest:.3f}" for group, each in report.reports.items()}
    {'f': '0.524', 'm': '0.719'}
    """

    by: Any
    places: dict[Any, npt.NDArray[np.intp]]
    reports: dict[Any, MeanReport]
    notes: tuple[str, ...] = ()
    file_cautions: tuple[str, ...] = ()
    kind: Kind = "asymptotic"

    _title = "What publishing the means of groups leaks"

    @property
    def riskiest(self) -> Any:
        """The group of the riskiest row."""
        return max(self.reports, key=lambda group: self.reports[group].highest)

    @property
    def highest(self) -> float:
        """Leakage of the riskiest row."""
        return self.reports[self.riskiest].highest

    def rows(self, top: int) -> list[dict[str, Any]]:
        """The rows that leak most, whatever their group."""
        rows = []
        for group, report in self.reports.items():
            for row in report.riskiest(top):
                place = int(self.places[group][row["row"]])
                rows.append({"row": place, "group": str(group), "leakage": row["leakage"]})
        return sorted(rows, key=lambda row: (-row["leakage"], row["row"]))[:top]

    @property
    def cautions(self) -> tuple[str, ...]:
        """Those of the file and of the groups, the same of several groups once."""
        each = {group: report.cautions for group, report in self.reports.items()}
        return (*self.file_cautions, *_of_groups(each, "In each group: "))

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the answer takes for granted, each with the cure for a table that differs."""
        return self.reports[self.riskiest].assumed

    @property
    def caveats(self) -> list[str]:
        """What the numbers rest on, cautions first."""
        law = (
            "Asymptotic: the limit for many rows. Each row is judged within its group, by the mean "
            "and covariance of the others of the group, as if these were known."
        )
        beside = {
            group: [
                caveat
                for caveat in report.caveats[len(report.cautions) :]
                if not caveat.startswith("Asymptotic")
            ]
            for group, report in self.reports.items()
        }
        return [*self.cautions, *self.notes, law, *_of_groups(beside, "")]

    def panels(self, *, leakage: float = 0.01) -> Sequence[Panel]:
        """Those of the group of the riskiest row."""
        return self.reports[self.riskiest].panels(leakage=leakage)

    def _table(self) -> dict[str, Any]:
        """Group, rows and leakage of each group."""
        reports = list(self.reports.values())
        return {
            "group": [str(group) for group in self.reports],
            "rows": [report.rows for report in reports],
            "average": [report.average for report in reports],
            "highest": [report.highest for report in reports],
        }

    def to_dict(self, *, leakage: float = 0.01, top: int = 20) -> dict[str, Any]:
        """As plain values."""
        return {
            "kind": "asymptotic",
            "by": self.by,
            "groups": [
                {
                    "group": str(group),
                    "rows": report.rows,
                    "rows_dropped": report.rows_dropped,
                    "rows_used": report.rows_used,
                    "covariance": report.covariance,
                    "free_columns": report.free_columns,
                    "average": report.average,
                    "highest": report.highest,
                    "noise_needed": report.noise_needed(leakage),
                }
                for group, report in self.reports.items()
            ],
            "highest": self.highest,
            "riskiest": self.rows(top),
            "assumed": list(self.assumed),
            "caveats": self.caveats,
        }

    def document(self, *, leakage: float = 0.01, top: int = 20) -> Document:
        """For people."""
        columns = len(next(iter(self.reports.values())).columns)
        means = f"the means of these {columns:,} columns" if columns > 1 else "the mean of a column"
        group = printable(self.riskiest)
        answer = (
            f"Publishing {means} for each of {len(self.reports):,} groups of "
            f"{printable(self.by)} leaks {number(self.highest)} about the riskiest row, of the "
            f"group {group}: an attacker who knows the population of the group and sees its means "
            f"can tell with {percent((1 + self.highest) / 2)} accuracy whether that row is among "
            "them (guessing: 50%)."
        )
        answer = " ".join([answer, *self.reports[self.riskiest]._lone_alleles])
        header = ("rows", "average", "riskiest row", f"noise needed for {leakage:g}", "group")
        body = [
            (
                f"{report.rows:,}",
                number(report.average),
                number(report.highest),
                at_least(report.noise_needed(leakage)["riskiest"]),
                printable(name),
            )
            for name, report in self.reports.items()
        ]
        notes = Notes(
            [
                "Noise is in standard deviations of the column in the group.",
                *self.caveats[len(self.cautions) :],
            ]
        )
        sections = [Section("Leakage by group", [Table(header, body, left=1), notes])]
        if top:
            rows = self.rows(top)
            lines = [(f"{x['row']}", number(x["leakage"]), printable(x["group"])) for x in rows]
            title = f"Rows most at risk ({len(rows):,}; row 0 is the first)"
            sections.append(Section(title, [Table(("row", "leakage", "group"), lines, left=1)]))
        return Document(answer, sections, self.cautions, assumed=self.assumed)

    def __repr__(self) -> str:
        return (
            f"GroupedMeanReport(by={self.by!r}, groups={len(self.reports)}, "
            f"highest={self.highest:.4g})"
        )
