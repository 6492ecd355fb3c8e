"""The state of an object as a file; files that are written whole or not at all.

A state is an npz archive of plain arrays and a header in JSON, which states whose it is and in
which version.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mialeak._arrays import invalid
from mialeak._files.arrays import DAMAGED, ZIP, archived, one_line
from mialeak._files.memory import Memory, TooLarge

__all__ = ["as_paths", "read_state", "write_state", "write_whole"]

#: The name of the header among the arrays of a state.
_HEADER = "header"

#: What to do with a state that does not fit into memory.
_CURE = "If its size is no surprise, free memory"


def as_paths(
    inputs: Iterable[str | os.PathLike[str]], name: str
) -> Iterable[str | os.PathLike[str]]:
    """Several paths; one is refused, since it would be taken as a list of its characters."""
    if isinstance(inputs, (str, bytes, os.PathLike)):
        rule = f"be a list of paths, not the path {os.fspath(inputs)!r}"
        invalid(name, rule, remedy="Pass [path]", error=TypeError)
    return inputs


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file whole or not at all: one that exists is replaced once the new one is complete.

    Parameters
    ----------
    path : str or path
        A link is followed.  What is no plain file, such as a device or a pipe, is written to.
    write : callable
        Writes to the binary file that it is given.

    Raises
    ------
    OSError
        If it cannot be written, with its name; no file is left that was not there before.
    """
    path = Path(path)
    target = path.resolve()
    plain = target.is_file() or not target.exists()
    partial = target.with_name(f".{target.name}.{os.getpid()}") if plain else target
    try:
        with partial.open("wb") as file:
            write(file)
        if plain:
            if target.exists():
                shutil.copymode(target, partial)
            partial.replace(target)
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        if plain:
            partial.unlink(missing_ok=True)


def write_state(path: str | Path, kind: str, version: int, header: Any, arrays: Any) -> None:
    """Write a header (what JSON can hold) and arrays by name, whole or not at all.

    Parameters
    ----------
    path : str or Path
        Taken as it is; a file there is replaced once the new one is complete.
    kind : str
        Whose state it is.
    version : int
        Of this kind's form.
    """
    text = json.dumps({"mialeak": kind, "version": version, **header})
    content = {_HEADER: np.frombuffer(text.encode(), np.uint8), **arrays}
    write_whole(path, lambda file: np.savez(file, **content))


def read_state(path: str | Path, kind: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays that :func:`write_state` wrote.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is damaged or does not fit into memory, or was written for another kind or by a later
        version.
    """
    path = Path(path)
    with path.open("rb") as file:
        head = file.read(len(ZIP))
    if head != ZIP:
        raise ValueError(f"{path} is no file that a {kind} was saved to")
    with path.open("rb") as file:
        try:
            arrays = archived(file, np.load(file, allow_pickle=False), Memory(path, _CURE))
            header = json.loads(arrays.pop(_HEADER).tobytes())
            form = header["mialeak"], header["version"]
        except TooLarge:
            raise
        except (*DAMAGED, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} is damaged, or no {kind} was saved to it ({one_line(error)})"
            ) from error
    if form[0] != kind:
        raise ValueError(f"{path} holds a {form[0]}, not a {kind}")
    if form[1] != version:
        raise ValueError(
            f"{path} is of version {form[1]} of its form; this mialeak reads version {version}"
        )
    return header, arrays
