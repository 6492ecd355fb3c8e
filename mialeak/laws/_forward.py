"""Probabilities of released counts of a chain of second order, by sums over hidden counts.

Of m haplotypes c have a one in a column, e in the next, and h, which a release does not show, in
both.  Given c, e and h the four groups of haplotypes, by their two values, are uniform whatever
came before, so that with g the count of the column after these::

    h' = Binomial(h, p11) + Binomial(e - h, p01)
    g - h' = Binomial(c - h, p10) + Binomial(m - c - e + h, p00)

and the law of h given the counts so far follows column by column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak.special import binom_logpmf

__all__ = ["log_chances"]

IntArray = npt.NDArray[np.int64]

#: Hidden counts whose share falls below e to the minus first are omitted, and the probability of
#: paths through those below e to the minus second, which is larger than that of the omitted paths,
#: is computed.  Where it is above `_OMITTED`, the next depths are taken; the last omits nothing.
#: Flows between groups are omitted at twice the depth: far below the least share that is kept.
_DEPTHS = ((46.0, 41.0), (200.0, 180.0), (1e5, 1e5))
_OMITTED = 1e-13
#: A count whose log probability is about half of this below the likeliest is far from its mean:
#: tables are tilted towards it, as float64 may not hold them.
_FAR = 40.0
#: Steps of the equation for the tilt, and its largest solution: the odds of 2**-1000 are e^-693.
_STEPS, _STEEP = 100, 1500.0
#: Entries of the transition matrices in memory at once.
_ENTRIES = 1 << 17


class _Hidden(NamedTuple):
    """The law of the hidden count of each release, from `low` on."""

    low: IntArray
    share: FloatArray  # releases x counts; rows sum to 1
    edge: FloatArray  # the part of it whose paths came through the edge of a band

    def kept(self, good: npt.NDArray[np.bool_]) -> _Hidden:
        return _Hidden(self.low[good], self.share[good], self.edge[good])


def log_chances(
    start: float, first: tuple[float, float], chances: FloatArray, sizes: IntArray, counts: IntArray
) -> FloatArray:
    """Log probability of the count of each column given those before, shape (releases, d).

    Parameters
    ----------
    start : float
        Probability of a one in the first column.
    first : (float, float)
        Probabilities of a one in the second column, after a zero and after a one.
    chances : ndarray, shape (d - 2, 4)
        Those of the further columns, after 00, 01, 10 and 11.
    sizes : ndarray of int, shape (releases,)
        Haplotypes of each release.
    counts : ndarray of int, shape (releases, d)
        Ones of each release and column.

    Returns
    -------
    ndarray, shape (releases, d)
        -inf from a column of probability 0 on, or whose probability float64 does not hold.
    """
    terms, missed, far = _forward(start, first, chances, sizes, counts, *_DEPTHS[0])
    # One tilt serves all releases of a call: those for which it may be wrong are computed alone.
    again = (missed > _OMITTED) | (far & np.isneginf(terms).any(axis=1))
    for row in np.flatnonzero(again):
        place = slice(row, row + 1)
        for depths in _DEPTHS:
            terms[place], missed[place], _ = _forward(
                start, first, chances, sizes[place], counts[place], *depths
            )
            if missed[row] <= _OMITTED:
                break
        if np.isneginf(terms[row]).any() and far[row]:  # float64 may hold it without a tilt
            plain = _forward(
                start, first, chances, sizes[place], counts[place], *_DEPTHS[-1], tilts=False
            )
            terms[place] = np.where(np.isneginf(terms[place]), plain[0], terms[place])
    return terms


def _forward(
    start: float,
    first: tuple[float, float],
    chances: FloatArray,
    sizes: IntArray,
    counts: IntArray,
    depth: float,
    ring: float,
    *,
    tilts: bool = True,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """The terms; the largest share of paths through the edges of bands; what needs its own tilt."""
    terms = np.full(counts.shape, -np.inf)
    missed, alone = np.zeros(len(sizes)), np.zeros(len(sizes), bool)
    good = (counts[:, 0] >= 0) & (counts[:, 0] <= sizes)
    terms[good, 0] = binom_logpmf(counts[good, 0], sizes[good], start)
    alive = np.flatnonzero(np.isfinite(terms[:, 0]))
    good = (counts[alive, 1] >= 0) & (counts[alive, 1] <= sizes[alive])
    alive = alive[good]
    if not alive.size:
        return terms, missed, alone
    c, e, m = counts[alive, 0], counts[alive, 1], sizes[alive]
    low, high = np.maximum(c + e - m, 0), np.minimum(c, e)
    h = low[:, None] + np.arange(int((high - low).max()) + 1)
    rises = np.maximum(e[:, None] - h, 0)
    log_share = binom_logpmf(h, c[:, None], first[1])
    log_share += binom_logpmf(rises, (m - c)[:, None], first[0])
    log_share[h > high[:, None]] = -np.inf
    top = log_share.max(axis=1)
    share = np.exp(log_share - np.where(np.isfinite(top), top, 0.0)[:, None])
    hidden, total = _trimmed(_Hidden(low, share, np.zeros_like(share)), (low, high), depth, ring)
    with np.errstate(divide="ignore"):
        terms[alive, 1] = top + np.log(total)
    for j in range(len(chances)):
        g = counts[alive, j + 2]
        good = (total > 0.0) & (g >= 0) & (g <= sizes[alive])
        if not good.all():
            alive, hidden, g = alive[good], hidden.kept(good), g[good]
        if not alive.size:
            break
        cut = hidden.edge.sum(axis=1)
        missed[alive] = np.maximum(missed[alive], cut)
        shown = counts[alive, j], counts[alive, j + 1], g
        expected = _expected(hidden, chances[j], sizes[alive], shown)
        alone[alive] |= expected.far.any()
        if not tilts:
            expected = expected._replace(far=np.zeros_like(expected.far))
        hidden, total, log_total = _step(
            hidden, expected, chances[j], sizes[alive], shown, depth, ring
        )
        terms[alive, j + 2] = log_total
        missed[alive[(total == 0.0) & (cut > 0.0)]] = 1.0  # possible by omitted counts, it may be
    else:
        good = total > 0.0
        missed[alive[good]] = np.maximum(missed[alive], hidden.edge.sum(axis=1))[good]
    return terms, missed, alone


def _step(
    hidden: _Hidden,
    expected: _Expected,
    chances: FloatArray,
    m: IntArray,
    shown: tuple[IntArray, IntArray, IntArray],
    depth: float,
    ring: float,
) -> tuple[_Hidden, FloatArray, FloatArray]:
    """The law of the next hidden count, its sum, and the log probability of the next count."""
    groups = expected.groups
    natural = np.maximum(shown[1] + shown[2] - m, 0), np.minimum(shown[1], shown[2])
    reach = np.sqrt(2.0 * depth * expected.variance) + depth / 3.0
    low = np.clip(np.floor(expected.mean - reach).astype(np.int64), *natural)
    high = np.clip(np.ceil(expected.mean + reach).astype(np.int64), *natural)
    width = int((high - low).max()) + 1
    tilt = float(np.median(expected.tilt)) if expected.far.any() else 0.0
    tilted = _with_complements(chances, tilt)
    flows = [
        _likely(group, chance, 2.0 * depth)
        for group, chance in zip(groups, expected.chances, strict=True)
    ]
    ones, one_at = _sums(groups[1::2], tilted[1::2], flows[1::2], low, width)
    last = shown[2] - low - (width - 1)
    zeros, zero_at = _sums(groups[::2], tilted[::2], flows[::2], last, width)
    share, edge, log_scale = hidden.share, hidden.edge, np.zeros(len(m))
    if tilt:
        # Binomial(n, p) at k is that of the tilted p times (1 - p + p e^tilt)^n e^(-tilt k).
        with np.errstate(divide="ignore"):
            log_means = np.logaddexp(np.log1p(-chances), np.log(chances) + tilt)
            moved = sum(n * x for n, x in zip(groups, log_means, strict=True))
            log_scale = np.max(moved + np.log(share), axis=1)
        factor = np.exp(np.where(share > 0.0, moved - log_scale[:, None], -np.inf))
        share, edge, log_scale = share * factor, edge * factor, log_scale - tilt * shown[2]
    before, after = np.stack([share, edge], axis=1), np.empty((len(m), 2, width))
    block = max(1, _ENTRIES // (share.shape[1] * width))
    for begin in range(0, len(m), block):
        part = slice(begin, begin + block)
        matrix = ones[one_at[part]]
        matrix *= zeros[zero_at[part]][:, :, ::-1]
        np.matmul(before[part], matrix, out=after[part])
    made, total = _trimmed(_Hidden(low, after[:, 0], after[:, 1]), natural, depth, ring)
    with np.errstate(divide="ignore"):
        return made, total, log_scale + np.log(total)


class _Expected(NamedTuple):
    """Normal approximation of the next hidden count given the next count, for each release."""

    groups: tuple[IntArray, ...]  # 00, 01, 10, 11: releases x hidden counts
    mean: FloatArray
    variance: FloatArray
    chances: FloatArray  # of each group (rows) for each release, tilted to the next count
    tilt: FloatArray  # of the log odds
    far: npt.NDArray[np.bool_]  # whether the next count is far from its mean


def _expected(
    hidden: _Hidden,
    chances: FloatArray,
    m: IntArray,
    shown: tuple[IntArray, IntArray, IntArray],
) -> _Expected:
    """From a tilt of all probabilities with which the next count is the expected one."""
    c, e, g = shown[0][:, None], shown[1][:, None], shown[2]
    h = np.minimum(hidden.low[:, None] + np.arange(hidden.share.shape[1]), np.minimum(c, e))
    groups = (m[:, None] - c - e + h, e - h, c - h, h)
    sizes = np.stack([np.sum(group * hidden.share, axis=1) for group in groups])
    spread = np.sum((h - sizes[3][:, None]) ** 2 * hidden.share, axis=1)
    log_odds = _log_odds(chances)[:, None]
    least = sizes[chances == 1.0].sum(axis=0)
    most = sizes[chances > 0.0].sum(axis=0)
    margin = np.minimum(0.25, 0.25 * (most - least))  # tilted probabilities stay off 0 and 1
    goal = np.clip(g, least + margin, most - margin)
    tilt, bottom, top = np.zeros(g.shape), np.full(g.shape, -_STEEP), np.full(g.shape, _STEEP)
    whole = np.zeros(g.shape)
    for step in range(_STEPS):
        tilted = _logistic(log_odds + tilt)
        varied = sizes * tilted * (1.0 - tilted)
        mean, variance = np.sum(sizes * tilted, axis=0), np.sum(varied, axis=0)
        gap = goal - mean
        near = np.abs(gap) <= 0.1 * np.sqrt(variance) + 0.05
        if step == 0:
            whole = gap
        if near.all():
            break
        bottom, top = np.where(gap > 0.0, tilt, bottom), np.where(gap > 0.0, top, tilt)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = tilt + gap / variance
        inside = (bottom < new) & (new < top)
        tilt = np.where(near, tilt, np.where(inside, new, 0.5 * (bottom + top)))
    inner, outer = varied[1] + varied[3], varied[0] + varied[2]
    share = inner / np.maximum(inner + outer, np.finfo(float).tiny)
    ones, zeros = tilted[3] - tilted[1], tilted[2] - tilted[0]
    response = ones - share * (ones - zeros)
    middle = sizes[1] * tilted[1] + sizes[3] * tilted[3] + share * (g - mean)
    far = np.abs(tilt * whole) > _FAR
    return _Expected(groups, middle, outer * share + response**2 * spread, tilted, tilt, far)


def _sums(
    sizes: tuple[IntArray, ...],
    chances: FloatArray,
    flows: list[tuple[int, int]],
    first: IntArray,
    width: int,
) -> tuple[FloatArray, IntArray]:
    """Laws of the sums of two binomial counts, for each release and each hidden count.

    `chances` are of a one and of a zero, for each of the two.

    Returns
    -------
    ndarray, shape (N, width)
        A view: each row is a window on the probabilities of consecutive sums.
    ndarray of int, shape of sizes
        The row of each release and hidden count; it begins at the sum ``first``.
    """
    if flows[0][1] - flows[0][0] > flows[1][1] - flows[1][0]:
        sizes, chances, flows = sizes[::-1], chances[::-1], flows[::-1]
    shorter, longer = sizes
    least, other = int(shorter.min()), int(longer.min())
    across = int(longer.max()) - other + 1
    code = (shorter - least) * across + (longer - other)
    used = np.zeros((int(shorter.max()) - least + 1) * across, bool)
    used[code] = True
    pairs = np.flatnonzero(used)
    row = (np.cumsum(used) - 1)[code]
    begin, end = int(first.min()), int(first.max()) + width
    (bottom, top), bounds = flows[0], flows[1]
    table = _binomials(np.arange(least, int(shorter.max()) + 1), chances[0], bottom, top + 1)
    other_table = _binomials(
        np.arange(other, other + across), chances[1], begin - top, end - bottom, bounds
    )
    factors, moved = table[:, pairs // across], other_table[:, pairs % across]
    windows = np.lib.stride_tricks.sliding_window_view(moved, top - bottom + 1, axis=0)
    law = np.einsum("iu,kui->ku", factors[::-1], windows)
    flat = np.ascontiguousarray(law.T).ravel()
    views = np.lib.stride_tricks.sliding_window_view(flat, width)
    return views, row * (end - begin) + (first - begin)[:, None]


def _binomials(
    sizes: IntArray,
    chances: FloatArray,
    begin: int,
    end: int,
    bounds: tuple[int, int] | None = None,
) -> FloatArray:
    """Probabilities of the counts from `begin` to `end` (rows) of each size; 0 beyond bounds.

    `chances` are of a one and of a zero.  The rarer value is counted, by its own chance: 1 less
    that of the other has fewer digits.
    """
    low, high = (begin, end - 1) if bounds is None else bounds
    table = np.zeros((end - begin, sizes.size))
    low, high = max(low, begin), min(high, end - 1)
    if low <= high:
        counts = np.arange(low, high + 1)[:, None]
        one, zero = chances.tolist()
        log_chances = (
            binom_logpmf(counts, sizes, one)
            if one <= zero
            else binom_logpmf(sizes - counts, sizes, zero)
        )
        table[low - begin : high + 1 - begin] = np.exp(log_chances)
    return table


def _likely(sizes: IntArray, chance: FloatArray, depth: float) -> tuple[int, int]:
    """First and last likely flow from a group, over all releases and hidden counts.

    Those further from their mean than sqrt(2 q v) + q/3, q the depth and v the variance, have a
    probability below e^-q (Bernstein).
    """
    least, most = sizes.min(axis=1), sizes.max(axis=1)
    reach = np.sqrt(2.0 * depth * most * chance * (1.0 - chance)) + depth / 3.0
    low = max(int(np.floor(np.min(least * chance - reach))), 0)
    high = min(int(np.ceil(np.max(most * chance + reach))), int(most.max()))
    return low, high


def _trimmed(
    hidden: _Hidden, natural: tuple[IntArray, IntArray], depth: float, ring: float
) -> tuple[_Hidden, FloatArray]:
    """The law with sum 1, without what is less likely than depth; and its sum before."""
    low, share, edge = hidden
    place, width = np.arange(share.shape[1]), share.shape[1]
    peak, top = share.argmax(axis=1)[:, None], share.max(axis=1)[:, None]
    kept = (share > top * np.exp(-depth)) | (place == peak)
    first, last = kept.argmax(axis=1)[:, None], width - 1 - kept[:, ::-1].argmax(axis=1)[:, None]
    likely, before, after = share > 0.0, place < first, place > last
    cut_low = (low > natural[0]) | (likely & before).any(axis=1)
    cut_high = (low + width - 1 < natural[1]) | (likely & after).any(axis=1)
    faint = share < top * np.exp(-ring)
    rim = cut_low[:, None] & ((place <= first) | (faint & (place < peak)))
    rim |= cut_high[:, None] & ((place >= last) | (faint & (place > peak)))
    edge = np.where(rim, share, edge)
    total = share.sum(axis=1)
    scale = np.where(total > 0.0, total, 1.0)[:, None]
    columns = first + np.arange(int((last - first).max()) + 1)
    good = columns <= last
    columns = np.minimum(columns, last)
    share, edge = (
        np.where(good, np.take_along_axis(each, columns, axis=1), 0.0) / scale
        for each in (share, edge)
    )
    return _Hidden(low + first[:, 0], share, edge), total


def _log_odds(chances: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(chances) - np.log1p(-chances))


def _with_complements(chances: FloatArray, tilt: float) -> FloatArray:
    """Chances of a one and of a zero, with log odds larger by `tilt`: each with all its digits."""
    if tilt == 0.0:
        return np.stack([chances, 1.0 - chances], axis=1)
    log_odds = _log_odds(chances) + tilt
    return np.stack([_logistic(log_odds), _logistic(-log_odds)], axis=1)


def _logistic(x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))
