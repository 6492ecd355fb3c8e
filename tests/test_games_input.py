"""Membership games: what is refused, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.games import AverageTargetGame, FixedTargetGame, _game
from mialeak.laws import Bernoulli, Genotype, Lattice, Marginal, Normal, Presence

P = np.linspace(0.25, 0.75, 40)
GAME = FixedTargetGame(np.tile([1.0, 0.0], 20), Bernoulli(P), 50)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 25 rounds of GAME."""
    monkeypatch.setattr(_game, "_BLOCK", 1000)
    monkeypatch.setattr(_game, "_SLOW_BLOCK", 1000)


BITS = Bernoulli([0.3, 0.0, 0.6, 1.0])


@pytest.mark.parametrize(
    ("target", "marginals", "message"),
    [
        (
            [1, 0, 0.5, 1],
            BITS,
            r"target must be a value that a row can have in each column; got target\[2\] = 0\.5\. "
            r"Possible there: 0, 1",
        ),
        ([1, 1, 0, 1], BITS, r"got target\[1\] = 1\.0\. Possible there: 0$"),
        ([1, 0, 0, 0], BITS, r"got target\[3\] = 0\.0\. Possible there: 1$"),
        ([0, 3], Genotype([0.5, 0.5]), r"got target\[1\] = 3\.0\. Possible there: 0, 1, 2$"),
        ([0, 1, 1], [Bernoulli([0.5]), Genotype([0.0, 0.5])], r"got target\[1\] = 1\.0"),
        ([1, 1], Presence([0.5, 0.0]), r"got target\[1\] = 1\.0\. Possible there: 0$"),
        ([3], Lattice([1, 2, 4], [0.5, 0.5, 0]), r"got target\[0\] = 3\.0\. Possible there: 1, 2$"),
        ([4], Lattice([1, 2, 4], [0.5, 0.5, 0]), r"got target\[0\] = 4\.0"),
        ([0, 7], [Normal([0], [1]), Lattice(range(7), np.full(7, 1 / 7))], r"1, 2, 3, 4, \.\.\."),
        ([1, 0, np.nan, 1], BITS, r"target must be finite; got target\[2\] = nan"),
        ([np.inf], Normal([0.0], [1.0]), r"target must be finite; got target\[0\] = inf"),
        ([1, 0], BITS, r"target must have 4 entries; its shape is \(2,\)"),
        ([[1, 0, 0, 1]], BITS, r"target must have 4 entries; its shape is \(1, 4\)"),
    ],
)
def test_impossible_targets_are_refused_by_coordinate(target, marginals, message):
    with pytest.raises(ValueError, match=message):
        FixedTargetGame(target, marginals, 10)


NOT_SEMIDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 1}, ValueError, r"n must be between 2 and 2\*\*53; got n = 1"),
        ({"n": 10.0}, TypeError, r"n must be an integer; got n = 10\.0"),
        (
            {"sampling_rate": 0.25},
            ValueError,
            r"sampling_rate must draw an integer number of rows, at least 2, of n = 10; got "
            r"sampling_rate = 0\.25\. The nearest that do: 0\.2 \(2 rows\) and 0\.3 \(3 rows\)",
        ),
        ({"sampling_rate": 0.1}, ValueError, r"The nearest that do: 0\.2 \(2 rows\)"),
        ({"sampling_rate": 0.0}, ValueError, r"sampling_rate must be above 0 and at most 1"),
        ({"sampling_rate": np.nan}, ValueError, r"sampling_rate must be finite; got .*nan"),
        ({"n_reference": 0}, ValueError, r"n_reference must be between 1 and 2\*\*53"),
        ({"n_reference": 2.5}, TypeError, r"n_reference must be an integer"),
        ({"release_noise_cov": -1.0}, ValueError, r"release_noise_cov must be at least 0"),
        ({"release_noise_cov": np.nan}, ValueError, r"release_noise_cov must be finite"),
        ({"release_noise_cov": [1.0]}, ValueError, r"release_noise_cov must be a number, 2"),
        (
            {"release_noise_cov": NOT_SEMIDEFINITE},
            ValueError,
            r"release_noise_cov must be positive semi-definite; its least eigenvalue is -1",
        ),
        (
            {"release_noise_cov": np.array([[1.0, 0.5], [0.0, 1.0]])},
            ValueError,
            r"release_noise_cov must be symmetric",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["fixed", "average"])
def test_bad_games_are_refused(kind, options, error, message):
    target = {"target": [1, 0]} if kind == "fixed" else {}
    game = FixedTargetGame if kind == "fixed" else AverageTargetGame
    with pytest.raises(error, match=message):
        game(**target, marginals=Bernoulli([0.3, 0.4]), **{"n": 10, **options})


def test_noise_on_rounded_means_is_refused():
    message = r"release_noise_cov must be None where the law of a column rounds the mean"
    with pytest.raises(ValueError, match=message):
        AverageTargetGame([Genotype([0.3], decimals=2)], 10, release_noise_cov=0.1)


def test_decimals_too_many_for_the_rows_are_refused():
    message = r"decimals must be fewer for releases of \d+ rows: .*; got decimals = 15"
    with pytest.raises(ValueError, match=message):
        AverageTargetGame(Genotype([0.3], decimals=15), 10_000)


class _Other(Bernoulli.__mro__[2]):
    mean = std = np.array([0.5])

    def _log_ratio(self, releases, target, n):
        return None

    def _draw(self, rng, out):
        return None


@pytest.mark.parametrize(
    ("marginals", "message"),
    [
        (0.5, r"marginals must be a law or a list of laws"),
        ([0.5], r"marginals must hold laws only; got marginals\[0\] = 0\.5"),
        (_Other(), r"marginals must be laws of the kinds Bernoulli, Chain, Genotype, Presence"),
    ],
)
def test_what_is_no_law_is_refused(marginals, message):
    assert issubclass(_Other, Marginal)
    with pytest.raises(TypeError, match=message):
        AverageTargetGame(marginals, 10)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"rounds": -1}, ValueError, r"rounds must be between 0 and 2\*\*53; got rounds = -1"),
        ({"rounds": 3.0}, TypeError, r"rounds must be an integer; got rounds = 3\.0"),
        ({"rng": "seed"}, TypeError, r"rng must be what np\.random\.default_rng takes"),
        ({"rng": -3}, ValueError, r"rng must be what np\.random\.default_rng takes"),
        ({"workers": 0}, ValueError, r"workers must be at least 1, or -1"),
        ({"score": "lr"}, TypeError, r"score must be a function of releases, or None; got score"),
        (
            {"score": lambda releases: 0.0},
            ValueError,
            r"score must return a score, or a row of them, for each of 60 releases; the shape of "
            r"what it returned is \(\)",
        ),
        ({"score": lambda releases: releases[:7, 0]}, ValueError, r"returned is \(7,\)"),
        ({"score": lambda releases: releases[:, :, None]}, ValueError, r"is \(60, 40, 1\)"),
        ({"score": lambda releases: ["a"] * 60}, TypeError, r"score must be an array of real"),
    ],
)
def test_bad_play_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        GAME.play(**{"rounds": 60, **arguments})


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_score_that_is_nan_is_refused_by_its_round(workers):
    where = GAME.play(60, rng=0).releases[37]

    def attack(releases):
        return np.where((releases == where).all(axis=1), np.nan, releases[:, 0])

    with pytest.raises(ValueError, match=r"score must not return NaN\. It did for round 37$"):
        GAME.play(60, score=attack, rng=0, workers=workers)


def test_a_score_may_be_minus_infinity():
    def attack(releases):
        return np.where(releases[:, 0] > 0.3, 0.0, -np.inf)

    assert -np.inf in GAME.play(60, score=attack, rng=0).scores


@pytest.mark.usefixtures("small_blocks")
def test_a_score_that_changes_its_shape_is_refused():
    def attack(releases):
        return releases[:, 0] if releases.shape[0] == 25 else releases[:, :2]

    message = r"score must return scores of one kind; the shapes .* are \(10, 2\) and \(25,\)"
    with pytest.raises(ValueError, match=message):
        GAME.play(60, score=attack, rng=0)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_score_is_the_callers_to_see(workers):
    def attack(releases):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        GAME.play(10, score=attack, workers=workers)


def test_rows_refuse_bad_numbers():
    with pytest.raises(ValueError, match=r"rows must be between 0 and"):
        Bernoulli(P).draw(-1)
    with pytest.raises(TypeError, match=r"rng must be what"):
        Bernoulli(P).draw(1, rng="x")
    assert Bernoulli(P).draw(0).shape == (0, 40)
