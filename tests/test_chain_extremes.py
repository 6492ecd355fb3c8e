"""Chains with transitions that are nearly sure, rare values and little noise, against fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from test_chain import added, sums

from mialeak import exact_mean_tradeoff
from mialeak.laws import Chain, Lattice

pytestmark = pytest.mark.filterwarnings("error")


def rows_of(law):
    """The law of a row, by enumeration of haplotypes."""
    columns, bits = law.size, {}
    for row in itertools.product((0, 1), repeat=columns):
        chance = Fraction(law.start) if row[0] else 1 - Fraction(law.start)
        for j in range(columns - 1):
            step = (law.after_one if row[j] else law.after_zero)[j]
            up = Fraction(float(step if law.order == 1 else step[row[j - 1] if j else 0]))
            chance *= up if row[j + 1] else 1 - up
        if chance:
            bits[row] = chance
    return bits if law.ploidy == 1 else added(bits, bits)


def log_ratio(law, counts, target, n):
    """Sum of the log ratios of a release, from probabilities of all tables."""
    rows = rows_of(law)
    others = sums(rows, n - 1)
    out = added(others, rows)[counts]
    inside = others.get(tuple(c - z for c, z in zip(counts, target, strict=True)), Fraction(0))
    ratio = inside / out
    return math.log(ratio.numerator) - math.log(ratio.denominator) if ratio else -math.inf


@pytest.mark.parametrize("near", [1e-6, 1e-9, 1e-12, 2.0**-53])
@pytest.mark.parametrize("counts", [(2, 1, 0, 0), (1, 0, 1, 1), (0, 2, 1, 2)])
def test_zeros_after_nearly_sure_ones_keep_their_digits(near, counts):
    """The chance of a zero was 1 less a rounded one: a ratio was wrong by a factor of 2."""
    zero = [[0.75, 0.75], [1.0 - near, 0.1], [1e-12, 0.86]]
    one = [[0.39, 0.39], [0.65, 0.1], [0.3, 0.61]]
    law, target = Chain(0.1, zero, one), (0, 1, 1, 0)
    ratio = law.log_likelihood_ratio(np.array(counts) / 3, target, 3).sum()
    truth = log_ratio(law, counts, target, 3)
    assert ratio == truth or abs(ratio - truth) < 1e-12


@pytest.mark.parametrize(
    ("law", "target", "counts"),
    [
        # The hidden counts that are kept make the release impossible, an omitted one does not.
        (
            Chain(
                0.55,
                [[1e-50, 1e-50], [0.2, 0.25]],
                [[0.999, 0.999], [0.109, 0.0]],
                ploidy=2,
            ),
            (2, 0, 2),
            (2, 2, 4),
        ),
        # The tilt towards the release takes products below float64, which it is not without one.
        (
            Chain(0.37, [[0.68, 0.68], [0.15, 0.0]], [[0.41, 0.41], [1e-250, 0.0166]], ploidy=2),
            (2, 1, 0),
            (2, 2, 2),
        ),
    ],
)
def test_releases_by_unlikely_hidden_counts_are_possible(law, target, counts):
    ratio = law.log_likelihood_ratio(np.array(counts) / 2, target, 2).sum()
    assert abs(ratio - log_ratio(law, counts, target, 2)) < 1e-11


def test_an_epsilon_at_a_positive_delta_takes_no_phase():
    """It was refused with the words of epsilon at delta = 0."""
    law, target = Chain(0.97, [0.69, 0.52], [0.25, 0.66], ploidy=2), (1, 0, 0)
    curve = exact_mean_tradeoff(target, law, 5)
    rows = rows_of(law)
    others = sums(rows, 4)
    out, inside = added(others, rows), added(others, {target: Fraction(1)})
    for delta in (1e-6, 1e-2, 0.5):
        epsilon = float(curve.epsilon(delta, direction="in"))
        assert epsilon > 0.0
        more = [float(p - math.exp(epsilon) * out[k]) for k, p in inside.items()]
        assert abs(sum(max(gain, 0.0) for gain in more) - delta) < 1e-9 * delta + 1e-13
    with pytest.raises(ValueError, match="epsilon at delta = 0 is not available"):
        curve.epsilon(0.0, direction="in")


@pytest.mark.parametrize("n", [4, 50])
@pytest.mark.parametrize("start", [1e-10, 1e-16, 1e-30])
def test_a_target_that_almost_every_release_rules_out_is_enclosed(start, n):
    """The enclosure was the power of a blind guess, where the true power is 1."""
    curve = exact_mean_tradeoff([1, 1], Chain(start, [0.0], [0.99]), n)
    bounds = curve.enclosure([0.0, 1e-6, 0.5])
    assert np.all(bounds.lower <= [0.0, 1.0, 1.0])
    assert np.all(bounds.upper >= [0.0, 1.0, 1.0])
    assert bounds.lower[1] > 1.0 - 1e-9


def test_far_tilts_of_a_rare_target_do_not_underflow():
    curve = exact_mean_tradeoff([2, 1], Chain(1e-30, [0.3], [0.5], ploidy=2), 4)
    assert abs(curve.advantage - 1.0) < 1e-13
    assert curve.enclosure(0.01).lower > 1.0 - 1e-9
    with pytest.raises(ValueError, match="for so unlikely a target"):
        exact_mean_tradeoff([2, 1], Chain(1e-100, [0.3], [0.5], ploidy=2), 4)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("rows", [1000, 10**5, 10**6])
def test_smoothing_of_what_does_not_occur_keeps_its_digits(rows, order):
    """It was added to the number of rows, and lost: a zero after a zero counted as impossible."""
    law = Chain.fit(np.ones((rows, 3), np.int8), order=order)
    p = (rows + 0.5) / (rows + 1.0)
    np.testing.assert_allclose(1.0 - law.after_zero, np.full(law.after_zero.shape, 1.0 - p), 1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_noise_far_below_the_distance_of_counts_has_a_ratio(order):
    """One of three people has the value: the count 0 is impossible with the target."""
    law = Chain(0.3, [0.2, 0.4], [0.7, 0.6])
    if order == 2:
        law = Chain(0.3, [[0.2, 0.2], [0.4, 0.3]], [[0.7, 0.7], [0.6, 0.5]])
    ratio = law.log_likelihood_ratio([0.0, 1 / 3, 2 / 3], [1, 0, 1], 3, noise=0.001)
    # By the density of the noise at one count off, its variance 9e-6 in counts.
    nearest = math.log(0.7**2 / 0.7**3) - 1.0 / (2 * 9e-6)
    assert abs(ratio[0] - nearest) < 1e-9
    ratio = law.log_likelihood_ratio([0.0, 1 / 3, 2 / 3], [1, 0, 1], 3, noise=1e-320)
    assert ratio[0] == -np.inf  # -1 / (2 * 9e-640) is beyond float64
    with pytest.raises(ValueError, match=r"12 standard deviations .* got releases\[0\] = 0\.1"):
        law.log_likelihood_ratio([0.1, 1 / 3, 2 / 3], [1, 0, 1], 3, noise=0.001)


def test_a_genotype_whose_chance_underflows_is_not_called_impossible():
    with pytest.raises(ValueError, match="have a probability that float64 holds"):
        Chain(1e-300, [0.2], [0.3], ploidy=2).log_likelihood_ratio([0.0, 0.5], [2, 1], 4)


def test_a_lattice_release_without_digits_is_refused():
    """Values between others cannot be made likely by a tilt: the error was 1e-5."""
    law = Lattice([-2.0, 1.0, 7.25], [1e-54, 1.0, 1e-54])
    with pytest.raises(ValueError, match="with a probability that float64 holds"):
        law.log_likelihood_ratio([6.5 / 6], [-2.0], 6)


def test_a_noisy_release_that_a_step_of_certainty_rules_out_with_the_target_has_a_ratio():
    """After a zero there is no one: rows 11, 00 and 00 are likely, but not with a row 10."""
    law = Chain(0.42, [0.0], [0.245])
    ratios = law.log_likelihood_ratio([1 / 3, 1 / 3], [1, 0], 3, noise=[6.6e-6, 1.7e-6])
    assert ratios[0] == pytest.approx(-np.log(3 * 0.42))
    assert ratios[1] == -np.inf
