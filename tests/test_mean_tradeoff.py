"""Trade-off curves of a released mean against played games, and what the papers print wrong."""

from __future__ import annotations

import re
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from mpmath import mp
from scipy import special

from mialeak.means import (
    gaussian_release_tradeoff,
    leakage_score,
    mean_tradeoff,
)
from mialeak.reference import mean as twins
from mialeak.tradeoff import GaussianTradeOff, SubsampledTradeOff

RNG = np.random.default_rng(21)
ROUNDS = 40_000


def advantage(mu):
    return special.erf(mu / np.sqrt(8))


def play(z, n, rows=None, noise=0.0, rounds=ROUNDS, seed=0):
    """Means of `rows` of n standard normal rows, plus noise: shape (2, rounds, d), out and in.

    The mean of the other rows is drawn as one normal, exactly; the target is among the rows drawn
    with probability ``rows / n``.
    """
    rng, rows = np.random.default_rng(seed), rows or n
    means = rng.normal(size=(2, rounds, len(z))) / np.sqrt(rows)
    drawn = rng.random(rounds) < rows / n
    others = rng.normal(size=(rounds, len(z))) * np.sqrt(rows - 1) / rows
    means[1] = np.where(drawn[:, None], others + z / rows, means[1])
    return means + noise * rng.normal(size=means.shape)


def best_advantage(scores):
    """Largest difference of the two empirical distributions, and its standard error."""
    out, into = np.sort(scores[0]), np.sort(scores[1])
    at = np.concatenate([out, into])
    gap = np.searchsorted(out, at) - np.searchsorted(into, at)
    return np.abs(gap).max() / out.size, np.sqrt(0.5 / out.size)


def linear_score(means, z, rows, noise=0.0):
    """Equation 5 of [AB25] for standard normal columns of mean 0."""
    total = 1.0 + rows * noise**2
    return (means @ z - z @ z / (2 * rows)) / total


def target(length, d=20):
    z = RNG.normal(size=d)
    return z * length / np.linalg.norm(z)


def test_curve_is_that_of_the_score():
    z, p = (RNG.random((3, 50)) < 0.5) * 1.0, RNG.uniform(0.2, 0.8, 50)
    curve = mean_tradeoff(z, p, p * (1 - p), 100)
    assert isinstance(curve, GaussianTradeOff)
    assert curve.kind == "asymptotic"
    np.testing.assert_allclose(curve.mu**2, leakage_score(z, p, p * (1 - p), 100), rtol=1e-13)


@pytest.mark.parametrize(
    ("rows", "noise"), [(200, 0.0), (50, 0.0), (200, 0.1), (50, 0.2), (20, 0.0)]
)
def test_noise_and_sub_sampling_agree_with_a_played_game(rows, noise):
    n, z = 200, target(30.0)
    curve = mean_tradeoff(
        z, np.zeros(20), 1.0, n, release_noise_cov=noise**2 or None, sampling_rate=rows / n
    )
    scores = linear_score(play(z, n, rows, noise), z, rows, noise)
    measured, error = best_advantage(scores)
    # Upwards the maximum over thresholds adds a little, and the limit is off by d/(2 rows^2).
    assert -4 * error < measured - curve.advantage < 6 * error
    for fpr in (0.01, 0.1, 0.5):
        power = (scores[1] > np.quantile(scores[0], 1 - fpr)).mean()
        assert power == pytest.approx(curve.power(fpr), abs=6 * error)


def test_twin_agrees_on_every_option():
    mixing = RNG.normal(size=(4, 4))
    cov, noise = mixing @ mixing.T, np.diag([0.01, 0.02, 0.0, 0.03])
    z, t, mean = RNG.normal(size=(3, 4)) * 3
    options = {"release_noise_cov": noise, "assumed_target": t, "n_reference": 70}
    curve = mean_tradeoff(z, mean, cov, 40, sampling_rate=0.25, **options)
    assert isinstance(curve, SubsampledTradeOff)
    assert curve.rate == 0.25
    assert curve.kind == "asymptotic"
    truth = twins.mean_shift(z, t, mean, cov, 10, noise, 70)
    assert curve.base.mu == pytest.approx(truth, rel=1e-11)


def test_published_sub_sampling_exceeds_the_rate_and_a_played_game_does_not():
    """[AB25] Theorem 4.2, [AB24] Theorem 4.3.

    The release says nothing unless the target is drawn: no advantage is above the rate.
    """
    n, rows, z = 200, 50, target(np.sqrt(1000.0))
    ours = mean_tradeoff(z, np.zeros(20), 1.0, n, sampling_rate=0.25)
    printed = mean_tradeoff(
        z, np.zeros(20), 1.0, n, sampling_rate=0.25, sampling="columnwise-as-published"
    )
    assert printed.advantage == pytest.approx(advantage(np.sqrt(0.25 * 5.0)), rel=1e-12)
    assert printed.advantage > 0.42 > 0.25 > ours.advantage > 0.24
    measured, error = best_advantage(linear_score(play(z, n, rows), z, rows))
    assert measured < 0.25 + 4 * error
    assert measured == pytest.approx(ours.advantage, abs=5 * error)


def test_published_sub_sampling_is_right_if_each_column_draws_its_own_rows():
    n, rows, d, rounds = 2000, 400, 400, 4000
    rng = np.random.default_rng(8)
    z = np.full(d, np.sqrt(2.0 * n / d))
    means = rng.normal(size=(2, rounds, d)) / np.sqrt(rows)
    drawn = rng.random((rounds, d)) < rows / n
    others = rng.normal(size=(rounds, d)) * np.sqrt(rows - 1) / rows
    means[1] = np.where(drawn, others + z / rows, means[1])
    log_ratios = z * means - z * z / (2 * rows)
    scores = np.log1p(rows / n * np.expm1(log_ratios)).sum(axis=2)
    measured, error = best_advantage(scores)
    printed = mean_tradeoff(
        z, np.zeros(d), 1.0, n, sampling_rate=0.2, sampling="columnwise-as-published"
    )
    assert measured == pytest.approx(printed.advantage, abs=5 * error)


def test_deltas_of_a_sub_sampled_mean_are_integrals_and_the_published_curve_is_no_bound():
    """[AB24] Remark 4.4: sqrt(rate m)-Gaussian claims a delta twenty times too small."""
    curve = mean_tradeoff([np.sqrt(3 * 25.0)], [0.0], 1.0, 100, sampling_rate=0.25)
    assert curve.base.mu**2 == pytest.approx(3.0)
    with mp.workdps(30):
        mu, rate = mp.sqrt(3), mp.mpf(1) / 4

        def into(x):
            return (1 - rate) * mp.npdf(x) + rate * mp.npdf(x - mu)

        for epsilon in (0.05, 0.28, 1.0):
            grown = mp.exp(epsilon)
            for direction in ("in", "out"):
                one, other = (into, mp.npdf) if direction == "in" else (mp.npdf, into)
                ratio = (grown if direction == "in" else 1 / grown) - 1 + rate
                root = (mp.log(ratio / rate) + mu**2 / 2) / mu if ratio > 0 else -14
                ends = [root, 14] if direction == "in" else [-14, root]
                truth = mp.quad(lambda x, a=one, b=other, g=grown: a(x) - g * b(x), ends)
                got = curve.delta(epsilon, direction=direction)
                assert got == pytest.approx(float(truth), rel=1e-10, abs=1e-25)
    assert curve.delta(1.0) > 20 * GaussianTradeOff(np.sqrt(0.25 * 0.75)).delta(1.0)


def test_references_drawn_anew_cost_a_factor_and_fixed_ones_a_threshold():
    """[AB25] Appendix E.1: few references are harmless only under two conditions.

    They stay the same, and the threshold is set on scores of *out*.
    """
    n, references, z = 100, 50, target(20.0)
    rng = np.random.default_rng(5)
    means = play(z, n)
    anew = rng.normal(size=means.shape) / np.sqrt(references)
    scores = np.einsum("wrd,wrd->wr", z - anew, means - anew)
    scores -= ((z - anew) ** 2).sum(axis=2) / (2 * n)
    measured, error = best_advantage(scores)
    curve = mean_tradeoff(z, np.zeros(20), 1.0, n, n_reference=references)
    assert curve.mu**2 == pytest.approx(4.0 / (1 + n / references))
    assert measured == pytest.approx(curve.advantage, abs=0.02)
    fixed = anew[0, 0]
    kept = (means - fixed) @ (z - fixed) - (z - fixed) @ (z - fixed) / (2 * n)
    measured, error = best_advantage(kept)
    assert measured == pytest.approx(mean_tradeoff(z, np.zeros(20), 1.0, n).advantage, abs=0.02)
    guessed = (kept > 0).mean(axis=1)
    assert guessed[1] - guessed[0] < measured + 4 * error


def test_noise_on_columns_of_different_variance_is_not_one_factor():
    """[AB24] Table 1 prints sigma^2/(sigma^2 + gamma^2) m, right for equal variances only."""
    z, n, gamma = np.array([3.0, 3.0]), 10, 2.0
    variances = np.array([1.0, 4.0])
    got = leakage_score(z, [0.0, 0.0], variances, n, release_noise_cov=gamma / n)
    assert got == pytest.approx(sum(z**2 / (variances + gamma)) / n)
    plain = leakage_score(z, [0.0, 0.0], variances, n)
    for sigma in variances:
        assert abs(sigma / (sigma + gamma) * plain - got) > 0.15 * got


def test_variance_of_the_mean_is_c_over_n_out_and_less_in():
    """[AB25] Remark C.7 has V(mean) = C; counted over all Bernoulli tables, as fractions."""
    n, p, z = 6, Fraction(3, 10), 1

    def moments(rows, shift):
        weights = [comb(rows, k) * p**k * (1 - p) ** (rows - k) for k in range(rows + 1)]
        values = [Fraction(k + shift, n) for k in range(rows + 1)]
        mean = sum(w * v for w, v in zip(weights, values, strict=True))
        return mean, sum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True))

    cov = p * (1 - p)
    out, into = moments(n, 0), moments(n - 1, z)
    assert out == (p, cov / n)
    assert into == (p + (z - p) / n, (n - 1) * cov / n**2)
    score = leakage_score([1.0], [0.3], [0.21], n)
    slope = (z - p) / cov
    assert float(slope**2 * out[1]) == pytest.approx(score)
    assert float(slope * (into[0] - out[0])) == pytest.approx(score)


MISTAKEN = {
    "half flipped": (0.5, None),
    "most flipped": (0.9, None),
    "too near": (None, 3.0),
    "too far": (None, 0.2),
}


@pytest.mark.parametrize("mistake", MISTAKEN)
def test_mistaken_attacker_agrees_with_a_played_game_and_the_appendix_does_not(mistake):
    """[AB25] Theorem 4.3 is right for the best threshold and side, and wrong for threshold 0.

    Its appendix has the score of the true target in place of that of the assumed one.
    """
    n, d, rng = 100, 400, np.random.default_rng(2)
    flipped, stretched = MISTAKEN[mistake]
    z = rng.choice([-1.0, 1.0], d) * np.sqrt(8.9 * n / d)
    t = z / stretched if stretched else z * rng.choice([1.0, -0.6], d, p=[1 - flipped, flipped])
    if stretched:
        t = z * stretched
    scores = linear_score(play(z, n, rounds=8000), t, n)
    best, error = best_advantage(scores)
    zero = np.subtract(*(scores > 0).mean(axis=1)[::-1])
    ours = mean_tradeoff(z, np.zeros(d), 1.0, n, assumed_target=t).advantage
    assert best == pytest.approx(ours, abs=5 * error)
    at_zero = twins.misspecified_advantage(z, t, np.zeros(d), 1.0, n, "zero")
    assert zero == pytest.approx(at_zero, abs=5 * error)
    appendix = advantage(abs(t @ z) / n / np.sqrt(z @ z / n))
    assert abs(appendix - best) > 10 * error or mistake == "half flipped"
    assert at_zero < ours - 0.05


def test_mistaken_attacker_twin_agrees():
    mixing = RNG.normal(size=(3, 3))
    z, t, mean = RNG.normal(size=(3, 3))
    for cov in (mixing @ mixing.T, np.array([1.0, 2.0, 0.5]), 0.7):
        got = mean_tradeoff(z, mean, cov, 5, assumed_target=t).advantage
        truth = twins.misspecified_advantage(z, t, mean, cov, 5, "best")
        assert got == pytest.approx(truth, rel=1e-10)


def test_an_attacker_who_knows_the_target_is_not_mistaken():
    z, mean = RNG.normal(size=(5, 3)), np.zeros(3)
    expected = mean_tradeoff(z, mean, 1.0, 4).advantage
    got = mean_tradeoff(z, mean, 1.0, 4, assumed_target=z).advantage
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_an_attacker_who_takes_the_target_for_the_mean_learns_nothing():
    assert mean_tradeoff([1.0], [0.0], 1.0, 2, assumed_target=[0.0]).advantage == 0


def test_one_assumed_target_serves_many_targets():
    z, t = RNG.normal(size=(4, 2, 3)), RNG.normal(size=3)
    many = mean_tradeoff(z, np.zeros(3), 1.0, 4, assumed_target=t).mu
    one = mean_tradeoff(z[1, 0], np.zeros(3), 1.0, 4, assumed_target=t).mu
    assert many.shape == (4, 2)
    assert many[1, 0] == pytest.approx(one, rel=1e-14)


def test_independent_releases_compose_and_repeated_ones_add_nothing():
    one, two = gaussian_release_tradeoff([0.3], 0.1), gaussian_release_tradeoff([1.0, 2.0], 4.0)
    cov = np.diag([0.1, 4.0, 4.0])
    both = gaussian_release_tradeoff([0.3, 1.0, 2.0], cov)
    assert both.mu == pytest.approx(one.compose(two).mu, rel=1e-13)
    assert both.kind == "exact"
    twice = gaussian_release_tradeoff([0.3, 0.3], np.full((2, 2), 0.1))
    assert twice.mu == pytest.approx(one.mu, rel=1e-13)


def test_two_noisy_releases_of_one_mean_agree_with_a_played_game():
    """Two releases of the same rows, noise 0.1 and 0.2: the best combination of both is scored."""
    n, z = 50, target(12.0, d=3)
    rng = np.random.default_rng(3)
    means = play(z, n)
    first, second = (means + s * rng.normal(size=means.shape) for s in (0.1, 0.2))
    joint = np.kron(np.full((2, 2), 1 / n) + np.diag([0.01, 0.04]), np.eye(3))
    shift = np.concatenate([z, z]) / n
    curve = gaussian_release_tradeoff(shift, joint)
    scores = np.concatenate([first, second], axis=2) @ np.linalg.solve(joint, shift)
    measured, error = best_advantage(scores)
    assert measured == pytest.approx(curve.advantage, abs=5 * error)
    best_single = gaussian_release_tradeoff(z / n, 1 / n + 0.01)
    weights = np.array([1 / 0.01, 1 / 0.04])
    merged = gaussian_release_tradeoff(z / n, 1 / n + 1 / weights.sum())
    assert best_single.mu < curve.mu
    assert curve.mu == pytest.approx(merged.mu, rel=1e-12)


def test_rates_that_are_not_exact_in_binary_are_taken_for_what_they_mean():
    for rate in (0.1, 0.3, 0.7, 1 / 3):
        n = 999 if rate == 1 / 3 else 1000
        curve = mean_tradeoff([1.0], [0.0], 1.0, n, sampling_rate=rate)
        assert curve.base.mu == pytest.approx(1 / np.sqrt(round(rate * n)))
    assert isinstance(mean_tradeoff([1.0], [0.0], 1.0, 10, sampling_rate=1.0), GaussianTradeOff)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling_rate": 0.0}, "sampling_rate must be above 0 and at most 1; got"),
        ({"sampling_rate": 1.5}, "sampling_rate must be above 0 and at most 1; got"),
        ({"sampling_rate": np.nan}, "sampling_rate must be finite"),
        (
            {"sampling_rate": 0.125},
            "sampling_rate must draw an integer number of rows, at least 2, of n = 100; got "
            "sampling_rate = 0.125. The nearest that do: 0.12 (12 rows) and 0.13 (13 rows)",
        ),
        ({"sampling_rate": 0.001}, "The nearest that do: 0.02 (2 rows)"),
        ({"sampling_rate": 0.995}, "The nearest that do: 0.99 (99 rows) and 1.0 (100 rows)"),
        ({"sampling": "columns"}, 'sampling must be "rows" or "columnwise-as-published"; got'),
        ({"n_reference": 0}, "n_reference must be between 1 and 2**53"),
        ({"assumed_target": [1.0]}, "assumed_target must have 2 columns (its last axis), as mean"),
        ({"assumed_target": [1.0, np.nan]}, "assumed_target must be finite; got assumed_target[1]"),
        ({"assumed_target": np.zeros((3, 2))}, "assumed_target must broadcast with target"),
        ({"n": 1}, "n must be between 2"),
    ],
)
def test_bad_input_is_told(options, message):
    arguments = {"target": np.ones((2, 2)), "mean": [0.0, 0.0], "cov": 1.0, "n": 100} | options
    with pytest.raises(ValueError, match=re.escape(message)):
        mean_tradeoff(**arguments)


def test_bad_words_and_shifts_are_told():
    with pytest.raises(ValueError, match="shift must have at least one column"):
        gaussian_release_tradeoff(1.0, 1.0)
    with pytest.raises(ValueError, match="release_cov must be a number, 2 variances or"):
        gaussian_release_tradeoff([1.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="shift must lie within the range of release_cov, whose"):
        gaussian_release_tradeoff([1.0, 2.0], np.ones((2, 2)))
