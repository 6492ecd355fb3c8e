/*
 * libFuzzer: any bytes to every kernel, on the instruction sets this machine has, two at a time.
 *
 * Beside the sanitizers' own checks it demands
 *   - the same bits from both instruction sets (any NaN is as good as another);
 *   - the same result for an element alone as among others;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    unsigned which = (unsigned)take(&in, 1) % 6, other = (unsigned)take(&in, 1);
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
    else
        try_leakage(tables, count, rows, &in);
    return 0;
}
