"""``mialeak audit``: what scores in files prove, and the gate."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mialeak._report.page import fingerprint
from mialeak._report.text import at_most
from mialeak.auditing import audit, one_run_audit, shadow_audit
from mialeak.cli import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(2, 1, 500), rng.normal(0, 1, 400)
    paths = str(tmp_path / "in.npy"), str(tmp_path / "out.npy")
    np.save(paths[0], inside)
    np.save(paths[1], outside)
    return *paths, inside, outside


def refused(capsys, *arguments):
    """The one line of an error."""
    capsys.readouterr()
    assert main(["audit", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mialeak: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


def test_the_answer_comes_first(capsys, files):
    assert main(["audit", *files[:2], "--delta", "1e-5"]) == 0
    text = capsys.readouterr().out
    bound = audit(*files[2:], delta=1e-5).epsilon_lower
    answer = f"Epsilon is at least {at_most(bound)} at delta = 1e-05, with confidence 95%, if the "
    answer += "scores are those of 900 separate runs. "
    assert " ".join(text.split()).startswith(answer)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.endswith("power at false-positive rate 0.01") for line in lines)


def test_nothing_proved_is_told(capsys, files):
    assert main(["audit", files[1], files[0], "--allow-reversed"]) == 0
    assert capsys.readouterr().out.startswith("Nothing is proved, with confidence 95%")


@pytest.mark.parametrize(("limit", "code", "word"), [("4.5", 0, "within"), ("0.5", 2, "above")])
def test_the_gate(capsys, files, limit, code, word):
    assert main(["audit", *files[:2], "--max-epsilon", limit]) == code
    assert capsys.readouterr().out.rstrip().endswith(f"is {word} the limit {limit}.")
    assert main(["audit", *files[:2], "--max-epsilon", limit, "--json"]) == code
    content = json.loads(capsys.readouterr().out)
    limits = {"max_epsilon": float(limit), "over": code == 2, "undecided": False}
    assert content["limit"] == limits


def test_an_error_is_the_third_exit_code(capsys, files):
    assert "--delta must be at least 0" in refused(capsys, *files[:2], "--delta", "1")


def test_json_is_the_result(capsys, files):
    arguments = ["--delta", "0.01", "--confidence", "0.9", "--json"]
    assert main(["audit", *files[:2], *arguments]) == 0
    content = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert content["schema"] == "mialeak.audit/2"
    assert content["limit"] is None
    result = audit(*files[2:], delta=0.01, confidence=0.9).to_dict()
    assert content["claim"] is result.pop("claimed_epsilon") is result.pop("verdict") is None
    for name, value in result.items():
        assert content[name] == value


def test_small_scores_of_members(capsys, files, tmp_path):
    paths = str(tmp_path / "a.npy"), str(tmp_path / "b.npy")
    for path, scores in zip(paths, files[2:], strict=True):
        np.save(path, -scores)
    main(["audit", *files[:2], "--json"])
    first = json.loads(capsys.readouterr().out)
    main(["audit", *paths, "--lower-is-member", "--json"])
    assert json.loads(capsys.readouterr().out) == first


def test_csv_and_parquet_hold_scores_too(capsys, files, tmp_path):
    csv, parquet = str(tmp_path / "in.csv"), str(tmp_path / "out.parquet")
    (tmp_path / "in.csv").write_text("score\n" + "\n".join(map(repr, files[2].tolist())) + "\n")
    pq.write_table(pa.table({"score": files[3]}), parquet)
    main(["audit", *files[:2]])
    first = capsys.readouterr().out
    assert main(["audit", csv, parquet]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("kind", [[], ["--shadow"]])
def test_a_format_that_no_suffix_states_is_named_by_its_option(capsys, shadow, tmp_path, kind):
    paths = [str(tmp_path / f"{name}.txt") for name in ("scores", "members")]
    tables = shadow[2:] if kind else (np.linspace(1, 3, 90), np.linspace(-2, 2, 80))
    for path, table in zip(paths, tables, strict=True):
        heads = ",".join(f"s{k}" for k in range(table[0].size))
        np.savetxt(path, table, delimiter=",", header=heads, comments="")
    assert refused(capsys, *kind, *paths).endswith("or name its format with --format")
    assert main(["audit", *kind, *paths, "--format", "csv"]) == 0
    assert capsys.readouterr().err == ""


def test_a_score_that_is_missing_is_counted(capsys, files, tmp_path):
    parquet = str(tmp_path / "in.parquet")
    pq.write_table(pa.table({"score": [0.5, None, 1.5, None]}), parquet)
    message = refused(capsys, parquet, files[1])
    assert message == f"{parquet} must have a score in every row; 2 have none"


def test_one_run(capsys, tmp_path):
    rng = np.random.default_rng(1)
    member = rng.integers(0, 2, 300)
    scores = rng.normal(3.0 * member)
    paths = str(tmp_path / "scores.npy"), str(tmp_path / "member.npy")
    np.save(paths[0], scores)
    np.save(paths[1], member)
    bound = one_run_audit(scores, member).epsilon_lower
    assert main(["audit", *paths, "--one-run"]) == 0
    answer = f"Epsilon is at least {at_most(bound)}, with confidence 95%, if a fair coin put each "
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"{answer}of the 300 canaries in. ")
    assert main(["audit", *paths, "--one-run", "--max-epsilon", "1"]) == 2
    np.save(paths[1], member[:200])
    message = refused(capsys, *paths, "--one-run")
    assert message == f"{paths[1]} must have one flag for each score; it has 200 for 300"


def test_scores_and_flags_of_one_file(capsys, tmp_path):
    """One CSV with a loss and a member column, as an engineer has it."""
    rng = np.random.default_rng(5)
    member = rng.integers(0, 2, 300)
    losses = rng.normal(-3.0 * member)
    path = tmp_path / "canaries.csv"
    lines = [f"{i},{x!r},{member[i] == 1}" for i, x in enumerate(losses.tolist())]
    path.write_text("\n".join(["id,loss,member", *lines]) + "\n")
    columns = ["--member", "member", "--score", "loss", "--lower-is-member"]
    bound = one_run_audit(losses, member, higher_is_member=False).epsilon_lower
    assert main(["audit", str(path), "--one-run", *columns, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_lower"] == bound
    assert main(["audit", str(path), "--stream", *columns, "--max-epsilon", "1"]) == 2
    page = tmp_path / "page.html"
    assert main(["audit", str(path), "--one-run", *columns, "--html", str(page)]) == 0
    assert fingerprint(path) in page.read_text(encoding="utf-8")
    path.write_text("\n".join(line.split(",", 1)[1] for line in path.read_text().split()) + "\n")
    columns = ["--member", "member", "--lower-is-member", "--json"]  # one other column: the scores
    capsys.readouterr()
    assert main(["audit", str(path), "--one-run", *columns]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_lower"] == bound


def test_an_array_is_called_as_its_file(capsys, tmp_path):
    """A weak attack by losses, the direction forgotten: the gate would pass."""
    rng = np.random.default_rng(6)
    for name, scores in (("loss", rng.normal(-0.1, 1, 60)), ("out", rng.normal(0, 1, 60))):
        np.save(tmp_path / f"{name}.npy", scores)
    paths = [str(tmp_path / f"{name}.npy") for name in ("loss", "out")]
    message = refused(capsys, *paths, "--max-epsilon", "1")
    assert message.startswith(f"{paths[0]} must be larger for members; it has scores called 'loss'")
    assert main(["audit", *paths, "--max-epsilon", "1", "--lower-is-member"]) == 0


def test_a_picture(files, tmp_path):
    path = tmp_path / "audit.png"
    assert main(["audit", *files[:2], "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_bad_files_and_options_are_named(capsys, files, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n")
    assert "must have one column, of scores; it has 2" in refused(capsys, str(path), files[1])
    path.write_text("a\nhigh\n")
    assert "must hold numbers as scores, and 1 and 0 (or true and false) as flags" in refused(
        capsys, str(path), files[1]
    )
    path.write_text("loss;member\n1.5;1\n2.5;0\n")
    assert "name it with --delimiter" in refused(
        capsys, str(path), "--one-run", "--member", "member"
    )
    path.write_text('a\n1\n""\n')
    assert "must have a score in every row; 1 have none" in refused(capsys, str(path), files[1])
    np.save(tmp_path / "nan.npy", [1.0, np.nan])
    message = refused(capsys, str(tmp_path / "nan.npy"), files[1])
    assert message.startswith(f"{tmp_path / 'nan.npy'} must be free of NaN, which 1 of 2 are")
    assert "No such file" in refused(capsys, str(tmp_path / "none.npy"), files[1])
    assert "--max-epsilon must be at least 0" in refused(capsys, *files[:2], "--max-epsilon", "-1")
    assert "leave out --one-run" in refused(capsys, *files[:2], "--one-run", "--plot", "x.png")
    assert "required: OUT" in refused(capsys, files[0])


def test_scores_that_do_not_fit_are_named(capsys, files, tmp_path):
    scores, member = str(tmp_path / "scores.npy"), str(tmp_path / "member.npy")
    np.save(scores, np.arange(4.0))
    np.save(member, [0, 1])
    message = refused(capsys, scores, member, "--one-run")
    assert message == f"{member} must have one flag for each score; it has 2 for 4"
    np.save(member, [0, 1, 2, 1])
    assert refused(capsys, scores, member, "--one-run").startswith(f"{member} must hold 0 and 1")
    np.save(scores, [])
    for pair in ((scores, files[1]), (files[0], scores)):
        assert refused(capsys, *pair) == f"{scores} must hold at least one score"
    message = refused(capsys, *files[:2], "--confidence", "1")
    assert message.startswith("--confidence must be strictly between 0 and 1; got 1")


def test_a_page(files, tmp_path, capsys):
    path = tmp_path / "audit.html"
    assert main(["audit", *files[:2], "--max-epsilon", "0.5", "--html", str(path)]) == 2
    page = path.read_text(encoding="utf-8")
    assert capsys.readouterr().out.splitlines()[0] in page
    assert page.count("<img") == 2
    assert "Each score is of a run of its own" in page
    assert 'class="verdict over"' in page
    assert fingerprint(files[0]) in page
    assert fingerprint(files[1]) in page


def test_a_page_of_one_run_draws_what_is_proved(tmp_path, capsys):
    member = np.random.default_rng(0).permutation(100) % 2
    paths = str(tmp_path / "scores.npy"), str(tmp_path / "member.npy")
    np.save(paths[0], 2.0 * member)
    np.save(paths[1], member)
    path = tmp_path / "audit.html"
    assert main(["audit", *paths, "--one-run", "--html", str(path)]) == 0
    page = path.read_text(encoding="utf-8")
    assert capsys.readouterr().out.splitlines()[0] in page
    assert page.count("<img") == 1
    assert "a fair coin of its own" in page


@pytest.mark.parametrize(
    ("option", "sign", "cure"),
    [("", 1, "pass --lower-is-member"), ("--lower-is-member", -1, "leave out --lower-is-member")],
)
def test_a_direction_that_may_be_wrong_is_named(capsys, tmp_path, option, sign, cure):
    """Too weak for an error: the gate passes, and the answer says what may be wrong."""
    rng = np.random.default_rng(0)
    out, order = rng.normal(size=200), rng.permutation(400)
    member = order % 2
    arrays = out - 0.2, out, out.repeat(2)[order] - 0.2 * member, member
    paths = [str(tmp_path / f"{name}.npy") for name in ("in", "out", "scores", "member")]
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, array if array is member else sign * array)
    for one_run, words in ((False, "below 1/2"), (True, "fewer than half")):
        files = [*paths[2:], "--one-run"] if one_run else paths[:2]
        assert main(["audit", *files, "--max-epsilon", "1", *option.split()]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert words in text
        assert f"for members, as {'confidences' if option else 'losses'} do, {cure}" in text


@pytest.fixture
def shadow(tmp_path):
    rng = np.random.default_rng(1)
    members = rng.random((40, 30)) < 0.5
    scores = rng.normal(size=members.shape) + members * np.where(np.arange(30) < 5, 4.0, 0.0)
    paths = str(tmp_path / "scores.npy"), str(tmp_path / "members.npy")
    np.save(paths[0], scores)
    np.save(paths[1], members)
    return *paths, scores, members


def test_shadow_models(capsys, shadow, tmp_path):
    result = shadow_audit(*shadow[2:], claimed_epsilon=0.1)
    arguments = ["audit", "--shadow", *shadow[:2], "--claimed-epsilon", "0.1"]
    assert main([*arguments, "--json"]) == 2  # the claim is refuted
    content = json.loads(capsys.readouterr().out)
    assert content["proved"] == np.flatnonzero(result.proved).tolist() == [0, 1, 2, 3, 4]
    assert content["epsilon_lower"] == result.epsilon_lower.tolist()
    assert main([*arguments, "--max-epsilon", "0.2"]) == 2
    out = capsys.readouterr().out
    assert out.startswith("5 of 30 examples are proved to have an epsilon above 0.1, all of them")
    words = (
        "The claimed epsilon 0.1 (an example added or removed) is refuted. This is at delta = 0:"
    )
    assert f"{words} no claim with a larger delta is judged." in " ".join(out.split())
    assert main([*arguments[:-2], "--max-epsilon", "9"]) == 3  # no bound could be above
    silent = tmp_path / "silent.npy"
    np.save(silent, np.random.default_rng(2).normal(size=shadow[3].shape))
    for claim, code, word in (("0.1", 0, "not refuted"), ("9", 3, "not testable")):
        line = ["audit", "--shadow", str(silent), shadow[1], "--claimed-epsilon", claim]
        assert main(line) == code
        words = f"The claimed epsilon {claim} (an example added or removed) is {word}."
        assert words in " ".join(capsys.readouterr().out.split())
    csv = [str(tmp_path / f"{name}.csv") for name in ("scores", "members")]
    for path, table in zip(csv, shadow[2:], strict=True):
        header = ",".join(f"x{i}" for i in range(30))
        np.savetxt(path, 1.0 * table, delimiter=",", header=header, comments="")
    assert main(["audit", "--shadow", *csv, "--claimed-epsilon", "0.1", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["p_values"] == content["p_values"]


def test_transposed_shadow_models_have_a_caution(capsys, tmp_path):
    rng = np.random.default_rng(0)
    members = rng.random((40, 300)) < 0.5
    scores = rng.normal(1.0 * members) + rng.normal(size=300)
    paths = [str(tmp_path / f"{name}.npy") for name in ("scores", "members")]
    for path, table in zip(paths, (scores.T, members.T), strict=True):
        np.save(path, table)
    gate = ["audit", "--shadow", *paths, "--max-epsilon", "3"]
    assert main(gate) == 3
    out = capsys.readouterr().out
    assert out.startswith("Caution: The 300 rows of scores, which are models, differ from one")
    assert "This is undecided" in out
    assert main([*gate, "--accept-cautions", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["cautions"]) == 1


def test_a_stream(capsys, tmp_path):
    rng = np.random.default_rng(2)
    member = rng.random(300) < 0.5
    paths = str(tmp_path / "scores.npy"), str(tmp_path / "member.npy")
    np.save(paths[0], -rng.normal(3.0 * member))
    np.save(paths[1], member * 1)
    arguments = ["audit", "--stream", *paths, "--lower-is-member"]
    assert main([*arguments, "--json", "--max-epsilon", "1"]) == 2
    content = json.loads(capsys.readouterr().out)
    assert content["epsilon_lower"] > 1.0
    assert 0 < content["exceeded_after"] < 300
    assert main(arguments) == 0
    assert "at all moments" in capsys.readouterr().out
    assert main([*arguments, "--max-epsilon", "9"]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert "gate cannot fail: of so many canaries even a perfect attack proves at most" in text
    message = "--delta must be 0 with --stream: no bound with a delta is proved for it"
    assert refused(capsys, "--stream", *paths, "--delta", "1e-5") == message
    assert "leave out --shadow" in refused(capsys, "--shadow", *paths, "--plot", "x.png")
    np.save(paths[1], np.ones(4))
    assert "must have one flag for each score" in refused(capsys, "--stream", *paths)


def test_another_delimiter_is_that_of_all_files(capsys, tmp_path):
    rng = np.random.default_rng(2)
    member = rng.integers(0, 2, 200)
    loss = rng.normal(3.0 * member)
    table, pair = tmp_path / "canaries.csv", tmp_path / "comma.csv"
    for path, mark in ((table, ";"), (pair, ",")):
        flags = [str(b) if path is table else "ny"[b] for b in member]
        rows = [f"{a:.6f}{mark}{flag}" for a, flag in zip(loss, flags, strict=True)]
        path.write_text("\n".join([f"score{mark}member", *rows]))
    options = ["--one-run", "--member", "member"]
    assert main(["audit", str(table), *options, "--delimiter", ";", "--json"]) == 0
    proved = json.loads(capsys.readouterr().out)["epsilon_lower"]
    assert proved > 1.0
    words = refused(capsys, str(pair), *options)
    assert "1 and 0 (or true and false) as flags; one entry is '" in words
    scores = tmp_path / "models.csv"
    np.savetxt(scores, rng.normal(size=(9, 5)), delimiter=";", header="a;b;c;d;e", comments="")
    flags = tmp_path / "coins.csv"
    coins = rng.integers(0, 2, (9, 5))
    np.savetxt(flags, coins, "%d", delimiter=";", header="a;b;c;d;e", comments="")
    assert main(["audit", "--shadow", str(scores), str(flags), "--delimiter", ";"]) == 0


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        *((name, True) for name in ("neg_log_likelihood", "NegLogProb", "-log p", "1-confidence")),
        *((name, True) for name in ("ce", "BCE", "logloss", "entropy", "neg_log_lik", "loss_out")),
        *((name, False) for name in ("neg_log_loss", "neg_nll", "p_member", "logit", "-loss")),
    ],
)
def test_names_of_scores_that_speak_for_members_by_their_size(capsys, tmp_path, name, lower):
    """Too weak for the area under the curve to show the sign: only the name does."""
    rng = np.random.default_rng(3)
    member = rng.integers(0, 2, 300)
    table = np.column_stack([rng.normal((-0.1 if lower else 0.1) * member), member])
    path = str(tmp_path / "canaries.csv")
    np.savetxt(path, table, "%.17g", ",", header=f"{name},member", comments="")
    line = [path, "--one-run", "--member", "member"]
    right, wrong = (["--lower-is-member"], []) if lower else ([], ["--lower-is-member"])
    assert main(["audit", *line, *right]) == 0
    capsys.readouterr()
    size, cure = ("small", "Pass") if lower else ("large", "Leave out")
    words = f"has scores called {name!r}, of which {size} values are evidence for members. {cure}"
    assert words in refused(capsys, *line, *wrong)


@pytest.mark.parametrize("name", ["loss_ratio", "delta_loss", "calibrated_ce", "score", "p_out"])
def test_names_of_scores_without_a_direction(tmp_path, name):
    rng = np.random.default_rng(3)
    member = rng.integers(0, 2, 300)
    table = np.column_stack([rng.normal(size=300), member])
    path = str(tmp_path / "canaries.csv")
    np.savetxt(path, table, "%.17g", ",", header=f"{name},member", comments="")
    for option in ([], ["--lower-is-member"]):
        assert main(["audit", path, "--one-run", "--member", "member", *option]) == 0


@pytest.mark.parametrize("name", ["not_in_train", "left_out", "removed", "test_set", "control"])
def test_names_of_flags_of_those_left_out(capsys, tmp_path, name):
    rng = np.random.default_rng(3)
    out = rng.integers(0, 2, 300)
    path = str(tmp_path / "canaries.csv")
    table = np.column_stack([rng.normal(-0.1 * out), out])
    np.savetxt(path, table, "%.17g", ",", header=f"score,{name}", comments="")
    words = refused(capsys, path, "--one-run", "--member", name)
    assert f"its flags are called {name!r}. Exchange 0 and 1" in words


def _gated(capsys, paths, *options):
    """The exit code of a claim, and the report on one line."""
    code = main(["audit", *paths, *options, "--claimed-epsilon", "9"])
    return code, " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("options", [[], ["--one-run"]])
@pytest.mark.parametrize("jitter", [0.0, 1e-6, 0.2, np.inf])
def test_scores_that_may_be_the_coins_have_a_caution(capsys, tmp_path, options, jitter):
    rng = np.random.default_rng(0)
    member = rng.integers(0, 2, 300)
    scores = 2.0 * member - 1.0 + (jitter if np.isfinite(jitter) else 0.0) * rng.uniform(-1, 1, 300)
    if jitter == np.inf:  # of members only, as where a logarithm overflows
        scores = np.where(member == 1, np.inf, rng.normal(size=300))
    pair = (scores, member) if options else (scores[member == 1], rng.normal(-9.0, 0.1, 150))
    paths = [str(tmp_path / f"{name}.npy") for name in "ab"]
    for path, array in zip(paths, pair, strict=True):
        np.save(path, array)
    code, text = _gated(capsys, paths, *options)
    assert code == 3
    assert text.startswith("Caution: All scores of members lie above all others, by more than")
    assert main(["audit", *paths, *options, "--claimed-epsilon", "1"]) == 2  # refuted nevertheless
    assert capsys.readouterr().out.startswith("Caution: All scores of members lie above")
    weak = rng.normal(8.0 * member)  # a strong attack, whose scores differ as scores do
    pair = (weak, member) if options else (weak[member == 1], weak[member == 0])
    for path, array in zip(paths, pair, strict=True):
        np.save(path, array)
    assert main(["audit", *paths, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cautions"] == []


def test_sorted_scores_of_separate_runs_have_a_caution(capsys, files):
    for path, scores in zip(files[:2], files[2:], strict=True):
        np.save(path, np.sort(scores))
    gate = ["audit", *files[:2], "--max-epsilon", "4"]
    assert main(gate) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("Caution: The scores are sorted, so that their order does not show")
    assert main([*gate, "--accept-cautions"]) == 0


def test_sorted_scores_of_canaries_have_a_caution_and_no_traceback(capsys, tmp_path):
    rng = np.random.default_rng(0)
    member = rng.integers(0, 2, 300)
    paths = [str(tmp_path / f"{name}.npy") for name in "ab"]
    np.save(paths[0], np.sort(rng.normal(3.0 * member)))
    np.save(paths[1], member)
    assert main(["audit", *paths, "--one-run", "--claimed-epsilon", "1"]) == 3
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("Caution: The scores are sorted, and with these flags they")


@pytest.mark.parametrize("names", ["member nonmember", "member_loss non_member_loss"])
def test_members_and_others_of_one_model_are_refused_by_name(capsys, tmp_path, names):
    rng = np.random.default_rng(0)
    paths = [str(tmp_path / f"{name}.npy") for name in names.split()]
    for path in paths:
        np.save(path, rng.normal(size=90))
    words = refused(capsys, *paths, "--lower-is-member")
    assert "of members and others of one model: no bound follows from them" in words
