"""What is proved of the relation for every descriptor, mode, bundle and depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import z3

from proofs.lowering import weaker
from proofs.lowering.encoding import Relation
from proofs.lowering.symbols import (
    ADAPTERS,
    Described,
    Expr,
    any_descriptor,
    any_row,
    is_in,
    value,
)
from spec.claims import Mode
from spec.lowering.obligations import NEVER_BY_TELEMETRY
from spec.lowering.vocabulary import Label, Scope, Status, Subtype
from spec.modes import Depth
from spec.obligations import OBLIGATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proofs.lowering.weaker import Weaker

__all__ = ["Theorem", "theorems"]

_UNTRIED: Final = (Scope.DOCS_ONLY, Scope.SOURCE_INSPECTION)


@dataclass(frozen=True, slots=True)
class Theorem:
    """`premise` implies `conclusion`, whatever the descriptor and the row.

    `before` is the row that it speaks of, and `after` the one with something taken away, where
    there are two. Each of `witnesses` is a case of the premise that there must be, or the theorem
    says nothing.
    """

    name: str
    says: str
    before: Relation
    premise: Expr
    conclusion: Expr
    witnesses: dict[str, Expr]
    after: Relation | None = None


def theorems(kind: type[Relation] = Relation) -> Iterator[Theorem]:
    """The theorems, of this relation."""
    row = kind(any_descriptor(), any_row())
    admitted = row.described.admitted()
    for part in (_taken_away, _not_enough, _evidence, _by_depth, _labels):
        yield from part(row, admitted)


_WAYS: Final[dict[str, tuple[str, Callable[[Described], Weaker]]]] = {
    "fewer anchors": ("removing anchors", weaker.fewer_anchors),
    "weaker status": ("weakening statuses", weaker.weaker_statuses),
    "weaker scope": ("weakening scopes", weaker.weaker_scopes),
    "weaker runs": (
        "losing the order, the claim, the basis or the run of anchors",
        weaker.weaker_runs,
    ),
    "fewer preconditions": ("dropping preconditions", weaker.fewer_preconditions),
    "fewer statements": (
        "taking items, signals, observations, adapters or evidence away",
        weaker.fewer_statements,
    ),
}


def _taken_away(it: Relation, admitted: Expr) -> Iterator[Theorem]:
    for name, (says, way) in _WAYS.items():
        described, tie = way(it.described)
        yield _never_better(name, says, it, it.on(described), z3.And(admitted, tie))
    row, tie = weaker.shallower(it.row)
    after = it.on(it.described, row)
    yield _never_better("less depth", "lowering the depth", it, after, z3.And(admitted, tie))
    ties, described = [admitted], it.described
    for _, way in _WAYS.values():
        described, tie = way(described)
        ties.append(tie)
    row, tie = weaker.shallower(it.row)
    after = it.on(described, row)
    yield _never_better("all of these", "any of these together", it, after, z3.And(*ties, tie))


def _never_better(
    name: str, says: str, before: Relation, after: Relation, premise: Expr
) -> Theorem:
    native = Label.NATIVE_SOUND
    return Theorem(
        name=name,
        says=f"{says} never turns a row sound, nor sound_with_adapter into native_sound",
        before=before,
        after=after,
        premise=premise,
        conclusion=z3.And(
            z3.Implies(after.positive(), before.positive()),
            z3.Implies(after.is_label(native), before.is_label(native)),
        ),
        witnesses={
            "a sound row becomes none": z3.And(before.positive(), z3.Not(after.positive())),
        },
    )


def _not_enough(it: Relation, admitted: Expr) -> Iterator[Theorem]:
    silent = [z3.Not(item.there) for item in it.described.items.values()]
    silent += [z3.Not(other) for other in it.described.others_relate.values()]
    silent += [z3.Not(shown) for shown in it.described.shown.values()]
    yield Theorem(
        name="signals alone",
        says="a row with nothing but approximation signals is never sound",
        before=it,
        premise=z3.And(admitted, *silent),
        conclusion=z3.Not(it.positive()),
        witnesses={"they make a row approximate": it.is_label(Label.APPROXIMATE)},
    )
    described, _ = weaker.other_signals(it.described)
    after = it.on(described)
    same = [it.is_label(label) == after.is_label(label) for label in _POSITIVE]
    yield Theorem(
        name="signals beside",
        says="whatever signals stand beside other evidence, they neither make nor unmake soundness",
        before=it,
        after=after,
        premise=admitted,
        conclusion=z3.And(same),
        witnesses={
            "they change a label": z3.And(
                it.is_label(Label.UNKNOWN), after.is_label(Label.APPROXIMATE)
            )
        },
    )
    yield _untried(it, admitted, native=False)
    yield _untried(it, admitted, native=True)


_POSITIVE: Final = (Label.NATIVE_SOUND, Label.SOUND_WITH_ADAPTER)


def _untried(it: Relation, admitted: Expr, *, native: bool) -> Theorem:
    """Documentation and source inspection carry no row."""
    cells = [cell for cell in it.described.items if (cell[0] is Depth.NONE) is native]
    items = [it.described.items[cell] for cell in cells]
    premise = [is_in(item.scope, Scope, _UNTRIED) for item in items]
    premise += [z3.Not(it.described.others_count[cell]) for cell in cells]
    claimed = [
        z3.And(item.there, item.anchor.there, item.status == value(Status, Status.SUPPORTED))
        for item in items
    ]
    label = Label.NATIVE_SOUND if native else Label.SOUND_WITH_ADAPTER
    if not native:
        premise += [z3.Not(shown) for shown in it.described.shown.values()]
    where = "native" if native else "adapter"
    return Theorem(
        name=f"untried {where} rows",
        says=f"{where} evidence from documentation or source alone never makes a row {label}",
        before=it,
        premise=z3.And(admitted, *premise),
        conclusion=z3.Not(it.is_label(label)),
        witnesses={"all of it is supported and anchored": z3.And(claimed)},
    )


def _evidence(it: Relation, admitted: Expr) -> Iterator[Theorem]:
    described, _ = weaker.other_evidence(it.described)
    after = it.on(described)
    native = Label.NATIVE_SOUND
    yield Theorem(
        name="traces are not native",
        says="evidence from traces neither makes nor unmakes a native_sound row",
        before=it,
        after=after,
        premise=admitted,
        conclusion=it.is_label(native) == after.is_label(native),
        witnesses={"it makes a row sound": z3.And(after.positive(), z3.Not(it.positive()))},
    )
    closed = [z3.Not(z3.And(it.reaches(depth), it.described.offered[depth])) for depth in ADAPTERS]
    described, _ = weaker.other_evidence(it.described)
    after = it.on(described)
    yield Theorem(
        name="traces need an adapter",
        says="where no adapter within the depth is offered, evidence from traces changes no label",
        before=it,
        after=after,
        premise=z3.And(admitted, *closed),
        conclusion=z3.And([it.is_label(each) == after.is_label(each) for each in Label]),
        witnesses={
            "everything is shown": z3.And(
                after.described.taken, z3.Not(it.described.taken), *after.described.shown.values()
            )
        },
    )
    bare = z3.Or([z3.Not(it.ran(anchor)) for anchor in it.described.atoms.values()])
    soft = it.row.mode == value(Mode, Mode.SOFT_PRIORITY)
    yield Theorem(
        name="pressure is observed",
        says="soft_priority without both atoms, each anchored in runs that preserve the order, is "
        "never sound",
        before=it,
        premise=z3.And(admitted, soft, bare),
        conclusion=z3.Not(it.positive()),
        witnesses={
            "priority influence is supported": z3.Or(
                [it.counts(it.described.items[depth, "priority_influence"]) for depth in ADAPTERS]
            )
        },
    )


def _by_depth(it: Relation, admitted: Expr) -> Iterator[Theorem]:
    join = Depth.TELEMETRY_JOIN
    created = [
        z3.And(it.in_bundle(name), it.reaches(join), it.supplies(join, name))
        for name in sorted(NEVER_BY_TELEMETRY)
    ]
    owed = [z3.Implies(it.in_bundle(name), it.native(name)) for name in sorted(NEVER_BY_TELEMETRY)]
    at_join = it.row.depth == value(Depth, join)
    yield Theorem(
        name="telemetry",
        says="in no row does a telemetry join supply an enforcement obligation; a row at that "
        "depth that is sound has all of them natively",
        before=it,
        premise=admitted,
        conclusion=z3.And(
            z3.Not(z3.Or(created)), z3.Implies(z3.And(at_join, it.positive()), z3.And(owed))
        ),
        witnesses={
            "it is ready, and everything is shown": z3.And(
                at_join,
                it.prepared(join),
                it.described.taken,
                *it.described.shown.values(),
                it.supplies(join, "claim_identity"),
            )
        },
    )
    victim = "victim_exclusion_before_violation"
    yield _alone(it, admitted, Depth.SCHEDULER_HOOK, Depth.ALLOCATOR_HOOK, [victim])
    conflict = ["explicit_conflict_action", "blocking_claim_ids"]
    yield _alone(it, admitted, Depth.ALLOCATOR_HOOK, Depth.SCHEDULER_HOOK, conflict)


def _alone(
    it: Relation, admitted: Expr, present: Depth, absent: Depth, lacking: list[str]
) -> Theorem:
    """A hard_protected row with one of the two hooks and without what the other would supply."""
    gone = [z3.Not(it.described.offered[each]) for each in (absent, Depth.BACKEND_PATCH)]
    premise = z3.And(
        admitted,
        it.row.mode == value(Mode, Mode.HARD_PROTECTED),
        *gone,
        z3.Or([z3.Not(it.native(name)) for name in lacking]),
    )
    rest = [
        z3.Or(z3.Not(it.in_bundle(name)), it.supplied(name))
        for name in OBLIGATIONS
        if name not in lacking
    ]
    return Theorem(
        name=f"{present} alone",
        says=f"hard_protected by a {present}, with neither {absent} nor patch and without native "
        f"{' and '.join(lacking)}, is never sound",
        before=it,
        premise=premise,
        conclusion=z3.Not(it.positive()),
        witnesses={"all the rest is supplied": z3.And(it.described.offered[present], *rest)},
    )


def _labels(it: Relation, admitted: Expr) -> Iterator[Theorem]:
    yield Theorem(
        name="forbidden",
        says="a lowering that is forbidden up to a depth is rejected there and at every lesser one",
        before=it,
        premise=z3.And(admitted, _forbidden(it)),
        conclusion=it.is_label(Label.REJECTED),
        witnesses={"everything is supplied": it.lower()},
    )
    labels = {label: it.is_label(label) for label in Label}
    yield Theorem(
        name="labels",
        says="every row has exactly one label",
        before=it,
        premise=admitted,
        conclusion=z3.PbEq([(each, 1) for each in labels.values()], 1),
        witnesses={f"some row is {label}": each for label, each in labels.items()},
    )
    subtypes = {subtype: it.is_subtype(subtype) for subtype in Subtype}
    yield Theorem(
        name="subtypes",
        says="every row that is sound with an adapter has exactly one subtype",
        before=it,
        premise=z3.And(admitted, it.is_label(Label.SOUND_WITH_ADAPTER)),
        conclusion=z3.PbEq([(each, 1) for each in subtypes.values()], 1),
        witnesses={f"some row is {subtype}": each for subtype, each in subtypes.items()},
    )


def _forbidden(it: Relation) -> Expr:
    """Whether a lowering to the mode is forbidden up to this depth or a deeper one."""
    depths = tuple(Depth)
    return z3.Or(
        [
            z3.And(it.row.depth == value(Depth, depth), it.described.forbidden[up_to])
            for place, depth in enumerate(depths)
            for up_to in depths[place:]
        ]
    )
