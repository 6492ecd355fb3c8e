"""Trade-off curves: the power of the best attack at each false-positive rate.

The common result of all rooms: a curve determines accuracy, advantage, and every (epsilon, delta)
in both directions.
"""

from mialeak.tradeoff._base import TradeOff
from mialeak.tradeoff._compose import compose
from mialeak.tradeoff._composed import ComposedTradeOff
from mialeak.tradeoff._empirical import EmpiricalTradeOff
from mialeak.tradeoff._gaussian import GaussianTradeOff
from mialeak.tradeoff._laplace import LaplaceTradeOff
from mialeak.tradeoff._piecewise import PiecewiseTradeOff
from mialeak.tradeoff._stored import curve_from_dict
from mialeak.tradeoff._subsampled import SubsampledTradeOff

__all__ = [
    "ComposedTradeOff",
    "EmpiricalTradeOff",
    "GaussianTradeOff",
    "LaplaceTradeOff",
    "PiecewiseTradeOff",
    "SubsampledTradeOff",
    "TradeOff",
    "compose",
]

TradeOff._stored = staticmethod(curve_from_dict)
