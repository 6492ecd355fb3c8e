"""Rows that are groups, genes or totals, not persons, by names or by how little they vary."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, listed
from mialeak._checks.names import (
    VARIANT,
    WORDS_OF_SEXES,
    columns_that,
    is_count_name,
    is_household_name,
    is_person_name,
    word_of,
    words_of,
)
from mialeak._columns import Factor
from mialeak._fields import as_numbers

__all__ = [
    "cautions_of_genes",
    "cautions_of_grouped_sites",
    "cautions_of_named_groups",
    "row_cautions",
]

IntArray = npt.NDArray[np.int64]

#: So many values of a column are enough to see what it holds, and rows to see that they differ.
_LOOKED_AT, _SITES = 50, 10
#: The least number of the largest count of persons by sex: those below are marks and answers.
_LEAST_COUNT = 10
#: Names of first and last rows that sum up the others, in small letters.
_SUMMARIES = {
    "total",
    "totals",
    "sum",
    "summe",
    "gesamt",
    "somme",
    "grand_total",
    "all",
    "overall",
    "mean",
    "means",
    "average",
    "avg",
    "mittelwert",
    "moyenne",
    "media",
    "median",
    "sd",
    "std",
    "stdev",
    "std_dev",
    "standard_deviation",
    "se",
    "sem",
    "min",
    "max",
    "minimum",
    "maximum",
    "n",
    "count",
    "af",
    "ac",
    "an",
    "maf",
    "freq",
    "frequency",
    "missing",
}
#: Names of columns of regressions, in small letters: p-values, and what stands beside them.
_P_VALUES = re.compile(r"p|sig\.?|p[_. -]?val(ue)?s?|pr\(>\|[tz]\|\)|p>\|[tz]\|", re.IGNORECASE)
_ESTIMATES = re.compile(
    r"estimate|coef(f|ficients?)?\.?|beta|odds[_. ]ratio|or|hr|rr|std[_. ]*err(or)?\.?|se|"
    r"statistic|[tz]([_. ]?(value|stat))?|-?log10[_. ]?p|(ci[_. ]?)?(lower|upper)([_. ]?(ci|95))?",
    re.IGNORECASE,
)
#: Names of genes and probes, and of columns of such names and of pairs of persons.
_GENE = re.compile(r"ENS[A-Z]*[GTP]\d{8,}(\.\d+)?|cg\d{8}|ILMN_\d+|NM_\d+(\.\d+)?")
_GENES = re.compile(
    r"(gene|cpg|probe([_. ]?set)?|transcript|protein|feature|taxon|otu|asv)"
    r"([_. ]?(id|name|symbol))?|ensembl",
    re.IGNORECASE,
)
#: Names of samples and of persons: of TCGA, ICGC, GTEx, the archives of reads, and with a number.
_SAMPLE = re.compile(
    r"TCGA[-.][A-Z0-9]{2}[-.][A-Z0-9]{4}([-.].*)?|TARGET[-.]\d\d[-.]\w{6}.*|GTEX[-.]\w{4,}([-.].*)?|"
    r"(?-i:(DO|SP|SA)\d{2,6}|(HG|NA)\d{5})|GSM\d{3,}|[SED]R[RS]\d{5,}|SAM(N|D|EA)\d{5,}|"
    r"\d{7}_\d{7}|"
    r"(patient|pat|subject|subj|participant|donor|person|individual|indiv|proband|sample|case|"
    r"control)s?[_. -]?\d+",
    re.IGNORECASE,
)
#: Names that number cases and controls together; alone, they number questions as well.
_NOT_ALONE = ("case", "control")
#: Share of the columns of numbers that have such names, from which they seem to be persons.
_NEARLY_ALL = 0.8
_PAIR = re.compile(r"(f?id|iid|sample|person|individual)[_. ]?([12])", re.IGNORECASE)
#: Words in names of columns of groups: where each of their values has one row, rows are groups.
_GROUP_WORDS = """
population populations pop superpopulation superpop subpopulation ancestry ethnicity ethnic race
region regions state county country nation province district municipality commune city town
village ward borough canton bundesland kreis gemeinde kommune centre center hospital clinic
practice school class site sites cohort study group groups arm batch treatment stratum cluster
"""
_GROUPS = frozenset(_GROUP_WORDS.split())
#: What may stand behind such a word where the groups have numbers.
_NUMBERED = re.compile(r"[_. -]?(id|code|no|nr|num|number)$")
#: Rows of which a group each is no coincidence.
_ROWS_OF_GROUPS = 10
_TAKE = "Each row is taken for one person here."
#: A number of persons in the name of a column.
_GROUP_OF = re.compile(r"\bn\s*=\s*\d", re.IGNORECASE)


def row_cautions(
    factors: Mapping[Any, Factor],
    texts: Mapping[Any, list[str]],
    held: Mapping[Any, tuple[FloatArray, IntArray]],
) -> list[str]:
    """A sentence for each suspicion that rows are no persons.

    `texts` are the values of each column of text, `held` the numbers and rows of the others.
    """
    return [
        *_of_summary_rows(factors, texts),
        *_of_results(factors, held),
        *_of_other_rows(factors, held),
        *_of_sexes(factors, held),
        *cautions_of_grouped_sites(held),
    ]


def _of_sexes(
    factors: Mapping[Any, Factor], held: Mapping[Any, tuple[FloatArray, IntArray]]
) -> list[str]:
    """A caution for columns of counts by sex, where no two rows agree in all other columns."""
    sexes = [
        name
        for name, (values, _) in held.items()
        if len(word_of(name)) > 1
        and word_of(name) in WORDS_OF_SEXES
        and values.size
        and values.min() >= 0.0
        and not (values % 1.0).any()
    ]
    if len(sexes) < 2 or max(held[name][0].max() for name in sexes) < _LEAST_COUNT:
        return []
    others = np.array([factors[name].codes for name in factors if name not in sexes])
    if others.size and len(np.unique(others, axis=1).T) < others.shape[1]:
        return []
    return [
        f"Columns {listed(sexes)} are named by the sexes and hold whole numbers, as those of a "
        "cross-tabulation do, whose rows are no persons. Each row is taken for one person here. "
        "For counts of persons write one row a cell and call mialeak.table_leakage (shell: mialeak "
        "table) with counts."
    ]


def cautions_of_genes(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for rows that are genes, by a column of text or by the index of a frame."""
    for name, factor in factors.items():
        rows = len(factor.codes)
        if rows <= _SITES or len(factor.levels) <= 0.9 * rows or not _is_text(factor):
            continue
        words = [factor.value(k) for k in range(_LOOKED_AT) if k < len(factor.levels)]
        named = [word for word in words if _GENE.fullmatch(str(word))]
        if _GENES.fullmatch(str(name).strip()) or 2 * len(named) > _LOOKED_AT:
            return [
                f"The rows seem to be genes or probes, by column {name!r} ({words[0]!r}). {_TAKE} "
                "Transpose the table if its columns are persons."
            ]
    return []


def cautions_of_named_groups(factors: Mapping[Any, Factor]) -> list[str]:
    """A caution for a column, or an index, of groups of which each has a row of its own.

    None if a column names persons: they may be of one group each.
    """
    if any(is_person_name(name) or is_household_name(name) for name in factors):
        return []
    for name, factor in factors.items():
        rows, shown = len(factor.codes), factor.rows_of_level
        if rows < _ROWS_OF_GROUPS or factor.n_missing or np.count_nonzero(shown) < rows:
            continue
        word = str(name).strip().lower()
        levels = as_numbers(factor.levels, text=_is_text(factor))
        if levels is None:
            is_group = not _GROUPS.isdisjoint(words_of(name))
        else:
            is_whole = _are_whole(np.asarray(levels[shown > 0], np.float64))
            is_group = is_whole and _NUMBERED.sub("", word) in _GROUPS and not is_count_name(name)
        if is_group:
            return [
                f"The rows seem to be groups: each has its own value of {name!r}, such as "
                f"{factor.value(int(factor.codes[0]))!r}. {_TAKE} Take the table of their persons; "
                "of published means of n persons, mialeak.mean_tradeoff(target, mean, cov, n) "
                "computes the leakage about a person."
            ]
    return []


def _is_text(factor: Factor) -> bool:
    return isinstance(factor.value(0), str)


def _of_other_rows(
    factors: Mapping[Any, Factor], held: Mapping[Any, tuple[FloatArray, IntArray]]
) -> list[str]:
    """Cautions for rows that are genes, pairs of persons, or groups of all combinations."""
    rows = max((len(factor.codes) for factor in factors.values()), default=0)
    samples = [name for name in held if _SAMPLE.fullmatch(str(name).strip())]
    if len({*_NOT_ALONE} & {word_of(name).rstrip("_0123456789") for name in samples}) == 1:
        samples = []
    if len(samples) >= max(_SITES, _NEARLY_ALL * len(held)):
        return [
            f"The columns seem to be persons, by their names {listed(samples, most=2)}. {_TAKE} "
            "Transpose the table if its columns are persons."
        ]
    if genes := cautions_of_genes({k: each for k, each in factors.items() if k not in held}):
        return genes
    pairs = [part for part in (_PAIR.fullmatch(str(name).strip(" #")) for name in factors) if part]
    if {part[2] for part in pairs} == {"1", "2"}:
        return [
            f"The rows seem to be pairs of persons, by column {listed(factors, most=2)}. {_TAKE}"
        ]
    keys = [name for name in factors if name not in held or _are_whole(held[name][0])]
    if not held.keys() - set(
        keys
    ):  # such as counts of alleles, with a row for each person and site
        keys = [name for name in factors if name not in held]
    if len(keys) < 2 or not held.keys() - set(keys):
        return []
    levels = [np.unique(factors[name].codes).size for name in keys]
    if min(levels) < 2 or math.prod(levels) != rows:
        return []
    codes = np.array([factors[name].codes for name in keys]).T
    if len(np.unique(codes, axis=0)) < rows:
        return []
    return [
        f"Each combination of the values of column {listed(keys)} has one row, as groups have. "
        f"{_TAKE} Take a table with a row for each person; of published means of n persons, "
        "mialeak.mean_tradeoff(target, mean, cov, n) computes the leakage about a person."
    ]


def _of_summary_rows(factors: Mapping[Any, Factor], texts: Mapping[Any, list[str]]) -> list[str]:
    """A caution for first or last rows that are called Total, Mean, SD or N."""
    for name, words in texts.items():
        codes = factors[name].codes
        if len(words) < max(_SITES, 0.9 * len(codes)):
            continue
        for order in (range(len(codes) - 1, -1, -1), range(len(codes))):
            named = []
            for row in order:
                word = factors[name].value(int(codes[row])) if codes[row] >= 0 else None
                if re.sub(r"[\W_]+", "_", str(word).strip(" :*").lower()) not in _SUMMARIES:
                    break
                named.append(word)
            if 0 < len(named) <= _SITES:
                end = "last" if order[0] else "first"
                return [
                    f"The {end} rows are called {listed(named)} in column {name!r}, and are taken "
                    "for persons here. Take them out."
                ]
    return []


def _of_results(
    factors: Mapping[Any, Factor], held: Mapping[Any, tuple[FloatArray, IntArray]]
) -> list[str]:
    """A caution for rows that are terms of a regression, or the lines of a table of groups."""
    tested = [k for k in held if _P_VALUES.fullmatch(str(k).strip()) and _are_within(held[k][0])]
    shown = [name for name in held if _ESTIMATES.fullmatch(str(name).strip())]
    groups = [name for name in factors if _GROUP_OF.search(str(name))]
    if (tested and shown) or len(shown) > 2:
        what, columns = "terms of a regression", [*shown, *tested]
    elif groups:
        what, columns = "lines of a table of groups", groups
    else:
        return []
    return [
        f"The rows seem to be {what}, by column {listed(columns)}. Each row is taken for one "
        "person here. Take the table from which they were computed, with a row for each person; "
        "of a regression, mialeak.influence_of computes the leakage about a person."
    ]


def _are_whole(values: FloatArray) -> bool:
    return bool((np.isfinite(values) & (values == np.rint(values))).all())


def _are_within(values: FloatArray) -> bool:
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


#: Fewest such columns, and the variance of a mean of genotypes in that of one of them, at most:
#: dosages of genotypes that are imputed badly have three tenths.
_COLUMNS, _GROUPED = 10, 0.15
#: Share of the values that are whole, at most: those of persons are, and most dosages nearly so.
_WHOLE, _NEARLY = 0.5, 0.02


def cautions_of_grouped_sites(
    held: Mapping[Any, tuple[FloatArray, npt.NDArray[np.int64]]],
) -> list[str]:
    """A caution for fractions of copies, from 0 to 2, that vary far less than genotypes do.

    `held` are the numbers of each column and the rows of each number.  The means of groups of k
    persons have the variance ``2 p (1 - p) / k``, and differences of populations beside it.
    """
    variances, expected, whole, total, largest, names = 0.0, 0.0, 0, 0, 0.0, []
    for name, (values, rows) in held.items():
        if not VARIANT.match(str(name)) or values.size < 2:
            continue
        if not (values.min() >= 0.0 and values.max() <= 2.0) or not (values % 1.0).any():
            continue
        names.append(name)
        largest = max(largest, float(values.max()))
        mean = float(np.average(values, weights=rows))
        variances += float(np.average((values - mean) ** 2, weights=rows))
        expected += mean * (1.0 - 0.5 * mean)
        whole += int(rows[np.abs(values - np.rint(values)) < _NEARLY].sum())
        total += int(rows.sum())
    if len(names) < _COLUMNS or 2 * len(names) < len(held):
        return []
    if largest <= 1.0:  # as of frequencies, which another caution names
        return []
    if variances > _GROUPED * expected or whole > _WHOLE * total:
        return []
    return [
        f"{columns_that(names, 'holds')} fractions of copies that vary {variances / expected:.2g} "
        "times as much as genotypes of persons: the rows seem to be means of groups, such as of "
        "sites of a study. Each row is taken for a person here. Take the table of the persons; of "
        "published means of n persons, mialeak.mean_tradeoff(target, mean, cov, n) computes the "
        "leakage about a person."
    ]
