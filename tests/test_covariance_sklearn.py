"""scikit-learn's own tests of its covariances, with StreamingCovariance in place of its classes.

``sklearn.covariance.tests.test_covariance`` is imported, and EmpiricalCovariance, LedoitWolf and
OAS in it are replaced.  Its other tests are not of these classes and are not run:

- ``test_shrunk_covariance_func`` and ``test_shrunk_covariance`` are of ShrunkCovariance and of
  functions alone.

Two parameters of scikit-learn have no counterpart, and the stand-ins below take them:
``block_size``, since memory does not grow with the block, and ``store_precision``, since a
precision matrix is made on request and never kept (``precision_`` of a stand-in is None where it is
False, as there).  Its OAS leaves terms out of the paper's formula: "oas-simplified" here.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mialeak import StreamingCovariance

sklearn_tests = pytest.importorskip("sklearn.covariance.tests.test_covariance")

from sklearn.covariance import (  # noqa: E402
    OAS,
    EmpiricalCovariance,
    LedoitWolf,
    ShrunkCovariance,
)

RULES = {"EmpiricalCovariance": None, "LedoitWolf": "ledoit-wolf", "OAS": "oas-simplified"}


class StandIn(StreamingCovariance):
    """With the constructor of scikit-learn's classes."""

    rule: str | None = None

    def __init__(self, *, assume_centered=False, store_precision=True, block_size=1000):
        super().__init__(shrinkage=self.rule, assume_centered=assume_centered)
        self.store_precision, self.block_size = store_precision, block_size

    def get_params(self, deep=True):
        names = ("assume_centered", "store_precision", "block_size")
        return {name: getattr(self, name) for name in names}

    @property
    def precision_(self):
        return super().precision_ if self.store_precision else None


@pytest.fixture(autouse=True)
def replaced(monkeypatch):
    for name, rule in RULES.items():
        monkeypatch.setattr(sklearn_tests, name, type(name, (StandIn,), {"rule": rule}))


def test_empirical_covariance():
    sklearn_tests.test_covariance()


def test_ledoit_wolf():
    sklearn_tests.test_ledoit_wolf()


def test_ledoit_wolf_small():
    sklearn_tests.test_ledoit_wolf_small()


@pytest.mark.parametrize("seed", [0, 42])
def test_ledoit_wolf_large(seed):
    sklearn_tests.test_ledoit_wolf_large(seed)


def test_no_rows():
    sklearn_tests.test_ledoit_wolf_empty_array(sklearn_tests.LedoitWolf().fit)


def test_oas():
    sklearn_tests.test_oas()


def test_mahalanobis_checks_its_rows():
    sklearn_tests.test_EmpiricalCovariance_validates_mahalanobis()


def test_every_test_of_the_file_is_run_or_named():
    theirs = {name for name in vars(sklearn_tests) if name.startswith("test_")}
    run = {
        "test_covariance",
        "test_ledoit_wolf",
        "test_ledoit_wolf_small",
        "test_ledoit_wolf_large",
        "test_ledoit_wolf_empty_array",
        "test_oas",
        "test_EmpiricalCovariance_validates_mahalanobis",
    }
    assert run <= theirs
    assert theirs - run <= {"test_shrunk_covariance_func", "test_shrunk_covariance"}


# --- the same numbers -------------------------------------------------------------------------

PEERS = {None: EmpiricalCovariance, "ledoit-wolf": LedoitWolf, "oas-simplified": OAS}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 7)) @ rng.normal(size=(7, 7)) + rng.normal(3.0, 2.0, 7)


@pytest.mark.parametrize("assume_centered", [False, True])
@pytest.mark.parametrize("rule", PEERS)
def test_every_method_of_theirs_gives_their_number(rows, rule, assume_centered):
    theirs = PEERS[rule](assume_centered=assume_centered).fit(rows[:60])
    options = {"shrinkage": rule, "assume_centered": assume_centered}
    blocks = StreamingCovariance(**options)
    for start in range(0, 60, 7):
        blocks.partial_fit(rows[start : min(start + 7, 60)])
    merged = StreamingCovariance(**options).partial_fit(rows[:21])
    merged.merge(StreamingCovariance(**options).partial_fit(rows[21:60]))
    for ours in (StreamingCovariance(**options).fit(rows[:60]), blocks, merged):
        np.testing.assert_allclose(ours.location_, theirs.location_, rtol=1e-12)
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.precision_, theirs.precision_, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(ours.get_precision(), ours.get_precision().T, rtol=0)
        assert ours.score(rows[60:]) == pytest.approx(theirs.score(rows[60:]), rel=1e-9)
        np.testing.assert_allclose(
            ours.mahalanobis(rows[60:]), theirs.mahalanobis(rows[60:]), rtol=1e-9
        )
        other = np.cov(rows[60:].T, bias=True)
        for norm in ("frobenius", "spectral"):
            for scaling in (True, False):
                for squared in (True, False):
                    arguments = {"norm": norm, "scaling": scaling, "squared": squared}
                    found = ours.error_norm(other, **arguments)
                    assert isinstance(found, float)
                    assert found == pytest.approx(theirs.error_norm(other, **arguments), rel=1e-9)


def test_the_score_is_the_mean_log_density(rows):
    """Of the Gaussian law with this mean and covariance, by scipy."""
    from scipy import stats

    for options in ({}, {"assume_centered": True}, {"structure": "block", "blocks": [3, 4]}):
        ours = StreamingCovariance(**options).fit(rows)
        law = stats.multivariate_normal(ours.location_, ours.covariance_)
        assert ours.score(rows[:40]) == pytest.approx(law.logpdf(rows[:40]).mean(), rel=1e-10)


def test_structures_that_theirs_has_not(rows):
    few = rows[:5]
    variances = StreamingCovariance(structure="diagonal").fit(rows)
    np.testing.assert_allclose(variances.precision_, 1.0 / rows.var(axis=0), rtol=1e-12)
    full = np.diag(rows.var(axis=0))
    assert variances.error_norm(full) == pytest.approx(0.0, abs=1e-20)
    assert variances.error_norm(np.diag(full)) == pytest.approx(0.0, abs=1e-20)
    expected = -0.5 * (
        (((rows - rows.mean(axis=0)) ** 2) / rows.var(axis=0)).sum(axis=1)
        + np.log(2 * np.pi * rows.var(axis=0)).sum()
    )
    assert variances.score(rows) == pytest.approx(expected.mean(), rel=1e-12)
    about_zero = StreamingCovariance(structure="diagonal", assume_centered=True).fit(rows)
    np.testing.assert_allclose(about_zero.covariance_, (rows**2).mean(axis=0), rtol=1e-12)
    low = StreamingCovariance(structure="low-rank", ridge=0.5, assume_centered=True).fit(few)
    wanted = few.T @ few / 5 + 0.5 * np.eye(7)
    np.testing.assert_allclose(low.covariance_, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(low.precision_, np.linalg.inv(wanted), rtol=1e-9, atol=1e-12)
    solved = np.linalg.solve(wanted, rows.T).T
    np.testing.assert_allclose(low.mahalanobis(rows), (rows * solved).sum(axis=1), rtol=1e-9)
    white = low.transform(rows)
    np.testing.assert_allclose((white**2).sum(axis=1), low.mahalanobis(rows), rtol=1e-9)


@pytest.mark.parametrize("rule", [None, "ledoit-wolf", "oas"])
def test_about_zero_may_be_chosen_after_the_rows_were_seen(rows, rule, tmp_path):
    """The sums are about the mean; both are read from them, and saved ones too."""
    cov = StreamingCovariance(shrinkage=rule).fit(rows)
    about_mean = cov.covariance_
    cov.set_params(assume_centered=True)
    fresh = StreamingCovariance(shrinkage=rule, assume_centered=True).fit(rows)
    np.testing.assert_array_equal(cov.covariance_, fresh.covariance_)
    cov.save(tmp_path / "c.npz")
    again = StreamingCovariance.load(tmp_path / "c.npz")
    np.testing.assert_array_equal(again.mahalanobis(rows), fresh.mahalanobis(rows))
    cov.set_params(assume_centered=False)
    np.testing.assert_array_equal(cov.covariance_, about_mean)


def test_as_many_rows_as_columns_have_full_rank_about_zero(rows):
    assert StreamingCovariance(assume_centered=True).fit(rows[:7]).rank_ == 7
    assert StreamingCovariance().fit(rows[:7]).rank_ == 6


def test_far_from_zero_the_digits_are_kept():
    """Against exact fractions: means 1e6 standard deviations away."""
    from fractions import Fraction

    rng = np.random.default_rng(1)
    far = rng.normal(size=(40, 3)) + 1e6
    cov = StreamingCovariance(assume_centered=True).fit(far[:11])
    for start in (11, 26):
        cov.partial_fit(far[start : start + 15])
    seen = [[Fraction(x) for x in row] for row in far[:40]]
    exact = [[float(sum(r[i] * r[j] for r in seen) / 40) for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(cov.covariance_, exact, rtol=1e-14)


def test_bad_input_is_named(rows):
    cov = StreamingCovariance().fit(rows)
    with pytest.raises(NotImplementedError, match='norm must be "frobenius" or "spectral"'):
        cov.error_norm(np.eye(7), norm="nuclear")
    with pytest.raises(ValueError, match=r"comp_cov must have the shape \(7, 7\)"):
        cov.error_norm(np.eye(6))
    with pytest.raises(ValueError, match="full rank"):
        StreamingCovariance().fit(rows[:3]).get_precision()
    with pytest.raises(ValueError, match="X must have at least one row"):
        cov.score(rows[:0])
    with pytest.raises(ValueError, match="assume_centered must be True or False"):
        StreamingCovariance(assume_centered="yes").fit(rows)
    gaps = np.array(rows)
    gaps[0, 0] = np.nan
    dropping = StreamingCovariance(missing="drop").fit(rows)
    assert dropping.score(gaps) == pytest.approx(dropping.score(rows[1:]), rel=1e-12)


def test_one_row_warns_as_theirs_does(rows):
    with pytest.warns(UserWarning, match="Only one sample available"):
        StreamingCovariance().fit(rows[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StreamingCovariance().partial_fit(rows[:1])


def test_their_other_covariances_score_alike(rows):
    """The meaning of score is that of every covariance of theirs."""
    theirs = ShrunkCovariance(shrinkage=0.3).fit(rows)
    ours = StreamingCovariance(shrinkage=0.3).fit(rows)
    assert ours.score(rows) == pytest.approx(theirs.score(rows), rel=1e-9)
