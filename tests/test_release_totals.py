"""Published tables with rows of totals, which are outputs of their own."""

from __future__ import annotations

import pytest

from mialeak import Release
from mialeak.mechanisms import Round

#: Five wards by two diagnoses; ward "e" has 3 people of "y", and "d" 4.
COUNTS = {
    ("a", "x"): 20, ("a", "y"): 31, ("b", "x"): 17, ("b", "y"): 22, ("c", "x"): 40,
    ("c", "y"): 18, ("d", "x"): 25, ("d", "y"): 4, ("e", "x"): 33, ("e", "y"): 3,
}  # fmt: skip
PEOPLE = {
    name: [cell[k] for cell, count in COUNTS.items() for _ in range(count)]
    for k, name in enumerate(("ward", "dx"))
}
#: The year of each: 2023, and 2024 for the first 30.
DATED = {**PEOPLE, "year": [2024] * 30 + [2023] * (len(PEOPLE["dx"]) - 30)}


def summed(places):
    """The totals by these of the two columns."""
    totals = {}
    for cell, count in COUNTS.items():
        label = tuple(each if k in places else "Total" for k, each in enumerate(cell))
        totals[label] = totals.get(label, 0) + count
    return totals


def published(*totals, hide=5, change=0, counts=COUNTS):
    cells = {cell: count if count >= hide else None for cell, count in counts.items()}
    for each in totals:
        cells |= {cell: count + change for cell, count in each.items()}
    wards, dxs = zip(*cells, strict=True)
    return {"ward": list(wards), "dx": list(dxs), "n": list(cells.values())}


def test_totals_of_a_published_table_recover_its_hidden_counts():
    release = Release(PEOPLE)
    release.add_table(["ward", "dx"], published=published(summed([0]), summed([1]), summed([])))
    assert release.outputs == ("table 1: ward by dx", "table 2: ward", "table 3: dx")
    report = release.leakage(threshold=5)
    hidden = {each.cell: (each.low, each.high) for each in report.recovered}
    assert hidden == {"ward = e, dx = y": (3, 3), "ward = d, dx = y": (4, 4)}


def test_it_is_what_two_tables_say():
    one, two = Release(PEOPLE), Release(PEOPLE)
    one.add_table(["ward", "dx"], published=published(summed([0])))
    two.add_table(["ward", "dx"], published=published())
    two.add_table(["ward"])
    assert one.outputs == two.outputs
    assert one.leakage().plug_in.average == two.leakage().plug_in.average


def test_totals_of_counts_that_are_all_shown_are_no_further_outputs():
    release = Release(PEOPLE)
    release.add_table(["ward", "dx"], published=published(summed([0]), summed([]), hide=0))
    assert release.outputs == ("table 1: ward by dx",)


def test_totals_that_were_summed_after_suppression_are_no_further_outputs():
    shown = {cell: count * (count >= 5) for cell, count in COUNTS.items()}
    totals = {}
    for (ward, _), count in shown.items():
        totals[ward, "All"] = totals.get((ward, "All"), 0) + count
    release = Release(PEOPLE)
    release.add_table(["ward", "dx"], published=published(totals))
    assert release.outputs == ("table 1: ward by dx",)


def test_exact_totals_beside_rounded_counts_are_known():
    rounded = {cell: 5 * ((count + 2) // 5) for cell, count in COUNTS.items()}
    release = Release(PEOPLE)
    table = published(summed([0]), hide=0, counts=rounded)
    release.add_table(["ward", "dx"], protect=Round(5), published=table)
    assert release.outputs == ("table 1: ward by dx", "table 2: ward")
    alone = Release(PEOPLE)
    alone.add_table(["ward"])
    # The totals leak what they leak alone, at least, which rounded counts do not.
    assert release.leakage().plug_in.average.low >= alone.leakage().plug_in.average.low > 0.0


def test_the_number_of_people_of_a_part_is_an_output():
    counts = {("a", "x"): 20, ("a", "y"): 10}  # of 2024, of whom the last are hidden by hand
    table = {"ward": ["a", "a", "Total"], "dx": ["x", "y", "Total"], "n": [20, None, 30]}
    release = Release(DATED)
    release.add_table(["ward", "dx"], where={"year": 2024}, published=table)
    assert release.outputs[1] == "table 2: number of people, where year = 2024"
    (hidden,) = release.leakage().recovered
    assert hidden.low == hidden.high == counts["a", "y"]


@pytest.mark.parametrize(
    ("places", "says"),
    [([0], "of the totals by ward: published must have the counts"), ([], "have the number of")],
)
def test_totals_of_other_people_are_refused(places, says):
    release = Release(PEOPLE)
    with pytest.raises(ValueError, match=says):
        release.add_table(["ward", "dx"], published=published(summed(places), change=1))


def test_totals_with_another_name_are_named_in_the_error():
    release = Release(PEOPLE)
    table = published(summed([0]))
    table["dx"] = ["every dx" if each == "Total" else each for each in table["dx"]]
    with pytest.raises(ValueError, match="write Total for such a value"):
        release.add_table(["ward", "dx"], published=table)
