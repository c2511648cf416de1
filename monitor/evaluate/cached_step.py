"""Moves a compact claim by an event that was delivered to it, with a cached transition.

`monitor.evaluate.reading` says what of the event is read. An event that meets a product state for
the first time with that much is taken by the observers, and the difference is cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.compaction import compact, expand
from monitor.evaluate.product import Transition, moved_facts, picked
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from monitor.evaluate.reading import MOST_READ
from spec.events.alphabet import BLOCKS_GONE, Kind

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.event_view import EventView
    from monitor.input.records import At

__all__ = [
    "FIRST",
    "NUMBERS",
    "SLOT",
    "Before",
    "code_of",
    "drop_requests",
    "measure",
    "step",
    "take",
]

NUMBERS: Final = {kind: number << 6 for number, kind in enumerate(Kind)}
"""The part of a code that says the kind, above six bits for questions."""

SLOT: Final = 6 + len(Kind).bit_length()
"""The bits of a code below the slot of a request, which has no upper limit."""

FIRST: Final = 3
"""The number of the first slot of a request, in a code. Lower ones are of a request that has none:
1 where the claim was there before it, 2 where it came after it, 0 of no request.
"""

_MOST_TRANSITIONS: Final = 1_000
"""Transitions that are cached from one product state."""

_DIRECT: Final = 1
_MEASURED: Final = 2
_SOME: Final = 4
_HOLDS: Final = 8
_DROPPED: Final = 16
"""Questions that no term asks: whether the event names the claim or was found to be about it; that
no event came, but what is held is known better, and what comes of it, or all requests are out of
hand.
"""

_STEPPED: Final = BLOCKS_GONE | {Kind.BLOCK_CACHED, Kind.LOAD_FINISHED, Kind.CLAIM_COMMITTED}
_NO_NUMBERS: Final = (0, 0, 0, 0)
_LEAD: Final = CLAIM_REGISTERS.index("lead")
_THERE: Final = CLAIM_REGISTERS.index("there")


def code_of(kind: Kind, slot: int, read: int, more: int = 0) -> int:
    """The code of an event of which a `monitor.evaluate.reading.reader` says what is read; it is
    below zero, and so none of those that are put together by hand.

    Args:
        slot: of the request.
        read: what a reader says, or two one after another.
        more: answers to questions that no term asks.
    """
    return ~((slot << 2 * MOST_READ | read) << SLOT | NUMBERS[kind] | more)


class Before:
    """A compact claim as it is now, before an event: where it stands, its slots, its registers."""

    __slots__ = ("facts", "ids", "places", "product")

    def __init__(self, claim: ClaimRun) -> None:
        assert claim.product is not None
        self.product, self.facts = claim.product, claim.facts
        self.ids, self.places = claim.ids, claim.places

    def keep(
        self,
        claim: ClaimRun,
        code: int,
        kind: Kind,
        at: At | None,
        lead: int,
        *,
        name: str | None = None,
        stated: int = 0,
    ) -> None:
        """Cache how an event moved the claim since, if that can be said.

        Args:
            lead: what it holds now.
            name: of the request that the event belongs to.
            stated: the number that the event states of the claim.
        """
        before, after = self.product, compact(claim)
        if after is None or len(before.after) >= _MOST_TRANSITIONS:
            return
        try:
            moved = moved_facts(self.facts, claim.facts, kind, lead, stated)
            pick_places = picked(self.places, at, claim.places)
            new = name if name is not None and name not in self.ids else object()
            pick_ids = picked(self.ids, new, claim.ids)
        except ValueError:
            return
        gone = tuple(slot for slot, each in enumerate(self.ids) if each not in claim.ids)
        moves = (before.state, before.owes) != (after.state, after.owes)
        before.after[code] = Transition(after, pick_places, pick_ids, gone, moved, moves)


def step(claim: ClaimRun, view: EventView) -> None:
    """Take one event into every ledger and observer of a claim."""
    product, kind = claim.product, view.kind
    if product is None or kind not in _STEPPED or not _is_usual(claim, view):
        claim.step(view)
        return
    was = claim.facts
    read = claim.compiled.kinds[kind].reads_about(view, claim.constants, was, _NO_NUMBERS)
    code = code_of(kind, 0, read, _DIRECT if view.direct else 0)
    lead = was[_LEAD] if kind is Kind.CLAIM_COMMITTED else view.lead
    if (transition := product.after.get(code)) is not None:
        take(claim, transition, view.at, lead, view.footprint)
        return
    before = Before(claim)
    expand(claim)
    claim.step(view)
    before.keep(claim, code, kind, view.at, lead, stated=view.footprint)


def _is_usual(claim: ClaimRun, view: EventView) -> bool:
    """Whether an event is about a compact claim, and all that is read of it is known. A claim stays
    compact no longer that lost blocks which no report named, or whose entry ended.
    """
    if not (view.mine and view.named) or view.request_id is not None or view.unsized:
        return False
    return view.low is None and not (claim.unusual.unsaid or claim.unusual.unwatched)


def measure(claim: ClaimRun, lead: int, *, there: bool, more: bool) -> None:
    """What a claim holds turns out to be otherwise than was known, and was so before.

    Args:
        more: it holds blocks that it was not known to hold.
    """
    product, was = claim.product, claim.facts
    if product is None or claim.ids or (lead == was[_LEAD] and was[_THERE] is there):
        claim.measure(lead, there=there, more=more)
        return
    held = (_SOME if there else 0) | (_HOLDS if lead >= claim.constants.threshold else 0)
    code = code_of(Kind.BLOCK_CACHED, 0, 0, _MEASURED | held)
    if (transition := product.after.get(code)) is not None:
        take(claim, transition, None, lead)
        return
    before = Before(claim)
    expand(claim)
    claim.measure(lead, there=there, more=more)
    before.keep(claim, code, Kind.BLOCK_CACHED, None, lead)


def drop_requests(claim: ClaimRun) -> list[str]:
    """All requests of a claim are out of hand; their ids."""
    product, names = claim.product, [*claim.ids]
    if product is None:
        return claim.drop_requests()
    if not names:
        return names
    code = code_of(Kind.REQUEST_FINISHED, 0, 0, _DROPPED)
    if (transition := product.after.get(code)) is not None:
        take(claim, transition, None)
        claim.ids, claim.needs = (), ()
        return names
    before = Before(claim)
    expand(claim)
    names = claim.drop_requests()
    before.keep(claim, code, Kind.REQUEST_FINISHED, None, before.facts[_LEAD])
    return names


def take(
    claim: ClaimRun,
    transition: Transition,
    at: At | None,
    lead: int | None = None,
    stated: int = 0,
) -> None:
    """A claim takes a transition; which requests it has in hand is up to the caller.

    Args:
        lead: what it holds now, where the event changes that.
        stated: the number that the event states of the claim.
    """
    claim.product = to = transition.to
    if (places := transition.places) is not None:
        claim.places = places(claim.places + (at,))  # noqa: RUF005
    if (facts := transition.facts) is not None:
        claim.facts = facts.of(claim.facts, claim.facts[_LEAD] if lead is None else lead, stated)
    if transition.moves:
        claim.state, claim.owes = to.state, to.owes
