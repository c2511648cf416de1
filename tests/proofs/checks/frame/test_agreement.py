"""The theorem without Z3: delivery to some scopes and delivery to all, side by side on streams."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from proofs.checks.recorded.functions import (
    ARGUMENTS,
    CLAIM_REGISTERS,
    REQUEST_REGISTERS,
    expression,
    function,
    ledgers,
    step_of,
)
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.fields import REQUEST_KINDS
from spec.language.machine import Observer
from spec.language.terms import Scope, Sort
from spec.language.verdicts import Verdict, pool
from spec.stream.generate import CLAIM, REQUEST
from spec.stream.scopes import DELIVERY, STANDS, Delivery
from tests.proofs.checks.frame.spaces import without

REQUESTS = ("r1", "r2", "r3")
NAMES = {(Scope.STANDS, name): name for name in STANDS}
ARRIVED = REQUEST_REGISTERS.index("arrived")
RESPONSIBLE = CLAIM_REGISTERS.index("responsible")


Event = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """The ledgers and observers of a mode as functions, for every kind of event."""

    observers: tuple[Observer, ...]
    claim: Callable[..., Any]
    request: Callable[..., Any]
    steps: tuple[Callable[..., Any], ...]
    claim_initial: tuple[Any, ...] = tuple(r.initial for r in CLAIM)
    request_initial: tuple[Any, ...] = tuple(r.initial for r in REQUEST)


@cache
def made_of(mode: Mode) -> Made:
    """The functions of a mode."""
    observers = MODES[mode].bundle()
    return Made(
        observers,
        *ledgers(),
        tuple(map(step_of, observers)),
    )


@dataclass
class Standing:
    """One scope: the request's registers, and each observer's state and registers."""

    facts: tuple[Any, ...]
    at: list[tuple[int, Any]]

    def copy(self) -> Standing:
        """The same, apart."""
        return Standing(self.facts, list(self.at))


@dataclass
class Naive:
    """Every scope takes in every event, from the first on."""

    made: Made
    constants: Event
    facts: tuple[Any, ...] = ()
    claim: Standing = field(init=False)
    requests: dict[str, Standing] = field(init=False)

    def __post_init__(self) -> None:
        self.facts = self.made.claim_initial
        first = [(0, tuple(r.initial for r in o.registers)) for o in self.made.observers]
        self.claim = Standing(self.made.request_initial, first)
        self.requests = {name: self.claim.copy() for name in REQUESTS}

    def take(self, event: Event) -> None:
        """One event."""
        was, self.facts = self.facts, self.made.claim(event, self.constants, self.facts)
        self.step(self.claim, event, was, here=False)
        for name, standing in self.requests.items():
            self.step(standing, event, was, here=event["request"] == name)

    def step(self, of: Standing, event: Event, was: Any, *, here: bool) -> None:
        """One scope takes in an event."""
        event["here"], before = here, of.facts
        of.facts = self.made.request(event, self.constants, was, self.facts, before)
        for place, step in enumerate(self.made.steps):
            state, own = of.at[place]
            args = (event, self.constants, was, self.facts, before, of.facts)
            of.at[place] = step(state, own, *args)

    def verdicts(self) -> list[Verdict]:
        """The verdict of each obligation: the heaviest of its scopes."""
        scopes = [self.claim, *self.requests.values()]
        return [
            pool(
                o.states[of.at[place][0]].verdict
                for of in (scopes if o.per_request else [self.claim])
            )
            for place, o in enumerate(self.made.observers)
        ]


class Fast(Naive):
    """Scopes take in what the reasons of delivery say, and requests are opened late."""

    def __init__(self, made: Made, constants: Event, delivery: Delivery) -> None:
        super().__init__(made, constants)
        self.delivery, self.requests = delivery, {}
        self.delivered = Counter[str]()
        self.known = dict.fromkeys(REQUESTS, made.request_initial)
        self.told = {
            scope: function(f"{ARGUMENTS}, owes", expression(delivery.term(scope), NAMES))
            for scope in ("claim", "request", "opens")
        }
        self.derived = {
            name: function("c, w, r, owes, responsible_at_arrival", expression(term, NAMES))
            for name, term in delivery.derived.items()
        }
        self.clock, self.began = 0, 0
        self.arrived = dict.fromkeys(REQUESTS, 0)

    def take(self, event: Event) -> None:
        """One event."""
        was, before, owes = self.facts, self.claim.copy(), self.owes
        opening = {name: self.unfollowed(name) for name in REQUESTS}
        event["here"] = False
        if self.asks("claim", event, was, was, self.claim.facts, owes):
            self.facts = self.made.claim(event, self.constants, was)
            self.step(self.claim, event, was, here=False)
        for name in REQUESTS:
            self.request(name, event, was, Standing(opening[name], before.at), owes)
        self.clock += 1
        if event["kind"] is Kind.CLAIM_COMMITTED and event["mine"] and not was[RESPONSIBLE]:
            self.began = self.clock
        if event["kind"] is Kind.REQUEST_ARRIVED and event["request"] in self.arrived:
            self.arrived[event["request"]] = self.clock

    def unfollowed(self, name: str) -> tuple[Any, ...]:
        """The registers of a request that is not followed: known to the pool, or derived."""
        at_arrival = self.known[name][ARRIVED] and self.began < self.arrived[name]
        stands = (self.constants, self.facts, self.known[name], self.owes, at_arrival)
        made = {register: derived(*stands) for register, derived in self.derived.items()}
        return tuple(
            made.get(register, value)
            for register, value in zip(REQUEST_REGISTERS, self.known[name], strict=True)
        )

    def request(self, name: str, event: Event, was: Any, before: Standing, owes: bool) -> None:
        """What the event means in the scope of one request."""
        event["here"] = event["request"] == name
        followed = self.requests.get(name)
        now = self.made.claim(event, self.constants, was)
        if followed is not None:
            if self.asks("request", event, was, now, followed.facts, owes):
                self.step(followed, event, was, here=event["here"])
        elif self.asks("opens", event, was, now, before.facts, owes):
            self.requests[name] = before.copy()
            self.step(self.requests[name], event, was, here=event["here"])
        self.know(name, event)

    def know(self, name: str, event: Event) -> None:
        """The pool follows what it knows of a request, whoever it concerns."""
        event["here"], first = event["request"] == name, self.made.request_initial
        nobody = self.made.claim_initial
        after = self.made.request(event, self.constants, nobody, nobody, self.known[name])
        self.known[name] = tuple(
            value if register in self.delivery.known else plain
            for register, value, plain in zip(REQUEST_REGISTERS, after, first, strict=True)
        )

    def asks(self, scope: str, event: Any, was: Any, now: Any, req_was: Any, owes: bool) -> bool:
        """Whether the event is delivered."""
        req = self.made.request(event, self.constants, was, now, req_was)
        found = self.told[scope](event, self.constants, was, now, req_was, req, owes)
        self.delivered[scope] += found
        return found

    @property
    def owes(self) -> bool:
        """Something is owed in the scope of the claim itself."""
        pairs = zip(self.claim.at, self.made.observers, strict=True)
        return any(o.states[state].verdict is Verdict.PENDING for (state, _), o in pairs)


def an_event(rng: random.Random) -> Event:
    """A random event: often about the claim, with small counts."""
    kind = rng.choice(tuple(Kind))
    values = {
        name: rng.random() < 0.3 if sort is Sort.BOOL else rng.randrange(4)
        for name, (sort, _) in EVENT_FIELDS.items()
    }
    has = kind in REQUEST_KINDS or kind in CONFLICT_ACTIONS
    request = rng.choice((*REQUESTS, None)) if has else None
    about = rng.random() < 0.6
    values |= {"mine": about, "named": about if rng.random() < 0.95 else not about, "here": False}
    values |= {"usable": 4, "authorised": rng.random() < 0.9}
    return {"kind": kind, "request": request, **values}


def a_story(rng: random.Random) -> list[Event]:
    """Events that begin, as streams do, with a claim that is taken up and cached."""
    events = []
    for kind in (
        Kind.CLAIM_REGISTERED,
        Kind.CLAIM_COMMITTED,
        Kind.CLAIM_ACCEPTED,
        Kind.BLOCK_CACHED,
    ):
        event = an_event(rng)
        event.update(kind=kind, mine=True, named=True, request=None)
        event.update(footprint=2, lead=2)
        events += [event] if rng.random() < 0.9 else []
    return [*events, *(an_event(rng) for _ in range(rng.randrange(5, 25)))]


def run(mode: Mode, rng: random.Random, delivery: Delivery = DELIVERY) -> tuple[bool, Fast, Naive]:
    """Whether both agree after each event of a random stream, and both."""
    made = made_of(mode)
    constants = {"threshold": rng.choice((1, 2)), **MODES[mode].constants}
    fast, naive = Fast(made, constants, delivery), Naive(made, constants)
    agree = True
    for event in a_story(rng):
        naive.take(dict(event))
        fast.take(dict(event))
        agree = agree and same(fast, naive)
    return agree, fast, naive


def same(fast: Fast, naive: Naive) -> bool:
    """The statement of the theorem."""
    if fast.facts != naive.facts or fast.claim.at != naive.claim.at:
        return False
    if fast.verdicts() != naive.verdicts():
        return False
    for name, whole in naive.requests.items():
        standing = fast.requests.get(name, Standing(fast.unfollowed(name), fast.claim.at))
        if standing.facts != whole.facts:
            return False
        for place, observer in enumerate(naive.made.observers):
            if not observer.per_request:
                continue
            verdict = observer.states[naive.claim.at[place][0]].verdict
            if verdict is not Verdict.VIOLATED and standing.at[place] != whole.at[place]:
                return False
    return True


class TestStreams:
    """Random streams, with facts that contradict each other and reports of all kinds."""

    RUNS = 150

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_agreement(self, mode: Mode) -> None:
        """Both agree after every event, and much is not delivered."""
        rng, seen, delivered = random.Random(mode), Counter[Verdict](), Counter[str]()
        for _ in range(self.RUNS):
            agree, fast, naive = run(mode, rng)
            assert agree
            seen.update(naive.verdicts())
            delivered += fast.delivered
        assert {Verdict.SATISFIED, Verdict.VIOLATED, Verdict.UNEXERCISED} <= set(seen)
        assert 0 < delivered["claim"]

    @pytest.mark.parametrize(
        ("scope", "reason"),
        [("claim", "due"), ("request", "of the request"), ("opens", "acted on")],
    )
    def test_dropped(self, scope: str, reason: str) -> None:
        """Where a reason of delivery is dropped, they soon disagree."""
        rng, delivery = random.Random(7), without(scope, reason)
        runs = (run(Mode.HARD_PROTECTED, rng, delivery)[0] for _ in range(self.RUNS))
        assert not all(runs)
