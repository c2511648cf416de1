"""A pool, a tier and an engine of a few lines, which drive the controller without a runtime."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple

import msgspec

from monitor.input.dialects.canonical import CanonicalDialect
from runtime_hooks.claims.arrivals import Arrival, Prompt, Refusal
from runtime_hooks.controller.controller import Controller
from runtime_hooks.settings.config import Settings
from runtime_hooks.trace.journal import Journal, Line
from runtime_hooks.trace.names import Place
from spec.claims.claim import CacheIdentity
from spec.claims.states import Mode
from spec.events.canonical import EVENT_ENCODER, Event, Mark, StreamMark
from spec.language.verdicts import Verdict, pool
from spec.stream.breaks import line_of
from spec.stream.claim import outcome_of
from spec.stream.judge import Judge
from spec.stream.outcome import ClaimOutcome, ModeVerdict, decide

IDENTITY = CacheIdentity(
    key_domain="test", model_id="tiny", tokenizer_domain="none", namespace="", block_size=32
)
NS = 1_000_000_000


def keys_of(name: str, blocks: int) -> list[bytes]:
    """The contents of a prompt's blocks: each depends on what comes before it."""
    found = [name.encode()]
    for _ in range(blocks):
        found.append(hashlib.sha256(found[-1]).digest())
    return found[1:]


def in_blocks(keys: Iterable[bytes], blocks: Iterable[int]) -> list[tuple[bytes, Place]]:
    """The contents of a prompt's first blocks, each in one of these blocks."""
    return [(k, Place(at, b)) for at, (k, b) in enumerate(zip(keys, blocks, strict=True))]


def prompt_keys(prompt: Prompt) -> list[bytes]:
    """The contents of a prompt of one letter, repeated, 32 a block."""
    return keys_of(chr(prompt.token_ids[0]), len(prompt.token_ids) // 32)


class Judged(NamedTuple):
    """What the claims of a mode came to, as far as anything was owed to them."""

    claims: tuple[ClaimOutcome, ...]

    @property
    def obligations(self) -> dict[str, Verdict]:
        """The heaviest verdict on each obligation."""
        found: dict[str, list[Verdict]] = {}
        for claim in self.claims:
            for name, finding in claim.findings.items():
                found.setdefault(name, []).append(finding.verdict)
        return {name: pool(verdicts) for name, verdicts in found.items()}

    @property
    def verdict(self) -> ModeVerdict:
        """The verdict on all of them."""
        return decide(self.obligations, "" if self.claims else "no claim")[0]

    @property
    def why(self) -> str:
        """What decided it."""
        return decide(self.obligations, "" if self.claims else "no claim")[1]


def judged(lines: Iterable[Line], first: tuple[int, ...] = (0,)) -> Judge:
    """A judge that has read lines, as they would be read from a file; each must be readable."""
    judge, dialect = Judge(first=first), CanonicalDialect("trace")
    for number, line in enumerate(lines, 1):
        text = EVENT_ENCODER.encode(line)
        dialect.feed(msgspec.json.decode(text), number)
        marks = set(Mark)
        form = StreamMark if msgspec.json.decode(text)["kind"] in marks else Event
        judge.take(line_of(msgspec.json.decode(text, type=form), number))
    judge.finish()
    return judge


def outcomes(judge: Judge, mode: Mode | None = None) -> Judged:
    """What its claims came to, of all periods: those of a mode."""
    found = map(outcome_of, [*judge.past, *judge.claims.values()])
    owed = (c for c in found if c.entered or c.verdict is ModeVerdict.VIOLATED)
    return Judged(tuple(c for c in owed if mode in (None, c.mode)))


class Kept:
    """A sink that keeps lines."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.failed = False

    @property
    def events(self) -> list[Event]:
        """The lines that are events."""
        return [line for line in self.lines if isinstance(line, Event)]

    def take(self, lines: Sequence[Line]) -> None:
        """More lines."""
        self.lines += lines

    def idle(self) -> None:
        """Nothing for now."""

    def close(self) -> None:
        """No more."""

    def fail(self) -> None:
        """It raised."""
        self.failed = True


class TinyPool:
    """Blocks that are free in the order of their release; a free one keeps its content."""

    def __init__(self, usable: int) -> None:
        self.usable = usable
        self.free = list(range(1, usable + 1))
        self.users = dict.fromkeys(self.free, 0)
        self.content: dict[int, bytes] = {}
        self.ranks: dict[int, int] = {}
        self.lost: Callable[[Sequence[int]], None] = lambda blocks: None

    def next(self, count: int) -> list[int]:
        """Those that are taken next: without a rank, then of the lowest."""
        found = list(islice((b for b in self.free if b not in self.ranks), count))
        if len(found) < count:
            found += sorted((b for b in self.free if b in self.ranks), key=self.ranks.__getitem__)
        return found[:count]

    def rank(self, ranks: Mapping[int, int | None]) -> None:
        """Free blocks whose rank changes come last among those of their rank."""
        for block, rank in ranks.items():
            self.ranks.pop(block, None)
            if rank is not None:
                self.ranks[block] = rank
            if block in self.free:
                self.free.remove(block)
                self.free.append(block)

    def lowest(self) -> int | None:
        """The lowest rank of a free block."""
        return min((rank for b, rank in self.ranks.items() if not self.users[b]), default=None)

    def hold(self, blocks: Sequence[int]) -> None:
        """One more user."""
        for block in blocks:
            self.users[block] += 1
            if block in self.free:
                self.free.remove(block)

    def release(self, blocks: Sequence[int]) -> None:
        """One user fewer."""
        for block in blocks:
            self.users[block] -= 1
            assert self.users[block] >= 0
            if not self.users[block]:
                self.free.append(block)

    def drop(self, blocks: Sequence[int]) -> None:
        """What is to be found no more is reported as lost."""
        for block in blocks:
            del self.content[block]
        self.lost(blocks)

    def unused(self, blocks: Iterable[int]) -> list[int]:
        """Those that nobody uses."""
        return [block for block in blocks if not self.users[block]]

    def used(self) -> int:
        """How many are not free."""
        return self.usable - len(self.free)

    def alone(self, blocks: Iterable[int]) -> int:
        """Those that have one user."""
        return sum(self.users[block] == 1 for block in blocks)

    def find(self, keys: Sequence[bytes]) -> list[tuple[bytes, int]]:
        """Cached contents, with every block."""
        where: dict[bytes, list[int]] = {}
        for block, key in self.content.items():
            where.setdefault(key, []).append(block)
        return [(key, block) for key in keys for block in where.get(key, ())]


class TinyTier:
    """Remembers which copies are kept."""

    def __init__(self, *there: bytes) -> None:
        self.there, self.kept = set(there), set[bytes]()

    def has(self, keys: Sequence[bytes]) -> list[bytes]:
        """These are there."""
        return [key for key in keys if key in self.there]

    def keep(self, keys: Sequence[bytes]) -> None:
        """These are."""
        self.kept |= set(keys)

    def drop(self, keys: Sequence[bytes]) -> None:
        """These are no more."""
        self.kept -= set(keys)


class TinyEngine:
    """Serves one request after the other, as a block pool with a prefix cache does."""

    def __init__(
        self, usable: int = 80, tier: Any = None, next_engine: Any = None, **settings: Any
    ) -> None:
        self.now = 1_000 * NS
        self.pool = TinyPool(usable)
        self.sink = Kept()
        chosen = Settings(**settings)
        self.journal = Journal("tiny", [self.sink], chosen.queue)
        self.controller = Controller(
            chosen,
            self.journal,
            self.pool,
            IDENTITY,
            tier,
            next_engine=next_engine,
            prompts=prompt_keys,
            alarm=lambda: "",
            clock=lambda: self.now,
        )
        self.pool.lost = self.controller.tracker.lost
        self.expected_faults: dict[tuple[str, str], int] = {}
        self.refusals: list[Refusal] = []
        self._to_refuse: dict[str, Refusal] = {}
        self.answers: list[dict[str, str]] = []

    def serve(
        self,
        name: str,
        blocks: int,
        claim: object = None,
        prompt: str = "",
        *,
        looks: bool = True,
        **more: Any,
    ) -> bool:
        """Run a request to its end; whether it was served.

        Args:
            prompt: what it says, by default its name.
            looks: whether it looks for what is cached of it.
            more: fields of its arrival.
        """
        says = prompt or name
        keys = keys_of(says, blocks)
        reusable = blocks if looks else 0
        if len(says) == 1:
            more.setdefault("prompt", lambda: Prompt((ord(says),) * (32 * blocks)))
        fits, answers = self.arrive(Arrival(name, keys, blocks, reusable, claim, **more))
        self.answers.append(answers)
        if not fits:
            ready, refused = self.begin_step()
            self.refusals += refused
            if name not in ready:
                if any(refusal.request_id == name for refusal in refused):
                    self.finish(name)
                return False
        self._run(name, keys, reusable)
        at_the_end = self.finish(name)
        if "pin" in more:
            self.answers.append(at_the_end)
        return True

    def arrive(self, arrival: Arrival) -> tuple[bool, dict[str, str]]:
        """A request arrives; whether it may run, and the answers. A refusal waits for a step."""
        self.controller.start()
        decision = self.controller.arrive(arrival)
        if decision.refusal is not None:
            self._to_refuse[arrival.request_id] = decision.refusal
        return decision.runs, decision.answers

    def begin_step(self) -> tuple[list[str], list[Refusal]]:
        """A step begins; the requests that may run now, and all refusals since the last step."""
        ready, refused = self.controller.begin_step()
        self.controller.restate_if_due()
        refused = [*self._to_refuse.values(), *refused]
        self._to_refuse.clear()
        return ready, refused

    def finish(self, name: str, *, aborted: bool = False) -> dict[str, str]:
        """A request ends; the answers to its pin."""
        self._to_refuse.pop(name, None)
        return self.controller.finish(name, aborted=aborted)

    def release(self, claim_id: str, scope: str) -> str:
        """The owner gives a claim up; why that is not done, or empty."""
        return self.controller._admission.release(claim_id, scope)

    def _run(self, name: str, keys: list[bytes], reusable: int) -> None:
        found = dict(reversed(self.pool.find(keys[:reusable])))  # of copies the first
        mine = [found[key] for key in takewhile(found.__contains__, keys)]
        self.pool.hold(mine)
        fresh = self.take(name, len(keys) - len(mine))
        if reusable:
            self.controller.tracker.look_up(name, keys, len(mine))
        self.compute(name, keys, len(mine), fresh)
        self.pool.release([*reversed(fresh), *reversed(mine)])

    def take(self, name: str, count: int) -> list[int]:
        """Blocks for a request, whatever they hold."""
        fresh = self.pool.next(count)
        self.pool.hold(fresh)
        if victims := [block for block in fresh if self.pool.content.pop(block, None)]:
            self.controller.tracker.evicted(victims, name)
        return fresh

    def compute(self, name: str, keys: list[bytes], start: int, blocks: Sequence[int]) -> None:
        """A request computes contents, from this position on, into these blocks."""
        pairs = list(zip(keys[start:], blocks, strict=False))
        self.pool.content.update((block, key) for key, block in pairs)
        self.controller.tracker.cached(name, start, pairs)

    def lines(self) -> list[Line]:
        """Everything that was reported, once the journal is closed."""
        self.journal.close()
        assert self.journal.fault is None
        assert self.expected_faults == self.controller.faults.counts
        return self.sink.lines

    def events(self) -> list[Event]:
        """The events of it."""
        self.lines()
        return self.sink.events

    def kinds(self, *kinds: str) -> list[Event]:
        """The events of some kinds."""
        return [event for event in self.events() if event.kind in kinds]

    def judge(self, mode: Mode) -> Judged:
        """What the claims of a mode came to."""
        return outcomes(judged(self.lines()), mode)


def claim(
    name: str = "claim:a", blocks: int = 60, mode: str = "hard_protected", **more: Any
) -> dict[str, Any]:
    """A claim as a request states it."""
    return {
        "claim_id": name,
        "materialization_predicate": f"leading_prefix_at_least({blocks})",
        "protection_mode": mode,
        "owner_scope": "tenant",
        **more,
    }


def copied(**settings: object) -> tuple[TinyEngine, TinyTier]:
    """A claim on 60 of 80 blocks, computed and copied."""
    tier, keys = TinyTier(), keys_of("resident", 60)
    engine = TinyEngine(tier=tier, **settings)
    assert engine.serve("resident", 60, claim(mode="offloadable"))
    assert 20 == len(engine.pool.free)
    engine.controller.offloaded.stored(keys[:30])
    assert 20 == len(engine.pool.free)
    engine.controller.offloaded.stored(keys[30:])
    return engine, tier
