"""Models the scheduler of Continuum, method by method: see `models.runtimes.continuum.model`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from models.framework.blocks import Slot, cached_facts, hits
from models.framework.model import Emitted, Next, fact, signal
from spec.events.alphabet import Kind

__all__ = ["SOURCE", "Defect", "Pin", "Scheduler", "Settings", "State", "Turn"]


class Defect(StrEnum):
    """What the source does that the repaired model does not."""

    SUSPENDED = "a pin does not expire while its job waits"
    SKIPPED = "the loop that unpins removes from the list that it walks"
    UNRECORDED = "a pin that is dropped under pressure leaves no record"
    SHARED = "requests without a job id are of one job"
    OVERLAP = "an arrival reads func_call in the last entry of its job's history"


SOURCE: Final = frozenset(Defect)
"""The source as it is."""


class Turn(NamedTuple):
    """A request of a conversation: the blocks of its prompt, and those that its answer adds.

    `fast` is whether `set_up_pin` finds a tool call at its end that is fast.
    """

    request_id: str
    chat: str
    prompt: int
    answer: int = 0
    job_id: str | None = None
    fast: bool = True
    is_last_step: bool = False

    @property
    def size(self) -> int:
        """Its blocks at the end."""
        return self.prompt + self.answer

    @property
    def owner(self) -> str:
        """The scope of the client."""
        return f"client:{self.chat}"

    @property
    def pins(self) -> bool:
        """Whether its end is followed by a pin."""
        return self.fast and not self.is_last_step


class Pin(NamedTuple):
    """An entry of `pinned_requests`: its steps to the deadline, and whether its job waited at the
    pass that left it in the list after the deadline.
    """

    request_id: str
    left: int
    waited: bool = False


class State(NamedTuple):
    """The scheduler.

    `held` are the blocks of turns that run or are pinned; `waiting` and `running` are in the order
    of arrival and admission. `jobs` are job ids in the order of `job_id_first_entry_time`.
    `unpinned` are the pins whose end is recorded in `scheduler_timestamps`, with what ended them: a
    turn's id, or nothing (the record itself states a time alone).
    """

    free: tuple[int, ...]
    cached: tuple[Slot, ...]
    held: tuple[tuple[str, tuple[int, ...]], ...] = ()
    waiting: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    pinned: tuple[Pin, ...] = ()
    jobs: tuple[str | None, ...] = ()
    ended: tuple[str, ...] = ()
    unpinned: tuple[tuple[str, str], ...] = ()
    crashed: bool = False


class Settings(NamedTuple):
    """The turns by their ids, the TTL in steps, and what is done as in the source."""

    turns: Mapping[str, Turn]
    ttl: int
    defects: frozenset[Defect]

    def job(self, name: str) -> str | None:
        """The job of a request: by the repaired scheduler one without an id is its own."""
        turn = self.turns[name]
        return turn.job_id if Defect.SHARED in self.defects else turn.job_id or f"chat:{turn.chat}"


class Scheduler:
    """The methods of the scheduler, on lists that they change."""

    def __init__(self, settings: Settings, state: State) -> None:
        self.turns, self.ttl, self.defects = settings
        self.job = settings.job
        self.state, self.emits = state, list[Emitted]()
        self.free, self.cached, self.held = [*state.free], [*state.cached], dict(state.held)
        self.waiting, self.running = [*state.waiting], [*state.running]
        self.pinned, self.unpinned = [*state.pinned], [*state.unpinned]
        self.ended = [*state.ended]

    def schedule(self) -> Next[State]:
        """The clock goes on; `schedule` is called."""
        for pin in self.pinned:
            if pin.left == 1:
                turn = self.turns[pin.request_id]
                self.emits.append(signal("ttl_elapsed", pin.request_id, object_id=turn.chat))
        self.pinned = [pin._replace(left=max(0, pin.left - 1)) for pin in self.pinned]
        self.unpin_requests_regular()
        preempted = False
        for name in [*self.running]:
            if name in self.running and len(self.held[name]) < self.turns[name].size:
                preempted |= self.grow(self.turns[name])
        while self.waiting and not preempted:
            turn = self.turns[self.peek_request()]
            if not self.admit(turn):
                break
        return self.done()

    def unpin_requests_regular(self) -> None:
        """Unpin what is over, unless its job waits."""
        waiting_jobs = [self.job(name) for name in self.waiting]
        walked = self.pinned if Defect.SKIPPED in self.defects else [*self.pinned]
        for pin in walked:
            waits = self.job(pin.request_id) in waiting_jobs
            suspended = waits and Defect.SUSPENDED in self.defects
            if not pin.left and not suspended:
                self.unpin_request(pin, "")
        self.pinned = [
            pin._replace(
                waited=not pin.left and self.job(pin.request_id) in waiting_jobs,
            )
            for pin in self.pinned
        ]

    def unpin_request(self, pin: Pin, by: str, *, recorded: bool = True) -> None:
        """Take a pin from the list and free its blocks."""
        self.pinned.remove(pin)
        self.give_back(pin.request_id)
        about = {
            "object_id": self.turns[pin.request_id].chat,
            "by": self.turns[by].owner if by else "runtime",
        }
        self.emits.append(signal("pin_dropped", pin.request_id, **about))
        if recorded:
            self.unpinned.append((pin.request_id, by))
            self.emits.append(signal("unpinned_time", pin.request_id, **about))

    def grow(self, turn: Turn) -> bool:
        """Allocate the next block of a running turn; whether another one was preempted for it."""
        preempted = False
        while not self.free:
            if len(self.running) > 1:
                victim = self.victim()
                self.running.remove(victim)
                self.waiting.insert(0, victim)
                self.give_back(victim)
                preempted = True
                if victim == turn.request_id:
                    return True
            else:
                # All pins have one TTL, so the last has the latest deadline.
                recorded = Defect.UNRECORDED not in self.defects
                self.unpin_request(self.pinned[-1], "", recorded=recorded)
        self.take(turn, len(self.held[turn.request_id]) + 1)
        return preempted

    def victim(self) -> str:
        """The turn of the job that came last, of those that are not the last step if there are."""
        early = [name for name in self.running if not self.turns[name].is_last_step]
        return max(early or self.running, key=self.came)

    def came(self, name: str) -> int:
        """When the job of a request came first (`job_id_first_entry_time`)."""
        return self.state.jobs.index(self.job(name))

    def peek_request(self) -> str:
        """The next turn: of jobs with a pin first, then of the job that came first."""
        jobs = {self.job(pin.request_id) for pin in self.pinned}
        return min(
            [name for name in self.waiting if self.job(name) in jobs] or self.waiting,
            key=self.came,
        )

    def admit(self, turn: Turn) -> bool:
        """Admit a turn that waits, if it fits: reuse what is cached, and compute the rest."""
        found = hits(self.cached, ((turn.chat, at) for at in range(turn.prompt)))
        if turn.prompt - len(found) > len({*self.free} - {*found}):
            return False
        self.waiting.remove(turn.request_id)
        self.running.append(turn.request_id)
        about = {"request_id": turn.request_id, "object_id": turn.chat}
        self.emits.append(fact(Kind.PREFIX_LOOKUP, **about, held=len(found), asked=turn.prompt))
        self.free = [block for block in self.free if block not in found]
        self.held[turn.request_id] = found
        self.take(turn, turn.prompt)
        return True

    def take(self, turn: Turn, size: int) -> None:
        """Take blocks from the head of the queue until a turn has so many, and cache them."""
        have = self.held[turn.request_id]
        new, self.free = self.free[: size - len(have)], self.free[size - len(have) :]
        gone = tuple(block for block in new if self.cached[block] is not None)
        if gone:
            about = {"request_id": turn.request_id, "block_ids": gone}
            self.emits.append(fact(Kind.BLOCK_EVICTED, **about))
        pairs = [(block, (turn.chat, at)) for at, block in enumerate(new, len(have))]
        for block, content in pairs:
            self.cached[block] = content
        self.held[turn.request_id] = (*have, *new)
        self.emits += cached_facts(turn.request_id, pairs)

    def give_back(self, name: str) -> None:
        """`kv_cache_manager.free`: blocks that no other request uses, the last one first."""
        blocks = self.held.pop(name)
        used = {block for others in self.held.values() for block in others}
        self.free += [block for block in reversed(blocks) if block not in used]

    def finish(self, turn: Turn) -> Next[State]:
        """`_free_blocks`: unpin the pins of the job, then pin the turn or free its blocks."""
        name = turn.request_id
        self.running.remove(name)
        self.ended.append(name)
        walked = self.pinned if Defect.SKIPPED in self.defects else [*self.pinned]
        for pin in walked:
            if self.job(pin.request_id) == self.job(name):
                self.unpin_request(pin, name)
        if turn.pins:
            self.pinned.append(Pin(name, self.ttl))
            self.emits.append(
                signal(
                    "pin",
                    name,
                    object_id=turn.chat,
                    predicate=f"leading_prefix_at_least({turn.size})",
                    footprint=turn.size,
                    owner_scope=turn.owner,
                    duration=f"{self.ttl} steps",
                )
            )
        else:
            self.give_back(name)
        self.emits.append(fact(Kind.REQUEST_FINISHED, request_id=name))
        return self.done()

    def done(self) -> Next[State]:
        """The state after it, and what was emitted."""
        after = self.state._replace(
            free=tuple(self.free),
            cached=tuple(self.cached),
            held=tuple(sorted(self.held.items())),
            waiting=tuple(self.waiting),
            running=tuple(self.running),
            pinned=tuple(self.pinned),
            ended=tuple(sorted(self.ended)),
            unpinned=tuple(sorted(self.unpinned)),
        )
        return Next(after, tuple(self.emits))
