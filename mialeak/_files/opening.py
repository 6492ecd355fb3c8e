"""What a table is read from: a file, packed or not, or standard input; and which format it has.

The suffix names the format, or the caller does (``format=``), as "csv", "parquet" or "csv.gz".
gzip and zstd are unpacked as the bytes are read, and a packed file that ends early is an error.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from mialeak._arrays import invalid
from mialeak._files.memory import Memory

__all__ = ["FORMATS", "STDIN", "VCF_HEAD", "TableFile", "inside_folder", "table_file"]

#: How a table of another format becomes a CSV.
_CONVERTERS = {
    **dict.fromkeys(
        (".xlsx", ".xls", ".ods"), "save the sheet as CSV, or pandas.read_excel(...).to_csv(...)"
    ),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "pandas.read_json(...).to_csv(...)"),
    **dict.fromkeys((".rds", ".rdata"), "write.csv(table, file, row.names = FALSE) in R"),
    **dict.fromkeys(
        (".pkl", ".pickle"), "pandas.read_pickle(...).to_csv(...), of a file you trust"
    ),
    ".html": "pandas.read_html(...)[0].to_csv(...)",
    ".pgen": "plink2 --pfile NAME --make-bed --out NAME",
    ".bgen": "plink2 --bgen FILE ref-first --make-bed --out NAME",
    ".ped": "plink2 --pedmap NAME --make-bed --out NAME",
    ".bcf": "bcftools view FILE -Oz -o NAME.vcf.gz",
    **dict.fromkeys(
        (".frq", ".frqx", ".acount", ".gcount", ".hardy"),
        "take the genotypes of the people; of sites, frequencies as plink2 --freq writes them "
        "(.afreq) are taken as panel",
    ),
    ".db": "export the table, or pass a relation of DuckDB to table_leakage",
}
#: What stands for standard input, and its name.
STDIN, _STANDARD_INPUT = "-", "standard input"
#: How a VCF and a file packed by gzip begin.
VCF_HEAD, _GZIP = b"##fileformat=VCF", b"\x1f\x8b"

#: Each format, and the suffixes that name it.
FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "npy": (".npy",),
    "npz": (".npz",),
    "dta": (".dta",),
    "sav": (".sav", ".zsav"),
    "sas7bdat": (".sas7bdat",),
    "xpt": (".xpt",),
    "vcf": (".vcf",),
    "bed": (".bed",),
    "raw": (".raw",),
    "afreq": (".afreq",),
}
_FORMAT_OF = {suffix: format for format, suffixes in FORMATS.items() for suffix in suffixes}

#: Suffixes of packed files.
_PACKED = (".gz", ".zst")

#: Text as Excel saves it under the name "Unicode text".
_UTF_16 = "UTF-16 text"

#: How files begin that are not what their suffix names.
_MAGIC = {
    b"PAR1": "Parquet",
    b"\x93NUMPY": "NumPy .npy",
    b"PK\x03\x04": "a zip archive (such as .npz or .xlsx)",
    _GZIP: "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"ARROW1": "Arrow",
    b"FEA1": "Feather",
    b"<stata_dta>": "Stata",
    b"$FL2": "SPSS",
    b"$FL3": "SPSS",
    b"HEADER RECORD*******LIB": "a SAS transport file",
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
}

#: Bytes looked at to see what a file holds, and read at a time.
_HEAD, _CHUNK = 2**16, 2**16

#: Packed bytes unpacked at a time: they become at most 4 MiB (gzip) and 32 MiB (zstd).
_PACKED_CHUNK = {".gz": 2**12, ".zst": 2**10}


@dataclass(frozen=True, eq=False)
class TableFile:
    """A file that holds a table; ``str`` gives its name for the errors.

    Attributes
    ----------
    path : Path or None
        None for standard input.
    format : str
        One of `FORMATS`.
    packed : str
        "", ".gz" or ".zst".
    named : bool
        Whether the caller named the format, not the suffix.
    """

    path: Path | None
    format: str
    packed: str
    named: bool
    _bytes: bytes
    _name: str = ""

    def __str__(self) -> str:
        return self._name or (_STANDARD_INPUT if self.path is None else str(self.path))

    @property
    def size(self) -> int:
        """Number of bytes, as they are stored."""
        return len(self._bytes) if self.path is None else self.path.stat().st_size

    def written_to(self, path: Path) -> TableFile:
        """Standard input as a file, for a reader that takes no bytes."""
        path.write_bytes(self._bytes)
        return replace(self, path=path, _bytes=b"", _name=str(self))

    @property
    def is_plain(self) -> bool:
        """Whether it is a file that is not packed."""
        return self.path is not None and not self.packed

    def open(self) -> BinaryIO:
        """The unpacked bytes, from the first one on; ValueError where they are damaged."""
        raw: Any = io.BytesIO(self._bytes) if self.path is None else self.path.open("rb")
        if not self.packed:
            return raw  # type: ignore[no-any-return]
        return io.BufferedReader(_Unpacked(raw, str(self), self.packed), _CHUNK)

    def seekable(self) -> BinaryIO:
        """The same, for formats that are not read from the first byte to the last."""
        if self.is_plain:
            return self.open()
        with self.open() as file:
            return self.memory().read(file)

    def memory(self) -> Memory:
        """What its content may take."""
        return Memory(self, "Unpack it first" if self.packed else "Choose fewer columns or rows")

    def lines(self, opened: BinaryIO) -> Iterator[bytes]:
        """The lines that are left of an open file; ValueError if one does not fit into memory."""
        memory = self.memory()
        longest = max(1, int(min(memory.limit / 2, sys.maxsize)))  # it is joined from its pieces
        while line := opened.readline(longest):
            if len(line) == longest and not line.endswith(b"\n"):
                memory.take(2.0 * longest + 2)
            yield line

    def head(self) -> bytes:
        """The first bytes; ValueError if there are none."""
        with self.open() as file:
            head = file.read(_HEAD)
        if not head:
            raise ValueError(f"{self} is empty")
        return head

    def check_head(self, *magic: bytes) -> None:
        """Refuse a file that begins with none of `magic`."""
        head = self.head()
        if not head.startswith(magic):
            self.refuse(_content(head) or "something else")

    def check_text(self) -> None:
        """Refuse a file that is no text."""
        head = self.head()
        content = _content(head) or ("binary data" if b"\0" in head else None)
        if content == _UTF_16:
            raise ValueError(
                f"{self} must be UTF-8; it holds {content}. Convert it "
                "(iconv -f UTF-16 -t UTF-8), or save it as CSV UTF-8"
            )
        if content:
            self.refuse(content)

    def refuse(self, content: str) -> NoReturn:
        """Refuse a file that holds something else than its format."""
        if self.path is not None and not self.named:
            suffix = "".join(self.path.suffixes[-2:] if self.packed else self.path.suffixes[-1:])
            raise ValueError(
                f"{self} is not the {suffix} file that its name states: it holds {content}"
            )
        raise ValueError(
            f"{self} is not of the format {self.format}{self.packed}: it holds {content}. Name "
            "the format with format"
        )

    def damaged(self, what: str, error: BaseException | str) -> NoReturn:
        """Refuse a damaged file."""
        text = " ".join(str(error).split())
        cause = error if isinstance(error, BaseException) else None
        raise ValueError(f"{self} is a damaged {what} file ({text})") from cause


def table_file(path: str | Path, format: str | None = None) -> TableFile:
    """The file at `path`, standard input for "-"; `format` overrules the suffix.

    Raises
    ------
    OSError
        If standard input cannot be read.
    ValueError
        If neither the suffix nor `format` is a known format, or `path` is a pipe.
    """
    where = None if str(path) == STDIN else Path(path)
    name = "." + format.lower().lstrip(".") if format is not None else (where.name if where else "")
    stem = name.lower()
    packed = next((suffix for suffix in _PACKED if stem.endswith(suffix)), "")
    suffix = Path("x" + stem.removesuffix(packed) if format else stem.removesuffix(packed)).suffix
    known = suffix.removeprefix(".") if format and suffix[1:] in FORMATS else _FORMAT_OF.get(suffix)
    if format is not None and known is None:
        rule = f"be one of {', '.join(FORMATS)}, or one of these with .gz or .zst"
        invalid("format", rule, value=format)
    if where is None:
        bytes_ = Memory(_STANDARD_INPUT, "Write it to a file").read(sys.stdin.buffer).getvalue()
        if known is None and bytes_:
            packed = ".gz" if bytes_.startswith(_GZIP) else ""
            vcf = TableFile(None, "vcf", packed, True, bytes_)
            if vcf.head().startswith(VCF_HEAD):
                return vcf
            packed = ""
        return TableFile(None, known or "csv", packed, True, bytes_)
    if where.is_fifo():
        raise ValueError(
            f"{where} must be a file, not a pipe: it is read more than once. Pass {STDIN!r} and "
            "write to standard input"
        )
    if known is None and where.suffix.lower() in _CONVERTERS:
        converter = _CONVERTERS[where.suffix.lower()]
        raise ValueError(
            f"{where} must be a table of a format that is read ({_listed()}). Convert it first: "
            f"{converter}"
        )
    if known is None:
        raise ValueError(
            f"{where} must end in {_listed()}, or in one of these with .gz or .zst, which states "
            "its format; rename it, or name its format with format"
        )
    return TableFile(where, known, packed, format is not None, b"")


def _listed() -> str:
    suffixes = [suffixes[0] for suffixes in FORMATS.values()]
    return f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"


def _content(head: bytes) -> str | None:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


class _Unpacked(io.RawIOBase):
    """The bytes of a packed file, which may have several parts; ValueError where it is damaged."""

    def __init__(self, raw: BinaryIO, name: str, packed: str) -> None:
        self._raw, self._name, self._packed = raw, name, packed
        self._new, self._errors = _unpacker(packed, name)
        self._part: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._fill():
                return 0
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _fill(self) -> bool:
        """Unpack the next chunk; False at the end."""
        chunk = b""
        if self._part is not None and self._part.eof:
            chunk = self._part.unused_data.lstrip(b"\0")  # gzip pads with zeros
            self._part = None
        chunk = chunk or self._raw.read(_PACKED_CHUNK[self._packed])
        if not chunk:
            if self._part is not None:
                self._refuse("it ends before its end mark")
            return False
        if self._part is None:
            if not (chunk := chunk.lstrip(b"\0") if self._packed == ".gz" else chunk):
                return True
            self._part = self._new()
        try:
            self._ready = memoryview(self._part.decompress(chunk))
        except self._errors as error:
            self._refuse(" ".join(str(error).split()))
        return True

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{self._name} is a damaged {self._packed} file ({why})")

    def close(self) -> None:
        self._raw.close()
        super().close()


def _unpacker(packed: str, name: str) -> tuple[Callable[[], Any], tuple[type[Exception], ...]]:
    """What unpacks one part of a file, and what it raises."""
    if packed == ".gz":
        return lambda: zlib.decompressobj(wbits=31), (zlib.error,)
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return zstd.ZstdDecompressor, (zstd.ZstdError, EOFError)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(
            f'{name} takes Python 3.14 or zstandard to unpack: pip install "mialeak[zstd]"'
        ) from error
    return lambda: zstandard.ZstdDecompressor().decompressobj(), (zstandard.ZstdError,)


def inside_folder(path: Path, name: Any, where: str) -> Path:
    """A file that a plan names: in the folder of the plan, or below it."""
    if not isinstance(name, str):
        invalid(f"{where} of {path.name}", "be the name of a file", value=name)
    folder = path.resolve().parent
    file = (folder / name).resolve()
    if not file.is_relative_to(folder):
        rule = "be a file in the folder of the plan or below it"
        invalid(f"{where} of {path.name}", rule, value=name)
    return file
