"""The attack of an auditor who knows the rows, and what dp_sgd_audit makes of it."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from mialeak import CovarianceAttack, EmpiricalTradeOff, StreamingCovariance
from mialeak.training import LayerGradients, dp_sgd_audit
from mialeak.training._audit import steps_epsilon

LOG_PDF = stats.multivariate_normal.logpdf


def clipped(rows, norm=1.0):
    return rows * np.minimum(1.0, norm / np.linalg.norm(rows, axis=1, keepdims=True))


def problem(d, n, k, q, seed, noise=0.7):
    """Base rows, canaries, and the released sum of one step of DP-SGD."""
    rng = np.random.default_rng(seed)
    base, canaries = rng.normal(size=(n, d)) + 0.3, 2.0 * rng.normal(size=(k, d))
    member = rng.random(k) < 0.5
    rows, extra = clipped(base), clipped(canaries)
    y = rows[rng.random(n) < q].sum(0) + extra[(rng.random(k) < q) & member].sum(0)
    return base, canaries, y + noise * rng.normal(size=d)


def covariance(base, canaries, q, v, without=None):
    """Of the released sum, with the coin of one canary left out."""
    kept = np.delete(canaries, without, axis=0) if without is not None else canaries
    coins = q / 2 * (1 - q / 2) * kept.T @ kept
    return v * np.eye(base.shape[1]) + coins + q * (1 - q) * base.T @ base


def options(q):
    return {} if q == 1.0 else {"participation": "poisson", "sampling_rate": q}


# d above and below the number of rows: by the Gram matrix, and by its transpose.
@pytest.mark.parametrize(("d", "n", "k"), [(40, 12, 5), (9, 30, 6)])
@pytest.mark.parametrize("q", [1.0, 0.3])
def test_a_step_is_the_likelihood_ratio_of_one_coin_given_the_law_of_the_others(d, n, k, q):
    base, canaries, y = problem(d, n, k, q, seed=3)
    attack = CovarianceAttack(known=base, batch_size=8, clip_norm=1.0, **options(q))
    got = attack.update(canaries, y / 8)
    rows, extra = clipped(base), clipped(canaries)
    v = attack.noise_multiplier_**2
    for i in range(k):
        others = np.delete(extra, i, axis=0)
        mean = q * rows.sum(0) + q / 2 * others.sum(0)
        law = covariance(rows, extra, q, v, without=i)
        want = LOG_PDF(y, mean + extra[i], law) - LOG_PDF(y, mean, law)
        assert got[i] == pytest.approx(want, rel=1e-6, abs=1e-8)
    combined = got if q == 1.0 else np.log1p(-q + q * np.exp(got))
    np.testing.assert_allclose(attack.scores(), combined, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("q", [1.0, 0.3])
def test_the_noise_that_the_step_shows_is_the_most_likely_one(q):
    base, canaries, y = problem(40, 12, 5, q, seed=4)
    attack = CovarianceAttack(known=base, batch_size=8, clip_norm=1.0, **options(q))
    attack.update(canaries, y / 8)
    rows, extra = clipped(base), clipped(canaries)
    mean = q * rows.sum(0) + q / 2 * extra.sum(0)

    def loss(log):
        return -LOG_PDF(y, mean, covariance(rows, extra, q, np.exp(2 * log)))

    best = optimize.minimize_scalar(loss, bounds=(-3, 3), method="bounded")
    assert np.log(attack.noise_multiplier_) == pytest.approx(best.x, abs=0.01)
    assert attack.clipped_


def test_full_batches_are_one_regression_on_the_coins():
    d, n, k, steps = 12, 6, 4, 3
    rng = np.random.default_rng(5)
    attack = CovarianceAttack(known=np.zeros((n, d)), batch_size=n)
    tables, sums, noises = [], [], []
    for _ in range(steps):
        base, canaries = rng.normal(size=(n, d)), rng.normal(size=(k, d))
        y = base.sum(0) + canaries[:2].sum(0) + rng.normal(size=d)
        attack.update(canaries, y / n, known=base)
        noises.append(attack._run.deviations[-1])
        tables.append(canaries)
        sums.append(y - base.sum(0))
    path, seen = np.concatenate(tables, axis=1), np.concatenate(sums)
    variances = np.repeat(np.square(noises), d)
    for i in range(k):
        others = np.delete(path, i, axis=0)
        law = np.diag(variances) + others.T @ others / 4
        mean = others.sum(0) / 2
        want = LOG_PDF(seen, mean + path[i], law) - LOG_PDF(seen, mean, law)
        assert attack.scores()[i] == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("q", [1.0, 0.3])
def test_factors_of_layers_give_the_scores_of_the_gradients_they_stand_for(q):
    rng = np.random.default_rng(6)

    def layers(n):
        shapes = [(3, 4, True), (2, 3, False)]
        return [
            LayerGradients(rng.normal(size=(n, out)), rng.normal(size=(n, p)), bias=bias)
            for out, p, bias in shapes
        ]

    base, canaries = layers(7), layers(4)
    dense = [np.concatenate([one.dense() for one in rows], axis=1) for rows in (base, canaries)]
    y = clipped(dense[0]).sum(0) + rng.normal(size=dense[0].shape[1])
    scores = []
    for known, targets in ((base, canaries), dense):
        attack = CovarianceAttack(known=known, batch_size=5, clip_norm=1.0, **options(q))
        scores.append(attack.update(targets, y / 5))
    np.testing.assert_allclose(*scores, rtol=1e-6)


def test_a_reference_of_factors_is_the_covariance_with_a_ridge():
    rng = np.random.default_rng(7)

    def layers(n):
        return [
            LayerGradients(rng.normal(size=(n, 3)) + 0.5, rng.normal(size=(n, 4))),
            LayerGradients(rng.normal(size=(n, 2)), rng.normal(size=(n, 3)) + 0.2, bias=False),
        ]

    reference, targets = [one.clip(3.0) for one in layers(30)], layers(5)
    dense = [np.concatenate([one.dense() for one in rows], axis=1) for rows in (reference, targets)]
    for score, noise in itertools.product(("covariance", "glir"), (0.0, 0.5)):
        more = {"noise_multiplier": noise, "clip_norm": 4.0, "score": score}
        fitted = StreamingCovariance(ridge=0.3).fit(dense[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few reference rows
            plain = CovarianceAttack(fitted, 4, **more)
        dual = CovarianceAttack(reference, 4, ridge=0.3, **more)
        for _ in range(2):
            batch = rng.normal(size=dense[0].shape[1])
            want = plain.update(dense[1], batch)
            np.testing.assert_allclose(dual.update(targets, batch), want, rtol=1e-9)
        np.testing.assert_allclose(dual.scores(), plain.scores(), rtol=1e-9)


def test_an_added_row_has_the_same_score_as_factors():
    rng = np.random.default_rng(10)
    fitted = StreamingCovariance().fit(rng.normal(size=(90, 8)) + 0.7)
    factors = LayerGradients(rng.normal(size=(5, 2)), rng.normal(size=(5, 3)))
    batch, scores = rng.normal(size=8), []
    second = fitted.covariance_ + np.outer(fitted.mean_, fitted.mean_)
    for targets in (factors, factors.dense()):
        attack = CovarianceAttack(fitted, 16, participation="poisson", sampling_rate=0.1)
        scores.append(attack.update(targets, batch))
        solved = np.linalg.solve(second, factors.dense().T).T
        want = solved @ (batch - fitted.mean_) - np.vecdot(solved, factors.dense()) / 32
        np.testing.assert_allclose(scores[-1], want, rtol=1e-9)


@pytest.mark.parametrize(("mean", "area"), [(0.0, 0.772), (1.0, 0.767), (2.0, 0.767)])
def test_a_row_added_to_a_poisson_batch_is_scored_as_added(mean, area):
    # Of 4,000 trials: the standard error of an area is 0.008.
    d, b, rows, q, trials = 30, 64, 1280, 0.05, 4000
    rng = np.random.default_rng(8)
    shift = np.full(d, mean / np.sqrt(d))
    pool = rng.normal(size=(rows, d)) / np.sqrt(d) + shift
    target = rng.normal(size=d) / np.sqrt(d) * 1.45 + shift
    attack = CovarianceAttack(
        StreamingCovariance().fit(pool), b, participation="poisson", sampling_rate=q
    )
    sums = (rng.random((trials, rows)) < q).astype(float) @ pool
    inside = np.arange(trials) < trials // 2
    batches = (sums + inside[:, None] * target) / b
    scores = attack.update(np.broadcast_to(target, (trials, 1, d)), batches)[:, 0]
    found = EmpiricalTradeOff(scores[inside], scores[~inside]).auc
    spread = np.sqrt(target @ np.linalg.solve(np.cov(pool.T) + np.outer(shift, shift), target) / b)
    assert found == pytest.approx(stats.norm.cdf(spread / np.sqrt(2)), abs=4 * 0.008)
    assert found > area - 0.05
    # a log likelihood ratio of laws of one variance: means half the squared distance apart
    np.testing.assert_allclose(scores[inside].mean(), spread**2 / 2, atol=0.15)
    np.testing.assert_allclose(scores[~inside].mean(), -(spread**2) / 2, atol=0.15)


# --- audits ------------------------------------------------------------------------------------


def softmax_training(k, q, steps, stated, noise, clip=True, rows=200, width=120, seed=0):
    """A training of a linear layer with canaries of random inputs, by a DP-SGD that may fail."""
    rng = np.random.default_rng(seed)
    inputs = np.abs(rng.normal(size=(rows, 20)) @ rng.normal(size=(20, width)))
    inputs, labels = 9.0 * inputs / np.linalg.norm(inputs, axis=1)[:, None], np.arange(rows) % 10
    extra = rng.normal(size=(k, width))
    extra *= 9.0 / np.linalg.norm(extra, axis=1)[:, None]
    wrong = np.arange(k) % 10

    def layer(theta, x, y):
        logits = x @ theta.reshape(10, -1).T
        chance = np.exp(logits - logits.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        chance[np.arange(len(y)), y] -= 1.0
        return LayerGradients(chance, x, bias=False)

    def train(member):
        theta, batch = np.zeros(10 * width), round(q * rows)
        attack = None
        for _ in range(steps):
            base, canaries = layer(theta, inputs, labels), layer(theta, extra, wrong)
            if attack is None:
                attack = CovarianceAttack(
                    known=base,
                    batch_size=batch,
                    noise_multiplier=stated,
                    clip_norm=1.0,
                    **options(q),
                )
            gradients = [one.dense() for one in (base, canaries)]
            used = [clipped(one) if clip else one for one in gradients]
            taken = [rng.random(rows) < q, (rng.random(k) < q) & member]
            y = sum(one[part].sum(0) for one, part in zip(used, taken, strict=True))
            y = y + noise * rng.normal(size=theta.size)
            attack.update(canaries, y / batch, known=base)
            theta = theta - 0.5 * y / batch
        return attack

    return train


BROKEN = {"no noise": (0.0, True), "clipping forgotten": (1.0, False), "noise / 10": (0.1, True)}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize(("q", "steps", "stated"), [(1.0, 10, 6.0), (0.2, 12, 3.0)])
def test_a_broken_dp_sgd_is_refuted(fault, q, steps, stated):
    share, clip = BROKEN[fault]
    train = softmax_training(100, q, steps, stated, share * stated, clip)
    audit = dp_sgd_audit(train, 100, delta=1e-5, rng=1)
    assert audit.verdict == "refuted"
    assert audit.bound.epsilon_lower > audit.accountant_epsilon
    assert audit.noise_multiplier == pytest.approx(share * stated, rel=0.1, abs=1e-2)
    words = "show a noise multiplier of" if clip else "gradients that were not clipped"
    assert words in audit.statement


def test_a_correct_dp_sgd_is_not_refuted_where_its_control_is():
    train = softmax_training(100, 1.0, 10, 6.0, 6.0)
    control = softmax_training(100, 1.0, 10, 6.0, 0.0)
    audit = dp_sgd_audit(train, 100, control=control, delta=1e-5, rng=1)
    assert audit.accountant_epsilon == pytest.approx(2.114, abs=0.001)
    assert (audit.verdict, audit.control.verdict) == ("not refuted", "refuted")
    assert "The claimed epsilon 2.11 is not refuted" in audit.statement
    assert audit.bound.epsilon_lower < audit.accountant_epsilon
    assert audit.mu_lower is None  # canaries of examples hide one another
    alone = dp_sgd_audit(train, 100, delta=1e-5, rng=1)
    assert alone.verdict == "untested"
    blind = dp_sgd_audit(train, 100, control=lambda m: np.arange(m.size), delta=1e-5, rng=1)
    assert blind.verdict == "untested"
    assert "The control was not caught" in blind.statement
    assert audit.to_dict()["control"]["verdict"] == "refuted"


def test_rows_that_do_not_explain_the_steps_are_named():
    rng = np.random.default_rng(9)
    rows, canaries = np.ones((50, 400)) / 10, np.eye(100, 400)

    def train(member):
        attack = CovarianceAttack(known=rows, batch_size=10, noise_multiplier=1.0, clip_norm=1.0)
        y = clipped(rows).sum(0) + canaries[member].sum(0) + rng.normal(size=400)
        attack.update(canaries, y / 50)  # the batch size was another one
        return attack

    statement = dp_sgd_audit(train, 100, delta=1e-5, rng=1).statement
    assert "more than the stated 1: the known rows, the batch size" in statement


def dirac_training(k, steps, stated, noise, seed):
    """Canaries that move a coordinate each, beside rows that move all."""
    rng = np.random.default_rng(seed)
    base, canaries = rng.normal(size=(30, 2 * k)) / 20, np.eye(k, 2 * k)

    def train(member):
        attack = CovarianceAttack(known=base, batch_size=30, noise_multiplier=stated, clip_norm=1.0)
        for _ in range(steps):
            y = clipped(base).sum(0) + canaries[member].sum(0) + noise * rng.normal(size=2 * k)
            attack.update(canaries, y / 30)
        return attack

    return train


def test_half_of_the_noise_is_refuted_by_mu_and_not_by_epsilon():
    caught, by_epsilon = 0, 0
    for seed in range(20):
        train = dirac_training(300, 2, stated=2.0 * np.sqrt(2), noise=np.sqrt(2), seed=seed)
        audit = dp_sgd_audit(train, 300, delta=1e-5, rng=seed)
        caught += audit.verdict == "refuted" and "stated noise is refuted" in audit.statement
        by_epsilon += audit.bound.verdict == "refuted"
        assert audit.mu_lower < 1.5
    assert caught >= 19
    assert by_epsilon == 0


@pytest.mark.parametrize("change", ["lean", "lengthen", "turn"])
def test_mu_takes_canaries_that_do_not_change_one_another(change):
    def train(member):
        attack = CovarianceAttack(known=np.zeros((3, 80)), batch_size=3)
        for step in range(2):
            canaries = np.eye(40, 80)
            if change == "lean":
                canaries[1, 0] = 1e-3
            elif change == "lengthen":
                canaries[1] *= 1.1
            elif step:
                canaries = np.roll(canaries, 1, axis=1)
            attack.update(
                canaries, canaries[member].sum(0) + np.random.default_rng(step).normal(size=80)
            )
        return attack

    assert dp_sgd_audit(train, 40, rng=0).mu_lower is None


def test_correct_noise_is_not_refuted_by_mu():
    """Two bounds at 2.5 % each: of 60 correct runs 3 may be refuted, and 9 are with chance 2e-3."""
    refuted = 0
    for seed in range(60):
        train = dirac_training(100, 1, stated=2.0, noise=2.0, seed=seed)
        refuted += dp_sgd_audit(train, 100, delta=1e-5, rng=seed).verdict == "refuted"
    assert refuted <= 8


def test_what_few_canaries_cannot_refute_is_stated_before_the_training():
    seen = []

    def train(member):
        seen.append(len(caught))
        return np.arange(member.size)

    with pytest.warns(UserWarning, match="can prove at most 0.9461: .*; 60 canaries can") as caught:
        dp_sgd_audit(train, 30, delta=1e-5, claimed_epsilon=2.11, rng=0)
    assert seen == [1]


# --- the accountant ----------------------------------------------------------------------------


def test_epsilon_of_one_poisson_step_is_the_integral():
    sigma, q, delta = 1.5, 0.3, 1e-3

    x = np.linspace(-15.0, 16.0, 200_001)
    without = stats.norm.pdf(x, 0, sigma)
    mixed = (1 - q) * without + q * stats.norm.pdf(x, 1, sigma)

    def excess(epsilon, sign):
        one, two = (mixed, without) if sign > 0 else (without, mixed)
        return integrate.trapezoid(np.maximum(one - np.exp(epsilon) * two, 0.0), x) - delta

    want = max(optimize.brentq(excess, 0, 5, args=(sign,)) for sign in (1, -1))
    got = steps_epsilon(sigma, q, 1, delta)
    assert got == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize(("sigma", "q", "steps"), [(3.0, 0.2, 40), (1.0, 0.05, 100)])
def test_epsilon_of_steps_is_that_of_opacus(sigma, q, steps):
    accountants = pytest.importorskip("opacus.accountants")
    accountant = accountants.PRVAccountant()
    accountant.history = [(sigma, q, steps)]
    upper = accountant.get_epsilon(1e-5)  # its bound: 0.01 above its estimate
    got = steps_epsilon(sigma, q, steps, 1e-5)
    assert upper - 0.02 <= got <= upper


def test_full_batches_are_one_gaussian_mechanism():
    assert steps_epsilon(6.0, 1.0, 10, 1e-5) == pytest.approx(2.1140, abs=1e-4)
    assert steps_epsilon(0.0, 0.5, 10, 1e-5) == np.inf
    assert steps_epsilon(1.0, 0.5, 10, 0.0) == np.inf


# --- what is refused ---------------------------------------------------------------------------


def test_known_rows_are_refused_where_they_have_no_answer():
    known, other = np.eye(3), StreamingCovariance(ridge=1.0).fit(np.eye(3))
    for options_, error, message in [
        ({"reference": other}, TypeError, "reference must be given without known"),
        ({"participation": "one-step"}, ValueError, "participation must be 'every-step'"),
        ({"score": "glir"}, ValueError, "score must be 'covariance' beside known"),
    ]:
        with pytest.raises(error, match=message):
            CovarianceAttack(known=known, batch_size=3, **options_)
    attack = CovarianceAttack(known=known, batch_size=3)
    with pytest.raises(AttributeError, match="after update"):
        _ = attack.noise_multiplier_
    with pytest.raises(ValueError, match="same parameters, in the same form"):
        attack.update(np.eye(4), np.ones(3))
    with pytest.raises(ValueError, match=r"one step of 3 columns; its shape is \(2,\)"):
        attack.update(np.eye(3), np.ones(2))
    with pytest.raises(ValueError, match="known must be small enough for products"):
        attack.update(np.eye(3), np.ones(3), known=1e200 * known)
    with pytest.raises(ValueError, match="target_gradients must be small enough for products"):
        attack.update(1e200 * np.eye(3), np.ones(3), known=2.0 * known)
    assert np.array_equal(attack._run._known.rows, known)  # as it was
    attack.update(np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="be of 3 targets"):
        attack.update(np.eye(3)[:2], np.ones(3))
    with pytest.raises(TypeError, match="reference must be given where the attack was made"):
        attack.update(np.eye(3), np.ones(3), reference=other)
    with pytest.raises(TypeError, match="known must be given where the attack was made"):
        CovarianceAttack(other, 3, ridge=0.0).update(np.eye(3), np.ones(3), known=known)
    with pytest.raises(ValueError, match="ridge must be above 0 with a reference of factors"):
        CovarianceAttack(LayerGradients(np.eye(3), np.eye(3)), 3)
    long = [LayerGradients(2.0 * np.eye(3), np.eye(3))] * 2
    message = "reference must be fitted to gradients clipped to clip_norm=3; .* norms is 4"
    with pytest.raises(ValueError, match=message):  # two layers of 2 sqrt(2)
        CovarianceAttack(long, 3, ridge=1.0, clip_norm=3.0)
    CovarianceAttack(long, 3, ridge=1.0, clip_norm=4.0)
    with pytest.raises(ValueError, match="ridge must be given with a reference of factors"):
        CovarianceAttack(other, 3, ridge=1.0)
    with pytest.raises(TypeError, match="control must be a function"):
        dp_sgd_audit(lambda m: m, 10, control=3)
