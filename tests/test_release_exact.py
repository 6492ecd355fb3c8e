"""Leakage of a release between the bounds: decomposable margins, and the attack on all counts."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from release_truth import compositions, drawn, exact_leakage, own_ends, release_of
from scipy import fft, sparse, stats

from mialeak import Release
from mialeak.datasets import load_adult
from mialeak.releases import _enumeration
from mialeak.releases._attack import attack_advantages, pair_advantage
from mialeak.releases._enumeration import JunctionTree, decomposable_leakage

# --- decomposable margins -------------------------------------------------------------------------

#: Sets of columns that make a tree, of up to five columns: a path of three separators is the last.
TREES = {
    "path of 3": ["ab", "bc"],
    "path of 4": ["ab", "bc", "cd"],
    "three columns shared by pairs": ["abc", "bcd", "be"],
    "one column apart": ["a", "bc"],
    "all columns apart": ["a", "b", "c"],
    "star": ["ab", "ac", "ad"],
    "a wide middle": ["ab", "bcd", "de"],
    "a branch": ["ab", "bc", "bd", "de"],
    "path of 5": ["ab", "bc", "cd", "de"],
}


def shares(people, columns):
    """The share of each joint value of the columns, in fractions."""
    values = Counter(zip(*(people[name] for name in columns), strict=True))
    return {value: Fraction(count, values.total()) for value, count in values.items()}


def independent_law(people, cliques, separators):
    """The joint values of all columns and their probabilities, by the margins."""
    names = sorted(people)
    parts = [(each, shares(people, sorted(each)), 1) for each in cliques]
    parts += [(each, shares(people, sorted(each)), -1) for each in separators if each]
    law = {}
    for cell in itertools.product(*(sorted(set(people[name])) for name in names)):
        value = dict(zip(names, cell, strict=True))
        chance = Fraction(1)
        for columns, table, power in parts:
            part = table.get(tuple(value[name] for name in sorted(columns)), Fraction(0))
            chance = chance * part if power > 0 else chance / (part or 1)
        if chance:
            law[cell] = chance
    assert sum(law.values()) == 1
    return law


def leakage_by_enumeration(people, law, outputs):
    """The leakage about each row, by all populations of the law."""
    names, support = sorted(people), list(law)
    n = len(people[names[0]])
    cells = [
        [k for k, cell in enumerate(support) if tuple(cell[names.index(x)] for x in columns) == key]
        for columns in outputs
        for key in shares(people, columns)
    ]
    joint = {}
    for vector in compositions(len(support), n):
        chance = Fraction(math.factorial(n))
        for count, cell in zip(vector, support, strict=True):
            chance *= law[cell] ** count / math.factorial(count)
        seen = tuple(sum(vector[k] for k in members) for members in cells)
        entry = joint.setdefault(seen, [Fraction(0)] * (len(support) + 1))
        entry[-1] += chance
        for k, count in enumerate(vector):
            entry[k] += chance * count
    rows = zip(*(people[name] for name in names), strict=True)
    truth = {}
    for k, cell in enumerate(support):
        mean = n * law[cell]
        truth[cell] = float(sum(abs(e[k] - mean * e[-1]) for e in joint.values()) / (2 * mean))
    return [truth[row] for row in rows]


@pytest.mark.parametrize("name", TREES)
def test_decomposable_margins_agree_with_all_populations_in_fractions(name):
    rng, outputs, compared = np.random.default_rng(len(name)), TREES[name], 0
    tree = JunctionTree.of([frozenset(each) for each in outputs])
    while compared < 3:
        n = int(rng.integers(3, 6))
        people = {x: rng.integers(0, 2, n).tolist() for x in sorted(set("".join(outputs)))}
        law = independent_law(people, tree.cliques, tree.separators)
        if math.comb(n + len(law) - 1, n) > 3000:
            continue
        compared += 1
        truth = leakage_by_enumeration(people, law, outputs)
        release = Release(people, "independent")
        for columns in outputs:
            release.add_table(list(columns))
        report = release.leakage()
        assert report.kind == "exact"
        assert report.joint is None
        assert np.allclose(own_ends(report)[0], truth, rtol=0.0, atol=1e-13)
        assert np.array_equal(report.plug_in.low, report.plug_in.high)


def test_people_whose_frequencies_are_independent_have_an_exact_leakage():
    """The people are all values of four bits; three tables share the first."""
    rows = np.array(list(itertools.product([0, 1], repeat=4)))
    people = {name: rows[:, j].tolist() for j, name in enumerate("abcd")}
    reports = []
    for population in (None, "independent"):
        release = Release(people, population)
        for other in "bcd":
            release.add_table(["a", other])
        reports.append(release.leakage())
    assert reports[0].plug_in.kind == reports[1].plug_in.kind == "exact"
    assert np.allclose(reports[0].plug_in.low, reports[1].plug_in.low, rtol=1e-13)
    release = Release({**people, "b": [1, *people["b"][1:]]})
    for other in "bcd":
        release.add_table(["a", other])
    assert release.leakage().plug_in.kind == "bound"


@pytest.mark.parametrize(("rows", "others"), [(60, "bcd"), (600, "bc")])
def test_tables_that_share_one_column_agree_with_the_direct_sum(rows, others, monkeypatch):
    """Each count is a binomial of the shared one; each vector of counts has its probability."""
    rng = np.random.default_rng(rows)
    people = {"a": rng.integers(0, 2, rows).tolist()}
    people |= {x: rng.choice(3, rows, p=[0.6, 0.3, 0.1]).tolist() for x in others}
    release = Release(people, "independent")
    for other in others:
        release.add_table(["a", other])
    report = release.leakage()
    assert report.kind == "exact"
    shared = np.array(people["a"])
    for row in range(3):
        here = shared == shared[row]
        rates = [np.mean(np.array(people[x])[here] == people[x][row]) for x in others]
        truth = 0.0
        for count in range(rows + 1):
            weight, ratio = stats.binom.pmf(count, rows, here.mean()), np.zeros((1,) * len(others))
            if weight < 1e-19:
                continue
            if count:
                ratio = ratio + count / (rows * here.mean())
            chance: Any = weight
            for axis, rate in enumerate(rates):
                part = np.expand_dims(np.arange(count + 1), list({*range(len(rates))} - {axis}))
                chance = chance * stats.binom.pmf(part, count, rate)
                ratio = ratio * part / max(count * rate, 1e-300)
            truth += float((chance * np.maximum(1.0 - ratio, 0.0)).sum())
        assert report.plug_in.low[report.row_cells[row]] == pytest.approx(truth, rel=1e-11)
    monkeypatch.setattr(_enumeration, "_AT_A_TIME", 1)
    assert np.allclose(release.leakage().plug_in.low, report.plug_in.low, rtol=1e-13)


def test_an_exact_leakage_of_many_people_nears_its_limit():
    """20,000 people.  The limit's score is the sum of 1/p of cliques, less that of separators."""
    rng = np.random.default_rng(1)
    people = {x: rng.integers(0, k, 20_000).tolist() for x, k in (("a", 2), ("b", 3), ("c", 2))}
    release = Release(people, "independent")
    release.add_table(["a", "b"])
    release.add_table(["a", "c"])
    report = release.leakage()
    assert report.kind == "exact"
    for row in range(20):
        same = {x: np.array(v) == v[row] for x, v in people.items()}
        tables = [same["a"] & same["b"], same["a"] & same["c"]]
        score = sum(1 / each.mean() for each in tables) - 1 / same["a"].mean() - 1
        limit = math.erf(math.sqrt(score / 20_000 / 8))
        assert report.plug_in.low[report.row_cells[row]] == pytest.approx(limit, rel=1e-4)


def test_a_count_that_is_all_of_its_clique_needs_no_thinning():
    """One column decides another: the binomial of the clique given the shared column is certain."""
    people = {"city": list("OOOBBV"), "country": list("NNNNNN"), "sex": list("fmfmfm")}
    tree = JunctionTree.of([frozenset(["city", "country"]), frozenset(["country", "sex"])])
    codes = {x: np.unique(v, return_inverse=True)[1] for x, v in people.items()}
    leaks = decomposable_leakage(tree, codes, np.arange(6))
    law = independent_law(people, tree.cliques, tree.separators)
    truth = leakage_by_enumeration(people, law, [["city", "country"], ["country", "sex"]])
    assert np.allclose(leaks, truth, rtol=0.0, atol=1e-13)


def test_margins_are_decomposable_if_and_only_if_they_make_a_tree():
    """By running out: a column of one set is dropped, a set within another is dropped."""
    rng = np.random.default_rng(4)
    trees = 0
    for _ in range(300):
        sets = [
            frozenset(rng.choice(5, int(rng.integers(2, 4)), replace=False).tolist())
            for _ in range(int(rng.integers(2, 5)))
        ]
        remaining = list(dict.fromkeys(sets))
        while True:
            before = list(remaining)
            counts = Counter(x for each in remaining for x in each)
            remaining = [frozenset(x for x in each if counts[x] > 1) for each in remaining]
            remaining = list(dict.fromkeys(remaining))
            remaining = [a for a in remaining if not any(a < b for b in remaining)]
            if remaining == before:
                break
        tree = JunctionTree.of(sets)
        assert (tree is not None) == (remaining == [frozenset()])
        trees += tree is not None
    assert 50 < trees < 250


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([["a", "b"], ["b", "c"], ["a", "c"]], "whose columns make a tree"),
        ([["a", "b"], {"where": {"a": 0}}], "for tables of all people"),
    ],
)
def test_independence_is_refused_where_it_is_not_defined(outputs, words):
    release = Release({name: [0, 1, 0, 1, 1] for name in "abc"}, "independent")
    for each in outputs:
        if isinstance(each, dict):
            release.add_table(["b"], **each)
        else:
            release.add_table(each)
    with pytest.raises(ValueError, match=words):
        release.leakage()


def test_an_independence_that_is_not_named_may_take_few_sums(monkeypatch):
    """Both values of two bits, 50 times each, beside a third: exact, or bounds without a word."""
    people = {"a": [0, 0, 1, 1] * 50, "b": [0, 1, 0, 1] * 50, "c": [0] * 100 + [1] * 100}
    for most, kind in ((10**6, "exact"), (10, "bound")):
        monkeypatch.setattr(_enumeration, "_MOST_UNASKED", most)
        release = Release(people)
        release.add_table(["a", "b"])
        release.add_table(["a", "c"])
        assert release.leakage().plug_in.kind == kind


def test_independence_that_takes_too_many_sums_is_refused(monkeypatch):
    monkeypatch.setattr(_enumeration, "_MOST_STATES", 10)
    release = Release({name: [0, 1, 0, 1, 1] * 9 for name in "abc"}, "independent")
    release.add_table(["a", "b"])
    release.add_table(["b", "c"])
    with pytest.raises(ValueError, match="too many sums"):
        release.leakage()
    with pytest.raises(ValueError, match='population must be a table or "independent"'):
        Release({"a": [1, 2]}, "independence")


# --- the attack -----------------------------------------------------------------------------------


def test_the_advantage_of_the_attack_is_that_of_its_two_laws():
    rng, widest = np.random.default_rng(0), 0.0
    for _ in range(120):
        cells, n = int(rng.integers(2, 5)), int(rng.integers(1, 8))
        mass, v = rng.integers(1, 5, cells), rng.integers(-30, 30, cells)
        cell, inside = int(rng.integers(cells)), rng.random(cells) < 0.5
        inside[cell] = True
        p = mass / mass.sum()
        spread = math.sqrt(n * max(float(p @ v**2.0) - float(p @ v) ** 2, 0.0))
        size = fft.next_fast_len(max(8, int(8.0 * spread) + 1), real=True)
        without, with_ = Counter(), Counter()
        for vector in compositions(cells, n):
            counts = np.array(vector)
            chance = math.factorial(n) * math.prod(p**counts)
            chance /= math.prod(map(math.factorial, vector))
            seen = (int(counts[inside].sum()), int(v @ counts) % size)
            without[seen] += chance
            with_[seen] += chance * counts[cell] / (n * p[cell])
        truth = sum(abs(without[seen] - with_[seen]) for seen in without) / 2.0
        advantage = pair_advantage(v, inside, mass, n, cell)
        assert advantage <= truth + 1e-14
        widest = max(widest, truth - advantage)
    assert widest < 1e-10


def test_the_attack_is_within_the_truth_and_above_the_best_count():
    rng, raised = np.random.default_rng(8), 0
    for _ in range(50):
        people, outputs = drawn(rng)
        truth = np.array([float(x) for x in exact_leakage(people, outputs)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_enumeration, "_MOST_POPULATIONS", 0)
            plain = own_ends(release_of(people, outputs).leakage())[0]
            low = own_ends(release_of(people, outputs).leakage(attacks=100))[0]
        assert np.all(low <= truth + 1e-12)
        assert np.all(low >= plain)
        raised += int(np.count_nonzero(low > plain + 1e-6))
    assert raised > 3


def test_an_attack_on_the_only_count_is_the_leakage_of_that_count():
    """Also for a count of so many people that its values are not told apart: T has them."""
    matrix = sparse.csr_matrix(np.array([[1, 1], [1, 0]], np.int64))
    for n, mass in ((30, [1, 29]), (4000, [1500, 2500])):
        truth = Release({"a": np.repeat([0, 1], np.array(mass) * n // sum(mass))})
        truth.add_table(["a"])
        advantage = attack_advantages(matrix, np.array(mass), n, np.array([0]))[0]
        leaks = own_ends(truth.leakage())[1][0]
        assert leaks - 2e-8 <= advantage <= leaks + 1e-12


def test_the_attack_on_all_margins_of_adult_reaches_the_limit():
    """All one- and two-way margins of five columns, 5,000 rows: the riskiest 60 cells."""
    adult = load_adult().columns
    names = ["education", "marital_status", "race", "sex", "relationship"]
    release = Release({name: adult[name][:5000] for name in names})
    for columns in [*itertools.combinations(names, 1), *itertools.combinations(names, 2)]:
        release.add_table(list(columns))
    plain, report = release.leakage(), release.leakage(attacks=60)
    raised = report.plug_in.low > plain.plug_in.low
    assert np.count_nonzero(raised) == 60
    assert np.all(report.plug_in.low <= report.plug_in.high)
    assert np.all(report.plug_in.low[raised] > 0.97 * plain.plug_in.value[raised])
    assert report.plug_in.average.low > plain.plug_in.average.low
    assert any("attack on all published counts" in each for each in report.caveats)


def test_a_sample_of_a_register_is_not_attacked():
    release = Release({"a": [0, 0, 1], "b": [0, 1, 0]}, {"a": [0, 0, 1, 1] * 9, "b": [0, 1] * 18})
    release.add_table(["a"])
    release.add_table(["b"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_enumeration, "_MOST_POPULATIONS", 0)
        report = release.leakage(attacks=3)
    assert any("No attack was computed" in each for each in report.caveats)
    with pytest.raises(ValueError, match="attacks must be"):
        release.leakage(attacks=-1)


def test_a_group_that_holds_missing_values_is_named_so():
    people = {"sex": ["f"] * 20 + ["m"] * 20, "age": ([30.0] * 18 + [np.nan] * 2) * 2}
    release = Release(people, na="category")
    release.add_table(["sex"])
    release.add_table(["sex"], where={"age": {"max": 64}})
    text = str(release.leakage())
    assert "age > 64 or missing: 2 people" in text
    assert "age > 64: 2 people" not in text
