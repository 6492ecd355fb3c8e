"""Scores and flags in the files of ``mialeak audit``, and what the names of columns give away."""

from __future__ import annotations

import argparse
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mialeak.cli._audits import numbers
from mialeak.cli._options import delimiter

if TYPE_CHECKING:
    from mialeak._arrays import FloatArray

__all__ = ["cautions_of_fits", "refuse_name", "score_columns"]

#: Suffixes of arrays, which name no column.
_ARRAYS = (".npy",)
#: Words in names of columns: of scores that are small, or large, for members; of what turns a score
#: round; of what compares it with another, so that its direction is not known.
_SMALL = re.compile(
    "(loss|losses|nlls?|b?ce|xe|xent|(cross|max)?entrop(y|ies)|logloss|nlog(lik|"
    "likelihood|probs?|p)|surprisals?|brier|mse|rmse|mae|errors?|perplexit(y|ies)|ppl|bp[cb]|"
    "pval|pvalues?)"
)
_LARGE = re.compile(
    "(confidences?|(log)?(lik|likelihoods?|probs?|p)|probabilit(y|ies)|logits?|margins?|softmax)"
)
_NEGATED = re.compile("(neg|negative|negated|minus|inverse|inverted)")
_COMPARED = re.compile(
    "(relative|ref|reference|calibrated|diff|difference|delta|drop|reduction|decrease|gap|gain|rank)"
)
#: Words after which a loss is no loss, and those with which a probability is not that of members.
_RATIOS, _NONMEMBERS = re.compile("(ratio|scores?)"), re.compile("(non|nonmembers?|not|out)")
_COUNTS = re.compile("(steps?|index|idx|ids?|rows?|epochs?|iterations?|time|timestamp)")
_DATES = re.compile("(dates?|datum|day)")
_IDS = re.compile("(ids?|uid|idx|index)")
_RANKS = re.compile("(ranks?|scores?|orders?|percentiles?)")
#: Names of columns of classes, letters only, which a model predicts.
_CLASSES = re.compile("(labels?|y|ytrue|ytest|groundtruth|class|classes|classlabel|targetlabel)")
#: Words in names of columns of what an attack guessed.
_GUESSES = re.compile("(predicted|predictions?|preds?|guess|guessed|guesses|decisions?)")
#: More rows than names of canaries by so many have one flag a name by chance once in 10^6 times.
_REPEATS = 20
#: Probability with which a bound fails by default.
_ERROR = 0.05
#: Different numbers of copies are at most so many, or so few that each stands in many rows.
_NUMBERS_OF_COPIES = 10
#: Words in names of columns of canaries.
_NAMES = re.compile("(canary|example|sample|record|ids?|uid|idx|index|prompt|text|name)")
#: Words in names of scores that are fitted to the scores of other models; of those that may be so
#: where a file has several models; and of columns of models.
_FITTED, _RATIO = re.compile("(lira|rmia)"), re.compile("(llrs?|likelihoodratios?)")
_MODELS = re.compile("(models?|modelids?|shadow|shadows|seeds?|runs?)")
#: Words in names of files, or columns, that hold the rows of one model.
_TRAINED = re.compile("(train|training|trainset)")
_TESTED = re.compile("(test|testing|testset|val|valid|validation|eval|heldout|holdout|unseen)")
_OTHERS = re.compile(
    "(is|was|in)?(nonmembers?|not(in)?(members?|train|training|data|seen|used)?|(left)?out|heldout|"
    "holdout|test|excluded|removed|dropped|unseen|negatives?|controls?)(set|split|flag|mask)?"
)


def score_columns(options: argparse.Namespace) -> tuple[FloatArray, FloatArray]:
    """Scores of both worlds, or scores and flags: of a file each, or columns of one."""
    from mialeak._files.tables import read_table
    from mialeak._labels import names_of

    pairs = []
    for path in filter(None, (options.inside, options.outside)):
        # A column that is chosen may stand beside the row numbers that pandas writes.
        columns = None if options.member is None and options.score is None else list
        table = read_table(path, columns, format=options.format, delimiter=delimiter(options))
        names = names_of(table)
        names = [name for name in names if name and not name.startswith("__index_level_")]
        if options.member is not None:
            chosen = _chosen(path, names, options)
            _refuse_several_scores(path, table, chosen)
            _refuse_several_copies(path, table, chosen)
            _refuse_other_rows(path, table, chosen)
        elif len(names) == 1:
            chosen = names
        elif options.score in names and not (options.one_run or options.stream):
            chosen = [options.score]
            options.noticed += _of_several_rows(path, table, names)
        elif options.score in names:
            chosen = [options.score]
        elif options.score is not None:
            listed = ", ".join(map(str, names))
            raise ValueError(f"--score must be a column of {path}: {listed}; got {options.score}")
        else:
            raise ValueError(
                f"{path} must have one column, of scores; it has {len(names)}. Of separate runs "
                "pass --score COLUMN; with --one-run or --stream pass --member COLUMN for scores "
                "and flags of one file"
            )
        pairs += [(path, name, table[name]) for name in chosen]
        if len(pairs) == len(chosen) and options.member is not None:
            are_ratios = _is_called(chosen[0], _RATIO) and _are_of_models(table, chosen)
            options.noticed += cautions_of_fits(chosen[0], surely=are_ratios)
        if options.score is not None and len(pairs) == len(chosen):
            options.noticed += _of_several_columns(names, table, options)
    for is_second, (path, name, _) in enumerate(pairs):
        is_flags = bool(is_second and (options.one_run or options.stream))
        # An array has no name but that of its file.
        word = Path(path).stem if Path(path).suffix.lower() in _ARRAYS else name
        refuse_name(path, word, options, is_flags=is_flags)
        if not is_second and options.member is None and (options.one_run or options.stream):
            options.noticed += cautions_of_fits(word)
    flags = pairs[1][1] if options.one_run or options.stream else None
    first, second = (numbers(pairs[k][0], pairs[k][2], each) for k, each in ((0, None), (1, flags)))
    _refuse_row_numbers(*pairs[0][:2], first)
    if not (options.one_run or options.stream):
        _refuse_one_model([f"{Path(path).stem} {name}" for path, name, _ in pairs])
    return first, second


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


def _of_several_columns(names: list[str], table: Any, options: argparse.Namespace) -> list[str]:
    """A caution where the chosen column has others beside it, of the same name but for numbers."""
    stem = re.sub(r"\d+", "0", options.score)
    alike = [name for name in names if re.sub(r"\d+", "0", name) == stem]
    count = sum(_in_numbers(table[name]) is not None for name in alike)
    level = 1.0 - _ERROR / max(count, 1)
    if count < 2 or options.confidence >= level - 1e-9:
        return []
    return [
        f"{options.score!r} is one of {count} columns of this name but for its number. If it was "
        f"chosen by its scores or its bound, the bound does not hold: pass --confidence {level:.6g}"
        ", which holds for the best of all, or choose before the scores are seen."
    ]


def cautions_of_fits(name: str, *, surely: bool = False) -> list[str]:
    """A caution for scores that are called as those that are fitted to scores of other models."""
    if not (surely or _is_called(name, _FITTED)):
        return []
    return [
        f"{name!r} is what scores are called that are fitted to the scores of other models, such "
        "as those of LiRA. If these models were trained with coins of the same examples, the "
        "scores depend on these coins also where nothing leaks, and no bound follows. Pass the "
        "confidences or losses from which they were computed, or fit them to models that saw no "
        "coin of this audit."
    ]


def _are_of_models(table: Any, chosen: list[str]) -> bool:
    """Whether a file has several models, and an example with both flags."""
    import numpy as np

    from mialeak._labels import names_of

    names = [name for name in names_of(table) if name not in chosen]
    models = [name for name in names if _is_called(name, _MODELS)]
    flags = np.unique(_in_order(table[chosen[1]]), return_inverse=True)[1]
    for name in names:
        if name not in models and _is_called(name, _NAMES):
            values = np.unique(_in_order(table[name]), return_inverse=True)[1]
            pairs = np.unique(np.stack([values, flags]), axis=1)
            if models and pairs.shape[1] > values.max() + 1:
                return True
    return False


def _of_several_rows(path: str, table: Any, names: list[str]) -> list[str]:
    """A caution for scores of separate runs where a column names runs that have several rows."""
    import numpy as np

    for name in names:
        if not (_is_called(name, _MODELS) or _is_called(name, _IDS)):
            continue
        values = _in_order(table[name])
        runs = np.unique(values).size
        if 1 < runs <= len(values) - _REPEATS:
            return [
                f"{path} has {len(values):,} rows with {runs:,} values of {name!r}. Scores of one "
                "run, or of one model, are not independent: keep one score of each, such as their "
                "mean."
            ]
    return []


def refuse_name(path: str, name: str, options: argparse.Namespace, *, is_flags: bool) -> None:
    """Refuse a column whose name contradicts its use: losses as scores, others as members."""
    if is_flags:
        if _OTHERS.fullmatch(re.sub(r"[^a-z]+", "", name.lower())):
            raise ValueError(
                f"{path} must hold 1 for members; its flags are called {name!r}. Exchange 0 and 1, "
                "or call them member"
            )
        if _CLASSES.fullmatch(re.sub(r"[^a-z0-9]+", "", name.lower())):
            raise ValueError(
                f"{path} must hold 1 for members; {name!r} is what the classes of a model are "
                "called, which any good model predicts. If these are members, call them member"
            )
        if _is_called(name, _GUESSES):
            raise ValueError(
                f"{path} must hold 1 for members; {name!r} is what guesses of attacks are called, "
                "which follow from its scores. Pass the coins that put the canaries in"
            )
        return
    lower = options.lower_is_member
    if _direction(name) == ("large" if lower else "small") and not options.allow_reversed:
        size, pass_ = ("large", "Leave out") if lower else ("small", "Pass")
        raise ValueError(
            f"{path} has scores called {name!r}, of which {size} values are evidence for "
            f"members. {pass_} --lower-is-member; to audit the scores as they are pass "
            "--allow-reversed"
        )


def _direction(name: str) -> str | None:
    """Which scores of this name, "small" or "large", are evidence for members, if that is known."""
    if _is_called(name, _COMPARED):
        return None
    small = _is_called(name, _SMALL) and not _is_called(name, _RATIOS)
    # The likelihood of a loss is not meant: a name with words of both kinds is that of a loss.
    large = _is_called(name, _LARGE) and not any(_is_called(name, k) for k in (_SMALL, _NONMEMBERS))
    if _is_called(name, _NEGATED) or re.match(r"\s*(1\s*)?[-\u2212]", name):
        small, large = large, small
    return "small" if small else "large" if large else None


def _is_called(name: str, kind: re.Pattern[str]) -> bool:
    """Whether a word of the name, or two in turn, are of this kind."""
    return any(kind.fullmatch(word) for word in _words(name))


def _words(name: str) -> list[str]:
    """The words of a name in small letters, and those of two in turn."""
    name = re.sub("(?i)(neg(?:ative)?)(?=loss|log)", r"\1_", name)  # of one word, negloss
    words = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    return words + [first + second for first, second in itertools.pairwise(words)]


def _refuse_row_numbers(path: str, name: str, scores: FloatArray) -> None:
    """Refuse a column that is called a step or an index, and rises or numbers rows; or both."""
    import numpy as np

    rises = scores.size > 1 and bool((scores[1:] > scores[:-1]).all())
    first = scores.min() if scores.size > 1 else -1.0
    numbers_rows = first in (0.0, 1.0) and np.array_equal(
        np.sort(scores), first + np.arange(scores.size)
    )
    is_count, is_rank = _is_called(name, _COUNTS), _is_called(name, _RANKS)
    if _is_called(name, _IDS):  # which need not begin at 0
        numbers_rows = bool((scores == np.rint(scores)).all()) and np.unique(scores).size == len(
            scores
        )
    if (is_count and (rises or numbers_rows)) or (
        rises and numbers_rows and not is_rank and scores.size >= _REPEATS
    ):
        raise ValueError(
            f"{path} must hold scores of an attack; {name!r} counts its rows. Pass the column of "
            "scores, with --score where there are others"
        )


def _refuse_several_scores(path: str, table: Any, chosen: list[str]) -> None:
    """Refuse several rows of each canary, by a column that names it: its flag is one coin.

    Fair coins agree in all rows of each name with probability 2^-(rows - names).  A column of
    another name is one of canaries, or of persons, too, where the flags of its sorted values change
    as coins do: those of other scores, or of parts of the data, stand together.
    """
    import numpy as np

    from mialeak._labels import names_of

    for name in names_of(table):
        if name in chosen:
            continue
        values, flags = (_in_order(table[each]) for each in (name, chosen[1]))
        both = np.unique(
            np.stack([np.unique(each, return_inverse=True)[1] for each in (values, flags)]), axis=1
        )
        names = len(np.unique(values))
        changes = np.count_nonzero(np.diff(both[1]))
        is_name = _is_called(name, _NAMES) or changes >= max(_REPEATS / 4, names / 4)
        is_one = names > 2 and both.shape[1] == names
        if is_name and is_one and len(values) - names >= _REPEATS:
            raise ValueError(
                f"{path} must have one row for each canary; its {len(values)} rows have {names} "
                f"values of {name!r}, each with one flag. The scores of one canary, or of one "
                "person, share a coin: keep one, such as their mean"
            )


def _refuse_several_copies(path: str, table: Any, chosen: list[str]) -> None:
    """Refuse canaries that were put in several times, by a column that states how often.

    Its values are whole, few and not all 0 and 1.  Its name states what it is, or it is 0 for those
    left out only, as no other column of small numbers is but one of epochs.
    """
    import numpy as np

    from mialeak._labels import is_copies_name, names_of

    flags = _in_numbers(table[chosen[1]])
    for name in names_of(table):
        if name in chosen:
            continue
        values = _in_numbers(table[name])
        if values is None or not ((values >= 0.0) & (values == np.rint(values))).all():
            continue
        n_kinds, most = len(np.unique(values)), values.max()
        is_in = flags is not None and np.array_equal(values > 0.0, flags == 1.0)
        if most < 2.0 or n_kinds > max(_NUMBERS_OF_COPIES, len(values) / _REPEATS):
            continue
        if is_copies_name(name) or (is_in and not _is_called(name, _COUNTS)):
            raise ValueError(
                f"{path} must hold canaries that were put in once; {name!r} goes up to {most:g}, "
                "it seems the number of copies of each. A bound is then on the epsilon of a group "
                f"of rows, of which a row has 1/{most:g} at least. Keep canaries with one copy; "
                f"for the bound of a group, or if {name!r} is something else, leave out this column"
            )


def _refuse_other_rows(path: str, table: Any, chosen: list[str]) -> None:
    """Refuse rows that are no canaries by a column, or whose flags follow its order.

    Flags of coins do not have all members on one side, in the order of numbers or of dates.
    """
    import numpy as np

    from mialeak._labels import names_of

    flags = np.unique(_in_order(table[chosen[1]]), return_inverse=True)[1]
    for name in names_of(table):
        if name in chosen:
            continue
        column = table[name]
        is_flag = _in_numbers(column) if re.fullmatch(r"(?i)(is[_. -]?)?canary", name) else None
        if is_flag is not None and set(is_flag.tolist()) == {0.0, 1.0}:
            others = int((is_flag == 0.0).sum())
            raise ValueError(
                f"{path} must hold canaries alone; {name!r} is 0 in {others:,} of its "
                f"{len(is_flag):,} rows. Leave these rows out: no coin put them in"
            )
        values = _in_order(column)
        is_place = _is_called(name, _COUNTS) or _is_called(name, _DATES)
        if not is_place or np.unique(values).size < max(len(values), 2 * _REPEATS):
            continue
        sides = np.diff(flags[np.argsort(values, kind="stable")])
        if np.count_nonzero(sides) == 1:
            raise ValueError(
                f"{path} must have flags of fair coins; in the order of {name!r} all members stand "
                "on one side, as training and test rows do: no bound follows from them. Put "
                "canaries in by fair coins"
            )


def _in_numbers(column: Any) -> Any:
    """The numbers of a column, flags in words among them; None for others."""
    try:
        return numbers("", column)
    except (ValueError, TypeError):
        return None


def _in_order(column: Any) -> Any:
    """The values of a column, or the ranks of its words: of numbers as such."""
    import numpy as np

    if not hasattr(column, "codes"):
        return np.asarray(column)
    words = list(column.levels)
    try:
        keys = np.array([float(word) for word in words])
    except ValueError:
        keys = np.array([str(word) for word in words])
    return np.unique(keys, return_inverse=True)[1][np.asarray(column.codes)]


def _refuse_one_model(names: list[str]) -> None:
    """Refuse the rows that a model was trained on beside others, by the names of files."""
    trained, tested = ([_is_called(name, kind) for name in names] for kind in (_TRAINED, _TESTED))
    others = [re.search(r"(?i)non[\W_]*member", name) is not None for name in names]
    members = [re.search("(?i)member", name) is not None for name in names]
    if all(members) and sum(others) == 1:
        raise ValueError(
            "IN and OUT must be scores of separate runs; by their names they are of members and "
            "others of one model: no bound follows from them. Put canaries in by fair coins and "
            "pass --one-run; if each score is of a run of its own, rename them"
        )
    if trained != tested and trained in ([True, False], [False, True]) and any(tested):
        raise ValueError(
            "IN and OUT must be scores of separate runs; by their names they are of training and "
            "of test rows, which depend on one model: no bound follows from them. Put canaries in "
            "by fair coins and pass --one-run; if each score is of a run of its own, rename them"
        )
