"""Audits of separate runs: p-values against quadrature, ties, invariances, bad input, cost."""

from __future__ import annotations

import json
import tracemalloc
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, stats
from scipy.special import ndtri

from mialeak._numerics.order import Order
from mialeak._numerics.rank_tests import ADVANTAGE, GAUSSIAN, Pairs, PairTest, indistinguishable
from mialeak.auditing import AuditResult, audit
from mialeak.tradeoff import EmpiricalTradeOff


def p_value(k, n_hits, r, n_ranks, curves, parameter):
    columns = ([value] for value in (k, r, n_hits, n_ranks, 0.05, True))
    test = PairTest.of(Pairs(*map(np.array, columns)), curves)
    return float(test.p_values(parameter, np.array([0]))[0])


def normal_scores(seed, mu=1.5, n_in=400, n_out=300):
    rng = np.random.default_rng(seed)
    return rng.normal(mu, 1.0, n_in), rng.normal(0.0, 1.0, n_out)


def shifted_quantiles():
    """Scores without chance: quantiles of a normal law, moved by 1."""
    outside = ndtri((np.arange(1, 1001) - 0.5) / 1000)
    return outside + 1.0001, outside


class TestPairs:
    def test_without_leakage_it_is_fishers_exact_test(self):
        """All 5 largest of 200 scores are of one world: 100 99 98 97 96 / (200 ... 196)."""
        truth = Fraction(1)
        for i in range(5):
            truth *= Fraction(100 - i, 200 - i)
        value = p_value(5, 100, 1, 100, indistinguishable(0.0), 0.0)
        assert value == pytest.approx(float(truth), rel=1e-9)

    @pytest.mark.parametrize(
        ("case", "epsilon", "delta"),
        [
            ((50, 1000, 9, 1000), 1.0, 1e-5),
            ((300, 1000, 81, 1000), 1.0, 0.0),
            ((14, 14, 110, 736), 1.439, 0.0),  # the p-value lives in V's flat tail
            ((60, 100, 3000, 100_000), 2.2, 0.01),  # U is the narrower
            ((12, 1000, 1, 1000), 0.5, 0.005),  # V may be below delta
            ((3, 3, 1, 2), 0.4, 0.0),
        ],
    )
    def test_epsilon_p_values_against_adaptive_quadrature(self, case, epsilon, delta):
        """P(at least k of n below h(U)) is a binomial tail given U, in pieces between quantiles."""
        k, n, r, m = case
        place = stats.beta(r, m - r + 1)

        def weighted(u):
            return place.pdf(u) * stats.binom.sf(k - 1, n, min(1.0, delta + np.exp(epsilon) * u))

        share = np.concatenate([np.geomspace(1e-14, 0.5, 25), 1 - np.geomspace(1e-14, 0.4, 25)])
        ends = [0.0, *np.sort(place.ppf(share)), (1 - delta) * np.exp(-epsilon), 1.0]
        ends = np.unique(ends)
        pieces = [
            integrate.quad(weighted, *ends[i : i + 2], epsabs=0, epsrel=1e-10)[0]
            for i in range(ends.size - 1)
        ]
        value = p_value(k, n, r, m, indistinguishable(delta), epsilon)
        assert value == pytest.approx(sum(pieces), rel=1e-8)

    @pytest.mark.parametrize(
        ("case", "epsilon", "delta"),
        [
            ((10, 10, 81, 1000), 0.1, 0.5),  # was short by 5.9e-6: V is broad above delta
            ((10, 10, 27, 1000), 2.0, 0.3),
            ((3, 3, 9, 300), 2.0, 0.1),
            ((3, 3, 9, 300), 3.0, 0.0),  # was short by 2.3e-5: h(u) = 1 at a likely u
        ],
    )
    def test_p_values_of_all_hits_are_not_short_of_the_truth(self, case, epsilon, delta):
        """V of law Beta(n, 1): the mean of min(1, h(U))^n, in pieces between quantiles of U."""
        _, n, r, m = case
        place = stats.beta(r, m - r + 1)
        corner = (1 - delta) * np.exp(-epsilon)
        ends = np.unique([0.0, *place.ppf(np.linspace(0.01, 0.99, 25)), corner, 1.0])

        def weighted(u):
            return place.pdf(u) * min(1.0, delta + np.exp(epsilon) * u) ** n

        truth = sum(
            integrate.quad(weighted, *ends[i : i + 2], epsabs=0, epsrel=1e-11)[0]
            for i in range(ends.size - 1)
        )
        value = p_value(*case, indistinguishable(delta), epsilon)
        assert truth - 1e-11 <= value <= 1.003 * truth

    @pytest.mark.parametrize("case", [(5, 7, 1, 711), (10, 11, 48, 948)])
    def test_no_p_value_is_so_small_that_the_integral_claims_more(self, case):
        """The nodes miss some of it: a level just below the exact one must reject nothing."""
        k, n, r, m = case
        orders = [comb(j + r - 1, j) * comb(n - j + m - r, n - j) for j in range(k, n + 1)]
        exact = float(Fraction(sum(orders), comb(n + m, n)))
        columns = ([value] for value in (k, r, n, m, 0.999 * exact, True))
        assert Pairs(*map(np.array, columns)).bound(indistinguishable(0.0), 2.0) == 0

    @pytest.mark.parametrize(
        ("curves", "parameter"), [(GAUSSIAN, 0.7), (ADVANTAGE, 0.2), (indistinguishable(0.02), 1.0)]
    )
    @pytest.mark.parametrize("case", [(35, 1000, 9, 1000), (70, 100, 30, 90), (4, 30, 200, 5000)])
    def test_p_values_of_every_family_against_simulation(self, curves, parameter, case):
        k, n, r, m = case
        rng = np.random.default_rng(1)
        u, v = rng.beta(r, m - r + 1, 400_000), rng.beta(k, n - k + 1, 400_000)
        truth = np.mean(v <= curves.forward(u, parameter))
        error = np.sqrt(truth * (1 - truth) / 400_000) + 1e-5
        assert p_value(*case, curves, parameter) == pytest.approx(truth, abs=4 * error)
        assert np.mean(curves.backward(v, parameter) <= u) == pytest.approx(truth, abs=1e-9)

    def test_scores_without_chance_give_known_bounds(self):
        inside, outside = shifted_quantiles()
        pairs = Pairs.of(Order.of(inside, outside, higher_is_member=True, rng=0), 0.05)
        assert pairs.ranks.tolist() == [1, 3, 9, 27, 81, 243] * 2
        assert pairs.hits.tolist() == [11, 35, 83, 175, 344, 619] * 2
        levels = [0.01219087, 0.00629882, 0.00333963, 0.00185673, 0.00111445, 0.0007431]
        assert pairs.levels.tolist() == pytest.approx(levels * 2, rel=1e-5)
        assert 1 - np.prod(1 - pairs.levels) == pytest.approx(0.05, rel=1e-12)
        result = audit(inside, outside, delta=1e-5, method="simultaneous")
        assert result.epsilon_lower == pytest.approx(1.403926, abs=1e-5)
        assert result.epsilon(0.0) == pytest.approx(1.404062, abs=1e-5)
        assert result.mu_lower == pytest.approx(0.812246, abs=1e-5)
        assert pairs.bound(ADVANTAGE, 1.0) == pytest.approx(0.309555, abs=1e-5)

    def test_the_bound_is_the_largest_rejected_epsilon_of_any_pair(self):
        pairs = Pairs.of(Order.of(*normal_scores(3), higher_is_member=True, rng=0), 0.05)
        curves = indistinguishable(1e-3)
        bound = pairs.bound(curves, 2.0)
        every = np.arange(pairs.hits.size)
        test = PairTest.of(pairs, curves)
        assert (test.p_values(bound, every) <= pairs.levels).any()
        assert not (test.p_values(bound + 1e-6, every) <= pairs.levels).any()


class TestTies:
    @given(st.integers(0, 10**6))
    @settings(max_examples=40)
    def test_both_tails_see_one_order(self, seed):
        rng = np.random.default_rng(seed)
        inside = rng.integers(0, 4, rng.integers(1, 30)).astype(float)
        outside = rng.integers(0, 4, rng.integers(1, 30)).astype(float)
        order = Order.of(inside, outside, higher_is_member=True, rng=seed)
        n_in, n_out = inside.size, outside.size
        hits = order.hits(np.arange(1, n_out + 1))
        assert (np.diff(hits) >= 0).all()
        # The r-th largest out-score has hits[r] in-scores above, so that of the in-scores the s-th
        # smallest lies above all out-scores that have at least n_in - s + 1 of them above.
        places = np.arange(1, n_in + 1)
        expected = [(hits >= n_in - s + 1).sum() for s in places]
        assert order.rejections(places).tolist() == expected
        strict = [(inside > x).sum() for x in np.sort(outside)[::-1]]
        loose = [(inside >= x).sum() for x in np.sort(outside)[::-1]]
        assert (strict <= hits).all()
        assert (hits <= loose).all()

    def test_a_tie_is_broken_by_fair_chance(self):
        hits = [
            Order.of(np.ones(3), np.ones(4), higher_is_member=True, rng=seed).hits(np.array([1]))[0]
            for seed in range(4000)
        ]
        # P(h in-scores before the first of 4 out-scores), all orders being equally likely.
        for count, chance in enumerate([4 / 7, 3 / 7 * 4 / 6, 3 / 7 * 2 / 6 * 4 / 5]):
            share = hits.count(count) / 4000
            assert share == pytest.approx(chance, abs=4 * np.sqrt(chance / 4000))

    def test_the_order_of_the_scores_does_not_matter(self):
        rng = np.random.default_rng(0)
        inside, outside = rng.integers(0, 3, 500), rng.integers(0, 3, 500)
        first = audit(inside, outside)
        again = audit(rng.permutation(inside), rng.permutation(outside))
        assert first.to_dict() == again.to_dict()

    def test_the_seed_matters_only_with_ties(self):
        inside, outside = normal_scores(0)
        one, other = (audit(inside, outside, rng=seed, method="simultaneous") for seed in (0, 5))
        assert one.to_dict() == other.to_dict()
        rough = np.round(inside), np.round(outside)
        bounds = [audit(*rough, rng=seed, method="simultaneous").epsilon_lower for seed in range(5)]
        assert len(set(bounds)) > 1

    def test_other_draws_change_a_calibrated_bound_little(self):
        inside, outside = normal_scores(0, n_in=2000, n_out=2000)
        bounds = [audit(inside, outside, rng=seed).epsilon_lower for seed in range(8)]
        assert 0 < np.std(bounds) < 0.03 * np.mean(bounds)


class TestInvariance:
    @pytest.mark.parametrize("seed", range(3))
    def test_only_the_order_counts(self, seed):
        inside, outside = normal_scores(seed)
        first, again = audit(inside, outside), audit(np.exp(inside), np.exp(outside))
        assert first.to_dict() == again.to_dict()

    @pytest.mark.parametrize("seed", range(3))
    def test_exchanged_and_negated_worlds_give_the_same_bounds(self, seed):
        inside, outside = normal_scores(seed)
        first = audit(inside, outside, method="simultaneous")
        again = audit(-outside, -inside, method="simultaneous")
        assert first.epsilon_lower == pytest.approx(again.epsilon_lower, abs=1e-9)
        assert first.mu_lower == pytest.approx(again.mu_lower, abs=1e-9)
        assert first.auc.low == pytest.approx(again.auc.low, abs=1e-12)

    def test_lower_scores_of_members_are_told_by_a_flag(self):
        inside, outside = normal_scores(1)
        flipped = audit(-inside, -outside, higher_is_member=False)
        assert flipped.to_dict() == audit(inside, outside).to_dict()
        assert audit(-inside, -outside, allow_reversed=True).epsilon_lower == 0

    @pytest.mark.parametrize("seed", range(3))
    def test_larger_member_scores_prove_no_less(self, seed):
        inside, outside = normal_scores(seed)
        bumped = inside + np.random.default_rng(seed).exponential(0.3, inside.size)
        first, again = (audit(x, outside, method="simultaneous") for x in (inside, bumped))
        assert again.epsilon_lower >= first.epsilon_lower
        assert again.mu_lower >= first.mu_lower

    def test_epsilon_falls_with_delta_and_rises_with_error(self):
        inside, outside = normal_scores(4, mu=2.0)
        result = audit(inside, outside, method="simultaneous")
        bounds = [result.epsilon(delta) for delta in (0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9)]
        assert bounds == sorted(bounds, reverse=True)
        assert bounds[0] == result.epsilon_lower > bounds[-1] == 0
        for method in ("calibrated", "simultaneous", "rank-sum"):
            sure, usual = (
                audit(inside, outside, confidence=level, method=method).epsilon_lower
                for level in (0.999, 0.95)
            )
            assert 0 < sure < usual

    @pytest.mark.parametrize("method", ["calibrated", "simultaneous"])
    def test_one_direction_takes_the_whole_error(self, method):
        """Only the largest scores of members leak."""
        rng = np.random.default_rng(6)
        inside, outside = rng.normal(4.0 * (rng.random(2000) < 0.1)), rng.normal(size=2000)
        up, down, both = (
            audit(inside, outside, method=method, direction=one).epsilon_lower
            for one in ("in", "out", "both")
        )
        assert up > both > down


class TestAwkwardScores:
    def test_constant_scores_prove_nothing(self):
        result = audit(np.ones(1000), np.ones(1000))
        assert result.epsilon_lower == result.mu_lower == 0
        assert result.advantage.value == result.advantage.low == 0
        assert result.auc.value == result.hull_auc.value == 0.5
        assert result.tpr_at_fpr[0.1].value == pytest.approx(0.1)

    @pytest.mark.parametrize(("n_in", "n_out"), [(1, 1), (1, 5), (5, 1), (2, 3)])
    def test_few_scores_prove_little(self, n_in, n_out):
        result = audit(np.arange(n_in) + 10.0, np.arange(n_out))
        assert result.epsilon_lower < 0.5
        for interval in (
            result.advantage,
            result.auc,
            result.hull_auc,
            *result.tpr_at_fpr.values(),
        ):
            assert 0 <= interval.low <= interval.value <= interval.high <= 1

    def test_separated_scores_prove_what_their_number_allows(self):
        bounds = []
        for n in (10, 100, 1000, 10_000):
            result = audit(np.arange(n) + n, np.arange(n))
            assert result.advantage.value == result.auc.value == result.advantage.high == 1
            bounds.append(result.epsilon_lower)
        assert bounds == sorted(bounds)
        # U ~ Beta(1, n), V near 1: nobody can say more than P(U >= e^-eps) = 5% allows.
        assert 7 < bounds[-1] < np.log(10_000 / -np.log(0.95))

    def test_infinite_scores_are_scores(self):
        inside = np.array([np.inf] * 40 + [0.0] * 60)
        outside = np.array([-np.inf] * 50 + [0.0] * 50)
        finite = audit(np.nan_to_num(inside), np.nan_to_num(outside))
        assert audit(inside, outside).to_dict() == finite.to_dict()
        assert finite.epsilon_lower > 1

    def test_unequal_numbers(self):
        rng = np.random.default_rng(0)
        result = audit(rng.normal(2, 1, 100), rng.normal(0, 1, 20_000))
        assert result.epsilon_lower > 1
        assert 1.5 < result.mu_lower < 2

    def test_scores_in_a_column_and_of_any_kind(self):
        inside, outside = normal_scores(0)
        flat = audit(inside.astype(np.float32), outside.astype(np.float32))
        shaped = audit(
            inside.astype(np.float32).reshape(-1, 1), outside.astype(np.float32).tolist()
        )
        assert shaped.to_dict() == flat.to_dict()

    @pytest.mark.parametrize(
        ("library", "kind"),
        [("pandas", "Series"), ("polars", "Series"), ("pyarrow", "array"), ("torch", "tensor")],
    )
    def test_scores_of_any_library(self, library, kind):
        make = getattr(pytest.importorskip(library), kind)
        inside, outside = normal_scores(0)
        given = audit(make(inside), make(outside), method="simultaneous")
        assert given.to_dict() == audit(inside, outside, method="simultaneous").to_dict()

    @pytest.mark.parametrize("method", ["calibrated", "simultaneous", "rank-sum"])
    def test_what_fails_with_delta_near_1_is_not_refuted(self, method):
        inside, outside = np.arange(100) + 100, np.arange(100)
        for delta in (0.97, 1 - 1e-12, np.nextafter(1.0, 0.0)):
            assert audit(inside, outside, delta=delta, method=method).epsilon_lower == 0

    def test_bounds_fall_with_confidence_to_nothing(self):
        inside, outside = normal_scores(0)
        levels = (0.5, 0.75, 0.95, 0.9999999, 1 - 1e-11, np.nextafter(1.0, 0.0))
        results = [audit(inside, outside, confidence=x, method="simultaneous") for x in levels]
        for name in ("epsilon_lower", "mu_lower"):
            bounds = [getattr(result, name) for result in results]
            assert bounds == sorted(bounds, reverse=True)
            assert bounds[3] > bounds[-1] == 0
        lows = [result.advantage.low for result in results]
        assert lows == sorted(lows, reverse=True)

    def test_the_scores_are_left_as_they_are(self):
        inside, outside = normal_scores(0)
        kept = inside.copy(), outside.copy()
        audit(inside, outside, higher_is_member=False, allow_reversed=True)
        assert (inside == kept[0]).all()
        assert (outside == kept[1]).all()
        inside[0] += 1.0  # it is still the caller's


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"in_scores": []}, "in_scores must hold at least one score"),
        ({"out_scores": []}, "out_scores must hold at least one score"),
        (
            {"in_scores": [1.0, np.nan, 2.0, np.nan]},
            r"in_scores must be free of NaN, which 2 of 4 are; got in_scores\[1\] = nan",
        ),
        ({"delta": 1.0}, "delta must be at least 0 and less than 1; got delta = 1.0"),
        ({"delta": -0.1}, "delta must be at least 0 and less than 1; got delta = -0.1"),
        ({"confidence": 0.0}, "confidence must be strictly between 0 and 1; got confidence = 0.0"),
        ({"confidence": 0.99999}, "confidence must be at most 0.99998 for calibrated bounds"),
        ({"confidence": 1.0}, "confidence must be strictly between 0 and 1; got confidence = 1.0"),
        ({"fpr": [0.1, 1.5]}, r"fpr must be between 0 and 1; got fpr\[1\] = 1.5"),
        ({"direction": "up"}, "direction must be .*; got direction = 'up'"),
        ({"method": "exact"}, "method must be .*; got method = 'exact'"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"in_scores": [1.0, 2.0], "out_scores": [0.0]} | change
    with pytest.raises(ValueError, match=message):
        audit(arguments.pop("in_scores"), arguments.pop("out_scores"), **arguments)


def test_methods_name_bad_input():
    result = audit([1.0], [0.0])
    with pytest.raises(ValueError, match="delta must be at least 0 and less than 1; got delta = 2"):
        result.epsilon(2.0)


def test_words_are_no_scores():
    with pytest.raises(TypeError, match="in_scores must be an array of real numbers"):
        audit(["high"], [0.0])


class TestCost:
    def test_two_copies_and_what_does_not_grow(self):
        def beyond(size, **kwargs):
            scores = np.random.default_rng(0).normal([[1.0], [0.0]], 1.0, (2, size))
            tracemalloc.start()
            try:
                audit(*scores, delta=1e-5, **kwargs)
                return tracemalloc.get_traced_memory()[1] - scores.nbytes
            finally:
                tracemalloc.stop()

        beyond(1000)  # what the first call imports
        assert beyond(600_000) < beyond(20_000) + 1_500_000

    def test_each_score_is_sorted_once(self, monkeypatch):
        sizes = []

        def counted(sort):
            def call(values, *args, **kwargs):
                sizes.append(np.size(values))
                return sort(values, *args, **kwargs)

            return call

        for name in ("sort", "argsort"):
            monkeypatch.setattr(np, name, counted(getattr(np, name)))
        scores = normal_scores(3)
        assert audit(*scores, delta=1e-5).advantage.low > 0
        assert [size for size in sizes if size >= min(map(np.size, scores))] == [
            np.size(side) for side in scores
        ]


class TestMeasuredCurve:
    def test_power_and_areas_are_those_of_the_curve(self):
        rng = np.random.default_rng(0)
        for inside, outside in (normal_scores(2), rng.integers(0, 5, (2, 60))):
            result = audit(inside, outside, fpr=[0, 0.01, 0.25, 0.5, 1])
            curve = EmpiricalTradeOff(inside, outside)
            for fpr, power in result.tpr_at_fpr.items():
                assert power.value == pytest.approx(curve.power(fpr), abs=1e-12)
                assert power.low <= power.value <= power.high
            assert result.auc.value == pytest.approx(curve.auc, abs=1e-14)
            assert result.hull_auc.value == pytest.approx(curve.hull_auc, abs=1e-14)
            assert result.advantage.value == pytest.approx(curve.advantage, abs=1e-14)
            assert result.tradeoff.advantage == curve.advantage

    def test_it_prints_and_travels(self):
        result = audit(*normal_scores(0), delta=1e-5)
        assert isinstance(result, AuditResult)
        text = f"AuditResult(epsilon_lower={result.epsilon_lower:.6g}, mu_lower="
        assert repr(result).startswith(text)
        content = json.loads(json.dumps(result.to_dict()))
        assert content["kind"] == "bound"
        assert content["epsilon_lower"] == result.epsilon_lower
        assert content["tpr_at_fpr"][1]["fpr"] == 0.01
        assert content["advantage"]["kind"] == "estimate"
