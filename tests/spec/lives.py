"""Claims in every state, for the tests of spec.claims.states and spec.claims.lifecycle."""

import itertools
from collections import deque
from typing import Any

from spec.claims.claim import ResidentClaim
from spec.claims.durations import Instant
from spec.claims.lifecycle import RUNTIME, Actor, Caller, ClaimLifecycle
from spec.claims.states import OWNER_TRIGGERS, TRANSITIONS, ClaimState, Mode

OWNER, STRANGER = Caller("tenant-a"), Caller("tenant-b")
ACTORS: tuple[Actor, ...] = (OWNER, STRANGER, RUNTIME)
START, EARLY, DUE = (Instant.parse(text) for text in ("10 steps", "69 steps", "70 steps"))
CLOCKS = {"none": None, "early": EARLY, "due": DUE}
COMBINATIONS = [
    (mode, clock)
    for mode, clock in itertools.product(Mode, CLOCKS)
    if (mode, clock) != (Mode.EXPIRING, "none")
]


def claim(mode: Mode = Mode.HARD_PROTECTED, duration: str | None = None) -> ResidentClaim:
    """A claim of tenant-a."""
    data: dict[str, Any] = {
        "claim_id": "claim-1",
        "owner_scope": OWNER.scope,
        "cache_identity": {
            "key_domain": "sha256",
            "model_id": "llama",
            "tokenizer_domain": "llama",
            "namespace": "",
            "block_size": 16,
        },
        "object_id": "prompt",
        "materialization_predicate": "leading_prefix_at_least(40)",
        "footprint_blocks": 60,
        "protection_mode": mode,
        "duration": duration,
        "priority": 3 if mode is Mode.SOFT_PRIORITY else None,
    }
    return ResidentClaim.model_validate(data)


def paths() -> dict[ClaimState, tuple[str, ...]]:
    """The shortest way from submission to each state, read off the table."""
    found: dict[ClaimState, tuple[str, ...]] = {ClaimState.SUBMITTED: ()}
    queue = deque(found)
    while queue:
        state = queue.popleft()
        for row in TRANSITIONS:
            if row.source is state and row.dest not in found:
                found[row.dest] = (*found[state], row.trigger)
                queue.append(row.dest)
    return found


PATHS = paths()


def at(state: ClaimState, mode: Mode = Mode.HARD_PROTECTED, clock: str = "none") -> ClaimLifecycle:
    """A claim in `state`, with a duration of 60 steps unless there is no clock."""
    timed = clock != "none"
    lifecycle = ClaimLifecycle(claim(mode, "60 steps" if timed else None))
    for trigger in PATHS[state]:
        by = OWNER if trigger in OWNER_TRIGGERS else RUNTIME
        lifecycle.step(trigger, by=by, now=START if timed else None)
    return lifecycle
