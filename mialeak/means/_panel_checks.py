"""Whether frequencies are of whole alleles and those of targets, and whether a panel fits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, Numbers, invalid, listed
from mialeak._checks.means.frequencies import surplus_of_rarer_alleles, swapped_alleles
from mialeak._checks.means.matrices import are_genotypes
from mialeak._checks.means.relatives import are_too_near, excess_correlation
from mialeak.means._release import Release

if TYPE_CHECKING:
    from mialeak.means._release import Release

__all__ = [
    "BASES",
    "CORRELATED",
    "INFLATED",
    "close_sites",
    "other_population_cautions",
    "other_spread_cautions",
    "other_targets_cautions",
    "possible_copies",
    "rarer_allele_cautions",
    "repeated_sites_cautions",
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
    surplus = surplus_of_rarer_alleles(release.numbers, frequency)
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


#: Mean squared distance of targets from the frequencies of a release, in the variance, from which
#: on these are not theirs (of chi-square over 20, 1e-6 is 3.3); sites for that, and the variance of
#: the copies of all targets at each: that of rarer alleles has a long tail.
_OTHERS, _SITES, _COPIES = 3.5, 20, 5.0
#: The average likelihood ratio of people who are not in the release is 1 for independent sites, and
#: e^(v i / 2) for sites whose sums vary more by the share i, v the variance of its logarithm.  From
#: this one on no false-positive rate is stated, if the correlations are beyond so many deviations.
INFLATED, CORRELATED = 2.0, 6.0


def repeated_sites_cautions(genotypes: Numbers) -> list[str]:
    """A caution where sites state the same, and the leakage is a sum over all."""
    inflation, deviations = excess_correlation(genotypes)
    if deviations < CORRELATED or inflation < INFLATED:
        return []
    return [
        f"The sites are not independent: the genotypes of {len(genotypes):,} people are "
        "correlated between sites, by linkage or since they are of several populations. The "
        "leakage takes sites as independent and is too high. Take sites that are not linked, "
        "or the people of the cohort as the table."
    ]


def other_targets_cautions(
    frequency: FloatArray, variance: FloatArray, error: FloatArray, targets: Release
) -> list[str]:
    """A caution where mean counts of targets are further from a release than chance gives.

    `variance` is that of a genotype, and `error` that of the mean counts of the release.
    """
    common = targets.rows * variance >= _COPIES
    if np.count_nonzero(common) < _SITES:
        return []
    squares = (2.0 * frequency - targets.means)[common] ** 2
    ratio = float(np.mean(squares / (error + variance / targets.rows)[common]))
    if ratio < _OTHERS:
        return []
    return [
        "The targets seem to be of another population than the release, or the frequencies to be "
        f"those of other sites: squared distances of the targets' mean counts from them are "
        f"{ratio:.3g} times what chance gives. The leakage takes the targets for people of the "
        "population that the frequencies describe. Take such targets, or pass a panel of their "
        "population."
    ]


#: Standard deviations, and median distances from the median, whose ratio is beyond this factor, are
#: those of two units or populations if chance leaves such distances so rarely.
_FACTOR, _CHANCE = 3.0, 1e-7
#: Columns that are compared, those whose standard deviations differ most.
_COMPARED = 256
#: Fewest values of either that differ from the median.
_VALUES = 20


def other_spread_cautions(table: Release, panel: Release | None) -> list[str]:
    """A caution where a column of numbers has another spread in the panel, beyond chance.

    A test of ranks decides, since standard deviations of columns of heavy tails differ by chance.
    """
    if panel is None or min(table.rows, panel.rows) < 2 or are_genotypes(table.numbers):
        return []
    first, second = (each.numbers.std(axis=0, dtype=np.float64) for each in (table, panel))
    varied = (first > 0.0) & (second > 0.0)
    apart = np.zeros(first.size)
    apart[varied] = np.abs(np.log(second[varied] / first[varied]))
    order = np.argsort(-apart, kind="stable")[:_COMPARED]
    chosen = [
        k
        for k in order[apart[order] > np.log(_FACTOR)].tolist()
        if _differ(table.numbers[:, k], panel.numbers[:, k])
    ]
    if not chosen:
        return []
    k, other = chosen[0], len(chosen) - 1
    name = next(column.name for column in table.columns if column.place == k)
    beside = f", and those of {other:,} other columns differ as well" if other else ""
    return [
        f"Column {name!r} has the standard deviation {first[k]:.4g} in the table and "
        f"{second[k]:.4g} in the panel, which is beyond chance{beside}: the panel seems to "
        "be in another unit, or of another population. Pass both in one unit: the leakage goes by "
        "the variances of the panel."
    ]


def _differ(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> bool:
    """Whether one of two columns is further from its median than the other, beyond chance.

    By values and by distances from the median of both columns; of a column that is mostly one
    value, the others are compared.
    """
    spreads = [np.median(_distances(each, np.median(each))) for each in (first, second)]
    if not max(spreads) > _FACTOR * min(spreads):
        return False
    centre = np.median(np.concatenate([first, second]))
    distances = [_distances(each, centre) for each in (first, second)]
    if min(each.size for each in distances) < _VALUES:
        return False
    return 2.0 * min(_chance(first, second), _chance(*distances)) < _CHANCE


def _chance(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """With which probability two samples of any one law are so different, by Smirnov's test."""
    values = np.concatenate([first, second])
    shares = [
        np.searchsorted(np.sort(each), values, side="right") / each.size for each in (first, second)
    ]
    gap = float(np.abs(shares[0] - shares[1]).max())
    return float(2.0 * np.exp(-2.0 * gap**2 * first.size * second.size / values.size))


def _distances(column: npt.NDArray[Any], centre: Any) -> FloatArray:
    """How far the values of a column that varies are from `centre`, where they are."""
    distances = np.abs(column - centre)
    return np.asarray(distances[distances > 0.0], np.float64)
