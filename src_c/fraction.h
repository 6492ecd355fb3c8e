/*
 * The value of a continued fraction of positive terms, rho = a_1/(b_1 + a_2/(b_2 + ...)), in a fixed
 * number of steps without a division: the mean excess of a discrete law over a threshold.
 *
 * Stein's identity of a law gives such a fraction for rho = E(X - k | X >= k); tails.h has the
 * binomial's.  With A_m, B_m numerator and denominator of convergent m,
 *   A_m - rho B_m = -rho_(m+1) (A_(m-1) - rho B_(m-1)),
 * so the convergents lie alternately above and below rho, and the absolute errors are smooth in m.
 * Near the mean of a wide law the errors hardly decrease: the classical failure.  A weighted sum of
 * consecutive convergents, all divided by powers of one scale s ~ rho_19, cancels the errors:
 *
 *   rho = s sum_m w_m A_m / sum_m w_m B_m,   m = FRACTION_FIRST .. FRACTION_STEPS.
 *
 * make_coefficients.py fits the thirteen weights.  Both sums come from one backward recurrence
 * (Clenshaw's), y_m = w_m + b_(m+1) y_(m+1) + a_(m+2) y_(m+2): the first is a_1 y_1, the second y_0.
 * Far in a tail the convergents agree before the first weighted one, and any positive weights serve.
 *
 * Truncation error of the binomial's d + rho: 4e-16 as measured, 5e-16 in tests/test_fraction.py, for
 * any d, spread and p.  All terms are positive: rounding of the steps adds at most 4 u near the mean
 * of a wide law, where all steps have equal weight, and less elsewhere.
 * Alternatives tried: 20 steps, 1e-15; s = sqrt(b^2 + 4 a)/2, 24 steps for 1.5e-14; no weights,
 * where the number of steps grows as the spread to the power 2/3.
 */
#ifndef MIAL_FRACTION_H
#define MIAL_FRACTION_H

#include "numerics.h"

enum {
    FRACTION_FIRST = 10,      /* the first convergent with a weight */
    FRACTION_STEPS = 22,      /* the last */
    FRACTION_SCALE_STEP = 19, /* the step whose a and b define the scale */
};

/* 1/s from a and b of step FRACTION_SCALE_STEP, in 26 bits, so that its square is exact.  The factor
 * 15/16 keeps s above b/32: all sums stay below 2^110. */
INLINE vd fraction_unit(vd a, vd b) {
    vd scale = vsqrt(b * b + 4.0 * vmax(a, all(0.0))) - (15.0 / 16.0) * b;
    return as_double(as_bits(2.0 / scale) & ~(((int64_t)1 << 27) - 1));
}

/* Before step m: a_(m+1) y_(m+1) and y_m.  After step 1: a_1 y_1 and y_0, and rho/s = over/under. */
typedef struct {
    vd over, under;
} fraction;

INLINE fraction fraction_start(void) {
    return (fraction){all(0.0), all(FRACTION_WEIGHT[FRACTION_STEPS - FRACTION_FIRST])};
}

/* Step `m`, from FRACTION_STEPS down to 1, with a = a_m/s^2 and b = b_m/s. */
INLINE fraction fraction_step(fraction at, int m, vd a, vd b) {
    if (m > FRACTION_FIRST)
        at.over = at.over + FRACTION_WEIGHT[m - 1 - FRACTION_FIRST];
    return (fraction){a * at.under, b * at.under + at.over};
}

#endif
