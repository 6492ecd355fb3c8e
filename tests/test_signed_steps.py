"""Steps that are no plain gradient descent, of which the first step of Adam is noticed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mialeak.training import batch_gradient


def adam(theta, gradient, rate, *, decay=0.0, epsilon=1e-8):
    """The first step, by its definition (Kingma and Ba): moments 0, both corrected."""
    first, second = 0.1 * gradient / (1.0 - 0.9), 0.001 * gradient**2 / (1.0 - 0.999)
    return theta * (1.0 - rate * decay) - rate * first / (np.sqrt(second) + epsilon)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("rate", "decay"), [(1e-2, 0.0), (1e-3, 0.0), (1e-3, 0.01)])
def test_the_first_step_of_adam_is_noticed(kind, rate, decay):
    rng = np.random.default_rng(0)
    theta, gradient = rng.normal(0.0, 0.2, 200), rng.normal(size=200)
    gradient[:40] = 0.0  # of inputs that are 0
    after = adam(theta, gradient, rate, decay=decay)
    if decay:
        theta, after = theta[40:], after[40:]
    with pytest.warns(UserWarning, match=r"160 entries of step 0 are 1 or -1 .*Adam") as warned:
        batch_gradient(theta.astype(kind), after.astype(kind), rate)
    assert "assumes plain gradient descent" in str(warned[0].message)
    assert warned[0].filename == __file__


def test_it_is_noticed_among_other_steps():
    rng = np.random.default_rng(1)
    path = [rng.normal(size=50)]
    path += [path[0] - 0.1 * rng.normal(size=50)]
    path += [adam(path[1], rng.normal(size=50), 0.1)]
    with pytest.warns(UserWarning, match="50 entries of step 1 are"):
        batch_gradient(np.array(path[:-1]), np.array(path[1:]), 0.1)


def test_gradients_are_no_signs():
    rng = np.random.default_rng(2)
    theta = rng.normal(size=300)
    gradients = (
        rng.normal(size=300),
        rng.uniform(-1.0, 1.0, 300),
        rng.normal(1.0, 0.1, 300),
        0.3 * rng.choice([-1.0, 0.0, 1.0], 300),  # of one example with inputs of 0 and 1
        np.where(rng.random(300) < 0.03, 1.0, 0.0),  # of few inputs
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gradient in gradients:
            found = batch_gradient(theta, theta - 0.1 * gradient, 0.1)
            np.testing.assert_allclose(found, gradient, atol=1e-13)
        batch_gradient([1.0, 2.0], [0.0, 3.0], 1.0)
