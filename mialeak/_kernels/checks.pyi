import numpy as np
import numpy.typing as npt

def within(values: npt.NDArray[np.float64], low: float, high: float) -> bool: ...
