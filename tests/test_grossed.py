"""Counts that were grossed up from a sample, and what else has errors and sizes beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mialeak.cli import main
from mialeak.tables import table_leakage

RNG = np.random.default_rng(5)
KEY = ["county", "education"]
#: A sample of 4,000 persons, with their weights of about 240 and their incomes.
SAMPLE = pd.DataFrame(
    {
        "county": RNG.choice(list("ABCDEFG"), 4000, p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.05, 0.05]),
        "education": RNG.choice(list("vwxyz"), 4000, p=[0.4, 0.3, 0.13, 0.1, 0.07]),
        "weight": RNG.gamma(4.0, 60.0, 4000),
        "income": RNG.lognormal(10.0, 1.0, 4000),
    }
)
GROUPS = SAMPLE.groupby(KEY)
#: The estimated persons of each cell, and all that may stand beside them.
PERSONS = GROUPS["weight"].sum().round().astype(int)
N = GROUPS.size()
ERROR = np.sqrt((SAMPLE["weight"] ** 2).groupby([SAMPLE[k] for k in KEY]).sum())
BESIDE = {
    "unweighted_n": N,
    "Unweighted base": N,
    "sampleSize": N,
    "n_obs": N,
    "SE": ERROR.round(1),
    "standard error": ERROR.round(1),
    "Persons_moe": (1.645 * ERROR).round(),
    "CV": (100.0 * ERROR / PERSONS).round(1),
    "cv (share)": ERROR / PERSONS,
    "lower": (PERSONS - 1.96 * ERROR).clip(lower=0).round(),
    "upper": (PERSONS + 1.96 * ERROR).round(),
}
#: Those of which one is enough for a caution.
ALONE = [[name] for name in BESIDE if name not in ("lower", "upper")]
SAYS = "grossed up from"


def table(*columns, **renamed):
    """A table of the cells with these columns, and others by new names."""
    of_name = {"Persons": PERSONS, **BESIDE, **renamed}
    return pd.DataFrame({name: of_name[name] for name in (*columns, *renamed)}).reset_index()


def told(frame, counts, columns=KEY):
    return [each for each in table_leakage(frame, columns, counts=counts).cautions if SAYS in each]


@pytest.mark.parametrize("beside", [*ALONE, ["lower", "upper"], ["CV", "upper", "lower", "SE"]])
def test_counts_of_a_population_from_a_sample_have_a_caution(beside):
    for columns in (KEY, None):
        (caution,) = told(table("Persons", *beside), "Persons", columns)
        assert repr(beside[0]) in caution
        assert "column 'Persons'" in caution


def test_the_cure_for_the_size_of_a_sample_is_named_in_the_shell_too(tmp_path, capsys):
    path = tmp_path / "t.csv"
    frame = table("Persons", "unweighted_n")
    frame.to_csv(path, index=False)
    given = ["table", str(path), "--counts", "Persons", "--columns", ",".join(KEY)]
    assert main([*given, "--max-leakage", "1"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "pass --counts unweighted_n and --exclude Persons" in out
    report = table_leakage(frame, counts="unweighted_n", exclude=["Persons"])
    assert not report.cautions
    assert report.estimate == table_leakage(SAMPLE[KEY]).estimate


@pytest.mark.parametrize("name", ["n", "Frequency", "cases", "n_unw", "base", "Fallzahl"])
def test_the_size_of_a_sample_is_known_by_how_well_the_counts_agree_with_it(name):
    """Weights of persons, and those of counties alone; a part of the persons agrees less well."""
    of_county = N.index.get_level_values("county").map(
        dict(zip("ABCDEFG", range(90, 160, 10), strict=True))
    )
    for persons in (PERSONS, N * of_county.to_numpy() + np.arange(len(N)) % 7):
        (caution,) = told(table(Persons=persons, **{name: N}), "Persons")
        assert f"Column {name!r} seems to be the size of a sample" in caution
        for share in (0.004, 0.1, 0.4):
            part = pd.Series(RNG.binomial(persons, share), persons.index)
            assert not told(table(Persons=persons, **{name: part}), "Persons")


def test_weighted_frequencies_of_sas_are_no_counts():
    with pytest.raises(ValueError, match="not that of shares, means or amounts"):
        table_leakage(table(WgtFreq=PERSONS, Frequency=N), KEY, counts="WgtFreq")


def test_an_estimate_of_the_american_community_survey_has_its_margin_of_error():
    frame = table(B01001_001E=PERSONS, B01001_001M=(1.645 * ERROR).round())
    (caution,) = told(frame, "B01001_001E")
    assert "'B01001_001M' states an error" in caution


def test_counts_of_the_sample_itself_have_no_caution():
    """Beside the errors of a mean, of a share and of the estimated persons."""
    means = GROUPS["income"].mean()
    of_mean = GROUPS["income"].std() / np.sqrt(N)
    share = 0.3
    of_share = 100.0 * np.sqrt(share * (1.0 - share) / N)
    assert not told(table(n=N, mean=means, SE=of_mean, CV=100.0 * of_mean / means), "n")
    assert not told(table(n=N, percent=30.0 + 0.0 * N, moe=of_share), "n")
    assert not told(table(n=N, mean=means, lower=means - of_mean, upper=means + of_mean), "n")
    assert not told(table("Persons", "SE", n=N), "n")
    assert not told(table("Persons", *BESIDE), "unweighted_n")


def test_counts_of_cases_have_no_caution():
    """With the limits and errors of Poisson's law, parts of them, and codes."""
    deaths = pd.Series(RNG.poisson(60.0, len(PERSONS)), PERSONS.index)
    low = stats.chi2.ppf(0.025, 2 * deaths) / 2.0
    high = stats.chi2.ppf(0.975, 2 * deaths + 2) / 2.0
    errors = {"SE": np.sqrt(deaths), "RSE": 100.0 / np.sqrt(deaths)}
    assert not told(table(n=deaths, lower=low, upper=high, **errors), "n")
    assert not told(table("Persons", deaths=deaths), "Persons")
    codes = pd.Series(np.arange(len(PERSONS)) % 3 + 1, PERSONS.index)
    assert not told(table("Persons", sample=codes), "Persons")
    limits = {"lower": 15 + codes, "upper": 24 + codes}  # of classes of age
    assert not told(table("Persons", **limits), "Persons")


@pytest.mark.parametrize(
    ("name", "value"),
    [("unit", "THS_PER"), ("unit", "Thousand persons"), ("Einheit", "Tsd."), ("unit", "hundreds"),
     ("UNIT_MULT", 3), ("Unit multiplier", "Thousands"), ("unit", "1000"), ("unit", "1 000"),
     ("unit", "persons"), ("UNIT_MULT", 0), ("unit", 3), ("region", "Thousand Oaks")],
)  # fmt: skip
def test_counts_of_thousands_have_a_caution(name, value):
    """The last four are none."""
    wrong = value not in ("persons", 0, "Thousand Oaks") and (name, value) != ("unit", 3)
    for columns in (KEY, None):
        frame = table(n=N).assign(**{name: value})
        cautions = table_leakage(frame, columns, counts="n").cautions
        told = [each for each in cautions if "seems to count thousands" in each]
        assert [each.startswith(f"Column {name!r} has the value") for each in told] == [
            True
        ] * wrong


EVENTS = ["bed_days", "visits", "Number of visits", "admissions", "episodes", "claims", "n_calls"]
PEOPLE = ["n", "patients", "patients_with_visits", "cases_7_days", "deaths", "recalled", "pop"]


@pytest.mark.parametrize("name", EVENTS + PEOPLE)
def test_counts_of_events_have_a_caution_by_their_name(name):
    table = PERSONS.rename(name).reset_index()
    said = " ".join(table_leakage(table, counts=name).cautions)
    expected = f"Column {name!r} has the name of a number of events or days, of which a person may"
    assert (expected in said) == (name in EVENTS)


@pytest.mark.parametrize(
    "name",
    [
        "effectif (en milliers)",
        "población (miles)",
        "migliaia",
        "personen (x duizend)",
        "liczba (tys.)",
        "n (in 100)",
        "n (hundreds)",
        "Anzahl (in Hundert)",
        "Personen (Tsd.)",
        "persons (000s)",
        "n_000",
    ],
)
def test_counts_of_thousands_by_their_name_are_refused(name):
    with pytest.raises(ValueError, match="of persons, not of thousands or hundreds of them"):
        table_leakage(table(**{name: PERSONS}), KEY, counts=name)


@pytest.mark.parametrize("name", ["n", "Anzahl", "n2000", "wave 100", "Personen 2019"])
def test_names_with_other_numbers_are_those_of_counts(name):
    assert table_leakage(table(**{name: PERSONS}), KEY, counts=name).rows == PERSONS.sum()
