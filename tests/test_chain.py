"""Linked columns: laws, scores, games and curves against enumeration of all rows in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from mialeak import exact_mean_tradeoff
from mialeak._kernels import chains as kernels
from mialeak.exact._chains import ChainMoments
from mialeak.exact._moments import RatioMoments
from mialeak.laws import Bernoulli, Chain, Genotype
from mialeak.reference import exact as twins
from mialeak.scores import bernoulli_score, genotype_score, likelihood_ratio_score

#: start, after_zero, after_one in sixteenths: exact as floats.  The last has sure transitions.
CHAINS = [
    (5, [3, 8, 2, 11], [13, 10, 13, 4]),
    (8, [1, 15, 8, 6], [15, 2, 8, 9]),
    (6, [0, 4, 16, 0], [12, 16, 3, 16]),
]


def sixteenths(chain, columns):
    start, zero, one = chain
    steps = columns - 1
    after = [[Fraction(x, 16) for x in part[:steps]] for part in (zero, one)]
    return Fraction(start, 16), *after


def law_of(chain, columns, ploidy=1):
    start, zero, one = sixteenths(chain, columns)
    return Chain(float(start), [float(x) for x in zero], [float(x) for x in one], ploidy)


def haplotypes(chain, columns):
    """The law of a haplotype, by enumeration."""
    start, zero, one = sixteenths(chain, columns)
    law = {}
    for row in itertools.product((0, 1), repeat=columns):
        chance = start if row[0] else 1 - start
        for j in range(columns - 1):
            up = one[j] if row[j] else zero[j]
            chance *= up if row[j + 1] else 1 - up
        if chance:
            law[row] = chance
    return law


def added(first, second):
    total = {}
    for (a, x), (b, y) in itertools.product(first.items(), second.items()):
        key = tuple(i + j for i, j in zip(a, b, strict=True))
        total[key] = total.get(key, 0) + x * y
    return total


def sums(row_law, n):
    columns = len(next(iter(row_law)))
    total = {(0,) * columns: Fraction(1)}
    for _ in range(n):
        total = added(total, row_law)
    return total


def rows_of(chain, columns, ploidy):
    one = haplotypes(chain, columns)
    return one if ploidy == 1 else added(one, one)


def worlds(chain, columns, ploidy, n):
    """Probabilities of the counts out, and in for each possible target."""
    rows = rows_of(chain, columns, ploidy)
    out, others = sums(rows, n), sums(rows, n - 1)
    inside = {z: added({z: Fraction(1)}, others) for z in rows}
    return out, inside


CASES = [
    (chain, columns, ploidy, n)
    for chain in CHAINS
    for columns, ploidy, n in [(5, 1, 2), (4, 1, 4), (3, 1, 5), (1, 1, 3), (3, 2, 2), (2, 2, 4)]
]


@pytest.mark.parametrize(("chain", "columns", "ploidy", "n"), CASES)
def test_scores_are_ratios_of_probabilities_of_enumerated_tables(chain, columns, ploidy, n):
    law = law_of(chain, columns, ploidy)
    out, inside = worlds(chain, columns, ploidy, n)
    releases = np.array(list(out)) / n
    targets = np.array(list(inside), float)
    got = likelihood_ratio_score(releases, targets, law, n)
    for t, z in enumerate(inside):
        truth = [inside[z].get(c, 0) / chance for c, chance in out.items()]
        np.testing.assert_allclose(np.exp(got[:, t]), [float(x) for x in truth], rtol=2e-14)
        single = likelihood_ratio_score(releases, targets[t], law, n)
        np.testing.assert_allclose(single, got[:, t], rtol=1e-14, atol=1e-14)
        np.testing.assert_array_equal(np.isneginf(single), [x == 0 for x in truth])
        terms = law.log_likelihood_ratio(releases, targets[t], n)
        np.testing.assert_allclose(np.exp(terms.sum(axis=1)), np.exp(single), rtol=1e-13)


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else Fraction(0)


def transition(m, c, e, a, b):
    return sum(binomial(i, c, b) * binomial(e - i, m - c, a) for i in range(c + 1))


@pytest.mark.parametrize("ploidy", [1, 2])
@pytest.mark.parametrize(
    ("a", "b"), [("1/1024", "1023/1024"), ("3/16", "5/8"), ("1/2", "1/2"), ("1/65536", "1/4")]
)
def test_transitions_keep_their_digits_far_from_the_mean(ploidy, a, b):
    """All pairs of values, at counts of any probability."""
    a, b = Fraction(a), Fraction(b)
    n = 60 // ploidy
    m = n * ploidy
    law = Chain(0.5, [float(a)], [float(b)], ploidy)
    values = range(ploidy + 1)
    for c, e in itertools.product([0, 1, 2, 17, 30, 58, 59, 60], [0, 1, 2, 29, 44, 59, 60]):
        out = transition(m, c, e, a, b)
        for z, w in itertools.product(values, values):
            possible = 0 <= c - z <= m - ploidy and 0 <= e - w <= m - ploidy
            truth = transition(m - ploidy, c - z, e - w, a, b) / out if possible else 0
            given = np.array([c, e]) / n
            terms = law.log_likelihood_ratio(given, [z, w], n)
            if truth:
                assert terms[1] == pytest.approx(math.log(truth), abs=5e-14)
            else:
                assert terms[1] == -np.inf or terms[0] == -np.inf


def test_the_kernel_computes_what_its_twin_does():
    rng = np.random.default_rng(7)
    for ploidy, m in [(1, 40), (2, 90)]:
        zero, one = rng.uniform(0.02, 0.98, (2, 13))
        law = Chain(0.4, zero, one, ploidy)
        counts = law._draw_counts(rng, m // ploidy, 5).T.astype(float)
        out = np.empty(((ploidy + 1) ** 2, 5, 13))
        kernels.transition_ratios(ploidy, float(m), np.ascontiguousarray(counts), zero, one, out)
        truth = twins.transition_ratios(ploidy, m, counts, zero, one)
        np.testing.assert_allclose(out, truth, rtol=1e-12)


def test_without_correlation_scores_are_those_of_independent_columns():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 60)
    for ploidy, score, independent in (
        (1, bernoulli_score, Bernoulli(p)),
        (2, genotype_score, Genotype(p)),
    ):
        law = Chain(p[0], p[1:], p[1:], ploidy)
        targets, n = law.draw(4, rng=rng), 50
        releases = np.array([independent.draw(n, rng=rng).mean(axis=0) for _ in range(5)])
        got = likelihood_ratio_score(releases, targets, law, n)
        for t, target in enumerate(targets):
            np.testing.assert_allclose(got[:, t], score(releases, target, p, n), atol=1e-12)
        both = likelihood_ratio_score(releases, targets, [independent], n)
        np.testing.assert_allclose(got, both, atol=1e-12)


def test_chains_side_by_side_have_the_sum_of_their_scores():
    first, second = law_of(CHAINS[0], 4), law_of(CHAINS[1], 3)
    n, rng = 30, np.random.default_rng(1)
    targets = np.hstack([first.draw(3, rng=rng), second.draw(3, rng=rng)])
    releases = np.hstack([law.draw(n, rng=rng) for law in (first, second)]).mean(axis=0)
    got = likelihood_ratio_score(releases, targets, [first, second], n)
    apart = [
        likelihood_ratio_score(releases[place], targets[:, place], law, n)
        for law, place in ((first, slice(4)), (second, slice(4, 7)))
    ]
    np.testing.assert_allclose(got, sum(apart), rtol=1e-14)


@pytest.mark.parametrize("ploidy", [1, 2])
def test_a_chain_from_correlations_has_them(ploidy):
    """Those of drawn rows, of the sum of two haplotypes too, within five standard errors."""
    p, r = np.array([0.3, 0.4, 0.35]), np.array([0.6, -0.2])
    law = Chain.from_correlation(p, r, ploidy=ploidy)
    rows = law.draw(40_000, rng=1)
    assert rows.max() == ploidy
    assert np.abs(rows.mean(axis=0) - ploidy * p).max() < 5 * math.sqrt(ploidy / 4 / 40_000)
    seen = np.corrcoef(rows.T)
    assert np.abs([seen[0, 1] - r[0], seen[1, 2] - r[1]]).max() < 5 / math.sqrt(40_000)


def test_rows_have_the_law_of_the_chain():
    for ploidy in (1, 2):
        law = law_of(CHAINS[0], 4, ploidy)
        truth = rows_of(CHAINS[0], 4, ploidy)
        rows, times = np.unique(law.draw(40_000, rng=2), axis=0, return_counts=True)
        for row, number in zip(rows.astype(int).tolist(), times.tolist(), strict=True):
            chance = float(truth[tuple(row)])
            assert abs(number - 40_000 * chance) < 5.5 * math.sqrt(40_000 * chance) + 1
        values = np.array(list(truth), float)
        weights = np.array([float(x) for x in truth.values()])
        mean = weights @ values
        centred = (values - mean) ** np.arange(2, 5)[:, None, None]
        second, third, fourth = np.einsum("r,krj->kj", weights, centred)
        np.testing.assert_allclose(law.mean, mean, rtol=1e-14)
        np.testing.assert_allclose(law.std, np.sqrt(second), rtol=1e-14)
        np.testing.assert_allclose(law.skewness, third / second**1.5, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(law.excess_kurtosis, fourth / second**2 - 3.0, rtol=1e-11)
        cov = np.einsum("r,rj,rk->jk", weights, values - mean, values - mean)
        r = cov / np.sqrt(np.outer(second, second))
        np.testing.assert_allclose(law.correlation, np.diagonal(r, 1), rtol=1e-12)
        np.testing.assert_allclose(r[0, 2], law.correlation[:2].prod(), rtol=1e-12)


class TestFit:
    def test_haplotypes_give_the_frequencies_of_transitions(self):
        rows = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]], float)
        law = Chain.fit(rows, smoothing=0.0)
        assert law.start == 0.4
        np.testing.assert_allclose(law.after_zero, [1 / 3, 0.5])
        np.testing.assert_allclose(law.after_one, [1.0, 2 / 3])
        smoothed = Chain.fit(rows, smoothing=2.0)  # p is 3/7, 4/7, 4/7
        np.testing.assert_allclose(smoothed.after_zero[0], (1 + 2 * 16 / 49) / (3 + 2 * 4 / 7))

    def test_genotypes_give_the_likeliest_phase(self):
        """The estimate is a maximum of the likelihood of pairs, computed from its definition."""
        rng = np.random.default_rng(5)
        truth = Chain(0.4, [0.2], [0.7], 2)
        rows = truth.draw(300, rng=rng)
        law = Chain.fit(rows, ploidy=2, smoothing=0.0)

        def log_likelihood(start, zero, one):
            total = 0.0
            for x, y in rows:
                chance = 0.0
                for a, b, c, d in itertools.product((0, 1), repeat=4):
                    if a + b == x and c + d == y:
                        term = 1.0
                        for first, second in ((a, c), (b, d)):
                            up = one if first else zero
                            term *= (start if first else 1 - start) * (up if second else 1 - up)
                        chance += term
                total += math.log(chance)
            return total

        at = (law.start, law.after_zero[0], law.after_one[0])
        best = log_likelihood(*at)
        for k, step in itertools.product(range(3), (-1e-3, 1e-3)):
            moved = list(at)
            moved[k] += step
            assert log_likelihood(*moved) < best

    def test_the_report_shows_what_first_order_misses(self):
        rng = np.random.default_rng(6)
        law = Chain.from_correlation(np.full(30, 0.3), 0.8)
        fit = Chain.fit(law.draw(4000, rng=rng)).fitted
        np.testing.assert_allclose(fit.correlation, fit.chain_correlation, atol=0.02)
        copied = np.tile(rng.random((4000, 6)) < 0.3, 5).astype(float)
        fit = Chain.fit(copied[:, np.arange(30) * 6 % 30 + np.arange(30) // 5]).fitted
        assert fit.rows == 4000
        assert fit.constant_columns == ()
        alternating = Chain.fit(np.tile(rng.random((500, 2)) < 0.3, 10).astype(float)).fitted
        assert alternating.correlation[1] == pytest.approx(1.0)
        assert alternating.chain_correlation[1] < 0.05

    @pytest.mark.parametrize("ploidy", [1, 2])
    def test_the_exact_curve_warns_of_few_haplotypes(self, ploidy):
        law = Chain.from_correlation(np.full(30, 0.3), 0.8, ploidy=ploidy)
        target = law.draw(1, rng=1)[0]
        enough = Chain.fit(law.draw(200 // ploidy, rng=2), ploidy=ploidy)
        assert enough.fitted.warnings == ()
        exact_mean_tradeoff(target, enough, n=50)
        few = Chain.fit(law.draw(198 // ploidy, rng=2), ploidy=ploidy)
        with pytest.warns(UserWarning, match="was fitted to 198 haplotypes"):
            exact_mean_tradeoff(target, [few], n=50)

    def test_the_exact_curve_warns_of_columns_that_are_no_chain(self):
        """Of a chain out of order; in order it is one, and nothing is said."""
        law = Chain.from_correlation(np.full(30, 0.3), 0.9)
        rows, order = law.draw(1000, rng=3), np.random.default_rng(0).permutation(30)
        assert Chain.fit(rows).fitted.warnings == ()
        with pytest.warns(UserWarning, match="Sort the columns by their positions"):
            exact_mean_tradeoff(rows[0][order], Chain.fit(rows[:, order]), n=50)

    def test_fits_of_chains_have_no_warning(self):
        for seed in range(40):
            rng = np.random.default_rng(seed)
            columns, ploidy = int(rng.integers(4, 60)), 1 + seed % 2
            zero = rng.uniform(0.05, 0.5, columns - 1)
            law = Chain(0.3, zero, zero + rng.uniform(0.0, 0.45, columns - 1), ploidy)
            rows = law.draw(200 + 40 * seed, rng=rng)
            assert Chain.fit(rows, ploidy=ploidy).fitted.warnings == (), seed

    def test_constant_columns_are_named_and_stay_possible(self):
        rows = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 1]], float)
        law = Chain.fit(rows)
        assert law.fitted.constant_columns == (0, 1)
        assert ((law.p > 0.0) & (law.p < 1.0)).all()
        assert Chain.fit(rows, smoothing=0.0).p.tolist() == [0.0, 1.0, pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Chain([0.2, 0.3], [0.1], [0.2]), "start must be one number.*from_correlation"),
        (lambda: Chain(1.5, [0.1], [0.2]), r"start must be between 0 and 1; got .*1\.5"),
        (
            lambda: Chain(0.5, [0.1, 1.5], [0.2, 0.2]),
            r"after_zero must be .*got after_zero\[1\] = 1\.5",
        ),
        (
            lambda: Chain(0.5, [0.1, 0.2], [0.2, np.nan]),
            r"after_one must be finite.*after_one\[1\]",
        ),
        (lambda: Chain(0.5, [0.1], [0.2, 0.2]), "after_one must have as many .* after_zero, 1"),
        (lambda: Chain(0.5, [0.1], [0.2], 3), "ploidy must be"),
        (
            lambda: Chain.from_correlation([0.3, 0.6], 0.9),
            r"correlation must be between -0.80.* and 0.53.*correlation\[0\] = 0.9",
        ),
        (lambda: Chain.from_correlation([0.3, 0.6], [0.1, 0.2]), "correlation must be a number or"),
        (lambda: Chain.fit([[0, 1]]), "rows must have at least 2 rows"),
        (
            lambda: Chain.fit([[0, 1], [2, 1]]),
            r"rows must be 0 or 1; got rows\[1, 0\] = 2.0.*ploidy=2",
        ),
        (
            lambda: Chain.fit([[0, 1], [9, 1]], ploidy=2),
            r"rows must be 0, 1 or 2; got rows\[1, 0\] = 9.0.*missing",
        ),
        (lambda: Chain.fit(np.tile([[0, 1], [1, 0]], (500, 1)), ploidy=2), "hold no 2"),
        (lambda: Chain.fit([[0, 1], [1, 1]], smoothing=-1), "smoothing must be at least 0"),
    ],
)
def test_what_is_no_chain_is_refused(call, words):
    with pytest.raises(ValueError, match=f"(?s){words}"):
        call()


@pytest.mark.parametrize(
    ("target", "release", "words"),
    [
        ([0, 2, 0], [0.5, 0.5, 0.5], r"target must be 0 or 1; got target\[1\] = 2"),
        (
            [0, 1, 0],
            [0.5, 0.5, 0.5],
            r"target must be possible; got target\[1\] = 1.*after_zero\[0\] = 0.0 and",
        ),
        ([0, 0, 0], [0.5, 0.25, 0.5], "releases must be the mean of 10 rows.*rounded"),
        (
            [0, 0, 0],
            [0.5, 0.6, 0.5],
            r"releases must be possible after the count.*releases\[1\] = 0.6",
        ),
        ([0, 0], [0.5, 0.6, 0.5], "target must have 3 columns"),
    ],
)
def test_bad_targets_and_releases_are_named(target, release, words):
    law = Chain(0.5, [0.0, 0.2], [1.0, 0.7])
    with pytest.raises(ValueError, match=f"(?s){words}"):
        likelihood_ratio_score(release, target, law, 10)


def ratios_of(chain, columns, ploidy, n, z):
    """Probabilities out and in by likelihood ratio, and P(ratio = 0) out; all in fractions."""
    out, inside = worlds(chain, columns, ploidy, n)
    atoms = {}
    for c, chance in out.items():
        ratio = inside[z].get(c, Fraction(0)) / chance
        before = atoms.get(ratio, (0, 0))
        atoms[ratio] = before[0] + chance, before[1] + inside[z].get(c, 0)
    return atoms


SMALL = [
    (CHAINS[0], 5, 1, 2),
    (CHAINS[1], 4, 1, 4),
    (CHAINS[2], 5, 1, 3),
    (CHAINS[1], 2, 1, 5),
    (CHAINS[0], 3, 2, 3),
    (CHAINS[1], 2, 2, 5),
    (CHAINS[0], 1, 1, 5),
]


@pytest.mark.parametrize(("chain", "columns", "ploidy", "n"), SMALL)
def test_curves_are_those_of_enumerated_tables_for_all_targets(chain, columns, ploidy, n):
    law = law_of(chain, columns, ploidy)
    rows = list(rows_of(chain, columns, ploidy))
    for z in rows if len(rows) <= 16 else rows[:: len(rows) // 8]:
        atoms = ratios_of(chain, columns, ploidy, n, z)
        advantage = sum((i - o for o, i in atoms.values() if i > o), Fraction(0))
        curve = exact_mean_tradeoff(np.array(z, float), law, n)
        assert curve.method == "atoms"
        assert curve.error < 1e-13
        assert curve.advantage == pytest.approx(float(advantage), rel=1e-13)
        if Fraction(0) in atoms:
            assert curve.impossible == pytest.approx(float(atoms[Fraction(0)][0]), rel=1e-13)
        fpr = power = Fraction(0)
        for ratio in sorted(atoms, reverse=True)[:6]:
            fpr, power = fpr + atoms[ratio][0], power + atoms[ratio][1]
            assert curve.power(float(fpr)) == pytest.approx(float(power), rel=1e-12)
        for epsilon in (0.3, 1.0):
            gap = sum((max(i - Fraction(math.exp(epsilon)) * o, 0) for o, i in atoms.values()))
            assert curve.delta(epsilon, direction="in") == pytest.approx(float(gap), rel=1e-12)


def test_inversion_agrees_with_atoms():
    """Where both are possible; the error states what the inversion omits."""
    law = Chain.from_correlation([0.3, 0.4, 0.5, 0.45, 0.35], 0.5)
    z = np.array([0.0, 0, 1, 1, 0])
    atoms = exact_mean_tradeoff(z, law, 6, method="atoms")
    assert atoms.method == "atoms"
    moments = ChainMoments([(law, z)], RatioMoments([], None), 6)
    for theta in (-0.4, 0.0, 0.5, 1.0, 2.5):
        weights = atoms._law.atoms.out * np.exp(theta * atoms._law.atoms.ratio)
        mass, ratio = weights.sum(), atoms._law.atoms.ratio
        mean = weights @ ratio / mass
        spread = math.sqrt(weights @ (ratio - mean) ** 2 / mass)
        np.testing.assert_allclose(
            moments.local(theta), (math.log(mass), mean, spread), rtol=1e-12, atol=1e-13
        )
        t = 0.3 + 1.7 * np.arange(70)
        truth = np.exp(1j * np.multiply.outer(t, ratio - mean)) @ weights / mass
        np.testing.assert_allclose(moments.wave(theta, 0.3, 1.7, 70), truth, atol=1e-13)


@pytest.mark.parametrize("ploidy", [1, 2])
def test_without_correlation_the_curve_is_that_of_independent_columns(ploidy):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 45)
    z = rng.binomial(ploidy, p).astype(float)
    linked = exact_mean_tradeoff(z, Chain(p[0], p[1:], p[1:], ploidy), 30)
    apart = exact_mean_tradeoff(z, Bernoulli(p) if ploidy == 1 else Genotype(p), 30)
    assert linked.method == apart.method == "inversion"
    assert linked.advantage == pytest.approx(apart.advantage, abs=1e-12)
    fpr = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9])
    np.testing.assert_allclose(linked.power(fpr), apart.power(fpr), rtol=1e-12)
    np.testing.assert_allclose(linked.auc, apart.auc, rtol=1e-12)
    for direction in ("in", "out"):
        delta = [curve.delta([0.0, 1.0, 3.0], direction=direction) for curve in (linked, apart)]
        np.testing.assert_allclose(*delta, rtol=1e-11)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"draws": 1000}, 'draws must be None unless method="sample"'),
        ({"rng": 1}, 'rng must be None unless method="sample"'),
        ({"method": "sample", "draws": 5}, "draws must be"),
        ({"method": "halves"}, "not available for linked columns.*not independent"),
        ({"method": "atoms", "n": 400}, "not available for this law.*too many atoms"),
    ],
)
def test_bad_options_of_curves_are_refused(options, words):
    law = Chain.from_correlation([0.3, 0.4, 0.3], 0.5)
    with pytest.raises(ValueError, match=f"(?s){words}"):
        exact_mean_tradeoff([0, 1, 0], law, **{"n": 10, **options})


def test_one_column_has_no_inversion():
    with pytest.raises(ValueError, match=r'for so few linked columns.*method="sample"'):
        exact_mean_tradeoff([1], Chain(0.3, [], []), 300, method="inversion")


def test_the_largest_epsilon_is_that_of_equal_rows():
    law = law_of(CHAINS[0], 4)
    curve = exact_mean_tradeoff([1, 0, 1, 0], law, 3)
    chance = haplotypes(CHAINS[0], 4)[1, 0, 1, 0]
    assert curve.epsilon(0.0, direction="in") == pytest.approx(-math.log(chance), rel=1e-13)
    assert curve.epsilon(0.0, direction="out") == np.inf
    persons = exact_mean_tradeoff([1, 0, 1, 0], law_of(CHAINS[0], 4, 2), 3)
    with pytest.raises(ValueError, match="epsilon at delta = 0 is not available for genotypes"):
        persons.epsilon(0.0, direction="in")


def test_the_forward_step_is_that_of_its_twin():
    rng = np.random.default_rng(2)
    first = np.array([0, 3, 3, 9])
    weight, ratio = rng.random((4, 16)), rng.normal(size=(4, 16))
    before = rng.normal(size=(4, 2, 45))
    after = np.empty((45, 2, 30))
    kernels.transfer_step(first, weight, ratio, 0.3, 1.5, 0.7, before, after)
    t = 1.5 + 0.7 * np.arange(45)
    truth = twins.transfer_step(first, weight, ratio, 0.3, t, before[:, 0] + 1j * before[:, 1], 30)
    np.testing.assert_allclose(after[:, 0] + 1j * after[:, 1], truth, atol=1e-12)


def test_curves_have_the_same_bits_for_any_number_of_workers():
    law = Chain.from_correlation(np.full(20, 0.4), 0.3)
    z = np.tile([0.0, 1.0], 10)
    one, two = (exact_mean_tradeoff(z, law, 12, workers=workers) for workers in (1, 2))
    assert one.advantage == two.advantage
    assert one.power(1e-6) == two.power(1e-6)
