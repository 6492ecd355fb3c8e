"""Piecewise linear curves: the trade-offs of discrete laws."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, get_args

import numpy as np
from scipy import special

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_floats,
    as_probabilities,
    as_probability,
    first_index,
    invalid,
    require,
    unsupported,
)
from mialeak._checks.budgets import warn_of_exchange
from mialeak._labels import require_consecutive, require_same_values
from mialeak._numerics.corners import Corners, Side, between, corners_of_atoms, corners_of_points
from mialeak._numerics.losses import AtomLoss, Loss
from mialeak._results import Kind
from mialeak.tradeoff._base import TradeOff, weakest
from mialeak.tradeoff._outcomes import (
    MOST_PAIRS,
    Outcomes,
    all_pairs,
    difference,
    log_ratios,
    on_one_lattice,
    outcomes_of,
)

__all__ = ["PiecewiseTradeOff", "Vertices", "all_outcomes"]

#: Largest number of pairs of outcomes of many parts that are listed.
_MOST_TRIED = 1 << 16
#: Relative difference of probabilities that is rounding, and least normal number.
_ROUNDED, _LEAST = 2.0**-46, 2.0**-1022
#: Rounding of a difference of two tails, relative to a tail.
_TAIL_ROUNDED = 2.0**-50


class Vertices(NamedTuple):
    """Corners of a curve, from left to right."""

    fpr: FloatArray
    power: FloatArray


@dataclass(frozen=True, init=False, repr=False, eq=False)
class PiecewiseTradeOff(TradeOff):
    """A concave piecewise linear curve: the trade-off of two discrete laws.

    Between two vertices the best attack randomises between the tests of the vertices.

    Parameters
    ----------
    fpr, power : (K,) array_like
        The vertices from left to right: both coordinates nondecreasing, slopes nonincreasing.
        (0, 0) and (1, 1), the tests that never and always guess "in", belong to every curve and
        are added if missing.
    kind : {"exact", "bound", "asymptotic", "estimate"}, keyword-only
        Kind of the curve as a result, set by its author; it changes no number.

    Raises
    ------
    ValueError
        If vertices are outside the unit square, have different lengths, or are not nondecreasing
        and concave; the message states the index of the first offender.

    See Also
    --------
    PiecewiseTradeOff.from_laws : the curve of two discrete laws, accurate at both ends.
    EmpiricalTradeOff : measured curves, which are not concave, and their hull.

    Notes
    -----
    Both directions of delta are attained at vertices::

        delta(eps), "in"  = max over i of power_i - e^eps fpr_i
        delta(eps), "out" = max over i of (1 - fpr_i) - e^eps (1 - power_i)

    The slopes decrease along the curve: a binary search locates the vertex, O(log K) a point for
    every method.  The terms are evaluated as ``(power_i - fpr_i) - (e^eps - 1) fpr_i``, which is
    accurate where the two laws are close.  A vertex may lie below the chord of its neighbours by
    rounding, 4e-15 of its coordinates.

    **Accuracy.**  Several units in the last place of the vertices.

    Examples
    --------
    Randomised response with epsilon = log 3:

    >>> from mialeak.tradeoff import PiecewiseTradeOff
    >>> curve = PiecewiseTradeOff([0.25], [0.75])
    >>> curve
    PiecewiseTradeOff(3 vertices, advantage=0.5, kind='exact')
    >>> f"{curve.delta(1.0):.6f} {curve.epsilon(0.0):.6f}"
    '0.070430 1.098612'
    """

    _corners: Corners = field(repr=False)
    kind: Kind

    def __init__(self, fpr: Any, power: Any, *, kind: Kind = "exact") -> None:
        fpr = as_probability(as_floats(fpr, "fpr", ndim=1), "fpr")
        power = as_probability(as_floats(power, "power", ndim=1), "power")
        if fpr.shape != power.shape:
            rule = f"have as many elements as fpr; it has {power.size} and fpr {fpr.size}"
            invalid("power", rule)
        for values, name in ((fpr, "fpr"), (power, "power")):
            falls = np.diff(values) < 0.0
            if falls.any():
                index = first_index(falls)[0] + 1
                invalid(name, "be nondecreasing", index=index, value=values[index])
        self._keep(corners_of_points(fpr, power), kind)

    @classmethod
    def from_laws(cls, p_out: Any, p_in: Any, *, kind: Kind = "exact") -> PiecewiseTradeOff:
        """The trade-off of two laws on the same finite set.

        Parameters
        ----------
        p_out, p_in : (K,) array_like
            Probability of each outcome in the two worlds.  Two pandas Series must have the same
            index.
        kind : {"exact", "bound", "asymptotic", "estimate"}, keyword-only
            As for the class.

        Returns
        -------
        PiecewiseTradeOff

        Notes
        -----
        The outcomes are sorted by likelihood ratio and summed from both ends: small power, small
        1 - power and small power - fpr are all relatively accurate.  O(K log K).

        Examples
        --------
        >>> from mialeak.tradeoff import PiecewiseTradeOff
        >>> curve = PiecewiseTradeOff.from_laws([0.5, 0.5, 0.0], [0.3, 0.6, 0.1])
        >>> f"{curve.power(0.0):.2f} {curve.advantage:.2f}"
        '0.10 0.20'
        """
        require_same_values("outcomes", p_out=p_out, p_in=p_in)
        p_out, p_in = (
            as_probabilities(p_out, "p_out", ndim=1),
            as_probabilities(p_in, "p_in", ndim=1),
        )
        if p_out.shape != p_in.shape:
            rule = f"have as many elements as p_out; it has {p_in.size} and p_out {p_out.size}"
            invalid("p_in", rule)
        possible = (p_out > 0.0) | (p_in > 0.0)
        p_out, p_in = p_out[possible], p_in[possible]
        return cls._of(corners_of_atoms(p_out, p_in, log_ratios(p_out, p_in)), kind)

    @classmethod
    def from_epsilon(
        cls, epsilon: Any, delta: Any = 0.0, *, kind: Kind = "exact"
    ) -> PiecewiseTradeOff:
        """The curve of randomised response, the largest with (epsilon, delta)-differential privacy.

        It is also that of two-sided geometric noise, ``alpha = e^-epsilon``, on one count.

        Parameters
        ----------
        epsilon : float
            At least 0; may be inf.
        delta : float
            In [0, 1]: the probability of an answer that only one world makes possible.
        kind : {"exact", "bound", "asymptotic", "estimate"}, keyword-only
            As for the class: "bound" for a mechanism of which only epsilon and delta are known.

        Returns
        -------
        PiecewiseTradeOff

        Warns
        -----
        UserWarning
            If epsilon is at most 0.01, but not 0, and delta at least 0.1: they look exchanged.

        Examples
        --------
        Twenty answers to questions, each with epsilon 0.1:

        >>> from mialeak.tradeoff import PiecewiseTradeOff, compose
        >>> curve = compose(PiecewiseTradeOff.from_epsilon(0.1), counts=20)
        >>> f"{curve.epsilon(1e-6):.4f} {curve.epsilon(0.0):.4f}"
        '1.7886 2.0000'
        """
        x, share = as_floats(epsilon, "epsilon"), as_probability(delta, "delta")
        for value, name in ((x, "epsilon"), (share, "delta")):
            if value.ndim:
                invalid(name, f"be one number; its shape is {value.shape}")
        require(x >= 0.0, x, "epsilon", "be at least 0")
        warn_of_exchange(x, share)
        return cls._of_budget(float(x), float(share), kind)

    @classmethod
    def _of_budget(cls, x: float, lost: float, kind: Kind) -> PiecewiseTradeOff:
        """The same of an epsilon `x` and a delta `lost`, without the caution of their exchange."""
        less = (1.0 - lost) * float(special.expit(-x))
        more = (1.0 - lost) * float(special.expit(x))
        p_out, p_in = np.array([0.0, less, more, lost]), np.array([lost, more, less, 0.0])
        ratio = np.array([np.inf, x, -x, -np.inf])
        possible = (p_out > 0.0) | (p_in > 0.0)
        return cls._of_atoms((p_out[possible], p_in[possible], ratio[possible]), kind)

    @classmethod
    def from_noise(cls, p: Any, shift: int = 1, *, kind: Kind = "exact") -> PiecewiseTradeOff:
        """The curve of noise on the integers, added to two counts that differ by `shift`.

        Parameters
        ----------
        p : (K,) array_like
            Probabilities of the noise on K consecutive integers, of the sum 1.
        shift : int
            At least 1.
        kind : {"exact", "bound", "asymptotic", "estimate"}, keyword-only
            As for the class.

        Returns
        -------
        PiecewiseTradeOff

        Examples
        --------
        The discrete Gaussian of scale 3:

        >>> import numpy as np
        >>> from mialeak.tradeoff import GaussianTradeOff, PiecewiseTradeOff
        >>> p = np.exp(-0.5 * (np.arange(-120, 121) / 3.0) ** 2)
        >>> curve = PiecewiseTradeOff.from_noise(p / p.sum())
        >>> f"{curve.delta(0.5):.6f} {GaussianTradeOff(1 / 3).delta(0.5):.6f}"
        '0.011916 0.012418'
        """
        require_consecutive("consecutive integers", p, "p")
        p = as_probabilities(p, "p", ndim=1)
        shift = as_count(shift, "shift", least=1)
        nothing = np.zeros(shift)
        return cls.from_laws(np.append(p, nothing), np.append(nothing, p), kind=kind)

    @classmethod
    def from_pld(cls, pld: Any) -> PiecewiseTradeOff:
        """The curve of a privacy loss distribution of dp-accounting.

        Parameters
        ----------
        pld : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
            A pessimistic one.  Its losses of a removed row make the curve, which bounds both
            directions.

        Returns
        -------
        PiecewiseTradeOff
            Of kind "bound".

        Raises
        ------
        TypeError
            If `pld` is no privacy loss distribution.
        ValueError
            If it is an optimistic one.

        See Also
        --------
        TradeOff.to_pld : the inverse.
        """
        pmf = getattr(pld, "_pmf_remove", None)
        if pmf is None:
            rule = f"be a privacy loss distribution of dp-accounting, not {type(pld).__name__}"
            invalid("pld", rule, error=TypeError)
        if not pmf._pessimistic_estimate:
            invalid("pld", "be a pessimistic estimate: an optimistic one bounds nothing")
        dense = pmf.to_dense_pmf()
        p_in = np.asarray(dense._probs, np.float64)
        places = dense._lower_loss + np.arange(p_in.size, dtype=np.float64)
        loss = dense._discretization * places
        possible = p_in > 0.0
        p_in, loss = p_in[possible], loss[possible]
        p_out, lost = p_in * np.exp(-loss), float(dense._infinity_mass)
        missing = max(1.0 - float(p_out.sum()), 0.0)
        atoms = [(0.0, lost, np.inf)] * (lost > 0.0), [(missing, 0.0, -np.inf)] * (missing > 0.0)
        first, last = (np.array(part).reshape(-1, 3).T for part in atoms)
        whole = np.stack([p_out, p_in, loss])[:, ::-1]
        return cls._of(corners_of_atoms(*np.concatenate([first, whole, last], axis=1)), "bound")

    @classmethod
    def _of_atoms(cls, atoms: Outcomes, kind: Kind) -> PiecewiseTradeOff:
        """The curve of outcomes whose log ratios are known, also where a probability underflows."""
        return cls._of(corners_of_atoms(*atoms, difference(atoms)), kind)

    @classmethod
    def _of(cls, corners: Corners, kind: Kind) -> PiecewiseTradeOff:
        curve = object.__new__(cls)
        curve._keep(corners, kind)
        return curve

    def _keep(self, corners: Corners, kind: Kind) -> None:
        as_choice(kind, "kind", get_args(Kind))
        for part in corners:
            part.setflags(write=False)
        object.__setattr__(self, "_corners", corners)
        object.__setattr__(self, "kind", kind)

    @property
    def vertices(self) -> Vertices:
        """``(fpr, power)``, the vertices from the highest at fpr = 0 to (1, 1)."""
        return Vertices(self._corners.fpr, self._corners.power)

    @property
    def advantage(self) -> float:
        """The largest power - fpr."""
        return float(self._corners.gap.max())

    @property
    def auc(self) -> float:
        """Area under the curve of power against fpr."""
        fpr, _, _, fnr, _, _ = self._corners
        return 1.0 - 0.5 * float(np.sum(np.diff(fpr) * (fnr[1:] + fnr[:-1])))

    def _sampled(self, rate: Any, symmetric: bool) -> TradeOff:
        rate = as_probability(rate, "rate")
        if rate.ndim or symmetric:
            return super()._sampled(rate, symmetric)
        return self._of(self._corners.subsampled(float(rate)), self.kind)

    def compose(self, other: TradeOff) -> TradeOff:
        """The curve of this release and an independent second one together.

        Parameters
        ----------
        other : PiecewiseTradeOff

        Returns
        -------
        TradeOff
            A PiecewiseTradeOff for another of its kind, otherwise that of :func:`compose`.

        Raises
        ------
        ValueError
            For more than 4,194,304 pairs of segments, unless their log ratios are on one lattice.

        Notes
        -----
        A segment is an outcome with a known probability in each world.  The outcomes of both
        releases are all pairs; pairs of equal likelihood ratio (to 4e-15 of the largest logarithm)
        merge into one.  k composed copies of a release with two outcomes, such as randomised
        response, then have k + 1 outcomes and not 2**k.

        Examples
        --------
        >>> from mialeak.tradeoff import PiecewiseTradeOff
        >>> once = PiecewiseTradeOff([0.25], [0.75])
        >>> twice = once.compose(once)
        >>> f"{twice.advantage:.3f} {twice.epsilon(0.0):.3f}"
        '0.500 2.197'
        """
        if not isinstance(other, PiecewiseTradeOff):
            return super().compose(other)
        both = self._product(other)
        if both is None:
            ours, theirs = self._outcomes[0].size, other._outcomes[0].size
            why = f"{ours} times {theirs} segments are more than {MOST_PAIRS} pairs"
            unsupported("The composition", "of these curves", why)
        return both

    def _product(
        self, other: PiecewiseTradeOff, most: int = MOST_PAIRS
    ) -> PiecewiseTradeOff | None:
        """Both releases together; None if the outcomes are too many to be listed."""
        ours, theirs = self._outcomes, other._outcomes
        atoms = on_one_lattice(ours, theirs)
        if atoms is None:
            if ours[0].size * theirs[0].size > most:
                return None
            atoms = all_pairs(ours, theirs)
        curve = self._of_atoms(atoms, weakest(self.kind, other.kind))
        object.__setattr__(curve, "_outcomes", atoms)
        return curve

    def _power_of(self, count: int, most: int) -> PiecewiseTradeOff | None:
        """`count` independent releases; None if the outcomes are too many to be listed."""
        total = self
        for bit in bin(count)[3:]:
            for other in (total, self) if bit == "1" else (total,):
                both = total._product(other, most)
                if both is None:
                    return None
                total = both
        return total

    def _composable(self) -> TradeOff:
        return self

    @property
    def _identity(self) -> Hashable:
        return self.kind, *(part.tobytes() for part in self._outcomes)

    @property
    def _mirrored(self) -> bool:
        p_out, p_in, _ = self._outcomes
        # A probability is a difference of tails, and has their rounding.
        tail = np.minimum(np.cumsum(p_out), np.cumsum(p_out[::-1])[::-1])
        slack = _ROUNDED * p_out + _TAIL_ROUNDED * tail + _LEAST
        return bool(np.all(np.abs(p_out - p_in[::-1]) <= slack))

    @property
    def _reveals_all(self) -> bool:
        """Whether no outcome is possible in both worlds."""
        p_out, p_in, _ = self._outcomes
        return not np.any((p_out > 0.0) & (p_in > 0.0))

    def _loss(self) -> Loss:
        p_out, p_in, log_ratio = self._outcomes
        lost = float(p_out[log_ratio == -np.inf].sum()), float(p_in[log_ratio == np.inf].sum())
        finite = np.isfinite(log_ratio) & ((p_out > 0.0) | (p_in > 0.0))
        p_out, p_in, log_ratio = p_out[finite], p_in[finite], log_ratio[finite]
        with np.errstate(divide="ignore"):  # a probability that underflows follows from the other
            log_p = np.where(p_out >= _LEAST, np.log(p_out), np.log(p_in) - log_ratio)
        possible = log_p > -np.inf
        return AtomLoss(log_p[possible], log_ratio[possible], lost)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        fpr, power = (part.tolist() for part in self.vertices)
        # The laws, since 1 - power has lost the digits of a small fnr.
        p_out, p_in, log_ratio = self._outcomes
        laws = {"p_out": p_out.tolist(), "p_in": p_in.tolist()}
        finite = np.isfinite(log_ratio)
        if np.any(finite & (np.minimum(p_out, p_in) < _LEAST)):  # they underflow, and not the ratio
            laws["log_ratio"] = [float(x) if np.isfinite(x) else None for x in log_ratio]
        return {"type": type(self).__name__, "fpr": fpr, "power": power, **laws, "kind": self.kind}

    def __repr__(self) -> str:
        count, advantage = self._corners.fpr.size, f"{self.advantage:.6g}"
        return f"{type(self).__name__}({count} vertices, advantage={advantage}, kind={self.kind!r})"

    @cached_property
    def _outcomes(self) -> Outcomes:
        """The outcomes that :meth:`compose` pairs; a composed curve stores its outcomes."""
        return outcomes_of(self._corners)

    @cached_property
    def _sides(self) -> dict[str, Side]:
        return {direction: Side.of(self._corners, direction) for direction in ("in", "out")}

    def _power(self, fpr: FloatArray) -> FloatArray:
        power = between(fpr, self._corners.fpr, self._corners.power, rightmost=True)
        # The false-positive rates of further vertices may underflow.
        return np.where(fpr > 0.0, power, self._corners.power[0])

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        corners = self._corners
        by_fpr = between(fpr, corners.fpr, corners.fnr, rightmost=True)
        by_tnr = between(1.0 - fpr, corners.tnr[::-1], corners.fnr[::-1], rightmost=False)
        return np.where(fpr > 0.0, np.where(fpr < 0.5, by_fpr, by_tnr), corners.fnr[0])

    def _fpr(self, power: FloatArray) -> FloatArray:
        corners = self._corners
        low = between(power, corners.power, corners.fpr, rightmost=False)
        high = between(1.0 - power, corners.fnr[::-1], corners.fpr[::-1], rightmost=True)
        # The first vertex of power 1, of which that before may be 1 but for underflow.
        certain = corners.fpr[self._sides["out"].cost.size - 1]
        return np.where(power < 1.0, np.where(power < 0.5, low, high), certain)

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        return self._sides[direction].delta(epsilon)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        return self._sides[direction].epsilon(delta)


def all_outcomes(parts: list[tuple[TradeOff, int]]) -> PiecewiseTradeOff | None:
    """All outcomes of discrete curves; None if a curve is not discrete, or they are too many."""
    discrete = [(curve, m) for curve, m in parts if isinstance(curve, PiecewiseTradeOff)]
    if len(discrete) < len(parts):
        return None
    # If no outcomes merge, each part doubles their number: so many parts are not worth the trial.
    most = MOST_PAIRS if 1 << len(parts) <= MOST_PAIRS else _MOST_TRIED
    whole: PiecewiseTradeOff | None = None
    for curve, count in discrete:
        listed = curve._power_of(count, most)
        whole = listed if whole is None or listed is None else whole._product(listed, most)
        if whole is None:
            return None
    return whole
