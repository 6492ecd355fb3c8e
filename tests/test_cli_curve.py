"""``mialeak curve``: the numbers of a trade-off curve, for people and for programs."""

from __future__ import annotations

import json
import sys

import mpmath
import numpy as np
import pytest
from scipy import stats

import mialeak
from mialeak.cli import main
from mialeak.tradeoff import GaussianTradeOff, LaplaceTradeOff, PiecewiseTradeOff, compose

#: One point of each kind, for tests of what is said of a curve and not of its numbers.
FEW = ("--fpr", "0.1", "--epsilon", "0.001", "--delta", "0.01")


def refused(capsys, *arguments):
    """The one line of an error."""
    assert main(["curve", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mialeak: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("mialeak: error: ").rstrip("\n")


def answer(capsys, *arguments):
    """The JSON of an answer; no number in it that JSON does not know."""
    assert main(["curve", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_the_answer_comes_first(capsys):
    assert main(["curve", "--mu", "1.5"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[:2] == [
        "A Gaussian release with mu = 1.5 leaks 0.547. The best attack can decide whether the "
        "target is",
        "among the rows with 77.3% accuracy (guessing: 50%).",
    ]
    lines = [line.split() for line in text.splitlines()]
    assert ["0.001", f"{GaussianTradeOff(1.5).power(1e-3):.4g}"] in lines
    assert ["2", f"{GaussianTradeOff(1.5).delta(2.0):.4g}"] in lines
    assert ["1e-05", f"{GaussianTradeOff(1.5).epsilon(1e-5):.4g}"] in lines
    assert max(map(len, text.splitlines())) <= 100
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_share_of_the_rows_is_told(capsys):
    assert main(["curve", "--mu", "1.5", "--rate", "0.1"]) == 0
    assert capsys.readouterr().out.startswith(
        "A Gaussian release with mu = 1.5, made from a random 0.1 of the rows, leaks 0.055."
    )


@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_json_says_what_the_curve_says(capsys, rate):
    content = answer(capsys, "--mu", "1.5", "--rate", repr(rate))
    curve = GaussianTradeOff(1.5).subsample(rate)
    assert content["schema"] == "mialeak.curve/2"
    assert content["mialeak"] == mialeak.__version__
    assert (content["mu"], content["rate"], content["kind"]) == (1.5, rate, "exact")
    for name in ("advantage", "auc"):
        assert content[name] == pytest.approx(getattr(curve, name), rel=1e-14)
    assert content["accuracy"] == pytest.approx((1 + curve.advantage) / 2, rel=1e-14)
    for given, answered in (("fpr", "power"), ("epsilon", "delta"), ("delta", "epsilon")):
        assert len(content[answered]) >= 4
        for row in content[answered]:
            value = getattr(curve, answered)(row[given])
            assert row[answered] == pytest.approx(value, rel=1e-13)


def test_the_numbers_are_those_of_the_formula(capsys):
    content = answer(capsys, "--mu", "2", "--fpr", "1e-30,0.25", "--epsilon", "3", "--delta", "0.5")
    with mpmath.workdps(40):
        phi, mu = mpmath.ncdf, mpmath.mpf(2)

        def quantile(p):
            return mpmath.findroot(lambda x: mpmath.log(phi(x)) - mpmath.log(p), (-12, -0.5))

        for row in content["power"]:
            power = phi(quantile(mpmath.mpf(row["fpr"])) + mu)
            assert row["power"] == pytest.approx(float(power), rel=1e-12)
        delta = phi(1 - mpmath.mpf(3) / 2) - mpmath.e**3 * phi(-1 - mpmath.mpf(3) / 2)
    assert content["delta"] == [{"epsilon": 3.0, "delta": pytest.approx(float(delta), rel=1e-13)}]
    assert len(content["power"]) == 2
    assert len(content["epsilon"]) == 1


@pytest.mark.parametrize(("mu", "advantage"), [("0", 0.0), ("inf", 1.0)])
def test_nothing_and_everything_are_answers_too(capsys, mu, advantage):
    content = answer(capsys, "--mu", mu, "--epsilon", "0,inf", "--delta", "0,0.5,1")
    assert content["advantage"] == advantage
    assert content["mu"] == (0.0 if mu == "0" else None)
    assert content["delta"][1]["epsilon"] is None
    epsilons = [row["epsilon"] for row in content["epsilon"]]
    assert epsilons == ([0.0, 0.0, 0.0] if mu == "0" else [None, None, 0.0])
    assert main(["curve", "--mu", mu]) == 0
    assert capsys.readouterr().out


def test_a_training_composes_its_steps(capsys):
    content = answer(capsys, "--dp-sgd", "sigma=2,rate=0.02,steps=500", "--delta", "1e-5")
    # Between the two estimates of another accountant (dp-accounting 0.6.0, grid 1e-4).
    assert 0.89592 < content["epsilon"][0]["epsilon"] < 0.92093
    assert (content["worlds"], content["steps"], content["mu"]) == ("add or remove", 500, 0.5)
    assert main(["curve", "--dp-sgd", "sigma=2,rate=0.02,steps=500"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "DP-SGD with noise 2 at a rate of 0.02 in 500 steps (10 epochs) leaks 0."
    )
    assert "worlds that differ by one row, added or removed" in " ".join(text.split())


def test_a_training_has_the_names_of_opacus_a_fraction_as_rate_and_steps_as_floats(capsys):
    plain = answer(capsys, "--dp-sgd", "sigma=2,rate=0.02,steps=500", "--delta", "1e-5")
    for training in (
        "noise_multiplier=2,sample_rate=0.02,steps=500",
        "sigma=2,rate=10/500,steps=5e2",
        "sigma=2.0,rate=1/50,steps=500.0",
    ):
        assert answer(capsys, "--dp-sgd", training, "--delta", "1e-5") == plain


def test_page_and_picture_name_the_training(tmp_path, capsys):
    page, picture = tmp_path / "curve.html", tmp_path / "curve.svg"
    training = ["--dp-sgd", "sigma=2,rate=0.02,steps=500"]
    assert main(["curve", *training, "--html", str(page), "--plot", str(picture)]) == 0
    capsys.readouterr()
    assert "<title>What DP-SGD with noise 2" in page.read_text(encoding="utf-8")
    assert "rate 0.02, 500 times" in picture.read_text(encoding="utf-8")


def test_a_page_compares_the_worlds_of_its_curve(tmp_path, capsys):
    for arguments, same in (
        (["--mu", "1"], True),
        (["--dp-sgd", "sigma=2,rate=0.1,steps=10"], False),
    ):
        answer(capsys, *arguments, "--html", str(tmp_path / "page.html"))
        page = (tmp_path / "page.html").read_text()
        assert ("Both worlds have the same number of rows" in page) == same
        assert ("The worlds differ by one row, added or removed" in " ".join(page.split())) != same


def test_epochs_in_place_of_steps_are_named(capsys):
    """Sixty epochs at a rate of 0.004 are 15,000 steps."""
    note = "if 60 counts epochs, steps=15,000."
    for steps, named in ((60, True), (15_000, False), (1, False)):
        training = f"sigma=2,rate=0.004,steps={steps}"
        assert main(["curve", "--dp-sgd", training, *FEW]) == 0
        assert (note in " ".join(capsys.readouterr().out.split())) == named


def test_several_releases_are_named(capsys):
    assert main(["curve", "--mu", "0.5", "--steps", "4"]) == 0
    # Squares of mu add: as one release with mu = 1.
    assert capsys.readouterr().out.startswith("4 Gaussian releases with mu = 0.5 each leak 0.383.")


def test_almost_1_is_not_told_as_1(capsys):
    assert main(["curve", "--mu", "6", "--fpr", "0.5,1"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0.5", ">0.9999"] in lines
    assert ["1", "1"] in lines


SEE = " (see mialeak curve --help)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--mu must be given, or --dp-sgd, --claim or --compose: one of the four"),
        (
            ["--mu", "1", "--dp-sgd", "sigma=1,rate=0.1,steps=5"],
            "--mu must be given, or --dp-sgd, --claim or --compose: one of the four",
        ),
        (
            ["--dp-sgd", "sigma=1,rate=0.1,steps=5", "--steps", "4"],
            "--dp-sgd must have the rate and the steps in itself: leave out --rate, --steps",
        ),
        (["--dp-sgd", "sigma=1"], "--dp-sgd must be sigma=S,rate=Q,steps=N; got 'sigma=1'" + SEE),
        (
            ["--dp-sgd", "sigma=1,rate=0.1,steps=5,sigma=2"],
            "--dp-sgd must be sigma=S,rate=Q,steps=N; got 'sigma=1,rate=0.1,steps=5,sigma=2'" + SEE,
        ),
        (
            ["--dp-sgd", "sigma=0,rate=0.1,steps=5"],
            "--dp-sgd must be above 0 and at most 1e6; got 0 as sigma" + SEE,
        ),
        *(
            (["--dp-sgd", training], f"--dp-sgd must be {rule}" + SEE)
            for training, rule in (
                ("sigma=,rate=0.1,steps=5", "a number; got '' as sigma"),
                ("sigma=1,rate=1%,steps=5", "a number; got '1%' as rate"),
                ("sigma=1,rate=1/0,steps=5", "above 0 and finite; got 0 as rate"),
                ("sigma=1,rate=2/1,steps=5", "above 0 and at most 1; got 2 as rate"),
                ("sigma=1,rate=256,steps=5", "above 0 and at most 1; got 256 as rate"),
                ("sigma=1,rate=0.1,steps=5.5", "a whole number; got '5.5' as steps"),
                ("sigma=1,rate=0.1,steps=inf", "a whole number; got 'inf' as steps"),
                (
                    "sigma=1,noise_multiplier=1,rate=0.1,steps=5",
                    "sigma=S,rate=Q,steps=N; got 'sigma=1,noise_multiplier=1,rate=0.1,steps=5'",
                ),
            )
        ),
        (["--mu", "-1"], "--mu must be at least 0; got -1" + SEE),
        (["--mu", "nan"], "--mu must be at least 0; got nan" + SEE),
        (["--mu", "1", "--rate", "2"], "--rate must be above 0 and at most 1; got 2" + SEE),
        (["--mu", "1", "--fpr", "0.1,2"], "--fpr must be between 0 and 1; got 2" + SEE),
        (["--mu", "1", "--epsilon", "-1"], "--epsilon must be at least 0; got -1" + SEE),
        (["--mu", "1", "--delta", "nan"], "--delta must be between 0 and 1; got nan" + SEE),
        (
            ["--mu", "1", "--fpr", "0.1;0.2"],
            "--fpr must be a number; got '0.1;0.2'" + SEE,
        ),
        (
            ["--mu", "x"],
            "--mu must be a number; got 'x'" + SEE,
        ),
    ],
)
def test_errors_are_one_line_on_stderr_and_exit_with_1(capsys, arguments, message):
    assert refused(capsys, *arguments) == message


def test_a_point_that_cannot_be_computed_has_an_upper_bound(capsys):
    """Two steps, by a double integral; and a standard deviation given as the noise multiplier."""
    training = "sigma=2,rate=.001,steps=2"
    y = np.linspace(-30.0, 30.0, 4001)
    out, shifted = stats.norm.pdf(y), stats.norm.pdf(y - 0.5)
    inside = 0.999 * out + 0.001 * shifted
    gain = np.multiply.outer(inside, inside) - np.exp(0.01) * np.multiply.outer(out, out)
    exact = float(np.maximum(gain, 0.0).sum() * (y[1] - y[0]) ** 2)
    few = ["--fpr", "0.5", "--delta", "0.5"]
    content = answer(capsys, "--dp-sgd", training, "--epsilon", "0.01,0.1", *few)
    assert "--epsilon 0.1" in content["upper_bounds"]
    assert exact <= 1.001 * content["delta"][0]["delta"] <= 2.0 * exact + 1e-12
    line = ["--dp-sgd", "sigma=0.01,rate=.01,steps=1000", "--epsilon", "1", *few]
    content = answer(capsys, *line)
    assert content["upper_bounds"] == ["--delta 0.5"]
    assert content["not_computed"] == ["auc"]
    assert content["auc"] is None
    assert content["advantage"] == pytest.approx(1.0 - 0.99**1000, rel=1e-9)
    assert all(row["power"] > 0.9999 for row in content["power"])
    assert main(["curve", *line]) == 0
    assert "leaks >0.999. The" in " ".join(capsys.readouterr().out.split())
    line = ["--dp-sgd", "sigma=0.001,rate=.01,steps=1000", "--epsilon", "1", "--fpr", "0.5"]
    content = answer(capsys, *line)
    assert content["delta"][0]["delta"] == pytest.approx(1.0 - 0.99**1000, rel=1e-9)
    assert content["not_computed"][:2] == ["auc", "--delta 1e-09"]


def test_an_epsilon_of_a_million_steps_with_a_tiny_rate_is_bounded(capsys):
    """By the central limit theorem the worlds are mu apart, q sqrt(T (e^(1/sigma^2) - 1))."""
    line = ["--dp-sgd", "sigma=10,rate=1e-6,steps=1000000", "--delta", "1e-5"]
    line += ["--epsilon", "1", "--fpr", "0.5"]
    content = answer(capsys, *line)
    (row,) = content["epsilon"]
    mu = 1e-6 * np.sqrt(1e6 * np.expm1(0.01))
    limit = float(GaussianTradeOff(mu).epsilon(1e-5))
    assert "--delta 1e-05" in content["upper_bounds"]
    assert 0.99 * limit < row["epsilon"] < 2.0 * limit
    assert main(["curve", *line]) == 0
    assert "1e-05 at most 0.00013" in " ".join(capsys.readouterr().out.split())


def test_a_fresh_row_is_not_a_replaced_one(capsys, tmp_path):
    """The same step: the first compares with a row drawn anew, the second any two rows."""
    points = ("--fpr", "0.1", "--epsilon", "0.1", "--delta", "1e-5")
    fresh = answer(capsys, "--mu", "1", "--rate", "0.01", "--steps", "1000", *points)
    plan = tmp_path / "plan.toml"
    step = "[[release]]\ngaussian = 1.0\nrate = 0.01\ntimes = 1000\n"
    plan.write_text(f'worlds = "substitution"\n{step}')
    replaced = answer(capsys, "--compose", str(plan), *points)
    assert (fresh["worlds"], replaced["worlds"]) == ("fresh row", "substitution")
    assert fresh["epsilon"][0]["epsilon"] < replaced["epsilon"][0]["epsilon"]
    assert main(["curve", "--mu", "1", "--rate", "0.01"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Between two given rows (replace-one differential privacy) they are larger" in text
    assert main(["curve", "--dp-sgd", "sigma=1,rate=0.01,steps=100", *FEW]) == 0
    assert "of one row in place of another (replace-one)" in " ".join(
        capsys.readouterr().out.split()
    )


PLAN = """
worlds = "add or remove"
[[release]]
gaussian = 1.0
rate = 0.01
times = 1000
[[release]]
laplace = 0.5
[[release]]
epsilon = 1.0
delta = 1e-9
[[release]]
discrete_gaussian = 3.0
times = 2
"""


def test_the_releases_of_a_plan_are_composed(tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    p = np.exp(-0.5 * (np.arange(-121, 122) / 3.0) ** 2)
    parts = [
        GaussianTradeOff(1.0).subsample(0.01),
        LaplaceTradeOff(0.5),
        PiecewiseTradeOff.from_epsilon(1.0, 1e-9),
        PiecewiseTradeOff.from_noise(p / p.sum()),
    ]
    curve = compose(*parts, counts=[1000, 1, 1, 2])
    values = ("--fpr", "0.01", "--epsilon", "1", "--delta", "1e-6")
    content = answer(capsys, "--compose", str(plan), *values)
    assert content["power"][0]["power"] == pytest.approx(curve.power(0.01), rel=1e-9)
    assert content["delta"][0]["delta"] == pytest.approx(curve.delta(1.0), rel=1e-9)
    assert content["epsilon"][0]["epsilon"] == pytest.approx(curve.epsilon(1e-6), rel=1e-9)
    assert (content["worlds"], content["steps"]) == ("add or remove", 1004)
    assert main(["curve", "--compose", str(plan), *values]) == 0
    assert "The 1,004 releases of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worlds = 3", "worlds of plan.toml must be 'substitution' or 'add or remove'; got"),
        ("[[release]]\ngaussian = 1", "worlds of plan.toml must be"),
        ('worlds = "substitution"\nrelease = 1', "release of plan.toml must be tables, each below"),
        ('worlds = "substitution"\n[[release]]\nmu = 1', "release 1 of plan.toml must have one of"),
        (
            'worlds = "substitution"\n[[release]]\ngaussian = 1\nsteps = 3',
            "release 1 of plan.toml must have only gaussian, rate, times; got",
        ),
        (
            'worlds = "substitution"\n[[release]]\ngaussian = 1\nworlds = "add or remove"',
            "worlds of release 1 of plan.toml must be 'substitution'; got",
        ),
        (
            'worlds = "substitution"\n[[release]]\ngaussian = 1\ntimes = "10"',
            "times of release 1 of plan.toml must be a number, without quotes; got",
        ),
        (
            'worlds = "substitution"\n[[release]]\nepsilon = true',
            "epsilon of release 1 of plan.toml must be a number, without quotes; got",
        ),
        (
            'worlds = "substitution"\n[[release]]\nepsilon = 1e-5\ndelta = 0.5',
            "release 1 of plan.toml must have a delta below 0.1 where epsilon is 1e-05; got",
        ),
        (
            'worlds = "substitution"\n[[release]]\ndiscrete_gaussian = 0',
            "discrete_gaussian of release 1 of plan.toml must be above 0 and at most 10000",
        ),
        ("worlds = ", "plan.toml must be a plan in TOML"),
    ],
)
def test_a_plan_that_is_none_is_refused(tmp_path, capsys, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(text)
    assert message in refused(capsys, "--compose", "plan.toml")


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_picture_is_written(tmp_path, capsys, suffix, magic):
    path = tmp_path / f"curve.{suffix}"
    assert main(["curve", "--mu", "1.5", "--rate", "0.1", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(magic)
    assert capsys.readouterr().out.startswith("A Gaussian release")


def test_a_picture_that_cannot_be_written_is_an_error(tmp_path, capsys):
    path = str(tmp_path / "none" / "curve.png")
    assert refused(capsys, "--mu", "1", "--plot", path) == f"{path}: No such file or directory"
    for name in ("curve.xyz", "curve", "curve.html", "."):
        message = f"--plot must end in .png, .svg or .pdf; got {name!r} (see mialeak curve --help)"
        assert refused(capsys, "--mu", "1", "--plot", name) == message


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = 'a picture takes matplotlib: pip install "mialeak[plot]"'
    assert refused(capsys, "--mu", "1", "--plot", "curve.png") == message


def test_help_is_there(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["curve", "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: mialeak curve")
    assert "(default: 1e-06,1e-05,0.0001,0.001,0.01,0.1,0.5)" in " ".join(text.split())


def test_a_sampled_release_of_a_plan_has_the_worlds_of_the_plan(tmp_path, capsys):
    """A row in place of another is in one of two batches: the curve of an added row is below."""
    plan = tmp_path / "plan.toml"
    plan.write_text('worlds = "substitution"\n[[release]]\ngaussian = 2.0\nrate = 0.1\ntimes = 4\n')
    values = ("--fpr", "0.01", "--epsilon", "1", "--delta", "1e-6")
    content = answer(capsys, "--compose", str(plan), *values)
    curve = compose(GaussianTradeOff(2.0).subsample(0.1, symmetric=True), counts=4)
    assert content["delta"][0]["delta"] == pytest.approx(curve.delta(1.0), rel=1e-9)
    added = compose(GaussianTradeOff(2.0).subsample(0.1), counts=4)
    assert content["delta"][0]["delta"] > 1.02 * added.delta(1.0)


@pytest.mark.parametrize(
    ("worlds", "rate", "is_bound"),
    [("substitution", 0.1, True), ("substitution", 1, False), ("add or remove", 0.1, False)],
)
def test_samples_with_one_row_in_place_of_another_are_bounds(
    tmp_path, capsys, worlds, rate, is_bound
):
    """Each step is taken in its worse direction; a replaced gradient moves the sum by two norms."""
    plan = tmp_path / "plan.toml"
    plan.write_text(f'worlds = "{worlds}"\n[[release]]\ngaussian = 2.0\nrate = {rate}\ntimes = 4\n')
    assert answer(capsys, "--compose", str(plan), *FEW)["kind"] == (
        "bound" if is_bound else "exact"
    )
    assert main(["curve", "--compose", str(plan), *FEW]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in ("leak together at most", "gaussian = 2/sigma, not 1/sigma", "upper bounds"):
        assert (words in text) == is_bound


def test_a_claim_states_the_most_that_it_allows(capsys):
    assert main(["curve", "--claim", "epsilon=2,delta=1e-5", "--fpr", "0.01"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("A training with epsilon 2 at delta 1e-05 leaks at most 0.7616.")
    assert f"{np.exp(2) * 0.01 + 1e-5:.5f}" in text  # the line of the claim at small rates
    assert "a training may leak less" in text
    assert main(["curve", "--claim", "epsilon=2", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["kind"], content["worlds"]) == ("bound", "claim")
    assert content["advantage"] == pytest.approx(np.tanh(1.0), rel=1e-14)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["--claim", "2"], "must be epsilon=E or epsilon=E,delta=D; got '2'"),
        (["--claim", "delta=1e-5"], "must be epsilon=E"),
        (["--claim", "epsilon=1,delta=2"], "must be"),
        (["--claim", "epsilon=1", "--steps", "9"], "be of the whole training"),
        (["--claim", "epsilon=1", "--mu", "1"], "one of the four"),
    ],
)
def test_claims_that_are_none_are_refused(line, sentence, capsys):
    assert main(["curve", *line]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("part", ["--mu 0.5 --rate 0.004 --steps 60", "--compose plan.toml"])
def test_steps_below_one_epoch_are_named_in_each_form(capsys, tmp_path, monkeypatch, part):
    monkeypatch.chdir(tmp_path)
    plan = 'worlds = "add or remove"\n[[release]]\ngaussian = 0.5\nrate = 0.004\ntimes = 60\n'
    (tmp_path / "plan.toml").write_text(plan)
    assert main(["curve", *part.split(), *FEW]) == 0
    assert "less than one epoch: if 60 counts epochs" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("release", "kind", "words"),
    [
        ("epsilon = 2.4\ndelta = 1e-5", "bound", "leaks at most 0.8337"),
        ("epsilon = 2.4\ndelta = 1e-5", "bound", "Largest power of an attack"),
        (
            "epsilon = 2.4\ndelta = 1e-5",
            "bound",
            "the most that the stated epsilon and delta allow",
        ),
        (
            "gaussian = 0.1\n[[release]]\nepsilon = 1\ndelta = 1e-9",
            "bound",
            "together at most",
        ),
        ("epsilon = 2.4", "exact", "leaks 0.834"),
        ("laplace = 0.5", "exact", "(exact)"),
        ("epsilon = 2.4", "exact", "no delta is randomised response or geometric noise."),
    ],
)
def test_an_epsilon_at_a_delta_in_a_plan_is_a_bound(tmp_path, capsys, release, kind, words):
    """As the same pair is with --claim: a training that has it may leak far less."""
    plan = tmp_path / "plan.toml"
    plan.write_text(f'worlds = "add or remove"\n[[release]]\n{release}\n')
    assert answer(capsys, "--compose", str(plan), *FEW)["kind"] == kind
    assert main(["curve", "--compose", str(plan), *FEW]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert words in text
    assert ("(upper bound)" in text) == (kind == "bound")
    assert ("geometric noise" in text) == (release == "epsilon = 2.4")
