"""Binomial tails at hundreds of thousands of points: ``python tests/tail_accuracy.py``.

The truth is ``fraction_truth.py``.  Points are those of the samplers and of every seam, in equal
numbers.  Prints the worst error of each tail by distance from the mean, in 1e-15 of the value, and
exits with 1 if one is above its bound.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys

import numpy as np
import referee
import samplers
from fraction_truth import tails_at

from mialeak import special

NAMES = ("binom_excess", "binom_shortfall", "binom_sf")

#: Relative, to that many standard deviations from the mean.
BOUNDS = ((6.0, 4e-15), (math.inf, 2e-14))

LEAST = 1e-290


def points(count: int, seed: int) -> list[np.ndarray]:
    """Columns c, n, p with 0 <= c < n, and n p not so small that the truth cancels where c < 1."""
    rng = np.random.default_rng(seed)
    draws = [samplers.excess, samplers.shortfall]
    draws += [*samplers.EXCESS_SEAMS.values(), *samplers.SHORTFALL_SEAMS.values()]
    columns: list[np.ndarray] = [np.empty(0)] * 3
    while columns[0].size < count:
        # The samplers once more than each seam twice over: inside as often as at a seam.
        for draw in draws[:2] * 8 + draws[2:]:
            c, n, p = draw(rng, count // 40 + 1)
            inside = (c < n) & ((c >= 1) | (n * p > 1e-9))
            parts = zip(columns, (c, n, p), strict=True)
            columns = [np.append(column, more[inside]) for column, more in parts]
    kept = rng.permutation(columns[0].size)[:count]
    return [column[kept] for column in columns]


def truth(point: tuple[float, float, float]) -> list[tuple[float, float]]:
    """The three tails, :func:`referee.rounded`."""
    c, n, p = point
    return [referee.rounded(ball) for ball in tails_at(c, int(n), p)]


def main() -> int:
    """Print the table; 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    c, n, p = points(arguments.points, arguments.seed)
    with multiprocessing.Pool(arguments.processes) as pool:
        rows = pool.map(truth, zip(c.tolist(), n.tolist(), p.tolist(), strict=True), 500)
    values = np.array(rows)
    far = np.abs(c - n * p) / np.sqrt(n * p * (1 - p))
    broken = False
    print(f"{c.size} points, seed {arguments.seed}; worst errors in 1e-15")
    for which, name in enumerate(NAMES):
        true, rest = values[:, which].T
        with np.errstate(all="ignore"):
            error = np.abs((getattr(special, name)(c, n, p) - true) / true - rest * referee.EPS)
        start = 0.0
        for end, bound in BOUNDS:
            here = (true > LEAST) & (far >= start) & (far < end)
            at = int(np.argmax(np.where(here, error, -1.0)))
            broken |= not error[at] <= bound
            place = ", ".join(float(x[at]).hex() for x in (c, n, p))
            print(
                f"{name:16} {start:g} to {end:g} sd: {here.sum()} points, worst "
                f"{error[at] * 1e15:.2f} (bound {bound * 1e15:.0f}) at {place}"
            )
            start = end
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
