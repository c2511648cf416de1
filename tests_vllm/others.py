"""Rows of the table that the models of the pool do not have, because these have one cache: several
caches, changed modes, ranks, adapters; rows in several processes; and what is not armed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from runtime_hooks.demo.engine import Asked, claim
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests_vllm.actions import look
from tests_vllm.architectures import configured
from tests_vllm.drafts import NGRAMS, uncompiled
from tests_vllm.engine import unchecked
from tests_vllm.lora import ADAPTERS, adapted
from tests_vllm.ranks import SECOND_OF_TWO, routed
from tests_vllm.rows import Row, Twin, drill, twins
from tests_vllm.table import ACTIVE, CLAIM, DEMOTED_TWINS, HARD_TWINS, L3, claimed
from tests_vllm.tier import FILLER, PATH_A, PRESSING

__all__ = ["OTHERS", "SEVERAL", "TWO_RANKS", "UNARMED"]

HARD, DEMOTABLE, SOFT, OFF = (
    Mode.HARD_PROTECTED,
    Mode.DEMOTABLE,
    Mode.SOFT_PRIORITY,
    Mode.OFFLOADABLE,
)
ROUTED, REFUSED = Mode.ROUTED_REUSE, Kind.REQUEST_REFUSED


def changed(mode: Mode) -> Asked:
    """A small request by which the owner has the claim in another mode, under another id."""
    own = {"claim_id": CLAIM[0], "owner_scope": "tenant"}
    return ("small", 1, {"change_mode": {**own, "successor": "claim:2", "protection_mode": mode}})


SEVERAL: Final = Row(  # of gpt-oss: 12 blocks, and the last 4 with a window
    HARD,
    (("prefix", 12, claim("claim:p", 12)), ("active", 18), ("prefix", 13)),
    code=0,
    ends="0 refused 12",
    victims=0,
    told="accepted materialized end refused end reused end",
    named=("claim:p",),
    proofs=((16, 36, 52, 44, 8),),
    usable=44,
    model="gpt-oss",
    twins=HARD_TWINS,
)

STRONGER: Final = Row(
    HARD,
    (claimed(SOFT, priority=1), changed(HARD), ACTIVE, look),
    code=0,
    ends="0 0 refused",
    victims=0,
    told="materialized end accepted materialized released end refused end",
    named=("claim:2",),
    proofs=((60, 70, 130, 80, 50),),
    looks=((60, 60),),
    twins=HARD_TWINS,
)
WEAKER: Final = Row(
    HARD,
    (claimed(HARD), ACTIVE, changed(DEMOTABLE), look, ACTIVE, look),
    code=0,
    ends="0 refused 0 0",
    victims=51,
    told="accepted materialized end refused end accepted materialized released end "
    "demoted evicted end",
    named=CLAIM,
    proofs=((60, 70, 130, 80, 50),),
    looks=((60, 60), (10, 10)),
    twins={
        **HARD_TWINS,
        "end not told": Twin(drill(Kind.CLAIM_RELEASED), "ordered_lifecycle_events"),
    },
)
RANK: Final = Row(
    HARD,
    (claimed(HARD), routed("resident", 61), routed(*ACTIVE, elsewhere=True), ACTIVE, look),
    code=0,
    ends="0 refused",
    victims=0,
    told="accepted materialized end reused end routed_elsewhere end refused end",
    named=CLAIM,
    proofs=((60, 70, 130, 80, 50),),
    looks=(("prefix", 60), ("balancer", "request_routed_elsewhere"), (60, 60)),
    more=lambda folder: SECOND_OF_TWO,
    twins=twins(
        Kind.REQUEST_ROUTED_ELSEWHERE,
        REFUSED,
        off="victim_exclusion_before_violation",
        untold="explicit_conflict_action",
        misnamed="blocking_claim_ids",
    ),
)

OTHERS: Final = {
    "several caches, hard claim": SEVERAL,
    "a changed mode, stronger": STRONGER,
    "a changed mode, weaker": WEAKER,
    "a changed mode, then a demotion": Row(
        DEMOTABLE,
        (claimed(HARD), changed(DEMOTABLE), ACTIVE, look),
        code=0,
        ends="0 0 0",
        victims=51,
        told="accepted materialized end accepted materialized released end demoted evicted end",
        looks=((10, 10),),
        twins=DEMOTED_TWINS,
    ),
    "an adapter": Row(
        HARD,
        (
            adapted("resident", 60, claim()),
            ACTIVE,
            adapted("resident", 61),
            ("resident", 15),  # without the adapter
        ),
        code=0,
        ends="refused 0",
        victims=0,
        told="accepted materialized end refused end reused end end",
        named=CLAIM,
        proofs=((60, 70, 130, 80, 50),),
        looks=(0, 60),
        more=lambda folder: ADAPTERS,
        twins=HARD_TWINS,
    ),
    "an adapter, with an offload tier": replace(
        PATH_A,
        asks=(
            adapted("resident", 61, claim(mode=OFF)),
            ACTIVE,
            FILLER,
            PRESSING,
            adapted("resident", 61),
        ),
        ends="refused 0 0",
        looks=(0, 61),
        more=lambda folder: ADAPTERS,
    ),
    "n-grams": replace(
        L3,
        more=lambda folder: NGRAMS,
        under=uncompiled,
        twins=HARD_TWINS,
    ),
    "a request that never fits": Row(
        HARD,
        (("resident", 40, claim(blocks=40)), ("huge", 70), ("active", 30)),
        code=0,
        ends="0 never_fits refused",
        victims=0,
        told="accepted materialized end refused end refused end",
        named=CLAIM,
        proofs=((40, 70, 110, 60, 50), (40, 30, 70, 60, 10)),
        usable=60,
        under=unchecked,
        twins=HARD_TWINS,
    ),
    "the second of two ranks": RANK,
    "routes to the second of two ranks": Row(
        ROUTED,
        (claimed(ROUTED), routed("resident", 61), ACTIVE, look, routed("resident", 61), look),
        code=0,
        ends="0 0",
        victims=102,
        told="materialized end cost_reported placement_reported reused reuse_reported end "
        "evicted unmaterialized end cost_reported placement_reported evicted reuse_reported "
        "materialized end",
        looks=(("prefix", 60), (10, 10), ("prefix", 10), (60, 60)),
        more=lambda folder: SECOND_OF_TWO,
        twins={
            "cost not told": Twin(drill(Kind.ROUTE_COST_REPORTED), "route_cost_attribution"),
            "placement not told": Twin(
                drill(Kind.ROUTE_PLACEMENT_REPORTED), "placement_attribution"
            ),
            "reuse not told": Twin(drill(Kind.ROUTE_REUSE_REPORTED), "reuse_routing_attribution"),
            "misattributed": Twin(
                drill(Kind.ROUTE_PLACEMENT_REPORTED, other="claim:other"), "placement_attribution"
            ),
        },
    ),
}
"""Scenarios that the models of the pool do not have: several caches, changed modes, ranks."""


class InTwo(NamedTuple):
    """A row or its twin, with a spec of `tests_vllm.specs` for the tier, and the exit code that is
    due.
    """

    row: str
    twin: str = ""
    spec: str = ""
    code: int = 0


TWO_RANKS: Final = {
    "a hard claim": InTwo("L3 hard claim"),
    "a hard claim, not enforced": InTwo("L3 hard claim", "not enforced", code=1),
    "a hard claim, not told": InTwo("L3 hard claim", "not told", code=1),
    "a hard claim, misattributed": InTwo("L3 hard claim", "misattributed", code=1),
    "a tier": InTwo("path A, success"),
    "a tier, not told": InTwo("path A, success", "not told", code=1),
    "one rank fails to load": InTwo("path B, a load that fails", spec="SecondFailingSpec"),
    "one rank fails to store": InTwo("a store that fails", spec="SecondUnstoringSpec"),
    "one rank fails to compare": InTwo("path A, success", spec="SecondUncheckedSpec", code=3),
    "several caches": InTwo("several caches, hard claim"),
    "several tiers": InTwo("several tiers"),
}
"""Rows whose model is split over two processes (`tests_vllm.two_ranks`)."""

UNARMED: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "chunks alone": (
        configured("llama 4, chunks alone"),
        "no cache of the model is of full attention",
    ),
}
"""Engines that are not armed: the configuration, and the reason."""
