"""Audits of scores that depend on one another, by an index, by columns and by parts of names."""

from __future__ import annotations

import re
from time import process_time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mialeak._checks.audits.beside import beside_index, refuse_runs
from mialeak._checks.audits.keys import keys_of
from mialeak.auditing import AuditStream, audit, one_run_audit
from mialeak.cli import main
from mialeak.guarantees import overfitting_security_bound

RNG = np.random.default_rng(11)
CANARIES = 100


def table(copies, rng=RNG):
    """So many scores of each canary, which share its coin, in random order; nothing leaks."""
    canary = np.repeat(np.arange(CANARIES), copies)
    scores = rng.normal(size=CANARIES)[canary] + 0.1 * rng.normal(size=canary.size)
    member = (rng.random(CANARIES) < 0.5)[canary] * 1
    aug = np.tile(np.arange(copies), CANARIES)
    frame = pd.DataFrame({"canary": canary, "aug": aug, "score": scores, "member": member})
    return frame.sample(frac=1.0, random_state=0)


@pytest.mark.parametrize("names", [["canary"], ["canary", "aug"], ["aug", "canary"], [None]])
def test_an_index_that_names_canaries_has_each_once(names):
    frame = table(3).set_index([each or "canary" for each in names]).rename_axis(names)
    words = r"scores must have one row for each canary; its 300 rows have 100 values of '"
    for take in (one_run_audit, lambda *pair: AuditStream().update(*pair)):
        with pytest.raises(ValueError, match=words):
            take(frame["score"], frame["member"])
        once = frame.groupby(level=frame.index.names.index(names[-1] and "canary")).first()
        take(once["score"], once["member"])  # one row of each is right


def test_indices_of_any_type_are_taken():
    index = pd.Index([("a", k) for k in range(100)], tupleize_cols=False, name="pair")
    for labels in (index, pd.Index([1, "a"] * 50), pd.Index([np.nan] * 100, name="x")):
        scores, member = pd.Series(RNG.normal(size=100), labels), RNG.integers(0, 2, 100)
        assert one_run_audit(scores, member).n_canaries == 100


def test_labels_of_several_files_may_be_the_same():
    """Row numbers of 5 parts that were joined name no canary."""
    frame = pd.concat([table(1).reset_index(drop=True) for _ in range(5)])
    assert one_run_audit(frame["score"], frame["member"]).n_canaries == 500


@pytest.mark.parametrize("names", [["model"], ["model", "canary"], ["canary", "model"]])
def test_an_index_of_several_levels_names_runs(names):
    models, canaries = np.repeat(np.arange(40), 20), np.tile(np.arange(20), 40)
    scores = RNG.normal(size=40)[models] + RNG.normal(size=800)
    frame = pd.DataFrame({"model": models, "canary": canaries, "score": scores})
    frame = frame.sample(frac=1.0, random_state=0).set_index(names)["score"]
    is_in = frame.index.get_level_values("model") % 2 == 0
    with pytest.raises(ValueError, match=r"its 400 rows have 20 values of 'model'"):
        audit(frame[is_in], frame[~is_in], allow_reversed=True)
    unnamed = frame.rename_axis([None] * len(names))
    with pytest.raises(ValueError, match=r"its 400 rows have 20 values of 'labels'"):
        audit(unnamed[is_in], unnamed[~is_in], allow_reversed=True)


def test_an_index_of_settings_has_one_value():
    sigma = pd.Index(np.repeat([1.0, 2.0, 4.0], 40), name="sigma")
    scores = pd.Series(RNG.normal(size=120), sigma)
    with pytest.raises(ValueError, match=r"in_scores must have the scores of one training; 'sigma"):
        audit(scores, RNG.normal(size=120))


def losses(size, index, names):
    """Losses of one law with and without the target, as Series."""
    return [
        pd.Series(RNG.exponential(size=size), index=labels, name=name)
        for labels, name in zip(index, names, strict=True)
    ]


def test_losses_of_one_model_bound_no_security():
    """Losses of separate runs may be called as the arguments are."""
    models = [pd.Index(np.repeat(np.arange(k, k + 10), 30), name="model") for k in (0, 10)]
    once = [pd.Index(np.arange(k, k + 300), name="model") for k in (0, 300)]
    called = ("member_loss", "nonmember_loss")
    right = overfitting_security_bound(*losses(300, once, called))
    assert right.security_upper > 0.8
    with pytest.raises(ValueError, match=r"^member_losses must have one score for each run; its 3"):
        overfitting_security_bound(*losses(300, models, called))
    for names, words in (
        (("train_loss", "test_loss"), "member_losses must be scores of separate runs; by their na"),
        (("accuracy", "accuracy"), "called 'accuracy', of which large values are evidence for"),
        (
            ("loss", "perplexity"),
            "the same quantity .* 'loss' and 'perplexity' are two",
        ),
        (("loss_eps1", "loss_eps8"), "eps is 1 in one and 8 in the other"),
    ):
        with pytest.raises(ValueError, match=words):
            overfitting_security_bound(*losses(300, once, names))
    with pytest.warns(UserWarning, match="have two names, 'loss_nats' and 'loss_bits'"):
        overfitting_security_bound(*losses(300, once, ("loss_nats", "loss_bits")))


def in_shell(capsys, tmp_path, frame, **columns):
    """What `mialeak audit --one-run` says of a table with these columns."""
    path = tmp_path / "canaries.csv"
    frame.assign(**columns).drop(columns=["canary", "aug"]).to_csv(path, index=False)
    line = ["audit", str(path), "--one-run", "--member", "member", "--score", "score"]
    capsys.readouterr()
    code = main([*line, "--max-epsilon", "2"])
    captured = capsys.readouterr()
    return code, captured.err or captured.out


def named(pattern):
    """Text of each row, of its canary and augmentation."""
    return lambda table: [
        pattern.format(
            c=c,
            a=a,
            word=["orig", "flip_h", "crop"][a],
            client=c // 10,
            local=c % 10,
            letters="abcdefghij"[c // 10] + "abcdefghij"[c % 10],
        )
        for c, a in zip(table["canary"], table["aug"], strict=True)
    ]


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"file": named("c{c:03d}_aug{a}.png")}, r"a part of 'file' \(such as '\d\d\d'\)"),
        ({"file": named("{letters}_{word}.png")}, r"a part of 'file' \(such as '[a-j]{2}'\)"),
        ({"file": named("{word}/{c}.png")}, r"a part of 'file' \(such as '\d+'\)"),
        ({"path": named("p{client}/i{local}/a{a}")}, r"a part of 'path' \(such as 'p \d i \d'\)"),
        ({"prompt": named("{word}: My PIN is {c}")}, r"a part of 'prompt' \(such as '\d+'\)"),
        (
            {"client": lambda table: table.canary // 10, "row": lambda table: table.canary % 10},
            "'client' and 'row'",
        ),
    ],
)
def test_parts_of_names_and_pairs_of_columns_name_canaries(capsys, tmp_path, columns, what):
    """Once each they are the names of canaries, which differ in the parts or pairs."""
    frame = table(3)
    code, text = in_shell(capsys, tmp_path, frame, **columns)
    assert code == 1
    assert re.search(f"its 300 rows have 100 values of {what}, each with one flag", text)
    frame["member"] = RNG.integers(0, 2, 300)
    assert in_shell(capsys, tmp_path, frame, **columns)[0] == 0


def test_what_follows_from_scores_and_flags_names_no_canary():
    """A perfect and a weak attack: guesses, right or wrong, deciles and epochs."""
    for leak in (8.0, 1.0):
        member = RNG.random(400) < 0.5
        scores = RNG.normal(leak * member)
        columns = {
            "decile": pd.qcut(scores, 10, labels=False),
            "guess": scores > np.median(scores),
            "correct": (scores > np.median(scores)) == member,
            "epoch": np.where(member, RNG.integers(1, 6, 400), 0),
            "label": RNG.integers(0, 10, 400),
        }
        for size in (1, 2, 3, 5):
            names = list(columns)[:size]
            index = pd.MultiIndex.from_arrays([columns[name] for name in names], names=names)
            assert one_run_audit(pd.Series(scores, index), member).n_canaries == 400


def test_parts_of_names_name_runs(capsys, tmp_path):
    """50 runs of 5 canaries in each world; with scores that are independent they are taken."""
    runs, paths = np.repeat(np.arange(50), 5), []
    for shared, code in ((1.0, 1), (0.0, 0)):
        paths = [tmp_path / "in.csv", tmp_path / "out.csv"]
        for path in paths:
            scores = shared * RNG.normal(size=50)[runs] + 0.3 * RNG.normal(size=250)
            names = [f"run{k:03d}_c{j % 5}.pt" for j, k in enumerate(runs)]
            frame = pd.DataFrame({"checkpoint": names, "score": scores})
            frame.sample(frac=1.0, random_state=0).to_csv(path, index=False)
        line = ["audit", *map(str, paths), "--score", "score", "--allow-reversed"]
        capsys.readouterr()
        assert main(line) == code
    assert "50 values of a part of 'checkpoint'" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "kinds", "cautions"),
    [("attack", 2, 1), ("layer", 3, 1), ("seed", 2, 1), ("kind", 2, 0), ("kind", 6, 1)],
)
def test_signals_of_the_same_canaries_have_a_caution(capsys, tmp_path, name, kinds, cautions):
    """Their coins are the same, which is seen where no column names the canary."""
    frame = table(kinds, np.random.default_rng(3)).rename(columns={"aug": "signal"})
    for is_shared in (True, False):
        if not is_shared:
            frame["member"] = np.random.default_rng(4).integers(0, 2, len(frame))
        index = pd.Index(frame["signal"], name=name)
        scores = pd.Series(frame["score"].to_numpy(), index)
        result = one_run_audit(scores, frame["member"].to_numpy(), allow_reversed=True)
        found = [each for each in result.document().cautions if "share a coin" in each]
        assert len(found) == cautions * is_shared
    columns = {name: frame["signal"], "aug": 0}
    code, text = in_shell(capsys, tmp_path, frame, **columns)
    assert (code, "share a coin" in text) == (0, False)


@pytest.mark.parametrize("name", ["person", "patient_id", "canary"])
def test_canaries_among_members_and_others_have_a_caution(name, tmp_path, capsys):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({name: [f"p{k}" for k in rng.permutation(200)]})
    frame["member"] = rng.permutation(np.repeat([0, 1], 100))
    frame["score"] = rng.normal(2.0 * frame["member"])
    both = frame.iloc[:3].assign(member=1 - frame["member"][:3], score=rng.normal(size=3))
    words = f"3 values of {name!r} in .* have two rows, one of a member and one of another"

    def cautions(rows):
        scores = rows.set_index(name)["score"]
        of_series = one_run_audit(scores, rows["member"].to_numpy()).document().cautions
        rows.to_csv(tmp_path / "scores.csv", index=False)
        main(["audit", str(tmp_path / "scores.csv"), "--one-run", "--member", "member", "--score",
              "score"])  # fmt: skip
        shown = capsys.readouterr()
        text = " ".join((shown.out + shown.err).split())
        return [
            any(re.search(words, each) for each in of_series),
            re.search(words, text) is not None,
        ]

    assert cautions(pd.concat([frame, both]).sample(frac=1.0, random_state=2)) == [True, True]
    # Two canaries of a person have a coin each; of three pairs one has equal flags here.
    own = both.assign(member=[*both["member"][:2], frame["member"][2]])
    for rows in (frame, pd.concat([frame, own]), pd.concat([frame, both[:2]])):
        assert cautions(rows.sample(frac=1.0, random_state=2)) == [False, False]
    pairs = pd.concat([frame, frame.assign(member=rng.permutation(frame["member"]))])
    assert cautions(pairs.sample(frac=1.0, random_state=2)) == [False, False]


@pytest.mark.parametrize("letter", ["m", "é"])
@pytest.mark.parametrize(
    "form", ["c{0:03d}_aug{1}.png", "{2}_{0}v{1}", "run-{0}", "averylongword{0}_anotherone{1}"]
)
def test_parts_of_names_are_those_found_in_each_name(form, letter):
    """Words of ASCII are searched all at once, and others one by one."""
    rng = np.random.default_rng(3)
    words = [form.format(k // 4, k % 4, letter * rng.integers(1, 20)) for k in range(400)]
    names = SimpleNamespace(name="x", codes=np.arange(400), words=lambda most=None: words[:most])
    parts = [re.findall(r"\d+|[^\W\d_]+", word) for word in words]
    wanted = []
    for each in map(list, zip(*parts, strict=True)):
        codes = [sorted(set(each)).index(part) for part in each]
        wanted += [codes] * (1 < len(set(each)) <= 200)
    single = re.compile(r"a part of 'x' \(such as '\S+'\)")
    found = [key.codes.tolist() for key in keys_of([names]) if single.fullmatch(key.what)]
    assert found == wanted


def test_columns_beside_scores_cost_little_more_than_to_sort_them():
    """The time of the processor was ten times that of sorting, by a search in each name."""
    rng, size = np.random.default_rng(4), 20_000
    names = {
        "path": [f"c{k % 100:04d}_aug{k // 100}.png" for k in range(size)],
        "label": [f"img_{k}" for k in rng.permutation(size)],
        "number": rng.permutation(size),
        "view": np.arange(size) // 100,
    }
    labels = pd.MultiIndex.from_arrays([*names.values()], names=[*names])
    worlds = [pd.Series(rng.normal(size=size), labels) for _ in range(2)]
    ratios = []
    for _ in range(3):
        times = [process_time()]
        columns = [beside_index(each) for each in worlds]
        times.append(process_time())
        refuse_runs(["in", "out"], columns, [each.to_numpy() for each in worlds])
        times.append(process_time())
        ratios.append((times[2] - times[1]) / (times[1] - times[0]))
    assert min(ratios) < 5.0
