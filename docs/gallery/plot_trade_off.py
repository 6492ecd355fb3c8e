"""
Reading a trade-off curve
=========================

A trade-off curve states the power of the best attacker (the share of members recognised) at each
false-positive rate (fpr). Curves that look alike on linear axes can differ by orders of magnitude
at small false-positive rates, which matter most.
"""

import matplotlib.pyplot as plt

from mialeak import GaussianTradeOff, SubsampledTradeOff
from mialeak.plotting import TradeOffDisplay

# %%
# Two releases have nearly the same advantage. The first is a mean of all rows. The second is a
# mean of a random tenth of the rows, in which a sampled row has a large leakage score.

everyone = GaussianTradeOff(0.25)
tenth = SubsampledTradeOff(GaussianTradeOff(4.0), 0.1)
print(f"advantage {everyone.advantage:.3f} and {tenth.advantage:.3f}")
print(f"power at fpr 1e-4: {everyone.power(1e-4):.5f} and {tenth.power(1e-4):.5f}")

# %%
# The advantage does not show how the releases differ, but the logarithmic axes on the right do: in
# the second release a sampled row is recognised with almost no false positives.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5))
for axes, scale in ((left, "linear"), (right, "log")):
    TradeOffDisplay.from_tradeoff(everyone, ax=axes, name="all rows", scale=scale)
    TradeOffDisplay.from_tradeoff(tenth, ax=axes, name="a tenth of the rows", scale=scale)
figure.tight_layout()
