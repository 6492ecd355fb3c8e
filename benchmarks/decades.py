"""Time functions at the sizes users have: ``python benchmarks/decades.py``.

Prints a row for each decade of n and for one call: time an element with each instruction set, what
a user would run instead, and the least that such arguments allow.  Every build and instruction set
has a process of its own; they take turns, and the best of all rounds counts.

    --against FOLDER --release 0.1.0   times the build of another checkout as well
    --record                           appends the times to docs/benchmarks_history.jsonl
    --markdown                         writes the table of the last record into docs/benchmarks.md
    --picture                          draws docs/_static/benchmarks.png from the last record
    --check                            prints every row of the last record that is more than 10 %
                                       slower than the last release; fails if there is one
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from history import Times, fallen, markdown, picture, record, records

ROOT = Path(__file__).parents[1]

#: Decades of n, and elements of the rows of a decade; the rivals take fewer.
DECADES, COUNT, FEW = (1, 3, 6, 9), 20_000, 2_000
#: Atoms of a law, columns of a score, scores of an audit.
ATOMS, COLUMNS, SCORES = 20_000, (10, 1000, 10**6), (1000, 10**6)
#: Seconds that a measurement takes at least, and that the turns of a row may take.
LEAST, PATIENCE = 0.002, 5.0
#: SciPy's hypergeometric law takes minutes for a call at larger populations.
SCIPY_HYPERGEOMETRIC = 3

Call = Callable[[], object]


class Row(NamedTuple):
    """What is timed; `elements` of each call.  The rival may take fewer."""

    name: str
    elements: int
    ours: Call
    rival: Call | None = None
    rival_elements: int = 0
    limit: Call | None = None
    limit_name: str = "np.add"


def seconds(call: Call) -> float:
    """Best of three measurements of at least `LEAST` seconds."""
    start = time.perf_counter()
    call()
    taken = time.perf_counter() - start
    if taken > 10 * LEAST:
        return taken
    repeats, best = max(1, int(LEAST / max(taken, 1e-7))), np.inf
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - start) / repeats)
    return best


def binomial(low: int, size: int, least: float = 0, most: float = 6) -> tuple[np.ndarray, ...]:
    """Columns c, n, p: n in the decade, c up to 6 standard deviations on both sides of the mean."""
    rng = np.random.default_rng(1)
    n, p = np.floor(10 ** rng.uniform(low, low + 1, size)), rng.uniform(0.001, 0.5, size)
    z = rng.choice([-1, 1], size) * rng.uniform(least, most, size)
    return np.clip(n * p + z * np.sqrt(n * p * (1 - p)), 0, n), n, p


def hypergeometric(low: int, size: int) -> tuple[np.ndarray, ...]:
    """Columns h, N, K, n: N in the decade, h up to 6 standard deviations from the mean."""
    rng = np.random.default_rng(2)
    rows = np.floor(10 ** rng.uniform(low, low + 1, size))
    marked, drawn = (np.maximum(np.floor(rows * rng.random(size)), 1) for _ in range(2))
    mean = marked * drawn / rows
    spread = np.sqrt(mean * (1 - marked / rows) * (1 - drawn / rows))
    least, most = np.maximum(0, marked + drawn - rows), np.minimum(marked, drawn)
    return (
        np.clip(np.rint(mean + rng.uniform(-6, 6, size) * spread), least, most),
        rows,
        marked,
        drawn,
    )


def added(*columns: np.ndarray) -> object:
    return np.add(columns[-2], columns[-1])


def kernel_rows() -> Iterator[Row]:
    """Functions of `mialeak.special`, a decade and a call at a time."""
    import rivals
    from scipy import stats

    from mialeak import special

    for name in ("binom_mad", "binom_logpmf", "binom_sf", "binom_excess", "binom_shortfall"):
        ours, other = getattr(special, name), getattr(rivals, name)
        for decade in DECADES:
            columns = list(binomial(decade, COUNT))
            if name == "binom_logpmf":
                columns[0] = np.rint(columns[0])
            columns = columns[1:] if name == "binom_mad" else columns
            few = [column[:FEW] for column in columns]
            label = f"`{name}`, n = 1e{decade}"
            yield Row(label, COUNT, partial(ours, *columns), partial(other, *few), FEW,
                      partial(added, *columns))  # fmt: skip
        one = [column[0] for column in columns]
        yield Row(f"`{name}`, one call", 1, partial(ours, *one), partial(other, *one), 1,
                  partial(np.add, *one[-2:]))  # fmt: skip
    for name in ("hypergeom_mad", "hypergeom_logpmf", "hypergeom_sf"):
        ours = getattr(special, name)
        for decade in DECADES:
            h, *law = hypergeometric(decade, COUNT)
            columns = law if name == "hypergeom_mad" else [h, *law]
            other = None
            if name != "hypergeom_mad" and decade <= SCIPY_HYPERGEOMETRIC:
                few = [column[:FEW] for column in (h, law[0], law[1], law[2])]
                other = partial(getattr(stats.hypergeom, name.split("_")[1]), *few)
            label = f"`{name}`, N = 1e{decade}"
            yield Row(label, COUNT, partial(ours, *columns), other, FEW, partial(added, *columns))


def discrete_rows() -> Iterator[Row]:
    """Sums over the atoms of a law of n rows."""
    import rivals

    import mialeak

    p = np.random.default_rng(4).exponential(size=ATOMS)
    p /= p.sum()
    few = p[:FEW]
    for gamma in (1.0, 1.25):
        for decade in DECADES:
            n = 10**decade
            if gamma == 1.0:
                other = partial(rivals.max_leakage, few, n)
            else:
                other = partial(rivals.binom_excess, gamma * n * few, n, few)
            ours = partial(mialeak.max_leakage, p, n, gamma=gamma)
            label = f"`max_leakage`, gamma = {gamma:g}, n = 1e{decade}, an atom"
            yield Row(label, ATOMS, ours, other, FEW, partial(np.add, p, p))
    two = np.array([0.3, 0.7])
    yield Row("`max_leakage`, one call", 1, partial(mialeak.max_leakage, two, 100),
              partial(rivals.max_leakage, two, 100), 1, partial(np.add, two, two))  # fmt: skip
    from mialeak.discrete import discrete_tradeoff

    for decade in DECADES:
        law = p[:1000] / p[:1000].sum()
        call = partial(discrete_tradeoff, law, 10**decade)
        yield Row(f"`discrete_tradeoff`, K = 1000, n = 1e{decade}", 1, call)


def score_rows() -> Iterator[Row]:
    """Scores of one release, a column at a time, and of one column."""
    from scipy import stats

    from mialeak import scores
    from mialeak.reference import scores as twins

    for d in (*COLUMNS, 1):
        rng = np.random.default_rng(5)
        p = rng.uniform(0.25, 0.75, d)
        r, z = rng.binomial(1000, p) / 1000, rng.binomial(1, p) * 1.0
        variance = p * (1 - p)
        std = np.sqrt(variance)
        moments = p, std, (1 - 2 * p) / std, (1 - 6 * variance) / variance

        def edgeworth(r: Any, z: Any, *rest: Any) -> float:
            return twins.edgeworth_terms(r, z, *rest).sum()

        def covariance(r: Any, z: Any, p: Any, variance: Any, n: int) -> float:
            w = (z - p) / variance
            return w @ (r - p) - 0.5 * (w @ (z - p)) / n

        def glir(r: Any, z: Any, p: Any, variance: Any, n: int) -> float:
            far = (r - z) ** 2 / variance, (z - p) ** 2 / variance
            return -stats.ncx2.logcdf(n * far[0].sum(), p.size, n * far[1].sum())

        label = "one call" if d == 1 else f"d = 1e{round(np.log10(d))}, a column"
        for name, other, rest in (
            ("bernoulli_score", twins.bernoulli_score, (p, 1000)),
            ("edgeworth_score", edgeworth, (*moments, 1000)),
            ("covariance_score", covariance, (p, variance, 1000)),
            ("glir_score", glir, (p, variance, 1000)),
        ):
            given = (r[None], z) if name == "bernoulli_score" else (r, z)
            ours, theirs = (
                partial(getattr(scores, name), r, z, *rest),
                partial(other, *given, *rest),
            )
            limit = partial(np.matmul, r, p)
            yield Row(f"`{name}`, {label}", d, ours, theirs, d, limit, "release @ p")


def curve_rows() -> Iterator[Row]:
    """Curves of released means, and audits."""
    from mialeak.reference import mean as twins

    try:
        from mialeak.auditing import audit
        from mialeak.exact import exact_mean_tradeoff
        from mialeak.laws import Bernoulli
        from mialeak.means import GaussianMeanTradeOff
    except ImportError:  # the names of 0.1.0
        from mialeak.audit import audit
        from mialeak.marginals import Bernoulli
        from mialeak.mean import GaussianMeanTradeOff

        from mialeak.exact import exact_tradeoff as exact_mean_tradeoff

    fpr = np.random.default_rng(5).random(1000)
    for n in (10, 1000, 10**6):
        curve = GaussianMeanTradeOff(5.0, n=n, columns=5000)
        # SciPy takes 3 ms a point at n = 1000, and minutes at n = 1e6.
        few = fpr[:10]
        other = partial(twins.gaussian_mean_power, few, 5.0, n, 5000) if n <= 1000 else None
        label = f"`GaussianMeanTradeOff.power`, n = 1e{round(np.log10(n))}, a point"
        yield Row(label, fpr.size, partial(curve.power, fpr), other, few.size)
    yield Row("`GaussianMeanTradeOff.epsilon`, one call", 1, partial(curve.epsilon, 1e-5))
    for d in (1000, 100_000):
        p = np.linspace(0.25, 0.75, d)
        target = (p <= 0.5) * 1.0

        def advantage(target: Any = target, p: Any = p) -> float:
            return exact_mean_tradeoff(target, Bernoulli(p), 1000).advantage

        yield Row(f"`exact_mean_tradeoff`, d = 1e{round(np.log10(d))}, a column", d, advantage)
    curve = exact_mean_tradeoff(target[::20], Bernoulli(p[::20]), 1000)
    yield Row("`ExactTradeOff.enclosure`, d = 5000, one call", 1, partial(curve.enclosure, 0.01))
    for size in SCORES:
        rng = np.random.default_rng(11)
        inside, outside = rng.normal(1.0, 1.0, size), rng.normal(0.0, 1.0, size)
        call, limit = partial(audit, inside, outside, delta=1e-5), np.append(inside, outside)
        label = f"`audit`, 1e{round(np.log10(size))} scores in each world, a score"
        yield Row(label, 2 * size, call, None, 0, partial(np.sort, limit), "np.sort")


FAMILIES = (kernel_rows, discrete_rows, score_rows, curve_rows)


def all_rows() -> dict[str, Row]:
    """The rows that this build has, by name."""
    rows: dict[str, Row] = {}
    for family in FAMILIES:
        try:
            for row in family():
                rows[row.name] = row
        except (ImportError, AttributeError, TypeError) as error:  # an older checkout
            print(f"{family.__name__} ends here: {error}", file=sys.stderr)
    return rows


def times(row: Row, kind: str) -> dict[str, float]:
    """Seconds an element: of this build, or of the rival and the limit."""
    if kind == "kernels":
        return {row.name: seconds(row.ours) / row.elements}
    result = {}
    if row.rival:
        result[row.name] = seconds(row.rival) / row.rival_elements
    if row.limit:
        result[f"{row.name}: {row.limit_name}"] = seconds(row.limit) / row.elements
    return result


def serve(kind: str) -> None:
    """Print the names of the rows; then answer each name with its times."""
    rows = all_rows()
    print(json.dumps([*rows]), flush=True)
    for name in sys.stdin:
        with np.errstate(all="ignore"):
            row = rows.get(json.loads(name))
            print(json.dumps(times(row, kind) if row else {}), flush=True)


def start(folder: Path, isa: str, kind: str) -> subprocess.Popen[str]:
    """A process that serves."""
    paths = [str(folder), str(ROOT / "tests")]
    more = {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    if isa:
        more["MIALEAK_ISA"] = isa
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **more},
    )


def measured(builds: dict[str, tuple[Path, str, str]], rounds: int) -> dict[str, Times]:
    """The best times of each build; row by row all take turns, so that a row has one machine."""
    processes = {name: start(*build) for name, build in builds.items()}
    names = [
        json.loads(process.stdout.readline()) for process in processes.values() if process.stdout
    ]
    best: dict[str, Times] = {name: {} for name in builds}
    for row in names[0]:
        began = time.perf_counter()
        for turn in range(rounds):
            if turn and time.perf_counter() - began > PATIENCE:
                break
            for name, process in processes.items():
                assert process.stdin
                assert process.stdout
                process.stdin.write(json.dumps(row) + "\n")
                process.stdin.flush()
                for part, taken in json.loads(process.stdout.readline()).items():
                    best[name][part] = min(taken, best[name].get(part, np.inf))
        print({name: f"{by[row]:.3g}" for name, by in best.items() if row in by}, row, flush=True)
    for process in processes.values():
        process.communicate()
    return best


def main() -> int:
    """Measure, or show what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--isa", nargs="+", default=["avx512", "avx2"])
    parser.add_argument("--against", type=Path, help="another checkout, its kernels built in place")
    parser.add_argument("--release", help="the version of the other checkout, if it was released")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--note", default="", help="the state of the machine")
    for name in ("record", "markdown", "picture", "check"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--serve", choices=["kernels", "rivals"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return 0
    if given.markdown:
        markdown(records()[-1])
    if given.picture:
        picture(records()[-1])
    if given.check:
        slower = fallen(records())
        print("\n".join(slower) or "no row fell by more than 10 %")
        return 1 if slower else 0
    if given.markdown or given.picture:
        return 0
    builds = {isa: (ROOT, isa, "kernels") for isa in given.isa}
    builds["rival"] = ROOT, "", "rivals"
    if given.against:
        builds |= {f"before, {isa}": (given.against.resolve(), isa, "kernels") for isa in given.isa}
    best = measured(builds, given.rounds)
    now = {name: by for name, by in best.items() if not name.startswith("before")}
    if given.against:
        then = {isa: best[f"before, {isa}"] for isa in given.isa} | {"rival": best["rival"]}
        older = {"release": given.release, "seconds": then}
        for slower in fallen([older, {"seconds": now}]):
            print(slower)
        if given.record and given.release:
            record(then, given.rounds, release=given.release, note=given.note)
    if given.record:
        record(now, given.rounds, note=given.note)
    else:
        print(json.dumps(now, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
