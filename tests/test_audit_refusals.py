"""Inputs of an audit that look like a misunderstanding, and what says how far an audit reaches."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mialeak._checks.audits.copies import check_resampled, refuse_copies, refuse_repeats
from mialeak._numerics.order import Order
from mialeak._numerics.rank_tests import Pairs, indistinguishable
from mialeak._report.text import at_most
from mialeak.auditing import audit, audit_power, one_run_audit
from mialeak.auditing._checks import require_direction
from mialeak.auditing._intervals import area_interval
from mialeak.cli import main
from mialeak.tradeoff import EmpiricalTradeOff, GaussianTradeOff
from mialeak.training import dp_sgd_audit


def of_one_run(seed=0, m=1000, shift=1.5):
    """Scores of canaries that leak, and the coins."""
    rng = np.random.default_rng(seed)
    member = rng.integers(0, 2, m)
    return rng.normal(shift * member), member


def saved(folder, **arrays):
    """Paths of .npy files, in the order given."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return [str(folder / f"{name}.npy") for name in arrays]


def refused(capsys, *arguments):
    """The one line of an error."""
    capsys.readouterr()
    assert main(["audit", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


class TestFlags:
    """Scores and flags of one run, given as the scores of two worlds."""

    @pytest.mark.parametrize("kind", [float, np.int8, bool])
    def test_flags_are_no_scores(self, kind):
        scores, member = of_one_run()
        flags = member.astype(kind)
        with pytest.raises(ValueError, match=r"out_scores must .*one_run_audit\(scores, member\)"):
            audit(scores, flags)
        with pytest.raises(ValueError, match=r"in_scores must .*one_run_audit\(scores, member\)"):
            audit(flags, scores, higher_is_member=False)

    def test_a_matrix_of_booleans_is_refused_even_if_all_are_true(self):
        losses = np.random.default_rng(0).normal(size=600)
        for flags in (
            losses.reshape(20, 30) > 0,
            np.ones((20, 30), bool),
            [[True, False], [False, True]],
            [True],
        ):
            with pytest.raises(ValueError, match=r"out_scores must be scores .* booleans"):
                audit(-losses, flags)

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "torch"])
    def test_booleans_of_any_library(self, library):
        module = pytest.importorskip(library)
        make = {"pyarrow": "array", "torch": "tensor"}.get(library, "Series")
        with pytest.raises(ValueError, match=r"out_scores must be scores .* booleans"):
            audit([1.0, 2.0], getattr(module, make)([True, True]))

    def test_signs_are_flags_beside_scores_and_guesses_beside_signs(self):
        scores, member = of_one_run()
        with pytest.raises(ValueError, match=r"out_scores must be scores .* -1 or 1"):
            audit(scores, 2 * member - 1)
        rng = np.random.default_rng(1)
        guesses = [2 * (rng.random(1000) < right) - 1 for right in (0.7, 0.3)]
        assert audit(*guesses).epsilon_lower > 0.5
        with pytest.raises(ValueError, match=r"in_scores must .* as -1 and 1"):
            audit(*(0.5 * (1 + guess) for guess in guesses))

    def test_the_scores_of_one_world_twice(self, capsys, tmp_path):
        scores, member = of_one_run()
        with pytest.raises(ValueError, match="out_scores must be draws of their own"):
            audit(scores, scores[::-1])
        with pytest.raises(ValueError, match="scores must be scores of an attack; they are the"):
            one_run_audit(member, member)
        assert one_run_audit(2 * member - 1, member).epsilon_lower > 2
        assert audit([0.0, 0.5, 1.0], [0.0, 0.5, 1.0]).epsilon_lower == 0
        (path,) = saved(tmp_path, scores=scores)
        assert "must be draws of their own" in refused(capsys, path, path, "--max-epsilon", "1")

    def test_ordinary_scores_with_a_0_and_a_1_among_them_are_scores(self):
        assert audit([0.0, 1.0, 0.5], [0.0, 1.0, -0.5]).n_in == 3
        assert audit([1.0, 1.0], [0.0]).n_out == 1

    def test_the_shell_names_one_run(self, capsys, tmp_path):
        scores, member = of_one_run()
        paths = saved(tmp_path, scores=-scores, member=member)
        message = refused(capsys, *paths, "--lower-is-member")
        assert message.startswith(f"{paths[1]} must be scores of an attack")
        assert "add --one-run" in message
        assert main(["audit", *paths, "--lower-is-member", "--one-run"]) == 0


class TestCopies:
    """Scores that stand there several times are no independent draws."""

    def test_scores_of_runs_repeated(self):
        inside, outside = np.random.default_rng(0).normal(size=(2, 21))
        for copies in (2, 3, 100):
            for worlds in (
                (np.repeat(inside, copies), outside),
                (inside, np.tile(outside, copies)),
            ):
                with pytest.raises(ValueError, match=rf"be independent; .* occurs {copies} times"):
                    audit(*worlds, allow_reversed=True)
        member = np.random.default_rng(0).permutation(21) % 2
        with pytest.raises(ValueError, match="scores must be independent"):
            one_run_audit(np.tile(inside, 10), np.tile(member, 10), allow_reversed=True)

    def test_scores_of_few_values_are_no_copies(self):
        """The probability that 20 counts are even is about 2^-19, that of fewer larger."""
        values = np.repeat(np.arange(20.0), 2)
        assert audit(values, np.append(values, 20.0)).n_in == 40
        rng = np.random.default_rng(1)
        for place in range(200):
            worlds = rng.integers(0, 8, (2, 100)) / 8
            order = Order.of(*worlds, higher_is_member=True, rng=0)
            refuse_copies(order.inside, order.outside)
            refuse_repeats(order)
            assert check_resampled(order) == []
            if place < 5:
                audit(*worlds, method="simultaneous", fpr=(), allow_reversed=True)

    def test_scores_drawn_again_from_a_smaller_number(self):
        """Fifteen runs of each world, resampled to 500 where nothing leaks, proved 3."""
        rng = np.random.default_rng(0)
        few = rng.normal(size=30)
        worlds = rng.choice(few[:15], 500), rng.choice(few[15:], 500)
        message = "must be independent; 1000 scores have 30 values, each in one world only"
        with pytest.raises(ValueError, match=message):
            audit(*worlds, allow_reversed=True)
        member = np.arange(30) % 7 % 2  # 13 of 30
        while True:
            drawn = rng.integers(0, 30, 400)
            if 170 < member[drawn].sum() < 230:
                break
        with pytest.raises(ValueError, match="scores must be independent; 400 scores have 30"):
            one_run_audit(few[drawn], member[drawn], allow_reversed=True)

    def test_ties_of_a_perfect_attack_and_of_rounded_scores_are_taken(self):
        rng = np.random.default_rng(0)
        high, low = rng.integers(20, 40, 400), rng.integers(0, 20, 400)
        assert audit(high, low).epsilon_lower > 4.0
        assert audit(low, high, allow_reversed=True).epsilon_lower == 0.0
        for digits in (0, 1, 2):
            for mu in (0.0, 1.0, 4.0):
                inside, outside = np.round(rng.normal(mu, 1, 400), digits), rng.normal(0, 1, 400)
                worlds = inside, np.round(outside, digits)
                audit(*worlds, allow_reversed=True, method="simultaneous", fpr=())

    def test_rates_of_a_measured_curve(self):
        fpr = np.linspace(0.0, 1.0, 50)
        for rates in ((fpr**0.4, fpr), (fpr, fpr**0.4), (fpr[::-1] ** 0.4, fpr[::-1])):
            for function in (audit, EmpiricalTradeOff):
                with pytest.raises(ValueError, match=r"in_scores must be scores .* as rates do"):
                    function(*rates)
        saturated = np.array(
            [[0, 0, 0, 0.1, 0.3, 0.5, 0.8, 1, 1], [0, 0, 0.1, 0.2, 0.4, 0.6, 1, 1, 1]]
        )
        assert EmpiricalTradeOff(*saturated).n_in == 9
        audit(*saturated, allow_reversed=True)

    def test_scores_of_shadow_models_by_examples(self):
        matrix = np.random.default_rng(0).normal(size=(16, 50))
        message = r"out_scores must have one score for each run; its shape is \(16, 50\)"
        with pytest.raises(ValueError, match=message):
            audit(matrix[:, 0], matrix)
        for column in (matrix[:, :1], matrix[:1], matrix[None, :, 0]):
            audit(column, column[..., ::-1] + 1e-3, allow_reversed=True)


class TestExchanged:
    @pytest.mark.parametrize("confidence", [0.05, 1e-300, 0.4999])
    def test_a_significance_level_is_no_confidence(self, confidence):
        scores, member = of_one_run()
        message = "confidence must be at least 0.5; .* pass 0.95" if confidence == 0.05 else "0.5; "
        for call in (
            lambda: audit(scores, scores - 1.0, confidence=confidence),
            lambda: one_run_audit(scores, member, confidence=confidence),
            lambda: audit_power(0.5, GaussianTradeOff(2.0), confidence=confidence),
        ):
            with pytest.raises(ValueError, match=message):
                call()

    def test_a_training_is_not_begun_with_them(self):
        def train(member):
            raise AssertionError

        for options in ({"confidence": 95}, {"delta": 2.0}, {"guesses": (90, 90)}):
            with pytest.raises(ValueError, match=f"{next(iter(options))}"):
                dp_sgd_audit(train, 100, rng=0, **options)

    def test_delta_in_place_of_epsilon(self):
        scores, member = of_one_run()
        message = r"exchanged; .* has epsilon 0\.9 and delta 1e-05"
        with pytest.raises(ValueError, match=message):
            audit(scores, scores - 1.0, claimed_epsilon=1e-5, delta=0.9)
        with pytest.raises(ValueError, match="exchanged"):
            one_run_audit(scores, member, claimed_epsilon=0.01, delta=0.1)
        assert audit(scores, scores - 1.0, claimed_epsilon=0.0, delta=0.1).verdict


class TestDirection:
    """Losses, the sign forgotten: the area lies below 1/2 beyond its interval."""

    @staticmethod
    def losses():
        rng = np.random.default_rng(3)
        return rng.gamma(1.0, 1.0, 1500), rng.gamma(1.0, 2.0, 1500)

    def test_scores_that_point_the_other_way_are_refused_with_the_cure(self):
        inside, outside = self.losses()
        message = r"in_scores must .*area under their curve is 0\.3.*higher_is_member=False"
        with pytest.raises(ValueError, match=message):
            audit(inside, outside)
        with pytest.raises(ValueError, match=r"in_scores must .*higher_is_member=True"):
            audit(-inside, -outside, higher_is_member=False)
        assert audit(inside, outside, higher_is_member=False).epsilon_lower > 0.3

    def test_who_wants_them_as_they_are_says_so(self):
        inside, outside = self.losses()
        result = audit(inside, outside, allow_reversed=True)
        assert result.epsilon_lower == 0
        assert result.auc.high < 0.5

    def test_the_gate_does_not_pass(self, capsys, tmp_path):
        paths = saved(tmp_path, inside=self.losses()[0], outside=self.losses()[1])
        message = refused(capsys, *paths, "--max-epsilon", "2")
        assert message.startswith(f"{paths[0]} must tend to be larger")
        assert "--lower-is-member" in message
        assert "higher_is_member" not in message
        assert "allow_reversed" not in message
        assert main(["audit", *paths, "--max-epsilon", "0.1", "--lower-is-member"]) == 2
        capsys.readouterr()
        assert main(["audit", *paths, "--max-epsilon", "2", "--allow-reversed"]) == 0
        assert "scores point the other way" in " ".join(capsys.readouterr().out.split())

    @pytest.mark.parametrize(("n_in", "n_out", "stride"), [(7, 5, 3), (100, 40, 8), (60, 90, 60)])
    def test_the_area_of_each_so_many_scores_is_smaller_by_a_stride_at_most(
        self, n_in, n_out, stride
    ):
        rng = np.random.default_rng(n_in)
        inside, outside = rng.integers(0, 9, n_in), rng.integers(0, 7, n_out)
        order = Order.of(inside, outside, higher_is_member=True, rng=0)
        pairs = (inside[:, None] > outside) + 0.5 * (inside[:, None] == outside)
        assert area_interval(order, 0.95).value == pytest.approx(pairs.mean(), abs=1e-15)
        least = np.sort(inside)[np.arange(n_in) // stride * stride]
        pairs = (least[:, None] > outside) + 0.5 * (least[:, None] == outside)
        coarse = area_interval(order, 0.95, stride)
        assert coarse.value == pytest.approx(pairs.mean(), abs=1e-15)
        assert coarse.high <= area_interval(order, 0.95).high

    def test_an_area_just_above_the_edge_is_audited_whatever_the_stride(self):
        """High end of the interval 0.5 + 1e-5: below 1/2 by each so many scores."""
        size = 20_000
        outside = np.arange(size) + 0.5
        least = np.log(40.0) / size
        inside = np.random.default_rng(0).permutation(size) - float(int(size * np.sqrt(least / 2)))
        order = Order.of(inside, outside, higher_is_member=True, rng=0)
        exact = area_interval(order, 0.95).high
        assert area_interval(order, 0.95, size // 1024).high < 0.5 <= exact < 0.501
        assert audit(inside, outside, fpr=()).epsilon_lower == 0

    def test_one_run(self, capsys, tmp_path):
        scores, member = of_one_run(m=5000, shift=0.5)
        message = r"scores must .*area under their curve is 0\.3.*higher_is_member=False"
        with pytest.raises(ValueError, match=message):
            one_run_audit(-scores, member)
        assert one_run_audit(-scores, member, allow_reversed=True).epsilon_lower == 0
        assert one_run_audit(-scores, member, higher_is_member=False).epsilon_lower > 0
        paths = saved(tmp_path, scores=-scores, member=member)
        message = refused(capsys, *paths, "--one-run")
        assert message.startswith(f"{paths[0]} must tend to be larger")

    def test_scores_that_know_nothing_are_seldom_refused(self):
        """At most 2.5 % by the bound of the area; its normal law gives 5e-4."""
        rng, count = np.random.default_rng(4), 0
        for _ in range(2000):
            worlds = rng.normal(size=(2, 60))
            try:
                order = Order.of(*worlds, higher_is_member=True, rng=0)
                require_direction(order, higher_is_member=True)
            except ValueError:
                count += 1
        assert count <= 8  # of 2,000 at 5e-4 more than 8 have a probability of 2e-6


class TestEqualScores:
    @pytest.mark.parametrize("method", ["calibrated", "simultaneous", "rank-sum"])
    def test_they_prove_nothing_at_any_size(self, method):
        for n in (5, 144, 145, 148, 150, 151, 154):
            for direction in ("both", "in", "out"):
                result = audit(np.zeros(n), np.zeros(n), method=method, direction=direction)
                assert result.epsilon_lower == result.mu_lower == result.advantage.low == 0
                assert result.epsilon(1e-5) == 0

    def test_nor_in_one_run(self):
        member = np.random.default_rng(0).permutation(144) % 2
        every = [one_run_audit(np.zeros(144), member, rng=seed) for seed in range(60)]
        assert {result.epsilon_lower for result in every} == {0.0}

    def test_ties_of_other_counts_are_ordered_anew(self):
        """At one size and one seed the false claims of one order differ from data to data."""
        rng, size, claims = np.random.default_rng(5), 151, 0
        for _ in range(400):
            worlds = (rng.random((2, size)) < 0.5) * 2.0
            order = Order.of(*worlds, higher_is_member=True, rng=0)
            claims += Pairs.of(order, 0.05).bound(indistinguishable(0.0), 2.0) > 0
        assert 0 < claims <= 400 * 0.05 + 4 * np.sqrt(400 * 0.05 * 0.95)


class TestReach:
    """What the number of scores allows, and claims held against it."""

    def test_no_scores_of_this_number_prove_more(self):
        rng = np.random.default_rng(0)
        for n_in, n_out, delta in ((30, 50, 0.0), (400, 300, 1e-5), (100, 2000, 0.01)):
            for method in ("calibrated", "simultaneous"):
                weak = audit(
                    rng.normal(0.5, 1, n_in), rng.normal(0, 1, n_out), delta=delta, method=method
                )
                perfect = audit(
                    np.arange(n_in) + 9.0 * n_out, np.arange(n_out), delta=delta, method=method
                )
                assert weak.provable_epsilon == perfect.epsilon_lower == perfect.provable_epsilon
                # V is near 1 and P(U >= e^-epsilon) is the error: nobody can prove more.
                assert weak.provable_epsilon < np.log(n_out / -np.log(0.95)) + 1

    @pytest.mark.parametrize("guesses", [None, (20, 0), [(50, 50), (10, 10)]])
    @pytest.mark.parametrize("delta", [0.0, 1e-3])
    def test_nor_canaries_of_this_number(self, guesses, delta):
        scores, member = of_one_run(m=200)
        weak = one_run_audit(scores, member, guesses=guesses, delta=delta)
        perfect = one_run_audit(
            member + 1e-3 * np.arange(200), member, guesses=guesses, delta=delta
        )
        assert weak.provable_epsilon == perfect.epsilon_lower == perfect.provable_epsilon
        assert weak.epsilon_lower < weak.provable_epsilon

    def test_three_verdicts(self):
        rng = np.random.default_rng(1)
        scores = rng.normal(2, 1, 500), rng.normal(0, 1, 500)
        bound, most = audit(*scores).epsilon_lower, audit(*scores).provable_epsilon
        assert audit(*scores).verdict is None
        for claim, verdict in (
            (0.0, "refuted"),
            (bound - 1e-9, "refuted"),
            (bound, "not refuted"),
            (most - 1e-9, "not refuted"),
            (most, "not testable"),
            (50.0, "not testable"),
        ):
            result = audit(*scores, claimed_epsilon=claim)
            assert (result.claimed_epsilon, result.verdict) == (claim, verdict)
            assert result.to_dict()["verdict"] == verdict
        scores, member = of_one_run(m=300)
        for claim, verdict in ((0.1, "refuted"), (2.5, "not refuted"), (5.5, "not testable")):
            assert one_run_audit(scores, member, claimed_epsilon=claim).verdict == verdict

    @pytest.mark.parametrize("claim", [-0.1, np.nan, np.inf])
    def test_a_claim_is_a_number(self, claim):
        with pytest.raises(ValueError, match="claimed_epsilon must be"):
            audit([1.0, 2.0], [0.0, 3.0], claimed_epsilon=claim)
        with pytest.raises(ValueError, match="claimed_epsilon must be"):
            one_run_audit([1.0, 2.0], [0, 1], claimed_epsilon=claim)

    @pytest.mark.parametrize("one_run", [False, True])
    @pytest.mark.parametrize(
        ("claim", "code", "verdict"),
        [("0.5", 2, "refuted"), ("2.9", 0, "not refuted"), ("9", 3, "not testable")],
    )
    def test_the_shell_exits_by_verdict(self, capsys, tmp_path, one_run, claim, code, verdict):
        scores, member = of_one_run(m=400, shift=2.0)
        pair = (scores, member) if one_run else (scores[member == 1], scores[member == 0])
        line = ["audit", *saved(tmp_path, a=pair[0], b=pair[1])] + ["--one-run"] * one_run
        assert main([*line, "--claimed-epsilon", claim]) == code
        words = " ".join(capsys.readouterr().out.split())
        kind = "a row added or removed" if one_run else "the worlds of these runs"
        assert f"The claimed epsilon {claim} ({kind}) is {verdict}" in words
        assert ("This is at delta = 0: a claim with a larger" in words) == (code == 2)
        assert "even a perfect attack proves at most" in words.lower()
        assert main([*line, "--claimed-epsilon", claim, "--json"]) == code
        content = json.loads(capsys.readouterr().out)
        assert content["claim"] == {"claimed_epsilon": float(claim), "verdict": verdict}
        if verdict == "not testable":
            assert main([*line, "--claimed-epsilon", claim, "--max-epsilon", "0.1"]) == 2

    def test_a_gate_that_cannot_close_says_so(self, capsys, tmp_path):
        paths = saved(tmp_path, a=np.arange(5.0) + 9, b=np.arange(5.0))
        assert main(["audit", *paths, "--max-epsilon", "8"]) == 3
        words = " ".join(capsys.readouterr().out.split())
        assert "this gate cannot fail: with so many scores even a perfect attack" in words


class TestControl:
    """A proof of 0 says something only beside a control that was caught."""

    def test_nothing_proved_is_untested(self):
        scores = np.random.default_rng(1).permutation(200)
        result = dp_sgd_audit(lambda member: scores, 200, rng=0)
        assert result.verdict == "untested"
        assert "control" in result.statement
        assert result.to_dict()["verdict"] == "untested"
        assert result.to_dict()["statement"] == result.statement

    def test_equal_scores_prove_nothing(self):
        def run(seed):
            return dp_sgd_audit(lambda member: np.zeros(60), 60, rng=seed)

        bounds = {run(seed).bound.epsilon_lower for seed in range(60)}
        assert bounds == {0.0}

    @pytest.mark.parametrize(
        "leak",
        [
            lambda member: member,
            lambda member: 1.0 * member,
            lambda member: ~member,
            lambda member: 0.25 - 3.0 * member,
        ],
    )
    def test_coins_are_no_scores(self, leak):
        """They would refute any claim."""
        message = r"train\(member\) must be scores of an attack; they are .* as the coins"
        with pytest.raises(ValueError, match=message):
            dp_sgd_audit(leak, 100, claimed_epsilon=1.0, rng=0)
        with pytest.raises(ValueError, match=r"control\(member\) must be scores of an attack"):
            dp_sgd_audit(np.zeros, 100, control=leak, claimed_epsilon=1.0, rng=0)

    def test_guesses_that_are_all_right_and_two_scores_are_no_coins(self):
        result = dp_sgd_audit(lambda member: 2 * member - 1, 100, claimed_epsilon=1.0, rng=0)
        assert result.verdict == "refuted"
        assert dp_sgd_audit(lambda member: np.array([3.0, 4.0]), 2, rng=0).verdict == "untested"

    def test_what_is_proved_below_the_claim_is_stated(self):
        noise = np.random.default_rng(0).normal(size=1000)
        result = dp_sgd_audit(lambda member: member + noise, 1000, claimed_epsilon=2.0, rng=0)
        assert result.verdict == "untested"
        assert 0 < result.bound.epsilon_lower < 2
        assert f"Proved is an epsilon of {at_most(result.bound.epsilon_lower)}." in result.statement

    def test_coins_on_one_side_cost_no_training(self):
        def train(member):
            assert 0 < member.sum() < member.size
            return np.arange(member.size)

        sides = [np.random.default_rng(seed).random(2) < 0.5 for seed in range(20)]
        for seed, side in enumerate(sides):
            if side.all() or not side.any():
                with pytest.raises(ValueError, match="the coins of all 2 fell on one side"):
                    dp_sgd_audit(train, 2, rng=seed)
            else:
                assert dp_sgd_audit(train, 2, rng=seed).verdict == "untested"

    def test_a_claim_is_refuted_or_untested(self):
        noise = np.random.default_rng(1).normal(size=1000)

        def train(member):
            return 4.0 * member + noise

        proved = dp_sgd_audit(train, 1000, rng=2)
        assert proved.verdict == "proved"
        result = dp_sgd_audit(train, 1000, claimed_epsilon=1.0, rng=2)
        assert result.verdict == "refuted"
        for claim in (6.0, 99.0):
            with pytest.warns(UserWarning, match=r"can prove at most 4\.6"):
                result = dp_sgd_audit(train, 1000, claimed_epsilon=claim, rng=2)
            assert result.verdict == "untested"
        assert "perfect attack" in result.statement

    def test_reversed_scores_of_a_training_are_not_thrown_away(self):
        noise = np.random.default_rng(1).normal(size=1000)
        result = dp_sgd_audit(lambda member: noise - 4.0 * member, 1000, rng=2)
        assert result.verdict == "untested"
        assert "point the other way" in result.statement
        assert result.scores.shape == (1000,)


def test_the_shell_says_that_coins_were_not_fair(capsys, tmp_path):
    paths = saved(tmp_path, scores=np.arange(100.0) ** 2, member=np.arange(100) < 95)
    message = refused(capsys, *paths, "--one-run")
    assert message.startswith(f"{paths[1]} must come of fair coins")
