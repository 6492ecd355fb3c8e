/*
 * Tails of B ~ Binomial(n, p): P(B > c), E(B - c)+ and E(c - B)+ for any real c.
 *
 * Only the smaller side is computed: "upper" for c >= n p, otherwise "lower"; the other side differs
 * by c - n p, which is exact.  With q = 1 - p, j = floor(c), f = c - j and 1 <= j <= n-1,
 *
 *   V = (n-j) p b(j; n, p) = p sqrt(n (n-j)/(2 pi j)) exp(e(n) - e(j) - e(n-j) - D)  [binomial.h],
 *   upper  d = j+1 - n p,  N = n-j,  P = p,  share = 1-f,
 *   lower  d = n p - j,    N = j+1,  P = q,  share = f         (the law of n - B; V is the same),
 *   P(B > j) or P(B <= j) = V/(d + rho),   E(B-c)+ or E(c-B)+ = (rho + share) V/(d + rho),
 *   rho = a_1/(b_1 + a_2/(b_2 + ...)),  a_m = m P (N-m),  b_m = d + m (1+P).
 *
 * rho is the mean excess E(B - k | B >= k), k = j+1.  Stein's identity q E B g(B) = p E (n-B) g(B+1)
 * with g(B) = C(B-k, m) on B >= k gives, for T_m = E g(B),
 *   (m+1) T_(m+1) + (d + m (1+p)) T_m = p (N-m) T_(m-1),   T_1 + d T_0 = V,
 * and rho_m = m T_m/T_(m-1).  All terms are positive: there is no cancellation.  The fraction ends
 * at m = N; later steps multiply both sums by the same factor, and |a_m| <= b_m b_(m-1)/4 keeps them
 * positive.
 *
 * One fraction for every n, p and distance; V has two methods, from the saddle point form and, for
 * n <= 128, from tables of factorials.  Alternatives tried:
 *   Gauss-Legendre nodes on the effective width of an integral of n(n-1) (p-t) b(j-1; n-2, t):
 *     six to ten times the time, and 1e-14.
 *   Separate forward recurrences of numerators and denominators: the same sums in 1.5 times the work.
 *   One vector at a time in a loop that computes V as well: 1.2 to 1.4 times the time.  The steps are
 *     one chain of results; the next vector's does not fit the out-of-order window.
 *   The saddle point form of V in two loops: no faster.  The factorial form in one: 5 % slower.
 *   For n <= 128, 15 steps with weights of their own: 5e-14 at best.
 *   The three reciprocals of V's Stirling terms from one division: no faster, 1 u more in V.
 *   The even part of the fraction of DLMF 8.17.22: half the steps, but 26 operations a step instead
 *     of 8, and the number of steps grows with the spread.
 *   A gather for e(j) with four lanes: no faster than four loads.
 *   c - n p from n min(p, q), as the deviance is: three times the operations, no smaller error.
 *
 * Measured on 200,000 points with n to 2^53 and results above 1e-290 (tests/tail_accuracy.py), relative:
 * 1.9e-15 within 6 standard deviations, 1.3e-15 beyond; 2.1e-15 for j = 0, where n multiplies log q.
 */
#ifndef MIAL_TAILS_H
#define MIAL_TAILS_H

#include "binomial.h"
#include "fraction.h"

/* n p below this and c >= 1: the tail is below (n p)^2 and underflows to 0. */
#define TAIL_UNDERFLOW 0x1p-600
/* Up to here factorials are in tables. */
#define TAIL_SMALL_COUNT 128.0

/* Inputs of a method: n, p, j, share and c - n p.  Outputs: the smaller of E(B - c)+ and E(c - B)+,
 * and P(B > c). */
enum { TAIL_N, TAIL_P, TAIL_J, TAIL_SHARE, TAIL_DISTANCE, TAIL_FIRST, TAIL_ABOVE };

/* 0 <= c < 1 above the mean: E(B-c)+ = (1-c) n p + c E(B-1)+, and E(B-1)+ = n p - 1 + q^n without
 * cancellation as (e^-y - 1 + y) - n G(p), y = -n log q. */
static void tail_upper_first(size_t count, double *const *columns) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[TAIL_N] + i), p = load(columns[TAIL_P] + i);
        vd c_rest = load(columns[TAIL_SHARE] + i), c = 1.0 - c_rest;
        vi single = eq(n, all(1.0)); /* the only n with p > 1/2 here */
        vd mean = n * p;
        vd excess = n * deviance_unit(vmin(p, all(0.5)));
        vd y = pick(single, all(0.0), mean + excess);
        vd missing = y * y * POLYNOMIAL(MISSING_TAIL, y);
        vd beyond_one = pick(single, all(0.0), missing - excess);
        store(columns[TAIL_FIRST] + i, c_rest * mean + c * beyond_one);
        store(columns[TAIL_ABOVE] + i, pick(single, p, y - missing));
    }
}

/* 0 <= c < 1 below the mean: only B = 0 counts, with probability e^-y. */
static void tail_lower_first(size_t count, double *const *columns) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[TAIL_N] + i), p = load(columns[TAIL_P] + i);
        pair exponent = log_none(law_of(n, p));
        vd none = exp_pair(exponent.high, exponent.low);
        vd y = vmin(-exponent.high, all(MISSING_END));
        vd some = y - y * y * POLYNOMIAL(MISSING_TAIL, y);
        store(columns[TAIL_FIRST] + i, load(columns[TAIL_SHARE] + i) * none);
        store(columns[TAIL_ABOVE] + i, pick(lt(y, all(MISSING_END)), some, 1.0 - none));
    }
}

/* What the fraction of one vector reads: a_m = m (N - m) `p`, b_m = `d` + m `step`, all over s or s^2. */
typedef struct {
    vd terms, p, d, step, unit;
    fraction at;
} tail_fraction;

/* At elements `i` on: d = |c - n p| + share is a sum of positive terms. */
INLINE tail_fraction tail_fraction_of(double *const *columns, size_t i) {
    const double at_scale = FRACTION_SCALE_STEP;
    vd n = load(columns[TAIL_N] + i), p = load(columns[TAIL_P] + i), j = load(columns[TAIL_J] + i);
    vd distance = load(columns[TAIL_DISTANCE] + i);
    vi upper = le(all(0.0), distance);
    vd d = vmin(vabs(distance), n) + load(columns[TAIL_SHARE] + i);
    vd terms = pick(upper, n - j, j + 1.0);
    p = pick(upper, p, 1.0 - p);
    vd unit = fraction_unit(at_scale * p * (terms - at_scale), d + at_scale * (1.0 + p));
    return (tail_fraction){terms, p * (unit * unit), d * unit, (1.0 + p) * unit, unit,
                           fraction_start()};
}

/* Replaces V in column TAIL_FIRST by both outputs. */
NOINLINE void tail_finish(size_t count, double *const *columns) {
    enum { CHAINS = 2 };
    for (size_t start = 0; start < count; start += CHAINS * MIAL_LANES) {
        tail_fraction of[CHAINS];
        vd first[CHAINS], above[CHAINS];
        size_t place[CHAINS];
        UNROLLED for (int k = 0; k < CHAINS; k++) {
            size_t i = start + (size_t)k * MIAL_LANES;
            place[k] = i < count ? i : start; /* the last vector may be alone */
            of[k] = tail_fraction_of(columns, place[k]);
        }
        UNROLLED for (int m = FRACTION_STEPS; m >= 1; m--) {
            UNROLLED for (int k = 0; k < CHAINS; k++)
                of[k].at = fraction_step(of[k].at, m,
                                         (double)m * ((of[k].terms - (double)m) * of[k].p),
                                         of[k].d + (double)m * of[k].step);
        }
        UNROLLED for (int k = 0; k < CHAINS; k++) {
            fraction rho = of[k].at;
            vd share = load(columns[TAIL_SHARE] + place[k]);
            vd height = load(columns[TAIL_FIRST] + place[k]);
            vi upper = le(all(0.0), load(columns[TAIL_DISTANCE] + place[k]));
            vd over_all = 1.0 / (of[k].d * rho.under + rho.over);
            vd beyond = height * (of[k].unit * (rho.under * over_all));
            first[k] = height * ((rho.over + (share * of[k].unit) * rho.under) * over_all);
            above[k] = pick(upper, beyond, 1.0 - beyond);
        }
        UNROLLED for (int k = 0; k < CHAINS; k++) {
            store(columns[TAIL_FIRST] + place[k], first[k]);
            store(columns[TAIL_ABOVE] + place[k], above[k]);
        }
    }
}

/* n > TAIL_SMALL_COUNT and 1 <= j <= n-1: V from the saddle point form of the law. */
static void tail_inside(size_t count, double *const *columns) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[TAIL_N] + i), p = load(columns[TAIL_P] + i);
        /* j = 0 in lanes of other methods leads to subnormal numbers: up to twice the time. */
        vd j = vmax(load(columns[TAIL_J] + i), all(1.0)), rest = n - j;
        law at = law_of(n, p);
        vd side = folded_count(at, j);
        pair exponent = deviance(at, side, whole_less(side, at.small));
        vd over_j = 1.0 / j, inverse = 1.0 / (n * rest);
        vd remainders = stirling(n, inverse * rest) - stirling(j, over_j);
        remainders = remainders - stirling(rest, inverse * n);
        exponent = two_sum(-exponent.high, remainders - exponent.low);
        vd power, height = exp_parts(vmax(exponent.high, all(-760.0)), exponent.low, &power);
        height = SQRT_2_PI_INVERSE * (p * vsqrt(n * rest * over_j)) * height;
        store(columns[TAIL_FIRST] + i, scale_by_power(height, power));
    }
    tail_finish(count, columns);
}

/* x = 2^power (1 + f), x + x_low positive and x normal: the power, and log(1 + f) as high + low, high
 * with 44 bits; absolute error 2^-57.  As in numerics.h, log(1 + f) = f - f^2/2 + s (f^2/2 + 2 z A(z)). */
typedef struct {
    vd power, high, low;
} short_log;

INLINE short_log log_short(vd x, vd x_low) {
    short_log value;
    vd f = split_exponent(x, &value.power) - 1.0;
    vd s = f / (2.0 + f), z = s * s;
    pair half_square = two_product(f, 0.5 * f);
    vd near = f - half_square.high;
    vd curved = half_square.high + (z + z) * (THIRD + z * POLYNOMIAL(ATANH_NEXT, z));
    pair sum = quick_sum(near, s * curved);
    vd low = sum.low + (((f - near) - half_square.high) - half_square.low);
    /* x_low is below 2^-53 x: 1/(1 + f) = 1 - 2 s + 2 s^2 - ... within 1 %. */
    vd inverse = as_double(as_bits(all(1.0)) - to_exponent(value.power));
    low = low + (x_low * inverse) * (1.0 - 2.0 * (s - z));
    value.high = as_double(as_bits(sum.high) & ~(((int64_t)1 << 9) - 1));
    value.low = low + (sum.high - value.high);
    return value;
}

/*
 * n <= TAIL_SMALL_COUNT, but for j = 0 with n p < MISSING_END: V from factorials and powers,
 *   V = n!/(j! (n-j-1)!) p^(j+1) q^(n-j),
 * which is 0 for j = -1 and j = n.  The whole powers of two of p and q leave the exponential.
 */
static void tail_small(size_t count, double *const *columns) {
    double high[CHUNK], low[CHUNK], powers[CHUNK];
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[TAIL_N] + i), p = load(columns[TAIL_P] + i), q = 1.0 - p;
        vd j = load(columns[TAIL_J] + i), above = j + 1.0, below = n - j;
        short_log of_p = log_short(p, all(0.0)), of_q = log_short(q, (1.0 - q) - p);
        pair exponent = two_sum(above * of_p.high, below * of_q.high); /* exact products */
        store(high + i, exponent.high);
        store(low + i, exponent.low + (above * of_p.low + below * of_q.low));
        store(powers + i, above * of_p.power + below * of_q.power);
    }
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[TAIL_N] + i), j = load(columns[TAIL_J] + i);
        vd end = all(TAIL_SMALL_COUNT + 1.0);
        vd height = look_up(FACTORIAL, vmin(n, end)) *
                    (look_up(FACTORIAL_INVERSE, vmin(j + 1.0, end)) *
                     look_up(FACTORIAL_INVERSE, vmin(n - j, end)));
        vd power, value = exp_parts(load(high + i), load(low + i), &power);
        power = vmax(power + load(powers + i), all(-1800.0));
        store(columns[TAIL_FIRST] + i, scale_by_power(height * value, power));
    }
    tail_finish(count, columns);
}

enum { TAIL_UPPER_FIRST, TAIL_LOWER_FIRST, TAIL_INSIDE, TAIL_SMALL };
static const method TAIL_METHODS[MAX_METHODS] = {
    {tail_upper_first, 5, 2, 0}, {tail_lower_first, 5, 2, 0}, {tail_inside, 5, 2, 1}, {tail_small, 5, 2, 1}};

/*
 * Given n, p (in the domain), c as a pair and distance = c - n p for the elements from `i` on, writes the input columns and adds each element to its method.  Elements whose smaller
 * side is 0, and `done` lanes, need no method: their output columns are written here.
 */
INLINE void tail_prepare(double *const *columns, members *of, size_t i, vd n, vd p, pair c,
                         vd distance, vi done) {
    vi upper = le(all(0.0), distance), negative = lt(c.high, all(0.0)) & ~upper;
    vd mean = n * p;
    /* 0 < c < 1 above a small mean: what follows writes the same for these lanes, in more steps. */
    vi rare = upper & ~done & lt(all(0.0), c.high) & lt(c.high, all(1.0));
    rare = rare & lt(all(0.0), mean) & lt(mean, all(MISSING_END));
    if (!any(~rare)) {
        enlist(&of[TAIL_UPPER_FIRST], i, rare);
        for (int other = TAIL_LOWER_FIRST; other <= TAIL_SMALL; other++)
            enlist(&of[other], i, ~rare);
        store(columns[TAIL_N] + i, n);
        store(columns[TAIL_P] + i, p);
        store(columns[TAIL_J] + i, all(0.0));
        store(columns[TAIL_SHARE] + i, (1.0 - c.high) - c.low);
        store(columns[TAIL_DISTANCE] + i, distance);
        return;
    }
    vd bounded = vmax(vmin(c.high, n), all(0.0));
    vd j = floor_positive(bounded);
    j = pick(eq(j, c.high) & lt(c.low, all(0.0)), j - 1.0, j);
    vi zero = eq(j, all(0.0)) & ~negative;
    vi small = le(n, all(TAIL_SMALL_COUNT)) & ~(zero & lt(mean, all(MISSING_END)));
    vi outside = negative | (upper & le(n, c.high) & le(all(0.0), c.low + (c.high - n)));
    outside = outside | eq(mean, all(0.0)) | (lt(mean, all(TAIL_UNDERFLOW)) & ~zero);
    done = done | eq(p, all(1.0)) | (outside & ~small);
    enlist(&of[TAIL_UPPER_FIRST], i, ~done & ~small & zero & upper);
    enlist(&of[TAIL_LOWER_FIRST], i, ~done & ~small & zero & ~upper);
    enlist(&of[TAIL_INSIDE], i, ~done & ~small & ~zero);
    enlist(&of[TAIL_SMALL], i, ~done & small);
    j = pick(negative, all(-1.0), j);
    store(columns[TAIL_N] + i, n);
    store(columns[TAIL_P] + i, p);
    store(columns[TAIL_J] + i, j);
    store(columns[TAIL_SHARE] + i,
          pick(upper, ((j + 1.0) - bounded) - c.low, (bounded - j) + c.low));
    store(columns[TAIL_DISTANCE] + i, distance);
    store(columns[TAIL_FIRST] + i, all(0.0));
    store(columns[TAIL_ABOVE] + i, pick(upper, all(0.0), all(1.0)));
}

enum tail_result { TAIL_EXCESS, TAIL_SHORTFALL, TAIL_SF };

INLINE vd tail_result_of(enum tail_result wanted, double *const *columns, size_t i) {
    vd distance = load(columns[TAIL_DISTANCE] + i), first = load(columns[TAIL_FIRST] + i);
    vi upper = le(all(0.0), distance);
    switch (wanted) {
    case TAIL_EXCESS:
        return pick(upper, first, first - distance);
    case TAIL_SHORTFALL:
        return pick(upper, first + distance, first);
    default:
        return load(columns[TAIL_ABOVE] + i);
    }
}

INLINE size_t tail_ufunc(enum tail_result wanted, size_t count, const double *const *inputs,
                         double *out) {
    double work[MAX_COLUMNS][CHUNK], raw[3][CHUNK], *columns[MAX_COLUMNS];
    for (int j = 0; j < MAX_COLUMNS; j++)
        columns[j] = work[j];
    members of[MAX_METHODS];
    size_t invalid = 0;
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        for (int j = 0; j < 3; j++)
            fill(raw[j], inputs[j] + start, size);
        for (size_t i = 0; i < size; i += MIAL_LANES) {
            vd c = load(raw[0] + i), n = load(raw[1] + i), p = load(raw[2] + i);
            vi missing = is_nan(c) | is_nan(n) | is_nan(p);
            vi bad = ~(domain_n(n) & domain_p(p)) & ~missing;
            if (any(bad))
                invalid += count_lanes(bad, i, size);
            vi done = bad | missing;
            n = pick(done, all(1.0), n);
            p = pick(done, all(0.5), p);
            pair mean = product_of(n, p), distance = two_sum(c, -mean.high);
            distance.high = distance.high + (distance.low - mean.low);
            distance.high = pick(eq(vabs(c), all((double)INFINITY)), c, distance.high);
            tail_prepare(columns, of, i, n, p, (pair){c, all(0.0)}, distance.high, done);
            store(raw[0] + i, pick(done, all((double)NAN), all(0.0)));
        }
        run_methods(size, of, TAIL_METHODS, columns);
        for (size_t i = 0; i < size; i += MIAL_LANES) {
            vd nan_or_zero = load(raw[0] + i);
            vd value = tail_result_of(wanted, columns, i);
            store(raw[0] + i, pick(is_nan(nan_or_zero), nan_or_zero, value));
        }
        memcpy(out + start, raw[0], size * sizeof *out);
    }
    return invalid;
}

static size_t binom_excess(size_t count, const double *const *inputs, double *out) {
    return tail_ufunc(TAIL_EXCESS, count, inputs, out);
}

static size_t binom_shortfall(size_t count, const double *const *inputs, double *out) {
    return tail_ufunc(TAIL_SHORTFALL, count, inputs, out);
}

static size_t binom_sf(size_t count, const double *const *inputs, double *out) {
    return tail_ufunc(TAIL_SF, count, inputs, out);
}

#endif
