"""Makes Python functions from the terms of ledgers, observers and delivery, for one kind of event.

There is one generator with two readings. Where all inputs are known, a term becomes a plain Python
expression. Where an input may be unknown (None), it becomes calls of Kleene's connectives, so that
the result is None unless every value of the unknown inputs gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import add, eq, le, lt, sub
from typing import Any, Final, TypeAlias

from spec.claims.states import Mode
from spec.contract.facts import FACTS_ARE_FACTS, Assumption
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
    parts,
    variables,
)
from spec.language.verdicts import Verdict
from spec.stream.scopes import DELIVERY

__all__ = [
    "AT",
    "CLAIM",
    "REQ",
    "REQUEST",
    "Compiled",
    "Rule",
    "Update",
    "Values",
    "Watch",
    "assumed",
    "compiled",
    "constants_of",
    "function_of",
    "outcomes",
    "own_places",
    "source",
    "texts",
    "three_valued",
]

Values: TypeAlias = list[Any]
"""Registers in the order of `CLAIM` or `REQUEST`; None is unknown."""

CLAIM: Final = (*CLAIM_FACTS.registers, *DECLARED.registers)
"""The registers of a claim."""
REQUEST: Final = REQUEST_FACTS.registers
"""The registers of a request, for one claim."""
AT: Final = {register.name: place for place, register in enumerate(CLAIM)}
"""The place of each register of a claim."""
REQ: Final = {register.name: place for place, register in enumerate(REQUEST)}
"""The place of each register of a request."""

_Names: TypeAlias = Mapping[tuple[Scope, str], str]

_AT: Final = {Scope.WAS: AT, Scope.NOW: AT, Scope.REQ_WAS: REQ, Scope.REQ: REQ}
_ARGUMENT: Final = {Scope.WAS: "w", Scope.NOW: "n", Scope.REQ_WAS: "r", Scope.REQ: "q"}
_ARGUMENTS: Final = "e, here, t, w, n, r, q, o"
"""The arguments of generated functions: the fields of the event, whether it is `here`, the
threshold of the claim, its registers before and after the event, those of a request before and
after it, and the registers of an observer, in `step` with its state.
"""
_PLACES: Final[_Names] = {
    (Scope.EVENT, "here"): "here",
    (Scope.CLAIM, "threshold"): "t",
    **{
        (scope, name): f"{_ARGUMENT[scope]}[{place}]"
        for scope, places in _AT.items()
        for name, place in places.items()
    },
}


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule as it reads on one kind of event: states are numbers, `becomes` one term for each
    register, and `own` the places of the registers.

    Functions are made when they are first asked for, here and below.
    """

    number: int
    sources: frozenset[int]
    to: int
    when: Term
    becomes: tuple[Term, ...]
    own: _Names

    @cached_property
    def holds(self) -> Callable[..., bool | None]:
        """Whether its guard holds, in three values."""
        return _returning(self.when, self.own, three=True)

    @cached_property
    def sets(self) -> Callable[..., tuple[Any, ...]] | None:
        """The registers after it, in three values; None if it changes none."""
        if not self.becomes:
            return None
        return _function([f"return {_tuple(self.becomes, self.own, three=True)}"])


@dataclass(frozen=True, eq=False)
class Watch:
    """An observer on one kind of event, by its place in the bundle.

    `verdicts` are those of its states, and `sources` the states in which a rule may apply.
    """

    place: int
    name: str
    verdicts: tuple[Verdict, ...]
    rules: tuple[Rule, ...]
    sources: frozenset[int]

    @cached_property
    def step(self) -> Callable[..., tuple[int, int, tuple[Any, ...]] | None]:
        """The number of the rule that is taken, the state and the registers, or None; it needs
        every input.
        """
        lines = ["s, o = o"]
        for rule in self.rules:
            after = _tuple(rule.becomes, rule.own) if rule.becomes else "o"
            guard = source(rule.when, rule.own)
            lines.append(f"if s in {set(rule.sources)!r} and {guard}:")
            lines.append(f"    return {rule.number}, {rule.to}, {after}")
        return _function([*lines, "return None"])


@dataclass(frozen=True, eq=False)
class Update:
    """The registers that one kind of event may change, each with its value after it."""

    changed: Mapping[str, Term]
    before: Scope
    after: Scope

    @cached_property
    def two(self) -> Callable[..., Values]:
        """The registers after the event; it needs every input."""
        return self._made(three=False)

    @cached_property
    def three(self) -> Callable[..., Values]:
        """The same where inputs may be unknown."""
        return self._made(three=True)

    @property
    def ordered(self) -> Iterator[tuple[int, Term]]:
        """The places of the registers, each after those that its term reads, with the terms."""
        todo = dict(self.changed)
        while todo:
            ready = [
                name
                for name, term in todo.items()
                if not any(v.scope is self.after and v.name in todo for v in variables(term))
            ]
            for name in ready:
                yield _AT[self.after][name], todo.pop(name)

    def _made(self, *, three: bool) -> Callable[..., Values]:
        old, new = _ARGUMENT[self.before], _ARGUMENT[self.after]
        lines = [f"{new} = {old}.copy()"]
        for at, term in self.ordered:
            lines.append(f"{new}[{at}] = {source(term, {}, three=three)}")
        return _function([*lines, f"return {new}"])


@dataclass(frozen=True, eq=False)
class Compiled:
    """One kind of event for claims of one mode: what becomes of registers and observers.

    `claim` and `request` are None if it changes none of the registers. `own` are the observers in
    the scope of the claim itself, `scoped` those in a request's. `reads` are the fields of the
    event that any of them read, `opening` whether a request is followed from this event on.
    """

    claim: Update | None
    request: Update | None
    own: tuple[Watch, ...]
    scoped: tuple[Watch, ...]
    opening: Term
    reads: frozenset[str]

    @cached_property
    def others(self) -> frozenset[str]:
        """The fields but for whether the event is about the claim, and names it."""
        return self.reads - {"mine", "named"}

    @cached_property
    def opens(self) -> Callable[..., bool]:
        """Whether a request is followed from this event on; it needs every input."""
        return _returning(self.opening, {}, three=False)

    @cached_property
    def opens_three(self) -> Callable[..., bool | None]:
        """The same where inputs may be unknown."""
        return _returning(self.opening, {}, three=True)


# Kleene's connectives; None is unknown.


def _and(*values: bool | None) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _or(*values: bool | None) -> bool | None:
    if True in values:
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


_NAMED: Final = {"<": "_lt", "<=": "_le", "==": "_eq", "+": "_add", "-": "_sub"}
three_valued: Final[Mapping[str, Callable[..., Any]]] = {
    **{each.__name__: each for each in (_and, _or, _not, _apply, _choose)},
    **{f"_{each.__name__}": each for each in (lt, le, eq, add, sub)},
}
"""The functions that generated code in three values calls, by name."""


def source(term: Term, names: _Names, *, three: bool = False) -> str:
    """A term as a Python expression over the arguments of generated functions.

    Args:
        names: expressions for variables that are no argument, or another one than usual.
        three: in three values, where None is unknown.
    """

    def go(each: Term) -> str:
        match each:
            case Const(value):
                return repr(value)
            case Var(scope, name, _):
                place = (scope, name)
                found = names.get(place) or _PLACES.get(place)
                if found is None and scope is not Scope.EVENT:
                    raise KeyError(f"no place for {scope.value}.{name}")
                return found or f"e[{name!r}]"
            case KindIn(kinds):
                return f"(e['kind'] in {{{', '.join(sorted(repr(k.value) for k in kinds))}}})"
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
                test, one, other = go(cond), go(then), go(otherwise)
                if three:
                    return f"_choose({test}, {one}, {other})"
                return f"({one} if {test} else {other})"
        raise TypeError(f"not a term: {each!r}")

    return go(term)


def own_places(observer: Observer) -> _Names:
    """The places of an observer's registers."""
    return {(Scope.OWN, r.name): f"o[{place}]" for place, r in enumerate(observer.registers)}


texts: Final[dict[Callable[..., Any], str]] = {}
"""The source of each generated function, as `python -m proofs check frame` reads it."""


def _function(lines: Sequence[str]) -> Callable[..., Any]:
    return function_of("\n".join((f"def f({_ARGUMENTS}):", *(f"    {line}" for line in lines))))


@cache
def function_of(text: str) -> Callable[..., Any]:
    """The function `f` of a generated text."""
    names: dict[str, Any] = dict(three_valued)
    exec(text, names)
    function: Callable[..., Any] = names["f"]
    texts[function] = text
    return function


def _returning(term: Term, own: _Names, *, three: bool) -> Callable[..., Any]:
    """The function that returns the value of a term."""
    return _function([f"return {source(term, own, three=three)}"])


def _tuple(terms: Iterable[Term], own: _Names, *, three: bool = False) -> str:
    """An expression for the values of terms."""
    return "".join(("(", *(f"{source(term, own, three=three)}, " for term in terms), ")"))


class _Maker:
    """Makes the functions of one kind of event for one bundle of one mode."""

    def __init__(self, kind: Kind, constants: Mapping[str, bool]) -> None:
        self.kind = kind
        self.known = dict[tuple[Scope, str], Term]()
        self.known.update(((Scope.CLAIM, name), Const(v)) for name, v in constants.items())
        self.reads: set[str] = set()

    @property
    def alone(self) -> Known:
        """What is known in the scope of the claim itself."""
        first = {(Scope.EVENT, "here"): FALSE}
        for register in REQUEST:
            for scope in (Scope.REQ_WAS, Scope.REQ):
                first[scope, register.name] = Const(register.initial)
        return {**self.known, **first}

    def at_kind(self, term: Term, known: Known | None = None) -> Term:
        """The term as it reads here; the fields that it reads are noted."""
        found = specialize(term, self.kind, self.known if known is None else known)
        self.reads.update(v.name for v in variables(found) if v.scope is Scope.EVENT)
        return found

    def ledger(self, following: Mapping[str, Term], before: Scope, after: Scope) -> Update | None:
        """What becomes of registers; None if none can change. Terms read those that cannot change
        as they were before.
        """
        changed, count = dict(following), -1
        while count != len(changed):
            count = len(changed)
            for name in [*changed]:
                term = specialize(following[name], self.kind, self.known)
                if term == Var(before, name, term.sort):
                    del changed[name]
                    self.known[after, name] = term
        found = {name: self.at_kind(term) for name, term in changed.items()}
        return Update(found, before, after) if found else None

    def watch(self, place: int, observer: Observer, known: Known) -> Watch | None:
        """An observer in one scope; None if no event of this kind moves it."""
        states = {state.name: number for number, state in enumerate(observer.states)}
        own = own_places(observer)
        rules = []
        for number, rule in enumerate(observer.rules):
            if not _may(rule.when, self.kind) or (when := self.at_kind(rule.when, known)) == FALSE:
                continue
            sources = frozenset(states[name] for name in observer.sources(rule))
            becomes = self._sets(observer, rule.sets, known) if rule.sets else ()
            rules.append(Rule(number, sources, states[rule.to], when, becomes, own))
        verdicts = tuple(state.verdict for state in observer.states)
        everywhere = frozenset[int]().union(*(rule.sources for rule in rules))
        return Watch(place, observer.name, verdicts, tuple(rules), everywhere) if rules else None

    def _sets(self, observer: Observer, sets: Mapping[str, Term], known: Known) -> tuple[Term, ...]:
        """What each register of an observer becomes by a rule."""
        return tuple(
            self.at_kind(sets[r.name], known) if r.name in sets else Var(Scope.OWN, r.name, r.sort)
            for r in observer.registers
        )


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


@cache
def compiled(kind: Kind, mode: Mode | None, bundle: Bundle = Bundle.CONTRACT) -> Compiled:
    """The functions of one kind of event for claims of a mode; None judges nothing."""
    maker = _Maker(kind, constants_of(mode))
    observers = () if mode is None else MODES[mode].bundle(bundle)
    claims = {**CLAIM_FACTS.following, **DECLARED.following}
    claim = maker.ledger(claims, Scope.WAS, Scope.NOW)
    request = maker.ledger(REQUEST_FACTS.following, Scope.REQ_WAS, Scope.REQ)
    own = [maker.watch(n, each, maker.alone) for n, each in enumerate(observers)]
    scoped = [maker.watch(n, o, maker.known) for n, o in enumerate(observers) if o.per_request]
    opening = maker.at_kind(DELIVERY.term("opens"))
    return Compiled(
        claim,
        request,
        tuple(watch for watch in own if watch is not None),
        tuple(watch for watch in scoped if watch is not None),
        opening,
        frozenset(maker.reads - {"here"}),
    )


@cache
def assumed(
    kind: Kind, mode: Mode | None
) -> list[tuple[Assumption, frozenset[Kind], Callable[..., bool | None]]]:
    """The assumptions about facts of this kind, what each rests on, and whether it holds."""
    maker = _Maker(kind, constants_of(mode))
    return [
        (each, each.rests_on, _returning(maker.at_kind(each.holds), {}, three=True))
        for each in FACTS_ARE_FACTS
        if any(kind in part.kinds for part in parts(each.holds) if isinstance(part, KindIn))
    ]


def constants_of(mode: Mode | None) -> Mapping[str, bool]:
    """The constants that a mode fixes; those of no mode are false."""
    if mode is None:
        return dict.fromkeys(("lapses", "tiered", "watched", "ranked"), False)
    return MODES[mode].constants


def outcomes(
    watch: Watch, state: int, own: tuple[Any, ...], *inputs: Any
) -> dict[tuple[int, tuple[Any, ...]], int | None]:
    """Every step that an observer may take where inputs are unknown, with the rule of the first.

    One outcome means that the step is known.
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
