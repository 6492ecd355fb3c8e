"""The parameters of a model, step by step."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_flag, invalid
from mialeak._optimizers import plain_rate
from mialeak.training import batch_gradient
from mialeak.training.torch._models import Parameters, as_array, chosen_names

__all__ = ["ParameterRecorder"]

Array = npt.NDArray[Any]


#: Share of a gradient by which the step may differ from it: rounding of the parameters.
_SHARE = 0.1


class ParameterRecorder:
    """The parameters of a model before the first and after each step of its optimizer.

    Parameters
    ----------
    model : torch.nn.Module
    optimizer : torch.optim.SGD
        Plain: no momentum, weight decay or Nesterov.  With Opacus, its ``DPOptimizer``.
    parameters : "last", "all" or sequence of str
        As in :func:`per_sample_gradients`.
    allow_changed : bool
        Whether gradients may be changed between backward and step.  By default that is an error at
        the step: ``torch.nn.utils.clip_grad_norm_`` scales the batch's gradient by a factor that
        no model shows, and made a coin of an attack with an area under the curve of 0.988.  A
        DP-SGD written by hand changes gradients rightly; Opacus is known, and needs no word.

    Attributes
    ----------
    parameters_ : ndarray, shape (steps + 1, d)
        In the model's precision (bfloat16 as float32).
    batch_gradients_ : ndarray, shape (steps, d)
        The gradients that the steps followed, with the noise where there is any.

    Raises
    ------
    ValueError
        If the steps of the optimizer are not learning rate times gradient, or leave one of the
        parameters out; at a step, if the gradients were changed after backward, or if the
        parameters did not move by learning rate times gradient since the step before, to a tenth:
        they were loaded, averaged or scaled between steps.  Where no more than their rounding is
        in the way, which is a warning, the gradients read are rounding too.

    Notes
    -----
    Works as a context manager too: it listens to the optimizer until :meth:`close` or the end of
    the block.  Gradients that a hook on the tensor changes (``Tensor.register_hook``) are changed
    within backward, and are not noticed.

    Examples
    --------
    >>> import torch
    >>> from mialeak.training.torch import ParameterRecorder
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    >>> with ParameterRecorder(model, optimizer) as recorder:
    ...     for _ in range(3):
    ...         optimizer.zero_grad()
    ...         model(torch.ones(4, 2)).mean().backward()
    ...         optimizer.step()
    >>> recorder.parameters_.shape
    (4, 3)
    >>> recorder.batch_gradients_.round(3)
    array([[1., 1., 1.],
           [1., 1., 1.],
           [1., 1., 1.]])
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        *,
        parameters: Parameters = "last",
        allow_changed: bool = False,
    ):
        allow_changed = as_flag(allow_changed, "allow_changed")
        plain_rate(optimizer)
        self._optimizer = getattr(optimizer, "original_optimizer", optimizer)
        by_opacus = self._optimizer is not optimizer
        model = getattr(model, "_module", model)  # Opacus wraps it
        names = chosen_names(model, parameters)
        held = dict(model.named_parameters())
        self._names, self._held = names, [held[name] for name in names]
        moved = {id(value) for group in self._optimizer.param_groups for value in group["params"]}
        for name, value in zip(names, self._held, strict=True):
            if id(value) not in moved or not value.requires_grad:
                remedy = "Name those that are trained"
                invalid("parameters", "be what optimizer steps", value=name, remedy=remedy)
        self._seen, self._rates = [self._now()], list[float]()
        self._is_coarse = False
        self._computed: dict[int, Any] = {}
        self._hooks = [self._optimizer.register_step_post_hook(self._after_step)]
        if not (allow_changed or by_opacus):
            self._hooks += [
                value.register_post_accumulate_grad_hook(self._after_backward)
                for value in self._held
            ]

    def _after_backward(self, value: Any) -> None:
        self._computed[id(value)] = value.grad.detach().clone()

    def _require_unchanged(self) -> None:
        """Raise if a gradient is no longer what backward left."""
        import torch

        computed, self._computed = self._computed, {}
        for name, value in zip(self._names, self._held, strict=True):
            before = computed.get(id(value))
            if before is None or value.grad is None:
                continue
            pair = before.to_dense(), value.grad.to_dense()
            if not torch.allclose(*pair, rtol=0.0, atol=0.0, equal_nan=True):
                rule = (
                    f"step along the gradients that backward computed; those of {name!r} were "
                    "changed between backward and step, as clip_grad_norm_ does, and no attack "
                    "sees by what factor"
                )
                remedy = (
                    "Leave that out; pass allow_changed=True if the change is the mechanism "
                    "itself, as in a DP-SGD written by hand"
                )
                invalid("optimizer", rule, remedy=remedy)

    def _now(self) -> Array:
        return np.concatenate([as_array(value.flatten()) for value in self._held])

    def _after_step(self, *_: Any) -> None:
        rate = plain_rate(self._optimizer)
        self._require_unchanged()
        now = self._now()
        self._require_step(now, rate)
        self._rates.append(rate)
        self._seen.append(now)

    def _require_step(self, now: Array, rate: float) -> None:
        """Raise if the parameters did not move along the gradients; warn if rounding hides it."""
        import torch

        if all(value.grad is None for value in self._held):
            return  # another hook has cleared them
        zero = np.float32(0.0)
        gradient = np.concatenate(
            [
                np.full(value.numel(), zero)
                if value.grad is None
                else as_array(value.grad.to_dense().flatten())
                for value in self._held
            ]
        ).astype(np.float64)
        moved = (self._seen[-1].astype(np.float64) - now) / rate
        distance, size = np.linalg.norm(moved - gradient), np.linalg.norm(gradient)
        if distance <= _SHARE * size:
            return
        share = f"{distance / size if size else np.inf:.2g}"
        digits = max(torch.finfo(value.dtype).eps for value in self._held)
        if distance <= digits * np.linalg.norm(now.astype(np.float64)) / rate:
            if not self._is_coarse:
                warnings.warn(
                    f"the parameters are rounded: a step differs from learning rate times gradient "
                    f"by {share} of it, and the attack reads the rounding. Keep parameters in "
                    "float32 or float64, or take a larger learning rate",
                    stacklevel=4,
                )
            self._is_coarse = True
            return
        rule = (
            "move the parameters by learning rate times gradient alone; they moved by another "
            f"{share} of that since the step before"
        )
        remedy = "Load, average or scale no parameters between steps"
        invalid("optimizer", rule, remedy=remedy)

    @property
    def parameters_(self) -> Array:
        """Parameters before the first step and after each."""
        return np.stack(self._seen)

    @property
    def batch_gradients_(self) -> FloatArray:
        """Gradient that each step followed."""
        path = self.parameters_
        if (path[:-1] == path[1:]).all():  # steps of gradient 0, or below the rounding
            return np.zeros((len(path) - 1, *path.shape[1:]))
        return batch_gradient(path[:-1], path[1:], self._rates)

    def close(self) -> None:
        """Stop listening."""
        for hook in self._hooks:
            hook.remove()

    def __enter__(self) -> ParameterRecorder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
