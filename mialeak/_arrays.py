"""Shared conversions of arguments to float64 arrays and to integers, with the errors they raise.

Every message about shape, dtype and domain is worded by :func:`invalid`, in one voice, and every
combination without an answer by :func:`unsupported`:

    ``<argument> must <rule>; got <argument>[<index>] = <value>. <remedy>``
    ``<argument> is not available <case>: <why>. <remedy>``

A conversion never changes a value: an integer that is not a float64 is an error.  Only long
doubles, fractions and decimals are rounded, to the nearest float64, and a probability above 1 by at
most 8 eps, as rounding leaves it, counts as 1.  Arrays that are already float64 are not copied.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mialeak._kernels.checks import within

__all__ = [
    "MASS_TOLERANCE",
    "MAX_COUNT",
    "Fault",
    "FloatArray",
    "Numbers",
    "Unsupported",
    "all_finite",
    "as_choice",
    "as_count",
    "as_counts",
    "as_flag",
    "as_float",
    "as_floats",
    "as_frozen",
    "as_gamma",
    "as_probabilities",
    "as_probability",
    "as_scores",
    "as_share",
    "check_mass",
    "contiguous",
    "every",
    "first_index",
    "for_columns",
    "invalid",
    "listed",
    "plain",
    "refuse_masked",
    "require",
    "require_within",
    "rounded_to_one",
    "unsupported",
    "within",
]

FloatArray = npt.NDArray[np.float64]
#: A matrix whose entries are numbers, small integers as bytes.
Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int8]

#: Largest count for which every integer below it is a float64: the domain of every ``n``.
MAX_COUNT = 2**53

#: Largest deviation from 1 of a sum of probabilities: rounded decimals pass, float32 does not.
MASS_TOLERANCE = 1e-9

#: Largest probability that counts as 1: 8 eps above, as rounding leaves it after about ten steps.
_ROUNDED_ONE = 1.0 + 8.0 * 2.0**-52

#: Largest number of items in an error, and of characters of an item.
_LISTED, _LONGEST = 3, 100

_EXACT = "fit a float64 exactly (integers up to 2**53)"

_MISSING: Any = object()
_FLOAT64 = np.dtype(np.float64)
_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Fault:
    """An argument that breaks a rule: the ``fault`` of the error, in the parts of its message.

    Attributes
    ----------
    argument : str
        The argument, as the caller wrote it.
    rule : str
        What holds for a good argument, after the word "must".
    index : int or tuple of int or None
        Place of the offending element.
    value : str
        The offending value as the message shows it, and not the value itself: that may be large,
        and need not go through a pickle, as errors of workers do.
    remedy : str
        What the caller can do, a sentence of its own.
    """

    argument: str
    rule: str
    index: Any = None
    value: str = ""
    remedy: str = ""

    def sentence(self, option: str = "") -> str:
        """The message; with the option of a shell in place of the argument, if there is one."""
        message = f"{option or self.argument} must {self.rule}"
        if self.value:
            name = "" if option else f"{self.argument}{self._place} = "
            message += f"; got {name}{self.value}"
        return f"{message}. {self.remedy}" if self.remedy else message

    @property
    def _place(self) -> str:
        if self.index is None or self.index == ():
            return ""
        index = self.index
        inner = index[0] if isinstance(index, tuple) and len(index) == 1 else index
        return f"[{', '.join(map(str, inner)) if isinstance(inner, tuple) else inner}]"


@dataclass(frozen=True)
class Unsupported:
    """A combination that has no answer: the ``fault`` of the error, in the parts of its message.

    Attributes
    ----------
    argument : str
        What is not available: an argument, or a noun.
    case : str
        Where it is not: "with noise", "for this target".
    why : str
        The reason.
    remedy : str
        What to do instead, a sentence of its own.
    """

    argument: str
    case: str
    why: str
    remedy: str = ""

    def sentence(self, option: str = "") -> str:
        """The message; with the option of a shell in place of the argument, if there is one."""
        message = f"{option or self.argument} is not available {self.case}: {self.why}"
        return f"{message}. {self.remedy}" if self.remedy else message


def invalid(
    name: str,
    rule: str,
    *,
    index: Any = None,
    value: Any = _MISSING,
    remedy: str = "",
    error: type[Exception] = ValueError,
) -> NoReturn:
    """Raise `error` with a message that states the argument, the rule, the index and the value.

    The parts of the message are its ``fault``, a :class:`Fault`, with the same meanings.

    Parameters
    ----------
    name : str
        The name of the argument.
    rule : str
        The rule that the argument breaks, as text after the word "must".
    index : int or tuple of int, optional
        Index of the offending element.
    value : object, optional
        The offending value.
    remedy : str, optional
        A separate sentence that states what to do.
    """
    if isinstance(value, np.generic):
        value = value.item()
    shown = "" if value is _MISSING else _shortened(repr(value))
    _refuse(Fault(name, rule, index, shown, remedy), error)


def unsupported(
    name: str, case: str, why: str, remedy: str = "", *, error: type[Exception] = ValueError
) -> NoReturn:
    """Raise `error` for a combination that has no answer, though no argument is wrong by itself.

    The message is "<name> is not available <case>: <why>. <remedy>", and its parts are the
    ``fault`` of the error, an :class:`Unsupported`.
    """
    _refuse(Unsupported(name, case, why, remedy), error)


def _refuse(fault: Fault | Unsupported, error: type[Exception]) -> NoReturn:
    refusal = error(fault.sentence())
    refusal.fault = fault  # type: ignore[attr-defined]
    raise refusal


def listed(items: Iterable[Any], *, show: Callable[[Any], str] = repr, most: int = _LISTED) -> str:
    """The first `most` items, comma-separated, and the number of further items.

    All lists in errors and reports come from here: no line grows with the input.
    """
    items = list(items)
    words = ", ".join(_shortened(show(item)) for item in items[:most])
    return f"{words} and {len(items) - most:,} more" if len(items) > most else words


def _shortened(text: str) -> str:
    """`text`, or its beginning and end if it is longer than `_LONGEST`."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 20]}...{text[-17:]}"


def first_index(bad: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the first true element of `bad` in C order, as Python integers."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))


def every(good: Any) -> bool:
    """``np.all(good)``, in a third of its time for small arrays."""
    if isinstance(good, np.ndarray):
        return int(np.count_nonzero(good)) == good.size
    return bool(good)


def all_finite(values: FloatArray) -> bool:
    """Whether every number is finite, without a temporary array."""
    return within(values, -_LARGEST, _LARGEST)


def require(good: Any, values: Any, name: str, rule: str, *, remedy: str = "") -> None:
    """Raise by :func:`invalid` for the first element of `values` where `good` is false.

    Write `good` as the condition that must hold: NaN compares false and is then refused.
    """
    if every(good):
        return
    good = np.asarray(good)
    index = first_index(~good)
    values = np.broadcast_to(np.asarray(values), good.shape)
    invalid(name, rule, index=index, value=values[index], remedy=remedy)


def require_within(
    values: FloatArray, low: float, high: float, name: str, rule: str, *, remedy: str = ""
) -> None:
    """Raise as :func:`require` for the first number that is not between `low` and `high`."""
    if not within(values, low, high):
        require((values >= low) & (values <= high), values, name, rule, remedy=remedy)


def as_floats(
    values: Any, name: str, *, ndim: int | None = None, finite: bool = False
) -> FloatArray:
    """`values` as a float64 array of any layout, without a copy if `values` already is one.

    Accepts sequences, arrays, memory maps, and objects with ``__array__`` or ``__dlpack__``.
    Strings, complex numbers, dates and ragged sequences raise TypeError.
    """
    if type(values) is not np.ndarray:
        values = _to_array(values, name)
    if values.dtype != _FLOAT64:
        values = _as_float64(values, name)
    if ndim is not None and values.ndim != ndim:
        invalid(name, f"have {ndim} dimension{'s' * (ndim != 1)}; its shape is {values.shape}")
    if finite and not all_finite(values):
        require(np.isfinite(values), values, name, "be finite")
    floats: FloatArray = values
    return floats


def refuse_masked(values: Any, name: str) -> None:
    """Raise TypeError for an array with masked entries: a conversion would drop the mask."""
    if type(values) is np.ndarray or not isinstance(values, np.ndarray):
        return
    if np.any(getattr(values, "mask", False)):
        remedy = f"Pass {name}.compressed(), or {name}.filled(...) with a value"
        invalid(name, "have no masked entries", remedy=remedy, error=TypeError)


def _to_array(values: Any, name: str) -> npt.NDArray[Any]:
    refuse_masked(values, name)
    try:
        if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            return np.from_dlpack(values)
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        # A ragged sequence, or a torch tensor on a GPU or that requires grad.
        remedy = ""
        if hasattr(values, "detach"):
            is_half = "bfloat16" in str(error).lower()
            remedy = f"Pass {name}.detach().cpu(){'.float()' * is_half}"
        invalid(name, f"be an array of numbers ({error})", remedy=remedy, error=TypeError)


def _as_float64(values: npt.NDArray[Any], name: str) -> FloatArray:
    if values.dtype.kind not in "fiub":
        return _numbers_of(values, name)
    if values.dtype.kind in "iu" and values.size and values.dtype.itemsize == 8:
        exact = (values <= MAX_COUNT) & (values >= -MAX_COUNT)
        require(exact, values, name, _EXACT)
    return values.astype(np.float64)


def _numbers_of(values: npt.NDArray[Any], name: str) -> FloatArray:
    """Convert an object array of numbers (as from pandas); raise TypeError for others."""
    if values.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in values.flat):
        fits = [not isinstance(v, int) or abs(v) <= MAX_COUNT for v in values.flat]
        require(np.reshape(fits, values.shape), values, name, _EXACT)
        try:
            return values.astype(np.float64)
        except OverflowError:  # of a fraction or a decimal
            invalid(name, "hold numbers below 1.8e308", error=ValueError)
        except (TypeError, ValueError):
            pass
    invalid(name, f"be an array of real numbers, not of dtype {values.dtype}", error=TypeError)


def as_float(value: Any, name: str) -> float:
    """`value` as one finite float; raises TypeError if it is not a single real number."""
    if type(value) is float or type(value) is int:
        if type(value) is int and abs(value) > MAX_COUNT:
            invalid(name, _EXACT, value=value)
        number = float(value)
    else:
        array = as_floats(value, name)
        if array.ndim:
            invalid(name, f"be one number; its shape is {array.shape}", error=TypeError)
        number = float(array)
    if not math.isfinite(number):
        invalid(name, "be finite", value=number)
    return number


def as_share(value: Any, name: str) -> float:
    """`value` as one float strictly between 0 and 1: a confidence, a power, a budget."""
    share = as_float(value, name)
    if not 0.0 < share < 1.0:
        invalid(name, "be strictly between 0 and 1", value=share)
    return share


def for_columns(array: FloatArray, columns: int) -> FloatArray:
    """One number for each column: `array` itself, or a scalar repeated."""
    return array if array.ndim else np.full(columns, array)


def contiguous(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` as the kernels require it, C-contiguous and aligned; a copy only if needed."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else array.copy()


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> Any:
    """`value`, which must be one of the words in `choices`."""
    if not isinstance(value, str) or value not in choices:
        *others, last = (f'"{word}"' for word in choices)
        invalid(name, f"be {', '.join(others)} or {last}", value=value)
    return value


def as_flag(value: Any, name: str) -> bool:
    """`value`, which must be True or False: words and other numbers count as true."""
    if not isinstance(value, (bool, np.bool_)):
        invalid(name, "be True or False", value=value, error=TypeError)
    return bool(value)


def as_probabilities(values: Any, name: str, *, ndim: int | None = None) -> FloatArray:
    """`values` as laws along the last axis: numbers between 0 and 1 that sum to 1."""
    laws = as_floats(values, name, ndim=ndim)
    if laws.ndim == 0:
        invalid(name, "be an array of probabilities, one for each outcome")
    if not within(laws, 0.0, 1.0):
        laws = rounded_to_one(laws)
        remedy = "Divide by the sum" if np.any(laws > 1.0) else ""
        require_within(laws, 0.0, 1.0, name, "hold probabilities between 0 and 1", remedy=remedy)
    for total in np.ravel(laws.sum(axis=-1)).tolist():
        check_mass(total, name, "Divide by the sum")
    return laws


def rounded_to_one(p: FloatArray) -> FloatArray:
    """`p` with 1 in place of what is above 1 by at most 8 eps; `p` itself if nothing is."""
    if within(p, -math.inf, 1.0):
        return p
    return np.where((p > 1.0) & (p <= _ROUNDED_ONE), 1.0, p)


def check_mass(mass: float, name: str, remedy: str) -> None:
    """Raise ValueError if the sum `mass` of probabilities is not 1."""
    if not abs(mass - 1.0) <= MASS_TOLERANCE:
        invalid(name, f"sum to 1 within 1e-9; the sum is {mass!r}", remedy=remedy)


def as_count(value: Any, name: str, *, least: int = 0, most: int = MAX_COUNT) -> int:
    """`value` as one exact integer in [`least`, `most`], by ``operator.index``.

    Raises
    ------
    TypeError
        If `value` is not an integer; 3.0 is not one.
    ValueError
        Outside the range.
    """
    try:
        count = operator.index(value)
    except TypeError:
        invalid(name, "be an integer", value=value, error=TypeError)
    if not least <= count <= most:
        invalid(name, _range_rule(least, most), value=count)
    return count


def as_counts(
    values: Any, name: str, *, least: int = 0, most: int = MAX_COUNT
) -> npt.NDArray[np.int64]:
    """`values` as an int64 array with every element in [`least`, `most`].

    Raises
    ------
    TypeError
        If the dtype is not an integer one.
    ValueError
        Outside the range, with index and value.
    """
    array = values if type(values) is np.ndarray else _to_array(values, name)
    if array.dtype.kind not in "iu":
        if array.size == 0:
            return np.empty(array.shape, np.int64)
        if array.dtype.kind == "O" and all(isinstance(v, int) for v in array.flat):
            fits = [least <= v <= most for v in array.flat]
            require(np.reshape(fits, array.shape), array, name, _range_rule(least, most))
        missing = array.dtype.kind == "f" and np.isnan(array).any()
        remedy = "Some are missing (NaN): drop them, or fill them in" if missing else ""
        invalid(name, f"be integers, not of dtype {array.dtype}", remedy=remedy, error=TypeError)
    require((array >= least) & (array <= most), array, name, _range_rule(least, most))
    return array.astype(np.int64, copy=False)


def _range_rule(least: int, most: int) -> str:
    top = "2**53" if most == MAX_COUNT else str(most)
    return f"be between {least} and {top}"


def as_probability(values: Any, name: str) -> FloatArray:
    """`values` as an array of numbers in [0, 1]."""
    array = as_floats(values, name)
    if not within(array, 0.0, 1.0):
        array = rounded_to_one(array)
        require_within(array, 0.0, 1.0, name, "be between 0 and 1")
    return array


def as_frozen(values: FloatArray) -> Any:
    """A float, or a read-only copy of an array, for an attribute of an immutable object."""
    if values.ndim == 0:
        return float(values)
    values = values.copy()
    values.setflags(write=False)
    return values


def plain(values: Any) -> float | FloatArray:
    """A scalar if `values` has no axes, otherwise the array."""
    result: float | FloatArray = np.asarray(values)[()]
    return result


def as_gamma(gamma: Any) -> float:
    """`gamma` as a positive, finite float."""
    value = as_float(gamma, "gamma")
    if not value > 0:
        remedy = "It is the weight of the game, 1 by default, and no sampling rate"
        invalid("gamma", "be positive", value=value, remedy=remedy)
    return value


def as_scores(values: Any, name: str) -> FloatArray:
    scores = as_floats(values, name).ravel()
    if scores.size == 0:
        invalid(name, "hold at least one score")
    if not within(scores, -math.inf, math.inf):
        missing = np.isnan(scores)
        rule = f"be free of NaN, which {int(missing.sum())} of {scores.size} are"
        invalid(name, rule, index=first_index(missing), value=float("nan"))
    return scores
