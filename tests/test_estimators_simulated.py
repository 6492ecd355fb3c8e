"""Theory against simulation for each estimator, and the score that is printed beside.

A table of the population with the target as its row 0 gives theory and scores; releases of n fresh
rows, with the target among them or not, give what the scores achieve.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.stats import norm

from mialeak.estimators import (
    InfluenceFunctions,
    joint_influence,
    least_squares_influence,
    logistic_influence,
    mean_influence,
    quantile_influence,
    variance_influence,
    z_estimator,
)
from mialeak.reference import estimators as twins

POPULATION, ROUNDS = 40_000, 4000
COEF = np.array([0.5, 1.0, -1.0])


# --- laws of rows, and estimators of many tables (T, n, columns) at once -------------------------


def skewed(rng, shape):
    """Correlated, skewed columns."""
    rows = rng.gamma(4.0, 0.5, (*shape, 3))
    rows[..., 1] += 0.5 * rows[..., 0]
    return rows


def bells(rng, shape):
    """Normal columns around 5, of different spread."""
    return 5.0 + np.array([0.5, 1.0, 3.0]) * rng.standard_normal((*shape, 3))


def linear(rng, shape):
    """Columns 1, x1, x2, y; the noise of y grows with x1."""
    x = rng.standard_normal((*shape, 2))
    noise = rng.standard_normal(shape) * np.sqrt(0.5 + 0.5 * x[..., 0] ** 2)
    return _with_response(x, lambda along: along + noise)


def binary(rng, shape):
    """Columns 1, x1, x2 and y, which is 0 or 1."""
    x = rng.standard_normal((*shape, 2))
    drawn = rng.random(shape)
    return _with_response(x, lambda along: 1.0 * (drawn < special.expit(along)))


def _with_response(x, response):
    design = np.concatenate([np.ones((*x.shape[:-1], 1)), x], axis=-1)
    return np.concatenate([design, response(design @ COEF)[..., None]], axis=-1)


def least_squares(rows, penalty=0.0):
    x, y = rows[..., :3], rows[..., 3]
    matrix = x.mT @ x + np.diag([0.0, penalty, penalty])
    return np.linalg.solve(matrix, (x.mT @ y[..., None]))[..., 0]


def logistic(rows, penalty=0.0):
    x, y = rows[..., :3], rows[..., 3]
    weights = np.array([0.0, penalty, penalty])
    theta = np.tile(COEF, (len(rows), 1))
    for _ in range(7):
        p = special.expit((x @ theta[..., None])[..., 0])
        gradient = ((y - p)[:, None, :] @ x)[:, 0] - weights * theta
        matrix = (x * (p * (1.0 - p))[..., None]).mT @ x + np.diag(weights)
        theta = theta + np.linalg.solve(matrix, gradient[..., None])[..., 0]
    return theta


def huber_psi(x, theta):
    return np.clip(x - theta, -1.0, 1.0)


def huber_slope(x, theta):
    return -1.0 * (np.abs(x - theta) < 1.0)[:, :, None] * np.eye(3)


def huber(rows):
    """Location of each column by Newton's steps from the median."""
    theta = np.median(rows, axis=-2)
    for _ in range(30):
        rest = rows - theta[..., None, :]
        theta = theta + np.clip(rest, -1, 1).mean(-2) / np.maximum((abs(rest) < 1).mean(-2), 0.2)
    return theta


def huber_influence(rows):
    return z_estimator(huber_psi, huber_slope, rows, huber(rows))


@dataclass(frozen=True)
class Example:
    """An estimator, the law of its rows and a target."""

    influence: Callable[[Any], InfluenceFunctions]
    fit: Callable[[Any], Any]
    law: Callable[..., Any]
    target: list[float]
    n: int


EXAMPLES = {
    "mean": Example(mean_influence, lambda r: r.mean(-2), skewed, [6.0, 2.0, 4.5], 100),
    "variance": Example(
        variance_influence, lambda r: r.var(-2, ddof=1), bells, [6.7, 8.3, 0.0], 150
    ),
    "median": Example(quantile_influence, lambda r: np.median(r, -2), bells, [6.0, 4.0, 7.0], 21),
    "quartiles": Example(
        lambda r: quantile_influence(r[:, :1], [0.25, 0.75]),
        lambda r: np.quantile(r[..., 0], [0.25, 0.75], axis=-1).T,
        bells,
        [3.0, 0.0, 0.0],
        29,
    ),
    "mean and variance": Example(
        lambda r: joint_influence(mean_influence(r[:, :1]), variance_influence(r[:, :1])),
        lambda r: np.stack([r[..., 0].mean(-1), r[..., 0].var(-1, ddof=1)], axis=-1),
        bells,
        [6.5, 0.0, 0.0],
        100,
    ),
    "least squares": Example(
        lambda r: least_squares_influence(r[:, :3], r[:, 3], fit_intercept=False),
        least_squares,
        linear,
        [1.0, 1.5, -2.0, 7.5],
        150,
    ),
    "ridge": Example(
        lambda r: least_squares_influence(r[:, 1:3], r[:, 3], penalty=0.1 * len(r)),
        lambda r: least_squares(r, 0.1 * r.shape[1]),
        linear,
        [1.0, 1.5, -2.0, 7.5],
        150,
    ),
    "logistic": Example(
        lambda r: logistic_influence(r[:, :3], r[:, 3], fit_intercept=False),
        logistic,
        binary,
        [1.0, 3.0, 0.0, 0.0],
        200,
    ),
    "logistic with a penalty": Example(
        lambda r: logistic_influence(r[:, 1:3], r[:, 3], penalty=0.05 * len(r)),
        lambda r: logistic(r, 0.05 * r.shape[1]),
        binary,
        [1.0, 2.0, -2.0, 0.0],
        200,
    ),
    "Huber's location": Example(huber_influence, huber, skewed, [4.0, 5.0, 0.0], 25),
}


def simulate(example: Example, rng: np.random.Generator):
    """Influence functions of the population, and releases (2, T, d) without and with the target."""
    population = example.law(rng, (POPULATION,))
    population[0] = example.target
    releases = []
    for world in (0, 1):
        rows = example.law(rng, (ROUNDS, example.n))
        if world:
            rows[:, 0] = example.target
        releases.append(example.fit(rows))
    return example.influence(population), np.array(releases)


def advantage(scores):
    """Power - fpr and its standard error: the threshold is set on one half, used on the other."""
    half = ROUNDS // 2
    threshold = scores[:, :half].mean()
    fpr, power = np.mean(scores[:, half:] >= threshold, axis=1)
    return power - fpr, np.sqrt((fpr * (1 - fpr) + power * (1 - power)) / half)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_score_has_the_advantage_that_theory_says(name):
    example = EXAMPLES[name]
    influences, releases = simulate(example, np.random.default_rng(7))
    m = influences.leakage_scores(n=example.n)[0]
    assert 0.1 < m < 2.0  # neither nothing nor everything
    scores = np.array([influences.score(world, 0, n=example.n) for world in releases])
    got, error = advantage(scores)
    theory = influences.tradeoff(0, n=example.n).advantage
    assert theory == pytest.approx(special.erf(np.sqrt(m / 8)), rel=1e-9)
    assert abs(got - theory) < 3 * error
    rise = scores[1].mean() - scores[0].mean()  # m, whatever the bias of the estimate
    assert abs(rise - m) < 3 * np.sqrt(scores.var(axis=1).sum() / ROUNDS)


def printed_and_right(psi, v, second_moment, theta0, releases, n):
    """Scores (2, T) by the formula as printed and as it should be, with their advantages.

    Both are linear in the estimate, so that their advantages for large n are known.
    """
    printed = np.array([twins.printed_score(psi, v, theta0, world, n) for world in releases])
    right = [twins.z_score(psi, v, second_moment, theta0, world, n) for world in releases]
    inverse = np.linalg.inv(v)
    influence, cov = -inverse @ psi, inverse @ second_moment @ inverse.T
    weights = inverse.T @ (inverse @ psi - theta0)
    shift = (weights @ influence) / np.sqrt(n * (weights @ cov @ weights))
    best = np.sqrt(psi @ np.linalg.solve(second_moment, psi) / n)
    return printed, np.array(right), special.erf(np.array([shift, best]) / np.sqrt(8.0))


def check_printed_and_right(found, numbers, least_spread):
    """The advantages are `numbers`, and those of the simulated scores."""
    printed, right, theory = found
    np.testing.assert_allclose(theory, numbers, atol=0.002)
    for scores, expected in zip((printed, right), theory, strict=True):
        got, error = advantage(scores)
        assert abs(got - expected) < 3 * error
    assert right[0].mean() == pytest.approx(-4.0 * special.erfinv(numbers[1]) ** 2, abs=0.1)
    assert printed[0].var() > least_spread * right[0].var()  # no log likelihood ratio


def test_the_printed_score_fails_for_the_mean():
    """20 columns around 3, a target one standard deviation off in each, on alternate sides."""
    d = n = 20
    rng, theta0, std = np.random.default_rng(3), np.full(20, 3.0), np.linspace(0.3, 3.0, 20)
    psi = std * (-1.0) ** np.arange(d)
    out = theta0 + std * rng.standard_normal((ROUNDS, d)) / np.sqrt(n)
    into = theta0 + psi / n + std * rng.standard_normal((ROUNDS, d)) * np.sqrt(n - 1) / n
    found = printed_and_right(psi, -np.eye(d), np.diag(std**2), theta0, (out, into), n)
    check_printed_and_right(found, (0.187, 0.383), 20)


def test_the_printed_score_fails_for_the_median():
    example = EXAMPLES["median"]
    influences, releases = simulate(example, np.random.default_rng(7))
    std, theta0 = np.array([0.5, 1.0, 3.0]), np.full(3, 5.0)
    psi, v = np.sign(example.target - theta0), np.diag(-2.0 / (np.sqrt(2 * np.pi) * std))
    found = printed_and_right(psi, v, np.eye(3), theta0, releases, example.n)
    check_printed_and_right(found, (0.084, 0.150), 100)
    ours = influences.score(releases[0], 0, n=example.n)
    assert np.corrcoef(ours, found[1][0])[0, 1] > 0.999


def test_the_printed_score_of_a_logistic_regression_depends_on_units():
    """It has 0.229 for the right 0.247, and 0.116 if one column is written in tenths."""
    example, rng = EXAMPLES["logistic"], np.random.default_rng(7)
    influences, releases = simulate(example, rng)
    x = np.array(example.target[:3])
    psi = x * (example.target[3] - special.expit(x @ COEF))
    rows = binary(rng, (10 * POPULATION,))[:, :3]
    p = special.expit(rows @ COEF)
    information = (rows * (p * (1 - p))[:, None]).T @ rows / len(rows)
    for units, number in [((1, 1, 1), 0.229), ((1, 10, 1), 0.116)]:
        scale = np.outer(units, units)
        moved = (psi * units, -information * scale, information * scale, COEF / units)
        found = printed_and_right(*moved, releases / units, example.n)
        check_printed_and_right(found, (number, 0.247), 100)
        ours = influences.score(releases[0], 0, n=example.n)
        assert np.corrcoef(ours, found[1][0])[0, 1] > 0.999


@pytest.mark.parametrize("seed", range(30))
def test_nearly_collinear_influence_is_refused_in_words(seed):
    """The square of 1e-8 is beyond the digits of a covariance, and 1e-8 within those of a row."""
    x, off = np.random.default_rng(seed).normal(size=(2, 40))
    columns = np.column_stack([x, x + 1e-8 * off])
    rows = InfluenceFunctions(columns.mean(axis=0), columns - columns.mean(axis=0))
    message = "influence must not be nearly collinear; by rounding .* is 1 of 2"
    with pytest.raises(ValueError, match=message):
        rows.leakage_scores()


@pytest.mark.parametrize("closeness", [1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_nearly_collinear_regressors_have_scores_or_are_refused_in_words(closeness):
    """Rounding decides which of the three it is."""
    refusals = []
    for seed in range(30):
        x, y, off = np.random.default_rng(seed).normal(size=(3, 40))
        try:
            rows = least_squares_influence(np.column_stack([x, x + closeness * off]), y)
            assert (rows.leakage_scores() > 0).all()
        except ValueError as error:
            refusals.append(str(error))
    words = "influence must not be nearly collinear; by rounding|X must determine the estimate"
    assert all(re.match(words, refusal) for refusal in refusals)


@pytest.mark.parametrize(("columns", "excess"), [(10, 1.15), (20, 1.3), (40, 1.7)])
def test_an_excess_of_few_rows_is_warned_of_and_more_rows_do_not_have_it(columns, excess):
    """Of x ~ N(0, I) and y ~ N(0, 1) the leakage score is ``|x|^2 y^2 / n``, in closed form."""
    ratios = {"few": [], "more": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20_000, columns)), rng.normal(size=20_000)
        truth = 2.0 * norm.cdf(0.5 * np.sqrt((X[:200] ** 2).sum(axis=1) / 200) * abs(y[:200])) - 1
        few = least_squares_influence(X[:200], y[:200], fit_intercept=False)
        if columns > 10:  # 20 rows for each are not warned of
            with pytest.warns(UserWarning, match=r"200 rows are few for .* and pass n=200"):
                few.tradeoff(0)
            with pytest.warns(UserWarning, match="is too high") as seen:
                few.leakage_scores()
            assert seen[0].filename == __file__
            few.leakage_scores(release_noise_cov=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if columns > 10 else "error")
            scores = few.leakage_scores()
        more = least_squares_influence(X, y, fit_intercept=False).leakage_scores(n=200)[:200]
        for name, each in (("few", scores), ("more", more)):
            ratios[name].append((2.0 * norm.cdf(0.5 * np.sqrt(each)) - 1).mean() / truth.mean())
    assert np.mean(ratios["few"]) == pytest.approx(excess, abs=0.1)
    assert np.mean(ratios["more"]) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("columns", [98, 100, 150])
def test_scores_of_more_estimates_than_rows_are_warned_of(columns):
    """Each row is then outside of the span of the others, and its score infinite."""
    result = mean_influence(np.random.default_rng(1).normal(size=(100, columns)))
    with pytest.warns(UserWarning, match=f"100 rows are few for {columns} .*(infinite|times)"):
        scores = result.leakage_scores()
    assert np.isinf(scores).all() == (columns > 98)
    if columns > 98:
        words = (
            f"row must move the estimates within the span of the others, of rank 98 in {columns}"
        )
        with pytest.raises(ValueError, match=words), pytest.warns(UserWarning, match="are few"):
            result.tradeoff(0)
        with pytest.raises(ValueError, match=words):
            result.score(result.theta, 0)
