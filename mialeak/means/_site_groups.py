"""Rows of a table of sites that are means of groups, not persons, by how little they vary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray
from mialeak._labels import VARIANT, columns_that

__all__ = ["cautions_of_grouped_sites"]

#: Fewest such columns, and the variance of a mean of genotypes in that of one of them, at most:
#: dosages of genotypes that are imputed badly have three tenths.
_COLUMNS, _GROUPED = 10, 0.15
#: Share of the values that are whole, at most: those of persons are, and most dosages nearly so.
_WHOLE, _NEARLY = 0.5, 0.02


def cautions_of_grouped_sites(
    held: Mapping[Any, tuple[FloatArray, npt.NDArray[np.int64]]],
) -> list[str]:
    """A caution for fractions of copies, from 0 to 2, that vary far less than genotypes do.

    `held` are the numbers of each column and the rows of each number.  The means of groups of k
    persons have the variance ``2 p (1 - p) / k``, and differences of populations beside it.
    """
    variances, expected, whole, total, largest, names = 0.0, 0.0, 0, 0, 0.0, []
    for name, (values, rows) in held.items():
        if not VARIANT.match(str(name)) or values.size < 2:
            continue
        if not (values.min() >= 0.0 and values.max() <= 2.0) or not (values % 1.0).any():
            continue
        names.append(name)
        largest = max(largest, float(values.max()))
        mean = float(np.average(values, weights=rows))
        variances += float(np.average((values - mean) ** 2, weights=rows))
        expected += mean * (1.0 - 0.5 * mean)
        whole += int(rows[np.abs(values - np.rint(values)) < _NEARLY].sum())
        total += int(rows.sum())
    if len(names) < _COLUMNS or 2 * len(names) < len(held):
        return []
    if largest <= 1.0:  # as of frequencies, which another caution names
        return []
    if variances > _GROUPED * expected or whole > _WHOLE * total:
        return []
    return [
        f"{columns_that(names, 'holds')} fractions of copies that vary {variances / expected:.2g} "
        "times as much as genotypes of persons: the rows seem to be means of groups, such as of "
        "sites of a study. Each row is taken for a person here. Take the table of the persons; of "
        "published means of n persons, mialeak.mean_tradeoff(target, mean, cov, n) computes the "
        "leakage about a person."
    ]
