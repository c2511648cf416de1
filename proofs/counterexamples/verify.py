"""Verifies a suite that was written before, and names what is not as it would be written now.

The suite is made again, and everything that is in the folder is compared with it: each field of
the index and of each row, and each line of each file.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import msgspec

from models.counterexamples import file_name
from models.registry import RUNTIMES, inferences, runtime
from monitor import InputError, check_files
from proofs.counterexamples.folder import events_in, read_file
from proofs.counterexamples.suite import INDEX, Row, Suite
from proofs.product.accepts import is_run
from spec.digest import spec_digest
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from models.framework.inference import Inference
    from spec.claims.states import Mode

__all__ = ["Change", "compared", "selection"]

_ROWS: Final = "rows"
_NAME: Final = "inference"
_TRACE: Final = ".jsonl"
_ITF: Final = ".itf.json"
_FILE: Final = "a file"


class Change(msgspec.Struct, frozen=True):
    """What is not as it would be written now.

    `what` is a field, or a file with the number of its first line that differs. `was` and `now` are
    the value of the field as JSON, or the line; None where there is none. `inference` is empty for
    what is of no row.
    """

    inference: str
    what: str
    was: str | None
    now: str | None


def selection(folder: Path, index: Mapping[str, Any]) -> tuple[str | None, Mode | None]:
    """The runtime and the mode of which a suite is, each None where it is of all.

    It is the least selection that has all rows and files, so that what is missing is noticed.

    Raises:
        SpecError: no row is of an inference that is known.
    """
    rows = [_name_of(each) for each in index[_ROWS]]
    names = {each.name for each in folder.iterdir()}
    there = {e.name for e in inferences() if e.name in rows or file_name(e.name) + _TRACE in names}
    homes = {name for name in RUNTIMES if there & {e.name for e in runtime(name).inferences}}
    modes = {each.mode for each in inferences() if each.name in there}
    if not homes:
        raise SpecError("no inference of the suite is known", "write it again with this version")
    return (
        next(iter(homes)) if len(homes) == 1 else None,
        next(iter(modes)) if len(modes) == 1 else None,
    )


def compared(folder: Path, index: Mapping[str, Any], made: Mapping[str, bytes]) -> list[Change]:
    """What differs between the folder of a suite and the files that are made for it now.

    Args:
        index: that of the folder.
        made: the files by their names.
    """
    changes = [*_of_index(index, msgspec.json.decode(made[INDEX]))]
    spec, old = spec_digest().encode(), str(index.get("spec")).encode()
    names = {each.name for each in folder.iterdir()}
    for name in sorted(names | made.keys()):
        now = made.get(name)
        if now is not None and name.endswith(_ITF):
            as_it_was = now.replace(spec, old)  # that the specification is another is said once
            now = as_it_was if name in names and _is(folder / name, as_it_was) else now
        if name != INDEX or not changes:
            changes += _of_file(folder, name, name in names, now)
    return changes


def _is(path: Path, content: bytes) -> bool:
    try:
        return read_file(path) == content
    except (OSError, ValueError):
        return False


def _of_index(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    """The fields of the index, and its rows."""
    yield from _fields("", was, now, Suite, besides=_ROWS)
    fresh = {row[_NAME]: row for row in now[_ROWS]}
    seen: list[str] = []
    for number, row in enumerate(was[_ROWS], 1):
        name = _name_of(row)
        if not isinstance(name, str):
            yield Change("", f"row {number}", _text(row), None)
        elif name not in fresh:
            known = {each.name for each in inferences()}
            yield Change(name, _NAME, _text(name), _text(name) if name in known else None)
        elif name in seen:
            yield Change(name, "rows of it", "2", "1")
        else:
            seen.append(name)
            yield from _fields(name, row, fresh[name], Row, besides=_NAME)
    for name in fresh:
        if name not in seen:
            yield Change(name, _NAME, None, _text(name))
    for name, other in zip(seen, [name for name in fresh if name in seen], strict=True):
        if name != other:
            yield Change("", "order of rows", _text(name), _text(other))
            return


def _fields(
    inference: str,
    was: Mapping[str, Any],
    now: Mapping[str, Any],
    kind: type[msgspec.Struct],
    *,
    besides: str,
) -> Iterator[Change]:
    """The fields whose value is not the same, those of the form in its order."""
    for name in dict.fromkeys((*kind.__struct_fields__, *now, *was)):
        one, other = (_text(each[name]) if name in each else None for each in (was, now))
        if name != besides and one != other:
            yield Change(inference, name, one, other)


def _of_file(folder: Path, name: str, there: bool, now: bytes | None) -> Iterator[Change]:
    """The first line of a file that is not the same, and what a trace is to the model now."""
    inference = {file_name(each.name): each for each in inferences()}.get(name.partition(".")[0])
    who = "" if inference is None else inference.name
    if not there or now is None:
        yield Change(who, name, _FILE if there else None, None if now is None else _FILE)
        return
    try:
        was = read_file(folder / name)
    except (OSError, ValueError) as problem:
        yield Change(who, name, " ".join(str(problem).split()), _FILE)
        return
    if was == now:
        return
    lines = zip_longest(*(each.decode(errors="replace").splitlines(True) for each in (was, now)))
    number, (one, other) = next((n, both) for n, both in enumerate(lines, 1) if both[0] != both[1])
    yield Change(who, f"{name}:{number}", one, other)
    if inference is not None and name.endswith(_TRACE):
        yield from _of_trace(folder / name, was, inference)


def _of_trace(path: Path, content: bytes, inference: Inference) -> Iterator[Change]:
    """What a trace that is another is to the model, and what the monitor says of it."""
    try:
        report = check_files([str(path.absolute())], inference.mode)  # "-" would be standard input
        events = events_in(content)
    except (OSError, InputError, ValueError) as problem:
        yield Change(inference.name, "trace", " ".join(str(problem).split()), "readable")
        return
    if str(report.verdict) != Verdict.VIOLATED:
        yield Change(inference.name, "verdict of the trace", str(report.verdict), "violated")
    if not is_run(inference.model(), inference.shim, events):
        yield Change(inference.name, "trace", "no run of the model", "a run of the model")


def _name_of(row: object) -> object:
    return row.get(_NAME) if isinstance(row, dict) else None


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
