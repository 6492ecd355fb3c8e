"""Arrays of .npy and .npz files, none of which may hold Python objects."""

from __future__ import annotations

import os
import struct
import tokenize
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mialeak._files.memory import Memory, TooLarge
from mialeak._files.opening import TableFile

__all__ = ["DAMAGED", "ZIP", "archived", "array_columns", "load_arrays", "one_line"]

#: How files begin.
_NPY, ZIP = b"\x93NUMPY", b"PK\x03\x04"

#: What reading a damaged .npy or .npz was seen to raise.
DAMAGED = (
    *(ValueError, EOFError, OSError, RuntimeError, SyntaxError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)

#: How an archive without a comment ends: a mark, the number of its entries.
_ZIP_END = struct.Struct("<4s6xH10x")


def array_columns(path: TableFile) -> dict[str, npt.NDArray[Any]]:
    """The columns of an .npy or .npz file; a single table in an archive is taken for the table."""
    loaded = load_arrays(path)
    if isinstance(loaded, np.ndarray):
        return _columns(path, loaded)
    columns: dict[str, npt.NDArray[Any]] = loaded
    if len(columns) == 1:
        (only,) = columns.values()
        if only.ndim != 1 or only.dtype.names:
            return _columns(path, only)
    return columns


def load_arrays(path: TableFile, *, mapped: bool = False) -> Any:
    """The array of an .npy file, a memory map if `mapped`, or those of an .npz by name."""
    path.check_head(_NPY if path.format == "npy" else ZIP)
    try:
        if mapped and path.path is not None:
            return np.load(path.path, "r", allow_pickle=False)
        with path.seekable() as file:
            loaded: Any = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                loaded = archived(file, loaded, path.memory())
    except MemoryError as error:
        raise MemoryError(f"{path} states arrays beyond the memory ({one_line(error)})") from error
    except TooLarge:
        raise
    except DAMAGED as error:
        raise ValueError(
            f"{path} is damaged or holds Python objects, which are not read ({one_line(error)})"
        ) from error
    return loaded


def archived(file: BinaryIO, archive: Any, memory: Memory) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an .npz, if they fit into memory.

    Their number is checked: a damaged length hides one from zipfile.  zipfile unpacks no more of
    an array than the directory states.
    """
    memory.take(sum(entry.file_size for entry in archive.zip.infolist()), stated=True)
    arrays = {name: archive[name] for name in archive.files}
    file.seek(-_ZIP_END.size, os.SEEK_END)
    mark, entries = _ZIP_END.unpack(file.read())
    if mark == b"PK\x05\x06" and entries != len(arrays) % 2**16:
        raise ValueError(f"{len(arrays)} arrays where there were {entries}")
    return arrays


def _columns(path: TableFile, array: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    if array.dtype.names and array.ndim == 1:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim not in (1, 2):
        cure = ""
        if array.ndim == 3:
            cure = ". Of several numbers of each entry save one, such as array.mean(axis=2)"
        raise ValueError(
            f"{path} must hold an array of one or two dimensions; its shape is {array.shape}{cure}"
        )
    rows = array[:, np.newaxis] if array.ndim == 1 else array
    return {str(place): rows[:, place] for place in range(rows.shape[1])}


def one_line(error: BaseException) -> str:
    """The message of an error of NumPy's or zipfile's, which may have several lines."""
    return " ".join(str(error).split())
