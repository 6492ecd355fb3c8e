/*
 * Elementary functions from + - * / and sqrt alone: the bits do not depend on a libm.
 *
 * Errors are relative, in units of u = 2^-53 (half an eps), as measured against 128-bit arithmetic
 * by the tests of the functions built on them.
 */
#ifndef MIAL_NUMERICS_H
#define MIAL_NUMERICS_H

#include "coefficients.h"
#include "simd.h"

#define LENGTH(table) ((int)(sizeof(table) / sizeof(table)[0]))

/*
 * c[0] + c[1] x + ... + c[count-1] x^(count-1) by Estrin's scheme: neighbours are paired level by
 * level, and the chain of dependent operations grows with log(count).  The counts in use are separate
 * cases, which compilers unroll; the arrays of a loop over levels would stay in memory.
 */
INLINE vd pair_of(const double *c, vd x) { return c[0] + c[1] * x; }
INLINE vd four_of(const double *c, vd x, vd x2) {
    return pair_of(c, x) + pair_of(c + 2, x) * x2;
}
INLINE vd eight_of(const double *c, vd x, vd x2, vd x4) {
    return four_of(c, x, x2) + four_of(c + 4, x, x2) * x4;
}
INLINE vd polynomial(const double *c, int count, vd x) {
    vd x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    switch (count) {
    case 2:
        return pair_of(c, x);
    case 3:
        return pair_of(c, x) + c[2] * x2;
    case 4:
        return four_of(c, x, x2);
    case 5:
        return four_of(c, x, x2) + c[4] * x4;
    case 7:
        return four_of(c, x, x2) + (pair_of(c + 4, x) + c[6] * x2) * x4;
    case 8:
        return eight_of(c, x, x2, x4);
    case 9:
        return eight_of(c, x, x2, x4) + c[8] * x8;
    case 11:
        return eight_of(c, x, x2, x4) + (pair_of(c + 8, x) + c[10] * x2) * x8;
    default: /* 13 */
        return eight_of(c, x, x2, x4) + (four_of(c + 8, x, x2) + c[12] * x4) * x8;
    }
}
#define POLYNOMIAL(table, x) polynomial(table, LENGTH(table), x)

/* ---- double-word arithmetic: relative error below 2^-100 each, inputs normalised ---- */

INLINE pair pair_add(pair a, pair b) {
    pair sum = two_sum(a.high, b.high);
    return quick_sum(sum.high, sum.low + (a.low + b.low));
}

/* a - b, accurate also under cancellation, where pair_add loses bits. */
INLINE pair pair_subtract(pair a, pair b) {
    pair high = two_sum(a.high, -b.high), low = two_sum(a.low, -b.low);
    pair sum = quick_sum(high.high, high.low + low.high);
    return quick_sum(sum.high, sum.low + low.low);
}

INLINE pair pair_times(pair a, vd b) {
    pair product = two_product(a.high, b);
    return quick_sum(product.high, product.low + a.low * b);
}

INLINE pair pair_product(pair a, pair b) {
    pair product = two_product(a.high, b.high);
    return quick_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

/* a/b; relative error below 2^-100 */
INLINE pair pair_over(pair a, vd b) {
    vd quotient = a.high / b;
    pair back = two_product(quotient, b);
    return quick_sum(quotient, (((a.high - back.high) - back.low) + a.low) / b);
}

/* ---- exponential ---- */

/* The integer that, added to the bits of a double, multiplies the double by 2^k; whole |k| < 1024. */
INLINE vi to_exponent(vd k) { return shift_left(as_bits(k + 0x1.8p52), 52); }

/* x 2^k for whole k in [-1074, 1023], in two factors so that subnormals round once. */
INLINE vd scale_by_power(vd x, vd k) {
    vd half = (k * 0.5 + 0x1.8p52) - 0x1.8p52;
    vi low = to_exponent(half), high = to_exponent(k - half);
    vi one = as_bits(all(1.0));
    return x * as_double(low + one) * as_double(high + one);
}

/* e^(high + low) = 2^k value, |low| <= 2^-40 and high far from overflow. */
INLINE vd exp_parts(vd high, vd low, vd *k) {
    *k = (high * LOG2_INVERSE + 0x1.8p52) - 0x1.8p52;
    vd r = (high - *k * LOG2_SHORT) - (*k * LOG2_REST - low);
    return 1.0 + (r + r * r * POLYNOMIAL(EXP_TAIL, r));
}

/* e^(high + low) for |high| <= 700; 1.2 u */
INLINE vd exp_moderate(vd high, vd low) {
    vd k, value = exp_parts(high, low, &k);
    return as_double(as_bits(value) + to_exponent(k));
}

/* e^(high + low) for any high: +0 below -745.2, inf above 709.8, NaN for NaN. */
INLINE vd exp_pair(vd high, vd low) {
    vd k, value = exp_parts(vmax(vmin(high, all(720.0)), all(-760.0)), low, &k);
    return pick(is_nan(high), high, scale_by_power(value, k));
}

/* ---- logarithm ---- */

/* x = 2^k m with m in [1/sqrt 2, sqrt 2); x positive and normal. */
INLINE vd split_exponent(vd x, vd *k) {
    const int64_t lowest = 0x3fe6a09e667f3bcd; /* the bits of 1/sqrt 2 */
    vi shifted = as_bits(x) - lowest;
    vi exponent = shifted >> 52; /* arithmetic: the floor */
    *k = as_double(exponent + as_bits(all(0x1.8p52))) - all(0x1.8p52);
    return as_double(as_bits(x) - shift_left(exponent, 52));
}

/* log(x.high + x.low) as a pair; x positive, high normal, log itself not below 2^-900.
 * Relative error 2^-57 at worst (x near 0.7 and 1.4), from the cubic term below, and better near 1,
 * where log(1 - p) with the pair 1 - p keeps all bits of p. */
INLINE pair log_pair(pair x) {
    vd k, m = split_exponent(x.high, &k);
    pair f = two_sum(m - 1.0, x.low * (m / x.high));
    /* log(1 + f) = 2 atanh(s), s = f/(2 + f);  2 s = f - s f */
    pair denominator = quick_sum(all(2.0), f.high);
    vd s = f.high / denominator.high;
    pair back = two_product(s, denominator.high);
    vd rest = ((f.high - back.high) - back.low) + (f.low - s * (denominator.low + f.low));
    vd s_low = rest / denominator.high;
    vd z = s * s;
    vd cubic = 2.0 * s * z * POLYNOMIAL(ATANH_TAIL, z);
    pair value = quick_sum(2.0 * s, 2.0 * s_low + cubic);
    pair exponent = two_product(k, all(LOG2));
    exponent.low = exponent.low + k * LOG2_LOW;
    pair sum = two_sum(exponent.high, value.high);
    return quick_sum(sum.high, sum.low + (exponent.low + value.low));
}

/* log x to 2 u; x positive and normal */
INLINE vd log_positive(vd x) {
    vd k, m = split_exponent(x, &k);
    vd f = m - 1.0;
    vd s = f / (2.0 + f);
    vd z = s * s;
    /* log(1 + f) = f - s (f - 2 z A(z)) */
    vd rest = s * (f - 2.0 * z * POLYNOMIAL(ATANH_TAIL, z));
    return k * LOG2_SHORT + (f - (rest - k * LOG2_REST));
}

/* ---- sine and cosine ---- */

/* Of phase.high + phase.low, |phase.high| <= 2^22; absolute error 1.5 u. */
INLINE void sine_cosine(pair phase, vd *sine, vd *cosine) {
    vd shifted = phase.high * HALF_PI_INVERSE + 0x1.8p52;
    vd k = shifted - 0x1.8p52;
    vi quarter = as_bits(shifted); /* its last two bits are those of k */
    vd r = (phase.high - k * HALF_PI_SHORT) - k * HALF_PI_NEXT;
    r = r + (phase.low - k * HALF_PI_REST);
    vd z = r * r;
    vd s = r + r * (z * POLYNOMIAL(SINE_TAIL, z));
    vd c = 1.0 - z * (0.5 - z * POLYNOMIAL(COSINE_TAIL, z));
    vi odd = MASK((quarter & 1) != 0);
    vi sine_sign = shift_left(quarter & 2, 62), cosine_sign = shift_left((quarter + 1) & 2, 62);
    *sine = as_double(as_bits(pick(odd, c, s)) ^ sine_sign);
    *cosine = as_double(as_bits(pick(odd, s, c)) ^ cosine_sign);
}

/* ---- functions of binomial laws ---- */

/* G(x) = -log(1 - x) - x >= 0, -1 <= x <= 1/2, as x times this slope, given w = 1/(2 - x); 3 u.
 * k G(1 - n p/k) is one of the two terms of the binomial deviance.  With s = x w, z = s^2 and
 * log(1 - x) = -2 atanh(s) = -2 s (1 + z A(z)), G/x = s + 2 s^2 w A(z) without cancellation. */
INLINE vd deviance_slope(vd x, vd w) {
    vd s = x * w;
    return s + s * (2.0 * s * w * POLYNOMIAL(ATANH_TAIL, s * s));
}
INLINE vd deviance_unit(vd x) { return x * deviance_slope(x, 1.0 / (2.0 - x)); }

/* The slope for 0 <= x <= 1/2, cheaper if all lanes are below 1/15. */
INLINE vd deviance_unit_small(vd x) {
    vd value = x * x * (0.5 + x * POLYNOMIAL(DEVIANCE_TAIL, x));
    vi wide = lt(all(1.0 / 15.0), x);
    if (any(wide))
        value = pick(wide, deviance_unit(x), value);
    return value;
}

enum { STIRLING_SEAM = 16 }; /* up to here from the table; the series is good from 15 */

/* Stirling remainder log x! - (x + 1/2) log x + x - log(2 pi)/2 of x >= 15; absolute error 1e-18. */
INLINE vd stirling_large(vd inverse) { return inverse * POLYNOMIAL(STIRLING, inverse * inverse); }

/* Stirling remainder of whole x >= 1, given 1/x. */
INLINE vd stirling(vd x, vd inverse) {
    vi small = le(x, all((double)STIRLING_SEAM));
    vd value = stirling_large(inverse);
    if (any(small))
        value = pick(small, look_up(STIRLING_SMALL, vmin(x, all((double)STIRLING_SEAM))), value);
    return value;
}

/* ---- sums ---- */

/* Eight compensated partial sums; element i of a block goes to sum i % 8. */
typedef struct {
    double high[8], low[8];
} sum8;

/* Adds x[0..count), count a multiple of 8. */
INLINE void sum8_add(sum8 *total, const double *x, size_t count) {
    enum { PARTS = 8 / MIAL_LANES };
    vd high[PARTS], low[PARTS];
    for (int j = 0; j < PARTS; j++) {
        high[j] = load(total->high + j * MIAL_LANES);
        low[j] = load(total->low + j * MIAL_LANES);
    }
    for (size_t i = 0; i < count; i += 8)
        for (int j = 0; j < PARTS; j++) {
            pair sum = two_sum(high[j], load(x + i + (size_t)j * MIAL_LANES));
            high[j] = sum.high;
            low[j] = low[j] + sum.low;
        }
    for (int j = 0; j < PARTS; j++) {
        store(total->high + j * MIAL_LANES, high[j]);
        store(total->low + j * MIAL_LANES, low[j]);
    }
}

/* The total as an unevaluated sum of two doubles. */
INLINE void sum8_total(const sum8 *total, double *high, double *low) {
    double sum = 0.0, rest = 0.0;
    for (int i = 0; i < 8; i++) {
        double next = sum + total->high[i], part = next - sum;
        rest += (sum - (next - part)) + (total->high[i] - part) + total->low[i];
        sum = next;
    }
    *high = sum + rest;
    *low = rest - (*high - sum);
}

#endif
