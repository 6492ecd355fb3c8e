"""Released counts of linked columns: ratios of their transitions, and forward recursions.

Every array is C-contiguous float64; `src_c/chains.h` has the formulas and the layouts.
"""

from libc.stdint cimport int64_t

from mialeak._kernels.table cimport MIAL_LANE, TABLE

#: Entries of a row of weights are padded to a multiple of this.
LANES = MIAL_LANE


def transition_ratios(int ploidy, double m, const double[:, ::1] counts,
                      const double[::1] after_zero, const double[::1] after_one,
                      double[:, :, ::1] out):
    """Into `out`, ((ploidy + 1)^2, rows, steps): the ratio in against out of each step."""
    if out.shape[1] == 0 or out.shape[2] == 0:
        return
    with nogil:
        TABLE.transition_ratios(<size_t>out.shape[1], <size_t>out.shape[2], ploidy, m,
                                &counts[0, 0], &after_zero[0], &after_one[0], &out[0, 0, 0])


def transfer_step(const int64_t[::1] first, const double[:, ::1] weight,
                  const double[:, ::1] ratio, double centre, double start, double step,
                  const double[:, :, ::1] before, double[:, :, ::1] after):
    """Into `after`, (nodes, 2, padded): the step of `before`, (rows, 2, nodes)."""
    with nogil:
        TABLE.transfer_step(<size_t>weight.shape[0], <size_t>weight.shape[1], &first[0],
                            &weight[0, 0], &ratio[0, 0], centre, start, step,
                            <size_t>before.shape[2], &before[0, 0, 0], <size_t>after.shape[2],
                            &after[0, 0, 0])
