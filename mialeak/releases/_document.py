"""The report of a release: its document and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.report import Panel
from mialeak._report.text import accuracy, number, percent, printable
from mialeak.releases._explanations import FOR_PEOPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mialeak.releases._accounts import ReleaseAccount, ReleaseLeakage
    from mialeak.releases._explanations import Determined
    from mialeak.releases._hidden_counts import Recovered
    from mialeak.releases._report import OutputCost, ReleaseReport

__all__ = ["assumed", "document", "panels"]


def assumed(report: ReleaseReport) -> tuple[str, ...]:
    """What the answer takes for granted: who is counted, how they were drawn, what is published."""
    drawn = (
        "Everyone in a large population was equally likely to be among the people. If the "
        "population is a register: option population."
    )
    if report.joint is None:
        drawn = "Everyone in the population that was given was equally likely to be among them."
    return (
        "Each row of the people is a different person.",
        drawn,
        "These are all the outputs about them, earlier ones included.",
    )


def document(
    report: ReleaseReport, *, top: int, show_rows: bool, contributions: Sequence[OutputCost]
) -> Document:
    """The answer, the outputs, what is determined, contributions, rows at risk."""
    sections = [_numbers(report), _outputs(report)]
    if report.determined:
        sections.append(_determined(report.determined[: max(top, 1)], report._marks.size))
    if report.recovered:
        sections.append(_recovered(report.recovered[: max(top, 1)], len(report.recovered)))
    if contributions:
        sections.append(_contributions(contributions))
    if top:
        sections.append(_riskiest(report, top, show_rows))
    return Document(_answer(report), sections, report.cautions, assumed=assumed(report))


def _span(leakage: ReleaseLeakage) -> str:
    if leakage.low == leakage.high:
        return number(leakage.value)
    return f"{number(leakage.low)} to {number(leakage.high)}"


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _range(report: ReleaseReport) -> str:
    """What kind of range the numbers for the population of a sample are; empty for a known law."""
    if report.joint is None:
        return ""
    if not report.joint.claimed:
        return "rough range"
    return f"{100 * report.confidence:g}% range"


def _answer(report: ReleaseReport) -> str:
    count, average, highest = len(report.outputs), report.average, report.highest
    exact = average.kind == "exact"
    which = "This output" if count == 1 else f"These {count:,} outputs together"
    leak = "leaks" if count == 1 else "leak"
    limit = "" if exact else f"in the limit of many people {number(average.value)}"
    ends = "; ".join(filter(None, [_range(report), limit]))
    ends = f" ({ends})" if ends else ""
    on_average, of_riskiest = _span(average), _span(highest)
    accurate = f"{accuracy(average.low)} accuracy{' or more' * (not exact)}"
    if not exact and average.value == 0.0:  # nothing but protected counts
        on_average, of_riskiest = (
            f"at most {number(average.high)}",
            f"at most {number(highest.high)}",
        )
        accurate, ends = (
            f"at most {accuracy(average.high)} accuracy",
            f" ({_range(report)})" * bool(_range(report)),
        )
    words = (
        f"{which} ({_several(report.n_counts, 'number')}) {leak} {on_average} on average{ends} "
        f"and {of_riskiest} about the riskiest row. An attacker who knows the population and "
        f"sees them can decide with {accurate} whether a random person is in the data "
        "(guessing: 50%)."
    )
    groups = report.n_determined
    if report.small:
        verb = "are" if report.small > 1 else "is"
        words += f" {_several(report.small, 'published count')} {verb} below {report.threshold:,}."
    if groups:
        several = f"The counts of {groups:,} groups" if groups > 1 else "The count of a group"
        verb = "follow" if groups > 1 else "follows"
        words += (
            f" {several} below {report.threshold:,} people {verb} from the outputs, though no "
            "output shows it."
        )
    return words


def _numbers(report: ReleaseReport) -> Section:
    whose, pairs = "", []
    if report.joint is not None:
        pairs = _lines(report.population, ", for the population they came from", _range(report))
        whose = ", if their own frequencies were the population"
    pairs += _lines(report.plug_in, whose)
    if report.plug_in.kind != "exact":
        pairs.append((percent(report.exact_share), f"of the rows have an exact leakage{whose}"))
    return Section("Leakage", [Pairs(pairs), Notes(report.caveats[len(report.cautions) :])])


def _lines(account: ReleaseAccount, whose: str, kind: str = "") -> list[tuple[str, str]]:
    """The average and the riskiest row of an account, with the kind of each unless it is given."""
    average, highest = account.average, account.highest
    limit = f"; in the limit of many people {number(average.value)}"
    limit = "" if average.kind == "exact" else limit
    return [
        (_span(average), f"on average{whose} ({kind or average.kind}{limit})"),
        (_span(highest), f"about the riskiest row{whose} ({kind or highest.kind})"),
    ]


def _outputs(report: ReleaseReport) -> Section:
    notes = [
        f"{_several(report.n_counts, 'number')}: sums of {_several(report.n_cells, 'cell')} of "
        f"{report.rows:,} people",
        f"{_several(report.small, 'published count')} from 1 to {report.threshold - 1:,}",
    ]
    return Section("Outputs", [Notes([*report.outputs, *notes])])


def _determined(groups: Sequence[Determined], count: int) -> Section:
    lines = []
    for each in groups:
        people = f"{each.people:,} {'person' if each.people == 1 else 'people'}"
        why = "" if each.by_design else f" ({FOR_PEOPLE})"
        lines.append(f"{each.group}: {people} = {each.explanation}{why}")
    return Section(
        f"Groups that follow from the outputs ({len(groups):,} of {count:,})", [Notes(lines)]
    )


def _recovered(cells: Sequence[Recovered], count: int) -> Section:
    lines = []
    for each in cells:
        verb = "can be recovered" if each.kind == "exact" else "is narrowed"
        why = f" = {each.explanation}" if each.explanation else ""
        lines.append(
            f"{each.output}, {each.cell}: {verb}, between {each.low:,} and {each.high:,} "
            f"(shown: between {each.shown_low:,} and {each.shown_high:,}){why}"
        )
    if not all(each.explanation for each in cells):
        lines.append(f"Ranges hold {FOR_PEOPLE}: the counts of all others are known to be 0.")
    return Section(f"Hidden counts ({len(cells):,} of {count:,})", [Notes(lines)])


def _contributions(costs: Sequence[OutputCost]) -> Section:
    header = ("without it", "groups it adds", "output")
    body = [(_span(cost.without), f"{cost.determined:,}", cost.output) for cost in costs]
    return Section("Leakage on average if one output is left out", [Table(header, body, left=1)])


def _riskiest(report: ReleaseReport, top: int, show_rows: bool) -> Section:
    rows = report.riskiest(top)
    names = [each.name for each in report._columns] if show_rows else []
    sample = report.joint is not None
    frequencies = ("by own frequencies",) if sample else ()
    header = ("row", "leakage", *frequencies, "people alike", "kind", *map(printable, names))
    body = [
        (
            f"{row.row}",
            _span(row.leakage),
            *((_span(row.plug_in),) if sample else ()),
            f"{row.people:,}",
            row.kind,
            *(printable(row.values[name]) for name in names),
        )
        for row in rows
    ]
    title = f"Rows most at risk ({len(rows):,} of {report.rows:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=len(names) + 1)])


# --- picture ----------------------------------------------------------------------------------


def panels(report: ReleaseReport, limit: float | None) -> list[Panel]:
    """The outputs by the columns that they use, and the leakage of the rows, both ends."""
    design = "Which output uses which column; outputs that determine a small group are marked."
    rows = "Lower and upper end of the leakage of each row, riskiest first."
    return [
        Panel(design, lambda ax: _draw_design(report, ax)),
        Panel(rows, lambda ax: _draw_rows(report, limit, ax)),
    ]


def _draw_design(report: ReleaseReport, ax: Axes) -> None:
    names = list(dict.fromkeys(name for _, by, limits in report.design for name in (*by, *limits)))
    taking = {output for group in report.determined for output in group.outputs}
    marks: dict[str, tuple[str, str, list[tuple[int, int]]]]
    marks = {"columns": ("s", "tab:blue", []), "limits of the people": ("o", "tab:orange", [])}
    for place, (_, by, limits) in enumerate(report.design):
        for mark, used in zip(marks.values(), (by, limits), strict=True):
            mark[2].extend((names.index(name), place) for name in used)
    for label, (shape, colour, points) in marks.items():
        if points:
            ax.plot(*zip(*points, strict=True), shape, color=colour, label=label, alpha=0.8)
    for place, (name, _, _) in enumerate(report.design):
        if name in taking:
            ax.axhspan(place - 0.45, place + 0.45, color="tab:red", alpha=0.15, lw=0)
    ax.set_xticks(range(len(names)), [_label(name) for name in names], rotation=45, ha="right")
    ax.set_yticks(range(len(report.design)), [_label(name) for name, _, _ in report.design])
    ax.set(ylim=(len(report.design) - 0.5, -0.5), xlim=(-0.5, len(names) - 0.5))
    groups = report.n_determined
    red = " (outputs in red)" if groups else ""
    title = f"{_several(groups, 'small group')} follow{'s' * (groups == 1)}{red}"
    ax.set_title(title if groups else "No small group follows", fontsize="medium")
    ax.legend(loc="best", fontsize="small")


def _label(name: object) -> str:
    """A name as matplotlib shows it: no control characters, and a dollar begins no formula."""
    return printable(name).replace("$", r"\$")


def _draw_rows(report: ReleaseReport, limit: float | None, ax: Axes) -> None:
    from mialeak.plotting import LeakageDisplay

    name = "all outputs together"
    LeakageDisplay.from_rows(report.row_leakage, ax=ax, name=name, limit=limit)
    ax.set_title(f"Together they leak {_span(report.average)} on average", fontsize="medium")
