"""Programs in Python processes of their own: other instruction sets, and Ctrl-C."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import mialeak
from mialeak._kernels import table

__all__ = ["bits_by_isa", "in_fresh_python", "seconds_to_stop"]

#: Finds the same mialeak and the same tests in a fresh process.
PATH = os.pathsep.join([str(Path(mialeak.__file__).parents[1]), str(Path(__file__).parent)])


def in_fresh_python(code: str, isa: str | None) -> subprocess.CompletedProcess[str]:
    """Run `code` with MIALEAK_ISA set to `isa`, or not set."""
    environment = {key: value for key, value in os.environ.items() if key != "MIALEAK_ISA"}
    if isa is not None:
        environment["MIALEAK_ISA"] = isa
    environment["PYTHONPATH"] = PATH
    return subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True
    )


def bits_by_isa(code: str) -> dict[str, str]:
    """What `code`, which prints the instruction set in use and a hash, prints on each."""
    found = {}
    for isa in table.isa_available():
        run = in_fresh_python(code, isa)
        assert run.stdout.split()[:1] == [isa], run.stderr
        found[isa] = run.stdout.split()[1]
    return found


def seconds_to_stop(setup: str, work: str, after: float = 0.3) -> float:
    """How long `work` goes on after a Ctrl-C, which comes so many seconds after its beginning.

    Where the system states it, processor time: a busy machine stretches the other.
    """
    program = f"{setup}\nprint('ready', flush=True)\n{work}\n"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(after)
        asked, used = time.monotonic(), _seconds_used(child.pid)
        child.send_signal(signal.SIGINT)
        errors = child.communicate(timeout=60)[1]
        seconds = time.monotonic() - asked
    assert "KeyboardInterrupt" in errors, errors[-500:]
    if used is None:
        return seconds
    whole = resource.getrusage(resource.RUSAGE_CHILDREN)
    return whole.ru_utime + whole.ru_stime - before.ru_utime - before.ru_stime - used


def _seconds_used(process: int) -> float | None:
    """Processor time of a running process and its threads, on Linux."""
    file = Path(f"/proc/{process}/stat")
    if not file.exists():
        return None
    fields = file.read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
