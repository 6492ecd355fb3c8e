"""Canaries: chosen, ranked and made, against brute force; audits of one run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from mialeak import CovarianceAttack, StreamingCovariance, select_canaries
from mialeak.auditing import one_run_audit
from mialeak.training import (
    blank_canaries,
    canife_loss,
    dirac_canary,
    dp_sgd_audit,
    mislabelled_canaries,
)


def candidates_and_reference(rng, n=300, d=8):
    mixing = rng.normal(size=(d, d))
    reference = StreamingCovariance().fit(rng.normal(size=(100, d)) @ mixing + 1.0)
    return rng.normal(size=(n, d)) @ mixing + 1.0, reference


# --- chosen ------------------------------------------------------------------------------------


def test_selected_canaries_are_the_furthest():
    candidates, reference = candidates_and_reference(np.random.default_rng(1))
    found = select_canaries(candidates, reference, 10)
    distances = reference.mahalanobis(candidates)
    order = np.argsort(-distances)[:10]
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.scores, distances[order], rtol=1e-12)
    assert found.kind == "estimate"


def test_candidates_may_come_in_blocks_from_disk_or_in_single_precision(tmp_path):
    candidates, reference = candidates_and_reference(np.random.default_rng(2))
    candidates = candidates.astype(np.float32)
    whole = select_canaries(candidates, reference, 7)
    np.save(tmp_path / "candidates.npy", candidates)
    for other in (
        iter([candidates[:100], candidates[100:101], candidates[101:]]),
        np.load(tmp_path / "candidates.npy", mmap_mode="r"),
        np.asfortranarray(candidates),
        candidates.tolist(),
    ):
        found = select_canaries(other, reference, 7)
        np.testing.assert_array_equal(found.indices, whole.indices)
        np.testing.assert_allclose(found.scores, whole.scores, rtol=1e-12)


def test_memory_stays_flat_over_an_iterator():
    import tracemalloc

    rng = np.random.default_rng(3)
    _, reference = candidates_and_reference(rng)
    block = rng.normal(size=(1000, 8))

    def peak(blocks):
        tracemalloc.start()
        select_canaries((block for _ in range(blocks)), reference, 5)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    few = peak(3)
    assert peak(60) < 1.2 * few


def test_equal_canaries_keep_their_order():
    _, reference = candidates_and_reference(np.random.default_rng(4))
    found = select_canaries(np.ones((5000, 8)) * 4.0, reference, 3)
    assert found.indices.tolist() == [0, 1, 2]


def test_a_cap_on_the_norm_scales_long_gradients_down():
    rng = np.random.default_rng(5)
    reference = StreamingCovariance().fit(rng.normal(size=(1000, 2)) * [1.0, 0.1])
    candidates = [[9.0, 0.0], [0.0, 0.7]]
    assert select_canaries(candidates, reference).indices.tolist() == [0]
    capped = select_canaries(candidates, reference, 2, clip_norm=1.0)
    assert capped.indices.tolist() == [1, 0]
    np.testing.assert_allclose(capped.scores, reference.mahalanobis([[0.0, 0.7], [1.0, 0.0]]))


def test_noise_of_dp_sgd_blurs_narrow_directions():
    rng = np.random.default_rng(6)
    reference = StreamingCovariance().fit(rng.normal(size=(1000, 2)) * [1.0, 0.01])
    candidates = np.array([[2.0, 0.0], [0.0, 0.1]])
    assert select_canaries(candidates, reference).indices[0] == 1
    noisy = select_canaries(candidates, reference, 2, noise_variance=0.25)
    assert noisy.indices[0] == 0
    matrix = reference.covariance_ + 0.25 * np.eye(2)
    deviation = candidates - reference.mean_
    want = np.vecdot(deviation, np.linalg.solve(matrix, deviation.T).T)
    np.testing.assert_allclose(noisy.scores, want, rtol=1e-10)


# --- ranked ------------------------------------------------------------------------------------


def algorithm_6(steps, k, clip):
    """[AB24] Algorithm 6 word for word, but for the centred covariance."""
    total = np.zeros(len(steps[0][0]))
    for candidates, gradients in steps:

        def clipped(rows):
            return [min(1.0, clip / np.linalg.norm(row)) * row for row in rows]

        seen = np.array(clipped(gradients))
        mean, matrix = seen.mean(axis=0), np.cov(seen.T, bias=True)
        distances = [(g - mean) @ np.linalg.inv(matrix) @ (g - mean) for g in clipped(candidates)]
        total += stats.rankdata(distances)
    order = np.argsort(-total, kind="stable")[:k]
    return order, total[order]


def test_ranked_canaries_are_those_of_algorithm_6():
    rng = np.random.default_rng(7)
    steps = [(rng.normal(size=(20, 4)) * 2, rng.normal(size=(60, 4)) + t) for t in range(5)]
    for candidates, _ in steps:
        candidates[3] = candidates[4]  # of equal rank, always
    clip = 2.0
    references = []
    for candidates, gradients in steps:
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        short = gradients * np.minimum(1.0, clip / norms)
        references.append((candidates, StreamingCovariance().fit(short)))
    found = select_canaries(steps=iter(references), k=6, clip_norm=clip)
    order, total = algorithm_6(steps, 6, clip)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.scores, total)


def test_a_candidate_far_once_loses_to_one_that_is_far_always():
    rng = np.random.default_rng(8)
    reference = StreamingCovariance().fit(rng.normal(size=(500, 3)))
    usual = rng.normal(size=(3, 6, 3))
    usual[:, 2] = 5.0
    usual[0, 4] = 500.0
    steps = [(rows, reference) for rows in usual]
    assert select_canaries(steps=steps).indices.tolist() == [2]
    assert select_canaries(usual[0], reference).indices.tolist() == [4]


# --- made --------------------------------------------------------------------------------------


def test_dirac_canary_is_the_furthest_of_all_diracs():
    rng = np.random.default_rng(9)
    for structure, rows in {"full": 100, "low-rank": 20, "diagonal": 100}.items():
        more = {"shrinkage": 0.1} if structure == "low-rank" else {}
        spread = rng.uniform(0.1, 3.0, 40)
        reference = StreamingCovariance(structure=structure, **more)
        reference.fit(rng.normal(size=(rows, 40)) * spread + 0.3)
        canary = dirac_canary(reference, norm=2.0)
        best = int(np.argmax(reference.mahalanobis(2.0 * np.eye(40))))
        assert np.flatnonzero(canary).tolist() == [best]
        assert canary[best] == 2.0
    assert dirac_canary(reference, norm=1.0, index=7)[7] == 1.0


def test_dirac_canary_is_found_beyond_the_first_block():
    variances = np.ones(700)
    variances[600] = 0.01
    rows = np.sqrt(variances) * [[1.0], [-1.0]]
    reference = StreamingCovariance(structure="diagonal").fit(rows)
    assert np.flatnonzero(dirac_canary(reference, 1.0)).tolist() == [600]


def test_mislabelled_canaries_are_never_right_and_uniform_among_the_wrong():
    y = np.repeat(np.arange(5), 4000)
    wrong = mislabelled_canaries(y, 5, rng=10)
    assert not np.any(wrong == y)
    counts = np.array([[np.sum(wrong[y == a] == b) for b in range(5) if b != a] for a in range(5)])
    assert stats.chisquare(counts.ravel()).pvalue > 0.01
    np.testing.assert_array_equal(wrong, mislabelled_canaries(y, 5, rng=10))


def test_blank_canaries_are_zero_with_uniform_labels():
    x, y = blank_canaries(5000, (1, 2, 3), 4, rng=11)
    assert x.shape == (5000, 1, 2, 3)
    assert not x.any()
    assert stats.chisquare(np.bincount(y, minlength=4)).pvalue > 0.01
    assert blank_canaries(2, 3, 4)[0].shape == (2, 3)


def test_canife_loss_is_its_formula():
    rng = np.random.default_rng(12)
    g, u = rng.normal(size=(4, 6)), rng.normal(size=(9, 6))
    for clip in (0.5, 2.0, 9.0):
        want = [
            sum(float(u_i @ one) ** 2 for u_i in u) + max(clip - np.linalg.norm(one), 0.0) ** 2
            for one in g
        ]
        np.testing.assert_allclose(canife_loss(g, u, clip), want, rtol=1e-12)
        assert canife_loss(g[0], u, clip) == pytest.approx(want[0], rel=1e-12)


def test_small_canife_loss_is_not_large_distance():
    # [AB25] D.2 calls them equivalent: C = diag(.01, 1, 100) orders these two the other way round
    spread = np.sqrt([0.01, 1.0, 100.0])
    one, other = np.array([0.5, 0.0, np.sqrt(0.75)]), np.array([0.0, 1.0, 0.0])
    distance = [float(((g / spread) ** 2).sum()) for g in (one, other)]
    loss = [canife_loss(g, np.diag(spread), 1.0) for g in (one, other)]
    np.testing.assert_allclose(distance, [25.0, 1.0], rtol=1e-3)
    np.testing.assert_allclose(loss, [75.0, 1.0], rtol=1e-3)


# --- audited -----------------------------------------------------------------------------------


def randomised_response(epsilon, rng):
    """Each canary's score is its own bit, turned with probability 1/(1 + e^epsilon)."""
    turned = 1.0 / (1.0 + np.exp(epsilon))
    return lambda member: np.where(rng.random(member.size) < turned, ~member, member) * 1.0


def test_audit_of_randomised_response_proves_most_of_its_epsilon_and_no_more():
    found = [
        dp_sgd_audit(randomised_response(2.0, np.random.default_rng(seed)), 2000, rng=100 + seed)
        for seed in range(20)
    ]
    bounds = [audit.bound.epsilon_lower for audit in found]
    assert sum(bound > 2.0 for bound in bounds) <= 3  # 5 % of 20 are allowed by chance
    assert np.median(bounds) > 1.4


def test_audit_of_dp_sgd_proves_a_part_of_what_its_noise_allows_and_no_more():
    # Algorithms 5 and 7: steps that take every row are Gaussian mechanisms, mu = sqrt(4)/sigma = 1
    clip, sigma, canaries, steps, rows, delta = 1.0, 2.0, 500, 4, 1000, 1e-5
    gradients = clip * np.eye(canaries)  # Diracs: each canary moves a coordinate of its own
    usual = np.random.default_rng(14).normal(size=(rows, canaries)) * 0.01
    reference = StreamingCovariance(structure="diagonal").fit(usual)

    def excess(epsilon):
        lost = np.exp(epsilon) * stats.norm.cdf(-0.5 - epsilon)
        return stats.norm.cdf(0.5 - epsilon) - lost - delta

    epsilon = optimize.brentq(excess, 0.1, 50.0)
    bounds = []
    for seed in range(5):
        rng = np.random.default_rng(seed)

        def train(member, rng=rng):
            attack = CovarianceAttack(reference, rows, noise_multiplier=sigma, clip_norm=clip)
            released = usual.sum(axis=0) + gradients[member].sum(axis=0)
            for _ in range(steps):
                noise = sigma * clip * rng.normal(size=canaries)
                attack.update(gradients, (released + noise) / rows)
            return attack.scores()

        audit = dp_sgd_audit(train, canaries, delta=delta, guesses=(50, 50), rng=100 + seed)
        bounds.append(audit.bound.epsilon_lower)
    assert epsilon == pytest.approx(4.38, abs=0.01)
    assert max(bounds) < epsilon
    assert np.median(bounds) > 0.25 * epsilon


def test_guesses_are_the_largest_and_the_smallest_scores():
    seen = {}

    def train(member):
        seen["member"] = member.copy()
        member[:] = True  # the caller's own copy
        seen["scores"] = np.random.default_rng(13).normal(size=100) + 2.0 * seen["member"]
        return seen["scores"]

    audit = dp_sgd_audit(train, 100, guesses=(10, 20), delta=1e-5, rng=13)
    order = np.argsort(seen["scores"])
    want = np.zeros(100)
    want[order[-10:]], want[order[:20]] = 1, -1
    np.testing.assert_array_equal(audit.guesses, want)
    np.testing.assert_array_equal(audit.member, seen["member"])
    right = np.sum(audit.guesses == np.where(audit.member, 1, -1))
    assert audit.bound.correct == right
    assert audit.bound == one_run_audit(seen["scores"], audit.member, guesses=(10, 20), delta=1e-5)
    fields = {"bound", "member", "scores", "guesses", "verdict", "statement", "kind", "control"}
    fields |= {"mu_lower", "accountant_epsilon", "noise_multiplier"}
    assert set(audit.to_dict()) == fields


def test_coins_are_fair_and_follow_the_seed():
    def bits(seed):
        return dp_sgd_audit(lambda member: np.arange(member.size), 4000, rng=seed).member

    np.testing.assert_array_equal(bits(1), bits(1))
    assert abs(bits(1).mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    assert not np.array_equal(bits(1), bits(2))


DRAWS = np.random.default_rng(3).normal(size=60)


@pytest.mark.parametrize(
    ("train", "match"),
    [
        (
            lambda member: pd.Series(3.0 * member + DRAWS).sort_values(),
            "have its index in the order of member; its first label is",
        ),
    ],
)
def test_scores_of_other_canaries_are_refused(train, match):
    """Their claim was "not refuted", beside a control that was caught."""

    def control(member):
        return 5.0 * member + DRAWS

    with pytest.raises(ValueError, match=rf"train\(member\) must .*{match}"):
        dp_sgd_audit(train, 60, control=control, claimed_epsilon=0.5, rng=0)
    result = dp_sgd_audit(
        lambda member: pd.Series(control(member)), 60, control=control, claimed_epsilon=0.5, rng=0
    )
    assert result.verdict == "refuted"
