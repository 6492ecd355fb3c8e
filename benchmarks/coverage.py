"""False claims and mean bounds of audits, ours and others': ``python benchmarks/coverage.py``.

Scores are drawn from laws of known epsilon: the Laplace mechanism, randomised response (two scores,
all ties) and the Gaussian mechanism (delta = 1e-5).  A claim is false if it exceeds the truth.  The
table goes to docs/audit_coverage.md; with --cells some of it is run.  Each cell has a seed of its
own, so that it does not matter which are run together.
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
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import optimize, stats

from mialeak.audit import audit, one_run_audit
from mialeak.audit._audit import Evidence
from mialeak.audit._order import Order

ERROR = 0.05
LAWS = ("Laplace", "randomised response", "Gaussian")
EPSILONS = (0.0, 1.0, 4.0)
SIZES = (50, 200, 1000, 10_000)
#: Of these, one repetition in so many is looked at.
EVERY = {"intervals": 10, "one_run_audit": 2, "jax-privacy split": 5, "jax-privacy one-run": 20}


@dataclass(frozen=True)
class Cell:
    """Two laws of scores, n of each."""

    law: str
    epsilon: float
    n: int

    @property
    def delta(self) -> float:
        return 1e-5 if self.law == "Gaussian" else 0.0

    @property
    def mu(self) -> float:
        """Of the Gaussian mechanism with this epsilon at delta."""
        if self.epsilon == 0.0:
            return 0.0

        def excess(mu: float) -> float:
            first = stats.norm.cdf(-self.epsilon / mu + mu / 2)
            return first - np.exp(self.epsilon) * stats.norm.cdf(-self.epsilon / mu - mu / 2)

        return float(optimize.brentq(lambda mu: excess(mu) - self.delta, 1e-3, 20.0))

    def power(self, fpr: Any) -> Any:
        """The true curve; of randomised response across its ties."""
        fpr = np.asarray(fpr, float)
        if self.law == "Gaussian":
            return stats.norm.cdf(stats.norm.ppf(fpr) + self.mu)
        grow = np.exp(self.epsilon)
        if self.law == "Laplace":
            low, middle = grow * fpr, 1 - 0.25 / (grow * np.maximum(fpr, 1e-300))
            high = 1 - (1 - fpr) / grow
            return np.where(fpr <= 0.5 / grow, low, np.where(fpr <= 0.5, middle, high))
        q = grow / (1 + grow)
        return np.interp(fpr, [0.0, 1 - q, 1.0], [0.0, q, 1.0])

    def draw(self, rng: np.random.Generator, inside: np.ndarray) -> np.ndarray:
        """One score for each flag."""
        if self.law == "Gaussian":
            return rng.normal(self.mu * inside, 1.0)
        if self.epsilon == 0.0:
            scores = rng.random(inside.size)
            return scores if self.law == "Laplace" else np.rint(scores)
        if self.law == "Laplace":
            return rng.laplace(inside, 1 / self.epsilon)
        right = rng.random(inside.size) < 1 / (1 + np.exp(-self.epsilon))
        return np.where(right, inside, 1 - inside).astype(float)

    def true(self) -> dict[str, float]:
        fpr = np.concatenate([np.geomspace(1e-12, 0.5, 4000), 1 - np.geomspace(1e-12, 0.5, 4000)])
        power = np.clip(self.power(fpr), 0.0, 1.0)
        inner = (fpr < 1) & (power < 1) & (power > 0)
        shift = stats.norm.ppf(power[inner]) - stats.norm.ppf(fpr[inner])
        if self.law == "randomised response":
            shift = np.append(shift, 2 * stats.norm.ppf(1 / (1 + np.exp(-self.epsilon))))
        grid = np.linspace(0, 1, 200_001)
        return {
            "mu": self.mu if self.law == "Gaussian" else max(float(shift.max()), 0.0),
            "advantage": float(np.max(power - fpr)),
            "auc": float(np.trapezoid(self.power(grid), grid)),
            "tpr": float(self.power(0.1)),
        }


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


def peers() -> Any:
    """The auditing module of jax-privacy, which takes no JAX, if it is installed."""
    try:
        installed = importlib.metadata.distribution("jax-privacy")
    except importlib.metadata.PackageNotFoundError:
        return None
    place = installed.locate_file("jax_privacy/auditing.py")
    spec = importlib.util.spec_from_file_location("jax_privacy_auditing", str(place))
    if spec is None or spec.loader is None:
        return None
    module = sys.modules["jax_privacy_auditing"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def claims(cell: Cell, peer: Any) -> dict[str, Callable[..., float]]:
    """Name to bound on epsilon, of scores of separate runs and of canaries of one."""
    delta, some = cell.delta, cell.delta or 1e-9  # jax-privacy takes no delta of 0 in places

    def ours(method: Any) -> Callable[..., float]:
        def bound(inside: Any, outside: Any, seed: int, *_: Any) -> float:
            order = Order.of(inside, outside, higher_is_member=True, rng=seed)
            return Evidence(order, ERROR, "both", method).epsilon(delta)

        return bound

    found: dict[str, Callable[..., float]] = {
        "audit, calibrated": ours("calibrated"),
        "audit, simultaneous": ours("simultaneous"),
        "one_run_audit": lambda _i, _o, seed, scores, member: (
            one_run_audit(scores, member, delta=delta, rng=seed).epsilon_lower
        ),
    }
    if peer is not None:
        auditor = peer.CanaryScoreAuditor

        def split(inside: Any, outside: Any, seed: int, *_: Any) -> float:
            strategy = peer.Split(seed=seed)
            return auditor(inside, outside).epsilon_clopper_pearson(
                ERROR, delta, one_sided=False, threshold_strategy=strategy
            )

        found |= {
            "jax-privacy Clopper-Pearson": lambda i, o, *_: auditor(i, o).epsilon_clopper_pearson(
                ERROR, delta, one_sided=False
            ),
            "jax-privacy split": split,
            "jax-privacy from GDP": lambda i, o, *_: auditor(i, o).epsilon_from_gdp(ERROR, some),
            "jax-privacy one-run": lambda _i, _o, _s, scores, member: auditor(
                scores[member == 1], scores[member == 0]
            ).epsilon_one_run(ERROR, some),
        }
    return found


def run(cell: Cell, repetitions: int) -> dict[str, Any]:
    """All claims of one cell."""
    place = (LAWS.index(cell.law), EPSILONS.index(cell.epsilon), SIZES.index(cell.n))
    rng, peer = np.random.default_rng([7, *place]), peers()
    methods, truth = claims(cell, peer), cell.true()
    bounds: dict[str, list[float]] = {name: [] for name in methods}
    wrong: dict[str, list[bool]] = {}
    for repetition in range(repetitions):
        inside, outside = (cell.draw(rng, np.full(cell.n, flag)) for flag in (1, 0))
        member = rng.integers(0, 2, 2 * cell.n)
        scores = cell.draw(rng, member)
        for name, bound in methods.items():
            if repetition % EVERY.get(name, 1) == 0:
                bounds[name].append(float(bound(inside, outside, repetition, scores, member)))
        if repetition % EVERY["intervals"] == 0:
            for name, false in intervals(cell, truth, inside, outside, repetition).items():
                wrong.setdefault(name, []).append(false)
    return {
        "law": cell.law,
        "epsilon": cell.epsilon,
        "n": cell.n,
        "repetitions": repetitions,
        "oracle": oracle(cell) if cell.epsilon else 0.0,
        "bounds": {
            name: [float(np.mean(values)), float(np.mean(np.array(values) > cell.epsilon))]
            for name, values in bounds.items()
        },
        "intervals": {name: float(np.mean(values)) for name, values in wrong.items()},
    }


def intervals(
    cell: Cell, truth: dict[str, float], inside: Any, outside: Any, seed: int
) -> dict[str, bool]:
    """Which of the other statements of an audit are false."""
    result = audit(inside, outside, delta=cell.delta, fpr=(0.1,), rng=seed)
    band = result.band
    power = np.clip(cell.power(band.fpr), 0.0, 1.0)
    left = np.clip(cell.power(np.nextafter(band.fpr[1:], 0.0)), 0.0, 1.0)
    said = {
        "advantage": result.advantage,
        "power at fpr 0.1": result.tpr_at_fpr[0.1],
        "area": result.auc,
        "hull area": result.hull_auc,
    }
    true = (truth["advantage"], truth["tpr"], truth["auc"], truth["auc"])
    slack = 1e-9  # of the true values
    return {
        "mu": result.mu_lower > truth["mu"] + slack,
        **{
            name: not interval.low - slack <= value <= interval.high + slack
            for (name, interval), value in zip(said.items(), true, strict=True)
        },
        "band": bool((power < band.lower - slack).any() or (left > band.upper[:-1] + slack).any()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cells", default="", help="only those whose name holds this")
    parser.add_argument("--results", type=Path, default=Path("audit_coverage.json"))
    parser.add_argument("--output", type=Path, help="write the table of all results")
    options = parser.parse_args()
    done = json.loads(options.results.read_text()) if options.results.exists() else {}
    cells = {
        f"{law}, {epsilon:g}, {n}": Cell(law, epsilon, n)
        for n in SIZES
        for law in LAWS
        for epsilon in EPSILONS
    }
    todo = {name: cell for name, cell in cells.items() if options.cells in name}
    with ProcessPoolExecutor(options.workers) as pool:
        jobs = {
            pool.submit(run, cell, options.repetitions): name
            for name, cell in todo.items()
            if name not in done
        }
        for job in as_completed(jobs):
            done[jobs[job]] = job.result()
            options.results.write_text(json.dumps(done, indent=1))
            print(jobs[job], flush=True)
    if options.output:
        from coverage_table import page

        options.output.write_text(page([done[name] for name in cells if name in done], EVERY))


if __name__ == "__main__":
    main()
