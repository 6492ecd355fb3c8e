"""The verdict of dp_sgd_audit: scores that lost their canaries, canaries that hide one another."""

from __future__ import annotations

import numpy as np
import pytest
from test_training_known import clipped, dirac_training, options

from mialeak import CovarianceAttack
from mialeak.auditing import one_run_audit
from mialeak.training import dp_sgd_audit


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (np.sort, "The scores are sorted, and no longer in the order of the canaries"),
        (lambda scores: -np.sort(scores), "The scores are sorted"),
        (lambda scores: np.sort(np.round(scores)), "The scores are sorted"),
        (np.zeros_like, "All scores are equal"),
    ],
)
def test_scores_that_lost_their_canaries_are_untested_whatever_the_control_proves(change, words):
    draws = np.random.default_rng(3).normal(size=60)

    def train(member, noise=4.0):
        return 2.0 * member + noise * draws

    options = {"control": lambda member: train(member, 0.2), "claimed_epsilon": 1.0, "rng": 0}
    assert dp_sgd_audit(train, 60, **options).verdict == "not refuted"
    misread = dp_sgd_audit(lambda member: change(train(member)), 60, **options)
    assert misread.control.bound.epsilon_lower > 1.0
    assert misread.verdict == "untested"
    assert words in misread.statement
    options["control"] = lambda member: change(train(member, 0.2))
    both = dp_sgd_audit(train, 60, **options)
    assert both.verdict == "untested"
    assert f"Of the control: {words}" in both.statement


def test_scores_that_chance_may_sort_are_taken():
    """Of 8 scores 2 in 8! orders are sorted, which is more than a millionth."""
    audit = dp_sgd_audit(lambda member: np.arange(8.0), 8, rng=1)
    assert "sorted" not in audit.statement
    audit = dp_sgd_audit(lambda member: np.arange(10.0), 10, rng=1)
    assert "sorted" in audit.statement


def test_canaries_that_hide_one_another_are_named_with_the_area_that_is_lost():
    """The area of the best attack on correlated canaries, by simulated coins."""
    rng = np.random.default_rng(6)
    canaries = clipped(rng.normal(size=(80, 30)) + 1.0)
    noise = 0.25

    def train(member, seed=0):
        attack = CovarianceAttack(
            known=np.zeros((2, 200)), batch_size=40, noise_multiplier=noise, clip_norm=1.0
        )
        rows = np.concatenate([canaries, np.zeros((80, 170))], axis=1)
        draws = np.random.default_rng(seed).normal(size=200)
        attack.update(rows, (rows[member].sum(0) + noise * draws) / 40)
        return attack

    audit = dp_sgd_audit(train, 80, rng=2, claimed_epsilon=2.0)
    together, alone = audit._attack._run.areas()
    assert "The canaries hide one another: by their gradients and this noise" in audit.statement
    assert f"is {together:.2f}, and {alone:.2f} if one were alone" in audit.statement
    areas = []
    for seed in range(60):
        member = np.random.default_rng(1000 + seed).random(80) < 0.5
        scores = train(member, seed).scores()
        areas.append((scores[member][:, None] > scores[~member]).mean())
    assert np.mean(areas) == pytest.approx(together, abs=0.02)
    assert alone > 0.99


def test_canaries_of_one_kind_do_not_hide_if_they_are_orthogonal():
    train = dirac_training(40, 1, stated=2.0, noise=2.0, seed=1)
    assert "hide" not in dp_sgd_audit(train, 40, delta=1e-5, rng=1, claimed_epsilon=1.0).statement


@pytest.mark.parametrize("noise", [0.05, 0.6])
def test_the_area_that_sampled_canaries_allow_is_that_of_the_attack(noise):
    rng = np.random.default_rng(6)
    base, canaries = (clipped(rng.normal(size=(m, 60)) + 0.3) for m in (60, 30))
    rate, areas, allowed = 0.3, [], []
    for seed in range(30):
        draws = np.random.default_rng(seed)
        member = draws.random(30) < 0.5
        attack = CovarianceAttack(known=base, batch_size=18, clip_norm=1.0, **options(rate))
        for _ in range(12):
            y = base[draws.random(60) < rate].sum(0) + noise * draws.normal(size=60)
            y += canaries[(draws.random(30) < rate) & member].sum(0)
            attack.update(canaries, y / 18)
        scores = attack.scores()
        areas.append((scores[member][:, None] > scores[~member]).mean())
        allowed.append(attack._run.areas())
    assert {alone for _, alone in allowed} == {None}
    assert np.mean(areas) == pytest.approx(np.mean([area for area, _ in allowed]), abs=0.03)


def test_a_control_that_its_canaries_do_not_allow_to_catch_is_explained():
    rng = np.random.default_rng(0)
    base, canaries = clipped(rng.normal(size=(80, 20))), clipped(rng.normal(size=(60, 20)))

    def train(member, noise=2.0):
        draws = np.random.default_rng(7)
        claim = {"batch_size": 16, "noise_multiplier": 2.0, "clip_norm": 1.0}
        attack = CovarianceAttack(known=base, **claim, **options(0.2))
        for _ in range(10):
            y = base[draws.random(80) < 0.2].sum(0) + noise * draws.normal(size=20)
            y += canaries[(draws.random(60) < 0.2) & member].sum(0)
            attack.update(canaries, y / 16)
        return attack

    audit = dp_sgd_audit(train, 60, control=lambda m: train(m, 0.0), delta=1e-5, rng=1)
    assert audit.verdict == "untested"
    assert "Of the control: For these canaries, by their gradients" in audit.statement
    assert audit.statement.count("best attack") == 1


def test_a_report_has_the_numbers_of_the_training_beside_those_of_its_control():
    train, control = (
        dirac_training(60, 3, stated=2.0, noise=noise, seed=1) for noise in (2.0, 0.0)
    )
    audit = dp_sgd_audit(train, 60, control=control, delta=1e-5, rng=1)
    document = audit.document()
    assert document.answer == audit.statement
    table, notes = document.sections[0].parts
    assert table.header == ("training", "control", "quantity")
    rows = {name: numbers for *numbers, name in table.rows}
    for place, one in enumerate((audit, audit.control)):
        proved = float(rows["epsilon that is proved at delta = 1e-05"][place])
        assert one.bound.epsilon_lower * (1 - 1e-3) <= proved <= one.bound.epsilon_lower
        assert float(rows["mu that is proved"][place]) <= one.mu_lower
        assert rows["steps"][place] == "3"
        right = (one.guesses == np.where(one.member, 1, -1)).sum()
        assert rows["right guesses"][place] == str(right)
        assert rows["of which were in"][place] == str(one.member.sum())
        shown = float(rows["noise multiplier that the steps show"][place])
        assert shown == pytest.approx((2.0, 0.0)[place], rel=0.1, abs=1e-4)
    assert float(rows["mu of the stated noise"][0]) == pytest.approx(np.sqrt(3) / 2, abs=1e-4)
    assert float(rows["epsilon that an accountant states"][0]) == pytest.approx(
        audit.accountant_epsilon, abs=1e-3
    )
    assert "proves nothing of it is no evidence" in notes.lines[0]
    epsilons, scores = audit.panels()
    assert "proved of the control" in epsilons.alt
    assert "in and out" in scores.alt


def test_a_report_without_a_control_states_so_and_its_frame_is_one_run():
    rng = np.random.default_rng(4)
    draws = rng.normal(size=80)
    draws[:2] = np.inf, -np.inf
    audit = dp_sgd_audit(lambda member: member + draws, 80, rng=0)
    table, notes = audit.document().sections[0].parts
    assert table.header == ("training", "quantity")
    assert "No control was run" in notes.lines[0]
    frame = audit.to_frame()
    again = one_run_audit(frame["score"], frame["member"], allow_reversed=True)
    assert again.epsilon_lower == audit.bound.epsilon_lower
    assert (frame["guess"] == audit.guesses).all()
    assert len(audit.plot().axes) == 2
    far = dp_sgd_audit(lambda member: np.where(draws > 0.0, np.inf, -np.inf), 80, rng=0)
    assert len(far.panels()) == 1  # a histogram has finite scores


@pytest.mark.parametrize("values", [200, 4])
def test_a_training_that_loads_the_model_of_the_control_is_refused(values):
    """Scores of few values may be the same by chance."""
    rng, stored = np.random.default_rng(0), []

    def train(member):
        noise = rng.normal(size=member.size)
        stored.append(np.rint(3.0 * member + noise) % 4 if values == 4 else 3.0 * member + noise)
        return stored[0]

    if values == 4:
        dp_sgd_audit(train, 200, control=train, rng=1)
    else:
        with pytest.raises(ValueError, match=r"train must train anew.* those of the control"):
            dp_sgd_audit(train, 200, control=train, rng=1)
    assert dp_sgd_audit(lambda m: train(m) * 0 + stored[-1], 200, control=train, rng=1)


def test_scores_that_point_the_other_way_are_named_whatever_the_control_proves():
    """They were "not refuted", with 0 proved."""
    draws = np.random.default_rng(3).normal(size=400)

    def train(member, noise=1.0, sign=1.0):
        return sign * (2.0 * member + noise * draws)

    options = {"control": lambda member: train(member, 0.1), "claimed_epsilon": 2.9, "rng": 0}
    assert dp_sgd_audit(train, 400, **options).verdict != "untested"
    turned = dp_sgd_audit(lambda member: train(member, sign=-1.0), 400, **options)
    assert turned.control.bound.epsilon_lower > 2.9
    assert turned.verdict == "untested"
    assert "The scores point the other way" in turned.statement
    assert "not caught" not in turned.statement
