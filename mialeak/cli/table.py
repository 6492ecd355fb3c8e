"""``mialeak table``: the leakage of a published table of counts."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options, _output, _protections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mialeak._report.document import Section
    from mialeak.tables import TableReport

__all__ = ["EXAMPLES", "add_parser", "run"]

#: The tables that ship with mialeak, and the columns of each that an outsider may know.
EXAMPLES = {"adult": ["age", "education", "marital_status", "race", "sex"]}

#: Bytes of a file up to which the columns that are not asked for are read too.
_SMALL = 2**22

#: What the numbers compare where the register is at hand.
_SAMPLED = (
    "Out: the sample is drawn without replacement from all people of the register but the one "
    "asked about. In: that person and a sample of the others. Both samples have the same size.",
    "Leakage is the best attacker's advantage: the share of members recognised less the share of "
    "others taken for members. 0 is a coin, 1 is certainty.",
    "The attacker knows the register, the person and the release, not who else was drawn.",
)

_DESCRIPTION = """\
How much does publishing the counts of a table leak about who is in it?
Leakage is the best attacker's advantage: 0 is guessing, 1 is certainty.

FILE has one row for each person; the command counts the rows by the joint
values of the chosen columns.  With --counts n, FILE is already counted and has
one row for each cell.  The report has two numbers: an estimate for the
population that the rows came from, with an interval, and the plug-in value,
which is the leakage if the table's own frequencies were the population.

With --margins sex,age,sex*age only these tables of counts are published: the
rows by sex, by age, and by both.  The leakage is exact if one margin holds all
others; otherwise it is an approximation for many rows, with certified lower
and upper bounds.

With --population REGISTER the rows are a sample, drawn without replacement, of
the people of that file: the answer is exact and needs no estimate.  With
--strata REGION a sample was drawn from the people of each region.  With
--population 5000000 only the number of people is known: an estimate.

With --protect round:5 --protect suppress:10 usual protections are compared.
"""

_EPILOG = """\
With --max-leakage X the command is a gate: it exits with 2 if the upper end of
the interval of the average leakage (that of a random row) is above X, and with
0 otherwise; with --population the exact leakage of a random person of the
register is compared.
--max-row-leakage X does the same for the riskiest row.  The last lines of the
report state which number was compared with X.  An answer within X that has
cautions, since the table may not be what was meant, exits with 3 unless
--accept-cautions is passed.  Every error, usage included, exits with 1.

Examples:
  mialeak table --example adult
  mialeak table counts.csv --counts n --max-leakage 0.05
  mialeak table sample.csv --population register.csv --max-leakage 0.3
  mialeak table microdata.csv --margins 'sex,age,sex*age' --html report.html
"""


def _add_counts(add: Any) -> None:
    """Describe what a table of counts takes."""
    add(
        "--counts",
        metavar="N",
        help="column of the counts, for a table that is already counted",
    )
    add(
        "--total",
        metavar="X,Y",
        help="with --counts: values that stand for the sum of others, whose rows are left out; "
        "A=X for those of column A alone",
    )
    add(
        "--suppressed",
        type=_options.counts_of_marks,
        metavar="K",
        help="with --counts: the count to take for one that is not published, such as <5, : or an "
        "empty field; or one for each mark, as '<5=1,-=0', or number, as 9999=1",
    )


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "table",
        help="leakage of a published table of counts",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = _options.group(parser, "file")
    _options.add_table_options(parser.add_argument, add, EXAMPLES)
    add(
        "--na",
        choices=("error", "category", "drop"),
        default="error",
        help="missing values, in a CSV the empty fields: refuse them (default), count them as a "
        "further value, or drop their rows",
    )
    _add_counts(_options.group(parser, "a file that is already counted"))
    _add_release(_options.group(parser, "what is published"))
    _add_population(_options.group(parser, "people that the rows come from"))
    _protections.add_protections(_options.group(parser, "protections"))
    _protections.add_recoding(_options.group(parser, "recoding"))
    add = _options.group(parser, "report")
    _options.add_target(add, "rows")
    add("--secret", metavar="A", help="report how well column A of a person in FILE is guessed")
    _options.add_confidence(add)
    _options.add_top(add, 10)
    _options.add_show_rows(add)
    _options.add_gate(_options.group(parser, "gate"), rows=True)
    add = _options.group(parser, "output")
    _options.add_outputs(add)
    add(
        "--certificate",
        metavar="FILE",
        help="write a certificate, JSON, that mialeak verify computes again without the table",
    )
    parser.set_defaults(run=run)


def _add_release(add: Any) -> None:
    """Describe which counts are published."""
    add("--columns", metavar="A,B,C", help="columns to count by (default: all of FILE)")
    _options.add_exclude(add)
    add(
        "--margins",
        metavar="A,B,A*B",
        help="publish these tables of counts, not that of all columns together",
    )
    add(
        "--independent",
        action="store_true",
        help="the columns of different --margins are independent by design: the answer is exact",
    )
    add(
        "--n",
        type=_options.whole(1),
        metavar="N",
        help="rows of the release (default: rows of the table)",
    )


def _add_population(add: Any) -> None:
    """The options about whom the rows were drawn from."""
    add(
        "--population",
        metavar="FILE",
        help="the register that the rows were sampled from, a table of the same columns: the "
        "answer is exact; --counts holds for it too, if it has that column; or the number of its "
        "people, if no more is known",
    )
    add(
        "--strata",
        metavar="A",
        help="with --population FILE: the column whose values are the strata of the sample",
    )
    add(
        "--prior",
        type=_options.number(_options.SHARE),
        metavar="X",
        help="with --population FILE: the probability that a person is in FILE before it is seen, "
        "for the share of true claims (default: the share of the register that is in it)",
    )
    add(
        "--panel",
        metavar="FILE",
        help="a sample of the population, a table of the same columns: the leakage to an attacker "
        "who knows the population by it alone",
    )
    add(
        "--person",
        metavar="ID",
        help="column that names the person of a row, if persons have several rows: the leakage "
        "of a person",
    )


def run(options: argparse.Namespace) -> int:
    """Print the report; 2 if it is over the limit."""
    recode = _protections.recoding(options)
    frame, columns, margins, file, origin = _read(options)
    population, inputs = _options.read_population(options, options.population)
    panel, beside = _options.read_population(options, options.panel, is_size=False)
    inputs = [file, *inputs, *beside]
    from mialeak.tables import table_leakage

    asked = {
        "exclude": _named(options.exclude, "--exclude"),
        "counts": options.counts,
        "total": _named(options.total, "--total") or (),
        "suppressed": options.suppressed,
        "population": population,
        "n": options.n,
        "na": options.na,
        "missing": _options.markers(options) if options.file is None else (),
        "confidence": options.confidence,
        "progress": _output.shows_progress(),
    }
    report = table_leakage(
        frame,
        columns,
        strata=options.strata,
        prior=options.prior,
        panel=panel,
        person=options.person,
        margins=margins,
        independent=options.independent,
        protect=_protections.protections(options),
        coarsen=options.coarsen,
        secret=options.secret,
        recode=recode,
        **asked,
    )
    _certify(report, inputs, options)
    judged = _judged(report, options.confidence)
    over, verdict, limit = _verdict(report, options, judged)
    document = report.document(leakage=options.target, top=options.top, show_rows=options.show_rows)
    content = report.to_dict(top=options.top, show_rows=options.show_rows)
    has_people = (report.population, report.people) != (None, None)
    content["samples"] = None if has_people or report.persons else _samples(report, options.target)
    content["limit"] = limit
    plan = _plan(frame, columns, options, asked)
    more = [*_of_sample(report, options), *([plan.section()] if plan else [])]
    document = replace(document, sections=[*document.sections, *more])
    content["plan"] = plan.to_dict() if plan else None
    return _output.give(
        options,
        document,
        schema="mialeak.table/2",
        content=content,
        panels=[*report.panels(leakage=options.target), *(plan.panels() if plan else ())],
        title=f"What publishing counts of {options.example or file.name} leaks",
        inputs=inputs,
        verdict=verdict,
        over=over,
        source=origin,
        compared=_SAMPLED if has_people else (),
        judged=judged,
    )


def _certify(report: TableReport, inputs: list[Path], options: argparse.Namespace) -> None:
    """Write the certificate, if it is asked for; it holds no cautions, and the report none."""
    if options.certificate is None:
        return
    from mialeak._arrays import invalid
    from mialeak.certificates import certify

    options.typed |= {"report": "--certificate", "certificate": "--certificate"}
    if report.cautions and not options.accept_cautions:
        rule = f"be of a report without cautions, such as: {report.cautions[0].rstrip('.')}"
        rule = f"{_output.in_shell(rule)}. Or pass --accept-cautions if none applies"
        invalid("certificate", rule)
    certify(report, inputs=inputs).save(options.certificate)


def _named(text: str | None, option: str) -> list[str] | None:
    """The names or values of an option; None without it."""
    return None if text is None else _options.names(text, option)


def _plan(frame: Any, columns: Any, options: argparse.Namespace, asked: dict[str, Any]) -> Any:
    """The cheapest recoding, if it is asked for."""
    if columns is not None and options.secret is not None and options.secret not in columns:
        columns = [*columns, options.secret]
    return _protections.plan(frame, columns, options, **asked)


def _judged(report: TableReport, confidence: float) -> dict[str, tuple[str, float]]:
    """What limits are compared with: its name and its value."""
    range_, row = f"upper end of its {100 * confidence:g}% range", "leakage of the riskiest"
    if report.population is not None:
        return {
            "leakage": ("leakage", report.population.leakage),
            "row_leakage": (f"{row} row", report.population.highest),
        }
    if report.persons is not None:
        average, highest = report.persons.average.upper, report.persons.highest.upper
        return {
            "leakage": (f"leakage on average, {range_}", float(average)),
            "row_leakage": (f"{row} person, {range_}", float(highest)),
        }
    if report.margins is None:
        highest = max(size.high for size in report.cell_sizes)
        return {
            "leakage": ("upper end of the interval", report.estimate.high),
            "row_leakage": (f"{row} row, {range_}", float(highest)),
        }
    return {
        "leakage": (f"leakage on average, {range_}", report.margins.average.high),
        "row_leakage": (f"{row} row, {range_}", float(report.margins.highest.high)),
    }


def _verdict(
    report: TableReport, options: argparse.Namespace, judged: dict[str, tuple[str, float]]
) -> tuple[bool, str, dict[str, Any] | None]:
    """Whether the report is over a limit, the sentences that state it, and the same for JSON."""
    from mialeak._report.text import at_most

    margins = report.margins
    limits = {f"max_{name}": getattr(options, f"max_{name}") for name in judged}
    if all(limit is None for limit in limits.values()):
        return False, "", None
    over, sentences, content = False, [], {**limits}
    for name, (subject, value) in judged.items():
        limit = limits[f"max_{name}"]
        above, sentence = _output.judge(f"The {subject}", value, limit)
        over = over or above
        if sentence:
            sentences.append(sentence)
        content[name] = None if limit is None else value
    if options.protect or options.coarsen:
        sentences.append("The limit is for the counts without protection (--protect, --coarsen).")
    limit = limits["max_leakage"]
    if margins is None or margins.is_exact or limit is None:
        pass
    elif margins.average.value <= limit < margins.average.high:
        shown = at_most(margins.average.value)
        sentences.append(f"The estimate for the population, {shown}, is within it: no proof.")
    return over, "\n".join(sentences), {**content, "over": over}


def _samples(report: TableReport, target: float) -> dict[str, Any]:
    margins = report.margins
    return {
        **report.samples_for(target).to_dict(),
        "margins": None if margins is None else margins.samples_for(target),
    }


def _of_sample(report: TableReport, options: argparse.Namespace) -> list[Section]:
    """The people that a sample of the register must have to leak at most a target that is given."""
    from mialeak._arrays import unsupported
    from mialeak._report.document import Pairs, Section
    from mialeak.discrete import min_samples

    register = report.population
    if not options.is_aimed or (register, report.people, report.persons) == (None, None, None):
        return []
    if register is None or register.strata:
        case = "--strata" if register else "--person" if report.persons else "--population N"
        why = "the rows that are needed are computed for tables of people and for registers"
        unsupported("leakage", f"with {case}", why, "Leave it out, and try several --n")
    size = min_samples(register.register, options.target)
    which = "people: the smallest sample of the register that leaks no more (exact)"
    title = f"Rows a sample needs to leak at most {options.target:g}"
    return [Section(title, [Pairs([(f"{size:,}", which)])])]


def _read(options: argparse.Namespace) -> tuple[Any, Any, Any, Path, str]:
    """The table, the columns to count by, the margins, the file, whom to thank for an example."""
    _options.one_table(options, "table")
    options.typed |= {"margins": "--margins", "leakage": "--target", "counts": "--counts"}
    options.typed |= {"population": "--population", "strata": "--strata", "prior": "--prior"}
    options.typed |= {"person": "--person", "panel": "--panel"}
    options.typed |= {"total": "--total", "suppressed": "--suppressed"}
    options.typed |= {"secret": "--secret", "recode": _protections.typed(options), "keep": "--keep"}
    options.typed |= {"weights": "--weight", "confidence": "--confidence"}
    options.typed |= {"independent": "--independent", "coarsen": "--coarsen"}
    options.typed |= {"protect": "--protect"}
    from mialeak._files.genotypes import GenotypeTable

    columns = margins = None
    if options.columns is not None:
        columns = _options.names(options.columns, "--columns")
    if options.margins is not None:
        words = _options.names(options.margins, "--margins")
        if not words:
            raise ValueError("--margins must name at least one column")
        margins = [tuple(part.strip() for part in word.split("*")) for word in words]
        if columns is None:
            options.typed["columns"] = "--margins"
    if options.file is not None:
        wanted = columns
        if columns is None and margins is not None:
            wanted = list(dict.fromkeys(name for margin in margins for name in margin))
        if wanted is not None:
            more = [
                name
                for name in (options.counts, options.person, options.secret)
                if name is not None
            ]
            wanted = list(dict.fromkeys([*wanted, *more]))
        frame = _options.read_file(options, _with_heeded(wanted, options), whole=False)
        if wanted is None and isinstance(frame, GenotypeTable):
            raise ValueError(
                f"{options.file} holds genotypes, of which mialeak mean reports what their allele "
                "frequencies leak. To count combinations of genotypes, name their sites with "
                "--columns"
            )
        return frame, columns, margins, Path(options.file), ""
    from mialeak import datasets

    example = getattr(datasets, f"load_{options.example}")()
    if columns is None and margins is None:
        columns = EXAMPLES[options.example]
    origin = f"Table from {example.source} ({example.licence})"
    return example.columns, columns, margins, example.file, origin


def _with_heeded(wanted: list[str] | None, options: argparse.Namespace) -> Any:
    """As a function of the names of a file, the columns `wanted` and those that bear a caution.

    All columns of a table of counts may hold totals.  So a file is read whole that is one, or may
    be one by the name of a column, or is small; of others the columns whose name bears a caution.
    """
    if wanted is None:
        return None
    from mialeak._checks.names import (
        is_count_name,
        is_date_name,
        is_household_name,
        is_period_name,
        is_person_name,
    )

    file = Path(options.file)
    small = file.is_file() and file.stat().st_size <= _SMALL

    def columns(names: Sequence[str]) -> list[str]:
        whole = small or options.counts is not None or any(map(is_count_name, names))
        heeded = [
            name
            for name in names
            if is_period_name(name)
            or is_date_name(name)
            or is_person_name(name)
            or is_household_name(name)
            or (
                whole and (name or options.counts is None) and not name.startswith("__index_level_")
            )
        ]
        # The register, or the panel, may be counted alone.
        beside = options.population is not None or options.panel is not None
        absent = {options.counts} - set(names) if beside else set()
        return [name for name in dict.fromkeys([*wanted, *heeded]) if name not in absent]

    return columns
