/*
 * Mean absolute deviation and log probabilities of B ~ Binomial(n, p).
 *
 * Symbols, as in de Moivre's identity: q = 1 - p, m = floor(n p), k = m + 1,
 * b(k; n, p) = P(B = k), e(x) the Stirling remainder of x!, G(x) = -log(1 - x) - x.
 */
#ifndef MIAL_BINOMIAL_H
#define MIAL_BINOMIAL_H

#include "chunks.h"
#include "numerics.h"

/* From this n p (and n q) on e(k) and e(n-k) have a series.  Below, e(k) is from a table. */
#define MAD_LARGE_MEAN 16.0
/* From here on four terms of a series are enough: the truncation error is below 2^-59. */
#define MAD_WIDE_MEAN 1024.0
/* Up to here m = 0 and E|B - np| = 2 n p q^n.  At n p = 1, m = 0 and m = 1 give the same value. */
#define MAD_SMALL_MEAN 1.0

INLINE vi domain_n(vd n) {
    vi whole = eq((n - 0x1p53) + 0x1p53, n); /* for n in the range */
    return le(all(0.0), n) & le(n, all(0x1p53)) & whole;
}
INLINE vi domain_p(vd p) { return le(all(0.0), p) & le(p, all(1.0)); }

/* Number of lanes of the vector from `place` on with the mask set, without the padding beyond `count`. */
INLINE size_t count_lanes(vi mask, size_t place, size_t count) {
    unsigned real = count - place < MIAL_LANES ? (1u << (count - place)) - 1 : ~0u;
    return (size_t)count_bits(lane_bits(mask) & real);
}

/* k = m + 1, n - k and k - n p, where m is the floor of the exact product. */
typedef struct {
    vd k, rest, delta;
} mode;

/* The whole number nearest to the exact mean <= 2^52, and the mean minus it, within 1/2. */
INLINE pair nearest_to(pair mean) {
    vd nearest = (mean.high + 0x1p52) - 0x1p52;
    return (pair){nearest, (mean.high - nearest) + mean.low};
}

INLINE mode mode_above(vd n, pair mean) {
    pair at = nearest_to(mean);
    vd step = pick(lt(at.low, all(0.0)), all(0.0), all(1.0));
    vd k = at.high + step;
    return (mode){k, n - k, step - at.low};
}

/*
 * Each method runs in short loops over the chunk: the chain of dependent operations of one element
 * is longer than the out-of-order window of a processor; in short loops several elements overlap.
 * Square roots and most divisions are in different loops, since one unit computes both.
 */

/*
 * 1 < n p and p <= 1/2, so k >= 2 and n - k >= 1: 2 q k b(k; n, p), with b by Loader's saddle point
 * form,
 *   b = sqrt(n/(2 pi k (n-k))) exp(e(n) - e(k) - e(n-k) - D),
 *   D = k G(u) + (n-k) G(-v),  u = delta/k,  v = delta/(n-k),  delta = k - n p in (0, 1],
 * and n q = (n-k) (1 + v), so that sqrt(2 q k (1 + v)/pi) is the factor of the exponential, without
 * cancellation.
 */
typedef struct {
    double k[CHUNK], delta[CHUNK], over_k[CHUNK], over_rest[CHUNK];
} saddle;

/* Fills `at` and, in column 2, the square of the factor of the exponential. */
INLINE void saddle_fill(saddle *at, size_t count, double *const *columns) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        mode above = mode_above(n, two_product(n, p));
        vd inverse = 1.0 / (above.k * above.rest); /* one division for two reciprocals */
        vd over_rest = inverse * above.k;
        store(at->k + i, above.k);
        store(at->delta + i, above.delta);
        store(at->over_k + i, inverse * above.rest);
        store(at->over_rest + i, over_rest);
        store(columns[2] + i,
              (1.0 - p) * above.k * TWO_OVER_PI * (1.0 + above.delta * over_rest));
    }
}

/* From this n - k on the first terms of e(n-k) - e(n) + (n-k) G(-v) are accurate to 2^-59. */
#define REST_FAR 0x1p19

/* These terms, with 1/(n-k) - 1/n = (p + delta/n)/(n-k), where q/(n-k) approximates 1/n. */
INLINE vd far_side(vd p, vd delta, vd over_rest) {
    vd v = delta * over_rest;
    return over_rest * (p + (1.0 - p) * v) * (1.0 / 12.0) +
           delta * v * (0.5 - v * (1.0 / 3.0));
}

/* n p >= MAD_LARGE_MEAN, so u <= 1/17 and v <= 1/15; 2 eps.  The exponent is in [-0.071, 0]. */
static void mad_large(size_t count, double *const *columns) {
    saddle at;
    double exponent[CHUNK], *out = columns[2];
    saddle_fill(&at, count, columns);
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i), delta = load(at.delta + i);
        vd over_k = load(at.over_k + i), over_rest = load(at.over_rest + i);
        vd u = delta * over_k, v = delta * over_rest;
        vd lower = stirling_large(over_k) +
                   delta * u * (0.5 + u * POLYNOMIAL(DEVIANCE_TAIL_ABOVE, u));
        vd upper = far_side(p, delta, over_rest);
        vi close = lt(all(1.0 / REST_FAR), over_rest);
        if (any(close)) {
            vd remainders = stirling_large(over_rest) - stirling_large(1.0 / n);
            vd whole = remainders + delta * v * (0.5 - v * POLYNOMIAL(DEVIANCE_TAIL_BELOW, -v));
            upper = pick(close, whole, upper);
        }
        store(exponent + i, -(lower + upper));
        store(out + i, vsqrt(load(out + i)));
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd e = load(exponent + i), scale = load(out + i);
        store(out + i, scale + scale * (e + e * e * POLYNOMIAL(EXP_TAIL_NEAR, e)));
    }
}

/* 1 < n p < MAD_LARGE_MEAN, so k <= 16; 2 eps.  The exponent is in [-0.8, 0]. */
static void mad_medium(size_t count, double *const *columns) {
    saddle at;
    double exponent[CHUNK], *out = columns[2];
    saddle_fill(&at, count, columns);
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i), delta = load(at.delta + i);
        vd k = load(at.k + i), over_rest = load(at.over_rest + i);
        vd u = delta * load(at.over_k + i), v = delta * over_rest;
        vd lower = look_up(STIRLING_SMALL, k) + delta * deviance_slope(u, 1.0 / (2.0 - u));
        vd upper = far_side(p, delta, over_rest);
        vi close = lt(all(1.0 / REST_FAR), over_rest);
        if (any(close)) {
            vd remainders = stirling(n - k, over_rest) - stirling(n, 1.0 / n);
            vd whole = remainders - delta * deviance_slope(-v, 1.0 / (2.0 + v));
            upper = pick(close, whole, upper);
        }
        store(exponent + i, -(lower + upper));
    }
    const vd lost = all(0.5 * TWO_OVER_PI_LOW / TWO_OVER_PI); /* by the root, relative */
    for (size_t i = 0; i < count; i += MIAL_LANES)
        store(out + i, vsqrt(load(out + i)) * exp_moderate(load(exponent + i), lost));
}

/* m + 1/2 - n p. */
INLINE vd above_half(pair mean) {
    vd beyond = nearest_to(mean).low;
    return as_double((as_bits(beyond) & INT64_MIN) | as_bits(all(0.5))) - beyond;
}

/*
 * n p >= MAD_WIDE_MEAN, p <= 1/2; 2 eps.  The formula in gamma functions, with x = m + 1/2 - n p in
 * [-1/2, 1/2], t = 1/(n p) and r = 1/(n q):
 *   sqrt(2 n p q/pi) exp(e(n) - R(t, x) - R(r, -x)),
 *   R(1/z, x) = log Gamma(z + x + 1/2) - (z + x) log z + z - log(2 pi)/2
 *             ~ sum_j (-1)^(j+1) B_(j+1)(x + 1/2) z^-j/(j (j+1))      [DLMF 5.11.8].
 * Four terms are enough; with s = 1/(n p q) = t + r, d = q - p and v = p q,
 *   t^2 - r^2 = s^2 d,  t^3 + r^3 = s^3 (1 - 3 v),  t^4 - r^4 = s^4 d (1 - 2 v),  1/n = s v,
 * and with y = x^2, w = x (1/4 - y),
 *   R(t, x) = t (y/2 - 1/24) + t^2 w/6 + t^3 (7/2880 - y/24 + y^2/12) + t^4 w (y/20 - 7/240) + ...,
 *   e(n) = 1/(12 n) - 1/(360 n^3) + ...
 */
static void mad_wide(size_t count, double *const *columns) {
    double x_of[CHUNK], s_of[CHUNK], exponent[CHUNK];
    double *out = columns[2];
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        pair mean = two_product(n, p);
        vd variance = mean.high * (1.0 - p);
        store(x_of + i, above_half(mean));
        store(s_of + i, 1.0 / variance);
        store(out + i, variance * TWO_OVER_PI);
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd p = load(columns[1] + i), q = 1.0 - p, v = p * q;
        vd x = load(x_of + i), y = x * x, around = 0.25 - y;
        vd s = load(s_of + i), odd = s * x * (q - p) * around; /* s d w */
        vd first = (v * (1.0 / 12.0) + 1.0 / 24.0) - y * 0.5;
        vd third = (1.0 - 3.0 * v) * (7.0 / 2880.0 + y * (y * (1.0 / 12.0) - 1.0 / 24.0)) +
                   v * v * v * (1.0 / 360.0);
        vd fourth = odd * (1.0 - 2.0 * v) * (y * (1.0 / 20.0) - 7.0 / 240.0);
        store(exponent + i, s * ((first - odd * (1.0 / 6.0)) - s * s * (third + fourth)));
        store(out + i, vsqrt(load(out + i)));
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd e = load(exponent + i), scale = load(out + i); /* |e| < 2^-13 */
        store(out + i, scale + scale * (e + e * e * (0.5 + e * (1.0 / 6.0))));
    }
}

/* n p <= MAD_SMALL_MEAN, p <= 1/2: 2 n p exp(n log1p(-p)), the exponent as a pair. */
static void mad_small(size_t count, double *const *columns) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        pair mean = two_product(n, p);
        pair exponent = two_sum(-mean.high, -(mean.low + n * deviance_unit_small(p)));
        store(columns[2] + i, 2.0 * mean.high * exp_moderate(exponent.high, exponent.low));
    }
}

enum { MAD_SMALL, MAD_MEDIUM, MAD_LARGE, MAD_WIDE };
static const method MAD_METHODS[MAX_METHODS] = {
    {mad_small, 2, 1, 1}, {mad_medium, 2, 1, 0}, {mad_large, 2, 1, 1}, {mad_wide, 2, 1, 1}};

/* out = E|B - np|.  All three arrays have a multiple of eight elements; the first two are filled.
 * Returns the number of elements outside the domain. */
NOINLINE size_t mad_chunk(size_t count, const double *n_of, const double *p_of, double *out) {
    double n_own[CHUNK], p_own[CHUNK];
    members of[MAX_METHODS];
    size_t invalid = 0;
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(n_of + i), p = load(p_of + i);
        prefetch(n_of, i);
        prefetch(p_of, i);
        p = pick(lt(all(0.5), p), 1.0 - p, p);
        vi good = domain_n(n) & le(all(0.0), p);
        if (any(~good))
            invalid += count_lanes(~good & ~is_nan(n) & ~is_nan(p), i, count);
        vd mean = n * p;
        vi inside = good & lt(all(0.0), mean), small = le(mean, all(MAD_SMALL_MEAN));
        vi low = lt(mean, all(MAD_LARGE_MEAN)), close = lt(mean, all(MAD_WIDE_MEAN));
        enlist(&of[MAD_SMALL], i, inside & small);
        enlist(&of[MAD_MEDIUM], i, inside & low & ~small);
        enlist(&of[MAD_LARGE], i, inside & close & ~low);
        enlist(&of[MAD_WIDE], i, inside & ~close);
        store(n_own + i, n);
        store(p_own + i, p);
        store(out + i, pick(good, all(0.0), all((double)NAN)));
    }
    double *const columns[] = {n_own, p_own, out};
    run_methods(count, of, MAD_METHODS, columns);
    return invalid;
}

static size_t binom_mad(size_t count, const double *const *inputs, double *out) {
    double columns[3][CHUNK];
    size_t invalid = 0, start = 0;
    for (; start + CHUNK <= count; start += CHUNK)
        invalid += mad_chunk(CHUNK, inputs[0] + start, inputs[1] + start, out + start);
    if (start < count) {
        fill(columns[0], inputs[0] + start, count - start);
        fill(columns[1], inputs[1] + start, count - start);
        invalid += mad_chunk(count - start, columns[0], columns[1], columns[2]);
        memcpy(out + start, columns[2], (count - start) * sizeof *out);
    }
    return invalid;
}

/* ---- the law itself ---- */

/*
 * n, p and the means n p, n q as pairs, all with relative error near 2^-100: the product is
 * formed with the smaller of p and q, since 1 - p is exact for p >= 1/2 only.
 */
typedef struct {
    vd n, p, q;
    pair small; /* n min(p, q) */
    vi folded;  /* p > 1/2: small is n q */
} law;

/* n p exactly.  Below 2^-900 the second word underflows; the error is then 2^-53 of the mean, the same
 * on all instruction sets. */
INLINE pair product_of(vd n, vd p) {
    pair mean = two_product(n, p);
    mean.low = pick(lt(mean.high, all(0x1p-900)), all(0.0), mean.low);
    return mean;
}

INLINE law law_of(vd n, vd p) {
    law at = {n, p, 1.0 - p, {p, p}, lt(all(0.5), p)};
    at.small = product_of(n, pick(at.folded, at.q, p));
    return at;
}

/* whole - b, accurate also under cancellation */
INLINE pair whole_less(vd whole, pair b) {
    pair sum = two_sum(whole, -b.high);
    return quick_sum(sum.high, sum.low - b.low);
}

/* Whole e with 2^e mean/k in [2/3, 3/2], for normal positive k >= 2^-63 mean.  The bits of a double are
 * its binary logarithm within 0.09: the rounded difference is e. */
INLINE vi power_between(vd mean, vd k) {
    const int64_t half = (int64_t)1 << 51, bias = 64; /* the shift is logical */
    return (vi)((vu)(as_bits(k) - as_bits(mean) + half + (bias << 52)) >> 52) - bias;
}

/*
 * k log(k/mean) - (k - mean), k > 0 whole, delta = k - mean; relative error 2^-61.
 *
 * With s = delta/(k + mean), log(k/mean) = 2 atanh(s) = 2 s (1 + s^2 A(s^2)), k = (1 + s)(k + mean)/2:
 *   s delta (1 + s (1 + s) A(s^2)),  A(z) = 1/3 + z/5 + ...
 * s, 1 + s and 1/3 are pairs; the remaining terms are below 1/400.  If k/mean is not near 1, the mean
 * is multiplied by the power 2^e that makes it so, and k e log 2 - (2^e - 1) mean is added.
 * Alternatives tried: log_pair for far lanes, 60 operations of the whole vector for one such lane;
 * one double for the term in A, an error of 7e-17 of the logarithm of a probability.
 */
INLINE pair deviance_half(vd k, pair mean, pair delta) {
    vi power = power_between(mean.high, k);
    vi far = ~MASK(power == 0);
    pair beyond = {all(0.0), all(0.0)};
    if (any(far)) {
        /* A subnormal mean is scaled up to a normal number. */
        vi tiny = lt(mean.high, all(0x1p-960));
        vd scale = pick(tiny, all(0x1p60), all(1.0));
        pair nearer = {mean.high * scale, mean.low * scale};
        vi shifted = power_between(nearer.high, k);
        power = shifted + (tiny & 60);
        vd factor = as_double(shift_left(shifted, 52) + as_bits(all(1.0)));
        nearer.high = nearer.high * factor;
        nearer.low = nearer.low * factor;
        vd exponent = as_double(power + as_bits(all(0x1.8p52))) - 0x1.8p52;
        pair logs = two_product(k, exponent * LOG2_SHORT); /* exact: LOG2_SHORT has 41 bits */
        logs.low = logs.low + k * (exponent * LOG2_REST);
        pair step = two_sum(k, -nearer.high), growth = two_sum(nearer.high, -mean.high);
        beyond = two_sum(logs.high, -growth.high);
        beyond.low = beyond.low + (logs.low - (growth.low + (nearer.low - mean.low)));
        delta.high = pick(far, step.high, delta.high);
        delta.low = pick(far, step.low - nearer.low, delta.low);
        beyond.high = pick(far, beyond.high, all(0.0));
        beyond.low = pick(far, beyond.low, all(0.0));
    }
    pair both = two_sum(k + k, -delta.high);
    both.low = both.low - delta.low;
    vd inverse = 1.0 / both.high;
    vd s = delta.high * inverse;
    pair back = two_product(s, both.high);
    vd s_low = (((delta.high - back.high) - back.low) + (delta.low - s * both.low)) * inverse;
    pair first = pair_product((pair){s, s_low}, delta);
    pair square = two_product(s, s);
    pair sum = quick_sum(s, square.high); /* s (1 + s) */
    sum.low = sum.low + (square.low + (s_low + (s + s) * s_low));
    pair third = two_product(sum.high, all(THIRD));
    vd tail = square.high * sum.high * POLYNOMIAL(ATANH_NEXT, square.high);
    third = quick_sum(third.high, (third.low + (sum.high * THIRD_LOW + sum.low * THIRD)) + tail);
    pair more = two_product(first.high, third.high);
    more.low = more.low + (first.high * third.low + first.low * third.high);
    pair value = quick_sum(first.high, more.high);
    value = quick_sum(value.high, value.low + (more.low + first.low));
    return any(far) ? pair_add(value, beyond) : value;
}

/* k, or n - k where the law is folded */
INLINE vd folded_count(law at, vd k) { return pick(at.folded, at.n - k, k); }

/* The deviance D of 0 < k < n, given the folded count and its difference from `small`. */
INLINE pair deviance(law at, vd count, pair delta) {
    return pair_add(deviance_half(count, at.small, delta),
                    deviance_half(at.n - count, whole_less(at.n, at.small),
                                  (pair){-delta.high, -delta.low}));
}

/* n log(q), 0 < q; 2 u. */
INLINE pair log_none(law at) {
    vd q_low = (1.0 - at.q) - at.p;
    return pair_times(log_pair((pair){at.q, q_low}), at.n);
}

/*
 * log b(k; n, p) for whole 0 <= k <= n, 0 < p < 1:
 *   e(n) - e(k) - e(n-k) - D - log(2 pi k (n-k)/n)/2;
 * the last two are both negative or small: there is no cancellation.  3 eps.
 */
INLINE vd logpmf_inside(vd k, vd n, vd p) {
    law at = law_of(n, p);
    vi edge = eq(k, all(0.0)) | eq(k, n);
    vd inner = pick(edge, all(1.0), k), size = pick(edge, all(2.0), n);
    law within = at;
    within.n = size;
    if (any(edge))
        within = law_of(size, p);
    vd rest = size - inner;
    vd count = folded_count(within, inner);
    pair exponent = deviance(within, count, whole_less(count, within.small));
    vd half_log = 0.5 * log_positive(TWO_PI * inner * (rest / size));
    vd remainders = (stirling(size, 1.0 / size) - stirling(inner, 1.0 / inner)) - stirling(rest, 1.0 / rest);
    vd value = -(exponent.high + (exponent.low + (half_log - remainders)));
    if (any(edge)) {
        /* k = 0: n log q.  k = n: n log p. */
        vi tiny = lt(p, all(0x1p-960));
        vd scaled = pick(tiny, p * 0x1p60, p);
        pair base = {at.q, (1.0 - at.q) - p};
        vi full = eq(k, n) & ~eq(n, all(0.0));
        base.high = pick(full, scaled, base.high);
        base.low = pick(full, all(0.0), base.low);
        pair logs = log_pair(base);
        pair shift = {pick(tiny & full, all(60.0 * LOG2), all(0.0)),
                      pick(tiny & full, all(60.0 * LOG2_LOW), all(0.0))};
        value = pick(edge, pair_times(pair_subtract(logs, shift), n).high, value);
    }
    return value;
}

static size_t binom_logpmf(size_t count, const double *const *inputs, double *out) {
    double columns[3][CHUNK];
    size_t invalid = 0;
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        for (int j = 0; j < 3; j++)
            fill(columns[j], inputs[j] + start, size);
        for (size_t i = 0; i < size; i += MIAL_LANES) {
            vd k = load(columns[0] + i), n = load(columns[1] + i), p = load(columns[2] + i);
            vi missing = is_nan(k) | is_nan(n) | is_nan(p);
            vd beyond = all(0x1p53); /* k is whole, of any sign and size */
            vi whole = eq(floor_positive(vmin(vabs(k), beyond)), vmin(vabs(k), beyond));
            vi bad = ~(domain_n(n) & domain_p(p) & whole) & ~missing;
            if (any(bad))
                invalid += count_lanes(bad, i, size);
            vi impossible = lt(k, all(0.0)) | lt(n, k) | (eq(p, all(0.0)) & lt(all(0.0), k)) |
                            (eq(p, all(1.0)) & lt(k, n));
            vi sure = ~impossible & (eq(p, all(0.0)) | eq(p, all(1.0)) | eq(n, all(0.0)));
            vi done = bad | missing | impossible | sure;
            vd value = logpmf_inside(pick(done, all(1.0), k), pick(done, all(2.0), n),
                                     pick(done, all(0.5), p));
            value = pick(sure, all(0.0), value);
            value = pick(impossible, all(-(double)INFINITY), value);
            store(columns[0] + i, pick(bad | missing, all((double)NAN), value));
        }
        memcpy(out + start, columns[0], size * sizeof *out);
    }
    return invalid;
}

#endif
