"""The lines and branches of src_c that ran, from what gcov recorded in build/.

Every instruction set has its own copy of a line.  It ran if one of the copies did; its branches are
those of the copy that took the largest share of them.
"""

from __future__ import annotations

import collections
import json
import subprocess
from pathlib import Path


def main() -> None:
    """Print a row for each file, and the lines that did not run."""
    ran: dict[str, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    taken: dict[tuple[str, int], tuple[int, int]] = {}
    for data in Path("build").glob("temp*/src_c/*.gcda"):
        command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", data]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for file in json.loads(report)["files"]:
            name = Path(file["file"])
            if name.parent.name != "src_c":
                continue
            for line in file["lines"]:
                ran[name.name][line["line_number"]] += line["count"]
                branches = [branch["count"] > 0 for branch in line["branches"]]
                place = name.name, line["line_number"]
                some, size = sum(branches), len(branches)
                most, of = taken.get(place, (-1, 1))
                if some * of > most * size:
                    taken[place] = some, size
    print(f"{'file':20} {'lines':>6} {'ran':>7} {'branches':>9} {'taken':>7}  not run")
    totals = collections.Counter()
    for name, lines in sorted(ran.items()):
        here = [best for (file, _), best in taken.items() if file == name]
        counts = {
            "lines": len(lines),
            "ran": sum(count > 0 for count in lines.values()),
            "branches": sum(size for _, size in here),
            "taken": sum(some for some, _ in here),
        }
        totals.update(counts)
        missing = " ".join(str(number) for number, count in sorted(lines.items()) if not count)
        print_row(name, counts, missing)
    print_row("all", totals, "")


def print_row(name: str, counts: dict[str, int], missing: str) -> None:
    """One line of the table."""
    lines, branches = counts["lines"], counts["branches"]
    ran = counts["ran"] / lines
    taken = counts["taken"] / branches if branches else 1.0
    print(f"{name:20} {lines:6} {ran:7.1%} {branches:9} {taken:7.1%}  {missing}")


if __name__ == "__main__":
    main()
