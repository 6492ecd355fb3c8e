"""Protections by name, as plans and the shell state them: ``suppress:7+round:5``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from mialeak._arrays import invalid
from mialeak.mechanisms._builtin import CellMechanism, Geometric, RandomRound, Round, Suppress
from mialeak.mechanisms._cell_keys import CellKey
from mialeak.mechanisms._noise import DiscreteGaussian, Synthetic
from mialeak.mechanisms._pipeline import Pipeline
from mialeak.mechanisms._post_randomisation import Pram

__all__ = ["protection"]


class _Form(NamedTuple):
    """What stands after the colon, in words and as a type, and what it makes."""

    value: str
    make: Callable[[Any], CellMechanism | Pram]
    number: type


_FORMS = {
    "round": _Form("BASE", Round, int),
    "random-round": _Form("BASE", RandomRound, int),
    "suppress": _Form("BELOW", Suppress, int),
    "suppress-positive": _Form("BELOW (zeros are shown)", partial(Suppress, zeros_shown=True), int),
    "cell-key": _Form("FILE", CellKey, str),
    "geometric": _Form("EPSILON", Geometric, float),
    "gaussian": _Form("SIGMA", DiscreteGaussian, float),
    "synthetic": _Form("ROWS", Synthetic, int),
    "pram": _Form("FILE", Pram, str),
}


def protection(
    text: str, *, names: Sequence[str] = tuple(_FORMS), argument: str = "text"
) -> CellMechanism | Pram:
    """The protection that a text names.

    Parameters
    ----------
    text : str
        A name and its number or file, such as ``"round:5"``; several with a plus between them are
        a :class:`Pipeline` in this order.

        ======================= ============================================
        text                    protection
        ======================= ============================================
        ``round:BASE``          :class:`Round`
        ``random-round:BASE``   :class:`RandomRound`
        ``suppress:BELOW``      :class:`Suppress`
        ``suppress-positive:``  :class:`Suppress` with ``zeros_shown=True``
        ``cell-key:FILE``       :class:`CellKey` with the table of the file
        ``geometric:EPSILON``   :class:`Geometric`
        ``gaussian:SIGMA``      :class:`DiscreteGaussian`
        ``synthetic:ROWS``      :class:`Synthetic`
        ``pram:FILE``           :class:`Pram`, by itself alone
        ======================= ============================================
    names : sequence of str
        The names that are accepted, of those above.
    argument : str
        What errors call the text.

    Returns
    -------
    CellMechanism or Pram

    Raises
    ------
    ValueError
        If the text names no protection, or one with a parameter outside its domain.
    OSError
        If a file cannot be read.

    Notes
    -----
    **Cost.**  That of the protection itself.

    Examples
    --------
    >>> from mialeak.mechanisms import protection
    >>> protection("round:5")
    Round(base=5)
    >>> protection("suppress:7 + round:5")
    Pipeline(Suppress(below=7, zeros_shown=False), Round(base=5))
    """
    steps = text.split("+") if isinstance(text, str) and not text.startswith("pram:") else [text]
    made = [_step(step, text, names, argument) for step in steps]
    return made[0] if len(made) == 1 else Pipeline(*made)


def _step(step: Any, text: Any, names: Sequence[str], argument: str) -> Any:
    name, _, value = step.partition(":") if isinstance(step, str) else ("", "", "")
    if (name := name.strip()) not in names:
        invalid(argument, _rule(names), value=text)
    form = _FORMS[name]
    try:
        number = form.number(value.strip())
    except ValueError:
        invalid(argument, _rule(names), value=text)
    return form.make(number)


def _rule(names: Sequence[str]) -> str:
    """All that is accepted, in words."""
    forms = [f"{name}:{_FORMS[name].value}" for name in names if name != "pram"]
    several = "several in their order, such as suppress:7+round:5"
    if "pram" in names:
        return f"be {', '.join(forms)}, {several}, or pram:{_FORMS['pram'].value}"
    return f"be {', '.join(forms)}, or {several}"
