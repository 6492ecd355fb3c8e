"""Audits of scores that depend on one another, by an index, by columns and by parts of names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak.auditing import AuditStream, audit, one_run_audit

RNG = np.random.default_rng(11)
CANARIES = 100


def table(copies, rng=RNG):
    """So many scores of each canary, which share its coin, in random order; nothing leaks."""
    canary = np.repeat(np.arange(CANARIES), copies)
    scores = rng.normal(size=CANARIES)[canary] + 0.1 * rng.normal(size=canary.size)
    member = (rng.random(CANARIES) < 0.5)[canary] * 1
    aug = np.tile(np.arange(copies), CANARIES)
    frame = pd.DataFrame({"canary": canary, "aug": aug, "score": scores, "member": member})
    return frame.sample(frac=1.0, random_state=0)


@pytest.mark.parametrize("names", [["canary"], ["canary", "aug"], ["aug", "canary"], [None]])
def test_an_index_that_names_canaries_has_each_once(names):
    frame = table(3).set_index([each or "canary" for each in names]).rename_axis(names)
    words = r"scores must have one row for each canary; its 300 rows have 100 values of '"
    for take in (one_run_audit, lambda *pair: AuditStream().update(*pair)):
        with pytest.raises(ValueError, match=words):
            take(frame["score"], frame["member"])
        once = frame.groupby(level=frame.index.names.index(names[-1] and "canary")).first()
        take(once["score"], once["member"])  # one row of each is right


def test_labels_of_several_files_may_be_the_same():
    """Row numbers of 5 parts that were joined name no canary."""
    frame = pd.concat([table(1).reset_index(drop=True) for _ in range(5)])
    assert one_run_audit(frame["score"], frame["member"]).n_canaries == 500


@pytest.mark.parametrize("names", [["model"], ["model", "canary"], ["canary", "model"]])
def test_an_index_of_several_levels_names_runs(names):
    models, canaries = np.repeat(np.arange(40), 20), np.tile(np.arange(20), 40)
    scores = RNG.normal(size=40)[models] + RNG.normal(size=800)
    frame = pd.DataFrame({"model": models, "canary": canaries, "score": scores})
    frame = frame.sample(frac=1.0, random_state=0).set_index(names)["score"]
    is_in = frame.index.get_level_values("model") % 2 == 0
    with pytest.raises(ValueError, match=r"its 400 rows have 20 values of 'model'"):
        audit(frame[is_in], frame[~is_in], allow_reversed=True)
    unnamed = frame.rename_axis([None] * len(names))
    with pytest.raises(ValueError, match=r"its 400 rows have 20 values of 'labels'"):
        audit(unnamed[is_in], unnamed[~is_in], allow_reversed=True)


def test_an_index_of_settings_has_one_value():
    sigma = pd.Index(np.repeat([1.0, 2.0, 4.0], 40), name="sigma")
    scores = pd.Series(RNG.normal(size=120), sigma)
    with pytest.raises(ValueError, match=r"in_scores must have the scores of one training; 'sigma"):
        audit(scores, RNG.normal(size=120))
