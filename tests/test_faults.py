"""Damaged, hostile and unwritable files: a clear error, the same answer, and no half file."""

from __future__ import annotations

import base64
import gzip
import io
import random
import re
import sys
import xml.dom.minidom
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from fresh import in_fresh_python

from mialeak import Release, mean_leakage, table_leakage
from mialeak._files.states import write_whole
from mialeak._files.tables import read_table
from mialeak.certificates import Certificate, certify
from mialeak.cli import main
from mialeak.tables import Recoding

#: What a spreadsheet, a page, a terminal, a text layout or a formula of matplotlib may obey.
HOSTILE = ["=1+1", "+2", "@x", "<script>alert(1)</script>", "\x1b[31mred", "a&b\"'", "\u202eabc"]
NAME = "<img src=x onerror=1>\x1b[2J$_$"
PEOPLE = "city,sex,age\n" + "".join(
    f"{'Oslo' if k < 40 else 'Bergen'},{'fm'[k % 2]},{(30, 50, 90)[k % 3]}\n" for k in range(71)
)
PLAN = b"""schema = "mialeak.release-plan/1"
people = "people.csv"
[[outputs]]
table = ["city", "sex"]
[[outputs]]
table = ["city"]
where = { age = { max = 80 } }
[limits]
max_row_leakage = 0.5
"""
TABLE = {"age": [20 + k * k % 57 for k in range(900)], "sex": ["f", "m", "m"] * 300}


def vcf() -> bytes:
    people = "\t".join(f"s{k}" for k in range(12))
    fixed = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t"
    calls, draw = ("0/0", "0/1", "1/1", "0|1"), random.Random(1)
    sites = (
        f"1\t{100 + j}\trs{j}\tA\tG\t.\tPASS\t.\tGT\t"
        + "\t".join(draw.choice(calls) for _ in range(12))
        for j in range(8)
    )
    return (fixed + people + "\n" + "\n".join(sites) + "\n").encode()


def written_recode() -> bytes:
    lines = (f"age,{value},{value // 10}0s" for value in sorted(set(TABLE["age"])))
    return ("column,value,code\n" + "\n".join(lines) + "\n").encode()


def flipped(whole: bytes, draw: random.Random) -> bytes:
    """The file cut, or with one or two of its bits changed."""
    if draw.random() < 0.25:
        return whole[: draw.randrange(len(whole))]
    changed = bytearray(whole)
    for _ in range(draw.choice((1, 1, 2))):
        changed[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def shell(capsys, *arguments) -> str:
    """What the shell prints; ValueError with its line on stderr where it exits with 1."""
    code = main([str(each) for each in arguments])
    answer = capsys.readouterr()
    if code == 1:
        assert answer.err.startswith("mialeak: error: ")
        raise ValueError(answer.err)
    return answer.out


@pytest.mark.parametrize("name", ["a.vcf", "a.vcf.gz", "plan.toml", "recode.csv", "c.json"])
def test_a_damaged_file_ends_in_an_answer_or_in_one_line(name, tmp_path, capsys):
    """60 seeded changes each; files with a checksum never give another answer."""
    with np.errstate():  # its import turns warnings of NumPy off
        pytest.importorskip("cyvcf2")
    (tmp_path / "people.csv").write_text(PEOPLE)
    path = tmp_path / name
    whole = {
        "a.vcf": vcf,
        "a.vcf.gz": lambda: gzip.compress(vcf(), mtime=0),
        "plan.toml": lambda: PLAN,
        "recode.csv": written_recode,
        "c.json": lambda: certify(table_leakage(TABLE)).text().encode(),
    }[name]()
    answer = {
        "a.vcf": lambda: shell(capsys, "mean", path),
        "a.vcf.gz": lambda: shell(capsys, "mean", path),
        "plan.toml": lambda: shell(capsys, "release", path),
        "recode.csv": lambda: repr(table_leakage(TABLE, recode=str(path))),
        "c.json": lambda: str(Certificate.load(path).verify()),
    }[name]
    path.write_bytes(whole)
    expected, draw, refused = answer(), random.Random(7), 0
    for _ in range(60):
        path.write_bytes(flipped(whole, draw))
        try:
            found = answer()
        except ValueError:
            refused += 1
            continue
        assert found == expected or name in ("a.vcf", "plan.toml", "recode.csv")
    assert refused > 20


def test_an_allele_that_a_site_has_not_is_no_count(tmp_path):
    """2/1 at a site of one alternate allele had the count 3."""
    with np.errstate():  # its import turns warnings of NumPy off
        pytest.importorskip("cyvcf2")
    path = tmp_path / "a.vcf"
    path.write_bytes(vcf().replace(b"\t0/1", b"\t2/1", 1))
    with pytest.raises(ValueError, match="have an allele that the site has not"):
        mean_leakage(path)


def test_a_line_that_is_lost_from_fam_is_seen_in_the_bed(tmp_path):
    """The file of genotypes has the same size for 9 to 12 people."""
    bed_reader = pytest.importorskip("bed_reader")
    counts = np.random.default_rng(0).integers(0, 3, (12, 5))
    bed_reader.to_bed(tmp_path / "x.bed", counts)
    assert len(read_table(tmp_path / "x.bed")["sample"]) == 12
    lines = (tmp_path / "x.fam").read_text().splitlines(keepends=True)
    (tmp_path / "x.fam").write_text("".join(lines[:9]))
    with pytest.raises(ValueError, match=r"more than the 9 people of \.fam"):
        read_table(tmp_path / "x.bed")


# --- hostile words -----------------------------------------------------------------------------


def hostile_table(folder: Path) -> Path:
    path = folder / "t.csv"
    quoted = [value.replace('"', '""') for value in HOSTILE]
    rows = (f'"{quoted[k % len(quoted)]}",{k % 7}\n' for k in range(700))
    path.write_text(f'"{NAME}","=cmd|x"\n' + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["table", "mean", "release", "certificate"])
def test_a_report_obeys_no_value_and_no_name(kind, tmp_path, capsys):
    """Neither the terminal, nor the page, nor its pictures, which stay well-formed XML."""
    table, page = hostile_table(tmp_path), tmp_path / "page.html"
    if kind == "mean":
        numbers = np.random.default_rng(0).normal(size=(50, 2)).tolist()
        lines = "".join(f"{a},{b}\n" for a, b in numbers)
        table.write_text(f'"{NAME}","=cmd|x"\n{lines}', encoding="utf-8")
    text = ""
    if kind == "release":
        release = Release(read_table(table))
        release.add_table([NAME])
        release.add_table([NAME], where={"=cmd|x": {"min": "1"}})
        report = release.leakage()
        report.to_html(page)
        text = str(report)
    elif kind == "certificate":
        text = shell(capsys, "table", table, "--certificate", tmp_path / "c.json")
        text += shell(capsys, "verify", tmp_path / "c.json")
        assert "\x1b" not in (tmp_path / "c.json").read_text()
    else:
        text = shell(capsys, kind, table, "--html", page)
    assert "\x1b" not in text
    assert "\u202e" not in text
    if kind == "certificate":
        return
    shown = page.read_text(encoding="utf-8")
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    assert "\x1b" not in shown
    pictures = re.findall(r"svg\+xml;base64,([\w+/=]+)", shown)
    assert pictures
    for picture in pictures:
        xml.dom.minidom.parseString(base64.b64decode(picture))


def test_an_error_writes_no_escape_sequence(tmp_path, capsys):
    for name in ("a\x1b[31m.csv", "b\u202e.csv"):
        assert main(["table", str(tmp_path / name)]) == 1
        words = capsys.readouterr().err
        assert words.isascii()
        assert words.rstrip("\n").isprintable()


def test_a_recode_table_has_the_values_as_they_are(tmp_path):
    """A prefix against spreadsheets would be another value when the table is applied again."""
    path = tmp_path / "recode.csv"
    Recoding({"a": {"keep": ["=1+1"]}}).write(path, values={"a": ["=1+1", "@x"]})
    assert path.read_text() == "column,value,code\na,=1+1,=1+1\na,@x,other\n"
    report = table_leakage({"a": ["=1+1", "@x"] * 600}, recode=str(path))
    assert report.cell_counts.size == 2


@pytest.mark.parametrize("name", ["/etc/hostname", "../people.csv", "link.csv"])
def test_a_plan_reads_no_file_outside_its_folder(name, tmp_path, capsys):
    folder = tmp_path / "plan"
    folder.mkdir()
    (tmp_path / "people.csv").write_text(PEOPLE)
    (folder / "link.csv").symlink_to(tmp_path / "people.csv")
    (folder / "plan.toml").write_bytes(PLAN.replace(b"people.csv", name.encode()))
    assert main(["release", str(folder / "plan.toml")]) == 1
    assert "be a file in the folder of the plan or below it" in capsys.readouterr().err


# --- load --------------------------------------------------------------------------------------

FULL = """
import resource, signal
from mialeak.cli import main
try:
    import matplotlib.font_manager  # lists the fonts while the list can be saved
except ImportError:
    pass
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
for option, name in {options}.items():
    plan = ["--plan", "0.05"] if option == "--recode-to" else []
    print(main(["table", {table!r}, *plan, option, {folder!r} + "/" + name]))
"""
OPTIONS = {"--html": "a.html", "--certificate": "c.json", "--recode-to": "r.csv", "--plot": "p.png"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as on Linux")
def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_no_half(tmp_path):
    table, out = tmp_path / "t.csv", tmp_path / "out"
    table.write_text(PEOPLE)
    out.mkdir()
    (out / "c.json").write_text("kept")
    options = {k: v for k, v in OPTIONS.items() if k != "--certificate"}
    code = FULL.format(options=options, table=str(table), folder=str(out))
    code += f"print(main(['table', {str(table)!r}, '--certificate', {str(out / 'c.json')!r}]))\n"
    run = in_fresh_python(code, None)
    codes = [line for line in run.stdout.splitlines() if line in ("0", "1")]
    assert codes == ["1"] * 4, run.stdout + run.stderr
    for name in OPTIONS.values():
        assert str(out / name) in run.stderr
    assert {path.name: path.read_text() for path in out.iterdir()} == {"c.json": "kept"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is full")
def test_a_device_is_written_to_and_stays():
    with pytest.raises(OSError, match="/dev/full"):
        write_whole("/dev/full", lambda file: file.write(b"x"))
    assert Path("/dev/full").is_char_device()


def test_a_file_behind_a_link_is_replaced_and_keeps_its_mode(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o600)
    link.symlink_to(file)
    write_whole(link, lambda out: out.write(b"new"))
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o600


BOMBS = """
import resource, sys
import numpy, pyarrow.feather, pyarrow.parquet, zstandard
from mialeak._files.tables import read_table
with open("/proc/self/statm") as file:
    cap = int(file.read().split()[0]) * resource.getpagesize() + 250_000_000
resource.setrlimit(resource.RLIMIT_AS, (cap, cap))
for path in {paths!r}:
    try:
        read_table(path)
    except ValueError as error:
        print(path, "refused:", error)
"""

#: Zeros of a bomb, written so many times.
MEGABYTE, TIMES = b"0" * 10**6, 300


def packed_zeros(path: Path, head: bytes) -> None:
    """300 MB of one line behind `head`."""
    door = partial(gzip.open, compresslevel=1) if path.suffix == ".gz" else zstandard.open
    with door(path, mode="wb") as file:
        file.write(head)
        for _ in range(TIMES):
            file.write(MEGABYTE)
        file.write(b"\n")


def bomb_npy(path: Path) -> None:
    header = io.BytesIO()
    shape = (10**6 * TIMES,)
    description = {"descr": "|S1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, description)
    packed_zeros(path, header.getvalue())


def bomb_npz(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("a.npy", "w") as member,
    ):
        for _ in range(TIMES):
            member.write(MEGABYTE)


def bomb_parquet(path: Path) -> None:
    rows = pa.table({"a": np.zeros(10**6, np.int64)})
    with pq.ParquetWriter(path, rows.schema) as writer:
        for _ in range(30):
            writer.write_table(rows)


BOMB_OF = {
    "bomb.csv.gz": partial(packed_zeros, head=b""),
    "bomb.csv.zst": partial(packed_zeros, head=b""),
    "bomb.vcf.gz": partial(packed_zeros, head=b"##fileformat=VCFv4.2\n##x="),
    "bomb.raw.gz": partial(packed_zeros, head=b"FID IID PAT MAT SEX PHENOTYPE a_A"),
    "bomb.npy.gz": bomb_npy,
    "bomb.npz": bomb_npz,
    "bomb.parquet": bomb_parquet,
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as on Linux")
def test_a_bomb_is_refused_in_bounded_memory(tmp_path):
    """240 to 300 MB in at most 1.4 MB, with 250 MB to take."""
    paths = []
    for name, write in BOMB_OF.items():
        write(tmp_path / name)
        paths.append(str(tmp_path / name))
    run = in_fresh_python(BOMBS.format(paths=paths), None)
    assert max(Path(path).stat().st_size for path in paths) < 2e6
    refused = [line.partition(" refused: ")[0] for line in run.stdout.splitlines()]
    assert refused == paths, run.stdout + run.stderr
    assert run.stdout.count("must fit into memory") == len(paths) - 2  # a CSV's field is too long
