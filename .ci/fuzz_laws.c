/* Draws and the means they make, sums over count vectors, cuts, and moment functions. */
#include "fuzz.h"

/* A whole number from 0 to 2^53, mostly of any size. */
static double next_count(bytes *in) { return (double)(take(in, 8) >> (11 + take(in, 1) % 53)); }

/* ---- draws.h ---- */

/* Draws of a binomial law: whole numbers of its window, whatever the random bits. */
void try_draws(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
               bytes *in) {
    enum { MOST_WORDS = 500 };
    const mial_kernels *table = tables[which % 2 && tables[1] ? 1 : 0];
    double trials = next_count(in), p = fabs(next(in)), first;
    (void)distinct;
    p = p <= 1.0 ? p : 0.5;
    size_t size = table->binomial_window(trials, p, MOST_WORDS, &first);
    DEMAND(size >= 1 && first >= 0.0);
    if (size > MOST_WORDS)
        return;
    DEMAND(first + (double)size - 1.0 <= trials);
    double *weights = ROOM(double, size), *share = ROOM(double, size), *out = ROOM(double, count);
    uint64_t *words = ROOM(uint64_t, size), *bits = ROOM(uint64_t, count);
    uint32_t *order = ROOM(uint32_t, size);
    table->binomial_weights(trials, p, first, size, weights);
    table->alias_words(size, weights, share, order, words);
    for (size_t i = 0; i < count; i++)
        bits[i] = i % 3 ? bits[i - 1] * UINT64_C(6364136223846793005) + 1 : take(in, 8);
    table->alias_ahead(size, words, count);
    table->alias_draws(count, bits, size, words, first, out);
    for (size_t i = 0; i < count; i++)
        DEMAND(out[i] >= first && out[i] < first + (double)size && out[i] == floor(out[i]));
    free(order);
    free(bits);
    free(words);
    free(out);
    free(share);
    free(weights);
}

/* Means as a plain loop makes them, each in its place, and nothing beside them. */
void try_means(const mial_kernels *const *tables, unsigned which, size_t rounds, size_t distinct,
               bytes *in) {
    size_t columns = which % 20, gap = take(in, 1) % 3, stride = columns + gap, shift;
    size_t size = rounds ? (rounds - 1) * stride + columns : 0;
    double rows = 1.0 + next_count(in), untouched = -1.0;
    double *sums = numbers(in, columns * rounds, distinct);
    double *least = numbers(in, columns, distinct), *unit = numbers(in, columns, distinct);
    int64_t *place = ROOM(int64_t, rounds);
    shift = take(in, 1);
    for (size_t i = 0; i < rounds; i++)
        place[i] = (int64_t)((rounds - 1 - i + shift) % rounds);
    for (size_t t = 0; tables[t]; t++) {
        double *out = ROOM(double, size);
        for (size_t i = 0; i < size; i++)
            out[i] = untouched;
        tables[t]->lattice_means(columns, rounds, sums, least, unit, rows, place, stride, out);
        for (size_t i = 0; i < rounds; i++) {
            const double *line = out + (size_t)place[i] * stride;
            for (size_t j = 0; j < columns; j++) {
                double mean = least[j] + unit[j] * (sums[j * rounds + i] / rows);
                demand_same(line + j, &mean, 1);
            }
            for (size_t j = columns; j < stride && line + j < out + size; j++)
                demand_same(line + j, &untouched, 1);
        }
        free(out);
    }
    free(place);
    free(unit);
    free(least);
    free(sums);
}

/* ---- enumeration.h ---- */

/* Some rows in some cells, and how many of `most` count vectors there are from there on. */
typedef struct {
    size_t cells, vectors;
    int64_t rows;
    int64_t *start, *all;
} vectors;

static int step(size_t cells, int64_t *counts) {
    int64_t rest = 0;
    for (size_t k = cells - 1; k-- > 0;) {
        rest += counts[k + 1];
        if (rest > 0) {
            counts[k]++;
            memset(counts + k + 1, 0, (cells - 1 - k) * sizeof *counts);
            counts[cells - 1] = rest - 1;
            return 1;
        }
    }
    return 0;
}

static vectors next_vectors(size_t most, bytes *in) {
    size_t shape = take(in, 1);
    vectors of = {.cells = 2 + (shape < 200 ? shape % 6 : shape), .rows = 0};
    of.cells = of.cells > 64 ? 64 : of.cells;
    of.start = ROOM(int64_t, of.cells);
    of.all = ROOM(int64_t, most * of.cells);
    for (size_t placed = take(in, 1) % 9; placed > 0; placed--, of.rows++)
        of.start[take(in, 1) % of.cells]++;
    int64_t *counts = ROOM(int64_t, of.cells);
    memcpy(counts, of.start, of.cells * sizeof *counts);
    int more = 1;
    while (more && of.vectors < most) {
        memcpy(of.all + of.vectors++ * of.cells, counts, of.cells * sizeof *counts);
        more = step(of.cells, counts);
    }
    free(counts);
    return of;
}

static void free_vectors(vectors *of) {
    free(of->all);
    free(of->start);
}

/* The vectors that a plain walk finds. */
void try_vectors(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
                 bytes *in) {
    vectors of = next_vectors(count, in);
    (void)which, (void)distinct;
    for (size_t t = 0; tables[t]; t++) {
        int64_t *out = ROOM(int64_t, of.vectors * of.cells);
        tables[t]->count_vectors(of.vectors, of.cells, of.start, out);
        DEMAND(!memcmp(out, of.all, of.vectors * of.cells * sizeof *out));
        free(out);
    }
    free_vectors(&of);
}

/* A label is a law of one outcome, and two parts of the work are the whole. */
void try_sums(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
              bytes *in) {
    vectors of = next_vectors(count, in);
    size_t moments = of.cells - which % 2;
    size_t width = (moments + MIAL_CELL_GROUP - 1) / MIAL_CELL_GROUP * MIAL_CELL_GROUP;
    size_t outcomes = 1 + which / 2 % 4, size = outcomes * 2 * width;
    size_t part = of.vectors ? take(in, 1) % of.vectors : 0, rest = of.vectors - part;
    double *table = numbers(in, of.cells * (size_t)(of.rows + 1), distinct);
    double *offset = numbers(in, width, distinct), *expected = NULL;
    double *kernel = ROOM(double, of.vectors * outcomes), *sharp = ROOM(double, of.vectors * outcomes);
    int64_t *labels = ROOM(int64_t, of.vectors);
    const int64_t *middle = of.all + part * of.cells;
    for (size_t v = 0; v < of.vectors; v++) {
        labels[v] = (int64_t)(take(in, 1) % outcomes);
        sharp[v * outcomes + (size_t)labels[v]] = 1.0;
        for (size_t l = 0; l < outcomes; l++)
            kernel[v * outcomes + l] = v % 3 ? (double)(v % 5) / 4.0 : next(in);
    }
    for (size_t t = 0; tables[t]; t++) {
        double *by_label = ROOM(double, size), *by_law = ROOM(double, size);
        tables[t]->enumerate_labels(of.vectors, of.cells, moments, of.start, table, offset, labels,
                                    by_label);
        tables[t]->enumerate_kernel(part, of.cells, moments, of.start, table, offset, sharp,
                                    outcomes, by_law);
        if (rest)
            tables[t]->enumerate_kernel(rest, of.cells, moments, middle, table, offset,
                                        sharp + part * outcomes, outcomes, by_law);
        demand_same(by_label, by_law, size);
        if (rest) /* any probabilities, on top of what is there */
            tables[t]->enumerate_kernel(rest, of.cells, moments, middle, table, offset,
                                        kernel + part * outcomes, outcomes, by_law);
        if (t)
            demand_same(by_law, expected, size);
        free(by_label);
        if (t)
            free(by_law);
        else
            expected = by_law;
    }
    free(expected);
    free(labels);
    free(sharp);
    free(kernel);
    free(offset);
    free(table);
    free_vectors(&of);
}

void try_blur(const mial_kernels *const *tables, unsigned which, size_t width, size_t distinct,
              bytes *in) {
    size_t rows = which % 4;
    double alpha = fabs(next_below(in, 1.0, 0.5)), *expected = NULL;
    double *values = numbers(in, rows * width, distinct), *space = ROOM(double, width);
    for (size_t t = 0; tables[t]; t++) {
        double *out = ROOM(double, rows * width);
        memcpy(out, values, rows * width * sizeof *out);
        tables[t]->geometric_blur(rows, width, alpha, space, out);
        if (t) {
            demand_same(out, expected, rows * width);
            free(out);
        } else {
            expected = out;
        }
    }
    for (size_t r = 0; r < rows; r++) {
        tables[0]->geometric_blur(1, width, alpha, space, values + r * width);
        demand_same(values + r * width, expected + r * width, width);
    }
    free(expected);
    free(space);
    free(values);
}

/* ---- coarsening.h ---- */

/* The least cost and its first place as a plain loop finds them. */
void try_layer(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
               bytes *in) {
    size_t atoms = count < 9 ? count : count - 230, side = atoms + 1, groups = 1 + which % side;
    double *cost = numbers(in, side * side, distinct), *before = numbers(in, side, distinct);
    for (size_t i = 0; i + 1 < groups; i++)
        before[i] = INFINITY;
    for (size_t t = 0; tables[t]; t++) {
        double *after = ROOM(double, side);
        int32_t *cut = ROOM(int32_t, side);
        tables[t]->cut_layer(atoms, groups, cost, before, after, cut);
        for (size_t j = 0; j <= atoms; j++) {
            double best = INFINITY;
            int32_t place = 0;
            for (size_t i = groups - 1; i < j && j >= groups; i++)
                if (before[i] + cost[j * side + i] < best) {
                    best = before[i] + cost[j * side + i];
                    place = (int32_t)i;
                }
            DEMAND(after[j] == best && cut[j] == place);
        }
        free(cut);
        free(after);
    }
    free(before);
    free(cost);
}

/* The cheapest path as a search of all cuts finds it, with the family's own deviations. */
void try_path(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
              bytes *in) {
    size_t atoms = which % 8 ? count % 16 : count; /* quadratic work */
    double n = 1.0 + next_count(in), reward = next_below(in, 2.0, 0.0) / (1.0 + next_count(in));
    double scale = ldexp(1.0, -(int)(which % 13));
    double *cumulative = numbers(in, atoms + 1, distinct);
    double *laws = ROOM(double, atoms), *mad = ROOM(double, atoms), *trials = ROOM(double, atoms);
    for (size_t i = atoms; i-- > 0;)
        cumulative[i + 1] = fabs(cumulative[i]) < 1.0 ? fabs(cumulative[i]) : 0.25;
    cumulative[0] = 0.0;
    for (size_t i = 0; i < atoms; i++) {
        cumulative[i + 1] = cumulative[i] + scale * cumulative[i + 1];
        trials[i] = n;
    }
    for (size_t t = 0; tables[t]; t++) {
        double *cost = ROOM(double, atoms + 1), *space = ROOM(double, atoms / MIAL_CHUNK + 1);
        int32_t *cut = ROOM(int32_t, atoms + 1);
        tables[t]->cut_path(atoms, cumulative, n, reward, cost, space, cut);
        DEMAND(cost[0] == 0.0 && cut[0] == 0);
        for (size_t j = 1; j <= atoms; j++) {
            const double *const inputs[] = {trials, laws};
            double best = INFINITY;
            int32_t place = 0;
            for (size_t i = 0; i < j; i++)
                laws[i] = fmin(cumulative[j] - cumulative[i], 1.0);
            tables[t]->binom_mad(j, inputs, mad);
            for (size_t i = j; i-- > 0;) {
                double here = cost[i] + (mad[i] / (2.0 * n) - reward);
                if (here < best) {
                    best = here;
                    place = (int32_t)i;
                }
            }
            DEMAND(cost[j] == best && cut[j] == place);
        }
        free(cut);
        free(space);
        free(cost);
    }
    free(trials);
    free(mad);
    free(laws);
    free(cumulative);
}

/* ---- moments.h ---- */

enum { LANES = MIAL_LANE, TILTED = MIAL_TILTED, SCRATCH = MIAL_SCRATCH, NODE = MIAL_NODE };
enum { NODES = 32 };

/* Coordinates: each lane's probabilities sum to 1, with what is lost. */
typedef struct {
    size_t tiles, longest;
    int64_t *first;
    double *weight, *ratio, *lost, *copies;
    double most_ratio, most_copies;
} coordinates;

static void normalise(coordinates *of, size_t tile, size_t lane) {
    size_t begin = (size_t)of->first[tile], end = (size_t)of->first[tile + 1];
    double total = of->lost[LANES * tile + lane];
    for (size_t i = begin; i < end; i++)
        total += of->weight[LANES * i + lane];
    for (size_t i = begin; i < end; i++)
        of->weight[LANES * i + lane] /= total;
    of->lost[LANES * tile + lane] /= total;
}

static coordinates next_coordinates(size_t count, size_t distinct, bytes *in) {
    coordinates of = {.tiles = count % 4, .longest = 0, .most_ratio = 0x1p-100};
    double largest = ldexp(1.0, (int)(take(in, 1) % 64) - 20);
    of.first = ROOM(int64_t, of.tiles + 1);
    for (size_t j = 0; j < of.tiles; j++) {
        size_t rows = take(in, 1) % 5;
        of.longest = rows > of.longest ? rows : of.longest;
        of.first[j + 1] = of.first[j] + (int64_t)rows;
    }
    size_t rows = (size_t)of.first[of.tiles];
    of.weight = numbers(in, LANES * rows, distinct);
    of.ratio = numbers(in, LANES * rows, distinct);
    of.lost = numbers(in, LANES * of.tiles, distinct);
    of.copies = ROOM(double, LANES * of.tiles);
    for (size_t i = 0; i < LANES * rows; i++) {
        double ratio = of.ratio[i];
        of.weight[i] = fabs(of.weight[i]) <= 1.0 ? fabs(of.weight[i]) : 1.0;
        of.ratio[i] = fabs(ratio) <= largest ? ratio : largest;
        of.most_ratio = fmax(of.most_ratio, fabs(of.ratio[i]));
    }
    for (size_t i = 0; i < LANES * of.tiles; i++) {
        of.lost[i] = fabs(of.lost[i]) <= 0.5 ? fabs(of.lost[i]) : 0.0;
        of.copies[i] = i % 3 ? 1.0 : next_count(in);
        of.most_copies = fmax(of.most_copies, of.copies[i]);
    }
    for (size_t j = 0; j < of.tiles; j++)
        for (size_t lane = 0; lane < LANES; lane++) {
            double *any = of.first[j] < of.first[j + 1] ? of.weight + LANES * of.first[j]
                                                        : of.lost + LANES * j;
            any[lane] = any[lane] > 0x1p-900 ? any[lane] : 0.5;
            normalise(&of, j, lane);
        }
    return of;
}

static void free_coordinates(coordinates *of) {
    free(of->copies);
    free(of->lost);
    free(of->ratio);
    free(of->weight);
    free(of->first);
}

/* No moment is missing and none of the characteristic functions is above 1. */
static void demand_moments(const coordinates *of, const double *sums, size_t nodes,
                           const double *product) {
    DEMAND(isfinite(sums[0]) && isfinite(sums[1]) && sums[2] >= 0.0);
    for (size_t i = 0; i < nodes; i++)
        for (size_t lane = 0; lane < LANES; lane++) {
            const double *z = product + NODE * i + lane;
            double square = z[MIAL_NODE_RE] * z[MIAL_NODE_RE] + z[MIAL_NODE_IM] * z[MIAL_NODE_IM];
            DEMAND(z[MIAL_NODE_POWER] <= 0.0 && !isnan(square));
            DEMAND(of->most_copies > 1e6 || square <= 1.0 + 1e-6);
        }
}

/* Moments, and a wave that is the same from its second block of nodes on. */
void try_waves(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
               bytes *in) {
    coordinates of = next_coordinates(count, distinct, in);
    size_t many = take(in, 1), nodes = many < 240 ? many % 7 : many - 240 + NODES - 2;
    size_t later = nodes > NODES ? nodes - NODES : 0;
    double theta = next_below(in, 0x1p200, 1.0), reach = 0x1p20 / of.most_ratio;
    double start = reach * next_below(in, 1.0, 0.5), floor_ = which % 2 ? 128.0 : 1e300;
    double step = reach * next_below(in, 1.0, 0.0) / (double)(nodes + 1);
    double first_sums[3] = {0}, *first_tilted = NULL, *first_product = NULL;
    for (size_t t = 0; tables[t]; t++) {
        double sums[3], *scratch = ROOM(double, SCRATCH * of.longest);
        double *tilted = ROOM(double, TILTED * of.tiles), *product = ROOM(double, NODE * nodes);
        tables[t]->moment_sums(of.tiles, of.first, of.weight, of.ratio, of.lost, of.copies, theta,
                               scratch, tilted, sums);
        tables[t]->moment_wave(of.tiles, of.first, of.weight, of.ratio, of.copies, theta, start,
                               step, nodes, floor_, tilted, scratch, product);
        demand_moments(&of, sums, nodes, product);
        if (t) {
            demand_same(sums, first_sums, 3);
            demand_same(tilted, first_tilted, TILTED * of.tiles);
            demand_same(product, first_product, NODE * nodes);
            free(tilted);
            free(product);
        } else {
            double *rest = ROOM(double, NODE * later);
            memcpy(first_sums, sums, sizeof sums);
            first_tilted = tilted;
            first_product = product;
            tables[t]->moment_wave(of.tiles, of.first, of.weight, of.ratio, of.copies, theta,
                                   start + step * (double)NODES, step, later, floor_, tilted,
                                   scratch, rest);
            demand_same(rest, product + NODE * (later ? NODES : 0), NODE * later);
            free(rest);
        }
        free(scratch);
    }
    free(first_product);
    free(first_tilted);
    free_coordinates(&of);
}

/* ---- chains.h ---- */

/* Ratios are finite and not negative, and a release has those that it has alone. */
void try_chains(const mial_kernels *const *tables, unsigned which, size_t count, size_t distinct,
                bytes *in) {
    enum { MOST_HAPLOTYPES = 5000, STEPS = 11 };
    int ploidy = 1 + (int)(which % 2);
    size_t rows = count % 9, states = (size_t)((ploidy + 1) * (ploidy + 1)), cells = rows * STEPS;
    double m = 2.0 + (double)(take(in, 2) % MOST_HAPLOTYPES), *first_out = NULL;
    double *zero = numbers(in, STEPS, distinct), *one = numbers(in, STEPS, distinct);
    double *counts = numbers(in, rows * (STEPS + 1), distinct);
    for (size_t j = 0; j < STEPS; j++) { /* 0 and 1, or far enough from underflow, as in Python */
        zero[j] = fabs(zero[j]) <= 1.0 && fabs(zero[j]) >= 0x1p-1000 ? fabs(zero[j]) : 0.5;
        one[j] = fabs(one[j]) <= 1.0 && fabs(one[j]) >= 0x1p-1000 ? fabs(one[j]) : 0.25;
    }
    for (size_t i = 0; i < rows * (STEPS + 1); i++) {
        double part = fabs(counts[i]) <= 1.0 ? fabs(counts[i]) : 0.5;
        counts[i] = floor(part * m);
    }
    for (size_t t = 0; tables[t]; t++) {
        double *out = ROOM(double, states * cells), *alone = ROOM(double, states * STEPS);
        tables[t]->transition_ratios(rows, STEPS, ploidy, m, counts, zero, one, out);
        for (size_t i = 0; i < states * cells; i++)
            DEMAND(out[i] >= 0.0);
        if (rows) {
            const double *last = counts + (rows - 1) * (STEPS + 1);
            tables[t]->transition_ratios(1, STEPS, ploidy, m, last, zero, one, alone);
            for (size_t s = 0; s < states; s++)
                demand_same(alone + s * STEPS, out + s * cells + cells - STEPS, STEPS);
        }
        if (t) {
            demand_same(out, first_out, states * cells);
            free(out);
        } else {
            first_out = out;
        }
        free(alone);
    }
    free(first_out);
    free(counts);
    free(one);
    free(zero);
}
