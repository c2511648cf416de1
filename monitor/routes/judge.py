"""Turns records of requests into canonical events, and judges claims of `routed_reuse` by them.

The join registers the claims of a registry before the requests, and reports under their ids where
the records state a fact: the cost and the worker that the router chose, and whether the engine
served the prefix. What no record states leaves an obligation open. No record has a number, so one
that is missing leaves no gap: no claim is ever kept (docs/decisions/0036). Source: Fail-Closed
Lowering of Resident KV Claims, table 5.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from monitor.check.conclude import Asked, concluded, found_in
from monitor.core import Streams
from monitor.input.records import Account, Doubt, Record, Stamp, at_line
from monitor.routes.dynamo import prefix_hashes, read_records
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.prose import counted
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.routes.dynamo import End, Records
    from monitor.watch.registry import Watched, Watching

__all__ = ["Route", "Routes", "events_of", "judge", "routes_of"]

_CHOICE: Final = frozenset({"route_cost_attribution", "placement_attribution"})
_REUSE: Final = frozenset({"reuse_routing_attribution"})
_STREAM: Final = "dynamo"
_UNNUMBERED: Final = "the records have no numbers: one that is missing leaves no gap"
_UNSERVED: Final = "no answer states what the engine served"
_UNSALTED: Final = (
    "no record states the cache salt or the adapter of a request, and not every one its model"
)
_MOST_LISTED: Final = 100
_MS: Final = 1_000_000  # nanoseconds

_Open: TypeAlias = tuple[str, str, frozenset[str]]  # why, the claim, and its obligations


class Route(NamedTuple):
    """A request whose prompt begins with the prefix of a claim.

    Attributes:
        choice: the worker and the cost; None if the records do not state both, and `unrouted` says
            why.
        believed, served: tokens that the router took for cached, and that the engine says were
            cached; None if it is not stated.
        needed: tokens that a hit on the prefix finds.
    """

    claim_id: str
    end: End
    choice: tuple[str, int] | None
    unrouted: str
    believed: int | None
    served: int | None
    needed: int

    @property
    def is_believed(self) -> bool:
        """Whether the router took the prefix for cached."""
        return self.believed is not None and self.believed >= self.needed

    @property
    def is_served(self) -> bool:
        """Whether the engine says that the prefix was cached."""
        return self.served is not None and self.served >= self.needed

    @property
    def differs(self) -> bool:
        """Whether the router took for cached what was not, or the other way round."""
        stated = self.believed is not None and self.served is not None
        return stated and self.is_believed is not self.is_served


class ClaimRoutes(msgspec.Struct, frozen=True):
    """What the records say of the requests whose prompts begin with the prefix of a claim.

    `routed` are those whose worker and cost are stated, `workers` counts these workers, and `cost`
    adds the costs, in millionths of a block. `believed` are those for which the router took the
    prefix for cached, `served` those for which the engine says so, and `unserved` those of
    which no answer is there.
    """

    claim_id: str
    requests: int
    routed: int
    workers: int
    cost: int
    believed: int
    served: int
    unserved: int


class Difference(msgspec.Struct, frozen=True):
    """A request for which the router took a prefix for cached, and the engine did not find it, or
    the other way round; both in tokens.
    """

    request_id: str
    claim_id: str
    believed: int
    served: int


class Routes(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/routes/1"):
    """What the records of a router say of the claims of a registry.

    `ended` counts the requests, and `others` the records that were passed over. `missing` says what
    the records do not state. `differences` has the first 100 of `differ`; they are no verdict: the
    router chose by what it knew.
    """

    verdict: ModeVerdict
    why: str
    ended: int
    others: int
    claims: list[ClaimRoutes]
    missing: list[str]
    differ: int
    differences: list[Difference]


def judge(watching: Watching, files: Sequence[str]) -> Routes:
    """Judge the claims of a registry by records of requests.

    Raises:
        InputError: a file cannot be read, or a line is none of the known records.
        SpecError: a package is missing.
    """
    hashes = {name: prefix_hashes(claim.blocks) for name, claim in watching.claims.items()}
    prefixes: dict[tuple[int, int], list[str]] = {}
    for name, found in hashes.items():
        prefixes.setdefault((len(found), found[-1]), []).append(name)
    records = read_records(files, watching.block_size, prefixes)
    routes = routes_of(watching, records)
    streams = Streams(Mode.ROUTED_REUSE)
    for record in events_of(watching, hashes, routes, files[0]):
        streams.take(record)
    streams.finish()
    report = concluded(Asked(Mode.ROUTED_REUSE), found_in(streams, [*map(Account, files)]))
    missing = _missing(watching, records, routes)
    different = [each for each in routes if each.differs]
    of_claim: dict[str, list[Route]] = {name: [] for name in watching.claims}
    for each in routes:
        of_claim[each.claim_id].append(each)
    return Routes(
        report.verdict,
        missing[0],
        records.ended,
        records.others,
        [_summary(name, of_claim[name]) for name in watching.claims],
        missing,
        len(different),
        [
            Difference(each.end.request_id, each.claim_id, each.believed or 0, each.served or 0)
            for each in different[:_MOST_LISTED]
        ],
    )


def routes_of(watching: Watching, records: Records) -> list[Route]:
    """The requests with the prefix of a claim that came after the registry was made."""
    size, since_ms = watching.block_size, watching.since_ns // _MS
    found = []
    for end in records.ends.values():
        choice, unrouted = _choice(end, records)
        for name in end.claims if end.received_ms >= since_ms else ():
            whole = len(watching.claims[name].blocks)
            # The last token is computed whatever is cached.
            most = whole if end.tokens is None else min(whole, (end.tokens - 1) // size)
            served, needed = records.served.get(end.request_id), max(most, 1) * size
            found.append(Route(name, end, choice, unrouted, end.believed, served, needed))
    return found


def _choice(end: End, records: Records) -> tuple[tuple[str, int] | None, str]:
    """The worker and the cost that the router chose for a request, or why they are not known."""
    chosen = records.selected.get(end.request_id, [])
    if end.request_id in records.again:
        return None, "the trace states the end of the request twice"
    if not chosen:
        return None, "no log of the router states the cost of its choice"
    if len(chosen) > 1:
        return None, "the router chose more than once"
    worker, cost = chosen[0]
    if cost is None:
        return None, "the cost is no amount"
    if worker != end.worker:
        return None, "the trace does not name the worker that the router chose"
    return (worker, cost), ""


def events_of(
    watching: Watching, hashes: dict[str, list[int]], routes: Sequence[Route], file: str
) -> Iterator[Record]:
    """The canonical events of some routes, in the order of time, and which obligations are open.

    Args:
        hashes: of the blocks of each claim's prefix.
        file: what the records cite.
    """
    line = 0

    def record(time_ms: int, events: Sequence[Event], left: Sequence[_Open] = ()) -> Record:
        nonlocal line
        line += 1
        at = at_line(file, line)
        stamp = Stamp(_STREAM, None, time_ms * _MS)
        stay_open = tuple(Doubt(*each) for each in left)
        return Record(at, stamp, tuple((event, at) for event in events), None, stay_open)

    first_ms = watching.since_ns // _MS
    for name, claim in watching.claims.items():
        yield record(first_ms, [_registered(claim, hashes[name])])
    by_request: dict[str, list[Route]] = {}
    for each in routes:
        by_request.setdefault(each.end.request_id, []).append(each)
    steps = [
        (time_ms, place, is_end, name)
        for place, (name, (each, *_)) in enumerate(by_request.items())
        for time_ms, is_end in ((each.end.received_ms, False), (each.end.ended_ms, True))
    ]
    last_ms = first_ms
    for time_ms, _, is_end, name in sorted(steps):
        last_ms = max(last_ms, time_ms)
        yield record(last_ms, *(_ended if is_end else _began)(by_request[name]))
    yield msgspec.structs.replace(record(last_ms, ()), lost=_UNNUMBERED)


def _registered(claim: Watched, hashes: Sequence[int]) -> Event:
    return Event(
        kind=Kind.CLAIM_REGISTERED,
        claim_id=claim.claim_id,
        owner_scope=claim.owner,
        object_id=f"prefix of {claim.prefix}",
        cache_identity=claim.identity,
        mode=claim.mode,
        predicate=claim.predicate,
        keys=tuple(f"{each:016x}" for each in hashes),
    )


def _began(routes: Sequence[Route]) -> tuple[list[Event], list[_Open]]:
    """The choice of the router, reported for each claim, and the arrival of the request."""
    events: list[Event] = []
    for each in routes:
        if each.choice is not None:
            worker, cost = each.choice
            events += [
                _event(Kind.REQUEST_ROUTED, each, worker=worker, cost=cost),
                _event(Kind.ROUTE_COST_REPORTED, each, cost=cost),
                _event(Kind.ROUTE_PLACEMENT_REPORTED, each, worker=worker),
            ]
    events.append(Event(kind=Kind.REQUEST_ARRIVED, request_id=routes[0].end.request_id))
    return events, [(e.unrouted, e.claim_id, _CHOICE) for e in routes if e.unrouted]


def _ended(routes: Sequence[Route]) -> tuple[list[Event], list[_Open]]:
    """What the engine served, reported for each claim, and the end of the request."""
    stated = [each for each in routes if each.served is not None]
    events = [
        _event(kind, each, hit=each.is_served)
        for each in stated
        for kind in (Kind.REUSE_SERVED, Kind.ROUTE_REUSE_REPORTED)
    ]
    events.append(Event(kind=Kind.REQUEST_FINISHED, request_id=routes[0].end.request_id))
    return events, [(_UNSERVED, e.claim_id, _REUSE) for e in routes if e.served is None]


def _event(kind: Kind, route: Route, **fields: Any) -> Event:
    """An event of a request, about a claim."""
    request_id, claim_id = route.end.request_id, route.claim_id
    return Event(kind=kind, request_id=request_id, claim_id=claim_id, **fields)


def _summary(name: str, routes: Sequence[Route]) -> ClaimRoutes:
    choices = [each.choice for each in routes if each.choice is not None]
    return ClaimRoutes(
        name,
        requests=len(routes),
        routed=len(choices),
        workers=len({worker for worker, _ in choices}),
        cost=sum(cost for _, cost in choices),
        believed=sum(each.is_believed for each in routes),
        served=sum(each.is_served for each in routes),
        unserved=sum(each.served is None for each in routes),
    )


def _missing(watching: Watching, records: Records, routes: Sequence[Route]) -> list[str]:
    """What the records do not state."""
    found = [_UNNUMBERED, _UNSALTED]
    requests = {each.end.request_id: each for each in routes}
    for why, count in Counter(e.unrouted for e in requests.values() if e.unrouted).items():
        found.append(f"{counted(count, 'request')}: {why}")
    if count := sum(each.served is None for each in requests.values()):
        found.append(f"{counted(count, 'request')}: {_UNSERVED}")
    if records.unhashed:
        size = watching.block_size
        found.append(
            f"{counted(records.unhashed, 'end')}: no hashes of blocks of {size} tokens, "
            "so the prefix is not known"
        )
    for what, stated in (("choice", records.selected), ("answer", records.served)):
        if unended := len(stated.keys() - records.known):
            found.append(f"{counted(unended, what)} of requests whose end is not in the trace")
    if older := len(records.ends) - len(requests):
        found.append(f"{counted(older, 'request')} older than the registry: {watching.says_since}")
    return found
