"""Sketches of gradients: scalar products, bits, and what they cost an attack."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from mialeak import CovarianceAttack, StreamingCovariance
from mialeak.training import GradientSketch, LayerGradients

MASK = (1 << 64) - 1


def matrix(sketch):
    """The projection, columns x size, from the buckets and signs."""
    table = np.zeros((sketch.columns, sketch.size))
    table[np.arange(sketch.columns), sketch.buckets] = sketch.signs
    return table


def splitmix(state):
    """SplitMix64 in whole numbers of Python."""
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def test_scalar_products_have_the_stated_mean_and_variance():
    rng, seeds, d, k = np.random.default_rng(5), 6000, 60, 8
    x, y = rng.normal(size=(2, d))
    both = np.stack([x, y])
    products = []
    for seed in range(seeds):
        one, other = GradientSketch(d, k, seed=seed).transform(both)
        products.append(one @ other)
    sizes = [d // k + (j < d % k) for j in range(k)]
    together = float(Fraction(sum(n * (n - 1) for n in sizes), d * (d - 1)))  # of two columns
    pairs = (x @ x) * (y @ y) + (x @ y) ** 2 - 2 * (x * x) @ (y * y)
    variance = pairs * together
    assert variance < pairs / k
    assert abs(np.mean(products) - x @ y) < 4 * np.sqrt(variance / seeds)
    spread = np.std((products - x @ y) ** 2) / np.sqrt(seeds)
    assert abs(np.var(products) - variance) < 4 * spread


@pytest.mark.parametrize(("seed", "size"), [(0, 5), (2**53, 16)])
def test_buckets_and_signs_are_those_of_whole_numbers(seed, size):
    sketch = GradientSketch(50, size, seed=seed)
    step = 0x9E3779B97F4A7C15
    origin = splitmix((seed + step) & MASK)
    drawn = [splitmix((origin + (i + 1) * step) & MASK) for i in range(50)]
    ranks = {i: rank for rank, i in enumerate(sorted(range(50), key=drawn.__getitem__))}
    assert sketch.buckets.tolist() == [ranks[i] % size for i in range(50)]
    assert sketch.signs.tolist() == [1 - 2 * (value & 1) for value in drawn]


def test_a_seed_has_the_same_bits_everywhere():
    sketch = GradientSketch(600_000, 2000, seed=7)
    held = sketch.buckets.astype("<i4").tobytes() + sketch.signs.tobytes()
    assert hashlib.sha256(held).hexdigest()[:16] == "aba7a5ae4737f5c7"
    # Multiples of powers of two of many sizes, whose sums round.
    row = (np.arange(600_000) * 7919 % (1 << 24)) * 2.0 ** (np.arange(600_000) % 60 - 30)
    sums = sketch.transform(row).astype("<f8").tobytes()
    assert hashlib.sha256(sums).hexdigest()[:16] == "309e696bfe6be4e2"


def test_white_noise_stays_white():
    table = matrix(GradientSketch(600, 50, seed=3))
    np.testing.assert_array_equal(table.T @ table, 12.0 * np.eye(50))
    counts = np.bincount(GradientSketch(700_001, 300, seed=1).buckets, minlength=300)
    assert counts.max() - counts.min() == 1


@pytest.mark.parametrize("clip_norm", [None, 2.0])
def test_a_sketch_is_a_projection_of_rows_and_of_factors(clip_norm, monkeypatch):
    rng = np.random.default_rng(4)
    layers = [
        LayerGradients(rng.normal(size=(6, 3)), rng.normal(size=(6, 5))),
        LayerGradients(rng.normal(size=(6, 2)), rng.normal(size=(6, 3)), bias=False),
    ]
    rows = np.concatenate([one.dense() for one in layers], axis=1)
    sketch = GradientSketch(rows.shape[1], 7, seed=9)
    used = rows
    if clip_norm is not None:
        used = rows * np.minimum(1, clip_norm / np.linalg.norm(rows, axis=1, keepdims=True))
    want = used @ matrix(sketch)
    np.testing.assert_allclose(sketch.transform(rows, clip_norm=clip_norm), want, atol=1e-12)
    np.testing.assert_allclose(sketch.transform(layers, clip_norm=clip_norm), want, atol=1e-12)
    three = sketch.transform(rows.reshape(2, 3, -1), clip_norm=clip_norm)
    np.testing.assert_allclose(three.reshape(6, -1), want, atol=1e-12)
    # pieces of columns, and of examples, have no seam
    monkeypatch.setattr("mialeak.training._sketch._CHUNK", 4)
    monkeypatch.setattr("mialeak.training._sketch._ENTRIES", 40)
    np.testing.assert_allclose(sketch.transform(layers, clip_norm=clip_norm), want, atol=1e-12)


# --- the attack --------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_scores_are_the_formula_on_sketches(noise):
    rng, d, k, b = np.random.default_rng(8), 90, 15, 4
    sketch = GradientSketch(d, k, seed=2)
    table, rows = matrix(sketch), rng.normal(size=(400, d)) + 0.2
    targets, batch = 2.0 * rng.normal(size=(3, d)), rng.normal(size=d) / 2
    clip = 4.0 if noise else None
    short = sketch.transform(rows, clip_norm=clip)
    attack = CovarianceAttack(
        StreamingCovariance().fit(short),
        batch_size=b,
        sketch=sketch,
        noise_multiplier=noise,
        clip_norm=clip,
        ridge=0.3,
    )
    got = attack.update(targets, batch)
    if clip:
        targets = targets * np.minimum(1, clip / np.linalg.norm(targets, axis=1, keepdims=True))
    ridge = 0.3 + (noise * (clip or 0.0)) ** 2 / b
    law = np.cov(short.T, bias=True) + ridge * d / k * np.eye(k)
    away, moved = targets @ table - short.mean(0), batch @ table - short.mean(0)
    solved = np.linalg.solve(law, away.T).T
    want = solved @ moved - np.vecdot(solved, away) / (2 * b)
    np.testing.assert_allclose(got, want, rtol=1e-9)
    attack.reset()
    again = attack.update(sketch.transform(targets), sketch.transform(batch))
    np.testing.assert_allclose(again, want, rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "k", "power", "noise"),
    [(150, 50, 1.2, 0.0), (150, 300, 0.6, 0.0), (1500, 200, 1.0, 0.0), (150, 200, 1.2, 1.0)],
)
def test_the_predicted_power_is_that_of_the_sketch(n, k, power, noise):
    """The law of sketches computed in full, for covariances with spectra of power laws."""
    rng, d, b = np.random.default_rng(k), 900, 4000
    spectrum = 900.0 * np.arange(1, d + 1) ** -power / (np.arange(1, d + 1) ** -power).sum()
    rows = rng.normal(size=(n, d)) * np.sqrt(spectrum)
    targets = 1.5 * rng.normal(size=(40, d)) * np.sqrt(spectrum)
    clip = 60.0 if noise else None
    sketch = GradientSketch(d, k, seed=n)
    options = {"noise_multiplier": noise, "clip_norm": clip}
    seen = sketch.power(rows, targets, batch_size=b, ridge=0.05, **options)
    if clip:
        rows, targets = (
            one * np.minimum(1, clip / np.linalg.norm(one, axis=1, keepdims=True))
            for one in (rows, targets)
        )
    away = targets - rows.mean(0)
    law = np.cov(rows.T, bias=True) + (0.05 + (noise * (clip or 0.0)) ** 2 / b) * np.eye(d)
    exact = np.sqrt(np.vecdot(away, np.linalg.solve(law, away.T).T) / b)
    np.testing.assert_allclose(seen.mu_exact, exact, rtol=1e-6)
    np.testing.assert_allclose(seen.auc_exact, ndtr(exact / np.sqrt(2)), rtol=1e-6)
    table = matrix(sketch)
    short = away @ table
    mu = np.sqrt(np.vecdot(short, np.linalg.solve(table.T @ law @ table, short.T).T) / b)
    errors = np.sqrt(k) * (mu / seen.mu - 1.0)  # stated: 4.1, and 0.73 in the mean over targets
    assert np.abs(errors).max() < 4.1
    assert abs(errors.mean()) < 0.73
    np.testing.assert_allclose(seen.auc, ndtr(seen.mu / np.sqrt(2)), rtol=1e-12)
    assert (seen.auc < seen.auc_exact).all()
    solved = np.linalg.eigvalsh(law)
    assert (solved / (solved + seen.effective_ridge)).sum() == pytest.approx(k, rel=1e-9)


def test_a_simulated_attack_has_the_predicted_area():
    rng, d, k, b, trials = np.random.default_rng(1), 400, 80, 300, 4000
    spectrum = 400.0 * np.arange(1, d + 1) ** -1.0 / (1 / np.arange(1, d + 1)).sum()
    rows = rng.normal(size=(4000, d)) * np.sqrt(spectrum)
    target = 1.6 * rng.normal(size=d) * np.sqrt(spectrum)
    sketch = GradientSketch(d, k, seed=5)
    seen = sketch.power(rows, target[None], batch_size=b)
    attack = CovarianceAttack(
        StreamingCovariance().fit(sketch.transform(rows)), batch_size=b, sketch=sketch
    )
    means = rng.normal(size=(trials, d)) * np.sqrt(spectrum / b)
    means[: trials // 2] += target / b
    scores = attack.update(np.broadcast_to(target, (trials, 1, d)), means)[:, 0]
    inside, outside = scores[: trials // 2], np.sort(scores[trials // 2 :])
    area = np.searchsorted(outside, inside).mean() / outside.size
    assert seen.auc[0] < seen.auc_exact[0] - 0.05
    assert area == pytest.approx(seen.auc[0], abs=0.03)  # a standard error of 0.01, and one seed


def test_a_wide_sketch_stands_for_the_gradients_in_a_prediction():
    rng, d = np.random.default_rng(2), 20_000
    spectrum = 1 / np.arange(1, d + 1)
    rows, targets = (rng.normal(size=(m, d)) * np.sqrt(spectrum) for m in (60, 20))
    narrow, wide = GradientSketch(d, 100, seed=1), GradientSketch(d, 8000, seed=2)
    options = {"batch_size": 8, "ridge": 1e-4}
    want = narrow.power(rows, targets, **options)
    got = narrow.power(wide.transform(rows), wide.transform(targets), **options)
    np.testing.assert_allclose(got.auc, want.auc, atol=0.02)
    assert got.effective_ridge == pytest.approx(want.effective_ridge, rel=0.1)


def test_steps_are_not_called_small_because_of_a_ridge():
    rng = np.random.default_rng(3)
    sketch, rows = GradientSketch(60, 12), rng.normal(size=(400, 60))
    reference = StreamingCovariance().fit(sketch.transform(rows))
    attack = CovarianceAttack(reference, batch_size=16, sketch=sketch, ridge=50.0)
    for _ in range(2):  # warnings are errors
        attack.update(rows[:2], rng.normal(size=60) / 4)
    assert attack.n_steps_seen_ == 2


# --- torch -------------------------------------------------------------------------------------


def test_a_convolution_and_attention_are_sketched_block_by_block(monkeypatch):
    torch = pytest.importorskip("torch")
    from mialeak.training.torch import ParameterRecorder, gradient_blocks, per_sample_gradients

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = torch.nn.Conv2d(1, 4, 3)
            self.mixed = torch.nn.MultiheadAttention(4, 2, batch_first=True)
            self.last = torch.nn.Linear(4, 3)

        def forward(self, x):
            rows = self.seen(x).flatten(2).transpose(1, 2)
            return self.last(self.mixed(rows, rows, rows, need_weights=True)[0].mean(dim=1))

    torch.manual_seed(0)
    model, loss = Small().double(), torch.nn.CrossEntropyLoss()
    x, y = torch.randn(9, 1, 6, 6).double(), torch.arange(9) % 3
    rows = per_sample_gradients(model, loss, x, y, parameters="all")
    sketch = GradientSketch(rows.shape[1], 20, seed=1)
    monkeypatch.setattr("mialeak.training.torch._gradients._ENTRIES", 4 * rows.shape[1])
    options = {"parameters": "all", "sketch": sketch}
    blocks = list(gradient_blocks(model, loss, x, y, **options))
    assert [len(one) for one in blocks] == [4, 4, 1]
    np.testing.assert_allclose(np.concatenate(blocks), sketch.transform(rows), atol=1e-12)
    short = per_sample_gradients(model, loss, x, y, clip_norm=0.2, **options)
    np.testing.assert_allclose(short, sketch.transform(rows, clip_norm=0.2), atol=1e-12)
    assert per_sample_gradients(model, loss, x[:0], y[:0], **options).shape == (0, 20)
    clipped = per_sample_gradients(model, loss, x, y, parameters="all", clip_norm=0.2)
    np.testing.assert_allclose(
        np.linalg.norm(clipped, axis=1), np.minimum(np.linalg.norm(rows, axis=1), 0.2)
    )
    # the gradient of a batch, as recorded, is that of its examples
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ParameterRecorder(model, optimizer, parameters="all") as recorder:
        loss(model(x), y).backward()
        optimizer.step()
    batch = sketch.transform(recorder.batch_gradients_[-1])
    np.testing.assert_allclose(batch, np.concatenate(blocks).mean(axis=0), atol=1e-12)
    with pytest.raises(ValueError, match="sketch must be of the 15 parameters that are named"):
        per_sample_gradients(model, loss, x, y, sketch=sketch)
    with pytest.raises(ValueError, match="clip_norm must be above 0"):
        per_sample_gradients(model, loss, x, y, clip_norm=0.0)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_device_has_the_same_sums_but_for_rounding(dtype):
    torch = pytest.importorskip("torch")
    from mialeak.training.torch._models import _device_sketch, _on_device

    rows = torch.randn(3, 500, generator=torch.Generator().manual_seed(0))
    rows = rows.to(getattr(torch, dtype))
    sketch = GradientSketch(500, 30, seed=4)
    got = _device_sketch(rows, 30, *_on_device(sketch, rows))
    np.testing.assert_allclose(got, sketch.transform(rows.double().numpy()), atol=1e-5)


# --- refusals ----------------------------------------------------------------------------------


def test_sketches_refuse():
    for arguments, error, match in (
        ((10, 10), ValueError, "size must be less than columns = 10; got size = 10"),
        ((10, 0), ValueError, "size must be between 1 and"),
        ((10.5, 2), TypeError, "columns must be an integer"),
        ((1, 1), ValueError, "columns must be between 2 and"),
    ):
        with pytest.raises(error, match=match):
            GradientSketch(*arguments)
    with pytest.raises(ValueError, match="seed must be between 0"):
        GradientSketch(10, 2, seed=-1)
    sketch = GradientSketch(10, 3)
    for rows in (np.ones((2, 9)), LayerGradients(np.ones((2, 3)), np.ones((2, 2)))):
        with pytest.raises(ValueError, match="gradients must have 10 columns, as the sketch"):
            sketch.transform(rows)
    with pytest.raises(ValueError, match="gradients must be finite"):
        sketch.transform(np.full(10, np.nan))
    with pytest.raises(ValueError, match="gradients must have 10 columns; it is one number"):
        sketch.transform(1.0)
    rows = np.random.default_rng(0).normal(size=(5, 10))
    for options, match in (
        ({}, "ridge must be above 0 where reference has fewer rows than columns"),
        ({"ridge": -1.0}, "ridge must be at least 0"),
        ({"ridge": 1.0, "noise_multiplier": 1.0}, "clip_norm must be given"),
    ):
        with pytest.raises(ValueError, match=match):
            sketch.power(rows, rows[:1], batch_size=2, **options)
    with pytest.raises(ValueError, match="targets must be gradients of the same parameters"):
        sketch.power(rows, rows[:1, :5], batch_size=2, ridge=1.0)
    with pytest.raises(ValueError, match="reference must have 10 columns at most"):
        sketch.power(np.ones((5, 11)), np.ones((1, 11)), batch_size=2, ridge=1.0)
    with pytest.raises(ValueError, match="reference must have at least 2 rows"):
        sketch.power(rows[:1], rows, batch_size=2, ridge=1.0)


def test_attacks_refuse_sketches_where_they_lose():
    rng = np.random.default_rng(0)
    sketch, rows = GradientSketch(20, 4), rng.normal(size=(50, 20))
    with pytest.raises(ValueError, match=r"sketch must be given without known.*Noise has all"):
        CovarianceAttack(known=rows, batch_size=5, sketch=sketch)
    factors = LayerGradients(rng.normal(size=(9, 4)), rng.normal(size=(9, 4)))
    with pytest.raises(ValueError, match=r"sketch must be given with a reference of sketches"):
        CovarianceAttack(factors, batch_size=5, sketch=sketch, ridge=1.0)
    with pytest.raises(TypeError, match="sketch must be a GradientSketch"):
        CovarianceAttack(StreamingCovariance().fit(rows), batch_size=5, sketch=4)
    with pytest.raises(ValueError, match="reference must be fitted to sketches of 4 columns"):
        CovarianceAttack(StreamingCovariance().fit(rows), batch_size=5, sketch=sketch)
    reference = StreamingCovariance().fit(sketch.transform(rows))
    with pytest.raises(ValueError, match="fitted to gradients clipped to clip_norm=1"):
        CovarianceAttack(reference, batch_size=5, sketch=sketch, clip_norm=1.0)
