"""The table of kernels of one instruction set, and the only module that holds their code.

It is chosen when the module is imported: the best that the machine has, or the one that the
environment variable MIALEAK_ISA names.
"""

import os

cdef extern from "mialeak.h" nogil:
    const mial_kernels *mial_select(const char *)
    const char *mial_available(size_t)


def isa_available():
    """Names of the instruction sets this machine can run, best first."""
    names = []
    while mial_available(len(names)) is not NULL:
        names.append(mial_available(len(names)).decode())
    return tuple(names)


cdef const mial_kernels *_table():
    wanted = os.environ.get("MIALEAK_ISA")
    if not wanted:
        return mial_select(NULL)
    table = mial_select(wanted.encode())
    if table is NULL:
        raise ImportError(
            f"MIALEAK_ISA must name an instruction set that this machine can run: "
            f"{', '.join(isa_available())}; got MIALEAK_ISA={wanted}"
        )
    return table


cdef const mial_kernels *_narrow():
    """Kernels for a few numbers: the same results, and nothing that slows down what comes after.

    After instructions of 256 or 512 bits a processor may run a fifth slower for most of a
    millisecond, which costs one short call and its caller more than they gain.
    """
    if os.environ.get("MIALEAK_ISA") or mial_select(b"sse2") is NULL:
        return TABLE
    return mial_select(b"sse2")


TABLE = _table()
NARROW = _narrow()


def isa():
    """Name of the instruction set in use."""
    return TABLE.isa.decode()
