"""Compiles observers and ledgers to Python functions of one claim and one request.

Each ledger becomes a function from its old registers to its new ones, and each observer a function
from its state to the next, with the index of the rule that was taken. The source is made from the
specification alone, never from data. Runs that detect mutants are evaluated by these functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from proofs.logic.python_terms import CLAIM_REGISTERS, REQUEST_REGISTERS, in_order, to_python
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.language.terms import Scope
from spec.stream.scopes import DELIVERY, STANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spec.claims.states import Mode
    from spec.contract.modes import Bundle
    from spec.language.machine import Ledger, Observer

__all__ = [
    "CLAIM_REGISTERS",
    "REQUEST_REGISTERS",
    "Compiled",
    "Constants",
    "compile_mode",
    "compile_observer",
    "delivery_source",
    "observer_source",
    "to_python",
]


@dataclass(frozen=True)
class Constants:
    """The fields of `spec.contract.vocabulary.CONSTANTS`."""

    threshold: int
    lapses: bool
    tiered: bool
    watched: bool
    ranked: bool


Registers = tuple[Any, ...]


@dataclass(frozen=True)
class Compiled:
    """One bundle of a mode, ready to step.

    `claim(e, c, was)` and `request(e, c, was, now, req_was)` give the registers after an event;
    `steps[i](state, own, e, c, was, now, req_was, req)` gives state, own registers and the
    index of the rule taken, or -1. `contradicts(e, c, was)` gives the index of the assumption in
    `FACTS_ARE_FACTS` that an event breaks, or -1. `delivers[scope](e, c, was, now, req_was, req,
    stands)` says whether an event is delivered there (`spec.stream.scopes`).
    """

    mode: Mode
    observers: tuple[Observer, ...]
    claim: Callable[..., Registers]
    request: Callable[..., Registers]
    steps: tuple[Callable[..., tuple[int, Registers, int]], ...]
    contradicts: Callable[..., int]
    delivers: Mapping[str, Callable[..., object]]
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
    def scoped(self) -> tuple[int, ...]:
        """The observers that are followed for each request, too."""
        return tuple(index for index, o in enumerate(self.observers) if o.per_request)


def _ledger(name: str, arguments: str, ledgers: tuple[Ledger, ...], after: Scope) -> list[str]:
    """A function that computes the registers after an event."""
    known: dict[tuple[Scope, str], str] = {}
    lines = [f"def {name}({arguments}):"]
    for register, term in in_order(ledgers, after):
        lines.append(f"    {register} = {to_python(term, known)}")
        known[after, register] = register
    registers = (r.name for ledger in ledgers for r in ledger.registers)
    lines.append(f"    return ({', '.join(registers)},)")
    return lines


def observer_source(index: int, o: Observer) -> list[str]:
    """The lines of the function of an observer."""
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
    source = "\n".join(observer_source(0, observer)) + "\n"
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
        lines += observer_source(index, observer)
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
