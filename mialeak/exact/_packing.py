"""Packing of the outcomes of all coordinates for the kernels, eight coordinates to a tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._blocks import map_blocks
from mialeak._kernels import moments
from mialeak.exact._coordinates import CoordinateFamily

__all__ = ["DEVIATIONS", "KeptOutcomes", "PackedOutcomes", "pack"]

IntArray = npt.NDArray[np.int64]

#: Range of stored counts in standard deviations; the tail mass beyond is 2 e^(-8.8^2/2) = 3e-17.
DEVIATIONS = 8.8
#: A sum over every h-th count errs by e^(-a^2/2), a = 2 pi spread/h less the frequency, both in
#: standard deviations: 1e-16 here.
_ALIAS = 8.6
#: Rows of tiles computed at once: their dozen arrays stay in the second-level cache.
_ROWS = 1 << 12


@dataclass(frozen=True)
class PackedOutcomes:
    """Tiles of eight coordinates, those of a family with the fewest outcomes first.

    Attributes
    ----------
    first, lost, copies : ndarray
        Arguments of the kernels, beside those of :meth:`outcomes`.
    most_theta, most_t : float
        ``M(theta + it)`` is accurate up to these; ``most_t`` is inf if every count is stored.
    ends : pair of (mass, ratio), each (tiles, 8) ndarray
        For the lower and the upper end of each range of counts: the approximate tail mass beyond it
        (0 if the range is complete), and the log ratio at the end.
    """

    first: IntArray
    lost: FloatArray
    copies: FloatArray
    most_theta: float
    most_t: float
    ends: tuple[tuple[FloatArray, FloatArray], ...]
    pieces: Sequence[_Tiles]

    @property
    def rows(self) -> int:
        """Rows of the longest tile."""
        return int(np.diff(self.first).max())

    def outcomes(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Weights and log ratios of the tiles from `start` to `stop`, one row a count."""
        origin, end = int(self.first[start]), int(self.first[stop])
        weight, ratio = np.empty((2, end - origin, moments.LANES))
        for block in _tile_blocks(self.first, start, stop):
            self._fill(block, weight, ratio, origin)
        return weight, ratio

    def _fill(
        self, block: tuple[int, int], weight: FloatArray, ratio: FloatArray, origin: int
    ) -> None:
        """The outcomes of consecutive tiles, into arrays that begin at the row `origin`."""
        place = 0
        for piece in self.pieces:
            start, stop = max(block[0], place), min(block[1], place + piece.rows.size)
            if start < stop:
                rows = slice(int(self.first[start]) - origin, int(self.first[stop]) - origin)
                piece.fill(start - place, stop - place, weight[rows], ratio[rows])
            place += piece.rows.size

    def kept(self, workers: int) -> KeptOutcomes:
        """The same with its outcomes in memory."""
        weight, ratio = np.empty((2, int(self.first[-1]), moments.LANES))

        def fill(block: tuple[int, int]) -> None:
            self._fill(block, weight, ratio, 0)

        for _ in map_blocks(fill, _tile_blocks(self.first, 0, self.first.size - 1), workers):
            pass
        return KeptOutcomes(**vars(self), weight=weight, ratio=ratio)

    def cut(self, theta: float, tilted: FloatArray) -> float:
        """Largest relative tail mass of a tilted coordinate beyond an end of its range."""
        tiles = tilted.reshape(-1, moments.TILTED)
        shift = tiles[:, moments.SHIFT : moments.SHIFT + moments.LANES]
        total = tiles[:, moments.TOTAL : moments.TOTAL + moments.LANES]
        worst = 0.0
        for weight, ratio in self.ends:
            with np.errstate(divide="ignore", over="ignore"):
                share = np.exp(np.log(weight) + theta * ratio - shift - np.log(total))
            worst = max(worst, float(share.max(initial=0.0)))
        return worst


@dataclass(frozen=True)
class KeptOutcomes(PackedOutcomes):
    """Tiles whose outcomes are in memory.

    Attributes
    ----------
    weight, ratio : (rows, 8) ndarray
        Those of all tiles.
    """

    weight: FloatArray
    ratio: FloatArray

    def outcomes(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        rows = slice(int(self.first[start]), int(self.first[stop]))
        return self.weight[rows], self.ratio[rows]

    def kept(self, workers: int) -> KeptOutcomes:
        return self


def pack(
    families: Sequence[CoordinateFamily],
    most_theta: float,
    most_t: float,
    wider: float = 1.0,
) -> PackedOutcomes:
    """Pack the coordinates for `abs(theta) <= most_theta` and `abs(t) <= most_t`.

    Parameters
    ----------
    wider : float
        Factor on the range of counts.
    """
    pieces = [_Tiles.of(family, most_theta, most_t, wider) for family in families]
    rows = _joined([piece.rows for piece in pieces])
    return PackedOutcomes(
        np.concatenate([[0], np.cumsum(rows)]).astype(np.int64),
        _joined([piece.lost for piece in pieces]),
        _joined([piece.copies for piece in pieces]),
        most_theta,
        np.inf if all(piece.whole for piece in pieces) else most_t,
        tuple(
            (
                _joined([piece.ends[side][0] for piece in pieces]),
                _joined([piece.ends[side][1] for piece in pieces]),
            )
            for side in (0, 1)
        ),
        pieces,
    )


def _joined(parts: list[Any]) -> Any:
    """One array; a single part, which may be of a million columns, is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True)
class _Tiles:
    """The coordinates of a family in tiles, those with the fewest outcomes first.

    Attributes
    ----------
    family : CoordinateFamily
    which : (tiles, 8) ndarray
        Coordinates; a lane without one holds coordinate 0 with no outcomes.
    count, low, stride : (tiles, 8) ndarray
        Number of counts, the first of them, and their distance.
    lost, copies : (8 tiles,) ndarray
    rows : (tiles,) ndarray
        The largest `count` of each tile.
    ends : pair of (mass, ratio), each (tiles, 8) ndarray
        As in :class:`PackedOutcomes`.
    """

    family: CoordinateFamily
    which: IntArray
    count: IntArray
    low: FloatArray
    stride: FloatArray
    lost: FloatArray
    copies: FloatArray
    rows: IntArray
    ends: tuple[tuple[FloatArray, FloatArray], ...]

    @classmethod
    def of(cls, family: CoordinateFamily, most_theta: float, most_t: float, wider: float) -> _Tiles:
        low, high = family.reach(wider * (DEVIATIONS + most_theta * family.ratio_spread))
        stride = np.ones(low.shape)
        if family.smooth and most_t < np.inf:
            inside = (low > 0.0) & (high < family.last)
            longest = 2.0 * np.pi * family.spread / (_ALIAS + most_t * family.ratio_spread)
            stride = np.where(inside, np.maximum(np.floor(longest), 1.0), 1.0)
        count = np.floor((high - low) / stride).astype(np.int64) + 1
        order = np.argsort(count, kind="stable")
        lanes = moments.LANES
        which = np.zeros((-(-order.size // lanes), lanes), np.int64)
        which.ravel()[: order.size] = order
        real = (np.arange(which.size) < order.size).reshape(which.shape)
        count = np.where(real, count[which], 0)
        known = family.parameters(which)
        ends = []
        for edge, limit in ((low, np.zeros(low.shape)), (high, family.last)):
            cut = real & (edge != limit)[which]
            w, r = family.outcomes(known, edge[which])
            # The tail beyond an end is about a geometric series with the length of the spread.
            ends.append((np.where(cut, w * (1.0 + family.spread[which]), 0.0), r))
        return cls(
            family,
            which,
            count,
            low[which],
            stride[which],
            np.where(real, family.lost[which], 0.0).ravel(),
            np.where(real, family.copies[which], 0.0).ravel(),
            count.max(axis=1),
            tuple(ends),
        )

    @property
    def whole(self) -> bool:
        """Whether every count is stored."""
        return bool(np.all(self.stride == 1.0))

    def fill(self, start: int, stop: int, weight: FloatArray, ratio: FloatArray) -> None:
        """The outcomes of the tiles from `start` to `stop`, normalised to the mass kept."""
        size, which = self.rows[start:stop], self.which[start:stop]
        first = np.cumsum(size) - size
        known = self.family.parameters(which)
        most, lowest, by, *each = (
            np.repeat(x, size, axis=0)
            for x in (
                self.count[start:stop],
                self.low[start:stop],
                self.stride[start:stop],
                *known,
            )
        )
        number = np.arange(weight.shape[0]) - np.repeat(first, size)
        present = number[:, None] < most
        k = np.where(present, lowest + by * number[:, None], lowest)
        w, r = self.family.outcomes(each, k)
        present &= w > 0.0
        w = np.where(present, w, 0.0)
        total = np.add.reduceat(w, first)
        mass = np.where(
            self.copies.reshape(self.which.shape)[start:stop] > 0.0, self.family.kept[which], 1.0
        )
        scale = mass / np.where(total > 0.0, total, 1.0)
        np.multiply(w, np.repeat(scale, size, axis=0), out=weight)
        ratio[:] = np.where(present, r, 0.0)


def _tile_blocks(first: IntArray, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Consecutive tiles with at most `_ROWS` rows together, or one tile."""
    while start < stop:
        end = max(start + 1, int(np.searchsorted(first, first[start] + _ROWS, side="right")) - 1)
        yield start, min(end, stop)
        start = min(end, stop)
