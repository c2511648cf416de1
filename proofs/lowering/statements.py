"""Every statement that a descriptor can make, and descriptors with such statements.

A statement is named by what the relation reads of it; `weaker` lists the statements that are weaker
by one step. They are constructed without validation, which would take most of the time.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from proofs.lowering.rules import Run
from spec.claims.states import Mode
from spec.contract.modes import Bundle, ConflictAction
from spec.contract.supply import Atom, Depth, Order
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
    Shows,
)
from spec.lowering.evidence import SCHEMA as EVIDENCE_SCHEMA
from spec.lowering.evidence import EvidenceFile, Shown
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import RUNS, AnchorKind, Basis, ClaimScope, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spec.lowering.depths import Precondition

__all__ = [
    "BEST",
    "GOOD",
    "NOTED",
    "SUPPORTED",
    "Item_",
    "Stated",
    "adapter",
    "anchor",
    "anchors",
    "descriptor",
    "evidence",
    "forbidden",
    "item",
    "items",
    "observed",
    "shows",
    "weaker",
]

GOOD: Final = "good"
"""The name of an anchor that preserves every order, of the claim, in its own events."""

NOTED: Final = "noted"
"""The name of an anchor in documentation, which preserves nothing."""

_STATUSES: Final = tuple(Status)  # strong to weak
_SCOPES: Final = tuple(reversed(Scope))


class Item_(NamedTuple):
    """What the relation reads of an item; `named` is whether it is for the mode of the row."""

    status: Status
    scope: Scope
    anchor: Run | None
    named: bool = True


BEST: Final = Run(AnchorKind.TRACE, True, ClaimScope.SAME_CLAIM, Basis.CLAIM_EVENTS)
"""An anchor that preserves everything."""

SUPPORTED: Final = Item_(Status.SUPPORTED, Scope.LITMUS_TRACE, BEST)
"""An item of which nothing is missing."""

Stated: TypeAlias = Any
"""An `Item_`, a `Run`, a signal with its status and whether it is anchored, or preconditions, each
not stated (0), not anchored (1) or anchored (2); None for a statement that is not made."""


def anchors() -> Iterator[Run]:
    """Every anchor that the schema admits."""
    for kind in AnchorKind:
        if kind not in RUNS:
            yield Run(kind)
            continue
        for order, claim, basis in product((True, False), (*ClaimScope, None), (*Basis, None)):
            yield Run(kind, order, claim, basis)


def items() -> Iterator[Item_]:
    """Every item about an obligation."""
    for stated in product(Status, Scope, (None, *anchors()), (True, False)):
        yield Item_(*stated)


def weaker(stated: Stated, axis: str) -> Iterator[Stated]:
    """The statements that are weaker by one step on an axis."""
    if axis == "gone":
        yield None
    elif isinstance(stated, Run):
        if axis == "anchor":
            yield None
        elif axis == "runs":
            yield from _weaker_runs(stated)
    elif isinstance(stated, Item_):
        if axis == "status":
            lower: Iterable[Any] = _STATUSES[_STATUSES.index(stated.status) + 1 :]
        elif axis == "scope":
            lower = _SCOPES[_SCOPES.index(stated.scope) + 1 :]
        else:
            axis, lower = "anchor", weaker(stated.anchor, axis)
        for each in lower:
            yield stated._replace(**{axis: each})
    elif isinstance(stated, tuple) and isinstance(stated[0], Signal):
        signal, status, anchored = stated
        if axis == "status":
            for less in _STATUSES[_STATUSES.index(status) + 1 :]:
                yield signal, less, anchored
        elif axis == "anchor":
            yield signal, status, False
    elif isinstance(stated, tuple) and axis in ("anchor", "preconditions"):
        lost = {"anchor": ({2}, 1), "preconditions": ({1, 2}, 0)}[axis]
        for n, each in enumerate(stated):
            if each in lost[0]:
                yield (*stated[:n], lost[1], *stated[n + 1 :])


def _weaker_runs(run: Run) -> Iterator[Run]:
    """Anchors that preserve less: no run, no order, another claim, another basis."""
    for kind in AnchorKind:
        if kind not in RUNS:
            yield Run(kind)
        elif run.kind in RUNS:
            yield run._replace(kind=kind)
    if run.kind in RUNS:
        yield run._replace(order=False)
        for claim in (*ClaimScope, None):
            if run.claim is ClaimScope.SAME_CLAIM or claim is not ClaimScope.SAME_CLAIM:
                yield run._replace(claim=claim)
        for basis in (*Basis, None):
            if run.basis is Basis.CLAIM_EVENTS or basis is not Basis.CLAIM_EVENTS:
                yield run._replace(basis=basis)


@cache
def anchor(run: Run, order: Order, *, others: bool = False) -> Anchor:
    """An anchor, which may preserve the orders that do not matter, too."""
    kept = [each for each in Order if (run.order if each is order else others)]
    return Anchor.model_construct(
        kind=run.kind,
        source=None,
        path="p",
        note="n",
        order=tuple(kept) if run.kind in RUNS else (),
        claim=run.claim,
        basis=run.basis,
    )


@cache
def item(obligation: str, modes: tuple[Mode, ...], stated: Item_, name: str | None) -> Item:
    """An item with an anchor of this name."""
    return Item.model_construct(
        obligation=obligation,
        modes=modes,
        status=stated.status,
        scope=stated.scope,
        anchor=name,
        action=ConflictAction.REFUSE if obligation == "explicit_conflict_action" else None,
        never=(),
    )


def adapter(depth: Depth, holds: tuple[int, ...], evidence: Iterable[Item] = ()) -> Adapter:
    """An adapter, each of whose preconditions is not stated (0), not anchored (1), or is (2)."""
    return Adapter.model_construct(
        depth=depth,
        preconditions=tuple(
            _holds(each, state)
            for each, state in zip(PRECONDITIONS[depth], holds, strict=True)
            if state
        ),
        evidence=tuple(evidence),
    )


@cache
def _holds(each: Precondition, state: int) -> Holds:
    return Holds.model_construct(precondition=each, anchor=NOTED if state == 2 else None)


@cache
def forbidden(mode: Mode, up_to: Depth) -> Forbidden:
    """A lowering to the mode that is forbidden up to a depth."""
    return Forbidden.model_construct(
        signal=Signal.BLOCK_EVENTS, mode=mode, up_to=up_to, because="b", anchor=NOTED
    )


_ANY: Final = Order.LIFECYCLE
_ANCHORS: Final = {GOOD: anchor(BEST, _ANY, others=True), NOTED: anchor(Run(AnchorKind.DOCS), _ANY)}


_EMPTY: Final = Descriptor.model_construct(
    schema_=SCHEMA,
    name="counterexample",
    runtime="any",
    version="any",
    about="Found by check lowering.",
    anchors=_ANCHORS,
)


def descriptor(anchors: dict[str, Anchor] | None = None, **parts: Any) -> Descriptor:
    """A descriptor with these parts, and the anchors `GOOD` and `NOTED`."""
    return _EMPTY.model_copy(update={"anchors": _ANCHORS | (anchors or {}), **parts})


@cache
def observed(atom: Atom, name: str | None) -> Observed:
    """An atom under an anchor of this name."""
    return Observed.model_construct(atom=atom, anchor=name)


@cache
def shows(stated: tuple[Signal, Status, bool]) -> Shows:
    """A signal."""
    signal, status, anchored = stated
    return Shows.model_construct(signal=signal, status=status, anchor=NOTED if anchored else None)


@cache
def evidence(
    mode: Mode, obligations: tuple[str, ...], order: tuple[Order, ...] | None = None
) -> EvidenceFile:
    """Evidence that was taken for a mode and shows these obligations, by default in their order."""
    shown = tuple(
        Shown.model_construct(
            obligation=name,
            file=0,
            sequences=(0,),
            claims=("c",),
            verdict="satisfied",
            order=(RELEVANT_ORDER[name],) if order is None else order,
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
