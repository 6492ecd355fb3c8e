"""
Which rows does a published regression give away?
=================================================

A table of regression coefficients is a release like any other: it moves with every row behind it.
For many rows it is the mean of the rows' influence functions, and leaks what that mean leaks. The
data are the 442 diabetes patients that ship with scikit-learn: the progress of their disease after
a year, and ten measurements.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import erf
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from mialeak import influence_of
from mialeak.estimators import InfluenceFunctions
from mialeak.plotting import TradeOffDisplay

patients = load_diabetes(scaled=False)
X, y = patients.data, patients.target
fitted = LinearRegression().fit(X, y)
rows = influence_of(fitted, X, y)
scores = rows.leakage_scores()
advantages = erf(np.sqrt(scores / 8.0))

# %%
# A score averages d/n, here 11/442. The patients differ: a few are found with an advantage several
# times that of the typical patient.

typical, riskiest = np.median(advantages), int(np.argmax(scores))
print(f"mean score {scores.mean():.4f}, d/n = {rows.theta.size / rows.n:.4f}")
print(f"advantage: median {typical:.3f}, largest {advantages[riskiest]:.3f} (row {riskiest})")
print(f"rows above 0.15: {np.sum(advantages > 0.15)} of {rows.n}")

# %%
# A row leaks by two things together: how unusual its measurements are (its leverage), and how far
# it is from what the others predict (its residual, had it been left out). Neither an unusual
# patient who fares as predicted nor a usual one who does not is as exposed as those who are both.

leverage = 1.0 - 1.0 / rows.left_out
residual = (y - fitted.predict(X)) * rows.left_out
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
left.plot(np.sort(advantages)[::-1], color="tab:red")
left.axhline(erf(np.sqrt(rows.theta.size / rows.n / 8.0)), color="grey", linestyle="--")
left.set(
    xlabel="patients, most exposed first", ylabel="advantage of the best attack", ylim=(0, None)
)
left.annotate("a score of d/n", (300, erf(np.sqrt(rows.theta.size / rows.n / 8.0)) + 0.005))
points = right.scatter(leverage, np.abs(residual), c=advantages, s=14, cmap="viridis_r")
right.set(xlabel="leverage", ylabel="distance from the others' prediction", xscale="log")
figure.colorbar(points, label="advantage")
figure.tight_layout()

# %%
# Is the theory, which is for many rows, right for 442? Simulate both worlds: refit to 442 of the
# other patients, drawn anew, with the exposed patient among them or not, and let the covariance
# score guess.


def fit(X, y):
    """Intercept and coefficients."""
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y)[0]


theory = rows.tradeoff(riskiest)
measured = rows.resampled_tradeoff(riskiest, fit, X, y, rounds=4000, rng=0)
print(f"advantage: theory {theory.advantage:.3f}, measured {measured.advantage:.3f}")
print(f"area under the curve: theory {theory.auc:.3f}, measured {measured.auc:.3f}")

figure, axes = plt.subplots(figsize=(5.5, 5))
TradeOffDisplay.from_tradeoff(theory, ax=axes, name="theory, many rows", scale="linear")
TradeOffDisplay.from_tradeoff(measured, ax=axes, name="4000 refits in each world", scale="linear")
figure.tight_layout()

# %%
# Publishing less helps. A paper about the body-mass index may print that coefficient alone,
# adjusted for the rest: its influence functions are one column of those above. Noise helps too:
# here of half a standard error in each coefficient.

bmi = 1 + patients.feature_names.index("bmi")
alone = InfluenceFunctions(rows.theta[[bmi]], rows.influence[:, [bmi]], rows.left_out)
noise = np.diag(rows.covariance) / rows.n / 4.0
for name, found in {
    "all coefficients": scores,
    "with noise": rows.leakage_scores(release_noise_cov=noise),
    "that of the bmi alone": alone.leakage_scores(),
}.items():
    curve = erf(np.sqrt(found / 8.0))
    print(f"{name:22s} median {np.median(curve):.3f}, largest {curve.max():.3f}")
