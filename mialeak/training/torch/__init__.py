"""Gradients of torch models for the white-box room (extra ``[torch]``).

Per-sample gradients as plain arrays, in blocks that go straight into ``partial_fit``; the
parameters of a model step by step.  Training with differential privacy is Opacus's.
"""

from mialeak.training.torch._gradients import (
    canife_loss,
    gradient_blocks,
    layer_gradients,
    per_sample_gradients,
)
from mialeak.training.torch._recorder import ParameterRecorder

__all__ = [
    "ParameterRecorder",
    "canife_loss",
    "gradient_blocks",
    "layer_gradients",
    "per_sample_gradients",
]
