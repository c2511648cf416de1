"""Makes the suite: a row for each inference, and the files of its runs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from models.counterexamples import file_name
from proofs.counterexamples.itf import as_itf
from proofs.counterexamples.refute import Refutation
from proofs.counterexamples.story import story
from spec.cli.common import json_page
from spec.contract.obligations import OBLIGATIONS
from spec.digest import spec_digest
from spec.docs.markdown import table
from spec.events.canonical import as_jsonl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "INDEX",
    "SCHEMA",
    "Row",
    "Suite",
    "concludes_of",
    "files",
    "row_of",
    "suite_schema",
]

SCHEMA: Final = "resident-claims/suite/1"
INDEX: Final = "index.json"


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An inference: what it concludes, its label, what it lacks, and the run that refutes it.

    `mode` is the one by which `trace` is judged; `trace` is a file beside the index, null where no
    run refutes the inference, and `story` then says why. `verdict` is what `monitor check` says of
    it, `found` the obligations that it finds violated in it, and `events` its length. `broken` are
    the obligations that some run of the model breaks.
    """

    inference: str
    runtime: str
    feature: str
    mode: str
    concludes: dict[Literal["mode", "obligation", "outcome"], str]
    label: str | None
    result: str
    missing: tuple[str, ...]
    broken: tuple[str, ...]
    parent: str | None
    trace: str | None
    verdict: str
    events: int
    story: str
    found: tuple[str, ...] = ()


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The index of a suite."""

    schema: str
    spec: str
    rows: tuple[Row, ...]


def row_of(found: Refutation, runtime: str) -> Row:
    """The row of an inference about a runtime."""
    inference = found.inference
    return Row(
        inference=inference.name,
        runtime=runtime,
        feature=inference.feature,
        mode=str(inference.mode),
        concludes=concludes_of(inference.concludes, str(inference.mode)),
        label=None if found.labelled.label is None else str(found.labelled.label),
        result=found.labelled.result,
        missing=found.labelled.missing,
        broken=found.broken,
        parent=inference.parent,
        trace=f"{file_name(inference.name)}.jsonl" if found.events else None,
        verdict=found.verdict,
        events=len(found.events),
        story=story(found),
        found=found.found,
    )


def concludes_of(what: str, mode: str) -> dict[Literal["mode", "obligation", "outcome"], str]:
    """What an inference concludes, by the sort of it."""
    if what == "mode":
        return {"mode": mode}
    return {"obligation": what} if what in OBLIGATIONS else {"outcome": what}


def files(found: Sequence[tuple[str, Refutation]]) -> dict[str, bytes]:
    """Every file of a suite by its name: the runs as JSONL and ITF, and the index in three forms.

    Args:
        found: the inferences, each with the name of its runtime.
    """
    made: dict[str, bytes] = {}
    rows = []
    for runtime, each in found:
        rows.append(row_of(each, runtime))
        if each.events:
            name = file_name(each.inference.name)
            made[f"{name}.jsonl"] = as_jsonl(each.events)
            made[f"{name}.itf.json"] = json_page(as_itf(each, runtime))
    made[INDEX] = json_page(Suite(SCHEMA, spec_digest(), tuple(rows)))
    made["index.md"] = _markdown(rows).encode()
    made["index.csv"] = _csv(rows).encode()
    return made


_COLUMNS: Final = ("inference", "runtime", "mode", "result", "broken", "verdict", "events", "trace")


def _cells(row: Row) -> list[str]:
    given = {**msgspec.structs.asdict(row), "broken": ", ".join(row.broken)}
    return ["" if given[name] is None else str(given[name]) for name in _COLUMNS]


def _markdown(rows: Iterable[Row]) -> str:
    return "# Bad lowerings\n\n" + table(list(_COLUMNS), [_cells(row) for row in rows]) + "\n"


def _csv(rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_cells(row) for row in rows)
    return text.getvalue()


def suite_schema() -> dict[str, Any]:
    """The JSON Schema of the index."""
    return msgspec.json.schema(Suite)
