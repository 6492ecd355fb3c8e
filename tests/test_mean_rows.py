"""Rows of a table against its own mean and margins: recomputation, enumeration, closed forms."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage
from mialeak._numerics import distances
from mialeak.datasets import load_genotypes
from mialeak.means import _margins, leakage_score, margin_leakage_scores
from mialeak.means._rows import calibrated_shrinkage, row_leakage_scores, spectrum
from mialeak.reference import mean as twins

RNG = np.random.default_rng(41)


def table(n=40, d=4):
    return RNG.normal(size=(n, d)) @ RNG.normal(size=(d, d)) + 5.0


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("noise", [None, 0.3, np.array([0.1, 0.2, 0.3, 0.4])])
def test_closed_form_is_recomputation_without_the_row(structure, noise):
    rows = table()
    got = row_leakage_scores(rows, structure=structure, release_noise_cov=noise)
    truth = twins.row_leakage_scores(rows, structure, 0.0 if noise is None else noise)
    np.testing.assert_allclose(got, truth, rtol=1e-11)


def test_correlated_noise_is_recomputation_too():
    rows, mixing = table(), RNG.normal(size=(4, 4))
    noise = mixing @ mixing.T
    truth = twins.row_leakage_scores(rows, "full", noise)
    np.testing.assert_allclose(row_leakage_scores(rows, release_noise_cov=noise), truth, rtol=1e-11)


def test_an_outlier_keeps_its_digits():
    rows = table(30, 3)
    rows[7] *= 1e3
    got = row_leakage_scores(rows)
    np.testing.assert_allclose(got, twins.row_leakage_scores(rows), rtol=1e-7)
    assert got[7] > 1e3


def test_one_hot_rows_have_the_closed_form():
    """(1/p - 1)/n with p from the n - 1 others, whose covariance has the divisor n - 2."""
    counts = np.array([5, 3, 12])
    n = counts.sum()
    rows = np.repeat(np.eye(3), counts, axis=0)
    p = (counts - 1) / (n - 1)
    truth = np.repeat((1 / p - 1) / n * (n - 2) / (n - 1), counts)
    np.testing.assert_allclose(row_leakage_scores(rows), truth, rtol=1e-10)


def test_a_row_that_alone_moves_a_column_is_given_away():
    rows = table(20, 3)
    rows[:, 1] = 4.0
    rows[6, 1] = 4.1
    for structure in ("full", "diagonal"):
        got = row_leakage_scores(rows, structure=structure)
        assert got[6] == np.inf
        assert np.isfinite(np.delete(got, 6)).all()
        noisy = row_leakage_scores(rows, structure=structure, release_noise_cov=0.01)
        truth = twins.row_leakage_scores(rows, structure, 0.01)
        np.testing.assert_allclose(noisy, truth, rtol=1e-10)


@pytest.mark.parametrize("columns", [400, 1000, 3000, 50_000])
def test_too_few_rows_for_a_full_covariance_are_refused(columns):
    """Scores twice too high, or infinite, or 18 GiB asked for."""
    rows = np.broadcast_to(RNG.normal(size=(500, 1)), (500, columns))
    rows = rows if columns > 3000 else rows + RNG.normal(size=(500, columns))
    message = r'structure must be "shrunk" or "diagonal" for 500 rows and .*\. A full covariance'
    with pytest.raises(ValueError, match=message):
        row_leakage_scores(rows)


@pytest.mark.parametrize(("n", "full"), [(8, False), (9, True)])
def test_a_full_covariance_takes_more_than_two_rows_a_dimension(n, full):
    rows = table(n, 4)
    rows = np.column_stack([rows, rows.sum(axis=1), np.ones(n)])  # of rank 4
    if full:
        assert np.isfinite(row_leakage_scores(rows)).all()
    else:
        with pytest.raises(ValueError, match="for 8 rows and columns of rank 4"):
            row_leakage_scores(rows)


@pytest.mark.parametrize(("n", "columns"), [(30, 8), (20, 40), (20, 20)])
@pytest.mark.parametrize("noise", [None, 0.3, "each"])
def test_scores_by_a_shrunk_covariance_are_those_without_the_row(n, columns, noise):
    """The intensity is the least with which, without noise, scores average d/n."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 2)) @ rng.normal(size=(2, columns)) + rng.normal(size=(n, columns))
    std = rows.std(axis=0)

    def by_hand(share, added):
        scores = []
        for k in range(n):
            others = np.delete(rows, k, axis=0)
            cov = (1 - share) * np.cov(others.T) + np.diag(share * std**2 + n * added)
            gap = rows[k] - others.mean(axis=0)
            scores.append(gap @ np.linalg.solve(cov, gap) / n)
        return np.array(scores)

    share = calibrated_shrinkage(*spectrum((rows - rows.mean(axis=0)) / std), columns)
    assert 1e-6 < share < 1
    assert by_hand(share, np.zeros(columns)).mean() == pytest.approx(columns / n, rel=1e-9)
    for less in np.geomspace(1e-6, share, 20, endpoint=False):
        assert by_hand(less, np.zeros(columns)).mean() > columns / n
    noise = np.linspace(0.1, 2, columns) if noise == "each" else noise
    added = np.zeros(columns) if noise is None else np.broadcast_to(noise, (columns,))
    got = row_leakage_scores(rows, structure="shrunk", release_noise_cov=noise)
    np.testing.assert_allclose(got, by_hand(share, added), rtol=1e-11)


def test_columns_that_repeat_others_are_counted_once():
    """Each of 20 columns ten times: as if once; "diagonal" is ten times that."""
    rows = RNG.normal(size=(100, 20))
    repeated = np.repeat(rows, 10, axis=1)
    shrunk = row_leakage_scores(repeated, structure="shrunk")
    np.testing.assert_allclose(shrunk, row_leakage_scores(rows, structure="shrunk"), rtol=1e-9)
    assert shrunk.mean() == pytest.approx(20 / 100, rel=0.03)
    alone = row_leakage_scores(rows, structure="diagonal")
    np.testing.assert_allclose(row_leakage_scores(repeated, structure="diagonal"), 10 * alone)


def test_shrunk_genotypes_leak_what_a_panel_of_others_says():
    """127 sites of 500 people, by the covariance of the other 2,004: mean relative error."""
    counts = load_genotypes().counts.astype(float)
    order = np.random.default_rng(0).permutation(len(counts))
    rows, panel = counts[order[:500]], counts[order[500:]]
    # The inverse of a covariance of 2,004 rows is too large by about 1/(1 - 127/2004).
    truth = leakage_score(rows, panel.mean(axis=0), np.cov(panel.T), 500) * (1 - 127 / 2004)

    def error(kind):
        return np.mean(np.abs(row_leakage_scores(rows, structure=kind) / truth - 1))

    assert error("shrunk") < 0.08
    assert error("diagonal") > 0.2
    assert error("full") > 0.3


@pytest.mark.parametrize(("n", "columns"), [(100, 60), (60, 100), (100, 20)])
def test_shrinkage_is_nearer_to_the_truth_where_columns_are_linked(n, columns):
    """Normal columns with correlations 0.8^|i - j|: mean relative error of a score."""
    rng = np.random.default_rng(columns)
    cov = 0.8 ** np.abs(np.subtract.outer(np.arange(columns), np.arange(columns)))
    rows = rng.normal(size=(n, columns)) @ np.linalg.cholesky(cov).T
    truth = leakage_score(rows, np.zeros(columns), cov, n)
    shrunk, diagonal = (
        np.mean(np.abs(row_leakage_scores(rows, structure=kind) / truth - 1))
        for kind in ("shrunk", "diagonal")
    )
    assert shrunk < 0.75 * diagonal
    assert shrunk < 0.2


def test_a_row_alone_in_a_column_is_given_away_whatever_is_shrunk():
    rows = table(20, 30)
    rows[:, 1] = 4.0
    rows[6, 1] = 4.1
    got = row_leakage_scores(rows, structure="shrunk")
    assert got[6] == np.inf
    assert np.isfinite(np.delete(got, 6)).all()
    assert np.isfinite(row_leakage_scores(rows, structure="shrunk", release_noise_cov=0.1)).all()
    assert np.all(row_leakage_scores(np.ones((5, 2)), structure="shrunk") == 0)


def test_a_constant_column_says_nothing():
    rows = table(20, 3)
    wide = np.insert(rows, 1, 0.1, axis=1)
    for structure in ("full", "diagonal"):
        expected = row_leakage_scores(rows, structure=structure)
        np.testing.assert_allclose(
            row_leakage_scores(wide, structure=structure), expected, rtol=1e-12
        )


def test_scores_average_to_a_little_above_d_over_n():
    rows = RNG.normal(size=(4000, 20))
    for structure in ("full", "diagonal"):
        mean = row_leakage_scores(rows, structure=structure).mean()
        assert 20 / 4000 < mean < 20 / 4000 * 1.02


def test_units_do_not_matter():
    rows, units = table(), np.array([1e-9, 1.0, 1e6, 1e12])
    for structure in ("full", "diagonal"):
        expected = row_leakage_scores(rows, structure=structure)
        np.testing.assert_allclose(
            row_leakage_scores(rows * units, structure=structure), expected, rtol=1e-8
        )


def test_blocks_do_not_show(monkeypatch):
    rows = table(300, 4)
    whole = [row_leakage_scores(rows, structure=s) for s in ("full", "diagonal")]
    monkeypatch.setattr(distances, "_BLOCK", 50)
    monkeypatch.setattr(distances, "_MATRIX_BLOCK", 50)
    for structure, expected in zip(("full", "diagonal"), whole, strict=True):
        np.testing.assert_allclose(
            row_leakage_scores(rows, structure=structure), expected, rtol=1e-11
        )


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (np.zeros((2, 3)), {}, "X must have at least 3 rows and 1 column; its shape is (2, 3)"),
        (np.zeros((5, 0)), {}, "X must have at least 3 rows and 1 column; its shape is (5, 0)"),
        (np.zeros(5), {}, "X must have 2 dimensions; its shape is (5,)"),
        ([[0.0], [np.nan], [1.0]], {}, "X must be finite; got X[1, 0] = nan"),
        (
            np.eye(3),
            {"structure": "block"},
            'structure must be "full", "shrunk" or "diagonal"; got',
        ),
        (np.eye(3), {"release_noise_cov": [1.0, 2.0]}, "release_noise_cov must be a number, 3"),
        (
            np.eye(3),
            {"release_noise_cov": np.eye(3), "structure": "diagonal"},
            'release_noise_cov must be a number or variances with structure="diagonal"',
        ),
    ],
)
def test_bad_tables_are_told(rows, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        row_leakage_scores(rows, **options)


def codes(n=200, sizes=(3, 4, 2)):
    return np.stack([RNG.integers(0, k, n) for k in sizes], axis=1)


MARGINS = [[[0]], [[0], [1]], [[0, 1], [1, 2]], [[0], [1], [0, 1]], [[0, 1, 2]], [[2], [2]]]


@pytest.mark.parametrize("margins", MARGINS)
def test_margins_are_the_pseudo_inverse_of_their_indicators(margins):
    rows = codes()
    got = margin_leakage_scores(rows, margins, leave_one_out=False)
    np.testing.assert_allclose(got, twins.margin_leakage_scores(rows, margins), rtol=1e-9)


@pytest.mark.parametrize("margins", MARGINS)
def test_margins_leave_one_out_as_rows_of_indicators(margins):
    rows = codes()
    columns = []
    for margin in margins:
        places = np.unique(rows[:, margin], axis=0, return_inverse=True)[1].reshape(-1)
        columns.append(np.eye(places.max() + 1)[places])
    expected = row_leakage_scores(np.concatenate(columns, axis=1))
    np.testing.assert_allclose(margin_leakage_scores(rows, margins), expected, rtol=1e-9)


def test_margins_of_a_small_table_by_enumeration():
    """The law of the two margins over all tables of 4 rows has the covariance that is used."""
    p = np.array([[5, 2], [1, 4]]) / 12
    rows = np.array([[0, 0]] * 5 + [[0, 1]] * 2 + [[1, 0]] + [[1, 1]] * 4)
    cells = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    weights, margins = [], []
    for drawn in np.ndindex(4, 4, 4, 4):
        weights.append(np.prod(p.ravel()[list(drawn)]))
        margins.append(cells[list(drawn)].sum(axis=0) / 4)
    weights, margins = np.array(weights), np.array(margins)
    mean = weights @ margins
    cov = 4 * ((margins - mean).T * weights) @ (margins - mean)
    truth = [leakage_score(cells[2 * a + b], mean, cov, 12) for a, b in rows]
    got = margin_leakage_scores(rows, [[0], [1]], leave_one_out=False)
    np.testing.assert_allclose(got, truth, rtol=1e-10)


def test_one_margin_has_the_closed_form():
    rows = codes(500)
    counts = np.bincount(rows[:, 1])[rows[:, 1]]
    got = margin_leakage_scores(rows, [[1]], leave_one_out=False)
    np.testing.assert_allclose(got, (500 / counts - 1) / 500, rtol=1e-11)


def test_margins_within_margins_add_nothing():
    rows = codes()
    alone = margin_leakage_scores(rows, [[0, 1]])
    np.testing.assert_allclose(margin_leakage_scores(rows, [[0], [0, 1], [1]]), alone, rtol=1e-9)


def test_scores_sum_to_the_rank():
    """With frequencies from the table, sum h_i = n rank: rank/n on average."""
    rows = codes(3000)
    got = margin_leakage_scores(rows, [[0], [1], [2]], leave_one_out=False)
    assert got.sum() == pytest.approx((3 - 1) + (4 - 1) + (2 - 1), rel=1e-11)


def test_a_cell_of_ones_own_gives_its_row_away():
    rows = np.array([[0, 0]] * 9 + [[1, 0]])
    got = margin_leakage_scores(rows, [[0], [1]])
    assert got[9] == np.inf
    assert np.isfinite(got[:9]).all()
    plug_in = margin_leakage_scores(rows, [[0]], leave_one_out=False)
    assert plug_in[9] == pytest.approx((10 - 1) / 10)


def test_codes_too_large_for_one_key_are_told_apart():
    rows = codes()
    spread = rows.astype(np.int64) * 2**40
    np.testing.assert_allclose(
        margin_leakage_scores(spread, [[0, 1, 2]]), margin_leakage_scores(rows, [[0, 1, 2]])
    )


def test_strips_of_margins_do_not_show(monkeypatch):
    rows = codes(500, (5, 7, 6))
    whole = margin_leakage_scores(rows, [[0, 1], [2], [1, 2]])
    monkeypatch.setattr(_margins, "_STRIP", 3)
    got = margin_leakage_scores(rows, [[0, 1], [2], [1, 2]])
    np.testing.assert_allclose(got, whole, rtol=1e-11)


def test_many_rows_in_independent_columns_have_the_rank_of_their_margins():
    """Rounded frequencies would leave pivots above the limit, and cells too many."""
    rows = RNG.integers(0, 10, (50_000, 8))
    margins = [[k] for k in range(8)]
    got = margin_leakage_scores(rows, margins, leave_one_out=False)
    assert got.sum() == pytest.approx(8 * 9, rel=1e-11)


def test_a_rank_that_rounding_decides_is_refused(monkeypatch):
    rows = codes(500, (5, 7, 6))
    margins = [[0, 1], [1, 2], [0, 2]]
    monkeypatch.setattr(_margins, "_PIVOT", -(5 * 7 + 7 * 6 + 5 * 6))  # any pivot above 0 counts
    with pytest.raises(ValueError, match="margins must have cells that do not all but determine"):
        margin_leakage_scores(rows, margins)


def test_margins_take_one_matrix_of_their_cells():
    rows = codes(2000, (30, 30, 30))
    margins = [[0, 1], [1, 2], [0, 2]]
    cells = sum(len(np.unique(rows[:, margin], axis=0)) for margin in margins)
    assert cells > 2000
    margin_leakage_scores(rows[:100], margins)  # imports
    tracemalloc.start()
    try:
        margin_leakage_scores(rows, margins)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.0 * 8 * cells**2


def test_a_bar_shows_how_far_the_margins_are(capsys):
    pytest.importorskip("tqdm")
    expected = margin_leakage_scores(codes(), [[0], [1]])
    assert capsys.readouterr().err == ""
    margin_leakage_scores(codes(), [[0], [1]], progress=True)
    assert "100%" in capsys.readouterr().err
    assert expected.shape == (200,)


def test_bad_margins_are_told(monkeypatch):
    rows = codes()
    for bad, message in [
        ([], "margins must name at least one margin"),
        ([[0], []], "margins must each name at least one column; got margins[1] = ()"),
        ([[0], 1], "margins must be tuples of columns; got margins[1] = 1. (0,) is column 0 alone"),
        ([[0, 3]], "margins must name columns below 3; got margins[0] = (0, 3)"),
        ([[-1]], "margins must be between 0 and 2**53; got margins[0] = -1"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            margin_leakage_scores(rows, bad)
    with pytest.raises(ValueError, match="codes must have 2 dimensions and at least 3 rows"):
        margin_leakage_scores(rows[:2], [[0]])
    with pytest.raises(TypeError, match="codes must be integers"):
        margin_leakage_scores(rows.astype(float), [[0]])
    monkeypatch.setattr(_margins, "_MOST_CELLS", 6)
    with pytest.raises(ValueError, match="margins must have at most 6 cells together; they have 7"):
        margin_leakage_scores(rows, [[0], [1]])


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("unit", [1e-200, 1e-160, 2.0**-450, 2.0**450, 1e160, 1e200])
def test_row_scores_do_not_depend_on_the_unit_of_a_column(structure, unit):
    table = np.random.default_rng(5).normal(size=(20, 3))
    usual = row_leakage_scores(table, structure=structure)
    found = row_leakage_scores(table * [unit, 1.0, unit], structure=structure)
    np.testing.assert_allclose(found, usual, rtol=1e-10)
    if unit in (2.0**-450, 2.0**450):
        noise = [unit**2, 0.5, 0.0]
        found = row_leakage_scores(
            table * [unit, 1.0, 1.0], structure=structure, release_noise_cov=noise
        )
        usual = row_leakage_scores(table, structure=structure, release_noise_cov=[1.0, 0.5, 0.0])
        np.testing.assert_allclose(found, usual, rtol=1e-12)


def test_a_report_on_genotypes_takes_few_bytes_an_entry():
    """Those of the table, its codes and its matrix are one each; a float would be eight."""
    rng = np.random.default_rng(5)
    table = {f"{k}": rng.binomial(2, 0.1 + k / 2000, 5000).astype(np.int8) for k in range(1000)}
    mean_leakage({"a": [0, 1, 2, 1], "b": [2, 1, 1, 0]}).to_dict()  # imports
    tracemalloc.start()
    try:
        report = mean_leakage(table, structure="diagonal")
        assert report.noise_needed(0.05)["riskiest"] > 0.0
        assert report.cautions == ()
        report.to_dict()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 6 * 5000 * len(table)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("shift", [0, -1, 125, 126])
def test_small_integers_are_judged_as_other_numbers_are(noise, shift):
    """By terms of each integer, as bytes, and beyond; for rows that are alone in a value too."""
    counts = np.random.default_rng(6).binomial(2, 0.1, (90, 40)) + shift
    counts[3, 5] = -5
    whole = mean_leakage(dict(enumerate(counts.T)), structure="diagonal", noise_std=noise)
    halves = counts.astype(float)
    halves[:, 0] += 0.5  # the mean of the column and its values move by the same half
    same = mean_leakage(dict(enumerate(halves.T)), structure="diagonal", noise_std=noise)
    np.testing.assert_allclose(whole.scores, same.scores, rtol=1e-12)
    values = counts - counts.mean(axis=0)
    scatter = (values**2).sum(axis=0)
    others = (scatter - 90 / 89 * values**2) / 88 + 90 * noise**2 * scatter / 90
    moving = scatter > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        each = 90 / 89**2 * values**2 / others
    expected = np.where(moving & (values != 0.0), each, 0.0).sum(axis=1)
    finite = np.isfinite(whole.scores)
    assert finite.all() or noise == 0.0
    np.testing.assert_allclose(whole.scores[finite], expected[finite], rtol=1e-9)


@pytest.mark.parametrize("extreme", [127, -128, 128, 300, 2**53, -1e9, 0.5])
def test_no_number_is_cut_to_a_byte(extreme):
    values = np.array([extreme, 1, 2, 0, 1, 2])
    report = mean_leakage({"a": values, "b": np.array([0, 1, 2, 1, 0, 1])}, structure="diagonal")
    column = report.to_dict()["columns"][0]
    assert column["mean"] == pytest.approx(np.mean(values.astype(float)), rel=1e-14)
    assert report.scores[0] > report.scores[2] or extreme == 0.5
    with pytest.raises(ValueError, match="column 'a' must fit a float64 exactly"):
        mean_leakage({"a": np.array([-(2**63), 1, 2])})  # minus this number is this number


def test_names_of_columns_are_compared_a_few_times_each():
    """A list of names, searched for each of them, takes most of the time from 10,000 sites on."""
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    counts = np.random.default_rng(8).binomial(2, 0.3, (600, 50))
    mean_leakage({Name(f"s{k}"): each for k, each in enumerate(counts)})
    assert compared < 20 * len(counts)


def test_a_matrix_is_the_table_of_its_columns():
    matrix = np.random.default_rng(8).normal(size=(60, 4))
    register = np.concatenate([matrix, matrix[:40] + 1.0])
    reports = [
        [
            mean_leakage(given(matrix), columns=[2, 0]),
            mean_leakage(given(matrix), population=given(register)),
            mean_leakage(given(matrix), panel=given(register[60:] + 0.5)),
        ]
        for given in (np.asarray, pd.DataFrame)
    ]
    for mine, theirs in zip(*reports, strict=True):
        assert np.array_equal(mine.scores, theirs.scores)
    with pytest.raises(TypeError, match="not a ndarray"):
        mean_leakage(matrix.ravel())
