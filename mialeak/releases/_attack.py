"""An attack on the published counts whose advantage is computed: a lower bound of the leakage.

========  ====================================================================================
Symbol    Meaning
========  ====================================================================================
A         published counts by cells of the finest table, the number of people among them
p, n      probabilities of the cells, people of the release
k         the target's cell
c         a published count that holds the cell k, with probability q of a person
w         whole-number weights of the published counts
v         ``A' w``: what a person of each cell adds to T
T         the weighted sum of the published counts, modulo M
========  ====================================================================================

The attacker sees the pair (c, T).  For n independent people the weights that best separate the
target from a random person are ``G^-1 a_k`` with ``G = A diag(p) A'``: the asymptotic score of a
released mean.  Here they are rounded to whole numbers, so that T has a law on M residues, and c
beside T shows the empty cells that no linear score sees.  With f the transform of v's law over the
cells in c, g that over all others ::

    c = a without the target    C(n, a)     f^a     g^(n-a)
    c = a with it               C(n-1, a-1) f^(a-1) g^(n-a) times that of one person of cell k

The advantage of the best test on (c, T) is half the summed differences of the two laws.  It is the
advantage of a test on the published counts, so that these leak at least as much, however coarse
the weights, the modulus and the values of c that are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft, linalg, special

from mialeak._arrays import FloatArray
from mialeak._blocks import one_blas_thread

__all__ = ["attack_advantages", "pair_advantage"]

IntArray = npt.NDArray[np.int64]
ComplexArray = npt.NDArray[np.complex128]

#: Steps of a weight to one standard deviation of v, and standard deviations of T in M residues.
#: Rounding costs 1 % of the score, and T wraps around with probability 1e-4.
_STEPS, _SPREAD = 10.0, 8.0
#: Largest number of residues, for which the steps are coarser; values of c that are separate.
_MOST_RESIDUES, _MOST_VALUES = 1 << 17, 96
#: Share of a row's variance that is added to it, so that dependent rows have weights.
_RIDGE = 1e-9
#: Cells whose weights are computed at a time.
_CELLS = 64


def attack_advantages(matrix: Any, mass: IntArray, n: int, cells: IntArray) -> FloatArray:
    """The advantage of the attack on each of `cells`.

    Parameters
    ----------
    matrix : (rows, all cells) sparse matrix
        A: 1 where a published count has people of a cell.
    mass : (all cells,) int64
        ``p`` times their sum.
    n : int
        Rows of the release.
    cells : (targets,) int64

    Returns
    -------
    (targets,) ndarray
        Less a bound of what the transforms lose by rounding, 1e-9 or so.
    """
    p = mass / mass.sum()
    rows = matrix.astype(np.float64).tocsr()
    sizes = np.asarray(matrix @ mass)
    scale = np.sqrt(rows @ p)
    scale[scale == 0.0] = 1.0
    rows.data /= np.repeat(scale, np.diff(rows.indptr))
    columns = matrix.tocsc()
    advantages = np.zeros(cells.size)
    with one_blas_thread():
        gram = (rows.multiply(p) @ rows.T).toarray()
        gram[np.diag_indices(len(gram))] += _RIDGE
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        for start in range(0, cells.size, _CELLS):
            part = cells[start : start + _CELLS]
            wanted = rows[:, part].toarray()
            weights = linalg.cho_solve(factor, wanted, check_finite=False) / scale[:, None]
            for place, cell in enumerate(part.tolist()):
                whole = _whole_weights(
                    rows.T @ (weights[:, place] * scale), p, weights[:, place], n
                )
                holding = columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]]
                count = holding[np.argmin(sizes[holding])]
                inside = np.zeros(mass.size, np.bool_)
                inside[matrix.indices[matrix.indptr[count] : matrix.indptr[count + 1]]] = True
                advantages[start + place] = pair_advantage(
                    matrix.T @ whole, inside, mass, n, int(cell)
                )
    return advantages


def _whole_weights(v: FloatArray, p: FloatArray, weights: FloatArray, n: int) -> IntArray:
    """The weights in steps of a share of v's standard deviation."""
    deviation = math.sqrt(max(float(p @ v**2) - float(p @ v) ** 2, 0.0))
    steps = min(_STEPS, _MOST_RESIDUES / (_SPREAD * math.sqrt(n)))
    if deviation <= 1e-9 * np.abs(v).max():  # all people add alike: T is a constant
        return np.zeros(weights.size, np.int64)
    return np.rint(np.clip(weights * (steps / deviation), -(2.0**40), 2.0**40)).astype(np.int64)


def pair_advantage(
    v: IntArray, inside: npt.NDArray[np.bool_], mass: IntArray, n: int, cell: int
) -> float:
    """The advantage of the best test on (c, T) for a target in `cell`.

    Parameters
    ----------
    v : (cells,) int64
        What a person of each cell adds to T.
    inside : (cells,) bool
        The cells of the count c, that of the target among them.
    mass : (cells,) int64
        The probabilities of the cells, times their sum.
    n, cell : int

    Returns
    -------
    float
        At most the advantage; less a bound of the rounding.
    """
    total = int(mass.sum())
    p = mass / total
    spread = math.sqrt(n * max(float(p @ v.astype(np.float64) ** 2) - float(p @ v) ** 2, 0.0))
    size = fft.next_fast_len(min(max(8, int(_SPREAD * spread) + 1), _MOST_RESIDUES), real=True)
    residue = v % size
    frequency = np.arange(size // 2 + 1)
    target = np.exp(-2j * np.pi * (frequency * int(residue[cell]) % size) / size)
    f, g = (
        fft.rfft(np.bincount(residue[side], mass[side], size)) / total for side in (inside, ~inside)
    )
    chance = int(mass[inside].sum()) / total
    deviation = math.sqrt(n * chance * (1.0 - chance))
    if 12.0 * deviation > _MOST_VALUES or chance == 1.0:
        both = f + g
        return _halved([(both ** (n - 1), target, both)], size, n)
    first = max(1, math.floor(n * chance - 6.0 * deviation))
    last = min(n, math.ceil(n * chance + 6.0 * deviation) + 12)

    def term(count: int) -> ComplexArray:
        """``C(n-1, a-1) f^(a-1) g^(n-a)``, of absolute values and angles."""
        log = math.lgamma(n) - math.lgamma(count) - math.lgamma(n - count + 1)
        logs = log + special.xlogy(count - 1, np.abs(f)) + special.xlogy(n - count, np.abs(g))
        turn = (count - 1) * np.angle(f) + (n - count) * np.angle(g)
        return np.asarray(np.exp(logs) * np.exp(1j * turn))

    # A ratio where g is no number of use: its powers from the 8th on are 0 there.
    steps = n - last >= 8
    ratio = np.divide(f, g, out=np.zeros_like(f), where=np.abs(g) > 1e-100)

    def terms() -> Iterator[tuple[ComplexArray, Any, ComplexArray]]:
        current = term(first)
        for count in range(first, last + 1):
            if count > first:
                step = ratio * ((n - count + 1) / (count - 1)) if steps else None
                current = term(count) if step is None else current * step
            yield current, target, n / count * f

    empty = (1.0 - chance) ** n if first == 1 else 0.0
    return min(1.0, 0.5 * empty + _halved(terms(), size, n))


def _halved(
    terms: Iterable[tuple[ComplexArray, Any, ComplexArray]],
    size: int,
    n: int,
) -> float:
    """Half the summed absolute values of ``term (with - without)``, transformed back.

    Less a bound of their errors: by Parseval and Cauchy-Schwarz the summed errors are at most the
    root of the summed squares of those of the transform.
    """
    eps, depth = float(np.finfo(np.float64).eps), math.log2(size)
    relative = eps * (n * (8.0 + 4.0 * depth) + 10.0 * depth)
    total = 0.0
    for term, with_, without in terms:
        values = fft.irfft(term * (with_ - without), size)
        magnitude = np.abs(term) * (np.abs(with_) + np.abs(without))
        error = relative * math.sqrt(2.0 * float(magnitude @ magnitude))
        total += max(float(np.abs(values).sum()) - error, 0.0)
    return 0.5 * total
