"""The benchmark: ``pytest benchmarks``.  With ``--benchmark-disable`` each row runs once, small."""

from __future__ import annotations

import numpy as np
import pytest
from cases import ACCURACY_POINTS, CASES

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
