"""Rows of regressions that are no persons, and columns that were computed from all rows."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from mialeak.estimators import (
    InfluenceFunctions,
    influence_of,
    joint_influence,
    mean_influence,
    variance_influence,
)

pd = pytest.importorskip("pandas")
sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")

RNG = np.random.default_rng(31)
N = 60
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "z": RNG.gamma(2.0, size=N),
        "bit": RNG.random(N) < 0.5,
        "town": RNG.choice(list("abc"), N),
        "team": RNG.permutation(np.repeat(np.arange(N // 3), 3)),
        "n": RNG.integers(2, 40, N),
    }
)
TABLE["y"] = 1.0 + TABLE["x"] + RNG.normal(size=N)
TABLE["bit"] = TABLE["bit"].astype(int)
TABLE["yes"] = RNG.binomial(TABLE["n"], 0.4)
TABLE["no"] = TABLE["n"] - TABLE["yes"]
TABLE["share"] = TABLE["yes"] / TABLE["n"]
BINOMIAL, POISSON = sm.families.Binomial(), sm.families.Poisson()


def groups():
    return smf.glm("yes + no ~ x", TABLE, family=BINOMIAL).fit()


def thirds(column):
    """Thirds of a column, by edges that are computed from it."""
    return np.digitize(column, np.sort(column.to_numpy())[:: len(column) // 3])


REFUSED = [
    (groups, "its rows are groups: their responses are successes in as many as 38 trials"),
    (
        lambda: smf.glm("share ~ x", TABLE, family=BINOMIAL, var_weights=TABLE["n"]).fit(),
        "Fit a row for each trial, with a response of 0 or 1",
    ),
    *(
        (lambda formula=formula: smf.ols(formula, TABLE).fit(), says)
        for formula, says in (
            ("y ~ center(x)", "'center(x)' is computed from all rows"),
            ("y ~ z + standardize(x)", "'standardize(x)' is computed from all rows"),
            ("y ~ scale(x):z", "'scale(x)' is computed from all rows"),
            ("center(y) ~ x", "'center(y)' is computed from all rows"),
            ("y ~ I(x - x.mean())", "'I(x - x.mean())' is computed from all rows"),
            ("y ~ I(x - np.mean(x))", "'I(x - np.mean(x))' is computed from all rows"),
            ("y ~ C(pd.qcut(x, 4))", "'C(pd.qcut(x, 4))' is computed from all rows"),
            ("y ~ z + pd.qcut(x, 3, labels=False)", "edges and constants that do not come from"),
            ("y ~ pd.cut(x, 4)", "'pd.cut(x, 4)' is computed from all rows"),
            ("y ~ x.groupby(town).transform('mean')", "is computed from all rows"),
            ("y ~ town.map(town.value_counts())", "is computed from all rows"),
            ("y ~ np.searchsorted(np.sort(x), x)", "is computed from all rows"),
            ("y ~ x.shift(1).fillna(0.0)", "'x.shift(1).fillna(0.0)' is computed from all rows"),
            ("y ~ z + thirds(x)", "'thirds(x)' is computed from all rows"),
            ("np.digitize(y, np.sort(y)) ~ x", "is computed from all rows"),
            ("y ~ bs(x, df=5)", "Pass knots, lower_bound and upper_bound that do not come from"),
            ("y ~ cr(x, df=4)", "Pass knots, lower_bound and upper_bound that do not come from"),
        )
    ),
]


@pytest.mark.parametrize(("fit", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_rows_of_groups_and_columns_of_all_rows_are_refused(fit, says):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit()
    with pytest.raises(ValueError, match=re.escape(says)):
        influence_of(fitted)


OUTSIDE = RNG.normal(size=N)


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ pd.cut(x, [-9, 0, 9]) * C(town, Treatment('b'))",
        "np.log(y - y + 2 + x**2) ~ np.exp(z) + I(x**2) + (x > 0) + town:bit",
        "y ~ x + OUTSIDE + I(x * OUTSIDE)",
        "y ~ bs(x, knots=[0.0], degree=2, lower_bound=-9, upper_bound=9)",
        "y ~ town.astype(str) + np.where(town == 'a', x, 0.0)",
        "y ~ half * x",
    ],
)
def test_columns_that_are_computed_row_by_row_are_taken(formula):
    """Also with arrays from outside of the table, which do not follow its halves."""
    table = TABLE.assign(half=pd.Categorical(np.where(np.arange(N) % 2, "odd", "even")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        influence_of(smf.ols(formula, table).fit())


def test_columns_that_formulaic_computes_from_all_rows_are_refused():
    pytest.importorskip("formulaic")
    options = pytest.importorskip("statsmodels.formula").options
    before, options.formula_engine = options.formula_engine, "formulaic"
    try:
        for formula in ("y ~ center(x)", "y ~ poly(x, 2)", "y ~ z + scale(x)", "y ~ bs(x, df=5)"):
            with pytest.raises(ValueError, match="is computed from all rows"):
                influence_of(smf.ols(formula, TABLE).fit())
        fixed = "y ~ bs(x, knots=[0.0], lower_bound=-9, upper_bound=9) + z"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = smf.ols(fixed, TABLE).fit()
        assert fitted.params.size == 6
        influence_of(smf.ols("y ~ x + C(town)", TABLE).fit())
        influence_of(smf.ols("y ~ pd.cut(x, [-9, 0, 9]) * np.exp(z)", TABLE).fit())
        with pytest.raises(ValueError, match=r"'pd.qcut\(x, 4\)' is computed from all rows"):
            influence_of(smf.ols("y ~ town + pd.qcut(x, 4)", TABLE).fit())
    finally:
        options.formula_engine = before


NAMED = [
    (
        lambda: smf.wls("share ~ x", TABLE, weights=TABLE["n"]).fit(),
        "weights are whole numbers up to 38: where a row is the mean, or the count, of so many",
    ),
    (
        lambda: smf.glm("y ~ x", TABLE, var_weights=TABLE["n"]).fit(),
        "var_weights are whole numbers up to 38",
    ),
    (
        lambda: smf.glm("yes ~ x", TABLE, family=POISSON, exposure=TABLE["n"]).fit(),
        "exposures are whole numbers up to 38",
    ),
    (
        lambda: smf.glm("yes ~ x", TABLE, family=POISSON, offset=np.log(TABLE["n"])).fit(),
        "offsets are whole numbers up to 38",
    ),
    (
        lambda: smf.poisson("yes ~ x", TABLE, exposure=TABLE["n"]).fit(disp=0),
        "exposures are whole numbers up to 38",
    ),
    (
        lambda: smf.glm("share ~ x", TABLE, family=BINOMIAL).fit(),
        "responses lie between 0 and 1: where they are proportions of groups, a row is no person",
    ),
    (
        lambda: smf.ols("y ~ x", TABLE).fit(cov_type="cluster", cov_kwds={"groups": TABLE["team"]}),
        "The standard errors are those of 20 groups, and each of 60 rows counts as a person",
    ),
    (
        lambda: smf.ols("y ~ x", TABLE, subset=TABLE.index > 10).fit(),
        "row 0 here is the one with the label 11",
    ),
    (
        lambda: smf.ols("y ~ x", TABLE, subset=TABLE.index != 7).fit(),
        "row 7 here is the one with the label 8",
    ),
]


@pytest.mark.parametrize(("fit", "says"), NAMED, ids=[says for _, says in NAMED])
def test_rows_that_may_be_no_persons_are_named(fit, says):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit()
    with pytest.warns(UserWarning, match=re.escape(says)) as caught:
        assert influence_of(fitted).n == fitted.model.exog.shape[0]
    assert [each.filename for each in caught] == [__file__]


def test_rows_of_persons_have_no_warning():
    """Of any labels, functions of their own row, weights that are no numbers of persons."""
    frames = [TABLE, TABLE.set_axis(range(1, N + 1)), TABLE.sample(frac=1.0, random_state=1)]
    frames += [TABLE.set_axis([f"p{k}" for k in range(N)]), TABLE.sort_values("x")]
    for frame in frames:
        influence_of(smf.ols("y ~ x + np.log(z) + C(town)", frame).fit())
    years = TABLE["z"] + 0.1
    fits = [
        smf.glm("bit ~ x", TABLE, family=BINOMIAL).fit(),
        smf.glm("yes ~ x", TABLE, family=POISSON, exposure=years).fit(),
        smf.glm("yes ~ x", TABLE, family=POISSON).fit(),
        smf.glm("yes ~ x", TABLE, family=POISSON, exposure=np.full(N, 2.0)).fit(),
        smf.wls("y ~ x", TABLE, weights=1.0 / years).fit(),
        smf.wls("y ~ x", TABLE, weights=np.ones(N)).fit(),
        smf.ols("y ~ x", TABLE).fit(cov_type="HC3"),
        smf.ols("y ~ x", TABLE).fit(cov_type="cluster", cov_kwds={"groups": np.arange(N)}),
        sm.GLM(np.stack([TABLE["bit"], 1 - TABLE["bit"]], 1), TABLE[["x"]], family=BINOMIAL).fit(),
        smf.ols("y ~ bs(x, knots=[0.0], lower_bound=-9, upper_bound=9) + z", TABLE).fit(),
        smf.ols("y ~ I(x / 2) + I(z ** 2)", TABLE).fit(),
    ]
    for fitted in fits:
        assert influence_of(fitted).n == N


def test_the_cure_of_clustered_errors_gives_their_covariance():
    """Sums of influence by person have the covariance that statsmodels clusters, uncorrected."""
    fitted = smf.ols("y ~ x", TABLE).fit(
        cov_type="cluster", cov_kwds={"groups": TABLE["team"], "use_correction": False}
    )
    with pytest.warns(UserWarning, match=r"times 20 / 60, and pass theta and these sums"):
        rows = influence_of(fitted)
    sums = np.zeros((20, 2))
    np.add.at(sums, TABLE["team"].to_numpy(), rows.influence * 20 / 60)
    persons = InfluenceFunctions(rows.theta, sums)
    covariance = persons.influence.T @ persons.influence / 20**2
    np.testing.assert_allclose(covariance, fitted.cov_params(), rtol=1e-8)


class TestStandardColumns:
    """Columns that a scaler standardised by the rows of the fit."""

    @staticmethod
    def scaled(X, ddof=0):
        return (X - X.mean(axis=0)) / X.std(axis=0, ddof=ddof)

    @pytest.mark.parametrize("kind", ["sklearn", "sklearn of pandas", "statsmodels", "logistic"])
    def test_they_are_named(self, kind):
        linear_model = pytest.importorskip("sklearn.linear_model")
        X, y = TABLE[["x", "z"]].to_numpy(), TABLE["y"].to_numpy()
        Z = self.scaled(X, ddof="pandas" in kind)
        calls = {
            "logistic": lambda: influence_of(
                linear_model.LogisticRegression(tol=1e-8).fit(Z, TABLE["bit"]), Z, TABLE["bit"]
            ),
            "statsmodels": lambda: influence_of(sm.OLS(y, sm.add_constant(Z)).fit()),
        }
        plain = lambda: influence_of(linear_model.LinearRegression().fit(Z, y), Z, y)  # noqa: E731
        match = r"2 of \d columns of X and y \(column . 1\) have mean 0 .* by these rows".replace(
            ". 1", r"\d, \d"
        )
        with pytest.warns(UserWarning, match=match) as caught:
            calls.get(kind, plain)()
        assert [each.filename for each in caught] == [__file__]

    def test_other_columns_are_not(self):
        """Of designs, standardised by other rows, and only nearly so."""
        linear_model = pytest.importorskip("sklearn.linear_model")
        y = TABLE["y"].to_numpy()
        X = TABLE[["x", "z"]].to_numpy()
        design = np.stack([np.tile([1.0, -1.0], N // 2), np.repeat([1.0, -1.0], N // 2)], 1)
        for Z in (X, design, (X - X[:40].mean(0)) / X[:40].std(0), self.scaled(X).round(4)):
            influence_of(linear_model.LinearRegression().fit(Z, y), Z, y)

    def test_the_cure_is_the_influence_of_all_that_a_pipeline_publishes(self):
        """Against the jackknife of coefficients, means and deviations, refitted without each row.

        Raw coefficients, means and variances are a one-to-one function of these.
        """
        linear_model = pytest.importorskip("sklearn.linear_model")
        X, y = TABLE[["x", "z"]].to_numpy(), TABLE["y"].to_numpy()

        def pipeline(kept):
            Z = np.column_stack([np.ones(kept.sum()), self.scaled(X[kept])])
            coefficients = np.linalg.lstsq(Z, y[kept], rcond=None)[0]
            return np.concatenate([coefficients, X[kept].mean(axis=0), X[kept].std(axis=0)])

        published = np.array([pipeline(np.arange(N) != k) for k in range(N)])
        moves = published.mean(axis=0) - published
        whole = np.einsum("ij,jk,ik->i", moves, np.linalg.inv(moves.T @ moves), moves)
        fit = influence_of(linear_model.LinearRegression().fit(X, y), X, y)
        joint = joint_influence(fit, mean_influence(X), variance_influence(X))
        ours, alone = joint.influence, fit.influence
        got, short = (
            np.einsum("ij,jk,ik->i", each, np.linalg.inv(each.T @ each), each)
            for each in (ours, alone)
        )
        # The jackknife is off by the order of a row's leverage.
        assert np.abs(got - whole).max() < 0.15 * whole.max()
        assert np.abs(got - whole).mean() < 0.05 * whole.mean()
        assert np.abs(short - whole).mean() > 0.3 * whole.mean()
