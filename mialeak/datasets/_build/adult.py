"""Make ``adult.npz`` from ``adult.data`` of the UCI repository.

    python mialeak/datasets/_build/adult.py path/to/adult.data

The same input makes the same arrays everywhere, and the same bytes wherever zlib is the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

FIELDS = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
    "native_country", "income",
]  # fmt: skip
INTEGERS = ["age", "hours_per_week"]
LEFT_OUT = ["fnlwgt", "education_num", "capital_gain", "capital_loss"]
N_ROWS = 32_561


def main(source: str) -> None:
    """Read, check, pack."""
    lines = Path(source).read_text(encoding="ascii").splitlines()
    rows = [line.split(", ") for line in lines if line]
    if len(rows) != N_ROWS or {len(row) for row in rows} != {len(FIELDS)}:
        raise SystemExit(f"{source}: expected {N_ROWS} rows of {len(FIELDS)} fields")
    stored = {}
    for name, values in zip(FIELDS, zip(*rows, strict=True), strict=True):
        if name in LEFT_OUT:
            continue
        if name in INTEGERS:
            stored[name] = np.array([int(value) for value in values], np.uint8)
        else:
            categories, codes = np.unique(np.array(values), return_inverse=True)
            stored[name] = codes.astype(np.uint8)
            stored[name + ".categories"] = categories
    np.savez_compressed(Path(__file__).parents[1] / "adult.npz", allow_pickle=False, **stored)


if __name__ == "__main__":
    main(*sys.argv[1:])
