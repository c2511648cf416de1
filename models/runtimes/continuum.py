"""Models Continuum: when a turn of an agent's job ends, its blocks stay pinned for a TTL.

Source: a public fork of vLLM 0.7, `vllm/v1/core/sched/scheduler.py` (`unpin_requests_regular`,
`pop_running_request_based_on_last_step`, `_free_blocks`), `request_queue.py` (`peek_request`) and
`estimate_with_func.py` (`set_up_pin`, `request_arrives`), as in an execution note of 2026-04-02.

A turn that ends is pinned by not freeing its blocks, if it is not the last of its job and its tool
is fast. A step of the engine is one call of `schedule`, and one unit of the clock: it unpins what
is over, gives running turns the block that they need next, and admits turns while they fit. That
the waiting loop drops no pin, as in vLLM, is read from what the note lists as changed. That the
engine ends with the `KeyError` is the note's "crash"; nothing more is emitted then.

Left out: tokens within a block, several prompts that share a prefix, the mean times of tools (a
tool is fast, slow or not parsed), clients that give up, and the transfer to other tiers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

from models.inference import Inference
from models.model import Action, Emitted, Model, Next, fact, signal
from models.shims import Shim
from spec.claims.claim import Mode
from spec.events.alphabet import Kind

__all__ = [
    "INFERENCES",
    "SOURCE",
    "VARIANTS",
    "Continuum",
    "Defect",
    "Pin",
    "State",
    "Tool",
    "Turn",
]


class Defect(StrEnum):
    """What the source does that the repaired model does not."""

    SUSPENDED = "a pin does not expire while its job waits"
    SKIPPED = "the loop that unpins removes from the list that it walks"
    UNRECORDED = "a pin that is dropped under pressure leaves no record"
    SHARED = "requests without a job id are of one job"
    OVERLAP = "an arrival reads func_call in the last entry of its job's history"


SOURCE: Final = frozenset(Defect)
"""The source as it is."""


class Tool(StrEnum):
    """The tool call that the answer of a turn ends with: `set_up_pin` pins for a fast one only."""

    FAST = "fast"
    SLOW = "slow"
    NONE = "none"


class Turn(NamedTuple):
    """A request of a conversation, the blocks of its prompt, and those that its answer adds."""

    request_id: str
    chat: str
    prompt: int
    answer: int = 0
    job_id: str | None = None
    tool: Tool = Tool.FAST
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
        return self.tool is Tool.FAST and not self.is_last_step


class Pin(NamedTuple):
    """An entry of `pinned_requests`: its steps to the deadline, and whether its job waited at the
    pass that left it in the list after the deadline.
    """

    request_id: str
    left: int
    waited: bool = False


Held = tuple[str, tuple[int, ...]]


class State(NamedTuple):
    """The scheduler.

    `held` are the blocks of turns that run or are pinned; `waiting` and `running` are in the order
    of arrival and admission. `jobs` are job ids in the order of `job_id_first_entry_time`.
    `unpinned` are the pins whose end is recorded in `scheduler_timestamps`, with what ended them: a
    turn's id, or nothing (the record itself states a time alone).
    """

    free: tuple[int, ...]
    cached: tuple[tuple[str, int] | None, ...]
    held: tuple[Held, ...] = ()
    waiting: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    pinned: tuple[Pin, ...] = ()
    jobs: tuple[str | None, ...] = ()
    ended: tuple[str, ...] = ()
    unpinned: tuple[tuple[str, str], ...] = ()
    crashed: bool = False


TURNS: Final = (
    Turn("a1", "a", 1, job_id="a"),
    Turn("a2", "a", 2, answer=1, job_id="a", is_last_step=True),
    Turn("n1", "n", 1),
    Turn("m1", "m", 1),
)
"""Two turns of a job, and one each of two conversations that state no job."""


class Continuum(Model[State]):
    """Continuum's scheduler.

    Args:
        blocks: usable blocks of the pool.
        turns: the requests that may arrive, each once.
        ttl: `FIXED_THRESHOLD_CONTINUUM`, in steps.
        defects: what it does as in the source; none of them is the repaired scheduler.
        overlap: whether a client sends the next turn of a conversation before the last one ended.
    """

    name: ClassVar = "continuum"
    about: ClassVar = "Pins with a TTL in vLLM: the blocks of a turn stay until the next one."
    source: ClassVar = "vllm-continuum on vLLM 0.7, vllm/v1/core/sched/scheduler.py"
    left_out: ClassVar = "tokens within a block, shared prompts, tool times, other tiers"

    def __init__(
        self,
        blocks: int = 3,
        turns: tuple[Turn, ...] = TURNS,
        ttl: int = 2,
        defects: Iterable[Defect] = SOURCE,
        *,
        overlap: bool = False,
    ) -> None:
        self.blocks, self.ttl, self.overlap = blocks, ttl, overlap
        self.defects = frozenset(defects)
        self.turns = {turn.request_id: turn for turn in turns}
        self.requests = tuple(self.turns)
        self.holders = tuple(name for name, turn in self.turns.items() if turn.pins)
        self.pinnable = {
            turn.chat: max((t.size for t in turns if t.pins and t.chat == turn.chat), default=0)
            for turn in turns
        }

    def initial(self) -> Iterator[State]:
        """Nothing is cached."""
        yield State(tuple(range(self.blocks)), (None,) * self.blocks)

    def actions(self, state: State) -> Iterator[Action]:
        """Turns arrive and end; the engine takes a step."""
        if state.crashed:
            return
        known = {*state.waiting, *state.running, *state.ended}
        for name, turn in self.turns.items():
            before = [t for t, other in self.turns.items() if other.chat == turn.chat]
            before = before[: before.index(name)]
            if name not in known and (self.overlap or {*before} <= {*state.ended}):
                yield Action("arrive", (name,))
        yield Action("step")
        blocks = dict(state.held)
        for name in state.running:
            if len(blocks[name]) == self.turns[name].size:
                yield Action("finish", (name,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The scheduler after an action."""
        match action.name:
            case "arrive":
                return self._arrive(state, self.turns[str(action.what[0])])
            case "finish":
                return _Scheduler(self, state).finish(self.turns[str(action.what[0])])
        return _Scheduler(self, state).schedule()

    def _arrive(self, state: State, turn: Turn) -> Next[State]:
        """`request_arrives`: the last entry of the history of a job with an unfinished request is
        an arrival, which has no `func_call`.
        """
        job = self.job(turn.request_id)
        unfinished = {self.job(name) for name in (*state.waiting, *state.running)}
        if Defect.OVERLAP in self.defects and job in unfinished:
            return Next(state._replace(crashed=True))
        came = fact(
            Kind.REQUEST_ARRIVED,
            request_id=turn.request_id,
            needed=max(0, turn.size - self.pinnable[turn.chat]),
            usable=self.blocks,
        )
        jobs = state.jobs if job in state.jobs else (*state.jobs, job)
        return Next(state._replace(waiting=(*state.waiting, turn.request_id), jobs=jobs), (came,))

    def job(self, name: str) -> str | None:
        """The job of a request: by the repaired scheduler one without an id is its own."""
        turn = self.turns[name]
        return turn.job_id if Defect.SHARED in self.defects else turn.job_id or f"chat:{turn.chat}"

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks are accounted for; what a client of pins with a TTL relies on."""

        def accounted(state: State) -> bool:
            held = {block for _, blocks in state.held for block in blocks}
            return len(state.free) + len(held) == self.blocks and not held & {*state.free}

        def waits(state: State) -> bool:
            jobs = {self.job(name) for name in state.waiting}
            return any(p.waited and self.job(p.request_id) in jobs for p in state.pinned)

        def skipped(state: State) -> bool:
            return any(not pin.left and not pin.waited for pin in state.pinned)

        def recorded(state: State) -> bool:
            known = {pin.request_id for pin in state.pinned} | dict(state.unpinned).keys()
            return all(name in known for name in state.ended if self.turns[name].pins)

        def own(state: State) -> bool:
            chats = [(self.turns[pin], self.turns.get(by)) for pin, by in state.unpinned]
            return all(by is None or by.chat == turn.chat for turn, by in chats)

        return {
            "every block is free or held": accounted,
            "a pin expires though its job waits": lambda state: not waits(state),
            "a pass leaves no pin that is over": lambda state: not skipped(state),
            "the end of a pin is recorded": recorded,
            "no other conversation ends a pin": own,
            "the engine goes on": lambda state: not state.crashed,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """Every turn can end, and the next turn can run while the last one is pinned."""

        def found(state: State) -> bool:
            pins = {self.turns[pin.request_id].chat for pin in state.pinned}
            return any(self.turns[name].chat in pins for name in state.running)

        turns = [*self.turns.values()]
        again = any(
            t.chat == o.chat and t.pins for at, t in enumerate(turns) for o in turns[at + 1 :]
        )
        return {
            "every turn has ended": lambda state: len(state.ended) == len(self.turns),
            **({"the next turn finds the pin of the last one": found} if again else {}),
        }


class _Scheduler:
    """The methods of the scheduler, on lists that they change."""

    def __init__(self, model: Continuum, state: State) -> None:
        self.model, self.turns, self.defects = model, model.turns, model.defects
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
        waiting_jobs = [self.model.job(name) for name in self.waiting]
        walked = self.pinned if Defect.SKIPPED in self.defects else [*self.pinned]
        for pin in walked:
            waits = self.model.job(pin.request_id) in waiting_jobs
            suspended = waits and Defect.SUSPENDED in self.defects
            if not pin.left and not suspended:
                self.unpin_request(pin, "")
        self.pinned = [
            pin._replace(
                waited=not pin.left and self.model.job(pin.request_id) in waiting_jobs,
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
        return self.state.jobs.index(self.model.job(name))

    def peek_request(self) -> str:
        """The next turn: of jobs with a pin first, then of the job that came first."""
        jobs = {self.model.job(pin.request_id) for pin in self.pinned}
        return min(
            [name for name in self.waiting if self.model.job(name) in jobs] or self.waiting,
            key=self.came,
        )

    def admit(self, turn: Turn) -> bool:
        """Admit a turn that waits, if it fits: reuse what is cached, and compute the rest."""
        places = {content: block for block, content in enumerate(self.cached) if content}
        hits: list[int] = []
        while len(hits) < turn.prompt and (turn.chat, len(hits)) in places:
            hits.append(places[turn.chat, len(hits)])
        if turn.prompt - len(hits) > len({*self.free} - {*hits}):
            return False
        self.waiting.remove(turn.request_id)
        self.running.append(turn.request_id)
        about = {"request_id": turn.request_id, "object_id": turn.chat}
        self.emits.append(fact(Kind.PREFIX_LOOKUP, **about, held=len(hits), asked=turn.prompt))
        self.free = [block for block in self.free if block not in hits]
        self.held[turn.request_id] = tuple(hits)
        if len(hits) < turn.prompt:
            self.take(turn, turn.prompt)
        return True

    def take(self, turn: Turn, size: int) -> None:
        """Take blocks from the head of the queue until a turn has so many, and cache them."""
        have = self.held[turn.request_id]
        new, self.free = self.free[: size - len(have)], self.free[size - len(have) :]
        gone = tuple(block for block in new if self.cached[block] is not None)
        if gone:
            self.emits.append(fact(Kind.BLOCK_EVICTED, request_id=turn.request_id, block_ids=gone))
        for position, block in enumerate(new, len(have)):
            self.cached[block] = (turn.chat, position)
        self.held[turn.request_id] = (*have, *new)
        self.emits.append(
            fact(
                Kind.BLOCK_CACHED,
                request_id=turn.request_id,
                object_id=turn.chat,
                block_ids=tuple(new),
                positions=tuple(range(len(have), size)),
            )
        )

    def give_back(self, name: str) -> None:
        """`kv_cache_manager.free`: blocks that nobody else uses, the last one first."""
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
            if self.model.job(pin.request_id) == self.model.job(name):
                self.unpin_request(pin, name)
        if turn.pins:
            self.pinned.append(Pin(name, self.model.ttl))
            self.emits.append(
                signal(
                    "pin",
                    name,
                    object_id=turn.chat,
                    predicate=f"leading_prefix_at_least({turn.size})",
                    footprint=turn.size,
                    owner_scope=turn.owner,
                    duration=f"{self.model.ttl} steps",
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


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "source": Continuum,
    "overlapping": lambda: Continuum(overlap=True),
    "repaired": lambda: Continuum(defects=(), overlap=True),
}


def _records(mode: Mode) -> Shim:
    """Takes a pin for a claim, and the record of its end for the report of its expiry."""
    means = {
        "ttl_elapsed": Kind.DURATION_ELAPSED,
        "pin_dropped": Kind.CLAIM_RETIRED,
        "unpinned_time": Kind.CLAIM_EXPIRED,
    }
    return Shim(mode, frozenset({"pin"}), means)


_WAITS: Final = (
    Turn("a1", "a", 1, job_id="a"),
    Turn("a2", "a", 2, job_id="a", is_last_step=True),
    Turn("b1", "b", 1, job_id="b", is_last_step=True),
)
_PRESSES: Final = (
    Turn("a1", "a", 1, job_id="a"),
    Turn("b1", "b", 1, answer=1, job_id="b", is_last_step=True),
)
_STRANGERS: Final = (Turn("n1", "n", 1), Turn("m1", "m", 1, is_last_step=True))

INFERENCES: Final = (
    Inference(
        name="pin with TTL -> expiring",
        feature="the blocks of a turn stay pinned for a TTL while its tool runs",
        mode=Mode.EXPIRING,
        shim=_records(Mode.EXPIRING),
        model=lambda: Continuum(2, _WAITS, ttl=1),
        tracked="a1",
        premises=("pin_with_ttl", "duration_metadata"),
        parent="duration_metadata -> expiring",
        adds="the clock that a waiting turn of the job suspends",
    ),
    Inference(
        name="pin -> hard_protected (Continuum)",
        feature="pinned blocks are not in the free queue",
        mode=Mode.HARD_PROTECTED,
        shim=_records(Mode.HARD_PROTECTED),
        model=lambda: Continuum(2, _PRESSES),
        tracked="a1",
        premises=("pin_with_ttl",),
    ),
    Inference(
        name="pin without a job id -> expiring",
        feature="job_id is optional",
        mode=Mode.EXPIRING,
        shim=_records(Mode.EXPIRING),
        model=lambda: Continuum(2, _STRANGERS),
        tracked="n1",
        premises=("pin_with_ttl", "duration_metadata"),
        parent="duration_metadata -> expiring",
        adds="another client's turn that ends the pin",
    ),
)
