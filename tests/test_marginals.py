"""Laws of coordinates: moments and likelihood ratios in exact fractions, and what is refused."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_truth import convolved
from scipy import stats

from mialeak.laws import Bernoulli, Genotype, Joint, Lattice, Normal, Presence, as_joint

DICE = Lattice([1, 2, 3, 4, 5, 6], np.full(6, 1 / 6))


def moments_of(values, probabilities):
    """Mean, std, skewness and excess kurtosis of one finite law, at 40 digits."""
    with mpmath.workdps(40):
        pairs = [(mpmath.mpf(v), mpmath.mpf(w)) for v, w in zip(values, probabilities, strict=True)]
        mean = sum(v * w for v, w in pairs)
        central = [sum((v - mean) ** k * w for v, w in pairs) for k in (2, 3, 4)]
        shape = central[1] / central[0] ** 1.5, central[2] / central[0] ** 2 - 3
        return [float(m) for m in (mean, mpmath.sqrt(central[0]), *shape)]


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.9])
def test_moments_are_those_of_the_finite_law(p):
    q = 1 - p
    for law, values, weights in (
        (Bernoulli([p]), [0, 1], [q, p]),
        (Genotype([p]), [0, 1, 2], [q * q, 2 * p * q, p * p]),
        (Presence([p]), [0, 1], [q * q, p * (2 - p)]),
        (Lattice([-1.5, 0, 3], [q * q, 2 * p * q, p * p]), [-1.5, 0, 3], [q * q, 2 * p * q, p * p]),
    ):
        got = [law.mean[0], law.std[0], law.skewness[0], law.excess_kurtosis[0]]
        np.testing.assert_allclose(got, moments_of(values, weights), rtol=1e-10, atol=1e-12)


def check_ratios(law, exact, n, scale=1.0, shift=0.0):
    """Every sum and every target; values are ``shift + scale k``."""
    out, before = convolved(exact, n), convolved(exact, n - 1)
    for z in exact:
        for k, chance in out.items():
            into = before.get(k - z, 0)
            truth = math.log(into / chance) if into else -math.inf
            got = law.log_likelihood_ratio([shift + scale * k / n], [shift + scale * z], n)
            assert got[0] == pytest.approx(truth, abs=2e-13), (z, k)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_ratios_are_those_of_exact_convolutions(n):
    p = Fraction(3, 8)
    q = 1 - p
    check_ratios(Bernoulli([float(p)]), {0: q, 1: p}, n)
    check_ratios(Genotype([float(p)]), {0: q * q, 1: 2 * p * q, 2: p * p}, n)
    check_ratios(Presence([float(p)]), {0: q * q, 1: p * (2 - p)}, n)
    uneven = {0: Fraction(1, 2), 1: Fraction(1, 8), 3: Fraction(1, 4), 7: Fraction(1, 8)}
    for scale, shift in ((1.0, 0.0), (0.1, -3.0), (1e6, 5.0)):
        values = [shift + scale * v for v in uneven]
        law = Lattice(values, [float(w) for w in uneven.values()])
        check_ratios(law, uneven, n, scale, shift)


def test_a_lattice_keeps_its_digits_where_probabilities_underflow():
    """Sums of 1000 bits of probability 1/1024: from P = 1e-4 to 1e-3010."""
    n, p = 1000, 2.0**-10
    law = Lattice([0, 1], [1 - p, p])
    for k in (0, 1, 90, 200, 999, 1000):
        got = law.log_likelihood_ratio([k / n], [1], n)[0]
        truth = math.log(k / n / p) if k else -math.inf
        assert got == pytest.approx(truth, abs=1e-11)


def test_both_sides_of_rare_sums():
    """The tilted law takes over at 1e-250."""
    n, p = 200, 2.0**-10
    law = Lattice([0, 1], [1 - p, p])
    logs = stats.binom.logpmf(np.arange(n + 1), n, p) / math.log(10)
    seam = int(np.argmax(logs < -250))
    for k in range(seam - 2, seam + 3):
        got = law.log_likelihood_ratio([k / n], [1], n)[0]
        assert got == pytest.approx(math.log(k / n / p), abs=1e-11)


def test_normal_ratios_are_those_of_two_normal_densities():
    law, n, z = Normal([1.0, -2.0], [0.5, 3.0]), 7, np.array([2.0, -8.0])
    releases = np.array([[1.2, -2.5], [0.1, 7.0]])
    out = stats.norm(law.mean, law.std / np.sqrt(n))
    into = stats.norm((z + (n - 1) * law.mean) / n, law.std * np.sqrt(n - 1) / n)
    truth = into.logpdf(releases) - out.logpdf(releases)
    np.testing.assert_allclose(law.log_likelihood_ratio(releases, z, n), truth, rtol=1e-12)


def test_a_list_of_laws_stands_for_their_columns_side_by_side():
    parts = [Bernoulli([0.2, 0.5]), Normal([0.0], [2.0]), Genotype([0.4]), DICE]
    law = as_joint(parts)
    assert isinstance(law, Joint)
    assert law.size == 5
    for moment in ("mean", "std", "skewness", "excess_kurtosis"):
        expected = np.concatenate([getattr(part, moment) for part in parts])
        np.testing.assert_array_equal(getattr(law, moment), expected)
    assert law.skewness[2] == law.excess_kurtosis[2] == 0.0  # of the normal column
    releases, z = np.array([[0.25, 0.5, 0.3, 1.0, 3.0]]), np.array([1.0, 0.0, -1.0, 2.0, 6.0])
    got = law.log_likelihood_ratio(releases, z, 4)
    start = 0
    for part in parts:
        columns = slice(start, start + part.size)
        alone = part.log_likelihood_ratio(releases[:, columns], z[columns], 4)
        np.testing.assert_array_equal(got[:, columns], alone)
        start += part.size
    assert as_joint(parts[0]) is as_joint(parts[:1]) is parts[0]


def test_laws_from_data_have_the_frequencies():
    rng = np.random.default_rng(2)
    bits, counts = rng.integers(0, 2, (50, 3)), rng.integers(0, 3, (50, 3))
    np.testing.assert_array_equal(Bernoulli.from_data(bits).p, bits.mean(axis=0))
    np.testing.assert_array_equal(Genotype.from_data(counts, decimals=2).mean, counts.mean(axis=0))
    np.testing.assert_allclose(Presence.from_data(bits).mean, bits.mean(axis=0), rtol=1e-14)
    lattice = Lattice.from_data(counts)
    np.testing.assert_allclose(lattice.mean, counts.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(lattice.std, counts.std(axis=0), rtol=1e-14)
    normal = Normal.from_data(counts)
    np.testing.assert_allclose(normal.std, counts.std(axis=0, ddof=1), rtol=1e-14)


def test_parameters_are_copied_and_frozen():
    p = np.array([0.2, 0.5])
    law = Bernoulli(p)
    p[0] = 0.9
    assert law.p[0] == 0.2
    with pytest.raises(ValueError, match="read-only"):
        law.p[0] = 0.3


REFUSED = {
    "p must be between 0 and 1; got p[1] = 1.5": lambda: Bernoulli([0.5, 1.5]),
    "p must be between 0 and 1; got p[0] = -0.1": lambda: Genotype([-0.1]),
    "p must be finite; got p[0] = nan": lambda: Presence([np.nan]),
    "p must have one entry for each coordinate; its shape is (1, 1)": lambda: Bernoulli([[0.5]]),
    "std must be greater than 0; got std[1] = 0.0": lambda: Normal([0.0, 1.0], [1.0, 0.0]),
    "std must have 2 entries": lambda: Normal([0.0, 1.0], [1.0, 1.0, 1.0]),
    "probabilities must sum to 1 within 1e-9; the sum is 0.9": lambda: Lattice([0, 1], [0.5, 0.4]),
    "probabilities must be at least 0": lambda: Lattice([0, 1], [1.5, -0.5]),
    "probabilities must go with values": lambda: Lattice([0, 1, 2], [0.5, 0.5]),
    "values must increase in each row; got values[0, 1] = 0.0": lambda: Lattice([1, 0], [0.5, 0.5]),
    "values must have shape (K,) or (d, K), not empty; its shape is (0,)": lambda: Lattice([], []),
    "values must lie on a lattice": lambda: Lattice([0, 1, math.sqrt(2)], [0.5, 0.25, 0.25]),
    "rows must be 0, 1 or 2; got rows[0, 1] = 3.0": lambda: Genotype.from_data([[1, 3]]),
    "rows must be 0 or 1; got rows[0, 0] = 2.0": lambda: Bernoulli.from_data([[2]]),
    "rows must have at least 2 rows": lambda: Normal.from_data([[2.0]]),
    "target must be 0 or 1": lambda: Bernoulli([0.5]).log_likelihood_ratio([0.5], [2], 4),
    "target must have 1 entries": lambda: Bernoulli([0.5]).log_likelihood_ratio([0.5], [1, 0], 4),
    "target must be one of the values with positive probability; got target[0] = 2.5": lambda: (
        DICE.log_likelihood_ratio([3.0], [2.5], 4)
    ),
    "releases must be the mean of 4 of the values; got releases[1, 0] = 3.1": lambda: (
        DICE.log_likelihood_ratio([[3.0], [3.1]], [2], 4)
    ),
    "releases must be the mean of 4 of the values; got releases[0] = 0.5": lambda: (
        DICE.log_likelihood_ratio([0.5], [2], 4)
    ),
    "releases must be finite": lambda: DICE.log_likelihood_ratio([np.nan], [2], 4),
    "releases must have 1 columns": lambda: DICE.log_likelihood_ratio([3.0, 3.0], [2], 4),
    "got releases[0, 2] = 0.3": lambda: as_joint([Bernoulli([0.5] * 2), DICE]).log_likelihood_ratio(
        [[0.5, 0.5, 0.3]], [1, 1, 2], 4
    ),
    "marginals must have at least one law": lambda: as_joint([]),
}


@pytest.mark.parametrize("text", REFUSED)
def test_bad_input_is_named(text):
    with pytest.raises(ValueError, match=re.escape(text)):
        REFUSED[text]()


@pytest.mark.parametrize("bad", ["Bernoulli", 3, None])
def test_what_is_no_law_is_a_type_error(bad):
    with pytest.raises(TypeError, match="marginals must be a law or a list of laws"):
        as_joint(bad)
    with pytest.raises(
        TypeError, match=re.escape("marginals must hold laws only; got marginals[1]")
    ):
        as_joint([DICE, bad])


def test_gaps_that_no_sum_fills_are_refused():
    law = Lattice([0, 2, 5], [0.5, 0.25, 0.25])
    assert np.isfinite(law.log_likelihood_ratio([7 / 2], [2], 2))
    with pytest.raises(ValueError, match="mean of 2 of the values"):
        law.log_likelihood_ratio([3 / 2], [2], 2)


@pytest.mark.parametrize("p", [2.0**-1000, 1e-160, 1 - 1e-5, 1 - 1e-9, 1 - 2.0**-53])
def test_moments_keep_their_digits_where_one_value_is_all_but_certain(p):
    with mpmath.workdps(700):
        exact = mpmath.mpf(p)
        q = 1 - exact
        bits, genotypes = [q, exact], [q * q, 2 * exact * q, exact * exact]
        present = [q * q, exact * (2 - exact)]
    for law, weights in (
        (Bernoulli([p]), bits),
        (Genotype([p]), genotypes),
        (Presence([p]), present),
        (Lattice([0, 1], [float(w) for w in bits]), [float(w) for w in bits]),
    ):
        with mpmath.workdps(700):
            pairs = list(enumerate(weights))
            total = sum(weights)
            mean = sum(v * w for v, w in pairs) / total
            two, three, four = (
                sum((v - mean) ** k * w for v, w in pairs) / total for k in (2, 3, 4)
            )
            truth = [mean, mpmath.sqrt(two), three / two / mpmath.sqrt(two), four / two / two - 3]
            truth = [float(m) for m in truth]
        got = [law.mean[0], law.std[0], law.skewness[0], law.excess_kurtosis[0]]
        np.testing.assert_allclose(got, truth, rtol=1e-14, err_msg=str(law))


@pytest.mark.parametrize(("offset", "unit"), [(0.0, 2.0**-900), (0.0, 2.0**900), (2.0**50, 1.0)])
def test_moments_of_a_lattice_do_not_know_its_unit_and_its_place(offset, unit):
    weights = [0.3, 0.5, 0.2]
    near, far = (Lattice([s, s + u, s + 3 * u], weights) for s, u in ((0.0, 1.0), (offset, unit)))
    assert far.std == pytest.approx(near.std * unit, rel=1e-14)
    assert far.skewness == pytest.approx(near.skewness, rel=1e-13)
    assert far.excess_kurtosis == pytest.approx(near.excess_kurtosis, rel=1e-13)


@pytest.mark.parametrize(("decimals", "release"), [(None, 0.5), (1, 0.5), (0, 1.0)])
@pytest.mark.parametrize("p", [1e-200, 2.0**-500, 2.0**-501, 2.0**-1000])
def test_two_copies_of_a_very_rare_allele_have_a_finite_ratio(p, decimals, release):
    """Of the counts that round to the release only the least is likely enough to matter."""
    n, k = 4, 2 if release < 1 else 3
    truth = math.log(k * (k - 1) / (2 * n * (2 * n - 1))) - 2 * math.log(p)
    got = Genotype([p], decimals).log_likelihood_ratio([release], [2], n)
    assert got[0] == pytest.approx(truth, rel=1e-14)


def test_a_lattice_knows_sums_of_values_less_likely_than_any_tilt():
    law = Lattice([0, 1], [1.0, 1e-300])
    for k in (1, 10, 19, 20):
        got = law.log_likelihood_ratio([k / 20], [1], 20)
        assert got[0] == pytest.approx(math.log(k / 20) + 300 * math.log(10), rel=1e-13)


@pytest.mark.parametrize(("std", "release", "target"), [(1e-310, 1e-310, 1.0), (1.0, 1e200, 1.0)])
def test_a_normal_ratio_that_is_no_number_is_refused(std, release, target):
    with pytest.raises(ValueError, match=r"releases must be near enough to mean.*releases\[0\]"):
        Normal([0.0], [std]).log_likelihood_ratio([release], [target], 5)
