"""Wrong inputs of the shell on audits, of several trainings, runs or parts of the data."""

from __future__ import annotations

import random

from wrong_inputs import Shell, csv

#: Different scores in no order; runs of three scores each, and scores that are alike in a run.
MANY = [0.01 * (k * 37 % 61) + 0.001 * (k * k % 7) for k in range(60)]
ORDER = random.Random(5).sample(range(60), 60)
RUNS = [k // 3 for k in ORDER]
ALIKE = [
    [run + 0.3 * (k**power % 11) + 0.001 * k for k, run in enumerate(RUNS)] for power in (2, 3)
]
TRAININGS = [
    *(
        Shell(
            f"the two settings of a sweep, in a column called {name}",
            f"audit in.csv out.csv --score score{gate}",
            [f"in.csv must have the scores of one training; {name!r} has 2 values", "rows of one"],
            {
                path: csv(["run", name, "score"], range(60), [values[k % 2] for k in range(60)], to)
                for path, to in (("in.csv", MANY), ("out.csv", MANY[::-1]))
            },
        )
        for name, values, gate in (
            ("noise_multiplier", (0, 1.1), " --claimed-epsilon 2"),
            ("target_epsilon", (2, "inf"), ""),
            ("learningRate", (0.1, 0.01), " --max-epsilon 1"),
            ("epoch", (1, 10), ""),
            ("model", ("dp", "nodp"), ""),
            ("dataset", ("mnist", "cifar"), ""),
        )
    ),
    *(
        Shell(
            f"canaries of trainings with two values of {name}",
            f"audit c.csv --one-run --member member --score score{gate}",
            ["c.csv must have the scores of one training", f"{name!r} has 2 values ({shown})"],
            {
                "c.csv": csv(
                    [name, "member", "score"],
                    [values[k % 3 % 2] for k in range(60)],
                    [k * k % 7 % 2 for k in range(60)],
                    MANY,
                )
            },
        )
        for name, values, shown, gate in (
            ("sigma", (0, 1.1), "0, 1.1", " --claimed-epsilon 2"),
            ("use_dp", ("True", "False"), "False, True", ""),
            ("epoch", (1, 10), "1, 10", ""),
        )
    ),
    *(
        Shell(
            f"canaries of two trainings, by a column called {name}",
            "audit c.csv --one-run --member member --score score --max-epsilon 1",
            [f"{name!r} has 2 values", "(dp, nodp)", "several trainings", "keep the rows of one"],
            {
                "c.csv": csv(
                    [name, "member", "score"],
                    [("dp", "nodp")[k % 3 % 2] for k in range(60)],
                    [k * k % 7 % 2 for k in range(60)],
                    MANY,
                )
            },
            cautioned=True,
        )
        for name in ("model", "config")
    ),
    *(
        Shell(
            f"IN of runs with another {name} than OUT",
            "audit in.csv out.csv --score score --max-epsilon 1",
            ["must be runs of one training", f"{name!r} is {a} in the first and {b} in the second"],
            {
                "in.csv": csv([name, "score"], [a] * 60, MANY),
                "out.csv": csv([name, "score"], [b] * 60, MANY[::-1]),
            },
        )
        for name, a, b in (
            ("epsilon", 2, "inf"),
            ("noise_multiplier", 1.1, 0),
            ("optimizer", "sgd", "adam"),
        )
    ),
    *(
        Shell(
            f"three canaries of each of 20 runs, in a column called {name}",
            "audit in.csv out.csv --score score --max-epsilon 1",
            ["in.csv must have one score for each run", f"60 rows have 20 values of {name!r}"],
            {
                f"{path}.csv": csv([name, "score"], RUNS, scores)
                for path, scores in zip(("in", "out"), ALIKE, strict=True)
            },
        )
        for name in ("run_id", "model", "wandb_job")
    ),
    Shell(
        "a canary in and one out of each model, scores centred by the model",
        "audit in.csv out.csv --score score --max-epsilon 1",
        ["in.csv must be of other runs than", "60 scores of either have the same 'seed'", "half"],
        {
            "in.csv": csv(["seed", "score"], range(60), MANY),
            "out.csv": csv(["seed", "score"], range(60), [-x + 0.1 * (x % 1) for x in MANY]),
        },
    ),
    Shell(
        "training rows and test rows, by a column that names the part",
        "audit in.csv out.csv --score score",
        ["must be scores of separate runs; by their names they are of training and of test rows"],
        {
            "in.csv": csv(["split", "score"], ["train"] * 60, MANY),
            "out.csv": csv(["split", "score"], ["test"] * 60, MANY[::-1]),
        },
    ),
    *(
        Shell(
            f"scores and flags of canaries in two files, {what}",
            "audit s.csv m.csv --one-run",
            words,
            {
                "s.csv": csv([first, "score"], range(60), MANY),
                "m.csv": csv([second, "member"], names, [k * k % 7 % 2 for k in range(60)]),
            },
        )
        for what, first, second, names, words in (
            ("of other names", "id", "canary", range(60), ["or a column that names each row in"]),
            (
                "some of them twice",
                "id",
                "id",
                [0, *range(59)],
                ["of 'id' some values repeat. Merge them into one file"],
            ),
            ("of other rows", "id", "id", range(5, 65), ["m.csv must have the rows of s.csv; 5"]),
        )
    ),
    Shell(
        "pairs of a member and another, in random order",
        "audit c.csv --one-run --member member --score score --max-epsilon 1",
        ["c.csv must have a coin for each canary; each of the 30 values of 'pair'", "the first"],
        {
            "c.csv": csv(
                ["pair", "member", "score"],
                [k // 2 for k in ORDER],
                [(k + k // 2 % 5 // 2) % 2 for k in ORDER],
                MANY,
            )
        },
    ),
    Shell(
        "rows of training and test data beside the canaries",
        "audit c.csv --one-run --member member --score score --claimed-epsilon 1",
        ["c.csv must hold canaries alone; 'kind' is test or train in 40 of its 60 rows"],
        {
            "c.csv": csv(
                ["kind", "member", "score"],
                ["train", "test", "canary"] * 20,
                [k * k % 7 % 2 for k in range(60)],
                MANY,
            )
        },
    ),
    Shell(
        "members that are training rows, and others that are test rows",
        "audit c.csv --one-run --member member --score score --max-epsilon 1",
        ["By 'split' of c.csv members and others are rows of train and test"],
        {
            "c.csv": csv(
                ["split", "member", "score"],
                [("test", "train")[k * k % 7 % 2] for k in range(60)],
                [k * k % 7 % 2 for k in range(60)],
                MANY,
            )
        },
        cautioned=True,
    ),
]
