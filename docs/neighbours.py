"""The same data through mialeak and its neighbours: the numbers of docs/coming_from.md.

    python docs/neighbours.py

Each part runs if its library is installed; acro needs a NumPy below 2 and mialeak one from 2 on, so
that all parts need two environments. The part of mialeak runs first: it writes the Adult table, the
data of the other parts, as adult.csv.
"""

from __future__ import annotations

import logging
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ["age", "education", "marital_status", "race", "sex"]
FILE = Path("adult.csv")
#: sigma, sampling rate, steps of two trainings; delta.
TRAININGS, DELTA = [(1.0, 0.01, 10_000), (2.0, 0.05, 1_000)], 1e-5


def people() -> pd.DataFrame:
    """The table, with a column of bands of five years."""
    frame = pd.read_csv(FILE, keep_default_na=False)
    return frame.assign(band=pd.cut(frame.age, range(15, 95, 5)).astype(str))


def halves() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows and control rows: two disjoint random halves."""
    frame = people()[COLUMNS]
    order = np.random.default_rng(0).permutation(len(frame))
    size = len(frame) // 2
    return frame.iloc[order[:size]], frame.iloc[order[size : 2 * size]]


def ours() -> None:
    """What mialeak answers."""
    import mialeak
    from mialeak.mechanisms import Synthetic

    pd.DataFrame(mialeak.datasets.load_adult().columns).to_csv(FILE, index=False)
    for columns in (COLUMNS, ["education", "band"], ["education", "sex"]):
        report = mialeak.table_leakage(people(), columns)
        print(*columns, report.estimate, f"alone {report.n_unique}", f"cells {report.n_cells}")
    training, _ = halves()
    for each in mialeak.table_leakage(training, protect=Synthetic(len(training))).protections:
        print(each.protection, f"{each.value:.4f}")
    for sigma, rate, steps in TRAININGS:
        curve = mialeak.GaussianTradeOff(1.0 / sigma).subsample(rate)
        print(f"{mialeak.compose(curve, counts=steps).epsilon(DELTA):.9f}")


def pycanon() -> None:
    """k-anonymity and l-diversity of the income."""
    from pycanon import anonymity

    frame = people()
    print("k", anonymity.k_anonymity(frame, COLUMNS))
    print("l", anonymity.l_diversity(frame, COLUMNS, ["income"]))


def acro() -> None:
    """The checks of two tables of counts."""
    from acro import ACRO

    logging.disable()
    frame, session = people(), ACRO(suppress=False)
    for column in ("band", "sex"):
        session.crosstab(frame.education, frame[column])
    for place in range(2):
        output = session.results.get_index(place)
        print(output.status, output.summary)


def anonymeter() -> None:
    """Risk of singling out, for synthetic rows of three kinds."""
    from anonymeter.evaluators import SinglingOutEvaluator

    training, control = halves()
    rows = len(training)
    synthetic = {
        "the training rows themselves": training,
        "training rows drawn with replacement": training.sample(rows, replace=True, random_state=1),
        "control rows drawn with replacement": control.sample(rows, replace=True, random_state=2),
    }
    for name, frame in synthetic.items():
        attack = SinglingOutEvaluator(ori=training, syn=frame, control=control, n_attacks=500)
        attack.evaluate(mode="multivariate")
        print(name, attack.risk(confidence_level=0.95))


def dp_accounting() -> None:
    """Epsilon of two trainings on two grids, from above."""
    from dp_accounting.pld import privacy_loss_distribution

    for sigma, rate, steps in TRAININGS:
        for width in (1e-3, 1e-4):
            one: Any = privacy_loss_distribution.from_gaussian_mechanism(
                sigma, sampling_prob=rate, value_discretization_interval=width
            )
            print(width, f"{one.self_compose(steps).get_epsilon_for_delta(DELTA):.9f}")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for part in (ours, pycanon, acro, anonymeter, dp_accounting):
        module = "mialeak" if part is ours else part.__name__
        if find_spec(module):
            print(f"\n== {module}")
            part()
