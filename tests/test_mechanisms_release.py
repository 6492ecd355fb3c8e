"""What protections release, what they change, the forms of a ptable, and the weakest that does."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from mechanism_truth import NOISE, PTABLE

from mialeak import Register, atom_leakage, mechanism_leakage
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
    calibrate,
    information_lost,
    optimal_ptable,
    protection,
)
from mialeak.populations import Panel, Stratified

LAW = [0.5, 0.3125, 0.1875]


# --- what is released ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "way",
    [
        CellKey(PTABLE),
        DiscreteGaussian(1.5),
        Pipeline(RandomRound(3), Suppress(4)),
        Pipeline(CellKey(PTABLE), Round(5)),
        Pipeline(Geometric(1.0), Round(2), Suppress(3)),
        Synthetic(500_000),
    ],
)
def test_what_is_released_leaks_what_is_stated(way):
    """Simulation of the average game on one cell of a Poisson number of rows."""
    mean, draws, rng = 6.0, 200_000, np.random.default_rng(3)
    counts = np.concatenate([rng.poisson(mean, draws), 1 + rng.poisson(mean, draws)])
    released = way.release(counts, rng=rng)
    out, into = released[:draws], released[draws:]
    names = np.union1d(out, into)
    gap = [(into == y).mean() - (out == y).mean() for y in names]
    law = [1.0] if "Synthetic" not in repr(way) else [1e-6 * mean, 1 - 1e-6 * mean]
    n = 6 if len(law) == 1 else 10**6
    if len(law) == 2:
        rows = counts.sum()
        way = Synthetic(round(way.rows / rows * n))
        found = float(way.atom_leakage(law[0], n))
    else:
        found = float(mechanism_leakage(way, law, n, rows="poisson"))
    assert np.maximum(gap, 0).sum() == pytest.approx(found, abs=4 * math.sqrt(len(names) / draws))


def test_released_counts_of_moved_rows_have_their_mean():
    pram = Pram([[0.75, 0.25, 0.0], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]])
    rng = np.random.default_rng(0)
    counts = np.array([400_000, 200_000, 100_000])
    expected = counts @ pram.matrix
    assert pram.release(counts, rng=rng) == pytest.approx(expected, abs=5 * math.sqrt(counts.sum()))
    assert pram.release(counts, rng=rng).sum() == counts.sum()


def test_swapped_counts_keep_their_sums_and_have_their_law():
    by = [(kept, value) for kept in "ab" for value in (1, 2)]
    swap, rng = Swap(0.5, by), np.random.default_rng(1)
    counts = np.array([2, 0, 0, 1])
    drawn = np.array([swap.release(counts, rng=rng) for _ in range(4_000)])
    tables = drawn.reshape(-1, 2, 2)
    assert (tables.sum(axis=2) == [2, 1]).all()
    assert (tables.sum(axis=1) == [2, 1]).all()
    # Changed where the one of b is chosen, one or two of a are, and the value 2 comes to one of a.
    expected = 0.5 * (2 * 0.25 * (1 / 2) + 0.25 * (2 / 3))
    assert (drawn[:, 1] == 1).mean() == pytest.approx(expected, abs=0.03)


def test_information_lost_is_what_is_hidden_and_how_far_shown_counts_are_off():
    counts = [0, 1, 2, 2, 7, 8, 30]
    lost = information_lost(Pipeline(Suppress(7), Round(5)), counts)
    assert (lost.hidden, lost.change) == pytest.approx((4 / 7, 4 / 3))
    lost = information_lost(CellKey(PTABLE), counts)
    change = [sum(p * abs(v) for v, p in NOISE[min(c, 3)].items()) for c in counts]
    assert (lost.hidden, lost.change) == pytest.approx((0, float(sum(change) / 7)))
    ratio = math.exp(-1.0)
    lost = information_lost(Geometric(1.0), counts)
    assert lost.change == pytest.approx(2 * ratio / (1 - ratio**2), rel=1e-12)
    doubled = information_lost(Synthetic(100), counts)
    assert doubled.hidden == 0
    assert 0 < doubled.change < information_lost(Synthetic(25), counts).change


@pytest.mark.parametrize("epsilon", [1e-300, 1e-6, 0.3, 40.0, 1e308])
def test_geometric_noise_of_any_width_changes_counts_by_its_mean_size(epsilon):
    """1/sinh(epsilon); the noise of 1e-6 reaches beyond what a pipeline adds up."""
    expected = 1 / np.sinh(epsilon) if epsilon < 700 else 0.0
    lost = information_lost(Geometric(epsilon), [0, 3, 100])
    assert (lost.hidden, lost.change) == (0.0, pytest.approx(expected, rel=1e-14))
    with pytest.raises(ValueError, match=r"not available in a Pipeline.*larger epsilon"):
        information_lost(Pipeline(Geometric(5e-324), Round(5)), [3])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sigma", [5e-324, 1e-300])
def test_gaussian_noise_of_no_width_leaves_counts_as_they_are(sigma):
    noise = DiscreteGaussian(sigma)
    assert noise.release([3, 7]).tolist() == [3, 7]
    assert noise.atom_leakage(0.1, 10) == pytest.approx(atom_leakage([0.1, 0.9], 10)[0], rel=1e-12)


@pytest.mark.parametrize("rows", ["fixed", "poisson"])
def test_swapping_of_a_large_table_is_enclosed(rows):
    """Choices of rows that overflow a float: 2,000 cells, 32,561 rows."""
    by = [(age, place) for age in range(200) for place in range(10)]
    law = np.random.default_rng(0).dirichlet(np.ones(len(by)))
    leakage = mechanism_leakage(Swap(0.1, by), law, 32_561, rows=rows)
    assert leakage.kind == "bound"
    ages = mechanism_leakage(Histogram(), law.reshape(200, 10).sum(axis=1), 32_561, rows=rows)
    raw = mechanism_leakage(Histogram(), law, 32_561, rows=rows)
    assert (leakage.lower, leakage.upper) == (float(ages), float(raw))


def test_wide_noise_on_different_cells_needs_little_memory():
    """Outcomes of all cells at once would take 300 MB, and of sigma 1e5 more than most have."""
    law = np.linspace(1, 2, 200) / 300
    tracemalloc.start()
    leakage = float(mechanism_leakage(DiscreteGaussian(1e4), law, 100, rows="poisson"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20
    # One row more moves the noise by 1: its density at 0.
    assert leakage == pytest.approx(1 / math.sqrt(2 * math.pi) / 1e4, rel=1e-4)


@pytest.mark.parametrize("way", [DiscreteGaussian(3.0), CellKey(PTABLE), Synthetic(700)])
def test_blocks_of_cells_and_of_noise_make_no_difference(way, monkeypatch):
    """Cells one by one, noise row by row, and windows that begin in different places."""
    from mialeak.mechanisms import _cellwise, _noise

    law = np.random.default_rng(1).dirichlet(np.full(60, 0.2))
    together = [float(mechanism_leakage(way, law, n, rows="poisson")) for n in (50, 10**5)]
    monkeypatch.setattr(_cellwise, "_MOST_OUTCOMES", 1)
    monkeypatch.setattr(_noise, "_LARGEST_KERNEL", 1)
    single = [float(mechanism_leakage(way, law, n, rows="poisson")) for n in (50, 10**5)]
    assert single == pytest.approx(together, abs=1e-14)


def test_synthetic_rows_of_rounded_counts_are_drawn_for_the_rows_of_the_table():
    """As the leakage has it: a shown count of 5 of 21 rows has a mean of 5/21 of the rows."""
    pipeline = Pipeline(Round(5), Synthetic(42))
    drawn = pipeline.release(np.tile([7, 7, 7], (20_000, 1)) + 0, rng=0)
    whole = 20_000 * 21
    assert drawn.mean() == pytest.approx(5 * 42 / whole, abs=5 * math.sqrt(5 * 42 / whole / 6e4))
    assert Synthetic(5).release([0, 0], rng=0).tolist() == [0, 0]


def test_tables_without_cells_have_no_loss_and_empty_tables_no_change():
    with pytest.raises(ValueError, match="counts must hold at least one cell"):
        information_lost(Round(5), [])
    assert information_lost(Synthetic(5), [0, 0]).change == 0.0
    assert information_lost(Pipeline(Synthetic(40), Synthetic(10)), [100]).change < 100


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: mechanism_leakage(Round(5), Stratified([[5, 3], [2, 1]], [2, 1])),
            TypeError,
            "leakage of a mechanism is not available for a Stratified.*one Register at a time",
        ),
        (
            lambda: mechanism_leakage(Histogram(), Panel([5, 3]), 3),
            TypeError,
            "leakage of a mechanism is not available for a Panel.*panel.weights",
        ),
        (
            lambda: calibrate(Round, Panel([5, 3]), 3, leakage=0.1),
            TypeError,
            "not available for a Panel",
        ),
        (
            lambda: Round(5).atom_leakage(Stratified([[5, 3]], [2]), 3),
            TypeError,
            "a Stratified holds people",
        ),
        (lambda: optimal_ptable(Register([5, 3]), 3, noise=2), TypeError, "a Register holds peop"),
        (
            lambda: calibrate(Round, lambda _: 0.01, 5, leakage=0.1),
            ValueError,
            "n must be left out where p is a function",
        ),
        (
            lambda: calibrate(Round, Register([5, 3]), 5, leakage=0.9, rows="fixed"),
            ValueError,
            "rows must be left out for a Register",
        ),
        (
            lambda: Synthetic(5).push(np.ones((1, 1)), np.zeros(1, np.int64)),
            ValueError,
            "depends on the number of true rows",
        ),
    ],
)
def test_what_has_no_answer_is_refused_with_what_has(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- ptables ---------------------------------------------------------------------------------

DESTATIS = """i;j;p;v;p_int_ub
0;0;1.0000000; 0;1.0000000
1;0;0.2500000;-1;0.2500000
1;1;0.5000000; 0;0.7500000
1;2;0.2500000; 1;1.0000000
2;0;0.1250000;-2;0.1250000
2;1;0.1250000;-1;0.2500000
2;2;0.3750000; 0;0.6250000
2;3;0.3750000; 1;1.0000000
3;1;0.1250000;-2;0.1250000
3;2;0.2500000;-1;0.3750000
3;3;0.2500000; 0;0.6250000
3;4;0.2500000; 1;0.8750000
3;5;0.1250000; 2;1.0000000
"""


def key_form(name):
    """NOISE for eight cell keys, as the ONS and the ABS write it."""
    noise = {c: [v for v, p in NOISE[c].items() for _ in range(int(8 * p))] for c in (1, 2, 3)}
    if name == "ons":
        rows = [f"{c},{k},{v}" for c in noise for k, v in enumerate(noise[c])]
        return "\n".join(["pcv,ckey,pvalue", *rows])
    return "\n".join(
        ["V1,V2,V3", *(",".join(map(str, row)) for row in zip(*noise.values(), strict=True))]
    )


@pytest.mark.parametrize("form", ["destatis", "sas", "ons", "abs"])
def test_every_form_of_a_ptable_is_read(form, tmp_path):
    text = DESTATIS if form in {"destatis", "sas"} else key_form(form)
    if form == "sas":
        text = "\n".join(line + ";0" for line in text.splitlines()).replace("ub;0", "ub;lb", 1)
    path = tmp_path / "ptable.csv"
    path.write_text(text)
    keys, ours = CellKey(path), CellKey(PTABLE)
    assert keys.shifts.tolist() == ours.shifts.tolist() == [-2, -1, 0, 1, 2]
    assert keys.probabilities.tolist() == ours.probabilities.tolist()
    assert repr(keys) == "CellKey(counts 0 to 3, noise -2 to 2)"


def test_the_ten_five_rule_of_the_ons_hides_and_rounds():
    """Its ptable has 750 counts: below 10 to 0, others to multiples of 5; the last 250 repeat."""
    counts, keys = np.repeat(np.arange(1, 751), 2), np.tile([0, 1], 750)
    noise = np.where(counts < 10, -counts, np.array([0, -1, -2, 2, 1])[counts % 5])
    rule = CellKey({"pcv": counts, "ckey": keys, "pvalue": noise})
    given = np.arange(3_000)
    expected = np.where(given < 10, 0, (given + 2) // 5 * 5)
    assert rule.release(given).tolist() == expected.tolist()
    assert float(rule.atom_leakage(0.3, 2_000)) == pytest.approx(
        float(Pipeline(Suppress(10), Round(5)).atom_leakage(0.3, 2_000)), rel=1e-12
    )


def test_larger_counts_take_the_last_rows_in_turn():
    table = np.array([[0, 1, -1]])
    assert CellKey(table).release(range(7)).tolist() == [0, 1, 3, 2, 3, 4, 5]
    assert CellKey(table, repeat=2).release(range(7)).tolist() == [0, 1, 3, 2, 5, 4, 7]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": [0.5] * 13}, "sum to 1 for each count from 0 to 3; those of 0 sum to 0.5"),
        ({"v": [-1, *PTABLE["v"][1:]]}, "show no negative count; it has count 0, noise -1"),
        ({"p": [-1.0, *PTABLE["p"][1:]]}, "probabilities of at least 0"),
        ({"i": [0.5, *PTABLE["i"][1:]]}, r"ptable\['i'\] .*whole numbers"),
        ({"i": [5 if i == 1 else i for i in PTABLE["i"]]}, "those of 1 sum to 0"),
        ({"type": ["even"] * 13}, "be one for counts; its types are even"),
    ],
)
def test_a_ptable_that_is_none_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        CellKey(PTABLE | change)


def test_what_is_no_ptable_is_refused():
    with pytest.raises(ValueError, match="have the columns i, v and p, or pcv"):
        CellKey({"count": [1], "noise": [0]})
    with pytest.raises(TypeError, match="path, a dict of columns"):
        CellKey(3)
    with pytest.raises(ValueError, match="a row for each cell key"):
        CellKey(np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="repeat"):
        CellKey(PTABLE, repeat=5)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: DiscreteGaussian(0.0), ValueError, "sigma must be above 0"),
        (lambda: DiscreteGaussian(float("nan")), ValueError, "sigma"),
        (lambda: Synthetic(0), ValueError, "rows must be"),
        (lambda: Synthetic(1.5), TypeError, "rows must be"),
        (lambda: Pipeline(), TypeError, "at least one protection"),
        (lambda: Pipeline(Round(3), 5), TypeError, "protections.* must be protections of counts"),
        (lambda: Pram([[0.5, 0.5]]), ValueError, "matrix must be square"),
        (lambda: Pram([[0.5, 0.4], [0, 1]]), ValueError, "rows that sum to 1"),
        (lambda: Pram([[1.5, -0.5], [0, 1]]), ValueError, "between 0 and 1"),
        (lambda: Swap(1.5, [("a", 1)]), ValueError, "rate must be between 0 and 1"),
        (lambda: Swap(0.5, [0, 1]), TypeError, "by must hold tuples"),
        (lambda: Swap(0.5, [("a", 1)] * 2), ValueError, "by must list each cell once"),
        (lambda: Swap(0.5, [("a", 1), ("b", 2)]), ValueError, "by must have a cell for each"),
        (lambda: mechanism_leakage(Swap(0.5, [("a", 1)]), LAW, 3), ValueError, "by must list each"),
        (lambda: mechanism_leakage(Pram([[1.0]]), LAW, 3), ValueError, "matrix must have a row"),
    ],
)
def test_bad_protections_are_refused_in_so_many_words(build, error, message):
    with pytest.raises(error, match=message):
        build()


# --- the weakest that does -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Round, RandomRound, Suppress, Synthetic])
def test_the_weakest_whole_parameter_is_that_of_a_scan(kind):
    """Weaker by one, the leakage is above the limit; of rounding all smaller bases are."""
    law, n, limit = [0.02] * 50, 100, 0.12
    found = calibrate(kind, law, n, leakage=limit)
    parameter = vars(found)[{Suppress: "below", Synthetic: "rows"}.get(kind, "base")]

    def leak(value):
        return float(mechanism_leakage(kind(value), law, n, rows="poisson"))

    assert leak(parameter) <= limit
    if kind in (Round, RandomRound):
        assert all(leak(base) > limit for base in range(2, parameter))
    else:
        assert leak(parameter + (1 if kind is Synthetic else -1)) > limit


@pytest.mark.parametrize(("kind", "weaker"), [(Geometric, 1.001), (DiscreteGaussian, 0.999)])
def test_noise_is_weakest_to_a_thousandth(kind, weaker):
    register = Register([40, 20, 9, 3, 1, 1, 1], rate=0.3)
    found = calibrate(kind, register, leakage=0.1)
    parameter = found.epsilon if kind is Geometric else found.sigma
    assert float(mechanism_leakage(found, register)) <= 0.1
    assert float(mechanism_leakage(kind(parameter * weaker), register)) > 0.1


def test_any_protection_and_any_measure_of_leakage_can_be_calibrated():
    measured = []

    def leakage_of(protection):
        measured.append(protection)
        return 1 / protection.protections[1].base

    found = calibrate(
        lambda base: Pipeline(Suppress(7), Round(base)), leakage_of, leakage=0.21, values=(2, 5, 10)
    )
    assert found == Pipeline(Suppress(7), Round(5))
    assert measured == [Pipeline(Suppress(7), Round(2)), found]


def test_a_limit_that_is_not_reached_is_refused_with_the_least_leakage():
    with pytest.raises(ValueError, match=r"Round\(base=3\).* It leaks 0\.1"):
        calibrate(Round, [0.05] * 20, 100, leakage=0.01, values=(2, 3))
    with pytest.raises(ValueError, match=r"below what the counts leak as they are, 0\.1"):
        calibrate(Synthetic, [0.05] * 20, 100, leakage=0.9)
    with pytest.raises(TypeError, match="Pass values="):
        calibrate(CellKey, [0.5, 0.5], 10, leakage=0.1)
    with pytest.raises(ValueError, match="values must hold"):
        calibrate(Round, [0.5, 0.5], 10, leakage=0.1, values=())
    with pytest.raises(ValueError, match="leakage must be"):
        calibrate(Round, [0.5, 0.5], 10, leakage=1.0)


def test_the_cells_of_a_register_leak_what_their_mean_is():
    register = Register([6, 3, 0, 1, 1])
    for way in (Round(3), Suppress(2), CellKey(PTABLE)):
        cells = way.atom_leakage(register, 4)
        law = np.array([6, 3, 0, 1, 1]) / 11
        own = mechanism_leakage(way, Register([6, 3, 1, 1, *[1000] * 20]), 4)
        assert cells.shape == (5,)
        assert cells[2] == cells[3] == cells[4]
        bernoulli = Register([6, 3, 0, 1, 1], rate=0.4)
        mean = law @ way.atom_leakage(bernoulli)
        assert mean == pytest.approx(float(mechanism_leakage(way, bernoulli)), abs=1e-15)
    assert own.kind == "bound"


# --- the ptable that leaks least -------------------------------------------------------------


def leak_of(keys, law, n):
    return float(mechanism_leakage(keys, law, n, rows="poisson"))


@pytest.mark.parametrize("variance", [None, 0.5])
def test_no_ptable_of_a_grid_leaks_less_than_the_optimal_one(variance):
    """Noise of at most 1 and mean 0: a row has one parameter, the chance of +1 and of -1."""
    law, n = [0.1] * 4 + [0.3] * 2, 10
    found = optimal_ptable(law, n, noise=1, counts=2, variance=variance)
    most = 0.5 if variance is None else 0.25
    assert found.probabilities[0].tolist() == [0, 1, 0]
    assert found.probabilities @ found.shifts == pytest.approx(0, abs=1e-6)
    assert found.probabilities @ found.shifts**2 == pytest.approx(0, abs=2 * most + 1e-6)
    least = np.inf
    for a in np.linspace(0, most, 41):
        for b in np.linspace(0, most, 41):
            rows = {0: [0, 1, 0], 1: [a, 1 - 2 * a, a], 2: [b, 1 - 2 * b, b]}
            keys = CellKey(
                {
                    "i": np.repeat([0, 1, 2], 3),
                    "v": [-1, 0, 1] * 3,
                    "p": np.concatenate(list(rows.values())),
                }
            )
            least = min(least, leak_of(keys, law, n))
    assert leak_of(found, law, n) <= least + 1e-6
    assert leak_of(found, law, n) >= least - 0.01


def test_no_random_ptable_leaks_less_than_the_optimal_one():
    """Symmetric noise of at most 2, with the variance that the optimal one is allowed."""
    rng, law, n = np.random.default_rng(0), [0.02] * 30 + [0.05] * 8, 60
    best = leak_of(optimal_ptable(law, n, noise=2, variance=1.0), law, n)
    least = np.inf
    for _ in range(200):
        rows = [[0, 0, 1, 0, 0]]
        for count in range(1, 5):
            one, two = rng.dirichlet([1, 1, 1])[:2] * [0.5, 0.125 if count > 1 else 0.0]
            scale = min(1.0, 1.0 / (2 * one + 8 * two))
            one, two = scale * one, scale * two
            rows.append([two, one, 1 - 2 * one - 2 * two, one, two])
        keys = CellKey(
            {"i": np.repeat(range(5), 5), "v": list(range(-2, 3)) * 5, "p": np.ravel(rows)}
        )
        least = min(least, leak_of(keys, law, n))
    assert best <= least + 1e-9
    assert leak_of(optimal_ptable(law, n, noise=2), law, n) <= best + 1e-6
    assert leak_of(optimal_ptable(law, n, noise=3, variance=1.0), law, n) <= best + 1e-6


def test_bad_ptables_are_not_designed():
    for options, message in (
        ({"noise": 0}, "noise must be"),
        ({"noise": 2, "variance": 0.0}, "variance must be above 0"),
        ({"noise": 2, "counts": 1}, "counts must be"),
    ):
        with pytest.raises(ValueError, match=message):
            optimal_ptable([0.5, 0.5], 5, **options)
    with pytest.raises(ValueError, match="is not available for cells that expect"):
        optimal_ptable([0.5, 0.5], 10**12, noise=1)


def test_a_count_of_zero_that_a_ptable_does_not_list_stays_zero():
    keys = CellKey({"i": [1, 1, 2], "v": [1, 2, 1], "p": [0.5, 0.5, 1.0]})
    assert set(keys.release([0, 1, 2, 9] * 50, rng=0).reshape(-1, 4)[:, 0]) == {0}
    assert set(keys.release([2, 9] * 50, rng=0).tolist()) == {3, 10}
    assert set(keys.release([1] * 50, rng=0).tolist()) == {2, 3}
    with pytest.raises(ValueError, match="ptable must hold probabilities above 0"):
        CellKey({"i": [0], "v": [0], "p": [0.0]})


@pytest.mark.parametrize("text", ["round:5", "random-round:3", "suppress:4", "synthetic:9"])
def test_what_is_empty_has_no_leakage_and_no_law(text):
    mechanism = protection(text)
    assert mechanism.atom_leakage([], 10).shape == (0,)
    assert mechanism.atom_leakage(np.zeros((3, 0)), 10).shape == (3, 0)
    law = mechanism.outcome_law([], 10)
    assert law.ndim == 2
    assert len(law) == 0
