"""What an audit refuses, and the verdict on a claimed epsilon.

These inputs would give a confident wrong answer: flags given as scores, a matrix of scores of
several examples of each model, scores that speak for the other world, the same scores twice,
canaries whose coins were not fair, a significance level given as the confidence, and delta
exchanged with epsilon.  Each is refused with the cure.
"""

from __future__ import annotations

from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, gammaln

from mialeak._arrays import FloatArray, as_float, as_floats, as_scores, invalid, require
from mialeak._checks.audits.dependence import is_sorted
from mialeak._checks.budgets import look_exchanged
from mialeak._numerics.order import IntArray, Order, refuse_rates
from mialeak._warnings import warn
from mialeak.auditing._intervals import area_interval

__all__ = [
    "FITTED",
    "Verdict",
    "as_claim",
    "as_delta",
    "canaries_of",
    "refuse_axes",
    "refuse_flags",
    "refuse_matrices",
    "refuse_orders",
    "refuse_other_order",
    "refuse_repeated_coins",
    "refuse_series",
    "require_direction",
    "require_fair_coins",
    "verdict_on",
    "warn_of_columns_as_models",
    "warn_of_order",
]

Verdict = Literal["refuted", "not refuted", "not testable"]

#: The interval of the area that has to reach 1/2.  It is Chernoff's: under the normal law of the
#: Mann-Whitney statistic, scores that know nothing lie below it with probability 5e-4.
_DIRECTION_CONFIDENCE = 0.95
#: In-scores of which the area is computed first: it is smaller than that of all by 0.1% at most.
_COARSE = 1024
#: Fair coins, and scores that are counts of several by chance, are refused with about this
#: probability at most.
_CHANCE = 1e-6
#: Patterns of coins that are less probable than this are named.
_SUSPICION = 1e-3
#: Flags in so few blocks are those of files that were joined.
_BLOCKS = 8
#: Whether neighbours are alike is seen from so many scores.
_SERIES = 10_000

#: From so few columns, or rows, of scores no spread of their means is seen.
_LEAST_COLUMNS = 8

#: Why scores may point the other way where nothing leaks.
FITTED = (
    "Scores that were fitted to the scores of the other models, as those of LiRA, point the other "
    "way where nothing leaks: in place of them pass the confidences or losses"
)

_SHADOW = "For shadow models by examples call shadow_audit(scores, members)"
_ONE_RUN = (
    "For the canaries of one run and their flags call one_run_audit(scores, member). Write the "
    "guesses of an attack as -1 and 1"
)


def as_delta(delta: Any) -> float:
    """`delta` as a number in [0, 1)."""
    value = as_float(delta, "delta")
    if not 0.0 <= value < 1.0:
        invalid("delta", "be at least 0 and less than 1", value=value)
    return value


def as_claim(claimed_epsilon: Any, delta: float) -> float | None:
    """A claimed epsilon as a finite number of at least 0, or None for no claim."""
    if claimed_epsilon is None:
        return None
    claim = as_float(claimed_epsilon, "claimed_epsilon")
    if claim < 0.0:
        invalid("claimed_epsilon", "be at least 0", value=claim)
    if look_exchanged(claim, delta):
        rule = f"be an epsilon; with delta = {delta:g} the two look exchanged"
        remedy = f"A claim of ({delta:g}, {claim:g}) has epsilon {delta:g} and delta {claim:g}"
        invalid("claimed_epsilon", rule, value=claim, remedy=remedy)
    return claim


def verdict_on(
    claim: float | None, epsilon_lower: float, provable_epsilon: float
) -> Verdict | None:
    """Whether the claim is refuted and, if not, whether any attack could have refuted it."""
    if claim is None:
        return None
    if epsilon_lower > claim:
        return "refuted"
    return "not refuted" if provable_epsilon > claim else "not testable"


def refuse_matrices(values: Any, name: str) -> None:
    """Refuse booleans in place of scores, and more than one axis of scores."""
    if not isinstance(values, np.ndarray):
        try:
            values = np.asarray(values)
        except (ValueError, TypeError, RuntimeError):
            return  # no array of numbers: the conversion words the error
    if values.dtype == np.bool_:
        rule = "be scores of an attack; its entries are booleans, as flags are"
        invalid(name, rule, remedy=_ONE_RUN)
    if sum(side != 1 for side in values.shape) > 1:
        rule = f"have one score for each run; its shape is {values.shape}"
        remedy = (
            "Scores of several examples of one model are not independent: take one example a "
            f"model, or pass ravel() of scores that are independent. {_SHADOW}"
        )
        invalid(name, rule, remedy=remedy)


def refuse_flags(order: Order, *, higher_is_member: bool) -> None:
    """Refuse 0 and 1 as the scores of a world, and -1 and 1 beside other scores."""
    worlds = {"in_scores": order.inside, "out_scores": order.outside}
    for name, scores in worlds.items():
        other = order.outside if name == "in_scores" else order.inside
        zero = 0.0 if higher_is_member else -1.0
        if _holds_two(scores, zero, zero + 1.0):
            flags = "0 or 1"
        elif _holds_two(scores, -1.0, 1.0) and not _lies_in(other, -1.0, 1.0):
            flags = "-1 or 1"
        else:
            continue
        rule = f"be scores of an attack; all {scores.size} are {flags}, as flags are"
        invalid(name, rule, remedy=_ONE_RUN)


def refuse_other_order(scores: Any, flags: Any, name: str) -> None:
    """Refuse flags with the labels of the scores (of pandas) in another order."""
    labels: list[Any] = [getattr(each, "index", None) for each in (scores, flags)]
    if any(each is None or callable(each) for each in labels) or len(labels[0]) != len(labels[1]):
        return
    first, second = (list(each) for each in labels)
    if first != second and set(first) == set(second):
        place = next(k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
        rule = (
            f"have the index of scores in its order; {first[place]!r} is at {place} of scores, and "
            f"{second[place]!r} in {name}"
        )
        remedy = f"Pass {name}.loc[scores.index], or arrays where the order is right"
        invalid(name, rule, remedy=remedy)


def refuse_orders(in_scores: Any, out_scores: Any) -> tuple[FloatArray, FloatArray]:
    """Refuse what the order of the scores gives away, rates of a curve and series; return both."""
    inside = as_floats(in_scores, "in_scores").ravel()
    outside = as_floats(out_scores, "out_scores").ravel()
    refuse_rates(inside, outside)
    refuse_series(inside, "in_scores")
    refuse_series(outside, "out_scores")
    return inside, outside


def refuse_series(scores: FloatArray, name: str) -> None:
    """Refuse scores whose neighbours are alike, as those of one run or one canary are.

    Of the first 10,000, those that are not below the median stand in so few runs with probability
    1e-6 at most, if all are independent (Wald and Wolfowitz).  Sorted scores are taken.
    """
    scores = scores[:_SERIES]
    if is_sorted(scores[np.isfinite(scores)]):
        return
    size = scores.size
    is_high = scores >= np.partition(scores, size // 2)[size // 2]
    high, low = np.count_nonzero(is_high), size - np.count_nonzero(is_high)
    # As they stand, and column by column of each table that they fill, as canaries by runs.
    columns = (1 + np.flatnonzero(size % np.arange(1, size // 2 + 1) == 0)).tolist()
    is_low = ~is_high
    runs = min(
        int(is_high[0])
        + np.count_nonzero(is_high[k:] & is_low[:-k])  # below one another in a column
        + np.count_nonzero(is_high[1:k] & is_low[size - k : -1])  # from its end to the next one
        for k in columns
    )
    k = np.arange(1.0, runs + 1.0)
    logs = _log_choose(high - 1.0, k - 1.0) + _log_choose(low + 1.0, k)
    if len(columns) * np.exp(logs - _log_choose(float(size), float(high))).sum() > _CHANCE:
        return
    rule = (
        f"be independent; its neighbours are alike: those of the upper half stand in {runs} runs, "
        f"and {high * (low + 1) / size:.0f} are expected"
    )
    remedy = (
        "Pass one score for each run of the procedure: the steps of one training, or several "
        "canaries, models of one seed or augmentations, are not independent"
    )
    invalid(name, rule, remedy=remedy)


def _log_choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _holds_two(scores: FloatArray, low: float, high: float) -> bool:
    """Whether rising scores hold these two values, both, and no other."""
    return bool(scores[0] == low and scores[-1] == high) and _lies_in(scores, low, high)


def _lies_in(scores: FloatArray, low: float, high: float) -> bool:
    """Whether rising scores hold no value but these two."""
    if scores[0] < low or scores[-1] > high:
        return False
    lows = np.searchsorted(scores, low, side="right")
    return bool(lows == np.searchsorted(scores, high, side="left"))


def require_direction(order: Order, *, higher_is_member: bool, one_run: bool = False) -> None:
    """Refuse scores whose area under the curve lies below 1/2 beyond its interval."""
    stride = max(1, order.inside.size // _COARSE)
    if area_interval(order, _DIRECTION_CONFIDENCE, stride).high >= 0.5:
        return  # so is that of the area itself, which is larger
    area = area_interval(order, _DIRECTION_CONFIDENCE)
    if area.high >= 0.5:
        return
    name, than = "in_scores", "than those of the other world"
    if one_run:
        name, than = "scores", "for members than for others"
    larger = "larger" if higher_is_member else "smaller"
    rule = (
        f"tend to be {larger} {than} with higher_is_member={higher_is_member}; the "
        f"area under their curve is {area.value:.3f}, in [{area.low:.3f}, {area.high:.3f}], and "
        "guessing has 0.5"
    )
    remedy = (
        "Decide the direction from what a score is, not from this result (a loss is smaller for "
        f"members), then pass higher_is_member={not higher_is_member}. To audit the scores as they "
        "are pass allow_reversed=True"
    )
    invalid(name, rule, remedy=f"{remedy}. {FITTED}" if one_run else remedy)


def require_fair_coins(flags: npt.NDArray[np.int64], scores: FloatArray) -> None:
    """Refuse flags that fair coins give with probability 1e-6 at most: by number, or by order.

    Both tests are exact and two-sided: the number of members is binomial, and so is the number of
    neighbours that differ.  If the scores are sorted, members of a strong attack stand together.
    """
    members, size = int(flags.sum()), flags.size
    probability = 2.0 * float(bdtr(min(members, size - members), size, 0.5))
    if probability <= _CHANCE:
        rule = (
            f"come of fair coins; {members} of {size} are members, which fair coins give with "
            f"probability {min(probability, 1.0):.1g}"
        )
        remedy = (
            "The bound holds only if each canary was put in with probability 1/2; canaries of "
            "another probability need another run"
        )
        invalid("member", rule, remedy=remedy)
    _require_mixed(flags, scores)


def _require_mixed(flags: npt.NDArray[np.int64], scores: FloatArray) -> None:
    """Refuse flags that stand in too small or too large a number of runs."""
    size, changes = flags.size, int(np.count_nonzero(np.diff(flags)))
    if changes == 1 and np.log(2.0 * (size - 1)) - size * np.log(2.0) <= np.log(_CHANCE):
        first, last = ("members", "others") if flags[0] else ("others", "members")
        rule = f"come of fair coins; all {first} stand before all {last}, as two files joined do"
        remedy = (
            "The bound holds only if a coin put each canary in; training and test rows of a model "
            "are no such canaries. If coins did, pass scores and flags in the order of the coins"
        )
        invalid("member", rule, remedy=remedy)
    earlier, later = scores[:-1], scores[1:]
    is_sorted = bool((later >= earlier).all() or (later <= earlier).all())
    if not is_sorted:
        _warn_of_patterns(size, changes)
    rare = min(changes, size - 1 - changes)
    probability = 2.0 * float(bdtr(rare, size - 1, 0.5)) if size > 1 else 1.0
    if probability <= _CHANCE and not (is_sorted and changes == rare):
        if changes == rare > _BLOCKS:
            refuse_repeated_coins(flags)  # which names the likelier mistake
        how = "alternate" if changes > rare else "stand together"
        rule = (
            f"come of fair coins; members and others {how}: {changes} of {size - 1} neighbours "
            f"differ, which fair coins give with probability {probability:.1g}"
        )
        remedy = (
            "The bound holds only if a coin put each canary in: every second one, or members and "
            "others in blocks, are no coins. If coins did, pass scores and flags in their order"
        )
        invalid("member", rule, remedy=remedy)


def _warn_of_patterns(size: int, changes: int) -> None:
    """Warn where few flags stand as no coins of a thousand do; more of them are refused."""
    if changes == 1:
        patterns, how = 2.0 * (size - 1), "all members stand before all others, or after them"
    elif changes == size - 1:
        patterns, how = 2.0, "members and others alternate"
    else:
        return
    chance = patterns / 2.0**size
    if _CHANCE < chance <= _SUSPICION:
        warn(
            f"{how}: fair coins give {size} flags so with probability {chance:.1g}. The bound "
            "holds only if a coin put each canary in; draw them by rng.random(m) < 0.5, and "
            "train again",
        )


def warn_of_order(scores: FloatArray, epsilon: float) -> None:
    """Warn of sorted scores that prove nothing: their flags may have another order."""
    counts = np.unique(scores, return_counts=True)[1]
    chance = np.log(2.0) + gammaln(counts + 1.0).sum() - gammaln(scores.size + 1.0)
    if epsilon > 0.0 or counts.size == 1 or chance > np.log(_CHANCE):
        return
    if (scores[1:] >= scores[:-1]).all() or (scores[1:] <= scores[:-1]).all():
        warn(
            "the scores are sorted, and with these flags they prove nothing: if the flags were not "
            "sorted with them, the pairs are lost. Pass scores and flags in the order of the "
            "canaries",
        )


def warn_of_columns_as_models(values: FloatArray) -> None:
    """Warn where rows differ as examples do, and columns are alike as models are.

    The share of the variance between rows, beyond what equal rows have, is compared with that
    between columns: examples are harder or easier, for all models.  Where columns differ too, rows
    are likely to be models that differ in level.
    """
    models, examples = values.shape
    if min(models, examples) < _LEAST_COLUMNS:
        return
    values = values / (np.abs(values).max() or 1.0)  # squares of which are finite
    spread = values.var()
    rows, columns = values.mean(axis=1).var(), values.mean(axis=0).var()
    by_row, by_column = rows - spread / examples, columns - spread / models
    if not (by_row > 0.05 * spread and by_row > 5.0 * max(by_column, spread / models)):
        return
    level = "subtract the median of each row, which keeps the bounds valid and makes them larger"
    turned = "pass both transposed: the bounds are otherwise those of no example"
    if by_column > 0.05 * spread:
        warn(
            f"the {models} rows of scores, which are models, differ in level by more than the "
            f"{examples} columns, as those of several architectures do: {level}. But if columns "
            f"are models, {turned}",
        )
        return
    warn(
        f"the {models} rows of scores, which are models, differ from one another as examples "
        f"do, and the {examples} columns are alike as models are. If columns are models, {turned}. "
        f"If rows are models of several architectures or qualities, {level}",
    )


def refuse_repeated_coins(flags: npt.NDArray[np.int64]) -> None:
    """Refuse flags that repeat fewer, in turn or in blocks, as 1e-6 of fair coins do at most.

    So are those of which the second half is the first, members and others exchanged.
    """
    size, period = flags.size, _period(flags)
    blocks = flags.size // int(np.gcd.reduce(np.flatnonzero(np.diff(flags, append=2)) + 1))
    free = min(period, blocks)
    if np.log(2.0 * size) - (size - free) * np.log(2.0) <= np.log(_CHANCE):
        rule = (
            f"come of coins of their own; {size} flags repeat {free}, as where a canary has a "
            "score for each augmentation or run"
        )
        remedy = "Scores of one canary share its coin: pass one score a canary, such as their mean"
        invalid("member", rule, remedy=remedy)
    half = size // 2
    is_exchanged = size % 2 == 0 and np.array_equal(flags[half:], 1 - flags[:half])
    if is_exchanged and half * np.log(2.0) >= -np.log(_CHANCE):
        rule = (
            f"come of coins of their own; the last {half} of {size} flags are the first {half}, "
            "members and others exchanged, as where one coin decides which of two is in"
        )
        remedy = "Keep one row of each pair, chosen before flags and scores are seen"
        invalid("member", rule, remedy=remedy)


def _period(flags: npt.NDArray[np.int64]) -> int:
    """The least number of flags, a divisor of their number, that all others repeat."""
    size = flags.size
    for period in range(1, size // 2 + 1):
        if size % period == 0 and np.array_equal(flags[period:], flags[:-period]):
            return period
    return size


def canaries_of(scores: Any, member: Any) -> tuple[FloatArray, IntArray]:
    """Scores of canaries of one run and their flags, checked."""
    refuse_other_order(scores, member, "member")
    values, flags = _flat(scores, "scores"), _flat(member, "member")
    if flags.size != values.size:
        invalid("member", f"have one flag for each score; it has {flags.size} for {values.size}")
    values = as_scores(values, "scores")
    require((flags == 0.0) | (flags == 1.0), flags, "member", "hold 0 and 1 only")
    if flags.min() == flags.max():
        invalid("member", f"hold members and others; all {flags.size} flags are {flags[0]:.0f}")
    if np.array_equal(values, flags):
        remedy = "Write the guesses of an attack as -1 and 1"
        invalid("scores", "be scores of an attack; they are the flags of member", remedy=remedy)
    coins = flags.astype(np.int64)
    require_fair_coins(coins, values)
    return values, coins


def _flat(values: Any, name: str) -> FloatArray:
    """One axis; a single row or column is one."""
    array = as_floats(values, name)
    if array.ndim == 2 and 1 in array.shape:
        return array.ravel()
    if array.ndim > 1:
        refuse_axes(array.shape, name)
    return as_floats(array, name, ndim=1)


def refuse_axes(shape: tuple[int, ...], name: str) -> NoReturn:
    """Refuse scores, or flags, of several models where those of one are asked for."""
    rule = f"have 1 dimension, a number for each canary; its shape is {shape}"
    invalid(name, rule, remedy=f"{_SHADOW}; of one model pass its row")
