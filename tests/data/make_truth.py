"""Make the tables of truth beside this file: ``python tests/data/make_truth.py [FUNCTION ...]``.

Takes some minutes for the excess and the shortfall; one argument or more remakes only those.
``--worst`` measures the package against the tables instead and stores the worst errors.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import stored
from truth import CASES, Case, errors, truths

#: One more point in ten is drawn, to replace those whose truth lies below the smallest tested.
SPARE = 1.1


def make_table(case: Case, processes: int) -> None:
    """Draw the points of `case` and store them with their truth."""
    rng = np.random.default_rng([2024, *case.name.encode()])
    columns = case.sampler(rng, int(case.stored * SPARE))
    truth, rest = truths(case, columns, processes)
    kept = np.flatnonzero(np.maximum(np.abs(truth), case.floor) >= case.least)[: case.stored]
    path = stored.write(case, [column[kept] for column in columns], truth[kept], rest[kept])
    print(f"{path.name}: {kept.size} points, {path.stat().st_size:,} bytes", flush=True)


def measure_worst() -> dict[str, dict[str, float]]:
    """Worst error of the package on the stored points, by function and region."""
    worst = {}
    for case in CASES:
        columns, truth, rest = stored.read(case)
        error = errors(case, case.function(*columns), truth, rest)
        region = case.region_of(columns)
        worst[case.name] = {
            part.name: round(float(error[region == i].max()), 4)
            for i, part in enumerate(case.regions)
        }
    return worst


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [case.name for case in CASES]
    parser.add_argument("functions", nargs="*", default=names, metavar="FUNCTION")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--worst", action="store_true")
    arguments = parser.parse_args()
    if unknown := set(arguments.functions) - set(names):
        parser.error(f"no function {unknown}; there are {', '.join(names)}")
    if arguments.worst:
        stored.write_worst(measure_worst())
        return
    for case in CASES:
        if case.name in arguments.functions:
            make_table(case, arguments.processes)


if __name__ == "__main__":
    main()
