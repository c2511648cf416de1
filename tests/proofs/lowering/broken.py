"""The lowering relation broken on purpose, in one place each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.lowering.encoding import Relation
from proofs.lowering.logic import Expr
from proofs.lowering.symbols import Anchor, Item, is_in, value
from spec.contract.modes import Depth
from spec.contract.obligations import OBLIGATIONS
from spec.lowering.depths import LADDER, MAY_SUPPLY, PRECONDITIONS
from spec.lowering.vocabulary import (
    ADEQUATE,
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
    from collections.abc import Mapping

__all__ = ["BROKEN", "TableBroken"]


class TakesAtWord(Relation):
    """A supported item without an anchor counts."""

    def counts(self, item: Item) -> Expr:
        said = item.status == value(Status, Status.SUPPORTED)
        bare = z3.Not(item.anchor.there)
        return z3.Or(super().counts(item), z3.And(item.there, item.named, said, bare))


class PartialSuffices(Relation):
    """A partial item that has run counts."""

    def counts(self, item: Item) -> Expr:
        said = item.status == value(Status, Status.PARTIAL)
        adequate = is_in(item.scope, Scope, ADEQUATE)
        partly = z3.And(item.there, item.named, said, adequate, self.ran(item.anchor))
        return z3.Or(super().counts(item), partly)


class PartialVetoes(Relation):
    """A partial item keeps others from counting."""

    def stated(self, place: Depth, name: str) -> Expr:
        item = self.described.items[place, name]
        vetoes = z3.And(item.there, item.status == value(Status, Status.PARTIAL))
        return z3.And(super().stated(place, name), z3.Not(vetoes))


class AnyItemVetoes(Relation):
    """An item that does not count keeps others from counting."""

    def stated(self, place: Depth, name: str) -> Expr:
        item = self.described.items[place, name]
        vetoes = z3.And(item.there, z3.Not(self.counts(item)))
        return z3.And(super().stated(place, name), z3.Not(vetoes))


class DocsSuffice(Relation):
    """Documentation is adequate, and source inspection is not."""

    adequate = ADEQUATE | {Scope.DOCS_ONLY}


class SourceSuffices(Relation):
    """Source inspection is adequate."""

    adequate = ADEQUATE | {Scope.SOURCE_INSPECTION}


class Unclaimed(Relation):
    """A run without any claim shows as much as one of the claim."""

    def ran(self, anchor: Anchor) -> Expr:
        return z3.And(
            anchor.there,
            is_in(anchor.kind, AnchorKind, RUNS),
            anchor.order,
            is_in(anchor.claim, ClaimScope, [ClaimScope.SAME_CLAIM, ClaimScope.UNCLAIMED]),
            anchor.basis == value(Basis, Basis.CLAIM_EVENTS),
        )


class SilentIsReady(Relation):
    """An adapter that states no precondition at all is trusted."""

    def prepared(self, depth: Depth) -> Expr:
        stated = [self.described.holds[depth, each].there for each in PRECONDITIONS[depth]]
        return z3.Or(super().prepared(depth), z3.Not(z3.Or(stated)))


class ForbidsDeeper(Relation):
    """A lowering is forbidden at the depth it names and at deeper ones."""

    def forbidden(self) -> Expr:
        return z3.Or([z3.And(self.described.forbidden[b], self.reaches(b)) for b in LADDER])


class SignalsSuffice(Relation):
    """A signal that tempts to the mode supplies whatever it is asked for."""

    def native(self, name: str) -> Expr:
        return z3.Or(super().native(name), self.tempting())


class SignalsReject(Relation):
    """A signal that tempts to the mode rejects the row."""

    def forbidden(self) -> Expr:
        return z3.Or(super().forbidden(), self.tempting())


class TracesNative(Relation):
    """Evidence from traces counts as native."""

    def native(self, name: str) -> Expr:
        return z3.Or(super().native(name), self.shown(name))


class TracesAnywhere(Relation):
    """Evidence from traces counts without an adapter."""

    def by_adapter(self, name: str) -> Expr:
        return z3.Or(super().by_adapter(name), self.shown(name))


class NoPressure(Relation):
    """Atoms are not asked for."""

    def atoms(self, name: str) -> Expr:
        return z3.BoolVal(True)


class TableBroken(Relation):
    """Telemetry may supply victim exclusion."""

    may_supply: Mapping[Depth, frozenset[str]] = {
        **MAY_SUPPLY,
        Depth.TELEMETRY_JOIN: MAY_SUPPLY[Depth.TELEMETRY_JOIN]
        | {"victim_exclusion_before_violation"},
    }


class SchedulerExcludes(Relation):
    """The scheduler may supply everything."""

    may_supply: Mapping[Depth, frozenset[str]] = {
        **MAY_SUPPLY,
        Depth.SCHEDULER_HOOK: frozenset(OBLIGATIONS),
    }


class AllocatorActs(Relation):
    """The allocator may supply everything."""

    may_supply: Mapping[Depth, frozenset[str]] = {
        **MAY_SUPPLY,
        Depth.ALLOCATOR_HOOK: frozenset(OBLIGATIONS),
    }


class ForbidsUnlessNative(Relation):
    """What is forbidden is sound all the same where everything is native."""

    def forbidden(self) -> Expr:
        return z3.And(super().forbidden(), z3.Not(self.all_native()))


class TwoLabels(Relation):
    """A rejected row is approximate, too."""

    def is_label(self, label: Label) -> Expr:
        said = super().is_label(label)
        if label is not Label.APPROXIMATE:
            return said
        return z3.Or(said, z3.And(self.related(), self.misrepresents()))


class NoLabel(Relation):
    """A row that is not related has no label."""

    def is_label(self, label: Label) -> Expr:
        said = super().is_label(label)
        return z3.And(said, self.related()) if label is Label.UNKNOWN else said


class TwoSubtypes(Relation):
    """A row that a hook carries is adapter-hook, whatever else carries it."""

    def is_subtype(self, subtype: Subtype) -> Expr:
        if subtype is not Subtype.HOOK:
            return super().is_subtype(subtype)
        return z3.Not(super().is_subtype(Subtype.OBSERVATIONAL))


BROKEN: list[tuple[str, type[Relation]]] = [
    ("fewer anchors", TakesAtWord),
    ("weaker status", PartialVetoes),
    ("weaker scope", DocsSuffice),
    ("weaker runs", Unclaimed),
    ("fewer preconditions", SilentIsReady),
    ("fewer statements", AnyItemVetoes),
    ("less depth", ForbidsDeeper),
    ("all of these", ForbidsDeeper),
    ("no other rise", PartialVetoes),
    ("signals alone", SignalsSuffice),
    ("signals beside", SignalsReject),
    ("untried adapters", DocsSuffice),
    ("untried native", SourceSuffices),
    ("traces are not native", TracesNative),
    ("traces need an adapter", TracesAnywhere),
    ("only what is shown", PartialSuffices),
    ("pressure is observed", NoPressure),
    ("telemetry", TableBroken),
    ("scheduler alone", SchedulerExcludes),
    ("allocator alone", AllocatorActs),
    ("forbidden", ForbidsUnlessNative),
    ("labels", TwoLabels),
    ("labels", NoLabel),
    ("subtypes", TwoSubtypes),
]
"""Each theorem with a relation of which it does not hold."""
