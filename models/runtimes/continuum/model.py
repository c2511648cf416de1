"""Models Continuum: when a turn of an agent's job ends, its blocks stay pinned for a TTL.

Source: a public fork of vLLM 0.7, `vllm/v1/core/sched/scheduler.py` (`unpin_requests_regular`,
`pop_running_request_based_on_last_step`, `_free_blocks`), `request_queue.py` (`peek_request`) and
`estimate_with_func.py` (`set_up_pin`, `request_arrives`), as in an execution note of 2026-04-02.

A turn that ends is pinned by not freeing its blocks, if it is not the last of its job and its tool
is fast: else its TTL, a constant of 2.0 s, is 0, as it is without a tool that is parsed. A step of
the engine is one call of `schedule`, and one unit of the clock: it unpins what is over, gives
running turns the block that they need next, and admits turns while they fit. That the waiting loop
drops no pin, as in vLLM, is read from what the note lists as changed. That the engine ends with the
`KeyError` is the note's "crash"; nothing more is emitted then.

Left out: tokens within a block, several prompts that share a prefix, the mean times of tools (a
tool is fast or not), clients that give up, and the transfer to other tiers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from models.framework.inference import Inference
from models.framework.model import Action, Model, Next, fact
from models.framework.shims import Shim
from models.framework.symmetry import alike
from models.runtimes.continuum.scheduler import (
    SOURCE,
    Defect,
    Pin,
    Scheduler,
    Settings,
    State,
    Turn,
)
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.errors import SpecError

__all__ = [
    "INFERENCES",
    "SOURCE",
    "VARIANTS",
    "Continuum",
    "Defect",
    "Pin",
    "State",
    "Turn",
]


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
    by_name: ClassVar = ("held", "ended", "unpinned")

    def __init__(
        self,
        blocks: int = 3,
        turns: tuple[Turn, ...] = TURNS,
        ttl: int = 2,
        defects: Iterable[Defect] = SOURCE,
        *,
        overlap: bool = False,
    ) -> None:
        self.blocks, self.overlap = blocks, overlap
        self.turns = {turn.request_id: turn for turn in turns}
        if any(turn.size > blocks for turn in self.turns.values()):
            raise SpecError("a turn needs more blocks than the pool has", "make the pool larger")
        self.settings = Settings(self.turns, ttl, frozenset(defects))
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
                return Scheduler(self.settings, state).finish(self.turns[str(action.what[0])])
        return Scheduler(self.settings, state).schedule()

    def _arrive(self, state: State, turn: Turn) -> Next[State]:
        """`request_arrives`: the last entry of the history of a job with an unfinished request is
        an arrival, which has no `func_call`.
        """
        job = self.settings.job(turn.request_id)
        unfinished = {self.settings.job(name) for name in (*state.waiting, *state.running)}
        if Defect.OVERLAP in self.settings.defects and job in unfinished:
            return Next(state._replace(crashed=True))
        came = fact(
            Kind.REQUEST_ARRIVED,
            request_id=turn.request_id,
            needed=max(0, turn.size - self.pinnable[turn.chat]),
            usable=self.blocks,
        )
        jobs = state.jobs if job in state.jobs else (*state.jobs, job)
        return Next(state._replace(waiting=(*state.waiting, turn.request_id), jobs=jobs), (came,))

    @property
    def interchangeable(self) -> Iterable[Iterable[tuple[str, ...]]]:
        """Conversations of one turn without a job."""
        chats = [turn.chat for turn in self.turns.values()]
        single = [t for t in self.turns.values() if t.job_id is None and chats.count(t.chat) == 1]
        return alike(
            (each[2:], (each.request_id, each.chat, each.owner, f"chat:{each.chat}"))
            for each in single
        )

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks are accounted for; what a client of pins with a TTL relies on."""

        def accounted(state: State) -> bool:
            held = {block for _, blocks in state.held for block in blocks}
            return len(state.free) + len(held) == self.blocks and not held & {*state.free}

        def waits(state: State) -> bool:
            jobs = {self.settings.job(name) for name in state.waiting}
            return any(p.waited and self.settings.job(p.request_id) in jobs for p in state.pinned)

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
        adds="A pin that is over stays in the list while a turn of its job waits: the TTL has "
        "elapsed, and nothing expires.",
    ),
    Inference(
        name="pin -> hard_protected (Continuum)",
        feature="pinned blocks are not in the free queue",
        mode=Mode.HARD_PROTECTED,
        shim=_records(Mode.HARD_PROTECTED),
        model=lambda: Continuum(2, _PRESSES),
        tracked="a1",
        premises=("pin_with_ttl",),
        adds="Where a running turn finds no free block, and no other turn can be preempted, the "
        "scheduler drops a pin.",
    ),
    Inference(
        name="record of a pin -> hard_protected",
        feature="scheduler_timestamps: pinned_time, and unpinned_time where the pin ended",
        mode=Mode.HARD_PROTECTED,
        shim=Shim(Mode.HARD_PROTECTED, frozenset({"pin"}), {"unpinned_time": Kind.CLAIM_RETIRED}),
        model=lambda: Continuum(2, _PRESSES),
        tracked="a1",
        premises=("pin_with_ttl",),
        adds="A pin that is dropped under pressure has no unpinned_time: by the record it stands.",
    ),
    Inference(
        name="pin without a job id -> expiring",
        feature="a pin with a TTL for a request that states no job_id, which is optional",
        mode=Mode.EXPIRING,
        shim=_records(Mode.EXPIRING),
        model=lambda: Continuum(2, _STRANGERS),
        tracked="n1",
        premises=("pin_with_ttl", "duration_metadata"),
        parent="duration_metadata -> expiring",
        adds="Requests without a job id count as of one job: the end of another client's turn ends "
        "the pin.",
    ),
)
