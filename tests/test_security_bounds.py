"""Noise for a leakage, security of overfit procedures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from mialeak.guarantees import (
    noise_multiplier_for_leakage,
    overfitting_security_bound,
)


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
        ],
    )
    def test_bad_input_is_named(self, change, message):
        arguments = {"member_losses": [0.0], "nonmember_losses": [1.0]} | change
        with pytest.raises(ValueError, match=message):
            overfitting_security_bound(**arguments)
