"""Wrong calls in Python; see :mod:`wrong_inputs`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from wrong_audits import DOWN, UP
from wrong_inputs import Call

from mialeak import (
    EmpiricalTradeOff,
    PiecewiseTradeOff,
    Register,
    audit,
    epsilon_for_leakage,
    estimate_max_leakage,
    exact_mean_tradeoff,
    gaussian_mean_tradeoff,
    leakage_score,
    max_leakage,
    max_leakage_bounds,
    mean_leakage,
    mean_tradeoff,
    mechanism_leakage,
    min_samples,
    noise_for_leakage,
    noise_multiplier_for_leakage,
    one_run_audit,
)
from mialeak.covariance import StreamingCovariance
from mialeak.estimators import least_squares_influence
from mialeak.games import FixedTargetGame
from mialeak.guarantees import divergence
from mialeak.laws import Bernoulli, Genotype, Lattice, Normal, Presence
from mialeak.means import gaussian_release_tradeoff, margin_leakage_scores
from mialeak.mechanisms import CellKey, Pram, coarsen
from mialeak.plotting import TradeOffDisplay
from mialeak.populations import Panel, Stratified
from mialeak.scores import (
    bernoulli_score,
    covariance_score,
    edgeworth_score,
    genotype_score,
    glir_score,
    scalar_product_score,
)
from mialeak.tables import table_leakage
from mialeak.training import LayerGradients, batch_gradient

#: Frequencies of sites and a person, in two orders.
SITES = ["rs1", "rs2", "rs3", "rs4"]
P = pd.Series([0.02, 0.4, 0.1, 0.5], SITES)
PERSON = pd.Series([1.0, 0.0, 0.0, 1.0], SITES)
OTHER_ORDER = PERSON[["rs4", "rs2", "rs3", "rs1"]]
ROWS = pd.DataFrame([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]] * 4, columns=SITES)
LAWS = [
    Bernoulli(P),
    Genotype(P),
    Presence(P),
    Normal(P, 1.0),
    Normal(P.to_numpy(), P),
    Lattice([0.0, 1.0], pd.DataFrame({"0": 1.0 - P, "1": P})),
    Bernoulli.from_data(ROWS),
    Genotype.from_data(ROWS),
    Presence.from_data(ROWS),
    Normal.from_data(ROWS),
    Lattice.from_data(ROWS),
]

#: Ages of 200 persons, some of each, and their sexes.
AGES_TO_90 = np.minimum(18 + np.arange(200) * 37 % 79 * 73 // 78, 90).tolist()
SEXES = ["m", "f"] * 100

#: Frequencies of alleles.
ALLELES = np.array([0.1, 0.35, 0.6])

#: A number that no float64 is as large as, and flags that fair coins give.
LARGE = 10**400
COINS = [0, 1, 1, 0, 1] * 4

#: Functions of a target and other arguments with names.
ORDERS = {
    "mean_tradeoff": lambda z: mean_tradeoff(z, P, P * (1 - P), 100),
    "leakage_score": lambda z: leakage_score(z, P, P * (1 - P), 100),
    "gaussian_mean_tradeoff": lambda z: gaussian_mean_tradeoff(z, P, P * (1 - P), 100),
    "gaussian_release_tradeoff": lambda z: gaussian_release_tradeoff(z, P * (1 - P)),
    "bernoulli_score": lambda z: bernoulli_score(P.to_numpy(), z, P, 100),
    "genotype_score": lambda z: genotype_score(2 * P.to_numpy(), z, P, 100),
    "covariance_score": lambda z: covariance_score(P.to_numpy(), z, P, 1.0, 100),
    "glir_score": lambda z: glir_score(P.to_numpy(), z, P, 1.0, 100),
    "scalar_product_score": lambda z: scalar_product_score(P.to_numpy(), z, P),
    "edgeworth_score": lambda z: edgeworth_score(P.to_numpy(), z, P, 1.0, 0.0, 0.0, 100),
    "release": lambda z: bernoulli_score(z.to_frame().T, PERSON, P.to_numpy(), 100),
    "estimator": lambda z: leakage_score(
        z, P.to_numpy(), StreamingCovariance(shrinkage=0.5).fit(ROWS), 9
    ),
    "game": lambda z: FixedTargetGame(z, Bernoulli(P), 100),
    "list of laws": lambda z: exact_mean_tradeoff(
        z, [Normal([0.0], [1.0]), Bernoulli(P[["rs2", "rs3", "rs4"]])], 100
    ),
}

#: Cells of two strata, and outcomes in two worlds, as ``value_counts`` lists them: by frequency.
NORTH = pd.Series({"a": 60, "b": 30, "c": 10})
SOUTH = pd.Series({"c": 40, "a": 25, "b": 5})
BEFORE, AFTER = (pd.Series(each).value_counts(normalize=True) for each in ("aaabbc", "bbbaac"))
SHOWN = pd.Series([3, 3, 3, 4, 4, 9], name="age").value_counts(normalize=True)
NOISE = pd.Series([0, 0, 0, 0, 1, 1, 1, -1, -1], name="noise").value_counts(normalize=True)
#: Probabilities with which a value becomes another, in two orders.
MOVES = pd.DataFrame([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.1, 0.2, 0.7]], [*"abc"], [*"abc"])
CELLS = pd.Series({"a": 0.2, "b": 0.5, "c": 0.3})
#: The noise of counts by key, and by count.
KEYS = {"1": [0, 1, 1, -1], "2": [-1, 1, 0, 2]}
SHIFTS = {"i": [0, 1, 1], "v": [0, 1, -1], "p": [1.0, 0.3, 0.7], "j": [0, 0, 2]}

CALLS = [
    Call(
        "differences of pairs of runs as one world, and with the other sign as the other",
        lambda: audit(np.array(UP) - DOWN[::-1], np.array(DOWN[::-1]) - UP),
        ["out_scores must be draws of their own; they are minus the scores of the other world"],
    ),
    *(
        Call(
            f"an attack with a power of 1, {title}",
            ask,
            ["attack must have a power below 1", "both as shares: 1 % is 0.01"],
        )
        for title, ask in (
            ("for epsilon", lambda: epsilon_for_leakage(attack=(0.1, 1))),
            ("for several releases", lambda: epsilon_for_leakage(attack=(0.0, 1), steps=3)),
            ("for noise", lambda: noise_multiplier_for_leakage(attack=(0.1, 1))),
        )
    ),
    *(
        Call(
            f"the cells of strata that are added up, in two orders, {title}",
            lambda ask=ask, strata=strata, drawn=drawn: ask(
                Stratified(strata, published=False, **drawn)
            ),
            ["registers[1] must have the cells of registers[0] in their order", "reindex"],
        )
        for title, ask, strata, drawn in (
            ("with rates", max_leakage, [Register(NORTH, rate=0.1), Register(SOUTH, rate=0.4)], {}),
            ("of fixed sizes", max_leakage_bounds, [NORTH, SOUTH], {"n": [9, 9]}),
            (
                "of which one lacks a cell",
                max_leakage_bounds,
                [NORTH, SOUTH.rename({"c": "d"})],
                {"n": [9, 9]},
            ),
        )
    ),
    Call(
        "a prior in another order than the panel",
        lambda: max_leakage(Panel(NORTH, prior=SOUTH / 10), 50),
        ["prior must have the cells of counts in their order, where 'a' is at 0"],
    ),
    *(
        Call(
            f"{title}, by frequency in each world",
            lambda call=call, laws=laws: call(*laws),
            ["p_in must have the outcomes of p_out in their order", "0 where it lacks one"],
        )
        for title, call, laws in (
            ("outcomes of a divergence", divergence, (BEFORE, AFTER)),
            ("outcomes of a curve", PiecewiseTradeOff.from_laws, (BEFORE, AFTER)),
            ("others in each world", divergence, (SHOWN, SHOWN.rename({9: 5}))),
        )
    ),
    Call(
        "noise by its frequency",
        lambda: PiecewiseTradeOff.from_noise(NOISE),
        ["p must list consecutive integers in their order; index -1 follows 1", "sort_index()"],
    ),
    Call(
        "noise that skips a number",
        lambda: PiecewiseTradeOff.from_noise(NOISE.drop(0).sort_index() / NOISE.drop(0).sum()),
        ["index 1 follows -1", "reindex(range(-1, 2), fill_value=0)"],
    ),
    Call(
        "ages by their frequency, of which neighbours are merged",
        lambda: coarsen(
            pd.Series([30, 30, 30, 20, 20, 25]).value_counts(normalize=True), 9, 0.2, ordered=True
        ),
        ["p must list atoms in their order; index 20 follows 30", "p.sort_index()"],
    ),
    *(
        Call(
            f"a matrix of post-randomisation {title}",
            call,
            says,
        )
        for title, call, says in (
            (
                "with its columns in another order",
                lambda: mechanism_leakage(Pram(MOVES[[*"bac"]]), CELLS, 10),
                ["matrix must have rows in the order of its columns"],
            ),
            (
                "in another order than the law",
                lambda: mechanism_leakage(Pram(MOVES), CELLS[[*"cab"]], 10),
                ["p must have the cells of mechanism in their order, where 'a' is at 0"],
            ),
            (
                "in another order than the law, for each cell",
                lambda: Pram(MOVES).atom_leakage(CELLS[[*"cab"]], 10),
                ["p must have the cells of matrix in their order, where 'a' is at 0"],
            ),
            (
                "in another order than the names of its cells",
                lambda: Pram(MOVES, by=[*"cab"]),
                ["by must have the order of the columns of matrix, where 'a' is at 0"],
            ),
        )
    ),
    *(
        Call(f"a ptable {title}", lambda ptable=ptable: CellKey(ptable), says)
        for title, ptable, says in (
            (
                "of which pandas numbered the columns",
                pd.DataFrame(np.column_stack([*KEYS.values()])),
                ["columns named by the counts, from 1 on; that named 0 has noise below 0"],
            ),
            (
                "with noise of the other sign than the counts shown",
                SHIFTS,
                ["ptable['v'] must hold the noise, shown count less count, which is -1 here"],
            ),
        )
    ),
    Call(
        "counts in place of probabilities",
        lambda: max_leakage([30, 20, 50], 100),
        ["probabilities between 0 and 1"],
    ),
    Call(
        "per cent in place of probabilities",
        lambda: min_samples([50.0, 30.0, 20.0], 0.01),
        ["probabilities between 0 and 1"],
    ),
    Call(
        "probabilities in place of counts",
        lambda: estimate_max_leakage([0.5, 0.3, 0.2]),
        ["integers"],
    ),
    Call(
        "scores and flags in place of the scores of two worlds",
        lambda: EmpiricalTradeOff(UP, [0, 1] * 10),
        ["out_scores must be scores", "pass scores[flags == 1] and scores[flags == 0]"],
    ),
    Call(
        "scores of members and of others, exchanged",
        lambda: EmpiricalTradeOff(DOWN * 10, UP * 10),
        ["in_scores must be the larger scores; the area of", "Exchange the arguments"],
    ),
    Call(
        "scores of members and of others, exchanged, in a picture",
        lambda: TradeOffDisplay.from_scores(DOWN * 10, UP * 10),
        ["in_scores must be the larger scores", "allow_reversed=True"],
    ),
    Call(
        "flags and scores, exchanged",
        lambda: EmpiricalTradeOff([0, 1] * 10, UP),
        ["in_scores must be scores"],
    ),
    Call(
        "scores of shadow models by examples, as LiRA has them",
        lambda: audit([UP, UP], [DOWN, DOWN]),
        ["in_scores must have one score for each run; its shape is (2, 20)", "one example a model"],
    ),
    Call(
        "scores of the steps of one training with the target and one without",
        lambda: audit(np.sin(np.arange(60) / 9.0), np.cos(np.arange(60) / 9.0)),
        ["in_scores must be independent; its neighbours are alike", "one score for each run"],
    ),
    Call(
        "several scores of each canary, for augmentations or seeds",
        lambda: one_run_audit(range(84), [0, 1, 1, 0] * 21, allow_reversed=True),
        ["84 flags repeat 4", "pass one score a canary"],
    ),
    Call(
        "parameters that were not copied before the step",
        lambda: batch_gradient(UP, UP, 0.1),
        ["theta_after must differ from theta_before", "Copy the parameters before the step"],
    ),
    *(
        Call(
            f"a target in another order than the columns of {name}",
            lambda call=call: call(OTHER_ORDER),
            ["in their order", "reorder them"],
        )
        for name, call in ORDERS.items()
    ),
    *(
        Call(
            f"a target in another order than those of law {place}, {type(law).__name__}",
            lambda law=law: exact_mean_tradeoff(OTHER_ORDER, law, 100),
            ["target must have the columns of marginals in their order", "'rs1' is at 0"],
        )
        for place, law in enumerate(LAWS)
    ),
    Call(
        "frequencies that were sorted, beside a target that was not",
        lambda: mean_tradeoff(
            PERSON.reset_index(drop=True), P.reset_index(drop=True).sort_values(), 0.2, 100
        ),
        ["target must have the columns of mean in their order", "reorder them"],
    ),
    Call(
        "a covariance of which the columns alone were reordered",
        lambda: mean_tradeoff(PERSON, P, ROWS.cov()[["rs2", "rs1", "rs3", "rs4"]], 100),
        ["cov must have rows in the order of its columns", "cov.loc[cov.columns]"],
    ),
    *(
        Call(
            f"a column of numbers of size {size:g}",
            lambda size=size: mean_leakage({"a": [size * k for k in UP], "b": UP}),
            ["column 'a' must", says, "by a power of ten"],
        )
        for size, says in (
            (1e300, "hold numbers of at most 1e+150 in size; got column 'a'[19] = "),
            (1e-160, "have rows that differ by at least 1e-150, or agree"),
            (1e-310, "have rows that differ by at least 1e-150, or agree"),
        )
    ),
    *(
        Call(
            f"noise for a deviation of {size:g}",
            lambda size=size: noise_for_leakage(
                [size, 0.0], [0.0, 0.0], np.array([size, size]) ** 2, 10, 0.1
            ),
            says,
        )
        for size, says in (
            (1e-170, ["target must be 1e-140 to 1e+150 from mean", "multiply"]),
            (1e-310, ["target must be 1e-140 to 1e+150 from mean", "multiply"]),
            (1e152, ["target must be 1e-140 to 1e+150 from mean", "multiply"]),
        )
    ),
    *(
        Call(
            f"a whole number above all floats, {title}",
            call,
            says,
        )
        for title, call, says in (
            (
                "in a target",
                lambda: leakage_score([0, LARGE], [0, 0], 1.0, 5),
                ["target[1] = 1000"],
            ),
            ("among sizes", lambda: max_leakage([0.5, 0.5], [3, LARGE]), ["n[1] = 1000"]),
            ("among counts", lambda: estimate_max_leakage([LARGE, 3]), ["counts[0] = 1000"]),
            ("in a table", lambda: mean_leakage({"a": [1, LARGE, 3]}), ["finite", "'a'[1] = inf"]),
            (
                "beside floats",
                lambda: mean_leakage({"a": [1, 2, 3, LARGE, 0.5]}),
                ["finite", "'a'[3] = inf"],
            ),
            ("as scores", lambda: audit([3, LARGE], [1.0, 2.0]), ["in_scores[1] = 1000"]),
        )
    ),
    *(
        Call(
            f"{value!r} for {name}, of call {place}",
            lambda name=name, call=call, value=value: call(**{name: value}),
            [f"{name} must be True or False; got {name} = {value!r}"],
        )
        for place, (name, value, call) in enumerate(
            (
                ("higher_is_member", "lower", lambda **o: audit(UP, DOWN, **o)),
                ("allow_reversed", "no", lambda **o: audit(UP, DOWN, **o)),
                ("higher_is_member", "no", lambda **o: one_run_audit(UP, COINS, **o)),
                ("allow_reversed", 0, lambda **o: one_run_audit(UP, COINS, **o)),
                ("exact", "no", lambda **o: mean_leakage({"a": UP}, **o)),
                (
                    "proportional",
                    "no",
                    lambda **o: noise_for_leakage([1.0], [0.0], 1.0, 9, 0.1, **o),
                ),
                ("leave_one_out", "no", lambda **o: margin_leakage_scores([[0], [1]], [[0]], **o)),
                (
                    "terms",
                    "no",
                    lambda **o: edgeworth_score([1.0], [1.0], 0.0, 1.0, 0.0, 0.0, 9, **o),
                ),
                ("bias", "no", lambda **o: LayerGradients([[1.0]], [[1.0]], **o)),
                ("fit_intercept", "no", lambda **o: least_squares_influence(ROWS, UP, **o)),
                ("ordered", "no", lambda **o: coarsen([0.5, 0.5], 9, 0.1, **o)),
            )
        )
    ),
    *(
        Call(
            f"so many rows that the counts of {title} cannot be listed",
            lambda law=law, n=n: exact_mean_tradeoff(np.rint(law.mean), law, n),
            [f"not available for {n:,} rows", "mean_tradeoff is the limit for many rows"],
        )
        for title, law, n in (
            ("one column", Bernoulli([0.3]), 10**10),
            ("thirty columns", Bernoulli(np.linspace(0.1, 0.9, 30)), 10**10),
            ("genotypes", Genotype(np.linspace(0.1, 0.9, 300)), 10**12),
        )
    ),
    Call(
        "every second example put in, with no coin",
        lambda: one_run_audit(UP * 2, [0, 1] * 20),
        ["member must come of fair coins", "alternate: 39 of 39 neighbours differ", "no coins"],
    ),
    Call(
        "members and others of two models, joined in blocks",
        lambda: one_run_audit(np.sin(np.arange(100.0)), ([1] * 25 + [0] * 25) * 2),
        ["member must come of fair coins", "stand together: 3 of 99 neighbours differ"],
    ),
    Call(
        "scores of members and of others, each sorted, interleaved",
        lambda: one_run_audit(np.sort([*UP, *DOWN]), [0, 1] * 20),
        ["member must come of fair coins", "alternate"],
    ),
    *(
        Call(
            f"{code} for a missing value {title}, in {function.__name__}",
            lambda function=function, values=values: function({"x": values, "sex": SEXES}),
            [f"{code} is counted as a value like any other", "rows of column 'x'"],
            cautioned=True,
        )
        for function in (table_leakage, mean_leakage)
        for title, code, values in (
            ("among ages up to 90", 99, [*AGES_TO_90[:-3], 99, 99, 99]),
            (
                "among incomes in thousands",
                999,
                [*(10 * age for age in AGES_TO_90[:-4]), *[999] * 4],
            ),
            ("among incomes", 999, [*(1000 * age for age in AGES_TO_90[:-4]), *[999] * 4]),
            ("beside 0 and 1", -1, [*(age % 2 for age in AGES_TO_90[:-5]), *[-1] * 5]),
        )
    ),
    *(
        Call(
            f"{title}, in {function.__name__}",
            lambda function=function, moments=moments, more=more: function(
                *more, [2.0, 0.0, 1.0], *moments, 100
            ),
            [f"{name} must be that of the genotypes 0, 1 and 2", "mean=2 * p, cov=2 * p * (1 - p)"],
        )
        for function, more in (
            (mean_tradeoff, ()),
            (leakage_score, ()),
            (gaussian_mean_tradeoff, ()),
            (covariance_score, ([0.2, 0.7, 1.1],)),
        )
        for title, name, moments in (
            ("the variance of an allele", "cov", (2 * ALLELES, ALLELES * (1 - ALLELES))),
            ("the mean of an allele", "mean", (ALLELES, 2 * ALLELES * (1 - ALLELES))),
            ("both of an allele", "mean", (ALLELES.tolist(), ALLELES * (1 - ALLELES))),
        )
    ),
]
