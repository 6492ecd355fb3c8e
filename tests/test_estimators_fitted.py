"""Results of scikit-learn and statsmodels, taken as they are."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import special

from mialeak.estimators import (
    influence_of,
    least_squares_influence,
    logistic_influence,
    mean_influence,
    quantile_influence,
    variance_influence,
    z_estimator,
)

linear_model = pytest.importorskip("sklearn.linear_model")
load_breast_cancer = pytest.importorskip("sklearn.datasets").load_breast_cancer

RNG = np.random.default_rng(23)
N = 80
X = RNG.normal(size=(N, 3)) @ RNG.normal(size=(3, 3)) + 1.0
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=N) * (1.0 + np.abs(X[:, 0]))
BITS = (RNG.random(N) < special.expit(X @ [0.5, -0.5, 0.2])).astype(int)


def same(got, expected, rtol=1e-6):
    np.testing.assert_allclose(got.theta, expected.theta, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(got.leakage_scores(), expected.leakage_scores(), rtol=rtol)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_models_of_scikit_learn(fit_intercept):
    plain = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(X, Y)
    same(influence_of(plain, X, Y), least_squares_influence(X, Y, fit_intercept=fit_intercept))
    ridge = linear_model.Ridge(alpha=3.0, fit_intercept=fit_intercept).fit(X, Y)
    expected = least_squares_influence(X, Y, penalty=3.0, fit_intercept=fit_intercept)
    same(influence_of(ridge, X, Y), expected)
    chosen = linear_model.RidgeCV([0.1, 10.0]).fit(X, Y)
    same(influence_of(chosen, X, Y), least_squares_influence(X, Y, penalty=chosen.alpha_))


def test_a_response_in_a_column_is_one_response():
    fitted = linear_model.LinearRegression().fit(X, Y[:, None])
    same(influence_of(fitted, X, Y[:, None]), least_squares_influence(X, Y))


@pytest.mark.parametrize("strength", [0.3, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_logistic_regression_of_scikit_learn(strength, fit_intercept):
    options = {"C": strength, "fit_intercept": fit_intercept, "tol": 1e-10}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = linear_model.LogisticRegression(**options, max_iter=10_000).fit(X, BITS)
    expected = logistic_influence(X, BITS, penalty=1.0 / strength, fit_intercept=fit_intercept)
    same(influence_of(fitted, X, BITS), expected, rtol=1e-4)


def test_classes_may_have_any_names():
    names = np.where(BITS == 1, "yes", "no")
    fitted = linear_model.LogisticRegression(tol=1e-10).fit(X, names)
    same(influence_of(fitted, X, names), logistic_influence(X, BITS, penalty=1.0), rtol=1e-4)


def test_liblinear_penalises_the_intercept():
    options = {"solver": "liblinear", "intercept_scaling": 2.0, "tol": 1e-10, "C": 0.1}
    fitted = linear_model.LogisticRegression(**options).fit(X, BITS)
    design = np.column_stack([np.ones(N), X])
    weights = 10.0 * np.array([0.25, 1.0, 1.0, 1.0])
    expected = logistic_influence(design, BITS, penalty=weights, fit_intercept=False)
    same(influence_of(fitted, X, BITS), expected, rtol=1e-4)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_cross_validated_penalty_is_taken_as_given():
    fitted = linear_model.LogisticRegressionCV(Cs=[0.1, 1.0], tol=1e-10).fit(X, BITS)
    strength = np.ravel(fitted.C_)[0]
    expected = logistic_influence(X, BITS, penalty=1.0 / strength)
    same(influence_of(fitted, X, BITS), expected, rtol=1e-4)


def test_results_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    design = sm.add_constant(X)
    fitted = sm.OLS(Y, design).fit()
    ours = influence_of(fitted)
    same(ours, least_squares_influence(X, Y))
    robust = ours.influence.T @ ours.influence / N**2
    np.testing.assert_allclose(robust, fitted.get_robustcov_results("HC0").cov_params(), rtol=1e-8)
    influence = fitted.get_influence()
    np.testing.assert_allclose(ours.omitted, 1.0 / (1.0 - influence.hat_matrix_diag), rtol=1e-9)
    for model in (
        sm.Logit(BITS, design),
        sm.GLM(BITS, design, family=sm.families.Binomial()),
    ):
        same(influence_of(_fit(model)), logistic_influence(X, BITS))


def test_generalised_linear_models_have_the_sandwich_covariance():
    sm = pytest.importorskip("statsmodels.api")
    design = sm.add_constant(0.3 * X)
    counts = RNG.poisson(np.exp(design @ [0.5, 0.3, -0.2, 0.1]))
    weights = RNG.random(N) + 0.5
    poisson, gamma = sm.families.Poisson(), sm.families.Gamma(sm.families.links.Log())
    cases = [
        lambda kept: sm.Probit(BITS[kept], design[kept]),
        lambda kept: sm.Poisson(counts[kept], design[kept]),
        lambda kept: sm.GLM(counts[kept], design[kept], family=poisson),
        lambda kept: sm.GLM(counts[kept] + 0.5, design[kept], family=gamma),
        lambda kept: sm.WLS(Y[kept], design[kept], weights=weights[kept]),
    ]
    for model in cases:
        fitted = _fit(model(slice(None)), cov_type="HC0")
        ours = influence_of(fitted)
        got = ours.influence.T @ ours.influence / N**2
        np.testing.assert_allclose(got, fitted.cov_params(), rtol=1e-6)
        # Without a row, one step reaches the refit nearly.
        refit = _fit(model(np.arange(N) != 5)).params
        off = np.abs(ours.without(5)[0] - refit).max()
        assert off < 0.2 * np.abs(refit - fitted.params).max()


def _fit(model, **options):
    if hasattr(model, "family") or hasattr(model, "wexog"):
        return model.fit(**options)
    return model.fit(disp=0, maxiter=200, **options)


def test_data_frames_are_taken():
    pandas = pytest.importorskip("pandas")
    sm = pytest.importorskip("statsmodels.api")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    expected = least_squares_influence(X, Y)
    same(influence_of(linear_model.LinearRegression().fit(frame, Y), frame, Y), expected)
    same(influence_of(sm.OLS(pandas.Series(Y), sm.add_constant(frame)).fit()), expected)


def _statsmodels(make):
    def call():
        sm = pytest.importorskip("statsmodels.api")
        return influence_of(make(sm, sm.add_constant(X)))

    return call


def _sklearn(model, x=X, y=Y):
    def call():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model.fit(X, y)
        return influence_of(fitted, x, y)

    return call


LINEAR = linear_model.LinearRegression().fit(X, Y)
THREE = np.arange(N) % 3
REFUSED = [
    (lambda: influence_of(object()), TypeError, "result must be a fitted regression; it is object"),
    (lambda: influence_of(linear_model.Ridge(), X, Y), TypeError, "Known are LinearRegression"),
    (_sklearn(linear_model.Lasso()), TypeError, "it is Lasso. Known are"),
    (_sklearn(linear_model.HuberRegressor()), TypeError, "it is HuberRegressor. Known are"),
    (_sklearn(linear_model.SGDRegressor()), TypeError, "it is SGDRegressor"),
    (_sklearn(linear_model.RidgeClassifier(), y=BITS), TypeError, "it is RidgeClassifier"),
    (lambda: influence_of(LINEAR), TypeError, "X and y must be the rows that the result was"),
    (lambda: influence_of(LINEAR, X[:, :2], Y), ValueError, "X must have 3 columns, one for each"),
    (lambda: influence_of(LINEAR, X[::-1], Y), ValueError, "result must solve the equations of"),
    (
        lambda: influence_of(linear_model.LinearRegression().fit(X, np.stack([Y, Y], 1)), X, Y),
        ValueError,
        "result.coef_ must be those of one response or two classes; its shape is (2, 3)",
    ),
    (
        _sklearn(linear_model.LinearRegression(positive=True)),
        ValueError,
        "result.positive must be left at its default; got result.positive = True",
    ),
    (
        _sklearn(linear_model.LogisticRegression(class_weight="balanced"), y=BITS),
        ValueError,
        "result.class_weight must be left at its default; got result.class_weight = 'balanced'",
    ),
    (
        _sklearn(linear_model.LogisticRegression(solver="saga", l1_ratio=0.5), y=BITS),
        ValueError,
        "result.penalty must be l2 or none",
    ),
    (_sklearn(linear_model.LogisticRegression(), y=THREE), ValueError, "one response or two class"),
    (
        lambda: influence_of(linear_model.LogisticRegression().fit(X, BITS), X, BITS + 1),
        ValueError,
        "y must be one of result.classes_, [0, 1]; got y[",
    ),
    (_statsmodels(lambda sm, x: sm.RLM(Y, x).fit()), TypeError, "it is RLM. Known are"),
    (_statsmodels(lambda sm, x: sm.QuantReg(Y, x).fit()), TypeError, "it is QuantReg"),
    (_statsmodels(lambda sm, x: sm.GLS(Y, x, np.eye(N)).fit()), TypeError, "it is GLS"),
    (
        _statsmodels(lambda sm, x: sm.MNLogit(THREE, x).fit(disp=0)),
        ValueError,
        "result.params must be a number for each column of exog; their shape is (4, 2)",
    ),
    (
        _statsmodels(lambda sm, x: sm.GEE(Y, x, groups=THREE).fit()),
        TypeError,
        "it is GEE. Known are",
    ),
    (
        _statsmodels(lambda sm, x: sm.GLM(BITS, x).fit_constrained("x1 = x2")),
        ValueError,
        "result must be fitted freely, without a penalty or constraints",
    ),
    *(
        (_statsmodels(fit), ValueError, "result must be fitted freely, without a penalty")
        for fit in (
            lambda sm, x: sm.OLS(Y, x).fit_regularized(alpha=1e-4),
            lambda sm, x: sm.OLS(Y, x).fit_regularized(alpha=1e-4, refit=True),
            lambda sm, x: sm.Logit(BITS, x).fit_regularized(alpha=0.5, disp=0),
        )
    ),
    (
        _statsmodels(lambda sm, x: sm.GLM(Y, x, freq_weights=np.full(N, 2)).fit()),
        ValueError,
        "result must be made of single rows, not of rows with frequencies",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "message"), REFUSED, ids=[row[-1][-40:] for row in REFUSED]
)
def test_other_results_are_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


BREAST = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "model",
    [
        linear_model.LinearRegression(),
        linear_model.Ridge(),
        linear_model.Ridge(solver="lsqr"),
        linear_model.LogisticRegression(),
        linear_model.LogisticRegression(C=0.1),
        linear_model.LogisticRegression(solver="newton-cg"),
        linear_model.LogisticRegression(solver="newton-cholesky"),
        linear_model.LogisticRegression(solver="liblinear"),
    ],
)
def test_weighted_fits_are_refused_and_the_same_fits_without_weights_are_not(model, seed):
    table = (BREAST[0] - BREAST[0].mean(axis=0)) / BREAST[0].std(axis=0)
    rows = np.random.default_rng(seed).permutation(len(table))[:450]
    table, classes = table[rows], BREAST[1][rows]
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, 450)
    fair = influence_of(model.fit(table, classes), table, classes)
    assert fair.n == 450
    with pytest.raises(ValueError, match=r"Refit without sample_weight") as caught:
        influence_of(model.fit(table, classes, sample_weight=weights), table, classes)
    assert str(caught.value).startswith("result must solve the equations of a fit without weights")


def test_rows_dropped_by_statsmodels_are_not_renumbered_in_silence():
    pandas = pytest.importorskip("pandas")
    sm = pytest.importorskip("statsmodels.api")
    formula = pytest.importorskip("statsmodels.formula.api")
    frame = pandas.DataFrame({"a": X[:, 0], "y": Y})
    kept = formula.ols("y ~ a", frame).fit()
    assert influence_of(kept).n == N
    assert influence_of(sm.OLS(Y, sm.add_constant(X), missing="drop").fit()).n == N
    frame.loc[[3, 7], "a"] = np.nan
    design = sm.add_constant(frame[["a"]])
    message = (
        "result must keep all rows of its table; it dropped 2 with a missing value (row 3, 7). "
        "Drop them before the fit: the numbers of the rows are then those of your table"
    )
    for fitted in (
        formula.ols("y ~ a", frame).fit(),
        formula.glm("y ~ a", frame).fit(),
        sm.OLS(frame["y"], design, missing="drop").fit(),
        sm.OLS(Y, design.to_numpy(), missing="drop").fit(),
    ):
        with pytest.raises(ValueError, match="must keep all rows") as caught:
            influence_of(fitted)
        assert str(caught.value) == message
    frame["y"] = np.nan
    frame.loc[:20, "y"] = 1.0
    with pytest.raises(
        ValueError, match=r"dropped 61 with a missing value \(row 3, 7, 21 and 58 more"
    ):
        influence_of(formula.ols("y ~ a", frame).fit())


def test_rows_of_a_statsmodels_result_are_its_own():
    sm = pytest.importorskip("statsmodels.api")
    with pytest.raises(ValueError, match="X and y must be left out"):
        influence_of(sm.OLS(Y, X).fit(), X, Y)


def test_pipelines_are_told_what_to_pass():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fitted = make_pipeline(StandardScaler(), linear_model.Ridge()).fit(X, Y)
    match = "for a scaler pass the regression fitted to X without it; .* take joint_influence with"
    with pytest.raises(TypeError, match=match):
        influence_of(fitted, X, Y)


def test_neither_library_is_imported():
    code = "import sys, mialeak.estimators; print(*{n.split('.')[0] for n in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sklearn", "statsmodels", "pandas"} & set(done.stdout.split())


@pytest.mark.filterwarnings("ignore:.*rows are few for")
@pytest.mark.parametrize("constant", [1.0, -7.0])
def test_a_constant_column_beside_an_intercept_is_refused(constant):
    """Its coefficient is 0, and what rounding makes of that would count as a release."""
    rows = np.concatenate([X, np.full((N, 1), constant)], axis=1)
    message = "X must vary in every column beside an intercept; column 3 does not. Leave it out"
    ridge = linear_model.Ridge().fit(rows, Y)
    for call in (
        lambda: influence_of(ridge, rows, Y),
        lambda: least_squares_influence(rows, Y, penalty=0.1),
        lambda: logistic_influence(rows, BITS, penalty=[0.0, 0.0, 0.0, 0.1]),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call()
    free = least_squares_influence(rows, Y, penalty=0.1, fit_intercept=False)
    assert free.theta.size == 4
    nothing = np.concatenate([X, np.zeros((N, 1))], axis=1)  # a category that no row has
    expected = least_squares_influence(X, Y, penalty=0.1).leakage_scores()
    found = least_squares_influence(nothing, Y, penalty=0.1).leakage_scores()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*rows are few for")
def test_all_categories_of_a_column_beside_an_intercept_are_as_if_rotated():
    group = np.eye(3)[np.arange(N) % 3]
    turn = np.linalg.qr(np.column_stack([np.ones(3), [1.0, 0.0, -1.0], [1.0, 2.0, 5.0]]))[0]
    for fit, y in ((least_squares_influence, Y), (logistic_influence, BITS)):
        dummies, rotated = (
            fit(np.concatenate([X, columns], axis=1), y, penalty=0.5).leakage_scores()
            for columns in (group, (group @ turn)[:, 1:])
        )
        np.testing.assert_allclose(dummies, rotated, rtol=1e-9)


class TestCopies:
    """Rows that are in the table several times, which count as so many persons."""

    @staticmethod
    def table(n, seed=3):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.normal(size=n).round(2), rng.integers(0, 2, n)])
        return X, X @ [1.0, 2.0] + rng.normal(size=n).round(2)

    @pytest.mark.parametrize("kind", ["sklearn", "statsmodels", "direct"])
    def test_persons_in_the_table_twice_are_named(self, kind):
        X, y = self.table(60)
        X, y = np.concatenate([X, X[:30]]), np.concatenate([y, y[:30]])
        calls = {
            "sklearn": lambda: influence_of(linear_model.LinearRegression().fit(X, y), X, y),
            "statsmodels": lambda: influence_of(
                pytest.importorskip("statsmodels.api").OLS(y, np.c_[np.ones(90), X]).fit()
            ),
            "direct": lambda: least_squares_influence(X, y),
        }
        match = "30 of 90 rows of X and y are equal .* with 2 rows is 2 to 4 times that of one"
        with pytest.warns(UserWarning, match=match):
            calls[kind]()

    def test_a_table_of_few_values_that_is_there_twice_is_named(self):
        rng = np.random.default_rng(1)
        X = rng.integers(0, 9, (70, 3)).astype(float)
        y = (rng.random(70) < 0.5).astype(float)
        X, y = np.tile(X, (3, 1)), np.tile(y, 3)
        with pytest.warns(
            UserWarning, match="141 of 210 rows .* a person with 3 rows is 3 to 9 times"
        ):
            logistic_influence(X, y)

    @pytest.mark.parametrize("copies", [2, 3])
    def test_copies_among_the_rows_of_other_estimates_are_named(self, copies):
        rng = np.random.default_rng(4)
        rows = np.repeat(rng.normal(size=(30, 2)), copies, axis=0)
        centre = rows.mean(axis=0)
        calls = [
            lambda: variance_influence(rows),
            lambda: quantile_influence(rows + 1e-9 * rng.random(2)),
            lambda: z_estimator(lambda x, t: x - t, lambda x, t: -np.eye(2), rows, centre),
        ]
        match = f" of {30 * copies} rows .* with {copies} rows is {copies} to {copies**2} times"
        for call in calls:
            with pytest.warns(UserWarning, match=match):
                call()
        with pytest.warns(UserWarning, match="Each of 30 different rows occurs"):
            mean_influence(rows)

    def test_answers_that_agree_by_chance_are_not_named(self):
        answers = np.random.default_rng(5).integers(0, 3, (400, 2)).astype(float)
        for X in (answers, answers[:, :1], np.repeat([0.0, 1.0], 50), np.repeat(answers[:4], 6, 0)):
            mean_influence(X)
            centre = np.atleast_2d(X.T).mean(axis=1)
            rows = X.reshape(len(X), -1)
            width = centre.size
            z_estimator(lambda x, t: x - t, lambda x, t, w=width: -np.eye(w), rows, centre)

    def test_rows_that_agree_by_chance_are_not_named(self):
        rng = np.random.default_rng(2)
        X = rng.integers(0, 3, (200, 2)).astype(float)
        logistic_influence(X, (rng.random(200) < 0.5).astype(float))
        X, y = self.table(400)  # some rows of a rounded table agree
        X[7], y[7] = X[3], y[3]
        least_squares_influence(X, y)

    def test_dependent_columns_of_few_values_are_not_named(self):
        rng = np.random.default_rng(4)
        age = rng.integers(20, 70, 3000)
        height = np.round(170 + 0.3 * (age - 45) + rng.normal(0, 4, 3000))
        least_squares_influence(age[:, None].astype(float), height)

    def test_a_person_with_two_rows_leaks_two_to_four_times_as_much(self):
        X, y = self.table(500)
        pairs = np.concatenate([X, X]), np.concatenate([y, y])
        with pytest.warns(UserWarning, match="500 of 1,000 rows"):
            of_row = least_squares_influence(*pairs).leakage_scores()[:500]
        of_person = least_squares_influence(X, y).leakage_scores()  # the same estimate
        np.testing.assert_allclose(of_person / of_row, 2.0, rtol=0.06)
        # One person alone twice: the estimate moves by two rows.
        once = least_squares_influence(X, y)
        others = least_squares_influence(X[1:], y[1:])
        twice = least_squares_influence(np.concatenate([X, X[:1]]), np.concatenate([y, y[:1]]))
        move = twice.theta - others.theta
        spread = np.linalg.inv(others.covariance / 500)
        of_one = float(once.leakage_scores()[0])
        assert float(move @ spread @ move) / of_one == pytest.approx(4.0, rel=0.06)
