"""Claims share blocks with claims that ended and were forgotten: it is unknown which, and nobody
says that they are there."""

from __future__ import annotations

import pytest

from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from tests.differential.compare import compare, heard
from tests.monitor.traces import CLAIM, OTHER, Trace
from tests.monitor.traces_canonical import about, canonical, canonical_claim, lines_of

ENDED = [
    about("claim_retired", OTHER, by="tenant:1"),
    about("claim_released", OTHER, by="tenant:1"),
]


def keyed(claim: str, first: int) -> Trace:
    """A claim of four positions that states what they hold: the same for all claims."""
    keys = ["s0", "s1", "s2", "s3"]
    lines = canonical_claim(claim, first=first)
    return [x | {"content_keys": keys} if x["kind"] == "claim_committed" else x for x in lines]


def plain(claim: str, first: int) -> Trace:
    """The same where all claims are on one object, and nothing else says what they hold."""
    return [x | {"object_id": "object"} for x in canonical_claim(claim, first=first)]


LOST = canonical("block_lost", block_ids=[100, 101, 102, 103])
HARMED = about("claim_harmed")
AGAIN = about("block_cached", OTHER, block_ids=[200, 201, 202, 203], positions=[0, 1, 2, 3])
GONE = about("block_lost", OTHER)
LATE = {
    "by name": [LOST, HARMED, AGAIN],
    "by object": [LOST, HARMED, {k: v for k, v in AGAIN.items() if k != "claim_id"}],
    "one that comes later": [AGAIN, *keyed("later", 300)[:3]],
}


def found(trace: Trace, claim: str, keep: Keep | None = None) -> dict[str, str]:
    """What is held of a claim at the end; a monitor that forgets is compared with the reference."""
    stream = lines_of(trace)
    compare(stream, Mode.HARD_PROTECTED, keep=keep)
    held = heard(stream, Mode.HARD_PROTECTED, keep).end[claim]
    return {name: verdict.value for name, (verdict, _) in held.items()}


@pytest.mark.parametrize("records", [0, 1])
@pytest.mark.parametrize("late", LATE)
def test_back(late: str, records: int) -> None:
    """Blocks of a forgotten claim are there again: who shares their content has them, too, and
    owes the news."""
    trace = [*keyed(CLAIM, 100), *keyed(OTHER, 100), *ENDED, *LATE[late]]
    claim = "later" if late == "one that comes later" else CLAIM
    assert "pending" == found(trace, claim)["claim_materialized_event"]
    forgetful = found(trace, claim, Keep(ended=0, records=records))
    assert "inconclusive" == forgetful["claim_materialized_event"]


@pytest.mark.parametrize("records", [0, 1])
def test_gone(records: int) -> None:
    """Blocks of a forgotten claim are gone, and no line says which: those that share its object
    have lost theirs."""
    gone = GONE | {"object_id": "object"}
    ended = [x | {"object_id": "object"} for x in ENDED]
    trace = [*plain(CLAIM, 100), *plain(OTHER, 100), *ended, gone]
    assert "pending" == found(trace, CLAIM)["claim_harm_attribution"]
    forgetful = found(trace, CLAIM, Keep(ended=0, records=records))
    assert "inconclusive" == forgetful["claim_harm_attribution"]


def test_nothing_late() -> None:
    """A claim that comes again and again, and is forgotten each time, leaves nothing open."""
    lives = [
        line
        for n in range(5)
        for line in (
            *(x | {"object_id": "object"} for x in keyed(f"claim:{n}", 100)),
            about("claim_retired", f"claim:{n}", by="tenant:1") | {"object_id": "object"},
            about("claim_released", f"claim:{n}", by="tenant:1") | {"object_id": "object"},
        )
    ]
    trace = [*lives, *(x | {"object_id": "object"} for x in keyed(CLAIM, 100))]
    assert found(trace, CLAIM) == found(trace, CLAIM, Keep(ended=0))


@pytest.mark.parametrize("records", [0, 1])
def test_committed_again(records: int) -> None:
    """A claim that was forgotten is committed again, and a block of it is chosen as a victim: which
    blocks it has is not known any more, so that this can be neither excluded nor found."""
    committed = next(x for x in canonical_claim(OTHER, first=100) if x["kind"] == "claim_committed")
    victim = canonical("block_evicted", block_ids=[100])
    trace = [*canonical_claim(OTHER, first=100), *ENDED, committed, victim]
    name = "victim_exclusion_before_violation"
    assert "violated" == found(trace, OTHER)[name]
    assert "inconclusive" == found(trace, OTHER, Keep(ended=0, records=records))[name]
