"""Leakage estimated from a sample: value, interval, one cell, and the page of claims."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from populations import draw, two_sizes, zipf
from scipy import stats

from mialeak import max_leakage
from mialeak.datasets import load_adult
from mialeak.discrete import atom_leakage, min_samples
from mialeak.tables import estimate_atom_leakage, estimate_max_leakage
from mialeak.tables._estimate import (
    atom_leakage_range,
    estimated_min_samples,
    min_samples_interval,
)
from mialeak.tables._interval import completed_leakage
from mialeak.tables._sampling import complete

PAGE = Path(__file__).parents[1] / "docs" / "estimate_coverage.md"


@pytest.fixture(scope="module")
def adult_counts():
    columns = load_adult().columns
    names = ["age", "education", "marital_status", "race", "sex"]
    return pd.DataFrame({name: columns[name] for name in names}).value_counts().to_numpy()


# Estimates and intervals


LAWS = {
    "uniform, rare": np.full(20_000, 1 / 20_000),
    "uniform, common": np.full(100, 0.01),
    "Zipf": zipf(1.1, 100_000),
    "two sizes": two_sizes(),
}


@pytest.mark.parametrize("ratio", [0.1, 1, 3])
@pytest.mark.parametrize("law", LAWS)
def test_interval_holds_the_truth_in_most_samples(law, ratio):
    p, rows, repetitions = LAWS[law], 2_000, 25
    n = int(ratio * rows)
    truth = max_leakage(p, n)
    found = [estimate_max_leakage(draw(p, rows, seed), n) for seed in range(repetitions)]
    held = sum(one.low <= truth <= one.high for one in found)
    # 20 of 25 or fewer happen once in 1,000 times at a coverage of 95 %.
    assert held > 20
    error = np.mean([one.value for one in found]) - truth
    widths = np.mean([one.high - one.low for one in found])
    assert abs(error) < 0.5 * widths


#: Equal cells (number, rows), and the ratio of the release to the sample: where no smoothing over
#: cells of different sizes hides what the method does between two integers of n p.
EQUAL = {
    "24.5 rows a cell": (1_000, 24_500, 1),
    "20.5 rows a cell": (4_878, 100_000, 1),
    "25.5 rows a cell": (3_922, 100_000, 1),
    "44.5 rows a cell": (22_472, 1_000_000, 1),
    "age in days and sex": (58_400, 1_430_800, 1),
    "8.5, three times": (11_765, 100_000, 3),
    "12.5, three times": (8_000, 100_000, 3),
    "12.5, ten times": (8_000, 100_000, 10),
    "8, a twentieth": (125_000, 1_000_000, 0.05),
    "3, a tenth": (333_333, 1_000_000, 0.1),
}


def leakage_of_cells(p, cells, n):
    """Sum of p (1 - p) b(floor(n p); n - 1, p) over `cells` cells of each probability p."""
    p = np.asarray(p, float)
    return np.sum(cells * p * (1 - p) * stats.binom.pmf(np.floor(n * p), n - 1, p))


@pytest.mark.parametrize("law", EQUAL)
def test_interval_holds_the_truth_of_equal_cells(law):
    atoms, rows, ratio = EQUAL[law]
    n = round(ratio * rows)
    truth = leakage_of_cells([1 / atoms], [atoms], n)
    p = np.full(atoms, 1 / atoms)
    found = [estimate_max_leakage(draw(p, rows, seed), n) for seed in range(12)]
    # 8 of 12 or fewer happen once in 400 times at a coverage of 95 %.
    assert sum(one.low <= truth <= one.high for one in found) > 8


def test_interval_holds_the_truth_of_birthdays():
    p = np.r_[np.full(365, 4 / 1461), 1 / 1461]
    truth = leakage_of_cells([4 / 1461, 1 / 1461], [365, 1], 8_949)
    assert truth == pytest.approx(0.08068, abs=1e-5)
    found = [estimate_max_leakage(draw(p, 8_949, seed)) for seed in range(30)]
    # 23 of 30 or fewer happen once in 3,000 times at a coverage of 95 %.
    assert sum(one.low <= truth <= one.high for one in found) > 23


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_interval_holds_the_truth_in_unbalanced_games(gamma):
    p = LAWS["Zipf"]
    truth = max_leakage(p, 2_000, gamma=gamma)
    found = [estimate_max_leakage(draw(p, 2_000, seed), gamma=gamma) for seed in range(25)]
    assert sum(one.low <= truth <= one.high for one in found) > 20


def test_estimate_is_where_the_plug_in_is_far_off():
    p = np.full(100_000, 1e-5)
    found = estimate_max_leakage(draw(p, 32_561, seed=5))
    truth = max_leakage(p, 32_561)
    assert found.value == pytest.approx(truth, abs=0.015)
    assert found.plug_in < 0.5 * truth


def test_estimate_of_rare_cells_is_the_share_of_rows_seen_once():
    counts = draw(np.full(100_000, 1e-5), 10_000, seed=6)
    once = np.count_nonzero(counts == 1) / 10_000
    assert estimate_max_leakage(counts).value == pytest.approx(once, abs=0.01)


def test_estimate_of_common_cells_is_the_exact_leakage():
    p = [0.5, 0.3, 0.2]
    found = estimate_max_leakage(draw(p, 10**6, seed=7))
    truth = max_leakage(p, 10**6)
    assert found.value == pytest.approx(truth, rel=2e-3)
    assert found.plug_in == pytest.approx(truth, rel=2e-3)
    assert found.low < truth < found.high < 1.5 * truth


@pytest.mark.parametrize("ratio", [200, 100, 50])
def test_interval_holds_at_a_kink_of_heavy_cells(ratio):
    # 500 cells of 200 rows, and n p = 1, 2, 4 exactly: where the plug-in errs most.
    p, rows = np.full(500, 1 / 500), 100_000
    truth = max_leakage(p, rows // ratio)
    found = [estimate_max_leakage(draw(p, rows, seed), rows // ratio) for seed in range(20)]
    assert sum(one.low <= truth <= one.high for one in found) >= 18


def test_plug_in_is_the_exact_leakage_of_the_frequencies(adult_counts):
    for n, gamma in [(None, 1.0), (3256, 1.0), (1000, 0.3), (1000, 4.0)]:
        found = estimate_max_leakage(adult_counts, n, gamma=gamma)
        exact = max_leakage(adult_counts / 32_561, n or 32_561, gamma=gamma)
        assert found.plug_in == pytest.approx(exact, rel=1e-12)


def test_adult_table(adult_counts):
    assert len(adult_counts) == 6493
    found = estimate_max_leakage(adult_counts)
    assert found.low < 0.186 < found.high < 0.2
    assert found.low > 0.17 > 0.14 > found.plug_in


def test_estimate_falls_with_the_size_of_the_release(adult_counts):
    found = [estimate_max_leakage(adult_counts, n) for n in np.geomspace(10, 1e7, 25).astype(int)]
    for field in ("value", "low", "high"):
        values = np.array([getattr(one, field) for one in found])
        assert np.all(np.diff(values) < 2e-3)


@pytest.mark.parametrize("confidence", [1 - 1e-15, np.nextafter(1, 0)])
def test_interval_of_the_largest_confidence_is_the_widest(confidence):
    wide, narrow = (
        estimate_max_leakage([30, 5, 3, 2, 1, 1], confidence=c) for c in (confidence, 0.99)
    )
    assert wide.low <= narrow.low <= narrow.value <= narrow.high <= wide.high


def test_interval_widens_with_confidence_and_with_extrapolation(adult_counts):
    def width(n, confidence):
        found = estimate_max_leakage(adult_counts, n, confidence=confidence)
        return found.high - found.low

    widths = [width(32_561, confidence) for confidence in (0.5, 0.8, 0.95, 0.999)]
    assert widths == sorted(widths)
    relative = [
        width(n, 0.95) / max_leakage(adult_counts / 32_561, n) for n in (3256, 32561, 10**6)
    ]
    assert relative == sorted(relative)


def test_a_sample_without_repeats_reaches_1():
    found = estimate_max_leakage(np.ones(1000, int))
    assert found.high == 1
    # 1,000 rows among K equal cells show no repeat with probability exp(-N**2 / (2 K)).
    assert found.low < math.exp(-1000 / 135_000)
    assert found.low > 0.97
    assert (estimate_max_leakage([1]).low, estimate_max_leakage([1]).high) == (0, 1)


def test_a_sample_in_one_cell_reaches_0():
    found = estimate_max_leakage([1000])
    assert found.low == 0
    assert found.plug_in == 0
    # If 3 / N of the population were elsewhere, 1 sample in 20 would show nothing of it.
    assert 3 / 1000 < found.high < 6 / 1000


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(0, 300), min_size=1, max_size=60).filter(any),
    n=st.none() | st.integers(1, 2**53),
    gamma=st.just(1.0) | st.floats(1e-3, 1e3),
    confidence=st.sampled_from([0.5, 0.95, 0.9999]),
)
def test_value_lies_in_the_interval_and_that_in_0_to_1(counts, n, gamma, confidence):
    found = estimate_max_leakage(counts, n, gamma=gamma, confidence=confidence)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert 0 <= found.plug_in <= 1
    assert found.confidence == confidence
    assert found.kind == "estimate"


@pytest.mark.parametrize(
    "counts",
    [[1], [2**53], [2**52, 1, 1], [2**40] * 10 + [1] * 1000, [1] * 90, [1] * 91, [64, 1], [65, 1]],
)
@pytest.mark.parametrize("n", [None, 1, 2**53])
def test_extreme_samples_have_an_interval(counts, n):
    found = estimate_max_leakage(counts, n)
    assert 0 <= found.low <= found.value <= found.high <= 1


# What goes in


def test_order_zeros_shape_and_container_do_not_matter():
    counts = draw(zipf(1.1, 500), 400, seed=8)
    expected = estimate_max_leakage(counts)
    assert expected == estimate_max_leakage(counts, 400)
    alike = [
        counts[::-1],
        counts[counts > 0],
        counts.reshape(20, 25),
        counts.tolist(),
        counts.astype(np.uint8),
        counts.astype(">i4"),
        pd.Series(counts),
    ]
    assert all(estimate_max_leakage(other) == expected for other in alike)


def test_estimate_draws_no_random_numbers():
    counts = draw(zipf(1.1, 500), 400, seed=8)
    np.random.seed(0)  # noqa: NPY002 the global stream is what must stay untouched
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, second = estimate_max_leakage(counts), estimate_max_leakage(counts)
    assert first == second
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"counts": [3, -1]},
            ValueError,
            r"counts must be between 0 and 2\*\*53; got counts\[1\]",
        ),
        ({"counts": [3.0]}, TypeError, "counts must be integers, not of dtype float64"),
        ({"counts": ["a"]}, TypeError, "counts must be integers"),
        ({"counts": [True]}, TypeError, "counts must be integers, not of dtype bool"),
        ({"counts": []}, ValueError, "counts must hold at least one positive count"),
        ({"counts": [0, 0]}, ValueError, "counts must hold at least one positive count"),
        ({"counts": [2**53, 1]}, ValueError, r"counts must sum to at most 2\*\*53; their sum"),
        ({"counts": [2**53] * 2000}, ValueError, r"counts must sum to at most 2\*\*53"),
        ({"n": 0}, ValueError, r"n must be between 1 and 2\*\*53; got n = 0"),
        ({"n": 2**53 + 1}, ValueError, r"n must be between 1 and 2\*\*53"),
        ({"n": 10.0}, TypeError, "n must be an integer; got n = 10.0"),
        ({"gamma": 0}, ValueError, "gamma must be positive; got gamma = 0.0"),
        ({"gamma": -1.5}, ValueError, "gamma must be positive; got gamma = -1.5"),
        ({"gamma": np.nan}, ValueError, "gamma must be finite"),
        ({"gamma": np.inf}, ValueError, "gamma must be finite"),
        ({"confidence": 0}, ValueError, "confidence must be strictly between 0 and 1; got"),
        ({"confidence": 1}, ValueError, "confidence must be strictly between 0 and 1"),
        ({"confidence": 95}, ValueError, "confidence must be strictly between 0 and 1.*95"),
        ({"confidence": "high"}, TypeError, "confidence must be"),
    ],
)
def test_errors_name_the_argument_and_the_rule(arguments, error, message):
    with pytest.raises(error, match=message):
        estimate_max_leakage(**({"counts": [3, 2, 1]} | arguments))


# One cell


@pytest.mark.parametrize("rows", [30, 200])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_range_of_a_cell_covers_for_a_named_cell_and_for_that_of_a_row(rows, confidence):
    counts = np.arange(rows + 1)
    low, high = atom_leakage_range(counts, rows, rows, confidence)
    for p in np.r_[np.geomspace(1e-4, 0.99, 300), 0.5, 1 / rows]:
        truth = atom_leakage([p, 1 - p], rows)[0]
        held = (low <= truth + 1e-15) & (truth <= high + 1e-15)
        assert stats.binom.pmf(counts, rows, p) @ held >= confidence - 1e-12
        assert stats.binom.pmf(counts[1:] - 1, rows - 1, p) @ held[1:] >= confidence - 1e-12


def test_a_cell_seen_once_or_never_may_leak_everything():
    low, high = atom_leakage_range(np.array([0, 1, 2, 50, 1000]), 1000, 1000, 0.95)
    assert high[:2].tolist() == [1, 1]
    assert high[2] < 1
    assert np.all(np.diff(low) < 0)
    assert np.all(low < high)
    assert low[-1] == 0


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_range_of_a_cell_knows_the_game(gamma):
    low, high = atom_leakage_range(np.array([20]), 1000, 500, 0.95, gamma)
    truth = atom_leakage([0.02, 0.98], 500, gamma=gamma)[0]
    assert low[0] < truth < high[0]


def test_values_of_the_cells_average_to_the_estimate(adult_counts):
    found = estimate_atom_leakage(adult_counts)
    estimate = estimate_max_leakage(adult_counts).value
    share = adult_counts / adult_counts.sum()
    assert share @ found.value == pytest.approx(estimate, rel=5e-3)
    assert np.all((found.low <= found.value) & (found.value <= found.high))
    few = [found.value[adult_counts == size][0] for size in range(1, 11)]
    assert np.all(np.diff(few) < 0)
    once = adult_counts == 1
    assert np.all(found.low[once] == pytest.approx(0.17, abs=0.01))
    assert np.all(found.high[once] == 1)
    np.testing.assert_allclose(found.plug_in, atom_leakage(share, 32_561), rtol=1e-12, atol=1e-300)


def test_value_of_a_cell_is_the_mean_over_rows_whose_cell_is_seen_as_often():
    p, rows = two_sizes(), 25_000
    counts = draw(p, rows, seed=10)
    truth = atom_leakage(p, rows)
    counts = counts[counts > 0]
    value = estimate_atom_leakage(counts).value
    for size in (1, 2, 3):
        mean = (p * stats.binom.pmf(size - 1, rows - 1, p)) @ truth
        mean /= p @ stats.binom.pmf(size - 1, rows - 1, p)
        assert value[counts == size][0] == pytest.approx(mean, rel=0.05)


def test_cells_of_heavy_samples_have_values():
    assert estimate_atom_leakage([1000]).value.tolist() == [0]
    halves = estimate_atom_leakage([[500], [500]], 100)
    assert halves.value.shape == (2, 1)
    assert halves.value[0, 0] == pytest.approx(max_leakage([0.5, 0.5], 100))


def test_a_cell_leaks_less_in_a_larger_release(adult_counts):
    small, large = (estimate_atom_leakage(adult_counts, n) for n in (1000, 100_000))
    assert np.all(small.value > large.value)
    assert np.all(small.low > large.low)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([3, 0, 2], r"counts must be positive: a cell without rows.*; got counts\[1\] = 0"),
        ([[3, 1], [2, 0]], r"got counts\[1, 1\] = 0"),
    ],
)
def test_cells_without_rows_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        estimate_atom_leakage(counts)


# Samples needed


@pytest.mark.parametrize("leakage", [0.4, 0.1, 0.02])
def test_estimated_min_samples_inverts_the_estimate(adult_counts, leakage):
    n = estimated_min_samples(adult_counts, leakage)
    law = complete(adult_counts)
    values = [completed_leakage(law, size, 1.0) for size in (n - 1, n)]
    assert values[0] > leakage >= values[1]


def test_estimated_min_samples_of_one_row_and_of_none():
    assert estimated_min_samples([10**6], 0.5) == 1
    with pytest.raises(ValueError, match=r"leakage must be reached with at most 2\*\*53 rows"):
        estimated_min_samples([500, 500], 1e-9)
    with pytest.raises(ValueError, match="leakage must be strictly between 0 and 1"):
        estimated_min_samples([500, 500], 1.0)


# The page of claims


def page_lines():
    """(law, rows, release, coverage) of each line of the tables."""
    for line in PAGE.read_text().splitlines():
        fields = [field.strip().replace(",", "") for field in line.strip("|").split("|")]
        if len(fields) == 11 and re.fullmatch(r"\d+", fields[1]):
            yield fields[0], int(fields[1]), int(fields[2]), float(fields[-1])


def test_page_shows_the_coverage_that_the_docstring_claims():
    lines = list(page_lines())
    assert "in at least 94 % of the samples" in re.sub(r"\s+", " ", estimate_max_leakage.__doc__)
    assert all(coverage >= 0.94 for *_, coverage in lines)
    assert len({law for law, *_ in lines if "rows a cell" not in law}) == 9 + 2
    for ratio in (0.1, 1, 3, 10):
        sizes = [rows for _, rows, n, _ in lines if n == ratio * rows]
        assert all(sizes.count(rows) >= 9 for rows in (1_000, 10_000, 100_000))
    equal = [(law, rows) for law, rows, *_ in lines if "rows a cell" in law]
    assert {rows for _, rows in equal} >= {20_000, 100_000, 1_000_000, 10_000_000}
    assert {law.split()[0] for law, _ in equal} >= {"20.5", "24.5", "60.5", "95.5", "3", "12.5"}


@pytest.mark.parametrize(
    ("rows", "n", "claimed"),
    [
        (999, 999, False),
        (1_000, 1_000, True),
        (1_000, 10_000, True),
        (1_000, 10_001, False),
        (1_000, 100, True),
        (1_000, 99, False),
    ],
)
def test_an_estimate_says_whether_its_interval_is_claimed(rows, n, claimed):
    found = estimate_max_leakage([rows - 600, 300, 200, 100], n)
    assert found.claimed is claimed
    assert found.to_dict()["claimed"] is claimed
    assert 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(("law", "leakage"), [("uniform, common", 0.02), ("two sizes", 0.1)])
def test_rows_needed_have_an_interval(law, leakage):
    p = LAWS[law]
    truth = min_samples(p, leakage)
    held = 0
    for seed in range(5):
        counts = draw(p, 5_000, seed)
        near = estimated_min_samples(counts, leakage)
        low, high = min_samples_interval(counts, leakage, 0.95, near)
        assert 1 <= low <= near <= (high or near)
        held += low <= truth and (high is None or truth <= high)
        ends = [estimate_max_leakage(counts, n) for n in (low, high or 2**53)]
        assert ends[0].low <= 1.1 * leakage
        assert (ends[1].high <= leakage) is (high is not None)
    # 3 of 5 or fewer happen once in 40 times at a coverage of 95 %.
    assert held >= 4


def test_no_number_of_rows_may_do_for_rows_that_are_all_alone():
    low, high = min_samples_interval(np.ones(1_000, int), 0.1, 0.95, 2**53)
    assert 1_000 < low < 2**53
    assert high is None
    assert min_samples_interval([10**6], 0.5, 0.95, 1) == (1, 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("counts", "n", "gamma"), [([3, 87], 2**53, 1e300), ([2 * 10**7, 25], 2, 1e-300)]
)
def test_extreme_weights_of_the_game_do_not_overflow(counts, n, gamma):
    leak = estimate_max_leakage(counts, n, gamma=gamma)
    assert 0.0 <= leak.low <= leak.value <= leak.high <= 1.0


def test_no_cell_has_a_range_beyond_one_by_rounding():
    counts = [2, 858875484216, 1, 1, 2, 3, 2, 4]
    for gamma in 10.0 ** np.linspace(-8.0, 0.0, 20):
        for n in (20, 67, 400):
            assert (
                estimate_atom_leakage(counts, n, gamma=gamma, confidence=0.999999).high.max() <= 1
            )
