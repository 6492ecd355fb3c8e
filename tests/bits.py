"""One hash of 65,536 results: ``python tests/bits.py`` prints it, on any machine.

The points are built from the raw bits of PCG64 with integer arithmetic, + - * / and sqrt, which
IEEE 754 rounds alike everywhere; no sin, log or power of NumPy's takes part.
"""

from __future__ import annotations

import hashlib

import numpy as np

from mialeak import special
from mialeak.discrete import max_leakage

__all__ = ["digest", "inputs", "law"]

#: Points for a function that is hashed by itself; 65,536 in all.
POINTS = 16_384
SHARES = {
    "binom_mad": POINTS,
    "binom_excess": POINTS,
    "binom_shortfall": POINTS // 2,
    "binom_sf": POINTS // 2,
    "binom_logpmf": POINTS,
}
#: Atoms of the law whose largest leakages are hashed as well.
ATOMS = 100_003
SEED = 20_240_229


def inputs(seed: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns (c, n, p) over the whole domain, the same bits on every machine."""
    raw = np.random.PCG64(seed).random_raw(6 * size).reshape(6, size)
    unit = (raw[0] >> np.uint64(11)) * 2.0**-53
    bits = raw[1] % np.uint64(53)
    n = ((np.uint64(1) << bits) | (raw[2] & ((np.uint64(1) << bits) - np.uint64(1)))) * 1.0
    shift = raw[3] % np.uint64(60)
    small = np.ldexp(1 + unit, -(raw[3] % np.uint64(990)).astype(np.intc) - 1)
    law = np.choose(
        (raw[4] % np.uint64(6)).astype(np.intp),
        [
            unit,
            small,
            np.minimum(64 * unit / n, 0.5),
            1 - np.minimum(64 * unit / n, 0.5),
            np.floor(unit * n) / n,
            0.5 + np.ldexp(0.25 - unit / 2, -shift.astype(np.intc)),
        ],
    )
    p = np.clip(law, 2.0**-996, 1 - 2.0**-53)
    spread = ((raw[5] >> np.uint64(11)) * 2.0**-53 - 0.5) * 60
    mean = n * p
    c = np.clip(mean + spread * np.sqrt(mean * (1 - p)), 0, n)
    return np.where(raw[5] % np.uint64(2) == 0, np.floor(c), c), n, p


def law(atoms: int) -> np.ndarray:
    """Probabilities of uneven atoms: integers over their sum."""
    raw = np.random.PCG64(SEED).random_raw(atoms)
    weights = (raw >> np.uint64(30)) >> (raw % np.uint64(24))
    return weights / int(weights.sum())


def digest(workers: int = 1) -> str:
    """SHA-256 over the results as little-endian float64; `workers` serve the sums."""
    parts = []
    for i, (name, points) in enumerate(SHARES.items()):
        c, n, p = inputs(SEED + i, points)
        first = () if name == "binom_mad" else (np.floor(c),) if name == "binom_logpmf" else (c,)
        parts.append(getattr(special, name)(*first, n, p))
    probabilities = law(ATOMS)
    sums = [
        max_leakage(probabilities, n, gamma=gamma, workers=workers)
        for n in (1, 1000, 10**6, 2**53)
        for gamma in (0.5, 1.0, 1.25)
    ]
    results = np.concatenate([*parts, sums]) + 0.0  # one sign for zero
    return hashlib.sha256(results.astype("<f8").tobytes()).hexdigest()


if __name__ == "__main__":
    print(digest())
