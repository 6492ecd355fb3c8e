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
 * One method for every n, p and distance.  Alternatives tried:
 *   Gauss-Legendre nodes on the effective width of an integral of n(n-1) (p-t) b(j-1; n-2, t):
 *     six to ten times the time, and 1e-14.
 *   Separate forward recurrences of numerators and denominators: the same sums in 1.5 times the work.
 *   Two vectors at a time, or an unrolled loop: at most 3 % faster; the operations are the limit.
 *   The three reciprocals of V's Stirling terms from one division: no faster, 1 u more in V.
 *   The even part of the fraction of DLMF 8.17.22: half the steps, but 26 operations a step instead
 *     of 8, and the number of steps grows with the spread.
 *   A gather for e(j) with four lanes: no faster than four loads.
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

/* Inputs of a method: n, p, j, f, 1 - f and c - n p.  Outputs: the smaller of E(B - c)+ and
 * E(c - B)+, and P(B > c). */
enum { TAIL_N, TAIL_P, TAIL_J, TAIL_F, TAIL_F_REST, TAIL_DISTANCE, TAIL_FIRST, TAIL_ABOVE };

/* 0 <= c < 1 above the mean: E(B-c)+ = (1-c) n p + c E(B-1)+, and E(B-1)+ = n p - 1 + q^n without
 * cancellation as (e^-y - 1 + y) - n G(p), y = -n log q. */
static void tail_upper_first(size_t count, double *const *columns) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[TAIL_N] + i), p = load(columns[TAIL_P] + i);
        vd c = load(columns[TAIL_F] + i), c_rest = load(columns[TAIL_F_REST] + i);
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
        store(columns[TAIL_FIRST] + i, load(columns[TAIL_F] + i) * none);
        store(columns[TAIL_ABOVE] + i, pick(lt(y, all(MISSING_END)), some, 1.0 - none));
    }
}

/* The fraction of rho/s, given d, N and P; also writes 1/s. */
INLINE fraction mean_excess(vd d, vd terms, vd p, vd *unit) {
    const double at_scale = FRACTION_SCALE_STEP;
    vd a = at_scale * p * (terms - at_scale), b = d + at_scale * (1.0 + p);
    vd over_s = fraction_unit(a, b);
    vd p_of_a = p * (over_s * over_s), d_of_b = d * over_s, step_of_b = (1.0 + p) * over_s;
    fraction at = fraction_start();
    for (int m = FRACTION_STEPS; m >= 1; m--)
        at = fraction_step(at, m, (double)m * ((terms - (double)m) * p_of_a),
                           d_of_b + (double)m * step_of_b);
    *unit = over_s;
    return at;
}

/* 1 <= j <= n-1 */
static void tail_inside(size_t count, double *const *columns) {
    for (size_t i = 0; i < count; i += MIAL_LANES) {
        vd n = load(columns[TAIL_N] + i), p = load(columns[TAIL_P] + i);
        vd j = load(columns[TAIL_J] + i), rest = n - j;
        vi upper = le(all(0.0), load(columns[TAIL_DISTANCE] + i));
        law at = law_of(n, p);
        vd side = folded_count(at, j);
        pair delta = whole_less(side, at.small);
        pair exponent = deviance(at, side, delta);
        vd over_j = 1.0 / j, inverse = 1.0 / (n * rest);
        vd remainders = stirling(n, inverse * rest) - stirling(j, over_j);
        remainders = remainders - stirling(rest, inverse * n);
        exponent = two_sum(-exponent.high, remainders - exponent.low);
        /* V */
        vd power, height = exp_parts(vmax(exponent.high, all(-760.0)), exponent.low, &power);
        height = SQRT_2_PI_INVERSE * (p * vsqrt(n * rest * over_j)) * height;
        height = scale_by_power(height, power);
        pair distance = {negate(at.folded, delta.high), negate(at.folded, delta.low)};
        pair next = two_sum(distance.high, all(1.0));
        vd d = pick(upper, next.high + (next.low + distance.low), -distance.high);
        vd unit;
        fraction rho = mean_excess(d, pick(upper, rest, j + 1.0), pick(upper, p, at.q), &unit);
        vd share = pick(upper, load(columns[TAIL_F_REST] + i), load(columns[TAIL_F] + i));
        vd over_all = 1.0 / ((d * unit) * rho.under + rho.over);
        vd first = height * ((rho.over + (share * unit) * rho.under) * over_all);
        vd beyond = height * (unit * (rho.under * over_all));
        store(columns[TAIL_FIRST] + i, first);
        store(columns[TAIL_ABOVE] + i, pick(upper, beyond, 1.0 - beyond));
    }
}

enum { TAIL_UPPER_FIRST, TAIL_LOWER_FIRST, TAIL_INSIDE };
static const method TAIL_METHODS[MAX_METHODS] = {
    {tail_upper_first, 6, 2, 0}, {tail_lower_first, 6, 2, 0}, {tail_inside, 6, 2, 1}};

/*
 * Given n, p (in the domain), c as a pair in [-2^54, 2^54] and distance = c - n p for the elements
 * from `i` on, writes the input columns and adds each element to its method.  Elements whose smaller
 * side is 0, and `done` lanes, need no method: their output columns are written here.
 */
INLINE void tail_prepare(double (*columns)[CHUNK], members *of, size_t i, vd n, vd p, pair c,
                         vd distance, vi done) {
    vi upper = le(all(0.0), distance);
    vd bounded = vmax(vmin(c.high, n), all(0.0));
    vd j = floor_positive(bounded);
    j = pick(eq(j, c.high) & lt(c.low, all(0.0)), j - 1.0, j);
    vi zero = eq(j, all(0.0));
    vd mean = n * p;
    vi outside = (upper & (le(n, c.high) & le(all(0.0), c.low + (c.high - n)))) |
                 (~upper & lt(c.high, all(0.0)));
    done = done | outside | eq(mean, all(0.0)) | eq(p, all(1.0)) |
           (lt(mean, all(TAIL_UNDERFLOW)) & ~zero);
    enlist(&of[TAIL_UPPER_FIRST], i, ~done & zero & upper);
    enlist(&of[TAIL_LOWER_FIRST], i, ~done & zero & ~upper);
    enlist(&of[TAIL_INSIDE], i, ~done & ~zero);
    store(columns[TAIL_N] + i, n);
    store(columns[TAIL_P] + i, p);
    store(columns[TAIL_J] + i, j);
    store(columns[TAIL_F] + i, (c.high - j) + c.low);
    store(columns[TAIL_F_REST] + i, ((j + 1.0) - c.high) - c.low);
    store(columns[TAIL_DISTANCE] + i, distance);
    store(columns[TAIL_FIRST] + i, all(0.0));
    store(columns[TAIL_ABOVE] + i, pick(upper, all(0.0), all(1.0)));
}

INLINE void tail_run(size_t count, members *of, double (*columns)[CHUNK]) {
    double *lines[MAX_COLUMNS];
    for (int j = 0; j < MAX_COLUMNS; j++)
        lines[j] = columns[j];
    run_methods(count, of, TAIL_METHODS, lines);
}

enum tail_result { TAIL_EXCESS, TAIL_SHORTFALL, TAIL_SF };

INLINE vd tail_result_of(enum tail_result wanted, double (*columns)[CHUNK], size_t i) {
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
    double columns[MAX_COLUMNS][CHUNK], raw[3][CHUNK];
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
            vi infinite = eq(vabs(c), all((double)INFINITY));
            pair bounded = {pick(done | infinite, all(0.0), c), all(0.0)};
            vd distance = above_mean(law_of(n, p), bounded.high).high;
            distance = pick(infinite, c, distance);
            bounded.high = pick(infinite, vmax(vmin(c, all(0x1p54)), all(-0x1p54)), bounded.high);
            tail_prepare(columns, of, i, n, p, bounded, distance, done);
            store(raw[0] + i, pick(done, all((double)NAN), all(0.0)));
        }
        tail_run(size, of, columns);
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
