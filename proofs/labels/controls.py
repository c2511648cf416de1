"""The sixteen mutation controls (section 8.2 of the paper), applied to every positive row.

Each control weakens the evidence for one obligation of a row at a time, and the row must stop being
positive every time. The paper mutates a row only once.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from spec.contract.supply import Atom
from spec.lowering.descriptor import Descriptor
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.relation import lower
from spec.lowering.vocabulary import ATOMS_FOR, POSITIVE, Basis, ClaimScope, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from spec.lowering.relation import Row, Supply

__all__ = ["CONTROLS", "REFUSED", "Control", "run_control"]

REFUSED: Final = "refused"
"""What a mutant becomes that the schema does not admit."""

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Control:
    """The result of one control on a row: the number of cases, and the new labels."""

    name: str
    cases: int
    became: Mapping[str, int]

    @property
    def rejected(self) -> bool:
        """Whether there were cases, and none of them was still positive."""
        return self.cases > 0 and not POSITIVE & set(self.became)


def run_control(name: str, row: Row) -> Control:
    """Apply the control of that name to each obligation of a positive row."""
    refused = name in _REFUSES
    became = Counter[str]()
    for supply in row.supplied:
        data = row.descriptor.model_dump(mode="json", by_alias=True)
        for mutant in CONTROLS[name](data, row, supply):
            became[_labelled(mutant, row, refused)] += 1
    return Control(name, became.total(), dict(became))


def _labelled(mutant: Data, row: Row, may_refuse: bool) -> str:
    try:
        made = Descriptor.model_validate(mutant)
    except ValidationError:
        if not may_refuse:
            raise
        return REFUSED
    return lower(made, row.mode, row.depth, row.bundle).label.value


def _items(data: Data, row: Row, obligation: str) -> Iterator[tuple[list[Data], Data]]:
    """The statements about an obligation in the row's mode, each with the list it stands in."""
    for evidence in (data["native"], *(adapter["evidence"] for adapter in data["adapters"])):
        for item in list(evidence):
            if item["obligation"] == obligation and row.mode in item["modes"]:
                yield evidence, item


def _changed(data: Data, row: Row, supply: Supply, **fields: Any) -> Iterator[Data]:
    for _, item in _items(data, row, supply.obligation):
        item.update(fields)
    yield data


def _anchored(data: Data, row: Row, supply: Supply, change: Callable[[Data], None]) -> Data:
    """The statements rest on anchors of their own, changed."""
    for number, (_, item) in enumerate(_items(data, row, supply.obligation)):
        anchor = copy.deepcopy(data["anchors"][item["anchor"]])
        change(anchor)
        item["anchor"] = f"mutated_{number}"
        data["anchors"][item["anchor"]] = anchor
    return data


def _set(**fields: Any) -> Callable[[Data, Row, Supply], Iterator[Data]]:
    """A control that sets fields of the statements."""
    return lambda data, row, supply: _changed(data, row, supply, **fields)


def _anchor_set(**fields: Any) -> Callable[[Data, Row, Supply], Iterator[Data]]:
    """A control that sets fields of their anchors."""

    def control(data: Data, row: Row, supply: Supply) -> Iterator[Data]:
        yield _anchored(data, row, supply, lambda anchor: anchor.update(fields))

    return control


def _reordered(data: Data, row: Row, supply: Supply) -> Iterator[Data]:
    order = RELEVANT_ORDER[supply.obligation]
    yield _anchored(data, row, supply, lambda anchor: anchor["order"].remove(order))


def _atoms_alone(data: Data, row: Row, supply: Supply) -> Iterator[Data]:
    """Atoms without an anchor stand where evidence, or anchored atoms, stood."""
    if supply.obligation not in ATOMS_FOR:
        for evidence, item in _items(data, row, supply.obligation):
            evidence.remove(item)
    data["observations"] = [{"atom": atom, "anchor": None} for atom in Atom]
    yield data


def _signal_alone(signal: str) -> Callable[[Data, Row, Supply], Iterator[Data]]:
    """A control in which a signal stands where the evidence stood."""

    def control(data: Data, row: Row, supply: Supply) -> Iterator[Data]:
        anchor = next(item["anchor"] for _, item in _items(data, row, supply.obligation))
        for evidence, item in _items(data, row, supply.obligation):
            evidence.remove(item)
        others = [each for each in data["signals"] if each["signal"] != signal]
        shown = {"signal": signal, "status": Status.SUPPORTED, "anchor": anchor}
        data["signals"] = [*others, shown]
        yield data

    return control


def _no_precondition(data: Data, row: Row, supply: Supply) -> Iterator[Data]:
    """One precondition at a time is not stated."""
    (at,) = [i for i, a in enumerate(data["adapters"]) if a["depth"] == supply.depth]
    for number in range(len(data["adapters"][at]["preconditions"])):
        mutant = copy.deepcopy(data)
        del mutant["adapters"][at]["preconditions"][number]
        yield mutant


CONTROLS: Final[dict[str, Callable[[Data, Row, Supply], Iterator[Data]]]] = {
    "anchor_deleted": _set(anchor=None),
    "anchor_empty": _anchor_set(source="", path=""),
    "supported_to_partial": _set(status=Status.PARTIAL),
    "supported_to_unknown": _set(status=Status.UNKNOWN),
    "supported_to_missing": _set(status=Status.MISSING),
    "observed_atoms_without_anchor": _atoms_alone,
    "scope_weakened_to_docs_only": _set(scope=Scope.DOCS_ONLY),
    "scope_weakened_to_source_inspection": _set(scope=Scope.SOURCE_INSPECTION),
    "precondition_missing": _no_precondition,
    "wrong_claim_id": _anchor_set(claim=ClaimScope.ANOTHER_CLAIM),
    "post_hoc_claim_naming": _anchor_set(claim=ClaimScope.NAMED_AFTERWARDS),
    "restore_after_reuse": _reordered,
    "fallback_recompute": _anchor_set(basis=Basis.FALLBACK_RECOMPUTE),
    "generic_counters": _anchor_set(basis=Basis.GENERIC_COUNTERS),
    "storage_only": _signal_alone("storage_tier"),
    "routing_only": _signal_alone("kv_aware_routing"),
}
"""All sixteen by name. On rows without a restore, restore_after_reuse breaks the order at hand."""

_REFUSES: Final = frozenset({"anchor_empty"})
