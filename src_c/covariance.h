/*
 * Deviations from a mean, moments of columns and norms of rows, for a matrix of any layout.
 *
 * The matrix is float64, or float32 if `narrow`; element (t, j) is `row_step t + column_step j`
 * elements from the first.  The mean is the unevaluated sum centre + rest (high and
 * low word): deviations of rows far from zero are accurate.
 *
 * Panels of eight rows and up to PANEL columns are processed in turn: in place if the float64
 * columns of a row are contiguous, otherwise copied to `room`, transposed if necessary.  The result
 * for a column or a row is the same for every layout.
 */
#ifndef MIAL_COVARIANCE_H
#define MIAL_COVARIANCE_H

#include "numerics.h"

enum {
    PANEL_ROWS = 8, /* a cache line of a column of float64 */
    PANEL = 64,     /* columns of a copied panel: 4 KB, plus the parameters of the columns */
    SWEEP = 1024,   /* columns whose sums stay in the cache during a pass over the rows */
};

typedef struct {
    const void *first;
    int narrow;
    ptrdiff_t row_step, column_step;
} matrix_view;

INLINE double element(const matrix_view *x, size_t row, size_t column) {
    ptrdiff_t place = (ptrdiff_t)row * x->row_step + (ptrdiff_t)column * x->column_step;
    return x->narrow ? (double)((const float *)x->first)[place] : ((const double *)x->first)[place];
}

/* Points row[r] to columns [column, column + size) of row `start + r`, padded with zeros to eights. */
INLINE void panel_rows(const matrix_view *x, size_t start, size_t rows, size_t column, size_t size,
                       double room[PANEL_ROWS][PANEL], const double *row[PANEL_ROWS]) {
    if (!x->narrow && x->column_step == 1 && size % 8 == 0) {
        for (size_t r = 0; r < rows; r++)
            row[r] = (const double *)x->first + (ptrdiff_t)(start + r) * x->row_step + column;
        return;
    }
    for (size_t r = 0; r < rows; r++)
        row[r] = room[r];
    if (x->narrow && x->column_step == 1) {
        for (size_t r = 0; r < rows; r++) {
            const float *from =
                (const float *)x->first + (ptrdiff_t)(start + r) * x->row_step + column;
            if (size == PANEL)
                for (size_t i = 0; i < PANEL; i++)
                    room[r][i] = (double)from[i];
            else
                for (size_t i = 0; i < size; i++)
                    room[r][i] = (double)from[i];
        }
    } else if (rows == PANEL_ROWS && x->row_step == 1 && x->narrow) {
        const float *from = (const float *)x->first + start;
        from += (ptrdiff_t)column * x->column_step;
        for (size_t i = 0; i < size; i++, from += x->column_step)
            for (size_t r = 0; r < PANEL_ROWS; r++)
                room[r][i] = (double)from[r];
    } else if (rows == PANEL_ROWS && x->row_step == 1) {
        const double *from = (const double *)x->first + start;
        from += (ptrdiff_t)column * x->column_step;
        for (size_t i = 0; i < size; i++, from += x->column_step)
            for (size_t r = 0; r < PANEL_ROWS; r++)
                room[r][i] = from[r];
    } else {
        for (size_t i = 0; i < size; i++)
            for (size_t r = 0; r < rows; r++)
                room[r][i] = element(x, start + r, column + i);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t i = size; i % 8; i++)
            room[r][i] = 0.0;
}

/* ---- moments of columns ---- */

/* Adds the powers of `rows` deviations in `size` columns, a multiple of eight, to the sums. */
INLINE void power_panel(int orders, size_t rows, size_t size, const double *const *row,
                        const double *centre, const double *rest, double *const *sums) {
    for (size_t i = 0; i < size; i += MIAL_LANES) {
        vd middle = load(centre + i), low = load(rest + i);
        vd one = all(0.0), two = all(0.0), three = all(0.0), four = all(0.0);
        for (size_t r = 0; r < rows; r++) {
            vd v = (load(row[r] + i) - middle) - low, square = v * v;
            one = one + v;
            two = two + square;
            if (orders == 4) {
                three = three + square * v;
                four = four + square * square;
            }
        }
        store(sums[0] + i, load(sums[0] + i) + one);
        store(sums[1] + i, load(sums[1] + i) + two);
        if (orders == 4) {
            store(sums[2] + i, load(sums[2] + i) + three);
            store(sums[3] + i, load(sums[3] + i) + four);
        }
    }
}

/* The columns [column, column + size), size <= PANEL, of one panel. */
INLINE void power_columns(int orders, const matrix_view *x, size_t start, size_t rows,
                          size_t columns, size_t column, size_t size, const double *centre,
                          const double *rest, double *sums) {
    double room[PANEL_ROWS][PANEL], known[2][8], partial[4][8];
    const double *row[PANEL_ROWS];
    double *total[4];
    size_t whole = size / 8 * 8;
    panel_rows(x, start, rows, column, size, room, row);
    for (int k = 0; k < orders; k++)
        total[k] = sums + (size_t)k * columns + column;
    if (rows == PANEL_ROWS)
        power_panel(orders, PANEL_ROWS, whole, row, centre + column, rest + column, total);
    else
        power_panel(orders, rows, whole, row, centre + column, rest + column, total);
    if (whole == size)
        return;
    for (size_t i = 0; i < 8; i++) { /* the last columns, padded with zeros */
        int there = whole + i < size;
        known[0][i] = there ? centre[column + whole + i] : 0.0;
        known[1][i] = there ? rest[column + whole + i] : 0.0;
        for (int k = 0; k < orders; k++)
            partial[k][i] = there ? total[k][whole + i] : 0.0;
    }
    for (size_t r = 0; r < rows; r++)
        row[r] += whole;
    double *ends[4] = {partial[0], partial[1], partial[2], partial[3]};
    power_panel(orders, rows, 8, row, known[0], known[1], ends);
    for (size_t i = 0; whole + i < size; i++)
        for (int k = 0; k < orders; k++)
            total[k][whole + i] = partial[k][i];
}

INLINE void power_sums(int orders, const matrix_view *x, size_t rows, size_t columns,
                       const double *centre, const double *rest, double *sums) {
    /* If columns are contiguous, each is on separate pages: take a small number at a time. */
    size_t sweep = x->column_step == 1 ? SWEEP : PANEL;
    for (size_t left = 0; left < columns; left += sweep) {
        size_t right = columns - left < sweep ? columns : left + sweep;
        for (size_t start = 0; start < rows; start += PANEL_ROWS) {
            size_t count = rows - start < PANEL_ROWS ? rows - start : PANEL_ROWS;
            for (size_t column = left; column < right; column += PANEL) {
                size_t size = right - column < PANEL ? right - column : PANEL;
                power_columns(orders, x, start, count, columns, column, size, centre, rest, sums);
            }
        }
    }
}

/*
 * sums[k, j] += sum_t v^(k+1),  v = (x[t, j] - centre_j) - rest_j,  k < orders.
 *
 * orders: 2 or 4.  centre, rest: columns.  sums: orders x columns.
 * Nothing is checked; a NaN or an infinity in a column makes its sums NaN or infinite.
 * The sum of eight rows is added to the total.  Error as measured: rows/8 + 8 times u, relative to the
 * sum of the absolute terms.
 * Same as: v = (x - centre) - rest; sums += np.stack([v, v**2, v**3, v**4][:orders]).sum(axis=1)
 */
static void column_powers(size_t rows, size_t columns, const void *x, int narrow,
                          ptrdiff_t row_step, ptrdiff_t column_step, const double *centre,
                          const double *rest, int orders, double *sums) {
    const matrix_view view = {x, narrow, row_step, column_step};
    if (orders == 4)
        power_sums(4, &view, rows, columns, centre, rest, sums);
    else
        power_sums(2, &view, rows, columns, centre, rest, sums);
}

/* ---- deviations ---- */

/* Writes the deviations of a panel to `room`, and adds the first two powers to `sums`. */
INLINE void centre_panel(size_t rows, size_t size, const double *const *row, const double *centre,
                         const double *rest, double *one, double *two,
                         double room[PANEL_ROWS][PANEL]) {
    for (size_t i = 0; i < size; i += MIAL_LANES) {
        vd middle = load(centre + i), low = load(rest + i), sum = all(0.0), square = all(0.0);
        for (size_t r = 0; r < rows; r++) {
            vd v = (load(row[r] + i) - middle) - low;
            sum = sum + v;
            square = square + v * v;
            store(room[r] + i, v);
        }
        store(one + i, load(one + i) + sum);
        store(two + i, load(two + i) + square);
    }
}

/*
 * out[t + rows j] = v = (x[t, j] - centre_j) - rest_j: in column-major order, for BLAS;
 * sums[k, j] += sum_t v^(k+1),  k < 2.
 *
 * centre, rest: columns.  out: rows x columns.  sums: 2 x columns.
 * Nothing is checked; a NaN or an infinity in a column makes its sums NaN or infinite.
 * The sums have the same bits as those of column_powers.
 * Same as: v = (x - centre) - rest; out = v.T; sums += np.stack([v, v**2]).sum(axis=1)
 */
static void centre_rows(size_t rows, size_t columns, const void *x, int narrow,
                        ptrdiff_t row_step, ptrdiff_t column_step, const double *centre,
                        const double *rest, double *out, double *sums) {
    const matrix_view view = {x, narrow, row_step, column_step};
    double from[PANEL_ROWS][PANEL], to[PANEL_ROWS][PANEL], known[4][PANEL];
    const double *row[PANEL_ROWS];
    for (size_t column = 0; column < columns; column += PANEL) {
        size_t size = columns - column < PANEL ? columns - column : PANEL;
        memset(known, 0, sizeof known);
        memcpy(known[0], centre + column, size * sizeof(double));
        memcpy(known[1], rest + column, size * sizeof(double));
        memcpy(known[2], sums + column, size * sizeof(double));
        memcpy(known[3], sums + columns + column, size * sizeof(double));
        for (size_t start = 0; start < rows; start += PANEL_ROWS) {
            size_t count = rows - start < PANEL_ROWS ? rows - start : PANEL_ROWS;
            size_t whole = (size + 7) / 8 * 8;
            double *place = out + start + rows * column;
            panel_rows(&view, start, count, column, size, from, row);
            if (count == PANEL_ROWS) {
                centre_panel(PANEL_ROWS, whole, row, known[0], known[1], known[2], known[3], to);
                for (size_t i = 0; i < size; i++, place += rows) {
                    PREFETCH(place + PANEL_ROWS); /* hardware prefetch does not follow so long a stride */
                    for (size_t r = 0; r < PANEL_ROWS; r++)
                        place[r] = to[r][i];
                }
            } else {
                centre_panel(count, whole, row, known[0], known[1], known[2], known[3], to);
                for (size_t i = 0; i < size; i++, place += rows)
                    for (size_t r = 0; r < count; r++)
                        place[r] = to[r][i];
            }
        }
        memcpy(sums + column, known[2], size * sizeof(double));
        memcpy(sums + columns + column, known[3], size * sizeof(double));
    }
}

/* ---- norms of rows ---- */

INLINE void norm_panel(size_t rows, size_t size, const double *const *row, const double *centre,
                       const double *rest, const double *weights, sum8 *totals) {
    for (int part = 0; part < 8 / MIAL_LANES; part++)
        for (size_t r = 0; r < rows; r++) {
            vd sum = all(0.0);
            for (size_t i = (size_t)part * MIAL_LANES; i < size; i += 8) {
                vd v = (load(row[r] + i) - load(centre + i)) - load(rest + i);
                sum = sum + v * v * load(weights + i);
            }
            double *high = totals[r].high + part * MIAL_LANES;
            double *low = totals[r].low + part * MIAL_LANES;
            pair added = two_sum(load(high), sum);
            store(high, added.high);
            store(low, load(low) + added.low);
        }
}

/*
 * out[t] = sum_j v^2 weights_j,  v = (x[t, j] - centre_j) - rest_j.
 *
 * centre, rest, weights: columns each.  out: rows.
 * Nothing is checked; a NaN or an infinity in a row makes its norm NaN or infinite.
 * A panel is summed in eight lanes, panels in eight compensated sums.  Error as measured: 5 u, for
 * any number of columns.
 * Same as: (((x - centre) - rest)**2 * weights).sum(axis=1)
 */
static void row_norms(size_t rows, size_t columns, const void *x, int narrow, ptrdiff_t row_step,
                      ptrdiff_t column_step, const double *centre, const double *rest,
                      const double *weights, double *out) {
    const matrix_view view = {x, narrow, row_step, column_step};
    double room[PANEL_ROWS][PANEL], known[3][PANEL];
    const double *row[PANEL_ROWS];
    for (size_t start = 0; start < rows; start += PANEL_ROWS) {
        size_t count = rows - start < PANEL_ROWS ? rows - start : PANEL_ROWS;
        sum8 totals[PANEL_ROWS];
        memset(totals, 0, sizeof totals);
        for (size_t column = 0; column < columns; column += PANEL) {
            size_t size = columns - column < PANEL ? columns - column : PANEL;
            const double *by_column[3] = {centre + column, rest + column, weights + column};
            panel_rows(&view, start, count, column, size, room, row);
            if (size % 8)
                for (int k = 0; k < 3; k++) {
                    memset(known[k], 0, sizeof known[k]);
                    memcpy(known[k], by_column[k], size * sizeof(double));
                    by_column[k] = known[k];
                }
            size = (size + 7) / 8 * 8;
            if (count == PANEL_ROWS)
                norm_panel(PANEL_ROWS, size, row, by_column[0], by_column[1], by_column[2], totals);
            else
                norm_panel(count, size, row, by_column[0], by_column[1], by_column[2], totals);
        }
        for (size_t r = 0; r < count; r++) {
            double high, low;
            sum8_total(&totals[r], &high, &low);
            out[start + r] = high;
        }
    }
}

#endif
