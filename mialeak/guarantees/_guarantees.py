"""From guarantees to leakage and back: differential privacy and noise."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from scipy import special

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_count,
    as_floats,
    as_probability,
    invalid,
    plain,
    require,
    require_within,
    unsupported,
)
from mialeak._checks.budgets import warn_of_exchange
from mialeak._numerics.roots import increasing_root
from mialeak.tradeoff import GaussianTradeOff, PiecewiseTradeOff, compose

__all__ = [
    "Form",
    "at_least_zero",
    "dp_leakage_bound",
    "epsilon_for_leakage",
    "noise_multiplier_for_leakage",
    "positive",
]

Form = Literal["sharp", "published"]
Neighbours = Literal["substitution", "add or remove"]
Target = Literal["given", "random"]

#: Relative error of a search, and mu between which it looks for the noise of all steps.
_SOLVED, _LEAST_MU, _MOST_MU = 1e-14, 1e-12, 1e3


def dp_leakage_bound(
    epsilon: Any,
    delta: Any = 0.0,
    *,
    gamma: Any = 1.0,
    target: Target = "given",
    form: Form = "sharp",
    neighbours: Neighbours = "substitution",
) -> float | FloatArray:
    """The largest leakage that (epsilon, delta)-differential privacy of *one changed row* allows.

    **An accountant's epsilon, as Opacus and TensorFlow Privacy state it, is one of adding or
    removing a row: pass** ``neighbours="add or remove"``, **whose bound is larger**.  By default
    the values of one row differ (substitution).

    Parameters
    ----------
    epsilon : array_like
        At least 0; may be inf.  Of which neighbours it is, `neighbours` states.
    delta : array_like
        In [0, 1].
    gamma : array_like
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.
        Positive and finite.
    target : {"given", "random"}
        "given": the leakage about one given person, whoever it is.  "random": the leakage about a
        person drawn from the population, on average, as that of a table of counts
        (:func:`mialeak.max_leakage`); smaller, and no promise to anybody.
    form : {"sharp", "published"}
        "published" is [AGP25] equation 9, for comparison; it may exceed 1.
    neighbours : {"substitution", "add or remove"}
        Of epsilon and delta: neighbouring data sets differ in the values of one row, or one has a
        row more.  The leakage compares worlds of the same size, which are two such steps apart:
        ``(2 epsilon, (1 + exp(epsilon)) delta)`` is taken then.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If epsilon is negative, delta outside [0, 1], gamma not positive and finite, anything NaN,
        or target, form or neighbours another word.

    Warns
    -----
    UserWarning
        If every epsilon is at most 0.01, but not 0, and every delta at least 0.1: they look
        exchanged.

    See Also
    --------
    epsilon_for_leakage : the inverse.

    Notes
    -----
    With h = min(gamma, 1/gamma) and ``a = epsilon + log h``::

        given:               delta + (1 - delta) (1 - e^-a)+ / (1 + e^-epsilon)
        random, delta = 0:   (1 - e^(-a/2))^2 / (1 - e^-epsilon)          where a > 0, else 0
        random, delta > 0:   as given

    At gamma = 1 and delta = 0 these are tanh(epsilon/2) and tanh(epsilon/4).  The first is the
    largest divergence of two neighbours.  It is approached where nearly all other rows are alike:
    a count of a trait of probability 1e-6, with two-sided geometric noise, leaks 0.19795 about a
    person with that trait at epsilon = 0.40134, where the bound is 0.19802.

    A random target is compared with the average over all targets instead.  That bound is sharp
    over all laws of the data, for every gamma and n, and attained with n = 1; [AGP25] Appendix H.2
    gives tanh(epsilon/2) as the supremum, which is not reached.  For delta > 0 the bound of two
    neighbours holds for a random target as well, and is not sharp: it jumps at delta = 0.

    **Accuracy.**  2 eps relative at gamma = 1; at another gamma besides what the rounding of
    ``log h`` makes of it where a is small.  **Cost.**  50 ns an element.

    Examples
    --------
    >>> from mialeak.guarantees import dp_leakage_bound
    >>> f"{dp_leakage_bound(1.0):.6f} {dp_leakage_bound(1.0, 1e-5):.6f}"
    '0.462117 0.462123'
    >>> f"{dp_leakage_bound(1.0, target='random'):.6f}"
    '0.244919'

    Of an accountant's epsilon, of adding or removing a row:

    >>> f"{dp_leakage_bound(1.0, 1e-5, neighbours='add or remove'):.6f}"
    '0.761603'
    """
    eps = at_least_zero(epsilon, "epsilon")
    deltas, gamma = as_probability(delta, "delta")[()], positive(gamma, "gamma")
    warn_of_exchange(eps, deltas)
    if as_choice(neighbours, "neighbours", get_args(Neighbours)) == "add or remove":
        with np.errstate(over="ignore", invalid="ignore"):
            twice = np.where(deltas > 0.0, (1.0 + np.exp(eps)) * deltas, 0.0)
            eps, deltas = 2.0 * eps, np.minimum(twice, 1.0)
    if as_choice(form, "form", get_args(Form)) == "published":
        more = np.maximum(gamma, 1.0)
        with np.errstate(over="ignore"):
            growth = np.maximum(np.exp(eps) - 1.0 / gamma, 0.0)
        return plain(more * (growth - np.maximum(1.0 - 1.0 / gamma, 0.0) + deltas))
    above = np.maximum(eps - np.abs(np.log(gamma)), 0.0)
    pair = deltas - (1.0 - deltas) * np.expm1(-above) / (1.0 + np.exp(-eps))
    if as_choice(target, "target", get_args(Target)) == "given":
        return plain(pair)
    half = np.expm1(-0.5 * above)
    # Divided first: the square of a small number is 0.
    average = half * (half / np.where(above > 0.0, -np.expm1(-eps), 1.0))
    return plain(np.where(deltas > 0.0, pair, average))


def epsilon_for_leakage(
    leakage: Any = None,
    *,
    delta: Any = 0.0,
    gamma: Any = 1.0,
    target: Target = "given",
    steps: int = 1,
    attack: tuple[float, float] | None = None,
) -> float | FloatArray:
    """The largest epsilon with which (epsilon, delta)-differential privacy ensures this leakage.

    Parameters
    ----------
    leakage : array_like, optional
        In [0, 1], and at least `delta`.
    delta : array_like
        In [0, 1].
    gamma : array_like
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.
        Positive and finite.
    target : {"given", "random"}
        "given": the leakage about every given person is at most `leakage`.  "random": only that
        about a random person, on average; see :func:`dp_leakage_bound`.
    steps : int
        Number of independent releases that leak no more together, each with this epsilon and delta.
        Above 1 all other arguments are numbers, and the target is "given".
    attack : (float, float), optional
        In place of `leakage` and `gamma`: a false-positive rate, and the largest power that an
        attack with this rate may have.  All arguments are numbers.

    Returns
    -------
    float or ndarray
        Inverse of :func:`dp_leakage_bound`; inf where the leakage is 1.  Epsilon is of
        substitution, one row in place of another: a training of which an accountant states half
        of it for adding or removing a row keeps to it where delta is 0.

    Raises
    ------
    ValueError
        If a leakage is below delta, or the power of the attack is 1, or exceeded at epsilon = 0; if
        both are given, or neither; if leakage or delta is outside [0, 1], gamma not positive and
        finite, or target another word.

    Notes
    -----
    With L the leakage, h = min(gamma, 1/gamma), ``s = sqrt(L (1 - h + h L))`` and
    ``k = (L - delta)/(1 - delta)``::

        given:               log((1 + h k)/(1 - k)) - log h
        random, delta = 0:   2 log((1 + s)/(1 - L)) - log h
        random, delta > 0:   as given

    At gamma = 1 and delta = 0 these are 2 atanh(L) and 4 atanh(L).

    **Accuracy.**  2 eps relative, for leakages down to 1e-14 and up to 1 - 1e-12.  With `steps` or
    an `attack` the leakage or power of the composition is the given one to within 1e-13 relative:
    near 1, where it hardly depends on epsilon, epsilon has fewer digits.  **Cost.**  60 ns an
    element.

    Examples
    --------
    >>> from mialeak.guarantees import epsilon_for_leakage
    >>> f"{epsilon_for_leakage(0.1):.6f} {epsilon_for_leakage(0.1, delta=1e-5):.6f}"
    '0.200671 0.200653'
    >>> f"{epsilon_for_leakage(0.1, target='random'):.6f}"
    '0.401341'

    Each of twelve releases, by their composition (see :func:`mialeak.compose`):

    >>> f"{epsilon_for_leakage(0.1, steps=12):.6f}"
    '0.074084'
    >>> f"{epsilon_for_leakage(attack=(0.01, 0.05), steps=12):.6f}"
    '0.203115'
    """
    if (leakage is None) == (attack is None):
        invalid("leakage", "be given, or attack, but not both")
    if as_count(steps, "steps", least=1) > 1 or attack is not None:
        return _epsilon_of_steps(leakage, delta, gamma, target, steps, attack)
    share, deltas = as_probability(leakage, "leakage"), as_probability(delta, "delta")
    gamma = positive(gamma, "gamma")
    remedy = "No epsilon ensures less than delta"
    require(share >= deltas, share, "leakage", "be at least delta", remedy=remedy)
    as_choice(target, "target", get_args(Target))
    offset = np.abs(np.log(gamma))
    h = np.exp(-offset)
    with np.errstate(divide="ignore"):
        log_complement = np.log1p(-share)
        inside = deltas < 1.0
        k = np.where(inside, (share - deltas) / np.where(inside, 1.0 - deltas, 1.0), 1.0)
        # log(1 - k), near 1 from 1 - k = (1 - L)/(1 - delta)
        log_short = np.where(
            k < 0.5, np.log1p(-k), log_complement - np.log1p(-np.where(inside, deltas, 0.0))
        )
        pair = np.log1p(h * k) - log_short + offset
        if target == "given":
            return plain(pair)
        root = np.sqrt(share * (h * share - np.expm1(-offset)))
        average = 2.0 * (np.log1p(root) - log_complement) + offset
    return plain(np.where(deltas > 0.0, pair, average))


def _epsilon_of_steps(
    leakage: Any,
    delta: Any,
    gamma: Any,
    target: str,
    steps: int,
    attack: tuple[float, float] | None,
) -> float:
    """Epsilon of each of several releases, by the composition of randomised responses."""
    fpr, most = _attack(attack) if attack is not None else (0.0, 0.0)
    share, lost = _number(leakage, "leakage") if attack is None else most, _number(delta, "delta")
    strike = abs(float(np.log(positive(_number(gamma, "gamma", np.inf), "gamma"))))
    if target != "given":
        why = "the bound on an average over targets is one of a single release"
        what = "steps" if attack is None else "attack"
        unsupported(what, 'with target="random"', why, 'Pass target="given"')
    together = float(-np.expm1(steps * np.log1p(-lost))) if lost < 1.0 else 1.0
    least = together + fpr * (1.0 - together)
    if share < least and attack is None:
        rule = f"be at least {together:.6g}, the delta of all {steps} releases"
        invalid("leakage", rule, value=share)
    if share < least:
        rule = f"have a power of at least {least:.6g}, that of all releases with an epsilon of 0"
        invalid("attack", rule, value=share)
    if share in (least, 1.0) or (attack is not None and fpr == 0.0):
        return 0.0 if share == least else np.inf

    def excess(epsilon: float) -> float:
        curve = compose(PiecewiseTradeOff._of_budget(epsilon, lost, "exact"), counts=steps)
        reached = float(curve.delta(strike) if attack is None else curve.power(fpr))
        return float(np.log(reached / share)) if reached > 0.0 else -np.inf

    # One release alone, without delta, would need less than this.
    high = 2.0 * np.arctanh(share) + strike
    high = high if attack is None else special.logit(share) - special.logit(fpr)
    root = increasing_root(lambda x: np.asarray(excess(float(x))), 0.0, high + 1.0)
    return float(root)


def noise_multiplier_for_leakage(
    leakage: Any = None,
    *,
    gamma: Any = 1.0,
    steps: Any = 1,
    rate: float = 1.0,
    attack: tuple[float, float] | None = None,
) -> float | FloatArray:
    """The noise multiplier with which noisy sums of clipped gradients leak no more than this.

    Parameters
    ----------
    leakage : array_like, optional
        In [0, 1].
    gamma : array_like
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.  Positive and finite.
    steps : array_like
        Sums released: whole numbers, positive.
    rate : float
        Share of the rows in the batch of a step, drawn anew for each, in (0, 1].  Below 1 all other
        arguments are numbers.
    attack : (float, float), optional
        In place of `leakage` and `gamma`: a false-positive rate, and the largest power that an
        attack with this rate may have.

    Returns
    -------
    float or ndarray
        Standard deviation of the normal noise on each sum, in units of the clipping norm; inf for
        a leakage of 0, and 0 where no noise is needed: for 1, and where sampling alone ensures it.

    Raises
    ------
    ValueError
        If leakage is outside [0, 1], gamma or steps not positive and finite, steps not whole, rate
        outside (0, 1], the false-positive rate of the attack 0, or its power below that rate or 1;
        if `leakage` and `attack` are both given, or neither; with `rate`, for a leakage that is
        above 0 and below 1e-12.

    Notes
    -----
    One row in place of another moves a sum by two clipping norms at most, so that all steps
    together are mu-Gaussian between neighbours with ``mu = 2 sqrt(steps)/multiplier``.  By
    convexity the leakage is at most ``delta(|log gamma|)`` of that curve, at gamma = 1
    ``2 Phi(mu/2) - 1``.  It is reached if the target's gradient opposes all others; a sum made of a
    random share of the rows leaks less: with `rate`, the steps are composed, each with the curve
    ``GaussianTradeOff(2 / multiplier).subsample(rate, symmetric=True)``.
    Digits as those of the curve, 1e-14, and 10 us an element; with `rate` 1e-6 and seconds.  Where
    the leakage of all steps is known by a bound alone, the noise is enough and may be too large.

    Examples
    --------
    >>> from mialeak.guarantees import noise_multiplier_for_leakage
    >>> f"{noise_multiplier_for_leakage(0.1):.3f}"
    '7.958'
    >>> f"{noise_multiplier_for_leakage(0.1, steps=100):.3f}"
    '79.579'

    At a false-positive rate of 0.1 % no attack finds more than 1 % of the members:

    >>> f"{noise_multiplier_for_leakage(attack=(0.001, 0.01), steps=100):.3f}"
    '26.182'
    """
    if (leakage is None) == (attack is None):
        invalid("leakage", "be given, or attack, but not both")
    if attack is not None or rate != 1.0:
        return _noise_of_steps(leakage, gamma, steps, rate, attack)
    share, gamma = as_probability(leakage, "leakage"), positive(gamma, "gamma")
    count = positive(steps, "steps")
    require(count == np.rint(count), count, "steps", "be whole, a number of sums")
    strike = np.abs(np.log(gamma))
    inside = (share > 0.0) & (share < 1.0)
    wanted = np.where(inside, share, 0.5)
    # At mu = 80 + 2 strike the leakage is 1 to the last digit.
    mu = increasing_root(
        lambda mu: GaussianTradeOff(mu).delta(strike) - wanted, 0.0, 80.0 + 2.0 * strike
    )
    with np.errstate(divide="ignore", over="ignore"):
        multiplier = 2.0 * np.sqrt(count) / mu
    return plain(np.where(share == 0.0, np.inf, np.where(share == 1.0, 0.0, multiplier)))


def _noise_of_steps(
    leakage: Any, gamma: Any, steps: Any, rate: Any, attack: tuple[float, float] | None
) -> float:
    """The noise multiplier of sampled steps, or for an attack, by search."""
    count, share = as_count(steps, "steps", least=1), _number(rate, "rate")
    if share == 0.0:
        invalid("rate", "be above 0 and at most 1", value=share)
    if attack is None:
        most, strike = _number(leakage, "leakage"), abs(np.log(_number(gamma, "gamma", np.inf)))
    else:
        fpr, most = _attack(attack)
        if most < fpr:
            invalid("attack", "have a power of at least its false-positive rate", value=most)
        if fpr == 0.0:
            rule = (
                "have a false-positive rate above 0: at 0 no attack has power, whatever the noise"
            )
            invalid("attack", rule, value=fpr)
    least = 0.0 if attack is None else fpr
    # Without noise, a row in no batch is one of no step.
    enough = least - float(np.expm1(count * np.log1p(-min(share, 1.0 - 1e-16))))
    if most == least or most >= min(enough, 1.0):
        return np.inf if most == least else 0.0

    from scipy.optimize import brentq

    def excess(log_multiplier: float, drawn: float = share) -> float:
        step = GaussianTradeOff(2.0 * np.exp(-log_multiplier)).subsample(drawn, symmetric=True)
        curve = compose(step, counts=count)
        try:
            reached = curve.delta(strike) if attack is None else curve.power(fpr)
        except ArithmeticError:  # an upper bound: the noise is enough, and may be more
            place = {"epsilon": strike} if attack is None else {"fpr": fpr}
            reached = curve.enclosure(**place).upper
        return float(reached) - most

    # With all rows in each step the leakage is larger: mu <= 100 at any strike of use.
    ends = (np.log(2.0 * np.sqrt(count) / _MOST_MU), np.log(2.0 * np.sqrt(count) / _LEAST_MU))
    if excess(ends[1], 1.0) > 0.0:
        name, rule = "leakage", f"be 0, or above {_LEAST_MU:g}"
        if attack is not None:
            name, rule = (
                "attack",
                "have a power that float64 sets apart from its false-positive rate",
            )
        invalid(name, f"{rule}, where noise is searched", value=most)
    high = float(brentq(excess, *ends, args=(1.0,), rtol=_SOLVED))
    if share == 1.0:
        return float(np.exp(high))
    low = high
    while excess(low) < 0.0:
        low, high = low - 0.5, low
    return float(np.exp(brentq(excess, low, high, xtol=1e-9, rtol=1e-9)))


# ---- what the functions of this room take ----


def positive(values: Any, name: str) -> FloatArray:
    """`values` as numbers above 0 and finite."""
    array = as_floats(values, name)[()]  # a scalar is faster than an array of no axis
    require((array > 0.0) & (array < np.inf), array, name, "be positive and finite")
    return array


def _attack(attack: tuple[float, float]) -> tuple[float, float]:
    """The false-positive rate of an attack, and the power that it may have at most."""
    remedy = "Pass (false-positive rate, power), both as shares: 1 % is 0.01"
    if np.shape(attack) != (2,):
        invalid("attack", f"be two rates; its shape is {np.shape(attack)}", remedy=remedy)
    fpr, most = (_number(each, "attack") for each in attack)
    if most == 1.0:
        rule = "have a power below 1, which every attack may have whatever the guarantee"
        invalid("attack", rule, value=most, remedy=remedy)
    return fpr, most


def _number(value: Any, name: str, most: float = 1.0) -> float:
    """`value` as one number in [0, most]."""
    array = as_floats(value, name)
    if array.ndim:
        invalid(name, f"be one number where releases are composed; its shape is {array.shape}")
    require_within(array, 0.0, most, name, f"be between 0 and {most:g}")
    return float(array)


def at_least_zero(values: Any, name: str) -> FloatArray:
    """`values` as numbers of at least 0, infinity among them."""
    array = as_floats(values, name)[()]
    require(array >= 0.0, array, name, "be at least 0")
    return array
