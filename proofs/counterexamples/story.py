"""Describes a run of a model in one paragraph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.framework.model import Fact
from models.framework.shims import claim_of
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from models.framework.model import Emitted
    from models.framework.shims import Shim
    from proofs.counterexamples.refute import Refutation
    from spec.events.canonical import Event

__all__ = ["story"]


def story(found: Refutation) -> str:
    """What happened, what the reader concluded, and what that breaks."""
    if found.run is None or found.shown is None:
        return why_none(found)
    shim = found.inference.shim
    sentences = [
        sentence
        for _, emits in found.run.steps
        for each in emits
        if (sentence := _sentence(each, shim))
    ]
    rule = _rule(found)
    return " ".join([*sentences, f"This breaks {found.shown}: {rule}."])


def why_none(found: Refutation) -> str:
    """Why no run of the model refutes the inference."""
    answers = {name: str(each.answer) for name, each in found.outcomes.items()}
    named = ", ".join(f"{name} {answer}" for name, answer in answers.items())
    return f"No run of this model breaks it: {named}."


def _rule(found: Refutation) -> str:
    """Why the obligation is broken at the last event, in the words of its rule."""
    name = found.shown or ""
    rule = found.rule
    broken = [each for each in OBLIGATIONS[name].rules if each.name == rule]
    return broken[0].why if broken else "it is violated"


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


def _of_event(event: Event) -> str:
    """A fact, or a report of a runtime with claims, in a sentence."""
    about = event.object_id or event.claim_id or "the pool"
    blocks = _listed("block", event.block_ids)
    who = event.request_id
    match event.kind:
        case Kind.REQUEST_ARRIVED:
            needs = f"{event.needed} of {event.usable} blocks for itself alone"
            return f"Request {who} arrives; it needs {needs}."
        case Kind.PREFIX_LOOKUP:
            return f"{who} looks up {about}: {event.held} of {event.asked} blocks are found."
        case Kind.BLOCK_CACHED:
            places = _listed("position", event.positions)
            return f"{blocks} now {_verb(event, 'hold')} {about} at {places.lower()}."
        case Kind.BLOCK_EVICTED:
            return f"{blocks} {_be(event)} evicted{f' for {who}' if who else ''}."
        case Kind.BLOCK_LOST:
            return f"{blocks or 'All blocks'} {_be(event)} lost to a reset or a failure."
        case Kind.REQUEST_FINISHED:
            return f"{who} ends."
        case Kind.STORE_FINISHED:
            return f"A copy of {about} is in the offload tier."
        case Kind.HOST_COPY_LOST:
            return f"The copy of {about} in the offload tier is gone."
        case Kind.LOAD_FINISHED:
            return f"{about} is loaded back for {who}."
        case Kind.LOAD_FAILED:
            return f"Loading {about} back for {who} fails."
        case Kind.PREFIX_REUSED:
            return f"{who} uses {about}."
        case Kind.REQUEST_ROUTED:
            return f"The router sends {who} to {event.worker}, at a cost of {event.cost}."
        case Kind.REUSE_SERVED:
            return f"{who} {'hits' if event.hit else 'misses'} {about}."
    return _plain(event)


def _plain(event: Event) -> str:
    says = KINDS[event.kind].says
    names = [name for name in (event.claim_id, event.request_id) if name]
    return f"{says[0].upper()}{says[1:]}{f' ({chr(44).join(names)})' if names else ''}."


def _blocks(count: int) -> str:
    return f"{count} block{'' if count == 1 else 's'}"


def _listed(what: str, numbers: Iterable[int | str]) -> str:
    found = [str(number) for number in numbers]
    if not found:
        return ""
    *most, last = found
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{what.capitalize()}{'s' if most else ''} {listed}"


def _verb(event: Event, verb: str) -> str:
    return f"{verb}s" if len(event.block_ids) == 1 else verb


def _be(event: Event) -> str:
    return "is" if len(event.block_ids) == 1 else "are"
