"""Layers and parameters of a model by name, refused layers; tensors as arrays, or sketched."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import invalid
from mialeak.training import GradientSketch

__all__ = [
    "Parameters",
    "as_array",
    "bare",
    "chosen_names",
    "last_layer",
    "name_layer",
    "refuse_mixing",
    "shortening",
]

#: Which parameters: "last" (of the last layer that has any), "all", or their names.
Parameters = str | Sequence[str]


def as_array(tensor: Any) -> npt.NDArray[Any]:
    """A tensor as an array of its precision; bfloat16, which NumPy has not, as float32."""
    import torch

    tensor = tensor.detach().cpu()
    array: npt.NDArray[Any] = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return array


def shortening(
    sketch: GradientSketch | None, clip_norm: float | None, columns: int
) -> Callable[[Any], npt.NDArray[Any]]:
    """What makes an array of gradients on a device: clipped, sketched, or as they are."""
    if clip_norm is not None and not clip_norm > 0.0:
        invalid("clip_norm", "be above 0", value=clip_norm)
    if sketch is not None and sketch.columns != columns:
        rule = f"be of the {columns} parameters that are named; it is of {sketch.columns}"
        invalid("sketch", rule, value=sketch)
    held: list[Any] = []

    def shorten(rows: Any) -> npt.NDArray[Any]:
        if clip_norm is not None:
            lengths = rows.double().norm(dim=1, keepdim=True)
            rows = (rows * (clip_norm / lengths).clamp(max=1.0)).to(rows.dtype)
        if sketch is None:
            return as_array(rows)
        if rows.device.type == "cpu":  # the same sums on every CPU
            return sketch.transform(as_array(rows))
        held[:] = held or _on_device(sketch, rows)
        return _device_sketch(rows, sketch.size, *held)

    return shorten


def _on_device(sketch: GradientSketch, like: Any) -> list[Any]:
    import torch

    buckets = torch.as_tensor(sketch.buckets, device=like.device).long()
    return [buckets, torch.as_tensor(sketch.signs, device=like.device)]


def _device_sketch(rows: Any, size: int, buckets: Any, signs: Any) -> npt.NDArray[Any]:
    import torch

    wide = torch.float32 if rows.dtype in (torch.float16, torch.bfloat16) else rows.dtype
    sums = torch.zeros((len(rows), size), dtype=wide, device=rows.device)
    sums.index_add_(1, buckets, rows.to(wide) * signs.to(wide))
    return as_array(sums).astype(np.float64)


def last_layer(model: Any) -> tuple[str, Any]:
    """The last module that has parameters of its own, and its name."""
    with_parameters = [
        (name, module)
        for name, module in model.named_modules()
        if any(True for _ in module.parameters(recurse=False))
    ]
    if not with_parameters:
        invalid("model", "have parameters")
    name, layer = with_parameters[-1]
    return name, layer


def chosen_names(model: Any, parameters: Parameters) -> list[str]:
    """Names of parameters, in the model's order."""
    names = [name for name, _ in model.named_parameters()]
    if not names:
        invalid("model", "have parameters")
    if isinstance(parameters, str):
        if parameters == "all":
            return names
        if parameters == "last":
            with_parameters = {
                id(value) for value in last_layer(model)[1].parameters(recurse=False)
            }
            return [
                name for name, value in model.named_parameters() if id(value) in with_parameters
            ]
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


def refuse_mixing(model: Any) -> None:
    """Refuse layers in which examples mix, so that one has no gradient, or that draw or change."""
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
        if module.training and _draws(module, kind):
            rule = f"draw nothing at random; layer {name!r} is a {kind} in training mode"
            invalid("model", rule, remedy="Call model.eval()")
        if module.training and getattr(module, "track_running_stats", False):
            rule = f"not change; layer {name!r} is a {kind} that updates its statistics"
            invalid("model", rule, remedy="Call model.eval()")


def _draws(module: Any, kind: str) -> bool:
    """Whether a layer drops at random: by its kind, or inside, as attention and LSTM do."""
    if kind == "RReLU":
        return True
    share = getattr(module, "p", 1.0) if "Dropout" in kind else getattr(module, "dropout", 0.0)
    return isinstance(share, (int, float)) and share > 0.0


def name_layer(model: Any, x: Any, fails: Callable[[], Any]) -> None:
    """Refuse the layer in which torch.func `fails`, if the model itself takes x."""
    import torch

    with torch.no_grad():
        model(x)  # torch reports what is wrong with this
    inside: list[Any] = []

    def enter(layer: Any, _: Any) -> None:
        inside.append(layer)

    def leave(*_: Any) -> None:
        inside.pop()

    names = {layer: name for name, layer in model.named_modules()}
    hooks = [layer.register_forward_pre_hook(enter) for layer in names]
    hooks += [layer.register_forward_hook(leave) for layer in names]
    try:
        fails()
    except RuntimeError as error:
        if inside:
            rule = "have layers that torch.func can take example by example"
            where = f"layer {names[inside[-1]]!r} is a {type(inside[-1]).__name__} ({error})"
            remedy = "layer_gradients can do without, for a last linear layer"
            invalid("model", f"{rule}; {where}", remedy=remedy)
    finally:
        for hook in hooks:
            hook.remove()


def bare(model: Any) -> Any:
    """The model itself or, if Opacus watches it, a copy that it does not see."""
    if not any(hasattr(value, "_forward_counter") for value in model.parameters()):
        return model
    model = copy.deepcopy(getattr(model, "_module", model))
    for module in model.modules():
        module._forward_hooks.clear()
        module._backward_hooks.clear()
    return model
