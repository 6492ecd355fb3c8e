import numpy as np
import numpy.typing as npt

def leakage_sum(
    p: npt.NDArray[np.float64], n: float, gamma: float, total: float
) -> tuple[int, float, float, float, float]: ...
def leakage_atoms(
    p: npt.NDArray[np.float64], n: float, gamma: float, total: float, out: npt.NDArray[np.float64]
) -> int: ...
