/* All families and the table of their kernels; each isa_<name>.c includes this file once. */
#include "mialeak.h"

#include "binomial.h"
#include "chains.h"
#include "checks.h"
#include "coarsening.h"
#include "covariance.h"
#include "draws.h"
#include "enumeration.h"
#include "hypergeometric.h"
#include "leakage.h"
#include "moments.h"
#include "scores.h"
#include "tails.h"

#define FUNCTION_ROW(name, inputs) {#name, inputs, name},
static const mial_function ELEMENTWISE[] = {MIAL_FUNCTIONS(FUNCTION_ROW){NULL, NULL, NULL}};

#define FUNCTION_ENTRY(name, inputs) name,
#define KERNEL_ENTRY(result, name, arguments) name,
#define MIAL_TABLE(isa)                                                                            \
    {isa, ELEMENTWISE, MIAL_FUNCTIONS(FUNCTION_ENTRY) MIAL_KERNELS(KERNEL_ENTRY)}
