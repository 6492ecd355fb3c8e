"""Weights of a federated average are noticed: its means leak more than those of equal rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.cli import main
from mialeak.means import mean_leakage

RNG = np.random.default_rng(8)
N_CLIENTS = 200
SIZES = RNG.integers(10, 2000, N_CLIENTS)
UPDATES = pd.DataFrame(RNG.normal(size=(N_CLIENTS, 6)), columns=[f"w{j}" for j in range(6)])

NAMES = "num_examples n_k num_samples n_samples nk num_train_examples dataset_size sampleCount"


def sentences(report):
    return [each for each in report.caveats if "no mean here is weighted" in each]


@pytest.mark.parametrize("name", [*NAMES.lower().split(), "sample_weight"])
def test_weights_that_are_left_out_are_noticed(name):
    report = mean_leakage(UPDATES.assign(**{name: SIZES}), exclude=[name])
    (sentence,) = sentences(report)
    assert repr(name) in sentence
    assert "Weighted means leak more about the rows of large weights" in sentence
    assert not report.cautions


@pytest.mark.parametrize("name", ["num_examples", "n_k", "dataset_size"])
def test_weights_among_the_columns_are_noticed(name):
    report = mean_leakage(UPDATES.assign(**{name: SIZES}))
    (caution,) = [each for each in report.cautions if "and is averaged here" in each]
    assert f"Column {name!r} has the name of the weight of a federated average" in caution
    assert f"exclude=[{name!r}]" in caution


def test_shares_that_are_called_weight_are_weights_and_kilograms_are_none():
    for scale in (SIZES.sum(), SIZES.mean()):
        report = mean_leakage(UPDATES.assign(weight=SIZES / scale), exclude=["weight"])
        assert len(sentences(report)) == 1
    body = RNG.normal(75.0, 12.0, N_CLIENTS).round(1)
    assert not sentences(mean_leakage(UPDATES.assign(weight=body), exclude=["weight"]))
    assert not mean_leakage(UPDATES.assign(weight=body)).cautions


@pytest.mark.parametrize("name", ["num_tokens", "points", "size", "n_visits", "number_of_children"])
def test_other_numbers_are_no_weights(name):
    report = mean_leakage(UPDATES.assign(**{name: SIZES % 40}))
    assert not [each for each in report.cautions if "weight" in each]
    assert not sentences(mean_leakage(UPDATES.assign(**{name: SIZES % 40}), exclude=[name]))


def test_the_shell_states_both(capsys, tmp_path):
    path = str(tmp_path / "round.csv")
    UPDATES.assign(num_examples=SIZES).to_csv(path, index=False)
    assert main(["mean", path, "--exclude", "num_examples"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "All rows have the same weight in each mean." in text
    assert "'num_examples' has the name of the weight of a federated average, and no mean" in text


def test_the_largest_weights_leak_more_by_simulation():
    """A weighted mean in one column: the advantage of an attack on its value, by 20,000 draws."""
    shares = SIZES / SIZES.sum()
    largest = int(np.argmax(shares))
    rng = np.random.default_rng(1)
    target = 3.0
    others = rng.normal(size=(20_000, N_CLIENTS))
    outside = others @ shares
    inside = outside + shares[largest] * (target - others[:, largest])
    cut = 0.5 * (inside.mean() + outside.mean())
    weighted = (inside > cut).mean() - (outside > cut).mean()
    plain = others.mean(axis=1)
    moved = plain + (target - others[:, largest]) / N_CLIENTS
    cut = 0.5 * (moved.mean() + plain.mean())
    assert weighted > (moved > cut).mean() - (plain > cut).mean() + 0.02
