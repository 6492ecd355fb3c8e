"""Audits that may stop at any moment."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mialeak.auditing import AuditStream, one_run_audit
from mialeak.auditing._stream import _BETS, _PRIOR


def test_the_wealth_is_a_supermartingale_under_every_epsilon():
    """Its mean over one more coin is at most what it was, whatever the guess."""
    for epsilon in (0.0, 0.5, 2.0):
        q = 1.0 / (1.0 + np.exp(-epsilon))
        w = 1.0 / (1.0 + np.exp(-epsilon - _BETS))
        for chance in (0.5, q, 1.0 - q):
            mean = chance * w / q + (1.0 - chance) * (1.0 - w) / (1.0 - q)
            assert (mean <= 1.0 + 1e-12).all()
    assert np.exp(_PRIOR).sum() * _BETS.size == pytest.approx(1.0)


def by_definition(scores, member, epsilon):
    """Largest wealth so far, one canary at a time, as the notes state it."""
    q = 1.0 / (1.0 + np.exp(-epsilon))
    sides, places, far = (0.6, 0.2, 0.2), (0.4, 0.2, 0.2, 0.1, 0.1), (0, 0.5, 0.75, 0.875, 0.9375)
    wealth = np.ones((3, 5, 6))
    most = 0.0
    for i, score in enumerate(scores):
        seen = scores[: i + 1]
        rank = ((seen < score).sum() + (seen <= score).sum()) / seen.size - 1.0
        for side, place in itertools.product(range(3), range(5)):
            if rank == 0.0 or abs(rank) < far[place] or (side, rank > 0) in ((1, False), (2, True)):
                continue
            w = 1.0 / (1.0 + np.exp(-epsilon - _BETS))
            is_right = (rank > 0) == bool(member[i])
            wealth[side, place] *= w / q if is_right else (1.0 - w) / (1.0 - q)
        weights = np.array(sides)[:, None, None] * np.array(places)[:, None] / 6
        most = max(most, (weights * wealth).sum())
    return most


def test_one_canary_at_a_time_is_the_definition():
    rng = np.random.default_rng(1)
    member = rng.random(120) < 0.5
    scores = rng.normal(4.0 * member)
    stream = AuditStream()
    bounds = [stream.update(score, flag) for score, flag in zip(scores, member, strict=True)]
    assert np.all(np.diff(bounds) >= 0.0)
    assert bounds[-1] > 0.5
    assert by_definition(scores, member, bounds[-1]) >= 20.0
    first = next(i for i, bound in enumerate(bounds) if bound == bounds[-1])
    assert stream.n_proved == first + 1
    assert by_definition(scores[:first], member[:first], bounds[-1]) < 20.0


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_stopping_at_the_worst_moment_makes_few_false_claims(epsilon):
    rng, claims, streams = np.random.default_rng(2), 0, 800
    wrong = 1.0 / (1.0 + np.exp(epsilon))
    for _ in range(streams):
        stream = AuditStream()
        for _ in range(3):
            member = rng.random(40) < 0.5
            scores = 2.0 * (member ^ (rng.random(40) < wrong)) - 1.0 + 0.01 * rng.normal(size=40)
            if stream.update(scores, member) > epsilon:
                claims += 1
                break
    assert claims <= 0.05 * streams + 4 * np.sqrt(0.05 * streams)


def test_one_update_proves_about_what_a_fixed_design_proves():
    streams, fixed = [], []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        member = rng.random(1000) < 0.5
        scores = rng.normal(2.0 * member)
        streams.append(AuditStream().update(scores, member))
        fixed.append(one_run_audit(scores, member).epsilon_lower)
    assert np.median(streams) > np.median(fixed) - 0.15


def test_updates_of_any_size_and_long_histories_are_the_same_stream():
    rng = np.random.default_rng(3)
    member = rng.random(3000) < 0.5
    scores = rng.normal(member)
    stream = AuditStream()
    stream.update(scores[:0], member[:0])
    for start in range(0, 3000, 500):
        stream.update(scores[start : start + 500], member[start : start + 500])
    assert stream.n_canaries == 3000
    assert np.array_equal(np.sort(np.r_[stream._seen, stream._recent]), np.sort(scores))
    assert stream.epsilon_lower > 0.5
    assert AuditStream().update([1.0, 1.0, 1.0], [1, 0, 1]) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [1]), "member must have one flag for each score"),
        (([1.0, np.nan], [1, 0]), "scores must be free of NaN"),
        (([1.0, 2.0], [1, 2]), "member must hold 0 and 1 only"),
        (([1.0, 0.0], [1, 0]), "they are the flags of member"),
        ((np.arange(60.0), np.ones(60)), "come of fair coins; 60 of 60 so far are members"),
        (
            (np.arange(80) % 9, np.arange(80) < 40),
            "all members stand before all others, or after them",
        ),
        (
            (np.arange(80), np.arange(80) >= 40),
            "all members stand before all others, or after them",
        ),
        (
            (np.arange(99) % 9, np.arange(99) // 33 % 2),
            "members and others stand together: 2 of 98",
        ),
        ((np.arange(80) % 9, np.arange(80) % 2), "members and others alternate: 79 of 79"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        AuditStream().update(*arguments)


def test_a_delta_has_no_proof():
    with pytest.raises(ValueError, match=r"AuditStream is not available with delta = 1e-05: no pr"):
        AuditStream(delta=1e-5)
    with pytest.raises(ValueError, match=r"confidence must be at least 0\.5"):
        AuditStream(confidence=0.05)


def test_a_forgotten_sign_is_named_once():
    rng, stream = np.random.default_rng(0), AuditStream()
    member = rng.random(200) < 0.5
    losses = rng.normal(-3.0 * member)
    with pytest.warns(UserWarning, match=r"guesses are wrong: .* as losses are") as caught:
        stream.update(losses, member)
    assert caught[0].filename == __file__
    assert stream.update(losses[0], member[0]) == 0.0  # and no second warning


def test_sorted_canaries_stand_together_and_are_taken():
    rng = np.random.default_rng(0)
    member = rng.random(200) < 0.5
    scores = rng.normal(4.0 * member)
    order = np.argsort(scores)
    assert AuditStream().update(scores[order], member[order]) > 1.0
    with pytest.raises(ValueError, match="stand together"):
        AuditStream().update(rng.permutation(scores), member[order])


def test_scores_and_flags_that_are_sorted_by_themselves_prove_nothing():
    """Nothing leaks here."""
    rng = np.random.default_rng(0)
    scores, member = np.sort(rng.normal(size=200)), np.sort(rng.random(200) < 0.5)
    with pytest.raises(ValueError, match="flags are sorted by themselves"):
        AuditStream().update(scores, member)


@pytest.mark.parametrize("block", [1, 100, None])
@pytest.mark.parametrize("canaries", [12, 30, 100, 700])
def test_canaries_that_come_again_are_refused(canaries, block):
    """By epochs, one by one and in blocks, before a second look of 64 flags counts as proof."""
    rng = np.random.default_rng(canaries)
    member = rng.random(canaries) < 0.5
    again = np.tile(member, 12)
    scores = np.tile(rng.normal(size=canaries), 12) + 0.01 * rng.normal(size=again.size)
    stream, size = AuditStream(), block or canaries

    def follow():
        for start in range(0, again.size, size):
            stream.update(scores[start : start + size], again[start : start + size])

    match = "come of coins of their own; .* flags in turn are those of earlier canaries, as where"
    with pytest.raises(ValueError, match=match):
        follow()
    assert stream.n_canaries <= 2 * canaries + 128


def test_an_epoch_of_canaries_that_come_again_counts_once():
    """What the refused update brought is not in the bound, and new canaries may follow."""
    rng = np.random.default_rng(5)
    member, others = rng.random((2, 100)) < 0.5
    stream, other = AuditStream(), AuditStream()
    for each in (stream, other):
        each.update(np.sin(np.arange(100.0)) + 2.0 * member, member)
    before = stream.epsilon_lower
    with pytest.raises(ValueError, match="100 flags in turn are those of earlier canaries"):
        stream.update(np.cos(np.arange(100.0)) + 2.0 * member, member)
    assert (stream.epsilon_lower, stream.n_canaries) == (before, 100)
    score = np.cos(np.arange(100.0)) + 2.0 * others
    assert stream.update(score, others) == other.update(score, others)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
def test_fair_coins_of_many_canaries_are_taken(size):
    rng, stream = np.random.default_rng(size), AuditStream()
    for _ in range(4000 // size):
        stream.update(rng.normal(size=size), rng.random(size) < 0.5)
    assert stream.n_canaries == 4000 // size * size


@pytest.mark.parametrize("size", [1, 7, 40])
def test_no_attack_on_so_many_canaries_proves_more(size):
    """Right guesses at the largest distance; the reach was that of scores of -1 and 1, and less."""
    rng = np.random.default_rng(size)
    for _ in range(5):
        member = rng.integers(0, 2, 40)
        for scores in ((2 * member - 1) * np.arange(1.0, 41.0), rng.normal(5.0 * member)):
            stream = AuditStream()
            for start in range(0, 40, size):
                part = slice(start, start + size)
                stream.update(scores[part], member[part])
                assert stream.epsilon_lower <= stream.provable_epsilon
    perfect = AuditStream()
    for place, coin in enumerate(member.tolist()):
        perfect.update((2 * coin - 1) * (place + 1.0), coin)
    assert perfect.epsilon_lower > perfect.provable_epsilon - 0.1
    assert AuditStream().provable_epsilon == 0.0


@pytest.mark.parametrize("step", [1, 2, 3, 5, 20])
def test_all_canaries_so_far_in_each_update_are_refused_before_they_prove(step):
    """Nothing leaks; without the check, a loop of step 5 refuted epsilon 1 for 17 % of seeds."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        member, scores = rng.random(300) < 0.5, rng.normal(size=300)
        stream = AuditStream()
        taken = -(-3 // step)  # updates until one has three canaries
        for k in range(1, taken + 1):
            stream.update(scores[: k * step], member[: k * step])
        assert stream.epsilon_lower <= 0.1
        k = (taken + 1) * step
        with pytest.raises(ValueError, match=r"pass scores\[k:\] and member\[k:\]"):
            stream.update(scores[:k], member[:k])


@pytest.mark.parametrize("scores", [[-1.0, 1.0], [0.0, 0.25, 0.5], [1.0 / 3.0, 2.0 / 3.0, 1.0]])
def test_scores_of_few_values_may_begin_an_update_as_the_one_before(scores):
    """Guesses and shares repeat by chance; 500 streams of updates of two."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        stream = AuditStream()
        for _ in range(6):
            stream.update(rng.choice(scores, 2), rng.random(2) < 0.5)
        assert stream.n_canaries == 12
