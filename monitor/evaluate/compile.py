"""Compiles terms to Python source.

Each ledger becomes a function from its old registers to its new ones, and each observer a function
from its state to the next, with the index of the rule that was taken. The source is made from the
specification alone, never from data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from monitor.evaluate.fields import POOL
from monitor.evaluate.for_kind import ForKind
from monitor.evaluate.observer_state import ObserverState, Registers
from monitor.evaluate.python_terms import CLAIM_REGISTERS, REQUEST_REGISTERS, in_order, to_python
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.observed import facts_of, reading
from spec.events.alphabet import Kind
from spec.language.terms import Scope, variables
from spec.language.verdicts import Verdict
from spec.projection.delivery import DELIVERY, STANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from monitor.evaluate.product import CompactStates, ProductState
    from spec.claims.claim import Mode
    from spec.contract.modes import Bundle
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


@dataclass(frozen=True)
class Compiled:
    """One bundle of a mode, ready to step.

    `claim(e, c, was)` and `request(e, c, was, now, req_was)` give the registers after an event;
    `steps[i](state, own, e, c, was, now, req_was, req)` gives state, own registers and the
    index of the rule taken, or -1. `contradicts(e, c, was)` gives the index of the assumption in
    `FACTS_ARE_FACTS` that an event breaks, or -1. `delivers[scope](e, c, was, now, req_was, req,
    stands)` says whether an event is delivered there (`spec.projection.delivery`). `by_kind` says
    that these are the mode's own functions, so that those for one kind may run in their place; with
    other functions (`dataclasses.replace`) it is false.
    """

    mode: Mode
    observers: tuple[Observer, ...]
    claim: Callable[..., Registers]
    request: Callable[..., Registers]
    steps: tuple[Callable[..., tuple[int, Registers, int]], ...]
    contradicts: Callable[..., int]
    delivers: Mapping[str, Callable[..., object]]
    source: str
    by_kind: bool = field(default=False, init=False)

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
    def places(self) -> tuple[tuple[int, int], ...]:
        """The places of all observers, twice each."""
        return tuple((index, index) for index in range(len(self.observers)))

    @cached_property
    def scoped_places(self) -> tuple[tuple[int, int], ...]:
        """The places of `scoped` among these, and in the bundle."""
        return tuple(enumerate(self.scoped))

    @cached_property
    def kinds(self) -> Mapping[Kind, ForKind]:
        """The same functions for events of one kind, made when the first is met."""
        return _Kinds(self)

    @cached_property
    def products(self) -> dict[Hashable, ProductState]:
        """The product states that were met, by all that makes them (`evaluate.compaction`)."""
        return {}

    @cached_property
    def compact_states(self) -> CompactStates:
        """The states of observers that these have."""
        return {}

    @cached_property
    def entries(self) -> dict[bool, tuple[ProductState, Registers, bool]]:
        """How a claim stands once it is registered, with its registers, by whether its predicate
        holds of nothing; and whether any of its observers moved.
        """
        return {}

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
    def names(self) -> frozenset[str]:
        """The obligations that the observers are of."""
        return frozenset(observer.name for observer in self.observers)

    @cached_property
    def of_losses(self) -> frozenset[str]:
        """Those of them that read whether a lost block was reported."""
        return reading("new_loss", self.mode) & self.names

    @cached_property
    def tiered(self) -> bool:
        """Whether the mode follows what its claims have in a tier."""
        return MODES[self.mode].constants["tiered"]

    @cached_property
    def ranked(self) -> bool:
        """Whether the mode compares the priorities of claims."""
        return MODES[self.mode].constants["ranked"]

    @cached_property
    def violated(self) -> tuple[frozenset[int], ...]:
        """For each observer the states in which it is broken for good."""
        return tuple(_having(o, Verdict.VIOLATED) for o in self.observers)


def _fields(observer: Observer) -> frozenset[str]:
    terms = [t for rule in observer.rules for t in (rule.when, *rule.sets.values())]
    read = [variable for term in terms for variable in variables(term)]
    return frozenset(variable.name for variable in read if variable.scope is Scope.EVENT)


class _Kinds(dict["Kind", "ForKind"]):
    def __init__(self, compiled: Compiled) -> None:
        super().__init__()
        self._compiled = compiled

    def __missing__(self, kind: Kind) -> ForKind:
        of = self._compiled
        whole = None if of.by_kind else (of.claim, of.request, of.contradicts, of.steps)
        self[kind] = found = ForKind(of.observers, kind, whole)
        return found


def _having(observer: Observer, verdict: Verdict) -> frozenset[int]:
    return frozenset(i for i, state in enumerate(observer.states) if state.verdict is verdict)


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
    compiled = Compiled(
        mode=mode,
        observers=observers,
        claim=made["claim"],
        request=made["request"],
        steps=tuple(made[f"observe_{i}"] for i in range(len(observers))),
        contradicts=made["contradicts"],
        delivers=compile_delivery(),
        source=source,
    )
    object.__setattr__(compiled, "by_kind", True)
    return compiled
