"""Saves a judge as plain values, and makes it again from them.

The values are dictionaries, lists, texts, whole numbers, booleans and None. Indexes are not saved:
they follow from the claims, the objects and the blocks. Neither are `past` and `news`, which belong
to whoever takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify
from typing import Any, Final, TypeAlias

from spec.claims.states import ClaimState, Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import FACTS, Kind
from spec.language.verdicts import Verdict
from spec.stream.claim import Claim, Finding, Scope, Stand
from spec.stream.codes import Code, Reason
from spec.stream.judge import Judge, Limits
from spec.stream.pool import Group, Key, Object
from spec.stream.request import Request

__all__ = ["VERSION", "Place", "load", "load_finding", "load_reason", "save", "save_finding"]

VERSION: Final = 1
"""The form of the values; another one cannot be loaded."""

Place: TypeAlias = Callable[[Any], Any]
"""Turns the place of a line into a plain value, or back."""

_LARGE: Final = 2**63
_CODES: Final = {code.number: code for code in Code}
_PLAIN: Final = (
    *("claim_id", "stated_mode", "other_mode", "stated", "owner", "duration", "priority"),
    *("disputed", "footprint", "known", "introduced", "accepted", "named", "placed", "retired"),
    *("took", "least", "end", "elapsed", "early", "copies", "final", "period"),
)
"""What a claim has that is a plain value."""

_REQUEST: Final = ["name", "needed", "usable", "since", "in_hand", "restated"]
_SIMPLE: Final = ["period", "restating", "_count"]


def save(judge: Judge, place: Place) -> dict[str, Any]:
    """The state of a judge between two lines."""
    return _Save(judge, place).judge()


def load(value: dict[str, Any], place: Place, forget: Callable[[Claim], None]) -> Judge:
    """The judge that `save` was given.

    Args:
        forget: as `Judge` has it.

    Raises:
        ValueError: the value is of another version.
        KeyError, TypeError, IndexError: it is no such value.
    """
    if value["version"] != VERSION:
        raise ValueError(f"the state has version {value['version']}, and this is {VERSION}")
    return _Load(value, place, forget).judge


class _Save:
    """Writes a judge. Objects, claims and requests are named by their numbers."""

    def __init__(self, judge: Judge, place: Place) -> None:
        self._judge, self._place = judge, place
        self._claims = {claim: number for number, claim in enumerate(judge.claims.values())}
        self._objects = {obj: number for number, obj in enumerate(_objects_of(judge))}

    def judge(self) -> dict[str, Any]:
        judge, order = self._judge, self._judge.order
        pool, objects, requests = judge.run.pool, judge.run.objects, judge.run.requests
        durations = judge.run.durations
        return {
            "version": VERSION,
            "default": judge.default and judge.default.value,
            "bundle": judge.bundle.value,
            "limits": [getattr(judge.limits, name) for name in Limits.__dataclass_fields__],
            "order": [
                *([*order.first], order.sequence, order.time_ns),
                *(self._at(order.opened), order.closed, order.mixed),
            ],
            "breaks": [self._reason(each) for each in judge.breaks],
            "broken": self._reason(judge.broken),
            "left": self._reason(judge.left),
            "observes": _kinds(judge.observes),
            "stated": _kinds(judge.told),
            **{name: getattr(judge, name) for name in _SIMPLE},
            "steps_stated": durations.steps_stated,
            "ids": [*judge._ids],
            "objects": [self._object(obj) for obj in self._objects],
            "named": [self._objects[o] for each in objects._by_id.values() for o in each],
            "idle": [self._objects[obj] for obj in objects._idle],
            "groups": [[number, *group] for number, group in pool.groups.items()],
            "blocks": [[_id(b), self._key(key)] for b, key in pool.blocks.items()],
            "unnamed": [self._key(key) for key, blocks in pool.held.items() if None in blocks],
            "copies": {
                tier: [[self._key(key), count] for key, count in copies.items()]
                for tier, copies in pool.copies.items()
            },
            "requests": [_request(each) for each in requests],
            "over": [_request(each) for each in requests._over.values()],
            "claims": [self._claim(claim) for claim in self._claims],
            "on": [
                [self._objects[obj], [self._claims[claim] for claim in claims]]
                for obj, claims in objects.on.items()
            ],
            "ended": [self._claims[claim] for claim in judge._ended.values()],
            "timed": [self._claims[claim] for claim in durations.timed],
            "ends": [
                [_id(end), number, self._claims[claim]]
                for end, number, claim in durations.ends
                if claim in self._claims
            ],
        }

    def _at(self, at: object) -> Any:
        return None if at is None else self._place(at)

    def _reason(self, reason: Reason | None) -> Any:
        return reason and [reason.code.number, reason.text, self._at(reason.at)]

    def _key(self, key: Key | None) -> Any:
        if key is None:
            return None
        of = self._objects[key.of] if isinstance(key.of, Object) else key.of
        return [of, key.group, _id(key.name)]

    def _object(self, obj: Object) -> Any:
        stated = obj.object_id, obj.identity, obj.token_map
        places, shared = (sorted(map(list, each)) for each in (obj.places, obj.shared))
        same = [[*place, self._key(key)] for place, key in obj.same.items()]
        return [*stated, [*map(_id, obj.contents)], places, shared, same]

    def _claim(self, claim: Claim) -> dict[str, Any]:
        return {
            **{name: _id(getattr(claim, name)) for name in _PLAIN},
            "facts": [*map(_id, claim.facts)],
            "bundle": claim.bundle.value,
            "mode": claim.mode and claim.mode.value,
            "obj": self._objects[claim.obj],
            "untimed": self._at(claim.untimed),
            "computed": sorted(claim.computed),
            "waiting": sorted(claim.waiting),
            "routes": [[n, kind.value, [*map(_id, of)]] for (n, kind), of in claim.routes.items()],
            "lost": [*map(_id, claim.lost)],
            "state": claim.state.value,
            "own": self._scope(claim.own),
            "requests": [[name, self._scope(of)] for name, of in claim.requests.items()],
            "met": self._at(claim.met),
            "unclear": self._reason(claim.unclear),
            "open": {name: self._reason(reason) for name, reason in claim.open.items()},
            "left": {name: save_finding(f, self._place) for name, f in claim.left.items()},
        }

    def _scope(self, scope: Scope) -> Any:
        stands = [self._stand(each) for each in scope.stands]
        return [[*map(_id, scope.facts)], stands, scope.ended]

    def _stand(self, stand: Stand | None) -> Any:
        if stand is None:
            return None
        own = [*map(_id, stand.own)]
        return [stand.state, own, self._at(stand.at), stand.rule, stand.exercised]


def save_finding(found: Finding, place: Place) -> Any:
    """A finding as plain values."""
    reason, at = found.reason, None if found.at is None else place(found.at)
    why = reason and [reason.code.number, reason.text, reason.at and place(reason.at)]
    return [found.verdict.value, at, found.rule, why]


def load_finding(value: Any, place: Place) -> Finding:
    """The finding that `save_finding` was given."""
    verdict, at, rule, why = value
    return Finding(Verdict(verdict), at and place(at), rule, load_reason(why, place))


def load_reason(value: Any, place: Place) -> Reason | None:
    """The reason of a code, a text and a place."""
    if value is None:
        return None
    code, text, at = value
    return Reason(_CODES[code], text, None if at is None else place(at))


class _Load:
    """Reads a judge."""

    def __init__(
        self, value: dict[str, Any], place: Place, forget: Callable[[Claim], None]
    ) -> None:
        self._place = place
        mode = None if value["default"] is None else Mode(value["default"])
        first, *order = value["order"]
        limits = Limits(*value["limits"])
        judge = self.judge = Judge(
            mode, Bundle(value["bundle"]), first=tuple(first), limits=limits, forget=forget
        )
        self._order(order)
        judge.breaks = [each for each in map(self._reason, value["breaks"]) if each is not None]
        judge.broken, judge.left = self._reason(value["broken"]), self._reason(value["left"])
        judge.observes, judge.told = _facts(value["observes"]), _facts(value["stated"])
        for name in _SIMPLE:
            setattr(judge, name, value[name])
        judge._ids.update(dict.fromkeys(value["ids"]))
        self._objects = [self._object(each) for each in value["objects"]]
        for obj, (*_, same) in zip(self._objects, value["objects"], strict=True):
            keys = ((group, at, self._key(key)) for group, at, key in same)
            obj.same = {(group, at): key for group, at, key in keys if key is not None}
        self._pool(value)
        self._requests(value)
        self._claims = [self._claim(each) for each in value["claims"]]
        judge.claims.update((claim.claim_id, claim) for claim in self._claims)
        judge._ended.update((self._claims[n].claim_id, self._claims[n]) for n in value["ended"])
        judge.run.durations.timed.update(dict.fromkeys(self._claims[n] for n in value["timed"]))
        judge.run.durations.ends = [
            (_of_id(end), number, self._claims[n]) for end, number, n in value["ends"]
        ]
        heapify(judge.run.durations.ends)
        self._index(value)

    def _order(self, value: list[Any]) -> None:
        order = self.judge.order
        order.sequence, order.time_ns, opened, order.closed, order.mixed = value
        order.opened = self._at(opened)

    def _at(self, at: Any) -> object:
        return None if at is None else self._place(at)

    def _reason(self, value: Any) -> Reason | None:
        return load_reason(value, self._place)

    def _key(self, value: Any) -> Key | None:
        if value is None:
            return None
        of, group, name = value
        return Key(self._objects[of] if isinstance(of, int) else of, group, _of_id(name))

    @staticmethod
    def _object(value: Any) -> Object:
        name, identity, token_map, contents, places, shared, _ = value
        held = {(group, at) for group, at in places}
        obj = Object(name, identity, token_map, tuple(map(_of_id, contents)), held)
        obj.shared = {(group, at) for group, at in shared}
        return obj

    def _pool(self, value: dict[str, Any]) -> None:
        pool = self.judge.run.pool
        pool.groups = {number: Group(kind, window) for number, kind, window in value["groups"]}
        for block, at in value["blocks"]:
            pool.place(self._key(at), _of_id(block))
        for at in value["unnamed"]:
            pool.place(self._key(at), None)
        for tier, copies in value["copies"].items():
            held = pool.copies.setdefault(tier, {})
            for at, count in copies:
                if (key := self._key(at)) is not None:
                    held[key] = count
        pool.changed.clear()

    def _requests(self, value: dict[str, Any]) -> None:
        requests = self.judge.run.requests
        for each in value["requests"]:
            request = _load_request(each)
            requests._live[request.name] = request
        for request in sorted(requests, key=lambda each: each.since):
            if request.in_hand:
                requests.in_hand[request.name] = request
                requests._count(request, 1)
        for each in value["over"]:
            request = _load_request(each)
            requests._over[request.name] = request

    def _claim(self, value: dict[str, Any]) -> Claim:
        claim = Claim(value["claim_id"], Bundle(value["bundle"]))
        for name in _PLAIN:
            setattr(claim, name, _of_id(value[name]))
        claim.facts = [*map(_of_id, value["facts"])]
        claim.mode = None if value["mode"] is None else Mode(value["mode"])
        claim.obj = self._objects[value["obj"]]
        if "predicate" in claim.stated:
            claim.needs(claim.stated["predicate"])
        claim.untimed, claim.met = self._at(value["untimed"]), self._at(value["met"])
        claim.computed, claim.waiting = set(value["computed"]), set(value["waiting"])
        claim.routes = {(n, Kind(kind)): [*map(_of_id, of)] for n, kind, of in value["routes"]}
        claim.lost = {*map(_of_id, value["lost"])}
        claim.state, claim.own = ClaimState(value["state"]), self._scope(value["own"])
        claim.requests.update((name, self._scope(of)) for name, of in value["requests"])
        claim.unclear = self._reason(value["unclear"])
        for name, each in value["open"].items():
            if (reason := self._reason(each)) is not None:
                claim.open[name] = reason
        claim.left = {n: load_finding(f, self._place) for n, f in value["left"].items()}
        return claim

    def _scope(self, value: Any) -> Scope:
        facts, stands, ended = value
        return Scope([*map(_of_id, facts)], [self._stand(each) for each in stands], ended)

    def _stand(self, value: Any) -> Stand | None:
        if value is None:
            return None
        state, own, at, rule, exercised = value
        return Stand(state, tuple(map(_of_id, own)), self._at(at), rule, exercised)

    def _index(self, value: dict[str, Any]) -> None:
        """Make the indexes that follow from the claims and the objects."""
        run, objects = self.judge.run, self.judge.run.objects
        for number in value["named"]:
            obj = self._objects[number]
            objects._by_id.setdefault(obj.object_id or "", []).append(obj)
        objects._idle.update(dict.fromkeys(self._objects[n] for n in value["idle"]))
        for number, claims in value["on"]:
            objects.on[self._objects[number]] = dict.fromkeys(self._claims[n] for n in claims)
        listed = {*value["named"]}
        for number, obj in enumerate(self._objects):
            if number in listed or obj in objects.on:
                objects.enlist(obj)
        for claim in self._claims:
            if claim.final:
                continue
            if claim.responsible:
                run.capacity.add(claim)
            run.ranks.follow(claim, run.pool)
            if claim.owes:
                run.owing[claim] = None
            for name in claim.requests:
                run.followers.setdefault(name, {})[claim] = None


def _objects_of(judge: Judge) -> dict[Object, None]:
    """Every object that claims, keys or texts name."""
    pool = judge.run.pool
    found = {o: None for each in judge.run.objects._by_id.values() for o in each}
    found |= {claim.obj: None for claim in judge.claims.values()}
    keys: Iterable[Key | None] = pool.blocks.values()
    for several in (keys, pool.held, *pool.copies.values()):
        found |= {k.of: None for k in several if k is not None and isinstance(k.of, Object)}
    todo = [*found]
    while todo:
        same = (key.of for key in todo.pop().same.values())
        new = [of for of in same if isinstance(of, Object) and of not in found]
        found |= dict.fromkeys(new)
        todo += new
    return found


def _kinds(kinds: frozenset[Kind]) -> list[str] | None:
    return None if kinds == FACTS else sorted(kinds)


def _facts(value: list[str] | None) -> frozenset[Kind]:
    return FACTS if value is None else frozenset(map(Kind, value))


def _id(value: Any) -> Any:
    """A block, a content key or the value of a register; a large number as a list of its text."""
    return [str(value)] if isinstance(value, int) and abs(value) >= _LARGE else value


def _of_id(value: Any) -> Any:
    return int(value[0]) if isinstance(value, list) else value


def _request(request: Request) -> Any:
    plain = [getattr(request, name) for name in _REQUEST]
    return [*plain, sorted(request.failed), request.found]


def _load_request(value: Any) -> Request:
    *plain, failed, found = value
    request = Request(plain[0], failed=set(failed), found=found)
    for name, each in zip(_REQUEST, plain, strict=True):
        setattr(request, name, each)
    return request
