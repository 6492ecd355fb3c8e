"""Wrong inputs of the shell on audits, for :mod:`test_wrong_inputs`."""

from __future__ import annotations

from wrong_inputs import Shell, csv
from wrong_trainings import TRAININGS

UP = [0.1 * i + 0.03 * (i % 7) for i in range(20)]
DOWN = [value - 0.5 for value in UP]
SCORES = {"in.csv": csv(["score"], UP), "out.csv": csv(["score"], DOWN)}
BOTH = {"both.csv": csv(["id", "loss", "member"], list(range(20)), DOWN, [0, 1] * 10)}
AUDITS = [
    Shell(
        "scores as numpy.savetxt writes them, without a name",
        "audit in.csv out.csv",
        [
            "in.csv",
            "looks like data: its field 1 is a number",
            "Write a line with a name above the data",
        ],
        {"in.csv": "0.25\n0.5\n1.5\n", "out.csv": "0.25\n0.5\n1.5\n"},
    ),
    Shell(
        "two files of canaries joined, with the names of each",
        "audit c.csv --one-run --member member",
        [
            "c.csv must have the names of its columns once; line 1 occurs 2 times",
            "Take out the lines",
        ],
        {"c.csv": 2 * csv(["score", "member"], UP, [0, 1, 1, 0] * 5)},
    ),
    *(
        Shell(
            f"models by examples without --shadow, {how}",
            f"audit s.csv m.csv{option}",
            ["s.csv and m.csv must have one column each; they have 3", "pass --shadow"],
            {
                "s.csv": csv(["a", "b", "c"], UP, DOWN, UP),
                "m.csv": csv(["a", "b", "c"], [0, 1] * 10, [0, 0, 1, 1] * 5, [1, 0] * 10),
            },
        )
        for how, option in (("as runs", ""), ("as canaries", " --one-run"))
    ),
    *(
        Shell(
            f"scores of separate runs, {what}",
            "audit in.csv out.csv --score score",
            [f"{path} must have the scores of runs {world} the target; by {name!r}", cure],
            {
                "in.csv": csv(["score", name], UP, inside),
                "out.csv": csv(["score", name], DOWN, outside),
            },
        )
        for what, name, inside, outside, path, world, cure in (
            ("of members twice", "member", [1] * 20, [1] * 20, "out.csv", "without", "other world"),
            ("exchanged", "is_member", ["no"] * 20, ["yes"] * 20, "in.csv", "with", "Exchange the"),
            ("of others twice", "held_out", [1] * 20, [1] * 20, "in.csv", "with", "other world"),
            ("of both", "in_train", [1] * 20, [0, 1] * 10, "out.csv", "without", "--one-run"),
        )
    ),
    Shell(
        "a significance level in place of the confidence",
        "audit in.csv out.csv --confidence 0.05",
        ["--confidence must be at least 0.5", "pass 0.95"],
        SCORES,
    ),
    Shell(
        "epsilon as delta and delta as epsilon, in a claim",
        "audit in.csv out.csv --delta 0.9 --claimed-epsilon 1e-5",
        ["--claimed-epsilon must be an epsilon", "look exchanged"],
        SCORES,
    ),
    Shell(
        "epsilon as delta and delta as epsilon, in a gate",
        "audit in.csv out.csv --delta 0.9 --max-epsilon 1e-5",
        ["--max-epsilon must be an epsilon", "pass --max-epsilon 0.9 --delta 1e-05"],
        SCORES,
    ),
    Shell(
        "epsilon as delta and delta as epsilon, in the curve of a claim",
        "curve --claim epsilon=1e-5,delta=0.5",
        ["--claim", "must have a delta below 0.1", "epsilon=0.5,delta=1e-05"],
        {},
    ),
    Shell(
        "each score a hundred times, as a join writes them",
        "audit in.csv out.csv",
        ["in.csv must be independent", "occurs 100 times"],
        {"in.csv": csv(["score"], UP * 100), "out.csv": csv(["score"], DOWN * 100)},
    ),
    *(
        Shell(
            f"a column called {name}, of a weak attack, without --lower-is-member",
            f"audit in.csv out.csv --max-epsilon 1{option}",
            [f"it has scores called {name!r}, of which {size} values", cure],
            {"in.csv": csv([name], UP), "out.csv": csv([name], [*UP[1:], 1e-3])},
        )
        for name, option, size, cure in (
            ("loss", "", "small", "Pass --lower-is-member"),
            ("test_loss", "", "small", "Pass --lower-is-member"),
            ("p-value", "", "small", "Pass --lower-is-member"),
            ("Perplexity", "", "small", "Pass --lower-is-member"),
            ("confidence", " --lower-is-member", "large", "Leave out --lower-is-member"),
        )
    ),
    *(
        Shell(
            f"flags of the others, called {name}",
            "audit score.csv out.csv --one-run --lower-is-member",
            [f"out.csv must hold 1 for members; its flags are called {name!r}", "Exchange 0 and 1"],
            {"score.csv": csv(["score"], UP), "out.csv": csv([name], [0, 1, 1, 0] * 5)},
        )
        for name in ("nonmember", "Non-Member", "is_test", "held_out")
    ),
    *(
        Shell(
            f"a column called {name!r}, without --lower-is-member",
            "audit score.csv member.csv --one-run --max-epsilon 1",
            [f"it has scores called {name!r}, of which small", "Pass --lower-is-member"],
            {"score.csv": csv([name], UP), "member.csv": csv(["member"], [0, 1, 1, 0] * 5)},
        )
        for name in ("clean-sun-3 - loss", "canary/lossValue", "token_loss", "rmse_epoch_10")
    ),
    *(
        Shell(
            f"classes of a model called {name}, as members",
            f"audit p.csv --one-run --member {name}",
            [f"{name!r} is what the classes of a model are called", "call them member"],
            {"p.csv": csv(["prob", name], UP, [0, 1, 1, 0] * 5)},
        )
        for name in ("y_true", "label", "y")
    ),
    *(
        Shell(
            f"guesses of an attack called {name}, as members",
            f"audit p.csv --one-run --member {name}",
            [f"{name!r} is what guesses of attacks are called", "Pass the coins"],
            {"p.csv": csv(["score", name], UP, [0, 1, 1, 0] * 5)},
        )
        for name in ("predicted_member", "prediction", "attackGuess")
    ),
    *(
        Shell(
            f"canaries that were put in {what} times, in a column called {name}",
            f"audit c.csv {kind} --member member --score score --claimed-epsilon 0.1",
            [f"put in once; {name!r} goes up to {copies[-1]}", "Keep canaries with one copy"],
            {
                "c.csv": csv(
                    [name, "member", "score"],
                    [copies[k % len(copies)] * (k % 7 % 2 if zero else 1) for k in range(84)],
                    [k % 7 % 2 for k in range(84)],
                    [k * 37 % 84 / 7 for k in range(84)],
                )
            },
        )
        for what, name, kind, copies, zero in (
            ("40", "repetitions", "--one-run", [40], False),
            ("40 or no", "numCopies", "--stream", [40], True),
            ("1, 10 or 100", "n_inserted", "--one-run", [1, 10, 100], True),
            ("1, 10 or 100", "count", "--stream", [1, 10, 100], False),
            ("40 or no", "dose", "--one-run", [40], True),
        )
    ),
    Shell(
        "a row for each epoch and canary, in no order",
        "audit long.csv --one-run --member member --score score --max-epsilon 1",
        ["long.csv must have one row for each canary; its 60 rows have 20 values of 'canary_id'"],
        {
            "long.csv": csv(
                ["epoch", "canary_id", "score", "member"],
                [k % 3 for k in range(60)],
                [k * 7 % 20 for k in range(60)],
                [UP[k * 7 % 20] + 0.01 * (k % 11) for k in range(60)],
                [(k * 7 % 20) ** 2 % 11 % 2 for k in range(60)],
            )
        },
    ),
    *(
        Shell(
            f"{title}, a row each, in no order",
            f"audit p.csv --one-run --member member --score score{gate}",
            [f"p.csv must have one row for each canary; its 96 rows have 24 values of {name!r}"],
            {
                "p.csv": csv(
                    [row, name, "score", "member"],
                    [f"{row} {k * 37 % 96}" for k in range(96)],
                    [f"{17 * (k * 7 % 24):03}" for k in range(96)],
                    [0.1 * (k * k % 89) + 0.01 * k for k in range(96)],
                    [(k * 7 % 24) ** 2 % 29 % 2 for k in range(96)],
                )
            },
        )
        for title, row, name, gate in (
            ("visits of patients", "visit", "patient", " --max-epsilon 1"),
            ("texts of users", "text", "author", ""),
        )
    ),
    *(
        Shell(
            f"the column {name}, which numbers {title}, as scores",
            f"audit p.csv --one-run --member member --score {name} --max-epsilon 1",
            [f"p.csv must hold scores of an attack; {name!r} counts its rows", "with --score"],
            {"p.csv": csv([name, "logit", "member"], numbers, UP, [0, 1, 1, 0] * 5)},
        )
        for title, name, numbers in (
            ("canaries in order", "number", range(1, 21)),
            ("canaries that are shuffled", "id", [k * 7 % 20 for k in range(20)]),
            ("rows of a larger table", "canary_id", [k * 7 % 20 * 83 + 5 for k in range(20)]),
        )
    ),
    *(
        Shell(
            f"{title} as flags",
            "audit p.csv --one-run --member part --score score",
            ["p.csv must hold numbers as scores", f"one entry is {word!r}. {cure}"],
            {"p.csv": csv(["score", "part"], UP, [word, other] * 10)},
        )
        for title, word, other, cure in (
            ("parts of the data", "test", "train", "Training and test rows of a model are no"),
            ("percentages", "12%", "13%", "Leave out the percent sign"),
        )
    ),
    Shell(
        "numbers with decimal commas as scores",
        "audit p.csv --one-run --member member --score score --delimiter ;",
        ["one entry is '0,5'. Write decimal points"],
        {"p.csv": csv(["score", "member"], ["0,5", "0,7"] * 10, [0, 1, 1, 0] * 5, comma=";")},
    ),
    Shell(
        "runs and scores, two columns in each file",
        "audit in.csv out.csv",
        ["in.csv must have one column, of scores; it has 2. Of separate runs pass --score COLUMN"],
        {name: csv(["run", "score"], range(20), UP) for name in ("in.csv", "out.csv")},
    ),
    Shell(
        "the steps of a log as scores",
        "audit log.csv --one-run --member member --score Step --max-epsilon 1",
        ["log.csv must hold scores of an attack; 'Step' counts its rows", "with --score"],
        {"log.csv": csv(["Step", "score", "member"], range(20), UP, [0, 1, 1, 0] * 5)},
    ),
    *(
        Shell(
            f"{first} beside {second}",
            f"audit {first} {second} --lower-is-member",
            ["must be scores of separate runs; by their names", "add --one-run"],
            {first: csv(["loss"], DOWN), second: csv(["loss"], UP)},
        )
        for first, second in (
            ("train_losses.csv", "test_losses.csv"),
            ("lossTrain.csv", "lossVal.csv"),
            ("loss_test.csv", "loss_train.csv"),
        )
    ),
    Shell(
        "the sign forgotten, in a stream",
        "audit down.csv member.csv --stream --max-epsilon 1",
        ["down.csv must tend to be larger for members", "pass --lower-is-member"],
        {
            "down.csv": csv(["score"], [(k * k % 7) - 5.5 * (k * k % 11 > 4) for k in range(80)]),
            "member.csv": csv(["member"], [(k * k % 11 > 4) * 1 for k in range(80)]),
        },
    ),
    Shell(
        "members and then others, in a stream",
        "audit score.csv member.csv --stream --max-epsilon 1",
        ["member.csv must come of fair coins", "all members stand before all others"],
        {
            "score.csv": csv(["score"], [k % 9 for k in range(80)]),
            "member.csv": csv(["member"], [1] * 40 + [0] * 40),
        },
    ),
    *(
        Shell(
            f"{what} of shadow models",
            f"audit --shadow {name}.csv keep.csv --max-epsilon 1{option}",
            says,
            {
                f"{name}.csv": csv([f"x{k}" for k in range(20)], *[UP] * 20),
                "keep.csv": csv([f"x{k}" for k in range(20)], *[[0, 1, 1, 0] * 5] * 20),
            },
        )
        for what, name, option, says in (
            ("losses", "losses", "", ["has scores called 'losses'", "Pass --lower-is-member"]),
            ("confidences", "confidences", " --lower-is-member", ["Leave out --lower-is-member"]),
        )
    ),
    *(
        Shell(
            f"{what}, of shadow models",
            "audit --shadow scores.csv keep.csv --max-epsilon 1",
            says,
            {
                "scores.csv": csv(first, *models, *[UP] * (len(first) - len(models))),
                "keep.csv": csv(second, *others, *[[0, 1, 1, 0] * 5] * (len(second) - len(others))),
            },
        )
        for what, first, models, second, others, says in (
            (
                "scores in the order of words, and flags in that of numbers",
                ["score_0", "score_1", "score_10", "score_2"],
                [],
                ["member_0", "member_1", "member_2", "member_10"],
                [],
                ["keep.csv must have the columns of scores.csv in their order", "Give both the"],
            ),
            (
                "an example without flags",
                ["img_7", "img_8", "img_9"],
                [],
                ["img_7", "img_8"],
                [],
                ["keep.csv must have the columns of scores.csv; it has no column 'img_9', and 1"],
            ),
            (
                "a model without scores",
                ["model", "img_7", "img_8"],
                [[f"run {k}" for k in range(20)]],
                ["model", "img_7", "img_8"],
                [[f"run {k}" for k in range(1, 21)]],
                ["keep.csv must have the models of scores.csv; it has no model 'run 0' in 'model'"],
            ),
        )
    ),
    Shell(
        "losses of the training rows, then of the test rows, as canaries of one run",
        "audit loss.csv member.csv --one-run --lower-is-member",
        ["member.csv must come of fair coins", "all members stand before all others"],
        {"loss.csv": csv(["loss"], DOWN + UP), "member.csv": csv(["member"], [1] * 20 + [0] * 20)},
    ),
    Shell(
        "the same file twice",
        "audit in.csv in.csv",
        ["in.csv must be draws of their own", "the 20 scores of the other world"],
        SCORES,
    ),
    Shell(
        "scores and flags in one file",
        "audit both.csv both.csv --one-run",
        ["both.csv must have one column", "pass --member COLUMN"],
        {"both.csv": csv(["score", "member"], UP, [0, 1] * 10)},
    ),
    *TRAININGS,
    *(
        Shell(f"one file of losses and flags, {what}", f"audit both.csv{options}", words, BOTH)
        for what, options, words in (
            ("and no word", "", ["required: OUT, or --member COLUMN where IN holds"]),
            ("as separate runs", " --member member", ["--member is for the canaries of one run"]),
            (
                "the direction forgotten",
                " --one-run --member member --score loss",
                ["it has scores called 'loss', of which small", "Pass --lower-is-member"],
            ),
            (
                "two columns of scores",
                " --one-run --member member",
                ["one column of scores beside 'member'; there are id, loss", "Pass --score COLUMN"],
            ),
            (
                "a column misspelt",
                " --one-run --member members --score loss",
                ["--member must be a column of both.csv: id, loss, member; got members"],
            ),
            (
                "the flags as scores",
                " --one-run --member member --score member",
                ["--score must be another column than --member"],
            ),
            (
                "and a second file",
                " both.csv --one-run --member member",
                ["--member names a column of both.csv; leave out OUT"],
            ),
            (
                "scores of them only",
                " both.csv --one-run --score loss",
                ["--score names a column beside that of --member"],
            ),
            (
                "flags of the others",
                " --stream --member loss --score member",
                ["both.csv, column loss must hold 0 and 1 only"],
            ),
        )
    ),
]
