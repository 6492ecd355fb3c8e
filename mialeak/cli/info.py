"""``mialeak info``: what this installation computes with."""

from __future__ import annotations

import argparse
from typing import Any

from mialeak.cli import _output

__all__ = ["add_parser", "run"]

_EXAMPLES = """\
Examples:
  mialeak info
  MIALEAK_ISA=sse2 mialeak info --json
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "info",
        help="versions, kernel in use, BLAS, processors",
        description="Versions, the kernel in use, BLAS and processors: for a bug report.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the configuration."""
    from mialeak._config import show_config

    if options.json:
        _output.print_json("mialeak.info/1", show_config(mode="dicts") or {})
    else:
        show_config()
    return 0
