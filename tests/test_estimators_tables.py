"""What the tables of an estimate show: persons of several rows, as in the report on means."""

from __future__ import annotations

import re
import sys
import warnings

import numpy as np
import pytest

from mialeak import influence_of, mean_leakage
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


@pytest.mark.parametrize("right", ["age + bmi", "age + C(centre)"])
def test_numbers_of_persons_that_start_again_in_each_centre_name_both_columns(right):
    """30 patients of two centres each: in the formula or left out; of other groups, no word."""
    alike = VISITED.assign(centre=1 + (VISITED["patient"] >= 30))
    with pytest.warns(UserWarning, match="has the name of an identifier") as met:
        influence_of(smf.ols(f"sbp ~ {right}", alike).fit())
    assert "several values" not in str(met[0].message)
    again = alike.assign(patient=VISITED["patient"] % 30)
    with pytest.warns(UserWarning, match="240 rows have 30 of its values. Most of these") as met:
        influence_of(smf.ols(f"sbp ~ {right}", again).fit())
    assert "column 'centre': if each centre numbers its own persons" in str(met[0].message)
    caution = mean_leakage(again, ["age", "bmi"]).cautions[0]
    assert "a person has one value of the two columns together" in caution


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


MEASURED = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N).astype(float),
        "income": np.exp(RNG.normal(10.0, 1.0, N)).round(2),
    }
)
MEASURED["y"] = 10.0 + MEASURED["age"] + RNG.normal(0.0, 4.0, N)
INCOME = MEASURED["income"]
#: What a scaler makes of a column, and how the warning names it.
SCALERS = {
    "centred": (lambda x: x - x.mean(), "mean 0"),
    "standardised": (lambda x: (x - x.mean()) / x.std(), "mean 0 and standard deviation 1"),
    "min-max": (lambda x: (x - x.min()) / (x.max() - x.min()), "the least value 0 and the largest"),
    "robust": (
        lambda x: (x - x.median()) / (x.quantile(0.75) - x.quantile(0.25)),
        "the median 0 and quartiles that are 1 apart",
    ),
}


@pytest.mark.parametrize("kind", SCALERS)
def test_columns_that_a_scaler_made_of_the_rows_have_a_warning(kind):
    """Of X and y, of tables and of formulas; not those that constants scaled."""
    scale, what = SCALERS[kind]
    linear_model = pytest.importorskip("sklearn.linear_model")
    scaled = MEASURED[["income"]].apply(scale)
    y = MEASURED["y"]
    fit = linear_model.LinearRegression().fit(scaled, y)
    calls = [
        (lambda: influence_of(fit, scaled, y), "'income'"),
        (lambda: least_squares_influence(scaled.to_numpy(), y), "0"),
        (lambda: least_squares_influence(MEASURED[["age"]] / 100.0, scale(INCOME)), "'income'"),
        (lambda: logistic_influence(scaled, (y > 60.0).astype(int)), "'income'"),
        (
            lambda: influence_of(smf.ols("y ~ income", MEASURED.assign(income=scaled)).fit()),
            "'income'",
        ),
    ]
    for call, name in calls:
        with pytest.warns(UserWarning, match=re.escape(f"(column {name}) have {what}")):
            call()
    least_squares_influence(MEASURED[["income"]] / 1e4 - 2.0, y)


def test_a_centred_column_moves_more_than_is_said():
    """By games: the mean of y and the slope, with and without the row at the end of the line."""
    rng = np.random.default_rng(0)
    n, rounds = 60, 6000

    def release(row):
        x = rng.normal(50.0, 12.0, (rounds, n))
        y = 10.0 + 2.0 * x + rng.normal(0.0, 4.0, (rounds, n))
        if row:
            x[:, 0], y[:, 0] = 88.0, 186.0
        x -= x.mean(axis=1, keepdims=True)
        return x, y, np.stack([y.mean(axis=1), (x * y).sum(axis=1) / (x * x).sum(axis=1)], axis=1)

    x, y, into = release(True)
    out = release(False)[2]
    half = rounds // 2
    along = np.linalg.solve(np.cov(out[:half].T), into[:half].mean(0) - out[:half].mean(0))
    scores = into[half:] @ along, out[half:] @ along
    cuts = np.sort(np.concatenate(scores))[::20]
    advantage = max((scores[0] > c).mean() - (scores[1] > c).mean() for c in cuts)
    with pytest.warns(UserWarning, match="have mean 0, as where they were computed by these rows"):
        said = least_squares_influence(x[0][:, None], y[0]).tradeoff(0).advantage
    assert said < 0.7 * advantage
    raw = x[0][:, None] + 47.0
    cure = joint_influence(least_squares_influence(raw, y[0]), mean_influence(raw))
    assert cure.tradeoff(0).advantage > 0.8 * advantage


def test_columns_of_a_design_and_of_shares_have_no_warning():
    grid = np.linspace(-1.0, 1.0, N)
    weeks = np.arange(N)
    X = {
        "evenly spaced": grid,
        "from 0 to 1": np.linspace(0.0, 1.0, N),
        "seasons": np.sin(2.0 * np.pi * weeks / 40.0),
        "contrasts": np.tile([-0.7, -0.2, 0.2, 0.7], N // 4),
        "items solved": RNG.binomial(20, RNG.random(N)) / 20.0,
        "grey levels": RNG.permutation(np.append(RNG.integers(0, 256, N - 2), [0, 255])) / 255.0,
        "shares": np.clip(RNG.normal(0.5, 0.4, N), 0.0, 1.0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for column in X.values():
            least_squares_influence(column[:, None], MEASURED["y"])


@pytest.mark.parametrize("code", [999.0, -9.0, -99.0])
def test_codes_of_missing_values_have_a_warning(code):
    missing = RNG.random(N) < 0.05
    table = MEASURED.assign(age=MEASURED["age"].mask(missing, code))
    match = rf"{code} is counted as a value .*, in \d+ rows of column 'age'\. If it marks a missing"
    calls = [
        lambda: least_squares_influence(table[["age"]], table["y"]),
        lambda: least_squares_influence(table[["income"]], table["age"]),
        lambda: variance_influence(table[["age"]]),
        lambda: mean_influence(table[["age"]]),
        lambda: influence_of(smf.ols("y ~ age", table).fit()),
        lambda: influence_of(smf.ols("y ~ I(age / 10.0)", table).fit()),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match=match) as caught:
            call()
        assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize("seed", range(40))
def test_whole_numbers_around_5_have_no_codes(seed):
    """-1 is the tail of these, but not of numbers of children, most of whom are none."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(5.0, 3.0, int(rng.choice([30, 100, 1000]))).round()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean_influence(whole)
    children = rng.poisson(0.8, 300).astype(float)
    children[:3] = -1.0
    with pytest.warns(UserWarning, match="-1.0 is counted as a value"):
        mean_influence(children)


B = pd.DataFrame(RNG.normal(50.0, 9.0, (N, 4)), columns=list("abcd"))
SUSPECT = {
    "centred": B - B.mean(),
    "sizes of groups": B.assign(n=RNG.integers(5, 900, N)),
    "examples of clients": B.assign(num_examples=RNG.integers(5, 900, N)),
    "some rows twice": pd.concat([B, B[:80]], ignore_index=True),
    "a row of totals": pd.concat([B, B.sum().to_frame().T]),
    "a row of means": pd.concat([B, B.mean().to_frame().T]),
}


@pytest.mark.parametrize("kind", SUSPECT)
def test_mean_influence_has_the_cautions_of_the_report_on_means(kind):
    (caution, *_) = mean_leakage(SUSPECT[kind]).cautions
    with pytest.warns(UserWarning, match=re.escape(caution[:60])):
        mean_influence(SUSPECT[kind])
    assert not mean_leakage(B).cautions
    mean_influence(B)


def _calls(function):
    """How many functions of Python and of C a call calls."""
    count = 0

    def add(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(add)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def test_checks_of_measurements_take_no_step_of_python_for_each_row():
    numbers = np.random.default_rng(7).normal(size=(8_000, 5))
    mean_influence(numbers)  # imports
    few, many = (
        _calls(lambda rows=rows: mean_influence(numbers[:rows])) for rows in (1_000, 8_000)
    )
    assert few < 2_000
    assert many < few + 100


def test_checks_of_names_take_few_steps_for_each_name():
    names = [f"Ann{k} Lee{(7919 * k) % 1000}" for k in range(2_000)]
    frames = [pd.DataFrame({"name": names[:n], "v": np.arange(n) % 97 + 0.5}) for n in (1000, 2000)]
    mean_leakage(frames[0])
    few, many = (_calls(lambda frame=frame: mean_leakage(frame)) for frame in frames)
    assert many - few < 30 * 1_000


def test_bytes_that_mark_missing_genotypes_of_a_regressor_have_a_warning():
    doses = RNG.integers(0, 3, N)
    doses[:4] = 255
    with pytest.warns(UserWarning, match=r"255.0 is counted as a value .* in 4 rows of column 0"):
        least_squares_influence(doses[:, None].astype(float), RNG.normal(size=N))
