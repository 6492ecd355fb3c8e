"""From target, marginals and n to the curve of a released mean, by the first method that can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from mialeak._arrays import (
    as_choice,
    as_count,
    as_floats,
    invalid,
    sampled_rows,
    unsupported,
)
from mialeak.exact._atoms import MOST_LARGE, MOST_SMALL, Atoms, Halves, atoms_of, halves_of
from mialeak.exact._coordinates import Family, families_of, log_of
from mialeak.exact._curve import ExactTradeOff
from mialeak.exact._moments import RatioMoments
from mialeak.exact._packing import packed
from mialeak.exact._ratio_laws import AtomLaw, ContourLaw, HalvesLaw, RatioLaw
from mialeak.exact._recurrences import find_returns
from mialeak.laws import as_joint

__all__ = ["exact_mean_tradeoff"]

Method = Literal["auto", "atoms", "halves", "inversion"]

#: Outcomes of all coordinates together above which atoms are not even counted.
_FEW_OUTCOMES = 1 << 15
#: Different coordinates likewise: with two outcomes each, a half of them has 2**24 atoms.
_FEW_COLUMNS = 48
#: Least log probability, out, of the releases that the target can be in.  Below the first their
#: atoms underflow; below the second for each column they are too much alike to be inverted.
_LEAST_KEPT, _LEAST_KEPT_COLUMN = -600.0, -12.0
#: Where atoms are listed, factor on the range of counts, and how rare an outcome of a column may be
#: against its likeliest; the first that is affordable.  Down to the least float64; to 1e-40; and,
#: of two halves, to 3e-17.
_RANGES = ((4.5, 0.0), (1.6, 1e-40), (1.0, 1e-40))
#: An inversion with a larger error gives way to halves that take longer.
_SLOWER_FOR = 1e-6
#: Sizes of those: 30 ms a threshold.
_SMALL, _LARGE = 1 << 18, 1 << 20
#: Of fewer normal columns alone the moment function falls off too slowly to be inverted: of nine it
#: takes seconds, of eight more nodes than there are, whenever the target is close to the mean.
_FEW_NORMAL = 10


def exact_mean_tradeoff(
    target: Any, marginals: Any, n: int, *, sampling_rate: float = 1.0, method: Method = "auto"
) -> ExactTradeOff:
    """Trade-off curve of the best attack on the released mean of independent columns, at finite n.

    Parameters
    ----------
    target : array_like, shape (d,)
        The row that may be in the data; each value possible in its column.
    marginals : Marginal or list of Marginal
        The laws of the d coordinates: :class:`Bernoulli`, :class:`Genotype`, :class:`Presence`,
        :class:`Lattice`, :class:`Normal`, or several side by side.
    n : int
        Rows, the target included; at least 2.
    sampling_rate : float, optional
        The mean is that of ``k = sampling_rate * n`` rows drawn together without replacement; k
        must be an integer, at least 2.
    method : {"auto", "atoms", "halves", "inversion"}, optional
        "auto" takes the first that is possible: all atoms, if there are at most 2**20; the atoms
        of two halves of the columns, if at most 2**13 and 2**20, or 2**18 if the inversion has an
        error above 1e-6; the inversion of the moment function.  "halves" takes up to 2**18 and
        2**21: at these 30 ms a threshold, and 2 at the first.

    Returns
    -------
    ExactTradeOff

    Raises
    ------
    ValueError
        If shapes do not match, the target is impossible, or a method cannot be had.  Power, fnr,
        fpr, delta, epsilon and advantage of the curve raise it if their error is above 0.02, as may
        happen with a few columns of which some are normal, or far in a tail of which the outcomes
        are not listed; cdf and sf are given with whatever `error`.
    TypeError
        For other laws.

    See Also
    --------
    mean_tradeoff : the limit for large n; noise on the release.
    gaussian_mean_tradeoff : exact for correlated normal columns.

    Notes
    -----
    The log likelihood ratio of the released mean is a sum of d independent terms whose laws are
    known: ``l_j = log(K/(n p_j))``, K binomial, for a bit that the target has set.  The law *in* is
    that *out* tilted by e^l, so that one function ``M(s) = E_out e^(s l)``, a product over columns,
    has both laws, both directions of delta, and every tail::

        P(l > x) = (1/pi) Re int_0^oo M(theta + it) e^(-(theta + it) x) / (theta + it) dt

    taken through the saddle point, so that the result keeps its relative accuracy far in the tails,
    as long as nothing is left out: with many columns at 1e-300 too, with few see `error`.  l lies
    on a slightly bent lattice, so ``|M|`` returns near multiples of ``2 pi n p_j``; cut at its
    first decay, tails of 200 rare alleles are off by 2e-3.  The returns are looked for and
    included.  A release that is impossible with the target in it has l = -inf, and carries its
    probability.  A mean of k of the n rows is that of k rows, ``power = r f(fpr) + (1 - r) fpr``.
    Noise on the release is not treated here: the sum of lattice and noise has a likelihood ratio of
    its own for every release, not a sum over few outcomes.

    Columns must be independent.  For dependent ones the curve is that of another law; people of
    mixed ancestry are an example, see the gallery.

    **Accuracy.**  `error` of the result, which of atoms and halves is a bound and of the inversion
    an estimate, printed with the curve where it is above 1e-6.  Against exact rational enumeration
    1e-14, and 3e-12 relative at 1e-300; against atoms of two halves, and between contours, 1e-12
    relative down to 1e-30.  Where atoms are listed, they are all those that have a float64, if
    there are not too many; else outcomes of a column less likely than 1e-40 (of halves with many
    atoms 3e-17) are left out, and count as an error relative to the tail that is asked for.

    **Cost.**  Linear in d and independent of n for large ``n p (1 - p)``: 25 outcomes a column
    (their probability is smooth, every h-th count is enough), 26 frequencies a contour, four to
    twelve contours a curve.  Few columns (less than about 20), equal ones, and rare values cost
    more, for ``|M|`` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import exact_mean_tradeoff, mean_tradeoff
    >>> from mialeak.laws import Bernoulli
    >>> p = 0.25 + 0.5 * (np.arange(5000) + 0.5) / 5000
    >>> easy = (p <= 0.5).astype(float)
    >>> curve = exact_mean_tradeoff(easy, Bernoulli(p), n=1000)
    >>> print(f"{curve.advantage:.12f}")
    0.863679881264
    >>> print(f"{mean_tradeoff(easy, p, p * (1 - p), n=1000).advantage:.12f}")
    0.863390090666
    """
    law = as_joint(marginals)
    row = as_floats(target, "target", finite=True)
    if row.shape != (law.size,):
        rule = f"have {law.size} entries, one for each column of marginals"
        invalid("target", f"{rule}; its shape is {row.shape}")
    n = as_count(n, "n", least=2)
    rows = sampled_rows(sampling_rate, n)
    as_choice(method, "method", get_args(Method))
    families, normal = families_of(law, row, rows)
    if not families and normal is not None and normal.columns < _FEW_NORMAL:
        rule = f"have at least {_FEW_NORMAL} columns if all are normal; it has {law.size}"
        invalid("marginals", rule, remedy="gaussian_mean_tradeoff is exact for them")
    moments = RatioMoments(families, normal)
    return ExactTradeOff(_law_of(moments, method), moments, rows, rows / n)


def _law_of(moments: RatioMoments, method: Method) -> RatioLaw:
    """The first method that is possible, or the one asked for."""
    families, normal = moments.families, moments.normal
    rest = -normal.n + 1.0 if normal is not None else -np.inf
    if not families and normal is None:
        one = np.ones(1)
        return AtomLaw(Atoms(np.zeros(1), one, one), 0.0)
    log_kept = sum(float(f.copies @ log_of(f.kept, f.lost)) for f in families)
    if method != "inversion" and normal is None:
        few = (
            sum(f.copies.size for f in families) <= _FEW_COLUMNS
            and log_kept > _LEAST_KEPT
            and sum(float(np.sum(f.spread + 1.0)) for f in families) <= _FEW_OUTCOMES
        )
        faint = _faint(families)
        if few and method in ("auto", "atoms"):
            for wider, rare in _RANGES[:2]:
                atoms = atoms_of(packed(families, 1.0, np.inf, wider), rare)
                if atoms is not None:
                    return AtomLaw(atoms, -float(np.expm1(log_kept)), faint)
        if few and method in ("auto", "halves"):
            sizes = (MOST_SMALL, MOST_LARGE) if method == "auto" else (_SMALL, 2 * _LARGE)
            halves = _halves(families, *sizes)
            returns = find_returns(moments) if halves or method == "auto" else None
            if halves is None and returns is not None and returns.left > _SLOWER_FOR:
                halves = _halves(families, _SMALL, _LARGE)
            if halves is not None and returns is not None:
                return HalvesLaw(halves, ContourLaw(moments, returns, (rest, np.inf)), faint)
    columns = sum(float(f.copies.sum()) for f in families)
    if normal is None and log_kept < _LEAST_KEPT_COLUMN * columns:
        least = f"1e{np.ceil(log_kept / np.log(10.0)):.0f}"
        why = f"the releases that it can be in have a probability below {least} without it"
        unsupported("The exact curve", "for so unlikely a target", why)
    if method in ("atoms", "halves"):
        why = "it has too many atoms"
        unsupported(f'method="{method}"', "for this law", why, 'Use method="auto"')
    returns = find_returns(moments)
    if np.isinf(returns.left):
        why = "all but always every row is the same, and the release with it"
        unsupported("The exact curve", "for these marginals", why)
    return ContourLaw(moments, returns, (rest, np.inf))


def _halves(families: Sequence[Family], small: int, large: int) -> Halves | None:
    """Two halves with the widest range of counts that is affordable."""
    for wider, rare in _RANGES:
        halves = halves_of(packed(families, 1.0, np.inf, wider), small, large, rare)
        if halves is not None:
            return halves
    return None


def _faint(families: Sequence[Family]) -> tuple[float, float]:
    """Probability, out and in, of outcomes that no list holds, at most."""
    out = [f.copies * f.faint for f in families]
    inside = [
        np.exp(np.minimum(f.highest, 700.0)) * mass for f, mass in zip(families, out, strict=True)
    ]
    return sum(float(mass.sum()) for mass in out), sum(float(mass.sum()) for mass in inside)
