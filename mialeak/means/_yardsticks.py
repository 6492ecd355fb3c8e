"""Earlier attacks on the frequencies of genotypes, beside the best one: yardsticks of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mialeak._arrays import FloatArray, Numbers
from mialeak._numerics.distances import kernel_blocks
from mialeak._report.document import Notes, Section, Table
from mialeak._report.text import number, significant
from mialeak.means._sites import is_of_genotypes
from mialeak.tradeoff import GaussianTradeOff

if TYPE_CHECKING:
    from mialeak.means._release import Release
    from mialeak.means._report import MeanReport

__all__ = ["homer_scores", "yardsticks", "yardsticks_section"]

_HOMER = "Homer et al. (2008), doi 10.1371/journal.pgen.1000167"
_BOUND = "Sankararaman et al. (2009), doi 10.1038/ng.436"


def homer_scores(report: MeanReport, release: Release) -> FloatArray:
    """Squared shift of Homer's statistic about each row, in the limit for many rows.

    The statistic sums ``|y - p| - |y - m|`` over the sites, y the genotype of the row, p and m the
    frequencies of the population and of the release.  As m differs from p by far less than y does,
    it is ``sum of sign(y - p) (m - p)``: a linear attack, of shift ``sum of |y - p| / n`` and, with
    w the signs and C the covariance, of variance ``w^T C w / n``.  By the inequality of Cauchy and
    Schwarz its square is at most the leakage score.  The population is that of the report: the
    other rows, with the covariance of all or variances alone.
    """
    n, means, stds = float(release.rows), release.means, release.stds
    distance, within = _sums(release.numbers, means, stds**2)
    if report.covariance == "full":
        # Of all rows, and then without the row, for which w^T c is its distance.
        centred = release.numbers - means
        signs = np.sign(centred)
        whole = np.vecdot(signs @ (centred.T @ centred), signs)
        variance = whole - n / (n - 1.0) * distance**2
    else:
        variance = n * within[0] - n / (n - 1.0) * within[1]
    shift = distance * (n / (n - 1.0))
    variance *= n / (n - 2.0)
    with np.errstate(divide="ignore"):
        scores = np.divide(shift**2, variance, out=np.zeros_like(shift), where=shift > 0.0)
    return np.asarray(scores)


def _sums(
    numbers: Numbers, means: FloatArray, variances: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Of each row the sum of distances from the means, of variances where it is not at the mean,
    and of squared distances.
    """
    distance, added, squares = np.empty((3, len(numbers)))
    for block in kernel_blocks(numbers, matrix=False):
        gaps = np.abs(numbers[block] - means)
        distance[block] = gaps.sum(axis=1)
        added[block] = (gaps > 0.0) @ variances
        squares[block] = np.square(gaps, out=gaps).sum(axis=1)
    return distance, (added, squares)


def yardsticks(report: MeanReport, release: Release, fpr: float) -> dict[str, Any] | None:
    """Leakage and power of earlier attacks, beside those of the best one.

    Returns
    -------
    dict or None
        Of `homer` and `sankararaman` the leakage on `average` and about the `riskiest` row, and the
        power at `fpr`, `power_average` and `power_riskiest`.  The latter is the limit of the
        likelihood ratio for so many independent sites, ``sqrt(sites/people)`` as the shift of a
        normal law, whoever the row is.  None unless all columns are genotypes, their means are
        taken over all rows without noise, rows are judged by the others, and their covariance is
        full or diagonal.
    """
    others = report.has_reference or report.panel is not None or report.people is not None
    if others or report.rate < 1.0 or report.noise_std or report.covariance == "shrunk":
        return None
    if not is_of_genotypes(release):
        return None
    content: dict[str, Any] = {}
    for name, shifts in (
        ("homer", np.sqrt(report._homer_scores)),
        ("sankararaman", np.sqrt([release.free / release.rows])),
    ):
        curve = GaussianTradeOff(shifts)
        leakage, power = np.asarray(curve.advantage), np.asarray(curve.power(fpr))
        content[name] = {
            "average": float(leakage.mean()),
            "riskiest": float(leakage.max()),
            "power_average": float(power.mean()),
            "power_riskiest": float(power.max()),
        }
    return content


def yardsticks_section(
    report: MeanReport, release: Release, power: dict[str, Any], known: dict[str, Any]
) -> Section:
    """The yardsticks beside the best attack, with their sources."""
    best = {
        "average": report.average,
        "riskiest": report.highest,
        "power_average": power["average"],
        "power_riskiest": power["riskiest"],
    }
    body = [
        (
            *(number(each[key]) for key in ("average", "riskiest")),
            *(significant(each[key]) for key in ("power_average", "power_riskiest")),
            name,
        )
        for name, each in (
            ("the best attack", best),
            ("Homer's statistic", known["homer"]),
            ("SecureGenome's bound", known["sankararaman"]),
        )
    ]
    at = f"power at {power['fpr']:g}"
    header = ("leakage on average", "riskiest row", at, "riskiest row", "attack")
    notes = [
        "Homer's statistic sums over the sites how much nearer a genotype is to the frequency of "
        f"the release than to that of the population: {_HOMER}.",
        f"SecureGenome's bound is the limit for {release.free:,} independent sites that vary and "
        f"{release.rows:,} people, whoever the person is: {_BOUND}. About people with rare alleles "
        "the best attack gains more, and from linked sites it may.",
    ]
    return Section("Yardsticks: earlier attacks", [Table(header, body, left=1), Notes(notes)])
