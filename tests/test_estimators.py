"""Influence functions: refits without the row, closed forms, invariances, what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import optimize, special

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
from mialeak.means._rows import row_leakage_scores
from mialeak.reference import estimators as twins
from mialeak.scores import covariance_score

RNG = np.random.default_rng(17)
N = 60
X = RNG.normal(size=(N, 3)) @ RNG.normal(size=(3, 3)) + 2.0
DESIGN = np.column_stack([np.ones(N), X])
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=N) * (1.0 + np.abs(X[:, 0]))
BITS = 1.0 * (RNG.random(N) < special.expit(X @ [0.5, -0.5, 0.2]))


def moves(influences):
    """What each row moves the estimate from the others by, times n."""
    omitted = influences.omitted
    return omitted if omitted.ndim == 2 else omitted[:, None] * influences.influence


def least_squares(design, y, penalty=0.0):
    weights = penalty * np.eye(design.shape[1])
    weights[0, 0] = 0.0
    return np.linalg.solve(design.T @ design + weights, design.T @ y)


ALL = {
    "mean": lambda: mean_influence(X),
    "variance": lambda: variance_influence(X),
    "quantile": lambda: quantile_influence(X, [0.3, 0.5]),
    "least squares": lambda: least_squares_influence(X, Y),
    "ridge": lambda: least_squares_influence(X, Y, penalty=7.0),
    "logistic": lambda: logistic_influence(X, BITS),
    "logistic ridge": lambda: logistic_influence(X, BITS, penalty=2.0),
    "joint": lambda: joint_influence(mean_influence(X), variance_influence(X)),
}


# --- leave one out -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*rows are few for")
@pytest.mark.parametrize("name", ALL)
def test_scores_are_those_with_the_covariance_of_the_others(name):
    influences = ALL[name]()
    given = influences.influence, moves(influences)
    noise = 0.1 * np.cov(influences.influence, rowvar=False) + 0.01
    np.testing.assert_allclose(
        influences.leakage_scores(), twins.leakage_scores(*given), rtol=1e-10
    )
    got = influences.leakage_scores(n=20, release_noise_cov=noise)
    np.testing.assert_allclose(got, twins.leakage_scores(*given, 20, noise), rtol=1e-10)
    variances = np.full(influences.theta.size, 0.3)
    got = influences.leakage_scores(release_noise_cov=variances)
    np.testing.assert_allclose(got, twins.leakage_scores(*given, None, 0.3), rtol=1e-10)


@pytest.mark.filterwarnings("ignore:.*rows are few for")
@pytest.mark.parametrize("name", ALL)
def test_curves_of_a_row_have_its_score(name):
    influences = ALL[name]()
    scores = influences.leakage_scores(n=30, release_noise_cov=0.2)
    for row in (0, 17):
        curve = influences.tradeoff(row, n=30, release_noise_cov=0.2)
        assert curve.mu**2 == pytest.approx(scores[row], rel=1e-10)
        assert curve.kind == influences.kind == "asymptotic"
    half = influences.tradeoff(3, n=30, sampling_rate=0.5)
    m = influences.leakage_scores(n=15)[3]
    assert half.advantage == pytest.approx(0.5 * special.erf(np.sqrt(m / 8.0)), rel=1e-9)


def test_the_mean_is_the_released_mean():
    np.testing.assert_allclose(
        mean_influence(X).leakage_scores(), row_leakage_scores(X), rtol=1e-12
    )
    centre, cov = mean_influence(X).without(4)
    others = np.delete(X, 4, axis=0)
    np.testing.assert_allclose(centre, others.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(cov, np.cov(others, rowvar=False), rtol=1e-11)


def test_scores_of_releases_are_the_covariance_scores_of_the_others():
    others = np.delete(X, 4, axis=0)
    releases = X[:10] / 5.0 + 1.5
    expected = covariance_score(
        releases, X[4], others.mean(axis=0), np.cov(others, rowvar=False), 25
    )
    np.testing.assert_allclose(mean_influence(X).score(releases, 4, n=25), expected, rtol=1e-9)
    one = mean_influence(X).score(releases[0], 4, n=25)
    assert one == pytest.approx(expected[0], rel=1e-9)


def test_variances_are_those_of_the_others():
    influences = variance_influence(X)
    np.testing.assert_allclose(influences.theta, X.var(axis=0, ddof=1), rtol=1e-12)
    for i in (0, 31):
        others = np.delete(X, i, axis=0)
        expected = (X[i] - others.mean(axis=0)) ** 2 - others.var(axis=0)
        np.testing.assert_allclose(influences.omitted[i], expected, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_is_refitted_without_the_row(fit_intercept):
    design = DESIGN if fit_intercept else X
    influences = least_squares_influence(X, Y, fit_intercept=fit_intercept)
    np.testing.assert_allclose(influences.theta, np.linalg.lstsq(design, Y)[0], rtol=1e-10)
    inverse = N * np.linalg.inv(design.T @ design)
    for i in (0, 31):
        theta = np.linalg.lstsq(np.delete(design, i, axis=0), np.delete(Y, i))[0]
        np.testing.assert_allclose(influences.without(i)[0], theta, rtol=1e-9)
        expected = inverse @ design[i] * (Y[i] - design[i] @ theta)
        np.testing.assert_allclose(moves(influences)[i], expected, rtol=1e-9)


def test_ridge_is_refitted_without_the_row():
    penalty = 7.0
    influences = least_squares_influence(X, Y, penalty=penalty)
    np.testing.assert_allclose(influences.theta, least_squares(DESIGN, Y, penalty), rtol=1e-10)
    weights = penalty * np.array([0.0, 1.0, 1.0, 1.0])
    inverse = N * np.linalg.inv(DESIGN.T @ DESIGN + np.diag(weights))
    for i in (0, 31):
        theta = least_squares(np.delete(DESIGN, i, axis=0), np.delete(Y, i), penalty)
        # The others' terms average to penalty * theta / (n - 1), as their equations say.
        psi = DESIGN[i] * (Y[i] - DESIGN[i] @ theta) - weights * theta / (N - 1)
        np.testing.assert_allclose(influences.omitted[i], inverse @ psi, rtol=1e-8)


def test_logistic_regression_without_the_row_is_one_step_away():
    influences = logistic_influence(X, BITS)
    for i in (0, 31):
        others = logistic_influence(np.delete(X, i, axis=0), np.delete(BITS, i))
        own = np.abs(influences.without(i)[0] - others.theta).max()
        assert own < 0.2 * np.abs(influences.theta - others.theta).max()


def test_logistic_scores_are_those_of_the_twin():
    influences = logistic_influence(X, BITS)
    expected = twins.logistic_leakage_scores(DESIGN, BITS, influences.theta)
    np.testing.assert_allclose(influences.leakage_scores(), expected, rtol=1e-10)


def test_logistic_coefficients_are_of_least_loss():
    for penalty in (0.0, 2.0):
        influences = logistic_influence(X, BITS, penalty=penalty)
        p = special.expit(DESIGN @ influences.theta)
        gradient = DESIGN.T @ (BITS - p) - penalty * np.array([0, 1, 1, 1]) * influences.theta
        np.testing.assert_allclose(gradient, 0.0, atol=1e-9)


def test_far_rows_do_not_throw_the_fit_off():
    """Newton's full steps diverge here."""
    x = np.concatenate([np.linspace(-1.0, 1.0, 40), [300.0, -300.0]])[:, None]
    y = 1.0 * (np.arange(42) % 3 == 0)
    y[-2:] = 0.0, 1.0
    theta = logistic_influence(x, y).theta

    def loss(at):
        return np.logaddexp(0.0, (1 - 2 * y) * (at[0] + at[1] * x[:, 0])).sum()

    expected = optimize.minimize(loss, [0.0, 0.0], tol=1e-12)
    np.testing.assert_allclose(theta, expected.x, atol=1e-5)


def test_medians_give_every_row_away_alike():
    rows = RNG.normal(size=(1001, 1))
    scores = quantile_influence(rows).leakage_scores()
    np.testing.assert_allclose(scores, 1.0 / 1001, rtol=5e-3)


def test_quantiles_of_columns_stand_column_by_column():
    influences = quantile_influence(X, [0.25, 0.75])
    np.testing.assert_array_equal(influences.theta, np.quantile(X, [0.25, 0.75], axis=0).T.ravel())
    np.testing.assert_allclose(
        influences.influence[:, 2:4], quantile_influence(X[:, 1], [0.25, 0.75]).influence
    )


def test_scores_of_quantiles_do_not_depend_on_the_density():
    density = RNG.random(6) + 0.1
    given = quantile_influence(X, [0.25, 0.75], density=density)
    estimated = quantile_influence(X, [0.25, 0.75])
    np.testing.assert_allclose(given.leakage_scores(), estimated.leakage_scores(), rtol=1e-9)
    unit = quantile_influence(X, [0.25, 0.75], density=np.ones(6))
    np.testing.assert_allclose(given.influence * density, unit.influence, rtol=1e-12)


def test_the_density_is_estimated():
    rows = np.random.default_rng(1).normal(size=200_000)
    spread = np.sqrt(quantile_influence(rows, [0.1, 0.5]).covariance.diagonal())
    z = special.ndtri([0.1, 0.5])
    truth = np.sqrt([0.09, 0.25]) * np.sqrt(2.0 * np.pi) * np.exp(0.5 * z**2)
    np.testing.assert_allclose(spread, truth, rtol=0.02)


# --- a user's equations --------------------------------------------------------------------------


def test_the_users_equations_of_least_squares_are_least_squares():
    theta = np.linalg.lstsq(DESIGN, Y)[0]

    def psi(rows, at):
        return rows * (Y - rows @ at)[:, None]

    def each(rows, at):
        return -rows[:, :, None] * rows[:, None, :]

    ours = least_squares_influence(X, Y)
    theirs = z_estimator(psi, each, DESIGN, theta)
    np.testing.assert_allclose(theirs.influence, ours.influence, atol=1e-9)
    np.testing.assert_allclose(theirs.omitted, moves(ours), atol=1e-9)
    np.testing.assert_allclose(theirs.leakage_scores(), ours.leakage_scores(), rtol=1e-8)
    by_mean = z_estimator(psi, lambda rows, at: each(rows, at).mean(axis=0), DESIGN, theta)
    np.testing.assert_allclose(by_mean.omitted, N / (N - 1))


def test_scores_do_not_depend_on_how_the_equations_are_written():
    mixing = RNG.normal(size=(4, 4))
    theta = np.linalg.lstsq(DESIGN, Y)[0]
    mixed = z_estimator(
        lambda rows, at: rows * (Y - rows @ at)[:, None] @ mixing.T,
        lambda rows, at: mixing @ (-rows[:, :, None] * rows[:, None, :]),
        DESIGN,
        theta,
    )
    expected = least_squares_influence(X, Y).leakage_scores()
    np.testing.assert_allclose(mixed.leakage_scores(), expected, rtol=1e-8)


def test_scores_do_not_depend_on_units():
    units = np.array([1e-6, 1.0, 1e6])
    for name in ("least squares", "logistic"):
        function = least_squares_influence if name == "least squares" else logistic_influence
        y = Y if name == "least squares" else BITS
        expected = function(X, y).leakage_scores()
        np.testing.assert_allclose(function(X * units, y).leakage_scores(), expected, rtol=1e-7)


# --- joint releases, rows that are given away ----------------------------------------------------


def test_the_same_release_twice_adds_nothing():
    mean = mean_influence(X)
    twice = joint_influence(mean, mean)
    np.testing.assert_allclose(twice.leakage_scores(), mean.leakage_scores(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The last row is the mean of the others")
def test_rows_at_the_mean_are_no_trouble_to_a_singular_covariance():
    rows = np.concatenate([X, X.mean(axis=0)[None]])
    rows = np.column_stack([rows, rows @ [1.0, 1.0, 1.0]])
    scores = mean_influence(rows).leakage_scores()
    np.testing.assert_allclose(scores[:-1], mean_influence(rows[:, :3]).leakage_scores()[:-1])
    assert scores[-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*rows are few for")
def test_more_releases_never_leak_less():
    mean = mean_influence(X)
    both = joint_influence(mean, least_squares_influence(X, Y))
    assert np.all(both.leakage_scores() >= mean.leakage_scores() * (1 - 1e-9))
    assert both.theta.size == 7


@pytest.mark.filterwarnings("ignore:.*rows are few for")
def test_a_row_with_a_column_of_its_own_is_given_away():
    own = np.column_stack([X, np.arange(N) == 5])
    influences = least_squares_influence(own, Y)
    scores = influences.leakage_scores()
    assert scores[5] == np.inf
    assert np.isfinite(np.delete(scores, 5)).all()
    penalised = logistic_influence(own, BITS, penalty=0.1).leakage_scores()
    assert np.argmax(penalised) == 5
    assert penalised[5] > 1.0
    rule = "row must be one without which the others determine the estimate; got row = 5"
    with pytest.raises(ValueError, match=re.escape(rule)):
        influences.tradeoff(5)
    both = joint_influence(mean_influence(X), influences)
    assert both.leakage_scores()[5] == np.inf


def test_a_lone_bit_is_given_away():
    bits = np.column_stack([X[:, 0], np.arange(N) == 5])
    scores = mean_influence(bits).leakage_scores()
    assert scores[5] == np.inf
    assert np.isfinite(np.delete(scores, 5)).all()


def test_a_constant_column_says_nothing():
    wide = np.column_stack([X, np.full(N, 0.1)])
    for function in (mean_influence, variance_influence):
        expected = function(X).leakage_scores()
        np.testing.assert_allclose(function(wide).leakage_scores(), expected, rtol=1e-10)


def test_more_columns_than_rows_go_with_a_penalty():
    wide = RNG.normal(size=(20, 40))
    y = RNG.normal(size=20)
    influences = least_squares_influence(wide, y, penalty=1.0)
    with pytest.warns(UserWarning, match="20 rows are few for 41 estimates"):
        assert np.all(influences.leakage_scores() == np.inf)
    assert np.isfinite(influences.leakage_scores(release_noise_cov=0.1)).all()


# --- the check by resampling ---------------------------------------------------------------------


def test_resampling_agrees_with_theory():
    influences = least_squares_influence(X, Y)
    row = int(np.argsort(influences.leakage_scores())[-3])

    def fit(x, y):
        return np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y)[0]

    rounds = 1500
    curve = influences.resampled_tradeoff(row, fit, X, Y, n=200, rounds=rounds, rng=1)
    theory = influences.tradeoff(row, n=200).auc
    assert curve.n_in == curve.n_out == rounds
    assert abs(curve.auc - theory) < 3 * np.sqrt(1.0 / 6.0 / rounds)
    again = influences.resampled_tradeoff(row, fit, X, Y, n=200, rounds=20, rng=1)
    same = influences.resampled_tradeoff(row, fit, X, Y, n=200, rounds=20, rng=1)
    assert again.advantage == same.advantage


def test_resampled_releases_hold_the_row_in_one_world_only():
    seen = []
    mean_influence(X).resampled_tradeoff(
        7, lambda x: (seen.append((x == X[7]).all(axis=1).sum()), x.mean(axis=0))[1], X, rounds=5
    )
    assert seen[-10:] == [0] * 5 + [1] * 5


# --- what is refused -----------------------------------------------------------------------------

MEAN = mean_influence(X)
SEPARATED = 1.0 * (X[:, 0] > 2.0)
REFUSED = [
    (lambda: mean_influence(X[:2]), "X must have at least 3 rows and 1 column"),
    (lambda: mean_influence([[1.0], [np.nan], [2.0]]), "X must be finite; got X[1, 0] = nan"),
    (lambda: variance_influence([0.1, 0.3] * 9), "X must have deviations of more than one size"),
    (lambda: quantile_influence(X, 1.0), "q must be between 0 and 1; got q[0] = 1.0"),
    (lambda: quantile_influence(X, np.ones((1, 1))), "q must be a number or a vector"),
    (
        lambda: quantile_influence(np.repeat([1.0, 2.0, 3.0], [5, 50, 5])),
        "X must have a density at its quan",
    ),
    (lambda: quantile_influence(X, density=[1.0]), "density must have an entry for each of 3"),
    (lambda: quantile_influence(X, density=[1.0, 0.0, 1.0]), "density must be above 0; got"),
    (lambda: least_squares_influence(X, Y[1:]), "y must have an entry for each of 60 rows"),
    (lambda: least_squares_influence(X, Y, penalty=-1.0), "penalty must be at least 0; got"),
    (lambda: least_squares_influence(X, Y, penalty=[1, 2]), "penalty must be a number or have 3"),
    (lambda: least_squares_influence(X[:2], Y[:2]), "X must have at least 3 rows and 1 column"),
    (lambda: least_squares_influence(X[:, [0, 1, 0]], Y), "as the columns are collinear (rank 3"),
    (lambda: least_squares_influence(X[:3], Y[:3]), "X must determine the estimate"),
    (lambda: least_squares_influence(X, X[:, 0]), "not available where X predicts y perfectly"),
    (lambda: logistic_influence(X, Y), "y must be 0 or 1; got y[0] ="),
    (
        lambda: logistic_influence(X, SEPARATED),
        "The logistic fit is not available where X separates y: no",
    ),
    (
        lambda: logistic_influence(X, np.ones(N)),
        "The logistic fit is not available where X separates y: no",
    ),
    (
        lambda: logistic_influence(X, SEPARATED, penalty=1e-300),
        "penalty must be large enough for a fit where X separates y: Newton's steps do not reach "
        "the coefficients that fit best; got penalty = 1e-300. Take one of at least 1e-15",
    ),
    (
        lambda: least_squares_influence(X[:, [0, 1, 0]], Y, penalty=1e-15),
        "penalty must be large enough for the parameter",
    ),
    (
        lambda: logistic_influence(X[:, [0, 1, 0]], Y > 0, penalty=[1e-20, 1.0, 1e-20]),
        "and the penalty is rounding; got penalty = 1e-20. Take one of at least",
    ),
    (
        lambda: least_squares_influence(X[:, [0, 1, 0]], Y, penalty=[0.0, 1.0, 0.0]),
        "X must determine the estimate; with these rows, the parameter",
    ),
    (lambda: joint_influence(), "parts must be at least one"),
    (lambda: joint_influence(MEAN, mean_influence(X[1:])), "their numbers are [60, 59]"),
    (lambda: InfluenceFunctions([0.0], X), "influence must have at least 3 rows and a column"),
    (lambda: InfluenceFunctions(np.zeros(3), X), "theta must solve the equations of the"),
    (lambda: InfluenceFunctions(np.zeros(3), X - X.mean(0), X[:, :1]), "omitted must have shape"),
    (lambda: InfluenceFunctions(np.zeros(3), X - X.mean(0), [np.nan] * N), "omitted must be num"),
    (lambda: MEAN.leakage_scores(n=1), "n must be between 2 and 2**53; got n = 1"),
    (lambda: MEAN.leakage_scores(release_noise_cov=-1.0), "release_noise_cov must be at least 0"),
    (lambda: MEAN.tradeoff(60), "row must be between 0 and 59; got row = 60"),
    (lambda: MEAN.score(X[:, :2], 0), "releases must have 3 columns"),
    (lambda: MEAN.resampled_tradeoff(0, len, X[1:]), "tables must have 60 rows each; tables[0]"),
    (lambda: MEAN.resampled_tradeoff(0, len, X), "fit(...) must have the shape of theta, (3,)"),
    (lambda: MEAN.resampled_tradeoff(0, len, X, rounds=0), "rounds must be between 1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_bad_input_is_told(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    ("psi", "derivative", "message"),
    [
        (np.zeros(5), np.eye(2), "psi(X, theta) must have 2 dimensions"),
        (np.zeros((5, 3)), np.eye(2), "psi(X, theta) must have at least 3 rows and 2 columns"),
        (np.full((5, 2), np.inf), np.eye(2), "psi(X, theta) must be finite; got psi(X, theta)[0"),
        (np.zeros((5, 2)), np.eye(3), "derivative(X, theta) must have shape (5, 2, 2) or (2, 2)"),
        (np.zeros((5, 2)), np.ones((2, 2)), "must be invertible on average over the rows; its ra"),
        (np.arange(10.0).reshape(5, 2), np.eye(2), "theta must solve the equations of the est"),
    ],
)
def test_bad_equations_are_told(psi, derivative, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        z_estimator(lambda X, t: psi, lambda X, t: derivative, None, [0.0, 0.0])


def test_results_are_short_in_print_and_whole_as_a_dictionary():
    influences = mean_influence([[1.0], [2.0], [6.0]])
    assert repr(influences) == "InfluenceFunctions(theta=array([3.]), n=3, kind='asymptotic')"
    found = influences.to_dict()
    assert found["influence"] == [[-2.0], [-1.0], [3.0]]
    assert found["n"] == 3


@pytest.mark.parametrize("unit", [2.0**-900, 1e-200, 1e-130, 1e130, 1e200, 2.0**900])
@pytest.mark.parametrize("of", [mean_influence, quantile_influence])
def test_scores_do_not_depend_on_the_unit_of_a_column(of, unit):
    usual = of(X).leakage_scores()
    scale = np.array([unit, 1.0, unit])
    np.testing.assert_allclose(of(X * scale).leakage_scores(), usual, rtol=1e-10)


@pytest.mark.parametrize("unit", [2.0**-450, 2.0**450])
def test_noise_is_in_the_unit_of_its_column(unit):
    noise = np.diag([0.5 * unit**2, 0.5, 0.0])
    found = mean_influence(X * [unit, 1.0, 1.0]).leakage_scores(release_noise_cov=noise)
    usual = mean_influence(X).leakage_scores(release_noise_cov=[0.5, 0.5, 0.0])
    np.testing.assert_allclose(found, usual, rtol=1e-12)


def test_columns_far_from_zero_solve_their_own_equations():
    whole = np.rint(1e3 * X)
    far = mean_influence(whole + 1e15)
    np.testing.assert_allclose(
        far.leakage_scores(), mean_influence(whole).leakage_scores(), rtol=1e-9
    )
    far = variance_influence(whole + 1e15)
    np.testing.assert_allclose(far.theta, whole.var(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_variances_that_float64_cannot_hold_are_refused(unit):
    with pytest.raises(ValueError, match="X must have deviations whose squares float64 holds"):
        variance_influence(X * unit)


def test_parts_are_influence_functions():
    with pytest.raises(TypeError, match=r"parts must be InfluenceFunctions; got parts\[1\] = 'a'"):
        joint_influence(mean_influence(X), "a")


@pytest.mark.parametrize("penalty", [1.0, 1e-6, 1e-10, 1e-12, 1e-15])
def test_a_small_penalty_fits_where_columns_separate(penalty):
    """The gradient at the coefficients, with 60 digits: where it is 0 a convex loss is least."""
    import mpmath as mp

    rows = logistic_influence(X, SEPARATED, penalty=penalty)
    with mp.workdps(60):
        theta = [mp.mpf(t) for t in rows.theta]
        gradient = [mp.mpf(0)] * len(theta)
        for row, one in zip(X.tolist(), SEPARATED.tolist(), strict=True):
            design = [mp.mpf(1)] + [mp.mpf(x) for x in row]
            p = 1 / (1 + mp.exp(-sum(t * x for t, x in zip(theta, design, strict=True))))
            gradient = [g + (one - p) * x for g, x in zip(gradient, design, strict=True)]
        pull = [mp.mpf(penalty) * t for t in theta]
        pull[0] = mp.mpf(0)
        off = [abs(g - a) for g, a in zip(gradient, pull, strict=True)]
        assert max(off) <= 1e-6 * max(abs(a) for a in pull)
