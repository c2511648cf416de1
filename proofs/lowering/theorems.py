"""The theorems about the lowering relation, for every descriptor, mode, bundle and depth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from proofs.lowering.pairs import AXES, Claim, Pairs, Ways, only, pairs_of, search, violated
from proofs.lowering.results import Proof, counterexample
from proofs.lowering.rules import ABSENT, COUNTS
from spec.claims.states import Mode
from spec.contract.supply import Atom, Depth
from spec.lowering.depths import LADDER
from spec.lowering.obligations import NEVER_BY_TELEMETRY
from spec.lowering.vocabulary import POSITIVE, Label, Scope, Status, Subtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.lowering.rules import Facts
    from proofs.lowering.statements import Item_
    from proofs.lowering.universe import Universe

__all__ = ["NAMES", "Theorem", "prove", "theorems"]

_UNTRIED: Final = (Scope.DOCS_ONLY, Scope.SOURCE_INSPECTION)
_LABELS: Final = (
    Label.NATIVE_SOUND,
    Label.SOUND_WITH_ADAPTER,
    Label.APPROXIMATE,
    Label.UNKNOWN,
    Label.REJECTED,
)
"""Best to worst."""
_VICTIM: Final = frozenset({"victim_exclusion_before_violation"})
_CONFLICT: Final = frozenset({"explicit_conflict_action", "blocking_claim_ids"})
_JOIN: Final = Depth.TELEMETRY_JOIN
_NATIVE: Final = Label.NATIVE_SOUND


@dataclass(frozen=True)
class Theorem:
    """A theorem: claims about the labels of rows, and points of the tables that violate it.

    Each of `witnesses` is whether a case of the premise exists, or a claim that denies it. If one
    does not, the theorem is vacuous.
    """

    name: str
    says: str
    claims: tuple[Claim, ...] = ()
    witnesses: dict[str, Claim | bool] = field(default_factory=dict)
    points: tuple[str, ...] = ()


def prove(theorem: Theorem, universe: Universe) -> Proof:
    """Check a theorem and its non-vacuity; if it fails, with a counterexample."""
    started = time.perf_counter()
    broken = [claim for claim in theorem.claims if violated(universe, claim)]
    found = next((row for claim in broken if (row := search(universe, claim))), None)
    witnesses = {
        name: "shown" if (search(universe, case) if isinstance(case, Claim) else case) else "none"
        for name, case in theorem.witnesses.items()
    }
    return Proof(
        name=theorem.name,
        says=theorem.says,
        result="refuted"
        if found or theorem.points
        else "unknown"
        if broken
        else "vacuous"
        if "none" in witnesses.values()
        else "proved",
        witnesses=witnesses,
        seconds=round(time.perf_counter() - started, 3),
        counterexample=None if found is None else counterexample(found),
        points=list(theorem.points),
    )


def theorems(universe: Universe, names: Sequence[str] | None = None) -> Iterator[Theorem]:
    """The theorems of these names, by default all."""
    build = _Build(universe)
    for name in NAMES if names is None else names:
        yield _BUILD[name](build, name)


def _not_positive(before: Label, _: Label) -> bool:
    return before not in POSITIVE


def _never_better(before: Label, after: Label) -> bool:
    sound = after not in POSITIVE or before in POSITIVE
    return sound and (after is not _NATIVE or before is _NATIVE)


def _no_rise(before: Label, after: Label) -> bool:
    exception = before is Label.REJECTED and after is Label.UNKNOWN
    return exception or _LABELS.index(after) >= _LABELS.index(before)


def _no(*labels: Label) -> Callable[[Label, Label], bool]:
    """The label of the row is none of these."""
    return lambda before, _: before not in labels


def _not_both(one: Label, other: Label) -> Callable[[Label, Label], bool]:
    return lambda before, after: (before, after) != (one, other)


class _Build:
    """Builds theorems over the tables of a universe."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.row = Ways.of(universe)
        down = [(a, b) for n, a in enumerate(LADDER) for b in LADDER[: n + 1]]
        self.shallower = replace(self.row, depths=tuple(down))
        self.less = replace(Ways.of(universe, *AXES), depths=tuple(down))
        self.silent = only(self.row.native, lambda cell, _: cell == 0)
        either = (False, True)
        self.traced = replace(self.row, shown=frozenset((a, b) for a in either for b in either))

    def of(self, keep: Callable[[Item_], bool]) -> Pairs:
        """What several items of a kind can be together."""
        items = self.universe.items.items()
        return pairs_of({item: bits for item, bits in items if keep(item)})

    # Something is taken away.

    def never_better(self, name: str) -> Theorem:
        axes, says = _WAYS[name]
        ways = {"less depth": self.shallower, "all of these": self.less}.get(name)
        ways = ways or Ways.of(self.universe, *axes)
        sound = Claim(ways, lambda before, after: before not in POSITIVE or after in POSITIVE)
        return Theorem(
            name,
            f"{says} never turns a row sound, nor sound_with_adapter into native_sound",
            (Claim(ways, _never_better),),
            {"a sound row stops being sound": sound},
        )

    def no_other_rise(self, name: str) -> Theorem:
        return Theorem(
            name,
            "any of these together raises no label, unless it takes away all that was related to a "
            "rejected mapping, which leaves it unknown",
            (Claim(self.less, _no_rise),),
            {
                "rejected becomes unknown": Claim(
                    self.less, _not_both(Label.REJECTED, Label.UNKNOWN)
                )
            },
        )

    # What is not enough.

    def signals_alone(self, name: str) -> Theorem:
        nothing = frozenset({(False, False)})
        ways = replace(self.row, native=self.silent, declared=self.silent, shown=nothing)
        return Theorem(
            name,
            "a row with nothing but approximation signals is never sound",
            (Claim(ways, _not_positive),),
            {"they make a row approximate": Claim(ways, _no(Label.APPROXIMATE))},
        )

    def signals_beside(self, name: str) -> Theorem:
        other: dict[Mode, Pairs] = {
            mode: {
                (a, b): ((one[0][0], two[0][0]),)
                for ((a, _), one), ((b, _), two) in product(found.items(), repeat=2)
            }
            for mode, found in self.row.signals.items()
        }
        ways = replace(self.row, signals=other)
        return Theorem(
            name,
            "whatever signals stand beside other evidence, they neither make nor unmake soundness",
            (Claim(ways, lambda a, b: a is b or not {a, b} & POSITIVE),),
            {"they change a label": Claim(ways, _not_both(Label.UNKNOWN, Label.APPROXIMATE))},
        )

    def untried_adapters(self, name: str) -> Theorem:
        ways = replace(self.row, declared=self.untried, shown=frozenset({(False, False)}))
        return self._untried(name, ways, Label.SOUND_WITH_ADAPTER)

    def untried_native(self, name: str) -> Theorem:
        return self._untried(name, replace(self.row, native=self.untried), _NATIVE)

    @property
    def untried(self) -> Pairs:
        """What items that rest on documentation or source can be."""
        return self.of(lambda item: item.scope in _UNTRIED)

    def _untried(self, name: str, ways: Ways, label: Label) -> Theorem:
        native = label is _NATIVE
        stated = only(self.untried, lambda cell, _: cell != 0)
        there = replace(ways, native=stated) if native else replace(ways, declared=stated)
        where = "native" if native else "adapter"
        return Theorem(
            name,
            f"{where} evidence from documentation or source alone never makes a row {label}",
            (Claim(ways, _no(label)),),
            {"every obligation has some": Claim(there, _no(*Label))},
        )

    def traces_not_native(self, name: str) -> Theorem:
        return Theorem(
            name,
            "evidence from traces neither makes nor unmakes a native_sound row",
            (Claim(self.traced, lambda a, b: (a is _NATIVE) == (b is _NATIVE)),),
            {
                "it makes a row sound": Claim(
                    self.traced, lambda a, b: a in POSITIVE or b not in POSITIVE
                )
            },
        )

    def traces_need_adapter(self, name: str) -> Theorem:
        closed = replace(self.traced, adapters=self._without(*LADDER[1:]))
        shown = replace(closed, shown=frozenset({(False, True)}))
        return Theorem(
            name,
            "where no adapter within the depth is offered, evidence from traces changes no label",
            (Claim(closed, lambda before, after: before is after),),
            {"everything is shown": Claim(shown, _no(*Label))},
        )

    def _without(self, *depths: Depth) -> dict[Depth, Pairs]:
        return {
            depth: only(found, lambda one, _: one == ABSENT) if depth in depths else found
            for depth, found in self.row.adapters.items()
        }

    def only_shown(self, name: str) -> Theorem:
        """What `lower --require-evidence` labels: no item is more than partial."""
        partial = self.of(lambda item: item.status is not Status.SUPPORTED)
        ways = replace(self.row, native=partial, declared=partial)
        unshown = replace(ways, shown=frozenset({(False, False)}))
        every = frozenset(o for o, *_ in self.universe.supplied)
        return Theorem(
            name,
            "where no item is supported, a row is sound only if a trace shows every obligation of "
            "its bundle, and never native_sound",
            (Claim(ways, _no(_NATIVE)), Claim(ways, _not_positive, focus=(every, unshown))),
            {"it is sound all the same": Claim(ways, _no(*POSITIVE))},
        )

    def pressure(self, name: str) -> Theorem:
        soft, claims = (Mode.SOFT_PRIORITY,), []
        for atom in Atom:
            bare = only(self.row.atoms[atom], lambda seen, _: not seen)
            ways = replace(self.row, atoms={**self.row.atoms, atom: bare})
            claims.append(Claim(ways, _not_positive, soft))
        counting = only(self.row.declared, lambda cell, _: bool(cell & COUNTS))
        there = replace(claims[0].ways, declared=counting)
        return Theorem(
            name,
            "soft_priority without both atoms, each anchored in runs that preserve the order, is "
            "never sound",
            tuple(claims),
            {"priority influence is supported": Claim(there, _no(*Label), soft)},
        )

    # What a depth cannot supply.

    def telemetry(self, name: str) -> Theorem:
        made = [
            f"{o} at {place}"
            for (o, place, *_), by in self.universe.supplied.items()
            if by and place is _JOIN and o in NEVER_BY_TELEMETRY
        ]
        ways = replace(self.row, depths=((_JOIN, _JOIN),))
        not_native = replace(ways, native=self._not_counting)
        counting = only(self.row.declared, lambda cell, _: bool(cell & COUNTS))
        ready = replace(not_native, declared=counting, shown=frozenset({(True, True)}))
        return Theorem(
            name,
            "in no row does a telemetry join supply an enforcement obligation; a row at that depth "
            "that is sound has all of them natively",
            (Claim(ways, _not_positive, focus=(NEVER_BY_TELEMETRY, not_native)),),
            {"everything is declared and shown": Claim(ready, _no(*Label))},
            tuple(dict.fromkeys(made)),
        )

    @property
    def _not_counting(self) -> Pairs:
        return only(self.row.native, lambda cell, _: not cell & COUNTS)

    def scheduler(self, name: str) -> Theorem:
        return self._alone(name, Depth.SCHEDULER_HOOK, Depth.ALLOCATOR_HOOK, _VICTIM)

    def allocator(self, name: str) -> Theorem:
        return self._alone(name, Depth.ALLOCATOR_HOOK, Depth.SCHEDULER_HOOK, _CONFLICT)

    def _alone(self, name: str, present: Depth, absent: Depth, lacking: frozenset[str]) -> Theorem:
        """A hard_protected row with one of the two hooks, without what the other would supply."""
        hard = (Mode.HARD_PROTECTED,)
        ways = replace(self.row, adapters=self._without(absent, Depth.BACKEND_PATCH))
        special = replace(ways, native=self._not_counting)
        best = only(self.row.native, lambda cell, _: bool(cell & COUNTS))
        rest = replace(ways, native=best, depths=((Depth.BACKEND_PATCH,) * 2,))
        names = " or ".join(sorted(lacking, reverse=True)) if len(lacking) > 1 else min(lacking)
        return Theorem(
            name,
            f"hard_protected with {present}, but neither {absent} nor backend_patch, and without "
            f"native {names}, is never sound",
            (Claim(ways, _not_positive, hard, (lacking, special)),),
            {"all the rest is supplied": Claim(rest, _no(*Label), hard, (lacking, special))},
        )

    # Labels.

    def forbidden(self, name: str) -> Theorem:
        within = [(depth, up_to) for n, depth in enumerate(LADDER) for up_to in LADDER[n:]]
        points = [
            f"{up_to} at {depth}"
            for depth, up_to in within
            if not self.universe.forbids[True, depth, up_to]
        ]
        labels = {facts: label for facts, label in self.universe.labels.items() if facts.forbidden}
        points += [f"{f}: {label}" for f, label in labels.items() if label is not Label.REJECTED]
        return Theorem(
            name,
            "a lowering that is forbidden up to a depth is rejected there and at every lesser one",
            witnesses={"everything is supplied": any(not facts.missing for facts in labels)},
            points=tuple(points),
        )

    def labels(self, name: str) -> Theorem:
        labels: dict[Facts, object] = {**self.universe.labels}
        return Theorem(
            name,
            "every row has exactly one label",
            witnesses={f"some row is {la}": Claim(self.row, _no(la)) for la in Label},
            points=tuple(f"{f}: {la}" for f, la in labels.items() if not isinstance(la, Label)),
        )

    def subtypes(self, name: str) -> Theorem:
        subtypes: dict[object, object] = {
            f: s for f, s in self.universe.subtypes.items() if f[0] is not Depth.NONE
        }
        return Theorem(
            name,
            "every row that is sound with an adapter has exactly one subtype",
            witnesses={f"some row is {each}": each in self.universe.met for each in Subtype},
            points=tuple(f"{f}: {s}" for f, s in subtypes.items() if not isinstance(s, Subtype)),
        )


_WAYS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "fewer anchors": (("anchor",), "removing anchors"),
    "weaker status": (("status",), "weakening statuses"),
    "weaker scope": (("scope",), "weakening scopes"),
    "weaker runs": (("runs",), "losing the order, the claim, the basis or the run of anchors"),
    "fewer preconditions": (("preconditions",), "dropping preconditions"),
    "fewer statements": (
        ("gone",),
        "taking items, signals, observations, adapters or evidence away",
    ),
    "less depth": ((), "lowering the depth"),
    "all of these": (AXES, "any of these together"),
}

_BUILD: Final[dict[str, Callable[[_Build, str], Theorem]]] = {
    **dict.fromkeys(_WAYS, _Build.never_better),
    "no other rise": _Build.no_other_rise,
    "signals alone": _Build.signals_alone,
    "signals beside": _Build.signals_beside,
    "untried adapters": _Build.untried_adapters,
    "untried native": _Build.untried_native,
    "traces are not native": _Build.traces_not_native,
    "traces need an adapter": _Build.traces_need_adapter,
    "only what is shown": _Build.only_shown,
    "pressure is observed": _Build.pressure,
    "telemetry": _Build.telemetry,
    "scheduler alone": _Build.scheduler,
    "allocator alone": _Build.allocator,
    "forbidden": _Build.forbidden,
    "labels": _Build.labels,
    "subtypes": _Build.subtypes,
}

NAMES: Final = tuple(_BUILD)
"""The theorems, by name."""
