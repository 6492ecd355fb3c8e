"""The pages of ``mialeak app``: an ASGI application that runs ``mialeak table`` for each question.

Nothing is computed here and nothing is worded here but the form: an answer is the page of the
shell's report, and an error the shell's line.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import re
import secrets
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import FormData, QueryParams, UploadFile
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mialeak.cli import _options
from mialeak.cli._app_form import CHOICES, PROTECTIONS, Question, arguments
from mialeak.cli.table import EXAMPLES

__all__ = ["application"]

#: Runs a line of the shell: arguments and options, exit code and line of the error.
Command = Callable[[list[str], argparse.Namespace], tuple[int, str]]

_HOSTS = ["127.0.0.1", "localhost"]
#: Nothing is loaded from anywhere, nothing is run, nothing is kept.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_TITLE = "What does publishing a table of counts leak?"
#: Options of the reader, without which nothing is known of the columns.
_UNREAD = {"format": None, "delimiter": None, "header": None, "names": None, "missing": None}


@dataclass(frozen=True)
class _Held:
    """The files of a question, in a folder of their own; no file for the example.

    `made` is the folder of what is made for a download.
    """

    folder: Path
    made: Path
    file: str = ""
    register: str = ""


@dataclass
class _Shown:
    """Where the report of the shell goes: the page, and what its template takes."""

    template: dict[str, Any] = field(default_factory=dict)
    page: str = ""


def application(folder: Path, command: Command, *, largest: int) -> Starlette:
    """The pages.

    Parameters
    ----------
    folder : Path
        Where uploads are kept.
    command : callable
        Runs a line of the shell.
    largest : int
        Bytes of an upload, above which it is refused.
    """
    pages = _Pages(folder, command, largest)
    return Starlette(
        routes=[
            Route("/", pages.start),
            Route("/files", pages.take, methods=["POST"]),
            Route("/ask/{token}", pages.answer),
            Route("/ask/{token}/report.html", pages.report),
            Route("/ask/{token}/recoding.csv", pages.recoding),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS),
            Middleware(BaseHTTPMiddleware, dispatch=_guarded),
        ],
    )


async def _guarded(request: Request, answer: Callable[[Request], Any]) -> Response:
    """Refuse what another page posts, and add the headers."""
    origin = request.headers.get("origin")
    if request.method != "GET" and origin not in (
        None,
        f"{request.url.scheme}://{request.url.netloc}",
    ):
        return Response("The page must be opened at its own address.", 403)
    response: Response = await answer(request)
    response.headers.update(_HEADERS)
    return response


class _Pages:
    """The pages, and the files that they are about; one question is computed at a time."""

    def __init__(self, folder: Path, command: Command, largest: int) -> None:
        self._folder, self._command, self._largest = folder, command, largest
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def start(self, request: Request) -> Response:
        """The first page: which file."""
        return self._blank("")

    async def take(self, request: Request) -> Response:
        """Keep the files that were chosen, and go to their form."""
        size = request.headers.get("content-length", "")
        if not size.isdecimal() or int(size) > self._largest:
            rule = f"Files must be at most {self._largest / 1e6:,.0f} MB together"
            got = f"; these are {int(size) / 1e6:,.0f} MB" if size.isdecimal() else ""
            cure = "Start mialeak app with --largest, or call mialeak table in a shell."
            return self._blank(f"{rule}{got}. {cure}", 413)
        async with request.form(max_files=2, max_fields=2) as form:
            token = secrets.token_urlsafe(16)
            folder, made = (self._folder / token / name for name in ("files", "made"))
            folder.mkdir(parents=True)
            made.mkdir()
            file = "" if "example" in form else _kept(form, "file", folder)
            register = _kept(form, "register", folder)
            if not file and "example" not in form:
                shutil.rmtree(folder.parent)
                return self._blank("Choose a file, or take the example.", 400)
        self._held[token] = _Held(folder, made, file, register)
        return RedirectResponse(f"/ask/{token}", 303)

    def answer(self, request: Request) -> Response:
        """The form and, once it was sent, the answer."""
        held = self._held.get(request.path_params["token"])
        if held is None:
            return self._blank("Choose the file again: these were dropped when the app ended.", 404)
        asked = request.query_params
        template = {**self._form(held, asked), "path": request.url.path}
        if "ask" not in asked:
            return _page(template, template["error"])
        return self._asked(held, asked, template)

    def report(self, request: Request) -> Response:
        """The report as a file."""
        held = self._held.get(request.path_params["token"])
        if held is None:
            return self._blank("Choose the file again.", 404)
        answer = self._asked(held, request.query_params, {})
        return _attached(answer, "report.html")

    def recoding(self, request: Request) -> Response:
        """The recode table of the plan as a file."""
        held = self._held.get(request.path_params["token"])
        if held is None:
            return self._blank("Choose the file again.", 404)
        path = held.made / "recoding.csv"
        path.unlink(missing_ok=True)
        answer = self._asked(held, request.query_params, {}, more=["--recode-to", str(path)])
        if answer.status_code != 200 or not path.exists():
            return answer
        return _attached(Response(path.read_bytes(), media_type="text/csv"), path.name)

    def _asked(
        self, held: _Held, asked: QueryParams, template: dict[str, Any], more: Any = ()
    ) -> Response:
        """The page with the answer of the shell, or with its error; without a form if none."""
        form = template or self._form(held, asked)
        try:
            line = arguments(_question(held, asked, form["names"]), held.file)
        except ValueError as error:
            return _page(form, str(error))
        if form["error"]:
            return _page(form, form["error"])
        shown = _Shown(template)
        _, refusal = self._run([*line, *more], held.folder, shown)
        if refusal:
            return _page(form, refusal.removeprefix("mialeak: error: "))
        return HTMLResponse(shown.page)

    def _run(self, line: list[str], folder: Path, shown: _Shown) -> tuple[int, str]:
        with self._lock, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            return self._command(line, argparse.Namespace(app=shown))

    def _form(self, held: _Held, asked: QueryParams) -> dict[str, Any]:
        """What the template of the form takes; its error is what is wrong with the file."""
        error, names = "", []
        try:
            names = self._names(held, asked)
        except (ValueError, TypeError, OSError, ImportError) as caught:
            error = str(caught)
        first = names if held.file else EXAMPLES["adult"]
        marked = asked.getlist("columns") if "ask" in asked else first
        return {
            "template": "app.html",
            "file": held.file or "Adult: 32,561 people of the 1994 US census sample",
            "register": held.register,
            "names": names,
            "marked": set(marked),
            "asked": asked,
            "choices": CHOICES,
            "protections": PROTECTIONS,
            "stamp": _stamp(asked),
            "error": error,
        }

    def _names(self, held: _Held, asked: QueryParams) -> list[str]:
        """The names of the columns of the file."""
        if not held.file:
            from mialeak.datasets import load_adult

            return list(load_adult().columns)
        names: list[str] = []

        def first(every: Any) -> list[str]:
            names.extend(every)
            return names[:1]

        given = {name: asked.get(name) or None for name in ("delimiter", "names")}
        with self._lock, contextlib.chdir(held.folder):
            options = argparse.Namespace(**{**_UNREAD, **given, "file": held.file})
            _options.read_file(options, first, whole=False)
        return names

    def _blank(self, error: str, status: int = 200) -> Response:
        return _page({"template": "app.html", "names": None}, error, status)


def _question(held: _Held, asked: QueryParams, names: list[str]) -> Question:
    accepted = {"accept": "1" if asked.get("accept") == _stamp(asked) else ""}
    return Question(
        lambda name: accepted.get(name, (asked.get(name) or "").strip()),
        asked.getlist("columns"),
        names,
        held.register,
    )


def _stamp(asked: QueryParams) -> str:
    """What accepts the cautions of the answer to this question, and of no other."""
    fields = sorted((name, value) for name, value in asked.multi_items() if value)
    words = [pair for pair in fields if pair[0] != "accept"]
    return hashlib.sha256(repr(words).encode()).hexdigest()[:16]


def _kept(form: FormData, field: str, folder: Path) -> str:
    """The name under which an upload is kept in the folder; an empty one if there is none."""
    upload = form.get(field)
    if not isinstance(upload, UploadFile) or not upload.filename:
        return ""
    name = re.sub(r"[^\w.()+ -]", "_", re.split(r"[\\/]", upload.filename)[-1])[-100:]
    name = re.sub(r"^[-. ]+", "_", name)
    if (folder / name).exists():
        name = f"{field}-{name}"
    with open(folder / name, "xb") as file:
        shutil.copyfileobj(upload.file, file)
    return name


def _page(template: dict[str, Any], error: str, status: int = 200) -> Response:
    """A page without an answer."""
    from mialeak._report.page import render_page

    template = {**template, "template": "app.html", "error": error}
    page = render_page(None, title=_TITLE, **template)
    return HTMLResponse(page, 400 if error and status == 200 else status)


def _attached(answer: Response, name: str) -> Response:
    """The same as a file to keep, unless it is an error."""
    if answer.status_code == 200:
        answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
