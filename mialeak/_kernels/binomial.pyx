"""Sums of leakages over atoms."""

from mialeak._kernels.table cimport TABLE


def leakage_sum(const double[::1] p, double n, double gamma, double total):
    """Leakage and mass of the atoms p/total: (bad_index or -1, leak_hi, leak_lo, mass_hi, mass_lo).
    """
    cdef double sums[4]
    cdef size_t bad = 0
    cdef int status
    with nogil:
        status = TABLE.leakage_sum(<size_t>p.shape[0], &p[0], n, gamma, total, sums, &bad)
    if status:
        return <Py_ssize_t>bad, 0.0, 0.0, 0.0, 0.0
    return -1, sums[0], sums[1], sums[2], sums[3]


def leakage_atoms(const double[::1] p, double n, double gamma, double total, double[::1] out):
    """Leakage of a target equal to each atom of p/total, into `out`; bad_index or -1."""
    cdef size_t bad = 0
    cdef int status
    with nogil:
        status = TABLE.leakage_atoms(<size_t>p.shape[0], &p[0], n, gamma, total, &out[0], &bad)
    return <Py_ssize_t>bad if status else -1
