"""Membership games: what is given back, workers, memory, interrupts and what is refused."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from fresh import seconds_to_stop

import mialeak
from mialeak.games import AverageTargetGame, FixedTargetGame, Rounds, _game
from mialeak.laws import Bernoulli, Genotype, Joint, Lattice, Marginal, Normal, Presence
from mialeak.scores import bernoulli_score

P = np.linspace(0.25, 0.75, 40)
TARGET = np.tile([1.0, 0.0], 20)
GAME = FixedTargetGame(TARGET, Bernoulli(P), 50)

MIXED = [
    Bernoulli([0.3, 0.6]),
    Normal([0.0], [2.0]),
    Genotype([0.2]),
    Joint((Presence([0.4]), Lattice([1, 2, 4], [0.5, 0.25, 0.25]))),
]
MIXED_TARGET = [1, 0, -1.5, 2, 1, 4]


def linear(releases):
    return releases @ np.arange(1.0, releases.shape[1] + 1.0)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 25 rounds of GAME."""
    monkeypatch.setattr(_game, "_BLOCK", 1000)
    monkeypatch.setattr(_game, "_SLOW_BLOCK", 1000)


# --- what is given back ------------------------------------------------------------------------


def test_without_an_attack_releases_are_given_back():
    rounds = GAME.play(30, rng=0)
    assert rounds.releases.shape == (30, 40)
    assert rounds.member.shape == (30,)
    assert rounds.member.dtype == bool
    assert rounds.scores is rounds.targets is rounds.references is None
    assert rounds.kind == "estimate"


def test_with_an_attack_scores_alone_are_given_back():
    rounds, plain = GAME.play(30, score=linear, rng=0), GAME.play(30, rng=0)
    assert rounds.releases is rounds.targets is rounds.references is None
    assert np.array_equal(rounds.member, plain.member)
    assert np.array_equal(rounds.scores, linear(plain.releases))
    assert np.array_equal(rounds.in_scores, rounds.scores[plain.member])
    assert np.array_equal(rounds.out_scores, rounds.scores[~plain.member])


@pytest.mark.parametrize("references", [None, 7])
def test_an_attack_is_given_releases_targets_references_in_this_order(references):
    fixed = FixedTargetGame(TARGET, Bernoulli(P), 50, n_reference=references)
    average = AverageTargetGame(Bernoulli(P), 50, n_reference=references)
    for game, targets in ((fixed, False), (average, True)):
        plain = game.play(20, rng=3)
        seen = []

        def attack(*arrays, seen=seen):
            seen.extend(arrays)
            return arrays[0][:, 0]

        game.play(20, score=attack, rng=3)
        expected = [plain.releases]
        expected += [plain.targets] if targets else []
        expected += [plain.references] if references else []
        assert len(seen) == len(expected)
        for one, other in zip(seen, expected, strict=True):
            assert np.array_equal(one, other)


def test_several_scores_a_round():
    rounds = GAME.play(30, score=lambda releases: releases[:, :3], rng=0)
    assert rounds.scores.shape == (30, 3)
    assert rounds.in_scores.shape == (rounds.member.sum(), 3)
    message = r"scores must be one for each round; its shape is \(30, 3\)\. Give EmpiricalTradeOff"
    with pytest.raises(ValueError, match=message):
        rounds.tradeoff()


def test_scores_are_copied_since_they_may_be_views_of_a_block():
    rounds = GAME.play(30, score=lambda releases: releases[:, 0], rng=0)
    assert rounds.scores.base is None or rounds.scores.base.shape == (30,)


def test_no_rounds():
    rounds = GAME.play(0, rng=0)
    assert rounds.releases.shape == (0, 40)
    rounds = GAME.play(0, score=lambda releases: pytest.fail("called"), rng=0)
    assert rounds.scores.shape == rounds.member.shape == (0,)


def test_rounds_say_what_they_hold():
    assert re.fullmatch(
        r"Rounds\((\d+) in, (\d+) out; releases=\(30, 40\)\)", repr(GAME.play(30, rng=0))
    )
    rounds = GAME.play(5, score=linear, rng=0)
    assert repr(rounds).endswith("out; scores=(5,))")
    assert rounds.to_dict() == {
        "member": rounds.member.tolist(),
        "scores": rounds.scores.tolist(),
        "kind": "estimate",
    }
    with pytest.raises(ValueError, match=r"scores must be there, but .* Pass score= to play"):
        Rounds(np.ones(2, bool)).tradeoff()
    assert repr(Rounds(np.ones(2, bool))) == "Rounds(2 in, 0 out)"


def test_games_say_what_they_are():
    assert repr(GAME) == "FixedTargetGame(n=50, d=40)"
    game = AverageTargetGame(
        Bernoulli(P), 50, sampling_rate=0.1, release_noise_cov=1.0, n_reference=3
    )
    assert repr(game) == "AverageTargetGame(n=50, d=40, sampling_rate=0.1, noise, n_reference=3)"


def test_laws_of_every_kind_stand_side_by_side():
    game = FixedTargetGame(MIXED_TARGET, MIXED, 12)
    releases = game.play(400, rng=1).releases
    law = Joint(tuple(MIXED))
    off = (releases.mean(axis=0) - law.mean - (np.array(MIXED_TARGET) - law.mean) / 24) / law.std
    assert np.abs(off).max() < 4 / np.sqrt(12 * 400)
    counts = releases[:, [0, 1, 3, 4, 5]] * 12
    assert np.abs(counts - np.rint(counts)).max() < 1e-9
    assert np.unique(releases[:, 2]).size == 400


def test_means_of_bits_are_rounded_once():
    releases = FixedTargetGame([1.0], Bernoulli([0.9]), 49).play(500, rng=0).releases
    assert np.array_equal(releases, np.rint(releases * 49) / 49)
    assert 1.0 in releases


def test_the_target_may_change_afterwards():
    target = TARGET.copy()
    game = FixedTargetGame(target, Bernoulli(P), 2)
    target[:] = 5.0
    assert game.play(100, rng=0).releases.max() <= 1.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_games_travel(copied):
    for game in (FixedTargetGame(MIXED_TARGET, MIXED, 12, n_reference=2), GAME):
        one, other = game.play(20, rng=5), copied(game).play(20, rng=5)
        assert np.array_equal(one.releases, other.releases)


# --- streams and workers -----------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("workers", [2, 3, -1])
def test_results_are_the_same_for_any_workers(workers):
    games = [
        GAME,
        AverageTargetGame(Bernoulli(P), 50, sampling_rate=0.5, n_reference=3),
        FixedTargetGame(MIXED_TARGET, MIXED, 12, release_noise_cov=np.eye(6) + 0.5),
    ]
    for game in games:
        one, other = game.play(510, rng=4), game.play(510, rng=4, workers=workers)
        for name in ("member", "releases", "targets", "references"):
            first, second = getattr(one, name), getattr(other, name)
            assert (first is None) == (second is None)
            assert first is None or np.array_equal(first, second)

        def attack(releases, *rest):
            return releases @ releases[:1].T[:, 0] + (rest[0][:, 0] if rest else 0.0)

        one, other = (game.play(510, score=attack, rng=4, workers=w) for w in (1, workers))
        assert np.array_equal(one.scores, other.scores)


@pytest.mark.usefixtures("small_blocks")
def test_a_longer_game_begins_with_the_blocks_of_a_shorter_one():
    short, long = GAME.play(50, rng=4), GAME.play(110, rng=4)
    assert np.array_equal(short.releases, long.releases[:50])
    assert np.array_equal(short.member, long.member[:50])
    assert not np.array_equal(long.releases[:25], long.releases[25:50])


def test_a_seed_repeats_and_a_generator_goes_on():
    assert np.array_equal(GAME.play(9, rng=1).releases, GAME.play(9, rng=1).releases)
    rng = np.random.default_rng(1)
    first, second = GAME.play(9, rng=rng), GAME.play(9, rng=rng)
    assert not np.array_equal(first.releases, second.releases)
    assert np.array_equal(first.releases, GAME.play(9, rng=1).releases)
    assert not np.array_equal(GAME.play(9).releases, GAME.play(9).releases)


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_every_generator_of_numpy_will_do(kind):
    rng = np.random.Generator(getattr(np.random, kind)(3))
    means = GAME.play(4000, rng=rng).releases.mean(axis=0)
    assert np.abs(means - P - (TARGET - P) / 100).max() < 5 * 0.5 / np.sqrt(50 * 4000)


def test_progress_is_shown_by_rounds(capsys):
    pytest.importorskip("tqdm")
    rounds = GAME.play(30, rng=0, progress=True)
    shown = capsys.readouterr()
    assert "30.0/30.0" in shown.err
    assert "round" in shown.err
    assert np.array_equal(rounds.releases, GAME.play(30, rng=0).releases)


def test_missing_tqdm_is_told_before_anything_is_drawn(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r'pip install "mialeak\[progress\]"'):
        GAME.play(3, score=lambda releases: pytest.fail("played"), progress=True)


# --- memory and interrupts ---------------------------------------------------------------------


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory in kilobytes")
def test_a_million_rounds_take_no_more_memory_than_a_few():
    program = (
        "import resource, sys, numpy as np\n"
        "from mialeak.games import AverageTargetGame\nfrom mialeak.laws import Bernoulli\n"
        "game = AverageTargetGame(Bernoulli(np.linspace(0.2, 0.8, 12)), 20)\n"
        "score = lambda releases, targets: np.vecdot(releases, targets)\n"
        "for rounds in (200_000, 1_000_000):\n"
        "    played = game.play(rounds, score=score, rng=0)\n"
        "    assert played.scores.shape == (rounds,)\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    few, many = map(int, done.stdout.split())
    assert many - few < 30_000  # kB: scores and members, twice; all releases would be 192,000


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_a_long_game_within_a_second(workers):
    setup = (
        "import numpy as np\n"
        "from mialeak.games import FixedTargetGame\nfrom mialeak.laws import Bernoulli\n"
        "p = np.linspace(0.2, 0.8, 500)\n"
        "game = FixedTargetGame(np.ones(500), Bernoulli(p), 200)"
    )
    work = f"game.play(10**8, score=lambda releases: releases[:, 0], workers={workers})"
    assert seconds_to_stop(setup, work, after=0.5) < 1


def test_short_names():
    assert mialeak.games.FixedTargetGame is FixedTargetGame
    scores = GAME.play(50, score=lambda r: bernoulli_score(r, TARGET, P, 50), rng=1)
    assert scores.tradeoff().n_in == scores.member.sum()


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
