"""Packing of the outcomes of all coordinates for the kernels, eight coordinates to a tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._blocks import map_blocks
from mialeak._kernels import moments
from mialeak.exact._coordinates import CoordinateFamily

__all__ = ["DEVIATIONS", "PackedOutcomes", "pack"]

IntArray = npt.NDArray[np.int64]

#: Range of stored counts in standard deviations; the tail mass beyond is 2 e^(-8.8^2/2) = 3e-17.
DEVIATIONS = 8.8
#: A sum over every h-th count errs by e^(-a^2/2), a = 2 pi spread/h less the frequency, both in
#: standard deviations: 1e-16 here.
_ALIAS = 8.6
#: Rows of tiles computed at once: their dozen arrays stay in the second-level cache.
_ROWS = 1 << 12
# All outcomes stay in memory, 400 bytes a column.  A curve of a million columns is 31 sums and
# waves over them: outcomes made anew for each, 2.6 s, would take ten times the 9 s of the curve.


@dataclass(frozen=True)
class PackedOutcomes:
    """Tiles of eight coordinates, those with the fewest outcomes first.

    Attributes
    ----------
    first, weight, ratio, lost, copies : ndarray
        The arguments of the kernels.
    most_theta, most_t : float
        ``M(theta + it)`` is accurate up to these; ``most_t`` is inf if every count is stored.
    ends : pair of (mass, ratio), each (tiles, 8) ndarray
        For the lower and the upper end of each range of counts: the approximate tail mass beyond it
        (0 if the range is complete), and the log ratio at the end.
    """

    first: IntArray
    weight: FloatArray
    ratio: FloatArray
    lost: FloatArray
    copies: FloatArray
    most_theta: float
    most_t: float
    ends: tuple[tuple[FloatArray, FloatArray], ...]

    @property
    def rows(self) -> int:
        """Rows of the longest tile."""
        return int(np.diff(self.first).max())

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


def pack(
    families: Sequence[CoordinateFamily],
    most_theta: float,
    most_t: float,
    wider: float = 1.0,
    workers: int = 1,
) -> PackedOutcomes:
    """Pack the outcomes for `abs(theta) <= most_theta` and `abs(t) <= most_t`.

    Parameters
    ----------
    wider : float
        Factor on the range of counts.
    workers : int
        Threads that compute outcomes; the bits are the same for any number.
    """
    pieces = [_family_tiles(family, most_theta, most_t, wider, workers) for family in families]
    if len(pieces) == 1:  # may be of a million columns: not copied
        return pieces[0]
    rows = np.concatenate([np.diff(piece.first) for piece in pieces])
    whole = all(piece.most_t == np.inf for piece in pieces)
    return PackedOutcomes(
        np.concatenate([[0], np.cumsum(rows)]).astype(np.int64),
        np.concatenate([piece.weight for piece in pieces]),
        np.concatenate([piece.ratio for piece in pieces]),
        np.concatenate([piece.lost for piece in pieces]),
        np.concatenate([piece.copies for piece in pieces]),
        most_theta,
        np.inf if whole else most_t,
        tuple(
            (
                np.concatenate([piece.ends[side][0] for piece in pieces]),
                np.concatenate([piece.ends[side][1] for piece in pieces]),
            )
            for side in (0, 1)
        ),
    )


def _family_tiles(
    family: CoordinateFamily, most_theta: float, most_t: float, wider: float, workers: int
) -> PackedOutcomes:
    low, high = family.reach(wider * (DEVIATIONS + most_theta * family.ratio_spread))
    stride = np.ones(low.shape)
    if family.smooth and most_t < np.inf:
        inside = (low > 0.0) & (high < family.last)
        longest = 2.0 * np.pi * family.spread / (_ALIAS + most_t * family.ratio_spread)
        stride = np.where(inside, np.maximum(np.floor(longest), 1.0), 1.0)
    count = np.floor((high - low) / stride).astype(np.int64) + 1
    order = np.argsort(count, kind="stable")
    lanes = moments.LANES
    tiles = -(-order.size // lanes)
    # A lane without a coordinate holds coordinate 0 with no outcomes.
    which = np.zeros(tiles * lanes, np.int64)
    which[: order.size] = order
    real = np.arange(which.size) < order.size
    count = np.where(real, count[which], 0)
    rows = count.reshape(tiles, lanes).max(axis=1)
    first = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    weight, ratio = np.empty((first[-1], lanes)), np.empty((first[-1], lanes))
    lost, kept = np.where(real, family.lost[which], 0.0), np.where(real, family.kept[which], 1.0)
    known = family.parameters(which)
    of_tiles = [x.reshape(tiles, lanes) for x in (count, low[which], stride[which], *known)]
    kept = kept.reshape(tiles, lanes)

    def fill(block: tuple[int, int]) -> None:
        """The outcomes of the tiles from `start` to `stop`, normalised to the mass kept."""
        start, stop = block
        size = rows[start:stop]
        most, lowest, by, *each = (np.repeat(x[start:stop], size, axis=0) for x in of_tiles)
        number = np.arange(first[start], first[stop]) - np.repeat(first[start:stop], size)
        present = number[:, None] < most
        k = np.where(present, lowest + by * number[:, None], lowest)
        w, r = family.outcomes(each, k)
        present &= w > 0.0
        w = np.where(present, w, 0.0)
        total = np.add.reduceat(w, first[start:stop] - first[start])
        scale = kept[start:stop] / np.where(total > 0.0, total, 1.0)
        np.multiply(w, np.repeat(scale, size, axis=0), out=weight[first[start] : first[stop]])
        ratio[first[start] : first[stop]] = np.where(present, r, 0.0)

    for _ in map_blocks(fill, _tile_blocks(first), workers):
        pass
    ends = []
    for edge, limit in ((low, np.zeros(low.shape)), (high, family.last)):
        cut = real & (edge[which] != limit[which])
        w, r = family.outcomes(known, edge[which])
        # The tail beyond an end is about a geometric series with the length of the spread.
        beyond = w * (1.0 + family.spread[which])
        ends.append((np.where(cut, beyond, 0.0).reshape(tiles, lanes), r.reshape(tiles, lanes)))
    copies = np.where(real, family.copies[which], 0.0)
    whole = most_t if bool(np.any(stride > 1.0)) else np.inf
    return PackedOutcomes(first, weight, ratio, lost, copies, most_theta, whole, tuple(ends))


def _tile_blocks(first: IntArray) -> Iterator[tuple[int, int]]:
    """Consecutive tiles with at most `_ROWS` rows together, or one tile."""
    start, tiles = 0, first.size - 1
    while start < tiles:
        stop = max(start + 1, int(np.searchsorted(first, first[start] + _ROWS, side="right")) - 1)
        yield start, min(stop, tiles)
        start = min(stop, tiles)
