"""The curve of a released mean at finite n."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from mialeak._arrays import FloatArray, as_choice, as_count, as_floats, invalid
from mialeak._results import Bounds, Kind
from mialeak.exact._atoms import Atoms, atoms_of, halves_of
from mialeak.exact._enclosure import TailEnclosure, enclosed_power
from mialeak.exact._laws import AtomLaw, ContourLaw, HalvesLaw, RatioArrays, RatioLaw
from mialeak.exact._moments import RatioMoments
from mialeak.exact._outcomes import families_of
from mialeak.exact._returns import find_returns
from mialeak.exact._tables import packed
from mialeak.marginals import as_joint
from mialeak.mean._tradeoff import sampled_rows
from mialeak.tradeoff import SubsampledTradeOff, TradeOff
from mialeak.tradeoff._base import as_probability

__all__ = ["ExactTradeOff", "RatioArrays", "exact_tradeoff"]

Method = Literal["auto", "atoms", "halves", "inversion"]
World = Literal["out", "in"]

#: Outcomes of all coordinates together above which atoms are not even counted.
_FEW_OUTCOMES = 1 << 15
#: Different coordinates likewise: with two outcomes each, a half of them has 2**24 atoms.
_FEW_COLUMNS = 48
#: Range of counts for atoms: probabilities below 1e-40 are left out.
_ATOM_RANGE = 1.6
#: An answer with a larger error is none: few columns, lattice and normal together, come to that.
_WORST_ERROR = 1e-2
#: Of fewer normal columns alone the moment function falls off too slowly to be inverted.
_FEW_NORMAL = 6


@dataclass(frozen=True, repr=False, eq=False)
class ExactTradeOff(TradeOff):
    """The trade-off of a released mean at finite n; made by :func:`exact_tradeoff`.

    Attributes
    ----------
    rows : int
        Rows that the mean is taken over.
    sampling_rate : float
        Their share of all rows.
    kind : str
        "exact".

    See Also
    --------
    exact_tradeoff : how it is computed, and how accurately.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import Bernoulli, exact_tradeoff
    >>> curve = exact_tradeoff(np.ones(50), Bernoulli(np.linspace(0.3, 0.7, 50)), 100)
    >>> curve
    ExactTradeOff(advantage=0.293828, rows=100, sampling_rate=1, method='inversion')
    >>> f"{curve.power(1e-12):.6e} {curve.threshold(0.01):.6f}"
    '1.302886e-10 1.456424'
    """

    _law: RatioLaw = field(repr=False)
    _moments: RatioMoments = field(repr=False)
    rows: int
    sampling_rate: float = 1.0
    kind: Kind = field(default="exact", init=False)

    @property
    def method(self) -> str:
        """How it is computed: "atoms", "meet in the middle" or "inversion"."""
        return self._law.method

    @property
    def error(self) -> float:
        """Error of the answers given so far: relative to those below 1e-3, else absolute.

        It contains what wraps around and what the trapezoid rule leaves, the returns of the moment
        function that are left out, counts beyond those kept, and rounding.
        """
        return self._law.error

    @property
    def impossible(self) -> float:
        """Probability, in the world *out*, of a release that rules the target out."""
        return self.sampling_rate * self._law.lost if self.sampling_rate == 1.0 else 0.0

    @property
    def auc(self) -> float:
        """Area under the curve of power against fpr."""
        rate = self.sampling_rate
        return rate * self._law.auc + (1.0 - rate) * 0.5

    def threshold(self, fpr: Any) -> float | FloatArray:
        """The log likelihood ratio above which the best attack with this fpr guesses "in".

        Where the law has an atom there, the attack draws lots on it.

        Parameters
        ----------
        fpr : array_like
            In [0, 1].

        Returns
        -------
        float or ndarray
        """
        return _plain(self._outer(self._law.at_fpr(as_probability(fpr, "fpr"))[0]))

    def cdf(self, log_ratio: Any, world: World = "out") -> float | FloatArray:
        """P(log likelihood ratio <= log_ratio).

        Parameters
        ----------
        log_ratio : array_like
        world : {"out", "in"}

        Returns
        -------
        float or ndarray
        """
        return self._tail(log_ratio, world, 0)

    def sf(self, log_ratio: Any, world: World = "out") -> float | FloatArray:
        """P(log likelihood ratio > log_ratio), without the cancellation.

        Parameters
        ----------
        log_ratio : array_like
        world : {"out", "in"}

        Returns
        -------
        float or ndarray
        """
        return self._tail(log_ratio, world, 1)

    def _tail(self, log_ratio: Any, world: str, side: int) -> float | FloatArray:
        x = self._inner(as_floats(log_ratio, "log_ratio"))
        out = np.exp(self._law.log_tails(x, 0)[side])
        if self._world(world) == 0:
            return _plain(out)
        inside = np.exp(self._law.log_tails(x, 1)[side])
        return _plain(self.sampling_rate * inside + (1.0 - self.sampling_rate) * out)

    def density(self, log_ratio: Any, world: World = "out") -> float | FloatArray:
        """Density of the log likelihood ratio; that of the inversion, atoms smoothed.

        Parameters
        ----------
        log_ratio : array_like
        world : {"out", "in"}

        Returns
        -------
        float or ndarray

        Raises
        ------
        TypeError
            If the law is one of few atoms.
        """
        y = as_floats(log_ratio, "log_ratio")
        x = self._inner(y)
        log_density = self._law.log_density(x)
        rate = self.sampling_rate
        # l' = log(1 - r + r e^l), so that dl'/dl = r e^(l - l')
        with np.errstate(invalid="ignore"):
            density = np.exp(log_density - x + y) / rate
        density = np.where(np.isfinite(x), density, 0.0)
        return _plain(density * np.exp(y) if self._world(world) else density)

    def to_arrays(self, points: int = 1001) -> RatioArrays:
        """The law of the log likelihood ratio: its atoms, or its cdf at `points` places.

        Parameters
        ----------
        points : int, optional
            Ignored if all atoms are known.

        Returns
        -------
        RatioArrays
        """
        points = as_count(points, "points", least=2, most=10**7)
        if isinstance(self._law, AtomLaw):
            x = self._law.atoms.ratio
        else:
            (_, low, left), (_, high, right) = self._moments.local(0.0), self._moments.local(1.0)
            x = np.linspace(low - 9.0 * left, high + 9.0 * right, points)
        y = self._outer(x)
        return RatioArrays(y, np.asarray(self.cdf(y, "out")), np.asarray(self.cdf(y, "in")))

    def enclosure(self, fpr: Any, *, reach: float = 3000.0) -> Bounds:
        """An interval that holds the power, whatever the moment function does at high frequency.

        Parameters
        ----------
        fpr : array_like
            In [0, 1].
        reach : float, optional
            Highest frequency used, in units of one over the standard deviation of the log ratio;
            the width is about ``2.5 / reach`` at most.

        Returns
        -------
        Bounds
            By Prawitz's inequality: rigorous but for rounding, for which 1e-13 and 4e-16 for the
            square root of the number of coordinates are added on either side.
        """
        fpr = as_probability(fpr, "fpr")
        reach = float(as_floats(reach, "reach"))
        if not 10.0 <= reach <= 1e6:
            invalid("reach", "be between 10 and 1e6", value=reach)
        flat = fpr.ravel()
        rounding = self._rounding
        out, inside = (TailEnclosure(self._moments, w, reach, rounding) for w in (0, 1))
        bounds = enclosed_power(out, inside, self._law.lost, flat)
        rate = self.sampling_rate
        lower, upper = (rate * b + (1.0 - rate) * flat for b in bounds)
        return Bounds(_plain(lower.reshape(fpr.shape)), _plain(upper.reshape(fpr.shape)))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        return {
            "type": type(self).__name__,
            "advantage": float(self.advantage),
            "auc": self.auc,
            "error": self.error,
            "impossible": self.impossible,
            "rows": self.rows,
            "sampling_rate": self.sampling_rate,
            "method": self.method,
            "kind": self.kind,
        }

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(advantage={self.advantage:.6g}, rows={self.rows}, "
            f"sampling_rate={self.sampling_rate:.6g}, method={self.method!r})"
        )

    @property
    def _rounding(self) -> float:
        coordinates = sum(float(f.copies.sum()) for f in self._moments.families) + 1.0
        return 4e-16 * float(np.sqrt(coordinates)) + 3e-17 * coordinates

    @staticmethod
    def _world(world: str) -> int:
        return int(as_choice(world, "world", get_args(World)) == "in")

    def _outer(self, x: FloatArray) -> FloatArray:
        """The log ratio of the release from that of the sample, ``log(1 - r + r e^l)``."""
        rate = self.sampling_rate
        if rate == 1.0:
            return x
        with np.errstate(divide="ignore", over="ignore"):
            near = np.log1p(rate * np.expm1(np.minimum(x, 500.0)))
        return np.where(x > 500.0, x + np.log(rate), near)

    def _inner(self, y: FloatArray) -> FloatArray:
        rate = self.sampling_rate
        if rate == 1.0:
            return y
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            grown = np.expm1(np.minimum(y, 500.0)) / rate
            near = np.where(grown >= -1.0, np.log1p(np.maximum(grown, -1.0)), -np.inf)
        return np.where(y > 500.0, y - np.log(rate), near)

    @cached_property
    def _whole(self) -> ExactTradeOff:
        """The curve if the target is known to be in the sample."""
        return ExactTradeOff(self._law, self._moments, self.rows)

    @cached_property
    def _thinned(self) -> SubsampledTradeOff:
        return SubsampledTradeOff(self._whole, self.sampling_rate)

    def _sound(self, answer: FloatArray) -> FloatArray:
        """`answer`, unless its error is too large to call it one."""
        if self.error > _WORST_ERROR:
            rule = f"have more columns: of these few the curve has an error of {self.error:.1g}"
            remedy = 'Without normal columns method="halves" is exact; enclosure() holds the power'
            invalid("marginals", rule, remedy=remedy)
        return answer

    def _power(self, fpr: FloatArray) -> FloatArray:
        rate = self.sampling_rate
        return self._sound(rate * self._law.at_fpr(fpr)[1] + (1.0 - rate) * fpr)

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        rate = self.sampling_rate
        return self._sound(rate * self._law.at_fpr(fpr)[2] + (1.0 - rate) * (1.0 - fpr))

    def _fpr(self, power: FloatArray) -> FloatArray:
        if self.sampling_rate == 1.0:
            return self._sound(self._law.at_power(power))
        return self._thinned._fpr(power)

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        if self.sampling_rate == 1.0:
            return self._sound(self._law.delta(epsilon, direction))
        return self._thinned._delta(epsilon, direction)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        if self.sampling_rate != 1.0:
            return self._thinned._epsilon(delta, direction)
        if isinstance(self._law, AtomLaw):
            return self._law.curve._epsilon(delta, direction)
        return super()._epsilon(delta, direction)


def exact_tradeoff(
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
        of two halves of the columns, if at most 2**13 and 2**20; the inversion of the moment
        function.  "halves" takes up to 2**17 and 2**21, at 10 ms a threshold.

    Returns
    -------
    ExactTradeOff

    Raises
    ------
    ValueError
        If shapes do not match, the target is impossible, or a method cannot be had.  Power, fnr,
        fpr, delta and advantage of the curve raise it if their error is above 0.01, as may happen
        with a few columns of which some are normal; cdf and sf are given with whatever `error`.
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

    taken through the saddle point, so that the result is relatively accurate at 1e-300 too.  l lies
    on a slightly bent lattice, so ``|M|`` returns near multiples of ``2 pi n p_j``; cut at its
    first decay, tails of 200 rare alleles are off by 2e-3.  The returns are looked for and
    included.  A release that is impossible with the target in it has l = -inf, and carries its
    probability.  A mean of k of the n rows is that of k rows, ``power = r f(fpr) + (1 - r) fpr``.
    Noise on the release is not treated here: the sum of lattice and noise has a likelihood ratio of
    its own for every release, not a sum over few outcomes.

    Columns must be independent.  For dependent ones the curve is that of another law; people of
    mixed ancestry are an example, see the gallery.

    **Accuracy.**  `error` of the result.  Against exact rational enumeration 1e-14; against atoms
    of two halves, and between contours, 1e-12 relative down to 1e-30.

    **Cost.**  Linear in d and independent of n for large ``n p (1 - p)``: 25 outcomes a column
    (their probability is smooth, every h-th count is enough), 26 frequencies a contour, four to
    twelve contours a curve.  Few columns (less than about 20), equal ones, and rare values cost
    more, for ``|M|`` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import Bernoulli, exact_tradeoff, mean_tradeoff
    >>> p = 0.25 + 0.5 * (np.arange(5000) + 0.5) / 5000
    >>> easy = (p <= 0.5).astype(float)
    >>> curve = exact_tradeoff(easy, Bernoulli(p), n=1000)
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
    if method != "inversion" and normal is None:
        few = (
            sum(f.copies.size for f in families) <= _FEW_COLUMNS
            and sum(float(np.sum(f.spread + 1.0)) for f in families) <= _FEW_OUTCOMES
        )
        if few and method in ("auto", "atoms"):
            atoms = atoms_of(packed(families, 1.0, np.inf, _ATOM_RANGE))
            if atoms is not None:
                return AtomLaw(atoms, -float(np.expm1(_log_kept(families))))
        if few and method in ("auto", "halves"):
            sizes = () if method == "auto" else (1 << 17, 1 << 21)
            halves = halves_of(packed(families, 1.0, np.inf), *sizes)
            if halves is not None:
                contours = ContourLaw(moments, find_returns(moments), (rest, np.inf))
                return HalvesLaw(halves, contours)
    if method in ("atoms", "halves"):
        invalid("method", "be possible: the law has too many atoms", value=method)
    return ContourLaw(moments, find_returns(moments), (rest, np.inf))


def _log_kept(families: Any) -> float:
    return sum(float(f.copies @ np.log1p(-f.lost)) for f in families)


def _plain(values: Any) -> float | FloatArray:
    result: float | FloatArray = np.asarray(values)[()]
    return result
