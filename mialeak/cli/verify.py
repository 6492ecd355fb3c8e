"""``mialeak verify``: whether a certificate holds."""

from __future__ import annotations

import argparse
from typing import Any

from mialeak.cli import _output

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Does a certificate hold?  Every number is computed again from the counts in the
certificate: exact ones must have the same bits, on whatever processor.
With the files that the report was made from, their salted hashes are compared.
"""

_EPILOG = """\
Exits with 0 if the certificate holds and with 2 if it does not; with 1 if the
file is no certificate, or was changed.

Examples:
  mialeak verify adult.json
  mialeak verify report.json microdata.csv
"""


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "verify",
        help="whether a certificate of a table holds",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("certificate", metavar="CERTIFICATE", help="a file of --certificate")
    parser.add_argument("inputs", metavar="FILE", nargs="*", help="files the report was made from")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print each check; 2 if one fails."""
    options.typed = {"certificate": "CERTIFICATE"}
    from mialeak.certificates import Certificate

    verification = Certificate.load(options.certificate).verify(options.inputs)
    if options.json:
        content = {"holds": verification.holds, **verification.to_dict()}
        _output.print_json("mialeak.verify/1", content)
    else:
        print(verification)
    return 0 if verification.holds else _output.OVER
