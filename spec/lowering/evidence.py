"""Defines evidence files: written by `monitor evidence`, read by `proofs lower`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from spec.claims.claim import Identifier, Record
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Order
from spec.language.errors import DescriptorError
from spec.lowering.depths import Precondition
from spec.lowering.descriptor import ObligationName

__all__ = [
    "MOST_FILES",
    "SCHEMA",
    "Condition",
    "EvidenceFile",
    "Shown",
    "TraceFile",
    "Unshown",
]

SCHEMA: Final = "resident-claims/evidence/1"

MOST_FILES: Final = 1000
"""Traces of which evidence is taken at once."""

_MOST: Final = 100_000


class TraceFile(Record):
    """A trace as it was when the evidence was taken; `path` is relative to the evidence file."""

    path: Identifier
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Shown(Record):
    """An obligation that a trace exercised and kept: by which events, of which claims.

    `sequences` are the sequence numbers of the events that exercised it, in the file at `file`; of
    events without one, the numbers of their lines. `more` counts further claims that show it.
    """

    obligation: ObligationName
    file: Annotated[int, Field(strict=True, ge=0)]
    sequences: Annotated[tuple[Annotated[int, Field(strict=True, ge=0)], ...], Field(min_length=1)]
    claims: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    verdict: Literal["satisfied"]
    order: Annotated[tuple[Order, ...], Field(min_length=1)]
    more: Annotated[int, Field(strict=True, ge=0)] = 0


class Unshown(Record):
    """An obligation of which nothing can be counted, and why: in the file at `file`, or in any.

    Where a file shows the obligation all the same, it is of other claims.
    """

    obligation: ObligationName
    file: Annotated[int | None, Field(strict=True, ge=0)] = None
    verdict: Literal["violated", "inconclusive", "pending", "unexercised"]
    why: Identifier


class Condition(Record):
    """A precondition of a telemetry join, and whether the traces met it."""

    precondition: Precondition
    met: Literal["met", "not met", "not observable"]
    evidence: Identifier


class EvidenceFile(Record):
    """What some traces show for one mode. What a file shows, none of its claims violates.

    `spec` is the digest of the specification (`spec.digest`) under which they were judged.
    `registry` has the claims that were joined with KV events, under these `preconditions`.
    """

    schema_: Annotated[Literal["resident-claims/evidence/1"], Field(alias="schema")]
    mode: Mode
    bundle: Bundle
    spec: Identifier
    files: Annotated[tuple[TraceFile, ...], Field(min_length=1, max_length=MOST_FILES)]
    shown: Annotated[tuple[Shown, ...], Field(max_length=_MOST)] = ()
    unshown: Annotated[tuple[Unshown, ...], Field(max_length=_MOST)] = ()
    registry: TraceFile | None = None
    preconditions: Annotated[tuple[Condition, ...], Field(max_length=64)] = ()

    @model_validator(mode="after")
    def _whole(self) -> EvidenceFile:
        files = [("shown", i, item.file) for i, item in enumerate(self.shown)]
        files += [("unshown", i, item.file or 0) for i, item in enumerate(self.unshown)]
        for part, i, file in files:
            if file >= len(self.files):
                raise DescriptorError(
                    f"there are {len(self.files)} files",
                    "they are counted from 0",
                    at=(part, i, "file"),
                )
        shown = {(item.obligation, item.file) for item in self.shown}
        anywhere = {item.obligation for item in self.shown}
        both = {
            each.obligation
            for each in self.unshown
            if (each.file is None and each.obligation in anywhere)
            or (each.verdict == "violated" and (each.obligation, each.file) in shown)
        }
        if both:
            raise DescriptorError(
                f"shown and unshown at once: {', '.join(sorted(both))}", "take the evidence again"
            )
        return self
