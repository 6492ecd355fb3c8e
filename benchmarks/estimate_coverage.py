"""How often the intervals of `estimate_max_leakage` hold the truth, and how wide they are.

    python benchmarks/estimate_coverage.py                 # measures and writes the page (minutes)
    python benchmarks/estimate_coverage.py --plot x.png    # draws the page's tables as a picture

Samples are drawn from laws whose leakage is known exactly.  The page, docs/estimate_coverage.md, is
all that the docstring of `estimate_max_leakage` claims.
"""

from __future__ import annotations

import argparse
import platform
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import ndtri
from scipy.stats import binom

import mialeak
from mialeak.datasets import load_adult
from mialeak.discrete import atom_leakage, max_leakage
from mialeak.mechanisms import (
    Geometric,
    Histogram,
    RandomRound,
    Round,
    Suppress,
    mechanism_leakage,
)
from mialeak.tables import estimate_max_leakage, table_leakage
from mialeak.tables._estimate import atom_leakage_range

PAGE = Path(__file__).parents[1] / "docs" / "estimate_coverage.md"
SEED = 20250611
SAMPLES = (1_000, 10_000, 100_000)
RATIOS = (1, 0.1, 3, 10)
GAMMAS = (0.5, 2.0)
NOMINAL = 0.95
COLUMNS = ("age", "education", "marital_status", "race", "sex")


class Law:
    """A law on atoms 0, 1, ..., whose leakage is known."""

    def __init__(self, weights: np.ndarray) -> None:
        self.p = np.asarray(weights, np.float64) / np.sum(weights)
        self.upper = np.cumsum(self.p)

    def rows(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """The atoms of `size` independent rows."""
        place = np.searchsorted(self.upper, rng.random(size) * self.upper[-1], side="right")
        return np.minimum(place, len(self.p) - 1)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Counts of the cells that `size` independent rows fall into."""
        if len(self.p) < size:
            return rng.multinomial(size, self.p)
        return np.unique(self.rows(size, rng), return_counts=True)[1]

    def leakage(self, n: int, gamma: float) -> float:
        """The truth; for gamma = 1 from SciPy's binomial law, which mialeak does not use."""
        if gamma != 1.0:
            return float(max_leakage(self.p, n, gamma=gamma))
        p, cells = np.unique(self.p, return_counts=True)
        return float(cells @ (p * (1 - p) * binom.pmf(np.floor(n * p), n - 1, p)))


def adult_law() -> Law:
    """The law whose atoms are the 6,493 cells of the Adult table."""
    columns = load_adult().columns
    cells = Counter(zip(*(columns[name].tolist() for name in COLUMNS), strict=True))
    return Law(np.array(sorted(cells.values(), reverse=True)))


def tuned_laws() -> dict[str, Law]:
    """The laws that were looked at while the method was made."""
    return {
        "uniform, 1,000,000 atoms": Law(np.ones(1_000_000)),
        "uniform, 100,000 atoms": Law(np.ones(100_000)),
        "Zipf 1.1, 1,000,000 atoms": Law(np.arange(1.0, 1_000_001) ** -1.1),
        "Adult, 6,493 cells": adult_law(),
        "uniform, 2,000 atoms": Law(np.ones(2_000)),
    }


def held_out_laws() -> dict[str, Law]:
    """The laws that were chosen before the method was made, and looked at once, after it."""
    rare = np.full(1_000_000, 0.5 / 1_000_000)
    quantiles = (np.arange(50_000) + 0.5) / 50_000
    return {
        "Zipf 2, 1,000,000 atoms": Law(np.arange(1.0, 1_000_001) ** -2.0),
        "geometric, p = 0.001": Law(0.999 ** np.arange(40_000)),
        "10 heavy atoms, 1,000,000 rare": Law(np.r_[np.full(10, 0.05), rare]),
        "log-normal, sigma 2, 50,000": Law(np.exp(2 * ndtri(quantiles))),
    }


def equal_cells() -> Iterator[tuple[str, Law, int, int]]:
    """Laws of all but equal cells, samples and releases: name, law, rows N, release n.

    Rows a cell lie between two integers, or n is far from N: there the leakage has an arch or a
    slope that cells of different sizes would average out.
    """
    birthdays = Law(np.r_[np.full(365, 4.0), 1.0])
    yield "birthdays, 29 February", birthdays, 8_949, 8_949
    yield "birthdays, 29 February", birthdays, 146_000, 14_600
    for sample in (20_000, 100_000, 1_000_000, 10_000_000):
        for expected in (20.5, 22.5, 24.5, 26.5, 44.5, 60.5, 95.5):
            atoms = round(sample / expected)
            yield f"{expected:g} rows a cell", Law(np.ones(atoms)), sample, sample
    yield "age in days and sex, 58,400 cells", Law(np.ones(58_400)), 1_430_800, 1_430_800
    for sample in (32_561, 100_000, 300_000, 1_000_000, 10_000_000):
        for expected, ratio in ((3, 0.1), (8, 0.05), (8.5, 3), (12.5, 3), (12.5, 10), (400, 0.1)):
            law = Law(np.ones(round(sample / expected)))
            yield f"{expected:g} rows a cell", law, sample, round(ratio * sample)


class Row(NamedTuple):
    """One law at one size of sample and release, over all repetitions."""

    law: str
    sample: int
    release: int
    truth: float
    plug_in: float
    value: float
    error: float
    low: float
    high: float
    width: float
    coverage: float

    @classmethod
    def of(cls, law: str, sample: int, release: int, truth: float, found: np.ndarray) -> Row:
        """Means over repetitions of (value, low, high, plug_in)."""
        value, low, high, plug_in = found.T
        error = np.sqrt(np.mean((value - truth) ** 2))
        held = (low <= truth) & (truth <= high)
        means = [float(np.mean(x)) for x in (plug_in, value)]
        ends = [float(np.mean(x)) for x in (low, high, high - low, held)]
        return cls(law, sample, release, truth, *means, float(error), *ends)


def measure(
    name: str,
    law: Law,
    sample: int,
    releases: Iterable[int],
    repetitions: int,
    gamma: float = 1.0,
) -> list[Row]:
    """Draw samples, and ask each about a release of each size."""
    releases = list(releases)
    found = np.empty((len(releases), repetitions, 4))
    for repetition in range(repetitions):
        rng = np.random.default_rng([SEED, sample, repetition])
        counts = law.sample(sample, rng)
        for place, release in enumerate(releases):
            estimate = estimate_max_leakage(counts, release, gamma=gamma, confidence=NOMINAL)
            found[place, repetition] = (
                estimate.value,
                estimate.low,
                estimate.high,
                estimate.plug_in,
            )
    truths = [law.leakage(release, gamma) for release in releases]
    print(f"{name}: sample {sample:,}, gamma {gamma:g}", flush=True)
    return [
        Row.of(name, sample, release, truth, one)
        for release, truth, one in zip(releases, truths, found, strict=True)
    ]


def measure_cells(law: Law, sample: int, draws: int = 20_000) -> list[float]:
    """Coverage of the range of one cell's leakage: of a cell named before, of a row's own cell."""
    rng = np.random.default_rng([SEED, sample])
    atoms = law.rows(draws, rng)
    p = law.p[atoms]
    truth = atom_leakage(law.p, sample)[atoms]
    named = rng.binomial(sample, p)
    own = 1 + rng.binomial(sample - 1, p)
    covered = []
    for counts in (named, own):
        low, high = atom_leakage_range(counts, sample, sample, NOMINAL)
        covered.append(float(np.mean((low <= truth) & (truth <= high))))
    return covered


HEAD = (
    "law", "rows N", "release n", "truth", "plug-in", "estimate", "rms error",
    "low", "high", "width", "coverage",
)  # fmt: skip


def table(rows: Iterable[Row]) -> str:
    """Markdown; means over the repetitions."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---" + "|---:" * (len(HEAD) - 1) + "|"]
    for row in rows:
        numbers = " | ".join(f"{number:.4f}" for number in row[3:10])
        lines.append(
            f"| {row.law} | {row.sample:,} | {row.release:,} | {numbers} | {row.coverage:.3f} |"
        )
    return "\n".join(lines) + "\n"


def cell_table(tuned: dict[str, Law], held_out: dict[str, Law]) -> str:
    lines = [
        "| law | rows N = release n | cell chosen before | cell of a row of the sample |",
        "|---|---:|---:|---:|",
    ]
    for name, law in (tuned | held_out).items():
        for sample in SAMPLES:
            named, own = measure_cells(law, sample)
            lines.append(f"| {name} | {sample:,} | {named:.3f} | {own:.3f} |")
    return "\n".join(lines) + "\n"


PROTECTIONS = {
    "none": None,
    "round:5": Round(5),
    "random-round:3": RandomRound(3),
    "suppress:2": Suppress(2),
    "suppress:10": Suppress(10),
    "geometric:1": Geometric(1.0),
    "geometric:0.1": Geometric(0.1),
}


def measure_protections(law: Law, sample: int, repetitions: int) -> dict[str, list[float]]:
    """Truth, and means over samples of plug-in, estimate and rms error, for each protection."""
    protect = {name: way for name, way in PROTECTIONS.items() if way is not None}
    found = np.empty((repetitions, len(PROTECTIONS), 2))
    for repetition in range(repetitions):
        rng = np.random.default_rng([SEED, sample, repetition])
        counts = law.sample(sample, rng)
        cells = np.repeat(np.arange(len(counts)), counts)
        for place, table in enumerate(table_leakage({"cell": cells}, protect=protect).protections):
            found[repetition, place] = table.plug_in.lower, table.value
    truth = [
        float(mechanism_leakage(Histogram() if way is None else way, law.p, sample, rows="poisson"))
        for way in PROTECTIONS.values()
    ]
    plug_in, value = found.mean(axis=0).T
    error = np.sqrt(((found[:, :, 1] - truth) ** 2).mean(axis=0))
    lines = zip(truth, plug_in.tolist(), value.tolist(), error.tolist(), strict=True)
    return dict(zip(PROTECTIONS, map(list, lines), strict=True))


def protection_table(laws: dict[str, Law], repetitions: int) -> str:
    lines = [
        "| law | rows N = release n | protection | truth | plug-in | estimate | rms error |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    for name, law in laws.items():
        for sample in SAMPLES[:2]:
            for protection, row in measure_protections(law, sample, repetitions).items():
                numbers = " | ".join(f"{number:.4f}" for number in row)
                lines.append(f"| {name} | {sample:,} | {protection} | {numbers} |")
    return "\n".join(lines) + "\n"


PROTECTIONS_TEXT = """\
`table_leakage(..., protect=...)` and `mialeak table --protect` estimate the leakage of a protected
table for the population. Each line is for {repetitions} samples. "protection" is the value of
`--protect`, such as `round:5` for rounding to multiples of 5. "truth" is the exact leakage for the
law itself, with a Poisson number of rows. "plug-in" and "estimate" are means over the samples; both
are the leakage of a release that consists only of the protected count of the target's cell, with a
fixed number of rows. The estimate has no interval. For the law "Zipf 2" the truth is above the
estimate: this law has a cell with a large share of all rows, and then a release leaks more with a
Poisson number of rows than with a fixed one.
"""


CELLS_TEXT = """\
A table report also states, for each cell, an interval of the leakage about a target in this cell.
The nominal coverage of these intervals is 95 %. The last two columns state the measured coverage,
each for 20,000 cells: "cell chosen before" for cells that are drawn from the law before the sample
is drawn, "cell of a row of the sample" for the cells of random rows of the sample. The interval is
computed from the count of the target's cell alone, and is wide: for a cell with one row, its upper
end is 1.
"""


PREFACE = """# Coverage of the estimates

`estimate_max_leakage` and `table_leakage` estimate the leakage of a release for a population that
is known only from a sample. This page states the measured coverage of the intervals of these
estimates. The method does not use the law of the population, but no coverage is claimed for laws
that are not on this page, for rows that are not independent draws from the population, for samples
of fewer than 1,000 rows, or for releases with more than ten times as many rows as the sample.

Each line of a table is for {repetitions} samples of N rows ({fewer} samples if the release is
smaller or larger than the sample, or if [gamma](glossary.md) is not 1; the sections "Equal cells",
"One cell" and "Protections" state other numbers). The columns:

- "truth": the leakage of a release of n rows, computed from the law itself;
- "plug-in" and "estimate": the means, over the samples, of the plug-in leakage (the leakage if the
  frequencies of the sample were those of the population) and of the estimate;
- "rms error": the root-mean-square error of the estimate;
- "low", "high" and "width": the means, over the samples, of the lower end, the upper end and the
  width of the interval, whose nominal coverage is 95 %;
- "coverage": the share of samples whose interval contained the truth. At a true coverage of 95 %,
  this share has a standard error of {error:.3f} with {repetitions} samples.

In the law "Zipf 1.1" the probability of the k-th atom is proportional to k^-1.1, and in the law
"Zipf 2" to k^-2. In the law "geometric, p = 0.001" each atom has 0.999 times the probability of the
atom before it. The law "10 heavy atoms" has 10 atoms of probability 0.05 each, and a million atoms
that share the rest equally. The probabilities of the law "log-normal" are proportional to 50,000
quantiles of a log-normal law with sigma = 2. The law "Adult" has the frequencies of the Adult table
by five columns.

The method was developed with three groups of laws: the five laws of the first table, uniform laws
on 3 to 1,000 atoms, and mixtures of two uniform laws. The laws "Zipf 2", "geometric", "10 heavy
atoms" and "log-normal" were not used: their coverage was measured when the method of version 0.1.0
was finished. After that version the section "Equal cells" was added, for laws in which all cells,
or all but one, have the same probability. For most of these laws the intervals of version 0.1.0
were too low, by up to half a percent of the truth. The method was corrected, and all tables of this
page were made with the corrected method. The smallest coverage of all lines is {least:.3f}.

For laws with cells of all sizes (Zipf, log-normal, Adult), the coverage is above the nominal
coverage, since each end of an interval is computed for the least favourable of all laws that agree
with the sample.

Made by `benchmarks/estimate_coverage.py` with seed {seed}; {versions}.
"""


def equal_repetitions(sample: int, repetitions: int) -> int:
    """Fewer for the largest samples, which take a tenth of a second each to draw."""
    return max(repetitions // (2 if sample <= 100_000 else 4), 1)


def write(repetitions: int, page: Path) -> None:
    """Measure all and write the page."""
    tuned, held_out = tuned_laws(), held_out_laws()
    protected = max(repetitions // 20, 1)
    fewer = max(repetitions // 2, 1)
    five = []
    for name, law in tuned.items():
        size = 3_256 if name.startswith("Adult") else 32_561
        five += measure(name, law, size, [size], repetitions)
    by_ratio: dict[float, list[Row]] = {ratio: [] for ratio in RATIOS}
    for name, law in (tuned | held_out).items():
        for sample in SAMPLES:
            by_ratio[1] += measure(name, law, sample, [sample], repetitions)
            others = [round(ratio * sample) for ratio in RATIOS[1:]]
            rows = measure(name, law, sample, others, fewer)
            for ratio, row in zip(RATIOS[1:], rows, strict=True):
                by_ratio[ratio].append(row)
    games = {
        gamma: [
            row
            for name, law in (tuned | held_out).items()
            for row in measure(name, law, 10_000, [10_000], fewer, gamma)
        ]
        for gamma in GAMMAS
    }
    equal = [
        row
        for name, law, sample, release in equal_cells()
        for row in measure(name, law, sample, [release], equal_repetitions(sample, repetitions))
    ]
    groups = [five, equal, *by_ratio.values(), *games.values()]
    versions = (
        f"mialeak {mialeak.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"Python {platform.python_version()}"
    )
    parts = [
        PREFACE.format(
            repetitions=repetitions,
            fewer=fewer,
            error=np.sqrt(NOMINAL * (1 - NOMINAL) / repetitions),
            least=min(row.coverage for rows in groups for row in rows),
            seed=SEED,
            versions=versions,
        ),
        "## Five laws, 32,561 rows (3,256 for Adult)\n",
        table(five),
        "## Equal cells\n",
        f"Each line is for {equal_repetitions(1, repetitions)} samples, or for "
        f"{equal_repetitions(10**6, repetitions)} samples if N is above 100,000. "
        '"20.5 rows a cell" means\nthat a cell has 20.5 rows of the sample on average. '
        'In "birthdays, 29 February" there are 366 cells, one\n'
        "for each day of a year; the last has a quarter of the probability of the others.\n",
        table(equal),
        "## A release as large as the sample\n",
        table(by_ratio[1]),
        "## A release of a tenth of the sample\n",
        table(by_ratio[0.1]),
        "## A release of three times the sample\n",
        table(by_ratio[3]),
        "## A release of ten times the sample\n",
        table(by_ratio[10]),
        *(
            part
            for gamma, rows in games.items()
            for part in (f"## The game with gamma = {gamma:g}\n", table(rows))
        ),
        "## One cell\n",
        CELLS_TEXT,
        cell_table(tuned, held_out),
        "## Protections\n",
        PROTECTIONS_TEXT.format(repetitions=protected),
        protection_table(tuned | held_out, protected),
    ]
    page.write_text("\n".join(parts))


def read(page: Path) -> dict[str, list[Row]]:
    """The tables of a page, by heading."""
    found: dict[str, list[Row]] = {}
    heading = ""
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        fields = [field.strip() for field in line.strip("|").split("|")]
        if len(fields) == len(HEAD) and fields[1][:1].isdigit():
            sizes = [int(field.replace(",", "")) for field in fields[1:3]]
            row = Row(fields[0], *sizes, *map(float, fields[3:]))
            found.setdefault(heading, []).append(row)
    return found


def draw(page: Path, picture: Path) -> None:
    """Truth, plug-in, estimate and interval of every line, its coverage written beside it."""
    from matplotlib import pyplot as plt

    tables = [(head, rows) for head, rows in read(page).items() if "release" in head]
    figure, axes = plt.subplots(1, len(tables), figsize=(19, 9), sharey=True, layout="constrained")
    for axis, (head, rows) in zip(axes, tables, strict=True):
        place = np.arange(len(rows))
        middle = np.array([(row.low + row.high) / 2 for row in rows])
        half = np.array([row.width / 2 for row in rows])
        axis.errorbar(
            middle, place, xerr=half, fmt="none", color="tab:blue", capsize=3, label="interval"
        )
        axis.plot([row.value for row in rows], place, "o", color="tab:blue", ms=4, label="estimate")
        axis.plot([row.plug_in for row in rows], place, "x", color="tab:red", label="plug-in")
        axis.plot([row.truth for row in rows], place, "k|", ms=11, mew=1.6, label="truth")
        for y, row in zip(place, rows, strict=True):
            colour = "black" if row.coverage >= 0.9 else "red"
            axis.text(1.03, y, f"{row.coverage:.1%}", va="center", fontsize=8, color=colour)
        axis.set(
            title=head, xlim=(-0.02, 1.18), xlabel="leakage; coverage of the interval at right"
        )
        axis.set_yticks(place, [f"{row.law}, N = {row.sample:,}" for row in rows], fontsize=8)
        for y in np.arange(2.5, len(rows) - 1, 3):
            axis.axhline(y, color="0.85", lw=0.8)
        axis.axhline(14.5, color="0.4", lw=1.2)
    axes[0].invert_yaxis()
    axes[0].legend(loc="lower left", fontsize=8)
    figure.suptitle("Means over samples; below the dark line: laws that were held out")
    figure.savefig(picture, dpi=110)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=400, help="samples of each law and size")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write or to draw")
    parser.add_argument("--plot", type=Path, help="draw the page into this file, measure nothing")
    options = parser.parse_args()
    if options.plot:
        draw(options.page, options.plot)
    else:
        write(options.repetitions, options.page)


if __name__ == "__main__":
    main()
