"""Records the state of one claim: identity and terms, ledgers, and the blocks that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from monitor.evaluate.compaction import Compactable
from monitor.evaluate.compile import CLAIM_REGISTERS, REQUEST_REGISTERS
from monitor.evaluate.constants import constants_of, fixed_by
from monitor.evaluate.observer_state import ObserverState
from monitor.evaluate.unusual import USUAL
from spec.claims.claim import Mode
from spec.claims.states import TERMINAL, ClaimState
from spec.contract.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from monitor.evaluate.compile import Compiled
    from monitor.evaluate.in_hand import InHand
    from monitor.evaluate.observer_state import Finding, Registers
    from monitor.evaluate.restless import Restless
    from monitor.evaluate.unusual import Unusual
    from monitor.input.records import At, Trail
    from spec.claims.predicates import MaterializationPredicate


__all__ = ["UNSTATED", "ClaimRecord"]

UNSTATED: Final = 2**63
"""The threshold of a predicate that is not stated: it never holds."""


_PLACE_OF: Final = {name: place for place, name in enumerate(CLAIM_REGISTERS)}
_REGISTERED: Final = CLAIM_REGISTERS.index("registered")
_RESPONSIBLE: Final = CLAIM_REGISTERS.index("responsible")
_COMMITTED: Final = CLAIM_REGISTERS.index("committed")
_DECLARED: Final = CLAIM_REGISTERS.index("declared")
_FOOTPRINT: Final = CLAIM_REGISTERS.index("footprint")
_LEAD: Final = CLAIM_REGISTERS.index("lead")
_THERE: Final = CLAIM_REGISTERS.index("there")


class ClaimRecord(Compactable):
    """The life of one claim in one stream; what it has while it is not compact, is of `opened`."""

    __slots__ = ()

    @property
    def base(self) -> list[ObserverState]:
        """The observers in the scope of the claim itself."""
        return self.opened.base

    @base.setter
    def base(self, new: list[ObserverState]) -> None:
        self.opened.base = new

    @property
    def requests(self) -> dict[str, InHand]:
        """The requests in hand."""
        return self.opened.requests

    @requests.setter
    def requests(self, new: dict[str, InHand]) -> None:
        self.opened.requests = new

    @property
    def retired(self) -> dict[Hashable, InHand]:
        """The scopes of requests to which no event belongs any more."""
        return self.opened.retired

    @retired.setter
    def retired(self, new: dict[Hashable, InHand]) -> None:
        self.opened.retired = new

    @property
    def kept(self) -> dict[int, Finding]:
        """The findings that are kept."""
        return self.opened.kept

    @kept.setter
    def kept(self, new: dict[int, Finding]) -> None:
        self.opened.kept = new

    @property
    def waiting(self) -> frozenset[str]:
        """The requests for which a restore of the claim is required."""
        return self.opened.waiting

    @waiting.setter
    def waiting(self, new: frozenset[str]) -> None:
        self.opened.waiting = new

    def take_observers(self, compiled: Compiled) -> None:
        """These observers judge the claim, as if there had been no event."""
        self.expanded()
        self.compiled = compiled
        self.steps = compiled.steps
        self.base = list(compiled.first)

    @property
    def entry(self) -> Trail:
        """The event that registered it."""
        return () if self.entry_kind is None else ((self.entry_kind, self.entry_at),)

    @property
    def goes_by(self) -> Mode:
        """The mode that it asks for, or the judged one, where it asks for none that there is."""
        asked = self.declared_mode
        return Mode(asked) if asked in MODES else self.compiled.mode

    def take_constants(self) -> None:
        """The claim has the constants of the mode that it goes by."""
        own, fixed = self.constants, fixed_by(self.goes_by)
        if (own.lapses, own.tiered, own.watched, own.ranked) != fixed:
            self.expanded()
            self.constants = constants_of(own.threshold, *fixed)
        if not self.constants.tiered:
            self.held.fresh = None

    @property
    def is_plain(self) -> bool:
        """Whether the claim was registered with both registries, all that is known of it was seen,
        and nothing of it is in doubt.
        """
        return (
            self.registered
            and bool(self.facts[_REGISTERED])
            and (self.unusual is USUAL or _is_trusted(self.unusual))
        )

    @property
    def responsible(self) -> bool:
        """Whether the runtime is responsible for the claim."""
        return bool(self.facts[_RESPONSIBLE])

    @property
    def known(self) -> bool:
        """Whether a registry holds or held the claim, an auditor's or the runtime's."""
        return bool(self.facts[_REGISTERED])

    @property
    def committed(self) -> bool:
        """Whether the runtime's registry committed to the claim."""
        return bool(self.facts[_COMMITTED])

    @property
    def may_be_judged(self) -> bool:
        """Whether it may go by the mode that judges: it asked for it, or for none that there is, or
        was accepted in it.
        """
        mode = self.compiled.mode
        return mode in (self.declared_mode, self.other_mode) or self.declared_mode not in MODES

    @property
    def live(self) -> bool:
        """Whether reports about it are owed in a mode that watches what is registered
        (`spec.contract.ledgers.live`).
        """
        return self.responsible or (self.known and not self.committed)

    @property
    def watched(self) -> bool:
        """Whether reports about it are owed, and its entry has not ended."""
        return self.live and not self.unusual.unwatched

    @property
    def ended(self) -> bool:
        """Whether its responsibility ended and that was reported, or it was turned away.

        In modes without acceptance news is owed for ever.
        """
        return self.state in TERMINAL and not (self.responsible or self.constants.watched)

    @property
    def alive(self) -> bool:
        """Whether its end was not reported, or the runtime is responsible for it all the same."""
        return self.state not in TERMINAL or self.responsible

    @property
    def gone(self) -> bool:
        """Whether it ended, with or without a report; a watched one, once it holds nothing."""
        if self.responsible:
            return False
        if not self.constants.watched:
            return self.ended or self.committed or self.unusual.lost
        off = self.unusual.unwatched or self.unusual.lost or self.state is ClaimState.REFUSED
        return off and not self.held

    @property
    def declared(self) -> int:
        """Blocks that the claim adds to its pool's ledger: what it declared, while responsible."""
        return int(self.facts[_DECLARED]) if self.responsible else 0

    @property
    def tracked(self) -> bool:
        """Whether hooks say what becomes of its blocks: it is responsible, or watched."""
        watched = self.constants.watched and self.registered and not self.unusual.unwatched
        return self.responsible or (watched and self.state is not ClaimState.REFUSED)

    @property
    def is_early(self) -> bool:
        """Whether it is not tracked yet: what it holds may be gone without a report."""
        return not (self.tracked or self.committed or self.unwatched) and self.alive

    @property
    def counts(self) -> bool:
        """Whether what is stated of it is stated of its object: it is tracked, or is not yet."""
        return self.tracked or self.is_early

    @property
    def content(self) -> Hashable:
        """What its positions are the same of as another claim's: its object, or what it states."""
        return ("claim", self.claim_id) if self.keys else self.object

    @property
    def lead(self) -> int:
        """Blocks held one after another from the predicate's start on."""
        return self.held.lead

    @property
    def extent(self) -> int:
        """How many positions are its own: an object may be longer than a claim on it."""
        return max(self.predicate.end if self.predicate else 0, self.size, len(self.keys))

    def loses(self, block: int, positions: Iterable[int]) -> list[int]:
        """A physical block is gone that held these positions; those of which it was the last."""
        places = list(positions)
        if len(places) == 1:
            return places if self.held.take(places[0], block) else []
        self.held.drop((position, block) for position in places)
        return [position for position in places if not self.held.holds(position)]

    def note_computed(self, *, computed: bool, brought: Iterable[tuple[int, int]] = ()) -> None:
        """Blocks came or went, and that is not in the ledger yet; whether new ones were computed.

        What was computed while no request waited for a restore took the place of none.

        Args:
            brought: the runs of positions that a load brought.
        """
        fresh, threshold = self.held.take_fresh(), self.constants.threshold
        away = self.facts[_LEAD] < threshold
        if computed and away and self.waiting:
            self.computed |= fresh
        if not self.unusual.computed:
            return
        if not away and self.lead < threshold:
            self.computed = frozenset()
        else:
            self.computed = frozenset(filter(self.held.holds, self.computed))
            for begin, end in brought if self.computed else ():
                self.computed -= {at for at in self.computed if begin <= at < end}

    @property
    def restored(self) -> bool:
        """Whether nothing that the predicate needs was computed since it was away."""
        if not self.unusual.computed:
            return True
        start = self.held.start
        return not any(start <= at < start + self.constants.threshold for at in self.computed)

    def owns(self, position: int) -> bool:
        """Whether a position is the claim's own."""
        return bool(position < self.facts[_FOOTPRINT] or position < self.own_end)

    @property
    def own_end(self) -> int:
        """Where the claim's own positions end: an object may be longer than was committed."""
        size, predicate = self.facts[_FOOTPRINT], self.predicate
        return UNSTATED if not size or predicate is None else max(size, predicate.end)

    @property
    def holds_own(self) -> bool:
        """Whether it holds a position of its own."""
        return any(self.owns(begin) for begin, _ in self.held.all_runs())

    def fact(self, name: str) -> int:
        """A register of the claim's ledgers."""
        return int(self.facts[_PLACE_OF[name]])

    def know(self, **facts: int) -> None:
        """Set registers of the claim's ledgers."""
        self.expanded()
        self.stir()
        known = dict(zip(CLAIM_REGISTERS, self.facts, strict=True))
        self.facts = (*(known | facts).values(),)

    def measure(self, lead: int, *, there: bool, more: bool) -> None:
        """What the claim holds turns out to be otherwise than was known, and was so before.

        Args:
            more: it holds blocks that it was not known to hold.
        """
        changed = lead != self.facts[_LEAD]
        if changed or self.facts[_THERE] is not there:
            self.know(lead=lead, there=there)
        else:
            self.stir()
        if changed or more:
            self._find_away()

    def _find_away(self) -> None:
        if self.is_fresh or not self.requests:
            return
        away = self.fact("lead") < self.constants.threshold
        for request_id, request in self.requests.items():
            known = dict(zip(REQUEST_REGISTERS, request.facts, strict=True))
            facts = (*(known | {"away": away and known["seen"]}).values(),)
            self.change(request_id, request, facts)

    def fix_predicate(self, predicate: MaterializationPredicate) -> None:
        """The predicate is fixed once; blocks seen before it are measured anew."""
        if self.predicate is None:
            self.expanded()
            self.stir()
            self.predicate = predicate
            own = self.constants
            self.constants = constants_of(
                predicate.threshold, own.lapses, own.tiered, own.watched, own.ranked
            )
            self.held.start = predicate.start
            if self.held:
                self.facts = (*self.facts[:_LEAD], self.held.lead, *self.facts[_LEAD + 1 :])
            self._find_away()

    def rest(self, among: Restless[Self]) -> None:
        """Leave this collection until anything changes of the claim."""
        if among.claims.pop(self.claim_id, None) is not None:
            self.expanded()
            among.lead = max(among.lead, self.lead)
            own = self.own_unusual
            own.quiet = (*own.quiet, among)

    def rest_but_places(self, among: Restless[Self], at: At) -> None:
        """The same, where the events that it is spared move the places of findings.

        Args:
            at: where the last event stands that it took.
        """
        self.rest(among)
        own = self.own_unusual
        own.spared, own.took_last = among, at

    def catch_up(self) -> None:
        """Findings that the last of the events moved that the claim was spared are there now."""
        unusual = self.unusual
        last = None if unusual.spared is None else unusual.spared.last
        if last is None or last == unusual.took_last:
            return
        for place, watch in enumerate(self.base):
            if watch.at == unusual.took_last:
                events = watch.events
                if not isinstance(events, str):
                    events = tuple((kind, last) for kind, _ in events)
                moved = ObserverState(watch.state, watch.own, last, watch.rule, events)
                self.base[place] = moved
        unusual.took_last = last

    def stir(self) -> None:
        """Something changes of the claim: it is back wherever it was at rest."""
        unusual = self.unusual
        if unusual is not USUAL and unusual.quiet:
            self.catch_up()
            unusual.spared = None
            for among in unusual.quiet:
                among.claims[self.claim_id] = self
            unusual.quiet = ()

    def change(self, request_id: str, request: InHand, facts: Registers) -> None:
        """A request has these registers from now on, and its observers have perhaps moved."""
        request.facts = facts
        self._loosen(request_id, request)

    def _loosen(self, request_id: str, request: InHand) -> None:
        """It may stand alike with others no more."""
        if request.among is not None:
            del request.among[request_id]
            request.among = None
        opened = self.opened
        opened.loose = opened.loose or {}
        opened.loose[request_id] = request


def _is_trusted(of: Unusual) -> bool:
    """Whether nothing of a claim is in doubt, and all that is known of it was seen."""
    return (
        of.taint is None
        and of.steps is None
        and of.past is None
        and not (of.guest or of.lost or of.missed or of.unwatched)
    )
