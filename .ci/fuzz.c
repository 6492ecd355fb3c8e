/*
 * libFuzzer: any bytes to every kernel, on the instruction sets this machine has, two at a time.
 *
 * Beside the sanitizers' own checks the families demand
 *   - the same bits from both instruction sets (any NaN is as good as another);
 *   - the same result for an element, a row or a part of the work, alone as among others;
 *   - NaN for an element outside the domain, and the number of such elements;
 *   - what a plain loop makes of the same numbers, where the kernel promises its very bits.
 *
 * Bytes: family, which of its kernels, second instruction set, count, how many numbers differ, and
 * then 9 bytes a number (see `next`).  Numbers repeat until there are enough, so that a short input
 * fills several chunks.  FAMILY in the environment names the one family to try.
 */
#include "fuzz.h"

static const struct {
    const char *name;
    family *run;
} FAMILIES[] = {
    {"elementwise", try_elementwise}, {"leakage", try_leakage},
    {"scores", try_scores},           {"scores", try_series},
    {"covariance", try_moments},      {"covariance", try_deviations},
    {"draws", try_draws},             {"draws", try_means},
    {"enumeration", try_vectors},     {"enumeration", try_sums}, {"enumeration", try_blur},
    {"coarsening", try_layer},        {"coarsening", try_path},
    {"moments", try_waves},           {"checks", try_checks},      {"chains", try_chains},
};

enum { MOST = sizeof FAMILIES / sizeof *FAMILIES };

static size_t chosen[MOST], choices;

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *only = getenv("FAMILY");
    (void)argc, (void)argv;
    for (size_t i = 0; i < MOST; i++)
        if (!only || !*only || !strcmp(only, FAMILIES[i].name))
            chosen[choices++] = i;
    if (!choices) {
        fprintf(stderr, "no family %s\n", only);
        exit(1);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    size_t number = take(&in, 1) % choices;
    unsigned which = (unsigned)take(&in, 1), other = (unsigned)take(&in, 1);
    size_t count = take(&in, 1), distinct = 1 + take(&in, 1) % 16;
    /* Few; but more than a chunk of 256 for one input in 64, whichever the fuzzer favours. */
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 16777619u;
    count = hash >> 26 ? count % 9 : 250 + count % 16;
    /* The machine's best instruction set, and one of the others. */
    size_t sets = 0;
    while (mial_available(sets))
        sets++;
    const mial_kernels *tables[] = {
        mial_select(NULL),
        sets > 1 ? mial_select(mial_available(1 + other % (sets - 1))) : NULL,
        NULL,
    };
    FAMILIES[chosen[number]].run(tables, which, count, distinct, &in);
    return 0;
}
