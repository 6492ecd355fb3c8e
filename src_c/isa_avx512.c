/* x86-64 servers since 2017: eight lanes. */
#if defined(__GNUC__) && defined(__x86_64__)

#define MIAL_X86
#define MIAL_FMA
#define MIAL_LANES 8
#include "system.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx2,fma")
#endif
#include "families.h"

const mial_kernels mial_avx512 = MIAL_TABLE("avx512");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
