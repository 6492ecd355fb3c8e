"""
People in published allele frequencies
======================================

A cohort of 251 people is drawn from the 503 Europeans of the 1000 Genomes data, without
replacement, and the cohort's frequencies of 127 SNPs are published. The attacker knows the
genotypes of all 503 people. What is the leakage about one of these people? A cohort that is half
of its population leaks more than the same number of rows of an infinite population, because the
variance of its frequencies is half as large. ``mean_tradeoff`` accounts for this with
``population_size``; ``exact_mean_tradeoff`` is for rows of an infinite population. A simulation of
the attack on 6000 cohorts measures the accuracy of both functions, for Europeans and for the
pooled people of five continents.
"""

import matplotlib.pyplot as plt
import numpy as np

from mialeak import exact_mean_tradeoff, mean_tradeoff
from mialeak.datasets import load_genotypes
from mialeak.laws import Genotype

data = load_genotypes()
people = data.columns["superpopulation"]
rng = np.random.default_rng(0)


def advantages(counts, cohorts=6000, targets=40):
    """Advantages about `targets` people: of two models, and measured for the attack.

    Half of the people are drawn into each cohort. Those cohorts in which a target is are the world
    "in" of that target, the others the world "out".
    """
    everyone = len(counts)
    n = everyone // 2
    order = np.argsort(rng.random((cohorts, everyone), dtype=np.float32), axis=1)
    member = np.zeros((cohorts, everyone), dtype=bool)
    np.put_along_axis(member, order[:, :n], True, axis=1)
    means = member.astype(float) @ counts / n
    chosen = rng.choice(everyone, targets, replace=False)
    finite, infinite, attack = np.empty((3, targets))
    for k, person in enumerate(chosen):
        others = np.delete(counts, person, axis=0)
        mean, cov = others.mean(axis=0), np.cov(others.T)
        target = counts[person]
        finite[k] = mean_tradeoff(target, mean, cov, n, population_size=everyone).advantage
        infinite[k] = exact_mean_tradeoff(target, Genotype(mean / 2.0), n).advantage
        weights = np.linalg.solve(cov, target - mean)
        guess = (means - mean) @ weights > (target - mean) @ weights / (2.0 * n)
        inside = member[:, person]
        attack[k] = guess[inside].mean() - guess[~inside].mean()
    return finite, infinite, attack


european = advantages(data.counts[people == "EUR"].astype(float))
pooled = advantages(data.counts.astype(float))
for name, (finite, infinite, attack) in (("EUR", european), ("all", pooled)):
    means = f"attack {attack.mean():.3f}, half of all people {finite.mean():.3f}"
    print(f"{name}: {means}, rows of an infinite population {infinite.mean():.3f}")

# %%
# The standard error of each measured advantage is at most 0.013. The model of a finite population
# agrees with the attack. The model of an infinite population is too low: it uses the variance of
# independent rows, and assumes that SNPs, and the two copies of each SNP (Hardy-Weinberg), are
# independent.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharex=True, sharey=True)
for axis, title, (finite, infinite, attack) in zip(
    axes, ("251 of 503 Europeans", "1,252 of 2,504 people"), (european, pooled), strict=True
):
    axis.plot(finite, attack, "o", ms=4, label="half of all people (asymptotic)")
    axis.plot(infinite, attack, "o", ms=4, label="independent rows and SNPs (exact)")
    axis.axline((0.0, 0.0), slope=1.0, color="0.7")
    axis.set(title=title, xlabel="advantage by the model", ylabel="advantage of the attack")
axes[0].legend()
figure.tight_layout()
