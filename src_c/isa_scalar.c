/* Standard C11 alone: one lane, any compiler, any machine with IEEE 754 doubles. */
#define MIAL_LANES 1
#include "system.h"

#include "families.h"

const mial_kernels mial_scalar = MIAL_TABLE("scalar");
