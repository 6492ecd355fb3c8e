"""Audits: what the attack achieved, in its band, and how its scores differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from mialeak._arrays import FloatArray, as_choice, invalid
from mialeak._report.text import at_most
from mialeak.auditing import AuditResult, audit
from mialeak.plotting._axes import Scale, add_legend, check_scale, figure_of, new_axes
from mialeak.plotting._tradeoff import TradeOffDisplay
from mialeak.tradeoff import TradeOff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["AuditDisplay"]

Kind = Literal["curve", "scores"]

#: Colours of the two worlds, distinct for the colour-blind.
_IN, _OUT = "#D55E00", "#0072B2"
#: Share of the scores at either end that the classes of a histogram leave to the outermost.
_FAR = 0.001


class AuditDisplay:
    """An audit: the measured curve in its simultaneous band, or histograms of the scores.

    Use :meth:`from_scores` or :meth:`from_result`.  All parameters are kept as attributes.

    Parameters
    ----------
    result : AuditResult
    theory : dict of str to TradeOff
        Curves to compare with.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    curves_ : list of TradeOffDisplay
        What was drawn on the curve's axes: the measured curve, the bound, the theory.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from mialeak.plotting import AuditDisplay
    >>> from mialeak.tradeoff import GaussianTradeOff
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(1, 1, 500), rng.normal(0, 1, 500)
    >>> display = AuditDisplay.from_scores(*scores, theory={"exact": GaussianTradeOff(1.0)})
    >>> [each.name for each in display.curves_]
    ['measured', 'proved: some attack is above', 'exact']
    """

    ax_: Axes
    figure_: Figure
    curves_: list[TradeOffDisplay]

    def __init__(self, *, result: AuditResult, theory: dict[str, TradeOff] | None = None) -> None:
        self.result = result
        self.theory = {} if theory is None else dict(theory)

    @classmethod
    def from_scores(
        cls,
        in_scores: Any,
        out_scores: Any,
        *,
        delta: Any = 0.0,
        confidence: Any = 0.95,
        higher_is_member: bool = True,
        allow_reversed: bool = False,
        theory: dict[str, TradeOff] | None = None,
        kind: Kind = "curve",
        ax: Axes | None = None,
        scale: Scale = "log",
    ) -> AuditDisplay:
        """Audit the scores and draw the result.

        Parameters
        ----------
        in_scores, out_scores, delta, confidence, higher_is_member, allow_reversed
            As for :func:`mialeak.auditing.audit`.
        theory, kind, ax, scale
            As for :meth:`from_result`.

        Returns
        -------
        AuditDisplay

        Raises
        ------
        ValueError
            As :func:`mialeak.auditing.audit` does, such as for scores that point the other way.
        """
        result = audit(
            in_scores,
            out_scores,
            delta=delta,
            confidence=confidence,
            higher_is_member=higher_is_member,
            allow_reversed=allow_reversed,
        )
        return cls.from_result(result, theory=theory, kind=kind, ax=ax, scale=scale)

    @classmethod
    def from_result(
        cls,
        result: AuditResult,
        *,
        theory: dict[str, TradeOff] | None = None,
        kind: Kind = "curve",
        ax: Axes | None = None,
        scale: Scale = "log",
    ) -> AuditDisplay:
        """Draw an audit.

        Parameters
        ----------
        result : AuditResult
        theory : dict of str to TradeOff, optional
            Curves to draw beside the measured one, by their names.
        kind : {"curve", "scores"}
            Power by false-positive rate, or a histogram of the scores of either world.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        scale : {"log", "linear"}
            Of the axes of the curve; of the counts of the histogram.

        Returns
        -------
        AuditDisplay

        Raises
        ------
        TypeError
            If `result` is no audit.
        ValueError
            If `kind` or `scale` is not as above.
        ImportError
            If there are no axes given and matplotlib is not installed.
        """
        if not isinstance(result, AuditResult):
            invalid("result", f"be an AuditResult, not {type(result).__name__}", error=TypeError)
        return cls(result=result, theory=theory).plot(ax, kind=kind, scale=scale)

    def plot(
        self, ax: Axes | None = None, *, kind: Kind = "curve", scale: Scale = "log"
    ) -> AuditDisplay:
        """Draw the audit once more.

        Parameters
        ----------
        ax, kind, scale
            As for :meth:`from_result`.

        Returns
        -------
        AuditDisplay
            This one.
        """
        as_choice(kind, "kind", get_args(Kind))
        check_scale(scale)
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = figure_of(self.ax_)
        self.curves_ = []
        if kind == "curve":
            self._plot_curve(scale)
        else:
            self._plot_scores(scale)
        return self

    def _plot_curve(self, scale: Scale) -> None:
        measured = TradeOffDisplay._measured(self.result.tradeoff, self.result.band)
        least = min(1.0 / self.result.n_out, 0.5)
        self.curves_.append(measured.plot(self.ax_, scale=scale, least_fpr=least))
        if self.result.epsilon_lower > 0.0:
            fpr = np.unique(np.concatenate([np.geomspace(least, 1.0, 200), np.linspace(0, 1, 200)]))
            proved = TradeOffDisplay(
                fpr=fpr, power=self._guarantee(fpr), name="proved: some attack is above"
            )
            self.curves_.append(proved.plot(self.ax_, scale=scale, least_fpr=least))
        for name, each in self.theory.items():
            display = TradeOffDisplay.from_tradeoff(
                each, ax=self.ax_, name=name, scale=scale, least_fpr=least
            )
            self.curves_.append(display)
        self.ax_.set_title(f"epsilon at least {at_most(self.result.epsilon_lower)}")

    def _guarantee(self, fpr: FloatArray) -> FloatArray:
        """The curve of (epsilon, delta) at the bound: some attack is above it."""
        grow, offset = np.exp(self.result.epsilon_lower), self.result.delta
        power: FloatArray = np.minimum(offset + grow * fpr, 1.0 - (1.0 - offset - fpr) / grow)
        return np.clip(power, 0.0, 1.0)

    def _plot_scores(self, scale: Scale) -> None:
        inside, outside = self.result.scores
        both = np.concatenate([inside, outside])
        both = both[np.isfinite(both)]
        low, high = np.quantile(both, [_FAR, 1.0 - _FAR]) if both.size else (0.0, 1.0)
        edges = np.linspace(low, high if high > low else low + 1.0, 51)
        for scores, color, name in ((outside, _OUT, "out"), (inside, _IN, "in")):
            self.ax_.hist(
                np.clip(scores, edges[0], edges[-1]),
                bins=edges.tolist(),
                histtype="stepfilled",
                alpha=0.45,
                color=color,
                edgecolor=color,
                label=f"{name} ({scores.size:,})",
            )
        self.ax_.set(xlabel="Score", ylabel="Scores in a class", yscale=scale)
        add_legend(self.ax_, "best")
