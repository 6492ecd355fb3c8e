"""Counts that follow from published ones: the rank of designs, ranges of hidden counts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from release_truth import rank
from scipy import sparse
from sklearn.linear_model import LinearRegression

from mialeak import Release, influence_of
from mialeak.mechanisms import Round, Suppress
from mialeak.releases import Recovered, _analysis, _design
from mialeak.releases._count_ranges import Budget, count_ranges
from mialeak.releases._design import Design
from mialeak.releases._modular import _CHUNK, PRIME, fractions_modulo, image

# --- rank against fractions -----------------------------------------------------------------------


@pytest.mark.parametrize("most_rows", [4000, 0])
def test_determined_cells_agree_with_the_rank_of_fractions(most_rows):
    """Also for sums; with no row for the rank, what is called determined still is."""
    rng, follows = np.random.default_rng(3), 0
    for _ in range(150):
        cells, rows = rng.integers(2, 9), rng.integers(1, 8)
        matrix = np.vstack([np.ones(cells, int), rng.integers(0, 2, (rows, cells))])
        if rng.random() < 0.3:
            matrix[-1] = rng.integers(-3, 4, cells)
        with mock.patch.object(_design, "MOST_ROWS", most_rows):
            design = Design.of(sparse.csr_matrix(matrix.astype(np.int64)))
        for cell in range(cells):
            unit = np.eye(cells, dtype=int)[[cell]]
            truth = rank(np.vstack([matrix, unit])) == rank(matrix)
            assert design.determined[cell] <= truth
            if most_rows:
                assert design.determined[cell] == truth
            if design.determined[cell]:
                weights = design.combination(np.array([cell]))
                total = sum(w * matrix[row].astype(object) for row, w in weights.items())
                assert np.array_equal(total, unit[0])
                follows += 1
    assert follows > 50


def test_groups_follow_from_few_rows_beside_cells_that_follow_one_by_one():
    """Too many rows for the rank, until the cells are left out that follow from one another."""
    rng, apart = np.random.default_rng(8), 0
    for _ in range(60):
        cells = int(rng.integers(4, 6))
        units = np.eye(cells, dtype=int)[rng.permutation(cells)[:2]]
        matrix = np.vstack([np.ones(cells, int), rng.integers(0, 2, (3, cells)), units])
        known = rank(matrix)
        with mock.patch.object(_design, "MOST_ROWS", known - 1):
            design = Design.of(sparse.csr_matrix(matrix))
        for bits in itertools.product((0, 1), repeat=cells) if design.complete else ():
            if not any(bits):
                continue
            with mock.patch.object(Design, "_short", return_value=None):  # of two rows or three
                weights = design.combination(np.flatnonzero(bits))
            assert (weights is not None) == (rank(np.vstack([matrix, bits])) == known)
            if weights is not None:
                total = sum(weight * matrix[row].astype(object) for row, weight in weights.items())
                assert np.array_equal(total, bits)
                apart += not np.all(design.determined[np.flatnonzero(bits)])
    assert apart > 100


@pytest.mark.parametrize("columns", [_CHUNK, _CHUNK + 1, 2 * _CHUNK + 1])
def test_products_of_residues_are_exact_for_any_number_of_columns(columns):
    vector = np.full(columns, PRIME - 1)
    rows = np.vstack([vector, np.arange(columns) % PRIME])
    truth = [sum(int(a) * (PRIME - 1) for a in row) % PRIME for row in rows]
    assert image(sparse.csr_matrix(rows), vector).tolist() == truth


def test_factors_of_other_cells_are_not_taken_over():
    """Too many rows for the rank: the first design has the same rows, but more cells."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        cells, rows = int(rng.integers(4, 9)), int(rng.integers(2, 5))
        matrix = np.vstack([np.ones(cells, int), rng.integers(0, 2, (rows, cells))])
        more = np.zeros((int(rng.integers(1, 5)), cells), int)
        for row in more:
            row[rng.integers(0, cells, int(rng.integers(1, 3)))] = 1
        people, both = rng.integers(1, 1000, cells), np.vstack([matrix, more])
        with mock.patch.object(_design, "MOST_ROWS", len(matrix)):
            first = Design.of(sparse.csr_matrix(matrix), people)
            design = Design.of(sparse.csr_matrix(both), people, first)
        units = np.eye(cells, dtype=int)
        truth = [rank(np.vstack([both, units[[k]]])) == rank(both) for k in range(cells)]
        assert np.all(design.determined <= truth)
        if design.complete:
            assert np.array_equal(design.determined, truth)


def test_a_combination_of_many_blocks_is_proved():
    """More rows than are reduced at a time: pairs of neighbours around a circle of odd length."""
    size = 301
    rows = np.repeat(np.arange(size), 2)
    columns = (rows + np.tile([0, 1], size)) % size
    matrix = sparse.csr_matrix((np.ones(2 * size, np.int64), (rows, columns)))
    design = Design.of(matrix)
    assert design.complete
    assert design.determined.all()
    weights = design.combination(np.array([7]))
    assert len(weights) == size
    assert set(map(abs, weights.values())) == {Fraction(1, 2)}
    rows = np.repeat(np.arange(size - 1), 2)
    columns = (rows + np.tile([0, 1], size - 1)) % (size - 1)
    even = sparse.csr_matrix((np.ones(2 * size - 2, np.int64), (rows, columns)))
    assert not Design.of(even).determined.any()


def test_weights_of_many_people_and_large_sums_are_reduced():
    """A circle of odd length, with a sum of large numbers beside it."""
    rows = np.repeat(np.arange(5), 2)
    circle = np.zeros((6, 5), np.int64)
    circle[rows, (rows + np.tile([0, 1], 5)) % 5] = 1
    circle[5] = 2**31 - 1 - np.arange(5)
    people = 2**59 + np.arange(5)
    assert Design.of(sparse.csr_matrix(circle), people).determined.all()
    assert not Design.of(sparse.csr_matrix(circle[2:]), people).determined.any()


def test_combinations_with_large_weights_are_proved():
    """A random design of full rank: every cell is determined, by weights of over 18 digits."""
    rng = np.random.default_rng(4)
    matrix = rng.integers(0, 2, (70, 70))
    matrix[0] = 1
    design = Design.of(sparse.csr_matrix(matrix))
    assert design.determined.all()
    weights = design.combination(np.array([3]))
    assert max(weight.denominator for weight in weights.values()) > 2**62
    total = sum(weight * matrix[row].astype(object) for row, weight in weights.items())
    assert np.array_equal(total, np.eye(70, dtype=int)[3])
    wide = np.column_stack([matrix, matrix[:, :20]])  # 20 cells twice: these are not determined
    assert np.array_equal(
        np.flatnonzero(Design.of(sparse.csr_matrix(wide)).determined), range(20, 70)
    )


def test_fractions_are_reconstructed_from_residues():
    wanted = [Fraction(a, b) for a in (-7, -1, 0, 2, 2000) for b in (1, 3, 64, 1999)]
    residues = [w.numerator * pow(w.denominator, -1, PRIME) % PRIME for w in wanted]
    assert fractions_modulo(residues) == wanted
    cube = PRIME**3
    large = [Fraction(-123456789, 987654321), Fraction(10**9)]
    residues = [w.numerator * pow(w.denominator, -1, cube) % cube for w in large]
    assert fractions_modulo(residues, cube) == large
    assert fractions_modulo([w % PRIME for w in residues]) != large
    assert all(PRIME % k for k in range(2, math.isqrt(PRIME) + 1))


# --- suppressed and rounded counts ----------------------------------------------------------------


def test_a_total_recovers_a_suppressed_count():
    """The threads of gtsummary and of OpenSAFELY: small counts are hidden, the total is not."""
    release = Release({"kind": ["a"] * 30 + ["b"] * 20 + ["c"] * 4})
    release.add_table(["kind"], protect=Suppress(5))
    (cell,) = release.leakage().recovered
    assert isinstance(cell, Recovered)
    assert (cell.output, cell.cell, cell.low, cell.high) == ("table 1", "kind = c", 4, 4)
    assert (cell.shown_low, cell.shown_high, cell.kind) == (0, 4, "exact")
    assert cell.explanation == (
        "the number of people minus table 1 (kind = a) minus table 1 (kind = b)"
    )


def linked_tables(hidden):
    """A two-way table whose cells in `hidden` are suppressed, and both its margins."""
    counts = {("x", "p"): 20, ("x", "q"): 3, ("y", "p"): 4, ("y", "q"): 30, ("z", "p"): 12}
    counts |= {("z", "q"): 2, ("x", "r"): 11, ("y", "r"): 9, ("z", "r"): 14}
    rows = [cell for cell, count in counts.items() for _ in range(count)]
    people = dict(zip("ab", map(list, zip(*rows, strict=True)), strict=True))
    release = Release(people)
    release.add_table(["a"])
    release.add_table(["b"])
    shown = {
        "a": [cell[0] for cell in counts],
        "b": [cell[1] for cell in counts],
        "n": [None if cell in hidden else n for cell, n in counts.items()],
    }
    release.add_table(["a", "b"], published=shown)
    return release, counts


@pytest.mark.parametrize(
    "hidden",
    [
        [("x", "q")],
        [("x", "q"), ("y", "p")],
        [("x", "q"), ("x", "p"), ("y", "q"), ("y", "p")],
        [("x", "q"), ("x", "p"), ("y", "q"), ("y", "p"), ("z", "q")],
        [(a, b) for a in "xyz" for b in "pqr"],
    ],
    ids=len,
)
def test_ranges_of_suppressed_counts_agree_with_all_tables_that_fit(hidden):
    """The threads of sdcTools: primary and secondary suppression, checked by integers."""
    release, counts = linked_tables(hidden)
    ranges = {each: set() for each in hidden}
    lines = [key for cell in hidden for key in cell]
    totals = {key: sum(n for c, n in counts.items() if key in c) for key in "xyzpqr"}
    missing = {key: sum(counts[c] for c in hidden if key in c) for key in lines}

    def fill(place, missing, table):
        if place == len(hidden):
            for each, count in table.items():
                ranges[each].add(count)
            return
        a, b = cell = hidden[place]
        after = [key for other in hidden[place + 1 :] for key in other]
        least = max([missing[key] for key in cell if key not in after], default=0)
        for count in range(least, min(missing[a], missing[b]) + 1):
            less = missing | {a: missing[a] - count, b: missing[b] - count}
            if all(less[key] == 0 for key in cell if key not in after):
                fill(place + 1, less, table | {cell: count})

    if len(hidden) < 9:
        fill(0, missing, {})
    else:  # all: the bounds of Frechet
        for a, b in hidden:
            low = totals[a] + totals[b] - sum(counts.values())
            ranges[a, b] = {max(0, low), min(totals[a], totals[b])}
    found = {each.cell: each for each in release.leakage().recovered}
    for (a, b), values in ranges.items():
        cell = found[f"a = {a}, b = {b}"]
        assert (cell.low, cell.high) == (min(values), max(values))
        assert cell.kind == ("exact" if len(values) == 1 else "bound")
        assert cell.low <= cell.people <= cell.high


def test_the_marks_of_suppression_narrow_a_count():
    """Two hidden counts of at most 2 that sum to 4 are 2 and 2; no combination gives either."""
    release = Release({"k": ["a"] * 30 + ["b"] * 2 + ["c"] * 2})
    release.add_table(["k"], protect=Suppress(3))
    cells = release.leakage().recovered
    assert [(each.low, each.high, each.explanation) for each in cells] == [(2, 2, "")] * 2


def test_a_table_by_a_coarser_column_narrows_counts_by_the_finer_one():
    """Each city is in one region: four hidden counts sum to 6, the two of the north to 4."""
    cities = {"Oslo": 30, "Bergen": 2, "Voss": 2, "Lund": 40, "Ystad": 1, "Kivik": 1}
    north = {"Oslo", "Bergen", "Voss"}
    people = [city for city, count in cities.items() for _ in range(count)]
    release = Release({"city": people, "region": [city in north for city in people]})
    release.add_table(["city"], protect=Suppress(3))
    assert release.leakage().recovered == ()
    release.add_table(["region"])
    cells = {each.cell: (each.low, each.high) for each in release.leakage().recovered}
    assert cells == {"city = Bergen": (2, 2), "city = Voss": (2, 2)}


def test_two_roundings_of_one_count_give_it():
    """4 or 2 people by multiples of 3 and by multiples of 2, under two names of one group."""
    release = Release({"a": [0, 0, 1, 1, 1, 1], "b": [1, 1, 0, 0, 0, 0]})
    release.add_table(["b"], protect=Round(3))
    release.add_table(["a"], protect=Round(2))
    cells = {each.cell: (each.low, each.high) for each in release.leakage().recovered}
    assert cells["a = 0"] == cells["b = 1"] == (2, 2)
    assert cells["a = 1"] == cells["b = 0"] == (4, 4)


def test_rounded_counts_are_narrowed_by_exact_ones():
    release = Release({"a": [0] * 7 + [1] * 12, "b": [0] * 3 + [1] * 16})
    release.add_table(["a"], protect=Round(5))
    release.add_table(["a"], where={"b": 1})
    report = release.leakage()
    zero, one = (next(c for c in report.recovered if c.cell == f"a = {k}") for k in (0, 1))
    assert (one.shown_low, one.shown_high) == (8, 12)
    assert (one.low, one.high) == (12, 12)
    assert (zero.shown_low, zero.shown_high) == (3, 7)
    assert zero.low == zero.high == 7


def test_a_range_of_large_counts_holds_every_table_that_fits():
    """A solver stops at a gap of 1e-4 by default: here 3 below a count of 68,070."""
    matrix = np.array(
        [
            [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1],
            [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1],
            [0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1],
            [0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1],
        ]
    )
    low = np.array([997598, 539082, 68067, 745593, 302182, 330942])
    high = np.array([997598, 539086, 68070, 745595, 302187, 330942])
    table = np.array([68070, 382894, 7551, 0, 0, 0, 208140, 244452, 1, 0, 86490])
    assert np.all((low <= matrix @ table) & (matrix @ table <= high))
    other = table + np.array([-2, 0, 2, *[0] * 8])
    assert np.all((low <= matrix @ other) & (matrix @ other <= high))
    matrix = sparse.csr_matrix(np.vstack([matrix, np.eye(11, dtype=np.int64)[:1]]))
    low, high = np.append(low, 0), np.append(high, table.sum())
    ends = count_ranges(matrix, low, high, other, np.array([6]), [], Budget(100.0))
    assert ends.low[0] <= other[0] < table[0] <= ends.high[0]


@pytest.mark.parametrize("counts", [[30, None, None], ["30", "", ""]], ids=["missing", "empty"])
def test_what_a_protection_hides_is_no_gap_in_what_was_published(counts):
    """Two hidden counts of at most 2 that sum to 4, in the table as it was published."""
    release = Release({"k": ["a"] * 30 + ["b"] * 2 + ["c"] * 2})
    release.add_table(["k"], protect=Suppress(3), published={"k": list("abc"), "n": counts})
    cells = release.leakage().recovered
    assert [(each.shown_low, each.shown_high, each.low, each.high) for each in cells] == [
        (0, 2, 2, 2)
    ] * 2


def test_scopes_without_groups_are_looked_at_again_where_an_output_adds_to_them():
    """What is known of the first outputs is taken over; here every order of four outputs."""
    rng = np.random.default_rng(2)
    people = {name: rng.integers(0, 3, 60).tolist() for name in "abcd"}
    outputs = [(["a"], None), (["b", "c"], None), (["a"], {"b": [0, 1]}), (["d"], {"a": 0, "c": 1})]
    for order in itertools.permutations(outputs):
        stepwise, at_once = Release(people), Release(people)
        for by, where in order:
            stepwise.add_table(by, where=where)
            one = stepwise.leakage(threshold=60)
            at_once.add_table(by, where=where)
        other = at_once.leakage(threshold=60)
        assert {each.rows for each in one.determined} == {each.rows for each in other.determined}
        assert other.n_determined > 2
        assert np.array_equal(one.plug_in.low, other.plug_in.low)


def test_no_further_output_repeats_the_work_for_the_first_ones(monkeypatch):
    """The quadratic forms of all rows are computed once, and eight extensions lose no digits."""
    calls, whole = [], _analysis._quadratic_forms
    monkeypatch.setattr(
        _analysis, "_quadratic_forms", lambda *given: calls.append(given) or whole(*given)
    )
    rng = np.random.default_rng(12)
    people = {name: rng.integers(0, 5, 900).tolist() for name in "abcde"}
    stepwise, at_once = Release(people), Release(people)
    for pair in itertools.combinations("abcde", 2):
        stepwise.add_table(list(pair))
        at_once.add_table(list(pair))
        if len(stepwise.outputs) > 2:
            one = stepwise.leakage()
            assert len(calls) <= 1
    assert len(stepwise.outputs) == 10
    assert calls
    assert np.abs(one.plug_in.value - at_once.leakage().plug_in.value).max() < 1e-11


# --- arguments that reach the outputs -------------------------------------------------------------


def test_a_fitted_model_is_added_by_its_influence():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    fitted, releases = LinearRegression().fit(x, y), [Release({"a": [0, 1] * 20}) for _ in range(2)]
    releases[0].add_estimate(fitted, x, y)
    releases[1].add_estimate(influence_of(fitted, x, y))
    model, influence = (release.leakage().plug_in.value for release in releases)
    assert np.array_equal(model, influence)
    assert model.max() > 0.0


def test_the_cost_of_a_protected_table_is_a_hidden_count_that_follows():
    """3 of 45 people are hidden and follow from the others; without suppression they are shown."""
    release = Release({"city": ["a"] * 30 + ["b"] * 12 + ["c"] * 3, "sex": [0, 1, 2] * 15})
    release.add_table(["sex"])
    assert release.cost_of(["city"], protect=Suppress(5)).determined == 1
    assert release.cost_of(["city"]).determined == 0


def test_the_cost_of_a_table_counts_groups_below_the_threshold():
    """3 people over 80 follow by subtraction."""
    release = Release({"city": ["a"] * 30 + ["b"] * 15, "age": [30] * 42 + [90] * 3})
    release.add_table(["city"])
    young = {"where": {"age": {"max": 80}}}
    assert release.cost_of(["city"], threshold=4, **young).determined == 1
    assert release.cost_of(["city"], threshold=3, **young).determined == 0


WARDS = {"A": (40, 4, 4), "B": (23, 60, 31), "C": (12, 18, 25)}


def _wards():
    """The people of three wards in three age groups, and the published table by both."""
    cells = [(ward, age, n) for ward, counts in WARDS.items() for age, n in enumerate(counts)]
    people = {
        "ward": [ward for ward, _, n in cells for _ in range(n)],
        "age": [age for _, age, n in cells for _ in range(n)],
    }
    table = {"ward": [each[0] for each in cells], "age": [each[1] for each in cells]}
    return people, table, [each[2] for each in cells]


@pytest.mark.parametrize(
    "mark",
    ["<5", "< 5", "\u22644", "<=4", "1-4", "1 to 4", "fewer than 5"],
)
def test_marks_limit_the_counts_in_whose_place_they_stand(mark):
    """Two counts below 5 sum to 8, by the total of their ward: both are 4."""
    people, table, counts = _wards()
    release = Release(people)
    release.add_table(["ward"])
    shown = [mark if n < 5 else str(n) for n in counts]
    release.add_table(["ward", "age"], published={**table, "n": shown})
    report = release.leakage(threshold=5)
    assert [(each.low, each.high) for each in report.recovered] == [(4, 4)] * 2
    protected = Release(people)
    protected.add_table(["ward"])
    protected.add_table(["ward", "age"], protect=Suppress(5, zeros_shown=mark.startswith("1")))
    assert np.array_equal(report.plug_in.low, protected.leakage(threshold=5).plug_in.low)
    assert report.cautions == ()


def test_a_mark_that_is_not_of_the_people_is_refused():
    people, table, counts = _wards()
    release = Release(people)
    shown = ["<5" if n in (4, 23) else str(n) for n in counts]
    with pytest.raises(ValueError, match=r"row 3 holds '<5' for 23 people"):
        release.add_table(["ward", "age"], published={**table, "n": shown})


def test_a_mark_without_a_number_limits_nothing_and_marks_of_other_counts_are_no_rule():
    people, table, counts = _wards()
    release = Release(people)
    release.add_table(["ward"])
    shown = ["c" if n == 4 else str(n) for n in counts]
    release.add_table(["ward", "age"], published={**table, "n": shown})
    cells = release.leakage(threshold=3).recovered
    assert [(each.low, each.high) for each in cells] == [(0, 8)] * 2
    release = Release(people)
    release.add_table(["ward"])
    shown = ["<5" if n == 4 else "10-20" if n == 18 else str(n) for n in counts]
    release.add_table(["ward", "age"], published={**table, "n": shown})
    cells = release.leakage(threshold=5).recovered
    assert [(each.low, each.high) for each in cells] == [(4, 4), (4, 4), (18, 18)]


def test_counts_hidden_by_hand_below_the_threshold_are_named():
    people, table, counts = _wards()
    release = Release(people)
    shown = [None if n < 5 else n for n in counts]
    release.add_table(["ward", "age"], published={**table, "n": shown})
    (caution,) = release.leakage(threshold=5).cautions
    assert 'add protect = "suppress:5"' in caution
    assert release.leakage(threshold=10).cautions != ()  # no count from 5 to 9 is shown
    assert release.leakage(threshold=4).cautions == ()


@pytest.mark.parametrize("hidden", ["", "<3"])
def test_no_hidden_count_is_0_where_zeros_are_shown(hidden):
    """Three hidden counts of a ward with three cases, and a zero: each is 1."""
    counts = {"J18": (14, 1, 7), "I21": (9, 1, 0), "E11": (22, 1, 12), "F20": (6, 0, 4)}
    cells = [(d, w, n) for d, ns in counts.items() for w, n in zip("ACD", ns, strict=True)]
    people = {
        "diagnosis": [d for d, _, n in cells for _ in range(n)],
        "ward": [w for _, w, n in cells for _ in range(n)],
    }
    shown = {"diagnosis": [c[0] for c in cells], "ward": [c[1] for c in cells]}
    for zero, expected in (("0", [(1, 1)] * 3), (hidden, [(0, 3)] * 3 if not hidden else [])):
        n = [str(n) if n > 2 else hidden if n else zero for _, _, n in cells]
        release = Release(people)
        release.add_table(["ward"])
        release.add_table(["diagnosis", "ward"], published={**shown, "n": n})
        found = release.leakage(threshold=2).recovered
        assert [(each.low, each.high) for each in found] == expected
    n = [str(n) if n > 2 or not n else "" for _, _, n in cells]
    release = Release(people)
    release.add_table(["ward"])
    release.add_table(["diagnosis", "ward"], protect=Suppress(3), published={**shown, "n": n})
    found = release.leakage(threshold=2).recovered
    assert [(each.shown_low, each.low, each.high) for each in found] == [(1, 1, 1)] * 3
