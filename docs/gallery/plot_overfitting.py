"""
Overfitting leaves no security
==============================

If members have losses below a threshold and fresh rows have losses above it, the losses identify
the members. The security (1 - leakage) is at most the share of members above the threshold plus
the share of fresh rows below the threshold (Aubinais, Gassiat and Piantanida, JMLR 2025, Theorem
11). This page has the three learners of Section 6.1 of the paper, each trained on 1,000 rows on
the unit sphere with noisy labels: a two-layer ReLU network of width 4096, trained by Adam at d =
10, and least squares and the nearest neighbour at d from 10 to 2000. ``overfitting.py`` computed
the shares, of members and of 10,000 fresh rows, in eight minutes on a shared core.
"""

import json

import matplotlib.pyplot as plt
import numpy as np

from mialeak.guarantees import overfitting_security_bound

with open("overfitting.json") as file:
    runs = json.load(file)
print(runs["made by"])
thresholds = runs["thresholds"]

# %%
# The figure has the share of losses below each threshold, for members (solid) and fresh rows
# (dashed).

figure, panels = plt.subplots(1, 3, figsize=(14, 4.2), sharey=True, layout="constrained")
axes_of = (("network", "step"), ("least squares", "d"), ("nearest neighbour", "d"))
for ax, (learner, axis) in zip(panels, axes_of, strict=True):
    rows = runs[learner]
    x = [row[axis] for row in rows]
    for place, (threshold, color) in enumerate(zip(thresholds, ("C0", "C1", "C2"), strict=True)):
        ax.plot(x, [row["members"][place] for row in rows], color=color, label=f"{threshold:g}")
        ax.plot(x, [row["fresh"][place] for row in rows], color=color, linestyle="--")
    ax.set(title=learner, xlabel={"step": "training steps", "d": "dimension"}[axis])
    if axis == "d":
        ax.set_xscale("log")
panels[0].set_ylabel("share of losses below")
panels[0].legend(title="threshold")

# %%
# The next figure has the measured bound on security at the best threshold: 1 - (share of members
# below the threshold - share of fresh rows below the threshold).

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for learner, _ in axes_of[1:]:
    rows = runs[learner]
    best = [1 - np.max(np.subtract(row["members"], row["fresh"])) for row in rows]
    ax.plot([row["d"] for row in rows], best, marker="o", label=learner)
ax.set(xlabel="dimension", ylabel="security is at most", xscale="log", ylim=(-0.02, 1.02))
ax.axvline(runs["rows"], color="grey", linewidth=0.8)
ax.legend()
last = runs["network"][-1]
print("network, last step:", 1 - np.max(np.subtract(last["members"], last["fresh"])))

# %%
# These shares describe single models, and the members of one model are not independent. A bound
# with stated confidence needs one loss from each of several hundred runs. The example is for the
# nearest neighbour, whose loss is always 0 on a member and almost never 0 on a fresh row.

rng = np.random.default_rng(0)
print(overfitting_security_bound(np.zeros(300), rng.chisquare(1, 300)))
