"""The inductive invariant of the states of a runtime under a contract.

It is written by hand and not trusted: `proofs.receptiveness.check` proves with plain Z3 that it
holds initially and after every event. Each part is one invariant with a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from spec.claims.states import RESPONSIBLE, TERMINAL, ClaimState
from spec.contract.ledgers import CLAIM_FACTS, REQUEST_FACTS
from spec.contract.obligations import STATED
from spec.contract.obligations.ends import STAGES
from spec.language.terms import Sort

if TYPE_CHECKING:
    from proofs.logic.encode import Expr
    from proofs.receptiveness.owed import Owed

__all__ = ["invariant"]

_LIVE = tuple(sorted(RESPONSIBLE))
_ENDED = tuple(sorted(TERMINAL - {ClaimState.REFUSED}))


def invariant(of: Owed) -> dict[str, Expr]:
    """The parts of the invariant of a bundle, by name."""
    accepted = _accepted(of) if _accepts(of) else {}
    return _counts(of) | _owed(of) | _harmed(of) | accepted | _staged(of)


def _accepts(of: Owed) -> bool:
    return "explicit_acceptance" in of.observers


def _counts(of: Owed) -> dict[str, Expr]:
    const = of.system.numbers.const
    ledgers = (("was", CLAIM_FACTS), ("req_was", REQUEST_FACTS))
    counts = [
        const(0) <= of[f"{scope}.{r.name}"]
        for scope, ledger in ledgers
        for r in ledger.registers
        if r.sort is Sort.INT
    ]
    counts += [const(0) <= of["was.rest"], const(0) <= of["was.declared"]]
    within = [
        z3.And(const(0) <= of[f"state.{name}"], of[f"state.{name}"] < const(len(o.states)))
        for name, o in of.observers.items()
    ]
    return {
        "counts count": z3.And(*counts, const(1) <= of["c.threshold"]),
        "states are states": z3.And(within),
        "nothing is violated": of.unviolated,
        "what arrived was seen": z3.Implies(of["req_was.arrived"], of["req_was.seen"]),
        "what failed was seen": z3.Implies(of["req_was.failed"], of["req_was.seen"]),
        "responsible is committed": z3.Implies(of["was.responsible"], of["was.committed"]),
        "committed is registered": z3.Implies(of["was.committed"], of["was.registered"]),
    }


def _owed(of: Owed) -> dict[str, Expr]:
    """What must hold where a report is owed, so that it is possible and correct."""
    parts: dict[str, list[Expr]] = {}
    for name, stated in STATED.items():
        for each in stated.invariants:
            stands = of.at(name, *each.states)
            parts.setdefault(each.name, []).append(z3.Implies(stands, of.value(each.holds)))
    return {name: z3.And(holds) for name, holds in parts.items()}


def _harmed(of: Owed) -> dict[str, Expr]:
    """How the losses, the harm that was reported and what is still owed of it add up."""
    if "claim_harm_attribution" not in of.observers:
        return {}
    losses, harms, failures = of["was.losses"], of["believed.harms"], of["was.failures"]
    unreported = of["own.claim_harm_attribution.harms_owed"]
    one = of.system.numbers.const(1)

    def at(*states: str) -> Expr:
        return of.at("claim_harm_attribution", *states)

    return {
        "each loss is reported or owed": z3.And(
            z3.Implies(at("owed"), z3.And(one <= unreported, losses <= harms + unreported)),
            z3.Implies(z3.Not(at("owed")), losses <= harms),
        ),
        "no harm is reported but of a loss or a failure": z3.And(
            z3.Implies(at("owed"), harms + unreported <= losses + failures),
            z3.Implies(at("failed", "aside", "stated"), harms + one <= losses + failures),
            harms <= losses + failures,
        ),
    }


def _accepted(of: Owed) -> dict[str, Expr]:
    """What acceptance, owed or reported, implies for the registry and the other claims."""
    at = of.at
    owed, accepted = (at("explicit_acceptance", state) for state in ("owed", "accepted"))
    harm = at("claim_harm_attribution", "owed", "failed")
    boundary = at("claim_expired_boundary", "owed")
    later = [at(name, "owed") for name in ("ordered_lifecycle_events", "offload_restorability")]
    later += [at("offload_restorability", "harmed")]
    return {
        "committed is owed or accepted": of["was.committed"] == z3.Or(owed, accepted),
        "an end or a restore is owed after acceptance": z3.Implies(z3.Or(later), accepted),
        "harm is of what was committed": z3.Implies(harm, of["was.committed"]),
        "a rise owed is of what is held responsibly": z3.Implies(
            at("claim_materialized_event", "owed"), of["was.responsible"]
        ),
        "a boundary owed ended a commitment": z3.Implies(
            boundary, z3.And(of["was.committed"], z3.Not(of["was.responsible"]))
        ),
        "harm owed is under responsibility, but for a boundary": z3.Implies(
            at("claim_harm_attribution", "owed"),
            z3.Or(of["was.responsible"], z3.BoolVal("claim_expired_boundary" in of.observers)),
        ),
    }


def _staged(of: Owed) -> dict[str, Expr]:
    """The state of the lifecycle while something is owed."""
    if not of.staged:
        return {}
    stage = of.stage
    accepted = of.at("explicit_acceptance", "accepted")
    owed = [of.at("claim_harm_attribution", "owed"), of.at("claim_expired_boundary", "owed")]
    ended = z3.And(stage(*_LIVE), z3.Not(of["was.responsible"]), z3.Not(z3.Or(owed)))
    before = stage(ClaimState.SUBMITTED, ClaimState.REFUSED)
    return {
        "a stage is a stage": stage(*STAGES),
        "the lifecycle begins with acceptance": z3.Implies(accepted, z3.Not(before)),
        "or it ends without": z3.Or(
            accepted, before, z3.And(stage(ClaimState.RELEASED), z3.Not(of["was.committed"]))
        ),
        "acceptance is owed before anything is told": z3.Implies(
            of.at("explicit_acceptance", "owed"), stage(ClaimState.SUBMITTED)
        ),
        "harm and a boundary are owed before the end is told": z3.Implies(
            z3.Or(owed), z3.Not(stage(*_ENDED))
        ),
        "what was ended is not held": z3.Implies(stage(*_ENDED), z3.Not(of["was.responsible"])),
        "an end owed can be told": z3.Implies(of.at("ordered_lifecycle_events", "owed"), ended),
    }
