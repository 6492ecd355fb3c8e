import numpy as np
import numpy.typing as npt

MOST_CELLS: int

def padded_cells(cells: int) -> int: ...
def poisson_pmf(
    k: npt.NDArray[np.float64], mean: npt.NDArray[np.float64], out: npt.NDArray[np.float64]
) -> int: ...
def count_vectors(start: npt.NDArray[np.int64], out: npt.NDArray[np.int64]) -> None: ...
def enumerate_labels(
    moments: int,
    start: npt.NDArray[np.int64],
    table: npt.NDArray[np.float64],
    offset: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    sums: npt.NDArray[np.float64],
) -> None: ...
def enumerate_kernel(
    moments: int,
    start: npt.NDArray[np.int64],
    table: npt.NDArray[np.float64],
    offset: npt.NDArray[np.float64],
    kernel: npt.NDArray[np.float64],
    sums: npt.NDArray[np.float64],
) -> None: ...
def geometric_blur(
    alpha: float, room: npt.NDArray[np.float64], values: npt.NDArray[np.float64]
) -> None: ...
