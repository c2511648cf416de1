"""What is remembered of one claim moves another as its own observers would, in every part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as product_of
from random import Random
from typing import Any

import pytest

from monitor.evaluate import compaction, product
from monitor.evaluate.cached_step import NUMBERS, SLOT, code_of
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compaction import compact, expand
from monitor.evaluate.compile import compile_mode
from monitor.evaluate.python_terms import REQUEST_REGISTERS
from monitor.evaluate.reading import MOST_READ
from monitor.input.records import Stamp, at_line
from monitor.requests.request import Request
from monitor.stream.cached_events import WAYS
from monitor.stream.keep import Keep
from monitor.stream.projection import Stream
from monitor.stream.shortcuts import SHORTCUTS
from monitor.stream.transition_cache import TransitionCache
from spec.claims.claim import Mode
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import BLOCKS_GONE, ENDS, Kind
from spec.events.canonical import Event
from spec.events.fields import ROUTE_REPORTS
from spec.language.partial_evaluation import specialize
from spec.language.terms import FALSE, Compare, Const, Scope, Sort, Term, Var, children, variables
from spec.language.verdicts import Verdict
from spec.projection.lines import Line
from tests.monitor.stream.test_shortcuts import LongWay, lines_of, streams
from tests.monitor.whole_state import whole_state
from tests.streams.edited import edited
from tests.streams.traffic import Traffic, as_events
from tests.streams.wide import told

KEEPS = (
    *(None, Keep(ended=0), Keep(ended=1, records=1), Keep(ended=3)),
    *(Keep(ended_requests=0), Keep(ended=1, ended_requests=1)),
)
NUMBERS_AT = [REQUEST_REGISTERS.index(name) for name in ("needed", "usable", "cost", "worker")]
COMMITS = {"kind": Kind.CLAIM_COMMITTED, "footprint": 2}


def take(stream: Stream, line: Line) -> None:
    at = at_line("f", line.at, line.sequence)
    stream.stamp(
        Stamp("run", line.sequence, line.time_ns, mark=line.mark, observes=line.observes), at
    )
    for event in line.events:
        stream.take(event, at)


def told_anew(seeds: range) -> Iterator[tuple[Mode, list[Line]]]:
    """Streams of honest runtimes, of any, and changed ones, about claims of each mode."""
    for mode in Mode:
        yield from ((mode, lines) for lines in streams(mode, 60))
        for seed in seeds:
            chance = Random(f"{mode} {seed}")
            yield from ((mode, told(chance, mode, *which)) for which in ((), (0,)))
            yield mode, edited(chance, mode)


def slots(claim: ClaimRun) -> tuple[Any, ...]:
    product = claim.product
    assert product is not None
    numbers = [
        [number for number, at in zip(each, NUMBERS_AT, strict=True) if facts[at] is None]
        for each, (facts, *_) in zip(claim.needs, product.requests, strict=True)
    ]
    return product, claim.ids, numbers, claim.places


def compare(mode: Mode, lines: list[Line], chance: Random) -> None:
    """A stream that caches is equal to one that does not, and so is a claim made compact again."""
    modes = list(Mode) if chance.random() < 0.3 else [mode]
    judges = [compile_mode(each, Bundle.CONTRACT) for each in modes]
    keep, watched = chance.choice(KEEPS), chance.random() < 0.5
    short, long = Stream(judges, "run", keep), LongWay(judges, "run", keep)
    for stream in (short, long) if watched else ():
        stream.watch([])
    for line in lines:
        take(short, line)
        take(long, line)
        for claim in short.claims.values():
            clear = len(set(claim.places)) == len(claim.places)  # which slot is whose
            still = claim.product is not None and not claim.unwatched  # those stay expanded
            if still and clear and chance.random() < 0.5:
                before = slots(claim)
                expand(claim)
                assert compact(claim) is not None
                assert slots(claim) == before
        if chance.random() < 0.3 or line is lines[-1]:
            for stream in (short, long):
                if stream.store.moved is not None:
                    stream.store.moved.clear()
            assert whole_state(long) == whole_state(short), line
    found = [{n: list(c.findings()) for n, c in each.claims.items()} for each in (short, long)]
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 400), marks=pytest.mark.deep)])
def test_same(seeds: range) -> None:
    """By what is remembered all that is held of a stream comes to the same, and so do findings;
    a claim that is compact and expanded again stands where it stood."""
    for number, (mode, lines) in enumerate(told_anew(seeds)):
        compare(mode, lines, Random(number))


@pytest.mark.slow
@pytest.mark.interpreted
def test_same_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no more products are remembered, claims are moved by their observers."""
    for module in (product, compaction):
        monkeypatch.setattr(module, "MOST", 4)
    for each in Mode:
        known = vars(compile_mode(each, Bundle.CONTRACT))
        for name in ("products", "entries", "compact_states"):
            monkeypatch.delitem(known, name, raising=False)
    for number, (mode, lines) in enumerate(told_anew(range(1))):
        compare(mode, lines, Random(number))
        assert len(compile_mode(mode, Bundle.CONTRACT).products) <= 4


@pytest.mark.parametrize("most", [16, 1_000])
@pytest.mark.interpreted
def test_many_requests(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many requests in hand of one claim each is moved as itself, in whatever order they
    end; no code of one is that of another."""
    monkeypatch.setattr(compaction, "_MOST_REQUESTS", most)
    begins = [event for event in as_events(Traffic(8, 1, (Mode.OFFLOADABLE,))) if event.claim_id]
    claim_id, number = begins[0].claim_id, 140
    events = begins[:6]
    for each in range(number):
        needs = {"request_id": f"r{each}", "needed": 1, "usable": 1_000}
        events.append(Event(kind=Kind.REQUEST_ARRIVED, claim_id=claim_id, **needs))
    for first in (10, 74, 75, 11, 61, 62):
        order = [*range(number - 40, number), first, 0]
        ends = [Event(kind=Kind.REQUEST_FINISHED, request_id=f"r{each}") for each in order]
        compiled = compile_mode(Mode.OFFLOADABLE, Bundle.CONTRACT)
        short, long = Stream(compiled, "run"), LongWay(compiled, "run")
        for line in lines_of([*events, *ends]):
            take(short, line)
            take(long, line)
        assert whole_state(long) == whole_state(short)


def begun(claim: str, block: int, mode: Mode) -> list[Event]:
    """A claim with a block that its request found, and whose presence is reported."""
    said: dict[str, Any] = {
        "object_id": f"object of {claim}",
        "cache_identity": "cache",
        "mode": mode,
    }
    about: dict[str, Any] = {"claim_id": claim}
    return [
        Event(kind=Kind.CLAIM_REGISTERED, **about, **said, predicate="leading_prefix_at_least(1)"),
        Event(kind=Kind.CLAIM_COMMITTED, **about, footprint=1),
        Event(kind=Kind.CLAIM_ACCEPTED, **about, footprint=1),
        Event(kind=Kind.BLOCK_CACHED, **about, block_ids=(block,), positions=(0,), found=True),
        Event(kind=Kind.CLAIM_MATERIALIZED, **about),
    ]


def test_reuse_of_another_claim() -> None:
    """A reuse is told to each claim that follows its request, also where the claim that is reused
    did not follow it before: one whose restore failed sees that the refused request went on."""
    of_a: dict[str, Any] = {"claim_id": "a", "request_id": "second"}
    arrives: dict[str, Any] = {"kind": Kind.REQUEST_ARRIVED, "needed": 0, "usable": 100}
    blame: dict[str, Any] = {"outcome_claim_id": "a"}
    events = [
        *begun("a", 10, Mode.OFFLOADABLE),
        Event(kind=Kind.STORE_FINISHED, claim_id="a"),
        Event(kind=Kind.BLOCK_EVICTED, block_ids=(10,)),
        Event(kind=Kind.CLAIM_UNMATERIALIZED, claim_id="a"),
        Event(kind=Kind.CLAIM_OFFLOADED, claim_id="a"),
        Event(**arrives, request_id="first"),
        *begun("b", 11, Mode.OFFLOADABLE),
        Event(kind=Kind.PREFIX_REUSED, claim_id="b", request_id="first"),
        Event(kind=Kind.REQUEST_FINISHED, request_id="first"),
        Event(**arrives, request_id="second"),
        Event(kind=Kind.PREFIX_LOOKUP, **of_a, held=0, asked=1),
        Event(kind=Kind.CLAIM_RESTORE_REQUIRED, **of_a),
        Event(kind=Kind.LOAD_FAILED, **of_a),
        Event(kind=Kind.CLAIM_RESTORATION_FAILED, **of_a, **blame, outcome="refusal"),
        Event(kind=Kind.CLAIM_RETIRED, claim_id="b"),
        Event(kind=Kind.CLAIM_RELEASED, claim_id="b"),
        Event(
            kind=Kind.REQUEST_REFUSED,
            request_id="second",
            **blame,
            blocking_claim_ids=("a",),
            restore=True,
        ),
        *begun("c", 12, Mode.OFFLOADABLE),
        Event(kind=Kind.PREFIX_REUSED, claim_id="c", request_id="second"),
    ]
    compiled = compile_mode.__wrapped__(Mode.OFFLOADABLE, Bundle.CONTRACT)
    short, long = Stream(compiled, "run"), LongWay(compiled, "run")
    for line in lines_of(events):
        take(short, line)
        take(long, line)
    found = dict(short.claims["a"].findings())["restoration_failure_outcome"]
    assert found.verdict is Verdict.VIOLATED
    assert whole_state(long) == whole_state(short)


def test_events_of_one_line() -> None:
    """Where two events of a claim stand at one place, what is remembered of its findings does not
    take the places of other claims for one."""
    lives = [begun(claim, block, Mode.HARD_PROTECTED)[:3] for block, claim in enumerate("abc", 10)]
    (first, *last), others = lives[1], [*lives[0], *lives[2]]
    lines = [Line(at, (event,), at - 1) for at, event in enumerate((*others, first), 1)]
    lines.append(Line(8, tuple(last), 7))
    compiled = compile_mode.__wrapped__(Mode.HARD_PROTECTED, Bundle.CONTRACT)
    short, long = Stream(compiled, "run"), LongWay(compiled, "run")
    for line in lines:
        take(short, line)
        take(long, line)
    for claim in "bac":  # the first one is what would be remembered
        assert list(short.claims[claim].findings()) == list(long.claims[claim].findings())


def test_codes() -> None:
    """No code stands for two events, whatever the slots of their requests are."""
    judge, of = compile_mode(Mode.BEST_EFFORT, Bundle.CONTRACT), TransitionCache._slot_of
    claim = Stream(judge, "run").store.make("a")
    claim.took, claim.ids = 5, tuple(f"r{each}" for each in range(200))
    slots = {name: of(claim, name, Request(since=9)) for name in (*claim.ids, "new")}
    slots["later"] = of(claim, "later", Request(since=1))
    codes = {
        kind | slot << SLOT | bits
        for kind in NUMBERS.values()
        for slot in slots.values()
        for bits in range(64)
    }
    assert len(codes) == len(NUMBERS) * len(slots) * 64
    parts = product_of(NUMBERS, (0, 1, 2, 3, 64, 199), (0, 1, 5, MOST_READ - 1), (0, 1, 63))
    read = [code_of(kind, slot, 1 << bit, more) for kind, slot, bit, more in parts]
    assert len(set(read)) == len(read)
    assert codes.isdisjoint(read)


def test_each_way() -> None:
    """The kinds below are those whose effect is remembered; of routes a reader says what is read
    (`tests/monitor/evaluate/test_reading.py`)."""
    routes = {*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())}
    remembered = {k for k, way in WAYS.items() if way is not SHORTCUTS.get(k)}
    assert {*READ, *OTHERS} | routes == remembered | {Kind.CLAIM_REGISTERED}


def test_bound_anew() -> None:
    """A claim that a fact binds to another part of its object joins the claims there before it is
    moved by what is remembered."""
    said: dict[str, Any] = {
        "cache_identity": "cache",
        "object_id": "o",
        "predicate": "leading_prefix_at_least(2)",
        "mode": Mode.SOFT_PRIORITY,
    }
    events = [
        Event(kind=kind, claim_id=name, **more)
        for name in ("a", "b")
        for kind, more in (
            (Kind.CLAIM_REGISTERED, said),
            (Kind.CLAIM_COMMITTED, {"footprint": 2}),
            (Kind.CLAIM_ACCEPTED, {"footprint": 2}),
            (Kind.BLOCK_CACHED, {"block_ids": (10, 11), "positions": (0, 1)}),
        )
    ]
    another = {"object_id": "o", "token_map": "another", "block_ids": (10,)}
    events.append(Event(kind=Kind.BLOCK_LOST, claim_id="a", **another))
    events.append(Event(kind=Kind.CLAIM_HARMED, claim_id="a"))
    compiled = compile_mode(Mode.SOFT_PRIORITY, Bundle.CONTRACT)
    short, long = Stream(compiled, "run"), LongWay(compiled, "run")
    for line in lines_of(events):
        take(short, line)
        take(long, line)
    assert 4 == short.store.room.bound == long.store.room.bound
    assert whole_state(long) == whole_state(short)


@pytest.mark.parametrize(
    ("mode", "products", "learned"),
    [
        (Mode.BEST_EFFORT, 7, 8),
        (Mode.HARD_PROTECTED, 12, 13),
        (Mode.OFFLOADABLE, 21, 22),
    ],
)
@pytest.mark.interpreted
def test_few(mode: Mode, products: int, learned: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of hundreds of claims that live alike meets few products, and each transition is
    found out once."""
    fresh, counted = compile_mode.__wrapped__(mode, Bundle.CONTRACT), 0
    learn = TransitionCache._learn

    def counting(self: TransitionCache, *args: Any, **more: Any) -> bool:
        nonlocal counted
        counted += 1
        return learn(self, *args, **more)

    monkeypatch.setattr(TransitionCache, "_learn", counting)
    stream = Stream(fresh, "run")
    for number, event in enumerate(as_events(Traffic(6_000, 100, (mode,))), 1):
        at = at_line("f", number, event.sequence)
        stream.stamp(Stamp("run", event.sequence, event.time_ns), at)
        stream.take(event, at)
    assert len(fresh.products) == products
    assert counted == learned


# What a code has to say.

READ = {
    **{key: {"authorised", "by"} for key in ENDS},
    Kind.CLAIM_RETIRED: {"by"},
    Kind.CLAIM_COMMITTED: {"footprint"},
    Kind.CLAIM_ACCEPTED: {"footprint"},
    Kind.PREFIX_LOOKUP: {"covers", "here"},
    Kind.PREFIX_REUSED: {"here"},
    Kind.CLAIM_RESTORE_REQUIRED: {"here"},
    Kind.CLAIM_RESTORED: {"from_tier", "here"},
    Kind.BLOCK_CACHED: {"found", "here", "lead"},
    Kind.LOAD_FINISHED: {"here", "intact", "lead"},
    Kind.BLOCK_EVICTED: {"lead", "lower_priority_available", "higher_priority_kept"},
    Kind.BLOCK_LOST: {"lead"},
    Kind.REQUEST_FINISHED: {"here", "shared", "rest_since_arrival"},
}
"""What of an event is read, by kinds; of the others remembered nothing is. No claim with a rank is
moved by what is remembered of an eviction, and at the end of a request that fits beside all claims
no conflict can be read from `shared` and `rest_since_arrival`.
"""
OTHERS = (
    *(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_OFFLOADED),
    *(Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST, Kind.CLAIM_REGISTERED),
)


def read_at(kind: Kind) -> Iterator[Term]:
    """What observers and ledgers of any mode compute from an event of a kind."""
    about = Const(kind is not Kind.REQUEST_FINISHED)
    known = {(Scope.EVENT, name): about for name in ("mine", "named")}
    for mode in Mode:
        for observer in MODES[mode].bundle(Bundle.CONTRACT):
            for rule in observer.rules:
                when = specialize(rule.when, kind, known)
                if when != FALSE:
                    yield when
                    yield from (specialize(term, kind, known) for term in rule.sets.values())
    for ledger in (CLAIM_FACTS, DECLARED, REQUEST_FACTS):
        for name, term in ledger.following.items():
            found = specialize(term, kind, known)
            if found not in [Var(scope, name, found.sort) for scope in (Scope.WAS, Scope.REQ_WAS)]:
                yield found
    yield from (specialize(each.holds, kind, known) for each in FACTS_ARE_FACTS)


@pytest.mark.parametrize("kind", [*READ, *OTHERS])
def test_reads(kind: Kind) -> None:
    """A code says all that is read of an event: a field more would have to be in it."""
    read = {v.name for term in read_at(kind) for v in variables(term) if v.scope is Scope.EVENT}
    assert read - {"mine", "named"} == READ.get(kind, set())


LEFT_OUT = {
    "footprint", "lead", "ended_by", "losses", "failures", "declared", "needed", "usable",
    "cost", "worker",
}  # fmt: skip
"""The registers that a product leaves out."""

COMPARED = {
    Kind.CLAIM_COMMITTED: {frozenset({"footprint", "threshold"})},
    **{key: {frozenset({"lead"})} for key in BLOCKS_GONE},  # with 0, which is what is left
    Kind.CLAIM_ACCEPTED: {frozenset({"footprint"})},
    **{key: {frozenset({"ended_by"}), frozenset({"by", "ended_by"})} for key in ENDS},
    Kind.REQUEST_FINISHED: {
        frozenset({"needed", "usable"}),
        frozenset({"needed", "usable", "declared", "shared", "rest_since_arrival"}),
    },
}
"""What numbers are compared with, beside what is held with a predicate's threshold."""


def comparisons(term: Term) -> Iterator[frozenset[str]]:
    if isinstance(term, Compare):
        yield frozenset(v.name for v in variables(term) if v.sort is Sort.INT)
    for child in children(term):
        yield from comparisons(child)


@pytest.mark.parametrize("kind", [*READ, *OTHERS])
def test_numbers(kind: Kind) -> None:
    """No number that a product leaves out is compared with another one, but where its code says
    what comes of it."""
    found = {each for term in read_at(kind) for each in comparisons(term) if each & LEFT_OUT}
    assert found <= {frozenset({"lead", "threshold"})} | COMPARED.get(kind, set())
