"""Records the state of one claim: identity and terms, ledgers, and the blocks that it holds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from monitor.evaluate.compaction import DERIVED, Compactable
from monitor.evaluate.compile import CLAIM_REGISTERS, REQUEST_REGISTERS
from monitor.evaluate.event_view import fixed_by
from monitor.evaluate.observer_state import NOTHING, Finding, InHand, ObserverState
from monitor.evaluate.positions import Positions
from spec.claims.claim import Mode
from spec.claims.states import TERMINAL, ClaimState
from spec.contract.modes import MODES
from spec.events.alphabet import FACTS, Kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from monitor.evaluate.compile import Compiled
    from monitor.evaluate.event_view import Constants
    from monitor.evaluate.observer_state import Registers
    from monitor.evaluate.partial_observation import Step
    from monitor.evaluate.product import ProductState
    from monitor.evaluate.restless import Restless
    from monitor.input.records import At, Trail
    from spec.claims.predicates import MaterializationPredicate


__all__ = ["NOTHING", "UNSTATED", "ClaimRecord"]

UNSTATED = 2**63
"""The threshold of a predicate that is not stated: it never holds."""


def _nothing() -> Any:
    return NOTHING


_PLACE_OF = {name: place for place, name in enumerate(CLAIM_REGISTERS)}
_REGISTERED = CLAIM_REGISTERS.index("registered")
_RESPONSIBLE = CLAIM_REGISTERS.index("responsible")
_COMMITTED = CLAIM_REGISTERS.index("committed")
_DECLARED = CLAIM_REGISTERS.index("declared")
_FOOTPRINT = CLAIM_REGISTERS.index("footprint")
_LEAD, _THERE = CLAIM_REGISTERS.index("lead"), CLAIM_REGISTERS.index("there")


@dataclass(slots=True)
class ClaimRecord(Compactable):
    """The life of one claim in one stream.

    `taint` is the first reason why what is seen of the claim can no longer be trusted; from then on
    nothing is concluded beyond what was violated before, and only the ledger is kept, for the sake
    of the pool. `owes` says that something is owed in the scope of the claim itself; `entry` is the
    event that registered it. `past` is what is remembered of a claim that was forgotten, `lost`
    says that nothing is; a `guest` is judged by another mode. Numbers of the stream's events:
    `registered_at`, `took` and `left` say when the claim was registered, and when responsibility
    for it last began and ended, `last_event` when an event was last delivered to it. `observed` are
    the facts of which the hooks state each one. `object` tells which object it is on, `keys` the
    contents of its positions where they are stated. It `strayed` once an event took blocks from
    behind its end, and none of its own; it was `missed` if anything may have happened since it
    ended that was not observed. Its end was `early` if the runtime ended its entry before its
    duration was over. It `joined` the others on its object when so many fields of its identity were
    stated. It is `disputed` if two priorities of it were stated. `computed` are the positions that
    were computed since it was last away, `waiting` the requests for which a restore of it is
    required, `owed` by request what its routes and their reuse came to and are not reported yet,
    `unsaid` the blocks that it lost and no report named, None for a block whose id is unknown.
    `retired` are the scopes of requests to which no event belongs any more, one for all that stand
    alike; what is reported of the claim moves them all the same.

    Of a claim that is compact (`monitor.evaluate.compaction`), `product` is where it stands, `ids`
    are the requests that it has in hand, `needs` what each needs of what is usable, with the cost
    and the worker of its route, and `places` those of the events that its findings name.
    `expansions` counts how often others needed it expanded; it does `wait` for so many events
    before it is compact again.
    """

    stream: str
    claim_id: str
    compiled: Compiled
    constants: Constants
    predicate: MaterializationPredicate | None = None
    binding: dict[str, str | bytes] = field(default_factory=dict)
    declared_mode: str | None = None
    other_mode: str | None = None
    owner_scope: str | None = None
    duration: str | None = None
    priority: int | None = None
    joined: int = 0
    disputed: bool = False
    registered: bool = False
    registered_at: int = 0
    entry: Trail = ()
    object: Hashable = None
    keys: tuple[str, ...] = ()
    size: int = 0
    owner_claimed: str | None = None
    contradicted: tuple[At | None, str] | None = None
    observed: frozenset[Kind] = FACTS
    accepted: bool = False
    elapsed: bool = False
    unwatched: bool = False
    strayed: bool = False
    early: bool = False
    computed: frozenset[int] = frozenset()
    waiting: frozenset[str] = frozenset()
    unsaid: frozenset[int | None] = frozenset()
    owed: dict[str, dict[Kind, deque[Hashable]]] = field(default_factory=_nothing)
    missed: bool = False
    state: ClaimState = ClaimState.SUBMITTED
    held: Positions = field(default_factory=Positions)
    taint: tuple[At | None, str] | None = None
    owes: bool = False
    took: int = 0
    last_event: int = 0
    left: int = 0
    past: Self | None = None
    lost: bool = False
    guest: bool = False
    facts: Registers = ()
    base: list[ObserverState] = field(default_factory=list)
    requests: dict[str, InHand] = field(default_factory=_nothing)
    _ended: tuple[str, ...] = ()
    _loose: dict[str, InHand] = field(default_factory=_nothing)  # requests that changed
    _alike: dict[Hashable, dict[str, InHand]] = field(default_factory=_nothing)  # the others
    retired: dict[Hashable, InHand] = field(default_factory=_nothing)
    kept: dict[int, Finding] = field(default_factory=_nothing)
    unknown: frozenset[str] = frozenset()
    doubts: dict[int, tuple[At | None, str]] = field(default_factory=_nothing)
    steps: tuple[Step, ...] = ()
    _quiet: tuple[Restless[Any], ...] = ()
    _spared: Restless[Any] | None = None  # events since it took this one
    _took_last: At | None = None
    _empty: Registers = ()
    _all: Sequence[tuple[int, int]] = ()
    _scoped: Sequence[int] = ()
    _scoped_all: Sequence[tuple[int, int]] = ()
    _pending: Sequence[frozenset[int]] = ()
    expansions: int = field(default=0, init=False, metadata=DERIVED)
    wait: int = field(default=0, init=False, metadata=DERIVED)
    product: ProductState | None = field(default=None, init=False, metadata=DERIVED)
    ids: tuple[str, ...] = field(default=(), init=False, metadata=DERIVED)
    needs: tuple[tuple[int, int, int, int], ...] = field(default=(), init=False, metadata=DERIVED)
    places: tuple[At, ...] = field(default=(), init=False, metadata=DERIVED)

    def __post_init__(self) -> None:
        self.facts = self.compiled.claim_initial
        self.take_observers(self.compiled)
        self.object = ("claim", self.claim_id)
        self.held.fresh = set() if self.constants.tiered else None

    def take_observers(self, compiled: Compiled) -> None:
        """These observers judge the claim, as if there had been no event."""
        self.expanded()
        self.compiled, self.steps = compiled, compiled.steps
        self._empty = compiled.request_initial
        self._all, self._scoped_all = compiled.places, compiled.scoped_places
        self._scoped, self._pending = compiled.scoped, compiled.pending
        self.base = list(compiled.first)

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
            own.lapses, own.tiered, own.watched, own.ranked = fixed
        if not self.constants.tiered:
            self.held.fresh = None

    @property
    def is_plain(self) -> bool:
        """Whether the claim was registered with both registries, all that is known of it was seen,
        and nothing of it is in doubt.
        """
        return (
            self.taint is None
            and self.steps is self.compiled.steps
            and self.registered
            and bool(self.facts[_REGISTERED])
            and self.past is None
            and not (self.guest or self.lost or self.missed or self.unwatched)
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
        return self.live and not self.unwatched

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
            return self.ended or self.committed or self.lost
        off = self.unwatched or self.lost or self.state is ClaimState.REFUSED
        return off and not self.held

    @property
    def declared(self) -> int:
        """Blocks that the claim adds to its pool's ledger: what it declared, while responsible."""
        return int(self.facts[_DECLARED]) if self.responsible else 0

    @property
    def tracked(self) -> bool:
        """Whether hooks say what becomes of its blocks: it is responsible, or watched."""
        watched = self.constants.watched and self.registered and not self.unwatched
        return self.responsible or (watched and self.state is not ClaimState.REFUSED)

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
        if not self.computed:
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
        if not self.computed:
            return True
        start = self.held.start
        return not any(start <= at < start + self.constants.threshold for at in self.computed)

    def owns(self, position: int) -> bool:
        """Whether a position is the claim's own."""
        return position < self.own_end

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

    def measure(self, lead: int, *, there: bool) -> None:
        """What the claim holds turns out to be otherwise than was known, and was so before."""
        changed = lead != self.facts[_LEAD]
        if not changed and self.facts[_THERE] is there:
            self.stir()
            return
        self.know(lead=lead, there=there)
        if changed:
            self._find_away()

    def _find_away(self) -> None:
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
            self.constants.threshold = predicate.threshold
            self.held.start = predicate.start
            self.facts = (*self.facts[:_LEAD], self.held.lead, *self.facts[_LEAD + 1 :])
            self._find_away()

    def rest(self, among: Restless[Self]) -> None:
        """Leave this collection until anything changes of the claim."""
        if among.claims.pop(self.claim_id, None) is not None:
            self.expanded()
            among.lead = max(among.lead, self.lead)
            self._quiet = (*self._quiet, among)

    def rest_but_places(self, among: Restless[Self], at: At) -> None:
        """The same, where the events that it is spared move the places of findings.

        Args:
            at: where the last event stands that it took.
        """
        self.rest(among)
        self._spared, self._took_last = among, at

    def catch_up(self) -> None:
        """Findings that the last of the events moved that the claim was spared are there now."""
        last = None if self._spared is None else self._spared.last
        if last is None or last == self._took_last:
            return
        for place, watch in enumerate(self.base):
            if watch.at == self._took_last:
                events = watch.events
                if not isinstance(events, str):
                    events = tuple((kind, last) for kind, _ in events)
                moved = ObserverState(watch.state, watch.own, last, watch.rule, events)
                self.base[place] = moved
        self._took_last = last

    def stir(self) -> None:
        """Something changes of the claim: it is back wherever it was at rest."""
        if self._quiet:
            self.catch_up()
            self._spared = None
            for among in self._quiet:
                among.claims[self.claim_id] = self
            self._quiet = ()

    def change(self, request_id: str, request: InHand, facts: Registers) -> None:
        """A request has these registers from now on, and its observers have perhaps moved."""
        request.facts = facts
        self._loosen(request_id, request)

    def _loosen(self, request_id: str, request: InHand) -> None:
        """It may stand alike with others no more."""
        if request.among is not None:
            del request.among[request_id]
            request.among = None
        self._loose = self._loose or {}
        self._loose[request_id] = request
