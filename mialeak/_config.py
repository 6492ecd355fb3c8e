"""What this installation computes with: versions, kernel, BLAS, processors."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import platform
from typing import Any, Literal

from mialeak._arrays import as_choice

__all__ = ["show_config"]

#: What the extras bring: reported when there.
_OPTIONAL = ("narwhals", "pandas", "polars", "pyarrow", "matplotlib", "tqdm")


def show_config(mode: Literal["stdout", "dicts"] = "stdout") -> dict[str, Any] | None:
    """Print the versions, the kernel in use, BLAS and processors, for a bug report.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Whether to print, or to return the same as a dict that JSON can hold.

    Returns
    -------
    dict or None
        With the keys "versions", "platform", "kernel" ("isa" in use and those "available" on this
        machine), "blas" (a list, one entry a library) and "processors"; None if printed.

    Raises
    ------
    ValueError
        For any other mode.

    Notes
    -----
    The kernel is chosen at import, the widest that the processor has; the environment variable
    ``MIALEAK_ISA`` overrides it.

    Examples
    --------
    >>> import mialeak
    >>> config = mialeak.show_config(mode="dicts")
    >>> config["kernel"]["isa"] in config["kernel"]["available"]
    True
    """
    as_choice(mode, "mode", ("stdout", "dicts"))
    config = _collect()
    if mode == "dicts":
        return config
    print(_render(config))
    return None


def _collect() -> dict[str, Any]:
    import threadpoolctl

    from mialeak._blocks import resolve_workers
    from mialeak._kernels import table
    from mialeak._version import __version__

    versions: dict[str, str | None] = {"mialeak": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", *_OPTIONAL):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    _load_blas_of_scipy()
    blas = [
        {key: library.get(key) for key in ("internal_api", "version", "num_threads", "filepath")}
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]
    return {
        "versions": versions,
        "platform": {"system": platform.platform(), "machine": platform.machine()},
        "kernel": {
            "isa": table.isa(),
            "available": list(table.isa_available()),
            "MIALEAK_ISA": os.environ.get("MIALEAK_ISA"),
        },
        "blas": blas,
        "processors": {"installed": os.cpu_count(), "usable": resolve_workers(-1)},
    }


def _load_blas_of_scipy() -> None:
    """So that it is listed.  One of its extensions is enough: ``scipy.linalg`` takes 0.3 s."""
    scipy = importlib.util.find_spec("scipy")
    folders = (scipy and scipy.submodule_search_locations) or []
    places = [f"{folder}/linalg" for folder in folders]
    extension = importlib.machinery.PathFinder.find_spec("_fblas", places)
    if extension and extension.origin:
        ctypes.CDLL(extension.origin)


def _render(config: dict[str, Any]) -> str:
    kernel = config["kernel"]
    forced = f", forced by MIALEAK_ISA={kernel['MIALEAK_ISA']}" if kernel["MIALEAK_ISA"] else ""
    processors = config["processors"]
    rows = [(name, version or "not installed") for name, version in config["versions"].items()]
    rows += [
        ("system", config["platform"]["system"]),
        ("kernel", f"{kernel['isa']} of {', '.join(kernel['available'])}{forced}"),
        *(
            ("BLAS", f"{blas['internal_api']} {blas['version']}, {blas['num_threads']} threads")
            for blas in config["blas"]
        ),
        ("processors", f"{processors['usable']} usable of {processors['installed']}"),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
