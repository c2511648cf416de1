"""Describes refusals to clients: the stop reason, the claims, and the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.claims.qualified import own_id
from spec.language.prose import counted

if TYPE_CHECKING:
    from runtime_hooks.claims.arrivals import Refusal

__all__ = [
    "ELSEWHERE",
    "METADATA",
    "OVERSIZED_REASON",
    "RANK_FULL",
    "REASONS",
    "RESTORE_REASON",
    "STOP_REASON",
    "as_metadata",
    "for_caller",
    "message",
]

STOP_REASON: Final = "protected_resident_capacity_refused"
"""The stop reason of a request that did not fit beside claims."""

RESTORE_REASON: Final = "claim_restoration_failed"
"""The stop reason of a request for which the blocks of a claim were not restored."""

OVERSIZED_REASON: Final = "request_exceeds_kv_pool"
"""The stop reason of a request that needs more blocks than the pool has: it can never be served."""

RANK_FULL: Final = "claim_rank_full"
"""Why the server refuses a request itself: the data-parallel rank that has its claim is full."""

ELSEWHERE: Final = "request_routed_elsewhere"
"""The stop reason of a request that did not fit beside claims, and is sent to another rank."""

REASONS: Final = frozenset({STOP_REASON, RESTORE_REASON, OVERSIZED_REASON, ELSEWHERE})

METADATA: Final = "resident_claims"
"""The key of this plugin's answers in the response's `kv_transfer_params`."""

_OWNERS: Final = "owners"  # the server leaves it out

_SHOWN: Final = 8  # claims in a message; the metadata has them all


def as_metadata(refusal: Refusal, *, private: bool = False) -> dict[str, Any]:
    """The refusal as it stands under `refusal` in the metadata that leaves the engine.

    Args:
        private: with the owners of the claims, by which `for_caller` leaves out those of others.
    """
    proof = refusal.proof
    lacks = OVERSIZED_REASON if refusal.never_fits else STOP_REASON
    fields: dict[str, Any] = {
        "reason": RESTORE_REASON if proof is None else lacks,
        "blocking_claim_ids": list(refusal.blocking_claim_ids),
    }
    if refusal.elsewhere:
        fields["reason"] = ELSEWHERE
    if proof is not None:
        fields["proof"] = {name: getattr(proof, name) for name in proof.__struct_fields__}
    if private:
        fields[_OWNERS] = [list(each) for each in refusal.owners]
    return fields


def for_caller(refusal: dict[str, Any], caller: str) -> dict[str, Any]:
    """A refusal as its caller may know it: its own claims by its own ids; of those of others only
    how many there are, and how many blocks they declare.

    Args:
        refusal: of an engine whose callers are authenticated.
        caller: the scope of the caller; empty where it is unknown.
    """
    shown = {name: value for name, value in refusal.items() if name != _OWNERS}
    own, others = list[str](), list[int]()
    claims, owners = refusal.get("blocking_claim_ids", ()), refusal.get(_OWNERS, ())
    for claim_id, (owner, blocks) in zip(claims, owners, strict=False):
        if caller and owner == caller:
            own.append(own_id(claim_id, owner))
        else:
            others.append(blocks)
    return {
        **shown,
        "blocking_claim_ids": own,
        "others": {"claims": len(others), "blocks": sum(others)},
    }


def message(refusal: dict[str, Any]) -> str:
    """The refusal for people: the reason, the claims, and the sum where there is a proof."""
    text, claims = str(refusal["reason"]), refusal.get("blocking_claim_ids", ())
    named = [*claims[:_SHOWN], *([f"{len(claims) - _SHOWN} more"] if len(claims) > _SHOWN else [])]
    if others := refusal.get("others", {}).get("claims"):
        blocks = counted(refusal["others"]["blocks"], "block")
        named.append(f"{counted(others, 'claim')} of other owners, with {blocks}")
    if named:
        *first, last = named
        text += f", because of {', '.join(first)}{' and ' if first else ''}{last}"
    proof = refusal.get("proof")
    if proof and text == OVERSIZED_REASON:
        text += ": {active} blocks are needed, and the pool has {usable}".format(**proof)
    elif proof:
        text += ": {resident} blocks are claimed and {active} needed, of {usable}".format(**proof)
    return text
