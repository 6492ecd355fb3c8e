"""Leakage of a procedure on a sample of a register, of its mechanisms cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, unsupported
from mialeak.discrete import max_leakage
from mialeak.mechanisms._builtin import CellMechanism, Histogram
from mialeak.mechanisms._cellwise import leaked, total, window
from mialeak.populations import Register
from mialeak.special import binom_logpmf, hypergeom_logpmf

__all__ = ["register_leakage"]

#: Counts of cells worked on at once, and of a single cell at most.
_BLOCK, _WIDEST = 2**18, 2**27


def register_leakage(
    mechanism: Any, register: Register, n: int | None, gamma: float
) -> tuple[float, float, str]:
    """Lower and upper bound, equal where exact, and the method.

    With a rate the cells are independent, and the target's own is all that bears on the target.  In
    a sample of n people the other cells do too: the leakage lies between that of the target's own
    cell as released and that of all counts as they are.
    """
    raw = float(max_leakage(register, n, gamma=gamma))  # refuses n
    if isinstance(mechanism, Histogram):
        return raw, raw, "closed form"
    if not isinstance(mechanism, CellMechanism):
        why = "only mechanisms that treat each cell by itself have an answer for its samples"
        remedy = "max_leakage bounds the leakage of every procedure"
        unsupported("An answer", "for this mechanism and a Register", why, remedy)
    share = n / register.people if register.rate is None else register.rate  # type: ignore[operator]
    sizes, cells = register.cell_sizes.astype(np.float64), register.cells_per_size
    terms = []
    for first, last, start, width in _blocks(mechanism, sizes, share):
        size = sizes[first:last, None]
        counts = (start[:, None] + np.arange(width)).astype(np.float64)
        with np.errstate(under="ignore"):
            if register.rate is None:
                log = hypergeom_logpmf(counts, float(register.people), size, float(n or 0))
            else:
                log = binom_logpmf(counts, size, register.rate)
            gain = counts / share - gamma * ((size - counts) / (1.0 - share))
            measure = np.exp(log) * (gain / register.people)
        terms.append(leaked(mechanism.push(measure, start), gamma).sum(axis=1))
    own = min(total(np.concatenate(terms) * cells), 1.0)
    if register.rate is not None:
        return own, own, "own cell"
    return min(own, raw), raw, "own cell and raw counts"


def _blocks(
    mechanism: CellMechanism, sizes: FloatArray, share: float
) -> Iterator[tuple[int, int, Any, int]]:
    """Consecutive sizes, the first count of each that matters, and how many do."""
    low, high = window(share * sizes)
    grain, phase = mechanism.grain, mechanism.phase
    starts = ((low.astype(np.int64) - phase) // grain) * grain + phase
    ends = np.minimum(high, sizes).astype(np.int64) + 1
    widths = -(-(ends - starts) // grain) * grain
    if widths.max() > _WIDEST:
        why = f"a cell has more than {_WIDEST:,} counts that matter"
        unsupported(
            "The leakage of the mechanism", "for this Register", why, "Pass a smaller register"
        )
    first = 0
    while first < sizes.size:
        last = first + max(1, min(_BLOCK // int(widths[first:].max()), sizes.size - first))
        yield first, last, starts[first:last], int(widths[first:last].max())
        first = last
