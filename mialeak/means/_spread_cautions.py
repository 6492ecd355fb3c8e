"""A caution for a panel whose columns spread otherwise than those of the table: another unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak.means._matrix_cautions import are_genotypes

if TYPE_CHECKING:
    from mialeak.means._release import Release

__all__ = ["other_spread_cautions"]

#: Standard deviations, and median distances from the median, whose ratio is beyond this factor, are
#: those of two units or populations if so many standard errors apart: shares of the rows that are
#: further than the smaller median times the factor.
_FACTOR, _ERRORS = 3.0, 6.0
#: Columns that are compared, those whose standard deviations differ most.
_COMPARED = 256
#: Fewest values of either that differ from the median.
_VALUES = 20


def other_spread_cautions(table: Release, panel: Release | None) -> list[str]:
    """A caution where a column of numbers has another spread in the panel, beyond chance.

    Ranks decide, since standard deviations of columns of heavy tails differ by chance.
    """
    if panel is None or min(table.rows, panel.rows) < 2 or are_genotypes(table.numbers):
        return []
    first, second = (each.numbers.std(axis=0, dtype=np.float64) for each in (table, panel))
    varied = (first > 0.0) & (second > 0.0)
    apart = np.zeros(first.size)
    apart[varied] = np.abs(np.log(second[varied] / first[varied]))
    order = np.argsort(-apart, kind="stable")[:_COMPARED]
    chosen = [
        k
        for k in order[apart[order] > np.log(_FACTOR)].tolist()
        if _differ(table.numbers[:, k], panel.numbers[:, k])
    ]
    if not chosen:
        return []
    k, other = chosen[0], len(chosen) - 1
    name = next(column.name for column in table.columns if column.place == k)
    beside = f", and those of {other:,} other columns differ as well" if other else ""
    return [
        f"Column {name!r} has the standard deviation {first[k]:.4g} in the table and "
        f"{second[k]:.4g} in the panel, which is beyond chance{beside}: the panel seems to "
        "be in another unit, or of another population. Pass both in one unit: the leakage goes by "
        "the variances of the panel."
    ]


def _differ(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> bool:
    """Whether one of two columns is further from its median than the other, beyond chance.

    Of a column that is mostly one value, the others are compared.
    """
    distances = [_distances(each) for each in (first, second)]
    if min(each.size for each in distances) < _VALUES:
        return False
    near, far = sorted(distances, key=np.median)
    cut = _FACTOR * float(np.median(near))
    beyond = [int(np.count_nonzero(each > cut)) for each in (near, far)]
    share = sum(beyond) / (near.size + far.size)
    error = np.sqrt(share * (1.0 - share) * (1.0 / near.size + 1.0 / far.size))
    is_beyond = beyond[1] / far.size - beyond[0] / near.size > _ERRORS * error
    return bool(np.median(far) > cut and is_beyond)


def _distances(column: npt.NDArray[Any]) -> FloatArray:
    """How far the values of a column that varies are from its median, where they are."""
    distances = np.abs(column - np.median(column))
    return np.asarray(distances[distances > 0.0], np.float64)
