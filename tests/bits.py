"""Hashes of results: ``python tests/bits.py`` prints them, on any machine with mialeak installed.

tests/test_bits.py holds them.  A kernel that is to give other bits, more accurate ones, takes new
hashes from here and a line in CHANGELOG.md.

The points are built from the raw bits of PCG64 with integer arithmetic, + - * / and sqrt, which
IEEE 754 rounds alike everywhere; no sin, log or power of NumPy's takes part.
"""

from __future__ import annotations

import hashlib

import numpy as np

from mialeak import scores, special
from mialeak._kernels import chains, ufuncs
from mialeak.discrete import atom_leakage, max_leakage, min_samples
from mialeak.laws import Chain

__all__ = [
    "PROMISED",
    "chains_digest",
    "digest",
    "hypergeometric_digest",
    "inputs",
    "law",
    "rooms_digest",
]

#: What each function returns, on every machine.
PROMISED = {
    "chains_digest": "44fa38f47b2328f735870c4d4eef05b573d9c58a5525be51603f428f594934d5",
    "digest": "2ab3ad2de37da1857c69cead2ca5b068a30ed98f11fe3e0f887813f457d5632a",
    "hypergeometric_digest": "15d6f86497e19edd633a95f6b5050e74948585771f956313bcef4ffa872ba774",
    "rooms_digest": "142d4cc459eee42393d6f4103587171582c31414579da2459446026c926a449e",
}

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
    """SHA-256 of 65,536 results of the ufuncs and some sums, for which `workers` serve."""
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
    return _hash([*parts, sums])


def rooms_digest() -> str:
    """SHA-256 of what has the same bits everywhere (docs/benchmarks.md), ufuncs and games apart."""
    rows, columns, n = 37, 203, 1000
    raw = np.random.PCG64(SEED).random_raw((rows + 5) * columns) >> np.uint64(11)
    unit = (raw * 2.0**-53).reshape(rows + 5, columns)
    p, moments, counts = unit[0], unit[1:5], unit[5:]
    p[:3] = 0.5, 2.0**-40, 1 - 2.0**-40
    bits, genotypes = np.floor(2 * counts[0]), np.floor(3 * counts[0])
    std = 0.5 + moments[0]
    means = np.floor((n + 1) * counts) / n
    laws = law(ATOMS)
    return _hash(
        [
            *(atom_leakage(laws, size) for size in (1, 1000, 10**9)),
            [min_samples(laws, 0.01, gamma=gamma) for gamma in (0.5, 1.0, 1.25)],
            [max_leakage(iter(np.array_split(laws, 7)), 1000)],
            scores.bernoulli_score(means, bits, p, n),
            scores.genotype_score(np.floor((2 * n + 1) * counts) / n, genotypes, p, n),
            scores.edgeworth_score(means, bits, p, std, *moments[1:3], n),
            scores.scalar_product_score(means, bits, p),
            scores.covariance_score(means, bits, p, std * std, n),
        ]
    )


def hypergeometric_digest() -> str:
    """SHA-256 of all functions of hypergeometric laws, points made as those above."""
    size = POINTS // 4
    raw = np.random.PCG64(SEED).random_raw(7 * size).reshape(7, size)
    bits = 1 + raw[0] % np.uint64(52)
    N = ((np.uint64(1) << bits) | (raw[1] & ((np.uint64(1) << bits) - np.uint64(1)))) * 1.0
    counts = []
    for kind, number in ((raw[2], raw[3]), (raw[4], raw[5])):
        few = np.floor(np.ldexp(N, -(number % (bits + np.uint64(1))).astype(np.intc)))
        any_ = np.floor((number >> np.uint64(11)) * 2.0**-53 * N)
        half = np.floor(N / 2)
        choice = (kind % np.uint64(4)).astype(np.intp)
        counts.append(np.choose(choice, [any_, few, N - few, half]))
    K, n = counts
    mean = n * (K / N)
    sd = np.sqrt(mean * (1 - K / N) * (1 - n / N))
    h = mean + ((raw[6] >> np.uint64(11)) * 2.0**-53 - 0.5) * 60 * sd
    whole = np.clip(np.floor(h), np.maximum(0, K - (N - n)), np.minimum(K, n))
    names = ("hypergeom_sf", "hypergeom_excess")
    tails = [ufuncs.ufunc(name, "")(h, N, K, n) for name in names]
    return _hash([special.hypergeom_mad(N, K, n), special.hypergeom_logpmf(whole, N, K, n), *tails])


def chains_digest() -> str:
    """SHA-256 of scores of linked columns and of a forward step, at counts of any probability."""
    columns, targets, n = 203, 9, 1000
    raw = np.random.PCG64(SEED).random_raw((targets + 5) * columns) >> np.uint64(11)
    unit = (raw * 2.0**-53).reshape(targets + 5, columns)
    zero, one = unit[:2, 1:]
    zero[:2], one[:2] = (2.0**-40, 0.5), (1 - 2.0**-40, 0.25)
    parts = []
    for ploidy in (1, 2):
        law = Chain(0.5, zero, one, ploidy)
        rows = np.floor((ploidy + 1) * unit[5:])
        for counts in unit[2:4]:
            release = np.floor((ploidy * n + 1) * counts) / n
            parts.append(scores.likelihood_ratio_score(release, rows, law, n))
    before, after = unit[5:9].reshape(2, 2, -1).copy(), np.empty((203, 2, 24))
    weight, ratio = unit[9:11, :16].copy(), unit[11:13, :16].copy()
    chains.transfer_step(np.array([3, 5]), weight, ratio, 0.3, 2.0, 0.7, before, after)
    return _hash([*parts, after.ravel()])


def _hash(parts: list[object]) -> str:
    """SHA-256 of numbers as little-endian float64."""
    results = np.concatenate([np.asarray(part, "<f8") for part in parts]) + 0.0  # one sign for zero
    return hashlib.sha256(results.tobytes()).hexdigest()


if __name__ == "__main__":
    for function in PROMISED:
        print(f"{function}: {globals()[function]()}")
