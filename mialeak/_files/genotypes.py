"""Genotypes as geneticists store them: VCF by cyvcf2, PLINK .bed by bed-reader, PLINK .raw.

A table has a row for each person, the column "sample" of their identifiers, and a column for each
biallelic site of an autosome: the copies of the alternate allele (VCF), of A1 (.bed) or of the
allele that the column names (.raw), 0, 1 or 2, NaN where a genotype is missing.  Sites of another
kind are omitted, and counted in words.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mialeak._arrays import listed
from mialeak._columns import choose_columns
from mialeak._files.opening import VCF_HEAD, TableFile
from mialeak._files.plink_text import (
    BESIDE,
    CHILDREN,
    FAMILIES,
    HETEROZYGOUS,
    SEX_CHROMOSOME,
    Counts,
    Site,
    is_autosomal,
    raw_sites,
    relatives,
)

__all__ = ["GenotypeTable", "read_genetics"]

#: How a PLINK file (site by site) begins, the mark of a BGZF block, and how BGZF ends.
_BED = b"\x6c\x1b\x01"
_BGZF, _BGZF_END = b"BC\x02\x00", b"\x1b\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"
#: Levels of htslib: errors alone, and warnings, its default.
_ERRORS, _WARNINGS = 1, 3
#: Codes of a missing allele of cyvcf2 and of a missing genotype of bed-reader, and sites of .bed
#: read at once.
_NO_ALLELE, _NO_GENOTYPE, _SITES = -1, -127, 4096
#: Alternate alleles of a site that stand for none: those of gVCF, for alleles not seen, and of a
#: deletion of another site.
_UNSEEN, _DELETED = {"<NON_REF>", "<*>"}, "*"
#: Counted beside the sites that are omitted: those of which a file has dosages too, and those that
#: did not pass its filters.
_DOSAGES, _FILTERED = "dosages", "filtered"
#: Kinds of omitted sites that show nothing of a person: they have one allele in the file.
_UNALTERED, _OF_DELETION = "without an alternate allele", "of a deletion (*) alone"
#: How sites of the other kinds can be used, or that they are not to be published.
_REMEDIES = {
    "multi-allelic": "bcftools norm -m -any writes a multi-allelic site as one for each allele",
    "without genotypes (GT)": "of dosages, write the most probable genotypes as GT",
}
#: Share of the sites from which on those omitted or filtered are a caution; sites named in a note.
_LARGE, _NAMED = 0.1, 3

#: What a report states of a file without chromosomes.
_UNPLACED = (
    "A .raw file states no chromosomes: sites of X, Y and the mitochondrion, if it has some, are "
    "counted as if people had two copies. Export without them (--autosome)."
)


class GenotypeTable(dict[str, Any]):
    """Columns of a table, with what was omitted of the file.

    Attributes
    ----------
    notes : tuple of str
        Sentences for a report.
    cautions : tuple of str
        Those that come before its answer: a large share of the sites is omitted or filtered.
    sites : mapping of str to Site
        Of each column of genotypes.
    people : sequence of str
        Identifiers of the rows.
    """

    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    sites: Mapping[str, Site] = MappingProxyType({})
    people: Sequence[str] = ()


def read_genetics(file: TableFile, columns: Any) -> GenotypeTable:
    """The genotypes of a file, with the chosen columns.

    Raises
    ------
    ImportError
        If the extra ``mialeak[genetics]`` is not installed.
    OSError
        If the file, or a PLINK .bim or .fam beside it, cannot be opened.
    ValueError
        If the file is damaged, persons occur twice, or no site is usable.
    """
    if file.format == "vcf" and file.path is None:  # cyvcf2 takes a path
        with tempfile.TemporaryDirectory(prefix="mialeak-") as folder:
            return _read(file.written_to(Path(folder) / f"input.vcf{file.packed}"), columns)
    return _read(file, columns)


def _read(file: TableFile, columns: Any) -> GenotypeTable:
    omitted: Counter[str] = Counter()
    read = {"vcf": _vcf_sites, "bed": _bed_sites, "raw": raw_sites}[file.format]
    people, records = read(file, omitted)
    _require_once(file, people)
    table = GenotypeTable(sample=np.array(people, dtype=object))
    missing: dict[str, int] = {}
    memory = file.memory()
    constant = 0
    places: set[str] = set()
    sites: dict[str, Site] = {}
    for site, counts in records:
        place = site.place
        key = site.name if site.name and site.name not in table else place
        if key in table or place in places:
            raise ValueError(
                f"{file} must hold each site once; it holds {place!r} twice. Remove repeated "
                "sites first (bcftools norm --rm-dup exact, plink2 --rm-dup)"
            )
        if site.is_placed:
            places.add(place)
        sites[key] = site
        absent = counts < 0
        if absent.any():
            missing[key] = int(np.count_nonzero(absent))
            table[key] = np.where(absent, np.nan, counts)
        else:
            table[key] = counts
        memory.take(table[key].nbytes + BESIDE)
        present = counts[~absent]
        constant += present.size == 0 or int(np.ptp(present)) == 0
    if len(table) == 1:
        kinds = (f"{count:,} {kind}" for kind, count in omitted.items() if count)
        why = "; ".join(kinds) or "it has no site"
        raise ValueError(f"{file} must hold biallelic sites of autosomes with genotypes ({why})")
    if constant == len(table) - 1 and len(people) > 2:
        beside = {_DOSAGES, _FILTERED, CHILDREN, FAMILIES}
        others = {kind: count for kind, count in omitted.items() if kind not in beside and count}
        kinds = (f"; omitted are {count:,} {kind}" for kind, count in others.items())
        raise ValueError(
            f"{file} must hold a site at which its people differ; they have the same genotype at "
            f"all of {constant:,} usable sites{''.join(kinds)}"
        )
    cautions: list[str] = []
    notes: list[str] = []
    for note, is_large in _notes(len(table) - 1, len(people), omitted, missing, constant):
        (cautions if is_large and columns is None else notes).append(note)
    chosen = GenotypeTable((name, table[name]) for name in choose_columns(list(table), columns))
    chosen.notes = (*notes, _UNPLACED) if file.format == "raw" else tuple(notes)
    chosen.cautions = tuple(cautions)
    chosen.sites, chosen.people = sites, people
    return chosen


def _notes(
    sites: int, people: int, omitted: Counter[str], missing: dict[str, int], constant: int
) -> Iterator[tuple[str, bool]]:
    """What a report states about the file, and whether it concerns a large share of the sites."""
    if twice := omitted.pop(HETEROZYGOUS, 0):
        note = f"Columns of {HETEROZYGOUS} (_HET), not published: {twice:,}; counts determine them."
        yield note, False
    if of_parents := omitted.pop(CHILDREN, 0):
        note = (
            f"The file names a parent of {of_parents:,} of its people among the others. Each row "
            "is judged as if the others were unrelated."
        )
        yield note, False
    if of_family := omitted.pop(FAMILIES, 0):
        note = (
            f"{of_family:,} of {people:,} people share a family (FID) or a parent with others of "
            "the file. Each row is judged as if it were drawn alone. Siblings who are drawn "
            "together leak more: the leakage scores of k of them are up to (k + 1) / 2 times those "
            "stated here."
        )
        yield note, of_family > _LARGE * people
    if dosages := omitted.pop(_DOSAGES, 0):
        note = (
            f"Dosages (DS) of {dosages:,} sites are not used: counts are those of the genotypes "
            "(GT), and so must be the published frequencies."
        )
        yield note, False
    if filtered := omitted.pop(_FILTERED, 0):
        note = (
            f"Sites that did not pass the filters of the file (FILTER): {filtered:,} of {sites:,}, "
            "used as the others. If they are not published, the release leaks less: leave them out "
            "by bcftools view -f PASS,."
        )
        yield note, filtered > _LARGE * sites
    if omitted:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in omitted.items())
        total = sum(omitted.values())
        varied = total - omitted[_UNALTERED] - omitted[_OF_DELETION]
        is_large = varied > _LARGE * (sites - constant + varied)
        cure = "".join(f" ({_REMEDIES[kind]})" for kind in omitted if kind in _REMEDIES)
        note = (
            f"Sites of the file: {sites:,} used, {total:,} omitted ({kinds}). If the omitted ones "
            "are published too, the release leaks more"
        )
        yield f"{note}{cure if is_large else ''}.", is_large
    if missing:
        most = sorted(missing, key=lambda name: -missing[name])[:_NAMED]
        named = ", ".join(f"{name} {missing[name]:,}" for name in most)
        note = (
            f"Missing genotypes: {sum(missing.values()):,} in {len(missing):,} of {sites:,} sites, "
            f"of {people:,} people each; most in {named}."
        )
        yield note, False
    if constant:
        yield f"Monomorphic sites: {constant:,}, which leak nothing beside the others.", False


def _vcf_sites(
    file: TableFile, omitted: Counter[str]
) -> tuple[list[str], Iterator[tuple[Site, Counts]]]:
    """The samples of a VCF, and each usable site with its counts."""
    if file.path is None or file.packed == ".zst":
        raise ValueError(f"{file} must be VCF as it is or packed by gzip: cyvcf2 reads no zstd")
    file.check_head(VCF_HEAD)
    _require_whole(file, file.path)
    try:
        with np.errstate():  # its import turns warnings of NumPy off
            from cyvcf2 import VCF
    except ImportError as error:
        _name_extra(file, "cyvcf2", error)
    people = _samples(file)
    if not people:
        raise ValueError(
            f"{file} must hold genotypes of people; it has sites only, without samples"
        )
    _require_once(file, people)
    parsing = _Parsing(file)
    with _errors_alone(), parsing:
        reader = VCF(str(file.path), gts012=True)

    def sites() -> Iterator[tuple[Site, Counts]]:
        for site in _parsed(parsing, reader):
            kind = None
            alleles = [each for each in site.ALT if each not in _UNSEEN]
            if site.CHROM.startswith("#"):
                file.damaged("VCF", "a second header is among its sites; join VCF by bcftools")
            if not is_autosomal(site.CHROM):
                kind = SEX_CHROMOSOME
            elif len(alleles) != 1:
                kind = "multi-allelic" if alleles else _UNALTERED
            elif alleles[0] == _DELETED:
                kind = _OF_DELETION
            elif "GT" not in site.FORMAT:
                kind = "without genotypes (GT)"
            calls = None if kind else site.genotype.array()  # two alleles, and whether phased
            if calls is not None and calls.shape[1] == 3:
                # A lone "." stands for a missing genotype, as "./." does.
                calls[(calls[:, 0] == _NO_ALLELE) & (calls[:, 1] < _NO_ALLELE), 1] = _NO_ALLELE
            least = 0 if calls is None else calls.min()
            if calls is not None and (calls.shape[1] != 3 or least < _NO_ALLELE):
                kind = "not diploid in all people"
            most = 0 if kind or calls is None else calls[:, :2].max()
            if most > len(site.ALT):
                where = f"{site.CHROM}:{site.POS}"
                file.damaged("VCF", f"genotypes at {where} have an allele that the site has not")
            if most > 0 and (most > 1 or site.ALT[0] != alleles[0]):
                kind = "with genotypes of an allele not seen (<NON_REF> or <*>)"
            if kind or calls is None:
                omitted[str(kind)] += 1
                continue
            counts = (calls[:, 0] + calls[:, 1]).astype(np.int8)
            if least < 0:
                counts[(calls[:, 0] < 0) | (calls[:, 1] < 0)] = -1
            omitted[_DOSAGES] += "DS" in site.FORMAT
            omitted[_FILTERED] += site.FILTER is not None
            yield Site(site.ID or "", site.CHROM, site.POS, alleles[0], site.REF), counts

    return people, sites()


@contextlib.contextmanager
def _errors_alone() -> Iterator[None]:
    """Let htslib print errors, but no warnings, such as one of each chromosome without a line.

    The variable of cyvcf2 for that level is heeded.
    """
    from cyvcf2 import cyvcf2

    set_level = getattr(cyvcf2, "set_htslib_log_level", None)
    if set_level is None or "CYVCF2_HTSLIB_LOG_LEVEL" in os.environ:
        yield
        return
    set_level(_ERRORS)
    try:
        yield
    finally:
        set_level(_WARNINGS)


class _Parsing:
    """Refuses a file that cyvcf2 cannot parse, for which it raises nothing but an Exception."""

    def __init__(self, file: TableFile) -> None:
        self.file, self.place = file, "the header"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if kind is Exception:
            text = f"what follows {self.place} cannot be parsed: {error}; see bcftools view"
            self.file.damaged("VCF", text)


def _parsed(parsing: _Parsing, reader: Any) -> Iterator[Any]:
    """The sites of a reader."""
    with _errors_alone():
        while True:
            with parsing:
                site = next(reader, None)
            if site is None:
                return
            parsing.place = f"{site.CHROM}:{site.POS}"
            yield site


def _samples(file: TableFile) -> list[str]:
    """The names in the last line of the header of a VCF."""
    with file.open() as opened:
        for line in file.lines(opened):
            if line.startswith(b"#CHROM"):
                return line.decode(errors="replace").rstrip("\r\n").split("\t")[9:]
            if not line.startswith(b"#"):
                break
    return file.damaged("VCF", "its header has no line that begins with #CHROM")


def _require_once(file: TableFile, people: list[str]) -> None:
    twice = [name for name, times in Counter(people).items() if times > 1]
    if twice:
        raise ValueError(f"{file} must name each person once; it names {listed(twice)} twice")


def _require_whole(file: TableFile, path: Path) -> None:
    """Refuse a file that was cut: htslib reads what there is."""
    with path.open("rb") as raw:
        head = raw.read(18)
        raw.seek(max(path.stat().st_size - 28, 0))
        end = raw.read()
    if file.packed and head[12:16] == _BGZF:
        if _BGZF_END not in end:
            file.damaged("VCF", "it ends before its end mark")
        return
    last = b""
    with file.open() as opened:
        if file.is_plain:
            opened.seek(-1, 2)
        while chunk := opened.read(1 << 20):
            last = chunk
    if not last.endswith(b"\n"):
        file.damaged("VCF", "it ends within a line")


def _bed_sites(
    file: TableFile, omitted: Counter[str]
) -> tuple[list[str], Iterator[tuple[Site, Counts]]]:
    """The people of a .fam, and each usable site with the counts of A1."""
    if file.path is None or file.packed:
        raise ValueError(f"{file} must be a .bed file that is not packed, .bim and .fam beside it")
    file.check_head(_BED)
    for suffix in (".bim", ".fam"):
        beside = file.path.with_suffix(suffix)
        if not beside.exists():
            raise FileNotFoundError(f"{beside} must be beside {file}, as PLINK writes it")
    try:
        from bed_reader import open_bed
    except ImportError as error:
        _name_extra(file, "bed-reader", error)
    try:
        reader = open_bed(file.path)
        size = 3 + -(-reader.iid_count // 4) * reader.sid_count
        families, people = reader.fid.tolist(), reader.iid.tolist()
        omitted += relatives(families, people, reader.father.tolist(), reader.mother.tolist())
    except ValueError as error:
        file.damaged("PLINK", error)
    if file.path.stat().st_size != size:
        numbers = f"{reader.iid_count:,} people and {reader.sid_count:,} sites"
        file.damaged("PLINK", f".fam and .bim have {numbers}, which take {size:,} bytes")
    if len(set(people)) < len(people):
        people = [f"{family}:{name}" for family, name in zip(families, people, strict=True)]

    def sites() -> Iterator[tuple[Site, Counts]]:
        described = (reader.sid, reader.chromosome, reader.bp_position, reader.allele_1)
        names, chromosomes, positions, first = (each.tolist() for each in described)
        second = reader.allele_2.tolist()
        for start in range(0, reader.sid_count, _SITES):
            block = np.s_[start : min(start + _SITES, reader.sid_count)]
            _require_padding(file, reader.iid_count, block)
            matrix = reader.read(index=np.s_[:, block], dtype="int8", num_threads=1)
            for j, counts in enumerate(matrix.T, start):
                if not is_autosomal(chromosomes[j]):
                    omitted[SEX_CHROMOSOME] += 1
                    continue
                name = "" if names[j] == "." else names[j]
                site = Site(name, chromosomes[j], positions[j], first[j], second[j])
                yield site, np.where(counts == _NO_GENOTYPE, np.int8(-1), counts)

    return people, sites()


def _require_padding(file: TableFile, people: int, block: slice) -> None:
    """Refuse bits that are set beyond the last person: the .fam has lost a line."""
    width = -(-people // 4)
    if people % 4 == 0 or file.path is None:
        return
    shape = (block.stop - block.start, width)
    codes = np.fromfile(file.path, np.uint8, shape[0] * width, offset=3 + block.start * width)
    set_beyond = np.flatnonzero(codes.reshape(shape)[:, -1] >> 2 * (people % 4))
    if set_beyond.size:
        site = block.start + int(set_beyond[0]) + 1
        file.damaged("PLINK", f"site {site:,} has more than the {people:,} people of .fam")


def _name_extra(file: TableFile, package: str, error: ImportError) -> Any:
    raise ImportError(f'{file} takes {package} to read: pip install "mialeak[genetics]"') from error
