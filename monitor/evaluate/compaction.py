"""Makes a claim compact, a product state with slots, and expands it again.

A claim that most events move by a look-up (`monitor.evaluate.product`) needs neither its observers
nor its requests in hand as objects. It is compact then: they are absent, and a read of one of
them brings all of them back. Code that changes them calls `expanded` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from monitor.evaluate.claim_fields import ClaimFields, Expansion
from monitor.evaluate.in_hand import InHand
from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.observer_state import Finding, ObserverState
from monitor.evaluate.product import (
    MOST,
    NEW,
    ProductState,
    compact_state,
    compact_trail,
    expanded_state,
    expanded_trail,
    truths_of,
)
from monitor.evaluate.python_terms import CLAIM_REGISTERS, REQUEST_REGISTERS
from spec.events.alphabet import FACTS
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from monitor.evaluate.observer_state import Registers
    from monitor.evaluate.product import (
        CompactFinding,
        CompactRequest,
        CompactState,
        CompactTrail,
        Slots,
    )
    from monitor.input.records import At

__all__ = [
    "Compactable",
    "at_places",
    "compact",
    "compact_as",
    "compact_soon",
    "expand",
    "findings_of",
]

Claim: TypeAlias = Any
"""A `ClaimRun`, of whose class a part is defined here."""

_LEAD: Final = CLAIM_REGISTERS.index("lead")
_NEEDS: Final = REQUEST_REGISTERS.index("needed")
assert REQUEST_REGISTERS[_NEEDS : _NEEDS + 2] == ("needed", "usable")
_ROUTE: Final = REQUEST_REGISTERS.index("cost")
assert REQUEST_REGISTERS[_ROUTE : _ROUTE + 2] == ("cost", "worker")
_ZEROS: Final = (0, 0)
_MOST_EXPANSIONS: Final = 4
_MOST_REQUESTS: Final = 32


class Compactable(ClaimFields):
    """A claim that may be compact."""

    __slots__ = ()

    def expanded(self) -> None:
        """Nothing of it is compact from now on."""
        if self.product is not None:
            _expand_for_now(self)

    @property
    def opened(self) -> Expansion:
        """What it has while it is not compact; it is not from now on."""
        if (found := self.expansion) is not None:
            return found
        if self.product is None:
            found = self.expansion = Expansion(list(self.compiled.first))
            return found
        _expand_for_now(self)
        assert self.expansion is not None
        return self.expansion

    @opened.setter
    def opened(self, expansion: Expansion) -> None:
        self.expansion = expansion

    @property
    def is_fresh(self) -> bool:
        """Whether no observer of it was asked for yet, nor any of its requests."""
        return self.expansion is None and self.product is None


def _expand_for_now(claim: Claim) -> None:
    """A claim is needed expanded; where that happens again and again, it stays so for a while."""
    expand(claim)
    claim.expansions += claim.expansions < _MOST_EXPANSIONS
    claim.wait = 2 << claim.expansions


def compact_soon(claim: Claim) -> bool:
    """Whether a claim is compact from now on; one that was needed expanded time and again may wait,
    and so does one that cannot be compact.
    """
    if claim.wait:
        claim.wait -= 1
        return False
    if compact(claim) is None:
        claim.wait = 2 << _MOST_EXPANSIONS
        return False
    return True


def compact(claim: Claim) -> ProductState | None:
    """Compact a claim; None, and it is as it was, where something of it has no place in a product:
    it is in doubt, was violated, or its registers hold what an event stated.
    """
    if not _may_be_compact(claim):
        return None
    slots: dict[At, int] = {}

    def slot(at: At | None) -> int:
        return NEW if at is None else slots.setdefault(at, len(slots))

    try:
        stands = _stands(claim, slot)
    except ValueError:
        return None
    constants, products = claim.constants, claim.compiled.products
    fixed = constants.lapses, constants.tiered, constants.watched, constants.ranked
    product: ProductState | None = products.get((fixed, *stands))
    if product is None:
        if len(products) >= MOST:
            return None
        tracked, quiet = claim.tracked, claim.is_quiet
        product = products[fixed, *stands] = ProductState(*stands, tracked=tracked, quiet=quiet)
    requests = claim.requests
    claim.ids, claim.places, claim.product = tuple(requests), tuple(slots), product
    claim.needs = tuple([_numbers(each.facts) for each in requests.values()])
    claim.expansion = None
    return product


_Slot: TypeAlias = "Callable[[At | None], int]"


def _stands(claim: Claim, slot: _Slot) -> tuple[Any, ...]:
    """What a product state consists of, as `ProductState` takes it.

    Raises:
        ValueError: something of the claim has no place in it.
    """
    known, requests = claim.compiled.compact_states, claim.requests
    base = tuple([compact_state(i, w, slot, known) for i, w in enumerate(claim.base)])
    in_hand = tuple([_compact_request(claim, each, slot) for each in requests.values()])
    places = {name: at for at, name in enumerate(requests)}
    if not claim.waiting <= requests.keys():
        raise ValueError("a request waits that is out of hand")
    kept: tuple[CompactFinding, ...] = tuple(
        [
            (i, f.verdict, slot(f.at), f.why, f.allowed, compact_trail(f.trail, slot))
            for i, f in claim.kept.items()
        ]
    )
    return (
        (*truths_of(claim.facts), claim.facts[_LEAD] >= claim.constants.threshold),
        claim.state,
        claim.owes,
        base,
        in_hand,
        tuple([places[name] for name in claim.opened.ended]),
        tuple([at for name, at in places.items() if name in claim.waiting]),
        tuple([_compact_states(claim, each, slot) for each in claim.retired.values()]),
        kept,
    )


def _compact_request(claim: Claim, request: InHand, slot: _Slot) -> CompactRequest:
    facts = request.facts
    for place in (_NEEDS, _ROUTE):
        if facts[place : place + 2] != _ZEROS:
            facts = (*facts[:place], None, None, *facts[place + 2 :])
    return facts, _compact_states(claim, request, slot), request.touched, request.ended


def _compact_states(claim: Claim, request: InHand, slot: _Slot) -> tuple[CompactState, ...]:
    known, scoped = claim.compiled.compact_states, claim.compiled.scoped
    each = zip(scoped, request.watches, strict=True)
    return tuple([compact_state(i, watch, slot, known) for i, watch in each])


def compact_as(claim: Claim, product: ProductState, places: tuple[At, ...]) -> None:
    """Compact a claim without requests in a known product state."""
    claim.ids, claim.needs, claim.places = (), (), places
    claim.product = product
    claim.expansion = None


def findings_of(claim: Claim) -> Iterator[tuple[str, Finding]]:
    """The findings about a compact claim, which differ from those of others in the same product
    state only by the places of events.
    """
    product, own = claim.product, claim.places
    if product.found is None:
        expand(claim)
        found = list(claim.findings())
        compact(claim)
        if len(set(own)) < len(own):  # events of one line: which slot is whose is not clear
            yield from found
            return
        product.found = tuple([(name, *_placed(each, own)) for name, each in found])
    places = (*own, None)
    for name, finding, at, trail in product.found:
        yield name, at_places(finding, at, trail, places)


def at_places(finding: Finding, at: int, trail: CompactTrail, places: Slots) -> Finding:
    """The finding of one claim, of that of another one in the same product state.

    Args:
        at: the slot of its place.
        trail: its events, with the slots of theirs.
        places: of all slots of the claim, and None behind them.
    """
    if at == NEW:
        return finding
    verdict, why, allowed = finding.verdict, finding.why, finding.allowed
    return Finding(verdict, places[at], why, allowed, expanded_trail(trail, places))


def _placed(finding: Finding, places: tuple[At, ...]) -> tuple[Finding, int, CompactTrail]:
    """A finding of one claim, and the slots of the places that it has."""
    slots: dict[At | None, int] = {each: slot for slot, each in enumerate(places)}
    slots[None] = NEW
    return finding, slots[finding.at], compact_trail(finding.trail, slots.__getitem__)


def _may_be_compact(claim: Claim) -> bool:
    """Whether nothing of a claim is in doubt or violated, and all that its observers read is
    in its product: each event moves it as it moves any other claim that stands alike.
    """
    if not claim.compiled.by_kind:  # who puts functions of his own in their place counts on them
        return False
    if not claim.is_plain or claim.predicate is None or claim.observed != FACTS:
        return False
    if claim.unsaid or claim.doubts or claim.unknown or claim.kept is None:
        return False
    if claim.unusual.quiet or claim.opened.alike or len(claim.requests) > _MOST_REQUESTS:
        return False
    violated = claim.compiled.violated
    if any(watch.state in bad for watch, bad in zip(claim.base, violated, strict=True)):
        return False
    scoped = [violated[index] for index in claim.compiled.scoped]
    followed = (*claim.requests.values(), *claim.retired.values())
    if any(w.state in bad for f in followed for w, bad in zip(f.watches, scoped, strict=True)):
        return False
    return all(found.verdict is not Verdict.VIOLATED for found in claim.kept.values())


def expand(claim: Claim) -> None:
    """What was compact of a claim is there again."""
    product = claim.product
    assert product is not None
    claim.product = None
    places: Slots = (*claim.places, None)  # the last is what has no place
    ids = claim.ids
    claim.expansion = opened = Expansion(_watches(product.base, places))
    requests = {
        name: InHand(_needing(facts, need), _watches(watches, places), touched, ended)
        for name, need, (facts, watches, touched, ended) in zip(
            ids, claim.needs, product.requests, strict=True
        )
    }
    opened.requests, opened.loose = requests or NOTHING, dict(requests) or NOTHING
    opened.ended = tuple([ids[at] for at in product.ended])
    opened.waiting = frozenset([ids[at] for at in product.waiting])
    none = claim.compiled.request_initial
    retired = [InHand(none, _watches(each, places)) for each in product.retired]
    opened.retired = {each.stands: each for each in retired} or NOTHING
    opened.kept = {
        index: Finding(verdict, places[at], why, allowed, expanded_trail(trail, places))
        for index, verdict, at, why, allowed, trail in product.kept
    } or NOTHING
    claim.ids, claim.needs, claim.places = (), (), ()


def _watches(compact: Iterable[CompactState], places: Slots) -> list[ObserverState]:
    return [each.ready or expanded_state(each, places) for each in compact]


def _numbers(facts: Registers) -> tuple[int, int, int, int]:
    """What a request needs of what is usable, and the cost and the worker of its route."""
    needed, usable = facts[_NEEDS : _NEEDS + 2]
    cost, worker = facts[_ROUTE : _ROUTE + 2]
    return needed, usable, cost, worker


def _needing(facts: Registers, numbers: tuple[int, int, int, int]) -> Registers:
    if facts[_NEEDS] is None:
        facts = (*facts[:_NEEDS], *numbers[:2], *facts[_NEEDS + 2 :])
    if facts[_ROUTE] is None:
        facts = (*facts[:_ROUTE], *numbers[2:], *facts[_ROUTE + 2 :])
    return facts
