import numpy as np
import numpy.typing as npt

BLOCK: int

def cut_layer(
    groups: int,
    cost: npt.NDArray[np.float64],
    before: npt.NDArray[np.float64],
    after: npt.NDArray[np.float64],
    last_cut: npt.NDArray[np.int32],
) -> None: ...
def cut_path(
    cumulative: npt.NDArray[np.float64],
    n: float,
    reward: float,
    cost: npt.NDArray[np.float64],
    room: npt.NDArray[np.float64],
    last_cut: npt.NDArray[np.int32],
) -> None: ...
