"""Streaming covariance: sums over blocks against two passes over all rows."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import mialeak
from mialeak.covariance import NotFittedError, StreamingCovariance
from mialeak.reference import covariance as twins

STRUCTURES = {
    "full": {},
    "diagonal": {"structure": "diagonal"},
    "block": {"structure": "block", "blocks": [3, 1, 8]},
    "low-rank": {"structure": "low-rank", "ridge": 0.3},
}


def correlated(rows, columns, seed=0, mean=5.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns)) + mean


def as_structure(cov, structure, blocks=(3, 1, 8)):
    """A covariance with what a structure leaves out set to zero."""
    if structure == "diagonal":
        return np.diag(np.diagonal(cov))
    if structure == "block":
        place = np.repeat(np.arange(len(blocks)), blocks)
        return np.where(place[:, None] == place, cov, 0.0)
    return cov


def rows_for(structure, seed=0):
    return correlated(9 if structure == "low-rank" else 400, 12, seed)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_are_those_of_two_passes_and_an_inverse(structure, order, dtype):
    x = rows_for(structure).astype(dtype)
    exact = x.astype(np.float64)
    parameters = STRUCTURES[structure]
    cov = twins.covariance(exact, ridge=parameters.get("ridge", 0.0))
    cov = as_structure(cov, structure)
    given = np.asarray(x, order=order)
    found = StreamingCovariance(**parameters).fit(given[:5]).partial_fit(given[5:])
    assert found.n_samples_seen_ == len(x)
    np.testing.assert_allclose(found.mean_, exact.mean(axis=0), rtol=1e-14)
    dense = np.diag(found.covariance_) if structure == "diagonal" else found.covariance_
    np.testing.assert_allclose(dense, cov, rtol=1e-12, atol=1e-12)
    truth = twins.mahalanobis(exact, exact.mean(axis=0), cov)
    np.testing.assert_allclose(found.mahalanobis(given), truth, rtol=1e-10)
    white = found.transform(given)
    np.testing.assert_allclose((white**2).sum(axis=1), truth, rtol=1e-10)
    assert found.log_determinant_ == pytest.approx(np.linalg.slogdet(cov)[1], rel=1e-12)
    assert found.rank_ == 12


def test_scoring_before_fitting_is_an_error_that_says_what_to_do():
    for method in ("mahalanobis", "transform"):
        with pytest.raises(NotFittedError, match=r"seen rows\. Call fit or partial_fit first"):
            getattr(StreamingCovariance(), method)(np.ones((2, 2)))
    assert not hasattr(StreamingCovariance(), "mean_")


def test_a_singular_covariance_says_its_rank_and_what_to_do():
    x = correlated(50, 6)
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.full(50, 0.1)])
    found = StreamingCovariance().fit(x)
    assert found.rank_ == 6
    with pytest.raises(ValueError, match=r"rank is 6 of 8\. .* or set shrinkage or ridge"):
        found.mahalanobis(x)
    assert np.isfinite(found.set_params(ridge=1.0).mahalanobis(x)).all()


def test_the_leakage_of_a_mean_takes_a_covariance_as_it_was_learnt():
    x = correlated(300, 4)
    mean, matrix = x.mean(axis=0), twins.covariance(x)
    for found, cov in (
        (StreamingCovariance().fit(x), matrix),
        (StreamingCovariance(structure="diagonal").fit(x), np.diagonal(matrix)),
        (StreamingCovariance(ridge=0.5).fit(x), matrix + 0.5 * np.eye(4)),
        (StreamingCovariance(structure="block", blocks=[4]).fit(x), matrix),
    ):
        for more in ({}, {"release_noise_cov": 0.2}):
            expected = mialeak.leakage_score(x, mean, cov, 300, **more)
            got = mialeak.leakage_score(x, mean, found, 300, **more)
            np.testing.assert_allclose(got, expected, rtol=1e-11)
        got = mialeak.scores.covariance_score(x, x[0], mean, found, 300)
        np.testing.assert_allclose(
            got, mialeak.scores.covariance_score(x, x[0], mean, cov, 300), rtol=1e-10, atol=1e-12
        )
    with pytest.raises(ValueError, match="cov must be fitted to 3 columns; it was fitted to 4"):
        mialeak.leakage_score(x[:, :3], mean[:3], StreamingCovariance().fit(x), 300)
    with pytest.raises(NotFittedError):
        mialeak.leakage_score(x, mean, StreamingCovariance(), 300)


def test_the_leakage_of_a_mean_never_makes_the_matrix_of_a_low_rank(monkeypatch):
    x = correlated(9, 12)
    found = StreamingCovariance(structure="low-rank", ridge=0.3).fit(x)
    expected = mialeak.leakage_score(x, x.mean(axis=0), found.covariance_, 50)
    monkeypatch.setattr(StreamingCovariance, "covariance_", property(lambda self: 1 / 0))
    got = mialeak.leakage_score(x, x.mean(axis=0), found, 50)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_attacker_who_takes_one_row_for_another_knows_a_learnt_covariance(structure):
    x = rows_for(structure)
    found = StreamingCovariance(**STRUCTURES[structure]).fit(x)
    mean = x.mean(axis=0)
    expected = mialeak.mean_tradeoff(x[:4], mean, found.covariance_, 50, assumed_target=x[4:8]).mu
    got = mialeak.mean_tradeoff(x[:4], mean, found, 50, assumed_target=x[4:8]).mu
    np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_saved_object_goes_on_with_the_same_bits(structure, tmp_path):
    x, path = rows_for(structure), tmp_path / "learnt"
    cut = 2 * len(x) // 3
    one = StreamingCovariance(**STRUCTURES[structure]).fit(x[:cut])
    one.save(path)
    two = StreamingCovariance.load(path)
    assert repr(two) == repr(one)
    np.testing.assert_array_equal(two.mahalanobis(x), one.mahalanobis(x))
    one.partial_fit(x[cut:])
    two.partial_fit(x[cut:])
    np.testing.assert_array_equal(two.mahalanobis(x), one.mahalanobis(x))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("structure", ["full", "low-rank"])
def test_no_rows_have_no_distances(structure):
    """With enough columns for the triangle to be halved, too."""
    x = np.random.default_rng(3).normal(size=(200, 300 if structure == "low-rank" else 150))
    found = StreamingCovariance(structure=structure, shrinkage=0.1).fit(x)
    factor = found.whitening_
    assert np.shape(factor.squared(np.empty((0, x.shape[1])))) == (0,)


def test_an_attribute_that_is_set_takes_effect_as_set_params_does():
    x = rows_for("full")
    found = StreamingCovariance().fit(x)
    found.mahalanobis(x)
    found.ridge = 5.0
    fresh = StreamingCovariance(ridge=5.0).fit(x)
    np.testing.assert_array_equal(found.mahalanobis(x), fresh.mahalanobis(x))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_copy_and_its_original_learn_each_by_itself(structure):
    x = rows_for(structure)
    cut = 2 * len(x) // 3
    found = StreamingCovariance(**STRUCTURES[structure]).fit(x[:cut])
    before = found.mahalanobis(x)
    twin = copy.copy(found).partial_fit(x[cut:])
    np.testing.assert_array_equal(found.mahalanobis(x), before)
    assert (found.n_samples_seen_, twin.n_samples_seen_) == (cut, len(x))
    fresh = StreamingCovariance(**STRUCTURES[structure]).fit(x[:cut]).partial_fit(x[cut:])
    np.testing.assert_array_equal(twin.mahalanobis(x), fresh.mahalanobis(x))


def test_another_structure_than_that_of_the_rows_is_neither_saved_nor_merged(tmp_path):
    x = rows_for("full")
    found = StreamingCovariance().fit(x).set_params(structure="diagonal")
    other = StreamingCovariance().fit(x)
    for act in (lambda: found.save(tmp_path / "learnt"), lambda: found.merge(other)):
        with pytest.raises(ValueError, match=r"structure must be what it was .* Call fit"):
            act()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "parameters",
    [{"ridge": np.array(0.5)}, {"structure": "block", "blocks": np.array([5, 7])}],
)
def test_parameters_that_are_arrays_are_saved(parameters, tmp_path):
    x = rows_for("full")
    found = StreamingCovariance(**parameters).fit(x)
    found.save(tmp_path / "learnt")
    loaded = StreamingCovariance.load(tmp_path / "learnt")
    np.testing.assert_array_equal(loaded.mahalanobis(x), found.mahalanobis(x))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_products_of_rows_with_themselves_are_their_squares(structure):
    x = rows_for(structure)
    factor = StreamingCovariance(**STRUCTURES[structure]).fit(x).whitening_
    for rows in (x[:1].copy(), np.asfortranarray(x)):
        squares = factor.squared(rows.copy())
        np.testing.assert_allclose(factor.inner(rows, rows), squares, rtol=1e-10)


def test_no_rows_are_no_fit_and_no_more_than_2_53_are_counted():
    found = StreamingCovariance().partial_fit(np.empty((0, 3)))
    assert not found.__sklearn_is_fitted__()
    found.partial_fit(np.eye(3))
    assert found.__sklearn_is_fitted__()
    for _ in range(51):
        found.merge(found)
    with pytest.raises(ValueError, match=r"other must leave at most 2\*\*53 rows in all"):
        found.merge(found)
    assert found.n_samples_seen_ == 3 * 2**51


def test_a_singular_block_is_named():
    x = rows_for("full")
    x[:, 3] = x[:, 2]
    found = StreamingCovariance(structure="block", blocks=[2, 10]).fit(x)
    with pytest.raises(ValueError, match=r"covariance of block 1 must have .* rank is 9 of 10"):
        found.mahalanobis(x)


def test_a_low_rank_that_would_be_full_is_not_merged():
    found = StreamingCovariance(**STRUCTURES["low-rank"]).fit(rows_for("low-rank"))
    message = r"other must have fewer rows than columns in all .* it has 18 rows of 12 columns"
    with pytest.raises(ValueError, match=message):
        found.merge(found)
    assert found.n_samples_seen_ == 9


@pytest.mark.parametrize("structure", ["full", "diagonal", "block"])
@pytest.mark.parametrize("cut", [0, 1, 10])
def test_first_rows_that_lie_far_off_cost_no_digits(structure, cut):
    n = 100_000
    rows = np.random.default_rng(0).integers(-3, 4, (n, 2))
    rows[0] = 10**5, -3 * 10**5
    total, products = rows.sum(axis=0), rows.T @ rows  # exact, in integers
    exact = [[int(n * products[i, j] - total[i] * total[j]) / n**2 for i in (0, 1)] for j in (0, 1)]
    blocks = [1, 1] if structure == "block" else None
    found = StreamingCovariance(structure=structure, blocks=blocks)
    found.partial_fit(rows[:cut]).partial_fit(rows[cut:])
    want = as_structure(np.array(exact), structure, (1, 1))
    dense = np.diag(found.covariance_) if structure == "diagonal" else found.covariance_
    np.testing.assert_allclose(dense, want, rtol=1e-13)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_rows_too_far_from_those_before_are_refused_and_change_nothing(structure):
    x = rows_for(structure)
    parameters = STRUCTURES[structure]
    found, far = (StreamingCovariance(**parameters).fit(x[:3] + shift) for shift in (0.0, 1e200))
    before = found.covariance_
    with pytest.raises(ValueError, match="other must lie near enough to the rows before"):
        found.merge(far)
    with pytest.raises(ValueError, match="X must be small enough for its powers to be summed"):
        found.partial_fit(x[3:] + 1e200)
    np.testing.assert_array_equal(found.covariance_, before)
