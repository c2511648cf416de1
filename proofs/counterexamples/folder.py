"""Reads and writes the folder of a suite, and writes nothing over what is of no suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from models.counterexamples import file_name
from proofs.counterexamples.suite import INDEX, SCHEMA, Row, Suite
from spec.events.canonical import Event
from spec.files.json_text import decode_json
from spec.files.plain import read_plain
from spec.files.writing import check_target, write_bytes
from spec.language.called import called
from spec.language.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["check_folder", "events_in", "read_file", "read_index", "read_suite", "write_folder"]

T = TypeVar("T")

_LARGEST: Final = 64 << 20
_BESIDE: Final = (INDEX, "index.md", "index.csv")


def read_file(path: Path) -> bytes:
    """What a file holds; raises OSError or ValueError, where it is none or is too large."""
    return read_plain(path, _LARGEST)


def events_in(content: bytes) -> list[Event]:
    """The events of a trace of a suite; raises ValueError at a line that is none."""
    return [decode_json(line, Event) for line in content.splitlines()]


def read_suite(folder: Path) -> Suite:
    """The index of a suite.

    Raises:
        SpecError: there is none, it is none of this form, or a trace lies elsewhere.
    """
    suite = _decoded(folder / INDEX, Suite)
    _check_form(folder / INDEX, suite.schema, suite.rows)
    for row in suite.rows:
        _check_place(row)
    return suite


def read_index(folder: Path) -> dict[str, Any]:
    """The index of a suite as it is written, with whatever fields; its rows are a list.

    Raises:
        SpecError: there is none, or it is no index of a suite.
    """
    index = _decoded(folder / INDEX, dict[str, Any])
    rows = index.get("rows")
    _check_form(folder / INDEX, index.get("schema"), rows if isinstance(rows, list) else [])
    return index


def _decoded(path: Path, kind: type[T]) -> T:
    try:
        return decode_json(read_file(path), kind)
    except (OSError, ValueError) as problem:
        cause = f"cannot read {path}: {' '.join(str(problem).split())}"
        writes = f"{called('proofs counterexamples -o DIR')} writes a suite"
        raise SpecError(cause, writes) from None


def _check_form(path: Path, schema: object, rows: Any) -> None:
    if schema != SCHEMA:
        raise SpecError(f"{path} is no {SCHEMA}", "write it again with this version")
    if not rows:
        raise SpecError(f"{path} has no rows", "write it again")


def _check_place(row: Row) -> None:
    """Raise SpecError where the trace of a row is no file of the folder."""
    if row.trace is not None and (set("/\\\0") & {*row.trace} or row.trace.startswith(".")):
        raise SpecError(f"the trace {row.trace!r} is not in the folder of the suite")


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise OutputError if the folder is not writable, or holds files that are of no suite."""
    check_target(folder, folder=True)
    strange = sorted(_there(folder) - {each for each in _of_suite(folder) if _plain(folder / each)})
    if strange and not force:
        cause = f"{folder} holds files of no suite: {', '.join(strange[:3])}"
        raise OutputError(cause, "name another folder, or use --force")


def _plain(path: Path) -> bool:
    """Whether it is a file of its own: what a link leads to is not."""
    return path.is_file() and not path.is_symlink()


def _there(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} if folder.is_dir() else set()


def _of_suite(folder: Path) -> set[str]:
    """The files that the index of the suite in a folder, if there is one, answers for."""
    try:
        suite = read_suite(folder)
    except SpecError:
        return set()
    named = {file_name(row.inference) for row in suite.rows if row.trace is not None}
    return {*_BESIDE, *(f"{name}{suffix}" for name in named for suffix in (".jsonl", ".itf.json"))}


def write_folder(folder: Path, made: Mapping[str, bytes]) -> list[str]:
    """Write the files of a suite; files of the suite that was there before are removed."""
    there, old = _there(folder), _of_suite(folder)
    gone = {name for name in old - set(made) if _plain(folder / name)}
    gone |= {name for name in made if (folder / name).is_symlink()}  # not what they lead to
    for name in sorted(gone & there):
        try:
            (folder / name).unlink()
        except OSError as problem:
            cause = f"cannot remove {folder / name}: {problem.strerror}"
            raise OutputError(cause, "name another folder") from None
    for name, content in made.items():
        write_bytes(folder / name, content)
    return list(made)
