"""``mialeak audit``: what the scores of an attack prove."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mialeak.cli import _options, _output
from mialeak.cli._audits import cautioned, give_audit, run_stream
from mialeak.cli._scores import score_columns
from mialeak.cli._shadow import run_shadow

if TYPE_CHECKING:
    from mialeak.auditing import AuditResult, OneRunResult

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
What do the scores of an attack prove about a release?

IN holds scores of runs with the target, OUT scores of runs without it; larger
scores are evidence for "in".  All scores must be independent: the scores of
the members of one model are not.  With --one-run, IN holds the scores of the
canaries of one training run, and OUT holds their flags: 1 if the canary was in
the data, 0 if not.  A fair coin must have decided for each canary.  With
--member COLUMN both are columns of IN.

With --stream these canaries count one by one, in the order of the files, and
the bound holds after each of them.  With --shadow, IN holds a matrix of
scores, a shadow model a row and an example a column, and OUT whether the
example was in the data of the model: the answer is a bound for each example,
and those that are proved to leak all together.  Columns are matched by their
names, and rows by a column that names the models in both files.

With --max-epsilon E the command is a gate: it exits with 2 if the proved
epsilon is above E, with 3 if even a perfect attack could not prove so much
with so few scores, and with 0 otherwise.  A bound within the limit is no proof
of privacy: an audit proves leakage, never its absence.

With --claimed-epsilon the verdict on a claim is the exit code: 2 if the claim
is refuted, 0 if it is not refuted, and 3 if it is not testable, because even a
perfect attack could not refute it with so few scores.

Flags in place of scores, scores that occur several times, coins that were not
fair, and scores that point the other way (a forgotten sign) are errors.  A
column or file that is named loss or the like needs --lower-is-member.
"""

_EPILOG = """\
Examples:
  mialeak audit in.npy out.npy --delta 1e-5 --max-epsilon 4 --html report.html
  mialeak audit canaries.csv --one-run --member in_data --claimed-epsilon 2
  mialeak audit --shadow scores.npy members.npy
  mialeak audit --stream scores.csv member.csv --max-epsilon 2
"""

#: What a claimed epsilon is.
_CLAIM: tuple[str, Callable[[float], bool]] = (
    "be at least 0 and finite",
    lambda x: 0.0 <= x < math.inf,
)


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "audit",
        help="lower bounds on epsilon from scores of an attack",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = parser.add_argument
    files = "one column of numbers: .csv or .tsv with its name in line 1, .parquet, .npy or .npz"
    add("inside", metavar="IN", help=files)
    add("outside", metavar="OUT", nargs="?", help="the same")
    kinds = parser.add_mutually_exclusive_group().add_argument
    kinds(
        "--one-run",
        action="store_true",
        help="IN: scores, OUT: flags of the canaries of one run; see above",
    )
    kinds("--stream", action="store_true", help="the same, with a bound that holds at all moments")
    kinds("--shadow", action="store_true", help="IN, OUT: matrices, shadow models by examples")
    add(
        "--member",
        metavar="COLUMN",
        help="of --one-run and --stream: the column of flags, of IN in place of OUT, or of OUT",
    )
    add(
        "--score",
        metavar="COLUMN",
        help="the column of scores, where IN has others beside that of --member, or IN and OUT do",
    )
    _options.add_format(add, "IN and OUT")
    _options.add_delimiter(add)
    delta = ("be at least 0 and below 1", lambda x: 0.0 <= x < 1.0)
    add(
        "--delta",
        type=_options.number(delta),
        default=0.0,
        metavar="D",
        help="report epsilon at this delta, at least 0 and below 1 (default: 0)",
    )
    _options.add_confidence(add)
    add("--lower-is-member", action="store_true", help='smaller scores are evidence for "in"')
    add(
        "--max-epsilon",
        type=_options.number(_options.POSITIVE),
        metavar="E",
        help="exit with 2 if the proved epsilon is above E; see above",
    )
    add(
        "--claimed-epsilon",
        type=_options.number(_CLAIM),
        metavar="E",
        help="report whether a claimed epsilon of E at --delta is refuted; see above",
    )
    add(
        "--allow-reversed",
        action="store_true",
        help="audit scores whose direction looks reversed",
    )
    _options.add_accept_cautions(add)
    _options.add_outputs(add)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is proved; 2 if it is over the limit."""
    if options.plot and options.one_run:
        raise ValueError("--plot draws the scores of separate runs; leave out --one-run")
    _refuse_exchanged(options.max_epsilon, options.delta)
    from mialeak.auditing import audit, one_run_audit

    _check_member(options)
    flags = options.outside or f"{options.inside}, column {options.member}"
    options.typed = {
        "in_scores": options.inside,
        "out_scores": options.outside,
        "scores": options.inside,
        "member": flags,
        "members": flags,
        "confidence": "--confidence",
        "claimed_epsilon": "--claimed-epsilon",
        "delimiter": "--delimiter",
        "format": "--format",
    }
    #: Cautions of what the names of columns give away.
    options.noticed = []
    #: By which column the rows of two files are matched, in words.
    options.matched = ""
    if options.shadow:
        _refuse_names_of_matrices(options)
        return run_shadow(options)
    scores = score_columns(options)
    if options.stream:
        return run_stream(options, *scores, name=flags)
    common = {
        name: getattr(options, name)
        for name in ("delta", "confidence", "claimed_epsilon", "allow_reversed")
    }
    common["higher_is_member"] = not options.lower_is_member
    door: Callable[..., AuditResult | OneRunResult] = one_run_audit if options.one_run else audit
    result, warned = cautioned(door, *scores, **common)
    limit = options.max_epsilon
    over, verdict = _output.judge("What is proved", result.epsilon_lower, limit)
    undecided = limit is not None and result.provable_epsilon <= limit
    if undecided:
        verdict += f" But this gate cannot fail: {result.reach()}."
    if result.verdict is not None:
        over = over or result.verdict == "refuted"
        verdict = " ".join(filter(None, [verdict, result.claim()]))
    content = result.to_dict()
    claim = {name: content.pop(name) for name in ("claimed_epsilon", "verdict")}
    content["claim"] = None if result.verdict is None else claim
    document = result.document(claim=False)  # which is part of the verdict
    document = replace(document, cautions=[*options.noticed, *warned, *document.cautions])
    content["cautions"] = document.cautions
    return give_audit(
        options,
        document,
        schema="mialeak.one-run/2" if options.one_run else "mialeak.audit/2",
        content=content,
        verdict=verdict,
        limit=limit,
        over=over,
        undecided=undecided or result.verdict == "not testable",
        panels=result.panels(),
    )


def _refuse_names_of_matrices(options: argparse.Namespace) -> None:
    """Refuse files of shadow models whose names contradict their use."""
    from mialeak._checks.audits.scores import cautions_of_fits, refuse_flag_name, refuse_score_name

    names = Path(options.inside).stem, Path(options.outside).stem
    options.noticed += cautions_of_fits(names[0])
    if not options.allow_reversed:
        refuse_score_name(names[0], "scores", higher_is_member=not options.lower_is_member)
    refuse_flag_name(names[1], "members")


def _check_member(options: argparse.Namespace) -> None:
    """Flags come from a column of IN or from OUT, and go with canaries."""
    is_one = options.inside == options.outside
    if options.member is None:
        if options.outside is None and options.shadow:
            raise ValueError(
                "the following arguments are required: OUT, a file with the matrix of flags, "
                "models by examples, as that of scores in IN"
            )
        if options.outside is None:
            raise ValueError(
                "the following arguments are required: OUT, or --member COLUMN where IN holds "
                "scores and flags"
            )
        is_run = options.one_run or options.stream
        if options.score is not None and (options.shadow or (is_run and is_one)):
            raise ValueError("--score names a column beside that of --member; pass --member COLUMN")
        return
    if options.outside is not None and (is_one or options.shadow):
        raise ValueError(f"--member names a column of {options.inside}; leave out OUT")
    if not (options.one_run or options.stream):
        raise ValueError(
            "--member is for the canaries of one run: pass --one-run or --stream. Scores of "
            "separate runs take two files; members and others of one model prove nothing"
        )


def _refuse_exchanged(limit: float | None, delta: float) -> None:
    """Refuse a delta as the limit beside an epsilon as delta."""
    from mialeak._checks.budgets import look_exchanged

    if limit is not None and look_exchanged(limit, delta):
        raise ValueError(
            f"--max-epsilon must be an epsilon; with --delta {delta:g} the two look exchanged. For "
            f"a limit of ({delta:g}, {limit:g}) pass --max-epsilon {delta:g} --delta {limit:g}"
        )
