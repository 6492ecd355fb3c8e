/*
 * Released counts of linked columns: rows are Markov chains of bits, and so are their counts.
 *
 * Of m rows c have a one in a column; e of them have a one in the next.  With a = P(1 | 0) and
 * b = P(1 | 1), e is Binomial(c, b) + Binomial(m - c, a), and given c and e the number i of rows
 * with a one in both has Fisher's non-central law of a table with these margins, of odds
 * b (1 - a)/(a (1 - b)).
 *
 * Symbols: m, c, e, i, a, b as above; z and z' the values of the target in the two columns.
 */
#ifndef MIAL_CHAINS_H
#define MIAL_CHAINS_H

#include "mialeak.h"
#include "moments.h"
#include "numerics.h"

enum {
    CHAIN_FIRST = 3,  /* terms on each side that are always summed: a mean of i(i - 1) needs i = 2 */
    CHAIN_NODES = 32, /* nodes after which a phasor is recomputed: at most 32 roundings */
};

/* Weights below this share of that at the start are omitted: the law is log-concave, its standard
 * deviation at most 2^15 for 2^31 rows, and a mean of i (i - 1) adds two powers of it. */
#define CHAIN_OMITTED 0x1p-110

/* Rows by their values in the two columns, and the sums of the weights and of what a state needs. */
typedef struct {
    vd sum, mean[MIAL_CHAIN_STATES];
} pair_sums;

/* Adds the moments of weight w at i ones in both columns; `person`: of two rows, else of one. */
INLINE void add_pairs(int person, vd w, vd i, vd c, vd e, vd u, pair_sums *to) {
    vd ones = i, falls = c - i, rises = e - i, zeros = u - rises;
    to->sum = to->sum + w;
    if (!person) {
        to->mean[0] = to->mean[0] + w * zeros;
        to->mean[1] = to->mean[1] + w * rises;
        to->mean[2] = to->mean[2] + w * falls;
        to->mean[3] = to->mean[3] + w * ones;
        return;
    }
    to->mean[0] = to->mean[0] + w * (zeros * (zeros - 1.0));
    to->mean[1] = to->mean[1] + w * (rises * zeros);
    to->mean[2] = to->mean[2] + w * (rises * (rises - 1.0));
    to->mean[3] = to->mean[3] + w * (falls * zeros);
    to->mean[4] = to->mean[4] + w * (ones * zeros);
    to->mean[5] = to->mean[5] + w * (ones * rises);
    to->mean[6] = to->mean[6] + w * (falls * (falls - 1.0));
    to->mean[7] = to->mean[7] + w * (ones * falls);
    to->mean[8] = to->mean[8] + w * (ones * (ones - 1.0));
    to->mean[9] = to->mean[9] + w * (falls * rises);
}

/* The largest i whose weight is not below that of i - 1, up to rounding, within [low, high]: the
 * root of (alpha - beta) i^2 - p i + alpha (c + 1)(e + 1), alpha and beta the odds as shares. */
INLINE vd likely_pairs(vd c, vd e, vd u, vd alpha, vd beta, vd low, vd high) {
    vd a = alpha - beta, p = alpha * (c + e + 2.0) + beta * (u - e);
    vd q = alpha * ((c + 1.0) * (e + 1.0));
    vd root = vsqrt(vmax(p * p - 4.0 * (a * q), all(0.0)));
    vi upward = le(all(0.0), p);
    vd under = pick(upward, p + root, 2.0 * a), over = pick(upward, 2.0 * q, p - root);
    vd i = pick(eq(under, all(0.0)), high, over / under);
    i = pick(lt(i, high), i, high); /* NaN and infinities go to an end */
    i = pick(lt(low, i), i, low);
    return vmin(floor_positive(i), high);
}

/* The sums over all likely i; low = high where a probability of 0 or 1 fixes i. */
INLINE pair_sums sum_pairs(int person, vd c, vd e, vd u, vd alpha, vd beta, vd low, vd high) {
    pair_sums sums;
    vd start = likely_pairs(c, e, u, alpha, beta, low, high);
    memset(&sums, 0, sizeof sums);
    add_pairs(person, all(1.0), start, c, e, u, &sums);
    vd i = start, w = all(1.0);
    for (int step = 1;; step++) {
        vi go = lt(i, high);
        vd next = alpha * ((c - i) * (e - i)), past = beta * ((i + 1.0) * (u - e + i + 1.0));
        w = pick(go, w * (next / pick(go, past, all(1.0))), all(0.0));
        if (step > CHAIN_FIRST)
            go = go & lt(all(CHAIN_OMITTED), w);
        if (!any(go))
            break;
        i = pick(go, i + 1.0, i);
        w = pick(go, w, all(0.0));
        add_pairs(person, w, i, c, e, u, &sums);
    }
    i = start, w = all(1.0);
    for (int step = 1;; step++) {
        vi go = lt(low, i);
        vd next = beta * (i * (u - e + i)), past = alpha * ((c - i + 1.0) * (e - i + 1.0));
        w = pick(go, w * (next / pick(go, past, all(1.0))), all(0.0));
        if (step > CHAIN_FIRST)
            go = go & lt(all(CHAIN_OMITTED), w);
        if (!any(go))
            break;
        i = pick(go, i - 1.0, i);
        w = pick(go, w, all(0.0));
        add_pairs(person, w, i, c, e, u, &sums);
    }
    return sums;
}

/* x/(sum y), 0 where y is 0 */
INLINE vd ratio_of(vd x, vd sum, vd y) {
    vi good = lt(all(0.0), y);
    return pick(good, x / (sum * pick(good, y, all(1.0))), all(0.0));
}

/* Ratios of a part of a row of releases: `states` numbers, `apart` apart. */
INLINE void pair_ratios(int person, vd m, vd c, vd e, vd a, vd b, vd ratio[MIAL_CHAIN_STATES]) {
    vd u = m - c, x = 1.0 - a, y = 1.0 - b, up = b * x, down = a * y, whole = up + down;
    vi free = lt(all(0.0), whole);
    vd alpha = pick(free, up / pick(free, whole, all(1.0)), all(0.5)), beta = 1.0 - alpha;
    beta = pick(free, down / pick(free, whole, all(1.0)), beta);
    vd low = vmax(e - u, all(0.0)), high = vmin(c, e);
    vi least = eq(up, all(0.0)), most = eq(down, all(0.0));
    high = pick(least, low, high);
    low = pick(most & ~least, high, low);
    pair_sums of = sum_pairs(person, c, e, u, alpha, beta, low, high);
    if (!person) {
        ratio[0] = ratio_of(of.mean[0], of.sum, u * x);
        ratio[1] = ratio_of(of.mean[1], of.sum, u * a);
        ratio[2] = ratio_of(of.mean[2], of.sum, c * y);
        ratio[3] = ratio_of(of.mean[3], of.sum, c * b);
        return;
    }
    vd two = u * (u - 1.0), one = c * u, none = c * (c - 1.0);
    ratio[0] = ratio_of(of.mean[0], of.sum, two * (x * x));
    ratio[1] = ratio_of(of.mean[1], of.sum, two * (a * x));
    ratio[2] = ratio_of(of.mean[2], of.sum, two * (a * a));
    ratio[3] = ratio_of(of.mean[3], of.sum, one * (y * x));
    ratio[4] = pick(least, ratio_of(of.mean[9], of.sum, one * down),
                    ratio_of(of.mean[4], of.sum, one * up));
    ratio[5] = ratio_of(of.mean[5], of.sum, one * (b * a));
    ratio[6] = ratio_of(of.mean[6], of.sum, none * (y * y));
    ratio[7] = ratio_of(of.mean[7], of.sum, none * (b * y));
    ratio[8] = ratio_of(of.mean[8], of.sum, none * (b * b));
}

/*
 * out[s][t][j] = T(m - k; c - z, e - z')/T(m; c, e), s = (k + 1) z + z', of release t at step j:
 * T the probability of the next count, k = `ploidy` (1 or 2) the rows of the target.
 *
 * counts: rows x (columns + 1), whole, of m rows; after_zero, after_one: a and b of each of the
 * `columns` steps; out: (k + 1)^2 x rows x columns.  0 where the target is impossible in the release.
 * Assumed: counts that are possible; 0 <= c <= m <= 2^31.
 * Method: moments of i, by the recurrence of its weights from the likeliest outward; all terms are
 * positive.  For z = z' = 1 and k = 1 the ratio is E[i]/(c b), for k = 2 E[i (i - 1)]/(c (c - 1) b^2).
 * Error as measured: several eps, growing as the root of the number of terms; 12 standard deviations of i.
 */
static void transition_ratios(size_t rows, size_t columns, int ploidy, double m,
                              const double *counts, const double *after_zero,
                              const double *after_one, double *out) {
    int states = (ploidy + 1) * (ploidy + 1);
    for (size_t t = 0; t < rows; t++)
        for (size_t j = 0; j < columns; j += MIAL_LANES) {
            size_t size = columns - j < MIAL_LANES ? columns - j : MIAL_LANES;
            double in[4][MIAL_LANES] = {{0.0}};
            vd ratio[MIAL_CHAIN_STATES];
            memset(ratio, 0, sizeof ratio);
            for (size_t i = 0; i < size; i++) {
                in[0][i] = counts[t * (columns + 1) + j + i];
                in[1][i] = counts[t * (columns + 1) + j + i + 1];
                in[2][i] = after_zero[j + i];
                in[3][i] = after_one[j + i];
            }
            if (ploidy == 1)
                pair_ratios(0, all(m), load(in[0]), load(in[1]), load(in[2]), load(in[3]), ratio);
            else
                pair_ratios(1, all(m), load(in[0]), load(in[1]), load(in[2]), load(in[3]), ratio);
            for (int s = 0; s < states; s++)
                for (size_t i = 0; i < size; i++)
                    out[((size_t)s * rows + t) * columns + j + i] = lane(ratio[s], (int)i);
        }
}

/*
 * One step of a forward recursion along a line of the complex plane, of nodes t = start + k step:
 *   after[k][first[r] + i] = sum over r of before[r][k] weight[r][i] e^(it (ratio[r][i] - centre)).
 *
 * weight, ratio: rows x width, width a multiple of MIAL_LANE, 0 where a row has fewer entries;
 * first[r] + width <= padded; before: rows x 2 nodes, real parts first; after: nodes x 2 x padded.
 * Assumed: |t (ratio - centre)| below 2^22.
 * Each entry is a phasor that rotates from node to node: fourteen operations per node and entry.
 * Same as: e = weight * np.exp(1j * t * (ratio - centre)); after = (before[:, :, None] * e[:, None]).sum(axis=0)
 */
static void transfer_step(size_t rows, size_t width, const int64_t *first, const double *weight,
                          const double *ratio, double centre, double start, double step,
                          size_t nodes, const double *before, size_t padded, double *after) {
    memset(after, 0, 2 * nodes * padded * sizeof *after);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < width; i += MIAL_LANES) {
            vd w = load(weight + r * width + i), sine, cosine;
            vd x = load(ratio + r * width + i) - centre;
            if (!any(~eq(w, all(0.0))))
                continue;
            sine_cosine(phase_of(x, step), &sine, &cosine);
            for (size_t begin = 0; begin < nodes; begin += CHAIN_NODES) {
                size_t end = nodes - begin < CHAIN_NODES ? nodes : begin + CHAIN_NODES;
                vd c, s;
                sine_cosine(phase_of(x, start + step * (double)begin), &s, &c);
                c = w * c;
                s = w * s;
                for (size_t k = begin; k < end; k++) {
                    double *to = after + 2 * k * padded + (size_t)first[r] + i;
                    vd re = all(before[2 * r * nodes + k]), im = all(before[(2 * r + 1) * nodes + k]);
                    store(to, load(to) + (re * c - im * s));
                    store(to + padded, load(to + padded) + (re * s + im * c));
                    vd turned = c * cosine - s * sine;
                    s = c * sine + s * cosine;
                    c = turned;
                }
            }
        }
}

#endif
