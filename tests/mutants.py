"""Do the tests of these laws notice a change of a kernel?  ``python tests/mutants.py --count 60``.

Changes the sources of the kernels one place at a time (an operator, a comparison, a constant, the
arms of a choice), builds the kernels anew for one instruction set and asks, in this order: are the
stored points still within the stored errors, are the edges met, are the bits still those promised?
Needs gcc, x86-64 with AVX2, and the kernels built in place (see CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_LIST = (ROOT / "src_c" / "mialeak.h").read_text()
#: The headers of elementwise functions, as mialeak.h lists them, and what they rest on.
FILES = (
    *re.findall(r"/\* (\w+\.h) \*/", _LIST.partition("#define MIAL_KERNELS")[0]),
    "numerics.h",
    "fraction.h",
    "leakage.h",
    "scores.h",
    "chains.h",
)
FLAGS = ["-O1", "-std=c11", "-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fPIC"]

#: What becomes what; the arms of a choice are exchanged by `swapped`.
CHANGES = {
    " + ": [" - "],
    " - ": [" + "],
    " * ": [" / "],
    " / ": [" * "],
    "le(": ["lt("],
    "lt(": ["le("],
    " & ": [" | "],
    " | ": [" & "],
    " < ": [" <= "],
}
NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+(?:e-?\d+)?|0x1(?:\.[\da-f]+)?p-?\d+)(?![\w.])")
CHOICE = re.compile(r"pick\(([^(),]+|\w+\([^()]*\)), ([^(),]+), ([^(),]+)\)")

#: The table of one instruction set, and names for those that are not there.
SOURCE = """
#define MIAL_X86
#define MIAL_FMA
#define MIAL_LANES 4
#include "system.h"
#pragma GCC target("avx2,fma")
#include "families.h"
const mial_kernels mial_avx2 = MIAL_TABLE("avx2");
const mial_kernels mial_avx512 = {.isa = "none"}, mial_sse2 = {.isa = "none"};
const mial_kernels mial_scalar = {.isa = "none"};
"""

#: Tests in the order in which they are asked, cheapest first.
STAGES = {
    "stored errors": "tests/test_special_accuracy.py -k worse or stored or edge",
    "promised bits": "tests/test_bits.py -k results_have",
    "fresh points and seams": "tests/test_special_accuracy.py -k fresh or seam or neighbours",
    "domain": "tests/test_special_domain.py",
    "leakage": "tests/test_leakage_kernels.py",
}
#: Which tests of a file with its own ask for instruction sets that are not there.
ELSEWHERE = "not instruction_set and not processor"


class Mutant(NamedTuple):
    """One change."""

    file: str
    line: int
    before: str
    after: str


def mutants_of(file: str) -> Iterator[Mutant]:
    """Every change of the code of a file, not of its comments."""
    inside = False
    for number, line in enumerate((ROOT / "src_c" / file).read_text().splitlines()):
        code = line.partition("/*")[0]
        if inside or not code.strip() or code.lstrip().startswith(("*", "#include", "#if")):
            inside = "*/" not in line if inside else inside
            continue
        inside = "/*" in line and "*/" not in line
        rest = line[len(code) :]
        for old, others in CHANGES.items():
            for match in re.finditer(re.escape(old), code):
                for new in others:
                    changed = code[: match.start()] + new + code[match.end() :]
                    yield Mutant(file, number, line, changed + rest)
        for match in NUMBER.finditer(code):
            if match[0] == "0.0":
                continue  # stays what it is
            changed = code[: match.start()] + f"({match[0]} * 1.25)" + code[match.end() :]
            yield Mutant(file, number, line, changed + rest)
        for match in CHOICE.finditer(code):
            swapped = f"pick({match[1]}, {match[3]}, {match[2]})"
            yield Mutant(
                file, number, line, code[: match.start()] + swapped + code[match.end() :] + rest
            )


def build(mutant: Mutant, work: Path) -> bool:
    """Put the changed kernels into the copy of the package; False if they do not compile."""
    source, changed = work / "src_c", work / "src_c" / mutant.file
    whole = (ROOT / "src_c" / mutant.file).read_text().splitlines()
    whole[mutant.line] = mutant.after
    changed.write_text("\n".join(whole) + "\n")
    try:
        compiled = subprocess.run(
            ["gcc", *FLAGS, "-w", f"-I{source}", "-c", source / "mutant.c", "-o", work / "m.o"],
            capture_output=True,
        )
        if compiled.returncode:
            return False
        built = next(ROOT.glob("build/temp*"))
        objects = [each for each in built.glob("src_c/*.o") if not each.name.startswith("isa_")]
        objects += [*built.glob("build/cython/**/table.o"), work / "m.o"]
        library = next((work / "mialeak/_kernels").glob("table.*.so"))
        subprocess.run(["gcc", "-shared", *objects, "-o", library], check=True)
        return True
    finally:
        shutil.copy(ROOT / "src_c" / mutant.file, changed)


def killed_by(work: Path, changed: str = "") -> str | None:
    """The first stage that fails, or None; the tests named after the file come first."""
    own = sorted(ROOT.glob(f"tests/test_{Path(changed).stem.rstrip('s')}*.py")) if changed else []
    names = " ".join(str(each.relative_to(ROOT)) for each in own)
    stages = {"own tests": f"{names} -k {ELSEWHERE}"} if own else {}
    for name, arguments in (stages | STAGES).items():
        files, _, chosen = arguments.partition(" -k ")
        options = ["-k", chosen] if chosen else []
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "no:xdist", "-p", "no:benchmark", *files.split(), *options]
        environment = {"MIALEAK_ISA": "avx2", "PATH": "/usr/bin:/bin", "HOME": str(work)}
        try:
            run = subprocess.run(
                command, cwd=work, env=environment, capture_output=True, timeout=600
            )
        except subprocess.TimeoutExpired:
            return f"{name} (no end)"
        if run.returncode == 5:
            raise SystemExit(f"no tests for {name}")
        if run.returncode:
            return name
    return None


def main() -> int:
    """Print a line for each mutant, and how many were noticed by what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", choices=FILES, help="change this file only")
    arguments = parser.parse_args()
    chosen = [arguments.file] if arguments.file else FILES
    everything = [mutant for file in chosen for mutant in mutants_of(file)]
    random.Random(arguments.seed).shuffle(everything)
    seen: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("src_c", "tests", "mialeak"):
            shutil.copytree(ROOT / name, work / name)
        shutil.copy(ROOT / "pyproject.toml", work)
        (work / "src_c/mutant.c").write_text(SOURCE)
        line = (ROOT / "src_c" / FILES[0]).read_text().splitlines()[0]
        if not build(Mutant(FILES[0], 0, line, line), work) or (by := killed_by(work)):
            raise SystemExit(f"without any change: {by}")
        for mutant in everything:
            if seen.total() - seen["does not compile"] >= arguments.count:
                break
            by = (
                (killed_by(work, mutant.file) or "SURVIVES")
                if build(mutant, work)
                else "does not compile"
            )
            seen[by] += 1
            place = f"{mutant.file}:{mutant.line + 1}"
            print(f"{by:24} {place:18} {mutant.after.strip()}", flush=True)
    print(f"{len(everything)} places; " + ", ".join(f"{n} {by}" for by, n in seen.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
