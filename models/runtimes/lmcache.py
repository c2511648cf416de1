"""Models LMCache beside an engine: pins of its chunks, and retrieves that fail.

Source: LMCache, source and issues as of 2026-09 (`LookupRetMsg`, `PinRetMsg`, the monitor of pins,
issue #4600), and what vLLM 0.32.0 carries of it: in `distributed/kv_transfer/kv_connector/v1/`
`lmcache_mp_connector.py`, and `lmcache_integration/multi_process_adapter.py` (`get_finished` logs a
retrieve of which a part failed, and returns its request as finished; no block is reported). The
connector takes that copy only where LMCache's own adapter cannot be imported; the copy lacks the
method by which the connector asks for blocks that failed to load.

`LMCachePins` is the memory of chunks. A pin counts up the pins of a chunk, and its answer has the
id of the call and a number of tokens, no claim and no time. Eviction takes the least recently used
chunk without pins; where there is none, a store is skipped. A monitor ends pins that are too old
(300 s): it sets the count to 0, for all holders, and says so by one warning and one counter. From
which pin on it counts is not documented; `from_first` is a choice. That eviction passes over pinned
chunks, and that a store without free memory is skipped, is inferred.

`LMCacheRetrieve` is the boundary to the scheduler of vLLM, on the model of its connectors. The
multi-process adapter returns a failed retrieve as finished, so the scheduler takes its blocks for
loaded, and caches them under the hashes of what they do not hold. The in-process adapter reports
the blocks that are missing, and vLLM's policy for failed loads applies. That is LMCache's own; the
copy of it in vLLM 0.32.0 (`vllm_v1_adapter.py`) logs that fewer tokens came than expected, and
reports no block.

Left out: the end of a pin by its holder, the locks that look-ups take, remote and disk storage,
several workers. An object is one chunk. In the retrieve, the store is complete before the blocks of
its request are freed, as `request_finished` asks for.

Names of pins are not interchangeable: pins of an object that end together end in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.inference import Inference
from models.framework.model import Action, Emitted, Model, Next, fact, signal
from models.framework.shims import Shim
from models.runtimes.vllm_offload.model import State as Engine
from models.runtimes.vllm_offload.model import VllmOffload
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS", "Adapter", "LMCachePins", "LMCacheRetrieve", "State"]


class State(NamedTuple):
    """The memory of chunks.

    `chunks` are objects with the chunk that each is in, the least recently used first. `pins` are
    the holders that pinned, by object; `ages` the age of a pinned object's pins. `running` are
    requests that put an object, `ended` those that did.
    """

    chunks: tuple[tuple[str, int], ...] = ()
    pins: tuple[str, ...] = ()
    ages: tuple[tuple[str, int], ...] = ()
    running: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


class LMCachePins(Model[State]):
    """Chunks, pins, and the monitor that ends them.

    Args:
        chunks: chunks of the memory.
        pinned: the object that each holder may pin, once.
        puts: the object that each request computes and stores.
        timeout: steps after which pins are too old.
        from_first: they count from the first pin of a chunk, or else from the last.
    """

    name: ClassVar = "lmcache_pins"
    about: ClassVar = "Pins of LMCache: counts without a claim, ended by a timeout for all holders."
    source: ClassVar = "LMCache, source and issues as of 2026-09"
    left_out: ClassVar = "unpin by a holder, locks of look-ups, remote storage, several workers"

    def __init__(
        self,
        chunks: int = 1,
        pinned: Mapping[str, str] | None = None,
        puts: Mapping[str, str] | None = None,
        timeout: int = 2,
        *,
        from_first: bool = True,
    ) -> None:
        self.chunks, self.timeout, self.from_first = chunks, timeout, from_first
        self.pinned = {"x": "a", "y": "a"} if pinned is None else dict(pinned)
        self.puts = {"r1": "a", "r2": "b"} if puts is None else dict(puts)
        self.holders, self.requests = tuple(self.pinned), tuple(self.puts)

    def initial(self) -> Iterator[State]:
        """An empty memory."""
        yield State()

    def actions(self, state: State) -> Iterator[Action]:
        """What clients, requests, the clock and the monitor can do next."""
        there = dict(state.chunks)
        for holder, object_id in self.pinned.items():
            if holder not in state.asked and object_id in there:
                yield Action("pin", (holder,))
        for name in self.requests:
            if name not in (*state.running, *state.ended):
                yield Action("put", (name,))
        for name in state.running:
            yield Action("finish", (name,))
        if any(age < self.timeout for _, age in state.ages):
            yield Action("tick")
        for object_id, age in state.ages:
            if age == self.timeout:
                yield Action("force_unpin", (object_id,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The memory after an action."""
        match action.name:
            case "tick":
                ages = tuple((each, min(self.timeout, age + 1)) for each, age in state.ages)
                return Next(state._replace(ages=ages))
            case "pin":
                return self._pin(state, str(action.what[0]))
            case "put":
                return self._put(state, str(action.what[0]))
            case "force_unpin":
                return self._force_unpin(state, str(action.what[0]))
        name = str(action.what[0])
        running = tuple(each for each in state.running if each != name)
        ended = tuple(sorted((*state.ended, name)))
        done = fact(Kind.REQUEST_FINISHED, request_id=name)
        return Next(state._replace(running=running, ended=ended), (done,))

    def _pin(self, state: State, holder: str) -> Next[State]:
        """`PinMsg`: the answer is a number of tokens."""
        object_id = self.pinned[holder]
        ages = dict(state.ages)
        if object_id not in ages or not self.from_first:
            ages[object_id] = 0
        asked = signal(
            "pin",
            holder,
            object_id=object_id,
            predicate="leading_prefix_at_least(1)",
            footprint=1,
            owner_scope=f"owner:{holder}",
        )
        pins, known = tuple(sorted((*state.pins, holder))), tuple(sorted((*state.asked, holder)))
        state = state._replace(pins=pins, asked=known, ages=tuple(sorted(ages.items())))
        return Next(state, (asked,))

    def _put(self, state: State, name: str) -> Next[State]:
        """A request computes an object, or uses it; a store takes the place of what is not pinned.

        It needs room only for what no client may pin.
        """
        object_id, there = self.puts[name], dict(state.chunks)
        needed = int(object_id not in self.pinned.values())
        came = fact(Kind.REQUEST_ARRIVED, request_id=name, needed=needed, usable=self.chunks)
        state = state._replace(running=tuple(sorted((*state.running, name))))
        if object_id in there:
            chunks = tuple(sorted(state.chunks, key=lambda each: each[0] == object_id))
            used = fact(Kind.PREFIX_REUSED, request_id=name, object_id=object_id)
            return Next(state._replace(chunks=chunks), (came, used))
        free = [chunk for chunk in range(self.chunks) if chunk not in there.values()]
        victims = [each for each in state.chunks if each[0] not in dict(state.ages)]
        emits: tuple[Emitted, ...] = (came,)
        if not free and not victims:
            return Next(state, emits)
        chunks = state.chunks
        if not free:
            free = [victims[0][1]]
            chunks = tuple(each for each in chunks if each != victims[0])
            emits += (fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=(free[0],)),)
        where = {"block_ids": (free[0],), "positions": (0,)}
        emits += (fact(Kind.BLOCK_CACHED, request_id=name, object_id=object_id, **where),)
        return Next(state._replace(chunks=(*chunks, (object_id, free[0]))), emits)

    def _force_unpin(self, state: State, object_id: str) -> Next[State]:
        """The count of pins becomes 0. The warning and the counter name no holder."""
        mine = [holder for holder in state.pins if self.pinned[holder] == object_id]
        pins = tuple(holder for holder in state.pins if holder not in mine)
        ages = tuple(each for each in state.ages if each[0] != object_id)
        dropped = tuple(signal("pin_dropped", holder, by="runtime") for holder in mine)
        counted = tuple(signal("forced_unpin_count", each, by="runtime") for each in state.asked)
        return Next(state._replace(pins=pins, ages=ages), dropped + counted)

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """A pinned object is there, and no chunk holds two objects."""

        def kept(state: State) -> bool:
            return {self.pinned[holder] for holder in state.pins} <= {*dict(state.chunks)}

        def distinct(state: State) -> bool:
            return len({chunk for _, chunk in state.chunks}) == len(state.chunks) <= self.chunks

        return {"a pinned object is there": kept, "a chunk holds one object": distinct}

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """What was pinned can be gone, and nothing can be stored where all is pinned."""

        def gone(state: State) -> bool:
            return not {self.pinned[each] for each in state.asked} <= {*dict(state.chunks)}

        def skipped(state: State) -> bool:
            used = {self.puts[name] for name in state.running}
            return not used <= {*dict(state.chunks)} and len(state.ages) == self.chunks

        if len({*self.puts.values()}) <= self.chunks:
            return {}
        return {"what was pinned is gone": gone, "a store is skipped": skipped}


class Adapter(StrEnum):
    """Who takes the retrieves to the engine."""

    MULTI_PROCESS = "multi_process"
    IN_PROCESS = "in_process"


class LMCacheRetrieve(VllmOffload):
    """LMCache as the tier of vLLM.

    Args:
        adapter: whether a failed retrieve is reported as success.
        sizes: those of `VllmOffload`, and its policy for failed loads.
    """

    name: ClassVar = "lmcache_retrieve"
    about: ClassVar = (
        "Retrieves of LMCache: a failed one is reported as success, or as missing blocks."
    )
    source: ClassVar = "LMCache #4600; vLLM 0.32.0, lmcache_integration/multi_process_adapter.py"

    def __init__(self, adapter: Adapter = Adapter.MULTI_PROCESS, **sizes: Any) -> None:
        super().__init__(lag=False, **sizes)
        self.adapter = adapter

    def _failed(self, state: Engine, name: str, bad: int) -> Next[Engine]:
        """The multi-process adapter logs the failure, and the engine goes on as after a load.

        The blocks are cached by their hashes, and no fact says that they hold anything.
        """
        if self.adapter is Adapter.IN_PROCESS:
            return super()._failed(state, name, bad)
        object_id = self.prompts[name]
        loaded = self._loaded(state, name)
        failed = fact(Kind.LOAD_FAILED, request_id=name, object_id=object_id)
        says = self._says("loaded", state, object_id, name)
        used = fact(Kind.PREFIX_REUSED, request_id=name, object_id=object_id)
        return Next(loaded.state, (failed, *says, used))

    def _says(
        self,
        what: str,
        state: Engine,
        object_id: str,
        name: str | None = None,
    ) -> tuple[Emitted, ...]:
        """The look-up's answer, the end of a store, and the end of a retrieve, whatever it was."""
        of: dict[str, Any] = {} if name is None else {"request_id": name}
        if what == "asked":
            return (signal("store", object_id, **self._wanted(object_id)),)
        if object_id not in state.asked:
            return ()
        match what:
            case "stored":
                return (signal("finished_store", object_id),)
            case "required":
                return (signal("lookup_hit", object_id, **of),)
            case "loaded":
                return (signal("finished_retrieve", object_id, from_tier=True, **of),)
        return ()


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "pins": LMCachePins,
    "two_objects": lambda: LMCachePins(2, {"x": "a", "y": "b"}, {"r1": "a", "r2": "b"}),
    "retrieve": LMCacheRetrieve,
    "retrieve_in_process": lambda: LMCacheRetrieve(Adapter.IN_PROCESS),
}

_PIN: Final = frozenset({"pin"})
_RETRIEVES: Final = {
    "finished_store": Kind.CLAIM_OFFLOADED,
    "lookup_hit": Kind.CLAIM_RESTORE_REQUIRED,
    "finished_retrieve": Kind.CLAIM_RESTORED,
}

INFERENCES: Final = (
    Inference(
        "pin -> hard_protected",
        "PinMsg of the controller",
        Mode.HARD_PROTECTED,
        Shim(Mode.HARD_PROTECTED, _PIN),
        LMCachePins,
        "x",
        premises=("pin",),
        adds="Eviction passes over pinned chunks. The monitor of pins has ended the pin before, "
        "for all holders, by one warning and one counter.",
    ),
    Inference(
        "forced unpin -> demotable",
        "the timeout of pins, and its counter",
        Mode.DEMOTABLE,
        Shim(
            Mode.DEMOTABLE,
            _PIN,
            {"pin_dropped": Kind.CLAIM_RETIRED, "forced_unpin_count": Kind.CLAIM_DEMOTED},
        ),
        VARIANTS["two_objects"],
        "x",
        premises=("pin",),
        adds="The counter says that some pins were ended, and not whose: a claim is taken for "
        "demoted when another was.",
    ),
    Inference(
        "pin timeout -> expiring",
        "the timeout of pins, 300 s by default, and its counter",
        Mode.EXPIRING,
        Shim(
            Mode.EXPIRING,
            _PIN,
            {"pin_dropped": Kind.DURATION_ELAPSED, "forced_unpin_count": Kind.CLAIM_EXPIRED},
        ),
        VARIANTS["two_objects"],
        "x",
        premises=("pin_with_ttl",),
        adds="The call states no time, and the counter no holder: a claim is taken for expired "
        "when the pin of another was ended.",
    ),
    Inference(
        "silent retrieve success -> restored",
        "retrieves of the multi-process adapter",
        Mode.OFFLOADABLE,
        Shim(Mode.OFFLOADABLE, frozenset({"store"}), _RETRIEVES),
        LMCacheRetrieve,
        "a",
        concludes="offload_restorability",
        premises=("load_back",),
        adds="The adapter returns the request among the finished ones whether or not all of it "
        "came, and the engine caches the blocks under the hashes of the prompt.",
    ),
)
