"""What is infinite by few scores, weighted, or rounded to single precision."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from mialeak import max_leakage
from mialeak.auditing import one_run_audit
from mialeak.guarantees import max_accuracy
from mialeak.tradeoff import EmpiricalTradeOff


def test_an_infinite_epsilon_of_scores_is_called_a_statistic():
    rng = np.random.default_rng(0)
    measured = EmpiricalTradeOff(rng.normal(1.0, 1.0, 183), rng.normal(size=217))
    with pytest.warns(UserWarning, match=r"epsilon is infinite: of 183 scores in and 217 out"):
        assert measured.epsilon(1e-5) == np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(measured.epsilon(0.5))
        equal = EmpiricalTradeOff([1.0, 2.0], [1.0, 2.0])
        assert equal.epsilon([0.0, 1e-5]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(20))
def test_a_softmax_of_single_precision_is_divided_by_its_sum(seed):
    """The same numbers in double precision, divided by their exact sum, have the same leakage."""
    logits = np.random.default_rng(seed).normal(size=1000).astype(np.float32)
    p = np.exp(logits) / np.exp(logits).sum(dtype=np.float32)
    wide = p.astype(np.float64)
    expected = max_leakage(wide / wide.sum(), 10)
    for law in (p, pd.Series(p)):
        np.testing.assert_allclose(max_leakage(law, 10), expected, rtol=1e-14)


def test_other_sums_are_refused_in_either_precision():
    p = np.array([0.5, 0.5])
    for law in (p * (1.0 + 1e-8), (p * (1.0 + 1e-5)).astype(np.float32)):
        with pytest.raises(ValueError, match="p must sum to 1 within 1e-9"):
            max_leakage(law, 3)
    with pytest.raises(ValueError, match=r"p must .*nan"):
        max_leakage(np.array([0.5, np.nan], np.float32), 3)
    with pytest.raises(
        ValueError, match=r"p must hold probabilities between 0 and 1; got p\[0\] = 1\.5"
    ):
        max_leakage(np.array([1.5, -0.5], np.float32), 3)


def test_an_accuracy_of_unequal_weights_is_that_of_the_best_guess():
    """By enumeration: a release says "in" truly with these rates, and each of four answers."""
    nu, weight, leak = 0.5, 10.0, 0.2
    gamma = nu / (weight * (1.0 - nu))
    # Two laws of two outcomes whose divergence at gamma < 1 is `leak`.
    p_out, p_in = np.array([leak, 1.0 - leak]), np.array([0.0, 1.0])
    assert np.maximum(p_out - p_in / gamma, 0.0).sum() == leak
    guesses = [
        sum(nu * p_out[k] if answer[k] == "out" else weight * (1.0 - nu) * p_in[k] for k in (0, 1))
        for answer in (("in", "in"), ("in", "out"), ("out", "in"), ("out", "out"))
    ]
    assert max_accuracy(leak, tpr_weight=weight) == pytest.approx(max(guesses), rel=1e-14)
    assert max_accuracy(1.0, tpr_weight=weight) == nu + weight * (1.0 - nu)


def test_errors_of_guesses_and_of_half_precision_name_their_cures():
    rng = np.random.default_rng(1)
    scores, member = rng.normal(size=200), rng.random(200) < 0.5
    with pytest.raises(TypeError, match=r"such as \(50, 50\), or a sequence of pairs; got guesses"):
        one_run_audit(scores, member, guesses=100)
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"Pass scores\.detach\(\)\.cpu\(\)\.float\(\)"):
        one_run_audit(torch.zeros(200).bfloat16(), member)
    with pytest.raises(TypeError, match=r"Pass scores\.detach\(\)\.cpu\(\)(?!\.float)"):
        one_run_audit(torch.zeros(200, requires_grad=True), member)
