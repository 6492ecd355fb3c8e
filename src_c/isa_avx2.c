/* x86-64 since 2013: four lanes. */
#if defined(__GNUC__) && defined(__x86_64__)

#define MIAL_X86
#define MIAL_FMA
#define MIAL_LANES 4
#include "system.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#include "families.h"

const mial_kernels mial_avx2 = MIAL_TABLE("avx2");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
