"""Blocks and workers: the order, the look-ahead, errors and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from mialeak._blocks import map_blocks, resolve_workers

WORKERS = [1, 2, 5]


def test_minus_one_worker_means_every_cpu_of_the_process():
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert resolve_workers(-1) == cpus
    assert resolve_workers(3) == 3


@pytest.mark.parametrize(
    ("workers", "error", "message"),
    [
        (0, ValueError, r"workers must be at least 1, or -1 for all CPUs; got workers = 0"),
        (-2, ValueError, r"workers must be between -1 and 2\*\*53; got workers = -2"),
        (2.0, TypeError, r"workers must be an integer; got workers = 2\.0"),
    ],
)
def test_bad_workers_are_refused(workers, error, message):
    with pytest.raises(error, match=message):
        resolve_workers(workers)


@pytest.mark.parametrize("workers", WORKERS)
def test_results_come_in_the_order_of_the_blocks(workers):
    def slow_at_first(block):
        time.sleep(0.01 / (1 + block))
        return block * block

    assert list(map_blocks(slow_at_first, range(20), workers)) == [b * b for b in range(20)]


@pytest.mark.parametrize("workers", WORKERS)
def test_no_blocks_give_no_results(workers):
    assert list(map_blocks(abs, [], workers)) == []


@pytest.mark.parametrize("workers", WORKERS)
def test_blocks_are_asked_for_only_a_few_ahead_of_the_results(workers):
    asked = 0

    def blocks():
        nonlocal asked
        for asked in range(1, 101):  # noqa: UP028 - `asked` is read below
            yield asked

    for done, _ in enumerate(map_blocks(abs, blocks(), workers)):
        assert asked - done <= 1 + 2 * workers


@pytest.mark.parametrize("workers", WORKERS)
def test_the_first_bad_block_in_order_is_the_one_reported(workers):
    def picky(block):
        if block >= 3:
            time.sleep(0.02 / block)  # later blocks fail sooner
            raise ValueError(f"block {block}")
        return block

    with pytest.raises(ValueError, match="block 3"):
        list(map_blocks(picky, range(10), workers))


def test_blocks_really_run_at_the_same_time():
    meeting = threading.Barrier(2, timeout=10)
    assert len(list(map_blocks(lambda _: meeting.wait(), range(4), 2))) == 4


def test_no_thread_is_left_when_the_caller_stops_early():
    results = map_blocks(abs, range(1000), 3)
    next(results)
    results.close()
    assert not any(thread.name.startswith("mialeak") for thread in threading.enumerate())


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
@pytest.mark.parametrize("workers", WORKERS)
def test_ctrl_c_stops_within_a_second(workers):
    program = (
        "import time\n"
        "from mialeak._blocks import map_blocks\n"
        "print('ready', flush=True)\n"
        f"for _ in map_blocks(lambda b: time.sleep(0.05), range(10**6), {workers}): pass\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.2)
        asked = time.monotonic()
        child.send_signal(signal.SIGINT)
        errors = child.communicate(timeout=10)[1]
        assert time.monotonic() - asked < 1
        assert "KeyboardInterrupt" in errors
