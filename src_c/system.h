/* System headers, included before any target pragma so that the pragma does not affect them. */
#ifndef MIAL_SYSTEM_H
#define MIAL_SYSTEM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(MIAL_X86)
#include <immintrin.h>
#elif defined(MIAL_NEON)
#include <arm_neon.h>
#endif

#endif
