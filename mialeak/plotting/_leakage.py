"""Leakage on the second axis: of rows, against the size of a release, against noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mialeak._arrays import FloatArray, as_count, as_floats, invalid, require, require_within
from mialeak._results import Bounds, Estimate
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
    style as styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

__all__ = ["LeakageDisplay"]

_LEAKAGE = "Leakage (advantage)"
_ROWS = "Rows of the release, n"
_NOISE = "Standard deviation of the noise on the release"
#: A log axis shows so many decades below the largest leakage at most.
_DECADES = 4
#: Rows that are drawn one by one; of more, so many are chosen on either scale.
_LARGE, _POINTS = 3000, 400


class Range(NamedTuple):
    """Range of the leakage, and the name of the method that gives it."""

    lower: FloatArray
    upper: FloatArray
    name: str


class LeakageDisplay:
    """Leakage of the rows of a table, against the size of a release or against noise.

    Use :meth:`from_rows`, :meth:`from_sizes` or :meth:`from_noise`.  All parameters are kept as
    attributes.

    Parameters
    ----------
    x : ndarray, shape (points,)
        Places of the points; for a histogram the edges of its classes, one more than `y`.
    y : ndarray, shape (points,)
        The leakage, or the rows in each class.
    xlabel : str
    ylabel : str, optional
    name : str, optional
        For the legend.
    band : Range, optional
        ``(lower, upper, name)``: range of the leakage, and the name of the method.
    style : {"line", "steps", "histogram"}
        How to draw it; steps go up to each `x`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Artist
        The line, or the outline of the histogram.
    band_ : matplotlib Artist or None
    limit_ : matplotlib Artist or None

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import mialeak
    >>> from mialeak.plotting import LeakageDisplay
    >>> rows, law = [100, 1000, 10_000], [0.5, 0.3, 0.15, 0.05]
    >>> leakage = mialeak.max_leakage(law, rows)
    >>> display = LeakageDisplay.from_sizes(rows, leakage, name="any procedure", limit=0.01)
    >>> display.ax_.get_xlabel()
    'Rows of the release, n'
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D | StepPatch
    band_: FillBetweenPolyCollection | None
    limit_: Line2D | None

    def __init__(
        self,
        *,
        x: FloatArray,
        y: FloatArray,
        xlabel: str,
        ylabel: str = _LEAKAGE,
        name: str | None = None,
        band: Range | None = None,
        style: Literal["line", "steps", "histogram"] = "line",
    ) -> None:
        self.x = x
        self.y = y
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.name = name
        self.band = band
        self.style = style

    @classmethod
    def from_rows(
        cls,
        leakage: Any,
        *,
        style: Literal["sorted", "histogram"] = "sorted",
        bins: int = 40,
        ax: Axes | None = None,
        name: str | None = None,
        scale: Scale = "log",
        limit: float | None = None,
        **kwargs: Any,
    ) -> LeakageDisplay:
        """Draw the leakage of each row of a table.

        Parameters
        ----------
        leakage : array_like, shape (rows,), or Bounds
            The advantage of the best attack on each row; or a range for each, of which the upper
            ends are the line.
        style : {"sorted", "histogram"}
            "sorted": from the riskiest row to the safest; a point of the line is the share of
            the rows that leak at least so much.
        bins : int
            Classes of the histogram.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        name : str, optional
            For the legend.
        scale : {"log", "linear"}
            Of both axes; of a histogram, of the leakage.
        limit : float, optional
            Draw a line at this leakage.
        **kwargs
            For matplotlib's ``Axes.plot`` or ``Axes.stairs``.

        Returns
        -------
        LeakageDisplay

        Raises
        ------
        ValueError
            If there are no rows, a leakage is not between 0 and 1 (NaN is not), or an option is
            none of its words.
        ImportError
            If there are no axes given and matplotlib is not installed.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from mialeak import table_leakage
        >>> from mialeak.datasets import load_adult
        >>> from mialeak.plotting import LeakageDisplay
        >>> report = table_leakage(load_adult().columns, ["age", "education", "sex"])
        >>> display = LeakageDisplay.from_rows(report.row_leakage)
        >>> display.ax_.get_xlabel()
        'Share of the rows, riskiest first'
        """
        check_scale(scale)
        y, band = _as_leakage(leakage)
        if style == "histogram":
            if band is not None:
                invalid("leakage", "be one number a row for a histogram, not a range")
            edges = _classes(y, as_count(bins, "bins", least=1), scale)
            counts = np.histogram(np.maximum(y, edges[0]), edges)[0].astype(np.float64)
            display = cls(x=edges, y=counts, xlabel=_LEAKAGE, ylabel="Rows", name=name, style=style)
        elif style == "sorted":
            shown = _ranks(y.size)
            if band is not None:
                band = Range(_falling(band.lower)[shown], _falling(band.upper)[shown], band.name)
            display = cls(
                x=(shown + 1.0) / y.size,
                y=_falling(y)[shown],
                xlabel="Share of the rows, riskiest first",
                name=name,
                band=band,
                style="steps",
            )
        else:
            invalid("style", 'be "sorted" or "histogram"', value=style)
        return display.plot(ax, scale=scale, limit=limit, **kwargs)

    @classmethod
    def from_sizes(
        cls,
        n: Any,
        leakage: Any,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        scale: Scale = "log",
        limit: float | None = None,
        **kwargs: Any,
    ) -> LeakageDisplay:
        """Draw the leakage against the number of rows of the release.

        Parameters
        ----------
        n : array_like, shape (points,)
            Rows of the release, positive.
        leakage : array_like, shape (points,), Bounds, or sequence of Estimate
            The leakage at each n; estimates are drawn with their intervals.
        ax, name, scale, limit, **kwargs
            As for :meth:`from_rows`.

        Returns
        -------
        LeakageDisplay

        Raises
        ------
        ValueError
            As :meth:`from_rows`, or if there are not as many leakages as sizes.
        ImportError
            If there are no axes given and matplotlib is not installed.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from mialeak import estimate_max_leakage
        >>> from mialeak.plotting import LeakageDisplay
        >>> n = [100, 1000, 10_000]
        >>> counts = [40, 25, 18, 9, 5, 2, 1]
        >>> estimates = [estimate_max_leakage(counts, rows) for rows in n]
        >>> display = LeakageDisplay.from_sizes(n, estimates, name="estimate")
        >>> display.band.name
        '95% interval'
        """
        return cls._against(
            n,
            "n",
            leakage,
            _ROWS,
            name,
            ax=ax,
            scale=scale,
            limit=limit,
            **kwargs,
        )

    @classmethod
    def from_noise(
        cls,
        noise_std: Any,
        leakage: Any,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        scale: Scale = "log",
        limit: float | None = None,
        **kwargs: Any,
    ) -> LeakageDisplay:
        """Draw the leakage against the noise on the release.

        Parameters
        ----------
        noise_std : array_like, shape (points,)
            Standard deviation of the noise; above 0 on a log scale.
        leakage : array_like, shape (points,), Bounds, or sequence of Estimate
            The leakage at each.
        ax, name, scale, limit, **kwargs
            As for :meth:`from_rows`.

        Returns
        -------
        LeakageDisplay

        Raises
        ------
        ValueError
            As :meth:`from_rows`, or if there are not as many leakages as standard deviations.
        ImportError
            If there are no axes given and matplotlib is not installed.
        """
        return cls._against(
            noise_std, "noise_std", leakage, _NOISE, name, ax=ax, scale=scale, limit=limit, **kwargs
        )

    @classmethod
    def _against(
        cls,
        x: Any,
        argument: str,
        leakage: Any,
        xlabel: str,
        name: str | None,
        *,
        ax: Axes | None,
        scale: Scale,
        limit: float | None,
        **kwargs: Any,
    ) -> LeakageDisplay:
        check_scale(scale)
        x = as_floats(x, argument, ndim=1, finite=True)
        rule = "be above 0 on a log scale" if scale == "log" else "be at least 0"
        require((x > 0.0) if scale == "log" else (x >= 0.0), x, argument, rule)
        y, band = _as_leakage(leakage)
        if y.shape != x.shape:
            rule = f"have as many elements as {argument}; it has {y.size} and {argument} {x.size}"
            invalid("leakage", rule)
        display = cls(x=x, y=y, xlabel=xlabel, name=name, band=band)
        return display.plot(ax, scale=scale, limit=limit, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        scale: Scale = "log",
        limit: float | None = None,
        **kwargs: Any,
    ) -> LeakageDisplay:
        """Draw the leakage, its range and the limit.

        Parameters
        ----------
        ax, name, scale, limit, **kwargs
            As for :meth:`from_rows`.

        Returns
        -------
        LeakageDisplay
            This one.
        """
        check_scale(scale)
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = figure_of(self.ax_)
        label = self.name if name is None else name
        options = styled(self.ax_) | {"label": label, "gid": CURVE} | kwargs
        self.band_ = self.limit_ = None
        if self.style == "histogram":
            self.line_ = self.ax_.stairs(self.y, self.x, **options)
            self.ax_.set(xscale=scale)
        else:
            self._plot_lines(options)
            self._set_limits(scale, limit)  # first: a log scale of zeros alone has none
            self.ax_.set(xscale=scale, yscale=scale)
        if limit is not None:
            self.limit_ = self._draw_limit(limit)
        self.ax_.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.ax_.get_legend_handles_labels()[1]:
            add_legend(self.ax_, "best")
        return self

    def _plot_lines(self, options: dict[str, Any]) -> None:
        steps = self.style == "steps"
        options = {"drawstyle": "steps-pre" if steps else "default"} | options
        (self.line_,) = self.ax_.plot(self.x, self.y, **options)
        if self.band is not None:
            self.band_ = self.ax_.fill_between(
                self.x,
                self.band.lower,
                self.band.upper,
                step="pre" if steps else None,
                color=self.line_.get_color(),
                alpha=0.2,
                linewidth=0,
                label=self.band.name,
            )

    def _draw_limit(self, limit: float) -> Line2D:
        """The line at the limit, drawn once."""
        label = f"at most {limit:g}"
        for line in drawn(self.ax_, REFERENCE):
            if line.get_label() == label:
                return line  # type: ignore[no-any-return]
        draw = self.ax_.axvline if self.style == "histogram" else self.ax_.axhline
        return draw(limit, label=label, gid=REFERENCE, **THIN)

    def _set_limits(self, scale: Scale, limit: float | None) -> None:
        """Show all curves and the limit; of a curve on a log scale a few decades only."""
        if scale == "linear":
            self.ax_.set_ylim(bottom=0.0)
            return
        largest = float(self.y.max()) or 1.0
        shown = self.y[self.y > largest * 10.0**-_DECADES].min(initial=limit or largest)
        low, high = 10.0 ** np.floor(np.log10(0.8 * shown)), 10.0 ** np.ceil(np.log10(largest))
        if len(drawn(self.ax_, CURVE)) > 1:
            before = self.ax_.get_ylim()
            low, high = min(low, before[0]), max(high, before[1])
        self.ax_.set_ylim(low, 1.2 if high >= 1.0 else high)  # so that a line at 1 is seen


# ---- the numbers ----


def _as_leakage(leakage: Any) -> tuple[FloatArray, Range | None]:
    """The line and the band of what stands for one leakage, or one range, at each point."""
    if isinstance(leakage, Bounds):
        lower = _as_shares(leakage.lower, "leakage.lower")
        upper = _as_shares(leakage.upper, "leakage.upper")
        return upper, Range(lower, upper, "range")
    if isinstance(leakage, (list, tuple)) and leakage and isinstance(leakage[0], Estimate):
        rows = [(each.value, each.low, each.high) for each in leakage]
        value, low, high = _as_shares(np.transpose(rows), "leakage", ndim=2)
        return value, Range(low, high, f"{100 * leakage[0].confidence:g}% interval")
    return _as_shares(leakage, "leakage"), None


def _as_shares(values: Any, name: str, *, ndim: int = 1) -> FloatArray:
    array = as_floats(values, name, ndim=ndim)
    if not array.size:
        invalid(name, "have at least one element")
    remedy = "Leave the dropped rows out" if np.isnan(array).any() else ""
    require_within(array, 0.0, 1.0, name, "be between 0 and 1", remedy=remedy)
    return array


def _falling(values: FloatArray) -> FloatArray:
    return np.sort(values)[::-1]


def _ranks(rows: int) -> Any:
    """The ranks of the rows to draw: all of them, or those that either scale needs."""
    if rows <= _LARGE:
        return np.arange(rows)
    spread = np.linspace(0, rows - 1, _POINTS), np.geomspace(1, rows, _POINTS) - 1
    return np.unique(np.concatenate(spread).astype(np.intp))


def _classes(leakage: FloatArray, bins: int, scale: str) -> FloatArray:
    """Edges of the classes of a histogram; on a log scale the first is for all that is small."""
    largest = float(leakage.max())
    if scale == "linear" or largest == 0.0:
        return np.linspace(0.0, largest or 1.0, bins + 1)
    smallest = max(float(leakage.min()), largest * 10.0**-_DECADES)
    edges = np.geomspace(min(smallest, 0.5 * largest), largest, bins + 1)
    edges[-1] = largest
    return edges
