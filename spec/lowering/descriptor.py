"""Defines descriptors: what is publicly known of a runtime at a version, with sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from spec.claims.claim import Identifier, Record
from spec.claims.states import Mode
from spec.contract.modes import ConflictAction
from spec.contract.names import OTHER_NAMES
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Atom, Depth, Order
from spec.language.errors import DescriptorError
from spec.language.suggest import did_you_mean, resolve
from spec.lowering.depths import PRECONDITIONS, Precondition
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import RUNS, AnchorKind, Basis, ClaimScope, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "SCHEMA",
    "Adapter",
    "Anchor",
    "Descriptor",
    "Forbidden",
    "Holds",
    "Item",
    "NonClaim",
    "ObligationName",
    "Observed",
    "Shows",
]

SCHEMA: Final = "resident-claims/descriptor/1"

_MANY: Final = 1000


def _obligation(text: str) -> str:
    return resolve(text, OBLIGATIONS, what="obligation", aliases=OTHER_NAMES)


ObligationName = Annotated[
    str,
    AfterValidator(_obligation),
    WithJsonSchema({"type": "string", "enum": list(OBLIGATIONS)}),
]
"""The name of an obligation; a code or an alias is turned into it."""


class Anchor(Record):
    """Where something is shown: a path, a public source, or a path below a source.

    `order`, `claim` and `basis` say what a run preserves, and are for runs alone; what is not
    stated is not preserved.
    """

    kind: AnchorKind
    source: Identifier | None = None
    path: Identifier | None = None
    note: Identifier
    order: tuple[Order, ...] = ()
    claim: ClaimScope | None = None
    basis: Basis | None = None

    @model_validator(mode="after")
    def _placed(self) -> Anchor:
        if self.source is None and self.path is None:
            raise DescriptorError("an anchor names neither a path nor a source", "give one")
        if self.kind not in RUNS and (self.order or self.claim or self.basis):
            raise DescriptorError(
                f"an anchor in {self.kind} preserves no order, claim or basis",
                f"leave them out, or anchor it in {' or '.join(sorted(RUNS))}",
            )
        return self


class Item(Record):
    """A statement about one obligation, for the modes in which it was looked for.

    `anchor` names one of the descriptor's anchors. `action` is the one that a conflict meets;
    `never` are those that it never meets (`never: [relax_claim]` is the stricter form of
    hard_protected).
    """

    obligation: ObligationName
    modes: Annotated[tuple[Mode, ...], Field(min_length=1)]
    status: Status
    scope: Scope
    anchor: str | None = None
    action: ConflictAction | None = None
    never: tuple[ConflictAction, ...] = ()

    @model_validator(mode="after")
    def _acts(self) -> Item:
        supported = self.status is Status.SUPPORTED
        if self.obligation == "explicit_conflict_action" and supported and self.action is None:
            raise DescriptorError(
                "explicit_conflict_action is supported by no action",
                f"name it: one of {', '.join(ConflictAction)}",
            )
        if self.never and self.obligation != "explicit_conflict_action":
            raise DescriptorError(
                f"{self.obligation} has actions that a conflict never meets",
                "write them at explicit_conflict_action",
            )
        if self.action in self.never:
            raise DescriptorError(
                f"a conflict meets {self.action}, and never meets it", "leave one of them out"
            )
        return self


class Holds(Record):
    """A precondition of an adapter, and where it is shown to hold."""

    precondition: Precondition
    anchor: str | None = None


class Adapter(Record):
    """What is offered at one depth: the preconditions that hold, and the evidence."""

    depth: Depth
    preconditions: tuple[Holds, ...] = ()
    evidence: Annotated[tuple[Item, ...], Field(max_length=_MANY)] = ()

    @model_validator(mode="after")
    def _of_depth(self) -> Adapter:
        if self.depth is Depth.NONE:
            raise DescriptorError(
                "no adapter has the depth none", "write what needs no adapter under native"
            )
        known = PRECONDITIONS[self.depth]
        for i, each in enumerate(self.preconditions):
            if each.precondition not in known:
                raise DescriptorError(
                    f"{each.precondition} is no precondition of {self.depth}",
                    f"use {', '.join(known)}",
                    at=("preconditions", i),
                )
        _once("preconditions", [each.precondition for each in self.preconditions])
        return self


class Shows(Record):
    """An approximation signal: a primitive that is there. It counts as related if shown."""

    signal: Signal
    status: Status
    anchor: str | None = None


class Observed(Record):
    """An atom, and the runs in which it was observed."""

    atom: Atom
    anchor: str | None = None


class Forbidden(Record):
    """A mapping that would misrepresent the contract, at `up_to` and at every shallower depth."""

    signal: Signal
    mode: Mode
    up_to: Depth
    because: Identifier
    anchor: str

    def __str__(self) -> str:
        return f"{self.signal} -> {self.mode}"


class NonClaim(Record):
    """What a positive row must not be taken to say."""

    mode: Mode
    says: Identifier


class Descriptor(Record):
    """A runtime at a version, as publicly known.

    `native` needs no adapter. `adapters` are the depths offered, at most one for each depth.
    """

    schema_: Annotated[Literal["resident-claims/descriptor/1"], Field(alias="schema")]
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    runtime: Identifier
    version: Identifier
    about: Identifier
    anchors: dict[str, Anchor]
    native: Annotated[tuple[Item, ...], Field(max_length=_MANY)] = ()
    adapters: tuple[Adapter, ...] = ()
    signals: tuple[Shows, ...] = ()
    observations: tuple[Observed, ...] = ()
    forbidden: Annotated[tuple[Forbidden, ...], Field(max_length=_MANY)] = ()
    non_claims: tuple[NonClaim, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Descriptor:
        _once("adapters", [adapter.depth for adapter in self.adapters])
        _once("signals", [shown.signal for shown in self.signals])
        _once("observations", [seen.atom for seen in self.observations])
        for path, statement in self.statements():
            if statement.anchor is not None and statement.anchor not in self.anchors:
                raise DescriptorError(
                    f"there is no anchor {statement.anchor!r}",
                    did_you_mean(statement.anchor, self.anchors) or "write it under anchors",
                    at=(*path, "anchor"),
                )
        return self

    def statements(
        self,
    ) -> Iterator[tuple[tuple[str | int, ...], Item | Holds | Shows | Observed | Forbidden]]:
        """Everything that may name an anchor, by its path."""
        for name in ("native", "signals", "observations", "forbidden"):
            for i, statement in enumerate(getattr(self, name)):
                yield (name, i), statement
        for i, adapter in enumerate(self.adapters):
            for j, item in enumerate(adapter.evidence):
                yield ("adapters", i, "evidence", j), item
            for j, holds in enumerate(adapter.preconditions):
                yield ("adapters", i, "preconditions", j), holds

    def anchor(self, statement: Item | Holds | Shows | Observed) -> Anchor | None:
        """The anchor that a statement names; None where it names none."""
        return None if statement.anchor is None else self.anchors[statement.anchor]

    def adapter(self, depth: Depth) -> Adapter | None:
        """What is offered at exactly that depth."""
        return next((each for each in self.adapters if each.depth is depth), None)


def _once(part: str, values: list[str]) -> None:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise DescriptorError(f"{value} occurs twice", "keep one of them", at=(part, i))
