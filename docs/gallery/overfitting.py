"""The overfitting experiments of AGP25, Section 6.1: ``python overfitting.py`` writes a .json.

Three learners on noisy labels: a two-layer ReLU net of width 4096 (d = 10, Adam), least squares and
the nearest neighbour (d from 10 to 2000), each from 1,000 rows.  Kept are the shares of losses
below thresholds, of members and of fresh rows; a minute on two cores.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import torch
from sklearn.neighbors import KNeighborsRegressor

SEED, ROWS, FRESH, WIDTH, STEPS = 20251122, 1000, 1000, 4096, 1500
THRESHOLDS = [1e-6, 1e-4, 1e-2]
DIMENSIONS = [10, 20, 50, 100, 200, 500, 800, 900, 1000, 1100, 1200, 1500, 2000]


def shares(losses: np.ndarray) -> list[float]:
    return [round(float(np.mean(losses <= threshold)), 4) for threshold in THRESHOLDS]


def neural_network(rng: np.random.Generator) -> list[dict]:
    """Y = sin(pi beta x) + noise; the share of losses below thresholds as training goes on."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    beta = rng.normal(size=10) / np.sqrt(10)
    x = rng.normal(size=(ROWS + FRESH, 10))
    y = np.sin(np.pi * x @ beta) + 0.1 * rng.normal(size=ROWS + FRESH)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y[:, None], dtype=torch.float32)
    net = torch.nn.Sequential(
        torch.nn.Linear(10, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)
    )
    rates = torch.optim.Adam(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(rates, STEPS, 1e-6)
    found = []
    for step in range(STEPS + 1):
        if step % 100 == 0:
            with torch.no_grad():
                losses = ((net(x) - y) ** 2).numpy().ravel().astype(float)
            row = {"step": step, "members": shares(losses[:ROWS]), "fresh": shares(losses[ROWS:])}
            found.append(row)
        rates.zero_grad()
        ((net(x[:ROWS]) - y[:ROWS]) ** 2).mean().backward()
        rates.step()
        schedule.step()
    return found


def by_dimension(rng: np.random.Generator, learner: str) -> list[dict]:
    """Y = beta x + noise."""
    found = []
    for d in DIMENSIONS:
        beta = rng.normal(size=d) / np.sqrt(d)
        x = rng.normal(size=(ROWS + FRESH, d))
        y = x @ beta + rng.normal(size=ROWS + FRESH)
        if learner == "least squares":
            guess = x @ np.linalg.lstsq(x[:ROWS], y[:ROWS], rcond=None)[0]
        else:
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
