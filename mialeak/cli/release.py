"""``mialeak release``: what several outputs of the same people leak together."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options, _output

if TYPE_CHECKING:
    from mialeak.releases import ReleaseReport

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
What do several outputs of the same people leak together?
Two harmless tables of the same people may subtract to one person.

PLAN is a TOML file that names the table of the people and lists the outputs:

  schema = "mialeak.release-plan/1"
  people = "people.csv"
  threshold = 10

  [[outputs]]
  table = ["city", "sex"]

  [[outputs]]
  table = ["city"]
  where = { age = { max = 80 } }
  protect = "suppress:10"

  [[outputs]]
  mean = ["income"]

  [[outputs]]
  acro = "outputs/results.json"

  [limits]
  determined = 0
  small = 0

The report names the groups of fewer than `threshold` people whose count
follows from the outputs, with the combination of outputs that gives it, and
bounds the leakage of every person: exact where both ends agree.
"""

_EPILOG = """\
With limits, in the plan or as options, the command is a gate: it exits with 2
if more small groups than `determined` follow from the outputs (hidden counts
that can be recovered included), if more published counts than `small` are
below the threshold, or if the leakage on average, or about the riskiest row,
is above `max_leakage` or `max_row_leakage`; with 0 otherwise.
Leakage is compared by its upper end: that of the range for the population
that the people came from, or with a register the certified bound.  An answer
within the limits that has cautions, since the people may not be what was
meant, exits with 3 unless --accept-cautions is passed; so does an answer
within `determined` if it is not known of every small hidden count whether it
follows.  Every error, usage included, exits with 1.

Of the results of ACRO the gate judges the tables of counts, with what ACRO hid
and the totals that it shows.  Means, regressions and plots are not read: the
first line names them, and the exit code is 3 at best.  To judge other outputs
alone, list these in the plan: outputs = ["output_0", "output_1"].

Examples:
  mialeak release plan.toml
  mialeak release plan.toml --max-determined 0 --html report.html
  mialeak release plan.toml --contributions
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "release",
        help="leakage of several outputs of the same people",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("file", metavar="PLAN", help="the plan, a .toml file; it names files of its own folder")
    add(
        "--contributions",
        action="store_true",
        help="also report what each output adds: the leakage with and without it",
    )
    add(
        "--attacks",
        type=_options.whole(0),
        default=0,
        metavar="K",
        help="compute an attack on all published counts for the K cells of people at most risk; "
        "it raises the lower ends (default: 0)",
    )
    _options.add_confidence(add)
    _options.add_top(add, 10)
    _options.add_show_rows(add)
    add = _options.group(parser, "gate")
    add(
        "--max-determined",
        type=_options.whole(0),
        metavar="K",
        help="exit with 2 if more than K small groups follow from the outputs",
    )
    add(
        "--max-small",
        type=_options.whole(0),
        metavar="K",
        help="exit with 2 if more than K published counts are from 1 to the threshold less 1",
    )
    _options.add_gate(add, rows=True)
    _options.add_outputs(_options.group(parser, "output"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report; 2 if it is over a limit."""
    from mialeak.releases import Release

    options.typed = {"confidence": "--confidence"}
    release = Release.from_plan(options.file)
    plan = release.plan
    assert plan is not None
    report = release.leakage(
        threshold=plan.threshold,
        confidence=options.confidence,
        attacks=options.attacks,
        progress=_output.shows_progress(),
    )
    costs = release.contributions(threshold=plan.threshold) if options.contributions else None
    limits = {
        "determined": options.max_determined,
        "small": options.max_small,
        "max_leakage": options.max_leakage,
        "max_row_leakage": options.max_row_leakage,
    }
    limits = {
        name: plan.limits.get(name) if given is None else given for name, given in limits.items()
    }
    judged = {
        "leakage": ("leakage on average, upper end", report.average.high),
        "row_leakage": ("leakage of the riskiest row, upper end", report.highest.high),
    }
    over, verdict, limit = _verdict(report, limits, judged)
    undecided = _is_undecided(report, limits["determined"])
    content = report.to_dict(top=options.top, show_rows=options.show_rows)
    content["contributions"] = None if costs is None else [cost.to_dict() for cost in costs]
    content["limit"] = limit
    return _output.give(
        options,
        report.document(top=options.top, show_rows=options.show_rows, contributions=costs or ()),
        schema="mialeak.release/1",
        content=content,
        title=f"What the outputs of {plan.path.name} leak together",
        panels=report.panels(limits["max_row_leakage"]),
        inputs=[plan.path, *plan.files],
        verdict=verdict,
        over=over,
        undecided=undecided and not options.accept_cautions,
        judged=judged,
    )


def _verdict(
    report: ReleaseReport, limits: dict[str, Any], judged: dict[str, tuple[str, float]]
) -> tuple[bool, str, dict[str, Any] | None]:
    """Whether the report is over a limit, the sentences that state it, and the same for JSON."""
    if all(limit is None for limit in limits.values()):
        return False, "", None
    over = False
    sentences: list[str] = []
    if limits["determined"] is not None:
        count, subject = report.n_determined, "small groups that follow from the outputs"
        over |= _counted(sentences, subject, count, limits["determined"])
        if _is_undecided(report, limits["determined"]):
            counts = f"{report.n_undecided:,} hidden count{'s' * (report.n_undecided > 1)}"
            sentences.append(
                f"Whether {counts} from 1 to {report.threshold - 1:,} can be recovered is not "
                "known: the tables have too many cells. Judge fewer or smaller tables at a time, "
                "or pass --accept-cautions to leave these counts out."
            )
        if report.small and limits["small"] is None:
            shown = f"Published counts from 1 to {report.threshold - 1:,}, {report.small:,},"
            sentences.append(f"{shown} are not judged: pass --max-small, or `small` in the plan.")
    if limits["small"] is not None:
        subject = f"published counts from 1 to {report.threshold - 1:,}"
        over |= _counted(sentences, subject, report.small, limits["small"])
    content = {**limits}
    for name, (subject, value) in judged.items():
        limit = limits[f"max_{name}"]
        above, sentence = _output.judge(f"The {subject}", value, limit)
        over = over or above
        if sentence:
            sentences.append(sentence)
        content[name] = None if limit is None else value
    return over, "\n".join(sentences), {**content, "over": over}


def _is_undecided(report: ReleaseReport, limit: int | None) -> bool:
    """Whether hidden counts that are not decided may be above the limit, with what follows."""
    count = report.n_determined
    return limit is not None and count <= limit < count + report.n_undecided


def _counted(sentences: list[str], subject: str, count: int, limit: int) -> bool:
    """Whether a number is above its limit, which a sentence states."""
    relation = "above" if count > limit else "within"
    sentences.append(f"The number of {subject}, {count:,}, is {relation} the limit {limit:,}.")
    return count > limit
