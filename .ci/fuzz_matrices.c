/* Scores of releases; deviations, moments and norms of a matrix of any layout. */
#include "fuzz.h"

enum { MOST_ROWS = 11 };

static float narrowed(double number) {
    return fabs(number) < 0x1p127 ? (float)number : INFINITY;
}

/*
 * Scores of a few rows of releases, float64 or float32.  The kernels demand no more of the numbers
 * known of a column than that they are there: whole tiles of them.
 */
enum { TILE = MIAL_SCORE_TILE };

static void run_scores(const mial_kernels *table, unsigned kind, size_t rows, size_t columns,
                       const void *releases, int narrow, const double *extra,
                       const double *by_column, double *out) {
    if (kind == 0)
        table->cubic_sums(rows, columns, releases, narrow, by_column, extra[0], out);
    else if (kind == 1)
        table->log_linear_sums(rows, columns, releases, narrow, by_column, out);
    else
        table->log_quadratic_sums(rows, columns, releases, narrow, extra[0], extra[1], by_column,
                                  out);
}

void try_scores(const mial_kernels *const *tables, unsigned which, size_t columns, size_t distinct,
                bytes *in) {
    unsigned kind = which % 3;
    size_t rows = take(in, 1) % (MOST_ROWS + 1), known = (size_t)(kind ? 3 * kind : 5);
    size_t padded = (columns + TILE - 1) / TILE * TILE, size = rows * columns;
    int narrow = (int)(take(in, 1) % 2);
    double extra[2] = {floor(fabs(next(in))), fabs(next(in))};
    double expected[MOST_ROWS], alone;
    double *by_column = ROOM(double, known * padded);
    float *floats = ROOM(float, size);
    if (!(extra[0] <= 0x1p50))
        extra[0] = 1000.0;
    for (size_t i = 0; i < known; i++)
        for (size_t j = 0; j < padded; j++) {
            double *at = by_column + i * padded + j;
            *at = j < distinct ? next(in) : at[-(ptrdiff_t)distinct];
        }
    double *wide = numbers(in, size, 3 * distinct);
    for (size_t i = 0; i < size; i++)
        floats[i] = narrowed(wide[i]);
    const char *releases = narrow ? (const char *)floats : (const char *)wide;
    for (size_t t = 0; tables[t]; t++) {
        double *out = ROOM(double, rows);
        run_scores(tables[t], kind, rows, columns, releases, narrow, extra, by_column, out);
        if (t)
            demand_same(out, expected, rows);
        else
            memcpy(expected, out, rows * sizeof *out);
        free(out);
    }
    for (size_t r = 0; r < rows; r += 3) {
        const char *row = releases + r * columns * (narrow ? sizeof *floats : sizeof *wide);
        run_scores(tables[0], kind, 1, columns, row, narrow, extra, by_column, &alone);
        demand_same(&alone, expected + r, 1);
    }
    free(floats);
    free(wide);
    free(by_column);
}

/* The table of an Edgeworth series: its bits are those of a plain loop, and nothing is written beyond
 * the columns. */
void try_series(const mial_kernels *const *tables, unsigned which, size_t columns, size_t distinct,
                bytes *in) {
    int order = 1 + (int)(which % 3);
    size_t padded = (columns + TILE - 1) / TILE * TILE;
    double root_n = 1.0 + floor(fabs(next_below(in, 0x1p53, 7.0))), first = 0.0;
    double s = 1.0 / root_n, half = 0.5 * s * s, cube = s * s * s;
    double *known[5], *by_column = ROOM(double, 6 * padded);
    for (int i = 0; i < 5; i++)
        known[i] = numbers(in, columns, distinct);
    for (size_t t = 0; tables[t]; t++) {
        memset(by_column, 0, 6 * padded * sizeof *by_column);
        double total = tables[t]->edgeworth_columns(columns, (const double *const *)known, root_n,
                                                    order, by_column);
        if (t)
            demand_same(&total, &first, 1);
        first = total;
        for (size_t j = 0; j < padded; j++) {
            double expected[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            if (j < columns) {
                double mean = known[1][j], std = known[2][j], l3 = known[3][j], l4 = known[4][j];
                double a = (known[0][j] - mean) / std, skew = l3 * a, square = l3 * l3;
                expected[0] = mean;
                expected[1] = root_n / std;
                expected[2] = s * a;
                if (order >= 2) {
                    expected[3] = -half * (1.0 + skew);
                    expected[5] = -half * a * a - expected[3];
                }
                if (order >= 3) {
                    expected[2] += cube * (a - 0.5 * l3 + a * (0.5 * (skew + l4) - square));
                    expected[4] = cube * (l3 / 3.0 + a * (0.5 * square - l4 / 6.0));
                }
            }
            for (size_t i = 0; i < 6; i++)
                demand_same(by_column + i * padded + j, expected + i, 1);
        }
    }
    for (int i = 0; i < 5; i++)
        free(known[i]);
    free(by_column);
}

/* A matrix whose rows or columns lie side by side, or neither, and three numbers a column. */
typedef struct {
    size_t rows, columns;
    int narrow;
    ptrdiff_t row_step, column_step;
    void *x;
    double *known[3];
} matrix;

static matrix next_matrix(size_t columns, size_t distinct, bytes *in) {
    matrix m = {.rows = take(in, 1) % (2 * MOST_ROWS), .columns = columns, .column_step = 1};
    unsigned layout = (unsigned)take(in, 1);
    size_t size = 0;
    m.narrow = (int)(layout & 1);
    m.row_step = (ptrdiff_t)columns;
    if (layout & 4) {
        m.row_step = 1 + (ptrdiff_t)(layout >> 3 & 1);
        m.column_step = m.row_step * (ptrdiff_t)m.rows;
    }
    if (m.rows && columns)
        size = (size_t)m.row_step * (m.rows - 1) + (size_t)m.column_step * (columns - 1) + 1;
    double *wide = numbers(in, size, 3 * distinct);
    if (m.narrow) {
        float *floats = ROOM(float, size);
        for (size_t i = 0; i < size; i++)
            floats[i] = narrowed(wide[i]);
        free(wide);
        m.x = floats;
    } else {
        m.x = wide;
    }
    for (int k = 0; k < 3; k++)
        m.known[k] = numbers(in, columns, distinct);
    return m;
}

static void free_matrix(matrix *m) {
    for (int k = 0; k < 3; k++)
        free(m->known[k]);
    free(m->x);
}

void try_moments(const mial_kernels *const *tables, unsigned which, size_t columns,
                 size_t distinct, bytes *in) {
    matrix m = next_matrix(columns, distinct, in);
    int orders = which % 2 ? 2 : 4;
    size_t count = (size_t)orders * columns;
    double *sums = NULL, *norms = NULL;
    for (size_t t = 0; tables[t]; t++) {
        double *powers = ROOM(double, count), *out = ROOM(double, m.rows);
        tables[t]->column_powers(m.rows, columns, m.x, m.narrow, m.row_step, m.column_step,
                                 m.known[0], m.known[1], orders, powers);
        tables[t]->row_norms(m.rows, columns, m.x, m.narrow, m.row_step, m.column_step,
                             m.known[0], m.known[1], m.known[2], out);
        if (t) {
            demand_same(powers, sums, count);
            demand_same(out, norms, m.rows);
            free(powers);
            free(out);
        } else {
            sums = powers;
            norms = out;
        }
    }
    free(sums);
    free(norms);
    free_matrix(&m);
}

/* Deviations as a plain loop makes them, with the sums that the moments have. */
void try_deviations(const mial_kernels *const *tables, unsigned which, size_t columns,
                    size_t distinct, bytes *in) {
    matrix m = next_matrix(columns, distinct, in);
    (void)which;
    for (size_t t = 0; tables[t]; t++) {
        double *powers = ROOM(double, 2 * columns), *sums = ROOM(double, 2 * columns);
        double *out = ROOM(double, m.rows * columns);
        tables[t]->column_powers(m.rows, columns, m.x, m.narrow, m.row_step, m.column_step,
                                 m.known[0], m.known[1], 2, powers);
        tables[t]->centre_rows(m.rows, columns, m.x, m.narrow, m.row_step, m.column_step,
                               m.known[0], m.known[1], out, sums);
        demand_same(sums, powers, 2 * columns);
        for (size_t j = 0; j < columns; j++)
            for (size_t i = 0; i < m.rows; i++) {
                size_t place = i * (size_t)m.row_step + j * (size_t)m.column_step;
                double x = m.narrow ? (double)((float *)m.x)[place] : ((double *)m.x)[place];
                double away = (x - m.known[0][j]) - m.known[1][j];
                demand_same(out + i + m.rows * j, &away, 1);
            }
        free(out);
        free(sums);
        free(powers);
    }
    free_matrix(&m);
}
