"""Margins: what they leak, by enumeration, and how it is told."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import special

from mialeak._report.text import at_most
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.means import margin_leakage_scores
from mialeak.tables import table_leakage

#: Ten rows with the frequencies .4, .3, .2 and .1: the population of the enumeration.
SHARES = {(0, 0): 4, (0, 1): 3, (1, 0): 2, (1, 1): 1}
FRAME = {
    "a": [a for (a, _), count in SHARES.items() for _ in range(count)],
    "b": [b for (_, b), count in SHARES.items() for _ in range(count)],
}
MARGINS = {"one-way": ["a", "b"], "joint": [("a", "b")], "both": ["a", "b", ("a", "b")]}


@pytest.fixture(scope="module")
def adult():
    margins = ["age", ("education", "sex"), ["sex", "race"]]
    return table_leakage(load_adult().columns, margins=margins)


def samples(rows):
    """All counts of four cells with so many rows, and their probabilities."""
    first = np.stack(np.meshgrid(*[np.arange(rows + 1)] * 3, indexing="ij"), -1).reshape(-1, 3)
    first = first[first.sum(axis=1) <= rows]
    counts = np.column_stack([first, rows - first.sum(axis=1)])
    log_p = np.log(np.array(list(SHARES.values())) / 10)
    terms = special.gammaln(rows + 1) - special.gammaln(counts + 1).sum(axis=1) + counts @ log_p
    return counts, np.exp(terms)


def enumerated(margins, n):
    """Advantage of the best attack on a row of each cell: total variation, over all samples."""
    cells = np.array(list(SHARES))
    keys = [cells[:, ["ab".index(name) for name in margin]] for margin in margins]
    shows = [(key == value).all(axis=1) for key in keys for value in np.unique(key, axis=0)]
    shows = np.array(shows, dtype=np.int64)  # (counts published, cells)
    radix = (n + 1) ** np.arange(shows.shape[0])
    counts, p_out = samples(n)
    releases, place = np.unique(counts @ shows.T @ radix, return_inverse=True)
    p_out = np.bincount(place, p_out)
    others, p_others = samples(n - 1)
    found = []
    for cell in range(4):
        seen = (others @ shows.T + shows[:, cell]) @ radix
        p_in = np.bincount(np.searchsorted(releases, seen), p_others, releases.size)
        found.append(np.abs(p_in - p_out).sum() / 2)
    return np.array(found)


# --- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MARGINS)
@pytest.mark.parametrize("n", [3, 10, 20, 80])
def test_the_two_ends_enclose_the_enumerated_leakage(name, n):
    """And they are the leakage itself where one margin holds the others."""
    margins = MARGINS[name]
    account = table_leakage(FRAME, margins=margins, n=n).margins.plug_in
    exact = enumerated([tuple(margin) for margin in margins], n)
    assert np.all(account.low <= exact * (1 + 1e-12))
    assert np.all(exact <= account.high * (1 + 1e-12))
    assert np.all((account.low <= account.value) & (account.value <= account.high))
    average = np.array([4, 3, 2, 1]) @ exact / 10
    assert account.average.low <= average * (1 + 1e-12) <= account.average.high * (1 + 2e-12)
    if name != "one-way":
        assert account.average.kind == "exact"
        assert set(account.kinds) == {"exact"}
        assert account.value == pytest.approx(exact, rel=1e-12)
        assert account.average.value == pytest.approx(average, rel=1e-12)


def test_the_value_is_that_of_enumeration_for_large_n():
    errors = {}
    for n in (10, 20, 40, 80):
        account = table_leakage(FRAME, margins=["a", "b"], n=n).margins.plug_in
        errors[n] = np.abs(account.value / enumerated([("a",), ("b",)], n) - 1.0).max()
    assert errors[10] < 0.02
    assert errors[80] < 0.004
    for n in (10, 20, 40):  # about as 1/n
        assert 1.5 < errors[n] / errors[2 * n] < 2.6


def test_the_exact_leakage_of_a_margin_is_that_of_its_table():
    exact = enumerated([("a", "b")], 20)
    joint = table_leakage(FRAME, n=20)
    assert joint.plug_in == pytest.approx(np.array([4, 3, 2, 1]) @ exact / 10, rel=1e-12)


def test_margins_of_other_margins_add_nothing():
    joint, both = (
        table_leakage(FRAME, margins=MARGINS[name]).margins for name in ("joint", "both")
    )
    for account in ("population", "plug_in"):
        for end in ("low", "value", "high"):
            expected = getattr(getattr(joint, account), end)
            assert getattr(getattr(both, account), end) == pytest.approx(expected, rel=1e-12)


def test_fewer_margins_leak_no_more():
    nested = ["age", "sex"], ["age", ("sex", "race")], [("age", "sex", "race")]
    columns = load_adult().columns
    found = [table_leakage(columns, margins=margins).margins for margins in nested]
    for few, more in itertools.pairwise(found):
        for end in ("low", "value", "high"):
            one, other = (getattr(each.plug_in, end)[each.row_cells] for each in (few, more))
            assert np.all(one <= other * (1 + 1e-9))


def test_the_values_near_the_limits_of_the_scores(adult):
    columns = load_adult().columns
    names = ["age", "education", "sex", "race"]
    assert adult.columns == tuple(names)
    codes = np.stack([np.unique(columns[name], return_inverse=True)[1] for name in names], axis=1)
    margins = adult.margins
    scores = margin_leakage_scores(codes, [[0], [1, 2], [2, 3]], leave_one_out=False)
    limit = special.erf(np.sqrt(scores / 8))
    sizes = [
        np.unique(codes[:, columns], axis=0, return_inverse=True, return_counts=True)[1:]
        for columns in ([0], [1, 2], [2, 3])
    ]
    rarest = np.min([counts[place.reshape(-1)] for place, counts in sizes], axis=0)
    own, population = (
        each.value[margins.row_cells] for each in (margins.plug_in, margins.population)
    )
    for least, most, error in ((2, 50, 0.01), (50, 100, 1e-3), (100, adult.rows, 4e-4)):
        rows = (least <= rarest) & (rarest < most)
        assert np.any(rows)
        assert own[rows] == pytest.approx(limit[rows], rel=error)
    assert population[rows] == pytest.approx(own[rows], rel=3e-3)


def test_the_size_of_the_release_need_not_be_that_of_the_table():
    report = table_leakage(FRAME, margins=MARGINS["one-way"], n=160).margins
    assert report.n == 160
    truth = enumerated([("a",), ("b",)], 160)
    assert np.all((report.plug_in.low <= truth) & (truth <= report.plug_in.high))
    assert report.plug_in.value == pytest.approx(truth, rel=0.01)
    # A release of 20 rows expects fewer than ten in each of the cells, one of 160 in none.
    assert [margin.small for margin in report.margins] == [0, 0]
    few = table_leakage(FRAME, margins=MARGINS["one-way"], n=20).margins
    assert [margin.small for margin in few.margins] == [1, 1]
    assert any("fewer than 10 rows" in caveat for caveat in few.caveats)
    assert not any("fewer than 10 rows" in caveat for caveat in report.caveats)


def test_rows_needed_are_the_fewest_that_do(adult):
    for leakage in (0.5, 0.1, 0.01, 1e-4):
        n = adult.margins.samples_for(leakage)
        assert adult.margins.average_at(n) <= leakage < adult.margins.average_at(n - 1)
    value = adult.margins.plug_in.average.value
    assert adult.margins.average_at(adult.rows) == pytest.approx(value, rel=1e-12)
    with pytest.raises(ValueError, match="leakage must be reached with at most"):
        adult.margins.samples_for(1e-9)
    with pytest.raises(ValueError, match="leakage must be strictly between 0 and 1"):
        adult.margins.samples_for(0)


def test_margins_are_counted(adult):
    margins = adult.margins.margins
    assert [margin.name for margin in margins] == ["age", "education*sex", "sex*race"]
    columns = load_adult().columns
    sizes = np.unique(np.stack([columns["sex"], columns["race"]]), axis=1, return_counts=True)[1]
    assert (margins[2].cells, margins[2].least) == (len(sizes), sizes.min())
    ages = np.unique(columns["age"], return_counts=True)[1]
    assert (margins[0].cells, margins[0].small) == (len(ages), (ages < 10).sum())
    assert adult.margins.n_counts == sum(margin.cells for margin in margins)


def test_the_riskiest_rows_are_told_with_their_rarest_cell(adult):
    margins = adult.margins
    value, own = (each.value[margins.row_cells] for each in (margins.population, margins.plug_in))
    order = np.lexsort((np.arange(adult.rows), -own, -value))
    rows = adult.margins.riskiest(30)
    assert [row.row for row in rows] == order[:30].tolist()
    columns = load_adult().columns
    for row in rows:
        leakage = margins.row_leakage
        ends = (row.population.low, row.population.high)
        assert ends == (leakage.lower[row.row], leakage.upper[row.row])
        assert (row.population.value, row.plug_in.value) == (value[row.row], own[row.row])
        assert row.plug_in.kind == margins.plug_in.kinds[margins.row_cells[row.row]]
        assert row.values == {name: columns[name][row.row] for name in adult.columns}
        names = row.margin.split("*")
        same = [columns[name] == columns[name][row.row] for name in names]
        assert row.count == np.logical_and.reduce(same).sum()


def test_the_distribution_counts_rows(adult):
    leakage = adult.margins.row_leakage
    for point in adult.margins.distribution():
        for name, end in (("low", leakage.lower), ("high", leakage.upper)):
            assert np.mean(end >= point[name]) >= point["share"]
            assert np.mean(end > point[name]) < point["share"]


def test_missing_values_are_a_category_or_dropped():
    frame = pd.DataFrame({**FRAME, "c": [None, *"xxxxxyyyy"]})
    dropped = table_leakage(frame, margins=["a", "c"], na="drop")
    assert np.isnan(dropped.margins.row_leakage.lower[0])
    alone = table_leakage(frame[1:], margins=["a", "c"])
    expected = alone.margins.row_leakage.upper
    assert dropped.margins.row_leakage.upper[1:] == pytest.approx(expected, rel=1e-12)
    counted = table_leakage(frame, margins=["a", "c"], na="category").margins
    assert counted.margins[1].cells == 3
    assert counted.row_leakage.upper[0] == 1.0
    assert counted.riskiest(1)[0].values == {"a": 0, "c": None}


def test_the_joint_counts_are_told_beside(adult):
    plain = table_leakage(load_adult().columns, adult.columns)
    assert plain.margins is None
    assert adult.estimate == plain.estimate
    # The margins are a function of the joint counts, and one margin of all of them.
    assert adult.margins.plug_in.average.high == pytest.approx(adult.plug_in, rel=1e-12)
    assert adult.margins.average.high == adult.estimate.high
    # Each margin is a function of all; the interval of one of three is wider than 95 %.
    single = table_leakage(load_adult().columns, ["age"])
    assert 0.98 * single.estimate.low < adult.margins.average.low < single.estimate.low
    assert adult.margins.plug_in.average.low >= single.plug_in


def test_columns_may_be_more_than_the_margins_name():
    report = table_leakage({**FRAME, "c": [1, 2] * 5}, ["c", "b", "a"], margins=["a"])
    assert report.columns == ("c", "b", "a")
    assert report.margins.row_leakage.lower == pytest.approx(
        table_leakage(FRAME, margins="a").margins.row_leakage.lower
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margins": []}, "margins must name at least one margin"),
        ({"margins": ["a", ()]}, "margins must name at least one column each; got margins[1] = ()"),
        (
            {"margins": [("a", "b", "a")]},
            "margins must name a column once each; got margins[0] = ('a', 'b', 'a')",
        ),
        (
            {"margins": ["a", "b"], "columns": ["a"]},
            "margins must name columns that are chosen; got margins[1] = 'b'",
        ),
        (
            {"margins": ["a", "bb"]},
            "columns must be columns of the table; got columns[1] = 'bb'. Did you mean 'b'?",
        ),
        ({"margins": ["a"], "n": 1}, "n must be between 2 and 2**53; got n = 1"),
    ],
)
def test_margins_that_are_none_are_refused(options, message):
    with pytest.raises(ValueError, match="must") as caught:
        table_leakage(FRAME, **options)
    assert str(caught.value) == message


# --- how it is told ---------------------------------------------------------------------------


def test_the_report_is_ready_for_json_and_travels(adult):
    content = json.loads(json.dumps(adult.to_dict(top=2), allow_nan=False))["margins"]
    assert content["population"]["average"]["high"] == adult.margins.average.high
    assert content["plug_in"]["average"]["kind"] == "asymptotic"
    assert content["margins"][1] == {
        "columns": ["education", "sex"],
        "cells": 32,
        "least": adult.margins.margins[1].least,
        "small": 0,
    }
    assert len(content["riskiest"]) == 2
    copy = pickle.loads(pickle.dumps(adult))
    assert copy.to_dict() == adult.to_dict()
    assert str(copy) == str(adult)
    assert repr(adult.margins).startswith("MarginReport(age, education*sex, sex*race; average=0.0")


def test_the_text_leads_with_the_margins_and_fits_a_page(adult):
    text = adult.text(leakage=0.02, top=3)
    lines = text.splitlines()
    average, own = adult.margins.average, adult.margins.plug_in.average
    counts = adult.margins.n_counts
    assert " ".join(lines[:2]).startswith(
        f"Publishing these 3 margins ({counts} counts) leaks {average.value:.3f} on average "
        f"(95% range {average.low:.3f} to {average.high:.3f}) and "
    )
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert (
        f"  {own.value:.3f}  if the table's own frequencies were the population (asymptotic; "
        f"certainly {own.low:.3f} to {own.high:.3f})"
    ) in lines
    needed = adult.margins.samples_for(0.02)
    assert f"  {needed:,}  if the table's own frequencies were the population (asymptotic)" in lines
    assert "Rows most at risk (3 of 32,561; row 0 is the first)" in lines
    assert "5 of the " in text
    single = table_leakage(FRAME, margins="a", n=50).text()
    assert single.startswith("Publishing such margins of 50 rows leaks")
    assert table_leakage(FRAME, margins="a").text().startswith("Publishing this margin (2 counts)")


# --- the shell --------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    rows = zip(FRAME["a"], FRAME["b"], strict=True)
    path.write_text("a,b,unused\n" + "".join(f"{a},{b},{k}\n" for k, (a, b) in enumerate(rows)))
    return str(path)


def answer(capsys, *arguments, code=0):
    assert main(["table", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_the_shell_says_what_the_report_says(table, capsys):
    options = ["--margins", "a, b,a * b", "--target", "0.05", "--top", "1"]
    assert main(["table", table, *options]) == 0
    text = {name: [str(value) for value in values] for name, values in FRAME.items()}
    report = table_leakage(text, margins=MARGINS["both"])
    assert capsys.readouterr().out == report.text(leakage=0.05, top=1) + "\n"
    content = answer(capsys, table, *options)
    assert content["margins"] == json.loads(json.dumps(report.to_dict(top=1)["margins"]))
    assert content["samples"]["margins"] == report.margins.samples_for(0.05)
    assert content["columns"] == ["a", "b"]


def test_adult_end_to_end(capsys):
    margins = "age,sex,race,education*sex"
    assert main(["table", "--example", "adult", "--margins", margins]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Publishing these 4 margins (112 counts) leaks 0.0")
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("option", "place", "judged"),
    [
        ("--max-leakage", "average", "leakage on average"),
        ("--max-row-leakage", "highest", "leakage of the riskiest row"),
    ],
)
def test_the_gate_goes_by_the_upper_end(table, capsys, option, place, judged):
    margins = [table, "--margins", "a", "--n", "30"]
    high = answer(capsys, *margins)["margins"]["population"][place]["high"]
    assert 0 < high < 1
    for limit, code in [(high, 0), (high - 1e-12, 2)]:
        limits = answer(capsys, *margins, option, repr(limit), code=code)["limit"]
        name = option[2:].replace("-", "_")
        assert limits[name] == limit
        assert limits[name.removeprefix("max_")] == high
        assert limits["over"] == (code == 2)
        assert list(limits.values()).count(None) == 2
    assert main(["table", *margins, option, "0.99"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    subject = f"The {judged}, upper end of its 95% range, {at_most(high)},"
    assert last == f"{subject} is within the limit 0.99."


def test_both_limits_are_judged_and_either_may_be_exceeded(table, capsys):
    limits = ["--max-leakage", "1", "--max-row-leakage", "0"]
    for margins in ([], ["--margins", "a,b"]):
        assert main(["table", table, *margins, *limits]) == 2
        words = " ".join(capsys.readouterr().out.split())
        average, row = words.split("The leakage of the riskiest row, upper end of its 95% range,")
        assert average.endswith("is within the limit 1. ")
        assert row.endswith("is above the limit 0.")


def test_a_limit_that_only_the_asymptotic_number_keeps_is_not_passed(table, capsys):
    margins = [table, "--margins", "a,b"]
    average = answer(capsys, *margins)["margins"]["population"]["average"]
    limit = (average["value"] + average["high"]) / 2
    assert main(["table", *margins, "--max-leakage", repr(limit)]) == 2
    words = " ".join(capsys.readouterr().out.split())
    assert " The estimate for the population, 0." in words
    assert words.endswith("is within it: no proof.")


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ("a,bb", "--margins must be columns of the table; got 'bb'. "),
        ("", "--margins must name at least one column"),
        ("a**b", "--margins must be columns of the table; got ''. "),
        ('"a', "--margins must be a line of CSV; got '\"a' (unexpected end of data)"),
    ],
)
def test_errors_are_one_line_on_stderr_and_exit_with_1(table, capsys, margins, message):
    assert main(["table", table, "--margins", margins]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"mialeak: error: {message}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("options", [[], ["--margins", "a,b"]])
def test_a_picture_is_written(table, tmp_path, capsys, options):
    path = tmp_path / "table.png"
    assert main(["table", table, "--plot", str(path), *options]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "\n\nPublishing" in "\n\n" + capsys.readouterr().out


def drawn_from(shared, first, second, rows, rng):
    """Rows of a law in which two columns are independent given the one that margins share."""
    a = rng.choice(shared.size, rows, p=shared)
    b, c = (
        (each.cumsum(axis=1)[a] < rng.random(rows)[:, None]).sum(axis=1) for each in (first, second)
    )
    return {"a": a, "b": b, "c": c}


def drawn_leakage(shared, first, second, n, rng, draws=20):
    """Average leakage of both margins: the likelihood ratio has a closed form for such a law."""
    law = shared[:, None, None] * first[:, :, None] * second[:, None, :]
    total = 0.0
    for _ in range(draws):
        every = rng.multinomial(n, shared)
        b, c = (rng.multinomial(every, each) for each in (first, second))
        ratio = b[:, :, None] * c[:, None, :] / np.maximum(every, 1)[:, None, None] / (n * law)
        total += float((law * np.abs(ratio - 1.0)).sum()) / 2
    return total / draws


@pytest.mark.parametrize(
    ("regions", "ages", "others", "n"), [(16, 60, 2, 1200), (16, 30, 20, 1200), (300, 3, 6, 600)]
)
def test_margins_that_share_a_column_leak_what_tables_of_a_known_law_do(regions, ages, others, n):
    """By the frequencies of the other rows the value was 10 to 53 % too high."""
    rng = np.random.default_rng(ages)
    by_age = np.tile(rng.dirichlet(np.full(ages, 3.0)), (regions, 1))
    by_other = rng.dirichlet(np.full(others, 3.0), regions)
    regions = np.arange(2 * regions, regions, -1.0)
    regions /= regions.sum()
    truth = drawn_leakage(regions, by_age, by_other, n, rng)
    errors = []
    for _ in range(2):
        frame = drawn_from(regions, by_age, by_other, n, rng)
        margins = table_leakage(frame, margins=[("a", "b"), ("a", "c")]).margins
        assert margins.average.low <= truth <= margins.average.high
        assert margins.population.average.kind == "estimate"
        errors.append(margins.average.value / truth - 1.0)
    assert np.abs(errors).max() < 0.08
    assert abs(np.mean(errors)) < 0.05


def test_the_estimate_of_margins_lies_between_those_of_one_margin_and_of_the_joint_counts():
    rng = np.random.default_rng(5)
    table = {
        "a": rng.integers(0, 9, 600),
        "b": rng.integers(0, 60, 600),
        "c": rng.integers(0, 2, 600),
    }
    report = table_leakage(table, margins=[("a", "b"), ("a", "c")])
    single = table_leakage(table, ["a", "b"]).estimate
    assert single.value <= report.margins.average.value <= report.estimate.value
    assert "10 % too low or too high" in report.margins.caveats[-1]
    independent = "The columns of different margins are independent of one another."
    assert independent not in " ".join(report.assumed)
    apart = table_leakage(table, margins=["a", "c"], independent=True)
    assert independent in " ".join(apart.assumed)
