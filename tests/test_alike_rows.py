"""Rows of one person that show by names of donors and samples, or since they are alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage

GENES = ["CD3D", "MS4A1", "LYZ", "NKG7", "PPBP", "FCER1A"]
DONORS = (
    "donor_id donor subject individual mouse orig.ident PTID RID case_submitter_id "
    "bcr_patient_barcode Fallnummer ID_patient patient participant_id eid"
)


def cells(donors, each, name):
    """Cells of donors, who differ by half a unit where cells of one differ by 0.6."""
    rng = np.random.default_rng(41)
    donor = np.repeat(np.arange(donors), each)
    values = rng.normal(3.0, 0.5, (donors, 6))[donor] + rng.normal(0.0, 0.6, (donor.size, 6))
    return pd.DataFrame(values.round(3), columns=GENES).assign(**{name: [f"D{k}" for k in donor]})


@pytest.mark.parametrize("name", DONORS.split())
@pytest.mark.parametrize(("donors", "each"), [(10, 200), (15, 100), (40, 10), (100, 20)])
def test_cells_of_donors_are_no_persons(name, donors, each):
    table = cells(donors, each, name)
    for options in ({}, {"exclude": [name]}):
        cautions = mean_leakage(table, **options).cautions
        assert any(f"olumn '{name}'" in each and "row for each" in each for each in cautions)


def test_cells_of_donors_show_without_a_name():
    (caution,) = mean_leakage(cells(100, 20, "k"), exclude=["k"]).cautions
    assert caution.startswith("Rows of one value of column 'k', which is left out, are alike in")
    assert mean_leakage(cells(100, 20, "hospital"), exclude=["hospital"]).cautions == ()


def named(name):
    """Two samples of each of 60 persons, by a name of the person and the sample."""
    rng = np.random.default_rng(3)
    own = np.repeat(rng.normal(0.0, 1.0, (60, 6)), 2, axis=0)
    table = pd.DataFrame((own + rng.normal(0.0, 0.3, (120, 6))).round(4), columns=GENES)
    return table.assign(barcode=[name(k // 2, k % 2) for k in range(120)])


NAMES = [
    lambda k, s: f"TCGA-A{k % 7}-A{k:03d}-{('01A-11R', '11A-31R')[s]}-A084-07",
    lambda k, s: f"PT{k:03d}_V{s}.bam",
    lambda k, s: f"PT{k:03d}_V{s}_S{2 * k + s}_L001_R1_001",
    lambda k, s: f"pat{k}_{('baseline', 'week12')[s]}_RNA",
    lambda k, s: f"GSM{4_000_000 + 2 * k + s}_PT{k:03d}_V{s}",
    lambda k, s: f"V{s}PT{k:03d}",
    lambda k, s: f"P{k}{'ab'[s]}",
    lambda k, s: f"T{s}_P{k}",
]


@pytest.mark.parametrize("name", NAMES)
def test_samples_of_a_person_share_a_part_of_their_names(name):
    table = named(name)
    labelled = table.set_index("barcode")
    for each in (table, labelled, labelled.rename_axis(None)):
        (caution,) = mean_leakage(each).cautions
        assert "120 rows have 60 such parts. The report is about rows" in caution
    assert mean_leakage(table[::2]).cautions == ()


def test_names_of_persons_and_nouns_for_groups_are_no_sign():
    rng = np.random.default_rng(5)
    for k in range(20):
        n = 200 + 40 * k
        group = rng.integers(0, 30, n)
        share = np.array([0.0, 0.1, 0.2, 0.0, 0.05, 0.15])
        own = rng.normal(0.0, 1.0, (30, 6))[group] * np.sqrt(share)
        values = (own + rng.normal(0.0, 1.0, (n, 6)) * np.sqrt(1.0 - share)).round(2)
        table = pd.DataFrame(values, columns=GENES)
        names = [f"TCGA-{g:02X}-A{i:03X}-01A-{i % 40}R-07" for i, g in enumerate(group)]
        assert mean_leakage(table.assign(name=names)).cautions == ()
        assert mean_leakage(table.assign(grp=group.astype(str)), exclude=["grp"]).cautions == ()
        kinds = rng.choice(["maths", "art", "music", "history", "physics", "sport"], n)
        assert mean_leakage(table.assign(subject=kinds)).cautions == ()
