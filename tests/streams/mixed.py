"""Streams of one pool whose claims state several modes, each of which the runtime keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests.streams.honest_requests import Server
from tests.streams.wide import told

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random
    from typing import Any

    from spec.stream.breaks import Line
    from tests.streams.honest import Promise

__all__ = ["mixed"]


def mixed(chance: Random, mode: Mode, lies: int | None = None) -> list[Line]:
    """One stream; its first claim states this mode, most others any mode.

    Args:
        lies: as `told` has it.
    """
    return told(chance, mode, lies, Mixed)


class Mixed(Server):
    """A runtime that treats each claim as the mode has it that the claim states."""

    others = 0.8

    def keeps(self, claim: Promise, mode: Mode) -> bool:
        """Whether the claim is of this mode."""
        return claim.mode is mode

    def evict(self, claim: Promise) -> None:
        """Blocks of the claim are taken, if nobody is kept from losing them, and none of higher
        priority loses one before one of lower.
        """
        keys = [key for key in claim.keys if self.blocks.get(key)][-self.chance.choice((1, 2, 3)) :]
        touched = [c for c in self.claims if set(keys) & set(c.keys) and c.live]
        for other in touched:
            if other.responsible and other.mode is Mode.DEMOTABLE and not self.cheats():
                self.demote(other)
        if any(c.responsible and not self._spare(c) for c in touched) and not self.cheats():
            return
        if any(other.mode is Mode.SOFT_PRIORITY for other in touched):
            self._evict_ranked(claim, keys)
        else:
            self.lose(keys, Kind.BLOCK_EVICTED)

    def _load_quietly(self, claim: Promise, request: str) -> None:
        """Nothing is loaded without a word that other claims would have to be restored for."""
        missing = set(self._missing(claim).values())
        beside = [c for c in self.claims if c.mode is Mode.OFFLOADABLE and c.responsible]
        if not any(missing & set(c.keys) for c in beside):
            super()._load_quietly(claim, request)

    def lose(self, keys: Iterable[str], kind: Kind, of: Promise | None = None, **more: Any) -> None:
        """These contents are gone. No event says so of what only claims hold that are over, and
        their blocks are the next that are taken.
        """
        keys = list(keys)
        users = [c for c in self.claims if set(keys) & set(c.keys)]
        if any(c.live or not c.registered for c in users) or self.chance.random() < 0.3:
            super().lose(keys, kind, of, **more)
            return
        gone = [block for key in keys for block in self.blocks.pop(key, ())]
        self.free[:0] = gone
        self.look(users)
