"""The table of kernels in use: each family's .pyx cimports it from here."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "mialeak.h" nogil:
    ctypedef size_t mial_elementwise(size_t, const double *const *, double *) noexcept nogil
    ctypedef struct mial_kernels:
        const char *name
        int (*all_within)(size_t, const double *, double, double) noexcept nogil
        mial_elementwise *binom_mad
        mial_elementwise *binom_excess
        mial_elementwise *binom_shortfall
        mial_elementwise *binom_sf
        mial_elementwise *binom_logpmf
        int (*leakage_sum)(size_t, const double *, double, double, double, double *,
                           size_t *) noexcept nogil
        int (*leakage_atoms)(size_t, const double *, double, double, double, double *,
                             size_t *) noexcept nogil
        void (*cubic_sums)(size_t, size_t, const void *, int, const double *, double,
                           double *) noexcept nogil
        void (*log_linear_sums)(size_t, size_t, const void *, int, const double *,
                                double *) noexcept nogil
        void (*log_quadratic_sums)(size_t, size_t, const void *, int, double, double,
                                   const double *, double *) noexcept nogil
        void (*column_powers)(size_t, size_t, const void *, int, Py_ssize_t, Py_ssize_t,
                              const double *, const double *, int, double *) noexcept nogil
        void (*centre_rows)(size_t, size_t, const void *, int, Py_ssize_t, Py_ssize_t,
                            const double *, const double *, double *, double *) noexcept nogil
        void (*row_norms)(size_t, size_t, const void *, int, Py_ssize_t, Py_ssize_t,
                          const double *, const double *, const double *,
                          double *) noexcept nogil
        size_t (*binomial_window)(double, double, size_t, double *) noexcept nogil
        void (*binomial_weights)(double, double, double, size_t, double *) noexcept nogil
        void (*alias_words)(size_t, const double *, double *, uint32_t *,
                            uint64_t *) noexcept nogil
        void (*alias_ahead)(size_t, const uint64_t *, size_t) noexcept nogil
        void (*alias_draws)(size_t, const uint64_t *, size_t, const uint64_t *, double,
                            double *) noexcept nogil
        void (*lattice_means)(size_t, size_t, const double *, const double *, const double *,
                              double, const int64_t *, size_t, double *) noexcept nogil
        mial_elementwise *poisson_pmf
        void (*count_vectors)(size_t, size_t, const int64_t *, int64_t *) noexcept nogil
        void (*enumerate_labels)(size_t, size_t, size_t, const int64_t *, const double *,
                                 const double *, const int64_t *, double *) noexcept nogil
        void (*enumerate_kernel)(size_t, size_t, size_t, const int64_t *, const double *,
                                 const double *, const double *, size_t, double *) noexcept nogil
        void (*geometric_blur)(size_t, size_t, double, double *, double *) noexcept nogil
        void (*cut_layer)(size_t, size_t, const double *, const double *, double *,
                          int32_t *) noexcept nogil
        void (*cut_path)(size_t, const double *, double, double, double *, double *,
                         int32_t *) noexcept nogil
        void (*moment_sums)(size_t, const int64_t *, const double *, const double *,
                            const double *, const double *, double, double *, double *,
                            double *) noexcept nogil
        void (*moment_wave)(size_t, const int64_t *, const double *, const double *,
                            const double *, double, double, double, size_t, double,
                            const double *, double *, double *) noexcept nogil


cdef const mial_kernels *TABLE
cdef const mial_kernels *NARROW
