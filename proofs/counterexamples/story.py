"""Describes a run of a model in one paragraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from models.framework.model import Fact
from models.framework.shims import claim_of
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from models.framework.model import Emitted
    from models.framework.shims import Shim
    from proofs.counterexamples.refute import Refutation
    from spec.events.canonical import Event

__all__ = ["story"]


def story(found: Refutation) -> str:
    """What happened, what the reader concluded, and what that breaks, or why no run breaks it."""
    if found.run is None or found.shown is None:
        named = ", ".join(f"{name} {each.answer}" for name, each in found.outcomes.items())
        return f"No run of this model breaks it: {named}."
    emitted = (each for _, emits in found.run.steps for each in emits)
    sentences = [_sentence(each, found.inference.shim) for each in emitted]
    why = next(each.why for each in OBLIGATIONS[found.shown].rules if each.name == found.rule)
    return " ".join([*filter(None, sentences), f"This breaks {found.shown}: {why}."])


def _sentence(said: Emitted, shim: Shim) -> str:
    events = shim.events(said)
    if isinstance(said, Fact):
        return _of_event(said.event)
    if not events:
        return ""
    if said.name in shim.accepts:
        owner = said.fields.get("owner_scope", said.holder)
        size = _blocks(int(said.fields.get("footprint", 0)))
        terms = [f"{n} {said.fields[n]}" for n in ("priority", "duration") if n in said.fields]
        what = f"{said.name} on {size} of {said.fields.get('object_id', said.holder)}"
        what += f" ({', '.join(terms)})" if terms else ""
        return (
            f"For {owner}, the reader sees {what}, and takes it for an accepted "
            f"{shim.mode} claim, {claim_of(said.holder)}."
        )
    kind = shim.means[said.name]
    who = f" for {said.fields['request_id']}" if "request_id" in said.fields else ""
    if kind is Kind.DURATION_ELAPSED:
        return f"The duration that {claim_of(said.holder)} was given is over."
    return f"The reader sees {said.name}{who}, and takes it for {kind}."


_SAYS: Final[Mapping[Kind, str]] = {
    Kind.REQUEST_ARRIVED: (
        "Request {who} arrives; it needs {needed} of {usable} blocks for itself alone."
    ),
    Kind.PREFIX_LOOKUP: "{who} looks up {about}: {held} of {asked} blocks are found.",
    Kind.BLOCK_CACHED: "{blocks} now {hold} {about} at {places}.",
    Kind.BLOCK_EVICTED: "{blocks} {are} evicted{for_whom}.",
    Kind.BLOCK_LOST: "{blocks} {are} lost to a reset or a failure.",
    Kind.REQUEST_FINISHED: "{who} ends.",
    Kind.STORE_FINISHED: "A copy of {about} is in the offload tier.",
    Kind.HOST_COPY_LOST: "The copy of {about} in the offload tier is gone.",
    Kind.LOAD_FINISHED: "{about} is loaded back for {who}.",
    Kind.LOAD_FAILED: "Loading {about} back for {who} fails.",
    Kind.PREFIX_REUSED: "{who} uses {about}.",
    Kind.REQUEST_ROUTED: "The router sends {who} to {worker}, at a cost of {cost}.",
    Kind.REUSE_SERVED: "{who} {hits} {about}.",
}
"""Sentences about facts; of other events the kind is worded."""


def _of_event(event: Event) -> str:
    """A fact, or a report of a runtime with claims, in a sentence."""
    if event.kind not in _SAYS:
        says = KINDS[event.kind].says
        names = ",".join(name for name in (event.claim_id, event.request_id) if name)
        return f"{says[0].upper()}{says[1:]}{f' ({names})' if names else ''}."
    one = len(event.block_ids) == 1
    return _SAYS[event.kind].format(
        **msgspec.structs.asdict(event),
        who=event.request_id,
        for_whom=f" for {event.request_id}" if event.request_id else "",
        about=event.object_id or event.claim_id or "the pool",
        blocks=_listed("block", event.block_ids) or "All blocks",
        places=_listed("position", event.positions).lower(),
        hold="holds" if one else "hold",
        are="is" if one else "are",
        hits="hits" if event.hit else "misses",
    )


def _blocks(count: int) -> str:
    return f"{count} block{'' if count == 1 else 's'}"


def _listed(what: str, numbers: Iterable[int | str]) -> str:
    found = [str(number) for number in numbers]
    if not found:
        return ""
    *most, last = found
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{what.capitalize()}{'s' if most else ''} {listed}"
