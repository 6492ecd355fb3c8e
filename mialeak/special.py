"""Binomial and hypergeometric laws as NumPy ufuncs, accurate to the last bits up to n = 2**53.

The functions broadcast and take ``out=``, ``where=`` and the other arguments of NumPy's ufuncs.
NaN arguments give NaN without a warning.  Arguments outside the domain give NaN and NumPy's
"invalid value" RuntimeWarning, as ``np.log(-1.0)`` does: a count that is negative, not whole or
above 2**53, or a probability outside [0, 1].  Integer counts are exact, never rounded to a float
first.

Results have the same bits on every processor, compiler and number of threads.
"""

from __future__ import annotations

from typing import Any

from mialeak._kernels.ufuncs import ufunc

__all__ = [
    "binom_excess",
    "binom_logpmf",
    "binom_mad",
    "binom_sf",
    "binom_shortfall",
    "hypergeom_logpmf",
    "hypergeom_mad",
    "hypergeom_sf",
]

#: Sections of the docstrings of all functions.
_REFUSALS = """Raises
------
TypeError
    If an argument is not of a real dtype.

Warns
-----
RuntimeWarning
    For arguments outside the domain; the result is NaN.

"""

_MAD = (
    """Mean absolute deviation of a binomial count from its mean, ``E|B - n p|``.

Parameters
----------
n : array_like
    Number of trials, whole, from 0 to 2**53.
p : array_like
    Probability of success, in [0, 1].  Broadcasts with `n`.
out, where, **kwargs
    As for any NumPy ufunc.

Returns
-------
ndarray or scalar of float64
    In trials: between 0 and ``sqrt(n p (1 - p))``.

"""
    + _REFUSALS
    + """See Also
--------
binom_excess : the expected excess over any threshold.
mialeak.max_leakage : the sum of `binom_mad` over the atoms of a law, divided by ``2 n``.

Notes
-----
De Moivre's identity [1]_: ``2 n p (1 - p) b(m; n - 1, p)`` with ``m = floor(n p)`` and b the
probability mass function.  With p the smaller of p and 1 - p, the value is
``2 n p exp(n log1p(-p))`` for ``n p <= 1``, Loader's saddle-point form [2]_ up to ``n p = 1024``,
and Stirling's series of the gamma function around ``n p`` [3]_ beyond.  The distance of the mode
from n p uses the exact product: neither a large n nor a rounded floor costs digits.

**Accuracy**: within 4 eps (2.5 where n p and n (1 - p) are at least 16), eps = 2**-52, for n to
2**53 and p from 1e-300 to 1 - 2**-53, against ball arithmetic.  **Cost**: constant in n.

References
----------
.. [1] P. Diaconis and S. Zabell, "Closed form summation for classical distributions: variations on
   a theme of de Moivre", Statistical Science 6 (1991) 284-302.
.. [2] C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
.. [3] NIST Digital Library of Mathematical Functions, equation 5.11.8.

Examples
--------
>>> from mialeak.special import binom_mad
>>> print(f"{binom_mad(10, 0.3):.10f}")
1.1206773144
>>> binom_mad([1, 100, 2**53], 0.5).round(4).tolist()
[0.5, 3.9795, 37862122.0325]
"""
)

_EXCESS = (
    """Expected excess of a binomial count over a threshold, ``E max(B - c, 0)``.

Parameters
----------
c : array_like
    Threshold, any real number; infinities are limits.
n : array_like
    Number of trials, whole, from 0 to 2**53.
p : array_like
    Probability of success, in [0, 1].
out, where, **kwargs
    As for any NumPy ufunc.

Returns
-------
ndarray or scalar of float64
    In trials.

"""
    + _REFUSALS
    + """See Also
--------
binom_shortfall : the expected shortfall, ``binom_excess(c, n, p) + c - n p``.

Notes
-----
With j = floor(c) and f = c - j the value is ``(r + 1 - f) P(B > j)``, where r is the mean excess
``E(B - j - 1 | B > j)``.  Stein's identity gives r as a continued fraction of positive terms; a
fixed weighted sum of its last 13 convergents gives r in 22 steps for every n, p and c, without
cancellation.  (The textbook difference of two tail probabilities loses all digits where the excess
is small against the tails.)  Below the mean, the value is the shortfall plus the exact ``n p - c``.

**Accuracy**: 4e-15 relative within 6 standard deviations of the mean, 2e-14 beyond where the result
is above 1e-290, both for c as given: the rounding of a threshold c = gamma n p is not included.
**Cost**: constant.

Examples
--------
>>> from mialeak.special import binom_excess
>>> print(f"{binom_excess(3.5, 10, 0.3):.10f}")
0.3851440164
>>> print(f"{binom_excess(900, 1000, 0.5):.6e}")
8.340752e-163
"""
)

_SHORTFALL = (
    """Expected shortfall of a binomial count below a threshold, ``E max(c - B, 0)``.

Parameters
----------
c : array_like
    Threshold, any real number; infinities are limits.
n : array_like
    Number of trials, whole, from 0 to 2**53.
p : array_like
    Probability of success, in [0, 1].
out, where, **kwargs
    As for any NumPy ufunc.

Returns
-------
ndarray or scalar of float64
    In trials.

"""
    + _REFUSALS
    + """See Also
--------
binom_excess : the expected excess, with the method.

Notes
-----
``E(c - B)+ = E(B - c)+ + c - n p``, computed on the smaller side.  **Accuracy** and **cost** as for
`binom_excess`.

Examples
--------
>>> from mialeak.special import binom_shortfall
>>> print(f"{binom_shortfall(2, 10, 0.3):.10f}")
0.1775558708
"""
)

_SF = (
    """Probability that a binomial count exceeds a threshold, ``P(B > c)``.

Parameters
----------
c : array_like
    Threshold, any real number.
n : array_like
    Number of trials, whole, from 0 to 2**53.
p : array_like
    Probability of success, in [0, 1].
out, where, **kwargs
    As for any NumPy ufunc.

Returns
-------
ndarray or scalar of float64

"""
    + _REFUSALS
    + """Notes
-----
The continued fraction of `binom_excess`; the value is minus the slope of `binom_excess` in c.
**Accuracy** and **cost** as for `binom_excess`.

Examples
--------
>>> from mialeak.special import binom_sf
>>> print(f"{binom_sf(3, 10, 0.3):.10f}")
0.3503892816
"""
)

_LOGPMF = (
    """Natural logarithm of a binomial probability, ``log P(B = k)``.

Parameters
----------
k : array_like
    Number of successes, whole.
n : array_like
    Number of trials, whole, from 0 to 2**53.
p : array_like
    Probability of success, in [0, 1].
out, where, **kwargs
    As for any NumPy ufunc.

Returns
-------
ndarray or scalar of float64
    In nats; -inf for k below 0 or above n, and for k impossible with p = 0 or p = 1.

"""
    + _REFUSALS
    + """Notes
-----
Loader's saddle-point form with the deviance in double-word arithmetic.  (Forms through the
logarithm of the gamma function lose digits as n grows: 1.6e-3 at n = 1e12.)

**Accuracy**: within 6 eps relative (absolute where the result is near 0).  **Cost**: constant in n.

Examples
--------
>>> from mialeak.special import binom_logpmf
>>> print(f"{binom_logpmf(3, 10, 0.3):.10f}")
-1.3211512778
>>> print(f"{binom_logpmf(5 * 10**14, 10**15, 0.5):.10f}")
-17.4951795501
"""
)

#: The law of a sample without replacement.
_POPULATION = """N : array_like
    Size of the population, whole, from 0 to 2**53.
K : array_like
    Marked ones in the population, whole, from 0 to N.
n : array_like
    Size of the sample, drawn without replacement; whole, from 0 to N.
out, where, **kwargs
    As for any NumPy ufunc.

"""

_HYPERGEOM_MAD = (
    """Mean absolute deviation of a hypergeometric count from its mean, ``E|H - n K / N|``.

H is the number of marked ones in a sample without replacement.

Parameters
----------
"""
    + _POPULATION
    + """Returns
-------
ndarray or scalar of float64
    In members of the sample.

"""
    + _REFUSALS
    + """See Also
--------
binom_mad : the deviation for a sample with replacement, the limit of a large population.

Notes
-----
The closed form ``2 m (N - K - n + m) / N P(H = m)`` with ``m = floor(n K / N) + 1``.  Floor and
remainder of ``n K / N`` are exact, and the probability is in Loader's saddle-point form [1]_, as
for `binom_mad`: neither a large N nor a rounded floor costs digits.

**Accuracy**: within 4 eps, eps = 2**-52, for N to 2**53, against ball arithmetic.  **Cost**:
constant.

References
----------
.. [1] C. Loader, "Fast and accurate computation of binomial probabilities" (2000).

Examples
--------
Of 1000 residents 30 have a rare value, and a survey asks 100 of them:

>>> from mialeak.special import hypergeom_mad
>>> print(f"{hypergeom_mad(1000, 30, 100):.10f}")
1.2555733758
"""
)

_HYPERGEOM_LOGPMF = (
    """Natural logarithm of a hypergeometric probability, ``log P(H = h)``.

H is the number of marked ones in a sample without replacement.

Parameters
----------
h : array_like
    Marked ones in the sample, whole.
"""
    + _POPULATION
    + """Returns
-------
ndarray or scalar of float64
    In nats; -inf for h below ``max(0, K + n - N)`` or above ``min(K, n)``.

"""
    + _REFUSALS
    + """Notes
-----
The sum of four deviances, one for each cell of the 2 x 2 table (marked or not, drawn or not), in
double-word arithmetic.  (Forms through the logarithm of the gamma function lose digits as N grows.)

**Accuracy**: within 4 eps, relative to the larger of 1 and the logarithm's size.  **Cost**:
constant.

Examples
--------
>>> from mialeak.special import hypergeom_logpmf
>>> print(f"{hypergeom_logpmf(3, 1000, 30, 100):.10f}")
-1.4283474047
>>> print(f"{hypergeom_logpmf(25 * 10**13, 10**15, 5 * 10**14, 5 * 10**14):.10f}")
-16.8020323695
"""
)

_HYPERGEOM_SF = (
    """Probability that a hypergeometric count exceeds a threshold, ``P(H > h)``.

H is the number of marked ones in a sample without replacement.

Parameters
----------
h : array_like
    Threshold, any real number.
"""
    + _POPULATION
    + """Returns
-------
ndarray or scalar of float64

"""
    + _REFUSALS
    + """Notes
-----
The smaller tail is a probability next to the threshold divided by the sum of a distance and a mean
excess.  By Stein's identity the mean excess is a continued fraction, evaluated in 22 steps at any
spread.

**Accuracy**: 1e-13 relative where the result is above 1e-290.  **Cost**: constant.

Examples
--------
>>> from mialeak.special import hypergeom_sf
>>> print(f"{hypergeom_sf(5, 1000, 30, 100):.10f}")
0.0701623310
"""
)

_DOCS = {
    "binom_mad": _MAD,
    "binom_excess": _EXCESS,
    "binom_shortfall": _SHORTFALL,
    "binom_sf": _SF,
    "binom_logpmf": _LOGPMF,
    "hypergeom_mad": _HYPERGEOM_MAD,
    "hypergeom_logpmf": _HYPERGEOM_LOGPMF,
    "hypergeom_sf": _HYPERGEOM_SF,
}
_ufuncs = {name: ufunc(name, doc) for name, doc in _DOCS.items()}

binom_mad: Any = _ufuncs["binom_mad"]
binom_excess: Any = _ufuncs["binom_excess"]
binom_shortfall: Any = _ufuncs["binom_shortfall"]
binom_sf: Any = _ufuncs["binom_sf"]
binom_logpmf: Any = _ufuncs["binom_logpmf"]
hypergeom_mad: Any = _ufuncs["hypergeom_mad"]
hypergeom_logpmf: Any = _ufuncs["hypergeom_logpmf"]
hypergeom_sf: Any = _ufuncs["hypergeom_sf"]

# Doctest does not search ufuncs.
__test__ = _DOCS
