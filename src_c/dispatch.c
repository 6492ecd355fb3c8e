/* Selection of the tables that the machine can run. */
#include "mialeak.h"

#include <string.h>

extern const mial_kernels mial_scalar;
#if defined(__GNUC__) && defined(__x86_64__)
extern const mial_kernels mial_sse2, mial_avx2, mial_avx512;
#elif defined(__GNUC__) && defined(__aarch64__)
extern const mial_kernels mial_neon;
#endif

/* Best first. */
static const mial_kernels *const TABLES[] = {
#if defined(__GNUC__) && defined(__x86_64__)
    &mial_avx512, &mial_avx2, &mial_sse2,
#elif defined(__GNUC__) && defined(__aarch64__)
    &mial_neon,
#endif
    &mial_scalar,
};

static int machine_runs(const mial_kernels *table) {
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (table == &mial_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (table == &mial_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)table;
    return 1;
}

const char *mial_available(size_t index) {
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        if (machine_runs(TABLES[i]) && index-- == 0)
            return TABLES[i]->isa;
    return NULL;
}

const mial_kernels *mial_select(const char *isa) {
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        if (machine_runs(TABLES[i]) && (!isa || !strcmp(isa, TABLES[i]->isa)))
            return TABLES[i];
    return NULL;
}
