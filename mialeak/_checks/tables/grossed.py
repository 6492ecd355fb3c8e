"""Counts that stand for more persons: grossed up from a sample, or in thousands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._checks.names import columns_that, is_called, is_count_name, words_of
from mialeak._checks.tables.counts import numbers_of
from mialeak._columns import Factor

__all__ = ["cautions_of_events", "cautions_of_grossed", "cautions_of_units"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Words in names of columns: of the size of a sample, of standard errors and margins of error, of
#: errors in shares of the count, and of the ends of intervals.
_SIZES = re.compile(
    r"unweighted|unwtd|unwgt|uw|uwn|sample|samples|samplesize|respondents?|interviews?|"
    r"interviewed|observations|nobs|ungewichtet|stichprobe\w*|stikprøve\w*|urval\w*|échantillon"
)
_ERRORS = re.compile(r"se|stderr|stderror|moe|standardfehler")
_SHARES = re.compile(r"cv|rse|cve|cvs|rsd|variationskoeffizient")
_LOW = re.compile(r"lower|low|lo|lcl|lci|lb|ll|lcb|untergrenze")
_HIGH = re.compile(r"upper|high|hi|ucl|uci|ub|ul|ucb|obergrenze")
#: Words in names of counts that may be those of a sample: its weights then make the others agree
#: with them better than chance would, and this is the chance.
_COUNTS = re.compile(r"n|base|raw|unw|records?|cases|fallzahl|count|freq|frequency")
_CHANCE = 1e-4
#: Values that a cell expects at least.
_EXPECTED = 5.0
#: The same in two words, and a count of the American Community Survey with its margin of error.
_ERRORS_IN_WORDS = ({"std", "err"}, {"std", "error"}, {"standard", "error"}, {"margin", "error"})
_SHARES_IN_WORDS = ({"coefficient", "variation"}, {"relative", "error"})
_OF_SURVEY = re.compile(r"[BCS]\d{5}[A-Z]*_(C\d\d_)?\d{3}E")

#: Words in names of columns of units, and units of several persons: by a word, a number, or a power
#: of ten in a column of multipliers.
_UNITS = re.compile(r"units?|uom|mult|multiplier|einheit|enhed|enhet|eenheid|unité|yksikkö|measure")
_THOUSANDS = re.compile(
    r"(in |x ?)?(ths|thousands?|thous|tsd|tausend|milliers|miles|tusen|tusind|hundreds?|millions?|"
    r"mio|mn|100|1[,. ']?000|1[,. ']?000[,. ']?000)\b.*"
)
_MULTIPLIERS, _POWERS = re.compile(r"mult|multiplier"), re.compile(r"[2-6](\.0)?")

#: Fewest rows of which one states it; least correlation of the logarithms of the two; and persons
#: that a count states for each of the sample, at least.
_FEWEST, _LINKED, _TIMES = 4, 0.5, 2.0
#: The same by an error: the variance of a count is this multiple of it.  That of a count of cases,
#: by Poisson's law, is the count itself, and that of a cluster sample is a few times as large.
_VARIANCES = 10.0
#: Largest error as a share of 1; others are in per cent.  Standard errors of an interval's width.
_LARGEST_SHARE, _WIDTH = 1.5, 3.92


#: Words in names of columns that count events of persons, and of those that count persons beside
#: such a word; and two words of columns that count days.
_EVENTS = re.compile(
    r"events|visits|(re)?admissions|episodes|spells|stays|discharges|attendances|consultations|"
    r"encounters|appointments|(re)?hospitali[sz]ations|claims|calls|trips|journeys|purchases|"
    r"transactions|prescriptions|logins|clicks|besuche|aufenthalte|visites|s[ée]jours|visitas"
)
_PERSONS = re.compile(
    r"persons?|people|individuals?|patients?|pupils?|students?|users?|callers?|claimants?|members?|"
    r"customers?|clients?|cases?|deaths?|births?|personen|personnes|personas"
)
_DAYS = re.compile(r"(bed|patient|hospital|care|person)days?|(belegungs|pflege|betten)tage")


def cautions_of_grossed(
    name: Any, counts: IntArray, others: Sequence[Any], column: Callable[[Any], Sequence[Factor]]
) -> list[str]:
    """A caution where other columns state the size of a sample, or the errors of an estimate.

    Parameters
    ----------
    name : object
        The column of the counts.
    counts : array of int64
        Those of all rows; rows with the count 0 are not looked at.
    others : sequence
        Names of all other columns.
    column : function
        The column of a name, none if it does not hold single values.
    """
    if is_called(name, _SIZES) or np.count_nonzero(counts) < _FEWEST:
        return []
    shown = np.flatnonzero(counts)
    size = counts[shown].astype(np.float64)

    def numbers(other: Any) -> FloatArray | None:
        return next((x for each in column(other) for x in [_numbers(each, shown)]), None)

    met = [k for k in others if is_called(k, _SIZES) and _is_size(numbers(k), size)]
    groups = [] if met else [each.codes[shown] for k in others for each in column(k)]
    met = met or [
        k
        for k in others
        if is_count_name(k) or is_called(k, _COUNTS)
        if _is_sample(numbers(k), size, groups)
    ]
    if met:
        return [
            f"{columns_that(met, 'seems')} to be the size of a sample, and column {name!r} to be "
            "grossed up from it to a population. The answer is for as many people as are stated, "
            f"and those of the sample leak more: pass counts={met[0]!r} and exclude=[{name!r}]."
        ]
    met = [
        k for k in others if _is_called(k, _SHARES, _SHARES_IN_WORDS) and _is_cv(numbers(k), size)
    ]
    of_survey = f"{name[:-1]}M" if _OF_SURVEY.fullmatch(str(name)) else None
    errors = [k for k in others if k == of_survey or _is_called(k, _ERRORS, _ERRORS_IN_WORDS)]
    of_count = [k for k in errors if _is_error(numbers(k), size)]
    beside = [k for k in others if not is_called(k, _HIGH)] if of_count else []
    if not any(_is_larger(numbers(k), size) for k in beside):  # it may be the error of that
        met += of_count
    if not met:
        low, high = ([k for k in others if is_called(k, words)] for words in (_LOW, _HIGH))
        if len(low) == len(high) == 1 and _are_limits(numbers(low[0]), numbers(high[0]), size):
            met = low + high
    if not met:
        return []
    return [
        f"{columns_that(met, 'states')} an error of column {name!r}, as of counts that are grossed "
        "up from a sample to a population. The answer is for as many people as are stated, and "
        "those of the sample leak more: pass the counts of the people of the sample."
    ]


def cautions_of_units(
    name: Any, others: Sequence[Any], column: Callable[[Any], Sequence[Factor]]
) -> list[str]:
    """A caution where a column of units has one value, thousands; the arguments are as above."""
    for other in others:
        if not is_called(other, _UNITS):
            continue
        for factor in column(other):
            shown = np.unique(factor.codes)
            value = factor.value(int(shown[0])) if shown.size == 1 and shown[0] >= 0 else None
            text = str(value).strip().lower().replace("_", " ")
            is_power = is_called(other, _MULTIPLIERS) and _POWERS.fullmatch(text)
            if is_power or _THOUSANDS.fullmatch(text):
                return [
                    f"Column {other!r} has the value {value!r} in all rows: column {name!r} seems "
                    "to count thousands of persons, or hundreds or millions. The report takes each "
                    "for one person, and the leakage of so few is too high. Pass counts of persons."
                ]
    return []


def cautions_of_events(name: Any) -> list[str]:
    """A caution for counts of what a person may have several of, by the name of their column."""
    are_events = is_called(name, _EVENTS) and not is_called(name, _PERSONS)
    if not are_events and not is_called(name, _DAYS):
        return []
    return [
        f"Column {name!r} has the name of a number of events or days, of which a person may have "
        "several. The report takes each for one person, and a person of several leaks more: pass "
        "counts of persons. If each person is counted once, rename the column."
    ]


def _is_called(name: Any, words: re.Pattern[str], several: Sequence[set[str]]) -> bool:
    """Whether a word of the name of a column is one of these, or several of them are."""
    return is_called(name, words) or any(each.issubset(words_of(name)) for each in several)


def _numbers(factor: Factor, rows: npt.NDArray[np.intp]) -> FloatArray | None:
    """The numbers of a column in these rows; None if one is text or has no value."""
    levels, codes = numbers_of(factor), factor.codes[rows]
    if levels is None or (codes < 0).any():
        return None
    values = levels[codes]
    return values if np.isfinite(values).all() and (values >= 0.0).all() else None


def _slope(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """Slope and correlation of logarithms, of positive values by counts; zeros if they are few."""
    good = values > 0.0
    x, y = np.log(counts[good]), np.log(values[good])
    if x.size < _FEWEST or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0, 0.0
    return float(np.polyfit(x, y, 1)[0]), float(np.corrcoef(x, y)[0, 1])


def _is_size(values: FloatArray | None, counts: FloatArray) -> bool:
    """Whether they are whole numbers of persons, of each of which the counts have several."""
    if values is None or (values % 1.0).any() or (values > counts).any():
        return False
    are_times = np.median(counts / np.maximum(values, 1.0)) >= _TIMES
    return bool(are_times) and _slope(values, counts)[1] > _LINKED


def _is_sample(
    values: FloatArray | None, counts: FloatArray, groups: Sequence[npt.NDArray[Any]]
) -> bool:
    """Whether the counts are the values times weights, of the values of one of `groups` or of all.

    As a part of the persons that are counted, such as those with a disease, the values would be
    binomial, and their chi-squared distance as large as the number of cells, nearly.
    """
    from scipy.special import chdtr

    if values is None or not _is_size(values, counts):
        return False
    for codes in [np.zeros(counts.size, np.int64), *groups]:
        _, place = np.unique(codes, return_inverse=True)
        share = np.bincount(place, values) / np.bincount(place, counts)
        expected = counts * share[place]
        known = expected >= _EXPECTED
        spread = (expected * (1.0 - share[place]))[known]
        distance = float(np.sum((values - expected)[known] ** 2 / spread))
        freedom = int(np.count_nonzero(known)) - share.size
        if freedom > 0 and chdtr(freedom, distance) < _CHANCE:
            return True
    return False


def _is_cv(values: FloatArray | None, counts: FloatArray) -> bool:
    """Whether they are standard errors in shares of the counts, or in per cent of these."""
    if values is None:
        return False
    shares = values if values.max() <= _LARGEST_SHARE else values / 100.0
    is_large = np.median(shares**2 * counts) >= _VARIANCES
    return bool(is_large) and _slope(values, counts)[1] < -_LINKED


def _is_error(values: FloatArray | None, counts: FloatArray) -> bool:
    """Whether they are standard errors of the counts, or a multiple; those of a mean fall."""
    if values is None or np.median(values**2 / counts) < _VARIANCES:
        return False
    return _slope(values, counts)[1] > _LINKED


def _are_limits(low: FloatArray | None, high: FloatArray | None, counts: FloatArray) -> bool:
    """Whether the intervals hold the counts, and are wider than those of counts of cases."""
    if low is None or high is None or (low > counts).any() or (high < counts).any():
        return False
    return bool(np.median(((high - low) / _WIDTH) ** 2 / counts) >= _VARIANCES)


def _is_larger(values: FloatArray | None, counts: FloatArray) -> bool:
    """Whether another number of all rows grows with the count, and is larger."""
    if values is None or (values <= counts).any():
        return False
    return _slope(values, counts)[1] > _LINKED
