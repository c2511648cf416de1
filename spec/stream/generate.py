"""Makes Python functions from the terms of ledgers, observers and delivery, for one kind of event.

There is one generator with two readings. Where all inputs are known, a term becomes a plain Python
expression. Where an input may be unknown (None), it becomes calls of Kleene's connectives, so that
the result is None unless every value of the unknown inputs gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from spec.claims.states import Mode
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.language.machine import Observer
from spec.language.partial_evaluation import Known, specialize
from spec.language.terms import (
    FALSE,
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
from spec.stream.scopes import DELIVERY

__all__ = [
    "CLAIM",
    "REQUEST",
    "Compiled",
    "Rule",
    "Values",
    "Watch",
    "compiled",
    "in_three_values",
    "outcomes",
    "source",
    "three_valued",
]

Values: TypeAlias = list[Any]
"""Registers in the order of `CLAIM` or `REQUEST`; None is unknown."""

CLAIM: Final = (*CLAIM_FACTS.registers, *DECLARED.registers)
"""The registers of a claim."""
REQUEST: Final = REQUEST_FACTS.registers
"""The registers of a request, for one claim."""

_AT: Final[Mapping[Scope, Mapping[str, int]]] = {
    scope: {register.name: place for place, register in enumerate(registers)}
    for registers, scopes in (
        (CLAIM, (Scope.WAS, Scope.NOW)),
        (REQUEST, (Scope.REQ_WAS, Scope.REQ)),
    )
    for scope in scopes
}
_ARGUMENT: Final = {Scope.WAS: "w", Scope.NOW: "n", Scope.REQ_WAS: "r", Scope.REQ: "q"}
_ARGUMENTS: Final = "e, here, t, w, n, r, q, o"


class Rule(NamedTuple):
    """A rule as it reads on one kind of event: states are numbers, `sets` one for each register."""

    number: int
    sources: frozenset[int]
    to: int
    holds: Callable[..., bool | None]
    sets: Callable[..., tuple[Any, ...]] | None


class Watch(NamedTuple):
    """An observer on one kind of event.

    `step` returns the number of the rule that is taken, the state and the registers, or None; it
    needs every input. `rules` are the same in three values.
    """

    place: int
    step: Callable[..., tuple[int, int, tuple[Any, ...]] | None]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Compiled:
    """One kind of event for claims of one mode: what becomes of registers and observers.

    `own` are the observers in the scope of the claim itself, `scoped` those in a request's.
    `reads` are the fields of the event that any of them read, `opens` whether a request is followed
    from this event on. Each `two` function needs every input; each `three` takes None for unknown.
    """

    claim: Callable[..., Values] | None
    claim_three: Callable[..., Values] | None
    request: Callable[..., Values] | None
    request_three: Callable[..., Values] | None
    own: tuple[Watch, ...]
    scoped: tuple[Watch, ...]
    opens: Callable[..., bool]
    opens_three: Callable[..., bool | None]
    reads: frozenset[str]


# Kleene's connectives; None is unknown.


def _and(*values: bool | None) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if None in values else True


def _or(*values: bool | None) -> bool | None:
    if any(value is True for value in values):
        return True
    return None if None in values else False


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _apply(operator: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    return None if left is None or right is None else operator(left, right)


def _choose(condition: bool | None, then: Any, otherwise: Any) -> Any:
    if condition is None:
        return then if then == otherwise else None
    return then if condition else otherwise


def _lt(left: int, right: int) -> bool:
    return left < right


def _le(left: int, right: int) -> bool:
    return left <= right


def _eq(left: Any, right: Any) -> bool:
    return bool(left == right)


def _add(left: int, right: int) -> int:
    return left + right


def _sub(left: int, right: int) -> int:
    return left - right


_NAMED: Final = {"<": "_lt", "<=": "_le", "==": "_eq", "+": "_add", "-": "_sub"}
three_valued: Final[Mapping[str, Callable[..., Any]]] = {
    each.__name__: each for each in (_and, _or, _not, _apply, _choose, _lt, _le, _eq, _add, _sub)
}
"""The functions that generated code in three values calls, by name."""


def source(term: Term, own: Mapping[str, int], *, three: bool) -> str:
    """A term as a Python expression over the arguments of generated functions.

    Args:
        own: the places of the observer's registers.
        three: in three values, where None is unknown.
    """

    def go(each: Term) -> str:
        match each:
            case Const(value):
                return repr(value)
            case Var(Scope.EVENT, "here", _):
                return "here"
            case Var(Scope.EVENT, name, _):
                return f"e[{name!r}]"
            case Var(Scope.CLAIM, "threshold", _):
                return "t"
            case Var(Scope.OWN, name, _):
                return f"o[{own[name]}]"
            case Var(scope, name, _):
                return f"{_ARGUMENT[scope]}[{_AT[scope][name]}]"
            case Not(arg):
                return f"_not({go(arg)})" if three else f"(not {go(arg)})"
            case And(args) | Or(args):
                joined = [go(arg) for arg in args]
                word = "and" if isinstance(each, And) else "or"
                return f"_{word}({', '.join(joined)})" if three else f"({f' {word} '.join(joined)})"
            case Compare(op, left, right) | Arith(op, left, right):
                one, other = go(left), go(right)
                return f"_apply({_NAMED[op]}, {one}, {other})" if three else f"({one} {op} {other})"
            case Ite(cond, then, otherwise):
                parts = go(cond), go(then), go(otherwise)
                if three:
                    return f"_choose({', '.join(parts)})"
                return f"({parts[1]} if {parts[0]} else {parts[2]})"
        raise TypeError(f"not a term of one kind of event: {each!r}")

    return go(term)


def _function(lines: Sequence[str]) -> Callable[..., Any]:
    """The function `f` of generated source."""
    names: dict[str, Any] = dict(three_valued)
    exec("\n".join((f"def f({_ARGUMENTS}):", *(f"    {line}" for line in lines))), names)
    function: Callable[..., Any] = names["f"]
    return function


def _later(lines: Callable[[], Sequence[str]]) -> Callable[..., Any]:
    """The function of generated source, which is made at the first call."""
    made = cache(lambda: _function(lines()))
    return lambda *inputs: made()(*inputs)


class _Maker:
    """Makes the functions of one kind of event for one bundle of one mode."""

    def __init__(self, kind: Kind, constants: Mapping[str, bool]) -> None:
        self.kind = kind
        self.known: Known = {(Scope.CLAIM, name): Const(v) for name, v in constants.items()}
        first = {(Scope.EVENT, "here"): FALSE}
        for register in REQUEST:
            for scope in (Scope.REQ_WAS, Scope.REQ):
                first[scope, register.name] = Const(register.initial)
        self.alone: Known = {**self.known, **first}
        self.reads: set[str] = set()

    def at_kind(self, term: Term, known: Known | None = None) -> Term:
        """The term as it reads here; the fields that it reads are noted."""
        found = specialize(term, self.kind, self.known if known is None else known)
        self.reads.update(v.name for v in variables(found) if v.scope is Scope.EVENT)
        return found

    def ledger(
        self, following: Mapping[str, Term], before: Scope, after: Scope
    ) -> tuple[Callable[..., Values] | None, Callable[..., Values] | None]:
        """The registers after an event, in two values and in three; None if none can change."""
        found = {name: self.at_kind(term) for name, term in following.items()}
        changed = {
            name: term for name, term in found.items() if term != Var(before, name, term.sort)
        }
        if not changed:
            return None, None
        two = _function(self._assign(changed, before, after, three=False))
        return two, _later(lambda: self._assign(changed, before, after, three=True))

    @staticmethod
    def _assign(
        changed: Mapping[str, Term], before: Scope, after: Scope, *, three: bool
    ) -> list[str]:
        """Assigns each register after those that its term reads."""
        old, new, at = _ARGUMENT[before], _ARGUMENT[after], _AT[after]
        lines, todo = [f"{new} = {old}.copy()"], dict(changed)
        while todo:
            ready = [
                name
                for name, term in todo.items()
                if not any(v.scope is after and v.name in todo for v in variables(term))
            ]
            for name in ready:
                lines.append(f"{new}[{at[name]}] = {source(todo.pop(name), {}, three=three)}")
        return [*lines, f"return {new}"]

    def watch(self, place: int, observer: Observer, known: Known) -> Watch | None:
        """An observer in one scope; None if no event of this kind moves it."""
        states = {state.name: number for number, state in enumerate(observer.states)}
        own = {register.name: number for number, register in enumerate(observer.registers)}
        lines, rules = [], []
        for number, rule in enumerate(observer.rules):
            if not _may(rule.when, self.kind) or (when := self.at_kind(rule.when, known)) == FALSE:
                continue
            sources = frozenset(states[name] for name in observer.sources(rule))
            sets = self._sets(observer, rule.sets, known)
            guard = source(when, own, three=False)
            values = [source(term, own, three=False) for term in sets.values()]
            after = f"({', '.join(values)},)" if rule.sets else "o"
            lines.append(f"if s in {set(sources)!r} and {guard}:")
            lines.append(f"    return {number}, {states[rule.to]}, {after}")
            rules.append(
                Rule(
                    number,
                    sources,
                    states[rule.to],
                    _later(partial(_returned, (when,), own)),
                    _later(partial(_returned, tuple(sets.values()), own, "({},)"))
                    if rule.sets
                    else None,
                )
            )
        if not rules:
            return None
        text = ["s, o = o", *lines, "return None"]
        return Watch(place, _function(text), tuple(rules))

    def _sets(self, observer: Observer, sets: Mapping[str, Term], known: Known) -> dict[str, Term]:
        """What each register of an observer becomes by a rule."""
        return {
            r.name: self.at_kind(sets[r.name], known)
            if r.name in sets
            else Var(Scope.OWN, r.name, r.sort)
            for r in observer.registers
        }


def _may(term: Term, kind: Kind) -> bool:
    """Whether a term can hold on an event of a kind, as far as the kinds that it names decide."""
    match term:
        case KindIn(kinds):
            return kind in kinds
        case And(args):
            return all(_may(arg, kind) for arg in args)
        case Or(args):
            return any(_may(arg, kind) for arg in args)
    return True


def _returned(terms: Sequence[Term], own: Mapping[str, int], form: str = "{}") -> list[str]:
    """Returns the values of terms in three values."""
    return [f"return {form.format(', '.join(source(term, own, three=True) for term in terms))}"]


@cache
def compiled(kind: Kind, mode: Mode | None, bundle: Bundle = Bundle.CONTRACT) -> Compiled:
    """The functions of one kind of event for claims of a mode; None judges nothing."""
    maker = _Maker(kind, _constants(mode))
    observers = () if mode is None else MODES[mode].bundle(bundle)
    claims = {**CLAIM_FACTS.following, **DECLARED.following}
    claim = maker.ledger(claims, Scope.WAS, Scope.NOW)
    request = maker.ledger(REQUEST_FACTS.following, Scope.REQ_WAS, Scope.REQ)
    own = [maker.watch(n, each, maker.alone) for n, each in enumerate(observers)]
    scoped = [maker.watch(n, o, maker.known) for n, o in enumerate(observers) if o.per_request]
    opens = maker.at_kind(DELIVERY.term("opens"))
    return Compiled(
        *claim,
        *request,
        tuple(watch for watch in own if watch is not None),
        tuple(watch for watch in scoped if watch is not None),
        _function([f"return {source(opens, {}, three=False)}"]),
        _later(partial(_returned, (opens,), {})),
        frozenset(maker.reads - {"here"}),
    )


def in_three_values(term: Term, kind: Kind, mode: Mode | None) -> Callable[..., bool | None]:
    """A term for one kind of event and one mode, where inputs may be unknown."""
    maker = _Maker(kind, _constants(mode))
    return _function(_returned((maker.at_kind(term),), {}))


def _constants(mode: Mode | None) -> Mapping[str, bool]:
    if mode is None:
        return dict.fromkeys(("lapses", "tiered", "watched", "ranked"), False)
    return MODES[mode].constants


def outcomes(
    watch: Watch, state: int, own: tuple[Any, ...], *inputs: Any
) -> dict[tuple[int, tuple[Any, ...]], int | None]:
    """Every step that an observer may take where inputs are unknown, with the rule of the first.

    Raises nothing; one outcome means that the step is known.
    """
    found: dict[tuple[int, tuple[Any, ...]], int | None] = {}
    for rule in watch.rules:
        if state not in rule.sources:
            continue
        holds = rule.holds(*inputs, own)
        if holds is False:
            continue
        after = own if rule.sets is None else rule.sets(*inputs, own)
        found.setdefault((rule.to, after), rule.number)
        if holds:
            return found
    found.setdefault((state, own), None)
    return found
