"""Continuous columns to atoms, through scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_choice, as_count, as_float, as_floats, invalid, require
from mialeak._blocks import as_rng
from mialeak._results import Kind, Result
from mialeak.discrete import max_leakage

__all__ = ["Discretization", "discretize"]

_METHODS = ("kmeans", "quantile", "uniform")
#: Rows beyond which clusters of several columns are found from small batches.
_LARGE_SAMPLE = 20_000


@dataclass(frozen=True, repr=False, eq=False)
class Discretization(Result):
    """Bins of continuous data.

    Attributes
    ----------
    labels : ndarray of int64, shape (rows,)
        The bin of each row.
    p : ndarray, shape (bins,)
        Share of the rows in each bin; some may be 0.
    leakage : float
        Largest leakage of any procedure that sees the bins of n rows, if `p` is their law.
    n : int
        Rows of the release in question.
    kind : str
        "estimate": `p` comes from the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.mechanisms import discretize
    >>> bins = discretize(np.arange(100.0), 50, method="quantile")
    >>> bool(bins.labels[0] == 0), float(bins.p.sum())
    (True, 1.0)
    """

    labels: npt.NDArray[np.int64]
    p: FloatArray
    leakage: float
    n: int
    kind: Kind = "estimate"
    _binned: Any = field(default=None, repr=False)
    _columns: int = field(default=1, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; not the labels."""
        return {"kind": self.kind, "p": self.p.tolist(), "leakage": self.leakage, "n": self.n}

    def transform(self, X: Any) -> npt.NDArray[np.int64]:
        """The bin of each row of other data."""
        data = _as_columns(X)
        if data.shape[1] != self._columns:
            rule = f"have {self._columns} columns, as the data that the bins were found in"
            invalid("X", f"{rule}; it has {data.shape[1]}")
        return np.asarray(self._binned(data))


def discretize(
    X: Any,
    n_bins: int | None = None,
    *,
    leakage: float | None = None,
    n: int | None = None,
    method: Literal["kmeans", "quantile", "uniform"] = "kmeans",
    rng: Any = None,
) -> Discretization:
    """Continuous columns to a given number of bins, or to as many as a leakage allows.

    Parameters
    ----------
    X : array_like, shape (rows,) or (rows, d)
        Finite numbers.
    n_bins : int, optional
        Bins wanted; there may be fewer.
    leakage : float, optional
        In place of `n_bins`: look for the most bins that leak no more.
    n : int, optional
        Rows of the release; by default those of `X`.
    method : {"kmeans", "quantile", "uniform"}
        Clusters, or intervals with as many rows or of the same length; these take one column.
    rng : optional
        Seed or generator for the clusters of several columns.

    Returns
    -------
    Discretization
        Labels, frequencies and leakage of the bins; ``transform`` for other data.

    Raises
    ------
    ValueError
        If not one of `n_bins` and `leakage` is given, or one is out of range.
    ImportError
        Without scikit-learn: the extra ``mialeak[sklearn]``.

    See Also
    --------
    coarsen : Merging atoms that are there.

    Notes
    -----
    One column is binned by scikit-learn's KBinsDiscretizer, several by KMeans, or from 20,000 rows
    on by MiniBatchKMeans.  Bins fitted to the released data themselves reveal more about them,
    which the leakage does not count: fit them to other data, and ``transform`` those.

    **Cost.**  For one column of 100,000 rows and 10 bins, on one core: 3 ms ("uniform"), 20 ms
    ("quantile") or 0.3 s ("kmeans").  For `leakage` the number of bins is doubled until they leak
    more, then bisected, and all are made anew: 0.7 s for the quantiles that leak at most 0.05.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.mechanisms import discretize
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> found = discretize(x, 10, method="quantile")
    >>> len(found.p), round(found.leakage, 4)
    (10, 0.0378)
    >>> found.transform([-3.0, 0.0, 3.0]).tolist()
    [0, 5, 9]
    """
    data = _as_columns(X)
    rows = len(data) if n is None else as_count(n, "n", least=1)
    as_choice(method, "method", _METHODS)
    if method != "kmeans" and data.shape[1] > 1:
        invalid("method", "be 'kmeans' for more than one column", value=method)
    if (n_bins is None) == (leakage is None):
        invalid("n_bins", "be given, or leakage, and not both", value=n_bins)
    if leakage is None:
        bins = as_count(n_bins, "n_bins", most=len(data), least=1)
        return _with_bins(data, bins, rows, method, rng)
    budget = as_float(leakage, "leakage")
    if not 0 <= budget <= 1:
        invalid("leakage", "be between 0 and 1", value=budget)
    seed = int(as_rng(rng).integers(2**31))
    # More bins leak more, but for the whims of clusters: double, then halve the interval.
    best, low, high = _with_bins(data, 1, rows, method, seed), 1, 2
    while high <= len(data):
        result = _with_bins(data, high, rows, method, seed)
        if result.leakage > budget:
            break
        best, low, high = result, high, 2 * high
    high = min(high, len(data) + 1)
    while high - low > 1:
        middle = (low + high) // 2
        result = _with_bins(data, middle, rows, method, seed)
        if result.leakage <= budget:
            best, low = result, middle
        else:
            high = middle
    return best


def _as_columns(X: Any) -> FloatArray:
    data = as_floats(X, "X")
    if data.ndim not in (1, 2) or not data.size:
        invalid("X", f"have shape (rows,) or (rows, d), not empty; its shape is {data.shape}")
    require(np.isfinite(data), data, "X", "be finite")
    return data[:, None] if data.ndim == 1 else data


def _with_bins(data: FloatArray, bins: int, n: int, method: str, rng: Any) -> Discretization:
    binned, bins = _fitted(data, bins, method, rng) if bins > 1 else (_all_alike, 1)
    labels = binned(data)
    p = np.bincount(labels, minlength=bins) / len(labels)
    leakage = float(max_leakage(p, n))
    return Discretization(labels, p, leakage, n, _binned=binned, _columns=data.shape[1])


def _all_alike(data: FloatArray) -> npt.NDArray[np.int64]:
    return np.zeros(len(data), np.int64)


def _fitted(data: FloatArray, bins: int, method: str, rng: Any) -> tuple[Any, int]:
    """The function from rows to bins, and the number of bins."""
    try:
        from sklearn.cluster import KMeans, MiniBatchKMeans
        from sklearn.preprocessing import KBinsDiscretizer
    except ImportError as error:
        message = 'discretize takes scikit-learn: pip install "mialeak[sklearn]"'
        raise ImportError(message) from error
    if data.shape[1] == 1:
        edges = _edges(KBinsDiscretizer, data, bins, method)
        return partial(_between, edges), len(edges) + 1
    seed = int(as_rng(rng).integers(2**31))
    if len(data) > _LARGE_SAMPLE:
        clusters = MiniBatchKMeans(bins, random_state=seed, n_init=3, batch_size=4096)
    else:
        clusters = KMeans(bins, random_state=seed, n_init=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are fewer clusters, which labels show
        clusters.fit(data)
    return partial(_nearest, clusters), bins


def _between(edges: FloatArray, data: FloatArray) -> npt.NDArray[np.int64]:
    return np.searchsorted(edges, data[:, 0], side="right").astype(np.int64)


def _nearest(clusters: Any, data: FloatArray) -> npt.NDArray[np.int64]:
    return np.asarray(clusters.predict(np.ascontiguousarray(data)).astype(np.int64))


def _edges(discretizer: Any, data: FloatArray, bins: int, method: str) -> FloatArray:
    """Inner edges of the bins of one column, none twice."""
    options = {"quantile_method": "averaged_inverted_cdf"} if method == "quantile" else {}
    binner = discretizer(bins, encode="ordinal", strategy=method, subsample=None, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are fewer bins, which labels show
        binner.fit(data)
    inner = np.asarray(binner.bin_edges_[0][1:-1], np.float64)
    return np.unique(inner)
