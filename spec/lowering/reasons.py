"""Explains the label of a row: the rule that decided, what is missing, and what would supply it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.modes import MODES
from spec.contract.supply import Depth
from spec.language.errors import require
from spec.lowering.counting import atom_observed, counts, evidence_shows, lacks, unmet
from spec.lowering.depths import MAY_SUPPLY, reaches
from spec.lowering.obligations import REJECTED_WITHOUT, RELEVANT_ORDER
from spec.lowering.relation import Row, tempts
from spec.lowering.vocabulary import ATOMS_FOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spec.contract.supply import Atom
    from spec.lowering.depths import Precondition
    from spec.lowering.descriptor import Adapter, Descriptor, Item

__all__ = ["decided_by", "upgrade", "why_missing"]

_OFFERED = "adapter offered at this depth"


def decided_by(row: Row) -> str:
    """Which rule decided a row, and on what; raises SpecError if it is none."""
    require(row, Row, "row", "what lower returns")
    lacking = f"{len(row.missing)} of {len(MODES[row.mode].names(row.bundle))} obligations"
    if row.rule == 1:
        said = "; ".join(f"{f} is forbidden up to {f.up_to}: {f.because}" for f in row.forbidden)
    elif row.rule == 2:
        said = "Every obligation is supplied natively."
    elif row.rule == 3:
        said = f"Every obligation is supplied, by adapters up to {row.depth}: {row.subtype}."
    elif row.rule == 4:
        said = (
            f"No signal for {row.mode} is shown, and no obligation of its bundle is stated or "
            "counts."
        )
    elif row.rule == 5:
        critical = [o for o in row.missing if o in REJECTED_WITHOUT[row.mode]]
        said = (
            f"Something looks like {row.mode}{_signals(row)}, and without {_listed(critical)} "
            "it would misrepresent the contract."
        )
    else:
        said = f"Something looks like {row.mode}{_signals(row)}, and {lacking} are not supplied."
    return f"Rule {row.rule}: {said}"


def _signals(row: Row) -> str:
    there = [each.signal for each in row.counted.signals if tempts(each, row.mode)]
    return f" ({', '.join(there)})" if there else ""


def why_missing(row: Row, obligation: str) -> str:
    """Why an obligation that a row misses is not supplied: preconditions first.

    Raises SpecError if it is no row.
    """
    require(row, Row, "row", "what lower returns")
    reasons = list(dict.fromkeys((*_unprepared(row, obligation), *_shortfalls(row, obligation))))
    return "; ".join(reasons) if reasons else "nothing states it for this mode"


def _fit(row: Row, obligation: str) -> list[Adapter]:
    """The adapters within the depth that may supply an obligation, ready or not."""
    return [
        adapter
        for adapter in row.counted.adapters
        if reaches(row.depth, adapter.depth) and obligation in MAY_SUPPLY[adapter.depth]
    ]


def _unprepared(row: Row, obligation: str) -> Iterator[str]:
    for adapter in _fit(row, obligation):
        if absent := unmet(adapter):
            yield f"{adapter.depth} lacks {_listed([_lost(row, adapter, p) for p in absent])}"


def _lost(row: Row, adapter: Adapter, precondition: Precondition) -> str:
    """A precondition that is not met, with what is wrong where it was stated."""
    stated = row.descriptor.adapter(adapter.depth)
    for each in stated.preconditions if row.only_shown and stated is not None else ():
        if each.precondition is precondition and each.anchor in row.nowhere:
            return f"{precondition} (its anchor cannot be resolved)"
    return precondition


def _shortfalls(row: Row, obligation: str) -> Iterator[str]:
    for depth, item in _stated(row.descriptor, obligation):
        if row.mode not in item.modes:
            continue
        where = "natively" if depth is Depth.NONE else f"at {depth}"
        if not reaches(row.depth, depth):
            yield f"{where} it is stated, deeper than {row.depth}"
            continue
        found = lacks(row.descriptor, item)
        if depth is not Depth.NONE and obligation not in MAY_SUPPLY[depth]:
            found.append(f"{depth} may not supply it")
        if row.only_shown and item.anchor in row.nowhere:
            found.append("its anchor cannot be resolved")
        if found:
            yield f"{where} {_listed(found)}"
        elif row.only_shown:
            yield f"{where} it is declared, and no trace shows it"
    if evidence_shows(row.evidence, obligation, row.mode):
        fit = _fit(row, obligation)
        yield f"the traces show it{'' if fit else f', and no {_OFFERED} may supply it'}"
    elif row.evidence is not None and row.evidence.mode is row.mode:
        for each in row.evidence.unshown:
            if each.obligation == obligation:
                yield f"in the traces it is {each.verdict}: {each.why}"
    if atoms := _unobserved(row, obligation):
        yield f"{_listed(atoms)} not shown in a run"


def _unobserved(row: Row, obligation: str) -> list[Atom]:
    """The atoms that an obligation needs and that are not observed."""
    return [a for a in sorted(ATOMS_FOR.get(obligation, ())) if not atom_observed(row.counted, a)]


def _stated(descriptor: Descriptor, obligation: str) -> Iterator[tuple[Depth, Item]]:
    for item in descriptor.native:
        if item.obligation == obligation:
            yield Depth.NONE, item
    for adapter in descriptor.adapters:
        for item in adapter.evidence:
            if item.obligation == obligation:
                yield adapter.depth, item


def upgrade(row: Row, obligation: str) -> str:
    """What would supply an obligation: preconditions first, then a run if there is none."""
    fit = _fit(row, obligation)
    waiting = [_preconditions(absent, each) for each in fit if (absent := unmet(each))]
    if not fit and _ready(row, obligation, fit):
        may = [depth for depth, may in MAY_SUPPLY.items() if obligation in may]
        return f"an adapter with all of its preconditions, at {_listed(may, 'or')}"
    run = _run(row, obligation)
    if len(waiting) < len(fit) or not waiting:
        return run
    first = f"first an anchor for {_listed(waiting, 'or for')}"
    return first if _ready(row, obligation, fit) else f"{first}; then {run}"


def _preconditions(absent: Sequence[Precondition], adapter: Adapter) -> str:
    """One or two by name; why an obligation is missing names them all."""
    if len(absent) > 2:
        return f"the {len(absent)} preconditions that {adapter.depth} lacks"
    return f"{_listed(absent)} of {adapter.depth}"


def _ready(row: Row, obligation: str, fit: Sequence[Adapter]) -> bool:
    """Whether there is a run, and what is missing are preconditions or an adapter."""
    if _unobserved(row, obligation):
        return False
    if evidence_shows(row.evidence, obligation, row.mode):
        return True
    stated = (item for adapter in fit for item in adapter.evidence)
    return any(counts(row.counted, item, obligation, row.mode) for item in stated)


def _run(row: Row, obligation: str) -> str:
    depths = [depth for depth, may in MAY_SUPPLY.items() if obligation in may]
    atoms = sorted(ATOMS_FOR.get(obligation, ()))
    also = f", with {_listed(atoms)}" if atoms else ""
    of_claim = f"of the claim that preserves {RELEVANT_ORDER[obligation]}{also}"
    if row.only_shown:
        return f"a trace {of_claim}, judged here, at {_listed(depths, 'or')}"
    return f"a run {of_claim}, natively or at {_listed(depths, 'or')}"


def _listed(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
