"""Gradients: of a batch, from two models; of a linear layer, as factors; clipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, as_flag, as_float, as_floats, invalid, require
from mialeak._warnings import warn
from mialeak.training._optimizers import inverted, settings_of

__all__ = [
    "LayerGradients",
    "as_clip_norm",
    "as_norm",
    "batch_gradient",
    "clipped",
    "gradients_dot",
    "norms",
]

#: Binary digits of bfloat16, half and single precision.
_DIGITS = (8, 11, 24)
#: Parameters that are looked at, at most, and at least: the digits of some have no meaning.
_SAMPLED, _FEWEST = 65_536, 100
#: The rounding of a step that is warned of, relative to its norm.
_ROUNDED = 0.1
#: Entries of the first step of Adam, of which each is the learning rate: so many parameters at
#: least, and this share of those that changed, are within this distance of 1 and -1.
_MOVED, _NEARLY_ALL, _OFF = 16, 0.9, 0.01


def batch_gradient(
    theta_before: Any,
    theta_after: Any,
    learning_rate: Any = None,
    *,
    optimizer: Any = None,
    state: Any = None,
) -> FloatArray:
    """Gradient that a step of an optimizer followed.

    Parameters
    ----------
    theta_before, theta_after : array_like, shape (..., d)
        Parameters before and after the step; of many steps at once, one a row.
    learning_rate : float or array_like, shape (...), optional
        The step's learning rate, above 0.  Without `optimizer` this states that the steps were
        those of plain gradient descent: no momentum, weight decay or adaptive steps, and no
        clipping of the batch's gradient.  What was computed of other steps is no gradient; only
        the first step of Adam is noticed.  An optimizer in this place is taken as `optimizer`.
    optimizer : torch.optim.SGD, Adam or AdamW, optional
        The optimizer that took the steps.  Its settings are inverted: momentum, dampening,
        Nesterov, weight decay (coupled and decoupled) and ``maximize``, and it gives the learning
        rate if that is not given.  Where its groups differ, the parameters have to be all that it
        steps, in its order.
    state : dict, or sequence of these, optional
        ``copy.deepcopy(optimizer.state_dict())`` of the moment before the first step; that of a
        new optimizer, for its first step, counts.  With momentum and with Adam a step depends on
        those before it: they have to follow one another.  A sequence holds the state before the
        first step and after each.

    Returns
    -------
    ndarray, shape (..., d)
        ``(theta_before - theta_after) / learning_rate`` for plain gradient descent.

    Raises
    ------
    TypeError
        If neither a learning rate nor an optimizer is given, or the optimizer is none.
    ValueError
        If the shapes differ, anything is NaN or infinite, a learning rate is not above 0, a
        gradient overflows, no parameter changed at all (they were not copied before the step), or
        the steps cannot be inverted: of AMSGrad, with dampening 1, of other optimizers, without a
        state, or of Adam where two gradients give the same step.

    Warns
    -----
    UserWarning
        If the parameters were rounded to so few digits, as those of half precision are, that this
        is more than a tenth of the step.  Without `optimizer`, if nearly all entries of a step are
        1 and -1, as those of the first step of Adam are, whatever the gradient.

    Notes
    -----
    Descent moves against the gradient, hence before less after.  [AB25] Algorithm 4 prints the
    other sign, with which the attack prefers those who were out: AUC 0.12 in place of 0.88 on a
    test case.  That a batch's gradient was clipped before the step is not seen, which made a coin
    of an attack with an area under the curve of 0.988.
    :class:`mialeak.training.torch.ParameterRecorder` reads the gradient before that.

    Adam's step has two solutions in 48 % of the coordinates at its second step, 5 % at the
    twentieth and hardly any from the hundredth on (betas 0.9 and 0.999, batches that vary; with the
    same batch at each step more).  Its first moment before and after the step gives the gradient
    exactly.

    **Accuracy.**  Parameters held in float32 leave an error of about ``6e-8 |theta| /
    learning_rate`` in each entry.  Relative error of the gradient's norm, the largest of 40 steps
    of a linear model in torch, float64 and float32: momentum, Nesterov and decay 2e-14 and 7e-6,
    Adam by its states 5e-16 and 2e-7, by one state after 100 steps and the parameters 1e-12 and
    1e-3 (learning rate 1e-3).  Momentum 0.99 leaves 1e-4 in float32 after 2,000 steps.

    Examples
    --------
    >>> from mialeak.training import batch_gradient
    >>> batch_gradient([1.0, 2.0], [0.5, 2.25], 0.25)
    array([ 2., -1.])

    Two steps with momentum, from a new optimizer:

    >>> import copy, torch
    >>> theta = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    >>> sgd = torch.optim.SGD([theta], lr=0.5, momentum=0.9, weight_decay=0.1)
    >>> start, path = copy.deepcopy(sgd.state_dict()), [theta.detach().numpy().copy()]
    >>> for slope in ([1.0, 0.0], [0.0, 2.0]):
    ...     theta.grad = torch.tensor(slope, dtype=torch.float64)
    ...     sgd.step()
    ...     path.append(theta.detach().numpy().copy())
    >>> batch_gradient(path[:-1], path[1:], optimizer=sgd, state=start).round(12) + 0.0
    array([[1., 0.],
           [0., 2.]])
    """
    before = as_floats(theta_before, "theta_before", finite=True)
    after = as_floats(theta_after, "theta_after", finite=True)
    if before.ndim == 0 or before.shape != after.shape:
        invalid(
            "theta_after",
            f"have the shape of theta_before, (..., d); the shapes are {after.shape} and "
            f"{before.shape}",
        )
    if optimizer is None and hasattr(learning_rate, "param_groups"):
        learning_rate, optimizer = None, learning_rate
    _warn_of_rounding(before, after)
    settings = None if optimizer is None else settings_of(optimizer, before.shape[-1])
    if learning_rate is None and settings is None:
        remedy = "Pass it, or optimizer= with the optimizer that took the steps"
        invalid("learning_rate", "be given", remedy=remedy, error=TypeError)
    if state is not None and settings is None:
        invalid("optimizer", "be given with state", error=TypeError)
    if before.size and np.array_equal(before, after):
        rule = "differ from theta_before; all parameters are the same"
        remedy = "Copy the parameters before the step: the optimizer changes them in place"
        invalid("theta_after", rule, remedy=remedy)
    if learning_rate is None and settings is not None:
        rate = np.broadcast_to(settings.rate, before.shape[-1:])
    else:
        rate = as_floats(learning_rate, "learning_rate", finite=True)
        if rate.shape not in ((), before.shape[:-1]):
            invalid("learning_rate", f"be one number or one a step; its shape is {rate.shape}")
        require(rate > 0.0, rate, "learning_rate", "be above 0")
        rate = rate[..., None]
    with np.errstate(over="ignore"):
        if settings is None:
            gradient = (before - after) / rate
            _warn_of_signs(gradient)
        else:
            rates = np.broadcast_to(rate, before.shape)
            one, two, rates = (
                each.reshape(-1, before.shape[-1]) for each in (before, after, rates)
            )
            gradient = inverted(one, two, rates, settings, state, optimizer).reshape(before.shape)
    rule = "be near enough to theta_before for the gradient to be a number"
    require(np.isfinite(gradient), after, "theta_after", rule)
    return gradient


def _warn_of_rounding(before: FloatArray, after: FloatArray) -> None:
    """Warn where the rounding of the parameters is more than a tenth of the step, by its norm.

    The digits that they have are those of a sample of them; each rounding is uniform.
    """
    stride = max(1, after.size // _SAMPLED)
    first, last = before.ravel()[::stride], after.ravel()[::stride]
    mantissas, exponents = np.frexp(np.concatenate([first, last]))
    bits = next((n for n in _DIGITS if (np.ldexp(mantissas, n) % 1.0 == 0.0).all()), 0)
    if first.size < _FEWEST or not bits:
        return
    step = float(np.linalg.norm(last - first))
    if step == 0.0:
        return
    spacing = np.where(last == 0.0, 0.0, np.ldexp(1.0, exponents[first.size :] - bits))
    share = float(np.linalg.norm(spacing)) / np.sqrt(12.0) / step
    if share > _ROUNDED:
        warn(
            f"theta_after has {bits} binary digits, and their rounding is about {share:.2g} times "
            "the step: the gradient that was read is mostly or partly rounding. Keep the "
            "parameters in more digits (single or double precision), or read gradients by "
            "mialeak.training.torch.ParameterRecorder",
        )


def _warn_of_signs(gradient: FloatArray) -> None:
    """Warn of steps whose entries are 1 and -1: of Adam's first step, or of the signs alone."""
    for step, row in enumerate(gradient.reshape(-1, gradient.shape[-1])):
        sizes = np.abs(row[row != 0.0])
        if sizes.size < _MOVED or np.mean(np.abs(sizes - 1.0) <= _OFF) < _NEARLY_ALL:
            continue
        warn(
            f"nearly all of the {sizes.size:,} entries of step {step} are 1 or -1 times the "
            "learning rate, as of the first step of Adam: these are no gradients. A learning rate "
            "without optimizer assumes plain gradient descent. Pass optimizer= and state=, or read "
            "gradients by mialeak.training.torch.ParameterRecorder",
        )
        return


class LayerGradients:
    """Gradients of a linear layer, held as the two factors that each of them is.

    The gradient of one example's loss in the weights of a layer ``z = W x + b`` is the outer
    product of ``dL/dz`` and ``x``, and in the bias it is ``dL/dz``: C + p numbers in place of
    C (p + 1).  Where the inputs of the layer stay the same from step to step (a model of one
    layer, or with the layers below frozen), :class:`CovarianceAttack` needs C x C work for a
    target and a step.

    Parameters
    ----------
    errors : array_like, shape (k, C) or (S, k, C)
        Derivative of the loss of each of k examples in the C outputs of the layer, for one step
        or for each of S steps.
    inputs : array_like, shape (k, p)
        What each example feeds into the layer.
    bias : bool, default True
        Whether the layer has a bias.

    Attributes
    ----------
    errors, inputs : ndarray
    bias : bool
    columns : int
        Length of a gradient, ``C (p + bias)``: the weights row by row, then the bias, as torch
        holds them.

    Raises
    ------
    ValueError
        If the numbers of examples differ, or anything is NaN or infinite.

    Examples
    --------
    >>> from mialeak.training import LayerGradients
    >>> gradients = LayerGradients([[1.0, -1.0]], [[2.0, 3.0]])
    >>> gradients.columns
    6
    >>> gradients.dense()
    array([[ 2.,  3., -2., -3.,  1., -1.]])
    """

    def __init__(self, errors: Any, inputs: Any, *, bias: bool = True):
        self.errors = as_floats(errors, "errors", finite=True)
        self.inputs = as_floats(inputs, "inputs", ndim=2, finite=True)
        self.bias = as_flag(bias, "bias")
        if self.errors.ndim not in (2, 3):
            invalid("errors", f"be (k, C) or (S, k, C); its shape is {self.errors.shape}")
        if self.errors.shape[-2] != self.inputs.shape[0]:
            invalid(
                "errors",
                f"be of the {self.inputs.shape[0]} examples that inputs has; its shape is "
                f"{self.errors.shape}",
            )
        self.columns = self.errors.shape[-1] * (self.inputs.shape[1] + self.bias)

    def __repr__(self) -> str:
        shapes = f"errors {self.errors.shape}, inputs {self.inputs.shape}"
        return f"LayerGradients({shapes}, bias={self.bias})"

    def dense(self) -> FloatArray:
        """The gradients themselves.

        Returns
        -------
        ndarray, shape (k, columns) or (S, k, columns)
        """
        outer = self.errors[..., :, None] * self.inputs[:, None, :]
        flat = outer.reshape(*outer.shape[:-2], outer.shape[-2] * outer.shape[-1])
        return np.concatenate([flat, self.errors], axis=-1) if self.bias else flat

    def clip(self, clip_norm: float) -> LayerGradients:
        """The same, each scaled down to a norm where it is longer, as DP-SGD does.

        Parameters
        ----------
        clip_norm : float
            Above 0.

        Returns
        -------
        LayerGradients
        """
        size = np.hypot(norms(self.inputs), float(self.bias))
        scale = _shrink(norms(self.errors) * size, as_norm(clip_norm, "clip_norm"))
        return LayerGradients(self.errors * scale[..., None], self.inputs, bias=self.bias)


def norms(rows: FloatArray) -> FloatArray:
    """Euclidean norm of each row, also where a square overflows."""
    with np.errstate(over="ignore"):
        size = np.asarray(np.sqrt(np.vecdot(rows, rows)))
    lost = np.isinf(size)
    if lost.any():
        largest = np.abs(rows[lost]).max(axis=-1, keepdims=True)
        size[lost] = largest[..., 0] * norms(rows[lost] / largest)
    return size


def clipped(rows: FloatArray, clip_norm: float | None) -> FloatArray:
    """Rows scaled down to the norm `clip_norm` where they are longer, as DP-SGD does."""
    if clip_norm is None:
        return rows
    return rows * _shrink(norms(rows), clip_norm)[..., None]


def _shrink(lengths: FloatArray, clip_norm: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, clip_norm / lengths)


def as_clip_norm(clip_norm: Any) -> float | None:
    """A norm above 0, or None for no clipping."""
    return None if clip_norm is None else as_norm(clip_norm, "clip_norm")


def as_norm(value: Any, name: str) -> float:
    """A number above 0."""
    norm = as_float(value, name)
    if norm <= 0.0:
        invalid(name, "be above 0", value=norm)
    return norm


def gradients_dot(errors: FloatArray, factors: LayerGradients, batches: FloatArray) -> FloatArray:
    """Scalar product of each of the gradients, errors (S, k, C), with its step's batch (S, d)."""
    steps, outputs = len(batches), errors.shape[-1]
    inputs = factors.inputs
    weights = batches[:, : outputs * inputs.shape[1]].reshape(steps, outputs, -1)
    fed = np.matmul(inputs, weights.transpose(0, 2, 1))
    if factors.bias:
        fed += batches[:, None, -outputs:]
    return np.asarray(np.vecdot(errors, fed))
