import numpy as np
import numpy.typing as npt

LANES: int
TILTED: int
SCRATCH: int
SHIFT: int
TOTAL: int

def moment_sums(
    first: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    ratio: npt.NDArray[np.float64],
    lost: npt.NDArray[np.float64],
    copies: npt.NDArray[np.float64],
    theta: float,
    scratch: npt.NDArray[np.float64],
    tilted: npt.NDArray[np.float64],
) -> tuple[float, float, float]: ...
def moment_wave(
    first: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    ratio: npt.NDArray[np.float64],
    copies: npt.NDArray[np.float64],
    theta: float,
    start: float,
    step: float,
    floor: float,
    tilted: npt.NDArray[np.float64],
    scratch: npt.NDArray[np.float64],
    product: npt.NDArray[np.float64],
) -> None: ...
