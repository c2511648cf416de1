"""Derives from a trace of the plugin what prompts hold, and which of them begin alike.

A trace names no content. That a prompt begins like another one follows from a claim that both
looked up, or from the first blocks that a request did not compute: it found them, so they hold what
an earlier prompt begins with. Where several prompts, or none, may be that one, it is left open, and
each possibility is tried. Not among them is that a prompt begins with what another one has beyond
an object that both share, unless a claim says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, product
from typing import Final, NamedTuple

from models.framework.hooked import Watch, facts_of
from spec.claims.claim import Mode
from spec.claims.predicates import parse_predicate
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError

__all__ = ["Lineage", "Seen", "lineages_of"]

_MOST: Final = 64
"""Possibilities that are tried."""


class Seen(NamedTuple):
    """A prompt: the first `shared` blocks are those of an object, the next ones are its own.

    `tail` are blocks behind the whole ones. `start` is the first position that was computed or
    loaded; None where nothing was.
    """

    name: str
    object_id: str
    shared: int
    own: int = 0
    tail: int = 0
    start: int | None = None


class Lineage(NamedTuple):
    """The prompts in the order of their arrival, and the claims."""

    prompts: tuple[Seen, ...]
    watches: tuple[Watch, ...]


class _Claim(NamedTuple):
    claim_id: str
    size: int
    spares: bool


class _Objects:
    """Which claims and requests begin alike: each set of them is an object, named by its first."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def name(self, member: str) -> str:
        """The object of a claim or a request."""
        while (above := self._of.get(member, member)) != member:
            member = above
        return member

    def join(self, one: str, other: str) -> None:
        """Two of them begin alike."""
        self._of[self.name(other)] = self.name(one)


def lineages_of(events: Sequence[Event]) -> Iterator[Lineage]:
    """What the prompts of a trace may hold: each possibility, the likeliest first.

    Raises:
        SpecError: no request arrives, or what a prompt or a claim is about is undetermined.
    """
    arrivals = [event for event in events if event.kind is Kind.REQUEST_ARRIVED]
    if not arrivals:
        raise SpecError("no request arrives in the stream", "give a trace that the plugin wrote")
    claims = _claims(events)
    objects = _joined(events, claims)
    watches = tuple(
        Watch(each.claim_id, objects.name(f"claim {each.claim_id}"), each.size)
        for each in claims.values()
    )
    for chosen in islice(product(*_Prompts(events, claims, objects).options()), _MOST):
        yield Lineage(chosen, watches)


def _joined(events: Sequence[Event], claims: Collection[str]) -> _Objects:
    """Join each claim with the requests that looked it up, and with those whose blocks it found."""
    objects, of = _Objects(), dict[int, str]()
    for event in events:
        named = f"claim {event.claim_id}" if event.claim_id in claims else None
        if event.kind in (Kind.BLOCK_EVICTED, Kind.BLOCK_LOST):
            for block in event.block_ids or tuple(of):
                of.pop(block, None)
        elif event.request_id is not None:
            of |= dict.fromkeys(event.block_ids, f"request {event.request_id}")
            if named is not None:
                objects.join(named, f"request {event.request_id}")
        elif event.found and named is not None:
            for block in event.block_ids:
                objects.join(named, of.get(block, named))
    return objects


def _claims(events: Sequence[Event]) -> dict[str, _Claim]:
    rejected = {event.claim_id for event in events if event.kind is Kind.CLAIM_REJECTED}
    claims: dict[str, _Claim] = {}
    for event in events:
        if event.kind is not Kind.CLAIM_REGISTERED or event.claim_id in rejected:
            continue
        predicate = parse_predicate(event.predicate or "")
        if event.claim_id is None or event.mode not in set(Mode) or predicate.start:
            raise SpecError(f"claim {event.claim_id} is not on a leading prefix in a known mode")
        spares = not MODES[Mode(event.mode)].constants["watched"]
        claims[event.claim_id] = _Claim(event.claim_id, predicate.end, spares)
    return claims


class _Request:
    """What a trace shows of a request: its need, and what it looked up, computed and loaded."""

    def __init__(self, name: str, needed: int, there: frozenset[int]) -> None:
        self.name, self.needed = name, needed
        self.spared = 0  # blocks of claims, which its need leaves out
        self._there = there  # the positions of its object that were cached when it arrived
        self.shares = 0  # blocks that it shares with claims
        self.positions: list[int] = []
        self.leading: dict[str, int] | None = None  # of each object, at its look-up
        # The objects that it may begin like, and whether it goes on as none of them does.
        self.like: dict[str, bool] = {}
        self.ended = False

    def spare(self, asked: int) -> None:
        """Its need leaves out the first blocks that claims own, as the plugin's ledger counts them.

        A claimed block behind a gap is there, but the request cannot reach it, and needs its own.
        """
        gap = min({*range(asked)} - self._there, default=asked)
        behind = sum(gap < at < asked for at in self._there)
        self.spared = max(self.spared, asked - behind)

    @property
    def blocks(self) -> int:
        return self.needed + self.spared


class _Prompts:
    """Follows what each block holds, to find what a request found."""

    def __init__(
        self, events: Sequence[Event], claims: dict[str, _Claim], objects: _Objects
    ) -> None:
        self._claims, self._objects = claims, objects
        self._holds: dict[int, tuple[str, int]] = {}
        self._sizes: dict[str, int] = {}  # of the objects so far
        self._taken: dict[int, str] = {}  # the request that a block was evicted for
        self._requests: dict[str, _Request] = {}
        self._linked = {objects.name(f"claim {each}") for each in claims}
        self._whole = {e.request_id for e in events if e.kind is Kind.REQUEST_DEFERRED}
        needs = {e.request_id: e.needed for e in events if e.kind is Kind.REQUEST_ARRIVED}
        for _, event in facts_of(events):
            if event.kind is Kind.REQUEST_ARRIVED and event.request_id is not None:
                needed = needs[event.request_id] or 0
                name = objects.name(f"request {event.request_id}")
                there = frozenset(at for of, at in self._holds.values() if of == name)
                self._requests[event.request_id] = _Request(event.request_id, needed, there)
            else:
                self._take(event)

    def _take(self, event: Event) -> None:
        request = self._requests.get(event.request_id or "")
        match event.kind:
            case Kind.BLOCK_EVICTED | Kind.BLOCK_LOST:
                if request is not None and request.leading is None:
                    request.leading = self._cached()
                for block in event.block_ids or tuple(self._holds):
                    self._holds.pop(block, None)
                    self._taken[block] = event.request_id or ""
            case Kind.PREFIX_LOOKUP if request is not None:
                asked, claim = event.asked or 0, self._claims.get(event.claim_id or "")
                if claim is None:
                    said = f"a look-up of {request.name} is for no claim that the stream registers"
                    raise SpecError(said)
                request.shares = max(request.shares, asked)
                if claim.spares and request.name not in self._whole:
                    request.spare(asked)
            case Kind.BLOCK_CACHED if request is not None and event.positions:
                self._filled(request, event)
            case Kind.LOAD_FINISHED if event.positions:
                by = self._requests.get(self._taken.get(event.block_ids[0], ""))
                if by is None or by.ended:
                    by = next((each for each in self._requests.values() if not each.ended), None)
                if by is not None:
                    self._filled(by, event)
            case Kind.REQUEST_FINISHED if request is not None:
                request.ended = True
                if not request.positions:
                    self._nothing(request)

    def _named(self, request: _Request) -> str:
        return self._objects.name(f"request {request.name}")

    def _cached(self) -> dict[str, int]:
        """How many first blocks of each object are cached."""
        there, leading = set(self._holds.values()), dict.fromkeys(self._sizes, 0)
        for name in leading:
            while (name, leading[name]) in there:
                leading[name] += 1
        return leading

    def _filled(self, request: _Request, event: Event) -> None:
        """A block of a request holds its content from now on."""
        block, at = event.block_ids[0], event.positions[0]
        if not request.positions:
            own = self._named(request)
            known = at == 0 or own in self._linked
            seen = request.leading or {}
            leading = self._cached() | {name: n for name, n in seen.items() if n >= at}
            fits = sorted((n for n in leading if leading[n] >= at), key=leading.__getitem__)
            new = at + 1 < request.blocks and at > 0 and request.shares <= at
            likely = [own] if known else fits
            request.like = {name: new and leading.get(name, 0) > at for name in likely}
        request.positions.append(at)
        name, leaves = next(iter(request.like.items()), (self._named(request), True))
        if not leaves:
            self._sizes[name] = max(self._sizes.get(name, 0), at + 1)
        self._holds[block] = (f"own {request.name}" if leaves else name), at

    def _nothing(self, request: _Request) -> None:
        """A request has ended, and nothing that it computed or loaded was cached."""
        own = self._named(request)
        if own in self._linked:
            request.like = {own: False}
            return
        found = [name for name, first in self._cached().items() if first >= request.blocks - 1]
        away = [name for name, size in self._sizes.items() if size == request.blocks]
        request.like = dict.fromkeys([*away, *found, own], False)

    def options(self) -> list[list[Seen]]:
        """What each prompt may be."""
        return [self._option(each) for each in self._requests.values()]

    def _option(self, request: _Request) -> list[Seen]:
        if not request.positions:
            names = list(request.like) or [self._named(request)]
            whole = [Seen(request.name, name, request.blocks) for name in names]
            tailed = [each._replace(shared=each.shared - 1, tail=1) for each in whole]
            return whole + [each for each in tailed if each.shared]
        size, start = max(request.positions) + 1, min(request.positions)
        tail = request.blocks - size
        if tail < 0 or not request.like:
            said = f"what request {request.name} shares with the ones before it is undetermined"
            raise SpecError(said)
        first = max(start, request.shares)
        shared = {name: first if leaves else size for name, leaves in request.like.items()}
        return [
            Seen(request.name, name, blocks, size - blocks, tail, start)
            for name, blocks in shared.items()
        ]
