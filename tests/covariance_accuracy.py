"""Measure the error of squared Mahalanobis distances against 60 digits, ours and others'.

``python tests/covariance_accuracy.py`` prints the page of the documentation,
``docs/covariance_accuracy.md``, and exits with 1 if an error of ours is beyond its bound.
"""

from __future__ import annotations

import importlib.metadata
import sys

import mpmath
import numpy as np
import rivals

from mialeak.covariance import StreamingCovariance
from mialeak.reference import covariance as twins

EPS = 2.0**-52
CONDITIONS = (1.0, 1e6, 1e12)
MEANS = (0.0, 1e8)
OURS = ("mialeak", "mialeak, by blocks", "mialeak, merged")
SEEDS = range(20)

PAGE = """\
# Accuracy of distances

The table has the largest relative errors of squared Mahalanobis distances. The true distances are
computed from the same float64 rows with 60 digits (mpmath). For each line of the table, {count}
samples of 60 rows and 6 columns were drawn at random; the distances are those of 8 rows of each
sample from the mean of the sample. "condition" is the condition number of the covariance (the ratio
of its largest to its smallest eigenvalue). The principal axes of the covariance are not parallel to
the columns, and the largest variance is about 1. "mean" is the mean of each column. "condition x
eps" is the condition number times eps = 2**-52: the rounding of the covariance alone may cause
relative errors of this size. The tests allow mialeak an error of four times this size, plus 1e-14.

Three columns are for `StreamingCovariance`: fitted to all rows at once ("mialeak"), fitted to seven
rows at a time ("by blocks"), and merged from two objects, each fitted to half of the rows
("merged"). The column "scikit-learn" is for `EmpiricalCovariance` of scikit-learn {sklearn}. The
package river {river} computes a covariance but no distances; NumPy computed these from river's
covariance and NumPy's mean. This page is made by `python tests/covariance_accuracy.py`; do not edit
it.

| condition | mean | condition x eps | {names} |
| --: | --: | --: | {rules} |"""


def bound(condition: float) -> float:
    """The relative error that ours may make."""
    return 4.0 * condition * EPS + 1e-14


def hard_rows(condition: float, mean: float, seed: int, n: int = 60, d: int = 6) -> np.ndarray:
    """Rows whose covariance has that condition number, in no direction of a column."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    scale = np.logspace(0, -np.log10(condition) / 2, d)
    return rng.normal(size=(n, d)) * scale @ turn.T + mean


def exact_distances(x: np.ndarray, rows: np.ndarray, dps: int = 60) -> np.ndarray:
    """Squared distances of `rows` from the mean of the float64 rows `x`, by 60 digits."""
    with mpmath.workdps(dps):
        m = mpmath.matrix(x.tolist())
        n, d = m.rows, m.cols
        mean = [mpmath.fsum(m[i, j] for i in range(n)) / n for j in range(d)]
        v = mpmath.matrix([[m[i, j] - mean[j] for j in range(d)] for i in range(n)])
        cov = v.T * v / n
        u = [mpmath.matrix([mpmath.mpf(r[j]) - mean[j] for j in range(d)]) for r in rows.tolist()]
        return np.array([float((w.T * mpmath.lu_solve(cov, w))[0]) for w in u])


def errors(condition: float, mean: float, seed: int) -> dict[str, float]:
    """Largest relative error of each on one draw."""
    from sklearn.covariance import EmpiricalCovariance

    x = hard_rows(condition, mean, seed)
    probe = x[:8]
    truth = exact_distances(x, probe)
    streamed = StreamingCovariance()
    for start in range(0, len(x), 7):
        streamed.partial_fit(x[start : start + 7])
    merged = StreamingCovariance().fit(x[:30]).merge(StreamingCovariance().fit(x[30:]))
    ours = (StreamingCovariance().fit(x), streamed, merged)
    found = {name: which.mahalanobis(probe) for name, which in zip(OURS, ours, strict=True)}
    found["scikit-learn"] = EmpiricalCovariance().fit(x).mahalanobis(probe)
    found["river"] = twins.mahalanobis(probe, x.mean(axis=0), rivals.river_covariance(x))
    return {name: float(np.abs(d / truth - 1).max()) for name, d in found.items()}


def main() -> int:
    """Print the page; 1 if one of ours errs more than the tests allow."""
    broken, lines = False, []
    for condition in CONDITIONS:
        for mean in MEANS:
            draws = [errors(condition, mean, seed) for seed in SEEDS]
            worst = {name: max(found[name] for found in draws) for name in draws[0]}
            broken |= any(worst[name] > bound(condition) for name in OURS)
            shown = " | ".join(f"{error:.1e}" for error in worst.values())
            lines.append(f"| {condition:.0e} | {mean:g} | {condition * EPS:.1e} | {shown} |")
    rivals = {name: importlib.metadata.version(name) for name in ("river", "scikit-learn")}
    head = PAGE.format(
        count=len(SEEDS),
        river=rivals["river"],
        sklearn=rivals["scikit-learn"],
        names=" | ".join(worst),
        rules=" | ".join("--:" for _ in worst),
    )
    print("\n".join([head, *lines]))
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
