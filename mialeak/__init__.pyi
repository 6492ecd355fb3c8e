"""The hall of mialeak; written by tests/stub.py."""

from mialeak import (
    auditing as auditing,
    certificates as certificates,
    covariance as covariance,
    datasets as datasets,
    discrete as discrete,
    estimators as estimators,
    exact as exact,
    games as games,
    guarantees as guarantees,
    laws as laws,
    means as means,
    mechanisms as mechanisms,
    plotting as plotting,
    populations as populations,
    releases as releases,
    scores as scores,
    special as special,
    tables as tables,
    tradeoff as tradeoff,
    training as training,
)
from mialeak._config import show_config as show_config
from mialeak.auditing import (
    audit as audit,
    audit_power as audit_power,
    one_run_audit as one_run_audit,
)
from mialeak.covariance import StreamingCovariance as StreamingCovariance
from mialeak.discrete import (
    atom_leakage as atom_leakage,
    discrete_tradeoff as discrete_tradeoff,
    max_leakage as max_leakage,
    max_leakage_bounds as max_leakage_bounds,
    min_samples as min_samples,
)
from mialeak.estimators import influence_of as influence_of
from mialeak.exact import exact_mean_tradeoff as exact_mean_tradeoff
from mialeak.guarantees import (
    dp_leakage_bound as dp_leakage_bound,
    epsilon_for_leakage as epsilon_for_leakage,
    max_accuracy as max_accuracy,
    noise_multiplier_for_leakage as noise_multiplier_for_leakage,
)
from mialeak.means import (
    gaussian_mean_tradeoff as gaussian_mean_tradeoff,
    leakage_score as leakage_score,
    mean_leakage as mean_leakage,
    mean_tradeoff as mean_tradeoff,
    noise_for_leakage as noise_for_leakage,
    samples_for_leakage as samples_for_leakage,
)
from mialeak.mechanisms import (
    coarsen as coarsen,
    mechanism_leakage as mechanism_leakage,
)
from mialeak.populations import Register as Register
from mialeak.releases import Release as Release
from mialeak.tables import (
    estimate_max_leakage as estimate_max_leakage,
    table_leakage as table_leakage,
)
from mialeak.tradeoff import (
    EmpiricalTradeOff as EmpiricalTradeOff,
    GaussianTradeOff as GaussianTradeOff,
    PiecewiseTradeOff as PiecewiseTradeOff,
    SubsampledTradeOff as SubsampledTradeOff,
    TradeOff as TradeOff,
    compose as compose,
)
from mialeak.training import (
    CovarianceAttack as CovarianceAttack,
    select_canaries as select_canaries,
)

__version__: str
__all__: list[str]

_HALL: dict[str, tuple[str, ...]]
_HOME: dict[str, str]
_ROOMS: tuple[str, ...]
