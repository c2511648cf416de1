"""Which claims are on which object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from monitor.claim import ClaimRun
    from spec.events import Event

__all__ = ["Objects", "whose"]

_WITHIN = ("cache_identity", "token_map")
_JUDGED: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.STORE_FINISHED: ("offload_restorability",),
    Kind.HOST_COPY_LOST: ("offload_restorability",),
    Kind.LOAD_FINISHED: ("offload_restorability",),
    Kind.LOAD_FAILED: ("restoration_failure_outcome", "claim_harm_attribution"),
    Kind.PREFIX_REUSED: ("offload_restorability",),
    Kind.REQUEST_ROUTED: ("route_cost_attribution", "placement_attribution"),
    Kind.REUSE_SERVED: ("reuse_routing_attribution",),
}


def whose(kind: Kind, obligations: Set[str]) -> bool:
    """Whether it matters to any of these obligations whose object a fact of this kind is about."""
    return not obligations.isdisjoint(_JUDGED.get(kind, ()))


class Objects:
    """The claims that a registry holds or held, by the object that they are on."""

    def __init__(self) -> None:
        self._claims: dict[str, dict[str, ClaimRun]] = {}

    def add(self, claim: ClaimRun) -> None:
        """The claim, once it is known to a registry and its object is stated."""
        if claim.known and (name := claim.binding.get("object_id")) is not None:
            self._claims.setdefault(name, {})[claim.claim_id] = claim

    def meant(self, event: Event) -> list[ClaimRun]:
        """The claims on the object that the event names, as far as the event says which."""
        return [
            claim
            for claim in self._claims.get(event.object_id or "", {}).values()
            if all(
                getattr(event, name) in (None, claim.binding.get(name, getattr(event, name)))
                for name in _WITHIN
            )
        ]
