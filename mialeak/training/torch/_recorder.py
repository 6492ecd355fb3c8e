"""The parameters and gradients of a model, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_flag, invalid
from mialeak.training.torch._models import Parameters, as_array, chosen_names

__all__ = ["ParameterRecorder"]

Array = npt.NDArray[Any]

#: Largest relative change that two roundings of a factor leave, in units of eps.
_ROUNDINGS = 16.0
#: A factor below this, or above its inverse, is that of a scaler of half precision, not clipping.
_SCALED = 2.0**-8


class ParameterRecorder:
    """The batch gradients of a training, and the parameters around each step of its optimizer.

    Parameters
    ----------
    model : torch.nn.Module
    optimizer : torch.optim.Optimizer
        Any: gradients are read where backward leaves them.  With Opacus, its ``DPOptimizer``; the
        gradient is then the one with noise.
    parameters : "last", "all" or sequence of str
        As in :func:`per_sample_gradients`; those of adapters by their names.
    allow_changed : bool
        Whether the gradient is read at the step, with whatever was done to it since backward: for
        a DP-SGD written by hand.  By default it is read before ``clip_grad_norm_``, which scales it
        by a factor that no model shows and made a coin of an attack with an area under the curve of
        0.988; any other change since backward is an error at the step.  Opacus is known, and needs
        no word.
    scaler : torch.amp.GradScaler, optional
        That of a training in half precision: backward leaves its multiples.

    Attributes
    ----------
    parameters_ : ndarray, shape (steps + 1, d)
        In the model's precision (bfloat16 as float32).
    batch_gradients_ : ndarray, shape (steps, d)
        The gradient of each step: of all backward passes since ``zero_grad``, their *sum*, as torch
        accumulates them.

    Raises
    ------
    ValueError
        If the optimizer leaves one of the parameters out; at a step, if gradients were changed
        since backward by more than a factor, or look scaled without a `scaler`, or if the
        parameters were loaded, averaged or scaled since the step before.

    See Also
    --------
    mialeak.training.batch_gradient : from recorded parameters alone.

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
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
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
        scaler: Any = None,
    ):
        allow_changed = as_flag(allow_changed, "allow_changed")
        self._optimizer = getattr(optimizer, "original_optimizer", optimizer)
        if not getattr(self._optimizer, "param_groups", None):
            rule = "be a torch.optim.Optimizer"
            invalid("optimizer", rule, value=optimizer, error=TypeError)
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
        self._seen, self._gradients = [self._now()], list[FloatArray]()
        self._scaler, self._is_late = scaler, allow_changed or by_opacus
        self._computed: dict[int, Any] = {}
        self._hooks = [
            self._optimizer.register_step_pre_hook(self._before_step),
            self._optimizer.register_step_post_hook(self._after_step),
        ]
        if not self._is_late:
            self._hooks += [
                value.register_post_accumulate_grad_hook(self._after_backward)
                for value in self._held
            ]

    def _after_backward(self, value: Any) -> None:
        scale = 1.0 if self._scaler is None else float(self._scaler.get_scale())
        self._computed[id(value)] = value.grad.detach().to_dense().clone(), scale

    def _before_step(self, *_: Any) -> None:
        if not np.array_equal(self._now(), self._seen[-1], equal_nan=True):
            rule = "be all that moves the parameters; they were changed since its step before"
            remedy = "Load, average or scale no parameters between steps"
            invalid("optimizer", rule, remedy=remedy)

    def _after_step(self, *_: Any) -> None:
        computed, self._computed = self._computed, {}
        parts, factors = [], list[float]()
        for name, value in zip(self._names, self._held, strict=True):
            before, scale = computed.get(id(value), (None, 1.0))
            final = None if value.grad is None else value.grad.detach().to_dense()
            if before is not None and final is not None:
                factors.append(self._factor(name, before, final, factors))
            if final is None:  # no backward since zero_grad(): the step leaves the parameter out
                parts.append(np.zeros(value.numel()))
                continue
            gradient = final if before is None else before
            parts.append(as_array(gradient.flatten()).astype(np.float64) / scale)
        self._refuse_scaled(factors)
        self._gradients.append(np.concatenate(parts))
        self._seen.append(self._now())

    def _factor(self, name: str, before: Any, final: Any, others: list[float]) -> float:
        """By what factor a gradient was scaled since backward; of all parameters the same one."""
        import torch

        wide, last = before.double(), final.double()
        square = float((wide * wide).sum())
        if square == 0.0 or not np.isfinite(square):
            return np.nan
        factor = float((wide * last).sum()) / square
        size = float(wide.abs().max()) * abs(factor)
        share = _ROUNDINGS * torch.finfo(before.dtype).eps
        is_scaled = bool((last - factor * wide).abs().max() <= share * size)
        known = [one for one in others if one == one]
        if is_scaled and factor > 0.0 and all(abs(factor / k - 1.0) <= share for k in known):
            return factor
        rule = (
            "step along the gradients that backward computed, or a multiple of them; those of "
            f"{name!r} were changed between backward and step"
        )
        remedy = (
            "Leave that out; pass allow_changed=True if the change is the mechanism itself, as in "
            "a DP-SGD written by hand"
        )
        return invalid("optimizer", rule, remedy=remedy)

    def _refuse_scaled(self, factors: list[float]) -> None:
        """Refuse gradients that look like those of a scaler, which is not known."""
        known = [one for one in factors if one == one]
        if self._scaler is None and known and not _SCALED < known[0] < 1.0 / _SCALED:
            mantissa = np.frexp(known[0])[0]
            if abs(mantissa - 0.5) < 1e-6:
                rule = f"be given: the gradients were multiplied by {known[0]:g} since backward"
                remedy = "Pass the torch.amp.GradScaler; backward leaves its multiples"
                invalid("scaler", rule, remedy=remedy)

    def _now(self) -> Array:
        return np.concatenate([as_array(value.flatten()) for value in self._held])

    @property
    def parameters_(self) -> Array:
        """Parameters before the first step and after each."""
        return np.stack(self._seen)

    @property
    def batch_gradients_(self) -> FloatArray:
        """The gradient of each step."""
        return np.stack(self._gradients) if self._gradients else np.zeros((0, self._seen[0].size))

    def close(self) -> None:
        """Stop listening."""
        for hook in self._hooks:
            hook.remove()

    def __enter__(self) -> ParameterRecorder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
