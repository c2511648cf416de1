"""The streams that mutants are tried on: every chain of stories, and the lines of `corpus.txt`.

A line is one stream. Its words are told one after another, each the name of a story or the kind of
a single event. What may follow a word: `:field` or `:field=value` for a field of a single event,
`@b` for another claim than claim:a, `/2` for another request than request:1, and `!` for a report
about the claim's object under a foreign name. The field `sequence` puts an event out of order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from proofs.mutation.chains import CHAINS, STORIES
from proofs.mutation.stories import FOOTPRINTS
from spec.alphabet import CONFLICT_ACTIONS, REPORTS, Kind
from spec.events import CapacityProof, Event
from spec.fields import fields_of

__all__ = ["Told", "corpus", "tell"]

_WORD = re.compile(
    r"(?P<name>\w+)(?P<fields>(:[\w=.]+)*)"
    r"(@(?P<claim>[abc]))?(/(?P<request>[12]))?(?P<foreign>!)?"
)
_STORIES = {s.__name__: s for s in (*STORIES, *(s for chain in CHAINS for s in chain))}
_NOBODY = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}


@dataclass(frozen=True)
class Told:
    """A stream and the line that tells it."""

    line: str
    events: tuple[Event, ...]


@cache
def corpus() -> tuple[Told, ...]:
    """Every stream, in the order in which mutants meet them."""
    chains = [" ".join(story.__name__ for story in chain) for chain in CHAINS]
    added = (files("proofs.mutation") / "corpus.txt").read_text(encoding="utf-8").splitlines()
    lines = [*chains, *(line for line in added if line and not line.startswith("#"))]
    return tuple(tell(line) for line in dict.fromkeys(lines))


def tell(line: str) -> Told:
    """The stream of a line.

    Raises:
        ValueError: a word is neither a story nor a kind.
    """
    return Told(line, tuple(event for word in line.split() for event in _events(word)))


def _events(word: str) -> list[Event]:
    found = _WORD.fullmatch(word)
    if found is None:
        raise ValueError(f"not a word of a stream: {word}")
    name, claim = found["name"], f"claim:{found['claim'] or 'a'}"
    request = f"request:{found['request'] or '1'}"
    if name in _STORIES:
        return _STORIES[name](claim, request)
    kind = Kind(name)
    fields: dict[str, Any] = {"kind": kind.value, "request_id": request}
    if kind not in _NOBODY:
        fields["claim_id"] = claim
    if kind in REPORTS - CONFLICT_ACTIONS and "request_id" not in fields_of(kind):
        del fields["request_id"]
    if kind in (Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED):
        fields["footprint"] = FOOTPRINTS[claim]
    if found["foreign"]:
        fields |= {"claim_id": "claim:unheard-of", "cache_identity": "model/16"}
        fields["object_id"] = f"object of {claim}"
    for field in found["fields"].split(":")[1:]:
        key, _, value = field.partition("=")
        fields[key] = _value(key, value, claim)
    return [msgspec.convert(fields, Event)]


def _value(key: str, value: str, claim: str) -> Any:
    parts = value.split(".")
    if key == "blocking_claim_ids":
        return tuple(f"claim:{part}" for part in parts) if value else (claim,)
    if key in ("block_ids", "positions"):
        return tuple(map(int, parts))
    if key == "proof":
        return dict(zip(CapacityProof.__struct_fields__, map(int, parts), strict=True))
    if value == "":
        return True
    return int(value) if value.isdigit() else value
