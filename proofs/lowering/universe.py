"""Tabulates the lowering relation on a finite universe, and compares it with its rules.

The relation is made of functions, which are called at every point that they can distinguish: what
a statement is; whether one depth supplies an obligation, given what is stated there; the label and
the subtype of a row, given what supplies each obligation. Each answer is compared with the rule of
docs/lowering.md. Last, whole rows are labelled by the tables and by `lower`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proofs.lowering import rules, statements
from proofs.lowering.rules import ABSENT, COUNTS, READY, RELATES, UNREADY, Facts, Run
from proofs.lowering.statements import BEST, GOOD, SUPPORTED, Item_
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Atom, Depth, Order
from spec.lowering import counting, relation
from spec.lowering.depths import LADDER, PRECONDITIONS
from spec.lowering.obligations import REJECTED_WITHOUT, RELEVANT_ORDER
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import ATOMS_FOR, Label, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from spec.lowering.descriptor import Anchor, Descriptor
    from spec.lowering.evidence import EvidenceFile
    from spec.lowering.vocabulary import Subtype

__all__ = ["Case", "Compared", "Universe", "read", "whole_rows"]

_NAMES: Final = {run: f"{run.kind}_{n}" for n, run in enumerate(statements.anchors())}
_ATOMS: Final = ((), *((atom,) for atom in Atom), tuple(Atom))
_PATCH: Final = Depth.BACKEND_PATCH
_BY: Final = statements.item("", (), SUPPORTED, None)
_SILENT: Final = SUPPORTED._replace(status=Status.MISSING)


class Compared(msgspec.Struct, frozen=True):
    """The number of cases of one part, and the first in which the relation is not as its rule."""

    what: str
    points: int
    differ: int
    first: str = ""


@dataclass(frozen=True, eq=False)
class Case:
    """A row, and the statements of its descriptor that the relation reads.

    `adapters` has the preconditions of each adapter that is offered, and `shown` what evidence
    shows for the mode in the order that matters.
    """

    mode: Mode
    bundle: Bundle = Bundle.CONTRACT
    depth: Depth = _PATCH
    items: Mapping[tuple[Depth, str], tuple[Item_, ...]] = field(default_factory=dict)
    adapters: Mapping[Depth, tuple[int, ...]] = field(default_factory=dict)
    signals: tuple[tuple[Signal, Status, bool], ...] = ()
    atoms: Mapping[Atom, Run] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    forbidden: tuple[Depth, ...] = ()

    def build(self, *, noise: bool = False) -> tuple[Descriptor, EvidenceFile | None]:
        """A descriptor with these statements, and evidence.

        Args:
            noise: say each thing three times, in another order and under other names, beside
                statements for another mode and such as resemble nothing.
        """
        other = _other(self.mode)
        known: dict[str, Anchor] = {}
        places: defaultdict[Depth, list[Any]] = defaultdict(list)

        def named(run: Run | None, order: Order) -> str | None:
            if run is None:
                return None
            name = f"{_NAMES[run]}_{order}{'_and_more' * noise}"
            known[name] = statements.anchor(run, order, others=noise)
            return name

        for (place, name), stated in self.items.items():
            for each in stated:
                modes = (self.mode if each.named else other,)
                under = named(each.anchor, RELEVANT_ORDER[name])
                said = statements.item(name, modes, each, under)
                places[place] += [said] * (3 if noise else 1)
            if noise:
                silent = statements.item(name, (self.mode,), _SILENT, None)
                places[place] += [silent, statements.item(name, (other,), SUPPORTED, GOOD)]
        turn = -1 if noise else 1
        adapters = [
            statements.adapter(depth, holds, places[depth][::turn])
            for depth, holds in self.adapters.items()
        ]
        parts: dict[str, Any] = {
            "native": tuple(places[Depth.NONE][::turn]),
            "adapters": tuple(adapters[::turn]),
            "signals": tuple(statements.shows(each) for each in self.signals),
            "observations": tuple(
                statements.observed(atom, named(run, Order.PRESSURE_BEFORE_LOSS))
                for atom, run in self.atoms.items()
            ),
            "forbidden": tuple(statements.forbidden(self.mode, up_to) for up_to in self.forbidden),
        }
        if noise:
            parts["forbidden"] = (*parts["forbidden"] * 3, statements.forbidden(other, _PATCH))
            parts |= dict.fromkeys(("name", "runtime", "version", "about"), "noise")
        shown = tuple(sorted(self.shown)) * (3 if noise else 1)
        evidence = statements.evidence(self.mode, shown) if shown else None
        return statements.descriptor(known, **parts), evidence


def read(
    descriptor: Descriptor,
    mode: Mode,
    bundle: Bundle,
    depth: Depth,
    evidence: EvidenceFile | None = None,
) -> Case:
    """The case that a descriptor, evidence and a row fall on."""

    def run(name: str | None, order: Order) -> Run | None:
        if name is None:
            return None
        found = descriptor.anchors[name]
        return Run(found.kind, order in found.order, found.claim, found.basis)

    items: defaultdict[tuple[Depth, str], list[Item_]] = defaultdict(list)
    for place, stated in (
        (Depth.NONE, descriptor.native),
        *((adapter.depth, adapter.evidence) for adapter in descriptor.adapters),
    ):
        for each in stated:
            name = each.obligation
            under = run(each.anchor, RELEVANT_ORDER[name])
            items[place, name].append(Item_(each.status, each.scope, under, mode in each.modes))
    adapters = {}
    for adapter in descriptor.adapters:
        holds = {h.precondition: 1 + (h.anchor is not None) for h in adapter.preconditions}
        adapters[adapter.depth] = tuple(holds.get(p, 0) for p in PRECONDITIONS[adapter.depth])
    atoms = {
        seen.atom: under
        for seen in descriptor.observations
        if (under := run(seen.anchor, Order.PRESSURE_BEFORE_LOSS)) is not None
    }
    shown = frozenset(
        each.obligation
        for each in (() if evidence is None or evidence.mode is not mode else evidence.shown)
        if RELEVANT_ORDER[each.obligation] in each.order
    )
    return Case(
        mode=mode,
        bundle=bundle,
        depth=depth,
        items={key: tuple(found) for key, found in items.items()},
        adapters=adapters,
        signals=tuple((s.signal, s.status, s.anchor is not None) for s in descriptor.signals),
        atoms=atoms,
        shown=shown,
        forbidden=tuple(f.up_to for f in descriptor.forbidden if f.mode is mode),
    )


def _other(mode: Mode) -> Mode:
    return Mode.DEMOTABLE if mode is not Mode.DEMOTABLE else Mode.EXPIRING


class _Tally:
    """A table, and how often an answer is not the one that the page gives for its point."""

    def __init__(self, what: str, rule: Callable[..., Any]) -> None:
        self.what, self._rule = what, cache(rule)
        self.table: dict[Any, Any] = {}
        self.points = self.differ = 0
        self.first = ""

    def add(self, key: Any, answer: Any, case: object = "") -> None:
        self.points += 1
        self.table[key] = answer
        if (right := self._rule(*key)) != answer:
            self.differ += 1
            self.first = self.first or f"{key}: {answer}, not {right} {case}".strip()

    def compared(self) -> Compared:
        return Compared(self.what, self.points, self.differ, self.first)


class Universe:
    """The tables of the relation, and how they compare with the rules.

    Args:
        whole: label whole rows, too.
    """

    def __init__(self, *, whole: bool = True) -> None:
        parts = [
            items := _items(),
            _several(),
            ready := _preconditions(),
            observed := _atoms(),
            tempts := _signals(),
            forbids := _forbidden(),
            shows := _evidence(),
            labels := _labels(),
            subtypes := _subtypes(),
        ]
        self.items: dict[Item_, int] = {Item_(*key): bits for key, bits in items.table.items()}
        self.ready: dict[tuple[Depth, tuple[int, ...]], int] = ready.table
        self.observed: dict[tuple[Atom, Run | None], bool] = observed.table
        self.tempts: dict[tuple[Mode, Signal, Status, bool], bool] = tempts.table
        self.forbids: dict[tuple[bool, Depth, Depth], bool] = forbids.table
        self.shows: dict[tuple[bool, bool, bool], bool] = shows.table
        self.labels: dict[Facts, Label] = {Facts(*key): of for key, of in labels.table.items()}
        self.subtypes: dict[tuple[Depth, bool], Subtype | None] = subtypes.table
        self.cells: dict[int, tuple[Item_, ...]] = {0: ()}
        """Items about one obligation, for each class that several can have together."""
        for item, bits in self.items.items():
            self.cells.setdefault(bits, (item,))
        for (one, some), (two, more) in product([*self.cells.items()], repeat=2):
            self.cells.setdefault(one | two, some + more)
        parts.append(supplied := _places(self.cells))
        self.supplied: dict[tuple[Any, ...], bool] = supplied.table
        parts.append(rows := _Tally("whole rows", self.answer))
        self.met: set[Label | Subtype | None] = set()
        """The labels and subtypes of whole rows."""
        for case in whole_rows(self.cells) if whole else ():
            found, evidence = case.build(noise=True)
            row = relation.lower(found, case.mode, case.depth, case.bundle, evidence)
            rows.add((case,), (row.label, row.subtype, row.missing))
            self.met |= {row.label, row.subtype}
        self.parts = [each.compared() for each in parts]

    def answer(self, case: Case) -> tuple[Label, Subtype | None, tuple[str, ...]]:
        """The label of a case by the tables, its subtype, and what it lacks."""
        asked = MODES[case.mode].names(case.bundle)
        atoms = frozenset(atom for atom, run in case.atoms.items() if self.observed[atom, run])
        within = LADDER[: LADDER.index(case.depth) + 1]
        places: dict[str, Depth | None] = {}
        related = any(self.tempts[case.mode, *each] for each in case.signals)
        for name in asked:
            places[name] = None
            for place in reversed(within):
                state = READY if place is Depth.NONE else ABSENT
                if place in case.adapters:
                    state = self.ready[place, case.adapters[place]]
                cell = 0
                for item in case.items.get((place, name), ()):
                    cell |= self.items[item]
                related |= state != ABSENT and cell & RELATES != 0
                cell = cell if state else 0
                shown = name in case.shown
                if self.supplied[name, place, cell, state, shown, atoms]:
                    places[name] = place
        missing = tuple(name for name, place in places.items() if place is None)
        facts = Facts(
            forbidden=any(self.forbids[True, case.depth, up_to] for up_to in case.forbidden),
            related=related,
            missing=bool(missing),
            critical=bool(REJECTED_WITHOUT[case.mode] & set(missing)),
            by_adapter=any(place not in (None, Depth.NONE) for place in places.values()),
        )
        label = self.labels[facts]
        if label is not Label.SOUND_WITH_ADAPTER:
            return label, None, missing
        deepest = max((place for place in places.values() if place), key=LADDER.index)
        return label, self.subtypes[deepest, any(name in ATOMS_FOR for name in asked)], missing


# Statements.


def _items() -> _Tally:
    """Every item, for its own obligation and mode and for others."""
    tally, modes = _Tally("items", rules.item), list(Mode)
    every = [(each, each.anchor and _NAMES[each.anchor]) for each in statements.items()]
    for number, name in enumerate(OBLIGATIONS):
        mode, other = modes[number % len(modes)], modes[(number + 1) % len(modes)]
        order, more = RELEVANT_ORDER[name], number % 2 == 1
        known = {under: statements.anchor(run, order, others=more) for run, under in _NAMES.items()}
        found = statements.descriptor(known)
        named = (other, mode) if more else (mode,)
        for stated, under in every:
            item = statements.item(name, named if stated.named else (other,), stated, under)
            counted = counting.counts(found, item, name, mode)
            bits = COUNTS * counted | RELATES * relation.relates(item, mode)
            if counted and any(
                counting.counts(found, item, o, mode) for o in OBLIGATIONS if o != name
            ):
                bits = -1
            tally.add(stated, bits, name)
    return tally


def _several() -> _Tally:
    """Two items about one obligation: any beside one that counts, any two that lack one thing."""
    tally = _Tally("pairs of items", rules.several)
    axes = ("anchor", "status", "scope", "runs")
    lacking = [each for axis in axes for each in statements.weaker(SUPPORTED, axis)]
    lacking.append(SUPPORTED._replace(named=False))
    every = product(statements.items(), (SUPPORTED,))
    asked = [(mode, name) for mode in Mode for name in MODES[mode].names() if name not in ATOMS_FOR]
    for number, pair in enumerate((*every, *product(lacking, repeat=2))):
        (mode, name), place = asked[number % len(asked)], (Depth.NONE, _PATCH)[number % 2]
        for two in (pair, pair[::-1]):
            case = _one(mode, name, place, two, READY, shown=False, atoms=())
            found, _ = case.build()
            by = relation.supply_at(found, mode, place, name, None)
            near = relation.related(found, mode, place, (name,))
            tally.add(two, COUNTS * (by is not None) | RELATES * near, name)
    return tally


def _preconditions() -> _Tally:
    tally = _Tally("preconditions", rules.ready)
    for depth in LADDER[1:]:
        for holds in product((2, 1, 0), repeat=len(PRECONDITIONS[depth])):
            unmet = counting.unmet(statements.adapter(depth, holds))
            tally.add((depth, holds), UNREADY if unmet else READY)
    return tally


def _atoms() -> _Tally:
    tally, order = _Tally("atoms", rules.observed), Order.PRESSURE_BEFORE_LOSS
    for atom, run, more in product(Atom, (None, *statements.anchors()), (False, True)):
        known = {} if run is None else {GOOD: statements.anchor(run, order, others=more)}
        seen = statements.observed(atom, GOOD if known else None)
        found = statements.descriptor(known, observations=(seen,))
        tally.add((atom, run), counting.atom_observed(found, atom))
        for other in (each for each in Atom if each is not atom):
            tally.add((other, None), counting.atom_observed(found, other))
    return tally


def _signals() -> _Tally:
    tally = _Tally("signals", rules.tempts)
    for mode, signal, status, anchored in product(Mode, Signal, Status, (True, False)):
        shows = statements.shows((signal, status, anchored))
        tally.add((mode, signal, status, anchored), relation.tempts(shows, mode))
    return tally


def _forbidden() -> _Tally:
    tally = _Tally("forbidden mappings", rules.forbids)
    for mode, of, depth, up_to in product(Mode, Mode, LADDER, LADDER):
        rejects = relation.forbids(statements.forbidden(of, up_to), mode, depth)
        tally.add((of is mode, depth, up_to), rejects)
    return tally


def _evidence() -> _Tally:
    tally = _Tally("evidence", rules.shows)
    about = [*product(OBLIGATIONS, OBLIGATIONS)]
    for mode, (name, o), kept, same in product(Mode, about, (True, False), (True, False)):
        of = mode if same else _other(mode)
        orders = tuple(each for each in Order if (each is RELEVANT_ORDER[o]) == kept)
        shown = counting.evidence_shows(statements.evidence(of, (name,), orders), o, mode)
        tally.add((same, name == o, kept), bool(shown))
    return tally


# Places, labels and rows.


def _places(cells: Mapping[int, tuple[Item_, ...]]) -> _Tally:
    """Whether an obligation is supplied at one depth."""
    tally = _Tally("obligations at one depth", rules.supplies)
    for name in OBLIGATIONS:
        modes = [mode for mode in Mode if name in {*MODES[mode].names(), *MODES[mode].paper}]
        asked = [(mode, n % 2 == 1) for n, mode in enumerate((modes * 2)[: max(2, len(modes))])]
        for (place, cell, state), shown, atoms in product(_ways(cells), (False, True), _ATOMS):
            for mode, noise in asked:
                case = _one(mode, name, place, cells[cell], state, shown=shown, atoms=atoms)
                found, evidence = case.build(noise=noise)
                by = relation.supply_at(found, mode, place, name, evidence)
                key = name, place, cell, state, shown, frozenset(atoms)
                tally.add(key, by is not None and by.depth is place, mode)
    return tally


def _ways(cells: Iterable[int]) -> Iterator[tuple[Depth, int, int]]:
    """What there can be at a depth: the class of the items, and whether the adapter is ready."""
    for place in LADDER:
        if place is not Depth.NONE:
            yield place, 0, ABSENT
        for cell, state in product(cells, (UNREADY, READY)):
            if place is not Depth.NONE or state == READY:
                yield place, cell, state


def _one(
    mode: Mode,
    name: str,
    place: Depth,
    stated: tuple[Item_, ...],
    state: int,
    *,
    shown: bool,
    atoms: tuple[Atom, ...],
) -> Case:
    """A case of one obligation at one depth."""
    holds = (2,) * (len(PRECONDITIONS[place]) - 1) + (1 if state == UNREADY else 2,)
    return Case(
        mode=mode,
        items={(place, name): stated},
        adapters={} if place is Depth.NONE or state == ABSENT else {place: holds},
        atoms=dict.fromkeys(atoms, BEST),
        shown=frozenset({name} if shown else ()),
    )


def _labels() -> _Tally:
    """The label of a row, where obligations are missing, native or by an adapter in every way."""
    tally, kinds = _Tally("sets of obligations", rules.label), (None, Depth.NONE, _PATCH)
    for mode, bundle in product(Mode, Bundle):
        asked, critical = MODES[mode].names(bundle), REJECTED_WITHOUT[mode]
        for ways in product(*([_by(name, depth) for depth in kinds] for name in asked)):
            found = dict(zip(asked, ways, strict=True))
            missing = [name for name in asked if found[name] is None]
            carried = any(by is not None and by.depth is _PATCH for by in ways)
            facts = bool(missing), not critical.isdisjoint(missing), carried
            for rejects, near in product((False, True), repeat=2):
                _, label, _ = relation.judge(mode, found, forbidden=rejects, related=near)
                tally.add((rejects, near, *facts), label, mode)
    return tally


def _by(name: str, depth: Depth | None) -> relation.Supply | None:
    return None if depth is None else relation.Supply(name, depth, _BY)


def _subtypes() -> _Tally:
    """The subtype of a row of which every obligation is native or at one or two depths."""
    tally = _Tally("subtypes", rules.subtype)
    for depth, pressed in product(LADDER[1:], (False, True)):
        tally.add((depth, pressed), relation.subtype_of(depth, under_pressure=pressed))
    for mode, bundle, one, two in product(Mode, Bundle, LADDER, LADDER):
        asked = MODES[mode].names(bundle)
        for odd in {*range(len(asked)), -1} if one is not two else {-1}:
            found = {o: _by(o, two if n == odd else one) for n, o in enumerate(asked)}
            _, _, subtype = relation.judge(mode, found, forbidden=False, related=False)
            deepest = max(one, two if odd >= 0 else one, key=LADDER.index)
            tally.add((deepest, any(o in ATOMS_FOR for o in asked)), subtype, mode)
    return tally


def whole_rows(cells: Mapping[int, tuple[Item_, ...]]) -> Iterator[Case]:
    """Rows of one obligation in every way, where the others are absent or native; of one at two
    depths; with everything native or absent, and a forbidden mapping or a signal.
    """
    all_atoms, best = dict.fromkeys(Atom, BEST), cells[max(cells)]
    for mode in Mode:
        asked = MODES[mode].names()
        native = {(Depth.NONE, name): best for name in asked}
        for name, (place, cell, state), shown in product(asked, _ways(cells), (False, True)):
            rest = {key: stated for key, stated in native.items() if key[1] != name}
            if state != READY and shown:
                continue
            for atoms in _ATOMS if name in ATOMS_FOR else (tuple(Atom),):
                case = _one(mode, name, place, cells[cell], state, shown=shown, atoms=atoms)
                below = LADDER[max(LADDER.index(place) - 1, 0)]
                yield replace(case, depth=place)
                if state == READY:
                    yield replace(case, depth=place, items=rest | dict(case.items))
                if cell or shown:
                    yield replace(case, depth=below)
        for name, (one, two) in product(asked, combinations(LADDER, 2)):
            rest = {key: stated for key, stated in native.items() if key[1] != name}
            ready: dict[Depth, tuple[int, ...]] = {
                depth: (2,) * len(PRECONDITIONS[depth])
                for depth in (one, two)
                if depth is not Depth.NONE
            }
            both = {(one, name): best, (two, name): best}
            yield Case(mode, depth=two, items=rest | both, adapters=ready, atoms=all_atoms)
        tempted = [((signal, Status.PARTIAL, True),) for signal in Signal]
        for bundle, depth, items in product(Bundle, LADDER, ({}, native)):
            case = Case(mode, bundle, depth, items=items, atoms=all_atoms)
            yield from (replace(case, forbidden=(up_to,)) for up_to in LADDER)
        for signals in ((), *tempted):
            yield Case(mode, signals=signals)
