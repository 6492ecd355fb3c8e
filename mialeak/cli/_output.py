"""How the subcommands answer: text, JSON, a picture, a page, an exit code, or one line of error.

Errors of the library are put in the words of the shell: the option in place of the argument.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib.util
import io
import json
import math
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mialeak._report.document import Document
    from mialeak._report.report import Panel

__all__ = [
    "LONGEST",
    "OVER",
    "as_typed",
    "check_extras",
    "check_files",
    "check_quiet",
    "give",
    "in_shell",
    "judge",
    "one_line",
    "print_json",
    "shortened",
    "shows_progress",
]

#: Exit code of an answer over its limit, or of a certificate that does not hold.
OVER = 2
#: Exit code of a gate that decides nothing: the input may be misread, or the gate cannot fail.
_UNDECIDED = 3

_CAUTIONED = (
    f"This is undecided, with exit code {_UNDECIDED}: the input may not be what was meant, see the "
    "cautions above. Cure them, or pass --accept-cautions if none of them applies."
)

#: What a gate compares: by its field in the JSON, its name and its value.
Judged = Mapping[str, tuple[str, float]]

#: Dots an inch of a picture.
_DOTS = 150

#: What is not a setting of the answer: where from, where to, and how it is shown.
_NOT_SETTINGS = {
    "app",
    "argv",
    "run",
    "typed",
    "noticed",
    "matched",
    "planned",
    "parts",
    "html",
    "plot",
    "json",
    "certificate",
    "quiet",
}


#: Options that name a file which is read, and those that name one which is written.
_READ = (
    *("file", "inside", "outside", "baseline", "population", "panel", "published", "samples"),
    *("recode", "compose"),
)
_WRITTEN = ("plot", "html", "certificate", "recode_to")


def check_files(options: argparse.Namespace) -> None:
    """Raise ValueError if a file would be written over one that is read, or over the other."""
    read = (getattr(options, name, None) for name in _READ)
    taken = {Path(path).resolve() for path in read if path and isinstance(path, str)}
    for name in _WRITTEN:
        if path := getattr(options, name, None):
            if Path(path).resolve() in taken:
                option = name.replace("_", "-")
                raise ValueError(f"--{option} must be a file of its own; got {path!r}")
            taken.add(Path(path).resolve())


def check_extras(options: argparse.Namespace) -> None:
    """Raise ImportError if what the picture or the page takes is not installed."""
    plot, html = (getattr(options, name, None) for name in ("plot", "html"))
    if plot or html:
        what, extra = ("a page takes Jinja2 and", "report") if html else ("a picture takes", "plot")
        try:
            import matplotlib.figure  # noqa: F401

            if html:
                import jinja2  # noqa: F401
        except ImportError as error:
            message = f'{what} matplotlib: pip install "mialeak[{extra}]"'
            raise ImportError(message) from error


def check_quiet(options: argparse.Namespace) -> None:
    """Raise ValueError if ``--quiet`` has no sentence to print; a plan may have limits."""
    if not getattr(options, "quiet", False):
        return
    names = [name for name in vars(options) if name.startswith("max_")]
    limits = [getattr(options, name, None) for name in (*names, "claimed_epsilon", "baseline")]
    none = options.command != "release" and all(limit is None for limit in limits)
    if options.json or none:
        rule = "not be combined with --json" if options.json else "be given beside a limit"
        raise ValueError(f"--quiet must {rule}: it prints the sentence of the gate")


def judge(subject: str, value: float, limit: float | None) -> tuple[bool, str]:
    """Whether a value is over the limit, if there is one, and a sentence that states it."""
    if limit is None:
        return False, ""
    from mialeak._report.text import at_most

    over, shown = value > limit, at_most(value)
    if over and float(shown) <= limit:
        shown = repr(value)
    relation = "above" if over else "within"
    return over, f"{subject}, {shown}, is {relation} the limit {limit:g}."


def _judged(
    options: argparse.Namespace, schema: str, content: dict[str, Any], judged: Judged
) -> tuple[bool, list[str], list[str]]:
    """Whether a number is above that of the baseline, the sentences that state it, and cautions.

    The numbers are added to the answer for programs.
    """
    from mialeak._report.text import at_most

    content["judged"] = {
        name: {"of": subject, "value": value} for name, (subject, value) in judged.items()
    }
    content["baseline"] = None
    if options.baseline is None:
        return False, [], []
    earlier, columns = _earlier(options.baseline, schema, judged)
    over, sentences = False, []
    for name, (subject, value) in judged.items():
        above, both = value > earlier[name], (value, earlier[name])
        shown = [at_most(number) for number in both]
        if shown[0] == shown[1] and value != earlier[name]:
            shown = [repr(number) for number in both]
        relation = "above" if above else "within"
        sentences.append(
            f"The {subject}, {shown[0]}, is {relation} that of the baseline, {shown[1]}."
        )
        over = over or above
    content["baseline"] = {"file": options.baseline, **earlier, "over": over}
    return over, sentences, _of_other_columns(options.baseline, _columns(content), columns)


def _columns(content: dict[str, Any]) -> list[str]:
    """The names of the columns of an answer for programs, if it has any."""
    columns = content.get("columns")
    if not isinstance(columns, (list, tuple)):
        return []
    return [str(each.get("name") if isinstance(each, dict) else each) for each in columns]


def _of_other_columns(path: str, names: list[str], earlier: list[str]) -> list[str]:
    """A caution for a baseline that has fewer than half of the columns in common."""
    from mialeak._arrays import listed

    shared = set(names) & set(earlier)
    if not names or not earlier or 2 * len(shared) >= max(len(set(names)), len(set(earlier))):
        return []
    return [
        f"The baseline {path!r} is of column {listed(earlier)}, and this release of "
        f"{listed(names)}: they seem to be different tables. Pass the answer of an earlier "
        "release of this one, or a limit."
    ]


def _earlier(path: str, schema: str, judged: Judged) -> tuple[dict[str, float], list[str]]:
    """The numbers of an earlier answer, and the names of its columns."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        kind, known = content["schema"], content["judged"]
    except (ValueError, TypeError, KeyError):
        rule = "what --json printed for an earlier release, with a field `judged`"
        raise ValueError(f"--baseline must be {rule}; got {path!r}") from None
    if kind != schema:
        raise ValueError(f"--baseline must have the schema {schema}; {path!r} has {kind!r}")
    numbers = {}
    for name, (subject, _) in judged.items():
        one = known.get(name) or {}
        if one.get("of") != subject or not isinstance(one.get("value"), (int, float)):
            other = repr(one.get("of", "nothing"))
            raise ValueError(f"--baseline must have judged the {subject}; {path!r} has {other}")
        numbers[name] = float(one["value"])
    return numbers, _columns(content)


def give(
    options: argparse.Namespace,
    document: Document,
    *,
    schema: str,
    content: dict[str, Any],
    title: str,
    panels: Sequence[Panel] = (),
    inputs: Sequence[str | Path] = (),
    verdict: str = "",
    over: bool = False,
    undecided: bool = False,
    source: str = "",
    compared: Sequence[str] = (),
    judged: Judged | None = None,
) -> int:
    """Write and print the answer in the forms that were asked for.

    Parameters
    ----------
    options : Namespace
    document : Document
        The answer for people.
    schema, content : str, dict
        The answer for programs, and the name of its schema.
    title : str
        Of the page.
    panels : sequence of Panel
        Those of the picture, if there is one.
    inputs : sequence of path
        The files that the answer rests on.
    verdict : str
        The sentence of the gate, if there is one.
    over : bool
        Whether the answer is over the limit.
    undecided : bool
        Whether an answer within the limit decides nothing, since none could be over it.  Nor does
        it where the document has cautions, unless the person accepts these.
    source : str
        Whom to thank for an example.
    compared : sequence of str
        What the numbers compare, for the page, where it is not a release with and without a person.
    judged : mapping of str to (str, float), optional
        What a gate compares: by its field in the JSON, its name and its value.

    Returns
    -------
    int
        The exit code.
    """
    if judged is not None:
        above, sentences, others = _judged(options, schema, content, judged)
        document = replace(document, cautions=[*document.cautions, *others])
        if others and "caveats" in content:
            content["caveats"] = [*content["caveats"], *others]
        over, verdict = over or above, "\n".join(filter(None, [verdict, *sentences]))
    if options.quiet and not verdict:
        raise ValueError("--quiet must be given beside a limit: it prints the sentence of the gate")
    undecided = undecided and not over
    accepted = getattr(options, "accept_cautions", False)
    if document.cautions and verdict and not (over or accepted):
        undecided, verdict = True, f"{verdict}\n{_CAUTIONED}"
    if content.get("limit") is not None:
        content["limit"] = {**content["limit"], "undecided": undecided}
    document = replace(document, cautions=[in_shell(each) for each in document.cautions])
    if "caveats" in content:
        content["caveats"] = [in_shell(each) for each in content["caveats"]]
    shown_in = getattr(options, "app", None)
    if options.plot or options.html or shown_in:
        from mialeak._files.states import write_whole
        from mialeak._report.report import drawing

        figures = drawing()
        if options.plot and panels:
            figure = figures.figure_of(panels)
            form = Path(options.plot).suffix.lstrip(".").lower() or None
            write_whole(options.plot, lambda file: figure.savefig(file, format=form, dpi=_DOTS))
        if options.html or shown_in:
            from mialeak._report.page import WORLDS, render_page

            page = render_page(
                document,
                _origin(options, inputs),
                title=title,
                verdict=verdict,
                within=not (over or undecided),
                pictures=figures.pictures_of(panels),
                source=source,
                compared=document.compared or compared or WORLDS,
                **(shown_in.template if shown_in else {}),
            )
            if options.html:
                write_whole(options.html, lambda file: file.write(page.encode()))
            if shown_in:
                shown_in.page = page
    code = OVER if over else _UNDECIDED if undecided else 0
    if options.json:
        print_json(schema, content)
    elif not options.quiet or code:
        from mialeak._report.document import as_text
        from mialeak._report.text import paragraph

        thanks, sentence = (
            "\n".join(line for part in text.splitlines() for line in paragraph(part))
            for text in (source, verdict)
        )
        parts = [sentence] if options.quiet else [as_text(document), thanks, sentence]
        print("\n\n".join(filter(None, parts)))
    return code


def _origin(options: argparse.Namespace, inputs: Sequence[str | Path]) -> Any:
    from mialeak._report.page import Origin, fingerprint

    settings = {name: value for name, value in vars(options).items() if name not in _NOT_SETTINGS}
    return Origin(
        command=shlex.join(["mialeak", *options.argv]),
        inputs={
            each.name: fingerprint(each)
            for path in map(Path, inputs)
            for each in (sorted(path.iterdir()) if path.is_dir() else [path])
            if str(path) != "-" and each.is_file()
        },
        settings=settings,
    )


def shows_progress() -> bool:
    """Whether somebody sees a progress bar: stderr is a terminal, and tqdm is installed."""
    return sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None


def print_json(schema: str, content: dict[str, Any]) -> None:
    """Print `content` as one JSON object that names its schema and the version that made it.

    JSON knows neither infinity nor NaN: null stands for them.
    """
    from mialeak._version import __version__

    named = {"schema": schema, "mialeak": __version__, **content}
    print(json.dumps(_finite(named), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


# --- errors ---------------------------------------------------------------------------------------

#: Advice for Python, and the same for the shell.
_ADVICE = {
    "name it with delimiter": "name it with --delimiter",
    "the format with format": "the format with --format",
    "its format with format": "its format with --format",
    "choose the columns": "choose with --columns",
    "Choose the column of scores": "Choose the column of scores with --score",
    "Leave out exact": "Leave out --exact",
    "noise_std counts": "--noise-std counts",
    "pass suppressed=": "pass --suppressed ",
    "header=False": "--no-header",
    "header=True": "--header",
    "names=['A', 'B', ...]": "--names A,B,...",
    "call one_run_audit(scores, member)": "add --one-run",
    "with higher_is_member=True": "without --lower-is-member",
    "with higher_is_member=False": "with --lower-is-member",
    "pass higher_is_member=False": "pass --lower-is-member",
    "pass higher_is_member=True": "leave out --lower-is-member",
    "Pass higher_is_member=False": "Pass --lower-is-member",
    "Pass higher_is_member=True": "Leave out --lower-is-member",
    "pass independent=False": "leave out --independent",
    "pass it as population=.": "pass it as --population.",
    "as panel, if it describes": "as --panel, if it describes",
    "or as published, if": "or as --published, if",
    "pass strata=,": "pass --strata,",
    "register as population=": "register as --population",
    "margins=['A', 'B']": "--margins A,B",
    "leave counts out": "leave out --counts",
    "leave person out": "leave out --person",
    "without counts: it is about a table of counts. Name counts": (
        "without --counts: it is about a table of counts. Pass --counts"
    ),
    "pass allow_reversed=True": "pass --allow-reversed",
}

_WORD = r"'[^'\\]*'|\"[^\"\\]*\""

#: An argument that is an option of the same name, with its value: one word, or a list of them.
_ARGUMENT = re.compile(
    r"\b(categories|counts|exclude|missing|na|person|total|unmatched)="
    rf"({_WORD}|\[(?:{_WORD})(?:, (?:{_WORD}))*\])"
)

#: The counts of marks, as Python writes a dict of them.
_MARKS = re.compile(r"\bsuppressed=(\{[^{}]*\})")

#: Characters that an error has at most.
LONGEST = 600


def one_line(error: BaseException) -> str:
    """The message of the error, without line breaks."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "not enough memory"
    return " ".join(str(error).split())


def shortened(line: str) -> str:
    """A line of at most `LONGEST` characters: its middle is left out, its end may be the cure."""
    if len(line) <= LONGEST:
        return line
    end = LONGEST // 2
    return f"{line[: LONGEST - end - 5]} ... {line[-end:]}"


def in_shell(text: str) -> str:
    """`text` with the options of the shell in place of the arguments of Python.

    ``pass exclude=['id', 'name']`` becomes ``pass --exclude id,name``.
    """
    text = _MARKS.sub(_as_marks, text)
    for ours, theirs in _ADVICE.items():
        text = text.replace(ours, theirs)
    return _ARGUMENT.sub(_as_option, text)


def _as_marks(match: re.Match[str]) -> str:
    marks = ",".join(f"{mark}={count}" for mark, count in ast.literal_eval(match[1]).items())
    return f"--suppressed={shlex.quote(marks)}"


def _as_option(match: re.Match[str]) -> str:
    value = ast.literal_eval(match[2])
    words = value if isinstance(value, list) else [value]
    if match[1] not in {"counts", "person"}:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="").writerow(words)
        words = [stream.getvalue()]
    quoted = shlex.quote(words[0])
    if quoted.endswith("."):  # not that of the sentence
        quoted = f"'{quoted}'"
    is_option = re.fullmatch(r"-(?!\d+$|\d*\.\d+$).+", words[0]) is not None  # to argparse
    return f"--{match[1]}{'=' if is_option else ' '}{quoted}"


def as_typed(error: BaseException, typed: Mapping[str, str]) -> str:
    """The message of the error on one line, with the option in place of the argument.

    The message of the library is ``columns must ...; got columns[1] = 'agee'``, in parts (see
    :class:`mialeak._arrays.Fault`); that of the shell, for ``--columns``, is ``--columns must ...;
    got 'agee'``.

    Parameters
    ----------
    error : BaseException
    typed : mapping of str to str
        The option that each argument came from.
    """
    message = one_line(error)
    fault = getattr(error, "fault", None)
    if fault is not None and fault.argument in typed:
        message = " ".join(fault.sentence(typed[fault.argument]).split())
    if "columns" not in typed:
        message = message.replace(", or choose the columns", "")
    if "names" not in typed:  # a command that has no options for the header of a CSV
        from mialeak._files.delimited import HEADER_ADVICE

        message = message.replace(HEADER_ADVICE, "Write a line with a name above the data")
    return in_shell(message)
