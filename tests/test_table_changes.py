"""What to change in a table: its leakage without columns, recoded, and what a secret adds."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from mialeak import GaussianTradeOff, Register, discrete_tradeoff, max_leakage
from mialeak.datasets import load_adult
from mialeak.tables import estimate_max_leakage, table_leakage

COLUMNS = ["age", "education", "marital_status", "race", "sex"]


@pytest.fixture(scope="module")
def adult():
    return load_adult().columns


# --- which columns do it ---------------------------------------------------------------------


def counts_of(table, names, rows=None):
    """Rows in each cell, counted by Python."""
    values = zip(*(list(table[name]) for name in names), strict=True)
    return np.array(list(Counter(list(values)[:rows]).values()))


def test_adult_leaks_less_without_each_column(adult):
    report = table_leakage(adult, COLUMNS)
    shown = {effect.without: round(effect.value, 3) for effect in report.by_column}
    assert round(report.estimate.value, 3) == 0.186
    assert shown == {
        ("age",): 0.033,
        ("education",): 0.070,
        ("marital_status",): 0.111,
        ("race",): 0.132,
        ("sex",): 0.144,
        ("age", "education"): 0.010,
        ("age", "marital_status"): 0.016,
    }


def test_each_effect_is_the_estimate_of_the_other_columns(adult):
    report = table_leakage(adult, COLUMNS, n=20_000, confidence=0.9)
    for effect in report.by_column:
        counts = counts_of(adult, [name for name in COLUMNS if name not in effect.without])
        expected = estimate_max_leakage(counts, 20_000, confidence=0.9)
        assert effect.n_cells == len(counts)
        assert (effect.value, effect.low, effect.high, effect.plug_in) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.plug_in), rel=1e-12
        )


def test_a_pair_is_listed_if_neither_column_alone_lowers_the_leakage_as_much():
    """Two columns that state the same: without one of them nothing changes."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 3_000)
    table = {"age": age, "born": 2026 - age, "sex": rng.integers(0, 2, 3_000)}
    report = table_leakage(table)
    effects = {effect.without: effect.value for effect in report.by_column}
    assert effects["age",] == effects["born",] == report.estimate.value
    listed = {pair for pair in effects if len(pair) == 2}
    assert ("age", "born") in listed
    every = {
        pair: table_leakage(table, [name for name in table if name not in pair]).estimate.value
        for pair in combinations(table, 2)
    }
    assert listed == {
        pair for pair, value in every.items() if value <= min(effects[x,] for x in pair) / 2
    }


def test_with_a_register_the_effects_are_exact(adult):
    sample = {name: values[::10] for name, values in adult.items()}
    report = table_leakage(sample, COLUMNS, population=adult)
    rows = len(sample["age"])
    for effect in report.by_column:
        people = counts_of(adult, [name for name in COLUMNS if name not in effect.without])
        assert effect.kind == "exact"
        assert effect.plug_in is None
        assert effect.low == effect.value == effect.high == max_leakage(Register(people), rows)


def test_a_table_of_counts_has_the_effects_of_its_people():
    rng = np.random.default_rng(1)
    table = {"a": rng.integers(0, 9, 2_000), "b": rng.integers(0, 5, 2_000)}
    cells = Counter(zip(table["a"].tolist(), table["b"].tolist(), strict=True))
    counted = {
        "a": [cell[0] for cell in cells],
        "b": [cell[1] for cell in cells],
        "n": list(cells.values()),
    }
    people, cells = table_leakage(table), table_leakage(counted, counts="n")
    assert people.by_column == cells.by_column


def test_nothing_is_left_out_of_a_single_column_or_of_margins(adult):
    assert table_leakage(adult, ["sex"]).by_column == ()
    report = table_leakage(adult, margins=["sex", "race"])
    assert report.by_column == ()
    assert "left out" not in report.text()
    assert report.to_dict()["by_column"] is None


def test_columns_of_few_rows_have_no_interval_where_the_answer_has_none(adult):
    few = {name: adult[name][:300] for name in COLUMNS}
    text = table_leakage(few, COLUMNS).text()
    assert "no interval is claimed" in " ".join(text.split())
    assert "95% interval" not in text
    assert "rough range  cells  without" in text


def test_a_report_lists_the_effects_where_they_take_less_than_a_second(adult):
    report = table_leakage(adult, COLUMNS)
    assert "Leakage if a column is left out" in report.text()
    assert report.to_dict()["by_column"][0]["without"] == ["age"]
    many = {f"c{k}": np.arange(300) % (k + 2) for k in range(20)}
    report = table_leakage(many)
    assert "left out" not in report.text()
    assert report.to_dict()["by_column"] is None


# --- a secret --------------------------------------------------------------------------------


def attack(rows, secrets):
    """Guesses right from all rows and from all others, by an attacker who counts each time."""
    right_table = right_others = 0
    for i, (known, secret) in enumerate(zip(rows, secrets, strict=True)):
        peers = Counter(s for q, s in zip(rows, secrets, strict=True) if q == known)
        right_table += max(peers.values()) / peers.total()
        others = [j for j in range(len(rows)) if j != i]
        near = Counter(secrets[j] for j in others if rows[j] == known)
        every = Counter(dict.fromkeys(dict.fromkeys(secrets), 0))
        every.update(secrets[j] for j in others)
        order = list(dict.fromkeys(secrets))
        guess = max(every, key=lambda s: (near[s], every[s], -order.index(s)))
        right_others += guess == secret
    return right_table / len(rows), right_others / len(rows)


@pytest.mark.parametrize("seed", range(8))
def test_a_secret_is_guessed_as_an_attacker_who_tries_does(seed):
    """Few rows, few values: cells of one person, ties in a cell and of all."""
    rng = np.random.default_rng(seed)
    size, values = int(rng.integers(3, 60)), int(rng.integers(2, 5))
    known, secrets = rng.integers(0, 9, size).tolist(), rng.integers(0, values, size).tolist()
    report = table_leakage({"q": known, "s": secrets}, secret="s")
    secret = report.secret
    if len(set(secrets)) > 1:
        expected = attack(known, secrets)
        assert (secret.from_table, secret.from_others) == pytest.approx(expected, abs=1e-12)
    assert secret.row_from_table.mean() == pytest.approx(secret.from_table, abs=1e-12)
    assert secret.row_from_others.mean() == pytest.approx(secret.from_others, abs=1e-12)
    groups = {q: {s for p, s in zip(known, secrets, strict=True) if p == q} for q in known}
    assert secret.diversity == min(map(len, groups.values()))
    alone = [len(groups[q]) == 1 for q in known]
    assert secret.homogeneous == pytest.approx(np.mean(alone))
    assert secret.baseline == max(Counter(secrets).values()) / size


def test_the_income_of_adults_is_guessed_better_from_the_table_than_from_the_others(adult):
    report = table_leakage(adult, COLUMNS, secret="income")
    secret = report.secret
    assert round(secret.from_table, 3) == 0.852
    assert round(secret.from_others, 3) == 0.811
    assert round(secret.baseline, 3) == 0.759
    assert secret.gain == pytest.approx(0.852 - 0.811, abs=1e-3)
    assert secret.diversity == 1
    assert report.columns == (*COLUMNS, "income")
    assert "85.2%  right from the counts" in report.text()
    assert report.to_dict()["secret"]["column"] == "income"


def test_a_counted_table_and_a_register_have_the_secret_too(adult):
    sample = {name: values[::10] for name, values in adult.items()}
    columns = ["education", "sex"]
    people = table_leakage(sample, columns, secret="income")
    register = table_leakage(sample, columns, secret="income", population=adult)
    cells = Counter(zip(*(sample[name] for name in (*columns, "income")), strict=True))
    counted = {name: [cell[k] for cell in cells] for k, name in enumerate((*columns, "income"))} | {
        "n": list(cells.values())
    }
    table = table_leakage(counted, columns, counts="n", secret="income")
    assert people.secret.to_dict() == register.secret.to_dict() == table.secret.to_dict()
    assert "Guesses of income" in register.text()


def test_the_best_guess_is_never_above_the_curve_of_the_table():
    """Cells (q, s) of equal q: the guess of s from counts, the target in and not, enumerated."""
    law, n = [0.6, 0.4], 5
    curve = discrete_tradeoff(law, n)
    right_in = right_out = 0.0
    for ones in range(n + 1):
        out = math.comb(n, ones) * law[1] ** ones * law[0] ** (n - ones)
        guess = 1 if ones / n > 0.5 else 0
        right_out += out * law[guess]
        right_in += out * (ones if guess else n - ones) / n  # in: out times c_k / (n p_k)
    assert right_in > right_out
    assert right_in <= curve.reconstruction(right_out) + 1e-12
    for curve in (GaussianTradeOff(0.7), GaussianTradeOff(3.0)):
        for baseline in (0.1, 0.5, 0.9):
            assert curve.reconstruction(baseline) == curve.power(baseline) > baseline
    with pytest.raises(ValueError, match="baseline must"):
        GaussianTradeOff(1.0).reconstruction(1.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"secret": "wage"}, "wage"),
        ({"columns": ["sex"], "secret": "sex"}, "secret must leave a column that the attacker"),
        ({"margins": ["sex", "race"], "secret": "sex"}, "secret must be left out with margins"),
    ],
)
def test_what_is_no_secret_is_refused(adult, options, message):
    with pytest.raises(ValueError, match=message):
        table_leakage(adult, **options)
