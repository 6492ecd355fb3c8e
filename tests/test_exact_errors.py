"""The error that an exact curve states: a bound where atoms are listed, an estimate elsewhere."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from mialeak import exact_mean_tradeoff
from mialeak.exact import _tradeoff
from mialeak.laws import Bernoulli, Genotype, Lattice, Normal

# --- one column: enumeration with 60 digits ------------------------------------------------------


def counted(p, draws, own):
    """``(ratio, out, in)`` of each number of ones among `draws`, one of them the target's."""
    p, law = mpmath.mpf(float(p)), []
    for k in range(1, draws + 1):
        out = mpmath.binomial(draws, k) * p**k * (1 - p) ** (draws - k)
        if k - 1 <= own:
            inside = mpmath.binomial(own, k - 1) * p ** (k - 1) * (1 - p) ** (own - k + 1)
            law.append((inside / out, out, inside))
    return sorted(law, reverse=True)


def power_at(law, fpr):
    """The power at an fpr, lots drawn on the atom that it ends in."""
    rest, power = mpmath.mpf(float(fpr)), mpmath.mpf(0)
    for _, out, inside in law:
        if rest <= out:
            return power + inside * rest / out
        rest, power = rest - out, power + inside
    return mpmath.mpf(1)


@pytest.mark.parametrize("fpr", [1e-20, 1e-38, 1e-60, 1e-150, 1e-300])
@pytest.mark.parametrize(("p", "n"), [(1e-3, 20), (1e-6, 20), (1e-4, 50), (0.3, 400)])
def test_power_far_in_the_tail_is_within_its_error(p, n, fpr):
    """Outcomes below 1e-40 were left out: power was off by 20 per cent at 1e-60, half at 1e-300."""
    curve = exact_mean_tradeoff([1.0], Genotype([p]), n)
    found = curve.power(fpr)
    with mpmath.workdps(60):
        truth = power_at(counted(p, 2 * n, 2 * n - 2), fpr)
        assert abs(found - truth) <= curve.error * truth
    assert curve.error < 3e-12


def test_a_tail_between_two_rare_atoms_is_not_zero():
    """Ten of twenty rows of a value that one in a million has: 1.8e-55, where 0 was answered."""
    curve = exact_mean_tradeoff([1.0], Bernoulli([1e-6]), 20)
    found = curve.sf(np.log(10 / 20e-6) - 1e-9)
    with mpmath.workdps(60):
        truth = sum(
            mpmath.binomial(20, k) * mpmath.mpf(1e-6) ** k * (1 - mpmath.mpf(1e-6)) ** (20 - k)
            for k in range(10, 21)
        )
        assert abs(found - truth) <= curve.error * truth
    assert curve.error < 1e-12


def test_what_is_left_out_counts_relative_to_the_tail_asked_for():
    """Two columns of 5,000 rows have too many atoms for all of them to be listed."""
    p, z = np.array([0.31, 0.47]), np.array([1.0, 0.0])
    curve = exact_mean_tradeoff(z, Bernoulli(p), 5000, method="atoms")
    whole = exact_mean_tradeoff(z, Bernoulli(p), 5000, method="halves")
    assert curve.power(0.01) == pytest.approx(whole.power(0.01), rel=1e-11)
    assert curve.error < 1e-13
    for x in np.linspace(0.4, 0.62, 12):
        tail, truth = curve.sf(x), whole.sf(x)
        claimed = curve._law.error_at(tail, 1.0)
        assert abs(tail - truth) <= (claimed + whole.error) * truth
    assert truth < 1e-45
    assert curve.error > 1e-4
    with pytest.raises(
        ValueError, match="The exact curve is not available for releases so unlikely"
    ):
        curve.power(1e-60)
    with pytest.raises(
        ValueError, match="The exact curve is not available for releases so unlikely"
    ):
        curve.epsilon(1e-60, direction="in")
    assert whole.power(1e-60) > 1e-60


def test_an_answer_that_is_refused_does_not_spoil_the_next():
    p, z = np.array([0.31, 0.47]), np.array([1.0, 0.0])
    curve = exact_mean_tradeoff(z, Bernoulli(p), 5000, method="atoms")
    with pytest.raises(
        ValueError, match="The exact curve is not available for releases so unlikely"
    ):
        curve.power(1e-60)
    assert curve.error < 1e-13
    assert 0.0 < curve.advantage < 1.0


def test_listed_outcomes_that_underflow_count_as_missing():
    """The sum of twenty values, the rarest of 1e-30: what is below 1e-290 is in no list."""
    law = Lattice([0, 1], [1.0 - 1e-30, 1e-30])
    curve = exact_mean_tradeoff([1.0], law, 20)
    assert curve._law.missing[0] >= 1e-290
    assert curve._law.error_at(1e-280, 1.0) < 1e-8 < curve._law.error_at(1e-292, 1.0)


# --- several columns: two halves, all terms positive ---------------------------------------------


def half_of(p, z, n):
    """Ratios and probabilities of all outcomes of some columns, and what a column leaves out."""
    ratio, chance = np.zeros(1), np.ones(1)
    with np.errstate(divide="ignore"):
        for share, bit in zip(p, z, strict=True):
            own = share if bit else 1.0 - share
            k = np.arange(1, n + 1)
            terms = np.array(
                [float(mpmath.binomial(n, int(i)) * mpmath.mpf(own) ** int(i) * mpmath.mpf(1 - own)
                       ** (n - int(i))) for i in k]
            )  # fmt: skip
            ratio = np.add.outer(ratio, np.log(k / (n * own))).ravel()
            chance = np.multiply.outer(chance, terms).ravel()
    return ratio, chance


def lower_tail(p, z, n, x):
    """P_in(l <= x)."""
    (large, out), (small, other) = (half_of(p[:3], z[:3], n), half_of(p[3:], z[3:], n))
    order = np.argsort(large)
    large, below = large[order], np.append(0.0, np.cumsum((out * np.exp(large))[order]))
    return float((other * np.exp(small)) @ below[np.searchsorted(large, x - small, side="right")])


@pytest.mark.parametrize(
    ("p", "z", "x", "near"),
    [
        (
            [0.4055487150837951, 0.8147509397352859, 0.6338260551799761, 0.7622190392446789,
             0.610221954292242, 0.7559020004111283], [0] * 6, -8.0, 6.7620e-21,
        ),
        (
            [0.27574771882752913, 0.056958544403697325, 0.15731719909051903, 0.016113853842253608,
             0.2102921584257619, 0.04412369603583318], [0, 1, 0, 0, 0, 0], -3.0, 1.5457e-23,
        ),
    ],
)  # fmt: skip
def test_a_sure_method_goes_before_an_inversion_with_a_large_error(p, z, x, near):
    """The inversion was off by 2e-3, and answered 0; two halves of 60**3 atoms are within reach."""
    curve = exact_mean_tradeoff(np.array(z, float), Bernoulli(p), 60)
    assert curve.method == "meet in the middle"
    found, truth = curve.cdf(x, "in"), lower_tail(np.array(p), z, 60, x)
    assert truth == pytest.approx(near, rel=1e-4)
    assert abs(found - truth) <= (curve.error + 1e-13) * truth
    assert curve.error < 1e-11


def test_the_estimate_of_an_inversion_grows_with_the_tails_asked_for():
    """Far out a law of few atoms is narrower, and what the inversion leaves out weighs more."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        p, z = rng.uniform(0.4, 0.6, 8), (rng.random(8) < 0.5).astype(float)
        sure = exact_mean_tradeoff(z, Bernoulli(p), 20, method="halves")
        curve = exact_mean_tradeoff(z, Bernoulli(p), 20, method="inversion")
        body = abs(curve.sf(0.1) - sure.sf(0.1))
        assert body <= curve.error
        before = curve.error
        for world in ("out", "in"):
            for x in (1.5, 2.5, 3.5):
                tail, truth = curve.sf(x, world), sure.sf(x, world)
                assert abs(tail - truth) <= curve.error * (truth if truth < 1e-3 else 1.0)
        assert curve.error > 2.0 * before


def test_an_error_that_matters_is_printed():
    p = np.random.default_rng(3).uniform(0.4, 0.6, 8)
    curve = exact_mean_tradeoff(np.ones(8), Bernoulli(p), 20, method="inversion")
    assert ", error=" in repr(curve)
    assert "error" not in repr(exact_mean_tradeoff(np.ones(8), Bernoulli(p), 20, method="halves"))
    few = exact_mean_tradeoff([1, 1, 0.3], [Bernoulli([0.3, 0.4]), Normal([0.0], [1.0])], 50)
    assert repr(few).startswith("ExactTradeOff(advantage=unknown,")


def test_the_ladder_of_ranges_ends_where_two_halves_can_still_be_had(monkeypatch):
    """The rung that is taken is the first that is affordable."""
    tried = []
    product = _tradeoff.pack

    def watched(families, theta, t, wider):
        tried.append(wider)
        return product(families, theta, t, wider)

    monkeypatch.setattr(_tradeoff, "pack", watched)
    exact_mean_tradeoff(np.ones(2), Bernoulli([0.3, 0.4]), 50)
    assert tried == [4.5]
    tried.clear()
    exact_mean_tradeoff(np.ones(2), Bernoulli([0.3, 0.4]), 5000)
    assert tried == [4.5, 1.6]
