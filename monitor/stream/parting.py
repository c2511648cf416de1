"""Parts a stream whose claims go by several modes: what is left is judged by one of them.

Each mode takes a copy of the stream. A claim of another mode is followed there for the sake of the
pool alone.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from monitor.evaluate.compile import compile_mode
from monitor.evaluate.nothing import NOTHING
from monitor.input.records import CANONICAL
from monitor.pool.objects import open_without
from monitor.stream.overview import Overview
from monitor.stream.stream_state import INTRODUCES

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.compile import Compiled
    from monitor.input.records import Record
    from monitor.stream.keep import Keep
    from monitor.stream.projection import Stream
    from spec.claims.claim import Mode
    from spec.contract.modes import Bundle
    from spec.events.alphabet import Kind
    from spec.events.canonical import Event

__all__ = ["Parting", "fits"]

_ELSEWHERE: Final = "another mode judges it"


@cache
def _is_open_without(kind: Kind, obligations: frozenset[str]) -> bool:
    return bool(open_without(kind, obligations))


def fits(stream: Stream, event: Event) -> bool:
    """Whether an event leaves it clear by which one mode each claim goes, or means the same to all
    modes; if not, the stream is to be parted before.
    """
    kind, claim_id, store = event.kind, event.claim_id, stream.store
    if claim_id is None:
        return event.object_id is not None or not (
            any(_is_open_without(kind, each.names) for each in store.judges.values())
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


def _sees_enough(stream: Stream, observes: frozenset[Kind]) -> bool:
    """Whether hooks that state no other facts than these observe what each obligation rests on."""
    observed = observes & stream.store.observed
    judges = stream.store.judges.values()
    return all(facts <= observed for each in judges for facts in each.facts)


def _part(stream: Stream, compiled: Compiled, *, guests: bool = False) -> None:
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
    claim.expanded()
    claim.retired = claim.kept = claim.doubts = NOTHING
    claim.take_observers(compiled)
    claim.taint, claim.owes = claim.taint or (None, _ELSEWHERE), False


class Parting(Overview):
    """A monitor whose streams judge the claims of several modes, until they are parted."""

    mode: Mode
    bundle: Bundle
    keep: Keep | None
    beside: tuple[Mode, ...]

    def _stream(self, file: str, name: str) -> Stream:
        raise NotImplementedError

    def _keep(self) -> Keep:
        raise NotImplementedError

    def _of(self, record: Record) -> Stream:
        """The stream of a record."""
        return self._stream(record.stamp.file or record.at.file, record.stamp.stream)

    @property
    def apart(self) -> bool:
        """Whether its modes are to be judged each by a monitor of its own, and this one's verdicts
        are none: a claim states no mode or two, or what is missing concerns each mode in another
        way.
        """
        return any(stream.apart for stream in self._streams.values())

    def fits(self, record: Record) -> bool:
        """Whether a record can be taken by all of its modes at once."""
        stream = self._of(record)
        observes = record.stamp.observes
        canonical = record.stamp.form is CANONICAL
        if canonical and observes is not None and not _sees_enough(stream, observes):
            return False
        return all(fits(stream, event) for event, _ in record.events)

    def own_of(self, claim: ClaimRun) -> ClaimRun:
        """The claim here that is the same as one of another monitor; that one, if it is gone."""
        for (_, name), stream in self._streams.items():
            if name == claim.stream and claim.claim_id in stream.claims:
                return stream.claims[claim.claim_id]
        return claim

    def part(self, mode: Mode, keep: Keep | None = None) -> None:
        """Judge by this mode alone from now on: what others judge is followed elsewhere.

        Args:
            keep: what is kept of claims from now on, by default as before; with `elsewhere` the
                claims of other modes are guests.
        """
        self.mode, self.beside, self.keep = mode, (), keep or self.keep
        compiled, guests = compile_mode(mode, self.bundle), keep is not None
        for stream in self._streams.values():
            _part(stream, compiled, guests=guests)
            if keep is not None:
                stream.store.keep_by(self._keep())

    @property
    def kept(self) -> list[Keep]:
        """What is kept of claims, here and in each stream."""
        kept = [] if self.keep is None else [self.keep]
        return [*kept, *(stream.store.keep for stream in self._streams.values())]
