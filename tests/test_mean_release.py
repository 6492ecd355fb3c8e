"""From a table to the means that are released: what is a number, and every row by recomputation."""

from __future__ import annotations

import flint
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from mialeak._files.tables import read_table
from mialeak.means._reading import Gaps, release_of
from mialeak.means._release import category_scores
from mialeak.means._rows import row_leakage_scores

#: Rows with a missing value are left out.
DROP = Gaps(drop=True)


def recomputed(matrix, row, *, noise_std, rate, diagonal=False, blocks=()):
    """Leakage score of one row from the others, without any closed form.

    `blocks` are the columns of each category, which "diagonal" keeps together.
    """
    others = np.delete(matrix, row, axis=0)
    cov = np.atleast_2d(np.cov(others, rowvar=False))
    if diagonal:
        keep = np.eye(cov.shape[0], dtype=bool)
        for block in blocks:
            keep[np.ix_(block, block)] = True
        cov = np.where(keep, cov, 0.0)
    used = rate * matrix.shape[0]
    cov = cov + used * noise_std**2 * np.diag(matrix.var(axis=0))
    gap = matrix[row] - others.mean(axis=0)
    solved = np.linalg.pinv(cov, rcond=1e-12, hermitian=True) @ gap
    assert np.allclose(cov @ solved, gap, atol=1e-8), "outside the range"
    return gap @ solved / used


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(5)
    rows = 80
    colour = rng.choice(list("rgb"), rows, p=[0.6, 0.3, 0.1])
    size = rng.gamma(2.0, 10.0, rows) + 20.0 * (colour == "b")
    return {"size": size, "colour": colour, "age": rng.integers(18, 80, rows)}


def matrix_of(frame):
    indicator = frame["colour"][:, np.newaxis] == np.unique(frame["colour"])
    return np.column_stack([frame["size"], indicator, frame["age"]]).astype(float)


# --- scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1.0, 0.25])
@pytest.mark.parametrize("noise_std", [0.0, 0.01, 0.2])
def test_scores_are_those_of_recomputation_without_the_row(mixed, noise_std, rate):
    released = release_of(mixed, None)
    assert released.has_rows_for_full
    assert released.free == 4
    matrix = matrix_of(mixed)
    expected = [recomputed(matrix, row, noise_std=noise_std, rate=rate) for row in range(80)]
    assert released.scores("full", noise_std, rate) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("noise_std", [0.0, 0.01, 0.2])
def test_few_rows_are_judged_column_by_column(mixed, noise_std, rate):
    frame = {name: values[:20] for name, values in mixed.items()}
    released = release_of(frame, None)
    assert not released.has_rows_for_full
    matrix = matrix_of(frame)
    options = {"noise_std": noise_std, "rate": rate, "diagonal": True, "blocks": [[1, 2, 3]]}
    expected = [recomputed(matrix, row, **options) for row in range(20)]
    assert released.scores("diagonal", noise_std, rate) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("noise_std", [0.0, 0.01, 0.2])
def test_shrunk_scores_are_those_of_the_columns_in_standard_deviations(mixed, noise_std, rate):
    """One-hot columns and numbers in one matrix, by `row_leakage_scores`."""
    matrix = matrix_of(mixed)
    for rows in (80, 6):
        released = release_of({name: values[:rows] for name, values in mixed.items()}, None)
        part = matrix[:rows, matrix[:rows].std(axis=0) > 0]
        part = (part - part.mean(axis=0)) / part.std(axis=0)
        noise = rate * noise_std**2 or None
        expected = row_leakage_scores(part, structure="shrunk", release_noise_cov=noise) / rate
        assert released.scores("shrunk", noise_std, rate) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("rows", "full"), [(20, False), (21, True)])
def test_a_full_covariance_takes_more_than_five_rows_a_column(mixed, rows, full):
    released = release_of({name: values[:rows] for name, values in mixed.items()}, None)
    assert released.free == 4
    assert released.has_rows_for_full == full


def exact_category_score(counts, level, variance):
    """The score of a row of a level from the other rows, in rational numbers."""
    n = sum(counts)
    others = [count - (k == level) for k, count in enumerate(counts)]
    q = [flint.fmpq(count, n - 1) for count in others]
    cov = flint.fmpq_mat(len(counts), len(counts))
    for i, j in np.ndindex(len(counts), len(counts)):
        cov[i, j] = flint.fmpq(n - 1, n - 2) * (q[i] * (i == j) - q[i] * q[j])
    for k, count in enumerate(counts):
        cov[k, k] += n * variance * flint.fmpq(count, n) * (1 - flint.fmpq(count, n))
    gap = flint.fmpq_mat([[(k == level) - share] for k, share in enumerate(q)])
    squared = (gap.transpose() * cov.solve(gap))[0, 0] / n
    return int(squared.p) / int(squared.q)


@given(
    counts=st.lists(st.integers(1, 9), min_size=2, max_size=6).filter(lambda c: sum(c) >= 4),
    digits=st.integers(0, 20),
)
def test_the_closed_form_of_a_category_is_exact(counts, digits):
    variance = flint.fmpq(1, 10**digits)
    found = category_scores(np.array(counts), 10.0**-digits)
    for level, score in enumerate(found):
        assert score == pytest.approx(exact_category_score(counts, level, variance), rel=1e-12)


def test_noise_of_a_category_goes_to_its_limit():
    counts = np.array([5, 3, 2, 0])
    bare, noisy = category_scores(counts, 0.0)[:3], category_scores(counts, 1e-14)[:3]
    n, q = 10, (counts[:3] - 1) / 9
    assert bare == pytest.approx((1 / q - 1) / n * 8 / 9, rel=1e-14)
    assert noisy == pytest.approx(bare, rel=1e-10)


def test_noise_hides_a_row_with_a_value_of_its_own():
    scores = category_scores(np.array([1, 99]), 0.0)
    assert scores[0] == np.inf
    assert np.isfinite(scores[1])
    noisy = category_scores(np.array([1, 99]), 1e-4)
    assert np.isfinite(noisy).all()
    assert noisy[0] > 10 * noisy[1]


@pytest.mark.parametrize("rows", [10, 4])
def test_columns_that_do_not_vary_leak_nothing(rows):
    frame = {"a": np.full(rows, 0.1), "b": ["x"] * rows}
    released = release_of(frame, None)
    assert released.free == 0
    for noise_std in (0.0, 0.1):
        assert np.array_equal(released.scores("diagonal", noise_std, 1.0), np.zeros(rows))
    more = release_of({**frame, "c": np.arange(rows) ** 2}, None)
    alone = release_of({"c": np.arange(rows) ** 2}, None)
    for noise_std in (0.0, 0.1):
        expected = alone.scores("diagonal", noise_std, 1.0)
        assert more.scores("diagonal", noise_std, 1.0) == pytest.approx(expected, rel=1e-12)


def test_units_do_not_matter(mixed):
    other = {**mixed, "size": 1e6 * mixed["size"] - 5.0}
    for noise_std in (0.0, 0.05):
        one, two = (
            release_of(frame, None).scores("full", noise_std, 1.0) for frame in (mixed, other)
        )
        assert one == pytest.approx(two, rel=1e-9)


# --- what is a number -------------------------------------------------------------------------


def kinds(released):
    return "".join("n" if column.factor is None else "c" for column in released.columns)


def test_numbers_of_every_container_are_numbers():
    values = {"i": [3, 1, 2, 5], "f": [0.5, 1.5, -2.0, 0.0], "t": ["1", "2", "1", "2"]}
    values["b"] = [True, False, True, True]
    arrays = {name: np.array(column) for name, column in values.items()}
    for frame in (arrays, pd.DataFrame(values), pa.table(values)):
        released = release_of(frame, None)
        assert kinds(released) == "nncc", type(frame)
        assert np.array_equal(released.numbers[:, 0], [3, 1, 2, 5])
    nullable = pa.table({"i": pa.array([3, None, 2, 5]), "f": [1.0, 2.0, 3.0, 4.0]})
    released = release_of(nullable, None, gaps=DROP)
    assert kinds(released) == "nn"
    assert np.array_equal(released.numbers[:, 0], [3, 2, 5])
    assert released.rows_dropped == 1
    assert np.array_equal(released.places, [0, 2, 3])


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["1", "20", "-3"], "n"),
        (["1.5", ".5", "2.", "1e-3", "+4E5"], "n"),
        (["0", "0.0", "-0.5"], "n"),
        (["01", "02", "10"], "c"),
        (["1_000", "2"], "c"),
        (["nan", "1"], "c"),
        (["inf", "1"], "c"),
        (["1", "2", "x"], "c"),
        (["1,5", "2"], "c"),
        ([".", "1"], "c"),
    ],
)
def test_of_a_csv_what_reads_as_a_number_is_one(tmp_path, words, kind):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{word};x\n" for word in words))
    released = release_of(read_table(path, delimiter=";"), ["a"])
    assert kinds(released) == kind
    if kind == "n":
        assert np.array_equal(released.numbers[:, 0], [float(word) for word in words])


def test_numbers_can_be_names_of_categories():
    frame = {"zip": np.array([10, 10, 20, 30]), "x": np.arange(4.0)}
    released = release_of(frame, None, categories=["zip"])
    assert kinds(released) == "cn"
    assert released.columns[0].present == 3
    with pytest.raises(ValueError, match=r"categories must be among the columns; got categories"):
        release_of(frame, ["x"], categories=["zip"])


def test_infinite_numbers_are_refused():
    with pytest.raises(ValueError, match=r"column 'x' must be finite; got column 'x'\[1\] = inf"):
        release_of({"x": np.array([1.0, np.inf, 2.0])}, None)


def test_missing_values_are_refused_or_their_rows_dropped():
    frame = {"x": np.array([1.0, np.nan, 2.0, 4.0]), "c": ["a", "b", None, "a"]}
    with pytest.raises(ValueError, match=r"1 in column 'x', 1 in column 'c'\. Pass na='drop' to"):
        release_of(frame, None)
    released = release_of(frame, None, gaps=DROP)
    assert np.array_equal(released.places, [0, 3])
    assert released.rows_dropped == 2
    with pytest.raises(ValueError, match="at least one row without a missing value"):
        release_of({"x": np.array([np.nan, np.nan])}, None, gaps=DROP)


def test_an_error_names_three_of_many_columns():
    """0.1 named all 2,000 in a line of 60,000 characters."""
    frame = {f"site{j}": np.array([1.0, np.nan if j % 2 else 0.0, 2.0]) for j in range(2001)}
    message = (
        r"table must have no missing values; there are 1 in column 'site1', 1 in column 'site3', "
        r"1 in column 'site5' and 997 more\. Pass na='drop' to leave such rows out, or "
        r"exclude such columns; 1 of 3 rows miss a value$"
    )
    with pytest.raises(ValueError, match=message):
        release_of(frame, None)
    frame = {f"site{j}": np.where(np.arange(4) == j % 4, np.nan, 1.0) for j in range(2001)}
    with pytest.raises(
        ValueError, match=r"without a missing value\. Exclude .* miss most: "
    ) as told:
        release_of(frame, None, gaps=DROP)
    assert len(str(told.value)) < 200
    assert (
        len(release_of(frame, None, exclude=[f"site{4 * j}" for j in range(501)], gaps=DROP).places)
        == 1
    )


# --- what is not published ------------------------------------------------------------------------


def test_text_that_is_different_in_every_row_is_not_published(mixed):
    names = [f"NA{k:05}" for k in range(80)]
    released = release_of({"sample": names, **mixed}, None)
    assert released.names == ("sample",)
    assert [column.name for column in released.columns] == list(mixed)
    expected = release_of(mixed, None).scores("full", 0.0, 1.0)
    assert np.array_equal(released.scores("full", 0.0, 1.0), expected)
    chosen = release_of({"sample": names, **mixed}, ["sample", "age"])
    assert chosen.names == ()
    assert [column.name for column in chosen.columns] == ["sample", "age"]
    once = release_of({"sample": ["a", *names[1:79], "a"], **mixed}, None)
    assert once.names == ()
    flags = release_of({"flag": [True, False, None], "x": [1, 2, 2]}, None, gaps=DROP)
    assert flags.names == ()
    with pytest.raises(
        ValueError, match=r"every row has its own value in 'sample', 'key'\. Choose"
    ):
        release_of({"sample": names, "key": names}, None)


def test_columns_can_be_excluded(mixed):
    released = release_of(mixed, None, exclude=["size", "colour"])
    assert [column.name for column in released.columns] == ["age"]
    with pytest.raises(ValueError, match=r"exclude must name none of the columns; got .* 'size'"):
        release_of(mixed, ["age", "size"], exclude=["size"])
    message = (
        r"exclude must be columns of the table; got exclude\[0\] = 'sise'\. Did you mean 'size'"
    )
    with pytest.raises(ValueError, match=message):
        release_of(mixed, None, exclude=["sise"])
    with pytest.raises(ValueError, match="exclude must keep at least one column"):
        release_of(mixed, None, exclude=list(mixed))


@pytest.mark.parametrize(
    ("name", "values", "is_one"),
    [
        ("x", np.arange(80) + 1000, True),
        ("x", np.arange(80)[::-1] * 1.0, True),
        ("x", np.arange(80) * 2, False),
        ("id", np.arange(80) * 2, True),
        ("Patient ID", np.arange(80) * 3, True),
        ("person_id", np.arange(80) ** 2, True),
        ("paid", np.arange(80) ** 2, False),
        ("id", np.arange(80) // 2, False),
        ("id", np.arange(80) * 0.5, False),
    ],
)
def test_numbers_of_rows_are_known(mixed, name, values, is_one):
    released = release_of({name: values, **mixed}, None)
    assert released.identifiers == [name] * is_one
