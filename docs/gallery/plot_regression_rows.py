"""
Which rows does a published regression leak?
============================================

A table of regression coefficients is a release: every row of the data changes the coefficients.
For many rows the coefficients are the mean of the rows' influence functions, and leak as much as
this mean. The data are the 442 diabetes patients in scikit-learn: the progress of their disease
after a year, and ten measurements.
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
# The average leakage score is d/n = 11/442. The patients differ: the largest advantage is several
# times the median.

typical, riskiest = np.median(advantages), int(np.argmax(scores))
print(f"mean score {scores.mean():.4f}, d/n = {rows.theta.size / rows.n:.4f}")
print(f"advantage: median {typical:.3f}, largest {advantages[riskiest]:.3f} (row {riskiest})")
print(f"rows above 0.15: {np.sum(advantages > 0.15)} of {rows.n}")

# %%
# Two quantities determine the leakage about a row: its leverage (how unusual the measurements are)
# and its residual in a fit to the other rows (the distance from their prediction). Rows for which
# both are large leak more than rows for which one is large.

leverage = 1.0 - 1.0 / rows.omitted
residual = (y - fitted.predict(X)) * rows.omitted
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
# The theory is a limit for many rows. Is it accurate for 442 rows? The simulation draws 442 rows
# from the other patients, with or without the riskiest patient, refits the regression, and attacks
# the coefficients with the covariance score.


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
# Publishing less lowers the leakage. A paper about the body-mass index may print only the
# coefficient of this index, adjusted for the other variables; its influence functions are one
# column of those above. Noise lowers the leakage as well; the example adds half a standard error
# to each coefficient.

bmi = 1 + patients.feature_names.index("bmi")
alone = InfluenceFunctions(rows.theta[[bmi]], rows.influence[:, [bmi]], rows.omitted)
noise = np.diag(rows.covariance) / rows.n / 4.0
for name, released in {
    "all coefficients": scores,
    "with noise": rows.leakage_scores(release_noise_cov=noise),
    "bmi coefficient alone": alone.leakage_scores(),
}.items():
    leakage = erf(np.sqrt(released / 8.0))
    print(f"{name:22s} median {np.median(leakage):.3f}, largest {leakage.max():.3f}")
