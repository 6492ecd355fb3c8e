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

/* Above this n p (and n q) the Stirling series and the deviance's short polynomial hold: they need
 * k and n - k of at least 15.  Below it e(x) comes from a table. */
#define MAD_LARGE_MEAN 16.0
/* Up to here m = 0 and E|B - np| = 2 n p q^n.  At n p = 1 both m = 0 and m = 1 give that value. */
#define MAD_SMALL_MEAN 1.0

INLINE vi domain_n(vd n) {
    vi whole = eq((n + 0x1p52) - 0x1p52, n) | le(all(0x1p52), n);
    return le(all(0.0), n) & le(n, all(0x1p53)) & whole;
}
INLINE vi domain_p(vd p) { return le(all(0.0), p) & le(p, all(1.0)); }

INLINE size_t count_lanes(vi mask, size_t lanes) {
    size_t total = 0;
    double bits[MIAL_LANES];
    store(bits, pick(mask, all(1.0), all(0.0)));
    for (size_t i = 0; i < lanes; i++)
        total += bits[i] != 0.0;
    return total;
}

/* How many of the lanes at `place` of `count` are real elements, not padding. */
INLINE size_t real_lanes(size_t place, size_t count) {
    size_t left = count - place;
    return left < MIAL_LANES ? left : MIAL_LANES;
}

/* k = m + 1, n - k and k - n p, where m is the floor of the exact product; n p <= 2^52. */
typedef struct {
    vd k, rest, delta;
} mode;

INLINE mode mode_above(vd n, pair mean) {
    vd nearest = (mean.high + 0x1p52) - 0x1p52;
    vd beyond = (mean.high - nearest) + mean.low; /* exact mean less `nearest`, within 1/2 */
    vd step = pick(lt(beyond, all(0.0)), all(0.0), all(1.0));
    vd k = nearest + step;
    return (mode){k, n - k, step - beyond};
}

/*
 * E|B - np| = 2 q k b(k; n, p), with b by Loader's saddle point form:
 *   b = sqrt(n/(2 pi k (n-k))) exp(e(n) - e(k) - e(n-k) - D),
 *   D = k G((k-np)/k) + (n-k) G(-(k-np)/(n-k)).
 * Nothing cancels; the exponent is small and its rounding errors smaller.
 */

/*
 * Both methods run in three short loops over the chunk: the chain of dependent operations of one
 * element is longer than a processor looks ahead, and short loops let it work on several at once.
 * The first loop is theirs in common.
 */
typedef struct {
    double delta[CHUNK], inverse_n[CHUNK], inverse_k[CHUNK], inverse_rest[CHUNK];
    double k[CHUNK], lost[CHUNK], exponent[CHUNK];
} mad_scratch;

/* p <= 1/2.  Into column 2: sqrt(2/pi) q sqrt(n k/(n-k)); into `lost` what rounding took from it,
 * relative: from q (1/q is near enough n/(n-k) for that), from 1/(n-k) and from sqrt(2/pi). */
INLINE void mad_begin(size_t count, double (*columns)[CHUNK], mad_scratch *to) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        vd q = 1.0 - p, q_low = (1.0 - q) - p;
        mode at = mode_above(n, two_product(n, p));
        vd nk = n * at.k;
        vd inverse = 1.0 / (nk * at.rest); /* one division for three reciprocals */
        vd over_rest = inverse * nk;
        pair one = two_product(at.rest, over_rest);
        vd lost = q_low * (n * over_rest) + 0.5 * ((1.0 - one.high) - one.low);
        store(to->delta + i, at.delta);
        store(to->k + i, at.k);
        store(to->inverse_n + i, inverse * (at.k * at.rest));
        store(to->inverse_k + i, inverse * (n * at.rest));
        store(to->inverse_rest + i, over_rest);
        store(to->lost + i, lost + SQRT_2_OVER_PI_LOW / SQRT_2_OVER_PI);
        store(columns[2] + i, vsqrt(nk * over_rest) * (q * SQRT_2_OVER_PI));
    }
}

/* n p >= MAD_LARGE_MEAN, p <= 1/2: exponent in [-0.08, 0]; 2 eps. */
static void mad_large(size_t count, double (*columns)[CHUNK]) {
    mad_scratch at;
    double *out = columns[2];
    mad_begin(count, columns, &at);
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd over_k = load(at.inverse_k + i), over_rest = load(at.inverse_rest + i);
        vd delta = load(at.delta + i), u = delta * over_k, v = delta * over_rest;
        vd deviance = delta * (u * (0.5 + u * POLYNOMIAL(DEVIANCE_TAIL, u)) +
                               v * (0.5 - v * POLYNOMIAL(DEVIANCE_TAIL, -v)));
        vd remainders = stirling_large(over_k) + stirling_large(over_rest);
        vd first = stirling_large(load(at.inverse_n + i)) + load(at.lost + i);
        store(at.exponent + i, first - (remainders + deviance));
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd x = load(at.exponent + i), scale = load(out + i);
        store(out + i, scale + scale * (x + x * x * POLYNOMIAL(EXP_TAIL_NEAR, x)));
    }
}

/* 1 < n p < MAD_LARGE_MEAN, p <= 1/2, so 2 <= k <= 16 and n - k >= 1: exponent in [-0.9, 0.1]. */
static void mad_medium(size_t count, double (*columns)[CHUNK]) {
    mad_scratch at;
    double *out = columns[2];
    mad_begin(count, columns, &at);
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), k = load(at.k + i), over_rest = load(at.inverse_rest + i);
        vd delta = load(at.delta + i);
        vd u = delta * load(at.inverse_k + i), v = delta * over_rest;
        vd two_u = 2.0 - u, two_v = 2.0 + v;
        vd both = 1.0 / (two_u * two_v); /* one division for two */
        vd deviance = delta * (deviance_slope(u, both * two_v) - deviance_slope(-v, both * two_u));
        vd remainders = (stirling(n, load(at.inverse_n + i)) - look_up(STIRLING_SMALL, k)) -
                        stirling(n - k, over_rest);
        store(at.exponent + i, remainders - deviance);
    }
    for (size_t i = 0; i < count; i += MIAL_LANES)
        store(out + i, load(out + i) * exp_moderate(load(at.exponent + i), load(at.lost + i)));
}

/* n p <= MAD_SMALL_MEAN, p <= 1/2: 2 n p exp(n log1p(-p)), the exponent as a pair. */
static void mad_small(size_t count, double (*columns)[CHUNK]) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        pair mean = two_product(n, p);
        pair exponent = two_sum(-mean.high, -(mean.low + n * deviance_unit_small(p)));
        store(columns[2] + i, 2.0 * mean.high * exp_moderate(exponent.high, exponent.low));
    }
}

static const method MAD_METHODS[MAX_METHODS] = {
    {0}, {mad_small, 2, 1, 1}, {mad_medium, 2, 1, 0}, {mad_large, 2, 1, 1}};

/* Columns n, p, E|B - np|; columns hold a whole number of eight lanes.  Returns the number of
 * elements outside the domain. */
NOINLINE size_t mad_chunk(size_t count, double (*columns)[CHUNK]) {
    int64_t kind[CHUNK];
    size_t invalid = 0;
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[0] + i), p = load(columns[1] + i);
        vi good = domain_n(n) & domain_p(p);
        if (any(~good))
            invalid += count_lanes(~good & ~is_nan(n) & ~is_nan(p), real_lanes(i, count));
        p = pick(lt(all(0.5), p), 1.0 - p, p);
        vd mean = n * p;
        vi below = lt(mean, all(MAD_LARGE_MEAN));
        /* 1, 2 or 3 for small, medium and large: a mask counts as -1 */
        vi number = 3 + below + le(mean, all(MAD_SMALL_MEAN));
        store_bits(kind + i, number & good & lt(all(0.0), mean));
        store(columns[1] + i, p);
        store(columns[2] + i, pick(good, all(0.0), all((double)NAN)));
    }
    run_methods(count, kind, MAD_METHODS, columns);
    return invalid;
}

static size_t binom_mad(size_t count, const double *const *inputs, double *out) {
    double columns[MAX_COLUMNS][CHUNK];
    size_t invalid = 0;
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        fill(columns[0], inputs[0] + start, size);
        fill(columns[1], inputs[1] + start, size);
        invalid += mad_chunk(size, columns);
        memcpy(out + start, columns[2], size * sizeof *out);
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
                invalid += count_lanes(bad, real_lanes(i, size));
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
