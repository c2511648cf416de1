"""Decides whether a recorded stream of events is a run of a model: trace validation.

A model need not be deterministic, and the stream shows no states, so the search keeps every state
that the model can be in after the events so far. Names are the stream's own: a claim, a request, an
object, a block or a scope of the model stands for one of the stream, for the same one to the end,
and no two for one. What a model does without emitting anything may happen at any time.

A stream that a model made has the model's names: `is_run` asks whether it is one of its runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from models.framework.model import Action, Model, step
from models.framework.shims import PLAIN, Shim, events_of
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import RUNTIME
from spec.language.errors import SpecError

__all__ = ["ACCEPTED", "LEFT_OUT", "LIMIT", "REJECTED", "UNDECIDED", "Found", "accepts", "is_run"]

LEFT_OUT: Final = frozenset(
    {
        *("stream", "sequence", "time_ns", "reason"),
        *("cache_identity", "token_map", "predicate_id", "keys", "content_keys", "positions"),
    }
)
"""The fields that are not compared: models say nothing of them, or name contents by objects.

Positions are compared with the blocks that are at them.
"""

_PLACE: Final = frozenset({"stream", "sequence", "time_ns"})
"""The fields of an event that say where it is in a stream, and no more."""

ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
UNDECIDED: Final = "undecided"

LIMIT: Final = 100_000
"""The most states that the model may be in after an event."""

_NAMED: Final[Mapping[str, str]] = {
    "claim_id": "claim",
    "outcome_claim_id": "claim",
    "blocking_claim_ids": "claim",
    "request_id": "request",
    "object_id": "object",
    "owner_scope": "scope",
    "by": "scope",
    "worker": "worker",
    "block_ids": "block",
}
"""The fields that hold names, and whose."""

_ORDERED: Final = frozenset({Kind.BLOCK_EVICTED})
"""The kinds whose blocks are in an order that means something: that of the victims."""

_SHOWN: Final = 6
"""Values of a list that are shown of it."""

_Path: TypeAlias = tuple[Action, "_Path"] | None


@dataclass(frozen=True)
class Found:
    """Whether a stream is a run of a model; it is undecided where there are too many states.

    `taken` events are a run, by these `actions`. `complete` says that they end where an action of
    the model does, and not within one. `instead` is what the model could have emitted next, each
    with its action: where that is of the kind of the next event, with the first field in which they
    differ. `near` says that some are of its kind.
    """

    verdict: str
    taken: int
    actions: tuple[Action, ...] = ()
    complete: bool = False
    instead: tuple[str, ...] = ()
    near: bool = False


class _TooMany(Exception):
    """The model can be in more states than the limit."""


class _Config(NamedTuple):
    """A state of the model, what its last action is still to emit, and the names so far."""

    state: Any
    pending: tuple[Event, ...]
    names: frozenset[tuple[tuple[str, Any], Any]]


def accepts(
    model: Model[Any],
    events: Iterable[Event],
    *,
    shim: Shim = PLAIN,
    unseen: Collection[Kind] = (),
    own_names: bool = False,
    limit: int = LIMIT,
    progress: Callable[[int, int], None] | None = None,
) -> Found:
    """Whether a stream of events is a run of a model, up to names and the fields in `LEFT_OUT`.

    Args:
        shim: what a reader takes the calls and messages of the model for.
        unseen: the kinds that the stream does not state, whatever the model emits.
        own_names: the names of the stream are those of the model; then all fields are compared but
            the place of an event in a stream.
        limit: the most states that the model may be in after an event.
        progress: receives the number of events so far, and of states.
    """
    configs: dict[_Config, _Path] = {
        _Config(state, (), frozenset()): None for state in model.initial()
    }
    count = 0
    for count, event in enumerate(events, 1):
        found: dict[_Config, _Path] = {}
        could: list[tuple[_Config, _Path, str]] = []
        try:
            for config, path in _moves(model, shim, configs, unseen, limit):
                first, *rest = config.pending
                names = None if own_names else dict(config.names)
                if differs := _differs(first, event, names):
                    could.append((config, path, differs))
                    continue
                after = _Config(config.state, tuple(rest), frozenset((names or {}).items()))
                found.setdefault(after, path)
        except _TooMany:
            return Found(UNDECIDED, count - 1)
        if not found:
            instead = dict.fromkeys(_say(*each, event) for each in could)
            actions = _actions(next(iter(configs.values()), None))
            near = any(differs != "kind" for _, _, differs in could)
            return Found(REJECTED, count - 1, actions, instead=tuple(instead), near=near)
        configs = found
        if progress is not None:
            progress(count, len(found))
    ended = [path for config, path in configs.items() if not config.pending]
    owed = () if ended else tuple(dict.fromkeys(_say(*each) for each in configs.items()))
    actions = _actions([*ended, *configs.values()][0])
    return Found(ACCEPTED, count, actions, bool(ended), owed)


def is_run(model: Model[Any], shim: Shim, events: Iterable[Event]) -> bool:
    """Whether a reader writes exactly these events, and maybe more, for some run of a model.

    Names count as they are. Raises SpecError where the model can be in too many states to decide.
    """
    found = accepts(model, events, shim=shim, own_names=True)
    if found.verdict == UNDECIDED:
        cause = f"{model.name} can be in more than {LIMIT} states before event {found.taken}"
        raise SpecError(cause, "make it smaller")
    return found.verdict == ACCEPTED


def _moves(
    model: Model[Any],
    shim: Shim,
    configs: Mapping[_Config, _Path],
    unseen: Collection[Kind],
    limit: int,
) -> Iterator[tuple[_Config, _Path]]:
    """The configurations that have something to emit, after any actions that emit nothing."""
    known, waiting = set(configs), list(configs.items())
    while waiting:
        config, path = waiting.pop()
        if config.pending:
            yield config, path
            continue
        for action in model.actions(config.state):
            state, emits = step(model, config.state, action)
            told = tuple(each for each in events_of(shim, emits) if each.kind not in unseen)
            after = _Config(state, told, config.names)
            if after not in known:
                known.add(after)
                waiting.append((after, (action, path)))
        if len(known) > limit:
            raise _TooMany


def _differs(own: Event, event: Event, names: dict[tuple[str, Any], Any] | None) -> str:
    """The field in which an event of the model is not the one of the stream; empty if it is.

    Then `names` has the names by which it is; without any, names are compared as they are.
    """
    left_out = _PLACE if names is None else LEFT_OUT
    for field in Event.__struct_fields__:
        mine, theirs, sort = getattr(own, field), getattr(event, field), _NAMED.get(field)
        if field in left_out:
            continue
        if names is None or sort is None or RUNTIME in (mine, theirs):
            same = mine == theirs
        elif isinstance(mine, tuple):
            same = _bind_all(own, event, names, field)
        else:
            same = _bind(names, sort, [mine], [theirs])
        if not same:
            return field
    return ""


def _bind_all(own: Event, event: Event, names: dict[tuple[str, Any], Any], field: str) -> bool:
    """Bind the names in a list: by position where each has one, else in their order.

    Lists of which all names are known are compared as sets.
    """
    sort, mine, theirs = _NAMED[field], getattr(own, field), getattr(event, field)
    if theirs is None or len(mine) != len(theirs):
        return False
    if field == "block_ids" and (own.positions or event.positions):
        pairs = sorted(zip(own.positions, mine, strict=False), key=lambda pair: pair[0])
        others = sorted(zip(event.positions, theirs, strict=False), key=lambda pair: pair[0])
        if [at for at, _ in pairs] != [at for at, _ in others]:
            return False
        return _bind(names, sort, [b for _, b in pairs], [b for _, b in others])
    if all((sort, each) in names for each in mine) and own.kind not in _ORDERED:
        return {names[sort, each] for each in mine} == set(theirs)
    return _bind(names, sort, mine, theirs)


def _bind(
    names: dict[tuple[str, Any], Any], sort: str, mine: Sequence[Any], theirs: Sequence[Any]
) -> bool:
    for one, other in zip(mine, theirs, strict=True):
        if one is None or other is None:
            if one is not other:
                return False
        elif (sort, one) in names:
            if names[sort, one] != other:
                return False
        elif any(key[0] == sort and value == other for key, value in names.items()):
            return False
        else:
            names[sort, one] = other
    return True


def _actions(path: _Path) -> tuple[Action, ...]:
    actions: list[Action] = []
    while path is not None:
        action, path = path
        actions.append(action)
    return tuple(reversed(actions))


def _say(config: _Config, path: _Path, differs: str = "", event: Event | None = None) -> str:
    own, names = config.pending[0], dict(config.names)
    ids = (("claim", own.claim_id), ("request", own.request_id))
    about = [str(names.get(each, each[1])) for each in ids if each[1]]
    action = "" if path is None else f"{path[0]}: "
    said = f"{action}{' '.join([own.kind, *about])}"
    if event is None or differs == "kind":
        return said
    mine, theirs, sort = getattr(own, differs), getattr(event, differs), _NAMED.get(differs, "")
    if isinstance(mine, tuple):
        mine = tuple(names.get((sort, each), each) for each in mine)
    else:
        mine = names.get((sort, mine), mine)
    return f"{said}, with {differs} {_short(mine)} where the trace has {_short(theirs)}"


def _short(value: Any) -> str:
    """A value of a field; of a long list, its ends."""
    if not isinstance(value, tuple):
        return "none" if value is None else str(value)
    listed = [str(each) for each in value]
    if len(listed) > _SHOWN:
        listed = [*listed[: _SHOWN // 2], "...", *listed[-_SHOWN // 2 :]]
    return f"[{', '.join(listed)}]"
