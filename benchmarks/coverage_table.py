"""The page docs/audit_coverage.md, from the results of ``coverage.py``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["page"]

_HEAD = """# Coverage of audits

Made by `python benchmarks/coverage.py --output docs/audit_coverage.md`; do not edit. An
[audit](glossary.md) computes a lower confidence bound on epsilon from the scores of an attack. This
page states how often these bounds were false (above the true epsilon) in simulations; the nominal
error is 5 %. The scores are drawn from a law for members and a law for others, whose epsilon is
known. `audit` has n scores of each. `one_run_audit` has 2n canaries (test examples), each of which
is included with probability 1/2.

There is a table for each of three mechanisms: Laplace, randomised response (where a score has only
two possible values, so that nearly all scores are tied) and Gaussian (where epsilon is for delta =
1e-5). Each entry is the **mean bound on epsilon** and, in parentheses, the **percentage of false
bounds**; the column "oracle" has the mean bound only. The number in square brackets in the head of
a column is the number of simulated audits for each line.

The oracle's bound, for comparison, is computed from the Clopper-Pearson bounds of the power and of
the false-positive rate at the threshold with the largest mean bound, which is unknown in practice.
"audit, calibrated" and "audit, simultaneous" are `audit` with `method="calibrated"` and
`"simultaneous"`.

"""

_SHORT = """\
The first table summarises the {cells} combinations of law, epsilon and n. "most false" is the
largest percentage of false bounds (or false intervals). "allowed" is the nominal error plus three
standard errors of such a percentage. The last two columns compare the mean bound on epsilon with
the oracle's bound at n = {most:,}. "least ratio" is the smallest ratio of the mean bound to the
oracle's bound for the Laplace and Gaussian mechanisms, over the combinations in which the oracle's
bound exceeds 1. "elsewhere" is the smallest ratio over the other combinations at this n with an
oracle's bound above zero. The lines from "mu" on are the other statements of an audit (last
section):
"""

_LIMIT = """
The least ratio of `method="simultaneous"` is below 100 % for the Laplace mechanism with epsilon 4
and n = 10,000, where the mean bound is 3.769 and the oracle's bound is 3.782. (At smaller n it is
above 100 %.) The true trade-off curve (the ROC curve of the best attack) has a corner at a
false-positive rate of 0.00916: of the 10,000 scores in the world *out*, about 92 are above the
threshold of this rate. The oracle may choose this threshold, while `method="simultaneous"` tries
only the scores of rank 1, 3, 9, ..., 81, 243, ..., 2,187, counted from the largest and from the
smallest score, and divides the nominal error among them by fixed weights. Of 16 other choices of
the ranks and weights, none raised this mean bound by more than 0.3 %, and those that raised it by
0.2 % or more lowered the mean bound for the Gaussian mechanism by 0.5 to 1.6 %.
"""

_TIES = """
`audit` puts tied scores in five random orders and states the smallest of the five bounds. This is
cautious: of its bounds for randomised response (on epsilon, mu and the advantage; 300 audits for
each line, so that 8.8 % would be allowed), at most 1.3 % are false.
"""

_PEERS = """
Two other packages were run. The first is the auditing module of `jax-privacy` 2.0.0, with a delta
of 1e-9 where a function rejects 0. In the column "jax-privacy split", a part of the scores is set
aside to choose the threshold. The second is the module `epsilon_lower_bound` of TensorFlow Privacy
0.8.12 (later releases do not contain it), with the largest bound over all thresholds;
"Clopper-Pearson" and "Bailey" are two of its methods. It has no argument for delta, and therefore
no column in the table of the Gaussian mechanism. The entries of the two packages, except those of
the column "jax-privacy one-run, f-DP", are from an earlier run on the same laws.

Five packages were not run: Privacy Meter 1.0.1 states no epsilon; LeakPro 0.0.1 is an empty
package; OpenDP 0.16.0 does not audit mechanisms; PrivacyGuard of Meta and DP-Auditorium of Google
are not on the package index.

Two functions of jax-privacy assume a Gaussian trade-off curve, which the Laplace mechanism and
randomised response do not have: `epsilon_from_gdp` (column "jax-privacy from GDP") and
`epsilon_one_run_fdp` (column "jax-privacy one-run, f-DP"). `epsilon_from_gdp` computes at each
threshold a value of mu, the distance between the means of two normal laws of variance 1, and uses
the largest absolute value, so that negative values count too. A variant that keeps the sign of mu
was run for the Gaussian mechanism with n = 50, 200 and 1,000 (450 draws for each n and epsilon).
Its mean bounds are 0.6, 2.1 and 3.1 at epsilon 4, and 0.0, 0.0 and 0.3 at epsilon 1; at most 0.4 %
of them are false.
"""

_OTHERS = """\
The table has the percentage of false statements about other numbers. "mu" is a lower bound on the
smallest mu for which the Gaussian trade-off curve is nowhere below the true curve. The other
columns are two-sided intervals, which are false if they do not contain the true value. "advantage"
is the largest difference of power and false-positive rate, "power at fpr 0.1" the power at a
false-positive rate of 0.1, "area" the area under the ROC curve of the scores, "hull area" the area
under the smallest concave curve above it, and "band" a confidence band for the whole ROC curve.
"[1000, or 300]" stands for 1,000 audits in each line, or 300 in the lines of randomised response.
"""


def page(cells: list[dict[str, Any]]) -> str:
    """Markdown of all results."""
    parts = [_HEAD + "\n".join(_short(cells)) + "\n" + _LIMIT + _TIES + _PEERS]
    for law in dict.fromkeys(cell["law"] for cell in cells):
        those = [cell for cell in cells if cell["law"] == law]
        parts.append(f"## {law[0].upper()}{law[1:]}\n")
        heads = {name: repetitions(cells, name) for name in methods(those, "bounds", "peers")}
        titles = [f"{name} [{count}]" for name, count in heads.items()]
        parts.append(_row("epsilon", "n", "oracle", *titles))
        parts.append("|" + "---:|" * (3 + len(heads)))
        for cell in those:
            found = cell["bounds"] | cell["peers"]
            entries = [_entry(found.get(name)) for name in heads]
            head = f"{cell['epsilon']:g}", f"{cell['n']:,}", f"{cell['oracle']:.3f}"
            parts.append(_row(*head, *entries))
        parts.append("")
    names = methods(cells, "statements")
    parts.append("## The other statements of an audit\n")
    parts.append(_OTHERS)
    titles = [f"{name} [{repetitions(cells, name)}]" for name in names]
    parts.append(_row("law", "epsilon", "n", *titles))
    parts.append("|---|" + "---:|" * (2 + len(names)))
    for cell in cells:
        shares = [100 * false(cell["statements"][name]) for name in names]
        head = cell["law"], f"{cell['epsilon']:g}", f"{cell['n']:,}"
        parts.append(_row(*head, *(f"{share:.1f}" for share in shares)))
    return "\n".join(parts) + "\n"


def _short(cells: list[dict[str, Any]]) -> Iterable[str]:
    """Of each claim of ours its worst cells."""
    most = max(cell["n"] for cell in cells)
    yield _SHORT.format(cells=len(cells), most=most)
    yield _row("mialeak", "most false, %", "allowed, %", "least ratio", "elsewhere")
    yield "|---|---:|---:|---:|---:|"
    for group in ("bounds", "statements"):
        for name in methods(cells, group):
            count, _, most_false = max((cell[group][name] for cell in cells), key=false)
            limit = 5 + 300 * (0.05 * 0.95 / count) ** 0.5
            worst = 100 * most_false / count
            large = [cell for cell in cells if cell["n"] == most and cell["oracle"]]
            if group == "statements":
                large = []
            shares: tuple[list[float], list[float]] = ([], [])
            for cell in large:
                easy = cell["oracle"] > 1 and cell["law"] != "randomised response"
                shares[not easy].append(mean(cell[group][name]) / cell["oracle"])
            least = [f"{100 * min(part):.1f} %" if part else "" for part in shares]
            yield _row(name, f"{worst:.1f}", f"{limit:.1f}", *least)


def methods(cells: list[dict[str, Any]], *groups: str) -> list[str]:
    """All names of these groups, in order."""
    return list(dict.fromkeys(name for group in groups for cell in cells for name in cell[group]))


def repetitions(cells: list[dict[str, Any]], name: str) -> str:
    """In most cells, and the fewest in others."""
    groups = ("bounds", "peers", "statements")
    counts = sorted(int(c[g][name][0]) for c in cells for g in groups if name in c[g])
    return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[-1]}, or {counts[0]}"


def mean(counts: list[float]) -> float:
    """Of the bounds."""
    return counts[1] / counts[0]


def false(counts: list[float]) -> float:
    """Their share."""
    return counts[2] / counts[0]


def _entry(counts: list[float] | None) -> str:
    return "" if counts is None else f"{mean(counts):.3f} ({100 * false(counts):.1f})"


def _row(*entries: str) -> str:
    return "| " + " | ".join(entries) + " |"
