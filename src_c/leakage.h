/*
 * The largest membership leakage of discrete data, atom by atom [AGP25, Theorem 14]:
 *
 *   gamma = 1   E|B_k - n p_k|/(2n)
 *   gamma > 1   E(B_k - gamma n p_k)+ /n
 *   gamma < 1   E(gamma n p_k - B_k)+ /(gamma n)
 *
 * The printed form (eq 17) subtracts nearly equal numbers; these forms do not.
 */
#ifndef MIAL_LEAKAGE_H
#define MIAL_LEAKAGE_H

#include "tails.h"

/* Below this gamma, gamma n p_k < 1 for every n and the terms are p q^n for every gamma.  A smaller
 * gamma is raised to this value, which keeps gamma n p_k from underflow. */
#define GAMMA_BOTTOM 0x1p-60
/* Above this gamma, n p_k is below TAIL_UNDERFLOW or gamma n p_k is above n. */
#define GAMMA_TOP 0x1p700

/* The denominator of the leakage, common to all atoms. */
INLINE double leakage_scale(double n, double gamma) {
    return gamma == 1.0 ? 2.0 * n : gamma > 1.0 ? n : gamma * n;
}

/* Writes the numerators to column 2 of `columns`, from columns 0 (n) and 1 (p) in the domain. */
INLINE void leakage_chunk(size_t size, double gamma, double (*columns)[CHUNK]) {
    if (gamma == 1.0) {
        mad_chunk(size, columns[0], columns[1], columns[2]);
        return;
    }
    double work[MAX_COLUMNS][CHUNK], *tails[MAX_COLUMNS];
    for (int j = 0; j < MAX_COLUMNS; j++)
        tails[j] = work[j];
    tails[TAIL_N] = columns[0];
    tails[TAIL_P] = columns[1];
    tails[TAIL_FIRST] = columns[2];
    members of[MAX_METHODS];
    double factor = gamma < GAMMA_TOP ? gamma : GAMMA_TOP;
    for (size_t i = 0; i < size; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        pair mean = two_product(n, p);
        vd rough = mean.high * gamma;
        /* Where the exact product would over- or underflow, the rounded product is enough. */
        vi beyond = lt(all(0x1p53), rough), tiny = lt(mean.high, all(TAIL_UNDERFLOW));
        vi plain = beyond | tiny;
        pair c = pair_times((pair){pick(plain, all(0.0), mean.high),
                                   pick(plain, all(0.0), mean.low)}, all(factor));
        c.high = pick(beyond, all(0x1p53), pick(tiny, rough, c.high));
        vd distance = (gamma - 1.0) * mean.high;
        tail_prepare(tails, of, i, n, p, c, distance, lt(all(1.0), all(0.0)));
    }
    run_methods(size, of, TAIL_METHODS, tails);
}

/* Fills columns 0 and 1 with n and p/total; returns the index of the first p/total outside [0, 1],
 * or `size`. */
INLINE size_t leakage_load(size_t size, const double *p, double n, double total,
                           double (*columns)[CHUNK]) {
    fill(columns[1], p, size);
    for (size_t i = 0; i < size; i += MIAL_LANES) {
        vd share = load(columns[1] + i);
        if (total != 1.0)
            share = share / total;
        store(columns[0] + i, all(n));
        store(columns[1] + i, share);
        if (any(~domain_p(share)))
            for (size_t k = i; k < size && k < i + MIAL_LANES; k++)
                if (!(columns[1][k] >= 0.0 && columns[1][k] <= 1.0))
                    return k;
    }
    return size;
}

/*
 * sums = the leakage of the atoms p[0..count)/total and their mass, each as high + low.
 *
 * n >= 1 whole, gamma > 0 finite and total > 0 are not checked.
 * One pass without temporary arrays; the error of each sum is below 2^-100 of the sum of the rounded
 * terms.
 * Same as: the formula at the top of this file for sums[0] + sums[1]; sums[2] + sums[3] = (p/total).sum()
 */
static int leakage_sum(size_t count, const double *p, double n, double gamma, double total,
                       double sums[4], size_t *bad_index) {
    gamma = gamma < GAMMA_BOTTOM ? GAMMA_BOTTOM : gamma;
    double scale = leakage_scale(n, gamma);
    sum8 leakage = {{0}, {0}}, mass = {{0}, {0}};
    double columns[MAX_COLUMNS][CHUNK];
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        size_t bad = leakage_load(size, p + start, n, total, columns);
        if (bad < size) {
            *bad_index = start + bad;
            return MIAL_ERR_PROBABILITY;
        }
        size_t padded = (size + 7) / 8 * 8;
        for (size_t i = size; i < padded; i++)
            columns[1][i] = 0.0;
        sum8_add(&mass, columns[1], padded);
        leakage_chunk(size, gamma, columns);
        for (size_t i = size; i < padded; i++)
            columns[2][i] = 0.0;
        sum8_add(&leakage, columns[2], padded);
    }
    sum8_total(&leakage, &sums[0], &sums[1]);
    sum8_total(&mass, &sums[2], &sums[3]);
    sums[0] /= scale;
    sums[1] /= scale;
    return MIAL_OK;
}

/* out[k] = the leakage of a target equal to atom k: the term of the atom divided by p_k; the limit 1
 * for p_k below 2^-960, 0 included. */
static int leakage_atoms(size_t count, const double *p, double n, double gamma, double total,
                         double *out, size_t *bad_index) {
    gamma = gamma < GAMMA_BOTTOM ? GAMMA_BOTTOM : gamma;
    double scale = leakage_scale(n, gamma);
    double columns[MAX_COLUMNS][CHUNK];
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        size_t bad = leakage_load(size, p + start, n, total, columns);
        if (bad < size) {
            *bad_index = start + bad;
            return MIAL_ERR_PROBABILITY;
        }
        double share[CHUNK];
        memcpy(share, columns[1], sizeof share);
        leakage_chunk(size, gamma, columns);
        for (size_t i = 0; i < size; i += MIAL_LANES) {
            vd atom = load(share + i);
            vi rare = lt(atom, all(0x1p-960));
            vd value = load(columns[2] + i) / (scale * pick(rare, all(1.0), atom));
            store(columns[2] + i, pick(rare, all(1.0), value));
        }
        memcpy(out + start, columns[2], size * sizeof *out);
    }
    return MIAL_OK;
}

#endif
