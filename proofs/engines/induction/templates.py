"""Generates candidate invariants from the specification, filtered by runs of small instances.

The template: every literal over the registers and the observers' states; every pair of literals of
which one must hold; a literal or a pair in a state of an observer; and a literal wherever certain
observers owe nothing. `proofs.engines.induction.k_induction` decides which of these are invariants.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import z3

from proofs.engines.explicit.state_space import Bounds, explore
from proofs.logic.encode import Integers, encode
from proofs.model.auditor import BELIEFS
from proofs.model.environment import faithful
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.language.partial_evaluation import specialize
from spec.language.terms import Compare, Const, Scope, Sort, Term, Var, children, variables
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from proofs.engines.explicit.finite import State, Value
    from proofs.engines.explicit.state_space import Machine
    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model

__all__ = ["Candidate", "candidates", "holds_at", "survives"]

SAMPLES = 4000
_SMALL = (Bounds(blocks=1, counted=2, states=20_000), Bounds(blocks=2, states=2_000))
_AFTER = {Scope.NOW: "was", Scope.REQ: "req_was", Scope.BELIEVES: "believed"}
_WRITTEN = (
    (CLAIM_FACTS, "was"),
    (DECLARED, "was"),
    (REQUEST_FACTS, "req_was"),
    (BELIEFS, "believed"),
)


@dataclass(frozen=True, slots=True)
class Atom:
    """`left` holds, or compares with a constant or a variable; or a term over the state holds."""

    op: str  # "", "is", ">=", "==", "<=", "one more" or "term"
    left: str = ""
    right: str | int = 0
    term: Term | None = None

    def holds(self, values: Mapping[str, Value]) -> bool:
        if self.term is not None:
            return bool(_value(self.term, values))
        return bool(self._compare(values[self.left], values))

    def at(self, state: Mapping[str, Expr]) -> Expr:
        if self.term is not None:
            return encode(self.term, lambda scope, name: state[_name(scope, name)], {}, Integers())
        return self._compare(state[self.left], state)

    def _compare(self, left: Any, values: Mapping[str, Any]) -> Any:
        match self.op:
            case "":
                return left
            case "is":
                return left == int(self.right)
            case ">=":
                return left >= int(self.right)
            case "==":
                return left == values[str(self.right)]
            case "one more":
                return left == values[str(self.right)] + 1
        return left <= values[str(self.right)]


Literal = tuple[Atom, bool]
Candidate = frozenset[Literal]  # one of these holds


def candidates(model: Model, machine: Machine) -> list[Candidate]:
    """The candidates of the template that no small run refutes."""
    seen: list[State] = []
    for bounds in _SMALL:
        reached = explore(machine, bounds).seen
        seen += reached[:: max(1, len(reached) // SAMPLES)]
    offers = _Offers(_atoms(model, machine, seen), machine, seen)
    return list(dict.fromkeys([*offers.all(), *_still(model, machine)]))


class _Offers:
    """The candidates that hold in each sample. A mask has a bit for each sample where it holds."""

    def __init__(self, atoms: list[Atom], machine: Machine, seen: list[State]) -> None:
        samples = [dict(zip(machine.names, state, strict=True)) for state in seen]
        self._every = (1 << len(samples)) - 1
        self._masks: dict[Literal, int] = {}
        for atom in atoms:
            mask = sum(1 << i for i, values in enumerate(samples) if atom.holds(values))
            self._masks[atom, True], self._masks[atom, False] = mask, self._every & ~mask
        self._maybe = {lit: m for lit, m in self._masks.items() if m not in (0, self._every)}
        self._not_in = [
            lit for lit in self._maybe if lit[0].op == "is" and _named(lit[0].left) and not lit[1]
        ]
        self._flags = [lit for lit in self._maybe if lit[0].op == ""]
        owed = _owed(machine)
        self._owed = frozenset(
            lit for lit in self._maybe if lit[1] and (lit[0].left, lit[0].right) in owed
        )

    def all(self) -> Iterator[Candidate]:
        yield from self._ranges()
        yield from (frozenset({lit}) for lit, mask in self._masks.items() if mask == self._every)
        for (one, m), (other, n) in combinations(self._maybe.items(), 2):
            if m | n == self._every and one[0] != other[0]:
                yield frozenset({one, other})
        yield from self._unless_owed()
        yield from self._in_a_state()

    def _ranges(self) -> Iterator[Candidate]:
        """A name is one of those that it was seen to be."""
        names: dict[str, list[Literal]] = {}
        for atom, sign in self._masks:
            if atom.op == "is" and sign and _named(atom.left):
                names.setdefault(atom.left, []).append((atom, sign))
        yield from map(frozenset, names.values())

    def _unless_owed(self) -> Iterator[Candidate]:
        """A literal, or a flag in a state of an observer, wherever certain others owe nothing."""
        for literal, mask in self._maybe.items():
            guard = self._narrowed(self._owed, mask)
            if guard and len(guard) > 1:
                yield guard | {literal}
        for state, flag in product(self._not_in, self._flags):
            mask = self._maybe[state] | self._maybe[flag]
            others = frozenset(lit for lit in self._owed if lit[0].left != state[0].left)
            guard = None if mask == self._every else self._narrowed(others, mask)
            if guard:
                yield guard | {state, flag}

    def _in_a_state(self) -> Iterator[Candidate]:
        """In one state of an observer one of two literals holds, and not by a pair alone."""
        masks, every = self._maybe, self._every
        tests = [*self._flags]
        tests += [lit for lit in masks if "c.threshold" in lit[0].left or lit[0].term]
        for state, one in product(self._not_in, self._flags):
            mask = masks[state] | masks[one]
            for other in tests if mask != every else ():
                pairs = (masks[state] | masks[other], masks[one] | masks[other])
                if mask | masks[other] == every and every not in pairs:
                    yield frozenset({state, one, other})

    def _narrowed(self, owed: Candidate, mask: int) -> Candidate | None:
        """A part of `owed`, none of it idle, with which what `mask` stands for holds everywhere."""

        def enough(part: Candidate) -> bool:
            whole = mask
            for literal in part:
                whole |= self._maybe[literal]
            return whole == self._every

        if not enough(owed):
            return None
        for literal in sorted(owed, key=lambda lit: (lit[0].left, lit[0].right)):
            if enough(owed - {literal}):
                owed -= {literal}
        return owed


def _owed(machine: Machine) -> set[tuple[str, int]]:
    """The observers' states in which something is owed, by variable and value."""
    return {
        (name, number)
        for name in machine.names
        for o in machine.observers
        if name.rpartition("/")[2] == f"state.{o.name}"
        for number, state in enumerate(o.states)
        if state.verdict is Verdict.PENDING
    }


def _still(model: Model, machine: Machine) -> list[Candidate]:
    """The variables that the small instance leaves out, with their initial values."""
    left_out = {n: v for n, v in model.state("").items() if n not in machine.names}
    return [
        frozenset({(Atom("", n), False) if z3.is_bool(v) else (Atom("is", n, 0), True)})
        for n, v in left_out.items()
    ]


def _atoms(model: Model, machine: Machine, seen: Iterable[State]) -> list[Atom]:
    columns: dict[str, set[Value]] = {
        name: set(column)
        for name, column in zip(machine.names, zip(*seen, strict=True), strict=True)
    }
    atoms: list[Atom] = []
    numbers: list[str] = []
    for name, values in columns.items():
        if any(isinstance(v, bool) for v in values):
            atoms.append(Atom("", name))
        elif _named(name):
            atoms += [Atom("is", name, int(v)) for v in sorted(values)]
        else:
            numbers.append(name)
            atoms += [Atom("is", name, 0), Atom(">=", name, 0)]
    together = _together(model)
    for one, other in combinations(numbers, 2):
        if not _related(one, other, together):
            continue
        atoms += [Atom("==", one, other), Atom("<=", one, other), Atom("<=", other, one)]
        atoms += [Atom("one more", one, other), Atom("one more", other, one)]
    terms = dict.fromkeys(t for clause in model.clauses for t in _parts(clause.holds))
    return atoms + [Atom("term", term=t) for t in terms if _is_over_state(t, machine)]


def _related(one: str, other: str, together: list[set[str]]) -> bool:
    """The same register on two sides, or two of one side that are compared somewhere."""
    (side, _, first), (facing, _, second) = one.rpartition("/"), other.rpartition("/")
    if first.rpartition(".")[2] == second.rpartition(".")[2]:
        return True
    return side == facing and any({first, second} <= names for names in together)


def _together(model: Model) -> list[set[str]]:
    """The registers that some guard or clause compares with each other."""
    terms = [faithful(), *(clause.holds for clause in model.clauses)]
    terms += [rule.when for o in model.observers for rule in o.rules]
    return [_mentions(t) for term in terms for t in _parts(term) if isinstance(t, Compare)]


def _mentions(term: Term) -> set[str]:
    """The registers that a comparison reads, and those that its event fields are written to."""
    names = {_name(v.scope, v.name) for v in variables(term)}
    fields = {v.name for v in variables(term) if v.scope is Scope.EVENT}
    for ledger, scope in _WRITTEN:
        for register, following in ledger.following.items():
            if fields & {v.name for v in variables(following) if v.sort is Sort.INT}:
                names.add(f"{scope}.{register}")
    return names


def _parts(term: Term) -> Iterator[Term]:
    if term.sort is Sort.BOOL and not isinstance(term, Var):
        yield term
        for child in children(term):
            yield from _parts(child)


def _is_over_state(term: Term, machine: Machine) -> bool:
    """Whether the term reads only state variables of the small instance."""
    found = list(variables(term))
    return bool(found) and all(
        v.scope in (*_AFTER, Scope.CLAIM) and _name(v.scope, v.name) in machine.names for v in found
    )


def _name(scope: Scope, name: str) -> str:
    return f"{_AFTER.get(scope, scope.value)}.{name}"


def _value(term: Term, values: Mapping[str, Value]) -> Value:
    known = {
        (var.scope, var.name): Const(values[_name(var.scope, var.name)]) for var in variables(term)
    }
    folded = specialize(term, None, known)
    if not isinstance(folded, Const):
        raise TypeError(f"not about a state: {term!r}")
    return folded.value


def _named(variable: str) -> bool:
    """The values of the variable are names, not amounts."""
    name = variable.rpartition("/")[2]
    return name.startswith(("state.", "own.")) or name.endswith("_first")


def survives(candidate: Candidate, values: Mapping[str, Value]) -> bool:
    """Whether a candidate holds of these values."""
    return any(atom.holds(values) is sign for atom, sign in candidate)


def holds_at(candidate: Candidate, state: dict[str, Expr]) -> Expr:
    """The candidate as a formula over `state`."""
    return z3.Or([atom.at(state) if sign else z3.Not(atom.at(state)) for atom, sign in candidate])
