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
# last layer of 4,010 parameters is attacked. Batches have 64 images, the learning rate is 1e-3.
# Targets are the image furthest from the reference in units of its covariance, the median and the
# nearest. In each run a target is in one of the batches, or in none.
#
# The mean and the covariance of gradients come from 1000 reference images at the first model, as in
# the paper. 1000 gradients in 7,850 dimensions leave most of the covariance unknown: as printed,
# the attack would invert a matrix of rank 999. Here it is shrunk, a tenth of it replaced by a
# multiple of the identity. And since a target is in one step that the attacker does not know, the
# scores of the steps combine as the log of the mean of their exponentials; the paper adds them up.

ATTACKS = {
    "covariance": "covariance 0.1, log mean exp",
    "GLiR": "glir, largest",
    "scalar product": "scalar-product, largest",
}
SUMMED = {
    "covariance, summed": "covariance 0.1, sum",
    "GLiR, summed": "glir, sum",
    "scalar product, summed": "scalar-product, sum",
}


def curve(model, attack, target):
    """The measured trade-off of an attack on one target."""
    scores, member = stored[f"{model}: {attack}"][:, target], stored[f"{model}: member"][:, target]
    return EmpiricalTradeOff(scores[member], scores[~member])


def table(model):
    """Areas under the curves, a row an attack."""
    print(f"{about[f'{model}_runs']} runs of {about[f'{model}_steps']} steps")
    print(f"{'AUC':26s}" + "".join(f"{name:>8s}" for name in TARGETS))
    for label, attack in {**ATTACKS, **SUMMED}.items():
        areas = [curve(model, attack, k).auc for k in range(3)]
        print(f"{label:26s}" + "".join(f"{area:8.2f}" for area in areas))


GRID = np.linspace(0.0, 1.0, 501)


def draw(curve_of):
    """The curves of the attacks, a row a model and a column a target."""
    figure, panels = plt.subplots(2, 3, figsize=(10, 6.6), sharex=True, sharey=True)
    for row, model in zip(panels, ("linear", "conv"), strict=True):
        for k, axes in enumerate(row):
            for label, attack in ATTACKS.items():
                axes.plot(GRID, curve_of(model, attack, k).power(GRID), label=label)
            axes.plot([0, 1], [0, 1], ":", color="grey")
            axes.set_title(f"{model} model, {TARGETS[k]} target", fontsize=10)
        row[0].set_ylabel("power")
    for axes in panels[1]:
        axes.set_xlabel("false-positive rate")
    panels[0, 0].legend()
    figure.tight_layout()


draw(curve)

# %%
# The linear layer. Half of the runs are in and half out, so that an area near 1/2 has a standard
# error of about 0.06.

table("linear")

# %%
# The convolutional net. Its lower layers learn as well, so that what feeds the last layer moves
# while mean and covariance stay those of the first model.

table("conv")

# %%
# On the easy target the covariance attack makes next to no mistake and the scalar product is hardly
# better than a coin. To sum the steps, as the paper does, buries the one step with that target
# under the noise of all others. On the medium target of the linear layer the covariance attack is
# ahead, by one standard error or two. On that of the net, and on the hard targets, nothing beats a
# coin beyond doubt: the one step in question is lost among the others.
#
# One step
# --------
#
# What if the attacker knows the step? One batch at the first model, with the target in the place of
# one image or without it.


def known_step(model, attack, target):
    """The measured trade-off where the step is known."""
    out, into = stored[f"{model} step: {attack.split(',')[0]}"][target]
    return EmpiricalTradeOff(into, out)


draw(known_step)

# %%
# Beside each measured area stands the one that ``mean_tradeoff`` predicts from the same mean and
# covariance: of 1000 references, shrunk by more or less, in one block for each class, or reduced to
# the variances; and of 20,000 references, shrunk by a thousandth.

SHRINKAGES = about["shrinkages"]
FORMS = {f"shrunk by {a:g}": f"{a:g}" for a in SHRINKAGES}
FORMS |= {"a block a class": "block", "variances only": "diagonal", "20,000 references": "known"}
OTHERS = {"GLiR": "glir", "scalar product": "scalar-product"}


def predicted(model):
    """Measured areas, and those by theory."""
    print(f"{model} model, {about['step_rounds']} rounds in and out")
    print(f"{'AUC':20s}" + "".join(f"{name:>9s} theory" for name in TARGETS))
    for label, name in {**FORMS, **OTHERS}.items():
        law = stored.get(f"{model} step: theory {name}")
        line = f"{label:20s}"
        for k in range(3):
            area = known_step(model, name if law is None else f"covariance {name}", k).auc
            line += f"{area:9.3f}" + (" " * 7 if law is None else f"{law[k]:7.3f}")
        print(line)


predicted("linear")

# %%
# Standard errors are at most 0.013.

predicted("conv")

# %%
# Here the covariance attack is far ahead of the scalar product on every target: 0.99 against 0.64
# on the medium one of the linear layer, 0.97 against 0.62 on that of the net. GLiR with the same
# covariance is as good on the easy and the medium target and behind on the hard one: it uses the
# length of the batch gradient as well, and so pays twice for a covariance that is not known.
#
# What ridge and structure change
# -------------------------------
#
# Theory asks for many independent coordinates, or for Gaussian ones with the whole covariance, and
# for that covariance to be known. Which of these fails?
#
# *The covariance is not known.* With 20,000 references prediction and measurement on the net agree
# to a few thousandths, with gradients far from Gaussian. With 1000 and little shrinkage the
# prediction is success next to certain whatever the target: variances in directions that the
# references do not reach are taken for too small. Such scores rank targets well and are far larger
# in size than log likelihood ratios can be: thresholds have to be calibrated on targets known to be
# out. Too much shrinkage hides what is known: the attacks get worse, and of the hard targets less
# is predicted than is found.
#
# *The coordinates depend on each other.* Variances alone are the theory of independent coordinates.
# It promises certainty, and on the medium and the hard target the attack is no better than the
# scalar product: a target is easy since it leaves the directions in which neighbouring pixels vary
# together. A block for each class has fewer numbers to learn from the same references. That makes
# up, on the linear layer, for the dependence between classes that it forgets, but for the hard
# target, and not on the net.
#
# *The covariance has no full rank*, at whatever number of references: the ten errors of an example
# add up to zero, which leaves nine tenths of the directions. A ridge or shrinkage makes it regular,
# and costs nothing there, for targets do not move in the other directions either.

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
# Measured areas have a standard error of 0.013 at most, powers of 0.02. Here prediction and
# measurement agree: the noise of DP-SGD is known, and it is most of the covariance. Clipping has
# taken most of the difference between the targets away, and noise takes the rest: with noise
# multiplier s the leakage score of one step is at most about 1/s**2 whatever the target.
