"""Protections of counts as offices use them, against enumeration in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction as F

import mpmath
import numpy as np
import pytest
from mechanism_truth import (
    CELLWISE,
    FLOATS,
    FOUR,
    GAMMAS,
    LAW,
    MOVING,
    count_vectors,
    enumerated,
    hidden,
    moved,
    one_after_the_other,
    rounded,
    separately,
)

from mialeak import atom_leakage, max_leakage, mechanism_leakage
from mialeak.mechanisms import (
    CellKey,
    DiscreteGaussian,
    Geometric,
    Histogram,
    Pipeline,
    Pram,
    RandomRound,
    Round,
    Suppress,
    Swap,
    Synthetic,
    protection,
)

# --- independent rows ------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", CELLWISE)
def test_all_cells_leak_what_enumeration_in_rationals_states(name, gamma):
    ours, law = CELLWISE[name]
    atoms, n = (LAW, 4) if "Gaussian" not in name else ([F(3, 4), F(1, 4)], 3)
    found = mechanism_leakage(ours, [float(x) for x in atoms], n, gamma=float(gamma))
    assert found.kind == "exact"
    truth = enumerated(separately(law), atoms, n, gamma)
    assert float(found) == pytest.approx(float(truth), abs=3e-15)


def own_cell(law, mean, gamma, most=32):
    """Leakage of a target by the count of its own cell, Poisson rows, to 40 digits."""
    with mpmath.workdps(40):
        mean = mpmath.mpf(mean.numerator) / mean.denominator
        chance = [mpmath.exp(-mean) * mean**c / mpmath.factorial(c) for c in range(most)]
        gap = {}
        for c in range(most):
            inside = chance[c - 1] if c else 0
            for shown, p in law(c).items():
                part = (inside - gamma.numerator * chance[c] / gamma.denominator) * (
                    mpmath.mpf(p.numerator) / p.denominator
                )
                gap[shown] = gap.get(shown, 0) + part
        if gamma >= 1:
            return float(mpmath.fsum(max(x, 0) for x in gap.values()))
        return float(mpmath.fsum(max(-x, 0) for x in gap.values()) * gamma.denominator)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", CELLWISE)
def test_a_cell_of_poisson_rows_leaks_what_its_law_states(name, gamma):
    ours, law = CELLWISE[name]
    found = mechanism_leakage(ours, FLOATS, 4, gamma=float(gamma), rows="poisson")
    assert found.kind == "exact"
    truth = sum(float(p) * own_cell(law, 4 * p, gamma) for p in LAW)
    assert float(found) == pytest.approx(truth, abs=3e-15)


def test_the_order_of_suppression_and_rounding_matters():
    one, other = Pipeline(Suppress(7), Round(5)), Pipeline(Round(5), Suppress(7))
    assert one.release(range(13)).tolist() == [-1] * 7 + [5] + [10] * 5
    assert other.release(range(13)).tolist() == [-1] * 8 + [10] * 5
    law = [F(1, 20), F(19, 20)]
    steps = (hidden(7), rounded(5)), (rounded(5), hidden(7))
    truth = [own_cell(one_after_the_other(*each), F(15), F(1), 99) for each in steps]
    found = [float(way.atom_leakage(0.05, 300)) for way in (one, other)]
    poisson = [float(mechanism_leakage(way, law, 300, rows="poisson")) for way in (one, other)]
    far = [own_cell(one_after_the_other(*each), F(285), F(1), 999) for each in steps]
    for at in (0, 1):
        assert poisson[at] == pytest.approx(truth[at] / 20 + far[at] * 19 / 20, abs=1e-14)
    assert truth[0] == pytest.approx(truth[1], abs=1e-2)
    few = [float(way.atom_leakage(0.01, 600)) for way in (one, other)]
    assert few[0] > few[1] + 1e-3
    assert found[0] >= found[1]


# --- synthetic rows --------------------------------------------------------------------------


def synthetic(ratio, mean, most=60):
    """Leakage through Poisson(ratio c) synthetic rows, c a Poisson count: sums in floats."""
    counts = np.arange(most)
    log_factorial = np.array([math.lgamma(c + 1) for c in counts])
    out = np.exp(-mean + counts * math.log(mean) - log_factorial)
    inside = np.concatenate([[0.0], out[:-1]])
    shown = np.arange(int(8 * ratio * most) + 40)
    rate = np.maximum(ratio * counts, 1e-300)[:, None]
    kernel = np.exp(-rate + shown * np.log(rate) - np.array([math.lgamma(s + 1) for s in shown]))
    return np.maximum((inside - out) @ kernel, 0).sum()


@pytest.mark.parametrize(
    ("expected", "rows", "figure"),
    [(1.0, 10, 0.336), (1.0, 20, 0.364), (1.0, 1, 0.087), (0.1, 10, 0.593)],
)
def test_synthetic_rows_hardly_protect_unless_they_are_few(expected, rows, figure):
    """In a cell that expects one row the raw count leaks 0.368, of a tenth of a row 0.905."""
    law = [expected / 10, 1 - expected / 10]
    both = float(mechanism_leakage(Synthetic(rows), law, 10, rows="poisson"))
    other = synthetic(rows / 10, 10 - expected, 120)
    found = (both - law[1] * other) / law[0]
    assert found == pytest.approx(synthetic(rows / 10, expected), abs=1e-13)
    assert found == pytest.approx(figure, abs=6e-4)
    raw = float(mechanism_leakage(Histogram(), law, 10, rows="poisson"))
    assert both < raw


def test_synthetic_rows_of_synthetic_rows_are_drawn_from_the_first_ones():
    """40 rows for 100, then 10 for 40: Poisson with a quarter of the first synthetic count."""
    mean, most = 3.0, 60

    def kernel(ratio, rows, columns):
        rate = np.maximum(ratio * np.arange(rows), 1e-300)[:, None]
        shown = np.arange(columns)
        return np.exp(-rate + shown * np.log(rate) - np.array([math.lgamma(s + 1) for s in shown]))

    out = np.array([math.exp(-mean) * mean**c / math.factorial(c) for c in range(most)])
    gap = np.concatenate([[0.0], out[:-1]]) - out
    truth = np.maximum(gap @ kernel(0.4, most, 120) @ kernel(0.25, 120, 160), 0).sum()
    twice = Pipeline(Synthetic(40 * 10**6), Synthetic(10 * 10**6))
    # Binomial rows of so rare a cell are Poisson, within 1e-7.
    assert float(twice.atom_leakage(3e-8, 10**8)) == pytest.approx(truth, abs=1e-7)


def test_all_synthetic_counts_together_leak_what_enumeration_states():
    n, rows, law = 3, 2, [0.75, 0.25]
    most = 40

    def kernel(count):
        mean = rows * count / n
        return [math.exp(-mean) * mean**s / math.factorial(s) for s in range(most)]

    for gamma in (0.5, 1.0, 2.0):
        truth = 0.0
        for k in (0, 1):
            gap = np.zeros((most, most))
            for c in count_vectors(n, 2):
                weight = math.comb(n, c[0]) * law[0] ** c[0] * law[1] ** c[1]
                gap += weight * (c[k] / n - gamma * law[k]) * np.outer(*map(kernel, c))
            positive = gap if gamma >= 1 else -gap / gamma
            truth += np.maximum(positive, 0).sum()
        found = mechanism_leakage(Synthetic(rows), law, n, gamma=gamma)
        assert float(found) == pytest.approx(truth, abs=1e-14)


# --- rows that move --------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("name", MOVING)
def test_moved_rows_leak_what_enumeration_in_rationals_states(name, n, gamma):
    ours, theirs, law = MOVING[name]
    found = mechanism_leakage(ours, [float(x) for x in law], n, gamma=float(gamma))
    assert found.kind == "exact"
    truth = enumerated(theirs, law, n, gamma)
    assert float(found) == pytest.approx(float(truth), abs=3e-15)


@pytest.mark.parametrize("gamma", [F(1), F(2)])
def test_moved_rows_of_a_poisson_number_too(gamma):
    """One row is expected: 19 have a probability of 3e-18."""
    law, n, matrix = [F(3, 4), F(1, 4)], 1, [[F(3, 4), F(1, 4)], [F(1, 2), F(1, 2)]]
    ours = Pram([[0.75, 0.25], [0.5, 0.5]])
    found = mechanism_leakage(ours, [0.75, 0.25], n, gamma=float(gamma), rows="poisson")
    truth = enumerated(moved(matrix), law, n, gamma, most=18)
    assert float(found) == pytest.approx(float(truth), abs=1e-15)


def test_rows_that_keep_all_but_what_they_exchange_swap_in_vain():
    """Within a group of one kept part nothing changes, whatever the rate."""
    law, raw = [float(x) for x in FOUR], max_leakage([float(x) for x in FOUR], 5)
    ours = Swap(1.0, [("x", "a", 1), ("x", "a", 2), ("y", "b", 1), ("y", "b", 2)])
    assert float(mechanism_leakage(ours, law, 5)) == pytest.approx(raw, abs=1e-14)
    assert mechanism_leakage(ours, law, 500).lower == max_leakage(law, 500)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("rows", ["fixed", "poisson"])
def test_bounds_hold_what_enumeration_states(rows, gamma, monkeypatch):
    from mialeak.mechanisms import _post_randomisation, _swapping

    for name, (ours, _, law) in MOVING.items():
        if name == "swap none" or ("swap" in name and rows == "poisson"):
            continue
        law = [float(x) for x in law]
        exact = mechanism_leakage(ours, law, 6, rows=rows, gamma=gamma)
        with monkeypatch.context() as patch:
            patch.setattr(_post_randomisation, "_MOST_VECTORS", 0)
            patch.setattr(_swapping, "_MOST_CHOICES", 0)
            found = mechanism_leakage(ours, law, 6, rows=rows, gamma=gamma)
        assert found.lower <= exact.lower + 1e-15
        assert exact.upper <= found.upper + 1e-15
        # Within these groups rows keep the same: swapping changes nothing.
        assert found.kind == ("exact" if name == "within groups" else "bound")


@pytest.mark.parametrize("rows", ["fixed", "poisson"])
@pytest.mark.parametrize(("cells", "n", "width"), [(5, 300, 5e-3), (12, 5_000, 2e-2)])
def test_rows_replaced_by_others_of_their_law_leak_with_those_that_stay(
    cells, n, width, rows, monkeypatch
):
    """A closed form at any size: the likelihood ratio is 1 for the rows that are replaced."""
    from mialeak.mechanisms import _post_randomisation

    monkeypatch.setattr(_post_randomisation, "_MOST_POINTS", 2**16)
    monkeypatch.setattr(_post_randomisation, "_least", lambda *_, **__: 0.0)
    law = np.random.default_rng(cells).dirichlet(np.full(cells, 3.0))
    # Rows that differ in their last digits, so that no cells are one.
    replaced = 0.3 * law * (1 + 1e-13 * np.arange(cells)[:, None])
    ours = Pram(0.7 * np.eye(cells) + replaced)
    found = mechanism_leakage(ours, law, n, rows=rows)
    if rows == "poisson":  # and so is the number of all rows, which varies, for every row
        assert 0.7 * mechanism_leakage(Histogram(), law, n, rows=rows).lower < found.upper
    else:
        truth = 0.7 * max_leakage(law, n)
        assert found.lower - 1e-14 <= truth <= found.upper + 1e-14
        assert found.upper - found.lower < width * truth
        assert found.upper == pytest.approx(truth, rel=1e-4)
        ends = ours.atom_leakage(law, n)
        expected = 0.7 * atom_leakage(law, n)
        assert (ends.lower <= expected * (1 + 1e-12)).all()
        assert ends.upper == pytest.approx(expected, rel=1e-3)


# --- names ----------------------------------------------------------------------------------------


def test_a_text_names_its_protection(tmp_path):
    ptable, matrix = tmp_path / "ptable.csv", tmp_path / "moves.csv"
    ptable.write_text("i;v;p\n0;0;1\n1;-1;0.5\n1;1;0.5\n")
    matrix.write_text("from,a,b\na,0.9,0.1\nb,0.2,0.8\n")
    named = {
        "round:5": Round(5),
        "random-round:3": RandomRound(3),
        "suppress:10": Suppress(10),
        "suppress-positive:10": Suppress(10, zeros_shown=True),
        f"cell-key:{ptable}": CellKey(ptable),
        "geometric:0.5": Geometric(0.5),
        "gaussian:2": DiscreteGaussian(2.0),
        "synthetic:500": Synthetic(500),
        "suppress:7+round:5": Pipeline(Suppress(7), Round(5)),
        " round: 5 + suppress:7": Pipeline(Round(5), Suppress(7)),
    }
    for text, expected in named.items():
        assert repr(protection(text)) == repr(expected)
    assert isinstance(protection(f"pram:{matrix}"), Pram)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("round", {}, r"text must be round:BASE, random-round:BASE, .* or pram:FILE; got"),
        ("", {}, "got text = ''"),
        ("rounding:5", {}, "got text = 'rounding:5'"),
        ("round:2.5", {}, "got text = 'round:2.5'"),
        ("round:5+", {}, "got text = 'round:5\\+'"),
        (5, {}, "got text = 5"),
        ("round:1", {}, "base must be between 2 and"),
        ("geometric:-1", {}, "epsilon must be"),
        ("suppress:3+gaussian:1", {}, "add noise before counts are hidden"),
        ("pram:m.csv", {"names": ["round"], "argument": "protect"}, "protect must be round:BASE"),
        ("suppress:3", {"names": ["round", "geometric"]}, "be round:BASE, geometric:EPSILON, or"),
    ],
)
def test_a_text_that_names_no_protection_is_refused(text, options, words):
    with pytest.raises(ValueError, match=words):
        protection(text, **options)


def test_no_protected_cell_leaks_more_than_one_by_rounding():
    rare = 10.0 ** np.linspace(-18.0, -12.0, 200)
    for mechanism in (DiscreteGaussian(0.1), Suppress(1), Geometric(50.0)):
        assert mechanism.atom_leakage(rare, 162).max() <= 1.0
