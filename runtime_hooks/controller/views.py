"""Describes claims, owners and an engine to its operator."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from runtime_hooks.settings.quotas import Quota

__all__ = [
    "SCHEMA",
    "ChangePage",
    "ClaimDetails",
    "ClaimView",
    "ClaimsPage",
    "DrainPage",
    "EngineView",
    "FiguresPage",
    "ModeFigures",
    "OwnerView",
    "QuotasPage",
    "ReleasePage",
    "ShowPage",
    "StepView",
]

SCHEMA: Final = "resident-claims/claims/1"


class EngineView(msgspec.Struct, frozen=True):
    """An engine: its epoch, which is another in each life, its stream of events, its blocks.

    `claimed` are the blocks that live claims declare, each once, of the `usable` ones; no claim
    may take the last `floor`. `drains` says that it accepts no more claims, `alarm` why it accepts
    none else. `requests` are unfinished ones.
    """

    epoch: str
    stream: str
    usable: int
    claimed: int
    floor: int
    live: int
    requests: int
    drains: bool
    alarm: str


class ClaimView(msgspec.Struct, frozen=True):
    """A claim: `state` as its lifecycle has it, or `waiting` if it was registered ahead.

    `held` counts those of its `blocks` that are cached. `left` is what is left of its duration, and
    `age_s` how long it lives, in seconds. `never_there` says that its predicate did not hold yet,
    nor was there a copy of it.
    """

    claim_id: str
    owner_scope: str
    mode: str
    state: str
    blocks: int
    held: int
    age_s: float
    left: str
    never_there: bool = False


class StepView(msgspec.Struct, frozen=True):
    """A step of a claim's lifecycle: its report, by whom, and the state after it."""

    report: str
    by: str
    state: str


class ClaimDetails(msgspec.Struct, frozen=True):
    """More of a claim: `excluded` of its blocks are excluded from eviction, `shared` of them belong
    to other claims, too, and `copied` of them are in the offload tier. `steps` are its last ones.
    `ends` says who may end it.
    """

    claim: ClaimView
    predicate: str
    holds: bool
    object_id: str
    priority: int | None
    duration: str
    excluded: int
    shared: int
    copied: int
    restores: int
    steps: list[StepView]
    ends: str


class OwnerView(msgspec.Struct, frozen=True):
    """An owner: its live claims, the blocks that they declare, and its quota."""

    owner_scope: str
    claims: int
    blocks: int
    quota: Quota


class ClaimsPage(msgspec.Struct, frozen=True):
    """The claims of an engine, the oldest first; `left_out` are not among them."""

    schema: Literal["resident-claims/claims/1"]
    engine: EngineView
    claims: list[ClaimView]
    left_out: int


class ShowPage(msgspec.Struct, frozen=True):
    """One claim."""

    schema: Literal["resident-claims/claims/1"]
    engine: EngineView
    shown: ClaimDetails


class ReleasePage(msgspec.Struct, frozen=True):
    """A claim that was ended: by this report, by whom, and the blocks that it declared."""

    schema: Literal["resident-claims/claims/1"]
    engine: EngineView
    claim_id: str
    report: str
    by: str
    blocks: int


class ChangePage(msgspec.Struct, frozen=True):
    """A change of a claim's mode: the claim that follows, or why there is none (`rejected`)."""

    schema: Literal["resident-claims/claims/1"]
    engine: EngineView
    claim_id: str
    successor: str
    mode: str
    rejected: str


class ModeFigures(msgspec.Struct, frozen=True):
    """The claims of a mode: the live ones, the blocks that they have excluded from eviction, and
    how many claims were accepted and rejected. `never_there` of the live ones were not there yet;
    the one that waits longest for that has done so for `longest_s` seconds.
    """

    live: int
    held: int
    accepted: int
    rejected: int
    never_there: int = 0
    longest_s: float = 0.0


class FiguresPage(msgspec.Struct, frozen=True):
    """The figures of an engine; counts are since its start.

    Each is of all owners and names no claim. `modes` has the empty mode for what was no claim.
    Of the `usable` blocks of the pool `claimed` are declared by live claims, `used` are not free,
    `held` are excluded from eviction, and `idle` of these nobody else uses. `faults` are the
    exceptions at each hook. `verdicts` are the lines that the monitor wrote, by mode and verdict.
    `given_up` are the ended claims and requests that the monitor remembers no more. `overdue`
    claims were demoted because they were never there. `alarmed` says that an alarm keeps claims
    from being accepted. `bounded` reports say that a request was bounded. `waiting` events are not
    written yet, the oldest of them for `lag_s` seconds.
    """

    schema: Literal["resident-claims/claims/1"]
    epoch: str
    modes: dict[str, ModeFigures]
    usable: int
    claimed: int
    used: int
    held: int
    idle: int
    refusals: dict[str, int]
    harms: int
    restores: dict[str, int]
    pins: dict[str, int]
    faults: dict[str, int]
    accepting: bool
    trace_alive: bool
    waiting: int
    lag_s: float
    dropped: int
    bounded: int
    drains: bool
    alarmed: bool
    monitor: Literal["off", "up", "failed"]
    verdicts: dict[str, dict[str, int]]
    given_up: dict[str, int]
    overdue: int


class DrainPage(msgspec.Struct, frozen=True):
    """What is left to end of an engine that drains, or does so no more.

    `unlimited` of its live claims have no duration: they end with their owner's release alone.
    """

    schema: Literal["resident-claims/claims/1"]
    engine: EngineView
    unlimited: int


class QuotasPage(msgspec.Struct, frozen=True):
    """The quota of every owner, and those of owners with live claims or a quota of their own."""

    schema: Literal["resident-claims/claims/1"]
    engine: EngineView
    each: Quota
    owners: list[OwnerView]
