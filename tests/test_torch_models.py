"""Models that share, make, freeze or hook the parameters of their layers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from test_torch import CROSS_ENTROPY, conv_net, one_by_one, refused  # noqa: E402

from mialeak.training.torch import (  # noqa: E402
    ParameterRecorder,
    layer_gradients,
    per_sample_gradients,
)


class Tied(torch.nn.Module):
    """A last layer whose weight is that of the first."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def test_last_layer_that_shares_its_weight_has_the_gradient_of_both_uses():
    model, x, y = Tied(), torch.randn(5, 4), torch.tensor([0, 1, 2, 3, 0])
    want = one_by_one(model, x, y, [model.first.weight, model.last.bias])
    got = per_sample_gradients(model, CROSS_ENTROPY, x, y)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with ParameterRecorder(model, optimizer) as recorder:
        CROSS_ENTROPY(model(x), y).backward()
        optimizer.step()
    np.testing.assert_allclose(recorder.batch_gradients_[0], want.mean(axis=0), atol=1e-6)
    message = "model must have a last layer whose weight and bias are its own; those of 'last'"
    refused(message, layer_gradients, model, CROSS_ENTROPY, x, y)


def test_last_layer_whose_weight_is_made_of_others_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.nn.utils.weight_norm(torch.nn.Linear(4, 3))
    message = "model must have a last layer whose weight and bias are its own"
    refused(message, layer_gradients, model, CROSS_ENTROPY, torch.ones(2, 4), torch.ones(2).long())


def test_layer_gradients_are_the_same_whatever_follows_the_layer():
    class InPlace(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x):
            return self.layer(x).relu_()

    model, x, y = InPlace(), torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])
    model.layer.register_forward_hook(lambda layer, given, output: 2 * output)
    want = one_by_one(model, x, y, list(model.parameters()))
    got = layer_gradients(model, CROSS_ENTROPY, x, y).dense()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_dropout_that_is_no_layer_is_refused_and_one_that_drops_nothing_is_not():
    class Dropping(torch.nn.Linear):
        def forward(self, x):
            return super().forward(torch.nn.functional.dropout(x, 0.5, self.training))

    x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])
    model = torch.nn.Sequential(Dropping(4, 4), torch.nn.Linear(4, 3))
    message = "model must draw nothing at random. Call model.eval()"
    refused(message, layer_gradients, model, CROSS_ENTROPY, x, y)
    want = one_by_one(model.eval(), x, y, list(model[1].parameters()))
    model = torch.nn.Sequential(*model, torch.nn.Dropout(0.0)).train()
    model[0].eval()
    for rows in (
        layer_gradients(model, CROSS_ENTROPY, x, y).dense(),
        per_sample_gradients(model, CROSS_ENTROPY, x, y),
    ):
        np.testing.assert_allclose(rows, want, rtol=1e-4, atol=1e-6)


def test_bfloat16_comes_as_float32_and_no_example_in_the_precision_of_the_model():
    x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])
    model = torch.nn.Linear(4, 3).bfloat16()
    rows = per_sample_gradients(model, CROSS_ENTROPY, x.bfloat16(), y)
    assert rows.dtype == np.float32
    layers = layer_gradients(model, CROSS_ENTROPY, x.bfloat16(), y)
    np.testing.assert_allclose(layers.dense(), rows, atol=0.05)
    with ParameterRecorder(model, torch.optim.SGD(model.parameters(), lr=0.5)) as recorder:
        assert recorder.parameters_.dtype == np.float32
    none = per_sample_gradients(model.double(), CROSS_ENTROPY, x[:0].double(), y[:0])
    assert none.shape == (0, 15)
    assert none.dtype == np.float64


def test_recorder_refuses_parameters_that_do_not_train():
    model = conv_net()
    optimizer = torch.optim.SGD(model[3].parameters(), lr=0.5)
    message = "parameters must be what optimizer steps; got parameters = '0.weight'. Name those"
    refused(message, ParameterRecorder, model, optimizer, parameters="all")
    model[3].bias.requires_grad_(False)
    message = "parameters must be what optimizer steps; got parameters = '3.bias'"
    refused(message, ParameterRecorder, model, optimizer)
    with ParameterRecorder(model, optimizer, parameters=["3.weight"]) as recorder:
        assert recorder.parameters_.shape == (1, 192)


class TestFinite:
    def test_examples_are_counted_over_blocks(self):
        x = torch.ones(700, 3)
        x[600, 1] = torch.nan
        with pytest.raises(ValueError, match=r"x must have finite gradients; .* example 600 is"):
            per_sample_gradients(torch.nn.Linear(3, 2), torch.nn.MSELoss(), x, torch.ones(700, 2))
