"""
Leakage and accuracy of discretised images
==========================================

If each training image of a classifier is first replaced by the centre of one of K clusters, no
learning procedure leaks more than the counts of the clusters. Table 1 of [AGP25]_ has an upper
bound on this leakage for MNIST. This page has the exact leakage beside the bound, for
Fashion-MNIST [XRV17]_ in place of MNIST, and the curve of accuracy against leakage.

The results were computed beforehand (``fashion_results.py``, seed and hashes in ``fashion.json``).

.. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
   Attacks on Machine Learning Models", JMLR, 2025.
.. [XRV17] H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST", arXiv:1708.07747.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

here = Path(__file__).parent if "__file__" in globals() else Path.cwd()
stored = json.loads((here / "fashion.json").read_text())

# %%
# In the table, C_K is the diversity of the clusters, and C_K / (2 sqrt(n)) is the bound. "exact"
# is the largest leakage of any procedure that uses only the clusters; the shares of the clusters
# among 30,000 further images are taken as the law. A classifier also uses the labels, so its atoms
# are pairs of a cluster and a label. There are more pairs than clusters, and pairs leak more; the
# last column has the leakage of the pairs.

print("       n  clusters  accuracy    C_K   bound   exact  with labels")
for row in stored["raw"] + stored["table"]:
    line = f"{row['n']:8,}  {row['clusters'] or 'raw':>8}  {np.mean(row['accuracy']):8.3f}"
    if row["clusters"]:
        diversity, leakage = row["diversity_clusters"], row["leakage_clusters"]
        line += f"  {diversity:5.2f}  {diversity / (2 * row['n'] ** 0.5):.4f}  {leakage:.4f}"
        line += f"  {row['leakage_pairs']:11.4f}"
    print(line)

# %%
# For raw images the classifier is a network with two hidden layers of 256 units. On K distinct
# images every classifier is a list of K labels. The list of the commonest label in each cluster
# has the best training accuracy; the table has its test accuracy.
#
# The exact leakage of the clusters is four fifths of the bound. The leakage of the pairs is 1.6 to
# 1.9 times that of the clusters: for a classifier that uses labels, the leakage of the clusters
# alone is too low.

figure, axes = plt.subplots(figsize=(7, 4.5))
curve = stored["curve"]
leakage = [row["leakage_pairs"] for row in curve]
accuracy = [np.mean(row["accuracy"]) for row in curve]
axes.plot(leakage, accuracy, "o-", color="C0", label="clusters, with labels")
for row, x, y in zip(curve, leakage, accuracy, strict=True):
    axes.annotate(f"{row['clusters']}", (x, y), xytext=(4, -12), textcoords="offset points")
raw = stored["raw"][-1]
label = f"raw images, n = {raw['n']:,}: no bound below 1"
axes.axhline(np.mean(raw["accuracy"]), color="0.5", ls="--", label=label)
axes.set(
    xlabel="largest leakage of any procedure",
    ylabel="accuracy on test images",
    title=f"{curve[0]['n']:,} images replaced by their clusters' centres",
)
axes.legend(loc="lower right")
figure.tight_layout()

# %%
# The number of clusters determines a trade-off between accuracy and leakage; the paper asks for
# this curve.
