"""What lets the monitor leave out steps: which observers of a request an event cannot move."""

from __future__ import annotations

from typing import Any

import z3

from proofs.logic.encode import Integers, encode, variable
from spec.contract.ledgers import CLAIM_FACTS
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.machine import Rule
from spec.language.terms import Scope, variables

NUMBERS = Integers()
ANY = {kind: z3.Bool(kind.value) for kind in Kind}
OF_A_REQUEST = (Scope.REQ, Scope.REQ_WAS)
ENDS = (Kind.CLAIM_RETIRED, Kind.DURATION_ELAPSED)


def reads_a_request(rule: Rule) -> bool:
    """Whether the rule reads anything that is not the same for all requests of a claim."""
    read = [v for term in (rule.when, *rule.sets.values()) for v in variables(term)]
    return any(v.scope in OF_A_REQUEST or v.name == "here" for v in read)


def possible(rule: Rule, kinds: dict[Kind, Any], **known: bool) -> bool:
    """Whether the rule can be taken where these fields are known.

    An event that is not about the claim leaves the claim's ledger as it was.
    """
    names = {
        (scope, v.name): variable(f"{scope}.{v.name}", v.sort, NUMBERS)
        for v in variables(rule.when)
        for scope in {v.scope, *((Scope.WAS, Scope.NOW) if v.scope is Scope.NOW else ())}
    }
    solver = z3.Solver()
    solver.add(encode(rule.when, lambda scope, name: names[scope, name], kinds, NUMBERS))
    solver.add([names[p] == known[p[1]] for p in names if p[1] in known])
    if known.get("mine") is False:
        facts = [register.name for register in CLAIM_FACTS.registers]
        same = [
            (names[Scope.NOW, n], names[Scope.WAS, n]) for n in facts if (Scope.NOW, n) in names
        ]
        solver.add([now == was for now, was in same])
    return bool(solver.check() == z3.sat)


class TestScopes:
    def test_claims(self) -> None:
        """An observer that is not followed for each request reads nothing of a request."""
        for observer in OBLIGATIONS.values():
            if not observer.per_request:
                assert not [r.name for r in observer.rules if reads_a_request(r)], observer.name

    def test_requests(self) -> None:
        """One that is followed for each is moved by what is neither about the claim nor of the
        request in two cases, which the next tests show to be none."""
        moved = {
            (observer.name, rule.name): rule.source
            for observer in OBLIGATIONS.values()
            if observer.per_request
            for rule in observer.rules
            if possible(rule, ANY, mine=False, here=False)
        }
        assert {
            ("claim_harm_attribution", "harm_not_reported"): ("owed",),
            ("offload_restorability", "responsibility_ended"): ("owed",),
        } == moved

    def test_harm(self) -> None:
        """Harm that is owed in a request's scope is owed in the claim's own."""
        harm = OBLIGATIONS["claim_harm_attribution"]
        counting = [rule for rule in harm.rules if rule.to == "owed"]
        assert not [rule.name for rule in counting if reads_a_request(rule)]
        entering = [rule for rule in counting if rule.source != ("owed",)]
        assert ["lost_while_responsible"] == [rule.name for rule in entering]
        others = {s.name for s in harm.states} - {"owed", "violated"}
        assert others == set(entering[0].source)

    def test_restore(self) -> None:
        """A restore that is owed is settled by the very event that ends responsibility."""
        restore = OBLIGATIONS["offload_restorability"]
        names = [rule.name for rule in restore.rules]
        before = restore.rules[: names.index("responsibility_ended")]
        for kind in ENDS:
            kinds = {k: z3.BoolVal(k is kind) for k in Kind}
            assert possible(restore.rules[names.index("responsibility_ended")], kinds, mine=True)
            assert not [r.name for r in before if possible(r, kinds, mine=True)]
