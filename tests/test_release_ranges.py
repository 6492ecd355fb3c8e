"""Ranges of many hidden counts: none is left out, and a gate states what it does not know."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mialeak import Release
from mialeak.cli import main
from mialeak.mechanisms import Suppress
from mialeak.releases import _count_ranges, _hidden_counts


def _towns(regions: int) -> dict[str, list[str]]:
    """Regions of 10 towns, five of 1 person and five of 2; in the last region all are of 2."""
    people: dict[str, list[str]] = {"region": [], "town": []}
    for region in range(regions):
        sizes = [2] * 10 if region == regions - 1 else [1, 2] * 5
        for town, size in enumerate([*sizes, 20]):
            people["region"] += [f"r{region}"] * size
            people["town"] += [f"{region}-{town}"] * size
    return people


def _write_plan(tmp_path, people):
    rows = zip(people["region"], people["town"], strict=True)
    text = "".join(f"{region},{town}\n" for region, town in rows)
    (tmp_path / "people.csv").write_text(f"region,town\n{text}")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'schema = "mialeak.release-plan/1"\npeople = "people.csv"\n\n[[outputs]]\n'
        'table = ["town"]\nprotect = "suppress-positive:3"\n\n[[outputs]]\ntable = ["region"]\n'
    )
    return plan


def test_a_gate_knows_counts_that_are_recovered_beyond_many_smaller_hidden_ones(tmp_path, capsys):
    """Ten hidden counts of at most 2 that sum to 20 are 2 each; those of 5 times 1 and 2 are open.

    Of the latter, the sum is 15 and is no small group; 100 of them are smaller or of equal size.
    """
    plan = _write_plan(tmp_path, _towns(11))
    release = Release.from_plan(plan)
    release_cells = release.leakage().recovered
    assert {(each.low, each.high, each.people) for each in release_cells} == {(2, 2, 2)}
    assert sorted(each.cell for each in release_cells) == sorted(
        f"town = 10-{town}" for town in range(10)
    )
    assert release.leakage().n_determined == 10
    assert main(["release", str(plan), "--max-determined", "0"]) == 2
    assert "follow from the outputs, 10, is above" in capsys.readouterr().out


@pytest.mark.parametrize("accepted", [False, True])
def test_a_gate_does_not_pass_counts_whose_range_is_not_known(
    tmp_path, capsys, monkeypatch, accepted
):
    monkeypatch.setattr(_hidden_counts, "_MOST_CELLS", 3)
    plan = _write_plan(tmp_path, _towns(3))
    options = ["--accept-cautions"] if accepted else []
    code = main(["release", str(plan), "--max-determined", "0", *options])
    assert code == (0 if accepted else 3)
    words = " ".join(capsys.readouterr().out.split())
    assert "Whether 30 hidden counts from 1 to 9 can be recovered is not known" in words
    assert "the limit 0." in words
    assert main(["release", str(plan), "--max-determined", "30"]) == 0
    assert "not known:" not in capsys.readouterr().out


def test_a_count_with_two_values_that_fit_is_decided_without_its_range(monkeypatch):
    """No budget but for one sum each way: a count is open as soon as two tables that fit differ."""
    release = Release(_towns(3))
    release.add_table(["town"], protect=Suppress(3, zeros_shown=True))
    release.add_table(["region"])
    assert release.leakage().n_undecided == 0
    for name in ("_BUDGET", "_SEARCHES", "_PROOFS"):
        monkeypatch.setattr(_hidden_counts, name, 0.0)
    release = Release(_towns(3))
    release.add_table(["town"], protect=Suppress(3, zeros_shown=True))
    release.add_table(["region"])
    report = release.leakage()
    assert report.n_undecided == 20  # those of the last region follow from simple bounds
    assert report.n_determined == 10


def _every_table(matrix, low, high):
    """All vectors of whole numbers with ``low <= matrix x <= high``, row 0 the sum of all."""
    size, total = matrix.shape[1], int(high[0])
    grid = np.indices((total + 1,) * (size - 1)).reshape(size - 1, -1).T
    grid = np.column_stack([grid, total - grid.sum(axis=1)])
    grid = grid[grid[:, -1] >= 0]
    sums = grid @ matrix.T
    return grid[((low <= sums) & (sums <= high)).all(axis=1)]


def _random_sums(rng):
    """Arguments of `count_ranges` for random sums of up to five cells, without the budget."""
    size = int(rng.integers(2, 6))
    parts, rows = [], [np.ones(size, np.int64)]
    while not parts:
        for _ in range(int(rng.integers(1, 4))):
            codes = rng.integers(-1, 3, size)
            used = [codes == k for k in range(3) if (codes == k).any()]
            if used:
                parts.append(len(rows) + np.arange(len(used)))
                rows += [each.astype(np.int64) for each in used]
    matrix, table = np.array(rows), rng.integers(0, 4, size)
    sums = matrix @ table
    slack = rng.integers(0, 3, (2, len(rows))) * (rng.random(len(rows)) < 0.6)
    slack[:, 0] = 0
    low, high = np.maximum(sums - slack[0], 0), sums + slack[1]
    return sparse.csr_matrix(matrix), low, high, table, parts[0], parts


def _values_of(matrix, low, high, table, wanted, parts):
    """The values of the wanted sums in all tables that fit."""
    return _every_table(matrix.toarray(), low, high) @ matrix.toarray()[wanted].T


def test_ranges_agree_with_all_tables_that_fit():
    """Random sums of up to five cells, with components, known cells and hidden totals."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        numbers = _random_sums(rng)
        found = _count_ranges.count_ranges(*numbers, _count_ranges.Budget(1000.0))
        values = _values_of(*numbers)
        assert np.array_equal(found.low, values.min(axis=0))
        assert np.array_equal(found.high, values.max(axis=0))
        assert found.proved.all()
        assert np.array_equal(found.several, values.min(axis=0) < values.max(axis=0))


@pytest.mark.parametrize(("searches", "proofs"), [(1000.0, 1000.0), (1000.0, 0.0), (0.0, 1000.0)])
def test_what_is_decided_without_ranges_agrees_with_all_tables_that_fit(searches, proofs):
    """Other tables that fit, and bounds by programs without whole numbers."""
    rng, sums, decided = np.random.default_rng(12), 0, 0
    for _ in range(150):
        numbers = _random_sums(rng)
        budget = _count_ranges.Budget(0.0, searches, proofs)
        found = _count_ranges.count_ranges(*numbers, budget)
        values = _values_of(*numbers)
        least, most = values.min(axis=0), values.max(axis=0)
        assert (found.low <= least).all()
        assert (most <= found.high).all()
        assert (least < most)[found.several].all()
        assert np.array_equal(found.low[found.proved], least[found.proved])
        assert np.array_equal(found.high[found.proved], most[found.proved])
        sums += least.size
        decided += np.count_nonzero(found.proved | found.several)
    assert decided >= (0.99 * sums if searches and proofs else 0.5 * sums)


def _thousands_of_cells():
    """2,500 people in 9 * 7 * 2 * 6 cells, with three protected tables and a plain one."""
    rng = np.random.default_rng(3)
    sizes = {"region": 9, "age": 7, "sex": 2, "job": 6}
    people = {name: rng.choice(k, 2500, p=rng.dirichlet(np.ones(k))) for name, k in sizes.items()}
    release = Release(people)
    release.add_table(["region", "age", "job"], protect=Suppress(3))
    release.add_table(["region", "age"])
    release.add_table(["job", "sex"])
    release.add_table(["region", "sex"], protect=Suppress(10))
    return release


def test_counts_of_large_tables_are_decided_by_other_tables_and_proofs(monkeypatch):
    """Without a budget for ranges all counts are decided as with a large one."""
    monkeypatch.setattr(_hidden_counts, "_BUDGET", 50_000.0)
    truth = _thousands_of_cells().leakage()
    assert (truth.n_undecided, truth.n_determined > 10) == (0, True)
    monkeypatch.setattr(_hidden_counts, "_BUDGET", 0.0)
    report = _thousands_of_cells().leakage()
    assert (report.n_undecided, report.n_determined) == (0, truth.n_determined)
    for name in ("_SEARCHES", "_PROOFS"):
        monkeypatch.setattr(_hidden_counts, name, 0.0)
    before = _thousands_of_cells().leakage()
    assert before.n_undecided > 50
    assert before.n_determined < truth.n_determined


def _hidden_zero(nobody):
    """Of group q nobody, or one person, is in a: its counts are hidden, and those of p as well."""
    counts = {"wa": 20, "wb": 20, "pa": 2, "pb": 4, "qa": 1 - nobody, "qb": nobody}
    words = [word for word, count in counts.items() for _ in range(count)]
    release = Release({"group": [word[0] for word in words], "part": [word[1] for word in words]})
    release.add_table(["group", "part"], protect=Suppress(10))
    release.add_table(["group"])
    release.add_table(["part"])
    return release


def test_a_hidden_count_that_needs_a_hidden_zero_states_it():
    """The truth: all whole numbers with these sums; the hidden 0 of (q, a) may be a 1."""
    cells = np.array([[pa, 6 - pa, qa, 1 - qa] for pa in range(7) for qa in range(2)])
    fits = cells[(cells[:, 0] + cells[:, 2] == 2) & (cells[:, 1] + cells[:, 3] == 5)]
    assert sorted(set(fits[:, 3])) == [0, 1]
    assert sorted(set(fits[fits[:, 2] == 0, 3])) == [1]
    recovered = {each.cell: each for each in _hidden_zero(1).leakage().recovered}
    alone = recovered["group = q, part = b"]
    assert (alone.low, alone.high) == (1, 1)
    note = "(for the combinations of values that people have)"
    assert alone.explanation == f"table 2 (group = q) {note}"
    assert all(each.explanation.endswith(note) for each in recovered.values())


def test_a_hidden_count_that_follows_whatever_people_have_has_no_such_note():
    people = {"group": ["w"] * 20 + ["p"] * 20 + ["q"], "part": ["a", "b"] * 20 + ["b"]}
    release = Release(people)
    release.add_table(["group"], protect=Suppress(10))
    release.add_table(["group", "part"], where={"group": ["w", "p"]})
    (cell,) = release.leakage().recovered
    assert cell.cell == "group = q"
    assert cell.low == cell.high == 1
    assert "for the combinations" not in cell.explanation


@pytest.mark.parametrize("nested", [True, False])
def test_a_hierarchy_rules_out_values_that_nobody_has(nested):
    """The ward c is alone in region 2; without a hierarchy, as b is in both, the note is there."""
    regions = [1] * 40 + [2 - nested] * 10 + [2] * 3
    release = Release({"ward": ["a"] * 30 + ["b"] * 20 + ["c"] * 3, "region": regions})
    release.add_table(["ward", "region"], protect=Suppress(5))
    release.add_table(["region"])
    (cell,) = release.leakage().recovered
    assert cell.cell == "ward = c, region = 2"
    why = "since each value of ward has one value of region" if nested else ""
    assert cell.explanation.endswith(
        f"({why or 'for the combinations of values that people have'})"
    )


def test_a_hierarchy_that_may_be_an_accident_is_named():
    """All who smoke happen to be men: without that the men may be 0 to 4."""
    release = Release(
        {"sex": ["f"] * 30 + ["m"] * 3 + ["x"] * 20, "smokes": [0] * 30 + [1] * 3 + [0] * 20}
    )
    release.add_table(["sex"], protect=Suppress(5))
    release.add_table(["smokes"])
    (cell,) = release.leakage().recovered
    why = "since each value of sex has one value of smokes"
    assert cell.explanation == f"table 2 (smokes = 1) ({why})"


def test_proofs_of_large_programs_pay_what_their_whole_numbers_would():
    """Beyond 2,000 cells no program has whole numbers: without these none is faster."""
    budget = _count_ranges.Budget(0.0, 0.0, 1500.0)
    assert budget.prove(5_000, 2_000)
    few = 1500.0 - budget.proofs
    assert budget.prove(5_000, 2_001)
    assert 1500.0 - budget.proofs == pytest.approx(11 * few)
    assert budget.prove(41_573, 7_196)
    assert not budget.prove(41_573, 7_196)
