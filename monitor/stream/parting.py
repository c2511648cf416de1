"""Parts a stream whose claims go by several modes: what is left is judged by one of them.

Each mode takes a copy of the stream. A claim of another mode is followed there for the sake of the
pool alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.claim_record import NOTHING
from monitor.pool.objects import open_without
from monitor.stream.stream_state import INTRODUCES

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.compile import Compiled
    from monitor.stream.projection import Stream
    from spec.events.alphabet import Kind
    from spec.events.canonical import Event

__all__ = ["fits", "part", "sees_enough"]

_ELSEWHERE: Final = "another mode judges it"


def fits(stream: Stream, event: Event) -> bool:
    """Whether an event leaves it clear by which one mode each claim goes, or means the same to all
    modes; if not, the stream is to be parted before.
    """
    kind, claim_id, store = event.kind, event.claim_id, stream.store
    if claim_id is None:
        return event.object_id is not None or not (
            any(open_without(kind, each.names) for each in store.judges.values())
            and not store.blocks.owners(event.block_ids)
        )
    claim = store.claims.get(claim_id)
    if claim is None and not store.past.has(claim_id):
        new = kind in INTRODUCES and event.mode in store.judges
        return new and not store.past.lost(claim_id)
    if kind not in INTRODUCES or event.mode is None:
        return True
    stated = store.past.mode(claim_id) if claim is None else claim.declared_mode
    return event.mode == stated


def sees_enough(stream: Stream, observes: frozenset[Kind]) -> bool:
    """Whether hooks that state no other facts than these observe what each obligation rests on."""
    observed = observes & stream.store.observed
    judges = stream.store.judges.values()
    return all(facts <= observed for each in judges for facts in each.facts)


def part(stream: Stream, compiled: Compiled, *, guests: bool = False) -> None:
    """The stream is judged by one mode from now on.

    Args:
        guests: claims of other modes are guests, as `Keep.elsewhere` has it.
    """
    stream.judge_by(compiled)
    store = stream.store
    for claim in store.claims.values():
        if claim.compiled is compiled:
            continue
        claim.stir()
        store.owing.pop(claim.claim_id, None)
        store.requests.leave_all(claim)
        _estrange(claim, compiled)
        claim.guest = guests and claim.declared_mode is not None
    if guests:
        store.past.forsake(lambda run: run.compiled is compiled)
    for alike in store.past:
        if alike.run.compiled is not compiled:
            _estrange(alike.run, compiled)


def _estrange(claim: ClaimRun, compiled: Compiled) -> None:
    """Another mode judges a claim; what is concluded of it here counts for nothing."""
    claim.retired = claim.kept = claim.doubts = NOTHING
    claim.take_observers(compiled)
    claim.taint, claim.owes = claim.taint or (None, _ELSEWHERE), False
