"""The largest leakage of discrete data, the leakage of each atom, and the samples needed."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from mialeak._arrays import FloatArray, as_gamma, as_share
from mialeak._blocks import resolve_workers
from mialeak._results import Bounds
from mialeak.discrete._laws import as_population
from mialeak.discrete._tradeoff import EnclosedTradeOff
from mialeak.tradeoff import PiecewiseTradeOff

__all__ = ["atom_leakage", "discrete_tradeoff", "max_leakage", "max_leakage_bounds", "min_samples"]


def max_leakage(
    p: Any,
    n: npt.ArrayLike | None = None,
    *,
    gamma: float = 1.0,
    normalize: bool = False,
    workers: int = 1,
) -> float | FloatArray:
    r"""Largest membership leakage of any learning procedure on discrete data.

    The data are `n` independent rows with the law `p`; a procedure learns from them through their
    histogram; an attacker who knows `p`, the procedure and a target row sees the outcome and
    guesses whether the target was among the `n` rows or not.  The result is how much better than
    blind the best attack on the worst procedure is: 0 is security, 1 none.

    Parameters
    ----------
    p : array_like of shape (K,), iterator of arrays, frozen scipy.stats discrete law, or population
        Probabilities of the atoms, which sum to 1 within 1e-9; one above 1 by at most 8 eps, as
        rounding leaves it, counts as 1.  Those of an array of float32, such as a softmax, sum to 1
        within 1e-6, and are divided by their sum.  A memory map is read block by block.  An
        iterator (anything with ``__next__``) yields blocks of probabilities, is read once and never
        held in memory.  A :class:`~mialeak.populations.Register` is a list of people, of whom a
        sample is drawn without replacement or each with one probability;
        :class:`~mialeak.populations.Stratified` and :class:`~mialeak.populations.Panel` are taken
        too.
    n : int or integer array
        Number of rows, the target included; from 1 to 2**53, of a register to N - 1.  Left out for
        a register with a rate and for strata.
    gamma : float, default 1.0
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.  1 is the balanced game and the worst case.  It
        is no sampling rate: people drawn with a probability have ``Register(counts, rate=...)`` as
        `p`, and a random share of the rows :class:`~mialeak.tradeoff.SubsampledTradeOff`.
    normalize : bool, default False
        Divide `p` by its sum.  Takes two passes, so an iterator cannot be normalized; a frozen law
        needs none.
    workers : int, default 1
        Threads; -1 is all CPUs of the process.  The result has the same bits for any number.

    Returns
    -------
    float or ndarray
        Leakage between 0 and 1, of the shape of `n`.

    Raises
    ------
    ValueError
        If `p` holds a negative number, a NaN or one above 1, is empty or not one-dimensional, or
        does not sum to 1; if `n` is outside [1, 2**53]; if `gamma` is not positive and finite; if
        a countable law cannot be enclosed closely enough (use :func:`max_leakage_bounds`); if a
        population comes with `normalize`, or with a rate or strata and an `n`; for strata that are
        pooled and have no rates (use :func:`max_leakage_bounds`).
    TypeError
        If `n` or `workers` is not an integer (3.0 is not).

    See Also
    --------
    atom_leakage : The same for one target.
    max_leakage_bounds : An enclosure, for countable laws above all.
    discrete_tradeoff : The whole curve of power against false-positive rate.

    Notes
    -----
    With :math:`B_k \sim \mathrm{Binomial}(n, p_k)`,

    .. math::

        \Delta = \begin{cases}
            \frac1n \sum_k E(B_k - \gamma n p_k)_+ & \gamma \ge 1 \\
            \frac1{\gamma n} \sum_k E(\gamma n p_k - B_k)_+ & \gamma \le 1
        \end{cases}

    which is Theorem 14 of [AGP25]_ (5.1 of [AGP23]_) in positive terms.  As printed there (eq 17)
    it subtracts nearly equal numbers: for ten equal atoms, n = 2000 and gamma = 0.5 the leakage is
    2.06e-18 and the printed form in double precision is wrong by a factor of 28.
    At gamma = 1 it is :math:`\frac{1}{2} \sum_k E|B_k/n - p_k|`, by de Moivre's closed form.

    Procedures are symmetric in the rows and see them only through their empirical law; the maximum
    is reached by releasing the histogram.  It never increases with `n`.

    For a register of N people, N_k of them in cell k, f = n/N and
    :math:`H_k \sim \mathrm{Hypergeometric}(N, N_k, n)`, or f the rate and
    :math:`H_k \sim \mathrm{Binomial}(N_k, f)`,

    .. math::

        \Delta = \begin{cases}
            \frac{1 - f + \gamma f}{N f (1 - f)} \sum_k E(H_k - c_k)_+ & \gamma \ge 1 \\
            \frac{1 - f + \gamma f}{\gamma N f (1 - f)} \sum_k E(c_k - H_k)_+ & \gamma \le 1
        \end{cases},
        \qquad c_k = \frac{\gamma f N_k}{1 - f + \gamma f},

    which follows from :math:`P(\mathrm{in} \mid H_k) = H_k / N_k` at the prior f (checked against
    enumeration of all samples).  f and 1 - f leak the same at gamma = 1, so a register's leakage is
    not falling in `n`.  A panel's counts are beta-binomial, with weights s_k of sum S (rows and
    prior): :math:`\Delta = \sum_k \frac{s_k}{S} E(\lambda_k - \gamma)_+` for
    :math:`\gamma \ge 1`, with
    :math:`\lambda_k = \frac{c_k (n + S)}{n (c_k + s_k)}` and
    :math:`c_k \sim \mathrm{BetaBinomial}(n;\, s_k + 1,\, S - s_k)`.

    **Accuracy**: 4 eps at gamma = 1 and 1e-13 otherwise, relative, as long as the result is above
    1e-290.  Terms are summed in compensated arithmetic over fixed blocks.  Of a register measured
    against fractions, cells of up to 60 of up to 2**53 people, 11,000 weights half of them next to
    a whole threshold: 1.8 eps at gamma = 1, 4e-14 otherwise.  Of panels at gamma = 1 1e-14.
    Of other panels, and of pooled strata, 1e-12 relative or 1e-16 absolute, whichever is more.

    **Cost**: one pass, linear in the number of atoms times the number of sizes `n`.  Cells of a
    register that have equally many people are computed once.

    References
    ----------
    .. [AGP23] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", 2023.
    .. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, the same, JMLR, 2025.

    Examples
    --------
    A fair coin shown 100 times, a die, and a skewed law at three sizes:

    >>> from mialeak import max_leakage
    >>> print(f"{max_leakage([0.5, 0.5], 100):.6f} {max_leakage([1 / 6] * 6, 100):.6f}")
    0.039795 0.089461
    >>> import numpy as np
    >>> np.round(max_leakage([0.9, 0.09, 0.01], n=[10, 100, 1000]), 6)
    array([0.078959, 0.026839, 0.008633])

    A register of 1,000 people, of whom 100 or 900 are drawn:

    >>> from mialeak import Register
    >>> np.round(max_leakage(Register([900, 90, 9, 1]), [100, 900]), 6)
    array([0.029289, 0.029289])
    """
    gamma = as_gamma(gamma)
    workers = resolve_workers(workers)
    return as_population(p).leakage(n, gamma, normalize=normalize, workers=workers)


def atom_leakage(p: Any, n: int | None = None, *, gamma: float = 1.0) -> FloatArray:
    r"""Leakage of a target equal to each atom, when the whole histogram is released.

    Parameters
    ----------
    p : array_like of shape (K,), iterator of arrays, frozen scipy.stats discrete law, or population
        Probabilities of the atoms, or people of the cells, as for :func:`max_leakage`.  A frozen
        law needs finitely many atoms: the integers of its support, in order.
    n : int
        Number of rows, the target included, as for :func:`max_leakage`.
    gamma : float, default 1.0
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.

    Returns
    -------
    ndarray of shape (K,)
        Leakage of each atom, with ``p @ atom_leakage(p, n) == max_leakage(p, n)`` up to rounding.
        An atom of probability 0 has its limit, 1, and so has a cell without people.  A register's
        cells are weighted by their share of the people.  The cells of strata come one stratum
        after the other.

    Raises
    ------
    ValueError, TypeError
        As :func:`max_leakage` does.

    Notes
    -----
    The likelihood ratio of "in" against "out" is :math:`N_k/(n p_k)`, :math:`N_k` the number of
    rows equal to atom k, so that at gamma = 1 the leakage is the total variation distance

    .. math:: TV_k = (1 - p_k) \, P(B' = \lfloor n p_k \rfloor),
              \quad B' \sim \mathrm{Binomial}(n - 1, p_k).

    This is also the exact target-dependent leakage of one-hot data, where [AGP25]_ and [AB25]_
    meet.

    A cell of a register with one person leaks 1, for any sample.

    **Accuracy** as for :func:`max_leakage`, for each atom.  **Cost** linear in K.

    References
    ----------
    .. [AB25] A. Azize, D. Basu, "Some Targets Are Harder to Identify than Others: Quantifying the
       Target-dependent Membership Leakage", AISTATS, 2025.
    .. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", JMLR, 2025.

    Examples
    --------
    The rarer, the riskier:

    >>> import numpy as np
    >>> from mialeak import atom_leakage
    >>> np.round(atom_leakage([0.9, 0.09, 0.009, 0.001], 100), 4)
    array([0.0132, 0.1257, 0.4049, 0.9048])
    """
    gamma = as_gamma(gamma)
    return as_population(p).atom_leakage(n, gamma)


def min_samples(p: Any, leakage: float, *, gamma: float = 1.0) -> int:
    r"""Smallest number of rows with which the largest leakage is at most `leakage`.

    Parameters
    ----------
    p : array_like of shape (K,), frozen scipy.stats discrete law, or Register
        Probabilities of the atoms, as for :func:`max_leakage`.  It is gone through many times, so
        an iterator will not do.
    leakage : float
        Largest leakage wanted, strictly between 0 and 1.
    gamma : float, default 1.0
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.

    Returns
    -------
    int
        The smallest ``n`` with ``max_leakage(p, n, gamma=gamma) <= leakage``; of a register of N
        people the smallest n such that all samples of n to N - n people leak at most `leakage`.

    Raises
    ------
    ValueError
        If `leakage` is not inside (0, 1), if it is not reached with 2**53 rows, or with half of a
        register's people, and as :func:`max_leakage` does.
    TypeError
        If `p` is an iterator, a register with a rate, or one with another gamma than 1.

    Notes
    -----
    By a bracketing search, since the leakage never increases with n; it starts from
    :math:`n \le (C_K/(2\,\mathrm{leakage}))^2`, C_K the :func:`diversity` [AGP25]_.

    The leakage of a register's samples may rise and fall with n: of 3 people in a cell of 6, three
    of the six leak more than two.  n times the leakage does not fall, though, so that a search from
    half of the people downward can pass over sizes that are known to leak less.  A sample of more
    than N - n people leaks as much as those left out of it, who are fewer than n.

    **Accuracy**: exact, but that near 2**53 the leakages of neighbouring n differ by less than
    their rounding, and so may the answer.

    **Cost**: ten to thirty times that of :func:`max_leakage`.

    References
    ----------
    .. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", JMLR, 2025.

    Examples
    --------
    >>> from mialeak import max_leakage, min_samples
    >>> law = [0.5, 0.25, 0.125, 0.125]
    >>> n = min_samples(law, 0.01)
    >>> n
    4047
    >>> max_leakage(law, n) <= 0.01 < max_leakage(law, n - 1)
    True
    """
    gamma = as_gamma(gamma)
    return as_population(p).min_samples(as_share(leakage, "leakage"), gamma)


def max_leakage_bounds(p: Any, n: npt.ArrayLike | None = None, *, gamma: float = 1.0) -> Bounds:
    r"""Two numbers that enclose the largest leakage of discrete data, for countable laws above all.

    Parameters
    ----------
    p : array_like of shape (K,), iterator of arrays, or frozen scipy.stats discrete law
        Probabilities of the atoms, as for :func:`max_leakage`.  A frozen law may have infinitely
        many: geom, poisson, zipf, nbinom, logser, yulesimon, betanbinom, skellam, dlaplace, planck,
        or one of your own.  Or a population, such as strata whose counts are added up.
    n : int or integer array, optional
        Number of rows, the target included; from 1 to 2**53.  Left out for a population that holds
        it.
    gamma : float, default 1.0
        Weight of the game, ``nu / (lambda (1 - nu))`` with ``nu`` the share of non-members and
        ``lambda`` the weight of a true positive.

    Returns
    -------
    Bounds
        ``lower`` and ``upper``, of the shape of `n`.

    Raises
    ------
    ValueError, TypeError
        As :func:`max_leakage` does; and if `p` is not on the integers (a loc of 0.5), is seen not
        to sum to 1, or to have probabilities that rise again far from its bulk.

    Notes
    -----
    An array is taken at its word: the bounds hold the rounding of the result alone.  For gamma
    other than 1 a leakage below 1e-290 is only known to be that: its bounds are 0 and 1e-290.

    Of a countable law the atoms in a window around the bulk are summed one by one; the window
    doubles until the remainder is small or has 2**24 atoms (2**27 as long as those outside expect a
    row each: seconds more).  An atom outside with
    :math:`\gamma n p < 1` adds :math:`p - g\,d(p)` exactly, where :math:`g = \max(1, \gamma)` and
    :math:`d(p) = p(1 - (1-p)^n)`, so that all of them add their mass less g times a sum that is at
    most n times the mass times the largest probability among them.  Where that is not close enough
    the sum is taken over octaves of a convex sequence, between tangents and chords.

    Of strata whose counts are added up, without rates, the upper bound is the leakage of the counts
    by stratum, the lower one that of the target's own cell, by the law of its sum.

    What is taken for granted: outside the window probabilities fall, and for the octaves are
    convex (both are looked for at every point used); the pmf has a relative error of 8 eps (16 eps
    for betanbinom) and 3 to 4 eps for each unit of its logarithms in the laws named above, which do
    not use SciPy's (its ``poisson(1000).pmf`` is off by 8e3 eps, ``yulesimon`` by 1e7), 100 eps for
    skellam, and for any law not named ``2 (8 + s log(2 + s))`` eps, s the largest of its parameters
    and of k, which is what log-gammas lose.

    **Cost**: milliseconds for light tails, up to seconds where millions of atoms have
    :math:`n p \ge 1`.

    Examples
    --------
    >>> from scipy import stats
    >>> from mialeak import max_leakage_bounds
    >>> bounds = max_leakage_bounds(stats.zipf(2), 1000)
    >>> f"{bounds.lower:.12f} {bounds.upper:.12f}"
    '0.051303361793 0.051303361793'
    >>> bool(bounds.upper - bounds.lower < 1e-12 * bounds.lower)
    True
    """
    return as_population(p).bounds(n, as_gamma(gamma))


def discrete_tradeoff(p: Any, n: int | None = None) -> PiecewiseTradeOff | EnclosedTradeOff:
    r"""Trade-off of the optimal attack on the procedure that leaks most about discrete data.

    The procedure releases the histogram of `n` rows with the law `p`; the target is drawn from `p`
    and known to the attacker.  See :func:`max_leakage`, which is the curve's advantage.

    Parameters
    ----------
    p : array_like of shape (K,), frozen scipy.stats discrete law, or population
        Probabilities of the atoms, or people of the cells, as for :func:`max_leakage`.  It is gone
        through more than once, so an iterator will not do.
    n : int
        Number of rows, the target included, as for :func:`max_leakage`.

    Returns
    -------
    PiecewiseTradeOff or EnclosedTradeOff
        The exact curve, with all its corners, where it has up to 4 million of them; else two
        curves that enclose it and the largest difference between them, ``.error``.

    Raises
    ------
    ValueError, TypeError
        As :func:`max_leakage` does; TypeError for an iterator.  ValueError for a population with
        more than 4 million pairs of a cell size and a likely count, and for strata that are pooled
        and have no rates.

    See Also
    --------
    max_leakage : Its advantage; with ``gamma = exp(epsilon)``, its delta in direction "in".
    atom_leakage : The advantage against one given target.

    Notes
    -----
    The likelihood ratio of "in" against "out" is :math:`N_k/(n p_k)` for target k, so that with
    threshold t (Neyman and Pearson; ties are randomised)

    .. math::

        \mathrm{fpr}(t) &= \sum_k p_k P(B_k > t n p_k), & B_k &\sim \mathrm{Binomial}(n, p_k), \\
        \mathrm{power}(t) &= \sum_k p_k P(1 + B'_k > t n p_k),
            & B'_k &\sim \mathrm{Binomial}(n - 1, p_k).

    Outcomes (k, count of k) are sorted by their ratio; atoms of equal probability are one, and so
    are equal ratios.  Where there are more than 4 million, outcomes between two of some thousand
    thresholds are put together: merged they give a lower curve that touches the true one at every
    threshold, spread to the two thresholds around them an upper one.  Of a countable law, atoms
    with a mass of 1e-15 outside, or 2**18 of them, are looked at; all others may at best give the
    target away whenever it appears.

    Of a register the ratio is :math:`H_k (1 - f) / ((N_k - H_k) f)`, with the sampled people
    :math:`H_k` of cell k as for :func:`max_leakage`; cells of one size are one.

    **Accuracy**: 1e-14 of fpr and power; counts beyond probability e^-60 are merged, save for
    small K n, and no delta or epsilon is too small for it.  **Cost**: linear in K; about 0.1 s
    for K = 10,000 and n = 100,000, a curve of 570,000 corners.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import discrete_tradeoff, max_leakage
    >>> law = [0.5, 0.3, 0.2]
    >>> curve = discrete_tradeoff(law, 50)
    >>> np.round(curve.power([0.01, 0.1, 0.5]), 4)
    array([0.0164, 0.1367, 0.5761])
    >>> f"{curve.advantage:.6f} {max_leakage(law, 50):.6f}"
    '0.076133 0.076133'
    >>> f"{curve.delta(0.1, direction='in'):.6f} {max_leakage(law, 50, gamma=np.exp(0.1)):.6f}"
    '0.036621 0.036621'
    """
    return as_population(p).tradeoff(n)
