"""
Simulated games against exact and printed theory
================================================

Azize and Basu (AISTATS 2025) release the mean of n = 1000 rows of d = 5000 bits, simulate
membership games, and compare them with theory. This page repeats the panels of their Figures 2, 5
and 6 with exact curves, with more games, and with corrections of the printed theory.

``make_exact_games.py`` simulated the games, and stored counts and powers with the seed and a hash.
The code below plots the stored results.
"""

import hashlib
import json

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from mialeak import exact_mean_tradeoff, mean_tradeoff
from mialeak.laws import Bernoulli

with open("exact_games.json") as file:
    about = json.load(file)
with open("exact_games.npz", "rb") as file:
    assert hashlib.sha256(file.read()).hexdigest() == about["sha256"]
stored = np.load("exact_games.npz")

d, n = about["columns"], about["rows"]
p = 0.25 + 0.5 * (np.arange(d) + 0.5) / d
variance = p * (1 - p)
easy = (p <= 0.5).astype(float)
fpr = stored["fpr"]


def drawn(axis, curve, games, color, label):
    """Theory as a line, games as dots."""
    axis.plot(fpr, curve.power(fpr), color=color, lw=1.2, label=label)
    axis.plot(fpr[::4], stored[games][::4], ".", color=color, ms=5)


# %%
# 100,000 games for each target
# -----------------------------
#
# The figure has the difference between the games and the exact curve at 200 false-positive rates,
# in standard deviations of the binomial count. All points are within the grey band. The band
# contains all points of all panels simultaneously with probability 99.9 %; its half-width is about
# five standard deviations.

targets = {"easy": easy, "medium": stored["medium"].astype(float), "hard": 1.0 - easy}
cases = [(name, target, 1.0) for name, target in targets.items()]
cases.append(("rate", easy, about["band_rate"]))
level = stats.norm.isf(0.5e-3 / 1600)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), sharey=True)
for axis, (name, target, rate) in zip(axes, cases, strict=True):
    cuts, out, inside, outside = stored[f"band {name}"]
    curve = exact_mean_tradeoff(target, Bernoulli(p), n, sampling_rate=rate)
    levels, member = stored["levels"], about["band_rounds"] - outside
    for above, rounds, chance, label in (
        (out, outside, levels, "out"),
        (inside, member, np.asarray(curve.power(levels)), "in"),
    ):
        error = np.sqrt(rounds * chance * (1 - chance))
        axis.semilogx(levels, (above - rounds * chance) / error, lw=1, label=label)
    axis.axhspan(-level, level, color="0.93", zorder=0)
    title = f"easy, a tenth of the rows: {curve.advantage:.5f}" if rate < 1 else name
    axis.set(title=title if rate < 1 else f"{name}: {curve.advantage:.5f}", xlabel="fpr")
axes[0].set_ylabel("games less theory\n(standard deviations)")
axes[0].legend()
figure.tight_layout()

# %%
# Figures 2 and 5
# ---------------
#
# Lines are theory; each dot is from 20,000 games. Left: three targets, with exact curves. Centre:
# noise, in standard deviations of the means; the lines are the limit for many rows, since no exact
# curve is available with noise. Right: an attacker who has a share of the target's bits wrong, as
# in the main text of the paper.


def finished(figure, panels):
    """Axes named, a legend in each."""
    for axis in panels:
        axis.plot(fpr, fpr, color="0.85", lw=0.8, zorder=0)
        axis.legend(fontsize=8, loc="lower right")
        axis.set_xlabel("false-positive rate")
    panels[0].set_ylabel("power")
    figure.tight_layout()


figure, panels = plt.subplots(1, 3, figsize=(12, 4), sharey=True)
colors = ("C0", "C2", "C3")
for (name, target), color in zip(targets.items(), colors, strict=True):
    curve = exact_mean_tradeoff(target, Bernoulli(p), n)
    cuts, out, inside, outside = stored[f"band {name}"]
    panels[0].plot(fpr, curve.power(fpr), color=color, lw=1.2, label=name)
    seen = out / outside, inside / (about["band_rounds"] - outside)
    panels[0].plot(seen[0][::8], seen[1][::8], ".", color=color, ms=5)
panels[0].set_title("targets")

for noise, color in zip(about["noises"], colors, strict=True):
    curve = mean_tradeoff(easy, p, variance, n, release_noise_cov=noise**2 * variance / n)
    drawn(panels[1], curve, f"noise {noise:g}", color, f"noise {noise:g}")
panels[1].set_title("easy target, noise")

for share, color in zip(about["mistakes"], colors, strict=True):
    wrong = stored[f"mistaken target {share:g}"].astype(float)
    curve = mean_tradeoff(easy, p, variance, n, assumed_target=wrong)
    drawn(panels[2], curve, f"mistaken {share:g}", color, f"{share:.0%} of bits wrong")
panels[2].set_title("easy target, mistaken attacker")
finished(figure, panels)

# %%
# A sample of the rows
# --------------------
#
# The printed formula for the mean of a share of the rows (dashed) samples rows for each column
# separately. For a tenth of the rows the formula states an advantage of 0.36, although the
# advantage cannot exceed 0.1. The games agree with the exact curves. (The code prints the largest
# difference between measured power and fpr; a maximum over random deviations is about 0.01 too
# large.)

figure, panels = plt.subplots(1, 3, figsize=(12, 4), sharey=True)
for panel, rate, color in zip(panels, about["rates"], colors, strict=True):
    curve = exact_mean_tradeoff(easy, Bernoulli(p), n, sampling_rate=rate)
    drawn(panel, curve, f"rate {rate:g}", color, "exact")
    printed = mean_tradeoff(
        easy, p, variance, n, sampling_rate=rate, sampling="columnwise-as-published"
    )
    panel.plot(fpr, printed.power(fpr), "--", color="0.4", lw=1, label="as printed")
    panel.set_title(f"easy target, {rate:.0%} of the rows")
    print(
        f"rate {rate:g}: games {np.max(stored[f'rate {rate:g}'] - fpr):.3f}, "
        f"exact {curve.advantage:.3f}, printed {printed.advantage:.3f}"
    )
finished(figure, panels)

# %%
# Figure 6: reference rows
# ------------------------
#
# The attacker has n0 reference rows in place of the population's mean. The paper reports that a
# small n0 suffices. This is true if all games share the reference rows and the threshold is free,
# since all scores then shift by the same amount (left; the line is the curve with a known mean).
# If each game has fresh reference rows, a smaller n0 lowers the power (right; the lines are the
# theory with the leakage score m/(1 + n/n0) in place of m).

figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
known = exact_mean_tradeoff(easy, Bernoulli(p), n)
palette = ("C0", "C2", "C3", "C4")
panels[0].plot(fpr, known.power(fpr), color="0.3", lw=1.2, label="mean known")
for count, color in zip(about["references"], palette, strict=True):
    panels[0].plot(fpr[::4], stored[f"fixed {count}"][::4], ".", color=color, label=f"n0 = {count}")
    curve = mean_tradeoff(easy, p, variance, n, n_reference=count)
    drawn(panels[1], curve, f"redrawn {count}", color, f"n0 = {count}")
    lost = [np.max(stored[f"{kind} {count}"] - fpr) for kind in ("fixed", "redrawn")]
    print(f"n0 = {count}: fixed {lost[0]:.3f}, redrawn {lost[1]:.3f}, theory {curve.advantage:.3f}")
panels[0].set_title("n0 reference rows, the same in all games")
panels[1].set_title("n0 reference rows, fresh in each game")
finished(figure, panels)
