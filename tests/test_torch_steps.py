"""What a step of training must be for its gradient to be read, and class weights of a loss."""

from __future__ import annotations

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
    def test_a_step_below_the_rounding_of_the_parameters_is_none(self, rate):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=rate)
        with pytest.warns(UserWarning, match="the parameters are rounded: a step") as caught:
            steps(model, sgd)
        assert len(caught) == 1
        model = line().double()
        sgd = torch.optim.SGD(model.parameters(), lr=rate)
        with ParameterRecorder(model, sgd) as recorder:
            model(rows()[0].double()).square().mean().backward()
            sgd.step()
        read, true = recorder.batch_gradients_[0], model.weight.grad.flatten()
        assert np.allclose(read[:60], true, rtol=0, atol=0.01 * true.norm())

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

        with pytest.raises(ValueError, match="optimizer must move the parameters by"):
            steps(model, sgd, between)


class TestClipping:
    def test_a_clipped_batch_gradient_is_refused_at_the_step(self):
        model = line()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        with pytest.raises(ValueError, match=r"those of 'weight' were changed .*clip_grad_norm_"):
            steps(model, sgd, partial(CLIP, max_norm=0.1))
        with pytest.raises(ValueError, match="changed between backward and step"):
            steps(model, sgd, partial(torch.nn.utils.clip_grad_value_, clip_value=0.01))

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
                        attack.update(gradients, recorder.batch_gradients_[step])
                scores[inside].append(attack.scores()[0])
            areas.append(EmpiricalTradeOff(scores[1], scores[0]).auc)
        assert areas[0] > 0.8
        assert areas[1] < areas[0] - 0.15


class TestOptimizers:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                "no momentum; its momentum is 0.9",
            ),
            (lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.5), "its weight_decay is 0.5"),
            (lambda p: torch.optim.SGD(p, lr=0.1, maximize=True), "no maximize"),
            (lambda p: torch.optim.Adam(p), "not Adam, whose steps follow past gradients"),
            (lambda p: torch.optim.AdamW(p), "not AdamW"),
        ],
    )
    def test_batch_gradient_knows_what_it_inverts(self, make, message):
        optimizer = make(line().parameters())
        with pytest.raises(ValueError, match=message):
            batch_gradient([1.0], [0.5], 0.1, optimizer=optimizer)
        with pytest.raises(ValueError, match=message):
            batch_gradient([1.0], [0.5], optimizer=optimizer)
        with pytest.raises(ValueError, match=message):
            ParameterRecorder(line(), optimizer)

    def test_the_rate_is_that_of_the_optimizer(self):
        sgd = torch.optim.SGD(line().parameters(), lr=0.25)
        assert batch_gradient([1.0], [0.5], optimizer=sgd).tolist() == [2.0]
        assert batch_gradient([1.0], [0.5], 0.5, optimizer=sgd).tolist() == [1.0]

    @pytest.mark.parametrize("optimizer", ["adam", torch.optim.SGD, 0.1])
    def test_what_is_no_optimizer(self, optimizer):
        with pytest.raises(TypeError, match=r"optimizer must be a torch\.optim\.SGD; got"):
            batch_gradient([1.0], [0.5], optimizer=optimizer)


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


class TestFinite:
    def test_examples_are_counted_over_blocks(self):
        x = torch.ones(700, 3)
        x[600, 1] = torch.nan
        with pytest.raises(ValueError, match=r"x must have finite gradients; .* example 600 is"):
            per_sample_gradients(torch.nn.Linear(3, 2), torch.nn.MSELoss(), x, torch.ones(700, 2))


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
