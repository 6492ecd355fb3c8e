"""What every report offers besides text: a notebook's page, a picture, a file, a frame."""

from __future__ import annotations

import io
import pickle
import re
import sys
from html import escape

import numpy as np
import pytest
from fresh import in_fresh_python

from mialeak import Release, mean_leakage, table_leakage
from mialeak._report.figure import figure_of, pictures_of
from mialeak.auditing import AuditStream, audit, one_run_audit, shadow_audit
from mialeak.tables import plan_recoding
from mialeak.tradeoff import (
    EmpiricalTradeOff,
    GaussianTradeOff,
    LaplaceTradeOff,
    PiecewiseTradeOff,
    compose,
)
from mialeak.training import dp_sgd_audit

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


def canaries(size=200):
    rng = np.random.default_rng(5)
    member = rng.random(size) < 0.5
    return rng.normal(3.0 * member), member


def stream():
    result = AuditStream()
    result.update(*canaries())
    return result


def shadow():
    rng = np.random.default_rng(6)
    members = rng.random((64, 30)) < 0.5
    return shadow_audit(rng.normal(np.where(np.arange(30) < 3, 4.0, 0.0) * members), members)


def separate_runs():
    rng = np.random.default_rng(7)
    return audit(rng.normal(2.0, 1.0, 300), rng.normal(0.0, 1.0, 300), claimed_epsilon=0.5)


def dp_sgd():
    draws = np.random.default_rng(8).normal(size=60)

    def train(member, noise=4.0):
        return 2.0 * member + noise * draws

    return dp_sgd_audit(train, 60, control=lambda m: train(m, 0.2), claimed_epsilon=1.0, rng=0)


REPORTS = {
    "audit": (separate_runs, 2),
    "audit of one run": (lambda: one_run_audit(*canaries(), claimed_epsilon=9.0), 1),
    "shadow audit": (shadow, 1),
    "audit of DP-SGD": (dp_sgd, 2),
    "stream": (stream, 1),
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


@pytest.mark.parametrize(
    ("name", "people", "sample"),
    [
        ("table", "Each row is a different person. If persons have several rows", False),
        ("table beside its register", "Each row is a different person. If persons", True),
        ("mean", "Each row is a different person. If persons have several rows", False),
        ("release", "Each row of the people is a different person.", False),
        ("audit", "Each score is of a run of its own", None),
        ("shadow audit", "A coin put each example in the data of each model", None),
        ("audit of one run", "A fair coin decided for each canary", None),
        ("stream", "A fair coin decided for each canary", None),
        ("audit of DP-SGD", "A fair coin decided for each canary", None),
    ],
)
def test_reports_state_what_they_assume_below_the_answer(reports, name, people, sample, tmp_path):
    report = reports[name]
    document = report.document()
    assert document.assumed[0].startswith(people)
    if sample is not None:
        assert ("in the register was equally likely" in document.assumed[1]) == sample
    shown = " ".join(str(report).split())
    after = shown[shown.index(document.answer) + len(document.answer) :]
    after = after[: after.index(document.sections[0].title)].strip()
    assert after == " ".join(["What this answer assumes", *document.assumed])
    path = tmp_path / "report.html"
    report.to_html(path)
    for page in (path.read_text(encoding="utf-8"), report._repr_html_()):
        for line in document.assumed:
            assert f"<li>{escape(line)}</li>" in page
    assert "assumed" not in report.to_frame()
    if name != "shadow audit":
        content = report.to_dict()
        assert content.get("bound", content)["assumed"] == list(document.assumed)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"counts": "n"},
            "Column n counts the people in the data, each in one row; its numbers are not",
        ),
        ({"person": "n"}, "Rows with the same value of n are those of one person."),
        ({"margins": ["a", "n"]}, "Each row is a different person."),
    ],
)
def test_a_table_assumes_what_its_arguments_say(options, words):
    table = {"a": ["x"] * 6 + ["y"] * 6, "n": [7, 8, 9] * 4}
    if "counts" in options:
        table = {"a": ["x", "y"], "n": [7, 9]}
    report = table_leakage(table, **options)
    assert report.assumed[0].startswith(words)


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


def test_a_notebook_shows_a_picture_before_pyplot_is_imported(reports):
    code = "import sys; from mialeak.tradeoff import GaussianTradeOff as G; f = G(1.0).plot()\n"
    code += "print('matplotlib.pyplot' in sys.modules, f._repr_png_()[:4])"
    assert in_fresh_python(code, None).stdout.split("\n")[0] == r"False b'\x89PNG'"
    again = pickle.loads(pickle.dumps(reports["mean"].plot()))
    assert again._repr_png_()[:4] == b"\x89PNG"


def test_a_picture_or_a_frame_without_its_package_states_what_to_install(reports, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "mialeak._report.figure", raising=False)
    with pytest.raises(ImportError, match=r'pip install "mialeak\[plot\]"'):
        reports["mean"].plot()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        reports["mean"].to_frame()


@pytest.mark.parametrize("name", ["table", "release", "audit"])
def test_the_pictures_of_a_page_are_cut_out_as_matplotlib_does(reports, name):
    """Which draws each twice; to a hundred thousandth of a point."""
    panels = reports[name].panels()
    figure = figure_of(panels)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for picture, shown in zip(pictures_of(panels), figure.axes, strict=True):
        for ax in figure.axes:
            ax.set_visible(ax is shown)
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None}, bbox_inches="tight")
        parts = []
        for svg in (picture.svg, stream.getvalue()):
            text = re.sub(r'(["#])[pm][0-9a-f]{10}\b', r"\1", svg.decode())  # hashes of numbers
            parts.append(re.split(r"(-?\d+(?:\.\d+)?)", text))
        assert parts[0][::2] == parts[1][::2]
        found, expected = (np.array(each[1::2], float) for each in parts)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_the_pictures_of_a_release_are_titled_with_their_finding(reports):
    drawn = [ax.get_title() for ax in reports["release"].plot().axes]
    average = reports["release"].average
    assert drawn[0] == "No small group follows"
    assert drawn[1] == f"Together they leak {average.low:.3f} to {average.high:.3f} on average"
    outputs = Release({"a": [0] * 9 + [1] * 30, "b": [0, 1] * 18 + [2] * 3})
    outputs.add_table(["b"])
    outputs.add_table(["b"], where={"a": 1})
    few = outputs.leakage()
    title = few.plot().axes[0].get_title()
    assert title == f"{few.n_determined} small groups follow (outputs in red)"


@pytest.mark.parametrize("limit", [None, 0.3])
def test_the_picture_of_a_release_has_the_limit_of_the_gate(reports, limit):
    report = reports["release"]
    ax = figure_of(report.panels(limit)).axes[1]
    lines = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
    assert lines.get("at most 0.3") == (None if limit is None else [0.3, 0.3])


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


def test_frames_of_audits_have_the_numbers_of_the_result(reports):
    pytest.importorskip("pandas")
    separate, shadow = reports["audit"], reports["shadow audit"]
    frame = separate.to_frame().set_index("quantity")
    assert frame.loc["advantage", "low"] == separate.advantage.low
    assert (frame["low"] <= frame["measured"]).all()
    assert shadow.to_frame()["epsilon_lower"].tolist() == shadow.epsilon_lower.tolist()
    one_run, stream = reports["audit of one run"], reports["stream"]
    assert one_run.to_frame()["epsilon_lower"].item() == one_run.epsilon_lower
    assert one_run.to_frame()["guesses_in"].item() == one_run.guesses[0]
    numbers = {name: value for name, value in stream.to_dict().items() if name != "assumed"}
    assert stream.to_frame().to_dict("records") == [numbers]


def test_pages_of_audits_state_what_they_compare(reports, tmp_path):
    path = tmp_path / "report.html"
    for name in ("audit", "audit of one run", "shadow audit", "stream"):
        reports[name].to_html(path)
        page = path.read_text(encoding="utf-8")
        assert "never its absence" in page
        assert "Out: all rows are drawn afresh" not in page


def test_a_report_in_python_names_arguments_of_python():
    scores, member = canaries(100)
    result = one_run_audit(-scores, member, allow_reversed=True)
    assert "pass higher_is_member=False" in " ".join(str(result).split())
    assert "--" not in str(result)


CURVES = [
    GaussianTradeOff(1.0),
    GaussianTradeOff(1.0).subsample(0.1),
    LaplaceTradeOff(1.0),
    PiecewiseTradeOff.from_epsilon(1.0),
    EmpiricalTradeOff(np.arange(50) + 5.0, np.arange(50.0)),
    compose(GaussianTradeOff(1.0).subsample(0.01), counts=100),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: type(curve).__name__)
def test_a_curve_shows_its_advantage_its_powers_and_a_page(curve, tmp_path):
    text = curve.text()
    assert f"{curve.advantage:.3f}" in text
    assert f"{100 * (1 + curve.advantage) / 2:.1f}% accuracy" in " ".join(text.split())
    assert ("Others may do better" in text) == isinstance(curve, EmpiricalTradeOff)
    assert str(curve) == repr(curve)
    assert f"{curve.advantage:.3f}" in curve._repr_html_()
    curve.to_html(tmp_path / "curve.html")
    assert (tmp_path / "curve.html").read_text().count("<figure>") == 2
    frame = curve.to_frame()
    assert list(frame.columns) == ["fpr", "power"]
    assert frame.power[10] == curve.power(frame.fpr[10])


def test_curves_of_several_parameters_are_listed():
    curves = GaussianTradeOff([0.5, 1.0])
    assert "2 trade-off curves, which leak 0.197 to 0.383" in curves._repr_html_()
    with pytest.raises(ValueError, match="one curve, not 2"):
        curves.plot()
