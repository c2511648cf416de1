"""Writes the specification as one JSON table, which the native core reads when a judge is made.

The table has all that adding an obligation changes: kinds with their sets and fields, modes with
their observers, and for each mode and kind the terms of ledgers, rules and delivery, specialised.
A term is a constant, the name of a variable, or a list of an operator and its operands.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec

from spec.claims.states import TERMINAL, TRANSITIONS, ClaimState, Mode
from spec.contract.facts import FACTS_ARE_FACTS, ROOM
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.observed import facts_of
from spec.events import alphabet
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, StreamMark
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
    variables,
)
from spec.language.verdicts import Verdict
from spec.stream.codes import Code
from spec.stream.scopes import DELIVERY

__all__ = ["dumped", "table"]

Dumped: TypeAlias = bool | int | str | list[Any]

_LETTER: Final = {Scope.WAS: "w", Scope.NOW: "n", Scope.REQ_WAS: "r", Scope.REQ: "q"}
_OPERATOR: Final = {Not: "not", And: "and", Or: "or"}
_CONSTANTS: Final = ("lapses", "tiered", "watched", "ranked")


def dumped(term: Term) -> Dumped:
    """A term as the table has it."""
    match term:
        case Const(value):
            return value
        case Var(Scope.EVENT, "here", _) | Var(Scope.CLAIM, "threshold", _):
            return term.name
        case Var(Scope.EVENT, name, _):
            return f"e.{name}"
        case Var(Scope.OWN, name, _):
            return f"o.{name}"
        case Var(scope, name, _):
            return f"{_LETTER[scope]}.{name}"
        case Not(arg):
            return ["not", dumped(arg)]
        case And(args) | Or(args):
            return [_OPERATOR[type(term)], *map(dumped, args)]
        case Compare(op, left, right) | Arith(op, left, right):
            return [op, dumped(left), dumped(right)]
        case Ite(cond, then, otherwise):
            return ["if", dumped(cond), dumped(then), dumped(otherwise)]
    raise TypeError(f"not a term of one kind of event: {term!r}")


@cache
def table(bundle: Bundle = Bundle.CONTRACT) -> bytes:
    """The table of a bundle."""
    return msgspec.json.encode(
        {
            "kinds": [_kind(kind) for kind in Kind],
            "marks": [mark.value for mark in Mark],
            "fields": [field.name for field in msgspec.structs.fields(Event)],
            "mark_fields": [field.name for field in msgspec.structs.fields(StreamMark)],
            "claim": [[r.name, r.initial] for r in (*CLAIM_FACTS.registers, *DECLARED.registers)],
            "request": [[r.name, r.initial] for r in REQUEST_FACTS.registers],
            "verdicts": [verdict.value for verdict in Verdict],
            "states": [state.value for state in ClaimState],
            "terminal": sorted(TERMINAL),
            "transitions": [[row.source, row.trigger, row.dest] for row in TRANSITIONS],
            "codes": {code.name: code.value[0] for code in Code},
            "assumptions": [
                {
                    "rests_on": sorted(each.rests_on),
                    "room": each.name == ROOM,
                    "broken": each.broken,
                }
                for each in FACTS_ARE_FACTS
            ],
            "obligations": [_observer(name) for name in OBLIGATIONS],
            "modes": [_mode(None, bundle), *(_mode(mode, bundle) for mode in Mode)],
        }
    )


def _kind(kind: Kind) -> dict[str, Any]:
    known = (*fields_of(kind), *STAMP, *FLAGS, *IDENTITY)
    sets = {
        "fact": alphabet.FACTS,
        "report": alphabet.REPORTS,
        "action": alphabet.CONFLICT_ACTIONS,
        "gone": alphabet.BLOCKS_GONE,
        "request": REQUEST_KINDS,
        "renews": RENEWS,
    }
    return {
        "name": kind.value,
        "sets": [name for name, kinds in sets.items() if kind in kinds],
        "required": list(required_of(kind)),
        "one_of": list(one_of(kind)),
        "strange": [n for n in FIELDS if n not in known and hasattr(Event, n)],
        "route": [*ROUTE_REPORTS[kind]] if kind in ROUTE_REPORTS else [],
    }


def _observer(name: str) -> dict[str, Any]:
    observer = OBLIGATIONS[name]
    return {
        "name": name,
        "states": [state.verdict for state in observer.states],
        "registers": [[register.name, register.initial] for register in observer.registers],
        "per_request": observer.per_request,
        "facts": sorted(facts_of(observer)),
    }


def _mode(mode: Mode | None, bundle: Bundle) -> dict[str, Any]:
    constants = dict.fromkeys(_CONSTANTS, False) if mode is None else MODES[mode].constants
    observers = () if mode is None else MODES[mode].bundle(bundle)
    kinds = {kind.value: _of_kind(kind, constants, observers) for kind in Kind}
    return {
        "name": mode,
        "constants": constants,
        "obligations": [observer.name for observer in observers],
        "kinds": kinds,
    }


def _of_kind(
    kind: Kind, constants: Mapping[str, bool], observers: tuple[Observer, ...]
) -> dict[str, Any]:
    """What an event of one kind does to claims of one mode."""
    known: Known = {(Scope.CLAIM, name): Const(v) for name, v in constants.items()}
    first: Known = {(Scope.EVENT, "here"): FALSE} | {
        (scope, register.name): Const(register.initial)
        for register in REQUEST_FACTS.registers
        for scope in (Scope.REQ_WAS, Scope.REQ)
    }
    claims = {**CLAIM_FACTS.following, **DECLARED.following}
    numbered = [*enumerate(observers)]
    return {
        "claim": _assigned(claims, Scope.WAS, Scope.NOW, kind, known),
        "request": _assigned(REQUEST_FACTS.following, Scope.REQ_WAS, Scope.REQ, kind, known),
        "own": _watches(numbered, kind, {**known, **first}),
        "scoped": _watches([(n, o) for n, o in numbered if o.per_request], kind, known),
        "opens": dumped(specialize(DELIVERY.term("opens"), kind, known)),
        "assumed": [dumped(specialize(a.holds, kind, known)) for a in FACTS_ARE_FACTS],
    }


def _assigned(
    following: Mapping[str, Term], before: Scope, after: Scope, kind: Kind, known: Known
) -> list[list[Any]]:
    """The registers that change, each after those that its term reads."""
    found = {name: specialize(term, kind, known) for name, term in following.items()}
    todo = {n: term for n, term in found.items() if term != Var(before, n, term.sort)}
    rows: list[list[Any]] = []
    while todo:
        for name, term in [*todo.items()]:
            if not any(v.scope is after and v.name in todo for v in variables(term)):
                rows.append([name, dumped(todo.pop(name))])
    return rows


def _watches(
    observers: list[tuple[int, Observer]], kind: Kind, known: Known
) -> list[tuple[int, list[Any]]]:
    """The observers that an event may move, by their places, with the rules that may be taken."""
    rows = ((place, _rules(observer, kind, known)) for place, observer in observers)
    return [(place, rules) for place, rules in rows if rules]


def _rules(observer: Observer, kind: Kind, known: Known) -> list[list[Any]]:
    """Each rule: its number, the states in which it applies, where it leads, its guard, and what
    the registers of the observer become; null for no change.
    """
    states = {state.name: number for number, state in enumerate(observer.states)}
    rows: list[list[Any]] = []
    for number, rule in enumerate(observer.rules):
        when = specialize(rule.when, kind, known)
        if when == FALSE:
            continue
        sets = None
        if rule.sets:
            sets = [
                dumped(specialize(rule.sets[r.name], kind, known))
                if r.name in rule.sets
                else f"o.{r.name}"
                for r in observer.registers
            ]
        sources = [states[name] for name in observer.sources(rule)]
        rows.append([number, sources, states[rule.to], dumped(when), sets])
    return rows
