"""The overfitting experiments of AGP25, Section 6.1: ``python overfitting.py`` writes a .json.

Three learners, each from 1,000 rows, uniform on the unit sphere, with labels of noise N(0, 0.01):
a two-layer ReLU net of width 4096 (d = 10, Adam with rate 0.1, 2,500 steps), least squares and the
nearest neighbour (d from 10 to 2000).  The file has the shares of losses below thresholds, for
members and for 10,000 fresh rows; the run takes eight minutes on a busy core. The paper trains its
linear regression by Adam too; this script solves the regression, and takes the smallest
coefficients if the solution is not unique.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sklearn.neighbors import KNeighborsRegressor

SEED, ROWS, FRESH, WIDTH, STEPS, RATE = 20251122, 1000, 10_000, 4096, 2500, 0.1
THRESHOLDS = [1e-6, 1e-4, 1e-2]
DIMENSIONS = [10, 20, 50, 100, 200, 500, 800, 900, 1000, 1100, 1200, 1500, 2000]


def shares(losses: np.ndarray) -> list[float]:
    return [round(float(np.mean(losses <= threshold)), 4) for threshold in THRESHOLDS]


def draw(rng: np.random.Generator, d: int, link: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Rows on the sphere, and labels: the link of the first coordinate, and noise."""
    x = rng.normal(size=(ROWS + FRESH, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, link(x[:, 0]) + 0.1 * rng.normal(size=len(x))


def wave(signal: np.ndarray) -> np.ndarray:
    return np.sin(np.pi * signal)


def neural_network(rng: np.random.Generator) -> list[dict]:
    """Shares of the losses below thresholds as training goes on."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    x, y = draw(rng, 10, wave)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y[:, None], dtype=torch.float32)
    net = torch.nn.Sequential(
        torch.nn.Linear(10, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)
    )
    adam = torch.optim.Adam(net.parameters(), lr=RATE)
    found = []
    for step in range(STEPS + 1):
        if step % 100 == 0:
            with torch.no_grad():
                losses = ((net(x) - y) ** 2).numpy().ravel().astype(float)
            row = {"step": step, "members": shares(losses[:ROWS]), "fresh": shares(losses[ROWS:])}
            found.append(row)
        adam.zero_grad()
        ((net(x[:ROWS]) - y[:ROWS]) ** 2).mean().backward()
        adam.step()
    return found


def by_dimension(rng: np.random.Generator, learner: str) -> list[dict]:
    """Shares of the losses of a fitted learner below thresholds."""
    found = []
    for d in DIMENSIONS:
        if learner == "least squares":
            x, y = draw(rng, d, np.asarray)
            guess = x @ np.linalg.lstsq(x[:ROWS], y[:ROWS], rcond=None)[0]
        else:
            x, y = draw(rng, d, wave)
            guess = KNeighborsRegressor(1).fit(x[:ROWS], y[:ROWS]).predict(x)
        losses = (guess - y) ** 2
        found.append({"d": d, "members": shares(losses[:ROWS]), "fresh": shares(losses[ROWS:])})
    return found


def main() -> None:
    rng = np.random.default_rng(SEED)
    results = {
        "least squares": by_dimension(rng, "least squares"),
        "nearest neighbour": by_dimension(rng, "nearest neighbour"),
        "network": neural_network(rng),
    }
    content = {"seed": SEED, "rows": ROWS, "thresholds": THRESHOLDS, **results}
    code = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    content["made by"] = f"overfitting.py, sha256 {code}"
    Path(__file__).with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
