"""Certificates: whoever has no table computes the same numbers; whatever was changed fails."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from fractions import Fraction
from math import comb
from pathlib import Path
from unittest import mock

import jsonschema
import numpy as np
import pytest

from mialeak import certificates, table_leakage
from mialeak.certificates import Certificate, certify
from mialeak.cli import main
from mialeak.datasets import load_adult

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "docs" / "verify_certificate.py"
COLUMNS = ["age", "education", "marital_status", "race", "sex"]


def program():
    """The verifier that needs mpmath alone."""
    spec = importlib.util.spec_from_file_location("verify_certificate", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def small_report(**options):
    table = {"sex": ["f", "m", "m"] * 12, "age": [20, 30, 40, 20] * 9}
    return table_leakage(table, **options)


@pytest.fixture(scope="module")
def adult():
    columns = load_adult().columns
    return {name: columns[name] for name in COLUMNS}


@pytest.fixture(scope="module")
def reports(adult):
    """A report for each population that a certificate takes."""
    sample = {name: values[::10] for name, values in adult.items()}
    return {
        "endless": table_leakage(adult),
        "another n": table_leakage(adult, n=1000),
        "register": table_leakage(sample, population=adult),
        "people": table_leakage(sample, population=100_000),
        "small": small_report(),
        "one cell": table_leakage({"sex": ["f"] * 50}),
    }


CASES = ["endless", "another n", "register", "people", "small", "one cell"]


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_holds_here_and_for_the_program_that_needs_mpmath_alone(
    reports, case, tmp_path
):
    path = tmp_path / "certificate.json"
    report = reports[case]
    certify(report).save(path)
    certificate = Certificate.load(path)
    verification = certificate.verify()
    assert verification.holds, str(verification)
    assert program().failures(path, []) == []
    numbers = {
        each["name"]: float.fromhex(each["value"]) for each in certificate.content["numbers"]
    }
    if report.population is not None:
        assert numbers == {"leakage": report.population.leakage}
        return
    assert numbers["leakage"] == pytest.approx(report.estimate.value, rel=1e-9)
    assert numbers.get("plug_in", report.plug_in) == pytest.approx(report.plug_in, rel=1e-13)
    assert ("plug_in" in numbers) == (case != "people")


def test_the_program_computes_what_enumeration_in_fractions_does():
    question = {"population": "endless", "n": 7, "rows": 10}
    truth = Fraction(0)
    for size in (3, 3, 4):
        p = Fraction(size, 10)
        laws = (comb(7, k) * p**k * (1 - p) ** (7 - k) * abs(k - 7 * p) for k in range(8))
        truth += sum(laws) / 14
    counts = {"sizes": [3, 4], "cells": [2, 1]}
    assert float(program().exact_leakage(question, counts)) == pytest.approx(
        float(truth), rel=1e-15
    )
    register = {**question, "population": "a register of which all cells are known"}
    truth = Fraction(0)
    for size in (3, 3, 4):
        mean = Fraction(7 * size, 10)
        ways = (comb(size, k) * comb(10 - size, 7 - k) * abs(k - mean) for k in range(size + 1))
        truth += Fraction(sum(ways), comb(10, 7)) * 10 / (2 * 7 * 3)
    found = program().exact_leakage(register, counts)
    assert float(found) == pytest.approx(float(truth), rel=1e-15)


def test_it_holds_on_another_instruction_set(reports, tmp_path):
    for case in ("endless", "register", "people"):
        certify(reports[case]).save(tmp_path / f"{case}.json")
    lines = (
        "import sys; from mialeak.certificates import Certificate\n"
        "for path in sys.argv[1:]:\n"
        "    outcome = Certificate.load(path).verify()\n"
        "    assert outcome.holds, str(outcome)\n"
    )
    environment = {**os.environ, "MIALEAK_ISA": "sse2", "NPY_DISABLE_CPU_FEATURES": "X86_V3"}
    paths = [str(path) for path in sorted(tmp_path.glob("*.json"))]
    command = [sys.executable, "-c", lines, *paths]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_certificate_of_an_earlier_version_holds():
    # Written by 0.2.0.dev0.  A later one may leave out old certificates with a new schema alone.
    path = ROOT / "tests" / "data" / "certificate-1.json"
    verification = Certificate.load(path).verify()
    assert verification.holds, str(verification)
    assert program().failures(path, []) == []


def test_no_value_of_a_person_is_in_a_certificate():
    table = {"word": np.array(["secret-a", "secret-b"] * 20), "number": np.arange(40) + 71_000}
    text = certify(table_leakage(table, ["word", "number"])).text()
    assert "secret-" not in text
    assert "71000" not in text


@pytest.mark.parametrize("flip", [1, 2, 16])
def test_any_changed_byte_is_refused(tmp_path, flip):
    path = tmp_path / "certificate.json"
    certify(small_report()).save(path)
    raw = path.read_bytes()
    for place in range(len(raw)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ flip]) + raw[place + 1 :])
        with pytest.raises(ValueError, match=r"^certificate must "):
            Certificate.load(path)
    for cut in (0, 1, len(raw) // 2, len(raw) - 1):
        path.write_bytes(raw[:cut])
        with pytest.raises(ValueError, match=r"^certificate must "):
            Certificate.load(path)


def forged(certificate, change, tmp_path):
    """The certificate after `change`, with a digest that fits."""
    from mialeak.certificates import _digest

    content = json.loads(certificate.text())
    change(content)
    content["digest"] = _digest(content)
    path = tmp_path / "forged.json"
    Certificate(content).save(path)
    return path


def next_hex(text, to):
    return float(np.nextafter(float.fromhex(text), to)).hex()


FORGERIES = {
    "one bit of the value": lambda c: c["numbers"][0].update(
        value=next_hex(c["numbers"][0]["value"], 0)
    ),
    "a tighter enclosure": lambda c: c["numbers"][0].update(low=c["numbers"][0]["value"]),
    "decimal": lambda c: c["numbers"][0].update(decimal="0.01"),
    "the estimate": lambda c: c["numbers"][1].update(
        value=(float.fromhex(c["numbers"][1]["value"]) * 0.9999).hex()
    ),
    "the decimal of the estimate": lambda c: c["numbers"][1].update(decimal="0.01 (0 to 0.02)"),
    "an estimate that overflows": lambda c: c["numbers"][1].update(value="1" * 400),
    "an estimate in words": lambda c: c["numbers"][1].update(value="low"),
    "the kind": lambda c: c["numbers"][1].update(kind="exact"),
    "a number left out": lambda c: c["numbers"].pop(),
    "the counts": lambda c: c["counts"].update(sizes=[12], cells=[3]),
    "the rows of the release": lambda c: c["question"].update(n=1_000_000),
    "the confidence": lambda c: c["question"].update(confidence=0.5),
    "an assumption": lambda c: c["assumptions"].pop(),
    "the kernels": lambda c: c.update(kernels="0" * 64),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_with_a_digest_that_fits_does_not_hold(name, tmp_path):
    path = forged(certify(small_report()), FORGERIES[name], tmp_path)
    assert not Certificate.load(path).verify().holds


NONSENSE = {
    "a negative count": lambda c: c["counts"].update(sizes=[-3], cells=[1]),
    "a fraction": lambda c: c["counts"].update(sizes=[1.5], cells=[1]),
    "true": lambda c: c["counts"].update(sizes=[True], cells=[36]),
    "words": lambda c: c["counts"].update(sizes="36", cells="1"),
    "no counts": lambda c: c.update(counts=None),
    "rows that are not those of the counts": lambda c: c["question"].update(rows=37),
    "more cells than memory": lambda c: c["counts"].update(sizes=[1], cells=[2**52]),
    "no question": lambda c: c.pop("question"),
    "a question more": lambda c: c["question"].update(more=1),
    "n of 0": lambda c: c["question"].update(n=0),
    "another population": lambda c: c["question"].update(population="the moon"),
    "confidence of 1": lambda c: c["question"].update(confidence=1.0),
    "no salt": lambda c: c.update(salt=None),
    "a statement more": lambda c: c.update(statement="It leaks nothing."),
    "a sentence for the columns": lambda c: c["question"].update(columns="It leaks nothing."),
    "no inputs": lambda c: c.update(inputs=[]),
    "another schema": lambda c: c.update(schema="mialeak.certificate/9"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_what_is_no_question_is_refused_in_words(name, tmp_path):
    path = forged(certify(small_report()), NONSENSE[name], tmp_path)
    with pytest.raises(ValueError, match=r"^certificate must .{10,500}$"):
        Certificate.load(path).verify()


def test_nested_json_is_refused(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000)
    with pytest.raises(ValueError, match=r"^certificate must hold a certificate"):
        Certificate.load(path)


def test_a_file_longer_than_any_certificate_is_not_read_further(tmp_path):
    path = tmp_path / "certificate.json"
    certificate = certify(small_report())
    certificate.save(path)
    size = path.stat().st_size
    with mock.patch.object(certificates, "_MOST_BYTES", size):
        assert Certificate.load(path).verify().holds
    message = f"certificate must have at most {size - 1:,} bytes"
    with (
        mock.patch.object(certificates, "_MOST_BYTES", size - 1),
        pytest.raises(ValueError, match=message),
    ):
        Certificate.load(path)


def test_a_certificate_shows_its_numbers():
    report = small_report()
    values = f"plug_in={report.plug_in:.6g}, leakage={report.estimate.value:.6g}"
    assert repr(certify(report)) == f"Certificate({values})"


def test_inputs_are_compared_by_their_salted_hashes(tmp_path):
    file, other = tmp_path / "table.csv", tmp_path / "other.csv"
    file.write_text("sex\n" + "f\nm\n" * 600)
    other.write_text("sex\n" + "f\nm\n" * 599 + "f\nf\n")
    first, second = (certify(table_leakage(str(file)), inputs=[file]) for _ in range(2))
    assert first.content["inputs"] != second.content["inputs"]  # the salts differ
    assert first.verify([file]).holds
    assert not first.verify([other]).holds
    assert not first.verify([file, other]).holds


def test_two_inputs_of_one_name_are_two_inputs(tmp_path):
    files = [tmp_path / folder / "people.csv" for folder in ("sample", "register", "other")]
    for place, file in enumerate(files):
        file.parent.mkdir()
        file.write_text("sex\n" + "f\nm\n" * (600 + place))
    certificate = certify(table_leakage(str(files[0])), inputs=files[:2])
    assert list(certificate.content["inputs"]) == ["people.csv", "people.csv (2)"]
    assert certificate.verify(files[:2]).holds
    assert not certificate.verify(files[1:]).holds


@pytest.mark.parametrize(
    "options",
    [
        {"margins": [("sex",), ("age",)]},
        {"panel": {"sex": ["f", "m"] * 9, "age": [20, 30] * 9}},
    ],
)
def test_what_the_sizes_of_cells_do_not_answer_is_refused(options):
    with pytest.raises(ValueError, match=r"report .*sizes of cells"):
        certify(small_report(**options))
    with pytest.raises(TypeError, match=r"^report must be what table_leakage returns"):
        certify(0.5)


def test_the_shell_writes_and_verifies(tmp_path, capsys):
    path = tmp_path / "adult.json"
    assert main(["table", "--example", "adult", "--certificate", str(path)]) == 0
    capsys.readouterr()
    schema = json.loads((ROOT / "docs" / "schemas" / "certificate-1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(path.read_text()))
    assert main(["verify", str(path), str(load_adult().file)]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\nThe certificate holds.\n")
    assert "FAILED" not in out
    assert main(["verify", str(path), str(PROGRAM)]) == 2
    assert "FAILED  verify_certificate.py: not an input of the report" in capsys.readouterr().out
    path.write_bytes(path.read_bytes().replace(b"32561", b"32560"))
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().err.startswith("mialeak: error: ")


def test_the_program_fails_where_a_number_is_not_in_its_enclosure(tmp_path):
    def change(content):
        number = content["numbers"][0]
        value = float.fromhex(number["value"]) * (1 + 1e-12)
        number.update(value=value.hex(), low=value.hex(), high=value.hex(), decimal=repr(value))

    path = forged(certify(small_report()), change, tmp_path)
    done = subprocess.run(
        [sys.executable, PROGRAM, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "FAILED       plug_in = " in done.stdout
    assert len(PROGRAM.read_text().splitlines()) < 200


def test_the_question_states_which_columns_were_recoded():
    frame = {"age": [20, 30, 40, 50] * 300, "sex": ["f", "m"] * 600}
    report = table_leakage(frame, recode={"age": {"bin": 20}})
    assert certify(report).content["question"]["columns"] == ["age (recoded)", "sex"]
    assert certify(report).verify().holds
    assert certify(table_leakage(frame)).content["question"]["columns"] == ["age", "sex"]


def test_one_path_is_no_list_of_inputs(tmp_path):
    """Its characters were opened."""
    path = tmp_path / "table.csv"
    path.write_text("a")
    report = small_report()
    for one in (path, str(path)):
        with pytest.raises(TypeError, match=r"inputs must be a list of paths, not .*Pass \[path\]"):
            certify(report, inputs=one)
        with pytest.raises(TypeError, match="inputs must be a list of paths"):
            certify(report).verify(inputs=one)


def test_a_release_of_a_register_has_no_more_rows_than_people(tmp_path):
    register = {"sex": ["f", "m"] * 100, "age": [20, 30, 40, 50] * 50}
    sample = {name: values[:40] for name, values in register.items()}
    certificate = certify(table_leakage(sample, population=register))
    assert certificate.verify().holds
    path = forged(certificate, lambda c: c["question"].update(rows=201), tmp_path)
    with pytest.raises(ValueError, match="certificate must have the rows of its counts, 200"):
        Certificate.load(path).verify()
