"""StreamingCovariance as an object: histories, scikit-learn, threads, files, what it refuses."""

from __future__ import annotations

import contextlib
import copy
import pickle
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from test_covariance import STRUCTURES, as_structure, correlated, rows_for

from mialeak.covariance import NotFittedError, StreamingCovariance, _parameters
from mialeak.reference import covariance as twins

# --- scikit-learn ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "parameters",
    [{}, {"structure": "diagonal"}, {"shrinkage": "ledoit-wolf"}, {"missing": "drop"}],
)
def test_scikit_learn_finds_an_estimator(parameters):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    found = checks.check_estimator(StreamingCovariance(**parameters), on_skip=None)
    passed = [check for check in found if check["status"] == "passed"]
    # What is left is skipped by scikit-learn itself unless SCIPY_ARRAY_API is set.
    assert {c["check_name"] for c in found if c not in passed} <= {"check_array_api_input"}
    assert len(passed) >= 40


def test_scikit_learn_is_not_imported():
    code = (
        "import sys, numpy as np, mialeak;"
        "c = mialeak.StreamingCovariance().fit(np.eye(5)[:, :2]); c.mahalanobis(np.eye(2));"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'dask', 'pyarrow'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("shrinkage", ["ledoit-wolf", "oas"])
def test_intensities_are_those_of_two_passes(shrinkage):
    x = correlated(30, 12)
    twin = {"ledoit-wolf": twins.ledoit_wolf, "oas": twins.oas}[shrinkage]
    cases = {
        "full": (x, {}, twin(x)),
        "block": (x, {"blocks": [7, 5]}, [twin(x[:, :7]), twin(x[:, 7:])]),
        "low-rank": (x[:9], {}, twin(x[:9])),
    }
    if shrinkage == "ledoit-wolf":
        cases["diagonal"] = (x, {}, twins.ledoit_wolf_diagonal(x))
    for structure, (rows, more, truth) in cases.items():
        empty = StreamingCovariance(structure=structure, shrinkage=shrinkage, **more)
        found = copy.deepcopy(empty).partial_fit(rows[:4]).partial_fit(rows[4:6])
        found.merge(copy.deepcopy(empty).fit(rows[6:]))
        np.testing.assert_allclose(found.shrinkage_, truth, rtol=1e-11, err_msg=structure)


@pytest.mark.parametrize("shrinkage", ["ledoit-wolf", "oas"])
def test_a_covariance_that_is_its_own_target_is_not_shrunk(shrinkage):
    x = np.vstack([np.eye(3), -np.eye(3)])
    found = StreamingCovariance(shrinkage=shrinkage).fit(x)
    assert found.shrinkage_ == 0.0
    np.testing.assert_allclose(found.covariance_, np.eye(3) / 3, rtol=1e-15)
    assert found.condition_ == pytest.approx(1.0, rel=1e-15)


def test_ledoit_wolf_is_that_of_scikit_learn():
    covariance = pytest.importorskip("sklearn.covariance")
    x = correlated(40, 7)
    theirs = covariance.LedoitWolf().fit(x)
    ours = StreamingCovariance(shrinkage="ledoit-wolf").fit(x)
    assert ours.shrinkage_ == pytest.approx(theirs.shrinkage_, rel=1e-12)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-11)
    np.testing.assert_allclose(ours.mahalanobis(x), theirs.mahalanobis(x), rtol=1e-9)


def test_oas_keeps_the_terms_that_scikit_learn_leaves_out():
    """They vanish as 2/d."""
    covariance = pytest.importorskip("sklearn.covariance")
    x = correlated(300, 200)
    theirs = covariance.OAS().fit(x).shrinkage_
    ours = StreamingCovariance(shrinkage="oas").fit(x).shrinkage_
    assert ours == pytest.approx(theirs, rel=0.01)
    assert ours != pytest.approx(theirs, rel=1e-6)


def test_workers_are_checked_whatever_is_fitted():
    for workers, error in ((0, ValueError), (-2, ValueError), (2.0, TypeError), (None, TypeError)):
        with pytest.raises(error, match="workers must be"):
            StreamingCovariance(workers=workers).fit(np.eye(3))


def test_parameters_take_effect_at_once():
    x = correlated(100, 5)
    found = StreamingCovariance().fit(x)
    for parameters in ({"shrinkage": 0.3}, {"ridge": 2.0}, {"shrinkage": "oas", "ridge": 0.0}):
        found.set_params(**parameters)
        fresh = StreamingCovariance(**found.get_params()).fit(x)
        np.testing.assert_array_equal(found.mahalanobis(x), fresh.mahalanobis(x))
    message = 'params must be "assume_centered", .* or "workers"; got params = .shrink'
    with pytest.raises(ValueError, match=message):
        found.set_params(ridge=7.0, shrink=1)
    assert found.ridge == 0.0
    for name, value in (("shrinkage", "ledoit-wolf"), ("structure", "diagonal")):
        with pytest.raises(ValueError, match=f"{name} must be .* Call fit"):
            StreamingCovariance().fit(x).set_params(**{name: value}).mahalanobis(x)


# --- histories ---------------------------------------------------------------------------------


class Histories(RuleBasedStateMachine):
    """Random fits, partial fits, merges, saves and loads, beside the rows themselves."""

    d = 6

    @initialize(
        structure=st.sampled_from(["full", "diagonal", "block", "low-rank"]),
        shrinkage=st.sampled_from([None, 0.2, "ledoit-wolf"]),
        mean=st.sampled_from([0.0, -3.0, 1e6]),
    )
    def start(self, structure, shrinkage, mean):
        self.rng, self.mean = np.random.default_rng(1), mean
        self.parameters = {"structure": structure, "shrinkage": shrinkage, "ridge": 0.1}
        self.width = 40 if structure == "low-rank" else self.d
        if structure == "block":
            self.parameters["blocks"] = [2, 4]
        self.found = StreamingCovariance(**self.parameters)
        self.rows = np.empty((0, self.width))

    def draw(self, n, order="C", dtype=np.float64):
        x = self.rng.normal(size=(n, self.width)) * (1 + np.arange(self.width)) + self.mean
        return np.asarray(x, dtype, order=order)

    @rule(n=st.integers(0, 8), order=st.sampled_from("CF"), single=st.booleans())
    def add(self, n, order, single):
        x = self.draw(n, order, np.float32 if single else np.float64)
        if len(self.rows) + n < 35:
            self.found.partial_fit(x)
            self.rows = np.concatenate([self.rows, x.astype(np.float64)])

    @rule(n=st.integers(2, 8))
    def again(self, n):
        self.rows = self.draw(n)
        self.found.fit(self.rows)

    @rule(n=st.integers(1, 8), turned=st.booleans())
    def join(self, n, turned):
        x = self.draw(n)
        if len(self.rows) + n < 35:
            other = StreamingCovariance(**self.parameters).partial_fit(x)
            if turned:
                self.found, other = other.merge(self.found), None
                self.rows = np.concatenate([x, self.rows])
            else:
                self.found.merge(other)
                self.rows = np.concatenate([self.rows, x])

    @precondition(lambda self: len(self.rows))
    @rule(how=st.sampled_from(["save", "pickle", "copy"]))
    def travel(self, how):
        if how == "pickle":
            self.found = pickle.loads(pickle.dumps(self.found))
        elif how == "copy":
            self.found = copy.deepcopy(self.found)
        else:
            import tempfile
            from pathlib import Path

            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "state.npz"
                self.found.save(path)
                self.found = StreamingCovariance.load(path)

    @rule()
    def refuse(self):
        bad = self.draw(3)
        bad[1, 2] = np.nan
        with pytest.raises(ValueError, match=r"X\[1, 2\] = nan"):
            self.found.partial_fit(bad)

    @precondition(lambda self: len(self.rows) > 1)
    @rule()
    def compare(self):
        x, found = self.rows, self.found
        assert found.n_samples_seen_ == len(x)
        np.testing.assert_allclose(found.mean_, x.mean(axis=0), rtol=1e-13, atol=1e-13)
        structure, blocks = self.parameters["structure"], (2, 4)
        if structure == "block":
            parts = [
                self.recomputed(x[:, :2], found.shrinkage_[0]),
                self.recomputed(x[:, 2:], found.shrinkage_[1]),
            ]
            cov = np.zeros((6, 6))
            cov[:2, :2], cov[2:, 2:] = parts
        else:
            cov = self.recomputed(x, found.shrinkage_)
        cov = as_structure(cov, structure, blocks)
        truth = twins.mahalanobis(x, x.mean(axis=0), cov)
        np.testing.assert_allclose(found.mahalanobis(x), truth, rtol=1e-6)

    def recomputed(self, x, found):
        structure, shrinkage = self.parameters["structure"], self.parameters["shrinkage"]
        if shrinkage == "ledoit-wolf":
            rule = twins.ledoit_wolf_diagonal if structure == "diagonal" else twins.ledoit_wolf
            shrinkage = rule(x)
        assert found == pytest.approx(shrinkage or 0.0, rel=1e-6, abs=1e-9)
        return twins.covariance(x, shrinkage or 0.0, 0.1)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=40, stateful_step_count=15)


# --- threads, copies ---------------------------------------------------------------------------


def test_many_threads_score_with_one_factor(monkeypatch):
    x = correlated(400, 40)
    found = StreamingCovariance().fit(x)
    expected = copy.deepcopy(found).mahalanobis(x)
    made, factor_of, start = [], _parameters.factor_of, threading.Barrier(8)

    def counted(*arguments):
        made.append(threading.get_ident())
        return factor_of(*arguments)

    monkeypatch.setattr(_parameters, "factor_of", counted)

    def work(_):
        start.wait()
        return [found.mahalanobis(x) for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        for scores in pool.map(work, range(8)):
            for score in scores:
                np.testing.assert_array_equal(score, expected)
    assert len(made) == 1
    found.partial_fit(x[:3])
    found.mahalanobis(x[:1])
    assert len(made) == 2


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_memory_mapped_copy_learns_on(structure, tmp_path):
    x = rows_for(structure)
    cut = 2 * len(x) // 3
    one = StreamingCovariance(**STRUCTURES[structure]).fit(x[:cut])
    joblib.dump(one, tmp_path / "learnt.joblib")
    two = joblib.load(tmp_path / "learnt.joblib", mmap_mode="r")
    np.testing.assert_array_equal(
        two.partial_fit(x[cut:]).mahalanobis(x), one.partial_fit(x[cut:]).mahalanobis(x)
    )


def peak(act):
    """Most bytes that are in use at a time."""
    tracemalloc.start()
    act()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize(
    "parameters",
    [{}, {"structure": "diagonal"}, {"structure": "block", "blocks": [20, 30]}],
    ids=["full", "diagonal", "block"],
)
def test_memory_does_not_grow_with_the_rows(parameters):
    block = correlated(200, 50)
    few, many = (
        peak(lambda: StreamingCovariance(**parameters).fit(block for _ in range(repeat)))  # noqa: B023
        for repeat in (2, 40)
    )
    assert many < 1.2 * few


def test_memory_of_a_low_rank_is_below_three_times_its_input():
    """And hardly grows with the rows to score: their distances have to be kept."""
    x = np.random.default_rng(0).normal(size=(200, 1000))
    references, candidates = x[:100], x[100:]
    cov = StreamingCovariance(structure="low-rank", ridge=0.1)
    assert peak(lambda: cov.fit(references).mahalanobis(candidates)) < 2.0 * x.nbytes
    few, many = (
        peak(lambda: cov.mahalanobis(np.broadcast_to(x[150], (t, 1000))))  # noqa: B023
        for t in (4000, 14_000)
    )
    assert many < 1.01 * few


# --- data frames, missing values ---------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, lambda d: pl.DataFrame(d)])
def test_frames_bring_the_names_of_their_columns(make):
    x = correlated(50, 3)
    frame = make({name: x[:, j] for j, name in enumerate("abc")})
    found = StreamingCovariance().fit(frame)
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(found.mahalanobis(frame), found.mahalanobis(x))
    turned = make({name: x[:, j] for j, name in enumerate("acb")})
    for act in (found.mahalanobis, found.partial_fit):
        with pytest.raises(ValueError, match="column 1 is 'c', and was 'b'"):
            act(turned)
    with pytest.raises(ValueError, match="other must have the columns"):
        found.merge(StreamingCovariance().fit(turned))
    assert not hasattr(found.fit(x), "feature_names_in_")


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_with_missing_values_are_refused_or_left_out_and_counted(structure, value):
    x = rows_for(structure)
    bad = x.copy()
    bad[[0, 4], [2, 11]] = value
    parameters = STRUCTURES[structure]
    with pytest.raises(ValueError, match=r'X\[0, 2\] = (nan|inf)\. Pass missing="drop"'):
        StreamingCovariance(**parameters).fit(bad)
    found = StreamingCovariance(missing="drop", **parameters).fit(bad)
    kept = np.delete(x, [0, 4], axis=0)
    whole = StreamingCovariance(**parameters).fit(kept)
    assert (found.n_samples_seen_, found.n_samples_dropped_) == (len(kept), 2)
    np.testing.assert_allclose(found.mahalanobis(kept), whole.mahalanobis(kept), rtol=1e-10)
    assert np.flatnonzero(np.isnan(found.mahalanobis(bad))).tolist() == [0, 4]
    with pytest.raises(ValueError, match=r"X\[4, 11\] = (nan|inf)"):
        whole.mahalanobis(np.vstack([x[:4], bad[4:]]))


def test_a_refused_block_changes_nothing():
    x = correlated(300, 4)
    bad = np.vstack([x] * 4000)
    bad[-1, 0] = np.inf  # in the last of several pieces
    found = StreamingCovariance().fit(x)
    before = found.mahalanobis(x)
    for blocks in (bad, iter([x, bad])):
        with pytest.raises(ValueError, match="= inf"):
            found.partial_fit(blocks)
        assert found.n_samples_seen_ == 300
        np.testing.assert_array_equal(found.mahalanobis(x), before)


# --- what is refused ---------------------------------------------------------------------------

X = correlated(30, 4)
FITTED = StreamingCovariance().fit(X)

MESSAGES = [
    (lambda: StreamingCovariance(structure="dense").fit(X), 'structure must be "full", "diag'),
    (lambda: StreamingCovariance(shrinkage="lw").fit(X), "shrinkage must be a number, 'ledoit-wo"),
    (lambda: StreamingCovariance(shrinkage=1.5).fit(X), "shrinkage must be between 0 and 1"),
    (lambda: StreamingCovariance(ridge=-1).fit(X), "ridge must be at least 0"),
    (lambda: StreamingCovariance(missing="skip").fit(X), 'missing must be "error" or "drop"'),
    (lambda: StreamingCovariance(blocks=[4]).fit(X), "blocks must be the widths of the blocks for"),
    (lambda: StreamingCovariance(structure="block").fit(X), "blocks must be the widths"),
    (
        lambda: StreamingCovariance(structure="block", blocks=4).fit(X),
        "blocks must be a sequence of widths",
    ),
    (
        lambda: StreamingCovariance(structure="block", blocks=[1, 2]).fit(X),
        "blocks must sum to the 4 columns of X; their sum is 3",
    ),
    (
        lambda: StreamingCovariance(structure="diagonal", shrinkage="oas").fit(X),
        "shrinkage must be 'ledoit-wolf' or a number for variances",
    ),
    (
        lambda: StreamingCovariance(structure="low-rank", ridge=1.0).fit(X),
        'it has 30 rows of 4 columns. Use structure="full"',
    ),
    (
        lambda: StreamingCovariance(structure="low-rank").fit(X[:3]).mahalanobis(X),
        "rank is 2 of 4. Set shrinkage or ridge",
    ),
    (lambda: StreamingCovariance().fit(X[0]), "X must have 2 dimensions; its shape is (4,)"),
    (lambda: StreamingCovariance().fit(X[:0]), "X must have at least one row"),
    (lambda: StreamingCovariance().fit(iter([])), "X must have at least one block of rows"),
    (lambda: FITTED.mahalanobis(X[:, :3]), "X must have 4 columns, as those before"),
    (lambda: copy.deepcopy(FITTED).partial_fit(X[:, :3]), "X must have 4 columns"),
    (lambda: FITTED.mahalanobis(X * 1j), "X must be real"),
    (lambda: FITTED.mahalanobis(X.astype(str)), "X must be an array of real numbers"),
    (lambda: FITTED.mahalanobis(X * 1e200), "X must be small enough for its powers to be summed"),
    (lambda: StreamingCovariance().fit(X * 1e200), "X must be small enough"),
    (lambda: FITTED.fit([["a", 1]]), "X must be an array of real numbers"),
    (lambda: FITTED.fit(np.array([["a", 1]], object)), "X must be an array of real numbers ("),
    (
        lambda: copy.deepcopy(FITTED).merge(StreamingCovariance(structure="diagonal").fit(X)),
        "other must have the structure, blocks and kind of shrinkage that self has",
    ),
    (
        lambda: copy.deepcopy(FITTED).merge(StreamingCovariance().fit(X[:, :3])),
        "other must have 4 columns, as self; it has 3",
    ),
    (lambda: copy.deepcopy(FITTED).merge(X), "other must be a StreamingCovariance, not ndarray"),
]


@pytest.mark.parametrize(("act", "message"), MESSAGES)
def test_what_is_wrong_is_said(act, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        act()
    assert message in str(caught.value)


def test_tensors_that_require_grad_say_what_to_do():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(X, requires_grad=True)
    with pytest.raises(TypeError, match=r"Pass X\.detach\(\)\.cpu\(\)"):
        FITTED.mahalanobis(tensor)
    np.testing.assert_array_equal(FITTED.mahalanobis(tensor.detach()), FITTED.mahalanobis(X))


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "learnt"
    with pytest.raises(NotFittedError):
        StreamingCovariance().save(path)
    FITTED.save(path)
    whole = path.read_bytes()
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="learnt"):
            StreamingCovariance.load(path)
    for place in range(40, len(whole), 97):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        with contextlib.suppress(ValueError):  # and nothing else
            StreamingCovariance.load(path)
    np.savez(path.with_suffix(".npz"), a=X)
    with pytest.raises(ValueError, match="no StreamingCovariance was saved to it"):
        StreamingCovariance.load(path.with_suffix(".npz"))
    with pytest.raises(FileNotFoundError):
        StreamingCovariance.load(tmp_path / "none")
