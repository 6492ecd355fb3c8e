"""The parameters of a model, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid
from mialeak.training import batch_gradient
from mialeak.training.torch._models import Parameters, as_array, chosen_names

__all__ = ["ParameterRecorder"]

Array = npt.NDArray[Any]


class ParameterRecorder:
    """The parameters of a model before the first and after each step of its optimizer.

    Parameters
    ----------
    model : torch.nn.Module
    optimizer : torch.optim.SGD
        Plain: no momentum, weight decay or Nesterov.  With Opacus, its ``DPOptimizer``.
    parameters : "last", "all" or sequence of str
        As in :func:`per_sample_gradients`.

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
        parameters out.

    Notes
    -----
    Works as a context manager too: it listens to the optimizer until :meth:`close` or the end of
    the block.

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

    def __init__(self, model: Any, optimizer: Any, *, parameters: Parameters = "last"):
        self._optimizer = getattr(optimizer, "original_optimizer", optimizer)
        self._rate()
        model = getattr(model, "_module", model)  # Opacus wraps it
        names = chosen_names(model, parameters)
        held = dict(model.named_parameters())
        self._held = [held[name] for name in names]
        moved = {id(value) for group in self._optimizer.param_groups for value in group["params"]}
        for name, value in zip(names, self._held, strict=True):
            if id(value) not in moved or not value.requires_grad:
                remedy = "Name those that are trained"
                invalid("parameters", "be what optimizer steps", value=name, remedy=remedy)
        self._seen, self._rates = [self._now()], list[float]()
        self._hook = self._optimizer.register_step_post_hook(self._after_step)

    def _rate(self) -> float:
        """The learning rate, by which a step has to be its gradient."""
        kind = type(self._optimizer).__name__
        if kind != "SGD":
            invalid("optimizer", f"be torch.optim.SGD, whose steps are its gradients, not {kind}")
        for group in self._optimizer.param_groups:
            for name in ("momentum", "weight_decay", "maximize"):
                if group[name]:
                    remedy = "Its steps are not learning rate times gradient"
                    invalid("optimizer", f"have no {name}", value=group[name], remedy=remedy)
        rates = {float(group["lr"]) for group in self._optimizer.param_groups}
        if len(rates) > 1:
            invalid("optimizer", "have one learning rate for all parameters")
        return rates.pop()

    def _now(self) -> Array:
        return np.concatenate([as_array(value.flatten()) for value in self._held])

    def _after_step(self, *_: Any) -> None:
        self._rates.append(self._rate())
        self._seen.append(self._now())

    @property
    def parameters_(self) -> Array:
        """Parameters before the first step and after each."""
        return np.stack(self._seen)

    @property
    def batch_gradients_(self) -> FloatArray:
        """Gradient that each step followed."""
        path = self.parameters_
        return batch_gradient(path[:-1], path[1:], self._rates)

    def close(self) -> None:
        """Stop listening."""
        self._hook.remove()

    def __enter__(self) -> ParameterRecorder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
