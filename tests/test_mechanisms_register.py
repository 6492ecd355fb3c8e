"""Protected and moved counts of people of a register, against enumeration in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product

import mpmath
import numpy as np
import pytest
from mechanism_truth import (
    BY,
    CELLWISE,
    GAMMAS,
    MOVING,
    geometric,
    hidden,
    one,
    random_round,
    rounded,
    separately,
)

from mialeak import Register, max_leakage, mechanism_leakage
from mialeak.mechanisms import (
    Geometric,
    Histogram,
    Mean,
    Pipeline,
    Pram,
    RandomRound,
    Round,
    Suppress,
    Swap,
    Synthetic,
)

PEOPLE = [4, 2, 1]


def sampled(people, n, rate):
    """Probability of each vector of counts of a sample."""
    for counts in product(*(range(size + 1) for size in people)):
        if n is not None and sum(counts) != n:
            continue
        ways = math.prod(math.comb(size, c) for size, c in zip(people, counts, strict=True))
        if n is not None:
            yield counts, F(ways, math.comb(sum(people), n))
        else:
            drawn = sum(counts)
            yield counts, ways * rate**drawn * (1 - rate) ** (sum(people) - drawn)


def register_truth(mechanism, people, gamma, n=None, rate=None):
    """Both worlds, person by person: samples of the others, with the target and without."""
    whole, leakage = sum(people), F(0)
    for k, size in enumerate(people):
        others = [x - (j == k) for j, x in enumerate(people)]
        gap = {}
        for sign, with_target in ((F(1), 1), (-gamma, 0)):
            for counts, chance in sampled(others, None if n is None else n - with_target, rate):
                shown = tuple(c + with_target * (j == k) for j, c in enumerate(counts))
                for outcome, p in mechanism(shown).items():
                    gap[outcome] = gap.get(outcome, 0) + sign * chance * p
        if gamma >= 1:
            part = sum(max(x, 0) for x in gap.values())
        else:
            part = sum(max(-x, 0) for x in gap.values()) / gamma
        leakage += F(size, whole) * part
    return float(leakage)


def synthesised(rows, n):
    """Poisson(rows c / n) synthetic rows; of a mean of 2 more than 25 have less than 1e-18."""

    def law(count):
        with mpmath.workdps(40):
            mean = mpmath.mpf(rows * count) / n
            mass = [mpmath.exp(-mean) * mean**s / mpmath.factorial(s) for s in range(26)]
            return {s: F(str(each)) for s, each in enumerate(mass) if each}

    return law


REGISTER = {name: (ours, separately(law)) for name, (ours, law) in CELLWISE.items()}
REGISTER["round"] = Round(3), separately(rounded(3))
REGISTER["suppress"] = Suppress(2), separately(hidden(2))
REGISTER["random"] = RandomRound(2), separately(random_round(2))
# Noise below 0 and above all counts has one likelihood ratio each.
REGISTER["geometric"] = Geometric(math.log(2.0)), separately(geometric(F(1, 2), 0, 5))
REGISTER["counts"] = Histogram(), separately(one(lambda x: x))
REGISTER["pram"] = MOVING["pram"][:2]
#: Two cells: noise has many outcomes of each.
WIDE = {"discrete Gaussian", "Gaussian, suppress"}


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", REGISTER)
def test_a_sample_of_a_register_leaks_what_enumeration_in_rationals_states(name, gamma):
    (ours, mechanism), people = REGISTER[name], [3, 1] if name in WIDE else PEOPLE
    for n in (1, 3) if name in WIDE else (1, 3, 6):
        found = mechanism_leakage(ours, Register(people), n, gamma=float(gamma))
        assert found.kind == "exact"
        truth = register_truth(mechanism, people, gamma, n)
        assert float(found) == pytest.approx(truth, abs=1e-14)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", REGISTER)
def test_people_drawn_with_a_rate_leak_what_enumeration_in_rationals_states(name, gamma):
    (ours, mechanism), people = REGISTER[name], [3, 1] if name in WIDE else PEOPLE
    found = mechanism_leakage(ours, Register(people, rate=0.375), gamma=float(gamma))
    assert (found.kind, found.rows) == ("exact", "bernoulli")
    truth = register_truth(mechanism, people, gamma, rate=F(3, 8))
    assert float(found) == pytest.approx(truth, abs=1e-14)


@pytest.mark.parametrize("gamma", [F(1, 2), F(1)])
@pytest.mark.parametrize("name", [name for name in MOVING if name != "pram"])
def test_swapped_people_of_a_register_leak_what_enumeration_in_rationals_states(name, gamma):
    ours, mechanism, _ = MOVING[name]
    people = [2, 1, 1, 1]
    for n in (1, 3):
        found = mechanism_leakage(ours, Register(people), n, gamma=float(gamma))
        assert found.kind == "exact"
        truth = register_truth(mechanism, people, gamma, n)
        assert float(found) == pytest.approx(truth, abs=1e-14)
    drawn = mechanism_leakage(ours, Register(people, rate=0.375), gamma=float(gamma))
    assert (drawn.kind, drawn.rows) == ("exact", "bernoulli")
    truth = register_truth(mechanism, people, gamma, rate=F(3, 8))
    assert float(drawn) == pytest.approx(truth, abs=1e-14)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_synthetic_people_of_a_register_leak_what_enumeration_states(gamma):
    """Two rows are published for the three of a sample of four, or of as many as are drawn."""
    people, ours = [3, 1], Synthetic(2)
    mechanism = separately(synthesised(2, 3))
    found = mechanism_leakage(ours, Register(people), 3, gamma=float(gamma))
    assert found.kind == "exact"
    assert float(found) == pytest.approx(register_truth(mechanism, people, gamma, 3), abs=1e-14)
    drawn = mechanism_leakage(ours, Register(people, rate=0.75), gamma=float(gamma))
    truth = register_truth(mechanism, people, gamma, rate=F(3, 4))
    assert float(drawn) == pytest.approx(truth, abs=1e-14)


def test_bounds_of_moved_people_hold_what_enumeration_states(monkeypatch):
    from mialeak.mechanisms import _swapping

    for name, (ours, _, law) in MOVING.items():
        register = Register([5, 3, 2, 2][: len(law)])
        exact = mechanism_leakage(ours, register, 5)
        with monkeypatch.context() as patch:
            patch.setattr(_swapping, "_MOST_CHOICES", 0)
            found = mechanism_leakage(ours, register, 5)
        assert found.lower - 1e-15 <= exact.lower <= found.upper + 1e-15
        assert found.upper == (max_leakage(register, 5) if name != "swap none" else exact.upper)
        assert (found.lower > 0.0) == (name != "pram")


@pytest.mark.parametrize(
    ("way", "words"),
    [(Pram(np.eye(2)), "matrix must have one for"), (Swap(0.5, BY), "by must have")],
)
def test_moved_people_have_a_row_for_each_cell(way, words):
    with pytest.raises(ValueError, match=words):
        mechanism_leakage(way, Register(PEOPLE), 3)
    with pytest.raises(ValueError, match="Pass Register an array"):
        mechanism_leakage(way, Register(iter([np.array(PEOPLE)])), 3)


def test_raw_counts_of_a_register_leak_its_largest_leakage_and_bound_the_others():
    register = Register([50, 20, 20, 9, 4, 1, 1, 1, 1, 1, 1, 1, 1])
    for gamma in (0.5, 1.0, 2.0):
        raw = mechanism_leakage(Histogram(), register, 40, gamma=gamma)
        assert float(raw) == max_leakage(register, 40, gamma=gamma)
        nothing_hidden = mechanism_leakage(Geometric(80.0), register, 40, gamma=gamma)
        assert nothing_hidden.lower == pytest.approx(float(raw), abs=1e-13)
        for way in (Round(3), Suppress(2), Geometric(1.0), Pipeline(Suppress(3), Round(5))):
            found = mechanism_leakage(way, register, 40, gamma=gamma)
            assert found.kind == "bound"
            assert 0 < found.lower < found.upper == float(raw)


def test_what_has_no_answer_for_a_register_states_what_has():
    with pytest.raises(TypeError, match=r"Mean.* is not available for a Register.* Histogram\(\)"):
        mechanism_leakage(Mean([0, 1, 2]), Register(PEOPLE), 3)
    with pytest.raises(ValueError, match=r"for a Register.* Leave rows, method"):
        mechanism_leakage(Round(3), Register(PEOPLE), 3, rows="poisson")
    with pytest.raises(ValueError, match="n must be left out"):
        mechanism_leakage(Round(3), Register(PEOPLE, rate=0.5), 3)
    with pytest.raises(TypeError, match="n must be"):
        mechanism_leakage(Round(3), [0.5, 0.5])
