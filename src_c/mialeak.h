/*
 * What the C library offers: status codes and the table of kernels.
 *
 * The library knows nothing of Python, allocates nothing and keeps no state.  README.md beside
 * this file has the rules, and says how to add a kernel.
 */
#ifndef MIALEAK_H
#define MIALEAK_H

#include <stddef.h>
#include <stdint.h>

enum {
    MIAL_OK = 0,
    MIAL_ERR_PROBABILITY = -1, /* an element outside [0, 1], or NaN; its place in *bad_index */
};

/*
 * An elementwise function of `inputs`, each `count` doubles, into `out`.
 * Returns how many elements lay outside the domain; they become NaN.  NaN in gives NaN out and is
 * not counted.  `out` may be one of the inputs.
 */
typedef size_t mial_elementwise(size_t count, const double *const *inputs, double *out);

typedef struct {
    const char *name; /* "scalar", "sse2", "avx2", "avx512" or "neon" */

    /* checks.h */
    int (*all_within)(size_t count, const double *x, double low, double high);

    /* binomial.h: inputs in the order of the name's arguments */
    mial_elementwise *binom_mad;       /* (n, p) */
    mial_elementwise *binom_excess;    /* (c, n, p) */
    mial_elementwise *binom_shortfall; /* (c, n, p) */
    mial_elementwise *binom_sf;        /* (c, n, p) */
    mial_elementwise *binom_logpmf;    /* (k, n, p) */

    /* leakage.h */
    int (*leakage_sum)(size_t count, const double *p, double n, double gamma, double total,
                       double sums[4], size_t *bad_index);
    int (*leakage_atoms)(size_t count, const double *p, double n, double gamma, double total,
                         double *out, size_t *bad_index);

    /* scores.h: `releases` is float32 if `narrow`, else float64 */
    void (*cubic_sums)(size_t rows, size_t columns, const void *releases, int narrow,
                       const double *by_column, double constant, double *out);
    void (*log_linear_sums)(size_t rows, size_t columns, const void *releases, int narrow,
                            const double *by_column, double *out);
    void (*log_quadratic_sums)(size_t rows, size_t columns, const void *releases, int narrow,
                               double counts, double tolerance, const double *by_column,
                               double *out);

    /* covariance.h: `x` is float32 if `narrow`, else float64; steps in elements */
    void (*column_powers)(size_t rows, size_t columns, const void *x, int narrow,
                          ptrdiff_t row_step, ptrdiff_t column_step, const double *centre,
                          const double *rest, int orders, double *sums);
    void (*centre_rows)(size_t rows, size_t columns, const void *x, int narrow,
                        ptrdiff_t row_step, ptrdiff_t column_step, const double *centre,
                        const double *rest, double *out, double *sums);
    void (*row_norms)(size_t rows, size_t columns, const void *x, int narrow, ptrdiff_t row_step,
                      ptrdiff_t column_step, const double *centre, const double *rest,
                      const double *weights, double *out);

    /* draws.h */
    size_t (*binomial_window)(double trials, double p, size_t most, double *first);
    void (*binomial_weights)(double trials, double p, double first, size_t size, double *weights);
    void (*alias_words)(size_t size, const double *weights, double *share, uint32_t *order,
                        uint64_t *words);
    void (*alias_ahead)(size_t size, const uint64_t *words, size_t draws);
    void (*alias_draws)(size_t count, const uint64_t *bits, size_t size, const uint64_t *words,
                        double first, double *out);
    void (*lattice_means)(size_t columns, size_t rounds, const double *sums, const double *least,
                          const double *unit, double rows, const int64_t *place, size_t stride,
                          double *out);

    /* enumeration.h */
    mial_elementwise *poisson_pmf; /* (k, mean) */
    void (*count_vectors)(size_t vectors, size_t cells, const int64_t *start, int64_t *out);
    void (*enumerate_labels)(size_t vectors, size_t cells, size_t moments, const int64_t *start,
                             const double *table, const double *offset, const int64_t *labels,
                             double *sums);
    void (*enumerate_kernel)(size_t vectors, size_t cells, size_t moments, const int64_t *start,
                             const double *table, const double *offset, const double *kernel,
                             size_t outcomes, double *sums);
    void (*geometric_blur)(size_t rows, size_t width, double alpha, double *room, double *values);

    /* coarsening.h */
    void (*cut_layer)(size_t atoms, size_t groups, const double *cost, const double *before,
                      double *after, int32_t *last_cut);
    void (*cut_path)(size_t atoms, const double *cumulative, double n, double reward, double *cost,
                     double *room, int32_t *last_cut);

    /* moments.h */
    void (*moment_sums)(size_t tiles, const int64_t *first, const double *weight,
                        const double *ratio, const double *lost, const double *copies,
                        double theta, double *scratch, double *tilted, double sums[3]);
    void (*moment_wave)(size_t tiles, const int64_t *first, const double *weight,
                        const double *ratio, const double *copies, double theta, double start,
                        double step, size_t count, double floor_, const double *tilted,
                        double *scratch, double *product);
} mial_kernels;

/*
 * The table named `isa`, or the machine's best for NULL.
 * NULL if there is no such table here or the machine cannot run it.
 */
const mial_kernels *mial_select(const char *isa);

/* Name number `index` of the tables this machine can run, best first; NULL past the last. */
const char *mial_available(size_t index);

#endif
