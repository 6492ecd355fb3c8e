"""Errors of the library in the words of the shell: by the option that was typed, on one line."""

from __future__ import annotations

import ast
import csv
import io
import re
import shlex
from collections.abc import Mapping

__all__ = ["LONGEST", "as_typed", "in_shell", "one_line", "shortened"]

#: Advice for Python, and the same for the shell.
_ADVICE = {
    "name it with delimiter": "name it with --delimiter",
    "the format with format": "the format with --format",
    "its format with format": "its format with --format",
    "choose the columns": "choose with --columns",
    "Leave out exact": "Leave out --exact",
    "noise_std counts": "--noise-std counts",
    "pass suppressed={'-': 0}": "pass --suppressed=-=0",
    "pass suppressed=": "pass --suppressed ",
    "header=False": "--no-header",
    "header=True": "--header",
    "names=['A', 'B', ...]": "--names A,B,...",
    "call one_run_audit(scores, member)": "add --one-run",
    "with higher_is_member=True": "without --lower-is-member",
    "with higher_is_member=False": "with --lower-is-member",
    "pass higher_is_member=False": "pass --lower-is-member",
    "pass higher_is_member=True": "leave out --lower-is-member",
    "pass independent=False": "leave out --independent",
    "pass it as population=.": "pass it as --population.",
    "pass strata=,": "pass --strata,",
    "margins=['A', 'B']": "--margins A,B",
    "leave counts out": "leave out --counts",
    "pass allow_reversed=True": "pass --allow-reversed",
}

_WORD = r"'[^'\\]*'|\"[^\"\\]*\""

#: An argument that is an option of the same name, with its value: one word, or a list of them.
_ARGUMENT = re.compile(
    rf"\b(counts|exclude|missing|na|person|total)=({_WORD}|\[(?:{_WORD})(?:, (?:{_WORD}))*\])"
)

#: Characters that an error has at most.
LONGEST = 600


def one_line(error: BaseException) -> str:
    """The message of the error, without line breaks."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "not enough memory"
    return " ".join(str(error).split())


def shortened(line: str) -> str:
    """A line of at most `LONGEST` characters: its middle is left out, its end may be the cure."""
    if len(line) <= LONGEST:
        return line
    end = LONGEST // 2
    return f"{line[: LONGEST - end - 5]} ... {line[-end:]}"


def in_shell(text: str) -> str:
    """`text` with the options of the shell in place of the arguments of Python.

    ``pass exclude=['id', 'name']`` becomes ``pass --exclude id,name``.
    """
    for ours, theirs in _ADVICE.items():
        text = text.replace(ours, theirs)
    return _ARGUMENT.sub(_as_option, text)


def _as_option(match: re.Match[str]) -> str:
    value = ast.literal_eval(match[2])
    words = value if isinstance(value, list) else [value]
    if match[1] not in {"counts", "person"}:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="").writerow(words)
        words = [stream.getvalue()]
    if words[0].startswith("--"):  # argparse takes it for the end of the options
        return f"--{match[1]}=' {words[0]}'"
    return f"--{match[1]} {shlex.quote(words[0])}"


def as_typed(error: BaseException, typed: Mapping[str, str]) -> str:
    """The message of the error on one line, by the option in place of the argument that is wrong.

    The library writes ``columns must ...; got columns[1] = 'agee'``, and keeps its parts (see
    :class:`mialeak._arrays.Fault`); where ``--columns`` was typed the shell writes ``--columns
    must ...; got 'agee'``.

    Parameters
    ----------
    error : BaseException
    typed : mapping of str to str
        The option that each argument came from.
    """
    message = one_line(error)
    fault = getattr(error, "fault", None)
    if fault is not None and fault.argument in typed:
        message = " ".join(fault.sentence(typed[fault.argument]).split())
    if "names" not in typed:  # a command that has no options for the header of a CSV
        from mialeak._csv import HEADER_ADVICE

        message = message.replace(HEADER_ADVICE, "Write a line with a name above the data")
    return in_shell(message)
