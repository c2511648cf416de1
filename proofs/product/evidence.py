"""Makes a descriptor of what a search found: evidence by a model instead of by a curator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proofs.product.search import Answer
from spec.contract.modes import REPORTED_BY
from spec.contract.supply import Depth
from spec.lowering.depths import PRECONDITIONS
from spec.lowering.descriptor import SCHEMA, Descriptor
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.vocabulary import ATOMS_FOR, Basis, ClaimScope, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.product.search import Outcome
    from proofs.product.subject import Subject

__all__ = ["derived"]


def derived(subject: Subject, outcomes: Mapping[str, Outcome]) -> Descriptor:
    """The descriptor of a runtime of which exactly this was found.

    What a run shows of a runtime with claims is of the claim. The claims of a runtime without are
    named afterwards, by the shim; the relation counts no such run.
    """
    named = ClaimScope.SAME_CLAIM if subject.inference is None else ClaimScope.NAMED_AFTERWARDS
    name = subject.runtime.partition(":")[0]
    path = f"{type(subject.model).__module__.replace('.', '/')}.py"
    anchors: dict[str, Any] = {
        "model": {
            "kind": "source",
            "path": path,
            "note": subject.model.source,
        }
    }
    items = []
    for obligation, outcome in outcomes.items():
        item: dict[str, Any] = {
            "obligation": obligation,
            "modes": [subject.mode],
            "anchor": obligation,
        }
        anchors[obligation] = {
            "kind": "trace",
            "path": path,
            "note": f"{outcome.answer}; {outcome.states} states, {outcome.transitions} transitions",
            "order": [RELEVANT_ORDER[obligation]],
            "claim": named,
            "basis": Basis.CLAIM_EVENTS,
        }
        holds = outcome.answer is Answer.KEPT
        item["status"] = Status.SUPPORTED if holds else Status.MISSING
        item["scope"] = Scope.CONFORMANCE_TRACE
        if holds and obligation == "explicit_conflict_action":
            item["action"] = _action(outcome, subject)
        items.append(item)
    depth = subject.model.depth
    hold = [{"precondition": each, "anchor": "model"} for each in PRECONDITIONS[depth]]
    native = depth is Depth.NONE
    adapter = {} if native else {"depth": depth, "preconditions": hold, "evidence": items}
    kept = [each for each, outcome in outcomes.items() if outcome.answer is Answer.KEPT]
    atoms = {atom: each for each in kept for atom in ATOMS_FOR.get(each, ())}
    return Descriptor.model_validate(
        {
            "schema": SCHEMA,
            "name": name,
            "runtime": subject.model.name,
            "version": subject.model.source,
            "about": subject.model.about,
            "anchors": anchors,
            **({"adapters": [adapter]} if adapter else {"native": items}),
            "observations": [{"atom": atom, "anchor": each} for atom, each in atoms.items()],
            "signals": [
                {"signal": each, "status": "supported", "anchor": "model"}
                for each in subject.premises
            ],
        }
    )


def _action(outcome: Outcome, subject: Subject) -> str:
    """The explicit action of the run that keeps the obligation."""
    kinds = {each.kind for each in outcome.run.events(subject.shim)} if outcome.run else set()
    return next((str(a) for a, says in REPORTED_BY.items() if kinds & set(says)), "refuse")
