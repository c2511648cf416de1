"""Loads descriptors and evidence from YAML."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ValidationError

from spec.claims.claim import problems
from spec.files.plain import NoFile, open_plain
from spec.files.yaml_text import MOST_BYTES, Document, parse_yaml
from spec.language.errors import DocumentError, require
from spec.language.suggest import did_you_mean
from spec.lowering import descriptor, evidence
from spec.lowering.descriptor import Descriptor
from spec.lowering.evidence import EvidenceFile

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = [
    "folder_of",
    "open_file",
    "parse_descriptor",
    "parse_document",
    "parse_evidence",
    "read_bounded",
    "read_descriptor",
    "read_evidence",
]

M = TypeVar("M", bound=BaseModel)

_VERSION: Final = re.compile(r"(.*)/([1-9][0-9]{0,8})")


def read_descriptor(path: Path) -> Descriptor:
    """The descriptor in a file; raises DocumentError with file, line, path and reason."""
    require(path, (str, Path), "the path of a descriptor", "a path")
    return parse_descriptor(read_bounded(Path(path)), str(path))


def read_evidence(path: Path) -> EvidenceFile:
    """The evidence in a file, whose traces are not looked at; raises DocumentError."""
    return parse_evidence(read_bounded(path), str(path))


def parse_descriptor(content: bytes, name: str) -> Descriptor:
    """The descriptor that `content` says; `name` is the file's, for messages.

    Raises:
        DocumentError: it is no descriptor; with line, path and reason.
        SpecError: `content` is no bytes.
    """
    require(content, bytes, "the content of a descriptor", "bytes, as a file has them")
    return parse_document(content, name, Descriptor, descriptor.SCHEMA)


def parse_evidence(content: bytes, name: str) -> EvidenceFile:
    """The evidence that `content` says; `name` is the file's, for messages."""
    return parse_document(content, name, EvidenceFile, evidence.SCHEMA)


def read_bounded(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file, of at most `most`; raises DocumentError."""
    with open_file(path) as file:
        try:
            content = file.read(most + 1) or b""
        except OSError as problem:
            raise _unreadable(path, problem) from None
    if len(content) > most:
        raise DocumentError(f"{path}: it has over {most} bytes", "split it")
    return content


def open_file(path: Path) -> BinaryIO:
    """A file, open to be read; raises DocumentError. What is none is not waited for."""
    try:
        return io.BufferedReader(open_plain(path))
    except NoFile as problem:
        said = f"cannot read {path}: {problem.strerror}"
        raise DocumentError(said, "write it to a file, and name that") from None
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem) from None


def _unreadable(path: Path, problem: Exception) -> DocumentError:
    reason = getattr(problem, "strerror", None) or str(problem)
    return DocumentError(f"cannot read {path}: {reason}", "name another file")


def folder_of(path: Path) -> Path:
    """The folder from which paths that are written in a document are seen.

    A name such as /dev/stdin lies where the file that it stands for does.
    """
    real = path
    if path.absolute().parts[1:2] in {("dev",), ("proc",)}:
        real = Path(os.path.realpath(path))
    return real.parent


def parse_document(
    content: bytes,
    name: str,
    kind: type[M],
    schema: str,
    *,
    private: bool = False,
) -> M:
    """The value that `content` says.

    Args:
        name: of the file, for messages.
        schema: what the field `schema` of the document has to say.
        private: show no values in messages.

    Raises:
        DocumentError: it is none; with line, path and reason.
    """
    try:
        document = parse_yaml(content)
    except DocumentError as problem:
        raise DocumentError(
            f"{name}:{problem.line}: {problem.cause}", problem.remedy, line=problem.line
        ) from None
    _check_schema(document, name, schema)
    try:
        return kind.model_validate(document.value)
    except ValidationError as error:
        found = sorted(
            problems(error, _fields(kind)),
            key=lambda each: (each.missing, document.line(each.path)),
        )
        line = document.line(found[0].path)
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        said = found[0].line(private=private)
        raise DocumentError(f"{name}:{line}: {said}{more}", line=line) from None


def _check_schema(document: Document, name: str, schema: str) -> None:
    """Say what is wrong with the schema that a document names, before anything else of it."""
    value = document.value
    if not isinstance(value, dict):
        raise DocumentError(f"{name}:1: (the whole): it is not a map", f"start: schema: {schema}")
    said, line = value.get("schema"), document.line(("schema",))
    if said == schema:
        return
    place = f"{name}:{line}: schema: "
    if said is None:
        hint = did_you_mean("schema", [key for key in value if key != "schema"])
        raise DocumentError(f"{place}it is missing", hint or f"write schema: {schema}", line=line)
    ours, theirs = _VERSION.fullmatch(schema), _VERSION.fullmatch(str(said)[:100])
    if ours and theirs and ours[1] == theirs[1] and int(theirs[2]) > int(ours[2]):
        raise DocumentError(
            f"{place}{said} is newer than this program, which reads {schema}",
            "update resident-claims",
            line=line,
        )
    raise DocumentError(f"{place}it is {str(said)[:100]!r}", f"use {schema}", line=line)


def _fields(kind: type[BaseModel]) -> set[str]:
    """The names of all fields of a model and of those within it, as they are written."""
    schema = kind.model_json_schema()
    models = (schema, *schema.get("$defs", {}).values())
    return {name for each in models for name in each.get("properties", ())}
