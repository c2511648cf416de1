"""The simulation equals the executable models on small instances: hits, victims, the free queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from math import inf
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from models.framework.model import Action, Fact, Model
from models.runtimes.continuum.model import Continuum
from models.runtimes.continuum.scheduler import Defect, Turn
from models.runtimes.retention.model import Ask, Directive, Retention
from models.runtimes.vllm_pool import Prompt, VllmPool
from models.simulation.cost import Cost
from models.simulation.engine import Engine, simulate
from models.simulation.outcome import Row, Tally
from models.simulation.policies import chosen
from models.simulation.policies.prefixes import Prefixes
from models.simulation.request import Request, Workload
from models.simulation.routing import Routing, router
from spec.events.alphabet import Kind

BLOCK = 4
LOCKSTEP = Cost(prefill_tokens_s=inf, decode_s=1.0, load_blocks_s=inf, step_s=1.0)
EXAMPLES = 100
STUCK = 200


@dataclass
class Keys:
    """A number for each content of a model, which is an object or a request, and a position."""

    numbers: dict[tuple[str, int], int] = field(default_factory=dict)

    def of(self, name: str, size: int) -> tuple[int, ...]:
        """The keys of the first blocks of something."""
        return tuple(self.number((name, at)) for at in range(size))

    def number(self, content: tuple[str, int]) -> int:
        """The key of a content."""
        return self.numbers.setdefault(content, len(self.numbers))


@dataclass
class Found:
    """For each request the blocks that it found and the contents evicted for it; then the queue."""

    hits: dict[str, int] = field(default_factory=dict)
    victims: dict[str, list[int]] = field(default_factory=dict)
    queue: list[int] = field(default_factory=list)


def simulated(workload: Workload, blocks: int, policy: str) -> Found:
    """What the simulation does, each step of which takes a second."""
    found, rows = Found(), dict[str, Row]()
    tally = Tally(policy, BLOCK, lambda row: rows.update({row.request: row}))
    make = chosen(policy).made(workload, blocks)
    route = router(Routing.ROUND_ROBIN)
    (engine,) = simulate(workload, [make()], blocks, cost=LOCKSTEP, tally=tally, route=route)
    for name, row in rows.items():
        found.hits[name], found.victims[name] = row.hit // BLOCK, row.victims
    found.queue = queue_of(engine)
    return found


def queue_of(engine: Engine) -> list[int]:
    """The keys of the free blocks, the next victim first."""
    _, victims = engine.pool.take(engine.pool.free)
    return victims


class Driver:
    """A model whose requests each run for one step, as in the simulation in lockstep.

    Args:
        contents: what the blocks of each request hold that can be found in the cache.
        due: when each request arrives; of those in `after`, how long after the end of that one.
        step: lets the model admit what fits.
    """

    def __init__(
        self,
        model: Model[Any],
        keys: Keys,
        contents: dict[str, tuple[tuple[str, int], ...]],
        due: dict[str, int],
        after: dict[str, str] | None = None,
    ) -> None:
        self.model, self.keys, self.contents = model, keys, contents
        (self.state,) = model.initial()
        self.found = Found()
        self._due, self._after = due, after or {}

    def run(self, step: Callable[[], None]) -> Found:
        """Let all requests arrive and end."""
        firsts = [name for name in self._due if name not in self._after]
        coming, left, now, serial = list[tuple[int, int, str]](), len(self._due), 0, 0
        while left:
            assume(now < STUCK)  # pins of jobs that all wait block the source for ever
            if any(each.name == "tick" for each in self.model.actions(self.state)):
                self.act("tick")
            for name in self.running():
                self.act("finish", name)
                left -= 1
                for later in (each for each, before in self._after.items() if before == name):
                    serial += 1
                    coming.append((now + self._due[later], serial, later))
            for each in sorted(coming):
                if each[0] <= now:
                    coming.remove(each)
                    self.act("arrive", each[2])
            while firsts and self._due[firsts[0]] <= now:
                self.act("arrive", firsts.pop(0))
            step()
            now += 1
        return self.found

    def running(self) -> list[str]:
        """The requests that run, in the order of their admission."""
        return [each if isinstance(each, str) else each[0] for each in self.state.running]

    def admit(self) -> None:
        """Admit what fits, in the order of arrival."""
        while any(each.name == "admit" for each in self.model.actions(self.state)):
            self.act("admit", self.state.waiting[0])

    def act(self, name: str, *what: str) -> None:
        """Take an action; note hits and victims."""
        before, ran = self.state.cached, self.running()
        after = self.model.apply(self.state, Action(name, what))
        self.state = after.state
        blocks = dict(getattr(self.state, "held", self.state.running))
        for request in self.running():
            if request not in ran:
                pairs = zip(blocks[request], self.contents[request], strict=False)
                hits = list(takewhile(lambda pair: before[pair[0]] == pair[1], pairs))
                self.found.hits[request] = len(hits)
                self.found.victims.setdefault(request, [])
        for each in after.emits:
            if isinstance(each, Fact) and each.event.kind == Kind.BLOCK_EVICTED:
                gone = [self.keys.number(before[block]) for block in each.event.block_ids]
                self.found.victims.setdefault(each.event.request_id or "", []).extend(gone)

    def free(self) -> list[int]:
        """The contents of the free queue."""
        cached = self.state.cached
        return [self.keys.number(cached[b]) for b in self.state.free if cached[b] is not None]


BLOCKS = st.integers(4, 9)
GAPS = st.integers(0, 3)


@st.composite
def prompts(draw: st.DrawFn) -> list[tuple[int, Prompt]]:
    """Requests that begin with one of two objects, and the step before which each comes."""
    now, made = 0, []
    for number in range(draw(st.integers(1, 12))):
        now += draw(GAPS)
        shared, own = draw(st.integers(0, 2)), draw(st.integers(0, 1))
        tail = draw(st.integers(0, 1)) if shared + own else 1  # without one, contents are doubled
        name = draw(st.sampled_from("ab"))
        made.append((now, Prompt(f"r{number}", name, shared, own, tail, exact=not tail)))
    return made


@settings(max_examples=EXAMPLES, deadline=None)
@given(BLOCKS, prompts())
def test_lru(blocks: int, asked: list[tuple[int, Prompt]]) -> None:
    """lru is the model of vLLM's block pool."""
    keys, requests, contents = Keys(), [], {}
    for due, each in asked:
        own = keys.of(each.object_id, each.shared) + keys.of(each.request_id, each.own)
        tokens = BLOCK * (each.shared + each.own) + each.tail
        requests.append(Request(each.request_id, float(due), tokens, 1, own))
        whole = [(each.object_id, at) for at in range(each.shared)]
        whole += [(each.request_id, at) for at in range(each.own)]
        contents[each.request_id] = tuple(whole[: each.reusable])
    model = VllmPool(blocks, tuple(each for _, each in asked), {"a": 2, "b": 2})
    driver = Driver(model, keys, contents, {each.request_id: due for due, each in asked})
    expected = driver.run(driver.admit)
    expected.queue = driver.free()
    assert expected == simulated(Workload("", BLOCK, tuple(requests)), blocks, "lru")


@st.composite
def asks(draw: st.DrawFn) -> list[tuple[int, str, int, int, bool]]:
    """The step before which each comes, its object, the blocks of it, its own, whether it calls."""
    now, made = 0, []
    for _ in range(draw(st.integers(1, 10))):
        now += draw(GAPS)
        shared, own = draw(st.integers(0, 2)), draw(st.integers(1, 2))
        made.append((now, draw(st.sampled_from("ab")), shared, own, draw(st.booleans())))
    return made


@settings(max_examples=EXAMPLES, deadline=None)
@given(BLOCKS, asks(), st.integers(1, 6), st.integers(1, 6))
def test_retention(
    blocks: int, asked: list[tuple[int, str, int, int, bool]], prefix_ttl: int, turn_ttl: int
) -> None:
    """retention is the model of retention directives, where one scope states all of them."""
    keys, requests = Keys(), []
    for number, (due, name, shared, own, calls) in enumerate(asked):
        own_keys = keys.of(name, shared) + keys.of(f"r{number}", own)
        tool = "tool" if calls else None
        tokens = BLOCK * (shared + own)
        requests.append(Request(f"r{number}", float(due), tokens, 1, own_keys, tool=tool))
    workload = Workload("", BLOCK, tuple(requests))
    prefixes, stated, contents = Prefixes(workload, 2), [], {}
    for request, (_, name, shared, own, calls) in zip(requests, asked, strict=True):
        prefix = prefixes.of(request.keys, request.prompt)
        directives = [Directive(90, len(prefix.keys), prefix_ttl)] if prefix else []
        if calls:
            directives.append(Directive(50, shared + own, turn_ttl))
        scope = "s" if directives else None
        stated.append(Ask(request.id, name, shared, own, tuple(directives) or None, scope))
        contents[request.id] = stated[-1].contents[:-1]
    model = Retention(blocks, tuple(stated), threshold=1)
    driver = Driver(model, keys, contents, {r.id: int(r.arrives) for r in requests})
    expected = driver.run(driver.admit)
    policy = f"retention:prefix_ttl={prefix_ttl},turn_ttl={turn_ttl}"
    found = simulated(workload, blocks, policy)
    assert (expected.hits, expected.victims) == (found.hits, found.victims)


@st.composite
def turns(draw: st.DrawFn) -> list[tuple[int, Turn, str | None]]:
    """Turns of conversations whose prompts grow, when each comes, and the turn before it."""
    made: list[tuple[int, Turn, str | None]] = []
    now = 0
    for chat in range(draw(st.integers(1, 4))):
        now += draw(GAPS)
        first, before, count = draw(st.integers(1, 2)), None, draw(st.integers(1, 3))
        for size, turn in enumerate(range(count), first):
            name, last = f"{chat}.{turn}", turn + 1 == count
            fast = draw(st.booleans())
            due = now if before is None else draw(st.integers(0, 6))
            job = f"chat:{chat}"
            made.append((due, Turn(name, job, size, 0, job, fast, last), before))
            before = name
    return made


@settings(max_examples=10 * EXAMPLES, deadline=None)
@given(BLOCKS, turns(), st.integers(2, 8))
def test_pin(blocks: int, asked: list[tuple[int, Turn, str | None]], ttl: int) -> None:
    """pin is the model of Continuum's scheduler, where answers are short: a pin stays while its job
    waits, and no other defect is there."""
    keys, requests, contents = Keys(), [], {}
    for due, turn, before in asked:
        requests.append(
            Request(
                turn.request_id,
                float(due),
                BLOCK * turn.prompt,
                1,
                keys.of(turn.chat, turn.prompt),
                after=before,
                session=turn.chat,
                tool="tool" if turn.pins else None,
            )
        )
        contents[turn.request_id] = tuple((turn.chat, at) for at in range(turn.prompt - 1))
    model = Continuum(blocks, tuple(turn for _, turn, _ in asked), ttl, (Defect.SUSPENDED,))
    driver = Driver(
        model,
        keys,
        contents,
        {turn.request_id: due for due, turn, _ in asked},
        {turn.request_id: before for _, turn, before in asked if before is not None},
    )
    expected = driver.run(lambda: driver.act("step"))
    found = simulated(Workload("", BLOCK, tuple(requests)), blocks, f"pin:ttl={ttl - 1}")
    assert (expected.hits, expected.victims) == (found.hits, found.victims)
