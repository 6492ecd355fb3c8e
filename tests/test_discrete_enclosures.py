"""Enclosures of countable laws and the probabilities beneath them, against 25 digits."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from mialeak.discrete import max_leakage, max_leakage_bounds
from mialeak.discrete._countable import ScipyLaw
from mialeak.discrete._families import FAMILIES, log_gamma_ratio

EPS = 2.0**-52
mp.mp.dps = 25


# --- the truth: every law from its definition, with 25 digits -------------------------------------


def gamma_ratio(x, s):
    return mp.exp(mp.loggamma(x + s) - mp.loggamma(x))


def geom(p):
    p = mp.mpf(p)
    return lambda k: p * (1 - p) ** (k - 1)


def poisson(mu):
    mu = mp.mpf(mu)
    return lambda k: mp.exp(k * mp.log(mu) - mu - mp.loggamma(k + 1))


def zipf(a):
    a = mp.mpf(a)
    total = mp.zeta(a)
    return lambda k: k**-a / total


def nbinom(n, p):
    n, p = mp.mpf(n), mp.mpf(p)
    return lambda k: gamma_ratio(k + 1, n - 1) / mp.gamma(n) * p**n * (1 - p) ** k


def logser(p):
    p = mp.mpf(p)
    total = -mp.log(1 - p)
    return lambda k: p**k / k / total


def yulesimon(alpha):
    alpha = mp.mpf(alpha)
    return lambda k: alpha * mp.gamma(alpha + 1) / gamma_ratio(k, alpha + 1)


def betanbinom(n, a, b):
    n, a, b = mp.mpf(n), mp.mpf(a), mp.mpf(b)
    constant = mp.gamma(a + n) * mp.gamma(a + b) / (mp.gamma(n) * mp.gamma(a) * mp.gamma(b))
    return lambda k: gamma_ratio(k + 1, n - 1) / gamma_ratio(k + b, a + n) * constant


def skellam(a, b):
    a, b = mp.mpf(a), mp.mpf(b)
    return lambda k: mp.exp(-a - b) * mp.sqrt(a / b) ** k * mp.besseli(abs(k), 2 * mp.sqrt(a * b))


def dlaplace(a):
    a = mp.mpf(a)
    return lambda k: mp.tanh(a / 2) * mp.exp(-a * abs(k))


def planck(a):
    a = mp.mpf(a)
    return lambda k: (1 - mp.exp(-a)) * mp.exp(-a * k)


#: Every law of SciPy with infinitely many atoms; some of them twice.
LAWS = [
    ("geom", geom, (0.1,)),
    ("geom", geom, (0.9,)),
    ("poisson", poisson, (3.7,)),
    ("poisson", poisson, (300.0,)),
    ("zipf", zipf, (2.0,)),
    ("zipf", zipf, (1.3,)),
    ("nbinom", nbinom, (5.0, 0.2)),
    ("nbinom", nbinom, (0.7, 0.05)),
    ("logser", logser, (0.8,)),
    ("yulesimon", yulesimon, (2.5,)),
    ("yulesimon", yulesimon, (0.8,)),
    ("betanbinom", betanbinom, (3.0, 4.5, 2.0)),
    ("skellam", skellam, (3.0, 4.0)),
    ("dlaplace", dlaplace, (0.7,)),
    ("planck", planck, (0.3,)),
]
HEAVY = {"zipf", "yulesimon", "betanbinom"}
IDS = [f"{name}{parameters}" for name, _, parameters in LAWS]


def atom(p, n, gamma):
    """What one atom adds to the leakage, by its sum of positive terms."""
    c = gamma * n * p
    if c < 1:
        seen = -mp.expm1(n * mp.log1p(-p))
        return p * (1 - gamma * seen) if gamma >= 1 else p * (1 - seen)
    if gamma == 1:
        m = int(mp.floor(c))
        return p * (1 - p) * mp.binomial(n - 1, m) * p**m * (1 - p) ** (n - 1 - m)
    total = mp.mpf(0)
    counts = range(int(mp.floor(c)) + 1, n + 1) if gamma > 1 else range(int(mp.ceil(c)))
    for j in counts:
        term = abs(j - c) * mp.binomial(n, j) * p**j * (1 - p) ** (n - j)
        total += term
        if gamma > 1 and term < total * mp.mpf(10) ** -25:
            break
    return total / (n if gamma > 1 else gamma * n)


def true_leakage(law, pmf, n, gamma, heavy):
    """The leakage as a sum over atoms; a heavy tail as its mass less an Euler-Maclaurin sum."""
    gamma = mp.mpf(gamma)
    first = law.support()[0]
    start = int(first) if math.isfinite(first) else int(law.mean())
    total, mass = mp.mpf(0), mp.mpf(0)
    for step, k in ((1, start), (-1, start - 1)):
        while k >= first and not (heavy and k > 300):
            p = pmf(k)
            mass += p
            total += atom(p, n, gamma)
            if p < 1e-24 and abs(k) > abs(law.mean()):
                break
            k += step
    if heavy:
        assert gamma * n * pmf(301) < 1
        repeated = mp.sumem(
            lambda k: -pmf(k) * mp.expm1(n * mp.log1p(-pmf(k))),
            [301, mp.inf],
            tol=mp.mpf(10) ** -20,
        )
        total += 1 - mass - max(mp.mpf(1), gamma) * repeated
    else:
        assert abs(1 - mass) < 1e-20
    return total


# --- enclosures -----------------------------------------------------------------------------------


#: Sizes and games for each law; those of a heavy tail take a second each.
GAMES = [(1, 1.0), (400, 1.0), (30, 0.5), (30, 2.0)]
HEAVY_GAMES = [(400, 1.0)]


@pytest.mark.parametrize(("name", "pmf", "parameters"), LAWS, ids=IDS)
def test_enclosures_contain_the_truth_and_are_close(name, pmf, parameters):
    law = getattr(stats, name)(*parameters)
    for n, gamma in HEAVY_GAMES if name in HEAVY else GAMES:
        truth = true_leakage(law, pmf(*parameters), n, gamma, name in HEAVY)
        bounds = max_leakage_bounds(law, n, gamma=gamma)
        assert bounds.lower <= truth <= bounds.upper
        assert bounds.upper - bounds.lower < 1e-12 * bounds.upper
        assert max_leakage(law, n, gamma=gamma) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_enclosures_of_heavy_tails_contain_the_truth_for_unbalanced_games(gamma):
    truth = true_leakage(stats.zipf(2.0), zipf(2.0), 30, gamma, heavy=True)
    bounds = max_leakage_bounds(stats.zipf(2.0), 30, gamma=gamma)
    assert bounds.lower <= truth <= bounds.upper <= bounds.lower * (1 + 1e-12)


@pytest.mark.parametrize(("name", "pmf", "parameters"), LAWS, ids=IDS)
def test_probabilities_are_within_their_claimed_rounding(name, pmf, parameters):
    """And SciPy's own are not: that is why most of these laws have a form of their own."""
    law, truth = ScipyLaw(getattr(stats, name)(*parameters)), pmf(*parameters)
    k = np.unique(np.concatenate([np.arange(40), np.geomspace(40, 1e5, 30).round()]))
    k = k[k >= law.first] if math.isfinite(law.first) else np.concatenate([-k[::-1], k])
    p, rounding = law.pmf(k)
    for where, value, claimed in zip(k, p, np.broadcast_to(rounding, p.shape), strict=True):
        if value > 1e-290:
            assert abs(value / truth(int(where)) - 1) <= claimed, where


def test_scipy_itself_would_not_do():
    for name, pmf, parameters, k in [
        ("poisson", poisson, (300.0,), 350),
        ("yulesimon", yulesimon, (2.5,), 50_000),
        ("betanbinom", betanbinom, (3.0, 4.5, 2.0), 50_000),
    ]:
        truth = pmf(*parameters)(k)
        law = getattr(stats, name)(*parameters)
        assert abs(law.pmf(k) / truth - 1) > 300 * EPS
        assert abs(ScipyLaw(law).pmf(np.array([float(k)]))[0][0] / truth - 1) < 100 * EPS


@pytest.mark.parametrize(
    "law",
    [stats.zipf(2.0), stats.geom(0.02), stats.yulesimon(1.5), stats.poisson(40.0)],
    ids=lambda law: law.dist.name,
)
def test_tails_are_within_their_claimed_rounding(law):
    truth = {
        "zipf": lambda k: mp.zeta(2, k + 1) / mp.zeta(2),
        "geom": lambda k: (1 - mp.mpf(0.02)) ** k,
        "yulesimon": lambda k: k * mp.beta(k, mp.mpf(2.5)),
        "poisson": lambda k: mp.gammainc(k + 1, 0, 40, regularized=True),
    }[law.dist.name]
    countable = ScipyLaw(law)
    for k in (1, 50, 90, 1000):
        value, rounding = countable.beyond(countable.first, float(k))
        if truth(k) < 1e-290:
            continue
        assert abs(value / truth(k) - 1) <= rounding


@pytest.mark.parametrize("p", [0.0, 1e-12, 1e-9, 0.3, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_a_rare_bit_is_enclosed(p, gamma):
    """SciPy 1.17 gives the common side of bernoulli(1e-9) with an error of 10 eps."""
    for n in (1, 7):
        exact = Fraction(p)
        truth = Fraction(0)
        for share in (exact, 1 - exact):
            for j in range(n + 1):
                chance = math.comb(n, j) * share**j * (1 - share) ** (n - j)
                gap = Fraction(j, n) - Fraction(gamma) * share
                truth += chance * (max(gap, 0) if gamma >= 1 else max(-gap, 0) / Fraction(gamma))
        bounds = max_leakage_bounds(stats.bernoulli(p), n, gamma=gamma)
        assert bounds.lower <= truth <= bounds.upper


def test_a_window_grows_while_atoms_outside_expect_a_row(monkeypatch):
    """As zipf(1.05) at 1e9 rows, which was .016 to .439, in the small; truth by zeta sums."""
    truth = 0.5845984154850656689
    monkeypatch.setattr("mialeak.discrete._countable.LARGEST_WINDOW", 2.0**14)
    bounds = max_leakage_bounds(stats.zipf(1.05), 10**6)
    assert bounds.lower <= truth * (1 + 1e-14)
    assert truth * (1 - 1e-14) <= bounds.upper <= bounds.lower + 1e-11


@pytest.mark.parametrize("lowest", [0.0, -10.0, -300.0])
def test_logs_of_gamma_ratios_hold_their_error_at_extreme_arguments(lowest):
    """Against 40 digits: x down to 1e-300, where a product of 16 ratios underflows."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        x = 10.0 ** rng.uniform(lowest, 15 if lowest == 0.0 else 0)
        s = rng.choice([10.0 ** rng.uniform(-10, 10), 10.0 ** rng.uniform(0, 3), rng.uniform()])
        with mp.workdps(40):
            truth = mp.loggamma(mp.mpf(x) + mp.mpf(s)) - mp.loggamma(mp.mpf(x))
            error = abs(truth - float(log_gamma_ratio(np.array([x]), float(s))[0]))
        assert error <= EPS * (8 + 3 * abs(truth) + 3 * max(-math.log(x), 0.0))
    assert math.isfinite(log_gamma_ratio(np.array([7.7e-228]), 6e7)[0])  # was -inf


def test_beta_negative_binomial_laws_of_tiny_parameters_hold_their_error():
    rng = np.random.default_rng(6)
    cases = [(7.96329864224496, 47.25201089617186, 1.7130361745531228e-61, 0.0)]
    for _ in range(200):
        a, b = 10.0 ** rng.uniform(-100, 4, 2)
        cases.append((10.0 ** rng.uniform(-1, 3), a, b, float(rng.choice([0, 1, 100]))))
    # Of a small size the probability of 0 is near 1, a product of ratios near 1: 18 eps for 12.
    cases += [
        (1.1232180752665053e-05, 1.6552540360369874, 0.7869863600284025, 0.0),
        (1.168356983538307e-06, 1.5875422531217436, 0.6364211642673375, 0.0),
        (0.683789187629324, 1.1369447262181267, 1.093225022555613, 0.0),
    ]
    for _ in range(400):
        a, b = 10.0 ** rng.uniform(-0.3, 0.5, 2)
        cases.append((10.0 ** rng.uniform(-6, 0), a, b, float(rng.choice([0, 0, 0, 1]))))
    for n, a, b, k in cases:
        p, error = FAMILIES["betanbinom"](n, a, b).pmf(np.array([k]))
        with mp.workdps(250):
            truth = betanbinom(n, a, b)(mp.mpf(k))
            if truth > 1e-290:
                assert abs(float(p[0]) - truth) <= truth * float(np.ravel(error)[0])


def test_yule_simon_laws_hold_their_error_and_logs_of_gamma_ratios_near_0_do():
    """Their logs were differences of numbers near 8: 15 eps for 8."""
    rng = np.random.default_rng(8)
    for _ in range(1500):
        x, s = 10.0 ** rng.uniform(-0.3, 0.6), 10.0 ** rng.uniform(-1, 0.6)
        with mp.workdps(40):
            truth = mp.loggamma(mp.mpf(x) + mp.mpf(s)) - mp.loggamma(mp.mpf(x))
            error = abs(truth - float(log_gamma_ratio(np.array([x]), s)[0]))
        assert error <= EPS * (8 + 3 * abs(truth) + 3 * max(-math.log(x), 0.0))
        k = float(rng.choice([1, 2, 3]))
        value, claimed = FAMILIES["yulesimon"](s).pmf(np.array([k]))
        with mp.workdps(40):
            p = yulesimon(s)(mp.mpf(k))
        assert abs(float(value[0]) / p - 1) <= float(claimed[0])


def test_negative_binomial_laws_of_small_sizes_hold_their_error():
    """Size 1e-6: n - 1 was rounded, and the probability of 0 was wrong in the tenth digit."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        n, p = (
            10.0 ** rng.uniform(-8, 3),
            float(rng.choice([rng.uniform(), 10 ** rng.uniform(-6, 0)])),
        )
        k = float(rng.choice([0, 1, 2, 100, 10_000]))
        value, error = FAMILIES["nbinom"](n, p).pmf(np.array([k]))
        with mp.workdps(50):
            truth = nbinom(n, p)(mp.mpf(k))
            if truth > 1e-290:
                assert abs(float(value[0]) - truth) <= truth * float(np.ravel(error)[0])
