"""Linked columns whose release states ranges: rounded frequencies, and alleles that are present.

Truth: the law of the counts of all rows, by convolution of exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest
import test_chain as first_order
import test_chain_order as second_order

from mialeak.laws import Bernoulli, Chain

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
START, ZERO, ONE = Fraction(3, 8), [THIRD, Fraction(1, 8)], [Fraction(3, 4), HALF]


def law_of(ploidy, start=START, zero=ZERO, one=ONE):
    """The probability of each row."""
    bits = {}
    for row in product((0, 1), repeat=len(zero) + 1):
        chance = start if row[0] else 1 - start
        for before, now, a, b in zip(row, row[1:], zero, one, strict=False):
            p = b if before else a
            chance *= p if now else 1 - p
        bits[row] = chance
    return bits if ploidy == 1 else added(bits, bits)


def added(one, other):
    total = {}
    for a, p in one.items():
        for b, q in other.items():
            key = tuple(x + y for x, y in zip(a, b, strict=True))
            total[key] = total.get(key, 0) + p * q
    return total


def counts_of(ploidy, n, target=None, **chain):
    row = law_of(ploidy, **chain)
    total = {(0,) * len(next(iter(row))): Fraction(1)} if target is None else {tuple(target): 1}
    for _ in range(n if target is None else n - 1):
        total = added(total, row)
    return total


def log_chances(counts, low, high):
    """Of the ranges of the first column, the first two, ..."""
    sums = [
        sum(p for c, p in counts.items() if all(low[i] <= c[i] <= high[i] for i in range(j + 1)))
        for j in range(len(low))
    ]
    return [log(each) if each else -np.inf for each in sums]


@pytest.mark.parametrize("ploidy", [1, 2])
def test_ratios_of_ranges_are_those_of_enumeration(ploidy):
    n = 4 if ploidy == 1 else 3
    law = Chain(float(START), [float(x) for x in ZERO], [float(x) for x in ONE], ploidy)
    size, out = ploidy * n, counts_of(ploidy, n)
    ranges = [
        ([1, 1, 1], [size] * 3),  # present
        ([0, 1, 0], [0, size, 0]),  # absent, present, absent
        ([0, 1, 2], [size - 1, 2, 3]),
        ([2, 0, 1], [3, size, 1]),
    ]
    for target in product(range(ploidy + 1), repeat=3):
        inside = counts_of(ploidy, n, target)
        for low, high in ranges:
            ratio = law.log_likelihood_ratio(
                np.array(low) / n, np.array(target), n, until=np.array(high) / n
            )
            expected = np.subtract(log_chances(inside, low, high), log_chances(out, low, high))
            np.testing.assert_allclose(ratio.cumsum(), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("chain", second_order.CHAINS)
@pytest.mark.parametrize(("columns", "ploidy", "n"), [(4, 1, 4), (3, 1, 5), (3, 2, 3)])
def test_ratios_of_ranges_of_second_order_are_those_of_enumeration(chain, columns, ploidy, n):
    """For all targets: presence, absence, wide and narrow ranges, and single counts."""
    law = second_order.law_of(chain, columns, ploidy)
    out, inside = second_order.worlds(chain, columns, ploidy, n)
    size = ploidy * n
    ranges = [
        ([1] * columns, [size] * columns),
        ([0, 1] * columns, [0, size] * columns),
        ([1, 0, 2, 1], [size - 1, 2, 3, size]),
        ([0, size, 0, 1], [size, size, 1, 2]),
        ([1] * columns, [1] * columns),
    ]
    some = 0
    for low, high in ((a[:columns], b[:columns]) for a, b in ranges):
        expected_out = log_chances(out, low, high)
        for target, counts in inside.items():
            arguments = np.array(low) / n, np.array(target), n
            if not np.isfinite(expected_out).all():
                with pytest.raises(ArithmeticError, match="probability is 0"):
                    law.log_likelihood_ratio(*arguments, until=np.array(high) / n)
                continue
            ratio = law.log_likelihood_ratio(*arguments, until=np.array(high) / n)
            expected = np.subtract(log_chances(counts, low, high), expected_out)
            np.testing.assert_allclose(ratio.cumsum(), expected, rtol=1e-12, atol=1e-13)
            some += 1
    assert some > 2 * len(inside)


def test_ranges_of_one_count_are_counts_of_second_order():
    for ploidy in (1, 2):
        law = second_order.law_of(second_order.PARITY, 9, ploidy)
        target, means = law.draw(1, rng=3)[0], law.draw(30, rng=4).mean(axis=0)
        ratio = law.log_likelihood_ratio(means, target, 30, until=means)
        np.testing.assert_allclose(ratio, law.log_likelihood_ratio(means, target, 30), atol=1e-12)


def test_ranges_of_one_count_are_counts():
    law = Chain.from_correlation(np.linspace(0.2, 0.6, 8), 0.4, ploidy=2)
    rng = np.random.default_rng(1)
    target, means = law.draw(1, rng=rng)[0], law.draw(50, rng=rng).mean(axis=0)
    ratio = law.log_likelihood_ratio(means, target, 50, until=means)
    np.testing.assert_allclose(ratio, law.log_likelihood_ratio(means, target, 50), atol=1e-11)


def test_unlinked_ranges_are_those_of_each_column():
    """With correlation 0 each term is that of a binomial count alone."""
    p, n = np.array([0.1, 0.02, 0.3]), 40
    law = Chain.from_correlation(p, 0.0)
    answers, target = np.array([1.0, 0.0, 1.0]), np.array([1, 0, 0])
    ratio = law.log_likelihood_ratio(answers / n, target, n, until=answers)
    expected = [
        -np.log1p(-(0.9**n)),  # the target's allele is there for sure
        -np.log(0.98),
        np.log1p(-(0.7 ** (n - 1))) - np.log1p(-(0.7**n)),
    ]
    np.testing.assert_allclose(ratio, expected, rtol=1e-12, atol=1e-14)
    assert Bernoulli(p).log_likelihood_ratio(answers, target, n).shape == ratio.shape


def test_the_mean_ratio_in_the_world_out_is_one():
    """Over rounded frequencies of 60 linked bits, by simulation; several releases at once."""
    law, rng, n = Chain.from_correlation(np.full(60, 0.3), 0.9), np.random.default_rng(6), 200
    target = law.draw(1, rng=rng)[0]
    means = np.stack([law.draw(n, rng=rng).mean(axis=0) for _ in range(60)]).round(2)
    ratio = law.log_likelihood_ratio(means - 0.005, target, n, until=means + 0.005).sum(axis=1)
    ratio = np.exp(ratio)
    assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std() / np.sqrt(len(ratio))
    assert ratio.std() > 0.1


@pytest.mark.parametrize(
    ("releases", "until", "message"),
    [
        ([0.5, 0.5, 0.5], [0.5, 0.25, 0.5], "until must be at least releases"),
        ([0.3, 0.5, 0.5], [0.4, 0.5, 0.5], "with a mean of 4 rows between them"),
        ([1.5, 0.5, 0.5], [1.5, 0.5, 0.5], "until must be at least releases"),
        ([0.5, 0.5, 0.5], [0.5, 0.5], "the shape of until"),
    ],
)
def test_ranges_without_a_mean_are_refused(releases, until, message):
    law = Chain(0.3, [0.1, 0.2], [0.8, 0.7])
    with pytest.raises(ValueError, match=message):
        law.log_likelihood_ratio(releases, [0, 1, 1], 4, until=until)


def test_ranges_that_no_row_can_have_are_refused():
    law = Chain(0.3, [0.0, 0.2], [1.0, 0.7])
    with pytest.raises(ArithmeticError, match="probability is 0"):
        law.log_likelihood_ratio([0.5, 0.0, 0.0], [0, 0, 1], 4, until=[0.5, 0.25, 1.0])
    with pytest.raises(ValueError, match="n must be between 2 and 10000"):
        law.log_likelihood_ratio([0.5, 0.0, 0.0], [0, 0, 1], 10_001, until=[0.5, 0.25, 1.0])


@pytest.mark.parametrize(
    ("chain", "of", "columns", "ploidy", "n"),
    [
        (first_order.CHAINS[0], 1, 4, 1, 4),
        (first_order.CHAINS[2], 1, 3, 2, 3),
        (first_order.CHAINS[1], 1, 3, 1, 5),
        (second_order.CHAINS[0], 2, 4, 1, 4),
        (second_order.CHAINS[2], 2, 3, 2, 3),
    ],
)
def test_ratios_of_noisy_means_are_those_of_enumeration(chain, of, columns, ploidy, n):
    """For all targets: the density of a noisy release is a sum over all enumerated counts."""
    order = first_order if of == 1 else second_order
    law = order.law_of(chain, columns, ploidy)
    out, inside = order.worlds(chain, columns, ploidy, n)
    spread = np.array([0.05, 0.2, 0.1, 0.3])[:columns]
    releases = np.random.default_rng(2).uniform(-0.2, ploidy + 0.2, (4, columns))

    def densities(counts):
        """Of the first columns, one more in each."""
        tables, chances = np.array(list(counts)) / n, np.array([float(x) for x in counts.values()])
        parts = np.exp(-0.5 * ((releases[:, None] - tables) / spread) ** 2)
        return np.log(np.einsum("r,krj->kj", chances, np.cumprod(parts, axis=2)))

    for target, counts in inside.items():
        ratio = law.log_likelihood_ratio(releases, np.array(target), n, noise=spread)
        truth = densities(counts) - densities(out)
        np.testing.assert_allclose(ratio.cumsum(axis=1), truth, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise must be above 0"),
        ({"noise": [0.1, 0.1]}, "noise must be a number or have 3 entries"),
        ({"noise": 0.1, "until": [0.5, 0.5, 0.5]}, "noise must be None with until"),
        ({"noise": 0.01}, r"within 12 standard .* mean of 4 rows; got releases\[2\] = 0.625"),
    ],
)
def test_bad_noise_is_refused(options, message):
    law = Chain(0.3, [0.1, 0.2], [0.8, 0.7])
    with pytest.raises(ValueError, match=message):
        law.log_likelihood_ratio([0.5, 0.5, 0.625], [0, 1, 1], 4, **options)


def test_noisy_releases_that_no_float_holds_are_refused():
    law = Chain(0.5, [0.001, 0.5], [0.999, 0.5])
    with pytest.raises(ArithmeticError, match="below what float64 holds"):
        law.log_likelihood_ratio([0.0, 1.0, 0.5], [1, 1, 0], 900, noise=1e-4)


def _random_chain(rng, columns, order):
    """Start and probabilities of the steps, many of them 0, 1, or nearly so."""

    def chances(*shape):
        return rng.choice([rng.uniform(0.05, 0.95), 0.0, 1.0, 1e-6, 1 - 1e-6, 0.5], shape)

    zero, one = chances(columns - 1, 2), chances(columns - 1, 2)
    zero[:1, 1], one[:1, 1] = zero[:1, 0], one[:1, 0]
    if order == 1:
        zero[:, 1], one[:, 1] = zero[:, 0], one[:, 0]
    return float(rng.uniform(0.05, 0.95)), zero, one


def _haplotype_chances(start, zero, one):
    """Probability of each haplotype, shape (2,) * columns."""
    law = np.zeros((2,) * (len(zero) + 1))
    for row in np.ndindex(law.shape):
        chance = start if row[0] else 1.0 - start
        for j in range(1, len(row)):
            up = (one if row[j - 1] else zero)[j - 1][row[j - 2] if j > 1 else 0]
            chance *= up if row[j] else 1.0 - up
        law[row] = chance
    return law


def _added(table, law):
    """The law of counts with one haplotype more."""
    more = np.zeros_like(table)
    for row in np.ndindex(law.shape):
        to = tuple(slice(bit, None) for bit in row)
        of = tuple(slice(0, size - bit) for bit, size in zip(row, table.shape, strict=True))
        more[to] += law[row] * table[of]
    return more


def _random_release(rng, means, n):
    """What is released of the means: arguments, and a weight of each count of each column."""
    columns = means.size
    if rng.random() < 0.4:
        spread = rng.choice([0.02, 0.1, 0.5, 50.0], columns)
        shown = means + spread * rng.standard_normal(columns)
        weigh = lambda j, grid: np.exp(-0.5 * ((shown[j] - grid) / spread[j]) ** 2)  # noqa: E731
        return shown, {"noise": spread}, weigh
    step = rng.choice([0.01, 0.05, 0.1, 0.25, 0.5, 1.0], columns)
    centre = np.rint(means / step) * step
    low, high = centre - step / 2, centre + step / 2
    asked = rng.random(columns) < 0.3  # an answer whether the allele is present
    low[asked], high[asked] = np.minimum(means, 1 / n)[asked], np.where(means > 0, 2.0, 0.0)[asked]
    weigh = lambda j, grid: (grid >= low[j] - 1e-9) & (grid <= high[j] + 1e-9)  # noqa: E731
    return low, {"until": high}, weigh


@pytest.mark.parametrize("seed", range(4))
def test_random_releases_have_the_ratios_of_enumeration(seed):
    """30 chains each, of both orders and ploidies: grids, answers and noise, column by column."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        columns, n, ploidy = int(rng.integers(1, 5)), int(rng.integers(2, 5)), rng.integers(1, 3)
        numbers = _random_chain(rng, columns, rng.integers(1, 3))
        chain, haplotypes = Chain(*numbers, int(ploidy)), _haplotype_chances(*numbers)
        size = int(ploidy) * n
        others = np.zeros((size + 1,) * columns)
        others[(0,) * columns] = 1.0
        for _ in range(size - int(ploidy)):
            others = _added(others, haplotypes)
        out = others
        for _ in range(int(ploidy)):
            out = _added(out, haplotypes)
        target = chain.draw(1, rng=rng)[0].astype(int)
        inside = np.zeros_like(out)
        inside[tuple(slice(z, None) for z in target)] = others[
            tuple(slice(0, size + 1 - z) for z in target)
        ]
        means = (target + chain.draw(n - 1, rng=rng).sum(axis=0)) / n
        shown, options, weigh = _random_release(rng, means, n)
        weights = [weigh(j, np.arange(size + 1) / n) for j in range(columns)]
        chances = []
        for law in (out, inside):
            for weight in weights:
                chances.append(float(np.tensordot(law, weight, (0, 0)).sum()))
                law = np.tensordot(law, weight, (0, 0))
        truth = np.log(chances[columns:]) - np.log(chances[:columns])
        ratio = chain.log_likelihood_ratio(shown, target, n, **options)
        np.testing.assert_allclose(np.cumsum(ratio), truth, rtol=1e-11, atol=1e-12)
