"""Moment functions of sums of log ratios: coordinates in tiles of eight, a lane each.

`first` says where each tile's rows begin (and, last, how many there are); `weight` and `ratio` have
eight columns, `lost` and `copies` eight numbers a tile, and `tilted` 24.
"""

from libc.stdint cimport int64_t

from mialeak._kernels.table cimport (
    MIAL_LANE,
    MIAL_SCRATCH,
    MIAL_TILTED,
    MIAL_TILTED_SHIFT,
    MIAL_TILTED_TOTAL,
    TABLE,
)

#: Coordinates of a tile; doubles a tile of what `moment_sums` leaves for `moment_wave`.
LANES, TILTED = MIAL_LANE, MIAL_TILTED
#: Where a tile's shifts begin in that, and its totals.
SHIFT, TOTAL = MIAL_TILTED_SHIFT, MIAL_TILTED_TOTAL
#: Doubles of scratch for each row of the longest tile.
SCRATCH = MIAL_SCRATCH


def moment_sums(const int64_t[::1] first, const double[:, ::1] weight, const double[:, ::1] ratio,
                const double[::1] lost, const double[::1] copies, double theta,
                double[::1] scratch, double[::1] tilted):
    """``(K, K', K'')`` at theta; into `tilted` what `moment_wave` needs."""
    cdef double sums[3]
    with nogil:
        TABLE.moment_sums(<size_t>first.shape[0] - 1, &first[0], &weight[0, 0], &ratio[0, 0],
                          &lost[0], &copies[0], theta, &scratch[0], &tilted[0], sums)
    return sums[0], sums[1], sums[2]


def moment_wave(const int64_t[::1] first, const double[:, ::1] weight, const double[:, ::1] ratio,
                const double[::1] copies, double theta, double start, double step, double floor,
                const double[::1] tilted, double[::1] scratch, double[:, :, ::1] product):
    """Into `product`, (nodes, 3, 8): eight partial products (re, im, power of two) a node."""
    if product.shape[0] == 0:
        return
    with nogil:
        TABLE.moment_wave(<size_t>first.shape[0] - 1, &first[0], &weight[0, 0], &ratio[0, 0],
                          &copies[0], theta, start, step, <size_t>product.shape[0], floor,
                          &tilted[0], &scratch[0], &product[0, 0, 0])
