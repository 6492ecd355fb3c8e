"""Gradients of torch models against autograd, steps against Opacus, and the attack on digits."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from mialeak import (
    CovarianceAttack,
    EmpiricalTradeOff,
    StreamingCovariance,
    mean_leakage,
    mean_tradeoff,
    select_canaries,
)
from mialeak.training import batch_gradient, canife_loss

torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus")

import mialeak.training.torch as room  # noqa: E402
from mialeak.training.torch import (  # noqa: E402
    ParameterRecorder,
    gradient_blocks,
    layer_gradients,
    per_sample_gradients,
)

CROSS_ENTROPY = torch.nn.CrossEntropyLoss()


def conv_net():
    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 3)]
    return torch.nn.Sequential(*layers)


def some(n=9):
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(n, 1, 6, 6, generator=generator)
    return x, torch.randint(0, 3, (n,), generator=generator)


def one_by_one(model, x, y, parameters):
    rows = []
    for i in range(len(x)):
        loss = CROSS_ENTROPY(model(x[i : i + 1]), y[i : i + 1])
        rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)]))
    return torch.stack(rows).numpy()


@pytest.mark.parametrize("which", ["last", "all", ["3.bias", "0.weight"]])
def test_per_sample_gradients_are_those_of_each_example_alone(which):
    model, (x, y) = conv_net(), some()
    chosen = {
        "last": [model[3].weight, model[3].bias],
        "all": list(model.parameters()),
        "names": [model[0].weight, model[3].bias],  # in the model's order
    }[which if isinstance(which, str) else "names"]
    before = [value.clone() for value in model.parameters()]
    got = per_sample_gradients(model, CROSS_ENTROPY, x, y, parameters=which)
    np.testing.assert_allclose(got, one_by_one(model, x, y, chosen), rtol=1e-4, atol=1e-6)
    assert got.dtype == np.float32
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(value.grad is None for value in model.parameters())


def test_blocks_are_the_whole_and_go_into_a_covariance():
    model, (x, y) = conv_net(), some(20)
    whole = per_sample_gradients(model, CROSS_ENTROPY, x, y)
    blocks = list(gradient_blocks(model, CROSS_ENTROPY, x, y, block=7))
    assert [len(rows) for rows in blocks] == [7, 7, 6]
    np.testing.assert_allclose(np.concatenate(blocks), whole, rtol=1e-5, atol=1e-7)
    reference = StreamingCovariance(structure="diagonal")
    reference.fit(gradient_blocks(model, CROSS_ENTROPY, x, y, block=7))
    assert reference.n_samples_seen_ == 20
    empty = per_sample_gradients(model, CROSS_ENTROPY, x[:0], y[:0])
    assert empty.shape == (0, 195)


@pytest.mark.parametrize("bias", [True, False])
def test_layer_gradients_are_the_factors_of_those_of_the_last_layer(bias):
    model, (x, y) = conv_net(), some()
    model[3] = torch.nn.Linear(64, 3, bias=bias)
    factors = layer_gradients(model, CROSS_ENTROPY, x, y)
    dense = per_sample_gradients(model, CROSS_ENTROPY, x, y)
    np.testing.assert_allclose(factors.dense(), dense, rtol=1e-4, atol=1e-6)


def test_factors_of_all_layers_are_the_gradients_of_all_parameters():
    linear = torch.nn.Linear
    model = torch.nn.Sequential(
        linear(6, 5), torch.nn.Tanh(), linear(5, 4, bias=False), linear(4, 3)
    )
    for value in model[0].parameters():
        value.requires_grad_(requires_grad=False)
    x, y = torch.randn(7, 6), torch.arange(7) % 3
    layers = layer_gradients(model, CROSS_ENTROPY, x, y, parameters="all")
    rows = np.concatenate([one.dense() for one in layers], axis=1)
    want = per_sample_gradients(model, CROSS_ENTROPY, x, y, parameters="all")
    np.testing.assert_allclose(rows, want, atol=1e-6)
    message = "model must have a torch.nn.Linear wherever it has parameters; '0' is a Conv2d"
    refused(message, layer_gradients, conv_net(), CROSS_ENTROPY, *some(), parameters="all")
    refused(
        "parameters must be 'last' or 'all'",
        layer_gradients,
        model,
        CROSS_ENTROPY,
        x,
        y,
        parameters=["0.weight"],
    )


def test_canife_loss_is_that_of_numpy_and_has_a_gradient():
    rng = np.random.default_rng(3)
    g, u = rng.normal(size=5), rng.normal(size=(7, 5))
    for clip in (0.1, 9.0):
        tensor = torch.tensor(g, requires_grad=True)
        loss = room.canife_loss(tensor, torch.tensor(u), clip)
        assert loss.item() == pytest.approx(canife_loss(g, u, clip), rel=1e-12)
        loss.backward()
        steps = 1e-6 * np.eye(5)
        slope = (canife_loss(g + steps, u, clip) - canife_loss(g - steps, u, clip)) / 2e-6
        np.testing.assert_allclose(tensor.grad.numpy(), slope, rtol=1e-6)


# --- steps -------------------------------------------------------------------------------------


def test_recorder_gives_the_mean_gradient_of_every_batch():
    model, (x, y) = conv_net(), some(32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    means = []
    with ParameterRecorder(model, optimizer, parameters="all") as recorder:
        for batch in (slice(0, 8), slice(8, 16), slice(16, 32)):
            rows = per_sample_gradients(model, CROSS_ENTROPY, x[batch], y[batch], parameters="all")
            means.append(rows.mean(axis=0))
            optimizer.zero_grad()
            CROSS_ENTROPY(model(x[batch]), y[batch]).backward()
            optimizer.step()
            schedule.step()
    optimizer.step()  # no longer listened to
    assert recorder.parameters_.shape == (4, 40 + 195)
    np.testing.assert_allclose(recorder.batch_gradients_, means, atol=5e-6)
    by_hand = batch_gradient(recorder.parameters_[0], recorder.parameters_[1], 0.1)
    np.testing.assert_allclose(by_hand, recorder.batch_gradients_[0], atol=5e-6)


def dp_steps(noise, clip, b, steps, seed=4):
    """Batch gradients of steps of DP-SGD by Opacus at one model, and the rows they come from."""
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    model, (x, y) = conv_net(), some(b)
    wrapped = GradSampleModule(model)
    optimizer = DPOptimizer(
        torch.optim.SGD(wrapped.parameters(), lr=1.0),
        noise_multiplier=noise,
        max_grad_norm=clip,
        expected_batch_size=b,
        generator=torch.Generator().manual_seed(seed),
    )
    start = {name: value.clone() for name, value in wrapped.state_dict().items()}
    rows = per_sample_gradients(wrapped, CROSS_ENTROPY, x, y, parameters="all")
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, on hooks and inputs without gradients
        for _ in range(steps):
            with ParameterRecorder(wrapped, optimizer, parameters="all") as recorder:
                optimizer.zero_grad()
                CROSS_ENTROPY(wrapped(x), y).backward()
                optimizer.step()
            found.append(recorder.batch_gradients_[0])
            wrapped.load_state_dict(start)
    return rows, np.array(found)


def test_clipping_is_that_of_opacus():
    rows, found = dp_steps(noise=0.0, clip=0.3, b=12, steps=1)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    assert (norms > 0.3).sum() > 3
    short = rows * np.minimum(1.0, 0.3 / norms)
    np.testing.assert_allclose(found[0], short.mean(axis=0), atol=1e-6)


def test_noise_of_opacus_has_the_scale_that_the_attack_supposes():
    # sigma C / B on the batch mean, so sigma^2 C^2 / B as a covariance of gradients
    noise, clip, b = 1.7, 0.3, 12
    rows, found = dp_steps(noise, clip, b, steps=60)
    short = rows * np.minimum(1.0, clip / np.linalg.norm(rows, axis=1, keepdims=True))
    left = found - short.mean(axis=0)
    count = left.size
    ratio = np.mean(left**2) / (noise * clip / b) ** 2
    assert ratio == pytest.approx(1.0, abs=4 * np.sqrt(2 / count))
    for other in (noise * clip, noise * clip / np.sqrt(b)):  # as [AB25] and [AB24] 4.4 print it
        assert np.mean(left**2) < 0.2 * other**2
    # b times that variance is what the attack adds: its score of noise alone has variance m
    reference = StreamingCovariance(structure="low-rank", ridge=1e-9).fit(short)
    attack = CovarianceAttack(reference, b, noise_multiplier=noise, clip_norm=clip)
    target = short[0] * 0.0
    target[:] = clip / np.sqrt(target.size)
    games = np.broadcast_to(target, (60, 1, target.size))
    scores = attack.update(games, short.mean(axis=0) + left)[:, 0]
    deviation = target - reference.mean_
    matrix = reference.covariance_ + noise**2 * clip**2 / b * np.eye(target.size)
    m = deviation @ np.linalg.solve(matrix, deviation) / b
    assert np.var(scores) / m == pytest.approx(1.0, abs=4 * np.sqrt(2 / 60))


# --- what is refused ---------------------------------------------------------------------------


def refused(message, function, *args, error=ValueError, **options):
    with pytest.raises(error, match=re.escape(message)):
        function(*args, **options)


def test_blocks_and_norms_out_of_range_are_refused():
    model, (x, y) = conv_net(), some()
    blocks = gradient_blocks(model, CROSS_ENTROPY, x, y, block=0)
    refused("block must be between 1", next, blocks)
    for norm in (0.0, -1.0, float("nan")):
        message = f"clip_norm must be above 0; got clip_norm = {norm}"
        refused(message, room.canife_loss, torch.ones(2), torch.ones(3, 2), norm)


def test_layers_that_mix_a_batch_are_named():
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2)
    )
    x, y = torch.randn(5, 4), torch.zeros(5, dtype=torch.long)
    message = "layer '1' is a BatchNorm1d, in which they mix. Call model.eval()"
    refused(message, per_sample_gradients, model, CROSS_ENTROPY, x, y)
    refused(message, layer_gradients, model, CROSS_ENTROPY, x, y)
    got = per_sample_gradients(model.eval(), CROSS_ENTROPY, x, y, parameters="all")
    np.testing.assert_allclose(got, one_by_one(model, x, y, list(model.parameters())), atol=1e-6)


def test_layers_that_draw_at_random_are_named():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(), torch.nn.Linear(3, 2))
    x, y = torch.randn(5, 4), torch.zeros(5, dtype=torch.long)
    message = "layer '1' is a Dropout in training mode. Call model.eval()"
    refused(message, per_sample_gradients, model, CROSS_ENTROPY, x, y)
    assert per_sample_gradients(model.eval(), CROSS_ENTROPY, x, y).shape == (5, 8)
    model[1] = torch.nn.RReLU()
    refused("layer '1' is a RReLU in training mode", layer_gradients, model, CROSS_ENTROPY, x, y)
    inside = torch.nn.MultiheadAttention(4, 2, dropout=0.1)
    message = "layer '' is a MultiheadAttention in training mode"
    refused(message, per_sample_gradients, inside, CROSS_ENTROPY, x, y)


def test_layers_that_count_statistics_are_named():
    model = torch.nn.Sequential(
        torch.nn.InstanceNorm1d(2, track_running_stats=True), torch.nn.Flatten()
    )
    model.append(torch.nn.Linear(8, 3))
    x, y = torch.randn(5, 2, 4), torch.zeros(5, dtype=torch.long)
    message = "layer '0' is a InstanceNorm1d that updates its statistics. Call model.eval()"
    refused(message, layer_gradients, model, CROSS_ENTROPY, x, y)
    assert layer_gradients(model.eval(), CROSS_ENTROPY, x, y).dense().shape == (5, 27)


class Recurrent(torch.nn.Module):
    """A recurrent layer, and a linear one on its last state."""

    def __init__(self, kind):
        super().__init__()
        self.body, self.head = kind(4, 5, batch_first=True), torch.nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's, of the LSTM
def test_layers_that_torch_func_cannot_take_are_named():
    torch.manual_seed(9)
    x, y = torch.randn(6, 7, 4), torch.zeros(6, dtype=torch.long)
    model = Recurrent(torch.nn.GRU)
    message = "model must have layers that torch.func can take example by example; layer 'body' is"
    refused(message, per_sample_gradients, model, CROSS_ENTROPY, x, y)
    assert not model.body._forward_hooks
    assert not model.body._forward_pre_hooks
    last = [model.head.weight, model.head.bias]
    got = layer_gradients(model, CROSS_ENTROPY, x, y).dense()  # as the message says
    np.testing.assert_allclose(got, one_by_one(model, x, y, last), rtol=1e-4, atol=1e-6)
    model = Recurrent(torch.nn.LSTM)
    got = per_sample_gradients(model, CROSS_ENTROPY, x, y, parameters="all")
    want = one_by_one(model, x, y, list(model.parameters()))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_what_torch_says_of_inputs_and_targets_that_do_not_fit_is_left_alone():
    model, (x, y) = conv_net(), some()
    with pytest.raises(RuntimeError, match="shape"):
        per_sample_gradients(model, CROSS_ENTROPY, x[..., :5], y)
    with pytest.raises(RuntimeError, match="dtype"):
        per_sample_gradients(model, CROSS_ENTROPY, x, y.float())


def test_losses_of_more_than_one_number_are_refused():
    model, (x, y) = conv_net(), some()
    each = torch.nn.CrossEntropyLoss(reduction="none")
    message = "loss must return one number for a batch; its shape is (1,)"
    refused(message, per_sample_gradients, model, each, x, y)
    refused(message, layer_gradients, model, each, x, y)
    message = r"loss must be a function .*; CrossEntropyLoss is a class\. Pass CrossEntropyLoss\(\)"
    for function in (per_sample_gradients, layer_gradients):
        with pytest.raises(TypeError, match=message):
            function(
                torch.nn.Linear(2, 3), torch.nn.CrossEntropyLoss, torch.ones(4, 2), torch.ones(4)
            )


def test_frozen_models_have_gradients_all_the_same():
    model, (x, y) = conv_net(), some()
    want = layer_gradients(model, CROSS_ENTROPY, x, y).dense()
    model.requires_grad_(False)
    with torch.no_grad():
        np.testing.assert_array_equal(layer_gradients(model, CROSS_ENTROPY, x, y).dense(), want)
        got = per_sample_gradients(model, CROSS_ENTROPY, x, y)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_models_and_names_that_do_not_fit_are_refused():
    model, (x, y) = conv_net(), some()
    arguments = (CROSS_ENTROPY, x, y)
    for function in (per_sample_gradients, layer_gradients):
        refused("model must have parameters", function, torch.nn.ReLU(), *arguments)
    message = "parameters must name parameters of model; got parameters[0] = '9.weight'. They are"
    refused(message, per_sample_gradients, model, *arguments, parameters=["9.weight"])
    message = "parameters must be 'last', 'all' or a sequence of names; got parameters = 'first'"
    refused(message, per_sample_gradients, model, *arguments, parameters="first")
    refused("name at least one", per_sample_gradients, model, *arguments, parameters=[])
    message = "y must have as many examples as x; the shapes are (8,) and (9, 1, 6, 6)"
    refused(message, per_sample_gradients, model, CROSS_ENTROPY, x, y[:8])
    message = "model must have a torch.nn.Linear as its last layer; '0' is a Conv2d"
    refused(message, layer_gradients, model[:1], *arguments)
    twice = torch.nn.Sequential(torch.nn.Linear(3, 3))
    twice.forward = lambda x: twice[0](twice[0](x))
    x, y = torch.randn(4, 3), torch.zeros(4, dtype=torch.long)
    refused("use its last layer '0' once", layer_gradients, twice, CROSS_ENTROPY, x, y)


def test_recorders_refuse_what_they_cannot_follow():
    model = conv_net()
    message = "optimizer must be a torch.optim.Optimizer; got optimizer = 0.1"
    refused(message, ParameterRecorder, model, 0.1, error=TypeError)
    first = torch.optim.SGD(model[0].parameters(), lr=0.1)
    refused("parameters must be what optimizer steps", ParameterRecorder, model, first)


def test_tensors_that_numpy_cannot_read_are_refused_with_a_remedy():
    reference = StreamingCovariance().fit(np.random.default_rng(5).normal(size=(50, 3)))
    attack = CovarianceAttack(reference, 8)
    tracked = torch.ones(3, requires_grad=True)
    message = "Pass target_gradients.detach().cpu()"
    refused(message, attack.update, tracked, torch.ones(3), error=TypeError)
    elsewhere = torch.ones(3, device="meta")  # as on a GPU: no memory that NumPy can see
    message = "Pass batch_gradient.detach().cpu()"
    refused(message, attack.update, torch.ones(3), elsewhere, error=TypeError)
    assert np.isfinite(attack.update(tracked.detach().cpu(), torch.ones(3)))


# --- digits ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    """A linear model of 650 parameters, a reference of 700 gradients there, and the rest."""
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = datasets.load_digits(return_X_y=True)
    x, y = torch.tensor(x / 16.0, dtype=torch.float32), torch.tensor(y)
    torch.manual_seed(6)
    model = torch.nn.Linear(64, 10)
    gradients = per_sample_gradients(model, CROSS_ENTROPY, x, y)
    # twenty pixels or so are the same in all digits: the ridge is 1/50 of the mean variance
    reference = StreamingCovariance(shrinkage=0.02).fit(gradients[:700])
    return gradients[700:].astype(np.float64), reference


def played(rng, gradients, target, b, games):
    """Batch means of games out, and of games in."""
    rows = gradients[rng.integers(len(gradients), size=(2, games, b))]
    rows[1, :, 0] = target
    return rows.mean(axis=2)


def test_covariance_attack_on_digits_beats_the_scalar_product_and_follows_the_distance(digits):
    gradients, reference = digits
    ranked = select_canaries(gradients, reference, len(gradients)).indices
    rng, b, games = np.random.default_rng(7), 64, 400
    aucs = {}
    for name, place in {"easy": 0, "medium": len(ranked) // 2, "hard": -1}.items():
        target = gradients[ranked[place]]
        batches = played(rng, gradients, target, b, games).reshape(-1, 650)
        for score in ("covariance", "scalar-product"):
            attack = CovarianceAttack(reference, b, score=score)
            found = attack.update(np.broadcast_to(target, (len(batches), 1, 650)), batches)
            out, into = np.split(found[:, 0], 2)
            aucs[name, score] = EmpiricalTradeOff(into, out).auc
    assert aucs["easy", "covariance"] > aucs["medium", "covariance"] > aucs["hard", "covariance"]
    for name in ("easy", "medium"):
        assert aucs[name, "covariance"] > aucs[name, "scalar-product"] + 0.1


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_power_against_dp_sgd_on_digits_is_what_mean_tradeoff_predicts(digits, noise):
    gradients, _ = digits
    rng, b, games, clip = np.random.default_rng(8), 64, 1500, 1.0
    short = gradients * np.minimum(1.0, clip / np.linalg.norm(gradients, axis=1, keepdims=True))
    reference = StreamingCovariance(ridge=1e-9).fit(short)
    target = short[select_canaries(short, reference).indices[0]]
    batches = played(rng, short, target, b, games)
    batches += rng.normal(size=batches.shape) * noise * clip / b
    attack = CovarianceAttack(reference, b, noise_multiplier=noise, clip_norm=clip)
    shape = (2 * games, 1, 650)
    found = attack.update(np.broadcast_to(target, shape), batches.reshape(-1, 650))[:, 0]
    measured = EmpiricalTradeOff(found[games:], found[:games])
    law = reference.mean_, reference.covariance_, b
    predicted = mean_tradeoff(target, *law, release_noise_cov=(noise * clip / b) ** 2)
    error = 4 * np.sqrt(0.5 / games)
    assert measured.auc == pytest.approx(predicted.auc, abs=error)
    assert measured.power(0.1) == pytest.approx(predicted.power(0.1), abs=2 * error)


def test_a_gradient_that_was_dropped_before_the_step_is_not_recorded():
    """The step leaves out a parameter whose gradient zero_grad() dropped; it was recorded."""
    torch.manual_seed(0)
    heads = torch.nn.ModuleList([torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)])
    sgd = torch.optim.SGD(heads.parameters(), lr=0.5)
    x = torch.ones(4, 3)
    with ParameterRecorder(heads, sgd, parameters="all") as recorder:
        heads[0](x).sum().backward()
        sgd.zero_grad()
        heads[1](x).sum().backward()
        sgd.step()
    moved = -np.diff(recorder.parameters_, axis=0)[0] / 0.5
    np.testing.assert_allclose(recorder.batch_gradients_[0], moved, atol=1e-6)
    assert not moved[:8].any()
    assert moved[8:].all()


def test_a_tensor_is_a_table_of_means_as_an_array_is():
    rng = np.random.default_rng(1)
    values, others = rng.normal(size=(200, 4)), rng.normal(size=(300, 4))
    expected = mean_leakage(values, panel=others)
    report = mean_leakage(torch.tensor(values), panel=torch.tensor(others))
    assert report.to_dict() == expected.to_dict()
    counts = rng.binomial(2, 0.3, (200, 12)).astype(np.int8)
    assert mean_leakage(torch.tensor(counts)).highest == mean_leakage(counts).highest
    with pytest.raises(TypeError, match=r"detach\(\)"):
        mean_leakage(torch.ones(5, 2, requires_grad=True))


@pytest.mark.parametrize("call", [per_sample_gradients, layer_gradients])
def test_a_penalty_on_the_parameters_inside_the_loss_is_refused(call):
    """It moves the steps of a training, and no gradient of an example has it."""
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 3))
    x, y = torch.randn(6, 1, 6, 6), torch.arange(6) % 3
    scale = torch.nn.Parameter(torch.tensor(2.0))

    def penalised(output, target):
        return CROSS_ENTROPY(output, target) + sum((p**2).sum() for p in model.parameters())

    def scaled(output, target):
        return CROSS_ENTROPY(scale * output, target)

    with pytest.raises(ValueError, match="by its output alone; it has a penalty on them"):
        call(model, penalised, x, y)
    call(model, CROSS_ENTROPY, x, y)
    call(model, scaled, x, y)
