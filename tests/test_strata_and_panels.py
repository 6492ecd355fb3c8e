"""Samples of strata and of laws known by a panel: against enumeration of all samples."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from pandas import DataFrame

from mialeak import (
    Register,
    atom_leakage,
    discrete_tradeoff,
    max_leakage,
    max_leakage_bounds,
    min_samples,
)
from mialeak.discrete._beta_binomial import beta_binomial
from mialeak.populations import Panel, Stratified

GAMMAS = [1.0, 1.5, 0.5, 3.0, 1 / 3, 1.0000001, 100.0, 0.01]


def hockey_stick(law_in, law_out, gamma):
    gamma = Fraction(gamma)
    sides = [(law_in.get(x, 0), law_out.get(x, 0)) for x in law_in.keys() | law_out.keys()]
    gains = [a - gamma * b if gamma >= 1 else b - a / gamma for a, b in sides]
    return sum(gain for gain in gains if gain > 0)


def samples(counts, n, rate, target=None, member=None):
    """Counts of a stratum's sample, and its probability given whether the target is in it."""
    cells = [k for k, count in enumerate(counts) for _ in range(count)]
    law = {}
    for size in [n] if rate is None else range(len(cells) + 1):
        for drawn in combinations(range(len(cells)), size):
            if target is not None and (cells.index(target) in drawn) != member:
                continue
            weight = Fraction(1)
            if rate is not None:
                weight = rate**size * (1 - rate) ** (len(cells) - size)
            seen = tuple(sum(cells[i] == k for i in drawn) for k in range(len(counts)))
            law[seen] = law.get(seen, 0) + weight
    mass = sum(law.values())
    return {seen: weight / mass for seen, weight in law.items()}


def enumerated_strata(strata, sizes, rates, gamma, *, published):
    """Leakage of each cell of each stratum."""
    leakage = {}
    for stratum, counts in enumerate(strata):
        for cell in [k for k, count in enumerate(counts) if count]:
            worlds = []
            for member in (True, False):
                laws = [
                    samples(c, n, r, *((cell, member) if s == stratum else ()))
                    for s, (c, n, r) in enumerate(zip(strata, sizes, rates, strict=True))
                ]
                world = {}
                for outcome in product(*(law.items() for law in laws)):
                    seen = tuple(x for x, _ in outcome)
                    if not published:
                        seen = tuple(map(sum, zip(*seen, strict=True)))
                    weight = math.prod(w for _, w in outcome)
                    world[seen] = world.get(seen, 0) + weight
                worlds.append(world)
            leakage[stratum, cell] = hockey_stick(*worlds, gamma)
    return leakage


STRATA = [
    ([(2, 1, 1), (1, 2, 0)], [2, 1]),
    ([(3, 1), (2, 2)], [1, 3]),
    ([(1, 1), (2, 1), (2, 0)], [1, 2, 1]),
    ([(3, 2)], [2]),
]


@pytest.mark.parametrize(("strata", "sizes"), STRATA, ids=str)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_published_strata_leak_what_enumerating_all_samples_says(strata, sizes, gamma):
    truth = enumerated_strata(strata, sizes, [None] * len(strata), gamma, published=True)
    population = Stratified(strata, sizes)
    leakage = iter(atom_leakage(population, gamma=gamma))
    for stratum, counts in enumerate(strata):
        for cell, count in enumerate(counts):
            value = next(leakage)
            expected = float(truth[stratum, cell]) if count else 1.0
            assert value == pytest.approx(expected, rel=1e-13)
    people = sum(map(sum, strata))
    average = sum(strata[s][k] * value for (s, k), value in truth.items()) / people
    assert max_leakage(population, gamma=gamma) == pytest.approx(float(average), rel=1e-13)


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_strata_with_rates_leak_what_enumerating_all_samples_says(published, gamma):
    for strata, rates in (
        ([(2, 1), (1, 2)], [0.25, 0.5]),
        ([(1, 1), (2, 0), (1, 1)], [0.25, 0.75, 0.25]),
        ([(4, 1)], [0.125]),
    ):
        fractions = [Fraction(rate) for rate in rates]
        truth = enumerated_strata(
            strata, [None] * len(strata), fractions, gamma, published=published
        )
        registers = [Register(c, rate=r) for c, r in zip(strata, rates, strict=True)]
        population = Stratified(registers, published=published)
        leakage = atom_leakage(population, gamma=gamma)
        cells = [(s, k) for s, counts in enumerate(strata) for k in range(len(counts))]
        for (s, k), value in zip(cells, leakage, strict=True):
            expected = float(truth[s, k]) if strata[s][k] else 1.0
            assert value == pytest.approx(expected, rel=1e-13, abs=1e-300)
        people = sum(map(sum, strata))
        average = sum(strata[s][k] * value for (s, k), value in truth.items()) / people
        assert max_leakage(population, gamma=gamma) == pytest.approx(float(average), rel=1e-13)


@pytest.mark.parametrize("gamma", [1.0, 2.0, 0.5])
@pytest.mark.parametrize(("strata", "sizes"), STRATA[:3], ids=str)
def test_pooled_samples_of_fixed_size_lie_in_the_bounds(strata, sizes, gamma):
    cells = max(map(len, strata))
    strata = [counts + (0,) * (cells - len(counts)) for counts in strata]
    truth = enumerated_strata(strata, sizes, [None] * len(strata), gamma, published=False)
    people = sum(map(sum, strata))
    average = float(sum(strata[s][k] * value for (s, k), value in truth.items()) / people)
    bounds = max_leakage_bounds(Stratified(strata, sizes, published=False), gamma=gamma)
    assert bounds.lower <= average <= bounds.upper
    assert bounds.upper == pytest.approx(max_leakage(Stratified(strata, sizes), gamma=gamma))
    # With two cells the pooled sum of one is all that is published.
    if cells == 2:
        assert bounds.lower == pytest.approx(average, rel=1e-11)


@pytest.mark.parametrize("published", [True, False])
def test_curves_of_strata_are_those_of_enumerating_all_samples(published):
    strata, rates = [(2, 1), (1, 2)], [0.25, 0.5]
    registers = [Register(c, rate=r) for c, r in zip(strata, rates, strict=True)]
    population = Stratified(registers, published=published)
    curve = discrete_tradeoff(population)
    assert curve.kind == "exact"
    assert curve.advantage == pytest.approx(max_leakage(population), rel=1e-13)
    for epsilon in (0.1, 0.7, 1.5):
        delta = max_leakage(population, gamma=math.exp(epsilon))
        assert curve.delta(epsilon, direction="in") == pytest.approx(delta, abs=1e-14)
        delta = max_leakage(population, gamma=math.exp(-epsilon))
        assert curve.delta(epsilon, direction="out") == pytest.approx(delta, abs=1e-14)


def test_strata_of_one_rate_are_one_register():
    rng = np.random.default_rng(1)
    parts = rng.zipf(1.5, (3, 40)).clip(max=6000)
    pooled = Stratified([Register(part, rate=0.3) for part in parts], published=False)
    whole = Register(parts.sum(axis=0), rate=0.3)
    for gamma in (1.0, 1.2, 0.8):
        value = max_leakage(whole, gamma=gamma)
        assert max_leakage(pooled, gamma=gamma) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("size", [3000, 5000, 200_000])
def test_large_cells_of_pooled_strata_are_normal(size):
    """Both sides of the number of people from which laws are computed in part."""
    registers = [Register([size, 10], rate=0.2), Register([2 * size, 10], rate=0.6)]
    deviation = math.sqrt(size * 0.2 * 0.8 + 2 * size * 0.6 * 0.4)
    leakage = atom_leakage(Stratified(registers, published=False))
    expected = 1.0 / math.sqrt(2.0 * math.pi) / deviation
    assert leakage[0] == pytest.approx(expected, rel=2.0 / size)
    curve = discrete_tradeoff(Stratified(registers, published=False))
    assert curve.advantage == pytest.approx(
        max_leakage(Stratified(registers, published=False)), rel=1e-11
    )


# ---- panels ----


def rising(x, k):
    return math.prod((x + i for i in range(k)), start=Fraction(1))


def dirichlet_multinomial(counts, weights):
    n, total = sum(counts), sum(weights)
    ways = math.factorial(n)
    for count in counts:
        ways //= math.factorial(count)
    chance = math.prod(rising(w, c) for w, c in zip(weights, counts, strict=True))
    return ways * chance / rising(total, n)


def count_vectors(n, cells):
    if cells == 1:
        return [(n,)]
    return [(h, *rest) for h in range(n + 1) for rest in count_vectors(n - h, cells - 1)]


def enumerated_panel(weights, n, gamma):
    """The target's cell is one more observation of the law, in and out of the sample."""
    leakage = []
    for k in range(len(weights)):
        target = [w + (j == k) for j, w in enumerate(weights)]
        law_out = {c: dirichlet_multinomial(c, target) for c in count_vectors(n, len(weights))}
        law_in = {}
        for c in count_vectors(n - 1, len(weights)):
            seen = tuple(x + (j == k) for j, x in enumerate(c))
            law_in[seen] = dirichlet_multinomial(c, target)
        leakage.append(hockey_stick(law_in, law_out, gamma))
    return leakage


PANELS = [((3, 1, 0), 0.5), ((2, 2), 1.0), ((5, 0, 1, 1), 0.25), ((4,), 0.5), ((0, 0), 1.5)]


@pytest.mark.parametrize(("counts", "prior"), [*PANELS, ((3, 1, 2), 0.0)], ids=str)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_panels_leak_what_enumerating_all_tables_says(counts, prior, gamma):
    weights = [Fraction(prior) + count for count in counts]
    panel = Panel(counts, prior=prior)
    for n in (1, 2, 5):
        truth = enumerated_panel(weights, n, gamma)
        leakage = atom_leakage(panel, n, gamma=gamma)
        assert leakage == pytest.approx([float(t) for t in truth], rel=1e-12, abs=1e-15)
        average = sum(w * t for w, t in zip(weights, truth, strict=True)) / sum(weights)
        value = max_leakage(panel, n, gamma=gamma)
        assert value == pytest.approx(float(average), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("counts", "prior"), [((0, 5), 1e-6), ((0, 0, 1), 1e-9), ((0, 7), 1e-12)])
@pytest.mark.parametrize("gamma", [1.0, 1 - 1e-12, 1 + 1e-12, 1e-6, 1e6, 1 / 3])
def test_a_cell_with_nearly_all_of_a_panel_keeps_its_digits(counts, prior, gamma):
    """Its leakage is as small as the weight of the others, which the total does not show."""
    weights = [Fraction(count + prior) for count in counts]
    for n in (1, 2, 5):
        truth = enumerated_panel(weights, n, gamma)
        leakage = atom_leakage(Panel(counts, prior=prior), n, gamma=gamma)
        assert leakage == pytest.approx([float(t) for t in truth], rel=1e-12, abs=1e-300)


def test_a_panel_may_have_a_prior_for_each_cell():
    prior = [0.5, 2.0, 0.25]
    weights = [Fraction(a) + r for a, r in zip(prior, (3, 0, 1), strict=True)]
    truth = [float(t) for t in enumerated_panel(weights, 4, 1.0)]
    assert atom_leakage(Panel([3, 0, 1], prior=prior), 4) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("gamma", [1.0, 2.0, 0.5])
def test_a_large_panel_is_the_law(gamma):
    panel = Panel(np.array([5, 3, 2]) * 10**14)
    value = max_leakage([0.5, 0.3, 0.2], 100, gamma=gamma)
    assert max_leakage(panel, 100, gamma=gamma) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("counts", [[900, 90, 9, 1], [4365, 4365, 0, 0], [0, 10**13, 11, 12]])
@pytest.mark.parametrize("n", [1, 4000, 4200, 100_000, 411_193_776, 2**53])
def test_samples_of_panels_have_the_digits_of_their_closed_form(n, counts):
    """At gamma = 1 the leakage is one probability, however many outcomes there are."""
    mpmath = pytest.importorskip("mpmath")
    counts = np.array(counts)
    leakage = atom_leakage(Panel(counts), n)
    with mpmath.workdps(60):
        total = mpmath.mpf(int(counts.sum()) + 2)
        for r, value in zip(counts.tolist(), leakage, strict=True):
            s = mpmath.mpf(r) + 0.5
            t, a, b = int(mpmath.floor(n * s / total)), s + 1, total - s + 1
            pmf = mpmath.binomial(n - 1, t) * mpmath.beta(t + a, n - 1 - t + b) / mpmath.beta(a, b)
            assert value == pytest.approx(float((total - s) / (total + 1) * pmf), rel=3e-14)


def test_laws_of_long_samples_of_panels_have_their_digits():
    """Beside gamma = 1, by a sum over the outcomes: at both sides of it, and to its limit."""
    counts, n = [4365, 4365], 2 * 10**6
    at = atom_leakage(Panel(counts), n)[0]
    for gamma in (1.0 - 2.0**-53, 1.0 + 2.0**-52):
        assert atom_leakage(Panel(counts), n, gamma=gamma)[0] == pytest.approx(at, rel=1e-10)
    first, law = beta_binomial(n, 4366.5, 4365.5)
    c = first + np.arange(float(law.size))
    assert math.fsum(law.tolist()) == pytest.approx(1.0, abs=3e-14)
    mean = n * 4366.5 / 8732.0
    assert math.fsum((law * c).tolist()) == pytest.approx(mean, rel=3e-14)


def test_curves_of_panels_have_the_leakage_as_their_deltas():
    for panel, n in ((Panel([3, 1, 0]), 5), (Panel([40, 10, 3]), 5000)):
        curve = discrete_tradeoff(panel, n)
        assert curve.kind == ("exact" if n == 5 else "bound")
        assert curve.advantage == pytest.approx(max_leakage(panel, n), rel=1e-11)
        for epsilon in (0.1, 0.7):
            delta = max_leakage(panel, n, gamma=math.exp(epsilon))
            assert curve.delta(epsilon, direction="in") == pytest.approx(delta, abs=1e-12)


def test_sizes_of_a_panels_sample_may_be_an_array():
    panel = Panel([3, 1, 0])
    values = max_leakage(panel, [[1, 5], [4, 9]])
    assert values[1, 0] == max_leakage(panel, 4)


# ---- the smallest sample of a register ----


@pytest.mark.parametrize("counts", [(6, 3), (3, 3), (40, 25, 20, 10, 4, 1), (7, 5, 5)], ids=str)
def test_min_samples_of_a_register_is_that_of_trying_all_sizes(counts):
    register, people = Register(counts), sum(counts)
    values = np.array([max_leakage(register, n) for n in range(1, people)])
    for leakage in np.unique([*values * (1 + 1e-12), *np.linspace(0.05, 0.9, 30)]):
        if not 0 < leakage < 1:
            continue
        safe = [
            n for n in range(1, people // 2 + 1) if (values[n - 1 : people - n] <= leakage).all()
        ]
        if safe:
            assert min_samples(register, leakage) == safe[0]
        else:
            with pytest.raises(ValueError, match="be reached by a sample of half of the people"):
                min_samples(register, leakage)


def test_min_samples_of_a_large_register_is_near_that_of_its_law():
    register = Register(np.array([5, 3, 2]) * 10**14)
    assert min_samples(register, 0.01) == pytest.approx(
        min_samples([0.5, 0.3, 0.2], 0.01), rel=0.01
    )


RATES = [Register([3, 2], rate=0.5), Register([1, 2], rate=0.25)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Stratified([]), ValueError, "registers must hold at least one stratum"),
        (lambda: Stratified(Register([3, 1]), [2]), TypeError, "registers must be a sequence of"),
        (lambda: Stratified({"a": [3, 1]}, [2]), TypeError, "registers must be a sequence of"),
        (lambda: Stratified(DataFrame({"a": [3]}), [2]), TypeError, "registers must be a sequence"),
        (lambda: Stratified([[3, 1]]), TypeError, "n must be given for stratum 0, a Register with"),
        (lambda: Stratified([[3, 1], [2]], [2]), ValueError, "n must have one number for each of"),
        (lambda: Stratified([[3, 1]], [4]), ValueError, "n must be at most 3, one less than"),
        (lambda: Stratified([[3, 1]], [2], published="no"), TypeError, "published must be True or"),
        (
            lambda: Stratified([[3, 1], [2]], [1, 0]),
            ValueError,
            "n must be at least 1; got n[1] = 0. Leave",
        ),
        (lambda: Stratified([[3, 1]], [1.0]), TypeError, "n must be an integer"),
        (lambda: Stratified(RATES, [1, 1]), ValueError, "n must be None for a Register with"),
        (
            lambda: Stratified([[3, 1], [2]], [1, 1], published=False),
            ValueError,
            "registers must have the same cells in each stratum where strata are pooled; they have "
            "2, 1. Give a cell",
        ),
        (
            lambda: Stratified([Register(iter([[3, 1]])), [2, 1]], [1, 1], published=False),
            ValueError,
            "registers must hold their cells",
        ),
        (lambda: max_leakage(Stratified(RATES), 3), ValueError, "n must be left out for a Stratif"),
        (
            lambda: max_leakage(Stratified([[3, 1], [2, 1]], [1, 1], published=False)),
            ValueError,
            "An exact answer is not available for pooled strata without rates",
        ),
        (lambda: min_samples(Stratified(RATES), 0.1), TypeError, "a Stratified holds people"),
        (
            lambda: min_samples(Panel([3]), 0.1),
            TypeError,
            "a sample of an unknown law is not known",
        ),
        (lambda: min_samples(RATES[0], 0.1), TypeError, "min_samples is not available for a Reg"),
        (
            lambda: min_samples(Register([3, 3]), 0.5, gamma=2.0),
            TypeError,
            "min_samples is not available for a Register and this gamma",
        ),
        (
            lambda: Stratified([[2**53 - 2, 1], [2]], [1, 1]),
            ValueError,
            "registers must hold at most 2**53 people; they hold 9,007,199,254,740,993",
        ),
        (
            lambda: Panel([2**53, 1]),
            ValueError,
            "counts must sum to at most 2**53 rows; the sum is 9,007,199,254,740,993",
        ),
        (lambda: Panel([]), ValueError, "counts must have at least one cell"),
        (lambda: Panel([[3]]), ValueError, "counts must have 1 dimension"),
        (lambda: Panel([3.5]), TypeError, "counts must be integers"),
        (lambda: Panel([3, -1]), ValueError, "counts must be between 0 and 2**53"),
        (lambda: Panel([3], prior=-1.0), ValueError, "prior must be finite and at least 0"),
        (lambda: Panel([0, 0], prior=0.0), ValueError, "prior must be above 0 for a panel without"),
        (
            lambda: Panel([3], prior=1e300),
            ValueError,
            "at most 2**53; the sum is 1e+300. Pass a sm",
        ),
        (lambda: Panel([2**53 - 1, 1]), ValueError, "at most 2**53; the sum is 9.0072e+15. Pass a"),
        (
            lambda: Panel([3, 1], prior=1e308),
            ValueError,
            "at most 2**53; the sum is inf. Pass a sm",
        ),
        (lambda: Panel([3], prior=math.inf), ValueError, "prior must be finite"),
        (lambda: Panel([3, 1], prior=[1.0]), ValueError, "prior must be a number or have one for"),
        (
            lambda: Panel([3, 1], prior=math.nan),
            ValueError,
            "prior must be finite and at least 0; got prior = nan",
        ),
        (lambda: max_leakage(Panel([3, 1])), TypeError, "n must be an integer"),
        (lambda: max_leakage(Panel([3, 1]), 0), ValueError, "n must be between 1"),
        (
            lambda: max_leakage(Panel([3, 1]), 2**50, gamma=2.0),
            ValueError,
            "p must have at most 134,217,728",
        ),
        (
            lambda: discrete_tradeoff(Panel([3, 1]), 10**7),
            ValueError,
            "p must have at most 4,194,304 outcomes",
        ),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_population_or_has_no_answer_is_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("prior", [5e-324, 1e-308])
def test_a_panel_without_rows_and_a_vanishing_prior_is_a_law_of_one_cell(prior):
    """Which one the target shows, and the sample then shows nothing more."""
    assert max_leakage(Panel([0, 0], prior=prior), 3) == pytest.approx(0.0, abs=1e-300)


def test_as_many_people_as_a_float_counts_are_taken():
    assert Stratified([[2**53 - 3, 1], [2]], [1, 1]).people == 2**53
    assert Panel([2**53 - 1, 1], prior=0.0).rows == 2**53


def test_strata_and_panels_state_their_size():
    assert repr(Stratified([[3, 1], [2, 4]], [1, 1])) == (
        "Stratified(people=10, strata=2, published=True)"
    )
    assert repr(Panel([3, 0, 2])) == "Panel(rows=5, n_cells=3)"


@pytest.mark.filterwarnings("error")
def test_the_least_weight_of_the_game_does_not_overflow():
    # What is left at gamma = 0 is P(nobody of the target's cell | out).
    expected = 0.0
    for s, others in ((3.5, 7.5), (7.5, 3.5)):
        absent = math.prod((others + k) / (s + 1.0 + others + k) for k in range(3))
        expected += s / 11.0 * absent
    assert max_leakage(Panel([3, 7]), 3, gamma=5e-324) == pytest.approx(expected, rel=1e-14)
