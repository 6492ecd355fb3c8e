"""Whether published frequencies are of whole alleles, those of targets, and of other people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mialeak._arrays import FloatArray, invalid, listed
from mialeak._counts import surplus_of_rarer_alleles, swapped_alleles
from mialeak.means._genotype_cautions import are_too_near
from mialeak.means._matrix_cautions import are_genotypes
from mialeak.means._release import Release

__all__ = [
    "BASES",
    "are_percentages",
    "are_populations",
    "are_shares",
    "close_sites",
    "other_population_cautions",
    "possible_copies",
    "rarer_allele_cautions",
    "require_same_alleles",
    "require_whole_alleles",
    "shared_people_cautions",
]

#: What products of a frequency and a number of alleles are rounded by, at most.
_PRODUCT = 1e-6
#: Sites so many bases apart at most are close.
BASES = 5_000
#: Share of the sites that count as independent where too few genotypes show their correlations.
_UNLINKED_SHARE = 0.1
#: Names of columns of frequencies in tables that hold nothing else: of populations and alleles.
_POPULATIONS = re.compile(
    r"p|q|a[12]|ref|alt|allele[_. ]?\d*|afr|amr|eas|eur|sas|nfe|fin|asj|mid|oth|all|global|"
    r"ceu|tsi|gbr|ibs|chb|chs|cdx|jpt|khv|yri|lwk|gwd|msl|esn|asw|acb|mxl|pur|clm|pel|gih|pjl|"
    r"beb|stu|itu|pop(ulation)?[_. ]?\w{0,3}|cases?|controls?|cohort",
    re.IGNORECASE,
)


def close_sites(release: Release, table: Any) -> float:
    """Share of the sites that are within so many bases of the one before."""
    places: dict[str, list[int]] = {}
    for column in release.columns:
        site = table.sites[column.name]
        if site.is_placed:
            places.setdefault(site.chromosome, []).append(site.position)
    close = sum(int(np.count_nonzero(np.diff(np.sort(each)) <= BASES)) for each in places.values())
    return close / max(len(release.columns), 1)


def possible_copies(
    frequency: FloatArray, alleles: FloatArray, digits: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The least and the largest number of copies of which these are the rounded frequencies."""
    low = np.ceil((frequency - digits) * alleles - _PRODUCT)
    high = np.floor((frequency + digits) * alleles + _PRODUCT)
    return np.maximum(low, 0.0), np.minimum(high, alleles)


def require_whole_alleles(
    frequency: FloatArray,
    haplotypes: FloatArray,
    digits: FloatArray,
    release: Release,
    argument: str,
) -> None:
    """Refuse frequencies that are no shares of whole alleles, two of each person."""
    low, high = possible_copies(frequency, haplotypes, digits)
    odd, wrong = haplotypes % 2.0 != 0.0, low > high
    for bad, rule in (
        (odd, "be over two alleles of each person (OBS_CT even)"),
        (wrong, "be shares of whole alleles of OBS_CT; those of dosages are not"),
    ):
        if bad.any():
            k = int(np.argmax(bad))
            rule += f"; site {release.columns[k].name!r} has {frequency[k]:g} of"
            remedy = "Compute them of hard-called genotypes (plink2 --freq)"
            invalid(argument, f"{rule} {haplotypes[k]:g}", remedy=remedy)


def require_same_alleles(frequency: FloatArray, release: Release) -> None:
    """Refuse frequencies of the alleles that targets do not count, by the likelihood of these.

    They are those of the reference allele, or at each site those of the rarer one.
    """
    gain, swapped = swapped_alleles(release.numbers, frequency)
    alt = "ALT_FREQS are those of ALT"
    if gain:
        rule = "be frequencies of the allele that targets count; 1 - frequency is more likely by "
        remedy = f"{alt}: pass 1 less these, if they are of REF"
        invalid("published", f"{rule}e^{gain:.0f}", remedy=remedy)
    if swapped.size:
        names = listed([release.columns[k].name for k in swapped.tolist()])
        rule = (
            f"be frequencies of the allele that targets count at each site; {swapped.size:,} seem "
        )
        remedy = f"{alt}, not of the rarer allele (MAF)"
        invalid("published", f"{rule}to be of the other, site {names}", remedy=remedy)


def rarer_allele_cautions(frequency: FloatArray, release: Release) -> list[str]:
    """A caution where no frequency is above 1/2, and targets have more copies than these give.

    One target shows for no site which allele is meant, but for all of them together.
    """
    surplus = surplus_of_rarer_alleles(np.asarray(release.numbers, np.float64), frequency)
    if surplus is None:
        return []
    copies, expected = surplus
    return [
        f"No frequency of these {frequency.size:,} sites exceeds 1/2, and the targets have "
        f"{copies:,.0f} copies of the counted alleles where {expected:,.0f} are expected: the "
        "frequencies seem to be those of the rarer allele (MAF), and the leakage is then too high. "
        "Pass frequencies of the allele that targets count (ALT)."
    ]


def shared_people_cautions(
    distances: FloatArray, share: FloatArray, genotypes: Any, unlinked: bool
) -> list[str]:
    """A caution where the frequencies of release and panel are nearer than those of others.

    `distances` are squared, in their variance for different people; `share` are the frequencies of
    the panel, `genotypes` those of the most people at hand.  `unlinked` is whether sites are far
    from each other, of which a tenth then count as independent where genotypes are of too few.
    """
    free = _UNLINKED_SHARE * share.size if unlinked else 0.0
    if not are_too_near(distances, share, genotypes, free=free):
        return []
    return [
        "The panel seems to include people of the release: at common sites their frequencies are "
        "nearer to each other than chance gives between different people. Likelihood ratios then "
        "point away from them. Take a panel of other people, or subtract the copies of the release."
    ]


def other_population_cautions(
    distances: FloatArray, table: Release, mean: FloatArray, far: float
) -> list[str]:
    """A caution where the means of a table are further from a panel's than chance gives.

    `distances` are squared, in their variance for people of one population, and `mean` is that of
    the panel; `far` is the mean distance from which on there is a caution.
    """
    ratio = float(np.mean(distances))
    if ratio < far:
        return []
    unit, most = "", ""
    if not are_genotypes(table.numbers):
        k = int(np.argmax(distances))
        name = next(column.name for column in table.columns if column.place == k)
        unit = ", or a column in another unit"
        most = f", most in column {name!r} (mean {table.means[k]:.4g}; {mean[k]:.4g} in the panel)"
    return [
        f"The panel seems to be of another population than the table{unit}: squared distances of "
        f"their means are {ratio:.3g} times what chance gives{most}, so that people like those of "
        "the table seem to be in the release, in or not. Take a panel of the same population."
    ]


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
