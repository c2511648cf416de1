"""All that a value leads to, as plain data that can be compared."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from monitor.durable.known import derived_of
from monitor.evaluate.compile import Compiled
from monitor.evaluate.constants import Constants
from monitor.evaluate.positions import Positions
from monitor.evaluate.unusual import Unusual
from monitor.pool.owners import Owners

__all__ = ["whole_state"]

_PLAIN: Final = (str, bytes, int, float, bool, type(None), bytearray)


def whole_state(value: object, seen: dict[int, int] | None = None) -> Any:
    """Each object by its fields; what can change and is shared, is shared there, too.

    A function is itself, and so are the observers of a mode. What holds blocks is compared by what
    it holds, of which there are two forms.

    Args:
        seen: the numbers of those met before, by their ids.
    """
    seen = {} if seen is None else seen
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict | MappingProxyType) and not value:
        return []
    if isinstance(value, Compiled) or callable(value):
        return id(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if not isinstance(value, tuple) and not _is_frozen(type(value)):
        if id(value) in seen:
            return f"@{seen[id(value)]}"
        seen[id(value)] = len(seen)
    if isinstance(value, Owners):
        near = [block for block, run in enumerate(value._runs) if run is not None]
        blocks = sorted({*near, *value._far, *value._several})
        assert len(blocks) == len(value)
        return [(block, _owners(value, block)) for block in blocks]
    if isinstance(value, Positions):
        held = sorted(pair for p in _of_each(value) for pair in p)
        return [value.start, whole_state(value.fresh), value._unnamed, value._held, held]
    if isinstance(value, dict):
        pairs = [(whole_state(key, seen), whole_state(each, seen)) for key, each in value.items()]
        return [type(value).__name__, *pairs] if isinstance(value, Counter) else pairs
    if isinstance(value, list | tuple | deque):
        return [type(value).__name__, *(whole_state(each, seen) for each in value)]
    held = getattr(value, "__dict__", {}).keys() - derived_of(type(value)).keys()
    names = (*_declared(type(value)), *sorted(held))
    return [
        (name, whole_state(getattr(value, name), seen)) for name in names if hasattr(value, name)
    ]


def _owners(owners: Owners, block: int) -> list[tuple[str, list[int]]]:
    if (run := owners._of(block)) is not None:
        return [(run.claim_id, [run.position(block)])]
    return [(name, sorted(positions)) for name, positions in owners._several[block].items()]


def _of_each(positions: Positions) -> Iterator[Iterable[tuple[int, int]]]:
    for run in positions._runs:
        yield zip(run.positions, run.blocks, strict=True)
    for position, blocks in (positions._several or {}).items():
        yield [(position, block) for block in blocks]


@cache
def _declared(kind: type) -> tuple[str, ...]:
    slots = {name for each in kind.__mro__ for name in getattr(each, "__slots__", ())}
    named = {*slots, *getattr(kind, "__struct_fields__", ()), *getattr(kind, "OPENED", ())}
    return tuple(sorted(named - derived_of(kind).keys() - {"__weakref__"}))


@cache
def _is_frozen(kind: type) -> bool:
    dataclass = getattr(kind, "__dataclass_params__", None)
    struct = getattr(kind, "__struct_config__", None)
    frozen = any(each is not None and each.frozen for each in (dataclass, struct))
    return frozen or kind in (Constants, Unusual)
