"""Scores and flags in the files of ``mialeak audit``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mialeak._checks.audits.flags import is_flag, numbers
from mialeak.cli._options import delimiter

if TYPE_CHECKING:
    from mialeak._arrays import FloatArray

__all__ = ["score_columns"]

#: Suffixes of arrays, which name no column.
_ARRAYS = (".npy",)
#: Probability with which a bound fails by default.
_ERROR = 0.05


class _File(NamedTuple):
    """The columns of a file; `row_names` is the index of a data frame, without a name."""

    path: str
    table: Any
    names: list[str]
    row_names: str | None = None


def score_columns(options: argparse.Namespace) -> tuple[FloatArray, FloatArray]:
    """Scores of both worlds, or scores and flags: of a file each, or columns of one."""
    is_run = options.one_run or options.stream
    files = [_read(path, options) for path in filter(None, (options.inside, options.outside))]
    are_two = len(files) == 2 and options.inside != options.outside
    if are_two and options.member is options.score is None:
        _refuse_matrices(*files)
        _refuse_a_row(*files)
    by_index = _same_index(*files) if is_run and are_two else None
    if by_index is None:
        for file in files:
            _refuse_row_numbers(file, options)
    if is_run and are_two and (any(len(file.names) > 1 for file in files) or by_index == "moved"):
        files = [_joined(files[0], files[1], options)]
    if len(files) == 1:
        return _of_one_file(files[0], options)
    chosen = [_column_of(file, options) for file in files]
    return _of_flags(files, chosen, options) if is_run else _of_runs(files, chosen, options)


def _read(path: str, options: argparse.Namespace) -> _File:
    from mialeak._files.tables import read_table
    from mialeak._labels import names_of

    # Several columns, or one that is chosen, may stand beside the row numbers that pandas writes.
    is_run = options.one_run or options.stream
    is_chosen = options.member is not None or options.score is not None
    columns = list if is_chosen or is_run else None
    common: dict[str, Any] = {"format": options.format, "delimiter": delimiter(options)}
    table = read_table(path, columns, labels=is_flag, **common)
    every = names_of(table)
    names = [each for each in every if each and not each.startswith("__index_level_")]
    index = next((each for each in every if each not in names), None)
    return _File(path, table, names, index)


def _refuse_row_numbers(file: _File, options: argparse.Namespace) -> None:
    """Refuse row numbers beside a single column that was not chosen."""
    from mialeak._files.tables import read_table

    if file.row_names is None or len(file.names) > 1:
        return
    if options.member is None and options.score is None:
        read_table(file.path, None, format=options.format, delimiter=delimiter(options))


def _same_index(first: _File, second: _File) -> str | None:
    """Whether two files have the index of one data frame, "equal" or "moved" to another order."""
    from mialeak.cli._matched import same_values

    if first.row_names is None or second.row_names is None:
        return None
    return same_values(first.table[first.row_names], second.table[second.row_names])


def _column_of(file: _File, options: argparse.Namespace) -> str:
    """The column of scores, or of flags, of one of two files."""
    if len(file.names) == 1:
        return file.names[0]
    if options.score in file.names:
        return str(options.score)
    if options.score is not None:
        listed = ", ".join(map(str, file.names))
        raise ValueError(f"--score must be a column of {file.path}: {listed}; got {options.score}")
    raise ValueError(
        f"{file.path} must have one column, of scores; it has {len(file.names)}. Of separate runs "
        "pass --score COLUMN; with --one-run or --stream pass --member COLUMN for scores "
        "and flags of one file; of shadow models pass --shadow, a matrix of scores and one of flags"
    )


def _refuse_matrices(first: _File, second: _File) -> None:
    """Refuse a matrix of scores beside one of flags, as of shadow models by examples."""
    flags = sum(_are_flags(second, name) for name in second.names)
    columns, others = len(first.names), len(second.names) - flags
    if columns == len(second.names) and flags > 1 >= others:
        raise ValueError(
            f"{first.path} and {second.path} must have one column each; they have {columns}, and "
            f"{second.path} holds flags. If these are models by examples, pass --shadow"
        )


def _refuse_a_row(*files: _File) -> None:
    """Refuse an array of numbers in one row, beside as many in one column."""
    if not all(file.path.lower().endswith(_ARRAYS) and file.names for file in files):
        return
    shapes = [(len(each.table[each.names[0]]), len(each.names)) for each in files]
    for file, shape in zip(files, shapes, strict=True):
        if shape[1] > 1 == shape[0] and shape[::-1] in shapes:
            raise ValueError(
                f"{file.path} must have one column, a row for each score; its shape is {shape}, "
                f"and that of the other file {shape[::-1]}. Write its rows as columns (transpose)"
            )


def _are_flags(file: _File, name: str) -> bool:
    """Whether a column holds 0 and 1 only."""
    try:
        values = numbers(file.path, file.table[name])
    except (ValueError, TypeError):
        return False
    return bool(((values == 0.0) | (values == 1.0)).all())


def _of_one_file(file: _File, options: argparse.Namespace) -> tuple[FloatArray, FloatArray]:
    """Scores and flags, two columns of a file."""
    from mialeak._checks.audits.beside import are_of_models, beside, refuse_rows
    from mialeak._checks.audits.scores import cautions_of_fits, names_ratio

    path, table, names, _ = file
    score, member = chosen = _chosen(path, names, options)
    columns = beside(table, names, chosen)
    options.noticed += refuse_rows(path, columns, table[member])
    are_ratios = names_ratio(score) and are_of_models(columns, table[member])
    options.noticed += cautions_of_fits(score, surely=are_ratios)
    if options.score is not None:
        options.noticed += _of_several_columns(file, options)
    scores = _scores_in(path, table[score], score, "scores")
    _refuse_names(score, member, scores, options)
    return scores, numbers(path, table[member], member)


def _of_flags(
    files: Sequence[_File], chosen: Sequence[str], options: argparse.Namespace
) -> tuple[FloatArray, FloatArray]:
    """Scores and flags, the columns of a file each."""
    from mialeak._checks.audits.scores import cautions_of_fits

    words = [_word(file, name) for file, name in zip(files, chosen, strict=True)]
    (first, second), (score, member) = files, chosen
    scores = _scores_in(first.path, first.table[score], score, "scores")
    _refuse_names(words[0], words[1], scores, options)
    options.noticed += cautions_of_fits(words[0])
    return scores, numbers(second.path, second.table[member], member)


def _of_runs(
    files: Sequence[_File], chosen: Sequence[str], options: argparse.Namespace
) -> tuple[FloatArray, FloatArray]:
    """Scores of separate runs, a file for each world."""
    from mialeak._checks.audits.beside import beside, constant_words, refuse_runs
    from mialeak._checks.audits.scores import are_turned, cautions_of_worlds, refuse_score_name

    if options.score is not None:
        options.noticed += _of_several_columns(files[0], options)
    worlds, scores = [], []
    for file, name, argument in zip(files, chosen, ("in_scores", "out_scores"), strict=True):
        scores.append(_scores_in(file.path, file.table[name], name, argument))
        word = _word(file, name)
        if not (options.allow_reversed or are_turned(word, scores[-1])):
            is_high = not options.lower_is_member
            refuse_score_name(word, argument, higher_is_member=is_high)
        worlds.append(beside(file.table, file.names, [name]))
    noticed: list[str] = []
    if not any(map(_is_array, files)):
        noticed = cautions_of_worlds(chosen, scores)
    parts = [constant_words(columns) for columns in worlds]
    for names in (_names_of_files(files, chosen), parts):
        again = cautions_of_worlds(names, scores, are_files=True)
        noticed = noticed or again
    options.noticed += noticed
    refuse_runs([file.path for file in files], worlds, scores)
    return scores[0], scores[1]


def _refuse_names(score: str, member: str, scores: FloatArray, options: argparse.Namespace) -> None:
    """Refuse names of scores and flags that contradict their use."""
    from mialeak._checks.audits.scores import are_turned, refuse_flag_name, refuse_score_name

    if not (options.allow_reversed or are_turned(score, scores)):
        refuse_score_name(score, "scores", higher_is_member=not options.lower_is_member)
    refuse_flag_name(member, "member")


def _names_of_files(files: Sequence[_File], chosen: Sequence[str]) -> list[str]:
    """What two files are called: by their folders if these differ, and their columns."""
    folders = [Path(file.path).parent.name for file in files]
    if folders[0] == folders[1]:
        folders = ["", ""]
    return [
        " ".join(filter(None, (folder, Path(file.path).stem, "" if _is_array(file) else name)))
        for folder, file, name in zip(folders, files, chosen, strict=True)
    ]


def _is_array(file: _File) -> bool:
    """Whether a file has no names of columns."""
    return Path(file.path).suffix.lower() in _ARRAYS


def _word(file: _File, name: str) -> str:
    """What a column is called: an array has no name but that of its file."""
    return Path(file.path).stem if _is_array(file) else name


def _scores_in(path: str, column: Any, name: str, argument: str) -> FloatArray:
    """The scores of a column, which counts no rows."""
    from mialeak._checks.audits.scores import refuse_row_numbers

    scores = numbers(path, column)
    refuse_row_numbers(name, argument, scores)
    return scores


def _joined(first: _File, second: _File, options: argparse.Namespace) -> _File:
    """One table of both files, whose rows are matched by a column that names them in each."""
    from mialeak.cli._matched import matched

    chosen = options.score, options.member
    keys = [name for name in first.names if name in second.names and name not in chosen]
    if first.row_names is not None and first.row_names == second.row_names:
        keys.append(first.row_names)
    table, key = matched((first.path, second.path), first.table, second.table, keys)
    names = [*first.names, *(name for name in second.names if name not in first.names)]
    columns = {name: table[name] for name in names}
    if options.member is None:
        others = [name for name in second.names if name != key]
        if len(others) != 1:
            listed = ", ".join(map(str, others)) or "none"
            raise ValueError(
                f"{second.path} must have one column of flags beside {key!r}; there are {listed}. "
                "Pass --member COLUMN"
            )
        options.member = others[0]
    if options.score is None and len(others := [n for n in first.names if n != key]) == 1:
        options.score = others[0]
    by = "the index, a column without a name" if key == first.row_names else repr(key)
    options.matched = f"Rows of {first.path} and {second.path} are matched by {by}."
    return _File(first.path, columns, names)


def _chosen(path: str, names: list[str], options: argparse.Namespace) -> list[str]:
    """The columns of scores and of flags."""
    others = [name for name in names if name != options.member]
    if options.score is None and len(others) != 1:
        listed = ", ".join(map(str, others)) or "none"
        raise ValueError(
            f"{path} must have one column of scores beside {options.member!r}; there are "
            f"{listed}. Pass --score COLUMN"
        )
    chosen = [others[0] if options.score is None else options.score, options.member]
    for option, name in zip(("--score", "--member"), chosen, strict=True):
        if name not in names:
            raise ValueError(f"{option} must be a column of {path}: {', '.join(names)}; got {name}")
    if chosen[0] == chosen[1]:
        raise ValueError(f"--score must be another column than --member; got {chosen[0]} for both")
    return chosen


def _of_several_columns(file: _File, options: argparse.Namespace) -> list[str]:
    """A caution where the chosen column has others beside it, of the same name but for numbers."""
    from mialeak._checks.audits.flags import in_numbers

    stem = re.sub(r"\d+", "0", options.score)
    alike = [name for name in file.names if re.sub(r"\d+", "0", name) == stem]
    count = sum(in_numbers(file.table[name]) is not None for name in alike)
    level = 1.0 - _ERROR / max(count, 1)
    if count < 2 or options.confidence >= level - 1e-9:
        return []
    return [
        f"{options.score!r} is one of {count} columns of this name but for its number. If it was "
        f"chosen by its scores or its bound, the bound does not hold: pass --confidence {level:.6g}"
        ", which holds for the best of all, or choose before the scores are seen."
    ]
