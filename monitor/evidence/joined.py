"""Takes evidence from captures of KV events, joined with a registry of claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.evidence.take import found_at, take_evidence
from monitor.pressure.run import run_in
from monitor.watch.preconditions import preconditions
from monitor.watch.reader import Joins
from monitor.watch.registry import load_registry
from spec.language.errors import DocumentError
from spec.lowering.evidence import Condition, TraceFile, Unshown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spec.claims.states import Mode
    from spec.lowering.evidence import EvidenceFile

__all__ = ["take_joined_evidence"]


def take_joined_evidence(
    registry: str,
    captures: Sequence[str],
    mode: Mode | None,
    beside: Path,
    *,
    progress: Callable[[int], None] | None = None,
) -> EvidenceFile:
    """What captures show of the claims of a registry; the arguments are those of `take_evidence`.

    Raises:
        DocumentError: the registry cannot be read, or does not say when it was made: the time of
            its file is another one wherever it is copied.
        InputError: a capture cannot be read, or a file cannot be found again.
    """
    watching = load_registry(Path(registry))
    if not watching.is_dated:
        cause = f"{registry}: registered: it is missing"
        raise DocumentError(cause, "state when the claims were made, such as 2026-11-28T10:00:00Z")
    joins = Joins(watching)
    found = take_evidence(
        captures,
        mode,
        beside,
        reader_of=joins.reader,
        run_of=lambda capture: run_in(capture, watching),
        progress=progress,
    )
    evaluated = [
        Condition(precondition=each.precondition, met=each.met.value, evidence=each.evidence)
        for each in preconditions(watching, joins.made)
    ]
    file = TraceFile(path=found_at(registry, beside), sha256=watching.sha256)
    update: dict[str, Any] = {"registry": file, "preconditions": tuple(evaluated)}
    if unmet := [each for each in evaluated if each.met != "met"]:
        why = f"{unmet[0].precondition} is {unmet[0].met}"
        bare = [
            Unshown(obligation=each.obligation, file=each.file, verdict="inconclusive", why=why)
            for each in found.shown
        ]
        update |= {"shown": (), "unshown": (*found.unshown, *bare)}
    return found.model_copy(update=update)
