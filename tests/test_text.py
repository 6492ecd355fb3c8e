"""Numbers and tables in plain text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from mialeak._report.document import Document, Notes, Pairs, Section, Table, as_text
from mialeak._report.text import (
    WIDTH,
    accuracy,
    align,
    at_least,
    at_most,
    enough,
    number,
    percent,
    printable,
    significant,
    width,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.3994, "0.399"),
        (0.9996, ">0.999"),
        (0.001, "0.001"),
        (0.00099, "9.9e-04"),
        (2.06e-18, "2.1e-18"),
    ],
)
def test_numbers_never_round_to_certainty(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (1.0, "100%"), (0.7, "70.0%"), (0.9996, ">99.9%"), (0.0004, "<0.1%")],
)
def test_percentages_never_round_to_certainty(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("leakage", "text"),
    [(0.0, "50.0%"), (0.186, "59.3%"), (1.0, "100%"), (math.nextafter(1.0, 0.0), ">99.9%")],
)
def test_an_attacker_is_always_right_only_at_leakage_1(leakage, text):
    assert accuracy(leakage) == text
    assert (number(leakage) == "1") == (text == "100%")


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_what_is_needed_is_rounded_up_and_what_is_proved_down(value):
    assert value <= float(at_least(value)) <= value * 1.0011
    assert value * 0.9989 <= float(at_most(value)) <= value


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.121, "0.1210"), (0.99996, ">0.9999"), (2e-7, "2.000e-07")],
)
def test_numbers_of_some_digits_line_up_and_never_round_to_certainty(value, text):
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.9996, ">0.999"), (1234.0, "1.23e+03"), (123, "123")]
)
def test_numbers_have_the_digits_asked_for(value, text):
    assert significant(value, 3) == text


def test_what_has_few_digits_is_told_as_it_is():
    assert (at_least(0.25), at_most(0.25), at_least(0.0), at_most(math.inf)) == (
        *("0.25", "0.25", "0", "inf"),
    )
    assert (at_least(2.0001, 3), at_most(2.999, 3)) == ("2.01", "2.99")


@pytest.mark.parametrize(
    ("rows", "text"),
    [(1, "1"), (999, "999"), (1001, "1,010"), (15_593_131, "15,600,000"), (10**9, "1,000,000,000")],
)
def test_an_estimate_of_rows_has_three_digits_and_is_enough(rows, text):
    assert enough(rows) == text


def test_tables_are_aligned_and_cut_where_they_must_be():
    lines = align(("n", "word"), [("1", "a"), ("20", "bb")], left=1)
    assert lines == [" n  word", " 1  a", "20  bb"]
    lines = align(("n", "word"), [("1", "x" * 200)], left=1)
    assert lines[1] == "1  " + "x" * (WIDTH - 6) + "..."
    names = [f"column{place}" for place in range(30)]
    header, line = align(names, [["12345678"] * 30], left=30)
    assert header.endswith("column7 and 22 more")
    assert len(header) <= WIDTH
    assert line.split() == ["12345678"] * 8
    lines = align(("n",), [("9" * 200,)])
    assert lines[1] == "9" * 200


@pytest.mark.parametrize(("columns", "fits"), [(250, 98), (80, 78), (20, 58)])
def test_a_report_fits_the_terminal(monkeypatch, columns, fits):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert width() == fits
    parts = [
        Notes(["word " * 50]),
        Pairs([("1", "word " * 50)]),
        Table(["n", "w"], [("1", "x" * 99)], 1),
    ]
    lines = as_text(Document("word " * 50, [Section("word " * 50, parts)])).splitlines()
    assert fits - 5 < max(map(len, lines)) <= fits + 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "(missing)"),
        (39, "39"),
        ("Größe", "Größe"),
        ("", ""),
        ("a\x1b[31m\nb", "a\\x1b[31m\\nb"),
    ],
)
def test_values_are_shown_on_one_line(value, text):
    assert printable(value) == text
