"""The tables of counts in the results of ACRO, as outputs of a release."""

from __future__ import annotations

import json
import re

import pytest

from mialeak import Release
from mialeak.cli import main

# --- the results of ACRO --------------------------------------------------------------------------

GRANTS = {
    "year": [2010] * 40 + [2011] * 38,
    "grant_type": ["G"] * 15 + ["N"] * 20 + ["R"] * 5 + ["G"] * 12 + ["N"] * 22 + ["R"] * 4,
    "survivor": ["Dead", "Alive"] * 39,
}
#: Outputs as ACRO 0.4.12 writes them: its files by their names.
ACRO = {
    "suppressed": "year,G,N,R\n2010,15.0,20.0,\n2011,12.0,22.0,\n",
    "with totals": "year,G,N,R,All\n2010,15.0,20.0,,40\n2011,12.0,22.0,,38\nAll,27,42,9,78\n",
    "totals of what is shown": "year,G,N,All\n2010,15,20.0,35\n2011,12,22.0,34\nAll,27,42.0,69\n",
    "two columns": "grant_type,G,G,N,N,R,R\nsurvivor,Alive,Dead,Alive,Dead,Alive,Dead\n"
    "year,,,,,,\n2010,7,8,10,10,,\n2011,6,6,11,11,,\n",
    "two rows": "year,grant_type,Alive,Dead\n2010,G,7,8\n2010,N,10,10\n2010,R,,\n"
    "2011,G,6,6\n2011,N,11,11\n2011,R,,\n",
    "means": "year,G,N\n2010,9921906.5,0.25\n2011,8502247.0,123496.445\n",
}


def acro_results(folder, *names):
    """A results.json with the outputs, and one that is no table."""
    results = {}
    for place, name in enumerate(names):
        file = f"output_{place}_0.csv"
        (folder / file).write_text(ACRO[name])
        results[f"output_{place}"] = {
            "uid": f"output_{place}",
            "status": "review",
            "type": "table",
            "properties": {"method": "crosstab"},
            "files": [{"name": file, "sdc": {"summary": {"suppressed": True}, "cells": {}}}],
            "outcome": {},
            "command": "acro.crosstab(",
            "summary": "review; threshold: 2 cells suppressed; ",
            "timestamp": "2026-06-30T15:19:49.603861",
            "comments": [],
            "exception": "",
        }
    results["output_9"] = {
        "uid": "output_9",
        "status": "review",
        "type": "custom",
        "properties": {},
        "files": [{"name": "code.py", "sdc": {}}],
    }
    path = folder / "results.json"
    path.write_text(json.dumps({"version": "0.4.12", "results": results, "session_summary": {}}))
    return path


def test_the_results_of_acro_are_read_and_their_hidden_counts_recovered(tmp_path):
    release = Release(GRANTS)
    release.add_acro(acro_results(tmp_path, "suppressed", "with totals", "means"))
    assert release.outputs == (
        "table 1: year by grant_type",
        "table 2: year by grant_type",
        "table 3: year",
        "table 4: grant_type",
    )
    report = release.leakage()
    hidden = {(each.output, each.cell): (each.low, each.high) for each in report.recovered}
    assert hidden["table 1", "year = 2010, grant_type = R"] == (5, 5)
    assert hidden["table 2", "year = 2011, grant_type = R"] == (4, 4)
    assert "output_2 (crosstab), output_9 (custom) of ACRO's results" in report.cautions[0]


def test_totals_of_what_acro_shows_are_no_further_outputs(tmp_path):
    release = Release(GRANTS)
    release.add_acro(acro_results(tmp_path, "totals of what is shown"))
    assert release.outputs == ("table 1: year by grant_type",)
    hidden = release.leakage().recovered  # 9 people of two years remain
    assert all((each.low, each.high) == (0, 9) for each in hidden)


@pytest.mark.parametrize("name", ["two columns", "two rows"])
def test_tables_of_acro_by_three_columns_are_read(tmp_path, name):
    release = Release(GRANTS)
    release.add_acro(acro_results(tmp_path, name).parent)
    assert len(release.outputs) == 1
    assert set(release.outputs[0].removeprefix("table 1: ").split(" by ")) == set(GRANTS)
    assert release.leakage().n_counts == 12


@pytest.mark.parametrize("hidden", [(2010,), (2010, 2011)])
def test_a_category_of_which_acro_hides_all_counts_is_no_line_of_names(tmp_path, hidden):
    path = acro_results(tmp_path, "suppressed")
    lines = ["2010,15,20,5", "2011,12,22,4"]
    lines = [f"{x[:4]},,," if int(x[:4]) in hidden else x for x in lines]
    (tmp_path / "output_0_0.csv").write_text("\n".join(["year,G,N,R", *lines]) + "\n")
    release = Release(GRANTS)
    release.add_acro(path)
    assert release.outputs == ("table 1: year by grant_type",)


def written(folder, text):
    """A plan with these outputs of the grants."""
    rows = [GRANTS, *zip(*GRANTS.values(), strict=True)]
    (folder / "people.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    plan = folder / "plan.toml"
    plan.write_text('schema = "mialeak.release-plan/1"\npeople = "people.csv"\n' + text)
    return str(plan)


def test_a_gate_does_not_pass_for_outputs_that_are_not_read(tmp_path, capsys):
    path = acro_results(tmp_path, "with totals", "means")
    plan = written(tmp_path, f'[[outputs]]\nacro = "{path.name}"\n')
    for more, code in (([], 3), (["--accept-cautions"], 0)):
        assert main(["release", plan, "--max-determined", "9", *more]) == code
        out = " ".join(capsys.readouterr().out.split())
        assert out.startswith("Caution: Not read, and not counted in any leakage: output_1")
    chosen = f'[[outputs]]\nacro = "{path.name}"\noutputs = ["output_0"]\n'
    for more, code in (("", 3), ('protect = "suppress:10"\n', 0)):
        plan = written(tmp_path, chosen + more)
        assert main(["release", plan, "--max-determined", "9"]) == code
        assert "Not read" not in capsys.readouterr().out


def test_a_plan_takes_the_results_of_acro(tmp_path, capsys):
    acro_results(tmp_path, "suppressed", "with totals")
    plan = written(tmp_path, '[[outputs]]\nacro = "results.json"\noutputs = ["output_1"]\n')
    assert main(["release", plan, "--max-determined", "0"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "table 1, year = 2010, grant_type = R: can be recovered, between 5 and 5" in out
    assert "of ACRO's results" not in out


@pytest.mark.parametrize(
    ("people", "content", "arguments", "words"),
    [
        (GRANTS, "[]", {}, "be the results.json that ACRO writes, from version 0.4 on"),
        (GRANTS, "{", {}, "be JSON"),
        (GRANTS, None, {"outputs": ["output_7"]}, "outputs must be outputs of the results"),
        (GRANTS, None, {"where": {"survivor": "Dead"}}, "output_0 of ACRO: published must have"),
        ({"year": [2010, 2011]}, None, {}, "have one column with the values"),
        ({**GRANTS, "same": GRANTS["grant_type"]}, None, {}, "'grant_type', 'same' have them"),
    ],
)
def test_results_of_acro_with_a_mistake_are_refused(tmp_path, people, content, arguments, words):
    path = acro_results(tmp_path, "suppressed")
    if content is not None:
        path.write_text(content)
    release = Release(people)
    with pytest.raises(ValueError, match=re.escape(words)):
        release.add_acro(path, **arguments)
    assert release.outputs == ()


def test_results_of_acro_name_files_of_their_folder(tmp_path):
    path = acro_results(tmp_path, "suppressed")
    path.write_text(path.read_text().replace("output_0_0.csv", "../x.csv"))
    with pytest.raises(ValueError, match="a file in the folder of the plan or below it"):
        Release(GRANTS).add_acro(path)
