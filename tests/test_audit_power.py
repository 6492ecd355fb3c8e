"""The size of an audit: it reaches its power on fresh draws, and a smaller one does not."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak.auditing import audit, audit_power, one_run_audit
from mialeak.tradeoff import GaussianTradeOff


def test_runs_of_this_number_prove_it_on_fresh_draws():
    size = audit_power(0.5, GaussianTradeOff(1.5), delta=1e-3, repetitions=60)
    rng = np.random.default_rng(1)
    shares = []
    for n in (size.n // 3, size.n):
        bounds = [
            audit(rng.normal(1.5, 1, n), rng.normal(0, 1, n), delta=1e-3, fpr=()).epsilon_lower
            for _ in range(40)
        ]
        shares.append(np.mean(np.array(bounds) >= 0.5))
    assert shares[0] < 0.6 < shares[1]
    assert size.power >= 0.8


def test_canaries_of_this_number_prove_it_on_fresh_draws():
    size = audit_power(1.0, GaussianTradeOff(3.0), design="one-run", repetitions=100)
    rng, bounds = np.random.default_rng(2), []
    for _ in range(100):
        member = rng.integers(0, 2, size.n)
        bounds.append(one_run_audit(rng.normal(3.0 * member), member).epsilon_lower)
    assert np.mean(np.array(bounds) >= 1.0) > 0.65


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 9.0}, "epsilon must be above 0 and below that of the curve"),
        ({"epsilon": 0.0}, "epsilon must be above 0"),
        ({"power": 1.0}, "power must be strictly between 0 and 1"),
        ({"tradeoff": GaussianTradeOff([1.0, 2.0])}, "tradeoff must be one curve, not of shape"),
        ({"design": "two"}, 'design must be "runs" or "one-run"'),
        ({"most": 16, "epsilon": 4.0}, "most must be enough: of 16 the power is"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"epsilon": 1.0, "tradeoff": GaussianTradeOff(2.0), "delta": 1e-2, "repetitions": 5}
    with pytest.raises(ValueError, match=message):
        audit_power(**(arguments | change))


def test_a_number_is_no_curve():
    with pytest.raises(TypeError, match="tradeoff must be a TradeOff, not float"):
        audit_power(1.0, 2.0)
