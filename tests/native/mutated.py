"""Makes random streams from those that have a verdict: lines dropped, doubled, swapped, altered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from inspect import isfunction
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from spec.claims.states import Mode
from spec.events.alphabet import FACTS
from spec.events.canonical import Event, as_jsonl
from tests.golden.traces import Case, cases
from tests.streams import stories
from tests.streams.mixed import mixed

__all__ = ["HONEST", "canonical", "mutated"]

Lines = list[dict[str, Any]]
_LONGEST: Final = 120
HONEST: Final = "honest"
"""The name of a stream of a runtime that keeps its promises, which no judge may accuse."""
_NAMES: Final = ("a", "b", "claim:a", "claim:b", "claim-1", "x")
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "claim_id": _NAMES,
    "request_id": ("r", "r1", "r2", "request-1"),
    "object_id": ("prefix:a", "prefix:b", "p"),
    "cache_identity": ("m", "model/16", "other"),
    "token_map": ("t", "u"),
    "predicate": (
        "leading_prefix_at_least(1)",
        "leading_prefix_at_least(3)",
        "contiguous_range(1, 2)",
    ),
    "mode": tuple(str(mode) for mode in Mode),
    "owner_scope": ("tenant-a", "tenant-b"),
    "by": ("tenant-a", "tenant-b", "runtime"),
    "duration": ("15 s", "0.000000001 s", "3 steps", "1e-3 s"),
    "priority": (0, 1, 5, -3),
    "lowest_priority": (0, 1, 5, 2**70),
    "footprint": (1, 2, 3, 8),
    "block_ids": ([0], [1], [0, 1], [1, 2, 3], ["ff"], [2**64]),
    "positions": ([0], [1], [0, 1], [0, 1, 2]),
    "keys": (["k0"], ["k0", "k1"], ["k0", "k1", "k2"], [7, 2**63], ["k1"]),
    "content_keys": (["k0", "k1"], ["k2"]),
    "tier": ("gpu", "cpu", "disk"),
    "group": (0, 1),
    "held": (0, 1, 2, 3),
    "asked": (0, 1, 2, 3, 8),
    "needed": (0, 1, 4, 80),
    "usable": (0, 1, 8, 100),
    "blocking_claim_ids": (["a"], ["a", "b"], [], ["claim:a"]),
    "restore": (True,),
    "outcome": ("refusal", "harm", "demotion", "none"),
    "outcome_claim_id": _NAMES,
    "found": (True,),
    "echo": (True,),
    "duplicate": (True,),
    "from_tier": (True, False),
    "restated": (True,),
    "cost": (0, 3),
    "worker": ("w0", "w1"),
    "hit": (True, False),
    "time_ns": (0, 1, 10**9, 10**12),
}
_KINDS: Final = sorted(FACTS)
_MARKS: Final = ("stream_opened", "stream_closed", "stream_restated")
_PREDICATE: Final = "leading_prefix_at_least(2)"
_MORE: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "block_lost", "tier": "cpu"},
    {"kind": "block_lost", "tier": "disk"},
    {"kind": "block_lost", "tier": "gpu"},
    {"kind": "block_lost"},
    {"kind": "host_copy_lost", "tier": "cpu"},
    {"kind": "host_copy_found"},
    {"kind": "store_finished"},
    {"kind": "store_finished", "tier": "disk", "keys": ["k0", "k1"]},
    {"kind": "block_cached", "tier": "cpu", "keys": ["k0"], "group": 0},
    {"kind": "block_cached", "block_ids": [90], "keys": ["k0"]},
    {"kind": "block_cached", "keys": ["k1", "k2"]},
    {"kind": "block_evicted", "keys": ["k1"]},
    {"kind": "block_evicted", "block_ids": [90]},
    {"kind": "load_finished", "held": 2, "request_id": "r"},
    {"kind": "load_finished", "keys": ["k0"], "block_ids": [91], "request_id": "r"},
    {"kind": "request_arrived", "request_id": "r", "needed": 4, "usable": 5},
    {"kind": "request_arrived", "request_id": "r2"},
    {"kind": "request_finished", "request_id": "r"},
    {"kind": "request_finished", "request_id": "r2"},
    {"kind": "claim_retired", "by": "runtime"},
    {"kind": "claim_retired", "by": "tenant-a"},
    {"kind": "claim_demoted", "by": "runtime"},
    {"kind": "claim_expired", "by": "runtime"},
    {"kind": "claim_harmed", "reason": "pressure"},
    {"kind": "claim_rejected", "reason": "no room"},
    {"kind": "claim_registered", "predicate": _PREDICATE, "duration": "15 s", "footprint": 4},
    {"kind": "claim_registered", "predicate": _PREDICATE, "duration": "20 steps"},
    {"kind": "claim_committed", "footprint": 2, "duration": "2 s"},
    {"kind": "claim_committed", "footprint": 8, "mode": "expiring"},
    {"kind": "claim_accepted", "footprint": 3, "duration": "3 s"},
    {"kind": "claim_accepted", "footprint": 2},
)
"""Lines that a stream may have more."""
_GROUPS: Final = (
    [{"group": 0, "kind": "full"}],
    [{"group": 0, "kind": "full"}, {"group": 1, "kind": "window", "window": 2}],
    [{"group": 0, "kind": "full"}, {"group": 1, "kind": "state"}],
    [{"group": 0, "kind": "full"}, {"group": 1, "kind": "window", "window": 1, "span": 2}],
    [{"group": 0, "kind": "full", "span": 2}, {"group": 1, "kind": "full"}],
)


@cache
def canonical() -> tuple[Case, ...]:
    """The cases in the canonical form that are not long."""
    return tuple(case for case in cases() if _is_canonical(case.lines))


def _is_canonical(text: bytes) -> bool:
    if text.count(b"\n") > _LONGEST:
        return False
    try:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return False
    return bool(lines) and all(isinstance(line, dict) and "kind" in line for line in lines)


def _drop(lines: Lines, chance: Random) -> None:
    del lines[chance.randrange(len(lines))]


def _double(lines: Lines, chance: Random) -> None:
    at = chance.randrange(len(lines))
    lines.insert(chance.randrange(at, len(lines)) + 1, dict(lines[at]))


def _swap(lines: Lines, chance: Random) -> None:
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _alter(lines: Lines, chance: Random) -> None:
    line = chance.choice(lines)
    names = [name for name in line if name in _VALUES]
    if names and chance.random() < 0.7:
        name = chance.choice(names)
        others = [each[name] for each in lines if name in each]
        line[name] = chance.choice(others if chance.random() < 0.7 else _VALUES[name])
    else:
        name = chance.choice([*_VALUES])
        line[name] = chance.choice(_VALUES[name])


def _omit(lines: Lines, chance: Random) -> None:
    line = chance.choice(lines)
    if names := [name for name in line if name not in ("kind", "sequence", "stream")]:
        del line[chance.choice(names)]


def _mark(lines: Lines, chance: Random) -> None:
    line: dict[str, Any] = {"kind": chance.choice(("stream_restated", "stream_opened"))}
    if line["kind"] == "stream_opened":
        if chance.random() < 0.5:
            line["observes"] = chance.sample(_KINDS, len(_KINDS) - chance.randrange(4))
        line["groups"] = chance.choice(_GROUPS)
    elif chance.random() < 0.8:
        for each in lines[: chance.randrange(len(lines)) + 1]:
            each["restated"] = True
        lines.insert(0, line)
        return
    lines.insert(chance.randrange(len(lines) + 1), line)


def _insert(lines: Lines, chance: Random) -> None:
    """One more line, of a claim of the stream or of none."""
    more = dict(chance.choice(_MORE))
    claims = [line["claim_id"] for line in lines if isinstance(line.get("claim_id"), str)]
    if claims and (more["kind"].startswith("claim_") or chance.random() < 0.4):
        more["claim_id"] = chance.choice(claims)
    requests = [line["request_id"] for line in lines if isinstance(line.get("request_id"), str)]
    if requests and "request_id" in more and chance.random() < 0.7:
        more["request_id"] = chance.choice(requests)
    at = chance.randrange(len(lines) + 1)
    for name in ("stream", "sequence", "time_ns"):
        if lines and name in lines[at - 1]:
            more[name] = lines[at - 1][name]
    lines.insert(at, more)


def _restate(lines: Lines, chance: Random) -> None:
    """The stream breaks, what it stated so far is stated again, and it goes on."""
    at = chance.randrange(len(lines) + 1)
    facts = [line for line in lines[:at] if line.get("kind") not in _MARKS]
    first = lines[0] if lines else {}
    stamp: dict[str, Any] = {n: first[n] for n in ("stream", "sequence") if n in first}
    broken: dict[str, Any] = {"kind": "request_finished", "request_id": "never"} | stamp
    mark: dict[str, Any] = {"kind": "stream_restated"} | stamp
    again = [line | {"restated": True} for line in facts if chance.random() < 0.9]
    lines[at:at] = [broken, mark, *again]


def _keyed(lines: Lines, chance: Random) -> None:
    """State keys where claims state their terms, from a few prefixes that they share."""
    for line in lines:
        if line.get("kind") in ("claim_registered", "claim_committed") and chance.random() < 0.8:
            prefix = chance.choice("pq")
            line["keys"] = [f"{prefix}{at}" for at in range(chance.randrange(1, 5))]


_CHANGES: Final[tuple[Callable[[Lines, Random], None], ...]] = (
    *(_drop, _double, _swap, _alter, _alter, _alter, _omit, _mark, _keyed),
    *(_insert, _insert, _insert, _restate),
)
_FEW: Final[tuple[Callable[[Lines, Random], None], ...]] = (_insert, _insert, _restate, _alter)


def _numbered(lines: Lines) -> None:
    """Number the lines again, and let time go forwards."""
    now = 0
    for number, line in enumerate(lines):
        if "sequence" in line:
            line["sequence"] = number
        if isinstance(line.get("time_ns"), int):
            now = line["time_ns"] = max(now, line["time_ns"])


def _honest(chance: Random, lies: int | None = 0) -> list[Event]:
    """The beginning of a stream of a runtime that keeps its promises, but for some lies."""
    taken = mixed(chance, chance.choice([*Mode]), lies)
    events = [event for line in taken for event in line.events][:_LONGEST]
    return [replace(event, sequence=at) for at, event in enumerate(events)]


def _told(chance: Random) -> tuple[str, bytes, Mode | None]:
    """A stream of a runtime that mostly keeps its promises, or of stories, with few changes."""
    mode = chance.choice([*Mode])
    if chance.random() < 0.5:
        events, name = _honest(chance, chance.choice((0, 0, None))), "mixed"
    else:
        told = [*_stories(chance)][:_LONGEST]
        events, name = [replace(event, sequence=at) for at, event in enumerate(told)], "stories"
    lines: Lines = [json.loads(line) for line in as_jsonl(events).splitlines()]
    for line in lines:
        if name == "stories" and line.get("mode") == "demotable":
            line["mode"] = mode
    for _ in range(chance.randrange(3) if lines else 0):
        chance.choice(_FEW)(lines, chance)
    _numbered(lines)
    return name, b"\n".join(json.dumps(line).encode() for line in lines), None


def _stories(chance: Random) -> Iterator[Event]:
    """Stories of three claims, the first of which tell that they are accepted."""
    told = [of for name, of in vars(stories).items() if _is_story(name, of)]
    for claim in stories.CLAIMS:
        yield from stories.accepted(claim, stories.REQUESTS[0])
    for _ in range(chance.randrange(3, 25)):
        yield from chance.choice(told)(
            chance.choice(stories.CLAIMS), chance.choice(stories.REQUESTS)
        )


def _is_story(name: str, of: Any) -> bool:
    other = name in ("blocks", "contents", "say", "at") or name.startswith("_")
    return isfunction(of) and of.__module__ == stories.__name__ and not other


def mutated(seed: int) -> tuple[str, bytes, Mode | None]:
    """The stream of a seed: its name, its lines, and the mode that judges it. Every third is
    honest.
    """
    chance = Random(seed)
    if seed % 3 == 0:
        return HONEST, as_jsonl(_honest(chance)), None
    if seed % 6 == 1:
        return _told(chance)
    case = chance.choice(canonical())
    lines: Lines = [json.loads(line) for line in case.lines.splitlines() if line.strip()]
    if chance.random() < 0.25:
        other = chance.choice(canonical())
        lines += [json.loads(line) for line in other.lines.splitlines() if line.strip()]
        chance.shuffle(lines) if chance.random() < 0.1 else None
    for _ in range(chance.randrange(1, 8)):
        if lines:
            chance.choice(_CHANGES)(lines, chance)
    if chance.random() < 0.9:
        _numbered(lines)
    mode = case.mode if chance.random() < 0.8 else chance.choice([None, *Mode])
    return case.key, b"\n".join(json.dumps(line).encode() for line in lines), mode
