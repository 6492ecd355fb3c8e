"""How often the interval for a sample of N people holds the truth, when only N is known.

    python benchmarks/register_coverage.py          # measures and writes the page (3 minutes)

Registers are made or real; the truth is the leakage of a sample of the register itself.  The page,
docs/register_coverage.md, is what docstrings refer to.
"""

from __future__ import annotations

import argparse
import platform
from collections import Counter
from pathlib import Path

import numpy as np
import scipy

import mialeak
from mialeak import Register, estimate_max_leakage, max_leakage
from mialeak.datasets import load_adult

PAGE = Path(__file__).parents[1] / "docs" / "register_coverage.md"
SEED, REPETITIONS = 20261122, 100
SHARES = (0.02, 0.1, 0.5, 0.9)

PREFACE = """\
# Coverage where only the number of people is known

`estimate_max_leakage(counts, population=N)`, `table_leakage(population=N)` and `--population N`
take the rows as a sample, drawn without replacement, from N people about whom nothing else is
known. This page states the measured coverage of the intervals of these estimates. No coverage is
claimed for releases with another number of rows than the sample, for samples of fewer than 1,000
rows (although the table has such lines), or for rows drawn in another way.

Each line of the table is for {repetitions} samples of n of the N people of a register. The columns:

- "truth": the exact leakage of such a sample, computed from the register;
- "estimate", "low" and "high": the means, over the samples, of the estimate and of the two ends of
  its interval, whose nominal coverage is 95 %;
- "independent": for the last sample, the upper end of the interval if `population=` is not passed,
  so that the rows are taken as independent draws;
- "coverage": the share of samples whose interval contained the truth. At a true coverage of 95 %,
  this share has a standard error of {error:.3f}.

The smallest coverage of all lines is {least:.2f}.

Two registers are the 32,561 rows of the Adult table, with cells by five and by two columns. The
others are simulated: with cells of all sizes ("Zipf 1.05", "log-normal"), of one to six people
("households"), of 3, 40, 300 or 5,000 people ("towns"), of one or 1,000 people ("alone"), and of
two people ("pairs"). After a first measurement the method was changed once, for samples of more
than half of the people, and all lines were measured again.

Made by `benchmarks/register_coverage.py` with seed {seed}; {versions}.
"""


def registers() -> dict[str, np.ndarray]:
    """People by cell."""
    rng = np.random.default_rng(SEED)
    adult = load_adult().columns

    def cells(*names: str) -> np.ndarray:
        rows = zip(*(adult[name].tolist() for name in names), strict=True)
        return np.array(list(Counter(rows).values()))

    share = [0.4, 0.3, 0.15, 0.1, 0.04, 0.01]
    return {
        "Adult, 5 columns": cells("age", "education", "marital_status", "race", "sex"),
        "Adult, age and sex": cells("age", "sex"),
        "Zipf 1.05": np.maximum(np.round(20_000 * np.arange(1, 40_001) ** -1.05), 1).astype(int),
        "log-normal": np.ceil(np.exp(rng.normal(0.0, 1.5, 20_000))).astype(int),
        "households": rng.choice(np.arange(1, 7), 30_000, p=share),
        "towns": np.repeat([3, 40, 300, 5_000], [3_000, 500, 60, 4]),
        "alone": np.repeat([1, 1_000], [20_000, 50]),
        "pairs": np.full(30_000, 2),
    }


def measured(people: np.ndarray, share: float, repetitions: int) -> tuple[float, ...]:
    """N, n, truth, mean estimate and ends, upper end for independent rows, coverage."""
    rng = np.random.default_rng(SEED + round(1000 * share))
    total = int(people.sum())
    n = round(share * total)
    truth = float(max_leakage(Register(people), n))
    ends = []
    for _ in range(repetitions):
        counts = rng.multivariate_hypergeometric(people, n, method="marginals")
        found = estimate_max_leakage(counts, population=total)
        ends.append((found.value, found.low, found.high))
    value, low, high = np.mean(ends, axis=0)
    held = np.mean([low <= truth <= high for _, low, high in ends])
    return total, n, truth, value, low, high, estimate_max_leakage(counts).high, float(held)


def main() -> None:
    """Measure all and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    lines, least = [], 1.0
    for name, people in registers().items():
        for share in SHARES:
            total, n, *numbers, coverage = measured(people, share, options.repetitions)
            least = min(least, coverage)
            shown = " | ".join(f"{number:.4f}" for number in numbers)
            lines.append(f"| {name} | {total:,} | {n:,} | {shown} | {coverage:.2f} |")
    versions = (
        f"mialeak {mialeak.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"Python {platform.python_version()}"
    )
    text = PREFACE.format(
        repetitions=options.repetitions,
        error=np.sqrt(0.95 * 0.05 / options.repetitions),
        least=least,
        seed=SEED,
        versions=versions,
    )
    names = ("register", "people N", "sample n", "truth", "estimate", "low", "high")
    header = f"| {' | '.join(names)} | independent | coverage |"
    rule = "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    options.page.write_text("\n".join([text, header, rule, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
