"""What the pages of the documentation say of the tests: those that they name are there."""

from __future__ import annotations

import importlib
import re

import pytest
from house import ROOT, claims_of

import mialeak
from mialeak.cli import main

PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")])
NODE = re.compile(r"\btests/(test_\w+\.py)(?:::(\w+(?:::\w+)?))?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_is_there(page):
    for file, test in NODE.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / "tests" / file).exists(), file
        assert not test or test in claims_of(file), test


def test_every_erratum_has_a_counter_example_that_runs():
    """A code block that is run as a doctest, or a test."""
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    entries = re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]
    for entry in entries:
        title, *body = entry.splitlines()
        rows = [line for line in body if re.match(r"\| AG?[BP]", line)]
        if any(body) and not rows:
            assert ">>>" in entry or NODE.search(entry), title
        for row in rows:
            assert NODE.search(row), row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_of_an_example_is_what_the_shell_prints(page, capsys):
    """Command and answer, in one block or in two."""
    text = page.read_text(encoding="utf-8")
    shown = r"\bmialeak (\w+ --example \w+)\n(?:```\n[^`]*```text\n)?(\w.*?)\n```"
    for command, answer in re.findall(shown, text, re.DOTALL):
        main(command.split())
        assert answer in capsys.readouterr().out
    assert "--example adult\n" in text or page not in {ROOT / "README.md", ROOT / "docs/index.md"}


def test_every_name_that_answers_has_its_kind_on_the_page():
    """By itself or with its room; not those of laws, pictures and data, which are no answers."""
    text = (ROOT / "docs" / "exactness.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)", text))
    whole = set(re.findall(r"all functions of `mialeak\.(\w+)` \| exact", text))
    assert whole == {"special"}
    silent = {"laws", "plotting", "datasets"} | whole
    answers = set(mialeak._HOME) - {"show_config"}
    for room in set(mialeak._ROOMS) - silent:
        module = importlib.import_module(f"mialeak.{room}")
        answers |= {name for name in module.__all__ if name.islower()}
    assert answers <= listed


def test_the_afternoon_of_an_office_is_what_the_shell_prints(capsys, tmp_path, monkeypatch):
    """Its commands in their order, in one folder; the lines shown are printed, in their order."""
    text = (ROOT / "docs" / "guide" / "afternoon.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sessions = re.findall(r"```console\n\$ mialeak (.*?)\n(.*?)```", text, re.DOTALL)
    assert len(sessions) == 5
    for command, shown in sessions:
        assert main(command.split()) == 0
        printed = iter(capsys.readouterr().out.splitlines())
        for line in shown.splitlines():
            assert line == "..." or line in printed, line
