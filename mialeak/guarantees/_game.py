"""The membership game: its weight, the accuracy of attacks, and the divergence of two worlds."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_floats,
    as_probabilities,
    as_probability,
    invalid,
    plain,
    require,
)
from mialeak._labels import require_same_values
from mialeak.guarantees._guarantees import positive

__all__ = ["divergence", "gamma_ratio", "max_accuracy"]

#: The largest and the smallest normal float64.
_LARGEST, _SMALLEST = np.finfo(float).max, np.finfo(float).tiny


def gamma_ratio(nonmember_rate: Any, tpr_weight: Any) -> float | FloatArray:
    """The weight of a game: ``nonmember_rate / (tpr_weight * (1 - nonmember_rate))``.

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

    Raises
    ------
    ValueError
        If nonmember_rate is not strictly between 0 and 1, tpr_weight not positive and finite, or
        gamma below 2**-1022 or above 1.8e308, which float64 does not hold.

    Notes
    -----
    [AGP25] Definition 3.  **Accuracy**: relative error at most 2 eps.

    Examples
    --------
    >>> from mialeak.guarantees import gamma_ratio
    >>> f"{gamma_ratio(0.5, 1.0):g} {gamma_ratio(0.9, 1.0):g}"
    '1 9'
    """
    nu, weight = _game(nonmember_rate, tpr_weight)
    with np.errstate(divide="ignore", over="ignore"):
        gamma = nu / (weight * (1.0 - nu))
    shown = np.broadcast_to(weight, gamma.shape)
    rule = "give a gamma, nonmember_rate / (tpr_weight * (1 - nonmember_rate)), that float64 holds"
    high, low = gamma <= _LARGEST, gamma >= _SMALLEST
    require(high, shown, "tpr_weight", f"{rule}: at most 1.8e308", remedy="Pass a larger weight")
    require(low, shown, "tpr_weight", f"{rule}: at least 2.2e-308", remedy="Pass a smaller weight")
    return plain(gamma)


def max_accuracy(
    leakage: Any, *, nonmember_rate: Any = 0.5, tpr_weight: Any = 1.0
) -> float | FloatArray:
    """The accuracy of the best attack: ``max(nu, lambda (1-nu)) + min(nu, lambda (1-nu)) leakage``.

    Accuracy is ``nu TNR + lambda (1 - nu) TPR``, with nu the share of non-members and lambda the
    weight of a true positive.  It is the share of right guesses where lambda is 1.  With another
    lambda it is a weighted sum, of which ``nu + lambda (1 - nu)`` is the most, and which may be
    above 1: divided by that it is a share.

    Parameters
    ----------
    leakage : array_like
        In [0, 1], at the weight ``gamma_ratio(nonmember_rate, tpr_weight)``.
    nonmember_rate : array_like
        nu, strictly between 0 and 1.
    tpr_weight : array_like
        lambda, positive.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If leakage is outside [0, 1], or as :func:`gamma_ratio`.

    Notes
    -----
    [AGP25] Theorem 6, which is an equality for the optimal attack.  (The paper's remark that the
    probability of a right guess is TNR + TPR is a slip: it is nu TNR + (1 - nu) TPR.)

    Examples
    --------
    >>> from mialeak.guarantees import max_accuracy
    >>> f"{max_accuracy(0.2):g} {max_accuracy(0.2, nonmember_rate=0.9):g}"
    '0.6 0.92'

    A true positive of weight 10, of at most 0.5 + 10 x 0.5:

    >>> f"{max_accuracy(0.2, tpr_weight=10):g} {max_accuracy(0.2, tpr_weight=10) / 5.5:.3f}"
    '5.1 0.927'
    """
    nu, weight = _game(nonmember_rate, tpr_weight)
    out, inside = nu, weight * (1.0 - nu)
    share = as_probability(leakage, "leakage")
    return plain(np.maximum(out, inside) + np.minimum(out, inside) * share)


def divergence(p_out: Any, p_in: Any, gamma: Any = 1.0) -> float | FloatArray:
    """The divergence D_gamma of two discrete laws: the leakage of a release with these laws.

    Parameters
    ----------
    p_out, p_in : (..., K) array_like
        Probability of each of K outcomes in the two worlds; leading axes broadcast.  Two pandas
        Series must have the same index.
    gamma : array_like
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.
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

    **Accuracy.**  The rounding error of each term is at most eps times the number subtracted.
    **Cost.**  20 ns an outcome.

    Examples
    --------
    >>> from mialeak.guarantees import divergence
    >>> f"{divergence([0.5, 0.5], [0.6, 0.4]):g} {divergence([0.5, 0.5], [0.6, 0.4], 2.0):g}"
    '0.1 0'
    """
    require_same_values("outcomes", p_out=p_out, p_in=p_in)
    out, inside = as_probabilities(p_out, "p_out"), as_probabilities(p_in, "p_in")
    if out.shape[-1] != inside.shape[-1]:
        sizes = f"its last axis has {inside.shape[-1]} and that of p_out {out.shape[-1]}"
        invalid("p_in", f"have as many outcomes as p_out; {sizes}")
    gamma = positive(gamma, "gamma")[..., np.newaxis]
    more, less = np.maximum(gamma, 1.0), np.minimum(gamma, 1.0)
    excess = np.where(gamma >= 1.0, inside - more * out, out - inside / less)
    # Laws whose sums are above 1 by rounding can be further apart than laws can be.
    return plain(np.minimum(np.maximum(excess, 0.0).sum(axis=-1), 1.0))


def _game(nonmember_rate: Any, tpr_weight: Any) -> tuple[FloatArray, FloatArray]:
    nu = as_floats(nonmember_rate, "nonmember_rate")
    require((nu > 0.0) & (nu < 1.0), nu, "nonmember_rate", "be strictly between 0 and 1")
    return nu, positive(tpr_weight, "tpr_weight")
