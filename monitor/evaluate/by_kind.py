"""Compiles terms for one kind of event: what an event of that kind cannot change is left out.

Most kinds change few registers and move few observers. For events of their kind the functions here
equal those of `monitor.evaluate.compile`, where `now` and `req` are the ledgers after the event
(`proofs check frame` proves it).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from monitor.evaluate.python_terms import in_order, to_python
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.language.partial_evaluation import specialize
from spec.language.terms import FALSE, TRUE, Scope, Sort, Var

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monitor.evaluate.observer_state import Registers
    from spec.events.alphabet import Kind
    from spec.language.machine import Ledger, Observer
    from spec.language.partial_evaluation import Known
    from spec.language.terms import Term

__all__ = [
    "following",
    "ledgers_for",
    "source_of",
    "step_for",
    "unchanged_by",
    "unmoved",
]

_CLAIM: Final = (CLAIM_FACTS, DECLARED)
_REQUEST: Final = (REQUEST_FACTS,)
_BEFORE: Final = {Scope.NOW: Scope.WAS, Scope.REQ: Scope.REQ_WAS}


def unmoved(state: int, own: Registers, *_: object) -> tuple[int, Registers, int]:
    """The step of an observer that concludes nothing any more, or that this kind does not move."""
    return state, own, -1


@cache
def ledgers_for(kind: Kind) -> tuple[Callable[..., Any] | None, ...]:
    """`claim`, `request` and `contradicts`; None for one that has nothing to do at this kind."""
    made: dict[str, Any] = {}
    exec(compile(source_of(kind), f"<ledgers at {kind}>", "exec"), made)
    return made.get("claim"), made.get("request"), made.get("contradicts")


_STEPS: dict[tuple[int, Kind], tuple[Observer, Callable[..., Any]]] = {}


def step_for(observer: Observer, kind: Kind) -> Callable[..., Any]:
    """One observer as a function; `unmoved` where no rule applies to the kind."""
    key = id(observer), kind
    if key not in _STEPS:
        made: dict[str, Any] = {}
        exec(compile(source_of(kind, observer), f"<{observer.name} at {kind}>", "exec"), made)
        _STEPS[key] = observer, made.get("observe_0", unmoved)
    return _STEPS[key][1]


def source_of(kind: Kind, observer: Observer | None = None) -> str:
    """The text of the functions for a kind: of an observer, or of the ledgers; empty if none."""
    claim, request, known = _changes(kind)
    if observer is None:
        lines = _ledger("claim", "e, c, was", _CLAIM, Scope.NOW, claim)
        lines += _ledger("request", "e, c, was, now, req_was", _REQUEST, Scope.REQ, request)
        lines += _assumptions(kind)
    else:
        lines = _observer(observer, kind, known)
    return "".join(f"{line}\n" for line in lines)


@cache
def _changes(kind: Kind) -> tuple[dict[str, Term], dict[str, Term], Known]:
    """The registers of a claim and of a request that the kind may change, and the others, known."""
    claim = following(_CLAIM, Scope.NOW, kind, {})
    known = unchanged_by(_CLAIM, claim, Scope.NOW)
    request = following(_REQUEST, Scope.REQ, kind, known)
    return claim, request, {**known, **unchanged_by(_REQUEST, request, Scope.REQ)}


def following(ledgers: Sequence[Ledger], after: Scope, kind: Kind, known: Known) -> dict[str, Term]:
    """The terms of the registers that an event of the kind may change, in their order."""
    unchanged, changed = dict(known), {}
    sorts = {r.name: r.sort for ledger in ledgers for r in ledger.registers}
    for register, term in in_order(tuple(ledgers), after):
        before = Var(_BEFORE[after], register, sorts[register])
        now = specialize(term, kind, unchanged)
        if now == before:
            unchanged[after, register] = before
        else:
            changed[register] = now
    return changed


def unchanged_by(
    ledgers: Sequence[Ledger], changed: Mapping[str, Term], after: Scope
) -> dict[tuple[Scope, str], Term]:
    """The other registers after the event, which are as they were."""
    registers = (r for ledger in ledgers for r in ledger.registers if r.name not in changed)
    return {(after, r.name): Var(_BEFORE[after], r.name, r.sort) for r in registers}


def _ledger(
    name: str,
    arguments: str,
    ledgers: Sequence[Ledger],
    after: Scope,
    changed: Mapping[str, Term],
) -> list[str]:
    if not changed:
        return []
    names: dict[tuple[Scope, str], str] = {}
    lines = [f"def {name}({arguments}):"]
    for register, term in changed.items():
        lines.append(f"    {register} = {to_python(term, names)}")
        names[after, register] = register
    sorts = {r.name: r.sort for ledger in ledgers for r in ledger.registers}
    result = (r if r in changed else _before(after, r, sorts[r]) for r in sorts)
    lines.append(f"    return ({', '.join(result)},)")
    return lines


def _before(after: Scope, register: str, sort: Sort) -> str:
    return to_python(Var(_BEFORE[after], register, sort))


def _observer(o: Observer, kind: Kind, known: Known) -> list[str]:
    states = {s.name: i for i, s in enumerate(o.states)}
    own = {(Scope.OWN, r.name): f"own[{i}]" for i, r in enumerate(o.registers)}
    lines = ["def observe_0(state, own, e, c, was, now, req_was, req):"]
    done = set[int]()  # states in which a rule always applies
    for number, rule in enumerate(o.rules):
        when = specialize(rule.when, kind, known)
        sources = {states[s] for s in o.sources(rule)} - done
        if when == FALSE or not sources:
            continue
        first = min(sources)
        where = f"state == {first}" if len(sources) == 1 else f"state in {sources}"
        both = where if when == TRUE else f"{where} and {to_python(when, own)}"
        if when == TRUE:
            done |= sources
        lines.append(f"    if {both}:")
        after = "own"
        if rule.sets:
            sets = {name: specialize(term, kind, known) for name, term in rule.sets.items()}
            values = [
                to_python(sets[r.name], own) if r.name in sets else own[Scope.OWN, r.name]
                for r in o.registers
            ]
            after = f"({', '.join(values)},)"
        lines.append(f"        return {states[rule.to]}, {after}, {number}")
    if len(lines) == 1:
        return []
    lines.append("    return state, own, -1")
    return lines


def _assumptions(kind: Kind) -> list[str]:
    lines = ["def contradicts(e, c, was):"]
    for index, assumption in enumerate(FACTS_ARE_FACTS):
        holds = specialize(assumption.holds, kind, {})
        if holds != TRUE:
            lines.append(f"    if not {to_python(holds)}:")
            lines.append(f"        return {index}")
    return [*lines, "    return -1"] if len(lines) > 1 else []
