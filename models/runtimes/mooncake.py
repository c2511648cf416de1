"""Models the master of Mooncake's store: hard pins, soft pins with a TTL, and a queue of events.

Source: Mooncake, source and issues as of 2026-09 (`SoftPinAction`, `soft_pin_ttl_ms`,
`with_hard_pin`, the maps that the master publishes). A client puts an object and may pin it: a hard
pin is never evicted; a soft pin has a TTL, which reads do not extend, and a put without a pin keeps
the one that is there (PRESERVE). Soft pins are lost when the master recovers. In an older version a
read made an expired pin count again (`revives`). The master publishes that an object was stored or
removed, with keys and no tokens or parents; where the queue of events is full it drops the oldest.

Not read but inferred: that objects without a pin are evicted first, of them and then of the soft
pinned ones the least recently used; that a put without a free place fails, and its request goes on;
that the TTL counts from the put. No event is about a pin.

Left out: DISABLE, the lease of a read, replicas, disk, tenants, and what recovery does to objects.
An object is one block here, and a request wants one object. A request needs a block for itself
only where no client pins its object.

Names are not interchangeable: requests of an instance differ in their pins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.claims import leading
from models.framework.inference import Inference
from models.framework.model import Action, Emitted, Model, Next, Signal, fact, signal
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS", "Ask", "Mooncake", "Pin", "State"]


class Pin(StrEnum):
    """What a put asks for."""

    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


class Ask(NamedTuple):
    """A request: it reads its object, or puts it where it is not stored."""

    request_id: str
    object_id: str
    pin: Pin = Pin.NONE


class State(NamedTuple):
    """The master.

    `stored` are objects with their places, the least recently used first. `soft` are the steps to
    the end of each soft pin, `over` the objects whose pin has expired, `clocks` the steps to the
    end of the TTL that each client stated. `news` are events that were not sent yet.
    """

    stored: tuple[tuple[str, int], ...] = ()
    soft: tuple[tuple[str, int], ...] = ()
    hard: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    clocks: tuple[tuple[str, int], ...] = ()
    news: tuple[tuple[str, str], ...] = ()
    running: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    recovered: bool = False


class Mooncake(Model[State]):
    """The master, for requests that come once each.

    Args:
        places: objects that the memory can hold.
        asks: the requests. Each is the holder of the pin that it asks for.
        ttl: steps of a soft pin.
        queue: events that wait to be sent, at most; with none each is sent at once.
        recovers: the master may recover, once.
        revives: a read makes an expired pin count again, for another TTL.
    """

    name: ClassVar = "mooncake"
    about: ClassVar = "The store of Mooncake: hard pins, soft pins with a TTL, and its events."
    source: ClassVar = "Mooncake, source and issues as of 2026-09"
    left_out: ClassVar = "DISABLE, leases of reads, replicas, disk, tenants"

    def __init__(
        self,
        places: int = 1,
        asks: tuple[Ask, ...] = (Ask("r1", "a", Pin.SOFT), Ask("r2", "b"), Ask("r3", "a")),
        ttl: int = 2,
        queue: int = 0,
        *,
        recovers: bool = False,
        revives: bool = False,
    ) -> None:
        self.places, self.ttl, self.queue = places, ttl, queue
        self.recovers, self.revives = recovers, revives
        self.asks = {each.request_id: each for each in asks}
        self.requests = self.holders = tuple(self.asks)

    def initial(self) -> Iterator[State]:
        """An empty store."""
        yield State()

    def actions(self, state: State) -> Iterator[Action]:
        """Requests come and end; time passes; the master sends events, and may recover."""
        for name in self.requests:
            if name not in (*state.running, *state.ended):
                yield Action("ask", (name,))
        for name in state.running:
            yield Action("finish", (name,))
        if state.soft or state.clocks:
            yield Action("tick")
        if state.news:
            yield Action("send")
        if self.recovers and state.soft and not state.recovered:
            yield Action("recover")

    def apply(self, state: State, action: Action) -> Next[State]:
        """The master after an action."""
        match action.name:
            case "tick":
                return self._tick(state)
            case "send":
                (word, object_id), *rest = state.news
                return Next(state._replace(news=tuple(rest)), self._to_all(state, object_id, word))
            case "recover":
                return Next(state._replace(soft=(), over=(), recovered=True))
        ask = self.asks[str(action.what[0])]
        if action.name == "ask":
            return self._ask(state, ask)
        running = tuple(each for each in state.running if each != ask.request_id)
        ended = tuple(sorted((*state.ended, ask.request_id)))
        done = fact(Kind.REQUEST_FINISHED, request_id=ask.request_id)
        return Next(state._replace(running=running, ended=ended), (done,))

    def _to(self, name: str, word: str, **fields: Any) -> Signal:
        """A signal about the object of a request."""
        about = leading(self.asks[name].object_id, 1, f"owner:{name}")
        return signal(word, name, **about, **fields)

    def _to_all(self, state: State, object_id: str, word: str) -> tuple[Signal, ...]:
        """An event as each client reads it that knows the keys of the object."""
        known = [name for name in self.requests if name in (*state.running, *state.ended)]
        mine = [name for name in known if self.asks[name].object_id == object_id]
        return tuple(self._to(name, word) for name in mine)

    def _ask(self, state: State, ask: Ask) -> Next[State]:
        """A request comes with its pin, and reads or puts its object."""
        name, object_id = ask.request_id, ask.object_id
        pinned = {each.object_id for each in self.asks.values() if each.pin is not Pin.NONE}
        needed = {"needed": int(object_id not in pinned), "usable": self.places}
        state = state._replace(running=tuple(sorted((*state.running, name))))
        emits: list[Emitted] = [self._to(name, "put")]
        if ask.pin is Pin.SOFT:
            state = state._replace(clocks=tuple(sorted((*state.clocks, (name, self.ttl)))))
            emits.append(self._to(name, "soft_pin", duration=f"{self.ttl} steps"))
        elif ask.pin is Pin.HARD:
            emits.append(self._to(name, "hard_pin"))
        emits.append(fact(Kind.REQUEST_ARRIVED, request_id=name, **needed))
        done = (self._read if object_id in dict(state.stored) else self._put)(state, ask)
        return Next(done.state, (*emits, *done.emits))

    def _read(self, state: State, ask: Ask) -> Next[State]:
        """The object is used; by a put that pins, the pin is set (ENABLE)."""
        object_id = ask.object_id
        stored = tuple(sorted(state.stored, key=lambda each: each[0] == object_id))
        state = self._pin(state._replace(stored=stored), ask)
        if self.revives and object_id in state.over:
            state = self._pin(state, ask._replace(pin=Pin.SOFT))
        used = fact(Kind.PREFIX_REUSED, request_id=ask.request_id, object_id=object_id)
        return Next(state, (used,))

    def _put(self, state: State, ask: Ask) -> Next[State]:
        """The object is computed and stored, in the place of a victim if there is no other."""
        name, object_id, emits = ask.request_id, ask.object_id, list[Emitted]()
        free = [at for at in range(self.places) if at not in dict(state.stored).values()]
        if not free:
            if (gone := self._victim(state)) is None:
                return Next(state)
            free = [dict(state.stored)[gone]]
            state = _without(state, gone)
            emits.append(fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=(free[0],)))
            state, said = self._publish(state, "removed", gone)
            emits += said
        where = {"block_ids": (free[0],), "positions": (0,)}
        emits.append(fact(Kind.BLOCK_CACHED, request_id=name, object_id=object_id, **where))
        state = state._replace(stored=(*state.stored, (object_id, free[0])))
        state, said = self._publish(self._pin(state, ask), "stored", object_id)
        return Next(state, (*emits, *said))

    def _victim(self, state: State) -> str | None:
        """The least recently used object without a pin, else with a soft one."""
        soft = dict(state.soft)
        listed = [name for name, _ in state.stored if name not in state.hard]
        return min(listed, key=lambda name: name in soft, default=None)

    def _pin(self, state: State, ask: Ask) -> State:
        if ask.pin is Pin.HARD:
            return state._replace(hard=tuple(sorted({*state.hard, ask.object_id})))
        if ask.pin is Pin.NONE:
            return state
        over = tuple(each for each in state.over if each != ask.object_id)
        soft = {**dict(state.soft), ask.object_id: self.ttl}
        return state._replace(soft=tuple(sorted(soft.items())), over=over)

    def _publish(self, state: State, word: str, object_id: str) -> tuple[State, tuple[Signal, ...]]:
        """An event is sent at once, or waits; a full queue drops its oldest event."""
        if not self.queue:
            return state, self._to_all(state, object_id, word)
        return state._replace(news=(*state.news, (word, object_id))[-self.queue :]), ()

    def _tick(self, state: State) -> Next[State]:
        """Soft pins expire. No event says so; `ttl_elapsed` is by the client's clock."""
        clocks = tuple((name, left - 1) for name, left in state.clocks)
        soft = tuple((name, left - 1) for name, left in state.soft)
        over = {*state.over, *(name for name, left in soft if not left)} if self.revives else ()
        after = state._replace(
            clocks=tuple(each for each in clocks if each[1]),
            soft=tuple(each for each in soft if each[1]),
            over=tuple(sorted(over)),
        )
        ended = (name for name, left in clocks if not left)
        return Next(after, tuple(self._to(name, "ttl_elapsed") for name in ended))

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Places are accounted for, and what is pinned is stored."""

        def distinct(state: State) -> bool:
            return len({at for _, at in state.stored}) == len(state.stored) <= self.places

        def kept(state: State) -> bool:
            return {*state.hard, *dict(state.soft)} <= {*dict(state.stored)}

        def bounded(state: State) -> bool:
            return len(state.news) <= self.queue

        return {
            "a place holds one object": distinct,
            "a pinned object is stored": kept,
            "the queue of events is bounded": bounded,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """What becomes of a pin before its TTL is over."""
        soft = {n: ask.object_id for n, ask in self.asks.items() if ask.pin is Pin.SOFT}

        def lost(state: State) -> bool:
            lasting = {soft[name] for name, _ in state.clocks}
            return bool(lasting - {*dict(state.soft)} - {*state.over})

        def outlives(state: State) -> bool:
            lasting = {soft[name] for name, _ in state.clocks}
            return bool({*dict(state.soft)} - lasting)

        found: dict[str, Callable[[State], bool]] = {}
        if soft:
            found["a soft pin is gone before its TTL is over"] = lost
        if self.revives:
            found["a soft pin counts after its TTL is over"] = outlives
        return found


def _without(state: State, gone: str) -> State:
    """The store without an object, and without its pin."""
    return state._replace(
        stored=tuple(each for each in state.stored if each[0] != gone),
        soft=tuple(each for each in state.soft if each[0] != gone),
        over=tuple(each for each in state.over if each != gone),
    )


_HARD: Final = (Ask("r1", "a", Pin.HARD), Ask("r2", "b"))
_PLAIN: Final = (Ask("r1", "a", Pin.SOFT), Ask("r2", "b"), Ask("r3", "c"))

VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "soft": Mooncake,
    "hard": lambda: Mooncake(asks=_HARD),
    "recovery": lambda: Mooncake(2, _PLAIN, recovers=True),
    "revives": lambda: Mooncake(revives=True),
    "full_queue": lambda: Mooncake(queue=1),
}

_SOFT: Final = "soft_pin_ttl_ms of a put"

INFERENCES: Final = (
    Inference.of(
        "soft pin -> expiring",
        _SOFT,
        Mode.EXPIRING,
        "soft_pin",
        Mooncake,
        "r1",
        {"ttl_elapsed": Kind.DURATION_ELAPSED},
        premises=("pin_with_ttl",),
        adds="No event is about a pin: neither that its TTL is over, nor that its object is lost "
        "before.",
    ),
    Inference.of(
        "soft pin -> hard_protected",
        _SOFT,
        Mode.HARD_PROTECTED,
        "soft_pin",
        VARIANTS["recovery"],
        "r1",
        premises=("pin_with_ttl",),
        adds="When the master recovers it forgets soft pins, and reports it to no client.",
    ),
    Inference.of(
        "hard pin -> hard_protected",
        "with_hard_pin of a put",
        Mode.HARD_PROTECTED,
        "hard_pin",
        VARIANTS["hard"],
        "r1",
        premises=("pin",),
        adds="The object stays. A put without a free place fails, and the failure names no pin.",
    ),
    Inference.of(
        "removed event -> loss reported",
        "the maps that the master publishes where objects are stored and removed",
        Mode.BEST_EFFORT,
        "put",
        VARIANTS["full_queue"],
        "r1",
        {"stored": Kind.CLAIM_MATERIALIZED, "removed": Kind.CLAIM_UNMATERIALIZED},
        concludes="claim_scoped_telemetry",
        premises=("block_events",),
        adds="The queue of events is full, so the oldest event is dropped: it is the removal.",
    ),
)
"""False inferences from the pins and the events of Mooncake's master."""
