"""Values that usually mark a missing one, such as "?", "NA" or -9, and the sentences about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._columns import Factor, numeric_levels
from mialeak._fields import as_numbers, is_number

__all__ = ["MARKERS", "MARKING_NUMBERS", "lone_markers", "marker_cautions"]

IntArray = npt.NDArray[np.int64]

#: What marks a missing value in files, in small letters.
MARKERS = frozenset(
    {
        "",
        "?",
        "*",
        ".",
        "..",
        "./.",
        ".|.",
        "-",
        "--",
        "na",
        "n/a",
        "#n/a",
        "nan",
        "<na>",
        "null",
        "nat",
        "(null)",
    }
)

#: Numbers that mark a missing value: below all others, none of which is negative, ...
_BELOW = frozenset(
    -float(digit * (10**length - 1) // 9) for digit in (6, 7, 8, 9) for length in range(1, 11)
) | {-97.0, -98.0, -997.0, -998.0, -9997.0, -9998.0, -1.0}
#: ... or above all others by this factor.
_ABOVE = frozenset(10.0**length - k for length in range(2, 11) for k in (1, 2, 3, 4))
_FACTOR = 2.0
#: All of them.
MARKING_NUMBERS = (*sorted(_BELOW), *sorted(_ABOVE))
#: Numbers that mark a missing value nearer to the others, if they are the largest or the smallest
#: and occur in several rows: those above, and 77, 88, 777, ...
_REPEATED = _ABOVE | {float(digit * (10**k - 1) // 9) for digit in (7, 8) for k in range(2, 11)}
#: By what factor they are further from the others than these from one another: the second factor
#: suffices, and the first if they are more frequent than the next value.
_LONE, _FAR = 2.0, 4.0
#: They occur this many times as often as any other number where they stand near these.
_OFTEN = 3
#: The largest share of -1 that marks a missing value beside 0 and 1: more are a third value.
_RARE = 0.05


def marker_cautions(factors: dict[Any, Factor], weights: IntArray | None = None) -> list[str]:
    """A sentence for each marker that is counted as a value, with the argument that cures it.

    `weights` are the persons of each row, where a row is not one person.
    """
    met: dict[Any, list[tuple[Any, int]]] = {}
    for name, factor in factors.items():
        for value, rows in lone_markers(factor, weights):
            met.setdefault(value, []).append((name, rows))
    _drop_codes_of_three(met, factors, weights)
    return [
        f"{value!r} is counted as a value like any other, "
        f"{listed(places, show=lambda place: _where(*place))}. "
        f"If it marks a missing value, pass missing=[{str(value)!r}]."
        for value, places in met.items()
    ]


def _drop_codes_of_three(
    met: dict[Any, list[tuple[Any, int]]], factors: dict[Any, Factor], weights: IntArray | None
) -> None:
    """Leave out -1 beside 0 and 1 if it is a common value of such a column, as of genotypes."""
    for value in [value for value in met if str(value) in ("-1", "-1.0")]:
        three = {name: rows for name, rows in met[value] if _holds_three(factors[name])}
        persons = None if weights is None else int(weights.sum())
        if any(rows > _RARE * (persons or len(factors[k].codes)) for k, rows in three.items()):
            met[value] = [place for place in met[value] if place[0] not in three]
            if not met[value]:
                del met[value]


def _holds_three(factor: Factor) -> bool:
    """Whether the values are -1, 0 and 1."""
    held = {str(factor.value(code)) for code in np.unique(factor.codes).tolist() if code >= 0}
    return held in ({"-1", "0", "1"}, {"-1.0", "0.0", "1.0"})


def _where(name: Any, rows: int) -> str:
    return f"in {rows:,} row{'s' * (rows != 1)} of column {name!r}"


def lone_markers(factor: Factor, weights: IntArray | None = None) -> list[tuple[Any, int]]:
    """The values of a column that usually mark a missing one, and the rows that hold each."""
    shown = factor.rows_of_level
    codes = [code for code in _candidates(factor, shown) if shown[code]]
    held = [
        (code, int(shown[code] if weights is None else weights[factor.codes == code].sum()))
        for code in codes
    ]
    return [(factor.value(code), count) for code, count in held if count]


def _candidates(factor: Factor, shown: IntArray) -> list[int]:
    """The codes of markers among the levels, which so many rows hold."""
    present = shown > 0
    if np.count_nonzero(present) < 2:
        return []
    numbers = numeric_levels(factor)
    if numbers is not None:
        return _far_off(np.where(present, numbers, np.nan), shown)
    levels: Any = factor.levels
    plain = levels.to_pylist() if hasattr(levels, "to_pylist") else levels
    if set(map(type, plain)) <= {int, float, type(None)}:
        read = as_numbers([np.nan if value is None else value for value in plain], text=False)
        return [] if read is None else _far_off(np.where(present, read, np.nan), shown)
    if not all(isinstance(value, str) for value in plain):
        return []
    words = [value.strip() for value in plain]
    markers = [k for k, word in enumerate(words) if word.lower() in MARKERS]
    others = [k for k in np.flatnonzero(present).tolist() if words[k].lower() not in MARKERS]
    if not others or not all(is_number(words[k]) for k in others):
        return markers
    values = np.full(len(words), np.nan)
    values[others] = [float(words[k]) for k in others]
    return markers + _far_off(values, shown)


def _far_off(values: npt.NDArray[np.float64], shown: IntArray) -> list[int]:
    """The codes of the numbers that stand far from all others; NaN is no number."""
    numbers = values[np.isfinite(values)]
    if numbers.size < 3:
        return []
    numbers = np.unique(numbers)
    low, high = 0, numbers.size
    while high - low > 1 and numbers[low] in _BELOW:
        low += 1
    while high - low > 1 and numbers[high - 1] in _ABOVE:
        high -= 1
    marking = list(numbers[:low]) if numbers[low] >= 0.0 else []
    if numbers[high:].size and numbers[high] > _FACTOR * max(numbers[high - 1], 1.0):
        marking += list(numbers[high:])
    elif not marking:
        marking = _repeated(values, shown)
    return [int(np.flatnonzero(values == number)[0]) for number in marking]


def _repeated(values: npt.NDArray[np.float64], shown: IntArray) -> list[float]:
    """The largest or smallest whole numbers that mark a missing value and occur repeatedly."""
    known = np.isfinite(values)
    numbers, order = np.unique(values[known], return_index=True)
    rows = shown[known][order]
    if (numbers % 1.0).any():
        return []
    for sign in (-1, 1):  # from the largest down, then from the smallest up
        ordered, counts = numbers[::sign], rows[::sign]
        size = 0
        while size < numbers.size and ordered[size] in _REPEATED:
            size += 1
        if not 0 < size <= numbers.size - 3 or counts[:size].min() < 2:
            continue
        gaps = np.abs(np.diff(ordered[size - 1 :]))
        least, widest = counts[:size].min(), gaps[1:].max()
        far = gaps[0] > (_LONE if least > counts[size] else _FAR) * widest
        often = least >= _OFTEN * counts[size:].max()
        if far or often:
            return [float(number) for number in ordered[:size]]
    return []
