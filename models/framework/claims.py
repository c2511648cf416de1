"""Defines claims of models of runtimes that take them, and what is said of claims in any model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from models.framework.blocks import Content
from models.framework.model import Emitted, fact
from models.framework.shims import claim_of
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof

__all__ = ["WATCHED", "Claim", "Moment", "blocks_of", "capacity_proof", "leading", "least"]

State = TypeVar("State", bound=Any)

WATCHED: Final = frozenset(mode for mode, spec in MODES.items() if spec.constants["watched"])
"""The modes in which a runtime takes no responsibility: claims are watched, and keep nothing."""


class Claim(NamedTuple):
    """What an owner asks for: the first `size` blocks of an object, in a mode.

    `named` is the name that the owner gives the object, where it is another one than the runtime's.
    """

    holder: str
    object_id: str
    size: int
    mode: Mode
    priority: int | None = None
    duration: str | None = None
    owner: str = "tenant"
    named: str = ""

    @property
    def contents(self) -> tuple[Content, ...]:
        """The contents of its blocks."""
        return tuple((self.object_id, position) for position in range(self.size))

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its contents."""
        return tuple(f"{name}:{position}" for name, position in self.contents)

    @property
    def terms(self) -> dict[str, Any]:
        """The fields of the events that introduce it."""
        more = {"mode": str(self.mode), "duration": self.duration, "priority": self.priority}
        return {**leading(self.object_id, self.size, self.owner), **more}


def leading(object_id: str, size: int, owner: str) -> dict[str, Any]:
    """The fields of a request to keep the first `size` blocks of an object."""
    return {
        "object_id": object_id,
        "predicate": f"leading_prefix_at_least({size})",
        "footprint": size,
        "owner_scope": owner,
    }


def blocks_of(claims: Iterable[Claim]) -> set[Content]:
    """The contents of the blocks that claims are on."""
    return {content for claim in claims for content in claim.contents}


def least(named: Sequence[Claim], among: Sequence[Claim], room: int) -> list[Claim]:
    """A least set of claims without which `among` fit into so many blocks, of those that are named.

    Claims are left out from the last on. Empty where all together free too little.
    """

    def fits(these: Sequence[Claim]) -> bool:
        return len(blocks_of(claim for claim in among if claim not in these)) <= room

    found = [*named] if fits(named) else []
    for claim in found[::-1]:
        fewer = [each for each in found if each is not claim]
        found = fewer if fits(fewer) else found
    return found


def capacity_proof(resident: int, needed: int, usable: int) -> CapacityProof:
    """That `needed` blocks do not fit beside `resident` ones, of `usable` blocks."""
    total = resident + needed
    return CapacityProof(resident, needed, total, usable, max(0, total - usable))


class Moment(Generic[State]):
    """A state (a named tuple) within one action, which its methods change, and what is emitted."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.emits: list[Emitted] = []

    def change(self, **values: Any) -> None:
        """Change some parts of the state."""
        self.state = self.state._replace(**values)

    def say(self, kind: Kind, **fields: Any) -> None:
        """Emit an event."""
        self.emits.append(fact(kind, **fields))

    def of(self, claim: Claim, *kinds: Kind, **fields: Any) -> None:
        """Emit events that name a claim."""
        for kind in kinds:
            self.say(kind, claim_id=claim_of(claim.holder), **fields)

    def of_each(self, claims: Iterable[Claim], *kinds: Kind, **fields: Any) -> None:
        """Emit events that name a claim, for each of these claims in turn."""
        for claim in claims:
            self.of(claim, *kinds, **fields)

    def conflict(
        self, kind: Kind, request_id: str, needed: int, usable: int, kept: list[Claim], by: Any
    ) -> None:
        """Emit what becomes of a request that does not fit; nothing where no claim is in its way.

        Args:
            kept: the claims that keep blocks from requests.
            by: those without which it would fit.
        """
        ids = tuple(claim_of(each.holder) for each in by)
        proof = capacity_proof(len(blocks_of(kept)), needed, usable)
        if ids:
            self.say(kind, request_id=request_id, blocking_claim_ids=ids, proof=proof)

    def not_restored(self, request_id: str, claims: list[Claim], *, reports: bool = True) -> None:
        """Emit that a load failed: the request is refused for the claims that did not come back.

        Args:
            reports: the runtime reports it.
        """
        self.of_each(claims, Kind.LOAD_FAILED, request_id=request_id)
        if not claims or not reports:
            return
        ids = tuple(claim_of(claim.holder) for claim in claims)
        for claim, own in zip(claims, ids, strict=True):
            failed = {"outcome": "refusal", "outcome_claim_id": own, "blocking_claim_ids": (own,)}
            self.of(claim, Kind.CLAIM_RESTORATION_FAILED, request_id=request_id, **failed)
        refused = {"blocking_claim_ids": ids, "restore": True}
        self.say(Kind.REQUEST_REFUSED, request_id=request_id, **refused)
