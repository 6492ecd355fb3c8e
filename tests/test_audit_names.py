"""Audits in Python, of Series whose names or indices contradict their use."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mialeak.auditing import audit, one_run_audit

RNG = np.random.default_rng(3)
MEMBER = (RNG.random(120) < 0.5) * 1
SCORES = RNG.normal(3.0 * MEMBER)


def called(series, values, name):
    return series(values, name=name) if series is pd.Series else series(name, values)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
@pytest.mark.parametrize(
    ("score", "member", "words"),
    [
        ("score", "y_true", "member must hold 1 for members; 'y_true' is what the classes of a"),
        ("score", "label", "member must hold 1 for members; 'label' is what the classes of a"),
        ("score", "held_out", "member must hold 1 for members; its flags are called 'held_out'"),
        ("score", "prediction", "'prediction' is what guesses of attacks are called"),
        ("loss", "member", "it has scores called 'loss', .* Pass higher_is_member=False"),
    ],
)
def test_names_of_series_of_canaries_are_those_of_their_use(series, score, member, words):
    values, flags = called(series, SCORES, score), called(series, MEMBER, member)
    with pytest.raises(ValueError, match=words):
        one_run_audit(values, flags)
    expected = one_run_audit(SCORES, MEMBER).epsilon_lower
    flags = flags.rename("in_train")
    assert one_run_audit(values, flags, allow_reversed=True).epsilon_lower == expected
    assert one_run_audit(values.rename("confidence"), flags).epsilon_lower == expected


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_training_and_test_losses_are_no_separate_runs(series):
    losses = RNG.exponential(1.0, 60), RNG.exponential(2.0, 60)
    named = [
        called(series, *each) for each in zip(losses, ("train_loss", "test_loss"), strict=True)
    ]
    with pytest.raises(ValueError, match=r"in_scores must be scores of separate runs; by their na"):
        audit(*named, higher_is_member=False)
    named = [called(series, each, "loss") for each in losses]
    expected = audit(*losses, higher_is_member=False).epsilon_lower
    assert audit(*named, higher_is_member=False).epsilon_lower == expected
    with pytest.raises(ValueError, match=r"of which small values .* Pass higher_is_member=False"):
        audit(*named)


def test_an_index_of_rows_is_no_score():
    rows = pd.Series(np.arange(120), name="step")
    with pytest.raises(ValueError, match="scores must hold scores of an attack; 'step' counts its"):
        one_run_audit(rows, MEMBER)
    one_run_audit(
        rows.rename("rank").sample(frac=1.0, random_state=0).reset_index(drop=True), MEMBER
    )


def test_scores_fitted_to_other_models_have_a_caution_by_their_name():
    for name, count in (("lira", 1), ("confidence", 0)):
        document = one_run_audit(pd.Series(SCORES, name=name), MEMBER).document()
        assert len(document.cautions) == count


def test_an_index_that_names_runs_has_each_once():
    """An index without a name, and one of other values, are taken."""
    runs = RNG.permutation(np.repeat(np.arange(20), 4))
    for name, index in ((None, runs), ("run", np.arange(80)), ("host", runs % 4), ("seed", runs)):
        frame = pd.Series(RNG.normal(size=160), pd.Index(np.r_[index, 100 + index], name=name))
        worlds = frame[:80] + 1.0, frame[80:]
        if name == "seed":
            with pytest.raises(ValueError, match=r"in_scores must have one .* 20 values of 's"):
                audit(*worlds)
        else:
            assert audit(*worlds).n_in == 80


def test_an_index_that_pairs_opposed_scores_is_refused():
    shared, index = RNG.normal(size=80), pd.Index(RNG.permutation(80), name="model")
    noise = 0.2 * RNG.normal(size=80)
    one = pd.Series(shared, index)
    with pytest.raises(ValueError, match=r"have the same 'model', and the ranks .* of -0.9"):
        audit(one, pd.Series(noise - shared, index).sample(frac=1.0, random_state=1))
    audit(one, pd.Series(noise + shared, index))
    audit(one, pd.Series(noise - shared, index + 100))


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_losses_that_were_turned_in_the_call_keep_their_name(series):
    """-loss and -confidence are never positive, as log p is; exp(-loss) may be a loss."""
    loss = np.exp(-SCORES)
    losses, right = called(series, loss, "loss"), one_run_audit(-loss, MEMBER).correct
    assert one_run_audit(-losses, MEMBER).correct == right
    assert audit(*(-called(series, loss[k == MEMBER], "loss") for k in (1, 0))).n_in
    turned = -called(series, 1.0 / (1.0 + loss), "confidence")
    assert one_run_audit(turned, MEMBER, higher_is_member=False).correct == right
    with pytest.raises(
        ValueError, match=r"large values are evidence .* Pass higher_is_member=True"
    ):
        one_run_audit(called(series, -loss, "log_prob"), MEMBER, higher_is_member=False)
    for again in (losses, called(series, np.exp(-loss), "loss")):
        with pytest.raises(ValueError, match=r"turned round .* as -loss .* give them another name"):
            one_run_audit(again, MEMBER)
    with pytest.raises(ValueError, match="tend to be smaller"):  # by the scores, not by the name
        one_run_audit(-losses, MEMBER, higher_is_member=False)


CONFIDENCES = RNG.beta(5.0, 2.0, 300), RNG.beta(4.0, 2.0, 300)
LOGITS = tuple(np.log(each / (1.0 - each)) for each in CONFIDENCES)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_two_quantities_are_not_compared(series):
    worlds = called(series, LOGITS[0], "logit"), called(series, CONFIDENCES[1], "confidence")
    with pytest.raises(ValueError, match=r"in_scores must be the same quantity .*'logit' and 'con"):
        audit(*worlds)


@pytest.mark.parametrize(("first", "second"), [(100.0, 1.0), (1.0, 100.0)])
def test_confidences_in_per_cent_are_not_compared_with_fractions(first, second):
    worlds = [
        pd.Series(scale * each, name="confidence")
        for scale, each in zip((first, second), CONFIDENCES, strict=True)
    ]
    which = "in_scores" if first > 1.0 else "out_scores"
    with pytest.raises(ValueError, match=rf"{which} must have the unit .*in per cent, and 'confid"):
        audit(*worlds, allow_reversed=True)
    same = [pd.Series(100.0 * each, name="confidence") for each in CONFIDENCES]
    assert audit(*same).epsilon_lower == audit(*CONFIDENCES).epsilon_lower


@pytest.mark.parametrize(
    ("names", "cautions"),
    [
        (("in", "out"), 0),
        (("score_in", "score_out"), 0),
        (("confidence_in", "confidence_out"), 0),
        (("confidences with target", "confidence without target"), 0),
        (("logit_member", "logit_nonmember"), 0),
        (("score", "confidence"), 0),
        (("run1", "run2"), 0),
        (("poisoned", "clean"), 0),
        (("untrained", "trained"), 0),
        (("P", "Q"), 0),
        (("neighbour", "original"), 0),
        (("confidence", "true_prob"), 1),
        (("zeta", "gamma"), 1),
    ],
)
def test_names_of_worlds_are_no_names_of_quantities(names, cautions):
    worlds = [pd.Series(each, name=name) for each, name in zip(CONFIDENCES, names, strict=True)]
    if "member" in names[0]:
        with pytest.raises(ValueError, match="members and others of one model"):
            audit(*worlds)
        return
    result = audit(*worlds)
    assert (
        sum("Scores of the two worlds have two names" in c for c in result.document().cautions)
        == cautions
    )
    assert result.epsilon_lower == audit(*CONFIDENCES).epsilon_lower


def test_numbers_that_are_no_probabilities_have_any_unit():
    ratios = np.exp(RNG.normal(3.0, 0.5, 200)), np.exp(-RNG.exponential(1.0, 200))
    ratios = tuple(np.minimum(each, 100.0) for each in ratios)
    named = [pd.Series(each, name="likelihood_ratio") for each in ratios]
    assert audit(*named).epsilon_lower == audit(*ratios).epsilon_lower > 1.0


@pytest.mark.parametrize(
    "name",
    [
        "grad_norm",
        "gradient norm",
        "GradNorm",
        "uncertainty",
        "bits_per_byte",
        "bits per character",
        "logppl",
        "pplx",
    ],
)
def test_scores_that_are_small_for_members_ask_for_their_direction(name):
    with pytest.raises(ValueError, match=r"of which small values .* Pass higher_is_member=False"):
        one_run_audit(pd.Series(SCORES, name=name), MEMBER)
    turned = pd.Series(3.0 - SCORES, name=name)
    expected = one_run_audit(3.0 - SCORES, MEMBER, higher_is_member=False).epsilon_lower
    assert one_run_audit(turned, MEMBER, higher_is_member=False).epsilon_lower == expected


@pytest.mark.parametrize(
    "name",
    ["loss_improvement", "inv_loss", "1/ppl", "1 / perplexity", "inverse_ppl", "neg_grad_norm",
     "hinge", "bits", "normalised_score", "certainty"],
)  # fmt: skip
def test_scores_that_are_large_for_members_are_taken(name):
    expected = one_run_audit(SCORES, MEMBER).epsilon_lower
    assert one_run_audit(pd.Series(SCORES, name=name), MEMBER).epsilon_lower == expected
