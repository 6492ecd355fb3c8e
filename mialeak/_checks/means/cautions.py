"""What the report on means states first: tables that are probably not what was meant.

A mean is judged with a row for each person.  Tables of sites, genotypes in letters and codes of
missing genotypes have means as well, which answer other questions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid, listed
from mialeak._checks.lines import cautions_of_limit, cautions_of_names
from mialeak._checks.markers import marker_cautions, rows_of_column
from mialeak._checks.means.alleles import (
    allele_cautions,
    allele_number_cautions,
    are_in_proportion,
    are_percentages,
    are_populations,
    are_shares,
    cautions_of_loci,
    cautions_of_named_pairs,
    code_cautions,
)
from mialeak._checks.means.groups import row_cautions
from mialeak._checks.means.relatives import relatives_cautions
from mialeak._checks.means.text import names_persons, text_cautions, text_number_cautions
from mialeak._checks.names import VARIANT, columns_that, words_of
from mialeak._checks.spellings import cautions_of_spellings, cautions_of_thousands, turned_pair
from mialeak._columns import Factor, numeric_levels
from mialeak._fields import MARKERS, as_numbers, is_number

__all__ = ["cautions_of", "noise_cautions", "refuse_sites", "size_cautions"]

Numbers = npt.NDArray[Any] | None
IntArray = npt.NDArray[np.int64]

#: Pairs of columns that a list of variants has, in small letters.
_OF_VARIANTS = [
    (
        {"chrom", "#chrom", "chr", "chromosome"},
        {"pos", "bp", "position", "genpos", "base_pair_location"},
    ),
    ({"ref"}, {"alt"}),
    ({"ac"}, {"an"}),
]
#: Names of columns that name a variant in each row, in small letters.
_ROWS_OF_VARIANTS = {"snp", "rsid", "variant", "locus", "gene", "marker", "site", "probe"}
#: Names of columns of allele frequencies, in small letters.
_FREQUENCIES = re.compile(
    r"(.*[_. ])?(af|maf|eaf|raf|freqs?|frequency|frequencies)([_. ].*)?", re.IGNORECASE
)
#: Names of columns of one genotype of a site, as rs7_AA beside rs7_AB and rs7_BB.
_OF_GENOTYPE = re.compile(r"(.+)[_.: -]([ABCGT])[/|]?[ABCGT]")
#: Names of columns that count the persons of a row.
_PERSONS = re.compile(
    r"(n|no|nr|number|num)[_. ]?(of[_. ])?(obs|rows|persons|people|cases|respondents|households)|"
    r"n[_. ]?(samples?|subjects?|patients?|participants?|individuals?|carriers?)|"
    r"n[_. ]risk|(number[_. ])?at[_. ]risk|n[_. ]events?|"
    r"n|obs|nobs|counts?|population|persons|people|cases|respondents|sample[_. ]?size",
    re.IGNORECASE,
)
#: Names of sites of which men, or all, have one copy.
_OF_ONE_COPY = re.compile(r"(chr)?(x|y|mt?):", re.IGNORECASE)
#: Names of the haplotypes of a person, as in HG00096_1 and HG00096_2.
_HAPLOTYPE = re.compile(r"(.+)[_.:/-]((?:h|hap)?[012]|[ab]|mat|pat|[mp])", re.IGNORECASE)
#: Names of columns that number imputations.
_IMPUTATIONS = re.compile(r"[._]?imp|_?imputation_?|_mi_m|imp(utation)?[_. ]?(id|nr|no|number)")
#: Words in the names of columns of means.
_MEAN_WORDS = {"mean", "means", "avg", "average", "averages", "median", "mittel", "mittelwert"}
#: A genotype: two letters with or without a sign between them, as in a VCF, or a count as text.
_ALLELE = "[ACGTBIDN0-9.-]"
_GENOTYPE = re.compile(rf"{_ALLELE}[/| ]{_ALLELE}(:.*)?|[ACGTBIDN0.-]{{2}}|[012]")
_HOMOZYGOTE = re.compile(r"([ACGTBID])[/| ]?\1|(\d)[/| ]\2(:.*)?|[02]")
#: Two alleles by any names, such as REF/ALT or 17/18; the word for two that differ; and counts of
#: an allele, written as text.
_PAIR = re.compile(r"([^/|:]{1,12})[/|:]([^/|:]{1,12})")
_HETEROZYGOUS = re.compile(r"het(erozygo(us|te))?\b", re.IGNORECASE)
_COUNTS_AS_TEXT = set("012")
#: Single letters of a sequence: those of one base, of two, and that of none.
_BASES, _TWO_BASES, _NO_BASE = set("ACGT"), set("RYSWKM"), set("N")
#: So many columns of genotypes make a table one of genotypes.
_SITES = 10
#: Without so many expected genotypes 2, the lack of any is no sign; and the most copies that a
#: person has, by the highest ploidy of crops.
_EXPECTED, _COPIES = 20.0, 8.0
#: Names of other columns listed.
_NAMED = 8
#: So many values of a column are enough to see what it holds.
_LOOKED_AT = 50
#: Values of a column of names of persons, or of haplotypes, at least.
_VALUES = 20

_INSTEAD = (
    "For frequencies p of a cohort of n persons, call mialeak.mean_tradeoff(target, mean=2*p, "
    "cov=2*p*(1-p), n=n), with the genotypes 0, 1 or 2 of a person as target"
)

#: Rows of persons whose means are published, at least.
_FEWEST_ROWS = 10


def refuse_sites(factors: Mapping[Any, Factor]) -> None:
    """Refuse a table with a row for each variant."""
    remedy = f"Write genotypes with a column for each variant. {_INSTEAD}"
    words = {str(name).strip().lower(): name for name in factors}
    for pair in _OF_VARIANTS:
        names = [words[word] for kind in pair for word in sorted(kind & words.keys())]
        if all(kind & words.keys() for kind in pair):
            rule = f"have a row for each person; columns {listed(names)} describe variants"
            invalid("table", rule, remedy=remedy)
    for name, factor in factors.items():
        unique = 3 <= len(factor.codes) <= len(factor.levels) and _is_text(factor.value(0))
        variant = _variant_of(factor)
        word = str(name).strip().lower()
        if variant or (unique and word in _ROWS_OF_VARIANTS and not _is_place(word, factors)):
            rule = "have a row for each person; it has one for each variant, by column "
            invalid("table", f"{rule}{name!r} ({(variant or factor.value(0))!r})", remedy=remedy)


def _is_place(word: str, factors: Mapping[Any, Factor]) -> bool:
    """Whether "site" is one of recruitment: no frequencies are beside it, and few genotypes."""
    if word != "site" or any(_FREQUENCIES.fullmatch(str(name)) for name in factors):
        return False
    levels = [as_numbers(each.levels, text=True) for each in factors.values()]
    sites = [each for each in levels if each is not None and _are_counts(np.asarray(each, float))]
    letters = [name for name, each in factors.items() if _are_genotypes(name, _texts(each))]
    return 2 * (len(sites) + len(letters)) < len(factors)


def cautions_of(
    factors: Mapping[Any, Factor], numbers: Mapping[Any, Numbers], *, chosen: bool
) -> list[str]:
    """A sentence for each suspicion, with the argument that cures it.

    `numbers` are the levels of each column of numbers, and None for a category; `chosen` is
    whether the columns were named one by one.
    """
    cautions = [
        *cautions_of_limit(max((len(each.codes) for each in factors.values()), default=0)),
        *cautions_of_names(factors),
        *marker_cautions(dict(factors)),
    ]
    texts = {name: _texts(factors[name]) for name, each in numbers.items() if each is None}
    letters = [name for name, words in texts.items() if _are_genotypes(name, words)]
    coded = [name for name in letters if set(texts[name]) <= _COUNTS_AS_TEXT]
    if len(coded) < _SITES:  # a sex may be coded 1 and 2
        letters = [name for name in letters if name not in coded or VARIANT.match(str(name))]
    bases = [name for name, words in texts.items() if _are_bases(words)]
    if len(bases) >= _SITES:
        letters += [name for name in bases if not _TWO_BASES.isdisjoint(texts[name])]
        cautions += _of_no_base(factors, bases)
    if letters:
        cautions.append(_of_letters(letters, texts))
    unpublished = {k for k in texts if not chosen and len(texts[k]) == len(factors[k].codes)}
    of_numbers, foreign = text_number_cautions(
        {k: texts[k] for k in texts if k not in letters}, unpublished
    )
    spelt = {k: factors[k] for k in texts if k not in letters and k not in foreign}
    cautions += of_numbers + cautions_of_spellings(spelt)
    cautions += cautions_of_thousands({k: factors[k] for k in numbers if numbers[k] is not None})
    held = {k: _held(factors[k], each) for k, each in numbers.items() if each is not None}
    counts = [name for name, (values, _) in held.items() if _are_counts(values)]
    numbered = allele_number_cautions(held)
    if len(counts) >= _SITES:
        wide = sum(bool(np.isin(range(5), values).all()) for values, _ in held.values())
        sites = {name: held[name] for name in counts}
        cautions += code_cautions(sites, factors, wide, is_three_known=bool(numbered))
        cautions += _of_carriers(sites)
    cautions += _of_allele_counts(held) + numbered
    every = {**texts, **{k: values for k, (values, _) in held.items()}}
    loci = allele_cautions(factors, every) + cautions_of_loci(every)
    cautions += loci or cautions_of_named_pairs(factors, list(numbers))
    cautions += row_cautions(factors, texts, held)
    if not chosen:
        published = [k for k in numbers if len(texts.get(k, ())) < len(factors[k].codes)]
        are_sites = are_in_proportion([held[name] for name in counts])
        cautions += _of_company([*(counts if are_sites else ()), *letters], published)
    of_relatives, relatives = relatives_cautions(factors, texts, held)
    cautions += of_relatives
    known = {*letters, *foreign, *relatives}
    cautions += text_cautions({k: texts[k] for k in texts if k not in known}, factors)
    cautions += _of_haplotypes(texts, [values for values, _ in held.values()])
    cautions += _of_groups(held)
    cautions += [
        f"Column {name!r} seems to number imputations of the same rows. Take one of these: "
        "rows that stand for one person several times seem to leak less than they do."
        for name, (values, _) in held.items()
        if values.size > 1 and _IMPUTATIONS.fullmatch(str(name).lower())
    ]
    cautions += _of_group_means(factors, numbers, texts)
    cautions += _of_persons(factors, numbers, {*known, *counts})
    unique = all(len(words) >= len(factors[name].codes) for name, words in texts.items())
    return cautions + _of_frequencies({name: values for name, (values, _) in held.items()}, unique)


def size_cautions(rows: int) -> list[str]:
    """A caution for a table of few rows, which may be groups of persons."""
    if rows >= _FEWEST_ROWS:
        return []
    return [
        f"The table has {rows} rows, and the answer is the limit for many. If its rows are groups "
        "with means of their own, or a summary, pass the table of their persons."
    ]


def noise_cautions(noise_std: float) -> list[str]:
    """A caution for noise that is probably in the unit of a column."""
    if noise_std <= 1.0:
        return []
    return [
        f"noise_std counts standard deviations of each column, and noise of {noise_std:g} of these "
        "hides nearly all that a mean shows. Divide noise in the unit of a column by the standard "
        "deviation of that column."
    ]


def _of_letters(letters: list[Any], texts: Mapping[Any, list[str]]) -> str:
    swapped = next(
        (
            f"{w!r} and {turned_pair(w)!r}"
            for k in letters
            for w in texts[k]
            if turned_pair(w) in texts[k] and w != turned_pair(w)
        ),
        None,
    )
    apart = f", {swapped} apart" if swapped else ""
    return (
        f"Genotypes are text in column {listed(letters)}: the share of each value is published"
        f"{apart}, which leaks more than allele frequencies. For these write the count of one "
        "allele, 0, 1 or 2, as a number."
    )


def _held(factor: Factor, levels: Any) -> tuple[FloatArray, IntArray]:
    """The numbers that a column holds, and the rows of each."""
    known = factor.codes >= 0
    rows = np.bincount(factor.codes[known], minlength=len(levels))
    return np.asarray(levels[rows > 0], np.float64), rows[rows > 0]


def _of_carriers(counts: Mapping[Any, tuple[FloatArray, IntArray]]) -> list[str]:
    """A caution for 0 and 1 in columns named as sites where genotypes would have many a 2."""
    sites = {
        name: each
        for name, each in counts.items()
        if VARIANT.match(str(name)) and not _OF_ONE_COPY.match(str(name))
    }
    if len(sites) < _SITES or not all(np.isin(x, (0.0, 1.0)).all() for x, _ in sites.values()):
        return []
    expected = sum(float(x @ rows) ** 2 / (4.0 * rows.sum()) for x, rows in sites.values())
    if expected < _EXPECTED:
        return []
    return [
        f"The {len(sites):,} columns of sites, {listed(sites)}, hold 0 and 1 alone; of genotypes "
        f"{expected:,.0f} values would be 2. Each row is taken for one person here. If rows are "
        "haplotypes, add the two of each person, who leaks more than a haplotype."
    ]


def _of_allele_counts(held: Mapping[Any, tuple[FloatArray, IntArray]]) -> list[str]:
    """A caution for counts of alleles of groups, in columns named as sites."""
    counts = [
        name
        for name, (values, _) in held.items()
        if VARIANT.match(str(name)) and not np.isin(values, (0.0, 1.0, 2.0)).all()
    ]
    largest = [held[name][0].max() for name in counts if np.isfinite(held[name][0]).all()]
    several = [
        name
        for name in counts
        if held[name][0].size > 3 and held[name][0].min() >= 0.0 and not (held[name][0] % 1.0).any()
    ]
    if len(several) < _SITES or 2 * len(several) <= len(held) or np.median(largest) <= _COPIES:
        return []
    return [
        f"{columns_that(several, 'seems')} to hold counts of an allele in groups: persons have 0, "
        f"1 or 2 copies. Each row is taken for a person here. {_INSTEAD}."
    ]


def _of_no_base(factors: Mapping[Any, Factor], bases: list[Any]) -> list[str]:
    """A caution for N among bases."""
    places = []
    for name in bases:
        codes = [k for k in range(len(factors[name].levels)) if factors[name].value(k) in _NO_BASE]
        rows = int(np.isin(factors[name].codes, codes).sum()) if codes else 0
        if rows:
            places.append(rows_of_column(name, rows))
    if not places:
        return []
    where = listed(places, show=str)
    return [
        f"'N' is counted as a value like A, C, G and T, {where}. If it marks a missing value, pass "
        "missing=['N']."
    ]


def _of_company(sites: list[Any], names: list[Any]) -> list[str]:
    """A caution for other columns beside those of genotypes."""
    named = [name for name in names if VARIANT.match(str(name))]
    sites = named if 2 * len(named) > len(names) else sites
    known = set(sites)
    others = [name for name in names if name not in known]
    if len(sites) < _SITES or not 0 < 2 * len(others) <= len(sites):
        return []
    shown = listed(others, most=_NAMED)
    cure = f" If not, pass exclude=[{shown}]." if len(others) <= _NAMED else ""
    return [f"Taken as published beside {len(sites):,} columns of genotypes: column {shown}.{cure}"]


def _of_haplotypes(texts: Mapping[Any, list[str]], columns: list[FloatArray]) -> list[str]:
    """A caution for two rows of bits a person, by names that differ in their last part."""
    bits = [bool(np.isin(values, (0.0, 1.0)).all()) for values in columns if values.size <= 2]
    if sum(bits) < _SITES:
        return []
    cautions = []
    for name, words in texts.items():
        parts = [_HAPLOTYPE.fullmatch(word) for word in words]
        stems = [part[1] for part in parts if part]
        if len(words) == len(stems) == 2 * len(set(stems)) >= _VALUES:
            cautions.append(
                f"Column {name!r} seems to name the two haplotypes of each of {len(set(stems)):,} "
                "persons. Each row is taken for one person here. Add the rows of a person: a "
                "person leaks more than a haplotype."
            )
    return cautions


def _of_frequencies(numbers: Mapping[Any, Any], alone: bool) -> list[str]:
    """A caution for numbers that are frequencies of sites, not values of persons.

    `alone` is whether the other columns are names of the rows.
    """
    shares = [name for name, levels in numbers.items() if are_shares(levels)]
    known = set(shares) | {name for name, levels in numbers.items() if are_percentages(levels)}
    named = [name for name in numbers if name in known and _FREQUENCIES.fullmatch(str(name))]
    site_of = {name: part[1] for name in known if (part := _OF_GENOTYPE.fullmatch(str(name)))}
    columns = Counter(site_of.values())  # three are the probabilities of a person's genotypes
    sites = [
        name
        for name in numbers
        if name in known and VARIANT.match(str(name)) and columns[site_of.get(name, "")] != 3
    ]
    if not named and alone and len(shares) == len(numbers) and are_populations(shares):
        named = shares
    if not named and 2 * len(sites) > len(numbers):
        named = sites
    if not named:
        return []
    return [
        f"{columns_that(named, 'seems')} to hold frequencies. Each row is taken for a person here, "
        f"and the leakage is that of the mean over these rows. {_INSTEAD}."
    ]


def _of_groups(held: Mapping[Any, tuple[FloatArray, IntArray]]) -> list[str]:
    """A caution for rows that are groups, with the number of persons in each."""
    counting = [
        name
        for name, (values, _) in held.items()
        if _PERSONS.fullmatch(str(name).strip())
        and values.size > 2
        and values.min() >= 0.0
        and not (values % 1.0).any()
    ]
    if not counting:
        return []
    return [
        f"{columns_that(counting, 'seems')} to count the persons of each row. Each row is taken "
        "for one person here, and the leakage is that of the mean over these rows. Take a table "
        "with a row for each person; of published means of n persons, "
        "mialeak.mean_tradeoff(target, mean, cov, n) computes the leakage about a person."
    ]


def _of_group_means(
    factors: Mapping[Any, Factor], numbers: Mapping[Any, Numbers], texts: Mapping[Any, list[str]]
) -> list[str]:
    """A caution for means of groups, each of which has a name of its own in a row of its own."""
    means = [
        name
        for name, levels in numbers.items()
        if levels is not None and not _MEAN_WORDS.isdisjoint(words_of(name))
    ]
    groups = [
        name
        for name, words in texts.items()
        if len(words) == len(factors[name].codes) > 1 and not names_persons(name)
    ]
    if not means or not groups:
        return []
    return [
        f"{columns_that(means, 'seems')} to hold means of the groups that column {listed(groups)} "
        "names. Each row is taken for one person here. Take a table with a row for each person; of "
        "published means of n persons, mialeak.mean_tradeoff(target, mean, cov, n) computes the "
        "leakage about a person."
    ]


def _of_persons(
    factors: Mapping[Any, Factor], numbers: Mapping[Any, Numbers], known: set[Any]
) -> list[str]:
    """Cautions for numbers of persons that several rows share."""
    cautions = []
    for name, levels in numbers.items():
        if levels is None or name in known or not names_persons(name):
            continue
        values, rows = _held(factors[name], levels)
        if values.size < _VALUES or rows.max() < 2 or (values % 1.0).any():
            continue
        cautions.append(
            f"Column {name!r} seems to name the person of a row, and {int(rows.sum()):,} rows have "
            f"{values.size:,} of its values. The report is about rows: if rows share a person, "
            "take one row for each person first, such as the mean of theirs; then pass "
            f"exclude=[{name!r}]."
        )
    return cautions


def _texts(factor: Factor) -> list[str]:
    """The levels that are text."""
    return list(filter(_is_text, factor.values))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _variant_of(factor: Factor) -> str | None:
    """The first name of a variant, if most rows have one, by the first values; None if not."""
    rows = factor.rows_of_level[:_LOOKED_AT]
    if numeric_levels(factor) is not None or 2 * factor.n_missing > len(factor.codes):
        return None
    words = {k: factor.value(k) for k in np.flatnonzero(rows).tolist()}
    named = [k for k, word in words.items() if _is_text(word) and VARIANT.fullmatch(word)]
    return words[named[0]] if 2 * rows[named].sum() > rows.sum() else None


def _are_genotypes(name: Any, words: list[str]) -> bool:
    """Whether words are genotypes; counts beside a marker are not, as the marker is named."""
    known = [word for word in words if word.lower() not in MARKERS]
    if len(known) < len(words) and all(map(is_number, known)):
        return False
    if not 2 <= len(known) <= 20:
        return False
    if len(known) in (3, 4) and VARIANT.fullmatch(str(name)):
        return True
    if len(known) <= 4 and any(map(_HETEROZYGOUS.match, known)):
        return True
    if len({word.lower() for word in known}) == 1 and re.fullmatch(r"(?i)([a-z])\1", known[0]):
        return True
    pairs = [match.groups() for match in map(_PAIR.fullmatch, known) if match]
    if len(pairs) == len(known) and any(first == second for first, second in pairs):
        return True
    letters = all(_GENOTYPE.fullmatch(word) for word in known)
    return letters and any(_HOMOZYGOTE.fullmatch(word) for word in known)


def _are_bases(words: list[str]) -> bool:
    """Whether words are letters of a sequence, at least one of them a base."""
    return bool(_BASES & set(words)) and set(words) <= _BASES | _TWO_BASES | _NO_BASE


def _are_counts(levels: Any) -> bool:
    """Whether numbers are 0, 1 and 2, with a code of a missing genotype at most."""
    known = levels[np.isfinite(levels)]
    if not 0 < known.size <= 4:
        return False
    counts = int(np.isin(known, (0.0, 1.0, 2.0)).sum())
    return 0 < counts >= known.size - 1 and not (known % 1.0).any()
