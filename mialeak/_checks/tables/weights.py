"""Columns of unequal survey weights: not everyone was equally likely to be drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np

from mialeak._cells import codes_of, count_cells
from mialeak._checks.names import is_body_weight, is_weight
from mialeak._checks.samples import LEVEL
from mialeak._checks.tables.counts import numbers_of
from mialeak._columns import Factor

__all__ = ["UNEQUAL", "cautions_of_weights", "may_be_weight"]

#: Survey weights are unequal if those of most rows differ by this factor; how near their mean is to
#: 1, or their sum to the number of people; the first columns that they may go by, and the rows of
#: each value of these on average.
_UNEQUAL, _NEAR, _MOST_OTHERS, _ROWS_OF_STRATUM = 2.0, (0.01, 0.25), 20, 10
#: The median of weights from which they are those of no body: a newborn has 3,400 grams.  By which
#: factor the bodies of most persons differ at most, those of children among them.
_NO_BODY, _BODIES_DIFFER = 10_000.0, 10.0

#: What a caution states of the answer where the number of people is not known.
UNEQUAL = (
    "not everyone was equally likely to be in the table. The answer is for a population with the "
    "frequencies of the table's rows; people with large weights leak more than it states. "
)


def may_be_weight(name: Any, factor: Factor) -> bool:
    """Whether a column has the name of survey weights; classes of the weight of a body are none."""
    return is_weight(name) and (not is_body_weight(name) or numbers_of(factor) is not None)


def cautions_of_weights(
    names: Iterable[Any],
    column: Callable[[Any], Sequence[Factor]],
    meaning: str,
    others: Sequence[Any] = (),
    people: int | None = None,
) -> list[str]:
    """A caution if unequal survey weights show that some people were more likely drawn.

    The weights are one of the columns `names`.  A column with the name of the weight of a body is
    one of weights if its sum is near the number of `people`, its mean is 1, or its numbers go by
    `others`; it may be one if these are too large or too different for bodies.  `column` returns a
    column, or none if it does not hold single values; `meaning` is what unequal weights mean for
    the answer.
    """
    for name in filter(is_weight, names):
        for factor in column(name):
            numbers, known = numbers_of(factor), factor.codes[factor.codes >= 0]
            if numbers is None or not known.size:
                continue
            weights = numbers[known]
            low, high = np.quantile(weights, (0.05, 0.95)).tolist()
            near = 1.0 if people is None else people / weights.size, _NEAR[people is not None]
            is_sure = abs(weights.mean() / near[0] - 1.0) <= near[1]
            if not high > _UNEQUAL * low > 0.0:
                continue
            beside = [other for other in others if other != name][:_MOST_OTHERS]
            is_sure = is_sure or not is_body_weight(name) or _goes_by(map(column, beside), factor)
            is_no_body = float(np.median(weights)) >= _NO_BODY or high > _BODIES_DIFFER * low
            if is_sure or is_no_body:
                unless = "" if is_sure else "if it is one, and no measurement such as of goods, "
                return [
                    f"Column {name!r} has the name of a survey weight, from {_shown(low)} to "
                    f"{_shown(high)}: {unless}{meaning}"
                ]
    return []


def _shown(weight: float) -> str:
    return f"{weight:,.0f}" if weight >= _NO_BODY else f"{weight:.4g}"


def _goes_by(others: Iterable[Sequence[Factor]], factor: Factor) -> bool:
    """Whether rows that agree in another column or two agree in this one, by no chance."""
    columns = [codes_of(each) for each in chain.from_iterable(others)]
    codes, rows = codes_of(factor)[0], len(factor.codes)
    agree = float(np.square(factor.rows_of_level / rows).sum())
    most = min(rows + math.log(LEVEL) / -math.log(agree), rows / _ROWS_OF_STRATUM)
    for keys in chain.from_iterable(combinations(columns, k) for k in (1, 2)):
        cells = count_cells(keys, rows)
        if len(cells.counts) <= most and (codes[cells.first_row][cells.of_row] == codes).all():
            return True
    return False
