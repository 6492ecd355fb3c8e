"""Regressions on columns far from 0, as times are: what a row leaks does not depend on the 0."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from mialeak import Release, influence_of
from mialeak.estimators import (
    joint_influence,
    least_squares_influence,
    logistic_influence,
    mean_influence,
)

#: An afternoon in seconds since 1970.
START = 1.7e9


def _rows(n=60, columns=1, classes=False):
    """Times of an hour, whole seconds, so that adding the start has no rounding."""
    rng = np.random.default_rng(4)
    times = rng.integers(0, 3600, (n, columns)).astype(np.float64)
    response = times.sum(axis=1) / 3000.0 + rng.normal(size=n)
    return times, (response > np.median(response)).astype(float) if classes else response


def _scores_by_mpmath(times, response):
    """The score of each row by the fit of the others, with 60 digits, from the definition."""
    n = len(response)
    with mp.workdps(60):
        design = mp.matrix([[1, *map(mp.mpf, row)] for row in times.tolist()])
        y = mp.matrix(response.tolist())
        fit = mp.lu_solve(design.T * design, design.T * y)
        terms = [(y[k] - (design[k, :] * fit)[0]) * design[k, :].T for k in range(n)]
        scores = []
        for i in range(n):
            others = [k for k in range(n) if k != i]
            part = mp.matrix([list(design[k, :]) for k in others])
            without = mp.lu_solve(part.T * part, part.T * mp.matrix([y[k] for k in others]))
            move = (y[i] - (design[i, :] * without)[0]) * design[i, :].T
            centre = sum((terms[k] for k in others), mp.zeros(design.cols, 1)) / (n - 1)
            cov = mp.zeros(design.cols)
            for k in others:
                cov += (terms[k] - centre) * (terms[k] - centre).T / (n - 2)
            scores.append(float((move.T * mp.lu_solve(cov, move))[0] / n))
    return np.array(scores)


@pytest.mark.parametrize("columns", [1, 2])
def test_least_squares_on_times_agree_with_sixty_digits(columns):
    times, response = _rows(20, columns)
    scores = least_squares_influence(START + times, response).leakage_scores()
    np.testing.assert_allclose(scores, _scores_by_mpmath(START + times, response), rtol=1e-5)


@pytest.mark.parametrize(
    ("fit", "classes"),
    [
        (least_squares_influence, False),
        (lambda X, y: least_squares_influence(X, y, penalty=3.0), False),
        (logistic_influence, True),
        (lambda X, y: logistic_influence(X, y, penalty=1e-6), True),
        (lambda X, y: influence_of(LinearRegression().fit(X, y), X, y), False),
        (lambda X, y: influence_of(Ridge(alpha=5.0).fit(X, y), X, y), False),
        (lambda X, y: joint_influence(mean_influence(X), least_squares_influence(X, y)), False),
    ],
    ids=["squares", "ridge", "logistic", "penalised", "LinearRegression", "Ridge", "joint"],
)
def test_scores_do_not_depend_on_the_zero_of_the_columns(fit, classes):
    times, response = _rows(columns=2, classes=classes)
    near, far = fit(times - 1800.0, response), fit(START + times, response)
    np.testing.assert_allclose(far.leakage_scores(), near.leakage_scores(), rtol=1e-4, atol=1e-9)
    for row in (0, 5):
        assert far.tradeoff(row).mu == pytest.approx(near.tradeoff(row).mu, rel=1e-4)
    assert far.tradeoff(3, sampling_rate=0.5).advantage == pytest.approx(
        near.tradeoff(3, sampling_rate=0.5).advantage, rel=1e-4
    )


@pytest.mark.parametrize("kind", ["OLS", "WLS", "Logit"])
def test_models_of_statsmodels_on_times_leak_as_by_other_zeros(kind):
    models = pytest.importorskip("statsmodels.api")
    times, response = _rows(classes=kind == "Logit")
    options = {"weights": np.linspace(0.5, 2.0, 60)} if kind == "WLS" else {}
    scores = []
    for zero in (-1800.0, 1e6):  # whose own fits are exact to some digits
        design = models.add_constant(zero + times)
        model = getattr(models, kind)(response, design, **options)
        fit = model.fit() if kind in ("OLS", "WLS") else model.fit(disp=0, method="newton")
        scores.append(influence_of(fit).leakage_scores())
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-5, atol=1e-9)


def test_noise_on_the_estimate_is_noise_on_the_centred_one():
    """Noise on the slope alone, and on both: the same fit by columns less a constant."""
    times, response = _rows()
    shift = np.array([[1.0, START + 1800.0], [0.0, 1.0]])  # the intercept at the constant
    far = least_squares_influence(START + times, response)
    near = least_squares_influence(times - 1800.0, response)
    for noise in (np.diag([4.0, 1e-9]), np.array([[3e9, -1.7], [-1.7, 1e-9]])):
        expected = near.leakage_scores(release_noise_cov=_symmetric(shift @ noise @ shift.T))
        scores = far.leakage_scores(release_noise_cov=noise)
        np.testing.assert_allclose(scores, expected, rtol=1e-6)
    assert far.leakage_scores(release_noise_cov=[0.0, 1e6]).max() < near.leakage_scores().max()


def _symmetric(matrix):
    return (matrix + matrix.T) / 2.0


@pytest.mark.parametrize("blocks", [False, True])
def test_scores_of_releases_do_not_depend_on_the_zero_of_the_columns(blocks):
    times, response = _rows()
    rng = np.random.default_rng(8)
    near, far = [], []
    for _ in range(20):
        drawn = rng.integers(60, size=60)
        design = np.column_stack([np.ones(60), times[drawn] - 1800.0])
        near.append(np.linalg.lstsq(design, response[drawn], rcond=None)[0])
        far.append([near[-1][0] - near[-1][1] * (START + 1800.0), near[-1][1]])
    near, far = np.array(near), np.array(far)
    expected = least_squares_influence(times - 1800.0, response).score(near, 7)
    by = least_squares_influence(START + times, response)
    scores = by.score(iter([far[:5], far[5:]]) if blocks else far, 7)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert by.score(far[0], 7) == pytest.approx(expected[0], abs=1e-4)
    with pytest.raises(ValueError, match="have 2 columns"):
        by.score(far[:, :1], 7)


def test_a_row_that_others_do_not_determine_stays_infinite():
    times, response = _rows()
    design = np.column_stack([START + times[:, 0], np.arange(60) == 9])
    scores = least_squares_influence(design, response).leakage_scores()
    assert np.flatnonzero(np.isinf(scores)).tolist() == [9]


def test_classes_by_a_solver_that_penalises_the_intercept_are_not_centred():
    times, response = _rows(classes=True)
    columns = times / 3600.0 + 8.0
    fit = LogisticRegression(solver="liblinear", tol=1e-10, C=10.0).fit(columns, response)
    rows = influence_of(fit, columns, response)
    assert rows.centred is None


def test_a_release_of_an_estimate_on_times_leaks_as_by_other_zeros():
    times, response = _rows()
    limits = []
    for zero in (-1800.0, START):
        release = Release({"sex": ["f", "m"] * 30})
        release.add_table(["sex"])
        release.add_estimate(least_squares_influence(zero + times, response))
        report = release.leakage()
        limits.append(report.plug_in.value[report.row_cells])
    np.testing.assert_allclose(limits[1], limits[0], rtol=1e-6)
