"""A slow monitor to compare the compiled one with: it interprets, and owes nothing to the compiler.

Terms are walked, ledgers are followed by asking for each register in turn, and each observer is a
`transitions` machine with the observer's states and one trigger for each rule.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transitions import Machine

from monitor.evaluate.compile import Compiled, compile_delivery
from spec.claims.claim import Mode
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.language.machine import Ledger, Observer
from spec.language.terms import And, Arith, Compare, Const, Ite, KindIn, Not, Or, Scope, Term, Var
from spec.language.verdicts import Verdict

Value = bool | int
Look = Callable[[Scope, str], Value]
CLAIM_NAMES = [r.name for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers]
REQUEST_NAMES = [r.name for r in REQUEST_FACTS.registers]


def evaluate(term: Term, look: Look, kind: Kind) -> Value:
    """The value of a term where `look` gives variables and the event is of this kind."""
    try:
        means = _MEANS[type(term)]
    except KeyError:
        raise TypeError(f"not a term: {term!r}") from None
    return means(term, look, kind)


def _kind_in(term: KindIn, look: Look, kind: Kind) -> bool:
    return kind in term.kinds


def _all(term: And, look: Look, kind: Kind) -> bool:
    for arg in term.args:  # noqa: SIM110 - a generator costs more than the loop
        if not evaluate(arg, look, kind):
            return False
    return True


def _any(term: Or, look: Look, kind: Kind) -> bool:
    for arg in term.args:  # noqa: SIM110
        if evaluate(arg, look, kind):
            return True
    return False


def _two(term: Compare | Arith, look: Look, kind: Kind) -> Value:
    left, right = evaluate(term.left, look, kind), evaluate(term.right, look, kind)
    return _OPERATORS[term.op](left, right)


def _choice(term: Ite, look: Look, kind: Kind) -> Value:
    chosen = term.then if evaluate(term.cond, look, kind) else term.otherwise
    return evaluate(chosen, look, kind)


_OPERATORS: dict[str, Callable[[Any, Any], Value]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    "+": operator.add,
    "-": operator.sub,
}
_MEANS: dict[type, Callable[[Any, Look, Kind], Value]] = {
    Const: lambda term, look, kind: term.value,
    Var: lambda term, look, kind: look(term.scope, term.name),
    KindIn: _kind_in,
    Not: lambda term, look, kind: not evaluate(term.arg, look, kind),
    And: _all,
    Or: _any,
    Compare: _two,
    Arith: _two,
    Ite: _choice,
}


def looking(e: Any, c: Any, known: Mapping[Scope, Mapping[str, Value]]) -> Look:
    """Variables from an event, the constants of a claim, and registers by their names."""

    def look(scope: Scope, name: str) -> Value:
        if scope is Scope.EVENT:
            found: Value = getattr(e, name)
            return found
        if scope is Scope.CLAIM:
            constant: Value = getattr(c, name)
            return constant
        return known[scope][name]

    return look


def follow(ledgers: Sequence[Ledger], after: Scope, look: Look, kind: Kind) -> tuple[Value, ...]:
    """The registers of the ledgers after an event, each worked out when it is first asked for."""
    following = {name: term for ledger in ledgers for name, term in ledger.following.items()}
    found: dict[str, Value] = {}

    def inner(scope: Scope, name: str) -> Value:
        return register(name) if scope is after else look(scope, name)

    def register(name: str) -> Value:
        if name not in found:
            found[name] = evaluate(following[name], inner, kind)
        return found[name]

    return tuple(register(r.name) for ledger in ledgers for r in ledger.registers)


class _Model:
    """What a machine moves."""

    state: str
    trigger: Callable[[str], bool]


@dataclass
class Taken:
    """Which rules of which observers were taken, and which states were entered or started in."""

    rules: Counter[tuple[str, str]]
    states: Counter[tuple[str, str]]


class _Automaton:
    """One observer as a machine; `step` has the form of a compiled observer."""

    def __init__(self, observer: Observer, taken: Taken) -> None:
        self.observer, self.taken = observer, taken
        self.names = [s.name for s in observer.states]
        final = {s.name for s in observer.states if s.verdict is Verdict.VIOLATED}
        self.model = _Model()
        self.machine = Machine(
            self.model,
            states=self.names,
            initial=self.names[0],
            auto_transitions=False,
            ignore_invalid_triggers=True,
        )
        for rule in observer.rules:
            for source in rule.source or [n for n in self.names if n not in final]:
                self.machine.add_transition(rule.name, source, rule.to)
        taken.states[observer.name, self.names[0]] += 1

    def step(
        self,
        state: int,
        own: tuple[Value, ...],
        e: Any,
        c: Any,
        was: tuple[Value, ...],
        now: tuple[Value, ...],
        req_was: tuple[Value, ...],
        req: tuple[Value, ...],
    ) -> tuple[int, tuple[Value, ...], int]:
        o = self.observer
        known = {
            Scope.WAS: dict(zip(CLAIM_NAMES, was, strict=True)),
            Scope.NOW: dict(zip(CLAIM_NAMES, now, strict=True)),
            Scope.REQ_WAS: dict(zip(REQUEST_NAMES, req_was, strict=True)),
            Scope.REQ: dict(zip(REQUEST_NAMES, req, strict=True)),
            Scope.OWN: dict(zip((r.name for r in o.registers), own, strict=True)),
        }
        look = looking(e, c, known)
        self.machine.set_state(self.names[state], self.model)
        for number, rule in enumerate(o.rules):
            if evaluate(rule.when, look, e.kind) and self.model.trigger(rule.name):
                after = {n: evaluate(term, look, e.kind) for n, term in rule.sets.items()}
                kept = known[Scope.OWN] | after
                self.taken.rules[o.name, rule.name] += 1
                self.taken.states[o.name, self.model.state] += 1
                return self.names.index(self.model.state), tuple(kept.values()), number
        return state, own, -1


def interpret(mode: Mode, bundle: Bundle) -> tuple[Compiled, Taken]:
    """What `compile_mode` gives, interpreted; and what was taken while it ran."""
    taken = Taken(Counter(), Counter())
    observers = MODES[mode].bundle(bundle)

    def claim(e: Any, c: Any, was: tuple[Value, ...]) -> tuple[Value, ...]:
        known = {Scope.WAS: dict(zip(CLAIM_NAMES, was, strict=True))}
        return follow((CLAIM_FACTS, DECLARED), Scope.NOW, looking(e, c, known), e.kind)

    def request(
        e: Any,
        c: Any,
        was: tuple[Value, ...],
        now: tuple[Value, ...],
        req_was: tuple[Value, ...],
    ) -> tuple[Value, ...]:
        known = {
            Scope.WAS: dict(zip(CLAIM_NAMES, was, strict=True)),
            Scope.NOW: dict(zip(CLAIM_NAMES, now, strict=True)),
            Scope.REQ_WAS: dict(zip(REQUEST_NAMES, req_was, strict=True)),
        }
        return follow((REQUEST_FACTS,), Scope.REQ, looking(e, c, known), e.kind)

    def contradicts(e: Any, c: Any, was: tuple[Value, ...]) -> int:
        look = looking(e, c, {Scope.WAS: dict(zip(CLAIM_NAMES, was, strict=True))})
        broken = (n for n, a in enumerate(FACTS_ARE_FACTS) if not evaluate(a.holds, look, e.kind))
        return next(broken, -1)

    steps = tuple(_Automaton(observer, taken).step for observer in observers)
    delivers = compile_delivery()
    return Compiled(mode, observers, claim, request, steps, contradicts, delivers, ""), taken
