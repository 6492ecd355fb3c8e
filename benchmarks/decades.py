"""Time binomial tails by decades of n: ``python benchmarks/decades.py``.

Prints nanoseconds an element, c within 6 standard deviations of the mean, for each instruction set,
SciPy's beside them and the ratio to the last set named; then deep tails, and ``max_leakage`` at
gamma = 1 and 1.25.  ``--against FOLDER`` times the build of another checkout as well.  Every build
and instruction set has a process of its own; they take turns, and the best of all rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]

DECADES = range(1, 15)
COUNT, FEW = 20_000, 2_000
SIZES = (10**4, 10**6, 10**9)

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def laws(low: float, high: float, least: float, most: float, size: int) -> Columns:
    """Columns c, n, p: n between powers of ten, c between so many standard deviations away."""
    rng = np.random.default_rng(1)
    n, p = np.floor(10 ** rng.uniform(low, high, size)), rng.uniform(0.001, 0.5, size)
    z = rng.choice([-1, 1], size) * rng.uniform(least, most, size)
    return np.clip(n * p + z * np.sqrt(n * p * (1 - p)), 0, n), n, p


def best(function: Callable[[], object], size: int) -> float:
    """Nanoseconds an element, best of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times) / size * 1e9


def rows(*, scipy: bool) -> dict[str, float]:
    """Each row's time by this process's build, or by SciPy."""
    points = {f"1e{k} to 1e{k + 1}": laws(k, k + 1, 0, 6, COUNT) for k in DECADES}
    points["7 to 35 sd, n above 1e4"] = laws(4, 15, 7, 35, COUNT)
    result = {}
    if scipy:
        import rivals

        with np.errstate(all="ignore"):
            for name, columns in points.items():
                few = tuple(column[:FEW] for column in columns)
                for function in (rivals.binom_sf, rivals.binom_excess):
                    taken = best(lambda f=function, few=few: f(*few), few[0].size)
                    result[f"{function.__name__}, {name}"] = taken
        return result
    from mialeak import max_leakage, special

    for name, columns in points.items():
        for function in (special.binom_sf, special.binom_excess, special.binom_shortfall):
            taken = best(lambda f=function, columns=columns: f(*columns), COUNT)
            result[f"{function.__name__}, {name}"] = taken
    law = np.random.default_rng(4).exponential(size=2 * COUNT)
    law /= law.sum()
    for n in SIZES:
        for gamma in (1.0, 1.25):
            taken = best(lambda n=n, gamma=gamma: max_leakage(law, n, gamma=gamma), law.size)
            result[f"max_leakage, n = {n:.0e}, gamma = {gamma}"] = taken
    return result


def serve(*, scipy: bool) -> None:
    """Answer each line of the standard input with a round of times."""
    for _ in sys.stdin:
        print(json.dumps(rows(scipy=scipy)), flush=True)


def start(folder: Path, isa: str, kind: str) -> subprocess.Popen[str]:
    """A process that serves."""
    paths = [str(folder), str(ROOT / "tests")]
    more = {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    if isa:
        more["MIALEAK_ISA"] = isa
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **more},
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isa", nargs="+", default=["avx512", "avx2"])
    parser.add_argument("--against", type=Path, help="another checkout, its kernels built in place")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", choices=["kernels", "scipy"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(scipy=arguments.serve == "scipy")
        return
    processes = {isa: start(ROOT, isa, "kernels") for isa in arguments.isa}
    if arguments.against:
        for isa in arguments.isa:
            processes[f"before, {isa}"] = start(arguments.against.resolve(), isa, "kernels")
    processes["SciPy"] = start(ROOT, "", "scipy")
    times: dict[str, dict[str, float]] = {name: {} for name in processes}
    for _ in range(arguments.rounds):
        for name, process in processes.items():
            assert process.stdin
            assert process.stdout
            process.stdin.write("\n")
            process.stdin.flush()
            for row, taken in json.loads(process.stdout.readline()).items():
                times[name][row] = min(taken, times[name].get(row, np.inf))
    ours = arguments.isa[-1]
    head = ["ns an element", *processes, f"SciPy/{ours}"]
    print(f"| {' | '.join(head)} |\n|---|{'--:|' * (len(head) - 1)}")
    for row in times[ours]:
        cells = [f"{by[row]:.3g}" if row in by else "" for by in times.values()]
        ratio = f"{times['SciPy'][row] / times[ours][row]:.1f}" if row in times["SciPy"] else ""
        print(f"| {' | '.join([row, *cells, ratio])} |")
    for process in processes.values():
        assert process.stdin
        process.stdin.close()


if __name__ == "__main__":
    main()
