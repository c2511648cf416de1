"""Encodes the lowering relation as Z3 terms, from `docs/lowering.md`.

`Relation` is symbolic in the descriptor and the row. Each line of the table of labels is a separate
term, and so is each label.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import z3

from proofs.lowering.logic import Expr, conj, disj, equal, implies, no
from proofs.lowering.symbols import ADAPTERS, Described, Item, Row, is_in, value
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle, Depth
from spec.contract.obligations import OBLIGATIONS
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
    """The relation over one symbolic descriptor and row. Tests override parts to break it."""

    may_supply: Mapping[Depth, frozenset[str]] = MAY_SUPPLY
    adequate: frozenset[Scope] = ADEQUATE

    def __init__(self, described: Described, row: Row) -> None:
        self.described = described
        self.row = row
        self.built: dict[tuple[Any, ...], Expr] = {}

    def on(self, described: Described, row: Row | None = None) -> Relation:
        """The relation over another descriptor or row."""
        return type(self)(described, row or self.row)

    # The row.

    @_once
    def in_bundle(self, name: str) -> Expr:
        """Whether the bundle of the row has this obligation."""
        contract, found = self.row.contract, []
        for mode in Mode:
            of = {b: name in MODES[mode].names(b) for b in Bundle}
            if of[Bundle.PAPER]:
                found.append(conj(equal(self.row.mode, value(Mode, mode)), no(contract)))
            if of[Bundle.CONTRACT]:
                found.append(conj(equal(self.row.mode, value(Mode, mode)), contract))
        return disj(*found)

    @_once
    def reaches(self, depth: Depth) -> Expr:
        """Whether the row sees adapters at this depth."""
        return is_in(self.row.depth, Depth, LADDER[LADDER.index(depth) :])

    # When a statement counts.

    def ran(self, anchor: Anchor) -> Expr:
        """Points 4 and 5: what a run has to preserve."""
        return conj(
            anchor.there,
            is_in(anchor.kind, AnchorKind, RUNS),
            anchor.order,
            equal(anchor.claim, value(ClaimScope, ClaimScope.SAME_CLAIM)),
            equal(anchor.basis, value(Basis, Basis.CLAIM_EVENTS)),
        )

    def counts(self, item: Item) -> Expr:
        """Points 1 to 5."""
        return conj(
            item.there,
            item.named,
            equal(item.status, value(Status, Status.SUPPORTED)),
            is_in(item.scope, Scope, self.adequate),
            self.ran(item.anchor),
        )

    @_once
    def atoms(self, name: str) -> Expr:
        """Point 6."""
        needed = sorted(ATOMS_FOR.get(name, ()))
        return conj(*[self.ran(self.described.atoms[atom]) for atom in needed])

    @_once
    def stated(self, place: Depth, name: str) -> Expr:
        """Whether an item at this place counts."""
        cell = place, name
        one = disj(self.counts(self.described.items[cell]), self.described.others_count[cell])
        return conj(one, self.atoms(name))

    @_once
    def shown(self, name: str) -> Expr:
        """Whether the evidence shows the obligation, and counts."""
        return conj(self.described.taken, self.described.shown[name], self.atoms(name))

    # When an obligation is supplied.

    @_once
    def may(self, depth: Depth, name: str) -> Expr:
        """Whether the adapter at this depth exists and may supply the obligation."""
        if name not in self.may_supply[depth]:
            return z3.BoolVal(False)
        return conj(self.described.offered[depth], self.prepared(depth))

    @_once
    def prepared(self, depth: Depth) -> Expr:
        """Whether every precondition is stated and anchored."""
        holds = [self.described.holds[depth, each] for each in PRECONDITIONS[depth]]
        return conj(*[conj(seen.there, seen.anchored) for seen in holds])

    @_once
    def native(self, name: str) -> Expr:
        """Whether the obligation is supplied natively."""
        return self.stated(Depth.NONE, name)

    @_once
    def supplies(self, depth: Depth, name: str) -> Expr:
        """Whether the adapter at this depth supplies the obligation, if the row reaches it."""
        found = disj(self.stated(depth, name), self.shown(name))
        return conj(self.may(depth, name), found)

    @_once
    def by_adapter(self, name: str) -> Expr:
        """Whether some adapter within the depth supplies the obligation."""
        return disj(*[conj(self.reaches(b), self.supplies(b, name)) for b in ADAPTERS])

    @_once
    def supplied(self, name: str) -> Expr:
        """Whether the obligation is supplied, natively or by an adapter."""
        return disj(self.native(name), self.by_adapter(name))

    def missing(self, name: str) -> Expr:
        """Whether the row lists the obligation as missing."""
        return conj(self.in_bundle(name), no(self.supplied(name)))

    # When something is related.

    @_once
    def tempting(self) -> Expr:
        """Whether a signal tempts to the mode."""
        return disj(
            *[
                conj(
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
        one = conj(item.there, item.named, is_in(item.status, Status, _SHOWN), item.anchor.there)
        return disj(one, self.described.others_relate[place, name])

    @_once
    def related(self) -> Expr:
        """Whether any statement is related to the mode."""
        found = [self.tempting()]
        for name in OBLIGATIONS:
            near = [self.partly(Depth.NONE, name), self.by_adapter(name)]
            near += [conj(self.reaches(b), self.partly(b, name)) for b in ADAPTERS]
            found.append(conj(self.in_bundle(name), disj(*near)))
        return disj(*found)

    # The lines of the table.

    @_once
    def forbidden(self) -> Expr:
        """Line 1."""
        return disj(
            *[conj(self.described.forbidden[up_to], no(self._beyond(up_to))) for up_to in LADDER]
        )

    def _beyond(self, up_to: Depth) -> Expr:
        """Whether the row is deeper than this depth."""
        return is_in(self.row.depth, Depth, LADDER[LADDER.index(up_to) + 1 :])

    @_once
    def all_native(self) -> Expr:
        """Line 2."""
        return conj(*[implies(self.in_bundle(n), self.native(n)) for n in OBLIGATIONS])

    @_once
    def lower(self) -> Expr:
        """Line 3."""
        return conj(*[implies(self.in_bundle(n), self.supplied(n)) for n in OBLIGATIONS])

    @_once
    def misrepresents(self) -> Expr:
        """Line 5."""
        return disj(
            *[
                conj(equal(self.row.mode, value(Mode, mode)), self.missing(name))
                for mode, names in REJECTED_WITHOUT.items()
                for name in sorted(names)
            ]
        )

    @_once
    def is_label(self, label: Label) -> Expr:
        """Whether the row has this label; each label is stated separately."""
        one, two, three = self.forbidden(), self.all_native(), self.lower()
        below = no(disj(one, two, three))
        related, five = self.related(), self.misrepresents()
        match label:
            case Label.NATIVE_SOUND:
                return conj(two, no(one))
            case Label.SOUND_WITH_ADAPTER:
                return conj(three, no(disj(one, two)))
            case Label.UNKNOWN:
                return conj(below, no(related))
            case Label.REJECTED:
                return disj(one, conj(below, related, five))
            case Label.APPROXIMATE:
                return conj(below, related, no(five))

    def positive(self) -> Expr:
        """Whether the row is sound, natively or with an adapter."""
        return disj(self.is_label(Label.NATIVE_SOUND), self.is_label(Label.SOUND_WITH_ADAPTER))

    # The subtype of a sound_with_adapter row.

    @_once
    def _carried(self, depth: Depth) -> Expr:
        """Whether this is the shallowest adapter that supplies some obligation of the bundle."""
        shallower = ADAPTERS[: ADAPTERS.index(depth)]
        return disj(
            *[
                conj(
                    self.in_bundle(name),
                    no(self.native(name)),
                    self.supplies(depth, name),
                    no(disj(*[self.supplies(b, name) for b in shallower])),
                )
                for name in OBLIGATIONS
            ]
        )

    @_once
    def is_subtype(self, subtype: Subtype) -> Expr:
        """Whether a row that is sound with an adapter is of this kind."""
        patch = conj(self.reaches(Depth.BACKEND_PATCH), self._carried(Depth.BACKEND_PATCH))
        policy = disj(*[self.in_bundle(n) for n in OBLIGATIONS if ATOMS_FOR.get(n)])
        hooks = [b for b in ADAPTERS if b not in (Depth.TELEMETRY_JOIN, Depth.BACKEND_PATCH)]
        hook = disj(*[conj(self.reaches(b), self._carried(b)) for b in hooks])
        match subtype:
            case Subtype.PATCH:
                return patch
            case Subtype.POLICY:
                return conj(policy, no(patch))
            case Subtype.OBSERVATIONAL:
                return no(disj(patch, policy, hook))
            case Subtype.HOOK:
                return conj(hook, no(disj(patch, policy)))
