"""The mutation operators for everything but observer rules, and the mutants they make.

A mutation of a shared term or of a ledger applies to all its users: obligations and clauses of the
theorem then share the mistake.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from proofs.model.auditor import BELIEFS, check_reports_only
from proofs.model.environment import POOL
from proofs.model.system import LEDGERS
from proofs.mutation.mutants.shared_terms import TERMS
from proofs.mutation.mutants.terms import SLIPS, slips
from proofs.mutation.mutants.trusted import ORIGINAL, Change, Trusted
from spec.claims.states import Mode
from spec.contract.ledgers import kind, now, req_was, was
from spec.contract.modes import MODES
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.events.fields import REQUEST_KINDS
from spec.language.terms import TRUE, And, Scope, Term, Var, conj, show, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.model.theorems import Clause
    from spec.language.machine import Ledger

__all__ = ["PARTS", "WAYS", "changes"]

PARTS = ("ledgers", "terms", "world", "auditor")
"""What the changes are changes of, by name."""

WAYS: dict[str, str] = {
    **SLIPS,
    "keep": "a register of a ledger keeps its value",
    "without": "the theorem does not speak of a kind of event",
    "restrict": "the most general runtime can do less",
    "excuse": "a clause is not compared where something else holds",
    "wait": "a clause waits for other obligations than it did",
    "void": "a clause, or what the world takes for granted, says nothing",
    "instead": "another order of events is the one that a run must preserve",
}
"""Each operator with what it does, besides those of `proofs.mutation.mutants.rules`."""

_in_hand = req_was.arrived
_holds = c.threshold <= now.lead
_EXCUSES: dict[str, Term] = {
    "the runtime is responsible": now.responsible,
    "the runtime is not responsible": ~now.responsible,
    "a request is in hand": _in_hand,
    "no request is in hand": ~_in_hand,
    "the predicate holds": _holds,
    "the predicate does not hold": ~_holds,
    "others are responsible": e.rest >= 1,
    "nobody else is responsible": e.rest < 1,
    "something was lost before": was.losses >= 1,
    "a restore failed before": was.failures >= 1,
}
_other = ~e.mine & kind(Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED)
_RESTRICTIONS: dict[str, Term] = {
    "no foreign name": e.named.implies(e.mine),
    "no foreign name while a request is in hand": (_in_hand & e.named).implies(e.mine),
    "others frozen": ~_other,
    "others frozen while a request is in hand": _in_hand.implies(~_other),
    "one request": kind(*REQUEST_KINDS).implies(e.here),
    "requests under responsibility alone": (
        (e.here & kind(Kind.REQUEST_ARRIVED)).implies(was.responsible)
    ),
    "nothing is shared": e.shared.eq(0),
    "no other request has needs": e.others.eq(0),
    "nobody else is named": e.blamed_rest.eq(0),
    "nobody is blamed for a restore that did not fail": ~e.blames_unfailed,
    "no invalid blockers": ~e.invalid_blocker,
    "no duplicates": ~e.duplicate,
    "everybody is entitled": e.authorised,
    "no capacity proofs": ~e.proof,
    "no block of the predicate is lost but by eviction": (e.mine & kind(Kind.BLOCK_LOST)).implies(
        e.lead.eq(was.lead)
    ),
    "a copy is lost after responsibility": (e.mine & kind(Kind.HOST_COPY_LOST)).implies(
        ~was.responsible
    ),
    "loads for the request in hand alone": kind(Kind.LOAD_FINISHED, Kind.LOAD_FAILED).implies(
        e.here
    ),
    "a claim has one life": (e.mine & kind(Kind.CLAIM_COMMITTED)).implies(~was.committed),
    "true reports of materialization": (e.mine & kind(Kind.CLAIM_MATERIALIZED)).implies(_holds),
    "no footprint beyond the predicate": (e.mine & kind(Kind.CLAIM_COMMITTED)).implies(
        e.footprint.eq(c.threshold)
    ),
}
"""What a most general runtime must be able to do, each as the rule that would forbid it."""


def changes(part: str) -> tuple[Change, ...]:
    """All changes of a part."""
    return _MADE[part]()


@cache
def _ledgers() -> tuple[Change, ...]:
    return tuple(
        change
        for ledger, before, _ in LEDGERS
        if ledger is not BELIEFS
        for register in (ledger.registers if ledger is not POOL else ledger.registers[:1])
        for change in _register("ledgers", ledger, before, register.name)
    )


def _register(part: str, ledger: Ledger, before: Scope, name: str) -> Iterator[Change]:
    term = ledger.following[name]
    keep = Var(before, name, term.sort)
    if ledger is POOL:
        keep = e.rest
    made: list[tuple[str, str, Term]] = [("keep", "it keeps its value", keep)]
    made += [(s.operator, f"{s.operator}, in {s.part}", s.term) for s in slips(term)]
    for number, (operator, says, changed) in enumerate(_distinct(term, made)):
        after = ORIGINAL.register(ledger.name, name, changed)
        about = f"{ledger.name}, {name}: {says}"
        called = f"{ledger.name}.{name}:{operator}-{number}"
        yield Change(part, called, operator, about, after, _refused(after, ledger, name))


def _refused(after: Trusted, ledger: Ledger, name: str) -> str | None:
    """Why a ledger with this register is invalid: it depends on itself, or reads what it must
    not.
    """
    found = next(each for each, *_ in after.ledgers if each.name == ledger.name)
    if ledger is BELIEFS:
        try:
            check_reports_only(found)
        except ValueError as problem:
            return str(problem)
    scope = next(a for each, _, a in after.ledgers if each.name == ledger.name)
    terms_of = {
        n: t for each, _, a in after.ledgers if a is scope for n, t in each.following.items()
    }
    todo, seen = [name], set[str]()
    while todo:
        read = {v.name for v in variables(terms_of[todo.pop()]) if v.scope is scope} - seen
        if name in read:
            return f"{name} depends on itself"
        seen |= read
        todo += read
    early = scope is Scope.NOW and any(
        v.scope in {Scope.REQ, Scope.REQ_WAS} for v in variables(terms_of[name])
    )
    return f"{name} reads what is not known yet" if early else None


@cache
def _terms() -> tuple[Change, ...]:
    found: list[Change] = []
    seen: set[int] = set()
    for name, forms in TERMS.items():
        for number, made in enumerate(zip(*map(slips, forms), strict=True)):
            first = made[0]
            if all(slip.term == form for slip, form in zip(made, forms, strict=True)):
                continue
            put = {form: slip.term for form, slip in zip(forms, made, strict=True)}
            after = ORIGINAL.instead(put)
            sign = _signature(after)
            if sign in seen or not sign:
                continue
            seen.add(sign)
            says = f"{name}: {first.operator}, in {first.part}"
            found.append(
                Change("terms", f"{name}:{first.operator}-{number}", first.operator, says, after)
            )
    return tuple(found)


def _signature(trusted: Trusted) -> int:
    """Which trusted terms differ from the original; 0 if none does."""
    pairs = zip(_sites(trusted), _sites(ORIGINAL), strict=True)
    other = tuple((i, t) for i, (t, was_) in enumerate(pairs) if t is not was_ and t != was_)
    return hash(other) if other else 0


def _sites(trusted: Trusted) -> Iterator[Term]:
    for ledger, *_ in trusted.ledgers:
        yield from ledger.following.values()
    for observer in trusted.observers.values():
        for rule in observer.rules:
            yield rule.when
            yield from rule.sets.values()
    for clauses in trusted.clauses.values():
        yield from (clause.holds for clause in clauses)
    yield trusted.world


@cache
def _world() -> tuple[Change, ...]:
    found = []
    whole = ORIGINAL.world
    assert isinstance(whole, And)
    for place, part in enumerate(whole.args):
        made: list[tuple[str, str, Term]] = [("void", "it is not assumed", TRUE)]
        made += [(s.operator, f"{s.operator}, in {s.part}", s.term) for s in slips(part)]
        for number, (operator, says, changed) in enumerate(_distinct(part, made)):
            world = conj(*whole.args[:place], changed, *whole.args[place + 1 :])
            about = f"the world, {show(part)}: {says}"
            called = f"world {place}:{operator}-{number}"
            found.append(Change("world", called, operator, about, replace(ORIGINAL, world=world)))
    for says, term in _RESTRICTIONS.items():
        after = replace(ORIGINAL, world=whole & term)
        found.append(Change("world", f"{says}:restrict", "restrict", f"the world: {says}", after))
    for mode, kinds in ORIGINAL.kinds.items():
        for gone in sorted(kinds):
            after = replace(ORIGINAL, kinds={**ORIGINAL.kinds, mode: kinds - {gone}})
            about = f"{mode}: the theorem does not speak of {gone}"
            found.append(Change("world", f"{mode}:without-{gone}", "without", about, after))
    return tuple(found)


@cache
def _auditor() -> tuple[Change, ...]:
    found = [
        change
        for register in BELIEFS.registers
        for change in _register("auditor", BELIEFS, Scope.BELIEVED, register.name)
    ]
    for mode, clauses in ORIGINAL.clauses.items():
        for clause in clauses:
            for number, (operator, says, changed) in enumerate(_clauses(mode, clause)):
                called = f"{mode}.{clause.name}:{operator}-{number}"
                about = f"{mode}, clause {clause.name}: {says}"
                after = ORIGINAL.clause(mode, changed)
                found.append(Change("auditor", called, operator, about, after))
    return tuple(found)


def _clauses(mode: Mode, clause: Clause) -> Iterator[tuple[str, str, Clause]]:
    made: list[tuple[str, str, Term]] = [("void", "it says nothing", TRUE)]
    made += [("excuse", f"not compared where {w}", t | clause.holds) for w, t in _EXCUSES.items()]
    made += [(s.operator, f"{s.operator}, in {s.part}", s.term) for s in slips(clause.holds)]
    for operator, says, changed in _distinct(clause.holds, made):
        yield operator, says, replace(clause, holds=changed)
    yield from (("wait", says, other) for says, other in _waiting(mode, clause))


def _waiting(mode: Mode, clause: Clause) -> Iterator[tuple[str, Clause]]:
    """The clause, waiting for one obligation more or less."""
    for name in MODES[mode].names():
        says = f"it {'does not wait' if name in clause.settled else 'waits'} for {name}"
        yield says, replace(clause, settled=clause.settled ^ {name})


def _distinct(term: Term, made: list[tuple[str, str, Term]]) -> Iterator[tuple[str, str, Term]]:
    """The changes that differ from the original and from each other."""
    seen = {term}
    for operator, says, changed in made:
        if changed not in seen and (changed.sort is term.sort):
            seen.add(changed)
            yield operator, says, changed


_MADE = {"ledgers": _ledgers, "terms": _terms, "world": _world, "auditor": _auditor}
