"""The report as a page: whole, self-contained, accessible, and the same bytes each time."""

from __future__ import annotations

import hashlib
import html.parser
import json
import re
import sys

import pytest

from mialeak._report.document import Document, Notes, Pairs, Section, Table, as_text
from mialeak._report.figure import Picture
from mialeak._report.page import Origin, fingerprint, render_page
from mialeak.cli import main

HOSTILE = "<script>alert(\"x\")</script> & 'y'"

DOCUMENT = Document(
    f"The answer is 0.5, says {HOSTILE}.",
    [
        Section("Leakage", [Pairs([("0.5", "on average"), ("1", HOSTILE)]), Notes(["A caveat."])]),
        Section("Rows", [Table(("row", "name"), [("1", HOSTILE), ("22", "b")], left=1)]),
        Section("Silence", [Notes([])]),
    ],
)
ORIGIN = Origin("mialeak table x.csv", {"x.csv": "ab" * 32}, {"n": None, "top": 10})

VOID = {"meta", "img", "br", "link", "input", "hr"}
LANDMARKS = {"header", "main", "footer"}


class Page(html.parser.HTMLParser):
    """The elements of a page; an error if they are not nested."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1:] != ["style"]:
            self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def page(**more):
    return Page(render_page(DOCUMENT, ORIGIN, title="What leaks", **more))


def test_the_page_says_what_the_text_says():
    found = " ".join("".join(page().words).split())
    for word in as_text(DOCUMENT).split():
        assert word in found


def test_values_are_text_and_never_markup():
    found = page(verdict=HOSTILE, source=HOSTILE)
    assert not found.named("script")
    assert "".join(found.words).count(HOSTILE) == 5


def test_a_page_needs_no_network():
    for tag, attributes in page(pictures=[Picture(b"<svg/>", "A line.")]).elements:
        assert tag not in {"script", "link", "iframe"}
        for name in ("src", "href"):
            assert (attributes.get(name) or "data:").startswith("data:")


def test_a_page_has_landmarks_headings_and_words_for_pictures():
    found = page(pictures=[Picture(b"<svg/>", "A line.")])
    assert {tag for tag, _ in found.elements} >= LANDMARKS
    assert found.named("html")[0]["lang"] == "en"
    assert [image["alt"] for image in found.named("img")] == ["A line."]
    assert len(found.named("h1")) == 1
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for _, attributes in found.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids
    for head in found.named("th"):
        assert head["scope"] == "col"
    # What scrolls on a phone can be reached by the keyboard.
    scrolling = [part for part in found.named("div") if part["class"] == "wide"]
    assert scrolling
    for part in scrolling:
        assert part["tabindex"] == "0"


def test_cautions_stand_before_the_answer():
    document = Document("The answer.", [], cautions=["Beware.", HOSTILE])
    found = Page(render_page(document, ORIGIN, title="What leaks"))
    kinds = [(part.get("class"), part.get("role")) for part in found.named("p")[:3]]
    assert kinds == [("verdict over", "note"), ("verdict over", "note"), ("answer", None)]
    words = "".join(found.words)
    assert words.index("Caution: Beware.") < words.index(HOSTILE) < words.index("The answer.")
    assert as_text(document).startswith("Caution: Beware.\n\nCaution: <script>")


def test_settings_that_were_not_given_are_left_out():
    words = "".join(page().words)
    assert "top = 10" in words
    assert "= None" not in words
    assert ORIGIN.settings_hash in words


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    light = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


def test_words_stand_out_from_the_page_by_day_by_night_and_on_paper():
    """WCAG 2.2: a contrast of at least 4.5, and of 3 for the bar of a verdict."""
    text = render_page(DOCUMENT, ORIGIN, title="What leaks")
    schemes = re.findall(r":root \{([^}]*)\}", text)
    assert len(schemes) == 3
    colours: dict[str, float] = {}
    for scheme in schemes:
        found = re.findall(r"--(\w+): #(\w+)", scheme)
        colours |= {name: luminance(colour) for name, colour in found}
        for word, least in {"ink": 4.5, "soft": 4.5, "good": 3, "bad": 3}.items():
            for ground in ("paper", "tint"):
                low, high = sorted((colours[word], colours[ground]))
                if word in dict(found):
                    assert (high + 0.05) / (low + 0.05) >= least


def test_words_of_a_table_are_flush_left_and_numbers_right():
    kinds = [attributes.get("class") for attributes in page().named("td")]
    assert kinds == [None, "word", None, "word"]


@pytest.mark.parametrize(("within", "kind"), [(True, "verdict"), (False, "verdict over")])
def test_a_verdict_stands_at_the_head(within, kind):
    assert page().named("p")[0]["class"] == "answer"
    assert page(verdict="It is over.", within=within).named("p")[1]["class"] == kind


def test_hashes_are_those_of_the_bytes(tmp_path):
    file = tmp_path / "x.csv"
    file.write_bytes(b"a,b\n" * 1_000_000)
    assert fingerprint(file) == hashlib.sha256(b"a,b\n" * 1_000_000).hexdigest()
    settings = json.dumps({"n": None, "top": 10}, sort_keys=True).encode()
    assert ORIGIN.settings_hash == hashlib.sha256(settings).hexdigest()
    swapped = Origin("", {}, {"top": 10, "n": None})
    assert swapped.settings_hash == ORIGIN.settings_hash


def test_without_jinja_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'takes Jinja2: pip install "mialeak\[report\]"'):
        render_page(DOCUMENT, ORIGIN, title="What leaks")


@pytest.mark.parametrize(
    "arguments",
    [
        ("table", "{csv}", "--columns", "a,b"),
        ("table", "{csv}", "--margins", "a,b,a*b", "--max-leakage", "0.9"),
        ("mean", "{csv}", "--noise-std", "0.1", "--max-leakage", "1"),
        ("curve", "--mu", "1.5", "--rate", "0.1"),
    ],
)
def test_the_shell_writes_the_same_page_twice(arguments, tmp_path, capsys):
    rows = [f"{i % 7},{'xyz'[i * i % 3]}" for i in range(300)]
    file = tmp_path / "people.csv"
    file.write_text("a,b\n" + "\n".join(rows) + "\n")
    out = tmp_path / "page.html"
    arguments = [argument.format(csv=file) for argument in arguments] + ["--html", str(out)]
    pages = []
    for _ in range(2):
        assert main(arguments) == 0
        pages.append(out.read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    found = Page(pages[0])
    assert capsys.readouterr().out.split()[0] in "".join(found.words)
    assert (fingerprint(file) in "".join(found.words)) == (str(file) in arguments)
    assert "--html" in "".join(found.words)
    assert all(image["alt"].endswith(".") for image in found.named("img"))
    assert len({image["src"] for image in found.named("img")}) == 2


@pytest.mark.parametrize("module", ["jinja2", "matplotlib.figure"])
def test_what_a_page_takes_is_told_before_the_work(module, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["table", "none.csv", "--html", "page.html", "--plot", "plot.png"]) == 1
    message = 'a page takes Jinja2 and matplotlib: pip install "mialeak[report]"'
    assert capsys.readouterr().err == f"mialeak: error: {message}\n"


def test_a_page_that_cannot_be_written_is_one_line_on_stderr(tmp_path, capsys):
    target = tmp_path / "none" / "page.html"
    assert main(["table", "--example", "adult", "--html", str(target)]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "page.html" in captured.err
    assert not captured.out


def test_a_page_overwrites_no_file_of_data(tmp_path, capsys):
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,x\n")
    assert main(["table", str(data), "--html", str(data)]) == 1
    assert "must end in .html or .htm" in capsys.readouterr().err
    assert data.read_text() == "a,b\n1,x\n"
