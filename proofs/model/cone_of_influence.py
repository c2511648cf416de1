"""Computes the cone of influence of a mode's theorem: the registers that move and are read."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from proofs.model.environment import faithful
from proofs.model.system import BEFORE, LEDGERS
from spec.contract.modes import MODES
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.partial_evaluation import Known, specialize
from spec.language.terms import FALSE, TRUE, And, Const, Scope, Sort, Term, Var, variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proofs.model.theorems import Clause
    from spec.claims.states import Mode
    from spec.language.machine import Observer

__all__ = ["AFTER", "Cone", "Register"]

Register = tuple[Scope, str]

AFTER = {before: after for after, before in BEFORE.items()}
_PLAIN: Known = {
    (Scope.EVENT, name): Const(False if sort is Sort.BOOL else 0)
    for name, (sort, _) in EVENT_FIELDS.items()
    if name != "rest"
}


class Cone:
    """The part of the ledgers that the given observers and clauses can read, for an alphabet."""

    def __init__(
        self,
        mode: Mode,
        observers: tuple[Observer, ...],
        clauses: tuple[Clause, ...],
        alphabet: Iterable[Kind],
    ) -> None:
        self.mode, self.observers, self.clauses = mode, observers, clauses
        self.alphabet = tuple(alphabet)
        self.following = {
            (before, r.name): ledger.following[r.name]
            for ledger, before, _ in LEDGERS
            for r in ledger.registers
        }
        self.begins = {
            (before, r.name): Const(r.initial)
            for ledger, before, _ in LEDGERS
            for r in ledger.registers
        }
        self._constants: Known = {
            (Scope.CLAIM, n): Const(v) for n, v in MODES[mode].constants.items()
        }
        if Kind.LOAD_FAILED not in self.alphabet:  # then no refusal reports a failed restore
            self._constants[Scope.EVENT, "restore"] = FALSE

    @cached_property
    def _known(self) -> Known:
        """The constants of the mode, and the registers that no event of the alphabet moves."""
        still = dict(self.begins)
        while True:
            known = self._with(still)
            moved = [
                register
                for register in still
                if any(
                    specialize(self.following[register], kind, known) != still[register]
                    for kind in self.alphabet
                )
            ]
            if not moved:
                return known
            for register in moved:
                del still[register]

    def _with(self, still: Known) -> Known:
        after = {(AFTER[scope], name): value for (scope, name), value in still.items()}
        return {**self._constants, **still, **after}

    @cached_property
    def registers(self) -> tuple[Register, ...]:
        """The registers that something can read, and that move.

        Conditions on the possibility of an event count only for fields that are read.
        """
        found: set[Register] = set()
        todo = [v for kind in self.alphabet for t in self._roots(kind) for v in variables(t)]
        while todo:
            found |= self._closure(todo, found)
            read = [
                variables(part) for kind in self.alphabet for part in self._parts(kind, found)[0]
            ]
            todo = [v for each in read for v in each if self._register(v) not in found]
            todo = [v for v in todo if self._register(v) in self.following]
        return tuple(r for r in self.following if r in found)

    def _closure(self, todo: list[Var], known: set[Register]) -> set[Register]:
        """The registers of these variables, and those they are computed from."""
        found, todo = set(known), list(todo)
        while todo:
            register = self._register(todo.pop())
            if register in found or register not in self.following:
                continue
            found.add(register)
            for kind in self.alphabet:
                todo.extend(variables(specialize(self.following[register], kind, self._known)))
        return found

    @staticmethod
    def _register(var: Var) -> Register:
        return (Scope.WAS, "rest") if _is_rest(var) else _register(var)

    def _roots(self, kind: Kind) -> Iterator[Term]:
        for o in self.observers:
            for rule in o.rules:
                yield from (self.specialize(t, kind) for t in (rule.when, *rule.sets.values()))
        yield from (self.specialize(clause.holds, kind) for clause in self.clauses)

    def specialize(self, term: Term, kind: Kind) -> Term:
        """The term for an event of this kind, where registers that never move are constants."""
        return specialize(term, kind, self._known)

    def _whole(self, kind: Kind) -> Term:
        return self.specialize(faithful(), kind)

    def possible(self, kind: Kind) -> Term:
        """The condition under which an event of this kind is possible, restricted to fields that
        are read.

        Constraints on fields that nothing else reads are left out: default values satisfy them.
        """
        _, fields = self._parts(kind, self.registers)
        plain = {key: value for key, value in _PLAIN.items() if key[1] not in fields}
        return specialize(self._whole(kind), kind, plain)

    def _parts(self, kind: Kind, registers: Iterable[Register]) -> tuple[list[Term], set[str]]:
        """The constraints on an event of this kind that matter, and the fields that do.

        Args:
            registers: those that something reads.
        """
        terms = [self.specialize(self.following[r], kind) for r in registers] + list(
            self._roots(kind)
        )
        fields = {n for t in terms for n in _fields(t)}
        whole = self._whole(kind)
        parts = whole.args if isinstance(whole, And) else (whole,)
        while True:
            matter = [
                part
                for part in parts
                if _fields(part) & fields or specialize(part, kind, _PLAIN) != TRUE
            ]
            read = fields.union(*map(_fields, matter))
            if read == fields:
                return matter, fields
            fields = read


def _is_rest(var: Var) -> bool:
    return var.scope is Scope.EVENT and var.name == "rest"


def _register(var: Var) -> Register:
    return (BEFORE.get(var.scope, var.scope), var.name)


def _fields(term: Term) -> set[str]:
    return {v.name for v in variables(term) if v.scope is Scope.EVENT and not _is_rest(v)}
