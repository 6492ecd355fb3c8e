"""``mialeak app``: the question of ``mialeak table`` as a form, in a browser on this machine."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from mialeak.cli import _options

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Opens a page in the browser: choose a file, choose columns, and read what
publishing their counts leaks, what each column adds, and what recodings and
protections leave.  Every answer shows the command that gives it again.

The page is served to this machine alone (127.0.0.1) and loads nothing from any
network.  Files are copied to a temporary folder, which is removed at the end.
"""

_EPILOG = """\
Examples:
  mialeak app
  mialeak app --port 8123 --no-browser
"""

#: Megabytes of a file and of a register.
_LARGEST = 500


def add_parser(commands: Any, command: Any) -> None:
    """Describe the subcommand; `command` runs another one."""
    parser = commands.add_parser(
        "app",
        help="the question of mialeak table as a page in the browser",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add(
        "--port",
        type=_options.whole(0),
        default=0,
        metavar="P",
        help="port on 127.0.0.1 (default: a free one)",
    )
    add("--no-browser", action="store_true", help="print the address, open no browser")
    add(
        "--largest",
        type=_options.whole(1),
        default=_LARGEST,
        metavar="MB",
        help=f"refuse larger uploads, in megabytes (default: {_LARGEST})",
    )
    parser.set_defaults(run=run, command_runner=command)


def run(options: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    options.typed = {"port": "--port"}
    try:
        import jinja2  # noqa: F401
        import matplotlib.figure  # noqa: F401
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        extra = 'pip install "mialeak[app]"'
        raise ImportError(
            f"the page takes {error.name}, which is not installed: {extra}"
        ) from error
    import socket
    import tempfile
    import webbrowser
    from pathlib import Path

    from mialeak.cli._app_server import application

    with socket.socket() as listener, tempfile.TemporaryDirectory(prefix="mialeak-") as folder:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", options.port))
        except (OSError, OverflowError) as error:
            raise ValueError(f"--port must be a free port; got {options.port} ({error})") from error
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        print(f"mialeak is at {address} (Ctrl-C ends it)", file=sys.stderr, flush=True)
        if not options.no_browser:
            webbrowser.open(address)
        served = application(Path(folder), options.command_runner, largest=options.largest * 10**6)
        settings = uvicorn.Config(served, log_level="warning", access_log=False)
        uvicorn.Server(settings).run(sockets=[listener])
    return 0
