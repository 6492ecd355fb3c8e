"""White-box attacks on gradient steps, and the canaries that make them strong.

A step of gradient descent releases the mean of a batch of gradients.  Whether the gradient of a
target is in it is the question of :mod:`mialeak.scores`, with the gradients as rows: here are the
attack over many steps and many targets at once, the choice of targets that are easiest to find,
and an audit of DP-SGD in one run.
"""

from mialeak.training._attack import CovarianceAttack
from mialeak.training._audit import dp_sgd_audit
from mialeak.training._canaries import (
    Canaries,
    blank_canaries,
    canife_loss,
    dirac_canary,
    mislabelled_canaries,
    select_canaries,
)
from mialeak.training._gradients import LayerGradients, batch_gradient
from mialeak.training._sketch import GradientSketch, SketchPower
from mialeak.training._verdict import DPSGDAudit

__all__ = [
    "Canaries",
    "CovarianceAttack",
    "DPSGDAudit",
    "GradientSketch",
    "LayerGradients",
    "SketchPower",
    "batch_gradient",
    "blank_canaries",
    "canife_loss",
    "dirac_canary",
    "dp_sgd_audit",
    "mislabelled_canaries",
    "select_canaries",
]
