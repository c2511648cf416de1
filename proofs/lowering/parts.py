"""Statements to build test descriptors from, one for each combination of values in the schema.

They are constructed without validation, which would dominate the cost; tests validate them.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from spec.claims.states import Mode
from spec.contract.modes import Bundle, Depth
from spec.lowering.depths import PRECONDITIONS
from spec.lowering.descriptor import (
    SCHEMA,
    Adapter,
    Anchor,
    Descriptor,
    Forbidden,
    Holds,
    Item,
    Observed,
)
from spec.lowering.evidence import SCHEMA as EVIDENCE_SCHEMA
from spec.lowering.evidence import EvidenceFile, Shown
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import (
    RUNS,
    AnchorKind,
    Atom,
    Basis,
    ClaimScope,
    Order,
    Scope,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "GOOD",
    "NOTED",
    "adapter",
    "anchors",
    "descriptor",
    "evidence",
    "forbidden",
    "good",
    "items",
    "orders",
    "partial",
]

GOOD: Final = "good"
"""The name of an anchor that preserves every order, of the claim, in its own events."""

NOTED: Final = "noted"
"""The name of an anchor in documentation, which preserves nothing."""


def _anchor(
    kind: AnchorKind,
    order: tuple[Order, ...] = (),
    claim: ClaimScope | None = None,
    basis: Basis | None = None,
) -> Anchor:
    return Anchor.model_construct(
        kind=kind, source=None, path="p", note="n", order=order, claim=claim, basis=basis
    )


_ANCHORS: Final = {
    GOOD: _anchor(AnchorKind.TRACE, tuple(Order), ClaimScope.SAME_CLAIM, Basis.CLAIM_EVENTS),
    NOTED: _anchor(AnchorKind.DOCS),
}


def orders(of: Order) -> Iterator[tuple[Order, ...]]:
    """Sets of orders with and without one, alone and among all others."""
    others = tuple(order for order in Order if order is not of)
    yield from ((), (of,), others, tuple(Order))


def anchors(of: Order) -> Iterator[Anchor]:
    """Every anchor that the schema admits, up to the other orders."""
    for kind in AnchorKind:
        if kind not in RUNS:
            yield _anchor(kind)
            continue
        claims, bases = (*ClaimScope, None), (*Basis, None)
        for order, claim, basis in product(orders(of), claims, bases):
            yield _anchor(kind, order, claim, basis)


def items(obligation: str, modes: tuple[Mode, ...], anchor: str | None) -> Iterator[Item]:
    """Every item about an obligation, for these modes and with this anchor."""
    for status, scope in product(Status, Scope):
        yield _item(obligation, modes, status, scope, anchor)


def _item(
    obligation: str, modes: tuple[Mode, ...], status: Status, scope: Scope, anchor: str | None
) -> Item:
    return Item.model_construct(
        obligation=obligation, modes=modes, status=status, scope=scope, anchor=anchor, action=None
    )


@cache
def good(obligation: str, mode: Mode) -> Item:
    """An item that counts."""
    return _item(obligation, (mode,), Status.SUPPORTED, Scope.LITMUS_TRACE, GOOD)


@cache
def partial(obligation: str, mode: Mode) -> Item:
    """An item that is related, and does not count."""
    return _item(obligation, (mode,), Status.PARTIAL, Scope.DOCS_ONLY, NOTED)


def adapter(depth: Depth, evidence: Iterable[Item] = (), *, ready: bool = True) -> Adapter:
    """An adapter with all of its preconditions, or with all but the last."""
    holds = [
        Holds.model_construct(precondition=each, anchor=NOTED) for each in PRECONDITIONS[depth]
    ]
    return Adapter.model_construct(
        depth=depth,
        preconditions=tuple(holds if ready else holds[:-1]),
        evidence=tuple(evidence),
    )


def forbidden(mode: Mode, up_to: Depth) -> Forbidden:
    """A lowering to the mode that is forbidden up to a depth."""
    return Forbidden.model_construct(
        signal=Signal.BLOCK_EVENTS, mode=mode, up_to=up_to, because="b", anchor=NOTED
    )


def descriptor(**parts: Any) -> Descriptor:
    """A descriptor with these parts, the anchors `GOOD` and `NOTED`, and both atoms observed."""
    observed = tuple(Observed.model_construct(atom=atom, anchor=GOOD) for atom in Atom)
    fields: dict[str, Any] = {
        "schema_": SCHEMA,
        "name": "d",
        "runtime": "r",
        "version": "v",
        "about": "a",
        "anchors": _ANCHORS,
        "native": (),
        "adapters": (),
        "signals": (),
        "observations": observed,
        "forbidden": (),
        "non_claims": (),
        **parts,
    }
    return Descriptor.model_construct(**fields)


def evidence(
    mode: Mode, obligations: Sequence[str], order: tuple[Order, ...] = tuple(Order)
) -> EvidenceFile:
    """Evidence that was taken for a mode and shows these obligations, in these orders."""
    shown = tuple(
        Shown.model_construct(
            obligation=name,
            file=0,
            sequences=(0,),
            claims=("c",),
            verdict="satisfied",
            order=order,
            more=0,
        )
        for name in obligations
    )
    return EvidenceFile.model_construct(
        schema_=EVIDENCE_SCHEMA,
        mode=mode,
        bundle=Bundle.CONTRACT,
        spec="s",
        files=(),
        shown=shown,
        unshown=(),
    )
