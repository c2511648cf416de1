"""Describes a run event by event: what happened, and how facts and beliefs changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from proofs.engines.bounded.minimise import CARRIES, CHOICE
from proofs.traces.endings import Ending, endings
from spec.claims.states import ClaimState, next_state
from spec.events.alphabet import CONFLICT_ACTIONS, ENDS, FACTS, KINDS, Kind
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.engines.bounded.unrolling import Found, Value
    from proofs.model.of_mode import Model

__all__ = ["Line", "Standing", "tell"]

_TRUTH = {
    "was.responsible": ("the runtime is responsible", "the runtime is not responsible any more"),
    "was.host": ("a copy is in the offload tier", "no copy is in the offload tier any more"),
    "req_was.loaded": ("the claim is loaded for the request", "what was loaded does not count"),
    "req_was.failed": ("a restore failed for the request", ""),
}
_BELIEF = {
    "believed.responsible": ("believes in it", "believes in it no more"),
    "believed.useful": ("believes it usable", "believes it unusable"),
    "believed.acted": ("received a report of an action", ""),
    "believed.restored": ("believes it restored", "believes a restore is due"),
}
# No event carries these fields.
_DERIVED = frozenset(
    {
        *("stored", "restorable", "overstates", "intact", "unfounded_failure"),
        *("several_unreported", "matches_oldest"),
    }
)
_RANKS = ("lower_priority_available", "higher_priority_kept")
_OTHER_SENTENCES = _DERIVED | {"blames_unfailed", "duplicate", "authorised", *_RANKS, *CHOICE}
_FIELDS: dict[Kind, tuple[str, ...]] = {
    kind: tuple(name for name in names if name not in _OTHER_SENTENCES)
    for kind, names in CARRIES.items()
    if kind not in CONFLICT_ACTIONS | {Kind.CLAIM_RETIRED}  # blame, and what others gave up
}
_PROOF = ("resident", "active", "total", "usable", "shortfall")


class Standing(msgspec.Struct, frozen=True):
    """The state of a claim after an event: its lifecycle as reported, the rest from the facts.

    `claim` is empty where only one claim is followed.
    """

    claim: str
    state: str
    responsible: bool
    held: int
    threshold: int
    copy: bool

    def __str__(self) -> str:
        who = f"claim {self.claim}: " if self.claim else ""
        duty = "" if self.responsible else "not "
        copy = ", a copy in the tier" if self.copy else ""
        return f"{who}{self.state}, {duty}responsible, {self.held} of {self.threshold} held{copy}"


class Line(msgspec.Struct, frozen=True):
    """One event of a run; `fact` distinguishes facts from reports; `changes` lists only what
    changed.

    `about` names the claims and requests concerned and the fields. `claims` is the state of each
    claim afterwards; `fails` is empty except on the last line of a run that breaks a clause.
    """

    number: int
    kind: str
    fact: bool
    about: str
    says: str
    changes: list[str]
    claims: list[Standing] = []
    fails: list[Ending] = []


def tell(model: Model, found: Found) -> list[Line]:
    """Describe a run, one line an event."""
    lines = []
    reported = dict.fromkeys(model.sides, ClaimState.SUBMITTED)
    for number, event in enumerate(found.events, start=1):
        kind = model.alphabet[int(event["kind"])]
        before, after = found.states[number - 1], found.states[number]
        for side, state in reported.items():
            if event[model.mine(side)] and event[_named(model, side)]:
                offloads = kind is Kind.CLAIM_OFFLOADED and event["by"]
                reported[side] = (
                    next_state(state, Kind.CLAIM_DEMOTED if offloads else kind) or state
                )
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
                claims=[
                    _standing(side, prefix, reported[side], after)
                    for side, prefix in model.sides.items()
                ],
                fails=endings(model, found) if number == len(found.events) else [],
            )
        )
    return lines


_ONLY_WHERE_SO = frozenset({"shared", "rest_since_arrival", "found", "covers", "by"})


def _named(model: Model, side: str) -> str:
    """The event field that says whether an event names this claim."""
    return model.mine(side).replace("mine", "named")


def _standing(side: str, prefix: str, state: ClaimState, after: Mapping[str, Value]) -> Standing:
    return Standing(
        side,
        state,
        bool(after[f"{prefix}was.responsible"]),
        int(after[f"{prefix}was.lead"]),
        int(after[f"{prefix}c.threshold"]),
        bool(after[f"{prefix}was.host"]),
    )


def _about(model: Model, kind: Kind, event: Mapping[str, Value]) -> str:
    mine = [side for side in model.sides if event[model.mine(side)]]
    named = [side for side in model.sides if event[_named(model, side)]]
    if mine:
        parts = [_who(mine[0]) if mine == named else f"{_who(mine[0])} under another id"]
    elif named:
        parts = [f"another object under the id of {_who(named[0])}"]
    elif event["here"]:
        parts = ["the request"]
    else:
        parts = ["another claim"]
    stated = [n for n in _FIELDS.get(kind, ()) if event[n] or n not in _ONLY_WHERE_SO]
    parts += [f"{_label(name)} {_shown(event[name])}" for name in stated]
    if kind is Kind.BLOCK_EVICTED:
        parts += _choice(model, event)
    if kind in ENDS and not event["authorised"]:
        parts.append("by a stranger")
    if kind in CONFLICT_ACTIONS:
        parts += _blames(event)
    return ", ".join(parts)


def _choice(model: Model, event: Mapping[str, Value]) -> list[str]:
    """The claims whose blocks the eviction could have taken, where claims are ranked."""
    if len(model.sides) == 1:
        return ["passed over a lower one"] if event["lower_priority_available"] else []
    others = [side for side in model.sides if not event[model.mine(side)]]
    return [f"claim {side} had one to take" for side in others if event[f"takeable.{side}"]]


def _label(name: str) -> str:
    return "held" if name == "lead" else name.replace("_", " ")


def _who(side: str) -> str:
    return f"claim {side}" if side else "the claim"


def _blames(event: Mapping[str, Value]) -> list[str]:
    blamed = ["the claim"] if event["blamed"] else []
    blamed += ["others"] if event["blamed_rest"] else []
    blamed += ["a stranger"] if event["invalid_blocker"] else []
    parts = [f"blames {' and '.join(blamed) or 'no claim'}"]
    if event["restore"]:
        parts.append("for a failed restore")
    if event["proof"]:
        counts = [f"{name} {event[f'said_{name}']}" for name in _PROOF]
        parts.append(f"proof: {', '.join(counts)}")
    return parts


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
