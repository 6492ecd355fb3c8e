"""Deviations from the mean ``centre + rest``, their moments by columns and norms by rows.

`x` is a matrix of float64 or float32 of any layout.
"""

from mialeak._kernels.table cimport TABLE

ctypedef fused real:
    float
    double


def column_powers(const real[:, :] x, const double[::1] centre, const double[::1] rest,
                  double[:, ::1] sums):
    """sums[k, j] += sum over t of v**(k + 1), v = (x[t, j] - centre[j]) - rest[j]; 2 or 4 rows."""
    if x.shape[0] == 0 or x.shape[1] == 0:
        return
    with nogil:
        TABLE.column_powers(<size_t>x.shape[0], <size_t>x.shape[1], &x[0, 0], real is float,
                            x.strides[0] // <Py_ssize_t>sizeof(real),
                            x.strides[1] // <Py_ssize_t>sizeof(real),
                            &centre[0], &rest[0], <int>sums.shape[0], &sums[0, 0])


def centre_rows(const real[:, :] x, const double[::1] centre, const double[::1] rest,
                double[::1, :] out, double[:, ::1] sums):
    """out[t, j] = v = (x[t, j] - centre[j]) - rest[j]; sums[k, j] += sum over t of v**(k + 1)."""
    if x.shape[0] == 0 or x.shape[1] == 0:
        return
    with nogil:
        TABLE.centre_rows(<size_t>x.shape[0], <size_t>x.shape[1], &x[0, 0], real is float,
                          x.strides[0] // <Py_ssize_t>sizeof(real),
                          x.strides[1] // <Py_ssize_t>sizeof(real),
                          &centre[0], &rest[0], &out[0, 0], &sums[0, 0])


def row_norms(const real[:, :] x, const double[::1] centre, const double[::1] rest,
              const double[::1] weights, double[::1] out):
    """out[t] = sum over j of v**2 weights[j]."""
    if x.shape[0] == 0 or x.shape[1] == 0:
        return
    with nogil:
        TABLE.row_norms(<size_t>x.shape[0], <size_t>x.shape[1], &x[0, 0], real is float,
                        x.strides[0] // <Py_ssize_t>sizeof(real),
                        x.strides[1] // <Py_ssize_t>sizeof(real),
                        &centre[0], &rest[0], &weights[0], &out[0])
