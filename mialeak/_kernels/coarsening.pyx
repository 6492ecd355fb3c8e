"""Cutting ordered atoms into groups: one layer of the table, or the cheapest path."""

from libc.stdint cimport int32_t

from mialeak._kernels.table cimport MIAL_CHUNK, TABLE

#: Cuts that a path tries at once.
BLOCK = MIAL_CHUNK


def cut_layer(size_t groups, const double[:, ::1] cost, const double[::1] before,
              double[::1] after, int32_t[::1] last_cut):
    """after[j] = min over i < j of before[i] + cost[j, i]; the first such i in last_cut[j]."""
    with nogil:
        TABLE.cut_layer(<size_t>before.shape[0] - 1, groups, &cost[0, 0], &before[0], &after[0],
                        &last_cut[0])


def cut_path(const double[::1] cumulative, double n, double reward, double[::1] cost,
             double[::1] room, int32_t[::1] last_cut):
    """The cheapest cuts if a group costs its leakage less `reward`."""
    with nogil:
        TABLE.cut_path(<size_t>cumulative.shape[0] - 1, &cumulative[0], n, reward, &cost[0],
                       &room[0], &last_cut[0])
