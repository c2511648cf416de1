"""A run told event by event: what happened, and what it changed of truth and of belief."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spec.alphabet import CONFLICT_ACTIONS, FACTS, KINDS, Kind
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.engines.search import Found
    from proofs.model import Model

__all__ = ["Line", "tell"]

Value = bool | int

_TRUTH = {
    "was.responsible": ("the runtime is responsible", "the runtime is not responsible any more"),
    "was.host": ("a copy is in the offload tier", "no copy is in the offload tier any more"),
    "req_was.loaded": ("the claim is loaded for the request", "what was loaded does not count"),
    "req_was.failed": ("a restore failed for the request", ""),
}
_BELIEF = {
    "believed.responsible": ("believes in it", "believes in it no more"),
    "believed.useful": ("believes it usable", "believes it unusable"),
    "believed.acted": ("has heard of an action", ""),
    "believed.restored": ("believes it restored", "believes a restore is due"),
}
_FIELDS: dict[Kind, tuple[str, ...]] = {
    Kind.CLAIM_COMMITTED: ("footprint",),
    Kind.CLAIM_ACCEPTED: ("footprint",),
    Kind.BLOCK_CACHED: ("lead",),
    Kind.BLOCK_EVICTED: ("lead",),
    Kind.BLOCK_LOST: ("lead",),
    Kind.LOAD_FINISHED: ("lead",),
    Kind.REQUEST_ARRIVED: ("needed", "usable"),
    Kind.REQUEST_ROUTED: ("cost", "worker"),
    Kind.ROUTE_COST_REPORTED: ("cost",),
    Kind.ROUTE_PLACEMENT_REPORTED: ("worker",),
    Kind.REUSE_SERVED: ("hit",),
    Kind.ROUTE_REUSE_REPORTED: ("hit",),
    Kind.CLAIM_RESTORED: ("from_tier",),
    Kind.CLAIM_BLOCK_LOST: ("breaks",),
}


class Line(msgspec.Struct, frozen=True):
    """One event of a story; `fact` tells deeds from words, `changes` lists only what changed."""

    number: int
    kind: str
    fact: bool
    about: str
    says: str
    changes: list[str]


def tell(model: Model, found: Found) -> list[Line]:
    """The run as lines, one an event."""
    lines = []
    for number, event in enumerate(found.events, start=1):
        kind = model.alphabet[int(event["kind"])]
        before, after = found.states[number - 1], found.states[number]
        lines.append(
            Line(
                number=number,
                kind=str(kind),
                fact=kind in FACTS,
                about=_about(model, kind, event),
                says=KINDS[kind].says,
                changes=[
                    change
                    for side, prefix in model.sides.items()
                    for change in _changes(model, side, prefix, before, after)
                ],
            )
        )
    return lines


def _about(model: Model, kind: Kind, event: Mapping[str, Value]) -> str:
    parts = []
    sides = [side for side in model.sides if event[model.mine(side)]]
    if sides:
        parts.append(f"claim {sides[0]}".strip() if sides[0] else "the claim")
    elif event["here"]:
        parts.append("the request")
    else:
        parts.append("another claim")
    for name in _FIELDS.get(kind, ()):
        parts.append(f"{name} {_shown(event[name])}")
    if kind in CONFLICT_ACTIONS:
        blamed = ["the claim"] if event["blamed"] else []
        blamed += ["others"] if event["blamed_rest"] else []
        blamed += ["a stranger"] if event["stranger"] else []
        parts.append(f"blames {' and '.join(blamed) or 'nobody'}")
    return ", ".join(parts)


def _shown(value: Value) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _changes(
    model: Model, side: str, prefix: str, before: Mapping[str, Value], after: Mapping[str, Value]
) -> list[str]:
    who = f"claim {side}: " if side else ""
    found = []
    threshold = int(before[f"{prefix}c.threshold"])
    old, new = int(before[f"{prefix}was.lead"]), int(after[f"{prefix}was.lead"])
    if old != new:
        holds = "holds" if new >= threshold else "does not hold"
        found.append(f"{who}{new} of {threshold} blocks held, the predicate {holds}")
    for names, subject in ((_TRUTH, ""), (_BELIEF, "auditor ")):
        for name, (yes, no) in names.items():
            was, now = before[prefix + name], after[prefix + name]
            text = yes if now else no
            if was != now and text:
                found.append(f"{who}{subject}{text}")
    for o in model.observers:
        name = f"{prefix}state.{o.name}"
        left, entered = o.states[int(before[name])], o.states[int(after[name])]
        if left.verdict is not entered.verdict and entered.verdict is not Verdict.UNEXERCISED:
            found.append(f"{who}{o.name} {entered.verdict}")
    return found
