"""
What discretised images leak, and what they still teach
=======================================================

If the images that a classifier learns from are first replaced by the centres of a few clusters, no
learning procedure whatever can leak more than the counts of these. [AGP25]_ shows this on MNIST
with a bound (its Table 1). Here are the exact numbers beside the bound, on Fashion-MNIST [XRV17]_
in place of MNIST, and the curve of accuracy against leakage.

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
# The table. C_K is the diversity of the clusters, and C_K / (2 sqrt(n)) the bound. "exact" is the
# largest leakage of any procedure that sees the clusters, if their shares among 30,000 further
# images are the law. A classifier sees the labels as well: its atoms are the pairs of a cluster and
# a label, which are more and leak more, and the last column is theirs.

print("       n  clusters  accuracy    C_K   bound   exact  with labels")
for row in stored["raw"] + stored["table"]:
    line = f"{row['n']:8,}  {row['clusters'] or 'raw':>8}  {np.mean(row['accuracy']):8.3f}"
    if row["clusters"]:
        diversity, leakage = row["diversity_clusters"], row["leakage_clusters"]
        line += f"  {diversity:5.2f}  {diversity / (2 * row['n'] ** 0.5):.4f}  {leakage:.4f}"
        line += f"  {row['leakage_pairs']:11.4f}"
    print(line)

# %%
# The raw images are learned by a network with two inner layers of 256. On K distinct images every
# classifier is a list of K answers, and the commonest label of each cluster is the best such list
# on the images it learned from: that is the accuracy given for clusters.
#
# The exact leakage of the clusters is four fifths of the bound. With labels it is 1.6 to 1.9 times
# that: who counts clusters alone says too little of a classifier that sees labels.

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
# Each number of clusters is a choice between the two; the curve is what the paper asks for.
