"""The whole trade-off of the optimal attack on discrete data."""

from __future__ import annotations

from typing import Any

from mialeak.discrete._bounded_tradeoff import EnclosedTradeOff
from mialeak.discrete._laws import as_population
from mialeak.tradeoff import PiecewiseTradeOff

__all__ = ["discrete_tradeoff"]


def discrete_tradeoff(p: Any, n: int | None = None) -> PiecewiseTradeOff | EnclosedTradeOff:
    r"""Trade-off of the optimal attack on the procedure that leaks most about discrete data.

    The procedure releases the histogram of `n` rows with the law `p`; the target is drawn from `p`
    and known to the attacker.  See :func:`max_leakage`, which is the curve's advantage.

    Parameters
    ----------
    p : array_like of shape (K,), frozen scipy.stats discrete law, or population
        Probabilities of the atoms, or people of the cells, as for :func:`max_leakage`.  It is gone
        through more than once, so an iterator will not do.
    n : int
        Number of rows, the target included, as for :func:`max_leakage`.

    Returns
    -------
    PiecewiseTradeOff or EnclosedTradeOff
        The exact curve, with all its corners, where it has up to 4 million of them; else two
        curves that enclose it and the largest difference between them, ``.error``.

    Raises
    ------
    ValueError, TypeError
        As :func:`max_leakage` does; TypeError for an iterator.  ValueError for a population with
        more than 4 million pairs of a cell size and a likely count, and for strata that are pooled
        and have no rates.

    See Also
    --------
    max_leakage : Its advantage; with ``gamma = exp(epsilon)``, its delta in direction "in".
    atom_leakage : The advantage against one given target.

    Notes
    -----
    The likelihood ratio of "in" against "out" is :math:`N_k/(n p_k)` for target k, so that with
    threshold t (Neyman and Pearson; ties are randomised)

    .. math::

        \mathrm{fpr}(t) &= \sum_k p_k P(B_k > t n p_k), & B_k &\sim \mathrm{Binomial}(n, p_k), \\
        \mathrm{power}(t) &= \sum_k p_k P(1 + B'_k > t n p_k),
            & B'_k &\sim \mathrm{Binomial}(n - 1, p_k).

    Outcomes (k, count of k) are sorted by their ratio; atoms of equal probability are one, and so
    are equal ratios.  Where there are more than 4 million, outcomes between two of some thousand
    thresholds are put together: merged they give a lower curve that touches the true one at every
    threshold, spread to the two thresholds around them an upper one.  Of a countable law, atoms
    with a mass of 1e-15 outside, or 2**18 of them, are looked at; the rest may at best give the
    target away whenever it appears.

    Of a register the ratio is :math:`H_k (1 - f) / ((N_k - H_k) f)`, with the sampled people
    :math:`H_k` of cell k as for :func:`max_leakage`; cells of one size are one.

    **Accuracy**: 1e-14 of fpr and power; counts beyond probability e^-60 are merged, save for
    small K n, and no delta or epsilon is too small for it.  **Cost**: linear in K; about 0.1 s
    for K = 10,000 and n = 100,000, a curve of 570,000 corners.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import discrete_tradeoff, max_leakage
    >>> law = [0.5, 0.3, 0.2]
    >>> curve = discrete_tradeoff(law, 50)
    >>> np.round(curve.power([0.01, 0.1, 0.5]), 4)
    array([0.0164, 0.1367, 0.5761])
    >>> f"{curve.advantage:.6f} {max_leakage(law, 50):.6f}"
    '0.076133 0.076133'
    >>> f"{curve.delta(0.1, direction='in'):.6f} {max_leakage(law, 50, gamma=np.exp(0.1)):.6f}"
    '0.036621 0.036621'
    """
    return as_population(p).tradeoff(n)
