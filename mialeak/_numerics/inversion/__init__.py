"""From a log moment function to tails, density, quantiles and options: saddle-point contours.

A real law ``l`` is given by ``K(s) = log E e^(s l)``, analytic in a strip around the real axis'
points used here.  With theta in the strip,

    P(l > x) = (1/pi) Re int_0^oo e^(K(s) - s x) / s dt,    s = theta + it, theta > 0,

and with other rational functions in place of 1/s the lower tail, the density and the options

    E (e^(l - x) - 1)+,  E (1 - e^(l - x))+  and  E min(e^(l - x), 1)    from +-1 / (s (s - 1)),

for theta > 1, theta < 0 and in between.  Near the saddle point, K'(theta) = x, the integrand does
not oscillate: the result is relatively accurate however far in the tail.  Contours are laid at
steps of 2.5 standard deviations of the tilted law, built when first needed and kept.  Each serves
all x near its saddle and both laws of a likelihood ratio, at a loss of ``e^(2.5^2/8) = 2.2`` at
most, so that a curve of thousands of points costs a dozen contours.

On a contour the trapezoid rule with step h does not give f(x) but, by Poisson's formula, the sum of
``e^(theta w m) f(x + w m)`` over all whole m, ``w = 2 pi/h``.  Where f tends to a constant (a tail
tends to the mass, an option to its value exercised) that part is known and subtracted, so that the
poles may be near; what is left is the probability that wraps around.  The step is halved until the
change, squared, is below the tolerance, for halving the step squares that probability.  The range
grows until the integrand has vanished; where ``|M|`` returns later, as it does for nearly periodic
laws, `windows` says where to look again.
"""

from mialeak._numerics.inversion._functions import MomentFunction
from mialeak._numerics.inversion._integrals import cosine_and_sine
from mialeak._numerics.inversion._saddle import SaddlePointInversion

__all__ = ["MomentFunction", "SaddlePointInversion", "cosine_and_sine"]
