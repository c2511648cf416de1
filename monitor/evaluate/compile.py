"""Compiles terms to Python source.

Each ledger becomes a function from its old registers to its new ones, and each observer a function
from its state to the next, with the index of the rule that was taken. The source is made from the
specification alone, never from data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from monitor.evaluate.fields import POOL
from monitor.evaluate.observer_state import ObserverState, Registers
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.observed import facts_of
from spec.language.terms import (
    And,
    Arith,
    Compare,
    Const,
    Ite,
    KindIn,
    Not,
    Or,
    Scope,
    Term,
    Var,
    variables,
)
from spec.language.verdicts import Verdict
from spec.projection.delivery import DELIVERY, STANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spec.claims.claim import Mode
    from spec.contract.modes import Bundle
    from spec.events.alphabet import Kind
    from spec.language.machine import Ledger, Observer

__all__ = [
    "CLAIM_REGISTERS",
    "REQUEST_REGISTERS",
    "Compiled",
    "compile_mode",
    "compile_observer",
    "delivery_source",
    "to_python",
]

CLAIM_REGISTERS: tuple[str, ...] = tuple(
    r.name for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers
)
REQUEST_REGISTERS: tuple[str, ...] = tuple(r.name for r in REQUEST_FACTS.registers)

_PLACES = {
    Scope.WAS: ("was", CLAIM_REGISTERS),
    Scope.NOW: ("now", CLAIM_REGISTERS),
    Scope.REQ_WAS: ("req_was", REQUEST_REGISTERS),
    Scope.REQ: ("req", REQUEST_REGISTERS),
}


@dataclass(frozen=True)
class Compiled:
    """One bundle of a mode, ready to step.

    `claim(e, c, was)` and `request(e, c, was, now, req_was)` give the registers after an event;
    `steps[i](state, own, e, c, was, now, req_was, req)` gives state, own registers and the
    index of the rule taken, or -1. `contradicts(e, c, was)` gives the index of the assumption in
    `FACTS_ARE_FACTS` that an event breaks, or -1. `delivers[scope](e, c, was, now, req_was, req,
    stands)` says whether an event is delivered there (`spec.projection.delivery`).
    """

    mode: Mode
    observers: tuple[Observer, ...]
    claim: Callable[..., Registers]
    request: Callable[..., Registers]
    steps: tuple[Callable[..., tuple[int, Registers, int]], ...]
    contradicts: Callable[..., int]
    delivers: Mapping[str, Callable[..., bool]]
    source: str

    @cached_property
    def claim_initial(self) -> Registers:
        """The initial values of the claim's registers."""
        return tuple(r.initial for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers)

    @cached_property
    def request_initial(self) -> Registers:
        """The initial values of a request's registers."""
        return tuple(r.initial for r in REQUEST_FACTS.registers)

    @cached_property
    def own_initial(self) -> tuple[Registers, ...]:
        """The initial values of each observer's registers."""
        return tuple(tuple(r.initial for r in o.registers) for o in self.observers)

    @cached_property
    def first(self) -> tuple[ObserverState, ...]:
        """Where the observers stand before any event; all claims have these in common."""
        return tuple(ObserverState(0, own) for own in self.own_initial)

    @cached_property
    def scoped(self) -> tuple[int, ...]:
        """The observers that are followed for each request, too."""
        return tuple(index for index, o in enumerate(self.observers) if o.per_request)

    @cached_property
    def pending(self) -> tuple[frozenset[int], ...]:
        """For each observer the states in which something is owed."""
        return tuple(_having(o, Verdict.PENDING) for o in self.observers)

    @cached_property
    def facts(self) -> tuple[frozenset[Kind], ...]:
        """For each observer the kinds of facts that it rests on."""
        return tuple(map(facts_of, self.observers))

    @cached_property
    def reads(self) -> tuple[frozenset[str], ...]:
        """For each observer the fields of events that it reads."""
        return tuple(map(_fields, self.observers))

    @cached_property
    def pooled(self) -> tuple[bool, ...]:
        """For each observer whether it reads what rests on all claims of the pool."""
        return tuple(not POOL.isdisjoint(read) for read in self.reads)

    @cached_property
    def violated(self) -> tuple[frozenset[int], ...]:
        """For each observer the states in which it is broken for good."""
        return tuple(_having(o, Verdict.VIOLATED) for o in self.observers)


def _fields(observer: Observer) -> frozenset[str]:
    terms = [t for rule in observer.rules for t in (rule.when, *rule.sets.values())]
    read = [variable for term in terms for variable in variables(term)]
    return frozenset(variable.name for variable in read if variable.scope is Scope.EVENT)


def _having(observer: Observer, verdict: Verdict) -> frozenset[int]:
    return frozenset(i for i, state in enumerate(observer.states) if state.verdict is verdict)


def to_python(term: Term, names: Mapping[tuple[Scope, str], str] | None = None) -> str:
    """A term as a Python expression over `e`, `c`, `was`, `now`, `req_was` and `req`.

    Args:
        names: expressions for variables that live elsewhere, such as an observer's own registers.
    """
    known = names or {}

    def go(t: Term) -> str:
        match t:
            case Const(value):
                return repr(value)
            case Var(scope, name, _) if (scope, name) in known:
                return known[scope, name]
            case Var(Scope.EVENT, name, _):
                return f"e.{name}"
            case Var(Scope.CLAIM, name, _):
                return f"c.{name}"
            case Var(scope, name, _):
                place, registers = _PLACES[scope]
                return f"{place}[{registers.index(name)}]"
            case KindIn(kinds):
                return _kinds(kinds)
            case Not(arg):
                return f"(not {go(arg)})"
            case And(args):
                return "(" + " and ".join(map(go, args)) + ")"
            case Or(args):
                return "(" + " or ".join(map(go, args)) + ")"
            case Compare(op, left, right) | Arith(op, left, right):
                return f"({go(left)} {op} {go(right)})"
            case Ite(cond, then, otherwise):
                return f"({go(then)} if {go(cond)} else {go(otherwise)})"
        raise TypeError(f"not a term: {t!r}")

    return go(term)


def _kinds(kinds: frozenset[Kind]) -> str:
    names = sorted(str(k) for k in kinds)
    return f"(e.kind == {names[0]!r})" if len(names) == 1 else f"(e.kind in {{{str(names)[1:-1]}}})"


def _ledger(name: str, arguments: str, ledgers: tuple[Ledger, ...], after: Scope) -> list[str]:
    """A function computing registers in an order in which none is read before it is known."""
    terms = {r.name: ledger.following[r.name] for ledger in ledgers for r in ledger.registers}
    known: dict[tuple[Scope, str], str] = {}
    lines = [f"def {name}({arguments}):"]
    while len(known) < len(terms):
        ready = [
            register
            for register, term in terms.items()
            if (after, register) not in known
            and all((after, v.name) in known for v in variables(term) if v.scope is after)
        ]
        if not ready:
            raise ValueError(f"{name}: registers depend on each other in a circle")
        for register in ready:
            lines.append(f"    {register} = {to_python(terms[register], known)}")
            known[after, register] = register
    lines.append(f"    return ({', '.join(terms)},)")
    return lines


def _observer(index: int, o: Observer) -> list[str]:
    states = {s.name: i for i, s in enumerate(o.states)}
    own = {(Scope.OWN, r.name): f"own[{i}]" for i, r in enumerate(o.registers)}
    lines = [f"def observe_{index}(state, own, e, c, was, now, req_was, req):  # {o.name}"]
    for number, rule in enumerate(o.rules):
        sources = sorted(states[s] for s in o.sources(rule))
        where = f"state == {sources[0]}" if len(sources) == 1 else f"state in {set(sources)}"
        lines.append(f"    if {where} and {to_python(rule.when, own)}:")
        values = [
            to_python(rule.sets[r.name], own) if r.name in rule.sets else own[Scope.OWN, r.name]
            for r in o.registers
        ]
        after = f"({', '.join(values)},)" if values else "own"
        lines.append(f"        return {states[rule.to]}, {after}, {number}")
    lines.append("    return state, own, -1")
    return lines


def _assumptions() -> list[str]:
    """What facts are, as a function that says which of it an event breaks."""
    lines = ["def contradicts(e, c, was):"]
    for index, assumption in enumerate(FACTS_ARE_FACTS):
        lines.append(f"    if not {to_python(assumption.holds)}:")
        lines.append(f"        return {index}  # {assumption.name}")
    lines.append("    return -1")
    return lines


def compile_observer(observer: Observer) -> Callable[..., tuple[int, Registers, int]]:
    """One observer as a function, the same that `compile_mode` makes of it."""
    made: dict[str, Any] = {}
    source = "\n".join(_observer(0, observer)) + "\n"
    exec(compile(source, f"<{observer.name}>", "exec"), made)
    step: Callable[..., tuple[int, Registers, int]] = made["observe_0"]
    return step


def delivery_source() -> str:
    """The text of the functions of `compile_delivery`."""
    names = {(Scope.STANDS, name): f"stands.{name}" for name in STANDS}
    lines = []
    for scope in DELIVERY.reasons:
        lines.append(f"def {scope}(e, c, was, now, req_was, req, stands):")
        lines.append(f"    return {to_python(DELIVERY.term(scope), names)}")
    return "\n".join(lines) + "\n"


@cache
def compile_delivery() -> Mapping[str, Callable[..., bool]]:
    """When an event is delivered to the claim itself, to a request, or opens one."""
    made: dict[str, Any] = {}
    exec(compile(delivery_source(), "<delivery>", "exec"), made)
    return {scope: made[scope] for scope in DELIVERY.reasons}


@cache
def compile_mode(mode: Mode, bundle: Bundle) -> Compiled:
    """The observers of a mode's bundle as functions."""
    observers = MODES[mode].bundle(bundle)
    lines = _ledger("claim", "e, c, was", (CLAIM_FACTS, DECLARED), Scope.NOW)
    lines += _ledger("request", "e, c, was, now, req_was", (REQUEST_FACTS,), Scope.REQ)
    for index, observer in enumerate(observers):
        lines += _observer(index, observer)
    lines += _assumptions()
    source = "\n".join(lines) + "\n"
    made: dict[str, Any] = {}
    exec(compile(source, f"<observers of {mode}>", "exec"), made)
    return Compiled(
        mode=mode,
        observers=observers,
        claim=made["claim"],
        request=made["request"],
        steps=tuple(made[f"observe_{i}"] for i in range(len(observers))),
        contradicts=made["contradicts"],
        delivers=compile_delivery(),
        source=source,
    )
