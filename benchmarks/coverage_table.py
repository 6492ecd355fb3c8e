"""The page docs/audit_coverage.md, from the results of ``coverage.py``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["page"]

_HEAD = """# Coverage of audits

Made by `python benchmarks/coverage.py --output docs/audit_coverage.md`; do not edit. The scores are
drawn from laws with a known epsilon, n scores in each world (one-run audits: 2n canaries with fair
coins). The nominal error is 5 %. A bound is false if it exceeds the true epsilon. Each entry is the
**mean bound on epsilon** and, in parentheses, the **percentage of false bounds**. The head of a
column has the number of repetitions in square brackets. Randomised response has only two different
scores, so all scores are tied. The oracle's bound on epsilon is computed from the Clopper-Pearson
bounds of the power and of the false-positive rate at one fixed threshold: the threshold with the
largest mean bound, which is unknown in practice. For the Gaussian mechanism epsilon is at delta =
1e-5.

"""

_SHORT = """\
This table summarises the {cells} combinations of law, epsilon and n. "allowed" is the nominal error
plus three standard errors of a percentage of false bounds. "least ratio" is the smallest ratio of
the mean bound to the oracle's bound at n = {most:,}, for the Laplace and Gaussian mechanisms where
the oracle's bound exceeds 1; "elsewhere" is the smallest ratio for the other combinations at this n
where the oracle's bound is above 0. A row that is not a bound on epsilon has no ratio:
"""

_LIMIT = """
For the Laplace mechanism with epsilon 4 and n = 10,000, the mean bound of `method="simultaneous"`
is 3.769, and the oracle's bound is 3.782 (at smaller n the mean bound exceeds the oracle's bound).
The trade-off curve has a corner at a false-positive rate of 0.00916. The oracle may choose the
threshold of the corner. `method="simultaneous"` tests the ranks 1, 3, 9, ..., 2,187 from either
end, and the corner lies between the ranks 81 and 243. The method divides the nominal error among
the ranks by fixed weights. 16 other choices of the ratio of the ranks (here 3) and of the weights
were tried. None raised the mean bound by more than 0.3 % for this mechanism. The choices that
raised the mean bound by 0.2 % or more lowered the mean bound for the Gaussian mechanism by 0.5 to
1.6 %.
"""

_PEERS = """
Two other packages were run. Only the auditing module of `jax-privacy` 2.0.0, the newest release on
the package index, was used; where a function of the module rejects a delta of 0, the delta was
1e-9. Only `epsilon_lower_bound` of TensorFlow Privacy 0.8.12 was used, over all thresholds. Later
releases do not contain `epsilon_lower_bound`. The function has no argument for delta, so the
Gaussian mechanism has no entry. All entries of other packages except "one-run, f-DP" are from an
earlier run on the same laws.

Five packages were not run: Privacy Meter 1.0.1 states no epsilon (its one-run audit is in no
release); LeakPro 0.0.1 is an empty package; OpenDP 0.16.0 constructs mechanisms but does not audit
them; PrivacyGuard of Meta and DP-Auditorium of Google are not on the package index (the package
`privacy-guard` on the index masks data).

`epsilon_from_gdp` and `epsilon_one_run_fdp` ("one-run, f-DP") of jax-privacy assume a Gaussian
curve; the curves of the other laws are not Gaussian. `epsilon_from_gdp` takes the largest abs(mu)
over the thresholds. If the sign of mu is kept, the mean bounds of `epsilon_from_gdp` for the
Gaussian law with n = 50, 200 and 1,000 are 0.6, 2.1 and 3.1 at epsilon 4, and 0.0, 0.0 and 0.3 at
epsilon 1; no more than 0.4 % of these bounds are false (450 draws each).
"""


def page(cells: list[dict[str, Any]]) -> str:
    """Markdown of all results."""
    parts = [_HEAD + "\n".join(_short(cells)) + "\n" + _LIMIT + _PEERS]
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
    parts.append("The percentage of false statements. `mu` is a lower bound; each other column is")
    parts.append("a two-sided interval.\n")
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
            count = min(cell[group][name][0] for cell in cells)
            limit = 5 + 300 * (0.05 * 0.95 / count) ** 0.5
            worst = max(100 * false(cell[group][name]) for cell in cells)
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
    """In each cell, or from the fewest to the most."""
    groups = ("bounds", "peers", "statements")
    counts = sorted(int(c[g][name][0]) for c in cells for g in groups if name in c[g])
    return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


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
