"""Sums over the columns of released means: cubic polynomials, and logarithms of ratios.

`releases` is a C-contiguous matrix of float64 or float32.  `by_column` has a row for each number
known of a column, as long as :func:`padded_columns` says, neutral beyond the columns.
"""

from mialeak._kernels.table cimport TABLE

ctypedef fused real:
    float
    double

#: Columns that a kernel takes at once: SCORE_TILE of scores.h.
TILE = 64


def padded_columns(size_t columns):
    """`columns` rounded up to whole tiles."""
    return (columns + TILE - 1) // TILE * TILE


def cubic_sums(const real[:, ::1] releases, const double[:, ::1] by_column, double constant,
               double[::1] out):
    """out[t] = constant + sum of x (c1 + x (c2 + x c3)), x = (release - mean) scale.

    `by_column`: mean, scale, c1, c2, c3.
    """
    if releases.shape[0] == 0:
        return
    with nogil:
        TABLE.cubic_sums(<size_t>releases.shape[0], <size_t>releases.shape[1], &releases[0, 0],
                         real is float, &by_column[0, 0], constant, &out[0])


def log_linear_sums(const real[:, ::1] releases, const double[:, ::1] by_column, double[::1] out):
    """out[t] = sum of log((u + v release) w); `by_column`: u, v, w."""
    if releases.shape[0] == 0:
        return
    with nogil:
        TABLE.log_linear_sums(<size_t>releases.shape[0], <size_t>releases.shape[1],
                              &releases[0, 0], real is float, &by_column[0, 0], &out[0])


def log_quadratic_sums(const real[:, ::1] releases, double counts, double tolerance,
                       const double[:, ::1] by_column, double[::1] out):
    """out[t] = sum of log((u + v k) w (u' + v' k) w'), k = rint(counts release).

    `by_column`: u, v, w, u', v', w'.
    """
    if releases.shape[0] == 0:
        return
    with nogil:
        TABLE.log_quadratic_sums(<size_t>releases.shape[0], <size_t>releases.shape[1],
                                 &releases[0, 0], real is float, counts, tolerance,
                                 &by_column[0, 0], &out[0])
