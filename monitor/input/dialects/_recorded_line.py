"""Defines the fields of the lines of recorded dialects."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from monitor.input.dialects._json import predicate_in
from monitor.input.errors import InputError
from spec.claims.predicates import MAX_BLOCKS, MaterializationPredicate
from spec.events.canonical import Name

__all__ = ["Bound", "Count", "Head", "Order", "Recorded"]

Count = Annotated[int, Meta(ge=0, le=MAX_BLOCKS)]
Order = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, Meta(max_length=1024)]
_SCALE: Final = 1000
_MOST_VALUE: Final = 10**12


class Head(msgspec.Struct, frozen=True):
    """What is read of every line, of an unknown event too."""

    run_id: Text | None = None
    hook_scope: Text | None = None
    event_sequence: Order | None = None
    monotonic_ns: Order | None = None
    timestamp_ns: Order | None = None

    def stream(self, file: str) -> str:
        """The run, else the scope of the hooks, else the file."""
        return self.run_id or self.hook_scope or file


class Recorded(Head, frozen=True):
    """Fields of every dialect; counts are in blocks."""

    request_id: Name | None = None
    claim_id: Name | None = None
    prefix_id: Name | None = None
    protection_mode: Name | None = None
    resident_blocks_required: Count | None = None
    resident_blocks_materialized: Count | None = None
    useful_threshold_blocks: Count | None = None
    priority: Annotated[int, Meta(ge=-_MOST_VALUE, le=_MOST_VALUE)] | None = None
    predicted_value: object = None
    predicate_materialized: bool | None = None
    blocking_claim_ids: tuple[Name, ...] | None = None
    protected_resident_blocks: Count | None = None
    active_live_blocks_required: Count | None = None
    resident_plus_active_blocks: Count | None = None
    usable_blocks: Count | None = None
    capacity_shortfall_blocks: Count | None = None

    @property
    def binding(self) -> dict[str, Any]:
        """The claim that the line is about; none, unless it names one."""
        return {} if self.claim_id is None else {"claim_id": self.claim_id}

    def predicate(self, file: str, line: int) -> MaterializationPredicate | None:
        """The predicate of the claim, if the line states it; raises InputError for none."""
        return None

    def rank(self, file: str, line: int) -> int | None:
        """`priority`, else `predicted_value` in thousandths where it is a number.

        Raises:
            InputError: the value is absurd.
        """
        value = self.predicted_value
        if self.priority is not None or not isinstance(value, int | float):
            return self.priority
        if isinstance(value, bool):
            return None
        if not abs(value) <= _MOST_VALUE:
            reason, hint = f"the value is beyond {_MOST_VALUE}", "give a value of ordinary size"
            raise InputError(file, reason, line=line, field="predicted_value", hint=hint)
        return round(value * _SCALE)


class Bound(Recorded, frozen=True):
    """Fields of the dialects that bind each claimed line to the claim's object."""

    cache_identity: Name | None = None
    reusable_object_id: Name | None = None
    materialization_predicate: Name | None = None
    predicate_id: Name | None = None
    request_token_map_id: Name | None = None
    block_count_footprint: Count | None = None
    offload_generation: Order | None = None
    restored_from_offload_tier: bool | None = None
    restoration_source: str | None = None
    claim_scoped_outcome_type: Name | None = None
    outcome_type: Name | None = None
    outcome_claim_id: Name | None = None

    @property
    def binding(self) -> dict[str, Any]:
        """The claim that the line is about, and what it binds the claim to."""
        if self.claim_id is None:
            return {}
        return {
            "claim_id": self.claim_id,
            "cache_identity": self.cache_identity,
            "object_id": self.reusable_object_id,
            "predicate": self.materialization_predicate,
            "predicate_id": self.predicate_id,
            "token_map": self.request_token_map_id,
        }

    def predicate(self, file: str, line: int) -> MaterializationPredicate | None:
        """The predicate of the claim, if the line states it; raises InputError for none."""
        if (text := self.materialization_predicate) is None:
            return None
        return predicate_in(text, "materialization_predicate", file, line)
