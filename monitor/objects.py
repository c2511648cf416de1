"""Which claims are on which object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.claim import ClaimRun
    from spec.events import Event

__all__ = ["Objects", "open_without"]

_WITHIN = ("cache_identity", "token_map")
_RESTS: Final = frozenset(
    {Kind.STORE_FINISHED, Kind.HOST_COPY_LOST, Kind.LOAD_FINISHED, Kind.PREFIX_REUSED}
)
_JUDGED: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.LOAD_FAILED: frozenset(
        {
            "offload_restorability",
            "restoration_failure_outcome",
            "claim_harm_attribution",
            "blocking_claim_ids",
        }
    ),
    Kind.REQUEST_ROUTED: frozenset({"route_cost_attribution", "placement_attribution"}),
    Kind.REUSE_SERVED: frozenset({"reuse_routing_attribution"}),
}


def open_without(kind: Kind, obligations: frozenset[str]) -> frozenset[str]:
    """Which of a bundle's obligations are open where a fact does not say whose object it is about.

    What is on the GPU and in the tier, and when something is done with a claim, all others rest on.
    """
    if kind in _RESTS:
        return obligations if "offload_restorability" in obligations else frozenset()
    return obligations & _JUDGED.get(kind, frozenset())


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
