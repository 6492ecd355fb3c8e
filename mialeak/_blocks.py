"""Blocks, workers and interrupts: how a long pass over data is cut and shared, written once.

A long pass is a function mapped over fixed blocks of the data.  The blocks do not depend on the
number of workers, and results come back in the order of the blocks, so that whatever is made of
them has the same bits for any number of workers.  The function has to release the GIL to profit.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from mialeak._arrays import as_count, invalid

__all__ = ["BLOCK", "map_blocks", "resolve_workers"]

Block = TypeVar("Block")
Result = TypeVar("Result")

#: Elements a block: 1 MB of float64, small enough for the cache, and with 1e-3 to 3e-2 s of work
#: large enough to hide what handing it to a thread costs and small enough to wait for after Ctrl-C.
BLOCK = 2**17

#: Blocks handed out ahead of the one whose result is awaited, per worker: enough to keep all busy
#: when one is slow, few enough that an iterator of blocks need not be held in memory.
_AHEAD = 2


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
        What to do with a block.  Its first exception, in the order of the blocks, is raised here.
    blocks : iterable
        Advanced in the calling thread, never more than a few blocks ahead of the results.
    workers : int
        Threads, as :func:`resolve_workers` gives them; 1 uses none.

    Notes
    -----
    An exception, Ctrl-C included, drops the blocks that have not begun and waits for those that
    have, one for each worker.
    """
    if workers == 1:
        yield from map(function, blocks)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="mialeak")
    running: deque[Future[Result]] = deque()
    try:
        for block in blocks:
            running.append(pool.submit(function, block))
            if len(running) > _AHEAD * workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
