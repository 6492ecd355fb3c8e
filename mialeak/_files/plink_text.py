"""Sites of a genome, and PLINK's text files about them: .raw (people), .afreq (frequencies).

A .raw file has a row for each person and counts of one allele of each site, without chromosomes
and positions; an .afreq file has a row for each site, with the frequency of the alternate allele.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._files.opening import TableFile

__all__ = [
    "BESIDE",
    "CHILDREN",
    "FAMILIES",
    "HETEROZYGOUS",
    "SEX_CHROMOSOME",
    "Counts",
    "Frequencies",
    "Site",
    "bare_chromosome",
    "identifier",
    "is_autosomal",
    "raw_sites",
    "relatives",
    "same_alleles",
]

#: Why a site of a chromosome of which a person has one copy or two is omitted.
SEX_CHROMOSOME = "on X, Y or the mitochondrion"
#: Such chromosomes, by name, by PLINK's number or by that of RefSeq or GenBank.
_SEX = re.compile(
    r"(chr)?(X|Y|XY|M|MT|PAR[12]|23|24|25|26|NC_00002[34].*|NC_012920.*|CM00068[56].*|J01415.*)"
    r"(_.*)?",
    re.IGNORECASE,
)
#: How RefSeq names an autosome, before its number and a version.
_REFSEQ = re.compile(r"nc_0+(?=\d+\.)")
#: Why a column of a .raw file is omitted, and how PLINK ends its name.
HETEROZYGOUS, _HET = "heterozygous genotypes", "_HET"
#: Counted beside the sites that are omitted: people with a parent in the file, and of a family.
CHILDREN = "people with a parent among the others"
FAMILIES = "people who share a family or a parent with others"
#: Fewest families (FID) by which people are relatives, and most people of one: others are groups.
_FEWEST_FAMILIES, _LARGEST_FAMILY = 20, 20
#: Names of parents, and of families, that are unknown.
_UNKNOWN = {"0", "", ".", "-9", "NA"}
#: Bytes that the names of a site or a person take in Python, at least.
BESIDE = 500
#: What a .raw file has before its counts.
_ABOUT = ["FID", "IID", "PAT", "MAT", "SEX", "PHENOTYPE"]
#: The name of a column of counts: the site, the counted allele, perhaps the other one.
_COLUMN = re.compile(r"(?P<name>.+)_(?P<counted>[^_()]+)(\(/(?P<other>[^()]+)\))?")
#: What an .afreq file must have.
_NEEDED = ("#CHROM", "ID", "REF", "ALT", "ALT_FREQS", "OBS_CT")
#: Frequencies of other numbers are all those of half alleles with this probability at most, and
#: the error of a product of a frequency and a number.
_CHANCE, _PRODUCT = 1e-6, 1e-6

Counts = npt.NDArray[np.int8]


class Site(NamedTuple):
    """A site with two alleles, of which the copies of one are counted.

    Attributes
    ----------
    name : str
        Its identifier; empty if it has none.
    chromosome, position : str, int
        Empty and 0 where they are unknown.
    counted, other : str
        The alleles; `other` is empty where it is unknown.
    """

    name: str
    chromosome: str
    position: int
    counted: str
    other: str

    @property
    def place(self) -> str:
        """Where the site is, and its alleles; its name if that is unknown."""
        if not self.chromosome:
            return self.name
        return f"{self.chromosome}:{self.position}:{self.other}:{self.counted}"

    @property
    def is_placed(self) -> bool:
        """Whether chromosome and position are known."""
        return bool(self.chromosome) and self.position > 0


def relatives(
    families: Sequence[str], people: Sequence[str], *parents: Sequence[str]
) -> Counter[str]:
    """How many people have a parent in the file, and how many share a family or a parent.

    Parents are named by fathers and mothers, families by FID: those that number one population, or
    a few, are none.
    """
    known = set(people) - _UNKNOWN
    of_parents = [not known.isdisjoint(each) for each in zip(*parents, strict=True)]
    sizes = Counter(family for family in families if family not in _UNKNOWN)
    if len(sizes) < _FEWEST_FAMILIES or max(sizes.values()) > _LARGEST_FAMILY:
        sizes.clear()
    times = [Counter(each) for each in parents]
    of_family = [
        sizes[family] > 1
        or any(
            name not in _UNKNOWN and each[name] > 1 for name, each in zip(names, times, strict=True)
        )
        for family, *names in zip(families, *parents, strict=True)
    ]
    return Counter({CHILDREN: sum(of_parents), FAMILIES: sum(of_family)})


def is_autosomal(chromosome: str) -> bool:
    """Whether a person has two copies of the chromosome, by its name."""
    return _SEX.fullmatch(str(chromosome)) is None


def bare_chromosome(site: Site) -> str:
    """The chromosome, with or without "chr" and by RefSeq's name the same."""
    bare = site.chromosome.lower().removeprefix("chr")
    return _REFSEQ.sub("", bare).partition(".")[0] if _REFSEQ.match(bare) else bare


def identifier(site: Site) -> str:
    """The name of a site; that of a .raw column without its alleles."""
    if site.chromosome or not site.name:
        return site.name
    ending = f"_{site.counted}" + (f"(/{site.other})" if site.other else "")
    return site.name.removesuffix(ending)


def same_alleles(one: Site, other: Site) -> bool | None:
    """Whether two sites count the same allele; None if they have other alleles.

    Small letters mark repeats of the reference, and are the same alleles.
    """
    one, other = (
        each._replace(counted=each.counted.upper(), other=each.other.upper())
        for each in (one, other)
    )
    if one.counted == other.counted:
        return None if one.other and other.other and one.other != other.other else True
    straight = one.counted == other.other or (not other.other and bool(one.other))
    back = one.other == other.counted or (not one.other and straight)
    return False if straight and back else None


# --- .raw -----------------------------------------------------------------------------------------


def raw_sites(
    file: TableFile, omitted: Counter[str]
) -> tuple[list[str], Iterator[tuple[Site, Counts]]]:
    """The people of a .raw file, and each site with its counts, -1 where one is missing.

    Columns of heterozygous genotypes follow from the counts and are omitted.
    """
    file.check_text()
    with file.open() as opened:
        memory, lines = file.memory(), file.lines(opened)
        header = next(lines, b"").decode(errors="replace").split()
        if header[:6] != _ABOUT:
            names = " ".join(_ABOUT)
            file.damaged("PLINK .raw", f"line 1 does not begin with {names}; it has {header[:6]}")
        columns = header[6:]
        paired = {
            k
            for k in range(1, len(columns))
            if columns[k].endswith(_HET) and _is_pair(columns[k - 1], columns[k])
        }
        omitted[HETEROZYGOUS] = len(paired)
        kept = np.array([k for k in range(len(columns)) if k not in paired], np.intp)
        sites = [_raw_site(file, columns[k]) for k in kept]
        families, people, fathers, mothers, rows = [], [], [], [], []
        for line, (family, name, father, mother, genotypes) in enumerate(_raw_rows(file, lines), 2):
            counts = _raw_counts(file, genotypes, columns, line)
            if paired:
                _require_heterozygous(file, counts, sorted(paired), columns, line)
            families.append(family)
            people.append(name)
            fathers.append(father)
            mothers.append(mother)
            rows.append(counts[kept] if paired else counts)
            memory.take(2.0 * rows[-1].nbytes + BESIDE)  # they are put together once more
    if not rows:
        file.damaged("PLINK .raw", "it has no person")
    omitted += relatives(families, people, fathers, mothers)
    if len(set(people)) < len(people):
        people = [f"{family}:{name}" for family, name in zip(families, people, strict=True)]
    return people, zip(sites, np.stack(rows, axis=1), strict=True)


def _is_pair(counted: str, heterozygous: str) -> bool:
    """Whether two columns of a .raw file are of one site."""
    parts = _COLUMN.fullmatch(counted)
    return parts is not None and parts["name"] == heterozygous.removesuffix(_HET)


def _raw_site(file: TableFile, column: str) -> Site:
    parts = _COLUMN.fullmatch(column)
    if parts is None or parts["counted"] == "HET" or "," in (parts["other"] or ""):
        why = f"column {column!r} is not of the form SITE_ALLELE or SITE_ALLELE(/OTHER)"
        file.damaged("PLINK .raw", why)
    return Site(column, "", 0, parts["counted"], parts["other"] or "")


def _raw_rows(
    file: TableFile, lines: Iterator[bytes]
) -> Iterator[tuple[str, str, str, str, bytes]]:
    """Family, name, father, mother and genotypes of each person."""
    for number, line in enumerate(lines, 2):
        parts = line.split(None, 6)
        if not parts:
            continue
        if len(parts) < 7:
            file.damaged("PLINK .raw", f"line {number} has no genotypes")
        family, name, father, mother = (word.decode(errors="replace") for word in parts[:4])
        yield family, name, father, mother, parts[6]


def _raw_counts(file: TableFile, genotypes: bytes, columns: list[str], line: int) -> Counts:
    """The counts of a row: single digits between separators, of which NA is made one."""
    text = np.frombuffer(genotypes.rstrip(b"\r\n").replace(b"NA", b"/"), np.uint8)
    counts = text[::2].astype(np.int8) - np.int8(48)
    separate = np.isin(text[1::2], (9, 32)).all() and text.size == 2 * len(columns) - 1
    if separate and ((counts >= -1) & (counts <= 2)).all():
        return counts
    words = genotypes.split()
    if len(words) != len(columns):
        what = f"line {line} has {len(words):,} genotypes; line 1 names {len(columns):,} columns"
        file.damaged("PLINK .raw", what)
    for column, word in zip(columns, words, strict=True):
        if word not in (b"0", b"1", b"2", b"NA"):
            rule = f"{file} must hold the genotypes 0, 1, 2 and NA; line {line} has "
            remedy = "Dosages are no genotypes: export hard calls (plink2 --hard-call-threshold)"
            raise ValueError(f"{rule}{word.decode(errors='replace')!r} in {column!r}. {remedy}")
    numbers = [-1 if word == b"NA" else int(word) for word in words]
    return np.array(numbers, np.int8)


def _require_heterozygous(
    file: TableFile, counts: Counts, paired: list[int], columns: list[str], line: int
) -> None:
    """Refuse a column of heterozygous genotypes that does not follow from the counts."""
    places = np.array(paired)
    beside = counts[places - 1]
    expected = np.where(beside < 0, -1, beside == 1)
    wrong = np.flatnonzero(counts[places] != expected)
    if wrong.size:
        name = columns[places[wrong[0]]]
        file.damaged("PLINK .raw", f"line {line} has a {name!r} that is not its count's")


# --- .afreq ---------------------------------------------------------------------------------------


class Frequencies:
    """The sites of an .afreq file of PLINK 2.

    Parameters
    ----------
    file : TableFile

    Attributes
    ----------
    sites : list of Site
        Biallelic sites of autosomes; counted is the alternate allele.
    frequency : (sites,) ndarray
        Of the counted allele.
    haplotypes : (sites,) ndarray
        From which each frequency is known.
    rounding : (sites,) ndarray
        The most by which each frequency differs from the one that was rounded to the digits of the
        file: it has as many decimals, or as many significant digits, as its longest frequency.
    omitted : Counter
        Numbers of other sites, by their kind.

    Raises
    ------
    ValueError
        If the file is damaged or holds a site twice, no site is usable, or OBS_CT counts people.
    """

    def __init__(self, file: TableFile) -> None:
        file.check_text()
        self.sites: list[Site] = []
        self.omitted: Counter[str] = Counter()
        numbers: list[tuple[float, float, Decimal]] = []
        memory = file.memory()
        with file.open() as opened:
            lines = (line.decode(errors="replace").split() for line in file.lines(opened))
            header = next((line for line in lines if not line or line[0][:2] != "##"), [])
            absent = [name for name in _NEEDED if name not in header]
            if absent:
                file.damaged("PLINK .afreq", f"its header lacks {', '.join(absent)}")
            at = {name: header.index(name) for name in (*_NEEDED, *{"POS"} & set(header))}
            for number, words in enumerate(lines, 2):
                if not words:
                    continue
                if len(words) != len(header):
                    what = f"line {number} has {len(words)} fields; the header has {len(header)}"
                    file.damaged("PLINK .afreq", what)
                memory.take(BESIDE)
                self._add({name: words[k] for name, k in at.items()}, file, number, numbers)
        if not self.sites:
            why = "; ".join(f"{n:,} {kind}" for kind, n in self.omitted.items()) or "it has none"
            raise ValueError(f"{file} must hold biallelic sites of autosomes ({why})")
        twice = [site for site, times in Counter(self.sites).items() if times > 1]
        if twice:
            raise ValueError(f"{file} must hold each site once; it holds {twice[0].name!r} twice")
        self.frequency: FloatArray = np.array([p for p, _, _ in numbers])
        self.haplotypes: FloatArray = np.array([count for _, count, _ in numbers])
        self.rounding = _rounding([digits for _, _, digits in numbers])
        self._refuse_people(file)

    def _refuse_people(self, file: TableFile) -> None:
        """Refuse numbers of people, of which the frequencies are multiples of half an allele."""
        wide = self.rounding * self.haplotypes + _PRODUCT
        copies = self.frequency * self.haplotypes
        seen = np.flatnonzero(4.0 * wide < 1.0)  # the share of numbers so near to such a multiple
        away = np.abs(copies[seen] - 0.5 * np.rint(2.0 * copies[seen]))
        if (away > wide[seen]).any() or np.log(4.0 * wide[seen]).sum() > np.log(_CHANCE):
            return
        halves = seen[np.rint(2.0 * copies[seen]) % 2.0 == 1.0]
        if halves.size:
            site = self.sites[halves[0]]
            raise ValueError(
                f"{file} must have the number of alleles in OBS_CT, two of each person; "
                f"{halves.size:,} of its {len(self.sites):,} sites have half an allele too many, "
                f"the first {site.name or site.position!r} ({self.frequency[halves[0]]:g} of "
                f"{self.haplotypes[halves[0]]:g}). If OBS_CT is the number of "
                "people, double it"
            )

    def _add(
        self,
        of: dict[str, str],
        file: TableFile,
        line: int,
        numbers: list[tuple[float, float, Decimal]],
    ) -> None:
        """Add the site of a line, or count it as omitted."""
        if not is_autosomal(of["#CHROM"]):
            self.omitted[SEX_CHROMOSOME] += 1
            return
        if "," in of["ALT"] or of["ALT"] == ".":
            self.omitted["multi-allelic or without an alternate allele"] += 1
            return
        try:
            count = int(of["OBS_CT"])
            p = float(of["ALT_FREQS"]) if count else 0.0
            position = int(of.get("POS", "0"))
        except ValueError as error:
            file.damaged("PLINK .afreq", f"line {line}: {error}")
        if count == 0:
            self.omitted["without an observed genotype"] += 1
            return
        if not 0.0 <= p <= 1.0 or count < 0:
            what = f"line {line} has the frequency {of['ALT_FREQS']} of {count} alleles"
            file.damaged("PLINK .afreq", what)
        name = "" if of["ID"] == "." else of["ID"]
        self.sites.append(Site(name, of["#CHROM"], position, of["ALT"], of["REF"]))
        numbers.append((p, float(count), Decimal(of["ALT_FREQS"])))


def _rounding(numbers: list[Decimal]) -> FloatArray:
    """Half a unit of the last decimal, or of the last significant digit if that is larger."""
    parts = [number.as_tuple() for number in numbers]
    last = min(min(int(part.exponent), 0) for part in parts)
    digits = max(len(part.digits) for part in parts)
    units = [max(last, x.adjusted() - digits + 1) if x else last for x in numbers]
    return np.asarray(0.5 * 10.0 ** np.array(units, np.float64))
