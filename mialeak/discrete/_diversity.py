"""How spread out a law is, and the bounds on its leakage that follow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray, as_count, as_float, invalid
from mialeak._results import Bounds
from mialeak.discrete._enclosure import NEGLIGIBLE, rare_leakage
from mialeak.discrete._laws import Law, as_law
from mialeak.discrete._series import ENOUGH, sum_over
from mialeak.discrete._sums import as_sizes, shaped

__all__ = [
    "diversity",
    "diversity_bounds",
    "diversity_range",
    "gini_simpson",
    "shannon_entropy",
]

#: Sharp constants of [AGP25, Corollary 15] for n >= 5: extremes of
#: E|B - n p| / (2 sqrt(n p (1-p))) over 1/n <= p <= 1 - 1/n.  Both are attained at n = 5, at
#: p = 1/5 and p = 3/10.  (As printed: 0.29 and 0.44.)
_LEAST = 0.8**4.5
_MOST = 20 * 0.3**1.5 * 0.7**3.5 / math.sqrt(5)
_LEAST_ROWS = 5

#: Bounds are widened by this part of themselves: they are attained, and sums round.
_ROUNDING = 1e-14

#: Less than this is left of 1 by rounding only; the root of it would be seen.
_ROUNDED_OFF = 2.0**-51

#: What the atoms left out of a countable law may widen them by.
_CLOSE = 1e-6


def diversity(p: Any) -> float:
    r"""Diversity :math:`C_K = \sum_k \sqrt{p_k (1 - p_k)}`, which rules the leakage of a law.

    Parameters
    ----------
    p : array_like of shape (K,), iterator of arrays, or frozen scipy.stats discrete law
        Probabilities of the atoms, as for :func:`max_leakage`.

    Returns
    -------
    float
        Between 0 (one atom) and ``sqrt(K - 1)`` (K equal atoms).

    Raises
    ------
    ValueError
        As :func:`max_leakage` does, and if the sum over a countable law is infinite, or too slow to
        be distinguished from that.

    See Also
    --------
    diversity_bounds : Leakage from diversity.
    diversity_range : Diversity from the largest probability.

    Notes
    -----
    [AGP25]_ call it :math:`C_K(P)` and show ``gini_simpson <= C_K / 2`` and
    ``shannon_entropy <= C_K <= sqrt(K * shannon_entropy)`` (entropy in nats; in bits this fails).

    **Accuracy**: some eps; eps / r for a frozen law with an atom of probability 1 - r.  Over a
    countable law whose terms fall like a power of k the sum is taken to 2**50 and all beyond
    from that power; 1e-13 for Zipf laws.  **Cost**: one pass.

    References
    ----------
    .. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", JMLR, 2025.

    Examples
    --------
    >>> from mialeak.discrete import diversity
    >>> f"{diversity([0.25] * 4):.6f} {diversity([0.97, 0.01, 0.01, 0.01]):.6f}"
    '1.732051 0.469083'
    """
    return sum_over(as_law(p).window(), _deviation)


def gini_simpson(p: Any) -> float:
    r"""Gini-Simpson index :math:`\sum_k p_k (1 - p_k)`: the chance that two rows differ.

    Parameters
    ----------
    p : array_like of shape (K,), iterator of arrays, or frozen scipy.stats discrete law
        Probabilities of the atoms, as for :func:`max_leakage`.

    Returns
    -------
    float
        Between 0 (one atom) and ``1 - 1/K`` (K equal atoms).

    Raises
    ------
    ValueError
        As :func:`max_leakage` does.

    Notes
    -----
    Summed as it stands: ``1 - sum(p**2)`` cancels where one atom has nearly everything.

    **Accuracy**: some eps, or as :func:`diversity` for frozen laws.  **Cost**: one pass.

    Examples
    --------
    >>> from mialeak.discrete import gini_simpson
    >>> f"{gini_simpson([0.5, 0.25, 0.25]):.4f}"
    '0.6250'
    """
    window, parts = as_law(p).window(), [0.0]
    while True:
        parts += [float(_variance(block).sum()) for block, _ in window.grow()]
        low, high = window.outside()
        # Outside, p (1-p) sums to the mass less at most edge times that.
        missing = window.edge() * high
        total = math.fsum(parts) + (low + high - missing) / 2
        if missing <= ENOUGH * total or window.exhausted:
            return total


def shannon_entropy(p: Any) -> float:
    r"""Shannon entropy :math:`-\sum_k p_k \log p_k`, in nats.

    Parameters
    ----------
    p : array_like of shape (K,), iterator of arrays, or frozen scipy.stats discrete law
        Probabilities of the atoms, as for :func:`max_leakage`.

    Returns
    -------
    float
        Between 0 (one atom) and ``log(K)`` (K equal atoms).

    Raises
    ------
    ValueError
        As :func:`diversity` does.

    Notes
    -----
    **Accuracy**: some eps; over countable laws as :func:`diversity`, 1e-9 at worst (the logarithm
    is no power).  SciPy's own entropy stops early for heavy tails: 1.0232864 for
    ``yulesimon(2.5)``, which is 1.0232887.  **Cost**: one pass.

    Examples
    --------
    >>> from mialeak.discrete import shannon_entropy
    >>> f"{shannon_entropy([0.5, 0.25, 0.25]):.6f}"
    '1.039721'
    """
    return sum_over(as_law(p).window(), special.entr)


def diversity_range(n_atoms: int, max_probability: float) -> Bounds:
    r"""Least and largest diversity of laws with so many atoms and so large a largest probability.

    Parameters
    ----------
    n_atoms : int
        Number of atoms K, at least 1.
    max_probability : float
        Largest probability, in [1/K, 1].

    Returns
    -------
    Bounds
        ``lower`` and ``upper`` of :func:`diversity`.

    Raises
    ------
    ValueError
        If `max_probability` is not in [1/K, 1].

    Notes
    -----
    Lemma 24 of [AGP25], with :math:`\delta` the largest probability and
    :math:`m = \lfloor 1/\delta \rfloor`:

    .. math::

        \max C_K &= \sqrt{\delta (1-\delta)} + \sqrt{(1-\delta)(K-2+\delta)} \\
        \inf C_K &= m \sqrt{\delta (1-\delta)} + \sqrt{m \delta (1 - m \delta)}

    The largest is that of equal atoms besides the largest one, the least that of as many of the
    largest as there is room for.  The paper adds that the range is the narrower the further delta
    is from 1/2; for ten atoms its width is 1.395 at 0.35, 1.355 at 0.4 and 1.358 at 0.45.

    Examples
    --------
    >>> from mialeak.discrete import diversity_range
    >>> diversity_range(10, 0.4)
    Bounds(lower=1.3798, upper=2.73489, kind='bound')
    """
    count = as_count(n_atoms, "n_atoms", least=1)
    largest = as_float(max_probability, "max_probability")
    if not 1 / count <= largest <= 1:
        rule = f"be between 1/n_atoms = {1 / count:.6g} and 1"
        invalid("max_probability", rule, value=largest)
    deviation = math.sqrt(largest * (1 - largest))
    # No more than K - 1 full atoms: the last one takes what rounding of 1/K has left.
    full = min(math.floor(1 / largest), max(count - 1, 1))
    remaining = 1 - full * largest
    remaining = remaining if remaining > _ROUNDED_OFF else 0.0
    lower = full * deviation + math.sqrt(remaining * (1 - remaining))
    upper = deviation + math.sqrt((1 - largest) * max(count - 2 + largest, 0.0))
    return Bounds(min(lower, upper) * (1 - _ROUNDING), upper * (1 + _ROUNDING))


def diversity_bounds(p: Any, n: npt.ArrayLike) -> Bounds:
    r"""Bounds of the largest leakage from the diversity of a law and its rare atoms.

    Parameters
    ----------
    p : array_like of shape (K,), iterator of arrays, or frozen scipy.stats discrete law
        Probabilities of the atoms, as for :func:`max_leakage`.
    n : int or integer array
        Number of rows, the target included; from 1 to 2**53.

    Returns
    -------
    Bounds
        ``lower`` and ``upper`` of :func:`max_leakage` at gamma = 1, the worst case; of the shape
        of `n`.  ``[0, C_K/(2 sqrt(n))]`` where the sharper ones do not apply.

    Raises
    ------
    ValueError, TypeError
        As :func:`max_leakage` and :func:`diversity` do.

    See Also
    --------
    max_leakage : The number itself.

    Notes
    -----
    For :math:`n \ge 5` and :math:`\max_k p_k \le 1 - 1/n`,

    .. math::

        0.3664 \frac{C}{\sqrt n} + R \le \Delta \le 0.4218 \frac{C}{\sqrt n} + R, \quad
        C = \sum_{n p_k \ge 1} \sqrt{p_k (1 - p_k)}, \quad R = \sum_{n p_k < 1} p_k (1 - p_k)^n,

    which is Lemma 21 of [AGP25]_ with the constants made sharp, :math:`(4/5)^{9/2}` and
    :math:`20 (0.3)^{1.5} (0.7)^{3.5} / \sqrt 5`, and a condition on the largest
    probability that the lemma lacks (P = (0.9999, 0.0001) at n = 100 breaks the printed lower
    bound).  Corollary 5.1.2 of [AGP23]_, a lower bound for every n >= 2, is wrong: ten thousand
    equal atoms at n = 2 would leak 3.2.

    **Cost**: one pass, linear in the number of atoms times the number of sizes `n`.

    References
    ----------
    .. [AGP23] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", 2023.
    .. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, the same, JMLR, 2025.

    Examples
    --------
    >>> from mialeak import max_leakage
    >>> from mialeak.discrete import diversity_bounds
    >>> law = [0.5, 0.3, 0.15, 0.05]
    >>> diversity_bounds(law, 1000)
    Bounds(lower=0.0177633, upper=0.0204498, kind='bound')
    >>> f"{max_leakage(law, 1000):.7f}"
    '0.0193327'
    """
    sizes, shape = as_sizes(n)
    bounds = _bounds(as_law(p), sizes)
    lower = [low * (1 - _ROUNDING) for low, _ in bounds]
    upper = [high * (1 + _ROUNDING) for _, high in bounds]
    return Bounds(shaped(lower, shape), shaped(upper, shape))


def _variance(p: FloatArray) -> FloatArray:
    return p * (1 - p)


def _deviation(p: FloatArray) -> FloatArray:
    return np.sqrt(_variance(p))


def _split(block: FloatArray, n: float) -> tuple[float, float]:
    """Diversity of the atoms with n p >= 1, and leakage of the rarer ones."""
    common = n * block >= 1
    rare = block[~common]
    return float(_deviation(block[common]).sum()), float((rare * _unseen(rare, n)).sum())


def _unseen(p: FloatArray, n: float) -> FloatArray:
    """(1 - p)^n."""
    with np.errstate(under="ignore"):
        return np.exp(n * np.log1p(-p))


def _bounds(law: Law, sizes: list[float]) -> list[tuple[float, float]]:
    """Lower and upper bound at each size, each from the first window that is large enough."""
    window = law.window()
    largest, worst = 0.0, 0.0
    deviations: list[float] = []
    parts: list[list[tuple[float, float]]] = [[] for _ in sizes]
    bounds: list[tuple[float, float] | None] = [None] * len(sizes)
    while None in bounds:
        for block, rounding in window.grow():
            largest = max(largest, float(block.max()))
            worst = max(worst, float(np.max(rounding, where=block > NEGLIGIBLE, initial=0.0)))
            deviations.append(float(_deviation(block).sum()))
            for part, n in zip(parts, sizes, strict=True):
                part.append(_split(block, n))
        for place, (part, n) in enumerate(zip(parts, sizes, strict=True)):
            common, rare = (math.fsum(column) for column in zip(*part, strict=True))
            low, high = rare_leakage(window, n, 1.0, rare)
            close = high - low <= _CLOSE * (common / math.sqrt(n) + rare) or window.exhausted
            if bounds[place] is not None or not close:
                continue
            if n < _LEAST_ROWS or n * (1 - largest) < 1:
                whole = window.complete
                spread = math.fsum(deviations) if whole else sum_over(law.window(), _deviation)
                lower, upper = 0.0, spread / (2 * math.sqrt(n))
            else:
                spread = common / math.sqrt(n)
                lower, upper = _LEAST * spread + rare + low, _MOST * spread + rare + high
            # p (1-p) and p (1-p)^n are as exact as p, or as 1-p.
            slack = worst * max(1.0, largest / max(1 - largest, worst)) if largest < 1 else 0.0
            bounds[place] = lower * (1 - slack), upper * (1 + slack)
    return [each for each in bounds if each is not None]
