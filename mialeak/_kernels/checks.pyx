"""What is asked of every array that comes in."""

cimport numpy as cnp

from mialeak._kernels.table cimport TABLE

cnp.import_array()


def within(cnp.ndarray values, double low, double high):
    """Whether every number of an array of any layout is between low and high, or equal to one.

    NaN is not.  float64 in the machine's byte order; only what is scattered or unaligned is copied.
    """
    cdef size_t count = <size_t>cnp.PyArray_SIZE(values)
    cdef const double *x
    cdef bint good
    # No typed memory view: taking one of a short array costs more than looking at its numbers.
    if cnp.PyArray_TYPE(values) != cnp.NPY_DOUBLE or not cnp.PyArray_ISNOTSWAPPED(values):
        raise TypeError(f"float64 is wanted, not {values.dtype}")
    if not (cnp.PyArray_IS_C_CONTIGUOUS(values) or cnp.PyArray_IS_F_CONTIGUOUS(values)) \
            or not cnp.PyArray_ISALIGNED(values):
        values = values.copy(order="K")
    x = <const double *>cnp.PyArray_DATA(values)
    with nogil:
        good = TABLE.all_within(count, x, low, high)
    return good
