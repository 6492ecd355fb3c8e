"""Search of the cheapest recoding: the levels of each column, and the plans made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, unsupported
from mialeak._cells import count_cells, summed
from mialeak._columns import Factor
from mialeak._fields import reads_as_number
from mialeak._results import Estimate
from mialeak.discrete import atom_leakage, max_leakage
from mialeak.populations import Register
from mialeak.tables._estimate import estimate_atom_leakage, estimate_max_leakage
from mialeak.tables._recoding import Recoding, recode_factor
from mialeak.tables._report import TableReport

__all__ = ["MOST_LEAKAGES", "RecodingSearch"]

IntArray = npt.NDArray[np.int64]

#: Widths of bands, relative to the smallest power of ten that is at most a thousandth of the range,
#: and distinct numbers that a column of numbers has at least.
_WIDTHS, _NUMBERS = (2, 5, 10, 20, 50, 100, 200, 500), 8
#: Share of the rows that top and bottom codes take together.
_ENDS = 0.02
#: Values of fewer than such a share of the rows are grouped.
_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.25)
#: Plans that are listed, and leakages that are computed at most (5 ms each).
_MOST_PLANS, MOST_LEAKAGES = 2_000_000, 1_200


@dataclass(frozen=True)
class _Level:
    """One way to recode a column: its rule, codes of the cells, bits of information it loses."""

    rules: Mapping[str, Any] | None
    codes: IntArray
    size: int
    lost: float


# ---- the levels of a column ----


def _levels(
    factor: Factor, people: Factor | None, rows: IntArray, weight: float, name: Any, *, fixed: bool
) -> list[_Level]:
    """Ways to recode a column; `people` are its values in the cells of a register, if one is."""
    every: list[Mapping[str, Any] | None] = [None]
    if not fixed:
        every += [*_rules(factor, rows), {"drop": True}]
    whole = 0.0
    levels: list[_Level] = []
    tried: list[IntArray] = []
    for rules in every:
        shown = factor if rules is None else recode_factor(factor, rules, name, rows)
        codes = _with_missing(shown)
        bits = _entropy(codes, rows)
        whole = bits if rules is None else whole
        if people is not None:
            settled = None if rules is None else _settled(rules, shown)
            shown = people if settled is None else recode_factor(people, settled, name, None)
            codes = _with_missing(shown)
        # What is the same for the table may merge values that the register alone has.
        if any(_same(codes, other) for other in tried):
            continue
        tried.append(codes)
        levels.append(_Level(rules, codes, len(shown.levels) + 1, weight * (whole - bits)))
    return levels


def _with_missing(factor: Factor) -> IntArray:
    """The codes, one more for what is missing."""
    return np.where(factor.codes < 0, len(factor.levels), factor.codes).astype(np.int64)


def _settled(rules: Mapping[str, Any], shown: Factor) -> Mapping[str, Any]:
    """The rule for other tables: the values that it kept."""
    if "rare" not in rules:
        return rules
    return {"keep": [level for level in shown.levels if level != "other"]}


def _rules(factor: Factor, rows: IntArray) -> list[dict[str, Any]]:
    """The rules to try for a column, by what its values are."""
    used = np.unique(factor.codes[factor.codes >= 0])
    total = int(rows.sum())
    values = [factor.value(int(code)) for code in used]
    try:
        numbers = np.array(list(map(float, values)))
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if not all(reads_as_number(value) for value in values if isinstance(value, str)):
        numbers = np.empty(0)  # codes with leading zeros
    if len(numbers) < _NUMBERS or not np.isfinite(numbers).all():
        below = dict.fromkeys(max(2, math.ceil(share * total)) for share in _SHARES)
        return [{"rare": count} for count in below]
    span = float(numbers.max() - numbers.min())
    unit = 10.0 ** math.floor(math.log10(span / 1000.0)) if span > 1000.0 else 1.0
    if (numbers != np.rint(numbers)).any():
        unit = 10.0 ** math.floor(math.log10(span / 100.0))
    widths = [_plain(unit * width) for width in _WIDTHS if unit * width < span]
    weight = np.bincount(factor.codes[factor.codes >= 0], rows[factor.codes >= 0])[used]
    order = np.argsort(numbers, kind="stable")
    share = np.cumsum(weight[order]) / total
    bottom = numbers[order][int(np.searchsorted(share, _ENDS / 2))]
    top = numbers[order][min(int(np.searchsorted(share, 1 - _ENDS / 2)), len(order) - 1)]
    ends = {"bottom": _plain(bottom)} if numbers.min() < bottom < top else {}
    ends |= {"top": _plain(top)} if bottom < top < numbers.max() else {}
    rules: list[dict[str, Any]] = [ends] if ends else []
    for width in widths:
        rules.append({"bin": width})
        if ends:
            rules.append({"bin": width, **ends})
    return rules


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else float(value)


def _entropy(codes: IntArray, rows: IntArray) -> float:
    """Of the rows by these codes of their cells, in bits."""
    mass = np.bincount(codes, rows)
    mass = mass[mass > 0.0] / mass.sum()
    return float(-(mass * np.log2(mass)).sum())


def _same(one: IntArray, other: IntArray) -> bool:
    """Whether each of two codes determines the other."""
    return _coarser(one, other) and _coarser(other, one)


def _coarser(fine: IntArray, coarse: IntArray) -> bool:
    """Whether `fine` determines `coarse`."""
    of = np.full(int(fine.max()) + 1, -1)
    of[fine] = coarse
    return bool((of[fine] == coarse).all())


# ---- the search ----


class RecodingSearch:
    """Plans, one level for each column; what is known of their leakage."""

    def __init__(
        self, report: TableReport, limit: float, weights: dict[Any, float], kept: set[Any]
    ) -> None:
        self.report, self.limit = report, limit
        population = report.population
        values = dict(zip(report.columns, report._cell_values, strict=True))
        self.values = {name: _values_of(factor) for name, factor in values.items()}
        rows = report.cell_counts
        self.counts = rows if population is None else population.register_cells
        self.levels = [
            _levels(
                factor,
                None if population is None else population.categories[name],
                rows,
                weights[name],
                name,
                fixed=name in kept,
            )
            for name, factor in values.items()
        ]
        self._thin()
        self.total = sum(
            weights[name] * _entropy(_with_missing(f), rows) for name, f in values.items()
        )
        self.known: dict[tuple[int, ...], float] = {}

    def _thin(self) -> None:
        """Leave out every second level of the column with most, while there are too many plans."""
        while math.prod(len(levels) for levels in self.levels) > _MOST_PLANS:
            at = max(range(len(self.levels)), key=lambda k: len(self.levels[k]))
            levels = self.levels[at]
            if len(levels) < 3:
                why = f"there are more than {_MOST_PLANS:,} ways to drop them"
                remedy = "Name fewer columns, or more of them in keep"
                unsupported("A plan", f"for {len(self.levels)} columns", why, remedy)
            self.levels[at] = [*levels[:-1:2], levels[-1]]

    def _merged(self, plan: tuple[int, ...]) -> IntArray:
        chosen = [levels[k] for levels, k in zip(self.levels, plan, strict=True)]
        cells = count_cells([(x.codes, x.size) for x in chosen], len(self.counts))
        return summed(cells.of_row, self.counts, len(cells.counts))

    def _estimate(self, plan: tuple[int, ...]) -> Estimate:
        merged, report = self._merged(plan), self.report
        level = report.estimate.confidence
        if report.population is None:
            return estimate_max_leakage(
                merged, report.n, confidence=level, population=report.people
            )
        exact = float(max_leakage(Register(merged), report.population.n))
        return Estimate(exact, exact, exact, exact, level, claimed=True, kind="exact")

    def _high(self, plan: tuple[int, ...]) -> float:
        if plan not in self.known:
            self.known[plan] = self._estimate(plan).high
        return self.known[plan]

    def _lost(self, plan: tuple[int, ...]) -> float:
        return math.fsum(levels[k].lost for levels, k in zip(self.levels, plan, strict=True))

    def run(self, done: Any) -> dict[str, Any]:
        """The fields of the plan."""
        raw = (0,) * len(self.levels)
        best = self._greedy(raw, done)
        if best is None:
            rule = "be reached with every column dropped that may be"
            last = min(self.known.values())
            remedy = (
                f"The least leakage reached is {last:.4g}: allow for more, or keep fewer columns"
            )
            invalid("leakage", rule, value=self.limit, remedy=remedy)
        best, optimal = self._exact(best, done)
        rules = {
            name: _settled_for_write(levels[k].rules, name, self.report)
            for name, levels, k in zip(self.report.columns, self.levels, best, strict=True)
            if levels[k].rules is not None
        }
        lost, leak = self._curve()
        before, after = self._estimate(raw), self._estimate(best)
        return {
            "recoding": Recoding(rules),
            "leakage": self.limit,
            "before": before,
            "after": after,
            "lost": self._lost(best),
            "total": self.total,
            "curve_lost": lost,
            "curve_leakage": leak,
            "computed": len(self.known),
            "optimal": optimal,
            "kind": after.kind,
            "_values": self.values,
            "_people": (self._cells(raw), self._cells(best)),
        }

    def _cells(self, plan: tuple[int, ...]) -> tuple[FloatArray, IntArray]:
        merged, population = self._merged(plan), self.report.population
        if population is not None:
            return atom_leakage(Register(merged), population.n), merged
        return estimate_atom_leakage(merged, self.report.n).value, merged

    def _greedy(self, plan: tuple[int, ...], done: Any) -> tuple[int, ...] | None:
        """From a plan to that of all columns dropped, by the change that gains most for its cost.

        The first that keeps the limit.
        """
        reached = plan if self._high(plan) <= self.limit else None
        while True:
            here, cost = self._high(plan), self._lost(plan)
            steps = [
                (*plan[:c], k, *plan[c + 1 :])
                for c, levels in enumerate(self.levels)
                for k in self._next(c, plan[c])
                if levels[k].lost > levels[plan[c]].lost - 1e-12
            ]
            if not steps:
                return reached
            before = len(self.known)
            gain = [
                (here - self._high(step)) / max(self._lost(step) - cost, 1e-9) for step in steps
            ]
            done(len(self.known) - before)
            plan = steps[int(np.argmax(gain))]
            if reached is None and self._high(plan) <= self.limit:
                reached = plan

    def _next(self, column: int, level: int) -> list[int]:
        """The next two coarser levels of a column."""
        levels = self.levels[column]
        coarser = [
            k for k in range(len(levels)) if k != level and levels[k].lost >= levels[level].lost
        ]
        coarser = [k for k in coarser if _coarser(levels[level].codes, levels[k].codes)]
        return sorted(coarser, key=lambda k: levels[k].lost)[:2]

    def _exact(self, best: tuple[int, ...], done: Any) -> tuple[tuple[int, ...], bool]:
        """The cheapest plan that keeps the limit: all cheaper ones are ruled out."""
        sizes = [len(levels) for levels in self.levels]
        plans = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
        lost = np.zeros(len(plans))
        for c, levels in enumerate(self.levels):
            lost += np.array([level.lost for level in levels])[plans[:, c]]
        finer = [
            np.array([[_coarser(a.codes, b.codes) for b in levels] for a in levels])
            for levels in self.levels
        ]
        # How many plans each rules out, if it leaks too much.
        power = np.prod([f.sum(axis=0)[plans[:, c]] for c, f in enumerate(finer)], axis=0)
        cost = self._lost(best)
        open_ = lost < cost - 1e-9
        for plan, high in self.known.items():
            if high > self.limit:
                open_ &= ~self._ruled_out(plans, finer, plan)
        while open_.any():
            if len(self.known) >= MOST_LEAKAGES:
                return best, False
            places = np.flatnonzero(open_)
            place = places[int(np.argmax(power[places]))]
            plan = tuple(plans[place].tolist())
            done(1)
            if self._high(plan) <= self.limit:
                best, cost = plan, float(lost[place])
                open_ &= lost < cost - 1e-9
            else:
                open_ &= ~self._ruled_out(plans, finer, plan)
            open_[place] = False
        return best, True

    def _ruled_out(
        self, plans: IntArray, finer: list[Any], plan: tuple[int, ...]
    ) -> npt.NDArray[np.bool_]:
        """Plans that are finer than this one, or equal, in every column."""
        out = np.ones(len(plans), np.bool_)
        for c, k in enumerate(plan):
            out &= finer[c][plans[:, c], k]
        return out

    def _curve(self) -> tuple[FloatArray, FloatArray]:
        """What is lost and what leaks, of the plans that no other is better than."""
        points = sorted((self._lost(plan), high) for plan, high in self.known.items())
        lost: list[float] = []
        leak: list[float] = []
        for cost, high in points:
            if not leak or high < leak[-1]:
                lost.append(cost)
                leak.append(high)
        return np.array(lost), np.array(leak)


def _values_of(factor: Factor) -> list[Any]:
    return [factor.value(int(code)) for code in np.unique(factor.codes[factor.codes >= 0])]


def _settled_for_write(rules: Any, name: Any, report: TableReport) -> Mapping[str, Any]:
    """The rule with the values that it keeps of this table."""
    factor = dict(zip(report.columns, report._cell_values, strict=True))[name]
    return _settled(rules, recode_factor(factor, rules, name, report.cell_counts))
