"""Rows of estimates that go by their place have the order of the people, and of one another."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from mialeak import Release
from mialeak.estimators import (
    influence_of,
    joint_influence,
    least_squares_influence,
    logistic_influence,
    mean_influence,
    quantile_influence,
    variance_influence,
    z_estimator,
)

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.normal(size=60)})
PEOPLE["sex"] = RNG.choice(["f", "m"], 60)
PEOPLE["y"] = PEOPLE["a"] + RNG.normal(size=60)
PEOPLE["is_high"] = (PEOPLE["y"] > 0.0) * 1.0
MIXED = PEOPLE.sample(frac=1.0, random_state=1)


def of_statsmodels(rows):
    api = pytest.importorskip("statsmodels.api")
    return influence_of(api.OLS(rows["y"], api.add_constant(rows[["a"]])).fit())


ESTIMATES = {
    "means": lambda rows: mean_influence(rows[["b"]]),
    "variances": lambda rows: variance_influence(rows[["b"]]),
    "quantiles": lambda rows: quantile_influence(rows[["b"]]),
    "least squares": lambda rows: least_squares_influence(rows[["a"]], rows["y"]),
    "the response": lambda rows: least_squares_influence(rows[["a"]].to_numpy(), rows["y"]),
    "logistic": lambda rows: logistic_influence(rows[["a"]], rows["is_high"], penalty=1.0),
    "scikit-learn": lambda rows: influence_of(
        LinearRegression().fit(rows[["a"]], rows["y"]), rows[["a"]], rows["y"]
    ),
    "statsmodels": of_statsmodels,
    "an estimator": lambda rows: z_estimator(
        lambda x, t: x.to_numpy() - t, lambda x, t: -np.eye(1), rows[["b"]], [rows["b"].mean()]
    ),
}


@pytest.mark.parametrize("kind", ESTIMATES)
def test_an_estimate_has_the_order_of_the_people(kind):
    release = Release(PEOPLE)
    release.add_table(["sex"])
    mixed = ESTIMATES[kind](MIXED)
    words = r"fitted must have the rows of people in their order, where 0 is at 0; in the table of"
    with pytest.raises(ValueError, match=words):
        release.add_estimate(mixed)
    release.add_estimate(ESTIMATES[kind](PEOPLE))


@pytest.mark.parametrize("kind", ESTIMATES)
def test_parts_of_a_joint_estimate_have_one_order(kind):
    first = least_squares_influence(PEOPLE[["a"]], PEOPLE["y"])
    with pytest.raises(ValueError, match=r"parts must have the rows of parts\[0\] in their order"):
        joint_influence(first, ESTIMATES[kind](MIXED))
    joint = joint_influence(mean_influence(PEOPLE[["b"]].to_numpy()), ESTIMATES[kind](PEOPLE))
    with pytest.raises(ValueError, match=r"in parts\[1\]"):
        joint_influence(joint, mean_influence(MIXED[["a"]]))


def test_what_has_no_other_order_is_taken():
    """Numbers of rows that were counted anew, other names, and tables of no pandas."""
    expected = ESTIMATES["means"](PEOPLE).influence
    for rows in (
        PEOPLE[["b"]].to_numpy(),
        PEOPLE[["b"]].set_axis([f"p{k}" for k in range(60)]),
        PEOPLE[["b"]].set_axis(range(100, 160)),
        PEOPLE[["b"]].set_axis([0] * 60),
    ):
        release = Release(PEOPLE)
        release.add_estimate(mean_influence(rows))
        joint = joint_influence(ESTIMATES["variances"](PEOPLE), mean_influence(rows))
        np.testing.assert_allclose(joint.influence[:, 1:], expected, rtol=1e-12, atol=1e-15)
    release = Release(MIXED)
    release.add_estimate(ESTIMATES["means"](MIXED))
    release = Release(MIXED.reset_index(drop=True))
    release.add_estimate(ESTIMATES["means"](MIXED.reset_index(drop=True)))
    release = Release({name: MIXED[name].to_numpy() for name in MIXED})
    release.add_estimate(ESTIMATES["means"](MIXED))


@pytest.mark.parametrize("form", ["X", "means", "scaled", "a dict"])
def test_rows_in_another_order_show_by_their_values(form):
    """No index tells it of arrays: the leakage with the other outputs is that of wrong persons."""

    def add(rows):
        people = PEOPLE if form != "a dict" else {name: PEOPLE[name].tolist() for name in PEOPLE}
        release = Release(people)
        if form == "means":
            release.add_estimate(mean_influence(rows[["b"]].to_numpy()))
            return
        x, y = rows[["a", "b"]].to_numpy(), rows["y"].to_numpy()
        x = 10.0 - 2.5 * x if form == "scaled" else x
        release.add_estimate(LinearRegression().fit(x, y), x, y)

    add(PEOPLE)
    words = "the values of the people's '[ab]' in another order"
    for order in (MIXED, PEOPLE.sort_values("y")):
        with pytest.warns(UserWarning, match=words):
            add(order)


def test_rows_of_other_persons_show_by_the_names_of_their_columns():
    others = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.normal(size=60)})
    release = Release(PEOPLE)
    with pytest.warns(UserWarning, match="'a' of the rows of the estimate is unrelated to that of"):
        release.add_estimate(LinearRegression().fit(others, PEOPLE["y"]), others, PEOPLE["y"])
    # Logarithms, ranks and other columns of the same people are right.
    for rows in (np.exp(PEOPLE[["a"]]), PEOPLE[["a"]].rank(), others.rename(columns=str.upper)):
        release.add_estimate(LinearRegression().fit(rows, PEOPLE["y"]), rows, PEOPLE["y"])


def test_columns_of_the_same_numbers_by_design_have_no_order():
    """Numbers of rows, ranks of two measurements, and shares of two categories."""
    ranks = PEOPLE[["a", "b"]].rank()
    release = Release(PEOPLE.assign(rank=ranks["a"], number=range(60)))
    release.add_estimate(mean_influence(ranks[["b"]].to_numpy()))
    release.add_estimate(mean_influence(RNG.permutation(np.repeat([0.0, 1.0], 30))[:, None]))
