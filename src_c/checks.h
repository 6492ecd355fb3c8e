/* What is asked of every array that comes in. */
#ifndef MIAL_CHECKS_H
#define MIAL_CHECKS_H

#include "simd.h"

/*
 * Whether low <= x[i] <= high for every i; NaN is not.
 *
 * Stops at the first vectors that hold one outside; reads x once and stores nothing.
 */
static int all_within(size_t count, const double *x, double low, double high) {
    enum { STEP = 4 * MIAL_LANES };
    size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        vi bad = lt(all(0.0), all(0.0));
        for (size_t k = i; k < i + STEP; k += MIAL_LANES)
            bad |= ~(le(all(low), load(x + k)) & le(load(x + k), all(high)));
        if (any(bad))
            return 0;
    }
    for (; i < count; i++)
        if (!(low <= x[i] && x[i] <= high))
            return 0;
    return 1;
}

#endif
