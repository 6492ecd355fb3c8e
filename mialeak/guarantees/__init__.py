"""From leakage to what attackers achieve, and from guarantees to leakage.

The leakage Delta of a procedure, at the weight gamma of the membership game, is the divergence
``D_gamma`` between the worlds *out* (the target is fresh) and *in* (the target is in the data).
gamma = 1 is the balanced game, and the worst one; :func:`gamma_ratio` converts from the share of
non-members and the weight of a true positive.

What holds for every procedure with a guarantee, differential privacy or little mutual information,
is given by bounds.  They are sharp unless their docstring states otherwise.
"""

from mialeak.guarantees._game import divergence, gamma_ratio, max_accuracy
from mialeak.guarantees._guarantees import (
    dp_leakage_bound,
    epsilon_for_leakage,
    noise_multiplier_for_leakage,
)
from mialeak.guarantees._information import mutual_information_bound
from mialeak.guarantees._overfitting import SecurityBound, overfitting_security_bound

__all__ = [
    "SecurityBound",
    "divergence",
    "dp_leakage_bound",
    "epsilon_for_leakage",
    "gamma_ratio",
    "max_accuracy",
    "mutual_information_bound",
    "noise_multiplier_for_leakage",
    "overfitting_security_bound",
]
