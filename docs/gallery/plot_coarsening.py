"""
Merging ages to lower the leakage
=================================

A table with the number of people of each age leaks membership, most about people of a rare age.
Merging neighbouring ages into groups lowers the leakage. Which groups keep as many age classes as
possible? The data are the 32,561 people of the Adult table.
"""

import matplotlib.pyplot as plt
import numpy as np

from mialeak import atom_leakage, coarsen, max_leakage
from mialeak.datasets import load_adult

ages = load_adult().columns["age"]
values, counts = np.unique(ages, return_counts=True)
law, n = counts / counts.sum(), len(ages)
raw = max_leakage(law, n)
print(f"{len(values)} ages leak {raw:.4f}, if these shares are the population's")

# %%
# The limit is half of this leakage; ``coarsen`` keeps as many groups as possible. Dynamic
# programming over the last cut proves that no grouping within the limit has more groups, and a
# search computes an upper bound on the entropy of groupings with this number of groups.

coarse = coarsen(law, n, raw / 2, ordered=True)
print(f"{coarse.groups} groups leak {coarse.leakage:.4f}; optimal: {coarse.optimal}")
print(f"entropy {coarse.entropy:.4f} nats, at most {coarse.most_entropy:.4f}")

# %%
# Most merges are of common ages. The leakage about a person of a common age is small, but these
# people together contribute most of the average. Rare ages are not merged, and the leakage about a
# person of 90 does not change: a limit on the average does not limit the leakage about each row,
# as ``atom_leakage`` shows.

figure, (above, below) = plt.subplots(2, 1, figsize=(9, 6), sharex=True)
starts = np.flatnonzero(np.diff(coarse.labels, prepend=-1))
edges = np.append(values[starts], values[-1] + 1)
merged = np.bincount(coarse.labels, law)
above.bar(values, law, width=0.9, align="edge", color="0.75", label="each age")
density = merged / np.bincount(coarse.labels)
above.stairs(density, edges, color="C0", lw=1.6, label="groups, mean a year")
above.set(ylabel="share of the people", title=f"{len(values)} ages, {coarse.groups} groups")
above.legend()
below.semilogy(values + 0.5, atom_leakage(law, n), ".", color="0.6", label="each age published")
by_group = atom_leakage(merged, n)[coarse.labels]
below.semilogy(values + 0.5, by_group, ".", color="C0", label="groups published")
below.set(xlabel="age", ylabel="leakage of a person of that age")
below.legend()
figure.tight_layout()

# %%
# Fewer groups leak less. The figure has the leakage for each number of groups.

shares = np.linspace(0.02, 0.98, 25)
best = [coarsen(law, n, share * raw, ordered=True) for share in shares]
figure, axes = plt.subplots(figsize=(7, 4))
axes.plot([b.groups for b in best], [b.leakage for b in best], ".-", color="C0")
axes.plot(len(values), raw, "o", color="0.4", label="all ages")
axes.set(xlabel="groups", ylabel="leakage", title="How many groups a leakage allows")
axes.set_ylim(0)
axes.legend()
figure.tight_layout()

# %%
# ``frame["age"].map(coarse.mapping(values))`` applies the groups to a data frame.
