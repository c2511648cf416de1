"""Short streams on which the monitor and the reference once differed."""

from __future__ import annotations

from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from tests.differential.compare import compare, heard
from tests.monitor.traces import CLAIM, OTHER, Trace
from tests.monitor.traces_canonical import about, canonical, canonical_claim, lines_of

ARRIVED = canonical("request_arrived", request_id="q", needed=7, usable=10)
FAILED = about("load_failed", OTHER, request_id="early")
OF_ANOTHER = about("request_finished", request_id="q", predicate="leading_prefix_at_least(1)")


def found(trace: Trace, missing: int = 0, mode: Mode = Mode.HARD_PROTECTED) -> dict[str, str]:
    """What both hold of the claim at the end, where so many lines are missing before the first."""
    lines = lines_of(trace, missing)
    compare(lines, mode)
    held = heard(lines, mode).end[CLAIM]
    return {name: verdict.value for name, (verdict, _) in held.items()}


def test_ends_under_another_identity() -> None:
    """The end of a request that names a claim wrongly is a silent end all the same."""
    held = found([*canonical_claim(), ARRIVED, OF_ANOTHER])
    assert "violated" == held["claim_identity"]
    assert "violated" == held["explicit_conflict_action"]


def test_named_by_an_end_that_contradicts() -> None:
    """A claim is met where the end of a request names it that never came."""
    named = about("request_finished", request_id="q")
    assert {"inconclusive"} == set(found([named]).values())


def test_came_before_the_first_line() -> None:
    """A request that ends, and whose arrival is missing, came before the claims that came since."""
    assert "satisfied" == found([*canonical_claim()], missing=5)["footprint_accounting"]
    late = [*canonical_claim(), FAILED, canonical("request_finished", request_id="early")]
    assert "satisfied" == found(late, missing=5)["footprint_accounting"]


def test_comes_twice_and_something_was_unclear_between() -> None:
    """Of a request that comes twice nobody knows what failed for it before the second arrival."""
    unclear = canonical("prefix_lookup", claim_id=OTHER, object_id="another")
    twice = [ARRIVED, FAILED, unclear, ARRIVED, canonical("request_finished", request_id="q")]
    bounded = canonical("request_bounded", request_id="q")
    claims = [canonical_claim(each, mode="offloadable") for each in (OTHER, CLAIM)]
    held = found([*claims[0], *twice, *claims[1], bounded], mode=Mode.OFFLOADABLE)
    assert "inconclusive" == held["restoration_failure_outcome"]


def test_a_loss_under_another_identity() -> None:
    """An eviction that names a claim wrongly breaks its identity, and shows no loss of it."""
    gone = canonical("block_evicted", claim_id=CLAIM, object_id="another", block_ids=[100])
    held = found([*canonical_claim(), gone])
    assert "violated" == held["claim_identity"]
    assert "inconclusive" == held["victim_exclusion_before_violation"]


def test_withdrawn_under_another_identity() -> None:
    """A claim that nobody committed to, and whose owner withdraws it in another cache, goes by two
    identities."""
    [registered, *_] = canonical_claim(mode="soft_priority")
    gone = canonical("claim_retired", claim_id=CLAIM, cache_identity="another", by="tenant:1")
    held = found([registered, gone], mode=Mode.SOFT_PRIORITY)
    assert "violated" == held["claim_identity"]


def test_contents_stated_under_another_identity() -> None:
    """A commitment that names a claim wrongly states nothing of what its blocks hold."""
    keys = {"content_keys": ["k", "l", "m", "n"]}
    [registered, committed, accepted, *_] = canonical_claim()
    other = canonical_claim(OTHER, first=200)
    wrongly = {**committed, "claim_id": OTHER, **keys}
    trace = [registered, {**committed, **keys}, accepted, other[0], wrongly, other[3]]
    assert "unexercised" == found(trace)["claim_materialized_event"]


def test_a_load_under_another_identity() -> None:
    """A load that names a claim wrongly, and states no number of blocks, breaks its identity."""
    loaded = canonical("load_finished", claim_id=CLAIM, object_id="another", request_id="q")
    assert "violated" == found([*canonical_claim()[:3], loaded])["claim_identity"]


def test_a_loss_under_another_identity_after_a_withdrawal() -> None:
    """Facts are no news of a claim that was withdrawn before anybody committed to it."""
    [registered, *_] = canonical_claim(mode="best_effort")
    gone = canonical("claim_retired", claim_id=CLAIM, by="tenant:1")
    lost = canonical("block_evicted", claim_id=CLAIM, cache_identity="another", block_ids=[100])
    held = found([registered, gone, lost], mode=Mode.BEST_EFFORT)
    assert "inconclusive" == held["claim_identity"]


def test_over_too_early_after_a_second_commitment() -> None:
    """A duration that began anew cannot be over at once, though the first commitment had none."""
    registered = canonical_claim(mode="expiring", duration="15 s")[0]
    commits = canonical("claim_committed", claim_id=CLAIM, footprint=4)
    over = canonical("duration_elapsed", claim_id=CLAIM)
    first = [{**commits, "time_ns": 1_000}, {**over, "time_ns": 1_000}]
    again = [{**each, "time_ns": 15_000_002_000} for each in (commits, over)]
    stream = [*first, {**registered, "time_ns": 2_000}, *again]
    assert "inconclusive" == found(stream, mode=Mode.EXPIRING)["claim_identity"]


def test_reported_lost_after_a_withdrawal() -> None:
    """That a withdrawn claim is not there any more is no false report, though it held its blocks
    when its entry ended: what is held since is not followed."""
    [registered, *_] = canonical_claim(mode="routed_reuse")
    held = canonical("block_cached", claim_id=CLAIM, positions=[0, 1, 2])
    gone = canonical("claim_retired", claim_id=CLAIM, by="tenant:1")
    trace = [registered, held, gone, canonical("claim_unmaterialized", claim_id=CLAIM)]
    for missing in (0, 1):
        said = found(trace, missing, Mode.ROUTED_REUSE)
        assert "unexercised" == said["materialization_predicate"]
        assert "unexercised" == said["claim_scoped_telemetry"]


def test_reported_there_after_a_withdrawal() -> None:
    """That a withdrawn claim is there is true of the blocks that it held when its entry ended, and
    is not judged if it held too few."""
    [registered, *_] = canonical_claim(mode="routed_reuse")
    held = canonical("block_cached", claim_id=CLAIM, positions=[0, 1, 2])
    gone = canonical("claim_retired", claim_id=CLAIM, by="tenant:1")
    there = canonical("claim_materialized", claim_id=CLAIM)
    back = canonical("claim_restored", claim_id=CLAIM, request_id="q")
    for missing in (0, 1):
        true = found([registered, held, gone, there], missing, Mode.ROUTED_REUSE)
        assert "satisfied" == true["materialization_predicate"]
        for report in (there, back):
            since = found([registered, gone, held, report], missing, Mode.ROUTED_REUSE)
            assert "unexercised" == since["materialization_predicate"]


def test_lost_after_a_withdrawal() -> None:
    """A block that goes after a withdrawal was none of the claim's, whether or not that was
    forgotten meanwhile."""
    [registered, *_] = canonical_claim(mode="best_effort")
    gone = canonical("claim_retired", claim_id=CLAIM, by="tenant:1")
    lost = canonical("block_evicted", block_ids=[100])
    trace = [registered, gone, lost, canonical("claim_released", claim_id=CLAIM, by="tenant:1")]
    assert "satisfied" == found(trace, 5, Mode.BEST_EFFORT)["claim_identity"]
    compare(lines_of(trace, 5), Mode.BEST_EFFORT, keep=Keep(ended=0))
