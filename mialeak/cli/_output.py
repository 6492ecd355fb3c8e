"""What the subcommands print alike."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["print_json"]


def print_json(schema: str, content: dict[str, Any]) -> None:
    """Print `content` as one JSON object that names its schema and the version that made it."""
    from mialeak._version import __version__

    print(json.dumps({"schema": schema, "mialeak": __version__, **content}, indent=2))
