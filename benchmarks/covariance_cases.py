"""Rows of the benchmark for covariances: learning rows and scoring others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import rivals
from speed_case import EPS, SpeedCase

from mialeak.covariance import StreamingCovariance
from mialeak.reference import covariance as twins

__all__ = ["COVARIANCE_CASES"]

#: Ridge of the low rank, and of the full matrix beside it.
RIDGE = 0.1
#: Rows that arrive at a time.
BLOCK = 64


def worst(got: Any, truth: Any) -> float:
    """Largest relative error in eps."""
    return float(np.max(np.abs(np.asarray(got) / truth - 1.0)) / EPS)


def few_columns(size: int, full: int) -> int:
    """All columns at full size, some for a trial."""
    return full if size > 10**6 else 20


# --- a full covariance -------------------------------------------------------------------------


def dense_rows(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two rows for a column to learn, two and a half to score."""
    d = few_columns(size, 2000)
    rng = np.random.default_rng(20)
    return rng.standard_normal((2 * d, d)) + 3.0, rng.standard_normal((5 * d // 2, d)) + 3.0


def learn_and_score(fitted: np.ndarray, scored: np.ndarray) -> np.ndarray:
    return StreamingCovariance().fit(fitted).mahalanobis(scored)


def scikit_learn(fitted: np.ndarray, scored: np.ndarray) -> np.ndarray:
    from sklearn.covariance import EmpiricalCovariance

    return EmpiricalCovariance().fit(fitted).mahalanobis(scored)


def as_many_operations(fitted: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """One matrix product with the ``(n + t + d/3) d^2`` operations of the task."""
    d = fitted.shape[1]
    rows = (len(fitted) + len(scored) + d // 3) // 2
    return np.resize(scored, (rows, d)) @ fitted[:d]


def dense_error(function: Callable[..., Any], size: int) -> float:
    fitted, scored = dense_rows(1)
    truth = twins.mahalanobis(scored, fitted.mean(axis=0), twins.covariance(fitted))
    return worst(function(fitted, scored), truth)


# --- a low rank --------------------------------------------------------------------------------


def references(size: int, most: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """A thousand references of 7850 columns, and at most so many candidates."""
    d, r = (7850, 1000) if size > 10**6 else (40, 10)
    rng = np.random.default_rng(21)
    return rng.standard_normal((r, d)), rng.standard_normal((min(size // d, most), d))


def low_rank(fitted: np.ndarray, scored: np.ndarray, structure: str = "low-rank") -> np.ndarray:
    return StreamingCovariance(structure=structure, ridge=RIDGE).fit(fitted).mahalanobis(scored)


def low_rank_error(function: Callable[..., Any], size: int) -> float:
    fitted, scored = references(400)
    cov = twins.covariance(fitted, ridge=RIDGE)
    return worst(function(fitted, scored), twins.mahalanobis(scored, fitted.mean(axis=0), cov))


def low_rank_case(candidates: int) -> SpeedCase:
    return SpeedCase(
        name=f"`StreamingCovariance`, low rank, d = 7850, 1000 references, {candidates:,} scored",
        size=7850 * (1000 + candidates),
        quick_size=800,
        setup=partial(references, most=candidates),
        ours=low_rank,
        rivals={"our full structure": partial(low_rank, structure="full")},
        error=low_rank_error,
        bound=1e-11 / EPS,
    )


# --- variances ---------------------------------------------------------------------------------


def wide_rows(size: int, dtype: Any) -> tuple[np.ndarray]:
    """Rows of 100,000 columns."""
    d = min(size, 100_000)
    rng = np.random.default_rng(22)
    return (rng.standard_normal((max(size // d, 3), d)).astype(dtype) + dtype(2),)


def variances(rows: np.ndarray) -> np.ndarray:
    return StreamingCovariance(structure="diagonal").fit(rows).covariance_


def twin_variances(rows: np.ndarray) -> np.ndarray:
    exact = rows.astype(np.float64)
    mean = exact.mean(axis=0)
    return np.asarray(twins.column_powers(exact, mean, 0.0)[1] / len(rows))


def copied(rows: np.ndarray) -> np.ndarray:
    return rows.copy()


def variance_error(function: Callable[..., Any], size: int, dtype: Any) -> float:
    (rows,) = wide_rows(5000, dtype)
    exact = rows.astype(np.longdouble)
    truth = ((exact - exact.mean(axis=0)) ** 2).mean(axis=0)
    return worst(function(rows), truth.astype(np.float64))


def diagonal(dtype: Any) -> SpeedCase:
    return SpeedCase(
        name=f"`StreamingCovariance`, diagonal, d = 10^5, {np.dtype(dtype).name}",
        size=50_000_000,
        quick_size=3000,
        setup=partial(wide_rows, dtype=dtype),
        ours=variances,
        rivals={"NumPy twin": twin_variances},
        error=partial(variance_error, dtype=dtype),
        bound=50.0,
        floor=copied,
        floor_name="copy",
    )


# --- rows as they arrive -----------------------------------------------------------------------


def arriving(size: int, columns: int) -> tuple[np.ndarray]:
    return (np.random.default_rng(23).standard_normal((size // columns, columns)),)


def by_blocks(rows: np.ndarray) -> np.ndarray:
    found = StreamingCovariance()
    for start in range(0, len(rows), BLOCK):
        found.partial_fit(rows[start : start + BLOCK])
    return found.covariance_


def arriving_error(function: Callable[..., Any], size: int) -> float:
    (rows,) = arriving(3000, 30)
    return float(np.abs(function(rows) - twins.covariance(rows)).max() / EPS)


def stream(columns: int) -> SpeedCase:
    return SpeedCase(
        name=f"`partial_fit`, d = {columns}, blocks of {BLOCK} rows",
        size=columns * 6400,
        quick_size=columns * 2 * BLOCK,
        setup=partial(arriving, columns=columns),
        ours=by_blocks,
        rivals={"river": rivals.river_covariance} if find_spec("river") else {},
        error=arriving_error,
        bound=50.0,
        rival_size=columns * 2 * BLOCK,
    )


# --- a cluster ---------------------------------------------------------------------------------


@cache
def workers(count: int) -> Any:
    """A client of so many processes with one thread each."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")
    return Client(cluster, set_as_default=False)


def made_on_workers(size: int) -> tuple[Any]:
    """A Dask array of float32, a thousand columns wide, whose chunks each worker draws itself."""
    import dask.array

    columns = few_columns(size, 1000)
    rows = -(-size // columns)
    chunks = (max(rows // 40, 1), columns)
    rng = dask.array.random.default_rng(24)
    return (rng.random((rows, columns), dtype=np.float32, chunks=chunks),)


def on_cluster(rows: Any, count: int) -> np.ndarray:
    with workers(count).as_current():
        return StreamingCovariance().fit(rows).covariance_


def cluster_error(function: Callable[..., Any], size: int) -> float:
    """Against two passes; without end if a bit is not that of this process alone."""
    import dask

    (rows,) = made_on_workers(size)
    found = function(rows)
    with dask.config.set(scheduler="synchronous"):
        if not np.array_equal(found, StreamingCovariance().fit(rows).covariance_):
            return np.inf
        return float(np.abs(found - twins.covariance(rows.compute().astype(float))).max() / EPS)


CLUSTER_CASES = (
    SpeedCase(
        name="`StreamingCovariance` of a Dask array, d = 1000, 200,000 rows, two workers",
        size=200_000_000,
        quick_size=1000,
        setup=made_on_workers,
        ours=partial(on_cluster, count=2),
        rivals={"one worker": partial(on_cluster, count=1)},
        error=cluster_error,
        bound=50.0,
    ),
)

COVARIANCE_CASES = (
    SpeedCase(
        name="`StreamingCovariance`, d = 2000, 4000 rows learnt, 5000 scored",
        size=18_000_000,
        quick_size=1800,
        setup=dense_rows,
        ours=learn_and_score,
        rivals={"scikit-learn": scikit_learn},
        error=dense_error,
        bound=1e-11 / EPS,
        floor=as_many_operations,
        floor_name="dgemm, as many operations",
    ),
    low_rank_case(1000),
    low_rank_case(20_000),
    diagonal(np.float64),
    diagonal(np.float32),
    stream(30),
    stream(100),
    *(CLUSTER_CASES if find_spec("distributed") else ()),
)
