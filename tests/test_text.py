"""Numbers and tables in plain text."""

from __future__ import annotations

import pytest

from mialeak._text import WIDTH, align, number, percent, printable


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


def test_tables_are_aligned_and_cut_where_they_must_be():
    lines = align(("n", "word"), [("1", "a"), ("20", "bb")], left=1)
    assert lines == [" n  word", " 1  a", "20  bb"]
    lines = align(("n", "word"), [("1", "x" * 200)], left=1)
    assert lines[1] == "1  " + "x" * (WIDTH - 6) + "..."
    lines = align(("n",), [("9" * 200,)])
    assert lines[1] == "9" * 200


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
