"""Audits for people: the document of each kind of audit, its picture and its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mialeak._checks.audits.dependence import is_sorted
from mialeak._checks.audits.digits import cautions_of_digits
from mialeak._report.document import Document, Notes, Section, Table
from mialeak._report.report import Panel, display
from mialeak._report.text import at_least, at_most, number, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mialeak._arrays import FloatArray
    from mialeak._numerics.order import Order
    from mialeak.auditing._audit import AuditResult
    from mialeak.auditing._intervals import Interval
    from mialeak.auditing._one_run import OneRunResult
    from mialeak.auditing._shadow import ShadowAudit
    from mialeak.auditing._stream import AuditStream

__all__ = [
    "OF_CANARIES",
    "OF_MODELS",
    "OF_RUNS",
    "audit_columns",
    "audit_document",
    "audit_panels",
    "cautions_of",
    "claim_sentence",
    "one_run_document",
    "reach_sentence",
    "shadow_columns",
    "shadow_document",
    "shadow_panel",
    "stream_document",
]

#: What the numbers compare.
_NEVER_ABSENCE = "An audit proves leakage, never its absence: a stronger attack may prove more."
_COMPARED = (
    "In: runs on data with the target. Out: runs on data without it. The bounds hold for whatever "
    "neighbouring data these runs were made on, and for no other.",
    "The direction in which scores speak for members must have been decided before they were seen.",
    _NEVER_ABSENCE,
)
_COMPARED_ONE_RUN = (
    "Each canary was put in the data or left out by a fair coin of its own: the bound is on "
    "differential privacy of adding or removing a row.",
    _NEVER_ABSENCE,
)
_COMPARED_SHADOW = (
    "Each example was put in the data of each model or left out by a fair coin, or into half of "
    "the models at random: the bounds are on differential privacy of adding or removing it.",
    _NEVER_ABSENCE,
)
_COMPARED_STREAM = (
    "Each canary was put in the data or left out by a fair coin of its own: the bound is on "
    "differential privacy of adding or removing a row.",
    "The bound holds after every canary: the audit may stop at any of them.",
    _NEVER_ABSENCE,
)

#: What the bounds of an audit take for granted, by what was audited.
OF_RUNS = (
    "Each score is of a run of its own, all with the same settings: if several scores are of one "
    "run, keep one of them. Scores of members and non-members of one model are not of separate "
    "runs.",
    "The target was in the data of all runs of the first scores and of none of the others, and "
    "nothing else differs between them.",
)
OF_CANARIES = (
    "A fair coin decided for each canary whether it was put in. Training and test rows of a model "
    "are not chosen by coins.",
    "All scores are of one training, and depend on the coins only through it. This does not hold "
    "for scores that are fitted to other models, as those of LiRA.",
    "Each canary is one row. If a canary was put in k times, the bound is for a group of k rows: "
    "divide epsilon by k for one row (at delta = 0).",
)
OF_MODELS = (
    "A coin put each example in the data of each model or left it out; or each example was in half "
    "of the models, chosen at random.",
    "A score depends on the outputs of models only. Scores that are fitted to the other models, as "
    "those of LiRA, depend on the coins of their example as well.",
)
_REVERSED = (
    "The scores point the other way: the area under their curve lies below 1/2 beyond its interval."
)
#: What to do about a direction that seems to be wrong, by ``higher_is_member``.
_TURN = {
    True: "If small scores speak for members, as losses do, pass higher_is_member=False.",
    False: "If large scores speak for members, as confidences do, pass higher_is_member=True.",
}
_APART = (
    "All scores of members lie above all others, by more than either differ among themselves, as "
    "flags do that were made scores. Check that no score was computed from the coins."
)
_FILLED = (
    "All {count:,} scores of {world} are one value, which no score of {other} is, as where a score "
    "that only {other} have was filled in. Check that each score was computed in the same way, "
    "whatever the coin."
)
#: So many scores of a world that are the same are no coincidence, beside so many that differ.
_LEAST_FILLED = 10
_LEAVE_OUT = (
    "If so, leave these runs or canaries out, whatever their coins: they hide what the others "
    "prove."
)
_CODE = (
    "{count:,} scores of both worlds are one value, further from all others than these are from "
    f"one another, as a code of failed evaluations is. {_LEAVE_OUT}"
)
_END = (
    "{count:,} scores of both worlds are {value:g}, apart from all others, which differ from one "
    f"another, as where failed evaluations are filled with one value. {_LEAVE_OUT}"
)
#: At least this share of all scores is that value, and at least this share of the others differ.
_SHARE_FILLED, _DIFFERENT = 0.05, 0.95
#: Failures do not depend on the coins: the shares of members among the two differ by fewer standard
#: deviations, which chance exceeds in 1.2 % of the data.
_ALIKE = 2.5
_SORTED = (
    "The scores are sorted, so that their order does not show whether each is of a run of its own. "
    "Scores of the members and others of one model are not, and prove nothing."
)
#: So many different scores are sorted by chance once in a million times.
_SORTED_LEAST = 10
#: Examples that a report lists.
_LISTED = 10


def reach_sentence(result: AuditResult | OneRunResult) -> str:
    """What no attack can exceed."""
    what = "canaries" if hasattr(result, "n_canaries") else "scores"
    most = at_least(result.provable_epsilon)
    return f"with so many {what} even a perfect attack proves at most {most}"


def claim_sentence(result: AuditResult | OneRunResult) -> str:
    """The verdict on a claimed epsilon; empty without a claim."""
    if result.verdict is None:
        return ""
    # Worlds whose neighbours differ otherwise have other epsilons.
    of = "a row added or removed" if hasattr(result, "n_canaries") else "the worlds of these runs"
    sentence = f"The claimed epsilon {result.claimed_epsilon:g} ({of}) is {result.verdict}"
    reach = reach_sentence(result)
    if result.verdict == "refuted":
        proved = f"{sentence}: {at_most(result.epsilon_lower)} is proved."
        beside = " This is at delta = 0: a claim with a larger delta is judged at that delta."
        return proved if result.delta else proved + beside
    if result.verdict == "not testable":
        return f"{sentence}: {reach}. audit_power computes how many it takes to prove more."
    return f"{sentence}: {at_most(result.epsilon_lower)} is proved; {reach}."


def cautions_of(order: Order, *series: FloatArray, higher_is_member: bool = True) -> list[str]:
    """What may have been misunderstood: scores that are flags, and series that are sorted."""

    def spread(scores: FloatArray) -> float:
        return 0.0 if scores[0] == scores[-1] else float(scores[-1] - scores[0])

    cautions = []
    inside, outside = order.inside, order.outside
    if inside[0] > outside[-1]:
        apart = float(inside[0] - outside[-1])
        cautions += [_APART] * (apart > max(spread(inside), spread(outside)))
    if not cautions:
        cautions += _of_filled(order) or _of_codes(order) or _of_ends(order, higher_is_member)
    cautions += cautions_of_digits(inside, outside)
    for scores in series:
        if (
            is_sorted(scores[:_SORTED_LEAST])
            and is_sorted(scores)
            and len(np.unique(scores)) >= _SORTED_LEAST
        ):
            return [*cautions, _SORTED]
    return cautions


def _of_filled(order: Order) -> list[str]:
    """A caution where one world has a single score that the other, of many, has not."""
    worlds = ("members", order.inside), ("others", order.outside)
    for (world, scores), (other, beside) in (worlds, worlds[::-1]):
        value = scores[0]
        is_one = value == scores[-1] and scores.size >= _LEAST_FILLED
        if is_one and len(np.unique(beside)) >= _LEAST_FILLED and not (beside == value).any():
            return [_FILLED.format(count=scores.size, world=world, other=other)]
    return []


def _of_codes(order: Order) -> list[str]:
    """A caution where scores of both worlds are one value far from all others."""
    worlds = order.inside, order.outside
    for end, sign in ((0, 1.0), (-1, -1.0)):
        value = worlds[0][end]
        held = [int(np.count_nonzero(scores == value)) for scores in worlds]
        if value != worlds[1][end] or not np.isfinite(value) or sum(held) < _LEAST_FILLED:
            continue
        others = np.concatenate([scores[scores != value] for scores in worlds])
        if np.unique(others).size < _LEAST_FILLED or not np.isfinite(others).all():
            continue
        nearest, furthest = (others.min(), others.max())[:: int(sign)]
        if sign * (nearest - value) > sign * (furthest - nearest):
            return [_CODE.format(count=sum(held))]
    return []


def _of_ends(order: Order, higher_is_member: bool) -> list[str]:
    """A caution where many scores of both worlds are one value, apart from as many next to it.

    A loss that is cut off, or a probability that is rounded to 1, has others near it.
    """
    worlds = order.inside, order.outside
    for end in (0, -1):
        value = float((min if end == 0 else max)(scores[end] for scores in worlds))
        held = [int(np.count_nonzero(scores == value)) for scores in worlds]
        count, sizes = sum(held), [scores.size for scores in worlds]
        if count < max(_LEAST_FILLED, _SHARE_FILLED * sum(sizes)) or not np.isfinite(value):
            continue
        others = np.sort(np.concatenate([scores[scores != value] for scores in worlds]))
        if others.size < count or np.unique(others).size < _DIFFERENT * others.size:
            continue
        near = others[:count] if end == 0 else others[-count:]
        is_far = abs(value - near[end]) > near[-1] - near[0]
        if is_far and _difference(held, sizes) < _ALIKE:
            shown = value if higher_is_member else -value
            return [_END.format(count=count, value=shown)]
    return []


def _difference(part: list[int], whole: list[int]) -> float:
    """Standard deviations between the shares of members in a part and in the rest of the scores."""
    (a, b), (c, d) = part, (n - k for n, k in zip(whole, part, strict=True))
    size = float(a + b + c + d)
    spread = float(a + b) * (c + d) * (a + c) * (b + d)
    return float(abs(a * d - b * c) * np.sqrt(size / spread)) if spread > 0.0 else 0.0


def _lead(
    epsilon: float, confidence: float, if_: str, *, delta: float = 0.0, always: bool = False
) -> str:
    """The bound, and what it rests on that no data show."""
    sure = f"with confidence {100 * confidence:g}%{' at all moments' if always else ''}"
    at_delta = f" at delta = {delta:g}" if delta else ""
    if epsilon == 0.0:
        return f"Nothing is proved{at_delta}, {sure}: epsilon is at least 0."
    return f"Epsilon is at least {at_most(epsilon)}{at_delta}, {sure}, if {if_}."


def _measured(result: AuditResult) -> list[tuple[str, Interval]]:
    """What the attack achieved, by name."""
    return [
        ("advantage", result.advantage),
        ("area under the curve", result.auc),
        ("area under its hull", result.hull_auc),
        *(
            (f"power at false-positive rate {fpr:g}", power)
            for fpr, power in result.tpr_at_fpr.items()
        ),
    ]


def audit_document(result: AuditResult, *, claim: bool = True) -> Document:
    """What scores of separate runs prove."""
    rows = [
        (number(each.value), number(each.low), number(each.high), name)
        for name, each in _measured(result)
    ]
    notes = Notes(
        [
            f"In Gaussian differential privacy mu is at least {at_most(result.mu_lower)}, with the "
            "same confidence.",
            f"{result.n_in:,} scores in and {result.n_out:,} out.",
            f"{reach_sentence(result).capitalize()}.",
            *_direction(result),
        ]
    )
    title = f"What the attack achieved, and intervals of {100 * result.confidence:g}%"
    sections = [
        Section("The release", [notes]),
        Section(title, [Table(("measured", "from", "to", "quantity"), rows, left=1)]),
    ]
    runs = f"the scores are those of {result.n_in + result.n_out:,} separate runs"
    lead = _lead(result.epsilon_lower, result.confidence, runs, delta=result.delta)
    if claim and result.verdict is not None:
        lead = f"{lead} {result.claim()}"
    return Document(lead, sections, compared=_COMPARED, cautions=result._cautions, assumed=OF_RUNS)


def _direction(result: AuditResult) -> list[str]:
    """A note where the scores may point the other way."""
    area, turn = result.auc, _TURN[result._is_higher]
    if area.high < 0.5:
        return [_REVERSED]
    return [f"The area under the curve is below 1/2. {turn}"] if area.value < 0.5 else []


def _below_chance(result: OneRunResult) -> str:
    """A note on guesses of which less than half are right."""
    return f"These are fewer than half. {_TURN[result._is_higher]}"


def audit_panels(result: AuditResult) -> list[Panel]:
    """The measured curve, and the scores of both worlds."""

    def draw(ax: Axes, kind: Literal["curve", "scores"]) -> None:
        display("AuditDisplay").from_result(result, ax=ax, kind=kind)

    curve = "Measured power by false-positive rate, and a band in which the whole true curve lies."
    return [
        Panel(curve, lambda ax: draw(ax, "curve")),
        Panel("Histograms of the scores in and out.", lambda ax: draw(ax, "scores")),
    ]


def audit_columns(result: AuditResult) -> dict[str, Any]:
    """What the attack achieved, a quantity a row."""
    named = _measured(result)
    return {
        "quantity": [name for name, _ in named],
        "measured": [each.value for _, each in named],
        "low": [each.low for _, each in named],
        "high": [each.high for _, each in named],
    }


def one_run_document(result: OneRunResult, *, claim: bool = True) -> Document:
    """What the canaries of one run prove."""
    plus, minus = result.guesses
    notes = Notes(
        [
            f"Of {result.n_canaries:,} canaries {plus:,} were guessed in and {minus:,} out.",
            f"{result.correct:,} of these guesses are right.",
            *([_below_chance(result)] if 2 * result.correct < plus + minus else []),
            f"{reach_sentence(result).capitalize()}.",
        ]
    )
    coins = f"a fair coin put each of the {result.n_canaries:,} canaries in"
    lead = _lead(result.epsilon_lower, result.confidence, coins, delta=result.delta)
    if claim and result.verdict is not None:
        lead = f"{lead} {result.claim()}"
    sections = [Section("The run", [notes])]
    return Document(
        lead,
        sections,
        compared=_COMPARED_ONE_RUN,
        cautions=result._cautions,
        assumed=OF_CANARIES,
    )


def shadow_document(result: ShadowAudit) -> Document:
    """What shadow models prove of each example."""
    above = f"an epsilon above {result.claimed_epsilon:g}"
    lead = (
        f"{int(result.proved.sum()):,} of {result.n_examples:,} examples are proved to have {above}"
        f", all of them with confidence {100 * result.confidence:g}%."
    )
    share = 100.0 * (1.0 - result.confidence)
    notes = Notes(
        [
            f"At least {result.at_least:,} example{'' if result.at_least == 1 else 's'} "
            f"{'has' if result.at_least == 1 else 'have'} {above}, with the same confidence.",
            f"{int(result.discoveries.sum()):,} examples may be listed as having it, of which "
            f"{share:g}% are false on average at most.",
            f"{result.n_models:,} models prove {at_most(result.provable_epsilon)} of an example at "
            "most, together with all others.",
        ]
    )
    order = np.argsort(-result.epsilon_lower, kind="stable")[:_LISTED]
    rows = [
        (
            str(int(i)) if result.names is None else printable(result.names[i]),
            at_most(float(result.epsilon_lower[i])),
            at_most(float(result.epsilon_each[i])),
            number(float(result.p_values[i])),
        )
        for i in order
    ]
    header = ("example", "epsilon, all together", "by itself", "p-value")
    sections = [
        Section("The examples", [notes]),
        Section("Those with the largest bounds", [Table(header, rows, left=0)]),
    ]
    return Document(lead, sections, compared=_COMPARED_SHADOW, assumed=OF_MODELS)


def shadow_panel(result: ShadowAudit) -> Panel:
    """The bounds of all examples, from the largest."""

    def draw(ax: Axes) -> None:
        place = np.arange(1, result.n_examples + 1)
        for bounds, color, dash, name in (
            (result.epsilon_each, "#0072B2", "--", "by itself"),
            (result.epsilon_lower, "#D55E00", "-", "all together"),
        ):
            ax.step(place, -np.sort(-bounds), where="mid", color=color, linestyle=dash, label=name)
        ax.set(xlabel="Examples, the largest bound first", ylabel="Epsilon is at least")
        ax.legend(loc="best")

    return Panel("Lower bounds on the epsilon of examples, from the largest to the least.", draw)


def shadow_columns(result: ShadowAudit) -> dict[str, Any]:
    """The bounds, an example a row."""
    return {
        "example": np.arange(result.n_examples) if result.names is None else list(result.names),
        "epsilon_lower": result.epsilon_lower,
        "epsilon_each": result.epsilon_each,
        "p_value": result.p_values,
        "proved": result.proved,
        "discovery": result.discoveries,
    }


def stream_document(stream: AuditStream, run: OneRunResult | None = None) -> Document:
    """What canaries prove that arrived one by one; `run` has the same canaries at once."""
    below = run is not None and 2 * run.correct < sum(run.guesses)
    notes = [
        f"{stream.n_canaries:,} canaries, in the order {'of the files' if run else 'they came'}. "
        f"After {stream.n_proved:,} no more was proved.",
    ]
    if run is not None and below:
        total = sum(run.guesses)
        notes.append(f"{run.correct:,} of {total:,} guesses are right. {_below_chance(run)}")
    coins = f"a fair coin put each of the {stream.n_canaries:,} canaries in"
    lead = _lead(stream.epsilon_lower, stream.confidence, coins, always=True)
    cautions = run._cautions if run is not None else []
    sections = [Section("The canaries", [Notes(notes)])]
    return Document(
        lead, sections, compared=_COMPARED_STREAM, cautions=cautions, assumed=OF_CANARIES
    )
