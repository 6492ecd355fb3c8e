"""The methods of every trade-off curve, and the checks of their arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any, ClassVar, NoReturn, get_args

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_floats,
    as_probability,
    invalid,
    plain,
    require,
    unsupported,
)
from mialeak._numerics.losses import Loss
from mialeak._numerics.roots import increasing_root, least_epsilon, positive_where
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report
from mialeak._results import Direction, Kind
from mialeak.tradeoff._document import curve_document, curve_panels, curve_table

__all__ = ["TradeOff", "require_scalar", "weakest"]


#: Largest number of losses of a privacy loss distribution.
_MOST_LOSSES = 1 << 22

#: Kinds from the strongest claim to the weakest; a result from several has the weakest kind.
_STRENGTH: tuple[Kind, ...] = ("exact", "bound", "asymptotic", "estimate")


def weakest(*kinds: Kind) -> Kind:
    """The kind of a result computed from results of several kinds."""
    return max(kinds, key=_STRENGTH.index)


def require_scalar(value: Any, name: str) -> None:
    """Refuse an array of parameters: curves are composed one by one."""
    if np.ndim(value):
        rule = f"be one number where curves are composed; its shape is {np.shape(value)}"
        invalid(name, rule, remedy="Compose the curves one by one")


class TradeOff(Report, ABC):
    """The power of the best attack on a release at each false-positive rate.

    The attack distinguishes two worlds.  *Out*: n fresh rows; *in*: the target and n - 1 fresh
    rows.  Both have n rows: epsilon is for substitution, not for adding or removing a row.
    ``fpr`` is P(guess "in" | out) and ``power`` is P(guess "in" | in).

    The curve determines accuracy, advantage, and every (epsilon, delta).  Objects are immutable;
    parameters and arguments broadcast together, and a result is a float if all of them are scalars.

    See Also
    --------
    GaussianTradeOff, SubsampledTradeOff, PiecewiseTradeOff, EmpiricalTradeOff : the kinds.

    Notes
    -----
    A new kind of curve is a frozen dataclass that inherits this class and defines ``_power``,
    ``_delta`` and ``auc``, whose arguments are checked float64 arrays.  It should define ``_fnr``,
    since ``1 - power`` is inaccurate where small, and may define ``_fpr`` and ``_epsilon``; the
    default is a search (about ten evaluations, to the last bit of the curve as computed).

    Examples
    --------
    >>> from mialeak.tradeoff import GaussianTradeOff
    >>> curve = GaussianTradeOff(1.0).subsample(0.1)
    >>> f"{curve.advantage:.6f} {curve.epsilon(1e-5):.6f}"
    '0.038292 1.684544'
    """

    _title = "A trade-off curve"
    #: Whether the curve is that of one attack, not of the best one.
    _is_one_attack: ClassVar[bool] = False

    #: Whether delta in direction "in" is never below that in direction "out" (epsilon >= 0).
    _in_leads: bool = False

    #: Constructor of the curve of a subsample; set by the module of :class:`SubsampledTradeOff`,
    #: which imports this class.
    _subsampled: ClassVar[Callable[..., TradeOff]]
    #: :func:`compose`, set likewise.
    _composed: ClassVar[Callable[..., TradeOff]]
    #: The reader of :meth:`from_dict`, set by the package, which imports all curves.
    _stored: ClassVar[Callable[..., TradeOff]]

    def document(self) -> Document:
        """The content of the report: the advantage, powers, and pairs of epsilon and delta.

        Returns
        -------
        Document
            What a notebook shows and :meth:`to_html` writes.
        """
        return curve_document(self, is_one_attack=self._is_one_attack)

    def panels(self) -> list[Panel]:
        """What :meth:`plot` draws: the curve on logarithmic and on linear axes.

        Returns
        -------
        list of Panel
        """
        return curve_panels(self)

    def _table(self) -> dict[str, Any]:
        return curve_table(self)

    def __str__(self) -> str:
        return repr(self)

    def power(self, fpr: Any) -> float | FloatArray:
        """P(guess "in" | in) of the best attack with this false-positive rate.

        Parameters
        ----------
        fpr : array_like
            P(guess "in" | out), in [0, 1].

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError
            If a rate is outside [0, 1].

        Examples
        --------
        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> curve = GaussianTradeOff(1.0)
        >>> f"{curve.power(1e-3):.6f}"
        '0.018298'
        """
        return plain(self._power(as_probability(fpr, "fpr")))

    def fnr(self, fpr: Any) -> float | FloatArray:
        """P(guess "out" | in) = 1 - power, without the cancellation.

        This is the trade-off function of Dong, Roth and Su (2022).

        Parameters
        ----------
        fpr : array_like
            P(guess "in" | out), in [0, 1].

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError
            If a rate is outside [0, 1].

        Examples
        --------
        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> f"{GaussianTradeOff(30.0).fnr(0.5):.4e}"
        '4.9067e-198'
        """
        return plain(self._fnr(as_probability(fpr, "fpr")))

    def fpr(self, power: Any) -> float | FloatArray:
        """The least false-positive rate of an attack with this power.

        Parameters
        ----------
        power : array_like
            P(guess "in" | in), in [0, 1].

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError
            If a power is outside [0, 1].

        Examples
        --------
        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> curve = GaussianTradeOff(1.0)
        >>> f"{curve.power(curve.fpr(0.25)):.6f}"
        '0.250000'
        """
        return plain(self._fpr(as_probability(power, "power")))

    def delta(self, epsilon: Any, *, direction: Direction = "both") -> float | FloatArray:
        """The least delta with which the two worlds are (epsilon, delta)-indistinguishable.

        Parameters
        ----------
        epsilon : array_like
            At least 0; may be inf.
        direction : {"both", "in", "out"}
            "in": sup over S of P_in(S) - e^epsilon P_out(S); "out": the worlds exchanged;
            "both": the larger of the two.

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError
            If epsilon is negative or NaN, or direction another word.

        Examples
        --------
        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> f"{GaussianTradeOff(1.0).delta(1.0):.6f}"
        '0.126937'
        """
        epsilon = as_floats(epsilon, "epsilon")
        require(epsilon >= 0.0, epsilon, "epsilon", "be at least 0")
        one, other = self._directions(direction)
        result = self._delta(epsilon, one)
        if other:
            result = np.maximum(result, self._delta(epsilon, other))
        return plain(result)

    def epsilon(self, delta: Any, *, direction: Direction = "both") -> float | FloatArray:
        """The least epsilon >= 0 with ``delta(epsilon) <= delta``; inf where there is none.

        Parameters
        ----------
        delta : array_like
            In [0, 1].
        direction : {"both", "in", "out"}
            As for :meth:`delta`.

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError
            If delta is outside [0, 1], or direction another word.

        Examples
        --------
        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> f"{GaussianTradeOff(1.0).epsilon(1e-5):.6f}"
        '4.377178'
        """
        return self._least_epsilon(delta, direction)

    def _least_epsilon(self, delta: Any, direction: Direction = "both") -> float | FloatArray:
        """The same without the warnings that a kind of curve may have."""
        delta = as_probability(delta, "delta")
        one, other = self._directions(direction)
        result = self._epsilon(delta, one)
        if other:
            result = np.maximum(result, self._epsilon(delta, other))
        return plain(result)

    @property
    def advantage(self) -> float | FloatArray:
        """The largest power - fpr: the total variation distance of the two worlds."""
        return plain(self._delta(np.zeros(()), "in"))

    def reconstruction(self, baseline: Any) -> float | FloatArray:
        """How often a guess about the target is right at most, if the target is in the release.

        The guess is of anything about the target: a secret value, or the whole row to a given
        accuracy.  Right is one of the possible guesses, which depends on the target.

        Parameters
        ----------
        baseline : array_like
            How often the guess is right for a target that is not in the release, in [0, 1]: with
            the release of fresh rows the guess knows nothing of this target but what is true of
            the population.

        Returns
        -------
        float or ndarray
            ``power(baseline)``: that the guess is right would be a test of membership.

        Raises
        ------
        ValueError
            If a baseline is outside [0, 1].

        Notes
        -----
        The curve must be that of every target, or bound it.  The mean over targets is bounded too,
        as the power is concave in the false-positive rate.

        Examples
        --------
        A secret that is guessed right 3 times in 4 without the release:

        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> f"{GaussianTradeOff(0.5).reconstruction(0.75):.3f}"
        '0.880'
        """
        return plain(self._power(as_probability(baseline, "baseline")))

    @property
    @abstractmethod
    def auc(self) -> float | FloatArray:
        """Area under the curve of power against fpr."""

    def subsample(self, rate: Any, *, symmetric: bool = False) -> TradeOff:
        """The curve of a release of a random share `rate` of the rows, drawn together.

        `self` is the curve of the release of the drawn rows if the target is one of them; see
        :class:`SubsampledTradeOff`.

        Parameters
        ----------
        rate : array_like
            In [0, 1].
        symmetric : bool
            For differential privacy with batches of a fixed size; see :class:`SubsampledTradeOff`.
            For Gaussian and Laplace curves only.

        Returns
        -------
        TradeOff
            For one rate of a :class:`PiecewiseTradeOff` one of its kind; of a sampled curve that
            at the product of the rates; otherwise a :class:`SubsampledTradeOff`.

        Raises
        ------
        ValueError
            If a rate is outside [0, 1].
        TypeError
            If `symmetric` is passed for another curve.
        """
        return self._sampled(rate, symmetric)

    def _sampled(self, rate: Any, symmetric: bool) -> TradeOff:
        return type(self)._subsampled(self, rate, symmetric=symmetric)

    def compose(self, other: TradeOff) -> TradeOff:
        """The curve of this release and an independent second one together.

        Parameters
        ----------
        other : TradeOff

        Returns
        -------
        TradeOff

        Raises
        ------
        TypeError, ValueError
            As :func:`compose`, which takes any number of curves.

        Examples
        --------
        >>> from mialeak.tradeoff import GaussianTradeOff, PiecewiseTradeOff
        >>> both = GaussianTradeOff(1.0).compose(PiecewiseTradeOff([0.25], [0.75]))
        >>> f"{both.advantage:.6f}"
        '0.554928'
        """
        if not isinstance(other, TradeOff):
            invalid("other", f"be a TradeOff, not {type(other).__name__}", error=TypeError)
        return type(self)._composed(self, other)

    def to_pld(self, interval: float = 1e-4) -> Any:
        """A privacy loss distribution of dp-accounting whose curve is nowhere below this one.

        Parameters
        ----------
        interval : float
            Distance of its losses, above 0.

        Returns
        -------
        dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
            Pessimistic: its deltas are upper bounds, but for the rounding of differences of deltas,
            1e-15 over the interval.  Its losses of a removed row are those of
            direction "in", of an added row those of "out".

        Raises
        ------
        ImportError
            If the package dp-accounting is not installed.
        ValueError
            If the interval is not positive, or so small that there are more than 4,194,304 losses.

        Notes
        -----
        By the deltas at multiples of the interval (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi,
        2022); losses with a probability below 1e-15 become infinite.
        """
        pld = import_module("dp_accounting.pld.privacy_loss_distribution")
        pld_pmf = import_module("dp_accounting.pld.pld_pmf")
        step = float(as_floats(interval, "interval"))
        if not 0.0 < step < np.inf:
            invalid("interval", "be above 0", value=step)
        ends = {}
        side: Direction
        for side in ("in", "out"):
            lost = float(np.asarray(self.delta(np.inf, direction=side)))
            ends[side] = np.ceil(
                float(np.asarray(self.epsilon(lost + 1e-15, direction=side))) / step
            )
        if ends["in"] + ends["out"] > _MOST_LOSSES:
            rule = (
                f"be at least {(ends['in'] + ends['out']) * step / _MOST_LOSSES:.3g} for this curve"
            )
            invalid("interval", rule, value=step)
        masses = []
        sides: tuple[tuple[Direction, Direction], ...] = (("in", "out"), ("out", "in"))
        for side, other in sides:
            places = np.arange(-ends[other], ends[side] + 1.0).astype(np.int64)
            epsilon = step * places
            positive = np.asarray(self.delta(np.maximum(epsilon, 0.0), direction=side))
            mirrored = np.asarray(self.delta(np.maximum(-epsilon, 0.0), direction=other))
            below = np.exp(np.minimum(epsilon, 0.0)) * mirrored - np.expm1(np.minimum(epsilon, 0.0))
            deltas = np.minimum.accumulate(np.where(epsilon >= 0.0, positive, below))
            masses.append(pld_pmf.create_pmf_pessimistic_connect_dots(step, places, deltas))
        return pld.PrivacyLossDistribution(*masses)

    def _composable(self) -> TradeOff:
        """The curve whose likelihood ratio is composed, with scalar parameters."""
        self._without_ratio()

    @property
    def _identity(self) -> Hashable:
        """Equal for composable curves that are equal."""
        return id(self)

    @property
    def _mirrored(self) -> bool:
        """Whether the curve is known to be the same with the worlds exchanged."""
        return False

    def _loss(self) -> Loss:
        """The log likelihood ratio of a composable curve."""
        self._without_ratio()

    def _enclosing(self) -> tuple[TradeOff, TradeOff]:
        """Curves nowhere above and nowhere below this one, whose ratios are known by outcome."""
        return self, self

    def _without_ratio(self) -> NoReturn:
        why = "the law of its likelihood ratio is not known"
        unsupported("compose", f"for {type(self).__name__}", why, error=TypeError)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; "type" names the class."""
        return {"type": type(self).__name__, **super().to_dict()}

    @staticmethod
    def from_dict(content: Any) -> TradeOff:
        """The curve of which ``to_dict`` made this, for instance read from a JSON file.

        Gaussian, Laplace and piecewise linear curves, samples of them, and compositions; others
        raise ValueError.  See ``mialeak curve --compose``, which reads such files.
        """
        return TradeOff._stored(content)

    @abstractmethod
    def _power(self, fpr: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _delta(self, epsilon: FloatArray, direction: str) -> FloatArray: ...

    def _fnr(self, fpr: FloatArray) -> FloatArray:
        return 1.0 - self._power(fpr)

    def _delta_near(self, epsilon: FloatArray, low: FloatArray, direction: str) -> FloatArray:
        """Delta at ``epsilon + low``; kinds with a steep tail use the low word."""
        return self._delta(epsilon, direction)

    def _fpr(self, power: FloatArray) -> FloatArray:
        def excess(fpr: FloatArray) -> FloatArray:
            reached = self._power(fpr)
            return positive_where(np.log(reached / power), reached >= power)

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = increasing_root(excess, 0.0, 1.0)
        return np.where(power > 0.0, root, 0.0)

    def _epsilon(self, delta: FloatArray, direction: str) -> FloatArray:
        return least_epsilon(lambda epsilon: self._delta(epsilon, direction), delta)

    def _directions(self, direction: str) -> tuple[str, str | None]:
        as_choice(direction, "direction", get_args(Direction))
        if direction != "both":
            return direction, None
        return "in", None if self._in_leads else "out"
