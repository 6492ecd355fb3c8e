"""Chains of second order against enumeration of all rows and releases in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from test_chain import added, sums

from mialeak import exact_mean_tradeoff
from mialeak.games import FixedTargetGame
from mialeak.laws import Chain
from mialeak.laws._chain_fit import tables_of
from mialeak.laws._forward import _forward, log_chances
from mialeak.laws._second_order import SecondOrder
from mialeak.scores import likelihood_ratio_score
from mialeak.tradeoff import EmpiricalTradeOff

#: start, and after_zero and after_one for each step, after a zero and a one two columns back, in
#: sixteenths: exact as floats.  The last has sure transitions.
CHAINS = [
    (5, [(3, 3), (8, 1), (2, 12), (11, 5)], [(13, 13), (10, 15), (13, 4), (4, 9)]),
    (8, [(1, 1), (15, 3), (8, 8), (6, 11)], [(15, 15), (2, 14), (8, 3), (9, 1)]),
    (6, [(4, 4), (0, 16), (3, 0), (0, 9)], [(12, 12), (16, 5), (3, 16), (0, 7)]),
]
#: Bits of which each is, but for noise, the sum modulo 2 of the two before it.
PARITY = (8, [(8, 8)] + [(1, 15)] * 18, [(8, 8)] + [(15, 1)] * 18)


def law_of(chain, columns, ploidy=1):
    start, *after = chain
    zero, one = (np.array(part[: columns - 1]) / 16 for part in after)
    return Chain(start / 16, zero, one, ploidy)


def rows_of(chain, columns, ploidy=1):
    """The law of a row, by enumeration."""
    start, zero, one = chain
    law = {}
    for row in itertools.product((0, 1), repeat=columns):
        chance = Fraction(start if row[0] else 16 - start, 16)
        for j in range(columns - 1):
            up = (one if row[j] else zero)[j][row[j - 1] if j else 0]
            chance *= Fraction(up if row[j + 1] else 16 - up, 16)
        if chance:
            law[row] = chance
    return law if ploidy == 1 else added(law, law)


def worlds(chain, columns, ploidy, n):
    """Probabilities of the counts out, and in for each possible target."""
    rows = rows_of(chain, columns, ploidy)
    out, others = sums(rows, n), sums(rows, n - 1)
    return out, {z: added({z: Fraction(1)}, others) for z in rows}


CASES = [
    (chain, columns, ploidy, n)
    for chain in CHAINS
    for columns, ploidy, n in [(5, 1, 2), (5, 1, 3), (4, 1, 4), (3, 2, 3), (4, 2, 2)]
]


@pytest.mark.parametrize(("chain", "columns", "ploidy", "n"), CASES)
def test_scores_are_ratios_of_probabilities_of_enumerated_tables(chain, columns, ploidy, n):
    law = law_of(chain, columns, ploidy)
    assert law.order == 2
    out, inside = worlds(chain, columns, ploidy, n)
    releases = np.array(list(out)) / n
    targets = np.array(list(inside), float)
    got = likelihood_ratio_score(releases, targets, law, n)
    for t, z in enumerate(inside):
        truth = [inside[z].get(c, 0) / chance for c, chance in out.items()]
        np.testing.assert_allclose(np.exp(got[:, t]), [float(x) for x in truth], rtol=2e-14)
        np.testing.assert_array_equal(np.isneginf(got[:, t]), [x == 0 for x in truth])
    for t in (0, len(targets) // 2):
        terms = law.log_likelihood_ratio(releases, targets[t], n)
        np.testing.assert_allclose(np.exp(terms.sum(axis=1)), np.exp(got[:, t]), rtol=1e-13)
    chances = [law._chances(z).prod() for z in targets]
    rows = rows_of(chain, columns, ploidy)
    np.testing.assert_allclose(chances, [float(x) for x in rows.values()], rtol=1e-14)
    impossible = set(itertools.product(range(ploidy + 1), repeat=columns)) - set(rows)
    assert all(law._chances(np.array(z, float)).min() == 0.0 for z in impossible)


@pytest.mark.parametrize("chain", CHAINS)
def test_probabilities_of_all_counts_are_those_of_enumeration(chain):
    """The law of released counts sums to one; what no haplotypes have is impossible."""
    columns, n = 4, 4
    steps = law_of(chain, columns)._steps
    out = sums(rows_of(chain, columns), n)
    counts = np.array(list(itertools.product(range(n + 1), repeat=columns)))
    sizes = np.full(len(counts), n)
    terms = log_chances(steps._start, steps._first, steps._chances, sizes, counts)
    got = np.exp(terms.sum(axis=1))
    truth = [float(out.get(c, 0)) for c in map(tuple, counts.tolist())]
    np.testing.assert_allclose(got, truth, rtol=2e-14)
    assert math.fsum(got) == pytest.approx(1.0, abs=1e-14)
    assert np.isneginf(terms[got == 0.0]).any(axis=1).all()


def test_ratios_keep_their_digits_far_from_the_mean():
    """Counts of any probability, together and alone; whole numbers, exactly."""
    chain, n = (5, [(1, 1), (2, 13)], [(15, 15), (9, 14)]), 16
    whole = {row: int(chance * 16**3) for row, chance in rows_of(chain, 3).items()}
    out, others = sums(whole, n), sums(whole, n - 1)
    law = law_of(chain, 3)
    far = [(0, 0, 16), (16, 0, 16), (16, 16, 0), (0, 16, 1), (1, 15, 8), (7, 8, 8), (5, 5, 5)]
    for z in whole:
        moved = [tuple(i - j for i, j in zip(c, z, strict=True)) for c in far]
        ratios = [
            16**3 * Fraction(others.get(b, 0), out[c]) for b, c in zip(moved, far, strict=True)
        ]
        truth = np.array([float(x) for x in ratios])
        together = likelihood_ratio_score(np.array(far) / n, z, law, n)
        np.testing.assert_allclose(np.exp(together), truth, rtol=2e-14)
        alone = [likelihood_ratio_score(np.array(c) / n, z, law, n) for c in far]
        np.testing.assert_allclose(np.exp(alone), truth, rtol=2e-14)


def test_ratios_of_next_to_impossible_counts_are_those_of_enumeration():
    """Probabilities of 2**-2490 among likely ones: float64 does not hold them without a tilt."""
    rare, n = Fraction(1, 2**830), 3
    third = {(0, 0): rare, (0, 1): rare / 2, (1, 0): 1 - rare, (1, 1): Fraction(1, 4)}
    rows = {
        (a, b, c): (third[a, b] if c else 1 - third[a, b]) / 4
        for a, b, c in itertools.product((0, 1), repeat=3)
    }
    zero, one = ([[0.5, 0.5], [float(third[0, k]), float(third[1, k])]] for k in (0, 1))
    law = Chain(0.5, zero, one)
    rows = {row: chance for row, chance in rows.items() if law._chances(np.array(row)).all()}
    out, others = sums(rows, n), sums(rows, n - 1)
    releases, targets = np.array(list(out)) / n, np.array(list(rows), float)
    got = likelihood_ratio_score(releases, targets, law, n)
    for t, z in enumerate(rows):
        inside = added({z: Fraction(1)}, others)
        truth = [inside.get(c, 0) / chance for c, chance in out.items()]
        logs = [math.log(x.numerator) - math.log(x.denominator) if x else -np.inf for x in truth]
        np.testing.assert_allclose(got[:, t], logs, atol=1e-12)


@pytest.mark.parametrize("ploidy", [1, 2])
def test_equal_columns_are_a_chain_of_first_order(ploidy):
    """As one, and by the sums over hidden counts; likely counts and any others."""
    rng = np.random.default_rng(4)
    zero, one = rng.uniform(0.05, 0.5, 11), rng.uniform(0.4, 0.95, 11)
    first = Chain(0.3, zero, one, ploidy)
    twice = [np.stack([part, part], axis=1) for part in (zero, one)]
    same = Chain(0.3, *twice, ploidy)
    assert (same.order, same.after_zero.shape) == (1, (11,))
    steps = SecondOrder(0.3, *twice, ploidy)
    np.testing.assert_allclose(steps.p, first.p, rtol=1e-14)
    np.testing.assert_allclose(steps.correlation, first.correlation, rtol=1e-11)
    np.testing.assert_allclose(steps.mean_square(3), first._steps.mean_square(3), rtol=1e-11)
    z = first.draw(1, rng=rng)
    for n in (30, 150):
        likely = first._draw_counts(rng, n, 3).T
        others = rng.integers(0, ploidy * n + 1, (3, 12))
        edge = np.full((1, 12), ploidy * n)
        counts = np.concatenate([likely, others, edge, 0 * edge]).astype(float)
        truth = first.log_likelihood_ratio(counts / n, z[0], n)
        together = steps._terms(counts, z, ploidy * n)
        alone = np.concatenate([steps._terms(c[None], z, ploidy * n) for c in counts], axis=1)
        for out, inside in (together, alone):
            assert np.isfinite(out).all()
            possible = ~np.maximum.accumulate(np.isneginf(truth), axis=1)
            np.testing.assert_array_equal(np.isfinite(inside), possible)
            np.testing.assert_allclose((inside - out)[possible], truth[possible], atol=1e-12)


def test_what_is_omitted_is_less_than_what_is_computed_at_the_edges():
    """With bands that are too narrow, unless that is large; those in use omit less than 1e-13."""
    law = law_of(PARITY, 12)
    counts = law._draw_counts(np.random.default_rng(2), 200, 12).T
    counts[:3] = counts[:3] * 3 // 5  # unlikely releases
    steps, sizes = law._steps, np.full(12, 200)
    given = steps._start, steps._first, steps._chances, sizes, counts
    whole = np.cumsum(_forward(*given, 1e4, 1e4)[0], axis=1)
    largest = []
    for depth, ring in ((8.0, 6.0), (14.0, 12.0), (25.0, 22.0)):
        terms, missed, _ = _forward(*given, depth, ring)
        errors = np.abs(np.expm1(np.cumsum(terms, axis=1) - whole)).max(axis=1)
        assert ((errors <= missed + 1e-13) | (missed > 0.5)).all()
        largest.append(errors.max())
    assert largest[0] > 1e-3 > largest[2] > 1e-13
    assert np.abs(np.cumsum(log_chances(*given), axis=1) - whole).max() < 1e-12


def test_bands_widen_for_releases_that_contradict_the_likely_hidden_counts():
    """All of the third column are ones only if none of the 200 ones of the first two agree."""
    steps, m = law_of(PARITY, 3)._steps, 400

    def log_chance(size, c, e):
        """Of c, e and `size` ones, by the sum over all hidden counts in whole numbers."""
        total = 0
        for h in range(max(0, c + e - size), min(c, e) + 1):
            ways = math.comb(c, h) * math.comb(size - c, e - h)
            total += ways * 15 ** (c + e - 2 * h)  # else 1, of 16
        return math.log(math.comb(size, c) * total) - size * (2 * math.log(2) + math.log(16))

    counts = np.array([[200, 200, 400], [200, 190, 195], [199, 201, 399]])
    sizes = np.array([m, m, m - 1])
    given = steps._start, steps._first, steps._chances
    assert _forward(*given, sizes, counts, 46.0, 41.0)[1][0] > 0.1
    terms = log_chances(*given, sizes, counts)
    for row, truth in ((0, log_chance(m, 200, 200)), (2, log_chance(m - 1, 199, 201))):
        assert terms[row].sum() == pytest.approx(truth, rel=1e-14)
        alone = log_chances(*given, sizes[[row]], counts[[row]])
        assert alone.sum() == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("ploidy", [1, 2])
def test_rows_have_the_law_of_the_chain(ploidy):
    law, columns = law_of(CHAINS[0], 5, ploidy), 5
    truth = rows_of(CHAINS[0], columns, ploidy)
    rows, times = np.unique(law.draw(40_000, rng=2), axis=0, return_counts=True)
    for row, number in zip(rows.astype(int).tolist(), times.tolist(), strict=True):
        chance = float(truth[tuple(row)])
        assert abs(number - 40_000 * chance) < 5.5 * math.sqrt(40_000 * chance) + 1
    values, weights = np.array(list(truth), float), np.array([float(x) for x in truth.values()])
    mean = weights @ values
    covariance = np.einsum("r,rj,rk->jk", weights, values - mean, values - mean)
    std = np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(law.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(law.std, std, rtol=1e-14)
    third = weights @ (values - mean) ** 3
    np.testing.assert_allclose(law.skewness, third / std**3, rtol=1e-11, atol=1e-13)
    r = covariance / np.outer(std, std)
    np.testing.assert_allclose(law.correlation, np.diagonal(r, 1), rtol=1e-11)
    for lag in range(1, columns):
        truth_of_lag = np.mean(np.diagonal(r, lag) ** 2)
        np.testing.assert_allclose(law._steps.mean_square(lag), truth_of_lag, rtol=1e-11)


@pytest.mark.parametrize("ploidy", [1, 2])
def test_games_draw_the_enumerated_counts_in_both_worlds(ploidy):
    columns, n, rounds = 3, 3, 40_000
    law = law_of(CHAINS[1], columns, ploidy)
    out, inside = worlds(CHAINS[1], columns, ploidy, n)
    z = (1, 0, ploidy)
    played = FixedTargetGame(z, law, n).play(rounds, rng=8)
    for member, truth in ((False, out), (True, inside[z])):
        counts = np.rint(n * played.releases[played.member == member]).astype(int)
        drawn, times = np.unique(counts, axis=0, return_counts=True)
        seen = dict(zip(map(tuple, drawn.tolist()), times.tolist(), strict=True))
        assert set(seen) <= set(truth)
        likely = {c: float(x) * len(counts) for c, x in truth.items() if x * len(counts) > 8}
        square = sum((seen.get(c, 0) - mean) ** 2 / mean for c, mean in likely.items())
        assert abs(square - len(likely)) < 6.0 * math.sqrt(2.0 * len(likely))


@pytest.mark.parametrize(
    ("chain", "ploidy", "n"), [(CHAINS[0], 1, 4), (CHAINS[2], 1, 4), (CHAINS[1], 2, 2)]
)
def test_sampled_curves_agree_with_enumeration(chain, ploidy, n):
    """Advantage and power within five standard errors, and impossible releases."""
    law = law_of(chain, 4, ploidy)
    out, inside = worlds(chain, 4, ploidy, n)
    z = list(inside)[len(inside) // 3]
    advantage = float(sum(max(p - out.get(c, 0), 0) for c, p in inside[z].items()))
    curve = exact_mean_tradeoff(z, law, n, method="sample", draws=20_000, rng=3)
    assert curve.kind == "estimate"
    wide = curve.advantage_interval(1.0 - 1e-6)
    assert wide.lower <= advantage <= wide.upper
    assert wide.upper - wide.lower < 0.1
    ratios = sorted(((inside[z].get(c, 0) / p, p) for c, p in out.items()), reverse=True)
    fpr = np.cumsum([float(p) for _, p in ratios])
    power = np.cumsum([float(ratio * p) for ratio, p in ratios])
    at = np.array([0.05, 0.2, 0.6])
    truth = np.interp(at, np.append(0.0, fpr), np.append(0.0, power))
    np.testing.assert_allclose(curve.power(at), truth, atol=0.03)


def test_the_score_of_second_order_is_better_than_that_of_first():
    """Of data of second order, by more than the interval; and never worse."""
    rng, n, draws = np.random.default_rng(3), 40, 3000
    gains = []
    for chain, columns in ((PARITY, 20), (CHAINS[0], 5), (CHAINS[1], 5)):
        law = law_of(chain, columns)
        first = Chain.from_correlation(law.p, law.correlation)
        z = law.draw(1, rng=rng)[0]
        releases = [law._draw_counts(rng, rows, draws).T / n for rows in (n, n - 1)]
        releases[1] += z / n
        curves = []
        for model in (law, first):
            out, inside = (likelihood_ratio_score(x, z, model, n) for x in releases)
            curves.append(EmpiricalTradeOff(inside, out).advantage)
        gains.append(curves[0] - curves[1])
    error = 1.96 * math.sqrt(
        1.0 / draws
    )  # of the difference of two shares, each of variance <= 1/4
    assert gains[0] > 3.0 * error
    assert min(gains) > -error


class TestFit:
    def test_haplotypes_give_the_frequencies_of_three_columns(self):
        rows = np.random.default_rng(1).integers(0, 2, (60, 4)).astype(float)
        for smoothing in (0.0, 2.0):
            law = Chain.fit(rows, order=2, smoothing=smoothing)
            p = (rows.sum(axis=0) + smoothing / 2) / (60 + smoothing)
            for j, a, b in itertools.product((1, 2), (0, 1), (0, 1)):
                here = (rows[:, j - 1] == a) & (rows[:, j] == b)
                chance = smoothing * (p[j - 1] if a else 1 - p[j - 1]) * (p[j] if b else 1 - p[j])
                ones = here @ rows[:, j + 1] + chance * p[j + 1]
                after = (law.after_one if b else law.after_zero)[j, a]
                assert after == pytest.approx(ones / (here.sum() + chance), rel=1e-12)
            single = Chain.fit(rows, smoothing=smoothing)
            np.testing.assert_allclose(law.after_zero[0], [single.after_zero[0]] * 2)
            np.testing.assert_allclose(law.after_one[0], [single.after_one[0]] * 2)
        assert law.fitted.order == 2
        assert law.fitted.least_haplotypes < single.fitted.least_haplotypes

    def test_genotypes_give_the_likeliest_phase(self):
        """The estimate of three columns is a maximum of their likelihood, by its definition."""
        rows = law_of(CHAINS[0], 3, 2).draw(400, rng=5)
        law = Chain.fit(rows, ploidy=2, smoothing=0.0, order=2)
        genotypes, times = np.unique(rows, axis=0, return_counts=True)
        bits = list(itertools.product((0, 1), repeat=3))
        pairs = np.array([[np.add(x, y) for y in bits] for x in bits])
        match = (pairs[None] == genotypes[:, None, None]).all(axis=3)

        def log_likelihood(chances):
            return float(times @ np.log(np.einsum("gxy,x,y->g", match, chances, chances)))

        table = tables_of(rows, 2, rows.mean(axis=0) / 2, 0.0, 3)[..., 0].ravel()
        assert table.sum() == pytest.approx(800.0)
        best = log_likelihood(table / 800.0)
        for k, m in itertools.permutations(range(8), 2):
            moved = table / 800.0
            moved[k] += 1e-3
            moved[m] -= 1e-3
            assert moved.min() < 0.0 or log_likelihood(moved) < best
        four = table.reshape(2, 2, 2)
        np.testing.assert_allclose(law.after_zero[1], four[:, 0, 1] / four[:, 0].sum(axis=1))
        np.testing.assert_allclose(law.after_one[1], four[:, 1, 1] / four[:, 1].sum(axis=1))

    @pytest.mark.parametrize("ploidy", [1, 2])
    def test_fits_come_near_the_law(self, ploidy):
        law = law_of(CHAINS[0], 5, ploidy)
        fit = Chain.fit(law.draw(20_000, rng=1), ploidy=ploidy, order=2)
        np.testing.assert_allclose(fit.after_zero, law.after_zero, atol=0.05)
        np.testing.assert_allclose(fit.after_one, law.after_one, atol=0.05)
        np.testing.assert_allclose(fit.fitted.correlation, fit.fitted.chain_correlation, atol=0.01)
        assert fit.fitted.warnings == ()

    def test_the_gain_of_a_second_order_is_its_log_likelihood_less_a_penalty(self):
        rows = law_of(CHAINS[0], 4).draw(300, rng=4).astype(int)
        laws = {order: Chain.fit(rows, order=order, smoothing=0.0) for order in (1, 2)}
        total = {
            order: sum(float(np.log(law._chances(row)).sum()) for row in rows.astype(float))
            for order, law in laws.items()
        }
        gain = total[2] - total[1] - 0.5 * 4 * math.log(300)
        assert laws[1].fitted.second_order_gain == pytest.approx(gain, rel=1e-10)
        assert laws[2].fitted.second_order_gain == pytest.approx(gain, rel=1e-10)

    def test_the_gain_states_the_order(self):
        for seed in range(8):
            rng = np.random.default_rng(seed)
            single = Chain.from_correlation(np.full(12, 0.3), rng.uniform(0.0, 0.9))
            assert Chain.fit(single.draw(300, rng=rng)).fitted.second_order_gain < 0.0
            rows = law_of(PARITY, 12).draw(300, rng=rng)
            assert Chain.fit(rows).fitted.second_order_gain > 0.0
        assert Chain.fit(rows[:, :2]).fitted.second_order_gain is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: Chain(0.3, [[0.1, 0.2], [0.1, 0.2]], [[0.1, 0.1], [0.1, 0.2]]),
            r"after_zero must be 0.1, as after_zero\[0, 0\]; got after_zero\[0, 1\] = 0.2",
        ),
        (
            lambda: Chain(0.3, [[0.1, 0.1], [0.1, 0.2]], [[0.1, 0.1], [0.1, 1.5]]),
            r"after_one must be between 0 and 1; got after_one\[1, 1\] = 1.5",
        ),
        (lambda: Chain(0.3, [[0.1, 0.1], [0.1, 0.2]], [0.1, 0.2]), "have the shape of after_zero"),
        (lambda: Chain(0.3, np.ones((3, 3)), np.ones((3, 3))), "two columns for a chain of second"),
        (lambda: Chain.fit([[0, 1], [1, 1], [0, 0]], order=2), "at least 3 columns with order=2"),
        (lambda: Chain.fit([[0, 1, 1], [1, 1, 0]], order=2), "rows must have at least 3 rows"),
        (lambda: Chain.fit([[0, 1, 1], [1, 1, 0]], order=3), "order must be between 1 and 2"),
        (
            lambda: law_of(CHAINS[0], 3).log_likelihood_ratio([0] * 3, [0] * 3, 251, until=[1] * 3),
            "n must be between 2 and 250",
        ),
        (
            lambda: exact_mean_tradeoff([0, 0, 0], law_of(CHAINS[0], 3), 9),
            'exact curve is not available for chains of second order.*method="sample"',
        ),
        (
            lambda: likelihood_ratio_score([0.5] * 3, [0] * 3, law_of(CHAINS[0], 3), 20_000),
            "n must be between 2 and 10000",
        ),
        (
            lambda: likelihood_ratio_score([0.5] * 5, [0, 1, 0, 0, 0], law_of(CHAINS[2], 5), 10),
            r"target must be possible; got target\[2\] = 0.*after_one\[1\] = \[1.0, 0.3125\]",
        ),
        (
            lambda: likelihood_ratio_score([0, 0, 1, 0], [0, 0, 0, 0], law_of(CHAINS[2], 4), 10),
            r"releases must be possible after the counts of the columns before.*releases\[2\] = 1",
        ),
    ],
)
def test_what_is_no_chain_of_second_order_is_refused(call, words):
    with pytest.raises(ValueError, match=f"(?s){words}"):
        call()
