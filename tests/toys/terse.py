"""A toy dialect: lines of an operation, a claim and a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from monitor.input.dialects._json import kind_in, struct
from monitor.input.records import Form, Record, Stamp, at_line
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event

__all__ = ["DIALECT", "recognises"]

_FORM: Final = Form("terse")
_OBSERVES: Final = FACTS


def recognises(obj: dict[str, object]) -> bool:
    """Whether a line is of the terse log: no other dialect has `op`."""
    return "op" in obj


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    op: str
    at: int
    claim: str
    blocks: tuple[int, ...] = ()


def _committed(line: _Line, kind: Kind) -> Event:
    return Event(
        kind=kind,
        claim_id=line.claim,
        mode="demotable",
        owner_scope="tenant",
        cache_identity="terse",
        object_id=line.claim,
        token_map="terse",
        predicate=f"leading_prefix_at_least({len(line.blocks)})",
        footprint=len(line.blocks),
    )


_EVENTS: Final[Mapping[str, Callable[[_Line], Event]]] = {
    "commit": lambda line: _committed(line, Kind.CLAIM_COMMITTED),
    "accept": lambda line: _committed(line, Kind.CLAIM_ACCEPTED),
    "cache": lambda line: Event(
        kind=Kind.BLOCK_CACHED,
        claim_id=line.claim,
        block_ids=line.blocks,
        positions=tuple(range(len(line.blocks))),
    ),
    "retire": lambda line: Event(kind=Kind.CLAIM_RETIRED, claim_id=line.claim, by="runtime"),
    "demote": lambda line: Event(kind=Kind.CLAIM_DEMOTED, claim_id=line.claim, by="runtime"),
    "evict": lambda line: Event(kind=Kind.BLOCK_EVICTED, block_ids=line.blocks),
}


class TerseDialect:
    """Reads the terse log of one file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """One record."""
        name = kind_in(obj, "op", self._file, line)
        data = struct(obj, _Line, self._file, line)
        at = at_line(self._file, line, data.at)
        stamp = Stamp(self._file, data.at, None, _FORM, observes=_OBSERVES)
        if name not in _EVENTS:
            return (Record(at, stamp, unknown=name),)
        return (Record(at, stamp, ((_EVENTS[name](data), at),)),)

    def flush(self, stream: str | None = None) -> tuple[Record, ...]:
        """Nothing: no line is held back."""
        return ()


DIALECT: Final = TerseDialect
