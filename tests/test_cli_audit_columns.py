"""Verdicts on streams, and what the columns of files are called, in ``mialeak audit``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mialeak.auditing import one_run_audit
from mialeak.cli import main


def refused(capsys, *arguments):
    """The one line of an error."""
    capsys.readouterr()
    assert main(["audit", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mialeak: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("size", "leak", "claim", "code", "words"),
    [
        (300, 3.0, "1", 2, "(a row added or removed) is refuted: "),
        (300, 0.0, "1", 0, "(a row added or removed) is not refuted: 0 is proved."),
        (300, 0.0, "9", 3, "is not testable: of so many canaries even a perfect attack proves"),
    ],
)
def test_a_claim_of_a_stream_has_three_verdicts(capsys, tmp_path, size, leak, claim, code, words):
    """It is no limit: nothing within it is called within a limit."""
    rng = np.random.default_rng(2)
    member = rng.random(size) < 0.5
    paths = str(tmp_path / "scores.npy"), str(tmp_path / "member.npy")
    np.save(paths[0], rng.normal(leak * member))
    np.save(paths[1], member * 1)
    line = ["audit", "--stream", *paths, "--claimed-epsilon", claim]
    assert main(line) == code
    text = " ".join(capsys.readouterr().out.split())
    assert f"The claimed epsilon {claim} {words}" in text or words in text
    assert "limit" not in text
    assert "gate" not in text
    assert main([*line, "--max-epsilon", "0.5"]) == (2 if code == 2 else code)
    text = " ".join(capsys.readouterr().out.split())
    assert "the limit 0.5." in text
    assert words in text
    assert main([*line, "--json"]) == code
    content = json.loads(capsys.readouterr().out)
    assert content["limit"] is None
    assert (content["exceeded_after"] is not None) == (code == 2)


@pytest.mark.parametrize(
    ("yes", "no"), [("yes", "no"), ("IN", "OUT"), ("member", "non-member"), ("True", "False")]
)
def test_flags_in_words_are_those_of_numbers(capsys, tmp_path, yes, no):
    rng = np.random.default_rng(3)
    member = rng.random(60) < 0.5
    scores = rng.normal(2.0 * member)
    answers = []
    for words in (("1", "0"), (yes, no)):
        path = tmp_path / "canaries.csv"
        rows = [f"{score},{words[not flag]}" for score, flag in zip(scores, member, strict=True)]
        # The name of the column may be the word of its flags.
        name = "member" if yes == "member" else "in_data"
        path.write_text("\n".join([f"score,{name}", *rows]) + "\n")
        assert main(["audit", str(path), "--one-run", "--member", name, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out)["epsilon_lower"])
    assert answers[0] == answers[1]


def test_a_column_of_two_files_may_be_chosen(capsys, tmp_path):
    """Of runs that are numbered, in separate worlds."""
    rng = np.random.default_rng(4)
    both = {"in.csv": rng.normal(2.0, size=60), "out.csv": rng.normal(size=60)}
    for name, scores in both.items():
        rows = [f"run {k},{score}" for k, score in enumerate(scores)]
        (tmp_path / name).write_text("\n".join(["run,score", *rows]) + "\n")
        np.save(tmp_path / f"{name[:-4]}.npy", scores)
    line = ["audit", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--score", "score"]
    assert main([*line, "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["epsilon_lower"]
    arrays = [str(tmp_path / "in.npy"), str(tmp_path / "out.npy")]
    assert main(["audit", *arrays, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_lower"] == chosen
    assert "--score must be a column of" in refused(capsys, *line[1:-1], "scores")


def test_row_numbers_of_a_data_frame_may_stand_beside_the_chosen_columns(capsys, tmp_path):
    """Without a choice the error names no option that the command does not have."""
    rng = np.random.default_rng(6)
    member = (rng.random(60) < 0.5) * 1
    scores = rng.normal(2.0 * member)
    rows = [f"{flag},{score}" for flag, score in zip(member, scores, strict=True)]
    plain, indexed = tmp_path / "plain.csv", tmp_path / "indexed.csv"
    plain.write_text("\n".join(["member,score", *rows]) + "\n")
    rows = [f"{k},{row}" for k, row in enumerate(rows)]
    indexed.write_text("\n".join([",member,score", *rows]) + "\n")
    answers = []
    for line in ([plain], [indexed], [indexed, "--score", "score"]):
        path, *more = map(str, line)
        assert main(["audit", path, "--one-run", "--member", "member", *more, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out)["epsilon_lower"])
    assert answers[0] == answers[1] == answers[2]
    for line in ([], ["--shadow"]):
        error = refused(capsys, *[str(indexed)] * 2, *line)
        assert "column 1 is called ''. Write it with index=False" in error
        assert "--columns" not in error


def test_columns_beside_scores_are_taken(capsys, tmp_path):
    """Another score, parts of the data, a rank, classes, one copy each, lengths, and epochs."""
    rng = np.random.default_rng(5)
    member = (rng.random(200) < 0.5) * 1
    score = rng.normal(3.0 * member)
    columns = {
        "score": score,
        "rounded": np.round(member + 0.4 * rng.random(200), 2),
        "part": np.array(["c", "a"])[member],
        "label": rng.integers(0, 10, 200),
        "time_rank": np.argsort(np.argsort(score)) + 1,
        "repetitions": np.ones(200, int),
        "n_copies": member,
        "count": rng.permutation(200),
        "repetition_penalty": np.full(200, 1.2),
        "epochs": 3 * member,
        "epoch": np.array(["", "1", "2"])[member * rng.integers(1, 3, 200)],
        "member": member,
    }
    path = tmp_path / "canaries.csv"
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *rows]) + "\n")
    for chosen in ("score", "rounded"):
        line = ["audit", str(path), "--one-run", "--member", "member", "--score", chosen]
        assert main(line) == 0, chosen
        assert "Epsilon is at least" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["--one-run", "--stream"])
def test_a_column_among_several_of_its_name_is_named(capsys, tmp_path, kind):
    """The scores of checkpoints: the best of 20 bounds is no bound; at 1 - 0.05 / 20 it is."""
    rng = np.random.default_rng(7)
    member = (rng.random(80) < 0.5) * 1
    names = ["member", "other", *(f"score_epoch{k}" for k in range(1, 21)), "score_epoch_text"]
    rows = [[flag, *rng.normal(2.0 * flag, size=21), "x"] for flag in member]
    path = tmp_path / "checkpoints.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n")
    line = ["audit", str(path), kind, "--member", "member", "--json", "--score"]
    for more, words in (
        (["score_epoch4"], ["'score_epoch4' is one of 20 columns", "pass --confidence 0.9975"]),
        (["score_epoch4", "--confidence", "0.9975"], []),
        (["other"], []),
    ):
        assert main([*line, *more]) == 0
        cautions = json.loads(capsys.readouterr().out)["cautions"]
        assert len(cautions) == bool(words)
        assert all(each in cautions[0] for each in words)


def test_scores_that_are_fitted_to_other_models_have_a_caution(capsys, tmp_path):
    """By their name; a likelihood ratio where the file has several models of the same examples."""
    rng = np.random.default_rng(8)
    flags, scores = rng.random(120) < 0.5, rng.normal(size=120)
    files = {"ratio.csv": ("llr", "place"), "lira.csv": ("lira_score", "place"),
             "models.csv": ("likelihood_ratio", "model"),
             "conf.csv": ("conf", "model")}  # fmt: skip
    for name, (score, model) in files.items():
        lines = [f"{k // 30},{k % 30},{scores[k]},{1 * flags[k]}" for k in rng.permutation(120)]
        (tmp_path / name).write_text("\n".join([f"{model},example,{score},in", *lines]) + "\n")
        line = ["audit", str(tmp_path / name), "--one-run", "--member", "in", "--score", score]
        assert main([*line, "--json"]) == 0
        cautions = json.loads(capsys.readouterr().out)["cautions"]
        assert len(cautions) == (name in ("lira.csv", "models.csv"))
        assert all(each.startswith(f"'{score}' is what scores are called") for each in cautions)
    for name in ("lira_scores", "confidences"):
        paths = [str(tmp_path / f"{each}.npy") for each in (name, "keep")]
        np.save(paths[0], scores.reshape(12, 10))
        np.save(paths[1], flags.reshape(12, 10))
        assert main(["audit", "--shadow", *paths, "--json"]) == 0
        cautions = json.loads(capsys.readouterr().out)["cautions"]
        assert any("such as those of LiRA" in each for each in cautions) == ("lira" in name)


@pytest.mark.parametrize("options", [["--one-run"], []])
def test_a_score_that_is_filled_in_for_one_world_has_a_caution(capsys, tmp_path, options):
    """It is one value, and no score of the other world; scores of both that are 0 are none."""
    rng = np.random.default_rng(9)
    flags = rng.random(60) < 0.5
    scores = np.where(flags, rng.random(60), 0.0)
    for common in (False, True):
        scores[np.argmax(flags)] = 0.0 if common else 0.3
        values = (scores, 1 * flags) if options else (scores[flags], scores[~flags])
        for name, each in zip(("a", "b"), values, strict=True):
            np.save(tmp_path / f"{name}.npy", each)
        paths = [str(tmp_path / f"{name}.npy") for name in ("a", "b")]
        assert main(["audit", *paths, *options, "--json"]) == 0
        cautions = json.loads(capsys.readouterr().out)["cautions"]
        words = f"All {(~flags).sum()} scores of others are one value, which no score of members"
        assert len(cautions) == (not common)
        assert all(each.startswith(words) for each in cautions)


def test_rows_that_are_no_canaries_are_refused_by_another_column(capsys, tmp_path):
    """Most rows are of training and test data, or the flags follow the order of a number."""
    rng = np.random.default_rng(10)
    flags = rng.random(80) < 0.5
    order = rng.permutation(80)
    split, scores = order < 40, rng.normal(size=80) + flags
    columns = {
        "is_canary": (order < 20, flags, "'is_canary' is 0 in 60 of its 80 rows"),
        "id": (order, split, "in the order of 'id' all members stand on one side"),
        "canary": (np.ones(80), flags, ""),
        "idx": (order, flags, ""),
        "loss": (order + 0.5, split, ""),  # by a perfect attack
    }
    for name, (values, member, words) in columns.items():
        lines = [f"{v:g},{1 * m},{s}" for v, m, s in zip(values, member, scores, strict=True)]
        (tmp_path / "t.csv").write_text("\n".join([f"{name},member,score", *lines]) + "\n")
        line = ["audit", str(tmp_path / "t.csv"), "--one-run", "--member", "member"]
        assert main([*line, "--score", "score"]) == bool(words)
        assert words in capsys.readouterr().err


def write_worlds(folder, columns, sizes=(80, 80)):
    """Two files of scores of separate runs beside other columns, in random order."""
    rng = np.random.default_rng(11)
    paths = []
    for world, size in enumerate(sizes):
        names, rows = [*columns, "score"], rng.normal(1.0 - world, size=size)
        lines = [
            ",".join(str(each(k, world, s)) for each in columns.values()) + f",{s}"
            for k, s in enumerate(rows)
        ]
        lines = [lines[k] for k in rng.permutation(size)]
        paths.append(str(folder / f"{world}.csv"))
        (folder / f"{world}.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    return paths


def test_columns_beside_scores_of_separate_runs_are_taken(capsys, tmp_path):
    """Runs that are numbered, hosts, one setting, noise of data sets of n and n + 1, outputs."""
    columns = {
        "run": lambda k, world, s: k,
        "seed": lambda k, world, s: 7919 * k % 1009,
        "uid": lambda k, world, s: f"{world}-{k}",
        "batch": lambda k, world, s: k // 4,
        "host": lambda k, world, s: f"node{k % 4}",
        "date": lambda k, world, s: f"2026-11-{1 + k // 8:02}",
        "noise_multiplier": lambda k, world, s: 1.1 + 0.001 * world,
        "epsilon": lambda k, world, s: 2.0,
        "lr": lambda k, world, s: f"{10.0 ** -(1 + k / 40):.3f}",  # a random search
        "dataset": lambda k, world, s: ("full", "without")[world],
        "checkpoint": lambda k, world, s: ("a/in.pt", "a/out.pt")[world],
        "model": lambda k, world, s: "resnet18",
        "decile": lambda k, world, s: int(np.floor(2.0 * s)),
        "correct": lambda k, world, s: int(s > 0.3),
        "member": lambda k, world, s: 1 - world,
        "held_out": lambda k, world, s: bool(world),
        "analysed": lambda k, world, s: 1,
    }
    paths = write_worlds(tmp_path, columns)
    assert main(["audit", *paths, "--score", "score", "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["cautions"]


@pytest.mark.parametrize("opposed", [False, True])
def test_pairs_that_rise_together_are_taken(capsys, tmp_path, opposed):
    """Runs of one seed with the target and without: the bound is smaller than of other seeds."""
    rng = np.random.default_rng(13)
    shared = rng.normal(size=100)
    for world in range(2):
        scores = (-1.0) ** (world * opposed) * shared + 0.3 * rng.normal(size=100)
        lines = [f"{1000 + k},{scores[k]}" for k in rng.permutation(100)]
        (tmp_path / f"{world}.csv").write_text("\n".join(["seed,score", *lines]) + "\n")
    paths = [str(tmp_path / f"{world}.csv") for world in range(2)]
    assert main(["audit", *paths, "--score", "score"]) == opposed
    assert ("100 scores of either have the same 'seed'" in capsys.readouterr().err) == opposed


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("kind", ["canary a", "canary b", "other canary"]),
        ("type", ["mislabelled", "random"]),
        ("dose", ["train", "test", "other"]),
        ("model", ["m0", "m1", "m2"]),
        ("model", ["a1b2c3d4", "0f9e8d7c"]),
        ("epsilon", [f"{0.01 * k:.2f}" for k in range(150)]),
        ("language", ["en", "fr", "de"]),
    ],
)
def test_groups_of_canaries_of_one_run_are_taken(capsys, tmp_path, name, values):
    rng = np.random.default_rng(14)
    flags = rng.random(200) < 0.5
    groups = rng.integers(0, len(values), 200)
    rows = [f"{values[g]},{1 * f},{rng.normal(f)}" for g, f in zip(groups, flags, strict=True)]
    (tmp_path / "c.csv").write_text("\n".join([f"{name},member,score", *rows]) + "\n")
    line = ["audit", str(tmp_path / "c.csv"), "--one-run", "--member", "member", "--score", "score"]
    assert main([*line, "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["cautions"]


@pytest.mark.parametrize("more", [[], ["--score", "score"], ["--member", "member"]])
@pytest.mark.parametrize("kind", ["--one-run", "--stream"])
def test_rows_of_two_files_are_matched_by_the_column_that_names_them(capsys, tmp_path, kind, more):
    rng = np.random.default_rng(15)
    member = (rng.random(80) < 0.5) * 1
    scores = rng.normal(3.0 * member)
    names = rng.permutation(1000)[:80]
    files = {
        "s": [f"{n},{s}" for n, s in zip(names, scores, strict=True)],
        "m": [f"{m},{n}" for n, m in zip(names, member, strict=True)],
        "both": [f"{s},{m}" for s, m in zip(scores, member, strict=True)],
    }
    files["m"] = [files["m"][k] for k in rng.permutation(80)]
    heads = {"s": "id,score", "m": "member,id", "both": "score,member"}
    for name, lines in files.items():
        (tmp_path / f"{name}.csv").write_text("\n".join([heads[name], *lines]) + "\n")
    first, second, both = (str(tmp_path / f"{name}.csv") for name in ("s", "m", "both"))
    assert main(["audit", both, kind, "--member", "member", "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["epsilon_lower"]
    assert expected > 1.0
    assert main(["audit", first, second, kind, *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_lower"] == expected
    assert main(["audit", first, second, kind, *more]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert f"Rows of {first} and {second} are matched by 'id'." in words


@pytest.mark.parametrize("name", ["{}", "canary_{:03}"])
def test_canaries_that_count_from_0_in_one_file_and_from_1_in_the_other_are_not_joined(
    capsys, tmp_path, name
):
    """Without the names at the ends each score would have the flag of the next canary."""
    rng = np.random.default_rng(16)
    member = rng.permutation(np.arange(60) % 2)
    scores = rng.normal(5.0 * member)
    paths = [tmp_path / "s.csv", tmp_path / "m.csv"]
    for path, head, values, start in zip(
        paths, ("id,score", "id,member"), (scores, member), (0, 1), strict=True
    ):
        lines = [f"{name.format(k)},{value}" for k, value in enumerate(values, start)]
        path.write_text("\n".join([head, *lines]) + "\n")
    line = ["audit", *map(str, paths)]
    for kind in ("--one-run", "--stream"):
        assert main([*line, kind]) == 1
        err = " ".join(capsys.readouterr().err.split())
        assert "One counts from 0 and the other from 1" in err
        assert "number them in the same way" in err
        assert "Leave these" not in err
    lines = paths[1].read_text().splitlines()
    paths[1].write_text("\n".join([*lines[:40], *lines[41:]]) + "\n")
    assert main([*line, "--one-run"]) == 1
    assert "Leave these out" in " ".join(capsys.readouterr().err.split())


def test_row_numbers_stand_beside_the_names_of_canaries_in_two_files(capsys, tmp_path):
    """Beside a single column of one file they are refused, and so are those of other rows."""
    rng = np.random.default_rng(17)
    member = (rng.random(60) < 0.5) * 1
    rows = {"s": rng.normal(3.0 * member), "m": member}
    for names in (True, False):
        for name, values in rows.items():
            first = 7 * (name == "m" and not names)
            lines = [
                f"{k},{f'c{k},' * names}{v}" for k, v in enumerate(values, first * (not names))
            ]
            head = f",{'canary,' * names}{name}"
            (tmp_path / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n")
        paths = [str(tmp_path / f"{name}.csv") for name in rows]
        if names:
            assert main(["audit", *paths, "--one-run"]) == 0
            assert "are matched by 'canary'" in " ".join(capsys.readouterr().out.split())
        else:
            assert "column 1 is called ''. Write it" in refused(capsys, *paths, "--one-run")


def test_arrays_of_settings_beside_those_of_canaries_are_no_columns(capsys, tmp_path):
    rng = np.random.default_rng(16)
    member = (rng.random(80) < 0.5) * 1
    arrays = {"scores": rng.normal(3.0 * member), "member": member, "epsilon": 3.0}
    np.savez(tmp_path / "run.npz", **arrays, weights=np.ones((3, 3)))
    line = ["audit", str(tmp_path / "run.npz"), "--one-run", "--member", "member"]
    assert main([*line, "--score", "scores"]) == 0
    assert "Epsilon is at least" in capsys.readouterr().out


def test_a_flag_that_is_missing_is_named(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("id,member,score\na,1,0.5\nb,,0.3\nc,0,0.1\n")
    line = ["audit", str(tmp_path / "t.csv"), "--one-run", "--member", "member"]
    assert main([*line, "--score", "score"]) == 1
    assert "must have a value of 'member' in every row; 1 have none" in capsys.readouterr().err


@pytest.mark.parametrize(("code", "named"), [(999.0, True), (-999.0, True), (2.5, False)])
def test_a_code_among_scores_has_a_caution(capsys, tmp_path, code, named):
    rng = np.random.default_rng(12)
    flags = rng.random(120) < 0.5
    scores = np.where(rng.random(120) < 0.15, code, rng.normal(2.0 * flags))
    for name, each in (("a", scores), ("b", 1 * flags)):
        np.save(tmp_path / f"{name}.npy", each)
    paths = [str(tmp_path / f"{name}.npy") for name in "ab"]
    assert main(["audit", *paths, "--one-run", "--json"]) == 0
    cautions = json.loads(capsys.readouterr().out)["cautions"]
    words = f"{(scores == code).sum()} scores of both worlds are one value, further from"
    assert len(cautions) == named
    assert all(each.startswith(words) for each in cautions)


def test_flags_of_a_csv_may_be_words(tmp_path, capsys):
    """As pandas writes booleans."""
    rng = np.random.default_rng(0)
    member = rng.integers(0, 2, 1000)
    np.save(tmp_path / "scores.npy", rng.normal(1.5 * member))
    printed = []
    for words in (("False", "True"), ("0", "1")):
        path = tmp_path / "member.csv"
        path.write_text("\n".join(["member", *(words[flag] for flag in member)]) + "\n")
        assert main(["audit", str(tmp_path / "scores.npy"), str(path), "--one-run"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


@pytest.mark.parametrize("more", [[], ["--score", "s", "--member", "m"]])
@pytest.mark.parametrize(("moved", "kind"), [(True, "csv"), (False, "csv"), (True, "parquet")])
def test_rows_of_two_data_frames_are_matched_by_their_index(capsys, tmp_path, more, moved, kind):
    """As pandas writes it: a column without a name, or ``__index_level_0__``."""
    rng = np.random.default_rng(18)
    member = rng.integers(0, 2, 80)
    columns = [pd.Series(rng.normal(3.0 * member), name="s"), pd.Series(member, name="m")]
    expected = one_run_audit(*columns).epsilon_lower
    assert expected > 1.0
    paths = [str(tmp_path / f"{each.name}.{kind}") for each in columns]
    for path, each in zip(paths, columns, strict=True):
        frame = each.sample(frac=1.0, random_state=ord(str(each.name))) if moved else each
        getattr(frame.to_frame(), f"to_{kind}")(path)
    assert main(["audit", *paths, "--one-run", *more]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"Epsilon is at least {expected:.4g}"[:-1] in text
    assert ("are matched by the index" in text) == moved


def test_two_files_hold_one_quantity_in_one_unit(capsys, tmp_path):
    rng = np.random.default_rng(5)
    worlds = rng.beta(5.0, 2.0, 300), rng.beta(4.0, 2.0, 300)
    inside, outside = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")

    def write(first, second, scale=1.0):
        for path, name, values in (
            (inside, first, scale * worlds[0]),
            (outside, second, worlds[1]),
        ):
            pd.DataFrame({name: values}).to_csv(path, index=False)

    write("logit", "confidence")
    assert "by their names 'logit' and 'confidence' are two" in refused(capsys, inside, outside)
    write("confidence", "confidence", 100.0)
    assert "in per cent, and 'confidence' up to" in refused(capsys, inside, outside)
    write("zeta", "gamma")
    assert main(["audit", inside, outside]) == 0
    assert "have two names, 'zeta' and 'gamma'" in " ".join(capsys.readouterr().out.split())
    write("score_in", "score_out")
    assert main(["audit", inside, outside]) == 0
    assert "have two names" not in " ".join(capsys.readouterr().out.split())
