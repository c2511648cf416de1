"""The lowering relation as Z3 terms, from `docs/lowering.md`.

`Relation` answers for any descriptor and any row at once. Each line of the table of labels is a
term by itself, and so is each label.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import z3

from proofs.lowering.symbols import ADAPTERS, Described, Expr, Item, Row, is_in, value
from spec.claims import Mode
from spec.lowering.depths import LADDER, MAY_SUPPLY, PRECONDITIONS
from spec.lowering.obligations import REJECTED_WITHOUT
from spec.lowering.signals import TEMPTS
from spec.lowering.vocabulary import (
    ADEQUATE,
    ATOMS_FOR,
    RUNS,
    AnchorKind,
    Basis,
    ClaimScope,
    Label,
    Scope,
    Status,
    Subtype,
)
from spec.modes import MODES, Bundle, Depth
from spec.obligations import OBLIGATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.lowering.symbols import Anchor

__all__ = ["Relation"]

_SHOWN: Final = (Status.SUPPORTED, Status.PARTIAL)


def _once(method: Callable[..., Expr]) -> Callable[..., Expr]:
    """Build the term that a method returns once for a relation and its arguments."""

    @wraps(method)
    def remembered(self: Relation, *args: object) -> Expr:
        key = (method, *args)
        if key not in self.built:
            self.built[key] = method(self, *args)
        return self.built[key]

    return remembered


class Relation:
    """The relation over one symbolic descriptor and row. A test overrides a part to break it."""

    may_supply: Mapping[Depth, frozenset[str]] = MAY_SUPPLY
    adequate: frozenset[Scope] = ADEQUATE

    def __init__(self, described: Described, row: Row) -> None:
        self.described = described
        self.row = row
        self.built: dict[tuple[Any, ...], Expr] = {}

    def on(self, described: Described, row: Row | None = None) -> Relation:
        """The same relation, of another descriptor or row."""
        return type(self)(described, row or self.row)

    # The row.

    @_once
    def in_bundle(self, name: str) -> Expr:
        """Whether the bundle of the row has this obligation."""
        return z3.Or(
            [
                z3.And(
                    self.row.mode == value(Mode, mode), self.row.contract == (b is Bundle.CONTRACT)
                )
                for mode in Mode
                for b in Bundle
                if name in MODES[mode].names(b)
            ]
        )

    @_once
    def reaches(self, depth: Depth) -> Expr:
        """Whether the row sees adapters at this depth."""
        return is_in(self.row.depth, Depth, LADDER[LADDER.index(depth) :])

    # When a statement counts.

    def ran(self, anchor: Anchor) -> Expr:
        """Points 4 and 5: what a run has to preserve."""
        return z3.And(
            anchor.there,
            is_in(anchor.kind, AnchorKind, RUNS),
            anchor.order,
            anchor.claim == value(ClaimScope, ClaimScope.SAME_CLAIM),
            anchor.basis == value(Basis, Basis.CLAIM_EVENTS),
        )

    def counts(self, item: Item) -> Expr:
        """Points 1 to 5."""
        return z3.And(
            item.there,
            item.named,
            item.status == value(Status, Status.SUPPORTED),
            is_in(item.scope, Scope, self.adequate),
            self.ran(item.anchor),
        )

    @_once
    def atoms(self, name: str) -> Expr:
        """Point 6."""
        needed = sorted(ATOMS_FOR.get(name, ()))
        return z3.And([self.ran(self.described.atoms[atom]) for atom in needed])

    @_once
    def stated(self, place: Depth, name: str) -> Expr:
        """Whether an item at this place counts."""
        cell = place, name
        one = z3.Or(self.counts(self.described.items[cell]), self.described.others_count[cell])
        return z3.And(one, self.atoms(name))

    @_once
    def shown(self, name: str) -> Expr:
        """Whether the evidence shows the obligation, and counts."""
        return z3.And(self.described.taken, self.described.shown[name], self.atoms(name))

    # When an obligation is supplied.

    @_once
    def may(self, depth: Depth, name: str) -> Expr:
        """Whether the adapter at this depth is there and may supply the obligation."""
        if name not in self.may_supply[depth]:
            return z3.BoolVal(False)
        return z3.And(self.described.offered[depth], self.prepared(depth))

    @_once
    def prepared(self, depth: Depth) -> Expr:
        """Whether every precondition is stated and anchored."""
        holds = [self.described.holds[depth, each] for each in PRECONDITIONS[depth]]
        return z3.And([z3.And(seen.there, seen.anchored) for seen in holds])

    @_once
    def native(self, name: str) -> Expr:
        return self.stated(Depth.NONE, name)

    @_once
    def supplies(self, depth: Depth, name: str) -> Expr:
        """Whether the adapter at this depth supplies the obligation, if the row reaches it."""
        found = z3.Or(self.stated(depth, name), self.shown(name))
        return z3.And(self.may(depth, name), found)

    @_once
    def by_adapter(self, name: str) -> Expr:
        return z3.Or([z3.And(self.reaches(b), self.supplies(b, name)) for b in ADAPTERS])

    @_once
    def supplied(self, name: str) -> Expr:
        return z3.Or(self.native(name), self.by_adapter(name))

    def missing(self, name: str) -> Expr:
        """Whether the row lists the obligation as missing."""
        return z3.And(self.in_bundle(name), z3.Not(self.supplied(name)))

    # When something is related.

    @_once
    def tempting(self) -> Expr:
        """Whether a signal tempts to the mode."""
        return z3.Or(
            [
                z3.And(
                    seen.there,
                    seen.anchored,
                    is_in(seen.status, Status, _SHOWN),
                    is_in(self.row.mode, Mode, TEMPTS[signal]),
                )
                for signal, seen in self.described.signals.items()
            ]
        )

    @_once
    def partly(self, place: Depth, name: str) -> Expr:
        """Whether an item at this place is related."""
        item = self.described.items[place, name]
        one = z3.And(item.there, item.named, is_in(item.status, Status, _SHOWN), item.anchor.there)
        return z3.Or(one, self.described.others_relate[place, name])

    @_once
    def related(self) -> Expr:
        found = [self.tempting()]
        for name in OBLIGATIONS:
            near = [self.partly(Depth.NONE, name), self.by_adapter(name)]
            near += [z3.And(self.reaches(b), self.partly(b, name)) for b in ADAPTERS]
            found.append(z3.And(self.in_bundle(name), z3.Or(near)))
        return z3.Or(found)

    # The lines of the table, each by itself.

    @_once
    def forbidden(self) -> Expr:
        """Line 1."""
        return z3.Or(
            [
                z3.And(self.described.forbidden[up_to], z3.Not(self._beyond(up_to)))
                for up_to in LADDER
            ]
        )

    def _beyond(self, up_to: Depth) -> Expr:
        """Whether the row is deeper than this depth."""
        return is_in(self.row.depth, Depth, LADDER[LADDER.index(up_to) + 1 :])

    @_once
    def all_native(self) -> Expr:
        """Line 2."""
        return z3.And([z3.Implies(self.in_bundle(n), self.native(n)) for n in OBLIGATIONS])

    @_once
    def lower(self) -> Expr:
        """Line 3."""
        return z3.And([z3.Implies(self.in_bundle(n), self.supplied(n)) for n in OBLIGATIONS])

    @_once
    def misrepresents(self) -> Expr:
        """Line 5."""
        return z3.Or(
            [
                z3.And(self.row.mode == value(Mode, mode), self.missing(name))
                for mode, names in REJECTED_WITHOUT.items()
                for name in sorted(names)
            ]
        )

    @_once
    def is_label(self, label: Label) -> Expr:
        """Whether the row is called so; each label is stated by itself."""
        one, two, three = self.forbidden(), self.all_native(), self.lower()
        below = z3.Not(z3.Or(one, two, three))
        related, five = self.related(), self.misrepresents()
        match label:
            case Label.NATIVE_SOUND:
                return z3.And(two, z3.Not(one))
            case Label.SOUND_WITH_ADAPTER:
                return z3.And(three, z3.Not(z3.Or(one, two)))
            case Label.UNKNOWN:
                return z3.And(below, z3.Not(related))
            case Label.REJECTED:
                return z3.Or(one, z3.And(below, related, five))
            case Label.APPROXIMATE:
                return z3.And(below, related, z3.Not(five))

    def positive(self) -> Expr:
        """Whether the row is sound, natively or with an adapter."""
        return z3.Or(self.is_label(Label.NATIVE_SOUND), self.is_label(Label.SOUND_WITH_ADAPTER))

    # The subtype of a sound_with_adapter row.

    @_once
    def _carried(self, depth: Depth) -> Expr:
        """Whether this is the shallowest adapter that supplies some obligation of the bundle."""
        shallower = ADAPTERS[: ADAPTERS.index(depth)]
        return z3.Or(
            [
                z3.And(
                    self.in_bundle(name),
                    z3.Not(self.native(name)),
                    self.supplies(depth, name),
                    z3.Not(z3.Or([self.supplies(b, name) for b in shallower])),
                )
                for name in OBLIGATIONS
            ]
        )

    @_once
    def is_subtype(self, subtype: Subtype) -> Expr:
        """Whether a row that is sound with an adapter is of this kind."""
        patch = z3.And(self.reaches(Depth.BACKEND_PATCH), self._carried(Depth.BACKEND_PATCH))
        policy = z3.Or([self.in_bundle(n) for n in OBLIGATIONS if ATOMS_FOR.get(n)])
        hooks = [b for b in ADAPTERS if b not in (Depth.TELEMETRY_JOIN, Depth.BACKEND_PATCH)]
        hook = z3.Or([z3.And(self.reaches(b), self._carried(b)) for b in hooks])
        match subtype:
            case Subtype.PATCH:
                return patch
            case Subtype.POLICY:
                return z3.And(policy, z3.Not(patch))
            case Subtype.OBSERVATIONAL:
                return z3.Not(z3.Or(patch, policy, hook))
            case Subtype.HOOK:
                return z3.And(hook, z3.Not(z3.Or(patch, policy)))
