"""Defines product states of claims: states of the product of all observers, made as they are met.

A claim's observers, in its own scope and in that of each request that it has in hand, make one
automaton together. It has far too many states to be built before; of those that streams reach there
are few. Each is kept once for a mode, with the transitions that were taken from it, so that most
events move a claim by one look-up.

A product state leaves out what differs from claim to claim and moves nothing: the ids of requests,
the places of events, and sizes in blocks. A claim has these as slots, and a transition says which
of them it keeps, in which order, and where it adds that of its event.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from monitor.evaluate.observer_state import ObserverState
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from spec.events.alphabet import BLOCKS_GONE, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from monitor.evaluate.observer_state import Finding, Registers
    from monitor.input.records import At, Trail
    from spec.claims.states import ClaimState
    from spec.language.verdicts import Verdict

__all__ = [
    "MOST",
    "NEW",
    "CompactFinding",
    "CompactRequest",
    "CompactState",
    "CompactStates",
    "FactsMoved",
    "ProductState",
    "Slots",
    "Transition",
    "compact_state",
    "compact_trail",
    "expanded_state",
    "expanded_trail",
    "moved_facts",
    "picked",
    "truths_of",
]

MOST: Final = 20_000
"""Product states that are kept of one mode, and states of observers in them; a claim in another one
is moved by its observers.
"""

NEW: Final = -1
"""In place of a slot: none, as of an observer that has not moved."""

CompactTrail: TypeAlias = "tuple[tuple[Kind, int], ...]"
Events: TypeAlias = "Kind | CompactTrail"

CompactRequest: TypeAlias = "tuple[Registers, tuple[CompactState, ...], bool, bool]"
"""An `InHand`: registers, watches, whether it touched the claim, whether it ended. Its needs are
None where they are slots.
"""

CompactFinding: TypeAlias = "tuple[int, Verdict, int, str, str, CompactTrail]"
"""A kept `Finding`: of which observer, verdict, the slot of its place, why, allowed, and trail."""

Slots: TypeAlias = "tuple[Any, ...]"

_NUMBERS: Final = ("footprint", "ended_by", "losses", "failures", "declared", "lead")
assert (
    *("registered", "committed", "responsible", "footprint", "lead", "there", "host", "whole"),
    *("copied", "ended_by", "losses", "failures", "declared", "unreported", "offloaded"),
) == CLAIM_REGISTERS
_LOSSES: Final = CLAIM_REGISTERS.index("losses")
_FAILURES: Final = CLAIM_REGISTERS.index("failures")
_FOOTPRINT: Final = CLAIM_REGISTERS.index("footprint")
_DECLARED: Final = CLAIM_REGISTERS.index("declared")
_ENDED_BY: Final = CLAIM_REGISTERS.index("ended_by")
_TRUTHS: Final = tuple(i for i, n in enumerate(CLAIM_REGISTERS) if n not in _NUMBERS)
_MOST_FACTS: Final = 1_000
_TAKES: Final = {
    Kind.CLAIM_COMMITTED: _FOOTPRINT,
    Kind.CLAIM_ACCEPTED: _DECLARED,
    Kind.CLAIM_RETIRED: _ENDED_BY,
}
"""The register that takes the number that an event of a kind states."""

_CHANGING: Final = _TAKES.keys() | {*BLOCKS_GONE, Kind.BLOCK_CACHED, Kind.LOAD_FINISHED}
"""Kinds of events that may change a number, even where one before changed none."""


class CompactState:
    """An `ObserverState` with slots in place of places; there is one for all that are equal.

    Attributes:
        at: the slot of its place.
        ready: the same expanded, where it has no slot.
    """

    __slots__ = ("at", "events", "own", "ready", "rule", "state")

    def __init__(self, state: int, own: Registers, rule: int, at: int, events: Events) -> None:
        self.state, self.own, self.rule, self.at, self.events = state, own, rule, at, events
        self.ready: ObserverState | None = None
        if at == NEW and isinstance(events, str):
            self.ready = ObserverState(state, own, None, rule, events)
        elif at == NEW and not events:
            self.ready = ObserverState(state, own, None, rule, ())
        if self.ready is not None:
            _READY[id(self.ready)] = self


_READY: dict[int, CompactState] = {}  # by ids of `ready`, which are never let go

CompactStates: TypeAlias = "dict[tuple[int, int, Registers, int, int, Events], CompactState]"
"""The compact states of a mode's observers, by the number of the observer and what is in them."""


def compact_trail(trail: Trail, slot: Callable[[At | None], int]) -> CompactTrail:
    """Events, each with the slot of its place."""
    return tuple([(kind, slot(at)) for kind, at in trail])


def expanded_trail(trail: CompactTrail, places: Slots) -> Trail:
    """Events, each with its place."""
    return tuple([(kind, places[slot]) for kind, slot in trail])


def compact_state(
    of: int, watch: ObserverState, slot: Callable[[At | None], int], known: CompactStates
) -> CompactState:
    """A state of an observer, compact.

    Args:
        of: the number of the observer.
        slot: the slot of a place.
        known: those that were met.

    Raises:
        ValueError: there are too many different ones.
    """
    if (found := _READY.get(id(watch))) is not None:
        return found
    events: Events = watch.events if isinstance(watch.events, str) else ()
    if not isinstance(watch.events, str):
        events = compact_trail(watch.events, slot)
    key = of, watch.state, watch.own, watch.rule, slot(watch.at), events
    if (found := known.get(key)) is None:
        if len(known) >= MOST:
            raise ValueError("too many states of observers")
        found = known[key] = CompactState(*key[1:])
    return found


def expanded_state(compact: CompactState, places: Slots) -> ObserverState:
    """The same expanded.

    Args:
        places: of all slots, and None behind them.
    """
    if compact.ready is not None:
        return compact.ready
    events: Any = compact.events
    if not isinstance(events, str):
        events = expanded_trail(events, places)
    return ObserverState(compact.state, compact.own, places[compact.at], compact.rule, events)


class ProductState:
    """How one claim stands, with the transitions that were taken from there, by what happened.

    Attributes:
        truths: the claim's registers that are no numbers, and whether its predicate holds.
        state: where its lifecycle stands.
        owes: whether something is owed in the scope of the claim itself.
        base: the observers in the claim's own scope.
        requests: those that it has in hand.
        ended: the slots of those that ended, in order.
        waiting: the slots of those that wait for a restore.
        retired: the scopes of requests to which no event belongs any more.
        kept: its findings that are kept, and by which observers.
        away: whether the predicate does not hold.
        tracked: whether hooks say what becomes of its blocks.
        quiet: whether nothing is owed, and each of its requests ended.
        after: the transitions that were taken from here, by the codes of events.
        found: the findings by the names of obligations, each with the slots of its place and of its
            trail, once they were asked for.
        decided: the verdict that they come to (a `ModeVerdict`) and why, once that was.
        observed: how its observers stand but for places (`stream.retired_summary`), once that was
            asked for.
    """

    __slots__ = (
        *("truths", "state", "owes", "base", "requests", "ended", "waiting", "retired", "kept"),
        *("away", "tracked", "quiet", "after", "found", "decided"),
        "observed",
    )

    def __init__(
        self,
        truths: Registers,
        state: ClaimState,
        owes: bool,
        base: tuple[CompactState, ...],
        requests: tuple[CompactRequest, ...],
        ended: tuple[int, ...],
        waiting: tuple[int, ...],
        retired: tuple[tuple[CompactState, ...], ...],
        kept: tuple[CompactFinding, ...],
        *,
        tracked: bool,
        quiet: bool,
    ) -> None:
        self.truths, self.state, self.owes, self.base = truths, state, owes, base
        self.requests, self.ended, self.waiting = requests, ended, waiting
        self.retired, self.kept = retired, kept
        self.away, self.tracked, self.quiet = not truths[-1], tracked, quiet
        self.after: dict[int, Transition] = {}
        self.found: tuple[tuple[str, Finding, int, CompactTrail], ...] | None = None
        self.decided: tuple[Any, str] | None = None
        self.observed: tuple[Hashable, ...] | None = None


class FactsMoved:
    """How a claim's registers change: those that are no numbers, what is added to counters, and
    which register takes the number that the event states, if any does. Claims whose registers are
    equal have them in common.
    """

    __slots__ = ("_counted", "_known", "_takes", "_truths")

    def __init__(self, truths: Registers, counted: tuple[int, int], takes: int) -> None:
        self._truths, self._counted, self._takes = truths, counted, takes
        self._known: dict[tuple[Registers, int, int], Registers] = {}

    def of(self, was: Registers, lead: int, stated: int) -> Registers:
        """The registers after an event.

        Args:
            lead: what the claim holds then.
            stated: the number that the event states.
        """
        key = was, lead, stated
        if (found := self._known.get(key)) is None:
            found = self._after(was, lead, stated)
            if len(self._known) < _MOST_FACTS:
                self._known[key] = found
        return found

    def _after(self, was: Registers, lead: int, stated: int) -> Registers:
        (losses, failures), takes = self._counted, self._takes
        registered, committed, responsible, there, host, copied, *rest = self._truths
        return (
            registered,
            committed,
            responsible,
            stated if takes == _FOOTPRINT else was[_FOOTPRINT],
            lead,
            there,
            host,
            copied,
            stated if takes == _ENDED_BY else was[_ENDED_BY],
            was[_LOSSES] + losses,
            was[_FAILURES] + failures,
            stated if takes == _DECLARED else was[_DECLARED],
            *rest,
        )


class Transition:
    """Where an event leads from a product, and what becomes of the slots.

    Attributes:
        places: the places of events after it, of those before and that of the event.
        ids: the same of the ids of requests, and of what they need; None where they stay.
        gone: the slots of requests that are out of hand.
        facts: how registers change; None where they stay.
        moves: whether state or what is owed changes.
    """

    __slots__ = ("facts", "gone", "ids", "moves", "places", "to")

    def __init__(
        self,
        to: ProductState,
        places: Callable[[Slots], Slots] | None,
        ids: Callable[[Slots], Slots] | None,
        gone: tuple[int, ...],
        facts: FactsMoved | None,
        moves: bool,
    ) -> None:
        self.to, self.places, self.ids = to, places, ids
        self.gone, self.facts, self.moves = gone, facts, moves


def truths_of(facts: Registers) -> Registers:
    """A claim's registers that are no numbers."""
    return tuple(facts[place] for place in _TRUTHS)


def moved_facts(
    was: Registers, now: Registers, kind: Kind, lead: int, stated: int
) -> FactsMoved | None:
    """How registers changed; None where they did not, and never do at an event of this kind.

    Args:
        lead: what the claim holds now.
        stated: the number that the event states.

    Raises:
        ValueError: a number is not what it would be by any `FactsMoved`.
    """
    takes = _TAKES.get(kind, NEW)
    if was == now and kind not in _CHANGING:
        return None
    losses, failures = now[_LOSSES] - was[_LOSSES], now[_FAILURES] - was[_FAILURES]
    moved = FactsMoved(truths_of(now), (losses, failures), takes)
    if moved.of(was, lead, stated) != now:
        raise ValueError("a register holds another number")
    return moved


def picked(
    before: Sequence[Hashable], new: Hashable, after: Sequence[Hashable]
) -> Callable[[Slots], Slots] | None:
    """A function that makes the slots after an event of those before it and the event's own.

    Raises:
        ValueError: they are not made of these, or it is not clear of which.
    """
    every = (*before, new)
    if len(set(every)) != len(every):
        raise ValueError("two slots are alike")
    picks = tuple(every.index(each) for each in after)
    if picks == tuple(range(len(before))):
        return None
    if not picks:
        return _none
    return itemgetter(*picks) if len(picks) > 1 else _one(picks[0])


def _none(_: Slots) -> Slots:
    return ()


def _one(place: int) -> Callable[[Slots], Slots]:
    def pick(slots: Slots) -> Slots:
        return (slots[place],)

    return pick
