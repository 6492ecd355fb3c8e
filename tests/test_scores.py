"""Scores of released means: exact or of the right order, and what is refused."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import test_bits
from scipy import special, stats

import mialeak
from mialeak._kernels import scores as kernels
from mialeak.marginals import Bernoulli, Normal
from mialeak.reference import scores as twins
from mialeak.scores import (
    bernoulli_score,
    covariance_score,
    edgeworth_score,
    edgeworth_terms,
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


def test_a_score_does_not_depend_on_its_neighbours():
    releases, z, p, n = bits_case(129, 9)
    releases[4] = 0.0
    whole = bernoulli_score(releases, z, p, n)
    for t, row in enumerate(releases):
        assert bernoulli_score(row, z, p, n) == whole[t]


CODE = """
import hashlib, numpy as np
from mialeak._kernels import scores as kernels
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
print(kernels.isa(), digest.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    found = {}
    for isa in kernels.isa_available():
        run = test_bits.in_fresh_python(CODE, isa)
        assert run.stdout.split()[:1] == [isa], run.stderr
        found[isa] = run.stdout.split()[1]
    assert len(set(found.values())) == 1, found


# --- Bernoulli and genotypes: exact ------------------------------------------------------------


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else Fraction(0)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
@pytest.mark.parametrize("z", [0, 1])
def test_bernoulli_score_is_the_ratio_of_probabilities(n, z):
    p = Fraction(5, 16)
    for k in range(n + 1):
        out, into = binomial(k, n, p), binomial(k - z, n - 1, p)
        got = bernoulli_score([k / n], [z], [float(p)], n)
        assert got == pytest.approx(math.log(into / out) if into else -math.inf, abs=1e-15)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
@pytest.mark.parametrize("z", [0, 1, 2])
def test_genotype_score_is_the_ratio_of_probabilities(n, z):
    p = Fraction(5, 16)
    for k in range(2 * n + 1):
        out, into = binomial(k, 2 * n, p), binomial(k - z, 2 * n - 2, p)
        truth = math.log(into / out) if into else -math.inf
        for kind in (np.float64, np.float32):
            release = np.array([k / n], kind)
            assert genotype_score(release, [z], [float(p)], n) == pytest.approx(truth, abs=1e-15)


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("z", [0, 1, 2])
def test_rounded_genotypes_have_the_summed_probabilities(decimals, z):
    n, p = 30, Fraction(3, 8)
    cells = {}
    for k in range(2 * n + 1):  # Fraction rounds ties to the even digit
        cells.setdefault(round(Fraction(k, n), decimals), []).append(k)
    for mean, counts in cells.items():
        out = sum(binomial(k, 2 * n, p) for k in counts)
        into = sum(binomial(k - z, 2 * n - 2, p) for k in counts)
        got = genotype_score([float(mean)], [z], [float(p)], n, decimals=decimals)
        truth = math.log(into / out) if into else -math.inf
        assert got == pytest.approx(truth, abs=1e-13)


def test_enough_decimals_round_nothing():
    rng = np.random.default_rng(4)
    n, p = 40, rng.uniform(0.1, 0.9, 30)
    releases, z = rng.binomial(2 * n, p, (5, 30)) / n, rng.binomial(2, p)
    np.testing.assert_allclose(
        genotype_score(releases, z, p, n, decimals=3),
        genotype_score(releases, z, p, n),
        atol=1e-12,
    )


@pytest.mark.parametrize("p", [1e-300, 1e-20, 1 - 2.0**-53, 0.5])
def test_extreme_probabilities_take_logs_one_by_one(p):
    """Ratios of 1e300 each, far outside what can be multiplied."""
    d, n = 64, 1000
    for z, release in ((1, 0.25), (0, 0.25), (1, 1.0), (0, 0.0)):
        chance = mpmath.mpf(p) if z else 1 - mpmath.mpf(p)
        value = mpmath.mpf(release) if z else 1 - mpmath.mpf(release)
        truth = float(d * mpmath.log(value / chance))
        got = bernoulli_score(np.full(d, release), np.full(d, z), p, n)
        assert got == pytest.approx(truth, rel=1e-14)
        with mpmath.workdps(40):
            k, q = 250, 1 - mpmath.mpf(p)
            ratio = mpmath.mpf(k) * (k - 1) / (2 * n * (2 * n - 1)) / mpmath.mpf(p) ** 2
            if z == 0:
                ratio = mpmath.mpf(2 * n - k) * (2 * n - k - 1) / (2 * n * (2 * n - 1)) / q**2
            truth = float(d * mpmath.log(ratio))
        got = genotype_score(np.full(d, 0.25), np.full(d, 2 * z), p, n)
        assert got == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("release", [2.0**-63, 2.0**-64, 2.0**-65, 2.0**-1060, 5e-324])
def test_both_sides_of_the_ratios_that_are_multiplied(release):
    """P = 1/2 shifts the ratio by one power of two."""
    for d in (1, 8, 64, 65):
        got = bernoulli_score(np.full(d, release), np.ones(d), 0.5, 10)
        assert got == pytest.approx(d * (math.log(release) + math.log(2)), rel=1e-14)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 3), (5, 2), (12, 1), (12, 3)])
def test_all_outcomes_of_a_bernoulli_mean(n, d):
    """Advantage, best attack and score ranks by enumeration in exact fractions."""
    p = [Fraction(3, 8), Fraction(1, 2), Fraction(13, 16)][:d]
    z = [1, 0, 1][:d]
    outcomes = list(itertools.product(range(n + 1), repeat=d))
    out = [math.prod(binomial(k, n, q) for k, q in zip(o, p, strict=True)) for o in outcomes]
    into = [
        math.prod(binomial(k - b, n - 1, q) for k, b, q in zip(o, z, p, strict=True))
        for o in outcomes
    ]
    assert sum(out) == sum(into) == 1
    got = bernoulli_score(np.array(outcomes) / n, z, [float(q) for q in p], n)
    ratio = [a / b for a, b in zip(into, out, strict=True)]
    order = sorted(range(len(outcomes)), key=lambda i: ratio[i])
    assert np.all(np.diff(got[order][np.isfinite(got[order])]) > -1e-14)
    best = sum(a - b for a, b in zip(into, out, strict=True) if a > b)
    attack = sum(a - b for a, b, s in zip(into, out, got, strict=True) if s > 1e-14)  # 1e-14: ties
    assert attack == best
    finite = np.isfinite(got)
    assert np.all((np.array([float(r) for r in ratio]) == 0) == ~finite)
    # under the world out, e^score has expectation 1
    assert np.exp(got) @ [float(x) for x in out] == pytest.approx(1.0, rel=1e-13)


def test_impossible_is_minus_infinity_and_a_sure_column_says_nothing():
    assert bernoulli_score([0.0, 0.5], [1, 1], [0.5, 0.5], 4) == -math.inf
    assert genotype_score([0.25, 0.5], [2, 1], [0.5, 0.5], 4) == -math.inf
    alone = bernoulli_score([0.75], [1], [0.5], 4)
    assert bernoulli_score([0.75, 0.0, 1.0], [1, 0, 1], [0.5, 0.0, 1.0], 4) == alone
    alone = genotype_score([0.75], [1], [0.5], 4)
    assert genotype_score([0.75, 0.0, 2.0], [1, 0, 2], [0.5, 0.0, 1.0], 4) == alone


# --- Edgeworth ---------------------------------------------------------------------------------


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
            term = edgeworth_terms([release], [a], 0.0, 1.0, l3, l4, n, order=order)[0]
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
        terms = edgeworth_terms(releases, z, *moments(law), n, order=order)
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


# --- what comes in -----------------------------------------------------------------------------


def all_scores(releases, d=5):
    """Every score of the same releases of 20 rows; means of genotypes are means of bits here."""
    p = np.linspace(0.3, 0.7, d)
    z = np.arange(d) % 2
    law = Bernoulli(p)
    yield bernoulli_score, (z, p, 20)
    yield genotype_score, (z, p, 20)
    yield edgeworth_score, (z, *moments(law), 20)
    yield edgeworth_terms, (z, *moments(law), 20)
    yield covariance_score, (z, p, p * (1 - p), 20)
    yield covariance_score, (z, p, np.diag(p * (1 - p)) + 0.01, 20)
    yield glir_score, (z, p, p * (1 - p), 20)
    yield scalar_product_score, (z, p)


def test_blocks_maps_layouts_and_single_precision(tmp_path):
    releases = np.random.default_rng(3).integers(1, 20, (7, 5)) / 20
    path = tmp_path / "releases.npy"
    np.save(path, releases)
    padded = np.full((7, 10), 7.0)
    padded[:, ::2] = releases
    for function, rest in all_scores(releases):
        whole = function(releases, *rest)
        assert whole.shape[0] == 7
        # SciPy's BLAS and the contours of GLiR serve several releases at once
        bits = 0 if function not in (glir_score, covariance_score) else 1e-12

        def same(got, whole=whole, bits=bits):
            np.testing.assert_allclose(got, whole, rtol=bits, atol=bits)

        same(function(iter([releases[:3], releases[3], releases[4:]]), *rest))
        same(function(np.load(path, mmap_mode="r"), *rest))
        for awkward in (np.asfortranarray(releases), padded[:, ::2], releases.tolist()):
            same(function(awkward, *rest))
        same(function(releases.astype(">f8"), *rest))
        np.testing.assert_allclose(function(releases[2], *rest), whole[2], rtol=bits, atol=bits)
        single = function(releases.astype(np.float32), *rest)
        np.testing.assert_allclose(single, whole, atol=1e-5)
        assert function(np.empty((0, 5)), *rest).shape == (0, *whole.shape[1:])
        assert function(iter(()), *rest).shape == (0, *whole.shape[1:])


def test_single_precision_is_widened_exactly():
    releases = np.random.default_rng(3).random((6, 70)).astype(np.float32)
    z = np.arange(70) % 2
    for rows in (releases, releases[:1]):
        wide = rows.astype(np.float64)
        assert np.array_equal(bernoulli_score(rows, z, 0.5, 9), bernoulli_score(wide, z, 0.5, 9))
        assert np.array_equal(
            edgeworth_score(rows, z, 0.5, 0.5, 0.0, -2.0, 9),
            edgeworth_score(wide, z, 0.5, 0.5, 0.0, -2.0, 9),
        )


def refused(text, function, *arguments, **keywords):
    with pytest.raises(ValueError, match=re.escape(text)):
        function(*arguments, **keywords)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_releases_that_are_not_finite_are_named(bad):
    releases = np.full((7, 5), 0.5)
    releases[5, 3] = bad
    for function, rest in all_scores(releases):
        refused(f"got releases[5, 3] = {bad}", function, releases, *rest)
        refused(f"got releases[5, 3] = {bad}", function, iter([releases[:4], releases[4:]]), *rest)
        refused(f"got releases[3] = {bad}", function, releases[5], *rest)


def test_shapes_are_named():
    for function, rest in all_scores(None):
        refused("releases must have 5 columns", function, np.full((2, 4), 0.5), *rest)
        refused("its shape is (1, 2, 5)", function, np.full((1, 2, 5), 0.5), *rest)
        refused("target must have", function, np.full((2, 4), 0.5), np.zeros((2, 5)), *rest[1:])


def test_bad_bernoulli_input_is_named():
    refused(
        "target must be 0 or 1; got target[1] = 0.5", bernoulli_score, [0.5, 0.5], [0, 0.5], 0.5, 4
    )
    refused("target must be possible; got target[1] = 1.0. With p[1] = 0.0", bernoulli_score,
            [0.5, 0.5], [0, 1], [0.5, 0.0], 4)  # fmt: skip
    refused("target must be possible; got target[0] = 0.0", bernoulli_score, [0.5], [0], [1.0], 4)
    for bad in (-0.25, 1.25):
        for z in (0, 1):
            refused(f"releases must be between 0 and 1; got releases[0] = {bad}", bernoulli_score,
                    [bad], [z], 0.5, 4)  # fmt: skip
    refused("releases must be possible; all rows", bernoulli_score, [0.25], [0], [0.0], 4)
    refused(
        "p must be between 0 and 1; got p[1] = 1.5",
        bernoulli_score,
        [0.5] * 2,
        [0, 1],
        [0.5, 1.5],
        4,
    )
    refused("p must be 0 or at least 2**-1000", bernoulli_score, [0.5], [0], [1e-310], 4)
    refused(
        "p must be a number or have 2 entries", bernoulli_score, [0.5] * 2, [0, 1], [0.5] * 3, 4
    )
    refused("n must be between 2", bernoulli_score, [0.5], [0], [0.5], 1)


def test_negative_zero_is_zero():
    assert bernoulli_score([-0.0], [0], [0.5], 4) == bernoulli_score([0.0], [0], [0.5], 4)
    assert bernoulli_score([-0.0], [1], [0.5], 4) == -math.inf
    assert genotype_score([-0.0], [1], [0.5], 4) == -math.inf


def test_bad_genotype_input_is_named():
    rule, remedy = "mean of 4 counts 0, 1 or 2", "Pass decimals= if the means were rounded"
    for z in (0, 1, 2):
        for bad in (0.3, -0.25, -0.5, 2.25, 2.5, 0.05):
            refused(f"{rule}; got releases[1, 1] = {bad}. {remedy}", genotype_score,
                    [[0.5, 0.5], [0.5, bad]], [1, z], 0.5, 4)  # fmt: skip
    refused("target must be 0, 1 or 2; got target[0] = 3.0", genotype_score, [0.5], [3], 0.5, 4)
    refused("target must be possible; got target[0] = 1.0", genotype_score, [0.5], [1], 0.0, 4)
    refused("releases must be possible", genotype_score, [0.5], [2], 1.0, 4)
    refused(
        "at most 1 decimals; got releases[0] = 0.25",
        genotype_score,
        [0.25],
        [1],
        0.5,
        4,
        decimals=1,
    )
    refused(
        "rounded to 1 decimals; got releases[0] = 0.1",
        genotype_score,
        [0.1],
        [1],
        0.5,
        4,
        decimals=1,
    )
    refused("releases must be possible", genotype_score, [0.5], [2], 1.0, 4, decimals=1)
    refused("float32 is not", genotype_score, np.array([0.5], np.float32), [1], 0.5, 10**6)
    refused("decimals must be between 0 and 15", genotype_score, [0.5], [1], 0.5, 4, decimals=-1)
    refused("decimals must be fewer", genotype_score, [0.5], [1], 0.5, 10**6, decimals=15)


def test_other_bad_input_is_named():
    flat = (0.0, 1.0, 0.0, 0.0, 10)
    refused("order must be between 1 and 3", edgeworth_score, [0.5], [1.0], *flat, order=4)
    refused("std must be greater than 0", edgeworth_score, [0.5], [1.0], 0.0, 0.0, 0.0, 0.0, 10)
    refused("skewness must be finite", edgeworth_score, [0.5], [1.0], 0.0, 1.0, np.nan, 0.0, 10)
    refused("target must have at least one column", scalar_product_score, [], [], 0.0)
    refused("reference must be a number or have 1", scalar_product_score, [0.5], [1.0], [0.0, 1.0])
    refused("rate must be between 0 and 1", mixture_score, 0.5, 1.5)
    refused("score must not be NaN; got score[1]", mixture_score, [0.5, np.nan], 0.5)
