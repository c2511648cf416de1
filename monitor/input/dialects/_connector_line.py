"""Defines a line of the connector dialect: its fields, and its meaning in the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from monitor.input.dialects._connector_state import Claim, Request, Restore, Run
from monitor.input.dialects._recorded import Bound, Count, Order
from monitor.input.records import Doubt
from spec.claims.predicates import MaterializationPredicate
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Name

__all__ = ["Line", "Now"]


class Line(Bound, frozen=True):
    resident_claim: object = None
    resident_claim_role: str | None = None
    num_prompt_tokens: Count | None = None
    num_block_hashes: Count | None = None
    num_computed_tokens: Count | None = None
    num_hit_tokens: Count | None = None
    num_external_tokens: Count | None = None
    num_offloadable_tokens: Count | None = None
    src_block_count: Count | None = None
    dst_block_count: Count | None = None
    key_count: Count | None = None
    invalid_block_count: Count | None = None
    transfer_type: tuple[str, ...] | None = None
    transfer_size: Order | None = None
    success: bool | None = None
    job_id: Order | Name | None = None
    restoration_generation: Order | None = None


@dataclass(frozen=True, slots=True)
class Now:
    """A line in its run: what it says, by what name, and whom it binds to what."""

    event: str
    line: Line
    run: Run
    predicate: MaterializationPredicate | None
    file: str
    number: int
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def claim(self) -> Claim:
        """The claim that the line names."""
        claim = self.run.claim(cast("str", self.line.claim_id))
        claim.predicate = claim.predicate or self.predicate
        return claim

    @property
    def request(self) -> Request:
        return self.run.request(self.line.request_id or "")

    @property
    def role(self) -> str | None:
        """The part that the claim has in the request; a claimed line that says none is in doubt."""
        role = self.line.resident_claim_role or self.request.role
        if self.line.claim_id is not None and role not in ("resident", "reuse"):
            self.doubt("the request does not say whether it is the claim's resident or a reuse")
        return role

    @property
    def restore(self) -> Restore:
        return self.request.restore(self.line.claim_id or self.line.outcome_claim_id or "")

    def need(self, *fields: str) -> Any:
        """The value of the last of `fields`; raises InputError where one of them has none."""
        return [self.line.need(name, self.event, self.file, self.number) for name in fields][-1]

    def doubt(self, why: str) -> None:
        """From this line on nothing new is concluded about the claim that it names."""
        self.doubts.append(Doubt(why, self.line.claim_id))

    def say(self, kind: Kind, **more: Any) -> Event:
        """An event about the claim and the request of this line."""
        return Event(kind=kind, request_id=self.line.request_id, **self.line.binding, **more)
