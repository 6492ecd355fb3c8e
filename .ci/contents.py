"""Check what an sdist and a wheel hold.

    git ls-files | python .ci/contents.py dist/x.tar.gz dist/x.whl

The sdist holds the tracked files and nothing else, so no generated C; the wheel holds the package
with one compiled module for each .pyx, and no source of any.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

MADE_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}
NOT_DISTRIBUTED = {".gitignore", ".gitattributes", ".pre-commit-config.yaml"}
IN_NO_WHEEL = {".c", ".h", ".pyx", ".pxd", ".pxi"}
LARGEST_WHEEL = 2_500_000  # bytes; one with debug symbols is several times as large


def check_sdist(path: str, tracked: set[str]) -> None:
    """Compare the sdist with the tracked files."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames() if "/" in name}
        files = {name for name in names if not any(n.startswith(name + "/") for n in names)}
    files = {name for name in files if not name.startswith("mialeak.egg-info")}
    print(f"{Path(path).name}: {len(files)} files, {Path(path).stat().st_size:,} bytes")
    wanted = {name for name in tracked - NOT_DISTRIBUTED if not name.startswith(".github/")}
    refuse("not in the sdist", wanted - files)
    refuse("in the sdist, yet not tracked", files - tracked - MADE_BY_SETUPTOOLS)


def check_wheel(path: str, tracked: set[str]) -> None:
    """Compare the wheel with the package's tracked files."""
    with zipfile.ZipFile(path) as archive:
        files = {PurePosixPath(info.filename): info.file_size for info in archive.infolist()}
    size = Path(path).stat().st_size
    print(f"{Path(path).name}: {len(files)} files, {size:,} bytes")
    for file, bytes_ in sorted(files.items()):
        print(f"{bytes_:>10,}  {file}")
    outside = {f for f in files if f.parts[0] != "mialeak" and ".dist-info" not in f.parts[0]}
    refuse("outside the package", outside)
    refuse("source in the wheel", {file for file in files if file.suffix in IN_NO_WHEEL})
    wanted = {PurePosixPath(name) for name in tracked if name.startswith("mialeak/")}
    kernels = {file for file in wanted if file.suffix == ".pyx"}
    wanted = {f for f in wanted if f.suffix not in IN_NO_WHEEL and "_build" not in f.parts}
    refuse("not in the wheel", wanted - set(files))
    compiled = {str(f).partition(".")[0] for f in files if f.suffix in {".so", ".pyd"}}
    refuse("not compiled", {file for file in kernels if str(file.with_suffix("")) not in compiled})
    if size > LARGEST_WHEEL:
        refuse(f"larger than {LARGEST_WHEEL:,} bytes", {path})


def refuse(what: str, files: set) -> None:
    """Stop if there are any."""
    if files:
        raise SystemExit(f"{what}: {', '.join(sorted(map(str, files)))}")


if __name__ == "__main__":
    tracked_files = set(sys.stdin.read().split())
    check_sdist(sys.argv[1], tracked_files)
    check_wheel(sys.argv[2], tracked_files)
