"""The covariance attack: its formula, the laws of its scores, and what the papers have wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from mialeak import CovarianceAttack, EmpiricalTradeOff, StreamingCovariance, select_canaries
from mialeak.scores import covariance_score, glir_score
from mialeak.training import LayerGradients, batch_gradient

SCORES = ["covariance", "scalar-product", "glir"]
PARTICIPATIONS = {"every-step": {}, "one-step": {}, "poisson": {"sampling_rate": 0.1}}


def rows_of(rng, n=400, d=12):
    """Gradients with unequal, correlated columns and a mean that is not 0."""
    mixing = np.random.default_rng(7).normal(size=(d, d))
    return rng.normal(size=(n, d)) @ mixing + 0.5


def unit_reference(d):
    """Mean 0 and variances 1, exactly."""
    return StreamingCovariance(structure="diagonal").fit([[1.0] * d, [-1.0] * d])


def references(rng, clip_norm=None):
    """A fitted reference of each structure, and its covariance as a matrix."""
    rows = shortened(rows_of(rng), clip_norm)
    yield StreamingCovariance().fit(rows)
    yield StreamingCovariance(shrinkage=0.3).fit(rows)
    yield StreamingCovariance(structure="diagonal").fit(rows)
    yield StreamingCovariance(structure="block", blocks=[5, 7]).fit(rows)
    yield StreamingCovariance(structure="low-rank", shrinkage=0.1).fit(rows[:9])


def shortened(rows, clip_norm):
    """The rows as DP-SGD clips them."""
    size = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows if clip_norm is None else rows * np.minimum(1, clip_norm / size)


def literal(reference, targets, batches, b, noise=0.0):
    """Covariance scores of steps, word for word."""
    mean = reference.mean_
    matrix = (
        reference.covariance_ if reference.covariance_.ndim == 2 else np.diag(reference.covariance_)
    )
    inverse = np.linalg.inv(matrix + noise * np.eye(mean.size))
    scores = np.empty(targets.shape[:2])
    for t, k in np.ndindex(*scores.shape):
        deviation = targets[t, k] - mean
        inner = deviation @ inverse @ (batches[t] - mean)
        scores[t, k] = inner - deviation @ inverse @ deviation / (2 * b)
    return scores


# --- the formula -------------------------------------------------------------------------------


def test_step_scores_are_the_formula_in_every_structure():
    rng = np.random.default_rng(1)
    targets, batches = rng.normal(size=(6, 4, 12)), rng.normal(size=(6, 12))
    for reference in references(rng):
        want = literal(reference, targets, batches, 8)
        attack = CovarianceAttack(reference, 8)
        got = attack.update(targets, batches)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(attack.scores(), want.sum(axis=0), rtol=1e-8, atol=1e-8)


def test_a_step_is_the_covariance_score_of_a_mean():
    rng = np.random.default_rng(2)
    reference = StreamingCovariance().fit(rows_of(rng))
    targets, batch = rng.normal(size=(3, 12)), rng.normal(size=12)
    got = CovarianceAttack(reference, 16).update(targets, batch)
    law = reference.mean_, np.asarray(reference.covariance_), 16
    want = [covariance_score(batch, target, *law) for target in targets]
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_noise_of_dp_sgd_adds_its_variance_times_the_batch_to_the_covariance():
    rng = np.random.default_rng(3)
    sigma, clip, b = 0.7, 1.5, 10
    targets, batches = rng.normal(size=(2, 3, 12)), rng.normal(size=(2, 12))
    short, batches = shortened(targets, clip), shortened(batches, clip)
    for reference in references(rng, clip):
        want = literal(reference, short, batches, b, noise=sigma**2 * clip**2 / b)
        attack = CovarianceAttack(reference, b, noise_multiplier=sigma, clip_norm=clip)
        np.testing.assert_allclose(attack.update(targets, batches), want, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("clip_norm", [None, 1.0])
def test_factors_of_a_layer_give_the_scores_of_the_gradients_they_stand_for(score, bias, clip_norm):
    rng = np.random.default_rng(4)
    inputs, errors = rng.normal(size=(5, 4 - bias)), rng.normal(size=(6, 5, 3))
    for reference in references(rng, clip_norm):
        dense, factored = (
            CovarianceAttack(reference, 8, score=score, clip_norm=clip_norm) for _ in range(2)
        )
        for some in (slice(0, 4), slice(4, 6)):
            batches = shortened(rows_of(rng)[:6], clip_norm)[some]
            gradients = LayerGradients(errors[some], inputs, bias=bias)
            got = factored.update(gradients, batches)
            want = dense.update(gradients.dense(), batches)
            np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(factored.scores(), dense.scores(), rtol=1e-7, atol=1e-7)


def test_factors_with_other_inputs_are_not_mistaken_for_the_first():
    rng = np.random.default_rng(5)
    reference = StreamingCovariance().fit(rows_of(rng))
    attack = CovarianceAttack(reference, 8)
    for seed in range(2):
        inputs, errors = np.random.default_rng(seed).normal(size=(2, 5, 3))
        gradients, batch = LayerGradients(errors, inputs), rng.normal(size=12)
        got = attack.update(gradients, batch)
        want = literal(reference, gradients.dense()[None], batch[None], 8)[0]
        np.testing.assert_allclose(got, want, rtol=1e-9)


def test_factors_whose_inputs_are_written_over_are_not_mistaken_for_the_first():
    rng = np.random.default_rng(5)
    reference = StreamingCovariance().fit(rows_of(rng))
    attack, inputs = CovarianceAttack(reference, 8), np.empty((5, 3))
    for _ in range(2):
        inputs[...] = rng.normal(size=inputs.shape)
        gradients, batch = LayerGradients(rng.normal(size=(5, 3)), inputs), rng.normal(size=12)
        want = literal(reference, gradients.dense()[None], batch[None], 8)[0]
        np.testing.assert_allclose(attack.update(gradients, batch), want, rtol=1e-9)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("participation", PARTICIPATIONS)
def test_steps_may_come_one_by_one_or_together(score, participation):
    if participation == "poisson" and score != "covariance":
        return
    rng = np.random.default_rng(6)
    reference = StreamingCovariance().fit(rows_of(rng))
    targets, batches = rng.normal(size=(7, 4, 12)), rng.normal(size=(7, 12))
    options = {"score": score, "participation": participation, **PARTICIPATIONS[participation]}
    together, apart, alone = (CovarianceAttack(reference, 8, **options) for _ in range(3))
    together.update(targets, batches)
    for t in range(7):
        assert apart.update(targets[t], batches[t]).shape == (4,)
        assert alone.update(targets[t, 2], batches[t]).shape == ()
    np.testing.assert_allclose(apart.scores(), together.scores(), rtol=1e-12)
    np.testing.assert_allclose(alone.scores(), together.scores()[2], rtol=1e-12)
    assert np.ndim(alone.scores()) == 0
    assert together.n_steps_seen_ == apart.n_steps_seen_ == 7


def algorithm_7(targets, references, batches, *, clip, b):
    """[AB24] Algorithm 7 word for word, but for the centred covariance: scores of all steps."""

    def clipped(rows):
        return np.array([min(1.0, clip / np.linalg.norm(row)) * row for row in rows])

    scores = []
    for gradients, rows, batch in zip(targets, references, batches, strict=True):
        seen = clipped(rows)
        mean, inverse = seen.mean(axis=0), np.linalg.inv(np.cov(seen.T, bias=True))
        deviations = clipped(gradients) - mean
        far = np.array([v @ inverse @ v for v in deviations])
        scores.append(deviations @ inverse @ (batch - mean) - far / (2 * b))
    return np.array(scores)


def test_a_reference_of_each_step_gives_the_scores_of_algorithm_7():
    rng = np.random.default_rng(9)
    drift = np.arange(5)[:, None, None] * np.ones(12)
    rows, targets = rng.normal(size=(5, 60, 12)) + drift, 3 * rng.normal(size=(5, 4, 12)) + drift
    batches, clip, b = rng.normal(size=(5, 12)), 4.0, 10
    want = algorithm_7(targets, rows, batches, clip=clip, b=b)
    short = rows * np.minimum(1.0, clip / np.linalg.norm(rows, axis=-1, keepdims=True))
    fitted = [StreamingCovariance().fit(some) for some in short]
    attack = CovarianceAttack(fitted[0], b, participation="one-step", clip_norm=clip)
    got = [
        attack.update(gradients, batch, reference=reference)
        for gradients, batch, reference in zip(targets, batches, fitted, strict=True)
    ]
    np.testing.assert_allclose(got, want, rtol=1e-9)
    np.testing.assert_array_equal(np.argmax(got, axis=0), np.argmax(want, axis=0))
    mean_of_exponentials = special.logsumexp(want, axis=0) - np.log(5)
    np.testing.assert_allclose(attack.scores(), mean_of_exponentials, rtol=1e-9)


def test_another_reference_adds_the_noise_again_and_forgets_what_was_solved():
    rng = np.random.default_rng(10)
    inputs, errors, batch = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=12)
    gradients = LayerGradients(errors, inputs)
    first, second = (StreamingCovariance().fit(shortened(rows_of(rng), 1.5)) for _ in range(2))
    options = {"noise_multiplier": 2.0, "clip_norm": 1.5}
    attack = CovarianceAttack(first, 8, **options)
    attack.update(gradients, batch)
    got = attack.update(gradients, batch, reference=second)
    want = CovarianceAttack(second, 8, **options).update(gradients, batch)
    np.testing.assert_array_equal(got, want)


def test_many_targets_are_cut_into_blocks_without_a_seam(monkeypatch):
    from mialeak.training import _attack

    rng = np.random.default_rng(7)
    reference = StreamingCovariance().fit(rows_of(rng))
    targets, batches = rng.normal(size=(5, 23, 12)), rng.normal(size=(5, 12))
    whole = CovarianceAttack(reference, 8).update(targets, batches)
    for entries in (12, 100, 12 * 24 * 2, 12 * 24 * 5):
        monkeypatch.setattr(_attack, "_BLOCK", entries)
        cut = CovarianceAttack(reference, 8).update(targets, batches)
        np.testing.assert_allclose(cut, whole, rtol=1e-12)


def test_steps_combine_as_the_target_takes_part():
    rng = np.random.default_rng(8)
    reference = StreamingCovariance().fit(rows_of(rng))
    targets, batches = 9 * rng.normal(size=(7, 4, 12)), rng.normal(size=(7, 12))
    combined = {
        "every-step": lambda s: s.sum(axis=0),
        "one-step": lambda s: special.logsumexp(s, axis=0) - np.log(7),
        "poisson": lambda s: np.log(0.9 + 0.1 * np.exp(s)).sum(axis=0),
    }
    for participation, options in PARTICIPATIONS.items():
        attack = CovarianceAttack(reference, 8, participation=participation, **options)
        steps = attack.update(targets, batches)
        np.testing.assert_allclose(attack.scores(), combined[participation](steps), rtol=1e-12)
    for score in ("scalar-product", "glir"):
        attack = CovarianceAttack(reference, 8, score=score, participation="one-step")
        steps = attack.update(targets, batches)
        np.testing.assert_array_equal(attack.scores(), steps.max(axis=0))


# --- known answers by simulation ---------------------------------------------------------------


def played(options, *, steps, m, rng, rounds=600, times=None):
    """Scores out and in of `rounds` games each, one a coordinate: only its own matters.

    Each step's batch mean is N(0, 1/b) and, where the target takes part, N(target/b, 1/b): the
    setting in which a step alone is a Gaussian shift of sqrt(m).
    """
    b = 4
    attack = CovarianceAttack(unit_reference(2 * rounds), b, **options)
    targets = np.diag(np.full(2 * rounds, np.sqrt(m * b)))
    taking = times(rng, steps, rounds)
    seen = []
    for t in range(steps):
        batch = rng.normal(size=2 * rounds) / np.sqrt(b)
        batch[rounds:] += taking[t] * np.sqrt(m * b) / b
        seen.append(attack.update(targets, batch))
    return attack.scores(), np.array(seen)


def advantage(scores, threshold=0.0):
    out, into = np.split(scores, 2)
    return np.mean(into > threshold) - np.mean(out > threshold)


def one_of(rng, steps, rounds):
    return np.arange(steps)[:, None] == rng.integers(steps, size=rounds)


def test_table_of_participations_in_one_unknown_step_of_twenty():
    # L = 20, m = 9: sum .266 = 2 Phi(sqrt(m/L)/2) - 1, largest .616, log mean exp .619
    rng = np.random.default_rng(11)
    got = {"sum": [], "largest": [], "log mean exp": []}
    for _ in range(4):
        scores, steps = played(
            {"participation": "one-step"}, steps=20, m=9.0, rng=rng, times=one_of
        )
        got["log mean exp"].append(advantage(scores))
        got["sum"].append(advantage(steps.sum(axis=0), threshold=-4.5 * 19))
        # the threshold at which the largest of 20 N(-4.5, 9) is as dense in as out
        got["largest"].append(advantage(steps.max(axis=0), threshold=2.85))
    means = {name: np.mean(values) for name, values in got.items()}
    error = np.sqrt(2 * 0.25 / 2400)  # 0.0144
    assert 2 * stats.norm.cdf(np.sqrt(9 / 20) / 2) - 1 == pytest.approx(0.2626, abs=1e-4)
    assert means["sum"] == pytest.approx(0.266, abs=3 * error)
    assert means["largest"] == pytest.approx(0.616, abs=3 * error)
    assert means["log mean exp"] == pytest.approx(0.619, abs=3 * error)


def test_scores_of_every_step_add_up_to_a_gaussian_shift():
    # L = 10, m = 1/2: N(-5/2, 5) out and N(5/2, 5) in
    rng = np.random.default_rng(12)

    def always(rng, steps, rounds):
        return np.ones((steps, rounds), bool)

    scores, _ = played({}, steps=10, m=0.5, rng=rng, times=always)
    out, into = np.split(scores, 2)
    assert stats.kstest(out, stats.norm(-2.5, np.sqrt(5)).cdf).pvalue > 0.01
    assert stats.kstest(into, stats.norm(2.5, np.sqrt(5)).cdf).pvalue > 0.01


def test_poisson_participation_has_a_right_answer():
    # q = .1, T = 50, m = 8: sum of log(1 - q + q e^s) .878, plain sum .616
    rng = np.random.default_rng(13)

    def tenth(rng, steps, rounds):
        return rng.random((steps, rounds)) < 0.1

    options = {"participation": "poisson", "sampling_rate": 0.1}
    scores, steps = played(options, steps=50, m=8.0, rng=rng, times=tenth)
    assert advantage(scores) == pytest.approx(0.878, abs=3 * np.sqrt(2 * 0.06 / 600))
    plain = EmpiricalTradeOff(*np.split(steps.sum(axis=0), 2)[::-1]).advantage
    assert plain == pytest.approx(0.616, abs=0.08)


def test_a_fixed_reference_shifts_the_score_of_a_step_by_columns_over_rows():
    # a target and a batch at the mean itself, of which the reference knows only an estimate
    rng = np.random.default_rng(14)
    d, r, b = 40, 800, 64
    scores = [
        CovarianceAttack(StreamingCovariance().fit(rng.normal(size=(r, d))), b).update(
            np.zeros(d), np.full(d, 1e-12)
        )
        for _ in range(50)
    ]
    error = np.sqrt(2 / d / 50)  # of a chi-square with d degrees of freedom, 50 times
    assert np.mean(scores) / (d / r) == pytest.approx(1.0, abs=3 * error + 2 * d / r)


# --- what the papers have wrong ----------------------------------------------------------------


def test_printed_sign_of_the_batch_gradient_prefers_those_who_were_out():
    # [AB25] Algorithm 4 prints (theta_after - theta_before) / eta
    rng = np.random.default_rng(21)
    d, b, eta = 40, 20, 0.1
    reference, target = unit_reference(d), rng.normal(size=d) * 1.2
    attack, games = CovarianceAttack(reference, b), np.broadcast_to(target, (400, 1, d))
    right, printed = [], []
    for member in (False, True):
        gradients = rng.normal(size=(400, b, d))
        if member:
            gradients[:, 0] = target
        before = rng.normal(size=(400, d))
        after = before - eta * gradients.mean(axis=1)
        right.append(attack.update(games, batch_gradient(before, after, eta))[:, 0])
        printed.append(attack.update(games, (after - before) / eta)[:, 0])
    assert EmpiricalTradeOff(*right[::-1]).auc > 0.8
    assert EmpiricalTradeOff(*printed[::-1], allow_reversed=True).auc < 0.2


def test_uncentred_covariance_demotes_the_best_canary_to_the_last_rank():
    # [AB25] Algorithm 3 prints (1/n) sum g g^T for gradients less their mean
    rng = np.random.default_rng(22)
    mean = np.full(20, 3.0)
    candidates = rng.normal(size=(200, 20)) + mean
    candidates[17] = mean + 1.9 * mean / np.linalg.norm(mean) * np.sqrt(20)  # along the mean
    rows = rng.normal(size=(20_000, 20)) + mean
    reference = StreamingCovariance().fit(rows)
    assert select_canaries(candidates, reference).indices[0] == 17
    second_moment = rows.T @ rows / len(rows)
    deviations = candidates - rows.mean(axis=0)
    printed = np.vecdot(deviations, np.linalg.solve(second_moment, deviations.T).T)
    assert np.argsort(np.argsort(-printed))[17] == 199


def test_glir_is_the_log_of_a_uniform_p_value_and_its_printed_forms_are_not():
    rng = np.random.default_rng(23)
    d, b = 6, 12
    reference, target = unit_reference(d), np.full(d, 0.8)
    batches = rng.normal(size=(3000, d)) / np.sqrt(b)
    attack = CovarianceAttack(reference, b, score="glir")
    got = attack.update(np.broadcast_to(target, (3000, 1, d)), batches)[:, 0]
    want = glir_score(batches, target, np.zeros(d), np.ones(d), b)
    np.testing.assert_allclose(got, want, rtol=1e-9)
    assert stats.kstest(np.exp(-got), "uniform").pvalue > 0.01
    squares = ((batches - target) ** 2).sum(axis=1)
    length = np.linalg.norm(target)
    one_row_less = stats.ncx2.cdf((b - 1) * squares, d, b * length**2)
    not_squared = stats.ncx2.cdf(b * squares, d, b * length)
    for printed in (one_row_less, not_squared):
        assert stats.kstest(printed, "uniform").pvalue < 1e-6


def test_glir_ranks_one_target_as_the_exact_gaussian_likelihood_ratio():
    rng = np.random.default_rng(24)
    d, b = 6, 12
    target = np.full(d, 0.8)
    batches = rng.normal(size=(200, d)) / np.sqrt(b)
    attack = CovarianceAttack(unit_reference(d), b, score="glir")
    got = attack.update(np.broadcast_to(target, (200, 1, d)), batches)[:, 0]
    inside = stats.multivariate_normal(target / b, (b - 1) / b**2 * np.eye(d))
    outside = stats.multivariate_normal(np.zeros(d), np.eye(d) / b)
    ratio = inside.logpdf(batches) - outside.logpdf(batches)
    np.testing.assert_array_equal(np.argsort(got), np.argsort(ratio))


def test_covariance_attack_beats_the_scalar_product_where_variances_differ():
    rng = np.random.default_rng(25)
    d, b = 50, 20
    spread = np.geomspace(0.05, 20, d)
    reference = StreamingCovariance().fit(rng.normal(size=(5000, d)) * spread)
    target = rng.normal(size=d) * spread
    gradients = rng.normal(size=(2, 600, b, d)) * spread
    gradients[1, :, 0] = target
    batches = gradients.mean(axis=2).reshape(-1, d)
    aucs = {}
    for name in ("covariance", "scalar-product"):
        games = np.broadcast_to(target, (1200, 1, d))
        out, into = np.split(CovarianceAttack(reference, b, score=name).update(games, batches), 2)
        aucs[name] = EmpiricalTradeOff(into[:, 0], out[:, 0]).auc
    assert aucs["covariance"] > aucs["scalar-product"] + 0.1
