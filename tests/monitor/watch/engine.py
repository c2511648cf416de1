"""A small engine that publishes KV events as vLLM does, and knows what it holds."""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import Any, Final

import msgspec

from tests.monitor.input.kv_lines import captured, cleared, removed, stored

__all__ = ["SIZE", "Engine", "line", "prompt"]

SIZE: Final = 4
"""Tokens of a block."""


def prompt(name: str, blocks: int) -> list[int]:
    """The tokens of a prompt. Names with a common beginning have a common prefix of tokens."""
    chain = [name[: n + 1] if n < len(name) else f"{name}/{n}" for n in range(blocks)]
    return [token for part in chain for token in random.Random(part).choices(range(1000), k=SIZE)]


class Engine:
    """A pool of blocks with hashes, of which the least recently used is evicted.

    Attributes:
        batches: the events of each batch.
        copies: how many blocks hold each hash.
    """

    def __init__(self, blocks: int, seed: int = 0) -> None:
        self._size, self._seed = blocks, seed
        self._blocks: OrderedDict[int, str] = OrderedDict()  # by number, the oldest first
        self._next = 0
        self.copies: dict[str, int] = {}
        self.batches: list[list[dict[str, Any]]] = []

    def hashes(self, tokens: list[int], salt: str = "") -> list[str]:
        """The hashes of the blocks of a prompt."""
        found, parent = list[str](), f"{self._seed}"
        for at in range(0, len(tokens) - SIZE + 1, SIZE):
            text = f"{parent} {tokens[at : at + SIZE]} {salt if at == 0 else ''}"
            parent = f"{random.Random(text).getrandbits(64):016x}"
            found.append(parent)
        return found

    def serve(
        self, tokens: list[int], *, salt: str = "", again: int = 0, report: bool = False
    ) -> None:
        """One request in one batch.

        Args:
            again: so many blocks at the end are computed although they are held.
            report: blocks that are found are stored in the events once more.
        """
        hashes = self.hashes(tokens, salt)
        hit = 0
        while hit < len(hashes) and self.copies.get(hashes[hit]):
            hit += 1
        events = []
        if report and hit:
            events.append(self._stored(hashes[:hit], tokens, 0, salt))
        for number, of in list(self._blocks.items()):
            if of in hashes[:hit]:
                self._blocks.move_to_end(number)
        for of in hashes[max(hit - again, 0) :]:
            if len(self._blocks) >= self._size:
                _, victim = self._blocks.popitem(last=False)
                self._lose(victim)
                events.append(removed(victim))
            self._next += 1
            self._blocks[self._next] = of
            self.copies[of] = self.copies.get(of, 0) + 1
        if hashes[max(hit - again, 0) :]:
            at = max(hit - again, 0)
            events.append(self._stored(hashes[at:], tokens, at, salt))
        self.batches.append(events)

    def reset(self) -> None:
        """The cache is cleared."""
        self._blocks.clear()
        self.copies.clear()
        self.batches.append([cleared()])

    def holds(self, tokens: list[int], salt: str = "") -> bool:
        """Whether all blocks of a prompt are held."""
        return all(self.copies.get(each) for each in self.hashes(tokens, salt))

    def _lose(self, of: str) -> None:
        self.copies[of] -= 1
        if not self.copies[of]:
            del self.copies[of]

    def _stored(self, hashes: list[str], tokens: list[int], at: int, salt: str) -> dict[str, Any]:
        parent = self.hashes(tokens, salt)[at - 1] if at else None
        extras = [[salt] if salt and at + n == 0 else None for n in range(len(hashes))]
        return stored(
            *hashes,
            parent_block_hash=parent,
            token_ids=tokens[at * SIZE : (at + len(hashes)) * SIZE],
            block_size=SIZE,
            extra_keys=extras,
        )


def line(number: int, events: list[dict[str, Any]], time_s: float) -> bytes:
    """The line of a batch in a capture."""
    payload = msgspec.msgpack.encode([time_s, events, 0])
    return captured((b"", number.to_bytes(8, "big"), payload), "engine")
