"""What a step of training must be for its gradient to be read, and class weights of a loss."""

from __future__ import annotations

import copy
import warnings
from functools import partial

import numpy as np
import pytest

from mialeak import CovarianceAttack, EmpiricalTradeOff, StreamingCovariance
from mialeak.training import batch_gradient

torch = pytest.importorskip("torch")

from mialeak.training.torch import (  # noqa: E402
    ParameterRecorder,
    layer_gradients,
    per_sample_gradients,
)

CLIP = torch.nn.utils.clip_grad_norm_


def line(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Linear(20, 3)


def rows(n=32, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 20, generator=generator), torch.arange(n) % 3


def steps(model, optimizer, change=None, count=3, **options):
    """Gradients that a recorder gives of some steps, `change` between backward and step."""
    x, y = rows()
    with ParameterRecorder(model, optimizer, **options) as recorder:
        for _ in range(count):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            if change is not None:
                change(model.parameters())
            optimizer.step()
    return recorder.batch_gradients_


class TestSteps:
    """Parameters that did not move by learning rate times gradient."""

    @pytest.mark.parametrize("rate", [1e-9, 1e-12])
    def test_a_step_below_the_rounding_of_the_parameters_has_its_gradient(self, rate):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=rate)
        with ParameterRecorder(model, sgd) as recorder:
            model(rows()[0]).square().mean().backward()
            sgd.step()
        read, true = recorder.batch_gradients_[0], model.weight.grad.flatten()
        np.testing.assert_array_equal(read[:60], true)

    @pytest.mark.parametrize("change", ["load", "scale"])
    def test_parameters_that_are_set_between_steps(self, change):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        state = {name: value.clone() for name, value in model.state_dict().items()}

        def between(_):
            with torch.no_grad():
                if change == "load":
                    model.load_state_dict(state)
                else:
                    model.weight.mul_(0.9)

        with pytest.raises(
            ValueError, match="optimizer must be all that moves the parameters; they were changed"
        ):
            steps(model, sgd, between)


class TestClipping:
    def test_a_gradient_is_read_before_the_batch_is_clipped(self):
        model = line()
        plain = steps(model, torch.optim.SGD(model.parameters(), lr=0.1), count=1)
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        clipped = steps(model, sgd, partial(CLIP, max_norm=0.1), count=1)
        np.testing.assert_array_equal(clipped, plain)
        assert np.linalg.norm(plain) > 0.2

    def test_other_changes_of_a_batch_gradient_are_refused_at_the_step(self):
        def noise(parameters):
            for value in parameters:
                value.grad += 0.01 * torch.randn(value.shape)

        def one_layer(parameters):
            CLIP(list(parameters)[:1], max_norm=0.1)

        for change in (partial(torch.nn.utils.clip_grad_value_, clip_value=0.01), noise, one_layer):
            model = line()
            sgd = torch.optim.SGD(model.parameters(), lr=0.1)
            with pytest.raises(ValueError, match="changed between backward and step"):
                steps(model, sgd, change)

    def test_clipping_that_changes_nothing_is_none(self):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        clipped = steps(model, sgd, partial(CLIP, max_norm=1e3))
        model = line()
        plain = steps(model, torch.optim.SGD(model.parameters(), lr=0.1))
        np.testing.assert_array_equal(clipped, plain)

    def test_who_writes_a_mechanism_by_hand_says_so(self):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        found = steps(model, sgd, partial(CLIP, max_norm=0.1), allow_changed=True)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 0.1, rtol=1e-4)

    def test_batches_in_parts_and_steps_by_a_closure_are_plain_steps(self):
        x, y = rows()
        loss = torch.nn.functional.cross_entropy
        means, found = [], []
        for in_parts in (True, False):
            model = line()
            sgd = torch.optim.SGD(model.parameters(), lr=0.1)

            def closure(model=model, sgd=sgd):
                sgd.zero_grad()
                value = loss(model(x), y)
                value.backward()
                return value

            means.append(per_sample_gradients(model, loss, x, y).mean(axis=0))
            with ParameterRecorder(model, sgd) as recorder:
                if in_parts:
                    for part in (slice(0, 8), slice(8, 32)):
                        share = len(x[part]) / len(x)
                        (share * loss(model(x[part]), y[part])).backward()
                    sgd.step()
                else:
                    sgd.step(closure)
            found.append(recorder.batch_gradients_[0])
        np.testing.assert_allclose(found, means, atol=1e-6)

    def test_gradients_set_without_backward_are_taken(self):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.5)
        with ParameterRecorder(model, sgd, parameters=["bias"]) as recorder:
            model.bias.grad = torch.tensor([1.0, 2.0, 3.0])
            sgd.step()
        np.testing.assert_allclose(recorder.batch_gradients_[0], [1.0, 2.0, 3.0], atol=1e-6)

    def test_a_closed_recorder_refuses_nothing(self):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        steps(model, sgd)
        x, y = rows()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        CLIP(model.parameters(), 0.01)
        sgd.step()

    def test_why_it_is_refused(self):
        """A target in each batch of three steps: the area under the curve falls to a coin's."""
        areas = []
        for change in (None, partial(CLIP, max_norm=0.1)):
            scores = [[], []]
            for trial in range(24):
                inside = trial % 2
                model, generator = line(trial), torch.Generator().manual_seed(trial)
                x = torch.randn(300, 20, generator=generator)
                y = torch.randint(0, 3, (300,), generator=generator)
                loss = torch.nn.functional.cross_entropy
                sgd = torch.optim.SGD(model.parameters(), lr=0.1)
                reference = StreamingCovariance(ridge=1e-6).fit(
                    layer_gradients(model, loss, x[:200], y[:200]).dense()
                )
                attack = CovarianceAttack(reference, batch_size=32)
                target = torch.full((1, 20), 1.5), torch.tensor([0])
                with ParameterRecorder(model, sgd, allow_changed=True) as recorder:
                    for step in range(3):
                        batch = torch.randint(200, 300, (32,), generator=generator)
                        bx, by = x[batch].clone(), y[batch].clone()
                        if inside:
                            bx[0], by[0] = target[0][0], target[1][0]
                        gradients = layer_gradients(model, loss, *target).dense()
                        sgd.zero_grad()
                        loss(model(bx), by).backward()
                        if change:
                            change(model.parameters())
                        sgd.step()
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore" if change else "error", UserWarning)
                            attack.update(gradients, recorder.batch_gradients_[step])
                scores[inside].append(attack.scores()[0])
            areas.append(EmpiricalTradeOff(scores[1], scores[0]).auc)
        assert areas[0] > 0.8
        assert areas[1] < areas[0] - 0.15


SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
OPTIMIZERS = {
    "plain": partial(SGD, lr=0.1),
    "momentum": partial(SGD, lr=0.1, momentum=0.9),
    "dampening": partial(SGD, lr=0.1, momentum=0.9, dampening=0.5),
    "nesterov": partial(SGD, lr=0.1, momentum=0.9, nesterov=True),
    "decay": partial(SGD, lr=0.1, momentum=0.9, weight_decay=0.05),
    "ascent": partial(SGD, lr=0.1, momentum=0.9, weight_decay=0.05, maximize=True),
    "Adam": partial(ADAM, lr=1e-3),
    "Adam, decay, ascent": partial(ADAM, lr=1e-3, weight_decay=0.05, maximize=True),
    "AdamW": partial(ADAMW, lr=1e-3, weight_decay=0.05),
}


def run(make, kind, count, skip=0, groups=False):
    """Parameters around each step, true gradients, states, and the optimizer."""
    model = line().to(kind)
    x, y = rows(64)
    values = list(model.parameters())
    if groups:
        values = [{"params": values[:1]}, {"params": values[1:], "lr": 0.02, "weight_decay": 0.3}]
    optimizer = make(values)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 1.0 if groups else 0.98)
    path, gradients, states, rates = [], [], [], []
    for step in range(count + skip + 1):
        if step >= skip:
            path.append(torch.cat([v.detach().flatten() for v in model.parameters()]).numpy())
            states.append(copy.deepcopy(optimizer.state_dict()))
            rates.append(optimizer.param_groups[0]["lr"])
        if step == count + skip:
            break
        part = slice(16 * (step % 4), 16 * (step % 4) + 16)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[part].to(kind)), y[part]).backward()
        if step >= skip:
            gradients.append(torch.cat([v.grad.flatten() for v in model.parameters()]).numpy())
        optimizer.step()
        schedule.step()
    return np.array(path), np.array(gradients, float), states, rates[:-1], optimizer


def error(found, true):
    return (np.linalg.norm(found - true, axis=1) / np.linalg.norm(true, axis=1)).max()


class TestOptimizers:
    """Gradients of real trainings, against those that backward computed."""

    @pytest.mark.parametrize("kind", [torch.float64, torch.float32])
    @pytest.mark.parametrize("name", OPTIMIZERS)
    def test_steps_are_inverted(self, name, kind):
        path, true, states, rates, optimizer = run(OPTIMIZERS[name], kind, 20)
        state = states if "Adam" in name else states[0]
        found = batch_gradient(path[:-1], path[1:], rates, optimizer=optimizer, state=state)
        # float32: that of the parameters, over the learning rate; a tenth of a step's worth
        assert error(found, true) < (1e-10 if kind == torch.float64 else 2e-5)

    @pytest.mark.parametrize(("kind", "bound"), [(torch.float64, 1e-10), (torch.float32, 2e-3)])
    @pytest.mark.parametrize("name", ["Adam", "AdamW"])
    def test_one_state_of_adam_is_enough_later_on(self, name, kind, bound):
        path, true, states, rates, optimizer = run(OPTIMIZERS[name], kind, 20, skip=100)
        found = batch_gradient(path[:-1], path[1:], rates, optimizer=optimizer, state=states[0])
        assert error(found, true) < bound

    def test_a_recording_may_start_midway_with_a_state(self):
        path, true, states, rates, optimizer = run(OPTIMIZERS["nesterov"], torch.float64, 5, skip=7)
        found = batch_gradient(path[:-1], path[1:], rates, optimizer=optimizer, state=states[0])
        np.testing.assert_allclose(found, true, atol=1e-12)
        fresh = copy.deepcopy(SGD([torch.zeros(1)], lr=0.1).state_dict())
        wrong = batch_gradient(path[:-1], path[1:], rates, optimizer=optimizer, state=fresh)
        assert error(wrong[:1], true[:1]) > 0.5

    @pytest.mark.parametrize("name", ["plain", "momentum", "AdamW"])
    def test_groups_of_other_settings(self, name):
        path, true, states, _, optimizer = run(OPTIMIZERS[name], torch.float64, 6, groups=True)
        found = batch_gradient(path[:-1], path[1:], optimizer=optimizer, state=states)
        np.testing.assert_allclose(found, true, atol=1e-11)
        with pytest.raises(ValueError, match="have the same settings in all its groups, or step"):
            batch_gradient(path[:-1, :60], path[1:, :60], optimizer=optimizer, state=states)

    def test_two_gradients_of_one_step_are_refused(self):
        path, _, states, rates, optimizer = run(OPTIMIZERS["Adam"], torch.float64, 3, skip=1)
        with pytest.raises(ValueError, match=r"at step 2 of Adam .*% of the coordinates have two"):
            batch_gradient(path[:-1], path[1:], rates, optimizer=optimizer, state=states[0])

    def test_what_has_no_inverse_is_refused_with_the_reason(self):
        weights = list(line().parameters())
        both = [1.0], [0.5]
        for optimizer, state, message in [
            (ADAM(weights, amsgrad=True), None, "AMSGrad: its steps depend on a maximum"),
            (SGD(weights, lr=1.0, momentum=0.9, dampening=1.0), None, "dampening 1: after the"),
            (torch.optim.RMSprop(weights), None, "for RMSprop: no inverse"),
            (SGD(weights, lr=1.0, momentum=0.9), None, "momentum and no state: a step depends"),
            (ADAM(weights), None, "with Adam and no state"),
            (ADAM(weights), ADAM(weights).state_dict(), "first step of Adam by its parameters"),
            (ADAM(weights), [ADAM(weights).state_dict()] * 3, "be one state, or 2"),
        ]:
            with pytest.raises(ValueError, match=message):
                batch_gradient(*both, optimizer=optimizer, state=state)
        with pytest.raises(TypeError, match=r"state must be state_dict\(\) of the optimizer"):
            batch_gradient(*both, optimizer=ADAM(weights), state={"exp_avg": 1.0})
        with pytest.raises(TypeError, match="optimizer must be given with state"):
            batch_gradient(*both, 0.1, state={})

    def test_states_that_do_not_fit_are_refused(self):
        path, _, states, rates, optimizer = run(OPTIMIZERS["momentum"], torch.float64, 3)
        live = optimizer.state_dict()
        with pytest.raises(ValueError, match="be a copy; it holds the tensors"):
            batch_gradient(path[0], path[1], optimizer=optimizer, state=live)
        with pytest.raises(ValueError, match="state must be of the 60 parameters given"):
            batch_gradient(path[0, :60], path[1, :60], optimizer=optimizer, state=states[1])
        with pytest.raises(ValueError, match="theta_after must be theta_before of the next step"):
            batch_gradient(
                path[[0, 2]], path[[1, 3]], rates[:2], optimizer=optimizer, state=states[0]
            )

    def test_the_rate_is_that_of_the_optimizer(self):
        sgd = torch.optim.SGD(line().parameters(), lr=0.25)
        assert batch_gradient([1.0], [0.5], optimizer=sgd).tolist() == [2.0]
        assert batch_gradient([1.0], [0.5], sgd).tolist() == [2.0]
        assert batch_gradient([1.0], [0.5], 0.5, optimizer=sgd).tolist() == [1.0]

    @pytest.mark.parametrize("optimizer", ["adam", torch.optim.SGD, 0.1])
    def test_what_is_no_optimizer(self, optimizer):
        with pytest.raises(TypeError, match=r"optimizer must be a torch\.optim\.SGD, Adam or Ad"):
            batch_gradient([1.0], [0.5], optimizer=optimizer)


class TestRecorder:
    @pytest.mark.parametrize("make", [*OPTIMIZERS.values(), torch.optim.RMSprop, torch.optim.NAdam])
    def test_the_gradient_of_any_optimizer_is_read(self, make):
        model = line()
        x, y = rows()
        optimizer = make(model.parameters())
        true = []
        with ParameterRecorder(model, optimizer) as recorder:
            for _ in range(3):
                gradients = per_sample_gradients(model, torch.nn.CrossEntropyLoss(), x, y)
                true.append(gradients.mean(axis=0))
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), y).backward()
                CLIP(model.parameters(), 0.1)
                optimizer.step()
        np.testing.assert_allclose(recorder.batch_gradients_, true, atol=1e-6)

    def test_gradients_of_a_scaler_are_divided_by_it(self):
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
        found = []
        for passed in (scaler, None):
            model = line()
            x, y = rows()
            sgd = torch.optim.SGD(model.parameters(), lr=0.1)
            with ParameterRecorder(model, sgd, scaler=passed) as recorder:
                for _ in range(4):
                    sgd.zero_grad()
                    value = torch.nn.functional.cross_entropy(model(x), y)
                    if passed is None:
                        value.backward()
                        sgd.step()
                        continue
                    scaler.scale(value).backward()
                    scaler.unscale_(sgd)
                    CLIP(model.parameters(), 0.1)
                    scaler.step(sgd)
                    scaler.update()
            found.append(recorder.batch_gradients_)
        np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-7)
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        with ParameterRecorder(model, sgd):
            scaler.scale(model(x).square().mean()).backward()
            with pytest.raises(ValueError, match="scaler must be given: the gradients were mult"):
                scaler.step(sgd)

    def test_adapters_are_recorded_by_name(self):
        model = torch.nn.Sequential(torch.nn.Linear(20, 8), torch.nn.Linear(8, 3))
        for value in model[0].parameters():
            value.requires_grad_(requires_grad=False)
        optimizer = torch.optim.AdamW(model[1].parameters())
        with ParameterRecorder(model, optimizer, parameters=["1.weight"]) as recorder:
            torch.nn.functional.cross_entropy(model(rows()[0]), rows()[1]).backward()
            optimizer.step()
        assert recorder.batch_gradients_.shape == (1, 24)


class TestClassWeights:
    WEIGHT = torch.tensor([1.0, 5.0, 25.0])

    @pytest.mark.parametrize(
        "loss",
        [
            torch.nn.CrossEntropyLoss(weight=WEIGHT),
            torch.nn.NLLLoss(weight=WEIGHT),
            partial(torch.nn.functional.cross_entropy, weight=WEIGHT),
        ],
    )
    @pytest.mark.parametrize("function", [per_sample_gradients, layer_gradients])
    def test_a_mean_that_divides_by_them_is_refused(self, loss, function):
        with pytest.raises(ValueError, match=r"keep its class weights .* reduction='sum'"):
            function(line(), loss, *rows(6))

    def test_their_sum_keeps_them(self):
        """The rows add up to the gradient of a weighted batch, divided as the message states."""
        model, (x, y) = line(), rows(30)
        mean = torch.nn.CrossEntropyLoss(weight=self.WEIGHT)
        total = torch.nn.CrossEntropyLoss(weight=self.WEIGHT, reduction="sum")
        found = per_sample_gradients(model, total, x, y)
        np.testing.assert_allclose(layer_gradients(model, total, x, y).dense(), found, atol=1e-5)
        mean(model(x), y).backward()
        batch = torch.cat([model.weight.grad.flatten(), model.bias.grad]).numpy()
        np.testing.assert_allclose(
            found.sum(axis=0) / self.WEIGHT[y].sum().item(), batch, atol=1e-6
        )

    def test_weights_that_do_not_cancel_are_taken(self):
        """Of targets that are probabilities torch divides by their number."""
        model, (x, _) = line(), rows(4)
        y = torch.softmax(torch.arange(12.0).reshape(4, 3), dim=1)
        weighted = torch.nn.CrossEntropyLoss(weight=self.WEIGHT)
        plain, found = (
            per_sample_gradients(model, loss, x, y)
            for loss in (torch.nn.CrossEntropyLoss(), weighted)
        )
        assert np.abs(plain - found).max() > 0.1
        weighted(model(x), y).backward()
        batch = torch.cat([model.weight.grad.flatten(), model.bias.grad]).numpy()
        np.testing.assert_allclose(found.mean(axis=0), batch, atol=1e-6)


class TestExamplesApart:
    """Losses and models that no kind or name gives away: examples are compared with a batch."""

    @pytest.mark.parametrize("function", [per_sample_gradients, layer_gradients])
    def test_a_weighted_mean_in_a_function(self, function):
        weight = torch.tensor([1.0, 5.0, 20.0])

        def loss(output, target):
            return torch.nn.functional.cross_entropy(output, target, weight=weight)

        with pytest.raises(ValueError, match=r"loss must be the mean or the sum .*reduction='sum'"):
            function(line(), loss, *rows())

    @pytest.mark.parametrize("function", [per_sample_gradients, layer_gradients])
    def test_a_forward_that_takes_the_mean_of_a_batch(self, function):
        class Centred(torch.nn.Linear):
            def forward(self, x):
                return super().forward(x - x.mean(0))

        model = torch.nn.Sequential(Centred(20, 20), torch.nn.Linear(20, 3))
        loss = torch.nn.CrossEntropyLoss()
        with pytest.raises(ValueError, match="its output for one depends on the others"):
            function(model, loss, *rows())

    @pytest.mark.filterwarnings("ignore:Using a target size")
    def test_targets_that_are_broadcast(self):
        x, _ = rows()
        model, loss = torch.nn.Linear(20, 1), torch.nn.MSELoss()
        y = torch.linspace(-3, 3, len(x))
        with pytest.raises(ValueError, match="shapes of output and target have to agree"):
            per_sample_gradients(model, loss, x, y)
        assert per_sample_gradients(model, loss, x, y[:, None]).shape == (32, 21)

    @pytest.mark.parametrize("reduction", ["mean", "sum"])
    @pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
    def test_what_is_apart_is_taken(self, reduction, kind):
        x, y = rows()
        loss = torch.nn.CrossEntropyLoss(reduction=reduction)
        assert per_sample_gradients(line().to(kind), loss, x.to(kind), y).shape == (32, 63)
        assert layer_gradients(line().to(kind), loss, x.to(kind), y).columns == 63


class TestIgnoredTargets:
    """The mean of a batch divides by the targets not ignored; 1 of 50 hides from probes."""

    @pytest.mark.parametrize(
        ("loss", "ignored"),
        [
            (torch.nn.CrossEntropyLoss(), -100),
            (torch.nn.CrossEntropyLoss(ignore_index=2), 2),
            (torch.nn.NLLLoss(ignore_index=-1), -1),
            (torch.nn.functional.cross_entropy, -100),
            (partial(torch.nn.functional.cross_entropy, ignore_index=-1), -1),
        ],
    )
    @pytest.mark.parametrize("function", [per_sample_gradients, layer_gradients])
    def test_a_mean_over_the_others_is_refused(self, loss, ignored, function):
        x, y = rows(50)
        y = y.clamp(max=1)
        y[3] = ignored
        with pytest.raises(ValueError, match=rf"y must have no target .*\({ignored}\).*; got y\[3"):
            function(line(), loss, x, y)

    def test_their_sum_gives_an_ignored_example_no_gradient(self):
        model, (x, y) = line(), rows(6)
        y[3] = -100
        total = torch.nn.CrossEntropyLoss(reduction="sum")
        found = per_sample_gradients(model, total, x, y)
        assert np.flatnonzero(~found.any(axis=1)).tolist() == [3]
        total(model(x), y).backward()
        batch = torch.cat([model.weight.grad.flatten(), model.bias.grad]).numpy()
        np.testing.assert_allclose(found.sum(axis=0), batch, atol=1e-6)
