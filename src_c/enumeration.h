/*
 * All count vectors of n rows in K cells, in lexicographic order, and sums over them.
 *
 * The probability of a vector is a product of one factor per cell, divided by a constant: the counts
 * are independent Poisson counts given their sum.  Neighbouring vectors share all factors but two:
 * no factor is recomputed, and the relative error is several u for every n.  The last two cells form
 * a run: (j, r - j), j = 0 .. r.
 *
 * Symbols: c a count vector, w its weight, x_k = c_k - offset_k.  `moments` cells have an x; a last
 * cell without x counts the absent rows of a Poisson number of rows.
 */
#ifndef MIAL_ENUMERATION_H
#define MIAL_ENUMERATION_H

#include "binomial.h"
#include "mialeak.h"

enum {
    MOST_CELLS = MIAL_MOST_CELLS,
    ENUMERATION_PARTS = 8 / MIAL_LANES,
};

/* ---- Poisson probabilities ---- */

/* For a mean below this P(N >= 2) underflows and is 0 without computation: mean/k may underflow. */
#define POISSON_UNDERFLOW 0x1p-960

/* Whole 0 <= k <= 2^53, 0 < mean < 2^53, in Loader's form:
 *   exp(-k log(k/mean) + (k - mean) - e(k)) / sqrt(2 pi k),  and exp(-mean) for k = 0. */
INLINE vd poisson_inside(vd k, vd mean) {
    vi none = eq(k, all(0.0));
    vd inner = pick(none, all(1.0), k);
    pair distance = two_sum(inner, -mean);
    pair exponent = deviance_half(inner, (pair){mean, all(0.0)}, distance);
    vd rest = exponent.low + stirling(inner, 1.0 / inner);
    vd value = exp_pair(-exponent.high, -rest) / vsqrt(TWO_PI * inner);
    return pick(none, exp_pair(-mean, all(0.0)), value);
}

/*
 * P(N = k) of a Poisson count: inputs k and mean.
 *
 * Outside whole 0 <= k <= 2^53 and 0 <= mean < 2^53: NaN.  4 eps as measured for results above 1e-290.
 * Same as: scipy.stats.poisson.pmf(k, mean)
 */
static size_t poisson_pmf(size_t count, const double *const *inputs, double *out) {
    double columns[2][CHUNK];
    size_t invalid = 0;
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        fill(columns[0], inputs[0] + start, size);
        fill(columns[1], inputs[1] + start, size);
        for (size_t i = 0; i < size; i += MIAL_LANES) {
            vd k = load(columns[0] + i), mean = load(columns[1] + i);
            vi missing = is_nan(k) | is_nan(mean);
            vi good = domain_n(k) & le(all(0.0), mean) & lt(mean, all(0x1p53));
            if (any(~good))
                invalid += count_lanes(~good & ~missing, i, size);
            vi sure = eq(mean, all(0.0)) | (lt(mean, all(POISSON_UNDERFLOW)) & lt(all(1.0), k));
            vi done = ~good | sure;
            vd value = poisson_inside(pick(done, all(1.0), k), pick(done, all(1.0), mean));
            value = pick(sure, pick(eq(k, all(0.0)), all(1.0), all(0.0)), value);
            store(columns[0] + i, pick(good, value, all((double)NAN)));
        }
        memcpy(out + start, columns[0], size * sizeof *out);
    }
    return invalid;
}

/* ---- iteration over the vectors ---- */

/* The cells before the last two, the remaining rows, and the products of the factors. */
typedef struct {
    size_t prefix;              /* cells before the last two */
    size_t stride;              /* of the table: n + 1 */
    const double *table;        /* factor of cell k at count c: table[k * stride + c] */
    int64_t counts[MOST_CELLS]; /* of the prefix */
    int64_t rest;               /* remaining rows, for the last two cells */
    double product[MOST_CELLS + 1];
} walk;

INLINE void walk_multiply(walk *at, size_t from) {
    if (at->table)
        for (size_t k = from; k < at->prefix; k++)
            at->product[k + 1] = at->product[k] * at->table[k * at->stride + (size_t)at->counts[k]];
}

/* At `start`, K >= 2 counts; `table` may be NULL. */
INLINE walk walk_begin(size_t cells, const int64_t *start, const double *table) {
    walk at = {0};
    at.prefix = cells - 2;
    int64_t rows = 0;
    for (size_t k = 0; k < cells; k++)
        rows += start[k];
    at.rest = start[cells - 2] + start[cells - 1];
    for (size_t k = 0; k + 2 < cells; k++)
        at.counts[k] = start[k];
    at.stride = (size_t)rows + 1;
    at.table = table;
    at.product[0] = 1.0;
    walk_multiply(&at, 0);
    return at;
}

/* To the next prefix: the last cell that can grow takes a row, and the cells after it become 0. */
INLINE void walk_next(walk *at) {
    size_t k = at->prefix;
    while (k > 0) {
        k--;
        if (at->rest > 0) {
            at->counts[k]++;
            at->rest--;
            walk_multiply(at, k);
            return;
        }
        at->rest += at->counts[k];
        at->counts[k] = 0;
    }
}

/*
 * out[v] = count vector number v from `start` on, `cells` counts each, for v < vectors.
 *
 * Assumed: 2 <= cells <= MOST_CELLS, and there are start + vectors count vectors.
 */
static void count_vectors(size_t vectors, size_t cells, const int64_t *start, int64_t *out) {
    walk at = walk_begin(cells, start, NULL);
    int64_t j = start[cells - 2];
    while (vectors > 0) {
        for (; j <= at.rest && vectors > 0; j++, vectors--) {
            memcpy(out, at.counts, at.prefix * sizeof *out);
            out[at.prefix] = j;
            out[at.prefix + 1] = at.rest - j;
            out += cells;
        }
        walk_next(&at);
        j = 0;
    }
}

/* ---- sums ---- */

/* x of the current run is base + j step, in groups of eight cells. */
typedef struct {
    double base[MOST_CELLS], step[MOST_CELLS];
} moment_run;

INLINE void moment_begin(const walk *at, size_t moments, const double *offset, moment_run *run) {
    for (size_t k = 0; k < at->prefix; k++)
        run->base[k] = (double)at->counts[k] - offset[k];
    size_t last = at->prefix + 1;
    run->base[last - 1] = -offset[last - 1];
    if (last < moments)
        run->base[last] = (double)at->rest - offset[last];
}

/* sums += weight (base + j step), compensated; `sums` has the high words, then the low words. */
INLINE void moment_add(size_t width, const moment_run *run, vd j, vd weight, double *sums) {
    for (size_t k = 0; k < width; k += MIAL_LANES) {
        vd x = load(run->base + k) + j * load(run->step + k);
        pair sum = two_sum(load(sums + k), weight * x);
        store(sums + k, sum.high);
        store(sums + width + k, load(sums + width + k) + sum.low);
    }
}

/* `labels`: one per vector; or NULL, and `kernel` has `outcomes` probabilities per vector. */
INLINE void enumerate(size_t width, size_t vectors, size_t cells, size_t moments,
                      const int64_t *start, const double *table, const double *offset,
                      const int64_t *labels, const double *kernel, size_t outcomes, double *sums) {
    walk at = walk_begin(cells, start, table);
    moment_run run;
    memset(&run, 0, sizeof run);
    run.step[cells - 2] = 1.0;
    if (cells - 1 < moments)
        run.step[cells - 1] = -1.0;
    const double *first = table + (cells - 2) * at.stride, *second = first + at.stride;
    int64_t j = start[cells - 2];
    while (vectors > 0) {
        double product = at.product[at.prefix];
        size_t left = (size_t)(at.rest - j) + 1, size = left < vectors ? left : vectors;
        moment_begin(&at, moments, offset, &run);
        for (size_t i = 0; i < size; i++, j++) {
            double weight = (product * first[j]) * second[at.rest - j];
            vd place = all((double)j);
            if (labels) {
                moment_add(width, &run, place, all(weight), sums + (size_t)labels[i] * 2 * width);
            } else {
                for (size_t l = 0; l < outcomes; l++)
                    if (kernel[l] != 0.0)
                        moment_add(width, &run, place, all(weight * kernel[l]),
                                   sums + l * 2 * width);
                kernel += outcomes;
            }
        }
        if (labels)
            labels += size;
        vectors -= size;
        walk_next(&at);
        j = 0;
    }
}

/*
 * sums[l, 0, k] + sums[l, 1, k] += sum over the vectors v labelled l of w(c) (c_k - offset_k),
 *
 * v from `start` on; w(c) = prod_k table[k, c_k].
 * Assumed: 2 <= cells <= MOST_CELLS; moments = cells or cells - 1; n + 1 columns of the table;
 * offset and both words of sums `width` long, moments rounded up to groups; labels inside `sums`.
 * Nothing is checked.  Error of each sum: several u of the sum of absolute terms.
 * Same as: np.add.at(sums, labels, table[range(cells), counts].prod(1)[:, None] * (counts - offset))
 */
static void enumerate_labels(size_t vectors, size_t cells, size_t moments, const int64_t *start,
                             const double *table, const double *offset, const int64_t *labels,
                             double *sums) {
    size_t width = (moments + MIAL_CELL_GROUP - 1) / MIAL_CELL_GROUP * MIAL_CELL_GROUP;
    if (width == MIAL_CELL_GROUP)
        enumerate(MIAL_CELL_GROUP, vectors, cells, moments, start, table, offset, labels, NULL, 0, sums);
    else
        enumerate(width, vectors, cells, moments, start, table, offset, labels, NULL, 0, sums);
}

/* enumerate_labels with probabilities kernel[v, l] instead of labels: each vector adds to all l. */
static void enumerate_kernel(size_t vectors, size_t cells, size_t moments, const int64_t *start,
                             const double *table, const double *offset, const double *kernel,
                             size_t outcomes, double *sums) {
    size_t width = (moments + MIAL_CELL_GROUP - 1) / MIAL_CELL_GROUP * MIAL_CELL_GROUP;
    enumerate(width, vectors, cells, moments, start, table, offset, NULL, kernel, outcomes, sums);
}

/* ---- noise of a geometric law ---- */

/*
 * In each row, in place: out[y] = scale(y) sum_j values[j] alpha^|y - j|, scale (1 - alpha)/(1 + alpha)
 * inside and 1/(1 + alpha) at both ends, which include the tail mass beyond.
 *
 * 0 <= alpha < 1.  Two recursions with positive factors.  `room`: width doubles.
 * Same as: values @ kernel, kernel[j, y] the probability of y given j.
 */
static void geometric_blur(size_t rows, size_t width, double alpha, double *room, double *values) {
    double inside = (1.0 - alpha) / (1.0 + alpha), end = 1.0 / (1.0 + alpha);
    if (width < 2)
        return; /* one value holds all mass */
    for (size_t t = 0; t < rows; t++) {
        double *row = values + t * width, carried = 0.0;
        for (size_t y = width; y-- > 0;) {
            room[y] = carried;
            carried = alpha * (carried + row[y]);
        }
        carried = 0.0;
        for (size_t y = 0; y < width; y++) {
            carried = row[y] + alpha * carried;
            row[y] = (y == 0 || y == width - 1 ? end : inside) * (carried + room[y]);
        }
    }
}

#endif
