"""Turns a judge into a value and back, for searches and for snapshots.

`freeze` keeps all that decides what later events come to, without the places of lines. `save`
keeps places, reasons and the order of things as well, as plain values, which msgpack can hold. In
both, event numbers are kept by their order alone, and what is remembered up to a limit is taken to
be remembered for good. Indexes are not kept: they follow. `past` and `news` are not kept, either:
they belong to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from spec.claims.states import ClaimState, Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits
from spec.stream.claim import Claim, Scope, Stand
from spec.stream.codes import Code, Reason
from spec.stream.judge import Judge
from spec.stream.outcome import ClaimOutcome, Finding, ModeVerdict
from spec.stream.pool import Group, Key, Object, Pool
from spec.stream.request import Request

__all__ = ["VERSION", "Place", "Value", "freeze", "load", "of_plain", "plain", "save", "thaw"]

VERSION: Final = 5
"""The form of what `save` makes; another one cannot be loaded."""

Place: TypeAlias = Callable[[Any], Any]
"""Turns the place of a line into a plain value, or back."""

Value: TypeAlias = tuple[Any, ...]
"""Nested tuples and frozen sets of plain values, which are compared and hashed."""

_Names: TypeAlias = dict[Object, Value]
"""The name of each object in a value; one that events may mean has more than one part."""

_Ranks: TypeAlias = dict[Claim | Request, int]

_DECIDED: Final = Reason(Code.UNKNOWN_POOL, "decided before")
_APART: Final = frozenset(
    {
        *("bundle", "start", "threshold", "obj", "took", "untimed", "unclear", "period"),
        *("computed", "waiting", "routes", "lost", "copies", "facts", "own", "requests"),
        *("stated", "open", "kept"),
    }
)
_PLAIN: Final = tuple(each.name for each in fields(Claim) if each.name not in _APART)
"""The fields of a claim that are plain values."""
_plain: Final = attrgetter(*_PLAIN)


class _Kept(NamedTuple):
    """What a value keeps of several things in their order, of places, and of what has places."""

    many: Callable[[Iterable[Any]], Any]
    at: Callable[[object], object]
    reason: Callable[[Reason | None], Reason | None]
    finding: Callable[[Finding], Finding]
    stand: Callable[[Stand | None], Stand | None]


def _unplaced(stand: Stand | None) -> Stand | None:
    if stand is None or stand.at is stand.rule is None:
        return stand
    return Stand(stand.state, stand.own, None, None, stand.exercised)


_DECISIVE: Final = _Kept(
    frozenset,
    lambda at: None if at is None else True,
    lambda reason: reason and _DECIDED,
    lambda found: Finding(found.verdict),
    _unplaced,
)
_ALL: Final = _Kept(tuple, *[lambda each: each] * 4)


# To a value.


def freeze(judge: Judge) -> Value:
    """The state of a judge. Another of the same settings that goes on from it comes to the same."""
    listed = (obj for named in judge.run.objects._by_id.values() for obj in named)
    names: _Names = {obj: (obj.object_id, obj.identity, obj.token_map) for obj in listed}
    for claim in sorted(judge.claims.values(), key=attrgetter("claim_id")):
        names.setdefault(claim.obj, (claim.claim_id,))  # no other event can mean it
    return _value(judge, names, _DECISIVE)


def save(judge: Judge, place: Place) -> dict[str, Any]:
    """The state of a judge between two lines, as plain values."""
    settings = judge.default, judge.bundle, judge.order.first, tuple(judge.limits)
    value = _value(judge, _numbered(judge), _ALL)
    state = settings, judge.period, tuple(judge.breaks), value
    return {"version": VERSION, "state": plain(state, place)}


def _numbered(judge: Judge) -> _Names:
    """Every object that claims, keys or texts name, by a number; those without a claim first."""
    pool, objects = judge.run.pool, judge.run.objects
    listed = {obj: None for named in objects._by_id.values() for obj in named}
    found = objects._idle | listed | {claim.obj: None for claim in judge.claims.values()}
    for keys in (pool.blocks.values(), pool.held, *pool.copies.values()):
        found |= {key.of: None for key in keys if key and isinstance(key.of, Object)}
    todo = [*found]
    while todo:
        same = (key.of for key in todo.pop().same.values())
        new = [of for of in same if isinstance(of, Object) and of not in found]
        found |= dict.fromkeys(new)
        todo += new
    return {obj: (at, True) if obj in listed else (at,) for at, obj in enumerate(found)}


def _value(judge: Judge, names: _Names, kept: _Kept) -> Value:
    run, order, claims, many = judge.run, judge.order, judge.claims.values(), kept.many
    pool, requests = run.pool, run.requests
    ranks = _ranks(judge)

    def key(of: Key) -> Value:
        return (names[of.of], of.group, of.name) if isinstance(of.of, Object) else tuple(of)

    return (
        many((block, k and key(k)) for block, k in pool.blocks.items()),
        frozenset((claim.claim_id, block) for claim in claims for block in claim.lost),
        many(_of_claim(judge, each, names[each.obj], ranks.get(each, 0), kept) for each in claims),
        many(map(key, pool.unnamed)),
        many((t, key(k), n) for t, tier in pool.copies.items() for k, n in tier.items()),
        many((name, *_of_object(pool, obj, key)) for obj, name in names.items()),
        many(_of_request(each, ranks, over=False) for each in requests),
        many(_of_request(each, ranks, over=True) for each in requests._over.values()),
        many(judge._ids),
        (
            *(order.sequence, order.time_ns, kept.at(order.opened), order.closed, order.mixed),
            *(kept.reason(judge.broken), judge.restating, run.durations.steps_stated),
        ),
        (judge.observes, judge.told, frozenset(pool.groups.items()), run.objects.forgot_keys),
        many(claim.claim_id for on in run.objects.on.values() for claim in on),
        many(judge._ended),
        tuple([claim.claim_id for claim in run.durations.due()]),
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


def _of_object(pool: Pool, obj: Object, key: Callable[[Key], Value]) -> Value:
    places = {place for place in obj.places if place in obj.shared or place in obj.same}
    places |= {place for place in obj.places - places if pool.anywhere(Key(obj, *place))}
    same = frozenset((place, key(other)) for place, other in obj.same.items())
    stated = obj.object_id, obj.identity, obj.token_map, obj.contents
    return stated, frozenset(places), same, frozenset(obj.shared)


def _of_claim(judge: Judge, claim: Claim, obj: Value, rank: int, kept: _Kept) -> Value:
    run, ranks, many = judge.run, judge.run.ranks, kept.many
    return (
        obj,
        rank,
        _plain(claim),
        frozenset(claim.stated.items()),
        frozenset((tier, count) for tier, count in claim.copies.items() if count),
        (kept.at(claim.untimed), kept.reason(claim.unclear)),
        frozenset(claim.computed),
        frozenset(claim.waiting),
        frozenset((*key, tuple(values)) for key, values in claim.routes.items() if values),
        many((name, kept.reason(reason)) for name, reason in claim.open.items()),
        many((name, kept.finding(found)) for name, found in claim.kept.items()),
        tuple(claim.facts),
        _of_scope(claim.own, kept),
        many(
            (name, claim in run.followers.get(name, ()), *_of_scope(scope, kept))
            for name, scope in claim.requests.items()
        ),
        (claim in run.capacity, claim in run.owing),
        (ranks._priority.get(claim), claim in ranks._unsure),
    )


def _of_scope(scope: Scope, kept: _Kept) -> Value:
    return scope.ended, tuple(scope.facts), tuple(map(kept.stand, scope.stands))


def _of_request(request: Request, ranks: _Ranks, *, over: bool) -> Value:
    return (
        request.name,
        ranks.get(request, 0),
        (request.needed, request.usable, request.in_hand, request.restated),
        frozenset(request.failed),
        frozenset() if over else frozenset(request.found.items()),
    )


# And back.


def load(value: dict[str, Any], place: Place, forget: Callable[[Claim], None]) -> Judge:
    """The judge that `save` was given.

    Args:
        forget: as `Judge` has it.

    Raises:
        ValueError: the value is of another version.
        Exception: it is no such value.
    """
    if value["version"] != VERSION:
        raise ValueError(f"the state has version {value['version']}, and this is {VERSION}")
    settings, period, breaks, state = of_plain(value["state"], place)
    mode, bundle, first, limits = settings
    judge = Judge(mode, bundle, first=first, limits=Limits(*limits), forget=forget)
    judge.period = period
    thaw(judge, state)
    judge.breaks += breaks
    return judge


def thaw(judge: Judge, value: Value) -> None:
    """Let a judge go on from the value of one of the same settings."""
    blocks, lost, claims, unnamed, copies, objects, live, over, ids, *others = value
    stands, (judge.observes, judge.told, groups, forgot_keys), on, ended, timed = others
    judge._begin()
    run, last = judge.run, judge.order
    run.objects.forgot_keys = forgot_keys
    for each in (judge.claims, judge.past, judge.breaks, judge.news, judge._ended, judge._ids):
        each.clear()
    judge._ids.update(dict.fromkeys(ids))
    last.sequence, last.time_ns, last.opened, last.closed, last.mixed, *stands = stands
    judge.broken, judge.restating, run.durations.steps_stated = stands
    pool = run.pool
    pool.groups = dict(sorted(groups))
    names = {name: Object(*stated) for name, stated, *_ in objects}

    def key(of: Value) -> Key:
        return Key(names[of[0]], *of[1:]) if isinstance(of[0], tuple) else Key(*of)

    for name, (called, *_), places, same, shared in objects:
        obj = names[name]
        obj.places, obj.shared = set(places), set(shared)
        obj.same = {place: key(other) for place, other in same}
        if len(name) > 1:
            run.objects._by_id.setdefault(called, []).append(obj)
            run.objects._idle[obj] = None
            run.objects.enlist(obj)
    for block, frozen in blocks:
        pool.place(frozen and key(frozen), block)
    for frozen in unnamed:
        pool.place(key(frozen), None)
    for tier, frozen, count in copies:
        pool.copies.setdefault(tier, {})[key(frozen)] = count
        pool.copied += 1
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
    for name in on:
        claim = judge.claims[name]
        if claim.obj.object_id is None:
            run.objects.enlist(claim.obj)
        run.objects.join(claim)
    judge._ended.update((name, judge.claims[name]) for name in ended)
    run.durations.resume([judge.claims[name] for name in timed])
    judge._count = 1 + len(claims) + len(live) + len(over)  # more than any rank


def _request(frozen: Value) -> Request:
    name, since, (needed, usable, in_hand, restated), failed, found = frozen
    return Request(name, needed, usable, since, in_hand, set(failed), dict(found), restated)


def _thaw_claim(judge: Judge, frozen: Value, obj: Object) -> None:
    run = judge.run
    _, took, plain, stated, copies, (untimed, unclear), computed, waiting, *rest = frozen
    routes, opened, held, facts, own, requests, *places = rest
    claim = Claim(**dict(zip(_PLAIN, plain, strict=True)), bundle=judge.bundle, obj=obj, took=took)
    claim.stated, claim.copies, claim.facts = dict(stated), dict(copies), [*facts]
    if "predicate" in claim.stated:
        claim.needs(claim.stated["predicate"])
    claim.computed, claim.waiting = set(computed), set(waiting)
    claim.routes = {(request, report): [*values] for request, report, values in routes}
    claim.untimed, claim.unclear, claim.period = untimed, unclear, judge.period
    claim.open, claim.kept, claim.own = dict(opened), dict(held), _scope(*own)
    for request, followed, *scope in requests:
        claim.requests[request] = _scope(*scope)
        if followed:
            run.followers.setdefault(request, {})[claim] = None
    judge.claims[claim.claim_id] = claim
    (counted, owing), (priority, unsure) = places
    if counted:
        run.capacity.add(claim)
    if owing:
        run.owing[claim] = None
    if unsure:
        run.ranks._unsure.add(claim)
    if priority is not None:
        run.ranks._priority[claim] = priority
        run.ranks._holders[priority] += 1


def _scope(ended: bool, facts: Value, stands: Iterable[Stand | None]) -> Scope:
    return Scope([*facts], [*stands], ended)


# Plain values.


_LARGE: Final = 2**63
_SAME: Final = frozenset({str, bool, type(None)})
_ENUMS: Final = (Bundle, ClaimState, Code, Kind, Mode, ModeVerdict, Verdict)
_RECORDS: Final = (ClaimOutcome, Finding, Group, Reason, Stand)
_MADE: Final[dict[str, Callable[[Any], Any]]] = {
    **{"int": int, "set": frozenset, "map": dict},
    **{each.__name__: each.__members__.__getitem__ for each in _ENUMS},
    **{each.__name__: each._make for each in _RECORDS},
}
"""What makes a value from its parts, by the name of what it is. No other value is made."""


def plain(value: Any, place: Place) -> Any:
    """A value as lists, texts, numbers and maps of one entry, whose key names what the value is.

    What `_MADE` does not make is the place of a line.
    """
    kind = type(value)
    if kind is tuple:
        return [each if type(each) in _SAME else plain(each, place) for each in value]
    if kind in _SAME or (kind is int and abs(value) < _LARGE):
        return value
    if kind is int:
        return {"int": str(value)}
    if kind in _RECORDS:
        return {kind.__name__: plain(tuple(value), place)}
    if kind in _ENUMS:
        return {kind.__name__: value.name}
    if kind is frozenset:
        return {"set": sorted(plain(tuple(value), place), key=repr)}
    if kind is dict:
        return {"map": plain(tuple(value.items()), place)}
    return {"at": place(value)}


def of_plain(value: Any, place: Place) -> Any:
    """The value that `plain` was given."""
    if type(value) is list:
        nested = list, dict
        return tuple([of_plain(v, place) if type(v) in nested else v for v in value])
    if type(value) is not dict:
        return value
    ((name, parts),) = value.items()
    return place(parts) if name == "at" else _MADE[name](of_plain(parts, place))
