"""Trade-off curves on two axes, false-positive rate and power, and the band of a measured one.

The band is made of two Clopper-Pearson intervals at each threshold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from mialeak._arrays import FloatArray, as_share, invalid
from mialeak._report.text import number
from mialeak._results import as_confidence
from mialeak.auditing import Band
from mialeak.plotting._axes import (
    CURVE,
    REFERENCE,
    THIN,
    Scale,
    add_legend,
    check_scale,
    drawn,
    figure_of,
    new_axes,
    style,
)
from mialeak.tradeoff import EmpiricalTradeOff, TradeOff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["TradeOffDisplay", "pointwise_band"]

#: Least false-positive rate of a curve that has the axes for itself.
_LEAST_FPR = 1e-5
#: Points of a curve on either scale.
_POINTS = 300
#: Confidence of a band that nobody asked about.
_CONFIDENCE = 0.95
#: A curve with more than `_MANY` points is thinned to about this many levels of either rate, on
#: either scale.
_LARGE, _LEVELS = 3000, 300


class TradeOffDisplay:
    """Trade-off curve: the power of the best attack at each false-positive rate.

    Use :meth:`from_tradeoff` for a curve and :meth:`from_scores` for the scores of an attack.  All
    parameters are kept as attributes.

    Parameters
    ----------
    fpr, power : ndarray, shape (points,)
        The curve, from left to right.
    name : str
        For the legend.
    leakage : float, optional
        The largest power - fpr, for the legend.
    band : Band, optional
        ``(fpr, lower, upper, name)``: range of the power, and the name of the method.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Artist
        The curve.
    band_ : matplotlib Artist or None
    no_leakage_ : matplotlib Artist
        The diagonal, power = fpr.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mialeak.plotting import TradeOffDisplay
    >>> from mialeak.tradeoff import GaussianTradeOff
    >>> display = TradeOffDisplay.from_tradeoff(GaussianTradeOff(1.5), name="theory")
    >>> display.line_.get_label()
    'theory (advantage 0.547)'
    >>> display.figure_.savefig("curve.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D
    band_: FillBetweenPolyCollection | None
    no_leakage_: Line2D

    def __init__(
        self,
        *,
        fpr: FloatArray,
        power: FloatArray,
        name: str,
        leakage: float | None = None,
        band: Band | None = None,
    ) -> None:
        self.fpr = fpr
        self.power = power
        self.name = name
        self.leakage = leakage
        self.band = band

    @classmethod
    def from_tradeoff(
        cls,
        tradeoff: TradeOff,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        scale: Scale = "log",
        least_fpr: float | None = None,
        **kwargs: Any,
    ) -> TradeOffDisplay:
        """Draw a trade-off curve.

        Parameters
        ----------
        tradeoff : TradeOff
            One curve.  A measured one is drawn as :meth:`from_scores` does.
        ax : matplotlib Axes, optional
            Where to draw, such as the `ax_` of another display; a new figure by default.
        name : str, optional
            For the legend; by default the kind of the curve.
        scale : {"log", "linear"}
            Of both axes.  An attacker lives at small false-positive rates: log shows them.
        least_fpr : float, optional
            Where the log scale begins: by default where that of the axes given does, or at 1e-5.
        **kwargs
            For matplotlib's ``Axes.plot``.

        Returns
        -------
        TradeOffDisplay

        Raises
        ------
        TypeError
            If `tradeoff` is no trade-off.
        ValueError
            If it holds several curves, or `scale` or `least_fpr` is not as above.
        ImportError
            If there are no axes given and matplotlib is not installed.
        """
        if not isinstance(tradeoff, TradeOff):
            invalid("tradeoff", f"be a TradeOff, not {type(tradeoff).__name__}", error=TypeError)
        if isinstance(tradeoff, EmpiricalTradeOff):
            display = cls._measured(tradeoff, pointwise_band(tradeoff, _CONFIDENCE), name)
            return display.plot(ax, scale=scale, least_fpr=least_fpr, **kwargs)
        advantage = np.asarray(tradeoff.advantage)
        if advantage.ndim:
            remedy = "Draw its curves one by one on the same ax"
            invalid("tradeoff", f"be one curve, not {advantage.size}", remedy=remedy)
        if least_fpr is None:
            least_fpr = _LEAST_FPR if ax is None else _start(ax) or _LEAST_FPR
        fpr = _grid(tradeoff, as_share(least_fpr, "least_fpr"))
        display = cls(
            fpr=fpr,
            power=np.asarray(tradeoff.power(fpr)),
            name=tradeoff.kind if name is None else name,
            leakage=float(advantage),
        )
        return display.plot(ax, scale=scale, least_fpr=least_fpr, **kwargs)

    @classmethod
    def from_scores(
        cls,
        in_scores: Any,
        out_scores: Any,
        *,
        confidence: float | None = _CONFIDENCE,
        ax: Axes | None = None,
        name: str | None = None,
        scale: Scale = "log",
        least_fpr: float | None = None,
        **kwargs: Any,
    ) -> TradeOffDisplay:
        """Draw what an attack achieved: the receiver operating curve of its scores, with a band.

        Parameters
        ----------
        in_scores, out_scores : array_like
            Scores of the attack in the two worlds, larger meaning more likely *in*.
        confidence : float or None
            Of the band, at each single point; None draws no band.
        ax, scale, **kwargs
            As for :meth:`from_tradeoff`.
        name : str, optional
            For the legend; by default "measured".
        least_fpr : float, optional
            Where the log scale begins: by default at one false positive, or where that of the axes
            given does if that is less.

        Returns
        -------
        TradeOffDisplay

        Raises
        ------
        ValueError
            As :class:`mialeak.tradeoff.EmpiricalTradeOff`, or an option is out of range.  A curve
            of scores that are larger out can be passed to :meth:`from_tradeoff`.
        ImportError
            If there are no axes given and matplotlib is not installed.

        Notes
        -----
        At one threshold the false-positive rate and the power each lie in a Clopper-Pearson
        interval; the two are independent, so that both do with probability `confidence` if each
        has the square root of it.  The band is made of those rectangles: at any one false-positive
        rate it holds the true power of an attack with continuous scores with at least that
        probability.  It is pointwise: the whole curve lies in it less often.

        Of more than 3,000 points some are drawn; the band of those between two of them is covered.

        Examples
        --------
        Theory and measurement on one axes:

        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import numpy as np
        >>> from mialeak.plotting import TradeOffDisplay
        >>> from mialeak.tradeoff import GaussianTradeOff
        >>> rng = np.random.default_rng(0)
        >>> measured = TradeOffDisplay.from_scores(rng.normal(1, 1, 500), rng.normal(0, 1, 500))
        >>> both = TradeOffDisplay.from_tradeoff(GaussianTradeOff(1.0), ax=measured.ax_)
        >>> for text in both.ax_.get_legend().get_texts():
        ...     print(text.get_text())
        no leakage
        measured (advantage 0.418)
        95% pointwise band (Clopper-Pearson)
        exact (advantage 0.383)
        """
        share = None if confidence is None else as_confidence(confidence)
        curve = EmpiricalTradeOff(in_scores, out_scores)
        band = None if share is None else pointwise_band(curve, share)
        display = cls._measured(curve, band, name)
        return display.plot(ax, scale=scale, least_fpr=least_fpr, **kwargs)

    @classmethod
    def _measured(
        cls, curve: EmpiricalTradeOff, band: Band | None, name: str | None = None
    ) -> TradeOffDisplay:
        first, _ = _blocks(curve)
        return cls(
            fpr=curve.roc.fpr[first],
            power=curve.roc.power[first],
            name="measured" if name is None else name,
            leakage=curve.advantage,
            band=band,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        scale: Scale = "log",
        least_fpr: float | None = None,
        **kwargs: Any,
    ) -> TradeOffDisplay:
        """Draw the curve, its band and the diagonal.

        Parameters
        ----------
        ax, scale, **kwargs
            As for :meth:`from_tradeoff`.
        name : str, optional
            In place of the display's.
        least_fpr : float, optional
            Where the log scale begins: by default at the least positive false-positive rate of the
            curve.  Axes given again begin no later than before.

        Returns
        -------
        TradeOffDisplay
            This one.
        """
        check_scale(scale)
        log = scale == "log"
        if least_fpr is None:
            least_fpr = float(self.fpr[self.fpr > 0.0].min(initial=0.5))
        start = as_share(least_fpr, "least_fpr")
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = figure_of(self.ax_)
        low = min(start, _start(self.ax_) or start) if log else -0.01
        self.no_leakage_ = _diagonal(self.ax_)

        label = self.name if name is None else name
        if self.leakage is not None:
            label += f" (advantage {number(self.leakage)})"
        # A log scale has no place for zeros.
        shown = (self.fpr > 0.0) & (self.power > 0.0) if log else np.full(self.fpr.shape, True)
        options = style(self.ax_) | {"label": label, "gid": CURVE} | kwargs
        (self.line_,) = self.ax_.plot(self.fpr[shown], self.power[shown], **options)
        self.band_ = None
        if self.band is not None:
            self.band_ = self.ax_.fill_between(
                *self.band[:3],
                step="post",
                color=self.line_.get_color(),
                alpha=0.2,
                linewidth=0,
                label=self.band.name,
            )
        limits = (low, 1.06 if log else 1.01)  # so that the corner is seen
        self.ax_.set(xscale=scale, yscale=scale, xlim=limits, ylim=limits)
        self.ax_.set(xlabel="False-positive rate", ylabel="Power (true-positive rate)")
        self.ax_.set_box_aspect(1)
        add_legend(self.ax_, "lower right")
        return self


def _start(ax: Axes) -> float | None:
    """Where the log scale begins that a display has put on the axes."""
    if drawn(ax, REFERENCE) and ax.get_xscale() == "log":
        return float(ax.get_xlim()[0])
    return None


def _diagonal(ax: Axes) -> Line2D:
    """The diagonal of the axes, drawn once."""
    for line in drawn(ax, REFERENCE):
        return line  # type: ignore[no-any-return]
    (line,) = ax.plot([0.0, 1.0], [0.0, 1.0], label="no leakage", gid=REFERENCE, **THIN)
    return line


def _grid(tradeoff: TradeOff, start: float) -> FloatArray:
    """False-positive rates that show a curve on either scale, its corners among them."""
    parts = [
        np.linspace(0.0, 1.0, _POINTS + 1),
        np.geomspace(start, 1.0, _POINTS),
        -np.expm1(np.linspace(0.0, np.log(start), _POINTS)),  # dense towards 1
    ]
    vertices = getattr(tradeoff, "vertices", None)
    if vertices is not None:
        parts.append(vertices.fpr)
    return np.unique(np.concatenate(parts))


# ---- the band ----


def _blocks(curve: EmpiricalTradeOff) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """First and last points of runs of a measured curve, most of them of one point.

    Of long curves every count that is distinct on a log scale begins a run, from either end.
    """
    size = curve.roc.fpr.size
    first = np.arange(size)
    if size > _LARGE:
        starts = [np.linspace(0, size - 1, _LEVELS).astype(np.intp)]
        for rate, total in ((curve.roc.fpr, curve.n_out), (curve.roc.power, curve.n_in)):
            levels = np.geomspace(1.0 / total, 1.0, _LEVELS)
            starts.append(np.searchsorted(rate, levels))
            starts.append(np.searchsorted(rate, 1.0 - levels))
        first = np.unique(np.concatenate(starts))
    return first, np.append(first[1:] - 1, size - 1)


def pointwise_band(curve: EmpiricalTradeOff, confidence: float) -> Band:
    """The union of the rectangles in which the points of the true curve lie."""
    first, last = _blocks(curve)
    false, hits = np.rint(curve.roc.fpr * curve.n_out), np.rint(curve.roc.power * curve.n_in)
    tail = 0.5 * (1.0 - np.sqrt(confidence))
    lower_ends, upper_ends = (
        _least(false[first], curve.n_out, tail),
        _most(false[last], curve.n_out, tail),
    )
    bottom, top = _least(hits[first], curve.n_in, tail), _most(hits[last], curve.n_in, tail)
    # All four rise along the curve: above x the highest of those that begin at or before x, below
    # it the lowest of those that end at x or after.
    edges = np.unique(np.concatenate([lower_ends, upper_ends]))
    lower = bottom[
        np.minimum(np.searchsorted(upper_ends, edges, side="right"), upper_ends.size - 1)
    ]
    upper = top[np.searchsorted(lower_ends, edges, side="right") - 1]
    name = f"{100 * confidence:g}% pointwise band (Clopper-Pearson)"
    return Band(edges, lower, upper, name)


def _least(count: FloatArray, total: int, tail: float) -> FloatArray:
    """Lower end of the Clopper-Pearson interval."""
    inside = count > 0.0
    value = betaincinv(np.where(inside, count, 1.0), total - count + 1.0, tail)
    return np.where(inside, value, 0.0)


def _most(count: FloatArray, total: int, tail: float) -> FloatArray:
    """Upper end of the Clopper-Pearson interval."""
    inside = count < total
    value = betainccinv(count + 1.0, np.where(inside, total - count, 1.0), tail)
    return np.where(inside, value, 1.0)
