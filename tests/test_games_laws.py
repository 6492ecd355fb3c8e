"""The laws of what games draw, against laws computed row by row."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from mialeak import mean_tradeoff
from mialeak.games import AverageTargetGame, FixedTargetGame
from mialeak.laws import Bernoulli, Genotype, Lattice, Normal, Presence, as_joint
from mialeak.reference import games as twins
from mialeak.scores import bernoulli_score

#: Below it a law is refused; seeds are fixed, so that nothing fails by chance.
LEAST = 1e-3
ROUNDS = 40_000


def sums_of(values, chances, count):
    """Law of a sum of `count` rows: a dict, by plain convolution."""
    total = {0.0: 1.0}
    for _ in range(count):
        following = {}
        for s, a in total.items():
            for v, b in zip(values, chances, strict=True):
                key = round(s + v, 9)
                following[key] = following.get(key, 0.0) + a * b
        total = following
    return total


def means_of(values, chances, k, target=None):
    """Law of the mean of k rows, the target among them if there is one."""
    if target is None:
        return {s / k: a for s, a in sums_of(values, chances, k).items()}
    return {(s + target) / k: a for s, a in sums_of(values, chances, k - 1).items()}


def mixture(one, other, rate):
    """`one` with probability `rate`, else `other`."""
    return {x: rate * one.get(x, 0) + (1 - rate) * other.get(x, 0) for x in {*one, *other}}


def p_value(drawn, law):
    """Chi-square of draws against a law on finitely many numbers, rare ones together."""
    numbers = np.array(sorted(law))
    chances = np.array([law[x] for x in numbers])
    place = np.abs(drawn[:, None] - numbers).argmin(axis=1)
    counts = np.bincount(place, minlength=numbers.size)
    if np.abs(drawn - numbers[place]).max() > 1e-8 or np.any(counts[chances == 0.0]):
        return 0.0  # a number that the law has not
    rare = chances * drawn.size < 8
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(chances[~rare], chances[rare].sum()) * drawn.size
    kept = expected > 0
    if kept.sum() < 2:
        return 1.0
    counts, expected = counts[kept], expected[kept]
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


Q = 0.3 * 1.7
DICE = ([-1.5, 0.0, 1.0], [0.25, 0.45, 0.3])
KINDS = {
    "bits": (Bernoulli([0.3]), [0, 1], [0.7, 0.3], 1.0),
    "genotypes": (Genotype([0.3]), [0, 1, 2], [0.49, 0.42, 0.09], 2.0),
    "presence": (Presence([0.3]), [0, 1], [1 - Q, Q], 0.0),
    "lattice": (Lattice(*DICE), *DICE, -1.5),
    "rare": (Bernoulli([0.004]), [0, 1], [0.996, 0.004], 1.0),
    "constant": (Bernoulli([1.0]), [0, 1], [0.0, 1.0], 1.0),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_rate = pytest.mark.parametrize("rate", [1.0, 0.5])


@each_kind
@each_rate
def test_means_have_the_law_of_means_of_rows_in_both_worlds(kind, rate):
    law, values, chances, target = KINDS[kind]
    n = 8
    k = round(n * rate)
    # Another column on either side: a draw must not depend on its neighbours.
    beside = Bernoulli([0.5])
    game = FixedTargetGame([1, target, 0], [beside, law, beside], n, sampling_rate=rate)
    rounds = game.play(ROUNDS, rng=1)
    drawn = rounds.releases[:, 1]
    out = means_of(values, chances, k)
    into = mixture(means_of(values, chances, k, target), out, rate)
    assert p_value(drawn[~rounds.member], out) > LEAST
    assert p_value(drawn[rounds.member], into) > LEAST


def test_a_slightly_wrong_law_would_be_seen():
    law, values, chances, target = KINDS["bits"]
    rounds = FixedTargetGame([target], law, 8).play(ROUNDS, rng=1)
    drawn = rounds.releases[:, 0]
    assert p_value(drawn[~rounds.member], means_of(values, [0.69, 0.31], 8)) < LEAST
    assert p_value(drawn[rounds.member], means_of(values, chances, 8, 0.0)) < LEAST
    assert p_value(drawn[rounds.member], means_of(values, chances, 8)) < LEAST


@pytest.mark.parametrize("p", [0.02, 0.5, 0.93])
def test_sums_of_many_rows_are_binomial(p):
    n = 1000
    rounds = FixedTargetGame([1.0], Bernoulli([p]), n).play(ROUNDS, rng=2)
    drawn = np.rint(rounds.releases[:, 0] * n)
    for member, shift in ((False, 0), (True, 1)):
        counts = np.arange(n + 1)
        chances = stats.binom.pmf(counts - shift, n - shift, p)
        law = dict(zip(counts.astype(float), chances, strict=True))
        assert p_value(drawn[rounds.member == member], law) > LEAST


@each_rate
@pytest.mark.parametrize("noise", [None, 0.04])
def test_normal_columns_have_the_law_of_their_mean(rate, noise):
    n, mean, std, target = 10, 3.0, 2.0, 8.0
    game = FixedTargetGame(
        [target], Normal([mean], [std]), n, sampling_rate=rate, release_noise_cov=noise
    )
    rounds = game.play(ROUNDS, rng=3)
    drawn, k = rounds.releases[:, 0], round(n * rate)
    out = stats.norm(mean, np.sqrt(std**2 / k + (noise or 0)))
    centre, spread = mean + (target - mean) / k, np.sqrt(std**2 * (k - 1) / k**2 + (noise or 0))
    into = stats.norm(centre, spread)
    assert stats.kstest(drawn[~rounds.member], out.cdf).pvalue > LEAST

    def mixed(x):
        return rate * into.cdf(x) + (1 - rate) * out.cdf(x)

    assert stats.kstest(drawn[rounds.member], mixed).pvalue > LEAST
    assert stats.kstest(drawn[rounds.member], out.cdf).pvalue < LEAST


@each_rate
def test_noise_is_added_to_lattice_means(rate):
    n, spread = 8, 0.05
    law, values, chances, target = KINDS["genotypes"]
    game = FixedTargetGame([target], law, n, sampling_rate=rate, release_noise_cov=[spread**2])
    rounds = game.play(ROUNDS, rng=4)
    k = round(n * rate)
    out = means_of(values, chances, k)
    into = mixture(means_of(values, chances, k, target), out, rate)
    for member, exact in ((False, out), (True, into)):

        def cdf(x, exact=exact):
            return sum(a * stats.norm.cdf(x, m, spread) for m, a in exact.items())

        assert stats.kstest(rounds.releases[rounds.member == member, 0], cdf).pvalue > LEAST


@pytest.mark.parametrize("singular", [False, True])
def test_correlated_noise_has_its_covariance(singular):
    root = np.array([[1.0, 0.0, 0.0], [-0.8, 0.6, 0.0], [0.5, 0.1, 0.0 if singular else 0.4]])
    cov = 0.01 * root @ root.T
    if singular:
        cov[0, 1] = cov[1, 0] = (cov[0, 1] + cov[1, 0]) / 2
    p = np.array([0.0, 1.0, 0.0])  # nothing but the noise varies
    game = FixedTargetGame([0, 1, 0], Bernoulli(p), 5, release_noise_cov=cov)
    noise = game.play(ROUNDS, rng=5).releases - p
    found = np.cov(noise.T)
    assert np.abs(found - cov).max() < 5 * 0.01 * np.sqrt(2 / ROUNDS)
    assert np.abs(noise.mean(axis=0)).max() < 4 * 0.1 / np.sqrt(ROUNDS)
    if singular:
        assert np.linalg.matrix_rank(found, tol=1e-12) == 2


def test_rounded_genotypes_are_the_rounding_of_exact_means():
    n, law = 16, Genotype([0.4], decimals=1)
    rounds = FixedTargetGame([2.0], law, n).play(ROUNDS, rng=6)
    raw = FixedTargetGame([2.0], Genotype([0.4]), n).play(ROUNDS, rng=6)
    expected = [float(round(Fraction(float(mean)), 1)) for mean in raw.releases[:, 0]]
    assert np.array_equal(rounds.releases[:, 0], expected)
    assert 0.2 in rounds.releases  # 0.25 goes to the even digit
    assert 0.8 in rounds.releases  # and 0.75 up


# --- targets and references of a round ---------------------------------------------------------


@each_kind
@each_rate
def test_average_targets_have_the_law_of_rows_and_are_in_the_release(kind, rate):
    law, values, chances, _ = KINDS[kind]
    n = 6
    k = round(n * rate)
    rounds = AverageTargetGame([Bernoulli([0.5]), law], n, sampling_rate=rate).play(ROUNDS, rng=7)
    targets, drawn = rounds.targets[:, 1], rounds.releases[:, 1]
    rows = dict(zip(map(float, values), chances, strict=True))
    out = means_of(values, chances, k)
    for member in (False, True):
        of_world = rounds.member == member
        assert p_value(targets[of_world], rows) > LEAST
        for value, chance in zip(values, chances, strict=True):
            if chance < 0.01:
                continue
            exact = out
            if member:
                exact = mixture(means_of(values, chances, k, value), out, rate)
            assert p_value(drawn[of_world & (np.abs(targets - value) < 1e-9)], exact) > LEAST


def test_average_targets_of_normal_columns():
    n, mean, std = 5, 1.0, 2.0
    rounds = AverageTargetGame(Normal([mean], [std]), n).play(ROUNDS, rng=8)
    targets, drawn = rounds.targets[:, 0], rounds.releases[:, 0]
    assert stats.kstest(targets, stats.norm(mean, std).cdf).pvalue > LEAST
    assert stats.kstest(drawn, stats.norm(mean, std / np.sqrt(n)).cdf).pvalue > LEAST
    into, out = rounds.member, ~rounds.member
    rest = (n * drawn - targets)[into] / (n - 1)
    assert stats.kstest(rest, stats.norm(mean, std / np.sqrt(n - 1)).cdf).pvalue > LEAST
    assert abs(np.corrcoef(targets[out], drawn[out])[0, 1]) < 4 / np.sqrt(out.sum())
    expected = 1 / np.sqrt(n)
    assert abs(np.corrcoef(targets[into], drawn[into])[0, 1] - expected) < 4 / np.sqrt(into.sum())


@each_kind
def test_references_are_means_of_fresh_rows(kind):
    law, values, chances, target = KINDS[kind]
    rounds = FixedTargetGame([target], law, 8, n_reference=3).play(ROUNDS, rng=9)
    references = rounds.references[:, 0]
    for member in (False, True):
        chosen = references[rounds.member == member]
        assert p_value(chosen, means_of(values, chances, 3)) > LEAST
    if np.ptp(references) > 0:
        noise = 4 / np.sqrt(ROUNDS)
        assert abs(np.corrcoef(references, rounds.releases[:, 0])[0, 1]) < noise


@each_kind
def test_rows_have_the_law_of_rows(kind):
    law, values, chances, _ = KINDS[kind]
    rows = as_joint([Normal([1.0], [2.0]), law]).draw(ROUNDS, rng=10)
    assert p_value(rows[:, 1], dict(zip(map(float, values), chances, strict=True))) > LEAST
    assert stats.kstest(rows[:, 0], stats.norm(1.0, 2.0).cdf).pvalue > LEAST


# --- the joint law, and what follows from it ---------------------------------------------------


def outcomes(p, n, target):
    """Every release of bits with its probabilities out and in."""
    counts = itertools.product(range(n + 1), repeat=len(p))
    for k in counts:
        out = np.prod(stats.binom.pmf(k, n, p))
        into = np.prod(stats.binom.pmf(np.subtract(k, target), n - 1, p))
        yield tuple(x / n for x in k), out, into


@pytest.mark.parametrize(("p", "n"), [([0.3, 0.6], 3), ([0.2, 0.5, 0.9], 2), ([0.4], 12)])
def test_all_outcomes_of_a_small_game(p, n):
    """The joint law of columns, the advantage of the best attack, and the ranks of its score."""
    target = np.round(1 - np.array(p))
    game = FixedTargetGame(target, Bernoulli(p), n)
    rounds = game.play(ROUNDS, rng=11)
    table = list(outcomes(p, n, target))
    code = (n + 1) ** np.arange(len(p))

    def numbers(releases):
        return np.rint(np.asarray(releases) * n) @ code

    for member, column in ((False, 1), (True, 2)):
        law = {float(numbers(row[0])): row[column] for row in table}
        assert p_value(numbers(rounds.releases[rounds.member == member]), law) > LEAST
    advantage = sum(abs(into - out) for _, out, into in table) / 2
    releases = np.array([row[0] for row in table])
    scores = bernoulli_score(releases, target, np.array(p), n)
    ratios = np.array([into / out for _, out, into in table])
    np.testing.assert_allclose(np.exp(scores), ratios, rtol=1e-12)
    best = sum(into - out for score, (_, out, into) in zip(scores, table, strict=True) if score > 0)
    assert best == pytest.approx(advantage, rel=1e-12)
    guess = bernoulli_score(rounds.releases, target, np.array(p), n) > 0
    found = guess[rounds.member].mean() - guess[~rounds.member].mean()
    assert abs(found - advantage) < 4 * np.sqrt(0.5 / (ROUNDS / 2))


def test_rounds_agree_with_rows_drawn_one_by_one():
    p, n, target = np.array([0.2, 0.5, 0.7]), 5, np.array([1.0, 0.0, 1.0])
    rounds = FixedTargetGame(target, Bernoulli(p), n).play(ROUNDS, rng=12)
    releases, member = twins.play_bits(np.random.default_rng(13), target, p, n, 4000)
    for world in (False, True):
        one = rounds.releases[rounds.member == world] @ [1.0, 0.3, 0.1]
        other = releases[member == world] @ [1.0, 0.3, 0.1]
        values = np.unique(np.round(np.concatenate([one, other]), 9))
        both = [np.searchsorted(values, np.round(x, 9)) for x in (one, other)]
        counts = np.array([np.bincount(x, minlength=values.size) for x in both])
        counts = counts[:, counts.sum(axis=0) >= 40]
        assert stats.chi2_contingency(counts).pvalue > LEAST


def band(rounds):
    """How far both axes of a measured curve may be from the truth (Dvoretzky and others, 1e-3)."""
    return sum(
        np.sqrt(np.log(2e3) / (2 * np.count_nonzero(x))) for x in (rounds.member, ~rounds.member)
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sampling_rate": 0.5},
        {"release_noise_cov": 0.0005},
        {"release_noise_cov": 0.0005, "sampling_rate": 0.25},
        {"n_reference": 200},
    ],
    ids=lambda options: ", ".join(options) or "plain",
)
def test_measured_tradeoffs_are_within_the_band_of_the_theory(options):
    n, d = 400, 1200
    rng = np.random.default_rng(14)
    p = rng.uniform(0.25, 0.75, d)
    target = np.where(rng.random(d) < p, 1.0, 0.0)
    weights = (target - p) / (p * (1 - p))

    def attack(releases, references=p):
        return (releases - references) @ weights

    game = FixedTargetGame(target, Bernoulli(p), n, **options)
    rounds = game.play(8000, score=attack, rng=15)
    theory = mean_tradeoff(target, p, p * (1 - p), n, **options)
    fpr = np.linspace(0.01, 0.99, 99)
    measured = rounds.tradeoff()
    assert np.abs(measured.power(fpr) - theory.power(fpr)).max() < band(rounds) + 0.01
    assert measured.advantage == pytest.approx(theory.advantage, abs=0.035)


def test_a_score_for_another_target_achieves_what_theory_says_of_a_mistaken_attacker():
    n, d = 400, 1200
    rng = np.random.default_rng(16)
    p = rng.uniform(0.25, 0.75, d)
    target = np.where(rng.random(d) < p, 1.0, 0.0)
    assumed = np.where(rng.random(d) < 0.3, 1 - target, target)
    weights = (assumed - p) / (p * (1 - p))
    game = FixedTargetGame(target, Bernoulli(p), n)
    rounds = game.play(8000, score=lambda releases: releases @ weights, rng=17)
    theory = mean_tradeoff(target, p, p * (1 - p), n, assumed_target=assumed)
    assert rounds.tradeoff().advantage == pytest.approx(theory.advantage, abs=0.035)
    right = mean_tradeoff(target, p, p * (1 - p), n)
    assert right.advantage > theory.advantage + 0.1


def test_average_targets_are_attacked_as_well_as_their_mean_score_says():
    n, d = 400, 1200
    p = np.random.default_rng(18).uniform(0.25, 0.75, d)
    weights = 1 / (p * (1 - p))

    def attack(releases, targets):
        v = targets - p
        return (v * (releases - p - v / (2 * n))) @ weights

    measured = AverageTargetGame(Bernoulli(p), n).play(8000, score=attack, rng=19).tradeoff()
    gaussian = 2 * stats.norm.cdf(np.sqrt(d / n) / 2) - 1
    assert measured.advantage == pytest.approx(gaussian, abs=0.035)
