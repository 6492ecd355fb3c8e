"""Pictures of a change: people by leakage before and after, leakage by information lost."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.plotting import ChangeDisplay
from mialeak.tables import plan_recoding

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def plan():
    return plan_recoding(load_adult().columns, ["age", "education", "sex"], 0.02)


def test_the_bars_are_the_shares_of_the_people():
    ax = Figure().subplots()
    rows = np.array([0.005, 0.02, 0.02, 0.3, 0.3, 0.3, 0.9, 0.04])
    cells = (np.array([0.005, 0.06]), np.array([3, 1]))
    display = ChangeDisplay.from_classes({"before": rows, "after": cells}, ax=ax)
    heights = [[bar.get_height() for bar in bars] for bars in display.artists_]
    assert heights[0] == pytest.approx([12.5, 37.5, 0, 0, 37.5, 12.5])
    assert heights[1] == pytest.approx([75, 0, 25, 0, 0, 0])
    assert display.title == "Leakage above 0.5: 12.5% of the people before, 0.0% after"
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["up to 0.01", "to 0.05", "to 0.1", "to 0.25", "to 0.5", "above 0.5"]
    colours = {bars[0].get_facecolor() for bars in display.artists_}
    assert len(colours) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]


def test_the_curve_of_a_plan_is_drawn_with_its_limit(plan):
    display = ChangeDisplay.from_plan(plan, ax=Figure().subplots())
    x, y = display.artists_[0].get_data()
    assert np.array_equal(x, 100 * (plan.curve_lost / plan.total))
    assert np.array_equal(y, plan.curve_leakage)
    cost = plan.lost / plan.total
    assert display.title == f"A leakage of at most 0.02 costs {cost:.0%} of the information"
    assert display.ax_.get_xlabel() == "Information lost (%)"


def test_a_plan_has_the_people_of_both_tables(plan):
    for (leakage, people), estimate in (
        (plan.cells_before, plan.before),
        (plan.cells_after, plan.after),
    ):
        assert people.sum() == 32_561
        assert leakage @ people / people.sum() == pytest.approx(estimate.value, abs=0.02)


def test_a_page_with_a_plan_has_four_pictures(tmp_path, capsys):
    page = tmp_path / "page.html"
    table = ["table", "--example", "adult", "--columns", "age,sex", "--plan", "0.01"]
    assert main([*table, "--html", str(page)]) == 0
    text = page.read_text()
    assert text.count("<img") == 4
    assert "Share of the people by leakage, before and after recoding." in text
    assert "Cheapest recoding for a leakage of at most 0.01" in text
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("leakage", "options", "message"),
    [
        ({}, {}, "leakage must hold at least one name"),
        ({"a": []}, {}, r"leakage\['a'\] must have at least one element"),
        ({"a": [1.5]}, {}, r"leakage\['a'\] must be between 0 and 1"),
        ({"a": [0.5]}, {"edges": [0.5, 0.1]}, "edges must rise"),
        ({"a": [0.5]}, {"edges": [2.0]}, "edges must be between 0 and 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(leakage, options, message):
    with pytest.raises(ValueError, match=message):
        ChangeDisplay.from_classes(leakage, **options)


def test_a_page_with_protections_has_the_people_by_leakage(tmp_path, capsys):
    page = tmp_path / "page.html"
    table = ["table", "--example", "adult", "--columns", "age,sex", "--protect", "round:5"]
    assert main([*table, "--html", str(page)]) == 0
    assert page.read_text().count("<img") == 3
    assert "Share of the people by leakage, unprotected and protected." in page.read_text()
    assert capsys.readouterr().err == ""
