"""The warnings of the package name the line of the caller, whichever way they come."""

import warnings

import numpy as np
import pytest

import mialeak
from mialeak._warnings import warn
from mialeak.laws import Genotype


def chromosomes():
    """A mean of 10 genotypes, which are said to be 20."""
    rows = np.random.default_rng(0).integers(0, 3, (10, 40))
    return rows[0], rows.mean(axis=0) / 2.0


def in_one_step():
    warn("seen.")


def by_moments():
    target, p = chromosomes()
    mialeak.mean_tradeoff(target, 2.0 * p, 2.0 * p * (1.0 - p), 20)


def by_the_law():
    target, p = chromosomes()
    inside = (p > 0.0) & (p < 1.0)
    mialeak.exact_mean_tradeoff(target[inside], Genotype(p[inside]), 20)


@pytest.mark.parametrize("call", [in_one_step, by_moments, by_the_law])
def test_a_warning_names_the_line_outside_the_package(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    first = call.__code__.co_firstlineno
    assert caught
    for each in caught:
        assert each.filename == __file__
        assert first < each.lineno <= first + 4


@pytest.mark.parametrize("message", ["seen", "seen."])
def test_a_warning_ends_with_one_full_stop(message):
    with pytest.warns(UserWarning, match="seen") as caught:
        warn(message)
    assert [str(each.message) for each in caught] == ["seen."]


def test_two_lines_are_both_warned():
    """By default a warning is shown once for a line: that of the caller."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            in_one_step()
        warn("seen.")
    assert len(caught) == 2
