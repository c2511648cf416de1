"""Defines the fields of an event as one claim sees it: a function for each, under its name.

Counts are in blocks. None is an unknown value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from spec.claims.states import Mode
from spec.contract.facts import facts_behind
from spec.contract.ledgers import was
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.events.fields import ROUTE_REPORTS, RUNTIME
from spec.stream.capacity import Blame, Capacity
from spec.stream.claim import Claim, duration_of
from spec.stream.facts import Effect
from spec.stream.generate import AT
from spec.stream.request import OF_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Set

    from spec.events.canonical import Event
    from spec.stream.breaks import Line
    from spec.stream.request import Request
    from spec.stream.run import Run

__all__ = ["FIELDS", "NO_CONCERN", "Concern", "Moment", "number", "route_value"]

_ON_COPIES: Final = facts_behind(was.host)
_OUTCOMES: Final = frozenset({"refusal", "demotion", "expiry", "harm"})
_CACHED: Final = Kind.BLOCK_CACHED


class Concern(NamedTuple):
    """How an event concerns a claim: whether it is about the claim's object, and names the claim.

    An auditor's report is about claims on the object that it does not name. A report that names a
    claim with another object is not about that claim's.
    """

    mine: bool = True
    named: bool = True


NO_CONCERN: Final = Concern(mine=False, named=False)


class Moment(Effect):
    """An event with the state of its run: blocks as they are after it, the rest as before.

    Attributes:
        line: the line that states it; `place` is the place of that line.
        number: of the event in its stream.
        request: the one that it names.
        observes: the kinds of facts of which the stream states each one.
        here: the requests that it belongs to; of those in `perhaps` that is unknown.
        concerns: the claims that it is about or names.
        moved: the claims of which an observer moved.
    """

    def __init__(
        self,
        event: Event,
        line: Line,
        number: int,
        run: Run,
        request: Request | None,
        observes: Set[Kind],
    ) -> None:
        super().__init__(event)
        self.line, self.place = line, line.at
        self.number, self.run, self.request, self.observes = number, run, request, observes
        self.here: Collection[str] = ()
        self.perhaps: Collection[str] = ()
        name = event.request_id
        if name is not None:
            self.here = (name,) if self.kind in OF_REQUESTS else ()
        elif self.kind is _CACHED and not event.found:
            hands = run.requests.in_hand.keys()
            self.here, self.perhaps = (hands, ()) if len(hands) == 1 else ((), hands)
        self.concerns: dict[Claim, Concern] = {}
        self.moved: dict[Claim, None] = {}

    @cached_property
    def accused(self) -> frozenset[str]:
        """The ids that the event names as a cause."""
        return frozenset(self.event.accused)

    @cached_property
    def blame(self) -> Blame:
        """What the responsible claims among them would free."""
        named = (self.run.claims.get(name) for name in self.accused)
        return self.run.capacity.blame(
            frozenset(c for c in named if c is not None and c.responsible)
        )

    @cached_property
    def idle(self) -> frozenset[str]:
        """Those that free nothing, or are no responsible claims here."""
        shares = {claim.claim_id: share for claim, share in self.blame.shares.items()}
        return frozenset(name for name in self.accused if not shares.get(name))

    @cached_property
    def since(self) -> Capacity:
        """The blocks of the claims that were responsible from the request's arrival until now.

        Where the request fits beside all claims it fits beside these, and those decide as well.
        """
        if not self.presses:
            return self.run.capacity
        found = Capacity(self.run.pool)
        if self.request is not None and not self.request.restated:
            for claim in self.run.capacity:
                if claim.took <= self.request.since:
                    found.add(claim)
        return found

    @property
    def presses(self) -> bool:
        """Whether the request, which fits an empty pool, may not fit beside all claims."""
        arrives = self.event.kind is Kind.REQUEST_ARRIVED
        request = self.event if arrives else self.request
        if request is None:
            return False
        return self.run.capacity.conflicts(request.needed, request.usable) is not False

    @property
    def unknown(self) -> bool:
        """Whether it is unknown how many blocks some claim takes."""
        return self.run.capacity.total is None

    @property
    def failed(self) -> Set[str]:
        """The claims of which a load failed for the request."""
        return frozenset() if self.request is None else self.request.failed


_Field: TypeAlias = Callable[[Moment, Claim], Any]

# The vocabulary says what each field means; a docstring says what that leaves open.


def _covers(at: Moment, claim: Claim) -> bool:
    asked = at.event.asked
    return asked is not None and claim.start + claim.threshold <= asked


def _breaks(at: Moment, claim: Claim) -> bool:
    """Of a claim that is over: whether the predicate was false at its end."""
    held = claim.facts[AT["lead"]] if claim.final else claim.lead_in(at.run.pool)
    return bool(held < claim.threshold)


def _new_loss(at: Moment, claim: Claim) -> bool:
    return bool(claim.lost) and (None in claim.lost or claim.lost.issuperset(at.event.block_ids))


def _lower_priority_available(at: Moment, claim: Claim) -> bool | None:
    mine = at.concerns.get(claim, NO_CONCERN).mine
    return at.run.ranks.lower_available(at.event, at.touched, claim) if mine else False


def _overstates(at: Moment, claim: Claim) -> bool | None:
    """An acceptance that states no duration leaves the one that was asked for."""
    event, held = at.event, claim.facts[AT["footprint"]]
    if event.restated or not claim.committed:
        return False
    if event.footprint is not None and held is not None and held < event.footprint:
        return True
    return _is_longer(event.duration or claim.asked, claim.duration)


def _is_longer(stated: str | None, held: str | None) -> bool | None:
    """Whether a duration is longer than another, if both are stated; None if their units differ."""
    if stated is None or held is None:
        return False
    one, other = duration_of(stated), duration_of(held)
    return one.exact > other.exact if one.unit is other.unit else None


def _shared(at: Moment, claim: Claim) -> int:
    ends = at.event.kind is Kind.REQUEST_FINISHED
    capacity = at.since if ends else at.run.capacity
    return capacity.size(claim) - capacity.alone(claim)


def _shared_unblamed(at: Moment, claim: Claim) -> int | None:
    return None if at.unknown else at.run.capacity.beside(claim, at.blame.named)


def _invalid_blocker(at: Moment, claim: Claim) -> bool | None:
    return None if at.unknown and at.accused else bool(at.idle - {claim.claim_id})


def _blames_unfailed(at: Moment, claim: Claim) -> bool:
    """It is asked of a claim that is responsible, is named, or had a failed load."""
    event, failed = at.event, at.failed
    listed = {*(event.blocking_claim_ids or ()), event.outcome_claim_id} - {None}
    part = claim.responsible or claim.claim_id in listed or claim.claim_id in failed
    return part and not listed <= failed


def _outcome(at: Moment, claim: Claim) -> bool:
    """A report that names no claim states the outcome of each."""
    event, name = at.event, claim.claim_id
    ours = event.outcome_claim_id in (None, name)
    if event.outcome == "refusal" and event.blocking_claim_ids is not None:
        ours = ours and name in event.blocking_claim_ids
    return ours and event.outcome in _OUTCOMES


def _intact(at: Moment, claim: Claim) -> bool:
    """A load for other claims restores only one with a copy."""
    if claim not in at.direct and not claim.facts[AT["host"]]:
        return False
    touch = at.touched.get(claim)
    return _is_loaded(claim, claim.computed - (touch.brought if touch is not None else set()))


def _is_loaded(claim: Claim, computed: Iterable[int]) -> bool:
    return not any(claim.start <= at < claim.start + claim.threshold for at in computed)


def _authorised(at: Moment, claim: Claim) -> bool | None:
    """The runtime may demote what is demotable, or hard_protected and ended in a standing conflict,
    and expire what is over. An end without a stated caller is accepted.

    None if the owner is known from the runtime's acceptance at most, or it is unknown whether the
    duration is over, or whether there was a conflict or is a copy.
    """
    by, kind = at.event.by, at.event.kind
    if by is None:
        return True
    if kind is Kind.CLAIM_OFFLOADED:
        copied = claim.facts[AT["host"]] if at.observes >= _ON_COPIES else None
        if not copied:
            return copied
    if by != RUNTIME:
        return None if claim.owner is None else by == claim.owner
    if kind is Kind.CLAIM_EXPIRED:
        return None if claim.unseen_end else claim.elapsed and not claim.early
    if at.event.demotes and claim.mode is Mode.HARD_PROTECTED:
        return claim.pressed
    return at.event.demotes and claim.mode is Mode.DEMOTABLE


def _unreported(at: Moment, claim: Claim) -> list[Any]:
    return claim.routes.get((at.event.request_id or "", at.event.kind), [])


def _matches_oldest(at: Moment, claim: Claim) -> bool:
    _, name = ROUTE_REPORTS[at.kind]
    return _unreported(at, claim)[:1] == [route_value(at.event, name)]


def route_value(event: Event, name: str) -> Any:
    """The value of a field of a route, as terms compare it."""
    value = getattr(event, name)
    return number(value) if isinstance(value, str) else value or 0


def number(text: str | None) -> int:
    """Another number for each text, and 0 for none."""
    return 0 if text is None else int.from_bytes(b"\1" + text.encode())


def _stated(name: str) -> _Field:
    value = attrgetter(name)
    return lambda at, claim: value(at.event)


def _of_proof(name: str) -> _Field:
    return lambda at, claim: getattr(at.event.proof, name, 0)


def _outcome_is(name: str) -> _Field:
    return lambda at, claim: at.event.outcome == name and _outcome(at, claim)


_DEFINED: Final[dict[str, _Field]] = {
    **{name: _stated(name) for name in ("found", "footprint", "needed", "usable", "cost")},
    "duplicate": _stated("repeats"),
    "mine": lambda at, claim: at.concerns.get(claim, NO_CONCERN).mine,
    "named": lambda at, claim: at.concerns.get(claim, NO_CONCERN).named,
    "here": lambda at, claim: False,  # in the scope of the claim; the judge knows it of a request
    # Blocks.
    "lead": lambda at, claim: claim.lead_in(at.run.pool),
    "stored": lambda at, claim: claim.is_stored_in(at.run.pool),
    "restorable": lambda at, claim: claim.is_restorable_from(at.run.pool),
    "covers": _covers,
    "breaks": _breaks,
    "new_loss": _new_loss,
    "higher_priority_kept": lambda at, claim: at.run.ranks.higher_kept(claim),
    "lower_priority_available": _lower_priority_available,
    # Capacity.
    "overstates": _overstates,
    "rest": lambda at, claim: at.run.capacity.without(claim),
    "rest_since_arrival": lambda at, claim: at.since.without(claim),
    "shared": _shared,
    "others": lambda at, claim: at.run.requests.needs_of_others(at.request),
    # Blame.
    "accuses": lambda at, claim: bool(at.accused),
    "blamed": lambda at, claim: claim.claim_id in at.accused,
    "shared_unblamed": _shared_unblamed,
    "blamed_rest": lambda at, claim: None if at.unknown else at.blame.rest(claim),
    "blamed_least": lambda at, claim: None if at.unknown else at.blame.least(claim),
    "invalid_blocker": _invalid_blocker,
    # The claims in the pool judge the sums of a capacity proof.
    "proof": lambda at, claim: at.event.proof is not None and claim.responsible,
    **{
        f"said_{name}": _of_proof(name)
        for name in ("resident", "active", "total", "usable", "shortfall")
    },
    # Restores, and outcomes.
    "restore": lambda at, claim: at.event.restore and bool(at.failed),
    "unfounded_failure": lambda at, claim: at.event.restore and not at.failed,
    "blames_unfailed": _blames_unfailed,
    "outcome": _outcome,
    "refusal": _outcome_is("refusal"),
    "harm": _outcome_is("harm"),
    "from_tier": lambda at, claim: at.event.from_tier and _is_loaded(claim, claim.computed),
    "intact": _intact,
    # Who acts, and routes.
    "authorised": _authorised,
    "by": lambda at, claim: number(at.event.by),
    "worker": lambda at, claim: number(at.event.worker),
    "hit": lambda at, claim: bool(at.event.hit),
    "several_unreported": lambda at, claim: len(_unreported(at, claim)) > 1,
    "matches_oldest": _matches_oldest,
}

FIELDS: Final[Mapping[str, _Field]] = MappingProxyType({n: _DEFINED[n] for n in EVENT_FIELDS})
"""One function a field, in the order of the vocabulary."""
