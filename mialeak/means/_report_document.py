"""The content and the picture of the report on the means of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import listed
from mialeak._checks.means.relatives import relatives
from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.report import Panel, entitle
from mialeak._report.text import at_least, number, percent, printable, significant
from mialeak.means._sites import is_of_genotypes
from mialeak.means._yardsticks import yardsticks_section
from mialeak.tradeoff import GaussianTradeOff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mialeak.means._release import Column, Release
    from mialeak.means._report import MeanReport

__all__ = ["column_of", "document", "panels", "power_of", "warned"]

#: Names of columns listed of each kind.
_NAMED = 12
#: Rows for each column from which on a full covariance is named no more as uncertain: scores of
#: normal rows are then too high by 12 % at most, and leakages by 6 %.
_WELL_KNOWN = 10
#: Points of a curve.
_GRID = 24
#: A false-positive rate at which an attack takes few others for members.
_FPR = 0.001


def document(
    report: MeanReport, release: Release, *, leakage: float, top: int, show_rows: bool
) -> Document:
    """The answer, the rows' leakage, the table, noise, rows at risk."""
    power, known = power_of(report, release), report.yardsticks()
    sections = [_rows(report)]
    if known is None:
        sections.append(_power(power))
    else:
        sections.append(_power(power | {"yardstick": None}))
        sections.append(yardsticks_section(report, release, power, known))
    sections += [
        _table(report, release),
        _noise(report),
        _needed(report.noise_needed(leakage)),
    ]
    if (sites := report.sites_within(leakage)) is not None:
        sections.append(_sites(sites, len(report.columns)))
    if top:
        sections.append(_riskiest(report, report.riskiest(top), show_rows))
    if top and report.exact:
        sections.append(report.exact_rows(top).section())
    return Document(_answer(report), sections, report.cautions, assumed=report.assumed)


def assumed(report: MeanReport) -> tuple[str, ...]:
    """What the answer takes for granted: that rows are people, how they were drawn, what is out."""
    apart = "and was drawn independently of the others, not with a household or class"
    drawn = (
        f"Everyone in a large population was equally likely to be among the rows, {apart}. If the "
        "population is a register: option population. If only a sample of it is known: option "
        "panel."
    )
    if report.has_register:
        drawn = (
            f"Everyone in the register was equally likely to be among the rows, {apart}. If they "
            "are of a part of it, pass the people of that part."
        )
    elif report.panel is not None:
        drawn = "The people of the panel are of the same population, and none is in the table."
    return (
        "Each row is a different person. If persons have several rows, pass one row for each, such "
        "as the mean of their rows.",
        "All rows have the same weight in each mean.",
        "Each number is a measurement or a count. If a column holds codes of categories: option "
        "categories. If a code marks a missing value: option missing.",
        drawn,
        "No other numbers about these people are published. Otherwise: mialeak release.",
    )


def _answer(report: MeanReport) -> str:
    count = len(report.columns)
    means = f"the means of these {count:,} columns" if count > 1 else "the mean of this column"
    rows = f"{report.rows:,} rows"
    if report.rows_used < report.rows:
        rows = f"{report.rows_used:,} rows drawn from {rows}"
    if report.people is not None:
        rows += f", a sample of {report.people:,} people"
    noise = ""
    if report.noise_std:
        noise = f", with noise of {report.noise_std:g} standard deviations on each"
    if noise or report.people is not None:
        noise += ","
    known = "the population"
    if report.panel is not None:
        known = f"the population by a sample of {report.panel:,} rows"
    answer = (
        f"Publishing {means} over {rows}{noise} leaks {number(report.average)} on average and "
        f"{number(report.highest)} about the riskiest row: an attacker who knows {known} "
        f"and sees the means can tell with {percent((1 + report.highest) / 2)} accuracy whether "
        "that row is among the rows (guessing: 50%)."
    )
    return " ".join([answer, *report.warnings])


def _rows(report: MeanReport) -> Section:
    leakage = report.leakage
    pairs = [(leakage.mean(), "on average"), (leakage.max(), "about the riskiest row")]
    for point in report.distribution():
        pairs.append((point["leakage"], f"at least about {point['share']:.0%} of the rows"))
    pairs.append((leakage.min(), "about the safest row"))
    numbers = Pairs([(number(float(value)), text) for value, text in pairs])
    return Section(
        "Leakage", [numbers, Notes(report.caveats[len(report.cautions) + len(report.warnings) :])]
    )


def power_of(report: MeanReport, release: Release) -> dict[str, float | None]:
    """The power at a small false-positive rate: an average hides whom an attack recognises surely.

    Of genotypes also the yardstick of Sankararaman et al. (2009), ``sqrt(sites/people)`` as the
    shift of a normal law: the limit for many independent sites that vary, which nobody's genotypes
    enter.
    """
    power = report.power(_FPR)
    known = None
    if is_of_genotypes(release) and not report.noise_std:
        shift = np.sqrt(report.free_columns / report.rows_used)
        known = float(GaussianTradeOff(shift).power(_FPR))
    return {
        "fpr": _FPR,
        "average": float(power.mean()),
        "riskiest": float(power.max()),
        "yardstick": known,
    }


def _power(power: dict[str, float | None]) -> Section:
    lines = {
        "average": "on average",
        "riskiest": "about the riskiest row",
        "yardstick": "for so many independent sites by Sankararaman et al. (2009), a yardstick",
    }
    numbers = [(significant(value), text) for key, text in lines.items()
               if (value := power[key]) is not None]  # fmt: skip
    title = f"Power of the best attack at a false-positive rate of {power['fpr']:g}"
    return Section(title, [Pairs(numbers)])


def _table(report: MeanReport, release: Release) -> Section:
    numbers = [printable(c.name) for c in release.columns if c.factor is None]
    categories = [_category(c) for c in release.categories]
    lines = [f"{report.rows:,} rows"]
    if report.rows_dropped:
        lines[0] += f"; {report.rows_dropped:,} more dropped: a value is missing"
    if numbers:
        lines.append(
            f"{_count(numbers, 'column')} of numbers: {listed(numbers, show=str, most=_NAMED)}"
        )
    if categories:
        names = listed(categories, show=str, most=_NAMED)
        lines.append(f"{_count(categories, 'category', 'categories')}: {names}")
    if report.names:
        lines.append(f"not published: {listed(report.names, show=printable, most=_NAMED)}")
    free = f"{report.free_columns:,} free columns"
    how = {"full": "full covariance of", "shrunk": "shrunk covariance of"}
    lines.append(f"{how.get(report.covariance, 'columns taken as uncorrelated:')} {free}")
    if categories:
        lines.append("a category has one free column less than it has values")
    return Section("Table", [Notes(lines)])


def _category(column: Column) -> str:
    return f"{printable(column.name)} ({column.present:,} values)"


def _count(names: Sequence[str], one: str, plural: str = "") -> str:
    return f"{len(names):,} {one if len(names) == 1 else plural or one + 's'}"


def _noise(report: MeanReport) -> Section:
    header = ("standard deviation", "in sampling errors", "riskiest row", "average")
    body = [
        (
            f"{x['noise_std']:.4g}",
            f"{x['noise_std'] / report.sampling_error:.3g}",
            number(x["riskiest"]),
            number(x["average"]),
        )
        for x in report.noise_effect
    ]
    title = "Leakage with noise on each mean, its standard deviation in those of the column"
    return Section(title, [Table(header, body)])


def _needed(needed: dict[str, float]) -> Section:
    goal = f"Noise needed to leak at most {needed['leakage']:g}"
    riskiest = (at_least(needed["riskiest"]), "about the riskiest row, and so about every row")
    pairs = Pairs([riskiest, (at_least(needed["average"]), "on average")])
    return Section(f"{goal}, in standard deviations of the column", [pairs])


def _sites(sites: dict[str, Any], total: int) -> Section:
    numbers = []
    for key, whom in (("riskiest", "about the riskiest row, and so about every row"),
                      ("average", "on average")):  # fmt: skip
        frequency = sites[f"{key}_frequency"]
        least = "" if frequency is None else f"; minor-allele frequency at least {frequency:.2g}"
        numbers.append((f"{sites[key]:,}", f"of {total:,} {whom}{least}"))
    title = "Sites that can be published, the most common first, to leak at most"
    return Section(f"{title} {sites['leakage']:g}", [Pairs(numbers)])


def _riskiest(report: MeanReport, rows: Sequence[dict[str, Any]], show_rows: bool) -> Section:
    header: tuple[str, ...] = ("row", "leakage")
    body: list[tuple[str, ...]] = [(f"{row['row']}", number(row["leakage"])) for row in rows]
    if show_rows:
        header += (*rows[0]["labels"], "furthest from the mean (standard deviations)")
        body = [(*cells, *_person(row)) for cells, row in zip(body, rows, strict=True)]
    title = f"Rows most at risk ({len(rows):,} of {report.rows:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=len(header) - 2)])


def _person(row: dict[str, Any]) -> list[str]:
    """The labels of a row, and the columns in which it is furthest from the mean."""
    furthest = (
        f"{printable(x['column'])} = {printable(x['value'])} ({x['deviations']:+.1f})"
        for x in row["furthest"]
    )
    return [*map(printable, row["labels"].values()), ", ".join(furthest)]


def column_of(column: Column, release: Release) -> dict[str, Any]:
    """What is published of a column, as plain values."""
    content: dict[str, Any] = {"name": str(column.name)}
    if column.factor is not None:
        return {**content, "kind": "category", "values": column.present}
    mean, std = float(release.means[column.place]), float(release.stds[column.place])
    return {**content, "kind": "number", "mean": mean, "std": std}


def warned(report: MeanReport, release: Release, known: Release) -> list[str]:
    """What the names, the identifiers and the covariance make of the answer; `known` are the rows
    that stand for the population.
    """
    warnings = [*release.notes, *relatives(release.kin)]
    if report.names:
        plural = len(report.names) > 1
        warnings.append(
            f"Not published: {listed(report.names)}, in {'each of ' * plural}which every row has "
            "its own value, as a name has."
        )
    unique = [c.name for c in release.categories if c.present == release.rows]
    if unique:
        warnings.append(
            f"Every row has its own value in {listed(unique)}: this alone makes the leakage 1. "
            "Exclude what is a name."
        )
    if release.identifiers:
        warnings.append(
            f"{listed(release.identifiers)}: whole numbers, different in every row. Exclude "
            "what is a number of the row or of the person."
        )
    if report.has_reference and known is release and known.free > 1:
        warnings.append(
            "Columns are taken as uncorrelated: frequencies have no correlations. Those of a panel "
            "of people can be taken into account."
        )
    elif report.covariance == "diagonal" and known.free > 1:
        why = "as asked"
        if not known.has_rows_for_full:
            why = f"{known.rows:,} rows are at most 5 for each of {known.free:,} columns"
        warnings.append(
            f"Columns are taken as uncorrelated ({why}); a shrunk covariance takes their "
            "correlations into account."
        )
    if report.covariance == "shrunk":
        warnings.append(
            f"Correlations are shrunk to 0 by an intensity of {report.shrinkage:.2g}, the least "
            f"with which scores average the number of columns, less those that others determine, "
            f"over the number of rows: {known.dimensions:,} over {known.rows:,}."
        )
    if report.covariance == "full" and known.rows < _WELL_KNOWN * known.free:
        why = f"{known.rows:,} rows for {known.free:,} columns"
        if not known.has_rows_for_full:
            why = f"{known.rows:,} rows are at most 5 for each of {known.free:,} columns"
        factor = 1.0 / (1.0 - known.free / known.rows)
        warnings.append(
            f"{why}: the covariance is uncertain, and scores are too high by a factor of about "
            f"{factor:.2g} or more, small leakages by its square root. Those of a shrunk "
            "covariance have the right average."
        )
    return warnings


# --- picture ----------------------------------------------------------------------------------


def panels(report: MeanReport, leakage: float) -> list[Panel]:
    """The rows without noise, with the noise at hand and with that needed; the effect of noise."""
    return [
        Panel("Leakage of each row, riskiest first.", lambda ax: _draw_rows(report, leakage, ax)),
        Panel("Leakage by noise on the means.", lambda ax: _draw_noise(report, leakage, ax)),
    ]


def _draw_rows(report: MeanReport, leakage: float, ax: Axes) -> None:
    from mialeak.plotting import LeakageDisplay

    needed = report.noise_needed(leakage)["riskiest"]
    stds = {"without noise": 0.0, f"noise {report.noise_std:.3g}": report.noise_std}
    stds[f"noise {at_least(needed)}, as needed"] = needed
    for name, std in stds.items():
        if std or name == "without noise":
            LeakageDisplay.from_rows(report.leakage_with(std), ax=ax, name=name, limit=leakage)
    above = percent(float(np.mean(report.leakage_with(report.noise_std) > leakage)))
    entitle(ax, f"{above} of the rows leak more than {leakage:g}")


def _draw_noise(report: MeanReport, leakage: float, ax: Axes) -> None:
    from mialeak.plotting import LeakageDisplay

    needed = report.noise_needed(leakage)["riskiest"]
    span = report.sampling_error * np.array([0.1, 10.0])
    grid = np.geomspace(span[0], max(span[1], 2.0 * needed), _GRID)
    rows = [report.leakage_with(std) for std in grid]
    for name, summary in (("riskiest row", np.max), ("average", np.mean)):
        values = [float(summary(each)) for each in rows]
        LeakageDisplay.from_noise(grid, values, ax=ax, name=name, limit=leakage)
    ax.set_xlabel("Noise on each mean (standard deviations of its column)")
    entitle(ax, f"With noise of {at_least(needed)} every row leaks at most {leakage:g}")
