"""Tables that are already counted: the same answer as with a row a person, or a refusal."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from mialeak._cells import codes_of, count_cells, keep_rows_of_levels
from mialeak._checks.tables import rows as row_checks
from mialeak._columns import each_factor
from mialeak.tables import table_leakage

CATEGORIES = {
    "age": [30, 30, 41, 41, 52, 52, 60, 60],
    "sex": ["f", "m"] * 4,
    "town": ["x", "x", "x", "y", "y", None, "y", "x"],
}
COUNTS = [12, 1, 0, 7, 1, 40, 300, 2]
COUNTED = {**CATEGORIES, "n": COUNTS}

#: The same table with a row a person.
EXPANDED = {
    name: [value for value, count in zip(values, COUNTS, strict=True) for _ in range(count)]
    for name, values in CATEGORIES.items()
}

#: What the two reports do not share: where a row stands, and how the table was given.
GIVEN = {"assumed", "counts", "cells_empty", "riskiest"}


def compared(report):
    content = report.to_dict(top=None)
    if content["margins"]:
        del content["margins"]["riskiest"]
    return {name: value for name, value in content.items() if name not in GIVEN}


@pytest.mark.parametrize(
    "options",
    [
        {"na": "category"},
        {"na": "drop"},
        {"columns": ["age", "sex"]},
        {"columns": ["sex"], "n": 5000, "confidence": 0.5},
        {"columns": "sex"},
        {"exclude": ["town"]},
        {"exclude": ["town", "age"]},
        {"margins": ["age", "sex", ("age", "sex")]},
        {"margins": ["sex", "town"], "na": "drop", "n": 100},
        {"na": "drop", "missing": ["y", 60]},
    ],
    ids=str,
)
def test_a_counted_table_gives_the_answer_of_its_persons(options):
    counted = table_leakage(COUNTED, counts="n", **options)
    persons = table_leakage(EXPANDED, **options)
    assert compared(counted) == compared(persons)
    assert np.array_equal(counted.cell_counts, persons.cell_counts)
    assert np.array_equal(counted.cell_leakage.upper, persons.cell_leakage.upper)
    cells = {repr(counted.cell_values(cell)) for cell in range(counted.n_cells)}
    assert cells == {repr(persons.cell_values(cell)) for cell in range(persons.n_cells)}
    assert counted.samples_for(0.2) == persons.samples_for(0.2)


def test_random_tables_counted_or_not_give_the_same_answer():
    rng = np.random.default_rng(5)
    for _ in range(20):
        rows = int(rng.integers(3, 40))
        cells = rng.permutation(64)[:rows]
        table = {"a": cells // 8, "b": cells % 8}
        counts = rng.integers(0, 6, rows)
        counts[0] += 3
        persons = {name: np.repeat(values, counts) for name, values in table.items()}
        counted = table_leakage({**table, "c": counts}, counts="c")
        assert compared(counted) == compared(table_leakage(persons, exclude=None))


def test_the_rows_at_risk_are_rows_of_the_table_of_counts():
    report = table_leakage(COUNTED, ["age", "sex"], counts="n")
    assert [row.row for row in report.riskiest(3)] == [1, 4, 7]
    assert report.riskiest(1)[0].values == {"age": 30, "sex": "m"}
    assert [row.count for row in report.riskiest(None)] == sorted(c for c in COUNTS if c)
    assert report.row_cells.tolist() == [0, 1, -1, 2, 3, 4, 5, 6]
    text = str(report)
    assert "(7 of the 7 with a count of at most 300; row 0 is the first)" in text
    assert "already counted: the counts are those of n; 1 of them 0" in text
    margins = table_leakage(COUNTED, margins=["age", "sex"], counts="n").margins
    assert {row.row for row in margins.riskiest(None)} == {0, 1, 3, 4, 5, 6, 7}


def test_rows_that_are_added_to_one_cell_name_it_once():
    """Two years of four cells each: the first row of each cell stands for it."""
    table = {"a": list("xyzw") * 2, "year": [1] * 4 + [2] * 4, "n": [0, 3, 40, 9, 2, 1, 60, 9]}
    report = table_leakage(table, ["a"], counts="n")
    assert [(row.row, row.count) for row in report.riskiest(10)] == [
        (4, 2),
        (1, 4),
        (3, 18),
        (2, 100),
    ]
    assert [row.row for row in report.riskiest(2)] == [4, 1]
    assert "(4 of the 4 with a count of at most 100; row 0 is the first)" in str(report)


def test_rows_of_the_same_cell_are_added():
    table = {"a": ["x", "y", "x", "y"], "b": [1, 1, 1, 1], "n": [2, 3, 4, 5]}
    report = table_leakage(table, counts="n")
    assert report.cell_counts.tolist() == [6, 8]
    assert report.cautions[0].startswith("The 4 rows of the table of counts are 2 cells")


@pytest.mark.parametrize(
    "counts",
    [
        ["1", " 2", "0", "3"],
        ["1.0", "2.00", "0", "3"],
        [1.0, 2.0, 0.0, 3.0],
        np.array([1, 2, 0, 3], np.uint8),
        pd.Series([1, 2, 0, 3], dtype="Int64"),
    ],
    ids=str,
)
def test_counts_may_be_text_or_whole_floats(counts):
    frame = pd.DataFrame({"a": list("xyzu"), "n": counts})
    assert table_leakage(frame, counts="n").cell_counts.tolist() == [1, 2, 3]


def test_a_census_needs_no_row_a_person():
    report = table_leakage({"a": list("xyz"), "n": [10**9, 2 * 10**12, 1]}, counts="n")
    assert report.rows == 2_001_000_000_001
    with pytest.raises(ValueError, match="must hold at most 50,000,000 persons for margins"):
        table_leakage({"a": list("xyz"), "n": [10**9, 5, 1]}, margins=["a"], counts="n")


REFUSED = [
    ([1, 2, -3], "row 2 holds -3. A negative number is a correction or a marker"),
    ([1, 2.5, 3], "row 1 holds 2.5. A fraction is a weighted or estimated number"),
    ([1, None, 3], "row 1 holds no value. Write 0 where the cell is empty"),
    (["1", "", "<5"], "row 1 holds ''"),
    (["1,234", "2", "3"], "row 0 holds '1,234'. Write it without separators: 1234"),
    (["1 234", "2", "3"], "row 0 holds '1 234'. Write it without separators: 1234"),
    (["0.002", "2", "3"], "row 0 holds '0.002'. A fraction is a weighted or estimated number"),
    (["many", "2", "3"], "row 0 holds 'many'"),
    ([True, False, True], "row 0 holds True"),
    ([0, 0, 0], "sum to between 1 and 2**53; the sum is 0"),
    ([2**53, 2**53, 0], "sum to between 1 and 2**53"),
    ([float("inf"), 1.0, 2.0], "row 0 holds inf"),
]
REFUSED += [
    (
        [mark, "7", "9"],
        f"row 0 holds {mark!r}. Where the count is suppressed, pass the table before",
    )
    for mark in ["<5", "< 10", "<=5", "≤5", "1-4", "c", ":", "*", "x", "..", ".", "(s)", "n/a"]
]


@pytest.mark.parametrize(("counts", "words"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_is_no_count_is_refused_with_its_row_and_value(counts, words):
    with pytest.raises(ValueError, match="column 'n' must") as caught:
        table_leakage({"a": ["x", "y", "z"], "n": counts}, counts="n")
    assert words in str(caught.value)


@pytest.mark.parametrize("word", ["Total", " total ", "All", "SUM", "Insgesamt", "Grand total"])
def test_totals_are_refused(word):
    table = {"sex": ["f", "m", word], "n": [3, 4, 7]}
    with pytest.raises(
        ValueError, match=r"column 'sex' must hold no totals; row 2 holds"
    ) as caught:
        table_leakage(table, counts="n")
    assert "Leave out the rows of totals" in str(caught.value)


# --- recognised -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["n", "N", "count", "Freq", "len", "count(*)", "OBS_VALUE", "Anzahl", "effectif"]
)
def test_a_table_of_counts_is_not_taken_for_persons(name):
    table = {"age": [*range(40)] * 2, "sex": ["f"] * 40 + ["m"] * 40, name: [*range(5, 85)]}
    with pytest.raises(
        ValueError, match=rf"Pass counts='{re.escape(name)}', or rename the column if each"
    ):
        table_leakage(table)
    assert table_leakage(table, counts=name).rows == sum(table[name])


def test_persons_with_a_column_of_that_name_are_counted():
    rng = np.random.default_rng(1)
    table = {"age": rng.integers(20, 60, 500), "n": rng.integers(0, 9, 500)}
    assert table_leakage(table).rows == 500
    table = {"age": np.arange(500), "n": rng.random(500)}
    assert table_leakage(table).rows == 500


@pytest.mark.parametrize(
    "first", [["none", "school", "college", "master", "doctor"], [18, 30, 45, 60, 75]]
)
def test_a_cross_tabulation_is_refused(first):
    table = {"group": first, "White": [4, 30, 9, 7, 0], "Black": [3, 3, 12, 0, 9]}
    message = r"cross-tabulation.*frame\.melt\('group', value_name='n'\)\) and pass counts='n'; if"
    with pytest.raises(ValueError, match=message):
        table_leakage(table)
    with pytest.raises(ValueError, match=r"pass exclude=\['group'\]"):
        table_leakage(table)
    assert table_leakage(table, exclude=["group"]).rows == 5
    counted = pd.DataFrame(table).melt("group", value_name="n")
    report = table_leakage(counted, counts="n")
    assert (report.rows, report.cells_empty) == (77, 2)


@pytest.mark.parametrize(
    "table",
    [
        {"group": ["a", "b", "b"], "x": [1, 2, 3], "y": [4, 5, 6]},  # two rows of a group
        {"group": ["a", "b", "c"], "x": [1, 2, 3]},  # one column of numbers
        {"group": ["a", "b", "c"], "x": [1, 2, 3], "y": [4, -5, 6]},
        {"group": ["a", "b", "c"], "x": [1, 2, 3], "y": [4, 5.5, 6]},
        {"group": [5, 4, 3, 2, 1], "x": [1, 2, 3, 4, 5], "y": [4, 5, 6, 7, 8]},  # falling
        {"group": [1, 2, 3, 4], "x": [1, 2, 3, 4], "y": [4, 5, 6, 7]},  # few rows
        {"group": [1.5, 2.5, 3.5], "x": [1, 2, 3], "y": [4, 5, 6]},
    ],
)
def test_what_only_resembles_a_cross_tabulation_is_counted(table):
    assert table_leakage(table).rows == len(table["x"])


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (COUNTED, {"counts": "N"}, r"counts must be a column of the table; got counts = 'N'. Did"),
        (COUNTED, {"counts": True}, "counts must be a column of the table; got counts = True"),
        (COUNTED, {"counts": "n", "exclude": ["n"]}, "counts must be a column of the table"),
        ({"n": [1, 2]}, {"counts": "n"}, "table must have at least one column beside the counts"),
        (COUNTED, {"counts": "n", "columns": ["n"]}, "at least one column beside the counts"),
    ],
)
def test_the_column_of_counts_is_one_of_several(frame, options, message):
    with pytest.raises(ValueError, match=message):
        table_leakage(frame, **options)


def test_counts_are_named_and_not_listed():
    with pytest.raises(TypeError, match=r"counts must be the name of a column; got counts = \[1"):
        table_leakage(CATEGORIES, counts=[1, 2])


SHARES = {"sex": ["f", "f", "m"], "smokes": ["no", "yes", "no"], "share": [0.5, 0.125, 0.375]}


@pytest.mark.parametrize("scale", [1, 100, 99.9])
def test_a_table_of_shares_is_refused(scale):
    table = {**SHARES, "share": [scale * share for share in SHARES["share"]]}
    with pytest.raises(ValueError, match=r"column 'share' sums to 1 or to 100.*counts='n'"):
        table_leakage(table)


@pytest.mark.parametrize(
    "change",
    [
        {"share": [0.5, 0.125, 0.5]},  # no sum of shares
        {"share": [1.5, -0.875, 0.375]},
        {"smokes": ["no", "no", "no"]},  # two rows that agree
        {"share": [0.5, None, 0.5]},
    ],
)
def test_what_only_resembles_shares_is_counted(change):
    assert table_leakage({**SHARES, **change}, na="category").rows == 3


def test_identifiers_and_weights_are_named_by_their_names():
    table = {"pid": [1, 1, 2, 2], "wgt": [5, 5, 6, 6], "sex": list("fmfm")}
    first, second = table_leakage(table).cautions
    assert first.endswith(
        "The report is about rows, not persons; if 'pid' names the person of each row, pass "
        "person='pid', and if it is no category, exclude=['pid']."
    )
    assert second.startswith("Column 'wgt' has the name of a survey weight")
    (left,) = table_leakage(table, exclude=["pid", "wgt"]).cautions
    assert left.endswith("if a person has several, pass person='pid'.")
    once = {"pid": [1, 3, 2, 4], "sex": list("fmfm")}
    assert len(table_leakage(once).cautions) == 1


def test_categories_in_the_index_of_pandas_are_not_ignored():
    frame = pd.DataFrame({"age": [1, 1, 2, 2, 2], "sex": list("fmfmm")})
    for counted in (
        pd.crosstab(frame["age"], frame["sex"]),
        frame.groupby(["age", "sex"]).size().to_frame("n"),
    ):
        with pytest.raises(ValueError, match=r"its index has the name 'age'.*reset_index\(\)"):
            table_leakage(counted)
    with pytest.raises(ValueError, match=r"its index has the name 'age', 'sex'"):
        table_leakage(counted, counts="n")
    assert table_leakage(counted.reset_index(), counts="n").cell_counts.tolist() == [1, 1, 1, 2]
    assert table_leakage(frame.set_index("age")).rows == 5  # words are no counts


MARKED = {
    "sex": ["f", "m", "Total", "f", "m", "Total"],
    "age": [1, 1, 1, 2, 2, 2],
    "n": ["10", "<5", "14", "c", "7", "12"],
}


def test_rows_of_totals_are_left_out_when_they_are_named():
    table = {**MARKED, "n": [10, 4, 14, 5, 7, 12]}
    report = table_leakage(table, counts="n", total="Total")
    without = {
        name: [v for k, v in enumerate(values) if k % 3 < 2] for name, values in table.items()
    }
    assert report.estimate == table_leakage(without, counts="n").estimate
    assert report.row_cells.tolist() == [0, 1, -1, 2, 3, -1]
    assert report.cells_empty == 0
    assert report.cautions[0] == "2 of 6 rows are left out as totals."
    with pytest.raises(ValueError, match=r"rows of totals with total=\['Total'\]"):
        table_leakage(table, counts="n")
    with pytest.raises(ValueError, match=r"total must be values of .*; got total\[1\] = 'All'"):
        table_leakage(table, counts="n", total=["Total", "All"])
    gap = {**table, "age": [1, 1, None, 2, 2, None]}
    assert table_leakage(gap, counts="n", total="Total").estimate == report.estimate


@pytest.mark.parametrize(
    ("suppressed", "counts"),
    [
        (1, [10, 1, 1, 7]),
        (4, [10, 4, 4, 7]),
        (0, [10, 7]),
        ({"<5": 2, "c": 0}, [10, 2, 7]),
    ],
)
def test_suppressed_counts_are_taken_to_be_what_the_caller_says(suppressed, counts):
    report = table_leakage(MARKED, counts="n", total="Total", suppressed=suppressed)
    assert report.cell_counts.tolist() == counts
    taken = "0 to 2" if isinstance(suppressed, dict) else suppressed
    assert report.cautions[1] == (
        f"2 suppressed counts are replaced by {taken}. The answer is for the table with replaced "
        "counts, not for the true table."
    )


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"suppressed": None}, "row 1 holds '<5'.*or pass suppressed=1 to take"),
        ({}, {"suppressed": 5}, "must be at most 4, as the mark '<5' states; got suppressed = 5"),
        ({}, {"suppressed": {"<5": 1}}, "row 3 holds 'c'"),
        ({}, {"suppressed": -1}, "suppressed must be"),
        ({"n": ["1", "-", "1", "2", "7", "9"]}, {}, "row 1 holds '-'. If it is a zero, pass supp"),
        ({"n": ["1", "x7", "1", "2", "7", "9"]}, {}, "row 1 holds 'x7'"),
        ({"n": ["1", "1.5", "1", "2", "7", "9"]}, {}, "row 1 holds '1.5'. A fraction"),
        ({"n": ["1", "-3", "1", "2", "7", "9"]}, {}, "row 1 holds '-3'. A negative number"),
        ({"n": ["1", "3", "1", "2", "7", "9"]}, {}, "no count of the table is suppressed"),
    ],
)
def test_marks_that_are_not_named_stay_refused(change, options, message):
    options = {"counts": "n", "total": "Total", "suppressed": 1, **options}
    with pytest.raises((ValueError, TypeError), match=message):
        table_leakage({**MARKED, **change}, **options)


@pytest.mark.parametrize("options", [{"total": "x"}, {"suppressed": 1}])
def test_marks_are_those_of_a_table_of_counts(options):
    with pytest.raises(ValueError, match="is not available without counts"):
        table_leakage({"a": ["x", "x", "y"]}, **options)


def test_the_shell_names_totals_and_marks(tmp_path, capsys):
    from mialeak.cli import main

    path = tmp_path / "t.csv"
    path.write_text("sex,age,n\nf,1,10\nm,1,<5\nTotal,1,14\nf,2,-\nm,2,7\n")
    line = ["table", str(path), "--counts", "n"]
    assert main(line) == 1
    assert "with --total Total, or rename" in capsys.readouterr().err
    assert main([*line, "--total", "Total"]) == 1
    assert "pass --suppressed 1 to take" in capsys.readouterr().err
    assert main([*line, "--total", "Total", "--suppressed", "1"]) == 1
    assert "If it is a zero, pass --suppressed=-=0." in capsys.readouterr().err
    assert main([*line, "--total", "Total", "--suppressed=<5=1,-=0"]) == 0
    assert "2 suppressed counts are replaced by 0 to 1" in capsys.readouterr().out
    assert main([*line, "--suppressed", "a"]) == 1
    assert "--suppressed must be a count, or MARK=COUNT,..." in capsys.readouterr().err


def test_margins_of_a_published_table_leave_its_totals_out():
    marks = {"counts": "n", "total": "Total", "suppressed": 1}
    report = table_leakage(MARKED, margins=["sex", "age"], **marks)
    persons = {"sex": ["f"] * 11 + ["m"] * 8, "age": [1] * 10 + [2] + [1] + [2] * 7}
    expected = table_leakage(persons, margins=["sex", "age"]).margins
    assert report.margins.average == expected.average


def test_a_column_of_one_value_that_is_left_out_holds_no_totals():
    table = {"age": ["18-39", "40-64", "65+"], "sex": ["Total"] * 3, "n": [812, 655, 90]}
    assert table_leakage(table, ["age"], counts="n").cautions == ()
    assert table_leakage(table, counts="n", exclude=["sex"]).rows == 1557


@pytest.mark.parametrize(
    ("half", "others"),
    [
        ([284, 313, 287, 312], [303, 316, 299, 295]),
        ([224, 214, 237, 214, 240], [216, 223, 237, 212, 220]),
        ([568, 552, 539], [553, 547, 550]),
    ],
)
def test_a_value_that_half_of_the_persons_have_is_no_total_with_noise(half, others):
    """Draws of a value of probability 1/2 in each group: they miss a half by their own spread."""
    rows = [
        (group, level, count)
        for group, (one, rest) in enumerate(zip(half, others, strict=True))
        for level, count in enumerate([one, *(len(part) for part in np.array_split([0] * rest, 7))])
    ]
    table = dict(zip(("town", "job", "n"), zip(*rows, strict=True), strict=True))
    table = {name: list(column) for name, column in table.items()}
    assert not [x for x in table_leakage(table, counts="n").cautions if "sums of others" in x]


@pytest.mark.parametrize(("cells", "times"), [(12, 100), (24, 50), (10, 250)])
def test_as_many_rows_in_every_cell_are_a_quota_sample(cells, times):
    said = "as if every row were there"
    quota = {"group": np.repeat(np.arange(cells), times)}
    assert not any(said in each for each in table_leakage(quota).cautions)
    copied = {"group": np.append(quota["group"], [0] * times)}
    assert any(said in each for each in table_leakage(copied).cautions)
    few = {"group": np.repeat(np.arange(60), 5)}
    assert any(said in each for each in table_leakage(few).cautions)


def test_bands_of_pandas_cut_are_counted_as_their_text():
    ages = [17, 25, 31, 47, 64, 70, None, 22] * 20
    bands = pd.cut(pd.Series(ages, dtype=float), [0, 20, 40, 60])
    sexes = ["f", "m", "m", "f"] * 40
    words = [None if pd.isna(band) else str(band) for band in bands]
    expected = table_leakage({"age": words, "sex": sexes}, na="category")
    intervals = pd.Series(pd.array(bands))
    for column in (bands, intervals):
        report = table_leakage(pd.DataFrame({"age": column, "sex": sexes}), na="category")
        assert report.plug_in == expected.plug_in
        assert report.row_cells.tolist() == expected.row_cells.tolist()


def test_a_town_of_each_person_is_no_count_of_persons():
    size = [3750, 8750, 25000, 87500, 175000] * 40
    report = table_leakage({"name": list(range(200)), "population": size})
    assert not [each for each in report.cautions if "population" in each]


def test_cells_that_are_surely_uneven_have_a_large_chi_square():
    """The quick answer against the distance: at least the number of combinations."""
    rng = np.random.default_rng(12)
    met = 0
    for _ in range(300):
        rows = int(rng.integers(20, 3000))
        columns = {k: rng.geometric(rng.uniform(0.1, 0.9), rows) for k in range(3)}
        factors = dict(each_factor(columns, None))
        cells = count_cells(map(codes_of, factors.values()), rows)
        for name, factor in factors.items():
            if row_checks._are_uneven(cells, factor):
                met += 1
                others = [column for key, column in columns.items() if key != name]
                times = np.unique(others, axis=1, return_counts=True)[1]
                assert np.sum((times - rows / times.size) ** 2) * times.size / rows >= times.size
    assert met > 100


def test_the_rows_of_levels_that_are_taken_from_cells_are_those_that_are_counted():
    rng = np.random.default_rng(13)
    columns = {name: rng.integers(3, 3 + size, 500) for name, size in (("a", 2), ("b", 40))}
    taken, counted = (dict(each_factor(columns, None)) for _ in range(2))
    keep_rows_of_levels(taken, count_cells(map(codes_of, taken.values()), 500))
    for name, factor in counted.items():
        assert "rows_of_level" in vars(taken[name])
        assert np.array_equal(taken[name].rows_of_level, factor.rows_of_level)
