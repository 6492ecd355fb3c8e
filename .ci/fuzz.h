/* What the fuzzers of all families share: numbers made of bytes, and demands. */
#ifndef FUZZ_H
#define FUZZ_H

#include "mialeak.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *data;
    size_t size;
} bytes;

/* What tries a family.  tables: one or two tables of kernels, then NULL.  which: tells apart the
 * kernels of the family.  count: elements, mostly few.  distinct: how many of them, or of the rows,
 * differ, 1 to 16.  in: the bytes that are left. */
typedef void family(const mial_kernels *const *tables, unsigned which, size_t count,
                    size_t distinct, bytes *in);

family try_elementwise, try_checks, try_leakage, try_scores, try_moments, try_deviations;
family try_draws, try_means, try_vectors, try_sums, try_blur, try_layer, try_path, try_waves;
family try_chains, try_series;

static inline uint64_t take(bytes *in, size_t width) {
    uint64_t value = 0;
    for (size_t i = 0; i < width && in->size; i++, in->size--)
        value = value << 8 | *in->data++;
    return value;
}

/* A number that is likely to be of use: any bits, a count, a probability near 0, 1 or neither. */
static inline double next(bytes *in) {
    uint64_t kind = take(in, 1), bits = take(in, 8);
    double number = ldexp((double)(bits >> 11), -53);
    switch (kind % 6) {
    case 0: memcpy(&number, &bits, sizeof number); return number;
    case 1: return (double)(bits >> 11);
    case 2: return (double)(bits >> (11 + kind / 6 % 53));
    case 3: return number;
    case 4: return ldexp(number, -(int)(bits % 1100));
    default: return 1.0 - ldexp(number, -(int)(bits % 60));
    }
}

/* The same, but `otherwise` unless it is finite and below `end` in size. */
static inline double next_below(bytes *in, double end, double otherwise) {
    double number = next(in);
    return fabs(number) < end ? number : otherwise;
}

/* Exactly as long as it needs to be, so that a step beyond is seen. */
static inline void *room(size_t count, size_t width) { return calloc(count + !count, width); }
#define ROOM(type, count) ((type *)room((count), sizeof(type)))

/* `count` numbers, of which at most `distinct` differ. */
static inline double *numbers(bytes *in, size_t count, size_t distinct) {
    double *out = ROOM(double, count);
    for (size_t i = 0; i < count; i++)
        out[i] = i < distinct ? next(in) : out[i - distinct];
    return out;
}

#define DEMAND(good)                                                                               \
    do {                                                                                           \
        if (!(good)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #good);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Any NaN is as good as another. */
static inline void demand_same(const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t left, right;
        memcpy(&left, a + i, sizeof left);
        memcpy(&right, b + i, sizeof right);
        DEMAND(left == right || (isnan(a[i]) && isnan(b[i])));
    }
}

#endif
