"""Shares what is found of claims that stand alike: their findings differ by places alone."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

from monitor.evaluate.compaction import at_places
from monitor.evaluate.observer_state import Finding
from monitor.evaluate.product import NEW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monitor.evaluate.product import CompactTrail
    from monitor.input.records import At

__all__ = ["PlacedFindings", "SharedFindings"]


class SharedFindings:
    """The findings of all claims in one product state.

    Attributes:
        found: by the names of obligations; the places in them are those of some claim.
        slots: where each finding, and each event of its trail, has its place; as the product state
            has them.
        used: the slots of findings, in order.
        pick: the places of these slots, of those of all.
    """

    __slots__ = ("found", "pick", "slots", "used")

    def __init__(self, found: tuple[tuple[str, Finding, int, CompactTrail], ...]) -> None:
        self.found = {name: finding for name, finding, _, _ in found}
        self.used = sorted({at for _, _, at, _ in found} - {NEW})
        self.pick = _picking(self.used)
        self.slots = {name: (at, trail) for name, _, at, trail in found}


class PlacedFindings(Mapping[str, Finding]):
    """The findings of one claim, made when they are asked for.

    Attributes:
        shared: those that it has in common with claims that stand alike.
        places: of the slots.
    """

    __slots__ = ("places", "shared")

    def __init__(self, shared: SharedFindings, places: tuple[At, ...]) -> None:
        self.shared, self.places = shared, places

    def __getitem__(self, name: str) -> Finding:
        finding, (at, trail) = self.shared.found[name], self.shared.slots[name]
        return at_places(finding, at, trail, (*self.places, None))

    def __iter__(self) -> Iterator[str]:
        return iter(self.shared.found)

    def __len__(self) -> int:
        return len(self.shared.found)


def _picking(slots: list[int]) -> Callable[[tuple[At, ...]], tuple[At, ...]]:
    """What picks the items of a tuple at these places."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return lambda places: tuple([places[slot] for slot in slots])
