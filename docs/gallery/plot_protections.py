"""
How much noise is enough?
=========================

Statistical offices protect a table of counts by rounding, by hiding small counts, by noise on each
count, or by cell keys, whose noise has the probabilities of a table, the ptable. Which protection
leaks least for the same loss? The table has the counts of 32,561 people by age, education, marital
status, race and sex. The leakage is that of the protected count of a person's cell, for the
population from which the people were drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from mialeak import table_leakage
from mialeak.datasets import load_adult
from mialeak.mechanisms import (
    CellKey,
    DiscreteGaussian,
    Geometric,
    Pipeline,
    RandomRound,
    Round,
    Suppress,
    calibrate,
    optimal_ptable,
)

columns = ["age", "education", "marital_status", "race", "sex"]
adult = load_adult().columns
report = table_leakage(adult, columns)
law, n = report.cell_counts / report.rows, report.n


def compare(protections):
    """The protected tables by the names of their protections."""
    tables = table_leakage(adult, columns, protect=protections).protections
    return {table.protection: table for table in tables}


# %%
# Cell keys as offices use them
# -----------------------------
# The R package `ptable <https://github.com/sdcTools/ptable>`_ computes ptables from three numbers:
# D, the largest change of a count; V, the variance of the change; and js, such that no count from
# 1 to js is shown. Of all noise with mean 0 and variance V the package takes the noise of largest
# entropy, whose log probabilities are quadratic in the change. The parameters below are those of
# the package's examples (without the option that forces the probabilities to decrease with the
# size of the change). ``CellKey("ptable.csv")`` reads a file of the package.


def noise_of_most_entropy(count, most, variance, hidden):
    """Changes of a count, and their probabilities."""
    change = np.arange(-most, most + 1)
    change = change[(count + change == 0) | (count + change > hidden)]

    moments = np.stack([change, change**2 - variance])

    def dual(coefficients):
        logs = coefficients @ moments
        weights = np.exp(logs - logs.max())
        return logs.max() + np.log(weights.sum()), moments @ weights / weights.sum()

    best = minimize(dual, np.zeros(2), jac=True, method="BFGS").x @ moments
    weights = np.exp(best - best.max())
    return change, weights / weights.sum()


def cell_keys(most, variance, hidden=0):
    """Cell keys of a ptable with these three parameters."""
    table = {"i": [0], "v": [0], "p": [1.0]}
    for count in range(1, most + hidden + 1):
        change, chance = noise_of_most_entropy(count, most, variance, hidden)
        table["i"] += [count] * len(change)
        table["v"] += change.tolist()
        table["p"] += chance.tolist()
    return CellKey(table)


examples = [(2, 1, 0), (3, 0.7, 0), (5, 2, 0), (5, 3, 0), (5, 3, 2), (4, 2.5, 2), (12, 5, 2)]
compared = compare({f"D={D}, V={V}, js={js}": cell_keys(D, V, js) for D, V, js in examples})
for table in sorted(compared.values(), key=lambda each: each.value):
    print(f"{table.value:.3f} leaks, mean change {table.change:.2f}: {table.protection}")

# %%
# The ranking by leakage is the reverse of the ranking by error: more noise, less leakage. The
# threshold js lowers the leakage of D = 5, V = 3 with little additional error, since small counts
# cause most of the leakage.
#
# Cell keys against rounding and suppression
# ------------------------------------------
# All protections are compared by one loss: the mean distance of the best guess of a count from the
# true count, over the cells that are not empty. For a shown count the guess is the count itself;
# for a hidden count it is the median of the hidden counts, which a reader of the table could learn
# from a few examples.

cells = report.cell_counts[report.cell_counts > 0]


def error(table, protection):
    """Mean distance of the best guess from the true count."""
    if not isinstance(protection, Suppress):
        return table.change
    hidden = cells[cells < protection.below]
    return np.abs(hidden - np.median(hidden)).sum() / len(cells) if len(hidden) else 0.0


kinds = {
    "hide counts below 2, 3, 5, 7, 10": [Suppress(below) for below in (2, 3, 5, 7, 10)],
    "round to 2, 3, 5, 7, 10": [Round(base) for base in (2, 3, 5, 7, 10)],
    "cell keys, V = 0.5 to 11.5": [cell_keys(12, V) for V in (0.5, 1, 2, 3, 5.5, 8, 11.5)],
    "cell keys, js = 2, V = 2.5 to 10": [cell_keys(12, V, 2) for V in (2.5, 3, 5, 7, 10)],
}
names = {f"{kind} {k}": each for kind, steps in kinds.items() for k, each in enumerate(steps)}
compared = compare(names)


# %%
# How much noise do cell keys need to leak as little as rounding to 3 or to 5? ``calibrate``
# accepts any measure of leakage; this code passes the leakage of the table.

variances = np.arange(0.5, 12.01, 0.25)
rounded = compare({"3": Round(3), "5": Round(5)})
needed = []
for base in ("3", "5"):
    for hidden in (0, 2):
        tried = variances[variances > hidden]  # a 1 that becomes 0 or 3 has a variance of 2
        keys = calibrate(
            lambda variance, js=hidden: cell_keys(12, variance, js),
            lambda protection: compare({"keys": protection})["keys"].value,
            leakage=rounded[base].value,
            values=tried,
        )
        variance = round(float(keys.probabilities[-1] @ keys.shifts**2), 2)
        lost = compare({"keys": keys})["keys"].change
        if not hidden:
            needed.append((base, variance, lost))
        print(
            f"rounding to {base}, mean error {rounded[base].change:.2f}: as little leaks by cell "
            f"keys with js = {hidden} from V = {variance:g} on, mean error {lost:.2f}"
        )

# %%
# In the figure, each arrow connects two protections with the same leakage.

figure, axes = plt.subplots(figsize=(8, 5))
for kind, steps in kinds.items():
    tables = [compared[f"{kind} {k}"] for k in range(len(steps))]
    errors = [error(table, step) for table, step in zip(tables, steps, strict=True)]
    axes.plot(errors, [table.value for table in tables], "o-", label=kind)
axes.axhline(report.estimate.value, color="0.6", lw=0.8, label="all counts as they are")
axes.set(xlabel="mean error of the best guess of a count", ylabel="leakage", ylim=(0, 0.2))
for base, variance, lost in needed:
    start, value = rounded[base].change, rounded[base].value
    axes.annotate("", (lost, value), (start, value), arrowprops={"arrowstyle": "->"})
    axes.text((start + lost) / 2, value - 0.009, f"needs V = {variance:g}", ha="center")
axes.set_title("To leak as little as rounding, cell keys need far more noise; hiding loses least")
axes.legend()
figure.tight_layout()

# %%
# Other noise
# -----------
# ``optimal_ptable`` computes, for the table's own frequencies, the ptable with the smallest
# leakage among those with noise of mean 0 and a given variance. Gaussian and geometric noise also
# change empty cells; the other protections leave empty cells empty.

kinds = {
    "rounding to 2, 3, 5, 7, 10": [Round(base) for base in (2, 3, 5, 7, 10)],
    "random rounding": [RandomRound(base) for base in (2, 3, 5, 7, 10)],
    "discrete Gaussian noise": [DiscreteGaussian(sigma) for sigma in (0.5, 0.75, 1, 1.5, 2, 3)],
    "geometric noise": [Geometric(epsilon) for epsilon in (3.0, 2.0, 1.0, 0.6, 0.35)],
    "cell keys, best ptables": [
        optimal_ptable(law, n, noise=3, variance=V) for V in (0.5, 1, 2, 4)
    ],
}
names = {f"{kind} {k}": each for kind, steps in kinds.items() for k, each in enumerate(steps)}
compared = compare(names)

figure, axes = plt.subplots(figsize=(8, 5))
for kind, steps in kinds.items():
    tables = [compared[f"{kind} {k}"] for k in range(len(steps))]
    axes.plot([t.change for t in tables], [t.value for t in tables], ".-", label=kind)
axes.axhline(report.estimate.value, color="0.6", lw=0.8, label="all counts as they are")
axes.set(xlabel="mean change of a count", ylabel="leakage", ylim=(0, 0.2))
axes.set_title("At the same loss rounding to 3 or more leaks less than noise")
axes.legend()
figure.tight_layout()

# %%
# The order of steps
# ------------------
# Hiding small counts hides most cells of this table. The order matters: suppression after rounding
# also hides the counts that rounding moved below the threshold.

for protection in (Pipeline(Suppress(7), Round(5)), Pipeline(Round(5), Suppress(7))):
    (table,) = table_leakage(adult, columns, protect=protection).protections[1:]
    print(f"{table.value:.3f} leaks, {table.hidden:.1%} of the cells hidden: {protection}")
