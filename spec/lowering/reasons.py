"""Why a row has its label, what it lacks, and what would change that: a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.lowering.counting import atom_observed, evidence_shows, lacks, unmet
from spec.lowering.depths import MAY_SUPPLY, reaches
from spec.lowering.obligations import REJECTED_WITHOUT, RELEVANT_ORDER
from spec.lowering.signals import TEMPTS
from spec.lowering.vocabulary import ATOMS_FOR, Status
from spec.modes import MODES, Depth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spec.lowering.descriptor import Descriptor, Item
    from spec.lowering.relation import Row

__all__ = ["decided_by", "upgrade", "why_missing"]


def decided_by(row: Row) -> str:
    """Which rule decided a row, and on what."""
    lacking = f"{len(row.missing)} of {len(MODES[row.mode].names(row.bundle))} obligations"
    if row.rule == 1:
        said = "; ".join(f"{f} is forbidden up to {f.up_to}: {f.because}" for f in row.forbidden)
    elif row.rule == 2:
        said = "Every obligation is supplied natively."
    elif row.rule == 3:
        said = f"Every obligation is supplied, by adapters up to {row.depth}: {row.subtype}."
    elif row.rule == 4:
        said = f"No signal for {row.mode} is shown, and nothing of its bundle is stated or counts."
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
    shown = [
        each.signal
        for each in row.descriptor.signals
        if row.mode in TEMPTS[each.signal]
        and each.status in {Status.SUPPORTED, Status.PARTIAL}
        and each.anchor is not None
    ]
    return f" ({', '.join(shown)})" if shown else ""


def why_missing(row: Row, obligation: str) -> str:
    """Why an obligation that a row misses is not supplied."""
    reasons = list(dict.fromkeys(_shortfalls(row, obligation)))
    return "; ".join(reasons) if reasons else "nothing is said of it for this mode"


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
        if found:
            yield f"{where} {_listed(found)}"
    fit = [
        adapter
        for adapter in row.descriptor.adapters
        if reaches(row.depth, adapter.depth) and obligation in MAY_SUPPLY[adapter.depth]
    ]
    for adapter in fit:
        absent = unmet(adapter)
        if absent:
            yield f"{adapter.depth} lacks {_listed(absent)}"
    if evidence_shows(row.evidence, obligation, row.mode):
        if not fit:
            yield "the traces show it, and no adapter offered at this depth may supply it"
    elif row.evidence is not None and row.evidence.mode is row.mode:
        for each in row.evidence.unshown:
            if each.obligation == obligation:
                yield f"in the traces it is {each.verdict}: {each.why}"
    atoms = [a for a in ATOMS_FOR.get(obligation, ()) if not atom_observed(row.descriptor, a)]
    if atoms:
        yield f"{_listed(sorted(atoms))} not shown in a run"


def _stated(descriptor: Descriptor, obligation: str) -> Iterator[tuple[Depth, Item]]:
    for item in descriptor.native:
        if item.obligation == obligation:
            yield Depth.NONE, item
    for adapter in descriptor.adapters:
        for item in adapter.evidence:
            if item.obligation == obligation:
                yield adapter.depth, item


def upgrade(obligation: str) -> str:
    """What would supply an obligation."""
    depths = [depth for depth, may in MAY_SUPPLY.items() if obligation in may]
    atoms = sorted(ATOMS_FOR.get(obligation, ()))
    also = f", with {_listed(atoms)}" if atoms else ""
    return (
        f"a run of the claim that preserves {RELEVANT_ORDER[obligation]}{also}, natively or at "
        f"{_listed(depths, 'or')}"
    )


def _listed(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
