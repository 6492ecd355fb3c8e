"""Membership games: releases with or without the target at random, and an attack on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from mialeak._arrays import FloatArray, as_count, as_floats, first_index, invalid
from mialeak._blocks import (
    map_blocks,
    one_blas_thread,
    progress_bar,
    resolve_workers,
    row_blocks,
    spawn_streams,
)
from mialeak._checks.means.genotypes import require_genotype, sampled_rows
from mialeak._labels import require_same_columns
from mialeak._numerics.whitening import variances_or_matrix
from mialeak.games._columns import Block, columns_of, laws_of
from mialeak.games._rounds import Rounds
from mialeak.laws import Genotype, as_joint

__all__ = ["AverageTargetGame", "FixedTargetGame"]

#: Entries of a block of rounds: 16 MB, 20 to 50 ms of work.  A block fetches the table of each
#: column from memory once, a cost that is spread over its rounds.  Blocks are smaller where rounds
#: are slow (correlated noise, or sums drawn by NumPy), since Ctrl-C takes effect after a block.
_BLOCK, _SLOW_BLOCK = 2**21, 2**18

#: A covariance may have negative eigenvalues up to this share of the largest: rounding.
_SEMIDEFINITE = 1e-10


class _Game:
    """The base class of both games."""

    #: The target of all rounds; None if each round draws a target.
    _target: FloatArray | None = None

    def __init__(
        self,
        marginals: Any,
        n: int,
        *,
        sampling_rate: float = 1.0,
        release_noise_cov: Any = None,
        n_reference: int | None = None,
    ):
        law = as_joint(marginals)
        self._n, self._size = as_count(n, "n", least=2), law.size
        self._rows = sampled_rows(sampling_rate, self._n)
        if n_reference is not None:
            n_reference = as_count(n_reference, "n_reference", least=1)
        self._n_reference = n_reference
        announced = set() if n_reference is None else {n_reference}
        laws = laws_of(law)
        self._parts, start = [], 0
        for part in laws:
            place = slice(start, start + part.size)
            self._parts.append((place, columns_of(part, self._rows, announced)))
            start += part.size
        self._noise = None
        if release_noise_cov is not None:
            if any(getattr(part, "decimals", None) is not None for part in laws):
                rule = "be None where the law of a column rounds the mean"
                invalid("release_noise_cov", rule, remedy="Leave out decimals=")
            self._noise = _noise_factor(release_noise_cov, self._size)

    def __repr__(self) -> str:
        parts = [f"n={self._n}", f"d={self._size}"]
        if self._rows != self._n:
            parts.append(f"sampling_rate={self._rows / self._n!r}")
        if self._noise is not None:
            parts.append("noise")
        if self._n_reference is not None:
            parts.append(f"n_reference={self._n_reference}")
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def _drawn(self) -> list[str]:
        """Names of the arrays drawn in each round, in the order of the attack's arguments."""
        targets = ["targets"] * (self._target is None)
        return ["releases", *targets, *["references"] * (self._n_reference is not None)]

    def _possible(self, target: Any) -> FloatArray:
        """The target as floats; raises if a value has probability 0."""
        row = np.array(as_floats(target, "target", finite=True))
        if row.shape != (self._size,):
            invalid("target", f"have {self._size} entries; its shape is {row.shape}")
        for place, columns in self._parts:
            good = columns.possible(row[place])
            if not good.all():
                column = int(np.argmin(good))
                invalid(
                    "target",
                    "be a value that a row can have in each column",
                    index=place.start + column,
                    value=row[place.start + column],
                    remedy=f"Possible there: {columns.values(column)}",
                )
        return row

    def play(
        self,
        rounds: int,
        *,
        score: Callable[..., Any] | None = None,
        rng: Any = None,
        workers: int = 1,
        progress: bool = False,
    ) -> Rounds:
        """Play rounds of the game.

        Parameters
        ----------
        rounds : int
            Number of rounds; each is in the world *in* with probability 1/2.
        score : callable, optional
            The attack.  Its arguments are arrays of shape (t, d) for a block of rounds: the
            releases, then the targets if each round has a separate target, then the means of the
            reference rows if the game has them.  It returns a score for each round, shape (t,), or
            several, shape (t, s); larger means more likely *in*, and -inf is allowed.  With `score`
            only the scores are stored, and the memory does not grow with d.
        rng : None, int or numpy.random.Generator, optional
            Argument of ``np.random.default_rng``.
        workers : int, optional
            Threads; -1 for all CPUs.  With several threads `score` must be thread-safe.
        progress : bool, optional
            Show a progress bar (by tqdm, the extra ``progress``).

        Returns
        -------
        Rounds
            With member and scores, or without `score` with member and all drawn arrays.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as described, or a score is NaN or of another shape.

        Notes
        -----
        Rounds are played in blocks that depend on the game alone, each with a separate random
        stream: the results are the same for any `workers`, and a longer game begins with the rounds
        of a shorter one, up to whole blocks.  BLAS uses one thread during the game.  A generator
        passed as `rng` spawns one child.  Releases of bits and genotypes without noise have the
        same bits on every machine if they are drawn from tables.

        Ctrl-C ends the game within a block (20 to 50 ms plus the time of `score`), without a
        result.
        """
        rounds = as_count(rounds, "rounds")
        workers = resolve_workers(workers)
        if score is not None and not callable(score):
            rule = "be a function of releases, or None"
            invalid("score", rule, value=score, error=TypeError)
        streams = spawn_streams(rng)
        quick = all(columns.quick for _, columns in self._parts)
        if self._noise is not None:
            quick = quick and self._noise.ndim == 1
        blocks = row_blocks(rounds, self._size, elements=_BLOCK if quick else _SLOW_BLOCK)
        whole = {} if score else {name: np.empty((rounds, self._size)) for name in self._drawn}
        member = np.empty(rounds, np.bool_)

        def play_block(job: tuple[slice, np.random.Generator]) -> tuple[int, FloatArray | None]:
            block, stream = job
            count = block.stop - block.start
            arrays = {
                name: whole[name][block] if whole else np.empty((count, self._size))
                for name in self._drawn
            }
            member[block] = self._play(stream, **arrays)
            return count, _checked(score(*arrays.values()), block) if score else None

        scores: list[FloatArray] = []
        with progress_bar(progress, rounds, "round") as done, one_blas_thread():
            jobs = zip(blocks, streams, strict=False)
            for count, scored in map_blocks(play_block, jobs, workers):
                if scored is not None:
                    scores.append(scored)
                done(count)
        if score is None:
            return Rounds(
                member, None, whole["releases"], whole.get("targets"), whole.get("references")
            )
        return Rounds(member, scores=_joined(scores))

    def _play(
        self,
        rng: np.random.Generator,
        releases: FloatArray,
        targets: FloatArray | None = None,
        references: FloatArray | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Play a block of rounds into the arrays; return the mask of rounds in the world *in*."""
        count = releases.shape[0]
        member = np.asarray(rng.integers(0, 2, count) == 1)
        present = member
        if self._rows < self._n:
            present = member & (rng.random(count) < self._rows / self._n)
        block = Block.of(present, releases, targets)
        for place, columns in self._parts:
            target = None if self._target is None else self._target[place]
            columns.play(rng, block.columns(place), target)
            if references is not None and self._n_reference is not None:
                columns.means(rng, self._n_reference, references[:, place])
        if self._noise is not None:
            normal = rng.standard_normal((count, self._noise.shape[-1]))
            releases += normal * self._noise if self._noise.ndim == 1 else normal @ self._noise.T
        return member


def _checked(result: Any, block: slice) -> FloatArray:
    """The scores of a block of rounds; raises for NaN or a wrong shape."""
    scores = np.array(as_floats(result, "score"))
    count = block.stop - block.start
    if scores.ndim not in (1, 2) or scores.shape[0] != count:
        rule = f"return a score, or a row of them, for each of {count} releases"
        invalid("score", f"{rule}; the shape of what it returned is {scores.shape}")
    bad = np.isnan(scores)
    if bad.any():
        place = block.start + first_index(bad)[0]
        invalid("score", "not return NaN", remedy=f"It did for round {place}")
    return scores


def _joined(scores: list[FloatArray]) -> FloatArray:
    if len({part.shape[1:] for part in scores}) > 1:
        shapes = " and ".join(sorted({str(part.shape) for part in scores}))
        invalid("score", f"return scores of one kind; the shapes of what it returned are {shapes}")
    return np.concatenate(scores or [np.empty(0)])


def _noise_factor(cov: Any, columns: int) -> FloatArray:
    """Standard deviations (d,), or F (d, r) with F F^T the covariance of the noise."""
    name = "release_noise_cov"
    noise = variances_or_matrix(cov, columns, name)
    if noise.ndim == 1:
        return np.sqrt(noise)
    try:
        return np.asarray(np.linalg.cholesky(noise))
    except np.linalg.LinAlgError:
        values, vectors = linalg.eigh(noise)
    if values[0] < -_SEMIDEFINITE * values[-1]:
        least = float(values[0])
        invalid(name, f"be positive semi-definite; its least eigenvalue is {least:.3g}")
    kept = values > 0.0
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


class FixedTargetGame(_Game):
    """The membership game of one target: is it among the rows of a released mean?

    Each round is, with probability 1/2 each, in the world *out* (n fresh rows are drawn) or in the
    world *in* (the target and n - 1 fresh rows); the mean of the rows is released.

    Parameters
    ----------
    target : array_like, shape (d,)
        A row of positive probability.
    marginals : Marginal or list of Marginal
        The law of the rows.
    n : int
        Rows, the target included; at least 2.
    sampling_rate : float, optional
        The released mean is that of ``k = sampling_rate * n`` of the rows, drawn together without
        replacement; k must be an integer, at least 2.  In the world *in* the target is among them
        with probability sampling_rate.
    release_noise_cov : array_like, optional
        Covariance of normal noise added to the released mean: a variance, variances (d,) or a
        matrix (d, d).
    n_reference : int, optional
        Number of further fresh rows in each round, whose mean is an argument of the attack.
        (For reference rows that do not change, use the ``draw`` of the law once.)

    Raises
    ------
    TypeError, ValueError
        If the target is impossible (the message states the coordinate), ``sampling_rate * n`` is
        not an integer of at least 2 (it states the nearest rates), or a value is NaN or out of
        range.

    See Also
    --------
    mean_tradeoff : the trade-off of the best attack, in theory.
    AverageTargetGame : a fresh target in each round.

    Notes
    -----
    Algorithms 1 and 2 of [AB25].  To play an attacker who has the wrong target, pass a `score` for
    another target than the game's.

    **Method.**  Means are drawn from their laws: the sum of the n - 1 other rows is binomial for
    bits and genotypes, a convolution for lattice columns; the target or a fresh row is added.
    Means of normal columns are drawn directly.  The cost does not depend on n, since at most one
    row is drawn.

    **Accuracy.**  The laws are exact up to rounding: within 2e-12 in total variation for each
    column.  Sums whose probability is at most 2^-70 times that of the mode are never drawn.

    **Cost.**  About 20 ns a round and column on one core, plus 20 ns for each possible value of a
    column's sum (300 for bits at n = 1000), once.  If the tables would have more than 2^25 numbers
    (n = 1000: d = 100,000; n = 10^6: d = 3000), NumPy draws the sums: 100 ns each.

    Examples
    --------
    The easiest target in the setting of [AB25], at a tenth of its size:

    >>> import numpy as np
    >>> from mialeak.games import FixedTargetGame
    >>> from mialeak.laws import Bernoulli
    >>> from mialeak.scores import bernoulli_score
    >>> p = np.linspace(0.25, 0.75, 500)
    >>> law = Bernoulli(p)
    >>> z = law.easiest_target()
    >>> game = FixedTargetGame(z, law, n=100)
    >>> game
    FixedTargetGame(n=100, d=500)
    >>> attack = lambda releases: bernoulli_score(releases, z, p, 100)
    >>> measured = game.play(2000, score=attack, rng=0).tradeoff()
    >>> print(f"{measured.auc:.2f}")
    0.98
    """

    def __init__(
        self,
        target: Any,
        marginals: Any,
        n: int,
        *,
        sampling_rate: float = 1.0,
        release_noise_cov: Any = None,
        n_reference: int | None = None,
    ):
        super().__init__(
            marginals,
            n,
            sampling_rate=sampling_rate,
            release_noise_cov=release_noise_cov,
            n_reference=n_reference,
        )
        require_same_columns(marginals=as_joint(marginals), target=target)
        self._target = self._possible(target)
        for law, (place, _) in zip(laws_of(as_joint(marginals)), self._parts, strict=True):
            if isinstance(law, Genotype):
                require_genotype(self._target[place], law.p)


class AverageTargetGame(_Game):
    """The membership game of a fresh target in each round, drawn from the law of the rows.

    Parameters
    ----------
    marginals, n, sampling_rate, release_noise_cov, n_reference
        As for :class:`FixedTargetGame`.

    Raises
    ------
    ValueError
        As :class:`FixedTargetGame`, also for TypeError.

    See Also
    --------
    FixedTargetGame : the same target in all rounds.

    Notes
    -----
    Algorithms 5 and 6 of [AB25].  The attack is called as ``score(releases, targets)``, with a
    target for each release.  The measured trade-off is an average over members of the population;
    the risk of a single member may be far larger.

    **Method, accuracy and cost** as of :class:`FixedTargetGame`; the targets take about the time of
    the releases again.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.games import AverageTargetGame
    >>> from mialeak.laws import Bernoulli
    >>> p = np.linspace(0.25, 0.75, 500)
    >>> game = AverageTargetGame(Bernoulli(p), n=100)
    >>> def attack(releases, targets):
    ...     v = targets - p
    ...     return (v * (releases - p - v / 200)) @ (1 / (p * (1 - p)))
    >>> measured = game.play(2000, score=attack, rng=0).tradeoff()
    >>> print(f"{measured.auc:.2f}")
    0.95
    """
