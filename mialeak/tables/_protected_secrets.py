"""How well a secret is guessed from protected counts.

The attacker knows the protection, the secret's values and how many cells of the known columns have
which counts, but not which cell has which: of the cells the attacker sees what is shown of the
person's own.  A guess g of the shown counts x is right with probability

    sum_x sum_q P(x | c_q) c_qg(x) / n,

and the best is the secret with the largest ``sum_q P(x | c_q) c_qs``, the posterior mean of the
person's own count up to a factor.  Where all counts are shown it is the commonest of the cell;
where none is, the commonest of the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._results import Kind, Result
from mialeak.mechanisms import CellMechanism, Pram

__all__ = ["ProtectedSecret", "protected_secret"]

IntArray = npt.NDArray[np.int64]

#: Outcomes of all cells that are enumerated, times the secrets: 0.3 GB.
_MOST_OUTCOMES = 2**24
#: Numbers of a law of outcomes, of a table of secrets by cells, and of a table of two counts.
_MOST_NUMBERS = 2**25
#: Outcomes that are left out have less in all: below the rounding of the sums.
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, repr=False)
class ProtectedSecret(Result):
    """How well a secret of persons in the table is guessed from protected counts.

    Attributes
    ----------
    protection : str
        What is done to the counts.
    lower, upper : float
        Share of the rows whose secret the best guess gets right, on average over the protection's
        noise; equal if it is exact.  Otherwise `lower` is that of a guess by the counts of the
        commonest secrets alone, for :class:`~mialeak.mechanisms.Pram` by no count, and `upper`
        that from the counts as they are.
    kind : str
        "exact" or "bound".
    cell_right : (cells,) ndarray
        Probability that the guess of `lower` is right for a row of each cell of all columns.

    Examples
    --------
    Rounded to fives, the counts show neither the young woman nor that the old all smoke:

    >>> from mialeak import table_leakage
    >>> from mialeak.mechanisms import Round
    >>> table = {"age": ["young"] * 4 + ["old"] * 2, "smokes": ["yes", *["no"] * 3, "yes", "yes"]}
    >>> secret = table_leakage(table, secret="smokes", protect=Round(5)).secret
    >>> f"{secret.from_table:.3f} {secret.baseline:.3f}"
    '0.833 0.500'
    >>> secret.protected
    (ProtectedSecret(protection='Round(base=5)', lower=0.833333, upper=0.833333, kind='exact'),)
    """

    protection: str
    lower: float
    upper: float
    kind: Kind
    cell_right: FloatArray = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, and not the array."""
        content = super().to_dict()
        del content["cell_right"]
        return content

    def __repr__(self) -> str:
        return (
            f"ProtectedSecret(protection={self.protection!r}, lower={self.lower:.6g}, "
            f"upper={self.upper:.6g}, kind={self.kind!r})"
        )


def protected_secret(
    name: str,
    mechanism: CellMechanism | Pram,
    known: IntArray,
    secret: IntArray,
    counts: IntArray,
    from_table: float,
) -> ProtectedSecret:
    """The result for cells with these values of the known columns and ranks of the secret.

    The commonest secret has rank 0.  Moved rows leave the counts of other cells in those of the
    person's own, and so no law of these by the person's cell alone: the range is that between a
    guess by no count and one from the counts as they are.
    """
    rows, secrets = int(counts.sum()), int(secret.max()) + 1
    if isinstance(mechanism, Pram) or (int(known.max()) + 1) * secrets > _MOST_NUMBERS:
        right = (secret == 0).astype(np.float64)
        return _bounded(name, counts, right, from_table)
    table = np.zeros((int(known.max()) + 1, secrets), np.int64)
    table[known, secret] = counts
    kinds, kind, times = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    looked, of_kind = _guessed(mechanism, kinds, times, rows)
    right = of_kind[kind.ravel()[known], secret]
    if looked < secrets:
        return _bounded(name, counts, right, from_table)
    value = math.fsum((counts * right).tolist()) / rows
    return ProtectedSecret(name, value, value, "exact", right)


def _bounded(name: str, counts: IntArray, right: FloatArray, from_table: float) -> ProtectedSecret:
    value = math.fsum((counts * right).tolist()) / int(counts.sum())
    return ProtectedSecret(name, min(value, from_table), from_table, "bound", right)


def _guessed(
    mechanism: CellMechanism, kinds: IntArray, times: IntArray, rows: int
) -> tuple[int, FloatArray]:
    """How many of the secrets' counts are looked at, and the probability that a guess is right.

    `kinds` are the different rows of counts by secret, `times` how many cells have each.
    """
    secrets = kinds.shape[1]
    if not mechanism.random:
        shown = np.asarray(mechanism.release(kinds)).reshape(kinds.shape)
        place = np.unique(shown, axis=0, return_inverse=True)[1].ravel()
        score = np.zeros((int(place.max()) + 1, secrets))
        np.add.at(score, place, times[:, None] * kinds)
        return secrets, np.eye(secrets)[score.argmax(axis=1)[place]]
    sizes, code = np.unique(kinds, return_inverse=True)
    code = code.reshape(kinds.shape)
    if len(sizes) * (int(sizes[-1]) + 1) > _MOST_NUMBERS:
        return 0, np.eye(secrets)[np.zeros(len(kinds), np.int64)]
    law = mechanism.outcome_law(sizes, rows)
    possible = law > _NEGLIGIBLE
    outcomes = possible.sum(axis=1)
    of_kind = np.cumprod(outcomes[code], axis=1, dtype=np.float64).sum(axis=0) * secrets
    looked = int(np.count_nonzero(of_kind <= _MOST_OUTCOMES))
    if looked < 2 <= secrets and max(law.shape[1], len(kinds)) ** 2 <= _MOST_NUMBERS:
        return 2, _by_two(law[code[:, 0]], law[code[:, 1]], kinds, times)
    return looked, _enumerated(law, possible, code[:, :looked], kinds, times)


def _by_two(one: FloatArray, two: FloatArray, kinds: IntArray, times: IntArray) -> FloatArray:
    """A guess by the shown counts of two secrets, each pair of which has a place in a table."""
    best = np.zeros((one.shape[1], two.shape[1]))
    guess = np.zeros(best.shape, np.int64)
    for secret in range(kinds.shape[1]):
        score = (one * (times * kinds[:, secret])[:, None]).T @ two
        guess[score > best] = secret
        np.maximum(best, score, out=best)
    guesses = (((one @ (guess == secret)) * two).sum(axis=1) for secret in range(kinds.shape[1]))
    return np.stack(list(guesses), axis=1)


def _enumerated(
    law: FloatArray,
    possible: npt.NDArray[np.bool_],
    code: IntArray,
    kinds: IntArray,
    times: IntArray,
) -> FloatArray:
    """A guess by the shown counts of the first secrets, as many as `code` has columns."""
    secrets = kinds.shape[1]
    places = [np.flatnonzero(row) for row in possible]
    chances = [row[place] for row, place in zip(law, places, strict=True)]
    keys, weights = [], []
    for row in code.tolist():
        key, weight = np.zeros((1, 0), np.int32), np.ones(1)
        for size in row:
            shown = places[size].astype(np.int32)
            key = np.column_stack([np.repeat(key, len(shown), axis=0), np.tile(shown, len(key))])
            weight = np.outer(weight, chances[size]).ravel()
        keys.append(key)
        weights.append(weight)
    owner = np.repeat(np.arange(len(kinds)), [len(each) for each in weights])
    weight = np.concatenate(weights)
    place = np.unique(np.concatenate(keys), axis=0, return_inverse=True)[1].ravel()
    score = np.stack(
        [
            np.bincount(place, weight * (times * kinds[:, secret])[owner])
            for secret in range(secrets)
        ]
    )
    guess = score.argmax(axis=0)[place]
    right = np.zeros((len(kinds), secrets))
    np.add.at(right, (owner, guess), weight)
    return right
