"""The page docs/audit_coverage.md, from the results of ``coverage.py``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["page"]

_HEAD = """# Coverage of audits

Made by `python benchmarks/coverage.py --output docs/audit_coverage.md`; do not edit. The scores are
drawn from laws with a known epsilon, n scores in each world (one-run audits: 2n canaries with fair
coins). The nominal error is 5 %. Each entry is the **mean bound on epsilon** and, in parentheses,
the **share of false claims in per cent**. The head of a column has the number of repetitions in
square brackets. Randomised response has only two different scores, so all scores are tied. The
oracle is the pair of Clopper-Pearson bounds at the best fixed threshold, which is unknown in
practice. Epsilon of the Gaussian mechanism is at delta = 1e-5.

"""

_SHORT = """\
This table summarises the {cells} combinations of law, epsilon and n. "allowed" is the nominal error
plus three standard errors of a share. "least share" is the smallest ratio of the mean bound to the
oracle's bound at n = {most:,}, for the Laplace and Gaussian mechanisms where the oracle's bound
exceeds 1; "elsewhere" is the smallest ratio for the other combinations at this n where the oracle's
bound is above 0:
"""

_LIMIT = """
`method="simultaneous"` is slightly below the oracle for the Laplace mechanism with epsilon 4: the
curve has a corner, which the oracle knows and `method="simultaneous"` has to locate by eight ranks
on either side. Of 16 other choices of the ratio of the ranks and of the weights of their levels,
none gained more than 0.3 % for this mechanism, and those that gained 0.2 % or more lost 0.5 to
1.6 % for the Gaussian mechanism.
"""

_PEERS = """
Two other packages were run. Of `jax-privacy` 2.0.0, the newest release on the package index, only
the auditing module was used; its functions that reject a delta of 0 got a delta of 1e-9. Of
TensorFlow Privacy 0.8.12 only `epsilon_lower_bound` was used, over all thresholds. Later releases
do not contain this function, and it has no delta, so the Gaussian mechanism has no entry. All
entries of other packages except "one-run, f-DP" are from an earlier run on the same laws.

Five packages were not run: Privacy Meter 1.0.1 states no epsilon (its one-run audit is in no
release); LeakPro 0.0.1 is an empty package; OpenDP 0.16.0 constructs mechanisms but does not audit
them; PrivacyGuard of Meta and DP-Auditorium of Google are not on the package index (the package
`privacy-guard` on the index masks data).

`epsilon_from_gdp` and `epsilon_one_run_fdp` ("one-run, f-DP") of jax-privacy assume a Gaussian
curve, which the other laws do not have. `epsilon_from_gdp` takes the largest abs(mu) over the
thresholds. With the sign kept, its mean bounds for the Gaussian law with n = 50, 200 and 1,000
are 0.6, 2.1 and 3.1 at epsilon 4, and 0.0, 0.0 and 0.3 at epsilon 1; at most 0.4 % of these bounds
are false (450 draws each).
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
    parts.append("The share of false statements in per cent. `mu` is a lower bound; all others are")
    parts.append("two-sided intervals.\n")
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
    yield _row("ours", "most false claims, %", "allowed", "least share", "elsewhere")
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
