"""The theorems about the lowering relation, for every descriptor, mode, bundle and depth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import z3

from proofs.lowering import weaker
from proofs.lowering.encoding import Relation
from proofs.lowering.logic import Expr, conj, disj, equal, implies, no
from proofs.lowering.symbols import ADAPTERS, Described, any_descriptor, any_row, is_in, value
from spec.claims.states import Mode
from spec.contract.modes import Depth
from spec.contract.obligations import OBLIGATIONS
from spec.lowering.depths import LADDER
from spec.lowering.obligations import NEVER_BY_TELEMETRY
from spec.lowering.vocabulary import POSITIVE, Label, Scope, Status, Subtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from proofs.lowering.weaker import Weaker

__all__ = ["NAMES", "Theorem", "theorems"]

_UNTRIED: Final = (Scope.DOCS_ONLY, Scope.SOURCE_INSPECTION)
_LABELS: Final = (
    Label.NATIVE_SOUND,
    Label.SOUND_WITH_ADAPTER,
    Label.APPROXIMATE,
    Label.UNKNOWN,
    Label.REJECTED,
)
"""Best to worst."""
_VICTIM: Final = ("victim_exclusion_before_violation",)
_CONFLICT: Final = ("explicit_conflict_action", "blocking_claim_ids")


@dataclass(frozen=True, slots=True)
class Theorem:
    """A theorem: `premise` implies `conclusion`, for every descriptor and row.

    `before` is its row, and `after` the weakened one, if there are two. Each of `witnesses` is a
    case of the premise that must be satisfiable, or the theorem is vacuous.
    """

    name: str
    says: str
    before: Relation
    premise: Expr
    conclusion: Expr
    witnesses: dict[str, Expr]
    after: Relation | None = None


def theorems(
    kind: type[Relation] = Relation, names: Sequence[str] | None = None
) -> Iterator[Theorem]:
    """The theorems of these names, by default all, of a relation."""
    row = kind(any_descriptor(), any_row())
    admitted = row.described.admitted()
    for name in NAMES if names is None else names:
        yield _BUILD[name](name, row, admitted)


# Something is taken away.


def _weaker(
    says: str, way: Callable[[Described], Weaker], name: str, it: Relation, admitted: Expr
) -> Theorem:
    described, tie = way(it.described)
    return _never_better(name, says, it, it.on(described), conj(admitted, tie))


def _shallower(name: str, it: Relation, admitted: Expr) -> Theorem:
    row, tie = weaker.shallower(it.row)
    after = it.on(it.described, row)
    return _never_better(name, "lowering the depth", it, after, conj(admitted, tie))


def _all_of_these(name: str, it: Relation, admitted: Expr) -> Theorem:
    after, premise = _with_less(it, admitted)
    return _never_better(name, "any of these together", it, after, premise)


def _with_less(it: Relation, admitted: Expr) -> tuple[Relation, Expr]:
    """The row weakened in every way, with the constraints that relate it to the given one."""
    ties, described = [admitted], it.described
    for _, way in _WAYS.values():
        described, tie = way(described)
        ties.append(tie)
    row, tie = weaker.shallower(it.row)
    return it.on(described, row), conj(*ties, tie)


def _no_other_rise(name: str, it: Relation, admitted: Expr) -> Theorem:
    after, premise = _with_less(it, admitted)
    rises = {
        (low, high): conj(it.is_label(low), after.is_label(high))
        for place, low in enumerate(_LABELS)
        for high in _LABELS[:place]
    }
    exception = rises.pop((Label.REJECTED, Label.UNKNOWN))
    return Theorem(
        name=name,
        says="any of these together raises no label, unless it takes away all that was related "
        "to a rejected mapping, which leaves it unknown",
        before=it,
        after=after,
        premise=premise,
        conclusion=no(disj(*rises.values())),
        witnesses={"rejected becomes unknown": exception},
    )


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
        conclusion=conj(
            implies(after.positive(), before.positive()),
            implies(after.is_label(native), before.is_label(native)),
        ),
        witnesses={
            "a sound row stops being sound": conj(before.positive(), no(after.positive())),
        },
    )


# What is not enough.


def _signals_alone(name: str, it: Relation, admitted: Expr) -> Theorem:
    silent = [no(item.there) for item in it.described.items.values()]
    silent += [no(other) for other in it.described.others_relate.values()]
    silent += [no(shown) for shown in it.described.shown.values()]
    return Theorem(
        name=name,
        says="a row with nothing but approximation signals is never sound",
        before=it,
        premise=conj(admitted, *silent),
        conclusion=no(it.positive()),
        witnesses={"they make a row approximate": it.is_label(Label.APPROXIMATE)},
    )


def _signals_beside(name: str, it: Relation, admitted: Expr) -> Theorem:
    described, _ = weaker.other_signals(it.described)
    after = it.on(described)
    changed = conj(it.is_label(Label.UNKNOWN), after.is_label(Label.APPROXIMATE))
    return Theorem(
        name=name,
        says="whatever signals stand beside other evidence, they neither make nor unmake soundness",
        before=it,
        after=after,
        premise=admitted,
        conclusion=conj(*[it.is_label(la) == after.is_label(la) for la in sorted(POSITIVE)]),
        witnesses={"they change a label": changed},
    )


def _untried_adapters(name: str, it: Relation, admitted: Expr) -> Theorem:
    cells = [cell for cell in it.described.items if cell[0] is not Depth.NONE]
    unshown = [no(shown) for shown in it.described.shown.values()]
    return _untried(name, it, conj(admitted, *unshown), cells, Label.SOUND_WITH_ADAPTER)


def _untried_native(name: str, it: Relation, admitted: Expr) -> Theorem:
    cells = [cell for cell in it.described.items if cell[0] is Depth.NONE]
    return _untried(name, it, admitted, cells, Label.NATIVE_SOUND)


def _untried(
    name: str, it: Relation, premise: Expr, cells: Sequence[tuple[Depth, str]], label: Label
) -> Theorem:
    """Documentation and source inspection carry no row; nor do further items that rest on them."""
    items = [it.described.items[cell] for cell in cells]
    bare = [is_in(item.scope, Scope, _UNTRIED) for item in items]
    bare += [no(it.described.others_count[cell]) for cell in cells]
    claimed = [
        conj(item.there, item.anchor.there, equal(item.status, value(Status, Status.SUPPORTED)))
        for item in items
    ]
    where = "native" if label is Label.NATIVE_SOUND else "adapter"
    return Theorem(
        name=name,
        says=f"{where} evidence from documentation or source alone never makes a row {label}",
        before=it,
        premise=conj(premise, *bare),
        conclusion=no(it.is_label(label)),
        witnesses={"all of it is supported and anchored": conj(*claimed)},
    )


def _traces_not_native(name: str, it: Relation, admitted: Expr) -> Theorem:
    described, _ = weaker.other_evidence(it.described)
    after = it.on(described)
    native = Label.NATIVE_SOUND
    return Theorem(
        name=name,
        says="evidence from traces neither makes nor unmakes a native_sound row",
        before=it,
        after=after,
        premise=admitted,
        conclusion=it.is_label(native) == after.is_label(native),
        witnesses={"it makes a row sound": conj(after.positive(), no(it.positive()))},
    )


def _traces_need_adapter(name: str, it: Relation, admitted: Expr) -> Theorem:
    closed = [no(conj(it.reaches(b), it.described.offered[b])) for b in ADAPTERS]
    described, _ = weaker.other_evidence(it.described)
    after = it.on(described)
    shown = conj(described.taken, *described.shown.values())
    return Theorem(
        name=name,
        says="where no adapter within the depth is offered, evidence from traces changes no label",
        before=it,
        after=after,
        premise=conj(admitted, *closed),
        conclusion=conj(*[it.is_label(each) == after.is_label(each) for each in Label]),
        witnesses={"everything is shown": conj(shown, no(it.described.taken))},
    )


def _only_shown(name: str, it: Relation, admitted: Expr) -> Theorem:
    """What `lower --require-evidence` labels: no item of the descriptor is more than partial."""
    less = [
        no(equal(i.status, value(Status, Status.SUPPORTED))) for i in it.described.items.values()
    ]
    less += [no(other) for other in it.described.others_count.values()]
    shown = [implies(it.in_bundle(o), it.shown(o)) for o in OBLIGATIONS]
    return Theorem(
        name=name,
        says="where no item is supported, a row is sound only if a trace shows every obligation of "
        "its bundle, and never native_sound",
        before=it,
        premise=conj(admitted, *less),
        conclusion=conj(implies(it.positive(), conj(*shown)), no(it.is_label(Label.NATIVE_SOUND))),
        witnesses={"it is sound all the same": it.positive()},
    )


def _pressure(name: str, it: Relation, admitted: Expr) -> Theorem:
    bare = disj(*[no(it.ran(anchor)) for anchor in it.described.atoms.values()])
    influence = [it.counts(it.described.items[b, "priority_influence"]) for b in ADAPTERS]
    return Theorem(
        name=name,
        says="soft_priority without both atoms, each anchored in runs that preserve the order, is "
        "never sound",
        before=it,
        premise=conj(admitted, equal(it.row.mode, value(Mode, Mode.SOFT_PRIORITY)), bare),
        conclusion=no(it.positive()),
        witnesses={"priority influence is supported": disj(*influence)},
    )


# What a depth cannot supply.


def _telemetry(name: str, it: Relation, admitted: Expr) -> Theorem:
    join = Depth.TELEMETRY_JOIN
    never = sorted(NEVER_BY_TELEMETRY)
    created = [conj(it.in_bundle(o), it.reaches(join), it.supplies(join, o)) for o in never]
    owed = [implies(it.in_bundle(o), it.native(o)) for o in never]
    at_join = equal(it.row.depth, value(Depth, join))
    shown = conj(it.described.taken, *it.described.shown.values())
    ready = conj(at_join, it.prepared(join), it.supplies(join, "claim_identity"))
    return Theorem(
        name=name,
        says="in no row does a telemetry join supply an enforcement obligation; a row at that "
        "depth that is sound has all of them natively",
        before=it,
        premise=admitted,
        conclusion=conj(no(disj(*created)), implies(conj(at_join, it.positive()), conj(*owed))),
        witnesses={"it is ready, and everything is shown": conj(ready, shown)},
    )


def _alone(
    present: Depth, absent: Depth, lacking: Sequence[str], name: str, it: Relation, admitted: Expr
) -> Theorem:
    """A hard_protected row with one of the two hooks and without what the other would supply."""
    gone = [no(it.described.offered[each]) for each in (absent, Depth.BACKEND_PATCH)]
    rest = [
        implies(it.in_bundle(other), it.supplied(other))
        for other in OBLIGATIONS
        if other not in lacking
    ]
    return Theorem(
        name=name,
        says=f"hard_protected with {present}, but neither {absent} nor backend_patch, and without "
        f"native {' or '.join(lacking)}, is never sound",
        before=it,
        premise=conj(
            admitted,
            equal(it.row.mode, value(Mode, Mode.HARD_PROTECTED)),
            *gone,
            disj(*[no(it.native(each)) for each in lacking]),
        ),
        conclusion=no(it.positive()),
        witnesses={"all the rest is supplied": conj(it.described.offered[present], *rest)},
    )


# Labels.


def _forbidden(name: str, it: Relation, admitted: Expr) -> Theorem:
    within = disj(
        *[
            conj(equal(it.row.depth, value(Depth, depth)), it.described.forbidden[up_to])
            for place, depth in enumerate(LADDER)
            for up_to in LADDER[place:]
        ]
    )
    return Theorem(
        name=name,
        says="a lowering that is forbidden up to a depth is rejected there and at every lesser one",
        before=it,
        premise=conj(admitted, within),
        conclusion=it.is_label(Label.REJECTED),
        witnesses={"everything is supplied": it.lower()},
    )


def _labels(name: str, it: Relation, admitted: Expr) -> Theorem:
    labels = {label: it.is_label(label) for label in Label}
    return Theorem(
        name=name,
        says="every row has exactly one label",
        before=it,
        premise=admitted,
        conclusion=z3.PbEq([(each, 1) for each in labels.values()], 1),
        witnesses={f"some row is {label}": each for label, each in labels.items()},
    )


def _subtypes(name: str, it: Relation, admitted: Expr) -> Theorem:
    subtypes = {subtype: it.is_subtype(subtype) for subtype in Subtype}
    return Theorem(
        name=name,
        says="every row that is sound with an adapter has exactly one subtype",
        before=it,
        premise=conj(admitted, it.is_label(Label.SOUND_WITH_ADAPTER)),
        conclusion=z3.PbEq([(each, 1) for each in subtypes.values()], 1),
        witnesses={f"some row is {subtype}": each for subtype, each in subtypes.items()},
    )


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

_BUILD: Final[dict[str, Callable[[str, Relation, Expr], Theorem]]] = {
    **{name: partial(_weaker, says, way) for name, (says, way) in _WAYS.items()},
    "less depth": _shallower,
    "all of these": _all_of_these,
    "no other rise": _no_other_rise,
    "signals alone": _signals_alone,
    "signals beside": _signals_beside,
    "untried adapters": _untried_adapters,
    "untried native": _untried_native,
    "traces are not native": _traces_not_native,
    "traces need an adapter": _traces_need_adapter,
    "only what is shown": _only_shown,
    "pressure is observed": _pressure,
    "telemetry": _telemetry,
    "scheduler alone": partial(_alone, Depth.SCHEDULER_HOOK, Depth.ALLOCATOR_HOOK, _VICTIM),
    "allocator alone": partial(_alone, Depth.ALLOCATOR_HOOK, Depth.SCHEDULER_HOOK, _CONFLICT),
    "forbidden": _forbidden,
    "labels": _labels,
    "subtypes": _subtypes,
}

NAMES: Final = tuple(_BUILD)
"""The theorems, by name."""
