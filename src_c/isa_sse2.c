/* x86-64 as every machine has it: two lanes, no fused multiply-add. */
#if defined(__GNUC__) && defined(__x86_64__)

#define MIAL_X86
#define MIAL_LANES 2
#include "system.h"

#include "families.h"

const mial_kernels mial_sse2 = MIAL_TABLE("sse2");

#endif
