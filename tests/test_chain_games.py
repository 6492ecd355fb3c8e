"""Linked columns, drawn: games and sampled curves against enumeration and exact curves."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from test_chain import CHAINS, law_of, worlds

from mialeak import compose, exact_mean_tradeoff
from mialeak.exact import SampledTradeOff, _chains
from mialeak.exact._chains import chain_atoms
from mialeak.games import AverageTargetGame, FixedTargetGame
from mialeak.laws import Bernoulli, Chain, Genotype
from mialeak.scores import likelihood_ratio_score


@pytest.mark.parametrize("ploidy", [1, 2])
def test_games_draw_the_enumerated_counts_in_both_worlds(ploidy):
    columns, n, rounds = 3, 3, 40_000
    law = law_of(CHAINS[0], columns, ploidy)
    out, inside = worlds(CHAINS[0], columns, ploidy, n)
    z = (1, 0, ploidy)
    played = FixedTargetGame(z, law, n).play(rounds, rng=8)
    for member, truth in ((False, out), (True, inside[z])):
        counts = np.rint(n * played.releases[played.member == member]).astype(int)
        drawn, times = np.unique(counts, axis=0, return_counts=True)
        seen = dict(zip(map(tuple, drawn.tolist()), times.tolist(), strict=True))
        assert set(seen) <= {c for c, chance in truth.items() if chance}
        likely = {c: float(x) * len(counts) for c, x in truth.items() if x * len(counts) > 8}
        square = sum((seen.get(c, 0) - mean) ** 2 / mean for c, mean in likely.items())
        assert abs(square - len(likely)) < 6.0 * math.sqrt(2.0 * len(likely))
    average = AverageTargetGame(law, n).play(2000, rng=8)
    fresh = average.targets.mean(axis=0)
    np.testing.assert_allclose(fresh, law.mean, atol=0.06)
    assert FixedTargetGame(z, law, n, n_reference=5).play(9, rng=1).references.shape == (9, 3)
    with pytest.raises(ValueError, match="target must be a value that a row can have"):
        FixedTargetGame([0.5, 0, 0], law, n)


def test_sampled_curves_agree_with_exact_ones():
    """Within five standard errors, also for a chain beside other columns and a part of the rows."""
    chain = Chain.from_correlation(np.linspace(0.2, 0.5, 20), 0.6)
    law = [chain, Genotype(np.linspace(0.1, 0.6, 25)), Chain(0.4, [0.3] * 8, [0.9] * 8, 2)]
    z = np.concatenate([part.draw(1, rng=5)[0] for part in law])
    for rate in (1.0, 0.5):
        exact = exact_mean_tradeoff(z, law, 40, sampling_rate=rate)
        assert exact.method == "inversion"
        assert exact.error < 1e-10
        drawn = exact_mean_tradeoff(
            z, law, 40, sampling_rate=rate, method="sample", draws=20_000, rng=6
        )
        assert isinstance(drawn, SampledTradeOff)
        assert drawn.kind == "estimate"
        wide = drawn.advantage_interval(1.0 - 1e-6)
        assert wide.lower <= exact.advantage <= wide.upper
        assert wide.upper - wide.lower < 0.03
        fpr = np.array([0.01, 0.1, 0.5])
        np.testing.assert_allclose(drawn.power(fpr), exact.power(fpr), atol=0.025)
        np.testing.assert_allclose(drawn.auc, exact.auc, atol=0.02)


def test_intervals_of_sampled_curves_hold_the_advantage():
    law = Chain.from_correlation(np.full(6, 0.3), 0.8)
    z = np.zeros(6)
    exact = exact_mean_tradeoff(z, law, 5, method="atoms").advantage
    held = 0
    for seed in range(150):
        curve = exact_mean_tradeoff(z, law, 5, method="sample", draws=300, rng=seed)
        interval = curve.advantage_interval()
        assert interval.kind == "estimate"
        held += interval.lower <= exact <= interval.upper
    assert 132 <= held <= 150  # 95 % of 150, within four standard errors


def _rare_event(target, law):
    """Log ratios of two rows, with their exact probabilities out and in, and the advantage."""
    exact = exact_mean_tradeoff([target], law, 2, method="atoms")
    arrays = exact.to_arrays()
    ratio = np.append(-np.inf, arrays.log_ratio)
    out = np.diff(np.concatenate([[0.0, exact.impossible], arrays.cdf_out]))
    inside = np.diff(np.concatenate([[0.0, 0.0], arrays.cdf_in]))
    return ratio, out, inside, exact.advantage


@pytest.mark.parametrize("draws", [100, 1000])
@pytest.mark.parametrize(("target", "p"), [(0.0, 1e-3), (1.0, 1e-3), (0.0, 0.03), (1.0, 0.3)])
def test_intervals_allow_for_an_event_that_no_draw_contains(target, p, draws):
    """An event of probability 1e-3: 100 draws contain it once in ten times."""
    ratio, out, inside, advantage = _rare_event(target, Bernoulli([p]))
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        n_out = rng.binomial(draws, 0.5)
        out_scores = rng.choice(ratio, n_out, p=out / out.sum())
        in_scores = rng.choice(ratio, draws - n_out, p=inside / inside.sum())
        curve = SampledTradeOff(in_scores, out_scores, allow_reversed=True)
        interval = curve.advantage_interval()
        held += interval.lower <= advantage <= interval.upper
    assert held >= 0.95 * 400 - 4 * math.sqrt(400 * 0.95 * 0.05)


def test_the_interval_of_equal_draws_is_as_wide_as_an_unseen_event_can_be():
    """All draws agree: of N an event of probability u is unseen with (1 - u)^N."""
    for draws in (100, 10_000):
        scores = np.full(draws // 2, 0.5)
        interval = SampledTradeOff(scores, scores).advantage_interval(0.9)
        unseen = 1.0 - 0.005 ** (1 / draws)  # a tenth of the error of 0.05 on each side
        mean = math.tanh(0.25)
        assert interval.lower == pytest.approx(mean - unseen * mean, rel=1e-12)
        assert interval.upper == pytest.approx(mean + unseen * (1.0 - mean), rel=1e-12)


def test_games_lie_within_the_band_of_the_exact_curve():
    """Power at thresholds of the exact law, 250,000 rounds, within five standard errors."""
    law = Chain.from_correlation(np.full(24, 0.3), 0.7)
    z, n, rounds = law.draw(1, rng=3)[0], 25, 250_000
    curve = exact_mean_tradeoff(z, law, n)
    score = lambda releases: likelihood_ratio_score(releases, z, law, n)  # noqa: E731
    played = FixedTargetGame(z, law, n).play(rounds, score=score, rng=9)
    for threshold in (-1.0, -0.3, 0.0, 0.2, 0.7, 1.5):
        for world, scores in (("out", played.out_scores), ("in", played.in_scores)):
            truth = curve.sf(threshold, world)
            seen = float(np.mean(scores > threshold))
            assert abs(seen - truth) < 5.0 * math.sqrt(truth * (1 - truth) / scores.size)


def test_chains_beside_each_other_are_the_composition_of_their_curves():
    first = Chain.from_correlation(np.full(26, 0.3), 0.5)
    second = Chain.from_correlation(np.full(20, 0.4), 0.6)
    rows = [law.draw(1, rng=k)[0] for k, law in enumerate((first, second))]
    apart = [exact_mean_tradeoff(z, law, 12) for z, law in zip(rows, (first, second), strict=True)]
    both = exact_mean_tradeoff(np.concatenate(rows), [first, second], 12)
    assert compose(*apart).advantage == pytest.approx(both.advantage, abs=1e-12)
    bounds = apart[0].enclosure([0.01, 0.3], reach=60.0)
    power = apart[0].power([0.01, 0.3])
    assert (bounds.lower <= power).all()
    assert (power <= bounds.upper).all()
    assert (bounds.width < 0.1).all()


def test_columns_that_copy_the_one_before_add_nothing():
    p = np.linspace(0.2, 0.6, 24)
    base = Chain.from_correlation(p, 0.4)
    zero, one = np.zeros(47), np.ones(47)
    zero[1::2], one[1::2] = base.after_zero, base.after_one
    z = base.draw(1, rng=1)[0]
    single = exact_mean_tradeoff(z, base, 20)
    twice = exact_mean_tradeoff(np.repeat(z, 2), Chain(base.start, zero, one), 20)
    assert twice.advantage == pytest.approx(single.advantage, abs=1e-13)
    assert twice.power(1e-6) == pytest.approx(single.power(1e-6), rel=1e-12)


def test_no_trained_attack_beats_the_optimum_in_stored_games():
    """Gradient boosting on 1e5 games of chains (docs/gallery/make_linked_attack.py)."""
    folder = Path(__file__).parents[1] / "docs" / "gallery"
    stored = json.loads((folder / "linked_attack.json").read_text())
    frequencies = np.full(stored["sites"], stored["frequency"])
    law = Chain.from_correlation(frequencies, stored["correlation"])
    rng = np.random.default_rng(0)
    targets = law.draw(len(stored["targets"]), rng=rng)
    # Two shares of half of the games each, whose variances are at most 1/4.
    assert stored["reach"] == pytest.approx(2.6383 * math.sqrt(1.0 / stored["games"]), rel=1e-3)
    for target, row in zip(targets, stored["targets"], strict=True):
        optimum = exact_mean_tradeoff(target, law, stored["haplotypes"]).advantage
        assert row["optimum"] == pytest.approx(optimum, rel=1e-8)
        assert row["trained"] <= optimum + stored["reach"]
        assert abs(row["ratio"] - optimum) <= stored["reach"]


def test_no_trained_attack_beats_the_optimum_of_second_order_in_stored_games():
    """Sums modulo 2 of two sites: pairs show nothing, and the ratio has what an attack can gain."""
    folder = Path(__file__).parents[1] / "docs" / "gallery"
    whole = json.loads((folder / "linked_attack.json").read_text())
    stored, reach = whole["second_order"], whole["reach"]
    flips = np.full((stored["sites"] - 1, 2), [stored["noise"], 1.0 - stored["noise"]])
    flips[0] = 0.5
    law = Chain(0.5, flips, 1.0 - flips)
    targets = law.draw(len(stored["targets"]), rng=1)
    for target, row in zip(targets, stored["targets"], strict=True):
        low, high = row["interval"]
        assert row["trained"] <= high + reach
        assert low - reach <= row["ratio"] <= high + reach
        again = exact_mean_tradeoff(
            target, law, stored["haplotypes"], method="sample", draws=1000, rng=2
        ).advantage_interval(1.0 - 1e-6)
        assert again.lower <= row["optimum"] <= again.upper


def test_atoms_that_would_be_too_many_are_not_made(monkeypatch):
    """Where none are made, there are too many; of fewer rows, or two columns, they are made."""
    law = Chain.from_correlation([0.3, 0.35, 0.3], 0.7)
    made = []

    def counted(*arguments):
        made.append(arguments)
        return step(*arguments)

    step = _chains.make_step
    monkeypatch.setattr(_chains, "make_step", counted)
    z = np.array([1, 0, 1])
    assert chain_atoms(law, z, 600) is None
    assert not made
    with monkeypatch.context() as patch:
        patch.setattr(_chains, "_EQUAL", 1e9)
        assert chain_atoms(law, z, 600) is None
    assert made
    made.clear()
    assert chain_atoms(law, z, 40) is not None
    assert len(made) == 2
    copies = Chain(0.3, [0.0] * 4, [1.0] * 4)
    assert chain_atoms(copies, np.ones(5), 900)[0].ratio.size > 800
