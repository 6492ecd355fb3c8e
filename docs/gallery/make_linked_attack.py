"""Make linked_attack.json, which plot_linked_columns.py shows: an attack that is trained on games.

    python docs/gallery/make_linked_attack.py

Gradient boosting learns to tell *in* from *out* in games of one target, and plays new ones.  Some
minutes on one core.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier

from mialeak import exact_mean_tradeoff
from mialeak.laws import Chain
from mialeak.scores import bernoulli_score, covariance_score, likelihood_ratio_score

#: Games of each world for training, for the threshold and for the result.
TRAINING, THRESHOLD, GAMES = 50_000, 25_000, 50_000
SITES, HAPLOTYPES, FREQUENCY, CORRELATION, TARGETS = 60, 100, 0.3, 0.9, 3


def counts(law: Chain, rng: np.random.Generator, rows: int, rounds: int) -> Any:
    """Ones in each column of so many rows: those after ones, and those after zeros."""
    columns = [rng.binomial(rows, law.start, rounds)]
    for zero, one in zip(law.after_zero, law.after_one, strict=True):
        after_ones = rng.binomial(columns[-1], one)
        columns.append(after_ones + rng.binomial(rows - columns[-1], zero))
    return np.array(columns).T


def games(law: Chain, target: Any, rng: np.random.Generator, rounds: int) -> tuple[Any, Any]:
    """Releases of both worlds, and which of them are *in*."""
    out, inside = (counts(law, rng, n, rounds) for n in (HAPLOTYPES, HAPLOTYPES - 1))
    return np.concatenate([out, inside + target]) / HAPLOTYPES, np.repeat([False, True], rounds)


def features(releases: Any, target: Any) -> Any:
    """What an attacker may compute without the exact law: frequencies, differences, two scores."""
    lags = np.arange(SITES)
    std = np.sqrt(FREQUENCY * (1 - FREQUENCY))
    covariance = std**2 * CORRELATION ** np.abs(lags[:, None] - lags)
    scores = (
        bernoulli_score(releases, target, FREQUENCY, HAPLOTYPES),
        covariance_score(releases, target, np.full(SITES, FREQUENCY), covariance, HAPLOTYPES),
    )
    return np.column_stack([releases, np.diff(releases, axis=1), *scores])


def advantage_at(threshold: float, scores: Any, inside: Any) -> float:
    """True less false positives of "in where the score is above"."""
    return float((scores[inside] > threshold).mean() - (scores[~inside] > threshold).mean())


def best_threshold(scores: Any, inside: Any) -> float:
    """Of the largest advantage in these games."""
    order = np.argsort(scores)
    gain = np.cumsum(np.where(inside[order], -1, 1))
    return float(scores[order[int(np.argmax(gain))]])


def attack(law: Chain, target: Any, rng: np.random.Generator) -> dict[str, float]:
    """What the trained attack and the exact ratio gain in new games, and the exact optimum."""
    data = [games(law, target, rng, rounds) for rounds in (TRAINING, THRESHOLD, GAMES)]
    model = HistGradientBoostingClassifier(max_iter=300, learning_rate=0.05, random_state=0)
    model.fit(features(data[0][0], target), data[0][1])
    gained = {}
    for name, score in (
        ("trained", lambda x: model.predict_proba(features(x, target))[:, 1]),
        ("ratio", lambda x: likelihood_ratio_score(x, target, law, HAPLOTYPES)),
    ):
        threshold = best_threshold(score(data[1][0]), data[1][1])
        gained[name] = advantage_at(threshold, score(data[2][0]), data[2][1])
    optimum = exact_mean_tradeoff(target, law, HAPLOTYPES).advantage
    return {"optimum": float(optimum), **gained}


def main() -> None:
    """Write linked_attack.json beside this file."""
    rng = np.random.default_rng(0)
    law = Chain.from_correlation(np.full(SITES, FREQUENCY), CORRELATION)
    rows = []
    for target in law.draw(TARGETS, rng=rng):
        rows.append(attack(law, target, rng))
        print(rows[-1], flush=True)
    # The variance of a share is at most 1/4: two of them, Bonferroni over targets and attacks.
    reach = stats.norm.isf(0.025 / (2 * TARGETS)) * np.sqrt(0.5 / GAMES)
    results = {
        "sites": SITES,
        "haplotypes": HAPLOTYPES,
        "frequency": FREQUENCY,
        "correlation": CORRELATION,
        "training_games": 2 * TRAINING,
        "games": 2 * GAMES,
        "reach": float(reach),
        "targets": rows,
    }
    path = Path(__file__).with_name("linked_attack.json")
    path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
