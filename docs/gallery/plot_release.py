"""
Ten outputs of the same people, two of them dangerous
=====================================================

A statistician has ten outputs of the Adult table, each harmless by itself. Do they stay harmless
together?
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from mialeak import Release
from mialeak.datasets import load_adult
from mialeak.mechanisms import Suppress
from mialeak.plotting import LeakageDisplay

COLUMNS = ["education", "marital_status", "race", "sex", "relationship"]


def outputs(women, limit):
    """Return ten outputs: `women` restricts one table to women, `limit` is the last table's age."""
    release = Release(load_adult().columns)
    release.add_table(["education", "sex"])
    release.add_table(["race", "sex"])
    release.add_table(["marital_status"])
    release.add_table(["occupation", "sex"])
    release.add_table(["workclass"])
    release.add_table(["relationship", "sex"])
    release.add_mean(["hours_per_week"])
    release.add_table(["workclass"], where={"sex": "Female"} if women else None)
    release.add_table(["occupation"], where={"age": {"max": 64}})
    release.add_table(["occupation"], where={"age": {"max": limit}})
    return release


report = outputs(women=True, limit=65).leakage()
for group in report.determined:
    print(f"{group.group}: {group.people} = {group.explanation}")
print(f"{report.n_determined} small groups follow from the outputs")

# %%
# The last two tables differ by the people of age 65; two occupations have one such person. The
# table of everybody and the table of women differ by the men. In both cases a subtraction gives the
# counts of the group, whatever the counts are. A check of each table by itself cannot report these
# groups. The corrected release counts everybody, and both last tables have the same limit of age.

mended = outputs(women=False, limit=64).leakage()
print(f"{mended.n_determined} small groups follow from the mended outputs")

# %%
# Which outputs cause the small groups? ``contributions`` leaves out one output at a time.

for cost in outputs(women=True, limit=65).contributions():
    print(f"{cost.determined:2d} groups only with {cost.output}")

# %%
# The leakage of each row has a lower and an upper bound, valid with 95 % confidence for the
# population from which the people were sampled.

figure, axes = plt.subplots(figsize=(7, 4.5))
LeakageDisplay.from_rows(report.row_leakage, ax=axes, name="as planned")
LeakageDisplay.from_rows(mended.row_leakage, ax=axes, name="mended")
axes.set_title("Ten outputs of Adult together")
figure.tight_layout()

# %%
# Counts that Suppress(10) hides in one table can be recovered from the other tables.

release = Release(load_adult().columns)
release.add_table(["race", "sex"])
release.add_table(["education", "sex"])
release.add_table(["race", "education"], protect=Suppress(10))
hidden = release.leakage().recovered
for cell in [each for each in hidden if each.kind == "exact"][:5]:
    print(f"{cell.cell}: {cell.low}, hidden as {cell.shown_low} to {cell.shown_high}")

# %%
# If the frequencies in the table are taken as the population, an attack on all published counts
# raises the lower bound: the advantage of this attack is computed, so the largest leakage is at
# least this advantage. The example publishes all one- and two-way margins of five columns, and
# computes the attack for the 300 riskiest cells.

margins = Release({name: load_adult().columns[name][:5000] for name in COLUMNS})
for number in (1, 2):
    for chosen in itertools.combinations(COLUMNS, number):
        margins.add_table(list(chosen))
plain, attacked = (margins.leakage(attacks=cells).plug_in for cells in (0, 300))
raised = np.flatnonzero(attacked.low > plain.low)
raised = raised[np.argsort(-plain.value[raised])]
figure, axes = plt.subplots(figsize=(7, 4.5))
axes.plot(plain.high[raised], ".", label="upper bound: all cells", color="tab:red", ms=4)
axes.plot(plain.value[raised], "-", label="limit (asymptotic)", color="black", lw=1)
axes.plot(attacked.low[raised], ".", label="attack (certified)", color="tab:blue", ms=4)
axes.plot(plain.low[raised], ".", label="best single count (certified)", color="tab:gray", ms=4)
axes.set(xlabel="cells, the riskiest first", ylabel="leakage", ylim=0)
axes.set_title("All margins of five columns, 5,000 rows of Adult")
axes.legend()
figure.tight_layout()
width = (plain.high - plain.low)[raised].mean(), (attacked.high - attacked.low)[raised].mean()
print(f"mean width of the bounds: {width[0]:.3f}, with the attack {width[1]:.3f}")
