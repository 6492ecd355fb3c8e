"""The gradient that a step of an optimizer followed, from the parameters before and after it.

Torch is not imported: an optimizer is recognised by the name of its class and by its
``param_groups``.  With u the step divided by the learning rate, v the momentum buffer, beta the
momentum and tau the dampening, torch's steps are inverted as

    SGD       g = u (first step),  (u - beta v) / (1 - tau) (later)
    Nesterov  g = u / (1 + beta),  (u - beta^2 v) / (1 + beta)
    Adam      the root of a quadratic in each coordinate, or exactly from the state after the step

Weight decay adds ``decay * theta`` to the gradient, or shrinks theta before the step (decoupled).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mialeak._arrays import FloatArray, as_floats, invalid, unsupported

__all__ = ["Settings", "inverted", "settings_of"]

_KINDS = {"SGD": "sgd", "Adam": "adam", "AdamW": "adam"}
_RECORDER = (
    "Read the gradients where they are computed: mialeak.training.torch.ParameterRecorder takes "
    "any optimizer"
)
_COPY = "copy.deepcopy(optimizer.state_dict())"


class Settings(NamedTuple):
    """Settings of torch.optim.SGD, Adam or AdamW: numbers, or one a coordinate."""

    kind: str
    rate: FloatArray
    #: Of SGD.  Dampening is 0 where there is no momentum, as torch ignores it.
    momentum: FloatArray
    dampening: FloatArray
    is_nesterov: FloatArray
    #: Weight decay that is added to the gradient, and that shrinks the parameters.
    coupled: FloatArray
    decoupled: FloatArray
    sign: FloatArray
    #: Of Adam.
    first: FloatArray
    second: FloatArray
    epsilon: FloatArray

    @property
    def needs_state(self) -> bool:
        """Whether a step depends on those before it."""
        return self.kind == "adam" or bool((self.momentum != 0.0).any())


def settings_of(optimizer: Any, columns: int) -> Settings:
    """What the steps of an optimizer do, for `columns` parameters.

    Parameters
    ----------
    optimizer : torch.optim.SGD, Adam or AdamW
        Or the ``DPOptimizer`` of Opacus around one.
    columns : int
        If its groups differ, all its parameters.

    Raises
    ------
    TypeError
        For what is no optimizer.
    ValueError
        For another optimizer, AMSGrad, dampening 1, or groups that differ.
    """
    optimizer = getattr(optimizer, "original_optimizer", optimizer)
    groups = getattr(optimizer, "param_groups", None)
    if not groups:
        rule = "be a torch.optim.SGD, Adam or AdamW"
        invalid("optimizer", rule, value=optimizer, error=TypeError)
    name = type(optimizer).__name__
    if name not in _KINDS:
        why = "no inverse of its steps is known here"
        unsupported("batch_gradient", f"for {name}", why, _RECORDER)
    rows = [_of_group(name, group) for group in groups]
    if any(row != rows[0] for row in rows):
        sizes = [sum(value.numel() for value in group["params"]) for group in groups]
        if sum(sizes) != columns:
            rule = (
                f"have the same settings in all its groups, or step the {columns} parameters given "
                f"and no others; it steps {sum(sizes)}"
            )
            invalid("optimizer", rule, remedy=_RECORDER)
        table = np.repeat(np.array(rows), sizes, axis=0).T
    else:
        table = np.array(rows[0])
    return Settings(_KINDS[name], *table)


def _of_group(name: str, group: Mapping[str, Any]) -> tuple[float, ...]:
    """The settings of one group."""
    if group.get("amsgrad"):
        why = "its steps depend on a maximum that they do not show"
        unsupported("batch_gradient", "for AMSGrad", why, _RECORDER)
    momentum = float(group.get("momentum", 0.0))
    dampening = float(group.get("dampening", 0.0)) if momentum else 0.0
    if dampening == 1.0:
        why = "after the first step no gradient enters the momentum"
        unsupported("batch_gradient", "for SGD with dampening 1", why, _RECORDER)
    decay = float(group.get("weight_decay", 0.0))
    is_decoupled = name == "AdamW" or bool(group.get("decoupled_weight_decay", False))
    first, second = group.get("betas", (0.0, 0.0))
    return (
        float(group["lr"]),
        momentum,
        dampening,
        float(bool(group.get("nesterov", False))),
        0.0 if is_decoupled else decay,
        decay if is_decoupled else 0.0,
        -1.0 if group.get("maximize") else 1.0,
        float(first),
        float(second),
        float(group.get("eps", 0.0)),
    )


def inverted(
    before: FloatArray,
    after: FloatArray,
    rates: FloatArray,
    settings: Settings,
    state: Any,
    optimizer: Any,
) -> FloatArray:
    """Gradients (S, d) of S steps that follow one another, from parameters (S, d) around them."""
    steps, columns = before.shape
    states = _states(state, settings, columns, steps, optimizer)
    if settings.needs_state and steps > 1 and not np.array_equal(before[1:], after[:-1]):
        rule = (
            "be theta_before of the next step: a step of this optimizer depends on the one before"
        )
        invalid("theta_after", rule)
    gradients = np.empty_like(before)
    moved = (before * (1.0 - rates * settings.decoupled) - after) / rates
    if settings.kind == "sgd":
        _invert_sgd(moved, settings, states, gradients)
    elif len(states) > 1:
        for t in range(steps):
            old, new = states[t]["exp_avg"], states[t + 1]["exp_avg"]
            gradients[t] = (new - settings.first * old) / (1.0 - settings.first)
    else:
        _invert_adam(moved, settings, states[0], gradients)
    return np.asarray(settings.sign * (gradients - settings.coupled * before))


def _invert_sgd(moved: FloatArray, settings: Settings, states: Any, gradients: FloatArray) -> None:
    beta, tau, nesterov = settings.momentum, settings.dampening, settings.is_nesterov
    fresh, buffer = (True, 0.0)
    if settings.needs_state:
        fresh, buffer = states[0]["fresh"], states[0]["momentum_buffer"]
    for t, step in enumerate(moved):
        plain = np.where(fresh, step, (step - beta * buffer) / (1.0 - tau))
        # The buffer before the first step is 0: the formula of later steps holds for it.
        gradients[t] = np.where(nesterov > 0.0, (step - beta**2 * buffer) / (1.0 + beta), plain)
        added = np.where(fresh, gradients[t], (1.0 - tau) * gradients[t])
        buffer, fresh = beta * buffer + added, False


def _invert_adam(
    moved: FloatArray, settings: Settings, state: Mapping[str, Any], gradients: FloatArray
) -> None:
    """By the quadratic ``(A^2 - u^2 C) g^2 + 2 A (B - u e) g + (B - u e)^2 - u^2 D = 0``."""
    first, second, epsilon = settings.first, settings.second, settings.epsilon
    m, v, count = state["exp_avg"], state["exp_avg_sq"], state["step"]
    for t, u in enumerate(moved):
        count = count + 1.0
        a, b = (1.0 - first) / (1.0 - first**count), first * m / (1.0 - first**count)
        c, d = (1.0 - second) / (1.0 - second**count), second * v / (1.0 - second**count)
        gap = b - u * epsilon
        lead, half, last = a * a - u * u * c, a * gap, gap * gap - u * u * d
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(np.maximum(half * half - lead * last, 0.0))
            away = -(half + np.copysign(spread, half))
            roots = np.stack([last / away, away / lead])
        right = np.isfinite(roots) & (np.sign(a * roots + gap) == np.sign(u))
        twice = right.all(axis=0) & (np.abs(roots[0] - roots[1]) > 1e-6 * np.abs(roots).max(axis=0))
        if twice.any():
            share = 100.0 * float(twice.mean())
            rule = (
                f"determine the gradients; at step {int(np.max(count))} of Adam {share:.2g}% of "
                "the coordinates have two that give the same step"
            )
            remedy = (
                f"Pass state=[before, after], {_COPY} around each step, or begin at a later step: "
                "where batches vary, hardly a coordinate has two from the hundredth on"
            )
            invalid("theta_after", rule, remedy=remedy)
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = np.where(lead != 0.0, -half / lead, 0.0)  # rounding left no root
        g = np.where(right[0], roots[0], np.where(right[1], roots[1], vertex))
        g = np.where(u == 0.0, -b / a, g)
        gradients[t] = g
        m, v = first * m + (1.0 - first) * g, second * v + (1.0 - second) * g * g


def _states(
    state: Any, settings: Settings, columns: int, steps: int, optimizer: Any
) -> list[dict[str, Any]]:
    """The states given, as flat arrays; none for steps that need none."""
    if not settings.needs_state:
        return []
    if state is None:
        kind = "momentum" if settings.kind == "sgd" else "Adam"
        why = "a step depends on those before it"
        remedy = (
            f"Pass state={_COPY} of a moment before the first of these steps; that of a new "
            f"optimizer counts. Or: {_RECORDER[0].lower()}{_RECORDER[1:]}"
        )
        unsupported("batch_gradient", f"for steps with {kind} and no state", why, remedy)
    listed = list(state) if isinstance(state, Sequence) else [state]
    if len(listed) not in (1, steps + 1):
        rule = f"be one state, or {steps + 1}: before the first step and after each"
        invalid("state", f"{rule}; got {len(listed)}")
    live = _addresses(getattr(optimizer, "state", {}).values())
    flat = []
    for place, one in enumerate(listed):
        if not isinstance(one, Mapping) or not {"state", "param_groups"} <= set(one):
            rule = "be state_dict() of the optimizer"
            invalid("state", rule, index=place, value=one, error=TypeError)
        is_last = place > 0 and place + 1 == len(listed)
        if not is_last and live & _addresses(one["state"].values()):
            rule = "be a copy; it holds the tensors that the optimizer changes in place"
            invalid("state", rule, index=place, remedy=f"Pass {_COPY}")
        flat.append(_flat(one, settings.kind, columns, place))
    if settings.kind == "adam" and len(flat) == 1 and not np.all(flat[0]["step"] >= 1.0):
        why = "they show little more than the signs of its gradient"
        remedy = f"Pass state=[before, after], {_COPY} around each step, or a later state"
        unsupported("batch_gradient", "for the first step of Adam by its parameters", why, remedy)
    return flat


def _addresses(states: Any) -> set[int]:
    """Where the tensors of states lie; of counters no matter."""
    tensors = [value for one in states for key, value in one.items() if key != "step"]
    return {value.data_ptr() for value in tensors if hasattr(value, "data_ptr") and value.numel()}


def _flat(state: Mapping[str, Any], kind: str, columns: int, place: int) -> dict[str, Any]:
    """One state_dict, tensor after tensor as the groups list them."""
    names = ("momentum_buffer",) if kind == "sgd" else ("exp_avg", "exp_avg_sq")
    keys = [key for group in state["param_groups"] for key in group["params"]]
    held = [state["state"].get(key) or {} for key in keys]
    held = [one if one.get(names[0]) is not None else {} for one in held]
    sizes = [int(np.prod(one[names[0]].shape)) if one else 0 for one in held]
    if not any(sizes):
        zero = np.zeros(columns)
        return dict.fromkeys(names, zero) | {"fresh": True, "step": zero}
    if sum(sizes) != columns or not all(held):
        rule = (
            f"be of the {columns} parameters given, all that the optimizer steps and in its order; "
            f"it is of {sum(sizes)}"
        )
        invalid("state", rule, index=place, remedy=_RECORDER)
    flat: dict[str, Any] = {"fresh": False}
    for name in names:
        flat[name] = np.concatenate([_array(one[name]).ravel() for one in held])
    counts = [float(one.get("step", 0.0)) for one in held]
    flat["step"] = np.repeat(counts, sizes)
    return flat


def _array(tensor: Any) -> FloatArray:
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().double().numpy()
    return as_floats(tensor, "state")
