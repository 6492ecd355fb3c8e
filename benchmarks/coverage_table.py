"""The page docs/audit_coverage.md, from the results of ``coverage.py``."""

from __future__ import annotations

from typing import Any

__all__ = ["page"]

_HEAD = """# Coverage of audits

Made by `python benchmarks/coverage.py --output docs/audit_coverage.md`; do not edit. Scores of laws
with a known epsilon, n in each world (one-run audits: 2n canaries with fair coins); the nominal
error is 5 %. Each entry is the **mean bound on epsilon**, and in brackets the **share of false
claims in per cent**. Randomised response has two scores only: all are tied. The oracle is the
Clopper-Pearson pair at the best fixed threshold, which nobody knows. Epsilon of the Gaussian
mechanism is at delta = 1e-5.

{note}

A method that errs in exactly 5 % of cases stays below {worst:.1f} % in nearly every cell of the
fewest repetitions (three standard errors). `jax-privacy` is 2.0.0; functions of it that take no
delta of 0 got 1e-9. Privacy Meter, TensorFlow Privacy, PrivacyGuard and LeakPro were not run.
"""


def page(cells: list[dict[str, Any]], thinned: dict[str, int]) -> str:
    """Markdown of all results."""
    repetitions = sorted({cell["repetitions"] for cell in cells})
    names = list(cells[0]["bounds"])
    worst = 100 * (0.05 + 3 * (0.05 * 0.95 / repetitions[0]) ** 0.5)
    shares = "; ".join(f"of {name} one in {every}" for name, every in thinned.items())
    note = f"Not all was looked at in every repetition: {shares}."
    parts = [_HEAD.format(note=note, worst=worst)]
    for law in dict.fromkeys(cell["law"] for cell in cells):
        parts.append(f"## {law[0].upper()}{law[1:]}\n")
        parts.append("| epsilon | n | repetitions | oracle | " + " | ".join(names) + " |")
        parts.append("|---:|---:|---:|---:|" + "---:|" * len(names))
        for cell in cells:
            if cell["law"] == law:
                shown = " | ".join(_entry(*cell["bounds"][name]) for name in names)
                head = f"| {cell['epsilon']:g} | {cell['n']:,} | {cell['repetitions']} |"
                head += f" {cell['oracle']:.3f} |"
                parts.append(f"{head} {shown} |")
        parts.append("")
    kinds = list(cells[0]["intervals"])
    parts.append("## The other statements of an audit\n")
    parts.append("Share of false ones in per cent; `mu` is a bound, the others are two-sided.")
    parts.append(
        f"One repetition in {thinned['intervals']} was looked at: some cells are coarse.\n"
    )
    parts.append("| law | epsilon | n | " + " | ".join(kinds) + " |")
    parts.append("|---|---:|---:|" + "---:|" * len(kinds))
    for cell in cells:
        shown = " | ".join(f"{100 * cell['intervals'][kind]:.1f}" for kind in kinds)
        parts.append(f"| {cell['law']} | {cell['epsilon']:g} | {cell['n']:,} | {shown} |")
    return "\n".join(parts) + "\n"


def _entry(bound: float, false: float) -> str:
    return f"{bound:.3f} ({100 * false:.1f})"
