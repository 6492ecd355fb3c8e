"""Merging atoms until publishing their counts leaks little enough."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, as_count, as_flag, as_float, invalid
from mialeak._labels import require_consecutive
from mialeak._results import Kind, Result
from mialeak.discrete import max_leakage, shannon_entropy
from mialeak.mechanisms._leakage import as_law
from mialeak.mechanisms._merging import best_cuts, greedy_groups, group_masses, path_cuts

__all__ = ["Coarsening", "coarsen"]

#: A budget is met within this, relative: atoms added in another order may leak an eps more.
_TIE = 1e-12
#: Ordered atoms up to here are cut optimally.
_MOST_EXACT = 1000


@dataclass(frozen=True, repr=False, eq=False)
class Coarsening(Result):
    """Groups of atoms.

    Attributes
    ----------
    labels : ndarray of int64, shape (K,)
        The group of each atom, numbered in the order of their first atoms: ``labels[codes]`` for
        coded data.
    leakage : float
        Of publishing the counts of the groups; exact.
    entropy : float
        Shannon entropy of the groups, in nats.
    optimal : bool
        Whether no fewer merges do: proved.
    most_groups : int
        No coarsening within the budget has more groups: proved for ordered atoms.
    most_entropy : float
        None with as many groups has more entropy: proved for ordered atoms, if `optimal`.
    ordered : bool
        Whether only neighbours were merged.
    kind : str
        "exact", of the leakage.

    Examples
    --------
    >>> from mialeak import coarsen
    >>> found = coarsen([0.4, 0.3, 0.2, 0.1], 100, 0.05, ordered=True)
    >>> found.groups, found.merges, found.mapping(["young", "adult", "old", "very old"])
    (3, 1, {'young': 0, 'adult': 0, 'old': 1, 'very old': 2})
    """

    labels: npt.NDArray[np.int64]
    leakage: float
    entropy: float
    optimal: bool
    most_groups: int
    most_entropy: float
    ordered: bool
    kind: Kind = "exact"

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1

    @property
    def merges(self) -> int:
        """Atoms less groups."""
        return len(self.labels) - self.groups

    def mapping(self, values: Iterable[Any]) -> dict[Any, int]:
        """Value of each atom to its group: for ``Series.map`` of pandas, ``replace`` of polars.

        Parameters
        ----------
        values : iterable
            What each atom stands for, in the order of `labels`.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If there is not one for each atom.
        """
        names = list(values)
        if len(names) != self.labels.size:
            invalid("values", f"be {self.labels.size}, one for each atom; there are {len(names)}")
        return dict(zip(names, self.labels.tolist(), strict=True))


def coarsen(p: Any, n: int, leakage: float, *, ordered: bool = False) -> Coarsening:
    r"""Merge atoms, as few as possible, until publishing their counts leaks at most `leakage`.

    Parameters
    ----------
    p : array_like, shape (K,)
        Probabilities of the atoms; if `ordered`, in their order.
    n : int
        Number of rows, the target included.
    leakage : float
        The budget, from 0 to 1, for :func:`~mialeak.max_leakage` of the merged law; met within
        1e-12 of it.
    ordered : bool, default False
        Merge neighbours only, as with ages and incomes.

    Returns
    -------
    Coarsening
        Labels, leakage, entropy, and what is proved of them.

    Raises
    ------
    ValueError
        If `p` is no law, or `n` or `leakage` out of range.

    See Also
    --------
    discretize : The same question for continuous columns.

    Notes
    -----
    Merging lowers the leakage always, the more so the larger what is merged: a group of mass x
    contributes :math:`f(x) = x(1-x)\,b(\lfloor nx \rfloor; n-1, x)`, which grows like a square root
    but is scalloped and not concave, so that no short cut to the optimum is known.  Of coarsenings
    with as few merges the one with most entropy is wanted.

    *Ordered*, K <= 1000: the fewest merges by dynamic programming over the last cut, proved.  The
    most entropy with as many groups is a constrained shortest path, found by a Lagrangian and
    branch and bound; where that takes too long, `most_entropy` is a proved bound and `entropy`
    below it.  *Ordered*, K > 1000: a Lagrangian for the number of groups, with `most_groups` a
    proved bound on it.  *Unordered*: greedy, nothing is proved.

    The law has to be known, or come from other data than those that are published: groups chosen
    by the published data reveal more about them.

    **Cost**: K^2 times the number of groups or merges, at most 1 s for K = 1000; a few seconds for
    K = 1e4.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak import coarsen
    >>> law = np.array([5, 10, 20, 30, 20, 10, 4, 1]) / 100
    >>> found = coarsen(law, 1000, 0.02, ordered=True)
    >>> found.labels.tolist(), round(found.leakage, 4), found.optimal
    ([0, 1, 2, 2, 2, 3, 4, 5], 0.0198, True)
    """
    ordered = as_flag(ordered, "ordered")
    if ordered:
        require_consecutive("atoms", p, "p", step=False)
    law = as_law(p)
    rows, budget = as_count(n, "n", least=1), as_float(leakage, "leakage")
    if not 0 <= budget <= 1:
        invalid("leakage", "be between 0 and 1", value=budget)
    atoms, budget = len(law), budget * (1.0 + _TIE)
    if float(max_leakage(law, rows)) <= budget:
        return _coarsening(np.arange(atoms), law, rows, ordered=ordered, most=atoms)
    if not ordered:
        labels = greedy_groups(law, rows, budget)
        return _coarsening(labels, law, rows, ordered=False, most=None)
    if atoms <= _MOST_EXACT:
        cuts, most_entropy = best_cuts(law, rows, budget)
        labels = _labels(cuts, atoms)
        most = len(cuts) + 1
        return _coarsening(labels, law, rows, ordered=True, most=most, most_entropy=most_entropy)
    cuts, most = path_cuts(law, rows, budget)
    return _coarsening(_labels(cuts, atoms), law, rows, ordered=True, most=most)


def _labels(cuts: npt.NDArray[np.int64], atoms: int) -> npt.NDArray[np.int64]:
    """Group of each atom, a group beginning at 0 and at each of `cuts`."""
    starts = np.zeros(atoms, np.int64)
    starts[cuts] = 1
    return np.cumsum(starts)


def _coarsening(
    labels: npt.NDArray[np.int64],
    p: FloatArray,
    n: int,
    *,
    ordered: bool,
    most: int | None,
    most_entropy: float | None = None,
) -> Coarsening:
    order, ends = np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))
    merged = group_masses(np.split(p[order], ends[:-1]))
    entropy = float(shannon_entropy(merged))
    groups = len(merged)
    bound = entropy if most_entropy is None and groups == len(p) else most_entropy
    return Coarsening(
        labels=labels,
        leakage=float(max_leakage(merged, n)),
        entropy=entropy,
        optimal=groups == most,
        most_groups=len(p) if most is None else most,
        most_entropy=math.log(groups) if bound is None else max(bound, entropy),
        ordered=ordered,
    )
