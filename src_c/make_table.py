"""Write mialeak.h's enums and kernels down for Cython: ``python src_c/make_table.py``.

The file that it writes, ``mialeak/_kernels/table.pxd``, is tracked, so that a build needs nothing
but a compiler; ``tests/test_kernel_table.py`` holds it to the header.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

__all__ = ["PXD", "enums", "functions", "kernels", "written"]

HEADER = Path(__file__).parent / "mialeak.h"
PXD = HEADER.parents[1] / "mialeak" / "_kernels" / "table.pxd"

#: Stands for a blank inside an argument.
NO_BREAK = "\0"

HEAD = '''\
"""The table of kernels in use: each family's .pyx cimports it from here.

Written by src_c/make_table.py from src_c/mialeak.h.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "mialeak.h" nogil:
    enum:
{enums}
    ctypedef size_t mial_elementwise(size_t count, const double *const *inputs,
                                     double *out) noexcept nogil
    ctypedef struct mial_function:
        const char *name
        const char *inputs
        mial_elementwise *kernel
    ctypedef struct mial_kernels:
        const char *isa
        const mial_function *elementwise
{members}


cdef const mial_kernels *TABLE
cdef const mial_kernels *NARROW
'''


def without_comments(text: str) -> str:
    """C without comments and continued lines."""
    return re.sub(r"/\*.*?\*/", "", text.replace("\\\n", "\n"), flags=re.DOTALL)


def enums(text: str) -> list[str]:
    """The names of all enums."""
    parts = re.findall(r"^enum \{(.*?)\};", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"\b(MIAL_\w+) =", "".join(parts))


def functions(text: str) -> dict[str, str]:
    """Elementwise functions: name to the letters of its inputs."""
    return dict(re.findall(r'\bX\((\w+), "(\w+)"\)', text))


def kernels(text: str) -> list[tuple[str, str, str]]:
    """All other kernels: what each returns, its name, its arguments."""
    found = re.findall(r"\bX\((\w+), (\w+),\s*\(([^()]*)\)\)", text)
    return [(result, name, " ".join(arguments.split())) for result, name, arguments in found]


def written() -> str:
    """What the file has to say."""
    text = without_comments(HEADER.read_text())
    members = [f"        mial_elementwise *{name}" for name in functions(text)]
    for result, name, arguments in kernels(text):
        head = f"        {result} (*{name})("
        whole = f"{arguments}) noexcept nogil".replace(" ", NO_BREAK).replace("," + NO_BREAK, ", ")
        lines = textwrap.wrap(whole, 100 - len(head))
        lines = [head + lines[0], *(" " * len(head) + line for line in lines[1:])]
        members += [line.replace(NO_BREAK, " ") for line in lines]
    names = [f"        {name}" for name in enums(text)]
    return HEAD.format(enums="\n".join(names), members="\n".join(members))


if __name__ == "__main__":
    PXD.write_text(written())
