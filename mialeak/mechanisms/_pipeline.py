"""Protections one after the other, and what a protection changes of a table.

A step takes the law of a number to the law of what is shown for it.  Laws stand on runs of
consecutive integers, a row each; the mass of hidden counts stands beside them, since a later step
does not change a mark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_counts, invalid, unsupported
from mialeak._blocks import as_rng
from mialeak._kernels import enumeration
from mialeak.mechanisms._builtin import (
    CellMechanism,
    Geometric,
    IntArray,
    RandomRound,
    Round,
    Suppress,
)
from mialeak.mechanisms._cell_keys import CellKey
from mialeak.mechanisms._noise import DiscreteGaussian, Synthetic, convolved

__all__ = ["InformationLost", "Pipeline", "information_lost"]

#: Noise beyond this is below e^-46 = 1e-20 in all.
_NEGLIGIBLE = 46.1
#: Widest noise of a step, on either side.
_WIDEST_NOISE = 2**20
#: What is published in place of a hidden count.
_MARK = -1
#: Steps that add noise, and steps that take counts only.
_NOISE, _OF_COUNTS = (Geometric, DiscreteGaussian), (CellKey, Synthetic)

#: Consecutive integers of each row: the mass on them, and the first of them.
Window = tuple[FloatArray, IntArray]


# ---- what each kind of step shows ----


@singledispatch
def _shown(step: Any, mass: FloatArray, first: IntArray) -> Window:
    """The window after a step that hides nothing."""
    raise TypeError(type(step))  # pragma: no cover - Pipeline takes only steps that are listed here


def _mapped(mass: FloatArray, values: IntArray, branches: Iterator[tuple[Any, Any]]) -> Window:
    """The window after a step that shows one of a few numbers, each with a probability."""
    parts = [(np.broadcast_to(shown, values.shape), mass * chance) for shown, chance in branches]
    low = np.min([shown.min(axis=1) for shown, _ in parts], axis=0)
    width = int((np.max([shown.max(axis=1) for shown, _ in parts], axis=0) - low).max()) + 1
    row = width * np.arange(len(mass))[:, None] - low[:, None]
    out = np.zeros(len(mass) * width)
    for shown, part in parts:
        out += np.bincount((shown + row).ravel(), part.ravel(), len(out))
    return out.reshape(len(mass), width), low


def _values(mass: FloatArray, first: IntArray) -> IntArray:
    return np.asarray(first[:, None] + np.arange(mass.shape[1]))


@_shown.register
def _(step: Round, mass: FloatArray, first: IntArray) -> Window:
    values = _values(mass, first)
    return _mapped(mass, values, iter([((values + step.base // 2) // step.base * step.base, 1.0)]))


@_shown.register
def _(step: RandomRound, mass: FloatArray, first: IntArray) -> Window:
    values = _values(mass, first)
    down, up = values // step.base * step.base, (values % step.base) / step.base
    return _mapped(mass, values, iter([(down, 1.0 - up), (down + step.base, up)]))


@_shown.register
def _(step: CellKey, mass: FloatArray, first: IntArray) -> Window:
    return step.push(mass, first), first + step.shifts[0]


@_shown.register
def _(step: DiscreteGaussian, mass: FloatArray, first: IntArray) -> Window:
    noise = step._noise()
    return convolved(mass, noise), first - len(noise) // 2


@_shown.register
def _(step: Geometric, mass: FloatArray, first: IntArray) -> Window:
    reach = _reach(step)
    noisy = np.zeros((len(mass), mass.shape[1] + 2 * reach))
    noisy[:, reach : reach + mass.shape[1]] = mass
    enumeration.geometric_blur(math.exp(-step.epsilon), np.empty(noisy.shape[1]), noisy)
    return noisy, first - reach


def _reach(step: Geometric) -> int:
    if step.epsilon * _WIDEST_NOISE < _NEGLIGIBLE:
        why = f"its noise reaches beyond {_WIDEST_NOISE:,}"
        unsupported(f"{step!r}", "in a Pipeline", why, "Choose a larger epsilon")
    return math.ceil(_NEGLIGIBLE / step.epsilon)


@_shown.register
def _(step: Synthetic, mass: FloatArray, first: IntArray) -> Window:
    return step._window(mass, first)


def _after(step: CellMechanism, mass: FloatArray, first: IntArray) -> tuple[Window, FloatArray]:
    """The window after any step, and the mass that it hides."""
    if isinstance(step, Suppress):
        hidden = step._hidden(_values(mass, first))
        return (np.where(hidden, 0.0, mass), first), np.where(hidden, mass, 0.0).sum(axis=1)
    return _shown(step, mass, first), np.zeros(len(mass))


# ---- one after the other ----


@dataclass(frozen=True, init=False)
class Pipeline(CellMechanism):
    """Several protections, one after the other: each takes what the one before has shown.

    A count that is hidden stays hidden.  The order matters: ``Pipeline(Suppress(7), Round(5))``
    hides the counts below 7 and rounds the others; ``Pipeline(Round(5), Suppress(7))`` rounds
    first, and then hides 0 and 5, so that 7 is hidden and 8 is shown as 10.

    Parameters
    ----------
    *protections : Round, RandomRound, Suppress, Geometric, CellKey, DiscreteGaussian or Synthetic
        In their order; at least one.  A pipeline among them stands for its own steps.

    Raises
    ------
    TypeError
        If there is none, or one is none of these.
    ValueError
        If noise comes after hidden counts, whose mark -1 could then be a noisy count, or if a
        protection that takes counts comes after noise, which can be negative.

    Examples
    --------
    >>> from mialeak.mechanisms import Pipeline, Round, Suppress
    >>> for steps in (Suppress(7), Round(5)), (Round(5), Suppress(7)):
    ...     protection = Pipeline(*steps)
    ...     print(protection.release([6, 7, 8, 11]), f"{protection.atom_leakage(0.05, 100):.3f}")
    [-1  5 10 10] 0.141
    [-1 -1 10 10] 0.099
    """

    protections: tuple[CellMechanism, ...]

    def __init__(self, *protections: CellMechanism) -> None:
        steps: list[CellMechanism] = []
        for place, each in enumerate(protections):
            if isinstance(each, Pipeline):
                steps.extend(each.protections)
            elif isinstance(each, (Round, RandomRound, Suppress, *_NOISE, *_OF_COUNTS)):
                steps.append(each)
            else:
                rule = (
                    "be protections of counts: Round, RandomRound, Suppress, Geometric, CellKey, "
                    "DiscreteGaussian or Synthetic"
                )
                invalid("protections", rule, index=place, value=each, error=TypeError)
        if not steps:
            invalid("protections", "hold at least one protection", error=TypeError)
        noisy = hiding = False
        for place, step in enumerate(steps):
            if hiding and isinstance(step, _NOISE):
                rule = (
                    "add noise before counts are hidden: a noisy -1 would pass for a hidden count"
                )
                invalid(
                    "protections", rule, index=place, value=step, remedy="Put Suppress after it"
                )
            if noisy and isinstance(step, _OF_COUNTS):
                rule = "take counts before noise is added, which can make them negative"
                invalid("protections", rule, index=place, value=step, remedy="Put it first")
            noisy, hiding = noisy or isinstance(step, _NOISE), hiding or isinstance(step, Suppress)
        object.__setattr__(self, "protections", tuple(steps))

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(map(repr, self.protections))})"

    @property
    def random(self) -> bool:  # type: ignore[override]
        """Whether a step is random."""
        return any(step.random for step in self.protections)

    def _of_release(self, n: float) -> Pipeline:
        steps = []
        for step in self.protections:
            steps.append(step._of_release(n))
            n = float(step.rows) if isinstance(step, Synthetic) else n
        return Pipeline(*steps)

    def _outcomes(self, last: IntArray, widths: IntArray) -> IntArray:
        for step in self.protections:
            after = step._outcomes(last, widths)
            if isinstance(step, Geometric):
                after = after + 2 * _reach(step)
            last = after if isinstance(step, Synthetic) else last + np.maximum(after - widths, 0)
            widths = after
        return widths

    def push(self, measure: FloatArray, first: IntArray) -> FloatArray:
        """The mass of each number that is shown after the last step, and of hidden counts."""
        (shown, _), hidden = self._window(measure, first)
        return np.column_stack([shown, hidden])

    def _window(self, measure: FloatArray, first: IntArray) -> tuple[Window, FloatArray]:
        hidden = np.zeros(len(measure))
        for step in self.protections:
            (measure, first), more = _after(step, measure, first)
            hidden += more
        return (measure, first), hidden

    def release(self, counts: Any, *, rng: Any = None) -> npt.NDArray[np.int64]:
        """What is published: -1 where a count is hidden."""
        values = as_counts(counts, "counts")
        hidden, generator = np.zeros(values.shape, np.bool_), as_rng(rng)
        for step in self._of_release(max(float(values.sum()), 1.0)).protections:
            if isinstance(step, Suppress):
                hidden |= step._hidden(values)
            elif isinstance(step, Round):
                values = (values + step.base // 2) // step.base * step.base
            elif isinstance(step, RandomRound):
                up = generator.integers(0, step.base, values.shape) < values % step.base
                values = (values // step.base + up) * step.base
            elif isinstance(step, _NOISE):
                values = values + step.release(np.zeros_like(values), rng=generator)
            else:
                values = step.release(values, rng=generator)
        return np.where(hidden, _MARK, values)


# ---- what it costs ----


@dataclass(frozen=True)
class InformationLost:
    """What a protection changes of a table, on average over its chance.

    Attributes
    ----------
    hidden : float
        Share of the cells whose count is hidden.
    change : float
        Mean absolute difference of the shown counts from the true ones; synthetic counts are
        scaled to the rows of the table.

    Examples
    --------
    >>> from mialeak.mechanisms import Suppress, information_lost
    >>> information_lost(Suppress(5), [1, 3, 8, 30])
    InformationLost(hidden=0.5, change=0.0)
    """

    hidden: float
    change: float


def information_lost(protection: CellMechanism, counts: Any) -> InformationLost | None:
    """What a protection changes of a table of counts.

    Parameters
    ----------
    protection : Round, Suppress, Pipeline, ...
        One of those that :class:`Pipeline` takes, or a pipeline.
    counts : array_like of int
        The true counts.

    Returns
    -------
    InformationLost or None
        None for another protection, whose outcomes have no numbers.

    Raises
    ------
    ValueError
        If there is no count, or one is negative; TypeError if one is not an integer.

    Examples
    --------
    >>> from mialeak.mechanisms import Geometric, Round, information_lost
    >>> for protection in (Round(5), Geometric(0.5)):
    ...     print(f"{information_lost(protection, [1, 3, 8, 30]).change:.2f}")
    1.25
    1.92
    """
    steps = protection.protections if isinstance(protection, Pipeline) else (protection,)
    if not all(isinstance(s, (Round, RandomRound, Suppress, *_NOISE, *_OF_COUNTS)) for s in steps):
        return None
    sizes, cells = np.unique(as_counts(counts, "counts"), return_counts=True)
    if not sizes.size:
        invalid("counts", "hold at least one cell")
    if isinstance(protection, Geometric):  # E|Z| = 1/sinh(epsilon), however wide the noise
        noise = 2.0 * math.exp(-protection.epsilon) / -math.expm1(-2.0 * protection.epsilon)
        return InformationLost(0.0, noise)
    rows = float(sizes @ cells)
    pipeline = Pipeline(*steps)._of_release(max(rows, 1.0))
    drawn = [step.rows for step in steps if isinstance(step, Synthetic)]
    scale = rows / drawn[-1] if drawn else 1.0
    hidden = change = 0.0
    for size, times in zip(sizes.tolist(), cells.tolist(), strict=True):
        (shown, first), marks = pipeline._window(np.ones((1, 1)), np.array([size]))
        hidden += times * float(marks[0])
        change += times * float(shown[0] @ np.abs(scale * _values(shown, first)[0] - size))
    total = float(cells.sum())
    seen = total - hidden
    return InformationLost(hidden / total, change / seen if seen > 1e-12 * total else 0.0)
