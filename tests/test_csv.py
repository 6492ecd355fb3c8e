"""CSV: which first line is taken for names, what is stripped, what is missing, and the bar."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from mialeak._files import delimited
from mialeak._files.tables import read_table
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.tables import table_leakage


def decoded(table):
    return {
        name: [factor.value(int(code)) for code in factor.codes] for name, factor in table.items()
    }


@pytest.fixture
def write(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


# --- line 1 -----------------------------------------------------------------------------------

DATA = [
    "39, State-gov, 77516\n50, Private, 83311\n38, State-gov, 215646\n",
    "39,13\n50,9\n38,11\n",  # numbers that fall
    "1,5\n3,9\n",
    "39,40\n50,38\n",  # one step is no rule
    "10,17,24\n3,9,8\n",  # a step that nobody counts in
    "Smith,39\nMiller,50\n",
    "x,1.5\ny,2.5\n",
    "x,-1\ny,2\n",
    "x,7\ny,?\nz,9\n",  # a marker among numbers
    "x, 7\ny, \nz, 9\n",
    "a,b\nc,b\na,d\n",  # both again below
    "a,b,c\na,d,c\n",
    "0,1\n0,1\n1,0\n",  # the names that pandas gives, or a matrix of zeros and ones
    "7\n8\n",
]
NAMES = [
    "age,sex\n39,Male\n",
    "age,sex\n",
    "country,2019,2020\nA,2019,7\nB,8,9\n",
    "group,0-17,18-64\nA,1,2\n",
    "0,1,2\n5,5,7\n",
    "1,2\n5,5\n",
    "2000,2010,2020\n5,5,7\n",
    "18,28,38\n1,2,3\n",
    "a,b,c\na,d,e\nb,f,g\n",  # one of three again below
    "f,m\n1,2\n",
    "7,x\nWord,y\n",  # a number above words
    ",a\n1,2\n",
]


@pytest.mark.parametrize("text", DATA)
def test_a_first_line_of_data_is_refused(write, text):
    path = write(text)
    with pytest.raises(ValueError, match=r"t\.csv must have the names .* looks like data: "):
        read_table(path)
    first = text.split("\n")[0].split(",")
    assert list(read_table(path, header=True)) == [field.strip() for field in first]
    table = read_table(path, header=False)
    assert list(table) == [str(place) for place in range(len(first))]
    rows = text.strip().split("\n")
    assert all(len(factor.codes) == len(rows) for factor in table.values())
    names = [f"column {place}" for place in range(len(first))]
    named = read_table(path, names=names)
    assert list(named) == names
    assert list(decoded(named).values()) == list(decoded(table).values())


@pytest.mark.parametrize("text", NAMES)
def test_a_first_line_of_names_is_taken(write, text):
    names = text.split("\n")[0].split(",")
    table = read_table(write(text), names)
    assert list(table) == names
    assert all(len(factor.codes) == text.count("\n") - 1 for factor in table.values())


@pytest.mark.parametrize(
    ("text", "place"), [("age,sex\n39,f\n41,m\n", "age"), ("f,age\nm,39\nf,\n", "age")]
)
def test_a_line_of_names_is_not_taken_for_data(write, text, place):
    for options in ({"header": False}, {"names": ["a", "b"]}):
        with pytest.raises(ValueError, match=f"looks like names: '{place}' stands above numbers"):
            read_table(write(text), **options)
    assert list(read_table(write(text), names=["a", "b"], header=True)) == ["a", "b"]


def test_a_marker_above_numbers_is_no_name(write):
    table = read_table(write("?,x\n39,y\n"), names=["age", "sex"])
    assert decoded(table) == {"age": ["?", "39"], "sex": ["x", "y"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names must name each of the 2 columns of .*, not 1"),
        ({"names": ["a", "a"]}, "two columns of one name: columns 1 and 2 are 'a'"),
        ({"names": ["a", "b"], "columns": ["c"]}, r"columns must be columns .*columns\[0\] = 'c'"),
    ],
)
def test_names_are_checked(write, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(write("x,1\nx,2\n"), **options)


def test_only_a_csv_has_a_header(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((3, 2)))
    for options in ({"header": True}, {"header": False}, {"names": ["a", "b"]}):
        with pytest.raises(ValueError, match="header and names are for a CSV"):
            read_table(tmp_path / "t.npy", **options)


def test_lines_are_counted_from_line_1_without_a_header(write):
    with pytest.raises(ValueError, match="line 2 has 1 field where line 1 has 2"):
        read_table(write("1,2\n3\n"), header=False)


def test_a_file_as_uci_gives_it_has_all_its_rows(write):
    """Without a header, spaces after commas, "?" for missing, a blank line at the end."""
    columns = load_adult().columns
    rows = [
        ", ".join(str(value) or "?" for value in row) for row in zip(*columns.values(), strict=True)
    ]
    path = write("\n".join(rows) + "\n\n")
    with pytest.raises(ValueError, match="looks like data: its field 1 is a number above numbers"):
        read_table(path)
    report = table_leakage(read_table(path, names=list(columns)), ["age", "sex"])
    expected = table_leakage(columns, ["age", "sex"])
    assert report.rows == 32_561
    assert report.estimate == expected.estimate


# --- spaces -----------------------------------------------------------------------------------


def test_spaces_around_fields_are_removed_and_the_report_says_so(write):
    path = write(" a , b,c\n x,1,u\nx ,2,u\n\tx, ,u\n")
    table = read_table(path)
    assert decoded(table) == {"a": ["x"] * 3, "b": ["1", "2", None], "c": ["u"] * 3}
    assert [factor.stripped for factor in table.values()] == [3, 1, 0]
    report = table_leakage(table, na="drop")
    assert report.columns_stripped == ("a", "b")
    assert "spaces around the values of a, b removed" in str(report)
    assert report.to_dict()["columns_stripped"] == ["a", "b"]
    assert "spaces" not in str(table_leakage(table, ["c"]))


@given(st.lists(st.sampled_from(["x", " x", "x ", "y", "  y", "", " "]), min_size=1))
def test_stripped_fields_are_those_of_the_stripped_file(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("csv")
    (folder / "t.csv").write_text("name\n" + "".join(f'"{value}"\n' for value in values))
    (factor,) = read_table(folder / "t.csv").values()
    assert decoded({"a": factor})["a"] == [value.strip() or None for value in values]
    assert factor.stripped == sum(value != value.strip() for value in values)
    assert len(set(factor.levels)) == len(factor.levels)


# --- missing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["?", ["?"], ["-9", "?"], ("?", -9)])
def test_markers_are_missing_values(write, missing):
    text = write("a,b\n?,1\nx,-9\ny, ?\n?x,9\n")
    table = decoded(read_table(text, missing=missing))
    assert table["a"] == [None, "x", "y", "?x"]
    assert table["b"] == ["1", "-9" if missing in ("?", ["?"]) else None, None, "9"]


@pytest.mark.parametrize("kind", [".parquet", ".npz", ".csv"])
def test_markers_are_missing_in_files_of_every_kind(tmp_path, kind):
    path = tmp_path / f"t{kind}"
    columns = {"a": np.array(["x", "?", "y", "?"]), "b": np.array([1, -9, 999, 4])}
    columns["c"] = np.array([1.5, 2.0, -9.0, np.nan])
    if kind == ".parquet":
        pq.write_table(pa.table({**columns, "a": pa.array(columns["a"].tolist())}), path)
    elif kind == ".npz":
        np.savez(path, **columns)
    else:
        path.write_text("a,b,c\nx,1,1.5\n?,-9,2.0\ny,999,-9.0\n?,4,\n")
    table = read_table(path, missing=["?", -9, "999"])
    found = [[value is None for value in column] for column in decoded(table).values()]
    assert found[0] == [False, True, False, True]
    assert found[1] == [False, True, True, False]
    assert found[2] == [False, False, True, True]
    report = table_leakage(table, ["a", "b"], na="drop")
    assert (report.rows, report.rows_dropped) == (1, 3)


@pytest.mark.parametrize(
    "column",
    [
        ["x", "?", "y", "?"],
        np.array(["x", "?", "y", "?"]),
        pa.array(["x", "?", "y", "?"]),
        pa.array(["x", "?", "y", "?"]).dictionary_encode(),
    ],
    ids=lambda column: type(column).__name__,
)
def test_a_marker_is_cautioned_until_it_is_declared(column):
    frame = pa.table({"a": column}) if isinstance(column, (pa.Array, np.ndarray)) else {"a": column}
    message = (
        "'?' is counted as a value like any other, in 2 rows of column 'a'. If it marks a missing "
        "value, pass missing=['?']."
    )
    assert table_leakage(frame).cautions == (message,)
    report = table_leakage(frame, na="drop", missing="?")
    assert report.cautions[0:0] == ()
    assert not any("counted as a value" in caution for caution in report.cautions)
    assert report.rows_dropped == 2


@pytest.mark.parametrize(
    ("values", "marker"),
    [
        ([-9, 0, 1, 1, 5], -9),
        ([-99.0, 0.5, 1.0, 1.0, 5.0], -99.0),
        ([999, 0, 1, 1, 450], 999),
        (["-9", "0", "1", "1", "5"], "-9"),
        (["NA", "0", "1", "1", "5"], "NA"),
        (["n/a", "x", "y", "y", "x"], "n/a"),
        (np.array([2**40, 0, 1, 1, 5, 9999]) % 99991, None),
        ([-9, -4, 1, 1, 5], None),  # other numbers below 0
        ([-9, 7, 7, 7, 7], None),  # a code of two
        ([999, 0, 1, 1, 700], None),  # near another
        ([99, 98, 97, 97, 96], None),  # an age
        (["?", "?", "?"], None),  # nothing else
        (["x", "y", "z", "x"], None),
        ([True, False, True], None),
        (np.array(["2020-01-01", "2020-01-02"] * 2, "M8[D]"), None),
        ([None, None, 1], None),
    ],
    ids=str,
)
def test_what_is_taken_for_a_marker(values, marker):
    cautions = table_leakage({"a": values}, na="category").cautions
    found = [caution for caution in cautions if "counted as a value" in caution]
    expected = [] if marker is None else [f"{marker!r} is counted"]
    assert [caution[: len(start)] for caution, start in zip(found, expected, strict=True)] == (
        expected
    )


# --- the bar ----------------------------------------------------------------------------------


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else(write, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    path = write("name,age\n" + "".join(f"p{k % 50},{k % 7}\n" for k in range(5000)))
    monkeypatch.setattr(delimited, "_DELAY", 0.0)
    assert main(["table", str(path)]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["table", str(path)]) == 0
    captured = capsys.readouterr()
    assert "100%" in captured.err
    assert captured.out.startswith("Publishing")


def test_a_short_reading_shows_no_bar(write, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert delimited._DELAY == 2.0
    assert main(["table", str(write("a,b\nx,y\nx,z\nu,y\n"))]) == 0
    assert capsys.readouterr().err == ""


def test_without_tqdm_there_is_an_answer_and_no_bar(write, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(delimited, "_DELAY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["table", str(write("a,b\nx,y\nx,z\nu,y\n"))]) == 0
    assert capsys.readouterr().err == ""


def test_a_file_with_more_rows_than_cells_are_looked_for_in_is_counted(tmp_path):
    """The rows beyond 2**17 are persons; the first are looked at as cells with counts might be."""
    path = tmp_path / "large.csv"
    path.write_text("sex,town\n" + "f,Bern\nm,Basel\nm,Bern\n" * 45_000)
    report = table_leakage(read_table(path))
    assert (report.rows, report.n_cells) == (135_000, 3)
