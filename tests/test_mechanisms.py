"""Leakage of given mechanisms, against enumeration in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mechanism_truth import count_vectors, enumerated, geometric, random_round, separately

import mialeak
from mialeak import mechanisms
from mialeak.mechanisms import (
    Geometric,
    Histogram,
    Maximum,
    Mean,
    Mode,
    RandomRound,
    Round,
    Suppress,
    mechanism_leakage,
)
from mialeak.reference import mechanisms as twins

LAW = [F(1, 2), F(5, 16), F(3, 16)]
FLOATS = [float(x) for x in LAW]
VALUES = [0, 1, 3]
GAMMAS = [F(1, 4), F(1, 2), F(1), F(3, 2), F(4)]
ALPHA = F(1, 4)


def sure(outcome):
    """A deterministic mechanism."""
    return lambda counts: {outcome(counts): F(1)}


#: Ours, and the same in rationals; `most` rows at most.
BUILT_IN = {
    "histogram": (Histogram(), lambda most: sure(tuple)),
    "mean": (Mean(VALUES), lambda most: sure(lambda c: np.dot(c, VALUES))),
    "maximum": (
        Maximum(),
        lambda most: sure(lambda c: max((i for i in range(len(c)) if c[i]), default=-1)),
    ),
    "mode": (Mode(), lambda most: sure(lambda c: c.index(max(c)))),
    "round 3": (Round(3), lambda most: sure(lambda c: tuple((x + 1) // 3 for x in c))),
    "round 4": (Round(4), lambda most: sure(lambda c: tuple((x + 2) // 4 for x in c))),
    "random": (RandomRound(3), lambda most: separately(random_round(3))),
    "suppress": (Suppress(3), lambda most: sure(lambda c: tuple(x if x >= 3 else -1 for x in c))),
    "zeros shown": (
        Suppress(3, zeros_shown=True),
        lambda most: sure(lambda c: tuple(x if x >= 3 or x == 0 else -1 for x in c)),
    ),
    "geometric": (
        Geometric(math.log(1 / ALPHA)),
        lambda most: separately(geometric(ALPHA, 0, most)),
    ),
}
FUNCTIONS = {
    "parity": (lambda c: c[:, 0] % 2, lambda most: sure(lambda c: c[0] % 2)),
    "all counts": (lambda c: c @ np.array([1, 10**3, 10**6]), lambda most: sure(tuple)),
    "constant": (lambda c: np.full(len(c), -7), lambda most: sure(lambda c: 0)),
    "yes or no": (lambda c: c[:, 2] > 0, lambda most: sure(lambda c: c[2] > 0)),
    "coin": (
        lambda c: np.where(c[:, :1] > 1, [[0.25, 0.75]], [[0.5, 0.5]]),
        lambda most: lambda c: {0: F(1, 4), 1: F(3, 4)} if c[0] > 1 else {0: F(1, 2), 1: F(1, 2)},
    ),
}
EVERY = BUILT_IN | FUNCTIONS


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", EVERY)
def test_every_mechanism_leaks_what_enumeration_in_rationals_says(name, n, gamma):
    ours, theirs = EVERY[name]
    found = mechanism_leakage(ours, FLOATS, n, gamma=float(gamma))
    assert found.kind == "exact"
    truth = enumerated(theirs(n), LAW, n, gamma)
    assert float(found) == pytest.approx(float(truth), abs=3e-15)


@pytest.mark.parametrize("gamma", [F(1, 2), F(1), F(3)])
@pytest.mark.parametrize("name", [name for name in EVERY if name != "geometric"])
def test_so_it_is_with_a_poisson_number_of_rows(name, gamma):
    """Two atoms and one that never occurs; the rows are at most 27 but with probability 1e-22."""
    ours, theirs = EVERY[name]
    law, n = [F(3, 4), F(1, 4)], 2
    found = mechanism_leakage(ours, [0.75, 0.25, 0.0], n, gamma=float(gamma), rows="poisson")
    assert found.kind == "exact"
    assert found.rows == "poisson"
    truth = enumerated(lambda c: theirs(27)((*c, 0)), law, n, gamma, most=27)
    assert float(found) == pytest.approx(float(truth), abs=3e-15)


def test_geometric_noise_with_a_poisson_number_of_rows():
    """The target's own cell is all that matters, so that two cells are enumerated one by one."""
    law, n, most = [F(3, 4), F(1, 4)], 2, 24
    truth = sum(
        pk * enumerated(separately(geometric(ALPHA, 0, most)), [F(1)], n * pk, F(1), most=most)
        if n * pk == int(n * pk)
        else pk * own_cell(n * pk, most)
        for pk in law
    )
    found = mechanism_leakage(BUILT_IN["geometric"][0], [0.75, 0.25], n, rows="poisson")
    assert float(found) == pytest.approx(float(truth), abs=3e-15)


def own_cell(mean, most):
    """Total variation between noisy 1 + Poisson(mean) and noisy Poisson(mean)."""
    noise, sums = geometric(ALPHA, 0, most), {}
    for c in range(most):
        w = mean**c / math.factorial(c)
        for y, q in noise(c).items():
            sums[y] = sums.get(y, 0) + w * q * (c / mean - 1)
    return float(sum(abs(x) for x in sums.values())) * math.exp(-mean) / 2


@pytest.mark.parametrize("rows", ["fixed", "poisson"])
def test_a_function_of_the_counts_says_what_the_built_in_does(rows):
    law, n = [0.4, 0.35, 0.25], 12
    radix = np.array([1, 100, 10**4])
    for name, (ours, _) in BUILT_IN.items():
        if name in {"random", "geometric"}:
            continue
        by_function = {
            "histogram": lambda c: c @ radix,
            "mean": lambda c: c @ np.array(VALUES),
            "maximum": lambda c: Maximum()(c),
            "mode": lambda c: Mode()(c),
        }.get(name, lambda c, ours=ours: (ours.release(c) + 1) @ radix)
        expected = mechanism_leakage(by_function, law, n, rows=rows)
        assert expected.method == "enumeration"
        found = mechanism_leakage(ours, law, n, rows=rows)
        assert float(found) == pytest.approx(float(expected), abs=1e-14), name


# --- what is known in closed form --------------------------------------------------------------


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize(("p", "n"), [(F(1, 10), 3), (F(1, 3), 7), (F(9, 10), 4)])
def test_the_maximum_of_bits_has_its_closed_form(p, n, gamma):
    """2 p q^n at gamma = 1.  For any gamma, the corrected form."""
    q, g, one = 1 - p, gamma, F(1)
    inner = p * min(g * (1 - q**n), one)
    inner += q * min(g * (1 - q**n), 1 - q ** (n - 1)) + q * min(g * q**n, q ** (n - 1))
    truth = max(one, g) * (min(one, 1 / g) - inner / g)
    if g == 1:
        assert truth == 2 * p * q**n
    found = mechanism_leakage(Maximum(), [float(q), float(p)], n, gamma=float(g))
    assert float(found) == pytest.approx(float(truth), abs=1e-15)
    assert truth == enumerated(BUILT_IN["maximum"][1](n), [q, p], n, g)


def test_two_p_q_to_the_n_is_wrong_for_other_gamma():
    """The erratum: the form for gamma = 1 is not that for all."""
    p, n = F(1, 10), 3
    truth = enumerated(sure(lambda c: c[1] > 0), [1 - p, p], n, F(2))
    assert abs(truth - 2 * p * (1 - p) ** n) > F(1, 20)


def test_the_largest_leakage_is_that_of_the_histogram_and_nobody_exceeds_it():
    law = np.random.default_rng(0).dirichlet(np.ones(4))
    for n in (1, 3, 8):
        for gamma in (0.5, 1.0, 2.0):
            most = mialeak.max_leakage(law, n, gamma=gamma)
            injective = mechanism_leakage(lambda c: c @ (20 ** np.arange(4)), law, n, gamma=gamma)
            assert float(injective) == pytest.approx(most, abs=1e-14)
            for ours in (Mode(), Maximum(), Round(3), RandomRound(2), Geometric(2.0), Suppress(2)):
                found = mechanism_leakage(ours, law, n, gamma=gamma)
                assert found.upper <= most + 1e-14


def test_the_maximum_over_all_maps_is_the_largest_leakage():
    """All 2^6 maps of the six count vectors to two labels, and the finest."""
    p, n = [F(1, 2), F(1, 3), F(1, 6)], 2
    vectors = list(count_vectors(n, 3))
    best = mialeak.max_leakage([float(x) for x in p], n)
    found = [
        float(mechanism_leakage(np.array([code >> i & 1 for i in range(6)]), p, n))
        for code in range(2 ** len(vectors))
    ]
    assert max(found) <= best + 1e-15
    assert float(mechanism_leakage(np.arange(6), p, n)) == pytest.approx(best, abs=1e-15)


# --- data processing ---------------------------------------------------------------------------

LAWS = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4).map(lambda x: np.array(x) / sum(x))


@settings(max_examples=30, deadline=None)
@given(LAWS, st.integers(1, 9), st.floats(0.1, 8.0), st.integers(0, 2**32 - 1), st.booleans())
def test_a_coarser_mechanism_never_leaks_more(law, n, gamma, seed, poisson):
    rows = "poisson" if poisson else "fixed"
    n = 1 + n % 3 if poisson else n
    rng = np.random.default_rng(seed)
    radix = rng.integers(1, 9, len(law))
    merge = rng.integers(0, 4, 10**4)
    noise = rng.dirichlet(np.ones(3), 4)

    def fine(counts):
        return counts @ radix

    ways = (fine, lambda c: merge[fine(c)], lambda c: noise[merge[fine(c)]])
    leaks = [float(mechanism_leakage(way, law, n, gamma=gamma, rows=rows)) for way in ways]
    assert leaks[0] >= leaks[1] - 1e-14
    assert leaks[1] >= leaks[2] - 1e-14
    assert leaks[2] >= 0
    assert leaks[0] <= 1


@settings(max_examples=40, deadline=None)
@given(LAWS, st.integers(2, 60), st.floats(0.2, 4.0), st.integers(2, 7))
def test_twice_as_coarse_a_rounding_and_more_noise_leak_less(law, n, gamma, base):
    def leak(way):
        return float(mechanism_leakage(way, law, n, gamma=gamma, rows="poisson"))

    # To multiples of 3 b with the same edges is a function of that to multiples of b.
    odd = 2 * (base // 2) + 1
    assert leak(Round(3 * odd)) <= leak(Round(odd)) + 1e-13
    assert leak(Suppress(2 * base)) <= leak(Suppress(base)) + 1e-13
    assert leak(Suppress(base)) <= leak(Suppress(base, zeros_shown=True)) + 1e-13
    assert leak(Geometric(0.5)) <= leak(Geometric(1.0)) + 1e-13 <= leak(Histogram()) + 2e-13


# --- enclosures --------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", ["round 3", "random", "suppress", "geometric"])
def test_the_enclosure_holds_what_enumeration_finds(name, gamma, monkeypatch):
    ours, law = BUILT_IN[name][0], np.array([0.4, 0.3, 0.2, 0.1])
    exact = mechanism_leakage(ours, law, 9, gamma=gamma)
    from mialeak.mechanisms import _leakage

    monkeypatch.setattr(_leakage, "_MOST_JOINT_FIRST", 0)
    if not ours.random:  # the two ways to enumerate agree
        again = mechanism_leakage(ours, law, 9, gamma=gamma)
        assert float(again) == pytest.approx(float(exact), abs=1e-14)
    monkeypatch.setattr(_leakage, "_MOST_VECTORS_FIRST", 0)
    found = mechanism_leakage(ours, law, 9, gamma=gamma)
    assert found.kind == "bound"
    assert found.method == "own cell and raw counts"
    assert found.lower <= float(exact) + 1e-15
    assert float(exact) <= found.upper + 1e-15
    assert found.upper == mialeak.max_leakage(law, 9, gamma=gamma)
    with pytest.raises(TypeError, match=r"not known exactly but between 0\.\d+ and 0\.\d+"):
        float(found)


@pytest.mark.parametrize("n", [10, 10**4, 10**8])
def test_the_own_cell_of_raw_counts_is_the_largest_leakage(n):
    """The lower end, without a mechanism, is max_leakage: windows and probabilities are right."""
    from mialeak.mechanisms._cellwise import target_cell_leakage

    law = np.array([0.5, 0.3, 0.1, 0.0999, 1e-4, 1e-9])
    law /= law.sum()
    for gamma in (0.5, 1.0, 1.5):
        found = target_cell_leakage(None, law, n, gamma, poisson=False)
        assert found == pytest.approx(mialeak.max_leakage(law, n, gamma=gamma), abs=1e-12)


def test_noise_of_a_large_epsilon_hides_nothing_and_of_a_small_one_all():
    law = np.full(50, 0.02)
    raw = float(mechanism_leakage(Histogram(), law, 300, rows="poisson"))
    assert float(mechanism_leakage(Geometric(60.0), law, 300, rows="poisson")) == pytest.approx(raw)
    assert float(mechanism_leakage(Geometric(1e-6), law, 300, rows="poisson")) < 1e-6
    assert float(mechanism_leakage(Suppress(300), law, 300, rows="poisson")) < 1e-12
    assert float(mechanism_leakage(Suppress(1), law, 300, rows="poisson")) == pytest.approx(raw)


def test_poisson_and_fixed_rows_agree_where_there_are_many_rare_cells():
    law = np.full(400, 1 / 400)
    poisson = float(mechanism_leakage(Histogram(), law, 200, rows="poisson"))
    assert poisson == pytest.approx(mialeak.max_leakage(law, 200), rel=0.01)


# --- larger ------------------------------------------------------------------------------------


def test_the_mean_of_many_rows_is_that_of_a_lattice_law():
    """A die: the law of the sum by direct convolution, in floats."""
    n, law = 200, np.full(6, 1 / 6)
    before = np.ones(1)
    for _ in range(n - 1):
        before = np.convolve(before, law)
    whole = np.convolve(before, law)
    truth = 0.0
    for v in range(6):
        shifted = np.concatenate([np.zeros(v), before, np.zeros(5 - v)])
        truth += np.abs(shifted - whole).sum() / 12
    for values in ([1, 2, 3, 4, 5, 6], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [-30, -20, -10, 0, 10, 20]):
        found = mechanism_leakage(Mean(values), law, n)
        assert float(found) == pytest.approx(truth, abs=1e-13)


def test_a_mean_that_tells_the_counts_leaks_all_and_one_of_equal_values_nothing():
    law, n = [0.5, 0.3, 0.2], 20
    assert float(mechanism_leakage(Mean([0, 1, 100]), law, n)) == pytest.approx(
        mialeak.max_leakage(law, n), abs=1e-13
    )
    assert float(mechanism_leakage(Mean([2, 2, 2]), law, n)) < 1e-14


def test_the_mean_of_bits_is_their_histogram_for_millions_of_rows():
    for n in (10**3, 10**6, 10**8):
        found = mechanism_leakage(Mean([0, 1]), [0.7, 0.3], n)
        assert float(found) == pytest.approx(mialeak.max_leakage([0.7, 0.3], n), abs=1e-12)


def test_enumeration_agrees_with_its_twin_and_any_number_of_workers():
    law = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    counts = twins.count_vectors(24, 5)
    labels = np.random.default_rng(1).integers(0, 9, len(counts))
    for gamma in (0.7, 1.0, 1.6):
        found = float(mechanism_leakage(labels, law, 24, gamma=gamma))
        assert found == pytest.approx(
            twins.mechanism_leakage(labels, counts, law, gamma), abs=1e-13
        )

    def way(counts):
        return (counts[:, 0] * counts[:, 1]) % 7

    law = [0.4, 0.3, 0.2, 0.1]
    one = mechanism_leakage(way, law, 90)
    assert mechanism_leakage(way, law, 90, workers=3) == one
    assert mechanisms.count_vectors(24, 5).tolist() == counts.tolist()


def test_atoms_of_probability_zero_and_a_single_atom_do_no_harm():
    for ours in (Histogram(), Maximum(), Mode(), Round(3), Geometric(1.0), RandomRound(2)):
        assert float(mechanism_leakage(ours, [1.0], 5)) < 1e-15
        with_zero = mechanism_leakage(ours, [0.6, 0.0, 0.4], 5)
        assert float(with_zero) == pytest.approx(float(mechanism_leakage(ours, [0.6, 0.4], 5)))
    assert float(mechanism_leakage(lambda c: c[:, 0], [1.0], 5)) == 0.0
    assert float(mechanism_leakage(Mean([1, 7, 2]), [0.6, 0.0, 0.4], 5)) == pytest.approx(
        mialeak.max_leakage([0.6, 0.4], 5)
    )


@pytest.mark.parametrize("way", [Round(5), RandomRound(5), Suppress(4), Geometric(0.8)])
def test_what_is_released_leaks_what_is_said(way):
    """Simulation of the average game on one cell of a Poisson number of rows."""
    mean, draws, rng = 6.0, 200_000, np.random.default_rng(3)
    out = way.release(rng.poisson(mean, draws), rng=rng)
    into = way.release(1 + rng.poisson(mean, draws), rng=rng)
    names = np.union1d(out, into)
    gap = [(into == y).mean() - (out == y).mean() for y in names]
    found = float(mechanism_leakage(way, [1.0], 6, rows="poisson"))
    assert np.maximum(gap, 0).sum() == pytest.approx(found, abs=4 * math.sqrt(len(names) / draws))


# --- sampling -------------------------------------------------------------------


def test_the_certified_bound_is_below_the_truth_and_near_it():
    law, n = np.full(5, 0.2), 30
    ways = {"sum": lambda c: c[:, 0] + 2 * c[:, 1], "mode": Mode(), "all": lambda c: c[:, 0]}
    for gamma in (0.5, 1.0, 2.0):
        for way in ways.values():
            exact = float(mechanism_leakage(way, law, n, gamma=gamma))
            found = mechanism_leakage(
                way, law, n, gamma=gamma, method="sample", samples=40_000, rng=1
            )
            assert found.kind == "estimate"
            assert exact - 0.02 <= found.lower <= exact
            assert found.upper == mialeak.max_leakage(law, n, gamma=gamma)


def test_the_certified_bound_holds_as_often_as_it_says():
    law, n = np.array([0.9, 0.1]), 5
    exact = float(mechanism_leakage(lambda c: c[:, 1], law, n))
    over = sum(
        mechanism_leakage(
            lambda c: c[:, 1], law, n, method="sample", samples=400, confidence=0.5, rng=i
        ).lower
        > exact
        for i in range(100)
    )
    assert over <= 50


@pytest.mark.parametrize("size", [3, 20])
@pytest.mark.parametrize("way", [Mode(), Round(2), Suppress(2), lambda c: c[:, 0] % 2])
def test_nothing_leaks_at_the_largest_gamma(way, size):
    assert mechanism_leakage(way, [1 / size] * size, 6, gamma=1.7e308).upper == 0.0


@pytest.mark.parametrize("gamma", [5e-324, 1e-300, 1e-100, 1e300])
def test_a_certified_bound_is_a_number_at_any_gamma(gamma):
    law = [0.25] * 4
    options = {"method": "sample", "samples": 1000, "confidence": 0.5, "rng": 3}
    found = mechanism_leakage(lambda c: c[:, 0], law, 6, gamma=gamma, **options)
    assert 0.0 <= found.lower <= found.upper == mialeak.max_leakage(law, 6, gamma=gamma)


def test_sampling_takes_random_labels_and_kernels_and_any_workers():
    rng = np.random.default_rng(0)
    law, n = [0.5, 0.5], 4
    chances = np.array([[0.9, 0.1], [0.1, 0.9]])
    exact = float(mechanism_leakage(lambda c: chances[c[:, 0] % 2], law, n))

    def drawn(counts):
        return (rng.random(len(counts)) < chances[counts[:, 0] % 2, 1]).astype(int)

    found = mechanism_leakage(drawn, law, n, method="sample", samples=20_000, rng=0)
    assert exact - 0.03 < found.lower <= exact
    known = [
        mechanism_leakage(
            lambda c: chances[c[:, 0] % 2],
            law,
            n,
            method="sample",
            samples=3 * 10**5,
            rng=0,
            workers=workers,
        ).lower
        for workers in (1, 3)
    ]
    assert known[0] == known[1]
    assert exact - 0.02 < known[0] <= exact


def test_samples_and_confidence_have_the_defaults_that_are_documented():
    law, options = [0.7, 0.3], {"method": "sample", "rng": 5}
    found = mechanism_leakage(Mode(), law, 9, **options)
    assert found == mechanism_leakage(Mode(), law, 9, samples=100_000, confidence=0.95, **options)


def test_a_leakage_of_0_by_what_is_left_out_is_printed_as_an_upper_limit():
    exact = mechanisms.MechanismLeakage(0.0, 0.0, "exact", error=4.8e-14)
    assert repr(exact).startswith("MechanismLeakage(lower=<4.8e-14, upper=<4.8e-14, ")
    assert "lower=0, upper=0, " in repr(mechanisms.MechanismLeakage(0.0, 0.0, "exact"))
    assert "lower=0, upper=0.5, " in repr(
        mechanisms.MechanismLeakage(0.0, 0.5, "bound", error=1e-14)
    )
