from typing import Any

import numpy as np
import numpy.typing as npt

def column_powers(
    x: npt.NDArray[Any],
    centre: npt.NDArray[np.float64],
    rest: npt.NDArray[np.float64],
    sums: npt.NDArray[np.float64],
) -> None: ...
def centre_rows(
    x: npt.NDArray[Any],
    centre: npt.NDArray[np.float64],
    rest: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
    sums: npt.NDArray[np.float64],
) -> None: ...
def row_norms(
    x: npt.NDArray[Any],
    centre: npt.NDArray[np.float64],
    rest: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
