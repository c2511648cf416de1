"""Describes refusals to clients: the stop reason, the claims, and the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from runtime_hooks.claims.arrivals import Refusal

__all__ = ["METADATA", "REASONS", "RESTORE_REASON", "STOP_REASON", "as_metadata", "message"]

STOP_REASON: Final = "protected_resident_capacity_refused"
"""The stop reason of a request that did not fit beside claims."""

RESTORE_REASON: Final = "claim_restoration_failed"
"""The stop reason of a request for which the blocks of a claim were not restored."""

REASONS: Final = frozenset({STOP_REASON, RESTORE_REASON})

METADATA: Final = "resident_claims"
"""The key of this plugin's answers in the response's `kv_transfer_params`."""

_SHOWN: Final = 8  # claims in a message; the metadata has them all


def as_metadata(refusal: Refusal) -> dict[str, Any]:
    """The refusal as it stands under `refusal` in the response's metadata."""
    proof = refusal.proof
    fields: dict[str, Any] = {
        "reason": RESTORE_REASON if proof is None else STOP_REASON,
        "blocking_claim_ids": list(refusal.blocking_claim_ids),
    }
    if proof is not None:
        fields["proof"] = {name: getattr(proof, name) for name in proof.__struct_fields__}
    return fields


def message(refusal: dict[str, Any]) -> str:
    """The refusal for people: the reason, the claims, and the sum where there is a proof."""
    text, claims = str(refusal["reason"]), refusal.get("blocking_claim_ids", ())
    if claims:
        more = f" and {len(claims) - _SHOWN} more" if len(claims) > _SHOWN else ""
        text += f", because of {', '.join(claims[:_SHOWN])}{more}"
    if proof := refusal.get("proof"):
        text += ": {resident} blocks are claimed and {active} needed, of {usable}".format(**proof)
    return text
