"""Leakage scores: every form of a covariance, singular ones, noise, and what is refused."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import zoo
from flint import arb, arb_mat, ctx

from mialeak._numerics import distances, whitening
from mialeak.means import (
    leakage_score,
    mean_tradeoff,
    noise_for_leakage,
    samples_for_leakage,
)
from mialeak.reference import mean as twins

RNG = np.random.default_rng(11)


def random_case(d=5, points=7):
    mixing = RNG.normal(size=(d, d))
    return RNG.normal(size=(points, d)), RNG.normal(size=d), mixing @ mixing.T


def score_in_balls(z, mean, cov, n, noise=None):
    """``v^T (C + n R)^-1 v / n`` in ball arithmetic."""
    ctx.prec = 400
    d = len(mean)
    whole = arb_mat(d, d, [arb(float(x)) for x in np.asarray(cov).ravel()])
    if noise is not None:
        whole += n * arb_mat(d, d, [arb(float(x)) for x in np.asarray(noise).ravel()])
    v = arb_mat(d, 1, [arb(float(a)) - arb(float(b)) for a, b in zip(z, mean, strict=True)])
    return float((v.transpose() * whole.solve(v))[0, 0] / n)


def test_a_matrix_gives_the_quadratic_form():
    z, mean, cov = random_case()
    scores = leakage_score(z, mean, cov, 50)
    truth = [score_in_balls(row, mean, cov, 50) for row in z]
    np.testing.assert_allclose(scores, truth, rtol=1e-11)
    np.testing.assert_allclose(scores, twins.leakage_score(z, mean, cov, 50), rtol=1e-10)


def test_an_ill_conditioned_matrix_of_mixed_units_keeps_its_digits():
    """Units apart by 1e12, correlation 1 - 1e-9."""
    units = np.array([1e-6, 1.0, 1e6])
    correlation = np.array([[1, 1 - 1e-9, 0.2], [1 - 1e-9, 1, 0.2], [0.2, 0.2, 1]])
    cov = correlation * np.outer(units, units)
    z = units * [1.0, -1.0, 0.5]
    truth = score_in_balls(z, np.zeros(3), cov, 10)
    assert leakage_score(z, np.zeros(3), cov, 10) == pytest.approx(truth, rel=1e-6)


def test_scalar_vector_and_matrix_agree():
    z, mean, _ = random_case()
    variances = RNG.uniform(0.5, 2.0, 5)
    full = leakage_score(z, mean, np.diag(variances), 20)
    np.testing.assert_allclose(leakage_score(z, mean, variances, 20), full, rtol=1e-13)
    np.testing.assert_allclose(
        leakage_score(z, mean, 3.0, 20), leakage_score(z, mean, np.full(5, 3.0), 20), rtol=0
    )


@pytest.mark.parametrize("noise", [0.3, np.full(5, 0.2), "matrix"])
@pytest.mark.parametrize("structure", ["vector", "matrix"])
def test_noise_adds_n_times_its_covariance(noise, structure):
    z, mean, matrix = random_case()
    noise = random_case()[2] if isinstance(noise, str) else noise
    cov = matrix if structure == "matrix" else np.diagonal(matrix)
    got = leakage_score(z, mean, cov, 30, release_noise_cov=noise)
    dense = [c if np.ndim(c) == 2 else np.diag(np.broadcast_to(c, 5)) for c in (cov, noise)]
    truth = [score_in_balls(row, mean, dense[0], 30, dense[1]) for row in z]
    np.testing.assert_allclose(got, truth, rtol=1e-11)


def test_expected_score_of_a_fresh_target_is_d_over_n():
    """Exact over the eight rows of three independent Bernoulli columns."""
    p = np.array([0.1, 0.5, 0.8])
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)
    weights = np.prod(np.where(rows == 1, p, 1 - p), axis=1)
    scores = leakage_score(rows, p, p * (1 - p), 40)
    assert weights @ scores == pytest.approx(3 / 40, rel=1e-14)


@pytest.mark.parametrize("k", [2, 3, 10, 200])
def test_one_hot_category_has_the_closed_form(k):
    p = RNG.dirichlet(np.ones(k))
    cov = np.diag(p) - np.outer(p, p)
    np.testing.assert_allclose(leakage_score(np.eye(k), p, cov, 100), (1 / p - 1) / 100, rtol=1e-8)


def test_two_categories_beside_a_number():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4])
    cov = np.zeros((6, 6))
    cov[:3, :3], cov[3:5, 3:5] = np.diag(p) - np.outer(p, p), np.diag(q) - np.outer(q, q)
    cov[5, 5] = 4.0
    z = np.array([0, 1, 0, 1, 0, 3.0])
    truth = (1 / 0.3 - 1 + 1 / 0.6 - 1 + 9 / 4) / 10
    assert leakage_score(z, [*p, *q, 0.0], cov, 10) == pytest.approx(truth, rel=1e-12)


def test_a_column_without_variance_says_nothing_to_those_who_share_it():
    z, mean = [[1.0, 5.0], [0.0, 5.0]], [0.3, 5.0]
    for cov in ([0.21, 0.0], np.diag([0.21, 0.0])):
        np.testing.assert_allclose(leakage_score(z, mean, cov, 2), [0.49 / 0.42, 0.09 / 0.42])


def test_the_rounding_of_a_mean_is_not_a_deviation():
    column = np.full(1000, 0.1)
    mean = [0.3, column.cumsum()[-1] / 1000]
    assert mean[1] != 0.1
    assert leakage_score([1.0, 0.1], mean, [0.21, 0.0], 10) == pytest.approx(0.49 / 2.1)


def test_noise_heals_a_singular_covariance():
    z, cov = [1.0, -1.0], np.ones((2, 2))
    with pytest.raises(ValueError, match="rank is 1 of 2"):
        leakage_score(z, [0.0, 0.0], cov, 10)
    got = leakage_score(z, [0.0, 0.0], cov, 10, release_noise_cov=0.1)
    assert got == pytest.approx(score_in_balls(z, [0, 0], cov, 10, 0.1 * np.eye(2)))


@pytest.mark.parametrize(("rows", "columns"), [(300, 5), (3, 700), (40, 40)])
def test_blocks_do_not_show(monkeypatch, rows, columns):
    z, mean = RNG.normal(size=(rows, columns)), RNG.normal(size=columns)
    mixing = RNG.normal(size=(columns, 2 * columns))
    covs = [RNG.uniform(1, 2, columns), mixing @ mixing.T]
    whole = [leakage_score(z, mean, cov, 10) for cov in covs]
    monkeypatch.setattr(distances, "_BLOCK", 64)
    monkeypatch.setattr(distances, "_MATRIX_BLOCK", 64)
    for cov, expected in zip(covs, whole, strict=True):
        np.testing.assert_allclose(leakage_score(z, mean, cov, 10), expected, rtol=1e-13)


def test_shapes_are_kept():
    z, mean, cov = RNG.normal(size=(2, 3, 4)), np.zeros(4), np.eye(4)
    assert leakage_score(z, mean, cov, 10).shape == (2, 3)
    assert np.ndim(leakage_score(z[0, 0], mean, cov, 10)) == 0
    assert leakage_score(np.empty((0, 4)), mean, cov, 10).shape == (0,)
    assert leakage_score(np.empty((0, 4)), mean, 1.0, 10).shape == (0,)


@pytest.mark.parametrize("cov", [2.0, "matrix"])
def test_any_container_and_layout_will_do(cov):
    z, mean, matrix = random_case()
    cov = matrix if isinstance(cov, str) else cov
    expected = leakage_score(z, mean, cov, 10)
    views = [np.asfortranarray(z), z[::-1][::-1], np.repeat(z, 2, axis=1)[:, ::2], z.tolist()]
    for view in views:
        np.testing.assert_allclose(leakage_score(view, mean, cov, 10), expected, rtol=1e-14)
    for name, row in zoo.layouts(z[0]):
        assert leakage_score(row, mean, cov, 10) == pytest.approx(expected[0], rel=1e-14), name
    for name, row in zoo.containers(z[0]):
        assert leakage_score(row, mean, cov, 10) == pytest.approx(expected[0], rel=1e-14), name
    single = leakage_score(z.astype(np.float32), mean, cov, 10)
    np.testing.assert_allclose(single, leakage_score(z.astype(np.float32) * 1.0, mean, cov, 10))


def test_arguments_are_left_alone():
    z, mean, cov = random_case()
    kept = z.copy(), mean.copy(), cov.copy()
    leakage_score(z, mean, cov, 10, release_noise_cov=cov)
    leakage_score(z, mean, np.diagonal(cov), 10)
    for now, before in zip((z, mean, cov), kept, strict=True):
        np.testing.assert_array_equal(now, before)


def estimator(mean, cov, centre="mean_"):
    inverse = np.linalg.inv(cov)

    def mahalanobis(rows):
        v = rows - mean
        return np.einsum("ij,jk,ik->i", v, inverse, v)

    return SimpleNamespace(covariance_=cov, mahalanobis=mahalanobis, **{centre: mean})


@pytest.mark.parametrize("centre", ["mean_", "location_"])
def test_an_estimator_answers_for_itself(centre):
    z, mean, cov = random_case()
    fitted = estimator(mean + 1.0, cov, centre)
    np.testing.assert_allclose(
        leakage_score(z, mean, fitted, 10), leakage_score(z, mean, cov, 10), rtol=1e-9
    )
    np.testing.assert_allclose(
        leakage_score(z, mean, fitted, 10, release_noise_cov=0.5),
        leakage_score(z, mean, cov, 10, release_noise_cov=0.5),
        rtol=1e-12,
    )


def test_scikit_learn_estimators_fit_in():
    covariance = pytest.importorskip("sklearn.covariance")
    table = RNG.normal(size=(200, 4))
    fitted = covariance.EmpiricalCovariance().fit(table)
    got = leakage_score(table, fitted.location_, fitted, 200)
    np.testing.assert_allclose(
        got, leakage_score(table, fitted.location_, fitted.covariance_, 200), rtol=1e-9
    )


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_singular_is_told_from_nearly_singular_on_both_sides_of_the_cut(share):
    """A correlation matrix whose last pivot is `share` times the limit."""
    limit = (whitening._PIVOT + 2) * np.finfo(float).eps
    rest = 1.0 - np.sqrt(1.0 - share * limit)
    cov = np.array([[1.0, 1.0 - rest], [1.0 - rest, 1.0]])
    by = whitening.whitening(cov, np.zeros(2))
    assert by.rank == (2 if share > 1 else 1)


MESSAGES = [
    ({"mean": [[0.0, 0.0]]}, "mean must have 1 dimension"),
    ({"mean": []}, "mean must have at least one column"),
    ({"mean": [0.0, np.nan]}, "mean must be finite; got mean[1] = nan"),
    ({"target": [1.0]}, "target must have 2 columns (its last axis), as mean has; its shape"),
    ({"target": 1.0}, "target must have 2 columns"),
    ({"target": [[0.0, 1.0], [np.nan, 1.0]]}, "target must be finite; got target[1, 0] = nan"),
    ({"target": [np.inf, 1.0]}, "target must be finite; got target[0] = inf"),
    ({"target": [1e200, 1.0]}, "target must be near enough to mean"),
    (
        {"cov": [1.0, 1.0, 1.0]},
        "cov must be a number, 2 variances or a 2 by 2 matrix, to go with 2 columns; its shape is",
    ),
    ({"cov": [1.0, -2.0]}, "cov must be at least 0 (a variance); got cov[1] = -2.0"),
    ({"cov": -1.0}, "cov must be at least 0 (a variance); got cov = -1.0"),
    ({"cov": [1.0, np.nan]}, "cov must be finite; got cov[1] = nan"),
    (
        {"cov": [[1.0, 0.5], [0.4, 1.0]]},
        "cov must be symmetric; got cov[0, 1] = 0.5 and cov[1, 0] = 0.4",
    ),
    ({"cov": [[1.0, 0.0], [0.0, -1.0]]}, "cov must have variances of at least 0; got cov[1, 1]"),
    (
        {"cov": [[1.0, 2.0], [2.0, 1.0]]},
        "cov must be positive semi-definite; the least eigenvalue of its correlation matrix is -1",
    ),
    (
        {"cov": [[1.0, 2.0], [2.0, 1.0]], "release_noise_cov": 9.0},
        "cov must be positive semi-definite",
    ),
    ({"release_noise_cov": [[1.0, 2.0], [2.0, 1.0]]}, "release_noise_cov must be positive semi-"),
    ({"release_noise_cov": -1.0}, "release_noise_cov must be at least 0"),
    ({"n": 1}, "n must be between 2 and 2**53; got n = 1"),
    (
        {"cov": [1.0, 0.0]},
        "target must differ from mean only within the range of cov, whose rank is 1 of 2; got "
        "target[1] = 2.0. No fresh row is like it in column 1, so that the release gives it away: "
        "leave that column out, or add noise to the release",
    ),
    (
        {"target": [[0.0, 0.0], [1.0, 1.0], [1.0, 2.0]], "cov": np.ones((2, 2))},
        "target must differ from mean only within the range of cov, whose rank is 1 of 2; got "
        "target[2, 1] = 2.0",
    ),
    ({"cov": np.diag([1.0, 0.0])}, "whose rank is 1 of 2; got target[1] = 2.0"),
]


@pytest.mark.parametrize(("changes", "message"), MESSAGES)
def test_bad_input_is_told(changes, message):
    arguments = {"target": [1.0, 2.0], "mean": [0.0, 0.0], "cov": 1.0, "n": 10} | changes
    with pytest.raises(ValueError, match=re.escape(message)):
        leakage_score(**arguments)


def test_a_matrix_row_that_is_zero_but_for_the_side_is_not_semi_definite():
    with pytest.raises(ValueError, match="cov must be positive semi-definite"):
        leakage_score([0.0, 0.0], [0.0, 0.0], [[1.0, 0.5], [0.5, 0.0]], 10)


def test_words_are_no_numbers():
    with pytest.raises(TypeError, match="target must be an array of real numbers"):
        leakage_score(["a", "b"], [0.0, 0.0], 1.0, 10)
    with pytest.raises(TypeError, match="n must be an integer"):
        leakage_score([0.0, 1.0], [0.0, 0.0], 1.0, 10.0)


#: Persons as a data frame, and the order of its columns turned round.
FRAME = pd.DataFrame({"age": [39.0, 50, 38, 53, 28], "hours": [40.0, 13, 40, 45, 20]})
TURNED = FRAME[["hours", "age"]]


@pytest.mark.parametrize(
    "ask",
    [
        lambda target, mean, cov: leakage_score(target, mean, cov, 100),
        lambda target, mean, cov: mean_tradeoff(target, mean, cov, 100).advantage,
        lambda target, mean, cov: noise_for_leakage(target, mean, cov, 100, 0.01),
        lambda target, mean, cov: samples_for_leakage(target, mean, cov, 0.01),
    ],
)
def test_columns_in_another_order_are_refused(ask):
    """A row of pandas is read by place: the names of its columns say when that is wrong."""
    row, mean, cov = FRAME.iloc[0], FRAME.mean(), FRAME.cov()
    assert ask(row, mean, cov) == ask(row.to_numpy(), mean.to_numpy(), cov.to_numpy())
    assert ask(row, mean.reset_index(drop=True), cov) == ask(row, mean, cov)
    words = "must have the columns of mean in their order, where 'age' is at 0; got "
    for name, arguments in {
        "target": (TURNED.iloc[0], mean, cov),
        "cov": (row, mean, TURNED.cov()),
    }.items():
        with pytest.raises(ValueError, match=re.escape(f"{name} {words}{name}[0] = 'hours'. Col")):
            ask(*arguments)
    with pytest.raises(ValueError, match=re.escape(f"target {words}target[0] = 'hours'")):
        ask(TURNED, mean, cov)
