"""What traces showed of obligations: written by `monitor evidence`, read by `proofs lower`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from spec.claims import Identifier, Mode
from spec.errors import DescriptorError
from spec.lowering.descriptor import ObligationName
from spec.lowering.vocabulary import Order
from spec.modes import Bundle

__all__ = ["SCHEMA", "EvidenceFile", "Shown", "TraceFile", "Unshown"]

SCHEMA: Final = "resident-claims/evidence/1"

_MOST: Final = 100_000


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TraceFile(_Record):
    """A trace as it was when the evidence was taken; `path` is relative to the evidence file."""

    path: Identifier
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Shown(_Record):
    """An obligation that a trace exercised and kept: by which events, of which claims.

    `sequences` are the sequence numbers of the events that exercised it, in the file at `file`.
    """

    obligation: ObligationName
    file: Annotated[int, Field(strict=True, ge=0)]
    sequences: Annotated[tuple[Annotated[int, Field(strict=True, ge=0)], ...], Field(min_length=1)]
    claims: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    verdict: Literal["satisfied"]
    order: Annotated[tuple[Order, ...], Field(min_length=1)]


class Unshown(_Record):
    """An obligation of which nothing can be counted, and why."""

    obligation: ObligationName
    verdict: Literal["violated", "inconclusive", "pending", "unexercised"]
    why: Identifier


class EvidenceFile(_Record):
    """What some traces show for one mode; an obligation is shown or unshown, never both.

    `spec` is the digest of the specification (`spec.digest`) under which they were judged.
    """

    schema_: Annotated[Literal["resident-claims/evidence/1"], Field(alias="schema")]
    mode: Mode
    bundle: Bundle
    spec: Identifier
    files: Annotated[tuple[TraceFile, ...], Field(min_length=1)]
    shown: Annotated[tuple[Shown, ...], Field(max_length=_MOST)] = ()
    unshown: Annotated[tuple[Unshown, ...], Field(max_length=_MOST)] = ()

    @model_validator(mode="after")
    def _whole(self) -> EvidenceFile:
        for i, item in enumerate(self.shown):
            if item.file >= len(self.files):
                raise DescriptorError(
                    f"there are {len(self.files)} files",
                    "they are counted from 0",
                    at=("shown", i, "file"),
                )
        both = {item.obligation for item in self.shown} & {u.obligation for u in self.unshown}
        if both:
            raise DescriptorError(
                f"shown and unshown at once: {', '.join(sorted(both))}", "take the evidence again"
            )
        return self
