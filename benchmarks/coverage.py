"""False claims and mean bounds of audits, ours and others': ``python benchmarks/coverage.py``.

Scores are drawn from laws of known epsilon: the Laplace mechanism, randomised response (two scores,
all ties) and the Gaussian mechanism (delta = 1e-5).  A claim is false if it exceeds the truth.  The
table goes to docs/audit_coverage.md.

Repetitions come in chunks.  Each has a seed of its own, and what --results holds of it is not run
again: a run may be stopped, and go on.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import optimize, stats
from scipy.special import ndtr, ndtri

from mialeak._numerics.order import Order
from mialeak.auditing import Interval, one_run_audit
from mialeak.auditing._audit import Evidence, Method
from mialeak.auditing._intervals import (
    Band,
    advantage_interval,
    area_interval,
    hull_area_interval,
    power_band,
    power_interval,
)
from mialeak.tradeoff import EmpiricalTradeOff

ERROR = 0.05
LAWS = ("Laplace", "randomised response", "Gaussian")
EPSILONS = (0.0, 1.0, 4.0)
SIZES = (50, 200, 1000, 10_000)
GROUPS = ("bounds", "statements", "peers")
CHUNK = 100
#: Of these, one repetition in so many is looked at.
EVERY = {
    "jax-privacy split": 2,
    "jax-privacy from GDP": 2,
    "jax-privacy one-run": 4,
    "jax-privacy one-run, f-DP": 20,
    "TensorFlow Privacy Clopper-Pearson": 20,
    "TensorFlow Privacy Bailey": 2,
}


@dataclass(frozen=True)
class Cell:
    """Two laws of scores, n of each."""

    law: str
    epsilon: float
    n: int

    @property
    def place(self) -> tuple[int, int, int]:
        return LAWS.index(self.law), SIZES.index(self.n), EPSILONS.index(self.epsilon)

    @property
    def delta(self) -> float:
        return 1e-5 if self.law == "Gaussian" else 0.0

    @cached_property
    def mu(self) -> float:
        """Of the Gaussian mechanism with this epsilon at delta."""
        if self.epsilon == 0.0:
            return 0.0

        def excess(mu: float) -> float:
            first = ndtr(-self.epsilon / mu + mu / 2)
            return float(first - np.exp(self.epsilon) * ndtr(-self.epsilon / mu - mu / 2))

        return float(optimize.brentq(lambda mu: excess(mu) - self.delta, 1e-3, 20.0))

    def power(self, fpr: Any) -> Any:
        """The true curve; of randomised response across its ties."""
        fpr = np.asarray(fpr, float)
        if self.law == "Gaussian":
            return ndtr(ndtri(fpr) + self.mu)
        grow = np.exp(self.epsilon)
        if self.law == "Laplace":
            low, middle = grow * fpr, 1 - 0.25 / (grow * np.maximum(fpr, 1e-300))
            high = 1 - (1 - fpr) / grow
            return np.where(fpr <= 0.5 / grow, low, np.where(fpr <= 0.5, middle, high))
        q = grow / (1 + grow)
        return np.interp(fpr, [0.0, 1 - q, 1.0], [0.0, q, 1.0])

    def draw(self, rng: np.random.Generator, inside: np.ndarray) -> np.ndarray:
        """One score for each flag; of two scores -1 and 1, since an audit refuses flags."""
        if self.law == "Gaussian":
            return rng.normal(self.mu * inside, 1.0)
        if self.epsilon == 0.0:
            scores = rng.random(inside.size)
            return scores if self.law == "Laplace" else 2.0 * np.rint(scores) - 1.0
        if self.law == "Laplace":
            return rng.laplace(inside, 1 / self.epsilon)
        right = rng.random(inside.size) < 1 / (1 + np.exp(-self.epsilon))
        return np.where(right == (inside == 1), 1.0, -1.0)

    @cached_property
    def true(self) -> dict[str, float]:
        fpr = np.concatenate([np.geomspace(1e-12, 0.5, 4000), 1 - np.geomspace(1e-12, 0.5, 4000)])
        power = np.clip(self.power(fpr), 0.0, 1.0)
        inner = (fpr < 1) & (power < 1) & (power > 0)
        shift = ndtri(power[inner]) - ndtri(fpr[inner])
        if self.law == "randomised response":
            shift = np.append(shift, 2 * ndtri(1 / (1 + np.exp(-self.epsilon))))
        grid = np.linspace(0, 1, 200_001)
        return {
            "mu": self.mu if self.law == "Gaussian" else max(float(shift.max()), 0.0),
            "advantage": float(np.max(power - fpr)),
            "area": float(np.trapezoid(self.power(grid), grid)),
            "power": float(self.power(0.1)),
        }


@dataclass(frozen=True)
class Draws:
    """Scores of separate runs in and out, and of canaries of one run with their flags."""

    cell: Cell
    inside: np.ndarray
    outside: np.ndarray
    scores: np.ndarray
    member: np.ndarray
    seed: int

    @classmethod
    def of(cls, cell: Cell, rng: np.random.Generator, seed: int) -> Draws:
        inside, outside = (cell.draw(rng, np.full(cell.n, flag)) for flag in (1, 0))
        member = rng.integers(0, 2, 2 * cell.n)
        return cls(cell, inside, outside, cell.draw(rng, member), member, seed)

    @cached_property
    def order(self) -> Order:
        """As the audit sorts them, with a seed of its own for the ties of these draws."""
        return Order.of(self.inside, self.outside, higher_is_member=True, rng=self.seed)

    @cached_property
    def band(self) -> Band:
        return power_band(self.order, 1 - ERROR)

    def evidence(self, method: Method) -> Evidence:
        return Evidence(self.order, ERROR, "both", method)


class Claim(NamedTuple):
    """What was said, and whether it is false."""

    value: float
    is_false: bool


def clopper_pearson(cell: Cell, hits: np.ndarray, false: np.ndarray) -> np.ndarray:
    """The bound at one fixed threshold: half the error for either rate."""
    tail, n = ERROR / 2, cell.n
    (one, place), (other, spot) = (np.unique(x, return_inverse=True) for x in (hits, false))
    low = np.where(one > 0, stats.beta.ppf(tail, np.maximum(one, 1), n - one + 1), 0.0)[place]
    high = np.where(other < n, stats.beta.isf(tail, other + 1, np.maximum(n - other, 1)), 1.0)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(np.maximum(low - cell.delta, 0.0)) - np.log(high[spot]), 0.0)


def oracle(cell: Cell, draws: int = 2000) -> float:
    """Mean bound at the best threshold, which nobody knows; chosen on other draws."""
    rng = np.random.default_rng([99, SIZES.index(cell.n)])
    rates = np.geomspace(1e-4, 0.5, 60)
    if cell.law == "randomised response":
        rates = np.array([1 / (1 + np.exp(cell.epsilon))])

    def mean(fpr: float) -> float:
        false = rng.binomial(cell.n, fpr, draws)
        hits = rng.binomial(cell.n, min(float(cell.power(fpr)), 1.0), draws)
        return float(clopper_pearson(cell, hits, false).mean())

    return mean(max(rates, key=mean))


def module(distribution: str, path: str) -> Any:
    """One module of a package that is installed, without the rest of it; or None."""
    name = f"peer_{Path(path).stem}"
    if name in sys.modules:
        return sys.modules[name]
    try:
        installed = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
    spec = importlib.util.spec_from_file_location(name, str(installed.locate_file(path)))
    if spec is None or spec.loader is None:
        return None
    found = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def jax_privacy() -> Any:
    """Its auditing, which takes no JAX."""
    return module("jax-privacy", "jax_privacy/auditing.py")


def tensorflow_privacy() -> Any:
    """Its bounds on epsilon, which take no TensorFlow; last shipped with 0.8.12."""
    folder = "tensorflow_privacy/privacy/privacy_tests"
    return module("tensorflow-privacy", f"{folder}/epsilon_lower_bound.py")


def bounds(cell: Cell) -> dict[str, Callable[[Draws], float]]:
    """Our bounds on epsilon: of scores of separate runs, and of canaries of one."""
    delta = cell.delta
    return {
        "audit, calibrated": lambda d: d.evidence("calibrated").epsilon(delta),
        "audit, simultaneous": lambda d: d.evidence("simultaneous").epsilon(delta),
        "one_run_audit": lambda d: (
            one_run_audit(
                d.scores, d.member, delta=delta, allow_reversed=True, rng=d.seed
            ).epsilon_lower
        ),
    }


def peers(cell: Cell) -> dict[str, Callable[[Draws], float]]:
    """The bounds of those who are installed."""
    delta, some = cell.delta, cell.delta or 1e-9  # jax-privacy takes no delta of 0 in places
    found: dict[str, Callable[[Draws], float]] = {}
    if jax := jax_privacy():

        def pair(d: Draws, **kwargs: Any) -> float:
            auditor = jax.CanaryScoreAuditor(d.inside, d.outside)
            return float(auditor.epsilon_clopper_pearson(ERROR, delta, one_sided=False, **kwargs))

        def from_gdp(d: Draws) -> float:
            return float(jax.CanaryScoreAuditor(d.inside, d.outside).epsilon_from_gdp(ERROR, some))

        def one_run(d: Draws) -> float:
            sides = d.scores[d.member == 1], d.scores[d.member == 0]
            return float(jax.CanaryScoreAuditor(*sides).epsilon_one_run(ERROR, some))

        def one_run_fdp(d: Draws) -> float:
            sides = d.scores[d.member == 1], d.scores[d.member == 0]
            return float(jax.CanaryScoreAuditor(*sides).epsilon_one_run_fdp(ERROR, some))

        found |= {
            "jax-privacy Clopper-Pearson": pair,
            "jax-privacy split": lambda d: pair(d, threshold_strategy=jax.Split(seed=d.seed)),
            "jax-privacy from GDP": from_gdp,
            "jax-privacy one-run": one_run,
            "jax-privacy one-run, f-DP": one_run_fdp,
        }
    if (tensorflow := tensorflow_privacy()) and not delta:  # it knows no delta

        def largest(method: Any) -> Callable[[Draws], float]:
            def bound(d: Draws) -> float:
                values = np.unique(np.append(d.inside, d.outside))
                between = np.append(values[:-1] + 0.5 * np.diff(values), values[-1] + 1.0)
                lower = tensorflow.EpsilonLowerBound(
                    d.inside, d.outside, ERROR, thresholds=np.append(between, values[0] - 1.0)
                )
                with np.errstate(all="ignore"):
                    found = lower.compute_epsilon_lower_bound(method, k=1)
                return float(max(found.max(initial=0.0), 0.0))

            return bound

        found |= {
            "TensorFlow Privacy Clopper-Pearson": largest(tensorflow.BoundMethod.CLOPPER_PEARSON),
            "TensorFlow Privacy Bailey": largest(tensorflow.BoundMethod.BAILEY),
        }
    return found


def statements(cell: Cell) -> dict[str, Callable[[Draws], Claim]]:
    """What else an audit says."""
    slack = 1e-9  # of the true values

    def mu(method: Method) -> Callable[[Draws], Claim]:
        def claim(d: Draws) -> Claim:
            value = d.evidence(method).mu()
            return Claim(value, value > cell.true["mu"] + slack)

        return claim

    def holds(name: str, interval: Callable[[Draws], Interval]) -> Callable[[Draws], Claim]:
        def claim(d: Draws) -> Claim:
            found, true = interval(d), cell.true[name]
            return Claim(found.low, not found.low - slack <= true <= found.high + slack)

        return claim

    def hull(d: Draws) -> Interval:
        measured = EmpiricalTradeOff(d.inside, d.outside).hull_auc
        return hull_area_interval(d.band, measured, 1 - ERROR)

    def band(d: Draws) -> Claim:
        found = d.band
        power = np.clip(cell.power(found.fpr), 0.0, 1.0)
        left = np.clip(cell.power(np.nextafter(found.fpr[1:], 0.0)), 0.0, 1.0)
        below = (power < found.lower - slack).any()
        return Claim(0.0, bool(below or (left > found.upper[:-1] + slack).any()))

    return {
        "mu, calibrated": mu("calibrated"),
        "mu, simultaneous": mu("simultaneous"),
        "mu, rank-sum": mu("rank-sum"),
        "advantage": holds("advantage", lambda d: advantage_interval(d.order, 1 - ERROR)),
        "power at fpr 0.1": holds("power", lambda d: power_interval(d.order, 0.1, 1 - ERROR)),
        "area": holds("area", lambda d: area_interval(d.order, 1 - ERROR)),
        "hull area": holds("area", hull),
        "band": band,
    }


def claims(cell: Cell, group: str) -> dict[str, Callable[[Draws], Claim]]:
    """All of a group, by name."""
    if group == "statements":
        return statements(cell)

    def judged(bound: Callable[[Draws], float]) -> Callable[[Draws], Claim]:
        def claim(d: Draws) -> Claim:
            value = float(bound(d))
            return Claim(value, value > cell.epsilon)

        return claim

    found = bounds(cell) if group == "bounds" else peers(cell)
    return {name: judged(bound) for name, bound in found.items()}


def run(cell: Cell, chunk: int, group: str) -> dict[str, list[float]]:
    """Of each claim of the group: how often it was made, the sum of its values, how many false."""
    law, size, epsilon = cell.place
    rng = np.random.default_rng([7, law, epsilon, size, chunk])
    methods = claims(cell, group)
    found = {name: [0, 0.0, 0] for name in methods}
    for repetition in range(CHUNK):
        draws = Draws.of(cell, rng, chunk * CHUNK + repetition)
        for name, claim in methods.items():
            if repetition % EVERY.get(name, 1) == 0:
                said = claim(draws)
                found[name] = [
                    old + float(new) for old, new in zip(found[name], (1, *said), strict=True)
                ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--groups", nargs="*", choices=GROUPS, default=GROUPS)
    parser.add_argument("--cells", default="", help="only those whose name holds this")
    parser.add_argument("--results", type=Path, default=Path("audit_coverage.json"))
    parser.add_argument("--output", type=Path, help="write the table of all results")
    options = parser.parse_args()
    done = json.loads(options.results.read_text()) if options.results.exists() else {}
    cells = {
        f"{law}, {epsilon:g}, {n}": Cell(law, epsilon, n)
        for n in reversed(SIZES)  # the long ones first
        for law in LAWS
        for epsilon in EPSILONS
        if options.cells in f"{law}, {epsilon:g}, {n}"
    }
    jobs = {}
    with ProcessPoolExecutor(options.workers) as pool:
        for group in options.groups:
            for chunk in range(options.repetitions // CHUNK):
                for name, cell in cells.items():
                    key = f"{name}, {group}, {chunk}"
                    if key not in done:
                        jobs[pool.submit(run, cell, chunk, group)] = key
        for job in as_completed(jobs):
            done[jobs[job]] = job.result()
            print(jobs[job], flush=True)
            options.results.with_suffix(".part").write_text(json.dumps(done, indent=1))
            options.results.with_suffix(".part").replace(options.results)
    if options.output:
        from coverage_table import page

        ordered = sorted(cells.values(), key=lambda cell: cell.place)
        options.output.write_text(page([summary(cell, done) for cell in ordered]))


def summary(cell: Cell, done: dict[str, Any]) -> dict[str, Any]:
    """What the chunks of a cell come to."""
    parts = {group: {} for group in GROUPS}
    for key, found in done.items():
        law, epsilon, n, group, _ = key.split(", ")
        if (law, epsilon, n) == (cell.law, f"{cell.epsilon:g}", str(cell.n)):
            for name, counts in found.items():
                known = parts[group].get(name, [0, 0.0, 0])
                parts[group][name] = [a + b for a, b in zip(known, counts, strict=True)]
    return {
        "law": cell.law,
        "epsilon": cell.epsilon,
        "n": cell.n,
        "oracle": oracle(cell) if cell.epsilon else 0.0,
        **parts,
    }


if __name__ == "__main__":
    main()
