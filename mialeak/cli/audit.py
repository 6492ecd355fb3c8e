"""``mialeak audit``: what the scores of an attack prove."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mialeak._arrays import FloatArray, as_floats
from mialeak.cli import _output, _pictures

if TYPE_CHECKING:
    from mialeak.audit import AuditResult, OneRunResult

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
What do the scores of an attack prove about a release?

IN and OUT hold one score for each run (or for each canary that disturbs no other) with and without
the target; larger scores speak for "in".  All scores must be independent: those of the members of
one model are not.  With --one-run, IN holds the scores of the canaries of one training run and OUT
their flags, 1 for those that were in the data; each must have been put in or left out by a coin.

With --max-epsilon the command is a gate: exit code 2 if more is proved.  A bound within the limit
is no proof of privacy: an audit proves leakage, never its absence.
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "audit",
        help="lower bounds on epsilon from scores of an attack",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    files = ".csv, .tsv, .parquet, .npy or .npz with one column of numbers"
    add("inside", metavar="IN", help=files)
    add("outside", metavar="OUT", help="the same")
    add("--one-run", action="store_true", help="scores and flags of canaries of one run; see above")
    add("--delta", type=float, default=0.0, metavar="D", help="at least 0, below 1 (default: 0)")
    add(
        "--confidence",
        type=float,
        default=0.95,
        metavar="C",
        help="with which the bounds hold (default: %(default)s)",
    )
    add("--lower-is-member", action="store_true", help='small scores speak for "in"')
    add("--max-epsilon", type=float, metavar="E", help="the most that may be proved; see above")
    add("--json", action="store_true", help="print JSON")
    _pictures.add_option(add)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is proved; 2 if it is over the limit."""
    limit = options.max_epsilon
    if limit is not None and not limit >= 0.0:
        raise ValueError(f"--max-epsilon must be at least 0; got {limit}")
    if options.plot and options.one_run:
        raise ValueError("--plot draws the scores of separate runs; leave out --one-run")
    from mialeak.audit import audit, one_run_audit

    scores = _scores(options.inside), _scores(options.outside)
    common = {
        "delta": options.delta,
        "confidence": options.confidence,
        "higher_is_member": not options.lower_is_member,
    }
    result: AuditResult | OneRunResult
    if options.one_run:
        result = one_run_audit(*scores, **common)
        text = _one_run_text(result)
    else:
        result = audit(*scores, **common)
        text = _text(result)
        if options.plot:
            _draw(result, options)
    over = limit is not None and result.epsilon_lower > limit
    if options.json:
        content = result.to_dict()
        content["limit"] = None if limit is None else {"max_epsilon": limit, "over": over}
        _output.print_json("mialeak.audit/1", content)
    else:
        if limit is not None:
            relation = "above" if over else "within"
            verdict = f"What is proved, {result.epsilon_lower:.4g}, is {relation} the limit"
            text += f"\n\n{verdict} {limit:g}."
        print(text)
    return 2 if over else 0


def _scores(path: str) -> FloatArray:
    """The one column of a file, as numbers."""
    from mialeak._columns import Factor
    from mialeak._io import read_table

    table = read_table(path)
    names = list(table) if isinstance(table, dict) else list(table.column_names)
    if len(names) != 1:
        raise ValueError(f"{path} must have one column, of scores; it has {len(names)}")
    column = table[names[0]]
    if isinstance(column, Factor):
        if column.n_missing:
            raise ValueError(f"{path} must have a score in every row; {column.n_missing} have none")
        try:
            levels = [float(level) for level in column.levels]
        except ValueError as error:
            raise ValueError(f"{path} must hold numbers ({error})") from error
        return as_floats(levels, path)[column.codes]
    if not isinstance(table, dict):
        if column.null_count:
            raise ValueError(
                f"{path} must have a score in every row; {column.null_count} have none"
            )
        column = column.to_numpy()
    return as_floats(column, path)


def _lead(epsilon: float, delta: float, confidence: float) -> str:
    sure = f"with confidence {100 * confidence:g}%"
    slip = f" at delta = {delta:g}" if delta else ""
    if epsilon == 0.0:
        return f"Nothing is proved{slip}, {sure}: epsilon is at least 0."
    return f"Epsilon is at least {epsilon:.4g}{slip}, {sure}."


def _text(result: AuditResult) -> str:
    from mialeak._document import Document, Notes, Section, Table, as_text

    named = [
        ("advantage", result.advantage),
        ("area under the curve", result.auc),
        ("area under its hull", result.hull_auc),
        *(
            (f"power at false-positive rate {fpr:g}", power)
            for fpr, power in result.tpr_at_fpr.items()
        ),
    ]
    rows = [
        (f"{each.value:.4g}", f"{each.low:.4g}", f"{each.high:.4g}", name) for name, each in named
    ]
    notes = Notes(
        [
            f"It is not mu-Gaussian for any mu below {result.mu_lower:.4g} (as sure).",
            f"{result.n_in:,} scores in and {result.n_out:,} out; they must be independent.",
        ]
    )
    title = f"What the attack achieved, and intervals of {100 * result.confidence:g}%"
    sections = [
        Section("The release", [notes]),
        Section(title, [Table(("measured", "from", "to", ""), rows, left=1)]),
    ]
    lead = _lead(result.epsilon_lower, result.delta, result.confidence)
    return as_text(Document(lead, sections))


def _one_run_text(result: OneRunResult) -> str:
    from mialeak._document import Document, Notes, Section, as_text

    plus, minus = result.guesses
    notes = Notes(
        [
            f"Of {result.n_canaries:,} canaries {plus:,} were guessed in and {minus:,} out.",
            f"{result.correct:,} of these guesses are right.",
            "Each canary must have been put in or left out by a coin of its own.",
        ]
    )
    lead = _lead(result.epsilon_lower, result.delta, result.confidence)
    return as_text(Document(lead, [Section("The run", [notes])]))


def _draw(result: AuditResult, options: argparse.Namespace) -> None:
    figure, axes = _pictures.panels(2)
    from mialeak.plotting import AuditDisplay

    AuditDisplay.from_result(result, ax=axes[0])
    AuditDisplay.from_result(result, ax=axes[1], kind="scores")
    _pictures.save(figure, options.plot)
