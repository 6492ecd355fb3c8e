"""Several independent releases about the same target: one curve for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mialeak._arrays import FloatArray, as_counts, invalid, unsupported
from mialeak._numerics.inversion import TwoWorlds
from mialeak._numerics.losses import ComposedLoss
from mialeak._numerics.roots import least_epsilon
from mialeak._results import Kind
from mialeak.tradeoff._base import TradeOff, weakest
from mialeak.tradeoff._gaussian import GaussianTradeOff
from mialeak.tradeoff._piecewise import PiecewiseTradeOff

__all__ = ["ComposedTradeOff", "compose"]

Method = Literal["closed form", "atoms", "inversion"]

#: The integrand is negligible below this share of its largest value.
_NEGLIGIBLE = 1e-18
#: Largest number of nodes of a contour, and the step between them in units of one over the standard
#: deviation at first.
_MOST_NODES, _FIRST_STEP = 1 << 12, 0.4
#: Exponents of Chernoff's bounds.
_EXPONENTS = (1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 23.0, 32.0, 45.0)
#: Rounding error of one operation.
_EPS = 2.0**-52


@dataclass(frozen=True, repr=False, eq=False)
class ComposedTradeOff(TradeOff):
    """The trade-off of several independent releases together; made by :func:`compose`.

    Attributes
    ----------
    curves : tuple of TradeOff
        The curves of the releases, those of one family merged.
    counts : tuple of int
        How often each is used.
    kind : str
        The weakest kind of the curves.

    See Also
    --------
    compose : method and accuracy.

    Examples
    --------
    >>> from mialeak import GaussianTradeOff, compose
    >>> step = GaussianTradeOff(1.0).subsample(0.01)
    >>> curve = compose(step, counts=10_000)
    >>> curve
    ComposedTradeOff(10,000 releases, advantage=0.480072, method='inversion', kind='exact')
    >>> f"{curve.epsilon(1e-5):.6f}"
    '6.187712'
    """

    curves: tuple[TradeOff, ...]
    counts: tuple[int, ...]
    kind: Kind = field(init=False)
    #: The curve itself, where one family has it in closed form.
    _whole: TradeOff | None = field(default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", weakest(*(curve.kind for curve in self.curves)))

    @property
    def method(self) -> Method:
        """Method of computation: "closed form", "atoms" or "inversion"."""
        if self._whole is None:
            return "inversion"
        return "atoms" if isinstance(self._whole, PiecewiseTradeOff) else "closed form"

    @property
    def error(self) -> float:
        """Estimated error of the results so far, relative.

        For the inversion: wrap-around, trapezoid rule and the rounding of the moment function.  A
        threshold deep in a tail multiplies it by the slope of the curve there.
        """
        releases = float(sum(self.counts))
        if self._whole is not None:
            return float(64.0 * _EPS * np.sqrt(releases))
        loss = self._losses
        off = abs(loss.local(1.0)[0] - float(np.log1p(-loss.lost[1])))
        return float(self._worlds.inversion.error + off + 64.0 * _EPS * np.sqrt(len(self.counts)))

    @property
    def auc(self) -> float:
        """Area under the curve of power against fpr."""
        if self._whole is not None:
            return float(self._whole.auc)
        with _resolved():
            return self._worlds.auc

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        return {
            "type": type(self).__name__,
            "advantage": float(self.advantage),
            "curves": [curve.to_dict() for curve in self.curves],
            "counts": list(self.counts),
            "method": self.method,
            "error": self.error,
            "kind": self.kind,
        }

    def __repr__(self) -> str:
        advantage = f"{float(self.advantage):.6g}"
        return (
            f"{type(self).__name__}({sum(self.counts):,} releases, advantage={advantage}, "
            f"method={self.method!r}, kind={self.kind!r})"
        )

    @cached_property
    def _losses(self) -> ComposedLoss:
        return ComposedLoss(
            [(curve._loss(), m) for curve, m in zip(self.curves, self.counts, strict=True)]
        )

    @cached_property
    def _worlds(self) -> TwoWorlds:
        loss = self._losses
        options: dict[str, Any] = {"support": loss.support, "strip": loss.strip}
        again = loss.recurrences
        if again is not None and not loss.has_atoms:
            options |= {"windows": again.windows, "reach": again.start, "omitted": again.omitted}
            return TwoWorlds(loss, loss.lost, **options)
        options["least"] = self._range if loss.has_atoms else None
        return TwoWorlds(loss, loss.lost, most_nodes=_MOST_NODES, **options)

    def _range(self, theta: float) -> float:
        """The t beyond which the moment function is negligible, whatever the atoms do."""
        t = 8.0 / self._losses.local(theta)[2]
        most = t * _MOST_NODES * _FIRST_STEP / 8.0
        while self._losses.ceiling(theta, t) > _NEGLIGIBLE:
            t *= 1.25
            if t > most:
                why = "its log-likelihood ratio is nearly discrete, with too many values to list"
                unsupported("The composition", "of these curves", why, _DISCRETE)
        return t

    def _power(self, fpr: FloatArray) -> FloatArray:
        if self._whole is not None:
            return self._whole._power(fpr)
        with _resolved():
            return self._worlds.at_fpr(fpr)[1]

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        if self._whole is not None:
            return self._whole._fnr(fpr)
        with _resolved():
            return self._worlds.at_fpr(fpr)[2]

    def _fpr(self, power: FloatArray) -> FloatArray:
        if self._whole is not None:
            return self._whole._fpr(power)
        with _resolved():
            return self._worlds.at_power(power)

    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray:
        if self._whole is not None:
            return self._whole._delta(epsilon, direction)
        with _resolved():
            return np.minimum(self._worlds.delta(epsilon, direction), 1.0)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        if self._whole is not None:
            return self._whole._epsilon(delta, direction)
        low, high = self._losses.support
        lost = self._losses.lost[direction == "in"]
        last = np.inf if lost > 0.0 else high if direction == "in" else -low
        more = delta - lost  # what the finite log ratios may add
        sought = np.where(more > 0.0, more, 1.0)
        with _resolved():
            reached = least_epsilon(
                lambda epsilon: self._delta_down_to(float(sought.min()), epsilon, direction), sought
            )
        return np.where(more > 0.0, reached, np.where(more < 0.0, np.inf, last))

    def _delta_down_to(self, least: float, epsilon: FloatArray, direction: str) -> FloatArray:
        """The finite part of delta, or Chernoff's bound on it where that is well below `least`.

        The search for an epsilon looks so far into the tail that the inversion may not resolve it.
        """
        epsilon = np.asarray(epsilon, np.float64)
        finite, far = np.minimum(epsilon, 1e300), []
        # With u = e^(l - x), (u - 1)+ <= c u^(r + 1) and, with u = e^(l + x), (1 - u)+ <= c u^-r.
        for r in _EXPONENTS:
            log_c = r * np.log(r) - (r + 1.0) * np.log1p(r)
            log_moment = self._losses.local(r + 1.0 if direction == "in" else -r)[0]
            far.append(log_c + log_moment - r * finite)
        bound = np.min(far, axis=0)
        near = ~(bound < np.log(least) - 1.0)
        delta = np.array(np.exp(np.minimum(bound, 0.0)))
        if near.any():
            delta[near] = self._worlds.finite_delta(epsilon[near], direction)
        return delta


@contextmanager
def _resolved() -> Iterator[None]:
    """State a moment function that the inversion does not resolve as what it is to the caller."""
    try:
        yield
    except ArithmeticError:
        why = (
            "a small rate with a small number of releases, or hardly any noise, makes the "
            "likelihood ratio nearly discrete"
        )
        unsupported("The composition", "at this point", why, _ACCOUNTANT, error=ArithmeticError)


_ACCOUNTANT = (
    "An accountant that discretises the losses, as dp-accounting does, bounds it from both sides"
)
_DISCRETE = (
    "Add the noise that the release has, if it has any, or compose fewer of them: up to 4,194,304 "
    "pairs of outcomes are listed"
)


def compose(*curves: TradeOff, counts: Any = None) -> ComposedTradeOff:
    """The trade-off of several independent releases about the same target.

    Parameters
    ----------
    *curves : TradeOff
        One for each kind of release: Gaussian, subsampled Gaussian (one step of DP-SGD), piecewise
        linear (discrete laws), exact means, or themselves composed.  Their parameters are scalars.
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
        is an estimate of one power at a time.
    ValueError
        If there is no curve; if counts have another length or one is below 1; if parameters are
        arrays; if all curves are discrete and their outcomes too many to be listed.
    ArithmeticError
        Of the methods of the result: far in a tail where the likelihood ratio of a small number of
        releases is nearly discrete, so that no number of nodes is enough.

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
    piecewise linear curves are composed outcome by outcome while their number allows.  That a
    composition is a sum of privacy losses, and that its curve is the product of Dong, Roth and Su
    (Journal of the Royal Statistical Society B, 2022), holds in both directions; the moment
    function on a vertical line is that of Zhu, Dong and Wang (AISTATS 2022), here with a line
    through the saddle point.

    The releases must be independent given the data.  An attacker who chooses the next release by
    the former ones is covered if each curve holds whatever came before, as it does for noise of a
    fixed size and for batches drawn anew; a curve of one fixed pair of data sets is not enough.

    For batches in which each row is drawn with probability q and noise of sigma times the clipping
    norm, a step is ``GaussianTradeOff(1 / sigma).subsample(q)``.  Direction "in" is then that of a
    row removed, "out" that of a row added, and epsilon is for adding or removing a row.

    **Accuracy.**  Relative, of delta and of power, 1e-13 for deltas down to 1e-128 against sums in
    50 digits, and 1e-12 down to 1e-300; the number of releases multiplies the rounding of one log
    moment, 1e-17.

    **Cost.**  10 ms for 10,000 steps of DP-SGD and any number of epsilons; seconds for less than a
    hundred steps with a small rate at a tiny delta, where the ratio is nearly discrete.

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
    return _merged(list(_flat(curves, times)))


def _flat(curves: Sequence[TradeOff], counts: Sequence[int]) -> Any:
    for curve, count in zip(curves, counts, strict=True):
        if isinstance(curve, ComposedTradeOff):
            yield from _flat(curve.curves, [count * m for m in curve.counts])
        else:
            yield curve._composable(), count


def _merged(parts: list[tuple[TradeOff, int]]) -> ComposedTradeOff:
    """Gaussian curves become one, discrete ones one where their outcomes can be listed."""
    kept: list[tuple[TradeOff, int]] = []
    normal: GaussianTradeOff | None = None
    atoms: PiecewiseTradeOff | None = None
    kinds = [curve.kind for curve, _ in parts]
    for curve, count in parts:
        if isinstance(curve, PiecewiseTradeOff) and curve._reveals_all:
            whole = PiecewiseTradeOff([0.0], [1.0], kind=weakest(*kinds))
            return ComposedTradeOff((whole,), (1,), whole)
        if isinstance(curve, (GaussianTradeOff, PiecewiseTradeOff)) and curve.advantage == 0.0:
            continue
        if isinstance(curve, GaussianTradeOff):
            mu = float(curve.mu) * np.sqrt(count)
            if normal is not None:
                mu = np.hypot(float(normal.mu), mu)
            kind = curve.kind if normal is None else weakest(normal.kind, curve.kind)
            normal = GaussianTradeOff(mu, kind=kind)
        elif isinstance(curve, PiecewiseTradeOff):
            listed = curve._power_of(count)
            both = listed if atoms is None or listed is None else atoms._product(listed)
            if both is None:
                kept.append((curve, count))
            else:
                atoms = both
        else:
            kept.append((curve, count))
    kept += [(curve, 1) for curve in (atoms, normal) if curve is not None]
    kept = kept or [(GaussianTradeOff(0.0, kind=parts[0][0].kind), 1)]
    names, counts = zip(*kept, strict=True)
    alone = kept[0][0] if len(kept) == 1 and counts[0] == 1 else None
    return ComposedTradeOff(names, counts, alone)


TradeOff._composed = compose
