"""A release as a file: the people, the outputs and the limits of a gate, in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mialeak._arrays import invalid
from mialeak._columns import near
from mialeak._files.opening import inside_folder
from mialeak._files.tables import read_table
from mialeak.mechanisms import CellMechanism, protection

__all__ = ["PLAN_SCHEMA", "Plan", "PlannedOutput", "read_plan"]

#: The first key of a plan.
PLAN_SCHEMA = "mialeak.release-plan/1"

_KEYS = ("schema", "people", "population", "na", "missing", "threshold", "limits", "outputs")
_WHOLE_LIMITS = ("determined", "small")
_LIMITS = (*_WHOLE_LIMITS, "max_leakage", "max_row_leakage")
_OUTPUT_KEYS = {
    "table": ("table", "where", "protect", "published"),
    "mean": ("mean", "where"),
    "acro": ("acro", "outputs", "where", "protect"),
}
_PROTECTIONS = (
    "round",
    "random-round",
    "suppress",
    "suppress-positive",
    "geometric",
    "gaussian",
    "synthetic",
)


@dataclass(frozen=True)
class PlannedOutput:
    """An output of a plan: "table", "mean" or "acro", and arguments of the method that adds it.

    `columns` is the file of the results of ACRO.
    """

    kind: str
    columns: Sequence[str] | Path
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """A plan file, read and checked."""

    path: Path
    people: Any
    population: Any
    na: str
    missing: Sequence[Any]
    threshold: int
    limits: Mapping[str, float]
    outputs: Sequence[PlannedOutput]
    files: Sequence[Path]


def read_plan(path: Any) -> Plan:
    """The plan in the file `path`, with the tables that it names.

    Raises
    ------
    ValueError
        If it is no TOML, its schema is another one, a key is unknown (the near ones are named) or
        missing, a value has another type, or a file is outside the folder of the plan.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        invalid(str(path), f"be a plan in TOML ({error})")
    schema = content.get("schema")
    if schema != PLAN_SCHEMA:
        remedy = f'Write schema = "{PLAN_SCHEMA}" in its first line'
        invalid(f"schema of {path.name}", f"be {PLAN_SCHEMA!r}", value=schema, remedy=remedy)
    _known(content, _KEYS, path.name)
    _require(content, "people", str, path.name)
    outputs = content.get("outputs")
    if not isinstance(outputs, list) or not all(isinstance(each, dict) for each in outputs):
        invalid(f"outputs of {path.name}", "be tables, each below a line [[outputs]]")
    limits = _limits(content.get("limits", {}), path.name)
    files: list[Path] = []
    markers = content.get("missing", [])

    def file(name: Any, where: str) -> Path:
        files.append(inside_folder(path, name, where))
        return files[-1]

    def table(name: Any, where: str) -> Any:
        return read_table(file(name, where), missing=markers)

    threshold = content.get("threshold", 10)
    if type(threshold) is not int or threshold < 2:
        remedy = "Groups of fewer people are small: with 2, those of one person"
        rule = "be a whole number of at least 2"
        invalid(f"threshold of {path.name}", rule, value=threshold, remedy=remedy)
    register, named = content.get("population"), (None, "independent")
    return Plan(
        path=path,
        people=table(content["people"], "people"),
        population=table(register, "population") if register not in named else register,
        na=content.get("na", "error"),
        missing=markers,
        threshold=threshold,
        limits=limits,
        outputs=[_output(each, k, path.name, table, file) for k, each in enumerate(outputs, 1)],
        files=files,
    )


def _output(
    content: dict[str, Any],
    number: int,
    name: str,
    table: Callable[[Any, str], Any],
    file: Callable[[Any, str], Path],
) -> PlannedOutput:
    """Output `number` of the plan."""
    where = f"output {number} of {name}"
    kinds = [kind for kind in _OUTPUT_KEYS if kind in content]
    if len(kinds) != 1:
        every = tuple(dict.fromkeys(key for keys in _OUTPUT_KEYS.values() for key in keys))
        _known(content, every, where)
        rule = 'name its columns as table = ["a", "b"] or as mean = ["a"], or a file as acro = "a"'
        invalid(where, f"{rule}, one of them")
    kind = kinds[0]
    _known(content, _OUTPUT_KEYS[kind], where)
    if kind == "acro":
        given = {key: value for key, value in content.items() if key != kind}
        if "protect" in given:
            given["protect"] = _protection(given["protect"], where)
        return PlannedOutput(kind, file(content[kind], f"acro in output {number}"), given)
    columns = content[kind]
    columns = [columns] if isinstance(columns, str) else columns
    if not isinstance(columns, list) or not all(isinstance(each, str) for each in columns):
        invalid(f"{kind} in {where}", "be names of columns", value=columns)
    arguments: dict[str, Any] = {"where": content.get("where")}
    if "protect" in content:
        arguments["protect"] = _protection(content["protect"], where)
    if "published" in content:
        arguments["published"] = table(content["published"], f"published in output {number}")
    return PlannedOutput(kind, columns, arguments)


def _protection(text: Any, where: str) -> CellMechanism:
    """A protection of counts that takes no file."""
    argument = f"protect in {where}"
    try:
        made = protection(text, names=_PROTECTIONS, argument=argument)
    except ValueError as error:
        if getattr(getattr(error, "fault", None), "name", "") == argument:
            raise
        raise ValueError(f"{argument}: {error}") from error
    assert isinstance(made, CellMechanism)
    return made


def _limits(content: Any, name: str) -> dict[str, float]:
    where = f"[limits] of {name}"
    if not isinstance(content, dict):
        invalid(where, "hold limits", value=content)
    _known(content, _LIMITS, where)
    for key, value in content.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key in _WHOLE_LIMITS and not (type(value) is int and value >= 0):
            invalid(f"{key} in {where}", "be a whole number of at least 0", value=value)
        if not number or (key not in _WHOLE_LIMITS and not 0.0 <= value <= 1.0):
            invalid(f"{key} in {where}", "be between 0 and 1", value=value)
    return content


def _known(content: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in content:
        if key not in keys:
            remedy = near(key, keys).replace("The table has", "It takes")
            invalid(where, "hold no unknown keys", value=key, remedy=remedy)


def _require(content: Mapping[str, Any], key: str, kind: type, where: str) -> None:
    if not isinstance(content.get(key), kind):
        invalid(f"{key} of {where}", "be the name of a file", value=content.get(key))
