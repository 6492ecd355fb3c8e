"""What the functions of discrete data refuse, and how they say so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mialeak._blocks import BLOCK
from mialeak.discrete import (
    atom_leakage,
    discrete_tradeoff,
    diversity,
    diversity_bounds,
    diversity_range,
    gini_simpson,
    max_leakage,
    max_leakage_bounds,
    min_samples,
    shannon_entropy,
)

#: (function, arguments) of every function that takes a law; those of a game take gamma too.
GAMES = [
    (max_leakage, (10,)),
    (max_leakage_bounds, (10,)),
    (atom_leakage, (10,)),
    (min_samples, (0.1,)),
]
TAKES_A_LAW = [
    *GAMES,
    (discrete_tradeoff, (10,)),
    (diversity, ()),
    (diversity_bounds, (10,)),
    (gini_simpson, ()),
    (shannon_entropy, ()),
]


@pytest.mark.parametrize(("function", "arguments"), TAKES_A_LAW)
@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5, -0.1, 0.6], r"p must hold probabilities between 0 and 1; got p\[1\] = -0\.1"),
        ([0.5, 0.5, math.nan], r"between 0 and 1; got p\[2\] = nan"),
        ([0.5, 0.5, None], r"between 0 and 1; got p\[2\] = nan"),
        ([math.inf, 0.5], r"between 0 and 1; got p\[0\] = inf"),
        ([3.0, 1.0], r"between 0 and 1; got p\[0\] = 3\.0\. (Pass|Divide)"),
        ([0.5, 0.4], r"p must sum to 1 within 1e-9; the sum is 0\.9\. (Pass|Divide)"),
        (
            [0.12, 0.3, 0.05],
            r"of cells, of which a row is in one\. Of allele freq.*mean_tr",
        ),
        ([0.0, 0.0], r"p must sum to 1 within 1e-9; the sum is 0\.0"),
        ([], r"p must hold at least one atom"),
        ([[0.5, 0.5]], r"p must have 1 dimension; its shape is \(1, 2\)"),
        (0.5, r"p must have 1 dimension; its shape is \(\)"),
    ],
)
def test_what_is_not_a_law_is_refused(function, arguments, p, message):
    with pytest.raises(ValueError, match=message):
        function(p, *arguments)


@pytest.mark.parametrize(("function", "arguments"), TAKES_A_LAW)
@pytest.mark.parametrize("p", ["ab", ["a", "b"], [1j], {"a": 1.0}, [[0.5], [0.2, 0.3]]])
def test_what_is_no_array_of_numbers_is_refused(function, arguments, p):
    with pytest.raises(TypeError, match="p must be an array of"):
        function(p, *arguments)


def test_a_sum_that_is_nearly_one_passes():
    max_leakage([0.5, 0.5 + 9e-10], 10)
    with pytest.raises(ValueError, match=r"the sum is 1\.0000000011.*normalize=True"):
        max_leakage([0.5, 0.5 + 1.1e-9], 10)
    max_leakage([0.5, 0.5 + 1.1e-9], 10, normalize=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_indices_count_from_the_first_block(workers):
    p = np.full(2 * BLOCK + 9, 1 / (2 * BLOCK + 9))
    p[2 * BLOCK + 5] = -1e-9
    p[2 * BLOCK + 7] = np.nan
    message = rf"got p\[{2 * BLOCK + 5}\] = -1e-09"
    pieces = np.array_split(p, 200)
    for law in (p, iter(pieces)):
        with pytest.raises(ValueError, match=message):
            max_leakage(law, 10, workers=workers)
    for function, arguments in ((atom_leakage, (10,)), (diversity, ()), (diversity_bounds, (10,))):
        with pytest.raises(ValueError, match=message):
            function(iter(pieces), *arguments)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.0, 0.0], r"p must have a positive and finite sum; its sum is 0\.0"),
        ([1e308] * 20, r"p must have a positive and finite sum; its sum is (inf|nan)"),
        ([1.0, math.nan], r"got p\[1\] = nan"),
        ([1.0, math.inf], r"got p\[1\] = inf"),
        ([2.0, -1.0], r"got p\[0\] = 2.0|got p\[1\] = -1.0"),
        ([-2.0, 1.0], r"positive and finite sum; its sum is -1.0"),
    ],
)
def test_what_cannot_be_normalized_is_refused(p, message):
    with pytest.raises(ValueError, match=message):
        max_leakage(p, 10, normalize=True)


def test_an_iterator_cannot_be_gone_through_twice():
    with pytest.raises(ValueError, match=r"normalize must be False for an iterator.*Pass an array"):
        max_leakage(iter([np.ones(3)]), 10, normalize=True)
    for function, argument in ((min_samples, 0.1), (discrete_tradeoff, 10)):
        message = f"p must be an array or a law, not an iterator: {function.__name__} goes through"
        with pytest.raises(TypeError, match=message):
            function(iter([np.ones(1)]), argument)


@pytest.mark.parametrize(
    ("iterator", "message"),
    [
        (lambda: iter([]), "p must hold at least one atom"),
        (lambda: iter([[], []]), "p must hold at least one atom"),
        (lambda: (x for x in [0.5, 0.5]), "p must be an iterator of one-dimensional blocks"),
        (lambda: iter([np.ones((1, 1))]), "p must be an iterator of one-dimensional blocks"),
        (lambda: iter([[0.5], [0.4]]), "p must sum to 1"),
    ],
)
def test_bad_iterators_are_refused(iterator, message):
    with pytest.raises(ValueError, match=message):
        max_leakage(iterator(), 10)


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (0, ValueError, r"n must be between 1 and 2\*\*53; got n = 0"),
        (-3, ValueError, r"n must be between 1 and 2\*\*53; got n = -3"),
        (2**53 + 1, ValueError, r"n must be between 1 and 2\*\*53; got n = 9007199254740993"),
        (3.5, TypeError, r"n must be an integer; got n = 3.5"),
        (3.0, TypeError, r"n must be an integer; got n = 3.0"),
        ("3", TypeError, r"n must be"),
        (None, TypeError, r"n must be an integer"),
        ([5, 3.0], TypeError, r"n must be integers, not of dtype float64"),
        ([[5, 0]], ValueError, r"n must be between 1 and 2\*\*53; got n\[0, 1\] = 0"),
    ],
)
def test_bad_sample_sizes_are_refused(n, error, message):
    for function in (max_leakage, max_leakage_bounds, diversity_bounds):
        with pytest.raises(error, match=message):
            function([0.5, 0.5], n)
    if not isinstance(n, list):
        for function in (atom_leakage, discrete_tradeoff):
            with pytest.raises(error, match=message):
                function([0.5, 0.5], n)


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.inf, math.nan, "1", [1.0, 2.0]])
@pytest.mark.parametrize(("function", "arguments"), GAMES)
def test_bad_gammas_are_refused(function, arguments, gamma):
    numeric = isinstance(gamma, float)
    with pytest.raises(ValueError if numeric else TypeError, match="gamma must be"):
        function([0.5, 0.5], *arguments, gamma=gamma)


@pytest.mark.parametrize("leakage", [0.0, 1.0, -0.1, 2.0, math.nan, math.inf])
def test_bad_targets_are_refused(leakage):
    with pytest.raises(ValueError, match="leakage must be"):
        min_samples([0.5, 0.5], leakage)


@pytest.mark.parametrize("leakage", [1e-9, 1e-160, 5e-324])
def test_what_no_number_of_rows_reaches_is_refused(leakage):
    with pytest.raises(
        ValueError, match=rf"2\*\*53 rows, which leak 4\.2035\d+e-09; got .* {leakage}"
    ):
        min_samples([0.5, 0.5], leakage)


def test_no_workers_are_refused():
    with pytest.raises(ValueError, match=r"workers must be at least 1, or -1 for all CPUs"):
        max_leakage([1.0], 10, workers=0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 0.5), ValueError, r"n_atoms must be between 1 and 2\*\*53; got n_atoms = 0"),
        ((2.0, 0.5), TypeError, "n_atoms must be an integer"),
        (
            (4, 0.2),
            ValueError,
            r"between 1/n_atoms = 0\.25 and 1; got .*0\.2",
        ),
        ((4, 1.1), ValueError, r"max_probability must be between 1/n_atoms = 0\.25 and 1"),
        ((4, math.nan), ValueError, "max_probability must be finite"),
    ],
)
def test_bad_ranges_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        diversity_range(*arguments)
