"""How well a secret is guessed from protected counts, against enumeration in exact rationals."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mechanism_truth import NOISE, PTABLE, geometric, random_round

from mialeak import table_leakage
from mialeak.cli import main
from mialeak.mechanisms import (
    CellKey,
    CellMechanism,
    DiscreteGaussian,
    Geometric,
    Pipeline,
    Pram,
    RandomRound,
    Round,
    Suppress,
    Synthetic,
)
from mialeak.tables import _protected_secrets as guesses
from mialeak.tradeoff import PiecewiseTradeOff


def rounded(base):
    return lambda count: {(count + base // 2) // base * base: Fraction(1)}


def hidden(below):
    return lambda count: {count if count >= below else "x": Fraction(1)}


def keyed(count):
    return {count + shift: chance for shift, chance in NOISE[min(count, 3)].items()}


ALPHA = Fraction(3, 5)
#: Protections, and what a count becomes; geometric noise of e^-epsilon = 3/5 up to rounding.
PROTECTIONS = {
    "round": (Round(3), rounded(3)),
    "suppress": (Suppress(2), hidden(2)),
    "random round": (RandomRound(3), random_round(3)),
    "cell key": (CellKey(PTABLE), keyed),
    "pipeline": (
        Pipeline(Suppress(2), Round(3)),
        lambda count: rounded(3)(count) if count >= 2 else {"x": Fraction(1)},
    ),
    "geometric": (Geometric(float(-np.log(0.6))), geometric(ALPHA, 0, 6)),
}


def rows_of(table):
    """One row a person of counts by known value and by secret."""
    people = [
        (f"q{q}", f"s{s}")
        for q, row in enumerate(table)
        for s, c in enumerate(row)
        for _ in range(c)
    ]
    return {"q": [q for q, _ in people], "s": [s for _, s in people]}


def outcomes(row, of_cell):
    """What a row of counts becomes, and the probabilities."""
    for shown in product(*(of_cell(count).items() for count in row)):
        chance = Fraction(1)
        for _, each in shown:
            chance *= each
        yield tuple(value for value, _ in shown), chance


def best(table, of_cell):
    """The share that is right of the best guess of the secret by the shown row of counts."""
    scores = {}
    for row in table:
        for shown, chance in outcomes(row, of_cell):
            score = scores.setdefault(shown, [Fraction(0)] * len(row))
            for s, count in enumerate(row):
                score[s] += chance * count
    return sum(map(max, scores.values())) / sum(map(sum, table))


def random_table(seed, most=4):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, most + 1, (rng.integers(2, 6), rng.integers(2, 4)))
    return table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0].tolist()


def secret_of(table, protection):
    return table_leakage(rows_of(table), secret="s", protect=protection).secret


@pytest.mark.parametrize("name", PROTECTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_guess_is_that_of_enumeration(name, seed):
    table, (protection, of_cell) = random_table(seed), PROTECTIONS[name]
    secret = secret_of(table, protection)
    (shown,) = secret.protected
    assert shown.kind == "exact"
    assert shown.protection == repr(protection)
    assert shown.lower == shown.upper == pytest.approx(float(best(table, of_cell)), abs=1e-13)
    assert secret.baseline - 1e-15 <= shown.lower <= secret.from_table + 1e-15
    mean = np.mean(shown.cell_right[secret.row_cells])
    assert mean == pytest.approx(shown.lower, abs=1e-13)


def test_no_rule_of_guessing_is_right_more_often():
    """Of all rules, each a secret for each outcome."""
    table, protection = [[1, 2], [3, 1], [0, 4]], Round(3)
    shown = sorted({x for row in table for x, _ in outcomes(row, rounded(3))})
    right = []
    for rule in product(range(2), repeat=len(shown)):
        guess = dict(zip(shown, rule, strict=True))
        right.append(sum(c * row[guess[x]] for row in table for x, c in outcomes(row, rounded(3))))
    assert secret_of(table, protection).protected[0].lower == pytest.approx(float(max(right)) / 11)


@pytest.mark.parametrize("name", PROTECTIONS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_guess_is_never_above_the_curve(name, seed):
    """The curve of secret and shown counts together, and of both drawn apart from each other."""
    table, (protection, of_cell) = random_table(seed), PROTECTIONS[name]
    n = sum(map(sum, table))
    joint = {}
    for row in table:
        for shown, chance in outcomes(row, of_cell):
            for s, count in enumerate(row):
                joint[s, shown] = joint.get((s, shown), 0) + chance * count / n
    secrets = {s: sum(v for key, v in joint.items() if key[0] == s) for s, _ in joint}
    seen = {x: sum(v for key, v in joint.items() if key[1] == x) for _, x in joint}
    pairs = list(product(secrets, seen))
    apart = np.array([float(secrets[s] * seen[x]) for s, x in pairs])
    together = np.array([float(joint.get(pair, 0)) for pair in pairs])
    curve = PiecewiseTradeOff.from_laws(apart, together)
    secret = secret_of(table, protection)
    assert secret.protected[0].upper <= curve.reconstruction(secret.baseline) + 1e-12


def test_all_counts_and_none_are_the_ends():
    """With homogeneous cells, whose secret is certain as long as their counts are shown."""
    table = [[4, 0, 0], [1, 2, 0], [0, 0, 3], [2, 2, 1]]
    whole = secret_of(table, Suppress(1, zeros_shown=True))
    (shown,) = whole.protected
    assert shown.lower == whole.from_table
    right = shown.cell_right[whole.row_cells]
    assert (right[:4] == 1.0).all()
    assert whole.homogeneous == pytest.approx(7 / 15)
    (nothing,) = secret_of(table, Suppress(99)).protected
    assert nothing.lower == whole.baseline


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_further_step_shows_no_more(seed):
    table = [row[:2] for row in random_table(seed, most=9)]
    chains = [
        (Suppress(4), Pipeline(Suppress(4), Round(5))),
        (Round(3), Pipeline(Round(3), Geometric(1.0))),
        (Geometric(1.0), Pipeline(Geometric(1.0), DiscreteGaussian(1.0))),
        (Synthetic(60), Pipeline(Synthetic(60), RandomRound(5))),
    ]
    for first, both in chains:
        one, two = (secret_of(table, each).protected[0] for each in (first, both))
        assert one.kind == two.kind == "exact"
        assert two.lower <= one.lower + 1e-12


def test_bounds_hold_where_the_outcomes_are_too_many(monkeypatch):
    """By two of three secrets' counts in a table, by one, and by none."""
    table, noise = [[3, 2, 1], [0, 4, 2], [5, 1, 1], [2, 2, 2]], Geometric(0.7)
    (exact,) = secret_of(table, noise).protected
    lower = []
    for outcomes_at_most, numbers in ((50, 2**25), (200, 30), (50, 13), (50, 2)):
        monkeypatch.setattr(guesses, "_MOST_OUTCOMES", outcomes_at_most)
        monkeypatch.setattr(guesses, "_MOST_NUMBERS", numbers)
        secret = secret_of(table, noise)
        (bound,) = secret.protected
        assert bound.kind == "bound"
        assert bound.upper == secret.from_table
        assert secret.baseline - 1e-15 <= bound.lower <= exact.lower <= bound.upper
        lower.append(bound.lower)
    assert lower == sorted(lower, reverse=True)
    assert lower[0] > lower[-1]


def test_two_secrets_in_a_table_are_those_one_by_one(monkeypatch):
    table = [[3, 2], [0, 4], [5, 1], [2, 2]]
    for noise in (Geometric(0.7), RandomRound(3)):
        (one_by_one,) = secret_of(table, noise).protected
        monkeypatch.setattr(guesses, "_MOST_OUTCOMES", 3)
        (of_pairs,) = secret_of(table, noise).protected
        monkeypatch.undo()
        assert of_pairs.kind == one_by_one.kind == "exact"
        assert of_pairs.lower == pytest.approx(one_by_one.lower, abs=1e-13)
        assert of_pairs.cell_right == pytest.approx(one_by_one.cell_right, abs=1e-13)


def test_a_simulated_attacker_is_right_as_often():
    """Who looks up what the shown pair of counts mostly meant in other draws of the noise."""
    rng = np.random.default_rng(7)
    table, protection = np.array([[3, 1], [1, 4], [6, 2], [0, 2], [1, 1]]), RandomRound(3)
    draws = 20_000
    shown = np.stack([protection.release(table, rng=rng) for _ in range(draws)])
    keys = shown[..., 0] * 100 + shown[..., 1]
    scores = np.zeros((keys.max() + 1, 2))
    for q, row in enumerate(table):
        np.add.at(scores, keys[:, q], row)
    again = np.stack([protection.release(table, rng=rng) for _ in range(draws)])
    guess = scores.argmax(axis=1)[again[..., 0] * 100 + again[..., 1]]
    right = np.take_along_axis(np.broadcast_to(table, again.shape), guess[..., None], axis=2)
    per_draw = right.sum(axis=(1, 2)) / table.sum()
    error = per_draw.std() / np.sqrt(draws)
    (exact,) = secret_of(table.tolist(), protection).protected
    assert abs(per_draw.mean() - exact.lower) < 4 * error + 1e-3


@pytest.mark.parametrize("keep", [0.4, 0.7, 1.0])
def test_moved_rows_have_a_range_that_holds_the_simulated_guess(keep):
    """The commonest secret among the shown rows of the person's own known value."""
    rng = np.random.default_rng(8)
    counts = np.array([[90, 70, 75], [66, 160, 80]])
    cells = [(f"q{q}", f"s{s}") for q, s in product(range(2), range(3))]
    matrix = np.full((6, 6), (1.0 - keep) / 5.0)
    np.fill_diagonal(matrix, keep)
    table = {name: np.repeat([cell[k] for cell in cells], counts.ravel())
             for k, name in enumerate(("q", "s"))}  # fmt: skip
    report = table_leakage(table, secret="s", protect=Pram(matrix, by=cells))
    (guessed,) = report.secret.protected
    assert guessed.kind == "bound"
    assert (guessed.lower, guessed.upper) == (230 / 541, 250 / 541)
    rights = []
    for _ in range(400):
        moved = sum(rng.multinomial(c, row) for c, row in zip(counts.ravel(), matrix, strict=True))
        best = moved.reshape(2, 3).argmax(axis=1)
        rights.append((counts[0, best[0]] + counts[1, best[1]]) / 541)
    assert np.mean(rights) <= guessed.upper + 1e-12
    if keep > 0.5:
        assert np.mean(rights) >= guessed.lower


def test_adult_and_the_shell(capsys):
    line = "table --example adult --columns age,sex --secret income --protect round:5"
    assert main([*line.split(), "--protect", "suppress:10+round:5"]) == 0
    text = capsys.readouterr().out
    assert "counts published" in text
    assert "From protected counts" in text
    assert main([*line.split(), "--json"]) == 0
    secret = json.loads(capsys.readouterr().out)["secret"]
    (protected,) = secret["protected"]
    assert protected["kind"] == "exact"
    assert secret["baseline"] <= protected["lower"] == protected["upper"] <= secret["from_table"]


def test_the_law_of_outcomes_sums_to_one():
    counts = [0, 1, 2, 5, 30]
    for protection, _ in PROTECTIONS.values():
        assert isinstance(protection, CellMechanism)
        law = protection.outcome_law(counts, 38)
        assert law.sum(axis=1) == pytest.approx(np.ones(5), abs=1e-14)
        assert (law >= 0).all()
    assert Synthetic(19).outcome_law(counts, 38)[4] @ np.arange(
        Synthetic(19).outcome_law(counts, 38).shape[1]
    ) == pytest.approx(15.0)


def test_guesses_from_the_others_do_not_depend_on_the_order_of_the_rows():
    """Secrets that are equally common everywhere have the order of their values."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        cell, secret = rng.integers(0, 6, 12), rng.permutation(np.repeat([2, 10, 9], [5, 4, 3]))
        shown = []
        for order in (np.arange(12), np.argsort(secret, kind="stable"), np.argsort(-secret)):
            table = {"cell": cell[order], "secret": secret[order]}
            found = table_leakage(table, secret="secret", protect=Round(3)).secret
            shown.append((found.from_table, found.from_others, found.protected[0].lower))
        assert shown[0] == shown[1] == shown[2]
