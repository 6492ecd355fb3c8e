"""What is asked of every array that comes in."""

cimport numpy as cnp
from libc.math cimport fabs, floor, log
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

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


# What follows refutes faults of honest input in a call: a checker in Python looks at what is left.

#: Columns that are looked at, at most: of more a sample that is the same for all arrays.  For
#: likelihoods more, until they are clear.  And numbers between two looks at what was found.
cdef enum:
    SAMPLE = 128
    DRAWS = 1024
    BLOCK = 64

#: Means of counts are so far from the ends of their range.
cdef double TINY = 1e-9
#: Likelihoods of the other allele: nats that a checker looks at; and nats at which some of many
#: columns are enough.  That swapped ones ever come so low has a chance of at most exp(-20), by
#: Ville's inequality.
cdef double NATS = 40.0, CLEAR = -20.0
#: Mean distance of variances from those of a law, as a ratio: a checker asks for twice that.
cdef double APART = 0.04
# Standard deviations of one person that genotypes have more copies, if frequencies are rarer ones.
cdef double MORE = 6.0
#: Relative difference of two variances that are the same.
cdef double SAME = 1e-5


cdef inline size_t column(size_t k, size_t columns, size_t sample) noexcept nogil:
    """The k-th of the columns, or of a sample of them: multiples of the golden ratio, modulo 1."""
    if columns <= sample:
        return k
    return <size_t>((((<uint64_t>k * <uint64_t>0x9E3779B97F4A7C15) >> 32) * columns) >> 32)


cdef const double *plain(object values, size_t count) except? NULL:
    """The numbers of an array of one axis that needs no conversion; NULL for all else."""
    if type(values) is not cnp.ndarray:
        return NULL
    cdef cnp.ndarray array = <cnp.ndarray>values
    if (
        cnp.PyArray_NDIM(array) != 1
        or cnp.PyArray_TYPE(array) != cnp.NPY_DOUBLE
        or not cnp.PyArray_ISCARRAY_RO(array)
        or <size_t>cnp.PyArray_SIZE(array) != count
    ):
        return NULL
    return <const double *>cnp.PyArray_DATA(array)


def are_counts(object values, int most):
    """Whether every number of one row is 0, 1 or 2, and at most `most`.

    False also where that is not seen at once.
    """
    cdef const double *z = plain(values, <size_t>cnp.PyArray_SIZE(values)) \
        if type(values) is cnp.ndarray else NULL
    cdef size_t count
    cdef bint good
    if z == NULL:
        return False
    count = <size_t>cnp.PyArray_SIZE(values)
    with nogil:
        good = are_bits(count, z) if most == 1 else are_genotypes(count, z)
    return good


def is_near(object release, object mean, double far, size_t several):
    """Whether fewer than `several` columns differ by more than `far`, and no factor lies between.

    False also where that is not seen at once.
    """
    cdef size_t count = <size_t>len(mean), k, i, away = 0
    cdef const double *x = plain(release, count)
    cdef const double *m = plain(mean, count)
    cdef double product = 0.0, square = 0.0
    if x == NULL or m == NULL:
        return False
    with nogil:
        for k in range(min(count, <size_t>SAMPLE)):
            i = column(k, count, SAMPLE)
            product += x[i] * m[i]
            square += m[i] * m[i]
        if 0.7 * square < product and product < 1.4 * square:
            away = count_far(count, x, m, far)
        else:
            away = several
    return away < several


# No branch in these loops, and sums of integers: compilers then take several numbers at a time.


cdef inline uint64_t bits_of(double x) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &x, sizeof(x))
    return bits


cdef size_t count_far(size_t count, const double *x, const double *m, double far) noexcept nogil:
    """How many numbers differ by more than `far`, NaN included."""
    cdef size_t i, away = 0
    for i in range(count):
        away += bits_of(far - fabs(x[i] - m[i])) >> 63
    return away


cdef bint are_bits(size_t count, const double *z) noexcept nogil:
    """Whether every number is 0 or 1; a product is 0 for these alone."""
    cdef size_t start = 0, stop, i
    cdef uint64_t bad = 0
    while start < count and bad == 0:
        stop = min(start + <size_t>BLOCK, count)
        for i in range(start, stop):
            bad |= bits_of(fabs(z[i] * (1.0 - z[i])))
        start = stop
    return bad == 0


cdef bint are_genotypes(size_t count, const double *z) noexcept nogil:
    """Whether every number is 0, 1 or 2; a product is 0 for these alone."""
    cdef size_t start = 0, stop, i
    cdef uint64_t bad = 0
    while start < count and bad == 0:
        stop = min(start + <size_t>BLOCK, count)
        for i in range(start, stop):
            bad |= bits_of(fabs(z[i] * (1.0 - z[i]) * (2.0 - z[i])))
        start = stop
    return bad == 0


cdef bint is_likely(
    size_t count, const double *z, const double *m, double unit, double most
) noexcept nogil:
    """Whether counts of draws z from 0 to `most` are far from those of the other allele.

    The frequencies are ``m / unit``.
    """
    cdef size_t k, i, seen = min(count, <size_t>DRAWS)
    cdef bint whole = count <= SAMPLE
    cdef double p, over = 1.0, under = 1.0, gain = 0.0, scale = 1.0 / unit
    for k in range(seen):
        i = column(k, count, DRAWS)
        p = m[i] * scale
        if not (p >= TINY and p <= 1.0 - TINY):
            return False
        if z[i] == 0.0:
            over *= p
            under *= 1.0 - p
        elif z[i] == most:
            over *= 1.0 - p
            under *= p
        elif z[i] != 1.0:
            return False
        if k % 16 == 15:
            gain += log(over / under)
            over = under = 1.0
            if most * gain <= CLEAR and not whole:
                return True
    gain += log(over / under)
    return most * gain <= (NATS if seen == count else CLEAR)


def are_likely_draws(object target, object p, int most):
    """Whether a row of counts, 0 to `most`, is no row of the other allele nor one of carriers.

    False also where that is not seen at once.
    """
    cdef size_t count = <size_t>len(p)
    cdef const double *z = plain(target, count)
    cdef const double *m = plain(p, count)
    cdef bint good
    if z == NULL or m == NULL:
        return False
    with nogil:
        good = is_likely(count, z, m, 1.0, most)
        if good and most == 2:
            good = not TABLE.all_within(count, z, 0.0, 1.0)
    return good


def are_of_counts(object target, object mean, object variances):
    """Whether moments are those of the bits or genotypes of target, or clearly of other numbers.

    False also where that is not seen at once.
    """
    cdef size_t count = <size_t>len(mean)
    cdef const double *z = plain(target, count)
    cdef const double *m = plain(mean, count)
    cdef const double *v = plain(variances, count)
    cdef bint good
    if z == NULL or m == NULL or v == NULL or count == 0:
        return False
    with nogil:
        good = _are_of_counts(count, z, m, v)
    return good


cdef bint has_more_copies(
    size_t count, const double *z, const double *m, const double *v
) noexcept nogil:
    """Whether genotypes have more copies than expected by standard deviations of one person."""
    cdef size_t i
    cdef double copies = 0.0, variance = 0.0
    for i in range(count):
        copies += z[i] - m[i]
        variance += v[i]
    return copies > 0.0 and copies * copies >= MORE * MORE * variance


cdef bint _are_of_counts(
    size_t count, const double *z, const double *m, const double *v
) noexcept nogil:
    cdef size_t k, i, inside = 0, seen = min(count, <size_t>SAMPLE)
    cdef bint bits = are_bits(count, z)
    cdef bint other = not bits and not TABLE.all_within(count, z, 0.0, 2.0)
    cdef bint odd = False, usual = False
    # Whether variances may be p (1 - p) beside a mean of 2 p or of p, or twice that.
    cdef bint halved = True, single = True, doubled = True
    cdef double x, w, law, away, all_away = 0.0, inside_away = 0.0
    cdef double least = m[0], largest = m[0], unit = 1.0 if bits else 2.0, scale = 1.0 / unit
    if not bits and TABLE.all_within(count, z, 0.0, 1.0):
        return False
    for k in range(seen):
        i = column(k, count, SAMPLE)
        x = m[i]
        w = v[i]
        if not (w > 0.0 and w - w == 0.0 and x == x):
            return False
        if not bits:  # which hold what is asked for here
            if z[i] != z[i] or z[i] == 0.5:
                return False
            least = min(least, x)
            largest = max(largest, x)
            odd = odd or ((z[i] < 0.0 or z[i] > 2.0) and z[i] != floor(z[i]))
        halved = halved and fabs(w - 0.25 * x * (2.0 - x)) <= SAME * fabs(0.25 * x * (2.0 - x))
        single = single and fabs(w - x * (1.0 - x)) <= SAME * fabs(x * (1.0 - x))
        doubled = doubled and fabs(w - 2.0 * x * (1.0 - x)) <= SAME * fabs(2.0 * x * (1.0 - x))
        if other:
            continue
        law = x * (1.0 - x * scale)
        if not law > 0.0:
            return False
        away = fabs(w - law) / min(w, law)
        all_away += away
        if x > 0.02 and x < 1.98:
            inside += 1
            inside_away += away
            usual = usual or (w > 0.45 * law and w < 1.15 * law)
    if halved or doubled or (single and not bits):
        return False
    if other:
        return odd and (least < TINY or largest > 2.0)
    if not usual or all_away > APART * seen or inside_away > APART * inside:
        return False
    if not bits and largest <= 1.0 and has_more_copies(count, z, m, v):
        return False
    return is_likely(count, z, m, unit, unit)
