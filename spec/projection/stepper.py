"""Steps the reference projection from a value to a value, for searches over states.

The value is all that decides what later events come to: a projection that is thawed from it goes on
as the one that was frozen. Line numbers and numbers of events are in it by their order alone. The
stream is complete, in order, and without times: durations elapse where an event states it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeAlias

from spec.claims.claim import Mode
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import BLOCKS_GONE
from spec.events.canonical import Event
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from spec.projection.case import Case, View
from spec.projection.cone import cone_of
from spec.projection.fields import views
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.pool import Claim, Placed, Pool, Request
from spec.projection.routes import number
from spec.projection.sight import Sight
from spec.projection.unknown import POOL

__all__ = ["RANK", "UNSAID", "Asymmetric", "Followed", "Frozen", "Shared", "Stepper"]

Frozen: TypeAlias = tuple[Any, ...]

_AS_THEY_ARE: Final = tuple(
    each.name
    for each in fields(Claim)
    if each.name
    not in ("claim_id", "met", "took", "stated", "owed", "unclear", "facts", "state", "unsaid")
)


_FIELDS: Final = frozenset({"mine", "named", "lower_priority_available", "blamed"})
"""The fields that the projection reads itself."""

RANK: Final = 1
"""The place of a claim's number (`Stepper._order`) in a frozen claim."""
UNSAID: Final = 6
"""The place of the blocks that no report named in a frozen claim."""


class Followed:
    """Whom a projection follows: all claims of the pool, and of one of them its obligations.

    Of the other claims it keeps what they mean to the pool, and judges nothing. What is held of
    `objects` that no claim is on is left out; None keeps everything.
    """

    def __init__(
        self,
        mode: Mode,
        tracked: str,
        obligations: Iterable[str],
        claims: Iterable[str],
        requests: Iterable[str],
        objects: frozenset[str] | None = None,
    ) -> None:
        self.objects = objects
        self.mode, self.tracked = mode, tracked
        self.obligations, self.requests = tuple(obligations), tuple(requests)
        self.claims = tuple(dict.fromkeys((tracked, *claims)))


class Asymmetric(Exception):
    """A configuration has the number of a name, which other names do not have."""


class Shared(Exception):
    """Another claim is on the object of the claim, or is named or accused with a request, or a
    claim is on an object that is left out: the others, or that, cannot be left out.
    """


class Stepper(Naive):
    """A projection that is frozen after each event."""

    def __init__(self, followed: Followed) -> None:
        super().__init__((), followed.mode)
        self.names, self.requests = followed.obligations, followed.requests
        self._objects = followed.objects
        known = {name: Claim(name) for name in followed.claims}
        self.pool = Pool(known, watched=self.constants["watched"])
        self.cases = {
            name: self._case(claim, self.names if name == followed.tracked else ())
            for name, claim in known.items()
        }
        self.lines = (Line(1),)
        fields = cone_of(self.names).fields
        self._fields = {
            name: cone_of(self.names if name == followed.tracked else ()).fields | _FIELDS
            for name in known
        }
        self._room = bool(POOL & fields)
        self._new_loss = "new_loss" in fields or bool(self.constants["ranked"])

    def _case(self, claim: Claim, names: tuple[str, ...]) -> Case:
        """A claim with the observers, the scopes and the registers that matter to these names."""
        scoped = any(OBLIGATIONS[name].per_request for name in names)
        reads = cone_of(names).registers
        return Case(claim, names, self.mode, self.requests if scoped else (), reads)

    def _views(self, sight: Sight) -> Sequence[View]:
        """An event as one claim sees it, as far as anything reads it."""
        return views(sight, self._fields[sight.claim.claim_id])

    def take(self, event: Event) -> None:
        """Take in the next event.

        Raises:
            SpecError: it contradicts those before it, or names a claim or a request that is not
                followed.
            Shared: a claim is on an object that is left out, or what is held of it may be a
                claim's.
        """
        if self._objects is not None and event.object_id not in (None, *self._objects):
            vague = event.kind in BLOCKS_GONE and not event.block_ids
            if event.claim_id is not None or vague:
                raise Shared(event.object_id)
        if event.request_id is not None and event.request_id not in self.requests:
            raise SpecError(f"{event.kind} names {event.request_id}, which is no request of it")
        if event.claim_id is not None and event.claim_id not in self.cases:
            raise SpecError(f"{event.kind} names {event.claim_id}, which is not followed")
        self._event(event, Line(1, (event,)))
        if self.left is not None:
            raise SpecError(f"{event.kind}: {self.left[1]}")

    def verdicts(self) -> Mapping[str, Verdict]:
        """What each obligation of the tracked claim came to."""
        found = next(iter(self.cases.values())).findings()
        return {name: finding.verdict for name, finding in found}

    def frozen(self) -> Frozen:
        """All that decides what later events come to."""
        claims, requests = self.pool.claims.values(), self.pool.requests
        order = self._order() if self._room else {}
        return (
            self._kept(),
            tuple(self._claim(claim, order) for claim in claims),
            tuple(sorted(self._request(name, each, order) for name, each in requests.items())),
            tuple(case.frozen() for case in self.cases.values()),
            self._before_loss(),
        )

    def _kept(self) -> frozenset[Placed]:
        """What is held for claims, and for objects that claims are on."""
        if self._objects is None:
            return self.pool.placed
        return frozenset(
            each
            for each in self.pool.placed
            if isinstance(each.owner, str) or each.owner.object_id in self._objects
        )

    def _before_loss(self) -> Frozen | None:
        """What is from before track of the stream was lost: requests, and blocks still held."""
        if self._lost < 0:
            return None
        held = {each.block for each in self.pool.placed}
        return (
            tuple(n for n, r in sorted(self.pool.requests.items()) if r.since <= self._lost),
            frozenset(held & self._stale(self._lost)),
        )

    def _order(self) -> dict[str, int]:
        """For each responsible claim and each request in hand a number, so that a claim's is no
        more than a request's exactly if the claim was there when the request arrived.
        """
        takes = [(c.took, 0, n) for n, c in self.pool.claims.items() if c.responsible]
        comes = [(r.since, 1, n) for n, r in self.pool.requests.items() if r.in_hand]
        found, number, last = {}, 1, 0
        for _, comes_now, name in sorted(takes + comes):
            number += last > comes_now
            found[name], last = number, comes_now
        return found

    def _claim(self, claim: Claim, order: Mapping[str, int]) -> Frozen:
        return (
            claim.met > 0,
            order.get(claim.claim_id, 0),
            tuple(sorted(claim.stated.items())),
            tuple((key, tuple(values)) for key, values in claim.owed.items() if values),
            None if claim.unclear is None else claim.unclear[1],
            tuple(claim.facts.values()),
            claim.unsaid if self._new_loss else frozenset(),
            *(getattr(claim, name) for name in _AS_THEY_ARE),
        )

    def _request(self, name: str, request: Request, order: Mapping[str, int]) -> Frozen:
        needs = self._room and request.in_hand
        return (
            name,
            (request.needed, request.usable) if needs else (0, 0),
            order.get(name, 0),
            request.in_hand,
            request.ended,
            request.unsure,
            tuple(sorted(request.failed)),
        )

    @staticmethod
    def renamed(frozen: Frozen, names: Sequence[int] | Mapping[int, int]) -> Frozen:
        """The same where each block has another name."""
        placed, claims, requests, cases, before = frozen
        return (
            frozenset(
                each if each.block is None else each._replace(block=names[each.block])
                for each in placed
            ),
            tuple(
                (
                    *values[:UNSAID],
                    frozenset(b if b is None else names[b] for b in values[UNSAID]),
                    *values[UNSAID + 1 :],
                )
                for values in claims
            ),
            requests,
            cases,
            before and (before[0], frozenset(b if b is None else names[b] for b in before[1])),
        )

    def relabelled(self, frozen: Frozen, names: Mapping[str, str]) -> Frozen:
        """The same where claims, requests and what belongs to them are called so instead.

        Raises:
            Asymmetric: a register has the number of such a name.
        """
        numbers = frozenset(map(number, names))
        placed, claims, requests, cases, before = _relabelled(frozen, names, numbers)
        known = tuple(self.pool.claims)
        places = [known.index(names.get(name, name)) for name in known]
        claims, cases = (
            tuple(value for _, value in sorted(zip(places, values, strict=True), key=_place))
            for values in (claims, cases)
        )
        at: dict[str | None, int] = {name: place for place, name in enumerate(self.requests)}
        at[None] = -1
        cases = tuple(
            (*head, tuple(sorted(scopes, key=lambda scope: at[scope[0]])))
            for *head, scopes in cases
        )
        before = before and (tuple(sorted(before[0])), before[1])
        return placed, claims, tuple(sorted(requests, key=_place)), cases, before

    def thaw(self, frozen: Frozen) -> None:
        """Go on from what `frozen` returned for the same claims, requests and obligations."""
        placed, claims, requests, cases, before = frozen
        known = list(self.pool.claims.values())
        for claim, values in zip(known, claims, strict=True):
            _thaw_claim(claim, values)
        self.pool = Pool(
            self.pool.claims,
            {name: _thawed_request(rest) for name, *rest in requests},
            placed,
            watched=self.pool.watched,
        )
        for case, values in zip(self.cases.values(), cases, strict=True):
            case.thaw(values)
        self._count = len(known) + len(requests) + 1  # more than any rank
        self._stated = {each.block: 0 for each in placed}
        self._lost = -1
        if before is not None:
            self._thaw_loss(*before)

    def _thaw_loss(self, requests: Iterable[str], blocks: Iterable[int | None]) -> None:
        """Put all that came after track was lost behind that, in its order."""
        self._lost = self._count
        known = self.pool.requests
        last = max((known[name].since for name in requests), default=0)
        later = [each for name, each in known.items() if name not in requests]
        for request in later:
            request.since += self._lost + 1
        for claim in self.pool.claims.values():
            if claim.took > last:
                claim.took += self._lost + 1
        self._stated |= dict.fromkeys({*self._stated} - {*blocks}, self._lost + 1)
        self._count = 2 * self._lost + 2


def _place(pair: tuple[Any, ...]) -> Any:
    return pair[0]


def _relabelled(value: Any, names: Mapping[str, str], numbers: frozenset[int]) -> Any:
    """A value of nested tuples and sets in which names are others."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, frozenset):
        return frozenset(_relabelled(each, names, numbers) for each in value)
    if isinstance(value, tuple):
        parts = [_relabelled(each, names, numbers) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, int) and value in numbers:
        raise Asymmetric(value)
    return value


def _thaw_claim(claim: Claim, frozen: Frozen) -> None:
    met, claim.took, stated, owed, unclear, facts, claim.unsaid, *rest = frozen
    claim.met, claim.stated = int(met), dict(stated)
    claim.owed = {key: list(values) for key, values in owed}
    claim.unclear = None if unclear is None else (1, unclear)
    claim.facts = dict(zip(claim.facts, facts, strict=True))
    for name, value in zip(_AS_THEY_ARE, rest, strict=True):
        setattr(claim, name, value)


def _thawed_request(frozen: Iterable[Any]) -> Request:
    (needed, usable), since, in_hand, ended, unsure, failed = frozen
    return Request(needed, usable, since, in_hand, ended, unsure, set(failed))
