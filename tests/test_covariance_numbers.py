"""How exact streamed covariances are, and that their bits do not depend on the machine."""

from __future__ import annotations

import numpy as np
import pytest
from covariance_accuracy import CONDITIONS, EPS, MEANS, OURS, bound, errors
from fresh import bits_by_isa
from scipy.linalg import lapack

from mialeak._kernels import covariance as kernels
from mialeak.covariance import StreamingCovariance, _factors
from mialeak.covariance._factors import Triangle
from mialeak.reference import covariance as twins


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_errors_stay_within_the_condition_number_whatever_the_mean(condition, mean):
    found = errors(condition, mean, seed=4)
    for name in OURS:
        assert found[name] <= bound(condition), (name, found)


# --- kernels -----------------------------------------------------------------------------------

#: Columns and rows around lanes, panels and sweeps.
SEAMS = [(1, 1), (7, 8), (8, 9), (9, 63), (16, 64), (17, 65), (23, 130), (8, 1023), (9, 1100)]


def layouts(x):
    """The same matrix as it may lie in memory."""
    yield "C", x
    yield "F", np.asfortranarray(x)
    yield "reversed", x[::-1, ::-1].copy()[::-1, ::-1]
    wide = np.zeros((2 * x.shape[0], 3 * x.shape[1]), x.dtype)
    wide[::2, ::3] = x
    yield "gaps", wide[::2, ::3]
    locked = x.copy()
    locked.flags.writeable = False
    yield "read-only", locked


@pytest.mark.parametrize(("rows", "columns"), SEAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_agree_with_their_twins_and_give_the_same_bits_for_every_layout(
    rows, columns, dtype
):
    rng = np.random.default_rng(rows * columns)
    x = (rng.normal(size=(rows, columns)) + 3).astype(dtype)
    centre, rest, weights = rng.normal(size=(3, columns))
    exact = x.astype(np.float64)
    first = None
    for _, given in layouts(x):
        sums, two = np.ones((4, columns)), np.ones((2, columns))
        out, norm = np.empty((rows, columns), order="F"), np.empty(rows)
        kernels.column_powers(given, centre, rest, sums)
        kernels.centre_rows(given, centre, rest, out, two)
        kernels.row_norms(given, centre, rest, weights, norm)
        found = [sums, out, norm]
        np.testing.assert_array_equal(two, sums[:2])
        first = found if first is None else first
        for one, other in zip(found, first, strict=True):
            np.testing.assert_array_equal(one, other)
    powers = twins.column_powers(exact, centre, rest, 4)
    np.testing.assert_allclose(first[0] - 1, powers, rtol=1e-12, atol=1e-12 * rows)
    v, two = twins.centre_rows(exact, centre, rest)
    np.testing.assert_array_equal(first[1], v)
    np.testing.assert_allclose(two, powers[:2], rtol=1e-13)
    truth = twins.row_norms(exact, centre, rest, weights)
    size = twins.row_norms(exact, centre, rest, np.abs(weights))
    np.testing.assert_allclose(first[2] - truth, 0.0, atol=1e-14 * size.max())


HASH = "c8896dddc9a397763df95716bf2768c940435c607427f83ced8711f7df7d6b93"

CODE = """
import hashlib, numpy as np
from mialeak._kernels import covariance as kernels
from mialeak._kernels.table import isa
raw = (np.random.PCG64(7).random_raw(41 * 1203) >> np.uint64(11)) * 2.0**-53
x = raw.reshape(41, 1203)
centre, rest, weights = x[0] + 0.25, x[1] * 2.0**-54, x[2]
digest = hashlib.sha256()
for data in (x, x.astype(np.float32), np.asfortranarray(x)):
    for orders in (2, 4):
        sums = np.zeros((orders, 1203))
        kernels.column_powers(data, centre, rest, sums); digest.update(sums.tobytes())
    out, norm = np.zeros((41, 1203), order="F"), np.zeros(41)
    kernels.centre_rows(data, centre, rest, out, sums[:2]); digest.update(out.tobytes("F"))
    kernels.row_norms(data, centre, rest, weights, norm); digest.update(norm.tobytes())
print(isa(), digest.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    """And those that were promised once."""
    found = bits_by_isa(CODE)
    assert found == dict.fromkeys(found, HASH)


# --- changes of method -------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 31, 32, 33, 64, 65, 130])
def test_a_halved_triangle_solves_as_a_whole_one(size):
    rng = np.random.default_rng(size)
    lower = np.tril(rng.normal(size=(size, size))) + 4 * np.eye(size)
    rows = rng.normal(size=(5, size))
    forth, back = np.array(rows, order="F"), np.array(rows, order="F")
    Triangle(np.asfortranarray(lower)).solve(forth)
    Triangle(np.asfortranarray(lower)).solve_back(back)
    np.testing.assert_allclose(forth @ lower.T, rows, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(back @ lower, rows, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("share", [0.5, 4.0])
def test_singular_is_told_from_nearly_singular_on_both_sides_of_the_cut(share):
    """A correlation matrix whose last pivot is `share` times the limit."""
    limit = (16 + 2) * EPS
    correlation = np.sqrt(1.0 - share * limit)
    products = np.array([[1.0, 0.0], [correlation, 1.0]], order="F")
    assert _factors.full_factor(products, 1000, 0.0, 0.0).rank == (2 if share > 1 else 1)


def test_a_singular_matrix_is_found_where_plain_cholesky_succeeds():
    """Kahan's: no pivot is small, and the columns are dependent to working precision."""
    d, c = 60, 0.3
    s = np.sqrt(1 - c * c)
    upper = np.diag(s ** np.arange(d)) @ (np.eye(d) - c * np.triu(np.ones((d, d)), 1))
    gram = upper.T @ upper
    scale = np.sqrt(np.diagonal(gram))
    products = np.asfortranarray(np.tril(gram / np.outer(scale, scale)))
    plain, info = lapack.dpotrf(products, lower=1)
    assert info == 0
    assert np.diagonal(plain).min() ** 2 > 1e-3
    assert _factors.full_factor(products, 1000, 0.0, 0.0).rank == d - 1


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_both_forms_of_a_low_rank_distance_are_exact_on_both_sides_of_the_cut(share):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 10)) * 30
    found = StreamingCovariance(structure="low-rank", ridge=0.7).fit(x)
    v = x - x.mean(axis=0)
    span = np.linalg.svd(v)[2]
    for k in range(3):
        # C has eigenvalue s + ridge along span[k], ridge along span[9]
        s = ((v @ span[k]) ** 2).sum() / 4
        outside = np.sqrt(share * _factors._CANCELLED)  # of the length is outside the span
        row = x.mean(axis=0) + span[k] + outside * span[9]
        truth = 1 / (s + 0.7) + outside**2 / 0.7
        assert found.mahalanobis(row[None])[0] == pytest.approx(truth, rel=2e-12)
    inside = x.mean(axis=0) + span[0]
    tiny = StreamingCovariance(structure="low-rank", ridge=1e-9).fit(x)
    s = ((v @ span[0]) ** 2).sum() / 4
    assert tiny.mahalanobis(inside[None])[0] == pytest.approx(1 / (s + 1e-9), rel=1e-7)


# --- the erratum -------------------------------------------------------------------------------


def test_an_uncentred_matrix_ranks_the_best_canary_last():
    """[AB25] Algorithm 3 prints (1/n) sum g g^T, and measures g - mean with it."""
    rng = np.random.default_rng(12)
    d, n = 40, 2000
    mean = np.zeros(d)
    mean[0] = 8.0
    gradients = rng.normal(size=(n, d)) + mean
    canaries = rng.normal(size=(200, d)) + mean
    canaries[0] = mean + 9.0 * mean / 8.0
    right = StreamingCovariance().fit(gradients).mahalanobis(canaries)
    printed = twins.mahalanobis(canaries, gradients.mean(axis=0), gradients.T @ gradients / n)
    assert np.argmax(right) == 0
    assert np.argmin(printed) == 0
