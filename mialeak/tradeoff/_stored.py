"""Curves from what ``to_dict`` made of them, for instance from a JSON file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from mialeak._arrays import as_choice, invalid, listed
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
        return PiecewiseTradeOff.from_laws(*laws, kind=content["kind"])
    points = _field(content, "fpr", name), _field(content, "power", name)
    return PiecewiseTradeOff(*points, kind=content["kind"])


def _composed(content: Mapping[str, Any], name: str, depth: int) -> TradeOff:
    curves = _field(content, "curves", name)
    if not isinstance(curves, (list, tuple)):
        invalid(f"curves of {name}", f"be a list, not {type(curves).__name__}", error=TypeError)
    parts = [_curve(each, f"curve {k} of {name}", depth) for k, each in enumerate(curves, 1)]
    return compose(*parts, counts=_field(content, "counts", name))


_READERS: dict[str, Callable[[Mapping[str, Any], str, int], TradeOff]] = {
    GaussianTradeOff.__name__: _gaussian,
    LaplaceTradeOff.__name__: _laplace,
    SubsampledTradeOff.__name__: _subsampled,
    PiecewiseTradeOff.__name__: _piecewise,
    ComposedTradeOff.__name__: _composed,
}
TradeOff._stored = curve_from_dict
