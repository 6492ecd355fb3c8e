"""Several independent releases about the same target: what to compose, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mialeak._arrays import as_counts, invalid
from mialeak.tradeoff._base import TradeOff, weakest
from mialeak.tradeoff._composed import ComposedTradeOff
from mialeak.tradeoff._gaussian import GaussianTradeOff
from mialeak.tradeoff._piecewise import PiecewiseTradeOff, all_outcomes
from mialeak.tradeoff._subsampled import SubsampledTradeOff

__all__ = ["compose"]


def compose(*curves: TradeOff, counts: Any = None) -> ComposedTradeOff:
    """The trade-off of several independent releases about the same target.

    Parameters
    ----------
    *curves : TradeOff
        One for each kind of release: Gaussian, Laplace, either of a sample of the rows (one step of
        DP-SGD), piecewise linear (discrete laws), exact means, or themselves composed.  Their
        parameters are scalars.
    counts : int or array_like of int, optional
        How often each curve is used, at least 1; one for all, or one for each.  The default is once
        each.

    Returns
    -------
    ComposedTradeOff

    Raises
    ------
    TypeError
        If a curve is no TradeOff, or a kind whose likelihood ratio is not known: a measured curve
        is an estimate of one power at a time; that of a sample of a composition is not computed.
    ValueError
        If there is no curve; if counts have another length or one is below 1; if parameters are
        arrays; if samples with and without ``symmetric=True`` are mixed, whose worlds differ.
    ArithmeticError
        Of the methods of the result: where neither the inversion nor a grid resolves the ratio.

    See Also
    --------
    TradeOff.compose : two curves.
    SubsampledTradeOff : one step of a training with sampled batches.

    Notes
    -----
    The log likelihood ratio of independent releases is the sum of theirs, so that the moment
    function is a product, ``M(s) = prod_j M_j(s)^m_j``.  With a contour s = c + it, c > 1, through
    the saddle point, ::

        delta(eps), "in" = (1/pi) Re int_0^oo M(s) e^(-(s - 1) eps) / (s (s - 1)) dt

    and likewise the tails in both worlds, hence power and fpr.  What holds with probability 1 in
    one world and 0 in the other is kept apart.  Gaussian curves merge (the squares of mu add);
    piecewise linear curves are composed outcome by outcome while their number allows.  Where no
    contour is enough (Laplace noise and discrete laws without normal noise, sampled Laplace noise,
    batches of a fixed size, a small number of steps with a small rate) the ratios are put on a
    grid, with bounds; see :meth:`~mialeak.tradeoff.ComposedTradeOff.enclosure`.  That a composition
    is a sum of privacy losses, and that its curve is the product of Dong, Roth and Su
    (Journal of the Royal Statistical Society B, 2022), holds in both directions; the moment
    function on a vertical line is that of Zhu, Dong and Wang (AISTATS 2022), here with a line
    through the saddle point.

    The releases must be independent given the data.  An attacker who chooses the next release by
    the former ones is covered if each curve holds whatever came before, as it does for noise of a
    fixed size and for batches drawn anew; a curve of one fixed pair of data sets is not enough.

    A protected count of c or c + 1 people has the curve of the two laws of what is released,
    ``PiecewiseTradeOff.from_laws(*mechanism.outcome_law([c, c + 1], n))``.

    For batches in which each row is drawn with probability q and noise of sigma times the clipping
    norm, a step is ``GaussianTradeOff(1 / sigma).subsample(q)``.  Direction "in" is then that of a
    row removed, "out" that of a row added, and epsilon is for adding or removing a row.

    **Accuracy.**  Relative, of delta and of power, 1e-13 for deltas down to 1e-128 against sums in
    50 digits, and 1e-12 down to 1e-300; the number of releases multiplies the rounding of one log
    moment, 1e-17.  On a grid 1e-8 and often 1e-12, between bounds that `error` and `enclosure`
    state; near an atom of the ratio less, where it meets a Laplace curve with an epsilon below
    0.01 (3e-3 for epsilons of 0.78 and 2e-4, at their difference).

    **Cost.**  10 to 40 ms for 10,000 steps of DP-SGD and any number of epsilons, 0.7 s for 1,000
    different releases of five kinds by inversion.  A grid takes 0.1 s; of 1,000 different releases
    0.7 s (Laplace), or half a minute where rates below 0.001 meet noise below the clipping norm.

    Examples
    --------
    A year of monthly tables by randomised response, and one Gaussian release:

    >>> from mialeak import GaussianTradeOff, PiecewiseTradeOff, compose
    >>> monthly, mean = PiecewiseTradeOff([0.45], [0.55]), GaussianTradeOff(0.5)
    >>> curve = compose(monthly, mean, counts=[12, 1])
    >>> f"{curve.advantage:.6f} {curve.epsilon(1e-6):.6f}"
    '0.332240 3.804708'
    """
    if not curves:
        invalid("curves", "have at least one TradeOff")
    for index, curve in enumerate(curves):
        if not isinstance(curve, TradeOff):
            invalid(
                "curves", f"be TradeOffs, not {type(curve).__name__}", index=index, error=TypeError
            )
    repeated = as_counts([1] if counts is None else counts, "counts", least=1)
    if repeated.ndim > 1:
        invalid("counts", f"be one number or a list of numbers; its shape is {repeated.shape}")
    if repeated.size not in (1, len(curves)):
        rule = f"have one element for each of the {len(curves)} curves; it has {repeated.size}"
        invalid("counts", rule)
    times = np.broadcast_to(repeated, len(curves)).tolist()
    parts = list(_flat(curves, times))  # a sample without noise states its worlds still
    if len({one.symmetric for one, _ in parts if isinstance(one, SubsampledTradeOff)}) > 1:
        rule = (
            "be samples with symmetric=True (one row replaces another), or without (a row is added)"
        )
        invalid("curves", rule, remedy="Worlds of different neighbours do not compose: restate one")
    return _merged([(curve._composable(), count) for curve, count in parts])


def _flat(curves: Sequence[TradeOff], counts: Sequence[int]) -> Iterator[tuple[TradeOff, int]]:
    for curve, count in zip(curves, counts, strict=True):
        if isinstance(curve, ComposedTradeOff):
            yield from _flat(curve.curves, [count * m for m in curve.counts])
        else:
            yield curve, count


def _merged(parts: list[tuple[TradeOff, int]]) -> ComposedTradeOff:
    """Equal and Gaussian curves become one; discrete ones, if all outcomes can be listed."""
    counted: dict[Any, tuple[TradeOff, int]] = {}
    mu, kinds = 0.0, []
    for curve, count in parts:
        if isinstance(curve, PiecewiseTradeOff) and curve._reveals_all:
            kind = weakest(*(each.kind for each, _ in parts))
            whole = PiecewiseTradeOff([0.0], [1.0], kind=kind)
            return ComposedTradeOff((whole,), (1,), whole)
        if curve.advantage == 0.0:
            continue
        if isinstance(curve, GaussianTradeOff):
            mu = np.hypot(mu, float(curve.mu) * np.sqrt(count))
            kinds.append(curve.kind)
        else:
            first, before = counted.get(curve._identity, (curve, 0))
            counted[curve._identity] = first, before + count
    kept = list(counted.values())
    if mu > 0.0:
        kept.append((GaussianTradeOff(mu, kind=weakest(*kinds)), 1))
    kept = kept or [(GaussianTradeOff(0.0, kind=parts[0][0].kind), 1)]
    releases, listed = sum(count for _, count in kept), all_outcomes(kept)
    if listed is not None:
        kept = [(listed, 1)]
    names, counts = zip(*kept, strict=True)
    alone = kept[0][0] if len(kept) == 1 and counts[0] == 1 else None
    return ComposedTradeOff(names, counts, alone, releases if listed is not None else 1)


TradeOff._composed = compose
