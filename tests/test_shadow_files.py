"""Files of shadow models: columns and rows are matched by the names that both files have."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from mialeak.auditing import AuditStream, one_run_audit, shadow_audit
from mialeak.cli import main

#: Examples 20 to 29 leak.
LEAKS = np.arange(40) // 10 == 2


@pytest.fixture
def frames():
    """Scores and flags of 64 models and 40 examples, the names in the order of the numbers."""
    rng = np.random.default_rng(11)
    members = rng.random((64, 40)) < 0.5
    scores = rng.normal(4.0 * members * LEAKS)
    models = [f"model_{k}" for k in range(64)]
    names = [f"img_{k}" for k in range(40)]
    return tuple(pd.DataFrame(1 * each, models, names) for each in (scores, members))


def proved(capsys, tmp_path, scores, members, **how):
    """The names of the examples that the shell proves to leak."""
    paths = [tmp_path / "scores.csv", tmp_path / "members.csv"]
    for path, frame in zip(paths, (scores, members), strict=True):
        frame.to_csv(path, **how)
    assert main(["audit", "--shadow", *map(str, paths), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    return sorted(content["names"][place] for place in content["proved"])


def test_columns_in_another_order_are_matched_by_their_names(capsys, tmp_path, frames):
    """pandas.pivot sorts names: img_0, img_1, img_10, ..."""
    scores, members = frames
    wanted = [f"img_{k}" for k in np.flatnonzero(LEAKS)]
    sorted_ = scores[sorted(scores.columns)]
    assert list(sorted_.columns) != list(scores.columns)
    for first in (scores, sorted_):
        assert proved(capsys, tmp_path, first, members, index=False) == wanted
    strangers = members.set_axis([f"keep {name}" for name in members.columns], axis=1)
    assert proved(capsys, tmp_path, scores, strangers, index=False) == wanted  # as they stand


@pytest.mark.parametrize("names", ["words", "numbers"])
def test_rows_are_matched_by_the_column_that_names_models(capsys, tmp_path, frames, names):
    scores, members = frames
    if names == "numbers":
        scores, members = (each.set_axis(range(7, 71)) for each in frames)
    wanted = [f"img_{k}" for k in np.flatnonzero(LEAKS)]
    turned = scores.sample(frac=1.0, random_state=0)
    assert proved(capsys, tmp_path, turned, members, index_label="model") == wanted


def test_examples_that_count_from_0_and_from_1_are_not_joined(capsys, tmp_path, frames):
    paths = [tmp_path / "scores.csv", tmp_path / "members.csv"]
    for path, frame, start in zip(paths, frames, (0, 1), strict=True):
        names = [f"img_{k + start}" for k in range(frame.shape[1])]
        frame.set_axis(names, axis=1).to_csv(path, index=False)
    assert main(["audit", "--shadow", *map(str, paths)]) == 1
    assert "One counts from 0 and the other from 1" in " ".join(capsys.readouterr().err.split())


def test_the_report_names_examples_as_the_columns_are_named(capsys, tmp_path, frames):
    result = shadow_audit(*frames)
    assert result.names == tuple(frames[0].columns)
    worst = result.names[int(np.argmax(result.epsilon_lower))]
    assert f"\n   {worst} " in str(result)
    assert list(result.to_frame()["example"]) == list(result.names)
    plain = shadow_audit(*(each.to_numpy() for each in frames))
    assert plain.names is None
    assert list(plain.to_frame()["example"]) == list(range(40))
    np.save(tmp_path / "scores.npy", frames[0].to_numpy())
    np.save(tmp_path / "members.npy", frames[1].to_numpy())
    paths = [str(tmp_path / f"{name}.npy") for name in ("scores", "members")]
    assert main(["audit", "--shadow", *paths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] is None


def test_a_transposed_file_is_refused_by_its_shape(capsys, tmp_path, frames):
    paths = [tmp_path / "scores.csv", tmp_path / "members.csv"]
    for path, frame in zip(paths, (frames[0], frames[1].T), strict=True):
        pd.DataFrame(frame.to_numpy()).to_csv(path, index=False)
    assert main(["audit", "--shadow", *map(str, paths)]) == 1
    assert "one of the two is transposed" in capsys.readouterr().err


@pytest.mark.parametrize("axes", [1, 2])
def test_an_axis_of_queries_is_named_with_its_cure(tmp_path, capsys, axes):
    """LiRA stores models by examples by queries."""
    scores, members = np.zeros((8, 5, axes)), np.zeros((8, 5))
    with pytest.raises(ValueError, match=r"\(8, 5, .\). .* such as scores.mean\(axis=2\)"):
        shadow_audit(scores, members)
    with pytest.raises(ValueError, match=r"such as members\[:, :, 0\]"):
        shadow_audit(members, scores)
    np.save(tmp_path / "s.npy", scores)
    np.save(tmp_path / "m.npy", members)
    for option, cure in (("--shadow", "save one number, such as their mean"), ("", "mean(axis=2)")):
        line = ["audit", str(tmp_path / "s.npy"), str(tmp_path / "m.npy"), option]
        assert main(list(filter(None, line))) == 1
        assert cure in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("call", [one_run_audit, AuditStream().update])
def test_models_by_examples_are_no_canaries_of_one_run(call):
    with pytest.raises(ValueError, match=r"its shape is \(8, 5\). For shadow models .* its row"):
        call(np.zeros((8, 5)), np.zeros((8, 5)))


def test_matrices_whose_axes_are_named_are_not_taken_transposed(capsys, tmp_path, frames):
    """pandas.pivot names both axes; in a file the name of the rows is that of the first column."""
    words = "must have a model in each row and an example in each column; by their names rows are "
    named = [each.rename_axis("model").rename_axis("example", axis=1) for each in frames]
    assert shadow_audit(*named).proved.sum() == LEAKS.sum()
    turned = [each.T for each in named]
    for rows, columns in (("example", "model"), ("example", None), (None, "model"), (None, None)):
        pair = [each.rename_axis(rows).rename_axis(columns, axis=1) for each in turned]
        with pytest.raises(ValueError, match=f"scores {words}"):
            shadow_audit(*pair)
    paths = [str(tmp_path / f"{name}.csv") for name in ("turned", "flags")]
    for path, frame in zip(paths, turned, strict=True):
        frame.set_axis(range(64), axis=1).to_csv(path)
    assert main(["audit", "--shadow", *paths]) == 1
    assert f"turned.csv {words}'example'" in capsys.readouterr().err
    # Names that say nothing of the axes are taken: the scores decide.
    other = [each.T.set_axis(range(64), axis=1).rename_axis("id") for each in frames]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert shadow_audit(*(each.reset_index(drop=True) for each in other)).n_models == 40


def test_a_row_beside_a_column_and_a_file_with_both_matrices_are_named(capsys, tmp_path, frames):
    scores, flags, both = (str(tmp_path / name) for name in ("s.npy", "m.npy", "both.npz"))
    np.save(scores, np.arange(64.0)[:, None] % 7.3)
    np.save(flags, 1 * frames[1].to_numpy()[None, :, 0])
    np.savez(both, scores=frames[0], members=frames[1])
    for line, words in (
        ([scores, flags, "--one-run"], "m.npy must have one column, a row for each score; its"),
        ([both, "--shadow"], "OUT, a file with the matrix of flags"),
        ([both, flags, "--shadow"], "both.npz must hold one array; it holds 2"),
    ):
        assert main(["audit", *line]) == 1
        assert words in " ".join(capsys.readouterr().err.split())
