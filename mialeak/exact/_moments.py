"""The moment function of the log likelihood ratio of a release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._kernels import moments
from mialeak.exact._coordinates import Family, NormalPart
from mialeak.exact._packing import Table, packed

__all__ = ["RatioMoments"]

ComplexArray = npt.NDArray[np.complex128]
Sums = tuple[float, float, float]

#: Standard deviations to either side that the first table serves, in theta and in frequency.
_TILT, _FREQUENCY = 12.5, 13.0
#: A table is made anew, wider, where more than this share of a tilted law is at an end.
_CUT = 3e-16
#: Products below 2^-_FLOOR are bounds.
_FLOOR = 128.0
#: Nodes for which partial products are held at once.
_NODES = 1 << 12


class RatioMoments:
    """``M(s) = E e^(s l)`` out, l the log ratio of all coordinates: what an inversion asks for."""

    def __init__(self, families: Sequence[Family], normal: NormalPart | None):
        self.families, self.normal = families, normal
        variance = sum(float(f.copies @ f.ratio_spread**2) for f in families)
        if normal is not None:
            variance += normal.local(0.0)[2]
        self.spread = float(np.sqrt(variance))
        self._tables: list[Table] = []
        self._kept: list[tuple[Table, float, FloatArray, Sums]] = []

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest finite log ratio."""
        low = sum(float(f.copies @ f.least) for f in self.families)
        high = sum(float(f.copies @ f.most) for f in self.families)
        if self.normal is not None:
            low, high = -np.inf, high + self.normal.most
        slack = 1e-13 * (abs(low) + abs(high)) if self.normal is None else 0.0
        return low - slack, high + slack

    @property
    def pole(self) -> float:
        """The largest theta below 0 at which ``M`` is infinite."""
        return -np.inf if self.normal is None else 1.0 - self.normal.n

    def last(self, direction: str) -> float:
        """The epsilon that holds where delta is 0: from outcomes however unlikely."""
        if direction == "out":
            ruled_out = self.normal is not None or any(f.ruled_out for f in self.families)
            return (
                np.inf
                if ruled_out
                else sum((float(f.copies @ -f.least) for f in self.families), 0.0)
            )
        high = self.normal.most if self.normal is not None else 0.0
        return high + sum(float(f.copies @ f.highest) for f in self.families)

    def local(self, theta: float) -> tuple[float, float, float]:
        """``K(theta)``, ``K'(theta)`` and ``sqrt K''(theta)``."""
        sums = np.zeros(3)
        if self.families:
            sums += self._tilted(theta, 0.0)[2]
        if self.normal is not None:
            sums += self.normal.local(theta)
        return float(sums[0]), float(sums[1]), float(np.sqrt(sums[2]))

    def wave(self, theta: float, start: float, step: float, count: int) -> ComplexArray:
        """``e^(K(s) - K(theta) - i t K'(theta))``, s = theta + it, t = start, start + step, ..."""
        values = np.ones(count, np.complex128)
        if self.families:
            end = start + step * (count - 1)
            for begin in range(0, count, _NODES):
                size = min(_NODES, count - begin)
                place = slice(begin, begin + size)
                values[place] = self._lattice_wave(theta, start + begin * step, step, size, end)
        if self.normal is not None:
            values *= self.normal.wave(theta, np.asarray(start + step * np.arange(count)))
        return values

    def _lattice_wave(
        self, theta: float, start: float, step: float, count: int, end: float
    ) -> ComplexArray:
        table, tilted, _ = self._tilted(theta, end)
        product = np.empty((count, 3, moments.LANES))
        scratch = np.empty(moments.SCRATCH * table.rows)
        moments.moment_wave(
            table.first,
            table.weight,
            table.ratio,
            table.copies,
            theta,
            start,
            step,
            _FLOOR,
            tilted,
            scratch,
            product,
        )
        values = np.prod(product[:, 0] + 1j * product[:, 1], axis=1)
        return np.asarray(values * np.exp2(product[:, 2].sum(axis=1)))

    def full_table(self) -> Table:
        """Every count of every coordinate that matters near the two worlds."""
        return self._table(1.0, np.inf, 1.0)

    def _tilted(self, theta: float, most_t: float) -> tuple[Table, FloatArray, Sums]:
        """A table that serves, what the kernel needs of it at theta, and its sums."""
        for table, at, tilted, sums in self._kept:
            if at == theta and most_t <= table.most_t:
                return table, tilted, sums
        wider = 1.0
        while True:
            table = self._table(theta, most_t, wider)
            tilted = np.empty(moments.TILTED * table.copies.size // moments.LANES)
            sums = moments.moment_sums(
                table.first,
                table.weight,
                table.ratio,
                table.lost,
                table.copies,
                theta,
                np.empty(moments.SCRATCH * table.rows),
                tilted,
            )
            if table.cut(theta, tilted) <= _CUT:
                self._kept = [*self._kept[-1:], (table, theta, tilted, sums)]
                return table, tilted, sums
            wider *= 1.5

    def _table(self, theta: float, most_t: float, wider: float) -> Table:
        for table in self._tables:
            if abs(theta) <= table.most_theta and most_t <= table.most_t and wider == 1.0:
                return table
        most_theta = max(2.0 * abs(theta), _TILT / self.spread + 1.0)
        first = _FREQUENCY / self.spread
        reach = first if most_t <= first else 2.0 * most_t
        made = packed(self.families, most_theta, reach, wider)
        # One that serves less is kept if it is cheaper.  A new list: threads may read the old one.
        kept = [
            table
            for table in self._tables
            if table.most_t > made.most_t or 2 * table.weight.size < made.weight.size
        ]
        self._tables = sorted([*kept, made], key=lambda table: table.most_t)
        return made
