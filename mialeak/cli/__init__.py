"""The shell command ``mialeak``: one file a subcommand, and what they share.

``mialeak info`` alone is here: what this installation computes with.

A subcommand is a module with ``add_parser(subparsers)``, which describes it without importing
anything heavy, and ``run(options)``, which prints the answer and returns the exit code.

Exit codes: 0 within the limit (or no limit given), 2 over it, 3 where that decides nothing (the
report has cautions, or so few scores could prove no more), 1 for every error, usage included, with
one line on stderr; 130 when interrupted.  ``audit --claimed-epsilon`` exits with 2 where the claim
is refuted, and with 3 where it is not testable.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

from mialeak._version import __version__
from mialeak.cli import _output, app, audit, curve, mean, release, table, verify

__all__ = ["main"]

_EPILOG = """\
Examples:
  mialeak table --example adult
  mialeak mean --example genotypes --html report.html
  mialeak release plan.toml
  mialeak table --help

Exit code: 0 within the limit (or none given), 2 over it, 3 undecided,
1 for an error.
"""

_INFO_EXAMPLES = """\
Examples:
  mialeak info
  MIALEAK_ISA=sse2 mialeak info --json
"""

_ERROR = 1
_INTERRUPTED = 130


class _UsageError(ValueError):
    """A usage error of argparse, raised in place of its exit."""


class _Store(argparse.Action):
    """Stores the value of an option that is given once: a second one would replace the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = vars(namespace).setdefault("_given", [])
        if option_string and self in given:
            parser.error(f"{option_string} is given twice: write it once, with all of its values")
        given.append(self)
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, and takes no abbreviated options."""

    def __init__(self, **settings: Any) -> None:
        layout = argparse.RawDescriptionHelpFormatter
        super().__init__(**settings, allow_abbrev=False, formatter_class=layout)
        for name in (None, "store"):
            self.register("action", name, _Store)

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (--\S+): must ", r"\1 must ", message)
        message = re.sub(
            r"^argument (--\S+): expected one argument$",
            r"\1 must have a value; one that begins with - stands behind =, as in \1=-x",
            message,
        )
        raise _UsageError(f"{message} (see {self.prog} --help)")


#: A list that begins with a number below 0, and an option before its value.
_NUMBERS, _OPTION = re.compile(r"-\.?\d[^,=]*,.*"), re.compile(r"--[a-z][a-z-]*")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the arguments `argv` (those of the process by default).

    Returns
    -------
    int
        The exit code.  Only ``--help`` and ``--version`` exit by themselves, with 0.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what the terminal cannot write
            stream.reconfigure(errors="backslashreplace")
    code, line = _run(argv, argparse.Namespace())
    if line:
        print(line, file=sys.stderr)
    return code


def _run(argv: Sequence[str] | None, options: argparse.Namespace) -> tuple[int, str]:
    """The exit code of a command, and the line that states what is wrong with it."""
    try:
        _parse(argv, options)
        _output.check_files(options)
        _output.check_extras(options)
        _output.check_quiet(options)
        code: int = options.run(options)
        print(end="", flush=True)  # into nothing where there is no stdout
    except BrokenPipeError:
        # The reader has closed the pipe: write nothing more, not even when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _ERROR, ""
    except KeyboardInterrupt:
        return _INTERRUPTED, "mialeak: interrupted"
    except (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError) as error:
        message = _output.as_typed(error, getattr(options, "typed", {}))
        return _ERROR, f"mialeak: error: {_output.shortened(_shown(message))}"
    return code, ""


def _shown(message: str) -> str:
    """The message with nothing in it that a terminal would obey; a file may be called anything."""
    lines = message.split("\n")
    return "\n".join(
        "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in lines
    )


def _parse(argv: Sequence[str] | None, options: argparse.Namespace) -> None:
    """Set what was typed, or the defaults, on `options`."""
    options.argv = list(sys.argv[1:] if argv is None else argv)
    # argparse drops a value that is --, which names skip the space before.
    typed = [re.sub(r"^(--[a-z-]+=)--$", r"\1 --", word) for word in options.argv]
    # argparse takes -9 for a value, and -3,-7 for an option.
    for place in range(len(typed) - 1, 0, -1):
        if _NUMBERS.fullmatch(typed[place]) and _OPTION.fullmatch(typed[place - 1]):
            typed[place - 1 : place + 1] = [f"{typed[place - 1]}={typed[place]}"]
    _, unknown = _parser().parse_known_args(typed, options)
    vars(options).pop("_given", None)
    if unknown:
        usage = f"see mialeak {options.command} --help"
        raise _UsageError(f"unrecognized arguments: {' '.join(unknown)} ({usage})")


@cache
def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mialeak",
        description="How much does a release leak about who was in the data?",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"mialeak {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    table.add_parser(commands)
    mean.add_parser(commands)
    release.add_parser(commands)
    audit.add_parser(commands)
    curve.add_parser(commands)
    verify.add_parser(commands)
    app.add_parser(commands, _run)
    _add_info(commands)
    return parser


def _add_info(commands: Any) -> None:
    """Describe ``mialeak info``."""
    parser = commands.add_parser(
        "info",
        help="versions, kernel in use, BLAS, processors",
        description="Versions, the kernel in use, BLAS and processors: for a bug report.",
        epilog=_INFO_EXAMPLES,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_info)


def _info(options: argparse.Namespace) -> int:
    """Print the configuration."""
    from mialeak._config import show_config

    if options.json:
        _output.print_json("mialeak.info/1", show_config(mode="dicts") or {})
    else:
        show_config()
    return 0
