"""The size of an audit: it reaches its power on fresh draws, and a smaller one does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mialeak.auditing import AuditStream, audit, audit_power, one_run_audit
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


def test_the_table_of_claims_that_are_not_testable():
    """A perfect attack; of one run with the median distance of the coins' number from half."""
    page = Path(__file__).parents[1] / "docs" / "guide" / "audits.md"
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in lines}
    sizes = [int(cell.replace(",", "")) for cell in rows["scores"]]

    def row(name):
        (cells,) = (cells for start, cells in rows.items() if start.startswith(name))
        pairs = zip(sizes, cells, strict=True)
        return [(size, float(cell)) for size, cell in pairs if cell.strip()]

    for name, delta in (
        ("canaries of one run, delta = 0", 0.0),
        ("canaries of one run, delta = 1e-5", 1e-5),
    ):
        for size, stated in row(name)[:6]:
            away = np.arange(size // 2)
            within = stats.binom.cdf(size // 2 + away, size, 0.5)
            within -= stats.binom.cdf(size // 2 - away - 1, size, 0.5)
            members = size // 2 - int(np.argmax(within >= 0.5))  # more or fewer prove less
            member = np.random.default_rng(size).permutation(np.arange(size) < members)
            proved = one_run_audit(member + np.arange(size) / (2 * size), member, delta=delta)
            assert proved.epsilon_lower == pytest.approx(stated, abs=0.0051)
    for size, stated in row("separate runs"):
        perfect = audit(np.arange(size) + size, np.arange(size), delta=1e-5, fpr=())
        assert perfect.epsilon_lower == pytest.approx(stated, abs=0.0051)
    for size, stated in row("shadow models"):
        share = (0.05 / 1000) ** (1 / size)
        assert np.log(share / (1 - share)) == pytest.approx(stated, abs=0.011)
    for size, stated in row("canaries of a stream")[:4]:
        stream = AuditStream()
        member = np.random.default_rng(0).integers(0, 2, size)
        for flag in member.tolist():
            stream.update(2.0 * flag - 1.0, flag)
        assert stream.epsilon_lower == pytest.approx(stated, abs=0.15)


@pytest.mark.parametrize("claim", [0.1, 3.0, 50.0])
def test_a_printed_audit_states_the_verdict_on_its_claim(claim):
    """Only the shell did."""
    rng = np.random.default_rng(8)
    members = rng.random(400) < 0.5
    scores = rng.normal(2.0 * members)
    for result in (
        one_run_audit(scores, members, claimed_epsilon=claim),
        audit(scores[members], scores[~members], claimed_epsilon=claim),
    ):
        words = " ".join(str(result).split())
        assert f"The claimed epsilon {claim:g} (" in words
        assert f") is {result.verdict}" in words
    assert "claimed" not in str(one_run_audit(scores, members))
