"""Compares the Python relation with the Z3 relation on every point of a reduced universe.

The relation looks at one statement at a time, then at one obligation at a time, then at the set of
those that are supplied. Each of these is exhausted over what the one before can say of it:

* statements: every item (status, scope, anchor of every kind, order, claim scope and basis), every
  set of preconditions, every atom, signal and shown obligation that the schema admits;
* obligations: each by itself at each place, counting or merely related, with and without the
  preconditions and evidence from a trace, at the depths around it, before two backgrounds;
* sets: each way in which the obligations of a bundle can be absent, native or supplied by a patch;
  of the two largest bundles each set that is supplied, natively and by a patch in turns.

That obligations do not interact in other ways follows from the code of both; tests with random
descriptors search for exceptions.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proofs.lowering.concrete import ALONE, Asked, Oracle, put_anchor, put_item, put_seen
from proofs.lowering.parts import (
    GOOD,
    NOTED,
    adapter,
    anchors,
    descriptor,
    evidence,
    forbidden,
    good,
    items,
    orders,
    partial,
)
from proofs.lowering.program import Program
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle, Depth
from spec.contract.obligations import OBLIGATIONS
from spec.lowering.counting import atom_observed, counts, evidence_shows, unmet
from spec.lowering.depths import LADDER, PRECONDITIONS
from spec.lowering.descriptor import Adapter, Holds, Observed, Shows
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.relation import lower, related
from spec.lowering.signals import TEMPTS, Signal
from spec.lowering.vocabulary import ATOMS_FOR, Atom, Order, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from proofs.lowering.program import Point
    from spec.lowering.descriptor import Item

__all__ = ["PARTS", "Compared", "agrees", "compare", "rows_of_one", "rows_of_sets"]

_BATCH: Final = 4096
_FULL: Final = 7  # obligations of a bundle of which every way is tried
_PATCH: Final = Depth.BACKEND_PATCH


class Compared(msgspec.Struct, frozen=True):
    """The number of points compared in one part, and the first difference."""

    what: str
    points: int
    differ: int
    first: str = ""


def compare(oracle: Oracle | None = None, parts: Iterable[str] | None = None) -> list[Compared]:
    """Compare both implementations on these parts of the universe, by default on all of `PARTS`."""
    asked = oracle or Oracle()
    return [_of(part, PARTS[part](asked)) for part in parts or PARTS]


def agrees(oracle: Oracle, rows: Sequence[Asked]) -> Iterator[tuple[bool, str]]:
    """Whether both call each row the same, for the same lack; and the row in words."""
    for row, answer in zip(rows, oracle.answers(rows), strict=True):
        found = lower(row.descriptor, row.mode, row.depth, row.bundle, row.evidence)
        kinds = () if found.subtype is None else (found.subtype,)
        same = ((found.label,), kinds, frozenset(found.missing)) == tuple(answer)
        difference = (
            f"{row.mode} {row.bundle} {row.depth}: {found.label} and {', '.join(answer.labels)}"
        )
        yield same, "" if same else f"{difference}, of {row.descriptor.model_dump_json()[:400]}"


def _of(what: str, found: Iterator[tuple[bool, str]]) -> Compared:
    points = differ = 0
    first = ""
    for same, difference in found:
        points += 1
        if not same:
            differ, first = differ + 1, first or difference
    return Compared(what, points, differ, first)


def _rows(oracle: Oracle, rows: Iterator[Asked]) -> Iterator[tuple[bool, str]]:
    batch: list[Asked] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield from agrees(oracle, batch)
            batch.clear()
    yield from agrees(oracle, batch)


# Statements.


def _items(oracle: Oracle) -> Iterator[tuple[bool, str]]:
    """Whether an item counts, atoms apart, and whether it is related."""
    mode, other = Mode.OFFLOADABLE, Mode.DEMOTABLE
    for name in OBLIGATIONS:
        known = {f"a{n}": each for n, each in enumerate(anchors(RELEVANT_ORDER[name]))}
        stated = [
            item
            for anchor in (None, *known)
            for modes in ((mode,), (other,))
            for item in items(name, modes, anchor)
        ]
        points: list[Point] = [{} for _ in stated]
        for point, item in zip(points, stated, strict=True):
            anchor = None if item.anchor is None else known[item.anchor]
            put_item(point, "/".join(ALONE), mode, item, anchor)
        counting, near = oracle.alone.run(points)
        empty = descriptor(anchors=known)
        for number, item in enumerate(stated):
            alone = empty.model_copy(update={"native": (item,)})
            same = counts(alone, item, name, mode) == bool(counting >> number & 1)
            same &= related(alone, mode, Depth.NONE, (name,)) == bool(near >> number & 1)
            yield same, "" if same else repr(item)


def _preconditions(oracle: Oracle) -> Iterator[tuple[bool, str]]:
    """Whether an adapter is ready: each precondition not stated, stated without an anchor, or with
    one.
    """
    for depth in LADDER[1:]:
        ways: list[list[tuple[Holds | None, Point]]] = []
        for each in PRECONDITIONS[depth]:
            ways.append([(None, {})])
            for anchor in (None, NOTED):
                point: Point = {}
                put_seen(point, f"{depth}/{each}", anchor)
                ways[-1].append((Holds.model_construct(precondition=each, anchor=anchor), point))
        states = list(product(*ways))
        points: list[Point] = [
            {name: value for _, point in state for name, value in point.items()} for state in states
        ]
        (ready,) = Program([oracle.relation.prepared(depth)]).run(points)
        for number, state in enumerate(states):
            stated = tuple(holds for holds, _ in state if holds is not None)
            offered = Adapter.model_construct(depth=depth, preconditions=stated, evidence=())
            same = (not unmet(offered)) == bool(ready >> number & 1)
            yield same, "" if same else repr(offered)


def _others(oracle: Oracle) -> Iterator[tuple[bool, str]]:
    yield from _atoms(oracle)
    yield from _signals(oracle)
    yield from _shown(oracle)


def _atoms(oracle: Oracle) -> Iterator[tuple[bool, str]]:
    for atom in Atom:
        known = dict(enumerate(anchors(Order.PRESSURE_BEFORE_LOSS)))
        points: list[Point] = [{} for _ in (None, *known)]
        for point, anchor in zip(points, (None, *known.values()), strict=True):
            put_anchor(point, atom, anchor, Order.PRESSURE_BEFORE_LOSS)
        ran = oracle.relation.ran(oracle.relation.described.atoms[atom])
        (observed,) = Program([ran]).run(points)
        for number, anchor in enumerate((None, *known.values())):
            seen = Observed.model_construct(atom=atom, anchor=None if anchor is None else "a")
            found = descriptor(anchors={"a": anchor}, observations=(seen,))
            same = atom_observed(found, atom) == bool(observed >> number & 1)
            yield same, "" if same else f"{atom}: {anchor!r}"


def _signals(oracle: Oracle) -> Iterator[tuple[bool, str]]:
    states = list(product(Signal, Status, (None, NOTED), Mode))
    points: list[Point] = []
    for signal, status, anchor, mode in states:
        points.append({"mode": f"Mode.{mode}", f"{signal}.status": f"Status.{status}"})
        put_seen(points[-1], signal, anchor)
    (tempting,) = Program([oracle.relation.tempting()]).run(points)
    for number, (signal, status, anchor, mode) in enumerate(states):
        shows = Shows.model_construct(signal=signal, status=status, anchor=anchor)
        found = descriptor(signals=(shows,))
        same = related(found, mode, Depth.NONE, ()) == bool(tempting >> number & 1)
        yield same, "" if same else f"{mode}: {shows!r}"


def _shown(oracle: Oracle) -> Iterator[tuple[bool, str]]:
    for name, mode in product(OBLIGATIONS, Mode):
        files = [
            evidence(taken, [shows], order)
            for taken in Mode
            for shows in (name, next(o for o in OBLIGATIONS if o != name))
            for order in orders(RELEVANT_ORDER[shows])
            if order
        ]
        empty = descriptor()
        rows = [Asked(empty, mode, Bundle.PAPER, Depth.NONE, each) for each in files]
        points = [oracle.point(row) for row in rows]
        (shown,) = Program([oracle.relation.shown(name)]).run(points)
        for number, each in enumerate(files):
            same = bool(evidence_shows(each, name, mode)) == bool(shown >> number & 1)
            yield same, "" if same else f"{name}, {mode}: {each!r}"


# Rows.


def rows_of_one() -> Iterator[Asked]:
    """One obligation in every way, where the others are absent, and where they are native."""
    for mode in Mode:
        for name in MODES[mode].names():
            others = [other for other in MODES[mode].names() if other != name]
            for background in ((), tuple(good(other, mode) for other in others)):
                for place, depth, parts in _ways(name, mode, background):
                    for observed in _observed(name):
                        found = descriptor(**parts, **observed)
                        for shown in (None, evidence(mode, [name])):
                            yield Asked(found, mode, Bundle.CONTRACT, depth, shown)
                        if place is Depth.NONE:
                            yield Asked(found, mode, Bundle.PAPER, depth)


def _observed(name: str) -> Iterator[dict[str, Any]]:
    """Both atoms; and for who needs them, each alone and badly anchored, too."""
    yield {}
    for atom, anchor in product(sorted(ATOMS_FOR.get(name, ())), (GOOD, NOTED)):
        others = [Observed.model_construct(atom=a, anchor=GOOD) for a in Atom if a is not atom]
        bare = [Observed.model_construct(atom=atom, anchor=NOTED)] if anchor == NOTED else []
        yield {"observations": (*others, *bare)}


def _ways(
    name: str, mode: Mode, background: tuple[Item, ...]
) -> Iterator[tuple[Depth, Depth, dict[str, Any]]]:
    for place, make in product(LADDER, (good, partial)):
        stated = make(name, mode)
        if place is Depth.NONE:
            for depth in LADDER:
                yield place, depth, {"native": (*background, stated)}
            continue
        below = LADDER[LADDER.index(place) - 1]
        for ready, depth in product((True, False), dict.fromkeys((below, place, _PATCH))):
            offered = (adapter(place, [stated], ready=ready),)
            yield place, depth, {"native": background, "adapters": offered}


def rows_of_sets() -> Iterator[Asked]:
    """The obligations of a bundle absent, native or supplied by a patch; forbidden or not."""
    for mode, bundle in product(Mode, Bundle):
        names = MODES[mode].names(bundle)
        if bundle is Bundle.PAPER or MODES[mode].added:
            for states in _sets(len(names)):
                yield from _of_states(mode, bundle, names, states)
        for up_to, depth, state in product(LADDER, LADDER, (None, Depth.NONE)):
            native = () if state is None else tuple(good(name, mode) for name in names)
            other = Mode.DEMOTABLE if mode is not Mode.DEMOTABLE else Mode.EXPIRING
            for of in (mode, other):
                found = descriptor(native=native, forbidden=(forbidden(of, up_to),))
                yield Asked(found, mode, bundle, depth)


def _sets(size: int) -> Iterator[tuple[Depth | None, ...]]:
    if size <= _FULL:
        yield from product((None, Depth.NONE, _PATCH), repeat=size)
        return
    turns = tuple(Depth.NONE if n % 2 else _PATCH for n in range(size))
    for there in product((False, True), repeat=size):
        yield tuple(turn if yes else None for yes, turn in zip(there, turns, strict=True))


def _of_states(
    mode: Mode, bundle: Bundle, names: tuple[str, ...], states: tuple[Depth | None, ...]
) -> Iterator[Asked]:
    pairs = list(zip(names, states, strict=True))
    native = tuple(good(name, mode) for name, state in pairs if state is Depth.NONE)
    offered = adapter(_PATCH, [good(name, mode) for name, state in pairs if state is _PATCH])
    tempted = [s for s in Signal if mode in TEMPTS[s]][:1]
    shows = tuple(
        Shows.model_construct(signal=s, status=Status.SUPPORTED, anchor=GOOD) for s in tempted
    )
    for signals in ((), shows):
        found = descriptor(native=native, adapters=(offered,), signals=signals)
        yield Asked(found, mode, bundle, _PATCH)


PARTS: Final[dict[str, Callable[[Oracle], Iterator[tuple[bool, str]]]]] = {
    "items": _items,
    "preconditions": _preconditions,
    "atoms, signals and evidence": _others,
    "rows of one obligation": lambda oracle: _rows(oracle, rows_of_one()),
    "rows of sets of obligations": lambda oracle: _rows(oracle, rows_of_sets()),
}
"""The parts of the universe, each with what compares the two on it."""
