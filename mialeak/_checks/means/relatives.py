"""Persons who are not drawn one by one: relatives, persons twice, families and matched sets.

The kinship of two people is estimated from their genotypes by the ratio of Manichaikul et al.
(2010), https://doi.org/10.1093/bioinformatics/btq559, which takes no allele frequencies::

    (sites at which both are heterozygous - 2 sites at which they are opposite homozygotes)
    / (heterozygous sites of the one + heterozygous sites of the other)

It is 1/2 of a person with itself, about 1/4 of parents, children and siblings, about 0 of
unrelated people of one population, and below 0 of people of different populations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from mialeak._arrays import FloatArray, Numbers
from mialeak._checks.names import is_household_name, is_name_of_relatives
from mialeak._columns import Factor

__all__ = [
    "Kin",
    "are_too_near",
    "excess_correlation",
    "kin_of",
    "lone_alleles",
    "relatives",
    "relatives_cautions",
    "same_persons",
    "same_rows",
]

#: Least frequency of the rarer allele of a common site, and so many of these at least and at most.
_COMMON, _FEWEST, _COLUMNS = 0.05, 50, 1024
#: People whose genotypes show how many sites are independent, at least.
_PEOPLE = 20
#: Two rows are of one person if they agree in this share of the sites, and of the pairs met half as
#: many at most in a share between the other two: of different people, far more do.
_AGREE, _BETWEEN = 0.96, (0.85, 0.94)
#: Of fewer independent sites, such as those of one gene, different people have the same genotypes.
_UNLINKED = 30.0
#: Pairs are met that agree in one of so many draws of so many sites: those of one person nearly
#: always, those between in one of four.  So many pairs are compared at once.
_DRAWS, _DRAWN, _BLOCK = 8, 32, 1024
#: Rows of which the kinship is computed.
_ROWS = 512
#: Kinships between which two rows are of parents, children and siblings: the geometric means of
#: 1/8, 1/4 and 1/2, the kinships of the next degree, of these, and of one person.
_NEAR, _SAME = 2.0**-2.5, 2.0**-1.5
#: Such a kinship is so many deviations above that of most pairs, of which the deviation is that of
#: a normal law from its median to 95 %.
_DEVIATIONS, _UPPER = 6.0, 1.6448536269514722
#: Probability that different people have means so near to each other.
_CHANCE = 1e-9
#: Pairs at least, and their share of the rows.
_PAIRS, _SHARE = 3, 0.01
#: Copies of the rarer allele without which correlations are not looked at, and the correlation of
#: relatives over all sites.
_COPIES, _RELATED = 5, 0.2
#: Least number of columns that are sites together.
_SITES = 10


class Kin(NamedTuple):
    """Pairs of rows whose genotypes are alike.

    Attributes
    ----------
    same : int
        Rows of a person of another row; 0 if they are fewer than 3 or than 1 % of the rows.
    near : int
        Pairs of parents and children or siblings among the first rows, with the same limit.
    rows, sites : int
        How many were looked at for `near`: rows from the first on, sites with two common alleles.
    is_linked : bool
        Whether there are 50 sites, so closely linked that different people have the same genotypes.
    """

    same: int
    near: int
    rows: int
    sites: int
    is_linked: bool


def kin_of(matrix: Numbers) -> Kin:
    """The rows of genotypes that are alike."""
    sites = _common_sites(matrix)
    rows = min(len(matrix), _ROWS)
    if sites.size < _FEWEST or rows < 2 * _PAIRS:
        return Kin(0, 0, rows, sites.size, is_linked=False)
    zero, one, two = ((matrix[:rows, sites] == k).astype(np.float32) for k in range(3))
    alike = one @ one.T - 2.0 * (zero @ two.T + two @ zero.T)
    heterozygous = one.sum(axis=1)
    either = heterozygous[:, np.newaxis] + heterozygous
    kinship = np.divide(alike, either, out=np.zeros_like(alike), where=either > 0.0)
    pairs = kinship[np.triu_indices(rows, 1)]
    middle, high = np.quantile(pairs, (0.5, 0.95))
    least = max(_NEAR, middle + _DEVIATIONS * (high - middle) / _UPPER)
    near = int(np.count_nonzero((pairs > least) & (pairs < _SAME)))
    near *= near >= max(_PAIRS, _SHARE * rows)
    is_linked = _independent(matrix, sites) < _UNLINKED
    same = 0 if is_linked else _same_rows(matrix, matrix, sites)
    return Kin(same, near, rows, sites.size, is_linked)


def same_rows(matrix: Numbers, other: Numbers) -> int:
    """How many rows of genotypes are of a person of another matrix."""
    sites = _common_sites(matrix)
    if sites.size < _FEWEST or _independent(matrix, sites) < _UNLINKED:
        return 0
    return _same_rows(matrix, other, sites)


def _common_sites(matrix: Numbers) -> npt.NDArray[np.intp]:
    share = matrix.mean(axis=0) / 2.0
    common = np.flatnonzero(np.minimum(share, 1.0 - share) > _COMMON)
    return common[:: max(1, -(-common.size // _COLUMNS))]


def _same_rows(matrix: Numbers, other: Numbers, sites: npt.NDArray[np.intp]) -> int:
    rng = np.random.default_rng(0)
    rows, within = len(matrix), other is matrix
    met = np.empty(0, np.int64)
    for _ in range(_DRAWS):
        drawn = rng.permutation(sites)[:_DRAWN]
        weights = 3.0 ** np.arange(drawn.size)  # sums of 32 digits are exact
        both = [matrix] if within else [matrix, other]
        keys = np.concatenate([each[:, drawn] @ weights for each in both])
        order = np.argsort(keys, kind="stable")
        equal = np.flatnonzero(np.diff(keys[order]) == 0.0)
        first, second = order[equal], order[equal + 1]
        chosen = slice(None) if within else (first < rows) & (second >= rows)
        met = np.union1d(met, first[chosen] * len(keys) + second[chosen])
    same: set[int] = set()
    between = 0
    for start in range(0, len(met), _BLOCK):
        first, second = np.divmod(met[start : start + _BLOCK], len(keys))
        second = second if within else second - rows
        agree = np.mean(matrix[np.ix_(first, sites)] == other[np.ix_(second, sites)], axis=1)
        same.update((second if within else first)[agree >= _AGREE].tolist())
        between += int(np.count_nonzero((agree >= _BETWEEN[0]) & (agree < _BETWEEN[1])))
    enough = max(_PAIRS, _SHARE * rows) <= len(same) >= 2 * between
    return len(same) if enough else 0


def are_too_near(
    distances: FloatArray, share: FloatArray, genotypes: Numbers, *, free: float = 0.0
) -> bool:
    """Whether means of two samples are nearer to each other than those of different people.

    Parameters
    ----------
    distances : (columns,) ndarray
        Squared distances of the means, in their variance: 1 on average for different people.
    share : (columns,) ndarray
        Frequencies of the alleles in one sample.
    genotypes : (rows, columns) ndarray
        Of the other, for the correlations of the columns.
    free : float
        Independent columns, where genotypes of too few rows show no correlations.
    """
    common = np.flatnonzero(np.minimum(share, 1.0 - share) > _COMMON)
    free = _independent(genotypes, common[:_COLUMNS]) or min(free, float(common.size))
    if not free:
        return False
    return bool(special.chdtr(free, free * distances[common].mean()) < _CHANCE)


def _independent(genotypes: Numbers, sites: npt.NDArray[np.intp]) -> float:
    """How many independent sites have the same sum of squared correlations, for their number."""
    part = genotypes[:_ROWS, sites]
    std = part.std(axis=0)
    part, std = part[:, std > 0.0], std[std > 0.0]
    rows, columns = part.shape
    if rows < _PEOPLE or columns < _FEWEST:
        return 0.0
    standard = ((part - part.mean(axis=0)) / std).astype(np.float32)
    squares = float(np.square(standard @ standard.T, dtype=np.float64).sum()) / rows**2
    by_chance = columns * (columns - 1.0) / (rows - 1.0)
    return float(columns**2 / max(squares - by_chance, columns))


def excess_correlation(genotypes: Numbers) -> tuple[float, float]:
    """How correlated sites are: by linkage, or since rows are of several populations.

    Returns
    -------
    inflation : float
        The sum of the squared correlations of a site with the others, on average, less that which
        chance gives: by so much the variance of a sum over sites exceeds that of independent ones.
    deviations : float
        The same in standard deviations of what chance gives.
    """
    part = genotypes[:_ROWS]
    rows = len(part)
    means = part.mean(axis=0)
    kept = np.flatnonzero(np.minimum(means, 2.0 - means) * rows >= _COPIES)
    if rows < 3 or kept.size < _SITES:
        return 0.0, 0.0
    alike = np.zeros((rows, rows))
    for start in range(0, kept.size, _COLUMNS):
        block = part[:, kept[start : start + _COLUMNS]].astype(np.float64)
        block -= block.mean(axis=0)
        std = block.std(axis=0)
        block /= np.where(std > 0.0, std, 1.0)
        alike += block @ block.T
    pairs = alike[np.triu_indices(rows, 1)]
    related = pairs > _RELATED * kept.size
    if related.mean() <= _SHARE:  # those of families are no sign of linkage
        pairs = pairs[~related]
    squares = float(np.square(alike.diagonal()).sum()) + rows * (rows - 1.0) * float(
        np.mean(pairs**2)
    )
    excess = squares / rows**2 - kept.size - kept.size * (kept.size - 1.0) / (rows - 1.0)
    return max(excess / kept.size, 0.0), excess * (rows - 1.0) / (2.0 * kept.size)


def lone_alleles(numbers: Numbers, scores: FloatArray) -> list[str]:
    """A sentence where rows of genotypes leak 1 since no other row has their allele."""
    rows, is_alone = len(numbers), np.zeros(len(numbers), np.bool_)
    if not np.isinf(scores).any() or numbers.shape[1] < _SITES:
        return []
    sites = 0
    for start in range(0, numbers.shape[1], _COLUMNS):
        part = numbers[:, start : start + _COLUMNS]
        times = np.array([np.count_nonzero(part == k, axis=0) for k in range(3)])
        lone = np.flatnonzero(times.max(axis=0) == rows - 1)
        sites += lone.size
        is_alone |= (part[:, lone] != times.argmax(axis=0)[lone]).any(axis=1)
    alone = int(np.count_nonzero(is_alone & np.isinf(scores)))
    if not alone:  # of what is published beside the genotypes
        return []
    return [
        f"Rows with an allele that no other of {rows:,} rows has: {alone:,}, at {sites:,} of the "
        "sites. Without other rows that have the allele its frequency in the population is taken "
        "to be 0, so that these rows leak 1. By its true frequency they leak less: pass a panel of "
        "other people (of one group at a time, without by), or exclude such sites."
    ]


def same_persons(kin: Kin | None) -> list[str]:
    """A caution where persons seem to have several rows that differ a little."""
    if kin is None or not kin.same:
        return []
    return [
        f"{kin.same:,} rows agree with another row in nearly all sites, as those of one person do, "
        "or of twins. Take each person once: more rows seem to leak less."
    ]


def relatives(kin: Kin | None) -> list[str]:
    """A sentence where rows seem to be of families."""
    if kin is None or not kin.near:
        return []
    return [
        f"Of the first {kin.rows:,} rows {kin.near:,} pairs seem to be parents and children, or "
        f"siblings, by {kin.sites:,} sites. Each row is judged as if the others were unrelated: an "
        "attacker who takes them for that sees a relative of a row in the release as well."
    ]


#: Fewest groups, persons of each on average, and persons of the largest.
_FEWEST_GROUPS, _LEAST, _MOST, _LARGEST = 20, 1.2, 10.0, 30
#: Share of the groups that are of one size where the name alone shows too little.
_OF_ONE_SIZE = 0.9


def relatives_cautions(
    factors: Mapping[Any, Factor],
    texts: Mapping[Any, Sequence[str]],
    held: Mapping[Any, tuple[FloatArray, npt.NDArray[np.int64]]],
) -> tuple[list[str], list[Any]]:
    """Cautions for columns that name groups of persons and are averaged, and these columns.

    With a correlation r of the members of a group the difference of the two worlds is, for one of
    k, ``(1 + (k - 1) r) / sqrt(1 + (s - 1) r)`` times as large as that of persons who are drawn
    alone, s the mean size of the group of a row; it is largest for r = 1.
    """
    cautions, names = [], []
    for name in (*texts, *held):
        if not is_name_of_relatives(name):
            continue
        if name in held and (not np.isfinite(held[name][0]).all() or (held[name][0] % 1.0).any()):
            continue
        sizes = factors[name].rows_of_level[factors[name].rows_of_level > 0]
        groups, rows = sizes.size, int(sizes.sum())
        if groups < _FEWEST_GROUPS or sizes.max() > _LARGEST:
            continue
        if not _LEAST * groups <= rows <= _MOST * groups:
            continue
        usual = np.bincount(sizes).max()
        if not is_household_name(name) and usual < _OF_ONE_SIZE * groups:
            continue
        names.append(name)
        most = int(sizes.max())
        times = most / math.sqrt(float(sizes @ sizes) / rows)
        averaged = "It is averaged here as a measurement"
        use = "The share of each is published here" if name in texts else averaged
        cautions.append(
            f"Column {name!r} seems to name the household, family, pair or matched set of a row: "
            f"{rows:,} rows have {groups:,} of its values. {use}: "
            f"pass exclude=[{name!r}]. Persons who are drawn together and are alike leak more than "
            f"persons drawn alone, small leakages up to {times:.2g} times as much where "
            f"{most} are. If rows of one value are of one person, take one row for each first."
        )
    return cautions, names
