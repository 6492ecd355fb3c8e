"""Compiled kernels: Cython around src_c, array plumbing and nothing else."""

from __future__ import annotations

from pathlib import Path

try:
    import mialeak._kernels.table  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        f"there are no compiled kernels in {Path(__file__).parent}. If this is a clone or an "
        "unpacked sdist, start Python in another folder to use the installed mialeak, or compile "
        "them in place: python setup.py build_ext --inplace"
    ) from error

__all__: list[str] = []
