/*
 * Partition of ordered atoms into groups of neighbours, by dynamic programming over the last cut.
 */
#ifndef MIAL_COARSENING_H
#define MIAL_COARSENING_H

#include "leakage.h"

/* The least of before[i] + cost[i], `from` <= i < `to`, and the first i that attains it. */
INLINE double least_of(const double *before, const double *cost, size_t from, size_t to,
                       size_t *place) {
    vd low = all((double)INFINITY), at = all(0.0), here;
    double first[MIAL_LANES], values[MIAL_LANES], places[MIAL_LANES];
    for (int i = 0; i < MIAL_LANES; i++)
        first[i] = (double)i;
    here = load(first) + (double)from;
    size_t i = from;
    for (; i + MIAL_LANES <= to; i += MIAL_LANES) {
        vd value = load(before + i) + load(cost + i);
        vi less = lt(value, low);
        low = pick(less, value, low);
        at = pick(less, here, at);
        here = here + (double)MIAL_LANES;
    }
    store(values, low);
    store(places, at);
    double best = (double)INFINITY;
    size_t best_at = from;
    for (int k = 0; k < MIAL_LANES; k++)
        if (values[k] < best || (values[k] == best && (size_t)places[k] < best_at)) {
            best = values[k];
            best_at = (size_t)places[k];
        }
    for (; i < to; i++)
        if (before[i] + cost[i] < best) {
            best = before[i] + cost[i];
            best_at = i;
        }
    *place = best_at;
    return best;
}

/*
 * One more group: after[j] = min over i < j of before[i] + cost[j, i], and the first such i in
 * last_cut[j], for groups <= j <= atoms; infinity for smaller j.
 *
 * before[i]: the least cost of the first i atoms in groups - 1 groups, infinity if impossible.
 * cost: (atoms + 1)^2, row j column i the cost of the group of atoms i to j - 1.
 * Same as: (before + cost)[j, :j].min(), argmin()
 */
static void cut_layer(size_t atoms, size_t groups, const double *cost, const double *before,
                      double *after, int32_t *last_cut) {
    for (size_t j = 0; j <= atoms; j++) {
        size_t place = 0;
        after[j] = (double)INFINITY;
        if (j >= groups)
            after[j] = least_of(before, cost + j * (atoms + 1), groups - 1, j, &place);
        last_cut[j] = (int32_t)place;
    }
}

/* E|B - n x| >= 2 SHARP_SHARE sqrt(n x (1 - x)) for 1/n <= x <= 1 - 1/n and n >= SHARP_LEAST, the sharp
 * constant rounded down. */
#define SHARP_SHARE 0.3663
#define SHARP_LEAST 5.0

/* A lower bound on the cost, without the reward, of any group of mass in [least, most]. */
INLINE double least_cost(double least, double most, double n) {
    if (n < SHARP_LEAST || least * n < 1.0 || (1.0 - most) * n < 1.0)
        return 0.0;
    double low = least * (1.0 - least), high = most * (1.0 - most);
    return SHARP_SHARE * sqrt((low < high ? low : high) / n);
}

/* cost[i] + E|B - n x|/(2 n) - reward, x the mass from atom i on up to `to`, for i < size. */
INLINE void cut_costs(size_t size, const double *cumulative, double to, double n, double reward,
                      const double *cost, double (*columns)[CHUNK]) {
    size_t padded = (size + 7) / 8 * 8;
    for (size_t i = 0; i < padded; i++) {
        double mass = i < size ? to - cumulative[i] : 0.0;
        columns[0][i] = n;
        columns[1][i] = mass < 0.0 ? 0.0 : mass > 1.0 ? 1.0 : mass;
    }
    mad_chunk(padded, columns[0], columns[1], columns[2]);
    for (size_t i = 0; i < size; i++)
        columns[2][i] = cost[i] + (columns[2][i] / (2.0 * n) - reward);
}

/*
 * The cheapest partition of `atoms` atoms into any number of groups, where a group of mass x has the
 * cost E|B - n x|/(2 n) - reward.  cost[j] is the least cost of the first j atoms, last_cut[j] the
 * first atom of their last group.
 *
 * cumulative: atoms + 1 masses, from 0 up.  room (scratch): atoms/CHUNK + 1, the least cost of each
 * finished block of 256.
 * Cuts are evaluated in blocks of 256, from the nearest on.  A block is skipped if its least previous
 * cost plus the lower bound on the cost of a group does not improve the best cost.  Ties go to the
 * last cut.
 */
static void cut_path(size_t atoms, const double *cumulative, double n, double reward, double *cost,
                     double *room, int32_t *last_cut) {
    double columns[MAX_COLUMNS][CHUNK];
    cost[0] = 0.0;
    last_cut[0] = 0;
    for (size_t j = 1; j <= atoms; j++) {
        double best = (double)INFINITY, to = cumulative[j];
        size_t place = 0;
        for (size_t block = (j - 1) / CHUNK + 1; block-- > 0;) {
            size_t begin = block * CHUNK, size = j - begin < CHUNK ? j - begin : CHUNK;
            if (begin + size < j) {
                double near = to - cumulative[begin + size - 1], far = to - cumulative[begin];
                if (room[block] + (least_cost(near, far, n) - reward) >= best)
                    continue;
            }
            cut_costs(size, cumulative + begin, to, n, reward, cost + begin, columns);
            for (size_t i = size; i-- > 0;)
                if (columns[2][i] < best) {
                    best = columns[2][i];
                    place = begin + i;
                }
        }
        cost[j] = best;
        last_cut[j] = (int32_t)place;
        if (j % CHUNK == CHUNK - 1) { /* the block that ends with j is known */
            double least = cost[j];
            for (size_t i = j - (CHUNK - 1); i < j; i++)
                least = cost[i] < least ? cost[i] : least;
            room[j / CHUNK] = least;
        }
    }
}

#endif
