"""Defines the fields of one claim: identity and terms, ledgers, and where its observers stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias

from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.positions import Positions
from spec.claims.states import ClaimState
from spec.events.alphabet import FACTS

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Hashable, Mapping

    from monitor.evaluate.compile import Compiled
    from monitor.evaluate.constants import Constants
    from monitor.evaluate.in_hand import InHand
    from monitor.evaluate.observer_state import Finding, ObserverState, Registers
    from monitor.evaluate.partial_observation import Step
    from monitor.evaluate.product import ProductState
    from monitor.evaluate.restless import Restless
    from monitor.input.records import At
    from spec.claims.predicates import MaterializationPredicate
    from spec.events.alphabet import Kind

__all__ = ["BOUND", "UNBOUND", "Bound", "ClaimFields", "Expansion"]

Bound: TypeAlias = "tuple[str | bytes | None, ...]"
"""What is stated of the identity of a claim besides its object, by the fields of `BOUND`."""

BOUND: Final = ("cache_identity", "predicate", "predicate_id", "token_map")
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


class ClaimFields:
    """The life of one claim in one stream.

    `taint` is the first reason why what is seen of the claim can no longer be trusted; from then on
    nothing is concluded beyond what was violated before, and only the ledger is kept, for the sake
    of the pool. `owes` says that something is owed in the scope of the claim itself; `entry_kind`
    and `entry_at` are of the event that registered it. `past` is what is remembered of a claim that
    was forgotten, `lost` says that nothing is; a `guest` is judged by another mode. Numbers of the
    stream's events: `took` says when responsibility for the claim last began, `last_event` when an
    event was last delivered to it. `object_id` and `bound` are what is stated of its identity, each
    a text, or its digest where the claim was recalled.
    `observed` are the facts of which the hooks state each one. `object` tells which object it is
    on, `noted` the same where it is known as a holder of blocks, `counted` how many blocks count for it
    in the sums of its pool, `keys` the contents of its positions where they are stated. It `strayed` once an event took
    blocks from behind its end, and none of its own; it was `missed` if anything may have happened
    since it ended that was not observed. Its end was `early` if the runtime ended its entry before
    its duration was over. It `joined` the others on its object since a field of its identity was
    last stated for the first time. It is `disputed` if two priorities of it were stated.
    `computed` are the positions that were computed since it was last away, `owed` by request what
    its routes and their reuse came to and are not reported yet, `unsaid` the blocks that it lost
    and no report named, None for a block whose id is unknown.

    Of a claim that is compact (`monitor.evaluate.compaction`), `product` is where it stands, `ids`
    are the requests that it has in hand, `needs` what each needs of what is usable, with the cost
    and the worker of its route, and `places` those of the events that its findings name.
    `expansions` counts how often others needed it expanded; it does `wait` for so many events
    before it is compact again.
    """

    __slots__ = (
        *("_quiet", "_spared", "_took_last", "accepted", "bound", "claim_id", "compiled"),
        *(
            "computed",
            "constants",
            "contradicted",
            "counted",
            "declared_mode",
            "disputed",
            "doubts",
        ),
        *("duration", "early", "elapsed", "entry_at", "entry_kind", "expansion", "expansions"),
        *("facts", "guest", "held", "ids", "joined", "keys", "last_event", "lost"),
        *(
            "missed",
            "needs",
            "noted",
            "object",
            "object_id",
            "observed",
            "other_mode",
            "owed",
            "owes",
        ),
        *("owner_claimed", "owner_scope", "past", "places", "predicate", "priority", "product"),
        *("registered", "size", "state", "steps", "strayed", "stream"),
        *("taint", "took", "unknown", "unsaid", "unwatched", "wait"),
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
        self.stream: str = stream
        self.claim_id: str = claim_id
        self.compiled: Compiled = compiled
        self.constants: Constants = constants
        self.predicate: MaterializationPredicate | None = None
        self.object_id: str | bytes | None = None
        self.bound: Bound = UNBOUND
        self.declared_mode: str | None = None
        self.other_mode: str | None = None
        self.owner_scope: str | None = None
        self.duration: str | None = None
        self.priority: int | None = None
        self.joined: bool = True
        self.disputed: bool = False
        self.registered: bool = False
        self.entry_kind: Kind | None = None
        self.entry_at: At | None = None
        self.keys: tuple[str, ...] = ()
        self.size: int = 0
        self.counted: int = 0
        self.noted: Hashable | None = None
        self.owner_claimed: str | None = None
        self.contradicted: tuple[At | None, str] | None = None
        self.observed: frozenset[Kind] = FACTS
        self.accepted: bool = False
        self.elapsed: bool = False
        self.unwatched: bool = False
        self.strayed: bool = False
        self.early: bool = False
        self.computed: frozenset[int] = _NONE
        self.unsaid: frozenset[int | None] = _NONE
        self.owed: dict[str, dict[Kind, deque[Hashable]]] = NOTHING
        self.missed: bool = False
        self.state: ClaimState = ClaimState.SUBMITTED
        self.taint: tuple[At | None, str] | None = None
        self.owes: bool = False
        self.took: int = 0
        self.last_event: int = 0
        self.past: Self | None = None
        self.lost: bool = False
        self.guest: bool = False
        self.unknown: frozenset[str] = _NONE
        self.doubts: dict[int, tuple[At | None, str]] = NOTHING
        self._quiet: tuple[Restless[Any], ...] = ()
        self._spared: Restless[Any] | None = None  # events since it took this one
        self._took_last: At | None = None
        self.expansions: int = 0
        self.wait: int = 0
        self.product: ProductState | None = None
        self.ids: tuple[str, ...] = ()
        self.needs: tuple[tuple[int, int, int, int], ...] = ()
        self.places: tuple[At, ...] = ()
        self.facts: Registers = compiled.claim_initial
        self.object: Hashable = ("claim", claim_id)
        self.steps: tuple[Step, ...] = compiled.steps
        self.held = Positions()
        self.held.fresh = set() if constants.tiered else None
        self.expansion: Expansion | None = None
