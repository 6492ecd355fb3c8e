"""Accuracy, divergence and bounds against all attacks, fractions and linear programs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy import special

from mialeak.guarantees import (
    divergence,
    dp_leakage_bound,
    epsilon_for_leakage,
    gamma_ratio,
    max_accuracy,
    mutual_information_bound,
    noise_multiplier_for_leakage,
    overfitting_security_bound,
)
from mialeak.tradeoff import PiecewiseTradeOff

GAMMAS = [Fraction(1, 10), Fraction(4, 5), Fraction(1), Fraction(3, 2), Fraction(9)]


def law(rng, count):
    weights = rng.integers(0, 9, count)
    weights[rng.integers(count)] += 1
    return [Fraction(int(w), int(weights.sum())) for w in weights]


def floats(numbers):
    return np.array([float(x) for x in numbers])


def events(count):
    return itertools.chain.from_iterable(
        itertools.combinations(range(count), k) for k in range(count + 1)
    )


def defined(out, inside, gamma):
    """D_gamma by its definition, [AGP25] equation 3, looking at every event."""
    best = max(sum((gamma * out[k] - inside[k] for k in b), Fraction(0)) for b in events(len(out)))
    return max(1, gamma) * (best / gamma - max(0, 1 - 1 / gamma))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("gamma", GAMMAS)
def test_divergence_against_its_definition_in_fractions(seed, gamma):
    rng = np.random.default_rng(seed)
    out, inside = law(rng, 6), law(rng, 6)
    truth = float(defined(out, inside, gamma))
    value = divergence(floats(out), floats(inside), float(gamma))
    assert value == pytest.approx(truth, rel=1e-13, abs=1e-16)
    assert 0 <= value <= 1
    exchanged = divergence(floats(inside), floats(out), 1 / float(gamma))
    assert value == pytest.approx(exchanged, rel=1e-13, abs=1e-16)
    assert value <= divergence(floats(out), floats(inside)) + 1e-15


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("nu", "weight"), [(0.5, 1), (0.9, 1), (0.2, 3), (0.3, 0.25)])
def test_max_accuracy_is_the_best_of_all_attacks(seed, nu, weight):
    """[AGP25] Theorem 6 with equality: every set of outcomes as the attack's "in"."""
    rng = np.random.default_rng(seed)
    out, inside = law(rng, 7), law(rng, 7)
    nu, weight = Fraction(nu), Fraction(weight)
    truth = max(
        nu * (1 - sum((out[k] for k in guess), Fraction(0)))
        + weight * (1 - nu) * sum((inside[k] for k in guess), Fraction(0))
        for guess in events(len(out))
    )
    gamma = gamma_ratio(float(nu), float(weight))
    leakage = divergence(floats(out), floats(inside), gamma)
    value = max_accuracy(leakage, nonmember_rate=float(nu), tpr_weight=float(weight))
    assert value == pytest.approx(float(truth), rel=1e-14)


def test_leakage_of_a_release_is_a_value_of_its_trade_off():
    rng = np.random.default_rng(1)
    out, inside = floats(law(rng, 9)), floats(law(rng, 9))
    curve = PiecewiseTradeOff.from_laws(out, inside)
    for gamma in (1.0, 1.5, 4.0):
        expected = curve.delta(np.log(gamma), direction="in")
        assert divergence(out, inside, gamma) == pytest.approx(expected, abs=1e-15)
        expected = curve.delta(np.log(gamma), direction="out")
        assert divergence(out, inside, 1 / gamma) == pytest.approx(expected, abs=1e-15)


def test_divergence_keeps_the_digits_of_rare_outcomes():
    out, inside = [1.0 - 2e-30, 1e-30, 1e-30], [1.0, 3e-30, 0.0]
    assert divergence(out, inside, 2.0) == pytest.approx(1e-30, rel=1e-14)
    assert divergence(out, inside, 0.5) == pytest.approx(1e-30, rel=1e-14)
    # The definition subtracts 1/2 from a number that is 1/2 to the last digit.
    best = max(0.0, 2 * 1.0 - 1.0) + max(0.0, 2e-30 - 3e-30)
    assert 2 * (best / 2 - 0.5) == 0


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_divergence_of_laws_with_rounded_sums_is_at_most_1(gamma):
    out, inside = [0.0, 0.0, 1.0, 0.0], [0.5, 0.5 + 9e-10, 0.0, 0.0]
    assert divergence(out, inside, gamma) == divergence(inside, out, gamma) == 1.0
    assert max_accuracy(divergence(out, inside, gamma)) == 1.0


def test_divergence_broadcasts_over_laws_and_gammas():
    rng = np.random.default_rng(2)
    out, inside = rng.dirichlet(np.ones(5), 4), rng.dirichlet(np.ones(5))
    table = divergence(out, inside, np.array([[0.5], [1.0], [2.0]]))
    assert table.shape == (3, 4)
    for i, gamma in enumerate((0.5, 1.0, 2.0)):
        for j in range(4):
            assert table[i, j] == pytest.approx(divergence(out[j], inside, gamma), rel=1e-15)
    assert isinstance(divergence(inside, inside), float)


def test_gamma_ratio():
    assert gamma_ratio(0.5, 1.0) == 1
    assert gamma_ratio(0.8, 2.0) == pytest.approx(float(Fraction(8, 10) / (2 * Fraction(2, 10))))
    assert max_accuracy([0.0, 1.0], nonmember_rate=0.9).tolist() == pytest.approx([0.9, 1.0])


def test_gamma_ratio_of_extreme_games_is_accurate_or_refused():
    """Against fractions, of weights from 1e-308 to 1e308 and shares within 1e-16 of 0 and 1."""
    rng = np.random.default_rng(8)
    refused = {"smaller": 0, "larger": 0}
    for _ in range(2000):
        small, near = 10.0 ** rng.uniform(-308, 0), 1.0 - 10.0 ** rng.uniform(-15.9, 0)
        nu, weight = (
            rng.choice([small, near, rng.uniform(0.01, 0.99)]),
            10 ** rng.uniform(-308, 308),
        )
        truth = Fraction(nu) / (Fraction(weight) * (1 - Fraction(nu)))
        if Fraction(2) ** -1022 <= truth <= Fraction(np.finfo(float).max):
            error = abs(Fraction(gamma_ratio(nu, weight)) - truth) / truth
            assert error <= Fraction(2) ** -51
            continue
        remedy = "larger" if truth > 1 else "smaller"
        refused[remedy] += 1
        with pytest.raises(ValueError, match=rf"^tpr_weight must give a gamma.*{remedy} weight"):
            gamma_ratio(nu, weight)
    assert min(refused.values()) >= 5


class TestErrataOfAGP25:
    def test_b2_the_chance_of_a_right_guess_is_weighted(self):
        nu, tpr, tnr = 0.8, 0.6, 0.7
        assert nu * tnr + (1 - nu) * tpr == pytest.approx(0.68)
        assert tnr + tpr > 1  # the printed form is no probability

    def test_b1_no_divergence_does_not_mean_equal_laws(self):
        assert divergence([0.5, 0.5], [0.6, 0.4], 2.0) == 0
        assert divergence([0.5, 0.5], [0.6, 0.4], 1.0) > 0

    def test_b8_the_step_of_lemma_20_needs_a_positive_part(self):
        rng = np.random.default_rng(0)
        printed = corrected = 0
        for _ in range(500):
            out, inside = rng.dirichlet(np.ones(4), 2)
            gamma = np.exp(rng.uniform(-3, 3))
            scaled = np.maximum(gamma * out - inside, 0).sum() / gamma
            variation = divergence(out, inside)
            printed += scaled > variation + (1 - 1 / gamma) + 1e-12
            corrected += scaled > variation + max(0.0, 1 - 1 / gamma) + 1e-12
        assert printed > 100
        assert corrected == 0

    def test_b6_the_first_line_of_equation_53_exchanges_the_laws(self):
        out, inside, gamma = np.array([0.5, 0.5]), np.array([0.8, 0.2]), 2.0
        right = np.maximum(gamma * out - inside, 0).sum() / gamma
        printed = np.maximum(gamma * inside - out, 0).sum() / gamma
        assert right == pytest.approx(0.5)
        assert printed == pytest.approx(0.55)


def kullback_leibler(first, second):
    return special.rel_entr(first, second).sum(axis=-1)


class TestInformation:
    @pytest.mark.parametrize("gamma", [0.2, 0.8, 1.0, 1.3, 5.0])
    def test_no_two_laws_exceed_the_bound_and_two_outcomes_reach_it(self, gamma):
        grid = np.concatenate([np.geomspace(1e-9, 0.01, 40), np.linspace(0.011, 0.989, 90)])
        grid = np.append(grid, 1 - grid[:40])
        out, inside = np.meshgrid(grid, grid)
        information = special.rel_entr(inside, out) + special.rel_entr(1 - inside, 1 - out)
        pair = (np.stack([v, 1 - v], axis=-1) for v in (out, inside))
        leakage = divergence(*pair, gamma)
        bound = mutual_information_bound(information, gamma)
        assert (leakage <= bound * (1 + 1e-12) + 1e-15).all()
        for low, high in ((1e-3, 1e-2), (0.1, 0.2), (1.0, 1.5)):
            some = (information > low) & (information < high)
            assert (leakage[some] / bound[some]).max() > 0.98

    @pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
    def test_laws_with_many_outcomes_stay_below(self, gamma):
        rng = np.random.default_rng(5)
        out, inside = rng.dirichlet(np.full(6, 0.5), (2, 2000))
        information = kullback_leibler(inside, out)
        bound = mutual_information_bound(information, gamma)
        assert (divergence(out, inside, gamma) <= bound + 1e-13).all()
        published = mutual_information_bound(information, gamma, form="published")
        assert (bound <= published + 1e-15).all()

    @pytest.mark.parametrize("leakage", [1e-6, 1e-3, 0.05, 0.49, 0.51, 0.9])
    def test_the_balanced_bound_is_the_sharp_inequality_of_pinsker(self, leakage):
        # The least information of two laws at this distance, over two outcomes, in 40 digits.
        with mp.workdps(40):
            v = mp.mpf(leakage)

            def slope(p):
                q = p + v
                return mp.log(q * (1 - p) / (p * (1 - q))) - v / (p * (1 - p))

            p = mp.findroot(
                slope, ((1 - v) * mp.mpf("0.01"), (1 - v) * mp.mpf("0.99")), solver="illinois"
            )
            q = p + v
            least = float(q * mp.log(q / p) + (1 - q) * mp.log((1 - q) / (1 - p)))
        assert mutual_information_bound(least) == pytest.approx(leakage, rel=2e-13)

    def test_both_sides_of_the_change_to_taylor_terms(self):
        # At gamma = 1 theta = 1 is the optimum for 0.1207... nats.
        grid = 0.12 + np.linspace(0, 2e-3, 41)
        values = mutual_information_bound(grid)
        curvature = np.diff(values, 2)
        np.testing.assert_allclose(curvature, curvature.mean(), rtol=0.05)

    def test_small_bounds_against_the_dual_in_50_digits(self):
        """Near the change to Taylor terms, from where terms of order 1 cancel."""
        nats = [7.013113679813255e-06, 8.491057467311361e-07, 0.024352692356787387]
        gammas = [1.6397377055128464, 1.5033681965182897, 1.5914683286962412]
        true = [7.629841182035418e-06, 1.1075194469781792e-06, 0.026811548505529273]
        np.testing.assert_allclose(mutual_information_bound(nats, gammas), true, 0, 5e-16)

    def test_limits(self):
        values = mutual_information_bound([0.0, 1e-300, 1e-20, 750.0, np.inf])
        assert values[0] == 0
        assert values[1] == pytest.approx(np.sqrt(0.5e-300), rel=1e-12)
        assert values[2] == pytest.approx(np.sqrt(0.5e-20), rel=1e-12)
        assert values[3:].tolist() == [1, 1]
        assert mutual_information_bound([0.0, np.inf], [[0.1], [10.0]]).tolist() == [[0, 1], [0, 1]]

    def test_it_nears_1_no_faster_than_it_may(self):
        """With many nats the bound is 1 - gamma e^-I, of outcomes that never happen *out*."""
        for nats, gamma in ((40.0, 1e6), (30.0, 1e3), (650.0, 1e270)):
            bound = mutual_information_bound(nats, gamma)
            assert 1 - bound == pytest.approx(gamma * np.exp(-nats), rel=1e-3)

    def test_extreme_balances(self):
        gammas = [5e-324, 1e-300, 1e300, 1.7e308]
        assert mutual_information_bound(0.0, gammas).tolist() == [0, 0, 0, 0]
        assert mutual_information_bound(np.inf, gammas).tolist() == [1, 1, 1, 1]
        few = mutual_information_bound(0.1, gammas)
        np.testing.assert_allclose(few[:2], -np.expm1(-0.1), rtol=1e-12)
        assert (few[2:] < 1e-3).all()

    def test_the_published_form_is_equation_8(self):
        assert mutual_information_bound(0.02, 3.0, form="published") == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gamma_ratio(1.0, 1.0), "nonmember_rate must be strictly between 0 and 1; got"),
        (
            lambda: gamma_ratio(0.5, 0.0),
            r"tpr_weight must be positive and finite; got tpr_weight = 0",
        ),
        (
            lambda: max_accuracy([0.5, 1.5]),
            r"leakage must be between 0 and 1; got leakage\[1\] = 1\.5",
        ),
        (lambda: max_accuracy(np.nan), "leakage must be between 0 and 1; got leakage = nan"),
        (lambda: max_accuracy(0.5, nonmember_rate=0.0), "nonmember_rate must be strictly between"),
        (
            lambda: divergence([0.5, 0.5], [1.0]),
            "p_in must have as many outcomes as p_out; its last axis has 1",
        ),
        (lambda: divergence(0.5, 0.5), "p_out must be an array of probabilities"),
        (
            lambda: divergence([0.5, 0.6], [0.5, 0.5]),
            r"p_out must sum to 1 within 1e-9; the sum is 1\.1",
        ),
        (
            lambda: divergence([0.5, 0.5], [1.5, -0.5]),
            r"p_in must hold probabilities.*p_in\[0\] = 1\.5",
        ),
        (
            lambda: divergence([[0.5, 0.5], [0.2, 0.2]], [0.5, 0.5]),
            "p_out must sum to 1.*the sum is 0.4",
        ),
        (
            lambda: divergence([1.0], [1.0], 0.0),
            r"gamma must be positive and finite; got gamma = 0",
        ),
        (lambda: divergence([1.0], [1.0], np.inf), "gamma must be positive and finite"),
        (lambda: dp_leakage_bound(-1.0), r"epsilon must be at least 0; got epsilon = -1"),
        (lambda: dp_leakage_bound(np.nan), "epsilon must be at least 0; got epsilon = nan"),
        (lambda: dp_leakage_bound(1.0, 2.0), "delta must be between 0 and 1"),
        (
            lambda: dp_leakage_bound(1.0, target="me"),
            'target must be "given" or "random"; got target = \'me\'',
        ),
        (lambda: epsilon_for_leakage(0.1, target="me"), 'target must be "given" or "random"'),
        (lambda: dp_leakage_bound(1.0, form="loose"), 'form must be "sharp" or "published"'),
        (
            lambda: epsilon_for_leakage(0.1, delta=0.2),
            r"leakage must be at least delta.*No epsilon",
        ),
        (lambda: epsilon_for_leakage(1.1), "leakage must be between 0 and 1"),
        (lambda: mutual_information_bound(-0.1), "information must be at least 0"),
        (lambda: mutual_information_bound(0.1, form=""), "form must be"),
        (lambda: mutual_information_bound(0.1, -1.0), "gamma must be positive and finite"),
    ],
)
def test_what_is_out_of_range_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class TestNoise:
    @pytest.mark.parametrize("gamma", [0.4, 1.0, 3.0])
    @pytest.mark.parametrize("leakage", [1e-6, 0.1, 0.7, 1 - 1e-6])
    def test_it_gives_the_leakage_of_the_gaussian_pair(self, leakage, gamma):
        multiplier = noise_multiplier_for_leakage(leakage, gamma=gamma, steps=9)
        mu = 2 * 3 / multiplier
        strike = abs(np.log(gamma))
        pair = special.ndtr(mu / 2 - strike / mu)
        pair -= np.exp(strike) * special.ndtr(-mu / 2 - strike / mu)
        assert pair == pytest.approx(leakage, rel=1e-8)

    def test_its_ends_and_shapes(self):
        assert noise_multiplier_for_leakage([0.0, 1.0]).tolist() == [np.inf, 0.0]
        assert noise_multiplier_for_leakage([[0.1], [0.2]], gamma=[1.0, 2.0, 3.0]).shape == (2, 3)
        one, many = noise_multiplier_for_leakage(0.1), noise_multiplier_for_leakage(0.1, steps=16)
        assert many == pytest.approx(4 * one, rel=1e-14)
        assert one == pytest.approx(1 / special.ndtri(0.55), rel=1e-12)

    def test_bad_input_is_named(self):
        with pytest.raises(ValueError, match="leakage must be between 0 and 1"):
            noise_multiplier_for_leakage(1.5)
        with pytest.raises(ValueError, match="steps must be positive and finite"):
            noise_multiplier_for_leakage(0.5, steps=0)


class TestOverfitting:
    @pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
    def test_the_plug_in_is_the_least_bound_of_any_threshold(self, gamma):
        rng = np.random.default_rng(0)
        member, fresh = rng.exponential(0.2, 60), rng.exponential(1.0, 50)
        result = overfitting_security_bound(member, fresh, gamma=gamma)
        at_each = [
            max(1, 1 / gamma) * (np.mean(member > e) + gamma * np.mean(fresh <= e))
            for e in np.concatenate([member, fresh])
        ]
        assert result.plug_in == pytest.approx(min(*at_each, 1), rel=1e-12)
        e = result.threshold
        there = max(1, 1 / gamma) * (np.mean(member > e) + gamma * np.mean(fresh <= e))
        assert there == pytest.approx(result.plug_in, rel=1e-12)
        assert result.plug_in <= result.security_upper <= 1

    @pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
    def test_the_bound_holds_with_confidence(self, gamma):
        """Losses uniform on [0, w] and [0, 1]: P(member <= e) - gamma P(fresh <= e) is known."""
        rng, wrong, width = np.random.default_rng(1), 0, 0.3
        truth = min(1.0, max(1, 1 / gamma) * min(gamma * width, 1.0))
        for _ in range(60):
            losses = rng.uniform(0, width, 80), rng.uniform(0, 1, 120)
            result = overfitting_security_bound(*losses, gamma=gamma)
            wrong += result.security_upper < truth
        assert wrong <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)
        assert result.security_upper < 1

    @pytest.mark.parametrize("gamma", [0.05, 0.3, 0.9])
    def test_where_members_are_common_the_bound_is_near_the_plug_in(self, gamma):
        rng = np.random.default_rng(2)
        losses = 0.1 * rng.exponential(size=2000), rng.exponential(size=2000)
        result = overfitting_security_bound(*losses, gamma=gamma)
        assert result.plug_in < result.security_upper < result.plug_in + 0.1

    @pytest.mark.parametrize("size", [20, 300])
    def test_confidences_are_no_losses(self, size):
        """Their negatives are; equal laws and losses of 0 and 1 pass as well."""
        rng = np.random.default_rng(size)
        small, large = 0.1 * rng.exponential(size=size), rng.exponential(size=size)
        with pytest.raises(ValueError, match="pass minus a confidence or accuracy"):
            overfitting_security_bound(np.exp(-small), np.exp(-large))
        right = overfitting_security_bound(-np.log(np.exp(-small)), large)
        overfitting_security_bound(pd.Series(-np.exp(-small), name="confidence"), -np.exp(-large))
        overfitting_security_bound(large, rng.exponential(size=size))
        overfitting_security_bound(rng.integers(0, 2, size), np.ones(size))
        assert right.security_upper < 1.0

    def test_losses_that_are_larger_of_members_are_refused(self):
        rng = np.random.default_rng(0)
        member, fresh = 0.1 * rng.exponential(size=500), rng.exponential(size=500)
        message = r"member_losses must be the smaller losses; the area .* is 0\.\d+\. Exchange"
        with pytest.raises(ValueError, match=message):
            overfitting_security_bound(fresh, member)
        with pytest.raises(ValueError, match=message):  # confidences
            overfitting_security_bound(rng.beta(9, 1, 500), rng.beta(5, 1, 500))
        assert overfitting_security_bound(fresh, member, allow_reversed=True).security_upper == 1
        for _ in range(200):  # losses of one law, with ties
            losses = np.round(rng.exponential(size=(2, 80)), 1)
            overfitting_security_bound(*losses)

    def test_more_runs_prove_more(self):
        bounds = [
            overfitting_security_bound(np.zeros(n), np.ones(n)).security_upper
            for n in (10, 100, 1000)
        ]
        assert bounds == sorted(bounds, reverse=True)
        assert 0 < bounds[-1] < 0.02

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"member_losses": []}, "member_losses must hold at least one score"),
            ({"nonmember_losses": [np.nan]}, "nonmember_losses must be free of NaN, which 1 of 1"),
            ({"gamma": 0.0}, "gamma must be positive and finite"),
            ({"confidence": 1.0}, "confidence must be strictly between 0 and 1"),
            ({"confidence": 0.05}, "confidence must be at least 0.5; .*0.05 pass 0.95"),
            ({"confidence": 95}, "confidence must be strictly between 0 and 1; .* pass 0.95"),
            (
                {"member_losses": np.eye(9)},
                r"one loss for each training run; its shape is \(9, 9\)",
            ),
            (
                {"member_losses": pd.Series([0.9], name="confidence")},
                "member_losses must be smaller for members; .*the negative logarithms",
            ),
            (
                {"member_losses": np.arange(9.0), "nonmember_losses": [0, 1] * 9},
                "nonmember_losses must be losses; all 18 are 0 or 1, as flags are",
            ),
        ],
    )
    def test_bad_input_is_named(self, change, message):
        arguments = {"member_losses": [0.0], "nonmember_losses": [1.0]} | change
        with pytest.raises(ValueError, match=message):
            overfitting_security_bound(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i, o: (i, np.append(i, o)), "nonmember_losses must be those of one world; .* 200 "),
        (lambda i, o: (i, i), "nonmember_losses must be draws of their own; .* 200 scores"),
        (lambda i, o: (np.repeat(i, 3), o), "member_losses must be independent; .* occurs 3 times"),
    ],
)
def test_losses_of_one_side_twice_are_refused(change, message):
    rng = np.random.default_rng(4)
    inside, outside = 0.1 * rng.exponential(size=200), rng.exponential(size=300)
    overfitting_security_bound(inside, outside)
    with pytest.raises(ValueError, match=message):
        overfitting_security_bound(*change(inside, outside))
