"""Protections compared on the scale of the estimate: `protect` and `coarsen` of `table_leakage`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from mechanism_truth import PTABLE
from populations import zipf
from scipy import stats

from mialeak import max_leakage, mechanism_leakage
from mialeak.cli import main
from mialeak.datasets import load_adult
from mialeak.mechanisms import (
    CellKey,
    DiscreteGaussian,
    Geometric,
    Pipeline,
    Pram,
    RandomRound,
    Round,
    Suppress,
    Swap,
    Synthetic,
)
from mialeak.tables import estimate_atom_leakage, table_leakage

WAYS = {
    "round:3": Round(3),
    "round:5": Round(5),
    "suppress:2": Suppress(2),
    "suppress:5": Suppress(5),
    "random-round:3": RandomRound(3),
    "geometric:1": Geometric(1.0),
    "geometric:0.5": Geometric(0.5),
    "gaussian:1": DiscreteGaussian(1.0),
    "cell-key": CellKey(PTABLE),
    "suppress:3+round:5": Pipeline(Suppress(3), Round(5)),
    "synthetic:500": Synthetic(500),
}
COLUMNS = ["age", "education", "sex", "race", "occupation", "hours_per_week"]


@pytest.fixture(scope="module")
def adult():
    """The cell of each person of Adult, and the probability of each cell."""
    columns = load_adult().columns
    keys = np.array(
        ["|".join(map(str, row)) for row in zip(*(columns[name] for name in COLUMNS), strict=True)]
    )
    _, cells, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return cells, counts / counts.sum()


def leakage_of_rounded_cells(base, expected):
    """Sum over outcomes of (out - in)+ for cells that expect few rows: enumerated, Poisson rows."""
    counts = np.arange(400)
    rounded = (counts + base // 2) // base
    out = stats.poisson.pmf(counts[:, None], expected)
    inside = stats.poisson.pmf(counts[:, None] - 1, expected)
    gain = np.array(
        [(inside - out)[rounded == each].sum(axis=0) for each in range(rounded.max() + 1)]
    )
    return np.maximum(gain, 0).sum(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_protections_of_a_sparse_table_leak_what_they_do_in_the_population(adult, seed):
    cells, p = adult
    rows = 2_000
    rng = np.random.default_rng(seed)
    sample = cells[rng.integers(0, len(cells), rows)]
    report = table_leakage({"cell": [f"c{cell}" for cell in sample]}, protect=WAYS)
    truth = {
        name: float(mechanism_leakage(way, p, rows, rows="poisson")) for name, way in WAYS.items()
    }
    atoms, times = np.unique(p, return_counts=True)
    for base in (3, 5):
        own = (atoms * times) @ leakage_of_rounded_cells(base, rows * atoms)
        assert truth[f"round:{base}"] == pytest.approx(own, rel=1e-9)
    raw, *others = report.protections
    assert raw.value == report.estimate.value == pytest.approx(max_leakage(p, rows), abs=0.04)
    found = {table.protection: table.value for table in others}
    assert list(found) == list(WAYS)
    for name, value in found.items():
        assert value == pytest.approx(truth[name], abs=0.04), name
        assert value < raw.value
    # By the table's own frequencies noise seems better than rounding; it leaks three times as much.
    assert found["geometric:1"] > 2 * found["round:3"]
    for worse in WAYS:
        for better in WAYS:
            assert found[worse] > found[better] or truth[worse] < 1.2 * truth[better]


def kernel(way, counts):
    """Probability of each outcome (columns) for each count (rows), from what the noise is."""
    if isinstance(way, Geometric):
        shift = np.arange(-600, 601)[None, :] - counts[:, None]
        ratio = np.exp(-way.epsilon)
        return (1 - ratio) / (1 + ratio) * ratio ** np.abs(shift)
    if isinstance(way, RandomRound):
        down, excess = counts // way.base, counts % way.base
        law = np.zeros((len(counts), down.max() + 2))
        law[np.arange(len(counts)), down] = 1 - excess / way.base
        law[np.arange(len(counts)), down + 1] = excess / way.base
        return law
    released = way.release(counts)
    return np.equal.outer(released, np.unique(released)).astype(float)


@pytest.mark.parametrize("way", [Round(5), Suppress(3), RandomRound(3), Geometric(1.0)])
def test_leakage_of_a_released_cell_is_that_of_its_law(way):
    p, n = np.array([[1e-6, 0.013], [0.2, 0.97]]), 60
    counts = np.arange(n + 1)
    outcomes = kernel(way, counts)
    found = way.atom_leakage(p, n)
    assert found.shape == p.shape
    for share, value in zip(p.ravel(), found.ravel(), strict=True):
        out = stats.binom.pmf(counts, n, share) @ outcomes
        inside = stats.binom.pmf(counts - 1, n - 1, share) @ outcomes
        assert value == pytest.approx(np.maximum(inside - out, 0).sum(), abs=1e-12)
    rare = np.maximum(outcomes[1] - outcomes[0], 0).sum()
    assert way.atom_leakage(0.0, n) == pytest.approx(rare, abs=1e-12)


def test_noise_that_hides_nothing_leaves_the_estimate():
    counts = np.random.default_rng(3).multinomial(3_000, zipf(1.1, 5_000))
    table = {"cell": np.repeat(np.arange(5_000), counts)}
    raw, noisy = table_leakage(table, protect=Geometric(60.0)).protections
    assert noisy.value == pytest.approx(raw.value, rel=1e-12)
    assert noisy.alone == pytest.approx(raw.alone, rel=1e-12)
    assert noisy.alone_high == pytest.approx(raw.alone_high, rel=1e-12)
    assert raw.alone_high == 1
    assert noisy.protection == "Geometric(epsilon=60.0)"


def test_rows_alone_in_their_cell():
    p = np.full(4_000, 1 / 4_000)
    counts = np.random.default_rng(4).multinomial(2_000, p)
    table = {"cell": np.repeat(np.arange(4_000), counts)}
    raw, rounded, hidden = table_leakage(table, protect=[Round(5), Suppress(10)]).protections
    # All cells expect half a row: a row that is alone leaks what any row does.
    assert raw.alone == pytest.approx(np.exp(-0.5), abs=0.05)
    assert rounded.alone == pytest.approx(leakage_of_rounded_cells(5, 0.5), abs=0.03)
    assert rounded.alone < rounded.alone_high < 0.3
    assert hidden.alone < 0.01
    (raw, _) = table_leakage({"a": [1, 2] * 600}, protect=Round(5)).protections
    assert raw.alone is None
    assert raw.alone_high is None


@pytest.mark.parametrize("times", [1, 10, 100, 10_000])
def test_the_highest_leakage_of_a_lone_row_is_that_of_no_larger_cell(times):
    """However large the release: cells below 3 are hidden, and one that expects two leaks most."""
    table = {"age": np.repeat(np.arange(400), np.r_[np.ones(300, int), np.full(100, 7)])}
    rows = 1000
    n, most = times * rows, stats.beta(2, rows - 1).ppf(0.975)
    p = np.geomspace(0.01 / n, most, 4000)
    out = stats.binom.pmf(np.arange(3)[:, None], n, p).sum(axis=0)
    into = stats.binom.pmf(np.arange(2)[:, None], n - 1, p).sum(axis=0)
    found = table_leakage(table, protect=Suppress(3), n=n).protections[1]
    assert found.alone_high >= found.alone
    assert found.alone_high == pytest.approx((out - into).max(), rel=1e-5)


def test_few_cells_follow_from_one_another():
    # Both counts are hidden or none: with the number of rows the other gives one away.
    raw, hidden = table_leakage({"a": [0, 1, 1] * 4}, protect=Suppress(3)).protections
    assert hidden.plug_in.kind == "exact"
    assert hidden.plug_in.lower <= hidden.value <= raw.value


@pytest.mark.parametrize("budget", [0.3, 0.2, 0.05])
def test_merged_cells_leak_at_most_the_budget_by_the_estimate(budget):
    counts = np.random.default_rng(5).multinomial(2_000, zipf(1.1, 20_000))
    table = {"cell": [f"c{cell}" for cell in np.repeat(np.arange(20_000), counts)]}
    report = table_leakage(table, coarsen=budget)
    raw, merged = report.protections
    assert raw.value > budget >= merged.value
    assert merged.plug_in.lower < budget
    assert 1 < merged.groups < report.n_cells


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"protect": "round:5"}, TypeError, r"protect must be a protection such as Round\(5\)"),
        (
            {"protect": [5]},
            TypeError,
            r"protect must hold protections of counts: Round.*got protect\[5\] = 5",
        ),
        ({"protect": 5}, TypeError, "protect must be a protection such as"),
        ({"coarsen": 1.5}, ValueError, "coarsen must be strictly between 0 and 1; got"),
        ({"coarsen": 0.1, "margins": ["a"]}, ValueError, "coarsen must be left out with margins"),
        (
            {"protect": Round(5), "margins": ["a"]},
            ValueError,
            "protect must be left out with margins",
        ),
    ],
)
def test_what_is_no_protection_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        table_leakage({"a": [1, 2, 3, 3]}, **arguments)


MOVED = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
TOWNS = {"sex": list("fm") * 400, "town": [*"a" * 200, *"b" * 600]}
BY = [("f", "a"), ("m", "a"), ("f", "b"), ("m", "b")]


@pytest.mark.parametrize("as_list", [False, True])
def test_swapped_rows_are_refused_with_the_call_for_them(as_list):
    report, protection = table_leakage(TOWNS), Swap(0.2, BY)
    message = r"known for few rows.*call mechanism_leakage\(Swap\(\.\.\.\), rep"
    with pytest.raises(TypeError, match=message):
        table_leakage(TOWNS, protect=[protection] if as_list else protection)
    leaked = mechanism_leakage(protection, report.cell_counts / report.rows, report.n)
    assert 0 < leaked.lower <= leaked.upper <= report.plug_in


def test_moved_rows_are_answered_where_all_cells_have_many():
    """By a closed form: a row that is replaced by one of the same law leaks with the others."""
    frequencies, keep = np.array([100, 100, 300, 300]) / 800, 0.7
    matrix = keep * np.eye(4) + (1 - keep) * frequencies
    order = [2, 0, 3, 1]  # the cells in another order than the table's
    shuffled = Pram(matrix[np.ix_(order, order)], by=[BY[k] for k in order])
    report = table_leakage(TOWNS, protect={"moved": shuffled, "kept": Pram(np.eye(4), by=BY)})
    raw, moved, kept = report.protections
    assert moved.value == pytest.approx(keep * raw.value, rel=1e-6)
    assert moved.plug_in.lower <= keep * raw.plug_in.lower * (1 + 1e-12)
    assert keep * raw.plug_in.lower <= moved.plug_in.upper * (1 + 1e-12)
    assert moved.cell_leakage == pytest.approx(keep * raw.cell_leakage, rel=1e-3)
    assert kept.value == pytest.approx(raw.value, rel=1e-6)
    assert (moved.hidden, moved.change, moved.alone) == (0.0, None, None)
    assert "what all counts together leak" in report.text()


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (TOWNS, {"protect": Pram(MOVED)}, r"names its cells.*Pass Pram\(matrix, by="),
        (TOWNS, {"protect": Pram(MOVED[:2, :2] * 1.25, by=BY[:2])}, r"lacks \('f', 'b'\)"),
        (TOWNS, {"columns": ["sex"], "protect": Pram(MOVED, by=[*"fmxy"])}, "'x' has no row"),
        (
            {name: each[:300] for name, each in TOWNS.items()},
            {"protect": Pram(MOVED, by=BY)},
            r"small cells, such as \('f', 'b'\) with 50 rows.*call mechanism_leakage\(Pram",
        ),
        (
            {name: each[::3] for name, each in TOWNS.items()},
            {"protect": Pram(MOVED, by=BY), "population": TOWNS},
            "leave Pram out with a register",
        ),
    ],
)
def test_moved_rows_of_unknown_probabilities_are_refused(table, options, message):
    with pytest.raises(ValueError, match=message):
        table_leakage(table, **options)


def split(lines):
    """The values of the two columns of a cell, and its probabilities, of each line."""
    return [line.split(",", 2) for line in lines]


def test_the_shell_reads_a_matrix(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "".join(f"{sex},{town}\n" for sex, town in zip(*TOWNS.values(), strict=True))
    path.write_text("sex,town\n" + rows)
    matrix = tmp_path / "m.csv"
    rows = [(*cell, *row) for cell, row in zip(BY, MOVED.tolist(), strict=True)]
    lines = [",".join(map(str, row)) for row in rows]
    matrix.write_text("\n".join(["sex,town,fa,ma,fb,mb", *lines]) + "\n")
    assert main(["table", str(path), "--protect", f"pram:{matrix}", "--json"]) == 0
    raw, moved = json.loads(capsys.readouterr().out)["protections"]
    expected = table_leakage(TOWNS, protect=Pram(MOVED, by=BY)).protections[1]
    assert moved["value"] == expected.value < raw["value"]
    other = ["town,sex,fa,ma,fb,mb", *(",".join([b, a, rest]) for a, b, rest in split(lines))]
    matrix.write_text("\n".join(other) + "\n")
    assert main(["table", str(path), "--protect", f"pram:{matrix}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["protections"][1]["value"] == expected.value
    for text, message in (
        ("sex,f,m\nm,0.9,0.1\nf,0.1,0.9\n", "the columns of its line 1, where 'f' is at 0"),
        ("a,p,q\nx,0.5,0.5\ny,0.5\n", "Line 3 has 2 fields, for 2 cells"),
        ("a,p\nx,one\n", "hold numbers as probabilities"),
        ("a,p,q\nx,0.5,0.5\nx,0.5,0.5\n", "by must list each cell once"),
    ):
        matrix.write_text(text)
        assert main(["table", str(path), "--protect", f"pram:{matrix}"]) == 1
        assert message in capsys.readouterr().err


def test_probabilities_of_cells_are_checked():
    with pytest.raises(ValueError, match="p must hold probabilities between 0 and 1"):
        Round(5).atom_leakage([0.5, 1.5], 10)
    with pytest.raises(ValueError, match="n must be between 1"):
        Round(5).atom_leakage([0.5], 0)


def test_protections_of_a_sample_whose_register_is_at_hand_are_exact():
    adult = load_adult().columns
    sample = {name: values[::7] for name, values in adult.items()}
    ways = [Round(3), Pipeline(Suppress(3), Round(5)), DiscreteGaussian(1.0)]
    report = table_leakage(sample, COLUMNS[:4], population=adult, protect=ways)
    register, n = report.population.register, report.n
    raw, *others = report.protections
    assert raw.value == report.population.leakage
    people = dict(zip(report.population.cell_people, report.population.cell_leakage, strict=True))
    for way, table in zip(ways, others, strict=True):
        plug_in = mechanism_leakage(way, register, n)
        assert table.kind == "exact"
        assert table.value == pytest.approx(plug_in.lower, rel=1e-12)
        assert table.plug_in.upper == raw.value > table.value
        assert 0 < table.alone <= table.alone_high <= max(people.values())
    text = report.text()
    assert "exact, for a random person of the register" in text
    assert "all counts" in text


def test_a_table_states_what_its_protections_hide_and_change():
    counts = np.repeat([1, 2, 8, 30], [4, 3, 2, 1])
    table = {"cell": np.repeat(np.arange(10), counts)}
    raw, way = table_leakage(table, protect=Pipeline(Suppress(2), Round(5))).protections
    assert (raw.hidden, raw.change) == (0.0, 0.0)
    assert (way.hidden, way.change) == pytest.approx((0.4, (3 * 2 + 2 * 2) / 6))
    merged = table_leakage(table, coarsen=0.1).protections[1]
    assert merged.hidden is merged.change is None


def test_the_leakage_of_each_cell_has_the_leakage_of_the_table_as_its_mean():
    """Nearly: the cells that the sample shows stand for all."""
    counts = np.random.default_rng(5).multinomial(20_000, zipf(1.05, 8_000))
    table = {"cell": np.repeat(np.arange(8_000), counts)}
    ways = {name: WAYS[name] for name in ("round:5", "geometric:1", "suppress:3+round:5")}
    report = table_leakage(table, protect=ways, coarsen=0.1)
    raw, *others = report.protections
    seen = report.cell_counts
    assert raw.cell_leakage == pytest.approx(estimate_atom_leakage(seen).value, abs=1e-9)
    for each in report.protections:
        assert each.cell_leakage.shape == seen.shape
        assert each.cell_leakage @ seen / seen.sum() == pytest.approx(each.value, abs=0.02)
        assert "cell_leakage" not in each.to_dict()
    for each in others[:-1]:
        assert (each.cell_leakage <= raw.cell_leakage + 1e-12).all()
        alone = each.cell_leakage[seen == 1]
        assert alone == pytest.approx(each.alone, abs=1e-12)


# ---- ptables as offices use them ----

#: D, V and js of the files in tests/data/ptables, made by tests/data/make_ptables.py.
PTABLES = {
    "d2v1": (2, 1.0, 0),
    "d3v0_7": (3, 0.7, 0),
    "d5v3": (5, 3.0, 0),
    "d5v3js2": (5, 3.0, 2),
    "d12v5js2": (12, 5.0, 2),
}
PTABLE_FILES = Path(__file__).parent / "data" / "ptables"


@pytest.mark.parametrize("name", PTABLES)
def test_the_ptables_at_hand_have_the_noise_that_their_names_state(name):
    """Mean 0, variance V, no count up to js, and of such noise the most entropy: log p is a
    quadratic form of the noise, with three coefficients for all values.
    """
    most, variance, hidden = PTABLES[name]
    keys = CellKey(PTABLE_FILES / f"{name}.csv")
    assert keys.probabilities.shape == (most + hidden + 1, 2 * most + 1)
    for count, row in enumerate(keys.probabilities[1:], 1):
        shown = count + keys.shifts[row > 0]
        assert ((shown == 0) | (shown > hidden)).all()
        assert row @ keys.shifts == pytest.approx(0, abs=1e-6)
        assert row @ keys.shifts**2 == pytest.approx(variance, abs=1e-5)
        likely = row > 1e-4  # of 8 digits four are there
        design = np.vander(keys.shifts[likely].astype(float), 3)
        fit = design @ np.linalg.lstsq(design, np.log(row[likely]), rcond=None)[0]
        assert fit == pytest.approx(np.log(row[likely]), abs=3e-4)


def test_ptables_of_the_package_ranked_by_leakage_and_by_error():
    """Adult by five columns: the more error the less leakage."""
    columns = ["age", "education", "marital_status", "race", "sex"]
    ways = {name: CellKey(PTABLE_FILES / f"{name}.csv") for name in PTABLES}
    protect = ways | {"round:5": Round(5)}
    compared = table_leakage(load_adult().columns, columns, protect=protect).protections
    tables = {table.protection: table for table in compared}
    by_leakage = sorted(ways, key=lambda name: tables[name].value)
    by_error = sorted(ways, key=lambda name: -tables[name].change)
    assert by_leakage == by_error == ["d12v5js2", "d5v3js2", "d5v3", "d2v1", "d3v0_7"]
    leakages = [tables[name].value for name in by_leakage]
    assert leakages == pytest.approx([0.105, 0.115, 0.128, 0.152, 0.161], abs=1e-3)
    errors = [tables[name].change for name in by_leakage]
    assert errors == pytest.approx([1.704, 1.442, 1.305, 0.771, 0.595], abs=1e-3)
    for name in by_leakage[:3]:  # rounding to 5 errs less than each of these and leaks less
        assert tables[name].change > tables["round:5"].change
        assert tables[name].value > tables["round:5"].value
