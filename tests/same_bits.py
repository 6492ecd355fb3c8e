"""The same bits from every compiler and processor at hand: ``python tests/same_bits.py``.

Builds the kernels with each C compiler found, and for 64-bit ARM where a cross compiler and qemu
are (Debian: clang, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user), runs every instruction
set on the same points and prints a table; then the package itself with one, two and three workers.
Exits with 1 unless all hashes of each kind agree.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bits
import numpy as np
from fresh import in_fresh_python

ROOT = Path(__file__).parents[1]
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-ffp-contract=off", "-fno-math-errno"]
X86 = ("avx512", "avx2", "sse2", "scalar")
#: Name, compiler with its options, what runs the program, instruction sets.
BUILDS = (
    ("gcc -O3", ("gcc", "-O3"), (), X86),
    ("gcc -O1", ("gcc", "-O1"), (), ("avx2", "scalar")),
    ("clang -O3", ("clang", "-O3"), (), X86),
    ("clang-14 -O3", ("clang-14", "-O3"), (), X86),
    (
        "gcc aarch64, qemu",
        ("aarch64-linux-gnu-gcc", "-O3", "-static"),
        ("qemu-aarch64",),
        ("neon", "scalar"),
    ),
)


def points() -> bytes:
    """Count and columns, as kernels.c reads them."""
    columns = [*bits.inputs(bits.SEED, bits.POINTS), bits.law(bits.POINTS)]
    return np.uint64(bits.POINTS).tobytes() + b"".join(column.tobytes() for column in columns)


def package() -> set[str]:
    """The hashes of tests/bits.py, a row for each instruction set and number of workers."""
    seen = set()
    for isa in (*X86, "neon"):
        for workers in (1, 2, 3):
            run = in_fresh_python(f"import bits; print(bits.digest({workers}))", isa)
            if run.returncode == 0:
                seen.add(run.stdout)
                print(f"{f'package, {workers} workers':20} {isa:8} {run.stdout[:16]}")
    return seen


def main() -> int:
    """Print the table; 1 if two rows differ."""
    data, seen = points(), set()
    with tempfile.TemporaryDirectory() as folder:
        for name, compiler, runner, sets in BUILDS:
            if not all(map(shutil.which, (compiler[0], *runner))):
                print(f"{name:20} not at hand")
                continue
            program = Path(folder) / "kernels"
            sources = [*(ROOT / "src_c").glob("*.c"), ROOT / "tests" / "kernels.c"]
            command = [*compiler, *FLAGS, f"-I{ROOT / 'src_c'}", *map(str, sources)]
            subprocess.run([*command, "-lm", "-o", str(program)], check=True)
            for isa in sets:
                run = subprocess.run([*runner, str(program), isa], input=data, capture_output=True)
                if run.returncode == 2:
                    print(f"{name:20} {isa:8} not on this machine")
                    continue
                if run.returncode:
                    print(f"{name:20} {isa:8} failed with {run.returncode}: {run.stderr.decode()}")
                    return 1
                results = np.frombuffer(run.stdout, "<f8") + 0.0  # one sign for zero
                seen.add(hashlib.sha256(results.tobytes()).hexdigest())
                print(f"{name:20} {isa:8} {hashlib.sha256(results.tobytes()).hexdigest()[:16]}")
    found = len(seen), len(package())
    print("all the same" if found == (1, 1) else f"{found[0]} and {found[1]} different results")
    return 0 if found == (1, 1) else 1


if __name__ == "__main__":
    sys.exit(main())
