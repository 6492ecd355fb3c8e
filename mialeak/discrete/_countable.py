"""Laws with infinitely many atoms, or too many: a window of atoms, and what is known outside it.

The window grows around the bulk.  Outside it three things are known or assumed of a law:

* its mass out there, from 1 minus the mass inside and, where that is sharper, from the tails
  of the law;
* probabilities fall away from the window on both sides (true of all laws of scipy.stats that are
  too large to be summed, and looked for at points spread over the remaining support);
* where a closer sum is wanted, that they are also convex, as every tail heavier than a normal one
  is (and again looked for at every point that is used).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray, invalid
from mialeak._blocks import BLOCK
from mialeak.discrete._families import EPS, FAMILIES, Family, Pmf, exp_rounding
from mialeak.discrete._series import Window

__all__ = ["CountableWindow", "ScipyLaw", "from_scipy"]

#: No atom is asked for beyond this: integers as large as twice that are exact.
FARTHEST = 2.0**52

#: Atoms the first window holds, and the most that a window may hold.
_FIRST_WINDOW = 2.0**10
LARGEST_WINDOW = 2.0**24
#: Times as many where atoms beyond still expect a row, of which no sum over octaves is known.
_WIDER = 8.0

#: How far from 1 a law may sum beyond its claimed rounding.
_MASS_SLACK = 1e-9

#: A window of this many atoms is not grown further to find mass that falling probabilities outside
#: cannot hold: the law is refused.
_PATIENCE = 2.0**18

#: Places on each side where it is checked that probabilities fall, and the relative rise that is
#: put down to rounding.
_LOOKS = 64
_SLACK = 1e-6

#: Relative error in eps of SciPy's pmf for the laws below, besides that of exp: a little more than
#: was seen of SciPy 1.17 against mpmath.
_SCIPY_ROUNDING = {"logser": 8.0, "planck": 8.0, "randint": 4.0}

#: Relative error taken for SciPy's own tails, which are used only where they are next to nothing.
_SCIPY_TAIL_ROUNDING = 1e-6


def from_scipy(p: Any) -> npt.NDArray[Any] | ScipyLaw:
    """The law of a frozen scipy.stats distribution; the atoms of one made from a list of them."""
    dist = getattr(p, "dist", p)
    if hasattr(dist, "pk"):
        return np.asarray(dist.pk)
    name = getattr(dist, "name", type(p).__name__)
    if not hasattr(type(p), "pmf"):
        invalid("p", f"be a discrete law, with a pmf; {name} is continuous", error=TypeError)
    if dist is p:
        invalid(
            "p",
            f"be a frozen law of scipy.stats; {name} has no parameters yet",
            remedy="Give them, as in scipy.stats.geom(0.5)",
            error=TypeError,
        )
    return ScipyLaw(p)


class ScipyLaw:
    """A frozen discrete law of scipy.stats on the integers, moved to loc = 0.

    Attributes
    ----------
    name : str
        SciPy's name of the law.
    first, last : float
        Ends of the support: infinite, or integers.
    """

    def __init__(self, law: Any) -> None:
        self.name: str = law.dist.name
        parameters = _parameters(law)
        loc = parameters.pop("loc", 0)
        low, high = law.support()
        if np.ndim(low) or np.ndim(high):
            invalid("p", f"be one law, not an array of {np.shape(low)} of them")
        if math.isnan(low) or math.isnan(high):
            invalid("p", f"be a law; {parameters} are no parameters of {self.name}")
        if not float(loc).is_integer():
            invalid("p", f"be a law on the integers; its loc is {loc!r}")
        self._law, self._loc = law, float(loc)
        self.first, self.last = float(low) - self._loc, float(high) - self._loc
        scales = [abs(float(value)) for value in parameters.values() if np.ndim(value) == 0]
        self._scale = max(1.0, *scales, *(abs(x) for x in (low, high) if math.isfinite(x)))
        self._family: Family | None = None
        if self.name in FAMILIES and type(law.dist).__module__.startswith("scipy.stats"):
            numbers = {key: float(value) for key, value in parameters.items()}
            self._family = FAMILIES[self.name](**numbers)

    def atoms(self) -> FloatArray:
        """All probabilities, of a law with finitely many atoms."""
        size = self.last - self.first + 1
        if size > LARGEST_WINDOW:
            invalid(
                "p",
                f"have at most {LARGEST_WINDOW:.0f} atoms, one a result; "
                f"{self.name} has {'infinitely many' if math.isinf(size) else f'{size:.0f}'}",
                remedy="Pass an array of the atoms you need, with that of all others as one",
            )
        return self.pmf(np.arange(self.first, self.last + 1))[0]

    def bulk(self) -> float:
        """An atom in the bulk: the median, or the largest of many where that would take long."""
        one_sided = math.isfinite(self.first)
        if one_sided and self._family is not None and self._family.beyond:
            return self.first  # these fall from the first on
        if math.isinf(self.last - self.first) and not _defines(self._law.dist, "_cdf"):
            steps = np.append(0.0, np.unique(np.floor(np.geomspace(1, FARTHEST, _LOOKS**2))))
            looks = self.first + steps if one_sided else np.append(-steps[::-1], steps)
            return float(looks[np.argmax(self.pmf(looks)[0])])
        median = float(self._law.median()) - self._loc
        if not math.isfinite(median):
            invalid("p", f"be a law with a median; that of {self.name} is {median!r}")
        return min(max(median, self.first), self.last)

    def pmf(self, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the integers `k`, and their relative errors."""
        if self._family is not None:
            return self._family.pmf(k)
        p = np.asarray(self._law.pmf(k + self._loc), np.float64)
        if self.name in _SCIPY_ROUNDING:
            return p, exp_rounding(p, _SCIPY_ROUNDING[self.name])
        # Taken to be exp of log-gammas of the parameters and of k, which cancel.
        scale = np.maximum(self._scale, np.abs(k))
        return p, EPS * 2 * (8 + scale * np.log(2 + scale))

    def beyond(self, low: float, high: float) -> tuple[float, float]:
        """P(X < low or X > high), with its relative error: infinite if the law has no tails."""
        mass, rounding = 0.0, 0.0
        if low > self.first:
            if not _defines(self._law.dist, "_cdf"):
                return 1.0, math.inf
            mass, rounding = float(self._law.cdf(low - 1 + self._loc)), _SCIPY_TAIL_ROUNDING
        if high < self.last:
            if self._family is not None and self._family.beyond is not None:
                tail, tail_rounding = self._family.beyond(high), self._family.rounding
            elif _defines(self._law.dist, "_sf"):
                tail, tail_rounding = float(self._law.sf(high + self._loc)), _SCIPY_TAIL_ROUNDING
            else:
                return 1.0, math.inf
            mass, rounding = mass + tail, max(rounding, tail_rounding)
        return mass, rounding


def _parameters(law: Any) -> dict[str, Any]:
    """What the law was frozen with, by name."""
    shapes = law.dist.shapes or ("p" if law.dist.name == "poisson_binom" else "")
    names = [name.strip() for name in shapes.split(",") if name.strip()]
    return {**dict(zip([*names, "loc"], law.args, strict=False)), **law.kwds}


def _defines(dist: Any, method: str) -> bool:
    """Whether the law computes `method` itself, not as 1 minus a sum."""
    below_rv_discrete = itertools.takewhile(
        lambda cls: cls.__name__ != "rv_discrete", type(dist).__mro__
    )
    return any(method in vars(cls) for cls in below_rv_discrete)


class CountableWindow(Window):
    """The atoms of a law that are taken one by one: all integers from `low` to `high`.

    Attributes
    ----------
    dominant : float
        The probability above 1/2 among them, or 0.
    """

    def __init__(self, law: ScipyLaw) -> None:
        self.law, self.name = law, law.name
        self.low: float = law.bulk()
        self.high: float = self.low - 1
        self.dominant = 0.0
        self._dominant_doubt = 0.0
        self._most = LARGEST_WINDOW
        self._masses: list[float] = []  # without the dominant atom
        self._doubt = 0.0

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    @property
    def atoms_below(self) -> float:
        """Number of atoms of the support below the window."""
        return self.low - self.law.first

    @property
    def atoms_above(self) -> float:
        """Number of atoms of the support above the window."""
        return self.law.last - self.high

    @property
    def complete(self) -> bool:
        return self.atoms_below <= 0 and self.atoms_above <= 0

    @property
    def exhausted(self) -> bool:
        return self.complete or self.size >= self._most

    def widen(self) -> bool:
        """Let an exhausted window grow further; whether it can."""
        self._most = _WIDER * LARGEST_WINDOW
        return not self.exhausted

    @property
    def doubt(self) -> float:
        """What rounding hides of the mass outside: no larger window shows it.

        Zero where the law computes its tails itself.
        """
        if math.isfinite(self.law.beyond(self.low, self.high)[1]):
            return 0.0
        return 3 * (self._doubt + self._dominant_doubt)

    def grow(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Double the window; yield the new atoms in blocks, with their relative errors."""
        more = max(self.size, _FIRST_WINDOW)
        below = min(self.atoms_below, more // 2)
        above = min(self.atoms_above, more - below)
        below = min(self.atoms_below, more - above)
        for start, count in ((self.low - below, below), (self.high + 1, above)):
            for k in np.arange(start, start + count, BLOCK):
                block = np.arange(k, min(k + BLOCK, start + count))
                p, rounding = self.law.pmf(block)
                good = p >= 0
                if not good.all():
                    bad = int(np.argmin(good))
                    invalid("p", f"be a law; its pmf({block[bad]:.0f}) is {p[bad]!r}")
                self._weigh(p, rounding)
                yield p, rounding
        self.low -= below
        self.high += above

    def _weigh(self, p: FloatArray, rounding: FloatArray) -> None:
        other = p
        if p.size and p[largest := int(p.argmax())] > 0.5:
            self.dominant = float(p[largest])
            self._dominant_doubt = self.dominant * float(rounding[largest])
            other = np.delete(p, largest)
            rounding = np.delete(rounding, largest)
        mass = math.fsum(other.tolist())
        self._masses.append(mass)
        self._doubt += float(other @ rounding) + EPS * mass

    def outside(self) -> tuple[float, float]:
        remaining = math.fsum([1.0, -self.dominant, *(-mass for mass in self._masses)])
        doubt = self._doubt + self._dominant_doubt
        tail, rounding = self.law.beyond(self.low, self.high) if not self.complete else (0.0, 0.0)
        low = max(remaining - doubt, tail * (1 - rounding), 0.0)
        high = min(max(remaining + doubt, 0.0), tail * (1 + rounding))
        if low > high + _MASS_SLACK:
            invalid("p", f"be a law; the pmf of {self.law.name} sums to {1 - remaining + tail!r}")
        return (low, high) if low <= high else (high, high)

    def beside(self) -> tuple[float, float]:
        """Lower and upper bound of the mass of all atoms but the dominant one."""
        low, high = self.outside()
        mass = math.fsum(self._masses)
        return mass - self._doubt + low, mass + self._doubt + high

    def sides(self) -> Iterator[tuple[Pmf, float]]:
        if self.atoms_below > 0:
            yield lambda j: self.law.pmf(self.low - j), self.atoms_below
        if self.atoms_above > 0:
            yield lambda j: self.law.pmf(self.high + j), self.atoms_above

    def edge(self) -> float:
        """Upper bound of every probability outside; 1 as long as none is known.

        Raises
        ------
        ValueError
            If outside the largest window probabilities rise, or are too small for the mass there.
        """
        largest, most, falls = 0.0, 0.0, True
        for pmf, count in self.sides():
            j = np.unique(np.floor(np.geomspace(1, min(count, FARTHEST), _LOOKS)))
            p = pmf(j)[0]
            falls = falls and not np.any(np.diff(p) > _SLACK * p[:-1])
            largest = max(largest, float(p[0]))
            # A falling sequence is below its steps; what is beyond the last look is not known.
            known = count <= FARTHEST or p[-1] == 0
            most += float(p[:-1] @ np.diff(j) + p[-1]) if known else math.inf
        enough = self.outside()[0] <= most * (1 + _SLACK)
        if falls and enough:
            return largest * (1 + _SLACK)
        if self.exhausted or (falls and self.size >= _PATIENCE):
            invalid(
                "p",
                "be a law whose probabilities sum to 1 and fall away from the bulk; those of "
                f"{self.law.name} do not, beyond the {self.size:.0f} atoms that were summed",
            )
        return 1.0
