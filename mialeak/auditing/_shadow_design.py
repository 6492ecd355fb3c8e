"""The coins of shadow models: fair ones, half of the models, or pairs of opposite models."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, gammaln, pdtrc

from mialeak._arrays import invalid

__all__ = ["BoolArray", "Design", "design_of", "in_pairs", "names_of"]

Design = Literal["coins", "half", "pairs"]
BoolArray = npt.NDArray[np.bool_]

#: What fair coins do with this probability at most is refused.
_CHANCE = 1e-6


def design_of(coins: BoolArray) -> Design:
    """Whether coins are fair, or a random half of the models; others are refused."""
    models, examples = coins.shape
    by_example = coins.sum(axis=0)
    if models > 1 and len(np.unique(np.packbits(coins, axis=1), axis=0)) < models and examples > 40:
        rule = "have coins of its own for each model; two models have the same"
        invalid("members", rule, remedy="Pass one model for each draw of the coins")
    is_half = models % 2 == 0 and bool((2 * by_example == models).all())
    _refuse_copies(coins, is_half=is_half)
    if is_half and models > 2 and in_pairs(coins) is not None:
        return "pairs"
    half = gammaln(models + 1.0) - 2.0 * gammaln(0.5 * models + 1.0) - models * np.log(2.0)
    if is_half and examples * half <= np.log(_CHANCE):
        return "half"
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
            warnings.warn(
                "each model has exactly half of the examples: their coins are not independent, and "
                f"the bounds have no proof for so few examples as {examples}.{turned}",
                stacklevel=3,
            )
    return "coins"


def _refuse_copies(coins: BoolArray, *, is_half: bool) -> None:
    """Refuse examples with the coins of others, of which chance makes so many pairs seldom.

    The number of pairs with equal coins is nearly Poisson's; its mean is that of coins of their
    own, each of half of the models where all are, and in pairs of models.
    """
    models, examples = coins.shape
    columns = np.packbits(coins.T, axis=1)
    times = np.unique(columns, axis=0, return_counts=True)[1].astype(np.float64)
    equal = 0.5 * float(times @ (times - 1.0))
    logs = -models * np.log(2.0)
    if is_half:
        pairs = models > 2 and in_pairs(coins) is not None
        half = gammaln(models + 1.0) - 2.0 * gammaln(0.5 * models + 1.0)
        logs = 0.5 * logs if pairs else -half
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


def in_pairs(coins: BoolArray) -> tuple[slice, slice] | None:
    """The rows of models, and of those with the opposite coins; None if there are no such pairs."""
    half = len(coins) // 2
    neighbours, halves = (slice(0, None, 2), slice(1, None, 2)), (slice(half), slice(half, None))
    # Coins of fair draws are opposite in all pairs with probability 2^-(half of their number).
    if coins.size < 2 * -np.log2(_CHANCE):
        return None
    for first, second in (neighbours, halves):
        if (coins[first] != coins[second]).all():
            return first, second
    return None


def names_of(scores: Any) -> tuple[str, ...] | None:
    """The names of the columns of a data frame, unless they are numbers."""
    names = getattr(scores, "columns", None)
    if names is None or not len(names) or not all(isinstance(each, str) for each in names):
        return None
    return tuple(names)
