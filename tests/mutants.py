"""Do the tests notice a change of a kernel or a law?  ``python tests/mutants.py --count 60``.

Changes the sources one place at a time (an operator, a comparison, a constant, the arms of a
choice) and runs the tests.  The kernels are built anew for one instruction set, and asked in this
order: are the stored points still within the stored errors, are the edges met, are the bits still
those promised?  Of the laws in Python, ``--file populations.py``, the tests in `LAWS` are run.
Needs gcc, x86-64 with AVX2, and the kernels built in place (see CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import collections
import io
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
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
#: The laws in Python and their tests: ``test_populations*.py`` for populations.
LAWS = {
    "certificates.py": "certificates",
    "populations.py": "populations strata_and_panels",
    "discrete/_register.py": "populations table_population discrete",
    "laws/_chain_fit.py": "chain",
    "laws/_first_order.py": "chain",
    "laws/_second_order.py": "chain",
    "laws/_forward.py": "chain",
    "exact/_ratio_laws.py": "chain exact",
    "mechanisms/_cell_keys.py": "protections mechanisms cli_protections",
    "mechanisms/_pipeline.py": "protections mechanisms",
    "mechanisms/_post_randomisation.py": "protections mechanisms",
    "mechanisms/_swapping.py": "protections mechanisms",
    "tables/_protected_secrets.py": "protected_secrets",
    "releases/_attack.py": "release",
    "releases/_enumeration.py": "release",
    "releases/_modular.py": "release",
    "releases/_scopes.py": "release",
    "tradeoff/_far_bounds.py": "compose",
    "_numerics/losses.py": "compose",
    "_numerics/loss_grids.py": "compose",
    "_numerics/laplace_losses.py": "compose",
    "_numerics/normal_losses.py": "compose",
    "_numerics/normal_options.py": "compose",
    "_numerics/rank_tests.py": "audit shadow_audit",
    "auditing/_calibrated.py": "audit training_known",
    "auditing/_shadow_pairs.py": "shadow_audit",
    "auditing/_stream.py": "audit_stream",
}
#: What becomes what in Python: the other of its pair.
PAIRS = "+ - * / < <= > >= == != & | and or min max minimum maximum any all True False ceil floor"
WORDS = PAIRS.split()
TOKENS = dict(zip(WORDS, (WORDS[place ^ 1] for place in range(len(WORDS))), strict=True))
#: Which tests of a file with its own ask for instruction sets that are not there.
ELSEWHERE = "not instruction_set and not processor"


class Mutant(NamedTuple):
    """One change."""

    file: str
    line: int
    before: str
    after: str


def mutants_of(file: str) -> Iterator[Mutant]:
    """Every change of the code of a file, not of its comments, texts and imports."""
    return laws_of(file) if file in LAWS else kernels_of(file)


def laws_of(file: str) -> Iterator[Mutant]:
    source = (ROOT / "mialeak" / file).read_text()
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row, column = token.start[0] - 1, token.start[1]
        line = lines[row] if token.string else ""
        if line.startswith(("import ", "from ", "    from ", "def ", "class ", "@")):
            continue
        if token.string == "0.0":
            continue  # stays what it is
        if token.type == tokenize.NUMBER:
            new = f"({token.string} + 1)" if token.string.isdigit() else f"({token.string} * 1.25)"
        elif token.string in TOKENS and token.type in (tokenize.OP, tokenize.NAME):
            new = TOKENS[token.string]
        else:
            continue
        yield Mutant(file, row, line, line[:column] + new + line[column + len(token.string) :])


def kernels_of(file: str) -> Iterator[Mutant]:
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


def put(mutant: Mutant, work: Path) -> bool:
    """Put the changed code into the copy of the package; False if it does not compile."""
    folder = "mialeak" if mutant.file in LAWS else "src_c"
    whole = (ROOT / folder / mutant.file).read_text().splitlines()
    whole[mutant.line] = mutant.after
    text = "\n".join(whole) + "\n"
    (work / folder / mutant.file).write_text(text)
    if folder == "src_c":
        return build(mutant, work)
    try:
        compile(text, mutant.file, "exec")
    except SyntaxError:
        return False
    return True


def build(mutant: Mutant, work: Path) -> bool:
    """The kernels of changed sources; False if they do not compile."""
    source, changed = work / "src_c", work / "src_c" / mutant.file
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


def stages_of(changed: str) -> dict[str, str]:
    """The tests to ask; those named after the file come first."""
    stems = LAWS.get(changed, Path(changed).stem.rstrip("s")).split() if changed else []
    own = [each for stem in stems for each in sorted(ROOT.glob(f"tests/test_{stem}*.py"))]
    names = " ".join(str(each.relative_to(ROOT)) for each in own)
    stages = {"own tests": f"{names} -k {ELSEWHERE}"} if own else {}
    return stages if changed in LAWS else stages | STAGES


def killed_by(work: Path, changed: str = "") -> str | None:
    """The first stage that fails, or None."""
    for name, arguments in stages_of(changed).items():
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
    choices = (*FILES, *LAWS)
    parser.add_argument("--file", choices=choices, help="change this file only, not all kernels")
    arguments = parser.parse_args()
    chosen = [arguments.file] if arguments.file else FILES
    everything = [mutant for file in chosen for mutant in mutants_of(file)]
    random.Random(arguments.seed).shuffle(everything)
    seen: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("src_c", "tests", "mialeak", "docs"):
            shutil.copytree(ROOT / name, work / name)
        shutil.copy(ROOT / "pyproject.toml", work)
        (work / "src_c/mutant.c").write_text(SOURCE)
        line = (ROOT / "src_c" / FILES[0]).read_text().splitlines()[0]
        same = arguments.file if arguments.file in LAWS else ""
        built = bool(same) or put(Mutant(FILES[0], 0, line, line), work)  # a law needs no build
        if not built or (by := killed_by(work, same)):
            raise SystemExit(f"without any change: {by if built else 'does not compile'}")
        for mutant in everything:
            if seen.total() - seen["does not compile"] >= arguments.count:
                break
            by = (
                (killed_by(work, mutant.file) or "SURVIVES")
                if put(mutant, work)
                else "does not compile"
            )
            if mutant.file in LAWS:
                shutil.copy(ROOT / "mialeak" / mutant.file, work / "mialeak" / mutant.file)
            seen[by] += 1
            place = f"{mutant.file}:{mutant.line + 1}"
            print(f"{by:24} {place:18} {mutant.after.strip()}", flush=True)
    print(f"{len(everything)} places; " + ", ".join(f"{n} {by}" for by, n in seen.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
