"""Parallel work in blocks, with random streams, progress bars and interrupts.

Long work is a function mapped over fixed blocks.  The blocks do not depend on the number of
workers, each has a separate random stream if it needs one, and results are returned in the order of
the blocks: every result has the same bits for any number of workers.  Threads are faster only if
the function releases the GIL::

    streams = spawn_streams(rng)
    with progress_bar(progress, rows, "row") as done:
        blocks = zip(row_blocks(rows, columns), streams)
        for block, part in map_blocks(lambda job: (job[0], work(*job)), blocks, workers):
            result[block] = part
            done(part.shape[0])

Ctrl-C needs no special code if a block takes less than a second and the results are returned at the
end.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from mialeak._arrays import as_count, invalid

__all__ = [
    "BLOCK",
    "as_rng",
    "block_rows",
    "map_blocks",
    "one_blas_thread",
    "progress_bar",
    "resolve_workers",
    "row_blocks",
    "spawn_streams",
]

Block = TypeVar("Block")
Result = TypeVar("Result")

#: Elements of a block: 1 MB of float64 fits the cache.  Its 1e-3 to 3e-2 s of work are long against
#: the cost of a thread's task and short enough to wait for after Ctrl-C.
BLOCK = 2**17

#: Blocks submitted ahead of the awaited result, per worker: enough that a slow block leaves no
#: worker idle, and not so many that an iterator of blocks fills the memory.
_AHEAD = 2


# ---- workers ----


def resolve_workers(workers: Any) -> int:
    """Number of threads for `workers`: itself if at least 1, all CPUs of this process for -1."""
    count = as_count(workers, "workers", least=-1)
    if count == 0:
        invalid("workers", "be at least 1, or -1 for all CPUs", value=count)
    if count > 0:
        return count
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_blocks(
    function: Callable[[Block], Result], blocks: Iterable[Block], workers: int = 1
) -> Iterator[Result]:
    """Yield ``function(block)`` for each block, in order.

    Parameters
    ----------
    function : callable
        A function of a block.  The first exception, in the order of the blocks, is raised here.
    blocks : iterable
        Advanced in the calling thread, at most ``2 * workers`` blocks ahead of the results.
    workers : int
        Number of threads, from :func:`resolve_workers`; 1 runs in the calling thread.

    Notes
    -----
    An exception, Ctrl-C included, cancels the blocks that have not begun and waits for the running
    ones, one for each worker.  With several threads BLAS uses one thread in each; a function that
    uses BLAS and must have the same bits for any `workers` is mapped within
    :func:`one_blas_thread`.
    """
    if workers == 1:
        yield from map(function, blocks)
        return
    running: deque[Future[Result]] = deque()
    with one_blas_thread():
        # With OpenMP, BLAS has a separate limit in each thread.
        pool = ThreadPoolExecutor(workers, "mialeak", initializer=_limit_blas)
        try:
            for block in blocks:
                running.append(pool.submit(function, block))
                if len(running) > _AHEAD * workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


class _OneThread:
    """Context that limits BLAS to one thread, from the first entry to the last exit.

    The limit is global to the process: if overlapping callers in different threads each set and
    restored it, BLAS could keep one thread for good.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = threading.Lock(), 0, contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit.enter_context(_limit_blas())
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                # From threadpoolctl 3.8 on only the thread that set a limit may lift it, unless the
                # controlling thread is cleared; the present thread may be another.
                for library in _blas(_loaded()).lib_controllers:
                    if hasattr(library, "clear_controlling_thread"):
                        library.clear_controlling_thread(force=True)
                self._limit.close()


#: Packages that load a BLAS library: a search for libraries takes 0.7 ms and is repeated only if a
#: further one of these packages has been imported.
_BRINGS_BLAS = ("numpy", "scipy.linalg", "torch")
_ONE_THREAD = _OneThread()


def _loaded() -> tuple[str, ...]:
    """The loaded packages of `_BRINGS_BLAS`."""
    return tuple(name for name in _BRINGS_BLAS if name in sys.modules)


@functools.cache
def _blas(loaded: tuple[str, ...]) -> Any:
    """The BLAS libraries of the process, searched once for each value of `loaded`."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()


def _limit_blas() -> Any:
    """Limit BLAS to one thread; the result is a context manager that lifts the limit."""
    return _blas(_loaded()).limit(limits=1, user_api="blas")


def one_blas_thread() -> contextlib.AbstractContextManager[None]:
    """Context in which BLAS uses one thread; it may be nested and shared by threads."""
    return _ONE_THREAD


# ---- blocks ----


def row_blocks(rows: int, columns: int, *, elements: int = BLOCK) -> Iterator[slice]:
    """Slices of consecutive rows, each with at most `elements` elements, or one row."""
    step = block_rows(columns, elements=elements)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def block_rows(columns: int, *, elements: int = BLOCK) -> int:
    """Number of rows of each slice of :func:`row_blocks`."""
    return elements // (columns or 1) or 1


# ---- streams ----


def as_rng(rng: Any) -> np.random.Generator:
    """``np.random.default_rng(rng)``, with an error of :func:`invalid` if that raises."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        invalid(
            "rng",
            f"be what np.random.default_rng takes ({error})",
            remedy="Pass None, a seed (an integer of at least 0) or a np.random.Generator",
            error=type(error),
        )


def spawn_streams(rng: Any) -> Iterator[np.random.Generator]:
    """Infinite iterator of independent random streams, one for each block.

    The generator spawns one child, whose children are the streams: the state of a caller's
    generator does not depend on the number of blocks.

    Raises
    ------
    TypeError, ValueError
        If ``np.random.default_rng`` raises for `rng`, or the generator cannot spawn.
    """
    generator = as_rng(rng)
    try:
        (parent,) = generator.spawn(1)
    except TypeError as error:
        invalid(
            "rng",
            f"be able to spawn streams ({error})",
            remedy="Pass a seed, or a generator that np.random.default_rng made",
            error=TypeError,
        )
    return (child for _ in iter(int, 1) for child in parent.spawn(1))


# ---- progress ----


@contextlib.contextmanager
def progress_bar(
    progress: bool, total: int | None, unit: str, *, delay: float = 0.0
) -> Iterator[Callable[[int], object]]:
    """Context with a callback for the number of units done; a bar on stderr if `progress`.

    Parameters
    ----------
    progress : bool
        Whether to show a bar, by tqdm.
    total : int or None
        Total number of units, if known.
    unit : str
        Name of a unit: "round", "row".
    delay : float
        Seconds before the bar is shown.

    Raises
    ------
    ImportError
        If `progress` and tqdm is not installed; before any work is done.
    """
    if not progress:
        yield lambda done: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError('progress=True takes tqdm: pip install "mialeak[progress]"') from error
    with tqdm(total=total, unit=f" {unit}", unit_scale=True, delay=delay) as bar:
        yield bar.update
