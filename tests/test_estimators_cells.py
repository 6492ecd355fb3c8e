"""Regressions whose rows are cells of a table of counts, or studies; and those of persons."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

from mialeak import influence_of

sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")
RNG = np.random.default_rng(14)
CELLS = pd.DataFrame(
    list(itertools.product(["1st", "2nd", "3rd"], "fm", ["child", "adult"])),
    columns=["class", "sex", "age"],
)
CELLS["n"] = RNG.integers(3, 90, len(CELLS))
CELLS.insert(0, "row", range(len(CELLS)))


def silently(fitted):
    """The influence functions of a fit, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return influence_of(fitted)


@pytest.mark.parametrize("right", ["sex", "sex + age", "Q('class') + sex + age"])
def test_counts_of_cells_have_a_warning(right):
    """Whether the model has all categories or some."""
    for fitted in (
        smf.glm(f"n ~ {right}", CELLS, family=sm.families.Poisson()).fit(),
        smf.poisson(f"n ~ {right}", CELLS).fit(disp=0),
    ):
        with pytest.warns(UserWarning, match="'class', 'sex', 'age' has one row, as cells of a"):
            influence_of(fitted)


@pytest.mark.parametrize("name", ["Freq", "ncases", "deaths", "n"])
def test_responses_with_the_name_of_numbers_of_persons_have_a_warning(name):
    """Of areas, or of cells where an empty one has no row; small ones may be of a person."""
    areas = pd.DataFrame({"x": RNG.normal(size=40), name: 5 + RNG.poisson(12.0, 40)})
    for fitted in (
        smf.poisson(f"{name} ~ x", areas).fit(disp=0),
        smf.ols(f"{name} ~ x", areas).fit(),
    ):
        with pytest.warns(UserWarning, match=f"responses '{name}' have the name of counts of pers"):
            influence_of(fitted)
    for silent in (areas.rename(columns={name: "visits"}), areas.rename(columns={name: "number"})):
        silently(smf.poisson(f"{silent.columns[1]} ~ x", silent).fit(disp=0))
    areas[name] = RNG.poisson(1.0, 40).clip(max=9)
    silently(smf.poisson(f"{name} ~ x", areas).fit(disp=0))


@pytest.mark.parametrize("rows", [16, 60])
def test_counts_of_persons_have_none(rows):
    """Of patients in two arms, as many in each, with repeated and with different ages."""
    people = pd.DataFrame(
        {
            "arm": ["a", "b"] * (rows // 2),
            "site": RNG.choice(list("xyz"), rows),
            "age": RNG.integers(20, 60, rows),
            "visits": RNG.poisson(4.0, rows),
        }
    )
    for right in ("arm", "arm + site", "arm + age"):
        silently(smf.glm(f"visits ~ {right}", people, family=sm.families.Poisson()).fit())


def test_columns_that_the_model_leaves_out_decide_nothing():
    """Of cells, a label or a share beside; of persons, columns that hold no single values."""
    more = CELLS.assign(label="x", share=RNG.random(len(CELLS)).round(1))
    fitted = smf.glm("n ~ Q('class') + sex + age", more, family=sm.families.Poisson()).fit()
    with pytest.warns(UserWarning, match="'class', 'sex', 'age' has one row, as cells of a"):
        influence_of(fitted)
    people = pd.DataFrame({"arm": RNG.permutation(30) % 2, "visits": RNG.poisson(4.0, 30)})
    people["diary"] = [[1]] * 30
    people["mixed"] = [1, "x"] * 15
    for options in ({}, {"copies": people["arm"]}):
        people = people.assign(**options)
        silently(smf.glm("visits ~ arm", people, family=sm.families.Poisson()).fit())


def test_visits_of_patients_are_no_cells():
    """Each in as many periods: they are persons with several rows, which has its own warning."""
    grid = list(itertools.product(range(59), range(4)))
    trial = pd.DataFrame(grid, columns=["subject", "period"])
    trial["seizures"] = RNG.poisson(8.0, len(trial))
    with pytest.warns(UserWarning, match="Column 'subject'") as caught:
        influence_of(smf.poisson("seizures ~ C(period)", trial).fit(disp=0))
    assert len(caught) == 1


@pytest.mark.parametrize("n", [20, 50])
def test_weights_by_a_law_of_the_variance_have_none(n):
    x = RNG.uniform(1.0, 10.0, n)
    y = 2.0 * x + x * RNG.normal(size=n)
    silently(sm.WLS(y, sm.add_constant(x), weights=1.0 / x**2).fit())


@pytest.mark.parametrize(
    ("n", "factor", "is_named"), [(12, 40.0, True), (12, 3.0, False), (400, 40.0, False)]
)
def test_few_rows_of_very_different_weights_have_a_warning(n, factor, is_named):
    """Of studies by their precision; not of many persons, or of weights that are alike."""
    error = RNG.uniform(1.0, factor**0.5, n)
    error[:2] = 1.0, factor**0.5
    fitted = sm.WLS(RNG.normal(0.3, error), np.ones(n), weights=1.0 / error**2).fit()
    if is_named:
        with pytest.warns(UserWarning, match=r"12 rows have weights from .* it is no person"):
            influence_of(fitted)
    else:
        silently(fitted)
