"""What scores take, what they refuse, and in which words."""

from __future__ import annotations

import math
import re
from functools import partial

import numpy as np
import pytest

from mialeak._kernels import checks
from mialeak.laws import Bernoulli, Presence
from mialeak.scores import (
    bernoulli_score,
    covariance_score,
    edgeworth_score,
    genotype_score,
    glir_score,
    likelihood_ratio_score,
    mixture_score,
    scalar_product_score,
)


def moments(law):
    return law.mean, law.std, law.skewness, law.excess_kurtosis


def all_scores(releases, d=5):
    """Every score of the same releases of 20 rows; means of genotypes are means of bits here."""
    p = np.linspace(0.3, 0.7, d)
    z = np.arange(d) % 2
    law = Bernoulli(p)
    yield bernoulli_score, (z, p, 20)
    yield genotype_score, (z, p, 20)
    yield edgeworth_score, (z, *moments(law), 20)
    yield partial(edgeworth_score, terms=True), (z, *moments(law), 20)
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


def test_scores_that_are_no_numbers_are_refused():
    releases = np.full((7, 5), 0.5)
    releases[5, 3] = 1e308
    p, message = np.full(5, 0.4), "releases must be near enough to mean for a score to be a number"
    rest = np.ones(5), p, p * (1 - p)
    for function, arguments in (
        (covariance_score, (*rest, 20)),
        (glir_score, (*rest, 20)),
        (edgeworth_score, (*rest, 0.1, 0.1, 20)),
    ):
        refused(f"{message}; row 5 is not", function, releases, *arguments)
        refused(
            f"{message}; row 5 is not", function, iter([releases[:4], releases[4:]]), *arguments
        )
        refused(f"{message}; it is not", function, releases[5], *arguments)


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


@pytest.mark.parametrize("cov", [0.0, [0.0, 0.0], np.zeros((2, 2))])
def test_rows_that_do_not_vary_score_nothing(cov):
    """Their mean is certain: a p-value of 1, and a likelihood ratio of 1."""
    row = np.array([1.0, 2.0])
    with np.errstate(all="raise"):
        for function in (glir_score, covariance_score):
            assert np.array_equal(function([row, row], row, row, cov, 5), [0.0, 0.0])
            assert function(row, row, row, cov, 5) == 0.0


def counted(kind, d=5000):
    """Frequencies, a drawn target, and the moments of its law, of bits or of genotypes."""
    rng = np.random.default_rng(12)
    p, draws = rng.uniform(0.02, 0.6, d), 1 if kind == "bits" else 2
    return p, rng.binomial(draws, p) * 1.0, draws * p, draws * p * (1 - p), draws


@pytest.mark.parametrize("d", [10, 200, 5000])
@pytest.mark.parametrize("kind", ["bits", "genotypes"])
def test_honest_moments_are_seen_at_once(kind, d):
    p, target, mean, variance, draws = counted(kind, d)
    release = np.random.default_rng(13).normal(mean, 0.01)
    assert checks.are_of_counts(target, mean, variance)
    assert checks.are_likely_draws(target, p, draws)
    assert checks.is_near(release, mean, 0.25, 6)


def test_moments_at_the_ends_of_their_range_are_left_to_the_checks_in_python():
    """No division by a variance of 0, no comparison with NaN."""
    _, target, mean, variance, _ = counted("bits", 200)
    for end in (0.0, 1.0, -1.0, 3.0, np.nan, np.inf):
        assert not checks.are_of_counts(target, np.where(mean < 0.3, end, mean), variance)
        off = np.where(mean < 0.3, -end, variance)
        assert not checks.are_of_counts(target, mean, off)


def test_few_misread_columns_of_many_are_refused():
    p, target, mean, variance, _ = counted("genotypes")
    release = np.random.default_rng(13).normal(mean, 0.01)
    rare = np.flatnonzero(p < 0.3)[:8]
    turned = release.copy()
    turned[rare] = 2.0 - turned[rare]
    with pytest.raises(ValueError, match="count the same allele as mean"):
        covariance_score(turned, target, mean, variance, 1000)
    coded = target.copy()
    coded[4321] = 9.0
    with pytest.raises(ValueError, match=r"target\[4321\] = 9"):
        covariance_score(release, coded, mean, variance, 1000)


@pytest.mark.parametrize("kind", ["bits", "genotypes"])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda z, m, v, most: (most - z, m, v),
        lambda z, m, v, most: (z, m, np.sqrt(v)),
        lambda z, m, v, most: (z, m / 2, v) if most == 2 else (z, m, 3 * v),
        lambda z, m, v, most: (z, m, v / 2) if most == 2 else (z, m, v / 1000),
    ],
    ids=["allele", "deviations", "mean", "variances"],
)
def test_misread_moments_of_many_columns_are_not_passed_at_once(kind, wrong):
    _, target, mean, variance, draws = counted(kind)
    arguments = wrong(target, mean, variance, draws)
    assert not checks.are_of_counts(*arguments)
    with pytest.raises(ValueError, match=r"be that of|count the allele"):
        covariance_score(mean, *arguments, 1000)


def test_draws_of_the_other_allele_and_carriers_are_not_passed_at_once():
    p, target, *_ = counted("genotypes")
    assert not checks.are_likely_draws(2.0 - target, p, 2)
    assert not checks.are_likely_draws(np.minimum(target, 1.0), p, 2)
    p, target, *_ = counted("bits")
    assert not checks.are_likely_draws(1.0 - target, p, 1)


def test_what_needs_a_conversion_is_left_to_the_checks_in_python():
    p, target, mean, variance, _ = counted("bits")
    for other in (target.tolist(), target.astype(np.float32), np.repeat(target, 2)[::2]):
        assert not checks.are_of_counts(other, mean, variance)
        assert not checks.are_likely_draws(other, p, 1)
        assert not checks.is_near(other, mean, 0.25, 6)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("size", range(6))
def test_counts_are_seen_at_once_and_nothing_else_is_taken_for_them(most, size):
    """A product of three factors underflows for none of these; the last number of a row counts."""
    rng = np.random.default_rng(size)
    counts = rng.integers(0, most + 1, size).astype(float)
    assert checks.are_counts(counts, most)
    assert not checks.are_counts(counts.astype(np.float32), most)
    assert not checks.are_counts(np.zeros((2, 2)), most)
    for place in range(size):
        for other in (5e-324, 1e-200, 0.5, most + 1.0, -1.0, 1.0 + 2.0**-52, 1e300, np.inf, np.nan):
            row = counts.copy()
            row[place] = other
            assert not checks.are_counts(row, most)


@pytest.mark.filterwarnings("ignore:p seems to be of another population")  # and so it is
@pytest.mark.parametrize("n", [5, 60, 2000])
def test_means_of_rows_by_their_own_law_are_no_shares_of_carriers(n):
    rng = np.random.default_rng(n)
    p = rng.uniform(0.05, 0.5, 100)
    other = np.clip(p + rng.normal(0.0, 0.1, 100), 0.02, 0.98)  # of another population
    share, cases = rng.binomial(2 * n, p) / (2 * n), rng.binomial(n, p * (2.0 - p)) / n
    bits, counts = rng.binomial(1, p), rng.binomial(2, p)
    for q in (p, other):
        assert not np.isnan(bernoulli_score(share, bits, q, n))
        assert not np.isnan(genotype_score(2.0 * share, counts, q, n))
        assert not np.isnan(likelihood_ratio_score(cases, counts > 0, Presence(q), n))


def test_answers_whether_an_allele_is_present_are_no_means():
    """Means of few rows are 0 and 1 where these are expected."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.005, 0.05, 60)
    rows = rng.binomial(2, p, (100, 60)).astype(float)
    answers, bits = (rows > 0).any(axis=0) * 1.0, (rows > 0) * 1.0
    for release in (answers, answers[None]):
        with pytest.raises(ValueError, match=r"releases must be means of rows; all 60 are 0 or 1"):
            genotype_score(release, rows[0], p, 100)
        with pytest.raises(ValueError, match=r"below 1/2, as answers are .*until="):
            bernoulli_score(release, bits[0], p * (2 - p), 100)
    genotype_score(rows.mean(axis=0), rows[0], p, 100)
    sure = np.where(np.arange(60) % 2, 0.999, 0.001)
    bernoulli_score(np.rint(sure), np.rint(sure), sure, 5)


def test_chromosomes_in_place_of_persons_are_refused_by_the_release():
    """Of n genotypes, and of twice the persons, the sums are not all even."""
    rng = np.random.default_rng(7)
    p = rng.uniform(0.05, 0.5, 60)
    rows = rng.binomial(2, p, (150, 60)).astype(float)
    release, moments = rows.mean(axis=0), (2 * p, 2 * p * (1 - p))
    with pytest.raises(ValueError, match=r"n must count persons; .* even.*persons, 150"):
        covariance_score(release, rows[0], *moments, 300)
    for n in (150, 151, 450):
        covariance_score(release, rows[0], *moments, n)
    covariance_score(release + 0.001, rows[0], *moments, 300)
