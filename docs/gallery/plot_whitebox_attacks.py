"""
Attacking the steps of a training
=================================

Whoever sees the parameters before and after each step of gradient descent sees the mean of each
batch of gradients. Is the gradient of a certain image among them? This page repeats Figure 3 of
Azize and Basu (AISTATS 2025) on Fashion-MNIST, and then asks what DP-SGD does about it.

The attacks ran beforehand, in ``make_whitebox.py`` beside this page: it stores every score with the
seed and the hashes of the data, and what follows only draws them.
"""

import hashlib
import json

import matplotlib.pyplot as plt
import numpy as np

from mialeak import EmpiricalTradeOff

with open("whitebox.json") as file:
    about = json.load(file)
with open("whitebox.npz", "rb") as file:
    assert hashlib.sha256(file.read()).hexdigest() == about["sha256"]
stored = np.load("whitebox.npz")
TARGETS = ("easy", "medium", "hard")

# %%
# Two models
# ----------
#
# A layer of 7,850 parameters, all of them attacked, and a small convolutional net, of which the
# last layer of 4,010 parameters is attacked. Batches have 64 images, the learning rate is 1e-3. The
# mean and the covariance of gradients come from 1000 reference images at the first model. Targets
# are the image furthest from the reference in units of its covariance, the median and the nearest.
# In each run a target is in one of the batches, or in none.
#
# 1000 gradients in 7,850 dimensions leave most of the covariance unknown: as printed, the attack
# would invert a matrix of rank 999. Here it is shrunk, a tenth of it replaced by a multiple of the
# identity. And since a target is in one step that the attacker does not know, the scores of the
# steps combine as the log of the mean of their exponentials; the paper adds them up.

ATTACKS = {
    "covariance": "covariance 0.1, log mean exp",
    "covariance, summed": "covariance 0.1, sum",
    "GLiR": "glir, largest",
    "scalar product": "scalar-product, largest",
    "scalar product, summed": "scalar-product, sum",
}


def curve(model, attack, target):
    """The measured trade-off of an attack on one target."""
    scores, member = stored[f"{model}: {attack}"][:, target], stored[f"{model}: member"][:, target]
    return EmpiricalTradeOff(scores[member], scores[~member])


def table(model, attacks):
    """Areas under the curves, a row an attack."""
    print(f"{'AUC':26s}" + "".join(f"{name:>8s}" for name in TARGETS))
    for label, attack in attacks.items():
        areas = [curve(model, attack, k).auc for k in range(3)]
        print(f"{label:26s}" + "".join(f"{area:8.2f}" for area in areas))


GRID = np.linspace(0.0, 1.0, 501)
figure, panels = plt.subplots(2, 3, figsize=(10, 6.6), sharex=True, sharey=True)
for row, model in zip(panels, ("linear", "conv"), strict=True):
    for k, axes in enumerate(row):
        for label in ("covariance", "GLiR", "scalar product"):
            axes.plot(GRID, curve(model, ATTACKS[label], k).power(GRID), label=label)
        axes.plot([0, 1], [0, 1], ":", color="grey")
        axes.set_title(f"{model} model, {TARGETS[k]} target", fontsize=10)
    row[0].set_ylabel("power")
for axes in panels[1]:
    axes.set_xlabel("false-positive rate")
panels[0, 0].legend()
figure.tight_layout()

# %%
# The linear layer. Half of the runs are in and half out, so that an area near 1/2 has a standard
# error of about 0.06.

print(f"{about['linear_runs']} runs of {about['linear_steps']} steps")
table("linear", ATTACKS)

# %%
# The convolutional net. Its lower layers learn as well, so that what feeds the last layer moves
# while mean and covariance stay those of the first model.

print(f"{about['conv_runs']} runs of {about['conv_steps']} steps")
table("conv", ATTACKS)

# %%
# On the easy target the covariance attack makes no mistake and the scalar product is hardly better
# than a coin. On the medium target it is ahead of either form of the scalar product too, but by no
# more than one standard error or two. On the hard target nothing beats a coin beyond doubt in so
# few runs: its gradient is among the most usual.
#
# To sum the steps, as the paper does, buries the one step with an easy target under the noise of
# all others. For the medium target of the linear layer the sum does as well: a log mean of
# exponentials follows the largest score, and where the covariance is uncertain so is that.

# %%
# What ridge and structure change
# -------------------------------
#
# Theory asks for independent coordinates, or for the whole covariance. Here the coordinates depend
# on each other strongly (neighbouring pixels, the ten classes), and 1000 references do not tell the
# covariance of thousands of parameters. Three remedies: more or less shrinkage of the whole, one
# block for each class, or variances alone.

SHRINKAGES = about["shrinkages"]
FORMS = {f"shrunk by {a:g}": f"covariance {a:g}, log mean exp" for a in SHRINKAGES}
FORMS |= {"a block a class": "covariance block, log mean exp"}
FORMS |= {"variances only": "covariance diagonal, log mean exp"}
table("linear", FORMS)

# %%
# Variances alone give away most of the attack: an easy target is easy since it leaves the
# directions in which gradients vary together. More shrinkage helps the medium target, and so do
# blocks, which have fewer numbers to learn from the same references: 784 x 784 a class. The scores
# are far larger in size than log likelihood ratios can be, whatever the form, for the variance of
# directions that the references do not reach is underestimated. They rank; a threshold has to be
# calibrated on targets known to be out.

# %%
# DP-SGD
# ------
#
# Opacus clips each gradient of the linear layer to norm 1 and adds noise to the sum of the batch:
# three noise multipliers, one step, a target that is in the batch or not. The noise is part of the
# covariance that the attack knows of, and it makes it regular without any shrinkage. Dashed: the
# curve that ``mean_tradeoff`` gives for the mean of 64 gradients with that noise.

figure, panels = plt.subplots(1, 3, figsize=(11, 4), sharex=True, sharey=True)
print(f"{about['dp_rounds']} rounds in and out")
print("noise   target   AUC   theory   power at fpr 0.1   theory")
for level, (noise, axes) in enumerate(zip(about["noises"], panels, strict=True)):
    for k, name in enumerate(TARGETS):
        measured = EmpiricalTradeOff(stored["dp: in"][level, k], stored["dp: out"][level, k])
        fpr, power = stored["dp: fpr"], stored["dp: power"][level, k]
        axes.plot(GRID, measured.power(GRID), color=f"C{k}", label=name)
        axes.plot(fpr, power, "--", color=f"C{k}")
        area = np.trapezoid(power, fpr)
        rates = f"{measured.power(0.1):10.2f} {power[10]:15.2f}"
        print(f"{noise:5.1f}   {name:6s} {measured.auc:6.2f} {area:6.2f} {rates}")
    axes.set(title=f"noise multiplier {noise:g}", xlabel="false-positive rate")
panels[0].set_ylabel("power")
panels[0].legend()
figure.tight_layout()

# %%
# Measured areas have a standard error of about 0.03. Clipping has taken most of the difference
# between the targets away, and noise takes the rest: with noise multiplier s the leakage score of
# one step is at most about 1/s**2 whatever the target.
