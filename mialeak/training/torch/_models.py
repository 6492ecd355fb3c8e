"""Layers and parameters of a model by name, and the layers that are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from mialeak._arrays import invalid

__all__ = [
    "Parameters",
    "as_array",
    "bare",
    "chosen_names",
    "last_layer",
    "name_layer",
    "refuse_mixing",
]

#: Which parameters: "last" (of the last layer that has any), "all", or their names.
Parameters = str | Sequence[str]


def as_array(tensor: Any) -> npt.NDArray[Any]:
    """A tensor as an array of its precision; bfloat16, which NumPy has not, as float32."""
    import torch

    tensor = tensor.detach().cpu()
    array: npt.NDArray[Any] = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return array


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
