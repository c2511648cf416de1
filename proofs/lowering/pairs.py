"""Computes which pairs of labels two rows can have whose statements are related in given ways.

The tables of the universe are combined: for each depth what can be supplied there, then for each
obligation, then for the row. Adapters, atoms and evidence may differ from obligation to obligation
in the computation, so it finds every pair that exists and perhaps more. What it finds is made into
descriptors, which `lower` labels.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from proofs.lowering.rules import ABSENT, READY, RELATES, UNREADY, Facts
from proofs.lowering.statements import weaker
from proofs.lowering.universe import Case, Universe
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.supply import Atom, Depth
from spec.lowering import relation
from spec.lowering.depths import LADDER
from spec.lowering.obligations import REJECTED_WITHOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from proofs.lowering.statements import Stated
    from spec.lowering.vocabulary import Label

__all__ = ["AXES", "Claim", "Found", "Pairs", "Ways", "only", "pairs_of", "search", "violated"]

AXES: Final = ("anchor", "status", "scope", "runs", "preconditions", "gone")
"""The ways in which a statement can be weaker."""

Pairs: TypeAlias = "dict[tuple[int, int], tuple[tuple[Stated, Stated], ...]]"
"""Pairs of classes that statements have before and after, each with such statements."""

Predicate: TypeAlias = "Callable[[Label, Label], bool]"


@dataclass(frozen=True, eq=False)
class Ways:
    """What may be stated in a row, and in one that is related to it."""

    native: Pairs
    declared: Pairs
    adapters: Mapping[Depth, Pairs]
    atoms: Mapping[Atom, Pairs]
    signals: Mapping[Mode, Pairs]
    shown: frozenset[tuple[bool, bool]]
    depths: tuple[tuple[Depth, Depth], ...]

    @classmethod
    def of(cls, universe: Universe, *axes: str) -> Ways:
        """Any row, and one in which statements are weaker on these axes; by default the same."""
        items = pairs_of(universe.items, axes)
        tables: defaultdict[Any, dict[Any, int]] = defaultdict(dict)
        for (of, stated), value in (*universe.ready.items(), *universe.observed.items()):
            tables[of][stated] = int(value)
        for (mode, *signal), tempts in universe.tempts.items():
            tables[mode][tuple(signal)] = int(tempts)
        return cls(
            native=items,
            declared=items,
            adapters={depth: pairs_of(tables[depth], axes, single=True) for depth in LADDER[1:]},
            atoms={atom: pairs_of(tables[atom], axes, single=True) for atom in Atom},
            signals={mode: pairs_of(tables[mode], axes) for mode in Mode},
            shown=frozenset({(False, False), (True, True), (True, "gone" not in axes)}),
            depths=tuple((depth, depth) for depth in LADDER),
        )


def only(pairs: Pairs, keep: Callable[[int, int], bool]) -> Pairs:
    """The pairs of these classes."""
    return {key: found for key, found in pairs.items() if keep(*key)}


def pairs_of(table: Mapping[Any, int], axes: Iterable[str] = (), *, single: bool = False) -> Pairs:
    """The pairs of classes, of one statement or of several about one thing."""
    found: Pairs = {}
    for axis in ("", *axes):
        found = _steps(tuple(table.items()), axis) | found
    while True:
        more: Pairs = {}
        for ((one, two), some), ((three, four), others) in product(found.items(), repeat=2):
            if two == three:  # a further step
                more[one, four] = ((some[0][0], others[-1][1]),)
            if not single:  # a further statement
                more[one | three, two | four] = some + others
        if more.keys() <= found.keys():
            return found
        found = more | found


@cache
def _steps(table: tuple[tuple[Any, int], ...], axis: str) -> Pairs:
    """The pairs of classes by one step on an axis; without one, of the same statement."""
    known: dict[Any, int] = {None: 0, **dict(table)}
    found: Pairs = {}
    for key, bits in known.items():
        for less in (key,) if not axis else () if key is None else weaker(key, axis):
            found.setdefault((bits, known[less]), ((key, less),))
    return found


@dataclass(frozen=True)
class Claim:
    """What holds of the labels of every two rows in which statements are as `ways` say.

    Args:
        focus: obligations of which some one of the bundle is stated in these ways instead.
    """

    ways: Ways
    holds: Predicate
    modes: tuple[Mode, ...] = tuple(Mode)
    focus: tuple[frozenset[str], Ways] | None = None


@dataclass(frozen=True)
class Found:
    """Two rows that are related so, and their labels by `lower`."""

    before: Case
    after: Case
    labels: tuple[Label, Label]


# A row is a number: bits for what is missing, critical, by an adapter, and related, of either row.

_MISSING, _CRITICAL, _CARRIED, _RELATED = 1, 2, 4, 8
_AFTER: Final = 4


def violated(universe: Universe, claim: Claim) -> bool:
    """Whether the labels of some rows may violate a claim."""
    return any(True for _ in _violating(universe, claim))


def _violating(universe: Universe, claim: Claim) -> Iterator[tuple[Any, ...]]:
    known: set[Any] = set()
    for mode, bundle, depths in product(claim.modes, Bundle, claim.ways.depths):
        rows, signals = _rows(universe, claim, mode, bundle, depths), claim.ways.signals[mode]
        forbidden = _forbidden(universe, depths)
        for key in product(rows, signals, forbidden):
            if key not in known:
                row, tempted, rejects = key
                before = _label(universe, row & 15, tempted[0], rejects[0])
                after = _label(universe, row >> _AFTER, tempted[1], rejects[1])
                if claim.holds(before, after):
                    known.add(key)
                else:
                    yield mode, bundle, depths, rows[row], signals[tempted], forbidden[rejects]


@cache
def _label(universe: Universe, row: int, tempted: int, rejects: int) -> Label:
    facts = Facts(
        forbidden=bool(rejects),
        related=bool(row & _RELATED or tempted),
        missing=bool(row & _MISSING),
        critical=bool(row & _CRITICAL),
        by_adapter=bool(row & _CARRIED),
    )
    return universe.labels[facts]


@cache
def _forbidden(universe: Universe, depths: tuple[Depth, Depth]) -> dict[tuple[int, int], Any]:
    """Whether forbidden mappings reject at both depths, each with such mappings."""
    found: dict[tuple[int, int], Any] = {(0, 0): ()}
    for up_to in LADDER:
        pair = tuple(int(universe.forbids[True, depth, up_to]) for depth in depths)
        for (one, two), those in [*found.items()]:
            found.setdefault((one | pair[0], two | pair[1]), (*those, up_to))
    return found


def _rows(
    universe: Universe, claim: Claim, mode: Mode, bundle: Bundle, depths: tuple[Depth, Depth]
) -> dict[int, Any]:
    """Each row that there can be, with the ways of its obligations as a chain."""
    asked, critical = MODES[mode].names(bundle), REJECTED_WITHOUT[mode]
    free = {name: _obligation(universe, claim.ways, name, depths) for name in asked}
    names, ways = claim.focus or (frozenset({""}), claim.ways)
    result: dict[int, Any] = {}
    for special in [name for name in asked if name in names] if claim.focus else [""]:
        rows: dict[int, Any] = {0: None}
        for name in asked:
            parts = _obligation(universe, ways, name, depths) if name == special else free[name]
            more: dict[int, Any] = {}
            for part, how in parts.items():
                bits = part
                if name in critical:
                    bits |= (part & 0x11) << 1
                for row, before in rows.items():
                    if row | bits not in more:
                        more[row | bits] = ((name, how), before)
            rows = more
        result = rows | result
    return result


@cache
def _obligation(
    universe: Universe, ways: Ways, name: str, depths: tuple[Depth, Depth]
) -> dict[int, Any]:
    """What one obligation adds to a row: missing, by an adapter, related, with how."""
    result: dict[int, Any] = {}
    for steps, (shown, atoms, at) in _choices(universe, ways, name).items():
        for part, path in _along(steps, *map(LADDER.index, depths)).items():
            if part not in result:
                how = [options[step] for options, step in zip(at, path, strict=False)]
                result[part] = (shown, atoms, how)
    return result


@cache
def _choices(universe: Universe, ways: Ways, name: str) -> dict[Any, Any]:
    """What there can be at each depth, for each choice of what is shown and of the atoms."""
    found: dict[Any, Any] = {}
    for shown, atoms in product(ways.shown, _atoms(ways)):
        at = []
        for place in LADDER:
            sides = [_bits(universe, name, place, *side) for side in zip(shown, atoms, strict=True)]
            at.append(_at(ways, place, sides[0], sides[1]))
        found.setdefault(tuple(frozenset(each) for each in at), (shown, atoms, at))
    return found


def _atoms(ways: Ways) -> Iterator[tuple[frozenset[Atom], frozenset[Atom]]]:
    for chosen in product(*(ways.atoms[atom] for atom in Atom)):
        yield (
            frozenset(a for a, pair in zip(Atom, chosen, strict=True) if pair[0]),
            frozenset(a for a, pair in zip(Atom, chosen, strict=True) if pair[1]),
        )


_SUPPLIES: Final = 1


@cache
def _bits(
    universe: Universe, name: str, place: Depth, shown: bool, atoms: frozenset[Atom]
) -> tuple[tuple[tuple[int, int], int], ...]:
    """What items and an adapter make of one depth: supplied (1), related (8)."""
    found = []
    for cell, state in product(universe.cells, (ABSENT, UNREADY, READY)):
        known = cell if state != ABSENT else 0
        if place is not Depth.NONE or state == READY:
            supplies = universe.supplied[name, place, known, state, shown, atoms]
            bits = _SUPPLIES * supplies | _RELATED * bool(known & RELATES)
            found.append(((cell, state), bits))
    return tuple(found)


@cache
def _at(ways: Ways, place: Depth, before: Any, after: Any) -> dict[tuple[int, int], Any]:
    """What there can be at one depth in both rows, with the classes of items and adapters."""
    native = place is Depth.NONE
    one, other = dict(before), dict(after)
    found: dict[tuple[int, int], Any] = {}
    adapters: Pairs = {(READY, READY): ()} if native else ways.adapters[place]
    for cells, states in product(ways.native if native else ways.declared, adapters):
        key = one[cells[0], states[0]], other[cells[1], states[1]]
        found.setdefault(key, (cells, states))
    return found


@cache
def _along(steps: tuple[Any, ...], one: int, two: int) -> dict[int, tuple[Any, ...]]:
    """An obligation along the ladder, as deep as either row: natively if anything, else deeper."""
    states: dict[tuple[int, int], tuple[Any, ...]] = {(_MISSING, _MISSING): ()}
    for place, options in enumerate(steps[: max(one, two) + 1]):
        more: dict[tuple[int, int], tuple[Any, ...]] = {}
        for (state, path), option in product(states.items(), options):
            after = tuple(
                _step(bits, at, native=place == 0) if place <= depth else bits
                for bits, at, depth in zip(state, option, (one, two), strict=True)
            )
            more.setdefault((after[0], after[1]), (*path, option))
        states = more
    return {before | after << _AFTER: path for (before, after), path in states.items()}


def _step(bits: int, at: int, *, native: bool) -> int:
    if at & _SUPPLIES and bits & _MISSING:
        bits ^= _MISSING if native else _MISSING | _CARRIED
    return bits | at & _RELATED


# Descriptors.


def search(universe: Universe, claim: Claim) -> Found | None:
    """Two rows that violate a claim by the labels that `lower` gives them, if some are found."""
    ways, (names, focus) = claim.ways, claim.focus or (frozenset(), claim.ways)
    for adapters, atoms in product(_adapters(ways.adapters), product(*ways.atoms.values())):
        chosen = {a: {pair: ways.atoms[a][pair]} for a, pair in zip(Atom, atoms, strict=True)}
        fixed = replace(ways, adapters=adapters, atoms=chosen)
        special = replace(focus, adapters=adapters, atoms=chosen)
        narrowed = replace(claim, ways=fixed, focus=claim.focus and (names, special))
        items = (special.native | fixed.native, special.declared | fixed.declared)
        for mode, bundle, depths, parts, signals, up_to in _violating(universe, narrowed):
            cases = [
                Case(
                    mode=mode,
                    bundle=bundle,
                    depth=depths[side],
                    items=_items(parts, items, side),
                    adapters=_stated(adapters, side),
                    signals=tuple(each[side] for each in signals if each[side] is not None),
                    atoms=_stated(chosen, side),
                    shown=frozenset(name for name, (shown, _, _) in _chain(parts) if shown[side]),
                    forbidden=up_to,
                )
                for side in (0, 1)
            ]
            labels = [label(case) for case in cases]
            if not claim.holds(labels[0], labels[1]):
                return Found(cases[0], cases[1], (labels[0], labels[1]))
    return None


def label(case: Case) -> Label:
    """The label that `lower` gives a case."""
    found, evidence = case.build()
    return relation.lower(found, case.mode, case.depth, case.bundle, evidence).label


def _adapters(ways: Mapping[Depth, Pairs]) -> Iterator[dict[Depth, Pairs]]:
    """Every adapter alike, as far as it can be; then one of them unlike the others."""
    pairs = sorted({pair for found in ways.values() for pair in found}, reverse=True)
    for usual, depth, other in product(pairs, (None, *ways), pairs):
        if depth is not None or other == usual:
            found = {}
            for each, of in ways.items():
                wanted = other if each is depth else usual
                pair = wanted if wanted in of else next(iter(of))
                found[each] = {pair: of[pair]}
            yield found


def _stated(ways: Mapping[Any, Pairs], side: int) -> dict[Any, Any]:
    """What is stated on one side, where there is one way for each."""
    found = {key: statements[0][side] for key, of in ways.items() for statements in of.values()}
    return {key: stated for key, stated in found.items() if stated is not None}


def _chain(parts: Any) -> Iterator[tuple[str, Any]]:
    while parts is not None:
        part, parts = parts
        yield part


def _items(parts: Any, ways: tuple[Pairs, Pairs], side: int) -> dict[Any, Any]:
    found = {}
    for name, (_, _, how) in _chain(parts):
        for place, (cells, _) in zip(LADDER, how, strict=False):
            pairs = ways[place is not Depth.NONE][cells]
            found[place, name] = tuple(each[side] for each in pairs if each[side] is not None)
    return {key: stated for key, stated in found.items() if stated}
