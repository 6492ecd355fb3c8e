"""Cautions of means: what they find among ordinary rows, and ordinary rows that have none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mialeak import mean_leakage
from mialeak.datasets import load_genotypes

RNG = np.random.default_rng(22)
AGE = RNG.integers(20, 90, 400)
SEX, SMOKING = RNG.choice([1, 2], 400), RNG.choice(3, 400, p=[0.5, 0.3, 0.2])


@pytest.mark.parametrize("most", [0.1, 0.4])
@pytest.mark.parametrize("others", [{}, {"sex": SEX, "smoking": SMOKING}])
def test_diagnoses_are_no_genotypes(most, others):
    """Of 0 and 1, beside measures, a sex and answers from 0 to 2."""
    rng = np.random.default_rng(23)
    ill = pd.DataFrame(rng.random((400, 25)) < rng.uniform(0.02, most, 25)).astype(int)
    assert mean_leakage(ill.add_prefix("icd_").assign(age=AGE, **others)).cautions == ()


def test_a_column_that_is_empty_is_no_name_of_persons():
    """A table and its register with such a column, which are not published."""
    frame = pd.DataFrame({"age": AGE, "pay": RNG.normal(size=400), "note": np.nan, "text": None})
    report = mean_leakage(frame[:100], ["age", "pay"], population=frame)
    plain = frame[["age", "pay"]]
    wanted = mean_leakage(plain[:100], ["age", "pay"], population=plain)
    assert report.cautions == ()
    assert report.average == wanted.average


def test_answers_are_no_genotypes():
    answers = np.random.default_rng(24).choice(3, (400, 30), p=[0.5, 0.3, 0.2])
    assert mean_leakage(pd.DataFrame(answers).add_prefix("q").assign(age=AGE)).cautions == ()


@pytest.mark.parametrize("rows", [slice(400), slice(0, 2400, 6)])
def test_an_age_beside_genotypes_of_any_name_has_a_caution(rows):
    """Of people of one population, and of all."""
    sites = pd.DataFrame(load_genotypes().counts[rows]).add_prefix("snp")
    (caution,) = mean_leakage(sites.assign(age=AGE)).cautions
    assert caution.startswith("Taken as published beside 127 columns of genotypes: column 'age'.")


def visits(form, times, same=1.0):
    """Measures of 200 persons at several visits, or of as many siblings."""
    rng = np.random.default_rng(25)
    person = np.repeat(np.arange(200), len(times))
    names = [form.format(k, time) for k, time in zip(person, np.tile(times, 200), strict=True)]
    own = {"age": (50, 12), "bmi": (27, 4), "ldl": (3, 1), "hba1c": (6, 1)}
    frame = {"sample_id": names}
    for name, (mean, std) in own.items():
        shared = rng.normal(0.0, same, 200)[person] + rng.normal(0.0, 0.3, person.size)
        frame[name] = (mean + std * (shared + (1.0 - same) * rng.normal(size=person.size))).round(2)
    return pd.DataFrame(frame)


@pytest.mark.parametrize(
    ("form", "times"),
    [("P{:04}_{}", ["T0", "T1"]), ("P{:04}-{}", ["baseline", "m12", "m24"]), ("{1}-{0:04}", "AB"),
     ("{:04}.{}", "01"), ("LB{:04}{}", "ab")],
)  # fmt: skip
def test_visits_named_by_the_end_of_a_name_have_a_caution(form, times):
    frame = visits(form, list(times))
    some = frame.sample(frac=0.8, random_state=1)
    for rows in (frame, some, frame.set_index("sample_id")):
        (caution,) = mean_leakage(rows).cautions
        assert "'age', 'bmi', 'ldl' and 1 more, as samples or visits of a person are" in caution
    first = frame.iloc[:: len(times)]
    assert mean_leakage(first).cautions == ()


@pytest.mark.parametrize("same", [0.0, 0.4])
def test_families_and_centres_in_names_have_no_caution(same):
    frame = visits("F{}_{}", ["1", "2", "3"], same)
    assert mean_leakage(frame).cautions == ()
    frame["sample_id"] = [f"C{k % 9}-{k:04}" for k in range(600)]
    assert mean_leakage(frame).cautions == ()


@pytest.mark.parametrize("name", ["#IID{}", "IID{}"])
def test_pairs_of_persons_are_told_by_a_name_with_the_sign_of_a_header(name):
    """As PLINK writes the first column of kinships."""
    first, second = np.triu_indices(40, 1)
    pairs = {name.format(1): first, "IID2": second}
    frame = pd.DataFrame({key: [f"P{k}" for k in each] for key, each in pairs.items()})
    frame["KINSHIP"] = np.random.default_rng(26).normal(0.0, 0.05, len(frame))
    cautions = mean_leakage(frame).cautions
    assert any(each.startswith("The rows seem to be pairs of persons") for each in cautions)


#: Names of samples and of persons in archives and cohorts, and the same of features of one person.
SAMPLES = {
    "TCGA": "TCGA-A7-{:04}-01A",
    "TCGA of R": "TCGA.B6.{:04}.01",
    "ICGC": "DO5{:04}",
    "1000 Genomes": "HG{:05}",
    "GEO": "GSM17{:04}",
    "reads": "ERR19{:05}",
    "GTEx": "GTEX-1{:03}A",
    "patients": "patient_{}",
    "samples": "Sample {}",
}
FEATURES = [
    *("gene{}", "pc_{}", "q{}", "f.{}.0.0", "cg{:08}", "x{}", "D{}", "item_{}", "HMDB{:05}"),
    *("case{}", "control_{}", "person{}_rating", "do{:02}"),
]


@pytest.mark.parametrize("kind", SAMPLES)
def test_columns_that_are_persons_by_their_names_have_a_caution(kind):
    """A transposed matrix of measures; as it should be, the index names the persons."""
    names = [SAMPLES[kind].format(k) for k in range(40)]
    measures = np.random.default_rng(31).normal(8.0, 2.0, (30, 40))
    table = pd.DataFrame(measures, [f"gene{k}" for k in range(30)], names)
    (caution,) = mean_leakage(table).cautions
    assert caution.startswith(f"The columns seem to be persons, by their names {names[0]!r}")
    assert "Transpose the table" in caution
    assert mean_leakage(table.T).cautions == ()


def test_columns_that_are_cases_and_controls_have_the_caution():
    names = [f"{kind}{k}" for kind in ("case", "control") for k in range(1, 13)]
    measures = np.random.default_rng(33).normal(8.0, 2.0, (30, 24))
    (caution,) = mean_leakage(pd.DataFrame(measures, columns=names)).cautions
    assert caution.startswith("The columns seem to be persons")


@pytest.mark.parametrize("form", FEATURES)
def test_columns_that_are_features_have_no_caution_by_their_names(form):
    measures = np.random.default_rng(32).normal(8.0, 2.0, (60, 30))
    assert mean_leakage(pd.DataFrame(measures, columns=map(form.format, range(30)))).cautions == ()


def test_a_few_samples_of_each_person_are_no_persons():
    measures = np.random.default_rng(33).normal(8.0, 2.0, (60, 4))
    table = pd.DataFrame(measures, columns=["age", "sample_1", "sample_3", "sample_4"])
    assert mean_leakage(table).cautions == ()


@pytest.mark.parametrize("kind", ["genotypes", "bits", "answers"])
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 12])
def test_people_of_few_values_are_in_a_panel_by_chance(kind, columns):
    """Copies of persons show where few others are alike."""
    rng = np.random.default_rng(columns)
    p = rng.uniform(0.1, 0.5, columns)
    most = {"genotypes": 2, "bits": 1, "answers": 4}[kind]
    people = rng.binomial(most, p, (1200, columns))
    table = pd.DataFrame(people[:400]).add_prefix("c")
    panel = pd.DataFrame(people[400:]).add_prefix("c")
    assert not [each for each in mean_leakage(table, panel=panel).cautions if "rows equal" in each]
    many = rng.binomial(most, 0.4, (1200, 40))
    table, panel = (pd.DataFrame(each).add_prefix("c") for each in (many[:400], many[350:]))
    (caution,) = mean_leakage(table, panel=panel).cautions
    assert caution.startswith("50 of 400 rows equal a row of the panel in all columns")


@pytest.mark.parametrize("values", [(0, 1, 2), (0, 1), ("0.0", "1.0", "2.0")])
def test_genotypes_with_empty_fields_are_read(tmp_path, values):
    rng = np.random.default_rng(6)
    sites = rng.choice(
        values, (60, 12), p=[0.6, 0.3, 0.1][: len(values)] if len(values) == 3 else None
    )
    table = pd.DataFrame(sites).add_prefix("rs")
    complete = mean_leakage(table.iloc[1:].astype(float).reset_index(drop=True))
    table.iloc[0, 3] = None
    path = tmp_path / "g.csv"
    table.to_csv(path, index=False)
    report = mean_leakage(path, na="drop")
    assert report.rows == 59
    np.testing.assert_allclose(report.scores, complete.scores, rtol=1e-12)


@pytest.mark.parametrize(("pairs", "is_cautioned"), [(1, False), (2, False), (12, True)])
def test_a_pair_of_equal_rows_of_one_code_is_chance(pairs, is_cautioned):
    """Of 102 rows with codes that are nearly all different; with twelve pairs they are persons."""
    rng = np.random.default_rng(25)
    code = rng.permutation(np.arange(1000, 9000, 50))[:102]
    frame = pd.DataFrame({"code": code, "pay": rng.normal(size=102), "age": rng.normal(size=102)})
    for k in range(pairs):
        frame.loc[50 + k] = frame.loc[k]
    cautions = mean_leakage(frame, ["pay", "age"]).cautions
    assert any("column 'code', which is left out" in each for each in cautions) == is_cautioned


@pytest.mark.parametrize("kind", [int, str])
def test_bands_of_a_number_are_no_signs_of_persons(kind):
    """Ages of a file, which are words, with two sets of bands, in a group of a few rows an age."""
    rng = np.random.default_rng(26)
    age = rng.integers(18, 80, 240)
    frame = pd.DataFrame(
        {
            "age": age.astype(kind),
            "by_20": [f"{k // 20 * 20}-{k // 20 * 20 + 19}" for k in age],
            "by_15": [f"{(k + 3) // 15 * 15}+" for k in age],
            "pay": rng.normal(size=240),
        }
    )
    assert mean_leakage(frame, ["pay"]).cautions == ()
    assert mean_leakage(frame.drop(columns="age"), ["pay"]).cautions == ()
    number = rng.permutation(np.repeat(np.arange(1000, 1080), 3))
    persons = frame.assign(age=number.astype(kind), by_20=number % 7, by_15=number % 4)
    (caution,) = mean_leakage(persons, ["pay"]).cautions
    assert "agree in column 'by_20', 'by_15'" in caution


@pytest.mark.parametrize(
    ("names", "values", "is_cautioned"),
    [
        (("Female", "Male"), (295, 638), True),
        (("Frauen", "Männer"), (12, 9), True),
        (("female", "male"), (1, 1), False),
        (("m", "v"), (120, 30), False),
        (("female", "age"), (295, 638), False),
        (("men", "women"), (10.5, 11.5), False),
    ],
)
def test_counts_by_sex_are_no_persons(names, values, is_cautioned):
    """Dummies, a mass beside a velocity, one such column and hourly wages are no counts."""
    rng = np.random.default_rng(28)
    columns = {
        name: value * rng.integers(0, 2, 40) for name, value in zip(names, values, strict=True)
    }
    frame = pd.DataFrame({"education": [f"level {k}" for k in range(40)], **columns})
    cautions = mean_leakage(frame).cautions
    assert any("named by the sexes" in each for each in cautions) == is_cautioned
    persons = frame.assign(education=np.arange(40) % 7)  # each with a number of friends
    assert not any("named by the sexes" in each for each in mean_leakage(persons).cautions)
