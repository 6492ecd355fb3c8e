"""Values that usually mark a missing one, such as "?", "NA" or -9."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import listed
from mialeak._columns import Factor, numeric_levels
from mialeak._fields import MARKERS, as_numbers, is_number

__all__ = [
    "ENDS_OF_BYTES",
    "MARKING_NUMBERS",
    "cautions_of_gaps",
    "cautions_of_one_row",
    "lone_markers",
    "marker_cautions",
    "may_hold_markers",
    "rows_of_column",
]

IntArray = npt.NDArray[np.int64]

#: Fewest columns whose marks one row holds, which is then no person, and share of all that are met
#: in one row alone: marks of different rows are those of persons.
_LEAST_OF_ROW, _SHARE_OF_ROW = 5, 0.5

#: Numbers that mark a missing value: below all others, none of which is negative, ...
_BELOW = frozenset(
    -float(digit * (10**length - 1) // 9) for digit in (6, 7, 8, 9) for length in range(1, 11)
) | {-97.0, -98.0, -997.0, -998.0, -9997.0, -9998.0, -1.0, -3.0}
#: ... or above all others by this factor; with one decimal or two beside measures.
_ABOVE = frozenset(10.0**length - k for length in range(2, 11) for k in (1, 2, 3, 4)) | {
    float(f"{10**length - 1}.{'9' * decimals}") for length in range(2, 6) for decimals in (1, 2)
}
_FACTOR = 2.0
#: What programs write for a missing number: the ends of whole numbers of 16, 32 and 64 bits (-2**31
#: is NA of R's integers, if a bridge passes the memory on; -2**63 is that of NumPy's dates), the
#: dots of Stata, the fill values of netCDF, and the ends of floats.
_OF_PROGRAMS = (
    *(sign for bits in (16, 32, 64) for sign in (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1.0)),
    *(65535.0, 2.0**32 - 1.0, 2.0**64),
    *(32741.0, 2147483621.0, 2.0**127, 2.0**1023),
    *(9.969209968386869e36, 1e20, 1e30, -1e30, 1e31, -1e31),
    *(sign * float(np.finfo(kind).max) for kind in ("f4", "f8") for sign in (-1.0, 1.0)),
)
#: The ends of numbers of one byte, and one more than the least, beside genotypes alone.
ENDS_OF_BYTES = (-128.0, -127.0, 127.0, 255.0)
#: Numbers nearer to 0 than these are none of them.
_LEAST_OF_PROGRAMS = min(map(abs, _OF_PROGRAMS))
#: All of them.
MARKING_NUMBERS = (*sorted(_BELOW), *sorted(_ABOVE), *sorted(_OF_PROGRAMS))
#: Numbers that mark a missing value nearer to the others, if they are the largest or the smallest
#: and occur in several rows: those above, and 77, 88, 777, ...
_REPEATED = _ABOVE | {float(digit * (10**k - 1) // 9) for digit in (7, 8) for k in range(2, 11)}
#: These, and the numbers below 0.
_CODES = _REPEATED | _BELOW
#: By what factor they are further from the others than these from one another: the second factor
#: suffices, and the first if they are more frequent than the next value.
_LONE, _FAR = 2.0, 4.0
#: Standard deviations of whole numbers up to which the least ones are apart in a tail.
_TAIL = 1.25
#: They occur this many times as often as any other number where they stand near these.
_OFTEN = 3
#: Beside measures they are by this share of the span of all others away from these.
_APART = 0.25
#: Numbers of nines that mark a missing value among the others too, and in how many rows at least.
_NINES, _FEWEST_SPIKE = tuple(10.0**length - 1.0 for length in range(3, 11)), 10
#: 0 marks a missing value among so many different measures, whose mean is so many standard
#: deviations above it, or so many if it occurs once or twice, in 5% of the rows at most; not among
#: doses of an allele.  If it occurs three times, the smallest other number is one deviation above.
_FEWEST_MEASURES, _DEVIATIONS, _FAR_DEVIATIONS, _DOSE = 20, 4.0, 6.0, 2.0
#: The largest share of -1 that marks a missing value beside 0 and 1: more are a third value.
_RARE = 0.05
#: Whole numbers without a gap, at least and at most, among which one that lacks is remarkable.
_FEWEST_NUMBERS, _MOST_NUMBERS = 10, 1000


def marker_cautions(
    factors: dict[Any, Factor],
    weights: IntArray | None = None,
    *,
    cure: str = "pass missing=[{!r}]",
) -> list[str]:
    """A sentence for each marker that is counted as a value, with its cure.

    `weights` are the persons of each row, where a row is not one person.
    """
    met: dict[Any, list[tuple[Any, int]]] = {}
    for name, factor in factors.items():
        for value, rows in lone_markers(factor, weights):
            met.setdefault(value, []).append((name, rows))
    _drop_codes_of_three(met, factors, weights)
    of_one_row = [] if weights is not None else cautions_of_one_row(met, factors)
    return of_one_row + [
        f"{value!r} is counted as a value like any other, "
        f"{listed(places, show=lambda place: rows_of_column(*place))}. "
        f"If it marks a missing value, {cure.format(str(value))}."
        for value, places in met.items()
    ]


def may_hold_markers(column: npt.NDArray[Any]) -> bool:
    """Whether a look at all values of finite numbers is worth while, by the ends of these."""
    low, high = float(column.min()), float(column.max())
    if low in ENDS_OF_BYTES or high in ENDS_OF_BYTES:
        return True
    return low in _CODES or low == 0.0 or high in _REPEATED or max(high, -low) >= _NINES[0]


def cautions_of_gaps(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution where the mark of missing values of another column seems to have been a value.

    A column of many whole numbers lacks one between others, and has about as many missing values
    as its neighbours have rows: 9 marks a missing sex, and nobody is nine years old.
    """
    cautions = []
    for name, factor in factors.items():
        shown = np.flatnonzero(factor.rows_of_level) if factor.n_missing else np.zeros(0, np.int64)
        words = [str(factor.value(code)) for code in shown[: _MOST_NUMBERS + 1].tolist()]
        if not _FEWEST_NUMBERS <= len(words) <= _MOST_NUMBERS or not all(map(is_number, words)):
            continue
        numbers = np.array(words, np.float64)
        order = np.argsort(numbers)
        steps = np.diff(numbers[order])
        gap = int(np.argmax(steps))
        if not np.array_equal(np.sort(steps), [*[1.0] * (steps.size - 1), 2.0]):
            continue
        beside = factor.rows_of_level[shown[order[gap : gap + 2]]]
        fewest = max(_FEWEST_SPIKE, 0.5 * beside.min())
        if fewest <= factor.n_missing <= 2.0 * beside.max():
            value = f"{numbers[order[gap]] + 1.0:g}"
            cautions.append(
                f"Column {name!r} has all numbers beside {value} but not {value}, and "
                f"{factor.n_missing:,} rows without a value, as many as these have: a mark of "
                f"missing values of another column may be a value of this one. If so, name the "
                f"column of the mark, as in missing=['sex={value}']."
            )
    return cautions


def cautions_of_one_row(
    met: dict[Any, list[tuple[Any, int]]], factors: Mapping[Any, Factor]
) -> list[str]:
    """One caution in place of many, where a single row holds the marks of many columns.

    `met` are the columns in which each mark was met, with the rows; those of the row are removed.
    """
    places = [(value, name) for value, held in met.items() for name, rows in held if rows == 1]
    if len(places) < _LEAST_OF_ROW:
        return []
    row_of = {place: _row_of(factors[place[1]], place[0]) for place in places}
    row, columns = Counter(row_of.values()).most_common(1)[0]
    if columns < max(_LEAST_OF_ROW, _SHARE_OF_ROW * len(places)):
        return []
    for value in list(met):
        met[value] = [place for place in met[value] if row_of.get((value, place[0])) != row]
        if not met[value]:
            del met[value]
    value, name = next(place for place, of in row_of.items() if of == row)
    return [
        f"Row {row:,} holds a number far from all others in {columns:,} columns, as {value!r} in "
        f"column {name!r}: it seems to be no person but a line of positions, totals or codes. If "
        "so, take it out of the file."
    ]


def _row_of(factor: Factor, value: Any) -> int:
    """The row that alone holds a value."""
    alone = np.flatnonzero(factor.rows_of_level == 1).tolist()
    code = next(code for code in alone if _same(factor.value(code), value))
    return int(np.flatnonzero(factor.codes == code)[0])


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal, as numbers if they are."""
    words = str(one), str(other)
    if all(map(is_number, words)):
        return float(words[0]) == float(words[1])
    return words[0] == words[1]


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


def rows_of_column(name: Any, rows: int) -> str:
    """In how many rows of which column, in words."""
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
    if "+" in words:  # as of a test, or of the rhesus factor
        markers = [k for k in markers if words[k] != "-"]
    others = [k for k in np.flatnonzero(present).tolist() if words[k].lower() not in MARKERS]
    if not others or not all(is_number(words[k]) for k in others):
        return markers
    values = np.full(len(words), np.nan)
    values[others] = [float(words[k]) for k in others]
    return markers + _far_off(values, shown)


@np.errstate(over="ignore", invalid="ignore")
def _far_off(values: npt.NDArray[np.float64], shown: IntArray) -> list[int]:
    """The codes of the numbers that stand far from all others; NaN is no number."""
    finite = values[np.isfinite(values)]
    if finite.size < 3 or not may_hold_markers(finite):
        return []
    numbers = np.unique(finite)
    if numbers.size < 3:
        return []
    of_programs = np.zeros(numbers.size, np.bool_)
    if max(-numbers[0], numbers[-1]) >= _LEAST_OF_PROGRAMS:
        of_programs = np.isin(numbers, _OF_PROGRAMS)
    if of_programs.any() and not of_programs.all():
        largest = max(np.abs(numbers[~of_programs]).max(), 1.0)
        written = numbers[of_programs & (np.abs(numbers) > _FAR * largest)]
        if written.size:
            others = np.where(np.isin(values, written), np.nan, values)
            codes = [int(np.flatnonzero(values == number)[0]) for number in written]
            return codes + _far_off(others, shown)
    of_bytes = np.isin(numbers, ENDS_OF_BYTES)
    if of_bytes.any() and np.isin(numbers[~of_bytes], (0.0, 1.0, 2.0)).all():
        return [int(np.flatnonzero(values == number)[0]) for number in numbers[of_bytes]]
    low, high = 0, numbers.size
    if -3.0 in numbers and np.array_equal(numbers, -numbers[::-1]):
        return []  # a contrast
    while high - low > 1 and numbers[low] in _BELOW:
        low += 1
    while high - low > 1 and numbers[high - 1] in _ABOVE:
        high -= 1
    marking = list(numbers[:low]) if numbers[low] >= 0.0 else []
    if marking and _is_tail(numbers, low, values, shown):
        return []
    # The oldest may be 97: the marks begin where a number is far above the one before.
    far = [k for k in range(high, numbers.size) if numbers[k] > _FACTOR * max(numbers[k - 1], 1.0)]
    if far:
        marking += list(numbers[far[0] :])
    elif not marking and (numbers[0] in _CODES or numbers[-1] in _REPEATED):
        marking = _repeated(values, shown)
    if not marking and numbers[-1] >= _NINES[0]:
        marking = _spikes(values, shown)
    marking = marking or _zeros(numbers, values, shown)
    return [int(np.flatnonzero(values == number)[0]) for number in marking]


def _is_tail(
    numbers: npt.NDArray[np.float64], low: int, values: npt.NDArray[np.float64], shown: IntArray
) -> bool:
    """Whether the `low` least of whole numbers go on from the others, which grow rare towards them.

    As -1 does in whole numbers around 5, but not in numbers of children, most of which are 0.
    """
    if (numbers % 1.0).any() or numbers.size - low < 3:
        return False
    known = np.isfinite(values)
    rows = shown[known][np.argsort(values[known])]
    chance = np.sqrt(rows[low])
    is_near = np.diff(numbers[: low + 1]).max() <= _TAIL * numbers[low:].std()
    is_edge = rows[low] - 2.0 * chance > 0.5 * rows[low:].max()
    return bool(is_near and not is_edge and rows[:low].max() <= rows[low] + chance)


def _repeated(values: npt.NDArray[np.float64], shown: IntArray) -> list[float]:
    """The largest or smallest whole numbers that mark a missing value and occur repeatedly.

    Beside measures with decimals they are also further from these than a share of their span.
    """
    known = np.isfinite(values)
    numbers, order = np.unique(values[known], return_index=True)
    rows = shown[known][order]
    of_measures = (numbers % 1.0).any()
    for sign in (-1, 1):  # from the largest down, then from the smallest up
        ordered, counts = numbers[::sign], rows[::sign]
        most = 0
        while most < numbers.size and ordered[most] in _CODES:
            most += 1
        for size in range(min(most, numbers.size - 3), 0, -1):
            if counts[:size].min() < 2:
                continue
            gaps = np.abs(np.diff(ordered[size - 1 :]))
            least, widest = counts[:size].min(), gaps[1:].max()
            if of_measures and (least < _OFTEN or gaps[0] < _APART * gaps[1:].sum()):
                continue
            far = gaps[0] > (_LONE if least > counts[size] else _FAR) * widest
            often = least >= _OFTEN * counts[size:].max()
            if far or often:
                return [float(number) for number in ordered[:size]]
    return []


def _spikes(values: npt.NDArray[np.float64], shown: IntArray) -> list[float]:
    """Numbers of nines among the others, which occur far more often than any of these but 0."""
    known = np.isfinite(values)
    rows, numbers = shown[known], values[known]
    is_nines = np.isin(numbers, _NINES)
    others = rows[~is_nines & (numbers != 0.0)]
    fewest = max(_FEWEST_SPIKE, _OFTEN * int(others.max(initial=0)))
    return [float(number) for number in np.unique(numbers[is_nines & (rows >= fewest)])]


def _zeros(
    numbers: npt.NDArray[np.float64], values: npt.NDArray[np.float64], shown: IntArray
) -> list[float]:
    """0 among measures, which are all far above it, in few of the rows."""
    if numbers[0] != 0.0 or numbers[-1] <= _DOSE or numbers.size < _FEWEST_MEASURES:
        return []
    known = np.isfinite(values)
    rows, measures = shown[known & (values != 0.0)], values[known & (values != 0.0)]
    zeros = int(shown[values == 0.0].sum())
    if zeros > _RARE * rows.sum():
        return []
    mean = np.average(measures, weights=rows)
    std = np.sqrt(np.average((measures - mean) ** 2, weights=rows))
    apart = std if zeros >= _OFTEN else _APART * (numbers[-1] - numbers[1])
    if numbers[1] < min(apart, _APART * (numbers[-1] - numbers[1])):
        return []
    return [0.0] if mean > (_DEVIATIONS if zeros >= _OFTEN else _FAR_DEVIATIONS) * std else []
