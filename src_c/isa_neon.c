/* 64-bit ARM: two lanes. */
#if defined(__GNUC__) && defined(__aarch64__)

#define MIAL_NEON
#define MIAL_FMA
#define MIAL_LANES 2
#include "system.h"

#include "families.h"

const mial_kernels mial_neon = MIAL_TABLE("neon");

#endif
