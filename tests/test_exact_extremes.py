"""The exact curve where values are next to certain or next to impossible, or targets far away."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise

import exact_truth
import mpmath
import numpy as np
import pytest
from scipy import stats

from mialeak import exact_mean_tradeoff, gaussian_mean_tradeoff
from mialeak.laws import Bernoulli, Genotype, Lattice, Normal, Presence
from mialeak.means import GaussianMeanTradeOff

#: Next to 0 and next to 1; of the last the complement is one unit in the last place.
EXTREME = [1e-5, 1e-12, 1e-20, 1e-100, 1.0 - 1e-5, 1.0 - 1e-12, 1.0 - 2.0**-53]


def assert_enumerated(law, curve):
    """Advantage, power below 1e-3 of every vertex, and what is impossible, as in rationals."""
    assert curve.method == "atoms"
    assert curve.error < 1e-13
    assert curve.advantage == pytest.approx(float(exact_truth.advantage(law)), abs=1e-13)
    assert curve.impossible == pytest.approx(float(sum(a for a, b in law if not b)), rel=1e-13)
    for fpr, power in exact_truth.vertices(law)[1:-1]:
        if 1e-280 < fpr < 1e-3:
            assert curve.power(float(fpr)) == pytest.approx(float(power), rel=1e-12)
    for direction in ("in", "out"):
        truth = exact_truth.delta(law, Fraction(1), inward=direction == "in")
        assert curve.delta(0.0, direction=direction) == pytest.approx(float(truth), abs=1e-13)


@pytest.mark.parametrize("p", EXTREME)
@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (9, 1), (4, 2)])
def test_bits_next_to_certain_are_those_of_enumeration(p, target, n, d):
    law = exact_truth.releases([exact_truth.bits(Fraction(p), int(target), n)] * d)
    assert_enumerated(law, exact_mean_tradeoff(np.full(d, target), Bernoulli(np.full(d, p)), n))


@pytest.mark.parametrize("p", EXTREME)
@pytest.mark.parametrize("target", [0.0, 1.0, 2.0])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 1), (3, 2)])
def test_genotypes_next_to_certain_are_those_of_enumeration(p, target, n, d):
    law = exact_truth.releases([exact_truth.genotypes(Fraction(p), int(target), n)] * d)
    if p == 1e-100 and target == 2.0 and d == 2:
        n, message = 3, "exact curve is not available for so unlikely a target"
        with pytest.raises(ValueError, match=message):
            exact_mean_tradeoff(np.full(d, target), Genotype(np.full(d, p)), n)
    else:
        assert_enumerated(law, exact_mean_tradeoff(np.full(d, target), Genotype(np.full(d, p)), n))


@pytest.mark.parametrize("p", [1e-16, 1e-20, 1e-100])
def test_what_all_but_never_happens_has_few_atoms(p):
    """Thirty equal genotypes: only the release without an allele is likelier with the target."""
    n, d = 10, 30
    curve = exact_mean_tradeoff(np.zeros(d), Genotype(np.full(d, p)), n)
    assert curve.method == "atoms"
    with mpmath.workdps(250):
        q = 1 - mpmath.mpf(p)
        truth = float(q ** (d * (2 * n - 2)) - q ** (d * 2 * n))
    assert curve.advantage == pytest.approx(truth, rel=1e-12)


def test_a_value_of_the_target_is_refused_where_its_outcomes_underflow():
    message = r"target must have values whose probability is at least 1e-250; got target\[0\] = "
    likely, rare = 1.001e-250, 0.999e-250
    assert exact_mean_tradeoff([1.0], Bernoulli([likely]), 10).power(1e-200) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=message + "1.0"):
        exact_mean_tradeoff([1.0], Bernoulli([rare]), 10)
    assert exact_mean_tradeoff([2.0], Genotype([likely**0.5]), 10).advantage == pytest.approx(1.0)
    with pytest.raises(ValueError, match=message + "2.0"):
        exact_mean_tradeoff([2.0], Genotype([rare**0.5]), 10)
    assert exact_mean_tradeoff(
        [1.0], Lattice([0, 1], [1.0, likely]), 10
    ).advantage == pytest.approx(1.0)
    with pytest.raises(ValueError, match=message + "1.0"):
        exact_mean_tradeoff([1.0], Lattice([0, 1], [1.0, rare]), 10)


def test_atoms_underflow_together_on_one_side_of_the_cut_only():
    n, d = 4, 3
    p = np.exp(np.array([-199.0, -201.5]) - np.log(n))
    law = exact_truth.releases([exact_truth.bits(Fraction(p[0]), 1, n)] * d)
    assert_enumerated(law, exact_mean_tradeoff(np.ones(d), Bernoulli(np.full(d, p[0])), n))
    why = "so unlikely a target: the releases that it can be in have a probability below 1e-262"
    with pytest.raises(ValueError, match=why):
        exact_mean_tradeoff(np.ones(d), Bernoulli(np.full(d, p[1])), n)


def test_too_many_releases_that_are_nearly_alike_are_refused():
    """Whichever side of the cut says why."""
    d, n = 60, 100
    spread = np.linspace(0.95, 1.05, d) / n
    with pytest.raises(ValueError, match="not available for so unlikely a target"):
        exact_mean_tradeoff(np.ones(d), Bernoulli(np.exp(-12.1) * spread), n)
    with pytest.raises(ValueError, match="not available for these marginals: all but"):
        exact_mean_tradeoff(np.ones(d), Bernoulli(np.exp(-11.9) * spread), n)


@pytest.mark.parametrize("kind", [Bernoulli, Genotype])
@pytest.mark.parametrize("p", [1e-9, 1e-12, 1e-20])
def test_a_release_that_is_nearly_always_the_same_is_refused_at_once(kind, p):
    start = time.process_time()
    with pytest.raises(ValueError, match="not available for these marginals: all but always every"):
        exact_mean_tradeoff(np.zeros(100), kind(p * np.linspace(1.0, 2.0, 100)), 1000)
    assert time.process_time() - start < 2.0


def test_many_columns_whose_release_is_all_but_impossible_have_a_curve():
    """Their probability out is e^-900, of which the logarithm is kept."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.005, 0.05, 60_000)
    target = (rng.random(p.size) < p).astype(float)
    curve = exact_mean_tradeoff(target, Bernoulli(p), 30)
    assert curve._moments.local(0.0)[0] < -600.0
    assert curve.error < 1e-9
    assert curve.power(1e-100) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("p", [1e-12, 1e-9, 1e-7])
@pytest.mark.parametrize("n", [2, 10, 1000])
def test_no_delta_and_no_advantage_is_above_one(p, n):
    for d in (1, 2, 3, 5):
        curve = exact_mean_tradeoff(np.ones(d), Bernoulli(np.full(d, p)), n)
        assert curve.advantage <= 1.0
        assert np.all(np.asarray(curve.delta([0.0, 1.0], direction="out")) <= 1.0)


@pytest.mark.parametrize(("d", "method"), [(1, "atoms"), (3, "halves"), (100, "inversion")])
def test_a_ratio_that_is_no_number_has_no_tail(d, method):
    curve = exact_mean_tradeoff(np.ones(d), Bernoulli(np.linspace(0.3, 0.5, d)), 30, method=method)
    for world in ("out", "in"):
        assert np.array_equal(np.isnan(curve.cdf([np.nan, 0.1], world)), [True, False])
        assert np.array_equal(np.isnan(curve.sf([np.nan, 0.1], world)), [True, False])


def test_what_would_take_hours_or_all_memory_is_refused():
    with pytest.raises(
        ValueError, match="n must be at most 16777216 for genotypes with decimals: "
    ):
        exact_mean_tradeoff([1.0], Genotype([0.5], decimals=2), 2**24 + 1)
    message = (
        "n must be at most 524288 for a lattice of 2 steps: the work grows with its square; got"
    )
    with pytest.raises(ValueError, match=f"{message} n = 524290"):
        exact_mean_tradeoff([1.0], Lattice([0, 1, 2], [0.3, 0.3, 0.4]), 524_290)
    with pytest.raises(ValueError, match=message):
        Lattice([0, 1, 2], [0.3, 0.3, 0.4]).log_likelihood_ratio([1.0], [1.0], 524_290)


# --- normal columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 1000])
@pytest.mark.parametrize("size", [0.0, 0.1, 2.0, 1e3, 1e5])
def test_ten_normal_columns_have_the_gaussian_curve_however_far_the_target(n, size):
    d, grid = 10, np.array([1e-6, 0.01, 0.3, 0.9])
    curve = exact_mean_tradeoff(np.full(d, size), Normal(np.zeros(d), 1.0), n)
    truth = GaussianMeanTradeOff(d * size**2 / n, n=n, columns=d)
    np.testing.assert_allclose(curve.power(grid), truth.power(grid), rtol=1e-10)
    np.testing.assert_allclose(curve.fnr(grid), truth.fnr(grid), rtol=1e-9)
    assert curve.advantage == pytest.approx(truth.advantage, abs=1e-12)


def test_a_target_further_off_is_refused():
    law = Normal(np.zeros(10), 2.0)
    far = np.append(np.zeros(9), 2.002e5)
    message = r"target must be within 100000 standard deviations of the mean of a normal column; "
    with pytest.raises(ValueError, match=message + r"got target\[9\] = 200200"):
        exact_mean_tradeoff(far, law, 10)
    assert exact_mean_tradeoff(0.998 * far, law, 10).power(1e-9) == pytest.approx(1.0)


def test_few_normal_columns_are_sent_to_their_closed_form():
    with pytest.raises(ValueError, match="marginals must have at least 10 columns if all are norm"):
        exact_mean_tradeoff(np.ones(9), Normal(np.zeros(9), 1.0), 10)
    exact = gaussian_mean_tradeoff(np.ones(10), np.zeros(10), 1.0, 10)
    curve = exact_mean_tradeoff(np.ones(10), Normal(np.zeros(10), 1.0), 10)
    assert abs(curve.power(0.1) - exact.power(0.1)) < 1e-12


@pytest.mark.parametrize("theta", [-0.9, 0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("distance", [1.0, 1e10])
def test_the_normal_moment_function_is_that_of_its_formula(theta, distance):
    """K, K' and K'' with 60 digits; K(1) = 0."""
    from mialeak.exact._coordinates import NormalPart

    d, n = 12, 2
    with mpmath.workdps(60):
        m, q, half = mpmath.mpf(n - 1), mpmath.mpf(distance), mpmath.mpf(d) / 2

        def k(s):
            u = 1 + s / m
            slope = half * mpmath.log(n / m) + q / 2
            return s * slope - half * mpmath.log(u) - n * q / 2 * (1 - 1 / u)

        truth = [float(mpmath.diff(k, mpmath.mpf(theta), order)) for order in (0, 1, 2)]
    found = NormalPart(d, distance, n).local(theta)
    scale = abs(truth[2]) if theta == 1.0 else 0.0
    np.testing.assert_allclose(found, truth, rtol=1e-14, atol=1e-16 * scale)


LAWS = {
    "bits": (Bernoulli, lambda p, z, n: -np.log(np.where(z == 1, p, 1 - p))),
    "genotypes": (
        Genotype,
        lambda p, z, n: np.where(
            z == 1, -np.log(2 * p * (1 - p) * (2 - 1 / n)), -2 * np.log(np.where(z == 2, p, 1 - p))
        ),
    ),
}


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("d", "n"), [(1, 6), (1, 4000), (3, 1000), (3, 6000), (30, 10**5)])
def test_epsilon_at_delta_zero_is_the_largest_ratio_however_unlikely(kind, d, n):
    """By which the release is likelier with the target in it: that all rows are as the target."""
    law, largest = LAWS[kind]
    p = np.linspace(0.2, 0.7, d)
    z = np.arange(d) % (2 if kind == "bits" else 3) * 1.0
    curve, most = exact_mean_tradeoff(z, law(p), n), float(np.sum(largest(p, z, n)))
    assert curve.epsilon(0.0, direction="in") == pytest.approx(most, rel=1e-12)
    assert curve.epsilon(0.0, direction="out") == curve.epsilon(0.0) == np.inf
    assert curve.epsilon([0.0, 1.0]).tolist() == [np.inf, 0.0]
    half = curve.subsample(0.5)
    assert half.epsilon(0.0, direction="in") == pytest.approx(np.log1p(0.5 * np.expm1(most)))
    assert half.epsilon(0.0, direction="out") == pytest.approx(np.log(2.0), rel=1e-13)


@pytest.mark.parametrize("n", [8, 60, 3000])
def test_listed_laws_promise_no_epsilon_where_outcomes_are_too_unlikely(n):
    lattice = exact_mean_tradeoff([0.0], Lattice([[0.0, 1.0, 2.0]], [[0.2, 0.3, 0.5]]), n)
    assert lattice.epsilon(0.0, direction="in") == pytest.approx(-np.log(0.2), rel=1e-12)
    assert lattice.epsilon(0.0, direction="out") == np.inf
    rounded = exact_mean_tradeoff([2.0], Genotype([0.3], decimals=1), n)
    known = rounded.epsilon(0.0, direction="out")
    assert known < np.inf if n == 60 else known == np.inf  # every cell of 60 rows can hold it
    known = rounded.epsilon(0.0, direction="in")
    assert known < -np.log(0.09) if n == 60 else known == pytest.approx(-np.log(0.09), rel=1e-12)


def test_rounding_to_cells_that_all_hold_the_target_bounds_epsilon():
    curve = exact_mean_tradeoff([1.0], Genotype([0.4], decimals=0), 4)
    k = np.arange(9)
    cell = np.round(k / 4)
    out, inside = stats.binom.pmf(k, 8, 0.4), stats.binom.pmf(k - 1, 6, 0.4)
    ratios = [inside[cell == c].sum() / out[cell == c].sum() for c in (0, 1, 2)]
    assert curve.epsilon(0.0, direction="out") == pytest.approx(-np.log(min(ratios)), rel=1e-12)
    assert curve.epsilon(0.0, direction="in") == pytest.approx(np.log(max(ratios)), rel=1e-12)


def test_where_nothing_is_random_no_epsilon_is_needed():
    assert exact_mean_tradeoff([1.0], Bernoulli([1.0]), 9).epsilon(0.0) == 0.0


def test_a_sample_asks_for_no_epsilon_where_delta_is_its_rate():
    """Also where the sample tells all but surely, and its delta rounds to 1 or a little above."""
    curve = exact_mean_tradeoff([2.0, 0.0], [Genotype([6.263241437382048e-12]), Presence([0.3])], 5)
    assert curve.subsample(1 / 3).epsilon([1 / 3, 0.5], direction="in").tolist() == [0.0, 0.0]


def test_what_tells_next_to_nothing_keeps_its_digits():
    p = 5.47e-11
    law = exact_truth.genotypes(Fraction(p), 0, 3)
    curve = exact_mean_tradeoff([0.0], Genotype([p]), 3)
    truth = float(exact_truth.advantage(law))
    assert curve.advantage == pytest.approx(truth, rel=1e-13, abs=0.0)
    assert curve.subsample(0.1).advantage == pytest.approx(0.1 * truth, rel=1e-13, abs=0.0)


def test_sums_that_no_rows_have_do_not_raise_epsilon():
    """Values 0, 3 and 4: neither 1, 2 nor 5 is a sum, and no sum is as unlikely as 20 times 3."""
    curve = exact_mean_tradeoff([3.0], Lattice([[0.0, 3.0, 4.0]], [[0.5, 0.1, 0.4]]), 20)
    most = curve.epsilon(0.0, direction="in")
    assert most == pytest.approx(curve.to_arrays().log_ratio[-1], rel=1e-12)
    assert most < -np.log(0.1) - 0.1
    assert curve.delta(most * (1 + 1e-12), direction="in") == 0.0
    assert curve.delta(most * (1 - 1e-6), direction="in") > 0.0


# --- two halves of few atoms -------------------------------------------------------------------


HALVES = {
    "two columns": ([0.3, 0.6], [1, 0], 3),
    "a target in one release of 1e21": ([1e-11, 1e-12, 0.3], [1, 1, 0], 5),
    "nearly always possible": ([0.9, 0.3], [1, 0], 12),
    "worlds that are close": ([1.0 - 5e-12], [1], 9),
}


@pytest.mark.parametrize("case", HALVES)
def test_halves_of_few_atoms_are_enumeration_too(case):
    p, z, n = HALVES[case]
    law = exact_truth.releases(
        [exact_truth.bits(Fraction(a), b, n) for a, b in zip(p, z, strict=True)]
    )
    curve = exact_mean_tradeoff(np.array(z, float), Bernoulli(p), n, method="halves")
    assert curve.method == "meet in the middle"
    corners = exact_truth.vertices([pair for pair in law if pair[1]])
    middles = [((a + c) / 2, (b + d) / 2) for (a, b), (c, d) in pairwise(corners)]
    some = [pair for pair in corners[1:-1] + middles if pair[0] > 1e-25 and 2 * pair[1] < 1]
    fpr, power = np.array(some, float).T
    np.testing.assert_allclose(curve.power(fpr), power, rtol=1e-12)
    np.testing.assert_allclose(curve.fpr(power), fpr, rtol=1e-12)
    fpr = 1.0 - np.array([0.1, 1e-6, 1e-9])
    fnr = [float(_fnr(law, 1 - Fraction(x))) for x in fpr.tolist()]
    np.testing.assert_allclose(curve.fnr(fpr), fnr, rtol=1e-12)
    for growth in (Fraction(1), Fraction(11, 10), Fraction(14, 5), Fraction(10**12)):
        for direction in ("in", "out"):
            truth = float(exact_truth.delta(law, growth, inward=direction == "in"))
            epsilon = float(mpmath.log(mpmath.mpf(growth.numerator) / growth.denominator))
            assert curve.delta(epsilon, direction=direction) == pytest.approx(truth, rel=1e-12)


def test_halves_give_delta_far_out_where_hardly_anything_is_rarer_in():
    """Log ratios of -54 and -51, and then none before -1."""
    law = Lattice([[0.0, 2.0, 5.0, 8.0]], [[7e-9, 0.5, 0.3 - 7e-9, 0.2]])
    atoms, halves = (exact_mean_tradeoff([5.0], law, 6, method=m) for m in ("atoms", "halves"))
    for direction in ("in", "out"):
        for epsilon in (0.0, 0.5, 0.99, 1.01, 20.0, 30.0, 45.0, 60.0, 699.0, 1000.0):
            truth = atoms.delta(epsilon, direction=direction)
            found = halves.delta(epsilon, direction=direction)
            assert found == pytest.approx(truth, rel=1e-12)


def _fnr(law, tnr):
    """Least P(guess "out" | in) of the attacks whose 1 - fpr is at least `tnr`."""
    total, left = Fraction(0), tnr
    for out, inside in reversed(law):
        share = min(Fraction(1), left / out)
        total, left = total + share * inside, left - share * out
        if left <= 0:
            return total
    return total


@pytest.mark.parametrize("columns", [16, 100, 10**6])
@pytest.mark.parametrize("n", [10, 10**3, 10**6, 10**9])
def test_normal_columns_agree_with_the_law_that_is_exact_for_them(columns, n):
    """The target at the mean: worlds as close as can be, and a largest log ratio that is near."""
    curve = exact_mean_tradeoff(np.zeros(columns), Normal(np.zeros(columns), 1.0), n)
    truth = GaussianMeanTradeOff(0.0, n=n, columns=columns)
    fpr = np.array([1e-100, 1e-20, 1e-10, 1e-3, 0.5, 0.9, 1 - 1e-9])
    np.testing.assert_allclose(curve.power(fpr), truth.power(fpr), rtol=1e-11)
    np.testing.assert_allclose(curve.fnr(fpr), truth.fnr(fpr), rtol=1e-11)
    power = truth.power(fpr[:5])
    np.testing.assert_allclose(curve.fpr(power), truth.fpr(power), rtol=1e-11)
    epsilon = truth.advantage * np.array([0.0, 1e-3, 0.1, 1.0, 3.0])
    for direction in ("in", "out"):
        got = curve.delta(epsilon, direction=direction)
        np.testing.assert_allclose(got, truth.delta(epsilon, direction=direction), rtol=1e-12)
    assert curve.auc - 0.5 == pytest.approx(truth.auc - 0.5, rel=1e-12, abs=1e-15)
