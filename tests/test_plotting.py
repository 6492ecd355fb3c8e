"""Pictures: what is drawn is what was computed, by the rules of scikit-learn's displays."""

from __future__ import annotations

import io
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

from mialeak.auditing import audit
from mialeak.plotting import AuditDisplay, LeakageDisplay, TradeOffDisplay, _tradeoff
from mialeak.tradeoff import EmpiricalTradeOff, GaussianTradeOff, PiecewiseTradeOff

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

CURVE = GaussianTradeOff(1.5)
ROWS = np.array([0.2, 0.05, 0.9, 0.4])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(1)
    return rng.normal(1.5, 1.0, 300), rng.normal(0.0, 1.0, 200)


def rendered(display):
    """A picture that could be made, without a warning."""
    file = io.BytesIO()
    display.figure_.savefig(file, format="png")
    return file.getvalue().startswith(b"\x89PNG")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


MAKERS = {
    "tradeoff": lambda **options: TradeOffDisplay.from_tradeoff(CURVE, **options),
    "scores": lambda **options: TradeOffDisplay.from_scores([2, 1, 3], [0, 1, 2], **options),
    "rows": lambda **options: LeakageDisplay.from_rows(ROWS, **options),
    "histogram": lambda **options: LeakageDisplay.from_rows(ROWS, style="histogram", **options),
    "sizes": lambda **options: LeakageDisplay.from_sizes([10, 20], [0.2, 0.1], **options),
    "noise": lambda **options: LeakageDisplay.from_noise([0.1, 0.2], [0.2, 0.1], **options),
}
EVERY_MAKER = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)

# --- the rules of displays --------------------------------------------------------------------


@EVERY_MAKER
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_a_display_is_drawn_with_axes_of_its_own(make, scale):
    display = make(scale=scale)
    assert display.figure_ is display.ax_.figure
    assert plt.get_fignums() == [display.figure_.number]
    assert display.line_ in display.ax_.get_children()
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel()
    assert rendered(display)


@EVERY_MAKER
def test_axes_that_are_given_are_used_and_pyplot_is_not(make, ax):
    display = make(ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert plt.get_fignums() == []


@EVERY_MAKER
def test_plot_draws_once_more_and_returns_the_display(make, ax):
    display = make()
    first = display.line_
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.line_ is not first
    for one, other in zip(first.get_data(), display.line_.get_data(), strict=True):
        assert np.array_equal(one, other)


@EVERY_MAKER
def test_names_and_matplotlib_options_are_passed_on(make, ax):
    display = make(ax=ax, name="mine", color="red", linewidth=3)
    assert display.line_.get_label().startswith("mine")
    color = display.line_.get_edgecolor if hasattr(display.line_, "get_edgecolor") else None
    assert mpl.colors.same_color((color or display.line_.get_color)(), "red")
    assert display.line_.get_linewidth() == 3
    assert display.plot(ax, name="other").line_.get_label().startswith("other")


@EVERY_MAKER
def test_curves_on_one_axes_differ_in_colour_and_in_dash(make, ax):
    lines = [make(ax=ax).line_ for _ in range(6)]
    if not hasattr(lines[0], "get_edgecolor"):
        assert len({line.get_color() for line in lines}) == 6
    assert len({str(line.get_linestyle()) for line in lines[:4]}) == 4


@EVERY_MAKER
def test_an_unknown_scale_is_refused(make, ax):
    with pytest.raises(ValueError, match='scale must be "log" or "linear"; got scale = \'Log\''):
        make(ax=ax, scale="Log")
    assert not ax.get_children()[0].get_label()


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "mialeak\[plot\]"'):
        TradeOffDisplay.from_tradeoff(CURVE)


def test_the_room_loads_without_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "import mialeak.plotting; print('loaded')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "loaded\n"


def test_given_axes_do_not_load_pyplot():
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from matplotlib.figure import Figure\n"
        "from mialeak.plotting import LeakageDisplay, TradeOffDisplay\n"
        "one, other = Figure().subplots(1, 2)\n"
        "TradeOffDisplay.from_scores([1, 2], [0, 1], ax=one)\n"
        "LeakageDisplay.from_rows([0.1, 0.2], ax=other, limit=0.1).figure_.savefig('/dev/null', "
        "format='png')\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@EVERY_MAKER
def test_the_figure_of_a_part_of_a_figure_is_the_whole(make):
    figure = Figure()
    part, _ = figure.subfigures(1, 2)
    assert make(ax=part.subplots()).figure_ is figure


def test_axes_without_a_figure_are_refused(ax):
    ax.remove()
    with pytest.raises(ValueError, match="ax must belong to a figure"):
        TradeOffDisplay.from_tradeoff(CURVE, ax=ax)


# --- trade-off curves -------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_the_line_is_the_curve(ax, scale):
    display = TradeOffDisplay.from_tradeoff(CURVE, ax=ax, scale=scale)
    fpr, power = display.line_.get_data()
    assert np.array_equal(power, CURVE.power(fpr))
    assert fpr[-1] == 1
    assert fpr[0] == (1e-5 if scale == "log" else 0)
    assert np.all(np.diff(fpr) > 0)
    # Straight lines between the points are the curve to the eye.
    middle = np.sqrt(fpr[1:] * fpr[:-1]) if scale == "log" else (fpr[1:] + fpr[:-1]) / 2
    straight = np.interp(middle, fpr, power)
    assert np.max(np.abs(CURVE.power(middle) - straight)) < 0.003


def test_corners_of_a_piecewise_curve_are_drawn(ax):
    curve = PiecewiseTradeOff([0.0123, 0.3], [0.4, 0.8])
    fpr = TradeOffDisplay.from_tradeoff(curve, ax=ax).line_.get_xdata()
    assert {0.0123, 0.3} <= set(fpr)


def test_the_diagonal_is_drawn_once(ax, scores):
    measured = TradeOffDisplay.from_scores(*scores, ax=ax)
    theory = TradeOffDisplay.from_tradeoff(CURVE, ax=ax, name="theory")
    assert theory.no_leakage_ is measured.no_leakage_
    x, y = theory.no_leakage_.get_data()
    assert np.array_equal(x, y)
    advantage = EmpiricalTradeOff(*scores).advantage
    assert legend(ax) == [
        "no leakage",
        f"measured (advantage {advantage:.3f})",
        "95% pointwise band (Clopper-Pearson)",
        "theory (advantage 0.547)",
    ]


def test_the_kind_is_the_name_where_there_is_none(ax):
    curve = GaussianTradeOff(1.5, kind="asymptotic").subsample(0.1)
    TradeOffDisplay.from_tradeoff(curve, ax=ax)
    assert legend(ax) == ["no leakage", "asymptotic (advantage 0.055)"]


def test_axes_are_square_and_alike_from_the_least_rate_to_1(ax, scores):
    TradeOffDisplay.from_scores(*scores, ax=ax)
    assert ax.get_xlim() == ax.get_ylim() == pytest.approx((1 / 200, 1.06))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_box_aspect() == 1
    assert ax.get_xlabel() == "False-positive rate"
    assert ax.get_ylabel() == "Power (true-positive rate)"


def test_axes_given_again_keep_or_widen_their_range(ax, scores):
    TradeOffDisplay.from_scores(*scores, ax=ax)
    theory = TradeOffDisplay.from_tradeoff(CURVE, ax=ax)
    assert ax.get_xlim()[0] == 1 / 200 >= theory.line_.get_xdata()[0]
    TradeOffDisplay.from_tradeoff(CURVE, ax=ax, least_fpr=1e-8)
    assert ax.get_xlim()[0] == 1e-8
    TradeOffDisplay.from_tradeoff(CURVE, ax=ax, least_fpr=1e-3)
    assert ax.get_xlim()[0] == 1e-8


def test_a_long_name_does_not_squeeze_the_axes():
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    display = TradeOffDisplay.from_tradeoff(CURVE, ax=axes, name="a name " * 30)
    assert rendered(display)
    assert axes.get_position().width > 0.7


def test_measured_curves_are_drawn_from_scores_and_from_objects_alike(scores):
    one, other = Figure().subplots(1, 2)
    first = TradeOffDisplay.from_scores(*scores, ax=one)
    second = TradeOffDisplay.from_tradeoff(EmpiricalTradeOff(*scores), ax=other)
    assert np.array_equal(first.line_.get_xydata(), second.line_.get_xydata())
    assert np.array_equal(first.fpr, EmpiricalTradeOff(*scores).roc.fpr)
    assert legend(one) == legend(other)
    assert all(np.array_equal(a, b) for a, b in zip(first.band[:3], second.band[:3], strict=True))


def test_zeros_are_left_to_the_linear_scale(ax, scores):
    display = TradeOffDisplay.from_scores(*scores, ax=ax)
    assert np.all(display.line_.get_xydata() > 0)
    display.plot(ax, scale="linear")
    assert np.array_equal(display.line_.get_xydata()[0], [0, 0])


def test_no_band_is_drawn_for_confidence_none(ax, scores):
    display = TradeOffDisplay.from_scores(*scores, ax=ax, confidence=None)
    assert display.band_ is display.band is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: TradeOffDisplay.from_tradeoff(1.5),
            TypeError,
            "tradeoff must be a TradeOff, not float",
        ),
        (
            lambda: TradeOffDisplay.from_tradeoff(GaussianTradeOff([1.0, 2.0])),
            ValueError,
            "tradeoff must be one curve, not 2. Draw its curves one by one on the same ax",
        ),
        (
            lambda: TradeOffDisplay.from_tradeoff(CURVE, least_fpr=0),
            ValueError,
            "least_fpr must be strictly between 0 and 1; got least_fpr = 0.0",
        ),
        (
            lambda: TradeOffDisplay.from_scores([1], [0], confidence=1.0),
            ValueError,
            "confidence must be strictly between 0 and 1; got confidence = 1.0",
        ),
        (
            lambda: TradeOffDisplay.from_scores([], [0]),
            ValueError,
            "in_scores must hold at least one score",
        ),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message
    assert plt.get_fignums() == []


# --- the band ---------------------------------------------------------------------------------


def clopper_pearson(count, total, confidence):
    interval = stats.binomtest(int(count), total).proportion_ci(confidence, method="exact")
    return interval.low, interval.high


def test_the_band_is_the_union_of_rectangles(scores):
    curve = EmpiricalTradeOff(scores[0][:23], scores[1][:17])
    band = _tradeoff.pointwise_band(curve, 0.9)
    level = np.sqrt(0.9)
    false, hits = np.rint(curve.roc.fpr * 17), np.rint(curve.roc.power * 23)
    across = np.array([clopper_pearson(k, 17, level) for k in false])
    upward = np.array([clopper_pearson(k, 23, level) for k in hits])
    for x in np.linspace(0.001, 0.999, 97):
        i = np.searchsorted(band.fpr, x, side="right") - 1
        assert band.upper[i] == pytest.approx(upward[across[:, 0] <= x, 1].max(), abs=1e-12)
        assert band.lower[i] == pytest.approx(upward[across[:, 1] >= x, 0].min(), abs=1e-12)


def test_the_band_covers_the_true_power_at_a_point_as_often_as_it_says():
    rng = np.random.default_rng(2)
    rounds, confidence = 400, 0.8
    points = np.array([0.003, 0.02, 0.1, 0.5, 0.9])
    covered = np.zeros(points.size)
    for _ in range(rounds):
        curve = EmpiricalTradeOff(rng.normal(1.0, 1.0, 60), rng.normal(0.0, 1.0, 80))
        band = _tradeoff.pointwise_band(curve, confidence)
        at = np.searchsorted(band.fpr, points, side="right") - 1
        power = GaussianTradeOff(1.0).power(points)
        covered += (band.lower[at] <= power) & (power <= band.upper[at])
    error = np.sqrt(confidence * (1 - confidence) / rounds)
    assert np.all(covered / rounds > confidence - 3 * error)


def test_few_of_many_points_are_drawn_and_their_band_covers_the_rest(monkeypatch):
    rng = np.random.default_rng(3)
    curve = EmpiricalTradeOff(rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 10_000))
    few = _tradeoff.pointwise_band(curve, 0.95)
    assert len(_tradeoff._blocks(curve)[0]) < 2000 < curve.roc.fpr.size
    monkeypatch.setattr(_tradeoff, "_LARGE", 10**9)
    every = _tradeoff.pointwise_band(curve, 0.95)
    points = np.geomspace(1e-6, 0.9999, 500)
    one, other = (np.searchsorted(band.fpr, points, side="right") - 1 for band in (few, every))
    assert np.all(few.lower[one] <= every.lower[other] + 1e-15)
    assert np.all(few.upper[one] >= every.upper[other] - 1e-15)
    width = every.upper[other] - every.lower[other]
    assert np.all(few.upper[one] - few.lower[one] < 1.5 * width + 0.01)


def test_losses_are_drawn_as_they_are_audited():
    """They were drawn as scores that prove 0."""
    rng = np.random.default_rng(5)
    losses = 0.1 * rng.exponential(size=300), rng.exponential(size=300)
    with pytest.raises(ValueError, match="pass higher_is_member=False"):
        AuditDisplay.from_scores(*losses)
    drawn = AuditDisplay.from_scores(*losses, higher_is_member=False)
    assert drawn.result.epsilon_lower == audit(*losses, higher_is_member=False).epsilon_lower > 1.0
    assert AuditDisplay.from_scores(*losses, allow_reversed=True).result.epsilon_lower < 0.1
