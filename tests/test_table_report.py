"""What a table's report says, in numbers and in words."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pyarrow as pa
import pytest

from mialeak import estimate_max_leakage, max_leakage, min_samples
from mialeak.datasets import load_adult
from mialeak.tables import table_leakage

QUASI_IDENTIFIERS = ["age", "education", "marital_status", "race", "sex"]

SMALL = {
    "sex": ["f", "m", "f", "f", "m", "f", "m"],
    "age": [30, 30, 30, 41, 41, 30, 30],
}


@pytest.fixture(scope="module")
def adult():
    return table_leakage(load_adult().columns, QUASI_IDENTIFIERS)


# --- numbers ----------------------------------------------------------------------------------


def test_the_two_numbers_are_those_of_their_rooms(adult):
    assert adult.estimate == estimate_max_leakage(adult.cell_counts)
    exact = max_leakage(adult.cell_counts / adult.rows, adult.rows)
    assert adult.plug_in == pytest.approx(exact, rel=1e-13)
    assert adult.kind == adult.estimate.kind == "estimate"


def test_the_size_of_the_release_need_not_be_that_of_the_table():
    report = table_leakage(load_adult().columns, QUASI_IDENTIFIERS, n=3256)
    assert report.n == 3256
    assert report.plug_in == pytest.approx(max_leakage(report.cell_counts / report.rows, 3256))
    assert round(report.plug_in, 3) == 0.399
    assert "Publishing such counts of 3,256 rows leaks" in str(report).replace("\n", " ")


def test_confidence_widens_the_intervals():
    narrow, wide = (table_leakage(SMALL, confidence=level) for level in (0.5, 0.99))
    assert wide.estimate.low <= narrow.estimate.low <= narrow.estimate.high <= wide.estimate.high
    assert np.all(wide.cell_leakage.upper >= narrow.cell_leakage.upper)
    assert np.all(wide.cell_leakage.lower < narrow.cell_leakage.lower)
    assert "99% range" in str(wide)
    known = table_leakage({"a": np.arange(1000) % 7}, confidence=0.99)
    assert "99% interval" in str(known)


def test_a_cell_seen_once_is_shown_with_a_range_up_to_1(adult):
    alone = adult.cell_counts == 1
    assert np.all(adult.cell_leakage.upper[alone] == 1)
    assert np.all(adult.cell_leakage.lower[alone] < 0.2)
    assert np.all(adult.cell_leakage.lower < adult.cell_leakage.upper)


def test_rarer_cells_are_no_less_at_risk(adult):
    order = np.argsort(adult.cell_counts)
    assert np.all(np.diff(adult.cell_leakage.upper[order]) <= 0)
    assert np.all(np.diff(adult.cell_leakage.lower[order]) <= 0)


def test_rows_carry_the_leakage_of_their_cells(adult):
    assert np.array_equal(adult.row_leakage.upper, adult.cell_leakage.upper[adult.row_cells])
    assert np.array_equal(adult.row_leakage.lower, adult.cell_leakage.lower[adult.row_cells])


def test_the_riskiest_rows_are_those_of_the_rarest_cells_in_order(adult):
    counts = adult.cell_counts[adult.row_cells]
    order = np.lexsort((np.arange(adult.rows), counts))
    for top in (1, adult.n_unique - 1, adult.n_unique, adult.n_unique + 1):
        assert [row.row for row in adult.riskiest(top)] == order[:top].tolist()
    row = adult.riskiest(adult.n_unique + 1)[-1]
    assert row.count == counts[row.row] == 2
    assert row.values == adult.cell_values(row.cell)
    assert (row.low, row.high) == (
        adult.row_leakage.lower[row.row],
        adult.row_leakage.upper[row.row],
    )


def test_all_rows_can_be_listed():
    report = table_leakage(SMALL)
    assert [row.row for row in report.riskiest(None)] == [3, 4, 1, 6, 0, 2, 5]
    assert report.riskiest(0) == ()
    assert len(report.riskiest(100)) == 7


def test_the_sizes_of_cells_cover_the_table(adult):
    sizes = adult.cell_sizes
    assert sum(size.cells for size in sizes) == adult.n_cells
    assert sum(size.rows for size in sizes) == adult.rows
    assert [size.least for size in sizes][:5] == [1, 2, 3, 5, 10]
    for size in sizes:
        inside = (adult.cell_counts >= size.least) & (adult.cell_counts <= size.most)
        assert size.cells == inside.sum()
        assert size.high == adult.cell_leakage.upper[inside].max()
        assert size.low == adult.cell_leakage.lower[inside].min()


def test_a_census_of_one_cell_leaks_nothing():
    report = table_leakage({"a": ["x"] * 50})
    assert report.plug_in == 0
    assert report.n_cells == 1
    assert "50 rows, 1 column: a" in str(report)


def test_a_table_of_one_row_is_reported():
    report = table_leakage({"a": [1]})
    assert report.riskiest()[0].high == 1
    assert str(report)


def test_a_data_frame_of_one_row_is_reported():
    pd = pytest.importorskip("pandas")
    assert table_leakage(pd.DataFrame({"a": [1], "b": ["x"]})).riskiest()[0].high == 1


def test_rows_needed_are_those_of_their_rooms(adult):
    size = adult.samples_for(0.1)
    assert size.plug_in == min_samples(adult.cell_counts / adult.rows, 0.1)
    values = [
        estimate_max_leakage(adult.cell_counts, size.population - fewer).value for fewer in (0, 1)
    ]
    assert values[0] <= 0.1 < values[1]
    assert size.plug_in < size.population
    assert size.leakage == 0.1


def test_beyond_ten_tables_no_size_at_hand_is_enough(adult):
    size = adult.samples_for(0.1)
    assert not size.rough
    assert f"{size.plug_in:,}  if the table's own frequencies" in adult.text(leakage=0.1)
    assert "at hand" not in adult.text(leakage=0.1)
    size = adult.samples_for(0.01)
    assert size.rough
    text = " ".join(adult.text(leakage=0.01).split())
    assert text.count("over 325,610") == text.count("no size at hand is enough") == 2
    assert f"{size.plug_in:,}" not in text


@pytest.mark.parametrize("leakage", [0.0, 1.0, -0.1, float("nan")])
def test_the_target_is_inside_0_and_1(adult, leakage):
    with pytest.raises(ValueError, match="leakage must be"):
        adult.samples_for(leakage)


def test_what_was_not_tested_is_said(adult):
    assert adult.caveats == ()
    assert adult.to_dict()["caveats"] == []
    small = "No interval is claimed below 1,000 rows: the range is a rough one."
    ratio = "No interval is claimed for releases over 10 times larger or smaller than the table."
    values = np.arange(1000) % 7
    for rows, n, caveats in [
        (999, 999, (small,)),
        (1000, 10_000, ()),
        (1000, 10_001, (ratio,)),
        (1000, 100, ()),
        (1000, 99, (ratio,)),
        (999, 9, (small, ratio)),
    ]:
        report = table_leakage({"a": values[:rows]}, n=n)
        assert report.caveats == caveats
        assert all(caveat in str(report) for caveat in caveats)


# --- how it is told ---------------------------------------------------------------------------


def test_a_column_of_names_is_told():
    rows = 2000
    table = {
        "id": np.arange(rows),
        "sex": np.arange(rows) % 2,
        "name": [f"x{i}" for i in range(rows)],
    }
    told = (
        "Every row has a value of its own in column 'id', 'name', as an identifier has. Leave such "
        "columns out with exclude=['id', 'name']."
    )
    report = table_leakage(table)
    assert report.cautions == report.caveats == (told,)
    assert " ".join(str(report).split()).startswith(f"Caution: {told} Publishing")
    assert str(report).count("identifier") == 1
    assert table_leakage(table, ["sex"]).caveats == ()
    assert table_leakage(table, exclude=["id", "name"]).cell_counts.tolist() == [1000, 1000]


def test_the_report_is_ready_for_json(adult):
    content = json.loads(json.dumps(adult.to_dict(top=3), allow_nan=False))
    assert content["estimate"]["value"] == adult.estimate.value
    assert content["plug_in"] == adult.plug_in
    assert content["columns"] == QUASI_IDENTIFIERS
    assert content["n_cells"] == 6_493
    assert len(content["riskiest"]) == 3
    assert sum(size["rows"] for size in content["cell_sizes"]) == adult.rows


def test_the_text_leads_with_the_estimate_and_fits_a_page(adult):
    text = adult.text(leakage=0.05, top=4)
    lines = text.splitlines()
    accuracy = f"{(1 + adult.estimate.value) / 2:.1%}"
    assert f"in the table with {accuracy} accuracy (guessing: 50%)." in " ".join(text.split())
    assert lines[0].startswith(
        f"Publishing these 6,493 counts of 32,561 people leaks {adult.estimate.value:.3f} (95%"
    )
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert text.index("for the population") < text.index("if the table's own frequencies")
    assert "Rows a release needs to leak at most 0.05" in text
    assert f"(4 of the {adult.n_unique:,} alone in their cell; row 0 is the first)" in text
    assert adult.text() == str(adult)


def test_persons_are_shown_only_when_asked_for(adult):
    assert "Married" not in str(adult)
    assert "Married" in adult.text(show_rows=True)
    assert {row["values"] for row in adult.to_dict()["riskiest"]} == {None}
    shown = adult.to_dict(show_rows=True)["riskiest"]
    assert [row["values"] for row in shown] == [row.values for row in adult.riskiest()]
    margins = table_leakage({"name": ["Zoe", *("Ann", "Bob") * 3]}, margins=["name"])
    assert "Zoe" not in margins.text()
    assert "Zoe" in margins.text(show_rows=True)
    assert {row["values"] for row in margins.to_dict()["margins"]["riskiest"]} == {None}
    assert margins.to_dict(show_rows=True)["margins"] == margins.margins.to_dict()


def test_one_is_not_a_plural():
    text = " ".join(str(table_leakage({"a": ["x"] * 5}, n=1)).split())
    assert "Publishing such counts of 1 row leaks 0.0" in text
    assert "1 distinct cell;" in text
    text = " ".join(str(table_leakage({"a": ["x"] * 5})).split())
    assert text.startswith("Publishing this count of 5 people leaks 0.0")
    assert "sees this count can decide" in text
    gap = {"a": ["x", "x", "y", "y", None]}
    assert "1 more row dropped" in str(table_leakage(gap, na="drop"))
    assert "1 row has a missing value" in str(table_leakage(gap, na="category"))


def test_wide_and_hostile_values_stay_on_their_line():
    names = [f"column {place} with a long name" for place in range(30)]
    table = {name: ["x" * 200, "a\x1b[31m\nb"] for name in names}
    lines = table_leakage(table).text(show_rows=True).splitlines()
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in "".join(lines)
    (header,) = (line for line in lines if line.startswith("  row  in its cell"))
    assert header.endswith(" and 26 more")


def test_the_repr_is_one_line(adult):
    assert repr(adult).startswith("TableReport(estimate=0.1")
    assert "plug_in=0.1334, rows=32561, n=32561, n_cells=6493" in repr(adult)
    assert "\n" not in repr(adult)


def test_the_repr_leads_with_what_the_text_leads_with():
    """The leakage of a sample of its register, of persons, of margins; and how many cautions."""
    table = {"a": ["x", "y"] * 30, "b": ["u", "v", "w"] * 20, "who": [*range(50), *range(10)]}
    register = {name: table[name] * 3 for name in ("a", "b")}
    asked = {
        "population": {"population": register, "columns": ["a", "b"]},
        "persons": {"person": "who"},
        "margins": {"margins": ["a", "b"]},
    }
    for name, settings in asked.items():
        report = table_leakage(table, **settings)
        assert repr(report).startswith(f"TableReport({name}={getattr(report, name)!r}, estimate=")
        assert (f"cautions={len(report.cautions)})" in repr(report)) == bool(report.cautions)


@pytest.mark.parametrize("container", [dict, pa.table])
def test_a_report_travels_between_processes(container):
    report = table_leakage(container(SMALL))
    copy = pickle.loads(pickle.dumps(report))
    assert copy.to_dict(top=None) == report.to_dict(top=None)
    assert str(copy) == str(report)
    assert copy.row_cells.tolist() == report.row_cells.tolist()
