"""Files in: what is read, and what is refused with the place named."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from mialeak._columns import factor_from_values
from mialeak._files import delimited
from mialeak._files.tables import read_table


def decoded(table):
    return {
        name: [factor.value(int(code)) for code in factor.codes] for name, factor in table.items()
    }


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,x\n2,y\n", {"a": ["1", "2"], "b": ["x", "y"]}),
        ("a,b\r\n1,x\r\n2,y", {"a": ["1", "2"], "b": ["x", "y"]}),
        ("\ufeffa,b\n1,x\n", {"a": ["1"], "b": ["x"]}),
        ("a,b\n01,?\n1,\n,NA\n", {"a": ["01", "1", None], "b": ["?", None, "NA"]}),
        ('a,b\n"1,5","two\nlines"\n"q""q",\n', {"a": ["1,5", 'q"q'], "b": ["two\nlines", None]}),
        ("a,b\n1,x\n\n\n", {"a": ["1"], "b": ["x"]}),
        ("a\n1\n\n", {"a": ["1"]}),
        ('a\n1\n""\n', {"a": ["1", None]}),
        ("a,b\n", {"a": [], "b": []}),
        ("ä,b\n日本,x\n", {"ä": ["日本"], "b": ["x"]}),
    ],
)
def test_csv_values_are_kept_as_written_and_only_empty_is_missing(write, text, expected):
    assert decoded(read_table(write("t.csv", text))) == expected


@pytest.mark.parametrize("text", ["0,1\n5,6\n", "2019,2020\n5,6\n", "a,b\n"])
def test_names_of_columns_may_be_numbers(write, text):
    assert list(read_table(write("t.csv", text))) == text.split()[0].split(",")


def test_csv_takes_other_delimiters(write):
    assert decoded(read_table(write("t.tsv", "a\tb\n1\tx,y\n"))) == {"a": ["1"], "b": ["x,y"]}
    path = write("t.csv", "a;b\n1;x,y\n")
    assert decoded(read_table(path, delimiter=";")) == {"a": ["1"], "b": ["x,y"]}


def test_csv_reads_the_chosen_columns_in_the_order_asked_for(write):
    assert list(read_table(write("t.csv", "a,b,c\n1,2,3\n"), ["c", "a"])) == ["c", "a"]


fields = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)


@given(st.lists(st.tuples(fields, fields)), st.integers(1, 3))
def test_csv_gives_back_what_was_written_without_the_spaces_around_it(
    tmp_path_factory, rows, block
):
    import csv

    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("column a", "column b"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", block)
        table = decoded(read_table(path))
    assert list(zip(table["column a"], table["column b"], strict=True)) == [
        tuple(field.strip() or None for field in row) for row in rows
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "a,b\n1,2\n3\n", "line 3 has 1 field where the header has 2"),
        ("t.csv", "a,b\n1,2\n3,4,5\n6,7\n", "line 3 has 3 fields where the header has 2"),
        ("t.csv", 'a,b\n"x\ny",2\n3\n', "line 4 has 1 field where the header has 2"),
        ("t.csv", "a,b\n1,2\n\n\n3,4\n", "line 3 is blank, and it is not the last"),
        ("t.csv", 'a,b\n1,2\n"x"y,4\n', "line 3: ',' expected after '\"'"),
        ("t.csv", 'a,b\n1,"2\n', "line 2: unexpected end of data"),
        (
            "t.csv",
            "a,b\n" + "x" * 200_000 + ",2\n",
            "line 2: field larger than field limit (131072)",
        ),
        ("t.csv", "a,b,a\n1,2,3\n", "has two columns of one name: columns 1 and 3 are 'a'"),
        ("t.csv", "\na,b\n1,2\n", "must have the names of its columns in line 1, which is blank"),
        (
            "t.csv",
            "a;b\n1;2\n",
            "has a single column; if ';' divides its columns, name it with delimiter",
        ),
        (
            "t.csv",
            "a\tb\n1\t2\n",
            r"has a single column; if '\t' divides its columns, name it with delimiter",
        ),
        (
            "t.csv",
            b"a,b\n1,2\n\xe9,3\n",
            "must be UTF-8; got byte 0xe9 in line 3. Convert it (iconv -f CP1252 -t UTF-8)",
        ),
        (
            "t.csv",
            "2.35e+00\n1.87e+00\n",
            "must have the names of its columns in line 1, which looks like data: its field 1 is "
            "a number above numbers. Pass",
        ),
        (
            "t.csv",
            "0,1,0\n1,1,2\n",
            "must have the names of its columns in line 1, which looks like data: its field 1 is "
            "a number above numbers",
        ),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"PAR1....", "is not the .csv file that its name states: it holds Parquet"),
        (
            "t.csv",
            b"a,b\n1,\0\n",
            "is not the .csv file that its name states: it holds binary data",
        ),
        (
            "t.csv",
            "a,b\n1,2\n".encode("utf-16"),
            "must be UTF-8; it holds UTF-16 text. Convert it (iconv -f UTF-16 -t UTF-8)",
        ),
        (
            "t.tsv",
            b"PK\x03\x04...",
            "is not the .tsv file that its name states: it holds a zip archive (such as .npz or",
        ),
        ("t.csv", b"\x1f\x8b...", "is not the .csv file that its name states: it holds gzip"),
        (
            "t.parquet",
            "a,b\n1,2\n",
            "is not the .parquet file that its name states: it holds something else",
        ),
        (
            "t.parquet",
            b"\x93NUMPY",
            "is not the .parquet file that its name states: it holds NumPy .npy",
        ),
        ("t.npy", b"PAR1", "is not the .npy file that its name states: it holds Parquet"),
        ("t.npz", b"\x93NUMPY", "is not the .npz file that its name states: it holds NumPy .npy"),
        ("t.npy", b"\x93NUMPY\x01\x00", "is damaged or holds Python objects, which are not read"),
        (
            "t.npz",
            b"PK\x03\x04...",
            "is damaged or holds Python objects, which are not read (File is not a zip file)",
        ),
        ("t.parquet", b"PAR1 and no more PAR1", "is a damaged Parquet file"),
        ("t.xlsx", b"PK\x03\x04...", "must be a table of a format that is read"),
        (
            "t.dat",
            b"PK\x03\x04...",
            "must end in .csv, .tsv, .parquet, .arrow, .npy, .npz, .dta, .sav, .sas7bdat, .xpt, "
            ".vcf, .bed, .raw or .afreq, "
            "or in one of these with .gz or .zst",
        ),
    ],
)
def test_bad_files_are_refused_with_the_place_named(write, name, content, message):
    path = write(name, content)
    with pytest.raises(ValueError, match="t\\.") as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path} {message}")


@pytest.mark.parametrize("block", [1, 2, 3, 4])
def test_ragged_lines_are_named_whatever_the_block(write, monkeypatch, block):
    monkeypatch.setattr(delimited, "_BLOCK", block)
    with pytest.raises(ValueError, match="line 4 has 3 fields where the header has 2"):
        read_table(write("t.csv", "a,b\n1,2\n3,4\n5,6,7\n"))
    assert decoded(read_table(write("t.csv", "a,b\n1,2\n3,4\n\n\n\n"))) == {
        "a": ["1", "3"],
        "b": ["2", "4"],
    }


def test_a_missing_file_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "t.csv")


def test_an_index_that_pandas_wrote_is_refused_unless_columns_are_chosen(tmp_path):
    frame = pd.DataFrame({"a": [1, 1, 2]}, index=[5, 7, 9])
    frame.to_csv(tmp_path / "index.csv")
    frame.to_parquet(tmp_path / "index.parquet")
    for name, called in (("index.csv", "column 1 is called ''"), ("index.parquet", "column 2 is")):
        with pytest.raises(ValueError, match=f"has the row numbers .*{called}.* with index=False"):
            read_table(tmp_path / name)
        assert len(read_table(tmp_path / name, ["a"])) == (1 if name.endswith("csv") else 3)
    assert decoded(read_table(tmp_path / "index.csv", ["", "a"]))[""] == ["5", "7", "9"]
    frame.reset_index(drop=True).to_parquet(tmp_path / "none.parquet")
    assert read_table(tmp_path / "none.parquet").column_names == ["a"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"pipe\.csv must be a file, not a pipe"):
        read_table(tmp_path / "pipe.csv")


def test_a_delimiter_is_one_character(write):
    with pytest.raises(ValueError, match="must be one character; got delimiter = ''"):
        read_table(write("a.csv", "a,b\n1,2\n"), delimiter="")
    with pytest.raises(ValueError, match="delimiter must be one character; got delimiter = ', '"):
        read_table(write("t.csv", "a,b\n"), delimiter=", ")


def test_parquet_reads_the_chosen_columns(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table(
        {"a": [1, None], "b": ["x", "y"], "c": pa.array(["u", "u"]).dictionary_encode()}
    )
    pq.write_table(table, path)
    assert read_table(path).equals(table)
    assert read_table(path, ["c", "a"]).equals(table.select(["c", "a"]))
    with pytest.raises(ValueError, match=r"got columns\[0\] = 'd'. The table has 'a', 'b', 'c'"):
        read_table(path, ["d"])


def test_a_cut_parquet_file_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"t\.parquet is a damaged Parquet file \(.*\)"):
        read_table(path)


def test_parquet_without_pyarrow_names_the_command(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'takes pyarrow to read: pip install "mialeak\[datafr'):
        read_table(path)


def saved(tmp_path, **arrays):
    path = tmp_path / "t.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("array", "names"),
    [
        (np.arange(3), ["0"]),
        (np.arange(6).reshape(3, 2), ["0", "1"]),
        (np.zeros((0, 2)), ["0", "1"]),
        (np.array([(1, "x")], [("a", int), ("b", "U1")]), ["a", "b"]),
    ],
)
def test_arrays_are_tables(tmp_path, array, names):
    np.save(tmp_path / "t.npy", array)
    for path in (tmp_path / "t.npy", saved(tmp_path, only=array)):
        table = read_table(path)
        if path.suffix == ".npz" and array.ndim == 1 and not array.dtype.names:
            names = ["only"]
        assert list(table) == names
        whole = np.stack([table[name].astype("U") for name in names], axis=-1)
        fields = array.tolist() if array.dtype.names else array
        assert np.array_equal(whole, np.array(fields, dtype="U").reshape(whole.shape))


def test_the_arrays_of_an_archive_are_columns(tmp_path):
    table = read_table(saved(tmp_path, a=np.arange(2), b=np.array(["x", "y"])), ["b", "a"])
    assert list(table) == ["b", "a"]


def test_python_objects_are_never_read(tmp_path):
    objects = np.array([{}, []], object)
    np.save(tmp_path / "t.npy", objects)
    for path in (tmp_path / "t.npy", saved(tmp_path, a=objects)):
        with pytest.raises(ValueError, match="damaged or holds Python objects, which are not read"):
            read_table(path)


def test_a_damaged_archive_is_refused(tmp_path):
    path = saved(tmp_path, a=np.arange(1000))
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.npz is damaged .*Bad CRC-32 for file 'a"):
        read_table(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz"])
def test_damage_is_told_and_never_a_crash(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    columns = {"a": np.arange(20) % 3, "b": np.array(["x", "y"] * 10)}
    if suffix == ".csv":
        path.write_text('a,b\n1,x\n2,"y\nz"\n')
    elif suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif suffix == ".npy":
        np.save(path, np.rec.fromarrays(list(columns.values()), names="a,b"))
    else:
        np.savez_compressed(path, **columns)
    whole = path.read_bytes()
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(150):
        content = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            content[place] = rng.integers(0, 256)
        path.write_bytes(content[: rng.integers(1, 2 * len(whole))])
        try:
            for name, column in read_table(path).items() if suffix != ".parquet" else ():
                factor_from_values(column, name)
            read_table(path)
        except (ValueError, MemoryError):
            refused += 1
    assert refused


def test_arrays_of_three_dimensions_are_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"one or two dimensions; its shape is \(2, 3, 4\)"):
        read_table(tmp_path / "t.npy")


def test_csv_needs_numpy_alone(write):
    path = write("t.csv", "a\n1\n")
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pyarrow', 'narwhals', 'pandas', 'scipy']));"
        f"from mialeak._files.tables import read_table; print(list(read_table({str(path)!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "['a']\n", done.stderr
