"""The form of ``mialeak app``: from its fields to the arguments of ``mialeak table``."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["CHOICES", "PROTECTIONS", "Question", "arguments"]

#: Protections of counts: name of the shell, label of the field.
PROTECTIONS = (
    ("suppress", "Suppress counts below"),
    ("round", "Round counts to multiples of"),
    ("random-round", "Round at random to multiples of"),
    ("geometric", "Add geometric noise of epsilon"),
    ("synthetic", "Publish so many synthetic rows in their place"),
)
#: What may be chosen for rows with a missing value.
CHOICES = {
    "error": "refuse the table",
    "category": "count missing as a value",
    "drop": "leave these rows out",
}


@dataclass(frozen=True)
class Question:
    """What was typed into the form.

    Parameters
    ----------
    get : callable
        The text of a field, by its name; an empty one by default.
    columns : sequence of str
        The columns that are marked.
    names : sequence of str
        All columns of the file.
    register : str
        Name of the file of the register; empty if there is none.
    """

    get: Callable[[str], str]
    columns: Sequence[str] = ()
    names: Sequence[str] = ()
    register: str = ""


def arguments(question: Question, file: str) -> list[str]:
    """The line of the shell that asks the question about a file, or about the example if empty.

    Raises
    ------
    ValueError
        If no column is marked, or a field is left empty that another needs.
    """
    if not question.columns:
        raise ValueError("Mark at least one column to count by.")
    words = ["table", *([file] if file else ["--example", "adult"])]
    for option, value in _options(question):
        # A value that begins with a dash would be read as an option.
        words += [f"{option}={value}"] if value.startswith("-") else [option, value]
    return [*words, "--accept-cautions"] if question.get("accept") else words


def _options(question: Question) -> Iterator[tuple[str, str]]:
    """Each option with its value."""
    get = question.get
    yield "--columns", _line(question.columns)
    yield from _reading(question)
    yield from _population(question)
    for place, name in enumerate(question.names):
        for field, option in (("band", "--bin"), ("rare", "--group-rare")):
            if value := get(f"{field}-{place}"):
                if name not in question.columns:
                    raise ValueError(f"Mark the column {name!r}, or leave it as it is.")
                yield option, f"{name}:{value}"
    for name, _ in PROTECTIONS:
        if get(name):
            yield "--protect", f"{name}:{get(name)}"
    if get("secret"):
        yield "--secret", get("secret")
    if get("limit"):
        yield "--max-leakage", get("limit")
    if get("plan"):
        if not get("limit"):
            raise ValueError("State the largest leakage that the recoding may leave.")
        yield "--plan", get("limit")


def _population(question: Question) -> Iterator[tuple[str, str]]:
    """Who could be in the table."""
    people, size = question.get("people"), question.get("size")
    if people == "register":
        if not question.register:
            raise ValueError("Choose the file of the register on the first page.")
        yield "--population", question.register
    elif people == "size":
        if not size.replace(",", "").isdecimal():
            raise ValueError(f"State the number of people in the population; got {size!r}.")
        yield "--population", size
    if size and people != "size":
        raise ValueError(f"Mark the population of {size} people, or leave their number out.")


def _reading(question: Question) -> Iterator[tuple[str, str]]:
    """How the file is read."""
    get = question.get
    for field in ("delimiter", "names", "missing", "counts", "total", "suppressed"):
        if get(field):
            yield f"--{field}", get(field)
    if get("na") and get("na") != "error":
        yield "--na", get("na")


def _line(names: Sequence[str]) -> str:
    """Names as a line of CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(names)
    return stream.getvalue()
