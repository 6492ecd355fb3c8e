"""The same questions to mialeak, dp-accounting, prv_accountant and riskcal: answers and time.

Run it with Python where the packages are installed; a package that is not is left out.

    python benchmarks/accountants.py

"Bounds" are what the package proves: the enclosure, the optimistic and pessimistic estimates, the
lower and upper bound.  The time is the least processor time of three runs in one process; that of
the enclosure is apart.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mialeak import GaussianTradeOff, PiecewiseTradeOff, compose
from mialeak.tradeoff import ComposedTradeOff, LaplaceTradeOff

#: (name, delta, releases): a release is a kind, its parameters and how often it is used.
QUESTIONS: tuple[tuple[str, float, tuple[tuple[Any, ...], ...]], ...] = (
    ("100 Gaussian, sigma 10", 1e-6, (("gaussian", 10.0, 1.0, 100),)),
    ("DP-SGD, sigma 1, rate 0.01, 10,000 steps", 1e-5, (("gaussian", 1.0, 0.01, 10_000),)),
    ("DP-SGD, sigma 0.8, rate 0.001, 500 steps", 1e-8, (("gaussian", 0.8, 0.001, 500),)),
    ("20 Laplace, epsilon 0.5", 1e-6, (("laplace", 0.5, 1.0, 20),)),
    ("50 randomised responses, epsilon 0.2", 1e-6, (("response", 0.2, 1.0, 50),)),
    (
        "500 sampled Gaussian, 10 Laplace, 5 responses",
        1e-7,
        (("gaussian", 1.0, 0.01, 500), ("laplace", 0.1, 1.0, 10), ("response", 0.3, 1.0, 5)),
    ),
    (
        "10 different discrete Gaussians, sigma 1.1 to 40, twice",
        1e-10,
        tuple(("integers", float(sigma), 1.0, 2) for sigma in np.geomspace(1.1, 40.0, 10)),
    ),
    (
        "20 different sampled Gaussians",
        1e-6,
        tuple(("gaussian", 0.8 + 0.1 * k, 0.002 + 0.001 * k, 10) for k in range(20)),
    ),
    (
        "1,000 different sampled Gaussians",
        1e-5,
        tuple(("gaussian", 1.0 + 0.002 * k, 0.005 + 1.5e-5 * k, 1) for k in range(1000)),
    ),
    (
        "1,000 different: sampled and whole Gaussians, Laplace, responses",
        1e-5,
        tuple(
            release
            for k in range(250)
            for release in (
                ("gaussian", 1.0 + 0.008 * k, 0.005 + 6e-5 * k, 1),
                ("gaussian", 10.0 + 0.36 * k, 1.0, 1),
                ("laplace", 0.01 + 3.6e-4 * k, 1.0, 1),
                ("response", 0.01 + 3.6e-4 * k, 1.0, 1),
            )
        ),
    ),
    (
        "1,000 different: these kinds and discrete Gaussians, sigma 20 to 70",
        1e-5,
        tuple(
            release
            for k in range(200)
            for release in (
                ("gaussian", 1.0 + 0.01 * k, 0.005 + 6e-5 * k, 1),
                ("gaussian", 10.0 + 0.4 * k, 1.0, 1),
                ("laplace", 0.01 + 3e-4 * k, 1.0, 1),
                ("response", 0.01 + 3e-4 * k, 1.0, 1),
                ("integers", 20.0 + 0.25 * k, 1.0, 1),
            )
        ),
    ),
)
#: Grids, ours and theirs, are asked about at most so many different releases: 0.1 s each.
MOST_RELEASES = 100
#: Interval of the losses of dp-accounting, and the one at which it is asked once more.
INTERVAL, FINE = 1e-4, 1e-5


def ours(releases: tuple[tuple[Any, ...], ...]) -> ComposedTradeOff:
    """The composition."""
    curves = []
    for kind, value, rate, _ in releases:
        if kind == "gaussian":
            curves.append(GaussianTradeOff(1.0 / value).subsample(rate))
        elif kind == "laplace":
            curves.append(LaplaceTradeOff(value))
        elif kind == "integers":
            place = np.arange(-int(40 * value) - 1, int(40 * value) + 2)
            p = np.exp(-0.5 * (place / value) ** 2)
            curves.append(PiecewiseTradeOff.from_noise(p / p.sum()))
        else:
            curves.append(PiecewiseTradeOff.from_epsilon(value))
    return compose(*curves, counts=[release[-1] for release in releases])


def dp_accounting(
    releases: tuple[tuple[Any, ...], ...], pessimistic: bool, interval: float = INTERVAL
) -> Any:
    """The privacy loss distribution of the composition."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    options = {"pessimistic_estimate": pessimistic, "value_discretization_interval": interval}
    whole = None
    for kind, value, rate, count in releases:
        if kind == "gaussian":
            one = pld.from_gaussian_mechanism(value, sampling_prob=rate, **options)
        elif kind == "laplace":
            one = pld.from_laplace_mechanism(1.0 / value, **options)
        elif kind == "integers":
            one = pld.from_discrete_gaussian_mechanism(value, **options)
        else:
            one = pld.from_randomized_response(2.0 / (1.0 + np.exp(value)), 2, **options)
        part = one.self_compose(count)
        whole = part if whole is None else whole.compose(part)
    return whole


def prv(releases: tuple[tuple[Any, ...], ...], delta: float) -> tuple[float, float]:
    """Lower and upper bound of prv_accountant at its least practical error."""
    from prv_accountant import PRVAccountant, privacy_random_variables as variables

    if any(release[0] in ("response", "integers") for release in releases):
        raise ValueError("it takes no discrete release")
    parts = [
        variables.PoissonSubsampledGaussianMechanism(rate, value)
        if kind == "gaussian"
        else variables.LaplaceMechanism(mu=value)
        for kind, value, rate, _ in releases
    ]
    counts = [release[-1] for release in releases]
    accountant = PRVAccountant(
        prvs=parts, max_self_compositions=counts, eps_error=0.01, delta_error=delta * 1e-3
    )
    low, _, high = accountant.compute_epsilon(delta, counts)
    return float(low), float(high)


def power_rows(
    name: str, releases: tuple[tuple[Any, ...], ...]
) -> Iterator[tuple[str, str, str, str, float]]:
    """The power at a false-positive rate of 1e-3, by mialeak and by riskcal."""
    from riskcal.analysis import get_beta_from_pld

    value, took = timed(lambda: float(ours(releases).power(1e-3)))
    yield name, "mialeak, power at 1e-3", f"{value:.9f}", "", took
    fnr, took = timed(lambda: get_beta_from_pld(dp_accounting(releases, True), alpha=1e-3))
    yield name, "riskcal, power at 1e-3", f"{1.0 - float(fnr):.9f}", "", took


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the least time of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return result, min(times)


def rows() -> Iterator[tuple[str, str, str, str, float]]:
    """Question, package, epsilon, bounds and seconds."""
    installed = importlib.util.find_spec
    for name, delta, releases in QUESTIONS:
        value, took = timed(lambda r=releases, d=delta: float(ours(r).epsilon(d)))
        yield name, "mialeak", f"{value:.9f}", "", took
        if len(releases) > MOST_RELEASES:
            continue
        bounds, took = timed(lambda r=releases, d=delta: ours(r).enclosure(delta=d))
        yield name, "its enclosure", "", f"{bounds.lower:.6f} to {bounds.upper:.6f}", took
        assert bounds.lower <= value <= bounds.upper
        if installed("dp_accounting"):
            high, took = timed(
                lambda r=releases, d=delta: dp_accounting(r, True).get_epsilon_for_delta(d)
            )
            low = dp_accounting(releases, False).get_epsilon_for_delta(delta)
            yield name, "dp-accounting", f"{high:.9f}", f"{low:.6f} to {high:.6f}", took
            fine, took = timed(
                lambda r=releases, d=delta: dp_accounting(r, True, FINE).get_epsilon_for_delta(d)
            )
            yield name, f"dp-accounting, steps of {FINE:g}", f"{fine:.9f}", "", took
        if installed("riskcal"):
            yield from power_rows(name, releases)
        if installed("prv_accountant"):
            try:
                (low, high), took = timed(lambda r=releases, d=delta: prv(r, d))
                yield name, "prv_accountant", "", f"{low:.6f} to {high:.6f}", took
            except (ValueError, RuntimeError, AttributeError, TypeError) as error:
                yield name, "prv_accountant", f"none: {str(error)[:60]}", "", np.nan


def main() -> None:
    """Print the table."""
    print("| question | package | epsilon | bounds | seconds |")
    print("|---|---|---|---|---|")
    before = ""
    for name, package, value, bounds, took in rows():
        shown = name if name != before else ""
        print(f"| {shown} | {package} | {value} | {bounds} | {took:.3f} |", flush=True)
        before = name


if __name__ == "__main__":
    main()
