"""Tables in which persons have several rows: against enumeration of all tables."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from mpmath import mp
from scipy import stats

from mialeak import atom_leakage
from mialeak.cli import main
from mialeak.tables import table_leakage
from mialeak.tables._persons import ratio_variance, repeated_leakage


def count_vectors(n, cells):
    if cells == 1:
        return [(n,)]
    return [(h, *rest) for h in range(n + 1) for rest in count_vectors(n - h, cells - 1)]


def multinomial(counts, p):
    chance = Fraction(math.factorial(sum(counts)))
    for count, share in zip(counts, p, strict=True):
        chance *= share**count / math.factorial(count)
    return chance


def enumerated(own, n, p):
    """Total variation between all counts with the person's rows and with none of them."""
    worlds = {}
    for counts in count_vectors(n, len(p)):
        worlds[counts] = [multinomial(counts, p), 0]
    for others in count_vectors(n - sum(own), len(p)):
        counts = tuple(a + b for a, b in zip(others, own, strict=True))
        worlds[counts][1] += multinomial(others, p)
    return float(sum(abs(a - b) for a, b in worlds.values()) / 2)


#: Rows by person and cell.
TABLES = [
    [(2, 0), (1, 0), (0, 1), (0, 2)],
    [(3, 0, 0), (1, 0, 1), (0, 1, 0), (0, 1, 1)],
    [(1, 1), (2, 2), (0, 1)],
    [(1, 1, 1), (1, 0, 0), (2, 0, 0), (0, 0, 1)],
]


def frame_of(persons):
    rows = [
        (f"p{k}", cell)
        for k, own in enumerate(persons)
        for cell, count in enumerate(own)
        for _ in range(count)
    ]
    order = np.random.default_rng(2).permutation(len(rows))
    names, cells = zip(*(rows[i] for i in order), strict=True)
    return {"person": list(names), "cell": list(cells)}


@pytest.mark.parametrize("persons", TABLES, ids=str)
def test_persons_leak_what_enumerating_all_tables_says(persons):
    """Exactly if their rows are in one cell, else between the two bounds."""
    counts = np.sum(persons, axis=0)
    n = int(counts.sum())
    p = [Fraction(int(count), n) for count in counts]
    frame = frame_of(persons)
    report = table_leakage(frame, person="person").persons
    values = [frame["person"][row] for row in report.first_row]
    for k, name in enumerate(values):
        own = persons[int(name[1:])]
        truth = enumerated(own, n, p)
        low, high = report.plug_in.lower[k], report.plug_in.upper[k]
        if sum(count > 0 for count in own) == 1:
            assert low == high == pytest.approx(truth, abs=1e-13)
        else:
            assert low - 1e-13 <= truth <= high + 1e-13
        assert report.person_rows[k] == sum(own)


@pytest.mark.parametrize(
    ("own", "n"), [((1, 1, 0), 5), ((2, 1, 0), 6), ((1, 1, 1), 4), ((2, 2, 1), 7), ((3, 1, 0), 4)]
)
def test_the_variance_of_the_ratio_is_that_of_enumerating_all_tables(own, n):
    p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    variance = Fraction(-1)
    for others in count_vectors(n - sum(own), 3):
        counts = [a + b for a, b in zip(others, own, strict=True)]
        ratio = Fraction(math.factorial(n - sum(own)), math.factorial(n))
        for count, rows, share in zip(counts, own, p, strict=True):
            ratio *= math.perm(count, rows) / share**rows
        variance += multinomial(others, p) * ratio
    rows = np.array(own, float)
    held = rows > 0
    shares = np.array([float(share) for share in p])
    value = ratio_variance(rows[held], float(n), shares[held])
    assert value == pytest.approx(float(variance), rel=1e-11)
    assert enumerated(own, n, p) <= 0.5 * math.sqrt(value)


def test_the_variance_of_the_ratio_of_a_rare_cell_has_no_end():
    assert ratio_variance(np.array([1.0, 2.0]), 50.0, np.array([0.0, 0.5])) == math.inf
    assert ratio_variance(np.array([400.0, 2.0]), 500.0, np.array([1e-300, 0.5])) == math.inf


def test_two_rows_leak_twice_what_one_does():
    """The figures of the derivation: n = 30, p = 0.07."""
    one, two = repeated_leakage(np.array([1.0, 2.0]), np.full(2, 30.0), np.full(2, 0.07))
    assert (round(one, 3), round(two, 3)) == (0.261, 0.518)


@pytest.mark.parametrize("n", [900, 1100, 10**6, 10**10])
@pytest.mark.parametrize("m", [2, 7])
def test_several_rows_of_large_tables_leak_their_limit(n, m):
    """The limit for many rows, and the same number by the best of all thresholds near the mean."""
    p = 0.2
    value = repeated_leakage(np.array([float(m)]), np.array([float(n)]), np.array([p]))[0]
    mean = n * p + m
    counts = np.unique(np.round(mean + np.linspace(-3, 3, 20_001) * math.sqrt(n * p)))
    power = stats.binom.sf(counts - m, n - m, p)
    best = np.max(power - stats.binom.sf(counts, n, p))
    assert value == pytest.approx(best, rel=1e-9 if n < 10**6 else 1e-6)
    mu = m * math.sqrt((1 - p) / (n * p))
    assert value == pytest.approx(2 * stats.norm.cdf(mu / 2) - 1, rel=0.05 if n < 2000 else 1e-3)


def test_the_variance_of_the_ratio_of_many_rows_is_its_limit():
    m, p = np.array([1.0, 2.0, 1.0]), np.array([0.2, 0.3, 0.05])
    for n in (10**6, 10**10):
        limit = (np.sum(m**2 / p) - 16.0) / n
        assert ratio_variance(m, float(n), p) == pytest.approx(limit, rel=1e-4, abs=1e-15)


@pytest.mark.parametrize("n", [2, 17, 1000, 10**6])
def test_one_row_leaks_what_its_atom_does(n):
    p = np.array([0.5, 0.3, 0.1, 0.07, 0.03])
    leakage = repeated_leakage(np.ones(5), np.full(5, float(n)), p)
    assert leakage == pytest.approx(atom_leakage(p, n), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("m", "n", "p"), [(3, 500, 0.01), (40, 10_000, 0.02), (5, 5, 0.3)])
def test_tails_of_larger_tables_are_those_of_fractions(m, n, p):
    with mp.workdps(50):
        share = mp.mpf(p)
        least = min(
            (c for c in range(m, n + 1) if mp.ff(c, m) > mp.ff(n, m) * share**m), default=n + 1
        )

        def tail(h, size):
            terms = (
                mp.binomial(size, j) * share**j * (1 - share) ** (size - j)
                for j in range(max(h, 0))
            )
            return 1 - mp.fsum(terms)

        truth = float(tail(least - m, n - m) - tail(least, n))
    value = repeated_leakage(np.array([float(m)]), np.array([float(n)]), np.array([p]))[0]
    assert value == pytest.approx(truth, rel=1e-12)


def test_ranges_go_by_the_rows_of_others():
    """A cell that holds the rows of one person alone may be as rare as can be."""
    frame = {
        "person": ["a"] * 3 + [f"p{i}" for i in range(997)],
        "cell": [0] * 3 + [1 + i % 2 for i in range(997)],
    }
    persons = table_leakage(frame, person="person").persons
    assert persons.person_leakage.upper[0] == 1.0
    assert persons.person_leakage.lower[0] < persons.plug_in.lower[0] < 1.0
    assert persons.riskiest(1)[0].value == "a"
    assert persons.highest.upper == 1.0
    assert persons.average.lower < persons.plug_in_average.lower < persons.average.upper


VISITS = {"person": ["a", "a", "b", "c", "d"], "ward": [1, 2, 1, 2, 2], "sex": list("ffmff")}


def test_the_column_of_persons_is_not_counted():
    report = table_leakage(VISITS, person="person")
    assert report.columns == ("ward", "sex")
    assert table_leakage(VISITS, ["ward"], person="person").columns == ("ward",)
    assert table_leakage(VISITS, exclude=["sex"], person="person").columns == ("ward",)
    assert report.persons.person_cells.tolist() == [2, 1, 1, 1]
    assert report.persons.plug_in.kind == "bound"


def test_dropped_rows_are_nobodys():
    visits = {**VISITS, "ward": [1, 2, None, 2, 2], "person": ["a", "a", None, "c", "d"]}
    persons = table_leakage(visits, person="person", na="drop").persons
    assert persons.persons == 3


def test_the_report_names_persons_by_their_rows(tmp_path, capsys):
    report = table_leakage(VISITS, person="person")
    text = " ".join(report.text().split())
    assert "about a random person (estimate)" in text
    assert "4 persons by column person, with 2 rows at most; all rows of 3 are in one cell" in text
    assert report.to_dict()["persons"]["riskiest"][0]["value"] is None
    assert report.to_dict(show_rows=True)["persons"]["riskiest"][0]["value"] is not None
    json.dumps(report.to_dict(show_rows=True))
    file = tmp_path / "visits.csv"
    pd.DataFrame(VISITS).to_csv(file, index=False)
    command = ["table", str(file), "--person", "person", "--json"]
    assert main([*command, "--max-leakage", "0.1"]) == 2
    content = json.loads(capsys.readouterr().out)
    assert content["persons"]["persons"] == 4
    assert content["limit"]["leakage"] == pytest.approx(float(report.persons.average.upper))
    assert content["samples"] is None  # how many rows a person has would matter
    assert main([*command[:-1], "--plot", str(tmp_path / "p.svg"), "--max-row-leakage", "1"]) == 0
    assert "Share of the persons, riskiest first" in (tmp_path / "p.svg").read_text()
    capsys.readouterr()
    assert main([*command, "--columns", "ward"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["ward"]
    assert main([*command, "--population", "50"]) == 1
    assert "--population is not available with person" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"person": "Person"},
            ValueError,
            "person must name a column of the table; got person = 'Person'. Did",
        ),
        ({"columns": ["person", "ward"]}, ValueError, "person must be left out of the columns"),
        (
            {"table": {**VISITS, "person": ["a", "a", None, "b", None]}},
            ValueError,
            "person must name the person of each row; it is missing in 2 of them, the first 2",
        ),
        (
            {"table": {**VISITS, "person": list("abcde")}},
            ValueError,
            "person must name the person of each row, of whom one has several; each has one row",
        ),
        ({"n": 1}, ValueError, "n must be at least the rows of each person; one has 2"),
        ({"population": 100}, ValueError, "population is not available with person"),
        ({"margins": ["ward"]}, ValueError, "margins is not available with person"),
        ({"coarsen": 0.1}, ValueError, "coarsen is not available with person"),
        ({"counts": "ward"}, ValueError, "counts is not available with person"),
        ({"secret": "ward"}, ValueError, "secret is not available with person: it is answered for"),
    ],
)
def test_what_has_no_answer_for_persons_is_refused(options, error, message):
    options = {"table": VISITS, "person": "person"} | options
    with pytest.raises(error, match=re.escape(message)):
        table_leakage(options.pop("table"), **options)


def test_persons_of_several_waves_bear_no_caution():
    rng = np.random.default_rng(4)
    person, wave = np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300)
    table = {"pid": person, "wave": wave, "town": rng.integers(0, 9, 300)[person]}
    assert table_leakage(table, person="pid").cautions == ()


def test_rows_of_a_person_that_come_together_are_no_independent_rows():
    """Four rows of everybody, all in one cell, are the counts of persons, times four."""
    rng = np.random.default_rng(4)
    town = rng.integers(0, 9, 300)
    once, person = {"town": town}, np.repeat(np.arange(300), 4)
    four = {"pid": person, "town": town[person]}
    with pytest.raises(ValueError, match=r"each of 300 has 4 rows, all alike.*pass one row for"):
        table_leakage(four, ["town"], person="pid")
    # Without the refusal the answer would be that of four independent rows: far above the truth.
    share = np.bincount(town)[town] / 300
    apart = repeated_leakage(np.full(300, 4.0), np.full(300, 1200.0), share).mean()
    assert table_leakage(once).plug_in < 0.6 * apart
    # Of nearly all the same: the caution states how many rows come together.
    four["town"][:40] = rng.integers(0, 9, 40)
    (caution,) = table_leakage(four, ["town"], person="pid").cautions
    assert "rows are with all others of their person, by column pid, in one cell" in caution
    mixed = {"pid": person, "town": rng.integers(0, 9, 1200)}
    assert table_leakage(mixed, ["town"], person="pid").cautions == ()


def test_a_person_is_named_by_one_column():
    with pytest.raises(TypeError, match="person must be the name of a column"):
        table_leakage(VISITS, person=["patient"])


def test_bounds_of_a_person_do_not_depend_on_the_order_of_the_table():
    rng = np.random.default_rng(18)
    letters = rng.choice(list("xyzw"), 60, p=[0.7, 0.1, 0.1, 0.1])
    frame = pd.DataFrame({"a": rng.integers(0, 3, 60), "b": letters})
    frame["who"] = rng.integers(0, 40, 60)

    def bounds(table):
        persons = table_leakage(table, person="who").persons
        names = table["who"].to_numpy()[persons.first_row]
        ends = [
            getattr(each, end)
            for each in (persons.plug_in, persons.person_leakage)
            for end in ("lower", "upper")
        ]
        return np.stack(ends)[:, np.argsort(names)]

    shuffled = frame.sample(frac=1.0, random_state=1)[["b", "who", "a"]]
    assert np.allclose(bounds(frame), bounds(shuffled), rtol=1e-12, atol=0.0)
