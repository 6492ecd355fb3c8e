"""Sums over all vectors of counts, Poisson probabilities and geometric noise.

`start` is the count vector to begin with; `offset` and each of the two words of `sums` are as long as
:func:`padded_cells` says.
"""

from libc.stdint cimport int64_t

from mialeak._kernels.table cimport MIAL_CELL_GROUP, MIAL_MOST_CELLS, TABLE

#: Cells at most.
MOST_CELLS = MIAL_MOST_CELLS


def padded_cells(size_t cells):
    """`cells` rounded up to whole groups."""
    return (cells + MIAL_CELL_GROUP - 1) // MIAL_CELL_GROUP * MIAL_CELL_GROUP


def poisson_pmf(const double[::1] k, const double[::1] mean, double[::1] out):
    """out = P(N = k) of Poisson counts; how many elements are outside the domain."""
    cdef const double *inputs[2]
    cdef size_t invalid
    if k.shape[0] == 0:
        return 0
    inputs[0] = &k[0]
    inputs[1] = &mean[0]
    with nogil:
        invalid = TABLE.poisson_pmf(<size_t>k.shape[0], inputs, &out[0])
    return invalid


def count_vectors(const int64_t[::1] start, int64_t[:, ::1] out):
    """The count vectors from `start` on, one a row of `out`."""
    if out.shape[0] == 0:
        return
    with nogil:
        TABLE.count_vectors(<size_t>out.shape[0], <size_t>out.shape[1], &start[0], &out[0, 0])


def enumerate_labels(size_t moments, const int64_t[::1] start, const double[:, ::1] table,
                     const double[::1] offset, const int64_t[::1] labels, double[:, :, ::1] sums):
    """sums[label] += w(c) (c - offset) over as many count vectors as there are labels."""
    if labels.shape[0] == 0:
        return
    with nogil:
        TABLE.enumerate_labels(<size_t>labels.shape[0], <size_t>table.shape[0], moments, &start[0],
                               &table[0, 0], &offset[0], &labels[0], &sums[0, 0, 0])


def enumerate_kernel(size_t moments, const int64_t[::1] start, const double[:, ::1] table,
                     const double[::1] offset, const double[:, ::1] kernel,
                     double[:, :, ::1] sums):
    """The same with a row of probabilities for each count vector."""
    if kernel.shape[0] == 0 or kernel.shape[1] == 0:
        return
    with nogil:
        TABLE.enumerate_kernel(<size_t>kernel.shape[0], <size_t>table.shape[0], moments, &start[0],
                               &table[0, 0], &offset[0], &kernel[0, 0], <size_t>kernel.shape[1],
                               &sums[0, 0, 0])


def geometric_blur(double alpha, double[::1] room, double[:, ::1] values):
    """Each row of `values` after two-sided geometric noise, what lies beyond at its ends."""
    if values.shape[0] == 0 or values.shape[1] == 0:
        return
    with nogil:
        TABLE.geometric_blur(<size_t>values.shape[0], <size_t>values.shape[1], alpha, &room[0],
                             &values[0, 0])
