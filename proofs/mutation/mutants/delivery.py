"""Mutants of the delivery terms, which select the claims and requests that receive an event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from proofs.mutation.mutants.terms import slips
from spec.contract.ledgers import REQUEST_FACTS
from spec.language.terms import FALSE, Sort
from spec.stream.scopes import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from spec.language.terms import Term
    from spec.stream.scopes import Delivery

__all__ = ["PART", "DeliveryChange", "delivery_changes"]

PART: Final = "delivery"


@dataclass(frozen=True)
class DeliveryChange:
    """One change of the delivery condition, or of the values derived for undelivered events."""

    name: str
    operator: str
    says: str
    after: Delivery
    part: str = PART


@cache
def delivery_changes() -> tuple[DeliveryChange, ...]:
    """Every change of `DELIVERY`."""
    return (*_reasons(), *_derived(), *_unmet(), *_sets())


def _reasons() -> Iterator[DeliveryChange]:
    for scope, reasons in DELIVERY.reasons.items():
        for reason, term in reasons.items():
            made = [("void", "it is no reason", FALSE)] + [
                (slip.operator, f"{slip.operator}, in {slip.part}", slip.term)
                for slip in slips(term)
            ]

            def put(other: Term, scope: str = scope, reason: str = reason) -> Delivery:
                changed: dict[str, Any] = {scope: {**DELIVERY.reasons[scope], reason: other}}
                return replace(DELIVERY, **changed)

            yield from _each(f"{scope}.{reason}", term, made, put)


def _derived() -> Iterator[DeliveryChange]:
    for name, term in DELIVERY.derived.items():
        made = [(s.operator, f"{s.operator}, in {s.part}", s.term) for s in slips(term)]

        def put(other: Term, name: str = name) -> Delivery:
            return replace(DELIVERY, derived={**DELIVERY.derived, name: other})

        yield from _each(f"derived.{name}", term, made, put)
        rest = {n: t for n, t in DELIVERY.derived.items() if n != name}
        after = replace(DELIVERY, derived=rest)
        yield DeliveryChange(f"derived.{name}:fewer", "fewer", f"derived: without {name}", after)


def _unmet() -> Iterator[DeliveryChange]:
    made = [(s.operator, f"{s.operator}, in {s.part}", s.term) for s in slips(DELIVERY.unmet)]
    yield from _each("unmet", DELIVERY.unmet, made, lambda term: replace(DELIVERY, unmet=term))


def _each(
    where: str,
    term: Term,
    made: list[tuple[str, str, Term]],
    put: Callable[[Term], Delivery],
) -> Iterator[DeliveryChange]:
    seen = {term}
    for number, (operator, says, changed) in enumerate(made):
        if changed not in seen and changed.sort is Sort.BOOL:
            seen.add(changed)
            name = f"{where}:{operator}-{number}"
            yield DeliveryChange(name, operator, f"{where}: {says}", put(changed))


def _sets() -> Iterator[DeliveryChange]:
    registers = {r.name for r in REQUEST_FACTS.registers}
    wholes: tuple[tuple[str, frozenset[str], set[str]], ...] = (
        ("known", DELIVERY.known, registers - set(DELIVERY.derived)),
        ("left", DELIVERY.left, registers),
        ("shared", DELIVERY.shared, {"mine", "named", "lead", "needed", "usable"}),
    )
    for field, before, possible in wholes:
        for each in sorted(possible):
            there = each in before
            operator = "fewer" if there else "more"
            changed: dict[str, Any] = {field: before ^ {each}}
            yield DeliveryChange(
                f"{field}:{operator}-{each}",
                operator,
                f"{field}: {'without' if there else 'with'} {each}",
                replace(DELIVERY, **changed),
            )


def _names(scope: str) -> Mapping[str, Term]:
    return DELIVERY.reasons[scope]
