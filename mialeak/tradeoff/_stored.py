"""Curves from what ``to_dict`` made of them, for instance from a JSON file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from mialeak._arrays import FloatArray, as_choice, as_count, as_floats, invalid, listed
from mialeak._results import Kind
from mialeak.tradeoff._base import TradeOff
from mialeak.tradeoff._compose import compose
from mialeak.tradeoff._composed import ComposedTradeOff
from mialeak.tradeoff._gaussian import GaussianTradeOff
from mialeak.tradeoff._laplace import LaplaceTradeOff
from mialeak.tradeoff._piecewise import PiecewiseTradeOff
from mialeak.tradeoff._subsampled import SubsampledTradeOff

__all__ = ["curve_from_dict"]

#: Curves within curves within a curve: of the samples that are composed.
_DEPTH = 3
#: Logarithm of the least normal number, and differences of log ratios that are rounding.
_UNDERFLOW, _SAME_RATIO = float(np.log(2.0**-1022)), 1e-6


def curve_from_dict(content: Any) -> TradeOff:
    """The curve of :meth:`TradeOff.from_dict`."""
    return _curve(content, "content", _DEPTH)


def _curve(content: Any, name: str, depth: int) -> TradeOff:
    if not isinstance(content, Mapping):
        rule = f"be a dict, as to_dict returns, not {type(content).__name__}"
        invalid(name, rule, error=TypeError)
    kind = content.get("type")
    if not isinstance(kind, str) or kind not in _READERS:
        rule = f"be one of {listed(_READERS, show=str)}"
        invalid(f"type of {name}", rule, value=kind)
    if depth == 0:
        invalid(name, "hold no further curve: to_dict nests samples in compositions only")
    as_choice(_field(content, "kind", name), f"kind of {name}", get_args(Kind))
    return _READERS[kind](content, name, depth - 1)


def _field(content: Mapping[str, Any], field: str, name: str) -> Any:
    if field not in content:
        invalid(name, f"have {field!r}, as {content['type']}.to_dict() does")
    return content[field]


def _gaussian(content: Mapping[str, Any], name: str, depth: int) -> TradeOff:
    return GaussianTradeOff(_field(content, "mu", name), kind=content["kind"])


def _laplace(content: Mapping[str, Any], name: str, depth: int) -> TradeOff:
    return LaplaceTradeOff(_field(content, "distance", name), kind=content["kind"])


def _subsampled(content: Mapping[str, Any], name: str, depth: int) -> TradeOff:
    base = _curve(_field(content, "base", name), f"base of {name}", depth)
    symmetric = _field(content, "symmetric", name)
    if not isinstance(symmetric, bool):
        invalid(f"symmetric of {name}", "be true or false", value=symmetric)
    return SubsampledTradeOff(base, _field(content, "rate", name), symmetric=symmetric)


def _piecewise(content: Mapping[str, Any], name: str, depth: int) -> TradeOff:
    if "p_out" in content and "p_in" in content:
        laws = content["p_out"], content["p_in"]
        curve = PiecewiseTradeOff.from_laws(*laws, kind=content["kind"])
        if "log_ratio" not in content:
            return curve
        p_out, p_in = (np.asarray(law, np.float64) for law in laws)
        ratio = _log_ratio(content["log_ratio"], p_out, p_in, name)
        return PiecewiseTradeOff._of_atoms((p_out, p_in, ratio), curve.kind)
    points = _field(content, "fpr", name), _field(content, "power", name)
    return PiecewiseTradeOff(*points, kind=content["kind"])


def _log_ratio(values: Any, p_out: FloatArray, p_in: FloatArray, name: str) -> FloatArray:
    """The log ratios of outcomes, of which probabilities may underflow; None is infinite."""
    ends = np.where(p_out == 0.0, np.inf, -np.inf)
    rule = "have as log_ratio a number, or null, for each outcome"
    if not isinstance(values, list) or len(values) != p_out.size:
        invalid(name, rule)
    given = [end if value is None else value for value, end in zip(values, ends, strict=True)]
    ratio = as_floats(given, f"log_ratio of {name}", ndim=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_out, log_in = (np.maximum(np.log(p), _UNDERFLOW) for p in (p_out, p_in))
        apart = log_in - log_out - ratio
    # A probability of at most the least normal number may be any smaller one.
    apart = np.where(log_out == _UNDERFLOW, np.maximum(apart, 0.0), apart)
    apart = np.where(log_in == _UNDERFLOW, np.minimum(apart, 0.0), apart)
    wrong = np.isfinite(ratio) & ~(np.abs(apart) < _SAME_RATIO)
    if wrong.any():
        index = int(np.argmax(wrong))
        rule = "be the logarithm of p_in / p_out"
        invalid(f"log_ratio of {name}", rule, index=index, value=float(ratio[index]))
    return ratio


def _composed(content: Mapping[str, Any], name: str, depth: int) -> TradeOff:
    curves = _field(content, "curves", name)
    if not isinstance(curves, (list, tuple)):
        invalid(f"curves of {name}", f"be a list, not {type(curves).__name__}", error=TypeError)
    parts = [_curve(each, f"curve {k} of {name}", depth) for k, each in enumerate(curves, 1)]
    made = compose(*parts, counts=_field(content, "counts", name))
    # Releases that were listed as one curve before: their rounding errors add up.
    releases = as_count(content.get("listed", 1), f"listed of {name}", least=1)
    return replace(made, _listed=max(made._listed, releases))


_READERS: dict[str, Callable[[Mapping[str, Any], str, int], TradeOff]] = {
    GaussianTradeOff.__name__: _gaussian,
    LaplaceTradeOff.__name__: _laplace,
    SubsampledTradeOff.__name__: _subsampled,
    PiecewiseTradeOff.__name__: _piecewise,
    ComposedTradeOff.__name__: _composed,
}
