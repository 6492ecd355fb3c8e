"""Sums over the columns of released means: cubic polynomials, and logarithms of ratios.

`releases` is a C-contiguous matrix of float64 or float32.  `by_column` has a row for each number
known of a column, as long as :func:`padded_columns` says, neutral beyond the columns.
"""

cimport numpy as cnp

from mialeak._kernels.table cimport MIAL_SCORE_TILE, NARROW, TABLE, mial_kernels

cnp.import_array()

#: Columns that a kernel takes at once.
TILE = MIAL_SCORE_TILE
#: Numbers up to which releases are few: without wide instructions their sums take up to 8 us more,
#: which is what the wide ones cost a call of 30 us by slowing down all of it.
FEW = 2048


def padded_columns(size_t columns):
    """`columns` rounded up to whole tiles."""
    return (columns + TILE - 1) // TILE * TILE


# No typed memory views: taking those of one release costs as much as its sum.
cdef void *data(cnp.ndarray array, int ndim, bint narrow=False) except NULL:
    """Where the numbers of a C-contiguous array begin: float32 if `narrow`, else float64."""
    cdef int dtype = cnp.NPY_FLOAT if narrow else cnp.NPY_DOUBLE
    if cnp.PyArray_TYPE(array) != dtype or cnp.PyArray_NDIM(array) != ndim \
            or not cnp.PyArray_ISCARRAY_RO(array):
        raise TypeError(f"numbers in C order are wanted, not {array.dtype}, {array.flags}")
    return cnp.PyArray_DATA(array)


cdef bint is_narrow(cnp.ndarray releases):
    return cnp.PyArray_TYPE(releases) == cnp.NPY_FLOAT


cdef const mial_kernels *kernels_for(cnp.ndarray releases):
    return NARROW if cnp.PyArray_SIZE(releases) <= FEW else TABLE


def cubic_sums(cnp.ndarray releases not None, cnp.ndarray by_column not None, double constant,
               cnp.ndarray out not None):
    """out[t] = constant + sum of x (c1 + x (c2 + x c3)), x = (release - mean) scale.

    `by_column`: mean, scale, c1, c2, c3.
    """
    cdef bint narrow = is_narrow(releases)
    cdef const void *rows = data(releases, 2, narrow)
    cdef const double *known = <const double *>data(by_column, 2)
    cdef double *sums = <double *>data(out, 1)
    cdef const mial_kernels *kernels = kernels_for(releases)
    with nogil:
        kernels.cubic_sums(<size_t>releases.shape[0], <size_t>releases.shape[1], rows, narrow,
                           known, constant, sums)


def edgeworth_columns(list known not None, double root_n, int order,
                      cnp.ndarray by_column not None):
    """Writes mean, scale, c1, c2, c3 of :func:`cubic_sums` and the constants; returns their sum.

    `known`: target, mean, standard deviation, skewness and excess kurtosis.
    """
    cdef const double *columns[5]
    cdef size_t size = (<cnp.ndarray?>known[0]).shape[0]
    cdef double *table = <double *>data(by_column, 2)
    cdef const mial_kernels *kernels = NARROW if size <= FEW else TABLE
    cdef double total
    for i in range(5):
        columns[i] = <const double *>data(<cnp.ndarray?>known[i], 1)
    with nogil:
        total = kernels.edgeworth_columns(size, columns, root_n, order, table)
    return total


def log_linear_sums(cnp.ndarray releases not None, cnp.ndarray by_column not None,
                    cnp.ndarray out not None):
    """out[t] = sum of log((u + v release) w); `by_column`: u, v, w."""
    cdef bint narrow = is_narrow(releases)
    cdef const void *rows = data(releases, 2, narrow)
    cdef const double *known = <const double *>data(by_column, 2)
    cdef double *sums = <double *>data(out, 1)
    cdef const mial_kernels *kernels = kernels_for(releases)
    with nogil:
        kernels.log_linear_sums(<size_t>releases.shape[0], <size_t>releases.shape[1], rows, narrow,
                                known, sums)


def log_quadratic_sums(cnp.ndarray releases not None, double counts, double tolerance,
                       cnp.ndarray by_column not None, cnp.ndarray out not None):
    """out[t] = sum of log((u + v k) w (u' + v' k) w'), k = rint(counts release).

    `by_column`: u, v, w, u', v', w'.
    """
    cdef bint narrow = is_narrow(releases)
    cdef const void *rows = data(releases, 2, narrow)
    cdef const double *known = <const double *>data(by_column, 2)
    cdef double *sums = <double *>data(out, 1)
    cdef const mial_kernels *kernels = kernels_for(releases)
    with nogil:
        kernels.log_quadratic_sums(<size_t>releases.shape[0], <size_t>releases.shape[1], rows,
                                   narrow, counts, tolerance, known, sums)
