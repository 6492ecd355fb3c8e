import numpy as np
import numpy.typing as npt

LANES: int

def transition_ratios(
    ploidy: int,
    m: float,
    counts: npt.NDArray[np.float64],
    after_zero: npt.NDArray[np.float64],
    after_one: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def transfer_step(
    first: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    ratio: npt.NDArray[np.float64],
    centre: float,
    start: float,
    step: float,
    before: npt.NDArray[np.float64],
    after: npt.NDArray[np.float64],
) -> None: ...
