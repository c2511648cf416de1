"""Models MicroRuntime: resident, active and future KV as three resources, and what a conflict does.

Source: "Resident KV Claims", sections 2, 3.5 and 5, tables 5 to 8. A claim of 60 blocks is
resident, a request needs 70 live blocks, and the pool has 80. A `Mechanism` is one of the thirteen
answers of table 5. A prefill is scheduled in chunks; under full attention each chunk stays live.

It is a model of the contract's terms and of no engine. Left out: costs, but for the order in which
the oracle prefers actions; identities of prompts; which of the claim's blocks are victims (the last
ones are, as in a block pool).

Names are not interchangeable: there is one claim, and each request is of its own kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.model import Action, Emitted, Model, Next, fact
from models.framework.shims import claim_of
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof
from spec.events.fields import RUNTIME

__all__ = ["INFERENCES", "VARIANTS", "Mechanism", "Micro", "MicroState", "mode_of"]


class Mechanism(StrEnum):
    """What a runtime does about a request that does not fit beside a claim: table 5."""

    NATIVE = "native eviction"
    NO_ADMIT = "write no-admit only"
    EXCLUSION = "resident victim exclusion"
    DEFER = "active deferral"
    RESERVE = "resident reserve"
    OFFLOAD_RESIDENT = "offload resident"
    OFFLOAD_ACTIVE = "offload active"
    BOUND = "bound active-live KV"
    SPLIT = "recompute or split"
    ROUTE = "route elsewhere"
    RELAX = "relax resident claim"
    LARGER = "larger capacity"
    ORACLE = "oracle upper bound"


_REPORTS: Final[Mapping[Mechanism, Kind]] = {
    Mechanism.EXCLUSION: Kind.REQUEST_REFUSED,
    Mechanism.RESERVE: Kind.REQUEST_REFUSED,
    Mechanism.DEFER: Kind.REQUEST_DEFERRED,
    Mechanism.OFFLOAD_ACTIVE: Kind.REQUEST_OFFLOADED,
    Mechanism.BOUND: Kind.REQUEST_BOUNDED,
    Mechanism.SPLIT: Kind.REQUEST_SPLIT,
    Mechanism.ROUTE: Kind.REQUEST_ROUTED_ELSEWHERE,
}
_EVICTS: Final = frozenset({Mechanism.NATIVE, Mechanism.NO_ADMIT, Mechanism.RELAX})
_ORACLE: Final = (Mechanism.ROUTE, Mechanism.BOUND, Mechanism.OFFLOAD_ACTIVE, Mechanism.DEFER)
"""What the oracle prefers, the first that is to be had: its costs are assumed, not measured."""


def mode_of(mechanism: Mechanism) -> Mode:
    """The mode that a claim is accepted in, where the mechanism is to keep it."""
    modes = {Mechanism.RELAX: Mode.DEMOTABLE, Mechanism.OFFLOAD_RESIDENT: Mode.OFFLOADABLE}
    return modes.get(mechanism, Mode.HARD_PROTECTED)


class MicroState(NamedTuple):
    """Blocks of the three resources, and how the request stands.

    `resident` are the leading blocks of the claim that are there, `live` those of the request,
    `reusable` those that the request left for later requests. `phase` is none, claimed, arrived,
    waiting, running, served or turned away; `copy` says that the claim has one in the offload tier,
    `chunks` counts the chunks that were scheduled.
    """

    resident: int = 0
    live: int = 0
    reusable: int = 0
    phase: str = "none"
    copy: bool = False
    chunks: int = 0
    released: bool = False


class Micro(Model[MicroState]):
    """MicroRuntime with one claim and one request.

    Args:
        mechanism: what happens where both do not fit.
        resident: blocks of the claim.
        chunks: blocks of each chunk of the request's prefill.
        usable: blocks of the pool.
        headroom: the oracle may route elsewhere.
    """

    name: ClassVar = "micro"
    about: ClassVar = (
        "Resident, active and future KV as three resources, and 13 answers to conflict."
    )
    source: ClassVar = '"Resident KV Claims", tables 5 to 8'
    left_out: ClassVar = "costs, identities of prompts"

    def __init__(
        self,
        mechanism: Mechanism = Mechanism.EXCLUSION,
        resident: int = 60,
        chunks: tuple[int, ...] = (20, 20, 20, 10),
        usable: int = 80,
        *,
        headroom: bool = False,
    ) -> None:
        oracle = _ORACLE if headroom else _ORACLE[1:]
        self.mechanism = oracle[0] if mechanism is Mechanism.ORACLE else mechanism
        self.size, self.chunks = resident, chunks
        self.active = sum(chunks)
        larger = mechanism is Mechanism.LARGER
        self.usable = max(usable, resident + self.active) if larger else usable
        self.mode = mode_of(self.mechanism)
        self.holders, self.requests = ("resident",), ("active", "later")
        self._named = {
            "claim_id": claim_of("resident"),
            "object_id": "prefix",
            "predicate": f"leading_prefix_at_least({resident})",
        }

    @property
    def fits(self) -> bool:
        """Whether claim and request fit together."""
        return self.size + self.active <= self.usable

    @property
    def room(self) -> int:
        """Blocks that the request may hold live at once."""
        bounded = self.mechanism in (Mechanism.BOUND, Mechanism.OFFLOAD_ACTIVE, Mechanism.SPLIT)
        return self.usable - self.size if bounded and not self.fits else self.usable

    def initial(self) -> Iterator[MicroState]:
        """Nothing is there."""
        yield MicroState()

    def actions(self, state: MicroState) -> Iterator[Action]:
        """One thing after another; a deferred request waits until the owner gives the claim up."""
        follows = {
            "none": "claim",
            "claimed": "arrive",
            "arrived": "decide",
            "running": "prefill" if state.chunks < len(self.chunks) else "finish",
        }
        if state.phase in follows:
            yield Action(follows[state.phase])
        if state.phase == "waiting":
            yield Action("admit" if state.released else "release")
        if state.phase == "served" and state.copy and not state.resident:
            yield Action("restore")

    def apply(self, state: MicroState, action: Action) -> Next[MicroState]:
        """The state after an action."""
        step: Callable[[MicroState], Next[MicroState]] = getattr(self, f"_{action.name}")
        return step(state)

    def _claim(self, state: MicroState) -> Next[MicroState]:
        terms = {"mode": str(self.mode), "owner_scope": "owner", "footprint": self.size}
        kinds = (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED)
        emits: list[Emitted] = [fact(kind, **self._named, **terms) for kind in kinds]
        emits.append(self._blocks(Kind.BLOCK_CACHED, range(self.size)))
        emits.append(fact(Kind.CLAIM_MATERIALIZED, **self._named))
        return Next(state._replace(resident=self.size, phase="claimed"), tuple(emits))

    def _blocks(self, kind: Kind, positions: range, **more: Any) -> Emitted:
        blocks = tuple(positions)
        fields = {"positions": blocks} if kind is not Kind.BLOCK_EVICTED else {}
        return fact(kind, **self._named, block_ids=blocks, **fields, **more)

    def _arrive(self, state: MicroState) -> Next[MicroState]:
        came = fact(
            Kind.REQUEST_ARRIVED, request_id="active", needed=self.active, usable=self.usable
        )
        return Next(state._replace(phase="arrived"), (came,))

    def _decide(self, state: MicroState) -> Next[MicroState]:
        """Admit the request, or do what the mechanism does about the conflict."""
        if self.fits:
            return Next(state._replace(phase="running"))
        if self.mechanism in _EVICTS:
            return self._evict(state)
        if self.mechanism is Mechanism.OFFLOAD_RESIDENT:
            return self._offload(state)
        total = self.size + self.active
        proof = CapacityProof(
            resident=self.size,
            active=self.active,
            total=total,
            usable=self.usable,
            shortfall=total - self.usable,
        )
        acted = fact(
            _REPORTS[self.mechanism],
            request_id="active",
            blocking_claim_ids=(claim_of("resident"),),
            proof=proof,
        )
        ended = fact(Kind.REQUEST_FINISHED, request_id="active")
        match self.mechanism:
            case Mechanism.EXCLUSION | Mechanism.RESERVE:
                return Next(state._replace(phase="turned away"), (acted, ended))
            case Mechanism.ROUTE:
                return Next(state._replace(phase="served"), (acted, ended))
            case Mechanism.DEFER:
                return Next(state._replace(phase="waiting"), (acted,))
        return Next(state._replace(phase="running"), (acted,))

    def _evict(self, state: MicroState) -> Next[MicroState]:
        left = max(0, self.usable - self.active)
        emits: list[Emitted] = []
        if self.mechanism is Mechanism.RELAX:
            emits.append(fact(Kind.CLAIM_RETIRED, **self._named, by=RUNTIME))
            emits.append(fact(Kind.CLAIM_DEMOTED, **self._named, by=RUNTIME))
        gone = range(left, state.resident)
        emits.append(self._blocks(Kind.BLOCK_EVICTED, gone, request_id="active"))
        return Next(state._replace(resident=left, phase="running"), tuple(emits))

    def _offload(self, state: MicroState) -> Next[MicroState]:
        emits = (
            fact(Kind.STORE_FINISHED, **self._named),
            fact(Kind.CLAIM_OFFLOADED, **self._named),
            self._blocks(Kind.BLOCK_EVICTED, range(state.resident), request_id="active"),
            fact(Kind.CLAIM_UNMATERIALIZED, **self._named),
        )
        return Next(state._replace(resident=0, copy=True, phase="running"), emits)

    def _prefill(self, state: MicroState) -> Next[MicroState]:
        """Schedule a chunk: what was computed before stays live, up to the room there is."""
        live = min(self.room, state.live + self.chunks[state.chunks])
        return Next(state._replace(live=live, chunks=state.chunks + 1))

    def _finish(self, state: MicroState) -> Next[MicroState]:
        """What the request computed stays for later ones, unless it is not admitted."""
        admits = self.mechanism is not Mechanism.NO_ADMIT
        done = state._replace(live=0, reusable=state.live if admits else 0, phase="served")
        return Next(done, (fact(Kind.REQUEST_FINISHED, request_id="active"),))

    def _release(self, state: MicroState) -> Next[MicroState]:
        emits = tuple(
            fact(kind, **self._named, by="owner")
            for kind in (Kind.CLAIM_RETIRED, Kind.CLAIM_RELEASED)
        )
        return Next(state._replace(released=True), emits)

    def _admit(self, state: MicroState) -> Next[MicroState]:
        left = max(0, self.usable - self.active)
        gone = self._blocks(Kind.BLOCK_EVICTED, range(left, state.resident), request_id="active")
        return Next(state._replace(resident=left, phase="running"), (gone,))

    def _restore(self, state: MicroState) -> Next[MicroState]:
        """A later request needs the claim, and has it brought back first."""
        about = {**self._named, "request_id": "later"}
        emits = (
            fact(Kind.REQUEST_ARRIVED, request_id="later", needed=0, usable=self.usable),
            fact(Kind.CLAIM_RESTORE_REQUIRED, **about),
            self._blocks(Kind.LOAD_FINISHED, range(self.size), request_id="later", held=self.size),
            fact(Kind.CLAIM_RESTORED, **about, from_tier=True),
            fact(Kind.PREFIX_REUSED, **about),
            fact(Kind.REQUEST_FINISHED, request_id="later"),
        )
        return Next(state._replace(resident=self.size), emits)

    @property
    def always(self) -> Mapping[str, Callable[[MicroState], bool]]:
        """Resident and live blocks fit into the pool, whatever is done."""
        return {"resident and live KV fit": lambda s: s.resident + s.live <= self.usable}


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    each.name.lower(): partial(Micro, each) for each in Mechanism
}
INFERENCES: Final = ()
