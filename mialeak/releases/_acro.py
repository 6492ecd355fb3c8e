"""The results of ACRO, the output checker: its tables of counts as outputs of a release."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mialeak._arrays import invalid, listed
from mialeak._fields import is_number
from mialeak._files.opening import inside_folder
from mialeak.mechanisms import CellMechanism
from mialeak.releases._outputs import Output, table_output, total_output
from mialeak.releases._people import People, Where
from mialeak.releases._published import are_sums

__all__ = ["PublishedTable", "acro_outputs", "read_acro"]

#: What ACRO calls the totals of a table, where nobody has such a value.
_TOTALS = ("All", "Total")


# ---- the file ----


@dataclass(frozen=True)
class PublishedTable:
    """A table of counts of another tool: its columns, and the counts with None where one is hidden.

    `columns` has a name for each part of a cell, None where the tool does not write it.
    """

    name: str
    columns: tuple[str | None, ...]
    counts: Mapping[tuple[str, ...], float | None]


def read_acro(path: Any, people: Sequence[Any]) -> tuple[list[PublishedTable], dict[str, str]]:
    """The tables of counts among the outputs in a ``results.json`` of ACRO.

    With them the names of the outputs that are none, and their kinds.  `people` are the columns of
    the people: names of an index are known by them.

    Raises
    ------
    ValueError
        If the file is none of ACRO, from its version 0.4 on, or names a file outside its folder.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "results.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        invalid(str(path), f"be JSON ({error})")
    results = content.get("results") if isinstance(content, dict) else None
    known = isinstance(results, dict) and all(isinstance(x, dict) for x in results.values())
    if results is None or not known or "version" not in content:
        invalid(str(path), "be the results.json that ACRO writes, from version 0.4 on")
    tables, others = [], {}
    for name, output in results.items():
        kind = str(output.get("properties", {}).get("method") or output.get("type"))
        tabular = [
            inside_folder(path, each["name"], f"a file of {name}")
            for each in output.get("files", [])
            if str(each["name"]).endswith(".csv")
        ]
        read = (
            [_counts_of(file, people) for file in tabular] if output.get("type") == "table" else []
        )
        if not read or any(each is None for each in read):
            others[name.strip()] = kind
            continue
        for each in read:
            assert each is not None
            tables.append(PublishedTable(name.strip(), *each))
    return tables, others


def _counts_of(
    file: Path, people: Sequence[Any]
) -> tuple[tuple[str | None, ...], dict[tuple[str, ...], float | None]] | None:
    """The columns and counts of a cross-tabulation; None if it holds other values than counts.

    pandas writes one line of headers, the names of the index and the values of a column without its
    name; or a line for each of several columns, with their names, and one for the index.
    """
    with file.open(newline="", encoding="utf-8") as handle:
        lines = [line for line in csv.reader(handle) if line]
    if not lines or len(set(map(len, lines))) > 1:
        return None
    named = set(map(str, people))  # a category of which all counts are hidden is none of them
    heads = next((k for k, x in enumerate(lines) if k and x[0] in named and not any(x[1:])), None)
    if heads is None:
        known = [name in named for name in lines[0]]
        width = max(1, known.index(False) if False in known else len(known) - 1)
        names: tuple[str | None, ...] = (*lines[0][:width], None)
        labels, body = [lines[0][width:]], lines[1:]
    else:
        width = 1
        names = (lines[heads][0], *(line[0] for line in lines[:heads]))
        labels, body = [line[width:] for line in lines[:heads]], lines[heads + 1 :]
    counts: dict[tuple[str, ...], float | None] = {}
    for line in body:
        for place, text in enumerate(line[width:]):
            count = float(text) if is_number(text) else None
            if (count is None and text) or (count is not None and count != int(count)):
                return None
            counts[(*line[:width], *(each[place] for each in labels))] = count
    return names, counts


# ---- its tables as outputs ----


def acro_outputs(
    people: People, table: PublishedTable, where: Any, protect: CellMechanism | None, before: int
) -> list[Output]:
    """A table as ACRO published it, and its totals where they are published for themselves."""
    limits, parts = Where.of(people, where), list(zip(*table.counts, strict=True))
    names: list[Any] = []
    words: list[dict[str, Any]] = []
    for name, values in zip(table.columns, parts, strict=True):
        levels = list(dict.fromkeys(values))
        names.append(_column_of(people, levels, names) if name is None else _named(people, name))
        words.append({_word(value): value for value in people.column(names[-1]).values})
    cells: dict[tuple[Any, ...], dict[tuple[Any, ...], float | None]] = {}
    for labels, count in table.counts.items():
        total = [
            (label in _TOTALS or not label) and label not in known
            for label, known in zip(labels, words, strict=True)
        ]
        kept = tuple(name for name, summed in zip(names, total, strict=True) if not summed)
        values = tuple(
            known.get(label, label)
            for label, known, summed in zip(labels, words, total, strict=True)
            if not summed
        )
        cells.setdefault(kept, {})[values] = count
    whole = cells.pop(tuple(names), {})
    grand_total = cells.pop((), {})
    outputs: list[Output] = []
    for kept, counts in [(tuple(names), whole), *cells.items()]:
        places = [names.index(name) for name in kept]
        if kept == tuple(names) or not are_sums(counts, whole, places):
            shown = {name: [cell[k] for cell in counts] for k, name in enumerate(kept)}
            column = max(("n", *map(str, kept)), key=len) + "_"  # none of their names
            shown[column] = list(counts.values())
            number = before + len(outputs) + 1
            rule = protect if kept == tuple(names) else None  # ACRO does not check totals
            outputs.append(table_output(people, number, kept, limits, rule, shown))
    if not are_sums(grand_total, whole, ()):
        output = total_output(people, before + len(outputs) + 1, limits, grand_total[()])
        outputs += [output] if limits.masks else []  # that of all people is known
    return outputs


def _word(value: Any) -> str:
    """A value as a file has it."""
    return "" if value is None else str(value)


def _named(people: People, name: str) -> Any:
    """The column of the people that a file calls `name`."""
    same = [each for each in people.names if str(each) == name]
    if not same:
        remedy = "Pass the people that the outputs were made from"
        invalid("people", f"have the column {name!r} of the table", remedy=remedy)
    return same[0]


def _column_of(people: People, levels: Sequence[str], taken: Sequence[Any]) -> Any:
    """The only column of the people that has all these values, beside totals."""
    fitting = []
    for each in people.names:
        words = set(map(_word, people.column(each).values)) if each not in taken else set()
        if words and all(level in words or level in _TOTALS for level in levels):
            fitting.append(each)
    if len(fitting) != 1:
        having = f"{listed(fitting)} have them" if fitting else "none has them"
        rule = f"have one column with the values {listed(levels)} of the table; {having}"
        remedy = "ACRO does not write its name. Pass people without further columns of these values"
        invalid("people", rule, remedy=remedy)
    return fitting[0]
