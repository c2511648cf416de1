"""Renders terms and rules as text: shared terms by name, rules as sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spec.claims.states import ClaimState
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import (
    breaks,
    conflict,
    demotes,
    ends,
    kind,
    live,
    loss,
    now,
    req,
    req_was,
    rises,
    usable,
    was,
)
from spec.contract.obligations.ends import lifecycle_allows, lifecycle_follows
from spec.contract.obligations.pressure import blame_is_right
from spec.events.alphabet import CONFLICT_ACTIONS, LIFECYCLE_REPORTS, REPORTS, Kind
from spec.language.machine import Guard
from spec.language.terms import And, KindIn, Or, Scope, Sort, Term, Var, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.language.machine import Observer, Rule

__all__ = [
    "GUARD_MEANS",
    "KIND_SETS",
    "MUST",
    "SCOPE_MEANS",
    "SHARED",
    "definition",
    "occasion",
    "rule_in_words",
    "term_text",
]

GUARD_MEANS: Final[Mapping[Guard, str]] = {
    Guard.OWED: "something happened that must now be reported or done",
    Guard.DISCHARGED: "what was owed was reported or done, or an event was as required",
    Guard.FALSE_REPORT: "a report that the facts contradict",
    Guard.DUE: "what is owed was not reported or done in time",
    Guard.FORBIDDEN: "an action that the obligation forbids",
    Guard.NOTED: "a fact that later events are compared with",
    Guard.MOOT: "what was owed is no longer owed, and nothing was violated",
}
"""The meaning of each guard."""

MUST: Final[Mapping[str, str]] = {
    "claim_identity": "reports that name the claim are about its object, and reports about the "
    "object name the claim",
    "explicit_acceptance": "acceptance is reported in time, and before any other report",
    "materialization_predicate": "reports about the predicate agree with the positions held",
    "footprint_accounting": "footprints and capacity proofs are reported, and they add up",
    "ordered_lifecycle_events": "reports follow the lifecycle, and every end is reported in time",
    "claim_materialized_event": "it is reported in time that the predicate became true",
    "claim_demoted_before_loss": "a demotion is reported before an eviction makes the "
    "predicate false",
    "claim_expired_boundary": "the end of the duration is reported, and no eviction comes "
    "before it",
    "offload_restorability": "the claim is restored from the offload tier before it is reused",
    "restoration_failure_outcome": "a failed restore ends in an outcome that names the claim",
    "victim_exclusion_before_violation": "no block of the claim is a victim while the runtime "
    "is responsible",
    "explicit_conflict_action": "a request that does not fit beside the claim gets an explicit "
    "action",
    "blocking_claim_ids": "the action names the claims that explain it",
    "claim_harm_attribution": "a loss of the claim is reported as its harm, in time and only "
    "if it happened",
    "claim_scoped_telemetry": "each loss of the claim is reported under its id, in time",
    "priority_influence": "under pressure the claim of lower priority loses blocks first",
    "route_cost_attribution": "the cost of a route is reported for the claim, as it was",
    "placement_attribution": "the worker that was chosen is reported for the claim, as it was",
    "reuse_routing_attribution": "whether reuse followed is reported for the claim, as it was",
}
"""What must hold by each obligation, in one line."""

SCOPE_MEANS: Final[Mapping[Scope, str]] = {
    Scope.EVENT: "a field of the current event, as computed for this claim",
    Scope.CLAIM: "a constant of the claim or of the mode",
    Scope.WAS: "the facts about the claim before the event",
    Scope.NOW: "the same after the event",
    Scope.REQ_WAS: "the facts about the request that is followed, before the event",
    Scope.REQ: "the same after the event",
    Scope.OWN: "a register of the observer itself; `stage` is a state of the lifecycle: "
    + ", ".join(f"{number} {state}" for number, state in enumerate(ClaimState)),
    Scope.BELIEVED: "the auditor's conclusions before the event",
    Scope.BELIEVES: "the same after the event",
}
"""The meaning of each prefix of a variable."""

_stage = Var(Scope.OWN, "stage", Sort.INT)
_TABLE: Final = "by the table of docs/lifecycle.md"

SHARED: Final[Mapping[str, tuple[Term, str]]] = {
    "CLOSES": (CLOSES, "what is owed for the claim is due: the interpretation due-by"),
    "DEMOTES": (
        demotes,
        "the report states a demotion, or an offload that ends responsibility",
    ),
    "ENDS": (ends, "the report states the end of responsibility"),
    "LIFECYCLE_ALLOWS": (
        lifecycle_allows(_stage),
        f"the lifecycle allows the report in this state, {_TABLE}",
    ),
    "NEXT_STAGE": (
        lifecycle_follows(_stage),
        f"the lifecycle state after the report, {_TABLE}",
    ),
    "BLAME_IS_RIGHT": (blame_is_right(was.declared), "the blocking ids explain the action"),
    "CONFLICT": (conflict(was.declared, req_was), "the request does not fit beside the claims"),
    "CONFLICT_NOW": (conflict(was.declared, req), "the same, of the request that just arrived"),
    "RISES": (rises, "the predicate became true while reports about the claim were owed"),
    "LOSS": (loss, "the predicate became false while the runtime was responsible"),
    "BREAKS": (breaks, "the claim was usable or restorable and no longer is"),
    "LIVE_WAS": (live(was), "reports about the claim were owed"),
    "LIVE_NOW": (live(now), "reports about the claim are owed"),
    "USABLE_WAS": (usable(was), "the predicate held, or a copy that can be restored existed"),
    "USABLE_NOW": (usable(now), "the predicate holds, or a copy that can be restored exists"),
}
"""Terms that several rules share, by the name that `term_text` shows, with their meaning."""

KIND_SETS: Final[Mapping[str, frozenset[Kind]]] = {
    "CONFLICT_ACTIONS": CONFLICT_ACTIONS,
    "ACTIONS_BUT_DEFERRAL": CONFLICT_ACTIONS - {Kind.REQUEST_DEFERRED},
    "LIFECYCLE_REPORTS": LIFECYCLE_REPORTS,
    "CLAIM_REPORTS": REPORTS - CONFLICT_ACTIONS,
}
"""Sets of kinds that rules share, by the name that is shown."""

_SHOWN: Final = sorted(
    ((show(term), name) for name, (term, _) in SHARED.items()), key=lambda pair: -len(pair[0])
)
_SETS: Final = [
    (show(kind(*kinds)), f"e.kind in {name}") for name, kinds in KIND_SETS.items()
]  # operands that need parentheses have them; "not" alone binds the first part of a bare text


def term_text(term: Term) -> str:
    """The term as `spec.language.terms.show` writes it, with shared parts under their names."""
    return _named(show(term), _SHOWN)


def definition(name: str) -> str:
    """The definition of the shared term `name`, in other shared terms; raises KeyError."""
    text = show(SHARED[name][0])
    return _named(text, [pair for pair in _SHOWN if len(pair[0]) < len(text)])


def _named(text: str, shown: list[tuple[str, str]]) -> str:
    for long, name in shown:
        text = text.replace(f"({long})", name)
        text = re.sub(rf"(?<!not )(?<![\w.]){re.escape(long)}(?!\w)", name, text)
    for long, name in _SETS:
        text = text.replace(long, name)
    return text


_SHORT: Final = 2


_CLOSES: Final = frozenset(CLOSES.args if isinstance(CLOSES, Or) else (CLOSES,))


def occasion(term: Term) -> str:
    """The kinds of event that a guard waits for if they are few; otherwise the empty text."""
    if term == CLOSES or (isinstance(term, Or) and set(term.args) >= _CLOSES):
        return "at the due-by boundary"
    for part in term.args if isinstance(term, And) else (term,):
        if isinstance(part, KindIn) and len(part.kinds) <= _SHORT:
            return " or ".join(sorted(part.kinds))
    return ""


def rule_in_words(observer: Observer, rule: Rule) -> str:
    """The rule as a sentence: source states, target state, reason, and what was expected
    instead.
    """
    everywhere = not rule.source
    where = "in any state" if everywhere else "in " + " or ".join(f"*{s}*" for s in rule.source)
    stays = observer.sources(rule) == (rule.to,)
    text = f"{where}, {'stay there' if stays else f'go to *{rule.to}*'}, because {rule.why}."
    return f"{text} Expected instead: {rule.allowed}." if rule.allowed else text
