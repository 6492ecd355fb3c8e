"""The JSON of the shell: what is printed is what docs/schemas says, field by field."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import math
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from mialeak import table_leakage
from mialeak.certificates import certify
from mialeak.cli import _output, main

DOCS = Path(__file__).parent.parent / "docs"
FILES = sorted((DOCS / "schemas").glob("*.json"))
EVERY = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in FILES}
#: Those of this release; of the others only the form is held, and that they are still there.
SCHEMAS = {
    name: schema
    for name, schema in EVERY.items()
    if f"{name[:-2]}-{int(name[-1]) + 1}" not in EVERY and name != "certificate-1"  # a file
}

#: Objects whose fields are named by the data.
MAPS = {"values", "labels", "versions", "rules"}

#: What these machines and these scores never leave out.
NEVER_NULL_HERE = {"version", "installed", "MIALEAK_ISA", "epsilon_lower", "mu_lower"}

BOTH_LIMITS = (
    "table CSV --margins sex,sex*age --max-leakage 0.5 --max-row-leakage 0.5 "
    "--confidence 0.9 --n 70"
)

#: Every way in which a subcommand answers.
OUTPUTS = {
    "table-2": [
        "table CSV",
        "table CSV --top 3 --baseline LAST",
        BOTH_LIMITS + " --show-rows",
        "table GAPS --na category --top 100 --show-rows",
        "table CSV --max-row-leakage 0.5",
        "table COUNTS --counts n",
        "table SAMPLE --population CSV --top 100 --show-rows --max-leakage 0 --max-row-leakage 1",
        "table SAMPLE --population CSV --top 1",
        "table SAMPLE --population 1000000",
        "table SOME --population PEOPLE --strata sex --prior 0.5 --na category",
        "table VISITS --person id --top 3 --show-rows --max-leakage 0.5",
        "table VISITS --person id --columns ward",
        "table SAMPLE --panel CSV",
        "table SPARSE --population GAPS --na category --show-rows --top 100",
        "table GAPS --na drop --top 0 --max-leakage 0",
        "table GAPS --na drop --margins sex,age --target 0.2 --top 1",
        "table NPZ --na category --top 100 --show-rows",
        "table NPZ --margins when,flag --top 100 --show-rows",
        "table --example adult --columns age --protect round:5 --coarsen 0.005",
        "table --example adult --columns sex --protect round:5",
        "table SAMPLE --population CSV --protect suppress:2+round:5",
        "table CSV --secret age",
        "table --example adult --columns sex --secret race --protect round:5",
        "table --example adult --columns race,sex --plan 0.004",
        "table --example adult --columns age --bin age:10",
    ],
    "mean-2": [
        "mean CSV",
        "mean CSV --top 3 --baseline LAST",
        "mean CSV --noise-std 0.1 --rate 0.5 --max-leakage 0.5 --top 2 --show-rows",
        "mean GAPS --na drop --columns age --target 0.99 --max-leakage 0",
        "mean CSV --categories age --top 60",
        "mean CSV --covariance shrunk --exclude sex",
        "mean CSV --population 1000",
        "mean SAMPLE --population CSV",
        "mean CSV --panel 100",
        "mean --example genotypes --target 0.001 --top 0",
        "mean NPZ --columns flag,when",
        "mean --example genotypes --top 1 --show-rows",
        "mean --example genotypes --top 2 --exact --max-leakage 0.5",
        "mean NPZ --columns flag --exact --rate 0.5 --top 2",
        "mean TARGETS --published FREQUENCIES --top 1",
        "mean TARGETS --published FREQUENCIES --panel FREQUENCIES --show-rows",
    ],
    "curve-2": [
        "curve --mu 1.5",
        "curve --dp-sgd sigma=2,rate=0.05,steps=500 --delta 0,1e-6",
        "curve --mu 0.1 --rate 0.5 --steps 12",
        "curve --dp-sgd sigma=0.01,rate=0.01,steps=1000 --epsilon 1 --delta 0.5 --fpr 0.5",
        "curve --mu 0 --rate 0.1",
        "curve --mu inf --epsilon 0,inf --delta 0,0.5,1 --fpr 0,1",
        "curve --mu 40 --delta 0",
        "curve --compose CURVES --fpr 0.1 --epsilon 1 --delta 1e-5",
    ],
    "mean-groups-1": [
        "mean --example genotypes --by superpopulation --top 2 --max-leakage 0.5",
        "mean --example genotypes --by superpopulation --baseline LAST",
        "mean --example adult --by sex --columns age --noise-std 0.1",
    ],
    "audit-2": [
        "audit IN OUT",
        "audit IN OUT --delta 1e-5 --max-epsilon 1 --confidence 0.9 --claimed-epsilon 0.5",
        "audit OUT IN --lower-is-member --max-epsilon inf",
    ],
    "one-run-2": [
        "audit SCORES FLAGS --one-run",
        "audit SCORES FLAGS --one-run --max-epsilon inf --delta 0.01 --claimed-epsilon 0.1",
    ],
    "shadow-1": [
        "audit MANY COINS --shadow --max-epsilon inf",
        "audit MANY COINS --shadow --claimed-epsilon 0.1 --lower-is-member",
    ],
    "stream-1": [
        "audit SCORES FLAGS --stream",
        "audit SCORES FLAGS --stream --max-epsilon inf",
        "audit SCORES FLAGS --stream --claimed-epsilon 0",
    ],
    "release-1": [
        "release PLAN",
        "release PLAN --top 3 --baseline LAST",
        "release LIMITED --contributions --show-rows --top 3",
        "release REGISTER --max-leakage 0.5",
        "release REGISTER --max-determined 1",
    ],
    "info-1": ["info"],
    "verify-1": ["verify CERTIFICATE", "verify CERTIFICATE CSV"],
}

CASES = [(name, line) for name, lines in OUTPUTS.items() for line in lines]


#: Those with most fields.
RICHEST = [
    (
        "table-2",
        BOTH_LIMITS + " --show-rows",
    ),
    ("table-2", "table SPARSE --population GAPS --na category --show-rows --top 100"),
    ("table-2", "table --example adult --columns age --protect round:5 --coarsen 0.005"),
    ("mean-2", "mean --example genotypes --top 2 --exact --max-leakage 0.5"),
    ("mean-2", "mean CSV --noise-std 0.1 --rate 0.5 --max-leakage 0.5 --top 2 --show-rows"),
    (
        "audit-2",
        "audit IN OUT --delta 1e-5 --max-epsilon 1 --confidence 0.9 --claimed-epsilon 0.5",
    ),
    (
        "one-run-2",
        "audit SCORES FLAGS --one-run --max-epsilon inf --delta 0.01 --claimed-epsilon 0.1",
    ),
    ("shadow-1", "audit MANY COINS --shadow --max-epsilon inf"),
    ("stream-1", "audit SCORES FLAGS --stream --max-epsilon inf"),
    ("curve-2", "curve --mu 1.5"),
    ("release-1", "release LIMITED --contributions --show-rows --top 3"),
    ("info-1", "info"),
    ("verify-1", "verify CERTIFICATE CSV"),
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Files that the command lines above name."""
    folder = tmp_path_factory.mktemp("tables")
    rows = [f"{'fm'[i % 3 == 0]},{20 + i * i % 17}" for i in range(59)]
    csv = "sex,age\n" + "\n".join(rows) + "\n"
    (folder / "t.csv").write_text(csv + "x,30\n")  # alone in its kind: an infinite score
    (folder / "gaps.csv").write_text(csv + "f,\n")
    (folder / "sample.csv").write_text("\n".join(["sex,age", *rows[:20]]) + "\n")
    (folder / "sparse.csv").write_text("\n".join(["sex,age", *rows[:20], "f,"]) + "\n")
    (folder / "visits.csv").write_text("id,ward,sex\na,1,f\na,2,f\nb,1,m\nc,1,f\nc,1,f\n")
    (folder / "people.csv").write_text(csv + ",30\n,31\n")
    (folder / "some.csv").write_text("\n".join(["sex,age", *rows[:20], ",30"]) + "\n")
    (folder / "counts.csv").write_text("sex, age,n\nf,30, 12\nf,41,7\nm,30,0\nm,41,9\n")
    np.savez(
        folder / "t.npz",
        size=np.array([1.5, np.inf, np.nan, 2.0] * 5),
        flag=np.array([True, False] * 10),
        when=np.array(["2020-01-01", "2020-01-02"] * 10, dtype="datetime64[D]"),
    )
    member = np.random.default_rng(0).permutation(200) % 2
    for name, scores in (
        ("in", np.linspace(1.0, 3.0, 100)),
        ("out", np.linspace(-1.0, 1.5, 90)),
        ("scores", member + np.sin(np.arange(200))),
        ("flags", member),
    ):
        np.save(folder / f"{name}.npy", scores)
    coins = np.random.default_rng(0).random((20, 30)) < 0.5
    np.save(folder / "many.npy", np.random.default_rng(1).normal(size=coins.shape))
    np.save(folder / "coins.npy", coins)
    head = "FID IID PAT MAT SEX PHENOTYPE rs1_C(/A) rs2_G(/T)\n"
    (folder / "targets.raw").write_text(head + "f a 0 0 0 -9 0 1\nf b 0 0 0 -9 2 1\n")
    sites = "1\trs1\tA\tC\t0.3\t20\n2\trs2\tT\tG\t0.45\t20\n"
    (folder / "r.afreq").write_text("#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n" + sites)
    (folder / "curves.toml").write_text(
        'worlds = "add or remove"\n[[release]]\ngaussian = 0.5\nrate = 0.1\ntimes = 3\n'
        "[[release]]\nlaplace = 0.5\n[[release]]\nepsilon = 1\n[[release]]\n"
        "discrete_gaussian = 3\n"
    )
    files = {
        "CURVES": "curves.toml",
        "CSV": "t.csv",
        "GAPS": "gaps.csv",
        "COUNTS": "counts.csv",
        "NPZ": "t.npz",
    }
    files |= {"SAMPLE": "sample.csv", "SPARSE": "sparse.csv"}
    files |= {"TARGETS": "targets.raw", "FREQUENCIES": "r.afreq"}
    files |= {"PEOPLE": "people.csv", "SOME": "some.csv", "VISITS": "visits.csv"}
    files |= {
        word: f"{word.lower()}.npy" for word in ("IN", "OUT", "SCORES", "FLAGS", "MANY", "COINS")
    }
    schema = 'schema = "mialeak.release-plan/1"\npeople = '
    outputs = '[[outputs]]\ntable = ["sex"]\n[[outputs]]\ntable = ["age"]\n'
    (folder / "plan.toml").write_text(f'{schema}"t.csv"\n{outputs}')
    (folder / "register.toml").write_text(f'{schema}"sample.csv"\npopulation = "t.csv"\n{outputs}')
    (folder / "limited.toml").write_text(
        f'{schema}"t.csv"\n{outputs}protect = "suppress:3"\n'
        '[[outputs]]\ntable = ["sex"]\nwhere = { age = { max = 35 } }\n'
        "[limits]\ndetermined = 0\nmax_leakage = 0.1\nmax_row_leakage = 0.1\n"
    )
    certify(table_leakage(folder / "sample.csv")).save(folder / "certificate.json")
    files["CERTIFICATE"] = "certificate.json"
    files |= {"PLAN": "plan.toml", "REGISTER": "register.toml", "LIMITED": "limited.toml"}
    files["LAST"] = "last.json"
    return {word: str(folder / file) for word, file in files.items()}


@pytest.fixture(scope="module")
def outputs(tables):
    """What every command line prints, run once."""
    found = {}
    for _, line in CASES:
        words = [tables.get(word, word) for word in line.split()]
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            assert main([*words, "--json"]) in (0, 2, 3), line
        found[line] = json.loads(stream.getvalue(), parse_constant=pytest.fail)
        Path(tables["LAST"]).write_text(stream.getvalue())
    return found


def problems(schema, content):
    """What is wrong with `content`."""
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(content)]


def objects(value, name=""):
    """All objects in a JSON value whose fields the schema names."""
    if isinstance(value, dict):
        if name not in MAPS:
            yield value
        for key, item in value.items():
            yield from objects(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item, name)


def shortened(value):
    """The value with lists of two items at most."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return [shortened(item) for item in value[:2]] if isinstance(value, list) else value


def fields(schema):
    """The name and the schema of every field, at any depth."""
    for key, value in schema.items():
        if key == "properties":
            yield from value.items()
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield from fields(part)


# --- the outputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "line"), CASES, ids=[line for _, line in CASES])
def test_what_is_printed_is_what_the_schema_says(outputs, name, line):
    content = outputs[line]
    assert problems(SCHEMAS[name], content) == []
    assert content["schema"] == "mialeak.{}/{}".format(*name.rsplit("-", 1))
    assert content["schema"] == SCHEMAS[name]["properties"]["schema"]["const"]


@pytest.mark.parametrize(("name", "line"), RICHEST)
def test_a_changed_field_is_noticed(outputs, name, line):
    content = shortened(outputs[line])
    original = copy.deepcopy(content)
    validator = jsonschema.Draft202012Validator(SCHEMAS[name])
    assert validator.is_valid(content)
    for found in list(objects(content)):
        for field in list(found):
            value = found.pop(field)
            assert not validator.is_valid(content), f"{field} is gone"
            found[field] = {"x": []}
            assert not validator.is_valid(content), f"{field} is another thing"
            if isinstance(value, (int, float)) and field != "value":
                found[field] = str(value)
                assert not validator.is_valid(content), f"{field} is text"
            found[field] = value
        found["more"] = None
        assert not validator.is_valid(content), "a field more"
        del found["more"]
    assert content == original


def test_every_field_and_every_null_is_seen(outputs):
    for name, schema in SCHEMAS.items():
        seen = [found for line in OUTPUTS[name] for found in objects(outputs[line])]
        names = {field for found in seen for field in found}
        absent = {field for found in seen for field in found if found[field] is None}
        for field, told in fields(schema):
            if field not in schema["properties"].get("versions", {}).get("properties", {}):
                assert field in names, field
            if field not in NEVER_NULL_HERE and "null" in told.get("type", ()):
                assert field in absent, f"{field} is never null"


def test_json_never_holds_what_json_does_not_know(capsys):
    content = {"a": math.inf, "b": [-math.inf, {"c": (math.nan, 1.5)}], "d": True, "e": 2**60}
    _output.print_json("mialeak.test/1", content)
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert {key: found[key] for key in content} == {
        "a": None,
        "b": [None, {"c": [None, 1.5]}],
        "d": True,
        "e": 2**60,
    }
    assert found["schema"] == "mialeak.test/1"


# --- the schemas ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_a_schema_is_one_and_describes_every_field(name):
    schema = EVERY[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == "urn:mialeak:{}:{}".format(*name.rsplit("-", 1))
    for field, told in fields(schema):
        assert told.get("description", "").endswith("."), field
        if "null" in told.get("type", ()):
            assert "null" in told["description"], f"{field}: when null?"


@pytest.mark.parametrize("name", EVERY)
def test_no_object_takes_a_field_that_is_not_named(name):
    parts = [EVERY[name]]
    while parts:
        part = parts.pop()
        if "properties" in part and "additionalProperties" in part:
            assert part["required"] == list(part["properties"])
            closed = part["additionalProperties"] is False
            assert closed or set(part["properties"]) >= {"mialeak", "numpy"}  # versions
        for value in part.values():
            values = value if isinstance(value, list) else [value]
            parts += [item for item in values if isinstance(item, dict)]


def test_every_command_that_prints_json_has_a_schema_and_is_in_the_documentation(capsys):
    with contextlib.suppress(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    (\w+)  ", capsys.readouterr().out, re.MULTILINE)
    assert {name.rsplit("-", 1)[0] for name in SCHEMAS} | {"app"} == {
        *commands,
        "mean-groups",
        "one-run",
        "shadow",
        "stream",
    }
    assert set(SCHEMAS) == set(OUTPUTS)
    page = (DOCS / "schemas.md").read_text(encoding="utf-8")
    for name in EVERY:
        assert f"(schemas/{name}.json)" in page or f"<schemas/{name}.json>" in page
        assert "`mialeak.{}/{}`".format(*name.rsplit("-", 1)) in page
