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

/* From this n p (and n q) on GAMMA_EVEN and GAMMA_ODD hold, and e(n) by STIRLING_WIDE.  Below it
 * e(k) comes from a table. */
#define MAD_LARGE_MEAN 16.0
/* From here on four terms of the series will do: the rest is below 2^-59. */
#define MAD_WIDE_MEAN 1024.0
/* Up to here m = 0 and E|B - np| = 2 n p q^n.  At n p = 1 both m = 0 and m = 1 give that value. */
#define MAD_SMALL_MEAN 1.0

INLINE vi domain_n(vd n) {
    vi whole = eq((n - 0x1p53) + 0x1p53, n); /* in the range, that is */
    return le(all(0.0), n) & le(n, all(0x1p53)) & whole;
}
INLINE vi domain_p(vd p) { return le(all(0.0), p) & le(p, all(1.0)); }

/* How many of the lanes of the vector from `place` of `count` on have the mask set; no padding. */
INLINE size_t count_lanes(vi mask, size_t place, size_t count) {
    unsigned real = count - place < MIAL_LANES ? (1u << (count - place)) - 1 : ~0u;
    return (size_t)count_bits(lane_bits(mask) & real);
}

/* k = m + 1, n - k and k - n p, where m is the floor of the exact product. */
typedef struct {
    vd k, rest, delta;
} mode;

/* The whole number nearest to the exact mean <= 2^52, and the mean less that, within 1/2. */
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

/* m + 1/2 - n p. */
INLINE vd above_half(pair mean) {
    vd beyond = nearest_to(mean).low;
    return as_double((as_bits(beyond) & INT64_MIN) | as_bits(all(0.5))) - beyond;
}

/*
 * Each method runs in short loops over the chunk: the chain of dependent operations of one element
 * is longer than a processor looks ahead, and short loops let it work on several at once.  Square
 * roots and divisions stand in different loops, for one unit makes both.
 */

INLINE vd five_of(const vd c[5], vd x) {
    vd x2 = x * x;
    return (c[0] + c[1] * x) + x2 * ((c[2] + c[3] * x) + x2 * c[4]);
}

/* R(t, x) of GAMMA_EVEN and GAMMA_ODD at x, given w = x (1/4 - x^2). */
INLINE vd gamma_remainder(const vd even[5], const vd odd[5], vd t, vd w) {
    vd t2 = t * t;
    return t * (five_of(even, t2) + w * t * five_of(odd, t2));
}

/* Below it the first terms in t and t^2 are all of R(t, x), to 2^-59. */
#define REMAINDER_SHORT 0x1p-17

/*
 * n p >= MAD_LARGE_MEAN, p <= 1/2; 2 eps.  De Moivre's 2 q k b(k; n, p) in gamma functions, with
 * x = m + 1/2 - n p in [-1/2, 1/2] and t = 1/(n p), r = 1/(n q), is
 *   sqrt(2 n p q/pi) exp(e(n) - R(t, x) - R(r, -x)),
 *   R(1/z, x) = log Gamma(z + x + 1/2) - (z + x) log z + z - log(2 pi)/2
 *             ~ sum_j (-1)^(j+1) B_(j+1)(x + 1/2) t^j/(j (j+1))      [DLMF 5.11.8]
 *             = t (even(t^2, x^2) + t x (1/4 - x^2) odd(t^2, x^2)):
 * no logarithm, and the exponent in [-0.008, 0.008].
 */
static void mad_large(size_t count, double *const *columns) {
    double x_of[CHUNK], t_of[CHUNK], r_of[CHUNK], exponent[CHUNK];
    double *out = columns[2];
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i), q = 1.0 - p;
        pair mean = two_product(n, p);
        vd variance = mean.high * q, inverse = 1.0 / variance;
        store(x_of + i, above_half(mean));
        store(t_of + i, inverse * q);
        store(r_of + i, inverse * p);
        store(out + i, variance * TWO_OVER_PI);
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd x = load(x_of + i), t = load(t_of + i), r = load(r_of + i);
        vd y = x * x, over_n = t * load(columns[1] + i);
        vd even[5] = {polynomial(GAMMA_EVEN[0], 2, y), polynomial(GAMMA_EVEN[1], 3, y),
                      polynomial(GAMMA_EVEN[2], 4, y), polynomial(GAMMA_EVEN[3], 5, y),
                      polynomial(GAMMA_EVEN[4], 4, y)};
        vd odd[5] = {all(GAMMA_ODD[0][0]), polynomial(GAMMA_ODD[1], 2, y),
                     polynomial(GAMMA_ODD[2], 3, y), polynomial(GAMMA_ODD[3], 4, y),
                     polynomial(GAMMA_ODD[4], 2, y)};
        vd w = x * (0.25 - y);
        vd below = gamma_remainder(even, odd, t, w);
        vd above = r * (even[0] - w * r * odd[0]);
        vi wide = lt(all(REMAINDER_SHORT), r);
        if (any(wide))
            above = pick(wide, gamma_remainder(even, odd, r, -w), above);
        vd whole = over_n * POLYNOMIAL(STIRLING_WIDE, over_n * over_n);
        store(exponent + i, whole - (below + above));
        store(out + i, vsqrt(load(out + i)));
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd e = load(exponent + i), scale = load(out + i);
        store(out + i, scale + scale * (e + e * e * POLYNOMIAL(EXP_TAIL_NEAR, e)));
    }
}

/*
 * n p >= MAD_WIDE_MEAN, p <= 1/2; 2 eps.  The same in the first terms of R, both arguments being
 * small: with s = 1/(n p q) = t + r, d = q - p and v = p q,
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

/*
 * 1 < n p < MAD_LARGE_MEAN, p <= 1/2, so 2 <= k <= 16 and n - k >= 1.  2 q k b(k; n, p), with b by
 * Loader's saddle point form:
 *   b = sqrt(n/(2 pi k (n-k))) exp(e(n) - e(k) - e(n-k) - D),
 *   D = k G((k-np)/k) + (n-k) G(-(k-np)/(n-k)).
 * Nothing cancels; the exponent, in [-0.9, 0.1], is small and its rounding errors smaller.
 */
static void mad_medium(size_t count, double *const *columns) {
    double delta_of[CHUNK], over_n_of[CHUNK], over_k_of[CHUNK], over_rest_of[CHUNK];
    double k_of[CHUNK], lost_of[CHUNK], exponent[CHUNK];
    double *out = columns[2];
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        vd q = 1.0 - p, q_low = (1.0 - q) - p;
        mode at = mode_above(n, two_product(n, p));
        vd nk = n * at.k;
        vd inverse = 1.0 / (nk * at.rest); /* one division for three reciprocals */
        vd over_rest = inverse * nk;
        /* What rounding took from the factor before the exponential, relative: from q (1/q is near
         * enough n/(n-k) for that), from 1/(n-k) and from sqrt(2/pi). */
        pair one = two_product(at.rest, over_rest);
        vd lost = q_low * (n * over_rest) + 0.5 * ((1.0 - one.high) - one.low);
        store(delta_of + i, at.delta);
        store(k_of + i, at.k);
        store(over_n_of + i, inverse * (at.k * at.rest));
        store(over_k_of + i, inverse * (n * at.rest));
        store(over_rest_of + i, over_rest);
        store(lost_of + i, lost + SQRT_2_OVER_PI_LOW / SQRT_2_OVER_PI);
        store(out + i, vsqrt(nk * over_rest) * (q * SQRT_2_OVER_PI));
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), k = load(k_of + i), over_rest = load(over_rest_of + i);
        vd delta = load(delta_of + i);
        vd u = delta * load(over_k_of + i), v = delta * over_rest;
        vd two_u = 2.0 - u, two_v = 2.0 + v;
        vd both = 1.0 / (two_u * two_v); /* one division for two */
        vd deviance = delta * (deviance_slope(u, both * two_v) - deviance_slope(-v, both * two_u));
        vd remainders = (stirling(n, load(over_n_of + i)) - look_up(STIRLING_SMALL, k)) -
                        stirling(n - k, over_rest);
        store(exponent + i, remainders - deviance);
    }
    for (size_t i = 0; i < count; i += MIAL_LANES)
        store(out + i, load(out + i) * exp_moderate(load(exponent + i), load(lost_of + i)));
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

/* out = E|B - np|; all three have room for a whole number of eight lanes, and the first two hold
 * it.  Returns the number of elements outside the domain. */
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

INLINE law law_of(vd n, vd p) {
    law at = {n, p, 1.0 - p, {p, p}, lt(all(0.5), p)};
    at.small = two_product(n, pick(at.folded, at.q, p));
    /* Below this the exact product underflows; what is lost then is 2^-53 of a logarithm's
     * argument, and all instruction sets lose the same. */
    at.small.low = pick(lt(at.small.high, all(0x1p-900)), all(0.0), at.small.low);
    return at;
}

/* x - n p for a pair x */
INLINE pair above_mean(law at, pair x) {
    pair whole = two_sum(at.n, -x.high);
    pair back = quick_sum(whole.high, whole.low - x.low); /* n - x */
    pair direct = pair_subtract(x, at.small), mirrored = pair_subtract(at.small, back);
    return (pair){pick(at.folded, mirrored.high, direct.high),
                  pick(at.folded, mirrored.low, direct.low)};
}

/* Where |x| <= 1/4 the deviance k G(x) is delta^2/k (1/2 + a correction below 0.11); further out
 * it is a logarithm less delta, which there cancels by no more than a factor of 8. */
#define DEVIANCE_NEAR 0.25

/* k log(k/mean) - (k - mean), k > 0 whole, delta = k - mean; relative error 2^-54. */
INLINE pair deviance_half(vd k, pair mean, pair delta) {
    vd u = delta.high / k;
    vi near = le(vabs(u), all(DEVIANCE_NEAR));
    pair square = pair_over(pair_product(delta, delta), k);
    vd w = 1.0 / (2.0 - u), s = u * w;
    vd correction = s * (0.5 + 2.0 * w * w * POLYNOMIAL(ATANH_TAIL, s * s));
    pair value = quick_sum(0.5 * square.high, 0.5 * square.low + square.high * correction);
    if (any(~near)) {
        /* A mean this small is scaled up so that the quotient stays a normal number. */
        vi tiny = lt(mean.high, all(0x1p-960));
        vd scale = pick(tiny, all(0x1p60), all(1.0));
        pair scaled = {pick(near, k, mean.high * scale), pick(near, all(0.0), mean.low * scale)};
        pair ratio = log_pair(pair_over(scaled, k));
        pair shift = {pick(tiny, all(60.0 * LOG2), all(0.0)),
                      pick(tiny, all(60.0 * LOG2_LOW), all(0.0))};
        pair far = pair_subtract((pair){-delta.high, -delta.low},
                                 pair_times(pair_subtract(ratio, shift), k));
        value.high = pick(near, value.high, far.high);
        value.low = pick(near, value.low, far.low);
    }
    return value;
}

/* The deviance D of 0 < k < n, with delta = k - n p. */
INLINE pair deviance(law at, vd k, pair delta) {
    vd small_count = pick(at.folded, at.n - k, k);
    pair sign = {pick(at.folded, -delta.high, delta.high),
                 pick(at.folded, -delta.low, delta.low)};
    pair large_mean = pair_subtract((pair){at.n, all(0.0)}, at.small);
    return pair_add(deviance_half(small_count, at.small, sign),
                    deviance_half(at.n - small_count, large_mean,
                                  (pair){-sign.high, -sign.low}));
}

/* n log(q), 0 < q; 2 u. */
INLINE pair log_none(law at) {
    vd q_low = (1.0 - at.q) - at.p;
    return pair_times(log_pair((pair){at.q, q_low}), at.n);
}

/*
 * log b(k; n, p) for whole 0 <= k <= n, 0 < p < 1:
 *   e(n) - e(k) - e(n-k) - D - log(2 pi k (n-k)/n)/2;
 * the last two are both negative or small, so nothing cancels.  3 eps.
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
    pair distance = above_mean(within, (pair){inner, all(0.0)});
    pair exponent = deviance(within, inner, distance);
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
            vd beyond = all(0x1p53); /* k is whole, whatever its sign and size */
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
