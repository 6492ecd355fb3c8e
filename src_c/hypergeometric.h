/*
 * H ~ Hypergeometric(N, K, n): the number of marked ones among n drawn without replacement from N, of
 * which K are marked.  Log probabilities, tails P(H > h) and E(H - c)+, mean absolute deviation.
 *
 * Symbols: mean = n K/N;  the four cells of the table of marked or not, drawn or not,
 *   a = h,  b = K - h,  c = n - h,  d = N - K - n + h,
 * with expected numbers E_a = mean, E_b = K - mean, E_c = n - mean, E_d = N - K - n + mean;
 * delta = a - E_a = d - E_d = -(b - E_b) = -(c - E_c);  e(x) the Stirling remainder of x!,
 * G(x) = -log(1 - x) - x >= 0;  D = sum over the cells of cell G(1 - E/cell), E for an empty cell.
 *
 *   P(H = h) = sqrt(K n (N-K) (N-n)/(2 pi N a b c d)) exp(e(K) + e(n) + e(N-K) + e(N-n) - e(N)
 *              - e(a) - e(b) - e(c) - e(d) - D),   an empty cell without e and with 1/(2 pi) for it.
 *
 * Every term of D is positive and small where the law is wide: there is no cancellation, whereas
 * log-factorials lose log10 N digits.  K and n are first reduced to at most N/2, by counting unmarked
 * or undrawn ones instead: no expected number is then a difference of nearly equal numbers.  The mean
 * is a quotient of whole numbers below 2^53, with exact floor and remainder.
 */
#ifndef MIAL_HYPERGEOMETRIC_H
#define MIAL_HYPERGEOMETRIC_H

#include "binomial.h"
#include "fraction.h"

/* K and n at most N/2, mean = whole + part/N with 0 <= part < N.  `falls`: the counted number decreases
 * as H increases. */
typedef struct {
    vd N, K, n, whole, part;
    vi falls;
} population;

INLINE vi domain_population(vd N, vd K, vd n) {
    return domain_n(N) & domain_n(K) & domain_n(n) & le(K, N) & le(n, N);
}

/* Whether H is constant. */
INLINE vi is_sure(vd N, vd K, vd n) {
    return eq(K, all(0.0)) | eq(n, all(0.0)) | eq(K, N) | eq(n, N);
}

/* The reduced law for N, K, n in the domain, N >= 1; *h, in the support, becomes the counted
 * number. */
INLINE population fold(vd N, vd K, vd n, vd *h) {
    vi unmarked = lt(N - K, K), left_out = lt(N - n, n);
    *h = pick(unmarked, n - *h, *h);
    K = pick(unmarked, N - K, K);
    *h = pick(left_out, K - *h, *h);
    n = pick(left_out, N - n, n);
    /* The error of the quotient is below 1/2 + 2^-2; the remainder is exact and below N in modulus. */
    pair product = two_product(n, K);
    vd whole = (product.high / N + 0x1p52) - 0x1p52;
    pair back = two_product(whole, N);
    vd part = (product.high - back.high) + (product.low - back.low);
    vi above = lt(part, all(0.0));
    return (population){N, K, n, pick(above, whole - 1.0, whole), pick(above, part + N, part),
                        unmarked ^ left_out};
}

INLINE pair mean_of(const population *at) {
    pair fraction = pair_over((pair){at->part, all(0.0)}, at->N);
    pair sum = two_sum(at->whole, fraction.high);
    return quick_sum(sum.high, sum.low + fraction.low);
}

/* x - mean */
INLINE pair beyond_mean(const population *at, vd x) {
    pair fraction = pair_over((pair){at->part, all(0.0)}, at->N);
    pair difference = two_sum(x - at->whole, -fraction.high);
    return quick_sum(difference.high, difference.low - fraction.low);
}

/* ---- log probabilities ---- */

/* The terms of a cell: added to D and to the remainders, multiplied into `product`. */
INLINE void add_cell(vd count, pair mean, pair delta, pair *exponent, vd *remainders, vd *product) {
    vi empty = eq(count, all(0.0));
    vd inner = pick(empty, all(1.0), count);
    pair expected = {pick(empty, all(1.0), mean.high), pick(empty, all(0.0), mean.low)};
    pair distance = {pick(empty, all(0.0), delta.high), pick(empty, all(0.0), delta.low)};
    pair term = deviance_half(inner, expected, distance);
    term.high = pick(empty, mean.high, term.high);
    term.low = pick(empty, mean.low, term.low);
    *exponent = pair_add(*exponent, term);
    *remainders = *remainders + pick(empty, all(0.0), stirling(inner, 1.0 / inner));
    *product = *product * pick(empty, all(1.0 / TWO_PI), count);
}

/* log P(H = h) = -(exponent + remainders) - log(square)/2 */
typedef struct {
    pair exponent;
    vd remainders, square;
} point;

/* For h in the support of a law that is not constant. */
INLINE point point_of(population at, vd h) {
    pair mean = mean_of(&at), delta = beyond_mean(&at, h), back = {-delta.high, -delta.low};
    vd N = at.N, unmarked = N - at.K, left_out = N - at.n;
    point result = {{all(0.0), all(0.0)}, all(0.0), all(1.0)};
    vd cells = all(0.0), first = all(1.0), second = all(1.0);
    add_cell(h, mean, delta, &result.exponent, &cells, &first);
    add_cell((unmarked - at.n) + h, pair_add((pair){unmarked - at.n, all(0.0)}, mean), delta,
             &result.exponent, &cells, &first);
    add_cell(at.K - h, pair_subtract((pair){at.K, all(0.0)}, mean), back, &result.exponent, &cells,
             &second);
    add_cell(at.n - h, pair_subtract((pair){at.n, all(0.0)}, mean), back, &result.exponent, &cells,
             &second);
    vd margins = (stirling(at.K, 1.0 / at.K) + stirling(at.n, 1.0 / at.n)) +
                 ((stirling(unmarked, 1.0 / unmarked) + stirling(left_out, 1.0 / left_out)) -
                  stirling(N, 1.0 / N));
    result.remainders = cells - margins;
    result.square = (TWO_PI * N) * ((first * second) / ((at.K * at.n) * (unmarked * left_out)));
    return result;
}

/* For h in the support, N >= 2, 0 < K, n < N.  3 eps. */
INLINE vd hypergeom_log(vd h, vd N, vd K, vd n) {
    population folded = fold(N, K, n, &h);
    point at = point_of(folded, h);
    vd half_log = 0.5 * log_positive(at.square);
    return -(at.exponent.high + (at.exponent.low + (half_log + at.remainders)));
}

/* Loads column j of the inputs from `start` on, padded to whole vectors. */
INLINE void load_columns(double (*columns)[CHUNK], int count, const double *const *inputs,
                         size_t start, size_t size) {
    for (int j = 0; j < count; j++)
        fill(columns[j], inputs[j] + start, size);
}

/* ---- tails ---- */

/*
 * With k = floor(c) + 1 above the mean, V = k (N-K-n+k) P(H = k)/N and d = k - mean,
 *   P(H >= k) = V/(d + rho),   E(H - c)+ = (rho + k - c) P(H >= k),   rho = E(H - k | H >= k)
 *   rho = a_1/(b_1 + a_2/(b_2 + ...)),   A = K - k,  B = n - k,
 *   a_m = m (A-m+1)(B-m+1)/N (1 - (m-1)/N),   b_m = d + m (N+A+B+1-2m)/N,
 * by Stein's identity E[H (N-K-n+H) g(H)] = E[(K-H)(n-H) g(H+1)] of g = C(H - k, m) 1{H >= k}.
 * Below the mean the same holds for n - H ~ Hypergeometric(N, N-K, n).  All terms are positive.
 */
INLINE fraction hypergeom_excess_of(vd d, vd N, vd A, vd B, vd *unit) {
    const double at_scale = FRACTION_SCALE_STEP;
    vd over_N = 1.0 / N, total = A + B, base = N + 1.0;
    /* Beyond the end of the fraction a is 0, and b is arbitrary. */
    vd a = (at_scale * over_N) * (vmax(A + (1.0 - at_scale), all(0.0)) *
                                  vmax(B + (1.0 - at_scale), all(0.0))) *
           vmax(1.0 - (at_scale - 1.0) * over_N, all(0.0));
    vd b = d + at_scale * ((base + vmax(total - 2.0 * at_scale, all(0.0))) * over_N);
    vd over_s = fraction_unit(a, b), d_of_b = d * over_s, scale = over_N * over_s;
    fraction at = fraction_start();
    for (int m = FRACTION_STEPS; m >= 1; m--) {
        double step = (double)m;
        vd A_m = vmax(A - (step - 1.0), all(0.0)), B_m = vmax(B - (step - 1.0), all(0.0));
        vd a_m = (step * (A_m * over_s)) * ((B_m * scale) * (1.0 - (step - 1.0) * over_N));
        vd b_m = d_of_b + step * ((base + vmax(total - 2.0 * step, all(0.0))) * scale);
        at = fraction_step(at, m, a_m, b_m);
    }
    *unit = over_s;
    return at;
}

enum hypergeom_result { HYPERGEOM_LOGPMF, HYPERGEOM_SF, HYPERGEOM_EXCESS };

/*
 * P(H > c) or E(H - c)+ of a law that is not constant; c is not NaN.
 *
 * The counted number is H', where H >= k means H' >= w, or H' < w if H' decreases with H; c becomes
 * c' = w - share.  The function computes P(H' >= w) and E(H' - c')+, or P(H' < w) and E(c' - H')+,
 * on the side away from the mean; the moments of the two sides differ by c' - mean, which is exact.
 */
INLINE vd hypergeom_tail(enum hypergeom_result wanted, vd c, vd N, vd K, vd n) {
    vd lowest = vmax(all(0.0), K - (N - n)), highest = vmin(K, n);
    vd bounded = vmin(vmax(c, all(-1.0)), N);
    vd j = pick(lt(bounded, all(0.0)), all(-1.0), floor_positive(vmax(bounded, all(0.0))));
    vi none = le(highest, j), every = lt(j, lowest); /* of the values of H are above c */
    vd k = pick(none | every, lowest, j) + 1.0, share = pick(none | every, all(1.0), (j + 1.0) - bounded);
    population at = fold(N, K, n, &k);
    vd w = pick(at.falls, k + 1.0, k), share_w = pick(at.falls, 1.0 - share, share);
    pair above = beyond_mean(&at, w);
    vd distance = (above.high - share_w) + above.low;
    vi upper = wanted == HYPERGEOM_SF ? lt(all(0.0), above.high) : le(all(0.0), distance);
    vd both_out = (N - at.K) - at.n; /* neither marked nor drawn, for H' = 0 */
    point here = point_of(at, pick(upper, w, w - 1.0));
    pair exponent = two_sum(-here.exponent.high, -(here.remainders + here.exponent.low));
    vd probability = exp_pair(exponent.high, exponent.low) / vsqrt(here.square);
    vd A = pick(upper, at.K - w, both_out + (w - 1.0)), B = pick(upper, at.n - w, w - 1.0);
    vd V = pick(upper, w * ((both_out + w) / N), (at.K - w + 1.0) * ((at.n - w + 1.0) / N)) *
           probability;
    vd d = pick(upper, above.high, (1.0 - above.high) - above.low), unit;
    fraction rho = hypergeom_excess_of(d, N, A, B, &unit);
    /* The sums may be large and V small: divide the sums first. */
    vd over_all = 1.0 / ((d * unit) * rho.under + rho.over);
    vi direct = upper ^ at.falls; /* the requested side */
    if (wanted == HYPERGEOM_SF) {
        vd tail = V * ((unit * rho.under) * over_all);
        vd value = pick(direct, tail, 1.0 - tail);
        return pick(none, all(0.0), pick(every, all(1.0), value));
    }
    vd side_share = pick(upper, share_w, 1.0 - share_w);
    vd first = V * ((rho.over + (side_share * unit) * rho.under) * over_all);
    vd beyond = pick(at.falls, distance, -distance); /* mean - c of H */
    vd value = pick(direct, first, first + beyond);
    /* Below the support E(H - c) = (mean - lowest) + (lowest - c), with c clipped to `lowest` above. */
    return pick(none, all(0.0), pick(every, beyond + (lowest - c), value));
}

/* ---- functions of a count or threshold and a law ---- */

/* One lane of (x, N, K, n), NaN outside the domain. `*bad` marks the lanes of those. */
INLINE vd hypergeom_lane(enum hypergeom_result wanted, vd x, vd N, vd K, vd n, vi *bad) {
    vi missing = is_nan(x) | is_nan(N) | is_nan(K) | is_nan(n), inside = domain_population(N, K, n);
    vi sure = is_sure(N, K, n), impossible = lt(all(0.0), all(0.0));
    if (wanted == HYPERGEOM_LOGPMF) {
        vd size_of_x = vmin(vabs(x), all(0x1p53)); /* x is whole, of any sign and size */
        inside = inside & eq(floor_positive(size_of_x), size_of_x);
        impossible = lt(x, vmax(all(0.0), K - (N - n))) | lt(vmin(K, n), x);
    }
    *bad = ~inside & ~missing;
    vi done = *bad | missing | impossible | sure;
    vd safe_x = pick(done, all(1.0), x), safe_N = pick(done, all(4.0), N);
    vd safe_K = pick(done, all(2.0), K), safe_n = pick(done, all(2.0), n);
    vd only = vmin(K, n), value, certain; /* the value of a constant H */
    if (wanted == HYPERGEOM_LOGPMF) {
        value = hypergeom_log(safe_x, safe_N, safe_K, safe_n);
        certain = all(0.0);
    } else {
        value = hypergeom_tail(wanted, safe_x, safe_N, safe_K, safe_n);
        certain = wanted == HYPERGEOM_SF ? pick(lt(x, only), all(1.0), all(0.0))
                                         : pick(lt(x, only), only - x, all(0.0));
    }
    value = pick(impossible, all(-(double)INFINITY), pick(sure, certain, value));
    return pick(*bad | missing, all((double)NAN), value);
}

INLINE size_t hypergeom_values(enum hypergeom_result wanted, size_t count,
                               const double *const *inputs, double *out) {
    double columns[4][CHUNK];
    size_t invalid = 0;
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        load_columns(columns, 4, inputs, start, size);
        for (size_t i = 0; i < size; i += MIAL_LANES) {
            vi bad;
            vd value = hypergeom_lane(wanted, load(columns[0] + i), load(columns[1] + i),
                                      load(columns[2] + i), load(columns[3] + i), &bad);
            if (any(bad))
                invalid += count_lanes(bad, i, size);
            store(columns[0] + i, value);
        }
        memcpy(out + start, columns[0], size * sizeof *out);
    }
    return invalid;
}

/*
 * log P(H = h), inputs (h, N, K, n): -inf off the support.
 * Measured: 3 eps, relative, or absolute where the logarithm is below 1 in size.
 */
static size_t hypergeom_logpmf(size_t count, const double *const *inputs, double *out) {
    return hypergeom_values(HYPERGEOM_LOGPMF, count, inputs, out);
}

/* P(H > h) for any real h, inputs (h, N, K, n).  Measured: 5e-14 relative above 1e-290. */
static size_t hypergeom_sf(size_t count, const double *const *inputs, double *out) {
    return hypergeom_values(HYPERGEOM_SF, count, inputs, out);
}

/* E(H - c)+ for any real c, inputs (c, N, K, n).  Measured: 5e-14 relative above 1e-290. */
static size_t hypergeom_excess(size_t count, const double *const *inputs, double *out) {
    return hypergeom_values(HYPERGEOM_EXCESS, count, inputs, out);
}

/* ---- mean absolute deviation ---- */

/* mean <= 1: E|H - mean| = 2 mean P(H = 0), D = mean + K G(n/N) + n G(K/N) + d G(-mean/d). */
INLINE vd mad_of_few(const population *at) {
    vd N = at->N, over_N = 1.0 / N, mean = at->whole + at->part / N;
    vd unmarked = N - at->K, left_out = N - at->n, both_out = unmarked - at->n;
    vi nobody = eq(both_out, all(0.0)); /* N = 2, K = n = 1; N = 4, K = n = 2 */
    vd d = pick(nobody, all(1.0), both_out), over_d = 1.0 / d, v = -mean * over_d;
    vd drawn = at->n * over_N, marked = at->K * over_N;
    vd exponent = at->K * deviance_unit(drawn) + at->n * deviance_unit(marked) -
                  mean * deviance_slope(vmax(v, all(-1.0)), 1.0 / (2.0 - vmax(v, all(-1.0))));
    vd remainders = (stirling(unmarked, 1.0 / unmarked) - stirling(N, over_N)) +
                    (stirling(left_out, 1.0 / left_out) - stirling(d, over_d));
    pair power = two_sum(-mean, remainders - exponent);
    vd value = 2.0 * mean * (vsqrt(1.0 + mean * over_d) * exp_moderate(power.high, power.low));
    return pick(nobody, pick(eq(N, all(2.0)), all(0.5), all(1.0 / 3.0)), value);
}

/*
 * mean > 1, so all cells of h = m are at least 1: with sqrt of
 *   (2 m d/N)^2 K n (N-K) (N-n)/(2 pi N a b c d) = 2/pi a d/N (1 + delta/b) (1 + delta/c).
 */
INLINE vd mad_of_many(const population *at) {
    vd N = at->N, over_N = 1.0 / N, delta = (N - at->part) * over_N;
    vd unmarked = N - at->K, left_out = N - at->n;
    vd a = at->whole + 1.0, b = at->K - a, c = at->n - a, d = (unmarked - at->n) + a;
    vd over_a = 1.0 / a, over_b = 1.0 / b, over_c = 1.0 / c, over_d = 1.0 / d;
    vd u = delta * over_a, v = delta * over_b, w = delta * over_c, x = delta * over_d;
    vd drop = (deviance_slope(u, 1.0 / (2.0 - u)) + deviance_slope(x, 1.0 / (2.0 - x))) -
              (deviance_slope(-v, 1.0 / (2.0 + v)) + deviance_slope(-w, 1.0 / (2.0 + w)));
    vd remainders = (stirling(at->K, 1.0 / at->K) - stirling(b, over_b)) +
                    (stirling(at->n, 1.0 / at->n) - stirling(c, over_c)) +
                    ((stirling(unmarked, 1.0 / unmarked) - stirling(N, over_N)) +
                     (stirling(left_out, 1.0 / left_out) - stirling(d, over_d))) -
                    stirling(a, over_a);
    vd square = (TWO_OVER_PI * (a * (d * over_N))) * ((1.0 + v) * (1.0 + w));
    const vd lost = all(0.5 * TWO_OVER_PI_LOW / TWO_OVER_PI); /* by the root, relative */
    return vsqrt(square) * exp_moderate(remainders - delta * drop, lost);
}

/* C(a, b) for whole a below MIAL_PASCAL_ROWS, 0 <= b <= a. */
INLINE vd choose(vd a, vd b) {
    return look_up(mial_pascal, 0.25 * ((a + 1.0) * (a + 1.0)) + vmin(b, a - b));
}

/* N < MIAL_PASCAL_ROWS: 2 K (N-K)/N C(K-1, m-1) C(N-K-1, n-m)/C(N, n), m = floor(mean) + 1.  The
 * floor is exact: n K + 1/2 is at least 1/2 away from a multiple of N. */
INLINE vd mad_of_table(vd N, vd K, vd n) {
    vd unmarked = N - K, mean = floor_positive((n * K + 0.5) / N);
    vd ways = choose(K - 1.0, mean) * choose(unmarked - 1.0, (n - 1.0) - mean);
    return (2.0 * K * unmarked * ways) / (N * choose(N, n));
}

/* N >= MIAL_PASCAL_ROWS. */
INLINE vd mad_of_series(vd N, vd K, vd n) {
    vd zero = all(0.0), value = zero;
    population at = fold(N, K, n, &zero);
    vi few = eq(at.whole, all(0.0)) | (eq(at.whole, all(1.0)) & eq(at.part, all(0.0)));
    if (any(few)) {
        population rare = at; /* 1 < mean would leave the range of G */
        rare.n = pick(few, at.n, all(1.0));
        rare.whole = pick(few, at.whole, all(0.0));
        rare.part = pick(few, at.part, at.K);
        value = mad_of_few(&rare);
    }
    if (any(~few)) {
        population wide = {pick(few, all(12.0), at.N), pick(few, all(6.0), at.K),
                           pick(few, all(6.0), at.n), pick(few, all(3.0), at.whole),
                           pick(few, all(0.0), at.part), at.falls};
        value = pick(few, value, mad_of_many(&wide));
    }
    return value;
}

/*
 * E|H - mean| = 2 m (N-K-n+m)/N P(H = m), m = floor(mean) + 1; inputs (N, K, n).  Populations below
 * MIAL_PASCAL_ROWS take three coefficients from a table, and a sixth of the time.
 * Measured: 3 eps.
 */
static size_t hypergeom_mad(size_t count, const double *const *inputs, double *out) {
    double columns[3][CHUNK];
    size_t invalid = 0;
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t size = count - start < CHUNK ? count - start : CHUNK;
        load_columns(columns, 3, inputs, start, size);
        for (size_t i = 0; i < size; i += MIAL_LANES) {
            vd N = load(columns[0] + i), K = load(columns[1] + i), n = load(columns[2] + i);
            vi fine = domain_population(N, K, n), sure = is_sure(N, K, n);
            vi small = lt(N, all((double)MIAL_PASCAL_ROWS)), done = ~fine | sure;
            vd value = all(0.0);
            if (any(small & ~done)) {
                vi other = ~small | done;
                value = mad_of_table(pick(other, all(2.0), N), pick(other, all(1.0), K),
                                     pick(other, all(1.0), n));
            }
            if (any(~small & ~done)) {
                vi other = small | done;
                vd series = mad_of_series(pick(other, all(400.0), N), pick(other, all(200.0), K),
                                          pick(other, all(200.0), n));
                value = pick(small, value, series);
            }
            value = pick(sure, all(0.0), value);
            if (any(~fine)) {
                invalid += count_lanes(~fine & ~(is_nan(N) | is_nan(K) | is_nan(n)), i, size);
                value = pick(fine, value, all((double)NAN));
            }
            store(columns[0] + i, value);
        }
        memcpy(out + start, columns[0], size * sizeof *out);
    }
    return invalid;
}

#endif
