"""What each display draws: leakage, the change that a recoding makes, audits."""

from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

from mialeak import estimate_max_leakage, max_leakage
from mialeak._report.text import at_most
from mialeak._results import Bounds
from mialeak.auditing import audit
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.plotting import AuditDisplay, ChangeDisplay, LeakageDisplay
from mialeak.tables import plan_recoding
from mialeak.tradeoff import GaussianTradeOff

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

ROWS = np.array([0.2, 0.05, 0.9, 0.4])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


def rendered(display):
    """A picture that could be made, without a warning."""
    file = io.BytesIO()
    display.figure_.savefig(file, format="png")
    return file.getvalue().startswith(b"\x89PNG")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_rows_are_drawn_from_the_riskiest_to_the_safest(ax):
    display = LeakageDisplay.from_rows(ROWS, ax=ax)
    x, y = display.line_.get_data()
    assert np.array_equal(x, [0.25, 0.5, 0.75, 1.0])
    assert np.array_equal(y, [0.9, 0.4, 0.2, 0.05])
    assert display.line_.get_drawstyle() == "steps-pre"
    assert ax.get_ylabel() == "Leakage (advantage)"


def test_of_many_rows_some_are_drawn_and_the_ends_are_kept(ax):
    leakage = np.random.default_rng(4).uniform(size=100_000) ** 3
    x, y = LeakageDisplay.from_rows(leakage, ax=ax).line_.get_data()
    assert len(x) < 1000
    assert (x[0], x[-1]) == (1e-5, 1.0)
    assert (y[0], y[-1]) == (leakage.max(), leakage.min())
    for share, value in zip(x, y, strict=True):
        assert np.mean(leakage >= value) == pytest.approx(share, abs=1e-12)


def test_ranges_of_rows_are_a_band_below_the_line(ax):
    display = LeakageDisplay.from_rows(Bounds(ROWS / 2, ROWS), ax=ax, name="rows")
    assert np.array_equal(display.y, np.sort(ROWS)[::-1])
    assert np.array_equal(display.band.lower, np.sort(ROWS)[::-1] / 2)
    assert legend(ax) == ["rows", "range"]


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize(
    "leakage", [ROWS, np.zeros(3), np.full(5, 0.25), np.geomspace(1e-12, 1, 9)]
)
def test_every_row_is_in_the_histogram(ax, scale, leakage):
    display = LeakageDisplay.from_rows(leakage, style="histogram", bins=7, scale=scale, ax=ax)
    assert display.y.sum() == len(leakage)
    assert len(display.x) == len(display.y) + 1 == 8
    assert rendered(display)


def test_estimates_are_drawn_with_their_intervals(ax):
    sizes = [100, 1000]
    estimates = [estimate_max_leakage([30, 20, 9, 1, 1], n, confidence=0.9) for n in sizes]
    display = LeakageDisplay.from_sizes(sizes, estimates, ax=ax, name="estimate")
    assert np.array_equal(display.y, [each.value for each in estimates])
    assert np.array_equal(display.band.upper, [each.high for each in estimates])
    assert legend(ax) == ["estimate", "90% interval"]


def test_the_limit_is_drawn_once_and_within_view(ax):
    sizes = np.array([100, 1000, 10_000])
    leakage = max_leakage([0.5, 0.3, 0.2], sizes)
    first = LeakageDisplay.from_sizes(sizes, leakage, ax=ax, name="a", limit=1e-4)
    second = LeakageDisplay.from_sizes(sizes, leakage / 2, ax=ax, name="b", limit=1e-4)
    assert first.limit_ is second.limit_
    assert legend(ax) == ["a", "at most 0.0001", "b"]
    assert ax.get_ylim()[0] < 1e-4
    third = LeakageDisplay.from_sizes(sizes, leakage, ax=ax, limit=0.5)
    assert third.limit_ is not first.limit_


def test_a_log_axis_shows_four_decades_at_most(ax):
    LeakageDisplay.from_rows(np.geomspace(1e-30, 1.0, 50), ax=ax)
    low, high = ax.get_ylim()
    assert low >= 1e-5
    assert high > 1
    LeakageDisplay.from_rows(np.geomspace(1e-8, 1e-7, 50), ax=ax)
    assert ax.get_ylim()[0] < 1e-7
    assert ax.get_ylim()[1] == high


@pytest.mark.parametrize("leakage", [np.zeros(4), np.ones(4), np.array([0.3])])
def test_rows_that_leak_alike_can_be_drawn(leakage):
    assert rendered(LeakageDisplay.from_rows(leakage))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: LeakageDisplay.from_rows([0.1, np.nan]),
            "leakage must be between 0 and 1; got leakage[1] = nan. Leave the dropped rows out",
        ),
        (
            lambda: LeakageDisplay.from_rows([0.1, 1.5]),
            "leakage must be between 0 and 1; got leakage[1] = 1.5",
        ),
        (lambda: LeakageDisplay.from_rows([]), "leakage must have at least one element"),
        (
            lambda: LeakageDisplay.from_rows(ROWS, style="bars"),
            'style must be "sorted" or "histogram"; got style = \'bars\'',
        ),
        (
            lambda: LeakageDisplay.from_rows(Bounds(ROWS, ROWS), style="histogram"),
            "leakage must be one number a row for a histogram, not a range",
        ),
        (
            lambda: LeakageDisplay.from_rows(ROWS, style="histogram", bins=0),
            "bins must be between 1 and 2**53; got bins = 0",
        ),
        (
            lambda: LeakageDisplay.from_noise([0.0, 1.0], [0.2, 0.1]),
            "noise_std must be above 0 on a log scale; got noise_std[0] = 0.0",
        ),
        (
            lambda: LeakageDisplay.from_noise([-1.0, 1.0], [0.2, 0.1], scale="linear"),
            "noise_std must be at least 0; got noise_std[0] = -1.0",
        ),
        (
            lambda: LeakageDisplay.from_sizes([1, 2, 3], [0.2, 0.1]),
            "leakage must have as many elements as n; it has 2 and n 3",
        ),
    ],
)
def test_leakages_that_cannot_be_drawn_are_refused(call, message):
    with pytest.raises(ValueError, match="must") as caught:
        call()
    assert str(caught.value) == message
    assert plt.get_fignums() == []


def test_no_noise_has_a_place_on_the_linear_scale(ax):
    display = LeakageDisplay.from_noise([0.0, 1.0], [0.2, 0.1], scale="linear", ax=ax)
    assert display.line_.get_xdata()[0] == 0
    assert ax.get_xlabel() == "Standard deviation of the noise on the release"


@pytest.fixture
def result():
    rng = np.random.default_rng(0)
    return audit(rng.normal(1.5, 1, 400), rng.normal(0, 1, 300), delta=1e-3)


def test_the_curve_lies_in_its_band_and_the_theory_beside(result, ax):
    display = AuditDisplay.from_result(result, theory={"exact": GaussianTradeOff(1.5)}, ax=ax)
    measured, proved, exact = display.curves_
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert (measured.name, exact.name) == ("measured", "exact")
    assert tuple(measured.band) == tuple(result.band)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    low = (proved.fpr > 0) & (proved.fpr < 1e-2)
    epsilon = np.log((proved.power[low] - 1e-3) / proved.fpr[low])
    assert epsilon == pytest.approx(result.epsilon_lower, abs=1e-9)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "95% simultaneous band" in texts


def test_the_title_has_the_digits_of_the_answer(result, ax):
    AuditDisplay.from_result(result, ax=ax)
    assert ax.get_title() == f"epsilon at least {at_most(result.epsilon_lower)}"


def test_scores_of_both_worlds_are_counted(result, ax):
    AuditDisplay.from_result(result, kind="scores", scale="linear", ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["out (300)", "in (400)"]
    heights = [np.diff(patch.get_xy()[:, 0]) for patch in ax.patches]
    assert len(heights) == 2


def test_infinite_and_constant_scores_are_drawn(ax):
    result = audit([np.inf, 1.0, 1.0], [-np.inf, 1.0])
    AuditDisplay.from_result(result, kind="scores", ax=ax)
    display = AuditDisplay.from_result(result, ax=Figure().subplots(), scale="linear")
    assert len(display.curves_) == 1  # nothing is proved


def test_scores_may_be_audited_on_the_way(result):
    scores = result.scores
    display = AuditDisplay.from_scores(*scores, delta=1e-3)
    assert display.result.epsilon_lower == result.epsilon_lower
    again = display.plot(kind="scores")
    assert again is display


def test_bad_input_is_named(result):
    with pytest.raises(TypeError, match="result must be an AuditResult, not float"):
        AuditDisplay.from_result(1.0)
    with pytest.raises(ValueError, match='kind must be "curve" or "scores"'):
        AuditDisplay.from_result(result, kind="roc")
    with pytest.raises(ValueError, match='scale must be "log" or "linear"'):
        AuditDisplay.from_result(result, scale="symlog")


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
