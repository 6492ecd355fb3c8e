"""Blocks, workers, streams and progress: order, look-ahead, errors, BLAS and Ctrl-C."""

from __future__ import annotations

import os
import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl
from fresh import seconds_to_stop

from mialeak._blocks import (
    as_rng,
    map_blocks,
    one_blas_thread,
    progress_bar,
    resolve_workers,
    row_blocks,
    spawn_streams,
)

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
    setup = "import time\nfrom mialeak._blocks import map_blocks"
    work = f"for _ in map_blocks(lambda b: time.sleep(0.05), range(10**6), {workers}): pass"
    assert seconds_to_stop(setup, work) < 1


# --- blocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 4, 5, 6, 23])
@pytest.mark.parametrize(("columns", "elements"), [(1, 5), (3, 17), (7, 7), (7, 3), (0, 5)])
def test_blocks_of_rows_hold_every_row_once_and_no_more_elements_than_asked(
    rows, columns, elements
):
    blocks = list(row_blocks(rows, columns, elements=elements))
    assert [i for block in blocks for i in range(block.start, block.stop)] == list(range(rows))
    sizes = {(block.stop - block.start) * columns for block in blocks}
    assert all(size <= max(elements, columns) for size in sizes)


# --- BLAS --------------------------------------------------------------------------------------


def blas_threads():
    return {
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    }


@pytest.fixture
def two_blas_threads():
    with threadpoolctl.threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS does not take two threads")
        yield


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_while_there_are_workers_and_its_own_again_after():
    seen = list(map_blocks(lambda _: blas_threads(), range(3), 2))
    assert seen == [{1}] * 3
    assert blas_threads() == {2}
    results = map_blocks(abs, range(10), 2)
    next(results)
    results.close()
    assert blas_threads() == {2}
    assert list(map_blocks(lambda _: blas_threads(), range(1), 1)) == [{2}]


@pytest.mark.usefixtures("two_blas_threads")
def test_overlapping_holds_on_blas_end_with_the_last():
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=hold)
    with one_blas_thread():
        other.start()
        entered.wait(10)
        assert blas_threads() == {1}
    assert blas_threads() == {1}
    leave.set()
    other.join()
    assert blas_threads() == {2}
    with one_blas_thread(), one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


# --- streams -----------------------------------------------------------------------------------


def first_draws(rng, count):
    return [next_stream.random() for _, next_stream in zip(range(count), spawn_streams(rng))]  # noqa: B905


def test_streams_are_those_of_the_seed_however_many_are_taken():
    assert first_draws(5, 3) == first_draws(5, 6)[:3]
    assert first_draws(5, 3) == first_draws(np.random.default_rng(5), 3)
    assert len({*first_draws(5, 6), *first_draws(6, 6)}) == 12


def test_a_generator_gives_new_streams_each_time_and_stands_where_one_spawn_leaves_it():
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert first_draws(one, 2) != first_draws(one, 2)
    first_draws(other, 7), first_draws(other, 9)
    assert first_draws(one, 2) == first_draws(other, 2)
    assert one.random() == np.random.default_rng(1).random()


def test_streams_are_of_the_kind_of_the_generator():
    rng = np.random.Generator(np.random.SFC64(1))
    assert isinstance(next(spawn_streams(rng)).bit_generator, np.random.SFC64)


@pytest.mark.parametrize(
    ("rng", "error", "message"),
    [
        ("seed", TypeError, r"rng must be what np\.random\.default_rng takes \(.*seed\)\. Pass"),
        (-1, ValueError, r"rng must be what np\.random\.default_rng takes \(.*non-negative"),
        (1.5, TypeError, r"rng must be .*1\.5\)\. Pass None, a seed"),
        (np.random.RandomState(1), TypeError, r"rng must be able to spawn streams"),
    ],
)
def test_a_bad_rng_is_refused_before_any_stream_is_asked_for(rng, error, message):
    with pytest.raises(error, match=message):
        spawn_streams(rng)


def test_a_good_rng_is_the_one_numpy_makes():
    rng = np.random.default_rng(3)
    assert as_rng(rng) is rng
    assert as_rng(3).random() == np.random.default_rng(3).random()


# --- progress ----------------------------------------------------------------------------------


def test_progress_is_shown_on_stderr_with_its_unit(capsys):
    pytest.importorskip("tqdm")
    with progress_bar(True, 20, "round") as done:
        for _ in range(4):
            done(5)
    shown = capsys.readouterr()
    assert "100%" in shown.err
    assert "20.0/20.0" in shown.err
    assert "round" in shown.err
    assert shown.out == ""


def test_no_progress_shows_nothing_and_needs_no_tqdm(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with progress_bar(False, None, "round") as done:
        done(5)
    assert capsys.readouterr() == ("", "")


def test_missing_tqdm_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    message = r'progress=True takes tqdm: pip install "mialeak\[progress\]"'
    with pytest.raises(ImportError, match=message), progress_bar(True, 20, "round"):
        pytest.fail("work was begun")
