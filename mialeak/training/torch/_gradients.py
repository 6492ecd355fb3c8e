"""Gradients of each example, as rows or as factors, and the loss of CANIFE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mialeak._arrays import as_count, invalid
from mialeak.training import GradientSketch, LayerGradients
from mialeak.training.torch._models import (
    Parameters,
    as_array,
    bare,
    chosen_names,
    last_layer,
    name_layer,
    refuse_mixing,
    shortening,
)

__all__ = ["canife_loss", "gradient_blocks", "layer_gradients", "per_sample_gradients"]

Array = npt.NDArray[Any]

#: The target that torch's losses over classes ignore unless they are given another.
_IGNORED = -100
#: Examples whose gradients are held at once.
_BLOCK = 256
#: Entries of gradients that exist at once where they are sketched: 64 MB in single precision.
_ENTRIES = 1 << 24
#: Examples that are compared with their batch, and the share that rounding (to halves) may change.
_PROBES, _ROUNDING = 8, 0.02


def per_sample_gradients(
    model: Any,
    loss: Callable[..., Any],
    x: Any,
    y: Any,
    *,
    parameters: Parameters = "last",
    sketch: GradientSketch | None = None,
    clip_norm: float | None = None,
) -> Array:
    """Gradient of the loss of each example, one a row.

    Parameters
    ----------
    model : torch.nn.Module
        On any device, in training mode or not; it is not changed.
    loss : callable
        ``loss(output, target)`` of a batch of one, a scalar tensor: ``torch.nn.CrossEntropyLoss()``
        or the like.  With class weights, ``reduction="sum"``: the mean divides by the weights, so
        that of one example has none.
    x, y : torch.Tensor or array_like, shape (n, ...)
        Inputs and targets.
    parameters : "last", "all" or sequence of str
        Of the last layer that has parameters, of all layers, or by name as in
        ``model.named_parameters()``.
    sketch : GradientSketch, optional
        Sketches are returned in place of gradients, for models whose n gradients are too long to
        be held: of convolutions and attention with a million parameters.
    clip_norm : float, optional
        Gradients are scaled down to this norm where they are longer, before they are sketched: the
        norm is that of all `parameters` together.

    Returns
    -------
    ndarray, shape (n, d), or (n, sketch.size) of float64
        In the model's precision (bfloat16 as float32); the parameters follow one another in the
        model's order, each flattened row by row, as :class:`ParameterRecorder` holds them.

    Raises
    ------
    ValueError
        If x and y differ in length, a name is unknown, the loss is more than a number, divides by
        class weights, ignores a target of y (``ignore_index``) or is neither the mean nor the sum
        over examples (eight of them are compared with their batch) or has a penalty on the
        parameters, a gradient is not finite, the output for one of these eight depends on the
        others, or a layer has no gradient of one example: it mixes a batch (batch normalisation),
        draws at random (dropout in training mode) or is beyond ``torch.func`` (as GRU is). The
        layer is named.
    ModuleNotFoundError
        Without torch.

    See Also
    --------
    gradient_blocks : the same a block at a time, for data whose gradients do not fit in memory.
    layer_gradients : of a last linear layer, as factors.

    Notes
    -----
    ``torch.func``: ``vmap`` of ``grad`` of a ``functional_call``.  A model that Opacus wraps is
    copied without the hooks of Opacus.  Sketches are computed on the device of the model, for as
    many gradients at once as 64 MB hold in single precision, and for at least one.

    Examples
    --------
    >>> import torch
    >>> from mialeak.training.torch import per_sample_gradients
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> x, y = torch.tensor([[1.0, 2.0], [3.0, 0.0]]), torch.zeros(2, 1)
    >>> with torch.no_grad():
    ...     weight = model.weight.copy_(torch.tensor([[1.0, 1.0]]))
    >>> per_sample_gradients(model, torch.nn.MSELoss(), x, y)
    array([[ 6., 12.],
           [18.,  0.]], dtype=float32)
    """
    options: dict[str, Any] = {"sketch": sketch, "clip_norm": clip_norm}
    return np.concatenate(
        list(gradient_blocks(model, loss, x, y, parameters=parameters, **options))
    )


def gradient_blocks(
    model: Any,
    loss: Callable[..., Any],
    x: Any,
    y: Any,
    *,
    parameters: Parameters = "last",
    block: int = _BLOCK,
    sketch: GradientSketch | None = None,
    clip_norm: float | None = None,
) -> Iterator[Array]:
    """Blocks of :func:`per_sample_gradients`, of `block` rows each.

    Parameters
    ----------
    model, loss, x, y, parameters
        As there.
    block : int, default 256
        Examples a block; of sketches at most as many as there are gradients in 64 MB.
    sketch, clip_norm
        As there.

    Yields
    ------
    ndarray, shape (block, d) or (block, sketch.size)
        The last one may be shorter; one of no rows if there is no example.

    Examples
    --------
    >>> import torch
    >>> from mialeak import StreamingCovariance
    >>> from mialeak.training.torch import gradient_blocks
    >>> model, x, y = torch.nn.Linear(2, 1), torch.randn(1000, 2), torch.randn(1000, 1)
    >>> reference = StreamingCovariance()
    >>> for rows in gradient_blocks(model, torch.nn.MSELoss(), x, y):
    ...     reference = reference.partial_fit(rows)
    >>> reference.n_samples_seen_
    1000
    """
    import torch

    block = as_count(block, "block", least=1)
    model = bare(model)
    chosen = chosen_names(model, parameters)
    refuse_mixing(model)
    x, y = _same_length(x, y)
    _refuse_weighted_means(loss, y)
    _require_apart(model, loss, x, y)
    fixed = {name: value.detach() for name, value in model.named_parameters()}
    fixed |= {name: value.detach() for name, value in model.named_buffers()}
    moving = {name: fixed.pop(name) for name in chosen}
    columns = sum(value.numel() for value in moving.values())
    shorten = shortening(sketch, clip_norm, columns)
    if sketch is not None:
        block = max(1, min(block, _ENTRIES // columns))

    def of_one(values: Any, one_x: Any, one_y: Any) -> Any:
        output = torch.func.functional_call(model, {**fixed, **values}, (one_x[None],))
        return _loss_of_one(loss, output, one_y)

    each = torch.func.vmap(torch.func.grad(of_one), in_dims=(None, 0, 0))
    for start in range(0, max(len(x), 1), block):
        part = slice(start, start + block)
        if not len(x):
            none = next(iter(moving.values())).new_empty((0, columns))
            yield shorten(none)
            return
        try:
            gradients = each(moving, x[part], y[part])
        except RuntimeError:
            name_layer(model, x[part], partial(each, moving, x[part], y[part]))
            raise
        rows = torch.cat([gradients[name].flatten(1) for name in chosen], dim=1)
        if not (is_finite := as_array(rows.isfinite().all(dim=1))).all():
            rule = f"have finite gradients; that of example {start + np.argmin(is_finite)} is not"
            remedy = "Leave out examples with NaN; a model that diverged has no gradients"
            invalid("x", rule, remedy=remedy)
        yield shorten(rows)


def layer_gradients(
    model: Any,
    loss: Callable[..., Any],
    x: Any,
    y: Any,
    *,
    parameters: Literal["last", "all"] = "last",
) -> LayerGradients | list[LayerGradients]:
    """Gradients of linear layers of each example, as factors.

    Parameters
    ----------
    model, loss, x, y
        As in :func:`per_sample_gradients`, but that the layers have to be ``torch.nn.Linear`` on
        one vector an example, and used once.
    parameters : {"last", "all"}
        Of the last layer that has parameters, or of all layers: these are then all linear.

    Returns
    -------
    LayerGradients, or list of these for "all"
        ``.dense()``, one beside the other, are the rows of ``per_sample_gradients(model, loss, x,
        y, parameters=parameters)``.  :class:`mialeak.CovarianceAttack` takes either.

    Raises
    ------
    ValueError
        As there, or if one of the layers is another one or shares parameters with others.

    Notes
    -----
    With n examples and layers of p inputs and C outputs each holds n (p + C) numbers in place of
    n p C: 60 MB in place of 13 GB for 1,500 examples of a perceptron of 1e6 weights.

    Examples
    --------
    >>> import torch
    >>> from mialeak.training.torch import layer_gradients
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> layer_gradients(model, torch.nn.CrossEntropyLoss(), torch.ones(5, 3), torch.ones(5).long())
    LayerGradients(errors (5, 2), inputs (5, 4), bias=True)
    """
    import torch

    if parameters not in ("last", "all"):
        invalid("parameters", "be 'last' or 'all'", value=parameters)
    model = bare(model)
    layers = _linear_layers(model, parameters)
    refuse_mixing(model)
    x, y = _same_length(x, y)
    _refuse_weighted_means(loss, y)
    _require_apart(model, loss, x, y)
    seen: dict[str, list[tuple[Any, Any]]] = {name: [] for name in layers}

    def listen(name: str, layer: Any) -> Any:
        def shift(_: Any, given: Any, output: Any) -> Any:
            zero = torch.zeros_like(output, requires_grad=True)  # its gradient is that of output
            seen[name].append((given[0].detach(), zero))
            return output + zero

        return layer.register_forward_hook(shift, prepend=True)

    hooks = [listen(name, layer) for name, layer in layers.items()]
    try:
        with torch.enable_grad():
            state = _random_state(x)
            output = model(x)
            if not torch.equal(state, _random_state(x)):
                invalid("model", "draw nothing at random", remedy="Call model.eval()")
            for name, calls in seen.items():
                if len(calls) != 1 or calls[0][0].ndim != 2:
                    what = f"its last layer {name!r}" if parameters == "last" else f"layer {name!r}"
                    invalid("model", f"use {what} once, on one vector an example")
            each = torch.func.vmap(lambda one, target: _loss_of_one(loss, one[None], target))
            total = each(output, y).sum()
    finally:
        for hook in hooks:
            hook.remove()
    pairs = [calls[0] for calls in seen.values()]
    errors = torch.autograd.grad(total, [zero for _, zero in pairs])
    factors = [
        LayerGradients(as_array(error), as_array(fed), bias=layer.bias is not None)
        for error, (fed, _), layer in zip(errors, pairs, layers.values(), strict=True)
    ]
    return factors[0] if parameters == "last" else factors


def _linear_layers(model: Any, parameters: str) -> dict[str, Any]:
    """The layers whose gradients are factors, by name; others are refused."""
    import torch

    name, layer = last_layer(model)
    layers = {name: layer}
    if parameters == "all":
        layers = {
            name: module
            for name, module in model.named_modules()
            if any(True for _ in module.parameters(recurse=False))
        }
    every = [value for module in model.modules() for value in module.parameters(recurse=False)]
    for name, layer in layers.items():
        if type(layer) is not torch.nn.Linear:
            kind = type(layer).__name__
            where = "as its last layer" if parameters == "last" else "wherever it has parameters"
            invalid("model", f"have a torch.nn.Linear {where}; {name!r} is a {kind}")
        held = dict(layer.named_parameters(recurse=False))
        is_shared = any(sum(one is value for one in every) > 1 for value in held.values())
        if "weight" not in held or is_shared:
            rule = (
                f"have a {'last ' * (parameters == 'last')}layer whose weight and bias are its own"
            )
            remedy = (
                "per_sample_gradients takes layers that share parameters, or make them of others"
            )
            invalid("model", f"{rule}; those of {name!r} are not", remedy=remedy)
    return layers


def canife_loss(gradient: Any, reference_gradients: Any, clip_norm: float) -> Any:
    """:func:`mialeak.training.canife_loss` of one gradient as a differentiable tensor.

    Parameters
    ----------
    gradient : torch.Tensor, shape (d,)
    reference_gradients : torch.Tensor, shape (r, d)
    clip_norm : float

    Returns
    -------
    torch.Tensor
        A scalar, which can be differentiated by the input of the canary.

    Raises
    ------
    ValueError
        If `clip_norm` is not above 0.

    Examples
    --------
    >>> import torch
    >>> from mialeak.training.torch import canife_loss
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


def _random_state(x: Any) -> Any:
    """Where the generator stands that a model draws from where x is."""
    import torch

    return torch.cuda.get_rng_state(x.device) if x.is_cuda else torch.get_rng_state()


def _loss_of_one(loss: Callable[..., Any], output: Any, target: Any) -> Any:
    value = loss(output, target[None])
    if value.ndim:
        invalid("loss", f"return one number for a batch; its shape is {tuple(value.shape)}")
    return value


def _refuse_weighted_means(loss: Any, y: Any) -> None:
    """Refuse a mean over classes that divides by weights, or by the targets not ignored."""
    import torch

    nn = torch.nn
    if isinstance(loss, type):
        rule = f"be a function of output and target; {loss.__name__} is a class"
        invalid("loss", rule, remedy=f"Pass {loss.__name__}()", error=TypeError)
    if isinstance(loss, partial):
        is_mean_of_classes = loss.func in (nn.functional.cross_entropy, nn.functional.nll_loss)
        settings = loss.keywords
        weight, reduction = settings.get("weight"), settings.get("reduction", "mean")
        ignored = settings.get("ignore_index", _IGNORED)
    else:
        is_mean_of_classes = isinstance(loss, (nn.CrossEntropyLoss, nn.NLLLoss))
        weight, reduction = getattr(loss, "weight", None), getattr(loss, "reduction", "mean")
        ignored = getattr(loss, "ignore_index", _IGNORED)
    if loss in (nn.functional.cross_entropy, nn.functional.nll_loss):
        is_mean_of_classes = True
    if not is_mean_of_classes or reduction != "mean" or y.is_floating_point():
        return
    places = (y == ignored).nonzero()
    if len(places):
        rule = (
            f"have no target that the loss ignores ({ignored}), since its mean over a batch "
            "divides by the number of the others"
        )
        remedy = (
            "Leave out examples without a target, here and in batch_size; where a part of an "
            "example's targets is ignored, pass the loss with reduction='sum'"
        )
        index = tuple(places[0].tolist())
        invalid("y", rule, index=index, value=ignored, remedy=remedy)
    if weight is None:
        return
    rule = (
        "keep its class weights for one example; with reduction='mean' it divides by them, and "
        "they cancel"
    )
    remedy = (
        "Pass the loss with reduction='sum': the gradient of a batch is then the sum of these rows "
        "divided by the sum of its weights"
    )
    invalid("loss", rule, remedy=remedy)


def _require_apart(model: Any, loss: Callable[..., Any], x: Any, y: Any) -> None:
    """Compare a few examples by themselves with the same in one batch.

    The outputs have to agree, and the loss of the batch has to be the mean or the sum of theirs.
    """
    import torch

    if len(x) < 2:
        return
    chosen = torch.linspace(0, len(x) - 1, min(_PROBES, len(x))).long()
    x, y = x[chosen.to(x.device)], y[chosen.to(y.device)]
    values = {name: value.detach() for name, value in model.named_parameters()}
    values |= {name: value.detach().clone() for name, value in model.named_buffers()}

    def output_of(rows: Any) -> Any:
        return torch.func.functional_call(model, values, (rows,))

    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        state = _random_state(x)
        together, apart = output_of(x), [output_of(one[None]) for one in x]
        if not torch.equal(state, _random_state(x)):
            return  # it draws at random, which is refused where gradients are taken
        if isinstance(together, torch.Tensor) and not _near(torch.cat(apart), together):
            rule = "treat the examples of a batch apart; its output for one depends on the others"
            remedy = "An example then has no gradient; leave out what mixes them (a batch's mean)"
            invalid("model", rule, remedy=remedy)
        losses = torch.stack([_loss_of_one(loss, *one) for one in zip(apart, y, strict=True)])
        total = loss(together, y)
    if total.ndim == 0 and not (_near(losses.mean(), total) or _near(losses.sum(), total)):
        rule = (
            f"be the mean or the sum over the examples of a batch; of {len(losses)} it is "
            f"{total.item():.6g}, and their mean is {losses.mean().item():.6g}"
        )
        remedy = (
            "Class weights take reduction='sum', and the shapes of output and target have to agree"
        )
        invalid("loss", rule, remedy=remedy)
    if isinstance(together, torch.Tensor):
        _refuse_penalties(model, loss, together, y)


def _refuse_penalties(model: Any, loss: Callable[..., Any], output: Any, y: Any) -> None:
    """Refuse a loss that depends on the parameters otherwise than by the output of the model."""
    import torch

    with torch.enable_grad():
        total = loss(output.detach(), y)
    trained = [value for value in model.parameters() if value.requires_grad]
    if not total.requires_grad or not trained:
        return
    gradients = torch.autograd.grad(total.sum(), trained, allow_unused=True)
    if any(each is not None for each in gradients):
        rule = "depend on the parameters of the model by its output alone; it has a penalty on them"
        remedy = "Leave the penalty out, and subtract its gradient from those of the batches"
        invalid("loss", rule, remedy=remedy)


def _near(one: Any, other: Any) -> bool:
    """Whether two tensors agree but for rounding, or are not finite."""
    import torch

    if one.shape != other.shape or not one.is_floating_point():
        return bool(one.shape == other.shape)
    one, other = one.double(), other.double()
    if not bool(torch.isfinite(one).all() and torch.isfinite(other).all()):
        return True
    scale = max(float(other.abs().max()), float(one.abs().max())) if one.numel() else 0.0
    return bool((one - other).abs().le(_ROUNDING * scale + _ROUNDING**2).all())


def _same_length(x: Any, y: Any) -> tuple[Any, Any]:
    import torch

    x, y = torch.as_tensor(x), torch.as_tensor(y)
    if x.ndim == 0 or y.ndim == 0 or len(x) != len(y):
        rule = f"have as many examples as x; the shapes are {tuple(y.shape)} and {tuple(x.shape)}"
        invalid("y", rule)
    return x, y
