"""The conversions that every room shares, and the voice in which they refuse."""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from fresh import in_fresh_python

import mialeak
from mialeak import StreamingCovariance
from mialeak._arrays import all_finite, as_choice, as_floats, as_share, within
from mialeak._kernels import table
from mialeak.auditing import audit, audit_power, one_run_audit

X = np.random.default_rng(0).normal(size=(20, 3))
MASKED = np.ma.masked_array(X, mask=X > 1.0)
COLUMN = np.ma.masked_array(X[:, 0], mask=X[:, 0] > 1.0)
LAW = np.ma.masked_array([0.5, 0.3, 0.2], mask=[0, 0, 1])

TAKES_ARRAYS = {
    "X": [
        lambda: mialeak.estimators.mean_influence(MASKED),
        lambda: StreamingCovariance().fit(MASKED),
        lambda: StreamingCovariance().fit(MASKED.astype(np.float32)),
        lambda: StreamingCovariance().fit(X).mahalanobis(MASKED),
        lambda: mialeak.mechanisms.discretize(COLUMN, 3),
    ],
    "in_scores": [lambda: audit(COLUMN, X[:, 1])],
    "target": [lambda: mialeak.leakage_score(MASKED, np.zeros(3), 1.0, 5)],
    "releases": [
        lambda: mialeak.scores.covariance_score(MASKED.astype(np.float32), X[0], X[1], 1.0, 5),
    ],
    "p": [
        lambda: mialeak.max_leakage(LAW, 5),
        lambda: mialeak.max_leakage(iter([LAW]), 5),
        lambda: mialeak.laws.Bernoulli(LAW),
        lambda: mialeak.mechanism_leakage(mialeak.mechanisms.Mode(), LAW, 5),
    ],
    "counts": [
        lambda: mialeak.estimate_max_leakage(np.ma.masked_array([3, 4], mask=[1, 0])),
        lambda: mialeak.mechanisms.Round(5).release(np.ma.masked_array([3, 4], mask=[1, 0])),
    ],
    "candidates": [lambda: mialeak.select_canaries(MASKED, StreamingCovariance().fit(X))],
}


@pytest.mark.parametrize("name", TAKES_ARRAYS)
def test_a_mask_is_not_forgotten(name):
    message = f"{name} must have no masked entries. Pass {name}.compressed(), or"
    for call in TAKES_ARRAYS[name]:
        with pytest.raises(TypeError, match=re.escape(message)):
            call()


def test_arrays_without_masked_entries_and_subclasses_are_plain_views():
    for values in (np.ma.masked_array(X), X.view(np.recarray)):
        plain = as_floats(values, "X")
        assert type(plain) is np.ndarray
        assert np.shares_memory(plain, X)


def test_integers_beyond_all_floats_are_refused_with_their_index():
    for values in ([10**400], [10**400, 0.5], [10**400, None]):
        with pytest.raises(ValueError, match=r"^X must fit a float64 .*; got X\[0\] = 1000"):
            as_floats(values, "X")
    with pytest.raises(ValueError, match="X must hold numbers below"):
        as_floats([Fraction(10**400)], "X")
    with pytest.raises(ValueError, match=r"^gamma must fit a float64 exactly \(integers up to 2"):
        mialeak.max_leakage([0.5, 0.5], 5, gamma=10**400)
    with pytest.raises(ValueError, match="gamma = 9007199254740993"):  # as of any array
        mialeak.max_leakage([0.5, 0.5], 5, gamma=2**53 + 1)
    assert mialeak.max_leakage([0.5, 0.5], 5, gamma=2**53) == 0.0


@pytest.mark.parametrize("missing", [[1.0, np.nan], pd.array([1, None], dtype="Int64")])
def test_missing_counts_are_told_from_fractions(missing):
    with pytest.raises(TypeError, match=r"^counts must be integers.*\. Some are missing \(NaN\)"):
        mialeak.estimate_max_leakage(missing)
    with pytest.raises(TypeError, match=r"^counts must be integers, not of dtype float64$"):
        mialeak.estimate_max_leakage([1.0, 2.0])


def test_numbers_as_objects_are_taken_as_they_are_or_refused():
    taken = as_floats(np.array([1, 0.25, Fraction(1, 2), Decimal("0.75"), True], object), "X")
    assert taken.tolist() == [1.0, 0.25, 0.5, 0.75, 1.0]
    with pytest.raises(ValueError, match=re.escape("got X[1] = 9007199254740993")):
        as_floats(np.array([0, 2**53 + 1], object), "X")
    for words in (["1", "2"], [b"1", 2]):
        with pytest.raises(TypeError, match="X must be an array of real numbers, not of dtype obj"):
            as_floats(np.array(words, object), "X")


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 95.0])
def test_a_share_is_strictly_between_0_and_1(value):
    message = f"confidence must be strictly between 0 and 1; got confidence = {value}"
    with pytest.raises(ValueError, match=re.escape(message)):
        as_share(value, "confidence")
    assert as_share(np.nextafter(1.0, 0.0), "confidence") < 1.0


@pytest.mark.parametrize("value", ["Fixed", None, ["fixed"], np.array(["fixed", "poisson"])])
def test_a_choice_is_one_of_the_words(value):
    words = ("fixed", "poisson", "other")
    message = 'rows must be "fixed", "poisson" or "other"; got rows = '
    with pytest.raises(ValueError, match=re.escape(message)):
        as_choice(value, "rows", words)
    assert as_choice("poisson", "rows", words) == "poisson"


SCORES = X[:, 0], X[:, 1]
MEMBER = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0])
TAKES_RNG = {
    "audit": lambda rng: audit(*SCORES, rng=rng),
    "one_run_audit": lambda rng: one_run_audit(X[:, 0], MEMBER, rng=rng),
    "audit_power": lambda rng: audit_power(0.1, mialeak.GaussianTradeOff(1.0), rng=rng),
    "dp_sgd_audit": lambda rng: mialeak.training.dp_sgd_audit(
        lambda member: member + np.arange(20), 20, rng=rng
    ),
    "mislabelled_canaries": lambda rng: mialeak.training.mislabelled_canaries([0, 1], 3, rng=rng),
    "blank_canaries": lambda rng: mialeak.training.blank_canaries(1, 2, 3, rng=rng),
    "discretize": lambda rng: mialeak.mechanisms.discretize(X, 2, rng=rng),
    "draw": lambda rng: mialeak.laws.Bernoulli([0.5]).draw(3, rng=rng),
    "RandomRound": lambda rng: mialeak.mechanisms.RandomRound(3).release([1], rng=rng),
    "resampled_tradeoff": lambda rng: mialeak.estimators.mean_influence(X).resampled_tradeoff(
        0, lambda rows: rows.mean(axis=0), X, rounds=1, rng=rng
    ),
}


@pytest.mark.parametrize("name", TAKES_RNG)
@pytest.mark.parametrize(("rng", "error"), [("seed", TypeError), (-1, ValueError)])
def test_every_rng_is_refused_in_the_same_words(name, rng, error):
    with pytest.raises(error, match=r"rng must be what np\.random\.default_rng takes"):
        TAKES_RNG[name](rng)


@pytest.mark.parametrize(
    "layout", [np.asarray, np.asfortranarray, lambda x: np.repeat(x, 2, -1)[..., ::2]]
)
@pytest.mark.parametrize("bad", [np.nan, -0.5, 1.5, np.inf, -np.inf])
def test_one_number_outside_is_seen_wherever_it_stands(bad, layout):
    for shape in [(), (1,), (7,), (3, 4)]:
        values = layout(np.full(shape, 0.5))
        assert within(values, 0.5, 0.5)
        assert within(values, 0.0, 1.0)
        values[(-1,) * values.ndim] = bad
        assert not within(values, 0.0, 1.0)
    assert within(np.empty(0), 0.0, 1.0)
    assert within(np.empty((0, 3)), 0.0, 1.0)


def test_every_place_is_looked_at_on_every_instruction_set():
    code = """
import numpy as np
from mialeak._arrays import within
for size in range(70):
    values = np.linspace(-1.0, 1.0, size)
    assert within(values, -1.0, 1.0)
    for bad in (np.nan, 1.0 + 2.0**-52, -np.inf):
        for place in range(size):
            other = values.copy()
            other[place] = bad
            assert not within(other, -1.0, 1.0), (size, place)
assert not within(np.zeros(3), 1.0, -1.0) and within(np.array([-0.0]), 0.0, 0.0)
"""
    for isa in table.isa_available():
        run = in_fresh_python(code, isa)
        assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("dtype", ["float32", ">f8" if sys.byteorder == "little" else "<f8"])
def test_only_float64_of_this_machine_is_looked_at(dtype):
    with pytest.raises(TypeError, match=f"float64 is wanted, not {dtype}"):
        within(np.zeros(3, dtype), 0.0, 1.0)


def test_numbers_between_the_bytes_of_others_are_looked_at():
    room = np.zeros(8 * 70 + 1, np.uint8)
    values = room[1:].view(np.float64)
    assert not values.flags.aligned
    assert within(values, 0.0, 0.0)
    values[-1] = 1.0
    assert not within(values, 0.0, 0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_large_numbers_are_finite_and_infinite_ones_are_not(bad):
    for shape in [(), (1,), (9,), (3, 3)]:
        values = np.full(shape, -1e308)
        assert all_finite(values)
        values[(-1,) * values.ndim] = bad
        assert not all_finite(values)
    assert all_finite(np.empty(0))
    assert not all_finite(np.array([np.inf, -np.inf]))
