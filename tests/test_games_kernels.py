"""The tables that games draw from: their laws to the last digit, their twins, their bits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_truth import convolved
from fresh import bits_by_isa
from scipy import stats

from mialeak._kernels import draws as kernels
from mialeak._numerics import draws as draws_module
from mialeak._numerics.draws import binomial_draw, lattice_draw
from mialeak.reference import games as twins


def law_of(words):
    """The probabilities that a table gives its numbers, in fractions."""
    law = [Fraction(0)] * len(words)
    for column, word in enumerate(words):
        share, other = divmod(int(word), 2**16)
        law[column] += Fraction(share, 2**48) / len(words)
        law[other] += (1 - Fraction(share, 2**48)) / len(words)
    assert sum(law) == 1
    return law


def words_of(weights):
    weights = np.asarray(weights, np.float64)
    words = np.empty(weights.size, np.uint64)
    one, size = np.zeros(1, np.int64), np.array([weights.size])
    room = np.empty(weights.size), np.empty(weights.size, np.uint32)
    kernels.alias_words(weights, one, size, *room, words)
    return words


def distance(law, truth):
    """Total variation; `truth` may have numbers that `law` has not."""
    return float(sum(abs(law.get(k, 0) - truth.get(k, 0)) for k in {*law, *truth})) / 2


def table_law(draw, column):
    """The law of a column of a draw by tables: number to probability."""
    which = draw.law[column]
    words = draw.words[draw.start[which] :][: draw.size[which]]
    return {int(draw.first[which]) + i: chance for i, chance in enumerate(law_of(words))}


# --- alias tables ------------------------------------------------------------------------------

WEIGHTS = {
    "one": [2.0],
    "two": [1.0, 3.0],
    "equal": [1.0] * 7,
    "impossible numbers": [0.0, 1.0, 0.0, 0.0, 2.0, 0.0],
    "one has all": [0.0] * 9 + [1e-290],
    "wide range": [2.0**-i for i in range(60)],
    "random": np.random.default_rng(0).random(1000).tolist(),
    "longest": np.random.default_rng(1).random(2**16).tolist(),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_a_table_has_the_law_of_its_weights(weights):
    words = words_of(weights)
    if len(weights) > 2000:
        share, other = words >> np.uint64(16), words & np.uint64(0xFFFF)
        law = np.bincount(other.astype(int), 1 - share / 2**48, len(weights)) + share / 2**48
        exact = np.array(weights) / sum(weights)
        assert abs(law / len(weights) - exact).sum() / 2 < 2.0**-48
        return
    law = law_of(words)
    total = sum(map(Fraction, weights))
    exact = [Fraction(weight) / total for weight in weights]
    assert float(sum(abs(a - b) for a, b in zip(law, exact, strict=True)) / 2) < 2.0**-48
    assert all(chance > 0 or law[i] == 0 for i, chance in enumerate(weights))


@pytest.mark.parametrize("weights", [w for w in WEIGHTS.values() if len(w) < 2000])
def test_tables_draw_as_their_twin_does(weights):
    words = words_of(weights)
    law = law_of(twins.alias_words(weights))
    assert float(sum(abs(a - b) for a, b in zip(law_of(words), law, strict=True))) < 2.0**-46
    out = np.empty((2, 700))  # more than a buffer of bits
    one = np.zeros(1, np.int64)
    where = np.zeros(2, np.int64)
    arguments = words, one, np.array([words.size]), np.array([5.0]), where, out
    kernels.alias_draws(np.random.PCG64(3), *arguments)
    bits = np.random.PCG64(3).random_raw(out.size)
    assert np.array_equal(out.ravel(), twins.alias_draws(bits, words, 5.0))


def test_the_highest_and_lowest_bits_stay_inside_the_table():
    for weights in ([1.0, 2.0, 3.0], np.ones(2**16)):
        words = words_of(weights)
        drawn = twins.alias_draws([0, 2**64 - 1], words, 0.0)
        assert drawn.min() >= 0
        assert drawn.max() < len(words)


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 23])
@pytest.mark.parametrize("rounds", [1, 5])
def test_means_lie_by_rows_in_the_order_asked_for(columns, rounds):
    rng = np.random.default_rng(2)
    sums = rng.integers(0, 50, (columns, rounds)).astype(float)
    least, unit, place = rng.random(columns), rng.random(columns), rng.permutation(rounds)
    wide = np.full((rounds, columns + 4), -1.0)
    expected = wide.copy()
    kernels.lattice_means(sums, least, unit, 49.0, place, wide[:, 2:-2])
    twins.lattice_means(sums, least, unit, 49.0, place, expected[:, 2:-2])
    assert np.array_equal(wide, expected)


# --- sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trials", "p"),
    [
        (1, 0.3),
        (2, 0.5),
        (11, 0.999),
        (999, 0.25),
        (999, 1e-9),
        (10**6, 2e-6),
        (10**6, 0.4),
        (2**53 - 1, 1e-15),
    ],
)
def test_tables_have_the_binomial_law(trials, p):
    draw = binomial_draw(trials, np.array([p]))
    law = table_law(draw, 0)
    with mpmath.workdps(40):
        k = min(law)
        q = 1 - mpmath.mpf(p)
        chance = mpmath.binomial(trials, k) * mpmath.mpf(p) ** k * q ** (trials - k)
        exact = {}
        for k in range(min(law), max(law) + 1):
            exact[k] = chance
            chance *= (trials - k) * mpmath.mpf(p) / ((k + 1) * q)
        left_out = 1 - mpmath.fsum(exact.values())
        apart = mpmath.fsum(abs(mpmath.mpf(law[k].numerator) / law[k].denominator - exact[k])
                            for k in law) / 2  # fmt: skip
    spread = np.sqrt(trials * p * (1 - p))
    assert apart < 2.0**-49 + 2**-51 * max(1.0, spread)
    assert abs(left_out) < 1e-17


def test_weights_are_those_of_their_twin():
    first, size = np.empty(1), np.empty(1, np.int64)
    kernels.binomial_windows(500.0, np.array([0.3]), first, size)
    weights = np.empty(int(size[0]))
    start = np.zeros(1, np.int64)
    kernels.binomial_weights(500.0, np.array([0.3]), first, start, size, weights)
    expected = twins.binomial_weights(500, 0.3, int(first[0]), int(size[0]))
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


@pytest.mark.parametrize(("p", "value"), [(0.0, 0.0), (1.0, 37.0)])
def test_a_column_that_does_not_vary_has_one_number(p, value):
    draw = binomial_draw(37, np.array([p, 0.5, p]))
    drawn = draw(np.random.default_rng(0), slice(0, 3), 50)
    assert np.all(drawn[[0, 2]] == value)
    assert draw.words.size == draw.size.sum()
    assert draw.size[draw.law[0]] == 1


def test_equal_columns_share_a_table_and_not_their_draws():
    draw = binomial_draw(1000, np.array([0.3, 0.4, 0.3]))
    assert draw.start.size == 2
    first, _, third = draw(np.random.default_rng(0), slice(0, 3), 100)
    assert not np.array_equal(first, third)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
def test_tables_have_the_law_of_lattice_sums(count):
    row = {0: Fraction(1, 8), 2: Fraction(5, 8), 3: Fraction(1, 4)}
    draw = lattice_draw(count, np.array([[0, 2, 3]]), np.array([[0.125, 0.625, 0.25]]))
    assert distance(table_law(draw, 0), convolved(row, count)) < 1e-14


def test_long_lattice_sums_are_trimmed_to_what_can_be_drawn():
    draw = lattice_draw(10_000, np.array([[0, 1]]), np.array([[0.5, 0.5]]))
    law = table_law(draw, 0)
    assert len(law) < 1100
    exact = stats.binom.pmf(sorted(law), 10_000, 0.5)
    found = np.array([float(law[k]) for k in sorted(law)])
    assert abs(found - exact).sum() / 2 < 1e-12


def test_lattice_columns_with_one_law_share_a_table():
    numbers, chances = np.array([[0, 1], [0, 1], [0, 2]]), np.full((3, 2), 0.5)
    draw = lattice_draw(5, numbers, chances)
    assert draw.start.size == 2
    assert table_law(draw, 0) == table_law(draw, 1) != table_law(draw, 2)


@pytest.mark.parametrize("limit", ["MOST_WORDS", "_MOST_WORDS"])
def test_sums_too_wide_for_tables_are_drawn_by_numpy(limit, monkeypatch):
    monkeypatch.setattr(draws_module if limit.startswith("_") else kernels, limit, 30)
    rng, p = np.random.default_rng(1), np.array([0.3, 0.5])
    few = binomial_draw(8, p), lattice_draw(8, np.array([[0, 1]]), np.array([[0.5, 0.5]]))
    assert all(isinstance(draw, draws_module._Tables) for draw in few)
    many = binomial_draw(1000, p), lattice_draw(1000, np.array([[0, 2]]), np.array([[0.5, 0.5]]))
    assert not any(isinstance(draw, draws_module._Tables) for draw in many)
    drawn = many[0](rng, slice(0, 2), 4000)
    assert np.all(abs(drawn.mean(axis=1) - 1000 * p) < 4 * np.sqrt(1000 * 0.25 / 4000))
    drawn = many[1](rng, slice(0, 1), 4000)
    assert np.all(drawn % 2 == 0)
    assert abs(drawn.mean() - 1000) < 4 * np.sqrt(1000 / 4000)


# --- bits --------------------------------------------------------------------------------------

HASH = "7a0812f37c09dec06cc81d58aa985a4e75739522c90e6648f9239fb32222167b"

CODE = """
import hashlib, numpy as np
from mialeak._kernels import draws as kernels
from mialeak._kernels.table import isa
digest = hashlib.sha256()
p = (np.random.PCG64(5).random_raw(41) >> np.uint64(11)) * 2.0**-53
p[:3] = 0.0, 1.0, 2.0**-900
for trials in (1.0, 40.0, 5000.0, 2.0**40):
    some = p if trials < 2.0**40 else p * 2.0**-34
    first, size = np.empty(41), np.empty(41, np.int64)
    kernels.binomial_windows(trials, some, first, size)
    start = np.cumsum(size) - size
    weights, words = np.empty(size.sum()), np.empty(size.sum(), np.uint64)
    kernels.binomial_weights(trials, some, first, start, size, weights)
    room = np.empty(size.max()), np.empty(size.max(), np.uint32)
    kernels.alias_words(weights, start, size, *room, words)
    out = np.empty((41, 700))
    kernels.alias_draws(np.random.PCG64(7), words, start, size, first, np.arange(41), out)
    means = np.empty((700, 41))
    kernels.lattice_means(out, p, 0.5 - p, 49.0, np.arange(700)[::-1].copy(), means)
    for array in (first, size, weights, words, out, means):
        digest.update(array.tobytes())
from mialeak.games import AverageTargetGame
from mialeak.laws import Bernoulli, Genotype, Presence
laws = [Bernoulli(p), Genotype(p, decimals=2), Presence(p)]
rounds = AverageTargetGame(laws, 20, sampling_rate=0.5).play(300, rng=9)
for array in (rounds.member, rounds.targets, rounds.releases):
    digest.update(array.tobytes())
print(isa(), digest.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    """And those that were promised once."""
    found = bits_by_isa(CODE)
    assert found == dict.fromkeys(found, HASH)
