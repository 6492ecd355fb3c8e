"""What is timed of membership games: the setting of [AB25], 1000 rounds, n = 1000, d = 5000."""

from __future__ import annotations

from typing import Any

import numpy as np
from speed_case import SpeedCase

from mialeak import games, means, scores
from mialeak._numerics.draws import binomial_draw
from mialeak.laws import Bernoulli
from mialeak.reference import games as game_twins, scores as score_twins

__all__ = ["GAME_CASES"]

ROWS, COLUMNS = 1000, 5000
#: From so many rounds on what an attack achieves is held against the theory.
ENOUGH = 500


def setting(size: int) -> tuple[Any, ...]:
    """How many rounds make ``size`` entries, probabilities and the easiest target."""
    p = np.random.default_rng(6).uniform(0.25, 0.75, COLUMNS)
    return size // COLUMNS, p, Bernoulli(p).easiest_target()


def checked(attack: Any, member: Any, p: Any, target: Any) -> None:
    """Refuse scores that do not achieve what theory says."""
    if member.size < ENOUGH:
        return
    found = (attack[member] > 0).mean() - (attack[~member] > 0).mean()
    theory = means.mean_tradeoff(target, p, p * (1 - p), ROWS).advantage
    assert abs(found - theory) < 0.06, (found, theory)


def played(rounds: int, p: Any, target: Any) -> None:
    """Tables made, rounds played and scored."""
    game = games.FixedTargetGame(target, Bernoulli(p), ROWS)
    done = game.play(rounds, score=lambda r: scores.bernoulli_score(r, target, p, ROWS), rng=7)
    checked(done.scores, done.member, p, target)


def drawn_by_means(rounds: int, p: Any, target: Any) -> None:
    """NumPy's binomial draws, and the score as one array expression."""
    rng = np.random.default_rng(7)
    member = rng.random(rounds) < 0.5
    counts = rng.binomial(np.where(member, ROWS - 1, ROWS)[:, None], p)
    releases = (counts + member[:, None] * target) / ROWS
    checked(score_twins.bernoulli_score(releases, target, p, ROWS), member, p, target)


def drawn_by_rows(rounds: int, p: Any, target: Any) -> None:
    """Every row of every round, as the papers do."""
    releases, member = game_twins.play_bits(np.random.default_rng(7), target, p, ROWS, rounds)
    checked(score_twins.bernoulli_score(releases, target, p, ROWS), member, p, target)


def tables(size: int) -> tuple[Any, ...]:
    """Tables of the columns, how many draws of each, and for NumPy the probabilities."""
    rounds, p, _ = setting(size)
    return binomial_draw(ROWS, p), rounds, p


def table_draws(draw: Any, rounds: int, p: Any) -> Any:
    """As games do: a block of rounds, some columns at a time."""
    rng, step = np.random.default_rng(8), max(1, 2**17 // rounds)
    for start in range(0, COLUMNS, step):
        draw(rng, slice(start, start + step), rounds)


GAME_CASES = (
    SpeedCase(
        name="`FixedTargetGame`, n = 1000, d = 5000, 1000 rounds made, played and scored",
        size=1000 * COLUMNS,
        quick_size=2 * COLUMNS,
        setup=setting,
        ours=played,
        rivals={"rng.binomial": drawn_by_means},
    ),
    SpeedCase(
        name="The same; the rival draws all rows, in 2 rounds",
        size=1000 * COLUMNS,
        quick_size=2 * COLUMNS,
        rival_size=2 * COLUMNS,
        setup=setting,
        ours=played,
        rivals={"rows by rng.binomial": drawn_by_rows},
    ),
    SpeedCase(
        name="Draws of Binomial(1000, p) for 5000 columns, 200 each",
        size=200 * COLUMNS,
        quick_size=2 * COLUMNS,
        setup=tables,
        ours=table_draws,
        rivals={
            "rng.binomial": lambda draw, rounds, p: np.random.default_rng(8).binomial(
                ROWS, p, (rounds, COLUMNS)
            )
        },
        floor=lambda draw, rounds, p: np.random.default_rng(8).random((rounds, COLUMNS)),
        floor_name="rng.random",
    ),
)
