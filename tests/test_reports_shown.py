"""What every report offers besides text: a notebook's page, a picture, a file, a frame."""

from __future__ import annotations

import re
from html import escape

import numpy as np
import pytest

from mialeak import Release, mean_leakage, table_leakage
from mialeak.tables import plan_recoding

EVIL = '<script>alert("x")</script>'
RNG = np.random.default_rng(2)
TABLE = {
    "age": RNG.integers(20, 60, size=1200),
    EVIL: np.array(["a", "<b>"])[RNG.integers(0, 2, size=1200)],
}


def release():
    outputs = Release({name: values[:200] for name, values in TABLE.items()})
    outputs.add_table([EVIL])
    outputs.add_table(["age"])
    return outputs.leakage()


REPORTS = {
    "table": (lambda: table_leakage(TABLE), 2),
    "table beside its register": (
        lambda: table_leakage({k: v[:300] for k, v in TABLE.items()}, population=TABLE),
        2,
    ),
    "mean": (lambda: mean_leakage(TABLE), 2),
    "release": (release, 2),
    "plan": (lambda: plan_recoding(TABLE, leakage=0.1), 2),
}


@pytest.fixture(scope="module")
def reports():
    return {name: make() for name, (make, _) in REPORTS.items()}


@pytest.mark.parametrize("name", REPORTS)
def test_a_notebook_shows_the_answer_and_nothing_runs(reports, name):
    report = reports[name]
    page, document = report._repr_html_(), report.document()
    assert escape(document.answer) in page
    assert page.count("<details>") == page.count("</details>") == len(document.sections)
    assert "<script" not in page
    assert "<b>" not in page
    assert str(report) == report.text()


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_holds_the_picture_and_needs_no_network(reports, name, tmp_path):
    path = tmp_path / "report.html"
    reports[name].to_html(path)
    page = path.read_text(encoding="utf-8")
    assert page.count("<img ") == REPORTS[name][1]
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "<script" not in page
    assert "To make this report again" not in page


@pytest.mark.parametrize("name", REPORTS)
def test_a_picture_has_the_panels_of_the_report(reports, name):
    figure = reports[name].plot()
    assert len(figure.axes) == len(reports[name].panels()) == REPORTS[name][1]
    assert all(ax.has_data() for ax in figure.axes)


def test_a_frame_of_a_table_lists_its_cells(reports):
    pandas = pytest.importorskip("pandas")
    report = reports["table"]
    frame = report.to_frame()
    assert list(frame) == ["age", EVIL, "rows", "leakage_low", "leakage_high"]
    assert frame["rows"].sum() == 1200
    counts = pandas.DataFrame(TABLE).value_counts()
    for row in frame.head(20).itertuples(index=False):
        assert counts[row[0], row[1]] == row[2]
    assert frame["leakage_low"].to_numpy() == pytest.approx(report.cell_leakage.lower)
    beside = reports["table beside its register"]
    assert (beside.to_frame()["people"] >= beside.to_frame()["rows"]).all()


def test_frames_of_rows_list_them_in_order(reports):
    pytest.importorskip("pandas")
    mean, together = reports["mean"], reports["release"]
    assert mean.to_frame()["row"].tolist() == list(range(1200))
    assert mean.to_frame()["leakage"].to_numpy() == pytest.approx(mean.leakage)
    frame = together.to_frame()
    assert len(frame) == 200
    assert (frame["low"] <= frame["high"]).all()
    plan = reports["plan"].to_frame()
    assert plan["lost"].is_monotonic_increasing
    assert plan["leakage"].is_monotonic_decreasing
