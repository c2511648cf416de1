"""Turns a judge into a value and back: all that decides what later events come to.

The value has no places of lines, and has event numbers by their order alone. What is remembered up
to a limit is taken to be remembered for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from spec.events.alphabet import Kind
from spec.stream.claim import Claim, Finding, Scope, Stand, predicate_of
from spec.stream.codes import Code, Reason
from spec.stream.fields import number
from spec.stream.judge import Judge
from spec.stream.pool import Key, Object
from spec.stream.request import Request

__all__ = ["Value", "freeze", "relabelled", "renamed", "thaw"]

Value: TypeAlias = tuple[Any, ...]
"""Nested tuples and frozen sets of plain values, which are compared and hashed."""

_Names: TypeAlias = dict[Object, Value]

_DECIDED: Final = Reason(Code.UNKNOWN_POOL, "decided before")
_PLAIN: Final = (
    *("claim_id", "mode", "stated_mode", "owner", "duration", "priority", "disputed", "footprint"),
    *("known", "introduced", "accepted", "retired", "least", "end", "elapsed", "early", "state"),
    "final",
)
"""The fields of a claim that are plain values."""


# To a value.


def freeze(judge: Judge) -> Value:
    """The state of a judge. Another of the same settings that goes on from it comes to the same."""
    pool, order, requests = judge.pool, judge.order, judge.requests
    claims, listed = judge.claims.values(), judge.objects._by_id.values()
    own = {c.obj: (None, c.claim_id, None) for c in claims if c.obj.object_id is None}
    names: _Names = {o: (o.object_id, o.identity, o.token_map) for each in listed for o in each}
    names |= own
    ranks = _ranks(judge)

    def key(of: Key) -> Value:
        return (names[of.of], *of[1:]) if isinstance(of.of, Object) else of

    return (
        frozenset((block, k and key(k)) for block, k in pool.blocks.items()),
        frozenset(_frozen_claim(judge, c, names[c.obj], ranks.get(c, 0)) for c in claims),
        frozenset(key(k) for k, blocks in pool.held.items() if None in blocks),
        frozenset((t, key(k), n) for t, tier in pool.copies.items() for k, n in tier.items()),
        frozenset((name, o.identity, o.token_map, o.contents) for o, name in names.items()),
        frozenset(_frozen_request(judge, r, ranks.get(r, 0)) for r in requests),
        frozenset(_frozen_request(judge, r, ranks.get(r, 0)) for r in requests._over.values()),
        frozenset(judge._ids),
        (order.sequence, order.time_ns, order.opened is not None, order.closed, order.mixed),
        (judge.broken is not None, judge.restating, judge._steps_stated),
        (judge.observes, judge.told, frozenset(pool.groups.items())),
    )


def _ranks(judge: Judge) -> dict[Claim | Request, int]:
    """For each responsible claim and each request a number, so that a claim's is at most a
    request's exactly if the runtime was responsible for the claim when the request arrived.
    """
    requests = [r for r in judge.requests if r.in_hand]
    if Kind.REQUEST_ARRIVED not in judge.observes:  # then it may end again
        requests += judge.requests._over.values()
    came: list[tuple[int, int, Claim | Request]] = [(r.since, 1, r) for r in requests]
    came += [(c.took, 0, c) for c in judge.claims.values() if c.responsible]
    found, rank, last = dict[Claim | Request, int](), 1, 0
    for _, arrives, each in sorted(came, key=lambda one: one[:2]):
        rank += last > arrives
        found[each], last = rank, arrives
    return found


def _frozen_claim(judge: Judge, claim: Claim, obj: Value, rank: int) -> Value:
    ranks = judge.ranks
    return (
        frozenset(claim.lost),
        obj,
        rank,
        tuple(getattr(claim, name) for name in _PLAIN),
        frozenset(claim.stated.items()),
        frozenset(claim.computed),
        frozenset(claim.waiting),
        frozenset((*key, tuple(values)) for key, values in claim.routes.items() if values),
        frozenset((tier, count) for tier, count in claim.copies.items() if count),
        (claim.untimed is not None, claim.unclear is not None),
        (frozenset(claim.open), frozenset((n, f.verdict) for n, f in claim.left.items())),
        tuple(claim.facts),
        _frozen_scope(claim.own),
        frozenset(
            (name, claim in judge.followers.get(name, ()), *_frozen_scope(scope))
            for name, scope in claim.requests.items()
        ),
        (claim in judge.objects.on.get(claim.obj, ()), claim in judge.capacity),
        (claim in judge.owing, claim in judge._timed, claim.claim_id in judge._ended),
        (ranks._priority.get(claim), claim in ranks._unsure),
    )


def _frozen_scope(scope: Scope) -> Value:
    stands = tuple(s and (s.state, s.own, s.exercised) for s in scope.stands)
    return scope.ended, tuple(scope.facts), stands


def _frozen_request(judge: Judge, request: Request, rank: int) -> Value:
    return (
        request.name,
        rank,
        (request.needed, request.usable, request.in_hand, request.restated),
        frozenset(request.failed),
        frozenset(request.found.items()),
    )


# And back.


def thaw(judge: Judge, value: Value) -> None:
    """Let a judge go on from what `freeze` returned for one of the same settings."""
    blocks, claims, unnamed, copies, objects, live, over, ids, order, flags, settings = value
    judge._begin()
    judge.claims.clear()
    judge._ended.clear()
    judge.past.clear()
    judge.breaks.clear()
    judge.news.clear()
    judge.left = None
    judge.order.sequence, judge.order.time_ns, opened, judge.order.closed, judge.order.mixed = order
    judge.order.opened = opened or None
    broken, judge.restating, judge._steps_stated = flags
    judge.broken = _DECIDED if broken else None
    judge.observes, judge.told, groups = settings
    judge._ids.clear()
    judge._ids.update(dict.fromkeys(ids))
    pool, found = judge.pool, _thaw_objects(judge, objects)
    if groups != frozenset(pool.groups.items()):
        pool.groups = dict(sorted(groups))

    def key(of: Value) -> Key:
        return Key(found[of[0]], *of[1:]) if isinstance(of[0], tuple) else Key(*of)

    for block, frozen in blocks:
        pool.place(frozen and key(frozen), block)
    for frozen in unnamed:
        pool.place(key(frozen), None)
    for tier, frozen, count in copies:
        pool.copies.setdefault(tier, {})[key(frozen)] = count
    for held in (*pool.held, *(each for tier in pool.copies.values() for each in tier)):
        if isinstance(held.of, Object):
            held.of.places.add((held.group, int(held.name)))
    pool.changed.clear()
    _thaw_requests(judge, live, over)
    for frozen in claims:
        _thaw_claim(judge, frozen, found[frozen[1]])
    judge._ends = [(c.end, at, c) for at, c in enumerate(judge._timed) if c.end is not None]
    judge._ends.sort()
    judge._count = 1 + len(claims) + len(live) + len(over)  # more than any rank


def _thaw_objects(judge: Judge, objects: frozenset[Value]) -> dict[Value, Object]:
    found = {}
    for name, identity, token_map, contents in objects:
        obj = found[name] = Object(name[0], identity, token_map, contents)
        if name[0] is not None:
            judge.objects._by_id.setdefault(name[0], []).append(obj)
            judge.objects._idle[obj] = None
            _list(judge, obj)
    return found


def _list(judge: Judge, obj: Object) -> None:
    for position, content in enumerate(obj.contents):
        judge.objects._users.setdefault(content, {}).setdefault(obj, []).append(position)


def _thaw_requests(judge: Judge, live: frozenset[Value], over: frozenset[Value]) -> None:
    requests = judge.requests
    for frozen in live:
        request = _thawed_request(frozen)
        requests._live[request.name] = request
        if request.in_hand:
            requests.in_hand[request.name] = request
            requests._count(request, 1)
    for frozen in over:
        requests._over[frozen[0]] = _thawed_request(frozen)


def _thawed_request(frozen: Value) -> Request:
    name, since, (needed, usable, in_hand, restated), failed, found = frozen
    return Request(name, needed, usable, since, in_hand, set(failed), dict(found), restated)


def _thaw_claim(judge: Judge, frozen: Value, obj: Object) -> None:
    lost, _, took, plain, stated, computed, waiting, routes, copies, *rest = frozen
    (untimed, unclear), (opened, left), facts, own, requests, *places = rest
    values = dict(zip(_PLAIN, plain, strict=True))
    claim = Claim(**values, bundle=judge.bundle, obj=obj, took=took, stated=dict(stated))
    if "predicate" in claim.stated:
        claim.predicate = predicate_of(claim.stated["predicate"])
    claim.lost, claim.computed, claim.waiting = set(lost), set(computed), set(waiting)
    claim.routes = {(request, report): list(told) for request, report, told in routes}
    claim.copies, claim.facts = dict(copies), list(facts)
    claim.untimed, claim.unclear = untimed or None, _DECIDED if unclear else None
    claim.open = dict.fromkeys(opened, _DECIDED)
    claim.left = {name: Finding(verdict) for name, verdict in left}
    claim.own = _thawed_scope(*own)
    for request, followed, *scope in requests:
        claim.requests[request] = _thawed_scope(*scope)
        if followed:
            judge.followers.setdefault(request, {})[claim] = None
    judge.claims[claim.claim_id] = claim
    _place(judge, claim, *places)


def _thawed_scope(ended: bool, facts: Value, stands: Value) -> Scope:
    return Scope([*facts], [s and Stand(s[0], s[1], exercised=s[2]) for s in stands], ended)


def _place(
    judge: Judge, claim: Claim, on: tuple[bool, bool], among: tuple[bool, ...], rank: Value
) -> None:
    """List a claim where the judge looks for it."""
    joined, counted = on
    owing, timed, ended = among
    if joined:
        if claim.obj.object_id is None:
            _list(judge, claim.obj)
        judge.objects.join(claim)
    if counted:
        judge.capacity.add(claim)
    if owing:
        judge.owing[claim] = None
    if timed:
        judge._timed[claim] = None
    if ended:
        judge._ended[claim.claim_id] = claim
    priority, unsure = rank
    if priority is not None:
        judge.ranks._priority[claim] = priority
        judge.ranks._holders[priority] += 1
    if unsure:
        judge.ranks._unsure.add(claim)


# Other names.


def renamed(value: Value, names: Mapping[Any, Any] | Sequence[Any]) -> Value:
    """The value where each physical block has another name."""
    blocks, claims, *rest = value
    return (
        frozenset((names[block], key) for block, key in blocks),
        frozenset(
            (frozenset(b if b is None else names[b] for b in lost), *claim)
            if lost
            else (lost, *claim)
            for lost, *claim in claims
        ),
        *rest,
    )


def relabelled(value: Value, names: Mapping[str, str]) -> Value:
    """The value where claims, requests, objects, owners and workers have other names."""
    numbers = {number(old): number(new) for old, new in names.items()}

    def go(each: Any) -> Any:
        if isinstance(each, str):
            return names.get(each, each) if type(each) is str else each
        if isinstance(each, frozenset):
            return frozenset(map(go, each))
        if isinstance(each, tuple):
            parts = map(go, each)
            return type(each)(*parts) if hasattr(each, "_fields") else tuple(parts)
        return numbers.get(each, each) if type(each) is int else each

    blocks, claims, *rest = value
    return (
        frozenset((block, go(key)) for block, key in blocks),
        frozenset((lost, *map(go, claim)) for lost, *claim in claims),
        *map(go, rest),
    )
