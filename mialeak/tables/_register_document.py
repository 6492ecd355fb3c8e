"""What a table's report says when the register that it was sampled from is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mialeak._report.document import Document, Notes, Pairs, Section, Table
from mialeak._report.text import accuracy, number, percent, printable
from mialeak.tables._by_column import section_of_columns
from mialeak.tables._document import compared, counted
from mialeak.tables._secrets import section_of_secret

if TYPE_CHECKING:
    from mialeak.tables._register_report import (
        PopulationReport,
        RowInPopulation,
        StratumInPopulation,
    )
    from mialeak.tables._report import TableReport

__all__ = ["document_of_population"]

#: Strata listed.
_STRATA = 30


def document_of_population(
    report: TableReport, population: PopulationReport, *, top: int, show_rows: bool
) -> Document:
    """The answer, the numbers, the table and its register, rows at risk."""
    sections = [_numbers(report, population), _measures(population), counted(report)]
    if population.strata:
        sections.insert(1, _strata(population.strata))
    sections += [*section_of_secret(report), *section_of_columns(report)]
    if report.protections:
        sections.append(compared(report.protections))
    if top:
        sections.append(_riskiest(report, population.riskiest(top), show_rows))
    return Document(_answer(report, population), sections, report.cautions)


def _answer(report: TableReport, population: PopulationReport) -> str:
    release = f"these {report.n_cells:,} counts" if report.n_cells > 1 else "this count"
    if population.n != population.rows:
        release = f"such counts of {population.n:,} rows"
    value = population.leakage
    return (
        f"Publishing {release}, of a sample of the register's {population.people:,} people, leaks "
        f"{number(value)} (exact). An attacker who knows the register and sees such counts can "
        f"tell with {accuracy(value)} accuracy whether a random person of it is in the table "
        "(guessing: 50%)."
    )


def _numbers(report: TableReport, population: PopulationReport) -> Section:
    estimate = report.estimate
    span = f"{number(estimate.low)} to {number(estimate.high)}"
    told = [
        (number(population.leakage), "for a random person of the register (exact)"),
        (number(population.average), "for a random row of the table (exact)"),
        (number(population.highest), "for the riskiest row of the table (exact)"),
        (
            number(estimate.value),
            f"for comparison, from the table alone and an endless population (estimate, {span})",
        ),
    ]
    return Section("Leakage", [Pairs(told)])


def _measures(population: PopulationReport) -> Section:
    low, high = percent(population.presence_low), percent(population.presence_high)
    prior = ""
    if population.prior != population.sampled_share:
        prior = f", if {percent(population.prior)} of those asked about are in it"
    told = [
        (percent(population.sampled_share), "of the register's people are in the table"),
        (
            percent(population.claim_right),
            f"right: a claim that a person is in the table, where the counts speak for it{prior}",
        ),
        (f"{population.k_map:,}", "people of the register at least in a cell shown (k-map)"),
        (f"{low} to {high}", "of a cell's people are in the table (delta-presence)"),
        (
            percent(population.unique_share),
            "of the rows are alone in their cell of the register (population uniques)",
        ),
    ]
    lines = ["The leakage is over all samples of this size, these numbers are of this table."]
    return Section("The table in its register", [Pairs(told), Notes(lines)])


def _strata(strata: Sequence[StratumInPopulation]) -> Section:
    header = ("rows", "people", "share", "leakage", "stratum")
    body = [
        (
            f"{each.rows:,}",
            f"{each.people:,}",
            percent(each.rows / each.people),
            number(each.leakage),
            printable(each.value),
        )
        for each in strata[:_STRATA]
    ]
    title = "Strata (exact)"
    if len(strata) > _STRATA:
        title += f", the first {_STRATA} of {len(strata):,}"
    return Section(title, [Table(header, body, left=1)])


def _riskiest(report: TableReport, rows: Sequence[RowInPopulation], show_rows: bool) -> Section:
    names = report.columns if show_rows else ()
    header = (
        "row",
        "in its cell",
        "in the register",
        "a claim is right",
        "leakage",
        *(printable(name) for name in names),
    )
    body = [
        (
            f"{row.row}",
            f"{row.count:,}",
            f"{row.people:,}",
            percent(row.presence),
            number(row.leakage),
            *(printable(row.values[name]) for name in names),
        )
        for row in rows
    ]
    thing, every = ("Cells", report.n_cells) if report.by_cell else ("Rows", report.rows)
    title = f"{thing} most at risk ({len(rows):,} of {every:,}; row 0 is the first)"
    return Section(title, [Table(header, body, left=len(names))])
