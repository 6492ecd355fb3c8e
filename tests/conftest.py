"""What all tests share: Hypothesis without clocks or chance, the kernel in the report's head."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

from hypothesis import HealthCheck, settings

# Two threads for matrices of a hundred rows take 100 times as long as one where other processes run
# on the same cores, as with `pytest -n auto`.  Read when NumPy and torch are imported, also by
# children.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import mialeak

# A Python that a test starts finds the mialeak that is tested here, and nothing in the current
# folder: a checkout has a mialeak/ without compiled kernels.
os.environ["PYTHONPATH"] = str(Path(mialeak.__file__).parents[1])
os.environ["PYTHONSAFEPATH"] = "1"

# Reports are as wide as they get.
os.environ["COLUMNS"] = "100"

# A shell starts its background jobs with interrupts ignored, and so would their children be: the
# tests of Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "mialeak",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mialeak")


def pytest_collection() -> None:
    """Collect no garbage while modules and tests are collected: they stay, and are many."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From here on, garbage of the tests alone."""
    gc.freeze()
    gc.enable()


def pytest_report_header() -> list[str]:
    """Name the kernel that the tests run on."""
    try:
        from mialeak._kernels import table
    except ImportError as error:
        return [f"mialeak kernel: none ({error})"]
    return [f"mialeak kernel: {table.isa()} of {', '.join(table.isa_available())}"]
