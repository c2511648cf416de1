"""Compiles the trusted definitions to Python, by the expressions that the judge generates."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from proofs.mutation.mutants.trusted import ORIGINAL, Trusted
from proofs.mutation.runs.faithful import well_formed
from proofs.mutation.runs.functions import (
    ARGUMENTS,
    CLAIM_REGISTERS,
    REQUEST_REGISTERS,
    expression,
    following,
    function,
)
from spec.language.terms import And, Scope, Term, conj

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.model.theorems import Clause
    from spec.claims.states import Mode

__all__ = ["Compiled", "facts", "initial"]


class Compiled:
    """The trusted definitions as functions, each compiled on first use.

    `claim`, `request` and `believe` return the registers after an event, `rest` the blocks of the
    others; `possible` and `parts` decide whether a faithful stream can contain an event.
    """

    def __init__(self, trusted: Trusted) -> None:
        self.trusted = trusted

    @cached_property
    def claim(self) -> Callable[..., tuple[Any, ...]]:
        """The registers of the claim's ledger after an event."""
        return self._following(Scope.WAS, Scope.NOW, "e, c, w")

    @cached_property
    def request(self) -> Callable[..., tuple[Any, ...]]:
        """The registers of the request's ledger after an event."""
        return self._following(Scope.REQ_WAS, Scope.REQ, "e, c, w, n, r")

    @cached_property
    def believe(self) -> Callable[..., tuple[Any, ...]]:
        """The beliefs of the auditor after an event."""
        return self._following(Scope.BELIEVED, Scope.BELIEVES, "e, before")

    def _following(
        self, before: Scope, after: Scope, arguments: str
    ) -> Callable[..., tuple[Any, ...]]:
        terms = self.trusted.following(before)
        return following(order(before, self.trusted), terms, after, arguments, _BELIEVED)

    @cached_property
    def rest(self) -> Callable[..., int]:
        """The blocks that the other claims hold after an event."""
        return function("e", expression(self.trusted.following(Scope.WAS)["rest"]))

    @cached_property
    def moved(self) -> Callable[..., bool]:
        """Whether a changed register has another value after an event."""
        parts = [
            f"{expression(term)} != {place}[{order(before, ORIGINAL).index(name)}]"
            for before, place in ((Scope.WAS, "n"), (Scope.REQ_WAS, "q"))
            for name, term in self.trusted.following(before).items()
            if name in order(before, ORIGINAL) and term is not ORIGINAL.following(before)[name]
        ]
        return function(ARGUMENTS, " or ".join(parts))

    @cached_property
    def parts(self) -> tuple[Callable[..., bool], ...]:
        """Each condition on the events of a faithful stream."""
        return tuple(function(ARGUMENTS, expression(part)) for part in _world_parts(self.trusted))

    @cached_property
    def possible(self) -> Callable[..., bool]:
        """Whether a faithful stream can contain an event."""
        return function(ARGUMENTS, expression(conj(*_world_parts(self.trusted))))

    @cached_property
    def given_up(self) -> frozenset[int]:
        """The conditions on a faithful stream that were removed."""
        kept = set(_world_parts(self.trusted))
        return frozenset(i for i, part in enumerate(_world_parts(ORIGINAL)) if part not in kept)

    @cached_property
    def and_also(self) -> Callable[..., bool]:
        """The conditions on a faithful stream that were added."""
        known = set(_world_parts(ORIGINAL))
        more = [part for part in _world_parts(self.trusted) if part not in known]
        return function(ARGUMENTS, expression(conj(*more)))

    def clauses(self, mode: Mode) -> dict[str, Callable[..., bool]]:
        """The clauses of the theorem of a mode, by name."""
        if mode not in self._by_mode:
            self._by_mode[mode] = {
                clause.name: _clause(clause) for clause in self.trusted.clauses.get(mode, ())
            }
        return self._by_mode[mode]

    @cached_property
    def _by_mode(self) -> dict[Mode, dict[str, Callable[..., bool]]]:
        return {}


@cache
def _clause(clause: Clause) -> Callable[..., bool]:
    names = _BELIEVED | {
        (Scope.BELIEVES, n): f"after[{i}]" for i, n in enumerate(order(Scope.BELIEVED, ORIGINAL))
    }
    return function(f"{ARGUMENTS}, before, after", expression(clause.holds, names))


@cache
def initial(scope: Scope) -> tuple[Any, ...]:
    """The registers of a scope before any event."""
    ledgers = [ledger for ledger, before, _ in ORIGINAL.ledgers if before is scope]
    initial = {r.name: r.initial for ledger in ledgers for r in ledger.registers}
    return tuple(initial[name] for name in order(scope, ORIGINAL))


def order(scope: Scope, trusted: Trusted) -> tuple[str, ...]:
    """The registers of a scope in storage order, without those of the pool."""
    match scope:
        case Scope.WAS:
            return CLAIM_REGISTERS
        case Scope.REQ_WAS:
            return REQUEST_REGISTERS
    return tuple(trusted.following(scope))


def _world_parts(trusted: Trusted) -> tuple[Term, ...]:
    world = trusted.world & well_formed()
    return world.args if isinstance(world, And) else (world,)


def facts(trusted: Trusted, scope: Scope) -> list[Term]:
    """The terms of the registers of a scope after an event."""
    terms = trusted.following(scope)
    return [terms[name] for name in order(scope, trusted)]


_BELIEVED = {
    (Scope.BELIEVED, n): f"before[{i}]" for i, n in enumerate(order(Scope.BELIEVED, ORIGINAL))
}
