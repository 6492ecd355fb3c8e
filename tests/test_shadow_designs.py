"""Few examples that are in exactly half of the shadow models: coins that chance may have made."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy import optimize

from mialeak.auditing import shadow_audit


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few models for one example
        return shadow_audit(*args, **options)


def halves(models):
    """All coins of one example that is in exactly half of the models."""
    for chosen in itertools.combinations(range(models), models // 2):
        yield np.isin(np.arange(models), chosen)[:, None]


def opposites(models, examples, neighbours):
    """All coins of pairs of models, the second with the examples that the first has not."""
    for outcome in itertools.product([False, True], repeat=models // 2 * examples):
        first = np.reshape(outcome, (models // 2, examples))
        both = np.concatenate([first, ~first])
        place = np.arange(models).reshape(2, -1).T.ravel() if neighbours else np.arange(models)
        yield both[place]


def share_of(result, odds):
    """By how much the p-values of outcomes with these odds undercut their levels at most."""
    p, weight = np.array(result), np.array(odds) / np.sum(odds)
    return max(weight[p <= level].sum() / level for level in np.unique(p))


@pytest.mark.parametrize("models", [2, 4, 6, 8])
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_p_values_of_one_example_in_half_of_the_models_hold(models, epsilon):
    """Each outcome of the coins; they were read as fair ones, whose p-values are too small."""
    scores = np.random.default_rng(models).normal(size=(models, 1))
    is_high = scores > np.median(scores)
    results, odds = [], []
    for members in halves(models):
        result = quiet(scores, members, claimed_epsilon=epsilon)
        assert result.design == "half"
        results.append(result.p_values[0])
        odds.append(np.exp(epsilon * (members == is_high).sum()))
    assert share_of(results, odds) <= 1.0 + 1e-12


@pytest.mark.parametrize("neighbours", [True, False])
@pytest.mark.parametrize(("models", "examples"), [(4, 1), (6, 1), (8, 1), (6, 2)])
def test_p_values_of_few_opposite_models_hold(models, examples, neighbours):
    scores = np.random.default_rng(models).normal(size=(models, examples))
    results = [
        quiet(scores, members).p_values for members in opposites(models, examples, neighbours)
    ]
    for each in np.transpose(results):
        assert share_of(each, np.ones(each.size)) <= 1.0 + 1e-12


def test_families_of_few_examples_in_half_of_the_models_have_a_false_claim_in_five_per_cent():
    """Ten examples in half of eight models, of which nothing leaks: 9.7 % before."""
    rng, false, draws = np.random.default_rng(0), 0, 600
    for _ in range(draws):
        members = np.argsort(rng.random((8, 10)), axis=0) < 4
        result = quiet(rng.normal(size=(8, 10)), members)
        false += bool(result.proved.any() or result.at_least)
    assert false <= draws * 0.05 + 3 * np.sqrt(draws * 0.05 * 0.95)


def test_one_example_in_half_of_many_models_is_proved_to_leak():
    members = np.random.default_rng(1).permutation(64)[:, None] < 32
    result = quiet(np.random.default_rng(2).normal(4.0 * members), members)
    assert result.proved.all()
    assert 1.5 < result.epsilon_lower[0] < result.provable_epsilon < 4.0


def test_rank_pairs_take_one_example_in_half_of_the_models_and_not_several():
    rng = np.random.default_rng(3)
    members = np.argsort(rng.random((64, 3)), axis=0) < 32
    scores = rng.normal(4.0 * members)
    alone = quiet(scores[:, :1], members[:, :1], method="both")
    assert alone.proved.all()
    with pytest.raises(ValueError, match="in half of the models"):
        quiet(scores, members, method="rank-pairs")


@pytest.mark.parametrize(("leak", "proved"), [(1.5, 300), (0.0, 0)])
def test_models_that_differ_in_level_are_centred_in_place_of_transposed(leak, proved):
    """Half of the models are of another architecture, whose logits are 6 higher."""
    rng = np.random.default_rng(131)
    members = rng.random((64, 300)) < 0.5
    scores = rng.normal(size=members.shape) + rng.normal(size=300) + leak * members
    scores += np.repeat([0.0, 6.0], 32)[:, None]
    with pytest.warns(UserWarning, match=r"differ in level .*: subtract the median of each row"):
        assert shadow_audit(scores, members).at_least <= 0.8 * proved
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        centred = shadow_audit(scores - np.median(scores, axis=1, keepdims=True), members)
    assert centred.at_least == proved


def test_scores_fitted_to_the_other_models_are_a_second_cause_of_the_wrong_direction():
    """Of noise: each score is a log ratio of two normal laws, fitted to the other models."""
    rng = np.random.default_rng(0)
    members, noise = rng.random((16, 100)) < 0.5, rng.normal(size=(16, 100))
    scores = np.zeros(noise.shape)
    for i in range(16):
        other = np.arange(16) != i
        for j in range(100):
            for sign, flag in ((1.0, True), (-1.0, False)):
                values = noise[other & (members[:, j] == flag), j]
                scale = values.std(ddof=1)
                away = (noise[i, j] - values.mean()) / scale
                scores[i, j] -= sign * (0.5 * away**2 + np.log(scale))
    words = r"pass higher_is_member=False\. Scores that were fitted .*LiRA, point the other way"
    with pytest.raises(ValueError, match=words):
        quiet(scores, members)


def _text(size):
    """Places of numbers that are sorted as text: 0, 1, 10, 11, ..., 2."""
    return np.array(sorted(range(size), key=str))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda s: s[_text(40)],
            "agree .* another order of rows, .* order 0, 1, 10, 11, ",
        ),
        (lambda s: s[:, _text(200)], "agree .* another order of columns, .* order 0, 1, 10, 100, "),
        (lambda s: s[::-1], "agree .* with their rows reversed"),
        (lambda s: np.roll(s, 3, axis=0), "of 40 of 40 rows agree"),
        (
            lambda s: s[[0, 2, 1, *range(3, 40)]],
            "of 2 of 40 rows agree .* such as row [12] with [12] ",
        ),
        (lambda s: np.roll(s, 1, axis=1), "of 200 of 200 columns agree"),
        (lambda s: np.sort(s, axis=1), "of each model are sorted"),
        (lambda s: -np.sort(-s, axis=0), "of each example are sorted"),
    ],
)
@pytest.mark.parametrize("design", ["coins", "half"])
def test_scores_in_another_order_than_their_flags_are_warned_of(change, words, design):
    """All 200 examples leak, and of nearly all nothing was proved, without a word."""
    rng = np.random.default_rng(5)
    draw = rng.random((40, 200))
    members = np.argsort(draw, axis=0) < 20 if design == "half" else draw < 0.5
    scores = rng.normal(4.0 * members) + rng.normal(size=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shadow_audit(scores, members).at_least > 150
    with pytest.warns(UserWarning, match=f"the scores {words}"):
        shadow_audit(change(scores), members)


def test_scores_in_the_order_of_their_flags_are_not_warned_of():
    """Whether nothing leaks, little, or what a score reads of the next example too."""
    rng = np.random.default_rng(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for leak in (0.0, 0.1, 0.3, 1.0, 3.0) * 10:
            members = rng.random((48, 60)) < 0.5
            also = 0.6 * leak * np.roll(members, 1, axis=1)
            shadow_audit(rng.normal(leak * members + also), members)
            shadow_audit(np.round(rng.normal(leak * members)), members)


@pytest.mark.parametrize(("value", "where"), [(False, "no model"), (True, "all models")])
def test_examples_without_coins_are_named(value, where):
    """Their columns were called those of augmentations."""
    rng = np.random.default_rng(7)
    members = rng.random((64, 320)) < 0.5
    members[:, 300:] = value
    with pytest.raises(ValueError, match=f"20 of 320 examples are in {where}, such as column 300"):
        shadow_audit(rng.normal(size=members.shape), members)
    few = rng.random((3, 200)) < 0.5  # about 25 are in no model, by chance
    assert (~few).all(axis=0).any()
    quiet(rng.normal(size=few.shape), few)


def test_all_orders_are_searched_of_few_rows_and_columns_alone(monkeypatch):
    """The search takes the third power of their number."""
    sizes = []
    search = optimize.linear_sum_assignment

    def recorded(matrix, **options):
        sizes.append(len(matrix))
        return search(matrix, **options)

    monkeypatch.setattr(optimize, "linear_sum_assignment", recorded)
    rng = np.random.default_rng(8)
    for shape in [(1001, 9), (12, 1001)]:
        members = rng.random(shape) < 0.5
        quiet(rng.normal(1.0 * members), members)
    assert sizes == [9, 12]
