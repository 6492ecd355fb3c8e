"""``mialeak audit --shadow``: models by examples, matched by the names that the files have."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mialeak._checks.audits.flags import is_flag, numbers
from mialeak.cli import _options, _output
from mialeak.cli._audits import cautioned, give_audit, refuse_delta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mialeak._arrays import FloatArray

__all__ = ["run_shadow"]

#: The number at the end of a name, as that of an example is.
_NUMBER = re.compile(r"(\d+)\D*$")


def run_shadow(options: argparse.Namespace) -> int:
    """Print what is proved of each example; 2 if the largest bound is over the limit."""
    import numpy as np

    from mialeak.auditing import shadow_audit

    refuse_delta(options, "--shadow")
    scores, members, names = _matrices(options)
    result, cautions = cautioned(
        shadow_audit,
        scores,
        members,
        claimed_epsilon=options.claimed_epsilon or 0.0,
        confidence=options.confidence,
        higher_is_member=not options.lower_is_member,
    )
    cautions = [*options.noticed, *cautions]
    result = replace(result, names=None if names is None else tuple(names))
    largest, limit, claim = (
        float(result.epsilon_lower.max()),
        options.max_epsilon,
        options.claimed_epsilon,
    )
    over, verdict = _output.judge("The largest bound", largest, limit)
    undecided = any(each is not None and result.provable_epsilon <= each for each in (limit, claim))
    if claim is not None:
        is_refuted = bool(result.proved.any())
        over = over or is_refuted
        word = "refuted" if is_refuted else "not testable" if undecided else "not refuted"
        # A release whose epsilon at delta = 0 is infinite may have a small one at another delta.
        sentence = f"The claimed epsilon {claim:g} (an example added or removed) is {word}. "
        sentence += "This is at delta = 0: no claim with a larger delta is judged."
        verdict = f"{verdict} {sentence}".lstrip()
    content = result.to_dict()
    for name in ("proved", "discoveries"):
        content[name] = np.flatnonzero(content[name]).tolist()
    document = replace(result.document(), cautions=cautions)
    content |= {"assumed": list(document.assumed), "cautions": cautions}
    return give_audit(
        options,
        document,
        schema="mialeak.shadow/1",
        content=content,
        panels=result.panels(),
        verdict=verdict,
        limit=limit,
        over=over,
        undecided=undecided,
    )


def _matrices(
    options: argparse.Namespace,
) -> tuple[FloatArray, FloatArray, list[str] | None]:
    """Scores and flags, models by examples, in the order of the scores, and names of examples.

    Columns of tables are matched by their names, and rows by a column that names the models in both
    files.  Arrays, and tables without a common name, are taken as they stand.
    """
    import numpy as np

    from mialeak._checks.audits.scores import refuse_turned

    paths = options.inside, options.outside
    first, second = (_columns(path, options) for path in paths)
    are_named = isinstance(first, dict) and isinstance(second, dict)
    models: list[list[str]] = []
    label = _label(first, second) if are_named else None
    if label is not None:
        models = [[str(each) for each in _values(table.pop(label))] for table in (first, second)]
    names = list(first) if isinstance(first, dict) else None
    refuse_turned((label, models[0] if models else []), (None, names or []))
    scores, flags = _stacked(paths[0], first), _stacked(paths[1], second)
    # Of a transposed file the names are numbers of the other side: its shape is refused.
    if are_named and not scores.shape == flags.shape[::-1] != flags.shape:
        flags = flags[:, _places(list(first), list(second), paths, "column")]
    if models:
        flags = flags[_places(models[0], models[1], paths, "model", of=f" in {label!r}")]
    return np.ascontiguousarray(scores), np.ascontiguousarray(flags), names


def _columns(path: str, options: argparse.Namespace) -> Any:
    """The columns of a file by their names; an array as such."""
    import numpy as np

    from mialeak._arrays import as_floats
    from mialeak._files.tables import read_blocks, read_table

    if Path(path).suffix.lower() in (".npy", ".npz"):
        blocks = [rows for _, rows in read_blocks(path, 1 << 22)]
        if len(blocks) != 1:
            raise ValueError(
                f"{path} must hold one array; it holds {len(blocks)}. Save scores and flags each "
                "by numpy.save, in a file of its own"
            )
        matrix = as_floats(np.asarray(blocks[0]), path)
        if matrix.ndim != 2:
            cure = ""
            if matrix.ndim == 3:
                cure = ". Of several queries of an example save one number, such as their mean"
            raise ValueError(
                f"{path} must have 2 dimensions, models by examples; its shape is "
                f"{matrix.shape}{cure}"
            )
        return matrix
    common: dict[str, Any] = {"format": options.format, "delimiter": _options.delimiter(options)}
    table = read_table(path, labels=is_flag, **common)
    names = list(table) if isinstance(table, dict) else list(table.column_names)
    return {name: table[name] for name in names}


def _stacked(path: str, table: Any) -> FloatArray:
    """The numbers of a file, a model a row."""
    import numpy as np

    if not isinstance(table, dict):
        return np.asarray(table)
    columns = [numbers(path, column) for column in table.values()]
    return np.stack(columns, axis=1) if columns else np.empty((0, 0))


def _label(scores: dict[str, Any], flags: dict[str, Any]) -> str | None:
    """The column of both files that names the models: each once, and not by a flag."""
    for name in scores:
        if name not in flags:
            continue
        first, second = (_values(table[name]) for table in (scores, flags))
        if all(len(set(each)) == len(each) > 2 for each in (first, second)):
            return name
    return None


def _values(column: Any) -> list[Any]:
    """The values of a column of a CSV, or of Arrow."""
    if hasattr(column, "codes"):
        levels = list(column.levels)
        return [levels[code] for code in column.codes.tolist()]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _places(
    names: Sequence[str],
    others: Sequence[str],
    paths: tuple[str, str],
    what: str,
    *,
    of: str = "",
) -> list[int]:
    """Where the names of the first file stand in the second; as there, if none is in both.

    Raises
    ------
    ValueError
        If one of the files has names that the other lacks, or the numbers in names that differ
        otherwise have another order.
    """
    place = {name: k for k, name in enumerate(others)}
    missing = [name for name in names if name not in place]
    if not missing and len(names) == len(others):
        return [place[name] for name in names]
    if len(missing) < len(names):
        from mialeak.cli._matched import cure_of_others

        known = set(names)
        lacks = [(paths[1], paths[0], name) for name in missing]
        lacks += [(paths[0], paths[1], name) for name in others if name not in known]
        path, other, name = lacks[0]
        raise ValueError(
            f"{path} must have the {what}s of {other}; it has no {what} {name!r}{of}, and "
            f"{len(lacks):,} {what}s are in one of the two only. {cure_of_others(names, others)}"
        )
    order = [_numbers_in(each) for each in (names, others)]
    if order[0] != order[1] and sorted(order[0]) == sorted(order[1]):
        k = next(k for k, pair in enumerate(zip(*order, strict=True)) if pair[0] != pair[1])
        raise ValueError(
            f"{paths[1]} must have the {what}s of {paths[0]} in their order; {what} {k + 1} is "
            f"{others[k]!r} there and {names[k]!r} here. Give both the same names: they are then "
            "matched by them"
        )
    return list(range(len(others)))


def _numbers_in(names: Sequence[str]) -> list[int]:
    """The last number in each name; -1 for none."""
    return [int(match[1]) if (match := _NUMBER.search(name)) else -1 for name in names]
