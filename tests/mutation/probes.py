"""Descriptors that each test one entry of the lowering tables, with pinned answers.

`python -m tests.mutation.record` writes the pins.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spec.claims.states import Mode
from spec.contract.modes import MODES, ConflictAction
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Atom, Depth, Order
from spec.lowering.depths import Precondition
from spec.lowering.descriptor import Adapter, Anchor, Descriptor, Holds, Item, Observed, Shows
from spec.lowering.relation import lower
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import AnchorKind, Basis, ClaimScope, Label, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.lowering.relation import Row

__all__ = ["ROWS", "probes", "rows", "rows_page"]

ROWS: Final = Path(__file__).with_name("probes.txt")
_ADAPTERS: Final = tuple(d for d in Depth if d is not Depth.NONE)


def probes() -> dict[str, str]:
    """The answers for constructed descriptors, by the entry tested."""
    found: dict[str, list[str]] = {}
    for answers in (_offered, _shown_by_runs, _counting, _labelled):
        for question, answer in answers():
            found.setdefault(question, []).append(answer)
    return {question: " ".join(answers) for question, answers in found.items()}


def _offered() -> Iterator[tuple[str, str]]:
    for depth in _ADAPTERS:
        able = [name for name in OBLIGATIONS if _supplied(name, _offer(depth, name))]
        yield from ((f"{depth} supplies", name) for name in able)
        name = (able or ["claim_identity"])[0]
        for each in Precondition:
            if not _supplied(name, _offer(depth, name, without=each)):
                yield f"{depth} needs", each
        for below in Depth:
            if _supplied(name, _offer(depth, name), below):
                yield f"{depth} is reached from", below


def _shown_by_runs() -> Iterator[tuple[str, str]]:
    for name in OBLIGATIONS:
        for order in Order:
            if not _supplied(name, _native(name, order=tuple(o for o in Order if o is not order))):
                yield f"{name} needs", order
        for atom in Atom:
            if not _supplied(name, _native(name, atoms=tuple(a for a in Atom if a is not atom))):
                yield f"{name} needs", atom


def _counting() -> Iterator[tuple[str, str]]:
    for scope in Scope:
        if _supplied("claim_identity", _native("claim_identity", scope=scope)):
            yield "scopes that count", scope
    for kind in AnchorKind:
        if _supplied("claim_identity", _native("claim_identity", kind=kind)):
            yield "anchors that count", kind


def _labelled() -> Iterator[tuple[str, str]]:
    for mode in Mode:
        for name in MODES[mode].names():
            if _row(mode, _all_but(mode, name)).label is Label.REJECTED:
                yield f"{mode} is rejected without", name
        for signal in Signal:
            if _row(mode, _shows(signal)).label is not Label.UNKNOWN:
                yield f"{mode} is related to", signal


def _row(mode: Mode, descriptor: Descriptor, depth: Depth = Depth.BACKEND_PATCH) -> Row:
    return lower(descriptor, mode, depth)


def _supplied(name: str, descriptor: Descriptor, depth: Depth = Depth.BACKEND_PATCH) -> bool:
    row = _row(_mode_of(name), descriptor, depth)
    return any(supply.obligation == name for supply in row.supplied)


def _mode_of(name: str) -> Mode:
    return next(mode for mode in Mode if name in MODES[mode].names())


def _anchor(kind: AnchorKind = AnchorKind.TRACE, order: tuple[Order, ...] = tuple(Order)) -> Anchor:
    return Anchor.model_construct(
        kind=kind,
        source=None,
        path="trace.jsonl",
        note="A run.",
        order=order,
        claim=ClaimScope.SAME_CLAIM,
        basis=Basis.CLAIM_EVENTS,
    )


def _item(name: str, scope: Scope = Scope.CONFORMANCE_TRACE) -> Item:
    return Item.model_construct(
        obligation=name,
        modes=tuple(Mode),
        status=Status.SUPPORTED,
        scope=scope,
        anchor="run",
        action=ConflictAction.REFUSE,
    )


def _descriptor(anchor: Anchor, atoms: tuple[Atom, ...] = tuple(Atom), **parts: Any) -> Descriptor:
    seen = tuple(Observed.model_construct(atom=atom, anchor="always") for atom in atoms)
    empty: dict[str, Any] = dict.fromkeys(
        ("native", "adapters", "signals", "forbidden", "non_claims"), ()
    )
    known = {"anchors": {"run": anchor, "always": _anchor()}, "observations": seen}
    return Descriptor.model_construct(**(empty | known | parts))


def _offer(depth: Depth, name: str, without: Precondition | None = None) -> Descriptor:
    holds = tuple(
        Holds.model_construct(precondition=each, anchor="run")
        for each in Precondition
        if each is not without
    )
    adapter = Adapter.model_construct(depth=depth, preconditions=holds, evidence=(_item(name),))
    return _descriptor(_anchor(), adapters=(adapter,))


def _native(
    name: str,
    *,
    order: tuple[Order, ...] = tuple(Order),
    kind: AnchorKind = AnchorKind.TRACE,
    scope: Scope = Scope.CONFORMANCE_TRACE,
    atoms: tuple[Atom, ...] = tuple(Atom),
) -> Descriptor:
    return _descriptor(_anchor(kind, order), atoms, native=(_item(name, scope),))


def _all_but(mode: Mode, name: str) -> Descriptor:
    items = tuple(_item(other) for other in MODES[mode].names() if other != name)
    return _descriptor(_anchor(), native=items)


def _shows(signal: Signal) -> Descriptor:
    shown = Shows.model_construct(signal=signal, status=Status.SUPPORTED, anchor="run")
    return _descriptor(_anchor(), signals=(shown,))


@cache
def rows() -> dict[str, str]:
    """What is pinned of the probes."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()
    parts = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {question: answers for question, _, answers in parts}


def rows_page() -> str:
    """The probes as the file has them."""
    return _HEAD + "".join(f"{question}: {answers}\n" for question, answers in probes().items())


_HEAD: Final = """\
# Answers of the lowering relation for constructed descriptors, each of which tests one entry of its
# tables. `make runs` writes this.
"""
