"""Writes src_c/pascal.c: binomial coefficients, rounded correctly.

Run ``python src_c/make_pascal.py > src_c/pascal.c`` after a change of MIAL_PASCAL_ROWS.
"""

import math
import re
import textwrap
from pathlib import Path

header = (Path(__file__).parent / "mialeak.h").read_text()
rows = int(re.search(r"MIAL_PASCAL_ROWS = (\d+)", header)[1])
half = [math.comb(a, b) for a in range(rows) for b in range(a // 2 + 1)]
words = [str(value) if value < 2**31 else repr(float(value)) for value in half]

print("/* Written by make_pascal.py; do not edit. */")
print('#include "mialeak.h"\n')
print("/* Row a has C(a, b) for b = 0 to floor(a/2), and begins at floor((a + 1)^2/4). */")
print("const double mial_pascal[] = {")
print(textwrap.fill(", ".join(words) + ",", 100, initial_indent="    ", subsequent_indent="    "))
print("};")
