"""Scores and coins in an order that independent ones do not have."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mialeak.auditing import AuditStream, audit, audit_power, one_run_audit
from mialeak.auditing._checks import refuse_series
from mialeak.tradeoff import GaussianTradeOff


class TestSeries:
    """Scores in an order that independent draws have with probability 1e-6 at most."""

    def test_steps_of_one_training_are_refused(self):
        """They proved an epsilon of 5 where nothing leaked, and 10 runs of 30 scores one of 3."""
        rng = np.random.default_rng(0)
        series = np.cumsum(rng.normal(size=(2, 300)), axis=1)
        with pytest.raises(ValueError, match=r"in_scores must be independent; .* one score for"):
            audit(*series, allow_reversed=True)
        pairs = np.repeat(rng.normal(size=100), 2) + 0.01 * rng.normal(size=200)
        draws = rng.normal(size=200)
        with pytest.raises(ValueError, match=r"out_scores must be independent; .* runs"):
            audit(draws, pairs, allow_reversed=True)
        tiled = np.tile(rng.normal(size=10), 30) + 0.01 * rng.normal(size=300)  # runs by rows
        with pytest.raises(ValueError, match=r"out_scores must be independent; .* runs"):
            audit(draws, tiled, allow_reversed=True)
        audit(np.sort(draws), np.sort(pairs)[::-1], allow_reversed=True)

    @pytest.mark.parametrize("half", [3, 5, 6])
    def test_the_level_is_that_of_all_orders(self, half, monkeypatch):
        """Every order of the two halves, at a level at which short series have enough.

        A table of two rows or more has an order for each number of columns, which share the level.
        """
        orders_read = sum(2 * half % k == 0 for k in range(1, half + 1))
        size = 2 * half
        orders = [o for o in itertools.product([0, 1], repeat=size) if sum(o) == half]
        runs = [o[0] + sum(b > a for a, b in itertools.pairwise(o)) for o in orders]
        number_of = dict(zip(orders, runs, strict=True))
        shares = {k: Fraction(sum(r <= k for r in runs), len(orders)) for k in set(runs)}
        monkeypatch.setattr("mialeak.auditing._checks._CHANCE", 0.4)
        refused = 0
        for order in orders:
            scores = np.array(order) + np.tile([0.0, 0.5], half)  # the halves stay apart
            if np.diff(scores).min() >= 0.0 or np.diff(scores).max() <= 0.0:
                continue
            columns = [k for k in range(1, half + 1) if size % k == 0]
            read = [tuple(np.reshape(order, (-1, k)).T.ravel()) for k in columns]
            fewest = min(number_of[one] for one in read)
            if orders_read * shares[fewest] > 0.4:
                refuse_series(scores, "in_scores")
                continue
            refused += 1
            with pytest.raises(ValueError, match=f"stand in {fewest} runs"):
                refuse_series(scores, "in_scores")
        assert refused <= 0.4 * len(orders)


class TestCoins:
    def test_coins_that_were_not_fair_are_refused(self):
        scores = np.random.default_rng(0).normal(size=1000)
        member = np.r_[np.ones(900), np.zeros(100)].astype(int)
        with pytest.raises(ValueError, match=r"member must come of fair coins.*900 of 1000"):
            one_run_audit(scores, member, guesses=(200, 0))

    @pytest.mark.parametrize("m", [30, 200, 1001])
    def test_the_level_is_one_in_a_million(self, m):
        """Exact, two-sided: on both sides of the boundary."""
        least = next(k for k in range(m) if 2 * stats.binom.cdf(k, m, 0.5) > 1e-6)
        scores = np.random.default_rng(0).normal(size=m)
        order = np.random.default_rng(1).permutation(m)
        for count in (least, m - least):
            one_run_audit(scores, order < count, allow_reversed=True)
        for count in (least - 1, m - least + 1):
            with pytest.raises(ValueError, match=f"coins; .* of {m} are members"):
                one_run_audit(scores, order < count)

    def test_members_that_stand_before_all_others_are_those_of_no_coins(self):
        """Of m fair coins 2 (m - 1) orders of 2^m are such: at most 1e-6 of 26 and more."""
        size = 26
        assert 2 * (size - 1) / 2**size <= 1e-6 < 2 * (size - 2) / 2 ** (size - 1)
        scores = np.random.default_rng(0).normal(size=size)
        flags = np.arange(size) < size // 2
        for member in (flags, ~flags):
            with pytest.raises(ValueError, match=r"coins; all .* stand before all"):
                one_run_audit(scores, member, allow_reversed=True)
        with pytest.warns(UserWarning, match="all members stand before all others"):
            one_run_audit(scores[1:], flags[1:], allow_reversed=True)
        one_run_audit(scores, np.roll(flags, 3), allow_reversed=True)

    @pytest.mark.parametrize("copies", [2, 8])
    @pytest.mark.parametrize("repeat", [np.tile, np.repeat])
    def test_scores_of_one_canary_share_its_coin(self, copies, repeat):
        """Ten scores of each of 100 canaries made 40 % of the claims false, nothing leaked."""
        rng = np.random.default_rng(0)
        member, difficulty = rng.integers(0, 2, 100), rng.normal(size=100)
        scores = repeat(difficulty, copies) + 0.1 * rng.normal(size=100 * copies)
        rule = (
            f"member must come of coins .*; {100 * copies} flags repeat 100, .* one score a canary"
        )
        with pytest.raises(ValueError, match=rule):
            one_run_audit(scores, repeat(member, copies), allow_reversed=True)

    def test_repetitions_that_coins_give_are_taken(self):
        """Of m fair coins at most 2 m 2^(k-m) repeat k of them, over all k that divide m."""
        for size in range(2, 15, 2):
            orders = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
            for k in {k for k in range(1, size) if size % k == 0}:
                tiled = (orders[:, k:] == orders[:, :-k]).all(1)
                blocks = orders.reshape(-1, k, size // k)
                repeated = (blocks == blocks[:, :, :1]).all((1, 2))
                assert tiled.sum() == repeated.sum() == 2**k
        coins = np.tile([0, 1, 1, 0, 1, 0], 4)
        one_run_audit(np.random.default_rng(0).normal(size=24), coins, allow_reversed=True)

    def test_simulated_audits_draw_their_own(self, monkeypatch):
        """The test of the coins would refuse one simulation in a million."""

        def refuse(*arguments):
            raise AssertionError

        monkeypatch.setattr("mialeak.auditing._checks.require_fair_coins", refuse)
        curve = GaussianTradeOff(3.0)
        assert audit_power(0.5, curve, design="one-run", repetitions=5).n >= 16


class TestIndices:
    """Scores and flags of pandas, whose labels name the canaries."""

    def test_another_order_is_refused(self):
        """It proved 0, and did not refute a claim."""
        rng = np.random.default_rng(0)
        labels = [f"canary {k}" for k in range(100)]
        member = pd.Series(rng.random(100) < 0.5, labels)
        scores = pd.Series(rng.normal(3.0 * member), labels)
        expected = one_run_audit(scores, member).epsilon_lower
        assert expected > 1.0
        for flags in (member.to_numpy(), member.reset_index(drop=True), member.tolist()):
            assert one_run_audit(scores, flags).epsilon_lower == expected
        match = r"member must have the index of scores .* Pass member\.loc\[scores\.index\]"
        for call in (one_run_audit, lambda *both: AuditStream().update(*both)):
            with pytest.raises(ValueError, match=match):
                call(scores.sort_values(), member)
        ranked = scores.sort_values()
        assert one_run_audit(ranked, member.loc[ranked.index]).epsilon_lower == expected


class TestWorlds:
    """Scores of which one world is a part of the other, or a threshold."""

    def test_all_scores_beside_those_of_one_world_are_refused(self):
        rng = np.random.default_rng(0)
        inside, outside = rng.normal(3.0, 1.0, 100), rng.normal(size=100)
        with pytest.raises(ValueError, match=r"out_scores must be .* 100 scores of the other"):
            audit(inside, np.r_[inside, outside])
        with pytest.raises(ValueError, match=r"in_scores must be .* Leave out those of out_scores"):
            audit(np.r_[inside, outside], outside)
        audit(inside.round(1), rng.permutation(np.r_[inside, outside]).round(1))  # may agree

    @pytest.mark.parametrize("baseline", [0.0, 0.5])
    def test_differences_beside_a_baseline_are_refused(self, baseline):
        """Differences of pairs, where nothing leaked, proved an epsilon of 3.5."""
        draws = np.random.default_rng(0).normal(baseline, 1.0, 200)
        with pytest.raises(ValueError, match=rf"out_scores must be draws .* are {baseline:g}, in"):
            audit(draws, np.full(200, baseline))
        audit(np.maximum(draws, baseline), np.full(200, baseline))  # an attack that saturates


def joined(rng, leak, size=100):
    """Canaries of Laplace noise, each of one to eleven rows, and their flags."""
    member = rng.random(size) < 0.5
    scores = rng.laplace(leak * member)
    rows = rng.permutation(np.repeat(np.arange(size), rng.integers(1, 12, size)))
    return scores[rows], member[rows]


@pytest.mark.parametrize("leak", [0.5, 2.0, 4.0])
def test_canaries_that_are_joined_to_others_are_refused(leak):
    rng = np.random.default_rng(1)
    for _ in range(20):
        with pytest.raises(ValueError, match=r"be independent|come of fair coins"):
            one_run_audit(*joined(rng, leak))


def test_a_part_of_the_canaries_that_is_appended_is_refused():
    rng = np.random.default_rng(2)
    member = rng.random(300) < 0.5
    scores = rng.laplace(2.0 * member)
    assert not one_run_audit(scores, member).document().cautions
    with pytest.raises(ValueError, match="200 scores have 100 values, each in one world only"):
        one_run_audit(np.append(scores, scores[:100]), np.append(member, member[:100]))


def test_copies_of_an_attack_that_is_always_right_are_named():
    rng = np.random.default_rng(3)
    member = rng.random(300) < 0.5
    scores = rng.random(300) + 1.5 * member
    once = one_run_audit(scores, member)
    assert not [each for each in once.document().cautions if "occur several times" in each]
    twice = one_run_audit(np.append(scores, scores[:100]), np.append(member, member[:100]))
    assert [each for each in twice.document().cautions if "100 scores of many digits" in each]


@pytest.mark.parametrize("leak", [0.0, 1.0, 3.0, 40.0])
@pytest.mark.parametrize(
    "kind",
    [
        lambda x: np.round(x, 1),
        lambda x: np.log(1.0 + np.round(np.exp(np.clip(x, -30.0, 30.0)))),  # of counts
        lambda x: (1.0 / (1.0 + np.exp(-4.0 * x))).astype(np.float16),
        lambda x: np.clip(x, -0.3, 0.7) / 3.0,
        lambda x: np.log(2.0 + np.round(np.clip(x, -0.9, 9.0))),
    ],
)
def test_equal_scores_of_a_coarse_attack_are_taken(leak, kind):
    rng = np.random.default_rng(4)
    for size in (60, 400):
        member = rng.random(size) < 0.5
        cautions = one_run_audit(kind(rng.laplace(leak * member)), member).document().cautions
        assert not [each for each in cautions if "occur several times" in each]


@pytest.mark.parametrize("scores", ["one", "minus the other"])
def test_twins_in_two_blocks_share_a_coin(scores):
    """One twin of each pair is in; of 38 flags or fewer the same may be chance."""
    rng = np.random.default_rng(21)
    coins, gaps = rng.integers(0, 2, 100), rng.normal(size=100)
    values = np.r_[gaps, -gaps if scores == "minus the other" else rng.normal(size=100)]
    with pytest.raises(ValueError, match=r"the last 100 of 200 flags are the first 100, members"):
        one_run_audit(values, np.r_[coins, 1 - coins])
    one_run_audit(values, np.r_[coins, coins[::-1]])
    one_run_audit(values[:38], np.r_[coins[:19], 1 - coins[:19]])
