"""What the names of scores and flags of an audit, and of columns beside them, show of their use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from mialeak._arrays import FloatArray, invalid
from mialeak._checks.names import is_called, words_of

__all__ = [
    "are_members",
    "are_turned",
    "cautions_of_fits",
    "cautions_of_names",
    "cautions_of_worlds",
    "is_count",
    "is_hyperparameter",
    "is_kind_of_training",
    "is_place",
    "name_of",
    "names_canaries",
    "names_identity",
    "names_members",
    "names_models",
    "names_ratio",
    "names_signals",
    "refuse_flag_name",
    "refuse_quantities",
    "refuse_row_numbers",
    "refuse_score_name",
    "refuse_turned",
]

#: Words in names of columns: of scores that are small, or large, for members; of what turns a score
#: round; of what compares it with another, so that its direction is not known.
_SMALL = re.compile(
    "(loss|losses|nlls?|b?ce|xe|xent|(cross|max)?entrop(y|ies)|logloss|nlog(lik|"
    "likelihood|probs?|p)|surprisals?|brier|mse|rmse|mae|errors?|(log)?(perplexit(y|ies)|pplx?)|"
    "bp[cb]|bitsper|uncertaint(y|ies)|grad(ient)?norms?|pval|pvalues?)"
)
_LARGE = re.compile(
    "(confidences?|(log)?(lik|likelihoods?|probs?|p)|probabilit(y|ies)|logits?|margins?|softmax|"
    "accurac(y|ies))"
)
_PROBABILITIES = re.compile("(confidences?|probs?|probabilit(y|ies)|softmax)")
_NEGATED = re.compile("(neg|negative|negated|minus|inv|inverse|inverted|reciprocal)")
_SIGN = re.compile(r"\s*((1\s*)?[-\u2212]|1(\.0*)?\s*/)")
_COMPARED = re.compile(
    "(relative|ref|reference|calibrated|diff|difference|delta|drop|reduction|decrease|gap|gain|rank|"
    "improvements?)"
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
#: Words in names of columns of canaries.
_NAMES = re.compile("(canary|example|sample|record|ids?|uid|idx|index|prompt|text|name)")
#: Words in names of columns of what one canary may have several scores by.
_SIGNALS = re.compile(
    "(attacks?|metrics?|layers?|signals?|aug(mentation)?s?|quer(y|ies)|probes?|statistics?|"
    "reductions?|temperatures?|methods?)"
)
#: Words in names of scores that are fitted to the scores of other models; of those that may be so
#: where a file has several models; and of columns of models.
_FITTED, _RATIO = re.compile("(lira|rmia)"), re.compile("(llrs?|likelihoodratios?)")
_MODELS = re.compile("(models?|modelids?|shadow|shadows|seeds?|runs?)")
#: Words in names of an axis of examples; so many of its labels are looked at, of so few words.
_EXAMPLES = re.compile("(canar(y|ies)|examples?|samples?|records?|prompts?|images?|img)(ids?|idx)?")
_LABELS, _WORDS_OF_LABEL = 8, 3
#: Words in names of files, or columns, that hold the rows of one model.
_TRAINED = re.compile("(train|training|trainset|seen)")
_TESTED = re.compile("(test|testing|testset|val|valid|validation|eval|heldout|holdout|unseen)")
_OTHERS = re.compile(
    "(is|was|in)?(nonmembers?|not(in)?(members?|train|training|data|seen|used)?|(left)?out|heldout|"
    "holdout|test|excluded|removed|dropped|unseen|negatives?|controls?)(set|split|flag|mask)?"
)
#: Names of columns, letters only, of flags that are 1 for members; and values that are such flags.
_MEMBERS = re.compile(
    "(is|was|true)?(members?|membership|inserted|seen|in|"
    "in(the)?(train|training|data|dataset|members?)(set)?|train(ing|ed)?member|trainedon)"
    "(flag|mask|label|status)?"
)
_IN_WORDS = re.compile("1(\\.0*)?|true|yes|in|(is)?members?")
_OUT_WORDS = re.compile(
    "0(\\.0*)?|false|no|out|(is)?non[ _-]?members?|(is)?not[ _-]?(a[ _-])?members?"
)
#: Names of columns, letters only, of what a training is run with; and of its kind, in words.
_HYPERPARAMETERS = re.compile(
    "(dp|target)?(noisemultipliers?|noisescale|noisestd|sigmas?|epsilons?|eps)|"
    "(base|initial)?(lr|learningrate)|(n|num|nb)?epochs?|(max|total|train|training|num|n)?steps|"
    "checkpoint|(train)?batchsize|(l2|gradient|grad)?clip(ping)?(norm|bound)?|maxgradnorm|"
    "(weight)?decay|momentum|dropout|optimi[sz]er|arch|architecture|(is|with|use)?(dp|dpsgd|private)"
)
_KINDS_OF_TRAINING = re.compile(
    "model(type|kind|name)?|(train(ing)?)?data(set)?(name)?|config(uration)?s?|settings?|variants?|"
    "methods?|algorithms?|algos?|defen[cs]es?|mechanisms?|arms?|conditions?|experiments?|exp"
)
#: Short words for members and for others, which are names of files.
_MEM, _NON = re.compile("mem"), re.compile("non")
#: Words of scores by what they are: scores of two kinds are not compared; of probabilities, which
#: are at most 1, and 100 in per cent.
_PERCENTABLE = re.compile(
    "(conf(idences?)?|probs?|probabilit(y|ies)|softmax|posteriors?|acc(urac(y|ies))?|"
    "pct|percent(age)?s?)"
)
_QUANTITIES = [
    _PERCENTABLE,
    re.compile("(logits?|logodds)"),
    re.compile(
        "(loss|losses|nlls?|b?ce|xe|xent|crossentropy|logloss|loglik(elihoods?)?|likelihoods?|"
        "logprobs?|logp)"
    ),
    re.compile("(perplexit(y|ies)|pplx?)"),
    re.compile("(margins?|hinge)"),
    re.compile("(mse|brier)"),
    re.compile("rmse"),
    re.compile("mae"),
    re.compile("(llrs?|lira|rmia|(likelihood)?ratios?)"),
    re.compile("(grad(ient)?|norms?|gradnorms?)"),
    re.compile("(distances?|cosine|similarit(y|ies))"),
]
#: Words that state the world of scores or no quantity, and the least number of scores of a unit.
_WORLDS = re.compile(
    "(in|out|non|not|no|is|members?|nonmembers?|membership|with|without|target|victim|canar(y|ies)|"
    "train(ing)?|test|holdout|heldout|seen|unseen|present|absent|inserted|removed|excluded|"
    "included|base|baseline|controls?|null|alternative|reference|real|worlds?|runs?|models?|"
    "(un)?(treated|trained|poisoned)|clean|positives?|negatives?|neighbou?r(ing)?|original|"
    "augmented|plain|full|loo|wo|added|mit|ohne|fresh|"
    "scores?|values?|stat|statistics?|attack|data|col|column|unnamed|[a-dhpqxyz]|prime|\\d+)"
)
_LEAST_UNIT = 8
#: Words of a unit, or of how the numbers of several tokens or rows were made one.
_UNITS = re.compile("(nats?|bits?|sums?|summed|totals?|means?|averaged?|avg|medians?|max|min)")
#: Words and the number that follows them: "in_eps8", "noise_multiplier=1.1", "lr-1e-3".
_SETTING = re.compile(r"([a-z][a-z _-]*?)[ _=-]*(\d+(?:[.p]\d+)?(?:e-?\d+)?)(?![a-z\d])")
#: Fewest rows of numbers that are taken for row numbers by their values alone.
_ROWS = 20


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]+", "", name.lower())


def names_canaries(name: str) -> bool:
    """Whether a column of this name names canaries."""
    return is_called(name, _NAMES)


def names_signals(name: str) -> bool:
    """Whether a column of this name may name the several scores of a canary."""
    return is_called(name, _SIGNALS) or names_models(name)


def names_models(name: str) -> bool:
    """Whether a column of this name names models or runs."""
    return is_called(name, _MODELS)


def names_identity(name: str) -> bool:
    """Whether a column of this name identifies rows."""
    return is_called(name, _IDS)


def names_ratio(name: str) -> bool:
    """Whether a score of this name may be fitted to the scores of other models."""
    return is_called(name, _RATIO)


def is_count(name: str) -> bool:
    """Whether a column of this name counts steps or rows."""
    return is_called(name, _COUNTS)


def is_place(name: str) -> bool:
    """Whether the values of a column of this name have an order: of rows, steps or dates."""
    return is_count(name) or is_called(name, _DATES)


def is_hyperparameter(name: str) -> bool:
    """Whether a column of this name states what a training was run with."""
    return _HYPERPARAMETERS.fullmatch(_letters(name)) is not None


def is_kind_of_training(name: str) -> bool:
    """Whether a column of this name may state the kind of a training."""
    return _KINDS_OF_TRAINING.fullmatch(_letters(name)) is not None


def names_members(name: str) -> bool:
    """Whether this is what flags that are 1 for members, or their values, are called."""
    return _MEMBERS.fullmatch(_letters(name)) is not None


def are_members(name: str, word: str) -> bool | None:
    """Whether rows with the value `word` in a column of this name are members; None if unknown."""
    letters, word = _letters(name), word.strip().lower()
    is_in, is_out = (kind.fullmatch(word) is not None for kind in (_IN_WORDS, _OUT_WORDS))
    if not (is_in or is_out):
        return None
    if _OTHERS.fullmatch(letters) and not word.endswith(("member", "members", "in", "out")):
        return is_out
    if names_members(name) or "member" in word:
        return is_in
    return None


def name_of(values: Any) -> str | None:
    """The name of a Series of pandas or polars; None if it has none."""
    name = None if isinstance(values, np.ndarray) else getattr(values, "name", None)
    return name if isinstance(name, str) and name else None


def cautions_of_fits(name: str | None, *, surely: bool = False) -> list[str]:
    """A caution for scores that are called as those that are fitted to scores of other models."""
    if name is None or not (surely or is_called(name, _FITTED)):
        return []
    return [
        f"{name!r} is what scores are called that are fitted to the scores of other models, such "
        "as those of LiRA. If these models were trained with coins of the same examples, the "
        "scores depend on these coins also where nothing leaks, and no bound follows. Pass the "
        "confidences or losses from which they were computed, or fit them to models that saw no "
        "coin of this audit."
    ]


def cautions_of_names(
    higher_is_member: bool, allow_reversed: bool, *, member: Any = None, **scores: Any
) -> list[str]:
    """Cautions of the names of Series, of scores and of `member`; refuse what contradicts use."""
    for argument, values in scores.items():
        if (name := name_of(values)) is not None:
            if not (allow_reversed or are_turned(name, values)):
                refuse_score_name(name, argument, higher_is_member=higher_is_member)
            refuse_row_numbers(name, argument, values)
    if (name := name_of(member)) is not None:
        refuse_flag_name(name, "member")
    names = [name_of(values) for values in scores.values()]
    if len(names) != 2 or None in names:
        return cautions_of_fits(names[0]) if len(names) == 1 else []
    return cautions_of_worlds(names, [*scores.values()], [*scores])


def cautions_of_worlds(
    names: Sequence[Any],
    worlds: Sequence[Any],
    arguments: Sequence[str] = ("in_scores", "out_scores"),
    *,
    are_files: bool = False,
) -> list[str]:
    """Cautions of the names of both worlds; refuse those of two parts, settings or quantities.

    Names of files may state more than a quantity: of their words only those of units are compared.
    """
    if arguments[0] != "member_losses":  # which are called so
        _refuse_members([str(name) for name in names], arguments[0])
    _refuse_parts([str(name) for name in names], arguments[0])
    _refuse_settings(names, arguments[0])
    refuse_quantities(names, worlds, arguments)
    words = [_quantity(name) for name in names]
    if are_files:
        words = [frozenset(filter(_UNITS.fullmatch, each)) for each in words]
    if not all(words) or words[0] == words[1]:
        return []
    return [
        f"Scores of the two worlds have two names, {names[0]!r} and {names[1]!r}. If they are two "
        "quantities, they differ where nothing leaks, and no bound follows. Pass the same quantity "
        "for both; if it is the same, call it by one name."
    ]


def refuse_flag_name(name: str, argument: str) -> None:
    """Refuse flags that are called as those of others, as classes or as guesses."""
    if _OTHERS.fullmatch(_letters(name)):
        rule = f"hold 1 for members; its flags are called {name!r}"
        invalid(argument, rule, remedy="Exchange 0 and 1, or call them member")
    if _CLASSES.fullmatch(re.sub(r"[^a-z0-9]+", "", name.lower())):
        rule = (
            f"hold 1 for members; {name!r} is what the classes of a model are called, which any "
            "good model predicts"
        )
        invalid(argument, rule, remedy="If these are members, call them member")
    if is_called(name, _GUESSES):
        rule = (
            f"hold 1 for members; {name!r} is what guesses of attacks are called, which follow "
            "from its scores"
        )
        invalid(argument, rule, remedy="Pass the coins that put the canaries in")


def refuse_score_name(name: str, argument: str, *, higher_is_member: bool, cure: str = "") -> None:
    """Refuse scores whose name states the other direction, as that of losses does.

    `cure` is that of a function whose direction cannot be chosen.
    """
    if _direction(name) != ("small" if higher_is_member else "large"):
        return
    size, than = ("small", "larger") if higher_is_member else ("large", "smaller")
    rule = (
        f"be {than} for members; it has scores called {name!r}, of which {size} values are "
        "evidence for members"
    )
    remedy = (
        f"Pass higher_is_member={not higher_is_member}; if they were turned round already, as "
        "-loss and exp(-loss) are, give them another name; to audit the scores as they are pass "
        "allow_reversed=True"
    )
    invalid(argument, rule, remedy=cure or remedy)


def are_turned(name: str, values: Any) -> bool:
    """Whether scores with the name of a loss, or of a probability, have the other sign."""
    if is_called(name, _COMPARED) or is_called(name, _NEGATED) or "log" in name.lower():
        return False
    if not (is_called(name, _SMALL) or is_called(name, _PROBABILITIES)):
        return False
    try:
        scores = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        return False  # no numbers, which is refused elsewhere
    return bool(scores.size and (scores <= 0.0).all() and (scores < 0.0).any())


def _direction(name: str) -> str | None:
    """Which scores of this name, "small" or "large", are evidence for members, if that is known."""
    if is_called(name, _COMPARED):
        return None
    small = is_called(name, _SMALL) and not is_called(name, _RATIOS)
    # The likelihood of a loss is not meant: a name with words of both kinds is that of a loss.
    large = is_called(name, _LARGE) and not any(is_called(name, k) for k in (_SMALL, _NONMEMBERS))
    if any(map(_NEGATED.fullmatch, _single_words(name))) or _SIGN.match(name):  # "in_v2" is no inv
        small, large = large, small
    return "small" if small else "large" if large else None


def refuse_row_numbers(name: str, argument: str, values: Any) -> None:
    """Refuse a column that is called a step or an index, and rises or numbers rows; or both."""
    scores: FloatArray = np.asarray(values)
    if scores.ndim != 1 or scores.dtype.kind not in "iuf":
        return
    rises = scores.size > 1 and bool((scores[1:] > scores[:-1]).all())
    first = scores.min() if scores.size > 1 else -1.0
    numbers_rows = first in (0.0, 1.0) and np.array_equal(
        np.sort(scores), first + np.arange(scores.size)
    )
    if is_called(name, _IDS):  # which need not begin at 0
        is_whole = bool((scores == np.rint(scores)).all())
        numbers_rows = is_whole and np.unique(scores).size == len(scores)
    is_rank = is_called(name, _RANKS)
    if (is_count(name) and (rises or numbers_rows)) or (
        rises and numbers_rows and not is_rank and scores.size >= _ROWS
    ):
        rule = f"hold scores of an attack; {name!r} counts its rows"
        invalid(argument, rule, remedy="Choose the column of scores")


def _refuse_members(names: list[str], argument: str) -> None:
    """Refuse the members of a model beside others, by the names of both worlds."""
    others = [re.search(r"(?i)non[\W_]*member", name) is not None for name in names]
    members = [re.search("(?i)member", name) is not None for name in names]
    short = [(is_called(name, _MEM), is_called(name, _NON)) for name in names]
    if (all(members) and sum(others) == 1) or set(short) == {(True, False), (False, True)}:
        _refuse_one_model(argument, "members and others of one model")


def _refuse_parts(names: list[str], argument: str) -> None:
    """Refuse the rows that a model was trained on beside others, by the names of both worlds."""
    trained, tested = ([is_called(name, kind) for name in names] for kind in (_TRAINED, _TESTED))
    if trained != tested and trained in ([True, False], [False, True]) and any(tested):
        _refuse_one_model(argument, "training and of test rows, which depend on one model")


def _refuse_one_model(argument: str, what: str) -> NoReturn:
    remedy = (
        "Put canaries in by fair coins and call one_run_audit(scores, member); if each score "
        "is of a run of its own, rename them"
    )
    rule = f"be scores of separate runs; by their names they are of {what}: no bound follows from"
    invalid(argument, f"{rule} them", remedy=remedy)


def refuse_turned(rows: tuple[Any, Sequence[Any]], columns: tuple[Any, Sequence[Any]]) -> None:
    """Refuse examples by models, by the name of each axis, or by its labels, such as model_7."""
    of_rows, of_columns = _axis(*rows), _axis(*columns)
    if of_rows == of_columns or not (of_rows == "examples" or of_columns == "models"):
        return
    shown = [name or next(iter(labels), None) for name, labels in (rows, columns)]
    rule = (
        "have a model in each row and an example in each column; by their names "
        f"rows are {shown[0]!r} and columns {shown[1]!r}"
    )
    invalid(
        "scores", rule, remedy="Transpose both matrices, of scores and of flags, or rename them"
    )


def _axis(name: Any, labels: Sequence[Any]) -> str | None:
    """What an axis of a matrix holds, "models" or "examples", if that is known."""
    words = [each for each in labels[:_LABELS] if isinstance(each, str)]
    if any(len(_single_words(each)) > _WORDS_OF_LABEL for each in words):
        words = []
    for called in ([name] if isinstance(name, str) else [], words):
        if called and all(map(names_models, called)):
            return "models"
        if called and all(is_called(each, _EXAMPLES) for each in called):
            return "examples"
    return None


def _refuse_settings(names: Sequence[Any], argument: str) -> None:
    """Refuse the runs of two settings, by a hyperparameter and its number in both names."""
    first, second = (dict(_settings(str(name))) for name in names)
    for word, number in first.items():
        if second.get(word, number) != number:
            rule = (
                f"be scores of the same training as those of the other world; by their names "
                f"{names[0]!r} and {names[1]!r}, {word} is {number:g} in one and {second[word]:g} "
                "in the other"
            )
            remedy = "Compare runs of one setting; if the numbers mean something else, rename them"
            invalid(argument, rule, remedy=remedy)


def _settings(name: str) -> Iterator[tuple[str, float]]:
    """The hyperparameters of a name, which may have several words, and their numbers."""
    for before, number in _SETTING.findall(name.lower()):
        words = re.findall("[a-z]+", before)
        ends = ["".join(words[k:]) for k in range(len(words))]
        if (word := next(filter(is_hyperparameter, ends), None)) is not None:
            yield word, float(number.replace("p", "."))


def refuse_quantities(
    names: Sequence[Any],
    worlds: Sequence[Any],
    arguments: Sequence[str] = ("in_scores", "out_scores"),
) -> None:
    """Refuse scores of two worlds that by their names are two quantities, or have two units.

    `names` are None for scores without one.  Probabilities of one world lie between 0 and 1, and
    are not whole; of the other one, most are above 1, and none above 100.
    """
    kinds = [
        {k for k, kind in enumerate(_QUANTITIES) if is_called(name or "", kind)} for name in names
    ]
    if all(kinds) and not kinds[0] & kinds[1]:
        rule = (
            f"be the same quantity as the scores of the other world; by their names "
            f"{names[0]!r} and {names[1]!r} are two"
        )
        remedy = "Pass one quantity for both, or one name if they are one"
        invalid(arguments[0], rule, remedy=remedy)
    if not all(name and is_called(name, _PERCENTABLE) for name in names):
        return
    if any("log" in str(name).lower() for name in names):
        return
    tops = [_top_of_unit(scores) for scores in worlds]
    if sorted(tops) == [1.0, 100.0]:
        most = [float(np.max(np.asarray(scores, np.float64))) for scores in worlds]
        place = tops.index(100.0)
        rule = (
            f"have the unit of the scores of the other world; {names[place]!r} goes up to "
            f"{most[place]:.4g}, in per cent, and {names[1 - place]!r} up to {most[1 - place]:.4g}"
        )
        remedy = "Divide by 100, or rename scores that are no probabilities"
        invalid(arguments[place], rule, remedy=remedy)


def _top_of_unit(scores: Any) -> float:
    """1 for probabilities, 100 for those in per cent, and 0 for other numbers."""
    try:
        values = np.asarray(scores, np.float64).ravel()
    except (TypeError, ValueError):
        return 0.0  # no numbers, which is refused elsewhere
    if values.size < _LEAST_UNIT or not ((values >= 0.0) & (values <= 100.0)).all():
        return 0.0
    if values.max() <= 1.0:
        return 1.0 if (values != np.rint(values)).any() else 0.0
    return 100.0 if np.median(values) > 1.0 else 0.0


def _quantity(name: Any) -> frozenset[str]:
    """The words of a name that state no world, without the s of a plural."""
    words = _single_words(name) if isinstance(name, str) else []
    return frozenset(word.rstrip("s") for word in words if not _WORLDS.fullmatch(word))


def _single_words(name: str) -> list[str]:
    """The words of a name without the pairs of them."""
    words = words_of(name)
    return words[: (len(words) + 1) // 2]
