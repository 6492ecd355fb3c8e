"""Audits of many examples by shadow models."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from mialeak.auditing import shadow_audit
from mialeak.auditing._multiple_tests import hommel
from mialeak.auditing._shadow_design import Reading
from mialeak.auditing._shadow_guesses import Guesses


def coins(models, examples, seed=0):
    return np.random.default_rng(seed).random((models, examples)) < 0.5


def half(models, examples, seed=0):
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((models, examples)), axis=0) < models // 2


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few models for one example
        return shadow_audit(*args, **options)


def right_guesses(scores, members):
    """Weights, as the docstring states them, and which guesses are right."""
    distance = scores - np.median(scores)
    ranks = np.argsort(np.argsort(np.abs(distance), kind="stable")) + 1.0
    weights = np.ceil(64 * (ranks / scores.size) ** 2)
    return weights, (distance > 0) == members


@pytest.mark.parametrize("claim", [0.0, 0.7])
def test_p_values_are_those_of_all_outcomes_of_the_coins(claim):
    models = 9
    rng = np.random.default_rng(1)
    q = 1.0 / (1.0 + np.exp(-claim))
    for seed in range(5):
        scores, members = rng.normal(size=models), coins(models, 1, seed)
        weights, right = right_guesses(scores, members[:, 0])
        total, want = weights @ right, 0.0
        for outcome in itertools.product([0, 1], repeat=models):
            if weights @ outcome >= total:
                want += np.prod(np.where(outcome, q, 1 - q))
        got = quiet(scores[:, None], members, claimed_epsilon=claim).p_values[0]
        assert got == pytest.approx(want, rel=1e-12)


def test_the_bound_is_where_the_p_value_crosses_the_level():
    members = coins(40, 30, 2)
    scores = np.random.default_rng(2).normal(2.0 * members)
    result = shadow_audit(scores, members)
    for level, bounds in (
        (0.05 / 30, result.epsilon_lower),
        (0.05, result.epsilon_each),
    ):
        for i in (0, 7, 19):
            below, above = (
                shadow_audit(scores, members, claimed_epsilon=e).p_values[i]
                for e in (bounds[i], bounds[i] + 0.01)
            )
            assert below <= level < above
    most = -np.log(np.expm1(-np.log(0.05 / 30) / 40))
    assert result.provable_epsilon == pytest.approx(most, abs=0.011)


def test_bounds_and_holm_hold_for_scores_that_are_coins_of_other_examples():
    """All 256 coins of two examples in four models, each scored by the coins of the other.

    If both scores are right in all models, each is right in all with probability 1/16, and never
    both: 1/8 of the families, which Sidak's level at this confidence, 1 - sqrt(0.8751) > 1/16,
    would refute.
    """
    confidence, turn = 0.8751, np.arange(4) / 10
    false = np.zeros(2)
    for outcome in itertools.product([False, True], repeat=8):
        members = np.reshape(outcome, (4, 2))
        scores = np.stack([members[:, 1] + turn, ~members[:, 0] + turn], axis=1)
        result = quiet(scores, members, confidence=confidence)
        by_coins = Guesses(scores, members, Reading("coins")).p_values(0.0)
        assert (result.p_values >= by_coins).all()
        false += [(by_coins <= 1 / 16).any(), result.epsilon_lower.any()]
    assert false[0] == 32
    assert false[1] <= 256 * (1 - confidence)


def test_a_random_half_of_the_models_has_the_hypergeometric_law():
    models, examples = 12, 40
    members = half(models, examples, 3)
    scores = np.random.default_rng(3).normal(size=(models, examples))
    claim = 0.4
    result = quiet(scores, members, claimed_epsilon=claim)
    assert result.design == "half"
    top = np.argsort(scores, axis=0)[models // 2 :]
    counts = np.take_along_axis(members, top, axis=0).sum(axis=0)
    law = stats.nchypergeom_fisher(models, models // 2, models // 2, np.exp(2 * claim))
    np.testing.assert_allclose(result.p_values, law.sf(counts - 1), rtol=1e-9)


def closed_testing(p, alpha):
    """Least number of false claims, by Simes' test of all subsets."""
    size = len(p)

    def is_rejected(subset):
        rising = np.sort(p[list(subset)])
        return (rising <= alpha * np.arange(1, len(rising) + 1) / len(rising)).any()

    kept = [
        len(subset)
        for count in range(1, size + 1)
        for subset in itertools.combinations(range(size), count)
        if not is_rejected(subset)
    ]
    return size - max(kept, default=0)


def test_at_least_is_closed_testing_of_all_subsets():
    rng = np.random.default_rng(4)
    for _ in range(60):
        p = rng.random(8) ** rng.choice([1.0, 3.0, 8.0], size=8)
        assert hommel(p, 0.05) == closed_testing(p, 0.05)


def test_holm_and_benjamini_hochberg_are_those_of_other_packages():
    members = coins(32, 60, 5)
    scores = np.random.default_rng(5).normal(size=(32, 60)) + members * np.linspace(0, 4, 60)
    result = shadow_audit(scores, members)
    adjusted = stats.false_discovery_control(result.p_values)
    np.testing.assert_array_equal(result.discoveries, adjusted <= 0.05)
    order, proved = np.argsort(result.p_values), []
    for rank, i in enumerate(order):
        if result.p_values[i] > 0.05 / (60 - rank):
            break
        proved.append(i)
    assert sorted(proved) == np.flatnonzero(result.proved).tolist()
    assert result.proved.sum() <= result.at_least <= result.discoveries.sum()


@pytest.mark.parametrize("draw", [coins, half])
def test_families_of_nulls_have_a_false_claim_in_five_per_cent(draw):
    """Scores that depend on one another and on nothing else; 300 draws of the coins."""
    rng = np.random.default_rng(6)
    scores = rng.normal(size=(24, 40)) + rng.normal(size=(24, 1)) + rng.normal(size=(1, 40))
    claims = np.zeros(4)
    for seed in range(300):
        result = quiet(scores, draw(24, 40, seed))
        claims += [
            result.proved.any(),
            result.at_least > 0,
            result.discoveries.any(),
            result.epsilon_lower.any(),
        ]
    assert claims.max() <= 300 * 0.05 + 4 * np.sqrt(300 * 0.05 * 0.95)


def test_the_share_of_false_families_is_that_of_the_exact_law():
    """64 models, 500 examples that leak nothing: whole numbers of outcomes of 64 coins."""
    outcomes = np.zeros(1, dtype=object) + 1
    for rank in range(1, 65):
        weight = -(-64 * rank * rank // 64**2)
        longer = np.zeros(outcomes.size + weight, dtype=object)
        longer[: outcomes.size] += outcomes
        longer[weight:] += outcomes
        outcomes = longer
    tails = np.cumsum(outcomes[::-1])
    largest = Fraction(int(tails[tails * 10_000 <= 2**64][-1]), 2**64)
    assert float(largest) == pytest.approx(9.948e-5, rel=1e-4)
    assert float(1 - (1 - largest) ** 500) == pytest.approx(0.0485, abs=5e-5)
    p_values = quiet(np.random.default_rng(0).normal(size=(64, 500)), coins(64, 500)).p_values
    exact = {float(Fraction(int(tail), 2**64)) for tail in tails}
    near = np.array(sorted(exact))
    place = np.clip(np.searchsorted(near, p_values), 1, near.size - 1)
    gap = np.minimum(np.abs(near[place] - p_values), np.abs(near[place - 1] - p_values))
    assert (gap <= 1e-12 * p_values).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.6])
def test_rank_pairs_are_those_of_integrals_over_both_beta_laws(epsilon):
    """P(V <= e^epsilon U), its Sidak share, and the least over ranks and tails."""
    members = coins(30, 25, 12)
    scores = np.random.default_rng(12).normal(size=members.shape) + 1.2 * members
    result = quiet(scores, members, claimed_epsilon=epsilon, method="rank-pairs")
    for i in range(0, 25, 4):
        into, out = np.sort(scores[members[:, i], i]), np.sort(scores[~members[:, i], i])
        want = 1.0
        for hits, marks in ((into, out), (-out, -into)):
            marks = np.sort(marks)
            ranks = [r for r in (1, 3, 9, 27) if r <= max(len(marks) // 2, 1)]
            weights = 0.5 ** np.arange(len(ranks)) + 1 / 32
            for rank, weight in zip(ranks, weights / weights.sum(), strict=True):
                k = int((hits > marks[-rank]).sum())
                if not k:
                    continue
                u = stats.beta(rank, len(marks) - rank + 1)
                v = stats.beta(k, len(hits) - k + 1)
                grid = np.linspace(0.0, 1.0, 200_001)
                below = v.cdf(np.minimum(np.exp(epsilon) * grid, 1.0))
                p = integrate.trapezoid(below * u.pdf(grid), grid)
                want = min(want, 1 - (1 - p) ** (2 / weight))
        assert result.p_values[i] == pytest.approx(want, rel=1e-6)


def test_the_bound_of_rank_pairs_is_where_the_p_value_crosses_the_level():
    members = coins(60, 30, 13)
    scores = np.random.default_rng(13).normal(size=members.shape) + 4.0 * members
    for method in ("rank-pairs", "both"):
        result = shadow_audit(scores, members, method=method)
        bounds = result.epsilon_lower
        assert 0.0 < bounds.max() <= result.provable_epsilon
        for i in (0, 11, 23):
            below, above = (
                shadow_audit(scores, members, claimed_epsilon=e, method=method).p_values[i]
                for e in (bounds[i], bounds[i] + 0.01)
            )
            assert below <= 0.05 / 30 < above
        parts = [shadow_audit(scores, members, method=one) for one in ("guesses", "rank-pairs")]
        least = np.min([part.p_values for part in parts], axis=0)
        if method == "both":
            np.testing.assert_allclose(result.p_values, np.minimum(2 * least, 1), rtol=1e-12)
    perfect = shadow_audit(1.0 * members + scores.clip(0, 0.5) * 0.1, members, method="rank-pairs")
    assert perfect.epsilon_lower.max() == perfect.provable_epsilon


def test_rank_pairs_prove_what_a_part_of_the_models_remembers():
    members = coins(256, 120, 14)
    rng = np.random.default_rng(114)
    remembers = members & (rng.random(members.shape) < 0.4) & (np.arange(120) < 20)
    scores = rng.normal(size=members.shape) + 6.0 * remembers
    guesses, pairs = (
        shadow_audit(scores, members, claimed_epsilon=1.0, method=method).proved
        for method in ("guesses", "rank-pairs")
    )
    assert guesses.sum() <= 4
    assert pairs[:20].sum() >= 18
    assert not pairs[20:].any()


@pytest.mark.parametrize("draw", [coins, half])
def test_equal_scores_of_an_example_prove_nothing_of_it(draw):
    scores = np.random.default_rng(20).normal(size=(24, 12))
    scores[:, :9] = 7.0
    for seed in range(20):
        p_values = quiet(scores, draw(24, 12, seed)).p_values
        assert p_values[:9] == pytest.approx(1.0, abs=1e-12)


def test_families_of_nulls_of_rank_pairs():
    """Scores with ties, whole columns of them among these; 200 draws of the coins."""
    rng = np.random.default_rng(15)
    scores = np.rint(2 * rng.normal(size=(24, 30))) + 10 * rng.normal(size=(1, 30))
    scores[:, :3] = 7.0
    claims = np.zeros(3)
    for seed in range(200):
        result = quiet(scores, coins(24, 30, seed), method="rank-pairs")
        assert not result.epsilon_lower[:3].any()
        claims += [result.proved.any(), result.discoveries.any(), result.epsilon_lower.any()]
    assert 0 < claims.max() <= 200 * 0.05 + 4 * np.sqrt(200 * 0.05 * 0.95)


def test_discoveries_of_rank_pairs_take_any_dependence():
    members = coins(64, 60, 16)
    scores = np.random.default_rng(16).normal(size=(64, 60)) + members * np.linspace(0, 4, 60)
    result = shadow_audit(scores, members, method="rank-pairs")
    adjusted = stats.false_discovery_control(result.p_values, method="by")
    np.testing.assert_array_equal(result.discoveries, adjusted <= 0.05)
    assert result.at_least == result.proved.sum() > 0


def test_rank_pairs_ask_for_coins():
    members = half(30, 40, 17)
    scores = np.random.default_rng(17).normal(size=members.shape)
    with pytest.raises(ValueError, match="not available with each example in half of the models"):
        shadow_audit(scores, members, method="both")
    with pytest.raises(ValueError, match='method must be "guesses", "rank-pairs" or "both"'):
        shadow_audit(scores, coins(30, 40), method="pairs")


def test_randomised_response_is_seldom_bounded_above_its_epsilon():
    epsilon, above, single = 1.0, 0, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        members = coins(32, 25, 1000 + seed)
        turned = rng.random(members.shape) < 1.0 / (1.0 + np.exp(epsilon))
        result = shadow_audit(2.0 * (members ^ turned) - 1.0, members)
        above += bool((result.epsilon_lower > epsilon).any())
        single += int((result.epsilon_each > epsilon).sum())
    assert above <= 200 * 0.05 + 4 * np.sqrt(200 * 0.05)
    assert single <= 5000 * 0.05 + 4 * np.sqrt(5000 * 0.05)


def test_examples_that_leak_are_proved_to():
    members = coins(64, 300, 7)
    leak = np.where(np.arange(300) < 60, 3.0, 0.0)
    scores = np.random.default_rng(7).normal(size=members.shape) + leak * members
    result = shadow_audit(scores, members)
    assert result.proved[:60].mean() > 0.9
    assert not result.proved[60:].any()
    np.testing.assert_array_equal(
        shadow_audit(-scores, members, higher_is_member=False).p_values, result.p_values
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s, m: (s, m.T),
            "members must have the shape of scores, .*; one of the two is transposed",
        ),
        (lambda s, m: (m, m), "scores must be scores of an attack; its entries are booleans"),
        (lambda s, m: (1.0 * m, m), "all are 0 or 1, as flags are"),
        (lambda s, m: (s, m + 1), "members must hold 0 and 1 only"),
        (lambda s, m: (s, np.ones_like(m)), "two models have the same|come of fair coins"),
        (lambda s, m: (s, m | (s > 1)), "come of fair coins; .* of all coins are 1"),
        (lambda s, m: (s, np.where(np.arange(50) < 1, True, m)), "1 of 50 examples are in all"),
        (lambda s, m: (s, np.where(np.arange(30)[:, None] < 1, True, m)), "of a model are 1"),
        (lambda s, m: (s[:, :0], m[:, :0]), "hold a model and an example"),
        (lambda s, m: (np.where(s > 2, np.nan, s), m), "scores must be finite"),
        (lambda s, m: (s - 3.0 * m, m), "pass higher_is_member=False"),
    ],
)
def test_bad_input_is_named(change, message):
    members = coins(30, 50, 8)
    scores = np.random.default_rng(8).normal(size=members.shape)
    with pytest.raises(ValueError, match=message):
        shadow_audit(*change(scores, members))


def test_models_with_the_same_coins_are_refused():
    members = np.repeat(coins(10, 50, 9), 2, axis=0)
    with pytest.raises(ValueError, match="two models have the same"):
        shadow_audit(np.random.default_rng(9).normal(size=members.shape), members)


def test_few_models_are_warned_of():
    scores = np.random.default_rng(10).normal(size=(1, 60))
    with pytest.warns(UserWarning, match=r"one model proves nothing .* 11 models at least"):
        result = shadow_audit(scores, coins(1, 60, 10))
    assert not result.epsilon_lower.any()
    assert result.provable_epsilon == 0.0


def test_models_of_exactly_half_of_the_examples_are_warned_of():
    members = half(60, 30, 11).T
    scores = np.random.default_rng(11).normal(size=members.shape)
    with pytest.warns(UserWarning, match="each model has exactly half of the examples"):
        shadow_audit(scores, members)


def test_models_as_columns_are_warned_of():
    """Examples are harder or easier for all models; so are then the rows."""
    rng = np.random.default_rng(12)
    for models, examples in ((64, 300), (300, 64), (256, 20)):
        members = coins(models, examples, 12)
        scores = rng.normal(1.0 * members) + rng.normal(size=examples)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shadow_audit(scores, members)
        if models < examples:
            with pytest.warns(
                UserWarning, match=r"the 300 rows of .* pass both transposed"
            ) as seen:
                shadow_audit(scores.T, members.T)
            assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = rng.normal(size=(300, 1)) / 6.0  # of different quality, and examples alike
        members = coins(300, 64, 13)
        shadow_audit(rng.normal(1.0 * members) + models, members)


def test_an_index_in_another_order_is_refused():
    members = pd.DataFrame(coins(30, 50, 14))
    scores = pd.DataFrame(np.random.default_rng(14).normal(size=members.shape))
    shadow_audit(scores, members)
    shadow_audit(scores, members.to_numpy()[::-1])
    with pytest.raises(ValueError, match=r"members must have the index of scores in its order"):
        shadow_audit(scores, members[::-1])
    with pytest.raises(ValueError, match=r"members\.T must have the index of scores"):
        shadow_audit(scores, members[members.columns[::-1]])


def test_scores_of_any_shape_with_models_as_columns_are_warned_of():
    """Also where there are more of them than examples, which a longer side does not show."""
    rng = np.random.default_rng(4)
    for models, examples in ((500, 64), (64, 64)):
        members = rng.random((models, examples)) < 0.5
        scores = rng.normal(rng.normal(size=examples) + 2.0 * members)
        shadow_audit(scores, members)  # without a warning
        with pytest.warns(UserWarning, match="models, differ from one another as examples do"):
            shadow_audit(scores.T, members.T)


def test_a_square_of_flags_that_is_transposed_is_warned_of():
    rng = np.random.default_rng(4)
    members = rng.random((64, 64)) < 0.5
    scores = rng.normal(2.0 * members)
    shadow_audit(scores, members)
    for pair in ((scores, members.T), (scores.T, members)):
        with pytest.warns(UserWarning, match="agree with the flags transposed .* transposed"):
            shadow_audit(*pair)


def _opposite(rng, models, examples, *, halves):
    """Coins of pairs of models, the second of which has what the first has not."""
    first = rng.random((models // 2, examples)) < 0.5
    if halves:
        return np.concatenate([first, ~first])
    return np.stack([first, ~first], axis=1).reshape(models, examples)


@pytest.mark.parametrize("halves", [True, False])
def test_opposite_models_that_differ_leak_nothing(halves):
    """Every second model, or every one of the first half, has larger scores: 24 % were false."""
    rng, false = np.random.default_rng(0), 0
    drift = np.arange(32) < 16 if halves else np.arange(32) % 2 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # these models do differ as examples do
        for _ in range(400):
            members = _opposite(rng, 32, 20, halves=halves)
            result = shadow_audit(rng.normal(3.0 * drift[:, None], size=members.shape), members)
            false += bool(result.proved.any())
    assert result.design == "pairs"
    assert false <= 400 * 0.05 + 4.0 * np.sqrt(400 * 0.05 * 0.95)


def test_opposite_models_of_a_perfect_attack_prove_half_of_what_their_pairs_do():
    """By Clopper and Pearson: all of 40 coins guessed, of odds e^(2 epsilon) at most."""
    rng = np.random.default_rng(1)
    members = _opposite(rng, 80, 5, halves=False)
    result = shadow_audit(rng.normal(50.0 * members), members)
    share = (0.05 / 5) ** (1 / 40)
    exact = 0.5 * np.log(share / (1.0 - share))
    assert exact - 0.006 < result.provable_epsilon <= exact
    # Coins that are not half and half lie on the wrong side of the median.
    assert 0.7 * exact < result.epsilon_lower.min() <= result.epsilon_lower.max() <= exact
    again = shadow_audit(rng.normal(50.0 * members), members, claimed_epsilon=0.7 * exact)
    assert again.proved.all()
    assert not shadow_audit(rng.normal(50.0 * members), members, claimed_epsilon=exact).proved.any()


@pytest.mark.parametrize(("models", "draw"), [(8, coins), (64, coins), (64, half), (12, half)])
def test_columns_with_the_coins_of_others_are_refused(models, draw):
    """Augmentations of each example, in turn or in blocks; their mean is taken."""
    members = draw(models, 200, 21)
    rng = np.random.default_rng(21)
    for each in (np.tile(members, 4), np.repeat(members, 4, axis=1), np.repeat(members, 2, axis=1)):
        with pytest.raises(ValueError, match="members must have coins of its own for each example"):
            quiet(rng.normal(size=each.shape), each)
    with pytest.raises(ValueError, match=r"its 210 columns hold 200 different ones, as where"):
        quiet(rng.normal(size=(64, 210)), np.tile(coins(64, 200, 22), 2)[:, :210])
    scores = np.tile(members * 2.0, 4) + rng.normal(size=(models, 800))
    quiet(scores.reshape(models, 4, 200).mean(axis=1), members)


def test_columns_that_agree_by_chance_are_taken():
    """Of few models, of which each pattern of coins occurs several times."""
    rng = np.random.default_rng(23)
    cases = [(coins, k, n) for k in (2, 4, 8, 12, 20) for n in (40, 300, 3000)]
    cases += [(half, k, n) for k in (4, 8, 12) for n in (100, 2000)]
    for draw, models, examples in cases:
        for seed in range(8):
            quiet(rng.normal(size=(models, examples)), draw(models, examples, seed))
    for models, examples in ((8, 400), (16, 2000)):
        first = coins(models // 2, examples, 5)
        members = np.concatenate([first, ~first])
        assert quiet(rng.normal(size=members.shape), members).design == "pairs"


def test_few_models_prove_how_many_leak_and_not_which():
    """That is in the warning beside an `at_least` above 0, which all 8 of all models make."""
    members = coins(8, 200, 24)
    scores = np.random.default_rng(24).normal(6.0 * members)
    match = r"8 models prove nothing of a single one of 200 .* only the number of examples that"
    with pytest.warns(UserWarning, match=match):
        result = shadow_audit(scores, members)
    assert not result.proved.any()
    assert result.at_least > 40
