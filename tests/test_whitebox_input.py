"""What the white-box room refuses, and in which words."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from mialeak import CovarianceAttack, StreamingCovariance, select_canaries
from mialeak.training import (
    LayerGradients,
    batch_gradient,
    blank_canaries,
    canife_loss,
    dirac_canary,
    dp_sgd_audit,
    mislabelled_canaries,
)

ROWS = np.random.default_rng(1).normal(size=(50, 3))
REFERENCE = StreamingCovariance().fit(ROWS)
NAN = [0.0, np.nan, 0.0]


def refused(error, message, function, *args, **options):
    with pytest.raises(error, match=re.escape(message)):
        function(*args, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0], 0.1), "theta_after must have the shape of theta_before, (..., d)"),
        ((1.0, 1.0, 0.1), "theta_after must have the shape of theta_before, (..., d)"),
        (([1.0], [np.inf], 0.1), "theta_after must be finite; got theta_after[0] = inf"),
        (([1.0], [2.0], 0.0), "learning_rate must be above 0; got learning_rate = 0.0"),
        (([1.0], [2.0], -0.1), "learning_rate must be above 0; got learning_rate = -0.1"),
        (([[1.0]] * 2, [[2.0]] * 2, [0.1, 0.0]), "got learning_rate[1] = 0.0"),
        (([1.0], [2.0], [0.1]), "learning_rate must be one number or one a step"),
        (([0.0, 1e308], [1.0, -1e308], 1.0), "near enough to theta_before for the gradient to be"),
        (([1.0], [1e308], 1e-300), "to be a number; got theta_after[0] = 1e+308"),
    ],
)
def test_batch_gradient_refuses(arguments, message):
    refused(ValueError, message, batch_gradient, *arguments)


def test_batch_gradient_takes_many_steps_with_a_rate_each():
    got = batch_gradient([[1.0, 2.0], [3.0, 4.0]], np.zeros((2, 2)), [0.5, 1.0])
    np.testing.assert_array_equal(got, [[2.0, 4.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be between 1 and 2**53; got batch_size = 0"),
        (
            {"score": "covarianse"},
            'score must be "covariance", "scalar-product" or "glir"',
        ),
        ({"participation": "all"}, 'participation must be "every-step", "one-step" or "poisson"'),
        ({"sampling_rate": 0.1}, "sampling_rate must be given with participation 'poisson' only"),
        ({"participation": "poisson"}, "sampling_rate must be given with participation"),
        (
            {"participation": "poisson", "sampling_rate": 0.0},
            "sampling_rate must be above 0 and at most 1; got sampling_rate = 0.0",
        ),
        (
            {"participation": "poisson", "sampling_rate": 0.1, "score": "glir"},
            "score must be 'covariance' with participation 'poisson'; got score = 'glir'",
        ),
        ({"noise_multiplier": -1.0, "clip_norm": 1.0}, "noise_multiplier must be at least 0"),
        ({"noise_multiplier": 1.0}, "clip_norm must be given with a noise_multiplier"),
        ({"clip_norm": 0.0}, "clip_norm must be above 0; got clip_norm = 0.0"),
    ],
)
def test_attack_refuses_parameters(options, message):
    options = {"batch_size": 8, **options}
    refused(ValueError, message, CovarianceAttack, REFERENCE, **options)


def test_attack_refuses_other_types():
    refused(TypeError, "batch_size must be an integer", CovarianceAttack, REFERENCE, 8.0)
    message = "reference must be a fitted StreamingCovariance, not ndarray. StreamingCovariance()"
    refused(TypeError, message, CovarianceAttack, ROWS, 8)


def test_attack_refuses_references_that_cannot_be_solved_with():
    refused(ValueError, "must have seen rows", CovarianceAttack, StreamingCovariance(), 8)
    few = StreamingCovariance().fit(ROWS[:2])
    refused(ValueError, "the covariance must have full rank", CovarianceAttack, few, 8)
    noisy = CovarianceAttack(few, 8, noise_multiplier=1.0, clip_norm=3.0)
    assert np.isfinite(noisy.update(ROWS[0], ROWS[1]))  # noise makes it regular


@pytest.mark.parametrize(
    ("targets", "batch", "message"),
    [
        (np.ones((2, 4)), np.ones(3), "target_gradients must have 3 columns (its last axis), as"),
        (np.ones((2, 2, 2, 3)), np.ones(3), "and at most 3 axes"),
        (1.0, np.ones(3), "target_gradients must have 3 columns"),
        (np.ones((2, 3)), np.ones(4), "batch_gradient must have the shape (3,)"),
        (np.ones((5, 2, 3)), np.ones(3), "batch_gradient must have the shape (5, 3)"),
        (NAN, np.ones(3), "target_gradients must be finite; got target_gradients[1] = nan"),
        (np.ones(3), NAN, "batch_gradient must be finite; got batch_gradient[1] = nan"),
        (LayerGradients(np.ones((2, 2)), np.ones((2, 1))), np.ones(3), "got 4 columns"),
    ],
)
def test_update_refuses(targets, batch, message):
    attack = CovarianceAttack(REFERENCE, 8)
    refused(ValueError, message, attack.update, targets, batch)
    assert attack.n_steps_seen_ == 0


def test_update_refuses_other_references():
    attack = CovarianceAttack(REFERENCE, 8)
    message = "reference must be a fitted StreamingCovariance, not list"
    refused(TypeError, message, attack.update, ROWS[0], ROWS[1], reference=[1.0])
    few = StreamingCovariance().fit(ROWS[:2])
    message = "the covariance must have full rank"
    refused(ValueError, message, attack.update, ROWS[0], ROWS[1], reference=few)
    assert np.isfinite(attack.update(ROWS[0], ROWS[1]))  # with the one before


def test_targets_stay_the_same_from_step_to_step():
    attack = CovarianceAttack(REFERENCE, 8)
    attack.update(ROWS[:2], ROWS[5])
    message = "target_gradients must be of 2 targets, as at the first step; got 3"
    refused(ValueError, message, attack.update, ROWS[:3], ROWS[5])
    attack.reset()
    attack.update(ROWS[:3], ROWS[5])
    assert attack.scores().shape == (3,)


@pytest.mark.parametrize("score", ["covariance", "scalar-product", "glir"])
def test_gradients_whose_squares_overflow_are_refused(score):
    attack = CovarianceAttack(REFERENCE, 8, score=score)
    targets = np.ones((2, 3))
    targets[1] = 1e200
    message = "target_gradients must be near enough to the reference"
    refused(ValueError, message, attack.update, targets, np.full(3, 1e200))
    assert attack.n_steps_seen_ == 0


@pytest.mark.parametrize("participation", ["every-step", "one-step"])
@pytest.mark.parametrize("score", ["covariance", "scalar-product", "glir"])
def test_no_steps_and_no_targets_are_allowed(score, participation):
    attack = CovarianceAttack(REFERENCE, 8, score=score, participation=participation)
    assert attack.update(np.ones((0, 2, 3)), np.ones((0, 3))).shape == (0, 2)
    refused(ValueError, "no step has been seen", attack.scores)
    assert attack.update(np.ones((0, 3)), np.ones(3)).shape == (0,)
    assert attack.scores().shape == (0,)
    for errors, shape in ((np.ones((0, 1)), (0,)), (np.ones((5, 0, 1)), (5, 0))):
        nobody = LayerGradients(errors, np.ones((0, 2)))
        assert nobody.dense().shape == (*shape, 3)
        attack.reset()
        assert attack.update(nobody, np.ones((*shape[:-1], 3))).shape == shape


def test_reprs_tell_what_there_is():
    attack = CovarianceAttack(REFERENCE, 8)
    attack.update(ROWS[0], ROWS[1])
    want = "(batch_size=8, score='covariance', participation='every-step', n_steps_seen_=1)"
    assert repr(attack) == "CovarianceAttack" + want
    factors = LayerGradients(np.ones((4, 2)), np.ones((4, 3)), bias=False)
    assert repr(factors) == "LayerGradients(errors (4, 2), inputs (4, 3), bias=False)"


def test_scores_come_after_a_step():
    refused(ValueError, "scores() must come after update()", CovarianceAttack(REFERENCE, 8).scores)


@pytest.mark.parametrize(
    ("errors", "inputs", "message"),
    [
        (np.ones(2), np.ones((2, 3)), "errors must be (k, C) or (S, k, C)"),
        (np.ones((4, 2)), np.ones((3, 3)), "errors must be of the 3 examples that inputs has"),
        (np.ones((4, 2)), np.ones(4), "inputs must have 2 dimensions"),
        ([NAN], np.ones((1, 2)), "errors must be finite; got errors[0, 1] = nan"),
    ],
)
def test_layer_gradients_refuse(errors, inputs, message):
    refused(ValueError, message, LayerGradients, errors, inputs)


def test_layer_gradients_are_clipped_to_norms_above_zero():
    gradients = LayerGradients([[3.0, 4.0]], [[1.0]], bias=False)
    np.testing.assert_allclose(gradients.clip(1.0).dense(), [[0.6, 0.8]])
    refused(ValueError, "clip_norm must be above 0; got clip_norm = -1.0", gradients.clip, -1.0)


def test_canaries_refuse():
    far = np.zeros((4, 3))
    far[2, 1] = np.inf
    cases = [
        ((ROWS, REFERENCE, 0), {}, "k must be between 1 and 2**53; got k = 0"),
        ((ROWS, REFERENCE, 51), {}, "k must be at most the number of candidates, 50; got k = 51"),
        ((ROWS[:, :2], REFERENCE), {}, "candidates must have 3 columns, as reference has"),
        ((ROWS[0], REFERENCE), {}, "candidates must have 3 columns, as reference has, and a row"),
        ((far, REFERENCE), {}, "candidates must be finite; got candidates[2, 1] = inf"),
        ((iter([ROWS, far]), REFERENCE), {}, "got candidates[52, 1] = inf"),
        ((np.full((4, 3), 1e200), REFERENCE), {}, "candidates must be near enough to the refer"),
        ((ROWS, REFERENCE), {"clip_norm": -1.0}, "clip_norm must be above 0"),
        ((ROWS, REFERENCE), {"noise_variance": -1.0}, "noise_variance must be at least 0"),
    ]
    for arguments, options, message in cases:
        refused(ValueError, message, select_canaries, *arguments, **options)
    refused(TypeError, "reference must be a fitted", select_canaries, ROWS, np.eye(3))
    step = (ROWS, REFERENCE)
    refused(ValueError, "steps must hold at least one step", select_canaries, steps=[])
    message = "steps must have 50 candidates at every step; got 4 at step 1"
    refused(ValueError, message, select_canaries, steps=[step, (ROWS[:4], REFERENCE)])
    too_many = "k must be at most the number of candidates"
    refused(ValueError, too_many, select_canaries, steps=[step], k=51)
    message = "steps must be pairs of candidates and reference, one for each step; got steps"
    refused(TypeError, message + " = 5", select_canaries, steps=5)
    refused(TypeError, message + "[1] = 2", select_canaries, steps=[step, 2])
    refused(TypeError, message + "[0] = (1, 2, 3)", select_canaries, steps=[(1, 2, 3)])
    message = "candidates must be given with a reference. Or pass steps, pairs of"
    refused(TypeError, message, select_canaries, ROWS)
    message = "steps must be given without candidates and reference: each step has its own"
    refused(TypeError, message, select_canaries, ROWS, REFERENCE, steps=[step])


def test_made_canaries_refuse():
    refused(ValueError, "norm must be above 0", dirac_canary, REFERENCE, 0.0)
    refused(ValueError, "index must be between 0 and 2", dirac_canary, REFERENCE, 1.0, index=3)
    refused(ValueError, "n_classes must be between 2", mislabelled_canaries, [0], 1)
    refused(ValueError, "y must be between 0 and 1; got y[1] = 2", mislabelled_canaries, [0, 2], 2)
    refused(TypeError, "y must be integers", mislabelled_canaries, [0.5], 2)
    refused(ValueError, "count must be between 1", blank_canaries, 0, (2,), 2)
    refused(ValueError, "shape must be between 1", blank_canaries, 1, (2, 0), 2)
    refused(ValueError, "gradient must have 2 columns", canife_loss, [1.0], [[1.0, 2.0]], 1.0)
    refused(ValueError, "clip_norm must be above 0", canife_loss, [1.0], [[1.0]], 0.0)
    for huge in ([1e308], [[1.0], [1e200]]):
        refused(ValueError, "gradient must be small enough", canife_loss, huge, [[2.0]], 1.0)


def test_audit_refuses():
    refused(ValueError, "n_canaries must be between 2", dp_sgd_audit, np.ones_like, 1)
    message = "train(member) must be 9 scores, one a canary; its shape is (3,)"
    refused(ValueError, message, dp_sgd_audit, lambda member: np.ones(3), 9, rng=1)
    message = "train(member) must not be NaN; got train(member)[0] = nan"
    refused(ValueError, message, dp_sgd_audit, lambda member: np.full(9, np.nan), 9, rng=1)
    message = "train must be a function of member that returns a score for each canary; got train"
    refused(TypeError, message, dp_sgd_audit, np.ones(9), 9)
    refused(ValueError, "guesses", dp_sgd_audit, np.ones_like, 9, guesses=(9, 9), rng=1)


def test_a_step_that_is_refused_leaves_the_reference_as_it_was():
    attack, other = CovarianceAttack(REFERENCE, 8), StreamingCovariance().fit(3.0 * ROWS)
    step = [1.0, 2.0, 3.0], [1.0, 0.0, 1.0]
    want = attack.update(*step)
    with pytest.raises(ValueError, match="batch_gradient must have the shape"):
        attack.update(step[0], [1.0], reference=other)
    assert attack.update(*step) == want
    assert attack.update(*step, reference=other) != want


@pytest.mark.parametrize("scale", [1e200, 1e307])
def test_gradients_whose_squares_overflow_are_clipped_to_the_norm(scale):
    rows = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.1]])
    short = ROWS * 0.1 / np.linalg.norm(ROWS, axis=1)[:, None]
    reference = StreamingCovariance().fit(short)
    near, far = (CovarianceAttack(reference, 8, clip_norm=0.1) for _ in range(2))
    want = near.update(rows, short[0])
    np.testing.assert_allclose(far.update([scale * rows[0], rows[1]], short[0]), want, rtol=1e-12)
    layer = LayerGradients([[3.0 * scale, 4.0 * scale]], [[0.0, 1.0]]).clip(5.0)
    np.testing.assert_allclose(layer.errors, np.sqrt([[4.5, 8.0]]), rtol=1e-14)


def test_a_reference_of_gradients_that_were_not_clipped_is_refused():
    size = np.linalg.norm(ROWS, axis=1)
    kinds = {}, {"structure": "diagonal"}, {"shrinkage": 0.5}
    for options in kinds:
        reference = StreamingCovariance(ridge=0.1, **options).fit(ROWS)
        rms = np.sqrt(np.mean(size**2))
        with pytest.raises(ValueError, match=f"mean square of their norms is {rms:.3g}. Fit it to"):
            CovarianceAttack(reference, 8, clip_norm=0.99 * rms)
        CovarianceAttack(reference, 8, clip_norm=1.01 * rms)
        cut = ROWS * np.minimum(1.0, 0.5 / size)[:, None]
        clipped = StreamingCovariance(ridge=0.1, **options).fit(cut.astype(np.float32))
        attack = CovarianceAttack(clipped, 8, clip_norm=0.5)
        with pytest.raises(ValueError, match="reference must be fitted to gradients clipped to"):
            attack.update(ROWS[0], ROWS[1], reference=reference)


def test_the_sum_of_a_batch_is_named():
    rng = np.random.default_rng(0)
    reference = StreamingCovariance().fit(rng.normal(size=(500, 6)))
    targets, batch = rng.normal(size=(3, 6)), rng.normal(size=(32, 6))
    with pytest.warns(UserWarning, match=r"batch_size=32 .* may be their sum \(reduction='sum'"):
        CovarianceAttack(reference, 32).update(targets, batch.sum(axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch_gradient in (batch.mean(axis=0), batch[0], batch.mean(axis=0) + 1.0):
            CovarianceAttack(reference, 32).update(targets, batch_gradient)


def test_parameters_that_were_not_copied_are_refused():
    """The optimizer changes them in place, so that both names hold those after the step."""
    theta = np.array([1.0, 2.0])
    before = theta
    theta -= 0.1
    with pytest.raises(ValueError, match=r"theta_after must differ .* Copy the parameters before"):
        batch_gradient(before, theta, 0.1)
    with pytest.raises(ValueError, match="theta_after must differ"):
        batch_gradient([theta, theta], [theta, theta], 0.1)
    path = np.array([[1.0, 2.0], [1.0, 2.0], [0.5, 2.0]])  # a gradient of 0 among others
    assert batch_gradient(path[:-1], path[1:], 0.5).tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_a_reference_of_few_rows_is_warned_of():
    """22 rows of 20 coordinates made targets that were out score up to 35,581."""
    gradients = np.random.default_rng(0).normal(size=(44, 20))
    with pytest.warns(UserWarning, match="43 rows for 20 coordinates: scores are too large by a"):
        CovarianceAttack(StreamingCovariance().fit(gradients[:43]), 8)
    CovarianceAttack(StreamingCovariance().fit(gradients), 8)
    CovarianceAttack(StreamingCovariance(ridge=0.1).fit(gradients[:30]), 8)
    CovarianceAttack(StreamingCovariance(structure="diagonal").fit(gradients[:30]), 8)


@pytest.mark.parametrize("seen", ["one by one", "together"])
@pytest.mark.parametrize(
    ("rate", "size", "match"),
    [
        (10.0, 64, r"differ 0\.0?\d+ times as much .* learning rate given may be too large"),
        (0.1, 64, r"times as far from .* learning rate given may be too small, or batch_size too"),
        (1.0, 50_000, r"times as far from .* or batch_size too large"),
        (1.0, 1, r"differ 0\.1\d* times as much .* batch_size too small"),
        (1.0, 64, None),
    ],
)
def test_a_wrong_scale_is_warned_of(rate, size, match, seen):
    """Scores were -70 to 3,000 for targets that were out, without a word."""
    rng = np.random.default_rng(0)
    rows = rng.normal(0.3, np.linspace(0.5, 2.0, 20), size=(3000, 20))
    targets = rng.normal(0.3, 2.0, size=(30, 20))
    steps = rng.normal(0.3, np.linspace(0.5, 2.0, 20), size=(6, 64, 20)).mean(axis=1) / rate
    attack = CovarianceAttack(StreamingCovariance().fit(rows), batch_size=size)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if seen == "together":
            attack.update(np.tile(targets, (6, 1, 1)), steps)
        else:
            for step in steps:
                attack.update(targets, step)
    assert len(caught) == (match is not None)
    if match:
        assert re.search(match, str(caught[0].message))
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "options", [{}, {"shrinkage": 0.1}, {"shrinkage": "ledoit-wolf"}, {"ridge": 1e-6}]
)
def test_a_reference_of_another_layer_of_as_many_parameters_is_warned_of(options):
    """Gradients of two layers; those of the first are twenty times smaller."""
    rng = np.random.default_rng(2)
    first, second = (scale * rng.normal(size=(400, 20)) for scale in (0.05, 1.0))
    reference = StreamingCovariance(**options).fit(first)
    for layer, words in ((first, None), (second, "or reference is of another layer")):
        attack = CovarianceAttack(reference, batch_size=32)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            attack.update(layer[:5], layer[10:42].mean(axis=0))
        assert [words in str(one.message) for one in caught] == [True] * (words is not None)


@pytest.mark.parametrize(
    "options", [{}, {"shrinkage": 0.1}, {"participation": "poisson", "sampling_rate": 0.3}]
)
@pytest.mark.parametrize(
    ("factor", "match"),
    [(1.0, None), (0.0, "is 0 in all"), (-1.0, "points away from"), (0.05, "differ 0.0.* as much")],
)
def test_gradients_of_0_of_the_other_sign_and_without_the_rate_are_warned_of(
    options, factor, match
):
    """With a covariance that was shrunk, and batches that are sampled, too."""
    rng = np.random.default_rng(4)
    rows = rng.normal(0.3, np.linspace(0.5, 2.0, 20), size=(1500, 20))
    kept = {name: options[name] for name in options if name == "shrinkage"}
    rest = {name: options[name] for name in options if name != "shrinkage"}
    attack = CovarianceAttack(StreamingCovariance(**kept).fit(rows), batch_size=32, **rest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(2):
            attack.update(rows[:3], factor * rows[100 * k : 100 * k + 32].mean(axis=0))
    assert len(caught) == (match is not None)
    assert all(re.search(match, str(one.message)) for one in caught)


def test_steps_of_the_right_scale_have_no_warning():
    """Few rows, a ridge, a diagonal, heavy tails, a strong canary, one step, sampled batches."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        columns = int(rng.integers(2, 60))
        scale = np.exp(rng.normal(size=columns))
        mixing = rng.normal(size=(columns, columns)) / np.sqrt(columns)
        draw = lambda n: rng.standard_t(4, size=(n, columns)) @ mixing * scale + 1.0  # noqa: B023, E731
        moments = (
            StreamingCovariance(),
            StreamingCovariance(ridge=1e-4),
            StreamingCovariance(structure="diagonal"),
            StreamingCovariance(shrinkage="ledoit-wolf"),
        )[seed % 4]
        reference, targets = moments.fit(draw(2 * columns + 60)), 3.0 * draw(3)
        poisson = {"participation": "poisson", "sampling_rate": 0.1} if seed % 3 == 0 else {}
        attack = CovarianceAttack(reference, batch_size=32, **poisson)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(4):
                attack.update(targets, np.concatenate([targets[:1], draw(31)]).mean(axis=0))


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_gradients_in_another_order_of_their_names_are_refused(noise):
    """By names of data frames and Series; arrays, and the same names, are taken."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal([1, 2, 3, 40], [1, 2, 1, 9], (500, 4)), columns=list("abcd"))
    reference = StreamingCovariance().fit(rows)
    turned = rows[list("dcba")]
    best = select_canaries(rows.to_numpy(), reference, k=2, noise_variance=noise).indices
    assert (select_canaries(rows, reference, k=2, noise_variance=noise).indices == best).all()
    with pytest.raises(ValueError, match="candidates must have the columns of reference"):
        select_canaries(turned, reference, k=2, noise_variance=noise)
    with pytest.raises(ValueError, match="candidates must have the columns of reference"):
        select_canaries(iter([turned]), reference, k=2, noise_variance=noise)
    options = {"batch_size": 64, "noise_multiplier": noise, "clip_norm": 99.0 if noise else None}
    batch = rows.head(64).mean()
    attack = CovarianceAttack(reference, **options)
    expected = attack.update(rows.head(2).to_numpy(), batch.to_numpy())
    assert (CovarianceAttack(reference, **options).update(rows.head(2), batch) == expected).all()
    for targets, mean in ((turned.head(2), batch), (rows.head(2), batch[list("dcba")])):
        with pytest.raises(ValueError, match="must have the columns of reference"):
            CovarianceAttack(reference, **options).update(targets, mean)
    with pytest.raises(ValueError, match="gradient must have the columns of reference_gradients"):
        canife_loss(turned.head(1), rows, 1.0)
    audited = CovarianceAttack(known=rows, **options)
    with pytest.raises(ValueError, match="target_gradients must have the columns of known"):
        audited.update(turned.head(2), batch)
    with pytest.raises(ValueError, match="known must have the columns of the first known"):
        audited.update(rows.head(2), batch, known=turned)


@pytest.mark.parametrize(
    ("kind", "rate", "seen"),
    [
        (np.float16, 1e-3, "11 binary digits"),
        (np.float16, 1e-2, "11 binary digits"),
        (np.float32, 1e-6, "24 binary digits"),
        (np.float16, 1e-1, None),
        (np.float32, 1e-3, None),
        (np.float64, 1e-6, None),
    ],
)
def test_parameters_whose_rounding_hides_the_step_are_warned_of(kind, rate, seen):
    rng = np.random.default_rng(0)
    before, gradient = rng.normal(0.0, 0.1, 200).astype(kind), rng.normal(0.0, 0.01, 200)
    after = (before - (rate * gradient).astype(kind)).astype(kind)
    error = np.linalg.norm((before - after).astype(np.float64) / rate - gradient)
    assert (error > 0.05 * np.linalg.norm(gradient)) == (seen is not None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batch_gradient(before, after, rate)
    assert [seen in str(each.message) for each in caught] == [True] * (seen is not None)
    assert all(each.filename == __file__ for each in caught)
