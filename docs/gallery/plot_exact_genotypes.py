"""
People in published allele frequencies
======================================

The 503 Europeans of the 1000 Genomes data stand for the law of an endless population. Cohorts of
251 rows are drawn from it, *with replacement*, so that one person may occur twice: that is the
question of ``exact_mean_tradeoff``, whose rows are independent. (The sum of a cohort drawn without
replacement from 503 people has half the variance, and leaks more; this page does not treat it.) One
person is in the cohort or not, and the frequencies of 127 SNPs are published. What is the leakage
about that person? ``exact_mean_tradeoff`` computes it for independent SNPs. The attack itself, run
on 3000 cohorts in each world, shows how good that model is for Europeans, and how bad for people of
five continents pooled.
"""

import matplotlib.pyplot as plt
import numpy as np

from mialeak import exact_mean_tradeoff
from mialeak.datasets import load_genotypes
from mialeak.laws import Genotype
from mialeak.scores import genotype_score

data = load_genotypes()
people = data.columns["superpopulation"]
rng = np.random.default_rng(0)


def advantages(counts, cohorts=3000, targets=40):
    """Advantages about `targets` people: exact for the model, and measured for the attack.

    Cohorts of half as many rows as there are people are drawn from these with replacement.
    """
    everyone = len(counts)
    n = everyone // 2
    p = counts.mean(axis=0) / 2.0
    law = Genotype(p)
    shares = np.full(everyone, 1.0 / everyone)
    out = rng.multinomial(n, shares, cohorts) @ counts
    others = rng.multinomial(n - 1, shares, cohorts) @ counts
    chosen = rng.choice(everyone, targets, replace=False)
    model, attack = np.empty(targets), np.empty(targets)
    for k, person in enumerate(counts[chosen]):
        model[k] = exact_mean_tradeoff(person, law, n).advantage
        with_person, without = (
            genotype_score(total / n, person, p, n) for total in (others + person, out)
        )
        attack[k] = (with_person > 0.0).mean() - (without > 0.0).mean()
    return model, attack


european = data.counts[people == "EUR"].astype(float)
one = advantages(european)
pooled = advantages(data.counts.astype(float))
for name, (model, attack) in (("EUR", one), ("all", pooled)):
    agreement = np.corrcoef(model, attack)[0, 1]
    means = f"exact for the model {model.mean():.3f}, attack {attack.mean():.3f}"
    print(f"{name}: {means}, correlation {agreement:.2f}")

# %%
# The model takes SNPs as independent, and the two copies at each SNP (Hardy-Weinberg). The
# simulation draws whole people, in whom SNPs depend on one another. Within Europe that dependence
# is weak. Pooled, every SNP carries information about the continent: the likelihood ratio of the
# independent model counts the same evidence repeatedly, and 0 is not a good threshold for it.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5))
for axis, title, (model, attack) in zip(
    axes, ("503 Europeans", "2,504 people of five continents"), (one, pooled), strict=True
):
    axis.plot(model, attack, "o", ms=4)
    top = max(model.max(), attack.max()) * 1.05
    axis.plot([0, top], [0, top], color="0.7")
    axis.set(title=title, xlabel="advantage, exact for the model", ylabel="advantage of the attack")
figure.tight_layout()
