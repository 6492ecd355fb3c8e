"""
Ten outputs of the same people, two of them dangerous
=====================================================

A statistician has ten outputs of the Adult table, each harmless by itself. Do they stay harmless
together?
"""

import matplotlib.pyplot as plt

from mialeak import Release
from mialeak.datasets import load_adult
from mialeak.mechanisms import Suppress
from mialeak.plotting import LeakageDisplay


def outputs(women, limit):
    """Ten outputs: one may count women only, the last one counts the people up to an age."""
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
# The last two tables subtract to the people of age 65, of whom one is in some occupations, and the
# table of women leaves the men of the table of everybody. Such groups follow whatever the single
# counts are: no check of one table after the other reports them. The release is mended by counting
# everybody, and by one limit of age for both tables.

mended = outputs(women=False, limit=64).leakage()
print(f"{mended.n_determined} small groups follow from the mended outputs")

# %%
# Which output contributes? Each is left out once.

for cost in outputs(women=True, limit=65).contributions():
    print(f"{cost.determined:2d} groups only with {cost.output}")

# %%
# The leakage of each row is certified from both sides. It is exact for the rows whose cell is
# determined by the outputs.

figure, axes = plt.subplots(figsize=(7, 4.5))
LeakageDisplay.from_rows(report.row_leakage, ax=axes, name="as planned")
LeakageDisplay.from_rows(mended.row_leakage, ax=axes, name="mended")
axes.set_title("Ten outputs of Adult together")
figure.tight_layout()

# %%
# What Suppress(10) hides in one table can be recovered from the others.

release = Release(load_adult().columns)
release.add_table(["race", "sex"])
release.add_table(["education", "sex"])
release.add_table(["race", "education"], protect=Suppress(10))
hidden = release.leakage().recovered
for cell in [each for each in hidden if each.kind == "exact"][:5]:
    print(f"{cell.cell}: {cell.low}, hidden as {cell.shown_low} to {cell.shown_high}")
