"""Draws the pictures of the README and of the guide: ``python docs/picture.py``.

The leakage of the five columns of Adult with ages in wider and wider bands, and how many people are
alone in their cell; and its leakage by the information that recoding loses.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mialeak
from mialeak.plotting import ChangeDisplay
from mialeak.tables import plan_recoding

STATIC = Path(__file__).parent / "_static"
COLUMNS = ["age", "education", "marital_status", "race", "sex"]
BANDS = [1, 2, 5, 10]


def draw_bands() -> None:
    """Write docs/_static/adult.png."""
    adult = mialeak.datasets.load_adult().columns
    reports = []
    for band in BANDS:
        table = {**adult, "age": np.asarray(adult["age"]) // band * band}
        reports.append(mialeak.table_leakage(table, COLUMNS))
    values = np.array([report.estimate.value for report in reports])
    low = np.array([report.estimate.low for report in reports])
    high = np.array([report.estimate.high for report in reports])
    alone = [report.n_unique for report in reports]
    labels = [f"{band} year{'s' * (band > 1)}" for band in BANDS]
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    left.bar(labels, values, color="#3b6ea5", yerr=[values - low, high - values], capsize=5)
    left.set_title("Leakage of the table, 95% interval", loc="left", fontsize=11)
    left.set_ylim(0, 1.2 * high.max())
    right.bar(labels, alone, color="#b5523b")
    right.set_ylim(0, 1.2 * max(alone))
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.set_title("People alone in their cell, of 32,561", loc="left", fontsize=11)
    for place, value, top in zip(range(len(BANDS)), values, high, strict=True):
        left.annotate(f"{value:.3f}", (place, top), (0, 5), textcoords="offset points", ha="center")
    for place, count in enumerate(alone):
        right.annotate(
            f"{count:,}", (place, count), (0, 3), textcoords="offset points", ha="center"
        )
    for axes in (left, right):
        axes.set_xlabel("width of the age bands")
    figure.savefig(STATIC / "adult.png", dpi=130)


def draw_plan() -> None:
    """Write docs/_static/afternoon.png."""
    plan = plan_recoding(mialeak.datasets.load_adult().columns, COLUMNS, 0.05)
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    ChangeDisplay.from_plan(plan, ax=axes)
    figure.savefig(STATIC / "afternoon.png", dpi=100)


if __name__ == "__main__":
    draw_bands()
    draw_plan()
