"""
People in published allele frequencies
======================================

The 503 Europeans of the 1000 Genomes data are taken for a population. Cohorts of half that number
are drawn from it, with one person in them or not, and the frequencies of 127 SNPs in the cohort are
published. How exposed is that person? ``exact_mean_tradeoff`` answers for independent SNPs. The
attack itself, run on many cohorts, says how nearly that holds; and how far from it people of five
continents, pooled, are.
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


def exposed(counts, cohorts=3000, some=40):
    """Advantage of `some` people: exact for the model, and that of the attack on cohorts.

    The people are the population: cohorts of half their number are drawn with replacement.
    """
    everyone = len(counts)
    n = everyone // 2
    p = counts.mean(axis=0) / 2.0
    law = Genotype(p)
    shares = np.full(everyone, 1.0 / everyone)
    out = rng.multinomial(n, shares, cohorts) @ counts
    rest = rng.multinomial(n - 1, shares, cohorts) @ counts
    chosen = rng.choice(everyone, some, replace=False)
    model, attack = np.empty(some), np.empty(some)
    for k, person in enumerate(counts[chosen]):
        model[k] = exact_mean_tradeoff(person, law, n).advantage
        with_person, without = (
            genotype_score(total / n, person, p, n) for total in (rest + person, out)
        )
        attack[k] = (with_person > 0.0).mean() - (without > 0.0).mean()
    return model, attack


european = data.counts[people == "EUR"].astype(float)
one = exposed(european)
pooled = exposed(data.counts.astype(float))
for name, (model, attack) in (("EUR", one), ("all", pooled)):
    agreement = np.corrcoef(model, attack)[0, 1]
    means = f"exact for the model {model.mean():.3f}, attack {attack.mean():.3f}"
    print(f"{name}: {means}, correlation {agreement:.2f}")

# %%
# The only thing that the model has wrong is that SNPs depend on one another. Within Europe that is
# little. Pooled, all SNPs tell the continent: the likelihood ratio of the independent model counts
# the same evidence many times, and its zero is not a good threshold.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5))
for axis, title, (model, attack) in zip(
    axes, ("503 Europeans", "2,504 people of five continents"), (one, pooled), strict=True
):
    axis.plot(model, attack, "o", ms=4)
    top = max(model.max(), attack.max()) * 1.05
    axis.plot([0, top], [0, top], color="0.7")
    axis.set(title=title, xlabel="advantage, exact for the model", ylabel="advantage of the attack")
figure.tight_layout()
