"""Print the requirements of extras of pyproject.toml: ``python3 .ci/needs.py test docs``."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def needs(extra: str) -> Iterator[str]:
    """The requirements of an extra, those of the extras that it names included."""
    for need in EXTRAS[extra]:
        named = re.fullmatch(rf"{PROJECT['name']}\[([\w,-]+)\]", need)
        if named:
            for other in named[1].split(","):
                yield from needs(other)
        else:
            yield need


if __name__ == "__main__":
    every = [*PROJECT["dependencies"], *(need for extra in sys.argv[1:] for need in needs(extra))]
    print(*dict.fromkeys(every), sep="\n")
