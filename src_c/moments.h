/*
 * The moment function M(s) = E e^(s l) of a sum of independent, finitely valued log ratios l_j.
 *
 * Coordinates come in tiles of eight, one a lane: row i of a tile holds outcome i of each of them.
 * `first[j]` is the first row of tile j, `first[tiles]` the number of rows; `weight` and `ratio`
 * hold eight numbers a row, the probability of an outcome and its log ratio, 0 and 0 where a
 * coordinate has fewer outcomes than its neighbours.  `lost` and `copies` hold eight numbers a
 * tile: the probability of an infinite log ratio (with it the weights sum to 1) and the number of
 * equal coordinates of the lane, 0 for none.  mialeak.h names the offsets of all layouts.
 *
 * Symbols: s = theta + it, K = log M, M_j the moment function of one coordinate.
 */
#ifndef MIAL_MOMENTS_H
#define MIAL_MOMENTS_H

#include "mialeak.h"
#include "numerics.h"

enum {
    WAVE_BLOCK = 32, /* nodes after which a phasor is recomputed: at most 32 roundings */
    WAVE_UNROLL = 4, /* nodes whose sums fit the registers, with a phasor and its rotation */
};

/* If all |theta l| are at most this, no e^(theta l) over- or underflows, and the shift is 0. */
#define MOMENT_MODEST 300.0
/* Below this phase the sine equals the phase and the cosine is 1. */
#define PHASE_SMALL 0x1p-900
/* A product below 2^-RESCALE is scaled up by 2^RESCALE; its power counts the scalings. */
#define RESCALE 64.0
#define RESCALE_UP 0x1p64
#define RESCALE_BELOW 0x1p-128 /* of the square */

/* Parameters of a tilted lane: weight e^(theta l - shift) / total, l - centre. */
typedef struct {
    double shift[MIAL_LANE], total[MIAL_LANE], centre[MIAL_LANE];
} tilted_tile;
_Static_assert(sizeof(tilted_tile) == MIAL_TILTED * sizeof(double) &&
                   offsetof(tilted_tile, total) == MIAL_TILTED_TOTAL * sizeof(double) &&
                   offsetof(tilted_tile, centre) == MIAL_TILTED_CENTRE * sizeof(double),
               "a tilted tile is laid out as mialeak.h says");
_Static_assert(MIAL_SCRATCH == MIAL_LANE + MIAL_PHASOR, "a wave keeps sizes and phasors");

/* ---- K, K', K'' of each coordinate ---- */

/* theta l - shift exceeds 300 only where the weight is 0; the exponential times 0 must be 0. */
INLINE vd tilted_exponent(vd ratio, double theta, vd shift) {
    return vmin(vmax(theta * ratio - shift, all(-700.0)), all(700.0));
}

/* log(1 + x), x > -1 */
INLINE vd log_one_plus(vd x) { return log_pair(two_sum(all(1.0), x)).high; }

/* K_j, K_j', K_j'' of the lanes of a part of a tile.  `scratch`: one row for each outcome. */
INLINE void moments_part(size_t rows, const double *weight, const double *ratio, vd lost,
                         double theta, double *scratch, tilted_tile *tile, size_t at,
                         vd result[3]) {
    vd top = all(-1e300), largest = all(0.0), shift;
    vd growth = all(0.0), sum = all(0.0), first = all(0.0), second = all(0.0);
    for (size_t i = 0; i < rows; i++) {
        vd x = theta * load(ratio + MIAL_LANE * i);
        vi real = lt(all(0.0), load(weight + MIAL_LANE * i));
        top = pick(real, vmax(x, top), top);
        largest = vmax(vabs(x), largest);
    }
    vi modest = le(largest, all(MOMENT_MODEST));
    shift = pick(modest, all(0.0), top);
    for (size_t i = 0; i < rows; i++) {
        vd k, l = load(ratio + MIAL_LANE * i), w = load(weight + MIAL_LANE * i);
        vd x = tilted_exponent(l, theta, shift);
        k = (x * LOG2_INVERSE + 0x1.8p52) - 0x1.8p52;
        vd r = (x - k * LOG2_SHORT) - k * LOG2_REST;
        vd tail = r + r * r * POLYNOMIAL(EXP_TAIL, r);
        vd scale = as_double(as_bits(all(1.0)) + to_exponent(k));
        vd tilted = w * (scale + scale * tail);
        growth = growth + w * (scale * tail + (scale - 1.0));
        sum = sum + tilted;
        first = first + tilted * l;
        store(scratch + MIAL_LANE * i, tilted);
    }
    growth = growth - lost;
    vi near = modest & lt(all(-0.5), growth); /* below, 1 + growth would lose digits */
    sum = pick(near, 1.0 + growth, sum);
    sum = pick(lt(all(0.0), sum), sum, all(1.0)); /* a lane without outcomes */
    vd centre = first / sum;
    for (size_t i = 0; i < rows; i++) {
        vd away = load(ratio + MIAL_LANE * i) - centre;
        second = second + load(scratch + MIAL_LANE * i) * (away * away);
    }
    store(tile->shift + at, shift);
    store(tile->total + at, sum);
    store(tile->centre + at, centre);
    result[0] = pick(near, log_one_plus(pick(near, growth, all(0.0))),
                     shift + log_positive(vmax(sum, all(0x1p-1000))));
    result[1] = centre;
    result[2] = second / sum;
}

/*
 * sums: K(theta), K'(theta), K''(theta).  tilted: one tilted_tile a tile, which moment_wave needs.
 *
 * scratch: eight doubles for each row of the longest tile.
 * Assumed: weights of a lane and `lost` sum to 1; |theta l| below 1e300.
 * Error as measured: of K about 1e-16 times the sum of the |K_j| + |theta| sd_j where K_j > -0.7,
 * from the sum of weight expm1(theta l); several u per coordinate elsewhere.
 * Same as: K = (copies * np.log((weight * np.exp(theta * ratio)).sum(axis=0))).sum()
 */
static void moment_sums(size_t tiles, const int64_t *first, const double *weight,
                        const double *ratio, const double *lost, const double *copies,
                        double theta, double *scratch, double *tilted, double sums[3]) {
    sum8 totals[3];
    memset(totals, 0, sizeof totals);
    for (size_t j = 0; j < tiles; j++) {
        size_t start = MIAL_LANE * (size_t)first[j], rows = (size_t)(first[j + 1] - first[j]);
        tilted_tile *tile = (tilted_tile *)tilted + j;
        double columns[3][MIAL_LANE];
        for (size_t at = 0; at < MIAL_LANE; at += MIAL_LANES) {
            vd result[3], many = load(copies + MIAL_LANE * j + at);
            moments_part(rows, weight + start + at, ratio + start + at, load(lost + MIAL_LANE * j + at),
                         theta, scratch + at, tile, at, result);
            for (int k = 0; k < 3; k++)
                store(columns[k] + at, pick(lt(all(0.0), many), many * result[k], all(0.0)));
        }
        for (int k = 0; k < 3; k++)
            sum8_add(&totals[k], columns[k], MIAL_LANE);
    }
    for (int k = 0; k < 3; k++) {
        double low;
        sum8_total(&totals[k], &sums[k], &low);
    }
}

/* ---- along the line theta + it ---- */

/* A complex number times 2^power. */
typedef struct {
    vd re, im, power;
} scaled;

INLINE scaled rescaled(scaled z) {
    vi small = lt(z.re * z.re + z.im * z.im, all(RESCALE_BELOW));
    vd factor = pick(small, all(RESCALE_UP), all(1.0));
    return (scaled){z.re * factor, z.im * factor,
                    z.power - pick(small, all(RESCALE), all(0.0))};
}

INLINE scaled scaled_times(scaled a, scaled b) {
    scaled product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, a.power + b.power};
    return rescaled(product);
}

/* z^copies for whole copies >= 0 */
NOINLINE scaled scaled_power(scaled z, vd copies) {
    scaled result = {all(1.0), all(0.0), all(0.0)};
    for (vd left = copies; any(lt(all(0.0), left));) {
        vd half = floor_positive(0.5 * left);
        vi odd = lt(2.0 * half, left);
        scaled more = scaled_times(result, z);
        result.re = pick(odd, more.re, result.re);
        result.im = pick(odd, more.im, result.im);
        result.power = pick(odd, more.power, result.power);
        z = scaled_times(z, z);
        left = half;
    }
    return result;
}

/* x t exactly; rounded below PHASE_SMALL, where the low word differs between instruction sets. */
INLINE pair phase_of(vd x, double t) {
    pair product = two_product(x, all(t));
    product.low = pick(lt(vabs(product.high), all(PHASE_SMALL)), all(0.0), product.low);
    return product;
}

/* Phasors of the outcomes at the first node, and their rotations to the next node. */
INLINE void wave_begin(size_t rows, const double *ratio, const double *tilted, vd centre,
                       double start, double step, double *phasor) {
    for (size_t i = 0; i < rows; i++) {
        vd away = load(ratio + MIAL_LANE * i) - centre, size = load(tilted + MIAL_LANE * i);
        vd cosine, sine;
        double *to = phasor + MIAL_PHASOR * i;
        sine_cosine(phase_of(away, start), &sine, &cosine);
        store(to + MIAL_PHASOR_RE, size * cosine);
        store(to + MIAL_PHASOR_IM, size * sine);
        sine_cosine(phase_of(away, step), &sine, &cosine);
        store(to + MIAL_PHASOR_COSINE, cosine);
        store(to + MIAL_PHASOR_SINE, sine);
    }
}

/* The sums of the phasors at the next WAVE_UNROLL nodes. */
INLINE void wave_sums(size_t rows, double *phasor, vd re[WAVE_UNROLL], vd im[WAVE_UNROLL]) {
    for (int k = 0; k < WAVE_UNROLL; k++)
        re[k] = im[k] = all(0.0);
    for (size_t i = 0; i < rows; i++) {
        double *at = phasor + MIAL_PHASOR * i;
        vd x = load(at + MIAL_PHASOR_RE), y = load(at + MIAL_PHASOR_IM);
        vd c = load(at + MIAL_PHASOR_COSINE), s = load(at + MIAL_PHASOR_SINE);
        for (int k = 0; k < WAVE_UNROLL; k++) {
            re[k] = re[k] + x;
            im[k] = im[k] + y;
            vd turned = x * c - y * s;
            y = x * s + y * c;
            x = turned;
        }
        store(at + MIAL_PHASOR_RE, x);
        store(at + MIAL_PHASOR_IM, y);
    }
}

/* Whether every one of `count` products is below 2^-floor. */
INLINE int wave_gone(size_t count, const double *product, double floor_) {
    for (size_t k = 0; k < count; k++) {
        double power = 0.0;
        for (size_t i = 0; i < MIAL_LANE; i++)
            power += product[MIAL_NODE * k + MIAL_NODE_POWER + i];
        if (power > -floor_)
            return 0;
    }
    return 1;
}

/* Multiplies the products of a block of nodes by those of one part of a tile. */
INLINE void wave_block(size_t rows, size_t count, double *phasor, vd copies, double *product) {
    vi many = ~eq(copies, all(1.0));
    for (size_t k = 0; k < count; k += WAVE_UNROLL) {
        vd re[WAVE_UNROLL], im[WAVE_UNROLL];
        wave_sums(rows, phasor, re, im);
        for (size_t i = 0; i < WAVE_UNROLL && k + i < count; i++) {
            double *to = product + MIAL_NODE * (k + i);
            scaled z = {re[i], im[i], all(0.0)};
            if (any(many)) {
                scaled power = scaled_power(z, copies);
                z.re = pick(many, power.re, z.re);
                z.im = pick(many, power.im, z.im);
                z.power = pick(many, power.power, z.power);
            }
            scaled before = {load(to + MIAL_NODE_RE), load(to + MIAL_NODE_IM),
                             load(to + MIAL_NODE_POWER)};
            z = scaled_times(before, z);
            store(to + MIAL_NODE_RE, z.re);
            store(to + MIAL_NODE_IM, z.im);
            store(to + MIAL_NODE_POWER, z.power);
        }
    }
}

/*
 * product[k]: eight partial products over the coordinates, as (re, im, power) 2^power, of
 *   M_j(theta + i t)/M_j(theta) e^(-it K_j'(theta)),   t = start + k step,  k < count.
 *
 * tilted: from moment_sums at the same theta.  scratch: MIAL_SCRATCH doubles for each row of the longest
 * tile.  A block of 32 nodes whose products are all below 2^-floor stops: its products are then upper
 * bounds in modulus.
 * Assumed: |t (l - K_j')| below 2^22.
 * Each outcome is a phasor that rotates from node to node: eight operations per node and outcome.
 * Error as measured: 1e-16 per coordinate; the errors add up like a random walk.
 * Same as: z = (np.exp((theta + 1j*t) * (ratio - centre)) * weight).sum(axis=0);
 *          product = ((z / abs(z at t = 0)) ** copies).prod()
 */
static void moment_wave(size_t tiles, const int64_t *first, const double *weight,
                        const double *ratio, const double *copies, double theta, double start,
                        double step, size_t count, double floor_, const double *tilted,
                        double *scratch, double *product) {
    for (size_t k = 0; k < MIAL_NODE * count; k++)
        product[k] = k % MIAL_NODE < MIAL_NODE_IM ? 1.0 : 0.0; /* re 1; im and power 0 */
    for (size_t j = 0; j < tiles; j++) {
        size_t from = MIAL_LANE * (size_t)first[j], rows = (size_t)(first[j + 1] - first[j]);
        const tilted_tile *tile = (const tilted_tile *)tilted + j;
        double *size = scratch, *phasor = scratch + MIAL_LANE * rows;
        int ready = 0;
        for (size_t begin = 0; begin < count; begin += WAVE_BLOCK) {
            size_t some = count - begin < WAVE_BLOCK ? count - begin : WAVE_BLOCK;
            if (wave_gone(some, product + MIAL_NODE * begin, floor_))
                continue;
            for (size_t at = 0; at < MIAL_LANE; at += MIAL_LANES) {
                vd shift = load(tile->shift + at), centre = load(tile->centre + at);
                vd total = load(tile->total + at); /* scaled up where 1/total would be infinite */
                vd scale = pick(lt(total, all(0x1p-1000)), all(0x1p200), all(1.0));
                vd inverse = 1.0 / (total * scale);
                for (size_t i = 0; i < rows && !ready; i++) {
                    vd l = load(ratio + from + MIAL_LANE * i + at);
                    vd e = exp_moderate(tilted_exponent(l, theta, shift), all(0.0));
                    vd w = load(weight + from + MIAL_LANE * i + at) * scale;
                    store(size + MIAL_LANE * i + at, w * e * inverse);
                }
                wave_begin(rows, ratio + from + at, size + at, centre,
                           start + step * (double)begin, step, phasor + at);
                wave_block(rows, some, phasor + at, load(copies + MIAL_LANE * j + at),
                           product + MIAL_NODE * begin + at);
            }
            ready = 1;
        }
    }
}

#endif
