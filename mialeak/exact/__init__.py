"""Leakage of a released mean at finite n: the law of the likelihood ratio, exactly."""

from mialeak.exact._tradeoff import ExactTradeOff, RatioArrays, exact_tradeoff

__all__ = ["ExactTradeOff", "RatioArrays", "exact_tradeoff"]
