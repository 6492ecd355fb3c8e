"""Covariances of rows that are elsewhere: in files, in chunks, on other processes."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dask.sizeof import sizeof
from distributed import Client, LocalCluster

from mialeak.covariance import StreamingCovariance
from mialeak.reference import covariance as twins

STRUCTURES = [
    {},
    {"structure": "diagonal"},
    {"structure": "block", "blocks": [5, 3]},
    {"shrinkage": "ledoit-wolf"},
]


def rows_of(n=1200, d=8):
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 100.0


def state_of(moments):
    """All numbers that were learnt."""
    return {name: np.asarray(value) for name, value in moments.state().items()}


def assert_same_bits(one, two):
    one, two = state_of(one._learnt.moments), state_of(two._learnt.moments)
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def assert_close(found, whole, x):
    assert found.n_samples_seen_ == whole.n_samples_seen_
    np.testing.assert_allclose(found.mean_, whole.mean_, rtol=1e-14)
    np.testing.assert_allclose(found.mahalanobis(x), whole.mahalanobis(x), rtol=1e-9)


# --- files -------------------------------------------------------------------------------------


def write(path, rows):
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".npz":
        np.savez(path, a=rows[:100], b=rows[100:])
    else:
        names = [f"column {j}" for j in range(rows.shape[1])]
        table = pa.table({name: rows[:, j] for j, name in enumerate(names)})
        pq.write_table(table, path, row_group_size=150)
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
@pytest.mark.parametrize("parameters", STRUCTURES)
def test_files_give_the_same_bits_for_any_number_of_workers(suffix, parameters, tmp_path):
    x = rows_of()
    paths = [write(tmp_path / f"{k}{suffix}", x[300 * k : 300 * (k + 1)]) for k in range(4)]
    found = [StreamingCovariance(workers=w, **parameters).fit(paths) for w in (1, 2, 3)]
    assert_close(found[0], StreamingCovariance(**parameters).fit(x), x)
    for other in found[1:]:
        assert_same_bits(found[0], other)
    one_by_one = StreamingCovariance(**parameters)
    for path in paths:
        one_by_one.partial_fit(str(path))
    assert_same_bits(found[0], one_by_one)


def test_references_may_come_from_files(tmp_path):
    x = rows_of(60, 80).astype(np.float32)
    paths = [write(tmp_path / f"{k}.npy", x[20 * k : 20 * (k + 1)]) for k in range(3)]
    found = StreamingCovariance(structure="low-rank", ridge=0.1, workers=2).fit(paths)
    whole = StreamingCovariance(structure="low-rank", ridge=0.1).fit(x)
    assert found._learnt.moments.rows.dtype == np.float32
    assert_close(found, whole, x)


def test_a_bad_file_is_named(tmp_path):
    x = rows_of()
    good = write(tmp_path / "good.npy", x)
    nan = x.copy()
    nan[700, 2] = np.nan
    cases = {
        "nan.npy": (nan, r"nan\.npy must be finite .*; got .*nan\.npy\[700, 2\] = nan"),
        "narrow.npy": (x[:, :3], r"narrow\.npy must have 8 columns"),
        "flat.npy": (x[0], r"flat\.npy must have 2 dimensions"),
        "text.npy": (x.astype(str), r"text\.npy must be an array of real numbers"),
    }
    for name, (rows, message) in cases.items():
        with pytest.raises((ValueError, TypeError), match=message):
            StreamingCovariance(workers=2).fit([good, write(tmp_path / name, rows)])
    (tmp_path / "short.npy").write_bytes(good.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"short\.npy is damaged"):
        StreamingCovariance().fit(tmp_path / "short.npy")
    with pytest.raises(ValueError, match=r"must end in \.npy, \.npz or \.parquet"):
        StreamingCovariance().fit("rows.csv")
    with pytest.raises(FileNotFoundError):
        StreamingCovariance().fit(tmp_path / "none.npy")
    one = write(tmp_path / "one.parquet", x)
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(one).rename_columns([f"c{j}" for j in range(8)]), other)
    with pytest.raises(ValueError, match="column 0 is 'c0', and was 'column 0'"):
        StreamingCovariance().fit([one, other])


# --- chunks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", STRUCTURES)
def test_chunks_are_learnt_and_scored_lazily(parameters):
    x = rows_of()
    lazy = da.from_array(x, chunks=((500, 300, 150, 250), (5, 3)))
    found = StreamingCovariance(**parameters).fit(lazy)
    assert_close(found, StreamingCovariance(**parameters).fit(x), x)
    with dask.config.set(scheduler="synchronous"):
        assert_same_bits(found, StreamingCovariance(**parameters).fit(lazy))
    distances, white = found.mahalanobis(lazy), found.transform(lazy)
    assert isinstance(distances, da.Array)
    assert distances.shape == (1200,)
    assert white.shape == x.shape
    expected = found.mahalanobis(x), found.transform(x)
    found.partial_fit(x * 3)  # what was asked for before does not change
    np.testing.assert_allclose(distances.compute(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(white.compute(), expected[1], rtol=1e-9, atol=1e-12)


def test_chunks_of_unknown_size_are_taken():
    x = rows_of()
    lazy = da.from_array(x, chunks=(500, 8))
    found = StreamingCovariance().fit(lazy[lazy[:, 0] > 99.0])
    assert_close(found, StreamingCovariance().fit(x[x[:, 0] > 99.0]), x)
    with pytest.raises(ValueError, match="X must have 8 columns, as those before"):
        found.mahalanobis(lazy[:, :2])
    for act in (found.fit, found.mahalanobis):
        with pytest.raises(ValueError, match="X must have 2 dimensions"):
            act(lazy[:, 0])


def test_lazy_frames_bring_the_names_of_their_columns():
    frames = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(rows_of(d=3), columns=["a", "b", "c"])
    lazy = frames.from_pandas(frame, npartitions=3)
    found = StreamingCovariance().fit(lazy)
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_close(found, StreamingCovariance().fit(frame), frame)
    np.testing.assert_allclose(found.mahalanobis(lazy).compute(), found.mahalanobis(frame))
    for act in (found.partial_fit, found.mahalanobis, found.transform):
        with pytest.raises(ValueError, match="column 1 is 'c', and was 'b'"):
            act(lazy[["a", "c", "b"]])


def test_dask_knows_how_much_there_is_to_send():
    """What it moves where depends on it; of an object it knows nothing, it thinks 48 bytes."""
    for parameters in STRUCTURES:
        moments = (learnt := StreamingCovariance(**parameters).fit(rows_of())._learnt).moments
        arrays = state_of(moments).values()
        assert sizeof(learnt) >= sum(array.nbytes for array in arrays) > 100


def test_a_bad_row_in_a_chunk_is_named_by_its_place_in_the_whole():
    x = rows_of()
    x[1100, 4] = np.inf
    with pytest.raises(ValueError, match=r"X\[1100, 4\] = inf"):
        StreamingCovariance().fit(da.from_array(x, chunks=(400, 8)))
    found = StreamingCovariance(missing="drop").fit(da.from_array(x, chunks=(400, 8)))
    assert (found.n_samples_seen_, found.n_samples_dropped_) == (1199, 1)


def test_a_killed_worker_changes_no_bit():
    def slow_chunk(block_info=None):
        """A chunk that takes a while, the same whenever it is made.

        Within the test it travels by value: the workers cannot import the tests.
        """
        place = block_info[None]["chunk-location"][0]
        time.sleep(0.1)
        return np.random.default_rng(place).normal(size=(300, 20)) + place

    lazy = da.map_blocks(
        slow_chunk, chunks=((300,) * 16, (20,)), dtype=np.float64, meta=np.empty((0, 0))
    )
    whole = StreamingCovariance(shrinkage="ledoit-wolf").fit(lazy)
    with (
        dask.config.set({"distributed.admin.log-length": 0, "logging.distributed": "critical"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        before = set(client.run(os.getpid).values())
        assert len(before) == 2
        killer = threading.Timer(0.5, os.kill, (min(before), signal.SIGKILL))
        killer.start()
        found = StreamingCovariance(shrinkage="ledoit-wolf").fit(lazy)
        killer.join()
        assert min(before) not in client.run(os.getpid).values()
        assert_same_bits(found, whole)
        scores = found.mahalanobis(lazy).compute()
    np.testing.assert_allclose(scores, whole.mahalanobis(lazy).compute(), rtol=1e-12)
    x = np.asarray(lazy)
    truth = twins.mahalanobis(x, x.mean(axis=0), twins.covariance(x, twins.ledoit_wolf(x)))
    np.testing.assert_allclose(scores, truth, rtol=1e-9)
