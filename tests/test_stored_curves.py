"""Curves to JSON and back, in plans of the shell, and of protected counts."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from mialeak import GaussianTradeOff, PiecewiseTradeOff, TradeOff, compose, exact_mean_tradeoff
from mialeak.cli import main
from mialeak.laws import Bernoulli
from mialeak.mechanisms import Geometric, RandomRound, Suppress
from mialeak.tradeoff import ComposedTradeOff, LaplaceTradeOff

DIRECTIONS = ("in", "out")
STEP = GaussianTradeOff(1.0).subsample(0.1)


def again(curve: TradeOff) -> TradeOff:
    return TradeOff.from_dict(json.loads(json.dumps(curve.to_dict())))


def noise(sigma: float) -> PiecewiseTradeOff:
    p = np.exp(-0.5 * (np.arange(-120, 121) / sigma) ** 2)
    return PiecewiseTradeOff.from_noise(p / p.sum())


@pytest.mark.parametrize(
    "curve",
    [
        GaussianTradeOff(0.7, kind="bound"),
        LaplaceTradeOff(0.4),
        STEP,
        GaussianTradeOff(2.0).subsample(0.01, symmetric=True),
        LaplaceTradeOff(0.4).subsample(0.3),
        PiecewiseTradeOff.from_epsilon(1.0, 1e-3),
        noise(3.0),
        compose(STEP, LaplaceTradeOff(0.4), noise(2.0), GaussianTradeOff(0.5), counts=[5, 2, 1, 1]),
    ],
)
def test_curves_come_back_from_json(curve):
    read = again(curve)
    assert (type(read), read.kind) == (type(curve), curve.kind)
    for epsilon in (0.0, 0.3, 6.0):
        for direction in DIRECTIONS:
            delta = curve.delta(epsilon, direction=direction)
            assert read.delta(epsilon, direction=direction) == pytest.approx(delta, rel=1e-11)
    assert again(read).power(1e-3) == pytest.approx(curve.power(1e-3), rel=1e-12)


def test_small_deltas_of_both_directions_survive_json():
    """1 - power of the vertices has none of these digits: the laws are stored."""
    sigma, epsilon = 3.0, 3.9
    read = again(noise(sigma))
    place = np.arange(-120, 122)
    p, q = (np.exp(-0.5 * ((place - shift) / sigma) ** 2) for shift in (0, 1))
    truth = float(np.maximum(q - np.exp(epsilon) * p, 0.0).sum() / p.sum())
    assert 1e-40 < truth < 1e-25
    for direction in DIRECTIONS:
        assert read.delta(epsilon, direction=direction) == pytest.approx(truth, rel=1e-11)


def test_vertices_of_another_program_are_read():
    content = {"type": "PiecewiseTradeOff", "fpr": [0.25], "power": [0.75], "kind": "bound"}
    curve = TradeOff.from_dict(content)
    assert curve.kind == "bound"
    assert curve.epsilon(0.0) == pytest.approx(math.log(3.0), rel=1e-15)


GAUSSIAN = {"type": "GaussianTradeOff", "mu": 1.0, "kind": "exact"}
SAMPLE = {"type": "SubsampledTradeOff", "rate": 0.1, "symmetric": False, "kind": "exact"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "content must be a dict, as to_dict returns, not list"),
        ({"mu": 1.0}, "type of content must be one of GaussianTradeOff, LaplaceTradeOff, Subs"),
        (GAUSSIAN | {"type": ["x"]}, "type of content must be one of"),
        (GAUSSIAN | {"kind": "sure"}, "kind of content must be"),
        ({"type": "GaussianTradeOff", "kind": "exact"}, "content must have 'mu', as Gaus"),
        (GAUSSIAN | {"mu": -1.0}, "mu must be at least 0"),
        (SAMPLE | {"base": GAUSSIAN, "symmetric": 1}, "symmetric of content must be true or"),
        (SAMPLE | {"base": SAMPLE | {"base": SAMPLE}}, "base of base of content must have 'base'"),
        (
            SAMPLE | {"base": SAMPLE | {"base": SAMPLE | {"base": GAUSSIAN}}},
            "hold no further curve: to_dict nests samples in compositions only",
        ),
        (
            {"type": "ComposedTradeOff", "curves": 3, "counts": [1], "kind": "exact"},
            "curves of content must be a list, not int",
        ),
        (
            {"type": "ComposedTradeOff", "curves": [GAUSSIAN], "counts": [0], "kind": "exact"},
            "counts",
        ),
        (
            {"type": "PiecewiseTradeOff", "fpr": [0.5], "power": [0.2], "kind": "exact"},
            "power",
        ),
    ],
)
def test_what_is_no_curve_is_refused_in_words(content, message):
    with pytest.raises((TypeError, ValueError), match=message):
        TradeOff.from_dict(content)


def test_a_curve_that_is_not_read_back_is_named():
    mean = exact_mean_tradeoff([1.0, 0.0], Bernoulli([0.3, 0.6]), 5)
    with pytest.raises(ValueError, match=r"type of content must be one of .* = 'ExactTradeOff'"):
        again(mean)


PLAN = """
worlds = "{worlds}"
[[release]]
laplace = 0.5
[[release]]
curve = "{file}"
times = 3
"""


def test_a_plan_takes_curves_from_files(tmp_path, capsys):
    (tmp_path / "noise.json").write_text(json.dumps(noise(3.0).to_dict()))
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(worlds="substitution", file="noise.json"))
    assert main(["curve", "--compose", str(plan), "--epsilon", "0.5", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    curve = compose(LaplaceTradeOff(0.5), noise(3.0), counts=[1, 3])
    assert content["delta"][0]["delta"] == pytest.approx(curve.delta(0.5), rel=1e-9)
    assert content["steps"] == 4


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("../noise.json", "", "curve of release 2 of plan.toml must be a file in the folder of"),
        ("noise.json", "{", "noise.json must be JSON"),
        ("noise.json", "[" * 100_000, "noise.json must be JSON"),
        ("noise.json", "[]", "noise.json must hold a curve that mialeak wrote"),
        ("noise.json", json.dumps(STEP.to_dict()), "noise.json must be of the worlds 'substit"),
        (
            "noise.json",
            json.dumps(compose(STEP, LaplaceTradeOff(0.1)).to_dict()),
            "noise.json must be of the worlds 'substitution': it holds a sample of others",
        ),
    ],
)
def test_files_of_a_plan_that_hold_no_curve_of_its_worlds_are_refused(
    tmp_path, capsys, file, text, message
):
    (tmp_path / "noise.json").write_text(text)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(worlds="substitution", file=file))
    assert main(["curve", "--compose", str(plan)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_protected_counts_compose_as_sums_over_all_outcomes():
    """Counts of 7 and 8 rounded to multiples of 3, of 2 and 3 with small ones suppressed, noise."""
    rounded = PiecewiseTradeOff.from_laws(*RandomRound(3).outcome_law([7, 8], 20))
    hidden = PiecewiseTradeOff.from_laws(*Suppress(3).outcome_law([1, 2], 20))
    epsilon = 0.4
    noisy = PiecewiseTradeOff.from_laws(*Geometric(epsilon).outcome_law([7, 8], 20))
    assert hidden.advantage == 0.0
    curve = compose(rounded, hidden, noisy, counts=[4, 1, 2])
    assert isinstance(curve, ComposedTradeOff)
    # By hand: 7 becomes 6 in two of three cases, 8 in one; geometric noise has two ratios.
    t = math.exp(-epsilon)
    low, high = 1.0 / (1.0 + t), t / (1.0 + t)
    laws = [[(2 / 3, 1 / 3), (1 / 3, 2 / 3)]] * 4 + [[(low, high), (high, low)]] * 2
    for at in (0.0, 0.3, 1.7):
        for direction in DIRECTIONS:
            truth = 0.0
            for outcome in itertools.product(*laws):
                out, inside = (math.prod(each[world] for each in outcome) for world in (0, 1))
                one, other = (inside, out) if direction == "in" else (out, inside)
                truth += max(one - math.exp(at) * other, 0.0)
            assert curve.delta(at, direction=direction) == pytest.approx(truth, abs=1e-14)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_ratios_of_outcomes_that_underflow_survive_json(delta):
    """Their probabilities are 0 in the file, and epsilon was infinite."""
    for curve in (
        PiecewiseTradeOff.from_epsilon(800.0, delta),
        compose(PiecewiseTradeOff.from_epsilon(1.0, delta / 1e3), counts=1500),
    ):
        read = again(curve)
        for direction in DIRECTIONS:
            for lost in (delta, 0.01, 0.5):
                epsilon = float(curve.epsilon(lost, direction=direction))
                assert read.epsilon(lost, direction=direction) == epsilon
                assert read.delta(epsilon, direction=direction) == pytest.approx(
                    float(curve.delta(epsilon, direction=direction)), rel=1e-9, abs=0.0
                )
    content = PiecewiseTradeOff.from_epsilon(800.0).to_dict()
    assert "log_ratio" not in PiecewiseTradeOff.from_epsilon(600.0).to_dict()
    for ratio in ([800.0], [800.0, 1.0], [600.0, -800.0], [-800.0, 800.0], "many"):
        with pytest.raises(ValueError, match="log_ratio"):
            TradeOff.from_dict({**content, "log_ratio": ratio})


def test_a_listed_composition_keeps_its_error_in_json():
    """The outcomes of ten releases are listed as one, whose file has the error of ten."""
    monthly = PiecewiseTradeOff([0.45], [0.55])
    curve = compose(monthly, counts=10)
    assert curve.method == "atoms"
    read = again(curve)
    assert read.error == curve.error > compose(monthly).error
    with pytest.raises(ValueError, match=r"listed of content must be between 1 and"):
        TradeOff.from_dict({**curve.to_dict(), "listed": 0})
