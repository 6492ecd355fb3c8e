"""Exact leakage of a released mean at finite n, by the law of the likelihood ratio."""

from mialeak.exact._curve import ExactTradeOff
from mialeak.exact._ratio_laws import RatioArrays
from mialeak.exact._sampled import SampledTradeOff
from mialeak.exact._tradeoff import exact_mean_tradeoff

__all__ = ["ExactTradeOff", "RatioArrays", "SampledTradeOff", "exact_mean_tradeoff"]
