"""How much does a release leak about who was in the data?

mialeak answers for a table of counts, a released mean and a model's gradient steps: exactly and
fast, with a number that says what it is (exact, bound, asymptotic or estimate).

Two worlds are compared throughout.  *Out*: ``n`` fresh rows.  *In*: the target and ``n - 1`` fresh
rows.  Both have ``n`` rows (substitution), and ``n`` counts the target.

Importing the package costs little more than importing NumPy: rooms load when a name of theirs is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mialeak._version import __version__

if TYPE_CHECKING:
    from mialeak._config import show_config as show_config
    from mialeak.audit import (
        AuditPower as AuditPower,
        AuditResult as AuditResult,
        OneRunResult as OneRunResult,
        audit_power as audit_power,
        one_run_audit as one_run_audit,
    )
    from mialeak.covariance import StreamingCovariance as StreamingCovariance
    from mialeak.datasets import (
        load_adult as load_adult,
        load_genotypes as load_genotypes,
    )
    from mialeak.discrete import (
        EnclosedTradeOff as EnclosedTradeOff,
        atom_leakage as atom_leakage,
        discrete_tradeoff as discrete_tradeoff,
        diversity as diversity,
        diversity_bounds as diversity_bounds,
        diversity_range as diversity_range,
        gini_simpson as gini_simpson,
        max_leakage as max_leakage,
        max_leakage_bounds as max_leakage_bounds,
        min_samples as min_samples,
        shannon_entropy as shannon_entropy,
    )
    from mialeak.estimators import (
        InfluenceFunctions as InfluenceFunctions,
        influence_of as influence_of,
        joint_influence as joint_influence,
        least_squares_influence as least_squares_influence,
        logistic_influence as logistic_influence,
        mean_influence as mean_influence,
        quantile_influence as quantile_influence,
        variance_influence as variance_influence,
        z_estimator as z_estimator,
    )
    from mialeak.exact import (
        ExactTradeOff as ExactTradeOff,
        exact_tradeoff as exact_tradeoff,
    )
    from mialeak.games import (
        AverageTargetGame as AverageTargetGame,
        FixedTargetGame as FixedTargetGame,
        Rounds as Rounds,
        draw_rows as draw_rows,
    )
    from mialeak.marginals import (
        Bernoulli as Bernoulli,
        Genotype as Genotype,
        Lattice as Lattice,
        Normal as Normal,
        Presence as Presence,
    )
    from mialeak.mean import (
        GaussianMeanTradeOff as GaussianMeanTradeOff,
        easiest_target as easiest_target,
        gaussian_mean_tradeoff as gaussian_mean_tradeoff,
        gaussian_release_tradeoff as gaussian_release_tradeoff,
        hardest_target as hardest_target,
        leakage_score as leakage_score,
        margin_leakage_scores as margin_leakage_scores,
        mean_leakage as mean_leakage,
        mean_tradeoff as mean_tradeoff,
        misspecified_advantage as misspecified_advantage,
        noise_for_leakage as noise_for_leakage,
        row_leakage_scores as row_leakage_scores,
        samples_for_leakage as samples_for_leakage,
    )
    from mialeak.mechanisms import (
        Coarsening as Coarsening,
        Geometric as Geometric,
        Histogram as Histogram,
        Maximum as Maximum,
        Mean as Mean,
        MechanismLeakage as MechanismLeakage,
        Mode as Mode,
        RandomRound as RandomRound,
        Round as Round,
        Suppress as Suppress,
        coarsen as coarsen,
        compare_mechanisms as compare_mechanisms,
        discretize as discretize,
        mechanism_leakage as mechanism_leakage,
        sampled_mechanism_leakage as sampled_mechanism_leakage,
    )
    from mialeak.plotting import (
        AuditDisplay as AuditDisplay,
        LeakageDisplay as LeakageDisplay,
        TradeOffDisplay as TradeOffDisplay,
    )
    from mialeak.scores import (
        bernoulli_score as bernoulli_score,
        covariance_score as covariance_score,
        edgeworth_score as edgeworth_score,
        edgeworth_terms as edgeworth_terms,
        genotype_score as genotype_score,
        glir_score as glir_score,
        mixture_score as mixture_score,
        scalar_product_score as scalar_product_score,
    )
    from mialeak.security import (
        divergence as divergence,
        dp_leakage_bound as dp_leakage_bound,
        epsilon_for_leakage as epsilon_for_leakage,
        gamma_ratio as gamma_ratio,
        max_accuracy as max_accuracy,
        mean_samples_needed as mean_samples_needed,
        mutual_information_bound as mutual_information_bound,
        noise_multiplier_for_leakage as noise_multiplier_for_leakage,
        overfitting_security_bound as overfitting_security_bound,
    )
    from mialeak.special import (
        binom_excess as binom_excess,
        binom_logpmf as binom_logpmf,
        binom_mad as binom_mad,
        binom_sf as binom_sf,
        binom_shortfall as binom_shortfall,
    )
    from mialeak.tables import (
        estimate_atom_leakage as estimate_atom_leakage,
        estimate_max_leakage as estimate_max_leakage,
        table_leakage as table_leakage,
    )
    from mialeak.tradeoff import (
        EmpiricalTradeOff as EmpiricalTradeOff,
        GaussianTradeOff as GaussianTradeOff,
        PiecewiseTradeOff as PiecewiseTradeOff,
        SubsampledTradeOff as SubsampledTradeOff,
        TradeOff as TradeOff,
    )
    from mialeak.whitebox import (
        Canaries as Canaries,
        CovarianceAttack as CovarianceAttack,
        LayerGradients as LayerGradients,
        batch_gradient as batch_gradient,
        blank_canaries as blank_canaries,
        canife_loss as canife_loss,
        dirac_canary as dirac_canary,
        dp_sgd_audit as dp_sgd_audit,
        mislabelled_canaries as mislabelled_canaries,
        rank_canaries as rank_canaries,
        select_canaries as select_canaries,
    )

#: Where each public name lives.  The functions `security.security` and `audit.audit` have no short
#: form, since `mialeak.security` and `mialeak.audit` are their rooms.
_ROOMS = {
    "special": (
        "binom_excess",
        "binom_logpmf",
        "binom_mad",
        "binom_sf",
        "binom_shortfall",
    ),
    "discrete": (
        "EnclosedTradeOff",
        "atom_leakage",
        "discrete_tradeoff",
        "diversity",
        "diversity_bounds",
        "diversity_range",
        "gini_simpson",
        "max_leakage",
        "max_leakage_bounds",
        "min_samples",
        "shannon_entropy",
    ),
    "tables": (
        "estimate_atom_leakage",
        "estimate_max_leakage",
        "table_leakage",
    ),
    "tradeoff": (
        "EmpiricalTradeOff",
        "GaussianTradeOff",
        "PiecewiseTradeOff",
        "SubsampledTradeOff",
        "TradeOff",
    ),
    "security": (
        "divergence",
        "dp_leakage_bound",
        "epsilon_for_leakage",
        "gamma_ratio",
        "max_accuracy",
        "mean_samples_needed",
        "mutual_information_bound",
        "noise_multiplier_for_leakage",
        "overfitting_security_bound",
    ),
    "mean": (
        "GaussianMeanTradeOff",
        "easiest_target",
        "gaussian_mean_tradeoff",
        "gaussian_release_tradeoff",
        "hardest_target",
        "leakage_score",
        "margin_leakage_scores",
        "mean_leakage",
        "mean_tradeoff",
        "misspecified_advantage",
        "noise_for_leakage",
        "row_leakage_scores",
        "samples_for_leakage",
    ),
    "estimators": (
        "InfluenceFunctions",
        "influence_of",
        "joint_influence",
        "least_squares_influence",
        "logistic_influence",
        "mean_influence",
        "quantile_influence",
        "variance_influence",
        "z_estimator",
    ),
    "exact": (
        "ExactTradeOff",
        "exact_tradeoff",
    ),
    "marginals": (
        "Bernoulli",
        "Genotype",
        "Lattice",
        "Normal",
        "Presence",
    ),
    "scores": (
        "bernoulli_score",
        "covariance_score",
        "edgeworth_score",
        "edgeworth_terms",
        "genotype_score",
        "glir_score",
        "mixture_score",
        "scalar_product_score",
    ),
    "audit": (
        "AuditPower",
        "AuditResult",
        "OneRunResult",
        "audit_power",
        "one_run_audit",
    ),
    "covariance": ("StreamingCovariance",),
    "whitebox": (
        "Canaries",
        "CovarianceAttack",
        "LayerGradients",
        "batch_gradient",
        "blank_canaries",
        "canife_loss",
        "dirac_canary",
        "dp_sgd_audit",
        "mislabelled_canaries",
        "rank_canaries",
        "select_canaries",
    ),
    "games": (
        "AverageTargetGame",
        "FixedTargetGame",
        "Rounds",
        "draw_rows",
    ),
    "mechanisms": (
        "Coarsening",
        "Geometric",
        "Histogram",
        "Maximum",
        "Mean",
        "MechanismLeakage",
        "Mode",
        "RandomRound",
        "Round",
        "Suppress",
        "coarsen",
        "compare_mechanisms",
        "discretize",
        "mechanism_leakage",
        "sampled_mechanism_leakage",
    ),
    "plotting": (
        "AuditDisplay",
        "LeakageDisplay",
        "TradeOffDisplay",
    ),
    "datasets": (
        "load_adult",
        "load_genotypes",
    ),
    "_config": ("show_config",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *_HOME, *(room for room in _ROOMS if not room.startswith("_"))]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
