"""Print the table of docs/benchmarks.md: ``python benchmarks/table.py``.

All contenders of a row take turns in one process, so that whatever else the machine does hits them
alike; the best of their rounds counts.  Errors are the worst against ball arithmetic, in eps.
Where SciPy's tail probabilities would take minutes it is timed on fewer elements of the same kind.
"""

from __future__ import annotations

import argparse
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import ACCURACY_POINTS, CASES, SpeedCase  # first: sets the number of BLAS threads

import numpy as np  # isort: skip
import scipy  # isort: skip
import mialeak  # isort: skip
from mialeak._kernels import table  # isort: skip

HEAD = ["", "mialeak", "error", "SciPy", "error", "ratio", "NumPy twin", "error", "ratio", "np.add"]


def best_times(case: SpeedCase, scale: float, rounds: int) -> dict[str, float]:
    """Best time of each contender, in seconds an element or a call, all of them taking turns."""
    sizes = {name: case.size_for(name, scale) for name in case.contenders()}
    arguments = {size: case.setup(size) for size in set(sizes.values())}
    best = dict.fromkeys(sizes, np.inf)
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            for name, function in case.contenders().items():
                start = time.perf_counter()
                function(*arguments[sizes[name]])
                best[name] = min(best[name], time.perf_counter() - start)
    if case.unit == "call":
        return best
    return {name: seconds / sizes[name] for name, seconds in best.items()}


def worst_errors(case: SpeedCase, points: int) -> dict[str, float]:
    """Worst error of each contender in eps; ours within its bound or an AssertionError."""
    if case.error is None:
        return {}
    functions: dict[str, Callable[..., Any]] = {"mialeak": case.ours, **case.rivals}
    found = {name: case.error(function, points) for name, function in functions.items()}
    assert found["mialeak"] <= case.bound, (case.name, found)
    return found


def per_unit(seconds: float, case: SpeedCase) -> str:
    """A time as the table shows it."""
    if case.unit == "call":
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else f"{seconds * 1e6:.3g} us"


def eps(error: float) -> str:
    """An error as the table shows it."""
    return f"{error:.1f}" if error < 1000 else f"{error:.0e}"


def compiler() -> str:
    """What compiled the kernels, as its own note in the library says."""
    note = re.search(rb"(?:GCC: \(.*?\)|clang version) [\d.]+", Path(table.__file__).read_bytes())
    return note[0].decode() if note else "unknown"


def processor() -> str:
    """The processor's name, where the system tells."""
    names = re.findall(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    return names[0] if names else platform.processor() or platform.machine()


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def main() -> None:
    """Print machine, versions and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes; 0.01 is a trial")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    arguments = parser.parse_args()
    print(
        f"{processor()}, kernel {table.isa()}, one core; {compiler()}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"mialeak {mialeak.__version__}. Best of {arguments.rounds} rounds taken in turn; time "
        "per element; worst error in eps = 2^-52.\n"
    )
    print(f"| {' | '.join(HEAD)} |\n|---|{'--:|' * (len(HEAD) - 1)}", flush=True)
    for case in CASES:
        if arguments.only not in case.name:
            continue
        errors = worst_errors(case, ACCURACY_POINTS)
        times = best_times(case, arguments.scale, arguments.rounds)
        print(f"| {' | '.join(cells(case, times, errors))} |", flush=True)


def cells(case: SpeedCase, times: dict[str, float], errors: dict[str, float]) -> list[str]:
    """One line of the table; a rival of another name stands in SciPy's column, named."""

    def error(name: str) -> str:
        return eps(errors[name]) if name in errors else ""

    row = [case.name, per_unit(times["mialeak"], case), error("mialeak")]
    rivals = [None, *case.rivals] if [*case.rivals] == ["NumPy twin"] else [*case.rivals]
    for name in [*rivals, None, None][:2]:
        if name is None:
            row += ["", "", ""]
            continue
        label = "" if name in HEAD else f" ({name})"
        ratio = f"{times[name] / times['mialeak']:.3g}"
        row += [per_unit(times[name], case) + label, error(name), ratio]
    label = "" if case.floor_name in HEAD else f" ({case.floor_name})"
    row.append(per_unit(times[case.floor_name], case) + label if case.floor else "")
    return row


if __name__ == "__main__":
    main()
