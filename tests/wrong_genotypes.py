"""Wrong calls with genotypes and their frequencies, and with rows of people; see wrong_inputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from wrong_calls import ALLELES
from wrong_inputs import Call

from mialeak import (
    exact_mean_tradeoff,
    mean_leakage,
    mean_tradeoff,
    noise_multiplier_for_leakage,
    samples_for_leakage,
)
from mialeak.datasets import load_genotypes
from mialeak.estimators import least_squares_influence, quantile_influence
from mialeak.games import FixedTargetGame
from mialeak.laws import Bernoulli, Genotype, Lattice
from mialeak.scores import (
    bernoulli_score,
    covariance_score,
    edgeworth_score,
    genotype_score,
    glir_score,
)

#: Counts of an allele of 2,504 people, one of them, and the moments of the counts.
GENOTYPES = load_genotypes().counts.astype(float)
SOMEONE = GENOTYPES[7]
MOMENTS = GENOTYPES.mean(axis=0), GENOTYPES.var(axis=0, ddof=1)
COVARIANCE = np.cov(GENOTYPES.T)
CARRIES = (GENOTYPES > 0.0).astype(float)
CARRIER_LAW = Bernoulli(CARRIES.mean(axis=0))
LACKING = np.where(np.arange(SOMEONE.size) % 25 == 3, -9.0, SOMEONE)
HALVES = MOMENTS[0] / 2, MOMENTS[1] / 4
#: The two alleles of 300 persons at each of 20 sites, side by side; their sums; and places.
STRANDS = np.random.default_rng(2).binomial(
    1, np.repeat(np.random.default_rng(3).uniform(0.1, 0.9, 20), 2), (300, 40)
)
BRED = STRANDS[:, ::2] + STRANDS[:, 1::2]
SITES = np.random.default_rng(5).uniform(0.01, 0.5, 600)
UNREAD = np.random.default_rng(4).random((300, 40)) < 0.02
#: Heights, weights, and markers of 300 persons: their means and correlations.
MEASURED = np.random.default_rng(0).normal(size=(300, 4)) @ (
    np.tri(4) * [[12.0], [9.0], [0.1], [0.4]]
) + [170.0, 70.0, 0.5, 3.0]
MEASURES = MEASURED.mean(axis=0), np.corrcoef(MEASURED.T)
#: A target and moments that do not go together: name, target, mean, cov, what is said.
MIXED_UP = [
    ("standard deviations", SOMEONE, MOMENTS[0], GENOTYPES.std(axis=0), "near its square root"),
    ("correlations", SOMEONE, MOMENTS[0], np.corrcoef(GENOTYPES.T), "1 in every column"),
    ("ones for variances", SOMEONE, MOMENTS[0], np.ones(127), "1 in every column, as of stand"),
    ("frequencies and 4 p q", SOMEONE, MOMENTS[0] / 2, 2 * MOMENTS[1], "cov near 4 * p * (1 - p)"),
    ("a matrix of p * (1 - p)", SOMEONE, MOMENTS[0], COVARIANCE / 2, "near p * (1 - p)"),
    ("the covariance of halves", SOMEONE, MOMENTS[0], COVARIANCE / 4, "near a quarter of it"),
    ("frequencies", SOMEONE, MOMENTS[0] / 2, COVARIANCE, "near p, half of it, by cov"),
    ("moments of halves", SOMEONE, MOMENTS[0] / 2, MOMENTS[1] / 4, "near p * (1 - p) / 2"),
    ("per cent", SOMEONE, 50 * MOMENTS[0], 2500 * MOMENTS[1], "100 * p, in per cent"),
    ("the variance of the means", SOMEONE, MOMENTS[0], MOMENTS[1] / 500, "variance of a mean"),
    ("standard errors", SOMEONE, MOMENTS[0], (MOMENTS[1] / 500) ** 0.5, "standard error of a mean"),
    ("the variance of sums", SOMEONE, MOMENTS[0], COVARIANCE * 500, "variance of a sum"),
    (
        "p * (1 - p) beside halves",
        SOMEONE / 2,
        MOMENTS[0] / 2,
        MOMENTS[0] / 2 * (1 - MOMENTS[0] / 2),
        "p * (1 - p), that of bits",
    ),
    ("halves", SOMEONE / 2, *MOMENTS, "up to 1.7, near 2 * p. Pass 2 * target"),
    ("the variances of both alleles", SOMEONE / 2, HALVES[0], MOMENTS[1], "as of the genotypes"),
    ("the inverse of variances", SOMEONE, MOMENTS[0], 1 / MOMENTS[1], "near its inverse"),
    (
        "standard errors of frequencies",
        SOMEONE / 2,
        HALVES[0],
        (HALVES[0] * (1 - HALVES[0]) / 1000) ** 0.5,
        "in proportion to the standard deviation",
    ),
    ("per cent alone", SOMEONE, 50 * MOMENTS[0], MOMENTS[1], "100 * p, in per cent. "),
    ("logs of frequencies", SOMEONE, np.log(HALVES[0]), MOMENTS[1], "be between 0 and 2"),
    (
        "logits of frequencies",
        SOMEONE,
        np.log(HALVES[0] / (1 - HALVES[0])),
        MOMENTS[1],
        "be between 0 and 2",
    ),
    ("the other allele", 2 - SOMEONE, *MOMENTS, "2 - target is more likely by e^144"),
    ("the other allele of all", 2 - GENOTYPES, *MOMENTS, "pass 2 - target"),
    ("the other allele in halves", 1 - SOMEONE / 2, *HALVES, "pass 1 - target"),
    ("carriers", CARRIES[7], *MOMENTS, "no entry is 2, where 25 are expected"),
    (
        "the other value of bits",
        1 - CARRIES[2],
        CARRIES.mean(axis=0),
        CARRIES.var(axis=0),
        "pass 1 - target",
    ),
    ("correlations of phenotypes", MEASURED[0], *MEASURES, "it seems to hold correlations"),
    (
        "standard deviations of bits",
        CARRIES[7],
        CARRIES.mean(axis=0),
        CARRIES.std(axis=0, ddof=1),
        "the square root of it",
    ),
    ("correlations of bits", CARRIES[7], CARRIES.mean(axis=0), np.corrcoef(CARRIES.T), "1 in eve"),
    (
        "the covariance of sums of bits",
        CARRIES[7],
        CARRIES.mean(axis=0),
        np.cov(CARRIES.T) * 500,
        "times p * (1 - p)",
    ),
    (
        "standard deviations, beside dosages",
        np.clip(SOMEONE + 0.05, 0, 2),
        MOMENTS[0],
        GENOTYPES.std(axis=0),
        "near its square root",
    ),
    (
        "a standardised target",
        (SOMEONE - MOMENTS[0]) / GENOTYPES.std(axis=0),
        *MOMENTS,
        "If target was centred or standardised",
    ),
    ("a centred target", SOMEONE - MOMENTS[0], *MOMENTS, "be a genotype, 0, 1 or 2"),
    ("-9 for a missing genotype", LACKING, *MOMENTS, "got target[3] = -9.0"),
]

#: Persons with numbers, in two columns.
TABLE = pd.DataFrame({"age": np.arange(60.0) * 37 % 61, "hours": np.arange(60.0) * 17 % 59})

#: The means of 500 of the people, and scores of such means.
FRACTION = GENOTYPES[::5][:500].mean(axis=0)
SCORES = {
    "genotype_score": lambda r: genotype_score(r, SOMEONE, MOMENTS[0] / 2, 500, decimals=3),
    "covariance_score": lambda r: covariance_score(r, SOMEONE, *MOMENTS, 500),
    "covariance_score with a matrix": lambda r: covariance_score(
        r, SOMEONE, MOMENTS[0], COVARIANCE, 500
    ),
    "glir_score": lambda r: glir_score(r, SOMEONE, *MOMENTS, 500),
    "edgeworth_score": lambda r: edgeworth_score(
        r, SOMEONE, MOMENTS[0], MOMENTS[1] ** 0.5, 0.0, 0.0, 500
    ),
}

GENETICS = [
    *(
        Call(
            f"{title} for moments of genotypes, in {function.__name__}",
            lambda function=function, moments=moments, more=more: function(*moments, *more),
            [says],
        )
        for function, more in ((mean_tradeoff, (500,)), (samples_for_leakage, (0.01,)))
        for title, *moments, says in MIXED_UP
    ),
    *(
        Call(
            f"{title} in place of means, in {name}",
            lambda score=score, releases=releases: score(releases),
            says,
        )
        for name, score in SCORES.items()
        for title, releases, says in (
            ("frequencies", FRACTION / 2, ["means in the unit of mean", "0.498 times as large"]),
            ("means of the other allele", 2 - FRACTION, ["count the same allele", "2 minus it"]),
            (
                "means of the rarer allele",
                np.minimum(FRACTION, 2 - FRACTION),
                ["count the same allele as mean", "replace releases by 2 minus them there"],
            ),
        )
    ),
    *(
        Call(f"{title}, in {name}", lambda call=call, given=given: call(*given), [says])
        for title, given, says in (
            ("the other allele", (2 - SOMEONE, Genotype(MOMENTS[0] / 2)), "pass 2 - target"),
            ("carriers", (CARRIES[7], Genotype(MOMENTS[0] / 2)), "Presence(p), the mean"),
            ("the other value", (1 - CARRIES[2], CARRIER_LAW), "pass 1 - target"),
        )
        for name, call in (
            ("exact_mean_tradeoff", lambda target, law: exact_mean_tradeoff(target, law, 500)),
            ("a law", lambda target, law: law.log_likelihood_ratio(law.mean, target, 2504)),
            (
                "a score",
                lambda target, law: (bernoulli_score if law is CARRIER_LAW else genotype_score)(
                    law.mean, target, law.p, 2504
                ),
            ),
        )
    ),
    Call(
        "chromosomes in place of persons",
        lambda: genotype_score(MOMENTS[0], SOMEONE, 0.49 * MOMENTS[0], 5008),
        ["n must count persons", "Pass the number of persons, 2504"],
    ),
    Call(
        "per cent in place of means",
        lambda: covariance_score(50 * FRACTION, SOMEONE, *MOMENTS, 500),
        ["means in the unit of mean", " times as large"],
    ),
    *(
        Call(
            f"the kurtosis of {type(law).__name__}, not in excess of 3",
            lambda law=law: edgeworth_score(
                law.mean, [1, 0, 1], law.mean, law.std, law.skewness, law.excess_kurtosis + 3, 100
            ),
            ["excess_kurtosis must be in excess of 3", "Subtract 3"],
        )
        for law in (Bernoulli(ALLELES), Genotype(ALLELES))
    ),
    Call(
        "bits in place of genotypes",
        lambda: Genotype.from_data(CARRIES),
        ["they hold no 2, where", "Bernoulli.from_data"],
    ),
    Call(
        "-9 for a missing genotype in a lattice",
        lambda: Lattice.from_data([LACKING, SOMEONE]),
        ["rows[0, 3] = -9.0", "code of a missing one"],
    ),
    Call(
        "relationships of persons in place of their genotypes",
        lambda: mean_leakage(pd.DataFrame(GENOTYPES[:40] @ GENOTYPES[:40].T)),
        ["The 40 columns are symmetric to the 40 rows"],
        cautioned=True,
    ),
    *(
        Call(
            f"two haplotypes a person, {first} and {second}",
            lambda ends=(first, second): mean_leakage(
                pd.DataFrame(np.repeat(CARRIES[:60, :20], 2, axis=0)).assign(
                    name=[f"HG{k // 2:05d}{ends[k % 2]}" for k in range(120)]
                )
            ),
            ["Column 'name' seems to name the two haplotypes of each of 60 persons"],
            cautioned=True,
        )
        for first, second in (("_1", "_2"), (".0", ".1"), ("-hap1", "-hap2"), (":mat", ":pat"))
    ),
    Call(
        "genotypes joined to themselves",
        lambda: mean_leakage(pd.DataFrame(np.tile(GENOTYPES[:500, :30], (2, 1)))),
        ["different rows occurs twice", "500 rows leak more than 1,000"],
        cautioned=True,
    ),
    *(
        Call(
            title,
            lambda table=table: mean_leakage(pd.DataFrame(table)),
            ["can be computed from the other columns", "counted twice: exclude them"],
            cautioned=True,
        )
        for title, table in (
            ("sites that occur twice", np.tile(GENOTYPES[:300, :50], (1, 2))),
            ("both alleles of a site", np.hstack([GENOTYPES[:300, :50], 2 - GENOTYPES[:300, :50]])),
            (
                "a column of bits for each genotype",
                (GENOTYPES[:300, :50, np.newaxis] == [0.0, 1.0, 2.0]).reshape(300, -1) * 1.0,
            ),
        )
    ),
    *(
        Call(
            title,
            lambda rows=rows: mean_leakage(pd.DataFrame(np.vstack(rows))),
            says,
            cautioned=True,
        )
        for title, rows, says in (
            (
                "frequencies below genotypes",
                [GENOTYPES[:300, :40], (GENOTYPES[:300, :40].mean(axis=0) / 2).round(4)],
                ["The last row is half the mean"],
            ),
            (
                "frequencies above genotypes",
                [(GENOTYPES[:300, :40].mean(axis=0) / 2).round(4), GENOTYPES[:300, :40]],
                ["The first row is half the mean"],
            ),
            (
                "counts, frequencies and persons below genotypes",
                [GENOTYPES[:300, :40]]
                + [f * GENOTYPES[:300, :40].sum(axis=0) for f in (1, 1 / 600)]
                + [np.full(40, 600.0)],
                ["Row 300 (row 0 is the first) is the sum", "Take the last 3 rows out"],
            ),
            (
                "rounded means and deviations below measures",
                [MEASURED.round(3), MEASURED.mean(axis=0).round(2), MEASURED.std(axis=0).round(2)],
                ["Row 300 (row 0 is the first) is the mean", "Take the last 2 rows out"],
            ),
            (
                "a file joined to another that has some of its persons",
                [MEASURED.round(2), MEASURED[40:90].round(2)],
                ["50 of 350 rows equal an earlier one", "take each person once"],
            ),
        )
    ),
    *(
        Call(title, lambda table=table: mean_leakage(table), says, cautioned=True)
        for title, table, says in (
            (
                "5 for a missing genotype, in more than 5 % of a column",
                {
                    str(k): np.where(np.arange(300) % (50 - 2 * k), v, 5)
                    for k, v in enumerate(BRED.T)
                },
                ["'5' is counted as a value like 0, 1 and 2", "pass missing=['5']"],
            ),
            (
                "3 for a missing genotype in 8 % of the rows of each site",
                {f"rs1{k}": np.where(np.arange(300) % 12, v, 3) for k, v in enumerate(BRED.T)},
                ["'3' is counted as a value like 0, 1 and 2", "pass missing=['3']"],
            ),
            (
                "haplotypes without names",
                {f"rs1{k}": each for k, each in enumerate(STRANDS[:, ::2].T)},
                ["hold 0 and 1 alone", "add the two of each person"],
            ),
            (
                "counts of an allele in groups",
                {f"rs1{k}": each for k, each in enumerate(BRED.reshape(30, 10, 20).sum(1).T)},
                ["seem to hold counts of an allele in groups", "mean=2*p"],
            ),
            (
                "few persons as columns, many sites as rows",
                dict(enumerate(np.random.default_rng(3).binomial(2, SITES, (30, 600)))),
                ["The 600 rows differ as sites do, and the 30 columns as persons do"],
            ),
            (
                "people of five continents as columns",
                load_genotypes().counts.T,
                ["The 127 rows differ as sites do, and the 2,504 columns as persons do"],
            ),
            (
                "two columns of bits for each site",
                {f"{k // 2}_{1 + k % 2}": each for k, each in enumerate(STRANDS.T)},
                ["Columns '0_1' and '0_2', and 19 pairs more, seem to be the two alleles"],
            ),
            (
                "the alleles of a .ped file",
                {
                    str(k): np.where(each > 0, *["AC", "GT"][k // 2 % 2])
                    for k, each in enumerate(STRANDS.T)
                },
                ["and 19 pairs more, seem to be the two alleles", "Add the two"],
            ),
            (
                "the alleles of a .ped file in numbers, 0 for none",
                {str(k): np.where(UNREAD[:, k], 0, each + 1) for k, each in enumerate(STRANDS.T)},
                ["and 19 pairs more, seem to be the two alleles", "Add the two"],
            ),
            (
                "11, 12 and 22",
                {f"s{k}": np.array([11, 12, 22])[each] for k, each in enumerate(BRED.T)},
                ["Numbers such as 22", "name two alleles"],
            ),
            (
                "1, 2 and 3 for genotypes, 0 for none",
                {f"s{k}": np.where(UNREAD[:, k], 0, each + 1) for k, each in enumerate(BRED.T)},
                ["0 is counted as a value like 1, 2 and 3", "pass missing=['0']"],
            ),
            (
                "rows called Mean and SD, of other columns",
                {
                    "patient": [f"P{k}" for k in range(60)] + ["Mean:", "SD"],
                    "hb": [10.0 + k % 7 for k in range(60)] + [13.0, 2.0],
                },
                ["The last rows are called 'SD', 'Mean:' in column 'patient'"],
            ),
            (
                "terms of a regression",
                {
                    "term": ["a", "b", "c", "d"],
                    "estimate": [0.1, 0.2, 0.4, 0.3],
                    "std.error": [0.1, 0.3, 0.2, 0.2],
                    "p.value": [0.3, 0.5, 0.05, 0.1],
                },
                ["The rows seem to be terms of a regression", "mialeak.influence_of"],
            ),
            (
                "means of groups of each age and sex",
                {
                    "age": np.repeat(["18-39", "40-59", "60+"], 2),
                    "sex": [0, 1] * 3,
                    "bmi": [25.3, 26.1, 27.2, 26.9, 27.4, 26.3],
                },
                ["Each combination of the values of column 'age', 'sex' has one row"],
            ),
            (
                "kinship of pairs",
                {
                    "ID1": [f"P{k % 7}" for k in range(20)],
                    "ID2": [f"P{k % 9}" for k in range(20)],
                    "kinship": [0.01 * k for k in range(20)],
                },
                ["The rows seem to be pairs of persons, by column 'ID1', 'ID2'"],
            ),
            (
                "expression with a row for each gene",
                {"x": [f"ENSG{k:011}" for k in range(60)], "P1": [k * k % 17 for k in range(60)]},
                ["The rows seem to be genes or probes, by column 'x'", "Transpose the table"],
            ),
            (
                "a table of survival",
                {"time": [0.0, 3.0, 6.0, 9.0], "n_risk": [90, 85, 70, 64], "s": [1, 0.9, 0.8, 0.7]},
                ["Column 'n_risk' seems to count the persons"],
            ),
            (
                "hazard ratios with intervals",
                {"HR": [1.1, 1.4, 0.8], "lower": [0.9, 1.1, 0.5], "upper": [1.3, 1.9, 1.2]},
                ["The rows seem to be terms of a regression, by column 'HR', 'lower', 'upper'"],
            ),
            (
                "99.9 for no measure",
                {"bmi": [99.9 if k % 30 == 0 else 20.0 + k % 13 / 10 for k in range(90)]},
                ["99.9 is counted as a value", "pass missing=['99.9']"],
            ),
            (
                "the first table of a paper",
                {
                    "characteristic": ["age", "male", "bmi", "hb"],
                    "treated (n=300)": [62.3, 0.51, 27.1, 13.5],
                    "control (N = 298)": [61.9, 0.49, 26.8, 13.4],
                },
                ["The rows seem to be lines of a table of groups, by column 'treated (n=300)'"],
            ),
        )
    ),
    Call(
        "sums of counts in place of means",
        lambda: mean_tradeoff(SOMEONE, 500 * MOMENTS[0], MOMENTS[1], 500),
        ["mean must be that of the genotypes 0, 1 and 2 of target; it is a sum of n rows"],
    ),
    Call(
        "a register with each person twice",
        lambda: mean_leakage(
            pd.DataFrame(GENOTYPES[:300, :40]),
            population=pd.DataFrame(np.tile(GENOTYPES[:900, :40], (2, 1))),
        ),
        ["Of population: each of 900 different rows occurs twice"],
        cautioned=True,
    ),
    Call(
        "p-values as the scores of a game",
        lambda: (
            FixedTargetGame([1.0] * 40, Bernoulli([0.3] * 40), 50)
            .play(400, score=lambda releases: np.exp(-releases.sum(axis=1)), rng=0)
            .tradeoff()
        ),
        ["in_scores must be the larger scores", "pass minus a p-value"],
    ),
    Call(
        "rows of X in another order than those of y",
        lambda: least_squares_influence(TABLE.sort_values("age"), TABLE["hours"]),
        ["y must have the rows of X in their order", "pass y.loc[X.index]"],
    ),
    Call(
        "the median of genotypes",
        lambda: quantile_influence(GENOTYPES[:, 0]),
        ["X must have a density at its quantiles", "mean_influence of indicators"],
    ),
    *(
        Call(title, lambda frame=frame: mean_leakage(frame), says, cautioned=True)
        for title, frame, says in (
            ("a last row of sums", [*TABLE.to_numpy(), TABLE.sum()], ["last row is the sum"]),
            ("a last row of means", [*TABLE.to_numpy(), TABLE.mean()], ["last row is the mean"]),
            ("a description", TABLE.describe().to_numpy(), ["8 rows", "or a summary"]),
        )
        for frame in [pd.DataFrame(np.array(frame), columns=list(TABLE))]
    ),
    *(
        Call(
            f"stacked imputations, numbered by {name}",
            lambda name=name: mean_leakage(
                pd.concat(
                    [TABLE.assign(**{name: k, "hours": TABLE["hours"] + k}) for k in range(5)]
                )
            ),
            [f"Column '{name}' seems to number imputations"],
            cautioned=True,
        )
        for name in (".imp", "_mi_m", "_Imputation_")
    ),
    Call(
        "a sampling rate in place of the number of steps",
        lambda: noise_multiplier_for_leakage(0.1, steps=0.01),
        ["steps must be whole", "got steps = 0.01"],
    ),
]
