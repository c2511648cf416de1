"""One mode as a transition system of facts, declarations, beliefs and observers.

The theorem of the mode is a statement about this system: from every state that satisfies `initial`,
along steps that are `possible` and `kept`, each such step is `sound`. `proofs.model.theorems` has
the clauses, `proofs.model.environment` what is possible, `proofs.model.auditor` the beliefs;
`proofs.model.pair` is the system of soft_priority.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import z3
from msgspec.structs import replace

from proofs.logic.connectives import all_of, any_of, choice, equal, negation
from proofs.logic.encode import Expr, Numbers, encode, variable
from proofs.model.auditor import BELIEFS
from proofs.model.environment import POOL, faithful, replayable
from proofs.model.theorems import CLAUSES
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS, live, was
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.terms import Scope, Sort, Term
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.model.theorems import Clause
    from spec.claims.states import Mode
    from spec.language.machine import Ledger, Observer

__all__ = ["BEFORE", "LEDGERS", "REPLAY", "Step", "System", "switch", "waited_for"]

LEDGERS: tuple[tuple[Ledger, Scope, Scope], ...] = (
    (CLAIM_FACTS, Scope.WAS, Scope.NOW),
    (DECLARED, Scope.WAS, Scope.NOW),
    (POOL, Scope.WAS, Scope.NOW),
    (REQUEST_FACTS, Scope.REQ_WAS, Scope.REQ),
    (BELIEFS, Scope.BELIEVED, Scope.BELIEVES),
)
REPLAY = "replay"
BEFORE = {Scope.NOW: Scope.WAS, Scope.REQ: Scope.REQ_WAS, Scope.BELIEVES: Scope.BELIEVED}


@dataclass(frozen=True)
class Step:
    """One symbolic event: its precondition, the next state, and the clauses.

    `compared` has a formula for each situation that a clause is about (`Clause.tested`): the event
    is in it, and nothing that the clause waits for is owed.
    """

    possible: Expr
    following: dict[str, Expr]
    clauses: dict[str, Expr]
    keeps: dict[str, Expr]  # each observer of the bundle is not violated after the event
    exercised: dict[str, Expr]  # each observer is satisfied after the event
    owing: dict[str, Expr]  # each observer owes something after the event
    compared: dict[tuple[str, str], Expr]  # a clause is compared where it could be false

    @property
    def settled(self) -> Expr:
        """Nothing is owed after the event."""
        return negation(any_of([*self.owing.values()]))

    @property
    def kept(self) -> Expr:
        """Every obligation of the bundle is kept."""
        return all_of([*self.keeps.values()])

    @property
    def sound(self) -> Expr:
        """Every clause holds."""
        return all_of([*self.clauses.values()])


def switch(name: str) -> Expr:
    """The constant that activates an obligation, a rule (`name.rule`) or `REPLAY`."""
    return z3.Bool(f"on {name}")


def waited_for(clause: Clause, owing: Mapping[str, Expr]) -> Expr:
    """None of the obligations that a clause waits for is pending.

    Args:
        owing: that each obligation in force owes something.
    """
    return z3.And([z3.Not(owing[name]) for name in sorted(clause.waits) if name in owing])


class System:
    """The most general runtime under one mode's obligations.

    Args:
        numbers: mathematical integers, or bit-vectors for bounded search.
        without: obligations removed from the bundle, or single rules of them (`name.rule`).
        only: the names of the clauses to keep; all if None.
        replay: only runs that can be written as a file of events and read back.
        switched: obligations, rules and `replay` are active only where their `switch` is true.
    """

    def __init__(
        self,
        mode: Mode,
        bundle: Bundle,
        numbers: Numbers,
        *,
        without: frozenset[str] = frozenset(),
        only: frozenset[str] | None = None,
        replay: bool = False,
        switched: bool = False,
    ) -> None:
        self.mode, self.numbers = mode, numbers
        self.spec = MODES[mode]
        self.observers: tuple[Observer, ...] = tuple(
            replace(o, rules=tuple(r for r in o.rules if f"{o.name}.{r.name}" not in without))
            for o in self.spec.bundle(bundle)
            if o.name not in without
        )
        self.clauses: tuple[Clause, ...] = tuple(
            clause for clause in CLAUSES.get(mode, ()) if only is None or clause.name in only
        )
        self.alphabet: tuple[Kind, ...] = tuple(sorted(Kind))
        self.sides: Mapping[str, str] = {"": ""}
        self.ledgers = LEDGERS
        self._replay, self._switched = replay, switched

    def mine(self, side: str) -> str:
        """The event field that says whether an event concerns the claim."""
        return "mine"

    @cached_property
    def state_sorts(self) -> dict[str, tuple[Sort, bool | int]]:
        """Every state variable with its sort and initial value; `threshold` is any, and stays."""
        found: dict[str, tuple[Sort, bool | int]] = {}
        for ledger, scope, _ in self.ledgers:
            for r in ledger.registers:
                found[f"{scope.value}.{r.name}"] = (r.sort, r.initial)
        for o in self.observers:
            found[f"state.{o.name}"] = (Sort.INT, 0)
            for r in o.registers:
                found[f"own.{o.name}.{r.name}"] = (r.sort, r.initial)
        return found

    def state(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for a state."""
        made = {n: self._state_var(n, s, suffix) for n, (s, _) in self.state_sorts.items()}
        made["c.threshold"] = self.numbers.var("c.threshold")
        return made

    def _state_var(self, name: str, sort: Sort, suffix: str) -> Expr:
        return variable(f"{name}{suffix}", sort, self.numbers)

    def event(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for an event; its kind is an index of `alphabet`."""
        made = {
            name: variable(f"e.{name}{suffix}", sort, self.numbers)
            for name, (sort, _) in EVENT_FIELDS.items()
            if name != "rest"
        }
        made["kind"] = self.numbers.kind_var(f"e.kind{suffix}")
        return made

    def value(self, term: Term, state: Mapping[str, Expr]) -> Expr:
        """A term over the constants and the facts before an event, in a state."""

        def resolve(scope: Scope, name: str) -> Expr:
            if scope is Scope.CLAIM and name != "threshold":
                return z3.BoolVal(self.spec.constants[name])
            return state[f"{scope.value}.{name}"]

        return encode(term, resolve, {}, self.numbers)

    def live(self, state: Mapping[str, Expr]) -> Expr:
        """News of the claim is owed in a state (`spec.contract.ledgers.live`)."""
        return self.value(live(was), state)

    def initial(self, state: Mapping[str, Expr]) -> Expr:
        """The state before any event, for any threshold of at least one block."""
        num = self.numbers
        parts = [num.const(1) <= state["c.threshold"]]
        if num.limit is not None:
            parts.append(state["c.threshold"] <= num.const(num.limit))
        for name, (sort, value) in self.state_sorts.items():
            const = z3.BoolVal(value) if sort is Sort.BOOL else num.const(int(value))
            parts.append(equal(state[name], const))
        return all_of(parts)

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        """One event out of a state, as expressions over both."""
        num = self.numbers
        kinds = {k: equal(event["kind"], num.kind(i)) for i, k in enumerate(self.alphabet)}
        following: dict[str, Expr] = {}
        sources = {
            (after, r.name): ledger.following[r.name]
            for ledger, _, after in self.ledgers
            for r in ledger.registers
        }

        def resolve(scope: Scope, name: str) -> Expr:
            if scope is Scope.EVENT:
                return state["was.rest"] if name == "rest" else event[name]
            if scope is Scope.CLAIM:
                if name in CONSTANTS and name != "threshold":
                    return z3.BoolVal(self.spec.constants[name])
                return state["c.threshold"]
            if scope in BEFORE:
                key = f"{BEFORE[scope].value}.{name}"
                if key not in following:
                    following[key] = z3.simplify(term(sources[scope, name]))
                return following[key]
            return state[f"{scope.value}.{name}"]

        def term(t: Term, own: str = "") -> Expr:
            def at(scope: Scope, name: str) -> Expr:
                if scope is Scope.OWN:
                    return state[f"own.{own}.{name}"]
                return resolve(scope, name)

            return encode(t, at, kinds, num)

        for scope, name in sources:
            resolve(scope, name)
        keeps, owing, exercised = {}, {}, {}
        for o in self.observers:
            after = self._observe(o, state, lambda t, o=o: term(t, o.name), following)
            verdicts = {v: self._in(o, after, v) for v in Verdict}
            keeps[o.name] = negation(verdicts[Verdict.VIOLATED])
            owing[o.name] = verdicts[Verdict.PENDING]
            exercised[o.name] = verdicts[Verdict.SATISFIED]
        possible = [term(faithful()), any_of([*kinds.values()])]
        if self._replay:
            readable = z3.If(
                self._on("claim_identity"),
                term(replayable(identity=True)),
                term(replayable(identity=False)),
            )
            proven = z3.Implies(event["proof"], self._on("footprint_accounting"))
            possible.append(z3.Implies(self._on(REPLAY), z3.And(readable, proven)))
        if num.limit is not None:
            ints = [v for n, v in event.items() if n != "kind" and not z3.is_bool(v)]
            possible.extend(v <= num.const(num.limit) for v in ints)
            possible.append(following["was.rest"] <= num.const(num.limit))
        clauses, compared = {}, {}
        for clause in self.clauses:
            waited = waited_for(clause, owing)
            clauses[clause.name] = z3.Implies(waited, term(clause.holds))
            for name, where in clause.tested:
                compared[clause.name, name] = all_of([waited, term(where)])
        return Step(all_of(possible), following, clauses, keeps, exercised, owing, compared)

    def _observe(self, o: Observer, state: Mapping[str, Expr], term, following) -> Expr:  # type: ignore[no-untyped-def]
        index = {s.name: i for i, s in enumerate(o.states)}
        now = state[f"state.{o.name}"]
        after, own = now, {r.name: state[f"own.{o.name}.{r.name}"] for r in o.registers}
        for rule in reversed(o.rules):
            fires = all_of(
                [
                    self._on(o.name),
                    self._on(f"{o.name}.{rule.name}"),
                    any_of([equal(now, self.numbers.const(index[s])) for s in o.sources(rule)]),
                    term(rule.when),
                ]
            )
            after = choice(fires, self.numbers.const(index[rule.to]), after)
            for r in o.registers:
                kept = state[f"own.{o.name}.{r.name}"]
                value = term(rule.sets[r.name]) if r.name in rule.sets else kept
                own[r.name] = choice(fires, value, own[r.name])
        following[f"state.{o.name}"] = after
        for name, value in own.items():
            following[f"own.{o.name}.{name}"] = value
        return after

    def _on(self, name: str) -> Expr:
        """Whether something is active: always, unless it is switched or removed."""
        if name in OBLIGATIONS and name not in {o.name for o in self.observers}:
            return z3.BoolVal(False)
        return switch(name) if self._switched else z3.BoolVal(True)

    def _in(self, o: Observer, at: Expr, verdict: Verdict) -> Expr:
        where = [i for i, s in enumerate(o.states) if s.verdict is verdict]
        return any_of([equal(at, self.numbers.const(i)) for i in where])
