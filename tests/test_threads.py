"""Objects that several threads ask at once: what one thread would be told."""

from __future__ import annotations

import copy
import functools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mialeak import (
    EmpiricalTradeOff,
    PiecewiseTradeOff,
    StreamingCovariance,
    discrete_tradeoff,
    exact_mean_tradeoff,
    special,
)
from mialeak._numerics.inversion import SaddlePointInversion
from mialeak.laws import Bernoulli

THREADS = 4
FPR = np.array([1e-6, 1e-3, 0.02, 0.3, 0.9])


@pytest.fixture
def impatient():
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work):
    """What `work` gives to each of the threads, which begin at once."""
    start = threading.Barrier(THREADS)

    def one(number):
        start.wait(10)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


RNG = np.random.default_rng(5)
OBJECTS = {
    "contours": lambda: exact_mean_tradeoff(
        np.arange(60) % 2.0, Bernoulli(np.linspace(0.2, 0.8, 60)), 40
    ),
    "atoms": lambda: exact_mean_tradeoff(np.ones(3), Bernoulli([0.2, 0.5, 0.8]), 7),
    "discrete": lambda: discrete_tradeoff([0.5, 0.3, 0.2], 30),
    "piecewise": lambda: PiecewiseTradeOff([0.1, 0.5], [0.4, 0.9]),
    "empirical": lambda: EmpiricalTradeOff(RNG.normal(1.0, size=300), RNG.normal(size=200)),
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", OBJECTS)
def test_threads_are_told_what_one_would_be(name):
    """Each begins elsewhere, so that what an object finds on its way comes in another order."""
    made = OBJECTS[name]()

    def ask(one, first):
        asked = np.roll(FPR, first)
        found = np.array([one.power(x) for x in asked] + [one.delta(x) for x in 4 * asked])
        return np.concatenate([np.roll(found[:5], -first), np.roll(found[5:], -first)])

    expected = ask(copy.deepcopy(made), 0)
    for one in [copy.deepcopy(made) for _ in range(3)]:
        for found in together(functools.partial(ask, one)):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-15)


def test_contours_that_another_thread_makes_meanwhile_change_nothing(monkeypatch):
    """As if it came between two contours, each of which answers for some of the points."""
    x = np.linspace(-3.0, 3.0, 9)
    expected = SaddlePointInversion(lambda s: 0.5 * s * s).log_tails(x)
    inversion = SaddlePointInversion(lambda s: 0.5 * s * s)
    integral, others = inversion._integral, [-20.0, 20.0]

    def interrupted(*arguments):
        if others and np.size(arguments[1]) != 3:  # not while a contour is being made
            inversion.log_tails([others.pop()])
        return integral(*arguments)

    inversion.log_tails(x)
    monkeypatch.setattr(inversion, "_integral", interrupted)
    np.testing.assert_allclose(inversion.log_tails(x), expected, rtol=1e-12)
    assert not others


@pytest.mark.usefixtures("impatient")
def test_threads_read_one_covariance_and_write_to_parts_of_one_array():
    x = np.random.default_rng(1).normal(size=(4000, 20))
    found = StreamingCovariance().fit(x)
    expected = copy.deepcopy(found).mahalanobis(x)
    parts = np.split(np.arange(4000), THREADS)

    for scores in together(lambda _: found.mahalanobis(x)):
        assert np.array_equal(scores, expected)
    n, p, out = np.arange(1.0, 4001.0), 0.3, np.empty(4000)
    together(
        lambda number: special.binom_mad(n[parts[number]], p, out=out[parts[number][0] :][:1000])
    )
    assert np.array_equal(out, special.binom_mad(n, p))
