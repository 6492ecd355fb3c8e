"""Shrunk covariances of columns that repeat others, or that others determine."""

from __future__ import annotations

import numpy as np
import pytest

from mialeak import mean_leakage
from mialeak.means._rows import row_leakage_scores


@pytest.mark.parametrize("times", [np.full(400, 3), np.where(np.arange(400) < 200, 10, 1)])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_perfect_proxies_of_unlinked_sites_leak_no_more_than_the_sites(times, noise):
    """300 people at 400 sites, by the law they were drawn from; noise on proxies averages."""
    rng = np.random.default_rng(8)
    p = rng.uniform(0.05, 0.5, times.size)
    counts = rng.binomial(2, p, (300, p.size))
    gaps = (counts - 2 * p) ** 2 / (2 * p * (1 - p)) / 300
    truth = (gaps / (1 + 300 * noise**2 / times)).sum(axis=1)
    sign = rng.choice([-1, 1], times.sum())
    proxies = np.repeat(counts, times, axis=1)
    proxies = np.where(sign > 0, proxies, 2 - proxies)
    report = mean_leakage(proxies, structure="shrunk", noise_std=noise)
    assert np.mean(np.abs(report.scores / truth - 1)) < 0.03
    variance = (noise * proxies.std(axis=0)) ** 2 if noise else None
    scores = row_leakage_scores(proxies, structure="shrunk", release_noise_cov=variance)
    np.testing.assert_allclose(scores, report.scores, rtol=1e-9)
    if times[-1] > 1 or noise:
        return
    assert any("400 over 300" in caveat for caveat in report.caveats)
    others = rng.binomial(2, p, (900, p.size))
    panel = np.repeat(others, times, axis=1)
    panel = np.where(sign > 0, panel, 2 - panel)
    beside = mean_leakage(proxies, structure="shrunk", noise_std=noise, panel=panel)
    assert np.mean(np.abs(beside.scores * (1 + 300 / 900) / truth - 1)) < 0.1


def test_sites_that_others_determine_are_counted_once_in_the_average():
    """Haplotypes of 12 kinds at 40 sites of each of 30 genes; by the covariance of the law."""
    rng = np.random.default_rng(4)
    kinds = rng.random((30, 12, 40)) < 0.4
    shares = rng.dirichlet(np.full(12, 5.0), 30)

    chosen = [rng.choice(12, (160, 2), p=q) for q in shares]
    counts = np.concatenate(
        [kind[pair].sum(axis=1) for kind, pair in zip(kinds, chosen, strict=True)], axis=1
    )
    truth = np.zeros(160)
    for k, (kind, q) in enumerate(zip(1.0 * kinds, shares, strict=True)):
        mean, spread = q @ kind, (kind.T * q) @ kind
        gap = counts[:, 40 * k : 40 * k + 40] - 2 * mean
        inverse = np.linalg.pinv(2 * (spread - np.outer(mean, mean)), rcond=1e-9)
        truth += np.vecdot(gap @ inverse, gap) / 160
    got = row_leakage_scores(counts, structure="shrunk")
    assert got.mean() == pytest.approx(truth.mean(), rel=0.1)
    assert np.mean(np.abs(got / truth - 1)) < 0.15
