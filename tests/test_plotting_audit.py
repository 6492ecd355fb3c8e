"""The display of audits: what is drawn is what was proved."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib.figure import Figure

from mialeak._report.text import at_most
from mialeak.auditing import audit
from mialeak.plotting import AuditDisplay
from mialeak.tradeoff import GaussianTradeOff


@pytest.fixture
def result():
    rng = np.random.default_rng(0)
    return audit(rng.normal(1.5, 1, 400), rng.normal(0, 1, 300), delta=1e-3)


@pytest.fixture
def ax():
    return Figure().subplots()


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
