/*
 * Runs every kernel on the points that come on standard input, for same_bits.py.
 *
 * Argument: the name of an instruction set.  In: count, then the columns c, n, p, law (count
 * doubles each; a multiple of 256, at least 16,384).  Out: excess, shortfall, sf, mad, logpmf, then
 * four sums for each gamma and n, then what the other families make of p, as a matrix of 256
 * columns or as whatever they take.
 */
#include "mialeak.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scores of `releases` in 256 columns: linear, quadratic and cubic, and a table of the last. */
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
    const double *known[5];
    double table[6][COLUMNS], std[COLUMNS];
    for (int c = 0; c < 5; c++)
        known[c] = releases + COLUMNS * c;
    for (int j = 0; j < COLUMNS; j++)
        std[j] = 0.25 + releases[j];
    known[2] = std;
    table[0][0] = kernels->edgeworth_columns(COLUMNS - 3, known, 14.0, 3, table[0]);
    fwrite(table[0], 8, 1, stdout);
    for (int c = 1; c < 6; c++)
        fwrite(table[c], 8, COLUMNS - 3, stdout);
    kernels->log_linear_sums(rows, COLUMNS, releases, 0, ratio[0], out);
    fwrite(out, 8, rows, stdout);
    kernels->log_quadratic_sums(rows, COLUMNS, releases, 0, 1000.0, 1.0, ratio[0], out);
    fwrite(out, 8, rows, stdout);
}

enum { ROWS = 64, WIDTH = 256 };

static void put(const double *values, size_t count) { fwrite(values, 8, count, stdout); }

static void put_places(const int32_t *places, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double place = places[i];
        put(&place, 1);
    }
}

/* Moments of columns, deviations and norms of rows. */
static void write_moments(const mial_kernels *kernels, const double *x, double *out) {
    double sums[4 * WIDTH] = {0}, two[2 * WIDTH] = {0};
    const double *centre = x + WIDTH, *rest = x + 2 * WIDTH, *weights = x + 3 * WIDTH;
    kernels->column_powers(ROWS, WIDTH, x, 0, WIDTH, 1, centre, rest, 4, sums);
    put(sums, 4 * WIDTH);
    kernels->centre_rows(ROWS, WIDTH, x, 0, WIDTH, 1, centre, rest, out, two);
    put(out, ROWS * WIDTH);
    put(two, 2 * WIDTH);
    kernels->row_norms(ROWS, WIDTH, x, 0, WIDTH, 1, centre, rest, weights, out);
    put(out, ROWS);
}

/* Draws of a binomial law, and the means they make. */
static void write_draws(const mial_kernels *kernels, const double *unit, double *out) {
    static double weights[1000], share[1000], means[ROWS * WIDTH];
    static uint32_t order[1000];
    static uint64_t words[1000], bits[ROWS * WIDTH];
    double first;
    size_t size = kernels->binomial_window(1000.0, 0.3, 1000, &first);
    int64_t place[ROWS];
    kernels->binomial_weights(1000.0, 0.3, first, size, weights);
    put(weights, size);
    kernels->alias_words(size, weights, share, order, words);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        bits[i] = (uint64_t)(unit[i] * 0x1p63);
    kernels->alias_ahead(size, words, ROWS * WIDTH);
    kernels->alias_draws(ROWS * WIDTH, bits, size, words, first, out);
    put(out, ROWS * WIDTH);
    for (int i = 0; i < ROWS; i++)
        place[i] = ROWS - 1 - i;
    kernels->lattice_means(WIDTH, ROWS, out, unit, unit + WIDTH, 1000.0, place, WIDTH, means);
    put(means, ROWS * WIDTH);
}

/* Poisson probabilities, sums over the 1,820 ways of putting 12 rows into 5 cells, noise. */
static void write_enumeration(const mial_kernels *kernels, size_t count, const double *unit,
                              double *out) {
    enum { CELLS = 5, VECTORS = 1820, LABELS = 7, PADDED = 8 };
    static int64_t labels[VECTORS], vectors[VECTORS * CELLS];
    const int64_t start[CELLS] = {0, 0, 0, 0, 12};
    double *k = malloc(8 * count), *mean = malloc(8 * count);
    double sums[LABELS * 2 * PADDED] = {0}, more[3 * 2 * PADDED] = {0}, room[WIDTH];
    for (size_t i = 0; i < count; i++) {
        k[i] = (double)(i % 500);
        mean[i] = 500.0 * unit[i];
    }
    const double *const inputs[] = {k, mean};
    kernels->poisson_pmf(count, inputs, out);
    put(out, count);
    kernels->count_vectors(VECTORS, CELLS, start, vectors);
    for (size_t i = 0; i < VECTORS; i++)
        labels[i] = (vectors[CELLS * i] + 2 * vectors[CELLS * i + 3]) % LABELS;
    kernels->enumerate_labels(VECTORS, CELLS, CELLS, start, unit, unit + 100, labels, sums);
    put(sums, LABELS * 2 * PADDED);
    kernels->enumerate_kernel(VECTORS, CELLS, CELLS - 1, start, unit, unit + 100, unit + 200, 3,
                              more);
    put(more, 3 * 2 * PADDED);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        out[i] = unit[i];
    kernels->geometric_blur(ROWS, WIDTH, 0.3, room, out);
    put(out, ROWS * WIDTH);
    free(mean);
    free(k);
}

/* Both ways of cutting atoms. */
static void write_cuts(const mial_kernels *kernels, const double *unit, const double *law,
                       double *out) {
    enum { FEW = 120, ATOMS = 600 };
    double cumulative[ATOMS + 1] = {0.0}, room[ATOMS / MIAL_CHUNK + 1];
    int32_t cut[ATOMS + 1];
    kernels->cut_layer(FEW, 1, unit, law, out, cut);
    put(out + 1, FEW);
    put_places(cut, FEW + 1);
    for (int i = 0; i < ATOMS; i++)
        cumulative[i + 1] = cumulative[i] + law[i];
    for (int i = 1; i <= ATOMS; i++)
        cumulative[i] /= cumulative[ATOMS];
    kernels->cut_path(ATOMS, cumulative, 1000.0, 1e-4, out, room, cut);
    put(out, ATOMS + 1);
    put_places(cut, ATOMS + 1);
}

/* Moment functions of two tiles. */
static void write_waves(const mial_kernels *kernels, const double *unit) {
    enum { TILES = 2, LONGEST = 7, ALL = 11, NODES = 77 };
    static double scratch[MIAL_SCRATCH * LONGEST], tilted[MIAL_TILTED * TILES];
    static double product[MIAL_NODE * NODES];
    const int64_t first[] = {0, 4, ALL};
    double weight[MIAL_LANE * ALL], ratio[MIAL_LANE * ALL], lost[MIAL_LANE * TILES];
    double copies[MIAL_LANE * TILES], sums[3];
    for (int i = 0; i < MIAL_LANE * ALL; i++) {
        weight[i] = floor(1000.0 * unit[i]) / 8192.0;
        ratio[i] = 4.0 * unit[i + 100] - 2.0;
    }
    for (int i = 0; i < MIAL_LANE * TILES; i++) {
        lost[i] = 1.0;
        copies[i] = i % 4;
        for (int64_t j = first[i / MIAL_LANE]; j < first[i / MIAL_LANE + 1]; j++)
            lost[i] -= weight[MIAL_LANE * j + i % MIAL_LANE];
    }
    kernels->moment_sums(TILES, first, weight, ratio, lost, copies, 0.5, scratch, tilted, sums);
    put(sums, 3);
    kernels->moment_wave(TILES, first, weight, ratio, copies, 0.5, 3.0, 0.37, NODES, 512.0, tilted,
                         scratch, product);
    put(product, MIAL_NODE * NODES);
}

/* Ratios of transitions of haplotypes and of persons, and a step of a forward recursion. */
static void write_chains(const mial_kernels *kernels, const double *unit) {
    enum { ROWS = 5, STEPS = 39, STATES = 9, WIDTH = 16, NODES = 37, PADDED = WIDTH + 7 };
    double counts[ROWS * (STEPS + 1)], out[STATES * ROWS * STEPS], after[2 * NODES * PADDED];
    const int64_t first[ROWS] = {0, 3, 1, 7, 7};
    for (int ploidy = 1; ploidy <= 2; ploidy++) {
        for (int i = 0; i < ROWS * (STEPS + 1); i++)
            counts[i] = floor(401.0 * unit[i]);
        kernels->transition_ratios(ROWS, STEPS, ploidy, 400.0, counts, unit + 300, unit + 400, out);
        put(out, (size_t)(ploidy == 1 ? 4 : STATES) * ROWS * STEPS);
    }
    kernels->transfer_step(ROWS, WIDTH, first, unit, unit + 100, 0.3, 3.0, 0.37, NODES, unit + 200,
                           PADDED, after);
    put(after, 2 * NODES * PADDED);
}

/* Samples without replacement of n rows, a share p of them marked, another share of them drawn, at up to
 * 20 standard deviations from the mean; excess and tail at half a count more. */
static void write_without_replacement(const mial_kernels *kernels, size_t count, const double *n,
                                 const double *p, double *out) {
    double *columns[5];
    for (int j = 0; j < 5; j++)
        if (!(columns[j] = malloc(8 * count)))
            exit(2);
    for (size_t i = 0; i < count; i++) {
        double rows = floor(n[i]), marked = floor(rows * p[i]);
        double drawn = floor(rows * p[count - 1 - i]), mean = drawn * (marked / rows);
        double spread = sqrt(mean * (1.0 - marked / rows) * (1.0 - drawn / rows));
        columns[0][i] = floor(mean + ((double)(i % 41) - 20.0) * spread);
        columns[1][i] = rows;
        columns[2][i] = marked;
        columns[3][i] = drawn;
        columns[4][i] = columns[0][i] + 0.5 * (double)(i % 2);
    }
    const double *const laws[] = {columns[1], columns[2], columns[3]};
    const double *const counts[] = {columns[0], columns[1], columns[2], columns[3]};
    const double *const cuts[] = {columns[4], columns[1], columns[2], columns[3]};
    for (const mial_function *each = kernels->elementwise; each->name; each++) {
        size_t inputs = strlen(each->inputs);
        if (inputs < 3 || strcmp(each->inputs + inputs - 3, "www"))
            continue; /* not a function of three whole numbers, or of a count and these */
        each->kernel(count, inputs == 3 ? laws : each->inputs[0] == 'r' ? cuts : counts, out);
        put(out, count);
    }
    for (int j = 0; j < 5; j++)
        free(columns[j]);
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
    write_moments(kernels, columns[2], out);
    write_draws(kernels, columns[2], out);
    write_enumeration(kernels, count, columns[2], out);
    write_cuts(kernels, columns[2], columns[3], out);
    write_waves(kernels, columns[2]);
    write_chains(kernels, columns[2]);
    write_without_replacement(kernels, count, columns[1], columns[2], out);
    for (int j = 0; j < 6; j++)
        free(columns[j]);
    return 0;
}
