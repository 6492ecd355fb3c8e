/* Every family, and the table of their kernels: included once by each isa_<name>.c. */
#include "mialeak.h"

#include "binomial.h"
#include "checks.h"
#include "coarsening.h"
#include "covariance.h"
#include "draws.h"
#include "enumeration.h"
#include "leakage.h"
#include "moments.h"
#include "scores.h"
#include "tails.h"

#define MIAL_TABLE(isa)                                                                            \
    {                                                                                              \
        .name = isa, .all_within = all_within,                                                     \
        .binom_mad = binom_mad, .binom_excess = binom_excess,                                      \
        .binom_shortfall = binom_shortfall, .binom_sf = binom_sf, .binom_logpmf = binom_logpmf,    \
        .leakage_sum = leakage_sum, .leakage_atoms = leakage_atoms,                                \
        .cubic_sums = cubic_sums, .log_linear_sums = log_linear_sums,                              \
        .log_quadratic_sums = log_quadratic_sums, .column_powers = column_powers,                  \
        .centre_rows = centre_rows, .row_norms = row_norms,                                        \
        .binomial_window = binomial_window, .binomial_weights = binomial_weights,                  \
        .alias_words = alias_words, .alias_ahead = alias_ahead, .alias_draws = alias_draws,        \
        .lattice_means = lattice_means,                                                            \
        .poisson_pmf = poisson_pmf, .count_vectors = count_vectors,                                \
        .enumerate_labels = enumerate_labels,                                                      \
        .enumerate_kernel = enumerate_kernel, .geometric_blur = geometric_blur,                    \
        .cut_layer = cut_layer, .cut_path = cut_path,                                              \
        .moment_sums = moment_sums, .moment_wave = moment_wave,                                    \
    }
