"""What a change of a table brings: people by leakage before and after, leakage for its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import FloatArray, as_floats, invalid, require_within
from mialeak._report.report import entitle
from mialeak.plotting._axes import CURVE, REFERENCE, THIN, figure_of, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ChangeDisplay"]

#: Ends of the classes of leakage.
_EDGES = (0.01, 0.05, 0.1, 0.25, 0.5)
#: The title is about the leakages that so notable of the people have at least, before the change.
_NOTABLE = 0.05
_WIDTH = 0.8  # of the bars of a class together, of 1


class ChangeDisplay:
    """People by class of leakage, or the leakage of recodings by the information they lose.

    Use :meth:`from_classes` or :meth:`from_plan`.  The title states the finding.

    Parameters
    ----------
    x : ndarray
        Information lost, as a share; or the places of the bars.
    y : ndarray
        Leakage; or for each of the names the share of the people in each class.
    names : sequence of str
        Of the bars of a class, for the legend; empty for a curve.
    title : str
        The finding.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    artists_ : list
        The line, or the bars of each name.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mialeak.plotting import ChangeDisplay
    >>> display = ChangeDisplay.from_classes({"as it is": [0.9, 0.3, 0.02], "recoded": [0.04] * 3})
    >>> display.title
    'Leakage above 0.5: 33.3% of the people as it is, 0.0% recoded'
    """

    ax_: Axes
    figure_: Figure
    artists_: list[Any]

    def __init__(
        self, *, x: FloatArray, y: FloatArray, names: Sequence[str] = (), title: str = ""
    ) -> None:
        self.x = x
        self.y = y
        self.names = names
        self.title = title

    @classmethod
    def from_classes(
        cls,
        leakage: Mapping[str, Any],
        *,
        edges: Sequence[float] = _EDGES,
        ax: Axes | None = None,
    ) -> ChangeDisplay:
        """Draw which share of the people has how much leakage, before a change and after.

        Parameters
        ----------
        leakage : mapping
            For each name the leakage of the rows; or a pair of arrays, the leakage of each cell and
            the people in it.
        edges : sequence of float
            Where the classes end, rising, between 0 and 1.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ChangeDisplay

        Raises
        ------
        ValueError
            If a leakage is not between 0 and 1, edges do not rise, or there is nothing to draw.
        ImportError
            If there are no axes given and matplotlib is not installed.
        """
        ends = as_floats(edges, "edges", ndim=1)
        require_within(ends, 0.0, 1.0, "edges", "be between 0 and 1")
        if not ends.size or (np.diff(ends) <= 0.0).any():
            invalid("edges", "rise, with at least one of them")
        if not leakage:
            invalid("leakage", "hold at least one name")
        shares = np.array([_shares(each, ends, name) for name, each in leakage.items()])
        names = list(leakage)
        above = 1.0 - np.cumsum(shares, axis=1)[:, :-1]
        notable = np.flatnonzero(above[0] >= _NOTABLE)
        at = int(notable[-1]) if notable.size else 0
        finding = ", ".join(
            f"{max(share, 0.0):.1%} {'of the people ' if not k else ''}{name}"
            for k, (name, share) in enumerate(zip(names, above[:, at], strict=True))
        )
        title = f"Leakage above {ends[at]:g}: {finding}"
        display = cls(x=np.arange(len(ends) + 1.0), y=shares, names=names, title=title)
        return display._draw_bars(ends, ax)

    @classmethod
    def from_plan(cls, plan: Any, *, ax: Axes | None = None) -> ChangeDisplay:
        """Draw the leakage of recodings against the information that they lose.

        Parameters
        ----------
        plan : mialeak.tables.RecodingPlan
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ChangeDisplay

        Raises
        ------
        ImportError
            If there are no axes given and matplotlib is not installed.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from mialeak.datasets import load_adult
        >>> from mialeak.plotting import ChangeDisplay
        >>> from mialeak.tables import plan_recoding
        >>> plan = plan_recoding(load_adult().columns, ["age", "sex"], 0.01)
        >>> ChangeDisplay.from_plan(plan).title
        'A leakage of at most 0.01 costs 48% of the information'
        """
        total = plan.total if plan.total > 0.0 else 1.0
        cost = plan.lost / total
        title = f"A leakage of at most {plan.leakage:g} costs {cost:.0%} of the information"
        display = cls(x=plan.curve_lost / total, y=plan.curve_leakage, title=title)
        return display._draw_curve(plan.leakage, cost, plan.after.high, ax)

    def _begin(self, ax: Axes | None) -> Axes:
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = figure_of(self.ax_)
        entitle(self.ax_, self.title)
        return self.ax_

    def _draw_bars(self, edges: FloatArray, ax: Axes | None) -> ChangeDisplay:
        axes, self.artists_ = self._begin(ax), []
        width = _WIDTH / len(self.names)
        for k, (name, shares) in enumerate(zip(self.names, self.y, strict=True)):
            place = self.x + (k - (len(self.names) - 1) / 2) * width
            options = {"color": style(axes)["color"], "label": name}
            bars = axes.bar(place, 100.0 * shares, width, **options)
            axes.plot([], [], gid=CURVE)  # the next name has the next colour
            self.artists_.append(bars)
        ends = [f"{edge:g}" for edge in edges]
        labels = [f"up to {ends[0]}", *(f"to {end}" for end in ends[1:]), f"above {ends[-1]}"]
        axes.set_xticks(self.x, labels)
        axes.set(xlabel="Leakage (advantage)", ylabel="Share of the people (%)")
        axes.legend()
        return self

    def _draw_curve(
        self, limit: float, cost: float, leakage: float, ax: Axes | None
    ) -> ChangeDisplay:
        axes = self._begin(ax)
        options = {**style(axes), "gid": CURVE, "drawstyle": "steps-post"}
        self.artists_ = axes.plot(100.0 * self.x, self.y, label="best combinations", **options)
        axes.plot(100.0 * cost, leakage, "o", color="black", label="the plan")
        axes.axhline(limit, label=f"at most {limit:g}", gid=REFERENCE, **THIN)
        axes.set(xlabel="Information lost (%)", ylabel="Leakage (advantage)")
        axes.set_ylim(bottom=0.0)
        axes.legend()
        return self


def _shares(leakage: Any, edges: FloatArray, name: str) -> FloatArray:
    """The share of the people in each class."""
    people = None
    if isinstance(leakage, tuple) and len(leakage) == 2:
        leakage, people = leakage
    values = as_floats(leakage, f"leakage[{name!r}]", ndim=1)
    if not values.size:
        invalid(f"leakage[{name!r}]", "have at least one element")
    require_within(values, 0.0, 1.0, f"leakage[{name!r}]", "be between 0 and 1")
    classes = np.searchsorted(edges, values)
    mass = np.bincount(classes, people, len(edges) + 1)
    return np.asarray(mass / mass.sum(), np.float64)
