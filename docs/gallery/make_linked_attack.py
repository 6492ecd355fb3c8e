"""Make linked_attack.json, which plot_linked_columns.py shows: an attack that is trained on games.

    python docs/gallery/make_linked_attack.py

Gradient boosting learns to distinguish *in* from *out* in games of one target, and then plays new
games, for chains of first and of second order. Takes several minutes on one core.
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
#: Of the chain of second order.
PARITY_SITES, PARITY_HAPLOTYPES, NOISE = 30, 50, 0.05


def first_order() -> Chain:
    """Sites with correlations of their neighbours."""
    return Chain.from_correlation(np.full(SITES, FREQUENCY), CORRELATION)


def second_order() -> Chain:
    """Each site is, but for noise, the sum modulo 2 of the two before it: no pair is linked."""
    flips = np.full((PARITY_SITES - 1, 2), [NOISE, 1.0 - NOISE])
    flips[0] = 0.5
    return Chain(0.5, flips, 1.0 - flips)


def games(
    law: Chain, target: Any, haplotypes: int, rng: np.random.Generator, rounds: int
) -> tuple[Any, Any]:
    """Releases of both worlds, and which of them are *in*."""
    out, inside = (law._draw_counts(rng, n, rounds).T for n in (haplotypes, haplotypes - 1))
    return np.concatenate([out, inside + target]) / haplotypes, np.repeat([False, True], rounds)


def features(law: Chain, releases: Any, target: Any, haplotypes: int) -> Any:
    """What an attacker may compute without the exact law: frequencies, differences, two scores."""
    lags = np.arange(law.size)
    if law.order == 1:
        covariance = FREQUENCY * (1 - FREQUENCY) * CORRELATION ** np.abs(lags[:, None] - lags)
        linked = covariance_score(releases, target, law.p, covariance, haplotypes)
    else:
        pairs = Chain.from_correlation(law.p, law.correlation)
        linked = likelihood_ratio_score(releases, target, pairs, haplotypes)
        releases = np.column_stack(
            [releases, (2 * releases[:, 1:] - 1) * (2 * releases[:, :-1] - 1)]
        )
    apart = bernoulli_score(releases[:, : law.size], target, law.p, haplotypes)
    return np.column_stack([releases, np.diff(releases[:, : law.size], axis=1), apart, linked])


def advantage_at(threshold: float, scores: Any, inside: Any) -> float:
    """True less false positives of "in where the score is above"."""
    return float((scores[inside] > threshold).mean() - (scores[~inside] > threshold).mean())


def best_threshold(scores: Any, inside: Any) -> float:
    """Of the largest advantage in these games."""
    order = np.argsort(scores)
    gain = np.cumsum(np.where(inside[order], -1, 1))
    return float(scores[order[int(np.argmax(gain))]])


def attack(law: Chain, target: Any, haplotypes: int, rng: np.random.Generator) -> dict[str, Any]:
    """What the trained attack and the exact ratio gain in new games, and the optimum."""
    data = [games(law, target, haplotypes, rng, rounds) for rounds in (TRAINING, THRESHOLD, GAMES)]
    model = HistGradientBoostingClassifier(max_iter=300, learning_rate=0.05, random_state=0)
    model.fit(features(law, data[0][0], target, haplotypes), data[0][1])
    gained: dict[str, Any] = {}
    for name, score in (
        ("trained", lambda x: model.predict_proba(features(law, x, target, haplotypes))[:, 1]),
        ("ratio", lambda x: likelihood_ratio_score(x, target, law, haplotypes)),
    ):
        threshold = best_threshold(score(data[1][0]), data[1][1])
        gained[name] = advantage_at(threshold, score(data[2][0]), data[2][1])
    if law.order == 1:
        return {"optimum": float(exact_mean_tradeoff(target, law, haplotypes).advantage), **gained}
    curve = exact_mean_tradeoff(target, law, haplotypes, method="sample", draws=GAMES, rng=rng)
    interval = curve.advantage_interval()
    bounds = [float(interval.lower), float(interval.upper)]
    return {"optimum": float(curve.advantage), "interval": bounds, **gained}


def results(law: Chain, haplotypes: int, rng: np.random.Generator) -> dict[str, Any]:
    """The attacks on targets drawn from the law."""
    rows = []
    for target in law.draw(TARGETS, rng=rng):
        rows.append(attack(law, target, haplotypes, rng))
        print(rows[-1], flush=True)
    return {"sites": law.size, "haplotypes": haplotypes, "targets": rows}


def main() -> None:
    """Write linked_attack.json beside this file."""
    # The variance of a share is at most 1/4: two of them, Bonferroni over targets and attacks.
    reach = stats.norm.isf(0.025 / (2 * TARGETS)) * np.sqrt(0.5 / GAMES)
    content = {
        "frequency": FREQUENCY,
        "correlation": CORRELATION,
        "training_games": 2 * TRAINING,
        "games": 2 * GAMES,
        "reach": float(reach),
        **results(first_order(), HAPLOTYPES, np.random.default_rng(0)),
        "second_order": {
            "noise": NOISE,
            **results(second_order(), PARITY_HAPLOTYPES, np.random.default_rng(1)),
        },
    }
    path = Path(__file__).with_name("linked_attack.json")
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
