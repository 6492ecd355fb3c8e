"""Columns of alleles in place of genotypes: two for each site, or numbers that name two alleles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, listed
from mialeak._checks.markers import (
    ENDS_OF_BYTES,
    MARKING_NUMBERS,
    cautions_of_one_row,
    rows_of_column,
)
from mialeak._checks.names import VARIANT, columns_that
from mialeak._columns import Factor
from mialeak._fields import is_number

__all__ = [
    "allele_cautions",
    "allele_number_cautions",
    "are_in_proportion",
    "are_percentages",
    "are_populations",
    "are_shares",
    "cautions_of_loci",
    "cautions_of_named_pairs",
    "code_cautions",
]

IntArray = npt.NDArray[np.int64]

#: So many sites are looked at, and more.
_SITES = 10
#: Letters of alleles, and marks of none.
_BASES, _NO_ALLELE = set("ACGT"), {"N", "0", 0.0}
_NO_WORD = {"N", "0", "0.0", ""}
#: Columns that are looked at for alleles in a fixed order, at most.
_MOST_COLUMNS = 200
#: Names of the two columns of a person's alleles, as in rs7_1 and rs7_2.
_ALLELE_OF = re.compile(
    r"(.+?)[_.:/ -]?((?:a|h|hap|allele)?[12]|(?<=[_.:/ -])(?:[ab]|mat|pat))", re.IGNORECASE
)
#: Such names that leave no other meaning, as DQA.a1 and DQA.a2, pairs of them at least, and the
#: most alleles of a site.
_NAMED_PAIR = re.compile(
    r"(.+?)[_.:/ -]?(?:(?<=[_.:/ -])a|al|allele)[_.:/ -]?([12])", re.IGNORECASE
)
_PAIRS, _ALLELES = 2, 100
#: Share of the values that both columns have at least, each as often.
_SHARED = 0.3
#: An allele that persons have twice or not at all marks none, if so many are expected to have one.
_EXPECTED = 10.0
#: Names of columns of microsatellites and of HLA genes, with the number of the allele or without.
_LOCUS = re.compile(
    r"((d(\d{1,2}|x|y)s\d{2,5}|dys\d{3}|vwa|th0?1|tpox|csf1po|fga|se33|penta[_ -]?[de])(marker)?|"
    r"hla[-_ ]?(a|b|c|d[rqp][ab]\d?)|d[rqp][ab]1)([_.:/ -]?(a|h|allele[_ ]?)?[12ab])?",
    re.IGNORECASE,
)
#: One or two of the names of such alleles, as A*01:01.
_HLA = re.compile(
    r"(?:HLA-)?\w{1,5}\*\d{2,3}(?::\d{2,3})*[A-Z]?(?:[,;/|+ ]{1,2}(?:HLA-)?(?:\w{1,5}\*)?"
    r"\d{2,3}(?::\d{2,3})*[A-Z]?)?"
)
#: So many of them, of so many values each, are no coincidence and no copies of one allele.
_LOCI = 4
#: Numbers that name two alleles.
_TWO_ALLELES = [10.0 * first + second for first in range(1, 5) for second in range(1, 5)]
#: Shares of the two columns of a person's alleles differ by so many squared errors at most, on
#: average and in one pair; those of different sites by this factor more.
_ALIKE, _MOST_UNLIKE, _UNLIKE = 3.0, 25.0, 5.0
#: The largest mean correlation of these.
_LINKED = 0.6
#: Share of the rows that 0 for a missing genotype has at most, on average and in one column.
_RARE, _MOST_RARE = 0.05, 0.1
#: Genotypes 1 in those that Hardy-Weinberg proportions expect: fewer, where people of several
#: populations are together (0.75 in people of five continents); genotypes 2 that are expected of a
#: column that is looked at, and by how many more such columns have some than have none.
_FEWEST_MIXED, _MOST_MIXED, _FEWEST_TWOS, _FEWEST_KNOWN = 0.7, 1.1, 5.0, 5
#: Genotypes that are unknown, for each with two copies, at most.
_UNKNOWN = 0.3
#: The same of other codes among counts of an allele, in columns named as sites.
_MISSING = 0.3
#: Names of columns of frequencies in tables that hold nothing else: of populations and alleles.
_POPULATIONS = re.compile(
    r"p|q|a[12]|ref|alt|allele[_. ]?\d*|afr|amr|eas|eur|sas|nfe|fin|asj|mid|oth|all|global|"
    r"ceu|tsi|gbr|ibs|chb|chs|cdx|jpt|khv|yri|lwk|gwd|msl|esn|asw|acb|mxl|pur|clm|pel|gih|pjl|"
    r"beb|stu|itu|pop(ulation)?[_. ]?\w{0,3}|cases?|controls?|cohort",
    re.IGNORECASE,
)


def allele_number_cautions(held: Mapping[Any, tuple[FloatArray, IntArray]]) -> list[str]:
    """Cautions for 11, 12 and 22, which name alleles, and 0 for a missing one of 1, 2 and 3."""
    known = [name for name, (values, _) in held.items() if values.size > 1]
    coded = [name for name in known if held[name][0].size <= len(_TWO_ALLELES) + 1]
    paired = [k for k in coded if np.isin(held[k][0], [0.0, *_TWO_ALLELES]).all()]
    paired = [name for name in paired if (held[name][0] > 0.0).sum() > 1]
    if len(paired) >= _SITES:
        return [
            f"Numbers such as {held[paired[0]][0].max():g} in column {listed(paired)} name two "
            "alleles, and their mean is taken here. Write the count of one allele, 0, 1 or 2."
        ]
    coded = [k for k in coded if held[k][0].max() == 3.0 and np.isin(held[k][0], range(4)).all()]
    missed = total = 0
    for name in coded:
        values, rows = held[name]
        each = np.bincount(values.astype(np.intp), rows, minlength=4)
        persons = each[1:].sum()
        p = (each[2] / 2 + each[3]) / persons
        balanced = abs(each[2] / persons - 2 * p * (1 - p)) < p * (1 - p) + 0.05
        if each[0] > _MOST_RARE * each.sum() or not balanced:
            return []
        missed, total = missed + int(each[0]), total + int(each.sum())
    if len(coded) < max(_SITES, len(known) / 2) or not 0 < missed <= _RARE * total:
        return []
    return [
        f"0 is counted as a value like 1, 2 and 3, {missed:,} times in {len(coded):,} columns. If "
        "it marks a missing genotype, pass missing=['0']."
    ]


def cautions_of_loci(values: Mapping[Any, Any]) -> list[str]:
    """A caution for sites of many alleles, by their names, in columns that hold no copies."""
    sites = [
        name
        for name, each in values.items()
        if _LOCUS.fullmatch(str(name)) and len(set(each)) >= _LOCI
    ]
    named = [name for name, each in values.items() if _are_hla(each)]
    sites = named + [name for name in sites if name not in named]
    if len(sites) < _LOCI and not named:
        return []
    return [
        f"{columns_that(sites, 'seems')} to hold alleles of a microsatellite or of an HLA gene. "
        "The mean of a column of numbers and the share of each value of others are taken here, not "
        "allele frequencies. Of these write a column for each allele, with the copies of a person, "
        "0, 1 or 2."
    ]


def _are_hla(values: Any) -> bool:
    """Whether values are names of alleles of an HLA gene, one or two in a field."""
    is_text = not isinstance(values, np.ndarray)
    return is_text and len(values) > 1 and all(map(_HLA.fullmatch, values))


def code_cautions(
    counts: Mapping[Any, tuple[FloatArray, IntArray]],
    factors: Mapping[Any, Factor],
    others: int = 0,
    *,
    is_three_known: bool = False,
) -> list[str]:
    """Cautions for 3, 9 among counts of an allele; :func:`marker_cautions` has -9 and 255.

    `others` are columns that hold 0, 1, 2, 3 and more, as all columns of other counts do;
    `is_three_known` is whether 1, 2 and 3 are the genotypes, and 0 may mark a missing one.
    """
    codes = {float(each) for values, _ in counts.values() for each in values}
    if 3.0 in codes and _are_two_copies(counts):
        return [
            f"{columns_that(list(counts), 'holds')} 0, 1 and 3, and 3 is taken for three copies of "
            "an allele. If it stands for two, as in gt_types of cyvcf2, where 2 is an unknown "
            "genotype, write 2 for two copies."
        ]
    if is_three_known or 0.0 not in codes:
        codes -= {3.0}  # of 1, 2 and 3 it is a genotype
    total = sum(int(rows.sum()) for _, rows in counts.values())
    named = 2 * sum(bool(VARIANT.match(str(name))) for name in counts) > len(counts)
    met = {}
    for code in sorted(codes - {0.0, 1.0, 2.0} - {*MARKING_NUMBERS, *ENDS_OF_BYTES}):
        held = [(name, int(rows[values == code].sum())) for name, (values, rows) in counts.items()]
        most = (_MISSING if named or code != 3.0 else _RARE) * total
        is_code = sum(rows > 0 for _, rows in held) >= others
        if is_code and sum(rows for _, rows in held) <= most:
            met[code] = [(name, rows) for name, rows in held if rows]
    return cautions_of_one_row(met, factors) + [
        f"'{code:g}' is counted as a value like 0, 1 and 2, "
        f"{listed(places, show=lambda place: rows_of_column(*place))}. If it marks a missing "
        f"value, pass missing=['{code:g}']."
        for code, places in met.items()
    ]


def are_in_proportion(counts: Sequence[tuple[FloatArray, IntArray]]) -> bool:
    """Whether as many values are 1 and 2 as of genotypes in Hardy-Weinberg proportions.

    By all columns that expect several 2 of these.  Diagnoses are 0 or 1, of answers from 0 to 2
    fewer are 1.
    """
    mixed = expected = 0.0
    known = 0
    for values, rows in counts:
        none, one, two = (float(rows[values == k].sum()) for k in range(3))
        n = none + one + two
        p = (one + 2.0 * two) / (2.0 * n)
        if n * p**2 >= _FEWEST_TWOS:
            mixed, expected = mixed + one, expected + 2.0 * n * p * (1.0 - p)
            known += 1 if two else -1
    in_proportion = _FEWEST_MIXED * expected <= mixed <= _MOST_MIXED * expected
    return in_proportion and known >= _FEWEST_KNOWN


def _are_two_copies(counts: Mapping[Any, tuple[FloatArray, IntArray]]) -> bool:
    """Whether 3 is as frequent as two copies of an allele are, by the copies that persons have."""
    held = counts.values()
    each = np.array([[rows[values == k].sum() for k in range(4)] for values, rows in held])
    none, one, unknown, two = each.T
    known = none + one + two
    copies = (one + 2 * two) / np.maximum(2 * known, 1)
    expected = float((known * copies**2).sum())
    is_rare = unknown.sum() <= _UNKNOWN * two.sum() and none.any() and one.any()
    return bool(is_rare and expected / 2.0 <= two.sum() <= 2.0 * expected)


def allele_cautions(factors: Mapping[Any, Factor], values: Mapping[Any, Any]) -> list[str]:
    """A caution for two columns of each site, one for each allele of a person."""
    shares: dict[Any, tuple[tuple[Any, ...], float]] = {}
    two: list[Any] = []
    for name, each in values.items():
        if len(each) > 2 + len(_NO_ALLELE):
            continue
        kept = set(each) - _NO_ALLELE
        if len(kept) in (1, 2) and len(two) < _MOST_COLUMNS:
            two.append(name)
        levels = sorted(kept if len(each) == 3 else set(each))
        text = all(isinstance(level, str) for level in levels)
        if len(levels) != 2 or (text and not set(levels) <= _BASES):
            continue
        factor = factors[name]
        seen = [_level(factor.value(k), text) for k in range(len(factor.levels))]
        rows = np.bincount(factor.codes[factor.codes >= 0], minlength=len(seen))
        first, second = (int(rows[[level == one for level in seen]].sum()) for one in levels)
        if first + second >= (1.0 - _MOST_RARE) * len(factor.codes):
            shares[name] = (tuple(levels), second / (first + second))
    stems: dict[str, list[Any]] = {}
    for name in shares:
        part = _ALLELE_OF.fullmatch(str(name))
        stems.setdefault(part[1] if part else str(name), []).append(name)
    for first in (0, 1):
        beside = list(zip(two[first::2], two[first + 1 :: 2], strict=False))
        named = len(beside) >= _SITES and _are_named_in_pairs(beside)
        if named and _are_in_order(factors, beside):
            return [_of_two(beside)]
    of_stems = [name for stem in stems.values() if len(stem) == 2 for name in stem]
    orders = [of_stems, list(shares), list(shares)[1:]]
    for order in orders:
        order = order[: len(order) // 2 * 2]
        if len(order) < 2 * _SITES:
            continue
        pairs = list(zip(order[::2], order[1::2], strict=True))
        persons = len(factors[order[0]].codes)
        unlike = [_unlike(shares[a], shares[b], persons) for a, b in pairs]
        apart = [_unlike(shares[a], shares[b], persons) for (_, a), (b, _) in pairwise(pairs)]
        level = max(float(np.mean(unlike)), 1.0)
        if _correlation(factors, pairs) > _LINKED:
            continue
        if level < _ALIKE and max(unlike) < _MOST_UNLIKE and np.mean(apart) > _UNLIKE * level:
            return [_of_two(pairs)]
    return []


def _of_two(pairs: Sequence[tuple[Any, Any]]) -> str:
    return (
        f"Columns {pairs[0][0]!r} and {pairs[0][1]!r}, and {len(pairs) - 1:,} pairs more, seem to "
        "be the two alleles of a person at one site, each of which is published here. Add the two: "
        "write the count of one allele, 0, 1 or 2."
    )


def _are_named_in_pairs(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Whether names of a pair begin with more equal letters than those of two pairs."""

    def shared(one: Any, other: Any) -> int:
        letters = zip(str(one), str(other), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], letters))

    within = [shared(*pair) for pair in pairs]
    apart = [shared(before[1], after[0]) for before, after in pairwise(pairs)]
    return all(one > other for one, other in zip(within, apart, strict=False))


def _are_in_order(factors: Mapping[Any, Factor], pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Whether the two of each pair differ in one direction alone, as often as two alleles do.

    As PLINK writes heterozygous genotypes; the columns of different sites differ in both.
    """
    counts, before, crossed = [], None, False
    for names in pairs:
        words = [[str(factors[k].value(c)) for c in range(len(factors[k].levels))] for k in names]
        level = max({*words[0], *words[1]} - _NO_WORD, default="")
        holds = [
            np.append(np.array([word == level for word in each]), False)[factors[k].codes]
            for k, each in zip(names, words, strict=True)
        ]
        first, second = holds
        if (first & ~second).any() and (second & ~first).any():
            return False
        crossed |= before is not None and bool((before & ~first).any() and (first & ~before).any())
        counts.append((np.arange(3.0), np.bincount(first.astype(int) + second, minlength=3)))
        before = second
    if not crossed or not are_in_proportion(counts):
        return False
    none, one, two = np.array([rows for _, rows in counts], np.float64).T
    p = (one + 2.0 * two) / (2.0 * (none + one + two))
    expected = 2.0 * (none + one + two) * p * (1.0 - p)
    fitted = np.maximum(expected * (one.sum() / expected.sum()), 1.0)  # in mixed populations fewer
    return float(np.mean((one - fitted) ** 2 / fitted)) < _ALIKE


def cautions_of_named_pairs(factors: Mapping[Any, Factor], names: Sequence[Any]) -> list[str]:
    """A caution for two columns of each site by their names, as DQA.a1 and DQA.a2.

    Both columns hold the same alleles, perhaps the smaller one of a person first.
    """
    stems: dict[str, dict[str, Any]] = {}
    for name in names:
        part = _NAMED_PAIR.fullmatch(str(name))
        if part:
            stems.setdefault(part[1], {})[part[2]] = name
    pairs = [(each["1"], each["2"]) for each in stems.values() if len(each) == 2]
    codes = [_common_codes(factors[first], factors[second]) for first, second in pairs]
    if len(pairs) < _PAIRS or not all(map(_are_two_alleles, codes)):
        return []
    missing: dict[str, list[Any]] = {}
    for pair, each in zip(pairs, codes, strict=True):
        for value in _twice_or_not(each):
            missing.setdefault(value, []).extend(pair)
    others = f"{len(pairs) - 1:,} pair{'s' * (len(pairs) > 2)} more"
    cautions = [
        f"Columns {pairs[0][0]!r} and {pairs[0][1]!r}, and {others}, seem to be the two "
        "alleles of a person at one site. The mean of a column of numbers and the share "
        "of each value of others are taken here, not allele frequencies. Of these write a column "
        "for each allele but one, with the copies of a person, 0, 1 or 2."
    ]
    return cautions + [
        f"{value!r} stands in both columns of such a pair or in none, in column {listed(columns)}, "
        f"as no allele does. If it marks a missing value, pass missing=[{value!r}]."
        for value, columns in missing.items()
    ]


class _Alleles(NamedTuple):
    """The values of two columns, in order, and the place of each person's two among these."""

    values: list[str]
    first: IntArray
    second: IntArray


def _common_codes(first: Factor, second: Factor) -> _Alleles:
    """The values of both columns, and where those of each person are among them."""
    shown = [
        {k: str(each.value(k)) for k in np.flatnonzero(each.rows_of_level).tolist()}
        for each in (first, second)
    ]
    levels = {value for each in shown for value in each.values()}
    values = sorted(levels, key=float if all(map(is_number, levels)) else None)
    place = {value: k for k, value in enumerate(values)}
    known = (first.codes >= 0) & (second.codes >= 0)
    a, b = (
        np.array([place[of[k]] for k in each.codes[known].tolist()], np.int64)
        for of, each in zip(shown, (first, second), strict=True)
    )
    return _Alleles(values, a, b)


def _are_two_alleles(pair: _Alleles) -> bool:
    """Whether the columns hold the same few values, and some persons have one of them twice."""
    values, first, second = pair
    if not first.size or not 2 <= len(values) <= _ALLELES:
        return False
    if any(is_number(value) and float(value) % 1.0 for value in values):
        return False
    a, b = (np.bincount(each, minlength=len(values)) for each in (first, second))
    shared = float(np.minimum(a, b).sum()) / first.size
    return shared >= _SHARED and 0.0 < float((first != second).mean()) < 1.0


def _twice_or_not(pair: _Alleles) -> list[str]:
    """The values that both columns have in the same rows, where others would be expected."""
    values, first, second = pair
    doubled = []
    for k, value in enumerate(values):
        rows = first == k
        share = float(rows.mean())
        expected = 2.0 * share * (1.0 - share) * len(rows)
        if expected >= _EXPECTED and np.array_equal(rows, second == k):
            doubled.append(value)
    return doubled


def _level(value: Any, text: bool) -> Any:
    """A value as one of the levels; an empty field is none of them."""
    return value if text or not isinstance(value, str) else float(value or "nan")


def _correlation(factors: Mapping[Any, Factor], pairs: list[tuple[Any, Any]]) -> float:
    """The mean correlation of some of the pairs: that of alleles is small, of copies large."""
    return float(
        np.mean(
            [
                abs(np.corrcoef(factors[a].codes == 0, factors[b].codes == 0)[0, 1])
                for a, b in pairs[:_SITES]
            ]
        )
    )


def _unlike(a: tuple[Any, float], b: tuple[Any, float], rows: int) -> float:
    """The squared difference of two shares, in variances; infinite for different levels."""
    if a[0] != b[0]:
        return np.inf
    p = min(max((a[1] + b[1]) / 2, 0.5 / rows), 1 - 0.5 / rows)
    return (a[1] - b[1]) ** 2 / (2 * p * (1 - p) / rows)


def are_populations(names: Sequence[Any]) -> bool:
    """Whether columns are called as populations or alleles, as pixels and probabilities are not."""
    return all(_POPULATIONS.fullmatch(str(name).strip()) for name in names)


def are_shares(levels: FloatArray) -> bool:
    """Whether numbers lie between 0 and 1 and do not span it, as scaled ones do."""
    known = levels[np.isfinite(levels)]
    if known.size < 3 or known.min() < 0.0 or known.max() > 1.0:
        return False
    scaled = known.min() == 0.0 and known.max() == 1.0
    return not scaled and bool((known % 1.0 != 0.0).any())


def are_percentages(levels: FloatArray) -> bool:
    """Whether numbers lie between 0 and 100, with fractions, as per cent do."""
    known = levels[np.isfinite(levels)]
    if known.size < 3 or known.min() < 0.0 or not 2.0 < known.max() <= 100.0:
        return False
    return bool((known % 1.0 != 0.0).any())
