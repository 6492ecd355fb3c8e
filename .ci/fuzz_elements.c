/* Functions element by element, the sums of the largest leakage, and checks. */
#include "fuzz.h"

/* Any of the functions that mialeak.h lists. */
void try_elementwise(const mial_kernels *const *tables, unsigned which, size_t count,
                     size_t distinct, bytes *in) {
    size_t functions = 0, columns, first_invalid = 0;
    double *input[MIAL_MOST_INPUTS] = {NULL}, *expected = NULL;
    while (tables[0]->elementwise[functions].name)
        functions++;
    which %= functions;
    columns = strlen(tables[0]->elementwise[which].inputs);
    DEMAND(columns <= MIAL_MOST_INPUTS);
    for (size_t j = 0; j < columns; j++)
        input[j] = numbers(in, count, distinct);
    for (size_t t = 0; tables[t]; t++) {
        double *out = ROOM(double, count);
        size_t nan_out = 0, invalid;
        memcpy(out, input[0], count * sizeof *out); /* out may be an input */
        const double *from[MIAL_MOST_INPUTS] = {out};
        for (size_t j = 1; j < columns; j++)
            from[j] = input[j];
        invalid = tables[t]->elementwise[which].kernel(count, from, out);
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
    for (size_t i = 0; i < count && i < distinct; i += 5) {
        const double *row[MIAL_MOST_INPUTS];
        double alone;
        for (size_t j = 0; j < columns; j++)
            row[j] = input[j] + i;
        tables[0]->elementwise[which].kernel(1, row, &alone);
        demand_same(&alone, expected + i, 1);
    }
    free(expected);
    for (size_t j = 0; j < columns; j++)
        free(input[j]);
}

void try_checks(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
                bytes *in) {
    double low = next(in), high = next(in), *x = numbers(in, count, distinct);
    int good = 1;
    if (which % 2) { /* many within, so that the end is reached */
        low = -INFINITY;
        high = INFINITY;
    }
    for (size_t i = 0; i < count; i++)
        good = good && low <= x[i] && x[i] <= high;
    for (size_t t = 0; tables[t]; t++)
        DEMAND(tables[t]->all_within(count, x, low, high) == good);
    free(x);
}

/* Sums and atoms: n >= 1 whole, gamma and total positive and finite, as the caller checks. */
void try_leakage(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
                 bytes *in) {
    double n = 1.0 + (double)(take(in, 8) >> 12), gamma = fabs(next(in)), total = fabs(next(in));
    double *p = numbers(in, count, distinct), *expected = NULL, first_sums[4] = {0};
    size_t first_bad = 0;
    int first_status = 0;
    (void)which;
    gamma = isfinite(gamma) && gamma > 0.0 ? gamma : 1.0;
    total = isfinite(total) && total > 0.0 ? total : 1.0;
    for (size_t t = 0; tables[t]; t++) {
        size_t bad = count, bad_atom = count;
        double sums[4] = {0}, *out = ROOM(double, count);
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
