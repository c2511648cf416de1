"""Defines a model of a runtime: states, actions, and what each action makes of a state and emits.

A model is compared with the source of its runtime side by side, so it has the shape of that source:
its states are what the runtime keeps, its actions what the runtime does in one atomic step. What an
action emits is of two sorts:

* a `Fact` is an event of the contract: what happened to blocks, transfers and requests, as hooks
  would observe it, or a report that a runtime with claims makes;
* a `Signal` is a call of a feature, a message of the runtime, or what a hook or a client's clock
  shows of either (`pin_dropped`, `ttl_elapsed`), in the runtime's own word where it has one. It is
  no event of the contract. A shim (`models.framework.shims`) says what a naive reader takes it for.

Both are made by `fact` and `signal`, which return the same object for the same arguments, so that
they are compared and hashed by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from spec.contract.supply import Depth
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import IDENTITY, OF_MODEL, STAMP, fields_of
from spec.language.errors import SpecError

__all__ = [
    "CACHE",
    "Action",
    "Emitted",
    "Fact",
    "Model",
    "Next",
    "Signal",
    "fact",
    "fault",
    "given_of",
    "renamed",
    "signal",
    "step",
]

State = TypeVar("State")

CACHE: Final = OF_MODEL
"""The cache identity of everything in a model: one model, one tokenizer, one block size."""


_DEFAULTS: Final = {each.name: each.default for each in msgspec.structs.fields(Event)}
_KINDS: Final = frozenset(Kind)
_FIELDS: Final = frozenset(Event.__struct_fields__)
_UNWRITTEN: Final = frozenset(STAMP) - {"kind"}
_LASTING: Final = "give values that cannot be changed, such as tuples"


class Action(NamedTuple):
    """An atomic step of a runtime, a client or a clock, with what it is done to."""

    name: str
    what: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.what))})" if self.what else self.name


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """An event of the contract, without its place in a stream.

    Raises:
        SpecError: it is no event: there is no such kind, or it has a field that its kind does not
            have, or of a wrong type.
    """

    event: Event

    def __post_init__(self) -> None:
        if fault := _fault_of(self.event):
            raise SpecError(fault, "docs/events.md lists the kinds and their fields")


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """A call of a feature by a client, a message of the runtime, or what a hook or a clock shows.

    `holder` is who has what the call sets (a pin, a hint, a lease), or whom the message is about;
    `fields` are those of an event that a reader could fill from it.
    """

    name: str
    holder: str
    fields: Mapping[str, Any] = field(default_factory=dict)


Emitted: TypeAlias = Fact | Signal


def given_of(event: Event) -> dict[str, Any]:
    """The fields that an event states, besides its kind."""
    given = {n: getattr(event, n) for n in event.__struct_fields__ if n != "kind"}
    return {n: value for n, value in given.items() if value != _DEFAULTS[n]}


def renamed(emitted: Emitted, names: Mapping[int, int]) -> Emitted:
    """What is emitted where blocks have these names instead."""
    if isinstance(emitted, Fact):
        if not emitted.event.block_ids:
            return emitted
        given = given_of(emitted.event)
        blocks = tuple(names[each] for each in given["block_ids"])
        return fact(emitted.event.kind, **{**given, "block_ids": blocks})
    if "block_ids" not in emitted.fields:
        return emitted
    blocks = tuple(names[each] for each in emitted.fields["block_ids"])
    return signal(emitted.name, emitted.holder, **{**emitted.fields, "block_ids": blocks})


def fact(kind: Kind, **fields: Any) -> Fact:
    """The event of this kind with these fields; those about objects are of the model's cache.

    Raises:
        SpecError: it is no event, as `Fact` says.
    """
    try:
        return _fact(kind, tuple(sorted(fields.items())))
    except TypeError as error:
        raise SpecError(f"{kind} with {', '.join(fields)}: {error}", _LASTING) from None


def signal(name: str, holder: str, **fields: Any) -> Signal:
    """The call or message of this name, about what `holder` has.

    Raises:
        SpecError: a value of a field can be changed.
    """
    try:
        return _signal(name, holder, tuple(sorted(fields.items())))
    except TypeError as error:
        raise SpecError(f"{name} with {', '.join(fields)}: {error}", _LASTING) from None


def _fault_of(event: Event) -> str:
    """Why this is no event; empty where it is one."""
    if not isinstance(event, Event):
        return f"{event!r:.100} is no event"
    if event.kind not in _KINDS:
        return f"there is no kind of event {event.kind!r:.100}"
    given = given_of(event)
    if strange := set(given) - {*fields_of(event.kind), *IDENTITY} - _UNWRITTEN:
        return f"{event.kind} has no field {min(strange)}"
    try:
        msgspec.json.decode(msgspec.json.encode(event), type=Event)
    except (msgspec.ValidationError, TypeError) as error:
        return f"{event.kind}: {error}"
    return ""


@cache
def _fact(kind: Kind, fields: tuple[tuple[str, Any], ...]) -> Fact:
    given = dict(fields)
    if strange := set(given) - _FIELDS:
        raise SpecError(f"{kind} has no field {min(strange)}", "docs/events.md lists them")
    if "object_id" in given:
        given.setdefault("cache_identity", CACHE)
    return _of(Event(kind=kind, **given))


@cache
def _of(event: Event) -> Fact:
    return Fact(event)


@cache
def _signal(name: str, holder: str, fields: tuple[tuple[str, Any], ...]) -> Signal:
    return Signal(name, holder, dict(fields))


class Next(NamedTuple, Generic[State]):
    """The state after an action, and what the action emitted, in order."""

    state: State
    emits: tuple[Emitted, ...] = ()


class Model(Generic[State]):
    """A runtime of a fixed size. Its states are immutable and hashable.

    `about` says in a sentence what is modelled, `source` from which source at which version,
    `left_out` what is not. `holders` are those whose calls may be taken for claims, `requests` the
    ids of requests, `blocks` the physical blocks that look alike: the search may rename them.

    `by_name` are the parts of a state that are in the order of names, for where these change.
    `depth` is that of the adapter by which a runtime takes claims, `none` where it needs none.

    `always` are properties of every state, `reachable` those of some state.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    source: ClassVar[str]
    left_out: ClassVar[str]
    depth: ClassVar[Depth] = Depth.NONE
    by_name: ClassVar[tuple[str, ...]] = ()

    holders: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()

    def initial(self) -> Iterable[State]:
        """The states that a run may begin in."""
        raise NotImplementedError

    def actions(self, state: State) -> Iterable[Action]:
        """The actions that are enabled in a state."""
        raise NotImplementedError

    def apply(self, state: State, action: Action) -> Next[State]:
        """The state after an action that is enabled, and what it emits."""
        raise NotImplementedError

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Properties of every reachable state, by name."""
        return {}

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """Properties that some reachable state has, by name."""
        return {}

    @property
    def interchangeable(self) -> Iterable[Iterable[tuple[str, ...]]]:
        """Groups of rows of names, of claims, requests and objects: in whatever order the rows of a
        group are put, the model is the same.
        """
        return ()

    def canonical(self, state: State) -> tuple[State, tuple[int, ...]]:
        """The state that stands for all that differ from it in the names of blocks alone.

        Returns it with the new name of each block, or with no names where they stay. A model that
        renames blocks treats them by their place and their content, never by their names, and its
        actions name none.
        """
        return state, ()


def step(model: Model[State], state: State, action: Action) -> Next[State]:
    """The state after an action, and what it emits.

    Raises:
        SpecError: the action emits what is no event and no signal; it is named.
    """
    try:
        found = model.apply(state, action)
        for each in found[1]:
            if not isinstance(each, Fact | Signal):
                raise SpecError(f"{each!r:.100} is no event and no signal")
    except SpecError as error:
        raise fault(model, state, action, error) from None
    return found


def fault(model: Model[Any], state: object, action: Action, error: SpecError) -> SpecError:
    """The error where an action in a state does what cannot be."""
    cause = f"{model.name}, action {action} in {state}: {error.cause}"
    return SpecError(cause, "the model states what cannot be")
