"""What the tables of an estimate show: persons of several rows, as in the report on means."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from mialeak import influence_of, mean_leakage
from mialeak.estimators import (
    InfluenceFunctions,
    least_squares_influence,
    logistic_influence,
    mean_influence,
    quantile_influence,
    variance_influence,
    z_estimator,
)

pd = pytest.importorskip("pandas")
sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")
RNG = np.random.default_rng(43)
PATIENTS, VISITS = 60, 4
N = PATIENTS * VISITS


def of_each(values):
    return np.repeat(values, VISITS)


VISITED = pd.DataFrame(
    {
        "patient": of_each(np.arange(PATIENTS)),
        "visit": np.tile(np.arange(VISITS), PATIENTS),
        "age": of_each(RNG.integers(20, 80, PATIENTS)).astype(float),
        "bmi": of_each(RNG.normal(27.0, 4.0, PATIENTS)) + RNG.normal(0.0, 0.3, N),
    }
)
VISITED["sbp"] = 100.0 + VISITED["age"] / 2.0 + of_each(RNG.normal(0.0, 9.0, PATIENTS))
VISITED["sbp"] += RNG.normal(0.0, 3.0, N)
VISITED["high"] = (VISITED["sbp"] > 125.0).astype(int)
INDEXED = VISITED.set_index("patient")
X, Y = INDEXED[["age", "bmi"]], INDEXED["sbp"]


def mean_of(rows):
    return z_estimator(lambda x, t: np.asarray(x) - t, lambda x, t: -np.eye(2), rows, rows.mean())


ESTIMATES = {
    "mean": lambda: mean_influence(X),
    "variance": lambda: variance_influence(X),
    "median": lambda: quantile_influence(INDEXED["bmi"]),
    "least squares": lambda: least_squares_influence(X, Y),
    "least squares of arrays": lambda: least_squares_influence(X.to_numpy(), Y),
    "logistic": lambda: logistic_influence(X, INDEXED["high"]),
    "equations": lambda: mean_of(X),
    "two levels": lambda: mean_influence(VISITED.set_index(["patient", "visit"])[["age", "bmi"]]),
    "fit of frames": lambda: influence_of(sm.OLS(Y, sm.add_constant(X)).fit()),
    "formula": lambda: influence_of(smf.ols("sbp ~ age + bmi", VISITED).fit()),
    "formula, index": lambda: influence_of(smf.ols("sbp ~ age + bmi", INDEXED).fit()),
    "formula of patients": lambda: influence_of(smf.ols("sbp ~ bmi + C(patient)", VISITED).fit()),
    "a regressor": lambda: least_squares_influence(VISITED[["patient", "age"]], VISITED["sbp"]),
}


@pytest.mark.parametrize("estimate", ESTIMATES.values(), ids=ESTIMATES)
def test_several_rows_of_a_person_have_a_warning(estimate):
    """Of an index, of a column that the model leaves out, and of one that it has."""
    match = r"Column 'patient'.* has the name of an identifier, and 240 rows have 60 of its values"
    with pytest.warns(UserWarning, match=match) as caught:
        assert estimate().n == N
    assert [each.filename for each in caught] == [__file__]
    assert any(re.search(match, each) for each in mean_leakage(INDEXED, ["age", "bmi"]).cautions)


def test_persons_under_another_name_are_known_by_their_rows():
    frame = VISITED.rename(columns={"patient": "code"})
    with pytest.warns(UserWarning, match="'code', which is left out, agree in column 'age'"):
        influence_of(smf.ols("sbp ~ age + bmi", frame).fit())


def test_the_cure_is_the_influence_of_a_person():
    """Against the jackknife: refits without each patient."""
    with pytest.warns(UserWarning, match="sum the rows of influence of each person"):
        rows = least_squares_influence(X, Y)
    sums = pd.DataFrame(rows.influence).groupby(X.index).sum().to_numpy() * PATIENTS / N
    persons = InfluenceFunctions(rows.theta, sums)
    design = np.column_stack([np.ones(N), X])
    without = [
        np.linalg.lstsq(design[kept], Y[kept], rcond=None)[0]
        for kept in (X.index != k for k in range(PATIENTS))
    ]
    moves = np.mean(without, axis=0) - without
    expected = np.einsum("ij,jk,ik->i", moves, np.linalg.inv(moves.T @ moves), moves)
    by_persons, by_rows = (
        np.einsum("ij,jk,ik->i", each, np.linalg.inv(each.T @ each), each)
        for each in (persons.influence, rows.influence)
    )
    np.testing.assert_allclose(by_persons, expected, atol=0.15 * expected.max())
    largest = pd.Series(by_rows).groupby(X.index).max()
    assert largest.mean() < 0.5 * expected.mean()


def test_rows_of_different_persons_have_no_warning():
    """Of numbers of persons, of clinics, of years, of parts that were joined, in any order."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    table["y"] = table["a"] + rng.normal(size=N)
    table["patient"] = rng.permutation(9 * N)[:N]
    table["clinic"] = rng.integers(0, 30, N)
    table["year"] = rng.integers(1990, 2020, N)
    table["town"] = rng.choice([f"town {k}" for k in range(25)], N)
    table["diary"] = [[1]] * N
    frames = [table.set_index(name) for name in ("patient", "clinic", "year", "town")]
    frames += [table, table.sample(frac=1.0, random_state=1), table.set_index(["clinic", "year"])]
    joined = pd.concat([table[:100], table[: N - 100]])
    frames += [joined[list("abc")].assign(y=rng.normal(size=N))]
    frames[-1][list("abc")] = rng.normal(size=(N, 3))
    frames += [table.set_axis([None, 1.5, *map(str, range(N - 2))])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for frame in frames:
            least_squares_influence(frame[["a", "b"]], frame["y"])
            mean_influence(frame[["a", "b"]])
            influence_of(smf.ols("y ~ a + b", frame).fit())
