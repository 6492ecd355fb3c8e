"""Names of files and of their values in ``mialeak audit``: they say what the scores are."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mialeak.auditing import one_run_audit
from mialeak.cli import main

RNG = np.random.default_rng(5)
SHARES, NUMBERS = RNG.beta(5.0, 2.0, (2, 300)), RNG.normal(size=(2, 300))
LOWER = ("--lower-is-member",)


def answered(capsys, first, second, *more, worlds=NUMBERS):
    """The exit code of two arrays beside a limit, and what is printed."""
    for path, values in zip((first, second), worlds, strict=True):
        path.parent.mkdir(exist_ok=True)
        np.save(path, values)
    capsys.readouterr()
    code = main(["audit", str(first), str(second), "--max-epsilon", "3", *more])
    captured = capsys.readouterr()
    return code, captured.err or captured.out


@pytest.mark.parametrize(
    ("first", "second", "worlds", "more", "words"),
    [
        ("conf_in", "logit_out", NUMBERS, (), "'conf_in' and 'logit_out' are two"),
        ("in_mse", "out_rmse", NUMBERS**2, LOWER, "'in_mse' and 'out_rmse' are two"),
        ("in_acc", "out_acc", SHARES * [[100.0], [1.0]], (), "in per cent, and 'out_acc' up to"),
        ("in_pct", "out_pct", SHARES * [[1.0], [100.0]], (), "in per cent, and 'in_pct' up to"),
        ("in_eps1", "out_eps8", NUMBERS, (), "eps is 1 in one and 8 in the other"),
        ("sigma1.5/s", "sigma4/s", NUMBERS, (), "sigma is 1.5 in one and 4 in the other"),
        ("in_lr1e-3_b", "out_lr1e-2_b", NUMBERS, (), "lr is 0.001 in one and 0.01 in the other"),
    ],
)
def test_files_of_two_quantities_units_or_settings_are_refused(
    capsys, tmp_path, first, second, worlds, more, words
):
    paths = tmp_path / f"{first}.npy", tmp_path / f"{second}.npy"
    code, text = answered(capsys, *paths, *more, worlds=worlds)
    assert code == 1
    assert words in text


@pytest.mark.parametrize(("first", "second"), [("nats", "bits"), ("sum_s", "mean_s")])
def test_files_of_two_units_have_a_caution(capsys, tmp_path, first, second):
    paths = tmp_path / f"in_{first}.npy", tmp_path / f"out_{second}.npy"
    code, text = answered(capsys, *paths)
    assert code == 3
    assert text.startswith(f"Caution: Scores of the two worlds have two names, 'in_{first}' and")


@pytest.mark.parametrize(
    ("first", "second"),
    [("alice", "fresh"), ("in_seed1", "out_seed2"), ("d_eps8_v1", "dprime_eps8_v2"), ("h1", "h0")],
)
def test_other_names_of_files_are_taken(capsys, tmp_path, first, second):
    code, text = answered(capsys, tmp_path / f"{first}.npy", tmp_path / f"{second}.npy")
    assert code == 0
    assert "Caution" not in text
    inside = tmp_path / "loss_in_v2.npy"  # whose "in v" is no "inv"
    assert answered(capsys, inside, tmp_path / "loss_out_v2.npy", *LOWER)[0] == 0


def test_files_with_a_column_of_no_quantity_are_called_as_they_are(capsys, tmp_path):
    paths = [tmp_path / f"{name}.csv" for name in ("conf_in", "logit_out")]
    for path, scores in zip(paths, NUMBERS, strict=True):
        pd.DataFrame({"score": scores}).to_csv(path, index=False)
    assert main(["audit", *map(str, paths)]) == 1
    assert "'conf_in score' and 'logit_out score' are two" in capsys.readouterr().err


MEMBER = RNG.random(300) < 0.5


def proved(capsys, frame, path):
    """The bound of a file with the columns score and member."""
    write = {".csv": frame.to_csv, ".parquet": frame.to_parquet, ".dta": stata(frame)}
    write[path.suffix](path, index=False)
    return bound(capsys, path)


def stata(frame):
    return lambda path, index: frame.to_stata(path, write_index=index)


def bound(capsys, path):
    capsys.readouterr()
    line = ["audit", str(path), "--one-run", "--member", "member", "--json"]
    assert main(line) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)["epsilon_lower"]


@pytest.mark.parametrize(
    ("inside", "outside"),
    [("in", "out"), ("Member", "Nonmember"), ("In training", "Not in training"), ("yes", "no")],
)
def test_flags_with_labels_are_those_of_their_words(capsys, tmp_path, inside, outside):
    """Stata and SPSS number them: in = 0 and out = 1, in the order of the alphabet."""
    pyreadstat = pytest.importorskip("pyreadstat")
    scores = RNG.normal(1.5 * MEMBER)
    expected = one_run_audit(scores, MEMBER).epsilon_lower
    assert expected > 0.5
    words = pd.Categorical(np.where(MEMBER, inside, outside))
    frame = pd.DataFrame({"score": scores, "member": words})
    for name in ("flags.csv", "flags.parquet", "flags.dta"):
        assert proved(capsys, frame, tmp_path / name) == pytest.approx(expected, abs=1e-9)
    frame["member"] = np.where(MEMBER, 0.0, 1.0)
    path = tmp_path / "flags.sav"
    labels = {"member": {0: inside, 1: outside}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    assert bound(capsys, path) == pytest.approx(expected, abs=1e-9)


def test_flags_with_other_labels_are_their_codes(capsys, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    scores = RNG.normal(1.5 * MEMBER)
    frame = pd.DataFrame({"score": scores, "member": MEMBER * 1.0})
    path = tmp_path / "flags.sav"
    labels = {"member": {0: "first", 1: "second"}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    expected = one_run_audit(scores, MEMBER).epsilon_lower
    assert bound(capsys, path) == pytest.approx(expected, abs=1e-9)


def test_a_stream_of_sorted_scores_gives_an_error_alone(capsys, tmp_path, recwarn):
    """No warning of Python, with its file and line, stands above it."""
    rng = np.random.default_rng(0)
    member = rng.random(2000) < 0.5
    scores = rng.normal(0.5 * member)
    order = np.argsort(-scores)
    paths = [str(tmp_path / f"{name}.npy") for name in ("scores", "member")]
    np.save(paths[0], scores[order])
    np.save(paths[1], member[order] * 1)
    capsys.readouterr()
    assert main(["audit", "--stream", *paths]) == 1
    assert not recwarn.list
    error = capsys.readouterr().err
    assert error.startswith("mialeak: error: ")
    assert "If coins did, pass scores and flags in their order" in error
