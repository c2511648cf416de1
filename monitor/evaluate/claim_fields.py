"""Defines the fields of one claim: identity and terms, ledgers, and where its observers stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.positions import Positions
from monitor.evaluate.unusual import USUAL, MayBeUnusual
from spec.claims.states import ClaimState

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Hashable, Mapping

    from monitor.evaluate.compile import Compiled
    from monitor.evaluate.constants import Constants
    from monitor.evaluate.in_hand import InHand
    from monitor.evaluate.observer_state import Finding, ObserverState, Registers
    from monitor.evaluate.partial_observation import Step
    from monitor.evaluate.product import ProductState
    from monitor.input.records import At
    from spec.claims.predicates import MaterializationPredicate
    from spec.events.alphabet import Kind

__all__ = ["BOUND", "UNBOUND", "Bound", "ClaimFields", "Expansion"]

Bound: TypeAlias = "tuple[str | bytes | None, ...]"
"""What is stated of the identity of a claim besides its object, by the fields of `BOUND`."""

BOUND: Final = ("cache_identity", "predicate", "predicate_id", "token_map")
_CACHE: Final = BOUND.index("cache_identity")
_PREDICATE: Final = BOUND.index("predicate")
_MAP: Final = BOUND.index("token_map")
UNBOUND: Final[Bound] = (None,) * len(BOUND)
_NONE: Final[frozenset[Any]] = frozenset()


class Expansion:
    """What a claim has while it is not compact: its observers, and its requests in hand.

    Attributes:
        base: the observers in the scope of the claim itself.
        requests: those in hand, by their ids.
        ended: the ids of those that ended, the first one first.
        loose: the requests that changed since they were last compared.
        alike: the others, by how they stand.
        retired: the scopes of requests to which no event belongs any more, one for all that stand
            alike; what is reported of the claim moves them all the same.
        kept: findings whose state is left or forgotten, by the places of their observers.
        waiting: the requests for which a restore of the claim is required.
    """

    __slots__ = ("alike", "base", "ended", "kept", "loose", "requests", "retired", "waiting")

    def __init__(self, base: list[ObserverState]) -> None:
        self.base = base
        self.requests: dict[str, InHand] = NOTHING
        self.ended: tuple[str, ...] = ()
        self.loose: dict[str, InHand] = NOTHING
        self.alike: dict[Hashable, dict[str, InHand]] = NOTHING
        self.retired: dict[Hashable, InHand] = NOTHING
        self.kept: dict[int, Finding] = NOTHING
        self.waiting: frozenset[str] = _NONE


class ClaimFields(MayBeUnusual):
    """The life of one claim in one stream.

    `owes` says that something is owed in the scope of the claim itself; `entry_kind` and `entry_at`
    are of the event that registered it. Numbers of the stream's events: `took` says when
    responsibility for the claim last began, `last_event` when an event was last delivered to it.
    `object_id` and `bound` are what is stated of its identity, each a text, or its digest where the
    claim was recalled; it `joined` the others on its object since a field of its identity was last
    stated for the first time. `object` tells which object it is on, `noted` the same where it is
    known as a holder of blocks, `counted` how many blocks count for it in the sums of its pool,
    `keys` the contents of its positions where they are stated. `owed` is by request what its routes
    and their reuse came to and are not reported yet.

    Of a claim that is compact (`monitor.evaluate.compaction`), `product` is where it stands, `ids`
    are the requests that it has in hand, `needs` what each needs of what is usable, with the cost
    and the worker of its route, and `places` those of the events that its findings name.
    `expansions` counts how often others needed it expanded; it does `wait` for so many events
    before it is compact again.
    """

    __slots__ = (
        *("accepted", "bound", "claim_id", "compiled", "constants", "counted"),
        *("declared_mode", "duration", "elapsed", "entry_at", "entry_kind", "expansion"),
        *("expansions", "facts", "held", "ids", "joined", "keys", "last_event", "needs"),
        *("noted", "object", "object_id", "owed", "owes", "owner_claimed", "owner_scope"),
        *("places", "predicate", "priority", "product", "registered", "size", "state"),
        *("stream", "took", "wait"),
    )

    DERIVED: ClassVar[Mapping[str, object]] = {
        **{"expansion": None, "expansions": 0, "wait": 0, "product": None},
        **{"ids": (), "needs": (), "places": ()},
    }
    """Fields that no snapshot holds, with what they are without it: a snapshot has `OPENED`."""

    OPENED: ClassVar[tuple[str, ...]] = ("opened",)

    def __init__(
        self, stream: str, claim_id: str, compiled: Compiled, constants: Constants
    ) -> None:
        self.unusual = USUAL
        self.stream: str = stream
        self.claim_id: str = claim_id
        self.compiled: Compiled = compiled
        self.constants: Constants = constants
        self.predicate: MaterializationPredicate | None = None
        self.object_id: str | bytes | None = None
        self.bound: Bound = UNBOUND
        self.declared_mode: str | None = None
        self.owner_scope: str | None = None
        self.duration: str | None = None
        self.priority: int | None = None
        self.joined: bool = True
        self.registered: bool = False
        self.entry_kind: Kind | None = None
        self.entry_at: At | None = None
        self.keys: tuple[str, ...] = ()
        self.size: int = 0
        self.counted: int = 0
        self.noted: Hashable | None = None
        self.owner_claimed: str | None = None
        self.accepted: bool = False
        self.elapsed: bool = False
        self.owed: dict[str, dict[Kind, deque[Hashable]]] = NOTHING
        self.state: ClaimState = ClaimState.SUBMITTED
        self.owes: bool = False
        self.took: int = 0
        self.last_event: int = 0
        self.expansions: int = 0
        self.wait: int = 0
        self.product: ProductState | None = None
        self.ids: tuple[str, ...] = ()
        self.needs: tuple[tuple[int, int, int, int], ...] = ()
        self.places: tuple[At, ...] = ()
        self.facts: Registers = compiled.claim_initial
        self.object: Hashable = ("claim", claim_id)
        self.held = Positions()
        self.held.fresh = set() if constants.tiered else None
        self.expansion: Expansion | None = None

    @property
    def cache_identity(self) -> str | bytes | None:
        """The cache that it is in, as far as that is stated."""
        return self.bound[_CACHE]

    @property
    def token_map(self) -> str | bytes | None:
        """The map of its positions, as far as one is stated."""
        return self.bound[_MAP]

    @property
    def bound_predicate(self) -> str | bytes | None:
        """The text of the predicate that is part of its identity, if one is stated."""
        return self.bound[_PREDICATE]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of its observers, which read no field that is unknown."""
        own = self.unusual.steps
        return self.compiled.steps if own is None else own

    @steps.setter
    def steps(self, new: tuple[Step, ...]) -> None:
        own = None if new is self.compiled.steps else new
        if own is not self.unusual.steps:
            self.own_unusual.steps = own
