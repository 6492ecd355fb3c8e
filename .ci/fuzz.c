/*
 * libFuzzer: any bytes to every kernel, on the instruction sets this machine has, two at a time.
 *
 * Beside the sanitizers' own checks it demands
 *   - the same bits from both instruction sets (any NaN is as good as another);
 *   - the same result for an element, or a row, alone as among others;
 *   - NaN for an element outside the domain, and the number of such elements.
 *
 * Bytes: function, second instruction set, count, number of distinct rows, then 9 bytes a number
 * (see `next`).  Rows repeat until there are `count`, so that a short input fills several chunks.
 */
#include "mialeak.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3 };

typedef struct {
    const uint8_t *data;
    size_t size;
} bytes;

static uint64_t take(bytes *in, size_t width) {
    uint64_t value = 0;
    for (size_t i = 0; i < width && in->size; i++, in->size--)
        value = value << 8 | *in->data++;
    return value;
}

/* A number that is likely to be of use: any bits, a count, a probability near 0, 1 or neither. */
static double next(bytes *in) {
    uint64_t kind = take(in, 1), bits = take(in, 8);
    double number = ldexp((double)(bits >> 11), -53);
    switch (kind % 6) {
    case 0: memcpy(&number, &bits, sizeof number); return number;
    case 1: return (double)(bits >> 11);
    case 2: return (double)(bits >> (11 + kind / 6 % 53));
    case 3: return number;
    case 4: return ldexp(number, -(int)(bits % 1100));
    default: return 1.0 - ldexp(number, -(int)(bits % 60));
    }
}

static double *copy(const double *values, size_t count) { /* exactly as long as it needs to be */
    double *fresh = malloc(count * sizeof *fresh + (count == 0));
    if (count)
        memcpy(fresh, values, count * sizeof *fresh);
    return fresh;
}

#define DEMAND(good)                                                                               \
    do {                                                                                           \
        if (!(good)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #good);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void demand_same(const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        DEMAND(!memcmp(a + i, b + i, sizeof *a) || (isnan(a[i]) && isnan(b[i])));
}

static mial_elementwise *elementwise(const mial_kernels *table, unsigned which) {
    mial_elementwise *const all[] = {table->binom_mad, table->binom_excess, table->binom_shortfall,
                                     table->binom_sf, table->binom_logpmf};
    return all[which];
}

static void try_elementwise(const mial_kernels *const *tables, unsigned which, size_t count,
                            size_t rows, bytes *in) {
    size_t columns = which ? 3 : 2, first_invalid = 0;
    double *input[COLUMNS], *expected = NULL;
    for (size_t j = 0; j < columns; j++) {
        input[j] = calloc(count + (count == 0), sizeof **input);
        for (size_t i = 0; i < count; i++)
            input[j][i] = i < rows ? next(in) : input[j][i - rows];
    }
    for (size_t t = 0; tables[t]; t++) {
        mial_elementwise *kernel = elementwise(tables[t], which);
        double *out = copy(input[0], count);
        size_t invalid = kernel(count, (const double *const *)input, out), nan_out = 0;
        for (size_t i = 0; i < count; i++) {
            int nan_in = 0;
            for (size_t j = 0; j < columns; j++)
                nan_in |= isnan(input[j][i]);
            DEMAND(!nan_in || isnan(out[i]));
            nan_out += isnan(out[i]) && !nan_in;
        }
        DEMAND(nan_out == invalid);
        if (t) {
            DEMAND(invalid == first_invalid);
            demand_same(out, expected, count);
            free(out);
        } else {
            first_invalid = invalid;
            expected = out;
        }
    }
    for (size_t i = 0; i < count && i < rows; i += 5) {
        const double *const row[] = {input[0] + i, input[1] + i, input[columns - 1] + i};
        double alone;
        elementwise(tables[0], which)(1, row, &alone);
        demand_same(&alone, expected + i, 1);
    }
    free(expected);
    for (size_t j = 0; j < columns; j++)
        free(input[j]);
}

/* Sums and atoms: n >= 1 whole, gamma and total positive and finite, as the caller checks. */
static void try_leakage(const mial_kernels *const *tables, size_t count, size_t rows, bytes *in) {
    double n = 1.0 + (double)(take(in, 8) >> 12), gamma = fabs(next(in)), total = fabs(next(in));
    double *p = calloc(count + (count == 0), sizeof *p), *expected = NULL, first_sums[4] = {0};
    size_t first_bad = 0;
    int first_status = 0;
    gamma = isfinite(gamma) && gamma > 0.0 ? gamma : 1.0;
    total = isfinite(total) && total > 0.0 ? total : 1.0;
    for (size_t i = 0; i < count; i++)
        p[i] = i < rows ? next(in) : p[i - rows];
    for (size_t t = 0; tables[t]; t++) {
        size_t bad = count, bad_atom = count;
        double sums[4] = {0};
        double *out = copy(p, count);
        int status = tables[t]->leakage_sum(count, p, n, gamma, total, sums, &bad);
        DEMAND(tables[t]->leakage_atoms(count, p, n, gamma, total, out, &bad_atom) == status);
        DEMAND(bad == bad_atom && (status == MIAL_OK) == (bad == count));
        for (size_t i = 0; status == MIAL_OK && i < count; i++)
            DEMAND(out[i] >= 0.0);
        if (t) {
            DEMAND(status == first_status && bad == first_bad);
            if (status == MIAL_OK) {
                demand_same(sums, first_sums, 4);
                demand_same(out, expected, count);
            }
            free(out);
        } else {
            first_status = status;
            first_bad = bad;
            memcpy(first_sums, sums, sizeof sums);
            expected = out;
        }
    }
    free(expected);
    free(p);
}

/*
 * Scores of a few rows of releases, float64 or float32.  The kernels demand no more of the numbers
 * known of a column than that they are there: whole tiles of them.
 */
enum { TILE = 64, MOST_ROWS = 11, KNOWN = 6 };

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

static void try_scores(const mial_kernels *const *tables, unsigned kind, size_t columns,
                       size_t distinct, bytes *in) {
    size_t rows = take(in, 1) % (MOST_ROWS + 1), known = (size_t)(kind ? 3 * kind : 5);
    size_t padded = (columns + TILE - 1) / TILE * TILE, size = rows * columns;
    int narrow = (int)(take(in, 1) % 2);
    double extra[2] = {floor(fabs(next(in))), fabs(next(in))};
    double expected[MOST_ROWS], alone;
    double *by_column = calloc(known * padded + (padded == 0), sizeof *by_column);
    double *wide = calloc(size + (size == 0), sizeof *wide);
    float *floats = calloc(size + (size == 0), sizeof *floats);
    if (!(extra[0] <= 0x1p50))
        extra[0] = 1000.0;
    for (size_t i = 0; i < known; i++)
        for (size_t j = 0; j < padded; j++) {
            double *at = by_column + i * padded + j;
            *at = j < distinct ? next(in) : at[-(ptrdiff_t)distinct];
        }
    for (size_t i = 0; i < size; i++) {
        wide[i] = i < 3 * distinct ? next(in) : wide[i - 3 * distinct];
        floats[i] = fabs(wide[i]) < 0x1p127 ? (float)wide[i] : INFINITY;
    }
    const char *releases = narrow ? (const char *)floats : (const char *)wide;
    for (size_t t = 0; tables[t]; t++) {
        double *out = calloc(rows + (rows == 0), sizeof *out);
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

/* Moments and norms of a matrix whose rows or columns lie side by side, or neither. */
static void try_moments(const mial_kernels *const *tables, size_t columns, size_t distinct,
                        bytes *in) {
    enum { ORDERS = 4 };
    size_t rows = take(in, 1) % (2 * MOST_ROWS), layout = take(in, 1), size;
    int narrow = (int)(layout & 1), orders = layout & 2 ? 2 : ORDERS;
    ptrdiff_t row_step = (ptrdiff_t)columns, column_step = 1;
    if (layout & 4) {
        row_step = 1 + (ptrdiff_t)(layout >> 3 & 1);
        column_step = row_step * (ptrdiff_t)rows;
    }
    size = rows && columns ? (size_t)row_step * (rows - 1) + (size_t)column_step * (columns - 1) + 1
                           : 0;
    double *x = calloc(size + 1, sizeof *x), *known[3], *sums = NULL, *norms = NULL;
    float *floats = calloc(size + 1, sizeof *floats);
    for (size_t i = 0; i < size; i++) {
        x[i] = i < 3 * distinct ? next(in) : x[i - 3 * distinct];
        floats[i] = fabs(x[i]) < 0x1p127 ? (float)x[i] : INFINITY;
    }
    x = realloc(x, size * sizeof *x + (size == 0));
    floats = realloc(floats, size * sizeof *floats + (size == 0));
    for (int k = 0; k < 3; k++) {
        known[k] = calloc(columns + (columns == 0), sizeof **known);
        for (size_t j = 0; j < columns; j++)
            known[k][j] = j < distinct ? next(in) : known[k][j - distinct];
    }
    const void *first = narrow ? (const void *)floats : (const void *)x;
    for (size_t t = 0; tables[t]; t++) {
        size_t count = (size_t)orders * columns;
        double *powers = calloc(count + (count == 0), sizeof *powers);
        double *out = calloc(rows + (rows == 0), sizeof *out);
        tables[t]->column_powers(rows, columns, first, narrow, row_step, column_step, known[0],
                                 known[1], orders, powers);
        tables[t]->row_norms(rows, columns, first, narrow, row_step, column_step, known[0],
                             known[1], known[2], out);
        if (t) {
            demand_same(powers, sums, count);
            demand_same(out, norms, rows);
            free(powers);
            free(out);
        } else {
            sums = powers;
            norms = out;
        }
    }
    free(sums);
    free(norms);
    for (int k = 0; k < 3; k++)
        free(known[k]);
    free(floats);
    free(x);
}

/* Draws of a binomial law: whole numbers of its window, whatever the random bits. */
static void try_draws(const mial_kernels *table, size_t count, bytes *in) {
    enum { MOST = 2000 };
    double trials = (double)(take(in, 8) >> (11 + take(in, 1) % 53)), p = fabs(next(in)), first;
    p = p <= 1.0 ? p : 0.5;
    size_t size = table->binomial_window(trials, p, MOST, &first);
    DEMAND(size >= 1 && first >= 0.0);
    if (size > MOST)
        return;
    DEMAND(first + (double)size - 1.0 <= trials);
    double *weights = calloc(size, sizeof *weights), *share = calloc(size, sizeof *share);
    uint32_t *order = calloc(size, sizeof *order);
    uint64_t *words = calloc(size, sizeof *words);
    uint64_t *bits = calloc(count + (count == 0), sizeof *bits);
    double *out = calloc(count + (count == 0), sizeof *out);
    table->binomial_weights(trials, p, first, size, weights);
    table->alias_words(size, weights, share, order, words);
    for (size_t i = 0; i < count; i++)
        bits[i] = i % 3 ? bits[i - 1] * UINT64_C(6364136223846793005) + 1 : take(in, 8);
    table->alias_ahead(size, words, count);
    table->alias_draws(count, bits, size, words, first, out);
    for (size_t i = 0; i < count; i++)
        DEMAND(out[i] >= first && out[i] < first + (double)size && out[i] == floor(out[i]));
    free(out);
    free(bits);
    free(words);
    free(order);
    free(share);
    free(weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    unsigned which = (unsigned)take(&in, 1) % 11, other = (unsigned)take(&in, 1);
    /* Mostly few; now and then more than a chunk of 256. */
    size_t count = take(&in, 1), rows = 1 + take(&in, 1) % 16;
    count = count < 250 ? count % 9 : 250 + 3 * (count - 250);
    /* The machine's best instruction set, and one of the others. */
    size_t sets = 0;
    while (mial_available(sets))
        sets++;
    const mial_kernels *tables[] = {
        mial_select(NULL),
        sets > 1 ? mial_select(mial_available(1 + other % (sets - 1))) : NULL,
        NULL,
    };
    if (which < 5)
        try_elementwise(tables, which, count, rows, &in);
    else if (which == 5)
        try_leakage(tables, count, rows, &in);
    else if (which < 9)
        try_scores(tables, which - 6, count, rows, &in);
    else if (which == 9)
        try_moments(tables, count, rows, &in);
    else
        try_draws(tables[other % 2 && tables[1] ? 1 : 0], count, &in);
    return 0;
}
