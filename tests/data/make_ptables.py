"""Make the ptables of the tests: ``python tests/data/make_ptables.py``.

The parameters are those of the examples of the R package ptable (https://github.com/sdcTools/ptable,
its README and the help of create_cnt_ptable): largest noise D, variance V, and js, counts up to
which none is shown but 0.  The rows have its definition, the most entropy of all noise with mean 0
and variance V; its further condition that probabilities fall on either side is left out.  In the
form of its export for tau-ARGUS.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import fsolve

__all__ = ["PARAMETERS", "noise_of_most_entropy", "write"]

FOLDER = Path(__file__).parent / "ptables"

#: D, V and js by the name of the file.
PARAMETERS = {
    "d2v1": (2, 1.0, 0),
    "d3v0_7": (3, 0.7, 0),
    "d5v3": (5, 3.0, 0),
    "d5v3js2": (5, 3.0, 2),
    "d12v5js2": (12, 5.0, 2),
}


def noise_of_most_entropy(count: int, most: int, variance: float, hidden: int):
    """Values and probabilities: the logarithms of these are a quadratic form of the noise."""
    noise = np.arange(-most, most + 1)
    noise = noise[(count + noise == 0) | (count + noise > hidden)]

    def law(coefficients):
        logs = coefficients[0] * noise + coefficients[1] * noise**2
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    def gap(coefficients):
        p = law(coefficients)
        return p @ noise, p @ noise**2 - variance

    solution = fsolve(gap, [0.0, -0.5 / variance], xtol=1e-13)
    assert np.abs(gap(solution)).max() < 1e-9, "no such noise"
    return noise, law(solution)


def write() -> None:
    """One file for each of the parameters."""
    FOLDER.mkdir(exist_ok=True)
    for name, (most, variance, hidden) in PARAMETERS.items():
        lines = ["i;j;p;v", "0;0;1.00000000;0"]
        for count in range(1, most + hidden + 1):
            noise, p = noise_of_most_entropy(count, most, variance, hidden)
            lines += [f"{count};{count + v};{x:.8f};{v}" for v, x in zip(noise, p, strict=True)]
        (FOLDER / f"{name}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write()
