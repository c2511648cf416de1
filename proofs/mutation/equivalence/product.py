"""Compares the specification with its mutant in a product model of both.

Both receive every event of every faithful stream (`proofs.mutation.runs.faithful`), for arbitrary
runtimes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.search import find_refutation
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.invariants.spacer import prove
from proofs.logic.encode import Bits, Expr, Integers, Numbers, encode
from proofs.model.system import BEFORE, LEDGERS, Step, System, waited_for
from proofs.model.theorems import Clause
from proofs.mutation.equivalence.inductive import agree, always
from proofs.mutation.equivalence.reachable import inside
from proofs.mutation.runs.faithful import well_formed
from proofs.mutation.runs.judge import alike
from proofs.mutation.runs.lines import write_run
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.terms import TRUE, Scope, Term
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spec.language.machine import Ledger, Observer

__all__ = [
    "Comparable",
    "Compared",
    "Comparison",
    "compare",
    "compared",
    "difference",
    "same_step",
    "same_terms",
    "shortest",
]

Comparable = Term | Clause
"""What original and mutant are compared by; a clause that is suspended holds trivially."""
RLIMIT = 60_000_000
WIDTH = 7  # wide enough for the number of every kind
DEEPEST = 12
SHALLOW = 5
"""How many events are searched before a proof is tried."""
_BELIEVED = f"{Scope.BELIEVED.value}."
_KINDS = tuple(sorted(Kind))


class Compared(StrEnum):
    """How a mutant compares with its original; the first four show it equivalent."""

    STEP = "from every state each event leads both to the same state"
    REACHED = "the same from every state inside an invariant that plain Z3 proves"
    FRAME = "the frame theorem is proved of it too: no verdict depends on the change"
    RUN = "in no run of any length do their verdicts differ (an invariant that plain Z3 checks)"
    DIFFERENT = "in some run their verdicts differ"
    UNKNOWN = "the solver's work limit was reached"


@dataclass(frozen=True)
class Comparison:
    """What to compare in a mode: pairs of observers, and pairs of terms or clauses.

    Args:
        observers: pairs of original and changed observer.
        terms: pairs of terms that must be equal for each event.
        allowed: the condition on every event of a faithful stream.
        ledgers: copies of changed ledgers, in addition to the original ones.
    """

    mode: Mode
    observers: tuple[tuple[Observer, Observer], ...] = ()
    terms: tuple[tuple[Comparable, Comparable], ...] = ()
    allowed: Term | None = None
    ledgers: tuple[tuple[Ledger, Scope, Scope], ...] = ()

    def model(self, numbers: Numbers) -> _Both:
        """The product of the specification and its mutant."""
        return _Both(self, numbers)

    @property
    def waited(self) -> tuple[Observer, ...]:
        """The obligations of the mode that a clause waits for."""
        clauses = [each for pair in self.terms for each in pair if isinstance(each, Clause)]
        names = {name for clause in clauses for name in clause.settled}
        return tuple(OBLIGATIONS[name] for name in MODES[self.mode].names() if name in names)


class _Both(System):
    """The product model; its one clause states that everything compared agrees."""

    def __init__(self, comparison: Comparison, numbers: Numbers) -> None:
        super().__init__(comparison.mode, Bundle.CONTRACT, numbers)
        self.comparison = comparison
        self.pairs = [
            (one, replace(other, name=f"{other.name}'{i}"))
            for i, (one, other) in enumerate(comparison.observers)
        ]
        observers = [*(o for pair in self.pairs for o in pair), *comparison.waited]
        self.observers = tuple({o.name: o for o in observers}.values())
        self.alphabet = _KINDS
        self.clauses = ()
        self.ledgers = (*LEDGERS, *comparison.ledgers)
        # Registers that nothing reads may stay constant.
        self._still = not any(
            before is Scope.BELIEVED for _, before, _ in comparison.ledgers
        ) and not (comparison.terms)

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        made = super().step(state, event)
        kinds = {k: event["kind"] == self.numbers.const(i) for i, k in enumerate(_KINDS)}

        def term(t: Term) -> Expr:
            def resolve(scope: Scope, name: str) -> Expr:
                if scope is Scope.EVENT:
                    return state["was.rest"] if name == "rest" else event[name]
                if scope is Scope.CLAIM:
                    constant = self.spec.constants.get(name)
                    return state["c.threshold"] if constant is None else z3.BoolVal(constant)
                if scope in BEFORE:
                    return made.following[f"{BEFORE[scope].value}.{name}"]
                return state[f"{scope.value}.{name}"]

            return encode(t, resolve, kinds, self.numbers)

        possible = made.possible
        if self.comparison.allowed is not None:
            parts = [term(self.comparison.allowed), z3.Or(list(kinds.values()))]
            if self.numbers.limit is not None:
                limit = self.numbers.const(self.numbers.limit)
                amounts = [v for n, v in event.items() if n != "kind" and not z3.is_bool(v)]
                amounts.append(made.following["was.rest"])
                parts += [z3.And(-limit <= v, v <= limit) for v in amounts]
            possible = z3.And(parts)
        same = [
            self._in(one, made.following[f"state.{one.name}"], verdict)
            == self._in(other, made.following[f"state.{other.name}"], verdict)
            for one, other in self.pairs
            for verdict in Verdict
        ]

        def formula(each: Comparable) -> Expr:
            if isinstance(each, Clause):
                return z3.Implies(waited_for(each, made.owing), term(each.holds))
            return term(each)

        agree = [formula(one) == formula(other) for one, other in self.comparison.terms]
        following = {
            name: value
            for name, value in made.following.items()
            if not (self._still and name.startswith(_BELIEVED))
        }
        return replace(
            made,
            possible=z3.And(possible, term(well_formed())),
            following=following,
            clauses={"same": z3.And(same + agree)},
            keeps={},
            compared={("term", str(number)): each for number, each in enumerate(agree)},
        )


class _Loose:
    """The product model with arbitrary ledgers before each event: more runs, fewer variables.

    Agreement in all of these runs implies agreement in the real ones.
    """

    def __init__(self, both: _Both) -> None:
        self._both = both
        self.mode, self.numbers, self.alphabet = both.mode, both.numbers, both.alphabet
        self.observers, self.clauses, self.sides = both.observers, both.clauses, both.sides

    @cached_property
    def _own(self) -> list[str]:
        return [n for n in self._both.state("") if n.startswith(("state.", "own."))]

    def mine(self, side: str) -> str:
        return self._both.mine(side)

    def state(self, suffix: str) -> dict[str, Expr]:
        whole = self._both.state(suffix)
        return {name: whole[name] for name in self._own}

    def event(self, suffix: str) -> dict[str, Expr]:
        loose = self._both.state(f"{suffix}.loose")
        more = {f"loose {n}": value for n, value in loose.items() if n not in self._own}
        return self._both.event(suffix) | more

    def initial(self, state: Mapping[str, Expr]) -> Expr:
        sorts, num = self._both.state_sorts, self.numbers
        return z3.And([state[n] == _const(sorts[n][1], num) for n in self._own])

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        before = {n.removeprefix("loose "): v for n, v in event.items() if n.startswith("loose ")}
        made = self._both.step({**before, **state}, event)
        following = {n: v for n, v in made.following.items() if n in self._own}
        least = self.numbers.const(1) <= before["c.threshold"]
        return replace(made, following=following, possible=z3.And(made.possible, least))


def _const(value: bool | int, numbers: Numbers) -> Expr:
    return z3.BoolVal(value) if isinstance(value, bool) else numbers.const(value)


def compared(comparison: Comparison) -> Compared:
    """Compare: whether anything compared differs in some run.

    Up to the first difference a run is a run of the original, so invariants of the original may be
    assumed.
    """
    both, known = (
        comparison.model(Integers()),
        _known(alike(comparison.mode), beliefs=bool(comparison.terms)),
    )
    if comparison.observers and agree(_Loose(both), both.pairs):
        return Compared.RUN
    if agree(both, both.pairs, [*known, *_about(comparison)]):
        return Compared.RUN
    if find_refutation(comparison.model(Bits(WIDTH)), SHALLOW, rlimit=RLIMIT).found is not None:
        return Compared.DIFFERENT
    match prove(both, RLIMIT).result:
        case ProofResult.PROVED:
            return Compared.RUN
        case ProofResult.REFUTED:
            return Compared.DIFFERENT
    return Compared.UNKNOWN


def same_terms(
    mode: Mode, pairs: Sequence[tuple[Comparable, Comparable]], allowed: Term | None = None
) -> list[bool]:
    """For each pair of terms, whether they are proved equal for every event of every run.

    Args:
        allowed: as for `Comparison`.
    """
    comparison = Comparison(mode, terms=tuple(pairs), allowed=allowed)
    both = comparison.model(Integers())
    step = both.step(both.state(""), both.event(""))
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", RLIMIT)
    solver.add(step.possible, *_known(alike(mode), beliefs=True), *_about(comparison))
    found = []
    for agrees in step.compared.values():
        solver.push()
        found.append(bool(solver.check(z3.Not(agrees)) == z3.unsat))
        solver.pop()
    return found


def _about(comparison: Comparison) -> list[Expr]:
    """Invariants of the obligations that are compared or waited for."""
    constants = alike(comparison.mode)
    found = [*(one for one, _ in comparison.observers), *comparison.waited]
    own = {one.name for one in found if OBLIGATIONS.get(one.name) == one}
    return [each for name in sorted(own) for each in _inside(constants, name)]


@cache
def _known(constants: str, *, beliefs: bool = False) -> tuple[Expr, ...]:
    """Invariants of the ledgers, by constants: the same for equivalent modes.

    Args:
        beliefs: with those of the auditor.
    """
    mode = next(m for m in Mode if alike(m) == constants)
    model = Comparison(mode, terms=((TRUE, TRUE),) if beliefs else ()).model(Integers())
    return always(model)


@cache
def _inside(constants: str, name: str) -> tuple[Expr, ...]:
    """Invariants of the ledgers and of an obligation, by constants."""
    mode = next(m for m in Mode if alike(m) == constants and name in MODES[m].names())
    observer, known = OBLIGATIONS[name], _known(constants)
    model = Comparison(mode).model(Integers())
    model.observers = (observer,)
    return inside(model, mode, observer, known)


def shortest(comparison: Comparison, depth: int = DEEPEST, *, plain: bool = True) -> str | None:
    """A shortest run, as a line of `runs.txt`, with a difference, or None if there is none of up to
    `depth` events; minimised if `plain`.
    """
    found = find_refutation(comparison.model(Bits(WIDTH)), depth, plain=plain).found
    if found is None:
        return None
    events = [
        (_KINDS[int(event["kind"])], {**event, "rest": was["was.rest"]})
        for event, was in zip(found.events, found.states, strict=False)
    ]
    return write_run(int(found.states[0]["c.threshold"]), events)


def same_step(mode: Mode, original: Observer, mutants: Sequence[Observer]) -> list[Compared | None]:
    """Whether each event leads each mutant to the same state as the original: from every state, or
    from every state in an invariant. None if the solver does not decide.
    """
    both = Comparison(mode, tuple((original, m) for m in mutants)).model(Integers())
    state, event = both.state(""), both.event("")
    step = both.step(state, event)
    parts = ["state.{}", *(f"own.{{}}.{register.name}" for register in original.registers)]
    here = state[parts[0].format(original.name)]
    anywhere = [step.possible, here >= 0, here < len(original.states), state["c.threshold"] >= 1]
    found: list[Compared | None] = [None for _ in mutants]
    for how in (Compared.STEP, Compared.REACHED):
        solver = z3.SolverFor("QF_LIA")
        solver.set("rlimit", RLIMIT)
        solver.add(*anywhere)
        if how is Compared.REACHED and None in found:
            solver.add(*_known(alike(mode)), *_inside(alike(mode), original.name))
        for number, (_, mutant) in enumerate(both.pairs):
            if found[number] is None:
                pairs = [(part.format(original.name), part.format(mutant.name)) for part in parts]
                solver.push()
                solver.add(*(state[a] == state[b] for a, b in pairs))
                solver.add(z3.Or([step.following[a] != step.following[b] for a, b in pairs]))
                found[number] = how if solver.check() == z3.unsat else None
                solver.pop()
    return found


def compare(mode: Mode, original: Observer, mutant: Observer) -> Compared:
    """Compare a mutant with its original on the faithful streams of the mode."""
    return compared(Comparison(mode, ((original, mutant),)))


def difference(
    mode: Mode,
    original: Observer,
    mutant: Observer,
    depth: int = DEEPEST,
    *,
    plain: bool = True,
) -> str | None:
    """A shortest run, as a line of `runs.txt`, that the mutant judges differently, or None if there
    is none of up to `depth` events; minimised if `plain`.
    """
    return shortest(Comparison(mode, ((original, mutant),)), depth, plain=plain)
