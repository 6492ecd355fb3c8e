"""Time functions at the sizes users have: ``python benchmarks/decades.py``.

Prints the time an element of every row of ``decade_rows.py`` with each instruction set, of what a
user would run instead, and of the least that such arguments allow.  Every build and instruction set
has a process of its own; they take turns, and the best of all rounds counts.  Calls below a
millisecond are timed by the clock, many times; longer ones by the CPU time of the process, which
other programs change little.  All have the same thresholds of glibc's allocator.

    --against REVISION  times that revision as well, built in a worktree that is removed afterwards
                        (or a folder, built in place), and prints the rows that fell by 10 %
    --release 0.1.0     the revision is that release: its times are recorded too
    --record            appends the times to docs/benchmarks_history.jsonl
    --anew              with --record: the records before are dropped
    --markdown          writes the table of the last record into docs/benchmarks.md
    --picture           draws docs/_static/benchmarks.png from the last record
    --check             prints every row of the last record that is more than 10 % slower than the
                        last release, without measuring; fails if there is one

The history of a release, on a quiet machine::

    python benchmarks/decades.py --against 51cc7ec --release 0.1.0 \\
        --record --anew --markdown --picture
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from decade_rows import Row, all_rows
from history import HISTORY, Times, fallen, markdown, picture, record, records

ROOT = Path(__file__).parents[1]

#: Calls shorter than this are timed by the clock, in segments shorter than a turn of the scheduler.
SHORT = 0.001
#: Seconds that the segments of a row take together, and that the turns of a row may take.
LEAST, PATIENCE = 0.03, 5.0
#: A call above this many seconds is made once a turn.  Of others the first touches new pages, for
#: which the process whose turn is first pays most.
LONG = 3.0
#: The thresholds of glibc's allocator that hold after a large array was freed: if the rows before
#: decided, a build that takes less memory would ask the kernel for pages anew in each call.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}


def seconds(call: Callable[[], object]) -> float:
    """The shortest time of a call."""
    clock, start, cpu = time.perf_counter, time.perf_counter(), time.process_time()
    call()
    if clock() - start > SHORT:
        first, cpu = time.process_time() - cpu, time.process_time()
        if first > LONG:
            return first
        call()
        return min(first, time.process_time() - cpu)
    taken, best, end = max(clock() - start, 1e-7), np.inf, start + LEAST
    while clock() < end:
        repeats = max(1, int(0.3 * SHORT / taken))
        start = clock()
        for _ in range(repeats):
            call()
        taken = max((clock() - start) / repeats, 1e-7)
        best = min(best, taken)
    return best


def times(row: Row, kind: str) -> Times:
    """Seconds an element: of this build, or of the rival and the limit."""
    if kind == "kernels":
        return {row.name: seconds(row.ours) / row.elements}
    result = {}
    if row.rival:
        result[row.name] = seconds(row.rival) / row.rival_elements
    if row.limit:
        result[f"{row.name}: {row.limit_name}"] = seconds(row.limit) / row.elements
    return result


def serve(kind: str) -> None:
    """Print the names of the rows; then answer each name with its times."""
    rows = all_rows()
    print(json.dumps([*rows]), flush=True)
    for name in sys.stdin:
        row, answer = rows.get(json.loads(name)), {}
        try:
            with np.errstate(all="ignore"):
                answer = times(row, kind) if row else {}
        except (TypeError, ValueError, AttributeError) as error:  # an older checkout
            print(f"{name.strip()} is not timed: {error}", file=sys.stderr)
        print(json.dumps(answer), flush=True)


def start(folder: Path, isa: str, kind: str) -> subprocess.Popen[str]:
    """A process that serves."""
    paths = [str(folder), str(ROOT / "tests")]
    more = {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1", **ALLOCATOR}
    if isa:
        more["MIALEAK_ISA"] = isa
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **more},
    )


def ask(process: subprocess.Popen[str], row: str) -> Times:
    """The times of a row."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(row) + "\n")
    process.stdin.flush()
    answer: Times = json.loads(process.stdout.readline())
    return answer


def measured(
    builds: dict[str, tuple[Path, str, str]], rounds: int, only: str = ""
) -> dict[str, Times]:
    """The best times of each build; row by row all take turns, so that a row has one machine."""
    processes = {name: start(*build) for name, build in builds.items()}
    names = [
        json.loads(process.stdout.readline()) for process in processes.values() if process.stdout
    ]
    best: dict[str, Times] = {name: {} for name in builds}
    for row in names[0]:
        if only not in row:
            continue
        began = time.perf_counter()
        for turn in range(rounds):
            if turn and time.perf_counter() - began > PATIENCE:
                break
            for name, process in processes.items():
                for part, taken in ask(process, row).items():
                    best[name][part] = min(taken, best[name].get(part, np.inf))
        print({name: f"{by[row]:.3g}" for name, by in best.items() if row in by}, row, flush=True)
    for process in processes.values():
        process.communicate()
    return best


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """A folder as it is; or a worktree of the revision with kernels, removed afterwards."""
    if Path(revision).is_dir():
        yield Path(revision).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
        try:
            build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
            subprocess.run(build, cwd=tree, check=True)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)


def measure(given: argparse.Namespace) -> None:
    """Measure, compare and record."""
    builds = {isa: (ROOT, isa, "kernels") for isa in given.isa}
    builds["rival"] = ROOT, "", "rivals"
    if not given.against:
        best = measured(builds, given.rounds, given.only)
    else:
        with checkout(given.against) as folder:
            builds |= {f"before, {isa}": (folder, isa, "kernels") for isa in given.isa}
            best = measured(builds, given.rounds, given.only)
    now = {name: by for name, by in best.items() if not name.startswith("before")}
    if given.record and given.anew:
        HISTORY.write_text("")
    if given.against:
        then = {isa: best[f"before, {isa}"] for isa in given.isa} | {"rival": best["rival"]}
        older = {"release": given.release or given.against, "seconds": then}
        print("\n".join(fallen([older, {"seconds": now}])) or "no row fell by more than 10 %")
        if given.record and given.release:
            record(then, given.rounds, release=given.release, note=given.note)
    if given.record:
        record(now, given.rounds, note=given.note)


def main() -> int:
    """Measure, and show what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--isa", nargs="+", default=["avx512", "avx2"])
    parser.add_argument("--against", help="a revision, or a folder with kernels built in place")
    parser.add_argument("--release", help="the version of the revision, if it was released")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--note", default="quiet machine", help="the state of the machine")
    for name in ("record", "anew", "markdown", "picture", "check"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--serve", choices=["kernels", "rivals"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return 0
    if given.record or not (given.markdown or given.picture or given.check):
        measure(given)
    if given.markdown:
        markdown(records()[-1])
    if given.picture:
        picture(records()[-1])
    slower = fallen(records()) if given.check else []
    if given.check:
        print("\n".join(slower) or "no row fell by more than 10 %")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
