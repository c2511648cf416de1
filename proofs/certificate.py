"""A proof on paper: the invariant, three questions about it, and a manifest that says of what.

A folder holds `manifest.json` and four files for each mode. Nothing in it is believed: `read`
compares every byte with what the specification, as it is now, makes of the invariant alone.
"""

from __future__ import annotations

import hashlib
import stat
from typing import TYPE_CHECKING, TypeVar

import msgspec
import z3

from proofs.engines.spacer import ProofResult
from proofs.questions import Question, Questions
from proofs.smtlib import SmtlibError, Tree
from spec import __version__
from spec.claims import Mode
from spec.cli import json_page
from spec.digest import spec_digest
from spec.errors import SpecError
from spec.files import write_bytes
from spec.modes import MODES, Bundle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from proofs.engines.spacer import Proof

__all__ = [
    "LIMIT",
    "MANIFEST",
    "SCHEMA",
    "CertificateError",
    "Entry",
    "File",
    "Manifest",
    "read",
    "write_certificate",
]

SCHEMA = "resident-claims/certificate/1"
MANIFEST = "manifest.json"
LIMIT = 1 << 20
"""No file of a certificate is larger, in bytes."""

INVARIANT = "invariant"
_AGAIN = "python -m proofs check --all --certificate DIR writes one"
_T = TypeVar("_T")


class CertificateError(SpecError):
    """A certificate is damaged, doctored, or about something else."""


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file beside the manifest; `answer` is what a solver must say to it, null for none."""

    name: str
    sha256: str
    answer: str | None


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One mode's proof: under which obligations and readings which clauses hold of every run.

    `files` are the invariant and, by the name of the question, the three questions about it.
    """

    mode: str
    bundle: str
    clauses: dict[str, str]
    obligations: list[str]
    readings: list[str]
    tool: str
    z3: str
    spec: str
    files: dict[str, File]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a folder of certificates holds, in the order of the modes."""

    schema: str
    modes: list[Entry]


class _Head(msgspec.Struct, frozen=True):
    schema: str


def write_certificate(folder: Path, mode: Mode, bundle: Bundle, proof: Proof) -> Path:
    """Write one mode's proof into `folder`, beside those of other modes; returns the manifest.

    The same proof gives the same bytes. A certificate of the same mode is replaced.

    Raises:
        ValueError: the proof proves nothing, or has no invariant.
        CertificateError: the folder holds what is no certificate, or one of another specification.
        OutputError: it cannot be written.
    """
    if proof.result is not ProofResult.PROVED or proof.invariant is None:
        raise ValueError(f"no invariant proves {mode}")
    others = [entry for entry in _present(folder) if entry.mode != mode]
    questions = Questions(mode, bundle)
    pages = _pages(questions, questions.body_of(proof.invariant))
    for name, page in pages.items():
        write_bytes(folder / _file_name(mode, name), page)
    entries = [*others, _entry(questions, pages)]
    order = list(Mode)
    entries.sort(key=lambda entry: order.index(Mode(entry.mode)))
    write_bytes(folder / MANIFEST, json_page(Manifest(SCHEMA, entries)))
    return folder / MANIFEST


def read(folder: Path) -> dict[Mode, dict[Question, bytes]]:
    """The questions of the certificate in `folder`, each as the specification states it now.

    Raises:
        CertificateError: a file is missing, damaged or doctored, or speaks of anything but this
            specification.
    """
    entries = _manifest(folder)
    if not entries:
        raise CertificateError(f"{folder / MANIFEST} proves no mode", _AGAIN)
    return {Mode(entry.mode): _questions(folder, entry) for entry in entries}


def _present(folder: Path) -> list[Entry]:
    try:
        return _manifest(folder) if (folder / MANIFEST).exists() else []
    except CertificateError as problem:
        raise CertificateError(problem.cause, "name an empty folder") from None


def _pages(questions: Questions, body: Tree) -> dict[str, bytes]:
    made = {INVARIANT: questions.invariant(body)}
    return made | {q.value: questions.question(q, body) for q in Question}


def _file_name(mode: Mode, page: str) -> str:
    return f"{mode}.{page}.smt2"


def _entry(questions: Questions, pages: Mapping[str, bytes]) -> Entry:
    return Entry(
        mode=questions.mode.value,
        bundle=questions.bundle.value,
        clauses=questions.clauses,
        obligations=questions.obligations,
        readings=list(MODES[questions.mode].readings),
        tool=__version__,
        z3=z3.get_version_string(),
        spec=spec_digest(),
        files={
            name: File(
                _file_name(questions.mode, name),
                hashlib.sha256(page).hexdigest(),
                None if name == INVARIANT else "unsat",
            )
            for name, page in pages.items()
        },
    )


def _manifest(folder: Path) -> list[Entry]:
    """The entries of a manifest that speaks of this specification and of each mode once."""
    path = folder / MANIFEST
    content = _content(folder, MANIFEST)
    schema = _decode(content, _Head, path).schema
    if schema != SCHEMA:
        raise CertificateError(f"{path} has schema {_short(schema)}, not {SCHEMA!r}", _AGAIN)
    entries = _decode(content, Manifest, path).modes
    seen = set()
    for entry in entries:
        if entry.mode not in set(Mode) or entry.mode in seen:
            often = "twice" if entry.mode in seen else "which is no mode"
            raise CertificateError(f"{path} names {_short(entry.mode)}, {often}", _AGAIN)
        if entry.bundle not in set(Bundle):
            raise CertificateError(f"{path} names no bundle: {_short(entry.bundle)}", _AGAIN)
        if entry.spec != spec_digest():
            raise CertificateError(
                f"{path}: {entry.mode} was proved of specification {_short(entry.spec)}, "
                f"and this is {spec_digest()}",
                _AGAIN,
            )
        seen.add(entry.mode)
    return entries


def _decode(content: bytes, kind: type[_T], path: Path) -> _T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        said = " ".join(str(problem).split())[:200]
        raise CertificateError(f"{path} is no manifest: {said}", _AGAIN) from None


def _questions(folder: Path, entry: Entry) -> dict[Question, bytes]:
    """What the current specification asks about the invariant of an entry, if that is all of it."""
    mode, questions = Mode(entry.mode), Questions(Mode(entry.mode), Bundle(entry.bundle))
    names = {name: _file_name(mode, name) for name in (INVARIANT, *(q.value for q in Question))}
    if {name: file.name for name, file in entry.files.items()} != names:
        strange = sorted({file.name for file in entry.files.values()} - set(names.values()))
        what = f"names {_short(strange[0])}" if strange else "does not name each of them once"
        raise CertificateError(
            f"{folder / MANIFEST}: the files of {mode} are {', '.join(names.values())}, and it "
            f"{what}",
            _AGAIN,
        )
    found = {}
    for name, file in entry.files.items():
        found[name] = _content(folder, file.name)
        digest = hashlib.sha256(found[name]).hexdigest()
        if digest != file.sha256:
            raise CertificateError(
                f"{folder / file.name} was changed: its SHA-256 is {digest}, and the manifest "
                f"says {_short(file.sha256)}",
                _AGAIN,
            )
    try:
        body = questions.read(found[INVARIANT].decode("ascii"))
    except (SmtlibError, UnicodeDecodeError) as problem:
        raise CertificateError(
            f"{folder / names[INVARIANT]} is no invariant: {problem}", _AGAIN
        ) from None
    pages = _pages(questions, body)
    for name, page in pages.items():
        if found[name] != page:
            raise CertificateError(
                f"{folder / names[name]} is not what this specification makes of the invariant"
                f"{_by_another(entry)}",
                _AGAIN,
            )
    expected = _entry(questions, pages)
    for part in ("clauses", "obligations", "readings", "files"):
        if getattr(entry, part) != getattr(expected, part):
            raise CertificateError(
                f"{folder / MANIFEST}: the {part} of {mode} are not those of this specification",
                _AGAIN,
            )
    return {question: pages[question.value] for question in Question}


def _by_another(entry: Entry) -> str:
    here = (__version__, z3.get_version_string())
    if (entry.tool, entry.z3) == here:
        return ""
    made = f" (made by version {_short(entry.tool)} with z3 {_short(entry.z3)}"
    return f"{made}; this is version {here[0]!r} with z3 {here[1]!r})"


def _content(folder: Path, name: str) -> bytes:
    """A plain file of bounded size inside `folder`."""
    path = folder / name
    try:
        plain = stat.S_ISREG(path.lstat().st_mode)  # not a link, which might lead out
        if plain:
            with path.open("rb") as file:
                content = file.read(LIMIT + 1)
    except (OSError, ValueError) as problem:
        said = (problem.strerror if isinstance(problem, OSError) else "") or str(problem)
        raise CertificateError(f"cannot read {path}: {said}", _AGAIN) from None
    if not plain:
        raise CertificateError(f"{path} is no plain file", _AGAIN)
    if len(content) > LIMIT:
        raise CertificateError(f"{path} is larger than {LIMIT} bytes", _AGAIN)
    return content


def _short(text: str) -> str:
    return repr(text[:100])
