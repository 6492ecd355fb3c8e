"""Draws from tables of finite laws, with the bits of NumPy's generators.

The tables of all laws lie in one array of words: law t has ``size[t]`` of them from ``start[t]``
on.  Sums lie by columns, (d, T), released means by rows, (T, d).
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint32_t, uint64_t

from mialeak._kernels.table cimport MIAL_MOST_WORDS, TABLE

cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void *state
        uint64_t (*next_uint64)(void *) noexcept nogil

#: Words of a table at most.
MOST_WORDS = MIAL_MOST_WORDS

cdef enum:
    BITS = 512  # drawn at once


def binomial_windows(double trials, const double[::1] p, double[::1] first, int64_t[::1] size):
    """The first number of each Binomial(trials, p) that is not negligible, and how many there are.

    A size above MOST_WORDS says no more than that.
    """
    cdef Py_ssize_t t
    with nogil:
        for t in range(p.shape[0]):
            size[t] = <int64_t>TABLE.binomial_window(trials, p[t], MIAL_MOST_WORDS, &first[t])


def binomial_weights(double trials, const double[::1] p, const double[::1] first,
                     const int64_t[::1] start, const int64_t[::1] size, double[::1] weights):
    """The probabilities of the numbers in each window, but for a factor."""
    cdef Py_ssize_t t
    with nogil:
        for t in range(p.shape[0]):
            TABLE.binomial_weights(trials, p[t], first[t], <size_t>size[t], &weights[start[t]])


def alias_words(const double[::1] weights, const int64_t[::1] start, const int64_t[::1] size,
                double[::1] share, uint32_t[::1] order, uint64_t[::1] words):
    """The tables of laws proportional to `weights`; `share` and `order`: room for the longest."""
    cdef Py_ssize_t t
    with nogil:
        for t in range(start.shape[0]):
            TABLE.alias_words(<size_t>size[t], &weights[start[t]], &share[0], &order[0],
                              &words[start[t]])


def alias_draws(bit_generator, const uint64_t[::1] words, const int64_t[::1] start,
                const int64_t[::1] size, const double[::1] first, const int64_t[::1] law,
                double[:, ::1] out):
    """out[j, i] = first + a draw from law[j], its first number being first[law[j]]."""
    cdef bitgen_t *generator = <bitgen_t *>PyCapsule_GetPointer(bit_generator.capsule,
                                                                "BitGenerator")
    cdef uint64_t bits[BITS]
    cdef Py_ssize_t draws = out.shape[1], i, count, done
    cdef Py_ssize_t j
    cdef int64_t t
    with bit_generator.lock, nogil:
        for j in range(out.shape[0]):
            t = law[j]
            done = 0
            TABLE.alias_ahead(<size_t>size[t], &words[start[t]], <size_t>draws)
            while done < draws:
                count = min(draws - done, <Py_ssize_t>BITS)
                for i in range(count):
                    bits[i] = generator.next_uint64(generator.state)
                TABLE.alias_draws(<size_t>count, bits, <size_t>size[t], &words[start[t]],
                                  first[t], &out[j, done])
                done += count


def lattice_means(const double[:, ::1] sums, const double[::1] least, const double[::1] unit,
                  double rows, const int64_t[::1] place, double[:, :] out):
    """out[place[i], j] = least[j] + unit[j] (sums[j, i] / rows); the rows of `out` are contiguous.
    """
    if sums.shape[0] == 0 or sums.shape[1] == 0:
        return
    with nogil:
        TABLE.lattice_means(<size_t>sums.shape[0], <size_t>sums.shape[1], &sums[0, 0], &least[0],
                            &unit[0], rows, &place[0],
                            <size_t>(out.strides[0] // <Py_ssize_t>sizeof(double)), &out[0, 0])
