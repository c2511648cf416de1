"""Makes random streams from those that have a verdict: lines dropped, doubled, swapped, altered."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any, Final

from spec.claims.claim import Mode
from spec.events.alphabet import FACTS
from tests.golden.traces import Case, cases

__all__ = ["canonical", "mutated"]

Lines = list[dict[str, Any]]
_LONGEST: Final = 120
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
_GROUPS: Final = (
    [{"group": 0, "kind": "full"}],
    [{"group": 0, "kind": "full"}, {"group": 1, "kind": "window", "window": 2}],
    [{"group": 0, "kind": "full"}, {"group": 1, "kind": "state"}],
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


def _keyed(lines: Lines, chance: Random) -> None:
    """State keys where claims state their terms, from a few prefixes that they share."""
    for line in lines:
        if line.get("kind") in ("claim_registered", "claim_committed") and chance.random() < 0.8:
            prefix = chance.choice("pq")
            line["keys"] = [f"{prefix}{at}" for at in range(chance.randrange(1, 5))]


_CHANGES: Final[tuple[Callable[[Lines, Random], None], ...]] = (
    *(_drop, _double, _swap, _alter, _alter, _alter, _omit, _mark, _keyed),
)


def _numbered(lines: Lines) -> None:
    """Number the lines again, and let time go forwards."""
    now = 0
    for number, line in enumerate(lines):
        if "sequence" in line:
            line["sequence"] = number
        if isinstance(line.get("time_ns"), int):
            now = line["time_ns"] = max(now, line["time_ns"])


def mutated(seed: int) -> tuple[str, bytes, Mode | None]:
    """The stream of a seed: its name, its lines, and the mode that judges it."""
    chance = Random(seed)
    case = chance.choice(canonical())
    lines: Lines = [json.loads(line) for line in case.lines.splitlines() if line.strip()]
    if chance.random() < 0.25:
        other = chance.choice(canonical())
        lines += [json.loads(line) for line in other.lines.splitlines() if line.strip()]
        chance.shuffle(lines) if chance.random() < 0.1 else None
    for _ in range(chance.randrange(1, 6)):
        if lines:
            chance.choice(_CHANGES)(lines, chance)
    if chance.random() < 0.9:
        _numbered(lines)
    mode = case.mode if chance.random() < 0.8 else chance.choice([None, *Mode])
    return case.key, b"\n".join(json.dumps(line).encode() for line in lines), mode
