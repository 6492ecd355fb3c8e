"""The benchmark: ``pytest benchmarks``.  With ``--benchmark-disable`` each row runs once, small."""

from __future__ import annotations

import numpy as np
import pytest
from cases import ACCURACY_POINTS, CASES
from history import fallen, table

PAIRS = [
    pytest.param(case, name, id=f"{case.name}: {name}")
    for case in CASES
    for name in case.contenders()
]


@pytest.mark.parametrize(("case", "contender"), PAIRS)
def test_speed(benchmark, request, case, contender):
    quick = request.config.getoption("benchmark_disable")
    function = case.contenders()[contender]
    if case.error and contender == "mialeak":
        assert case.error(function, 50 if quick else ACCURACY_POINTS) <= case.bound
    arguments = case.setup(case.quick_size if quick else case.size_for(contender))
    benchmark.group = case.name
    with np.errstate(all="ignore"):
        benchmark.pedantic(function, arguments, rounds=5, warmup_rounds=1)


def times(ours, rival):
    return {"avx2": {"`f`, n = 1e3": ours, "`g`": ours}, "rival": {"`f`, n = 1e3": rival}}


def test_a_row_that_fell_since_the_last_release_is_named():
    released = {"release": "0.1.0", "seconds": times(1e-8, 1e-7)}
    assert fallen([released, {"seconds": times(1.05e-8, 1e-7)}]) == []
    slower = fallen([released, {"seconds": times(2e-8, 1e-7)}, {"seconds": times(1.2e-8, 1e-7)}])
    assert slower == [
        "`f`, n = 1e3, avx2: 1.20 times the time of 0.1.0",
        "`g`, avx2: 1.20 times the time of 0.1.0",
    ]
    # On a machine that is half as fast today, only a row without a rival seems to have fallen.
    assert fallen([released, {"seconds": times(2e-8, 2e-7)}]) == [
        "`g`, avx2: 2.00 times the time of 0.1.0"
    ]


def test_the_table_has_times_and_ratios_of_each_instruction_set():
    line = {"machine": "m", "date": "d", "rounds": 3, "note": "quiet", "seconds": times(1e-8, 1e-7)}
    assert table(line).splitlines()[2:] == [
        "|  | avx2 | SciPy or NumPy | limit | ratio, avx2 |",
        "|---|--:|--:|--:|--:|",
        "| `f`, n = 1e3 | 10 ns | 100 ns |  | 10 |",
        "| `g` | 10 ns |  |  |  |",
    ]
