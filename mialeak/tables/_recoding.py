"""Recoding of columns: bands of numbers, top and bottom codes, and rare values as one."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, as_count, as_float, invalid, listed
from mialeak._checks.spellings import cautions_of_thousands
from mialeak._columns import Factor, near
from mialeak._files.states import write_whole

__all__ = ["Recoding", "as_recoding", "cautions_of_recoding", "recode_factor", "recoded"]

IntArray = npt.NDArray[np.int64]

#: What a rule may state, and of which the first five are for numbers or for counts of rows.
_RULES = ("bin", "start", "top", "bottom", "rare", "keep", "codes", "drop")
#: A number so close to the end of a band, relative to the number of bands, is compared in decimals.
_NEAR = 1e-9
#: The value of all that is grouped, and of a column that is dropped.
_OTHER, _DROPPED = "other", "*"
#: What a band, or the code of an end, has beside a number.
_END = re.compile(r"[-+,]|up to ")
#: An open class at the top, and a decimal comma.
_TOP, _COMMA = re.compile(r"(\d+)\s*\+"), re.compile(r"-?\d+,\d+")
#: An end in another unit than its column: by what factor it is beyond all numbers; or the fewest
#: numbers of a measurement, and the share of these, and of the rows above 0, that the class of the
#: end holds, as "100+" of earnings in dollars.
_BEYOND, _FEWEST_MEASURED, _NEARLY_ALL = 2.0, 20, 0.95
#: What a recode table is called in JSON, and the columns of one in CSV.
_SCHEMA, _HEADER = "mialeak.recode/1", ("column", "value", "code")


@dataclass(frozen=True)
class Recoding:
    """How the values of columns are made coarser.

    Parameters
    ----------
    rules : mapping
        For each column that is changed a mapping with one or more of

        * ``bin``: width of the bands of a column of numbers, which begin at multiples of it, or
          with ``start`` at that number and multiples from there;
        * ``top``, ``bottom``: numbers of at least, at most, so much become one value;
        * ``rare``: values of fewer rows than this become ``"other"``;
        * ``keep``: all other values than these become ``"other"``;
        * ``codes``: a mapping of each value to its code, as a recode table in CSV has it;
        * ``drop``: True for a column of which nothing is kept.

    Raises
    ------
    TypeError, ValueError
        If a rule is none of these, its number is out of range, or rules exclude each other.

    Examples
    --------
    >>> from mialeak.tables import Recoding, table_leakage
    >>> recoding = Recoding({"age": {"bin": 10, "top": 60}})
    >>> print(recoding)
    age: bands of 10, top code 60
    >>> table = {"age": [31, 38, 44, 60, 75], "sex": list("fmfmf")}
    >>> report = table_leakage(table, recode=recoding)
    >>> [report.cell_values(cell)["age"] for cell in range(report.n_cells)]
    ['30-39', '30-39', '40-49', '60+', '60+']
    """

    rules: Mapping[Any, Mapping[str, Any]]

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Mapping):
            rule = "be a mapping of columns to rules, such as {'age': {'bin': 5}}"
            invalid("rules", rule, value=self.rules, error=TypeError)
        for column, rules in self.rules.items():
            _check(column, rules)
        plain = {column: dict(rules) for column, rules in self.rules.items()}
        object.__setattr__(self, "rules", plain)

    def __str__(self) -> str:
        return "; ".join(f"{column}: {_words(rules)}" for column, rules in self.rules.items())

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain values, ready for JSON."""
        return {"schema": _SCHEMA, "rules": {str(name): dict(r) for name, r in self.rules.items()}}

    def write(
        self, path: str | PathLike[str], *, values: Mapping[Any, Sequence[Any]] | None = None
    ) -> None:
        """Write a recode table, to be applied again.

        Parameters
        ----------
        path : path
            ``.json`` for the rules, ``.csv`` for the code of each value.
        values : mapping, optional
            For CSV: the values of each changed column.

        Raises
        ------
        ValueError
            If the path ends in neither, or for CSV the values of a column are missing.

        Notes
        -----
        Values are written as they are, since the table is compared with them when it is applied
        again.  A spreadsheet takes a value that begins with ``=``, ``+``, ``-`` or ``@`` for a
        formula: import the columns as text.
        """
        path = Path(path)
        if path.suffix == ".json":
            text = json.dumps(self.to_dict(), indent=2) + "\n"
            write_whole(path, lambda file: file.write(text.encode()))
            return
        if path.suffix != ".csv":
            invalid("path", "end in .json or .csv", value=str(path))
        stream = io.StringIO(newline="")
        lines = csv.writer(stream, lineterminator="\n")
        lines.writerow(_HEADER)
        for column, rules in self.rules.items():
            if values is None or column not in values:
                invalid("values", f"hold those of column {column!r}, which a CSV lists")
            codes = _codes(values[column], rules, column, None)
            pairs = zip(map(_text, values[column]), map(_text, codes), strict=True)
            lines.writerows((column, *pair) for pair in pairs)
        write_whole(path, lambda file: file.write(stream.getvalue().encode()))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Recoding:
        """The recoding of a file that :meth:`write` made, or of the same form.

        Parameters
        ----------
        path : path
            A JSON of rules, or a CSV with the columns column, value and code.

        Returns
        -------
        Recoding

        Raises
        ------
        ValueError
            If the file is neither.
        """
        path = Path(path)
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".json":
            try:
                content = json.loads(text)
            except json.JSONDecodeError as error:
                invalid("recode", f"be JSON; {path.name} is not: {error}")
            if not isinstance(content, dict) or content.get("schema") != _SCHEMA:
                invalid("recode", f"hold the schema {_SCHEMA!r}", value=str(path))
            return cls(content.get("rules", {}))
        lines = list(csv.reader(text.splitlines()))
        if not lines or tuple(name.strip() for name in lines[0]) != _HEADER:
            rule = f"be a .json of rules or a CSV with the columns {', '.join(_HEADER)}"
            invalid("recode", rule, value=str(path))
        codes: dict[str, dict[str, str]] = {}
        for number, line in enumerate(lines[1:], 2):
            if len(line) != len(_HEADER):
                invalid("recode", f"have 3 fields in each line; line {number} has {len(line)}")
            of_column = codes.setdefault(line[0], {})
            if of_column.get(line[1], line[2]) != line[2]:
                rule = f"have one code for each value; line {number} has another for {line[1]!r}"
                invalid("recode", f"{rule} of column {line[0]!r}")
            of_column[line[1]] = line[2]
        return cls({column: {"codes": each} for column, each in codes.items()})


def _check(column: Any, rules: Any) -> None:
    name = f"rules[{column!r}]"
    if not isinstance(rules, Mapping) or not rules:
        rule = "be a mapping such as {'bin': 5}"
        invalid(name, rule, value=rules, error=TypeError)
    for key, value in rules.items():
        if key not in _RULES:
            invalid(name, f"hold {', '.join(_RULES)}", value=key, remedy=near(key, list(_RULES)))
        if key in ("bin", "start", "top", "bottom"):
            as_float(value, f"{name}[{key!r}]")
        elif key == "rare":
            as_count(value, f"{name}[{key!r}]", least=1)
    if "bin" in rules and not rules["bin"] > 0:
        invalid(f"{name}['bin']", "be above 0", value=rules["bin"])
    if rules.get("top", math.inf) <= rules.get("bottom", -math.inf):
        invalid(f"{name}['top']", "be above the bottom code", value=rules["top"])
    kinds = [{"bin", "start", "top", "bottom"}, {"rare"}, {"keep"}, {"codes"}, {"drop"}]
    if sum(bool(kind & set(rules)) for kind in kinds) > 1:
        rule = "hold rules for numbers, or one of rare, keep, codes and drop"
        invalid(name, rule, value=", ".join(rules))


def _words(rules: Mapping[str, Any]) -> str:
    """A rule for people."""
    words = []
    if "bin" in rules:
        words.append(f"bands of {_plain(rules['bin'])}")
    words += [f"{key} code {_plain(rules[key])}" for key in ("bottom", "top") if key in rules]
    if "rare" in rules:
        words.append(f"values of fewer than {rules['rare']:,} rows as one")
    if "keep" in rules:
        kept = listed(rules["keep"], show=str)
        words.append(f"all as one but {kept}" if kept else "all as one")
    if "codes" in rules:
        words.append(f"{len(set(rules['codes'].values()))} codes")
    return ", ".join(words) if words else "dropped"


def _plain(number: float) -> str:
    """A number for people, to the digits that it was typed with."""
    return f"{number:.15g}"


# ---- codes of values ----


def _number(value: Any, column: Any) -> float:
    """The number that a value is, or that its text is."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        rule = f"hold numbers in column {column!r} for bands, top and bottom codes"
        invalid("recode", rule, value=value, remedy=_remedy(str(value).strip()))
    return number


def _whole_steps(number: float, start: float, width: float) -> int:
    """How many times `width` is in ``number - start``, as these are typed.

    0.3 is three times 0.1, and the floats' quotient is less than 3.
    """
    quotient = (number - start) / width
    if abs(quotient - round(quotient)) > _NEAR * max(abs(quotient), abs(start / width), 1.0):
        return math.floor(quotient)
    typed, first, step = (Fraction(repr(float(each))) for each in (number, start, width))
    return math.floor((typed - first) / step)


def _text(value: Any) -> str:
    """A value as text: a whole number without decimals, as which a table beside it may have it."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < MAX_COUNT
    return str(int(value)) if is_whole else str(value)


def _remedy(text: str) -> str:
    """What an error proposes for a value that is no number."""
    if top := _TOP.fullmatch(text):
        return f"Write {top[1]} in its place, and make {top[1]} the top code"
    if _COMMA.fullmatch(text):
        return f"Write it with a decimal point, {text.replace(',', '.')}"
    return "Group its rare values, in place of bands"


def _band(number: float, rules: Mapping[str, Any]) -> str | float:
    """The band of a number, or its top or bottom code."""
    if number >= rules.get("top", math.inf):
        return f"{_plain(rules['top'])}+"
    if number <= rules.get("bottom", -math.inf):
        return f"up to {_plain(rules['bottom'])}"
    if "bin" not in rules:
        return number
    width, start = float(rules["bin"]), float(rules.get("start", 0.0))
    steps = _whole_steps(number, start, width)
    low, high = start + steps * width, start + (steps + 1) * width
    high = min(high, float(rules.get("top", math.inf)))  # beyond it is the code of the end
    bottom = float(rules.get("bottom", -math.inf))
    if all(end.is_integer() or math.isinf(end) for end in (width, start, high, bottom)):
        low = max(low, bottom + 1.0)
        return f"{_plain(low)}-{_plain(high - 1)}" if high - low > 1.0 else _plain(low)
    return f"{'(' if low <= bottom else '['}{_plain(max(low, bottom))}, {_plain(high)})"


def _codes(
    values: Sequence[Any], rules: Mapping[str, Any], column: Any, rows: IntArray | None
) -> list[Any]:
    """The code of each value; `rows` of each are for rare ones."""
    if rules.get("drop"):
        return [_DROPPED] * len(values)
    if "keep" in rules:
        kept = {text for value in rules["keep"] for text in (str(value), _text(value))}
        return [value if {str(value), _text(value)} & kept else _OTHER for value in values]
    if "rare" in rules:
        if rows is None:
            invalid("recode", f"list the values of column {column!r} that are kept")
        pairs = zip(values, rows.tolist(), strict=True)
        return [value if count >= rules["rare"] else _OTHER for value, count in pairs]
    if "codes" in rules:
        given = rules["codes"].items()
        codes = {_text(value): code for value, code in given}
        codes |= {str(value): code for value, code in given}
        for value in values:
            if str(value) not in codes and _text(value) not in codes:
                rule = f"have a code for each value of column {column!r}"
                invalid("recode", rule, value=value)
        return [codes[str(value) if str(value) in codes else _text(value)] for value in values]
    bands = [_band(_number(value, column), rules) for value in values]
    return [
        value if isinstance(band, float) else band
        for value, band in zip(values, bands, strict=True)
    ]


def recode_factor(
    factor: Factor, rules: Mapping[str, Any], column: Any, persons: IntArray | None
) -> Factor:
    """The column by its codes; what is missing stays so, unless the column is dropped."""
    if rules.get("drop"):
        return Factor(np.zeros(len(factor.codes), np.int32), [_DROPPED])
    used = np.unique(factor.codes[factor.codes >= 0])
    weights = None if persons is None else persons[factor.codes >= 0].astype(np.float64)
    rows = np.bincount(factor.codes[factor.codes >= 0], weights, len(factor.levels))
    values = [factor.value(int(code)) for code in used]
    codes = _codes(values, rules, column, rows[used].astype(np.int64))
    levels = list(dict.fromkeys(map(_text, codes)))
    place = {level: code for code, level in enumerate(levels)}
    table = np.full(len(factor.levels), -1)
    table[used] = [place[_text(code)] for code in codes]
    kept = np.where(factor.codes >= 0, table[factor.codes], -1) if len(table) else factor.codes
    return Factor(kept, levels, factor.stripped)


def as_recoding(recode: Any) -> Recoding | None:
    """The argument `recode` of ``table_leakage``: a recoding, its rules, or its file."""
    if recode is None or isinstance(recode, Recoding):
        return recode
    if isinstance(recode, (str, PathLike)):
        return Recoding.read(recode)
    return Recoding(recode)


def recoded(
    factors: dict[Any, Factor], recoding: Recoding | None, persons: IntArray | None = None
) -> tuple[dict[Any, Factor], Recoding | None]:
    """The columns recoded, and the recoding with the values that it kept, for other tables."""
    if recoding is None:
        return factors, None
    settled: dict[Any, Any] = {}
    out = dict(factors)
    names = {str(name): name for name in factors}
    for given, rules in recoding.rules.items():
        if given not in factors and str(given) not in names:
            remedy = near(given, list(factors))
            invalid("recode", "name columns that are counted by", value=given, remedy=remedy)
        column = given if given in factors else names[str(given)]
        out[column] = recode_factor(factors[column], rules, column, persons)
        settled[column] = rules
        if "rare" in rules:
            settled[column] = {"keep": [v for v in out[column].levels if v != _OTHER]}
    return out, Recoding(settled)


def cautions_of_recoding(
    before: dict[Any, Factor], after: dict[Any, Factor], recoding: Recoding | None
) -> list[str]:
    """A sentence for each column recoded in another unit, or to one value, though not dropped."""
    if recoding is None:
        return []
    merged = [
        name
        for name in recoding.rules
        if after[name].n_values == 1
        and before[name].n_values > 1
        and after[name].value(int(after[name].codes[0])) != _DROPPED
    ]
    banded = {
        name: before[name]
        for name in recoding.rules
        if any(map(_END.search, map(str, after[name].levels)))
    }
    return [
        *cautions_of_thousands(banded),
        *(
            f"Recoding makes all values of column {name!r} one: the table is that of the other "
            "columns. A band, or the code of an end, is in the unit of the column."
            for name in merged
        ),
        *(
            f"The {words}: it holds {held}. A band, or the code of an end, is in the unit of the "
            "column (years, months, thousands)."
            for name, rules in recoding.rules.items()
            if name not in merged
            for words, held in _of_ends(name, before[name], rules)
        ),
    ]


def _of_ends(name: Any, factor: Factor, rules: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the code of an end does that is in another unit, and the range of the column.

    The end is far beyond all numbers, or nearly all numbers are beyond it.  An end of 1, or of the
    least number above 0, is in the unit of the column: its class is "any".
    """
    ends = {key: rules[key] for key in ("bottom", "top") if key in rules}
    used = np.flatnonzero(factor.rows_of_level)
    if not ends or not used.size:
        return
    numbers = np.array([_number(factor.value(code), name) for code in used.tolist()])
    rows, low, high = factor.rows_of_level[used], float(numbers.min()), float(numbers.max())
    held = f"{_plain(low)} to {_plain(high)}"
    positive = numbers > 0.0
    of_any = {1.0, float(numbers[positive].min(initial=math.inf))}
    for key, end in ends.items():
        is_top = key == "top"
        is_beyond = end > _BEYOND * high > 0.0 if is_top else low > _BEYOND * end > 0.0
        of_end = numbers >= end if is_top else numbers <= end
        is_class = numbers.size >= _FEWEST_MEASURED and of_end.mean() >= _NEARLY_ALL
        is_class &= end not in of_any and of_end[positive].any()
        is_most = rows[of_end & positive].sum() >= _NEARLY_ALL * rows[positive].sum()
        if is_beyond or (is_class and is_most):
            does = "changes no value" if is_beyond else "is that of nearly all rows"
            yield f"{key} code {_plain(end)} of column {name!r} {does}", held
