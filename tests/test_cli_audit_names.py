"""Names of files and of their values in ``mialeak audit``: they say what the scores are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

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
