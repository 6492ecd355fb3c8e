"""Included by every .pyx here: the table of kernels of one instruction set.

It is chosen when the module is imported: the best that the machine has, or the one that the
environment variable MIALEAK_ISA names.
"""

import os

cdef extern from "mialeak.h" nogil:
    ctypedef size_t mial_elementwise(size_t, const double *const *, double *) noexcept nogil
    ctypedef struct mial_kernels:
        const char *name
        mial_elementwise *binom_mad
        mial_elementwise *binom_excess
        mial_elementwise *binom_shortfall
        mial_elementwise *binom_sf
        mial_elementwise *binom_logpmf
        int (*leakage_sum)(size_t, const double *, double, double, double, double *,
                           size_t *) noexcept nogil
        int (*leakage_atoms)(size_t, const double *, double, double, double, double *,
                             size_t *) noexcept nogil
        void (*cubic_sums)(size_t, size_t, const void *, int, const double *, double,
                           double *) noexcept nogil
        void (*log_linear_sums)(size_t, size_t, const void *, int, const double *,
                                double *) noexcept nogil
        void (*log_quadratic_sums)(size_t, size_t, const void *, int, double, double,
                                   const double *, double *) noexcept nogil
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


cdef const mial_kernels *TABLE = _table()


def isa():
    """Name of the instruction set in use."""
    return TABLE.name.decode()
