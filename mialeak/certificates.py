"""Certificates: the leakage of a table with all that it takes to compute it again.

A certificate holds how many cells have which count, the question and the answer, and no value of a
person.  Anybody can verify it without the table: the numbers are computed again from the counts, on
whatever processor verifies, and exact ones must have the same bits.  A program of its own,
``docs/verify_certificate.py`` in the repository, does the same with mpmath alone.

A certificate is no signature: who holds a table of other counts can make a valid certificate of
that one.  Whoever has the table verifies that it is the one, by the salted hash of its file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import MAX_COUNT, invalid, unsupported
from mialeak._files.states import as_paths, write_whole
from mialeak._results import Kind, Result
from mialeak._version import __version__
from mialeak.discrete import max_leakage
from mialeak.populations import Register
from mialeak.special import binom_mad, binom_sf, hypergeom_logpmf, hypergeom_mad
from mialeak.tables import TableReport, estimate_max_leakage

__all__ = ["Certificate", "Check", "Verification", "certify"]

_SCHEMA = "mialeak.certificate/1"
#: Relative error of exact numbers in eps: of the kernels, and of rounding each frequency once.
_KERNEL, _ROUNDING = 8.0, 4.0
#: Relative difference of estimates that rounding explains: they promise digits, not bits.
_SAME_ESTIMATE = 1e-6
_ENDS = ("value", "low", "high")
#: A certificate is read whole; one of a million distinct counts is smaller.
_MOST_BYTES, _MOST_CELLS = 2**26, 10**8
_CHUNK = 2**20

_ENDLESS = "endless"
_PEOPLE = "people of whom the number is known"
_REGISTER = "a register of which all cells are known"
_POPULATIONS = (_ENDLESS, _PEOPLE, _REGISTER)

_WORLDS = (
    "Out: all rows are drawn from the population. In: one of them is the person asked about. Both "
    "worlds have the same number of rows.",
    "Leakage is the best attacker's advantage, for a random person of the population: the share of "
    "members recognised less the share of others taken for members.",
    "The attacker knows the population, the person and the published counts, not the other rows.",
)


@dataclass(frozen=True, repr=False)
class Check(Result):
    """One thing that a verification compared.

    Attributes
    ----------
    name : str
        What was compared: "bytes", "kernels", "inputs", or the name of a number.
    passed : bool
    text : str
        What was compared with what, and the outcome.
    kind : str
        "exact".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> from mialeak.certificates import certify
    >>> report = table_leakage({"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400})
    >>> certify(report).verify().checks[3]
    Check(name='plug_in', passed=True, text='plug_in, exact: the same bits', kind='exact')
    """

    name: str
    passed: bool
    text: str
    kind: Kind = "exact"


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """The outcome of verifying a certificate.

    Attributes
    ----------
    checks : tuple of Check
    kind : str
        "exact".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> from mialeak.certificates import certify
    >>> report = table_leakage({"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400})
    >>> print(certify(report).verify())
    passed  digest of the content: the same
    passed  answers of the kernels to a fixed list of questions: the same
    passed  question, assumptions and counts: the same
    passed  plug_in, exact: the same bits
    passed  leakage, an estimate: agrees
    <BLANKLINE>
    The certificate holds.
    """

    checks: tuple[Check, ...]
    kind: Kind = "exact"

    @property
    def holds(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        lines = [f"{'passed' if check.passed else 'FAILED'}  {check.text}" for check in self.checks]
        verdict = "The certificate holds." if self.holds else "The certificate does NOT hold."
        return "\n".join([*lines, "", verdict])


@dataclass(frozen=True, repr=False, eq=False)
class Certificate:
    """What :func:`certify` makes: the leakage of a table, with the counts it was computed from.

    Attributes
    ----------
    content : dict
        What the file holds, as JSON values: "question", "assumptions", "counts", "numbers" with
        their kinds and enclosures, "inputs" as salted hashes, "kernels", "mialeak" and "digest".

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> from mialeak.certificates import certify
    >>> report = table_leakage({"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400})
    >>> certificate = certify(report)
    >>> certificate.content["counts"]
    {'sizes': [200], 'cells': [6]}
    >>> certificate.verify().holds
    True
    """

    content: Mapping[str, Any]

    def text(self) -> str:
        """The file's text: JSON in one canonical form."""
        return json.dumps(self.content, indent=1, ensure_ascii=True) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file.

        Parameters
        ----------
        path : str or path
            The file; one that exists is replaced.
        """
        write_whole(path, lambda file: file.write(self.text().encode("ascii")))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            If the file is no certificate of this version, or was changed: it must have the very
            bytes that were saved.
        OSError
            If the file cannot be read.
        """
        with open(path, "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        name = os.fspath(path)
        if len(raw) > _MOST_BYTES:
            invalid("certificate", f"have at most {_MOST_BYTES:,} bytes", value=name)
        try:
            content = json.loads(raw.decode("ascii"))
        except (ValueError, RecursionError) as error:
            why = f"hold a certificate as JSON; {name!r} does not: {str(error)[:80]}"
            invalid("certificate", why, remedy="It was damaged or changed")
        if not isinstance(content, dict) or content.get("schema") != _SCHEMA:
            invalid("certificate", f"have the schema {_SCHEMA}; {name!r} does not")
        certificate = cls(content)
        if certificate.text().encode("ascii") != raw or _digest(content) != content.get("digest"):
            rule = f"have the bytes that were saved; {name!r} was changed"
            invalid("certificate", rule, remedy="Ask for the file that was made")
        return certificate

    def verify(self, inputs: Iterable[str | os.PathLike[str]] = ()) -> Verification:
        """Compute every number again and compare.

        Parameters
        ----------
        inputs : iterable of path, optional
            The files that the report was made from, in any order: their salted hashes are compared
            too.

        Returns
        -------
        Verification
            Exact numbers must have the same bits, estimates agree to six digits, the kernels give
            the same answers to a fixed list of questions, and the digest be that of the content.

        Raises
        ------
        ValueError
            If the content is no question that a certificate answers.
        OSError
            If an input cannot be read.
        """
        content = self.content
        again = _content(_question_of(content), _counts_of(content), content["salt"], {})
        if more := sorted(set(content) - set(again)):
            invalid("certificate", "have nothing that is not computed again", value=more[0])
        checks = [_same("bytes", _digest(content), content.get("digest"), "digest of the content")]
        kernels = "answers of the kernels to a fixed list of questions"
        checks.append(_same("kernels", again["kernels"], content.get("kernels"), kernels))
        words = {name: again[name] for name in ("question", "assumptions", "counts")}
        stated = {name: content.get(name) for name in words}
        checks.append(_same("question", words, stated, "question, assumptions and counts"))
        stated_numbers, computed = content.get("numbers"), again["numbers"]
        if not isinstance(stated_numbers, list) or len(stated_numbers) != len(computed):
            return Verification((*checks, Check("numbers", False, "the list of numbers")))
        checks += [
            _check_of(here, there) for here, there in zip(stated_numbers, computed, strict=True)
        ]
        for path in as_paths(inputs, "inputs"):
            named = salted_hash(path, content["salt"]) in content["inputs"].values()
            text = f"{Path(path).name}: {'an' if named else 'not an'} input of the report"
            checks.append(Check("inputs", named, text))
        return Verification(tuple(checks))

    def __repr__(self) -> str:
        numbers = {each["name"]: float.fromhex(each["value"]) for each in self.content["numbers"]}
        shown = ", ".join(f"{name}={value:.6g}" for name, value in numbers.items())
        return f"Certificate({shown})"


def certify(report: TableReport, *, inputs: Iterable[str | os.PathLike[str]] = ()) -> Certificate:
    """The certificate of a report on a table.

    Parameters
    ----------
    report : TableReport
        What :func:`mialeak.table_leakage` returns, for the joint counts of a table, with or without
        a register or the number of its people.
    inputs : iterable of path, optional
        The files that the table and the register came from.  Their SHA-256 with a salt goes into
        the certificate, so that whoever has the files can compare, and nobody else learns from the
        hash whether a guessed file is the one without trying it.

    Returns
    -------
    Certificate

    Raises
    ------
    TypeError
        If `report` is no report on a table, or `inputs` one path.
    ValueError
        For margins, strata, a panel or persons with several rows, whose answers follow from more
        than the sizes of cells.
    OSError
        If an input cannot be read.

    Notes
    -----
    The certificate holds the number of cells of each size and no value of a column.  Sizes of cells
    are published with the counts themselves; do not publish a certificate of a table that is not.

    **Accuracy.**  The enclosure of an exact number holds rounding of the kernels and of the
    frequencies: about 3e-15 relative unless one cell holds nearly all rows, 2e-15 with a register.

    **Cost.**  That of :func:`mialeak.max_leakage` and :func:`mialeak.estimate_max_leakage`.

    Examples
    --------
    >>> from mialeak import table_leakage
    >>> from mialeak.certificates import certify
    >>> certify(table_leakage({"sex": ["f", "m"] * 600, "age": [20, 30, 40] * 400}))
    Certificate(plug_in=0.0257405, leakage=0.0258869)
    """
    if not isinstance(report, TableReport):
        rule = "be what table_leakage returns"
        invalid("report", rule, value=type(report).__name__, error=TypeError)
    register = report.population
    others = [name for name in ("margins", "panel", "persons") if getattr(report, name) is not None]
    if others or (register is not None and register.strata):
        why = "what they leak follows from more than the sizes of cells"
        case = f"with {[*others, 'strata'][0]}"
        unsupported("report", case, why, "Certify the report on the joint counts")
    rules = map(str, report.recoding.rules if report.recoding else ())
    coarser = {name: f"{name} (recoded)" for name in rules}
    question = {
        "columns": [coarser.get(name, name) for name in map(str, report.columns)],
        "population": _population_of(report),
        "people": report.people,
        "rows": report.rows,
        "n": report.n if register is None else register.n,
        "confidence": report.estimate.confidence if register is None else None,
    }
    sizes = report.cell_counts if register is None else register.register_cells
    salt = secrets.token_hex(16)
    hashes: dict[str, str] = {}
    for path in map(Path, as_paths(inputs, "inputs")):
        name = path.name if path.name not in hashes else f"{path.name} ({len(hashes) + 1})"
        hashes[name] = salted_hash(path, salt)
    return Certificate(_content(question, np.asarray(sizes, np.int64), salt, hashes))


def _population_of(report: TableReport) -> str:
    known = _ENDLESS if report.people is None else _PEOPLE
    return known if report.population is None else _REGISTER


def salted_hash(path: str | os.PathLike[str], salt: str) -> str:
    """SHA-256 of the salt and the bytes of a file."""
    digest = hashlib.sha256(salt.encode("ascii"))
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


# --- content ----------------------------------------------------------------------------------


def _content(
    question: Mapping[str, Any], sizes: npt.NDArray[np.int64], salt: str, inputs: Mapping[str, str]
) -> dict[str, Any]:
    """All that a certificate holds, from the question and the sizes of cells."""
    distinct, cells = np.unique(sizes, return_counts=True)
    content = {
        "schema": _SCHEMA,
        "mialeak": __version__,
        "kernels": kernel_hash(),
        "question": dict(question),
        "assumptions": list(_WORLDS),
        "counts": {"sizes": distinct.tolist(), "cells": cells.tolist()},
        "numbers": _numbers(question, np.repeat(distinct, cells)),
        "salt": salt,
        "inputs": dict(inputs),
    }
    return {**content, "digest": _digest(content)}


def _numbers(question: Mapping[str, Any], sizes: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    n = question["n"]
    if question["population"] == _REGISTER:
        return [_exact("leakage", float(max_leakage(Register(sizes), n)), 0.0)]
    people = question["people"]
    estimate = estimate_max_leakage(sizes, n, confidence=question["confidence"], population=people)
    ends = (estimate.value, estimate.low, estimate.high)
    number = {
        "name": "leakage",
        "kind": "estimate",
        **{name: end.hex() for name, end in zip(_ENDS, ends, strict=True)},
        "decimal": _decimal(*ends),
        "claimed": estimate.claimed,
    }
    if people is not None:
        return [number]
    p = sizes / int(sizes.sum())
    share = float(p.max())
    condition = 0.0 if share == 1.0 else 1.0 / (1.0 - share)
    return [_exact("plug_in", float(max_leakage(p, n)), condition), number]


def _exact(name: str, value: float, condition: float) -> dict[str, Any]:
    """A number with its enclosure.

    With a fixed floor of the mean, ``log MAD`` is linear in log p and log(1 - p), and its
    derivative by log p is at most ``1/(1 - p)``: `condition` is the largest of these.
    """
    error = float(np.finfo(np.float64).eps) * (_KERNEL + _ROUNDING * condition)
    return {
        "name": name,
        "kind": "exact",
        "value": value.hex(),
        "low": max(0.0, value * (1.0 - error)).hex(),
        "high": min(1.0, value * (1.0 + error)).hex(),
        "decimal": repr(value),
        "claimed": None,
    }


def kernel_hash() -> str:
    """SHA-256 of what the kernels answer to a fixed list of questions, as little-endian float64."""
    n = np.array([3.0, 17.0, 1e3, 1e6 + 3.0, 2.0**40 + 1.0, 2.0**53])[:, np.newaxis]
    p = np.array([1e-300, 1e-9, 1.0 / 3.0, 0.5, 0.9, 1.0 - 1e-9])
    K, draws = np.ceil(0.3 * n), np.floor(0.7 * n)
    answers = (
        binom_mad(n, p),
        binom_sf(np.floor(n * p + 0.3 * np.sqrt(n * p)), n, p),
        hypergeom_mad(n, K, draws),
        hypergeom_logpmf(np.floor(K * 0.7), n, K, draws),
    )
    digest = hashlib.sha256()
    for each in answers:
        digest.update((np.asarray(each, "<f8") + 0.0).tobytes())  # one sign for zero
    return digest.hexdigest()


def _digest(content: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, ensure_ascii=True).encode("ascii")).hexdigest()


# --- verification -----------------------------------------------------------------------------


def _question_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The question, each of its values within its range."""
    question = content.get("question")
    names = {"columns", "population", "people", "rows", "n", "confidence"}
    if not isinstance(question, dict) or question.keys() != names:
        invalid("certificate", f"have a question with {', '.join(sorted(names))}")
    for name in ("people", "rows", "n"):
        value = question[name]
        whole = type(value) is int and 1 <= value <= MAX_COUNT
        if not (whole or (name == "people" and value is None)):
            invalid("certificate", f"have whole {name} from 1 to 2**53", value=value)
    kind, people, salt = question["population"], question["people"], content.get("salt")
    if kind not in _POPULATIONS or (people is not None) != (kind == _PEOPLE):
        invalid("certificate", f"have as population one of {_POPULATIONS}", value=kind)
    share = question["confidence"]
    if not (share is None if kind == _REGISTER else type(share) is float and 0.0 < share < 1.0):
        invalid("certificate", "have a confidence between 0 and 1", value=share)
    if not (isinstance(salt, str) and re.fullmatch("[0-9a-f]{32}", salt)):
        invalid("certificate", "have a salt of 32 hexadecimal digits")
    if not isinstance(content.get("inputs"), dict):
        invalid("certificate", "have inputs, a hash by name")
    if not (isinstance(question["columns"], list) and {*map(type, question["columns"])} <= {str}):
        invalid("certificate", "have columns, a list of names", value=question["columns"])
    return question


def _counts_of(content: Mapping[str, Any]) -> npt.NDArray[np.int64]:
    """The size of each cell."""
    counts = content.get("counts")
    lists = counts if isinstance(counts, dict) else {}
    sizes, cells = lists.get("sizes"), lists.get("cells")
    if not (isinstance(sizes, list) and isinstance(cells, list) and len(sizes) == len(cells) > 0):
        invalid("certificate", "have counts: sizes and cells, lists of one length")
    for name, values in (("sizes", sizes), ("cells", cells)):
        for place, value in enumerate(values):
            if type(value) is not int or not 1 <= value <= MAX_COUNT:
                rule = f"have whole {name} from 1 to 2**53"
                invalid("certificate", rule, index=place, value=value)
    total, question = sum(map(int.__mul__, sizes, cells)), content["question"]
    if sum(cells) > _MOST_CELLS or total > MAX_COUNT:
        invalid("certificate", f"have at most {_MOST_CELLS:,} cells and 2**53 rows")
    rows = question["rows"]
    if rows > total or (rows < total and question["population"] != _REGISTER):
        invalid("certificate", f"have the rows of its counts, {total:,}", value=rows)
    return np.repeat(np.array(sizes, np.int64), np.array(cells, np.int64))


def _same(name: str, here: object, there: object, what: str) -> Check:
    return Check(name, here == there, f"{what}: {'the same' if here == there else 'different'}")


def _check_of(stated: Any, computed: dict[str, Any]) -> Check:
    """Whether a stated number is the one that was computed."""
    name = computed["name"]
    if computed["kind"] == "exact":
        same = stated == computed
        return Check(name, same, f"{name}, exact: {'the same bits' if same else 'different'}")
    known = isinstance(stated, dict) and stated.keys() == computed.keys()
    same = known and _agree(stated, computed)
    return Check(name, same, f"{name}, an estimate: {'agrees' if same else 'different'}")


def _agree(stated: dict[str, Any], computed: dict[str, Any]) -> bool:
    """Whether two estimates are the same but for rounding."""
    try:
        numbers = [float.fromhex(stated[name]) for name in _ENDS]
    except (TypeError, ValueError, OverflowError):
        return False
    there = [float.fromhex(computed[name]) for name in _ENDS]
    near = all(abs(a - b) <= _SAME_ESTIMATE * abs(b) for a, b in zip(numbers, there, strict=True))
    words = {**computed, **{name: stated[name] for name in _ENDS}, "decimal": _decimal(*numbers)}
    return near and stated == words


def _decimal(value: float, low: float, high: float) -> str:
    return f"{value:.6g} ({low:.6g} to {high:.6g})"
