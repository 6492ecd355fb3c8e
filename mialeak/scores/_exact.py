"""Exact scores of released means: of bits and genotypes by a kernel each, and of any law."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_floats, invalid
from mialeak._checks.means.frequencies import MOST_ROWS, require_likely_counts
from mialeak._checks.means.genotypes import (
    as_column_probabilities,
    count_tolerance,
    refuse_answers_of_genotypes,
    require_counts,
    require_genotype_means,
    require_persons,
    require_possible_genotype,
    require_possible_target,
)
from mialeak._kernels import scores as kernels
from mialeak._labels import require_same_columns
from mialeak.laws import Genotype, as_joint
from mialeak.scores._linear import as_target
from mialeak.scores._releases import Piece, in_unit_of, map_releases, padded

__all__ = ["bernoulli_score", "genotype_score", "likelihood_ratio_score"]

#: u, v, w of a factor that is 1 for every release, and of two such factors.
_ONE = np.array([[1.0], [0.0], [1.0]])
_ONES = np.concatenate([_ONE, _ONE])
#: The ratio of a genotype has two factors, one for each allele.  `_BEFORE`: alleles drawn before.
#: For genotypes 0, 1 and 2, the rows u, v and (in place of w) 1 if the allele is not the alternate
#: one are `_OF_DRAWS` times the number of draws plus `_ADDED`.
_BEFORE = np.array([[0.0], [1.0]])
_OF_DRAWS = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]], float)
_ADDED = np.array([[0, 0, 0], [-1, 1, 1], [1, 0, 0], [-1, 0, -1], [-1, -1, 1], [1, 1, 0]], float)


def bernoulli_score(releases: Any, target: Any, p: Any, n: int) -> float | FloatArray:
    """Exact log likelihood ratio of the mean of rows of independent bits.

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released frequencies, in [0, 1].  A memory map is read in pieces, float32 as such.
    target : array_like, shape (d,)
        The row whose membership is in question: zeros and ones.
    p : array_like, shape (d,) or a number
        Probability of a one in each column.
    n : int
        Rows of the release, the target included; at least 2.  The score does not depend on n.

    Returns
    -------
    float or ndarray, shape (T,)
        The sum of ``log(release/p)`` over the ones of the target and of
        ``log((1 - release)/(1 - p))`` over its zeros: larger means more likely in; -inf means that
        the release is impossible with the target.

    Raises
    ------
    ValueError
        If shapes do not match, a target is not 0 or 1 or has probability 0, or a release is
        outside [0, 1] or impossible (not p where p is 0 or 1).

    Warns
    -----
    UserWarning
        If the release is far from p in most of 20 columns and more, as that of another population.

    See Also
    --------
    genotype_score : for counts 0, 1, 2.
    edgeworth_score : for other laws.

    Notes
    -----
    The count is Binomial(n, p) out, and the target's bit plus Binomial(n - 1, p) in: the ratio of
    the probabilities is release/p or (1 - release)/(1 - p) [AB25].  The score is most powerful at
    every false-positive rate.

    **Method.**  One logarithm for every eight columns, of the product of eight ratios.

    **Accuracy.**  Absolute error at most 3 eps for each column, and eps times the sum of the
    absolute terms.  The same bits on every processor.

    **Cost.**  Several times that of ``releases @ w``.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.scores import bernoulli_score
    >>> releases = [[0.3, 0.5, 0.9], [0.2, 0.6, 1.0]]
    >>> np.round(bernoulli_score(releases, [1, 0, 1], [0.2, 0.5, 0.9], 10), 4)
    array([ 0.4055, -0.1178])
    """
    if not type(p) is type(target) is type(releases) is np.ndarray:  # arrays have no names
        require_same_columns(target=target, p=p, releases=releases)
    target = as_target(target)
    p, fixed = as_column_probabilities(p, "p", target.size)
    n = as_count(n, "n", least=2)
    require_counts(target, 1)
    require_likely_counts(target, p, 1)
    table, (zero, sign, chance) = padded(_ONE, target.size)
    np.subtract(1.0, target, zero)
    np.subtract(target, zero, sign)
    np.abs(np.subtract(zero, p, chance), chance)
    if fixed.size:
        require_possible_target(chance > 0.0, target, p)
        chance[fixed] = 1.0
    np.reciprocal(chance, chance)
    if fixed.size:
        table[:, fixed] = _ONE

    def score(piece: Piece) -> FloatArray:
        out = np.empty(piece.rows.shape[0])
        kernels.log_linear_sums(piece.rows, table, out)
        if fixed.size:
            _require_fixed(piece, fixed, p)
        return out

    def explain_failure(piece: Piece, scores: FloatArray) -> None:
        if np.isnan(scores).any():
            piece.require((piece.rows >= 0.0) & (piece.rows <= 1.0), "be between 0 and 1")

    score_in_unit = in_unit_of(p, score, n=n, most=1.0, deviations=lambda: np.sqrt(p * (1.0 - p)))
    return map_releases(releases, target.size, score_in_unit, explain_failure)


def _require_fixed(piece: Piece, fixed: npt.NDArray[np.intp], value: FloatArray) -> None:
    """Require that columns with only one possible value have that value."""
    good = np.ones(piece.rows.shape, bool)
    given = piece.rows[:, fixed]
    good[:, fixed] = (given == value[fixed]) | np.isnan(given)
    piece.require(good, "be possible; all rows have the same value in this column")


def genotype_score(
    releases: Any, target: Any, p: Any, n: int, *, decimals: int | None = None
) -> float | FloatArray:
    """Exact log likelihood ratio of the mean of rows of independent genotypes.

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means of the counts 0, 1, 2: twice the allele frequencies.
    target : array_like, shape (d,)
        The genotype whose membership is in question: alternate alleles, 0, 1 or 2.
    p : array_like, shape (d,) or a number
        Frequency of the alternate allele in the population.
    n : int
        Persons in the release, the target included; at least 2.
    decimals : int, optional
        Decimals to which the released means were rounded; by default they are not rounded.

    Returns
    -------
    float or ndarray, shape (T,)
        Larger means more likely in; -inf means that the release is impossible with the target.

    Raises
    ------
    ValueError
        If shapes do not match, a target is not 0, 1 or 2 or has probability 0, or a release is not
        the mean (with `decimals` the rounded mean) of n counts.

    Warns
    -----
    UserWarning
        If the release is far from p in most of 20 columns and more, as that of another population.

    See Also
    --------
    mialeak.laws.Genotype : the law of a coordinate.

    Notes
    -----
    The sum of counts k is Binomial(2n, p) out and z plus Binomial(2n - 2, p) in.  With q = 1 - p
    the ratio of the probabilities is, for z = 0, 1 and 2,::

        (2n-k)(2n-k-1)/(2n(2n-1)q^2)   k(2n-k)/(2n(2n-1)pq)   k(k-1)/(2n(2n-1)p^2)

    The probability of a rounded release is the sum over the counts that round to it, ties to the
    even digit.

    **Accuracy.**  Absolute error at most 6 eps for each column, with `decimals` 20 eps, and eps
    times the sum of the absolute terms.  The same bits on every processor, except with `decimals`.

    **Cost.**  About twice :func:`bernoulli_score`; with `decimals`, about 0.1 us for each
    count that rounds to a release.

    Examples
    --------
    >>> from mialeak.scores import genotype_score
    >>> f"{genotype_score([0.75, 1.5], [1, 2], [0.3, 0.7], 4):.4f}"
    '0.3325'
    >>> f"{genotype_score([0.8, 1.5], [1, 2], [0.3, 0.7], 4, decimals=1):.4f}"
    '0.3325'
    """
    require_same_columns(target=target, p=p, releases=releases)
    target = as_target(target)
    p, fixed = as_column_probabilities(p, "p", target.size)
    n = as_count(n, "n", least=2, most=MOST_ROWS)
    in_unit = partial(
        in_unit_of, 2.0 * p, n=n, most=2.0, deviations=lambda: np.sqrt(2.0 * p * (1.0 - p))
    )
    if decimals is not None:
        law = Genotype(p, decimals=decimals)

        def rounded(piece: Piece) -> FloatArray:
            with np.errstate(over="ignore", invalid="ignore"):
                return np.asarray(law._log_ratio(piece, target, n).sum(axis=1))

        return map_releases(releases, target.size, in_unit(rounded))
    require_counts(target, 2)
    require_likely_counts(target, p, 2)
    if fixed.size:
        require_possible_genotype(target, p)
    table, factors = padded(_ONES, target.size)
    _fill_genotype_factors(factors, target, p, n)
    if fixed.size:
        factors[:, fixed] = _ONES

    def score(piece: Piece) -> FloatArray:
        if piece.rows.shape[0]:
            refuse_answers_of_genotypes(piece.rows[0], p, n)
            require_persons(piece.rows[0], n)
        out = np.empty(piece.rows.shape[0])
        tolerance = count_tolerance(piece.rows.dtype, n)
        kernels.log_quadratic_sums(piece.rows, float(n), tolerance, table, out)
        if fixed.size:
            _require_fixed(piece, fixed, 2.0 * p)
        return out

    def explain_failure(piece: Piece, scores: FloatArray) -> None:
        if np.isnan(scores).any():
            require_genotype_means(piece, n)

    score_in_unit = in_unit(score)
    return map_releases(releases, target.size, score_in_unit, explain_failure)


def _fill_genotype_factors(factors: FloatArray, target: FloatArray, p: FloatArray, n: int) -> None:
    """Fill u, v, w of the two factors: remaining draws with and without the allele."""
    draws = 2.0 * n
    factors[:] = (draws * _OF_DRAWS + _ADDED).take(target.astype(np.intp), axis=1)
    chance = np.abs(factors[2::3] - p)
    factors[2::3] = 1.0 / ((draws - _BEFORE) * chance)


def likelihood_ratio_score(
    releases: Any, target: Any, marginals: Any, n: int
) -> float | FloatArray:
    """Exact log likelihood ratio of the mean of rows of any law, linked columns included.

    Parameters
    ----------
    releases : array_like, shape (T, d) or (d,), or iterator of such blocks
        Released means of n rows.
    target : array_like, shape (d,) or (t, d)
        The row whose membership is in question, or several.
    marginals : Marginal or list of Marginal
        The law of the rows: :class:`~mialeak.laws.Chain`, another law, or a list of laws of
        consecutive columns, such as a chain for each chromosome.
    n : int
        Rows of the release, the target included; at least 2.

    Returns
    -------
    float or ndarray, shape (T,), (t,) or (T, t)
        A score for each release and target: larger means more likely in; -inf means that the
        release is impossible with the target.

    Raises
    ------
    ValueError
        If shapes do not match, or a target or a release is impossible; the message states where.

    See Also
    --------
    bernoulli_score, genotype_score : faster, for independent columns.
    mialeak.exact_mean_tradeoff : what the score achieves.

    Notes
    -----
    The sum of ``log_likelihood_ratio`` of the law over the columns.  The score is most powerful at
    every false-positive rate.  If columns are linked, a score that takes them as independent can
    be far from it: of 200 haplotypes and 400 columns of frequency .3 with correlations of .95 the
    best attack has an advantage of .55, and that score .15 at its best threshold.

    **Accuracy.**  Of a chain, a relative error of about 1e-14 for each column; of first order the
    same bits on every processor.

    **Cost.**  Of a chain of first order, 0.1 to 1 us for each column of a release, and 10 ns for
    each further target: 1,000 columns and 1,000 targets take 0.3 s.  Of second order and 200
    haplotypes, 1.5 ms for each column of one release, and 0.1 ms for each further target.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.laws import Chain
    >>> from mialeak.scores import likelihood_ratio_score
    >>> law = Chain.from_correlation([0.3] * 4, 0.9)
    >>> targets = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]]
    >>> np.round(likelihood_ratio_score([0.4, 0.4, 0.4, 0.4], targets, law, 10), 2)
    array([ 0.46, -0.09, -4.22])
    """
    law = as_joint(marginals)
    require_same_columns(marginals=law, target=target, releases=releases)
    rows = as_floats(target, "target", finite=True)
    if rows.ndim not in (1, 2) or rows.shape[-1] != law.size or not rows.size:
        rule = f"have {law.size} columns (its last axis), and be one row or a matrix of them"
        invalid("target", f"{rule}; its shape is {rows.shape}")
    n = as_count(n, "n", least=2)
    targets = np.atleast_2d(rows)

    def score(piece: Piece) -> FloatArray:
        piece.require(np.isfinite(piece.rows), "be finite")
        scores = law._scores(piece, targets, n)
        return scores if rows.ndim == 2 else scores[:, 0]

    return map_releases(
        releases, law.size, in_unit_of(law.mean, score, n=n, deviations=lambda: law.std)
    )
