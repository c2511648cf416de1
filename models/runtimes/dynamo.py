"""Models the KV-aware router of NVIDIA Dynamo, over workers with a cache each.

Source: the router guide of NVIDIA Dynamo (documentation, 2026-05-23) and `RouterEvent`: the cost of
a worker is what it has to prefill (what is in progress there, and the prompt less the overlap with
what the router's index says of that worker) and its decode blocks; the cheapest worker is chosen.
The index follows the KV events of the workers, which arrive later than what they are about.
`session_id` is passive metadata. Not read but inferred: the unit of the cost (a block counts as
one, overlap as much as prefill), that the cheapest are chosen among at will, and that a response
states the overlap by which its worker was chosen. The caches of the workers are LRU.

The contract's stream is of one pool. Here all workers are in one: a prefix counts as held if any
worker holds it, so look-ups, which are of one worker, are not emitted.

Left out: tiers of a worker, queue policy, the event `cleared`, events that are lost, routing at a
temperature, several routers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.inference import Inference
from models.framework.model import Action, Emitted, Model, Next, Signal, fact, signal
from models.framework.shims import Shim
from models.framework.symmetry import alike
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS", "Dynamo", "News", "Prompt", "Routed", "State"]


class Prompt(NamedTuple):
    """A request: a prefix of one block that others may have, its own blocks, and its session."""

    request_id: str
    object_id: str | None
    own: int = 0
    session: str | None = None

    @property
    def owned(self) -> tuple[str, ...]:
        """What its own blocks hold."""
        return tuple(f"{self.request_id}.{at}" for at in range(self.own))

    @property
    def contents(self) -> tuple[str, ...]:
        """What its blocks hold."""
        return self.owned if self.object_id is None else (self.object_id, *self.owned)


class Routed(NamedTuple):
    """A request with its worker, the overlap that the index promised there, and its stage."""

    request_id: str
    worker: int
    overlap: int
    serving: bool = False


class News(NamedTuple):
    """A KV event of a worker that the router has not read."""

    worker: int
    content: str
    stored: bool


class State(NamedTuple):
    """The caches of the workers, and what the router knows.

    `caches` are, of each worker, what its blocks hold, least recently used first, each with the
    block. `known` is the index of the router, `news` what it has not read, the oldest
    first.
    """

    caches: tuple[tuple[tuple[str, int], ...], ...]
    known: frozenset[tuple[int, str]] = frozenset()
    news: tuple[News, ...] = ()
    waiting: tuple[str, ...] = ()
    routed: tuple[Routed, ...] = ()
    ended: tuple[str, ...] = ()

    @property
    def arrived(self) -> tuple[str, ...]:
        """The requests that came."""
        return (*self.waiting, *(each.request_id for each in self.routed), *self.ended)


class Dynamo(Model[State]):
    """The router of Dynamo, for requests that come once each.

    A prefix is a holder from the first request on that has it, a session from its first turn on.

    Args:
        workers: how many.
        blocks: blocks of each worker.
        prompts: the requests.
        in_order: they come in this order, not in any.
    """

    name: ClassVar = "dynamo"
    about: ClassVar = "The KV-aware router of Dynamo: overlap, cost, the cheapest worker."
    source: ClassVar = "NVIDIA Dynamo, router guide of 2026-05-23; RouterEvent"
    left_out: ClassVar = "tiers of a worker, queue policy, lost events, temperature, replicas"
    by_name: ClassVar = ("ended",)

    def __init__(
        self,
        workers: int = 2,
        blocks: int = 1,
        prompts: tuple[Prompt, ...] = (
            Prompt("r1", "a"),
            Prompt("r2", "a"),
            Prompt("r3", None, 1),
        ),
        *,
        in_order: bool = False,
    ) -> None:
        self.workers, self.size, self.in_order = tuple(range(workers)), blocks, in_order
        self.prompts = {each.request_id: each for each in prompts}
        self.requests = tuple(self.prompts)
        prefixes = dict.fromkeys(each.object_id for each in prompts if each.object_id is not None)
        sessions = dict.fromkeys(each.session for each in prompts if each.session is not None)
        self.prefixes, self.holders = tuple(prefixes), (*prefixes, *sessions)

    def initial(self) -> Iterator[State]:
        """Empty caches and an empty index."""
        yield State(((),) * len(self.workers))

    def actions(self, state: State) -> Iterator[Action]:
        """Requests come, are routed, start and end; the router reads what workers published."""
        coming = [name for name in self.requests if name not in state.arrived]
        for name in coming[:1] if self.in_order else coming:
            yield Action("arrive", (name,))
        if state.waiting:
            costs = self._costs(state, self.prompts[state.waiting[0]])
            for worker in self.workers:
                if costs[worker] == min(costs):
                    yield Action("route", (state.waiting[0], worker))
        for each in state.routed:
            prompt = self.prompts[each.request_id]
            if each.serving:
                yield Action("finish", (each.request_id,))
            elif self._fits(state, prompt, each.worker):
                yield Action("serve", (each.request_id,))
        for worker in dict.fromkeys(each.worker for each in state.news):
            yield Action("read_events", (worker,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The router and the workers after an action."""
        if action.name == "read_events":
            return self._read(state, int(action.what[0]))
        prompt = self.prompts[str(action.what[0])]
        if action.name == "arrive":
            return self._arrive(state, prompt)
        if action.name == "route":
            return self._route(state, prompt, int(action.what[1]))
        return (self._serve if action.name == "serve" else self._finish)(state, prompt)

    def _to(self, prefix: str, word: str, holder: str | None = None, **fields: Any) -> Signal:
        """A signal about a prefix, or about what a session has of it."""
        by = holder or prefix
        about = {"object_id": prefix, "predicate": "leading_prefix_at_least(1)"}
        return signal(word, by, footprint=1, owner_scope=f"owner:{by}", **about, **fields)

    def _arrive(self, state: State, prompt: Prompt) -> Next[State]:
        name, prefix, session = prompt.request_id, prompt.object_id, prompt.session
        came = [self.prompts[name] for name in state.arrived]
        emits: list[Emitted] = []
        if prefix is not None and prefix not in [each.object_id for each in came]:
            emits.append(self._to(prefix, "generate"))
        if prefix is not None and session is not None and session not in [e.session for e in came]:
            emits.append(self._to(prefix, "session_id", session))
        needed = {"needed": prompt.own, "usable": self.size}
        emits.append(fact(Kind.REQUEST_ARRIVED, request_id=name, **needed))
        return Next(state._replace(waiting=(*state.waiting, name)), tuple(emits))

    def _overlap(self, state: State, prompt: Prompt, worker: int) -> int:
        return int((worker, prompt.object_id) in state.known)

    def _costs(self, state: State, prompt: Prompt) -> list[int]:
        """Of each worker: what it has to prefill, and its decode blocks."""
        costs = []
        for worker in self.workers:
            there = [each for each in state.routed if each.worker == worker]
            sizes = {each.request_id: len(self.prompts[each.request_id].contents) for each in there}
            active = sum(sizes[e.request_id] - e.overlap for e in there if not e.serving)
            decode = sum(sizes[e.request_id] for e in there if e.serving)
            new = len(prompt.contents) - self._overlap(state, prompt, worker)
            costs.append(active + new + decode)
        return costs

    def _route(self, state: State, prompt: Prompt, worker: int) -> Next[State]:
        """Send a request to a cheapest worker, by what the index says."""
        name, prefix = prompt.request_id, prompt.object_id
        cost = self._costs(state, prompt)[worker]
        entry = Routed(name, worker, self._overlap(state, prompt, worker))
        after = state._replace(waiting=state.waiting[1:], routed=(*state.routed, entry))
        if prefix is None:
            return Next(after)
        route: dict[str, Any] = {"request_id": name, "cost": cost, "worker": f"w{worker}"}
        sent = fact(Kind.REQUEST_ROUTED, object_id=prefix, **route)
        stated = [self._to(prefix, word, **route) for word in ("cost", "worker_id")]
        return Next(after, (sent, *stated))

    def _in_use(self, state: State, worker: int) -> set[str]:
        serving = [each for each in state.routed if each.serving and each.worker == worker]
        return {content for e in serving for content in self.prompts[e.request_id].contents}

    def _fits(self, state: State, prompt: Prompt, worker: int) -> bool:
        return len(self._in_use(state, worker) | {*prompt.contents}) <= self.size

    def _serve(self, state: State, prompt: Prompt) -> Next[State]:
        """The worker reuses what it has and computes the rest; its events are on their way."""
        name, prefix = prompt.request_id, prompt.object_id
        entry = next(each for each in state.routed if each.request_id == name)
        worker, cache = entry.worker, state.caches[entry.worker]
        held = dict(cache)
        emits: list[Emitted] = []
        about = {"request_id": name, "object_id": prefix}
        used = self._in_use(state, worker) | {*prompt.contents}
        cache = tuple(e for e in cache if e[0] not in prompt.contents)
        news = list(state.news)
        for content in prompt.contents:
            block = held.get(content)
            if block is None:
                cache, block, lost = self._take(cache, worker, used, held)
                if lost is not None:
                    emits.append(fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=(block,)))
                    news.append(News(worker, lost, stored=False))
                places = {"block_ids": (block,), "positions": (0,), "object_id": content}
                emits.append(fact(Kind.BLOCK_CACHED, request_id=name, **places))
                news.append(News(worker, content, stored=True))
            cache = (*cache, (content, block))
        if prefix is not None:
            emits += [fact(Kind.PREFIX_REUSED, **about)] * (prefix in held)
            emits.append(fact(Kind.REUSE_SERVED, **about, hit=prefix in held))
        caches = tuple(cache if at == worker else old for at, old in enumerate(state.caches))
        routed = tuple(e._replace(serving=True) if e is entry else e for e in state.routed)
        reported = tuple(
            each for each in news if each.content in self.prefixes
        )  # the rest routes no request
        return Next(state._replace(caches=caches, news=reported, routed=routed), tuple(emits))

    def _take(
        self, cache: tuple[tuple[str, int], ...], worker: int, used: set[str], held: dict[str, int]
    ) -> tuple[tuple[tuple[str, int], ...], int, str | None]:
        """A block of a worker, and what it held: a free one, or the least recently used."""
        first = worker * self.size
        taken = {block for _, block in cache} | {held[name] for name in used if name in held}
        free = [at for at in range(first, first + self.size) if at not in taken]
        if free:
            return cache, free[0], None
        lost, block = next(each for each in cache if each[0] not in used)
        return tuple(each for each in cache if each[0] != lost), block, lost

    def _read(self, state: State, worker: int) -> Next[State]:
        """The router reads the oldest event of a worker."""
        read = next(each for each in state.news if each.worker == worker)
        at = state.news.index(read)
        entry = {(worker, read.content)}
        after = state._replace(
            known=state.known | entry if read.stored else state.known - entry,
            news=(*state.news[:at], *state.news[at + 1 :]),
        )
        word = "stored" if read.stored else "removed"
        return Next(after, (self._to(read.content, word),))

    def _finish(self, state: State, prompt: Prompt) -> Next[State]:
        """The response states by which overlap the worker was chosen."""
        name, prefix = prompt.request_id, prompt.object_id
        entry = next(each for each in state.routed if each.request_id == name)
        overlap: dict[str, Any] = {"request_id": name, "hit": entry.overlap > 0}
        emits: list[Emitted] = [] if prefix is None else [self._to(prefix, "overlap", **overlap)]
        emits.append(fact(Kind.REQUEST_FINISHED, request_id=name))
        routed = tuple(each for each in state.routed if each is not entry)
        ended = tuple(sorted((*state.ended, name)))
        return Next(state._replace(routed=routed, ended=ended), tuple(emits))

    @property
    def interchangeable(self) -> Iterable[Iterable[tuple[str, ...]]]:
        """Requests in any order for one prefix in one session, with what is their own."""
        prompts = () if self.in_order else self.prompts.values()
        return alike((each[1:], (each.request_id, *each.owned)) for each in prompts)

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks are accounted for, and the index is right once all events are read."""

        def accounted(state: State) -> bool:
            blocks = [block for cache in state.caches for _, block in cache]
            most = max(len(cache) for cache in state.caches)
            return len(blocks) == len(set(blocks)) and most <= self.size

        def follows(state: State) -> bool:
            index = set(state.known)
            for worker, content, stored in state.news:
                (index.add if stored else index.discard)((worker, content))
            caches = enumerate(state.caches)
            return index == {(w, c) for w, cache in caches for c, _ in cache if c in self.prefixes}

        return {
            "a block holds one content": accounted,
            "the index, with the events not read yet, is what is cached": follows,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """The index may be wrong of the worker that it chose."""

        def stale(state: State) -> bool:
            return any(
                each.overlap
                and self.prompts[each.request_id].object_id not in dict(state.caches[each.worker])
                for each in state.routed
                if not each.serving
            )

        contents = {content for prompt in self.prompts.values() for content in prompt.contents}
        evicts = self.size < len(contents)
        return {"a request is routed to an overlap that is gone": stale} if evicts else {}


_TURNS: Final = (Prompt("r1", "a", 0, "s"), Prompt("r2", "a", 0, "s"))

VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "two_workers": Dynamo,
    "one_worker": lambda: Dynamo(1, in_order=True),
    "sessions": lambda: Dynamo(prompts=_TURNS),
}

_CALL: Final = frozenset({"generate"})
_REMOVED: Final = {"removed": Kind.CLAIM_UNMATERIALIZED}

INFERENCES: Final = (
    Inference(
        name="kv_aware_routing -> routed_reuse",
        feature="KV-aware routing: requests go where their prefix is cached",
        mode=Mode.ROUTED_REUSE,
        shim=Shim(Mode.ROUTED_REUSE, _CALL),
        model=Dynamo,
        tracked="a",
        premises=("kv_aware_routing",),
        adds="The router routes requests by what its index says; it reports nothing of a claim.",
        row=7,
    ),
    Inference(
        name="prefix routed -> routed_reuse",
        feature="the cost, the worker and the overlap that the router states for a request",
        mode=Mode.ROUTED_REUSE,
        shim=Shim(
            Mode.ROUTED_REUSE,
            _CALL,
            {
                "cost": Kind.ROUTE_COST_REPORTED,
                "worker_id": Kind.ROUTE_PLACEMENT_REPORTED,
                "overlap": Kind.ROUTE_REUSE_REPORTED,
            },
        ),
        model=Dynamo,
        tracked="a",
        premises=("kv_aware_routing",),
        parent="kv_aware_routing -> routed_reuse",
        adds="Cost and worker are stated rightly, for each request. The overlap is what the index "
        "said when the request was routed: the prefix may have come or gone since, or the router "
        "has not read of it.",
    ),
    Inference(
        name="session_id -> routed_reuse",
        feature="session_id in a request",
        mode=Mode.ROUTED_REUSE,
        shim=Shim(Mode.ROUTED_REUSE, frozenset({"session_id"})),
        model=VARIANTS["sessions"],
        tracked="s",
        premises=("kv_aware_routing",),
        parent="kv_aware_routing -> routed_reuse",
        adds="The id is metadata: no route depends on it, and nothing that the router states names "
        "the session.",
    ),
    Inference(
        name="router index -> materialized",
        feature="the router's index of KV events: which worker has which prefix",
        mode=Mode.BEST_EFFORT,
        shim=Shim(Mode.BEST_EFFORT, _CALL, {"stored": Kind.CLAIM_MATERIALIZED, **_REMOVED}),
        model=VARIANTS["one_worker"],
        tracked="a",
        concludes="materialization_predicate",
        premises=("block_events",),
    ),
)
"""False inferences from the router of Dynamo."""
