/*
 * Interface of the C library: sizes and layouts, status codes, the kernels and their table.
 *
 * The library does not use Python, allocates no memory and has no state.  README.md in this folder
 * has the rules and the steps to add a kernel.  `make_table.py` translates the enums and kernels of
 * this file for Cython, into mialeak/_kernels/table.pxd.
 */
#ifndef MIALEAK_H
#define MIALEAK_H

#include <stddef.h>
#include <stdint.h>

enum {
    MIAL_OK = 0,
    MIAL_ERR_PROBABILITY = -1, /* an element outside [0, 1], or NaN; its index is in *bad_index */
};

/* Sizes by which callers allocate.  They are defined here only. */
enum {
    MIAL_MOST_INPUTS = 4,     /* of an elementwise function */
    MIAL_CHUNK = 256,         /* elements of a chunk (chunks.h) and of a block of cut_path */
    MIAL_SCORE_TILE = 64,     /* columns of a tile in scores.h: eight per lane */
    MIAL_CELL_GROUP = 8,      /* cells of enumeration.h, offset and sums padded to whole groups */
    MIAL_MOST_CELLS = 64,     /* cells of enumeration.h */
    MIAL_MOST_WORDS = 65536,  /* words of an alias table: the other number of one has 16 bits */
    MIAL_CHAIN_STATES = 10,   /* sums of chains.h: pairs of values of a person, one of them twice */
    MIAL_PASCAL_ROWS = 101,   /* of the triangle of pascal.c: its half fits the first-level cache */
};

/*
 * Layouts of moments.h, in doubles.  A row of weights, ratios or scratch has eight lanes, one for
 * each coordinate of a tile; the other layouts are consecutive rows of eight.
 */
enum {
    MIAL_LANE = 8,
    MIAL_TILTED_SHIFT = 0, /* a tile of `tilted`: subtracted exponent, sum, mean ratio */
    MIAL_TILTED_TOTAL = 8,
    MIAL_TILTED_CENTRE = 16,
    MIAL_TILTED = 24,
    MIAL_NODE_RE = 0, /* a node of `product`, (re, im) 2^power */
    MIAL_NODE_IM = 8,
    MIAL_NODE_POWER = 16,
    MIAL_NODE = 24,
    MIAL_PHASOR_RE = 0, /* an outcome in the scratch of a wave: phasor and its rotation per node */
    MIAL_PHASOR_IM = 8,
    MIAL_PHASOR_COSINE = 16,
    MIAL_PHASOR_SINE = 24,
    MIAL_PHASOR = 32,
    MIAL_SCRATCH = 40, /* MIAL_LANE + MIAL_PHASOR, for each row of the longest tile */
};

/*
 * An elementwise function of `inputs`, each `count` doubles, into `out`.
 * Returns the number of elements outside the domain, whose results are NaN.  A NaN input gives NaN
 * and is not counted.  `out` may be one of the inputs.
 */
typedef size_t mial_elementwise(size_t count, const double *const *inputs, double *out);

/* Half of Pascal's triangle: pascal.c. */
extern const double mial_pascal[];

/* An elementwise function by name.  A letter for each input: w whole number, r real number. */
typedef struct {
    const char *name, *inputs;
    mial_elementwise *kernel;
} mial_function;

/*
 * Every elementwise function: X(name, letters of its inputs), in the order of `elementwise` in the
 * table.  A function that is documented in mialeak.special is a ufunc there.
 */
#define MIAL_FUNCTIONS(X)                                                                          \
    /* binomial.h */                                                                               \
    X(binom_mad, "wr")     /* n, p */                                                              \
    X(binom_logpmf, "wwr") /* k, n, p */                                                           \
    /* tails.h */                                                                                  \
    X(binom_excess, "rwr")    /* c, n, p */                                                        \
    X(binom_shortfall, "rwr") /* c, n, p */                                                        \
    X(binom_sf, "rwr")        /* c, n, p */                                                        \
    /* hypergeometric.h */                                                                         \
    X(hypergeom_mad, "www")     /* N, K, n */                                                      \
    X(hypergeom_logpmf, "wwww") /* h, N, K, n */                                                   \
    X(hypergeom_sf, "rwww")     /* h, N, K, n */                                                   \
    X(hypergeom_excess, "rwww") /* c, N, K, n */                                                   \
    /* enumeration.h */                                                                            \
    X(poisson_pmf, "wr") /* k, mean */

/* Every other kernel: X(return type, name, arguments). */
#define MIAL_KERNELS(X)                                                                            \
    /* checks.h */                                                                                 \
    X(int, all_within, (size_t count, const double *x, double low, double high))                   \
    /* leakage.h */                                                                                \
    X(int, leakage_sum,                                                                            \
      (size_t count, const double *p, double n, double gamma, double total, double sums[4],        \
       size_t *bad_index))                                                                         \
    X(int, leakage_atoms,                                                                          \
      (size_t count, const double *p, double n, double gamma, double total, double *out,           \
       size_t *bad_index))                                                                         \
    /* scores.h: `releases` is float32 if `narrow`, else float64 */                                \
    X(void, cubic_sums,                                                                            \
      (size_t rows, size_t columns, const void *releases, int narrow, const double *by_column,     \
       double constant, double *out))                                                              \
    X(double, edgeworth_columns,                                                                   \
      (size_t columns, const double *const *known, double root_n, int order, double *by_column))   \
    X(void, log_linear_sums,                                                                       \
      (size_t rows, size_t columns, const void *releases, int narrow, const double *by_column,     \
       double *out))                                                                               \
    X(void, log_quadratic_sums,                                                                    \
      (size_t rows, size_t columns, const void *releases, int narrow, double counts,               \
       double tolerance, const double *by_column, double *out))                                    \
    /* covariance.h: `x` is float32 if `narrow`, else float64; steps in elements */                \
    X(void, column_powers,                                                                         \
      (size_t rows, size_t columns, const void *x, int narrow, ptrdiff_t row_step,                 \
       ptrdiff_t column_step, const double *centre, const double *rest, int orders, double *sums)) \
    X(void, centre_rows,                                                                           \
      (size_t rows, size_t columns, const void *x, int narrow, ptrdiff_t row_step,                 \
       ptrdiff_t column_step, const double *centre, const double *rest, double *out,               \
       double *sums))                                                                              \
    X(void, row_norms,                                                                             \
      (size_t rows, size_t columns, const void *x, int narrow, ptrdiff_t row_step,                 \
       ptrdiff_t column_step, const double *centre, const double *rest, const double *weights,     \
       double *out))                                                                               \
    /* draws.h */                                                                                  \
    X(size_t, binomial_window, (double trials, double p, size_t most, double *first))              \
    X(void, binomial_weights,                                                                      \
      (double trials, double p, double first, size_t size, double *weights))                       \
    X(void, alias_words,                                                                           \
      (size_t size, const double *weights, double *share, uint32_t *order, uint64_t *words))       \
    X(void, alias_ahead, (size_t size, const uint64_t *words, size_t draws))                       \
    X(void, alias_draws,                                                                           \
      (size_t count, const uint64_t *bits, size_t size, const uint64_t *words, double first,       \
       double *out))                                                                               \
    X(void, lattice_means,                                                                         \
      (size_t columns, size_t rounds, const double *sums, const double *least,                     \
       const double *unit, double rows, const int64_t *place, size_t stride, double *out))         \
    /* enumeration.h */                                                                            \
    X(void, count_vectors, (size_t vectors, size_t cells, const int64_t *start, int64_t *out))     \
    X(void, enumerate_labels,                                                                      \
      (size_t vectors, size_t cells, size_t moments, const int64_t *start, const double *table,    \
       const double *offset, const int64_t *labels, double *sums))                                 \
    X(void, enumerate_kernel,                                                                      \
      (size_t vectors, size_t cells, size_t moments, const int64_t *start, const double *table,    \
       const double *offset, const double *kernel, size_t outcomes, double *sums))                 \
    X(void, geometric_blur,                                                                        \
      (size_t rows, size_t width, double alpha, double *room, double *values))                     \
    /* coarsening.h */                                                                             \
    X(void, cut_layer,                                                                             \
      (size_t atoms, size_t groups, const double *cost, const double *before, double *after,       \
       int32_t *last_cut))                                                                         \
    X(void, cut_path,                                                                              \
      (size_t atoms, const double *cumulative, double n, double reward, double *cost,              \
       double *room, int32_t *last_cut))                                                           \
    /* chains.h */                                                                                 \
    X(void, transition_ratios,                                                                     \
      (size_t rows, size_t columns, int ploidy, double m, const double *counts,                    \
       const double *after_zero, const double *after_one, double *out))                            \
    X(void, transfer_step,                                                                         \
      (size_t rows, size_t width, const int64_t *first, const double *weight, const double *ratio, \
       double centre, double start, double step, size_t nodes, const double *before,               \
       size_t padded, double *after))                                                              \
    /* moments.h */                                                                                \
    X(void, moment_sums,                                                                           \
      (size_t tiles, const int64_t *first, const double *weight, const double *ratio,              \
       const double *lost, const double *copies, double theta, double *scratch, double *tilted,    \
       double sums[3]))                                                                            \
    X(void, moment_wave,                                                                           \
      (size_t tiles, const int64_t *first, const double *weight, const double *ratio,              \
       const double *copies, double theta, double start, double step, size_t count,                \
       double floor_, const double *tilted, double *scratch, double *product))

#define MIAL_FUNCTION_MEMBER(name, inputs) mial_elementwise *name;
#define MIAL_KERNEL_MEMBER(result, name, arguments) result(*name) arguments;

typedef struct {
    const char *isa;                  /* "scalar", "sse2", "avx2", "avx512" or "neon" */
    const mial_function *elementwise; /* ends with a NULL name */
    MIAL_FUNCTIONS(MIAL_FUNCTION_MEMBER)
    MIAL_KERNELS(MIAL_KERNEL_MEMBER)
} mial_kernels;

#undef MIAL_FUNCTION_MEMBER
#undef MIAL_KERNEL_MEMBER

/*
 * The table named `isa`; for NULL the best one of the machine.
 * NULL if the library has no such table or the machine cannot run it.
 */
const mial_kernels *mial_select(const char *isa);

/* Name of table `index` among those that the machine can run, best first; NULL beyond the last. */
const char *mial_available(size_t index);

#endif
