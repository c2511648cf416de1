"""Turns a judge into a value and back: all that decides what later events come to.

The value has no places of lines, and has event numbers by their order alone. What is remembered up
to a limit is taken to be remembered for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, TypeAlias

from spec.events.alphabet import Kind
from spec.stream.claim import Claim, Finding, Scope, Stand
from spec.stream.codes import Code, Reason
from spec.stream.fields import number
from spec.stream.judge import Judge
from spec.stream.pool import Key, Object, Pool
from spec.stream.request import Request

__all__ = ["Value", "freeze", "relabelled", "renamed", "thaw"]

Value: TypeAlias = tuple[Any, ...]
"""Nested tuples and frozen sets of plain values, which are compared and hashed."""

_Ranks: TypeAlias = dict[Claim | Request, int]

_DECIDED: Final = Reason(Code.UNKNOWN_POOL, "decided before")
_APART: Final = frozenset(
    {
        *("bundle", "start", "threshold", "obj", "took", "untimed", "unclear", "met", "period"),
        *("computed", "waiting", "routes", "lost", "copies", "facts", "own", "requests"),
        *("stated", "open", "left"),
    }
)
_PLAIN: Final = tuple(each.name for each in fields(Claim) if each.name not in _APART)
"""The fields of a claim that are plain values."""
_plain: Final = attrgetter(*_PLAIN)


# To a value.


def freeze(judge: Judge) -> Value:
    """The state of a judge. Another of the same settings that goes on from it comes to the same."""
    pool, order, requests, claims = (
        judge.run.pool,
        judge.order,
        judge.run.requests,
        judge.claims.values(),
    )
    objects = (obj for named in judge.run.objects._by_id.values() for obj in named)
    names: dict[Object, Value] = {o: (o.object_id, o.identity, o.token_map) for o in objects}
    for claim in sorted(claims, key=attrgetter("claim_id")):
        names.setdefault(claim.obj, (claim.claim_id,))  # no other event can mean it
    ranks = _ranks(judge)

    def key(of: Key) -> Value:
        return (names[of.of], of.group, of.name) if isinstance(of.of, Object) else of

    return (
        frozenset((block, k and key(k)) for block, k in pool.blocks.items()),
        frozenset((claim.claim_id, block) for claim in claims for block in claim.lost),
        frozenset(
            _frozen_claim(judge, claim, names[claim.obj], ranks.get(claim, 0)) for claim in claims
        ),
        frozenset(map(key, pool.unnamed)),
        frozenset((t, key(k), n) for t, tier in pool.copies.items() for k, n in tier.items()),
        frozenset((name, *_frozen_object(pool, obj, key)) for obj, name in names.items()),
        frozenset(_frozen_request(each, ranks, over=False) for each in requests),
        frozenset(_frozen_request(each, ranks, over=True) for each in requests._over.values()),
        frozenset(judge._ids),
        (order.sequence, order.time_ns, order.opened is not None, order.closed, order.mixed),
        (judge.broken is not None, judge.restating, judge.run.durations.steps_stated),
        (judge.observes, judge.told, frozenset(pool.groups.items())),
    )


def _ranks(judge: Judge) -> _Ranks:
    """For each responsible claim and each request a number, so that a claim's is at most a
    request's exactly if the runtime was responsible for the claim when the request arrived.
    """
    requests = [each for each in judge.run.requests if each.in_hand]
    if Kind.REQUEST_ARRIVED not in judge.observes:  # then one that is over may end again
        requests += judge.run.requests._over.values()
    came: list[tuple[int, int, Claim | Request]] = [(each.since, 1, each) for each in requests]
    came += [(each.took, 0, each) for each in judge.claims.values() if each.responsible]
    found, rank, last = _Ranks(), 1, 0
    for _, arrives, each in sorted(came, key=lambda one: one[:2]):
        rank += last > arrives
        found[each], last = rank, arrives
    return found


def _frozen_object(pool: Pool, obj: Object, key: Callable[[Key], Value]) -> Value:
    places = {place for place in obj.places if place in obj.shared or place in obj.same}
    places |= {place for place in obj.places - places if pool._anywhere(Key(obj, *place))}
    same = frozenset((place, key(other)) for place, other in obj.same.items())
    stated = obj.object_id, obj.identity, obj.token_map, obj.contents
    return stated, frozenset(places), same, frozenset(obj.shared)


def _frozen_claim(judge: Judge, claim: Claim, obj: Value, rank: int) -> Value:
    run, ranks = judge.run, judge.run.ranks
    return (
        obj,
        rank,
        _plain(claim),
        frozenset(claim.stated.items()),
        frozenset((tier, count) for tier, count in claim.copies.items() if count),
        (claim.untimed is not None, claim.unclear is not None),
        frozenset(claim.computed),
        frozenset(claim.waiting),
        frozenset((*key, tuple(values)) for key, values in claim.routes.items() if values),
        frozenset(claim.open),
        frozenset((name, found.verdict) for name, found in claim.left.items()),
        tuple(claim.facts),
        _frozen_scope(claim.own),
        frozenset(
            (name, claim in run.followers.get(name, ()), *_frozen_scope(scope))
            for name, scope in claim.requests.items()
        ),
        (claim in run.objects.on.get(claim.obj, ()), claim in run.capacity),
        (
            claim in run.owing,
            claim in run.durations.timed,
            claim.claim_id in judge._ended,
        ),
        (ranks._priority.get(claim), claim in ranks._unsure),
    )


def _frozen_scope(scope: Scope) -> Value:
    stands = tuple([each and (each.state, each.own, each.exercised) for each in scope.stands])
    return scope.ended, tuple(scope.facts), stands


def _frozen_request(request: Request, ranks: _Ranks, *, over: bool) -> Value:
    return (
        request.name,
        ranks.get(request, 0),
        (request.needed, request.usable, request.in_hand, request.restated),
        frozenset(request.failed),
        frozenset() if over else frozenset(request.found.items()),
    )


# And back.


def thaw(judge: Judge, value: Value) -> None:
    """Let a judge go on from what `freeze` returned for one of the same settings."""
    blocks, lost, claims, unnamed, copies, objects, live, over, ids, *others = value
    order, (broken, judge.restating, steps), (judge.observes, judge.told, groups) = others
    judge._begin()
    run = judge.run
    run.durations.steps_stated = steps
    for each in (judge.claims, judge.past, judge.breaks, judge.news, judge._ended, judge._ids):
        each.clear()
    judge._ids.update(dict.fromkeys(ids))
    last = judge.order
    last.sequence, last.time_ns, opened, last.closed, last.mixed = order
    last.opened = opened or None
    judge.broken, judge.left = _DECIDED if broken else None, None
    pool = run.pool
    pool.groups = dict(sorted(groups))
    names = {name: Object(*stated) for name, stated, *_ in objects}

    def key(of: Value) -> Key:
        return Key(names[of[0]], *of[1:]) if isinstance(of[0], tuple) else Key(*of)

    for name, _, places, same, shared in objects:
        obj = names[name]
        obj.places, obj.shared = set(places), set(shared)
        obj.same = {place: key(other) for place, other in same}
        if len(name) > 1:
            run.objects._by_id.setdefault(name[0], []).append(obj)
            run.objects._idle[obj] = None
            run.objects.enlist(obj)
    for block, frozen in blocks:
        pool.place(frozen and key(frozen), block)
    for frozen in unnamed:
        pool.place(key(frozen), None)
    for tier, frozen, count in copies:
        pool.copies.setdefault(tier, {})[key(frozen)] = count
    requests = run.requests
    requests._over.update((each[0], _request(each)) for each in over)
    for each in live:
        request = requests._live[each[0]] = _request(each)
        if request.in_hand:
            requests.in_hand[request.name] = request
            requests._count(request, 1)
    for frozen in claims:
        _thaw_claim(judge, frozen, names[frozen[0]])
    for name, block in lost:
        judge.claims[name].lost.add(block)
    timed = enumerate(run.durations.timed)
    run.durations.ends = sorted((c.end, at, c) for at, c in timed if c.end is not None)
    judge._count = 1 + len(claims) + len(live) + len(over)  # more than any rank


def _request(frozen: Value) -> Request:
    name, since, (needed, usable, in_hand, restated), failed, found = frozen
    return Request(name, needed, usable, since, in_hand, set(failed), dict(found), restated)


def _thaw_claim(judge: Judge, frozen: Value, obj: Object) -> None:
    run = judge.run
    _, took, plain, stated, copies, (untimed, unclear), computed, waiting, *rest = frozen
    routes, opened, left, facts, own, requests, *places = rest
    claim = Claim(**dict(zip(_PLAIN, plain, strict=True)), bundle=judge.bundle, obj=obj, took=took)
    claim.stated, claim.copies, claim.facts = dict(stated), dict(copies), [*facts]
    if "predicate" in claim.stated:
        claim.needs(claim.stated["predicate"])
    claim.computed, claim.waiting = set(computed), set(waiting)
    claim.routes = {(request, report): [*values] for request, report, values in routes}
    claim.untimed, claim.unclear = untimed or None, _DECIDED if unclear else None
    claim.open = dict.fromkeys(opened, _DECIDED)
    claim.left = {name: Finding(verdict) for name, verdict in left}
    claim.own = _thawed_scope(*own)
    for request, followed, *scope in requests:
        claim.requests[request] = _thawed_scope(*scope)
        if followed:
            run.followers.setdefault(request, {})[claim] = None
    judge.claims[claim.claim_id] = claim
    (joined, counted), (owing, timed, ended), (priority, unsure) = places
    if joined:
        if obj.object_id is None:
            run.objects.enlist(obj)
        run.objects.join(claim)
    if counted:
        run.capacity.add(claim)
    if owing:
        run.owing[claim] = None
    if timed:
        run.durations.timed[claim] = None
    if ended:
        judge._ended[claim.claim_id] = claim
    if unsure:
        run.ranks._unsure.add(claim)
    if priority is not None:
        run.ranks._priority[claim] = priority
        run.ranks._holders[priority] += 1


def _thawed_scope(ended: bool, facts: Value, stands: Value) -> Scope:
    found = [each and Stand(each[0], each[1], exercised=each[2]) for each in stands]
    return Scope([*facts], found, ended)


# Other names.


def renamed(value: Value, names: Mapping[Any, Any] | Sequence[Any]) -> Value:
    """The value where each physical block has another name."""
    blocks, lost, *rest = value
    return (
        frozenset((names[block], key) for block, key in blocks),
        frozenset((claim, block if block is None else names[block]) for claim, block in lost),
        *rest,
    )


def relabelled(value: Value, names: Mapping[str, str]) -> Value:
    """The value where claims, requests, objects, owners and workers have other names.

    No count or position may be as large as the number of a name, which is 256 or more.
    """
    numbers = {number(old): number(new) for old, new in names.items()}

    def go(each: Any) -> Any:
        if type(each) is str:
            return names.get(each, each)
        if isinstance(each, frozenset):
            return frozenset(map(go, each))
        if isinstance(each, tuple):
            parts = map(go, each)
            return type(each)(*parts) if hasattr(each, "_fields") else tuple(parts)
        return numbers.get(each, each) if type(each) is int else each

    blocks, lost, *rest = value
    return (
        frozenset((block, go(key)) for block, key in blocks),
        frozenset((go(claim), block) for claim, block in lost),
        *map(go, rest),
    )
