"""Measure the error of every kernel against ball arithmetic, on as many points as wanted.

``python tests/accuracy.py --points 200000`` prints, region by region, the worst and the mean error
in eps = 2**-52 of the package, how its errors are spread, and the worst of the SciPy form and the
NumPy twin, and exits with 1 if a bound is broken.  ``--markdown`` prints the page of the
documentation, ``docs/accuracy.md``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import NamedTuple

import numpy as np
from truth import CASES, Case, describe, errors, truths

#: Ends of the classes in which errors are counted, in eps.
CLASSES = (0.5, 1.0, 2.0, 4.0)

PAGE = """\
# Accuracy

Each table states the errors of one function for each region of its arguments. The true values are
computed in [ball arithmetic](glossary.md): to many digits, with a proven bound on the error. Errors
are relative to the true value, in units of eps = 2**-52. (For a log probability between -1 and 0
the error is absolute, in the same unit.) The columns are:

- "worst" and "mean": the largest and the mean error of mialeak at the points of the region;
- "bound": the largest error that the tests allow. A test also fails if the largest error at a
  stored set of points grows;
- "<= 0.5" to "<= 4": the percentage of points whose error is at most this limit and above the limit
  of the preceding column; "more": the percentage of points whose error is above 4;
- "worst SciPy" and "worst NumPy twin": the largest errors, at the same points, of two other ways to
  compute the function: with `scipy.stats`, and by the formula of its definition in NumPy.

For a binomial count B, `binom_mad` is the mean absolute deviation of B, `binom_excess` and
`binom_shortfall` are the means of max(B - c, 0) and max(c - B, 0) for a threshold c, `binom_sf` is
P(B > c), and `binom_logpmf` is the logarithm of P(B = k).

Each of these five functions is computed at {points:,} points, with n in [1, 2**53] and p in
[1e-300, 1 - 2**-53]. Points of `binom_excess`, `binom_shortfall` and `binom_sf` whose true value is
below 1e-290 are left out. Each function chooses its method by its arguments; some of the points lie
where the method changes. A point is counted in the first line whose condition it meets. "sd" is the
standard deviation of the count. For `binom_excess` and `binom_sf` the tail is above the mean; for
`binom_shortfall` it is below the mean. In the line "beyond the mean" the threshold is more than one
standard deviation from the mean, on the side opposite to the tail. In the line "further out" k is
at least 6 standard deviations from the mean. The tables of these five functions were made by
`python tests/accuracy.py --points {points} --seed {seed} --markdown`."""


class Row(NamedTuple):
    """What was measured in one region."""

    region: str
    points: int
    worst: float
    mean: float
    shares: list[float]  # of the points in each class, the last beyond all CLASSES
    rivals: dict[str, float]  # the worst error of each


def measure(case: Case, points: int, seed: int, processes: int) -> tuple[list[Row], str]:
    """A row for each region, and the points out of bounds."""
    columns = case.sampler(np.random.default_rng([seed, *case.name.encode()]), points)
    truth, rest = truths(case, columns, processes)
    kept = np.maximum(np.abs(truth), case.floor) >= case.least
    columns = [column[kept] for column in columns]
    truth, rest = truth[kept], rest[kept]
    rivals = {name: np.zeros(truth.size) for name in case.rivals}
    can = case.rivals_can(columns)
    with np.errstate(all="ignore"):
        for name, function in case.rivals.items():
            got = function(*(column[can] for column in columns))
            rivals[name][can] = errors(case, got, truth[can], rest[can])
    got = case.function(*columns)
    error = errors(case, got, truth, rest)
    region = case.region_of(columns)
    rows = []
    for i, part in enumerate(case.regions):
        here = region == i
        if here.any():
            others = {name: float(values[here].max()) for name, values in rivals.items()}
            found = error[here]
            classes = np.searchsorted(CLASSES, found)
            shares = np.bincount(classes, minlength=len(CLASSES) + 1) / found.size
            rows.append(
                Row(part.name, found.size, found.max(), found.mean(), shares.tolist(), others)
            )
    bounds = np.array([part.bound for part in case.regions])[region]
    broken = np.flatnonzero(error > bounds)
    columns = [column[broken] for column in columns]
    return rows, describe(case, columns, got[broken], truth[broken], error[broken], 20)


def eps(error: float) -> str:
    """An error as people read it: two decimals, then powers of ten."""
    return f"{error:.2f}" if error < 1000 else f"{error:.1e}"


def print_rows(case: Case, rows: list[Row], *, markdown: bool) -> None:
    """Print the table of one function."""
    rivals = list(rows[0].rivals)
    head = ["region", "points", "worst", "mean", "bound"]
    head += [*(f"<= {end:g}" for end in CLASSES), "more", *(f"worst {name}" for name in rivals)]
    bounds = {part.name: part.bound for part in case.regions}
    body = [
        [row.region, f"{row.points}", eps(row.worst), eps(row.mean), eps(bounds[row.region])]
        + [f"{share:.1%}" for share in row.shares]
        + [eps(worst) for worst in row.rivals.values()]
        for row in rows
    ]
    if markdown:
        print(f"\n## `{case.name}`\n")
        rule = ["---", *("--:" for _ in head[1:])]
        for cells in (head, rule, *body):
            print(f"| {' | '.join(cells)} |")
        return
    print(f"\n{case.name}: errors in eps")
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    for cells in (head, *body):
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        print("  ".join([first, *others]))


def main() -> int:
    """Measure what the command line asks for; 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [case.name for case in CASES]
    parser.add_argument("functions", nargs="*", default=names, metavar="FUNCTION")
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    if unknown := set(arguments.functions) - set(names):
        parser.error(f"no function {unknown}; there are {', '.join(names)}")
    if arguments.markdown:
        print(PAGE.format(points=arguments.points, seed=arguments.seed))
    broken = False
    for case in CASES:
        if case.name not in arguments.functions:
            continue
        start = time.perf_counter()
        rows, worst = measure(case, arguments.points, arguments.seed, arguments.processes)
        print_rows(case, rows, markdown=arguments.markdown)
        print(f"{case.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if worst:
            broken = True
            print(f"out of bounds:\n{worst}", file=sys.stderr)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
