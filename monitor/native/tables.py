"""Writes the specification as one table of bytes, which the native core reads for each judge.

The table has all that adding an obligation changes: kinds with their sets and fields, modes with
their observers, and for each mode and kind the terms of ledgers, rules and delivery, specialised.
Names are numbers, by the lists of names that the core knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from monitor.native.options import i64, kinds_of, many, maybe, text, u8, u16, u32, u64
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
    FALSE,
    TRUE,
    And,
    Arith,
    Compare,
    Const,
    Ite,
    Not,
    Or,
    Scope,
    Sort,
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
    "<": "Less",
    "<=": "AtMost",
    "==": "Equal",
    "+": "Plus",
    "-": "Minus",
}
_SLOT: Final = {
    Scope.WAS: "was",
    Scope.NOW: "now",
    Scope.REQ_WAS: "request_was",
    Scope.REQ: "request",
    Scope.OWN: "own",
}
_CLAIM: Final = (*CLAIM_FACTS.registers, *DECLARED.registers)

_Made: TypeAlias = tuple[str, bytes]
"""A step that makes a number: its operator, and its operands but for the next step."""


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
        self._steps: dict[bytes, int] = {}
        self._places: dict[Term | int, int] = {}
        self._registers = {
            scope: [register.name for register in registers]
            for registers, scopes in (
                (_CLAIM, (Scope.WAS, Scope.NOW)),
                (REQUEST_FACTS.registers, (Scope.REQ_WAS, Scope.REQ)),
            )
            for scope in scopes
        }
        self._slots, self._used = self._laid_out()

    def written(self) -> bytes:
        """The table as bytes, in the order in which the core reads it."""
        if unknown := set(Event.__struct_fields__) ^ set(self._names["fields"]):
            raise ValueError(f"the core and the events differ in {sorted(unknown)}")
        claims, requests = self._registers[Scope.WAS], self._registers[Scope.REQ]
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
                *(u64(self._slots[name]) for name in self._names["slots"]),
                many(
                    u8(slot) + i64(each)
                    for each, slot in self._places.items()
                    if isinstance(each, int)
                ),
                many(self._steps),
            )
        )

    def _laid_out(self) -> tuple[dict[str, int], int]:
        """Where the row of numbers has what is no field and no constant, and where those begin."""
        sizes = {"here": 1, "threshold": 1}
        sizes |= {_SLOT[scope]: len(names) for scope, names in self._registers.items()}
        sizes["own"] = max(len(observer.registers) for observer in OBLIGATIONS.values())
        slots, used = {}, len(self._names["derived"])
        for name, size in sizes.items():
            slots[name] = used
            used += size
        return slots, used

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
        holds = (specialize(each.holds, kind, known) for each in FACTS_ARE_FACTS)
        assumed = (maybe(None if term == TRUE else self._term(term)) for term in holds)
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
        """Where the steps of a term begin; equal terms have the same."""
        return u16(self._start(term, own))

    def _start(self, term: Term, own: Sequence[str]) -> int:
        match term:
            case Not() | And() | Or() | Compare():
                return self._choice(term, self._start(TRUE, own), self._start(FALSE, own), own)
            case Ite(cond, then, otherwise):
                return self._choice(cond, self._start(then, own), self._start(otherwise, own), own)
        slot, made = self._operand(term, own)
        return self._after(made, self._step("Give", u8(slot)))

    def _step(self, operator: str, operands: bytes) -> int:
        step = u8(self._names["operators"].index(operator)) + operands
        return self._steps.setdefault(step, len(self._steps))

    def _after(self, made: Iterable[_Made], start: int) -> int:
        """Make numbers, and go on."""
        for operator, operands in reversed([*made]):
            start = self._step(operator, operands + u16(start))
        return start

    def _choice(self, cond: Term, then: int, otherwise: int, own: Sequence[str]) -> int:
        """A choice between two steps. A condition of several parts is decided one after another."""
        match cond:
            case Not(arg):
                return self._choice(arg, otherwise, then, own)
            case And(args):
                for arg in reversed(args):
                    then = self._choice(arg, then, otherwise, own)
                return then
            case Or(args):
                for arg in reversed(args):
                    otherwise = self._choice(arg, then, otherwise, own)
                return otherwise
            case Ite(first, yes, no):
                if_so, if_not = (self._choice(t, then, otherwise, own) for t in (yes, no))
                return self._choice(first, if_so, if_not, own)
            case Compare("==", left, right) if left.sort is Sort.BOOL:
                return self._choice(Ite(left, right, ~right), then, otherwise, own)
            case Compare(op, left, right):
                (one, made), (other, more) = (self._operand(t, own) for t in (left, right))
                operands = u8(one) + u8(other) + u16(then) + u16(otherwise)
                return self._after([*made, *more], self._step(_OPERATOR[op], operands))
        slot, made = self._operand(cond, own)
        return self._after(made, self._step("Holds", u8(slot) + u16(then) + u16(otherwise)))

    def _operand(self, term: Term, own: Sequence[str]) -> tuple[int, list[_Made]]:
        """The slot that has the value of a term, and the steps that make it."""
        match term:
            case Const(value):
                return self._slot(int(value)), []
            case Var(Scope.EVENT, "here", _):
                return self._slots["here"], []
            case Var(Scope.CLAIM, "threshold", _):
                return self._slots["threshold"], []
            case Var(Scope.EVENT, name, _):
                return self._names["derived"].index(name), []
            case Var(scope, name, _) if scope in _SLOT:
                names = own if scope is Scope.OWN else self._registers[scope]
                return self._slots[_SLOT[scope]] + names.index(name), []
            case Arith(op, left, right):
                (one, made), (other, more) = (self._operand(t, own) for t in (left, right))
                to = self._slot(term)
                return to, [*made, *more, (_OPERATOR[op], u8(to) + u8(one) + u8(other))]
            case Ite():
                to = self._slot(term)
                return to, [("Value", u8(to) + self._term(term, own))]
        raise TypeError(f"not a number in a term of one kind of event: {term!r}")

    def _slot(self, of: Term | int) -> int:
        """The slot of a constant, or of the value of a term."""
        return self._places.setdefault(of, self._used + len(self._places))


def _to(state: int | None) -> bytes | None:
    return None if state is None else u8(state)
