"""The kernels of the moment function: twins, extreme products, the same bits everywhere."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from fresh import in_fresh_python

from mialeak import exact_mean_tradeoff
from mialeak._kernels import moments as kernels, table
from mialeak._numerics.inversion import SaddlePointInversion
from mialeak.exact import _moments, _packing
from mialeak.exact._coordinates import families_of
from mialeak.exact._moments import RatioMoments
from mialeak.laws import Bernoulli
from mialeak.reference import exact as twins

HASH = "63c790a06f0a31961fecff1cde9e36138e3113e12310b0f59d1d4eeab58aac3a"


def tiles(rows=(3, 5), seed=0):
    """Tiles of random outcomes, lanes of different lengths, one without a coordinate."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    weight, ratio = rng.random((first[-1], 8)), rng.normal(size=(first[-1], 8))
    weight[first[1] - 1, :3] = ratio[first[1] - 1, :3] = 0.0
    weight[first[-2] :, 7] = ratio[first[-2] :, 7] = 0.0
    total = np.add.reduceat(weight, first[:-1])
    lost = rng.random(total.shape) * 0.2
    lost[-1, 7] = 0.0
    scale = (1.0 - lost) / np.where(total > 0.0, total, 1.0)
    weight *= np.repeat(scale, rows, axis=0)
    copies = rng.integers(1, 4, 8 * len(rows)).astype(float)
    copies[-1] = 0.0
    return first, weight, ratio, lost.ravel(), copies


def both(given, theta, start, step, count, floor=1e9):
    first, weight, ratio, lost, copies = given
    scratch = np.empty(kernels.SCRATCH * int(np.diff(first).max()))
    tilted = np.empty(3 * copies.size)
    sums = kernels.moment_sums(first, weight, ratio, lost, copies, theta, scratch, tilted)
    product = np.empty((count, 3, 8))
    kernels.moment_wave(
        first, weight, ratio, copies, theta, start, step, floor, tilted, scratch, product
    )
    values = np.prod(product[:, 0] + 1j * product[:, 1], axis=1)
    return sums, values * np.exp2(product[:, 2].sum(axis=1)), product


def by_twin(given, theta, t):
    """Coordinate by coordinate with the twins."""
    first, weight, ratio, _, copies = given
    sums, wave = np.zeros(3), np.ones(len(t), complex)
    for place, many in enumerate(copies):
        tile, lane = divmod(place, 8)
        rows = slice(first[tile], first[tile + 1])
        w, r = weight[rows, lane][None], ratio[rows, lane][None]
        if many:
            sums += many * np.array(twins.moment_sums(w, r, theta))
            wave *= twins.moment_wave(w, r, theta, t) ** many
    return sums, wave


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0, -3.0, 40.0])
@pytest.mark.parametrize(
    ("start", "step", "count"), [(0.0, 0.1, 1), (0.0, 0.3, 33), (70.0, 2.5, 70)]
)
def test_kernels_agree_with_their_twins(theta, start, step, count):
    given = tiles()
    sums, values, _ = both(given, theta, start, step, count)
    truth, wave = by_twin(given, theta, start + step * np.arange(count))
    np.testing.assert_allclose(sums, truth, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(values, wave, atol=1e-13)


@pytest.mark.parametrize("theta", [299.0, 301.0, -301.0, 5000.0])
def test_large_tilts_are_scaled_on_both_sides_of_the_cut(theta):
    first, weight, ratio, lost, copies = tiles()
    ratio = np.clip(ratio, -1.0, 1.0)
    sums, values, _ = both((first, weight, ratio, lost, copies), theta, 0.0, 0.01, 8)
    truth = 0.0
    for place, many in enumerate(copies):
        tile, lane = divmod(place, 8)
        rows = slice(first[tile], first[tile + 1])
        some = weight[rows, lane] > 0.0
        terms = np.log(weight[rows, lane][some]) + theta * ratio[rows, lane][some]
        truth += many * np.logaddexp.reduce(terms) if many else 0.0
    assert sums[0] == pytest.approx(truth, rel=1e-14)
    assert abs(values[0] - 1.0) < 1e-14


@pytest.mark.parametrize("copies", [1.0, 2.0, 7.0, 1000.0, 2.0**40])
def test_products_of_many_copies_neither_underflow_nor_lose_their_phase(copies):
    first, weight, ratio, lost, _ = tiles((2,))
    many = np.zeros(8)
    many[0] = copies
    _, _, product = both((first, weight, ratio, lost, many), 0.5, 0.0, 1e-3 / np.sqrt(copies), 40)
    _, single, _ = both((first, weight, ratio, lost, np.eye(8)[0]), 0.5, 0.0,
                        1e-3 / np.sqrt(copies), 40)  # fmt: skip
    with np.errstate(divide="ignore"):
        size = np.log(np.hypot(product[:, 0, 0], product[:, 1, 0])) + product[:, 2, 0] * np.log(2)
    np.testing.assert_allclose(size, copies * np.log(np.abs(single)), atol=3e-16 * copies + 1e-13)


def test_what_one_lane_makes_does_not_depend_on_its_neighbours():
    """Not even the words of a vanishing product: a coordinate whose ratio is never finite."""
    first, weight, ratio, lost, _ = tiles((2,))
    weight[:, 0], lost[0] = 0.0, 1.0
    found = [
        both((first, weight, ratio, lost, copies), 0.0, 0.5, 0.1, 3)[2][:, :, 0]
        for copies in (np.ones(8), np.array([1.0] + 7 * [3.0]))
    ]
    assert found[0].tobytes() == found[1].tobytes()


def test_what_is_far_below_one_is_an_upper_bound():
    first, weight, ratio, lost, copies = tiles((40,) * 30)
    _, values, _ = both((first, weight, ratio, lost, copies), 0.0, 200.0, 1.0, 64)
    _, bound, _ = both((first, weight, ratio, lost, copies), 0.0, 200.0, 1.0, 64, floor=128.0)
    assert np.all(np.abs(bound) >= np.abs(values) * (1 - 1e-9))
    assert np.all(np.abs(bound) < 2.0**-100)


def test_the_inversion_gives_the_same_with_the_numpy_twin():
    d, n = 200, 500
    p = np.linspace(0.3, 0.7, d)
    z = (np.arange(d) % 2).astype(float)
    x = np.linspace(-3.0, 3.0, 7)
    twin = SaddlePointInversion(twins.BitMoments(z, p, n))
    ours = exact_mean_tradeoff(z, Bernoulli(p), n)
    np.testing.assert_allclose(ours.sf(x), np.exp(twin.log_tails(x)[1]), rtol=1e-11)


def test_the_twin_enumerates_what_the_atoms_are():
    p, z, n = np.array([0.3, 0.62]), np.array([1.0, 0.0]), 9
    ratio, out, inside = twins.ratio_atoms(z, p, n)
    curve = exact_mean_tradeoff(z, Bernoulli(p), n)
    assert curve.advantage == pytest.approx(0.5 * np.abs(inside - out).sum(), rel=1e-13)
    assert curve.sf(0.2) == pytest.approx(out[ratio > 0.2].sum(), rel=1e-13)


@pytest.mark.parametrize("exponent", [-709.8, -1500.0, -1e12])
def test_outcomes_without_weight_count_for_nothing(exponent):
    """Their e^(theta l), over that of the others, is beyond the largest number."""
    first = np.array([0, 2], np.int64)
    weight, ratio = np.zeros((2, 8)), np.zeros((2, 8))
    weight[0], ratio[0] = 1.0, exponent / 400.0
    given = first, weight, ratio, np.zeros(8), np.ones(8)
    sums, wave, _ = both(given, 400.0, 0.0, 1e-3, 5)
    np.testing.assert_allclose(sums, [8 * exponent, 8 * exponent / 400.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(wave, 1.0, rtol=1e-15)


def test_a_coordinate_may_be_all_but_lost():
    """What is left of its probabilities is no normal number, but its phase has size 1."""
    first = np.array([0, 2], np.int64)
    weight, ratio = np.full((2, 8), 1e-170), np.zeros((2, 8))
    weight[1], ratio[1] = 1e-314, 2.0**14
    given = first, weight, ratio, np.ones(8), np.ones(8)
    _, wave, _ = both(given, 1.0, 0.0, 1e-9, 3)
    np.testing.assert_allclose(abs(wave), 1.0, rtol=1e-9)


@pytest.mark.parametrize("stride", [0.3, 0.6])
def test_every_hth_count_is_enough(stride):
    """A stride of 0.6 standard deviations errs by exp(-2 pi^2/0.36) = 1e-24: rounding is more."""
    p, z, n = np.array([0.4]), np.array([1.0]), 10_000
    k, _, _ = twins.moment_sums(*twins.bit_outcomes(z, p, n, stride), 0.5)
    exact, _, _ = twins.moment_sums(*twins.bit_outcomes(z, p, n, 1e-9), 0.5)
    assert k == pytest.approx(exact, abs=1e-15)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**12])
def test_a_phase_of_many_turns_is_exact(n):
    """M at a frequency far out, against all counts with the phase reduced by exact arithmetic."""
    moments = RatioMoments(families_of(Bernoulli([0.3]), np.ones(1), 1000)[0], None)
    t = 2.0 * np.pi * 300.0 * (1 + n / 10**12)
    got = moments.wave(0.0, t, 1.0, 1)[0]
    table_ = moments.all_outcomes()
    weight, ratio = table_.weight[:, 0], table_.ratio[:, 0]
    mean = weight @ ratio
    assert got == pytest.approx((weight * np.exp(1j * t * (ratio - mean))).sum(), abs=1e-12)


def digest() -> str:
    """Of kernels that get the same bits in on every machine."""
    rng = np.random.default_rng(3)
    first = np.array([0, 4, 11], np.int64)
    weight = rng.integers(1, 1000, (11, 8)) / 8192.0
    ratio = rng.integers(-4096, 4096, (11, 8)) / 2048.0
    lost = 1.0 - np.add.reduceat(weight, first[:-1]).ravel()
    copies = rng.integers(0, 4, 16).astype(float)
    seen = hashlib.sha256()
    waves = [(theta, 1.0, 3.0, 0.37) for theta in (0.0, 0.5, -7.25, 400.0)]
    waves.append((0.5, 2.0**-1000 / 3.0, 3e-9, 3.7e-10))  # phases that are no normal numbers
    for theta, unit, start, step in waves:
        given = first, weight, unit * ratio, lost, copies
        sums, _, product = both(given, theta, start, step, 77, 512.0)
        seen.update((np.array(sums) + 0.0).tobytes())
        seen.update((product + 0.0).tobytes())
    return seen.hexdigest()


@pytest.mark.parametrize("isa", table.isa_available())
def test_every_instruction_set_gives_the_same_bits(isa):
    code = "import test_exact_kernels; print(test_exact_kernels.digest())"
    run = in_fresh_python(code, isa)
    assert run.stdout.split() == [HASH], run.stderr


@pytest.mark.parametrize("tiles", [1, 3])
def test_blocks_and_workers_change_no_bit_of_a_curve(monkeypatch, tiles):
    p = np.linspace(0.2, 0.8, 173)
    target = np.arange(p.size) % 3 == 0
    fpr = np.array([1e-30, 1e-3, 0.1, 0.7])

    def curve(workers):
        made = exact_mean_tradeoff(target, Bernoulli(p), 500, workers=workers)
        bounds = made.enclosure(0.1, reach=30.0)
        return np.append(made.power(fpr), [made.advantage, bounds.lower, bounds.upper])

    whole = curve(1)
    monkeypatch.setattr(_moments, "_TILES", tiles)
    monkeypatch.setattr(_packing, "_ROWS", 50)
    one, two = curve(1), curve(2)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, whole, rtol=1e-11)


def test_workers_must_be_a_number_of_threads():
    with pytest.raises(ValueError, match=r"^workers must be at least 1, or -1 for all CPUs"):
        exact_mean_tradeoff([1, 0], Bernoulli([0.5, 0.3]), 10, workers=0)
