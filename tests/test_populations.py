"""Samples of a register: every formula against all samples, in fractions."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from mialeak import Register, atom_leakage, discrete_tradeoff, max_leakage
from mialeak.datasets import load_adult
from mialeak.discrete import gini_simpson
from mialeak.mechanisms import (
    Geometric,
    Histogram,
    Mode,
    Round,
    Suppress,
    mechanism_leakage,
)
from mialeak.tables import estimate_max_leakage, table_leakage

REGISTERS = [(1, 1), (2, 1), (3, 3), (6, 3, 1), (5, 0, 2), (2, 2, 2, 1), (8,)]
GAMMAS = [1.0, 1.5, 0.5, 3.0, 0.9, 1 / 3, 7.25, 1.0000001, 100.0, 0.01, 1e300, 1e-300]


@cache
def worlds(counts, n, rate=None):
    """For each cell: the laws of all counts with and without a target in it, by enumeration."""
    cells = [k for k, count in enumerate(counts) for _ in range(count)]
    laws = {}
    for k in set(cells):
        target, law_in, law_out = cells.index(k), {}, {}
        for size in [n] if rate is None else range(len(cells) + 1):
            for sample in combinations(range(len(cells)), size):
                seen = tuple(sum(cells[i] == j for i in sample) for j in range(len(counts)))
                weight = (
                    Fraction(1) if rate is None else rate**size * (1 - rate) ** (len(cells) - size)
                )
                law = law_in if target in sample else law_out
                law[seen] = law.get(seen, 0) + weight
        laws[k] = [
            {seen: w / sum(law.values()) for seen, w in law.items()} for law in (law_in, law_out)
        ]
    return laws


def enumerated(counts, n, gamma, rate=None):
    """Leakage of each cell with people, as :func:`max_leakage` weighs the two worlds."""
    gamma = Fraction(gamma)
    leakage = {}
    for k, (law_in, law_out) in worlds(counts, n, rate).items():
        sides = [(law_in.get(x, 0), law_out.get(x, 0)) for x in law_in.keys() | law_out.keys()]
        gains = [a - gamma * b if gamma >= 1 else b - a / gamma for a, b in sides]
        leakage[k] = sum(gain for gain in gains if gain > 0)
    return leakage


def agrees(value, truth, tolerance=4e-15):
    return abs(Fraction(float(value)) - truth) <= tolerance * truth


@pytest.mark.parametrize("counts", REGISTERS, ids=str)
def test_leakage_is_that_of_enumerating_all_samples(counts):
    people = sum(counts)
    for n in range(1, people):
        for gamma in GAMMAS:
            truth = enumerated(counts, n, gamma)
            leakage = atom_leakage(Register(counts), n, gamma=gamma)
            assert all(agrees(leakage[k], value) for k, value in truth.items()), (n, gamma)
            average = sum(counts[k] * value for k, value in truth.items()) / people
            assert agrees(max_leakage(Register(counts), n, gamma=gamma), average), (n, gamma)


@pytest.mark.parametrize("counts", [c for c in REGISTERS if sum(c) <= 8], ids=str)
@pytest.mark.parametrize("rate", [0.25, 0.6])
def test_leakage_with_a_rate_is_that_of_enumerating_all_samples(counts, rate):
    for gamma in GAMMAS:
        truth = enumerated(counts, None, gamma, Fraction(rate))
        register = Register(counts, rate=rate)
        leakage = atom_leakage(register, gamma=gamma)
        assert all(agrees(leakage[k], value) for k, value in truth.items()), gamma
        average = sum(counts[k] * value for k, value in truth.items()) / sum(counts)
        assert agrees(max_leakage(register, gamma=gamma), average), gamma


def exact_leakage(people, size, n, gamma, rate=None):
    """Leakage of a cell by the sum over its counts, in fractions; for small cells."""
    gamma, share = Fraction(gamma), Fraction(n, people) if rate is None else Fraction(rate)
    total = Fraction(0)
    for h in range(size + 1):
        if rate is not None:
            weight = share**h * (1 - share) ** (size - h)
        else:
            numerator = math.prod(range(n - h + 1, n + 1)) if h <= n else 0
            left_out = people - n
            if size - h > left_out:
                continue
            numerator *= math.prod(range(left_out - size + h + 1, left_out + 1))
            weight = Fraction(numerator, math.prod(range(people - size + 1, people + 1)))
        chance = math.comb(size, h) * weight
        p_in, p_out = chance * h / (size * share), chance * (size - h) / (size * (1 - share))
        gain = p_in - gamma * p_out if gamma >= 1 else p_out - p_in / gamma
        total += max(gain, 0)
    return total


def hard_gammas(rng, size, share, count):
    """Weights at which the threshold is next to a whole number, and others."""
    whole = rng.integers(1, size, endpoint=True, size=count)
    near = whole * (1 + rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-16, -1, count))
    part = near / size
    with np.errstate(divide="ignore", invalid="ignore"):
        gamma = part * (1 - share) / (share * (1 - part))
    return gamma[np.isfinite(gamma) & (gamma > 0)].tolist()


@pytest.mark.parametrize("seed", range(12))
def test_small_cells_of_large_registers_keep_their_digits(seed):
    rng = np.random.default_rng(seed)
    people = int(10 ** rng.uniform(3, 15.9))
    size = int(rng.integers(2, min(60, people // 4)))
    n = min(max(int(people * 10 ** rng.uniform(-5, 0)), 1), people - 1)
    register, rate = Register([size, people - size]), float(n / people)
    bernoulli = Register([size, people - size], rate=rate)
    plain = [1.0, *np.exp(rng.normal(0.0, 3.0, 10)).tolist()]
    for gamma in plain + hard_gammas(rng, size, n / people, 15):
        truth = exact_leakage(people, size, n, gamma)
        if truth > 1e-290:
            assert agrees(atom_leakage(register, n, gamma=gamma)[0], truth, 1e-13), gamma
        truth = exact_leakage(people, size, n, gamma, rate)
        if truth > 1e-290:
            assert agrees(atom_leakage(bernoulli, gamma=gamma)[0], truth, 1e-13), gamma


@pytest.mark.parametrize("gamma", [1.0, 2.0, 0.5])
def test_a_small_sample_of_a_large_register_is_one_of_independent_rows(gamma):
    """Its leakage differs by f / 2, relatively."""
    counts = np.array([5, 3, 2]) * 10**14
    limit = max_leakage([0.5, 0.3, 0.2], 100, gamma=gamma)
    value = max_leakage(Register(counts), 100, gamma=gamma)
    assert value == pytest.approx(limit, rel=1e-10)


@pytest.mark.parametrize("counts", [(6, 3, 1), (1000, 30, 1, 1), (12345, 6789)], ids=str)
def test_a_sample_and_those_left_out_leak_the_same(counts):
    sizes = np.unique(np.linspace(1, sum(counts) - 1, 23).astype(int))
    register = Register(counts)
    other = max_leakage(register, sum(counts) - sizes)
    assert max_leakage(register, sizes) == pytest.approx(other, rel=1e-14)
    rates = [max_leakage(Register(counts, rate=rate)) for rate in (0.125, 0.875)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-14)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_whoever_is_alone_in_a_cell_is_given_away(gamma):
    assert atom_leakage(Register([1, 10**6, 0]), 10**5, gamma=gamma)[[0, 2]].tolist() == [1.0, 1.0]
    assert atom_leakage(Register([1, 10**6], rate=0.3), gamma=gamma)[0] == 1.0
    if gamma > 1.0:
        assert max_leakage(Register([7]), 3, gamma=gamma) == 0.0


def adult_cells():
    columns = ["age", "education", "marital_status", "race", "sex"]
    return table_leakage(load_adult().columns, columns).cell_counts


@pytest.mark.parametrize(("share", "factor"), [(0.1, 1.08), (0.5, 1.49), (0.9, 2.99)])
def test_independent_rows_leak_less_than_a_sample_of_adult(share, factor):
    counts = adult_cells()
    n = round(share * counts.sum())
    exact = max_leakage(Register(counts), n)
    assert exact / max_leakage(counts / counts.sum(), n) == pytest.approx(factor, abs=0.005)


@pytest.mark.parametrize("rate", [None, 0.2])
def test_the_best_attack_wins_as_often_as_the_leakage_says(rate):
    """20,000 samples; a hit rate with the target in, less that with the target out."""
    counts, draws = np.array([40, 25, 20, 10, 4, 1]), 20_000
    people, rng = counts.sum(), np.random.default_rng(7)
    n = 20 if rate is None else None
    member = rng.random(draws) < 0.5
    cell = rng.choice(counts.size, draws, p=counts / people)
    rest = counts - np.eye(counts.size, dtype=int)[cell]
    if rate is None:
        seen = np.array(
            [
                rng.multivariate_hypergeometric(others, n - inside)
                for others, inside in zip(rest, member, strict=True)
            ]
        )
    else:
        seen = rng.binomial(rest, rate)
    row = np.arange(draws)
    seen[row, cell] += member
    claims = seen[row, cell] / counts[cell] > (n / people if rate is None else rate)
    hits, alarms = claims[member].mean(), claims[~member].mean()
    error = math.sqrt(hits * (1 - hits) / member.sum() + alarms * (1 - alarms) / (~member).sum())
    assert abs(hits - alarms - max_leakage(Register(counts, rate=rate), n)) < 3 * error


# ---- curves ----


@pytest.mark.parametrize("rate", [None, 0.25])
@pytest.mark.parametrize("counts", [(6, 3, 1), (5, 0, 2), (2, 2, 2, 1), (1, 1)], ids=str)
def test_the_curve_is_that_of_enumerating_all_samples(counts, rate):
    if rate is not None and sum(counts) > 8:
        counts = (4, 2, 1)
    people = sum(counts)
    for n in range(1, people) if rate is None else [None]:
        laws = worlds(counts, n, None if rate is None else Fraction(rate))
        pairs = []
        for k, (law_in, law_out) in laws.items():
            for seen in law_in.keys() | law_out.keys():
                share = Fraction(counts[k], people)
                pairs.append((share * law_in.get(seen, 0), share * law_out.get(seen, 0)))
        curve = discrete_tradeoff(Register(counts, rate=rate), n)
        assert curve.kind == "exact"
        pairs.sort(key=lambda pair: math.inf if not pair[1] else pair[0] / pair[1], reverse=True)
        power, fpr, corners = Fraction(0), Fraction(0), {}
        for p_in, p_out in pairs:
            power, fpr = power + p_in, fpr + p_out
            corners[fpr] = power  # the last at each false-positive rate is the highest
        points = np.array([float(fpr) for fpr in corners])
        truth = [float(power) for power in corners.values()]
        assert curve.power(points) == pytest.approx(truth, abs=2e-14)


@pytest.mark.parametrize("rate", [None, 0.1])
def test_delta_of_the_curve_is_the_leakage_at_that_weight(rate):
    counts = adult_cells()
    register = Register(counts, rate=rate)
    n = 3256 if rate is None else None
    curve = discrete_tradeoff(register, n)
    assert curve.advantage == pytest.approx(max_leakage(register, n), rel=1e-12)
    for epsilon in (0.1, 1.0, 3.0):
        delta = max_leakage(register, n, gamma=math.exp(epsilon))
        assert curve.delta(epsilon, direction="in") == pytest.approx(delta, rel=1e-10)
        delta = max_leakage(register, n, gamma=math.exp(-epsilon))
        assert curve.delta(epsilon, direction="out") == pytest.approx(delta, rel=1e-10)


def test_a_curve_of_a_large_register_is_enclosed_or_refused():
    register = Register([10**7, 2 * 10**7])
    curve = discrete_tradeoff(register, 10**7)
    truth = max_leakage(register, 10**7)
    assert curve.lower.advantage <= truth * (1 + 1e-12)
    assert curve.upper.advantage >= truth * (1 - 1e-12)
    assert curve.error < 2e-12
    sizes = np.arange(10**7, 10**7 + 1000)
    with pytest.raises(ValueError, match=r"p must have at most 4,194,304 outcomes.*merge large"):
        discrete_tradeoff(Register(sizes), 10**9)


# ---- mechanisms ----


def released(laws, mechanism, gamma):
    """Leakage of each cell if the mechanism is applied to every count."""
    gamma = Fraction(gamma)
    leakage = {}
    for k, (law_in, law_out) in laws.items():
        pushed = [{}, {}]
        for into, law in zip(pushed, (law_in, law_out), strict=True):
            for seen, weight in law.items():
                shown = tuple(mechanism.release(np.array(seen)).tolist())
                into[shown] = into.get(shown, 0) + weight
        sides = [(pushed[0].get(x, 0), pushed[1].get(x, 0)) for x in pushed[0] | pushed[1]]
        gains = [a - gamma * b if gamma >= 1 else b - a / gamma for a, b in sides]
        leakage[k] = sum(gain for gain in gains if gain > 0)
    return leakage


@pytest.mark.parametrize("gamma", [1.0, 1.5, 0.5])
@pytest.mark.parametrize("mechanism", [Round(3), Suppress(2), Round(2)], ids=repr)
def test_mechanisms_on_samples_leak_what_enumerating_all_samples_says(mechanism, gamma):
    for counts in ((4, 2, 1), (3, 3), (2, 2, 1, 1)):
        people = sum(counts)
        truth = released(worlds(counts, None, Fraction(0.25)), mechanism, gamma)
        average = float(sum(counts[k] * value for k, value in truth.items()) / people)
        value = mechanism_leakage(mechanism, Register(counts, rate=0.25), gamma=gamma)
        assert value.kind == "exact"
        assert float(value) == pytest.approx(average, rel=1e-12)
        for n in range(1, people):
            truth = released(worlds(counts, n), mechanism, gamma)
            average = float(sum(counts[k] * value for k, value in truth.items()) / people)
            value = mechanism_leakage(mechanism, Register(counts), n, gamma=gamma)
            assert value.kind == "exact"
            assert float(value) == pytest.approx(average, rel=1e-12, abs=1e-14)


def test_random_mechanisms_and_raw_counts_on_samples():
    counts = np.array([3000, 500, 40, 3])
    register, sampled = Register(counts), Register(counts, rate=0.1)
    assert float(mechanism_leakage(Histogram(), register, 300)) == max_leakage(register, 300)
    little = mechanism_leakage(Geometric(50.0), sampled)  # next to no noise
    assert float(little) == pytest.approx(max_leakage(sampled), rel=1e-9)
    much = mechanism_leakage(Geometric(0.1), sampled)
    assert 0.0 < float(much) < 0.1
    law = Register(counts * 10**10)  # independent rows
    bounds = mechanism_leakage(Round(5), law, 300)
    infinite = mechanism_leakage(Round(5), counts / counts.sum(), 300)
    assert bounds.upper >= infinite.lower
    assert bounds.lower == pytest.approx(infinite.lower, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: mechanism_leakage(Mode(), Register([3, 3]), 2),
            TypeError,
            "Mode() is not available for a Register: its people are not independent rows",
        ),
        (
            lambda: mechanism_leakage(Round(5), Register([3, 3]), 2, rows="poisson"),
            ValueError,
            "rows, method or samples is not available for a Register",
        ),
        (lambda: mechanism_leakage(Round(5), Register([3, 3]), 6), ValueError, "n must be at most"),
        (lambda: mechanism_leakage(Round(5), Register([3], rate=0.5), 2), ValueError, "n must be"),
        (lambda: mechanism_leakage(Round(5), [0.5, 0.5]), TypeError, "n must be an integer"),
    ],
)
def test_mechanisms_without_an_answer_on_samples_are_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


# ---- forms of input ----


@pytest.mark.parametrize("gamma", [1.0, 0.7, 2.0])
def test_arrays_memory_maps_and_blocks_have_the_same_bits(tmp_path, gamma):
    counts = np.random.default_rng(3).zipf(1.4, 50_000).clip(max=3 * 10**6)
    file = tmp_path / "counts.npy"
    np.save(file, counts.astype(np.int32))
    forms = [
        counts,
        counts.tolist(),
        counts.astype(np.uint64)[::-1],
        np.load(file, mmap_mode="r"),
        iter(np.array_split(counts, 7)),
    ]
    n = int(counts.sum()) // 3
    values = {
        max_leakage(Register(form), n, gamma=gamma, workers=workers)
        for form in forms
        for workers in ((1, 3) if form is counts else (1,))
    }
    assert len(values) == 1
    register = Register(counts)
    leakage = atom_leakage(register, n, gamma=gamma)
    assert counts @ leakage / counts.sum() == pytest.approx(values.pop(), rel=1e-12)


def test_sizes_may_be_an_array():
    values = max_leakage(Register([6, 3, 1]), [[1, 5], [4, 9]])
    assert values.shape == (2, 2)
    assert values[1, 0] == max_leakage(Register([6, 3, 1]), 4)


def test_a_register_is_a_copy_that_cannot_be_written_to():
    counts = np.array([6, 3, 1])
    register = Register(counts)
    counts[:] = 1
    assert register.counts.tolist() == [6, 3, 1]
    with pytest.raises(ValueError, match="read-only"):
        register.counts[0] = 2
    assert (register.people, register.n_cells) == (10, 3)
    assert register.cell_sizes.tolist() == [1, 3, 6]
    assert register.cells_per_size.tolist() == [1, 1, 1]
    assert repr(Register([2, 2, 0], rate=0.5)) == "Register(people=4, n_cells=3, rate=0.5)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Register([3, -1]), ValueError, "counts must be between 0 and 2**53"),
        (lambda: Register([3.0, 1.0]), TypeError, "counts must be integers"),
        (lambda: Register([[3, 1]]), ValueError, "counts must have 1 dimension"),
        (lambda: Register([1, 0]), ValueError, "counts must sum to between 2 and 2**53"),
        (lambda: Register([]), ValueError, "counts must sum to between 2 and 2**53"),
        (lambda: Register([2**53, 1]), ValueError, "counts must sum to between 2 and 2**53"),
        (lambda: Register(iter([[3, 1], [[1]]])), ValueError, "counts must have 1 dimension"),
        (lambda: Register(5_000_000), ValueError, "counts must have 1 dimension"),
        (lambda: Register([3], rate=0.0), ValueError, "rate must be at least 2**-53 and below 1"),
        (lambda: Register([3], rate=1.0), ValueError, "rate must be at least 2**-53 and below 1"),
        (lambda: Register([3], rate=math.nan), ValueError, "rate must be finite"),
        (lambda: max_leakage(Register([3, 1]), 4), ValueError, "n must be at most 3"),
        (lambda: max_leakage(Register([3, 1]), 0), ValueError, "n must be between 1"),
        (lambda: max_leakage(Register([3, 1]), [1, 4]), ValueError, "n must be at most 3"),
        (lambda: max_leakage(Register([3, 1])), TypeError, "n must be given, between 1 and 3"),
        (lambda: max_leakage([0.5, 0.5]), TypeError, "n must be an integer"),
        (lambda: max_leakage(Register([3, 1]), 2.0), TypeError, "n must be an integer"),
        (lambda: max_leakage(Register([3], rate=0.5), 2), ValueError, "n must be left out"),
        (lambda: max_leakage(Register([3], rate=0.5), [2]), ValueError, "n must be left out"),
        (lambda: max_leakage(Register([3]), 2, gamma=0.0), ValueError, "gamma must be positive"),
        (
            lambda: max_leakage(Register([3, 1]), 2, normalize=True),
            ValueError,
            "normalize must be False for a population",
        ),
        (
            lambda: atom_leakage(Register(iter([[3, 1]])), 2),
            ValueError,
            "p must be a Register that holds its cells",
        ),
        (lambda: gini_simpson(Register([3, 3])), TypeError, "(a Register holds people; max_leak"),
        (lambda: estimate_max_leakage(Register([3, 3]), 2), TypeError, "(a Register holds people"),
    ],
)
def test_what_is_no_register_or_has_no_answer_is_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_leakage_of_a_register_may_rise_with_n():
    """Why `min_samples` refuses one: half of six people leak more than two of them."""
    leakage = max_leakage(Register([3, 3]), [1, 2, 3, 4, 5])
    assert leakage[2] > leakage[1]


def test_a_frozen_law_of_scipy_is_still_a_law():
    assert 0.0 < max_leakage(stats.binom(5, 0.3), 100) < 1.0
