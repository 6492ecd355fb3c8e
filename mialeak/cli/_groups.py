"""``mialeak mean --by``: the means of each group of people, published apart."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mialeak._report.document import Document
    from mialeak.means import MeanReport

__all__ = ["GroupReports", "add_by", "check_by", "groups_of", "rows_of"]

#: The column that names the people of a file of genotypes, and of a table of samples.
_PERSON = "sample"
#: Least rows of a group.
_LEAST = 3
#: Options whose meaning within groups is not clear.
_ALONE = ("exact", "panel", "plot", "population", "show_rows")


def add_by(add: Any) -> None:
    """Describe ``--by`` and ``--samples``."""
    add(
        "--by",
        metavar="A",
        help="the means of each group of rows are published, by this column of FILE or --samples",
    )
    add(
        "--samples",
        metavar="TABLE",
        help='a table whose column "sample" has the people of FILE, and which has the column --by',
    )


def check_by(options: argparse.Namespace) -> None:
    """Raise ValueError for options that do not go together."""
    if options.by is None:
        if options.samples is not None:
            raise ValueError("--samples takes --by, the column of it that names the groups")
        return
    taken = [name for name in _ALONE if getattr(options, name) not in (None, False)]
    if taken:
        option = "--" + taken[0].replace("_", "-")
        raise ValueError(
            f"{option} is not available with --by: it belongs to one release. Select the rows of a "
            "group into a file of their own"
        )


def groups_of(options: argparse.Namespace, frame: Any) -> dict[Any, npt.NDArray[np.intp]]:
    """The rows of each group, groups by their names.

    Raises
    ------
    ValueError
        If a row has no group, a person occurs twice or not at all in the table of samples, or a
        group has fewer than 3 rows.
    """
    if options.samples is None:
        groups = _values(frame, options.by)
    else:
        of_file = argparse.Namespace(**{**vars(options), "file": options.samples, "format": None})
        table = _options.read_file(of_file, [_PERSON, options.by])
        people = [str(name) for name in _values(table, _PERSON)]
        twice = [name for name, times in Counter(people).items() if times > 1]
        if twice:
            raise ValueError(f"--samples must name each person once; {twice[0]!r} occurs twice")
        group_of = dict(zip(people, _values(table, options.by), strict=True))
        rows = [str(name) for name in _values(frame, _PERSON)]
        absent = [name for name in rows if name not in group_of]
        if absent:
            raise ValueError(
                f"--samples must have each person of the table; {len(absent):,} are absent, such "
                f"as {absent[0]!r}"
            )
        groups = [group_of[name] for name in rows]
    for row, group in enumerate(groups):
        if group is None:
            raise ValueError(f"--by must give each row a group; row {row} has none")
    import numpy as np

    places: dict[Any, list[int]] = {}
    for row, group in enumerate(groups):
        places.setdefault(group, []).append(row)
    for group, members in places.items():
        if len(members) < _LEAST:
            raise ValueError(
                f"--by must make groups of at least {_LEAST} rows; {group!r} has {len(members)}. "
                "Publish no means of such a group, and leave its rows out"
            )
    return {group: np.array(places[group]) for group in sorted(places, key=str)}


def _values(frame: Any, column: str) -> list[Any]:
    """The values of a column as plain Python objects."""
    from mialeak._columns import frame_factors

    factor = frame_factors(frame, [column])[column]
    known = [factor.value(code) for code in range(len(factor.levels))]
    return [known[code] if code >= 0 else None for code in factor.codes.tolist()]


def rows_of(frame: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Some rows of a table as the shell reads it."""
    import numpy as np

    from mialeak._columns import Factor

    if not isinstance(frame, dict):
        return frame.take(rows)  # of pyarrow
    return {
        name: Factor(values.codes[rows], values.levels)
        if isinstance(values, Factor)
        else np.asarray(values)[rows]
        for name, values in frame.items()
    }


@dataclass(frozen=True)
class GroupReports:
    """The reports of the groups of a table.

    Attributes
    ----------
    by : str
        The column that names the groups.
    places : dict of ndarray
        The rows of each group in the table.
    reports : dict of MeanReport
    notes : sequence of str
        What was omitted of the file.
    """

    by: str
    places: dict[Any, npt.NDArray[np.intp]]
    reports: dict[Any, MeanReport]
    notes: Sequence[str] = ()

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
        """Those of the groups."""
        return tuple(
            f"In group {group!r}: {caution[0].lower()}{caution[1:]}"
            for group, report in self.reports.items()
            for caution in report.cautions
        )

    @property
    def caveats(self) -> list[str]:
        """What the numbers rest on, cautions first."""
        from mialeak._arrays import listed

        law = (
            "Asymptotic: the limit for many rows. Each row is judged within its group, by the mean "
            "and covariance of the others of the group, as if these were known."
        )
        beside: dict[str, list[str]] = {}
        for group, report in self.reports.items():
            for caveat in report.caveats[len(report.cautions) :]:
                if not caveat.startswith("Asymptotic"):
                    beside.setdefault(caveat, []).append(str(group))
        shared = [
            caveat
            if len(members) == len(self.reports)
            else f"In group {listed(members)}: {caveat[0].lower()}{caveat[1:]}"
            for caveat, members in beside.items()
        ]
        return [*self.cautions, *self.notes, law, *shared]

    def to_dict(self, *, leakage: float, top: int) -> dict[str, Any]:
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
            "caveats": self.caveats,
        }

    def document(self, *, leakage: float, top: int) -> Document:
        """For people."""
        from mialeak._report.document import Document, Notes, Section, Table
        from mialeak._report.text import at_least, number, percent, printable

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
        return Document(answer, sections, self.cautions)
