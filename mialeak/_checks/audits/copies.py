"""Scores that occur several times: copies of worlds, runs or canaries, joins and bootstraps."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak._numerics.order import IntArray, Order

__all__ = ["check_resampled", "refuse_copies", "refuse_repeats"]

#: Scores that are copies by chance are refused with about this probability at most.
_CHANCE = 1e-6
#: Scores of so many steps between different values do not agree in two worlds by chance.
_VALUES = 10
#: So many scores more than values have one flag a value by chance once in 10^6 times.
_REPEATS = 20
#: Values of a world that are repeated, at least: attacks that are right throughout have a few.
_EACH = 5
#: Digits, decimal and binary, beyond which scores are not rounded: those of single precision.
_DECIMALS, _BITS = 9, 24


def refuse_copies(
    inside: FloatArray,
    outside: FloatArray,
    names: tuple[str, str] = ("in_scores", "out_scores"),
    *,
    higher_is_member: bool = True,
    are_draws: bool = True,
) -> None:
    """Refuse the same rising scores as those of both worlds; few values may agree by chance.

    Where losses are small for members, these are minus them.  Those of a curve may be quantiles, or
    all values of a law, in place of draws: they mirror one another where laws do, and are evenly
    spaced where the law is uniform.
    """
    ends = inside[[0, -1]]
    same = np.array_equal(ends, outside[[0, -1]])  # decides nearly always
    same = same and np.array_equal(inside, outside)
    if same and _steps(inside) >= _VALUES:
        rule = f"be draws of their own; they are the {inside.size} scores of the other world"
        invalid(names[1], rule, remedy="Pass the scores of each world once")

    is_mirror = are_draws and np.array_equal(ends, -outside[[-1, 0]])
    is_mirror = is_mirror and np.array_equal(inside, -outside[::-1])
    if is_mirror and _steps(inside) >= _VALUES:
        rule = "be draws of their own; they are minus the scores of the other world"
        remedy = "Differences of pairs of runs are one world: pass the scores of both worlds"
        invalid(names[1], rule, remedy=remedy)
    worlds = zip(names, (inside, outside), strict=True)
    (name, short), (other, long) = sorted(worlds, key=lambda world: world[1].size)
    if (
        _VALUES <= short.size < long.size
        and _holds(long, short)
        and (are_draws or _is_uneven(long))
    ):
        rule = f"be those of one world; they hold the {short.size} scores of the other world too"
        invalid(other, rule, remedy=f"Leave out those of {name}")
    for name, scores, beyond in zip(names, (inside, outside), (outside, inside), strict=True):
        if not are_draws or scores[0] != scores[-1] or scores.size < _VALUES:
            continue
        beside = min(int((beyond < scores[0]).sum()), int((beyond > scores[0]).sum()))
        if beside >= 0.1 * beyond.size:
            value = (scores[0] if higher_is_member else -scores[0]) + 0.0  # no -0
            rule = (
                f"be draws of a world; all {scores.size} are {value:g}, in the midst of those of "
                "the other world, as a threshold or a baseline is"
            )
            invalid(name, rule, remedy="Pass the scores of runs of that world")


def _steps(rising: FloatArray) -> int:
    """Steps between different scores, of which some may be infinite."""
    return int(np.count_nonzero(rising[1:] > rising[:-1]))


def _holds(long: FloatArray, short: FloatArray) -> bool:
    """Whether each of the rising scores `short` is one of `long`, and no score is there twice."""
    for part in (short[:_VALUES], short):  # the first few decide nearly always
        places = np.minimum(np.searchsorted(long, part), long.size - 1)
        if not np.array_equal(long[places], part):
            return False
    return all(_steps(scores) == scores.size - 1 for scores in (short, long))


def _is_uneven(rising: FloatArray) -> bool:
    """Whether scores, of which no two are equal, are not evenly spaced, but for rounding."""
    with np.errstate(over="ignore"):
        steps = np.diff(rising)
    return not np.ptp(steps) < 1e-6 * steps.max()


def refuse_repeats(order: Order, names: tuple[str, str] = ("in_scores", "out_scores")) -> None:
    """Refuse scores of which each value occurs a multiple of so many times, as copies do."""
    for name, scores in zip(names, (order.inside, order.outside), strict=True):
        if scores[0] != scores[min(1, scores.size - 1)]:
            continue  # its smallest value stands there once
        counts = np.unique(scores, return_counts=True)[1]
        copies = int(np.gcd.reduce(counts))
        if copies > 1 and (counts.size - 1) * np.log(copies) >= -np.log(_CHANCE):
            rule = (
                f"be independent; each of the {counts.size} values of one world occurs {copies} "
                "times, or a multiple of that"
            )
            invalid(name, rule, remedy="Pass the score of each run, or of each canary, once")


def check_resampled(
    order: Order, names: tuple[str, str] = ("in_scores", "out_scores")
) -> list[str]:
    """Refuse scores drawn again from a smaller number: a join, or a bootstrap.

    Where the worlds are apart, as those of a strong attack are too, a caution instead.

    Equal scores then never occur in both worlds, though values of members lie below values of
    others.  Where members are the more probable the larger a value is, a value with a scores, all
    of members, stands below one with b, all of others, with probability ``a^a b^b / (a+b)^(a+b)``
    at most; the k values that occur several times have 2^k patterns of worlds.
    """
    values, counts, members = _repeated(order)
    if not values.size or ((members > 0) & (members < counts)).any():
        return []
    falls = (members[:-1] > 0) & (members[1:] == 0)  # no value is in two of them
    is_copied = _copied(values, counts, members)
    if is_copied and falls.sum() > 1:
        _refuse_joined(counts, members, names)
    a, b = counts[:-1][falls], counts[1:][falls]
    surprise = float(np.sum(a * np.log1p(b / a) + b * np.log1p(a / b)))
    # A perfect attack that points the other way has one fall.
    if falls.sum() > 1 and surprise - values.size * np.log(2.0) >= -np.log(_CHANCE):
        _refuse_joined(counts, members, names)
    if not is_copied:
        return []
    return [
        f"{values.size:,} scores of many digits occur several times, {counts.sum():,} in all, each "
        "in one world only, as where rows of a file are copied or joined. Pass the score of each "
        "run, or of each canary, once."
    ]


def _repeated(order: Order) -> tuple[FloatArray, IntArray, IntArray]:
    """The values that occur several times, how often, and how often in the world *in*."""
    if not any((each[1:] == each[:-1]).any() for each in (order.inside, order.outside)):
        return np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)
    scores = np.concatenate([order.inside, order.outside])
    values, counts = np.unique(scores, return_counts=True)
    values, counts = values[counts > 1], counts[counts > 1]
    first = np.searchsorted(order.inside, values)
    members = np.searchsorted(order.inside, values, side="right") - first
    return values, counts, members


def _copied(values: FloatArray, counts: IntArray, members: IntArray) -> bool:
    """Whether scores that are not rounded occur again, of both worlds; each is in one of these.

    A score of all digits that is continuous occurs once.  One that is not, such as the logarithm of
    a rank, has members and others at a value, except where the attack is right throughout.
    """
    if counts.sum() - counts.size < _REPEATS:
        return False
    mantissas = np.ldexp(np.frexp(values)[0], _BITS)
    with np.errstate(invalid="ignore"):  # infinite ones have no digits
        if not (mantissas % 1.0 > 0.0).all():
            return False
    if any(float(f"{value:.{_DECIMALS}g}") == value for value in values.tolist()):
        return False
    n_in = int(np.count_nonzero(members))
    return min(n_in, values.size - n_in) >= _EACH


def _refuse_joined(counts: IntArray, members: IntArray, names: tuple[str, str]) -> NoReturn:
    rule = (
        f"be independent; {counts.sum()} scores have {counts.size} values, each in one world "
        "only, as where scores are drawn again or joined"
    )
    name = names[int(counts[members > 0].sum() < counts[members == 0].sum())]
    invalid(name, rule, remedy="Pass the score of each run, or of each canary, once")
