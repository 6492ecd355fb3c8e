"""The coins of shadow models: fair ones, half of the models, or pairs of opposite models.

Of few examples fair coins may put each into half of the models by chance, so that the coins do not
show which design made them.  All designs that may have done so are then returned.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, gammaln, pdtrc

from mialeak._arrays import invalid
from mialeak._warnings import warn

__all__ = ["BoolArray", "Design", "Reading", "example_names", "readings_of"]

Design = Literal["coins", "half", "pairs"]
BoolArray = npt.NDArray[np.bool_]

#: What fair coins do with this probability at most is refused.
_CHANCE = 1e-6


class Reading(NamedTuple):
    """A design that may have made the coins."""

    design: Design
    #: For pairs: the rows of models, and of those with the opposite coins.
    pairs: tuple[slice, slice] | None = None


def readings_of(coins: BoolArray) -> list[Reading]:
    """The designs that may have made the coins; other coins are refused.

    More than one only if each example is in half of the models, and so few examples are that it
    may be chance.
    """
    models, examples = coins.shape
    by_example = coins.sum(axis=0)
    # np.unique(axis=0) turns a Ctrl-C into a TypeError.
    if examples > 40 and len({row.tobytes() for row in np.packbits(coins, axis=1)}) < models:
        rule = "have coins of its own for each model; two models have the same"
        invalid("members", rule, remedy="Pass one model for each draw of the coins")
    is_half = models % 2 == 0 and bool((2 * by_example == models).all())
    pairs = [Reading("pairs", each) for each in _pairs(coins)] if is_half and models > 2 else []
    # Coins of fair draws are opposite in all pairs with probability 2^-(half of their number).
    is_paired = bool(pairs) and coins.size >= 2 * -np.log2(_CHANCE)
    _refuse_copies(coins, is_half=is_half, is_paired=is_paired)
    if is_paired:
        return pairs
    half = gammaln(models + 1.0) - 2.0 * gammaln(0.5 * models + 1.0) - models * np.log(2.0)
    if is_half and examples * half <= np.log(_CHANCE):
        return [Reading("half"), *pairs]
    by_model = coins.sum(axis=1)
    tests = [(coins.sum(), coins.size, "all coins")]
    tests += [(by_model[np.argmax(np.abs(2 * by_model - examples))], examples, "a model")]
    tests += [(by_example[np.argmax(np.abs(2 * by_example - models))], models, "an example")]
    for (count, size, what), cases in zip(tests, (1, models, examples), strict=True):
        probability = 2.0 * cases * float(bdtr(min(count, size - count), size, 0.5))
        if probability <= _CHANCE:
            rule = (
                f"come of fair coins; {int(count)} of {size} of {what} are 1, which fair coins "
                f"give with probability {probability:.1g}"
            )
            remedy = (
                "A coin must have put each example into each model, or each into half of the models"
            )
            invalid("members", rule, remedy=remedy)
    if models > 1 and examples > 1 and bool((2 * by_model == examples).all()):
        turned = " If models are columns, pass both transposed" if models > examples else ""
        half = gammaln(examples + 1.0) - 2.0 * gammaln(0.5 * examples + 1.0)
        if models * (half - examples * np.log(2.0)) <= np.log(_CHANCE):
            warn(
                "each model has exactly half of the examples: their coins are not independent, and "
                f"the bounds have no proof for so few examples as {examples}.{turned}",
            )
    return [Reading("half"), *pairs, Reading("coins")] if is_half else [Reading("coins")]


def _refuse_copies(coins: BoolArray, *, is_half: bool, is_paired: bool) -> None:
    """Refuse examples with the coins of others, of which chance makes so many pairs seldom.

    The number of pairs with equal coins is nearly Poisson's; its mean is that of coins of their
    own, each of half of the models where all are, and in pairs of models.
    """
    models, examples = coins.shape
    _refuse_constant(coins)
    columns = np.packbits(coins.T, axis=1)
    times = np.unique(columns, axis=0, return_counts=True)[1].astype(np.float64)
    equal = 0.5 * float(times @ (times - 1.0))
    logs = -models * np.log(2.0)
    if is_half:
        half = gammaln(models + 1.0) - 2.0 * gammaln(0.5 * models + 1.0)
        logs = 0.5 * logs if is_paired else -half
    expected = 0.5 * examples * (examples - 1.0) * float(np.exp(logs))
    if equal <= 1.5 * expected or pdtrc(equal - 1.0, expected) > _CHANCE:
        return
    rule = (
        f"have coins of its own for each example; its {examples:,} columns hold {times.size:,} "
        "different ones, as where an example has a score for each augmentation, or a person rows"
    )
    remedy = (
        "Take the mean of the scores of columns with equal coins, and pass one column for each: "
        "what is proved is then of the example, or the person"
    )
    invalid("members", rule, remedy=remedy)


def _refuse_constant(coins: BoolArray) -> None:
    """Refuse examples that are in no model, or in all, by a Poisson law at a level of 1e-6."""
    models, examples = coins.shape
    for value, where in ((False, "no model"), (True, "all models")):
        same = int((coins == value).all(axis=0).sum())
        if same and pdtrc(same - 1.0, examples * 2.0**-models) <= _CHANCE:
            first = int(np.argmax((coins == value).all(axis=0)))
            rule = (
                f"come of fair coins; {same:,} of {examples:,} examples are in {where}, such as "
                f"column {first}, as test examples or training examples without a coin are"
            )
            invalid("members", rule, remedy="Leave them out, of scores as well")


def _pairs(coins: BoolArray) -> list[tuple[slice, slice]]:
    """The rows of models and of those with the opposite coins: neighbours, or halves of the rows.

    All pairings that the coins allow.
    """
    half = len(coins) // 2
    neighbours, halves = (slice(0, None, 2), slice(1, None, 2)), (slice(half), slice(half, None))
    return [
        (first, second)
        for first, second in (neighbours, halves)
        if (coins[first] != coins[second]).all()
    ]


def example_names(scores: Any) -> tuple[str, ...] | None:
    """The names of the columns of a data frame, unless they are numbers."""
    names = getattr(scores, "columns", None)
    if names is None or not len(names) or not all(isinstance(each, str) for each in names):
        return None
    return tuple(names)
