"""CSV: the header checked, the fields without the spaces around them, coded a block at a time.

Values are kept as written (``01`` is not ``1``) but for the spaces around a field, and a field with
nothing else is missing.

Line 1 is taken for the names of the columns only if it does not look like data.  It does

* where a field is a number and so is every value below it, unless the numbers of line 1 are names:
  years at equal distances, at least three whole numbers that rise by 1, 5 or 10 each, or 0 and 1 or
  1 and 2, as pandas and R name columns;
* where at least half of its fields occur among the values below them, unless a word stands above
  each column of numbers: ``score,member`` above ``0.31,member``.

Both rules look at the first records only.  A file that they get wrong is read with ``header``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any, NoReturn

from mialeak._arrays import invalid
from mialeak._blocks import progress_bar
from mialeak._columns import Factor, FactorBuilder, choose_columns
from mialeak._fields import MARKERS, is_number
from mialeak._files.opening import TableFile

__all__ = ["HEADER_ADVICE", "check_index", "csv_blocks", "read_csv"]

#: What to do where line 1 looks like data.
HEADER_ADVICE = (
    "Pass names=['A', 'B', ...] or header=False if there is no line of names, header=True if these "
    "are the names"
)

#: Records, and fields, taken at a time.
_BLOCK, _FIELDS = 2**16, 2**19

#: Records, and fields, that line 1 is compared with.
_SAMPLE, _SAMPLED_FIELDS = 1000, 2**20

#: Numbers of line 1 are names if they are years at equal distances, or rise by one of these steps.
_YEARS, _STEPS = range(1800, 2101), (1, 5, 10)

#: Characters of a line that are read at once: a packed file may hold a line of any length.  A cut
#: line is refused, by the length of a field or the number of fields.
_LONGEST = 2**24

#: Seconds of reading after which the progress is shown.
_DELAY = 2.0

#: A header of one column that holds one of these was written with another delimiter than given.
_DELIMITERS = {";": ";", "\t": "\\t", "|": "|", ",": ","}

#: A first line that names the delimiter, which Excel heeds and no other program.
_OF_EXCEL = re.compile(r"sep=.?", re.IGNORECASE)


def read_csv(
    path: TableFile,
    columns: Any,
    *,
    delimiter: str,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    progress: bool = False,
) -> dict[str, Factor]:
    """The columns of a CSV; the arguments are those of :func:`mialeak._files.tables.read_table`."""
    builders: dict[str, FactorBuilder] = {}
    memory = path.memory()
    for fields in _field_blocks(path, columns, delimiter, header, names, progress):
        for name, values in fields.items():
            builder = builders.setdefault(name, FactorBuilder(missing=("",), strip=True))
            builder.add(values)
            memory.take(8.0 * len(values))  # codes of 4 bytes, put together once more
    return {name: builder.finish() for name, builder in builders.items()}


def csv_blocks(
    path: TableFile,
    columns: Any,
    *,
    delimiter: str,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    progress: bool = False,
) -> Iterator[dict[str, Factor]]:
    """The same, a block of rows at a time, each with levels of its own; the first may be empty."""
    for fields in _field_blocks(path, columns, delimiter, header, names, progress):
        block = {}
        for name, values in fields.items():
            builder = FactorBuilder(missing=("",), strip=True)
            builder.add(values)
            block[name] = builder.finish()
        yield block


def _field_blocks(
    path: TableFile,
    columns: Any,
    delimiter: str,
    header: bool | None,
    names: Sequence[str] | None,
    progress: bool,
) -> Iterator[dict[str, list[str]]]:
    """The fields of the chosen columns, a block of records at a time; at least one block."""
    if len(delimiter) != 1:
        invalid("delimiter", "be one character", value=delimiter)
    try:
        with (
            path.open() as binary,
            io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as file,
            progress_bar(progress, None if path.packed else path.size, "B", delay=_DELAY) as done,
        ):
            reader = csv.reader(_lines(file), delimiter=delimiter, strict=True)
            try:
                first = [field.strip() for field in next(reader, [])]
                _check_line(path, first, delimiter)
                size = max(1, min(_BLOCK, _FIELDS // len(first)))
                records = list(islice(reader, size))
                _check_spaces(path, first, records)
                labels, has_names = _labels(path, first, records, header, names)
                check_index(path, labels, columns)
                chosen = choose_columns(labels, columns)
                places = [labels.index(name) for name in chosen]
                if not has_names:
                    records.insert(0, first)
                if not records:
                    yield {name: [] for name in chosen}
                read = 0
                while records:
                    if set(map(len, records)) != {len(first)}:
                        _check_ragged(path, delimiter, len(first), has_names)
                        records = list(filter(None, records))
                    yield {
                        name: [record[place] for record in records]
                        for name, place in zip(chosen, places, strict=True)
                    }
                    if not path.packed:  # whose unpacked bytes are of no known number
                        done(binary.tell() - read)
                        read = binary.tell()
                    records = list(islice(reader, size))
            except csv.Error as error:
                raise ValueError(f"{path} line {reader.line_num}: {error}") from error
    except UnicodeDecodeError as error:
        _refuse_encoding(path, error)


def _check_line(path: TableFile, first: list[str], delimiter: str) -> None:
    """Refuse a first line that is blank, or one field with another delimiter in it."""
    if not first:
        raise ValueError(f"{path} must have the names of its columns in line 1, which is blank")
    if _OF_EXCEL.fullmatch(first[0]) and not any(first[1:]):
        raise ValueError(
            f"{path} must have the names of its columns in line 1, which names the delimiter for "
            "Excel. Take the line out"
        )
    if len(first) == 1:
        for other, written in _DELIMITERS.items():
            if other != delimiter and other in first[0]:
                raise ValueError(
                    f"{path} has a single column; if '{written}' divides its columns, name it "
                    "with delimiter"
                )


def _check_spaces(path: TableFile, first: list[str], records: list[list[str]]) -> None:
    """Refuse a single column of as many numbers in each line, as ``numpy.savetxt`` writes them."""
    if len(first) > 1 or len(first[0].split()) < 2:
        return
    lines = [record[0].split() for record in records[:_SAMPLE] if len(record) == 1]
    if lines and all(
        len(line) == len(first[0].split()) and all(map(is_number, line)) for line in lines
    ):
        raise ValueError(
            f"{path} has a single column; if ' ' divides its columns, name it with delimiter"
        )


def _labels(
    path: TableFile,
    first: list[str],
    records: list[list[str]],
    header: bool | None,
    names: Sequence[str] | None,
) -> tuple[list[str], bool]:
    """The names of the columns, and whether line 1 held names."""
    rows = min(_SAMPLE, max(1, _SAMPLED_FIELDS // len(first)))
    sample = [record for record in records[:rows] if len(record) == len(first)]
    has_names = header if header is not None else names is None
    if header is None and has_names:
        _check_again(path, first, sample)
    if header is None and has_names and (reason := _holds_data(first, sample)):
        raise ValueError(
            f"{path} must have the names of its columns in line 1, which looks like data: "
            f"{reason}. {HEADER_ADVICE}"
        )
    if not has_names and (place := _holds_names(first, sample)) is not None:
        raise ValueError(
            f"{path} must hold data in line 1, which looks like names: {first[place]!r} stands "
            "above numbers. Pass header=True if these are names"
        )
    if names is None:
        labels = first if has_names else [str(place) for place in range(len(first))]
    else:
        labels = [str(name) for name in names]
        if len(labels) != len(first):
            rule = f"name each of the {len(first)} columns of {path}, not {len(labels)}"
            invalid("names", rule)
    places: dict[str, int] = {}
    for place, name in enumerate(labels, 1):
        if name in places:
            where = f"columns {places[name]} and {place} are {name!r}"
            title = "" if name else ". If lines of a title stand above the names, take them out"
            raise ValueError(f"{path} has two columns of one name: {where}{title}")
        places[name] = place
    return labels, has_names


def _check_again(path: TableFile, first: list[str], sample: list[list[str]]) -> None:
    """Refuse names that stand a second time, above the numbers of a file that was appended."""
    others = [record for record in sample if [field.strip() for field in record] != first]
    if len(others) < len(sample) and _holds_names(first, others) is not None:
        again = len(sample) - len(others)
        raise ValueError(
            f"{path} must have the names of its columns once; line 1 occurs {again + 1} times, as "
            "where files are joined. Take out the lines of names below line 1"
        )


def _holds_data(first: list[str], sample: list[list[str]]) -> str:
    """Why line 1 looks like data, without its values, or nothing; see the head of this file."""
    numbers = [place for place, field in enumerate(first) if is_number(field)]
    if not _are_names([first[place] for place in numbers]):
        for place in numbers:
            if _are_numbers(record[place] for record in sample):
                return f"its field {place + 1} is a number above numbers"
    named = _holds_names(first, sample)
    if named is not None and first[named][0].isalpha():
        return ""
    filled = [place for place, field in enumerate(first) if field]
    again = [p for p in filled if any(record[p].strip() == first[p] for record in sample)]
    if not 0 < len(filled) <= 2 * len(again):
        return ""
    return f"{len(again)} of its {len(first)} fields occur again below"


def _are_names(numbers: list[str]) -> bool:
    """Whether numbers in line 1 are names: years, or whole numbers that rise by a usual step."""
    if len(numbers) < 2 or not all(map(str.isdecimal, numbers)):
        return False
    values = [int(number) for number in numbers]
    steps = {after - before for before, after in pairwise(values)}
    if len(steps) > 1:
        return False
    (step,) = steps
    if values[0] in _YEARS and values[-1] in _YEARS:
        return step > 0
    return step in _STEPS if len(values) > 2 else (step == 1 and values[0] in (0, 1))


def _holds_names(first: list[str], sample: list[list[str]]) -> int | None:
    """The first field of words in line 1 above a column of numbers, if every such column has one.

    A marker of missing values is no word.
    """
    numeric = [
        place
        for place in range(len(first))
        if sample and _are_numbers(record[place] for record in sample)
    ]
    words = [p for p in numeric if not is_number(first[p]) and first[p].lower() not in MARKERS]
    return words[0] if words and words == numeric else None


def _are_numbers(fields: Iterable[str]) -> bool:
    """Whether all of the fields are numbers, empty or markers of missing values."""
    plain = (field.strip() for field in fields)
    return all(is_number(field) or field.lower() in MARKERS for field in plain)


def check_index(path: TableFile, names: list[str], columns: Any) -> None:
    """Refuse to count by the numbers or names of the rows, in which every row is alone."""
    for place, name in enumerate(names, 1):
        if columns is None and (not name or name.startswith("__index_level_")):
            raise ValueError(
                f"{path} has the row numbers or names of a data frame, it seems: column {place} "
                f"is called {name!r}. Write it with index=False, or choose the columns; if it "
                "labels the rows of a cross-tabulation, or names persons, name it"
            )


def _lines(file: io.TextIOWrapper) -> Iterator[str]:
    """The lines of a file, in pieces where they are longer than any table's."""
    return iter(partial(file.readline, _LONGEST), "")


def _check_ragged(path: TableFile, delimiter: str, width: int, has_names: bool) -> None:
    """Raise for the first record without `width` fields, unless only blank lines follow it."""
    blank = 0
    with path.open() as binary, io.TextIOWrapper(binary, "utf-8-sig", newline="") as file:
        reader = csv.reader(_lines(file), delimiter=delimiter, strict=True)
        for record in reader:
            if not record:
                blank = blank or reader.line_num
            elif blank:
                raise ValueError(f"{path} line {blank} is blank, and it is not the last")
            elif len(record) != width:
                fields = f"{len(record)} field{'s' * (len(record) != 1)}"
                line = "the header" if has_names else "line 1"
                raise ValueError(
                    f"{path} line {reader.line_num} has {fields} where {line} has {width}"
                )


def _refuse_encoding(path: TableFile, error: UnicodeDecodeError) -> NoReturn:
    """Report the first line whose bytes are not UTF-8."""
    with path.open() as file:
        for number, line in enumerate(path.lines(file), 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as broken:
                raise ValueError(
                    f"{path} must be UTF-8; got byte 0x{line[broken.start]:02x} in line {number}. "
                    "Convert it (iconv -f CP1252 -t UTF-8)"
                ) from error
    raise error
