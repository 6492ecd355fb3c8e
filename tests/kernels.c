/*
 * Runs every kernel on the points that come on standard input, for same_bits.py.
 *
 * Argument: the name of an instruction set.  In: count, then the columns c, n, p, law (count
 * doubles each; a multiple of 256).  Out: excess, shortfall, sf, mad, logpmf, then four sums for
 * each gamma and n, then the three kinds of scores of p as a matrix of 256 columns.
 */
#include "mialeak.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Scores of `releases` in 256 columns: linear, quadratic and cubic. */
static void write_scores(const mial_kernels *kernels, size_t rows, const double *releases,
                         double *out) {
    enum { COLUMNS = 256 };
    double cubic[5][COLUMNS], ratio[6][COLUMNS];
    for (int j = 0; j < COLUMNS; j++) {
        for (int c = 0; c < 5; c++)
            cubic[c][j] = releases[5 * j + c];
        ratio[0][j] = j % 2 ? 1.0 : 0.0;
        ratio[1][j] = j % 2 ? -1.0 : 1.0;
        ratio[2][j] = 1.0 + releases[j];
        ratio[3][j] = j % 3 ? 2000.0 : 1.0;
        ratio[4][j] = j % 3 ? -1.0 : 1.0;
        ratio[5][j] = 1.0 / (1.0 + j);
    }
    kernels->cubic_sums(rows, COLUMNS, releases, 0, cubic[0], 0.5, out);
    fwrite(out, 8, rows, stdout);
    kernels->log_linear_sums(rows, COLUMNS, releases, 0, ratio[0], out);
    fwrite(out, 8, rows, stdout);
    kernels->log_quadratic_sums(rows, COLUMNS, releases, 0, 1000.0, 1.0, ratio[0], out);
    fwrite(out, 8, rows, stdout);
}

int main(int argc, char **argv) {
    const mial_kernels *kernels = mial_select(argc > 1 ? argv[1] : NULL);
    uint64_t count;
    if (!kernels || fread(&count, 8, 1, stdin) != 1)
        return 2;
    double *columns[6];
    for (int j = 0; j < 6; j++)
        if (!(columns[j] = malloc(8 * count)) ||
            (j < 4 && fread(columns[j], 8, count, stdin) != count))
            return 2;
    double *out = columns[5];
    mial_elementwise *tails[] = {kernels->binom_excess, kernels->binom_shortfall,
                                 kernels->binom_sf};
    const double *points[] = {columns[0], columns[1], columns[2]};
    for (int j = 0; j < 3; j++) {
        tails[j](count, points, out);
        fwrite(out, 8, count, stdout);
    }
    kernels->binom_mad(count, points + 1, out);
    fwrite(out, 8, count, stdout);
    for (uint64_t i = 0; i < count; i++)
        columns[4][i] = floor(columns[0][i]);
    points[0] = columns[4];
    kernels->binom_logpmf(count, points, out);
    fwrite(out, 8, count, stdout);
    const double gammas[] = {0.5, 1.0, 1.25}, sizes[] = {1.0, 1000.0, 1e6, 0x1p53};
    for (int g = 0; g < 3; g++)
        for (int s = 0; s < 4; s++) {
            double sums[4];
            size_t bad;
            if (kernels->leakage_sum(count, columns[3], sizes[s], gammas[g], 1.0, sums, &bad))
                return 3;
            fwrite(sums, 8, 4, stdout);
        }
    write_scores(kernels, count / 256, columns[2], out);
    return 0;
}
