"""What columns beside scores and flags give away, in the files of ``mialeak audit``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from mialeak._checks.audits.dependence import (
    Ranked,
    is_sorted,
    refuse_alike,
    refuse_pairs,
    refuse_several_rows,
)
from mialeak._checks.audits.flags import in_numbers
from mialeak._checks.audits.keys import keys_of
from mialeak._checks.audits.scores import (
    are_members,
    is_count,
    is_hyperparameter,
    is_kind_of_training,
    is_place,
    names_canaries,
    names_models,
    names_signals,
)
from mialeak._checks.names import is_copies_name, is_person_name

if TYPE_CHECKING:
    from mialeak._arrays import FloatArray

__all__ = [
    "Beside",
    "are_of_models",
    "beside",
    "beside_index",
    "cautions_of_index",
    "constant_words",
    "refuse_rows",
    "refuse_runs",
    "texts_of",
]

#: More rows than names of canaries by so many have one flag a name by chance once in 10^6 times.
_REPEATS = 20
#: Different numbers of copies are at most so many, or so few that each stands in many rows.
_NUMBERS_OF_COPIES = 10
#: Equal numbers of members by chance are so improbable where a column of any name is remarked.
_CHANCE = 1e-4
#: Flags in words have so few spellings at most.
_WORDS_OF_FLAGS = 10
#: Rows of each setting of a sweep, on average, at least.
_ROWS_OF_SETTING = 10
#: Numbers that differ by less are those of one setting, of data sets with a row more or less.
_SAME = 0.01
#: Fewest values with two rows of which both flags are remarked: coins of three pairs differ in each
#: pair with probability 1/8.
_LEAST_SHARED = 3
#: What an index without a name is called.
_ROW_NAMES = "labels"
#: Settings that are named.
_SHOWN = 3
#: Kinds of rows that are no canaries, and those that are.
_PART = re.compile(r"(?i)(train|test|val|valid|hold|eval|orig|normal|clean|regular|base|real)")
_CANARY = re.compile(r"(?i)canar")
_TRAIN, _TEST = (
    re.compile(rf"(?i)({word})([_ -]?set)?")
    for word in ("train(ing)?", "test(ing)?|val(id(ation)?)?|hold[_ -]?out|eval(uation)?")
)


class Beside(NamedTuple):
    """A column of a file that is neither of scores nor of flags, and what its rows have in order.

    `codes` count the different values from 0; those of numbers rise with them.
    """

    name: str
    column: Any
    codes: npt.NDArray[np.intp]

    @property
    def kinds(self) -> int:
        """How many values are different."""
        return int(self.codes.max(initial=-1)) + 1

    def is_set(self) -> bool:
        """Whether it has several values, each in many rows."""
        return 2 <= self.kinds <= len(self.codes) / _ROWS_OF_SETTING

    def places(self) -> npt.NDArray[np.intp]:
        """The first row of each value, in their order."""
        first = np.empty(self.kinds, np.intp)
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]  # the last assignment remains
        return first

    def words(self, most: int | None = None) -> list[str]:
        """Its different values as text, or the first so many."""
        first = self.places()[:most]
        if isinstance(self.column, np.ndarray):
            return [str(value) for value in self.column[first].tolist()]
        return [str(_value(self.column, place)) for place in first.tolist()]

    def shown(self) -> str:
        """Its values in parentheses, of many the first."""
        more = ", ..." * (self.kinds > _SHOWN)
        return f"({', '.join(self.words(_SHOWN))}{more})"


def beside(table: Any, names: Sequence[str], chosen: Sequence[str]) -> list[Beside]:
    """The other columns that have a value for each row."""
    size = len(_in_order(table[chosen[0]]))
    columns = []
    for name in names:
        if name not in chosen and np.shape(values := _in_order(table[name])) == (size,):
            codes = np.unique(values, return_inverse=True)[1]
            columns.append(Beside(name, table[name], codes))
    return columns


def beside_index(values: Any) -> list[Beside]:
    """The levels of the index of scores (of pandas); row numbers, and what numbers rows, are none.

    An index without a name is one where its values repeat.
    """
    index: Any = getattr(values, "index", None)
    names = getattr(index, "names", None)
    if names is None or len(index) != np.size(values):
        return []
    if list(names) == [None] and index.is_unique:
        return []
    columns = []
    for place, name in enumerate(names):
        level = np.asarray(index.get_level_values(place))
        if level.dtype.kind == "O":  # words, or tuples
            level = np.array([str(value) for value in level])
        codes = np.unique(_in_order(level), return_inverse=True)[1]
        columns.append(Beside(_ROW_NAMES if name is None else str(name), level, codes))
    return columns


def cautions_of_index(scores: Any, member: Any, flags: Any) -> list[str]:
    """Cautions of the index of scores of canaries, or of their flags; refuse rows as of a file."""
    return refuse_rows("scores", beside_index(scores) or beside_index(member), flags)


def refuse_rows(path: str, columns: Sequence[Beside], flags: Any) -> list[str]:
    """Refuse rows that are no canaries of one run by another column; return cautions."""
    coins = np.unique(_in_order(flags), return_inverse=True)[1]
    in_ = in_numbers(flags)
    _refuse_several_scores(path, columns, coins)
    for each in columns:
        if each.name != _ROW_NAMES:
            _refuse_several_copies(path, each, in_)
    cautions = []
    for each in columns:
        _refuse_others(path, each, coins)
        follows = _pairs(each, coins) == each.kinds
        # Epochs may be those in which a canary was in.
        if each.is_set() and is_hyperparameter(each.name) and not (follows and is_count(each.name)):
            _refuse_setting(path, each)
        cautions += (
            _of_signals(path, each, coins)
            + _of_kinds(path, each)
            + _of_both(path, each, coins)
            + (_of_parts(path, each) if follows else [])
        )
    return cautions


def _of_signals(path: str, each: Beside, coins: npt.NDArray[np.intp]) -> list[str]:
    """A caution where each value has as many rows and as many members as all others.

    Coins of different canaries agree so with a probability that is small for several values; for
    two, the name of the column states what it is.
    """
    rows, members = np.bincount(each.codes), np.bincount(each.codes, coins)
    if not each.is_set() or np.ptp(rows) or np.ptp(members):
        return []
    size, count = float(rows[0]), np.arange(rows[0] + 1.0)
    logs = gammaln(size + 1.0) - gammaln(count + 1.0) - gammaln(size - count + 1.0)
    chance = float(np.sum(np.exp(each.kinds * (logs - size * np.log(2.0)))))
    if chance > _CHANCE and not names_signals(each.name):
        return []
    return [
        f"{each.name!r} has {each.kinds} values in {path} {each.shown()}, each in {rows[0]} rows "
        f"with {members[0]:.0f} members, as where each canary has a score of each value, or where "
        "the numbers of members were fixed. Scores of one canary share a coin, and the bound does "
        "not hold: keep the rows of one value, chosen before the scores are seen."
    ]


def _of_kinds(path: str, each: Beside) -> list[str]:
    """A caution where a column may name several kinds of trainings."""
    if not (each.is_set() and _names_trainings(each)):
        return []
    return [
        f"{each.name!r} has {each.kinds} values in {path} {each.shown()}. If these are of several "
        "trainings, the bound is on the one that leaks most, and the rows of the others hide a "
        "leak: keep the rows of one."
    ]


def _of_both(path: str, each: Beside, coins: npt.NDArray[np.intp]) -> list[str]:
    """A caution where each value with two rows has both flags, and most values have one row.

    Of rows with a coin each, half of the pairs have equal flags.
    """
    rows, members = np.bincount(each.codes), np.bincount(each.codes, coins)
    shared = int(np.count_nonzero(rows > 1))
    if not (names_canaries(each.name) or is_person_name(each.name)) or shared < _LEAST_SHARED:
        return []
    if 2 * shared > each.kinds or (rows > 2).any() or (members[rows > 1] != 1.0).any():
        return []
    return [
        f"{shared} values of {each.name!r} in {path} have two rows, one of a member and one of "
        "another. If such a value names a canary, it cannot have been both in and out, as where "
        "lists of members and others overlap: leave out all its rows."
    ]


def _of_parts(path: str, each: Beside) -> list[str]:
    """A caution where members are training rows, and the others test rows."""
    words = sorted(each.words())
    if len(words) != 2 or not (_TEST.fullmatch(words[0]) and _TRAIN.fullmatch(words[1])):
        return []
    return [
        f"By {each.name!r} of {path} members and others are rows of {words[1]} and {words[0]}. "
        "Training and test rows of a model are no canaries: the bound holds only if a fair coin "
        "put each row in."
    ]


def _names_trainings(each: Beside) -> bool:
    """Whether a column names kinds of trainings: words that differ in more than their numbers."""
    if not is_kind_of_training(each.name):
        return False
    if not names_models(each.name):
        return True
    words = {re.sub(r"\b[0-9a-f]{6,}\b|\d+", "", word.lower()) for word in each.words()}
    return len(words) == each.kinds and max(map(len, words)) > 1


def _refuse_setting(path: str, each: Beside) -> None:
    raise ValueError(
        f"{path} must have the scores of one training; {each.name!r} has {each.kinds} values "
        f"{each.shown()}, as in a sweep of settings. Keep the rows of one"
    )


def refuse_runs(
    paths: Sequence[str],
    worlds: Sequence[Sequence[Beside]],
    scores: Sequence[FloatArray],
    arguments: Sequence[str] = ("in_scores", "out_scores"),
) -> None:
    """Refuse separate runs that are of several trainings, or of several rows a run.

    `paths` are the files, or the `arguments` of Python, whose columns these are.
    """
    for path, columns in zip(paths, worlds, strict=True):
        for each in columns:
            if each.is_set() and (is_hyperparameter(each.name) or _names_trainings(each)):
                _refuse_setting(path, each)
    _refuse_flags(paths, worlds)
    by_name = [{each.name: each for each in columns} for columns in worlds]
    for name, first in by_name[0].items():
        if (second := by_name[1].get(name)) is not None and is_hyperparameter(name):
            _refuse_other_setting(paths, first, second)
    for argument, columns, values in zip(arguments, worlds, scores, strict=True):
        if not columns:
            continue
        ranked = Ranked.of(values)
        for each in columns:
            refuse_several_rows(each.name, argument, each.codes, ranked)
        for key in keys_of(columns):
            refuse_alike(key.what, argument, key.codes, ranked)
    if any(map(is_sorted, scores)):
        return
    for name, first in by_name[0].items():
        second = by_name[1].get(name)
        if second is not None and all(each.kinds == len(each.codes) for each in (first, second)):
            orders = [each.places() for each in (first, second)]
            words = [texts_of(each.column) for each in (first, second)]
            inside, outside = (
                (of_world[order], values[order])
                for of_world, values, order in zip(words, scores, orders, strict=True)
            )
            refuse_pairs(name, arguments[0], inside, outside)


def _refuse_flags(paths: Sequence[str], worlds: Sequence[Sequence[Beside]]) -> None:
    """Refuse the scores of a world of which a column states that they are of the other, or of both.

    Rows of IN are members, if a column states whether they are; those of OUT are others.
    """
    flags = [
        [
            (each, [are_members(each.name, word) for word in each.words()])
            for each in columns
            if each.kinds <= _WORDS_OF_FLAGS
        ]
        for columns in worlds
    ]
    for path, columns, is_in in zip(paths, flags, (True, False), strict=True):
        for each, members in columns:
            if None in members or members in ([], [is_in]):
                continue
            what = "with" if is_in else "without"
            rule = f"{path} must have the scores of runs {what} the target; by {each.name!r} "
            if len(members) > 1:
                raise ValueError(
                    f"{rule}it has members and others. Keep the rows of the world that it stands "
                    "for; for canaries of one run call one_run_audit(scores, member), with the "
                    f"flags {each.name!r}"
                )
            is_exchanged = any(others == [is_in] for _, others in flags[is_in])
            cure = "Exchange the two files" if is_exchanged else "Take the file of the other world"
            raise ValueError(
                f"{rule}all its rows {'are members' if not is_in else 'are no members'}. {cure}"
            )


def _refuse_other_setting(paths: Sequence[str], first: Beside, second: Beside) -> None:
    """Refuse the runs of one setting beside those of another."""
    if first.kinds != 1 or second.kinds != 1:
        return
    (a,), (b,) = first.words(), second.words()
    try:
        x, y = float(a), float(b)
        differ = x != y and not abs(x - y) <= _SAME * min(max(abs(x), abs(y)), 1e300)
    except ValueError:
        differ = a != b and "checkpoint" not in first.name.lower()  # of paths
    if differ:
        raise ValueError(
            f"{paths[0]} and {paths[1]} must be runs of one training, with the target and without; "
            f"{first.name!r} is {a} in the first and {b} in the second. Compare runs of one setting"
        )


def constant_words(columns: Sequence[Beside]) -> str:
    """The words of columns that have a single one."""
    return " ".join(each.words()[0] for each in columns if each.kinds == 1)


def are_of_models(columns: Sequence[Beside], flags: Any) -> bool:
    """Whether a file has several models, and an example with both flags."""
    coins = np.unique(_in_order(flags), return_inverse=True)[1]
    models = [each.name for each in columns if names_models(each.name)]
    return bool(models) and any(
        each.name not in models and names_canaries(each.name) and _pairs(each, coins) > each.kinds
        for each in columns
    )


def _pairs(each: Beside, coins: npt.NDArray[np.intp]) -> int:
    """How many pairs of a value and a flag occur."""
    return len(np.unique(2 * each.codes + (coins > 0)))


def _refuse_several_scores(
    path: str, columns: Sequence[Beside], coins: npt.NDArray[np.intp]
) -> None:
    """Refuse several rows of each canary, by what names it: its flag is one coin.

    Fair coins agree in all rows of each name with probability 2^-(rows - names).  What has another
    name is one of canaries, or of persons, too, where the flags of its sorted values change as
    coins do: those of other scores, or of parts of the data, stand together.
    """
    for each in columns:
        if _shares_coins(each.codes, coins, is_name=names_canaries(each.name)):
            _refuse_shared(path, len(coins), each.kinds, repr(each.name))
    others = [each for each in columns if _pairs(each, coins) > each.kinds or not each.is_set()]
    for key in keys_of(others):
        if all(_shares_coins(codes, coins) for codes in (key.codes, key.turned)):
            _refuse_shared(path, len(coins), int(key.codes.max()) + 1, key.what)


def _shares_coins(
    codes: npt.NDArray[np.intp], coins: npt.NDArray[np.intp], *, is_name: bool = False
) -> bool:
    """Whether each value has one flag, in more rows than coins give by chance."""
    names = int(codes.max(initial=-1)) + 1
    if not 2 < names <= len(codes) - _REPEATS:
        return False
    both = np.unique(2 * codes + (coins > 0))
    changes = np.count_nonzero(np.diff(both % 2))
    return both.size == names and (is_name or bool(changes >= max(_REPEATS / 4, names / 4)))


def _refuse_shared(path: str, size: int, names: int, what: str) -> NoReturn:
    raise ValueError(
        f"{path} must have one row for each canary; its {size} rows have {names} values of {what}, "
        "each with one flag. The scores of one canary, or of one person, share a coin: keep one, "
        "such as their mean"
    )


def _refuse_several_copies(path: str, each: Beside, flags: Any) -> None:
    """Refuse canaries that were put in several times, by a column that states how often.

    Its values are whole, few and not all 0 and 1.  Its name states what it is, or it is 0 for those
    left out only, as no other column of small numbers is but one of epochs.
    """
    values = in_numbers(each.column)
    if values is None or not ((values >= 0.0) & (values == np.rint(values))).all():
        return
    most = values.max()
    is_in = flags is not None and np.array_equal(values > 0.0, flags == 1.0)
    if most < 2.0 or each.kinds > max(_NUMBERS_OF_COPIES, len(values) / _REPEATS):
        return
    if is_copies_name(each.name) or (is_in and not is_count(each.name)):
        raise ValueError(
            f"{path} must hold canaries that were put in once; {each.name!r} goes up to {most:g}, "
            "it seems the number of copies of each. A bound is then on the epsilon of a group "
            f"of rows, of which a row has 1/{most:g} at least. Keep canaries with one copy; "
            f"for the bound of a group, or if {each.name!r} is something else, leave out this "
            "column"
        )


def _refuse_others(path: str, each: Beside, coins: npt.NDArray[np.intp]) -> None:
    """Refuse rows that are no canaries by a column, or whose flags follow its order.

    Flags of coins do not have all members on one side, in the order of numbers or of dates.
    """
    size = len(each.codes)
    is_flag = None
    if re.fullmatch(r"(?i)(is[_. -]?)?canary", each.name):
        is_flag = in_numbers(each.column)
    if is_flag is not None and set(is_flag.tolist()) == {0.0, 1.0}:
        others = int((is_flag == 0.0).sum())
        raise ValueError(
            f"{path} must hold canaries alone; {each.name!r} is 0 in {others:,} of its "
            f"{size:,} rows. Leave these rows out: no coin put them in"
        )
    if each.is_set() and each.kinds <= _NUMBERS_OF_COPIES:
        words = each.words()
        parts = [k for k, word in enumerate(words) if _PART.match(word)]
        canaries = [word for word in words if _CANARY.search(word)]
        if parts and canaries and len(parts) + len(canaries) == len(words):
            others = int(np.isin(each.codes, parts).sum())
            listed = " or ".join(words[k] for k in parts)
            raise ValueError(
                f"{path} must hold canaries alone; {each.name!r} is {listed} in {others:,} of its "
                f"{size:,} rows. Leave these rows out: no coin put them in"
            )
    is_paired = each.kinds >= _REPEATS and (np.bincount(each.codes) == 2).all()
    if is_paired and (np.bincount(each.codes, coins) == 1).all():
        raise ValueError(
            f"{path} must have a coin for each canary; each of the {each.kinds} values of "
            f"{each.name!r} has a member and another. One coin decided for both: keep one row "
            "of each, chosen before flags and scores are seen, such as the first"
        )
    if not is_place(each.name) or each.kinds < max(size, 2 * _REPEATS):
        return
    sides = np.diff(coins[np.argsort(each.codes, kind="stable")])
    if np.count_nonzero(sides) == 1:
        raise ValueError(
            f"{path} must have flags of fair coins; in the order of {each.name!r} all members "
            "stand on one side, as training and test rows do: no bound follows from them. Put "
            "canaries in by fair coins"
        )


def _in_order(column: Any) -> Any:
    """The values of a column, or the ranks of its words, of numbers as such; -1 for none."""
    if not hasattr(column, "codes"):
        values = np.asarray(column)
        return values.astype(str) if values.dtype.kind == "O" else values
    words = list(column.levels)
    try:
        keys = np.array([float(word) for word in words])
    except ValueError:
        keys = np.array([str(word) for word in words])
    codes = np.asarray(column.codes)
    return np.where(codes < 0, -1, np.unique(keys, return_inverse=True)[1][codes])


def _value(column: Any, place: int) -> Any:
    """One value of a column of any kind."""
    if hasattr(column, "codes"):
        return column.value(int(column.codes[place]))
    value = column[place]
    return value.as_py() if hasattr(value, "as_py") else value


def texts_of(column: Any) -> Any:
    """The values of a column as text, in which those of files of two kinds are compared."""
    if hasattr(column, "codes"):
        levels = [str(column.value(code)) for code in range(len(column.levels))]
        return np.array([*levels, ""])[column.codes]
    return np.asarray(column).astype(str)
