"""Scores of failed evaluations, filled with one value, and losses that are cut off."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.auditing import audit, one_run_audit


@pytest.mark.parametrize("value", [-1.0, -0.5])
def test_failed_evaluations_that_are_filled_with_one_value_are_named(value):
    rng = np.random.default_rng(9)
    member = rng.random(400) < 0.5
    losses = rng.exponential(np.where(member, 0.2, 2.0))
    filled = np.where(np.arange(400) % 7 == 0, value, losses)
    words = "58 scores of both worlds are {:g}, apart from all others"
    for scores, shown, is_higher in ((filled, value, False), (-filled, -value, True)):
        for result in (
            one_run_audit(scores, member, higher_is_member=is_higher),
            audit(scores[member], scores[~member], higher_is_member=is_higher),
        ):
            assert words.format(shown) in " ".join(str(result).split())


def test_losses_that_are_cut_off_are_not_called_filled():
    """Hinge losses, clipped ones, and those whose probability is rounded to 1."""
    rng = np.random.default_rng(10)
    for leak in (0.0, 0.5, 1.0, 3.0) * 10:
        member = rng.random(500) < 0.5
        logits = rng.normal(1.0 + leak * member, 2.0)
        for losses in (
            np.maximum(0.0, 1.0 - logits),
            np.minimum(np.logaddexp(0.0, -logits), 2.0),
            -np.log(np.float32(1.0) / (1.0 + np.exp(np.float32(-4.0 * logits)))).astype(float),
        ):
            result = one_run_audit(losses, member, higher_is_member=False)
            assert "filled" not in str(result)


@pytest.mark.parametrize("is_higher", [True, False])
def test_a_baseline_of_one_value_is_named_as_it_was_passed(is_higher):
    """Losses were named with a minus."""
    with pytest.raises(ValueError, match=r"all 20 are 0\.5, in the midst"):
        audit(np.full(20, 0.5), np.linspace(0, 1, 50), higher_is_member=is_higher)
