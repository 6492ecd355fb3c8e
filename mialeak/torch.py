"""Gradients of torch models for the white-box room (extra ``[torch]``).

Per-sample gradients as plain arrays, in blocks that go straight into ``partial_fit``; the
parameters of a model step by step.  Training with differential privacy is Opacus's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, invalid
from mialeak.whitebox import LayerGradients, batch_gradient

__all__ = [
    "ParameterRecorder",
    "canife_loss",
    "gradient_blocks",
    "layer_gradients",
    "per_sample_gradients",
]

Array = npt.NDArray[Any]
#: Which parameters: "last" (of the last layer that has any), "all", or their names.
Parameters = str | Sequence[str]

#: Examples whose gradients are held at once.
_BLOCK = 256


def per_sample_gradients(
    model: Any, loss: Callable[..., Any], x: Any, y: Any, *, parameters: Parameters = "last"
) -> Array:
    """Gradient of the loss of each example, one a row.

    Parameters
    ----------
    model : torch.nn.Module
        On any device, in training mode or not; it is left as it is.
    loss : callable
        ``loss(output, target)`` of a batch of one, a scalar tensor: ``torch.nn.CrossEntropyLoss()``
        or the like.
    x, y : torch.Tensor or array_like, shape (n, ...)
        Inputs and targets.
    parameters : "last", "all" or sequence of str
        Of the last layer that has parameters, of all layers, or by name as in
        ``model.named_parameters()``.

    Returns
    -------
    ndarray, shape (n, d)
        In the model's precision; the parameters follow one another in the model's order, each
        flattened row by row, as :class:`ParameterRecorder` holds them.

    Raises
    ------
    ValueError
        If x and y differ in length, a name is unknown, or a layer mixes the examples of a batch
        (batch normalisation): it has no gradient of one example.
    ModuleNotFoundError
        Without torch.

    See Also
    --------
    gradient_blocks : the same a block at a time, for data whose gradients do not fit in memory.
    layer_gradients : of a last linear layer, as factors.

    Notes
    -----
    ``torch.func``: ``vmap`` of ``grad`` of a ``functional_call``.  Of a model that Opacus wraps a
    copy is made that it does not watch.

    Examples
    --------
    >>> import torch
    >>> from mialeak.torch import per_sample_gradients
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> x, y = torch.tensor([[1.0, 2.0], [3.0, 0.0]]), torch.zeros(2, 1)
    >>> with torch.no_grad():
    ...     weight = model.weight.copy_(torch.tensor([[1.0, 1.0]]))
    >>> per_sample_gradients(model, torch.nn.MSELoss(), x, y)
    array([[ 6., 12.],
           [18.,  0.]], dtype=float32)
    """
    blocks = list(gradient_blocks(model, loss, x, y, parameters=parameters))
    return np.concatenate(blocks)


def gradient_blocks(
    model: Any,
    loss: Callable[..., Any],
    x: Any,
    y: Any,
    *,
    parameters: Parameters = "last",
    block: int = _BLOCK,
) -> Iterator[Array]:
    """Blocks of :func:`per_sample_gradients`, of `block` rows each.

    Parameters
    ----------
    model, loss, x, y, parameters
        As there.
    block : int, default 256
        Examples a block.

    Yields
    ------
    ndarray, shape (block, d)
        The last one may be shorter; one of no rows if there is no example.

    Examples
    --------
    >>> import torch
    >>> from mialeak import StreamingCovariance
    >>> from mialeak.torch import gradient_blocks
    >>> model, x, y = torch.nn.Linear(2, 1), torch.randn(1000, 2), torch.randn(1000, 1)
    >>> reference = StreamingCovariance()
    >>> for rows in gradient_blocks(model, torch.nn.MSELoss(), x, y):
    ...     reference = reference.partial_fit(rows)
    >>> reference.n_samples_seen_
    1000
    """
    import torch

    block = as_count(block, "block", least=1)
    model = _bare(model)
    chosen = _chosen(model, parameters)
    _refuse_mixing(model)
    x, y = _same_length(x, y)
    fixed = {name: value.detach() for name, value in model.named_parameters()}
    fixed |= {name: value.detach() for name, value in model.named_buffers()}
    moving = {name: fixed.pop(name) for name in chosen}

    def of_one(values: Any, one_x: Any, one_y: Any) -> Any:
        output = torch.func.functional_call(model, {**fixed, **values}, (one_x[None],))
        return loss(output, one_y[None])

    each = torch.func.vmap(torch.func.grad(of_one), in_dims=(None, 0, 0))
    for start in range(0, max(len(x), 1), block):
        part = slice(start, start + block)
        if not len(x):
            yield np.empty((0, sum(value.numel() for value in moving.values())), np.float32)
            return
        gradients = each(moving, x[part], y[part])
        rows = torch.cat([gradients[name].flatten(1) for name in chosen], dim=1)
        yield rows.detach().cpu().numpy()


def layer_gradients(model: Any, loss: Callable[..., Any], x: Any, y: Any) -> LayerGradients:
    """Gradients of the last layer of each example, as factors.

    Parameters
    ----------
    model, loss, x, y
        As in :func:`per_sample_gradients`, but that the last layer with parameters has to be
        ``torch.nn.Linear`` on one vector an example, and used once.

    Returns
    -------
    LayerGradients
        ``.dense()`` is ``per_sample_gradients(model, loss, x, y)``.

    Raises
    ------
    ValueError
        As there, or if the last layer is another one.

    Examples
    --------
    >>> import torch
    >>> from mialeak.torch import layer_gradients
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> layer_gradients(model, torch.nn.CrossEntropyLoss(), torch.ones(5, 3), torch.ones(5).long())
    LayerGradients(errors (5, 2), inputs (5, 4), bias=True)
    """
    import torch

    model = _bare(model)
    name, layer = _last_layer(model)
    if type(layer) is not torch.nn.Linear:
        kind = type(layer).__name__
        invalid("model", f"have a torch.nn.Linear as its last layer; {name!r} is a {kind}")
    _refuse_mixing(model)
    x, y = _same_length(x, y)
    seen: list[Any] = []
    hook = layer.register_forward_hook(lambda layer, given, output: seen.append((*given, output)))
    try:
        output = model(x)
    finally:
        hook.remove()
    if len(seen) != 1 or seen[0][0].ndim != 2:
        invalid("model", f"use its last layer {name!r} once, on one vector an example")
    fed, z = seen[0]
    losses = torch.func.vmap(lambda one, target: loss(one[None], target[None]))(output, y)
    (errors,) = torch.autograd.grad(losses.sum(), z)
    return LayerGradients(
        errors.cpu().numpy(), fed.detach().cpu().numpy(), bias=layer.bias is not None
    )


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
        In the model's precision.
    batch_gradients_ : ndarray, shape (steps, d)
        The gradients that the steps followed, with the noise where there is any.

    Raises
    ------
    ValueError
        If the steps of the optimizer are not learning rate times gradient.

    Notes
    -----
    Works as a context manager too: it listens to the optimizer until :meth:`close` or the end of
    the block.

    Examples
    --------
    >>> import torch
    >>> from mialeak.torch import ParameterRecorder
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
        self._check_plain()
        model = getattr(model, "_module", model)  # Opacus wraps it
        names = _chosen(model, parameters)
        held = dict(model.named_parameters())
        self._held = [held[name] for name in names]
        self._seen, self._rates = [self._now()], list[float]()
        self._hook = self._optimizer.register_step_post_hook(self._after_step)

    def _check_plain(self) -> None:
        kind = type(self._optimizer).__name__
        if kind != "SGD":
            invalid("optimizer", f"be torch.optim.SGD, whose steps are its gradients, not {kind}")
        for group in self._optimizer.param_groups:
            for name in ("momentum", "weight_decay", "maximize"):
                if group[name]:
                    remedy = "Its steps are not learning rate times gradient"
                    invalid("optimizer", f"have no {name}", value=group[name], remedy=remedy)
        if len({group["lr"] for group in self._optimizer.param_groups}) > 1:
            invalid("optimizer", "have one learning rate for all parameters")

    def _now(self) -> Array:
        parts = [value.detach().flatten().cpu().numpy() for value in self._held]
        return np.concatenate(parts)

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        self._seen.append(self._now())
        self._rates.append(float(optimizer.param_groups[0]["lr"]))

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


def canife_loss(gradient: Any, reference_gradients: Any, clip_norm: float) -> Any:
    """:func:`mialeak.canife_loss` of one gradient as a differentiable tensor.

    Parameters
    ----------
    gradient : torch.Tensor, shape (d,)
    reference_gradients : torch.Tensor, shape (r, d)
    clip_norm : float

    Returns
    -------
    torch.Tensor
        A scalar: go back through it to the canary's input.

    Raises
    ------
    ValueError
        If `clip_norm` is not above 0.

    Examples
    --------
    >>> import torch
    >>> from mialeak.torch import canife_loss
    >>> g = torch.tensor([0.0, 3.0], requires_grad=True)
    >>> loss = canife_loss(g, torch.tensor([[1.0, 0.0], [0.0, 2.0]]), clip_norm=5.0)
    >>> loss.backward()
    >>> loss.item(), g.grad.tolist()
    (40.0, [0.0, 20.0])
    """
    if not clip_norm > 0.0:
        invalid("clip_norm", "be above 0", value=clip_norm)
    overlap = reference_gradients @ gradient
    short = (clip_norm - gradient.norm()).clamp(min=0.0)
    return overlap @ overlap + short**2


def _last_layer(model: Any) -> tuple[str, Any]:
    """The last module that has parameters of its own, and its name."""
    own = [
        (name, module)
        for name, module in model.named_modules()
        if any(True for _ in module.parameters(recurse=False))
    ]
    if not own:
        invalid("model", "have parameters")
    name, layer = own[-1]
    return name, layer


def _chosen(model: Any, parameters: Parameters) -> list[str]:
    """Names of parameters, in the model's order."""
    names = [name for name, _ in model.named_parameters()]
    if not names:
        invalid("model", "have parameters")
    if isinstance(parameters, str):
        if parameters == "all":
            return names
        if parameters == "last":
            prefix, layer = _last_layer(model)
            own = [name for name, _ in layer.named_parameters(recurse=False)]
            return [f"{prefix}.{name}" if prefix else name for name in own]
        invalid("parameters", "be 'last', 'all' or a sequence of names", value=parameters)
    wanted = list(parameters)
    for place, name in enumerate(wanted):
        if name not in names:
            remedy = f"They are {', '.join(names)}"
            rule = "name parameters of model"
            invalid("parameters", rule, index=place, value=name, remedy=remedy)
    if not wanted:
        invalid("parameters", "name at least one parameter")
    return [name for name in names if name in wanted]


def _refuse_mixing(model: Any) -> None:
    """No layer that normalises over the batch, where one example has no gradient; no chance."""
    for name, module in model.named_modules():
        kind = type(module).__name__
        if "BatchNorm" in kind and (module.training or module.running_mean is None):
            invalid(
                "model",
                f"treat the examples of a batch apart; layer {name!r} is a {kind}, in which they "
                "mix",
                remedy="Call model.eval() to attack with its running statistics, or replace it "
                "by GroupNorm, as DP-SGD needs",
            )
        if "Dropout" in kind and module.training:
            rule = f"draw nothing at random; layer {name!r} is a {kind} in training mode"
            invalid("model", rule, remedy="Call model.eval()")


def _bare(model: Any) -> Any:
    """The model itself or, if Opacus watches it, a copy that it does not see."""
    if not any(hasattr(value, "_forward_counter") for value in model.parameters()):
        return model
    model = copy.deepcopy(getattr(model, "_module", model))
    for module in model.modules():
        module._forward_hooks.clear()
        module._backward_hooks.clear()
    return model


def _same_length(x: Any, y: Any) -> tuple[Any, Any]:
    import torch

    x, y = torch.as_tensor(x), torch.as_tensor(y)
    if x.ndim == 0 or y.ndim == 0 or len(x) != len(y):
        rule = f"have as many examples as x; the shapes are {tuple(y.shape)} and {tuple(x.shape)}"
        invalid("y", rule)
    return x, y
