"""Names of persons in logs of models: users, speakers, writers; and what is none of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import table_leakage
from mialeak.means import mean_leakage

RNG = np.random.default_rng(11)
ROWS = 2000
PERSONS = RNG.integers(0, 250, ROWS)
LOG = pd.DataFrame({"lang": RNG.choice(["en", "fr", "de"], ROWS), "length": RNG.gamma(2, 50, ROWS)})
NAMES = """
user username user_id speaker speaker_id author author_id writer account account_id worker
annotator device device_id session session_id host ip player driver reviewer_id login cid
"""


def cautions_of(name, values):
    log = LOG.assign(**{name: values})
    reports = mean_leakage(log, ["length"]), table_leakage(log, ["lang"])
    return [[each for each in report.cautions if repr(name) in each] for report in reports]


@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.parametrize("form", ["{}", "u{}"])
def test_rows_of_one_user_are_noticed(name, form):
    values = [form.format(k) for k in PERSONS] if form != "{}" else PERSONS
    for (caution,) in cautions_of(name, values):
        assert "has the name of an identifier" in caution


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("device", RNG.choice(["phone", "tablet", "desktop"], ROWS)),
        ("session", RNG.integers(1, 5, ROWS)),
        ("session_id", RNG.integers(1, 5, ROWS)),
        ("account", RNG.choice(["basic", "premium"], ROWS)),
        ("driver", RNG.choice(["yes", "no"], ROWS)),
        ("worker", RNG.integers(0, 2, ROWS)),
        ("user", np.arange(ROWS)),
        ("hospital", RNG.integers(0, 12, ROWS)),
        ("cid", np.arange(ROWS)),
        ("cid", RNG.integers(0, 12, ROWS)),
    ],
)
def test_kinds_and_single_rows_are_no_persons_of_several_rows(name, values):
    assert cautions_of(name, values) == [[], []]


def test_numbers_of_clients_are_no_measurements():
    """As Flower names them; each row of the table is the update of one client."""
    updates = LOG[["length"]][:50].assign(cid=RNG.choice(10**6, 50, replace=False))
    assert mean_leakage(updates).identifiers == ("cid",)
