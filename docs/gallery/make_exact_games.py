"""Make ``exact_games.npz`` and ``exact_games.json``: games in the setting of Azize and Basu.

The gallery plots the stored results, and a test compares them with the exact curves. To make the
files again, which takes several minutes on one core:

    python docs/gallery/make_exact_games.py

The mean of n = 1000 rows of d = 5000 bits is released, with probabilities from 1/4 to 3/4.

band        100,000 rounds of the exact attack: how many scores lie above each of 200 thresholds
power       20,000 rounds of other settings: the power of the attack at the fpr of ``fpr``
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mialeak
from mialeak import exact_mean_tradeoff
from mialeak.games import FixedTargetGame
from mialeak.laws import Bernoulli
from mialeak.scores import bernoulli_score

HERE = Path(__file__).parent
COLUMNS, ROWS, SEED = 5000, 1000, 2025
BAND_ROUNDS, ROUNDS = 100_000, 20_000
#: False-positive rates of the band: from 1e-3 to 1 - 1e-3, evenly in the logit.
LEVELS = 1.0 / (1.0 + 999.0 ** np.linspace(1.0, -1.0, 200))
FPR = np.linspace(0.0, 1.0, 101)
#: Standard deviations of the noise, in those of the means; share of bits that are mistaken.
NOISES, MISTAKES = (0.5, 1.0, 2.0), (0.1, 0.25, 0.4)
RATES, BAND_RATE = (0.1, 0.3, 0.6), 0.1
REFERENCES = (50, 200, 1000, 5000)

P = 0.25 + 0.5 * (np.arange(COLUMNS) + 0.5) / COLUMNS
VARIANCE = P * (1.0 - P)
EASY = (P <= 0.5).astype(float)


def band(target: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """(4, 200): thresholds for the rows in the sample, scores above them out and in, rounds out."""
    rows = round(rate * ROWS)
    cuts = np.asarray(exact_mean_tradeoff(target, Bernoulli(P), rows).threshold(LEVELS))
    game = FixedTargetGame(target, Bernoulli(P), ROWS, sampling_rate=rate)
    played = game.play(BAND_ROUNDS, score=lambda x: bernoulli_score(x, target, P, rows), rng=rng)
    above = [
        s.size - np.searchsorted(np.sort(s), cuts, side="right")
        for s in (played.out_scores, played.in_scores)
    ]
    return np.stack([cuts, *above, np.full(cuts.shape, played.out_scores.size)])


def power(score: Callable[..., Any], rng: np.random.Generator, **options: Any) -> np.ndarray:
    """Power of a score about the easy target at `FPR`."""
    game = FixedTargetGame(EASY, Bernoulli(P), ROWS, **options)
    return np.asarray(game.play(ROUNDS, score=score, rng=rng).tradeoff().power(FPR))


def plugged_in(releases: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The score of the paper with reference means in place of P."""
    away = EASY - means
    return (away * (releases - means - away / (2 * ROWS))) @ (1.0 / VARIANCE)


def settings(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Power in each setting."""
    weights = (EASY - P) / VARIANCE
    found = {}
    for noise in NOISES:
        cov = noise**2 * VARIANCE / ROWS
        found[f"noise {noise:g}"] = power(lambda x: x @ weights, rng, release_noise_cov=cov)
    for share in MISTAKES:
        wrong = np.where(rng.random(COLUMNS) < share, 1.0 - EASY, EASY)
        found[f"mistaken target {share:g}"] = wrong.astype(np.uint8)
        believed = (wrong - P) / VARIANCE
        found[f"mistaken {share:g}"] = power(lambda x, w=believed: x @ w, rng)
    for rate in RATES:
        rows = round(rate * ROWS)
        found[f"rate {rate:g}"] = power(
            lambda x, k=rows: bernoulli_score(x, EASY, P, k), rng, sampling_rate=rate
        )
    for count in REFERENCES:
        fixed = Bernoulli(P).draw(count, rng=rng).mean(axis=0)
        found[f"fixed {count}"] = power(lambda x, m=fixed: plugged_in(x, m), rng)
        found[f"redrawn {count}"] = power(plugged_in, rng, n_reference=count)
    return found


def main() -> None:
    """Play, and store."""
    start = time.perf_counter()
    rng = np.random.default_rng(SEED)
    medium = (rng.random(COLUMNS) < P).astype(float)
    arrays = {"fpr": FPR, "levels": LEVELS, "medium": medium.astype(np.uint8)}
    targets = {"easy": EASY, "medium": medium, "hard": 1.0 - EASY}
    for name, target in targets.items():
        arrays[f"band {name}"] = band(target, 1.0, rng)
        print(f"{time.perf_counter() - start:5.0f} s  {name}", flush=True)
    arrays["band rate"] = band(EASY, BAND_RATE, rng)
    arrays |= settings(rng)
    np.savez_compressed(HERE / "exact_games.npz", **arrays)
    about = {
        "seed": SEED,
        "columns": COLUMNS,
        "rows": ROWS,
        "band_rounds": BAND_ROUNDS,
        "rounds": ROUNDS,
        "band_rate": BAND_RATE,
        "noises": NOISES,
        "mistakes": MISTAKES,
        "rates": RATES,
        "references": REFERENCES,
        "versions": {
            "mialeak": mialeak.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "sha256": hashlib.sha256((HERE / "exact_games.npz").read_bytes()).hexdigest(),
    }
    (HERE / "exact_games.json").write_text(json.dumps(about, indent=1) + "\n")
    print(f"{time.perf_counter() - start:5.0f} s")


if __name__ == "__main__":
    main()
