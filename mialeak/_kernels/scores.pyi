from typing import Any

import numpy as np
import numpy.typing as npt

TILE: int
FEW: int

def padded_columns(columns: int) -> int: ...
def cubic_sums(
    releases: npt.NDArray[Any],
    by_column: npt.NDArray[np.float64],
    constant: float,
    out: npt.NDArray[np.float64],
) -> None: ...
def edgeworth_columns(
    known: list[npt.NDArray[np.float64]],
    root_n: float,
    order: int,
    by_column: npt.NDArray[np.float64],
) -> float: ...
def log_linear_sums(
    releases: npt.NDArray[Any], by_column: npt.NDArray[np.float64], out: npt.NDArray[np.float64]
) -> None: ...
def log_quadratic_sums(
    releases: npt.NDArray[Any],
    counts: float,
    tolerance: float,
    by_column: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
