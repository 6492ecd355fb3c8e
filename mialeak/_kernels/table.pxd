"""The table of kernels in use: each family's .pyx cimports it from here.

Written by src_c/make_table.py from src_c/mialeak.h.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "mialeak.h" nogil:
    enum:
        MIAL_OK
        MIAL_ERR_PROBABILITY
        MIAL_MOST_INPUTS
        MIAL_CHUNK
        MIAL_SCORE_TILE
        MIAL_CELL_GROUP
        MIAL_MOST_CELLS
        MIAL_MOST_WORDS
        MIAL_CHAIN_STATES
        MIAL_PASCAL_ROWS
        MIAL_LANE
        MIAL_TILTED_SHIFT
        MIAL_TILTED_TOTAL
        MIAL_TILTED_CENTRE
        MIAL_TILTED
        MIAL_NODE_RE
        MIAL_NODE_IM
        MIAL_NODE_POWER
        MIAL_NODE
        MIAL_PHASOR_RE
        MIAL_PHASOR_IM
        MIAL_PHASOR_COSINE
        MIAL_PHASOR_SINE
        MIAL_PHASOR
        MIAL_SCRATCH
    ctypedef size_t mial_elementwise(size_t count, const double *const *inputs,
                                     double *out) noexcept nogil
    ctypedef struct mial_function:
        const char *name
        const char *inputs
        mial_elementwise *kernel
    ctypedef struct mial_kernels:
        const char *isa
        const mial_function *elementwise
        mial_elementwise *binom_mad
        mial_elementwise *binom_logpmf
        mial_elementwise *binom_excess
        mial_elementwise *binom_shortfall
        mial_elementwise *binom_sf
        mial_elementwise *hypergeom_mad
        mial_elementwise *hypergeom_logpmf
        mial_elementwise *hypergeom_sf
        mial_elementwise *hypergeom_excess
        mial_elementwise *poisson_pmf
        int (*all_within)(size_t count, const double *x, double low, double high) noexcept nogil
        int (*leakage_sum)(size_t count, const double *p, double n, double gamma, double total,
                           double sums[4], size_t *bad_index) noexcept nogil
        int (*leakage_atoms)(size_t count, const double *p, double n, double gamma, double total,
                             double *out, size_t *bad_index) noexcept nogil
        void (*cubic_sums)(size_t rows, size_t columns, const void *releases, int narrow,
                           const double *by_column, double constant, double *out) noexcept nogil
        double (*edgeworth_columns)(size_t columns, const double *const *known, double root_n,
                                    int order, double *by_column) noexcept nogil
        void (*log_linear_sums)(size_t rows, size_t columns, const void *releases, int narrow,
                                const double *by_column, double *out) noexcept nogil
        void (*log_quadratic_sums)(size_t rows, size_t columns, const void *releases, int narrow,
                                   double counts, double tolerance, const double *by_column,
                                   double *out) noexcept nogil
        void (*column_powers)(size_t rows, size_t columns, const void *x, int narrow,
                              ptrdiff_t row_step, ptrdiff_t column_step, const double *centre,
                              const double *rest, int orders, double *sums) noexcept nogil
        void (*centre_rows)(size_t rows, size_t columns, const void *x, int narrow,
                            ptrdiff_t row_step, ptrdiff_t column_step, const double *centre,
                            const double *rest, double *out, double *sums) noexcept nogil
        void (*row_norms)(size_t rows, size_t columns, const void *x, int narrow,
                          ptrdiff_t row_step, ptrdiff_t column_step, const double *centre,
                          const double *rest, const double *weights, double *out) noexcept nogil
        size_t (*binomial_window)(double trials, double p, size_t most,
                                  double *first) noexcept nogil
        void (*binomial_weights)(double trials, double p, double first, size_t size,
                                 double *weights) noexcept nogil
        void (*alias_words)(size_t size, const double *weights, double *share, uint32_t *order,
                            uint64_t *words) noexcept nogil
        void (*alias_ahead)(size_t size, const uint64_t *words, size_t draws) noexcept nogil
        void (*alias_draws)(size_t count, const uint64_t *bits, size_t size, const uint64_t *words,
                            double first, double *out) noexcept nogil
        void (*lattice_means)(size_t columns, size_t rounds, const double *sums,
                              const double *least, const double *unit, double rows,
                              const int64_t *place, size_t stride, double *out) noexcept nogil
        void (*count_vectors)(size_t vectors, size_t cells, const int64_t *start,
                              int64_t *out) noexcept nogil
        void (*enumerate_labels)(size_t vectors, size_t cells, size_t moments, const int64_t *start,
                                 const double *table, const double *offset, const int64_t *labels,
                                 double *sums) noexcept nogil
        void (*enumerate_kernel)(size_t vectors, size_t cells, size_t moments, const int64_t *start,
                                 const double *table, const double *offset, const double *kernel,
                                 size_t outcomes, double *sums) noexcept nogil
        void (*geometric_blur)(size_t rows, size_t width, double alpha, double *room,
                               double *values) noexcept nogil
        void (*cut_layer)(size_t atoms, size_t groups, const double *cost, const double *before,
                          double *after, int32_t *last_cut) noexcept nogil
        void (*cut_path)(size_t atoms, const double *cumulative, double n, double reward,
                         double *cost, double *room, int32_t *last_cut) noexcept nogil
        void (*transition_ratios)(size_t rows, size_t columns, int ploidy, double m,
                                  const double *counts, const double *after_zero,
                                  const double *after_one, double *out) noexcept nogil
        void (*transfer_step)(size_t rows, size_t width, const int64_t *first, const double *weight,
                              const double *ratio, double centre, double start, double step,
                              size_t nodes, const double *before, size_t padded,
                              double *after) noexcept nogil
        void (*moment_sums)(size_t tiles, const int64_t *first, const double *weight,
                            const double *ratio, const double *lost, const double *copies,
                            double theta, double *scratch, double *tilted,
                            double sums[3]) noexcept nogil
        void (*moment_wave)(size_t tiles, const int64_t *first, const double *weight,
                            const double *ratio, const double *copies, double theta, double start,
                            double step, size_t count, double floor_, const double *tilted,
                            double *scratch, double *product) noexcept nogil


cdef const mial_kernels *TABLE
cdef const mial_kernels *NARROW
