"""Errors of the library in the words of the shell: by the option that was typed, on one line."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["as_typed", "one_line"]

#: Advice for Python, and the same for the shell.
_ADVICE = {
    "na='category'": "--na category",
    "na='drop'": "--na drop",
    "say so with delimiter": "say so with --delimiter",
    "choose the columns": "choose with --columns",
    "call one_run_audit(scores, member)": "add --one-run",
    "with higher_is_member=True": "without --lower-is-member",
    "with higher_is_member=False": "with --lower-is-member",
    "pass higher_is_member=False": "pass --lower-is-member",
    "pass higher_is_member=True": "leave out --lower-is-member",
    "pass allow_reversed=True": "pass --allow-reversed",
}


def one_line(error: BaseException) -> str:
    """What the error says, without line breaks."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "not enough memory"
    return " ".join(str(error).split())


def as_typed(message: str, typed: Mapping[str, str]) -> str:
    """`message` with the option in place of the argument that it begins with.

    The library says ``columns must ...; got columns[1] = 'agee'`` (see :mod:`mialeak._arrays`); who
    typed ``--columns`` is told ``--columns must ...; got 'agee'``.

    Parameters
    ----------
    message : str
    typed : mapping of str to str
        The option that each argument came from.
    """
    for ours, theirs in _ADVICE.items():
        message = message.replace(ours, theirs)
    name, must, rest = message.partition(" must ")
    if not must or name not in typed:
        return message
    rest = re.sub(rf"; got {name}(\[[\d, ]+\])? = ", "; got ", rest, count=1)
    return f"{typed[name]} must {rest}"
