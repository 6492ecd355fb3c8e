"""
Overfitting leaves no security
==============================

A procedure whose loss on members is below a threshold that few fresh rows reach gives its members
away: its security is at most the share of members above the threshold plus the share of fresh rows
below ([AGP25] Theorem 11). The three learners of their Section 6.1, from 1,000 rows on the unit
sphere with noisy labels each: a two-layer ReLU net of width 4096, trained by Adam at d = 10, least
squares and the nearest neighbour at d from 10 to 2000. The runs took eight minutes on a busy core;
``overfitting.py`` made the shares that are drawn here, of members and of 10,000 fresh rows.
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
# Shares of the losses below each threshold: solid of members, dashed of fresh rows.

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
# The bound on security at each threshold, as measured: 1 - (members below - fresh rows below).

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
# These shares describe single models; members of one model are not independent. What holds with
# confidence takes one loss of each of many runs: here the nearest neighbour, whose loss on a member
# is always 0, and on a fresh row hardly ever.

rng = np.random.default_rng(0)
print(overfitting_security_bound(np.zeros(300), rng.chisquare(1, 300)))
