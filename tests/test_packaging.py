"""The recipe for conda-forge agrees with pyproject.toml; the release workflow stores no token."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import mialeak

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = (ROOT / ".conda" / "recipe.yaml").read_text(encoding="utf-8")
#: Where conda-forge's name is another one: its `matplotlib` brings a toolkit of windows along.
CONDA = {"matplotlib": "matplotlib-base"}
#: The extras whose versions the recipe limits if they are installed.
LIMITED = ("dataframe", "report")


def disagreements(text):
    """The fields of the recipe that say other than pyproject.toml does."""
    recipe, project = yaml.safe_load(text), PROJECT["project"]
    needs, (script,) = recipe["requirements"], project["scripts"].items()
    cross = next(each["then"] for each in needs["build"] if isinstance(each, dict))
    built = [spec(each) for each in PROJECT["build-system"]["requires"]]
    limited = {spec(each) for name in LIMITED for each in project["optional-dependencies"][name]}
    version = recipe["context"]["version"]
    unsigned = recipe["source"]["sha256"] == "0" * 64
    oldest = project["requires-python"].removeprefix(">=")
    pairs = {
        "version": (version, mialeak.__version__),
        # Zeros stand for the hash until the sdist of a release exists.
        "sha256": (unsigned or "dev" not in version, True),
        "host": (set(needs["host"]), {"python", "pip", *built}),
        "cross": (set(cross) - {"python", "cross-python_${{ target_platform }}"}, {*built[1:]}),
        "run": (set(needs["run"]), {"python", *map(spec, project["dependencies"])}),
        "run_constraints": (set(needs["run_constraints"]), limited),
        "skip": (f'match(python, "<{oldest}")' in recipe["build"]["skip"], True),
        "entry_points": (recipe["build"]["python"]["entry_points"], [" = ".join(script)]),
        "summary": (recipe["about"]["summary"], project["description"]),
        "license": (recipe["about"]["license"], project["license"]),
        "license_file": ([recipe["about"]["license_file"]], project["license-files"]),
    }
    return {name for name, (conda, pypi) in pairs.items() if conda != pypi}


def spec(need):
    """A requirement of PyPI as conda writes it: ``numpy >=2.0``."""
    name, limits = re.fullmatch(r"([\w-]+)([^;]*)", need).groups()
    return f"{CONDA.get(name, name)} {limits}".strip()


def test_the_recipe_states_what_pyproject_does():
    assert disagreements(RECIPE) == set()


@pytest.mark.parametrize(
    ("line", "stale", "field"),
    [
        (f'version: "{mialeak.__version__}"', 'version: "0.1.9.dev0"', {"version"}),
        (f'version: "{mialeak.__version__}"', 'version: "0.1.9"', {"version"}),
        ("    - setuptools >=77\n", "", {"host"}),
        ("- scipy >=1.13", "- scipy >=1.12", {"run"}),
        ("- numpy >=2.0", "- numpy >=1.26", {"host", "cross", "run"}),
        ("- pyarrow >=15", "- pyarrow >=14", {"run_constraints"}),
        ("<3.11", "<3.10", {"skip"}),
        ("mialeak.cli:main", "mialeak:main", {"entry_points"}),
        ("BSD-3-Clause", "MIT", {"license"}),
    ],
)
def test_a_stale_recipe_is_noticed(line, stale, field):
    assert line in RECIPE
    assert disagreements(RECIPE.replace(line, stale)) == field


def test_a_version_under_development_has_no_hash():
    version = f'version: "{mialeak.__version__}"'
    assert version in RECIPE
    recipe = RECIPE.replace(version, 'version: "0.1.9.dev0"')
    assert "0" * 64 in recipe
    assert disagreements(recipe.replace("0" * 64, "1" * 64)) == {"version", "sha256"}


def test_only_the_job_that_publishes_may_ask_pypi_for_trust():
    """https://docs.pypi.org/trusted-publishers/using-a-publisher/."""
    path = ROOT / ".github" / "workflows" / "release.yml"
    if not path.exists():  # the sdist does not hold the workflows
        pytest.skip("no checkout")
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    trusted = {name for name, job in workflow["jobs"].items() if "permissions" in job}
    assert trusted == {"publish"}
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
    assert publish["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert {"wheels", "sdist"} <= set(publish["needs"])
    (upload,) = (step for step in publish["steps"] if "pypa/gh-action-pypi-publish" in step["uses"])
    assert set(upload) == {"uses"}, "neither a user nor a password"
    assert "secrets" not in text
    assert text.startswith("# Not yet run")
