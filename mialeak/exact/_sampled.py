"""The trade-off curve of a released mean, estimated from drawn releases."""

from __future__ import annotations

import math

import numpy as np

from mialeak._arrays import as_share
from mialeak._results import Bounds
from mialeak.tradeoff import EmpiricalTradeOff

__all__ = ["SampledTradeOff"]

#: Share of the error probability of an interval for events that no draw contains.
_UNSEEN = 0.1


class SampledTradeOff(EmpiricalTradeOff):
    """The trade-off of drawn releases, from their exact log likelihood ratios: an estimate.

    Made by :func:`exact_mean_tradeoff` with ``method="sample"``.

    Parameters
    ----------
    in_scores, out_scores : array_like
        Exact log likelihood ratios of releases drawn in the two worlds.
    allow_reversed : bool, default False
        As for :class:`~mialeak.EmpiricalTradeOff`; exact ratios are never reversed.

    See Also
    --------
    exact_mean_tradeoff : the curve without a sampling error, where it can be computed.

    Notes
    -----
    With the two worlds equally likely, the advantage is the mean of ``|tanh(l/2)|``: unbiased, and
    of less variance than the difference of two shares.  Power and fpr are those of
    :class:`~mialeak.EmpiricalTradeOff`.

    An event that no draw contains is not in the curve: N draws in a world miss one of probability
    3/N with probability 5 %.  Power and fpr near 0 and 1, and epsilon at a delta of that size, may
    be far off.  The interval of the advantage allows for such an event; the others have no
    interval.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import exact_mean_tradeoff
    >>> from mialeak.laws import Chain
    >>> law = Chain.from_correlation(np.full(60, 0.3), 0.9)
    >>> curve = exact_mean_tradeoff(np.zeros(60), law, 50, method="sample", draws=2000, rng=0)
    >>> print(f"{curve.advantage:.3f} {curve.kind}")
    0.079 estimate
    >>> curve.advantage_interval()
    Bounds(lower=0.0761352, upper=0.0845521, kind='estimate')
    """

    _is_one_attack = False

    @property
    def advantage(self) -> float:
        """Mean of ``|tanh(l/2)|`` over both worlds."""
        return self._moments()[0]

    def advantage_interval(self, confidence: float = 0.95) -> Bounds:
        """Interval of the advantage: the normal law of its mean, and events that no draw contains.

        Parameters
        ----------
        confidence : float, optional
            Nominal coverage.

        Returns
        -------
        Bounds
            Of the kind "estimate".

        Notes
        -----
        A tenth of the error probability is for an event that none of N draws contains: its
        probability is at most ``1 - (error/20)^(1/N)``, 6/N at 95 %, and ``|tanh(l/2)|`` may be
        anything from 0 to 1 there.  Of 1,000 intervals of 95 % each, for five laws and 100, 1,000
        and 5,000 draws, 98.8 % or more held the exact advantage.  Without the tenth 13 % did, of
        100 draws of a law with one event of probability 0.001 that reveals the target.
        """
        from scipy.special import ndtri

        mean, error = self._moments()
        doubt = 1.0 - as_share(confidence, "confidence")
        reach = -float(ndtri(0.5 * (1.0 - _UNSEEN) * doubt)) * error
        unseen = -math.expm1(math.log(0.5 * _UNSEEN * doubt) / (2 * min(self.n_in, self.n_out)))
        lower, upper = mean * (1.0 - unseen) - reach, mean + (1.0 - mean) * unseen + reach
        return Bounds(max(lower, 0.0), min(upper, 1.0), kind="estimate")

    def _moments(self) -> tuple[float, float]:
        """Mean and standard error, of two worlds of equal weight."""
        size = np.abs(np.tanh(0.5 * self.roc.threshold[1:]))
        mean, variance = 0.0, 0.0
        for counts, number in ((self._hits, self.n_in), (self._false, self.n_out)):
            weight = np.diff(counts) / number
            centre = float(weight @ size)
            mean += 0.5 * centre
            variance += 0.25 * float(weight @ (size - centre) ** 2) / number
        return mean, float(np.sqrt(variance))
