"""Writes and reads certificates: invariants, runs, their questions, and a manifest.

A folder holds `manifest.json` and the files of each mode: theorem, lemmas, witness, receptiveness
and, in a subfolder, the frame theorem. None of it is trusted: `read` compares every byte with what
the current specification generates from the invariants and runs.
"""

from __future__ import annotations

import hashlib
import os
import stat
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import z3

from proofs.certificates.frame import FrameTheorem
from proofs.certificates.lemmas import Lemmas
from proofs.certificates.page import DataError, Page, Part
from proofs.certificates.runs import Witness
from proofs.certificates.strategy import Strategy
from proofs.certificates.theorem import Theorem
from proofs.checks.lemmas import lemmas_of
from proofs.logic.encode import Integers
from proofs.model.of_mode import model_of
from spec import __version__
from spec.claims.states import Mode
from spec.cli.common import json_page
from spec.contract.modes import MODES, Bundle
from spec.digest import spec_digest
from spec.events.alphabet import Kind
from spec.files.json_text import decode_json
from spec.files.writing import write_bytes
from spec.language.called import called
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "FRAME",
    "LEMMAS",
    "LIMIT",
    "MANIFEST",
    "PARTS",
    "SCHEMA",
    "THEOREM",
    "WITNESS",
    "CertificateError",
    "Entry",
    "File",
    "Manifest",
    "read",
    "write_certificate",
]

SCHEMA = "resident-claims/certificate/2"
MANIFEST = "manifest.json"
LIMIT = 1 << 20
"""No file of a certificate is larger, in bytes."""

THEOREM, LEMMAS, WITNESS, FRAME = Theorem(), Lemmas(), Witness(), FrameTheorem()
PARTS: Final[tuple[Part, ...]] = (THEOREM, LEMMAS, WITNESS, Strategy(), FRAME)
"""Of what a certificate consists."""

_MANY: Final = 100

_T = TypeVar("_T")


class CertificateError(SpecError):
    """A certificate is corrupt, modified, or made for another specification."""


def _again() -> str:
    return f"{called('proofs check --all --certificate DIR')} writes one"


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file listed in the manifest; each of its questions must be unsat. Data files have none."""

    name: str
    sha256: str
    questions: list[str]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The certified statement about one mode: its obligations, interpretations, kinds of events,
    and the clauses that hold for every run.

    `waits` names, for each clause, the obligations that suspend its comparison while they are
    pending. `lemmas` are those that the theorem depends on. Lemmas and receptiveness are those of
    the contract,
    whichever bundle is proved. `files` are named without the mode, in order.
    """

    mode: str
    bundle: str
    clauses: dict[str, str]
    waits: dict[str, list[str]]
    obligations: list[str]
    interpretations: list[str]
    environment: list[str]
    lemmas: dict[str, str]
    tool: str
    z3: str
    spec: str
    files: dict[str, File]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest of a folder of certificates, in the order of the modes."""

    schema: str
    modes: list[Entry]


class _Head(msgspec.Struct, frozen=True):
    schema: str


def write_certificate(
    folder: Path, mode: Mode, bundle: Bundle, written: Mapping[str, bytes]
) -> Path:
    """Write the certificate of one mode into `folder`, and return the manifest.

    The same data give the same bytes. A certificate of the same mode is replaced. `recheck` decides
    whether it proves anything; `check` writes only what was proved.

    Args:
        written: the contents of the data files, by name.

    Raises:
        CertificateError: the folder holds something else, or a certificate of another
        specification.
        DataError: the data are invalid.
        OutputError: it cannot be written.
    """
    others = [entry for entry in _present(folder) if entry.mode != mode]
    pages = _pages(mode, bundle, written)
    for name, page in pages.items():
        write_bytes(folder / _path(mode, name), page.content)
    entries = [*others, _entry(mode, bundle, pages)]
    order = list(Mode)
    entries.sort(key=lambda entry: order.index(Mode(entry.mode)))
    write_bytes(folder / MANIFEST, json_page(Manifest(SCHEMA, entries)))
    return folder / MANIFEST


def read(folder: Path) -> dict[Mode, dict[str, Page]]:
    """The pages with questions of the certificate in `folder`, as the specification states them.

    Raises:
        CertificateError: a file is missing, corrupt, modified, or made for another specification.
    """
    entries = _manifest(folder)
    if not entries:
        raise CertificateError(f"{folder / MANIFEST} proves no mode", _again())
    return {Mode(entry.mode): _checked(folder, entry) for entry in entries}


def strays(folder: Path) -> list[str]:
    """The files below `folder` that its manifest does not name, at most a hundred of them."""
    named = {file.name for entry in _manifest(folder) for file in entry.files.values()}
    below = (
        os.path.relpath(os.path.join(at, name), folder)
        for at, _, names in os.walk(folder)
        for name in names
    )
    others = islice((name for name in below if name not in named | {MANIFEST}), _MANY)
    return sorted(os.fsencode(name).decode(errors="backslashreplace") for name in others)


def _present(folder: Path) -> list[Entry]:
    try:
        return _manifest(folder) if (folder / MANIFEST).exists() else []
    except CertificateError as problem:
        raise CertificateError(problem.cause, "name an empty folder") from None


def _names(mode: Mode) -> list[str]:
    return [f"{part.folder}{name}" for part in PARTS for name in part.names(mode)]


def _path(mode: Mode, name: str) -> str:
    """Where a file of a mode is, below the folder."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{mode}.{last}"


def _pages(mode: Mode, bundle: Bundle, written: Mapping[str, bytes]) -> dict[str, Page]:
    """Every page of a mode, generated from the data."""
    made: dict[str, Page] = {}
    for part in PARTS:
        given = {name: written[f"{part.folder}{name}"] for name in part.data(mode)}
        try:
            pages = part.pages(mode, bundle, given)
        except DataError as problem:
            raise DataError(f"{part.folder}{problem.file}", problem.cause) from None
        made |= {f"{part.folder}{name}": page for name, page in pages.items()}
    return {name: made[name] for name in _names(mode)}


def _entry(mode: Mode, bundle: Bundle, pages: Mapping[str, Page]) -> Entry:
    names = list(MODES[mode].names(bundle))
    clauses = model_of(mode, bundle, Integers()).clauses
    waits = {clause.name: sorted(clause.waits & set(names)) for clause in clauses}
    return Entry(
        mode=mode.value,
        bundle=bundle.value,
        clauses={clause.name: clause.says for clause in clauses},
        waits={name: waited for name, waited in waits.items() if waited},
        obligations=names,
        interpretations=list(MODES[mode].interpretations),
        environment=[kind.value for kind in sorted(Kind)],
        lemmas={lemma.name: lemma.says for lemma in lemmas_of(mode)},
        tool=__version__,
        z3=z3.get_version_string(),
        spec=spec_digest(),
        files={
            name: File(
                _path(mode, name), hashlib.sha256(page.content).hexdigest(), list(page.questions)
            )
            for name, page in pages.items()
        },
    )


def _manifest(folder: Path) -> list[Entry]:
    """The entries of a manifest for this specification, one for each mode."""
    path = folder / MANIFEST
    content = _content(folder, MANIFEST)
    schema = _decode(content, _Head, path).schema
    if schema != SCHEMA:
        raise CertificateError(f"{path} has schema {_short(schema)}, not {SCHEMA!r}", _again())
    entries = _decode(content, Manifest, path).modes
    seen = set()
    for entry in entries:
        if entry.mode not in set(Mode) or entry.mode in seen:
            often = "twice" if entry.mode in seen else "which is not a mode"
            raise CertificateError(f"{path} names {_short(entry.mode)}, {often}", _again())
        if entry.bundle not in set(Bundle):
            raise CertificateError(
                f"{path} names an unknown bundle: {_short(entry.bundle)}", _again()
            )
        if entry.spec != spec_digest():
            raise CertificateError(
                f"{path}: {entry.mode} was proved of specification {_short(entry.spec)}, "
                f"and this is {spec_digest()}",
                _again(),
            )
        seen.add(entry.mode)
    return entries


def _decode(content: bytes, kind: type[_T], path: Path) -> _T:
    try:
        return decode_json(content, kind)
    except ValueError as problem:
        raise CertificateError(f"{path} is not a manifest: {problem}", _again()) from None


def _checked(folder: Path, entry: Entry) -> dict[str, Page]:
    """The pages of an entry, if its files are exactly those of the current specification."""
    mode, bundle = Mode(entry.mode), Bundle(entry.bundle)
    names = {name: _path(mode, name) for name in _names(mode)}
    if {name: file.name for name, file in entry.files.items()} != names:
        strange = sorted({file.name for file in entry.files.values()} - set(names.values()))
        what = f"names {_short(strange[0])}" if strange else "does not name each of them once"
        raise CertificateError(
            f"{folder / MANIFEST}: the files of {mode} are {', '.join(names.values())}, and it "
            f"{what}",
            _again(),
        )
    found = {}
    for name, file in entry.files.items():
        found[name] = _content(folder, file.name)
        digest = hashlib.sha256(found[name]).hexdigest()
        if digest != file.sha256:
            raise CertificateError(
                f"{folder / file.name} was changed: its SHA-256 is {digest}, and the manifest "
                f"says {_short(file.sha256)}",
                _again(),
            )
    try:
        pages = _pages(mode, bundle, found)
    except DataError as problem:
        raise CertificateError(
            f"{folder / names[problem.file]} {problem.cause}", _again()
        ) from None
    for name, page in pages.items():
        if found[name] != page.content:
            raise CertificateError(
                f"{folder / names[name]} is not what this specification makes of it"
                f"{_by_another(entry)}",
                _again(),
            )
    expected = _entry(mode, bundle, pages)
    for part in (
        "clauses",
        "waits",
        "obligations",
        "interpretations",
        "environment",
        "lemmas",
        "files",
    ):
        if getattr(entry, part) != getattr(expected, part):
            raise CertificateError(
                f"{folder / MANIFEST}: the {part} of {mode} are not those of this specification",
                _again(),
            )
    return {name: page for name, page in pages.items() if page.questions}


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
        plain = stat.S_ISREG(path.lstat().st_mode)  # not a link, which might lead out of the folder
        if plain:
            with path.open("rb") as file:
                content = file.read(LIMIT + 1)
    except (OSError, ValueError) as problem:
        said = (problem.strerror if isinstance(problem, OSError) else "") or str(problem)
        raise CertificateError(f"cannot read {path}: {said}", _again()) from None
    if not plain:
        raise CertificateError(f"{path} is not a plain file", _again())
    if len(content) > LIMIT:
        raise CertificateError(f"{path} is larger than {LIMIT} bytes", _again())
    return content


def _short(text: str) -> str:
    return repr(text[:100])
