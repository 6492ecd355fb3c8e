"""
Which images are easy targets
=============================

The Mahalanobis distance of an image's gradient from the mean gradient determines how well its
membership can be inferred from the steps of a training. This page repeats Figures 7 and 8 of Azize
and Basu (AISTATS 2025) on Fashion-MNIST: the distribution of these distances, and the images with
the largest and the smallest distances.

``make_whitebox.py`` computed the distances with ``select_canaries`` for all training images except
the 1000 reference images, at the initial model. A tenth of the covariance is replaced by a
multiple of the identity.
"""

import matplotlib.pyplot as plt
import numpy as np

stored = np.load("whitebox.npz")
MODELS = {"linear": "a layer of 7,850 parameters", "conv": "the last layer of a small net"}
NAMES = (
    *("T-shirt", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "boot"),
)

# %%
# The distances span two powers of ten: most images are close to the mean, and a small number of
# images is far from the mean. If the covariance were known, the distances divided by the batch
# size of 64 would be the leakage scores of one step. With fewer references than parameters the
# covariance is not known, and most of these scores are too large.

figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
for axes, (model, about) in zip(panels, MODELS.items(), strict=True):
    edges = 10 ** stored[f"{model}: edges"].astype(float) / 64
    axes.stairs(stored[f"{model}: counts"], edges, fill=True, alpha=0.6)
    for k, name in enumerate(("easiest", "median", "hardest")):
        place = float(stored[f"{model}: distances"][k]) / 64
        axes.axvline(place, color="black", linewidth=0.8, linestyle=("-", "--", ":")[k], label=name)
    axes.set(xscale="log", title=about, xlabel="squared distance / batch size")
panels[0].set_ylabel("images")
panels[0].legend()
figure.tight_layout()

# %%
# The rows of the figure are, from top to bottom, the three easiest, the three median and the three
# hardest images. The easiest images look unusual: trousers that are shorts, as wide as the frame,
# and for the convolutional network a pullover in broad stripes. The hardest images are plain
# trousers, the most regular class.

for model, about in MODELS.items():
    figure, grid = plt.subplots(3, 3, figsize=(5, 5.6))
    images, labels = stored[f"{model}: images"], stored[f"{model}: labels"]
    for axes, image, label in zip(grid.flat, images, labels, strict=True):
        axes.imshow(image, cmap="gray_r")
        axes.set_title(NAMES[label], fontsize=9)
        axes.set_axis_off()
    figure.suptitle(about)
    figure.tight_layout()
