"""Pictures of leakage: of rows, against the size of the release, against noise."""

from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

from mialeak import estimate_max_leakage, max_leakage
from mialeak._results import Bounds
from mialeak.plotting import LeakageDisplay

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
