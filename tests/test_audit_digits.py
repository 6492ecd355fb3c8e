"""Audits of scores that were written with other digits in one world than in the other."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak._checks.audits.digits import cautions_of_digits
from mialeak.auditing import audit, one_run_audit

RNG = np.random.default_rng(7)
WORDS = "rounding alone sets the worlds apart"
CONFIDENCE = 1.0 / (1.0 + np.exp(-RNG.normal(6.0, 3.0, 300)))


def cautions_with(caution, inside, outside):
    """Of an audit of runs, and of one of canaries."""
    flags = RNG.permutation(np.repeat([1, 0], len(inside)))
    scores = np.empty(flags.size)
    scores[flags == 1], scores[flags == 0] = inside, outside
    results = audit(inside, outside), one_run_audit(scores, flags)
    return [sum(caution in each for each in r.document().cautions) for r in results]


@pytest.mark.parametrize(
    "form",
    [
        lambda scores: np.round(scores, 3),
        lambda scores: [float(f"{each:.3g}") for each in scores],
        lambda scores: scores.astype(np.float32),
        lambda scores: scores.astype(np.float16),
    ],
)
@pytest.mark.parametrize("full", [lambda scores: scores, lambda scores: np.round(scores, 8)])
def test_rounding_in_one_world_has_a_caution(form, full):
    """Of a model near 1 the rounded scores of members are larger, and nothing leaks."""
    inside, outside = CONFIDENCE[:150], CONFIDENCE[150:]
    assert cautions_with(WORDS, form(inside), full(outside)) == [1, 1]
    assert cautions_with(WORDS, full(inside), form(outside)) == [1, 1]
    assert cautions_with(WORDS, form(inside), form(outside)) == [0, 0]
    assert cautions_with(WORDS, full(inside), full(outside)) == [0, 0]


def test_rounding_alone_proves_what_is_no_leak():
    loss = RNG.gamma(1.0, 1e-2, (2, 400))
    rounded, full = audit(np.round(-loss[0], 2), -loss[1]), audit(*-loss)
    assert rounded.epsilon_lower > 1.0 > full.epsilon_lower
    assert any(WORDS in each for each in rounded.document().cautions)


@pytest.mark.parametrize("digits", [".4f", ".4g", ".6g"])
@pytest.mark.parametrize("scale", [1e-3, 1e-1, 1e2, 1e6])
def test_scores_of_one_format_and_two_sizes_are_taken(digits, scale):
    """Smaller numbers have more places behind the point, and larger ones more digits."""
    loss = RNG.lognormal(0.0, 1.0, (2, 200)) * np.array([[scale], [1.0]])
    for worlds in (loss, [[float(format(x, digits)) for x in each] for each in loss]):
        inside, outside = (np.asarray(each) for each in worlds)
        signed = (inside, outside) if scale > 1.0 else (-inside, -outside)
        assert cautions_of_digits(*map(np.sort, signed)) == []
