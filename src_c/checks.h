/* Range check of an array. */
#ifndef MIAL_CHECKS_H
#define MIAL_CHECKS_H

#include "simd.h"

enum { CHECK_STEP = 4 * MIAL_LANES };

/* `within` for whole steps.  A separate function, so that a short array executes no wide
 * instructions, after which a processor runs slower for a while. */
NOINLINE int steps_within(size_t count, const double *x, double low, double high) {
    for (size_t i = 0; i < count; i += CHECK_STEP) {
        vi bad = lt(all(0.0), all(0.0));
        for (size_t k = i; k < i + CHECK_STEP; k += MIAL_LANES)
            bad |= ~(le(all(low), load(x + k)) & le(load(x + k), all(high)));
        if (any(bad))
            return 0;
    }
    return 1;
}

/*
 * Whether low <= x[i] <= high for every i; false for NaN.
 *
 * Reads x once, up to the first step with an element outside, and writes nothing.
 */
static int all_within(size_t count, const double *x, double low, double high) {
    size_t whole = count / CHECK_STEP * CHECK_STEP;
    if (whole && !steps_within(whole, x, low, high))
        return 0;
    for (size_t i = whole; i < count; i++)
        if (!(low <= x[i] && x[i] <= high))
            return 0;
    return 1;
}

#endif
