"""Writes the specification as one table of bytes, which the native core reads for each judge.

The table has all that adding an obligation changes: kinds with their sets and fields, modes with
their observers, and for each mode and kind the terms of ledgers, rules and delivery, specialised.
Names are numbers, by the lists of names that the core knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from monitor.native.options import i64, kinds_of, many, maybe, text, u8, u32, u64
from spec.claims.states import TERMINAL, TRANSITIONS, ClaimState, Mode
from spec.contract.facts import FACTS_ARE_FACTS, ROOM, facts_of
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events import alphabet
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import (
    FIELDS,
    FLAGS,
    IDENTITY,
    RENEWS,
    REQUEST_KINDS,
    ROUTE_REPORTS,
    STAMP,
    fields_of,
    one_of,
    required_of,
)
from spec.language.machine import Observer
from spec.language.partial_evaluation import Known, specialize
from spec.language.terms import (
    And,
    Arith,
    Compare,
    Const,
    Ite,
    Not,
    Or,
    Scope,
    Term,
    Var,
)
from spec.stream.delivery import UNKNOWN
from spec.stream.generate import Rule, Update, Watch, compiled, constants_of

__all__ = ["table"]

_SETS: Final = {
    "facts": alphabet.FACTS,
    "environment": alphabet.ENVIRONMENT,
    "reports": alphabet.REPORTS,
    "actions": alphabet.CONFLICT_ACTIONS,
    "gone": alphabet.BLOCKS_GONE,
    "requests": REQUEST_KINDS,
    "renews": RENEWS,
    "routed": {*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())},
}

_OPERATOR: Final = {
    Not: "Not",
    And: "And",
    Or: "Or",
    Ite: "If",
    "<": "Less",
    "<=": "AtMost",
    "==": "Equal",
    "+": "Plus",
    "-": "Minus",
}
_SCOPE: Final = {
    Scope.WAS: "Was",
    Scope.NOW: "Now",
    Scope.REQ_WAS: "RequestWas",
    Scope.REQ: "Request",
    Scope.OWN: "Own",
}
_CLAIM: Final = (*CLAIM_FACTS.registers, *DECLARED.registers)


def table(bundle: Bundle, names: Mapping[str, Sequence[str]]) -> bytes:
    """The table of a bundle.

    Args:
        names: those that the core knows, by what they name; their places are their numbers.

    Raises:
        KeyError, ValueError: the core does not know a name.
    """
    return _Table(bundle, names).written()


class _Table:
    """One table, and the terms in it, each once."""

    def __init__(self, bundle: Bundle, names: Mapping[str, Sequence[str]]) -> None:
        self._bundle, self._names, self._kinds = bundle, names, kinds_of(names)
        self._nodes: dict[bytes, int] = {}
        self._parts: list[int] = []
        self._lists: dict[tuple[int, ...], int] = {}

    def written(self) -> bytes:
        """The table as bytes, in the order in which the core reads it."""
        if unknown := set(Event.__struct_fields__) ^ set(self._names["fields"]):
            raise ValueError(f"the core and the events differ in {sorted(unknown)}")
        claims = [register.name for register in _CLAIM]
        requests = [register.name for register in REQUEST_FACTS.registers]
        states, modes = [*ClaimState], [None, *Mode]
        moves = {(row.source, row.trigger): states.index(row.dest) for row in TRANSITIONS}
        of_modes = [self._mode(mode) for mode in modes]  # which finds the terms
        return b"".join(
            (
                many(map(self._kind, self._kinds)),
                *(u64(self._set(_SETS[name])) for name in self._names["sets"]),
                many(i64(register.initial) for register in _CLAIM),
                many(i64(register.initial) for register in REQUEST_FACTS.registers),
                *(
                    u64((claims if name in claims else requests).index(name))
                    for name in self._names["registers"]
                ),
                many(u64(requests.index(name)) for name in UNKNOWN),
                many(map(text, states)),
                u32(sum(1 << states.index(state) for state in TERMINAL)),
                u8(states.index(ClaimState.REFUSED)),
                many(
                    many(maybe(_to(moves.get((state, kind)))) for kind in self._kinds)
                    for state in states
                ),
                many(
                    u64(self._set(each.rests_on)) + u8(each.name == ROOM) + text(each.broken)
                    for each in FACTS_ARE_FACTS
                ),
                many(map(self._obligation, OBLIGATIONS.values())),
                *(u64(modes.index(Mode(name))) for name in self._names["modes"]),
                many(of_modes),
                many(self._nodes),
                many(map(u32, self._parts)),
            )
        )

    def _set(self, kinds: Iterable[Kind]) -> int:
        return sum(1 << self._kinds.index(kind) for kind in kinds)

    def _bits(self, fields: Iterable[str]) -> int:
        return sum(1 << self._names["fields"].index(name) for name in fields)

    def _kind(self, kind: Kind) -> bytes:
        known = (*fields_of(kind), *STAMP, *FLAGS, *IDENTITY)
        strange = [n for n in FIELDS if n not in known and hasattr(Event, n)]
        fields = (required_of(kind), one_of(kind), strange)
        route = None
        if kind in ROUTE_REPORTS:
            fact, field = ROUTE_REPORTS[kind]
            route = u8(self._kinds.index(fact)) + text(field)
        return text(kind) + b"".join(u64(self._bits(each)) for each in fields) + maybe(route)

    def _obligation(self, observer: Observer) -> bytes:
        verdicts = self._names["verdicts"]
        return b"".join(
            (
                text(observer.name),
                many(u8(verdicts.index(state.verdict)) for state in observer.states),
                u64(len(observer.registers)),
                u8(observer.per_request),
                u64(self._set(facts_of(observer))),
            )
        )

    def _mode(self, mode: Mode | None) -> bytes:
        constants = constants_of(mode)
        observers = () if mode is None else MODES[mode].bundle(self._bundle)
        counts = [len(observer.registers) for observer in observers]
        return b"".join(
            (
                text(mode or ""),
                u8(constants["watched"]),
                u8(constants["ranked"]),
                many(u8([*OBLIGATIONS].index(observer.name)) for observer in observers),
                many(u64(sum(counts[:place])) for place in range(len(counts))),
                many(i64(r.initial) for observer in observers for r in observer.registers),
                many(self._of_kind(kind, mode, observers) for kind in self._kinds),
            )
        )

    def _of_kind(self, kind: Kind, mode: Mode | None, observers: tuple[Observer, ...]) -> bytes:
        """What an event of one kind does to claims of one mode, as the judge in Python has it."""
        made = compiled(kind, mode, self._bundle)
        known: Known = {(Scope.CLAIM, n): Const(v) for n, v in constants_of(mode).items()}
        own = [[register.name for register in each.registers] for each in observers]
        parts = (
            self._assigned(made.claim),
            self._assigned(made.request),
            self._watches(made.own, own),
            self._watches(made.scoped, own),
            self._term(made.opening),
        )
        assumed = (self._term(specialize(each.holds, kind, known)) for each in FACTS_ARE_FACTS)
        reads = sum(1 << self._names["derived"].index(name) for name in made.reads)
        return b"".join(parts) + many(assumed) + u64(reads)

    def _assigned(self, update: Update | None) -> bytes:
        """The registers that change, each after those that its term reads."""
        ordered = () if update is None else update.ordered
        return many(u8(place) + self._term(term) for place, term in ordered)

    def _watches(self, watches: Iterable[Watch], own: Sequence[Sequence[str]]) -> bytes:
        """The observers that an event may move, by their places, with their rules."""
        return many(
            u64(watch.place) + many(self._rule(rule, own[watch.place]) for rule in watch.rules)
            for watch in watches
        )

    def _rule(self, rule: Rule, own: Sequence[str]) -> bytes:
        """Its number, the states in which it applies, where it leads, its guard, and what the
        registers of the observer become, where it changes any.
        """
        sources = sum(1 << state for state in rule.sources)
        head = u8(rule.number) + u32(sources) + u8(rule.to)
        guard = self._term(rule.when, own)
        sets = many(self._term(term, own) for term in rule.becomes) if rule.becomes else None
        return head + guard + maybe(sets)

    # Terms.

    def _term(self, term: Term, own: Sequence[str] = ()) -> bytes:
        """The number of a term; equal terms have one."""
        return u32(self._node(term, own))

    def _node(self, term: Term, own: Sequence[str]) -> int:
        operator, operands = self._parted(term, own)
        key = u8(self._names["operators"].index(operator)) + operands
        return self._nodes.setdefault(key, len(self._nodes))

    def _parted(self, term: Term, own: Sequence[str]) -> tuple[str, bytes]:
        """The operator of a term, and its operands."""
        match term:
            case Const(value):
                return "Const", i64(value)
            case Var(Scope.EVENT, "here", _):
                return "Here", b""
            case Var(Scope.CLAIM, "threshold", _):
                return "Threshold", b""
            case Var(Scope.EVENT, name, _):
                return "Field", u8(self._names["derived"].index(name))
            case Var(scope, name, _):
                claims = [register.name for register in _CLAIM]
                requests = [register.name for register in REQUEST_FACTS.registers]
                of = claims if scope in (Scope.WAS, Scope.NOW) else requests
                return _SCOPE[scope], u8((own if scope is Scope.OWN else of).index(name))
            case Not(arg):
                return "Not", self._term(arg, own)
            case And(args) | Or(args):
                nodes = tuple(self._node(arg, own) for arg in args)
                if nodes not in self._lists:
                    self._lists[nodes] = len(self._parts)
                    self._parts += nodes
                return _OPERATOR[type(term)], u32(self._lists[nodes]) + u32(len(nodes))
            case Compare(op, left, right) | Arith(op, left, right):
                return _OPERATOR[op], self._term(left, own) + self._term(right, own)
            case Ite(cond, then, otherwise):
                parts = (cond, then, otherwise)
                return "If", b"".join(self._term(part, own) for part in parts)
        raise TypeError(f"not a term of one kind of event: {term!r}")


def _to(state: int | None) -> bytes | None:
    return None if state is None else u8(state)
