/*
 * Attack scores of released means: sums over the columns of a function of each column's mean.
 *
 * The kernels read a row-major matrix of releases once, SCORE_ROWS rows at a time, which share one
 * load of the column parameters, and SCORE_TILE columns at a time.  A tile is summed in eight lanes,
 * column j in lane j % 8: eight additions, or one logarithm of a product of eight ratios, per lane.
 * Tiles are added in eight compensated sums.  The result of a row does not depend on other rows.
 *
 * `by_column` has several rows of `padded` numbers, where `padded` is the number of columns rounded
 * up to whole tiles; the padding has neutral values, stated with each kernel.
 */
#ifndef MIAL_SCORES_H
#define MIAL_SCORES_H

#include "mialeak.h"
#include "numerics.h"

enum {
    SCORE_TILE = MIAL_SCORE_TILE,
    SCORE_ROWS = 4, /* more rows and the column parameters would exceed sixteen registers */
    SCORE_PARTS = 8 / MIAL_LANES,
};

/* A row of releases, float64 or float32. */
typedef struct {
    const double *wide;
    const float *narrow;
} release_row;

INLINE release_row release_at(const void *releases, int narrow, size_t place) {
    release_row row = {NULL, NULL};
    if (narrow)
        row.narrow = (const float *)releases + place;
    else
        row.wide = (const double *)releases + place;
    return row;
}

/* The `size` columns of a row from `start` on as doubles, zeros beyond: in place, or in `room`. */
INLINE const double *release_tile(release_row row, size_t start, size_t size, double *room) {
    if (row.wide && size == SCORE_TILE)
        return row.wide + start;
    for (size_t i = 0; i < SCORE_TILE; i++)
        room[i] = 0.0;
    if (row.wide)
        memcpy(room, row.wide + start, size * sizeof *room);
    else if (size == SCORE_TILE)
        for (size_t i = 0; i < SCORE_TILE; i++)
            room[i] = (double)row.narrow[start + i];
    else
        for (size_t i = 0; i < size; i++)
            room[i] = (double)row.narrow[start + i];
    return room;
}

/* ---- cubic polynomials ---- */

/* Column parameters of the tile: mean, scale, c1, c2, c3. */
INLINE void cubic_tile(int rows, const double *const *tile, const double *by_column, size_t padded,
                       sum8 *totals) {
    for (int part = 0; part < SCORE_PARTS; part++) {
        vd sums[SCORE_ROWS];
        for (int r = 0; r < rows; r++)
            sums[r] = all(0.0);
        for (size_t i = (size_t)part * MIAL_LANES; i < SCORE_TILE; i += 8) {
            const double *at = by_column + i;
            vd mean = load(at), scale = load(at + padded), c1 = load(at + 2 * padded);
            vd c2 = load(at + 3 * padded), c3 = load(at + 4 * padded);
            for (int r = 0; r < rows; r++) {
                vd x = (load(tile[r] + i) - mean) * scale;
                sums[r] = sums[r] + x * (c1 + x * (c2 + x * c3));
            }
        }
        for (int r = 0; r < rows; r++) {
            double *high = totals[r].high + part * MIAL_LANES;
            double *low = totals[r].low + part * MIAL_LANES;
            pair sum = two_sum(load(high), sums[r]);
            store(high, sum.high);
            store(low, load(low) + sum.low);
        }
    }
}

INLINE void cubic_rows(int rows, size_t columns, const release_row *row, const double *by_column,
                       double constant, double *out) {
    sum8 totals[SCORE_ROWS];
    double rooms[SCORE_ROWS][SCORE_TILE];
    size_t padded = (columns + SCORE_TILE - 1) / SCORE_TILE * SCORE_TILE;
    memset(totals, 0, sizeof totals);
    for (size_t start = 0; start < columns; start += SCORE_TILE) {
        size_t size = columns - start < SCORE_TILE ? columns - start : SCORE_TILE;
        const double *tile[SCORE_ROWS];
        for (int r = 0; r < rows; r++)
            tile[r] = release_tile(row[r], start, size, rooms[r]);
        cubic_tile(rows, tile, by_column + start, padded, totals);
    }
    for (int r = 0; r < rows; r++) {
        double high, low;
        sum8_total(&totals[r], &high, &low);
        out[r] = constant + high;
    }
}

/*
 * out[t] = constant + sum_j x (c1_j + x (c2_j + x c3_j)),  x = (releases[t, j] - mean_j) scale_j.
 *
 * releases: rows x columns, float32 if `narrow`, else float64.  by_column: mean, scale, c1, c2 and
 * c3, `padded` each, zero beyond the columns.  out: rows.
 * Nothing is checked; a NaN or an infinity in a row makes its score NaN or infinite.
 * Error as measured: several u times the sum of the absolute terms, for any number of columns.
 * Same as: x = (releases - mean) * scale; constant + (x * (c1 + x * (c2 + x * c3))).sum(axis=1)
 */
static void cubic_sums(size_t rows, size_t columns, const void *releases, int narrow,
                       const double *by_column, double constant, double *out) {
    size_t t = 0;
    release_row row[SCORE_ROWS];
    for (; t + SCORE_ROWS <= rows; t += SCORE_ROWS) {
        for (size_t r = 0; r < SCORE_ROWS; r++)
            row[r] = release_at(releases, narrow, (t + r) * columns);
        cubic_rows(SCORE_ROWS, columns, row, by_column, constant, out + t);
    }
    for (; t < rows; t++) {
        row[0] = release_at(releases, narrow, t * columns);
        cubic_rows(1, columns, row, by_column, constant, out + t);
    }
}

/*
 * Column parameters of cubic_sums for the Edgeworth series of scores/_edgeworth.py, and in a sixth row
 * its constants.  Returns their sum.
 *
 * known: target, mean, standard deviation, skewness and excess kurtosis, `columns` each.
 * by_column: six rows of `padded`, of which the first `columns` numbers are written.
 * Each number has the bits of the NumPy expression; one pass in place of its thirty.
 */
static double edgeworth_columns(size_t columns, const double *const *known, double root_n, int order,
                                double *by_column) {
    size_t padded = (columns + SCORE_TILE - 1) / SCORE_TILE * SCORE_TILE;
    double s = 1.0 / root_n, half = 0.5 * s * s, cube = s * s * s, high, low;
    sum8 total;
    memset(&total, 0, sizeof total);
    for (size_t start = 0; start < columns; start += SCORE_TILE) {
        size_t size = columns - start < SCORE_TILE ? columns - start : SCORE_TILE;
        double in[5][SCORE_TILE], out[6][SCORE_TILE];
        for (int i = 0; i < 5; i++) {
            memcpy(in[i], known[i] + start, size * sizeof **in);
            for (size_t j = size; j < SCORE_TILE; j++)
                in[i][j] = i == 2 ? 1.0 : 0.0;
        }
        for (size_t j = 0; j < SCORE_TILE; j += MIAL_LANES) {
            vd mean = load(in[1] + j), std = load(in[2] + j), l3 = load(in[3] + j);
            vd a = (load(in[0] + j) - mean) / std, skew = l3 * a;
            vd c0 = all(0.0), c1 = s * a, c2 = c0, c3 = c0;
            if (order >= 2) {
                c2 = -half * (1.0 + skew);
                c0 = -half * a * a - c2;
            }
            if (order >= 3) {
                vd l4 = load(in[4] + j), square = l3 * l3;
                c1 = c1 + cube * (a - 0.5 * l3 + a * (0.5 * (skew + l4) - square));
                c3 = cube * (l3 / 3.0 + a * (0.5 * square - l4 / 6.0));
            }
            store(out[0] + j, mean);
            store(out[1] + j, root_n / std);
            store(out[2] + j, c1);
            store(out[3] + j, c2);
            store(out[4] + j, c3);
            store(out[5] + j, c0);
        }
        for (int i = 0; i < 6; i++)
            memcpy(by_column + (size_t)i * padded + start, out[i], size * sizeof **out);
        memset(out[5] + size, 0, (SCORE_TILE - size) * sizeof **out);
        sum8_add(&total, out[5], SCORE_TILE);
    }
    sum8_total(&total, &high, &low);
    return high;
}

/* ---- logarithms of ratios ---- */

/* The product of sixteen factors (two per column) of a lane is far from overflow if the ratio of each
 * column is in [2^-64, 2^64).  The bits of such a ratio minus those of 2^-64 are below 2^59; for every
 * other double, negative numbers and NaN included, one of the top five bits is set. */
#define RATIO_BOTTOM 0x1p-64
#define RATIO_TOP_BITS INT64_C(0x07ffffffffffffff)

/* Below this the argument of a logarithm is scaled up: it may be subnormal. */
#define LOG_TINY 0x1p-900

/* Exceptional values in a row, a mask for each lane. */
typedef struct {
    vi invalid, impossible;
} ratio_flags;

/* Map from a release to the argument of the factors, which must be in [0, top]. */
typedef struct {
    double top;
    double counts;    /* two factors: their argument is the whole number nearest to counts * release */
    double tolerance; /* largest distance of that product from a whole number */
} ratio_domain;

/* The whole number nearest to |x| <= 2^51, by adding and subtracting a large one. */
INLINE vd nearest_whole(vd x) { return (x + 0x1.8p52) - 0x1.8p52; }

INLINE vi bits_less(vi a, vi b) { return (vi)((vu)a - (vu)b); }

/* The argument; the sign bit of `stray` is set if it is outside the domain. */
INLINE vd ratio_argument(int factors, vd x, const ratio_domain *domain, vi *stray) {
    if (factors == 2) {
        vd scaled = x * domain->counts;
        x = nearest_whole(scaled);
        *stray = *stray | ~le(vabs(scaled - x), all(domain->tolerance));
    } else {
        x = x + 0.0; /* -0 is 0 */
    }
    *stray = *stray | as_bits(x) | bits_less(as_bits(all(domain->top)), as_bits(x));
    return x;
}

INLINE vd linear_factor(const double *at, size_t padded, vd x) {
    return (load(at) + load(at + padded) * x) * load(at + 2 * padded);
}

/* log f for f > 0; arbitrary otherwise. */
INLINE vd log_factor(vd f) {
    vi good = lt(all(0.0), f) & lt(f, all((double)INFINITY)), tiny = lt(f, all(LOG_TINY));
    vd scaled = pick(good, pick(tiny, f * 0x1p200, f), all(1.0));
    return log_positive(scaled) - pick(good & tiny, all(200.0 * LOG2), all(0.0));
}

/* The slow path for a part of a tile: a separate logarithm for every factor. */
NOINLINE vd ratio_part_one_by_one(int factors, const double *tile, const double *by_column,
                                  size_t padded, const ratio_domain *domain,
                                  ratio_flags *flags) {
    vd sum = all(0.0);
    for (size_t i = 0; i < SCORE_TILE; i += 8) {
        vi stray = as_bits(all(0.0));
        vd x = ratio_argument(factors, load(tile + i), domain, &stray);
        flags->invalid = flags->invalid | MASK(stray < 0);
        vd factor = linear_factor(by_column + i, padded, x);
        vi zero = eq(factor, all(0.0));
        sum = sum + log_factor(factor);
        if (factors == 2) {
            factor = linear_factor(by_column + 3 * padded + i, padded, x);
            zero = zero | eq(factor, all(0.0));
            sum = sum + log_factor(factor);
        }
        flags->impossible = flags->impossible | zero;
    }
    return sum;
}

INLINE void ratio_tile(int rows, int factors, const double *const *tile, const double *by_column,
                       size_t padded, const ratio_domain *domain, sum8 *totals,
                       ratio_flags *flags) {
    const vi bottom = as_bits(all(RATIO_BOTTOM));
    for (int part = 0; part < SCORE_PARTS; part++) {
        vd product[SCORE_ROWS];
        vi outside[SCORE_ROWS], stray[SCORE_ROWS];
        size_t first = (size_t)part * MIAL_LANES;
        for (int r = 0; r < rows; r++) {
            product[r] = all(1.0);
            outside[r] = stray[r] = as_bits(all(0.0));
        }
        for (size_t i = first; i < SCORE_TILE; i += 8)
            for (int r = 0; r < rows; r++) {
                vd x = ratio_argument(factors, load(tile[r] + i), domain, &stray[r]);
                vd ratio = linear_factor(by_column + i, padded, x);
                if (factors == 2)
                    ratio = ratio * linear_factor(by_column + 3 * padded + i, padded, x);
                outside[r] = outside[r] | bits_less(as_bits(ratio), bottom);
                product[r] = product[r] * ratio;
            }
        for (int r = 0; r < rows; r++) {
            /* Each lane selects the slow path separately: its bits must not depend on other lanes. */
            vi slow = MASK((outside[r] & ~RATIO_TOP_BITS) != 0) | MASK(stray[r] < 0);
            vd value = log_positive(pick(slow, all(1.0), product[r]));
            if (any(slow)) {
                ratio_flags seen = {as_bits(all(0.0)), as_bits(all(0.0))};
                vd one_by_one = ratio_part_one_by_one(factors, tile[r] + first, by_column + first,
                                                      padded, domain, &seen);
                value = pick(slow, one_by_one, value);
                flags[r * SCORE_PARTS + part].invalid |= seen.invalid;
                flags[r * SCORE_PARTS + part].impossible |= seen.impossible;
            }
            double *high = totals[r].high + part * MIAL_LANES;
            double *low = totals[r].low + part * MIAL_LANES;
            pair sum = two_sum(load(high), value);
            store(high, sum.high);
            store(low, load(low) + sum.low);
        }
    }
}

INLINE void ratio_rows(int rows, int factors, size_t columns, const release_row *row,
                       const ratio_domain *domain, const double *by_column, double *out) {
    sum8 totals[SCORE_ROWS];
    ratio_flags flags[SCORE_ROWS * SCORE_PARTS];
    double rooms[SCORE_ROWS][SCORE_TILE];
    size_t padded = (columns + SCORE_TILE - 1) / SCORE_TILE * SCORE_TILE;
    memset(totals, 0, sizeof totals);
    memset(flags, 0, sizeof flags);
    for (size_t start = 0; start < columns; start += SCORE_TILE) {
        size_t size = columns - start < SCORE_TILE ? columns - start : SCORE_TILE;
        const double *tile[SCORE_ROWS];
        for (int r = 0; r < rows; r++)
            tile[r] = release_tile(row[r], start, size, rooms[r]);
        ratio_tile(rows, factors, tile, by_column + start, padded, domain, totals, flags);
    }
    for (int r = 0; r < rows; r++) {
        double high, low;
        int invalid = 0, impossible = 0;
        sum8_total(&totals[r], &high, &low);
        for (int part = 0; part < SCORE_PARTS; part++) {
            invalid |= any(flags[r * SCORE_PARTS + part].invalid);
            impossible |= any(flags[r * SCORE_PARTS + part].impossible);
        }
        out[r] = invalid ? (double)NAN : impossible ? -(double)INFINITY : high;
    }
}

INLINE void ratio_sums(int factors, size_t rows, size_t columns, const void *releases, int narrow,
                       const ratio_domain *domain, const double *by_column, double *out) {
    size_t t = 0;
    release_row row[SCORE_ROWS];
    for (; t + SCORE_ROWS <= rows; t += SCORE_ROWS) {
        for (size_t r = 0; r < SCORE_ROWS; r++)
            row[r] = release_at(releases, narrow, (t + r) * columns);
        ratio_rows(SCORE_ROWS, factors, columns, row, domain, by_column, out + t);
    }
    for (; t < rows; t++) {
        row[0] = release_at(releases, narrow, t * columns);
        ratio_rows(1, factors, columns, row, domain, by_column, out + t);
    }
}

/*
 * out[t] = sum_j log((u_j + v_j x) w_j),  x = releases[t, j].
 *
 * Assumed: u_j + v_j x >= 0 on [0, 1], and w_j > 0 finite.
 * -inf if a factor is 0, NaN if a release is outside [0, 1] or NaN.
 * releases: as for cubic_sums.  by_column: u, v and w, `padded` each, 1, 0 and 1 beyond the columns.
 * A lane takes one logarithm of the product of the ratios of a tile; if a ratio is not in
 * [2^-64, 2^64), one logarithm for each ratio.  Absolute error as measured: 3 u per column in the
 * worst case; typically it grows as the square root of the number of columns.
 * Same as: np.log((u + v * releases) * w).sum(axis=1)
 */
static void log_linear_sums(size_t rows, size_t columns, const void *releases, int narrow,
                            const double *by_column, double *out) {
    const ratio_domain domain = {1.0, 0.0, 0.0};
    ratio_sums(1, rows, columns, releases, narrow, &domain, by_column, out);
}

/*
 * out[t] = sum_j log((u_j + v_j k) w_j (u'_j + v'_j k) w'_j), k the whole number nearest to
 * counts * releases[t, j].
 *
 * Assumed: neither factor is negative for whole k in [0, 2 counts] unless the other is 0; w > 0.
 * -inf if a factor is 0, NaN if k is outside [0, 2 counts] or counts * releases[t, j] further than
 * `tolerance` from it; counts <= 2^50.
 * by_column: u, v, w, u', v', w'.  Error: twice that of log_linear_sums.
 * Same as: k = np.rint(counts * releases); np.log((u + v * k) * w * (u2 + v2 * k) * w2).sum(axis=1)
 */
static void log_quadratic_sums(size_t rows, size_t columns, const void *releases, int narrow,
                               double counts, double tolerance, const double *by_column,
                               double *out) {
    const ratio_domain domain = {2.0 * counts, counts, tolerance};
    ratio_sums(2, rows, columns, releases, narrow, &domain, by_column, out);
}

#endif
