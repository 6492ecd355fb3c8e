"""The numbers of pages and docstrings that no doctest holds: ``claims.toml``, computed again."""

from __future__ import annotations

import functools
import inspect
import math
import tomllib
from typing import Any

import numpy as np
import pytest
from house import ROOT

import mialeak
from mialeak import GaussianTradeOff, Register, Release, compose, max_leakage
from mialeak.auditing import AuditStream, shadow_audit
from mialeak.certificates import certify
from mialeak.discrete import atom_leakage
from mialeak.exact import _transitions
from mialeak.laws._ranges import MOST_IN_RANGES
from mialeak.laws._second_order import SecondOrder
from mialeak.mechanisms import Synthetic
from mialeak.releases import _design
from mialeak.special import binom_excess, binom_sf
from mialeak.tables import plan_recoding
from mialeak.tradeoff import _outcomes

CLAIMS = tomllib.loads((ROOT / "tests/claims.toml").read_text(encoding="utf-8"))["claim"]
COLUMNS = ["age", "education", "marital_status", "race", "sex"]
KEYS = {"page", "sentence", "stated", "value", "within", "ignore_case"}


@functools.cache
def sizes_of_adult() -> Any:
    """Rows of each cell, counted without the package."""
    columns = mialeak.datasets.load_adult().columns
    rows = zip(*(np.asarray(columns[name]).tolist() for name in COLUMNS), strict=True)
    found: dict[Any, int] = {}
    for row in rows:
        found[row] = found.get(row, 0) + 1
    return np.array(list(found.values()))


def share_of(share: float) -> int:
    return round(share * int(sizes_of_adult().sum()))


def too_low(share: float) -> float:
    """The leakage of a sample of a register by that of independent rows."""
    sizes, n = sizes_of_adult(), share_of(share)
    return max_leakage(Register(sizes), n) / max_leakage(sizes / sizes.sum(), n)


def enclosure_width() -> float:
    report = mialeak.table_leakage({"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400})
    number = certify(report).content["numbers"][0]
    low, high, value = (float.fromhex(number[name]) for name in ("low", "high", "value"))
    return (high - low) / (2.0 * value)


def off_the_hundredth() -> float:
    rng = np.random.default_rng(1)
    members = rng.random((64, 200)) < 0.5
    bounds = shadow_audit(rng.normal(3.0 * members), members).epsilon_lower
    assert bounds.max() > 0.0
    return float(np.abs(100.0 * bounds - np.round(100.0 * bounds)).max() / 100.0)


def default(function: Any, name: str) -> Any:
    return inspect.signature(function).parameters[name].default


def deviance_gap() -> float:
    """A(z) is the series 1/3 + z/5 + ..., summed in full."""
    k, mean = 110.0, 100.0
    delta = k - mean
    s = delta / (k + mean)
    series = sum(s ** (2 * m) / (2 * m + 3) for m in range(40))
    found = s * delta * (1.0 + s * (1.0 + s) * series)
    return (k * math.log(k / mean) - delta) / found - 1.0


def stein_gap() -> float:
    """T_0 and T_1 by the kernels, V in whole numbers."""
    n, k, p = 60, 22, 0.25
    t0, t1 = binom_sf(k - 1, n, p), binom_excess(k, n, p)
    v = k * (1 - p) * math.comb(n, k) * p**k * (1 - p) ** (n - k)
    return float((t1 + (k - n * p) * t0) / v - 1.0)


@functools.cache
def names() -> dict[str, Any]:
    """What an expression may name."""
    sizes = sizes_of_adult()
    return {
        "AuditStream": AuditStream,
        "GaussianTradeOff": GaussianTradeOff,
        "Release": Release,
        "SecondOrder": SecondOrder,
        "Synthetic": Synthetic,
        "MOST_IN_RANGES": MOST_IN_RANGES,
        "MOST_PAIRS": _outcomes.MOST_PAIRS,
        "MOST_ROWS": _design.MOST_ROWS,
        "MOST_ENTRIES": _transitions._MOST_ENTRIES,
        "adult": Register(sizes),
        "adult_sizes": sizes,
        "atom_leakage": atom_leakage,
        "compose": compose,
        "default": default,
        "deviance_gap": deviance_gap,
        "enclosure_width": enclosure_width,
        "max_leakage": max_leakage,
        "mialeak": mialeak,
        "off_the_hundredth": off_the_hundredth,
        "plan": plan_recoding(mialeak.datasets.load_adult().columns, COLUMNS, 0.05),
        "share_of": share_of,
        "stein_gap": stein_gap,
        "too_low": too_low,
    }


def folded(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["sentence"][:50])
def test_the_sentence_is_on_its_page(claim):
    assert claim.keys() <= KEYS
    page = folded((ROOT / claim["page"]).read_text(encoding="utf-8"))
    sentence = folded(claim["sentence"])
    if claim.get("ignore_case"):
        page, sentence = page.lower(), sentence.lower()
    assert sentence in page


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["sentence"][:50])
def test_the_number_holds(claim):
    value = np.asarray(eval(claim["value"], names()), float)
    stated = np.asarray(claim["stated"], float)
    assert value.shape == stated.shape
    off = np.abs(value - stated)
    assert (off <= np.asarray(claim["within"])).all(), f"{value} is not {stated}"
