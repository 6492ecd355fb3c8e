/*
 * Draws from finite laws by Walker's alias method, and released means from the draws.
 *
 * A law of `size` consecutive whole numbers is a table of `size` words, one per column: the upper 48
 * bits are the share of the column's number in the column, the lower 16 the column of the other
 * number.  A draw takes 64 random bits: the product with `size` is the column and a fraction below
 * 1, which is compared with the share.
 *
 * All operations are integer arithmetic or correctly rounded: the draws are the same on every
 * instruction set.  Vector instructions would be no faster, since they have to gather.
 *
 * Walker (1977), ACM TOMS 3, 253; Vose (1991), IEEE Trans. Software Eng. 17, 972.
 */
#ifndef MIAL_DRAWS_H
#define MIAL_DRAWS_H

#include "simd.h"

/* Columns of a release that are written together: a cache line. */
enum { DRAWS_LINE = 8 };

#define DRAWS_FULL ((UINT64_C(1) << 48) - 1)

/* Numbers this much less likely than the mode are omitted: 64 random bits cannot resolve them. */
#define DRAWS_NEGLIGIBLE 0x1p-70

/* ---- binomial probabilities by their ratios ---- */

INLINE double binomial_mode(double trials, double p) {
    double mode = (double)(int64_t)((trials + 1.0) * p);
    return mode < trials ? mode : trials;
}

/* P(B = k + 1)/P(B = k), odds = p/(1 - p) */
INLINE double binomial_up(double trials, double odds, double k) {
    return (trials - k) * odds / (k + 1.0);
}

/* P(B = k - 1)/P(B = k), odds = (1 - p)/p */
INLINE double binomial_down(double trials, double odds, double k) {
    return k * odds / (trials - k + 1.0);
}

/*
 * weights = P(B = first + i)/P(B = mode), B ~ Binomial(trials, p), for 0 <= i < size.
 *
 * 0 <= p <= 1; first and size from binomial_window, or any range with the mode if 0 < p < 1.
 * Relative error 2 eps per step from the mode; in total variation 2 eps times the standard deviation.
 */
static void binomial_weights(double trials, double p, double first, size_t size, double *weights) {
    double up = p / (1.0 - p), down = (1.0 - p) / p;
    size_t top = (size_t)(binomial_mode(trials, p) - first);
    weights[top] = 1.0;
    for (size_t i = top; i + 1 < size; i++)
        weights[i + 1] = weights[i] * binomial_up(trials, up, first + (double)i);
    for (size_t i = top; i > 0; i--)
        weights[i - 1] = weights[i] * binomial_down(trials, down, first + (double)i);
}

/*
 * The number of values of Binomial(trials, p) that are not negligible, and the first of them; at
 * least `most` + 1 if there are more than `most`.
 */
static size_t binomial_window(double trials, double p, size_t most, double *first) {
    double mode = binomial_mode(trials, p), up = p / (1.0 - p), down = (1.0 - p) / p;
    double weight = 1.0;
    size_t size = 1;
    *first = mode;
    for (double k = mode; k < trials && size <= most; k += 1.0, size++) {
        weight *= binomial_up(trials, up, k);
        if (weight < DRAWS_NEGLIGIBLE)
            break;
    }
    weight = 1.0;
    for (double k = mode; k > 0.0 && size <= most; k -= 1.0, size++) {
        weight *= binomial_down(trials, down, k);
        if (weight < DRAWS_NEGLIGIBLE)
            break;
        *first = k - 1.0;
    }
    return size;
}

/* ---- alias tables ---- */

/*
 * words = the table of the law proportional to `weights`.
 *
 * weights: size of them, not negative, with a sum in [2^-1000, 2^1000]; 1 <= size <= 65536.
 * share: size, order: size (scratch).  Nothing is checked.
 * The error of a number's probability is at most 2^-49/size for each column in which it has a share,
 * plus the rounding of the weights: 2^-49 in total variation.
 */
static void alias_words(size_t size, const double *weights, double *share, uint32_t *order,
                        uint64_t *words) {
    double total = 0.0, scale;
    size_t poor = 0, rich = size; /* order: poor columns in front of `poor`, rich from `rich` on */
    for (size_t i = 0; i < size; i++)
        total += weights[i];
    scale = (double)size / total;
    for (size_t i = 0; i < size; i++) {
        share[i] = weights[i] * scale;
        if (share[i] < 1.0)
            order[poor++] = (uint32_t)i;
        else
            order[--rich] = (uint32_t)i;
        words[i] = DRAWS_FULL << 16 | i; /* unless the column is filled up from a rich one */
    }
    while (poor && rich < size) {
        uint32_t from = order[rich], to = order[--poor];
        words[to] = (uint64_t)(share[to] * 0x1p48) << 16 | from;
        share[from] = (share[from] + share[to]) - 1.0;
        if (share[from] < 1.0) {
            rich++;
            order[poor++] = from;
        }
    }
}

/* Fetches a table into the cache before `draws` draws, unless the table is too long to benefit. */
static void alias_ahead(size_t size, const uint64_t *words, size_t draws) {
    if (size / 8 > 2 * draws)
        return;
    for (size_t i = 0; i < size; i += 8)
        PREFETCH(words + i);
}

/*
 * out[i] = first + the number drawn from the table with bits[i].
 *
 * bits: count, uniform; words: size, from alias_words.  Nothing is checked.
 * Same as: column, fraction = divmod(int(bits) * size, 2**64)
 *          first + (column if fraction >> 16 < words[column] >> 16 else words[column] & 0xFFFF)
 */
static void alias_draws(size_t count, const uint64_t *bits, size_t size, const uint64_t *words,
                        double first, double *out) {
    for (size_t i = 0; i < count; i++) {
        uint64_t low = (bits[i] & UINT32_MAX) * size;
        uint64_t high = (bits[i] >> 32) * size + (low >> 32);
        uint64_t word = words[high >> 32];
        uint64_t fraction = (high & UINT32_MAX) << 16 | (low & UINT32_MAX) >> 16;
        uint64_t number = fraction < word >> 16 ? high >> 32 : word & UINT16_MAX;
        out[i] = first + (double)(int64_t)number;
    }
}

/* ---- means ---- */

INLINE void means_line(size_t columns, size_t rounds, const double *sums, const double *least,
                       const double *unit, double rows, const int64_t *place, size_t stride,
                       double *out) {
    for (size_t i = 0; i < rounds; i++) {
        double *line = out + (size_t)place[i] * stride;
        for (size_t j = 0; j < columns; j++)
            line[j] = least[j] + unit[j] * (sums[j * rounds + i] / rows);
    }
}

/*
 * out[place[i], j] = least[j] + unit[j] (sums[j, i] / rows): means from sums.
 *
 * sums: columns x rounds; least, unit: columns; place: rounds; out: rows of `stride` numbers.
 * Sums are stored by columns, means by rows: a cache line of each row is written at a time.
 */
static void lattice_means(size_t columns, size_t rounds, const double *sums, const double *least,
                          const double *unit, double rows, const int64_t *place, size_t stride,
                          double *out) {
    size_t j = 0;
    for (; j + DRAWS_LINE <= columns; j += DRAWS_LINE)
        means_line(DRAWS_LINE, rounds, sums + j * rounds, least + j, unit + j, rows, place, stride,
                   out + j);
    means_line(columns - j, rounds, sums + j * rounds, least + j, unit + j, rows, place, stride,
               out + j);
}

#endif
