"""The rows of the table that need an offload tier: the three paths, and their controls."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from runtime_hooks.demo.engine import claim
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests_vllm.actions import counters, look
from tests_vllm.rows import Row, Twin, drill, twins

__all__ = ["BACK", "FAILED", "FILLER", "LEFT", "PATH_A", "PRESSING", "TIER"]

OFF, REFUSED = Mode.OFFLOADABLE, Kind.REQUEST_REFUSED
ACTIVE, CLAIM = ("active", 70), ("claim:resident",)

# A prompt one block longer than its claim is computed, copied with the next step, and taken.
PROMPT, FILLER, PRESSING = ("resident", 61), ("filler", 1), ("pressing", 75)
PLACED: Final = (*PROMPT, claim(mode=OFF))
LEFT: Final = "accepted materialized end end stored offloaded evicted end"
FAILED: Final = "restore_required load_failed restoration_failed refused end"
BACK: Final = "restore_required loaded restored reused end"
FAILURE: Final = (Kind.CLAIM_RESTORATION_FAILED, REFUSED)

PATH_A: Final = Row(
    OFF,
    (PLACED, ACTIVE, FILLER, PRESSING, PROMPT),
    code=0,
    ends="0 refused 0 0 61",
    victims=114,
    told=f"accepted materialized end refused end stored offloaded end evicted end evicted {BACK}",
    named=CLAIM,
    proofs=((60, 70, 130, 80, 50),),
    tier="fail",
    twins=twins(Kind.CLAIM_RESTORED, off="offload_restorability", untold="offload_restorability"),
)
PATH_B: Final = Row(
    OFF,
    (PLACED, FILLER, PRESSING, PROMPT),
    code=0,
    ends="0 0 0 not_restored",
    victims=113,
    told=f"{LEFT} evicted {FAILED}",
    named=CLAIM,
    settings=drill(fail="claim:resident"),
    tier="fail",
    twins=twins(
        *FAILURE,
        off="restoration_failure_outcome",
        untold="restoration_failure_outcome",
        fail="claim:resident",
    ),
)
PATH_C: Final = Row(
    OFF,
    (
        ("a", 61, claim("claim:a", mode=OFF)),
        FILLER,
        ("b", 61, claim("claim:b", mode=OFF)),
        ("filler 2", 1),
        PRESSING,
        ("more", 75),
        ("b", 61),
        ("a", 61),
    ),
    code=0,
    ends="0 0 0 0 0 0 not_restored 61",
    victims=205,
    told="accepted materialized end end stored offloaded "
    f"{LEFT} evicted end evicted {FAILED} {BACK}",
    named=("claim:b",),
    usable=130,
    settings=drill(fail="claim:b"),
    tier="fail",
    twins=twins(
        *FAILURE,
        off="restoration_failure_outcome",
        untold="restoration_failure_outcome",
        other="claim:a",
        fail="claim:b",
    ),
)

TIER: Final = {
    "path A, success": PATH_A,
    "path B, failure": PATH_B,
    "path B, policy recompute": replace(PATH_B, tier="recompute"),
    "path B, a load that fails": replace(PATH_B, settings={}, worker="FailingSpec", twins={}),
    "path B, a load that is not taken": replace(
        PATH_B, settings={}, worker="RefusingSpec", twins={}
    ),
    "path B, other bytes": replace(PATH_B, settings={}, worker="CorruptingSpec", twins={}),
    "a store that fails": Row(
        OFF,
        (PLACED, FILLER, ACTIVE, look, PROMPT, ("filler 2", 1), PRESSING, PROMPT),
        code=0,
        ends="0 0 refused 60 0 0 61",
        victims=115,
        told="accepted materialized end end refused end reused end end "
        f"stored offloaded evicted end evicted {BACK}",
        named=CLAIM,
        proofs=((60, 70, 130, 80, 50),),
        looks=((60, 60),),
        tier="fail",
        worker="UnstoringSpec",
        twins={"not enforced": Twin({"enforce": ()}, "offload_restorability")},
    ),
    "path C, two claims": PATH_C,
    "control: wrong claim": replace(
        PATH_C, code=1, settings=PATH_C.twins["misattributed"].settings, twins={}
    ),
    "control: unclaimed failure": Row(
        OFF,
        (PLACED, FILLER, PRESSING, ("other", 61), ("filler 2", 1), ("more", 75), ("other", 61)),
        code=0,
        ends="0 0 0 0 0 0 error",
        victims=251,
        told=f"{LEFT} evicted end evicted end evicted end evicted end",
        settings=drill(fail=""),
        tier="fail",
    ),
    "control: ordinary offload": Row(
        OFF,
        (PROMPT, FILLER, PRESSING, PROMPT),
        code=3,
        ends="0 0 0 61",
        victims=114,
        told="end end evicted end evicted end",
        tier="fail",
    ),
    "control: fallback recompute": replace(
        PATH_B,
        code=1,
        ends="0 0 0 61",
        victims=114,
        told=f"{LEFT} evicted restore_required load_failed materialized end",
        named=(),
        settings=PATH_B.twins["not enforced"].settings,
        tier="recompute",
        twins={},
    ),
    "control: retry, then restore": replace(
        PATH_B,
        asks=(*PATH_B.asks, PROMPT),
        ends="0 0 0 not_restored 61",
        told=f"{LEFT} evicted {FAILED} {BACK}",
        twins={},
    ),
    "control: generic counters": replace(
        PATH_B,
        asks=(*PATH_B.asks, counters),
        code=3,
        ends="0 0 0 error",
        victims=114,
        told=f"{LEFT} evicted restore_required load_failed end",
        named=(),
        looks=(1,),
        settings=PATH_B.twins["not enforced"].settings,
        twins={},
    ),
}
