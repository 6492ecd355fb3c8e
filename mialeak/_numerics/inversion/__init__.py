"""Tails, density, quantiles and options of a law from its log moment function.

The method integrates along saddle-point contours.  A real law ``l`` is given by
``K(s) = log E e^(s l)``, analytic in a strip of s.  With theta in the strip,

    P(l > x) = (1/pi) Re int_0^oo e^(K(s) - s x) / s dt,    s = theta + it, theta > 0,

and with other rational functions in place of 1/s the lower tail, the density and the options

    E (e^(l - x) - 1)+,  E (1 - e^(l - x))+  and  E min(e^(l - x), 1)    from +-1 / (s (s - 1)),

for theta > 1, theta < 0 and in between.  Near the saddle point, K'(theta) = x, the integrand does
not oscillate: the result is relatively accurate at any depth of the tail.  Contours have a spacing
of 2.5 standard deviations of the tilted law; they are built when first needed and stored.  A
contour is used for all x near its saddle and for both laws of a likelihood ratio.  The loss is at
most a factor ``e^(2.5^2/8) = 2.2``, and a curve of thousands of points takes a dozen contours.

On a contour the trapezoid rule with step h computes, by Poisson's formula, the sum of
``e^(theta w m) f(x + w m)`` over all whole m, ``w = 2 pi/h``, instead of f(x).  Where f tends to a
constant (a tail to the mass, an option to its exercise value) that part is known and subtracted,
so that poles may be near; the residual is the probability that wraps around.  Halving the step
squares this probability: the step is halved until the square of the change is below the
tolerance.  The range grows until the integrand is negligible.  For nearly periodic laws ``|M|`` is
large again at higher t: `windows` are the intervals where.
"""

from mialeak._numerics.inversion._integrals import MomentFunction, cosine_and_sine
from mialeak._numerics.inversion._saddle import SaddlePointInversion
from mialeak._numerics.inversion._two_worlds import TwoWorlds, beyond

__all__ = ["MomentFunction", "SaddlePointInversion", "TwoWorlds", "beyond", "cosine_and_sine"]
