"""``mialeak audit`` of streams of canaries, and what all audits have in common."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mialeak.cli import _output

if TYPE_CHECKING:
    from mialeak._arrays import FloatArray
    from mialeak._report.document import Document
    from mialeak.auditing import AuditStream

__all__ = ["cautioned", "give_audit", "refuse_delta", "run_stream"]

Answer = TypeVar("Answer")


def run_stream(
    options: argparse.Namespace, scores: FloatArray, member: FloatArray, *, name: str
) -> int:
    """Print what canaries prove that arrive one by one; 2 if it is over the limit.

    `name` is that of the flags.
    """
    from mialeak._report.text import at_least, at_most
    from mialeak.auditing import one_run_audit

    refuse_delta(options, "--stream")
    if member.shape != scores.shape:
        raise ValueError(
            f"{name} must have one flag for each score; it has {member.size} for {scores.size}"
        )
    # What is no run of canaries is refused here too: blocks, repeats, scores of the wrong sign.
    run, warned = cautioned(
        one_run_audit,
        scores,
        member,
        confidence=options.confidence,
        higher_is_member=not options.lower_is_member,
        allow_reversed=options.allow_reversed,
    )
    limit, claim = options.max_epsilon, options.claimed_epsilon
    watched = claim if limit is None else limit
    sign = -1.0 if options.lower_is_member else 1.0
    stream, exceeded = _follow(sign * scores, member, options.confidence, watched)
    epsilon = stream.epsilon_lower
    over, verdict = _output.judge("What is proved", epsilon, limit)
    if exceeded is not None and limit is not None:
        verdict += f" It was after {exceeded:,} canaries."
    undecided = False
    if watched is not None and not (limit is not None and over and claim is None):
        reached = stream.provable_epsilon
        reach = f"of so many canaries even a perfect attack proves at most {at_least(reached)}"
        if limit is not None and not over and reached <= limit:
            undecided = True
            verdict += f" But this gate cannot fail: {reach}."
        if claim is not None:
            open_word = "not testable" if reached <= claim else "not refuted"
            word = "refuted" if epsilon > claim else open_word
            since = f", above it after {exceeded:,} canaries" if limit is None and exceeded else ""
            sentence = f"The claimed epsilon {claim:g} (a row added or removed) is {word}: "
            sentence += reach if word == "not testable" else f"{at_most(epsilon)} is proved{since}"
            verdict = f"{verdict} {sentence}.".lstrip()
            over, undecided = over or word == "refuted", undecided or word == "not testable"
    document = stream.document(run=run)
    document = replace(document, cautions=[*options.noticed, *warned, *document.cautions])
    content = stream.to_dict() | {"exceeded_after": exceeded, "cautions": document.cautions}
    return give_audit(
        options,
        document,
        schema="mialeak.stream/1",
        content=content,
        panels=stream.panels(),
        verdict=verdict,
        limit=limit,
        over=over,
        undecided=undecided,
    )


def _follow(
    scores: FloatArray, member: FloatArray, confidence: float, limit: float | None
) -> tuple[AuditStream, int | None]:
    """The stream after all canaries, and how many of them exceeded the limit."""
    from mialeak.auditing import AuditStream

    stream, exceeded = AuditStream(confidence=confidence), None
    for score, flag in zip(scores.tolist(), member.tolist(), strict=True):
        stream.update(score, flag)
        if exceeded is None and limit is not None and stream.epsilon_lower > limit:
            exceeded = stream.n_canaries
    return stream, exceeded


def cautioned(
    function: Callable[..., Answer], *values: Any, **more: Any
) -> tuple[Answer, list[str]]:
    """What the function returns, and its warnings as sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = function(*values, **more)
    messages = [str(each.message).rstrip(".") for each in caught]
    return result, [f"{each[:1].upper()}{each[1:]}." for each in messages]


def give_audit(
    options: argparse.Namespace,
    document: Document,
    *,
    content: dict[str, Any],
    limit: float | None,
    over: bool,
    **more: Any,
) -> int:
    """Write and print an audit: what all of them have in common."""
    from mialeak._report.document import Notes, Section

    limits = None if limit is None else {"max_epsilon": limit, "over": over}
    sections = [
        replace(
            section,
            parts=[
                Notes([_output.in_shell(line) for line in part.lines])
                if isinstance(part, Notes)
                else part
                for part in section.parts
            ],
        )
        for section in document.sections
    ]
    if options.matched:
        sections.append(Section("The files", [Notes([options.matched])]))
    return _output.give(
        options,
        replace(document, sections=sections),
        content=content | {"limit": limits},
        title=f"What the scores in {Path(options.inside).name} prove",
        inputs=[path for path in (options.inside, options.outside) if path is not None],
        over=over,
        **more,
    )


def refuse_delta(options: argparse.Namespace, name: str) -> None:
    """Refuse what bounds at delta = 0 have no answer for."""
    if options.delta > 0.0:
        raise ValueError(f"--delta must be 0 with {name}: no bound with a delta is proved for it")
    if options.plot:
        raise ValueError(f"--plot draws the scores of separate runs; leave out {name}")
