"""From leakage to what attackers achieve, and from guarantees to leakage.

The leakage Delta of a procedure, at a balance gamma of the membership game, is the divergence
``D_gamma`` between the worlds *out* (the target is fresh) and *in* (the target is in the data).
gamma = 1 is the balanced game, and the worst one; :func:`gamma_ratio` converts from the share of
non-members and the weight of a true positive.

What holds for every procedure with a guarantee, differential privacy or little mutual information,
is given by bounds.  They are sharp unless their docstring says otherwise.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy import special

from mialeak._arrays import FloatArray, as_floats, as_probabilities, invalid, require
from mialeak.tradeoff._base import as_probability
from mialeak.tradeoff._roots import increasing_root

__all__ = [
    "divergence",
    "dp_leakage_bound",
    "epsilon_for_leakage",
    "gamma_ratio",
    "max_accuracy",
    "mutual_information_bound",
    "security",
]

Form = Literal["sharp", "published"]

#: Coefficients c_k, k = 1 to 9, of ``1/(e^x - 1) = 1/x - 1/2 + sum c_k x^(2k-1)`` and of
#: ``log((e^x - 1)/x)/x = 1/2 + sum c_k/(2k) x^(2k-1)``; at |x| = 1 the last is below 1e-14.
_EVEN = 2.0 * np.arange(1, 10)
_ODD = _EVEN - 1.0
_COTH = special.bernoulli(18)[2::2] / special.factorial(_EVEN)
_HALVED = _COTH / _EVEN


def gamma_ratio(nonmember_rate: Any, tpr_weight: Any) -> float | FloatArray:
    """The balance of a game: ``nonmember_rate / (tpr_weight * (1 - nonmember_rate))``.

    Parameters
    ----------
    nonmember_rate : array_like
        Share nu of non-members among the targets, strictly between 0 and 1.
    tpr_weight : array_like
        Weight lambda of a true positive relative to a true negative, positive.

    Returns
    -------
    float or ndarray
        gamma, 1 for the balanced game.

    Notes
    -----
    [AGP25] Definition 3.

    Examples
    --------
    >>> from mialeak.security import gamma_ratio
    >>> f"{gamma_ratio(0.5, 1.0):g} {gamma_ratio(0.9, 1.0):g}"
    '1 9'
    """
    nu, weight = _game(nonmember_rate, tpr_weight)
    return _plain(nu / (weight * (1.0 - nu)))


def security(leakage: Any) -> float | FloatArray:
    """The security of a procedure, ``1 - leakage``.

    Parameters
    ----------
    leakage : array_like
        In [0, 1].

    Returns
    -------
    float or ndarray
        1: no attack does better than the best guess without looking; 0: some attack is always
        right.  Unless gamma is 1, a security of 1 does not say that the worlds are equal.

    Notes
    -----
    [AGP25] Definition 3 and Theorem 6.

    Examples
    --------
    >>> from mialeak.security import security
    >>> f"{security(0.25):g}"
    '0.75'
    """
    return _plain(1.0 - as_probability(leakage, "leakage"))


def max_accuracy(
    leakage: Any, *, nonmember_rate: Any = 0.5, tpr_weight: Any = 1.0
) -> float | FloatArray:
    """The accuracy of the best attack: ``max(nu, lambda (1-nu)) + min(nu, lambda (1-nu)) leakage``.

    Accuracy is ``nu TNR + lambda (1 - nu) TPR``, with nu the share of non-members and lambda the
    weight of a true positive.

    Parameters
    ----------
    leakage : array_like
        In [0, 1], at the balance ``gamma_ratio(nonmember_rate, tpr_weight)``.
    nonmember_rate : array_like
        nu, strictly between 0 and 1.
    tpr_weight : array_like
        lambda, positive.

    Returns
    -------
    float or ndarray

    Notes
    -----
    [AGP25] Theorem 6, which is an equality for the optimal attack.  (The paper's remark that the
    probability of a right guess is TNR + TPR is a slip: it is nu TNR + (1 - nu) TPR.)

    Examples
    --------
    >>> from mialeak.security import max_accuracy
    >>> f"{max_accuracy(0.2):g} {max_accuracy(0.2, nonmember_rate=0.9):g}"
    '0.6 0.92'
    """
    nu, weight = _game(nonmember_rate, tpr_weight)
    out, inside = nu, weight * (1.0 - nu)
    share = as_probability(leakage, "leakage")
    return _plain(np.maximum(out, inside) + np.minimum(out, inside) * share)


def divergence(p_out: Any, p_in: Any, gamma: Any = 1.0) -> float | FloatArray:
    """The divergence D_gamma of two discrete laws: the leakage of a release with these laws.

    Parameters
    ----------
    p_out, p_in : (..., K) array_like
        Probability of each of K outcomes in the two worlds; leading axes broadcast.
    gamma : array_like
        Positive and finite; broadcasts with the leading axes.  1 gives the total variation
        distance.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        For negative or missing probabilities and for laws that do not sum to 1 within 1e-9.

    Notes
    -----
    In positive terms only ([AGP25] equation 3 subtracts nearly equal numbers)::

        gamma >= 1:   sum (p_in - gamma p_out)+
        gamma <= 1:   sum (p_out - p_in / gamma)+

    It lies in [0, 1], and ``D_gamma(P, Q) = D_(1/gamma)(Q, P) <= D_1(P, Q)``.  For gamma other than
    1 it may be 0 for different laws.

    Examples
    --------
    >>> from mialeak.security import divergence
    >>> f"{divergence([0.5, 0.5], [0.6, 0.4]):g} {divergence([0.5, 0.5], [0.6, 0.4], 2.0):g}"
    '0.1 0'
    """
    out, inside = as_probabilities(p_out, "p_out"), as_probabilities(p_in, "p_in")
    if out.shape[-1] != inside.shape[-1]:
        sizes = f"its last axis has {inside.shape[-1]} and that of p_out {out.shape[-1]}"
        invalid("p_in", f"have as many outcomes as p_out; {sizes}")
    balance = _positive(gamma, "gamma")[..., np.newaxis]
    more, less = np.maximum(balance, 1.0), np.minimum(balance, 1.0)
    excess = np.where(balance >= 1.0, inside - more * out, out - inside / less)
    return _plain(np.maximum(excess, 0.0).sum(axis=-1))


def dp_leakage_bound(
    epsilon: Any, delta: Any = 0.0, *, gamma: Any = 1.0, form: Form = "sharp"
) -> float | FloatArray:
    """The largest leakage that (epsilon, delta)-differential privacy allows.

    Parameters
    ----------
    epsilon : array_like
        At least 0; may be inf.  Of substitution: neighbouring data sets differ in one row.
    delta : array_like
        In [0, 1].
    gamma : array_like
        Balance of the game, positive and finite.
    form : {"sharp", "published"}
        "published" is [AGP25] equation 9, for comparison; it may exceed 1.

    Returns
    -------
    float or ndarray

    See Also
    --------
    epsilon_for_leakage : the inverse.

    Notes
    -----
    With h = min(gamma, 1/gamma) and ``a = epsilon + log h``::

        delta = 0:   (1 - e^(-a/2))^2 / (1 - e^-epsilon)                  where a > 0, else 0
        delta > 0:   delta + (1 - delta) (1 - e^-a)+ / (1 + e^-epsilon)

    For delta = 0 this is sharp over all laws of the data, for every gamma and n, and attained
    with n = 1; at gamma = 1 it is tanh(epsilon/4).  [AGP25] Appendix H.2 gives tanh(epsilon/2) as
    the supremum: leakage compares a release with the *average* over the target, not two
    neighbours, and tanh(epsilon/2) is never reached.  For delta > 0 the bound is that of two
    neighbours, valid and not sharp: it jumps at delta = 0.

    Examples
    --------
    >>> from mialeak.security import dp_leakage_bound
    >>> f"{dp_leakage_bound(1.0):.6f} {dp_leakage_bound(1.0, 1e-5):.6f}"
    '0.244919 0.462123'
    """
    eps = _at_least_zero(epsilon, "epsilon")
    slip, balance = as_probability(delta, "delta"), _positive(gamma, "gamma")
    if _form(form) == "published":
        more = np.maximum(balance, 1.0)
        with np.errstate(over="ignore"):
            growth = np.maximum(np.exp(eps) - 1.0 / balance, 0.0)
        return _plain(more * (growth - np.maximum(1.0 - 1.0 / balance, 0.0) + slip))
    above = np.maximum(eps - np.abs(np.log(balance)), 0.0)
    pure = np.expm1(-0.5 * above) ** 2 / np.where(above > 0.0, -np.expm1(-eps), 1.0)
    pair = slip - (1.0 - slip) * np.expm1(-above) / (1.0 + np.exp(-eps))
    return _plain(np.where(slip > 0.0, pair, pure))


def epsilon_for_leakage(leakage: Any, *, delta: Any = 0.0, gamma: Any = 1.0) -> float | FloatArray:
    """The largest epsilon with which (epsilon, delta)-differential privacy ensures this leakage.

    Parameters
    ----------
    leakage : array_like
        In [0, 1], and at least `delta`.
    delta : array_like
        In [0, 1].
    gamma : array_like
        Balance of the game, positive and finite.

    Returns
    -------
    float or ndarray
        Inverse of :func:`dp_leakage_bound`; inf where the leakage is 1.

    Raises
    ------
    ValueError
        If a leakage is below delta: no epsilon ensures it.

    Notes
    -----
    With L the leakage, h = min(gamma, 1/gamma), ``s = sqrt(L (1 - h + h L))`` and
    ``k = (L - delta)/(1 - delta)``::

        delta = 0:   2 log((1 + s)/(1 - L)) - log h,     4 atanh(L) at gamma = 1
        delta > 0:   log((1 + h k)/(1 - k)) - log h

    Examples
    --------
    >>> from mialeak.security import epsilon_for_leakage
    >>> f"{epsilon_for_leakage(0.1):.6f} {epsilon_for_leakage(0.1, delta=1e-5):.6f}"
    '0.401341 0.200653'
    """
    share, slip = as_probability(leakage, "leakage"), as_probability(delta, "delta")
    balance = _positive(gamma, "gamma")
    remedy = "No epsilon ensures less than delta"
    require(share >= slip, share, "leakage", "be at least delta", remedy=remedy)
    offset = np.abs(np.log(balance))
    h = np.exp(-offset)
    with np.errstate(divide="ignore"):
        pure = 2.0 * (np.log1p(np.sqrt(share * (1.0 - h * (1.0 - share)))) - np.log1p(-share))
        k = np.where(slip < 1.0, (share - slip) / np.where(slip < 1.0, 1.0 - slip, 1.0), 1.0)
        pair = np.log1p(h * k) - np.log1p(-k)
    return _plain(np.where(slip > 0.0, pair, pure) + offset)


def mutual_information_bound(
    information: Any, gamma: Any = 1.0, *, form: Form = "sharp"
) -> float | FloatArray:
    """The largest leakage that this mutual information between release and target allows.

    Parameters
    ----------
    information : array_like
        In nats, at least 0; may be inf.
    gamma : array_like
        Balance of the game, positive and finite.
    form : {"sharp", "published"}
        "published" is [AGP25] equation 8, ``max(1, gamma) sqrt(information / 2)``, which may
        exceed 1.

    Returns
    -------
    float or ndarray

    Notes
    -----
    Information is the Kullback-Leibler divergence of *in* from *out*, leakage their D_gamma.  The
    sharp form is the largest D_gamma of any two laws with this divergence, reached by two outcomes
    (for gamma = 1 the sharp inequality of Pinsker; Fedotov, Harremoes and Topsoe, 2003).  By the
    variational formula of Donsker and Varadhan it is the least value, over theta of the sign of
    gamma - 1 (positive at 1), of ::

        sign(theta)/min(1, gamma) [ (I + log((e^theta - 1)/(gamma theta)) - 1)/theta
                                    + gamma/(e^theta - 1) ]

    Every theta gives a bound, so that an error of the search enters squared.  Relative accuracy
    1e-13, and 1e-16 absolute.  At gamma = 2 and 0.1 nats the published form gives 0.447, this
    0.074.

    Examples
    --------
    >>> from mialeak.security import mutual_information_bound
    >>> f"{mutual_information_bound(0.1):.6f} {mutual_information_bound(0.1, 2.0):.6f}"
    '0.222355 0.073557'
    """
    nats, balance = _at_least_zero(information, "information"), _positive(gamma, "gamma")
    if _form(form) == "published":
        return _plain(np.maximum(balance, 1.0) * np.sqrt(0.5 * nats))
    # Beyond 700 nats the bound is 1 to the last digit; the search needs an upper end.
    finite = np.minimum(nats, 700.0)
    sign = np.where(balance < 1.0, -1.0, 1.0)
    high = 100.0 + 4.0 * np.exp(finite) * np.maximum(balance, 1.0 / balance)
    x = increasing_root(lambda x: _dual(sign * x, balance)[1] - finite, 0.0, high)
    some = (nats > 0.0) & (x > 0.0)
    theta = sign * np.where(some, x, 1.0)
    bound = sign * (finite / theta + _dual(theta, balance)[0]) / np.minimum(balance, 1.0)
    return _plain(np.where(some, np.clip(bound, 0.0, 1.0), 0.0))


def _dual(theta: Any, gamma: Any) -> tuple[Any, Any]:
    """``f(theta)`` and the information at which ``I / theta + f(theta)`` is stationary."""
    # For small theta all but Taylor terms cancels: with g = gamma - 1, f = a + gamma b' + rest,
    # a = log((e^theta - 1)/theta)/theta - 1/2, b' = 1/(e^theta - 1) - 1/theta + 1/2.
    small = np.where(np.abs(theta) < 1.0, theta, 0.5)
    square = small * small
    series = (polyval(square, terms) for terms in (_HALVED, _COTH, _HALVED * _ODD, _COTH * _ODD))
    a, b, a_slope, b_slope = series
    bent = gamma - 1.0 - np.log(gamma)
    with np.errstate(divide="ignore", invalid="ignore"):
        f_small = small * (a + gamma * b) + bent / small - 0.5 * (gamma - 1.0)
    at_small = square * (a_slope + gamma * b_slope) - bent

    x = np.maximum(np.abs(theta), 1.0)
    positive = theta > 0.0
    rest, fall = -np.expm1(-x), np.exp(-x)
    log_ratio = np.log(rest / (gamma * x)) + np.where(positive, x, 0.0)
    inverse = np.where(positive, fall, -1.0) / rest  # 1/(e^theta - 1)
    large = np.where(positive, x, -x)
    p = 1.0 / (gamma * large) - inverse
    q = p * gamma * x * np.where(positive, 1.0, fall) / rest
    f_large = (log_ratio - 1.0) / large + gamma * inverse
    at_large = np.where(p > 0.0, q * large - log_ratio, -1.0)
    is_small = np.abs(theta) < 1.0
    return np.where(is_small, f_small, f_large), np.where(is_small, at_small, at_large)


def _game(nonmember_rate: Any, tpr_weight: Any) -> tuple[FloatArray, FloatArray]:
    nu = as_floats(nonmember_rate, "nonmember_rate")
    require((nu > 0.0) & (nu < 1.0), nu, "nonmember_rate", "be strictly between 0 and 1")
    return nu, _positive(tpr_weight, "tpr_weight")


def _positive(values: Any, name: str) -> FloatArray:
    array = as_floats(values, name)
    require((array > 0.0) & (array < np.inf), array, name, "be positive and finite")
    return array


def _at_least_zero(values: Any, name: str) -> FloatArray:
    array = as_floats(values, name)
    require(array >= 0.0, array, name, "be at least 0")
    return array


def _form(form: str) -> str:
    if form not in get_args(Form):
        invalid("form", 'be "sharp" or "published"', value=form)
    return form


def _plain(values: Any) -> float | FloatArray:
    result: float | FloatArray = np.asarray(values)[()]
    return result
