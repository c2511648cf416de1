"""Streams of claims on few objects, of which some state contents: who holds what, by chance.

Nobody is honest here: events are of any claim at any time. What matters is what the projection
makes of them.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line

__all__ = ["shared"]

_NAMES: Final = "abcde"
_OBJECTS: Final = "xy"
_CACHES: Final = ("cache", "cache", "cache", "cache", None, "another")
_KEYS: Final = (("k", "l", "m"),) * 5 + (("k", "n", "m"), ("o", "l", "m"), ("k", "l"))
_BLOCKS: Final = range(10, 18)
_SAID: Final = (
    *(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_MATERIALIZED, Kind.CLAIM_HARMED),
    *(Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_BLOCK_LOST, Kind.STORE_FINISHED),
)


class _Pool:
    """What was stated of each claim so far."""

    def __init__(self, chance: Random, mode: Mode) -> None:
        self.chance, self.mode = chance, mode
        self.entered: list[str] = []

    def _name(self) -> str:
        return self.chance.choice(self.entered or _NAMES)

    def _about(self) -> dict[str, Any]:
        about = {"object_id": self.chance.choice(_OBJECTS)}
        cache = self.chance.choice(_CACHES)
        return about if cache is None else {**about, "cache_identity": cache}

    def enter(self) -> list[Event]:
        """A claim is registered, and perhaps committed to."""
        name = self.chance.choice(_NAMES)
        self.entered.append(name)
        mode = self.chance.choice((self.mode, self.mode, self.mode, Mode.BEST_EFFORT))
        size = self.chance.choice((1, 2, 2, 3))
        asked = {"predicate": f"leading_prefix_at_least({size})", "mode": str(mode)}
        entry = Event(
            kind=Kind.CLAIM_REGISTERED,
            claim_id=name,
            owner_scope="owner",
            footprint=self.chance.choice((None, size, size + 1)),
            **asked,
            **self._about(),
        )
        return [entry, *(self.commit(name) if self.chance.random() < 0.6 else ())]

    def commit(self, name: str | None = None) -> list[Event]:
        """A claim is committed to and accepted; it states contents, or does not."""
        name, size = name or self._name(), self.chance.choice((1, 2, 2, 3))
        keys = self.chance.choice(_KEYS)[:size] if self.chance.random() < 0.6 else ()
        late = {"cache_identity": "cache"} if self.chance.random() < 0.1 else {}
        committed, accepted = Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED
        return [
            Event(kind=committed, claim_id=name, footprint=size, content_keys=keys),
            Event(kind=accepted, claim_id=name, footprint=size, **late),
        ]

    def place(self) -> list[Event]:
        """Blocks are cached, or a load names none."""
        if self.chance.random() < 0.15:
            some = {"held": self.chance.choice((1, 2)), "request_id": "r"}
            return [Event(kind=Kind.LOAD_FINISHED, claim_id=self._name(), **some)]
        count, first = self.chance.choice((1, 2, 2)), self.chance.choice((0, 0, 0, 1))
        blocks = tuple(self.chance.sample(_BLOCKS, count))
        where = {"block_ids": blocks, "positions": tuple(range(first, first + count))}
        of = self._about() if self.chance.random() < 0.2 else {"claim_id": self._name()}
        return [Event(kind=Kind.BLOCK_CACHED, **of, **where)]

    def lose(self) -> list[Event]:
        """Blocks are gone, or what a claim or an object holds."""
        how, kind = self.chance.random(), self.chance.choice((Kind.BLOCK_EVICTED, Kind.BLOCK_LOST))
        if how < 0.8:
            return [Event(kind=kind, block_ids=tuple(self.chance.sample(_BLOCKS, 2)))]
        of = {"claim_id": self._name()} if how < 0.9 else self._about()
        return [Event(kind=Kind.BLOCK_LOST, **of)]

    def say(self) -> list[Event]:
        """Something is reported of a claim, or a request looks it up."""
        if self.chance.random() < 0.7:
            return [Event(kind=self.chance.choice(_SAID), claim_id=self._name())]
        of = self._about() if self.chance.random() < 0.3 else {"claim_id": self._name()}
        used = Kind.PREFIX_REUSED
        return [
            Event(kind=Kind.PREFIX_LOOKUP, request_id="r", asked=2, held=2, **of),
            *([Event(kind=used, request_id="r", **of)] if self.chance.random() < 0.5 else ()),
        ]

    def end(self) -> list[Event]:
        """A claim ends, or is turned away."""
        name, by = self._name(), {"by": "owner"}
        if self.chance.random() < 0.2:
            return [Event(kind=Kind.CLAIM_REJECTED, claim_id=name)]
        kinds = (Kind.CLAIM_RETIRED, Kind.CLAIM_RELEASED)[: self.chance.choice((1, 2, 2))]
        return [Event(kind=kind, claim_id=name, **by) for kind in kinds]


def shared(chance: Random, mode: Mode) -> list[Line]:
    """A stream of some events, each a line."""
    pool = _Pool(chance, mode)
    events = [Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=99)]
    events += [*pool.enter(), *pool.enter()]
    steps = (pool.enter, pool.enter, pool.commit, pool.place, pool.place, pool.place)
    steps = (*steps, pool.say, pool.say, pool.say, pool.lose, pool.end)
    for _ in range(chance.randrange(4, 22)):
        events += chance.choice(steps)()
    return [Line(at, (event,), at - 1) for at, event in enumerate(events, 1)]
