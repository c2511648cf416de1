"""What must come out of the real engine, scenario by scenario, each in an engine of its own.

The twins of a row are the same scenario with its enforcement off, and with the reports that matter
kept back, or in another claim's name. Each twin must be found violated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from runtime_hooks.demo.engine import Asked, claim
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests.runtime_hooks.envelopes import retain, setting, span
from tests_vllm.actions import (
    RESIDENT,
    after_a_minute,
    demote,
    drain,
    drain_no_more,
    left,
    look,
    lose_first,
    reset,
    used,
)
from tests_vllm.rows import Row, Setting, Twin, drill, twins
from tests_vllm.tier import TIER

__all__ = [
    "ACTIVE",
    "CLAIM",
    "DEMOTED_TWINS",
    "HARD_TWINS",
    "L3",
    "LEFT_OUT",
    "ROWS",
    "SWEEP",
    "claimed",
]

HARD, DEMOTABLE, EXPIRING = Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING
SOFT, BEST, OFF = Mode.SOFT_PRIORITY, Mode.BEST_EFFORT, Mode.OFFLOADABLE
ROUTED = Mode.ROUTED_REUSE
ACTIVE, CLAIM = ("active", 70), ("claim:resident",)
REFUSED, HARMED = Kind.REQUEST_REFUSED, Kind.CLAIM_HARMED


SECOND, LARGER = (("second", n, claim("claim:second", n)) for n in (10, 25))
GIVEN_UP = ("third", 2, {"release_claim": {"claim_id": CLAIM[0], "owner_scope": "tenant"}})


def claimed(mode: Mode, **more: Any) -> Asked:
    """The resident prefix, claimed."""
    return (*RESIDENT, claim(mode=mode, **more))


def step(blocks: int, *, last: bool = False) -> Asked:
    """A step of an agent's job."""
    pin = {"job_id": "agent", "last_step": last, "ttl": "60 s", "owner_scope": "tenant"}
    return ("agent", blocks, {"pin": pin})


def prioritized(name: str, priority: int) -> Asked:
    """A prompt of 20 blocks, claimed with a priority."""
    return (name, 20, claim(f"claim:{name}", 20, SOFT, priority=priority))


def hinted(name: str, priority: int) -> Asked:
    """The same by a KV hint."""
    hint = retain(span(0, None, priority), message=name, scope="tenant")
    return (name, 20, {"kv_hints": hint})


def set_to(name: str, priority: int) -> Asked:
    """The same by vLLM's own hint for the blocks of one request."""
    return (name, 20, {"kv_hints": setting(1, priority, claim_id=f"claim:{name}")})


def ranked(first: int, second: int, asked: Callable[[str, int], Asked] = prioritized) -> Row:
    """Two claims of 20 blocks with these priorities, and 20 that nobody claims; 50 must go."""
    return Row(
        SOFT,
        (
            asked("a", first),
            asked("b", second),
            ("unclaimed", 20),
            ACTIVE,
            left("unclaimed", "a", "b"),
        ),
        code=0,
        ends="0 0 0 0",
        victims=50,
        told="materialized end materialized end end "
        "evicted evicted unmaterialized evicted unmaterialized end",
        looks=((0, 10, 0) if first > second else (0, 0, 10),),
    )


L1: Final = Row(
    HARD,
    (RESIDENT, look, ACTIVE, look),
    code=3,
    ends="0 0",
    victims=50,
    told="end evicted end",
    looks=((60, 60), (10, 10)),
)
L2: Final = replace(
    L1,
    asks=(RESIDENT, look, (*ACTIVE, {"no_admit": True}), look, ACTIVE),
    ends="0 0 0",
    told="end evicted end end",
)
HARD_TWINS: Final = twins(
    REFUSED,
    off="victim_exclusion_before_violation",
    untold="explicit_conflict_action",
    misnamed="blocking_claim_ids",
)
L3: Final = Row(
    HARD,
    (claimed(HARD), look, ACTIVE, look),
    code=0,
    ends="0 refused",
    victims=0,
    told="accepted materialized end refused end",
    named=CLAIM,
    proofs=((60, 70, 130, 80, 50),),
    looks=((60, 60), (60, 60)),
    twins={
        **HARD_TWINS,
        "acceptance not told": Twin(drill(Kind.CLAIM_ACCEPTED), "explicit_acceptance"),
        "presence not told": Twin(drill(Kind.CLAIM_MATERIALIZED), "claim_materialized_event"),
    },
)

DEMOTED_TWINS: Final = twins(
    Kind.CLAIM_DEMOTED,
    off="claim_demoted_before_loss",
    untold="ordered_lifecycle_events",
)

PRIORITY_TWINS: Final = twins(
    Kind.CLAIM_UNMATERIALIZED,
    Kind.CLAIM_BLOCK_LOST,
    off="priority_influence",
    untold="claim_scoped_telemetry",
)

ROWS: Final = {
    "L1 native": L1,
    "L2 write no-admit": L2,
    "L3 hard claim": L3,
    "L4 demotion": Row(
        DEMOTABLE,
        (claimed(DEMOTABLE), ACTIVE, look),
        code=0,
        ends="0 0",
        victims=50,
        told="accepted materialized end demoted evicted end",
        looks=((10, 10),),
        twins=DEMOTED_TWINS,
    ),
    "L5 expiry": Row(
        EXPIRING,
        (claimed(EXPIRING, duration="60 s"), ACTIVE, look, after_a_minute, ACTIVE, look),
        code=0,
        ends="0 refused 0",
        victims=50,
        told="accepted materialized end refused end elapsed expired evicted end",
        named=CLAIM,
        proofs=((60, 70, 130, 80, 50),),
        looks=((60, 60), (10, 10)),
        twins=twins(
            Kind.CLAIM_EXPIRED, off="claim_expired_boundary", untold="claim_expired_boundary"
        ),
    ),
    "L6 materialization failure": Row(
        HARD,
        (claimed(HARD), lose_first, look, RESIDENT, RESIDENT, ACTIVE),
        code=0,
        ends="0 0 59 refused",
        victims=0,
        told="accepted materialized end lost harmed lost materialized end end refused end",
        named=CLAIM,
        proofs=((60, 70, 130, 120, 10),),
        looks=((59, 0),),
        usable=120,
        twins=twins(
            HARMED, off="victim_exclusion_before_violation", untold="claim_harm_attribution"
        ),
    ),
    "live pressure": replace(
        L3,
        settings={"defer_s": 0.5},
        told="accepted materialized end deferred refused end",
        twins=twins(
            Kind.REQUEST_DEFERRED,
            REFUSED,
            off="victim_exclusion_before_violation",
            untold="explicit_conflict_action",
            misnamed="blocking_claim_ids",
        ),
    ),
    "two hard claims": Row(
        HARD,
        (claimed(HARD), ("second", 25, claim("claim:second", 25)), look),
        code=0,
        ends="0 refused",
        victims=0,
        told="accepted materialized end rejected refused end",
        named=CLAIM,
        proofs=((60, 25, 85, 80, 5),),
        looks=((60, 60),),
        twins={
            **HARD_TWINS,
            "rejection misattributed": Twin(
                drill(Kind.CLAIM_REJECTED, other=CLAIM[0]), "ordered_lifecycle_events"
            ),
        },
    ),
    "reset of a hard claim": Row(
        HARD,
        (claimed(HARD), reset, look, RESIDENT, ACTIVE),
        code=0,
        ends="0 0 refused",
        victims=0,
        told="accepted materialized end lost harmed materialized end refused end",
        named=CLAIM,
        proofs=((60, 70, 130, 80, 50),),
        looks=((0, 0),),
        twins=twins(
            HARMED, off="victim_exclusion_before_violation", untold="claim_harm_attribution"
        ),
    ),
    "reset of a demotable claim": Row(
        DEMOTABLE,
        (claimed(DEMOTABLE), reset, RESIDENT, ACTIVE),
        code=0,
        ends="0 0 0",
        victims=50,
        told="accepted materialized end lost harmed materialized end demoted evicted end",
        twins=twins(HARMED, off="claim_demoted_before_loss", untold="claim_harm_attribution"),
    ),
    "reset of an expiring claim": Row(
        EXPIRING,
        (claimed(EXPIRING, duration="60 s"), reset, RESIDENT, ACTIVE, after_a_minute, ACTIVE),
        code=0,
        ends="0 0 refused 0",
        victims=50,
        told="accepted materialized end lost harmed materialized end refused end "
        "elapsed expired evicted end",
        named=CLAIM,
        proofs=((60, 70, 130, 80, 50),),
        twins=twins(HARMED, off="claim_expired_boundary", untold="claim_harm_attribution"),
    ),
    "a demotion by the operator": Row(
        DEMOTABLE,
        (claimed(DEMOTABLE), demote, look, ACTIVE, look),
        code=0,
        ends="0 0",
        victims=50,
        told="accepted materialized end demoted evicted end",
        looks=((60, 60), (10, 10)),
        twins=twins(Kind.CLAIM_DEMOTED, untold="ordered_lifecycle_events"),
    ),
    "a drain": Row(
        HARD,
        (claimed(HARD), drain, SECOND, drain_no_more, SECOND, GIVEN_UP, ACTIVE, look),
        code=0,
        ends="0 0 9 0 0",
        victims=63,
        told="accepted materialized end rejected end accepted materialized end released end "
        "evicted end",
        looks=((0, 0),),
    ),
    "a claim after its rejection": Row(
        HARD,
        (claimed(HARD), LARGER, GIVEN_UP, LARGER, ACTIVE),
        code=0,
        ends="0 refused 0 0 refused",
        victims=7,
        told="accepted materialized end rejected refused end released end accepted evicted "
        "materialized end refused end",
        named=(*CLAIM, "claim:second"),
        proofs=((60, 25, 85, 80, 5), (25, 70, 95, 80, 15)),
    ),
    "priority": ranked(1, 9),
    "priority, swapped": replace(ranked(9, 1), twins=PRIORITY_TWINS),
    "priority, equal": ranked(3, 3),
    "priority, by hints": replace(ranked(9, 1, hinted), twins=PRIORITY_TWINS),
    "priority, by vllm.set_priority": replace(  # it is set once its request has completed
        ranked(9, 1, set_to),
        told="end materialized end materialized end "
        "evicted evicted unmaterialized evicted unmaterialized end",
        twins=PRIORITY_TWINS,
    ),
    "best effort": Row(
        BEST,
        (claimed(BEST), ACTIVE, RESIDENT, look),
        code=0,
        ends="0 0 10",
        victims=100,
        told="materialized end evicted unmaterialized end evicted materialized end",
        looks=((60, 60),),
        twins=twins(Kind.CLAIM_UNMATERIALIZED, untold="claim_scoped_telemetry"),
    ),
    **TIER,
    "agent with pins": Row(
        EXPIRING,
        (
            *(step(10), used, ("active", 75)),
            *(step(20), used, ACTIVE),
            *(step(30), used),
            *(step(40), used),
            *(step(50, last=True), used, ACTIVE),
        ),
        code=0,
        ends="0 refused 10 refused 20 30 40 0",
        victims=40,
        told="end accepted materialized refused end "
        "reused end accepted materialized released refused end "
        "reused end accepted materialized released "
        "reused end accepted materialized released "
        "reused end released evicted end",
        named=("pin:tenant:agent:0", "pin:tenant:agent:2"),
        proofs=((10, 75, 85, 80, 5), (20, 70, 90, 80, 10)),
        looks=(10, 20, 30, 40, 0),
        twins=twins(
            Kind.CLAIM_RELEASED, off="claim_expired_boundary", untold="ordered_lifecycle_events"
        ),
    ),
}

CAPACITIES: Final = {90: 40, 100: 30, 110: 20, 120: 10, 130: 0, 140: 0, 150: 0}
"""Usable blocks, and how many of 60 that nobody protects a request for 70 takes; 80 is above."""


def at(row: Row, usable: int, victims: int) -> Row:
    """A row without a claim, in a pool of another size."""
    told = row.told if victims else row.told.replace("evicted ", "")
    left = (60 - victims, 60 - victims)
    return replace(row, usable=usable, victims=victims, told=told, looks=((60, 60), left))


def hard_at(usable: int) -> Row:
    """A hard claim in a pool of another size: from 130 blocks on both fit, and nothing is owed."""
    if usable < 130:
        off = {"not enforced": HARD_TWINS["not enforced"]}
        return replace(L3, usable=usable, proofs=((60, 70, 130, usable, 130 - usable),), twins=off)
    told = "accepted materialized end end"
    return replace(L3, usable=usable, ends="0 0", told=told, named=(), proofs=(), twins={})


SWEEP: Final = {
    f"{policy}, {usable} blocks": row
    for usable, victims in CAPACITIES.items()
    for policy, row in (
        ("native", at(L1, usable, victims)),
        ("no-admit", at(L2, usable, victims)),
        ("hard claim", hard_at(usable)),
    )
}

LEFT_OUT: Final[dict[str, tuple[str, Setting]]] = {
    "a rejection": ("two hard claims", drill(Kind.CLAIM_REJECTED)),
    "an offload": ("path A, success", drill(Kind.CLAIM_OFFLOADED)),
    "a refusal after a deferral": ("live pressure", drill(REFUSED)),
    "a refusal beside a pin": ("agent with pins", drill(REFUSED)),
    "an enforcement that has nothing to do": ("hard claim, 130 blocks", {"enforce": ()}),
}
"""What nobody is misled by: the row, and settings with which its check exits as ever."""
