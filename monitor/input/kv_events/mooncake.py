"""Decodes the events that the master of Mooncake publishes of its store.

They come in the three frames of vLLM. The payload is a map, a list of maps, or a batch of them. No
capture confirms this reader.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from monitor.input.kv_events.facts import Batch, Malformed, is_map, struct_of
from monitor.input.kv_events.runtimes import MOONCAKE, Runtime

__all__ = ["KNOWN", "Maps", "recognises"]

_TIERS: Final = {"cpu": "cpu", "disk": "disk"}
_OLDER: Final = frozenset({"BlockStoreEvent", "BlockUpdateEvent", "RemoveAllEvent"})
_OWN: Final = frozenset({"event_type", "seq_hashes", "object_key", "backend_id", "tenant_id"})
_FIELDS: Final = _OWN - {"event_type"} | {"block_hashes", "medium"}
_STORES: Final = frozenset({"BlockStored", "BlockStoreEvent"})
_CLEARS: Final = frozenset({"AllBlocksCleared", "RemoveAllEvent"})
KNOWN: Final = dict.fromkeys((*sorted(_STORES), "BlockRemoved", "BlockUpdateEvent"), _FIELDS) | (
    dict.fromkeys(sorted(_CLEARS), frozenset({"backend_id", "medium", "tenant_id"}))
)
"""The events that are understood, with their fields."""


def recognises(value: object) -> bool:
    """Whether a value is an event of Mooncake."""
    if not isinstance(value, dict):
        return False
    name, medium = value.get("type"), value.get("medium")
    return (
        not _OWN.isdisjoint(value)
        or (isinstance(name, str) and name in _OLDER)
        or (isinstance(medium, str) and medium in _TIERS)
    )


class _Map(msgspec.Struct, frozen=True):
    seq_hashes: list[Any] | None = None
    block_hashes: list[Any] | None = None
    medium: str | None = None
    backend_id: int | str | None = None
    tenant_id: int | str | None = None


class Maps(Batch):
    """The events of one batch, which may be read one by one.

    Args:
        runtime: the one that published the batches before it.
    """

    def __init__(self, runtime: Runtime) -> None:
        if runtime.name != MOONCAKE.name:
            runtime = MOONCAKE
        super().__init__(KNOWN, runtime)

    def read(self, value: object) -> None:
        """One event; raises Malformed."""
        if not is_map(value):
            raise Malformed("an event of Mooncake is a map")
        assert isinstance(value, dict)
        names = [value[key] for key in ("event_type", "type") if key in value]
        if names[1:] and names[0] != names[1]:
            raise Malformed("event_type and type are two names of one field")
        name = names[0] if names else None
        fields = {k: v for k, v in value.items() if k not in ("event_type", "type")}
        if not self.count(name, fields.keys()):
            return
        self.form = "older maps" if name in _OLDER else self.form or "maps"
        event = struct_of(str(name), fields, _Map)
        self._check_place(event)
        if name in _CLEARS:
            self.clear(f"the tiers that {name} of Mooncake empties are not known")
        elif name == "BlockUpdateEvent":
            self.misread("what BlockUpdateEvent of Mooncake changes is not known")
        else:
            self._blocks(str(name), event)

    def _check_place(self, event: _Map) -> None:
        """One key has copies on several backends, and other content for another tenant."""
        place = event.tenant_id, event.backend_id
        if self.runtime.place in (None, place):
            self.runtime = self.runtime._replace(place=place)
        else:
            self.misread("copies of several backends or tenants of Mooncake are not told apart")

    def _blocks(self, name: str, event: _Map) -> None:
        if event.seq_hashes is not None and event.block_hashes is not None:
            raise Malformed("seq_hashes and block_hashes are two names of one field")
        hashes = event.seq_hashes or event.block_hashes or []
        if not hashes:
            self.misread(f"{name} of Mooncake names no blocks")
        tier = self.tier(event.medium, _TIERS, "medium")
        if name in _STORES:
            self.stored(hashes, 0, tier)
        else:
            self.removed(hashes, 0, tier)
