"""Scores of released means: their kernels, the linear ones, GLiR, mixtures, Edgeworth series."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from fresh import bits_by_isa
from scipy import special, stats

import mialeak
from mialeak._kernels import scores as kernels
from mialeak.laws import Bernoulli, Normal
from mialeak.reference import scores as twins
from mialeak.scores import (
    bernoulli_score,
    covariance_score,
    edgeworth_score,
    genotype_score,
    glir_score,
    mixture_score,
    scalar_product_score,
)

#: Columns around the tile of 64 and its lanes of 8.
SEAMS = (1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 200)


def moments(law):
    return law.mean, law.std, law.skewness, law.excess_kurtosis


def bits_case(d, rounds=6, n=50, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, d)
    return rng.binomial(n, p, (rounds, d)) / n, (rng.random(d) < p) * 1.0, p, n


# --- kernels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", SEAMS)
@pytest.mark.parametrize("rounds", [1, 3, 4, 5, 9])
def test_sums_agree_with_their_twins_across_tiles_and_rows(d, rounds):
    releases, z, p, n = bits_case(d, rounds)
    law = Bernoulli(p)
    np.testing.assert_allclose(
        edgeworth_score(releases, z, *moments(law), n),
        twins.edgeworth_terms(releases, z, *moments(law), n).sum(axis=1),
        atol=1e-13 * d,
    )
    inside = np.clip(releases, 0.01, 0.99)
    np.testing.assert_allclose(
        bernoulli_score(inside, z, p, n), twins.bernoulli_score(inside, z, p, n), atol=1e-14 * d
    )


def test_kernel_twins_say_the_same_as_the_kernels():
    rng = np.random.default_rng(1)
    d = 70
    releases, coefficients = rng.random((5, d)), rng.normal(size=(5, d))
    padded = np.zeros((5, kernels.padded_columns(d)))
    padded[:, :d] = coefficients
    out = np.empty(5)
    kernels.cubic_sums(releases, padded, 2.0, out)
    np.testing.assert_allclose(out, twins.cubic_sums(releases, coefficients, 2.0), rtol=1e-12)
    factors = np.abs(rng.normal(size=(6, d))) + 0.1
    padded = np.tile([[1.0], [0.0], [1.0]] * 2, kernels.padded_columns(d))
    padded[:, :d] = factors
    kernels.log_linear_sums(releases, padded[:3].copy(), out)
    np.testing.assert_allclose(out, twins.log_linear_sums(releases, factors[:3]), rtol=1e-12)
    counts = np.rint(releases * 40) / 20
    kernels.log_quadratic_sums(counts, 20.0, 1e-6, padded, out)
    np.testing.assert_allclose(out, twins.log_quadratic_sums(counts, 20.0, factors), rtol=1e-12)


def test_tiles_are_added_with_their_rounding_errors():
    """In each lane a large term in the first tile, which the last one takes back."""
    d = 200 * kernels.TILE
    release, table = np.random.default_rng(3).random((1, d)), np.zeros((5, d))
    table[1] = table[2] = 1.0
    for first, large in ((0, 2.0**45), (d - kernels.TILE, -(2.0**45))):
        release[0, first : first + kernels.TILE] = 0.0
        release[0, first : first + 8] = large
    out = np.empty(1)
    kernels.cubic_sums(release, table, 0.0, out)
    assert out[0] == pytest.approx(math.fsum(release[0].tolist()), rel=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("d", [*SEAMS, kernels.FEW - 1, kernels.FEW + 1])
def test_coefficients_of_the_edgeworth_series_have_the_bits_of_their_twin(d, order):
    rng = np.random.default_rng(d)
    known = [rng.normal(size=d) for _ in range(5)]
    known[2] = np.exp(known[2])
    table = np.full((6, kernels.padded_columns(d)), -7.0)
    total = kernels.edgeworth_columns(known, math.sqrt(137), order, table)
    expected = twins.edgeworth_columns(*known, 137, order)
    np.testing.assert_array_equal(table[:, :d], expected)
    assert (table[:, d:] == -7.0).all()
    assert total == pytest.approx(math.fsum(expected[5]), rel=1e-15, abs=1e-18 * d)


def test_a_score_does_not_depend_on_its_neighbours():
    releases, z, p, n = bits_case(129, 9)
    releases[4] = 0.0
    whole = bernoulli_score(releases, z, p, n)
    for t, row in enumerate(releases):
        assert bernoulli_score(row, z, p, n) == whole[t]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_releases_have_the_bits_of_many(rows):
    """On both sides of where the kernels for few numbers end."""
    d = kernels.FEW // 2
    releases, z, p, n = bits_case(d, 9)
    arguments = [p, p * (1 - p), (1 - 2 * p), p, n]
    for function, rest in (
        (bernoulli_score, (np.clip(releases, 0.01, 0.99), z, p, n)),
        (genotype_score, (np.minimum(2 * releases + 1 / n, 2.0), 2 * z, p, n)),
        (edgeworth_score, (releases, z, *arguments)),
    ):
        given, *others = rest
        some, many = function(given[:rows], *others), function(given, *others)
        assert some.tobytes() == many[:rows].tobytes()


def test_kernels_refuse_what_they_would_misread():
    table, out = np.zeros((5, 64)), np.empty(3)
    for bad in (np.zeros((2, 3)).T, np.zeros((3, 2), int), np.zeros((3, 2), ">f8"), np.zeros(3)):
        with pytest.raises(TypeError, match="in C order are wanted"):
            kernels.cubic_sums(bad, table, 0.0, out)
    for known, sums in ((table.astype(np.float32), out), (table, np.empty(6)[::2])):
        with pytest.raises(TypeError, match="in C order are wanted"):
            kernels.cubic_sums(np.zeros((3, 2)), known, 0.0, sums)


HASH = "d3bd0da956d54559761b946ed8c4f82f2722c9b8d1728337b112c76abb059121"

CODE = """
import hashlib, numpy as np
from mialeak._kernels import scores as kernels
from mialeak._kernels.table import isa
raw = (np.random.PCG64(5).random_raw(37 * 203) >> np.uint64(11)) * 2.0**-53
releases = raw.reshape(37, 203).copy()
releases[3, 5], releases[4, 6], releases[5, 7], releases[6, 8] = 0.0, 1.0, np.nan, 2.0**-1070
table = np.zeros((6, kernels.padded_columns(203)))
table[0], table[2], table[3], table[5] = 1.0, 1.0, 1.0, 1.0
cubic = np.zeros((5, kernels.padded_columns(203)))
cubic[:, :203] = releases[:5]
cubic[0, 7] = 0.25
cubic = np.nan_to_num(cubic)
digest, out = hashlib.sha256(), np.empty(37)
for data in (releases, releases.astype(np.float32)):
    kernels.cubic_sums(data, cubic, 0.5, out); digest.update((np.nan_to_num(out) + 0.0).tobytes())
    ones = table[:3].copy(); ones[0, :203:2], ones[1, :203] = 0.0, 1.0; ones[1, 1:203:2] = -1.0
    kernels.log_linear_sums(data, ones, out); digest.update((np.nan_to_num(out) + 0.0).tobytes())
    two = table.copy(); two[:, :203] = np.array([0, 1, 0.02, 100, -1, 0.03])[:, None]
    kernels.log_quadratic_sums(np.rint(np.nan_to_num(data) * 100) / data.dtype.type(50), 50.0, 1e-3,
                               two, out)
    digest.update((np.nan_to_num(out) + 0.0).tobytes())
print(isa(), digest.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    """And those that were promised once."""
    found = bits_by_isa(CODE)
    assert found == dict.fromkeys(found, HASH)


# --- covariance score, scalar product, GLiR ----------------------------------------------------


def gaussian_case(d=6, n=40, rounds=8):
    rng = np.random.default_rng(9)
    mixing = rng.normal(size=(d, d))
    mean, cov = rng.normal(size=d), mixing @ mixing.T + np.eye(d)
    z = rng.multivariate_normal(mean, 2 * cov)
    return rng.multivariate_normal(mean, cov / n, rounds), z, mean, cov, n


def test_covariance_score_takes_every_form_of_a_covariance():
    releases, z, mean, cov, n = gaussian_case()
    truth = twins.covariance_score(releases, z, mean, cov, n)
    np.testing.assert_allclose(covariance_score(releases, z, mean, cov, n), truth, rtol=1e-11)
    variances = np.diagonal(cov)
    diagonal = twins.covariance_score(releases, z, mean, variances, n)
    np.testing.assert_allclose(
        covariance_score(releases, z, mean, variances, n), diagonal, rtol=1e-11
    )

    class Estimator:
        covariance_ = cov
        location_ = mean

        def mahalanobis(self, rows):
            v = rows - mean
            return np.einsum("ti,ij,tj->t", v, np.linalg.inv(cov), v)

    got = covariance_score(releases, z, mean, Estimator(), n)
    np.testing.assert_allclose(got, truth, rtol=1e-9)


def test_covariance_score_of_one_hot_columns_is_that_of_all_but_one():
    p = np.array([0.2, 0.3, 0.5])
    cov = np.diag(p) - np.outer(p, p)
    releases = np.array([[0.3, 0.3, 0.4], [0.1, 0.4, 0.5]])
    got = covariance_score(releases, [1, 0, 0], p, cov, 10)
    less = covariance_score(releases[:, :2], [1, 0], p[:2], cov[:2, :2], 10)
    np.testing.assert_allclose(got, less, rtol=1e-12)
    with pytest.raises(ValueError, match=r"releases must differ from mean only .*rank is 2 of 3"):
        covariance_score([[0.3, 0.3, 0.4], [0.3, 0.3, 0.5]], [1, 0, 0], p, cov, 10)


def test_the_law_of_the_covariance_score():
    """N(-m/2, m) out; mean +m/2 in."""
    releases, z, mean, cov, n = gaussian_case(rounds=20_000)
    m = mialeak.leakage_score(z, mean, cov, n)
    out = covariance_score(releases, z, mean, cov, n)
    assert stats.kstest(out, stats.norm(-m / 2, np.sqrt(m)).cdf).pvalue > 0.001
    into = covariance_score(releases + (z - mean) / n, z, mean, cov, n)
    np.testing.assert_allclose(into - out, m, rtol=1e-9)


def test_the_uncentred_matrix_of_the_paper_ranks_otherwise():
    """[AB25] Algorithm 3 prints (1/n) sum g g^T; a target along the mean is then nearly hidden."""
    d, n = 5, 10
    mean = np.full(d, 3.0)
    uncentred = np.eye(d) + np.outer(mean, mean)
    along = mean + 3 * mean / np.linalg.norm(mean)
    across = mean + np.array([1.5, -1.5, 0, 0, 0])
    right = [mialeak.leakage_score(t, mean, np.eye(d), n) for t in (along, across)]
    printed = [mialeak.leakage_score(t, mean, uncentred, n) for t in (along, across)]
    assert right[0] > right[1]
    assert printed[0] < printed[1] / 10


def test_a_scalar_product_with_one_fresh_reference_is_not_the_likelihood_ratio():
    """[AB24] Section 3 says it is where variances are equal; only if the reference is the mean."""
    rng = np.random.default_rng(12)
    d, n, rounds = 100, 100, 40_000
    z = rng.normal(size=d)
    z *= np.sqrt(n) / np.linalg.norm(z)  # m = 1
    reference = rng.normal(size=d)
    out = rng.normal(size=(rounds, d)) / np.sqrt(n)
    into = out * np.sqrt((n - 1) / n) + z / n

    def advantage(score):
        a, b = np.sort(score(out)), np.sort(score(into))
        grid = np.concatenate([a, b])
        return np.max(np.searchsorted(a, grid) - np.searchsorted(b, grid)) / rounds

    centred = advantage(lambda r: scalar_product_score(r, z, np.zeros(d)))
    full = advantage(lambda r: covariance_score(r, z, np.zeros(d), 1.0, n))
    one = advantage(lambda r: scalar_product_score(r, z, reference))
    assert centred == pytest.approx(full, abs=1e-9)
    assert full == pytest.approx(2 * special.ndtr(0.5) - 1, abs=0.015)
    m_ref = reference @ reference / n
    cross = (z - reference) @ z / n / np.sqrt((z - reference) @ (z - reference) / n)
    assert one == pytest.approx(2 * special.ndtr(cross / 2) - 1, abs=0.015)
    assert 2 * special.ndtr(1 / (2 * np.sqrt(1 + m_ref))) - 1 < full - 0.05


def test_glir_agrees_with_scipy_in_the_body_and_goes_on_in_the_tail():
    releases, z, mean, cov, n = gaussian_case()
    got = glir_score(releases, z, mean, cov, n)
    np.testing.assert_allclose(got, twins.glir_score(releases, z, mean, cov, n), rtol=1e-7)
    far = mean + 30 * (z - mean) / np.sqrt(n)
    assert np.isinf(twins.glir_score(z, far, mean, cov, 4000))
    deep = glir_score([far, mean + 0.99 * (far - mean)], far, mean, cov, 4000)
    assert deep[0] == math.inf  # the release is the target
    assert 1000 < deep[1] < math.inf


def test_glir_has_its_law_in_both_worlds_and_the_printed_forms_do_not():
    """[AB25] D.3: n - 1 for n, the distance for its square, the inverse of the cdf."""
    rng = np.random.default_rng(21)
    d, n, rounds = 12, 10, 20_000
    z = rng.normal(size=d) * 1.3
    out = rng.normal(size=(rounds, d)) / np.sqrt(n)
    into = z / n + rng.normal(size=(rounds, d)) * np.sqrt(n - 1) / n
    q = z @ z
    uniform = np.exp(-glir_score(out, z, np.zeros(d), 1.0, n))
    assert stats.kstest(uniform, "uniform").pvalue > 0.001
    # in: n^2/(n-1) |release - z|^2 is non-central with (n-1) Q
    x = stats.ncx2.ppf(np.exp(-glir_score(into, z, np.zeros(d), 1.0, n)), d, n * q) * n / (n - 1)
    assert stats.kstest(x, stats.ncx2(d, (n - 1) * q).cdf).pvalue > 0.001
    squared = ((out - z) ** 2).sum(axis=1)
    assert stats.kstest(stats.ncx2.cdf((n - 1) * squared, d, n * q), "uniform").statistic > 0.1
    unsquared = stats.ncx2.cdf(n * squared, d, n * np.sqrt(q))
    assert stats.kstest(unsquared, "uniform").statistic > 0.5
    assert np.isnan(stats.ncx2.ppf(n * squared, d, n * q)).all()


def test_glir_ranks_as_the_exact_gaussian_ratio():
    releases, z, mean, _, n = gaussian_case(rounds=200)
    law = Normal(mean, np.full(mean.size, 1.5))
    exact = law.log_likelihood_ratio(releases, z, n).sum(axis=1)
    glir = glir_score(releases, z, mean, 2.25, n)
    assert np.array_equal(np.argsort(exact), np.argsort(glir))


# --- mixtures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1e-300, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-12])
@pytest.mark.parametrize(
    "score", [-2000.0, -40.0, -1.0, -1e-9, 1e-12, 0.5, 40.0, 699.0, 701.0, 2e3]
)
def test_mixtures_keep_their_digits(score, rate):
    with mpmath.workdps(400):
        r = mpmath.mpf(rate)
        truth = float(mpmath.log(1 - r + r * mpmath.exp(mpmath.mpf(score))))
    assert mixture_score(score, rate) == pytest.approx(truth, rel=4e-15, abs=1e-300)


def test_mixtures_at_the_ends():
    ends = np.array([-np.inf, 0.0, np.inf])
    assert np.array_equal(mixture_score(ends, 1.0), ends)
    assert np.array_equal(mixture_score(ends, 0.0), np.zeros(3))
    assert np.array_equal(mixture_score(ends, 0.5), [math.log(0.5), 0.0, np.inf])


def gamma_ratio(x, a, n, shape=2):
    """Exact log ratio of the mean of n Gamma(shape) rows, at x and a in standard deviations."""
    root = mpmath.sqrt(shape)
    z, mean = shape + root * a, shape + root * x / mpmath.sqrt(n)

    def log_density(s, count):
        k = shape * count
        return (k - 1) * mpmath.log(s) - s - mpmath.loggamma(k)

    return log_density(n * mean - z, (n - 1)) - log_density(n * mean, n)


def bernoulli_ratio(x, a, n, p):
    """The exact formula, which is smooth: x need not be on the lattice."""
    std = mpmath.sqrt(p * (1 - p))
    mean = p + std * x / mpmath.sqrt(n)
    return mpmath.log(mean / p) if a > 0 else mpmath.log((1 - mean) / (1 - p))


def uniform_ratio(x, a, n):
    """Means of uniform rows on [0, 1] by the Irwin-Hall density."""
    std = 1 / mpmath.sqrt(12)
    total, z = n * (mpmath.mpf(1) / 2 + std * x / mpmath.sqrt(n)), mpmath.mpf(1) / 2 + std * a

    def density(s, count):
        terms = (
            (-1) ** k * mpmath.binomial(count, k) * (s - k) ** (count - 1)
            for k in range(int(mpmath.floor(s)) + 1)
        )
        return mpmath.fsum(terms) / mpmath.factorial(count - 1)

    return mpmath.log(density(total - z, n - 1) / density(total, n))


P = mpmath.mpf(3) / 10


LAWS = {
    "gamma": (gamma_ratio, math.sqrt(2.0), 3.0, (-1.0, 0.5, 2.0), (1000, 16000)),
    "bernoulli": (
        lambda x, a, n: bernoulli_ratio(x, a, n, P),
        float((1 - 2 * P) / mpmath.sqrt(P * (1 - P))),
        float((1 - 6 * P * (1 - P)) / (P * (1 - P))),
        (float(mpmath.sqrt((1 - P) / P)), -float(mpmath.sqrt(P / (1 - P)))),
        (1000, 16000),
    ),
    "uniform": (uniform_ratio, 0.0, -1.2, (-1.0, 0.5, 1.5), (40, 160)),
}


def edgeworth_error(law, n, order, skewness=None):
    """Largest error over some x and a, mean 0 and std 1."""
    exact, l3, l4, targets, _ = LAWS[law]
    l3 = l3 if skewness is None else skewness
    worst = 0.0
    with mpmath.workdps(120):
        for a, x in itertools.product(targets, (-1.5, -0.3, 0.7, 2.0)):
            release = x / math.sqrt(n)
            term = edgeworth_score([release], [a], 0.0, 1.0, l3, l4, n, order=order, terms=True)[0]
            truth = float(exact(mpmath.mpf(release) * mpmath.sqrt(n), mpmath.mpf(a), n))
            worst = max(worst, abs(term - truth))
    return worst


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_edgeworth_errors_shrink_by_half_a_power_an_order(law, order):
    few, many = LAWS[law][4]
    errors = edgeworth_error(law, few, order), edgeworth_error(law, many, order)
    slope = math.log(errors[1] / errors[0]) / math.log(many / few)
    steeper = 0.5 if law == "uniform" and order == 2 else 0.0  # no skewness, half the terms vanish
    assert -(1 + order) / 2 - steeper - 0.12 < slope < -(1 + order) / 2 + 0.12


def test_the_printed_first_edgeworth_polynomial_is_worse_than_none():
    """[AB25] Lemma C.8 prints lambda3 for lambda3/6; without the term, lambda3 is 0 there."""
    n = 1000
    right, none = edgeworth_error("gamma", n, 2), edgeworth_error("gamma", n, 2, skewness=0.0)
    printed = edgeworth_error("gamma", n, 2, skewness=6 * math.sqrt(2.0))
    assert right < none / 5
    assert printed > 4 * none


def test_the_density_of_a_gamma_mean_shows_the_factor_of_a_sixth():
    n, x = 10**6, mpmath.mpf(1) / 2
    with mpmath.workdps(40):
        k = 2 * n
        s = k + mpmath.sqrt(k) * x
        density = mpmath.exp((k - 1) * mpmath.log(s) - s - mpmath.loggamma(k)) * mpmath.sqrt(k)
        first = (density / mpmath.npdf(x) - 1) * mpmath.sqrt(n)
        assert float(first / (mpmath.sqrt(2) * (x**3 - 3 * x))) == pytest.approx(1 / 6, abs=1e-4)


def test_terms_sum_to_the_score_and_agree_with_the_print():
    releases, z, p, n = bits_case(90)
    law = Bernoulli(p)
    for order in (1, 2, 3):
        terms = edgeworth_score(releases, z, *moments(law), n, order=order, terms=True)
        printed = twins.edgeworth_terms(releases, z, *moments(law), n, order)
        np.testing.assert_allclose(terms, printed, atol=1e-14)
        whole = edgeworth_score(releases, z, *moments(law), n, order=order)
        np.testing.assert_allclose(whole, terms.sum(axis=1), atol=1e-13)


def test_order_two_without_skewness_is_the_covariance_score_and_its_variance():
    releases, z, p, n = bits_case(20)
    law = Bernoulli(p)
    flat = edgeworth_score(releases, z, law.mean, law.std, 0.0, 0.0, n, order=2)
    x = np.sqrt(n) * (releases - p) / law.std
    linear = covariance_score(releases, z, p, p * (1 - p), n)
    np.testing.assert_allclose(flat, linear + (1 - x * x).sum(axis=1) / (2 * n), atol=1e-13)


@pytest.mark.parametrize("terms", [False, True])
def test_a_target_whose_square_overflows_is_refused_and_not_its_releases(terms):
    assert edgeworth_score([0.5], [1e100], 0.0, 1.0, 0.0, 0.0, 10) == pytest.approx(-5e198)
    with pytest.raises(ValueError, match="target must be near enough to mean"):
        edgeworth_score([0.5], [1e200], 0.0, 1.0, 0.0, 0.0, 10, terms=terms)
