"""The history of the times of ``benchmarks/decades.py``: records, what fell, table and picture."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Times", "fallen", "markdown", "picture", "record", "records", "table"]

DOCS = Path(__file__).parents[1] / "docs"
HISTORY, PAGE, PICTURE = (
    DOCS / name for name in ("benchmarks_history.jsonl", "benchmarks.md", "_static/benchmarks.png")
)
MARKS = "<!-- decades -->", "<!-- /decades -->"

#: A row whose time is more than this times that of the last release has fallen.
FALLEN = 1.10

Times = dict[str, float]


def records() -> list[dict[str, Any]]:
    """All records, oldest first."""
    return [json.loads(line) for line in HISTORY.read_text().splitlines()]


def record(best: dict[str, Times], rounds: int, **more: Any) -> None:
    """Append a line: seconds an element, to three digits."""
    machine = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())[0]
    short = {
        name: {row: float(f"{taken:.3g}") for row, taken in by.items()} for name, by in best.items()
    }
    text = (DOCS.parent / "mialeak" / "_version.py").read_text()
    version = more.get("release") or re.findall(r'__version__ = "(.+)"', text)[0]
    line = {"date": str(datetime.date.today()), "version": version, "machine": machine,
            "rounds": rounds, **more, "seconds": short}  # fmt: skip
    with HISTORY.open("a") as file:
        file.write(json.dumps(line) + "\n")


def fallen(lines: list[dict[str, Any]]) -> list[str]:
    """Rows of the last record that are more than 10 % slower than in the last release.

    Where both records timed the same rival, the ratio to that counts: the machine drifts.
    """
    *earlier, last = lines
    released = next((line for line in reversed(earlier) if line.get("release")), None)
    if released is None:
        return []
    result = []
    now, before = last["seconds"], released["seconds"]
    for isa in sorted({*now, *before} - {"rival"}):
        for row, taken in now.get(isa, {}).items():
            old = before.get(isa, {}).get(row)
            if old is None:
                continue
            drift = 1.0
            if row in now["rival"] and row in before["rival"]:
                drift = now["rival"][row] / before["rival"][row]
            ratio = taken / (old * drift)
            if ratio > FALLEN:
                result.append(f"{row}, {isa}: {ratio:.2f} times the time of {released['release']}")
    return result


def shown(taken: float | None) -> str:
    """A time as the table shows it."""
    if taken is None:
        return ""
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if taken < 999.5 * size:
            return f"{taken / size:.3g} {unit}"
    return f"{taken:.3g} s"


def markdown(line: dict[str, Any]) -> None:
    """Write the table of a record into the page."""
    before, rest = PAGE.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    PAGE.write_text(before + MARKS[0] + "\n" + table(line) + "\n" + MARKS[1] + after)


def table(line: dict[str, Any]) -> str:
    """The table of a record in Markdown."""
    rival = line["seconds"]["rival"]
    sets = [name for name in line["seconds"] if name != "rival"]
    head = ["", *sets, "SciPy or NumPy", "limit", *(f"ratio, {isa}" for isa in sets)]
    text = [
        f"{line['machine']}, {line['date']}, {line['rounds']} rounds in turns; {line['note']}",
        "",
    ]
    text += [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    for row in line["seconds"][sets[0]]:
        ours = [line["seconds"][isa].get(row) for isa in sets]
        other = rival.get(row)
        limits = [f"{shown(at)} ({name[len(row) + 2 :]})" for name, at in rival.items()
                  if name.startswith(f"{row}: ")]  # fmt: skip
        ratios = [f"{other / taken:.3g}" if other and taken else "" for taken in ours]
        cells = [row, *map(shown, ours), shown(other), *(limits or [""]), *ratios]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text)


def picture(line: dict[str, Any]) -> None:
    """Time an element against n, ours and SciPy's."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    names = ("`binom_mad`", "`binom_sf`", "`binom_excess`", "`max_leakage`, gamma = 1.25")
    figure, panels = plt.subplots(1, 4, figsize=(11, 3), sharey=True, layout="constrained")
    for axes, name in zip(panels, names, strict=True):
        for build, label, colour in (
            ("avx512", "mialeak, AVX-512", "#3b6ea5"),
            ("avx2", "mialeak, AVX2", "#7fb0d8"),
            ("rival", "SciPy", "#b5523b"),
        ):
            rows = line["seconds"].get(build, {})
            form = re.escape(name) + r", n = 1e(\d)(, an atom)?"
            named = [(re.fullmatch(form, row), taken) for row, taken in rows.items()]
            found = [(10.0 ** int(row[1]), taken) for row, taken in named if row]
            if found:
                n, taken = zip(*found, strict=True)
                axes.loglog(n, np.array(taken) * 1e9, "o-", color=colour, label=label)
        axes.set_title(name.replace("`", ""), loc="left", fontsize=10)
        axes.set_xlabel("n")
    panels[0].set_ylabel("ns an element")
    panels[0].legend(frameon=False, fontsize=9)
    figure.savefig(PICTURE, dpi=110)
