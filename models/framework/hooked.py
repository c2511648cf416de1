"""States what this project's plugin, where it enforces nothing, would write of a model of vLLM.

The plugin states facts block by block, where its hooks see them, and a model of vLLM where they
happen. So the same run has two forms:

* the plugin states what was evicted before what was looked up, because both are known when a
  request has its blocks, and what was computed when the output of the step arrives;
* it states look-ups, stores and failed loads for the claims that are live, and those of unclaimed
  blocks not at all.

`Hooked` states a run of a model in the plugin's way, and `facts_of` brings a trace of the plugin to
the same form: an event for each block. Reports are not facts of vLLM, and are left out; so are what
follows from other facts (`prefix_reused`, `duration_elapsed`) and copies that a claim finds.

Two things that the models leave out are done to their states here: a reset of the cache, and blocks
that a failure takes out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from msgspec.structs import replace

from models.framework.model import Action, Emitted, Fact, Model, Next, fact
from spec.events.alphabet import Kind
from spec.events.canonical import Event

__all__ = ["Hooked", "HookedState", "Watch", "facts_of"]

_WISHES: Final = frozenset({"ask", "keep"})
"""What clients ask of a model: vLLM learns of none of it."""

_OF_BLOCKS: Final = frozenset(
    {Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED, Kind.BLOCK_LOST, Kind.LOAD_FINISHED}
)
_OF_CLAIMS: Final = frozenset({Kind.STORE_FINISHED, Kind.HOST_COPY_LOST, Kind.LOAD_FAILED})
_SORTED: Final = frozenset({*_OF_CLAIMS, Kind.BLOCK_CACHED, Kind.LOAD_FINISHED, Kind.PREFIX_LOOKUP})
"""The kinds of which several events follow from one cause, in an order without meaning."""
_KEPT: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.REQUEST_ARRIVED: ("request_id", "usable"),
    Kind.REQUEST_FINISHED: ("request_id",),
    Kind.CLAIM_REGISTERED: ("claim_id",),
    Kind.CLAIM_RETIRED: ("claim_id",),
    Kind.PREFIX_LOOKUP: ("claim_id", "request_id", "held", "asked"),
    **dict.fromkeys(_OF_CLAIMS, ("claim_id", "request_id")),
}
"""The fields of other facts that are compared."""


class Watch(NamedTuple):
    """A claim, which vLLM does not know of: the first `size` blocks of an object."""

    claim_id: str
    object_id: str
    size: int


class HookedState(NamedTuple):
    """The state of the model, the claims that are live, and what each request is computing.

    `arrived` and `claimed` are how many requests and claims came so far.
    """

    inner: Any
    arrived: int = 0
    claimed: int = 0
    live: tuple[str, ...] = ()
    due: tuple[tuple[str, tuple[Emitted, ...]], ...] = ()


class Hooked(Model[HookedState]):
    """A model of vLLM as the plugin's hooks observe it.

    Args:
        inner: the model. Its states have `cached` and `running`; with a tier, `loading`, `tier` and
            `storing`, too. What a request computes of its own is named as the request.
        watches: the claims of the trace, in the order in which they come; so do its requests.
        events: those of the trace: failures take single blocks out of the cache if they do here.
    """

    name: ClassVar = "hooked"
    about: ClassVar = "A model of vLLM, in the events of the plugin where it enforces nothing."
    source: ClassVar = "runtime_hooks of this project, in vLLM 0.32.0"
    left_out: ClassVar = "requests that are aborted"

    def __init__(
        self, inner: Model[Any], watches: Iterable[Watch] = (), events: Iterable[Event] = ()
    ) -> None:
        self.inner: Any = inner
        self.loses = any(e.kind is Kind.BLOCK_LOST and e.block_ids for e in events)
        self.watches: Mapping[str, Watch] = {each.claim_id: each for each in watches}
        self.requests, self.holders = inner.requests, tuple(self.watches)

    def initial(self) -> Iterator[HookedState]:
        """No claim is live."""
        return (HookedState(inner) for inner in self.inner.initial())

    def actions(self, state: HookedState) -> Iterator[Action]:
        """Those of the model, outputs that arrive, claims that begin and end, resets, failures."""
        due, inner = dict(state.due), state.inner
        late = {*self.requests[state.arrived + 1 :]}
        for action in self.inner.actions(inner):
            too_early = action.what[0] in (late if action.name == "arrive" else due)
            if action.name not in _WISHES and not too_early:
                yield action
        yield from (Action("output", (name,)) for name, _ in state.due[:1])
        yield from (Action("unclaim", (name,)) for name in state.live)
        for name in self.holders[state.claimed : state.claimed + 1]:
            yield Action("claim", (name,))
        if any(self._is_copied(inner, name) for name in state.live):
            yield Action("tier_reset")
        if any(inner.cached) and not inner.running and not getattr(inner, "loading", ()):
            yield Action("reset")
        if self.loses:
            for block, content in enumerate(inner.cached):
                if content is not None:
                    yield Action("lose", (block,))

    def apply(self, state: HookedState, action: Action) -> Next[HookedState]:
        """The state after an action, and what the hooks state of it."""
        inner, what = state.inner, action.what
        match action.name:
            case "output":
                due = tuple(each for each in state.due if each[0] != what[0])
                return Next(state._replace(due=due), dict(state.due)[str(what[0])])
            case "claim":
                live = tuple(sorted((*state.live, str(what[0]))))
                stated = fact(Kind.CLAIM_REGISTERED, claim_id=what[0])
                return Next(state._replace(live=live, claimed=state.claimed + 1), (stated,))
            case "unclaim":
                live = tuple(each for each in state.live if each != what[0])
                stated = fact(Kind.CLAIM_RETIRED, claim_id=what[0])
                return Next(state._replace(live=live), (stated,))
            case "tier_reset":
                copied = [n for n in state.live if self._is_copied(inner, n)]
                gone = tuple(fact(Kind.HOST_COPY_LOST, claim_id=name) for name in copied)
                return Next(state._replace(inner=inner._replace(tier=())), gone)
            case "reset" | "lose":
                lost = what or range(len(inner.cached))
                left = tuple(None if b in lost else c for b, c in enumerate(inner.cached))
                stated = fact(Kind.BLOCK_LOST, block_ids=what)
                return Next(state._replace(inner=inner._replace(cached=left)), (stated,))
        return self._of_model(state, action)

    def _of_model(self, state: HookedState, action: Action) -> Next[HookedState]:
        after, emits = self.inner.apply(state.inner, action)
        facts = [each.event for each in emits if isinstance(each, Fact)]
        taken, stated, due = list[Emitted](), list[Emitted](), list[Emitted]()
        for event in facts:
            about = {"request_id": event.request_id}
            match event.kind:
                case Kind.BLOCK_EVICTED:
                    taken += _blocks(event, **about)
                case Kind.BLOCK_CACHED:
                    due += _blocks(self._in_prompt(event), **about)
                case Kind.PREFIX_LOOKUP:
                    stated += self._looked(state, event)
                case Kind.LOAD_FINISHED:
                    stated += (*_blocks(event), *self._found(state, event))
                case Kind.STORE_FINISHED | Kind.HOST_COPY_LOST:
                    stated += self._of_claims(state.live, event)
                case Kind.LOAD_FAILED:
                    copied = [n for n in state.live if self._is_copied(state.inner, n)]
                    stated += self._of_claims(copied, event)
                case Kind.REQUEST_ARRIVED:
                    stated.append(fact(event.kind, **about, usable=event.usable))
                case Kind.REQUEST_FINISHED:
                    stated.append(fact(event.kind, **about))
        waits = (*state.due, (str(action.what[0]), tuple(due))) if due else state.due
        arrived = state.arrived + (action.name == "arrive")
        new = state._replace(inner=after, arrived=arrived, due=waits)
        return Next(new, (*taken, *stated))

    def _in_prompt(self, event: Event) -> Event:
        """What a request computed, at the positions of its prompt and not of an own part of one."""
        of = self.inner.prompts.get(event.object_id)
        before = getattr(of, "before", 0)  # a connector's prompts are objects as a whole
        return replace(event, positions=tuple(before + at for at in event.positions))

    def _is_copied(self, inner: Any, claim_id: str) -> bool:
        stored = {*getattr(inner, "tier", ())} - {*getattr(inner, "storing", ())}
        return self.watches[claim_id].object_id in stored

    def _on(self, live: Iterable[str], object_id: str | None) -> list[Watch]:
        return [self.watches[n] for n in live if self.watches[n].object_id == object_id]

    def _of_claims(self, live: Iterable[str], event: Event) -> list[Emitted]:
        of = {} if event.request_id is None else {"request_id": event.request_id}
        return [
            fact(event.kind, claim_id=each.claim_id, **of)
            for each in self._on(live, event.object_id)
        ]

    def _looked(self, state: HookedState, event: Event) -> list[Emitted]:
        """What a request found of each live claim that its prompt has blocks of."""
        on, computed = self._on(state.live, event.object_id), self._computed(state, event)
        return _look_ups(on, event, event.asked or 0, computed)

    def _computed(self, state: HookedState, event: Event) -> int:
        """How many of the blocks that a look-up found are computed, up to the first that is not.

        Others are cached from when a request of the same step got them.
        """
        late = {block for _, due in state.due for each in due for block in _blocks_of(each)}
        there = {
            content[1]
            for block, content in enumerate(state.inner.cached)
            if content is not None and content[0] == event.object_id and block not in late
        }
        found = range(event.held or 0)
        return next((at for at in found if at not in there), event.held or 0)

    def _found(self, state: HookedState, event: Event) -> list[Emitted]:
        """What a request has of each claim, once blocks of any were loaded for it."""
        on = self._on(state.live, event.object_id)
        if not any(min(event.positions) < each.size for each in on):
            return []
        there = max(event.positions) + 1
        return _look_ups(on, event, there, there)


def _blocks_of(emitted: Emitted) -> tuple[int | str, ...]:
    """The blocks that a fact is about."""
    return emitted.event.block_ids if isinstance(emitted, Fact) else ()


def _look_ups(on: Iterable[Watch], event: Event, asked: int, held: int) -> list[Emitted]:
    """What a request looked up of each claim, of so many first blocks of its prompt."""
    sizes = {each.claim_id: min(each.size, asked) for each in on}
    return [
        fact(
            Kind.PREFIX_LOOKUP,
            claim_id=name,
            request_id=event.request_id,
            held=min(size, held),
            asked=size,
        )
        for name, size in sizes.items()
        if size
    ]


def _blocks(event: Event, **more: Any) -> list[Emitted]:
    """An event for each block."""
    if not event.positions:
        return [fact(event.kind, block_ids=(block,), **more) for block in event.block_ids]
    return [
        fact(event.kind, block_ids=(block,), positions=(at,), **more)
        for block, at in zip(event.block_ids, event.positions, strict=True)
    ]


def facts_of(events: Sequence[Event]) -> list[tuple[int, Event]]:
    """The facts in a trace of the plugin, in the form of `Hooked`, with the number of the event.

    That a block is cached is stated once, and again for each claim that owns it: what repeats what
    is known of the block is left out. Blocks that were found are those of a load.
    """
    rejected = {
        (Kind.CLAIM_REGISTERED, each.claim_id)
        for each in events
        if each.kind is Kind.CLAIM_REJECTED
    }
    there: dict[int | str, tuple[str | None, int]] = {}
    found: list[tuple[int, Event]] = []
    for number, event in enumerate(events):
        stated: list[Event] = []
        if event.kind in _OF_BLOCKS:
            stated = list(_stated(event, there))
        elif event.kind in _KEPT and (event.kind, event.claim_id) not in rejected:
            kept = {name: getattr(event, name) for name in _KEPT[event.kind]}
            stated = [Event(kind=event.kind, **kept)]
        found += ((number, each) for each in stated)
    return _sorted(found)


def _stated(event: Event, there: dict[int | str, tuple[str | None, int]]) -> Iterator[Event]:
    """An event for each block of which this one states something new."""
    if event.kind in (Kind.BLOCK_EVICTED, Kind.BLOCK_LOST):
        for block in event.block_ids:
            there.pop(block, None)
            yield Event(kind=event.kind, block_ids=(block,), request_id=event.request_id)
        if not event.block_ids:
            there.clear()
            yield Event(kind=event.kind, request_id=event.request_id)
        return
    loaded = event.kind is Kind.LOAD_FINISHED or event.found
    by = None if loaded else event.request_id
    if len(event.block_ids) != len(event.positions):
        yield event
        return
    for block, at in zip(event.block_ids, event.positions, strict=True):
        known = there.get(block)
        if known is not None and known[1] == at and (event.found or known[0] == by):
            continue
        there[block] = by, at
        kind = Kind.LOAD_FINISHED if loaded else event.kind
        yield Event(kind=kind, block_ids=(block,), positions=(at,), request_id=by)


def _sorted(found: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    """Events of one kind and request that follow each other, by position or claim."""
    parts: list[list[tuple[int, Event]]] = []
    for number, event in found:
        last = parts[-1][-1][1] if parts else None
        same = last is not None and (last.kind, last.request_id) == (event.kind, event.request_id)
        if same and event.kind in _SORTED:
            parts[-1].append((number, event))
        else:
            parts.append([(number, event)])
    return [each for part in parts for each in sorted(part, key=_place)]


def _place(numbered: tuple[int, Event]) -> tuple[tuple[int, ...], str]:
    event = numbered[1]
    return event.positions if event.kind in _SORTED else (), event.claim_id or ""
