"""Doors: formats, packed files, standard input, and what is refused at each."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mialeak import mean_leakage, table_leakage
from mialeak._columns import each_factor
from mialeak._files import memory
from mialeak._files.tables import read_table
from mialeak.cli import main

FRAME = pl.DataFrame({"age": [30, 41, 30, 52, 9] * 9, "sex": ["m", "f", "m", "f", "m"] * 9})
CSV = FRAME.write_csv().encode()


def written(write) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def by_pyreadstat(tmp_path, suffix, frame=FRAME, **options):
    pyreadstat = pytest.importorskip("pyreadstat")
    writers = {"dta": "write_dta", "sav": "write_sav", "zsav": "write_sav", "xpt": "write_xport"}
    if suffix == "zsav":
        options["compress"] = True
    path = tmp_path / f"made.{suffix}"
    getattr(pyreadstat, writers[suffix])(frame.to_pandas(), str(path), **options)
    return path.read_bytes()


def zstd(content: bytes) -> bytes:
    return pytest.importorskip("zstandard").compress(content)


FORMATS = {
    "csv": lambda path: CSV,
    "tsv": lambda path: FRAME.write_csv(separator="\t").encode(),
    "parquet": lambda path: written(FRAME.write_parquet),
    "arrow": lambda path: written(FRAME.write_ipc),
    "feather": lambda path: written(lambda file: FRAME.to_pandas().to_feather(file)),
    "arrows": lambda path: written(FRAME.write_ipc_stream),
    "npy": lambda path: written(lambda file: np.save(file, FRAME.to_numpy(structured=True))),
    "npz": lambda path: written(lambda f: np.savez(f, age=FRAME["age"], sex=list(FRAME["sex"]))),
    "dta": lambda path: by_pyreadstat(path, "dta"),
    "sav": lambda path: by_pyreadstat(path, "sav"),
    "zsav": lambda path: by_pyreadstat(path, "zsav"),
    "xpt": lambda path: by_pyreadstat(path, "xpt"),
}
OBJECTS = {"npy"}  # of strings, which a structured array of polars holds as objects
every_format = pytest.mark.parametrize("suffix", [name for name in FORMATS if name not in OBJECTS])
#: The same format by its name.
NAMED = {"feather": "arrow", "arrows": "arrow", "zsav": "sav"}


def values_of(table):
    factors = dict(each_factor(table, None))
    return {
        name: [str(factor.value(int(code))) for code in factor.codes]
        for name, factor in factors.items()
    }


EXPECTED = {"age": [str(age) for age in FRAME["age"]], "sex": list(FRAME["sex"])}


@every_format
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gz", "zst"])
def test_a_table_comes_through_every_door(tmp_path, monkeypatch, suffix, pack):
    content = pack(FORMATS[suffix](tmp_path))
    end = {bytes: "", gzip.compress: ".gz", zstd: ".zst"}[pack]
    path = tmp_path / f"t.{suffix}{end}"
    path.write_bytes(content)
    assert values_of(read_table(path)) == EXPECTED
    assert list(values_of(read_table(path, ["sex"]))) == ["sex"]
    other = tmp_path / "t.dat"
    other.write_bytes(content)
    named = NAMED.get(suffix, suffix) + end
    assert values_of(read_table(other, format=named.upper())) == EXPECTED
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert values_of(read_table("-", format=named)) == EXPECTED


@every_format
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_what_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch, suffix, pack):
    if suffix == "xpt" and pack is bytes:
        pytest.skip("states no number of rows, and is no larger than what it holds")
    content = FORMATS[suffix](tmp_path)
    path = tmp_path / f"t.{suffix}{'.gz' if pack is gzip.compress else ''}"
    path.write_bytes(pack(content))
    monkeypatch.setattr(memory, "available_memory", lambda: 200.0)
    refused = rf"^{re.escape(str(path))} must fit into memory: its content takes .* MB"
    with pytest.raises(ValueError, match=refused):
        read_table(path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(ValueError, match="standard input must fit into memory"):
        read_table("-", format="csv")
    monkeypatch.setattr(memory, "available_memory", lambda: float("inf"))
    assert values_of(read_table(path)) == EXPECTED


def test_a_line_that_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.afreq"
    sites = "".join(f"1\t{k}\ts{k}\tA\tC\t0.5\t100\n" for k in range(9))
    path.write_text("#CHROM\tPOS\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n" + sites)
    monkeypatch.setattr(memory, "available_memory", lambda: 4000.0)
    with pytest.raises(ValueError, match=r"t\.afreq must fit into memory"):
        read_table(path, frequencies=True)
    path = tmp_path / "t.raw"
    path.write_text("FID IID PAT MAT SEX PHENOTYPE a_A\n1 1 0 0 0 -9 1\n1 2 0 0 0 -9 0\n")
    monkeypatch.setattr(memory, "available_memory", lambda: 80.0)
    with pytest.raises(ValueError, match=r"t\.raw must fit into memory"):
        read_table(path)
    monkeypatch.setattr(memory, "available_memory", lambda: 4000.0)
    assert list(read_table(path)["a_A"]) == [1, 0]


def test_memory_that_ends_while_a_file_is_unpacked_is_refused_alike(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, piece):
            raise MemoryError

    path = tmp_path / "t.npy.gz"
    path.write_bytes(gzip.compress(written(lambda file: np.save(file, np.zeros(5)))))
    with path.open("rb") as file:
        unpacked = io.BufferedReader(gzip.GzipFile(fileobj=file))
        monkeypatch.setattr(memory, "io", SimpleNamespace(BytesIO=Full))
        limit = memory.Memory("t.npy.gz", "Unpack it first")
        with pytest.raises(memory.TooLarge, match=r"^t\.npy\.gz must fit .* was left after 0 MB"):
            limit.read(unpacked)


def test_the_memory_is_what_the_system_states(tmp_path, monkeypatch):
    machine, container = tmp_path / "machine", tmp_path / "container"
    monkeypatch.setattr(memory, "_MACHINE", machine)
    monkeypatch.setattr(memory, "_CONTAINER", (container,))
    monkeypatch.setattr(memory, "_PROCESS", tmp_path / "absent")
    installed = memory.available_memory()
    assert installed == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    machine.write_text("MemTotal: 9000 kB\nMemAvailable:    3000 kB\n")
    container.write_text("max\n")
    assert memory.available_memory() == 3_072_000
    container.write_text("1000000\n")
    assert memory.available_memory() == 1_000_000


@pytest.mark.parametrize("suffix", ["arrow", "feather", "arrows"])
def test_a_packed_arrow_file_is_counted(tmp_path, suffix):
    """It was reported as damaged: what is unpacked cannot go back to its beginning."""
    path = tmp_path / f"t.{suffix}.gz"
    path.write_bytes(gzip.compress(FORMATS[suffix](tmp_path)))
    assert table_leakage(path).rows == FRAME.height


@every_format
def test_missing_and_exclude_hold_for_every_format(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(FORMATS[suffix](tmp_path))
    report = table_leakage(str(path), exclude=["age"])
    assert report.columns == ("sex",)
    table = read_table(path, missing=["9"])
    assert values_of(table)["age"].count("None") == 9
    assert table_leakage(path, missing=[9], na="drop").rows == 36
    if suffix not in ("csv", "tsv"):
        with pytest.raises(ValueError, match="names its columns itself"):
            read_table(path, header=False)


def test_the_mean_takes_a_path(tmp_path):
    path = tmp_path / "t.parquet"
    FRAME.write_parquet(path)
    assert mean_leakage(path).highest == mean_leakage(FRAME).highest
    with pytest.raises(TypeError, match=r"not a LazyFrame. Call its collect\(\) first"):
        mean_leakage(FRAME.lazy())


def test_packed_files_may_have_parts(tmp_path):
    for suffix, pack in ((".gz", gzip.compress), (".zst", zstd)):
        path = tmp_path / f"t.csv{suffix}"
        path.write_bytes(pack(CSV[:17]) + pack(CSV[17:]))
        assert values_of(read_table(path)) == EXPECTED


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_cut_or_changed_packed_file_is_refused(tmp_path, suffix):
    rng = np.random.default_rng(1)
    rows = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rng.integers(0, 99, (9000, 2)))
    packed = (gzip.compress if suffix == "gz" else zstd)(rows.encode())
    path = tmp_path / f"t.csv.{suffix}"
    for size in (len(packed) - 1, len(packed) // 2, 20, 3):
        path.write_bytes(packed[:size])
        with pytest.raises(ValueError, match=rf"t\.csv\.{suffix} is a damaged \.{suffix} file"):
            read_table(path)
    changed = bytearray(packed)
    changed[len(packed) // 2] ^= 255
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=r"t\.csv"):
        read_table(path)
    path.write_bytes(packed + b"more")
    with pytest.raises(ValueError, match="is a damaged"):
        read_table(path)


@pytest.mark.parametrize("suffix", ["arrow", "feather", "arrows", "dta", "sav", "zsav"])
def test_a_cut_file_is_refused(tmp_path, suffix):
    whole = FORMATS[suffix](tmp_path)
    path = tmp_path / f"t.{suffix}"
    for size in {*range(1, len(whole), 1 + len(whole) // 40), len(whole) - 1}:
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"t\."):
            read_table(path)


def test_a_cut_transport_file_is_refused_but_between_records(tmp_path):
    """The format has no end mark."""
    whole = by_pyreadstat(tmp_path, "xpt")
    path = tmp_path / "t.xpt"
    path.write_bytes(whole[:-7])
    with pytest.raises(ValueError, match=r"t\.xpt is a damaged SAS transport file \(it ends"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        (
            "t.csv",
            gzip.compress(CSV, mtime=0),
            {},
            "is not the .csv file that its name states: it holds gzip",
        ),
        ("t.csv.gz", CSV, {}, "is a damaged .gz file (Error -3 while decompressing data"),
        (
            "t.csv.gz",
            gzip.compress(b"PAR1", mtime=0),
            {},
            "is not the .csv.gz file that its name states: it holds",
        ),
        ("t.csv.gz", gzip.compress(b"", mtime=0), {}, "is empty"),
        ("t.dat", b"PAR1", {"format": "csv"}, "is not of the format csv: it holds Parquet. Name"),
        ("t.dta", CSV, {}, "is not the .dta file that its name states: it holds something else"),
        ("t.sav", b"PAR1", {}, "is not the .sav file that its name states: it holds Parquet"),
        (
            "t.sas7bdat",
            b"PAR1",
            {},
            "is not the .sas7bdat file that its name states: it holds Parquet",
        ),
        (
            "t.feather",
            CSV,
            {},
            "is not the .feather file that its name states: it holds something else",
        ),
        ("t.gz", gzip.compress(CSV, mtime=0), {}, "must end in .csv, .tsv"),
    ],
)
def test_what_is_not_what_it_says_is_refused(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match="t") as caught:
        read_table(path, **options)
    assert str(caught.value).startswith(f"{path} {message}")


def test_a_format_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"format must be one of csv, .*; got format = 'xlsx'"):
        read_table(tmp_path / "t.csv", format="xlsx")


def test_codes_with_labels_stay_codes(tmp_path):
    """Two codes may have one label; what the file calls missing, and empty text, is missing."""
    frame = pl.DataFrame({"sex": [1, 2, 1, 9], "kind": [1, 2, 3, 3], "name": ["a", "", "b", "b"]})
    labels = {"sex": {1: "m", 2: "f", 9: "refused"}, "kind": {1: "x", 2: "x"}}
    options = {"variable_value_labels": labels, "missing_ranges": {"sex": [9]}}
    content = by_pyreadstat(tmp_path, "sav", frame, **options)
    path = tmp_path / "t.sav"
    path.write_bytes(content)
    assert values_of(read_table(path)) == {
        "sex": ["1.0", "2.0", "1.0", "None"],
        "kind": ["1", "2", "3", "3"],
        "name": ["a", "None", "b", "b"],
    }
    with pytest.raises(ValueError, match=r"columns must be columns of the table; got .* 'Sex'"):
        read_table(path, ["Sex"])


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("pyreadstat", "t.dta", "statistical"),
        ("zstandard", "t.csv.zst", "zstd"),
        ("pyarrow", "t.arrow", "dataframe"),
    ],
)
def test_an_extra_that_is_missing_is_named(tmp_path, monkeypatch, module, name, extra):
    if module == "zstandard" and sys.version_info >= (3, 14):
        pytest.skip("Python unpacks zstd itself")
    path = tmp_path / name
    content = {"t.dta": b"<stata_dta>", "t.csv.zst": b"\x28\xb5\x2f\xfd", "t.arrow": b"ARROW1"}
    path.write_bytes(content[name])
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"{name} takes .*mialeak\[{extra}\]"):
        read_table(path)


def shell(monkeypatch, capsys, content, *words):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_the_shell_reads_standard_input(monkeypatch, capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)
    for command in ("table", "mean"):
        expected = shell(monkeypatch, capsys, b"", command, str(path))
        assert expected[0] == 0
        assert shell(monkeypatch, capsys, CSV, command, "-") == expected
        packed = gzip.compress(CSV, mtime=0)
        assert shell(monkeypatch, capsys, packed, command, "-", "--format", "csv.gz") == expected
    page = tmp_path / "t.html"
    assert shell(monkeypatch, capsys, CSV, "table", "-", "--html", str(page))[0] == 0
    code, _, err = shell(monkeypatch, capsys, gzip.compress(CSV, mtime=0), "table", "-")
    assert code == 1
    assert "standard input is not of the format csv: it holds gzip. Name the format with --f" in err
    code, _, err = shell(monkeypatch, capsys, b"", "table", "-")
    assert (code, err) == (1, "mialeak: error: standard input is empty\n")
    code, _, err = shell(monkeypatch, capsys, b"1,2\n3,4\n1,2\n", "table", "-")
    assert "Pass --names A,B,... or --no-header" in err
    assert shell(monkeypatch, capsys, b"1,2\n3,4\n1,2\n", "table", "-", "--no-header")[0] == 0


def test_a_format_is_that_of_the_file_alone(monkeypatch, capsys, tmp_path):
    register = tmp_path / "register.parquet"
    FRAME.write_parquet(register)
    sample = tmp_path / "sample.dat"
    sample.write_bytes(FRAME.head(5).with_columns(pl.col("age").cast(str)).write_csv().encode())
    line = ["table", str(sample), "--format", "csv", "--population", str(register)]
    code, _, err = shell(monkeypatch, capsys, b"", *line, "--columns", "sex")
    assert (code, err) == (0, "")


def test_views_of_strings_are_strings():
    views = pa.table({"a": pa.array(["x", "y", "x"], pa.string_view())})
    assert table_leakage(views, missing="y", na="drop").rows == 2
    assert table_leakage(pd.DataFrame({"a": ["x", "y", "x"]})).n_cells == 2


@pytest.mark.parametrize("marker", ["DK", "sex=DK"])
def test_a_label_passed_for_a_missing_value_is_refused_with_its_code(tmp_path, capsys, marker):
    pyreadstat = pytest.importorskip("pyreadstat")
    columns = {"sex": [1.0, 2.0, 9.0] * 20, "age": [30, 40, 50] * 20, "job": [1.0, 2.0, 98.0] * 20}
    frame = pa.table(columns).to_pandas()
    labels = {"sex": {1: "m", 2: "f", 9: "DK"}, "job": {98: "DK"}}
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), variable_value_labels=labels)
    line = ["table", str(tmp_path / "t.dta"), "--na", "drop", "--missing"]
    assert main([*line, marker]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "Codes are read, not their labels: pass 'sex=9'" in told
    assert ("'job=98'" in told) == (marker == "DK")
    assert main([*line, "sex=9"]) == 0
