"""The base class of all laws of coordinates, and the joint law of several laws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_floats, first_index, invalid, require
from mialeak._blocks import as_rng
from mialeak._checks.means.genotypes import refuse_answers
from mialeak._labels import labels_of, require_same_columns

__all__ = ["Joint", "Marginal", "as_joint", "as_parameter", "as_rows", "with_labels"]

Law = TypeVar("Law", bound="Marginal")


class _Given:
    """Releases of the caller, or a range of their columns that begins at column `start`."""

    def __init__(self, rows: FloatArray, single: bool, start: int = 0):
        self.rows = rows
        self.single, self._start = single, start

    def require(self, good: npt.NDArray[np.bool_], rule: str, remedy: str = "") -> None:
        """Raise for the first release where `good` is false."""
        if not good.all():
            row, column = first_index(~good)
            shown = column + self._start
            index = (shown,) if self.single else (row, shown)
            invalid("releases", rule, index=index, value=self.rows[row, column], remedy=remedy)

    def columns(self, place: slice) -> _Given:
        """The releases of a range of columns."""
        return _Given(self.rows[:, place], self.single, place.start)


class Marginal(ABC):
    """Base class: laws of coordinates of a row, each by itself; only those of Chain are linked.

    Attributes
    ----------
    mean, std, skewness, excess_kurtosis : ndarray, shape (d,)
        Moments of each coordinate.

    Examples
    --------
    >>> from mialeak.laws import Genotype, Marginal
    >>> isinstance(Genotype([0.3]), Marginal), Genotype([0.3]).mean.tolist()
    (True, [0.6])
    >>> Genotype([0.1, 0.5, 0.9]).draw(2, rng=0).shape
    (2, 3)
    """

    mean: FloatArray
    std: FloatArray
    skewness: FloatArray
    excess_kurtosis: FloatArray

    #: Names of the coordinates, of parameters or data that had names.
    _labels: tuple[Any, ...] | None = None

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.mean.size)

    def log_likelihood_ratio(self, releases: Any, target: Any, n: int) -> FloatArray:
        """Log likelihood ratio of each coordinate of released means, in against out.

        Parameters
        ----------
        releases : array_like, shape (T, d) or (d,)
            Means of n rows.
        target : array_like, shape (d,)
            The row that is among them in the world *in*.
        n : int
            Rows of the release, the target included; at least 2.

        Returns
        -------
        ndarray, shape (T, d) or (d,)
            Exact; -inf where the release is impossible with the target.

        Raises
        ------
        ValueError
            If shapes do not match, or a target or a release is impossible.
        """
        require_same_columns(law=self, target=target, releases=releases)
        given = as_floats(releases, "releases", finite=True)
        if given.ndim not in (1, 2) or given.shape[-1] != self.size:
            rule = f"have {self.size} columns (its last axis) and at most 2 dimensions"
            invalid("releases", f"{rule}; its shape is {given.shape}")
        row = as_floats(target, "target", finite=True)
        if row.shape != (self.size,):
            invalid("target", f"have {self.size} entries; its shape is {row.shape}")
        n = as_count(n, "n", least=2)
        for release in np.atleast_2d(given)[:1]:
            refuse_answers(release, self.mean, n)
        ratio = self._log_ratio(_Given(np.atleast_2d(given), given.ndim == 1), row, n)
        return ratio.reshape(given.shape)

    def draw(self, rows: int, *, rng: Any = None) -> FloatArray:
        """Draw fresh rows: targets, or references for an attack.

        Parameters
        ----------
        rows : int
            Number of rows.
        rng : None, int or numpy.random.Generator, optional
            As ``np.random.default_rng`` takes it.

        Returns
        -------
        ndarray, shape (rows, d)
            Bernoulli and genotype columns take about 25 ns a number on one core.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as described.
        """
        out = np.empty((as_count(rows, "rows"), self.size))
        self._draw(as_rng(rng), out)
        return out

    @abstractmethod
    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        """Log ratios for :class:`Releases` with finite rows (t, d) and checked arguments."""

    def _scores(self, releases: Any, targets: FloatArray, n: int) -> FloatArray:
        """Sums of the log ratios over the columns for each of several targets, shape (T, t)."""
        scores = [self._log_ratio(releases, target, n).sum(axis=1) for target in targets]
        return np.stack(scores, axis=1)

    @abstractmethod
    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Fill `out`, shape (rows, d), with fresh rows."""


@dataclass(frozen=True, eq=False)
class Joint(Marginal):
    """The law of consecutive columns: those of the first part, then those of the next.

    Parameters
    ----------
    parts : tuple of Marginal
        At least one.

    Examples
    --------
    >>> from mialeak.laws import Bernoulli, Joint, Normal
    >>> law = Joint((Bernoulli([0.2, 0.5]), Normal([1.0], [3.0])))
    >>> law.size, law.mean
    (3, array([0.2, 0.5, 1. ]))
    """

    parts: tuple[Marginal, ...]

    @property
    def _labels(self) -> tuple[Any, ...] | None:  # type: ignore[override]
        """Names of all columns, None for those without one."""
        if all(part._labels is None for part in self.parts):
            return None
        parts = [part._labels or (None,) * part.size for part in self.parts]
        return tuple(label for labels in parts for label in labels)

    @property
    def mean(self) -> FloatArray:  # type: ignore[override]
        """Means of all columns."""
        return np.concatenate([part.mean for part in self.parts])

    @property
    def std(self) -> FloatArray:  # type: ignore[override]
        """Standard deviations of all columns."""
        return np.concatenate([part.std for part in self.parts])

    @property
    def skewness(self) -> FloatArray:  # type: ignore[override]
        """Standardised third cumulants of all columns."""
        return np.concatenate([part.skewness for part in self.parts])

    @property
    def excess_kurtosis(self) -> FloatArray:  # type: ignore[override]
        """Standardised fourth cumulants of all columns."""
        return np.concatenate([part.excess_kurtosis for part in self.parts])

    def _log_ratio(self, releases: Any, target: FloatArray, n: int) -> FloatArray:
        ratios, start = [], 0
        for part in self.parts:
            place = slice(start, start + part.size)
            ratios.append(part._log_ratio(releases.columns(place), target[place], n))
            start += part.size
        return np.concatenate(ratios, axis=1)

    def _scores(self, releases: Any, targets: FloatArray, n: int) -> FloatArray:
        total, start = np.zeros((len(releases.rows), len(targets))), 0
        for part in self.parts:
            place = slice(start, start + part.size)
            total += part._scores(releases.columns(place), targets[:, place], n)
            start += part.size
        return total

    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        start = 0
        for part in self.parts:
            part._draw(rng, out[:, start : start + part.size])
            start += part.size


def as_joint(marginals: Any) -> Marginal:
    """One law for all columns: a law as it is, a list of laws as :class:`Joint`.

    Parameters
    ----------
    marginals : Marginal or sequence of Marginal
        Laws of consecutive columns.

    Returns
    -------
    Marginal

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        If the list is empty.

    Examples
    --------
    >>> from mialeak.laws import Bernoulli, Normal, as_joint
    >>> as_joint([Bernoulli([0.2]), Normal([0.0], [1.0])]).size
    2
    """
    if isinstance(marginals, Marginal):
        return marginals
    if not isinstance(marginals, Sequence) or isinstance(marginals, str):
        invalid("marginals", f"be a law or a list of laws, not {type(marginals)}", error=TypeError)
    if not marginals:
        invalid("marginals", "have at least one law")
    for i, part in enumerate(marginals):
        if not isinstance(part, Marginal):
            invalid("marginals", "hold laws only", index=i, value=part, error=TypeError)
    return marginals[0] if len(marginals) == 1 else Joint(tuple(marginals))


def as_parameter(values: Any, name: str) -> FloatArray:
    """A parameter of each coordinate as a read-only copy: finite, shape (d,)."""
    array = as_floats(values, name, finite=True)
    if array.ndim > 1 or not array.size:
        invalid(name, f"have one entry for each coordinate; its shape is {array.shape}")
    copy = np.array(array, ndmin=1)
    copy.flags.writeable = False
    return copy


def with_labels(law: Law, **parameters: Any) -> Law:
    """The law with the names of the columns of its parameters, which must agree."""
    require_same_columns(**parameters)
    for values in parameters.values():
        labels = labels_of(values)
        if labels is not None and len(labels) == law.size:
            object.__setattr__(law, "_labels", labels)
            break
    return law


def as_rows(rows: Any, least: int, allowed: tuple[float, ...] = ()) -> FloatArray:
    """Data for an estimate: at least `least` rows, finite, with `allowed` values if given."""
    array = as_floats(rows, "rows", ndim=2, finite=True)
    if array.shape[0] < least or not array.shape[1]:
        rule = f"have at least {least} row{'s' * (least > 1)} and one column"
        invalid("rows", f"{rule}; its shape is {array.shape}")
    if allowed:
        words = ", ".join(f"{value:g}" for value in allowed[:-1])
        require(np.isin(array, allowed), array, "rows", f"be {words} or {allowed[-1]:g}")
    return array
