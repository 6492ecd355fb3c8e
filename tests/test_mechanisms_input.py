"""What mechanisms refuse, in which words; progress, limits and results."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest

from mialeak.mechanisms import (
    Geometric,
    Histogram,
    Maximum,
    Mean,
    Mode,
    RandomRound,
    Round,
    Suppress,
    coarsen,
    count_vectors,
    discretize,
    mechanism_leakage,
)

LAW = [0.5, 0.3, 0.2]


def first(counts):
    return counts[:, 0]


def restless():
    """A mechanism that draws labels, which may not pass for a fixed one."""
    rng = np.random.default_rng(0)
    return lambda counts: rng.integers(0, 2, len(counts))


def seeded_noise(counts):
    """A mechanism that draws noise with a fixed seed: the same for each place at every call."""
    noise = np.random.default_rng(0).laplace(0.0, 3.0, len(counts))
    return np.round(counts[:, 0] + noise).astype(int)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            ValueError,
            r"mechanism must give labels of shape \(M,\) or probabilities of shape \(M, L\) for "
            r"M = 10 count vectors; the shape is \(9,\)",
            lambda: mechanism_leakage(lambda c: c[1:, 0], LAW, 3),
        ),
        (
            ValueError,
            r"probabilities of shape \(M, L\) for M = 10 count vectors; the shape is \(\)",
            lambda: mechanism_leakage(lambda c: 3, LAW, 3),
        ),
        (
            ValueError,
            r"mechanism\(counts\) must have rows that sum to 1 within 1e-9; the sum is 0\.5 for "
            r"the counts \[0, 0, 3\]",
            lambda: mechanism_leakage(lambda c: np.full((len(c), 2), 0.25), LAW, 3),
        ),
        (
            ValueError,
            r"mechanism\(counts\) must hold probabilities in \[0, 1\]; got "
            r"mechanism\(counts\)\[0, 1\] = -0\.5",
            lambda: mechanism_leakage(lambda c: np.tile([0.5, -0.5, 1.0], (len(c), 1)), LAW, 3),
        ),
        (
            TypeError,
            r"mechanism must give integer labels, not float64. Number the outcomes, or give a row",
            lambda: mechanism_leakage(lambda c: c[:, 0] / 2, LAW, 3),
        ),
        (
            TypeError,
            r"mechanism must give probabilities, not <U1 of shape \(10, 2\)",
            lambda: mechanism_leakage(lambda c: np.full((len(c), 2), "x"), LAW, 3),
        ),
        (
            ValueError,
            r"mechanism must give the same labels for the same counts; it gave [01] and then [01] "
            r"for \[\d, \d, \d\]. If it is random, give the probabilities of its outcomes",
            lambda: mechanism_leakage(restless(), LAW, 3),
        ),
        (
            ValueError,
            r"mechanism must give the same labels for the same counts; it gave -?\d+ and, with "
            r"these in reverse order, -?\d+ for \[\d, \d, \d\]. .* noise of a fixed seed",
            lambda: mechanism_leakage(seeded_noise, LAW, 3),
        ),
        (
            ValueError,
            r"limit must allow for C\(1009, 9\) = 2\.9e\+21 count vectors, which would take about "
            r"1\.8e\+07 years; got limit = 1000000000. Raise limit=, merge atoms first "
            r"\(coarsen\), take a built-in .* max_leakage .* method=\"sample\"",
            lambda: mechanism_leakage(first, np.full(10, 0.1), 1000),
        ),
        (
            ValueError,
            r"limit must allow for C\(102, 2\) = 5,151 count vectors, which would take about a "
            r"second; got limit = 5150",
            lambda: mechanism_leakage(first, LAW, 100, limit=5150),
        ),
        (
            ValueError,
            r"count vectors, which would take about forever",
            lambda: mechanism_leakage(first, np.full(60, 1 / 60), 10**9),
        ),
        (
            ValueError,
            "p must have at most 63 atoms to be enumerated; it has 100",
            lambda: mechanism_leakage(first, np.full(100, 0.01), 1),
        ),
        (
            ValueError,
            r"mechanism must hold one label for each of 10 count vectors; its shape is \(9,\)",
            lambda: mechanism_leakage(np.arange(9), LAW, 3),
        ),
        (
            TypeError,
            "mechanism must hold integer labels, not float64",
            lambda: mechanism_leakage(np.zeros(10), LAW, 3),
        ),
        (
            TypeError,
            "mechanism must be a function of counts if rows='poisson', not a table of labels",
            lambda: mechanism_leakage(np.zeros(10, int), LAW, 3, rows="poisson"),
        ),
        (
            TypeError,
            r"mechanism must be a built-in such as Round\(5\), a function of count vectors or an "
            "array of labels; got mechanism = 'round:5'",
            lambda: mechanism_leakage("round:5", LAW, 3),
        ),
        (TypeError, "mechanism must be a built-in", lambda: mechanism_leakage(Mode, LAW, 3)),
        (ValueError, 'rows must be "fixed" or "poisson"; got rows = \'free\'',
         lambda: mechanism_leakage(first, LAW, 3, rows="free")),
        (ValueError, "p must sum to 1", lambda: mechanism_leakage(Mode(), [0.5, 0.4], 3)),
        (ValueError, "p must hold at least one atom", lambda: mechanism_leakage(Mode(), [], 3)),
        (TypeError, "n must be an integer; got n = 3.0",
         lambda: mechanism_leakage(Mode(), LAW, 3.0)),
        (ValueError, "n must be between 1 and", lambda: mechanism_leakage(Mode(), LAW, 0)),
        (ValueError, "gamma must be positive", lambda: mechanism_leakage(Mode(), LAW, 3, gamma=0)),
        (ValueError, "base must be between 2 and", lambda: Round(1)),
        (ValueError, "base must be between 2 and 1048576", lambda: RandomRound(2**20 + 1)),
        (TypeError, "base must be an integer", lambda: RandomRound(2.5)),
        (ValueError, "below must be between 1 and", lambda: Suppress(0)),
        (ValueError, "epsilon must be positive; got epsilon = 0", lambda: Geometric(0)),
        (ValueError, "epsilon must be finite", lambda: Geometric(float("inf"))),
        (ValueError, "counts must be between 0 and", lambda: Round(5).release([-1])),
        (ValueError, r"values must have one entry for each atom of p; the shapes are \(2,\)",
         lambda: mechanism_leakage(Mean([0, 1]), LAW, 3)),
        (ValueError, "values must lie on a lattice",
         lambda: mechanism_leakage(Mean([0, 1, 2**0.5]), LAW, 3)),
        (ValueError, "values must give a mean with fewer than 67,108,864 likely values",
         lambda: mechanism_leakage(Mean([0, 1, 9999]), LAW, 10**9)),
        (ValueError, "The leakage of the mode is not available at n = 100,000,000 with 40 cells",
         lambda: mechanism_leakage(Mode(), np.full(40, 1 / 40), 10**8)),
        (ValueError, ": a cell has more than 134,217,728 counts that matter",
         lambda: mechanism_leakage(Round(5), LAW, 2**53 - 1, rows="poisson")),
        (ValueError, "confidence must be strictly between 0 and 1",
         lambda: mechanism_leakage(first, LAW, 3, method="sample", confidence=1.0)),
        (ValueError, "samples must be between 4 and",
         lambda: mechanism_leakage(first, LAW, 3, method="sample", samples=3)),
        (TypeError,
         r'mechanism must be a function of count vectors for method="sample"; got mechanism = '
         r"Round\(base=5\). Built-in mechanisms and tables of labels need no samples",
         lambda: mechanism_leakage(Round(5), LAW, 3, method="sample")),
        (TypeError, "mechanism must be a function of count vectors",
         lambda: mechanism_leakage(Mode, LAW, 3, method="sample")),
        (TypeError, "mechanism must be a function of count vectors",
         lambda: mechanism_leakage(np.zeros(10, int), LAW, 3, method="sample")),
        (ValueError, r'rows must be "fixed" for method="sample": .*; got rows = \'poisson\'',
         lambda: mechanism_leakage(first, LAW, 3, rows="poisson", method="sample")),
        (ValueError, 'method must be "auto" or "sample"; got method = \'exact\'',
         lambda: mechanism_leakage(first, LAW, 3, method="exact")),
        (ValueError, 'samples must be left out unless method="sample"; got samples = 1000',
         lambda: mechanism_leakage(first, LAW, 3, samples=1000)),
        (ValueError, 'confidence must be left out unless method="sample"',
         lambda: mechanism_leakage(first, LAW, 3, confidence=0.9)),
        (ValueError, 'rng must be left out unless method="sample"; got rng = 0',
         lambda: mechanism_leakage(first, LAW, 3, rng=0)),
        (ValueError, "gamma must be positive",
         lambda: mechanism_leakage(first, LAW, 3, method="sample", gamma=-1.0)),
        (ValueError, r"leakage must be between 0 and 1; got leakage = 1\.5",
         lambda: coarsen(LAW, 3, 1.5)),
        (ValueError, "n_bins must be given, or leakage, and not both",
         lambda: discretize(np.arange(9.0))),
        (ValueError, "method must be 'kmeans' for more than one column",
         lambda: discretize(np.ones((9, 2)), 3, method="uniform")),
        (ValueError, 'method must be "kmeans", "quantile" or "uniform"',
         lambda: discretize(np.arange(9.0), 3, method="x")),
        (TypeError, "rng must be what", lambda: discretize(np.ones((9, 2)), 3, rng="seed")),
        (ValueError, "X must have 1 columns, as the data that the bins were found in; it has 2",
         lambda: discretize(np.arange(9.0), 3).transform(np.ones((9, 2)))),
        (ValueError, "values must be 3, one for each atom; there are 2",
         lambda: coarsen(LAW, 3, 0.1).mapping("ab")),
        (TypeError, "cells must be an integer", lambda: count_vectors(2, 2.0)),
        (ValueError, "cells must be between 1 and", lambda: count_vectors(2, 0)),
        (ValueError, "vectors of 62 take .* GiB", lambda: count_vectors(6, 62)),
        (ValueError, "values must give a mean with fewer than 67,108,864 likely values; it has",
         lambda: mechanism_leakage(Mean([1, 2, 3]), LAW, 2**53)),
        (ValueError, "The leakage of the mode is not available at n",
         lambda: mechanism_leakage(Mode(), LAW, 2**53)),
        (ValueError, "X must be finite", lambda: discretize([1.0, np.nan], 1)),
        (ValueError, r"X must have shape \(rows,\) or \(rows, d\)", lambda: discretize([], 1)),
        (ValueError, "n_bins must be between 1 and 9", lambda: discretize(np.arange(9.0), 10)),
        (ValueError, "leakage must be between 0 and 1",
         lambda: discretize(np.arange(9.0), leakage=-0.1)),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_so_many_words(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_too_many_outcomes_are_refused(monkeypatch):
    from mialeak.mechanisms import _enumerate

    monkeypatch.setattr(_enumerate, "_MOST_OUTCOMES", 50)
    with pytest.raises(ValueError, match="mechanism must have at most 50 different outcomes"):
        mechanism_leakage(lambda c: c @ np.array([1, 1000, 10**6]), LAW, 20)


def test_a_mechanism_cannot_change_the_counts():
    def greedy(counts):
        counts[:] = 0
        return counts[:, 0]

    with pytest.raises(ValueError, match="read-only"):
        mechanism_leakage(greedy, LAW, 3)


def test_workers_are_checked_whatever_the_mechanism():
    for mechanism in (Histogram(), Round(3), Mode()):
        with pytest.raises(ValueError, match="workers must be at least 1"):
            mechanism_leakage(mechanism, LAW, 3, workers=0)


def test_errors_of_a_mechanism_reach_the_caller():
    def broken(counts):
        raise ZeroDivisionError("mine")

    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError, match="mine"):
            mechanism_leakage(broken, LAW, 3, workers=workers)


def test_the_count_and_the_time_are_said_before_the_work(capfd):
    pytest.importorskip("tqdm")
    mechanism_leakage(first, LAW, 30, progress=True)
    said = capfd.readouterr().err
    assert said.startswith("496 count vectors, about a second\n")
    assert "496/496" in said or "100%" in said
    mechanism_leakage(first, LAW, 30)
    assert capfd.readouterr().err == ""


def test_durations_are_in_the_unit_that_suits_them():
    from mialeak.mechanisms._enumerate import _time

    assert [_time(int(s), 1.0) for s in (1, 90, 7200, 86400, 10**6, 10**9)] == [
        "a second", "90 seconds", "2 hours", "24 hours", "12 days", "32 years",
    ]  # fmt: skip


def test_a_table_of_labels_of_a_single_atom_leaks_nothing():
    assert float(mechanism_leakage(np.array([7]), [1.0], 3)) == 0.0


def test_labels_may_be_any_integers_and_bools():
    wild = np.array([-(10**12), 5, 10**12])
    expected = mechanism_leakage(lambda c: c[:, 0] % 3, LAW, 9)
    assert mechanism_leakage(lambda c: wild[c[:, 0] % 3], LAW, 9) == expected
    assert mechanism_leakage(lambda c: (c[:, 0] % 3).astype(np.uint8), LAW, 9) == expected
    both = [lambda c: c[:, 0] > 2, lambda c: (c[:, 0] > 2) * 1]
    assert mechanism_leakage(both[0], LAW, 9) == mechanism_leakage(both[1], LAW, 9)


def test_count_vectors_are_numbered_and_found_again():
    from mialeak.mechanisms._enumerate import Enumeration

    for n, cells in ((4, 4), (7, 2), (0, 3), (1, 5)):
        every = Enumeration(cells, n, poisson=False)
        vectors = count_vectors(n, cells)
        assert len(vectors) == every.size
        assert (vectors.sum(axis=1) == n).all()
        assert [every.vector(i).tolist() for i in range(every.size)] == vectors.tolist()
    large = Enumeration(8, 200, poisson=False)
    last = large.vector(large.size - 1)
    assert last.tolist() == [200] + [0] * 7


def test_results_say_what_they_are():
    found = mechanism_leakage(Histogram(), LAW, 20)
    assert re.fullmatch(
        r"MechanismLeakage\(lower=0\.\d+, upper=0\.\d+, kind='exact', rows='fixed'\)", repr(found)
    )
    assert set(found.to_dict()) == {"lower", "upper", "kind", "rows", "method", "error"}
    assert mechanism_leakage(Maximum(), LAW, 20).method == "closed form"


def test_what_is_released_keeps_its_shape_and_seed():
    counts = np.arange(12).reshape(3, 4)
    for way in (Round(5), RandomRound(3), Suppress(4), Geometric(0.5)):
        once = way.release(counts, rng=5)
        assert once.shape == counts.shape
        assert once.dtype == np.int64
        assert np.array_equal(once, way.release(counts, rng=5))
    assert np.abs(RandomRound(3).release(counts, rng=0) - counts).max() < 3
    many = np.full(200_000, 7)
    assert RandomRound(5).release(many, rng=1).mean() == pytest.approx(7, abs=0.03)
    assert Geometric(1.0).release(many, rng=1).mean() == pytest.approx(7, abs=0.02)


def test_no_noise_is_released_whose_last_digits_are_not_random():
    """Draws of 1e17 were multiples of 16: added to them, the counts could be read off."""
    rule = "epsilon must be at least 1e-12 for a release: .*; got epsilon = 1e-17"
    with pytest.raises(ValueError, match=rule):
        Geometric(1e-17).release(np.full(1000, 5))
    last = Geometric(1e-12).release(np.full(100_000, 5), rng=0) % 16
    shares = np.bincount(last, minlength=16) / last.size
    assert np.abs(shares - 1 / 16).max() < 5 * math.sqrt(1 / 16 / last.size)
    assert float(mechanism_leakage(Geometric(1e-17), LAW, 20)) < 1e-14


def test_the_maximum_of_a_nearly_certain_atom_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mechanism_leakage(Maximum(), [1e-300, 1.0], 3)
    assert 0.0 <= float(found) < 1e-15


def test_fewer_clusters_than_bins_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert discretize(np.ones((9, 2)), 3, rng=0).labels.max() == 0
