"""Means of samples without replacement, and of populations known by a panel."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from mialeak import Register, atom_leakage, mean_leakage
from mialeak.cli import main
from mialeak.datasets import load_genotypes
from mialeak.means import mean_tradeoff

RNG = np.random.default_rng(4)
TABLE = {"income": RNG.normal(size=60), "age": RNG.gamma(3.0, size=60)}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_mean_of_a_bit_leaks_what_the_count_of_a_large_register_does(share):
    """The exact leakage of a hypergeometric count, for both values of the bit."""
    people, ones = 10**8, 3 * 10**7
    n, p = round(share * people), 0.3
    exact = atom_leakage(Register([ones, people - ones]), n)
    for bit, truth in zip((1.0, 0.0), exact, strict=True):
        curve = mean_tradeoff([bit], [p], [p * (1 - p)], n, population_size=people)
        assert curve.advantage == pytest.approx(truth, rel=1e-3)


def test_samples_without_replacement_leak_what_attacks_gain():
    """20,000 samples in each world of 40 of 80 people; the best threshold of the linear score."""
    rng, people, n, rounds = np.random.default_rng(5), 80, 40, 20_000
    rows = rng.normal(size=(people, 6))
    z, others = 2.0 * rows[0], rows[1:]
    mean = others.mean(axis=0)
    deviations = others - mean
    cov = deviations.T @ deviations / (people - 2)
    order = np.argsort(rng.random((2, rounds, people - 1)), axis=2)
    out = others[order[0, :, :n]].mean(axis=1)
    inside = (others[order[1, :, : n - 1]].sum(axis=1) + z) / n
    weights = np.linalg.solve(cov, z - mean)
    scores = np.stack([out @ weights, inside @ weights])
    at = np.sort(scores.ravel())
    fpr, power = (1 - np.searchsorted(np.sort(s), at) / rounds for s in scores)
    advantage = mean_tradeoff(z, mean, cov, n, population_size=people).advantage
    assert np.max(power - fpr) == pytest.approx(advantage, abs=0.02)
    infinite = mean_tradeoff(z, mean, cov, n).advantage
    assert np.max(power - fpr) > infinite + 0.05


def test_a_large_population_is_infinite():
    z, mean, cov = [2.0, 1.0], [0.0, 0.0], [1.0, 2.0]
    near = mean_tradeoff(z, mean, cov, 50, population_size=10**12)
    assert near.advantage == pytest.approx(mean_tradeoff(z, mean, cov, 50).advantage, rel=1e-9)


@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("noise_std", [0.0, 0.1])
def test_reports_judge_a_row_as_its_curve_does(rate, noise_std):
    """The mean and covariance of the other rows, here with columns that are uncorrelated."""
    options = {"structure": "diagonal", "sampling_rate": rate, "noise_std": noise_std}
    whole = np.stack(list(TABLE.values()), axis=1)
    finite = mean_leakage(TABLE, population=90, **options)
    panel = mean_leakage(TABLE, panel=25, **options)
    for row in (0, 17):
        others = np.delete(whole, row, axis=0)
        mean, variance = others.mean(axis=0), others.var(axis=0, ddof=1)
        release = {"n": 60, "sampling_rate": rate}
        if noise_std:
            release["release_noise_cov"] = noise_std**2 * whole.var(axis=0)
        curve = mean_tradeoff(whole[row], mean, variance, population_size=90, **release)
        assert finite.leakage[row] == pytest.approx(float(curve.advantage), rel=1e-9)
        curve = mean_tradeoff(whole[row], mean, variance, n_reference=25, **release)
        assert panel.leakage[row] == pytest.approx(float(curve.advantage), rel=1e-9)
    assert (finite.people, finite.panel, panel.people, panel.panel) == (90, None, None, 25)


def test_scores_rise_by_the_share_that_is_not_drawn():
    infinite = mean_leakage(TABLE, structure="full").scores
    assert mean_leakage(TABLE, structure="full", population=90).scores == pytest.approx(
        3 * infinite
    )
    assert mean_leakage(TABLE, structure="full", panel=30).scores == pytest.approx(infinite / 3)
    half = mean_leakage(TABLE, structure="full", population=90, sampling_rate=0.5).scores
    assert half == pytest.approx(2 * infinite * 1.5)


def test_noise_needed_reaches_its_leakage():
    report = mean_leakage(TABLE, structure="full", population=90)
    needed = report.noise_needed(0.1)["riskiest"]
    assert report.leakage_with(needed).max() == pytest.approx(0.1, rel=1e-5)
    assert needed > mean_leakage(TABLE, structure="full").noise_needed(0.1)["riskiest"]


def test_the_report_and_the_shell_name_the_population(tmp_path, capsys):
    report = mean_leakage(TABLE, structure="full", population=90)
    assert "over 60 rows, a sample of 90 people, leaks" in " ".join(report.text().split())
    text = mean_leakage(TABLE, structure="full", panel=30).text()
    assert "who knows the population by a sample of 30 rows and sees" in " ".join(text.split())
    file = tmp_path / "table.csv"
    rows = np.stack(list(TABLE.values()), axis=1)
    np.savetxt(file, rows, fmt="%.17g", delimiter=",", header="income,age", comments="")
    command = ["mean", str(file), "--json"]
    for option, size in (("population", 90), ("panel", 30)):
        assert main([*command, f"--{option}", str(size)]) == 0
        content = json.loads(capsys.readouterr().out)
        expected = mean_leakage(TABLE, **{option: size})
        assert content["average"] == pytest.approx(expected.average, rel=1e-12)
        assert content["people" if option == "population" else "panel"] == size
    assert main([*command, "--population", "60"]) == 1
    assert "--population must be above the 60 rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"population": 60}, ValueError, "population must be above the 60 rows that are drawn"),
        ({"population": 90.0}, TypeError, "population must be an integer"),
        ({"population": TABLE}, ValueError, "population must be above the 60 rows"),
        ({"population": {"income": [1.0]}}, ValueError, "population must be columns of the table"),
        ({"panel": 0}, ValueError, "panel must be between 1"),
        ({"panel": TABLE}, ValueError, "panel must hold other people than the table; it is the"),
        ({"population": 90, "panel": 30}, ValueError, "panel is not available with population"),
        ({"population": 90, "exact": True}, ValueError, "population is not available with exact"),
        ({"panel": 30, "exact": True}, ValueError, "panel is not available with exact"),
    ],
)
def test_what_has_no_answer_is_refused(options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        mean_leakage(TABLE, **options)


@pytest.mark.parametrize("option", ["population", "panel"])
def test_a_report_on_a_population_has_no_exact_rows(option):
    """The exact law is that of independent rows: half of 80 people leak more, a panel less."""
    table = {f"owns_{k}": RNG.integers(0, 2, 40) for k in range(3)}
    assert mean_leakage(table, exact=True).exact_rows(1).rows
    with pytest.raises(ValueError, match=f"{option} is not available with exact"):
        mean_leakage(table, **{option: 80}).exact_rows(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population_size": 50}, "population_size must be above the 50 rows"),
        ({"population_size": 90, "n_reference": 30}, "population_size is not available with n_ref"),
        (
            {"population_size": 90, "sampling": "columnwise-as-published", "sampling_rate": 0.5},
            "population_size is not available with columns sampled one by one",
        ),
    ],
)
def test_curves_without_an_answer_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mean_tradeoff([1.0], [0.0], [1.0], 50, **options)


# --- the register at hand ---------------------------------------------------------------------

PEOPLE = {
    "income": RNG.normal(size=500),
    "age": RNG.gamma(3.0, size=500),
    "owner": RNG.integers(0, 2, size=500),
    "region": np.array(list("nesw"))[RNG.integers(0, 4, size=500)],
}
DRAWN = RNG.choice(500, 120, replace=False)
SAMPLE = {name: values[DRAWN] for name, values in PEOPLE.items()}


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize(("rate", "noise_std"), [(1.0, 0.0), (1.0, 0.1), (0.5, 0.1)])
def test_a_register_gives_the_mean_and_covariance_of_the_other_people(structure, rate, noise_std):
    columns = ["income", "age", "owner"]
    options = {"structure": structure, "sampling_rate": rate, "noise_std": noise_std}
    report = mean_leakage(SAMPLE, columns, population=PEOPLE, **options)
    assert (report.people, report.has_register, report.rows) == (500, True, 120)
    whole = np.stack([PEOPLE[name] for name in columns], axis=1)
    noise = noise_std**2 * whole.var(axis=0)
    for row in (0, 17, 119):
        others = np.delete(whole, DRAWN[row], axis=0)
        mean, cov = others.mean(axis=0), np.cov(others.T)
        release = {"n": 120, "population_size": 500, "sampling_rate": rate}
        if noise_std:
            release["release_noise_cov"] = noise if structure == "diagonal" else np.diag(noise)
        known = np.diag(cov) if structure == "diagonal" else cov
        curve = mean_tradeoff(whole[DRAWN[row]], mean, known, **release)
        assert report.leakage[row] == pytest.approx(float(curve.advantage), rel=1e-9)


def test_samples_of_a_register_leak_what_attacks_gain():
    """20,000 samples in each world of 120 of the 500; the score by all other people."""
    rng, rounds, n = np.random.default_rng(8), 20_000, 120
    report = mean_leakage(SAMPLE, ["income", "age"], population=PEOPLE)
    row = int(np.argmax(report.leakage))
    rows = np.stack([PEOPLE["income"], PEOPLE["age"]], axis=1)
    z, others = rows[DRAWN[row]], np.delete(rows, DRAWN[row], axis=0)
    weights = np.linalg.solve(np.cov(others.T), z - others.mean(axis=0))
    values, own = others @ weights, float(z @ weights)
    scores = np.empty((2, rounds))
    for k in range(rounds):
        order = rng.permutation(499)[:n]
        scores[:, k] = values[order].sum(), values[order[1:]].sum() + own
    at = np.sort(scores.ravel())
    fpr, power = (1 - np.searchsorted(np.sort(s), at) / rounds for s in scores)
    assert np.max(power - fpr) == pytest.approx(report.highest, abs=0.025)


def test_categories_are_matched_by_their_values():
    report = mean_leakage(SAMPLE, population=PEOPLE)
    order = np.random.default_rng(1).permutation(500)
    shuffled = {name: values[order] for name, values in reversed(PEOPLE.items())}
    again = mean_leakage(SAMPLE, population=shuffled)
    assert again.leakage == pytest.approx(report.leakage, rel=1e-9)
    assert "Each row is judged by the mean and covariance of all other people" in " ".join(
        report.text().split()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"income": SAMPLE["income"] + 1e-9}, "it has 0 like row 0, of which the table has 1"),
        ({"income": np.repeat(SAMPLE["income"][:60], 2)}, "it has 0 like row 1"),
        ({"owner": SAMPLE["owner"].astype(str)}, "column 'owner', but one of another type"),
        ({"region": np.array(["x"] * 120)}, "It has no 'x' in column 'region'"),
    ],
)
def test_a_row_that_is_none_of_the_people_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        mean_leakage({**SAMPLE, **change}, population=PEOPLE, categories=["region"])


def test_columns_of_another_kind_are_refused():
    people = {**PEOPLE, "owner": PEOPLE["owner"].astype(str)}
    message = "population must hold numbers in column 'owner', as the table does; it holds text"
    with pytest.raises(ValueError, match=message):
        mean_leakage(SAMPLE, population=people)


def test_a_person_counts_once():
    twice = {name: np.append(values, values[:1]) for name, values in SAMPLE.items()}
    with pytest.raises(ValueError, match="it has 1 like row 0, of which the table has 2"):
        mean_leakage(twice, population=PEOPLE)


def test_the_shell_takes_a_register(tmp_path, capsys):
    for name, table in (("people", PEOPLE), ("sample", SAMPLE)):
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    sample, people = str(tmp_path / "sample.csv"), str(tmp_path / "people.csv")
    assert main(["mean", sample, "--population", people, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["people"], content["has_register"]) == (500, True)
    expected = mean_leakage(SAMPLE, population=PEOPLE)
    assert content["highest"] == pytest.approx(expected.highest, rel=1e-12)


GROUP = load_genotypes().columns["superpopulation"]
SITES = pd.DataFrame(load_genotypes().counts).assign(
    age=np.random.default_rng(3).integers(20, 80, len(GROUP)),
    sex=np.random.default_rng(4).choice(["f", "m"], len(GROUP)),
    wealth=np.random.default_rng(5).lognormal(10.0, 2.0, len(GROUP)),
)


def drawn_by_chance(report):
    return not [each for each in report.cautions if "no simple random sample" in each]


@pytest.mark.parametrize("columns", [[*range(0, 127, 3)], ["age", "sex", "wealth"]])
def test_a_random_sample_of_the_register_has_no_caution(columns):
    for seed in range(3):
        for rows in (8, 250):
            table = SITES.sample(rows, random_state=seed)
            report = mean_leakage(table, columns, population=SITES, structure="diagonal")
            assert drawn_by_chance(report)


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        (GROUP == "EUR", "in column 0, "),
        (SITES["age"].to_numpy() < 50, "in column 'age' ("),
        (SITES["sex"].to_numpy() == "f", "in column 'sex' ("),
        (SITES["wealth"].to_numpy() > np.exp(9.0), "in column 'wealth' ("),
    ],
)
def test_the_people_of_a_part_of_the_register_have_a_caution(chosen, named):
    """Europeans of all; the register of Europeans alone is their cure."""
    table = SITES[chosen].sample(250, random_state=1)
    report = mean_leakage(table, population=SITES, structure="diagonal")
    (caution,) = (each for each in report.cautions if "no simple random sample" in each)
    assert named in caution
    alone = mean_leakage(table, population=SITES[chosen], structure="diagonal")
    assert drawn_by_chance(alone)
    assert alone.average > report.average
