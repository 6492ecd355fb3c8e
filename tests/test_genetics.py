"""VCF and PLINK files: the same answer as from a CSV, and what is not a usable site."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from mialeak import mean_leakage
from mialeak._files.tables import read_table
from mialeak.cli import main
from mialeak.datasets import load_genotypes

with np.errstate():  # its import turns warnings of NumPy off
    cyvcf2 = pytest.importorskip("cyvcf2")
bed_reader = pytest.importorskip("bed_reader")

HEAD = (
    "##fileformat=VCFv4.2\n"
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
)
COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
PEOPLE = 120


def write_vcf(path, people, lines):
    chromosomes = sorted({line[0] for line in lines})
    text = HEAD + "".join(f"##contig=<ID={name}>\n" for name in chromosomes)
    text += "\t".join([*COLUMNS, *people]) + "\n"
    for chrom, pos, name, ref, alt, form, calls in lines:
        text += "\t".join([chrom, str(pos), name, ref, alt, *"...", form, *calls]) + "\n"
    path.write_text(text)
    return path


def calls_of(counts):
    return np.array(["0/0", "0|1", "1/1"])[counts]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """The same 120 people as VCF, packed VCF, PLINK and CSV."""
    folder, data = tmp_path_factory.mktemp("cohort"), load_genotypes()
    counts, people = data.counts[:PEOPLE], data.columns["sample"][:PEOPLE].tolist()
    sites = list(
        zip(
            data.chromosomes.astype(str).tolist(),
            data.positions.tolist(),
            data.snps.tolist(),
            data.reference_alleles.tolist(),
            data.alternate_alleles.tolist(),
            strict=True,
        )
    )
    lines = [(*site, "GT", calls_of(c)) for site, c in zip(sites, counts.T, strict=True)]
    write_vcf(folder / "cohort.vcf", people, lines)
    packed = gzip.compress((folder / "cohort.vcf").read_bytes())
    (folder / "cohort.vcf.gz").write_bytes(packed)
    bed_reader.to_bed(
        folder / "cohort.bed",
        counts.astype(float),
        properties={
            "iid": people,
            "sid": data.snps,
            "chromosome": data.chromosomes.astype(str),
            "bp_position": data.positions,
            "allele_1": data.alternate_alleles,
            "allele_2": data.reference_alleles,
        },
    )
    rows = [",".join(["sample", *data.snps.tolist()])]
    rows += [
        ",".join([name, *map(str, c)]) for name, c in zip(people, counts.tolist(), strict=True)
    ]
    (folder / "cohort.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.mark.parametrize("suffix", ["vcf", "vcf.gz", "bed"])
def test_every_file_of_the_same_people_gives_the_same_answer(cohort, suffix):
    truth = mean_leakage(cohort / "cohort.csv")
    report = mean_leakage(cohort / f"cohort.{suffix}")
    np.testing.assert_array_equal(report.leakage, truth.leakage)
    assert report.to_dict() == truth.to_dict()
    assert report.warnings == truth.warnings


def test_the_shell_reads_them(cohort, capsys):
    answers = []
    for suffix in ("vcf.gz", "bed", "csv"):
        assert main(["mean", str(cohort / f"cohort.{suffix}"), "--exact", "--json"]) == 0
        content = json.loads(capsys.readouterr().out)
        answers.append({k: v for k, v in content.items() if k not in {"inputs", "command"}})
    assert answers[0]["exact"] == answers[1]["exact"] == answers[2]["exact"]
    assert answers[0]["columns"] == answers[2]["columns"]


@pytest.mark.parametrize("suffix", ["vcf", "vcf.gz"])
@pytest.mark.parametrize("named", [True, False])
def test_the_shell_takes_what_bcftools_view_writes(cohort, capsys, monkeypatch, suffix, named):
    path = cohort / f"cohort.{suffix}"
    assert main(["mean", str(path)]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert main(["mean", "-", *(["--format", suffix] if named else [])]) == 0
    assert capsys.readouterr().out == expected
    cut = path.read_bytes()[:-900]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(cut)))
    assert main(["mean", "-"]) == 1
    assert "standard input is a damaged" in capsys.readouterr().err


LINES = [
    ("1", 10, "rs1", "A", "G", "GT", ["0/0", "0/1", "1/1", "0/1"]),
    ("1", 20, ".", "A", "G", "GT:DP", ["0/0:3", "./.:0", "1|1:9", "0|1:2"]),
    ("1", 30, "rs3", "A", "G,T", "GT", ["0/0", "0/2", "1/1", "0/1"]),
    ("1", 40, "rs4", "A", "G", "DP", ["3", "4", "5", "6"]),
    ("chr2", 50, "rs5", "A", "G", "GT", ["0/0", "1", "1/1", "0/1"]),
    ("chrX", 60, "rs6", "A", "G", "GT", ["0", "1", "1", "0/1"]),
    ("MT", 70, "rs7", "A", "G", "GT", ["0", "1", "1", "0"]),
    ("2", 80, "rs8", "A", ".", "GT", ["0/0", "0/0", "0/0", "0/0"]),
    ("2", 90, "rs9", "A", "G", "GT", ["0/0", "0/0", "0/0", "0/0"]),
    ("2", 95, "rs1", "C", "G", "GT", ["0/.", "1/1", "1/0", "0/0"]),
]


def test_sites_of_another_kind_are_omitted_and_counted(tmp_path):
    path = write_vcf(tmp_path / "odd.vcf", "abcd", LINES)
    table = read_table(path)
    assert list(table) == ["sample", "rs1", "1:20:A:G", "rs9", "2:95:C:G"]
    assert table["rs1"].tolist() == [0, 1, 2, 1]
    np.testing.assert_array_equal(table["1:20:A:G"], [0, np.nan, 2, 1])
    np.testing.assert_array_equal(table["2:95:C:G"], [np.nan, 2, 1, 0])
    (omitted,), (missing, constant) = table.cautions, table.notes
    assert "4 used, 6 omitted (1 multi-allelic, 1 without genotypes (GT), 1 not diploid" in omitted
    assert "2 on X, Y or the mitochondrion, 1 without an alternate allele" in omitted
    assert "Missing genotypes: 2 in 2 of 4 sites, of 4 people each; most in 1:20:A:G 1" in missing
    assert constant == "Monomorphic sites: 1, which leak nothing beside the others."
    assert "leaks more (bcftools norm -m -any writes a multi-allelic site as one for" in omitted
    report = mean_leakage(path, na="drop", exclude=["1:20:A:G"])
    assert report.warnings[: len(table.notes)] == list(table.notes)
    assert omitted in report.cautions
    chosen = read_table(path, columns=["rs1", "rs9"])
    assert not chosen.cautions
    assert omitted in chosen.notes
    with pytest.raises(ValueError, match="missing"):
        mean_leakage(path)


GVCF = [
    ("1", 10, "rs1", "A", "G,<NON_REF>", "GT", ["0/0", "0/1", "1/1", "0/1"]),
    ("1", 20, "rs2", "A", "<NON_REF>", "GT", ["0/0", "0/0", "0/0", "0/0"]),
    ("1", 30, "rs3", "A", "<*>,T", "GT", ["0/0", "0/0", "0/0", "0/0"]),
    ("1", 40, "rs4", "A", "G,<NON_REF>", "GT", ["0/0", "0/2", "1/1", "0/1"]),
    ("1", 50, "rs5", "A", "*", "GT", ["0/0", "0/1", "1/1", "0/1"]),
    ("chrX_KI270880v1_alt", 60, "rs6", "A", "C", "GT", ["0/0", "0/1", "1/1", "0/1"]),
]


def test_alleles_that_stand_for_none_are_none(tmp_path):
    """A site of gVCF has its alternate allele; a block of the reference is no monomorphic site."""
    table = read_table(write_vcf(tmp_path / "g.vcf", "abcd", GVCF))
    assert list(table) == ["sample", "rs1", "rs3"]
    assert table["rs1"].tolist() == [0, 1, 2, 1]
    assert (table.sites["rs1"].counted, table.sites["rs3"].counted) == ("G", "T")
    (omitted,) = table.cautions
    assert "2 used, 4 omitted (1 without an alternate allele, 1 with genotypes of an al" in omitted
    assert "1 of a deletion (*) alone, 1 on X, Y or the mitochondrion" in omitted
    alone = [GVCF[0], *[(*GVCF[1][:1], 20 + k, ".", *GVCF[1][3:]) for k in range(9)]]
    blocks = read_table(write_vcf(tmp_path / "blocks.vcf", "abcd", alone))
    assert not blocks.cautions
    assert "1 used, 9 omitted (9 without an alternate allele)" in blocks.notes[0]
    path = write_vcf(tmp_path / "same.vcf", "abcd", GVCF[1:4])
    with pytest.raises(ValueError, match=r"at which its people differ.*1 without an alternate"):
        mean_leakage(path)


def test_dosages_beside_genotypes_are_named_as_unused(tmp_path):
    lines = [(*LINES[0][:5], "GT:DS", [f"{call}:0.4" for call in LINES[0][-1]])]
    (note,) = read_table(write_vcf(tmp_path / "d.vcf", "abcd", lines)).notes
    assert note.startswith("Dosages (DS) of 1 sites are not used: counts are those of the genotyp")


def test_omitted_sites_are_a_caution_above_a_tenth_of_those_that_vary(tmp_path):
    """One and two multi-allelic sites beside ten that vary and ten that do not."""
    varied = [("1", 10 + k, ".", "A", "G", *LINES[0][5:]) for k in range(10)]
    equal = [("1", 40 + k, ".", "A", "G", "GT", ["0/1"] * 4) for k in range(10)]
    others = [("1", 70 + k, ".", "A", "G,T", *LINES[2][5:]) for k in range(2)]
    for count, is_large in ((1, False), (2, True)):
        table = read_table(
            write_vcf(tmp_path / f"{count}.vcf", "abcd", varied + equal + others[:count])
        )
        assert len(table.cautions) == is_large
        assert any("20 used" in note for note in table.notes) == (not is_large)


def test_a_lone_dot_is_a_missing_genotype(tmp_path):
    """As ``./.``; a lone allele is that of one chromosome, and its site is omitted."""
    lines = [
        ("1", 10, "rs1", "A", "G", "GT", [".", "0/1", "1/1", "0/0"]),
        ("1", 20, "rs2", "A", "G", "GT", [".", "1", "1/1", "0/0"]),
        ("CM000685.2", 30, "rs3", "A", "G", "GT", ["0/1", "1/1", "1/1", "0/0"]),
    ]
    table = read_table(write_vcf(tmp_path / "dot.vcf", "abcd", lines))
    np.testing.assert_array_equal(table["rs1"], [np.nan, 1, 2, 0])
    assert list(table) == ["sample", "rs1"]
    assert "1 not diploid in all people, 1 on X, Y or the mitochondrion" in table.cautions[0]


def test_sites_that_did_not_pass_filters_are_counted_and_named(tmp_path):
    path = write_vcf(tmp_path / "f.vcf", "abcd", LINES[:1])
    for word, noted in (("PASS", False), ("LowQual", True), (".", False)):
        other = tmp_path / f"{word.strip('.')}f.vcf"
        header, line = path.read_text().rstrip("\n").rsplit("\n", 1)
        fields = line.split("\t")
        fields[6] = word
        filters = '##FILTER=<ID=LowQual,Description="x">\n'
        header = header.replace("#CHROM", f"{filters}#CHROM")
        other.write_text("\n".join([header, "\t".join(fields), ""]))
        table = read_table(other)
        assert len(table) == 2
        words = "filters of the file (FILTER): 1 of 1"
        assert any(words in caution for caution in table.cautions) == noted


def test_missing_genotypes_of_plink_are_missing(tmp_path):
    counts = np.array([[0, 1, np.nan], [2, 1, 1], [0, 0, 2], [1, 2, 1]])
    properties = {"chromosome": ["1", "23", "3"], "sid": ["a", "b", "."], "bp_position": [1, 2, 3]}
    properties |= {"allele_1": list("AAA"), "allele_2": list("CCC")}
    bed_reader.to_bed(tmp_path / "x.bed", counts, properties=properties)
    table = read_table(tmp_path / "x.bed")
    assert list(table) == ["sample", "a", "3:3:C:A"]
    np.testing.assert_array_equal(table["3:3:C:A"], counts[:, 2])
    assert "1 omitted (1 on X, Y or the mitochondrion)" in table.cautions[0]


def test_people_whose_parents_are_in_the_file_are_counted(tmp_path):
    counts = np.array([[0, 1], [2, 1], [1, 2], [1, 0]])
    people = {"iid": list("abcd"), "father": list("00ax"), "mother": list("00b0")}
    bed_reader.to_bed(tmp_path / "f.bed", counts, properties=people)
    (note,) = read_table(tmp_path / "f.bed").notes
    assert note.startswith("The file names a parent of 1 of its people among the others")
    lines = ["FID IID PAT MAT SEX PHENOTYPE x_A y_C"]
    lines += ["f a 0 0 0 -9 0 1", "f b 0 0 0 -9 2 1", "f c a b 0 -9 1 2"]
    (tmp_path / "f.raw").write_text("\n".join(lines) + "\n")
    assert note in read_table(tmp_path / "f.raw").notes


def test_what_cannot_be_read_is_refused_in_words(tmp_path, cohort):
    def refused(path, words, error=ValueError):
        with pytest.raises(error, match=words):
            mean_leakage(path)

    refused(write_vcf(tmp_path / "t.vcf", "abca", LINES), "each person once; it names 'a' twice")
    people = {"iid": ["p", "q", "p"], "fid": ["0", "0", "0"]}
    bed_reader.to_bed(tmp_path / "t.bed", np.eye(3), properties=people)
    refused(tmp_path / "t.bed", "each person once; it names '0:p' twice")
    refused(write_vcf(tmp_path / "x.vcf", "abcd", LINES[5:7]), "biallelic sites of autosomes")
    whole = (cohort / "cohort.vcf").read_bytes()
    (tmp_path / "joined.vcf").write_bytes(whole + whole)
    refused(tmp_path / "joined.vcf", "a second header is among its sites")
    lines = [*LINES[:1], (*LINES[0][:2], "rs77", *LINES[0][3:])]
    refused(
        write_vcf(tmp_path / "again.vcf", "abcd", lines),
        "each site once; it holds .1:10:A:G. twice. .*bcftools",
    )
    (tmp_path / "cut.vcf").write_bytes(whole[:-700])
    refused(tmp_path / "cut.vcf", "damaged VCF file .it ends within a line")
    (tmp_path / "cut.vcf.gz").write_bytes((cohort / "cohort.vcf.gz").read_bytes()[:-900])
    refused(tmp_path / "cut.vcf.gz", "damaged")
    (tmp_path / "text.vcf").write_text("a,b\n1,2\n")
    refused(tmp_path / "text.vcf", "not the .vcf file that its name states")
    shutil.copy(cohort / "cohort.bed", tmp_path / "alone.bed")
    refused(tmp_path / "alone.bed", "alone.bim must be beside", FileNotFoundError)
    for suffix in ("bed", "bim", "fam"):
        shutil.copy(cohort / f"cohort.{suffix}", tmp_path / f"b.{suffix}")
    (tmp_path / "b.bed").write_bytes((cohort / "cohort.bed").read_bytes()[:-5])
    refused(tmp_path / "b.bed", "damaged PLINK file .*120 people and 127 sites")
    with pytest.raises(ValueError, match="leave out options"):
        read_table(cohort / "cohort.vcf", missing=["-9"])


def test_chromosomes_without_a_line_in_the_header_print_nothing(tmp_path):
    """The answer is that of a file with these lines, and other readers print as before."""
    lines = [f"{k + 1}\t7\trs{k}\tA\tC\t.\t.\t.\tGT\t0/0\t0/1\t1/1\t0/1\n" for k in range(3)]
    body = "\t".join([*COLUMNS, *"abcd"]) + "\n" + "".join(lines)
    contigs = "".join(f"##contig=<ID={k + 1}>\n" for k in range(3))
    (tmp_path / "a.vcf").write_text(HEAD + contigs + body)
    (tmp_path / "b.vcf").write_text(HEAD + body)
    program = (
        "import sys\nfrom mialeak import mean_leakage\n"
        "print([mean_leakage(path).leakage.tolist() for path in sys.argv[1:]])\n"
        "from cyvcf2 import VCF\nprint('then', file=sys.stderr)\nlist(VCF(sys.argv[2]))"
    )
    line = [sys.executable, "-c", program, str(tmp_path / "a.vcf"), str(tmp_path / "b.vcf")]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    one, other = json.loads(done.stdout)
    assert one == other
    before, after = done.stderr.split("then")
    assert before == ""
    assert after.count("is not defined in the header") == 3


def test_reading_a_vcf_leaves_the_warnings_of_numpy_as_they_were(tmp_path):
    path = tmp_path / "a.vcf"
    lines = [f"1\t{k + 1}\trs{k}\tA\tC\t.\t.\t.\tGT\t0/0\t0/1\t1/1\t0/1\n" for k in range(3)]
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\tc\td\n"
    contig = "##contig=<ID=1>\n"
    path.write_text(HEAD + contig + columns + "".join(lines))
    program = (
        "import sys, numpy as np; before = np.geterr()\n"
        "from mialeak._files.tables import read_table; read_table(sys.argv[1])\n"
        "assert 'cyvcf2' in sys.modules and np.geterr() == before, np.geterr()"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
