from typing import Any

import numpy as np
import numpy.typing as npt

MOST_WORDS: int

def binomial_windows(
    trials: float,
    p: npt.NDArray[np.float64],
    first: npt.NDArray[np.float64],
    size: npt.NDArray[np.int64],
) -> None: ...
def binomial_weights(
    trials: float,
    p: npt.NDArray[np.float64],
    first: npt.NDArray[np.float64],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
) -> None: ...
def alias_words(
    weights: npt.NDArray[np.float64],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    share: npt.NDArray[np.float64],
    order: npt.NDArray[np.uint32],
    words: npt.NDArray[np.uint64],
) -> None: ...
def alias_draws(
    bit_generator: Any,
    words: npt.NDArray[np.uint64],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    first: npt.NDArray[np.float64],
    law: npt.NDArray[np.int64],
    out: npt.NDArray[np.float64],
) -> None: ...
def lattice_means(
    sums: npt.NDArray[np.float64],
    least: npt.NDArray[np.float64],
    unit: npt.NDArray[np.float64],
    rows: float,
    place: npt.NDArray[np.int64],
    out: npt.NDArray[np.float64],
) -> None: ...
