"""Which optimizers take steps of learning rate times gradient: plain gradient descent alone.

Torch is not imported: an optimizer is recognised by the name of its class and by its
``param_groups``.
"""

from __future__ import annotations

from typing import Any

from mialeak._arrays import invalid

__all__ = ["plain_rate"]

#: Settings of torch.optim.SGD with which a step is another one, and why.
_SETTINGS = {
    "momentum": "a step with momentum follows a sum of past gradients",
    "weight_decay": "a step with weight decay follows the gradient plus a share of the parameters",
    "maximize": "a step that maximizes has the other sign",
}
_OTHERS = "follow past gradients, or their squares, too"


def plain_rate(optimizer: Any) -> float:
    """The one learning rate of an optimizer whose steps are learning rate times gradient.

    Parameters
    ----------
    optimizer : torch.optim.SGD
        Or the ``DPOptimizer`` of Opacus around one.

    Returns
    -------
    float

    Raises
    ------
    TypeError
        For what is no optimizer.
    ValueError
        For another optimizer, momentum, weight decay, ascent, or several learning rates.
    """
    optimizer = getattr(optimizer, "original_optimizer", optimizer)
    groups = getattr(optimizer, "param_groups", None)
    if not groups:
        rule = "be a torch.optim.SGD"
        invalid("optimizer", rule, value=optimizer, error=TypeError)
    kind = type(optimizer).__name__
    remedy = "Train with torch.optim.SGD(..., lr), or take the batch gradient where it is computed"
    if kind != "SGD":
        rule = f"be torch.optim.SGD, whose steps are its gradients, not {kind}, whose steps"
        invalid("optimizer", f"{rule} {_OTHERS}", remedy=remedy)
    for group in groups:
        for name, reason in _SETTINGS.items():
            if setting := group.get(name):
                rule = f"have no {name}; its {name} is {setting!r}, and {reason}"
                invalid("optimizer", rule, remedy=remedy)
    rates = {float(group["lr"]) for group in groups}
    if len(rates) > 1:
        shown = ", ".join(f"{rate:g}" for rate in sorted(rates)[:3])
        rule = f"have one learning rate for all parameters; it has {shown}"
        invalid("optimizer", rule + ", ..." * (len(rates) > 3))
    return rates.pop()
