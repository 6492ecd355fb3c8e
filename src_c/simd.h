/*
 * One vector type for every instruction set.
 *
 * isa_<name>.c defines MIAL_LANES (and MIAL_FMA if the machine has a fused multiply-add) and
 * includes the families.  Their source is the same for all instruction sets, in terms of `vd`
 * (MIAL_LANES doubles), `vi` (as many int64, and the type of masks: all ones or all zeros in a lane)
 * and the operators + - * / & | ^ ~ << >>.
 *
 * Every operation here is exact or correctly rounded, lane by lane, and the compiler may not
 * contract (-ffp-contract=off).  A function of vd then has the same bits on every instruction set,
 * and so has a sum of eight partial sums, where element i goes to sum i % 8 (numerics.h).
 */
#ifndef MIAL_SIMD_H
#define MIAL_SIMD_H

#include "system.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline, unused))
#define NOINLINE static __attribute__((noinline, unused))
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define INLINE static inline
#define NOINLINE static
#define PREFETCH(address) ((void)(address))
#endif

/* Before a loop of few and constant steps. */
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 32")
#else
#define UNROLLED
#endif

#if MIAL_LANES > 1

typedef double vd __attribute__((vector_size(8 * MIAL_LANES)));
typedef int64_t vi __attribute__((vector_size(8 * MIAL_LANES)));
typedef uint64_t vu __attribute__((vector_size(8 * MIAL_LANES)));

INLINE vd all(double x) { return x - (vd){0}; }
INLINE vi as_bits(vd x) { return (vi)x; }
INLINE vd as_double(vi x) { return (vd)x; }
INLINE double lane(vd x, int i) { return x[i]; }
#define MASK(condition) ((vi)(condition))

#else

typedef double vd;
typedef int64_t vi;
typedef uint64_t vu;

INLINE vd all(double x) { return x; }
INLINE vi as_bits(vd x) { vi bits; memcpy(&bits, &x, 8); return bits; }
INLINE vd as_double(vi x) { vd value; memcpy(&value, &x, 8); return value; }
INLINE double lane(vd x, int i) { (void)i; return x; }
#define MASK(condition) (-(vi)(condition))

#endif

INLINE vi lt(vd a, vd b) { return MASK(a < b); }
INLINE vi le(vd a, vd b) { return MASK(a <= b); }
INLINE vi eq(vd a, vd b) { return MASK(a == b); }
INLINE vi is_nan(vd a) { return MASK(a != a); }

INLINE vd load(const double *x) { vd v; memcpy(&v, x, sizeof v); return v; }
INLINE void store(double *x, vd v) { memcpy(x, &v, sizeof v); }

/* a where the mask is set, otherwise b */
INLINE vd pick(vi mask, vd a, vd b) {
    return as_double((mask & as_bits(a)) | (~mask & as_bits(b)));
}

/* Bit i is set if lane i of the mask is. */
INLINE unsigned lane_bits(vi mask) {
#if defined(MIAL_X86) && MIAL_LANES == 8
    return (unsigned)_mm512_movepi64_mask((__m512i)mask);
#elif defined(MIAL_X86) && MIAL_LANES == 4
    return (unsigned)_mm256_movemask_pd((__m256d)mask);
#elif defined(MIAL_X86) && MIAL_LANES == 2
    return (unsigned)_mm_movemask_pd((__m128d)mask);
#elif defined(MIAL_NEON)
    return (unsigned)(vgetq_lane_s64(mask, 0) & 1) | (unsigned)(vgetq_lane_s64(mask, 1) & 2);
#else
    return mask != 0;
#endif
}
INLINE int any(vi mask) { return lane_bits(mask) != 0; }

INLINE vd vsqrt(vd x) {
#if defined(MIAL_X86) && MIAL_LANES == 8
    return (vd)_mm512_sqrt_pd((__m512d)x);
#elif defined(MIAL_X86) && MIAL_LANES == 4
    return (vd)_mm256_sqrt_pd((__m256d)x);
#elif defined(MIAL_X86) && MIAL_LANES == 2
    return (vd)_mm_sqrt_pd((__m128d)x);
#elif defined(MIAL_NEON)
    return vsqrtq_f64(x);
#else
    return sqrt(x); /* correctly rounded by IEEE 754, as the vector forms are */
#endif
}

/* x << count without the undefined behaviour of a signed shift */
INLINE vi shift_left(vi x, int count) { return (vi)((vu)x << count); }

INLINE vd vabs(vd x) { return as_double(as_bits(x) & INT64_MAX); }

/* b < a ? b : a, and a < b ? b : a */
#if defined(MIAL_X86) && MIAL_LANES == 8
INLINE vd vmin(vd a, vd b) { return (vd)_mm512_min_pd((__m512d)b, (__m512d)a); }
INLINE vd vmax(vd a, vd b) { return (vd)_mm512_max_pd((__m512d)b, (__m512d)a); }
#elif defined(MIAL_X86) && MIAL_LANES == 4
INLINE vd vmin(vd a, vd b) { return (vd)_mm256_min_pd((__m256d)b, (__m256d)a); }
INLINE vd vmax(vd a, vd b) { return (vd)_mm256_max_pd((__m256d)b, (__m256d)a); }
#elif defined(MIAL_X86) && MIAL_LANES == 2
INLINE vd vmin(vd a, vd b) { return (vd)_mm_min_pd((__m128d)b, (__m128d)a); }
INLINE vd vmax(vd a, vd b) { return (vd)_mm_max_pd((__m128d)b, (__m128d)a); }
#else
INLINE vd vmin(vd a, vd b) { return pick(lt(b, a), b, a); }
INLINE vd vmax(vd a, vd b) { return pick(lt(a, b), b, a); }
#endif

/* floor of 0 <= x <= 2^53 */
INLINE vd floor_positive(vd x) {
    vd big = all(0x1p52);
    vd rounded = (x + big) - big;
    rounded = pick(lt(x, rounded), rounded - all(1.0), rounded);
    return pick(lt(x, big), rounded, x);
}

/* table[x] for whole x with 0 <= x < 2^31; the caller masks all other lanes */
INLINE vd look_up(const double *table, vd x) {
#if defined(MIAL_X86) && MIAL_LANES == 8
    return (vd)_mm512_i32gather_pd(_mm512_cvttpd_epi32((__m512d)x), table, 8);
#elif MIAL_LANES > 1
    vd value;
    for (int i = 0; i < MIAL_LANES; i++)
        value[i] = table[(int)x[i]];
    return value;
#else
    return table[(int)x];
#endif
}

/* The number of bits that are set, and the index of the lowest. */
INLINE int count_bits(uint64_t word) {
#if defined(__GNUC__)
    return __builtin_popcountll(word);
#else
    int count = 0;
    for (; word; word &= word - 1)
        count++;
    return count;
#endif
}
INLINE int lowest_bit(uint64_t word) {
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    return count_bits((word & (~word + 1)) - 1);
#endif
}

#if defined(MIAL_X86) && MIAL_LANES == 8
#define MIAL_PACKS
/* Packs the lanes of x whose bits are set; and unpacks into these lanes. */
INLINE vd pack(vd x, unsigned bits) {
    return (vd)_mm512_maskz_compress_pd((__mmask8)bits, (__m512d)x);
}
INLINE vd unpack(vd dense, vd x, unsigned bits) {
    return (vd)_mm512_mask_expand_pd((__m512d)x, (__mmask8)bits, (__m512d)dense);
}
#endif

/* An unevaluated sum high + low with |low| <= ulp(high)/2. */
typedef struct {
    vd high, low;
} pair;

/* a + b exactly */
INLINE pair two_sum(vd a, vd b) {
    vd sum = a + b;
    vd part = sum - a;
    return (pair){sum, (a - (sum - part)) + (b - part)};
}

/* a + b exactly, if |a| >= |b| or a = 0 */
INLINE pair quick_sum(vd a, vd b) {
    vd sum = a + b;
    return (pair){sum, b - (sum - a)};
}

/* a b exactly, if nothing under- or overflows: both factors and the product in 2^(+-900).
 * Dekker's product and the fused product then have the same bits. */
INLINE pair two_product(vd a, vd b) {
    vd product = a * b;
#if defined(MIAL_FMA) && defined(MIAL_X86) && MIAL_LANES == 8
    return (pair){product, (vd)_mm512_fmsub_pd((__m512d)a, (__m512d)b, (__m512d)product)};
#elif defined(MIAL_FMA) && defined(MIAL_X86) && MIAL_LANES == 4
    return (pair){product, (vd)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)product)};
#elif defined(MIAL_FMA) && defined(MIAL_NEON)
    return (pair){product, vfmaq_f64(-product, a, b)};
#else
    vd scale = all(0x1p27 + 1.0);
    vd a_high = scale * a - (scale * a - a), a_low = a - a_high;
    vd b_high = scale * b - (scale * b - b), b_low = b - b_high;
    vd low = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return (pair){product, low};
#endif
}

#endif
