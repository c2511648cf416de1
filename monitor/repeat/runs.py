"""Defines and loads a list of repeated runs: rows, and the traces of each row."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from spec.claims.claim import Identifier
from spec.language.errors import ClaimError, DocumentError
from spec.language.prose import printable
from spec.lowering.load import folder_of, parse_document, read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["MOST_RUNS", "SCHEMA", "ListedRow", "ListedRun", "RowKind", "RunsList", "load_runs"]

SCHEMA: Final = "resident-claims/runs/1"

MOST_RUNS: Final = 10_000
"""Rows of one list, and runs of one row."""

Size = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]


def _stated(value: object) -> object:
    """A list that is not there is refused with what to write instead."""
    if value is None:
        raise ClaimError("a list is missing", "write [] for an empty one")
    return value


class RowKind(StrEnum):
    """What each run of a row is expected to show."""

    SUCCESS = "success"
    FAILURE = "failure"
    CONTROL = "control"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ListedRun(_Record):
    """One run: its trace, by a path relative to the list, and what its engine counted.

    `stored_bytes` were copied to the offload tier, `loaded_bytes` back from it.
    """

    trace: Annotated[str, Field(min_length=1, max_length=4096)]
    stored_bytes: Size | None = None
    loaded_bytes: Size | None = None


class ListedRow(_Record):
    """The runs of one scenario; `due` is how many there should be."""

    row: Identifier
    kind: RowKind
    due: Annotated[int, Field(strict=True, ge=1, le=MOST_RUNS)]
    runs: Annotated[tuple[ListedRun, ...], Field(max_length=MOST_RUNS), BeforeValidator(_stated)]


class RunsList(_Record):
    """The rows of a repetition, in the order in which they are shown."""

    schema_: Annotated[Literal["resident-claims/runs/1"], Field(alias="schema")]
    rows: Annotated[tuple[ListedRow, ...], Field(max_length=MOST_RUNS), BeforeValidator(_stated)]


def load_runs(path: Path) -> tuple[ListedRow, ...]:
    """The rows that a file of YAML or JSON lists, with the paths of their traces from here.

    Raises:
        DocumentError: it cannot be read, or is no list of runs; with file, line and reason.
    """
    listed = parse_document(read_bounded(path), str(path), RunsList, SCHEMA)
    for twice, remedy in _twice(listed.rows):
        raise DocumentError(f"{path}: {printable(twice)}", remedy)
    beside = folder_of(path)
    return tuple(
        row.model_copy(
            update={
                "runs": tuple(
                    run.model_copy(update={"trace": os.path.join(beside, run.trace)})
                    for run in row.runs
                )
            }
        )
        for row in listed.rows
    )


def _twice(rows: Iterable[ListedRow]) -> Iterator[tuple[str, str]]:
    """The names that are given twice, and what to do about each."""
    names, traces = set[str](), set[str]()
    for row in rows:
        if row.row in names:
            yield f"two rows are called {row.row}", "give each a name of its own"
        names.add(row.row)
        for run in row.runs:
            if run.trace in traces:
                yield f"two runs have the trace {run.trace}", "list each run once"
            traces.add(run.trace)
